//! What lowers scores: deductions on the scale of the overall score, the heaviest first.

use crate::records::Row;
use crate::rubric::Rubric;
use crate::scores::{Grade, Item, Reading, Value};
use crate::sessions::EventId;
use std::collections::BTreeMap;

/// Facts that lift a level: that there is a higher one yet takes nothing away.
const SPEAKS_FOR: &[&str] = &["completion_signals", "verified", "commit_requests", "go_aheads", "plans_approved"];

/// A deduction.
#[derive(Clone, Debug)]
pub struct Loss<'a> {
    /// How many of the overall's 100 points it took.
    pub points: f64,
    /// Why, in words.
    pub reason: &'a str,
    /// The fact it rests on; the dimension, where a model gave the score.
    pub fact: &'a str,
    /// Where to look.
    pub events: &'a [EventId],
}

/// A grade's deductions, weighed: the heaviest first.
pub fn losses<'a>(grade: &'a Grade, rubric: &Rubric) -> Vec<Loss<'a>> {
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

/// What one fact took from many sessions.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    /// The fact.
    pub fact: &'a str,
    /// From how many sessions it took something.
    pub sessions: u64,
    /// How many points in all.
    pub points: f64,
}

/// What lowers the scores of graded sessions most, the heaviest first.
pub fn causes<'a>(rows: &[&'a Row], rubric: &Rubric) -> Vec<Cause<'a>> {
    let mut causes: BTreeMap<&str, Cause<'a>> = BTreeMap::new();
    for grade in rows.iter().filter_map(|row| row.grade.as_ref()) {
        let mut here: BTreeMap<&str, f64> = BTreeMap::new();
        for loss in losses(grade, rubric) {
            *here.entry(loss.fact).or_default() += loss.points;
        }
        for (fact, points) in here {
            let cause = causes.entry(fact).or_insert(Cause { fact, sessions: 0, points: 0.0 });
            cause.sessions += 1;
            cause.points += points;
        }
    }
    let mut causes: Vec<Cause<'a>> = causes.into_values().collect();
    causes.sort_by(|a, b| b.points.total_cmp(&a.points).then(a.fact.cmp(b.fact)));
    causes
}

/// A fact that costs points, in a few words that hold for any number of sessions.
pub fn label(fact: &str) -> String {
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
    use crate::facts::Facts;

    #[test]
    fn every_label_is_of_a_fact_that_exists() {
        let source = include_str!("losses.rs");
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
