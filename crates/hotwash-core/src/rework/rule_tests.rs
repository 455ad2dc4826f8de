use super::*;
use crate::facts::testing::ledger_of;
use crate::rework::Fingerprint;
use crate::rework::block::prism_rework::judge_plainly;
use proptest::prelude::*;
use std::convert::Infallible;

const DAY: i64 = 86_400;

/// A session: when its story is told, in seconds, and the story. Its id is its place in the list.
type Told = (i64, String);

fn print(at: i64, story: &str) -> Fingerprint {
    let timed: Vec<String> = story.lines().map(|line| format!("{} @{at}", line.trim())).collect();
    ledger_of(&timed.join("\n")).fingerprint()
}

fn place((number, (at, _)): (usize, &Told)) -> Placed {
    let at = Timestamp(at * 1000);
    Placed { session: SessionId(number.to_string()), from: at, to: at }
}

fn judge_with(sessions: &[Told], settings: &Settings) -> Vec<Rework> {
    let placed: Vec<Placed> = sessions.iter().enumerate().map(place).collect();
    let wanted: Vec<usize> = (0..sessions.len()).collect();
    let load = |at: usize| {
        let kept = print(sessions[at].0, &sessions[at].1).to_bytes();
        Fingerprint::from_bytes(&kept)
    };
    let judged = rework(&placed, &wanted, settings, load).unwrap();
    let untouched = |at: usize| {
        let print = load(at).unwrap();
        Rework { added: print.added().len() as u32, sampled: print.cut.is_some(), ..Rework::default() }
    };
    judged.into_iter().enumerate().map(|(at, rework)| rework.unwrap_or_else(|| untouched(at))).collect()
}

fn judge(sessions: &[Told]) -> Vec<Rework> {
    judge_with(sessions, &Settings::default())
}

/// What became of the first of these stories, told a day apart.
fn first(stories: &[&str]) -> Rework {
    let told: Vec<Told> = (0..).zip(stories).map(|(day, story)| (day * DAY, (*story).to_string())).collect();
    judge(&told).remove(0)
}

/// An edit of a file that adds and removes lines with these numbers.
fn edit(file: &str, added: &[u32], removed: &[u32]) -> String {
    let lines =
        removed.iter().map(|line| format!(" -line {line}")).chain(added.iter().map(|line| format!(" +line {line}")));
    format!("e1 Edit  {file}{}\n e2 ok", lines.collect::<String>())
}

