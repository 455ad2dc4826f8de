//! `hotwash doctor`: is everything in order, and if not, what to do.

use super::Context;
use crate::cli::Doctor;
use crate::errors::{Exit, Failure};
use crate::machine::{self, NewKey};
use crate::run::{self, Run};
use crate::screen::numbers::{bytes, count};
use crate::screen::stdout;
use crate::screen::text::{left, wrap_indented};
use crate::shapes;
use hotwash_core::prices;
use hotwash_core::redaction::redact;
use hotwash_engine::archive::Archive;
use hotwash_engine::sources::discover::discover;
use hotwash_engine::stores::{Form, Query};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What one look found.
struct Finding {
    name: &'static str,
    state: State,
    text: String,
    hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Bad,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }
}

pub(super) fn run(context: &Context<'_>, args: &Doctor) -> Result<Exit, Failure> {
    let mut findings = vec![ok("version", format!("hotwash {}", env!("CARGO_PKG_VERSION")))];
    settings(context, &mut findings);
    sources(context, &mut findings);
    store(context, &mut findings);
    findings.push(ok("prices", format!("list prices of {}", prices::shipped().as_of)));
    findings.push(match run::rubric(&context.settings.rubric.value) {
        Ok(rubric) => ok("rubric", format!("{}, {}", rubric.id(), rubric.title)),
        Err(_) => bad(
            "rubric",
            format!("{} cannot be used", context.settings.rubric.value),
            "`hotwash rubric check FILE` says why",
        ),
    });

    let screen = &context.screen;
    if args.json {
        let shape = |finding: &Finding| {
            let Finding { name, state, text, hint } = finding;
            json!({ "name": name, "state": state.name(), "text": text, "hint": hint })
        };
        let findings: Vec<Value> = findings.iter().map(shape).collect();
        stdout(&shapes::document(&json!({ "version": shapes::VERSION, "findings": findings })))?;
    } else {
        let mut out = String::new();
        for Finding { name, state, text, hint } in &findings {
            let mark = left(state.name(), 4);
            let mark = match state {
                State::Ok => screen.style.quiet(&mark),
                State::Warn => screen.style.warn(&mark),
                State::Bad => screen.style.error(&mark),
            };
            let _ = writeln!(out, "{mark}  {}  {}", left(name, 8), wrap_indented(text, screen.width, 16));
            if let Some(hint) = hint {
                let _ =
                    writeln!(out, "                {}", screen.style.strong(&wrap_indented(hint, screen.width, 16)));
            }
        }
        screen.page(&out)?;
    }
    Ok(if findings.iter().any(|finding| finding.state == State::Bad) { Exit::Partly } else { Exit::Done })
}

fn settings(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let files: Vec<String> = context
        .settings
        .files
        .iter()
        .map(|(path, there)| format!("{}{}", path.display(), if *there { "" } else { " (not there, which is fine)" }))
        .collect();
    findings.push(ok("settings", files.join(", ")));
}

