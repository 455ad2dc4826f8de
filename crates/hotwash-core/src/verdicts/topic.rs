//! At which prompts another goal begins: the answer, and what it decides.
//!
//! A false cut is worse than a missed one. An answer that names what was not asked about, or does not say how sure it is,
//! decides nothing, and one that is not sure leaves the prompt to its words.

use super::fields::Notes;
use super::{Fault, Reading, cites, json};
use crate::redaction::Rules;
use crate::sessions::EventId;
use crate::sessions::topic::Known;
use serde::{Deserialize, Serialize};

const KEYS: [&str; 2] = ["shifts", "sure_of_rest"];
const KEYS_OF_SHIFT: [&str; 3] = ["because", "event", "sure"];
/// So sure a judge must be to cut, in thousandths.
const SURE_TO_CUT: u16 = 700;
/// So sure it must be to hold together what words would cut.
const SURE_TO_HOLD: u16 = 600;

/// At which prompts another goal begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicVerdict {
    /// Those at which one does, in the order of the answer.
    pub shifts: Vec<Shift>,
    /// How sure the judge is that none begins with the others, where it says.
    pub rest: Option<f64>,
}

/// A prompt at which another goal begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The prompt.
    pub event: EventId,
    /// How sure the judge is, where it says.
    pub confidence: Option<f64>,
    /// Why.
    pub reason: String,
}

/// What an answer decides of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Whether another goal begins with it; nothing where its words are to decide.
    pub known: Known,
    /// How sure the judge is, in thousandths, where it says.
    pub sure: Option<u16>,
    /// Why.
    pub reason: String,
}

impl TopicVerdict {
    /// Reads a reply to a question about these prompts.
    pub fn read(reply: &str, asked: &[EventId], rules: &Rules) -> Reading<TopicVerdict> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &KEYS);
            let mut shifts: Vec<Shift> = Vec::new();
            let mut sound = map.get(KEYS[0]).is_some_and(serde_json::Value::is_array);
            for one in notes.objects(&fields, "shifts", &KEYS_OF_SHIFT) {
                let reason = notes.text(&one, "because").unwrap_or_default();
                let event = notes.text(&one, "event").and_then(|event| cites::event(&event));
                let confidence = notes.number(&one, "sure");
                sound &= confidence.is_some();
                let known = |event: &EventId| shifts.iter().any(|shift| shift.event == *event);
                if let Some(event) = event.filter(|event| asked.contains(event) && !known(event)) {
                    shifts.push(Shift { event, confidence, reason });
                } else {
                    sound = false;
                    let text = "must be one of the prompts asked about, once";
                    notes.problem(one.path("event"), Fault::NoCitation, text);
                }
            }
            let rest = notes.number(&fields, "sure_of_rest");
            sound &= rest.is_some();
            notes.reading(sound.then_some(TopicVerdict { shifts, rest }))
        })
    }

    /// What it decides of a prompt that was asked about.
    pub fn ruling(&self, prompt: EventId) -> Ruling {
        let thousandths = |sure: f64| (sure * 1000.0 + 0.5) as u16;
        if let Some(shift) = self.shifts.iter().find(|shift| shift.event == prompt) {
            let sure = shift.confidence.map(thousandths);
            let known = sure.filter(|sure| *sure >= SURE_TO_CUT).map(|sure| Known::Other { sure });
            return Ruling { known: known.unwrap_or_default(), sure, reason: shift.reason.clone() };
        }
        let sure = self.rest.map(thousandths);
        let holds = sure.is_some_and(|sure| sure >= SURE_TO_HOLD);
        Ruling { known: if holds { Known::Same } else { Known::Nothing }, sure, reason: String::new() }
    }
}