fn numbers(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

#[test]
fn half_of_the_lines_is_rework_and_less_is_not() {
    for (added, removed, reworked) in [(100, 49, false), (100, 50, true), (100, 51, true), (7, 3, false), (6, 3, true)]
    {
        let write = edit("a.rs", &numbers(0..added), &[]);
        let rework = first(&[&write, &edit("a.rs", &[], &numbers(0..removed))]);
        assert_eq!((rework.added, rework.removed), (added, removed));
        assert_eq!(rework.reworked, reworked, "{removed} of {added}");
        assert_eq!(rework.share(), Some(f64::from(removed) / f64::from(added)));
        assert_eq!(rework.by, [Taken { session: SessionId("1".into()), lines: removed, events: vec![EventId(1)] }]);
    }
}

#[test]
fn the_half_is_a_setting() {
    let told = [(0, edit("a.rs", &numbers(0..10), &[])), (DAY, edit("a.rs", &[], &numbers(0..4)))];
    for (share, reworked) in [(0.5, false), (0.4, true), (0.1, true)] {
        let settings = Settings { share, ..Settings::default() };
        assert_eq!(judge_with(&told, &settings)[0].reworked, reworked, "{share}");
    }
}

#[test]
fn at_least_three_lines_must_be_gone() {
    for (lines, reworked) in [(1, false), (2, false), (3, true)] {
        let all = numbers(0..lines);
        assert_eq!(first(&[&edit("a.rs", &all, &[]), &edit("a.rs", &[], &all)]).reworked, reworked, "{lines}");
    }
}

#[test]
fn lines_that_say_nothing_do_not_count() {
    let rework = first(&["e1 Edit  a.rs +} +{ +line 1 +x\n e2 ok", "e1 Edit  a.rs -} -{ -x\n e2 ok"]);
    assert_eq!((rework.added, rework.removed), (1, 0));
}

#[test]
fn the_window_ends_after_fourteen_days() {
    let (write, remove) = (edit("a.rs", &numbers(0..4), &[]), edit("a.rs", &[], &numbers(0..4)));
    for (later, reworked) in [(1, true), (14 * DAY, true), (14 * DAY + 1, false), (-DAY, false), (0, false)] {
        let told = [(100 * DAY, write.clone()), (100 * DAY + later, remove.clone())];
        assert_eq!(judge(&told)[0].reworked, reworked, "{later} seconds later");
    }
}

#[test]
fn the_window_begins_when_the_session_ends() {
    // It wrote its lines on the first day and went on for twenty.
    let sessions =
        [(0, 20 * DAY, edit("a.rs", &numbers(0..4), &[])), (30 * DAY, 30 * DAY, edit("a.rs", &[], &numbers(0..4)))];
    let placed: Vec<Placed> = (0..)
        .zip(&sessions)
        .map(|(number, (from, to, _)): (usize, _)| Placed {
            session: SessionId(number.to_string()),
            from: Timestamp(from * 1000),
            to: Timestamp(to * 1000),
        })
        .collect();
    let load = |at: usize| Ok::<_, Infallible>(print(sessions[at].0, &sessions[at].2));
    assert!(
        rework(&placed, &[0], &Settings::default(), load).unwrap()[0].as_ref().is_some_and(|rework| rework.reworked)
    );
}

#[test]
fn moved_lines_are_not_removed() {
    let lines = numbers(0..4);
    let write = edit("a.rs", &lines, &[]);
    let (gone, there) = (edit("a.rs", &[], &lines), edit("b.rs", &lines, &[]));
    let both = format!("{gone}\n{}", there.replace("e1", "e3").replace("e2", "e4"));
    let created = "e1 Write c.rs +line 0 +line 1 +line 2 +line 3\n e2 created";
    for (stories, reworked) in [
        (vec![&*write, &*gone], true),
        (vec![&*write, &*both], false),
        (vec![&*write, &*gone, &*there], false),
        (vec![&*write, &*gone, created], false),
        // It stood there before, and is no trace of this.
        (vec![&*write, &*there, &*gone], true),
    ] {
        assert_eq!(first(&stories).reworked, reworked, "{stories:?}");
    }
}

#[test]
fn a_change_of_white_space_removes_nothing() {
    let write = "e1 Edit  a.rs +if ready { +go(now); +stop(then);\n e2 ok";
    let indent = "e1 Edit  a.rs -if ready { -go(now); -stop(then); +    if ready  { +go( now ); +stop(then) ;\n e2 ok";
    let rework = first(&[write, indent]);
    assert_eq!((rework.added, rework.removed, rework.reworked), (3, 0, false));
}

#[test]
fn lines_of_another_file_are_other_lines() {
    let lines = numbers(0..4);
    assert!(!first(&[&edit("a.rs", &lines, &[]), &edit("b.rs", &[], &lines)]).reworked);
}

#[test]
fn what_a_session_removes_itself_is_no_rework() {
    let lines = numbers(0..4);
    let there_and_back =
        format!("{}\n{}", edit("a.rs", &lines, &[]), edit("a.rs", &[], &lines).replace("e1", "e3").replace("e2", "e4"));
    let rework = first(&[&there_and_back, &edit("a.rs", &[], &lines)]);
    assert_eq!((rework.added, rework.share(), rework.reworked), (0, None, false));
}

#[test]
fn chains_are_followed() {
    let (lines, others) = (numbers(0..4), numbers(10..14));
    let write = edit("a.rs", &lines, &[]);
    let rewrite = edit("a.rs", &others, &lines);
    let back = edit("a.rs", &lines, &others);
    // Rewritten, and rewritten again: each is its predecessor's rework.
    let told: Vec<Told> = (0..)
        .zip([&write, &rewrite, &edit("a.rs", &numbers(20..24), &others)])
        .map(|(day, story)| (day * DAY, story.clone()))
        .collect();
    let judged = judge(&told);
    assert_eq!(judged.iter().map(|rework| rework.reworked).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(judged[0].by[0].session.0, "1");
    // What is brought back stands, and what was in between does not.
    let told: Vec<Told> = (0..).zip([&write, &rewrite, &back]).map(|(day, story)| (day * DAY, story.clone())).collect();
    let judged = judge(&told);
    assert_eq!(judged.iter().map(|rework| rework.reworked).collect::<Vec<_>>(), [false, true, false]);
    // Two that each take a part make a whole.
    let rework = first(&[&write, &edit("a.rs", &[], &[0, 1]), &edit("a.rs", &[], &[2])]);
    assert_eq!(
        rework.by.iter().map(|taken| (taken.session.0.as_str(), taken.lines)).collect::<Vec<_>>(),
        [("1", 2), ("2", 1)]
    );
    assert!(rework.reworked);
}

#[test]
fn a_deleted_file_takes_its_lines_along() {
    let write = edit("src/a.rs", &numbers(0..4), &[]);
    for (story, reworked) in [
        ("e1 Bash  rm src/a.rs\n e2 ok", true),
        ("e1 Bash  git rm -q src/a.rs\n e2 ok", true),
        ("e1 Bash  rm src/b.rs\n e2 ok", false),
        ("e1 Bash  rm src/a.rs\n e2 error no such file", false),
        ("e1 Bash  git mv src/a.rs src/b.rs\n e2 ok", false),
        ("e1 Bash  rm src/a.rs\n e2 ok\n e3 Write src/a.rs +line 0 +line 1 +line 2\n e4 created", false),
    ] {
        assert_eq!(first(&[&write, story]).reworked, reworked, "{story}");
    }
    let moved = "e1 Bash  git mv src/a.rs src/b.rs\n e2 ok";
    assert!(first(&[&write, moved, &edit("src/b.rs", &[], &numbers(0..4))]).reworked);
}

#[test]
fn the_revert_of_a_commit_is_rework() {
    let write = edit("a.rs", &numbers(0..4), &[]);
    let commit = format!("{write}\n e3 Bash  git commit -am Cache\n e4 ok [main 3f2a1b9] Add a cache");
    let again = "e1 Bash  git commit -am Cache\n e2 ok [main 5555555] Add a cache";
    let by_id = "e1 Bash  git revert --no-edit 3f2a1b9c\n e2 ok [main 77aa88b] Revert \"Add a cache\"";
    let by_name = "e1 Bash  git revert HEAD\n e2 ok [main 77aa88b] Revert \"Add a cache\"";
    let redone = "e1 Bash  git revert 77aa88b\n e2 ok [main 99cc00d] Reapply \"Add a cache\"";
    let undone_again = "e1 Bash  git revert 99cc00d\n e2 ok [main 1234567] Revert \"Reapply \"Add a cache\"\"";
    for (later, reworked) in [
        (&[by_id][..], true),
        (&[by_name], true),
        (&["e1 Bash  git revert 4f2a1b9\n e2 ok"], false),
        (&["e1 Bash  git revert 3f2a1b9\n e2 error conflict"], false),
        (&["e1 Bash  git commit -m x\n e2 ok [main 77aa88b] Revert \"Add a cache\""], true),
        // The last one of that name is meant.
        (&[again, by_name], false),
        (&[again, by_id], true),
        (&[by_id, redone], false),
        (&[by_id, redone, undone_again], true),
        (&["e1 Bash  git reset --hard HEAD~1\n e2 ok"], true),
        (&[again, "e1 Bash  git reset --hard HEAD~1\n e2 ok"], false),
        (&[again, "e1 Bash  git reset --hard HEAD~2\n e2 ok"], true),
        (&["e1 Bash  git reset --soft HEAD~1\n e2 ok"], false),
    ] {
        let mut stories = vec![commit.as_str()];
        stories.extend(later);
        let rework = first(&stories);
        assert_eq!(rework.reworked, reworked, "{later:?}");
        assert_eq!(rework.revert.as_ref().map(|revert| revert.commit), reworked.then_some(EventId(3)));
    }
    // Its own undoing is no rework.
    let own = format!("{commit}\n e5 Bash  git revert HEAD\n e6 ok [main 77aa88b] Revert \"Add a cache\"");
    assert!(!first(&[&own]).reworked);
}

#[test]
fn throwing_away_undoes_only_what_was_not_committed() {
    let write = edit("a.rs", &numbers(0..4), &[]);
    let commit = "e3 Bash  git commit -am Cache\n e4 ok";
    let discard = "e5 Bash  git checkout -- a.rs\n e6 ok";
    let committed = format!("{write}\n{commit}");
    let created = "e1 Write a.rs +line 1 +line 2 +line 3\n e2 created";
    for (stories, reworked) in [
        (vec![&*write, discard], true),
        (vec![&*write, "e1 Bash  git status\n e2 ok\n e3 Bash  git restore .\n e4 ok"], true),
        (vec![&*write, "e1 Bash  git reset --hard\n e2 ok"], true),
        (vec![&*write, "e1 Bash  git checkout -- b.rs\n e2 ok"], false),
        (vec![&*committed, discard], false),
        (vec![&*write, commit, discard], false),
        // Git does not know the file yet.
        (vec![created, "e1 Bash  git reset --hard\n e2 ok"], false),
        // It cleans up after itself.
        (vec![&*write, "e1 Edit  a.rs -line 9\n e2 ok\n e3 Bash  git checkout -- a.rs\n e4 ok"], false),
        (vec![&*write, "e1 Bash  cargo fmt\n e2 ok\n e3 Bash  git checkout -- a.rs\n e4 ok"], false),
    ] {
        assert_eq!(first(&stories).reworked, reworked, "{stories:?}");
    }
}

#[test]
fn only_those_in_whose_window_something_changed_are_affected() {
    let placed: Vec<Placed> = [0, 5, 20, 40].iter().map(|day| place((0, &(day * DAY, String::new())))).collect();
    let settings = Settings::default();
    let at = |day: i64| (Timestamp(day * DAY * 1000), Timestamp(day * DAY * 1000));
    for (changed, expected) in [
        (vec![], vec![]),
        (vec![at(0)], vec![0]),
        (vec![at(14)], vec![0, 1]),
        (vec![at(19)], vec![1]),
        (vec![at(41), at(1)], vec![0, 3]),
        (vec![(at(1).0, at(41).1)], vec![0, 1, 2, 3]),
    ] {
        assert_eq!(affected(&changed, &placed, &settings), expected, "{changed:?}");
    }
}

/// Sessions that get into each other's way: few files, few lines, now and then a commit or its undoing.
fn sessions() -> impl Strategy<Value = Vec<Told>> {
    let lines = || proptest::collection::vec(0u32..8, 0..6);
    let edits =
        (0..3, lines(), lines()).prop_map(|(file, added, removed)| edit(&format!("{file}.rs"), &added, &removed));
    let shell = prop_oneof![
        (0..3u32).prop_map(|id| format!("e3 Bash  git commit -m x\n e4 ok [main 000000{id}] Subject {id}")),
        (0..3u32)
            .prop_map(|id| format!("e3 Bash  git revert 000000{id}\n e4 ok [main 111111{id}] Revert \"Subject {id}\"")),
        (0..3u32).prop_map(|file| format!("e3 Bash  rm {file}.rs\n e4 ok")),
        (0..3u32).prop_map(|file| format!("e3 Bash  git checkout -- {file}.rs\n e4 ok")),
        Just("e3 Bash  git mv 0.rs 1.rs\n e4 ok".to_string()),
        Just("e3 Bash  git reset --hard HEAD~1\n e4 ok".to_string()),
    ];
    let story = prop_oneof![
        4 => edits.clone(),
        1 => shell.clone(),
        1 => (edits, shell).prop_map(|(edits, shell)| format!("{edits}\n{shell}")),
    ];
    proptest::collection::vec((0..40 * DAY, story), 1..14)
}

proptest! {
    #[test]
    fn the_order_of_arrival_does_not_matter(told in sessions(), seed in any::<u64>()) {
        let placed: Vec<Placed> = told.iter().enumerate().map(place).collect();
        let load = |at: usize| Ok::<_, Infallible>(print(told[at].0, &told[at].1));
        let all: Vec<usize> = (0..told.len()).collect();
        let settings = Settings::default();
        let at_once = rework(&placed, &all, &settings, load).unwrap();

        // In another order, one by one, and judging only those that are affected.
        let mut arrival = all.clone();
        arrival.sort_by_key(|at| (*at as u64).wrapping_mul(seed | 1).rotate_left(17));
        let mut results = vec![None; told.len()];
        for (count, &new) in arrival.iter().enumerate() {
            let known = &arrival[..=count];
            let here: Vec<Placed> = known.iter().map(|&at| placed[at].clone()).collect();
            let affected = affected(&[(placed[new].from, placed[new].to)], &here, &settings);
            let judged = rework(&here, &affected, &settings, |at| load(known[at])).unwrap();
            for (at, rework) in affected.into_iter().zip(judged) {
                results[known[at]] = rework;
            }
        }
        prop_assert_eq!(results, at_once);
    }

    #[test]
    fn lines_that_are_not_looked_at_were_not_in_danger(told in sessions(), targets in 0usize..14) {
        let block = || {
            let mut sessions: Vec<(i64, Fingerprint)> = told.iter().map(|(at, story)| (*at, print(*at, story))).collect();
            sessions.sort_by_key(|(at, _)| *at);
            let mut ranked = (0..).zip(sessions);
            let until = |at: i64| Settings::default().until(Timestamp(at * 1000));
            let watched = ranked.by_ref().take(targets).map(|(rank, (at, print))| (rank, until(at), print)).collect();
            let mut block = Block::new(watched);
            ranked.for_each(|(rank, (_, print))| block.take(rank, print));
            block
        };
        let name = |rank: u32| SessionId(rank.to_string());
        let settings = Settings::default();
        prop_assert_eq!(block().judge(name, &settings), judge_plainly(block(), name, &settings));
    }

    #[test]
    fn shares_are_shares(told in sessions()) {
        for rework in judge(&told) {
            prop_assert!(rework.removed <= rework.added);
            prop_assert_eq!(rework.by.iter().map(|taken| taken.lines).sum::<u32>(), rework.removed);
            prop_assert!(rework.share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}

#[test]
fn a_sample_is_enough_for_very_many_lines() {
    let (half, all) = (numbers(0..10_300), numbers(0..20_000));
    let rework = first(&[&edit("a.rs", &all, &[]), &edit("a.rs", &[], &half)]);
    assert!(rework.sampled && rework.reworked, "{rework:?}");
    assert!((rework.share().unwrap() - 0.515).abs() < 0.03, "{:?}", rework.share());
}