fn sources(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let settings = &context.settings;
    for folder in &settings.sources.value {
        if !folder.exists() {
            let hint = "run Claude Code once, or set CLAUDE_CONFIG_DIR to its folder";
            findings.push(warn("source", format!("{} is not there", folder.display()), hint));
        }
    }
    for folder in run::folders(settings) {
        let discovery = discover(std::slice::from_ref(&folder));
        let size: u64 = discovery.found.iter().map(|found| found.size).sum();
        let text =
            format!("{}: {}, {}", folder.display(), count(discovery.found.len() as u64, "transcript"), bytes(size));
        findings.push(if discovery.found.is_empty() {
            warn("source", text, "no transcript is in it")
        } else {
            ok("source", text)
        });
        let unreadable: Vec<String> = discovery
            .problems
            .iter()
            .map(|(path, why)| format!("{} ({why})", path.display()))
            .chain(discovery.found.iter().filter_map(|found| {
                let error = std::fs::File::open(&found.path).err()?;
                Some(format!("{} ({})", found.path.display(), crate::screen::text::words(&error)))
            }))
            .collect();
        if !unreadable.is_empty() {
            let more = unreadable.len().saturating_sub(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!(
                "{} cannot be read: {}{more}",
                count(unreadable.len() as u64, "path"),
                unreadable[..unreadable.len().min(3)].join(", ")
            );
            findings.push(bad("source", text, "check their permissions"));
        }
    }
}

fn store(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let settings = &context.settings;
    let path = &settings.store.value;
    if !path.exists() {
        findings.push(ok("store", format!("{} is not there yet; the first run makes it", path.display())));
        return;
    }
    let rules = machine::rules(context.env, path, NewKey::ForThisRun);
    let run = match Run::of_store(settings, rules) {
        Ok(run) => run,
        Err(Failure::Cannot { what, hint, .. }) => {
            findings.push(Finding { name: "store", state: State::Bad, text: what, hint });
            return;
        }
        Err(Failure::ClosedPipe) => return,
    };
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let schema = run.store.schema().unwrap_or_default();
    match run.store.check() {
        Ok(problems) if problems.is_empty() => {
            findings.push(ok("store", format!("{}: {}, schema {schema}, sound", path.display(), bytes(size))));
        }
        Ok(problems) => {
            let hint = "move it away and run hotwash again to build a new one from the transcripts and the archive";
            findings.push(bad("store", format!("{}: damaged: {}", path.display(), problems.join("; ")), hint));
        }
        Err(error) => findings.push(bad("store", error.to_string(), error.hint())),
    }
    if let Ok(known) = run.store.outcomes() {
        let mut reading = hotwash_engine::sources::reader::Reading::default();
        for became in known.values() {
            reading.add(&became.reading);
        }
        let roles = run.store.roles().unwrap_or_default();
        let total = roles.values().sum();
        let roles: Vec<String> = roles.iter().map(|(role, n)| format!("{n} {}", role.name())).collect();
        findings.push(ok("read", format!("{}: {}", count(total, "transcript"), roles.join(", "))));
        if reading.malformed_lines + reading.oversized_lines > 0 {
            let text = format!(
                "{} could not be decoded, {} too long",
                count(reading.malformed_lines, "line"),
                reading.oversized_lines
            );
            findings.push(warn("read", text, "the rest of those transcripts was read; nothing is to be done"));
        }
    }
    if let Ok(kept) = run.store.archive() {
        let form = |form: Form| {
            let some: Vec<_> = kept.iter().filter(|entry| entry.form == form).collect();
            (!some.is_empty()).then(|| {
                format!("{} {} ({})", some.len(), form.name(), bytes(some.iter().map(|entry| entry.size).sum()))
            })
        };
        let forms: Vec<String> = [Form::Link, Form::Copy, Form::Zstd].into_iter().filter_map(form).collect();
        let text = if forms.is_empty() { "empty".to_owned() } else { forms.join(", ") };
        let off = if settings.archive.value { "" } else { "; switched off" };
        findings.push(ok("archive", format!("{text}{off}")));
    }
    let left: Vec<_> = run.archive.iter().flat_map(Archive::leftovers).collect();
    if !left.is_empty() {
        let size = bytes(left.iter().map(|leftover| leftover.size).sum());
        findings.push(warn(
            "archive",
            format!("{} left over from earlier runs ({size})", count(left.len() as u64, "file")),
            "the next run removes what is older than a day",
        ));
    }
    if let Ok(rows) = run.store.sessions(&Query { subagents: true, ..Query::default() }) {
        let unpriced: BTreeSet<&str> =
            rows.iter().flat_map(|row| &row.session.facts.get().tokens.unpriced_models).map(|name| &**name).collect();
        if !unpriced.is_empty() {
            let names: Vec<String> = unpriced.iter().map(|name| redact(name, &run.rules).into_string()).collect();
            findings.push(warn(
                "prices",
                format!("no price is known for {}", names.join(", ")),
                "their cost is shown as unknown",
            ));
        }
    }
}

fn ok(name: &'static str, text: String) -> Finding {
    Finding { name, state: State::Ok, text, hint: None }
}

fn warn(name: &'static str, text: String, hint: &str) -> Finding {
    Finding { name, state: State::Warn, text, hint: Some(hint.to_owned()) }
}

fn bad(name: &'static str, text: String, hint: &str) -> Finding {
    Finding { name, state: State::Bad, text, hint: Some(hint.to_owned()) }
}
