//! Goal achievement: what the outcome says, so that the two cannot disagree.
//!
//! How it is decided is in [`outcomes`](crate::outcomes). Partial and exceeded are beyond facts.

use super::super::{Item, Reading};
use super::{level, note, nothing_to_go_by};
use crate::outcomes::{Goal, Outcome, Reason};
use crate::rubric::{Dimension, Offline};

const FAILED: usize = 0;
const COMPLETE: usize = 2;
/// Room for most that is said of why it is undecided.
const UNDECIDED_BYTES: usize = 160;

pub(super) fn read(outcome: &Outcome, offline: &Offline, dimension: &Dimension) -> Reading {
    let by_run = outcome.reasons.first().is_some_and(|reason| reason.fact == "verified");
    let items = || outcome.reasons.iter().map(item).collect();
    match outcome.goal {
        Goal::Failed => level(dimension, FAILED, items(), Some(offline.get("confidence_failed"))),
        Goal::Complete if by_run => level(dimension, COMPLETE, items(), Some(offline.get("confidence_verified"))),
        Goal::Complete => level(dimension, COMPLETE, items(), Some(offline.get("confidence_accepted"))),
        Goal::Undecided => {
            let mut why = String::with_capacity(UNDECIDED_BYTES);
            for (at, reason) in outcome.reasons.iter().enumerate() {
                why.push_str(if at == 0 { "" } else { "; " });
                why.push_str(&reason.text);
            }
            why.push_str(": undecided");
            nothing_to_go_by(why)
        }
    }
}

fn item(reason: &Reason) -> Item {
    note(reason.fact.clone(), reason.text.clone(), &reason.events)
}
