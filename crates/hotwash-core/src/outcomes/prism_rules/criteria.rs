use super::{Goal, JudgeStatus, Lack, edit, facts_of, goal, green, lack, outcome, red};
use crate::outcomes::{Evidence, offline};

fn decided(story: &str) -> bool {
    let outcome = outcome(story);
    assert_eq!(outcome.status == JudgeStatus::Ok, outcome.goal != Goal::Undecided);
    if outcome.goal == Goal::Complete {
        assert_eq!(outcome.evidence, Evidence::Explicit, "offline, silence decides nothing");
        assert!(!outcome.reasons.is_empty() && outcome.confidence.is_some());
    }
    outcome.goal == Goal::Complete
}

#[test]
fn question_is_complete_when_the_answer_was_accepted_without_asking_on() {
    let asked = "e1 user  how does the parser work?\n e2 says  Like so.\n";
    assert!(decided(&format!("{asked} e3 user  got it, thanks")));
    assert!(!decided(asked));
    assert!(!decided(&format!("{asked} e3 user  thanks, and how does the lexer work?\n e4 says  Like so.")));
    assert!(!decided(&format!("{asked} e3 user  got it\n e4 user  what about tabs?\n e5 says  Them too.")));
}

#[test]
fn investigation_is_complete_when_its_conclusion_was_accepted() {
    let asked =
        "e1 user  investigate why the queue grows\n e2 Read  q.rs\n e3 ok\n e4 says  The root cause is a leak.\n";
    assert!(decided(&format!("{asked} e5 user  great, that explains it")));
    assert!(!decided(asked));
}

#[test]
fn review_is_complete_when_its_verdict_was_accepted_or_acted_on() {
    let asked = "e1 user  review my branch\n e2 Read  q.rs\n e3 ok\n e4 says  Two things should change.\n";
    assert!(decided(&format!("{asked} e5 user  thanks")));
    assert!(decided(&format!("{asked} e5 user  sounds good, go ahead")));
    assert!(!decided(asked));
}

#[test]
fn plan_is_complete_when_it_was_accepted_in_the_session() {
    let asked = "e1 user  make a plan for the migration\n e2 says  First this, then that.\n";
    for word in ["let's build it", "leg los", "vas-y", "adelante", "vá em frente", "开始吧", "進めてください"]
    {
        assert!(decided(&format!("{asked} e3 user  {word}")), "{word}");
    }
    assert!(decided(
        "e1 user  make a plan for the migration\n e2 Plan  so\n e3 ok User has approved your plan.\n e4 says  On it."
    ));
    assert!(!decided(asked));
}

#[test]
fn small_change_is_complete_when_it_was_applied_and_not_taken_back() {
    let asked = format!("e1 user  rename the button\n {} e4 says  Renamed.\n", edit(2));
    assert!(decided(&format!("{asked} e5 user  perfect")));
    assert!(decided(&format!("e1 user  rename the button\n {} {} e6 user  now what is next?", edit(2), green(4))));
    assert!(!decided(&asked));
    let back = "e5 Edit  src/a.rs -new line +old line\n e6 ok\n e7 user  perfect";
    assert!(!decided(&format!("{asked} {back}")));
}

#[test]
fn bug_fix_is_complete_when_it_was_applied_and_verified() {
    let asked = format!("e1 user  fix the parser\n {}", edit(2));
    assert!(decided(&format!("{asked} e4 says  Done.\n e5 user  thanks, that works")));
    assert!(decided(&format!("{asked} {} e6 says  Done.\n e7 user  what else is open?", green(4))));
    assert!(decided(&format!("{asked} {} e6 says  Done.\n e7 user  ok", green(4))));
    assert!(!decided(&format!("{asked} {} e6 says  Shall I go on?\n e7 user  yes\n e8 says  Done.", green(4))));
    assert!(!decided(&format!("{asked} {} e6 says  All tests pass.", green(4))), "nobody went on");
    assert!(
        !decided(&format!("{asked} e4 says  It should work now.\n e5 user  what else is open?")),
        "nothing was run"
    );
}

