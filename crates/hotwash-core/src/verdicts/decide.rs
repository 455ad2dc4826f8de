//! What a judge's answer does to an outcome that facts gave.
//!
//! A model may lower an outcome. It may not raise one that facts call failed, nor call anything complete against an unmet
//! criterion, with too little known, or below the threshold of its intent. Where the session's text speaks to its judge,
//! it may raise nothing at all.

use super::outcome::Explicit;
use super::{Cite, Finding, IntentVerdict, OutcomeVerdict};
use crate::evidence::Alarm;
use crate::outcomes::{Evidence, Goal, Intended, Intent, JudgeStatus, Lack, Outcome, Reason, silent_allowed};
use crate::scores::Flag;
use crate::sessions::{EventId, Events};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::quality::JUDGE;

/// From which probability on a judge decides. Reasoned, until labels teach better ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Complete from here on, by intent; where one is not named, the floor for silent endings.
    pub complete: BTreeMap<Intent, f64>,
    /// Complete from here on where the person accepted the result or a run shows it, and the facts confirm that.
    pub explicit: f64,
    /// Failed below this.
    pub failed: f64,
    /// Failed below this where a citation shows that something required is unmet, or that it ended in failure.
    pub failed_shown: f64,
    /// So much of what is required must be known to call it complete.
    pub coverage: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { complete: BTreeMap::new(), explicit: 0.6, failed: 0.25, failed_shown: 0.5, coverage: 0.8 }
    }
}

impl Thresholds {
    /// Complete from here on, on silence. Nothing reaches the one of a session without a goal.
    pub fn silent(&self, intent: Intent) -> f64 {
        let set = self.complete.get(&intent).copied().filter(|set| set.is_finite());
        intent.silent_floor().map_or(f64::INFINITY, |floor| set.unwrap_or(floor))
    }
}

/// The outcome, after a judge's answer.
pub fn decide(
    offline: &Outcome,
    intent: &IntentVerdict,
    verdict: &OutcomeVerdict,
    alarms: &[Alarm],
    thresholds: &Thresholds,
) -> Outcome {
    let suspected = !alarms.is_empty();
    let alarmed = |cite: &Cite| alarms.iter().any(|alarm| alarm.event == cite.event);
    // What stands where the session speaks to its judge shows nothing.
    let verdict = &verdict.clone().keep_cites(|cite| !alarmed(cite));

    let mut outcome = offline.clone();
    if suspected {
        Flag::InjectionSuspected.raise(&mut outcome.flags);
    }
    if offline.goal == Goal::Failed {
        if verdict.probability >= thresholds.silent(intent.intent) {
            Flag::Contradiction.raise(&mut outcome.flags);
        }
        outcome.reasons.extend(alarm(alarms));
        return outcome;
    }
    if intent.intent == Intent::None && offline.goal == Goal::Undecided && !suspected {
        outcome.intended = intended(offline, intent);
        outcome.status = JudgeStatus::NoGoal;
        return outcome;
    }
    if intent.intent != Intent::None && !suspected {
        outcome.intended = intended(offline, intent);
    }

    let shown = shown(verdict);
    let ruling = if !shown.is_empty() && verdict.probability < thresholds.failed_shown {
        let reasons = shown.into_iter().chain(alarm(alarms)).collect();
        Ruling { goal: Goal::Failed, evidence: Evidence::Explicit, reasons }
    } else if let Some(alarm) = alarm(alarms) {
        Ruling::undecided(alarm)
    } else if offline.goal == Goal::Complete {
        accepted(offline, verdict, &shown, thresholds)
    } else {
        open(offline, intent, verdict, &shown, thresholds)
    };

    let Ruling { goal, evidence, reasons } = ruling;
    let lowered = offline.goal == Goal::Complete && goal != Goal::Complete && !suspected;
    if lowered || offline.lack == Some(Lack::Red) && goal == Goal::Complete {
        // Either the facts or the judge misread something.
        Flag::Contradiction.raise(&mut outcome.flags);
    }
    outcome.status = match goal {
        Goal::Undecided if outcome.status == JudgeStatus::NoGoal => JudgeStatus::NoGoal,
        Goal::Undecided => JudgeStatus::Undecided,
        Goal::Complete | Goal::Failed => JudgeStatus::Ok,
    };
    outcome.confidence = match goal {
        Goal::Undecided => None,
        Goal::Failed => Some(1.0 - verdict.probability),
        Goal::Complete if offline.goal == Goal::Complete => offline.confidence,
        Goal::Complete => Some(verdict.probability),
    };
    outcome.probability = Some(verdict.probability);
    outcome.lack = offline.lack.filter(|_| goal != Goal::Complete);
    outcome.goal = goal;
    outcome.evidence = evidence;
    // What facts say first; a reason for being open falls away where it no longer is.
    if goal != Goal::Undecided && offline.goal == Goal::Undecided {
        outcome.reasons.clear();
    }
    outcome.reasons.extend(reasons);
    outcome
}

