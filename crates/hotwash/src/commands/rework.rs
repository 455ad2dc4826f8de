//! `hotwash rework`: which later sessions took back what a session had done.

use super::summary::events;
use super::{Context, show};
use crate::cli::Rework as Args;
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::numbers::count;
use crate::screen::stdout;
use crate::screen::text::{fit, line};
use crate::shapes;
use hotwash_core::rework::Settings;
use hotwash_engine::stores::{Lookup, Row};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    let row = show::find(&run, &args.id)?;
    let exit = run.report();
    if args.json {
        let document = json!({ "version": shapes::VERSION, "session": row.session.id, "rework": shape(&row) });
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
    for taken in &rework.by {
        let head = format!("  {}  {} ", taken.session.short(), count(u64::from(taken.lines), "line"));
        let _ = writeln!(out, "{head} {}  {}", events(&taken.events, 24), about(&run, &taken.session.0));
    }
    if let Some(revert) = &rework.revert {
        let how = if revert.dropped { "thrown away" } else { "reverted" };
        let _ = writeln!(
            out,
            "  {}  its commit of {} was {how} in {}  {}",
            revert.session.short(),
            revert.commit,
            revert.event,
            about(&run, &revert.session.0)
        );
    }
    screen.page(&out)?;
    Ok(exit)
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
    let shown = |events: &[hotwash_core::sessions::EventId]| events.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "reworked": rework.reworked,
        "added": rework.added,
        "removed": rework.removed,
        "share": rework.share(),
        "sampled": rework.sampled,
        "by": rework.by.iter().map(|taken| json!({
            "session": taken.session, "lines": taken.lines, "events": shown(&taken.events),
        })).collect::<Vec<_>>(),
        "revert": rework.revert.as_ref().map(|revert| json!({
            "commit": revert.commit.to_string(), "session": revert.session,
            "event": revert.event.to_string(), "dropped": revert.dropped,
        })),
    })
}
