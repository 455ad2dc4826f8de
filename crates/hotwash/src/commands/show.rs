//! `hotwash show`: one session, what it scored and why, and what happened in it.

use super::{Context, summary};
use crate::cli::Show;
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::Screen;
use crate::screen::numbers::{cost, count, duration, elapsed, grouped, points, short};
use crate::screen::stdout;
use crate::screen::text::{block, fit, fit_path, left, line, right, width, words, wrap};
use crate::shapes;
use hotwash_core::evidence::{About, Evidence, Recorder};
use hotwash_core::facts::Status;
use hotwash_core::outcomes::{Goal, JudgeStatus, Outcome};
use hotwash_core::prices::Picodollars;
use hotwash_core::reports::losses;
use hotwash_core::reports::timeline::{self, End, Moment, Turn, What};
use hotwash_core::scores::{Flag, Grade, Overall, Reading, Value};
use hotwash_core::sessions::{EventId, SessionKind};
use hotwash_core::verdicts::{OutcomeVerdict, Status as Met};
use hotwash_engine::pipeline::Untold;
use hotwash_engine::stores::{Judging, Lack, Lookup, Row};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A run of calls that went well is folded when it is longer than this …
const FOLD_FROM: usize = 6;
/// … to this many.
const FOLD_TO: usize = 3;

pub(super) fn run(context: &Context<'_>, args: &Show) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::SourcesOrExample)?;
    let screen = &context.screen;
    let row = find(&run, &args.id)?;
    let event = args.event.as_ref().or(args.event_option.as_ref()).map(|text| event_id(text)).transpose()?;
    let exit = run.report();
    if args.json {
        let mut document = serde_json::json!({ "version": shapes::VERSION, "example": run.example });
        document["session"] = shapes::session(&row, &run, true);
        stdout(&shapes::document(&document))?;
        return Ok(exit);
    }
    let cited = cited(&row);
    if event.is_some() || args.events {
        let events =
            timeline::events(&|tell| run.tell(&row, tell), event, &run.rules).map_err(|error| untold(&run, error))?;
        if let (Some(id), true) = (event, events.is_empty()) {
            return Err(Failure::new(format!("the session {} has no event {id}", row.session.id.short()))
                .hint(format!("`hotwash show {} --events` lists them", row.session.id.short())));
        }
        let whole = event.is_some();
        screen.page(&self::events(&events, &cited, whole, screen))?;
        return Ok(exit);
    }
    let mut out = String::new();
    if run.example && !run.settings.example {
        let _ = writeln!(
            out,
            "{}",
            screen.style.warn("No transcripts of Claude Code here: this is from the made-up example week.")
        );
    }
    head(&row, &run, screen, &mut out)?;
    if let Some(outcome) = &row.outcome {
        self::outcome(outcome, &row, screen, &mut out);
    }
    if let Some(judging) = &row.judged {
        let alarms = if row.is_suspected() { alarms(&row, &run) } else { Vec::new() };
        self::judging(judging, &alarms, screen, &mut out);
    }
    if let Some(grade) = &row.grade {
        scores(grade, &run, screen, &mut out);
    }
    match timeline::turns(&|tell| run.tell(&row, tell), &run.rules) {
        Ok(turns) => {
            let view = View { cited: &cited, project: row.session.project.as_str(), all: args.all, screen };
            view.turns(&turns, &mut out);
        }
        Err(Untold::Gone(_)) => {
            out.push_str("\nThe transcript is gone and the archive does not have it: no timeline.\n");
        }
        Err(error) => return Err(untold(&run, error)),
    }
    let example = if run.settings.example { " --example" } else { "" };
    let id = row.session.id.short();
    let losses = row.grade.as_ref().map(|grade| losses::losses(grade, &run.rubric)).unwrap_or_default();
    let worst = losses.iter().find_map(|loss| loss.events.first());
    let next = match worst.or(cited.first()) {
        Some(event) => format!("hotwash show {id} {event}{example} | show {id} --all | show {id} --events"),
        None => format!("hotwash show {id} --all{example} | show {id} --events"),
    };
    let fits = |next: &&str| width("next: ") + width(next) <= screen.width;
    let shorter = next.rsplit_once(" | ").map(|(first, _)| first);
    let next = Some(next.as_str()).filter(fits).or(shorter).unwrap_or(&next);
    let _ = writeln!(out, "\nnext: {}", screen.style.command(next));
    screen.page(&out)?;
    Ok(exit)
}

