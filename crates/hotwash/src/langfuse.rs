//! Langfuse from the command line: how it is reached, and what becomes of grades there.

use crate::cli::{AttachTo, Attaching, Score};
use crate::commands::Context;
use crate::errors::{Exit, Failure};
use crate::judge::world;
use crate::proxy::proxy;
use crate::run::Run;
use crate::screen::numbers::{count, grouped};
use crate::screen::progress::SessionsBar;
use crate::screen::text::{fit, left, line, wrap};
use crate::screen::{self, Screen};
use crate::sharing::Sharing;
use hotwash_core::sessions::SessionId;
use hotwash_engine::langfuse::{Client, Config, LangfuseError, NewScore, Subject};
use hotwash_engine::sinks::langfuse::config::Became;
use hotwash_engine::sinks::langfuse::push::{self, Lost, Options, Report};
use hotwash_engine::sinks::langfuse::scored;
use hotwash_engine::sinks::langfuse::target::{Attach, Targets};
use hotwash_engine::stores::Row;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Connects to the project of the settings.
pub(crate) fn connect(context: &Context<'_>) -> Result<Client, Failure> {
    let Context { settings, env, .. } = context;
    let (public, secret) = (&settings.langfuse_public_key.value, &settings.langfuse_secret_key.value);
    if public.is_empty() || secret.is_empty() {
        return Err(Failure::new("Langfuse needs the keys of a project").hint(
            "set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and LANGFUSE_HOST unless it is cloud.langfuse.com; \
             the keys are in the project's settings there",
        ));
    }
    let mut config = Config::new(&settings.langfuse_host.value, public.clone(), secret.clone());
    config.network.proxy = proxy(env, &settings.langfuse_host.value);
    Client::connect(config, world(settings, Arc::default())?).map_err(failure)
}

/// What went wrong with Langfuse, as a failure of a command.
pub(crate) fn failure(error: LangfuseError) -> Failure {
    let LangfuseError { message, hint, .. } = error;
    let failure = Failure::new("Langfuse did not do what was asked").cause(message);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Langfuse as the place where `score` puts grades.
pub(crate) struct Sink {
    client: Client,
    attaching: Attaching,
}

impl Sink {
    /// Connects, where the grades are to go there.
    pub(crate) fn open(context: &Context<'_>, args: &Score, run: &Run<'_>) -> Result<Option<Sink>, Failure> {
        if args.sink.is_none() || args.judging.dry_run {
            return Ok(None);
        }
        if run.example {
            return Err(Failure::new("the example week is nobody's, so it goes nowhere").hint("leave --sink out"));
        }
        Ok(Some(Sink { client: connect(context)?, attaching: args.attaching }))
    }

    /// The sessions that no model has judged yet, here or from another machine.
    pub(crate) fn unscored(&self, rows: &[Row], run: &Run<'_>) -> Result<Vec<Row>, Failure> {
        if run.settings.judge.value.is_empty() {
            return Ok(Vec::new());
        }
        let targets = Targets::of(&*run.store)?;
        let scored = scored::judged(&self.client, rows, &targets, &run.rubric).map_err(failure)?;
        // Those judged here are known here, and cost nothing to look at again.
        let elsewhere = |row: &&Row| row.judged.is_none() && scored.contains(&row.session.id);
        let skipped = rows.iter().filter(elsewhere).count() as u64;
        if skipped > 0 {
            let sessions = count(skipped, "session");
            screen::stderr(&format!("{sessions} left out: judged from another machine, as Langfuse knows\n"));
        }
        Ok(rows.iter().filter(|row| !elsewhere(row)).cloned().collect())
    }

    /// Writes grades, and says what became of them.
    pub(crate) fn push(&self, context: &Context<'_>, run: &Run<'_>, rows: &[Row]) -> Result<Exit, Failure> {
        let how = How { attaching: self.attaching, force: false, dry_run: false };
        let (report, opted_out) = push(context, &self.client, run, rows, how)?;
        screen::stderr(&told(&report, opted_out, &context.screen));
        Ok(exit(&report))
    }
}

/// How grades are written.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) attaching: Attaching,
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
}

/// Writes the grades of the sessions that may leave, and counts those that may not.
pub(crate) fn push(
    context: &Context<'_>,
    client: &Client,
    run: &Run<'_>,
    rows: &[Row],
    How { attaching, force, dry_run }: How,
) -> Result<(Report, u64), Failure> {
    let sharing = Sharing::new(context, &run.rules);
    let allowed: Vec<Row> = rows.iter().filter(|row| sharing.allows_whole(run, row)).cloned().collect();
    if allowed.is_empty() {
        return Ok((Report::default(), rows.len() as u64));
    }
    let targets = Targets::of(&*run.store)?;
    let bar = SessionsBar::new("pushing");
    let options = Options {
        rubric: &run.rubric,
        rules: &run.rules,
        targets: &targets,
        attach: attaching.attach.map(|attach| match attach {
            AttachTo::Session => Attach::Session,
            AttachTo::Trace => Attach::Trace,
        }),
        prism: attaching.prism,
        force,
        dry_run,
        progress: &|done| bar.tell(done as usize, allowed.len()),
    };
    let report = push::push(client, &allowed, &options);
    bar.clear();
    let report = report.map_err(failure)?;
    Ok((report, (rows.len() - allowed.len()) as u64))
}

