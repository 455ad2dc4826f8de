//! The slow, obvious decoder: what the fast path must agree with, in tests and under the fuzzer.
//!
//! It parses each line to a tree (`tree`), looks up what a record means (`rules`) and tells the same events and the
//! same [`Reading`]. It shares no code with the fast path that reads bytes, keys or strings; the two share the events
//! themselves, hashing, timestamps and the list of bookkeeping types. Events are compared as they are shown, texts decoded.

mod rules;
#[cfg(test)]
mod tests;
mod tree;

use super::decode::Records;
use crate::sources::Decoder as _;
use hotwash_core::facts::calls::KeySet;
use hotwash_core::prices;
use hotwash_core::records::Reading;
use hotwash_core::sessions::topic::ByWords;
use hotwash_core::sessions::{ApiError, Event, Kind, Pieces};
use std::collections::HashSet;

/// What a decoder made of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The events as shown, in order.
    pub events: Vec<String>,
    /// What reading had to say.
    pub reading: Reading,
}

/// The first difference between the two decoders on these bytes, if there is one, put into words.
pub fn difference(transcript: &[u8]) -> Option<String> {
    let (fast, slow) = (fast(transcript), slow(transcript));
    if fast.reading != slow.reading {
        return Some(format!("reading\n fast: {:?}\n slow: {:?}", fast.reading, slow.reading));
    }
    let length = fast.events.len().max(slow.events.len());
    let first = (0..length).find(|&at| fast.events.get(at) != slow.events.get(at));
    first.map(|at| {
        let shown = |events: &[String]| events.get(at).cloned().unwrap_or_else(|| "nothing".into());
        format!("event {at}\n fast: {}\n slow: {}", shown(&fast.events), shown(&slow.events))
    })
}

/// What the fast path makes of a transcript. Facts are established on the way: they may not panic either.
pub fn fast(transcript: &[u8]) -> Told {
    let (mut told, mut seen, mut pieces) = (Told::default(), KeySet::default(), Pieces::default());
    let mut decoder = Records::default();
    for (line, number) in transcript.split(|byte| *byte == b'\n').zip(1..) {
        decoder.line(line, number, &mut told.reading, &mut seen, &mut |event| {
            told.events.push(show(event));
            pieces.event(event, &ByWords);
        });
    }
    for part in pieces.parts() {
        part.ledger.finish(prices::shipped());
    }
    told
}

/// What the oracle makes of a transcript.
pub fn slow(transcript: &[u8]) -> Told {
    let (mut told, mut seen) = (Told::default(), HashSet::new());
    for (line, number) in transcript.split(|byte| *byte == b'\n').zip(1..) {
        slow_line(line, number, &mut told, &mut seen);
    }
    told
}

fn slow_line(line: &[u8], number: u32, told: &mut Told, seen: &mut HashSet<String>) {
    let mark = if line.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let mut at = tree::behind_space(line, mark);
    if at == line.len() {
        return;
    }
    told.reading.lines += 1;
    let mut objects = 0;
    while at < line.len() {
        let Some((node, end)) = tree::parse(line, at).filter(|(node, _)| rules::is_record(node)) else {
            told.reading.malformed_lines += 1;
            break;
        };
        objects += 1;
        at = tree::behind_space(line, end);
        let record = rules::At(Some(&node));
        let uuid = rules::uuid(record);
        if uuid.is_empty() || seen.insert(uuid.to_string()) {
            rules::events(record, line, number, &mut |event| told.events.push(show(event)));
        } else {
            told.reading.duplicate_lines += 1;
        }
    }
    if objects > 1 {
        told.reading.glued_lines += 1;
    }
}

/// An event as it is compared: its texts decoded, and the parts of its body one by one.
fn show(event: &Event<'_>) -> String {
    let body = match event.kind {
        Kind::PlanApproval(body) | Kind::ClientText(body) | Kind::ApiError(ApiError::Final(body)) => body,
        Kind::Outcome(outcome) => &outcome.body,
        _ => return format!("{event:?}"),
    };
    format!("{event:?} of {:?}", body.parts())
}
