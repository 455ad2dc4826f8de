use super::{Goal, Lack, edit, facts_of, goal, green, lack, outcome, red};
use crate::sessions::EventId;

#[test]
fn unresolved_error_failing_test_with_no_fix_after_it() {
    let story = format!("e1 user  implement the cache\n {} {} e6 says  The cache is there.", edit(2), red(4));
    assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::Error)));
    let facts = facts_of(&story);
    assert_eq!(facts.signals.unresolved_error_signals.0, [EventId(4)]);
}

#[test]
fn unresolved_error_is_resolved_by_a_later_success_of_its_kind_or_a_further_fix() {
    let start = format!("e1 user  implement the cache\n {} {}", edit(2), red(4));
    for after in [green(6), edit(6)] {
        assert!(facts_of(&format!("{start} {after}")).signals.unresolved_error_signals.is_empty(), "{after}");
    }
    let other = format!("{start} e6 Bash  cargo build\n e7 ok");
    assert!(!facts_of(&other).signals.unresolved_error_signals.is_empty(), "a build is no test");
}

#[test]
fn unresolved_error_stack_trace_of_the_last_command() {
    let start = format!("e1 user  implement the cache\n {}", edit(2));
    let trace =
        "e4 Bash  python main.py\n e5 error Traceback (most recent call last): boom\n e6 says  The cache is there.";
    assert_eq!(lack(&format!("{start} {trace}")), Some(Lack::Error));
}

#[test]
fn unresolved_error_that_a_person_reported_and_nobody_worked_on() {
    let start = format!("e1 user  implement the cache\n {} e4 says  There.\n", edit(2));
    let report = "e5 user  I get this\\nError: cache is full\n e6 says  Interesting.";
    assert_eq!(lack(&format!("{start} {report}")), Some(Lack::Error));
    assert_ne!(goal(&format!("{start} {report}\n {} e9 says  Mended.", edit(7))), Goal::Failed);
}

#[test]
fn unresolved_error_is_none_where_it_was_expected_or_not_the_works_fault() {
    let start = format!("e1 user  implement the cache\n {} {}", edit(2), red(4));
    for says in [
        "The two failures are pre-existing.",
        "Both failures are unrelated to this change.",
        "The new test fails as expected.",
        "Die Fehler waren schon vorher da, das hat nichts damit zu tun.",
        "失败与这次改动无关。",
    ] {
        assert_eq!(goal(&format!("{start} e6 says  {says}")), Goal::Undecided, "{says}");
    }
    // Red before the first change, red after it: nobody knows whose fault that is.
    let before = format!("e1 user  implement the cache\n {} {} {} e8 says  It is there.", red(2), edit(4), red(6));
    assert_eq!(goal(&before), Goal::Undecided);
    // An agent that says that it is not done is believed.
    let admits =
        format!("e1 user  implement the cache\n {} {} {} e8 says  One test still fails.", red(2), edit(4), red(6));
    assert_eq!(goal(&admits), Goal::Failed);
}

#[test]
fn a_search_that_finds_nothing_and_a_runner_in_a_path_are_no_failures() {
    let start = format!("e1 user  implement the cache\n {}", edit(2));
    for call in [
        "e4 Bash  grep -r cache docs\n e5 error Exit code 1",
        "e4 Bash  ls jest/\n e5 ok FAILED.txt",
        "e4 Bash  cat <<EOF > notes.txt\n e5 ok 3 failed",
    ] {
        let facts = facts_of(&format!("{start} {call}"));
        assert!(facts.signals.unresolved_error_signals.is_empty(), "{call}");
    }
}

#[test]
fn user_frustration_in_seven_languages() {
    for words in
        ["ugh", "never mind", "vergiss es", "laisse tomber", "olvídalo", "deixa pra lá", "算了", "もういいです"]
    {
        let story = format!("e1 user  implement the cache\n {} e4 says  There.\n e5 user  {words}", edit(2));
        assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::Complaint)), "{words}");
    }
}

#[test]
fn user_frustration_that_it_does_not_work_in_seven_languages() {
    for words in [
        "still broken",
        "this isn't working",
        "geht immer noch nicht",
        "ça ne marche toujours pas",
        "sigue sin funcionar",
        "ainda não funciona",
        "还是不行",
        "まだ動かないです",
    ] {
        let story = format!("e1 user  implement the cache\n {} e4 says  There.\n e5 user  {words}", edit(2));
        assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::Complaint)), "{words}");
    }
}

#[test]
fn scope_abandoned_in_seven_languages() {
    for words in [
        "let's try something else",
        "I'll come back to this",
        "skip it",
        "lassen wir das",
        "on verra plus tard",
        "probemos otra cosa",
        "vamos tentar outra coisa",
        "先跳过吧",
        "後でやる",
    ] {
        let story = format!("e1 user  implement the cache\n {} e4 says  There.\n e5 user  {words}", edit(2));
        assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::GivenUp)), "{words}");
    }
}

