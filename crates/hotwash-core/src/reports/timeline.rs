//! A session as turns: what was asked, what was called, what came of it. Every word in it is redacted.

use crate::facts::calls::{Calls, waited_for_person};
use crate::facts::{Status, Step};
use crate::redaction::{Rules, redact};
use crate::sessions::{
    ApiError, Call, Compaction, Event, EventId, GoalCheck, Key, Kind, Origin, Timestamp, command_line,
};
use std::collections::{BTreeMap, HashMap};

/// Tells the events of a session to what it is given, or says why it cannot.
pub type Tell<'t, E> = &'t dyn Fn(&mut dyn FnMut(&Event<'_>)) -> Result<(), E>;

/// A prompt and everything up to the next one.
#[derive(Debug, Default)]
pub struct Turn {
    /// What began it; nothing where the transcript begins in the middle.
    pub prompt: Option<Moment>,
    /// What came after.
    pub steps: Vec<Moment>,
}

/// One thing in a turn.
#[derive(Debug)]
pub struct Moment {
    /// Its place.
    pub id: EventId,
    /// When.
    pub at: Option<Timestamp>,
    /// Done by a subagent whose lines stand in the same transcript.
    pub by_subagent: bool,
    /// What.
    pub what: What,
}

impl Moment {
    fn new(event: &Event<'_>, what: What) -> Moment {
        let origin = event.origin;
        Moment { id: origin.id, at: origin.at, by_subagent: origin.sidechain, what }
    }
}

/// What a step is.
#[derive(Debug)]
pub enum What {
    /// Words: whose, and which.
    Said(&'static str, String),
    /// A tool call.
    Called {
        /// The tool.
        tool: String,
        /// What it was called with, in short.
        argument: String,
        /// How it ended.
        end: Option<End>,
    },
    /// Something that happened to the session.
    Happened(String),
}

/// How a call ended, where and when.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// How.
    pub status: Status,
    /// The event of its result.
    pub id: EventId,
    /// When.
    pub at: Option<Timestamp>,
    /// A person was asked on the way, so that nobody knows what the tool itself took.
    pub waited: bool,
}

/// The turns of a session.
pub fn turns<E>(tell: Tell<'_, E>, rules: &Rules) -> Result<Vec<Turn>, E> {
    let mut turns = vec![Turn::default()];
    let mut calls = Calls::default();
    let mut places: HashMap<Key, (usize, usize)> = HashMap::new();
    tell(&mut |event| {
        calls.event(event, |event, step| match step {
            Step::Called(call) => {
                if let Kind::Call(recorded) = &event.kind {
                    let what =
                        What::Called { tool: word(&call.name, rules), argument: argument(recorded, rules), end: None };
                    let turn = turns.len() - 1;
                    places.insert(call.key, (turn, turns[turn].steps.len()));
                    push(&mut turns, event, what);
                }
            }
            Step::Ended { call, outcome, status } => {
                let place = call.and_then(|call| places.get(&call.key));
                let Some(step) = place.and_then(|&(turn, at)| turns.get_mut(turn)?.steps.get_mut(at)) else { return };
                if let What::Called { end, .. } = &mut step.what {
                    let waited = waited_for_person(*call, outcome, *status);
                    let Origin { id, at, .. } = *event.origin;
                    *end = Some(End { status: *status, id, at, waited });
                }
            }
            Step::Aside => aside(&mut turns, event, rules),
        });
    })?;
    turns.retain(|turn| turn.prompt.is_some() || !turn.steps.is_empty());
    Ok(turns)
}

fn push(turns: &mut [Turn], event: &Event<'_>, what: What) {
    if let Some(turn) = turns.last_mut() {
        turn.steps.push(Moment::new(event, what));
    }
}

fn aside(turns: &mut Vec<Turn>, event: &Event<'_>, rules: &Rules) {
    let step = |what| Moment::new(event, what);
    match &event.kind {
        Kind::Prompt(prompt) => {
            let mut words = word(prompt.words, rules);
            if prompt.images > 0 {
                words = format!("[{} image(s)] {words}", prompt.images);
            } else if words.is_empty() {
                words = "[not recorded]".into();
            }
            turns.push(Turn { prompt: Some(step(What::Said("you", words))), steps: Vec::new() });
        }
        Kind::PlanApproval(body) => {
            let words = word(&body.to_str(), rules);
            turns.push(Turn { prompt: Some(step(What::Said("plan", words))), steps: Vec::new() });
        }
        _ => {
            if let Some(what) = what(event, rules) {
                push(turns, event, what);
            }
        }
    }
}

/// Things beside prompts and calls that a timeline shows.
fn what(event: &Event<'_>, rules: &Rules) -> Option<What> {
    let what = match &event.kind {
        Kind::Says(text) if !text.to_str().trim().is_empty() => What::Said("says", word(&text.to_str(), rules)),
        Kind::GoalCheck(check) => What::Happened(format!("goal {}", word(&goal_check(check), rules))),
        Kind::TurnLimit => What::Happened("all turns used up".into()),
        Kind::Command { name, args, .. } => {
            What::Happened(format!("command {}", word(&command_line(name, args), rules)))
        }
        Kind::Bang(text) => What::Happened(format!("you ran ! {}", word(&text.to_str(), rules))),
        Kind::Interrupt => What::Happened("interrupted by you".into()),
        Kind::Compaction(Compaction::Manual) => What::Happened("context compacted, as you asked".into()),
        Kind::Compaction(Compaction::Auto) => What::Happened("context full: compacted".into()),
        Kind::ApiError(ApiError::Retry) => What::Happened("request failed, tried again".into()),
        Kind::ApiError(ApiError::Final(body)) => {
            What::Happened(format!("request failed for good: {}", word(&body.to_str(), rules)))
        }
        _ => return None,
    };
    Some(what)
}

/// What a call is about: the file, the command, the words searched for.
fn argument(call: &Call<'_>, rules: &Rules) -> String {
    let input = &call.input;
    let parts = [input.command, input.pattern, input.which, input.path];
    let named: Vec<String> =
        parts.iter().filter(|text| !text.is_empty()).map(|text| word(&text.to_str(), rules)).take(2).collect();
    if named.is_empty() {
        return word(&String::from_utf8_lossy(input.whole), rules);
    }
    named.join("  ")
}

/// Words that may be shown: redacted as a whole, before anybody shortens them.
fn word(text: &str, rules: &Rules) -> String {
    redact(text, rules).into_string()
}

/// The telling words of an event, in a line: what was said, what was called, what it answered.
pub fn quote<E>(tell: Tell<'_, E>, id: EventId, rules: &Rules) -> Result<Option<String>, E> {
    let mut tools: BTreeMap<Key, String> = BTreeMap::new();
    let mut best: Option<(u8, String)> = None;
    tell(&mut |event| {
        if let Kind::Call(call) = &event.kind {
            tools.insert(call.key, word(&call.name.to_str(), rules));
        }
        if event.origin.id != id {
            return;
        }
        // A line can hold several things; the lower the number, the more it says.
        let told = match &event.kind {
            Kind::Prompt(prompt) => Some((0, format!("\"{}\"", word(prompt.words, rules)))),
            Kind::ApiError(ApiError::Final(body)) => Some((0, format!("\"{}\"", word(&body.to_str(), rules)))),
            Kind::Outcome(outcome) => {
                let tool = outcome.call.and_then(|key| tools.get(&key)).map_or("?", String::as_str);
                let words = word(&outcome.body.to_str(), rules);
                Some((u8::from(!outcome.error), format!("{tool}: {}", telling_line(&words))))
            }
            Kind::Call(call) => Some((2, format!("{} {}", word(&call.name.to_str(), rules), argument(call, rules)))),
            Kind::Says(text) => Some((3, format!("\"{}\"", word(&text.to_str(), rules)))),
            _ => None,
        };
        if let Some(told) = told
            && best.as_ref().is_none_or(|best| told.0 < best.0)
        {
            best = Some(told);
        }
    })?;
    Ok(best.map(|(_, words)| words))
}

/// The first line of some output that speaks of an error, else the first one.
fn telling_line(output: &str) -> &str {
    let output = output.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let speaks = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("error") || line.contains("fail") || line.contains("not found")
    };
    lines().find(speaks).or_else(|| lines().next()).unwrap_or_default()
}

/// An event in full: what it is, and its words.
#[derive(Debug)]
pub struct Full {
    /// Its place.
    pub id: EventId,
    /// When.
    pub at: Option<Timestamp>,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub text: String,
}

/// Every event of a session, or those of one line.
pub fn events<E>(tell: Tell<'_, E>, only: Option<EventId>, rules: &Rules) -> Result<Vec<Full>, E> {
    let mut all = Vec::new();
    let mut tools: BTreeMap<Key, String> = BTreeMap::new();
    tell(&mut |event| {
        if let Kind::Call(call) = &event.kind {
            tools.insert(call.key, word(&call.name.to_str(), rules));
        }
        if only.is_none_or(|only| only == event.origin.id) {
            let (kind, text) = full(event, &tools, rules);
            all.push(Full { id: event.origin.id, at: event.origin.at, kind, text });
        }
    })?;
    Ok(all)
}

/// How it stands with a goal, in words.
fn goal_check(check: &GoalCheck<'_>) -> String {
    let stands = match check {
        GoalCheck { set: true, .. } => "set",
        GoalCheck { met: true, .. } => "reached",
        GoalCheck { given_up: true, .. } => "given up",
        _ => "not reached",
    };
    let why = if check.reason.is_empty() { check.condition } else { check.reason };
    format!("{stands}: {}", why.to_str())
}

fn full(event: &Event<'_>, tools: &BTreeMap<Key, String>, rules: &Rules) -> (String, String) {
    let word = |text: &str| word(text, rules);
    let (kind, text) = match &event.kind {
        Kind::Prompt(prompt) => ("you", word(prompt.words)),
        Kind::PlanApproval(body) => ("plan", word(&body.to_str())),
        Kind::Command { name, args, .. } => ("command", word(&command_line(name, args))),
        Kind::Bang(text) => ("you ran", word(&text.to_str())),
        Kind::Interrupt => ("interrupt", String::new()),
        Kind::Queued(text) => ("queued", word(&text.to_str())),
        Kind::ClientText(body) => ("client", word(&body.to_str())),
        Kind::Message(message) => {
            let usage = &message.usage;
            let model = word(&message.model.to_str());
            return ("message".into(), format!("{model}, {} tokens in, {} out", usage.context(), usage.output));
        }
        Kind::SubagentMessage(message) => ("subagent", word(&message.model.to_str())),
        Kind::Says(text) => ("says", word(&text.to_str())),
        Kind::Thinking => ("thinking", String::new()),
        Kind::Call(call) => {
            let whole = String::from_utf8_lossy(call.input.whole);
            // Laid out for reading where it can be; the words are redacted after that, as they are shown.
            let laid_out = serde_json::from_str::<serde_json::Value>(&whole)
                .ok()
                .and_then(|value| serde_json::to_string_pretty(&value).ok())
                .unwrap_or_else(|| whole.into_owned());
            return (format!("call {}", word(&call.name.to_str())), word(&laid_out));
        }
        Kind::Outcome(outcome) => {
            let tool = outcome.call.and_then(|key| tools.get(&key)).map_or("?", String::as_str);
            let ended = if outcome.error { "error" } else { "result" };
            return (format!("{ended} {tool}"), word(&outcome.body.to_str()));
        }
        Kind::Compaction(Compaction::Manual) => ("compaction", "as you asked".into()),
        Kind::Compaction(Compaction::Auto) => ("compaction", "context full".into()),
        Kind::ApiError(ApiError::Retry) => ("api error", "tried again".into()),
        Kind::ApiError(ApiError::Final(body)) => ("api error", word(&body.to_str())),
        Kind::GoalCheck(check) => ("goal", word(&goal_check(check))),
        Kind::TurnLimit => ("turn limit", String::new()),
        Kind::Title { text, .. } => ("title", word(&text.to_str())),
        Kind::Activity => ("activity", String::new()),
        Kind::Unknown => ("unknown", String::new()),
        Kind::NotRecorded(names) => ("not recorded", names.join(", ")),
    };
    (kind.into(), text)
}
