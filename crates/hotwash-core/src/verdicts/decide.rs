//! What a judge's answer does to an outcome that facts gave.
//!
//! Two thresholds make a verdict of the judge's probability; between them it stays open. A model may not raise what facts
//! call failed, nor call anything complete that rests on words and on what was read alone. Where the session's text speaks
//! to its judge, the judge's word decides nothing.

use super::outcome::Explicit;
use super::{Cite, Finding, IntentVerdict, OutcomeVerdict, Status};
use crate::evidence::Alarm;
use crate::outcomes::{Evidence, Goal, Intended, Intent, JudgeStatus, Lack, Outcome, Reason};
use crate::scores::Flag;
use crate::sessions::{EventId, Events};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::quality::JUDGE;

/// From which probability on a judge decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Complete from here on.
    pub complete_at: f64,
    /// The same for some intents, where it is another.
    pub by_intent: BTreeMap<Intent, f64>,
    /// Failed up to here.
    pub failed_at: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { complete_at: 0.70, by_intent: BTreeMap::new(), failed_at: 0.40 }
    }
}

impl Thresholds {
    /// Complete from here on. Where nothing says it openly, the intent's floor for silent endings binds where it is higher.
    /// Nothing reaches that of a session without a goal.
    pub fn complete(&self, intent: Intent, evidence: Evidence) -> f64 {
        let Some(floor) = intent.silent_floor() else { return f64::INFINITY };
        let from = self.by_intent.get(&intent).copied().unwrap_or(self.complete_at);
        if evidence == Evidence::Silent { from.max(floor) } else { from }
    }

    /// It is so likely that it decides: not between the thresholds.
    pub fn decides(&self, probability: f64, intent: Intent) -> bool {
        probability <= self.failed_at || probability >= self.complete(intent, Evidence::Silent)
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
        if verdict.probability >= thresholds.complete(intent.intent, Evidence::Silent) {
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

    let ruling = if let Some(alarm) = alarm(alarms) {
        Ruling::undecided(alarm)
    } else if offline.goal == Goal::Complete {
        accepted(offline, verdict, thresholds)
    } else {
        open(offline, intent, verdict, thresholds)
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

/// Facts call it complete on explicit evidence: a judge who is sure of the contrary puts that in doubt.
fn accepted(offline: &Outcome, verdict: &OutcomeVerdict, thresholds: &Thresholds) -> Ruling {
    if verdict.probability > thresholds.failed_at {
        let reasons = vec![reason(summary(verdict), met(verdict))];
        return Ruling { goal: Goal::Complete, evidence: offline.evidence, reasons };
    }
    let text = match verdict.unmet().next() {
        Some(one) => format!("the judge calls it unmet: {}", one.criterion.check),
        None => format!("the judge doubts it: {}", doubt(verdict)),
    };
    Ruling::undecided(reason(text, Vec::new()))
}

/// Facts leave it open.
fn open(offline: &Outcome, intent: &IntentVerdict, verdict: &OutcomeVerdict, thresholds: &Thresholds) -> Ruling {
    let probability = verdict.probability;
    // The stricter of both readings of what was wanted.
    let intents = [intent.intent, offline.intended.intent].into_iter().filter(|intent| *intent != Intent::None);
    if intents.clone().count() > 0 && probability <= thresholds.failed_at {
        let mut reasons: Vec<Reason> = verdict.unmet().map(unmet).chain(signals(verdict)).collect();
        reasons.push(reason(summary(verdict), Vec::new()));
        return Ruling { goal: Goal::Failed, evidence: Evidence::Silent, reasons };
    }
    let evidence = if confirmed(offline, verdict) { Evidence::Explicit } else { Evidence::Silent };
    let from = intents.map(|intent| thresholds.complete(intent, evidence)).reduce(f64::max).unwrap_or(f64::INFINITY);
    if probability < from {
        let text = format!("the judge is not sure enough ({probability:.2}): {}", doubt(verdict));
        return Ruling::undecided(reason(text, Vec::new()));
    }
    // Words are claims, and what was read was there before. The judge must have seen something that was done.
    let done = |one: &Finding| one.status == Status::Met && one.cites.iter().any(|cite| cite.done);
    if evidence == Evidence::Silent && !verdict.criteria.iter().any(done) {
        let text = "all that the judge cites is somebody's words or was only read, which shows nothing of the work";
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

/// What speaks of failure at the end.
fn signals(verdict: &OutcomeVerdict) -> impl Iterator<Item = Reason> {
    verdict.signals.iter().map(|(signal, cites)| reason(signal.words(), events(cites)))
}

/// What speaks most against it.
fn doubt(verdict: &OutcomeVerdict) -> String {
    verdict.doubts.first().map_or_else(|| summary(verdict), Clone::clone)
}

fn unmet(one: &Finding) -> Reason {
    let word = if one.status == Status::Partly { "met in part" } else { "unmet" };
    let why = if one.finding.is_empty() { String::new() } else { format!(" ({})", one.finding) };
    reason(format!("{word}: {}{why}", one.criterion.check), events(&one.cites))
}

fn met(verdict: &OutcomeVerdict) -> Vec<EventId> {
    let mut events: Vec<EventId> = verdict.required().flat_map(|one| events(&one.cites)).collect();
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
