//! `hotwash forget`: takes sessions out of the store and the archive, for good.

use super::{Context, show};
use crate::cli::Forget;
use crate::errors::{Exit, Failure};
use crate::machine::{self, NewKey};
use crate::run::{self, Run};
use crate::screen;
use crate::screen::numbers::count;
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, right, words};
use crate::window::Window;
use hotwash_core::sessions::{SessionId, SessionKind};
use hotwash_engine::stores::{Query, Row};
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

/// How many sessions are listed before the question.
const LISTED: usize = 15;

pub(super) fn run(context: &Context<'_>, args: &Forget) -> Result<Exit, Failure> {
    let filters = args.project.is_some() || args.since.is_some() || args.until.is_some();
    if args.id.is_some() == filters {
        return Err(Failure::new("say what to forget: a session, or a project or period")
            .hint("such as `hotwash forget 1f8c`, `--project NAME`, `--until 2026-06-30`"));
    }
    let settings = &context.settings;
    if !settings.store.value.exists() {
        stdout("There is no store, so there is nothing to forget.\n")?;
        return Ok(Exit::Done);
    }
    // Nothing is read from the sources first: what is to be forgotten is not to be taken in now.
    let rules = machine::rules(context.env, &settings.store.value, NewKey::Keep);
    let mut run = Run::of_store(settings, rules)?;
    let rows = pick(context, args, &run)?;
    if rows.is_empty() {
        stdout("No session matches, so there is nothing to forget.\n")?;
        return Ok(Exit::Done);
    }

    let mut out = String::new();
    for row in rows.iter().take(LISTED) {
        let session = &row.session;
        let kind = if session.kind == SessionKind::Subagent { " (subagent)" } else { "" };
        let about = format!(
            "{}  {}  {}  ",
            session.id.short(),
            left(session.project_name(), 12),
            right(&context.screen.clock.date(session.to), 11),
        );
        let room = context.screen.width.saturating_sub(about.len() + kind.len());
        let _ = writeln!(out, "{about}{}{kind}", fit(&line(session.title.as_str()), room));
    }
    if rows.len() > LISTED {
        let _ = writeln!(out, "and {} more", rows.len() - LISTED);
    }
    stdout(&out)?;
    let n = count(rows.len() as u64, "session");
    if !args.yes && !agreed(&n)? {
        stdout("Nothing was forgotten.\n")?;
        return Ok(Exit::Done);
    }

    let ids: Vec<SessionId> = rows.iter().map(|row| row.session.id.clone()).collect();
    let kept = run.store.forget(&ids)?;
    let mut left_over = Vec::new();
    let archive = hotwash_engine::archive::Archive::beside(&settings.store.value, run::now_ns());
    let mut removed = 0u64;
    for entry in &kept {
        match archive.remove(&entry.name) {
            Ok(()) => removed += 1,
            Err(error) => {
                left_over.push(format!("{} ({})", archive.folder().join(&entry.name).display(), words(&error)));
            }
        }
    }
    // What SQLite has only marked as free would still stand in the file.
    run.store.shrink()?;
    stdout(&format!("Forgot {n}; removed {} from the archive.\n", count(removed, "file")))?;
    for file in &left_over {
        screen::stderr(&format!("warning: could not remove {file}\n"));
    }
    Ok(if left_over.is_empty() { Exit::Done } else { Exit::Partly })
}

/// The sessions that are meant, with their subagents.
fn pick(context: &Context<'_>, args: &Forget, run: &Run<'_>) -> Result<Vec<Row>, Failure> {
    let hash = run.rubric.hash();
    let mut rows = if let Some(id) = &args.id {
        vec![show::find(run, id)?]
    } else {
        let query = run.query(args.project.as_deref(), true);
        let since = args.since.as_deref().unwrap_or("all");
        let window = Window::of(since, args.until.as_deref(), &context.screen.clock, &run.store, &query)?;
        run.store.sessions(&Query { since: window.since, until: window.until, ..query })?
    };
    let mains: Vec<String> = rows
        .iter()
        .filter(|row| row.session.kind == SessionKind::Main)
        .map(|row| row.session.recorded.clone())
        .collect();
    for recorded in mains {
        for child in run.store.subagents(&recorded, &hash)? {
            if !rows.iter().any(|row| row.session.id == child.session.id) {
                rows.push(child);
            }
        }
    }
    Ok(rows)
}

fn agreed(n: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new("nobody is there to ask").hint("add --yes to forget without a question"));
    }
    screen::stderr(&format!("Forget {n} for good? [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