/// The one session that an id stands for.
pub(super) fn find(run: &Run<'_>, id: &str) -> Result<Row, Failure> {
    match run.store.lookup(id, &run.rubric.hash())? {
        Lookup::One(row) => Ok(*row),
        Lookup::None => {
            Err(Failure::new(format!("there is no session `{id}`")).hint("`hotwash sessions --since all` lists them"))
        }
        Lookup::Many(ids) => {
            let ids: Vec<&str> = ids.iter().map(hotwash_core::sessions::SessionId::short).collect();
            Err(Failure::new(format!("several sessions begin with `{id}`"))
                .hint(format!("say more of it: {}", ids.join(", "))))
        }
    }
}

fn event_id(text: &str) -> Result<EventId, Failure> {
    let digits = text.strip_prefix(['e', 'E']).unwrap_or(text);
    let (transcript, line) = digits.split_once('.').unwrap_or(("1", digits));
    let parsed = transcript.parse::<usize>().ok().filter(|number| *number > 0).zip(line.parse().ok());
    parsed.map(|(number, line)| EventId::of_transcript(number - 1, EventId(line))).ok_or_else(|| {
        Failure::new(format!("`{text}` is no event"))
            .hint("an event is written e41: the number is its line in the transcript")
    })
}

fn untold(run: &Run<'_>, error: Untold) -> Failure {
    match error {
        Untold::Store(error) => error.into(),
        Untold::Gone(path) => Failure::new(format!("the transcript {} is gone", run.shown_path(&path)))
            .cause("the archive does not have it either"),
        Untold::Unreadable(path, error) => {
            Failure::new(format!("cannot read {}", run.shown_path(&path))).cause(words(&error))
        }
        Untold::KeptBack => Failure::new(error.to_string()),
    }
}

fn cited(row: &Row) -> BTreeSet<EventId> {
    let scores = row.grade.iter().flat_map(|grade| &grade.scores);
    let items = scores.filter_map(|score| match &score.reading {
        Reading::Scored { items, .. } => Some(items),
        Reading::Unscored { .. } => None,
    });
    // What speaks for a session would mark half of it.
    items.flatten().filter(|item| item.amount <= 0.0).flat_map(|item| item.events.iter().copied()).collect()
}

