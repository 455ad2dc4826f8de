//! What cost a session its points: deductions on the scale of the overall score, the heaviest first.

use hotwash_core::rubric::Rubric;
use hotwash_core::scores::{Grade, Item, Reading, Value};
use hotwash_core::sessions::EventId;
use hotwash_engine::stores::Row;
use std::collections::BTreeMap;

/// Facts that lift a level: that there is a higher one yet takes nothing away.
const SPEAKS_FOR: &[&str] = &["completion_signals", "verified", "commit_requests", "go_aheads", "plans_approved"];

/// A deduction.
#[derive(Clone, Debug)]
pub(crate) struct Loss<'a> {
    /// How many of the overall's 100 points it took.
    pub(crate) points: f64,
    /// Why, in words.
    pub(crate) reason: &'a str,
    /// The fact it rests on; the dimension, where a model gave the score.
    pub(crate) fact: &'a str,
    /// Where to look.
    pub(crate) events: &'a [EventId],
}

/// A grade's deductions, weighed: the heaviest first.
pub(crate) fn losses<'a>(grade: &'a Grade, rubric: &Rubric) -> Vec<Loss<'a>> {
    let scored = |reading: &Reading| matches!(reading, Reading::Scored { .. });
    let weight = |name: &str| rubric.dimension(name).map_or(0.0, |dimension| dimension.weight);
    let present: f64 =
        grade.scores.iter().filter(|score| scored(&score.reading)).map(|score| weight(&score.dimension)).sum();
    let mut losses = Vec::new();
    for score in &grade.scores {
        let Reading::Scored { value, items, spread, .. } = &score.reading else { continue };
        let scale = 100.0 * weight(&score.dimension) / present.max(f64::MIN_POSITIVE);
        let mut lose = |amount: f64, item: &'a Item| {
            if amount > 0.0 {
                let Item { reason, fact, events, .. } = item;
                losses.push(Loss { points: scale * amount, reason, fact, events });
            }
        };
        if score.provenance.model.is_some() {
            // A model gives a value and says why; it deducts nothing.
            // Where it judged in parts, the first item only tells how they were put together.
            let said = items.iter().find(|item| spread.is_none() || !item.events.is_empty());
            if let Some(Item { reason, events, .. }) = said.or(items.first()) {
                let points = scale * (1.0 - value.number());
                losses.push(Loss { points, reason, fact: &score.dimension, events });
            }
            continue;
        }
        match (value, items.first()) {
            // A level is decided by its first item, which took what is missing to the top unless it speaks for the session.
            (Value::Level { .. }, Some(item)) if SPEAKS_FOR.contains(&&*item.fact) => {}
            (Value::Level { .. }, Some(item)) => lose(1.0 - value.number(), item),
            _ => items.iter().filter(|item| !item.fact.is_empty()).for_each(|item| lose(-item.amount, item)),
        }
    }
    losses.sort_by(|a, b| b.points.total_cmp(&a.points));
    losses
}

/// What one fact cost over many sessions.
#[derive(Clone, Debug)]
pub(crate) struct Cost<'a> {
    /// The fact.
    pub(crate) fact: &'a str,
    /// How many sessions it cost something.
    pub(crate) sessions: u64,
    /// How many points in all.
    pub(crate) points: f64,
}

/// What costs most over graded sessions, the dearest first.
pub(crate) fn costs<'a>(rows: &[&'a Row], rubric: &Rubric) -> Vec<Cost<'a>> {
    let mut costs: BTreeMap<&str, Cost<'a>> = BTreeMap::new();
    for grade in rows.iter().filter_map(|row| row.grade.as_ref()) {
        let mut here: BTreeMap<&str, f64> = BTreeMap::new();
        for loss in losses(grade, rubric) {
            *here.entry(loss.fact).or_default() += loss.points;
        }
        for (fact, points) in here {
            let cost = costs.entry(fact).or_insert(Cost { fact, sessions: 0, points: 0.0 });
            cost.sessions += 1;
            cost.points += points;
        }
    }
    let mut costs: Vec<Cost<'a>> = costs.into_values().collect();
    costs.sort_by(|a, b| b.points.total_cmp(&a.points).then(a.fact.cmp(b.fact)));
    costs
}

/// A fact that costs points, in a few words that hold for any number of sessions.
pub(crate) fn label(fact: &str) -> String {
    let words = match fact {
        "abandonment_signals" => "you gave it up",
        "bash_file_ops" => "file work done in the shell",
        "checks_bypassed" => "checks left out after a failure",
        "compactions_auto" => "context ran full, compacted",
        "edit_calls_ok" => "nothing was changed",
        "edits_refused_unread" => "edits refused, file not read",
        "edits_without_prior_read" => "edited files it had not read",
        "ended_on_api_error" => "ended on a failed request",
        "ended_on_open_calls" => "ended on an open tool call",
        "ended_on_turn_limit" => "ran out of turns",
        "ended_without_answer" => "cut off in the middle",
        "ended_red" => "the last run was red",
        "followed_by" => "you complained afterwards",
        "frustration_signals" => "you complained",
        "goal_unmet" => "the goal that was set not met",
        "iteration_loop" => "went round in circles",
        "large_reads" => "large files read whole",
        "longest_error_streak" => "same call failed over and over",
        "missed_parallel" => "calls made one by one",
        "peak_context" => "a very large context",
        "planning_calls" => "long work without a plan",
        "retries" => "failed calls tried again",
        "reverted_edits" => "edits undone later",
        "skills_by_shell" => "skills read through the shell",
        "tool_errors" => "tool calls failed",
        "unbacked_claims" => "claimed success, no green run",
        "unresolved_error_signals" => "ended on an error",
        "unresolved_errors" => "errors left at the end",
        "verified" => "no green run after last change",
        "wasteful_rereads" => "unchanged files read again",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use hotwash_core::facts::Facts;

    #[test]
    fn every_label_is_of_a_fact_that_exists() {
        let source = include_str!("ledger.rs");
        let known = |name: &str| Facts::GROUPS.iter().any(|(_, manual)| manual.iter().any(|page| page.name == name));
        let names: Vec<&str> = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" => \""))
            .map(|(name, _)| name)
            .collect();
        assert!(names.len() > 15);
        assert_eq!(names.into_iter().filter(|name| !known(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
