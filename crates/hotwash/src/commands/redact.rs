//! `hotwash redact`: what redaction takes out of a text, before anything has to be trusted to it.

use super::Context;
use crate::cli::Redact as Args;
use crate::errors::{Exit, Failure};
use crate::machine::{self, NewKey};
use crate::screen::numbers::count;
use crate::screen::stdout;
use crate::screen::text::{fit, line, words};
use crate::shapes;
use hotwash_core::redaction::{Finding, Rules, findings, redact};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;

/// How much of the line is shown on either side of what is replaced.
const AROUND: usize = 24;

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<Exit, Failure> {
    let rules = machine::rules(context.env, &context.settings.store.value, NewKey::ForThisRun);
    let name = args.file.display().to_string();
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(&args.file)
    };
    let bytes = bytes.map_err(|error| Failure::new(format!("cannot read {name}")).cause(words(&error)))?;
    let text = String::from_utf8_lossy(&bytes);
    if args.text {
        stdout(redact(&text, &rules).as_str())?;
        return Ok(Exit::Done);
    }
    let found = findings(&text, &rules);
    if args.json {
        let found: Vec<_> = Lines::of(&text, &found)
            .map(|(number, column, finding)| {
                json!({
                    "line": number, "column": column, "bytes": finding.range.len(),
                    "kind": finding.kind.name(), "placeholder": finding.placeholder,
                })
            })
            .collect();
        stdout(&shapes::document(&json!({ "version": shapes::VERSION, "bytes": bytes.len(), "findings": found })))?;
        return Ok(Exit::Done);
    }
    context.screen.page(&draw(context.screen.width, &rules, &name, &text, &found))?;
    Ok(Exit::Done)
}

fn draw(width: usize, rules: &Rules, name: &str, text: &str, found: &[Finding]) -> String {
    if found.is_empty() {
        return format!("{name}: nothing to replace\n");
    }
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in found {
        *kinds.entry(finding.kind.name()).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let mut out = format!("{name}: {} to replace: {}\n\n", count(found.len() as u64, "place"), kinds.join(", "));
    let (redacted, places) = replaced(text, found);
    // What stands around a finding is shown as it stays, cut only after everything was taken out.
    let at_rest = findings(&redacted, rules).is_empty();
    for ((number, column, finding), at) in Lines::of(text, found).zip(places) {
        let place = format!("{number}:{column}");
        let shown = if at_rest { around(&redacted, at, &finding.placeholder) } else { finding.placeholder.clone() };
        let shown = fit(&line(&shown), width.saturating_sub(24));
        let _ = writeln!(out, "  {place:>9}  {:<10} {shown}", finding.kind.name());
    }
    out
}

/// The text with everything replaced, and where each placeholder begins in it.
fn replaced(text: &str, found: &[Finding]) -> (String, Vec<usize>) {
    let (mut out, mut places, mut at) = (String::with_capacity(text.len()), Vec::with_capacity(found.len()), 0);
    for finding in found {
        out.push_str(text.get(at..finding.range.start).unwrap_or_default());
        places.push(out.len());
        out.push_str(&finding.placeholder);
        at = finding.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, places)
}

/// A placeholder with some of its line on either side.
fn around(redacted: &str, at: usize, placeholder: &str) -> String {
    let (before, rest) = redacted.split_at_checked(at).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let after = rest.strip_prefix(placeholder).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
    let skip = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(skip).collect();
    let after: String = after.chars().take(AROUND).collect();
    before + placeholder + &after
}

/// Findings with the line and the column, from 1, at which they begin.
struct Lines<'a> {
    text: &'a str,
    found: std::slice::Iter<'a, Finding>,
    line: usize,
    line_start: usize,
    at: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str, found: &'a [Finding]) -> Lines<'a> {
        Lines { text, found: found.iter(), line: 1, line_start: 0, at: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, usize, &'a Finding);

    fn next(&mut self) -> Option<Self::Item> {
        let finding = self.found.next()?;
        let passed = self.text.get(self.at..finding.range.start).unwrap_or_default();
        self.line += passed.matches('\n').count();
        if let Some(last) = passed.rfind('\n') {
            self.line_start = self.at + last + 1;
        }
        self.at = finding.range.start;
        let column = self.text.get(self.line_start..self.at).map_or(0, |text| text.chars().count());
        Some((self.line, column + 1, finding))
    }
}