/// How a push ends.
pub(crate) fn exit(report: &Report) -> Exit {
    if report.is_complete() { Exit::Done } else { Exit::Partly }
}

/// What became of a push, in words.
pub(crate) fn told(report: &Report, opted_out: u64, screen: &Screen) -> String {
    let Report { sessions, wanted, unchanged, written, newer_there, to_write, to_remove, .. } = report;
    let (scores, sessions) = (count(*wanted, "score"), count(*sessions, "session"));
    let same = grouped(*unchanged);
    let mut line = match to_write.len() as u64 {
        0 => format!("Langfuse: {scores} of {sessions}: {} written, {same} unchanged", grouped(*written)),
        n => format!("Langfuse: {scores} of {sessions}: {} would be written, {same} unchanged", grouped(n)),
    };
    for (n, what) in [
        (*newer_there, "newer there"),
        (report.deletions_queued, "deletions queued"),
        (report.deletions_pending, "deletions not carried out yet"),
        (*to_remove, "would be deleted"),
    ] {
        if n > 0 {
            line = format!("{line}, {} {what}", grouped(n));
        }
    }
    let mut lines = vec![line];
    for (n, what) in [
        (opted_out, "left out: opted out"),
        (report.ungraded, "not graded by this rubric"),
        (report.without_target, "nothing of Langfuse's"),
        (report.without_trace, "without a trace there to be attached to: the scores are on the session"),
    ] {
        if n > 0 {
            lines.push(format!("{} {what}", count(n, "session")));
        }
    }
    for config in &report.configs {
        if let Became::Differs(how) = &config.became {
            let (name, how) = (&config.wanted.name, how.join("; "));
            lines.push(format!("warning: the score config {name} {how}; `hotwash langfuse setup --force` changes it"));
        }
    }
    for (lost, what) in
        [(&report.refused, "refused"), (&report.dropped, "dropped"), (&report.not_removed, "not deleted")]
    {
        for (why, n) in by_reason(lost) {
            lines.push(format!("warning: {} {what}: {why}", count(n, "score")));
        }
    }
    if !report.is_complete() {
        lines.push("run it again: what arrived stays, and nothing is written twice".into());
    }
    let wrapped = |line: &String| wrap(line, screen.width - 2).join("\n  ") + "\n";
    lines.iter().map(wrapped).collect()
}

/// What would be written, a line for each score.
pub(crate) fn drafts(report: &Report, screen: &Screen) -> String {
    let mut out = String::new();
    for (session, score) in &report.to_write {
        let value = score.value.json();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let on = on(&score.subject);
        let on = format!("{} {}", on["kind"].as_str().unwrap_or_default(), on["id"].as_str().unwrap_or_default());
        let text = format!("{}  {}  {}  {}", session.short(), left(&score.name, 20), left(&value, 9), line(&on));
        let _ = writeln!(out, "{}", fit(&text, screen.width));
    }
    out
}

/// The same for programs.
fn draft((session, score): &(SessionId, NewScore)) -> Value {
    json!({
        "session": session, "id": score.id, "score": score.name, "value": score.value.json(),
        "type": score.value.data_type(), "on": on(&score.subject), "environment": score.environment,
        "comment": score.comment, "metadata": score.metadata,
    })
}

/// What a score is about, for programs.
pub(crate) fn on(subject: &Subject) -> Value {
    let (kind, id) = match subject {
        Subject::Session(id) => ("session", id.as_str()),
        Subject::Trace(id) => ("trace", id.as_str()),
        Subject::Observation { id, .. } => ("observation", id.as_str()),
        Subject::Other => ("other", ""),
    };
    json!({ "kind": kind, "id": id })
}

fn by_reason(lost: &[Lost]) -> BTreeMap<&str, u64> {
    lost.iter().fold(BTreeMap::new(), |mut all, lost| {
        *all.entry(lost.why.as_str()).or_default() += 1;
        all
    })
}

/// What became of a push, for programs.
pub(crate) fn shape(report: &Report, opted_out: u64) -> Value {
    let lost = |lost: &[Lost]| {
        let one = |lost: &Lost| json!({ "session": lost.session, "score": lost.name, "why": lost.why });
        lost.iter().map(one).collect::<Vec<_>>()
    };
    json!({
        "sessions": report.sessions,
        "opted_out": opted_out,
        "ungraded": report.ungraded,
        "without_target": report.without_target,
        "without_trace": report.without_trace,
        "wanted": report.wanted,
        "unchanged": report.unchanged,
        "written": report.written,
        "newer_there": report.newer_there,
        "deletions_queued": report.deletions_queued,
        "deletions_pending": report.deletions_pending,
        "would_write": report.to_write.iter().map(draft).collect::<Vec<_>>(),
        "would_remove": report.to_remove,
        "refused": lost(&report.refused),
        "dropped": lost(&report.dropped),
        "not_removed": lost(&report.not_removed),
        "configs_differ": report.configs.iter().map(|config| &config.wanted.name).collect::<Vec<_>>(),
    })
}
