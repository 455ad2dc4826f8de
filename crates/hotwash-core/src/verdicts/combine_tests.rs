//! Many readings become one.

use super::combine::{Chunk, combine, goal, grade};
use super::outcome::OutcomeVerdict;
use super::quality::QualityVerdict;
use super::second::{Escalation, near_tier_edge, of_grade};
use crate::evidence::Evidence as Shown;
use crate::facts::Facts;
use crate::outcomes::{self, Goal, JudgeStatus, Outcome};
use crate::rubric::{Combine, Dimension, Rubric};
use crate::scores::{Flag, Grade, Item, Overall, Reading, Spread, Unscored, Value, offline};
use crate::sessions::Events;
use proptest::prelude::*;
use std::sync::LazyLock;

static V2: LazyLock<Rubric> = LazyLock::new(|| Rubric::shipped("v2").unwrap());

fn numeric() -> Dimension {
    V2.dimension("tool_efficiency").unwrap().clone()
}

fn categorical(combine: Combine) -> Dimension {
    Dimension { combine, ..V2.dimension("goal_achievement").unwrap().clone() }
}

fn scored(value: Value) -> Reading {
    let item = Item { amount: 0.0, reason: "seen".into(), fact: "judge".into(), events: Events::default() };
    Reading::Scored { start: value.number(), value, items: vec![item], confidence: Some(0.8), spread: None }
}

fn number(number: f64) -> Reading {
    scored(Value::Number(number))
}

fn level(index: usize) -> Reading {
    scored(value(index))
}

fn value(index: usize) -> Value {
    let levels = ["failed", "partial", "complete", "exceeded"];
    Value::Level { label: levels[index].into(), index, of: 4 }
}

fn failed() -> Reading {
    Reading::Unscored { why: Unscored::JudgeFailed, reason: "no answer".into() }
}

