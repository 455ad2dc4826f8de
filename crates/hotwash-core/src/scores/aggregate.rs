//! From scores to a grade.

use super::{Flag, Reading, Score, Value};
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

/// The session's quality, as far as its scores say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "Stored")]
pub enum Overall {
    /// The goal dimension and enough others are scored.
    Graded {
        /// The overall quality, rounded once.
        thousandths: u32,
        /// The tier: that of the number, or a lower one where the goal caps it.
        tier: String,
        /// Why the tier is lower than the number's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Cap>,
        /// How many dimensions are present.
        present: usize,
        /// The process score, if enough of the other dimensions are present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<u32>,
    },
    /// Nothing says whether the goal was reached. There is no overall and no tier, only a score of how the work was done,
    /// which is not comparable with an overall.
    Process {
        /// The process score, rounded once.
        thousandths: u32,
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

/// The goal was not fully reached, so the tier is at most this rubric's cap for that level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The level of the goal dimension.
    pub goal: String,
    /// The tier that the number alone would have.
    pub uncapped: String,
}

/// What stores hold: earlier versions gave an overall, marked `process_only`, to sessions without a goal verdict.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Graded {
        thousandths: u32,
        tier: String,
        #[serde(default)]
        cap: Option<Cap>,
        present: usize,
        #[serde(default)]
        process: Option<u32>,
        #[serde(default)]
        process_only: bool,
    },
    Process {
        thousandths: u32,
        present: usize,
    },
    TooFew {
        present: usize,
        needed: usize,
    },
}

impl From<Stored> for Overall {
    fn from(stored: Stored) -> Overall {
        match stored {
            Stored::Graded { thousandths, present, process_only: true, .. }
            | Stored::Process { thousandths, present } => Overall::Process { thousandths, present },
            Stored::Graded { thousandths, tier, cap, present, process, process_only: false } => {
                Overall::Graded { thousandths, tier, cap, present, process }
            }
            Stored::TooFew { present, needed } => Overall::TooFew { present, needed },
        }
    }
}

impl Overall {
    /// The overall quality, if there is one.
    pub fn thousandths(&self) -> Option<u32> {
        match self {
            Overall::Graded { thousandths, .. } => Some(*thousandths),
            Overall::Process { .. } | Overall::TooFew { .. } => None,
        }
    }

    /// The process score, if there is one: how well the work was done, whatever its result.
    pub fn process(&self) -> Option<u32> {
        match self {
            Overall::Graded { process, .. } => *process,
            Overall::Process { thousandths, .. } => Some(*thousandths),
            Overall::TooFew { .. } => None,
        }
    }
}

/// A weighted mean of the dimensions that are present.
#[derive(Default)]
struct Mean {
    sum: f64,
    weights: f64,
    present: usize,
}

impl Mean {
    fn add(&mut self, weight: f64, number: f64) {
        self.sum += weight * number;
        self.weights += weight;
        self.present += 1;
    }

    /// None where fewer than `needed` dimensions are present, or they have no weight.
    fn thousandths(&self, needed: usize) -> Option<u32> {
        (self.present >= needed && self.weights > 0.0).then(|| thousandths(self.sum / self.weights))
    }
}

impl Grade {
    /// Weighs scores by a rubric: weights of the dimensions present are renormalised.
    ///
    /// A dimension is present where it has a value, once however often it is scored: the first one counts. Sums run in
    /// the rubric's order, so the order of the scores does not show in the last digit. Without a value for the goal there is
    /// no overall, only a process score.
    pub fn of(scores: Vec<Score>, rubric: &Rubric) -> Grade {
        let (mut all, mut others, mut goal) = (Mean::default(), Mean::default(), None);
        for dimension in &rubric.dimensions {
            let mut of_dimension = scores.iter().filter(|score| score.dimension == dimension.name);
            let Some((value, number)) = of_dimension.find_map(value) else { continue };
            all.add(dimension.weight, number);
            if dimension.name == rubric.goal {
                goal = Some(value);
            } else {
                others.add(dimension.weight, number);
            }
        }
        let present = all.present;
        let process = others.thousandths(rubric.min_process_dimensions);
        let overall = match (goal, all.thousandths(rubric.min_dimensions), process) {
            (Some(goal), Some(thousandths), process) => {
                let (tier, cap) = capped(thousandths, goal, rubric);
                Overall::Graded { thousandths, tier, cap, present, process }
            }
            (None, _, Some(thousandths)) => Overall::Process { thousandths, present },
            (Some(_), None, _) => Overall::TooFew { present, needed: rubric.min_dimensions },
            (None, _, None) => Overall::TooFew { present, needed: rubric.min_process_dimensions },
        };
        Grade { scores, overall, flags: Vec::new() }
    }
}

/// The tier of a number, and why it is lower than the number says.
fn capped(thousandths: u32, goal: &Value, rubric: &Rubric) -> (String, Option<Cap>) {
    let tier = rubric.tiers.of(thousandths);
    let Value::Level { label, .. } = goal else { return (tier.name.clone(), None) };
    let highest = rubric.goal_caps.iter().find(|cap| cap.level == *label).map(|cap| &cap.tier);
    match highest.and_then(|name| rubric.tiers.iter().find(|tier| tier.name == *name)) {
        Some(highest) if highest.from < tier.from => {
            (highest.name.clone(), Some(Cap { goal: label.clone(), uncapped: tier.name.clone() }))
        }
        _ => (tier.name.clone(), None),
    }
}

