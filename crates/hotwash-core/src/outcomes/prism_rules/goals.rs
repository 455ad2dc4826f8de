//! What the client says of a goal that the person set.

use super::{Goal, Intent, Lack, edit, goal, intent, lack, outcome, red};

#[test]
fn a_goal_that_the_check_finds_reached_is_complete_even_where_nobody_sat_in_front() {
    let met = "e1 headless\n e2 goal the report is written\n e3 says  Done.\n e4 check met the report is written | it is there";
    let outcome = outcome(met);
    assert_eq!(outcome.goal, Goal::Complete);
    assert!(outcome.reasons[0].text.contains("it is there"), "{:?}", outcome.reasons);
    // The agent's word alone is none.
    let claimed = "e1 headless\n e2 goal the report is written\n e3 says  Done.";
    assert_ne!(goal(claimed), Goal::Complete);
}

#[test]
fn a_goal_that_the_check_denies_or_gives_up_is_failed_with_its_reason() {
    for said in ["unmet", "impossible"] {
        let story = format!(
            "e1 headless\n e2 goal upstream takes it\n e3 says  Done.\n e4 check {said} upstream takes it | no such file"
        );
        let outcome = outcome(&story);
        assert_eq!((outcome.goal, outcome.lack), (Goal::Failed, Some(Lack::Unmet)), "{said}");
        assert!(outcome.reasons[0].text.ends_with("no such file"), "{:?}", outcome.reasons);
        // Not where somebody who sat in front of it was content.
        assert_ne!(goal(&format!("{story}\n e5 user  perfect, thanks")), Goal::Failed, "{said}");
    }
}

#[test]
fn a_turn_limit_is_failed_unless_the_goal_was_reached_before() {
    let start = "e1 headless\n e2 goal it is green\n e3 says  Done.\n";
    assert_eq!(lack(&format!("{start} e4 limit")), Some(Lack::BrokeOff));
    assert_eq!(goal(&format!("{start} e4 check met it is green | yes\n e5 limit")), Goal::Complete);
    assert_eq!(goal(&format!("{start} e4 limit\n e5 user  go on\n e6 says  Hm.")), Goal::Undecided);
}

#[test]
fn a_red_run_counts_for_more_than_the_check() {
    let start = format!("e1 goal all tests pass\n {} {}", edit(2), red(4));
    assert_eq!(
        goal(&format!("{start} e6 says  Done.\n e7 check met all tests pass | the agent says so")),
        Goal::Undecided
    );
}

#[test]
fn what_is_asked_for_after_the_check_is_still_open() {
    let met =
        format!("e1 goal the cache is there\n {} e4 says  Done.\n e5 check met the cache is there | yes", edit(2));
    assert_eq!(goal(&met), Goal::Complete);
    assert_eq!(goal(&format!("{met}\n e6 user  now implement the log\n {} e9 says  Done.", edit(7))), Goal::Undecided);
}

#[test]
fn a_goal_that_was_set_is_an_intent() {
    assert_eq!(intent("e1 goal upstream takes it\n e2 says  Done."), Intent::SmallChange);
    assert_eq!(intent("e1 goal fix the crash in the parser\n e2 says  Done."), Intent::BugFix);
}
