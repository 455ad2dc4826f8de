//! Seven plain questions about a session, each answered with its reason, and the letter that follows.

use super::Reason;
use super::intent::{Intended, Intent};
use super::standing::{Standing, last, last_green};
use crate::facts::Facts;
use crate::sessions::EventId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether something holds, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// It holds.
    pub holds: bool,
    /// Why.
    pub reason: Reason,
}

/// The seven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booleans {
    /// The person said what they want.
    pub goal_stated: Held,
    /// They said where it ends, or where it is.
    pub scope_bounded: Held,
    /// They brought what is needed to understand it.
    pub context_given: Held,
    /// A plan came before the first change.
    pub plan_before_action: Held,
    /// A green run came after the last change.
    pub verified_before_done: Held,
    /// Nothing was left broken.
    pub no_breakage_left: Held,
    /// The session ended with the agent's answer.
    pub result_communicated: Held,
}

/// The letter that follows from how many of the seven hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Letter {
    #[serde(rename = "A+")]
    APlus,
    A,
    B,
    C,
    D,
    F,
}

impl Letter {
    /// The letter for so many of seven.
    pub fn of(holding: usize) -> Letter {
        match holding {
            7.. => Letter::APlus,
            6 => Letter::A,
            5 => Letter::B,
            4 => Letter::C,
            3 => Letter::D,
            _ => Letter::F,
        }
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Letter::APlus => "A+",
            Letter::A => "A",
            Letter::B => "B",
            Letter::C => "C",
            Letter::D => "D",
            Letter::F => "F",
        })
    }
}

impl Booleans {
    /// What the facts say.
    pub fn of(facts: &Facts) -> Booleans {
        let intended = Intended::of(facts);
        let standing = Standing::of(facts, intended.intent);
        Booleans {
            goal_stated: goal_stated(&intended),
            scope_bounded: said(
                "scope_given",
                &facts.signals.scope_given.0,
                ("the person names the place or says what to keep to", "no prompt names a place or a limit"),
            ),
            context_given: said(
                "context_given",
                &facts.signals.context_given.0,
                ("the person brings context", "no prompt brings a file, a paste, a link or many words"),
            ),
            plan_before_action: plan_before_action(facts, &standing),
            verified_before_done: verified_before_done(facts, &standing),
            no_breakage_left: no_breakage_left(facts),
            result_communicated: said(
                "last_answer",
                &facts.ending.last_answer.0,
                ("the session ends with the agent's answer", "the session does not end with an answer"),
            ),
        }
    }

    /// All of them with their names, in order.
    pub fn all(&self) -> [(&'static str, &Held); 7] {
        [
            ("goal_stated", &self.goal_stated),
            ("scope_bounded", &self.scope_bounded),
            ("context_given", &self.context_given),
            ("plan_before_action", &self.plan_before_action),
            ("verified_before_done", &self.verified_before_done),
            ("no_breakage_left", &self.no_breakage_left),
            ("result_communicated", &self.result_communicated),
        ]
    }

    /// The letter.
    pub fn letter(&self) -> Letter {
        Letter::of(self.all().iter().filter(|(_, held)| held.holds).count())
    }
}

fn held(holds: bool, fact: &'static str, text: &'static str, events: &[EventId]) -> Held {
    Held { holds, reason: Reason::new(fact, text, events) }
}

fn said(fact: &'static str, events: &[EventId], (yes, no): (&'static str, &'static str)) -> Held {
    held(!events.is_empty(), fact, if events.is_empty() { no } else { yes }, events)
}

fn goal_stated(intended: &Intended) -> Held {
    let stated = intended.intent != Intent::None && intended.reason.fact.starts_with("asked_");
    Held { holds: stated, reason: intended.reason.clone() }
}

fn plan_before_action(facts: &Facts, standing: &Standing) -> Held {
    if !standing.changed {
        return held(true, "edit_calls_ok", "nothing was changed that needed a plan", &[]);
    }
    let planned = &facts.goal.planned_before_change.0;
    let given = &facts.signals.plans_given.0;
    let first_edit = facts.edits.edit_calls_ok.0.iter().min();
    let before: Vec<EventId> =
        given.iter().filter(|plan| first_edit.is_none_or(|edit| *plan < edit)).copied().collect();
    if !before.is_empty() {
        return held(true, "plans_given", "a plan or numbered steps came before the first change", &before);
    }
    let texts = ("a plan came before the first change", "nothing was planned before the first change");
    said("planned_before_change", planned, texts)
}

fn verified_before_done(facts: &Facts, standing: &Standing) -> Held {
    match facts.verification.verified {
        Some(true) => held(true, "verified", "a green run came after the last change", last_green(facts).as_slice()),
        None if !standing.changed || standing.prose_only => {
            held(true, "verified", "nothing was changed that a run could check", &[])
        }
        None => held(false, "verified", "no run is known to have come after the last change", &[]),
        Some(false) => {
            let edit = last(&facts.goal.last_source_edit);
            held(false, "verified", "no green run came after the last change", edit.as_slice())
        }
    }
}

fn no_breakage_left(facts: &Facts) -> Held {
    let Facts { verification, ending, signals, .. } = facts;
    let broken = [
        ("ended_red", &verification.ended_red, "the last run is red"),
        ("unresolved_error_signals", &signals.unresolved_error_signals, "the last thing that was tried failed"),
        ("iteration_loop", &signals.iteration_loop, "the same fix was tried over and over"),
        ("ended_on_api_error", &ending.ended_on_api_error, "it ended on a request that failed for good"),
        ("ended_on_open_calls", &ending.ended_on_open_calls, "it ended while a call was still open"),
        ("ended_without_answer", &ending.ended_without_answer, "it was cut off in the middle of the work"),
    ];
    match broken.into_iter().find(|(_, events, _)| !events.is_empty()) {
        Some((fact, events, text)) => held(false, fact, text, &events.0),
        None => held(true, "ended_red", "nothing red and nothing open was left", &[]),
    }
}
