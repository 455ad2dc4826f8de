//! When to look twice, and what two looks come to.

use super::{IntentVerdict, OutcomeVerdict, Thresholds, decide};
use crate::evidence::Alarm;
use crate::outcomes::{Goal, Outcome};
use crate::rubric::Rubric;
use crate::scores::{Flag, Grade};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A judge less sure than this is asked to be checked.
const SURE: f64 = 0.6;
/// So many thousandths from the edge of a tier are near it.
const NEAR: u32 = 10;

/// Why a second look is worth its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// The session's text speaks to its judge.
    Alarm,
    /// The judge is not sure.
    LowConfidence,
    /// The judge's probability lies between the thresholds.
    BetweenThresholds,
    /// The overall may as well be of the next tier.
    TierEdge,
}

impl Escalation {
    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Escalation::Alarm => "alarm",
            Escalation::LowConfidence => "low_confidence",
            Escalation::BetweenThresholds => "between_thresholds",
            Escalation::TierEdge => "tier_edge",
        }
    }
}

impl fmt::Display for Escalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why the outcome should be looked at a second time; nothing where it need not.
pub fn of_outcome(verdict: &OutcomeVerdict, outcome: &Outcome, thresholds: &Thresholds) -> Vec<Escalation> {
    let found = [
        (outcome.flags.contains(&Flag::InjectionSuspected), Escalation::Alarm),
        (!thresholds.decides(verdict.probability, outcome.intended.intent), Escalation::BetweenThresholds),
    ];
    found.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect()
}

/// Why the grade should be looked at a second time; nothing where it need not.
pub fn of_grade(grade: &Grade) -> Vec<Escalation> {
    let low = grade.scores.iter().any(|score| match &score.reading {
        crate::scores::Reading::Scored { confidence, .. } => confidence.is_some_and(|sure| sure < SURE),
        crate::scores::Reading::Unscored { .. } => false,
    });
    let flagged = |flag| grade.flags.contains(&flag);
    let found = [
        (flagged(Flag::InjectionSuspected), Escalation::Alarm),
        (low, Escalation::LowConfidence),
        (flagged(Flag::NearTierEdge), Escalation::TierEdge),
    ];
    found.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect()
}

/// Whether an overall may as well be of the next tier.
pub fn near_tier_edge(grade: &Grade, rubric: &Rubric) -> bool {
    let edges = || rubric.tiers.iter().map(|tier| tier.from).filter(|from| *from > 0);
    grade.overall.thousandths().is_some_and(|overall| edges().any(|edge| edge.abs_diff(overall) <= NEAR))
}

/// A look at the outcome, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The model.
    pub model: &'a str,
    /// What it says.
    pub verdict: &'a OutcomeVerdict,
}

/// What two looks come to: the second decides. Where the session's text speaks to its judge the second may lower, and it
/// lifts the suspicion only if it is another model, comes to the same, and shows it without the suspected places.
pub fn settle(
    offline: &Outcome,
    intent: &IntentVerdict,
    first: Look<'_>,
    second: Look<'_>,
    alarms: &[Alarm],
    thresholds: &Thresholds,
) -> Outcome {
    let flagged = |mut outcome: Outcome| {
        Flag::SecondLook.raise(&mut outcome.flags);
        outcome
    };
    let suspected = decide(offline, intent, second.verdict, alarms, thresholds);
    if alarms.is_empty() || first.model == second.model || suspected.goal == Goal::Failed {
        return flagged(suspected);
    }
    let outside = |verdict: &OutcomeVerdict| {
        let verdict = verdict.clone();
        let kept = verdict.clone().keep_cites(|cite| alarms.iter().all(|alarm| alarm.event != cite.event));
        (kept == verdict).then(|| decide(offline, intent, &kept, &[], thresholds))
    };
    let (first, second) = (decide(offline, intent, first.verdict, &[], thresholds), outside(second.verdict));
    match second {
        Some(second) if second.goal == first.goal => flagged(second),
        _ => flagged(suspected),
    }
}
