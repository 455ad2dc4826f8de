use super::{Goal, JudgeStatus, Lack, edit, goal, green, lack, outcome, red};

#[test]
fn ended_on_an_api_error_or_a_limit_is_failed() {
    let story = format!("e1 user  implement the cache\n {} e4 overloaded", edit(2));
    assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::BrokeOff)));
    assert_ne!(goal(&format!("{story}\n e5 user  go on\n {} e8 says  There.", edit(6))), Goal::Failed);
}

#[test]
fn ended_on_a_pending_call_is_failed() {
    for call in ["Read  b.rs", "Edit  src/a.rs -a +b", "Bash  git status"] {
        let story = format!("e1 user  implement the cache\n {} e4 {call}", edit(2));
        assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::BrokeOff)), "{call}");
    }
}

#[test]
fn ended_on_a_pending_subagent_or_a_long_run_is_not() {
    for call in ["Task  look for it", "Bash  cargo build", "Bash  python train.py", "Bash  npm run dev", "Tool  browse"]
    {
        let story = format!("e1 user  implement the cache\n {} e4 {call}", edit(2));
        assert_eq!(goal(&story), Goal::Undecided, "{call}");
        let beside = format!("{story}\n e5 &Read b.rs");
        assert_eq!(goal(&beside), Goal::Failed, "{call} beside a read");
    }
}

#[test]
fn what_breaks_off_after_the_work_was_handed_over_is_something_else() {
    let start = format!("e1 user  implement the cache\n {}", edit(2));
    for end in ["e6 overloaded", "e6 Read  b.rs", "e6 Bash  git log\n e7 ok"] {
        let handed_over = format!("{start} e4 Bash  git commit -m cache && git push\n e5 ok\n {end}");
        assert_eq!(goal(&handed_over), Goal::Undecided, "{end}");
        // Not what somebody asked for afterwards.
        let asked_on = format!("{start} e4 Bash  git push\n e5 ok\n e6 user  implement the log\n e7 overloaded");
        assert_eq!(goal(&asked_on), Goal::Failed, "{end}");
        let forced = format!("{start} e4 Bash  git commit --no-verify -m cache\n e5 ok\n {end}");
        assert_eq!(goal(&forced), Goal::Failed, "{end}");
    }
}

#[test]
fn nothing_changed_is_no_failure_where_an_answer_was_wanted() {
    let run = |asks: &str, says: &str| {
        goal(&format!("e1 headless\n e2 user  {asks}\n e3 Read  a.rs\n e4 ok\n e5 says  {says}"))
    };
    assert_eq!(run("Fix the summary of these notes. Reply with one sentence.", "They met."), Goal::Undecided);
    assert_eq!(run("Create a title for this session.", r#"{"title": "Mend the parser"}"#), Goal::Undecided);
    assert_eq!(run("Create a title for this session.", "```json [{\"title\": \"x\"}] ```"), Goal::Undecided);
    // A change was asked for, and prose came.
    assert_eq!(run("Fix the parser.", "The parser reads tokens."), Goal::Failed);
}

#[test]
fn ended_on_a_pending_commit_is_not() {
    let story = format!("e1 user  implement the cache\n {} {} e6 Bash  git commit -m cache", edit(2), green(4));
    assert_eq!(goal(&story), Goal::Undecided);
}

#[test]
fn ended_on_a_result_without_a_word_is_cut_off() {
    let story = format!("e1 headless\n e2 user  implement the cache\n {}", edit(3));
    assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::BrokeOff)));
    assert_eq!(goal(&format!("{story} e5 says  There.")), Goal::Undecided);
}

#[test]
fn what_breaks_off_after_acceptance_is_something_else() {
    let story =
        format!("e1 user  fix the parser\n {} e4 says  Done.\n e5 user  great, that works\n e6 overloaded", edit(2));
    assert_eq!(goal(&story), Goal::Complete);
}

