//! Scores: what a judge says of a session, with where it comes from, and the grade that follows.

pub mod aggregate;
mod flags;
pub mod offline;
mod order;

pub use aggregate::{Cap, Grade, Overall, thousandths};
pub use flags::Flag;
pub use order::worst_first;

use crate::sessions::Events;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A verdict on one dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The dimension, by name.
    pub dimension: String,
    /// What the judge read off the session.
    pub reading: Reading,
    /// Where it comes from, shared by the scores of a grade. Not optional: a score of unknown origin has no spelling.
    pub provenance: Arc<Provenance>,
}

/// What a judge read off a session on one dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// There is a value.
    Scored {
        /// The value.
        value: Value,
        /// How it came about: it begins at `start`, and each item moves it.
        start: f64,
        /// What moved it, the heaviest first.
        items: Vec<Item>,
        /// How sure the judge is, where it says.
        confidence: Option<f64>,
        /// What it was put together from, where a session was judged in chunks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spread: Option<Spread>,
    },
    /// There is none. Never a low value, never a middling one.
    Unscored {
        /// Why.
        why: Unscored,
        /// The same, in words.
        reason: String,
    },
}

/// What the chunks of a session said on one dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Chunk by chunk, on the common scale; none where a chunk has no value.
    pub chunks: Vec<Option<f64>>,
    /// The lowest of them.
    pub min: f64,
    /// The highest of them.
    pub max: f64,
    /// Their variance, weighted like their mean.
    pub variance: f64,
    /// The share of the session's tokens that the chunks with a value own.
    pub covered: f64,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unscored {
    /// The facts say nothing about it.
    NothingToGoBy,
    /// This judge cannot judge it.
    NotByThisJudge,
    /// The judge failed.
    JudgeFailed,
    /// The judge refused.
    Refused,
    /// The answer could not be read.
    Unreadable,
    /// The answer was off the scale.
    OffScale,
    /// The answer's evidence did not check.
    NoCitation,
    /// The session's own text speaks to its judge.
    Suspected,
}

/// A value on a dimension's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Between 0 and 1.
    Number(f64),
    /// A level of a categorical dimension, `index` of `of`.
    Level {
        /// The level's name.
        label: String,
        /// From 0.
        index: usize,
        /// How many levels there are.
        of: usize,
    },
}

impl Value {
    /// On the common scale from 0 to 1: level `i` of `k` is `i / (k - 1)`.
    pub fn number(&self) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Level { index, of, .. } => *index as f64 / (of.saturating_sub(1).max(1)) as f64,
        }
    }
}

/// Something that moved a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// By how much: negative for a deduction. Zero for a note that moves nothing but explains a level.
    pub amount: f64,
    /// Why, in words: "7 of 31 reads repeat an unchanged range".
    pub reason: Cow<'static, str>,
    /// The fact it rests on.
    pub fact: Cow<'static, str>,
    /// Where to look.
    pub events: Events,
}

/// Where a score comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The judge: `offline`, or a backend's name.
    pub judge: String,
    /// The judge's version.
    pub judge_version: String,
    /// The model, where there is one.
    pub model: Option<String>,
    /// The rubric with its version, such as `v2@2.0.0`.
    pub rubric: String,
    /// The hash of the rubric's text.
    pub rubric_hash: String,
    /// The hash of the prompt's template, where there is one.
    pub prompt_hash: Option<String>,
}