fn head(row: &Row, run: &Run<'_>, screen: &Screen, out: &mut String) -> Result<(), Failure> {
    let session = &row.session;
    let facts = session.facts.get();
    let room = screen.width.saturating_sub(10);
    let title = fit(&line(session.title.as_str()), room);
    let _ = writeln!(out, "{}  {}", screen.style.heading(session.id.short()), screen.style.heading(&title));
    let mut field = |name: &str, text: String| {
        if !text.is_empty() {
            let lines = wrap(&text, room).join(&format!("\n{}", " ".repeat(10)));
            let _ = writeln!(out, "{}{lines}", screen.style.quiet(&left(name, 10)));
        }
    };
    field("summary", line(session.summary.as_str()));
    let agent = match (session.kind, &session.agent) {
        (SessionKind::Subagent, Some(agent)) => format!(" (subagent {})", line(agent)),
        (SessionKind::Subagent, None) => " (subagent)".into(),
        _ => String::new(),
    };
    let project = fit_path(&line(session.project.as_str()), room.saturating_sub(width(&agent)));
    field("project", format!("{project}{agent}"));
    let pace = &facts.pace;
    let (from, to) = (screen.clock.moment(session.from), screen.clock.moment(session.to));
    let same_day = screen.clock.date(session.from) == screen.clock.date(session.to);
    let to = if same_day { to.rsplit(' ').next().unwrap_or_default().to_owned() } else { to };
    field("when", format!("{from} - {to} {}", screen.clock.zone(session.to)));
    field(
        "time",
        format!(
            "{} active, {} waiting for you, {} in all",
            duration(pace.active_seconds),
            duration(pace.waiting_seconds),
            duration(pace.wall_seconds)
        ),
    );
    let (tools, edits) = (&facts.tools, &facts.edits);
    // What the recording lost is not 0.
    let known = |fact: &str, n: u64, one: &str| {
        if facts.knows(fact) { count(n, one) } else { format!("unknown {one}s") }
    };
    let lines = if facts.knows("lines_added") && facts.knows("lines_removed") {
        format!("+{} -{}", grouped(edits.lines_added), grouped(edits.lines_removed))
    } else {
        "(lines unknown)".to_owned()
    };
    field(
        "work",
        format!(
            "{}, {}, {}; {} {lines}",
            known("turns", facts.prompts.turns, "turn"),
            known("tool_calls", tools.tool_calls, "tool call"),
            known("tool_errors", tools.tool_errors.count(), "error"),
            known("files_edited", edits.files_edited, "file"),
        ),
    );
    let counted = facts.knows("tokens");
    let tokens = |tokens: &hotwash_core::facts::Tokens| {
        if !counted {
            return "tokens unknown".to_owned();
        }
        let input = tokens.input + tokens.cache_creation + tokens.cache_read;
        format!("{} in ({} from cache), {} out", short(input), short(tokens.cache_read), short(tokens.output))
    };
    let own = &facts.tokens;
    field("used", format!("{}; {}", tokens(&own.tokens), cost(&own.cost_usd)));
    if row.with_subagents.subagents > 0 {
        let all = &row.with_subagents;
        field("  with", format!("{}: {}; {}", count(all.subagents, "subagent"), tokens(&all.tokens), cost(&all.cost)));
    }
    for child in run.store.subagents(row, &run.rubric.hash())? {
        field(
            "",
            format!(
                "{}  {}",
                child.session.id.short(),
                fit(&line(child.session.title.as_str()), room.saturating_sub(10))
            ),
        );
    }
    let unpriced = if own.unpriced_models.is_empty() {
        String::new()
    } else {
        format!(" (no price: {})", own.unpriced_models.join(", "))
    };
    field("models", format!("{}{unpriced}", own.models.join(", ")));
    field("client", facts.transcript.versions.join(", "));
    let parts = run.store.parts(row)?;
    for (at, part) in parts.iter().enumerate() {
        field(if at == 0 { "why" } else { "" }, super::sessions::reason(part, run));
    }
    if session.open {
        field("state", "open: the last of its transcript, graded again when it grows".into());
    }
    let newest = run.store.file(&row.path)?.is_none_or(|file| file.version == row.version);
    let gone = !newest || !std::path::Path::new(&row.path).exists();
    let archived = if gone { " (gone; read from the archive)" } else { "" };
    let path = run.shown_path(&row.path);
    field("file", format!("{}{archived}", fit_path(&path, room.saturating_sub(archived.len()))));
    let mut others: Vec<&str> = parts.iter().map(|part| part.path.as_str()).filter(|path| *path != row.path).collect();
    others.dedup();
    for (at, other) in others.iter().enumerate() {
        // As its events are written.
        let mark = format!(" (e{}.…)", at + 2);
        field("", format!("{}{mark}", fit_path(&run.shown_path(other), room.saturating_sub(mark.len()))));
    }
    Ok(())
}

/// Whether the goal was reached, and how that is known.
fn outcome(outcome: &Outcome, row: &Row, screen: &Screen, out: &mut String) {
    let style = screen.style;
    let intent = outcome.intended.intent;
    let said = match (outcome.status, outcome.goal) {
        (JudgeStatus::NoGoal, _) => "no goal was established".to_owned(),
        (_, Goal::Complete) => format!("{}: goal reached", intent.singular()),
        (_, Goal::Failed) => format!("{}: goal missed", intent.singular()),
        (_, Goal::Undecided) => {
            let offline = if row.judged.is_some() { "" } else { " offline" };
            let likely =
                outcome.probability.map(|probability| format!(" ({:.0} % likely reached)", probability * 100.0));
            format!("{}: undecided{offline}{}", intent.singular(), likely.unwrap_or_default())
        }
    };
    let _ = writeln!(out, "\n{}  {}", style.heading("OUTCOME"), style.strong(&said));
    if !outcome.substance.passes() {
        item_lines("      ", "too little happened for it to count", &[], screen, out);
    }
    if row.rework.as_ref().is_some_and(|rework| rework.reworked) {
        let text = format!("later sessions took it back: hotwash rework {}", row.session.id.short());
        item_lines("      ", &text, &[], screen, out);
    }
    for reason in &outcome.reasons {
        item_lines("      ", &reason.text, &reason.events, screen, out);
    }
    if let Some(verdict) = row.judged.as_ref().and_then(|judging| judging.verdict.as_ref()) {
        criteria(verdict, screen, out);
    }
    let booleans = shapes::booleans(row);
    let missing: Vec<String> =
        booleans.all().iter().filter(|(_, held)| !held.holds).map(|(name, _)| name.replace('_', " ")).collect();
    let missing = if missing.is_empty() { "all seven hold".into() } else { format!("not: {}", missing.join(", ")) };
    item_lines("      ", &format!("letter {}; {missing}", booleans.letter()), &[], screen, out);
}

