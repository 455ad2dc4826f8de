//! The offline judge: scores from facts alone, with no model and no guess.
//!
//! A number begins at a start value and is moved by items; a level is decided by one or two. Every item says by how
//! much, why, and where to look. Where the facts say nothing about a dimension it is unscored, never middling. The items
//! are code, in one file per [`Scorer`]; their sizes and thresholds are the rubric's.
//!
//! What can happen any number of times is weighed by its share of the work: a penalty per occurrence grades length.

mod context;
mod errors;
mod goal;
mod output;
mod process;
mod sheet;
#[cfg(test)]
mod tests;
mod tools;
mod words;

use super::{Grade, Item, Provenance, Reading, Score, Unscored, Value};
use crate::facts::{Cited, Facts};
use crate::outcomes::{self, Outcome};
use crate::rubric::{Dimension, Rubric, Scorer};
use crate::sessions::EventId;
use std::borrow::Cow;
use std::sync::Arc;

/// This judge's name.
pub const JUDGE: &str = "offline";

/// Changes with every change that can move a score.
pub const VERSION: &str = "1.0.0";

/// Grades a session from its facts: same facts and rubric, same grade, byte for byte.
pub fn grade(facts: &Facts, rubric: &Rubric) -> Grade {
    Judge::new(rubric).grade(facts, &outcomes::offline(facts))
}

/// The judge, for who has several sessions to grade by one rubric and knows their outcomes already.
#[derive(Debug)]
pub struct Judge<'r> {
    rubric: &'r Rubric,
    provenance: Arc<Provenance>,
}

impl<'r> Judge<'r> {
    /// Judges by a rubric.
    pub fn new(rubric: &'r Rubric) -> Judge<'r> {
        Judge { rubric, provenance: provenance(rubric) }
    }

    /// Grades a session from its facts and the outcome that follows from them.
    pub fn grade(&self, facts: &Facts, outcome: &Outcome) -> Grade {
        let score = |dimension: &Dimension| Score {
            dimension: dimension.name.clone(),
            reading: read(facts, outcome, dimension),
            provenance: Arc::clone(&self.provenance),
        };
        Grade::of(self.rubric.dimensions.iter().map(score).collect(), self.rubric)
    }
}

/// Where this judge's scores under a rubric come from.
pub fn provenance(rubric: &Rubric) -> Arc<Provenance> {
    Arc::new(Provenance {
        judge: JUDGE.to_owned(),
        judge_version: VERSION.to_owned(),
        model: None,
        rubric: rubric.id(),
        rubric_hash: rubric.hash(),
        prompt_hash: None,
    })
}

/// What the facts and the outcome that follows from them say about one dimension.
pub fn read(facts: &Facts, outcome: &Outcome, dimension: &Dimension) -> Reading {
    let Some(offline) = &dimension.offline else {
        let reason = format!("facts alone say nothing about {}", dimension.title.to_lowercase());
        return Reading::Unscored { why: Unscored::NotByThisJudge, reason };
    };
    // Where the recording has neither words nor arguments, a start that nothing moves would be no score.
    let lost = match offline.from {
        Scorer::GoalAchievement => None,
        Scorer::ToolEfficiency | Scorer::ErrorHandling => Some(("tool_errors", "whether tool calls failed")),
        Scorer::ProcessAdherence => Some(("test_runs", "what was run")),
        Scorer::ContextEfficiency => Some(("files_read", "what was read")),
        Scorer::OutputQuality => Some(("edit_calls_ok", "what was changed")),
    };
    if let Some((_, what)) = lost.filter(|(fact, _)| !facts.knows(fact)) {
        return nothing_to_go_by(format!("{what} was not recorded"));
    }
    match offline.from {
        Scorer::GoalAchievement => goal::read(outcome, offline, dimension),
        Scorer::ToolEfficiency => tools::read(facts, offline),
        Scorer::ProcessAdherence => process::read(facts, offline),
        Scorer::ContextEfficiency => context::read(facts, offline),
        Scorer::ErrorHandling => errors::read(facts, offline, dimension),
        Scorer::OutputQuality => output::read(facts, offline),
    }
}

fn nothing_to_go_by(reason: impl Into<String>) -> Reading {
    Reading::Unscored { why: Unscored::NothingToGoBy, reason: reason.into() }
}

/// A level of a dimension under the dimension's own name for it, with what decided it.
fn level(dimension: &Dimension, index: usize, items: Vec<Item>, confidence: Option<f64>) -> Reading {
    let levels = dimension.levels();
    let Some(level) = levels.get(index) else {
        // A checked rubric has as many levels as its scorer tells apart.
        let reason = format!("{} has no level {index}", dimension.name);
        return Reading::Unscored { why: Unscored::NotByThisJudge, reason };
    };
    let value = Value::Level { label: level.label.clone(), index, of: levels.len() };
    Reading::Scored { start: value.number(), value, items, confidence, spread: None }
}

/// An item that moves nothing but explains.
fn note(fact: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>, events: &[EventId]) -> Item {
    Item { amount: 0.0, reason: reason.into(), fact: fact.into(), events: events.into() }
}

/// The last of the events that something points at.
fn last(cited: &Cited) -> Option<EventId> {
    cited.0.iter().copied().max()
}

/// The last green run of any kind.
fn last_green(facts: &Facts) -> Option<EventId> {
    let checks = &facts.verification;
    [&checks.test_runs, &checks.build_runs, &checks.lint_runs].into_iter().flat_map(|runs| &runs.pass).copied().max()
}
