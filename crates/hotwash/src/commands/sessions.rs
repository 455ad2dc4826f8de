//! `hotwash sessions`: a list that can be filtered, sorted and turned page by page.

use super::{Context, project};
use crate::cli::{Sessions, Sort};
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::numbers::{cost_short, count, duration, points};
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, right, width, wrap};
use crate::shapes;
use hotwash_core::reports::{Filter, Order, PROCESS, Page, list};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::Overall;
use hotwash_engine::stores::{Row, StoredPart};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How many sessions are on a page.
const LIMIT: usize = 20;
/// So many columns a title has at least.
const TITLE: usize = 12;

pub(super) fn run(context: &Context<'_>, args: &Sessions) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    check_tiers(&args.tier, &run.rubric)?;
    let query = run.query(project(&args.select), args.subagents);
    let (window, rows) = run.sessions(screen, args.select.until.as_deref(), &query)?;
    let counts = run.counts(&rows, &query, &run.store.outcomes()?);
    let filter = Filter { tiers: args.tier.clone(), words: args.search.clone().unwrap_or_default() };
    let rows = list(rows, &filter, order(args.sort));
    let exit = run.report();

    let limit = args.part.limit.map_or(LIMIT, |limit| limit as usize);
    let offset = match args.page {
        Some(page) => (page as usize - 1).saturating_mul(limit),
        None => args.part.offset as usize,
    };
    let page = Page { offset, limit: Some(limit) };
    let shown = page.of(&rows);
    if args.json {
        let mut document = shapes::head(&run, &window, &counts);
        let pages = rows.len().div_ceil(limit).max(1);
        document["page"] = json!({
            "page": offset / limit + 1, "of": pages, "offset": offset, "limit": limit, "sessions": rows.len(),
        });
        document["sessions"] = Value::Array(shown.iter().map(|row| shapes::session(row, &run, false)).collect());
        stdout(&shapes::document(&document))?;
        return Ok(exit);
    }

    let mut out = String::new();
    if shown.is_empty() {
        out.push_str(&nothing(rows.len(), args, page, &window.words));
        stdout(&out)?;
        return Ok(exit);
    }
    let why = if args.why { reasons(shown, &run)? } else { Vec::new() };
    out.push_str(&table(shown, &rows, &why, &run.rubric, screen));
    let example = if run.example { ", the made-up example week" } else { "" };
    let first = rows.iter().filter_map(|row| row.session.from).min();
    let last = rows.iter().filter_map(|row| row.session.to).max();
    let which = format!("{}, {}{example}", screen.clock.span(first, last), window.words);
    let all = count(rows.len() as u64, "session");
    let end = page.offset + shown.len();
    let head = if shown.len() == rows.len() {
        format!("{all} ({which})")
    } else {
        let more = if end == rows.len() {
            String::new()
        } else if end.is_multiple_of(limit) {
            format!("; --page {} for more", end / limit + 1)
        } else {
            format!("; --offset {end} for more")
        };
        format!("{}-{end} of {all} ({which}){more}", page.offset + 1)
    };
    for text in wrap(&head, screen.width) {
        let _ = writeln!(out, "{text}");
    }
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

fn table(rows: &[Row], all: &[Row], why: &[Vec<String>], rubric: &Rubric, screen: &crate::screen::Screen) -> String {
    let tier_wide = rubric.tiers.iter().map(|tier| width(&tier.name)).max().unwrap_or(0).max(8);
    let project_wide = rows
        .iter()
        .map(|row| width(row.session.project_name()))
        .max()
        .unwrap_or(0)
        .clamp(7, if screen.width > 100 { 24 } else { 10 });
    let days = screen.clock.days(all.iter().map(|row| row.session.to));
    let mut columns =
        vec![("project", project_wide), ("date", days.columns()), ("active", 6), ("turns", 5), ("cost", 8)];
    // What is left for the title, behind tier, score and id. On a narrow screen other columns make room for it.
    let room = |columns: &[(&str, usize)]| {
        let taken = tier_wide + 16 + columns.iter().map(|(_, wide)| wide + 1).sum::<usize>();
        screen.width.saturating_sub(taken)
    };
    for name in ["turns", "cost", "active", "project"] {
        if room(&columns) < TITLE {
            columns.retain(|(known, _)| *known != name);
        }
    }
    let cells = |text: &dyn Fn(&str) -> String| -> String {
        let cell = |(name, wide): &(&str, usize)| match *name {
            "project" => left(&text(name), *wide) + " ",
            _ => right(&text(name), *wide) + " ",
        };
        columns.iter().map(cell).collect()
    };
    let titles = cells(&str::to_owned);
    let head = format!("{} {} {} {titles}title", left("tier", tier_wide), right("score", 5), left("id", 8));
    let mut out = screen.style.heading(&fit(&head, screen.width)) + "\n";
    for (at, row) in rows.iter().enumerate() {
        let session = &row.session;
        let facts = session.facts.get();
        let mark = if row.is_suspected() { "!" } else { " " };
        let (place, tier, score) = match row.grade.as_ref().map(|grade| &grade.overall) {
            Some(Overall::Graded { thousandths, tier, .. }) => {
                let place = rubric.tiers.iter().position(|known| known.name == *tier).unwrap_or(0);
                (place, tier.as_str(), format!("{}{mark}", points(*thousandths)))
            }
            Some(Overall::Process { thousandths, .. }) => (2, PROCESS, format!("{}{mark}", points(*thousandths))),
            _ => (2, "ungraded", format!("-{mark}")),
        };
        let tier = screen.style.tier(place, &left(tier, tier_wide));
        let texts = cells(&|name| match name {
            "project" => session.project_name().to_owned(),
            "date" => days.day(session.to),
            "active" => duration(facts.pace.active_seconds),
            "turns" => facts.prompts.turns.to_string(),
            _ => cost_short(&row.with_subagents.cost),
        });
        let title = fit(&line(session.title.as_str()), room(&columns));
        let _ = writeln!(out, "{tier} {} {} {texts}{title}", right(&score, 5), session.id.short());
        for reason in why.get(at).into_iter().flatten() {
            for (part, text) in wrap(reason, screen.width.saturating_sub(4)).iter().enumerate() {
                let _ = writeln!(out, "  {}{}", if part == 0 { "" } else { "  " }, screen.style.quiet(text));
            }
        }
    }
    let note = |text: &str, out: &mut String| {
        for text in wrap(text, screen.width) {
            let _ = writeln!(out, "{}", screen.style.quiet(&text));
        }
    };
    if rows.iter().any(Row::is_suspected) {
        note("! suspected: its own text speaks to the judge; left out of every mean", &mut out);
    }
    let by_process = |row: &Row| row.tier().is_none() && row.score().is_some();
    if rows.iter().any(|row| !row.is_suspected() && by_process(row)) {
        note("process: how it was done; nothing shows whether the goal was reached", &mut out);
    }
    out
}

fn nothing(all: usize, args: &Sessions, page: Page, window: &str) -> String {
    if all > 0 {
        let pages = all.div_ceil(page.limit.unwrap_or(all));
        return match args.page {
            Some(page) => format!("There is no page {page}; the last one is {pages}.\n"),
            None => format!("--offset {} is behind the last of {}.\n", page.offset, count(all as u64, "session")),
        };
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

fn check_tiers(tiers: &[String], rubric: &Rubric) -> Result<(), Failure> {
    let known: Vec<&str> = rubric.tiers.iter().map(|tier| tier.name.as_str()).chain([PROCESS, "ungraded"]).collect();
    match tiers.iter().find(|tier| !known.iter().any(|known| known.eq_ignore_ascii_case(tier))) {
        None => Ok(()),
        Some(tier) => {
            Err(Failure::new(format!("there is no tier `{tier}`")).hint(format!("the tiers are {}", known.join(", "))))
        }
    }
}

fn order(sort: Sort) -> Order {
    match sort {
        Sort::Worst => Order::Worst,
        Sort::Newest => Order::Newest,
        Sort::Longest => Order::Longest,
        Sort::Cost => Order::Cost,
    }
}
