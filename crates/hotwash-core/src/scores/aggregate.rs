//! From scores to a grade.

use super::{Reading, Score};
use crate::rubric::Rubric;
use serde::{Deserialize, Serialize};

/// A session's scores under one rubric by one judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// One score per dimension, in the rubric's order.
    pub scores: Vec<Score>,
    /// What they come to.
    pub overall: Overall,
}

/// What the scores come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Enough dimensions are present.
    Graded {
        /// The overall quality, rounded once.
        thousandths: u32,
        /// The tier it falls into.
        tier: String,
        /// Without the goal dimension: process says little about the result.
        process_only: bool,
        /// How many dimensions are present.
        present: usize,
    },
    /// Too few dimensions are present: there is no overall, which is not an overall of 0.
    TooFew {
        /// How many dimensions are present.
        present: usize,
        /// How many must be.
        needed: usize,
    },
}

impl Overall {
    /// The number, if there is one.
    pub fn thousandths(&self) -> Option<u32> {
        match self {
            Overall::Graded { thousandths, .. } => Some(*thousandths),
            Overall::TooFew { .. } => None,
        }
    }
}

impl Grade {
    /// Weighs scores by a rubric: weights of the dimensions present are renormalised.
    pub fn of(scores: Vec<Score>, rubric: &Rubric) -> Grade {
        let (mut sum, mut weights, mut present, mut has_goal) = (0.0, 0.0, 0, false);
        for score in &scores {
            let (Reading::Scored { value, .. }, Some(dimension)) = (&score.reading, rubric.dimension(&score.dimension))
            else {
                continue;
            };
            sum += dimension.weight * value.number();
            weights += dimension.weight;
            present += 1;
            has_goal |= dimension.name == rubric.goal;
        }
        let overall = if present < rubric.min_dimensions || weights <= 0.0 {
            Overall::TooFew { present, needed: rubric.min_dimensions }
        } else {
            let thousandths = thousandths(sum / weights);
            let tier = rubric.tiers.of(thousandths).name.clone();
            Overall::Graded { thousandths, tier, process_only: !has_goal, present }
        };
        Grade { scores, overall }
    }
}

/// Rounds once, to whole thousandths; the printed number and the tier both come from this.
pub fn thousandths(x: f64) -> u32 {
    (x.clamp(0.0, 1.0) * 1000.0 + 0.5).floor() as u32
}
