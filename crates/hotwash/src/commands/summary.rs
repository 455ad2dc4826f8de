//! `hotwash` alone: the week on one screen, worst first.

use super::prism::{NAME, score, share};
use super::{Context, project};
use crate::cli::Select;
use crate::counts::{Counts, is_suspected};
use crate::errors::{Exit, Failure};
use crate::ledger::{self, Loss};
use crate::run::{Input, Run};
use crate::screen::numbers::{count, duration, points};
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, right, width, wrap};
use crate::screen::{LINES, Screen};
use crate::timeline;
use crate::window::Window;
use hotwash_core::outcomes::Prism;
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::Overall;
use hotwash_core::sessions::EventId;
use hotwash_engine::stores::{Lookup, Query, Row, Store};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

/// How many sessions are singled out.
const WORST: usize = 3;
/// How many causes are.
const CAUSES: usize = 4;
/// On a screen of fewer columns a session is told in fewer words.
const NARROW: usize = 72;

pub(super) fn run(context: &Context<'_>, select: &Select) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    let query = Query { without_facts: true, ..run.query(project(select), false) };
    let window = run.window(screen, select.until.as_deref(), &query)?;
    let (rows, known) =
        run.at_once(|store| Ok(store.sessions(&window.within(&query))?), |store| Ok(store.outcomes()?))?;
    let now = super::prism::newest(&*run.store)?;
    let prism = Prism::of(rows.iter().filter_map(|row| super::prism::input_of_row(row, now)));
    let counts = Counts::of(&run, &rows, &query, &known);
    let exit = run.report();
    stdout(&draw(&run, screen, &window, &rows, &counts, &prism, Some(context.started.elapsed())))?;
    Ok(exit)
}

/// The PRISM score of the sessions of a window.
pub(super) fn prism(store: &dyn Store, window: &Window, query: &Query) -> Result<Prism, Failure> {
    let judged = store.judged(&window.within(query))?;
    let now = super::prism::newest(store)?;
    Ok(Prism::of(judged.iter().map(|judged| super::prism::input(judged, now))))
}

/// The summary of some sessions. `elapsed` is left out where the same text must come out again.
pub(super) fn draw(
    run: &Run<'_>,
    screen: &Screen,
    window: &Window,
    rows: &[Row],
    counts: &Counts,
    prism: &Prism,
    elapsed: Option<Duration>,
) -> String {
    let style = screen.style;
    let mut lines = Vec::new();
    let projects: BTreeSet<&str> = rows.iter().map(|row| row.session.repository()).collect();
    let first = rows.iter().filter_map(|row| row.session.from).min();
    let last = rows.iter().filter_map(|row| row.session.to).max();
    let span = if rows.is_empty() { "no sessions".into() } else { screen.clock.span(first, last) };
    let mut head = format!("hotwash   {span} ({})", window.words);
    let amount = format!("{}, {}", count(projects.len() as u64, "project"), count(rows.len() as u64, "session"));
    if width(&head) + 2 + width(&amount) > screen.width {
        head = format!("hotwash   {span}");
    }
    let gap = screen.width.saturating_sub(width(&head) + width(&amount)).max(2);
    lines.push(format!("{}{}{}", style.heading(&head), " ".repeat(gap), amount));
    if run.example {
        lines.push(if run.settings.example {
            style.warn("The bundled example week: made-up sessions, not yours.")
        } else {
            style.warn("No transcripts of Claude Code here: this is the bundled, made-up example week.")
        });
    }
    headline(prism, screen, &mut lines);
    let (suspected, trusted): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| overall(row).is_some()).partition(|row| is_suspected(row));
    let mut graded: Vec<(&Row, u32)> = trusted.into_iter().filter_map(|row| Some((row, overall(row)?))).collect();
    graded.sort_by_key(|(row, thousandths)| (*thousandths, std::cmp::Reverse(row.session.to)));
    if graded.is_empty() {
        if suspected.is_empty() {
            lines.push(nothing(run, rows, counts).into());
        }
        left_out(&suspected, screen, &mut lines);
    } else {
        scores(&graded, &run.rubric, counts, screen, &mut lines);
        left_out(&suspected, screen, &mut lines);
        lines.push(String::new());
        lines.push(style.heading("LOOK AT THESE FIRST"));
        entries(&graded, run, screen, &mut lines);
    }
    let mut bottom = vec![String::new()];
    bottom.extend(wrap(&format!("{}.", counts.words()), screen.width));
    let mut local = match &run.sent_to[..] {
        [] if run.pulled => "From Langfuse, and nothing sent.".to_owned(),
        [] => "Local only.".to_owned(),
        some => format!("Sent to {}.", some.join(" and ")),
    };
    if let Some(elapsed) = elapsed {
        let _ = write!(local, " {:.1} s", elapsed.as_secs_f64());
    }
    match bottom.last_mut() {
        Some(last) if width(last) + 1 + width(&local) <= screen.width => *last = format!("{last} {local}"),
        _ => bottom.push(local),
    }
    bottom.push(next(&graded, run, screen));
    causes(&graded, &run.rubric, screen, LINES.saturating_sub(1 + bottom.len()), &mut lines);
    lines.extend(bottom);
    lines.join("\n") + "\n"
}

