//! `hotwash prism`: the share of sessions that crushed their goal, with everything that stands behind it.

use super::{Context, project};
use crate::cli::{By, Prism as Args};
use crate::errors::{Exit, Failure};
use crate::repositories::Repositories;
use crate::run::{Input, Run};
use crate::screen::numbers::count;
use crate::screen::text::{broken, fit, left, line, right, width, wrap};
use crate::screen::{self, Screen, stdout};
use crate::shapes;
use crate::window;
use hotwash_core::outcomes::prism::{FEWEST, Prism};
use hotwash_core::outcomes::{self, Goal};
use hotwash_core::reports::{self, Page, Window};
use hotwash_core::scores::offline;
use hotwash_core::sessions::Timestamp;
use hotwash_engine::sources::Agent;
use hotwash_engine::stores::{Judged, Query, Store};
use serde_json::json;
use std::fmt::Write as _;

/// What the score is called on screens.
pub(super) const NAME: &str = "GOALS REACHED (PRISM)";
/// How many things that would move the score are listed.
const MOVES: usize = 6;

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    let (window, mut judged, now) = judged(&run, screen, args)?;
    if args.git {
        ask_git(&run, context, &mut judged);
    }
    let all = Prism::of(judged.iter().map(|judged| judged.input(now)));
    let agent = |judged: &Judged| agent(&*run.store, judged);
    let groups = args.by.map(|by| (by, reports::goals_by(&judged, group(by), now, agent)));
    let page = args.part.page();
    let exit = run.report();
    if args.json {
        let mut document = json!({
            "version": shapes::VERSION,
            "window": { "since": shapes::moment(window.since), "until": shapes::moment(window.until) },
            "judge": { "name": offline::JUDGE, "version": outcomes::VERSION },
            "example": run.example,
            "prism": all,
        });
        if let Some((by, groups)) = groups {
            document["by"] = json!(by.name());
            let shown = page.of(&groups).iter();
            document["groups"] = shown.map(|(key, prism)| json!({ "key": key, "prism": prism })).collect();
            document["page"] = shapes::page(page, groups.len());
        }
        stdout(&shapes::document(&document))?;
        return Ok(exit);
    }
    let mut out = String::new();
    let example = if run.example { ", the made-up example week" } else { "" };
    let head = format!("{NAME}   {}{example}", window.words);
    let _ = writeln!(out, "{}\n", screen.style.heading(&fit(&head, screen.width)));
    whole(&all, screen, &mut out);
    if let Some((by, groups)) = &groups {
        table(*by, groups, page, screen, &mut out);
    }
    moves(&all, screen, &mut out);
    let more = if args.by.is_none() { "prism --by intent | " } else { "" };
    // What facts leave open a model can decide: here is how.
    let then = if all.undecided > 0 { "score --judge claude-cli" } else { "show ID | rework ID" };
    let all = format!("hotwash {more}sessions --why | {then}");
    let short = format!("hotwash {more}{then}");
    let fitting = if width(&all) + 6 <= screen.width { all } else { short };
    let _ = writeln!(out, "\nnext: {}", screen.style.command(&fitting));
    screen.page(&out)?;
    Ok(exit)
}

/// The sessions of the window, and the moment by which they are old enough: the end of the newest there is.
fn judged(run: &Run<'_>, screen: &Screen, args: &Args) -> Result<(Window, Vec<Judged>, Timestamp), Failure> {
    let query = run.query(project(&args.select), false);
    let since = run.settings.since.value.as_str();
    let window = window::settle(since, args.select.until.as_deref(), &screen.clock, &*run.store, &query)?;
    let judged = run.store.judged(&window.within(&query))?;
    Ok((window, judged, newest(&*run.store)?))
}

/// Takes the word of the repositories for what became of work that no later session touched.
fn ask_git(run: &Run<'_>, context: &Context<'_>, judged: &mut [Judged]) {
    let mut repositories = Repositories::new(context.env);
    for judged in judged.iter_mut().filter(|judged| judged.ruling.goal == Goal::Complete && !judged.reworked) {
        let folder = repositories.folder(judged.project.as_str());
        let outcome = repositories.outcome(run, &judged.id, (judged.from, judged.to), &folder);
        judged.reworked = outcome.is_some_and(|outcome| outcome.reworked);
    }
    for problem in repositories.problems() {
        screen::stderr(&format!("warning: {problem}\n"));
    }
}

