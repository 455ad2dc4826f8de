//! `hotwash langfuse`: grades in Langfuse, and what people say of sessions there.

use super::{Context, project};
use crate::cli::{LangfuseCommand, LangfuseLabels, LangfusePush};
use crate::errors::{Exit, Failure};
use crate::langfuse::{self, connect, failure};
use crate::machine::{self, NewKey};
use crate::run::{Run, now_ns};
use crate::screen::numbers::count;
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, wrap_indented};
use crate::shapes;
use crate::sharing::Sharing;
use crate::window::back_from_now;
use hotwash_core::redaction::Redacted;
use hotwash_core::reports::Page;
use hotwash_core::sessions::Timestamp;
use hotwash_engine::langfuse::{Client, ScoreValue, Window};
use hotwash_engine::sinks::langfuse::config::{self, Became, May, Settled};
use hotwash_engine::sinks::langfuse::dataset::{self, Report};
use hotwash_engine::sinks::langfuse::doctor::{self, State};
use hotwash_engine::sinks::langfuse::labels::{self, Annotation, Labels};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;

pub(super) fn run(context: &Context<'_>, command: &LangfuseCommand) -> Result<Exit, Failure> {
    match command {
        LangfuseCommand::Setup { force, prism, json } => setup(context, *force, *prism, *json),
        LangfuseCommand::Push(args) => push(context, args),
        LangfuseCommand::Labels { labels: args, part } => labels(context, args, part.page()),
        LangfuseCommand::Dataset { labels, name } => dataset(context, labels, name),
        LangfuseCommand::Doctor { json } => doctor(context, *json),
    }
}

/// The store as it is: nothing is read and nothing is graded.
fn of_store<'a>(context: &'a Context<'_>) -> Result<Run<'a>, Failure> {
    let rules = machine::rules(context.env, &context.settings.store.value, NewKey::Keep);
    Run::of_store(&context.settings, rules)
}

fn setup(context: &Context<'_>, force: bool, prism: bool, as_json: bool) -> Result<Exit, Failure> {
    let rubric = crate::run::rubric_of(&context.settings)?;
    let client = connect(context)?;
    let may = if force { May::Change } else { May::Create };
    let settled = config::settle(&client, config::wanted(&rubric, prism), may).map_err(failure)?;
    let differ = settled.iter().any(|config| matches!(config.became, Became::Differs(_)));
    if as_json {
        let configs: Vec<Value> = settled.iter().map(config_shape).collect();
        let document = json!({ "version": shapes::VERSION, "project": client.project().id, "rubric": rubric.id(), "configs": configs });
        stdout(&shapes::document(&document))?;
    } else {
        let mut out = format!("{}, project {}, rubric {}\n", client.host(), client.project().name, rubric.id());
        for config in &settled {
            let (what, how) = config_words(&config.became);
            let mut words = what.to_owned();
            if !how.is_empty() {
                let _ = write!(words, ": {}", how.join("; "));
            }
            if config.twins > 0 {
                let _ = write!(words, " ({} of that name beside it)", config.twins);
            }
            let words = wrap_indented(&words, context.screen.width, 24);
            let _ = writeln!(out, "  {}  {words}", left(&config.wanted.name, 20));
        }
        if differ {
            out.push_str("\nThose that differ were left alone. --force changes them.\n");
        }
        stdout(&out)?;
    }
    Ok(if differ { Exit::Partly } else { Exit::Done })
}

fn config_words(became: &Became) -> (&'static str, &[String]) {
    match became {
        Became::Adopted => ("is there", &[]),
        Became::Created => ("created", &[]),
        Became::Changed(how) => ("changed", how),
        Became::Differs(how) => ("differs", how),
        Became::Missing => ("missing", &[]),
    }
}

fn config_shape(config: &Settled) -> Value {
    let (what, how) = config_words(&config.became);
    json!({
        "name": config.wanted.name, "type": config.wanted.shape.data_type(), "became": what, "differences": how,
        "id": config.stored.as_ref().map(|stored| &stored.id), "others_of_that_name": config.twins,
    })
}

fn push(context: &Context<'_>, args: &LangfusePush) -> Result<Exit, Failure> {
    if context.settings.example {
        return Err(Failure::new("the example week is nobody's, so it goes nowhere").hint("leave --example out"));
    }
    let run = of_store(context)?;
    let query = run.query(project(&args.select), false);
    let rows = if args.session.is_empty() {
        run.sessions(&context.screen, args.select.until.as_deref(), &query)?.1
    } else {
        let named = |id: &str| args.session.iter().any(|session| !session.is_empty() && id.starts_with(session));
        let all = run.store.sessions(&query)?;
        all.into_iter().filter(|row| named(&row.session.id.0) || named(&row.session.recorded)).collect()
    };
    if rows.is_empty() {
        return Err(Failure::new("there is no graded session to push")
            .hint("`hotwash score` grades what is new; --since all takes every session"));
    }
    let client = connect(context)?;
    let how = langfuse::How { attaching: args.attaching, force: args.force, dry_run: args.dry_run };
    let (report, opted_out) = langfuse::push(context, &client, &run, &rows, how)?;
    if args.json {
        let mut document = langfuse::shape(&report, opted_out);
        document["dry_run"] = json!(args.dry_run);
        document["version"] = json!(shapes::VERSION);
        stdout(&shapes::document(&document))?;
    } else {
        let drafts = if args.dry_run { langfuse::drafts(&report, &context.screen) } else { String::new() };
        let told = langfuse::told(&report, opted_out, &context.screen);
        if drafts.is_empty() { stdout(&told)? } else { context.screen.page(&format!("{drafts}\n{told}"))? }
    }
    Ok(langfuse::exit(&report))
}

