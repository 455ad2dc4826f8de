use super::{Goal, Intent, JudgeStatus, Lack, Outcome, outcome};
use crate::outcomes::Evidence;
use crate::outcomes::prism::{FEWEST, Prism, PrismInput, iso_week, provisional};
use crate::sessions::Timestamp;
use proptest::prelude::*;

/// A session as a judge may have found it.
fn session(status: JudgeStatus, goal: Goal, evidence: Evidence, turns: u64) -> Outcome {
    let mut outcome = outcome("e1 user  fix the parser");
    outcome.substance.turns = turns;
    outcome.substance.mutating_calls = 0;
    Outcome { status, goal, evidence, lack: (goal != Goal::Complete).then_some(Lack::NoRun), ..outcome }
}

fn crushed() -> Outcome {
    session(JudgeStatus::Ok, Goal::Complete, Evidence::Explicit, 3)
}

fn input(outcome: &Outcome) -> PrismInput {
    PrismInput { ruling: outcome.ruling(), rework: false, provisional: false, by_model: false }
}

#[test]
fn crushed_is_substance_and_ok_and_complete_and_not_reworked() {
    assert!(input(&crushed()).crushed());
    assert!(!PrismInput { rework: true, ..input(&crushed()) }.crushed());
    assert!(!input(&session(JudgeStatus::Ok, Goal::Failed, Evidence::Explicit, 3)).crushed());
    assert!(!input(&session(JudgeStatus::Ok, Goal::Complete, Evidence::Explicit, 2)).crushed());
    for status in [JudgeStatus::NoGoal, JudgeStatus::Undecided, JudgeStatus::Failed, JudgeStatus::Skipped] {
        assert!(!input(&session(status, Goal::Complete, Evidence::Explicit, 3)).crushed(), "{status:?}");
    }
}

#[test]
fn the_denominator_counts_substance_with_a_verdict_only() {
    let ok = |goal| session(JudgeStatus::Ok, goal, Evidence::Explicit, 3);
    let sessions = [
        ok(Goal::Complete),
        ok(Goal::Failed),
        ok(Goal::Complete),
        session(JudgeStatus::Undecided, Goal::Undecided, Evidence::Silent, 3),
        session(JudgeStatus::NoGoal, Goal::Undecided, Evidence::Silent, 3),
        session(JudgeStatus::Failed, Goal::Undecided, Evidence::Silent, 3),
        session(JudgeStatus::Skipped, Goal::Undecided, Evidence::Silent, 3),
        session(JudgeStatus::Ok, Goal::Complete, Evidence::Explicit, 2),
    ];
    let mut inputs: Vec<PrismInput> = sessions.iter().map(input).collect();
    inputs[2].rework = true;
    inputs[1].provisional = true;
    let failed = input(&sessions[1]);
    inputs.extend([failed; 6]);
    let prism = Prism::of(inputs);
    assert_eq!((prism.crushed, prism.decided, prism.sessions), (1, 9, 14));
    assert_eq!((prism.undecided, prism.no_goal, prism.judge_failed, prism.skipped), (1, 1, 1, 1));
    assert_eq!((prism.without_substance, prism.reworked, prism.provisional), (1, 1, 1));
    assert!((prism.score.unwrap() - 100.0 / 9.0).abs() < 1e-9);
    assert_eq!(prism.bounds, Some((10.0, 20.0)));
}

#[test]
fn silent_completions_are_shown_apart_over_the_same_denominator() {
    let sessions = [crushed(), session(JudgeStatus::Ok, Goal::Complete, Evidence::Silent, 3)];
    let prism = Prism::of(sessions.iter().cycle().take(10).map(input));
    assert_eq!((prism.score, prism.explicit.score), (Some(100.0), Some(50.0)));
}

#[test]
fn few_decided_sessions_are_counts_and_no_percentage() {
    let silent = session(JudgeStatus::Ok, Goal::Complete, Evidence::Silent, 3);
    let undecided = session(JudgeStatus::Undecided, Goal::Undecided, Evidence::Silent, 3);
    let of = |decided: u64| Prism::of((0..decided).map(|_| input(&silent)).chain([input(&undecided)]));
    let few = of(FEWEST - 1);
    assert_eq!((few.crushed, few.decided, few.undecided), (FEWEST - 1, FEWEST - 1, 1));
    assert_eq!((few.score, few.interval, few.bounds), (None, None, None));
    assert_eq!((few.explicit.crushed, few.explicit.score, few.explicit.interval), (0, None, None));
    let enough = of(FEWEST);
    assert_eq!((enough.score, enough.explicit.score), (Some(100.0), Some(0.0)));
    assert!(enough.interval.is_some() && enough.bounds.is_some() && enough.explicit.interval.is_some());
    assert_eq!(Prism::of([]), Prism::default());
}

