//! Goal achievement: decided by hard evidence only.
//!
//! Counts of calls, errors, re-reads and claims say how hard a task was, not whether it was solved: none is looked at.

use super::super::{Item, Reading};
use super::words::{choose, count};
use super::{last, last_green, level, note, nothing_to_go_by};
use crate::facts::{Cited, Facts};
use crate::rubric::{Dimension, Offline};
use crate::sessions::EventId;

const FAILED: usize = 0;
const COMPLETE: usize = 2;

pub(super) fn read(facts: &Facts, offline: &Offline, dimension: &Dimension) -> Reading {
    let failures = failures(facts);
    if !failures.is_empty() {
        return level(dimension, FAILED, failures, Some(offline.get("confidence_failed")));
    }
    if facts.transcript.headless {
        return nothing_to_go_by("nobody was there to accept the result and nothing shows a failure: undecided");
    }
    let red = !facts.verification.ended_red.is_empty();
    match (accepted(facts), verified(facts)) {
        (Some(_), _) if red => nothing_to_go_by("the person accepted the result but the last run is red: undecided"),
        (Some(item), _) => level(dimension, COMPLETE, vec![item], Some(offline.get("confidence_accepted"))),
        (None, Some(item)) => level(dimension, COMPLETE, vec![item], Some(offline.get("confidence_verified"))),
        (None, None) => nothing_to_go_by("nobody said whether it worked and no run shows it: undecided"),
    }
}

fn failures(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    let broke_off = &facts.ending.ended_on_api_error;
    if !broke_off.is_empty() {
        let reason = "the session ended on a request that failed for good".to_owned();
        items.push(note("ended_on_api_error", reason, &broke_off.0));
    }
    let open = &facts.ending.ended_on_open_calls;
    if !open.is_empty() {
        let were = choose(open.count(), ("was", "were"));
        let reason = format!("the session ended while {} {were} still open", count(open.count(), "tool call"));
        items.push(note("ended_on_open_calls", reason, &open.0));
    }
    let complaints = reactions(facts, &facts.signals.failure_signals);
    let accepted = last_reaction(facts);
    if complaints.last() > accepted.as_ref() {
        let n = complaints.len() as u64;
        let complain = choose(n, ("complains or gives up", "complain or give up"));
        let reason = format!("{} near the end {complain}, and none accepts the result later", count(n, "prompt"));
        items.push(note("failure_signals", reason, &complaints));
    }
    items
}

/// A person accepted the result in words, after the last complaint and the last change.
fn accepted(facts: &Facts) -> Option<Item> {
    let accepted = last_reaction(facts)?;
    (Some(accepted) > last(&facts.edits.edit_calls_ok)).then(|| {
        let reason = "the person accepted the result in words".to_owned();
        note("completion_signals", reason, &[accepted])
    })
}

/// The work was checked, and the person went on after the last change without complaint.
fn verified(facts: &Facts) -> Option<Item> {
    // A prompt after the run: one before it cannot be an answer to it.
    let went_on = last(&facts.prompts.human_prompts)
        .filter(|prompt| Some(*prompt) > last(&facts.edits.edit_calls_ok) && Some(*prompt) > last_green(facts))?;
    let content = reactions(facts, &facts.signals.failure_signals).is_empty();
    (facts.verification.verified == Some(true) && facts.prompts.turns >= 2 && content).then(|| {
        let reason = "a green run came after the last change and the person went on without complaint".to_owned();
        let events: Vec<EventId> = last_green(facts).into_iter().chain([went_on]).collect();
        note("verified", reason, &events)
    })
}

fn last_reaction(facts: &Facts) -> Option<EventId> {
    reactions(facts, &facts.signals.completion_signals).last().copied()
}

/// The prompt that opens a session states its task: "it does not work" and "great, now" there are no word on its result.
fn reactions(facts: &Facts, signals: &Cited) -> Vec<EventId> {
    let prompts = &facts.prompts;
    let opening = prompts.human_prompts.0.iter().chain(&prompts.plan_prompts.0).min();
    signals.0.iter().copied().filter(|signal| Some(signal) != opening).collect()
}
