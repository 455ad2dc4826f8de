//! `hotwash sessions`: a list that can be filtered, sorted and turned page by page.

use super::{Context, project};
use crate::cli::{Sessions, Sort};
use crate::counts::{Counts, is_suspected};
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::numbers::{cost_short, count, duration, points};
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, right, width, wrap};
use crate::shapes;
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::Overall;
use hotwash_engine::stores::{Row, StoredPart};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::fmt::Write as _;

pub(super) fn run(context: &Context<'_>, args: &Sessions) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    check_tiers(&args.tier, &run.rubric)?;
    let query = run.query(project(&args.select), args.subagents);
    let (window, mut rows) = run.sessions(screen, args.select.until.as_deref(), &query)?;
    let counts = Counts::of(&run, &rows, &query, &run.store.outcomes()?);
    rows.retain(|row| wanted(row, args));
    sort(&mut rows, args.sort);
    let exit = run.report();

    let (limit, page) = (args.limit as usize, args.page as usize);
    let from = (page - 1).saturating_mul(limit).min(rows.len());
    let shown = &rows[from..(from + limit).min(rows.len())];
    let pages = rows.len().div_ceil(limit).max(1);
    if args.json {
        let mut document = shapes::head(&run, &window, &counts);
        document["page"] = json!({ "page": page, "of": pages, "limit": limit, "sessions": rows.len() });
        document["sessions"] = Value::Array(shown.iter().map(|row| shapes::session(row, &run, false)).collect());
        stdout(&shapes::document(&document))?;
        return Ok(exit);
    }

    let mut out = String::new();
    if shown.is_empty() {
        out.push_str(&nothing(rows.len(), args, pages, &window.words));
        stdout(&out)?;
        return Ok(exit);
    }
    let why = if args.why { reasons(shown, &run)? } else { Vec::new() };
    out.push_str(&table(shown, &why, &run.rubric, screen));
    let example = if run.example { ", the made-up example week" } else { "" };
    let which = format!("{}{example}", window.words);
    let head = if shown.len() == rows.len() {
        format!("{} ({which})", count(rows.len() as u64, "session"))
    } else {
        let next = if page < pages { format!("; --page {} for more", page + 1) } else { String::new() };
        format!("{}-{} of {} ({which}){next}", from + 1, from + shown.len(), count(rows.len() as u64, "session"))
    };
    let _ = writeln!(out, "{}", fit(&head, screen.width));
    screen.page(&out)?;
    Ok(exit)
}

/// Why each session begins where it does, and each further piece is part of it.
fn reasons(rows: &[Row], run: &Run<'_>) -> Result<Vec<Vec<String>>, Failure> {
    rows.iter().map(|row| Ok(run.store.parts(row)?.iter().map(|part| reason(part, run)).collect())).collect()
}

/// Why a piece is where it is.
pub(super) fn reason(part: &StoredPart, run: &Run<'_>) -> String {
    let said = run.topic(part).map(|topic| {
        let reason = topic.reason.as_str().trim_end_matches('.');
        format!("; {}: {}", topic.model, if reason.is_empty() { "no reason given" } else { reason })
    });
    let said = said.unwrap_or_default();
    match &part.joined {
        None => format!("begins: {}{said}", part.opened),
        Some(join) => format!("then: {}{said}; {join}", part.opened),
    }
}