/// The end of the newest session: what is younger than the rework window is so by then.
pub(super) fn newest(store: &dyn Store) -> Result<Timestamp, Failure> {
    Ok(store.newest(&Query::default())?.unwrap_or(Timestamp(0)))
}

fn group(by: By) -> reports::By {
    match by {
        By::Project => reports::By::Project,
        By::Week => reports::By::Week,
        By::Model => reports::By::Model,
        By::Agent => reports::By::Agent,
        By::Intent => reports::By::Intent,
    }
}

/// The agent that a session is of.
fn agent(store: &dyn Store, judged: &Judged) -> String {
    let file = store.file(&judged.path).ok().flatten();
    let agent = file.and_then(|file| Agent::named(&file.agent));
    agent.and_then(|agent| agent.recorded_by(judged.path.as_ref())).unwrap_or_else(|| "unknown".into())
}

/// "58 [47-68]"; "5 of 7" where too few were decided for a percentage.
pub(super) fn score(prism: &Prism) -> String {
    ranged(prism.score, prism.interval).unwrap_or_else(|| reached(prism).unwrap_or_else(|| "none decided".into()))
}

/// "5 of 7": how many of the decided ones reached their goal.
fn reached(prism: &Prism) -> Option<String> {
    (prism.decided > 0).then(|| format!("{} of {}", prism.crushed, prism.decided))
}

fn ranged(score: Option<f64>, interval: Option<(f64, f64)>) -> Option<String> {
    let (score, (low, high)) = score.zip(interval)?;
    Some(format!("{score:.0} [{low:.0}-{high:.0}]"))
}

/// "61 of 95 decided offline; a model judge decides the rest", or how many a model has judged; what is missing where too few
/// were decided. What follows the semicolon can be left out.
pub(super) fn share(prism: &Prism) -> String {
    if prism.decided < FEWEST {
        let undecided = match prism.undecided {
            0 => String::new(),
            n if prism.by_model == 0 => format!("; {n} undecided offline"),
            n => format!("; {n} undecided"),
        };
        return format!("a score needs {FEWEST} decided{undecided}");
    }
    let goals = prism.decided + prism.undecided;
    let how = match (prism.by_model, prism.undecided) {
        (0, 0) => " offline".to_owned(),
        (0, _) => " offline; a model judge decides the rest".to_owned(),
        (n, _) if n == goals => "; a model judged all of them".to_owned(),
        (n, _) => format!("; a model judged {n} of them"),
    };
    format!("{} of {goals} decided{how}", prism.decided)
}

/// The score and [`share`] on one line, as much of it as fits.
pub(super) fn headline(head: &str, share: &str, screen: &Screen) -> String {
    let room = screen.width.saturating_sub(width(head) + 2);
    let short = share.split_once(';').map_or(share, |(first, _)| first);
    fit(if width(share) <= room { share } else { short }, room)
}

fn whole(prism: &Prism, screen: &Screen, out: &mut String) {
    let style = screen.style;
    let head = score(prism);
    let _ = writeln!(out, "{}  {}", style.strong(&head), headline(&head, &share(prism), screen));
    let mut said = |name: &str, text: String| {
        for (at, text) in wrap(&text, screen.width.saturating_sub(12)).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let _ = writeln!(out, "  {}{text}", style.quiet(&left(name, 10)));
        }
    };
    said("reached", format!("{} of {} decided sessions reached their goal and kept it", prism.crushed, prism.decided));
    if let Some((low, high)) = prism.bounds {
        said("bounds", format!("{low:.0} if every undecided one had failed, {high:.0} if every one had reached it"));
    }
    let explicit = &prism.explicit;
    let kept = ranged(explicit.score, explicit.interval);
    let kept = kept.unwrap_or_else(|| format!("{} of {}", explicit.crushed, prism.decided));
    said("explicit", format!("{kept} with silent completions counted as not complete"));
    if prism.reworked > 0 {
        said("rework", format!("{} reached the goal and were taken back later", count(prism.reworked, "session")));
    }
    if prism.provisional > 0 {
        said(
            "early",
            format!(
                "{} of {} are younger than two weeks: later work may take them back",
                prism.provisional, prism.decided
            ),
        );
    }
    let left_out: Vec<String> = [
        (prism.without_substance, "without substance"),
        (prism.no_goal, "without a goal"),
        (prism.judge_failed, "whose judge failed"),
        (prism.skipped, "not judged"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, why)| format!("{n} {why}"))
    .collect();
    let left_out = if left_out.is_empty() { "none".into() } else { left_out.join(", ") };
    said("left out", format!("{left_out}; {} in all", count(prism.sessions, "session")));
}