#[test]
fn work_that_bypassed_its_checks_is_not_complete_by_a_word() {
    let start = format!("e1 user  fix the parser\n {} {} {}", edit(2), red(4), edit(6));
    let thanks = "e12 says  Done.\n e13 user  thanks, that works";
    let forced = format!("{start} e8 Bash  git commit --no-verify -m x\n e9 ok\n");
    let bypassed = outcome(&format!("{forced} {thanks}"));
    assert_eq!((bypassed.goal, bypassed.lack), (Goal::Undecided, Some(Lack::Red)));
    assert!(decided(&format!("{forced} {} {thanks}", green(10))));
    assert!(decided(&format!("{start} e8 Bash  git commit -m x\n e9 ok\n {} {thanks}", green(10))));
}

#[test]
fn feature_is_complete_when_it_was_accepted_with_tests_or_tests_later() {
    let asked = format!("e1 user  implement the cache\n {}", edit(2));
    assert!(decided(&format!("{asked} {} e6 says  Done.\n e7 user  great, thanks", green(4))));
    assert!(decided(&format!("{asked} e4 says  Done.\n e5 user  looks good, tests later")));
    assert!(decided(&format!("{asked} {} e6 says  Done.\n e7 user  what else is open?", green(4))));
    let untested = format!("{asked} e4 says  Done.\n e5 user  great, thanks");
    assert!(!decided(&untested));
    assert_eq!(lack(&untested), Some(Lack::NoTest));
}

#[test]
fn refactor_is_complete_when_a_run_shows_that_behaviour_was_kept() {
    let asked = format!("e1 user  refactor the store\n {}", edit(2));
    assert!(decided(&format!("{asked} {} e6 says  Done.\n e7 user  looks good", green(4))));
    let linted = "e4 Bash  cargo clippy\n e5 ok    Finished dev profile";
    assert!(decided(&format!("{asked} {linted}\n e6 says  Done.\n e7 user  what else is open?")));
    assert!(!decided(&format!("{asked} e4 says  Done.\n e5 user  looks good")));
}

#[test]
fn acceptance_in_seven_languages() {
    for word in ["thanks", "Danke, passt", "merci, parfait", "gracias", "obrigado", "谢谢", "ありがとう"] {
        assert!(decided(&format!("e1 user  fix the parser\n {} e4 says  Done.\n e5 user  {word}", edit(2))), "{word}");
    }
}

#[test]
fn a_commit_that_was_asked_for_accepts_the_work() {
    for word in [
        "commit this",
        "commit",
        "bitte committen",
        "fais un commit",
        "haz un commit",
        "faça o commit",
        "提交代码",
        "コミットして",
    ] {
        assert!(decided(&format!("e1 user  fix the parser\n {} e4 says  Done.\n e5 user  {word}", edit(2))), "{word}");
    }
}

#[test]
fn acceptance_before_the_last_change_or_against_a_red_run_decides_nothing() {
    let early =
        format!("e1 user  fix the parser\n {} e4 user  great, now fix the lexer\n {} e7 says  Done.", edit(2), edit(5));
    assert_eq!(goal(&early), Goal::Undecided);
    let red = format!("e1 user  fix the parser\n {} {} e6 user  great", edit(2), super::red(4));
    assert_eq!((goal(&red), lack(&red)), (Goal::Undecided, Some(Lack::Red)));
}

#[test]
fn the_prompt_after_the_session_is_the_last_word_on_it() {
    let mut facts = facts_of(&format!("e1 user  fix the parser\n {} {} e6 says  Done.", edit(2), green(4)));
    assert_eq!(offline(&facts).goal, Goal::Undecided);
    for (next, expected) in [
        ("e1 user  thanks! now implement the cache", Goal::Complete),
        ("e1 user  implement the cache", Goal::Complete),
        ("e1 user  the parser still fails", Goal::Failed),
    ] {
        facts.signals.followed_by = facts_of(next).signals.opening_reaction;
        assert_eq!(offline(&facts).goal, expected, "{next}");
    }
}

#[test]
fn undecided_carries_a_probability_that_a_green_run_raises_and_a_red_one_lowers() {
    let asked = format!("e1 user  fix the parser\n {}", edit(2));
    let probability = |run: &str| outcome(&format!("{asked} {run} e9 says  I changed it.")).probability.unwrap();
    let (green, none) = (probability(&green(4)), probability(""));
    let red = outcome(&format!("{asked} {} e9 says  It is fixed.", super::red(4))).probability.unwrap();
    assert!(green > none && none > red, "{green} {none} {red}");
}