#[test]
fn nothing_changed_where_the_intent_needs_a_change_is_failed() {
    for ask in ["fix the parser", "implement dark mode", "refactor the store", "rename the button"] {
        let story = format!("e1 user  {ask}\n e2 Read  a.rs\n e3 ok\n e4 Bash  cargo test\n e5 ok\n e6 says  I see.");
        assert_eq!((goal(&story), lack(&story)), (Goal::Failed, Some(Lack::NothingChanged)), "{ask}");
    }
    for ask in ["how does it work?", "review my branch", "make a plan for it", "investigate why it is slow"] {
        assert_eq!(
            goal(&format!("e1 user  {ask}\n e2 Read  a.rs\n e3 ok\n e4 says  I see.")),
            Goal::Undecided,
            "{ask}"
        );
    }
}

#[test]
fn a_change_through_the_shell_or_a_subagent_is_a_change() {
    for call in [
        "e2 Bash  sed -i s/a/b/ a.rs\n e3 ok",
        "e2 Bash  python fix.py\n e3 ok",
        "e2 Bash  git apply fix.patch\n e3 ok",
        "e2 Bash  cargo fmt\n e3 ok",
        "e2 Task  fix it\n e3 ok",
        "e2 Tool  write it\n e3 ok",
    ] {
        assert_eq!(goal(&format!("e1 user  fix the parser\n {call}\n e4 says  Fixed.")), Goal::Undecided, "{call}");
    }
}

#[test]
fn a_question_or_an_interrupt_at_the_end_is_not_failed_by_that_alone() {
    for end in [
        "e2 says  Which of the two parsers?",
        "e2 Ask  which parser",
        "e2 Plan  do it so",
        "e2 Read  a.rs\n e3 ok\n e4 interrupt",
        "e2 Edit  a.rs -a +b\n e3 error The user doesn't want to proceed with this tool use.",
        "e2 says  It is already implemented, no changes needed.",
    ] {
        assert_eq!(goal(&format!("e1 user  fix the parser\n {end}")), Goal::Undecided, "{end}");
    }
}

#[test]
fn headless_only_failure_can_be_decided() {
    let start = "e1 headless\n e2 user  fix the parser\n";
    let checked = format!("{start} {} {} e8 says  All tests pass.", edit(3), green(5));
    let outcome = outcome(&checked);
    assert_eq!((outcome.goal, outcome.status), (Goal::Undecided, JudgeStatus::Undecided));
    let failed = format!("{start} {} {} e8 says  I was unable to fix it.", edit(3), red(5));
    assert_eq!(goal(&failed), Goal::Failed);
    // Nobody is there to be asked.
    assert_eq!(goal(&format!("{start} e3 says  Which parser do you mean?")), Goal::Failed);
}

#[test]
fn a_red_end_against_a_claim_is_left_open() {
    let story = format!("e1 headless\n e2 user  fix the parser\n {} {} e8 says  The parser is fixed.", edit(3), red(5));
    let outcome = outcome(&story);
    assert_eq!((outcome.goal, outcome.lack), (Goal::Undecided, Some(Lack::Red)));
}

#[test]
fn effort_and_claims_never_feed_the_outcome() {
    let start = format!("e1 user  fix the parser\n {}", edit(2));
    let plain = outcome(&format!("{start} e20 says  I changed it."));
    for more in [
        "e4 Read  b.rs\n e5 ok\n e6 Read  b.rs\n e7 ok\n e8 Read  b.rs\n e9 ok\n e20 says  I changed it.",
        "e4 Read  c.rs\n e5 error no such file\n e6 Read  c.rs\n e7 error no such file\n e8 Read  d.rs\n e9 ok\n e20 says  I changed it.",
        "e20 says  All tests pass, it is fixed and it works.",
    ] {
        let other = outcome(&format!("{start} {more}"));
        assert_eq!((plain.goal, plain.probability), (other.goal, other.probability), "{more}");
    }
}

#[test]
fn claimed_not_backed_is_said_with_its_events() {
    let claimed = outcome(&format!("e1 user  fix the parser\n {} e4 says  It should work now.", edit(2)));
    assert_eq!(claimed.goal, Goal::Undecided);
    let reason = &claimed.reasons[0];
    assert_eq!(reason.text, "claimed, not backed: e4 says “should work now”, and no run came after the last edit e2");
    assert_eq!(reason.events.len(), 2);
}