/// What would have to be true, and whether the judge found that it is.
fn criteria(verdict: &OutcomeVerdict, screen: &Screen, out: &mut String) {
    for finding in &verdict.criteria {
        let status = match finding.status {
            Met::Met => "met",
            Met::Partly => "met in part",
            Met::Unmet => "unmet",
            Met::Unknown => "unknown",
        };
        let events: Vec<EventId> = finding.cites.iter().map(|cite| cite.event).collect();
        item_lines("      ", &format!("{status}: {}", line(&finding.criterion.check)), &events, screen, out);
    }
    for doubt in &verdict.doubts {
        item_lines("      ", &format!("doubt: {}", line(doubt)), &[], screen, out);
    }
}

/// Who judged, when and for how much, and what to know before trusting it.
fn judging(judging: &Judging, alarms: &[EventId], screen: &Screen, out: &mut String) {
    let Judging { provenance, at, calls, cost, flags, coverage, complete, lack, .. } = judging;
    // Where nobody knows the model it is called as the judge is.
    let model = provenance.model.iter().filter(|model| **model != provenance.judge).map(|model| format!(" {model}"));
    let price = match cost {
        None => ", unknown price".into(),
        Some(Picodollars(0)) => String::new(),
        Some(cost) => format!(", ${:.4}", cost.dollars()),
    };
    let by = format!("{}{}", provenance.judge, model.collect::<String>());
    let _ = writeln!(out, "\n{}  {by}", screen.style.heading("JUDGED BY"));
    let mut text = format!("{}, {}{price}", screen.clock.moment(Some(*at)), count(*calls, "answer"));
    if *coverage < 0.995 {
        let _ = write!(text, "; {:.0} % of what decides was shown", coverage * 100.0);
    }
    item_lines("      ", &text, &[], screen, out);
    if !complete {
        let why = lack.as_ref().map_or(String::new(), |lack| format!(" ({})", line(&lack.reason)));
        let next = match lack {
            Some(Lack { again: false, .. }) => "another judge or model may do better",
            _ => "judging again asks only that",
        };
        item_lines("      ", &format!("something could not be judged{why}: {next}"), &[], screen, out);
    }
    for flag in flags {
        let events = if *flag == Flag::InjectionSuspected { alarms } else { &[] };
        item_lines("      ", &format!("{flag}: {}", flag.meaning()), events, screen, out);
    }
}

/// Where a session's own text speaks to its judge, whatever it was judged on.
fn alarms(row: &Row, run: &Run<'_>) -> Vec<EventId> {
    let mut recorder = Recorder::new(&run.rules);
    if run.tell(row, &mut |event| recorder.event(event)).is_err() {
        return Vec::new();
    }
    let record = recorder.finish(About { facts: row.session.facts.get(), subagents: Vec::new() });
    let chunks = record.chunks(&run.rubric.chunks);
    let events: BTreeSet<EventId> = chunks.iter().flat_map(Evidence::alarms).map(|alarm| alarm.event).collect();
    events.into_iter().collect()
}

