//! `hotwash` alone: the week on one screen, worst first.

use super::prism::{NAME, score, share};
use super::{Context, project};
use crate::cli::Select;
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::numbers::{count, duration, points};
use crate::screen::stdout;
use crate::screen::text::{fit, left, line, right, width, wrap};
use crate::screen::{LINES, Screen};
use hotwash_core::outcomes::{Goal, Prism};
use hotwash_core::reports::losses::{self, Loss};
use hotwash_core::reports::{self, Counts, Goals, Overview, Spread, TOO_LITTLE, Window, overview, timeline};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::Overall;
use hotwash_core::sessions::EventId;
use hotwash_engine::stores::{Lookup, Query, Row, Store};
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
    let prism = reports::goals(&rows, now);
    let counts = run.counts(&rows, &query, &known);
    let exit = run.report();
    stdout(&draw(&run, screen, &window, &rows, &counts, &prism, Some(context.started.elapsed())))?;
    Ok(exit)
}

/// The PRISM score of the sessions of a window.
pub(super) fn prism(store: &dyn Store, window: &Window, query: &Query) -> Result<Prism, Failure> {
    let judged = store.judged(&window.within(query))?;
    let now = super::prism::newest(store)?;
    Ok(Prism::of(judged.iter().map(|judged| judged.input(now))))
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
    let overview = overview(rows, &run.rubric);
    let Overview { graded, suspected, .. } = &overview;
    let span = if rows.is_empty() { "no sessions".into() } else { screen.clock.span(overview.from, overview.to) };
    let mut head = format!("hotwash   {span} ({})", window.words);
    let amount = format!("{}, {}", count(overview.projects, "project"), count(rows.len() as u64, "session"));
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
    goals(&overview.goals, screen, &mut lines);
    headline(prism, screen, &mut lines);
    if let (false, Overview { overall, process, .. }) = (graded.is_empty(), &overview) {
        if let Some(spread) = overall {
            scores(spread, &overview.tiers, counts, screen, &mut lines);
        }
        if let Some(spread) = process {
            lines.push(style.heading(&fit(&format!("PROCESS  {}   result unknown", range(spread)), screen.width)));
        }
        left_out(suspected, screen, &mut lines);
        lines.push(String::new());
        lines.push(style.heading("LOOK AT THESE FIRST"));
        entries(graded, run, screen, &mut lines);
    } else {
        if suspected.is_empty() {
            lines.push(nothing(run, rows, counts).into());
        }
        left_out(suspected, screen, &mut lines);
    }
    let mut bottom = vec![String::new()];
    bottom.extend(wrap(&format!("{}.", counts.words()), screen.width));
    let mut local = match &run.sent_to[..] {
        [] if run.pulled => "From Langfuse, and nothing sent.".to_owned(),
        [] if run.is_given() => "Nothing kept. Local only.".to_owned(),
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
    bottom.push(next(graded, run, screen));
    causes(graded, &run.rubric, screen, LINES.saturating_sub(1 + bottom.len()), &mut lines);
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

/// How many sessions reached their goal, missed it, or left it open.
fn goals(goals: &Goals, screen: &Screen, lines: &mut Vec<String>) {
    let Goals { reached, missed, open, little, none, by_model } = goals;
    if reached + missed + open + little + none == 0 {
        return;
    }
    let open_words = if *by_model { "undecided" } else { "cannot be told without a model" };
    let mut parts = vec![format!("reached {reached}"), format!("missed {missed}")];
    for (n, words) in [(open, open_words), (little, "too little happened"), (none, "no goal")] {
        parts.extend((*n > 0).then(|| format!("{words} {n}")));
    }
    let room = screen.width.saturating_sub(7);
    let separated = parts.join("   ");
    let text = if width(&separated) <= room { separated } else { parts.join(", ") };
    for (at, line) in wrap(&text, room).into_iter().enumerate() {
        let head = if at == 0 { screen.style.heading("GOALS") } else { "     ".to_owned() };
        lines.push(format!("{head}  {line}"));
    }
}

/// "mean 81 of 100   median 83   range 62-89   n 22".
fn range(spread: &Spread) -> String {
    let Spread { n, mean, median, lowest, highest, .. } = spread;
    // Cut like every other score on the screen, so that one session is its own mean.
    let (mean, median) = (points(*mean as u32), points(*median));
    format!("mean {mean} of 100   median {median}   range {}-{}   n {n}", points(*lowest), points(*highest))
}

/// The mean with its spread, a strip with a dot for each session, and the tiers.
fn scores(spread: &Spread, tiers: &[(String, u64)], counts: &Counts, screen: &Screen, lines: &mut Vec<String>) {
    let style = screen.style;
    lines.push(style.heading(&fit(&format!("OVERALL  {}   unchecked", range(spread)), screen.width)));

    // One column is two points and a half, or five.
    let columns = if screen.width < 60 { 20 } else { 40 };
    let mut strip = vec![0u32; columns + 1];
    for thousandths in &spread.all {
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
    for (place, (tier, n)) in tiers.iter().enumerate() {
        let word = format!("{tier} {n}");
        parts.push((word.clone(), style.tier(place, &word)));
    }
    let too_little = format!("ungraded {}", counts.skipped_as(TOO_LITTLE));
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
fn entries(graded: &[&Row], run: &Run<'_>, screen: &Screen, lines: &mut Vec<String>) {
    let rubric = &run.rubric;
    let shown = &graded[..graded.len().min(WORST)];
    let score = |row: &Row| {
        let goal = match row.goal() {
            Some(Goal::Failed) => "missed",
            Some(Goal::Complete) => "reached",
            Some(Goal::Undecided) | None => "unknown",
        };
        match row.grade.as_ref().map(|grade| &grade.overall) {
            Some(Overall::Graded { thousandths, tier, .. }) => format!("{goal}, {tier} {}", points(*thousandths)),
            Some(Overall::Process { thousandths, .. }) => format!("{goal}, process {}", points(*thousandths)),
            _ => goal.to_owned(),
        }
    };
    let wide = |text: &dyn Fn(&Row) -> String| shown.iter().map(|row| width(&text(row))).max().unwrap_or(0);
    let score_wide = wide(&score);
    let project_wide = wide(&|row| row.session.project_name().to_owned()).min(14);
    let days = screen.clock.days(graded.iter().flat_map(|row| [row.session.from, row.session.to]));
    for (place, row) in shown.iter().enumerate() {
        let session = &row.session;
        let tier = row.tier().and_then(|tier| rubric.tiers.iter().position(|known| known.name == tier)).unwrap_or(2);
        let mut about = format!(" {}", session.id.short());
        // On a narrow screen the reason says more.
        if screen.width >= NARROW {
            let _ = write!(about, " {}", left(session.project_name(), project_wide));
        }
        let _ = write!(about, " {}", right(&days.day(session.to), days.columns()));
        if screen.width >= NARROW {
            let _ = write!(about, " {}", right(&active(row, run), 5));
        }
        let losses = row.grade.as_ref().map(|grade| losses::losses(grade, rubric)).unwrap_or_default();
        let why = losses.first().map_or_else(|| "nothing stands out".into(), |loss| losses::label(loss.fact));
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
    let room = screen.width.saturating_sub(4 + width(&points) + 2);
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
    format!("    {}  {}{quoted}{}", style.strong(&points), style.command(&first), style.command(&rest))
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

/// What lowers scores most: as many causes as fit above line `end`.
fn causes(graded: &[&Row], rubric: &Rubric, screen: &Screen, end: usize, lines: &mut Vec<String>) {
    let causes = losses::causes(graded, rubric);
    let room = end.saturating_sub(lines.len() + 2).min(CAUSES);
    if causes.is_empty() || room == 0 {
        return;
    }
    let wide = screen.width.saturating_sub(26).min(60);
    lines.push(String::new());
    let head = format!("{}{}{}", left("WHAT LOWERS SCORES MOST", wide + 1), right("sessions", 10), right("points", 12));
    lines.push(screen.style.heading(&head));
    for cause in causes.iter().take(room) {
        let each = format!("{:.0} each", -cause.points / cause.sessions as f64);
        let share = format!("{} of {}", cause.sessions, graded.len());
        lines.push(format!(" {}{}{}", left(&losses::label(cause.fact), wide), right(&share, 10), right(&each, 12)));
    }
}

/// What to do next, as much of it as fits.
fn next(graded: &[&Row], run: &Run<'_>, screen: &Screen) -> String {
    let example = if run.settings.example { " --example" } else { "" };
    let mut commands: Vec<String> = Vec::new();
    if run.is_given() {
        // Its sessions are in no store, so that no other command knows them.
        commands.extend(["score PATHS --keep".into(), "score PATHS --json".into(), "--help".into()]);
        return format!("next: {}", screen.style.command(&format!("hotwash {}", commands.join(" | "))));
    }
    commands.extend(graded.first().map(|row| format!("show {}{example}", row.session.id.short())));
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
