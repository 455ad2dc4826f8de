//! Outcomes: did a session reach its goal, how do we know, and what that makes of many sessions.
//!
//! An [`Outcome`] is a pure function of [`Facts`](crate::facts::Facts): what the goal was ([`intent`]), whether anything of
//! [`substance`] happened, and what hard evidence says ([`decide`]). Where there is none it is *undecided*, with a
//! probability, and stays out of both sides of the [`prism`] score. What effort it took, how many errors there were and
//! what the agent claims says how hard a task was, not whether it was solved: none of it counts for a goal.
//!
//! Whether later sessions took the work back is decided elsewhere and comes in with [`prism::PrismInput`].

pub mod booleans;
pub mod decide;
pub mod intent;
pub mod prism;
#[cfg(test)]
mod prism_rules;
mod standing;
pub mod substance;
pub mod summary;

pub use booleans::{Booleans, Held, Letter};
pub use decide::offline;
pub use intent::{Intended, Intent, silent_allowed};
pub use prism::{Prism, PrismInput};
pub use substance::Substance;

use crate::scores::Flag;
use crate::sessions::{EventId, Events};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Changes with every change that can move an outcome of the offline judge.
pub const VERSION: &str = "1.1.0";

/// Whether a session reached its goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the goal was.
    pub intended: Intended,
    /// Whether real work happened.
    pub substance: Substance,
    /// Whether there is a verdict.
    pub status: JudgeStatus,
    /// The verdict.
    pub goal: Goal,
    /// What kind of evidence it rests on.
    pub evidence: Evidence,
    /// How sure the judge is of a verdict.
    pub confidence: Option<f64>,
    /// How likely the goal was reached: where nothing decides it, and wherever a model judged.
    pub probability: Option<f64>,
    /// What stands between the session and a goal reached.
    pub lack: Option<Lack>,
    /// Why, in words, with the events.
    pub reasons: Vec<Reason>,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl Outcome {
    /// As much of it as the score needs.
    pub fn ruling(&self) -> Ruling {
        let Outcome { intended, substance, status, goal, evidence, lack, .. } = self;
        Ruling {
            substance: substance.passes(),
            intent: intended.intent,
            status: *status,
            goal: *goal,
            evidence: *evidence,
            lack: *lack,
        }
    }

    /// Whether the goal was reached, where that was decided.
    pub fn goal_complete(&self) -> Option<bool> {
        match self.goal {
            Goal::Complete => Some(true),
            Goal::Failed => Some(false),
            Goal::Undecided => None,
        }
    }
}

/// As much of an outcome as the score needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Real work happened.
    pub substance: bool,
    /// What the goal was.
    pub intent: Intent,
    /// Whether there is a verdict.
    pub status: JudgeStatus,
    /// The verdict.
    pub goal: Goal,
    /// What kind of evidence it rests on.
    pub evidence: Evidence,
    /// What stands between the session and a goal reached.
    pub lack: Option<Lack>,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// It was reached.
    Complete,
    /// It was missed.
    Failed,
    /// Nothing that counts as evidence says so or so.
    Undecided,
}

impl Goal {
    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Goal::Complete => "complete",
            Goal::Failed => "failed",
            Goal::Undecided => "undecided",
        }
    }
}

/// Whether there is a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeStatus {
    /// There is one.
    Ok,
    /// No goal was established.
    NoGoal,
    /// The evidence does not decide it.
    Undecided,
    /// The judge failed, not the session.
    Failed,
    /// The session was not judged.
    Skipped,
}

impl JudgeStatus {
    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            JudgeStatus::Ok => "ok",
            JudgeStatus::NoGoal => "no_goal",
            JudgeStatus::Undecided => "undecided",
            JudgeStatus::Failed => "failed",
            JudgeStatus::Skipped => "skipped",
        }
    }
}

/// What kind of evidence a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Somebody said so, or a run shows it.
    Explicit,
    /// Nobody complained.
    Silent,
}

impl Evidence {
    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Explicit => "explicit",
            Evidence::Silent => "silent",
        }
    }
}

/// What stands between a session and a goal reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It ended on a limit, a failed request or an open call.
    BrokeOff,
    /// Nothing was changed where a change was due.
    NothingChanged,
    /// The client's check of the goal that the person set says that it is not reached.
    Unmet,
    /// The person complained at the end.
    Complaint,
    /// The goal was given up.
    GivenUp,
    /// It ended on an error.
    Error,
    /// The same fix was tried over and over.
    Loop,
    /// The last run is red.
    Red,
    /// Nothing was run after the last change.
    NoRun,
    /// It was accepted, but no test was run.
    NoTest,
    /// A run shows it, but nobody said anything afterwards.
    NoWord,
    /// Nobody said whether it was what they wanted.
    NotAccepted,
    /// What was asked last was not worked on, or the person stopped it.
    LeftOpen,
}

impl Lack {
    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Lack::BrokeOff => "broke_off",
            Lack::NothingChanged => "nothing_changed",
            Lack::Unmet => "unmet",
            Lack::Complaint => "complaint",
            Lack::GivenUp => "given_up",
            Lack::Error => "error",
            Lack::Loop => "loop",
            Lack::Red => "red",
            Lack::NoRun => "no_run",
            Lack::NoTest => "no_test",
            Lack::NoWord => "no_word",
            Lack::NotAccepted => "not_accepted",
            Lack::LeftOpen => "left_open",
        }
    }
}

/// Why something was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The fact behind it.
    pub fact: Cow<'static, str>,
    /// In words.
    pub text: Cow<'static, str>,
    /// Where to look.
    pub events: Events,
}

impl Reason {
    fn new(fact: &'static str, text: impl Into<Cow<'static, str>>, events: &[EventId]) -> Reason {
        Reason { fact: fact.into(), text: text.into(), events: events.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_serialised_so<T: Copy + Serialize>(values: &[T], name: fn(T) -> &'static str) {
        for value in values {
            assert_eq!(serde_json::to_value(value).unwrap(), name(*value));
        }
    }

    #[test]
    fn names_are_what_is_serialised() {
        use JudgeStatus::{Failed, NoGoal, Ok, Skipped, Undecided};
        use Lack::{BrokeOff, Complaint, Error, GivenUp, LeftOpen, Loop};
        use Lack::{NoRun, NoTest, NoWord, NotAccepted, NothingChanged, Red, Unmet};
        are_serialised_so(&[Goal::Complete, Goal::Failed, Goal::Undecided], Goal::name);
        are_serialised_so(&[Evidence::Explicit, Evidence::Silent], Evidence::name);
        are_serialised_so(&[Ok, NoGoal, Undecided, Failed, Skipped], JudgeStatus::name);
        are_serialised_so(&[BrokeOff, Complaint, Error, GivenUp, LeftOpen, Loop], Lack::name);
        are_serialised_so(&[NoRun, NoTest, NoWord, NotAccepted, NothingChanged, Red, Unmet], Lack::name);
    }
}