fn scores(grade: &Grade, run: &Run<'_>, screen: &Screen, out: &mut String) {
    let style = screen.style;
    let head = match &grade.overall {
        Overall::Graded { thousandths, tier, cap, .. } => {
            let cap = cap.as_ref().map(|cap| format!("\n{} by the number; the goal is {}.", cap.uncapped, cap.goal));
            let cap = cap.unwrap_or_default();
            let place = run.rubric.tiers.iter().position(|known| known.name == *tier).unwrap_or(0);
            let score = style.tier(place, &format!("{tier} {} of 100", points(*thousandths)));
            format!("{}  {score}  unchecked{cap}", style.heading("OVERALL"))
        }
        Overall::Process { thousandths, .. } => {
            let score = style.strong(&format!("{} of 100", points(*thousandths)));
            let head = style.heading("PROCESS");
            format!("{head}  {score}  unchecked\nNo overall: nothing shows whether the goal was reached.")
        }
        Overall::TooFew { present, needed } => {
            format!("{}  not enough to grade: {present} of the {needed} dimensions needed", style.heading("OVERALL"))
        }
    };
    let _ = writeln!(out, "\n{head}");
    let name_wide = run.rubric.dimensions.iter().map(|dimension| dimension.name.len()).max().unwrap_or(0);
    for score in &grade.scores {
        let weight = run.rubric.dimension(&score.dimension).map_or(0.0, |dimension| dimension.weight);
        let name = left(&score.dimension, name_wide);
        match &score.reading {
            Reading::Scored { value, start, items, .. } => {
                let moved = items.iter().any(|item| item.amount != 0.0);
                let begin =
                    if moved || *start != value.number() { format!(", begins at {start:.3}") } else { String::new() };
                let (value, begin) = match value {
                    Value::Number(number) => (format!("{number:.3}"), begin),
                    Value::Level { label, .. } => (format!("{:.3} {label}", value.number()), String::new()),
                };
                let _ = writeln!(
                    out,
                    "{}  {}{}",
                    style.strong(&name),
                    style.strong(&value),
                    style.quiet(&format!("  (weight {weight:.2}{begin})"))
                );
                for item in items {
                    let amount = if item.amount == 0.0 { "      ".into() } else { format!("{:+.3}", item.amount) };
                    item_lines(&amount, &item.reason, &item.events, screen, out);
                }
            }
            Reading::Unscored { reason, .. } => {
                let text = format!("unscored: {reason}");
                let lines = wrap(&text, screen.width.saturating_sub(name_wide + 2))
                    .join(&format!("\n{}", " ".repeat(name_wide + 2)));
                let _ = writeln!(out, "{}  {}", style.strong(&name), style.quiet(&lines));
            }
        }
    }
}

/// "  -0.120  7 of 31 reads repeat an unchanged range  e41 e77 e80".
fn item_lines(amount: &str, reason: &str, events: &[EventId], screen: &Screen, out: &mut String) {
    let room = screen.width.saturating_sub(4 + amount.len());
    let indent = " ".repeat(4 + amount.len());
    let events = summary::events(events, room / 2);
    let mut lines = wrap(reason, room);
    let gap = if events.is_empty() { "" } else { "  " };
    let fits = lines.last().is_some_and(|last| width(last) + 2 + width(&events) <= room);
    if fits && let Some(last) = lines.last_mut() {
        last.push_str(gap);
        last.push_str(&screen.style.command(&events));
    } else if !events.is_empty() {
        lines.push(screen.style.command(&events));
    }
    let _ = writeln!(out, "  {amount}  {}", lines.join(&format!("\n{indent}")));
}

/// How a timeline is drawn.
struct View<'a> {
    cited: &'a BTreeSet<EventId>,
    project: &'a str,
    all: bool,
    screen: &'a Screen,
}

