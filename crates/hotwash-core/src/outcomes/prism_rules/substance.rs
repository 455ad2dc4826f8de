use super::{Facts, JudgeStatus, facts_of, outcome};
use crate::outcomes::Substance;
use crate::outcomes::prism::{Prism, PrismInput};

fn substance(change: impl FnOnce(&mut Facts)) -> bool {
    let mut facts = Facts::default();
    change(&mut facts);
    Substance::of(&facts).passes()
}

#[test]
fn three_turns_are_substance_and_two_are_not() {
    assert!(!substance(|facts| facts.prompts.turns = 2));
    assert!(substance(|facts| facts.prompts.turns = 3));
}

#[test]
fn ten_net_lines_are_substance_and_nine_are_not() {
    let lines =
        |added, removed| substance(|facts| (facts.edits.lines_added, facts.edits.lines_removed) = (added, removed));
    assert!(!lines(9, 0) && !lines(29, 20) && !lines(0, 100));
    assert!(lines(10, 0) && lines(30, 20));
}

#[test]
fn one_mutating_call_is_substance_and_none_is_not() {
    let passes = |story| Substance::of(&facts_of(story)).passes();
    assert!(passes("e1 user  fix it\n e2 Edit  a.rs -a +b\n e3 ok"));
    assert!(passes("e1 user  fix it\n e2 Bash  sed -i s/a/b/ a.rs\n e3 ok"));
    assert!(passes("e1 user  save it\n e2 Bash  git commit -m x\n e3 ok"));
    assert!(!passes("e1 user  fix it\n e2 Edit  a.rs -a +b\n e3 error String to replace not found"));
    assert!(!passes("e1 user  look\n e2 Bash  cat a.rs\n e3 ok\n e4 Read  b.rs\n e5 ok"));
}

#[test]
fn what_has_no_substance_is_on_neither_side() {
    let chat = outcome("e1 user  what is a monad?\n e2 says  A burrito.\n e3 user  thanks");
    assert_eq!(chat.status, JudgeStatus::Ok);
    let prism = Prism::of([PrismInput { ruling: chat.ruling(), rework: false, provisional: false, by_model: false }]);
    assert_eq!((prism.crushed, prism.decided, prism.without_substance), (0, 0, 1));
    assert_eq!(prism.score, None);
}
