//! A session rendered for a judge: redacted, numbered, fenced, within a budget.
//!
//! A [`Recorder`] is told the events of a session and keeps what a judge may need of them, redacted as whole events. The
//! [`Record`] that comes of it is rendered three ways: [`Record::requests`] for the task that sees the person's words
//! only, [`Record::whole`] for the one that decides the outcome from a single piece, and [`Record::chunks`] for quality.
//! Where a session begins is asked before there is one: a [`PromptRecorder`] keeps the prompts of a whole transcript.

pub mod chunks;
mod greens;
mod input;
mod net;
mod produced;
mod record;
mod render;
mod shorten;
mod table;
#[cfg(test)]
mod testing;
pub mod tokens;
mod topics;
mod tripwire;
mod words;

pub use record::{About, Record, Recorder, SubagentNote};
pub use shorten::BUDGET;
pub use topics::{PromptEvidence, PromptRecorder, Prompts};

use crate::redaction::Redacted;
use crate::sessions::EventId;
use std::collections::BTreeMap;

/// What a judge sees of a session, or of a chunk of it.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The whole text, fences included.
    text: Redacted<String>,
    /// The marker of the fences: a keyed hash of what they enclose.
    marker: String,
    /// How many tokens the text is estimated to be.
    tokens: usize,
    /// Which part of the session it is.
    part: Part,
    /// The events that it shows, whole, however much of them the text shows.
    events: BTreeMap<EventId, Shown>,
    /// Where the session's own text speaks to its judge.
    alarms: Vec<Alarm>,
    /// The share of what decides that was not cut away, from 0 to 1.
    coverage: f64,
}

/// Which part of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// Tokens of what this part owns, the context that came along not counted.
    pub owned_tokens: usize,
}

/// An event that evidence shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All of its words, redacted.
    pub words: Redacted<String>,
    /// It belongs to this part; else it came along as context.
    pub owned: bool,
    /// What its words can show.
    pub source: Source,
}

/// Where words come from, by how much they can show: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A file, a page, a search: it was there, and says nothing of the work.
    Read,
    /// The agent, or a subagent: a claim.
    Agent,
    /// The person.
    Person,
    /// Something that the session did: an edit, a file written, a run.
    Did,
}

/// A place where a session's text speaks to its judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Where.
    pub event: EventId,
    /// What gave it away, redacted and short.
    pub words: Redacted<String>,
}

impl Evidence {
    /// The whole text, fences included.
    pub fn text(&self) -> &Redacted<String> {
        &self.text
    }

    /// The marker of the fences.
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// How many tokens the text is estimated to be.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Which part of the session it is.
    pub fn part(&self) -> Part {
        self.part
    }

    /// An event that it shows.
    pub fn event(&self, id: EventId) -> Option<&Shown> {
        self.events.get(&id)
    }

    /// Where the session's own text speaks to its judge.
    pub fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// The share of what decides that was not cut away: requests, what was made, last runs, the last answer.
    pub fn coverage(&self) -> f64 {
        self.coverage
    }
}

#[cfg(test)]
impl Evidence {
    /// Evidence of a few events, for tests of those who only read it.
    pub(crate) fn for_tests(events: &[(u32, &str)], alarms: &[(u32, &str)]) -> Evidence {
        let events: Vec<_> = events.iter().map(|(id, words)| (*id, *words, Source::Did)).collect();
        Evidence::for_tests_from(&events, alarms)
    }

    /// The same, of events from different sources.
    pub(crate) fn for_tests_from(events: &[(u32, &str, Source)], alarms: &[(u32, &str)]) -> Evidence {
        let rules = crate::redaction::Rules::default();
        let redact = |words: &str| crate::redaction::redact(words, &rules);
        let line = |(id, words, _): &(u32, &str, Source)| format!("[e{id}] {words}\n");
        let text: String = events.iter().map(line).collect();
        let show = |(id, words, source): &(u32, &str, Source)| {
            (EventId(*id), Shown { words: redact(words), owned: true, source: *source })
        };
        let alarm = |(id, words): &(u32, &str)| Alarm { event: EventId(*id), words: redact(words) };
        Evidence {
            tokens: text.len() / 4,
            part: Part { number: 0, of: 1, owned_tokens: text.len() / 4 },
            text: redact(&text),
            marker: "0123456789abcdef".into(),
            events: events.iter().map(show).collect(),
            alarms: alarms.iter().map(alarm).collect(),
            coverage: 1.0,
        }
    }
}
