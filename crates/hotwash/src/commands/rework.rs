//! `hotwash rework`: which later sessions took back what a session had done.

use super::summary::events;
use super::{Context, show};
use crate::cli::Rework as Args;
use crate::errors::{Exit, Failure};
use crate::repositories::Repositories;
use crate::run::{Input, Run};
use crate::screen::numbers::count;
use crate::screen::stdout;
use crate::screen::text::{fit, line};
use crate::shapes;
use hotwash_core::rework::{Settings, Taken};
use hotwash_engine::git::Outcome;
use hotwash_engine::stores::{Lookup, Row};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    let row = show::find(&run, &args.id)?;
    let git = args.git.as_ref().map(|folder| ask_git(context, &run, &row, Path::new(folder))).transpose()?;
    let exit = run.report();
    let page = args.part.page();
    if args.json {
        let mut document = json!({ "version": shapes::VERSION, "session": row.session.id, "rework": shape(&row) });
        if let Some(rework) = &row.rework {
            document["rework"]["by"] = page.of(&rework.by).iter().map(taken_shape).collect();
            document["page"] = shapes::page(page, rework.by.len());
        }
        if let Some(git) = &git {
            document["git"] = git_shape(git);
        }
        stdout(&shapes::document(&document))?;
        return Ok(exit);
    }
    let mut out = String::new();
    let title = fit(&line(row.session.title.as_str()), screen.width.saturating_sub(10));
    let _ = writeln!(out, "{}  {}\n", screen.style.heading(row.session.id.short()), screen.style.heading(&title));
    let settings = Settings::default();
    let Some(rework) = &row.rework else {
        let days = settings.window_days;
        let _ = writeln!(out, "No later session took anything of it away within {days} days.");
        tell_git(git.as_ref(), &mut out);
        screen.page(&out)?;
        return Ok(exit);
    };
    let verdict = if rework.reworked { "reworked" } else { "kept" };
    let sample = if rework.sampled { " (of a sample)" } else { "" };
    let _ = writeln!(
        out,
        "{}: {} of the {} that it added are gone{sample}; {:.0} % or more is rework",
        screen.style.strong(verdict),
        rework.removed,
        count(u64::from(rework.added), "line"),
        settings.share * 100.0
    );
    let shown = page.of(&rework.by);
    for taken in shown {
        let head = format!("  {}  {} ", taken.session.short(), count(u64::from(taken.lines), "line"));
        let text = format!("{head} {}  {}", events(&taken.events, 24), about(&run, &taken.session.0));
        let _ = writeln!(out, "{}", fit(&text, screen.width));
    }
    if shown.len() < rework.by.len() {
        let _ = writeln!(out, "  {} of {} shown", shown.len(), count(rework.by.len() as u64, "session"));
    }
    if let Some(revert) = &rework.revert {
        let how = if revert.dropped { "thrown away" } else { "reverted" };
        let text = format!(
            "  {}  its commit of {} was {how} in {}  {}",
            revert.session.short(),
            revert.commit,
            revert.event,
            about(&run, &revert.session.0)
        );
        let _ = writeln!(out, "{}", fit(&text, screen.width));
    }
    tell_git(git.as_ref(), &mut out);
    screen.page(&out)?;
    Ok(exit)
}

/// What the repository in which a session worked says of it.
fn ask_git(context: &Context<'_>, run: &Run<'_>, row: &Row, folder: &Path) -> Result<Outcome, Failure> {
    let mut repositories = Repositories::new(context.env);
    let folder = if folder.as_os_str().is_empty() {
        repositories.folder(row.session.project.as_str())
    } else {
        context.env.folder.join(folder)
    };
    let session = &row.session;
    let outcome = repositories.outcome(run, &session.id, (session.from, session.to), &folder);
    outcome.ok_or_else(|| match repositories.problems().next() {
        Some(problem) => Failure::new("cannot ask the repository")
            .cause(problem)
            .hint("`--git FOLDER` names another place where the work is"),
        None => Failure::new(format!("the session {} changed nothing that could be looked for", session.id.short())),
    })
}

fn tell_git(git: Option<&Outcome>, out: &mut String) {
    let Some(git) = git else { return };
    let verdict = if git.reworked { "reworked" } else { "kept" };
    let _ = writeln!(
        out,
        "\nIn the repository: {verdict}; of {} it added {} were committed, and {} of them are gone",
        count(u64::from(git.added), "line"),
        git.landed,
        git.gone
    );
    for reverted in &git.reverted {
        let short = |id: &str| id.chars().take(9).collect::<String>();
        let _ = writeln!(out, "  commit {} was reverted by {}", short(&reverted.commit), short(&reverted.by));
    }
    for path in &git.deleted {
        let _ = writeln!(out, "  deleted: {}", line(path));
    }
}

fn git_shape(git: &Outcome) -> Value {
    json!({
        "reworked": git.reworked,
        "added": git.added,
        "landed": git.landed,
        "gone": git.gone,
        "deleted": git.deleted,
        "reverted": git.reverted.iter().map(|reverted| json!({
            "commit": reverted.commit, "by": reverted.by, "at": shapes::moment(Some(reverted.at)),
        })).collect::<Vec<_>>(),
    })
}

/// What another session is about, if it is still there.
fn about(run: &Run<'_>, id: &str) -> String {
    match run.store.lookup(id, &run.rubric.hash()) {
        Ok(Lookup::One(row)) => fit(&line(row.session.title.as_str()), 40),
        _ => String::new(),
    }
}

/// Rework as machines read it.
pub(crate) fn shape(row: &Row) -> Value {
    let Some(rework) = &row.rework else { return Value::Null };
    json!({
        "reworked": rework.reworked,
        "added": rework.added,
        "removed": rework.removed,
        "share": rework.share(),
        "sampled": rework.sampled,
        "by": rework.by.iter().map(taken_shape).collect::<Vec<_>>(),
        "revert": rework.revert.as_ref().map(|revert| json!({
            "commit": revert.commit.to_string(), "session": revert.session,
            "event": revert.event.to_string(), "dropped": revert.dropped,
        })),
    })
}

/// What a later session took away.
fn taken_shape(taken: &Taken) -> Value {
    let events: Vec<String> = taken.events.iter().map(ToString::to_string).collect();
    json!({ "session": taken.session, "lines": taken.lines, "events": events })
}
