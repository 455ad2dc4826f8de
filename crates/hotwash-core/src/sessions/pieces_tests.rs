//! Each boundary and each non-boundary, told as stories.

use super::*;
use crate::facts::testing::tell;
use crate::prices;
use crate::sessions::topic::{ByWords, Decisions};
use proptest::prelude::*;

/// Why each piece of a story begins, and with which line.
fn openings(story: &str) -> Vec<String> {
    let mut pieces = Pieces::default();
    tell(story, |event| pieces.event(event, &ByWords));
    pieces.parts().map(|part| format!("{} e{}", part.opened.name(), part.lines[0].0)).collect()
}

const EDIT: &str = "e1 user  fix the parser\n e2 Edit  src/parse.rs -a +b\n e3 ok\n";

fn after_edit(rest: &str) -> Vec<String> {
    openings(&format!("{EDIT}{rest}"))
}

const ONE: [&str; 1] = ["new transcript e1"];

#[test]
fn a_clear_ends_a_session() {
    assert_eq!(after_edit("e4 command /clear\n e5 user  next"), ["new transcript e1", "/clear e4"]);
}

#[test]
fn a_clear_at_the_beginning_is_the_reason_and_no_empty_session() {
    assert_eq!(openings("e1 command /clear\n e2 command /clear\n e3 user  go"), ["/clear e1"]);
}

#[test]
fn a_new_transcript_begins_a_session() {
    assert_eq!(openings("e1 user  go"), ONE);
}

#[test]
fn a_fork_begins_with_its_first_own_event() {
    let mut pieces = Pieces::forked();
    tell("e9 user  go on", |event| pieces.event(event, &ByWords));
    assert_eq!(pieces.parts().next().unwrap().piece().opened, Opening::Fork);
}

#[test]
fn a_commit_takes_effect_at_the_end_of_its_turn() {
    let story = "e4 Bash  git commit -am done\n e5 ok\n e6 Bash  ls\n e7 ok\n e8 says  committed\n e9 user  next";
    assert_eq!(after_edit(story), ["new transcript e1", "commit e9"]);
}

#[test]
fn several_commits_in_one_turn_are_one_cut() {
    let story = "e4 Bash  git commit -am a\n e5 ok\n e6 Edit  src/b.rs -a +b\n e7 ok\n
                 e8 Bash  git commit -am b\n e9 ok\n e10 user  next\n e11 user  on";
    assert_eq!(after_edit(story), ["new transcript e1", "commit e10"]);
}

#[test]
fn a_commit_of_other_files_ends_nothing() {
    let add = |path: &str| format!("e4 Bash  git add {path} && git commit -m x\n e5 ok\n e6 user  next");
    for (path, cut) in [
        ("src/parse.rs", true),
        ("./src/parse.rs", true),
        ("src", true),
        ("src/", true),
        ("parse.rs", true),
        ("/work/src/parse.rs", true),
        ("docs", false),
        ("src/parse.r", false),
        ("arse.rs", false),
    ] {
        assert_eq!(after_edit(&add(path)).len(), if cut { 2 } else { 1 }, "{path}");
    }
}

#[test]
fn a_commit_without_names_counts_after_an_edit_only() {
    let commit = "e4 Bash  git commit -m x\n e5 ok\n e6 user  next";
    assert_eq!(after_edit(commit).len(), 2);
    assert_eq!(openings(&format!("e1 user  go\n{commit}")).len(), 1);
}

#[test]
fn a_commit_that_failed_ends_nothing() {
    assert_eq!(after_edit("e4 Bash  git commit -m x\n e5 error hook\n e6 user  next"), ONE);
}

#[test]
fn a_commit_at_the_end_opens_nothing_until_somebody_prompts() {
    assert_eq!(after_edit("e4 Bash  git commit -am x\n e5 ok\n e6 says  done"), ONE);
}

#[test]
fn a_plan_approval_opens_a_turn() {
    let story = "e4 Bash  git commit -am x\n e5 ok\n e6 plan  the plan";
    assert_eq!(after_edit(story), ["new transcript e1", "commit e6"]);
}

#[test]
fn a_prompt_while_a_call_is_open_steers_and_never_cuts() {
    let commit = "e4 Bash  git commit -am x\n e5 ok\n";
    assert_eq!(after_edit(&format!("{commit}e6 queued  also the docs")), ONE);
    assert_eq!(after_edit(&format!("{commit}e6 Bash  sleep 9\n e7 user  hurry\n e8 ok")), ONE);
    // An interrupted call is over.
    let story = format!("{commit}e6 Bash  sleep 9\n e7 interrupt\n e8 user  hurry");
    assert_eq!(after_edit(&story), ["new transcript e1", "commit e8"]);
}