#[test]
fn what_would_move_it_is_ranked_by_count() {
    let failed = session(JudgeStatus::Ok, Goal::Failed, Evidence::Explicit, 3);
    let mut other = failed.clone();
    (other.intended.intent, other.lack) = (Intent::Feature, Some(Lack::GivenUp));
    let done = crushed();
    let reworked = PrismInput { rework: true, ..input(&done) };
    let prism = Prism::of([input(&other), input(&failed), input(&failed), reworked, input(&done)]);
    let moves: Vec<&str> = prism.moves.iter().map(|a_move| a_move.text.as_str()).collect();
    assert_eq!(
        moves,
        [
            "2 bug fixes ended without a run",
            "1 bug fix reached the goal and was reworked later",
            "1 feature was given up"
        ]
    );
}

#[test]
fn groups_are_scored_by_their_key() {
    let (good, bad) = (crushed(), session(JudgeStatus::Ok, Goal::Failed, Evidence::Explicit, 3));
    let (a, b) = ([("a", input(&good)); 9], [("b", input(&bad)); 8]);
    let groups = Prism::by(a.into_iter().chain(b).chain([("c", input(&good))]));
    let scores = ["a", "b", "c"].map(|key| groups[key].score);
    assert_eq!(scores, [Some(100.0), Some(0.0), None]);
}

#[test]
fn a_week_is_an_iso_week() {
    for (date, week) in [
        ("2026-01-01", "2026-W01"),
        ("2025-12-29", "2026-W01"),
        ("2025-12-28", "2025-W52"),
        ("2027-01-01", "2026-W53"),
        ("2024-12-31", "2025-W01"),
        ("2026-11-16", "2026-W47"),
    ] {
        let at = Timestamp::parse(format!("{date}T12:00:00.000Z").as_bytes()).unwrap();
        assert_eq!(iso_week(at), week, "{date}");
    }
}

#[test]
fn a_session_is_provisional_for_fourteen_days() {
    let day = 24 * 60 * 60 * 1000;
    assert!(provisional(Timestamp(0), Timestamp(14 * day - 1)));
    assert!(!provisional(Timestamp(0), Timestamp(14 * day)));
}

fn any_session() -> impl Strategy<Value = (Outcome, bool, bool)> {
    let status = prop_oneof![
        Just(JudgeStatus::Ok),
        Just(JudgeStatus::Undecided),
        Just(JudgeStatus::NoGoal),
        Just(JudgeStatus::Failed),
        Just(JudgeStatus::Skipped)
    ];
    let goal = prop_oneof![Just(Goal::Complete), Just(Goal::Failed)];
    let evidence = prop_oneof![Just(Evidence::Explicit), Just(Evidence::Silent)];
    (status, goal, evidence, 0u64..6, any::<bool>(), any::<bool>()).prop_map(
        |(status, goal, evidence, turns, rework, young)| (session(status, goal, evidence, turns), rework, young),
    )
}

proptest! {
    #[test]
    fn silent_counted_as_not_complete_never_exceeds_the_score(sessions in proptest::collection::vec(any_session(), 0..40)) {
        let prism = Prism::of(sessions.iter().map(|(outcome, rework, provisional)| {
            PrismInput { ruling: outcome.ruling(), rework: *rework, provisional: *provisional, by_model: false }
        }));
        prop_assert!(prism.explicit.crushed <= prism.crushed);
        prop_assert!(prism.explicit.score <= prism.score);
        let others = prism.undecided + prism.no_goal + prism.judge_failed + prism.skipped + prism.without_substance;
        prop_assert_eq!(prism.decided + others, prism.sessions);
        if let (Some(score), Some((low, high)), Some((worst, best))) = (prism.score, prism.interval, prism.bounds) {
            prop_assert!(low <= score && score <= high);
            prop_assert!(worst <= score && score <= best);
        }
    }
}
