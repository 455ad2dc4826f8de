use super::{edit, facts_of, green};
use crate::outcomes::{Booleans, Letter};

fn holds(story: &str) -> Vec<&'static str> {
    let booleans = Booleans::of(&facts_of(story));
    booleans.all().into_iter().filter(|(_, held)| held.holds).map(|(name, _)| name).collect()
}

#[test]
fn all_seven_hold_in_a_model_session() {
    let story = format!(
        "e1 user  fix the crash in src/a.rs only\n e2 TodoWrite  plan\n e3 ok\n {} {} e8 says  Done.",
        edit(4),
        green(6)
    );
    assert_eq!(holds(&story).len(), 7, "{:?}", holds(&story));
    assert_eq!(Booleans::of(&facts_of(&story)).letter(), Letter::APlus);
}

#[test]
fn each_of_the_seven_can_fail_alone() {
    let model = [
        "e1 user  fix the crash in src/a.rs only\n",
        "e2 TodoWrite  plan\n e3 ok\n",
        &edit(4),
        &green(6),
        "e8 says  Done.\n",
    ];
    let with = |at: usize, line: &str| {
        let mut story = model;
        story[at] = line;
        story.concat()
    };
    let lacks = |story: &str| {
        let held = holds(story);
        let booleans = Booleans::of(&facts_of("e1 user hi"));
        booleans.all().map(|(name, _)| name).into_iter().filter(|name| !held.contains(name)).collect::<Vec<_>>()
    };
    assert_eq!(lacks(&with(0, "e1 user  hm src/a.rs only\n")), ["goal_stated"]);
    assert_eq!(lacks(&with(0, "e1 user  fix the crash\\n```\\nlog\\n```\n")), ["scope_bounded"]);
    assert_eq!(lacks(&with(0, "e1 user  only fix the crash\n")), ["context_given"]);
    assert_eq!(lacks(&with(1, "")), ["plan_before_action"]);
    assert_eq!(lacks(&with(3, "")), ["verified_before_done"]);
    assert_eq!(lacks(&with(4, "")), ["no_breakage_left", "result_communicated"]);
    assert_eq!(lacks(&with(3, &super::red(6))), ["verified_before_done", "no_breakage_left"]);
    assert_eq!(lacks(&with(4, "e8 interrupt\n")), ["result_communicated"]);
}

#[test]
fn the_letter_follows_from_how_many_hold() {
    let letters: Vec<String> = (0..=7).map(|held| Letter::of(held).to_string()).collect();
    assert_eq!(letters, ["F", "F", "F", "D", "C", "B", "A", "A+"]);
}

#[test]
fn every_answer_has_a_reason() {
    for story in ["e1 user  hi", "e1 user  fix src/a.rs\n e2 Edit  src/a.rs -a +b\n e3 ok"] {
        for (name, held) in Booleans::of(&facts_of(story)).all() {
            assert!(!held.reason.text.is_empty() && !held.reason.fact.is_empty(), "{name}");
        }
    }
}