fn of(reading: &Reading) -> Option<(f64, Option<f64>, Option<&Spread>)> {
    match reading {
        Reading::Scored { value, confidence, spread, .. } => Some((value.number(), *confidence, spread.as_ref())),
        Reading::Unscored { .. } => None,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_mean_is_weighted_by_what_chunks_own() {
    let chunks = [(70_000, number(0.9)), (60_000, number(0.6)), (20_000, number(0.3))];
    let (reading, flags) = combine(&numeric(), &chunks);
    let (mean, confidence, spread) = of(&reading).unwrap();
    // (63 + 36 + 6) / 150, and not the plain mean of 0.6.
    assert!(close(mean, 0.7), "{mean}");
    assert!(close(confidence.unwrap(), 0.8));
    let spread = spread.unwrap();
    assert_eq!((spread.min, spread.max, &spread.chunks), (0.3, 0.9, &vec![Some(0.9), Some(0.6), Some(0.3)]));
    // (70 × .04 + 60 × .01 + 20 × .16) / 150
    assert!(close(spread.variance, 0.044) && close(spread.covered, 1.0));
    assert_eq!(flags, [Flag::WideSpread]);
}

#[test]
fn one_chunk_is_what_it_says() {
    for reading in [number(0.4), failed()] {
        assert_eq!(combine(&numeric(), &[(10, reading.clone())]), (reading, vec![]));
    }
}

#[test]
fn a_chunk_that_failed_makes_it_partial_and_never_0() {
    let (reading, flags) = combine(&numeric(), &[(30, number(0.8)), (10, failed()), (60, number(0.7))]);
    let (mean, _, spread) = of(&reading).unwrap();
    assert!(close(mean, (30.0 * 0.8 + 60.0 * 0.7) / 90.0));
    let spread = spread.unwrap();
    assert_eq!(spread.chunks, [Some(0.8), None, Some(0.7)]);
    assert!(close(spread.covered, 0.9));
    assert_eq!(flags, [Flag::Partial]);
    let Reading::Scored { items, .. } = reading else { unreachable!() };
    assert!(items[0].reason.contains("1 without a value, 90 % of the session covered"), "{}", items[0].reason);
    assert!(of(&combine(&numeric(), &[(30, failed()), (10, failed())]).0).is_none());
    assert!(of(&combine(&numeric(), &[]).0).is_none());
}

#[test]
fn levels_are_combined_as_the_rubric_says() {
    let failed_chunk = 9;
    for (how, indices, expected, tie, sure) in [
        (Combine::Last, &[3, 0, 2][..], 2, false, 0.8),
        (Combine::Last, &[3, 1, failed_chunk], 1, false, 0.8),
        (Combine::Worst, &[3, 1, 2], 1, false, 0.8),
        (Combine::Worst, &[3, failed_chunk, 2], 2, false, 0.8),
        (Combine::Vote, &[2, 2, 0], 2, false, 2.0 / 3.0),
        (Combine::Vote, &[0, 2, 2, 3], 2, false, 0.5),
        (Combine::Vote, &[3, 1, 3, 1], 1, true, 0.5),
        (Combine::Vote, &[3, 1], 1, true, 0.5),
        (Combine::Vote, &[3, 1, 3, 1, 0], 1, true, 0.4),
        (Combine::Vote, &[2, failed_chunk, 2], 2, false, 1.0),
    ] {
        // A vote counts chunks, not tokens.
        let chunks: Vec<(usize, Reading)> = indices
            .iter()
            .enumerate()
            .map(|(at, &index)| (1000 >> at, if index == failed_chunk { failed() } else { level(index) }))
            .collect();
        let (reading, flags) = combine(&categorical(how), &chunks);
        let Reading::Scored { value: found, confidence, .. } = reading else { unreachable!() };
        assert_eq!(found, value(expected), "{how:?} {indices:?}");
        assert!(close(confidence.unwrap(), sure), "{how:?} {indices:?}");
        assert_eq!(flags.contains(&Flag::Tie), tie);
        assert_eq!(flags.contains(&Flag::Partial), indices.contains(&failed_chunk));
    }
}

/// What was said of a chunk, one number for every dimension.
fn verdict(number: f64) -> QualityVerdict {
    let one = |dimension: &Dimension| {
        let top = dimension.levels().len().saturating_sub(1);
        let reading = if top == 0 { self::number(number) } else { level((number * top as f64).round() as usize) };
        (dimension.name.clone(), reading)
    };
    QualityVerdict { readings: V2.dimensions.iter().map(one).collect() }
}

fn graded(chunks: &[(usize, &QualityVerdict)]) -> Grade {
    graded_with(None, chunks)
}

fn graded_with(goal: Option<&Reading>, chunks: &[(usize, &QualityVerdict)]) -> Grade {
    let chunks: Vec<Chunk<'_>> = chunks
        .iter()
        .map(|(owned_tokens, verdict)| Chunk { owned_tokens: *owned_tokens, verdict, flags: &[] })
        .collect();
    grade(&V2, &chunks, goal, &[], &|_| offline::provenance(&V2))
}

#[test]
fn chunks_make_a_grade() {
    let (good, bad) = (verdict(1.0), verdict(0.0));
    assert_eq!(graded(&[(10, &good)]).overall.thousandths(), Some(1000));
    // Numeric ones (0.60 of the weight) at one half, the last chunk's level for the others (0.40).
    let mixed = graded(&[(10, &good), (10, &bad)]);
    assert_eq!(mixed.overall.thousandths(), Some(300));
    assert_eq!(mixed.flags, [Flag::WideSpread, Flag::NearTierEdge]);
    assert_eq!(graded(&[(10, &bad), (10, &good)]).overall.thousandths(), Some(700));
    let nothing = QualityVerdict::unscored(&V2, None, Unscored::Refused, "the judge refused");
    let partial = graded(&[(10, &good), (30, &nothing)]);
    assert_eq!((partial.overall.thousandths(), partial.flags), (Some(1000), vec![Flag::Partial]));
    assert_eq!(graded(&[(10, &nothing)]).overall, Overall::TooFew { present: 0, needed: 3 });
    assert_eq!(graded(&[]).overall, Overall::TooFew { present: 0, needed: 3 });
}

#[test]
fn a_grade_with_an_alarm_is_flagged() {
    let good = verdict(1.0);
    let evidence = Shown::for_tests(&[(1, "dear judge")], &[(1, "dear judge")]);
    let chunk = [Chunk { owned_tokens: 1, verdict: &good, flags: &[Flag::Retried] }];
    let grade = grade(&V2, &chunk, None, evidence.alarms(), &|_| offline::provenance(&V2));
    assert_eq!(grade.flags, [Flag::InjectionSuspected, Flag::Retried]);
    assert_eq!(of_grade(&grade), [Escalation::Alarm]);
}

#[test]
fn near_an_edge_is_within_10_thousandths() {
    for (thousandths, near) in [
        (1000, false),
        (861, false),
        (860, true),
        (850, true),
        (840, true),
        (839, false),
        (711, false),
        (690, true),
        (500, true),
        (310, true),
        (289, false),
        (5, false), // there is nothing below
        (0, false),
    ] {
        let overall = Overall::Graded { thousandths, tier: String::new(), cap: None, present: 6, process: None };
        let grade = Grade { scores: vec![], overall, flags: vec![] };
        assert_eq!(near_tier_edge(&grade, &V2), near, "{thousandths}");
    }
}

fn outcome(goal: Goal) -> Outcome {
    let mut outcome = outcomes::offline(&Facts::default());
    outcome.goal = goal;
    outcome.status = if goal == Goal::Undecided { JudgeStatus::Undecided } else { JudgeStatus::Ok };
    outcome
}

/// A judge's answer of which everything essential is met, or not, and which goes beyond the request, or not.
fn answer(essentials: bool, beyond: bool) -> OutcomeVerdict {
    let mut reply = super::outcome::tests::reply();
    if !essentials {
        reply["findings"][0]["status"] = "partly".into();
    }
    if !beyond {
        reply["marks"]["beyond"] = serde_json::json!([]);
    }
    super::outcome::tests::verdict(&reply)
}

#[test]
fn the_goal_follows_from_the_outcome() {
    let dimension = V2.dimension("goal_achievement").unwrap();
    for (goal_is, essentials, beyond, expected) in [
        (Goal::Complete, true, true, 3),
        (Goal::Complete, true, false, 2),
        (Goal::Complete, false, true, 2),
        (Goal::Undecided, true, true, 1),
        (Goal::Undecided, false, false, 1),
        (Goal::Failed, true, false, 1),
        (Goal::Failed, false, true, 0),
    ] {
        let reading = goal(dimension, &outcome(goal_is), Some(&answer(essentials, beyond)));
        let Reading::Scored { value: found, .. } = &reading else { unreachable!() };
        assert_eq!(*found, value(expected), "{goal_is:?} {essentials} {beyond}");
        let grade = graded_with(Some(&reading), &[(10, &verdict(0.8))]);
        assert!(matches!(grade.overall, Overall::Graded { present: 6, .. }));
    }
    // By facts alone.
    for (goal_is, expected) in [(Goal::Complete, Some(2)), (Goal::Failed, Some(0)), (Goal::Undecided, None)] {
        let number = of(&goal(dimension, &outcome(goal_is), None)).map(|(number, ..)| number);
        assert_eq!(number, expected.map(|index| value(index).number()));
    }
}

#[test]
fn a_goal_that_is_suspected_or_none_has_no_level() {
    let dimension = V2.dimension("goal_achievement").unwrap();
    let suspected = Outcome { flags: vec![Flag::InjectionSuspected], ..outcome(Goal::Undecided) };
    let none = Outcome { status: JudgeStatus::NoGoal, ..outcome(Goal::Undecided) };
    for (outcome, expected) in [(suspected, Unscored::Suspected), (none, Unscored::NothingToGoBy)] {
        let Reading::Unscored { why, .. } = goal(dimension, &outcome, Some(&answer(true, true))) else {
            unreachable!()
        };
        assert_eq!(why, expected);
    }
}

#[test]
fn every_shipped_rubric_has_a_goal_with_these_levels() {
    for name in Rubric::shipped_names() {
        let rubric = Rubric::shipped(name).unwrap();
        let dimension = rubric.dimension(&rubric.goal).unwrap();
        assert_eq!(dimension.level_index("complete"), Some(2), "{name}");
    }
    // A goal of one's own may be a number, or have other levels.
    let reading = goal(&numeric(), &outcome(Goal::Complete), Some(&answer(true, false)));
    assert!(close(of(&reading).unwrap().0, 2.0 / 3.0));
}

#[test]
fn readings_without_a_spread_are_stored_as_before() {
    let stored = serde_json::to_string(&number(0.5)).unwrap();
    assert!(!stored.contains("spread"));
    let old = r#"{"scored":{"value":{"number":0.5},"start":0.5,"items":[],"confidence":null}}"#;
    assert!(serde_json::from_str::<Reading>(old).is_ok());
    let (combined, _) = combine(&numeric(), &[(1, number(0.5)), (1, number(0.25))]);
    let stored = serde_json::to_string(&combined).unwrap();
    assert_eq!(serde_json::from_str::<Reading>(&stored).unwrap(), combined);
}

fn any_chunks() -> impl Strategy<Value = Vec<(usize, Option<f64>)>> {
    prop::collection::vec((0..80_000usize, prop::option::weighted(0.8, 0.0..=1.0f64)), 1..8)
}

fn readings(chunks: &[(usize, Option<f64>)], levels: bool) -> Vec<(usize, Reading)> {
    let one = |number: f64| if levels { level((number * 3.0).round() as usize) } else { self::number(number) };
    chunks.iter().map(|(tokens, value)| (*tokens, value.map_or_else(failed, one))).collect()
}

proptest! {
    #[test]
    fn the_result_lies_between_the_lowest_and_the_highest(chunks in any_chunks()) {
        for dimension in [numeric(), categorical(Combine::Last), categorical(Combine::Vote), categorical(Combine::Worst)] {
            let readings = readings(&chunks, dimension.combine != Combine::Mean);
            let numbers: Vec<f64> = readings.iter().filter_map(|(_, reading)| of(reading)).map(|(n, ..)| n).collect();
            let (reading, flags) = combine(&dimension, &readings);
            let Some((number, _, spread)) = of(&reading) else {
                prop_assert!(numbers.is_empty());
                continue;
            };
            let lowest = numbers.iter().copied().fold(1.0, f64::min);
            let highest = numbers.iter().copied().fold(0.0, f64::max);
            prop_assert!(lowest - 1e-9 <= number && number <= highest + 1e-9);
            prop_assert_eq!(flags.contains(&Flag::Partial), numbers.len() < chunks.len());
            if let Some(spread) = spread {
                prop_assert_eq!((spread.min, spread.max), (lowest, highest));
                prop_assert!(spread.variance >= 0.0 && spread.variance <= 0.25 + 1e-9);
                prop_assert!(spread.covered > 0.0 && spread.covered <= 1.0 + 1e-9);
            }
        }
    }

    #[test]
    fn only_the_last_depends_on_the_order(chunks in any_chunks()) {
        for dimension in [numeric(), categorical(Combine::Vote), categorical(Combine::Worst)] {
            let mut readings = readings(&chunks, dimension.combine != Combine::Mean);
            let (one, one_flags) = combine(&dimension, &readings);
            readings.reverse();
            let (other, other_flags) = combine(&dimension, &readings);
            prop_assert_eq!(one_flags, other_flags);
            match (of(&one), of(&other)) {
                (Some((one, ..)), Some((other, ..))) => prop_assert!(close(one, other)),
                (one, other) => prop_assert_eq!(one.is_some(), other.is_some()),
            }
        }
    }

    #[test]
    fn cutting_a_chunk_in_two_changes_no_mean(tokens in prop::array::uniform3(2..40_000usize), values in prop::array::uniform3(0.0..=1.0f64)) {
        let whole: Vec<(usize, Reading)> = tokens.iter().zip(values).map(|(tokens, value)| (2 * tokens, number(value))).collect();
        let halves: Vec<(usize, Reading)> = whole.iter().flat_map(|(tokens, reading)| [(tokens / 2, reading.clone()), (tokens / 2, reading.clone())]).collect();
        let (one, other) = (combine(&numeric(), &whole).0, combine(&numeric(), &halves).0);
        prop_assert!(close(of(&one).unwrap().0, of(&other).unwrap().0));
        let variance = |reading: &Reading| of(reading).unwrap().2.unwrap().variance;
        prop_assert!(close(variance(&one), variance(&other)));
    }
}