impl View<'_> {
    fn turns(&self, turns: &[Turn], out: &mut String) {
        let screen = self.screen;
        let mut number = 0;
        for turn in turns {
            if let Some(prompt) = &turn.prompt {
                number += 1;
                let head = format!("TURN {number}  {}  {}", screen.clock.time(prompt.at), prompt.id);
                let _ = writeln!(out, "\n{}", screen.style.heading(&head));
                if let What::Said(who, words) = &prompt.what {
                    let mark = if self.cited.contains(&prompt.id) { "*" } else { " " };
                    let who = if *who == "plan" { "plan: " } else { "" };
                    let words = fit(&line(words), screen.width.saturating_sub(4 + who.len()));
                    let _ = writeln!(out, "{}> {who}{}", screen.style.warn(mark), screen.style.strong(&words));
                }
            } else {
                let _ = writeln!(out, "\n{}", screen.style.heading("BEFORE THE FIRST PROMPT"));
            }
            self.steps(turn, out);
        }
    }

    fn steps(&self, turn: &Turn, out: &mut String) {
        // Of what the agent says, only what is cited and its last words in a turn are shown.
        let is_words = |step: &&Moment| matches!(step.what, What::Said(..));
        let last_words = turn.steps.iter().rev().find(is_words).map(|step| step.id);
        let worth_a_line = |step: &&Moment| {
            self.all || !is_words(step) || self.cited.contains(&step.id) || last_words == Some(step.id)
        };
        let shown: Vec<&Moment> = turn.steps.iter().filter(worth_a_line).collect();
        let mut at = 0;
        while at < shown.len() {
            let run = shown[at..].iter().take_while(|step| self.went_well(step)).count();
            if !self.all && run > FOLD_FROM {
                shown[at..at + FOLD_TO].iter().for_each(|step| self.step(step, out));
                let folded = format!("… {} more calls, all ok", run - FOLD_TO);
                let _ = writeln!(out, "        {}", self.screen.style.quiet(&folded));
                at += run;
            } else {
                let to = at + run.max(1);
                shown[at..to].iter().for_each(|step| self.step(step, out));
                at = to;
            }
        }
    }

    /// A call that went well and that nothing points at.
    fn went_well(&self, step: &Moment) -> bool {
        match &step.what {
            What::Called { end: Some(End { status: Status::Ok, id: end, .. }), .. } => {
                !self.cited.contains(&step.id) && !self.cited.contains(end)
            }
            _ => false,
        }
    }

    fn step(&self, step: &Moment, out: &mut String) {
        let (style, columns) = (self.screen.style, self.screen.width);
        let mut cited = self.cited.contains(&step.id);
        let text = match &step.what {
            What::Said(who, words) => {
                let who = format!("{}{who}", if step.by_subagent { "| " } else { "" });
                format!("{}  {}", left(&who, 6), fit(&line(words), columns.saturating_sub(16)))
            }
            What::Happened(words) => style.warn(&fit(&line(words), columns.saturating_sub(8))),
            What::Called { tool, argument, end } => {
                let ended = match end {
                    None => style.warn("no result"),
                    Some(End { status, id: end, at, waited }) => {
                        cited |= self.cited.contains(end);
                        let took = step.at.zip(*at).map(|(from, to)| elapsed((to.0 - from.0).max(0)));
                        match status {
                            Status::Ok if *waited => format!("ok {}", right("asked", 7)),
                            Status::Ok => format!("ok {}", right(&took.unwrap_or_default(), 7)),
                            Status::Failed => style.error(&format!("error {end}")),
                            Status::Rejected => style.warn(&format!("rejected {end}")),
                            Status::Echo => style.quiet("cancelled"),
                        }
                    }
                };
                let tool = format!("{}{}", if step.by_subagent { "| " } else { "" }, line(tool));
                let tool = left(&tool, width(&tool).clamp(6, 18));
                let room = columns.saturating_sub(8 + width(&tool) + 2 + 2 + 14);
                format!("{tool}  {}  {ended}", left(&self.argument(argument, room), room))
            }
        };
        let mark = if cited { style.warn("*") } else { " ".into() };
        let id = left(&step.id.to_string(), 5);
        let _ = writeln!(out, "{mark} {} {}", style.quiet(&id), text.trim_end());
    }

    /// What a call is about, with files of the project named from its folder on.
    fn argument(&self, argument: &str, room: usize) -> String {
        let inside = argument.strip_prefix(self.project).and_then(|rest| rest.strip_prefix('/'));
        match inside {
            Some(path) if !path.contains(' ') => fit_path(&line(path), room),
            _ => fit(&line(argument), room),
        }
    }
}

fn events(events: &[timeline::Full], cited: &BTreeSet<EventId>, whole: bool, screen: &Screen) -> String {
    let mut out = String::new();
    for event in events {
        let mark = if cited.contains(&event.id) { "*" } else { " " };
        let head = format!(
            "{mark} {} {}  {}",
            left(&event.id.to_string(), 5),
            screen.clock.time(event.at),
            left(&line(&event.kind), 14)
        );
        if whole {
            let _ = writeln!(out, "{}\n{}\n", screen.style.heading(head.trim_end()), block(&event.text).trim_end());
        } else {
            let text = fit(&line(&event.text), screen.width.saturating_sub(width(&head) + 1));
            let _ = writeln!(out, "{}", format!("{head} {text}").trim_end());
        }
    }
    out
}
