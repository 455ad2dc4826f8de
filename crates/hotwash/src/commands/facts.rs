//! `hotwash facts`: what is counted in transcripts, each file on its own. Nothing is kept.

use super::Context;
use crate::cli::Facts as Args;
use crate::errors::{Exit, Failure};
use crate::example::Place;
use crate::machine::{self, NewKey};
use crate::screen::stdout;
use crate::screen::text::{left, line, words, wrap_indented};
use crate::screen::{self, Screen};
use crate::shapes::moment;
use hotwash_core::facts::{Cited, Facts, Manual};
use hotwash_core::prices;
use hotwash_core::redaction::{Redacted, Rules, redact, redact_facts};
use hotwash_engine::sources::Agent;
use hotwash_engine::sources::discover::discover;
use hotwash_engine::sources::reader::{Transcript, Window};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<Exit, Failure> {
    let rules = machine::rules(context.env, &context.settings.store.value, NewKey::ForThisRun);
    let mut place = None;
    let mut files: Vec<(String, PathBuf, Agent)> = Vec::new();
    let mut problems: Vec<(String, String)> = Vec::new();
    // In the order given; the files of a folder by name.
    for path in &args.paths {
        if path.as_os_str() == "-" {
            let stdin = Place::with_stdin(context.env)
                .map_err(|error| Failure::new("cannot read stdin").cause(words(&error)))?;
            files.push(("-".into(), stdin.folder().join("stdin.jsonl"), Agent::default()));
            place = Some(stdin);
            continue;
        }
        let discovery = discover(std::slice::from_ref(path));
        files.extend(
            discovery.found.into_iter().map(|found| (found.path.display().to_string(), found.path, found.agent)),
        );
        problems.extend(discovery.problems.into_iter().map(|(path, why)| (path.display().to_string(), why)));
    }
    if files.is_empty() && !problems.is_empty() {
        let failure = Failure::new("none of the paths can be read");
        return Err(problems
            .iter()
            .take(3)
            .fold(failure, |failure, (path, why)| failure.cause(format!("{path}: {why}"))));
    }

    let write = |shape: io::Result<Counted>, name: &str, problems: &mut Vec<(String, String)>| -> Result<(), Failure> {
        match shape {
            Err(error) => problems.push((name.to_owned(), words(&error))),
            Ok(counted) if args.json => stdout(&(counted.json(name).to_string() + "\n"))?,
            Ok(counted) => stdout(&counted.table(name, &context.screen))?,
        }
        Ok(())
    };
    in_order(
        &files,
        context.settings.jobs.value,
        |(_, path, agent)| count(path, *agent, &rules),
        |(name, ..), counted| write(counted, name, &mut problems),
    )?;
    drop(place);
    for (path, why) in &problems {
        screen::stderr(&format!("warning: {} could not be read: {why}\n", redact(path, &rules)));
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Partly })
}

/// Works on many things at once and hands the results on in order, as soon as it is each one's turn.
fn in_order<T: Sync, R: Send, E>(
    things: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(things.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(at) else { return };
                    if sender.send((at, work(thing))).is_err() {
                        return; // nobody is listening any more
                    }
                }
            });
        }
        drop(sender);
        let receiver = receiver;
        let mut waiting = std::collections::BTreeMap::new();
        let mut turn = 0;
        for (at, result) in &receiver {
            waiting.insert(at, result);
            while let Some(result) = waiting.remove(&turn) {
                if let Err(error) = done(&things[turn], result) {
                    drop(receiver);
                    return Err(error);
                }
                turn += 1;
            }
        }
        Ok(())
    })
}

/// A transcript's facts and what else is said of it.
struct Counted {
    facts: Redacted<Arc<Facts>>,
    rest: Map<String, Value>,
}

fn count(path: &Path, agent: Agent, rules: &Rules) -> io::Result<Counted> {
    let mut transcript = Transcript::whole().by(agent);
    transcript.read(&mut File::open(path)?, &mut Window::default(), |_| {})?;
    let ledger = transcript.pieces.ledger();
    let identity = ledger.identity();
    let facts = ledger.finish(prices::shipped());
    let pieces: Vec<_> = transcript.pieces.parts().map(|part| (part, &facts)).collect();
    let role = agent.role(path, &transcript.reading, &pieces);
    let redacted = redact_facts(facts, rules);
    let facts = redacted.get();
    let reading = transcript.reading;
    let known = |name: &str, cited: &Cited| facts.knows(name).then(|| cited.count());
    let rest = json!({
        "session_id": identity.session.map(|id| redact(id, rules)),
        "role": role.name(),
        "first_timestamp": moment(identity.from),
        "last_timestamp": moment(identity.to),
        "lines": reading.lines,
        "malformed_lines": reading.malformed_lines,
        "glued_lines": reading.glued_lines,
        "duplicate_lines": reading.duplicate_lines,
        "oversized_lines": reading.oversized_lines,
        "compacts": {
            "manual": known("compactions_manual", &facts.prompts.compactions_manual),
            "auto": known("compactions_auto", &facts.prompts.compactions_auto),
        },
        "api_errors": {
            "retry": known("api_errors_retried", &facts.tokens.api_errors_retried),
            "final": known("api_errors_final", &facts.tokens.api_errors_final),
        },
    });
    let rest = if let Value::Object(rest) = rest { rest } else { Map::new() };
    Ok(Counted { facts: redacted, rest })
}

impl Counted {
    fn json(self, name: &str) -> Value {
        let mut shape = self.facts.to_json();
        shape.extend(self.rest);
        shape.insert("file".into(), name.into());
        Value::Object(shape)
    }

    fn table(&self, name: &str, screen: &Screen) -> String {
        let mut out = format!("{}\n", screen.style.heading(name));
        let get = |key: &str| self.rest.get(key).map(plain).unwrap_or_default();
        let _ = writeln!(
            out,
            "{}, {} lines, {} to {}",
            get("role"),
            get("lines"),
            get("first_timestamp"),
            get("last_timestamp")
        );
        for (key, label) in [
            ("malformed_lines", "malformed"),
            ("oversized_lines", "too long"),
            ("glued_lines", "glued"),
            ("duplicate_lines", "duplicate"),
        ] {
            if get(key) != "0" {
                let _ = writeln!(out, "{} lines {label}", get(key));
            }
        }
        let mut shown: Vec<(&'static Manual, String)> = Vec::new();
        self.facts.get().each(|manual, value| {
            if !self.facts.get().knows(manual.name) {
                shown.push((manual, "unknown: not recorded".to_owned()));
            } else if !value.is_nothing() {
                let events: Vec<String> = value.events().iter().take(8).map(ToString::to_string).collect();
                let more = value.events().len().saturating_sub(8);
                let more = if more > 0 { format!(" +{more}") } else { String::new() };
                let events = if events.is_empty() { String::new() } else { format!(" ({}{more})", events.join(" ")) };
                shown.push((manual, format!("{}{events}", plain(&value.json()))));
            }
        });
        for (title, manual) in Facts::GROUPS {
            let group: Vec<_> =
                shown.iter().filter(|(page, _)| manual.iter().any(|known| known.name == page.name)).collect();
            if !group.is_empty() {
                let _ = writeln!(out, "\n{}", screen.style.strong(title));
            }
            for (page, value) in group {
                let _ = writeln!(out, "  {}  {}", left(page.name, 30), wrap_indented(&line(value), screen.width, 34));
            }
        }
        out.push('\n');
        out
    }
}

/// A value as people read it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "?".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{float:.3}"),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(values) => {
            values.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
        }
    }
}