/// The outcome, where the judge finds no goal in what the person said: nothing is asked about reaching it then. Facts
/// that decided something keep their word, and so do they where the text speaks to its judge.
pub fn without_goal(offline: &Outcome, intent: &IntentVerdict, alarms: &[Alarm]) -> Outcome {
    let mut outcome = offline.clone();
    if !alarms.is_empty() {
        Flag::InjectionSuspected.raise(&mut outcome.flags);
        outcome.reasons.extend(alarm(alarms));
    } else if offline.goal == Goal::Undecided {
        outcome.intended = intended(offline, intent);
        outcome.status = JudgeStatus::NoGoal;
    }
    outcome
}

struct Ruling {
    goal: Goal,
    evidence: Evidence,
    reasons: Vec<Reason>,
}

impl Ruling {
    fn undecided(reason: Reason) -> Ruling {
        Ruling { goal: Goal::Undecided, evidence: Evidence::Silent, reasons: vec![reason] }
    }
}

/// Facts call it complete on explicit evidence: a judge confirms that, or puts it in doubt.
fn accepted(offline: &Outcome, verdict: &OutcomeVerdict, shown: &[Reason], thresholds: &Thresholds) -> Ruling {
    let unmet = verdict.unmet().next();
    if unmet.is_none() && shown.is_empty() && verdict.probability >= thresholds.failed_shown {
        let reasons = vec![reason(summary(verdict), met(verdict))];
        return Ruling { goal: Goal::Complete, evidence: offline.evidence, reasons };
    }
    let text = match unmet {
        Some(one) => format!("the judge calls it unmet: {}", one.criterion.check),
        None => format!("the judge doubts it: {}", summary(verdict)),
    };
    Ruling::undecided(reason(text, Vec::new()))
}