fn table(rows: &[Row], why: &[Vec<String>], rubric: &Rubric, screen: &crate::screen::Screen) -> String {
    let tier_wide = rubric.tiers.iter().map(|tier| width(&tier.name)).max().unwrap_or(0).max(8);
    let project_wide = rows
        .iter()
        .map(|row| width(row.session.project_name()))
        .max()
        .unwrap_or(0)
        .clamp(7, if screen.width > 100 { 24 } else { 10 });
    let head = format!(
        "{} {} {} {} {} {} {} {} title",
        left("tier", tier_wide),
        right("score", 5),
        left("id", 8),
        left("project", project_wide),
        right("date", 6),
        right("active", 6),
        right("turns", 5),
        right("cost", 6),
    );
    let mut out = screen.style.heading(&fit(&head, screen.width)) + "\n";
    for (at, row) in rows.iter().enumerate() {
        let session = &row.session;
        let facts = session.facts.get();
        let (place, tier, score) = match row.grade.as_ref().map(|grade| &grade.overall) {
            Some(Overall::Graded { thousandths, tier, process_only, .. }) => {
                let place = rubric.tiers.iter().position(|known| known.name == *tier).unwrap_or(0);
                let mark = match (is_suspected(row), process_only) {
                    (true, _) => "!",
                    (false, true) => "*",
                    (false, false) => " ",
                };
                (place, tier.as_str(), format!("{}{mark}", points(*thousandths)))
            }
            _ => (2, "ungraded", if is_suspected(row) { "-!" } else { "- " }.into()),
        };
        let tier = screen.style.tier(place, &left(tier, tier_wide));
        let rest = format!(
            " {} {} {} {} {} {} {} ",
            right(&score, 5),
            session.id.short(),
            left(session.project_name(), project_wide),
            right(&screen.clock.day(session.to), 6),
            right(&duration(facts.pace.active_seconds), 6),
            right(&facts.prompts.turns.to_string(), 5),
            right(&cost_short(&row.with_subagents.cost), 6),
        );
        let room = screen.width.saturating_sub(tier_wide + width(&rest));
        let _ = writeln!(out, "{tier}{rest}{}", fit(&line(session.title.as_str()), room));
        for reason in why.get(at).into_iter().flatten() {
            for (part, text) in wrap(reason, screen.width.saturating_sub(4)).iter().enumerate() {
                let _ = writeln!(out, "  {}{}", if part == 0 { "" } else { "  " }, screen.style.quiet(text));
            }
        }
    }
    if rows.iter().any(is_suspected) {
        out.push_str(&screen.style.quiet("! suspected: its own text speaks to the judge; left out of every mean"));
        out.push('\n');
    }
    if rows.iter().filter(|row| !is_suspected(row)).any(|row| {
        matches!(row.grade.as_ref().map(|grade| &grade.overall), Some(Overall::Graded { process_only: true, .. }))
    }) {
        out.push_str(&screen.style.quiet("* process only: nothing shows whether the goal was reached"));
        out.push('\n');
    }
    out
}

fn nothing(all: usize, args: &Sessions, pages: usize, window: &str) -> String {
    if all > 0 {
        return format!("There is no page {}; the last one is {pages}.\n", args.page);
    }
    let filters = [
        args.select.project.as_ref().map(|_| "--project"),
        (!args.tier.is_empty()).then_some("--tier"),
        args.search.as_ref().map(|_| "--search"),
    ];
    let filters: Vec<&str> = filters.into_iter().flatten().collect();
    let hint = if filters.is_empty() {
        "--since all looks at everything".into()
    } else {
        format!("leave out {}", filters.join(" or "))
    };
    format!("No session matches ({window}); {hint}.\n")
}

fn wanted(row: &Row, args: &Sessions) -> bool {
    let tier = match row.grade.as_ref().map(|grade| &grade.overall) {
        Some(Overall::Graded { tier, .. }) => tier.as_str(),
        _ => "ungraded",
    };
    let title = row.session.title.as_str().to_lowercase();
    let words = args.search.as_deref().unwrap_or_default().to_lowercase();
    (args.tier.is_empty() || args.tier.iter().any(|wanted| wanted.eq_ignore_ascii_case(tier)))
        && words.split_whitespace().all(|word| title.contains(word))
}

fn check_tiers(tiers: &[String], rubric: &Rubric) -> Result<(), Failure> {
    let known: Vec<&str> = rubric.tiers.iter().map(|tier| tier.name.as_str()).chain(["ungraded"]).collect();
    match tiers.iter().find(|tier| !known.iter().any(|known| known.eq_ignore_ascii_case(tier))) {
        None => Ok(()),
        Some(tier) => {
            Err(Failure::new(format!("there is no tier `{tier}`")).hint(format!("the tiers are {}", known.join(", "))))
        }
    }
}

/// Sorts; the store's order, newest first, decides between equals.
fn sort(rows: &mut [Row], sort: Sort) {
    let overall = |row: &Row| row.grade.as_ref().and_then(|grade| grade.overall.thousandths());
    match sort {
        Sort::Newest => {}
        Sort::Worst => rows.sort_by_key(|row| overall(row).unwrap_or(u32::MAX)),
        Sort::Longest => rows.sort_by_key(|row| Reverse(row.session.facts.get().pace.active_seconds)),
        Sort::Cost => rows.sort_by_key(|row| Reverse(row.with_subagents.cost.known)),
    }
}
