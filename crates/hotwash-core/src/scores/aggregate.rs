//! From scores to a grade.

use super::{Flag, Reading, Score};
use crate::rubric::Rubric;
use serde::{Deserialize, Serialize};

/// A session's scores under one rubric by one judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// One score per dimension, in the rubric's order.
    pub scores: Vec<Score>,
    /// What they come to.
    pub overall: Overall,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
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
    ///
    /// A dimension is present where it has a value, once however often it is scored: the first one counts. Sums run in
    /// the rubric's order, so the order of the scores does not show in the last digit.
    pub fn of(scores: Vec<Score>, rubric: &Rubric) -> Grade {
        let (mut sum, mut weights, mut present, mut has_goal) = (0.0, 0.0, 0, false);
        for dimension in &rubric.dimensions {
            let Some(number) = scores.iter().filter(|score| score.dimension == dimension.name).find_map(number) else {
                continue;
            };
            sum += dimension.weight * number;
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
        Grade { scores, overall, flags: Vec::new() }
    }
}

/// A score's value on the common scale. Something that is no number is no value, least of all a 0.
fn number(score: &Score) -> Option<f64> {
    match &score.reading {
        Reading::Scored { value, .. } => Some(value.number()).filter(|number| number.is_finite()),
        Reading::Unscored { .. } => None,
    }
}

/// Rounds once, to whole thousandths; the printed number and the tier both come from this.
pub fn thousandths(x: f64) -> u32 {
    (x.clamp(0.0, 1.0) * 1000.0 + 0.5).floor() as u32
}

#[cfg(test)]
mod tests {
    use super::super::{Unscored, Value, offline};
    use super::*;
    use proptest::prelude::*;

    fn v2() -> Rubric {
        Rubric::shipped("v2").unwrap()
    }

    /// One score per dimension, in the rubric's order; `None` is unscored.
    fn scores(rubric: &Rubric, values: &[Option<f64>]) -> Vec<Score> {
        let reading = |value: &Option<f64>| match value {
            Some(number) => {
                let value = Value::Number(*number);
                Reading::Scored { value, start: *number, items: Vec::new(), confidence: None, spread: None }
            }
            None => Reading::Unscored { why: Unscored::NothingToGoBy, reason: "nothing".into() },
        };
        let score = |(dimension, value): (&crate::rubric::Dimension, &Option<f64>)| Score {
            dimension: dimension.name.clone(),
            reading: reading(value),
            provenance: offline::provenance(rubric),
        };
        rubric.dimensions.iter().zip(values).map(score).collect()
    }

    fn overall(rubric: &Rubric, values: &[Option<f64>]) -> Overall {
        Grade::of(scores(rubric, values), rubric).overall
    }

    #[test]
    fn weighs_every_dimension() {
        // .30 × 1 + .20 × .5 + .20 × .8 + .15 × .4 + .10 × 1 + .05 × .6
        let all = [1.0, 0.5, 0.8, 0.4, 1.0, 0.6].map(Some);
        let graded = Overall::Graded { thousandths: 750, tier: "Good".into(), process_only: false, present: 6 };
        assert_eq!(overall(&v2(), &all), graded);
    }

    #[test]
    fn weights_of_what_is_present_are_renormalised() {
        // (.30 × 1 + .20 × .5 + .15 × .4 + .10 × 1) / .75
        let some = [Some(1.0), Some(0.5), None, Some(0.4), Some(1.0), None];
        let graded = Overall::Graded { thousandths: 747, tier: "Good".into(), process_only: false, present: 4 };
        assert_eq!(overall(&v2(), &some), graded);
        let same = [Some(0.62), None, Some(0.62), None, Some(0.62), Some(0.62)];
        assert_eq!(overall(&v2(), &same).thousandths(), Some(620));
    }

