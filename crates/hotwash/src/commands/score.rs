//! `hotwash score`: grades sessions, for people on one screen and for programs in full.

use super::{Context, project, summary};
use crate::cli::{Score, Source};
use crate::errors::{Exit, Failure};
use crate::judge;
use crate::langfuse;
use crate::pulling;
use crate::run::{Input, Run};
use crate::screen;
use crate::screen::stdout;
use crate::shapes;
use hotwash_core::reports::{oldest_first, overview};
use hotwash_engine::stores::{Query, Row};

pub(super) fn run(context: &Context<'_>, args: &Score) -> Result<Exit, Failure> {
    let pulled = args.source.map(|Source::Langfuse| pulling::pull(context, args)).transpose()?;
    let input = match &pulled {
        Some(pulled) => Input::Paths(&pulled.files),
        None if args.paths.is_empty() => Input::Sources,
        None => Input::Paths(&args.paths),
    };
    let mut run = Run::new(&context.settings, context.env, input)?;
    run.pulled = pulled.is_some();
    let screen = &context.screen;
    // Who names a subagent's transcript means it.
    let named = !args.paths.is_empty() && args.paths.iter().all(|path| !path.is_dir());
    let subagents = args.subagents || named;
    let query = run.query(project(&args.select), subagents);
    let (mut window, mut rows) = run.sessions(screen, args.select.until.as_deref(), &query)?;
    let sink = langfuse::Sink::open(context, args, &run)?;
    let to_judge = |rows: Vec<Row>, run: &Run<'_>| match &sink {
        Some(sink) => sink.unscored(&rows, run),
        None => Ok(rows),
    };
    let again = |run: &Run<'_>| to_judge(run.sessions(screen, args.select.until.as_deref(), &query)?.1, run);
    let judged = if judge::is_asked(context, args.judging.dry_run)? {
        let unscored = to_judge(std::mem::take(&mut rows), &run)?;
        let judged = judge::judge(context, &mut run, &unscored, &again, args.judging.dry_run)?;
        drop(unscored);
        if args.judging.dry_run {
            return Ok(run.report());
        }
        // The summary needs no facts of all.
        let shown = Query { without_facts: !args.json && sink.is_none(), ..query.clone() };
        (window, rows) = run.sessions(screen, args.select.until.as_deref(), &shown)?;
        judged
    } else {
        None
    };
    oldest_first(&mut rows);
    let counts = run.counts(&rows, &query, &*run.store.outcomes()?);
    let prism = summary::prism(&*run.store, &window, &query)?;
    let mut exit = judged.as_ref().map_or(Exit::Done, |judged| judged.exit).and(run.report());
    if let Some(pulled) = &pulled {
        exit = exit.and(pulling::report(context, pulled));
    }
    let mut unsent = None;
    if let Some(sink) = &sink {
        run.sent_to.push("Langfuse".into());
        let mut pushed = rows.clone();
        if let Some(pulled) = pulled.as_ref().filter(|pulled| !pulled.scored_files.is_empty()) {
            // Who was stopped after grading and before all had arrived goes on here.
            let paths = pulled.scored_files.iter().map(|path| path.to_string_lossy().into_owned());
            let before = Query { paths: Some(paths.collect()), ..query.clone() };
            pushed.extend(run.store.sessions(&before)?);
        }
        match sink.push(context, &run, &pushed) {
            Ok(pushed) => exit = exit.and(pushed),
            // What was graded, and perhaps paid for, is shown all the same.
            Err(failure) => unsent = Some(failure),
        }
    }
    if args.json {
        // Session by session: a document of thousands would not fit beside itself in memory.
        let mut head = shapes::head(&run, &window, &counts);
        head["prism"] = serde_json::json!(prism);
        if let Some(judged) = &judged {
            head["judging"] = shapes::judging(judged);
        }
        let head = shapes::document(&head);
        stdout(&format!("{},\n  \"sessions\": [", head.trim_end().trim_end_matches('}').trim_end()))?;
        for (at, row) in rows.iter().enumerate() {
            let session = shapes::document(&shapes::session(row, &run, args.facts));
            let indented = session.trim_end().replace('\n', "\n    ");
            stdout(&format!("{}\n    {indented}", if at > 0 { "," } else { "" }))?;
        }
        stdout(if rows.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" })?;
    } else {
        let elapsed = Some(context.started.elapsed());
        stdout(&summary::draw(&run, screen, &window, &rows, &counts, &prism, elapsed))?;
        if let Some(offer) = judge::offer(context, &run, &rows) {
            judge::say(&offer);
        }
    }
    if let Some(failure) = unsent {
        return Err(failure);
    }
    let Some(bar) = args.fail_under else { return Ok(exit) };
    let Some(spread) = overview(&rows, &run.rubric).spread else {
        // A gate that passes on nothing is no gate.
        let but = match counts.suspected {
            0 => String::new(),
            n => format!(" but {n} suspected, left out"),
        };
        screen::stderr(&format!("warning: no session was graded{but}: nothing to compare with --fail-under\n"));
        return Ok(Exit::Partly);
    };
    let mean = spread.mean / 10.0;
    if mean < bar {
        screen::stderr(&format!("the mean overall score is {mean:.1}, under {bar}\n"));
        return Ok(Exit::Under);
    }
    Ok(exit)
}
