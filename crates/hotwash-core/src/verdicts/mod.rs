//! What a judge answered, read and checked: the only reader of replies.
//!
//! - `json` finds the answer in a reply, `fields` reads typed values out of it, `cites` looks quotes up in the evidence;
//! - [`topic`], [`intent`], [`outcome`] and [`quality`] are the four answers;
//! - [`mod@decide`] says what an answer may do to an outcome that facts gave, [`second`] when to look twice;
//! - [`booleans()`] answers seven plain questions anew;
//! - [`combine`] puts the answers on the chunks of a session together, and the critics' of a panel.
//!
//! A reply is never trusted and never fails anything: what can be used of it is used, the rest are [`Problem`]s that are
//! told the judge once.

mod booleans;
pub mod cites;
pub mod combine;
#[cfg(test)]
mod combine_tests;
pub mod decide;
#[cfg(test)]
mod decide_tests;
mod fields;
pub mod intent;
mod json;
pub mod outcome;
pub mod quality;
#[cfg(test)]
mod reply_tests;
pub mod second;
pub mod topic;

pub use booleans::booleans;
pub use cites::Cite;
pub use decide::{Thresholds, decide};
pub use intent::IntentVerdict;
pub use outcome::{Criterion, Explicit, Finding, OutcomeVerdict, Review, Signal, Status};
pub use quality::QualityVerdict;
pub use topic::TopicVerdict;

use crate::scores::{Flag, Unscored};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was read off a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading<T> {
    /// The verdict, as far as there is one.
    pub verdict: Option<T>,
    /// What is wrong with the reply: worth asking once more.
    pub problems: Vec<Problem>,
    /// What else there is to know.
    pub flags: Vec<Flag>,
}

impl<T> Reading<T> {
    /// Nothing, because of one problem.
    fn nothing(problem: Problem) -> Reading<T> {
        Reading { verdict: None, problems: vec![problem], flags: Vec::new() }
    }

    /// Why there is no verdict, for those who keep that.
    pub fn why(&self) -> (Unscored, String) {
        match self.problems.first() {
            Some(problem) => (problem.fault.unscored(), problem.to_string()),
            None => (Unscored::Unreadable, "there is no answer".to_owned()),
        }
    }

    /// The same of a reply that broke off because it had grown too long: that is what is wrong with it.
    #[must_use]
    pub fn of_cut_reply(self, most_tokens: u32) -> Reading<T> {
        if self.verdict.is_some() {
            return self;
        }
        let text = format!("the answer was cut off at {most_tokens} tokens; be brief");
        Reading { problems: vec![Problem { at: String::new(), fault: Fault::Cut, text }], ..self }
    }

    /// What two answers to the same question come to: the one with less wrong, the second where that is equal.
    #[must_use]
    pub fn after_retry(first: Reading<T>, second: Reading<T>) -> Reading<T> {
        let wrong = |reading: &Reading<T>| (reading.verdict.is_none(), reading.problems.len());
        let mut kept = if wrong(&second) <= wrong(&first) { second } else { first };
        Flag::Retried.raise(&mut kept.flags);
        kept
    }
}

/// Something wrong with a reply. It holds nothing of the reply but the names of keys that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where, such as `criteria[2].status`; empty for the whole.
    pub at: String,
    /// What kind of thing is wrong.
    pub fault: Fault,
    /// In words.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.text) } else { write!(f, "{}: {}", self.at, self.text) }
    }
}

/// Kinds of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// There is no JSON object to be found.
    NoJson,
    /// It was cut off.
    Cut,
    /// There are several that differ.
    Ambiguous,
    /// A key is there twice.
    DuplicateKey,
    /// Something is not there.
    Missing,
    /// Something is of another kind than it must be.
    WrongKind,
    /// A number or a label is off the scale.
    OffScale,
    /// The evidence does not check.
    NoCitation,
    /// There are too few or too many of something.
    Count,
}

impl Fault {
    /// Why a value that it spoils is not there.
    pub fn unscored(self) -> Unscored {
        match self {
            Fault::OffScale => Unscored::OffScale,
            Fault::NoCitation => Unscored::NoCitation,
            _ => Unscored::Unreadable,
        }
    }
}