#[test]
fn idle_time_ends_nothing() {
    assert_eq!(openings("e1 user  go @0\n e2 says  done @10\n e3 user  go on @900000"), ONE);
}

#[test]
fn a_compaction_ends_nothing() {
    assert_eq!(after_edit("e4 compact\n e5 user  go on"), ONE);
    assert_eq!(after_edit("e4 command /compact\n e5 user  go on"), ONE);
}

#[test]
fn a_resumed_transcript_goes_on() {
    assert_eq!(after_edit("e4 command /resume\n e5 user  go on @800000"), ONE);
}

const LOGIN: &str = "e1 user  Please let the login form validate e-mail addresses before submitting anything
    e2 Edit  web/login.tsx -a +b
    e3 ok
    e4 says  Addresses are validated.
    ";
const INVOICES: &str = "Write a migration dropping legacy invoices from our billing database schema";

fn after_login(rest: &str) -> Vec<String> {
    openings(&format!("{LOGIN}{rest}"))
}

#[test]
fn another_topic_in_other_files_ends_a_session() {
    let both = format!("e5 user  {INVOICES}\n e6 Read  db/a.sql\n e7 ok\n e8 Read  db/b.sql\n e9 ok");
    assert_eq!(after_login(&both), ["new transcript e1", "other topic e5"]);
    let one = format!("e5 user  {INVOICES}\n e6 Read  db/a.sql\n e7 ok\n e8 user  thanks");
    assert_eq!(after_login(&one), ["new transcript e1", "other topic e5"]);
}

#[test]
fn other_words_about_the_same_files_are_the_same_topic() {
    for file in ["web/login.tsx", "web/other.tsx"] {
        let story = format!("e5 user  {INVOICES}\n e6 Read  {file}\n e7 ok\n e8 Read  db/b.sql\n e9 ok\n e10 user  on");
        assert_eq!(after_login(&story), ONE, "{file}");
    }
}

#[test]
fn other_words_that_touch_nothing_are_the_same_topic() {
    assert_eq!(after_login(&format!("e5 user  {INVOICES}\n e6 says  No.\n e7 user  {INVOICES}")), ONE);
}

#[test]
fn a_topic_once_decided_stays_decided() {
    let story = format!(
        "e5 user  {INVOICES}\n e6 Read  db/a.sql\n e7 ok\n e8 Read  db/b.sql\n e9 ok\n e10 Read  web/login.tsx\n e11 ok"
    );
    assert_eq!(after_login(&story), ["new transcript e1", "other topic e5"]);
}

/// Why each piece of a story begins, with which line, where this was decided of prompts before.
fn decided(story: &str, decisions: &[(u64, Known)]) -> Vec<String> {
    let decisions: Decisions = decisions.iter().map(|(key, known)| (Key(*key), *known)).collect();
    let mut pieces = Pieces::default();
    tell(story, |event| pieces.event(event, &decisions));
    pieces.parts().map(|part| format!("{} e{}", part.opened.name(), part.lines[0].0)).collect()
}

const OTHER: Known = Known::Other { sure: 900 };

#[test]
fn what_was_decided_before_decides_at_once() {
    let story = format!("{LOGIN}e5 user  now this\n e6 says  Done.\n e7 user  now that\n e8 says  Done.");
    assert_eq!(decided(&story, &[]), ONE);
    assert_eq!(decided(&story, &[(7, OTHER)]), ["new transcript e1", "other topic e7"]);
    let both = ["new transcript e1", "other topic e5", "other topic e7"];
    assert_eq!(decided(&story, &[(5, OTHER), (7, OTHER)]), both);
    // Of a prompt that is not there, or with which everything begins, nothing can be decided.
    assert_eq!(decided(&story, &[(1, OTHER), (4, OTHER), (99, OTHER)]), ONE);
}

#[test]
fn words_do_not_cut_what_was_held_together_and_decide_the_rest() {
    let again = format!("e10 user  {INVOICES}\n e11 Read  web/x.sql\n e12 ok");
    let story = format!("{LOGIN}e5 user  {INVOICES}\n e6 Read  db/a.sql\n e7 ok\n e8 Read  db/b.sql\n e9 ok\n{again}");
    let cut = ["new transcript e1", "other topic e5"];
    assert_eq!(decided(&story, &[]), cut);
    assert_eq!(decided(&story, &[(5, Known::Nothing), (10, Known::Same)]), cut);
    assert_eq!(decided(&story, &[(5, Known::Same)]), ONE);
}

#[test]
fn a_topic_is_the_reason_where_a_commit_is_one_too() {
    let story = "e4 Bash  git commit -am done\n e5 ok\n e6 user  next";
    let story = format!("{EDIT}{story}");
    assert_eq!(decided(&story, &[(6, Known::Same)]), ["new transcript e1", "commit e6"]);
    assert_eq!(decided(&story, &[(6, OTHER)]), ["new transcript e1", "other topic e6"]);
    assert!(!Opening::Judged { sure: 900 }.may_rejoin());
}

