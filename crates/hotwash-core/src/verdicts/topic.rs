//! Whether a prompt is about something else: the answer.

use super::fields::Notes;
use super::{Reading, json};
use crate::redaction::Rules;
use serde::{Deserialize, Serialize};

const KEYS: [&str; 3] = ["because", "other_topic", "sure"];

/// Whether a prompt is about something else than the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicVerdict {
    /// It is.
    pub other: bool,
    /// How sure the judge is, where it says.
    pub confidence: Option<f64>,
    /// Why.
    pub reason: String,
}

impl TopicVerdict {
    /// Reads a reply.
    pub fn read(reply: &str, rules: &Rules) -> Reading<TopicVerdict> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &KEYS);
            let reason = notes.text(&fields, "because").unwrap_or_default();
            let other = notes.boolean(&fields, "other_topic");
            let confidence = notes.number(&fields, "sure");
            notes.reading(other.map(|other| TopicVerdict { other, confidence, reason }))
        })
    }
}