fn table(by: By, groups: &[(String, Prism)], page: Page, screen: &Screen, out: &mut String) {
    let names: Vec<String> = match by {
        By::Project => distinct_ends(groups.iter().map(|(key, _)| key)),
        By::Intent => groups.iter().map(|(key, _)| key.replace('_', " ")).collect(),
        _ => groups.iter().map(|(key, _)| line(key)).collect(),
    };
    let rows: Vec<(String, &Prism)> = names.into_iter().zip(groups.iter().map(|(_, prism)| prism)).collect();
    let shown = page.of(&rows);
    let room = screen.width.saturating_sub(44).max(8);
    let wide = shown.iter().map(|(name, _)| width(name)).filter(|wide| *wide <= room).max().unwrap_or(0).max(8);
    let head = format!(
        "{} {}  {} {} {}",
        left(by.name(), wide + 1),
        right("reached", 9),
        left("PRISM", 12),
        right("undecided", 9),
        right("sessions", 8)
    );
    let _ = writeln!(out, "\n{}", screen.style.heading(&head));
    for (name, prism) in shown {
        // A name is never cut, because two could look the same then.
        let mut name = name.as_str();
        if width(name) > wide {
            for part in broken(name, screen.width.saturating_sub(1)) {
                let _ = writeln!(out, " {part}");
            }
            name = "";
        }
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let _ = writeln!(
            out,
            " {} {}  {} {} {}",
            left(name, wide),
            right(&or_dash(reached(prism)), 9),
            left(&or_dash(ranged(prism.score, prism.interval)), 12),
            right(&prism.undecided.to_string(), 9),
            right(&prism.sessions.to_string(), 8)
        );
    }
    if shown.len() < rows.len() {
        let _ = writeln!(out, " {} of {} shown", shown.len(), rows.len());
    }
}

/// The end of each path, long enough that no two are the same.
fn distinct_ends<'p>(paths: impl Iterator<Item = &'p String>) -> Vec<String> {
    let paths: Vec<String> = paths.map(|path| line(path)).collect();
    let end = |path: &str, parts: usize| {
        let mut cuts = path.rmatch_indices('/').map(|(at, _)| at + 1);
        let end = cuts.nth(parts - 1).and_then(|at| path.get(at..));
        end.filter(|end| !end.is_empty()).unwrap_or(path).to_owned()
    };
    let distinct = |path: &String| {
        let most = path.matches('/').count() + 1;
        let is_own = |parts: &usize| paths.iter().filter(|other| end(other, *parts) == end(path, *parts)).count() == 1;
        end(path, (1..=most).find(is_own).unwrap_or(most))
    };
    paths.iter().map(distinct).collect()
}

fn moves(prism: &Prism, screen: &Screen, out: &mut String) {
    if prism.moves.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", screen.style.heading("WHAT WOULD MOVE IT"));
    for a_move in prism.moves.iter().take(MOVES) {
        let _ = writeln!(out, " {}", fit(&a_move.text, screen.width.saturating_sub(1)));
    }
    if prism.moves.len() > MOVES {
        let _ = writeln!(out, " and {}; --json has all", count((prism.moves.len() - MOVES) as u64, "more kind"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_folders_never_look_the_same() {
        let paths = ["/home/ada/one/api", "/home/ada/two/api", "/srv/shop", "/srv/api", "", "/"].map(str::to_owned);
        assert_eq!(distinct_ends(paths.iter()), ["one/api", "two/api", "shop", "srv/api", "", "/"]);
    }
}