#[test]
fn what_was_decided_cuts_no_turn_that_is_steered() {
    for story in ["e4 queued  also the docs", "e4 Bash  sleep 9\n e5 user  hurry up"] {
        assert_eq!(decided(&format!("{EDIT}{story}"), &[(4, OTHER), (5, OTHER)]), ONE);
    }
}

#[test]
fn a_piece_knows_where_and_when_it_was() {
    let mut pieces = Pieces::default();
    let story = format!(
        "{EDIT}e4 command /clear @50\n e7 user  next @60\n e8 Read  b.rs\n e9 ok @70\n e10 Edit c.rs\n e11 error no"
    );
    tell(&story, |event| pieces.event(event, &ByWords));
    let piece = pieces.parts().next_back().unwrap().piece();
    assert_eq!((piece.first, piece.starts, piece.ends), (Key(7), Some(Timestamp(60_000)), Some(Timestamp(70_000))));
    assert_eq!(piece.lines, [(4, 4), (7, 11)]);
    assert_eq!(piece.touched, [text_hash("/work/b.rs")], "what failed was not touched");
    let facts = pieces.ledger().finish(prices::shipped());
    assert_eq!((facts.prompts.turns, facts.edits.edit_calls_ok.count()), (1, 0));
}

/// Stories of random lines.
fn stories() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("user  fix the parser"),
        Just("user  Write a migration dropping legacy invoices from our billing database schema"),
        Just("user  Please let the login form validate e-mail addresses before submitting anything"),
        Just("queued  and the docs"),
        Just("command /clear"),
        Just("command /compact"),
        Just("interrupt"),
        Just("compact"),
        Just("says  done"),
        Just("Read  src/a.rs\nok"),
        Just("Read  db/b.sql\nok"),
        Just("Edit  web/c.rs -a +b\nok"),
        Just("Bash  git commit -am x\nok"),
        Just("Bash  sleep 9"),
    ];
    proptest::collection::vec(line, 1..40).prop_map(|parts| {
        let lines = parts.iter().flat_map(|part| part.split('\n'));
        // A call without a result takes the next one; that is no less a story.
        let numbered = lines.zip(1..).map(|(line, number)| format!("e{number} {line} @{}", number * 10));
        numbered.collect::<Vec<_>>().join("\n")
    })
}

/// Anything that may have been decided of prompts.
fn decisions() -> impl Strategy<Value = Decisions> {
    let known = prop_oneof![Just(Known::Nothing), Just(Known::Same), Just(OTHER)];
    proptest::collection::vec(known, 0..60)
        .prop_map(|all| all.into_iter().zip(1..).map(|(known, key)| (Key(key), known)).collect())
}

proptest! {
    #[test]
    fn cutting_loses_no_event_and_repeats_none(story in stories(), decisions in decisions()) {
        let mut pieces = Pieces::default();
        let mut told = Vec::new();
        tell(&story, |event| {
            told.push(event.origin.id.0);
            pieces.event(event, &decisions);
        });
        let lines = pieces.parts().flat_map(|part| part.lines.clone()).flat_map(|(from, to)| from..=to);
        prop_assert_eq!(lines.collect::<Vec<_>>(), told);
        let mut whole = Pieces::whole();
        tell(&story, |event| whole.event(event, &ByWords));
        let facts = |ledger: &Ledger| ledger.finish(prices::shipped());
        let turns: u64 = pieces.parts().map(|part| facts(&part.ledger).prompts.turns).sum();
        prop_assert_eq!(turns, facts(whole.ledger()).prompts.turns);
        let calls: u64 = pieces.parts().map(|part| facts(&part.ledger).tools.tool_calls).sum();
        prop_assert_eq!(calls, facts(whole.ledger()).tools.tool_calls);
    }

    #[test]
    fn what_was_cut_stays_cut_as_a_transcript_grows(story in stories(), at in 0usize..40, decisions in decisions()) {
        let cuts = |lines: &[&str]| openings_of(&lines.join("\n"), &decisions);
        let lines: Vec<&str> = story.lines().collect();
        let (early, late) = (cuts(&lines[..=at.min(lines.len() - 1)]), cuts(&lines));
        prop_assert_eq!(&late[..early.len()], &early[..]);
    }
}

fn openings_of(story: &str, decisions: &Decisions) -> Vec<(Opening, u32)> {
    let mut pieces = Pieces::default();
    tell(story, |event| pieces.event(event, decisions));
    let lived = pieces.parts().filter(|part| part.has_lived());
    lived.map(|part| (part.opened, part.lines.first().map_or(0, |lines| lines.0))).collect()
}
