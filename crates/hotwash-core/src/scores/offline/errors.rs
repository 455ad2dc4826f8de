//! Error handling: the same call failing over and over, the share of calls that failed, errors left standing.

use super::super::{Item, Reading};
use super::sheet::Share;
use super::words::{choose, count_behind, number, push_number};
use super::{level, note, nothing_to_go_by};
use crate::facts::Facts;
use crate::rubric::{Dimension, Offline};
use crate::sessions::EventId;
use std::borrow::Cow;

const POOR: usize = 0;
const STRUGGLED: usize = 1;
const RECOVERED: usize = 2;
const PREVENTED: usize = 3;

pub(super) fn read(facts: &Facts, offline: &Offline, dimension: &Dimension) -> Reading {
    let calls = facts.tools.tool_calls;
    let errors = &facts.tools.tool_errors;
    if errors.is_empty() {
        let needed = offline.get("prevented_min_calls") as u64;
        let mut seen = count_behind("no error in ", calls, "tool call");
        if calls < needed {
            seen.push_str("; ");
            push_number(&mut seen, needed);
            seen.push_str(" are needed to say anything");
            return nothing_to_go_by(seen);
        }
        let clean = note("tool_errors", seen, &[]);
        return level(dimension, PREVENTED, vec![clean], None);
    }
    let poor = [streak(facts, offline, "poor_streak"), unresolved(facts, offline), bypassed(facts)];
    let struggled = [streak(facts, offline, "struggled_streak"), often(facts, offline), None];
    for (index, signs) in [(POOR, poor), (STRUGGLED, struggled)] {
        let items: Vec<Item> = signs.into_iter().flatten().collect();
        if !items.is_empty() {
            return level(dimension, index, items, None);
        }
    }
    let failed = failed(facts).words("tool call", ("failed", "failed"));
    let in_a_row = match facts.tools.longest_error_streak {
        _ if !facts.knows("longest_error_streak") => Cow::Borrowed(""),
        0 | 1 => ", the same one at most once in a row".into(),
        streak => format!(", the same one at most {} times in a row", number(streak)).into(),
    };
    let left = match facts.ending.unresolved_errors.count() {
        _ if !facts.knows("unresolved_errors") => Cow::Borrowed(""),
        0 => ", and none was left standing at the end".into(),
        left => format!(", and {} {} left standing at the end", number(left), choose(left, ("was", "were"))).into(),
    };
    let reason = failed + &in_a_row + &left;
    level(dimension, RECOVERED, vec![note("tool_errors", reason, &errors.0)], None)
}

fn streak(facts: &Facts, offline: &Offline, param: &'static str) -> Option<Item> {
    let streak = facts.tools.longest_error_streak;
    // One failure is no streak, whatever a rubric says.
    let counts = facts.knows("longest_error_streak") && streak as f64 >= offline.get(param).max(2.0);
    counts.then(|| {
        let reason = format!("nearly the same call failed {} times in a row", number(streak));
        note("longest_error_streak", reason, &facts.tools.retries.0)
    })
}

/// What failed was passed over with the checks left out.
fn bypassed(facts: &Facts) -> Option<Item> {
    let bypassed = &facts.verification.checks_bypassed;
    let failed_before = |bypass: &EventId| facts.tools.tool_errors.0.iter().any(|error| error < bypass);
    bypassed.0.iter().any(failed_before).then(|| {
        let times = choose(bypassed.count(), ("once", "more than once"));
        note("checks_bypassed", format!("checks were left out {times} after something had failed"), &bypassed.0)
    })
}

fn often(facts: &Facts, offline: &Offline) -> Option<Item> {
    let failed = failed(facts);
    (failed.number() >= offline.get("struggled_share"))
        .then(|| note("tool_errors", failed.words("tool call", ("failed", "failed")), &facts.tools.tool_errors.0))
}

fn unresolved(facts: &Facts, offline: &Offline) -> Option<Item> {
    let left = &facts.ending.unresolved_errors;
    let share = Share::new(left.count(), facts.tools.tool_errors.count());
    let counts = facts.knows("unresolved_errors") && share.is_some();
    (counts && share.number() >= offline.get("poor_unresolved")).then(|| {
        let stand = ("stands at the end: no call worked after it", "stand at the end: no call worked after them");
        note("unresolved_errors", share.words("error", stand), &left.0)
    })
}

fn failed(facts: &Facts) -> Share {
    Share::new(facts.tools.tool_errors.count(), facts.tools.tool_calls)
}