#[test]
fn iteration_loop_is_three_tries_at_the_same_fix() {
    let tries = |n: u32| -> String { (0..n).map(|at| edit(10 * at + 2) + &red(10 * at + 4)).collect() };
    let start = "e1 user  fix the parser\n";
    assert!(facts_of(&format!("{start} {}", tries(2))).signals.iteration_loop.is_empty());
    let story = format!("{start} {} e40 says  Hm.", tries(3));
    assert_eq!(facts_of(&story).signals.iteration_loop.0, [EventId(4), EventId(14), EventId(24)]);
    let outcome = outcome(&story);
    assert_eq!(outcome.goal, Goal::Failed);
    assert!(outcome.reasons.iter().any(|reason| reason.fact == "iteration_loop"));
    // Resolved, or not the same file: no loop.
    assert!(facts_of(&format!("{start} {} {}", tries(3), green(40))).signals.iteration_loop.is_empty());
    let others: String =
        (0..3).map(|at| (edit(10 * at + 2) + &red(10 * at + 4)).replace("a.rs", &format!("{at}.rs"))).collect();
    assert!(facts_of(&format!("{start} {others}")).signals.iteration_loop.is_empty());
}

#[test]
fn signals_count_in_the_last_three_turns_only() {
    let turns =
        |later: &str| format!("e1 user  implement the cache\n {} e4 user  ugh\n e7 says  There.\n {later}", edit(2));
    assert_eq!(goal(&turns("e8 user  one\n e9 user  two")), Goal::Failed);
    assert_ne!(goal(&turns("e8 user  one\n e9 user  two\n e10 user  three")), Goal::Failed);
}

#[test]
fn the_first_prompt_of_a_session_is_its_task_and_no_signal() {
    for words in
        ["the login still fails, please research", "ugh, the build is still broken", "never mind the tests, fix it"]
    {
        let facts = facts_of(&format!("e1 user  {words}\n {} e4 says  Done.", edit(2)));
        assert!(facts.signals.failure_signals.is_empty(), "{words}");
        assert_eq!(facts.signals.opening_reaction.as_deref(), Some("complaint"), "{words}");
    }
}

#[test]
fn a_report_before_anything_was_done_is_a_task_too() {
    let facts = facts_of("e1 user  start the server\n e2 says  Started.\n e3 user  scrolling still does not work");
    assert!(facts.signals.failure_signals.is_empty());
}

#[test]
fn a_complaint_is_resolved_by_acceptance_a_green_run_or_a_hand_over() {
    let start = format!("e1 user  implement the cache\n {} e4 user  still broken\n e5 says  Hm.\n", edit(2));
    assert_eq!(facts_of(&start).signals.failure_signals.count(), 1);
    let handed_over = "e7 Bash  git push\n e8 ok".to_owned();
    for after in [green(7), handed_over, "e7 user  thanks, that works".to_owned()] {
        assert!(facts_of(&format!("{start} {after}")).signals.failure_signals.is_empty(), "{after}");
    }
}

#[test]
fn a_complaint_that_a_change_answers_proves_nothing() {
    let start = format!("e1 user  implement the cache\n {} e4 user  still broken\n", edit(2));
    assert_eq!(goal(&format!("{start} e5 Read  a.rs\n e6 ok\n e7 says  I see.")), Goal::Failed);
    let answered = format!("{start} {} e7 says  I changed it.\n", edit(5));
    assert_eq!(goal(&answered), Goal::Undecided);
    // A next complaint is one of its own.
    assert_eq!(goal(&format!("{answered} e8 user  it still crashes, still broken\n e9 says  Hm.")), Goal::Failed);
    assert_ne!(
        goal(&format!("{answered} e8 user  now add a page for it\n {} e11 says  There.", edit(9))),
        Goal::Failed
    );
}

#[test]
fn a_red_run_is_no_proof_once_the_work_was_handed_over() {
    let start = format!("e1 user  implement the cache\n {} {}", edit(2), red(4));
    let end = "e8 says  The cache is there.";
    for call in ["git commit -m cache", "git push", "gh release create v1", "npm publish"] {
        assert_eq!(goal(&format!("{start} e6 Bash  {call}\n e7 ok\n {end}")), Goal::Undecided, "{call}");
        assert_eq!(goal(&format!("{start} e6 Bash  {call}\n e7 error rejected\n {end}")), Goal::Failed, "{call}");
    }
    assert_eq!(goal(&format!("{start} e6 Bash  git commit --no-verify -m cache\n e7 ok\n {end}")), Goal::Failed);
}

#[test]
fn a_red_run_that_is_older_than_the_session_is_no_proof() {
    let start = format!("e1 user  implement the cache\n {} {}", edit(2), red(4));
    let run = |command: &str| {
        let result = "error test result: FAILED. 1 passed; 2 failed";
        goal(&format!("{start} e6 Bash  {command}\n e7 {result}\n e8 says  The cache is there."))
    };
    assert_eq!(run("git stash && cargo test; git stash pop"), Goal::Undecided);
    assert_eq!(run("git checkout main && cargo test; git checkout -"), Goal::Undecided);
    assert_eq!(run("git stash list; cargo test"), Goal::Failed);
}

#[test]
fn a_correction_is_answered_by_a_further_change() {
    let start = format!("e1 user  implement the cache\n {} e4 user  that's wrong, it must be smaller\n", edit(2));
    assert_eq!(facts_of(&start).signals.frustration_signals.count(), 1);
    assert!(facts_of(&format!("{start} {}", edit(5))).signals.frustration_signals.is_empty());
}

#[test]
fn quoted_words_and_pasted_logs_are_nobodys_complaint() {
    for paste in ["> still broken", "```\\nstill broken\\n```", "2026-01-01T10:00:00 never mind", "[10:00:00] ugh"] {
        let story = format!("e1 user  implement the cache\n {} e4 user  see\\n{paste}", edit(2));
        assert!(facts_of(&story).signals.failure_signals.is_empty(), "{paste}");
    }
}
