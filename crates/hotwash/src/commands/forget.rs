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
use crate::window;
use hotwash_core::sessions::{SessionId, SessionKind};
use hotwash_engine::pipeline::{self, ForgetError};
use hotwash_engine::stores::Row;
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
    let archive = hotwash_engine::archive::Archive::beside(&settings.store.value, run::now_ns());
    let gone = pipeline::forget(&mut *run.store, Some(&archive), &ids).map_err(|error| match error {
        ForgetError::Store(error) => Failure::from(error),
        ForgetError::Archive(cause) => {
            Failure::new(format!("cannot change the archive {}", archive.folder().display()))
                .cause(words(&cause))
                .hint("the sessions are still in the store: put the permissions right and run the same command again")
        }
    })?;
    stdout(&format!("Forgot {n}; removed what the archive had of {}.\n", count(gone.len() as u64, "transcript")))?;
    Ok(Exit::Done)
}

/// The sessions that are meant, with their subagents and with what shares a transcript with them.
fn pick(context: &Context<'_>, args: &Forget, run: &Run<'_>) -> Result<Vec<Row>, Failure> {
    let mut rows = if let Some(id) = &args.id {
        vec![show::find(run, id)?]
    } else {
        let query = run.query(args.project.as_deref(), true);
        let since = args.since.as_deref().unwrap_or("all");
        let window = window::settle(since, args.until.as_deref(), &context.screen.clock, &*run.store, &query)?;
        run.store.sessions(&window.within(&query))?
    };
    // A transcript goes as a whole, so sessions that share one go together.
    let ids: Vec<SessionId> = rows.iter().map(|row| row.session.id.clone()).collect();
    for id in run.store.entangled(&ids)?.sessions {
        if !ids.contains(&id) {
            rows.push(show::find(run, &id.0)?);
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
