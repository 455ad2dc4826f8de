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
use hotwash_core::outcomes::Prism;
use hotwash_core::reports::{Counts, Overview, Window, oldest_first, overview};
use hotwash_core::scores::Provenance;
use hotwash_engine::stores::{Judgement, Query, Row};

pub(super) fn run(context: &Context<'_>, args: &Score) -> Result<Exit, Failure> {
    let pulled = args.source.map(|Source::Langfuse| pulling::pull(context, args)).transpose()?;
    let input = match &pulled {
        Some(pulled) => Input::Kept(&pulled.files),
        None if args.paths.is_empty() => Input::Sources,
        None => Input::Given(&args.paths),
    };
    let mut run = Run::new(&context.settings, context.env, input)?;
    run.pulled = pulled.is_some();
    let mut kept = if args.keep { Some(keep(context, args)?) } else { None };
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
    if let Some(kept) = &mut kept {
        keep_judgements(&run, &rows, kept)?;
        run.not_kept = kept.not_kept.take();
        run.ingested.unarchived = std::mem::take(&mut kept.ingested.unarchived);
    }
    oldest_first(&mut rows);
    let counts = run.counts(&rows, &query, &run.store.outcomes()?);
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
    let shown = Shown { window: &window, rows: &rows, counts: &counts, prism: &prism, judged: judged.as_ref() };
    match show(context, args, &run, &shown) {
        // What a program decides by the exit code does not hang on who reads on.
        Err(Failure::ClosedPipe)
            if context.settings.fail_under.value.or(context.settings.fail_under_process.value).is_some() => {}
        shown => shown?,
    }
    if let Some(failure) = unsent {
        return Err(failure);
    }
    let is_under = is_under(context, &overview(&rows, &run.rubric))?;
    Ok(if is_under { Exit::Under } else { exit })
}

/// What was graded, ready to be shown.
struct Shown<'s> {
    window: &'s Window,
    rows: &'s [Row],
    counts: &'s Counts,
    prism: &'s Prism,
    judged: Option<&'s judge::Judged>,
}

/// Shows what was graded.
fn show(context: &Context<'_>, args: &Score, run: &Run<'_>, shown: &Shown<'_>) -> Result<(), Failure> {
    let Shown { window, rows, counts, prism, judged } = shown;
    if !args.json {
        let elapsed = Some(context.started.elapsed());
        stdout(&summary::draw(run, &context.screen, window, rows, counts, prism, elapsed))?;
        if let Some(offer) = judge::offer(context, run, rows) {
            judge::say(&offer);
        }
        return Ok(());
    }
    // Session by session: a document of thousands would not fit beside itself in memory.
    let mut head = shapes::head(run, window, counts);
    head["prism"] = serde_json::json!(prism);
    if let Some(judged) = judged {
        head["judging"] = shapes::judging(judged);
    }
    let head = shapes::document(&head);
    stdout(&format!("{},\n  \"sessions\": [", head.trim_end().trim_end_matches('}').trim_end()))?;
    for (at, row) in rows.iter().enumerate() {
        let session = shapes::document(&shapes::session(row, run, args.facts));
        let indented = session.trim_end().replace('\n', "\n    ");
        stdout(&format!("{}\n    {indented}", if at > 0 { "," } else { "" }))?;
    }
    stdout(if rows.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" })?;
    Ok(())
}

/// Whether a mean is under its bar, said on stderr. A bar that nothing can be compared with is an error: a gate that passes on
/// nothing is no gate.
fn is_under(context: &Context<'_>, overview: &Overview<'_>) -> Result<bool, Failure> {
    let gates = [
        (context.settings.fail_under.value, "overall", "--fail-under", overview.mean_for_gate()),
        (
            context.settings.fail_under_process.value,
            "process",
            "--fail-under-process",
            overview.process_mean_for_gate(),
        ),
    ];
    let mut is_under = false;
    for (bar, name, flag, mean) in gates {
        let Some(bar) = bar else { continue };
        let Some(mean) = mean else {
            let but = match overview.suspected.len() {
                0 => String::new(),
                n => format!("; {n} suspected, left out"),
            };
            let hint = match name {
                "overall" => "an overall score needs a verdict on the goal: add --judge, or use --fail-under-process",
                _ => "`hotwash sessions` says what there is",
            };
            let problem = format!("no session has a score to compare with {flag}{but}");
            return Err(Failure::new(problem).hint(hint));
        };
        let mean = mean / 10.0;
        if mean < bar {
            screen::stderr(&format!("the mean {name} score is {mean:.1}, under {bar}\n"));
            is_under = true;
        }
    }
    Ok(is_under)
}

/// Takes what was given into the store as well.
fn keep<'c>(context: &'c Context<'_>, args: &Score) -> Result<Run<'c>, Failure> {
    if args.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::new("what comes from stdin has no place where it could be found again")
            .hint("give the file by its name to have it kept"));
    }
    Run::new(&context.settings, context.env, Input::Kept(&args.paths))
}

/// Keeps what models said of the sessions of a run, for those that the store has as they are.
fn keep_judgements(run: &Run<'_>, rows: &[Row], kept: &mut Run<'_>) -> Result<(), Failure> {
    let mut done: Vec<&Provenance> = Vec::new();
    for judging in rows.iter().filter_map(|row| row.judged.as_ref()) {
        if !done.contains(&&judging.provenance) {
            done.push(&judging.provenance);
            let judgements: Vec<Judgement> = run.store.judged_by(&judging.provenance)?.into_values().collect();
            kept.store.put_judgements(&judgements)?;
        }
    }
    Ok(())
}