/// Facts leave it open.
fn open(
    offline: &Outcome,
    intent: &IntentVerdict,
    verdict: &OutcomeVerdict,
    shown: &[Reason],
    thresholds: &Thresholds,
) -> Ruling {
    let probability = verdict.probability;
    if probability < thresholds.failed {
        let mut reasons: Vec<Reason> = verdict.unmet().map(unmet).collect();
        reasons.push(reason(summary(verdict), Vec::new()));
        return Ruling { goal: Goal::Failed, evidence: Evidence::Silent, reasons };
    }
    if let Some(one) = verdict.unmet().next() {
        return Ruling::undecided(unmet(one));
    }
    if let Some(one) = shown.first() {
        return Ruling::undecided(one.clone());
    }
    if verdict.coverage < thresholds.coverage {
        let known = (verdict.coverage * 100.0).round();
        return Ruling::undecided(reason(format!("only {known} % of what is required can be told"), Vec::new()));
    }
    let evidence = if confirmed(offline, verdict) { Evidence::Explicit } else { Evidence::Silent };
    // The stricter of both readings of what was wanted.
    let intents = [intent.intent, offline.intended.intent].into_iter().filter(|intent| *intent != Intent::None);
    let is_change = intents.clone().any(Intent::needs_change);
    let reached = intents.clone().all(|intent| {
        let from = if evidence == Evidence::Explicit { thresholds.explicit } else { thresholds.silent(intent) };
        probability >= from && silent_allowed(intent, evidence, probability)
    });
    if !reached || intents.count() == 0 {
        let doubt = verdict.doubts.first().map_or_else(|| summary(verdict), Clone::clone);
        return Ruling::undecided(reason(format!("the judge is not sure enough: {doubt}"), Vec::new()));
    }
    // Words are claims. Where something was to be changed, the judge must have seen something that was done.
    let seen = verdict.criteria.iter().filter(|one| one.criterion.required).flat_map(|one| &one.cites);
    if evidence == Evidence::Silent && is_change && !seen.into_iter().any(|cite| cite.done) {
        let text = "all that the judge cites is somebody's words, which are claims and no evidence";
        return Ruling::undecided(reason(text, met(verdict)));
    }
    Ruling { goal: Goal::Complete, evidence, reasons: vec![reason(summary(verdict), met(verdict))] }
}

/// Whether what the judge calls explicit is so by the facts: the person accepted it, or the last run is green.
fn confirmed(offline: &Outcome, verdict: &OutcomeVerdict) -> bool {
    match verdict.explicit {
        Some((Explicit::Person, _)) => offline.lack == Some(Lack::NoTest),
        Some((Explicit::Run, _)) => offline.lack == Some(Lack::NoWord),
        None => false,
    }
}

/// What citations show to stand against it.
fn shown(verdict: &OutcomeVerdict) -> Vec<Reason> {
    let signal = |(signal, cites): &(super::Signal, Vec<Cite>)| reason(signal.words(), events(cites));
    let unmet = verdict.unmet().filter(|one| !one.cites.is_empty()).map(unmet);
    unmet.chain(verdict.signals.iter().map(signal)).collect()
}

fn unmet(one: &Finding) -> Reason {
    let why = if one.finding.is_empty() { String::new() } else { format!(" ({})", one.finding) };
    reason(format!("unmet: {}{why}", one.criterion.check), events(&one.cites))
}

fn met(verdict: &OutcomeVerdict) -> Vec<EventId> {
    let mut events: Vec<EventId> =
        verdict.criteria.iter().filter(|one| one.criterion.required).flat_map(|one| events(&one.cites)).collect();
    events.sort_unstable();
    events.dedup();
    events
}

fn summary(verdict: &OutcomeVerdict) -> String {
    if verdict.summary.is_empty() { "the judge says no more".to_owned() } else { verdict.summary.clone() }
}

fn events(cites: &[Cite]) -> Vec<EventId> {
    cites.iter().map(|cite| cite.event).collect()
}

/// Where the session's own text speaks to its judge, if it does.
fn alarm(alarms: &[Alarm]) -> Option<Reason> {
    let mut events: Vec<EventId> = alarms.iter().map(|alarm| alarm.event).collect();
    events.sort_unstable();
    events.dedup();
    let text = "the session's own text speaks to its judge, so that the judge's word does not decide";
    (!events.is_empty()).then(|| reason(text, events))
}

fn reason(text: impl Into<Cow<'static, str>>, events: impl Into<Events>) -> Reason {
    Reason { fact: JUDGE.into(), text: text.into(), events: events.into() }
}

/// What the judge reads the prompts as, where that is something else than the facts say.
fn intended(offline: &Outcome, intent: &IntentVerdict) -> Intended {
    let facts = &offline.intended;
    if facts.intent == intent.intent {
        return facts.clone();
    }
    let text = format!("the judge reads the prompts as a {}", intent.intent.singular());
    let reason = reason(text, facts.reason.events.clone());
    Intended { intent: intent.intent, confidence: intent.confidence.unwrap_or(facts.confidence), reason }
}