/// Labels given since then, up to now and a little, because clocks differ.
/// Labels, and since when they were read.
fn read(context: &Context<'_>, client: &Client, args: &LangfuseLabels) -> Result<(Labels, Timestamp), Failure> {
    const SLACK_MS: i64 = 3_600_000;
    let now = Timestamp(now_ns() / 1_000_000);
    let from = back_from_now(&args.since, now, &context.screen.clock)?;
    let window = Window { from, to: Timestamp(now.0 + SLACK_MS) };
    Ok((labels::labels(client, window, args.unsigned).map_err(failure)?, from))
}

fn labels(context: &Context<'_>, args: &LangfuseLabels, page: Page) -> Result<Exit, Failure> {
    let client = connect(context)?;
    let (labels, _) = read(context, &client, args)?;
    if args.json {
        let document = json!({
            "version": shapes::VERSION,
            "labels": page.of(&labels.all).iter().map(label_shape).collect::<Vec<_>>(),
            "page": shapes::page(page, labels.all.len()),
            "left_out": { "without_author": labels.unsigned, "without_session": labels.homeless },
        });
        stdout(&shapes::document(&document))?;
        return Ok(Exit::Done);
    }
    let (mut out, mut session) = (String::new(), None);
    let shown = page.of(&labels.all);
    for Annotation { label, .. } in shown {
        let value = ScoreValue::from(&label.value).json();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if session != Some(&label.session) {
            session = Some(&label.session);
            let _ = writeln!(out, "{}", line(&label.session));
        }
        // The day is enough here; --json has the moment.
        let at = label.at.map_or_else(|| " ".repeat(10), |at| at.to_string().chars().take(10).collect());
        let who = label.author.as_deref().unwrap_or("(nobody named)");
        let text = format!("  {}  {}  {at}  {}", left(label.about.name(), 20), left(&line(&value), 10), line(who));
        let _ = writeln!(out, "{}", fit(&text, context.screen.width));
    }
    let part = if shown.len() < labels.all.len() { format!("{} of ", shown.len()) } else { String::new() };
    let words = format!("{part}{}{}", count(labels.all.len() as u64, "label"), left_out(&labels));
    let _ = writeln!(out, "{}", wrap_indented(&words, context.screen.width, 2));
    context.screen.page(&out)?;
    Ok(Exit::Done)
}

fn left_out(labels: &Labels) -> String {
    let mut out = String::new();
    if labels.unsigned > 0 {
        let _ = write!(out, "; {} without an author left out, --unsigned takes them", labels.unsigned);
    }
    if labels.homeless > 0 {
        let _ = write!(out, "; {} about something in no session", labels.homeless);
    }
    out
}

fn label_shape(Annotation { label, subject }: &Annotation) -> Value {
    let value = ScoreValue::from(&label.value);
    json!({
        "session": label.session, "name": label.about.name(), "value": value.json(), "type": value.data_type(),
        "who": label.author, "at": shapes::moment(label.at), "comment": label.comment,
        "on": langfuse::on(subject), "score": label.source.id,
    })
}

fn dataset(context: &Context<'_>, args: &LangfuseLabels, name: &str) -> Result<Exit, Failure> {
    let run = of_store(context)?;
    let client = connect(context)?;
    let (labels, since) = read(context, &client, args)?;
    let sharing = Sharing::new(context, &run.rules);
    let known: HashMap<String, (Redacted<String>, Redacted<String>)> = run
        .store
        .sessions(&run.query(None, false))?
        .into_iter()
        .filter(|row| sharing.allows_whole(&run, row))
        .map(|row| (row.session.recorded, (row.session.title, row.session.summary)))
        .collect();
    let about = |session: &str| known.get(session).cloned();
    let report = dataset::keep(&client, name, &labels.all, since, &about).map_err(failure)?;
    if args.json {
        stdout(&shapes::document(&json!({
            "version": shapes::VERSION, "dataset": name, "sessions": report.sessions,
            "written": report.written, "unchanged": report.unchanged,
        })))?;
    } else {
        let sessions = count(report.sessions, "labelled session");
        let Report { written, unchanged, .. } = report;
        let words = format!("{name}: {sessions}, {written} written, {unchanged} unchanged{}", left_out(&labels));
        stdout(&(wrap_indented(&words, context.screen.width, 2) + "\n"))?;
    }
    Ok(Exit::Done)
}

fn doctor(context: &Context<'_>, as_json: bool) -> Result<Exit, Failure> {
    let rubric = crate::run::rubric_of(&context.settings)?;
    let client = connect(context)?;
    let checks = doctor::examine(&client, &rubric);
    let word = |state: State| match state {
        State::Good => "ok",
        State::Note => "warn",
        State::Bad => "bad",
    };
    if as_json {
        let one = |check: &doctor::Check| json!({ "name": check.name, "state": word(check.state), "text": check.words, "hint": check.hint });
        let checks: Vec<Value> = checks.iter().map(one).collect();
        stdout(&shapes::document(&json!({ "version": shapes::VERSION, "findings": checks })))?;
    } else {
        let mut out = String::new();
        for check in &checks {
            let wrapped = |text: &str| wrap_indented(text, context.screen.width, 19);
            let words = wrapped(&check.words);
            let _ = writeln!(out, "{}  {}  {words}", left(word(check.state), 4), left(check.name, 11));
            if let Some(hint) = &check.hint {
                let _ = writeln!(out, "{}{}", " ".repeat(19), wrapped(hint));
            }
        }
        stdout(&out)?;
    }
    Ok(if checks.iter().any(|check| check.state == State::Bad) { Exit::Partly } else { Exit::Done })
}