    #[test]
    fn too_few_dimensions_give_no_overall() {
        let rubric = v2();
        let three = [Some(1.0), Some(1.0), Some(1.0), None, None, None];
        assert_eq!(overall(&rubric, &three), Overall::TooFew { present: 3, needed: 4 });
        assert_eq!(overall(&rubric, &three).thousandths(), None);
        assert_eq!(overall(&rubric, &[]), Overall::TooFew { present: 0, needed: 4 });
        let broken = [Some(1.0), Some(1.0), Some(1.0), Some(f64::NAN), None, None];
        assert_eq!(overall(&rubric, &broken), Overall::TooFew { present: 3, needed: 4 });
    }

    #[test]
    fn without_the_goal_it_is_process_only() {
        let process = [None, Some(0.9), Some(0.9), Some(0.9), Some(0.9), None];
        let graded = Overall::Graded { thousandths: 900, tier: "Excellent".into(), process_only: true, present: 4 };
        assert_eq!(overall(&v2(), &process), graded);
    }

    #[test]
    fn a_dimension_counts_once_and_a_stranger_never() {
        let rubric = v2();
        let once = scores(&rubric, &[0.2, 0.4, 0.6, 0.8, 1.0, 0.0].map(Some));
        let mut more = once.clone();
        more.extend(once.iter().rev().cloned());
        more.push(Score { dimension: "charm".into(), ..once[4].clone() });
        assert_eq!(Grade::of(more, &rubric).overall, Grade::of(once, &rubric).overall);
    }

    #[test]
    fn rounds_half_up_to_thousandths() {
        for (x, expected) in [
            (0.0, 0),
            (0.000_4, 0),
            (0.000_5, 1),
            (0.499_4, 499),
            (0.499_6, 500),
            (0.847_5, 848),
            (0.999_4, 999),
            (0.999_6, 1000),
            (1.0, 1000),
            (-0.1, 0),
            (1.1, 1000),
        ] {
            assert_eq!(thousandths(x), expected, "{x}");
        }
    }

    #[test]
    fn tiers_begin_exactly_at_their_lower_bound() {
        let rubric = v2();
        for (number, tier) in [
            (1.0, "Excellent"),
            (0.850, "Excellent"),
            (0.8496, "Excellent"),
            (0.8494, "Good"),
            (0.849, "Good"),
            (0.700, "Good"),
            (0.699, "Acceptable"),
            (0.500, "Acceptable"),
            (0.499, "Poor"),
            (0.300, "Poor"),
            (0.299, "Failed"),
            (0.0, "Failed"),
        ] {
            let Overall::Graded { tier: found, .. } = overall(&rubric, &[Some(number); 6]) else { unreachable!() };
            assert_eq!(found, tier, "{number}");
        }
    }

    proptest! {
        #[test]
        fn the_overall_lies_between_the_lowest_and_the_highest_value(
            weights in prop::array::uniform6(0.01..1.0f64),
            values in prop::array::uniform6(prop::option::weighted(0.8, 0.0..=1.0f64)),
        ) {
            let mut rubric = v2();
            let sum: f64 = weights.iter().sum();
            for (dimension, weight) in rubric.dimensions.iter_mut().zip(weights) {
                dimension.weight = weight / sum;
            }
            let present: Vec<f64> = values.iter().flatten().copied().collect();
            let overall = overall(&rubric, &values);
            prop_assert_eq!(overall.thousandths().is_some(), present.len() >= 4);
            if let Some(overall) = overall.thousandths() {
                let lowest = present.iter().copied().fold(1.0, f64::min);
                let highest = present.iter().copied().fold(0.0, f64::max);
                // Rounding keeps the order but for the last bit of the division.
                prop_assert!(thousandths(lowest - 1e-12) <= overall && overall <= thousandths(highest + 1e-12));
            }
        }

        #[test]
        fn the_order_of_scores_does_not_matter(
            values in prop::array::uniform6(prop::option::of(0.0..=1.0f64)),
            order in Just([0usize, 1, 2, 3, 4, 5]).prop_shuffle(),
        ) {
            let rubric = v2();
            let sorted = scores(&rubric, &values);
            let shuffled = order.iter().map(|&at| sorted[at].clone()).collect();
            prop_assert_eq!(Grade::of(shuffled, &rubric).overall, Grade::of(sorted, &rubric).overall);
        }
    }
}