/// Why there is no grade to show.
fn nothing(run: &Run<'_>, rows: &[Row], counts: &Counts) -> &'static str {
    match (rows.is_empty(), counts.found) {
        (false, _) => "No session here has enough in it to be graded.",
        (true, 0) if run.pulled => "Nothing in Langfuse is new.",
        (true, 0) => "There are no transcripts here; `hotwash doctor` says where they are looked for.",
        (true, _) => "No session is of this time and project; `--since all` looks at everything.",
    }
}

/// Did sessions reach their goals, and what would move that.
fn headline(prism: &Prism, screen: &Screen, lines: &mut Vec<String>) {
    if prism.decided + prism.undecided == 0 {
        return;
    }
    let head = format!("{NAME}  {}", score(prism));
    let rest = super::prism::headline(&head, &share(prism), screen);
    lines.push(format!("{}  {rest}", screen.style.heading(&head)));
    let moves: Vec<&str> = prism.moves.iter().map(|a_move| a_move.text.as_str()).collect();
    if let Some(first) = moves.first() {
        // As many as stand there whole.
        let mut text = (*first).to_owned();
        for next in &moves[1..] {
            if width(&text) + 2 + width(next) > screen.width.saturating_sub(11) {
                break;
            }
            let _ = write!(text, "; {next}");
        }
        lines.push(fit(&format!("  moves    {text}"), screen.width));
    }
}

/// The mean with its spread, a strip with a dot for each session, and the tiers.
fn scores(graded: &[(&Row, u32)], rubric: &Rubric, counts: &Counts, screen: &Screen, lines: &mut Vec<String>) {
    let style = screen.style;
    let all: Vec<u32> = graded.iter().map(|(_, thousandths)| *thousandths).collect();
    let n = all.len();
    // Cut like every other score on the screen, so that one session is its own mean.
    let mean = points(all.iter().sum::<u32>() / n as u32);
    let median = points(all[(n - 1) / 2].midpoint(all[n / 2]));
    let only = graded.iter().filter(|(row, _)| is_process_only(row)).count();
    let head = format!(
        "OVERALL  mean {mean} of 100   median {median}   range {}-{}   n {n}",
        points(all[0]),
        points(all[n - 1])
    );
    lines.push(style.heading(&head));

    // One column is two points and a half, or five.
    let columns = if screen.width < 60 { 20 } else { 40 };
    let mut strip = vec![0u32; columns + 1];
    for thousandths in &all {
        strip[(*thousandths as usize * columns / 1000).min(columns)] += 1;
    }
    let dots: String = strip
        .iter()
        .enumerate()
        .map(|(at, n)| match n {
            0 if at * 4 % columns == 0 => '|',
            0 => ' ',
            1 => '.',
            2 => ':',
            3..=5 => 'o',
            _ => 'O',
        })
        .collect();
    let legend = if screen.width < 75 { "" } else { "  .1 :2 o3-5 O6+" };
    lines.push(format!("  spread   0 {dots} 100{legend}"));

    let mut parts: Vec<(String, String)> = Vec::new();
    for (place, tier) in rubric.tiers.iter().enumerate() {
        let n = graded.iter().filter(|(_, t)| rubric.tiers.of(*t).name == tier.name).count();
        let word = format!("{} {n}", tier.name);
        parts.push((word.clone(), style.tier(place, &word)));
    }
    let too_little = format!("ungraded {}", counts.skipped_as(crate::counts::TOO_LITTLE));
    parts.push((too_little.clone(), style.quiet(&too_little)));
    // Where there are very many, the last one goes: the bottom line says it too.
    let fits = |parts: &[(String, String)], gap: &str| {
        11 + parts.iter().map(|(word, _)| width(word) + gap.len()).sum::<usize>() - gap.len() <= screen.width
    };
    let gap = if fits(&parts, "   ") { "   " } else { "  " };
    while parts.len() > 1 && !fits(&parts, gap) {
        parts.pop();
    }
    let painted: Vec<&str> = parts.iter().map(|(_, painted)| painted.as_str()).collect();
    lines.push(format!("  tiers    {}", painted.join(gap)));
    let process = match only {
        0 => String::new(),
        _ => format!("; {only} of {n} by process only: result unknown"),
    };
    let trust = wrap(&format!("unchecked (no labels yet){process}"), screen.width.saturating_sub(11));
    lines.extend(
        trust.iter().enumerate().map(|(at, text)| format!("  {}{text}", left(if at == 0 { "trust" } else { "" }, 9))),
    );
}

/// Those that count in nothing above, because their own text speaks to the judge.
fn left_out(suspected: &[&Row], screen: &Screen, lines: &mut Vec<String>) {
    if suspected.is_empty() {
        return;
    }
    let ids: Vec<&str> = suspected.iter().map(|row| row.session.id.short()).collect();
    let text = format!("  left out {} suspected (text that speaks to the judge): {}", ids.len(), ids.join(" "));
    lines.push(screen.style.warn(&fit(&text, screen.width)));
}

/// Sessions to look at: who each is, and what cost it most.
fn entries(graded: &[(&Row, u32)], run: &Run<'_>, screen: &Screen, lines: &mut Vec<String>) {
    let rubric = &run.rubric;
    let shown = &graded[..graded.len().min(WORST)];
    let score = |row: &Row| match row.grade.as_ref().map(|grade| &grade.overall) {
        Some(Overall::Graded { thousandths, tier, .. }) => format!("{tier} {}", points(*thousandths)),
        _ => String::new(),
    };
    let wide = |text: &dyn Fn(&Row) -> String| shown.iter().map(|(row, _)| width(&text(row))).max().unwrap_or(0);
    let score_wide = wide(&score);
    let project_wide = wide(&|row| row.session.project_name().to_owned()).min(14);
    let days = screen.clock.days(graded.iter().flat_map(|(row, _)| [row.session.from, row.session.to]));
    for (place, (row, thousandths)) in shown.iter().enumerate() {
        let session = &row.session;
        let tier = rubric.tiers.iter().position(|known| known.name == rubric.tiers.of(*thousandths).name).unwrap_or(0);
        let mut about = format!(" {}", session.id.short());
        // On a narrow screen the reason says more.
        if screen.width >= NARROW {
            let _ = write!(about, " {}", left(session.project_name(), project_wide));
        }
        let _ = write!(about, " {}", right(&days.day(session.to), days.columns()));
        if screen.width >= NARROW {
            let _ = write!(about, " {}", right(&active(row, run), 5));
        }
        let losses = row.grade.as_ref().map(|grade| ledger::losses(grade, rubric)).unwrap_or_default();
        let why = losses.first().map_or_else(|| "nothing stands out".into(), |loss| ledger::label(loss.fact));
        let used = 5 + score_wide + width(&about);
        let score = screen.style.tier(tier, &left(&score(row), score_wide));
        // In a wide terminal the title comes along.
        let title = if screen.width > 100 { format!("   {}", line(session.title.as_str())) } else { String::new() };
        let rest = fit(&format!("{why}{title}"), screen.width.saturating_sub(used));
        lines.push(format!(" {} {score}{about}  {rest}", place + 1));
        lines.extend(losses.first().map(|loss| evidence(loss, row, run, screen)));
    }
}

/// How long somebody or something was at it. The rows of a summary come without facts.
fn active(row: &Row, run: &Run<'_>) -> String {
    match run.store.lookup(&row.session.id.0, "") {
        Ok(Lookup::One(row)) => duration(row.session.facts.get().pace.active_seconds),
        _ => String::new(),
    }
}

/// Points, events and the words of the first one; the reason where there is no event to quote.
fn evidence(loss: &Loss<'_>, row: &Row, run: &Run<'_>, screen: &Screen) -> String {
    let points = format!("{:>4.0}", -loss.points);
    let mark = if is_process_only(row) { " (process only)" } else { "" };
    let room = screen.width.saturating_sub(4 + width(&points) + 2 + width(mark));
    let quote = loss.events.first().and_then(|event| quote(*event, row, run));
    let (first, rest) = loss.events.split_at(loss.events.len().min(1));
    let first = first.first().map(|event| format!("{event} ")).unwrap_or_default();
    let rest = events(rest, 16);
    let rest = if rest.is_empty() { rest } else { format!("  {rest}") };
    let quoted = match quote {
        Some(quote) => fit_quote(&quote, room.saturating_sub(width(&first) + width(&rest))),
        None => fit(loss.reason, room.saturating_sub(width(&first) + width(&rest))),
    };
    let style = screen.style;
    format!("    {}  {}{quoted}{}{mark}", style.strong(&points), style.command(&first), style.command(&rest))
}

/// What an event of a session says, if its transcript can still be read.
fn quote(event: EventId, row: &Row, run: &Run<'_>) -> Option<String> {
    let quote = timeline::quote(&|tell| run.tell(row, tell), event, &run.rules).ok()??;
    // Files of the project are named from its folder on.
    Some(line(&quote.replace(&format!("{}/", row.session.project.as_str()), "")))
}

/// Shortens words in quotation marks so that the closing one stays.
fn fit_quote(quote: &str, columns: usize) -> String {
    let short = fit(quote, columns);
    if short == quote || !quote.starts_with('"') {
        return short;
    }
    fit(quote, columns.saturating_sub(1)) + "\""
}

/// "e41 e77 e80 +4": as many as fit.
pub(super) fn events(events: &[EventId], columns: usize) -> String {
    let mut out = String::new();
    for (at, event) in events.iter().enumerate() {
        let rest = events.len() - at - 1;
        let word = event.to_string();
        let more = if rest > 0 { format!(" +{rest}").len() } else { 0 };
        if !out.is_empty() && out.len() + 1 + word.len() + more > columns {
            let _ = write!(out, " +{}", rest + 1);
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
    }
    out
}

/// What costs most over all sessions: as many causes as fit above line `end`.
fn causes(graded: &[(&Row, u32)], rubric: &Rubric, screen: &Screen, end: usize, lines: &mut Vec<String>) {
    let rows: Vec<&Row> = graded.iter().map(|(row, _)| *row).collect();
    let costs = ledger::costs(&rows, rubric);
    let room = end.saturating_sub(lines.len() + 2).min(CAUSES);
    if costs.is_empty() || room == 0 {
        return;
    }
    let wide = screen.width.saturating_sub(26).min(60);
    lines.push(String::new());
    let head = format!("{}{}{}", left("WHAT COSTS MOST", wide + 1), right("sessions", 10), right("points", 12));
    lines.push(screen.style.heading(&head));
    for cost in costs.iter().take(room) {
        let each = format!("{:.0} each", -cost.points / cost.sessions as f64);
        let share = format!("{} of {}", cost.sessions, rows.len());
        lines.push(format!(" {}{}{}", left(&ledger::label(cost.fact), wide), right(&share, 10), right(&each, 12)));
    }
}

/// What to do next, as much of it as fits.
fn next(graded: &[(&Row, u32)], run: &Run<'_>, screen: &Screen) -> String {
    let example = if run.settings.example { " --example" } else { "" };
    let mut commands: Vec<String> = Vec::new();
    commands.extend(graded.first().map(|(row, _)| format!("show {}{example}", row.session.id.short())));
    commands.extend([
        format!("prism --by intent{example}"),
        format!("sessions --sort worst{example}"),
        "score --json".into(),
        "doctor".into(),
        "--help".into(),
    ]);
    while commands.len() > 1 && width("next: hotwash ") + width(&commands.join(" | ")) > screen.width {
        commands.remove(commands.len() - 2);
    }
    format!("next: {}", screen.style.command(&format!("hotwash {}", commands.join(" | "))))
}

fn overall(row: &Row) -> Option<u32> {
    row.grade.as_ref()?.overall.thousandths()
}

fn is_process_only(row: &Row) -> bool {
    matches!(row.grade.as_ref().map(|grade| &grade.overall), Some(Overall::Graded { process_only: true, .. }))
}
