//! What is promised of scores that go elsewhere or come and go: none is lost, whenever a deletion is carried out, and
//! whichever machine pushes. Nothing is kept between pushes here, so each of them may be another machine's.

use super::target::Attach;
use super::testing::Fake;
use super::tests::{pushed, row, rows, with};
use crate::net::testing::START;
use crate::stores::Row;
use hotwash_core::outcomes::{Goal, JudgeStatus};
use hotwash_core::sessions::Timestamp;
use serde_json::json;

/// With a trace of the first of some sessions.
fn with_trace() -> Fake {
    let fake = Fake::start();
    let at = Timestamp(START.0 - 50_000).to_string();
    fake.state.lock().unwrap().traces.push(("t1".into(), "recorded-0".into(), at));
    fake
}

/// Attached to the trace, to the session, to the trace again, and as it goes by itself.
const WAYS: [(Option<Attach>, &str, &str); 4] = [
    (Some(Attach::Trace), "traceId", "t1"),
    (Some(Attach::Session), "sessionId", "recorded-0"),
    (Some(Attach::Trace), "traceId", "t1"),
    (None, "sessionId", "recorded-0"),
];

#[test]
fn scores_move_where_they_are_told_to() {
    // Deletions are carried out after each push, after every other one, and long after all.
    for often in [1, 2, 9] {
        let fake = with_trace();
        fake.state.lock().unwrap().old_scores = often == 2;
        let rows = rows(1);
        pushed(&fake.client(), &rows);
        for (n, (attach, key, id)) in WAYS.iter().enumerate() {
            let report = with(&fake.client(), &rows, |options| options.attach = *attach);
            assert_eq!((report.written, report.deletions_queued), (7, 7), "{often} {n}");
            assert!(fake.staying().values().all(|score| score[key] == json!(id)));
            assert_eq!(fake.staying().len(), 7);
            let report = with(&fake.client(), &rows, |options| options.attach = *attach);
            assert_eq!((report.unchanged, report.deletions_queued), (7, 0), "{often} {n}");
            assert_eq!(report.deletions_pending as usize, fake.state.lock().unwrap().deletions.len());
            if (n + 1) % often == 0 {
                fake.delete();
            }
        }
        fake.delete();
        assert_eq!((fake.scores().len(), fake.staying().len()), (7, 7), "{often}");
    }
}

/// A session whose outcome was judged so, and when.
fn decided(goal: Goal, at: i64) -> Row {
    let mut row = row(0, 0.5, at);
    let status = if goal == Goal::Undecided { JudgeStatus::Undecided } else { JudgeStatus::Ok };
    let outcome = row.outcome.as_mut().unwrap();
    (outcome.goal, outcome.status) = (goal, status);
    row
}

#[test]
fn an_outcome_that_comes_and_goes_is_never_lost() {
    for often in [1, 2, 9] {
        let fake = Fake::start();
        let verdicts = [Goal::Complete, Goal::Undecided, Goal::Complete, Goal::Undecided, Goal::Complete];
        for (n, goal) in verdicts.into_iter().enumerate() {
            let row = decided(goal, n as i64 * 100);
            assert!(with(&fake.client(), &[row], |options| options.prism = true).is_complete());
            let there = fake.staying().values().any(|score| score["name"] == "goal_complete");
            assert_eq!(there, goal == Goal::Complete, "{often} {n}");
            if (n + 1) % often == 0 {
                fake.delete();
            }
        }
        fake.delete();
        assert!(fake.scores().values().any(|score| score["name"] == "goal_complete"), "{often}");
        let report = with(&fake.client(), &[decided(Goal::Complete, 400)], |options| options.prism = true);
        assert_eq!((report.written, report.deletions_queued), (0, 0), "{often}");
        // An older verdict that knows more takes nothing back.
        let before = fake.scores();
        let report = with(&fake.client(), &[decided(Goal::Undecided, 300)], |options| options.prism = true);
        assert_eq!((report.written, report.deletions_queued), (0, 0), "{often}");
        assert_eq!(fake.scores(), before);
    }
}

#[test]
fn a_deletion_that_was_not_carried_out_is_asked_for_again_after_a_while() {
    let fake = with_trace();
    let rows = rows(1);
    pushed(&fake.client(), &rows);
    with(&fake.client(), &rows, |options| options.attach = Some(Attach::Trace));
    let later = |seconds: i64| {
        let (world, _) = crate::net::testing::world();
        world.clock.sleep(std::time::Duration::from_secs(seconds as u64));
        let report = with(&fake.client_in(world), &rows, |options| options.attach = Some(Attach::Trace));
        (report.written, report.deletions_queued, report.deletions_pending)
    };
    assert_eq!((later(60), later(4000)), ((0, 0, 7), (0, 7, 0)));
}

#[test]
fn what_cannot_be_replaced_is_not_deleted() {
    let fake = with_trace();
    let rows = rows(1);
    pushed(&fake.client(), &rows);
    fake.state.lock().unwrap().drops = Some("output_quality".into());
    let report = with(&fake.client(), &rows, |options| options.attach = Some(Attach::Trace));
    assert_eq!((report.written, report.dropped.len(), report.deletions_queued), (6, 1, 6));
    assert_eq!(report.not_removed.len(), 1);
    fake.delete();
    assert_eq!(fake.scores().len(), 7);
}

#[test]
fn outcomes_that_are_there_are_kept_up_to_date() {
    let fake = with_trace();
    let push = |row: &Row, prism, attach| {
        let row = std::slice::from_ref(row);
        let report = with(&fake.client(), row, |options| (options.prism, options.attach) = (prism, attach));
        assert!(report.is_complete());
        fake.delete();
        let scores = fake.scores();
        let of = |key: &str| scores.values().filter(|score| score[key].is_string()).count();
        (of("sessionId"), of("traceId"))
    };
    let row = decided(Goal::Complete, 0);
    assert_eq!(push(&row, false, None), (7, 0));
    let (all, _) = push(&row, true, None);
    assert!(all > 7);
    // They go where the others go, and stay what they are.
    assert_eq!(push(&row, false, None), (all, 0));
    assert_eq!(push(&row, false, Some(Attach::Trace)), (0, all));
    assert_eq!(push(&row, true, Some(Attach::Trace)), (0, all));
    assert_eq!(push(&row, false, None), (all, 0));
    // The session went on.
    let mut later = decided(Goal::Undecided, 100);
    later.session.to = Some(START);
    assert!(push(&later, false, None).0 < all);
    assert!(!fake.scores().values().any(|score| score["name"] == "goal_complete"));
    let is_stale = |score: &serde_json::Value| score["metadata"]["session_to"] != json!(START.to_string());
    assert_eq!(fake.scores().values().filter(|score| is_stale(score)).count(), 0);
}

#[test]
fn a_trace_is_found_whose_first_span_is_no_root() {
    let fake = with_trace();
    {
        let mut state = fake.state.lock().unwrap();
        (state.rootless, state.environment) = (true, "production".into());
    }
    pushed(&fake.client(), &rows(1));
    assert!(fake.scores().values().all(|score| score["environment"] == "production"));
    let report = with(&fake.client(), &rows(1), |options| options.attach = Some(Attach::Trace));
    assert_eq!((report.written, report.without_trace), (7, 0));
}