/// A score's value, also on the common scale. Something that is no number is no value, least of all a 0.
fn value(score: &Score) -> Option<(&Value, f64)> {
    match &score.reading {
        Reading::Scored { value, .. } => Some((value, value.number())).filter(|(_, number)| number.is_finite()),
        Reading::Unscored { .. } => None,
    }
}

/// Rounds once, to whole thousandths; the printed number and the tier both come from this.
pub fn thousandths(x: f64) -> u32 {
    (x.clamp(0.0, 1.0) * 1000.0 + 0.5).floor() as u32
}

#[cfg(test)]
mod tests {
    use super::super::{Unscored, offline};
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
        let graded =
            Overall::Graded { thousandths: 750, tier: "Good".into(), cap: None, present: 6, process: Some(643) };
        assert_eq!(overall(&v2(), &all), graded);
    }

    #[test]
    fn weights_of_what_is_present_are_renormalised() {
        // (.30 × 1 + .20 × .5 + .15 × .4 + .10 × 1) / .75
        let some = [Some(1.0), Some(0.5), None, Some(0.4), Some(1.0), None];
        let graded =
            Overall::Graded { thousandths: 747, tier: "Good".into(), cap: None, present: 4, process: Some(578) };
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
        assert_eq!(overall(&rubric, &[]), Overall::TooFew { present: 0, needed: 3 });
        let broken = [Some(1.0), Some(1.0), Some(1.0), Some(f64::NAN), None, None];
        assert_eq!(overall(&rubric, &broken), Overall::TooFew { present: 3, needed: 4 });
    }

    #[test]
    fn without_the_goal_there_is_only_a_process_score() {
        let process = [None, Some(0.9), Some(0.9), Some(0.9), Some(0.9), None];
        assert_eq!(overall(&v2(), &process), Overall::Process { thousandths: 900, present: 4 });
        let three = [None, Some(0.9), Some(0.9), Some(0.9), None, None];
        assert_eq!(overall(&v2(), &three), Overall::Process { thousandths: 900, present: 3 });
        assert_eq!(overall(&v2(), &three).thousandths(), None);
        let two = [None, Some(0.9), Some(0.9), None, None, None];
        assert_eq!(overall(&v2(), &two), Overall::TooFew { present: 2, needed: 3 });
    }

    #[test]
    fn the_goal_caps_the_tier_and_leaves_the_number() {
        for (rubric, label, expected, is_capped) in [
            ("v2", "failed", "Poor", true),
            ("v2", "partial", "Acceptable", true),
            ("v2", "complete", "Excellent", false),
            ("v1", "failed", "Poor", true),
            ("v0", "partial", "Acceptable", true),
        ] {
            let rubric = Rubric::shipped(rubric).unwrap();
            let place = rubric.dimensions.iter().position(|dimension| dimension.name == rubric.goal).unwrap();
            let dimension = &rubric.dimensions[place];
            let index = dimension.level_index(label).unwrap();
            let mut all = scores(&rubric, &[Some(1.0); 6]);
            let value = Value::Level { label: label.into(), index, of: dimension.levels().len() };
            let number = value.number();
            if let Reading::Scored { value: place, .. } = &mut all[place].reading {
                *place = value;
            }
            let expected_number = thousandths(1.0 - dimension.weight * (1.0 - number));
            let Overall::Graded { thousandths, tier, cap, .. } = Grade::of(all, &rubric).overall else {
                unreachable!()
            };
            assert_eq!((thousandths, tier.as_str()), (expected_number, expected), "{label}");
            assert_eq!(cap.is_some(), is_capped, "{label}: {cap:?}");
        }
    }

    #[test]
    fn a_cap_never_lifts_a_tier() {
        let rubric = v2();
        let mut all = scores(&rubric, &[Some(0.1); 6]);
        all[0].reading = Reading::Scored {
            value: Value::Level { label: "failed".into(), index: 0, of: 4 },
            start: 0.0,
            items: Vec::new(),
            confidence: None,
            spread: None,
        };
        let Overall::Graded { tier, cap, .. } = Grade::of(all, &rubric).overall else { unreachable!() };
        assert_eq!((tier.as_str(), cap), ("Failed", None));
    }

    #[test]
    fn grades_of_earlier_versions_are_read() {
        let read = |json: &str| serde_json::from_str::<Overall>(json).unwrap();
        let before = r#"{"graded":{"thousandths":900,"tier":"Excellent","process_only":true,"present":4}}"#;
        assert_eq!(read(before), Overall::Process { thousandths: 900, present: 4 });
        let before = r#"{"graded":{"thousandths":900,"tier":"Excellent","process_only":false,"present":6}}"#;
        let graded =
            Overall::Graded { thousandths: 900, tier: "Excellent".into(), cap: None, present: 6, process: None };
        assert_eq!(read(before), graded);
        assert_eq!(read(&serde_json::to_string(&graded).unwrap()), graded);
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
            prop_assert_eq!(overall.thousandths().is_some(), present.len() >= 4 && values[0].is_some());
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
