//! The two conditions of a merge at their edges, and that the order of arrival does not matter.

use super::*;
use crate::sessions::{About, EventId, Key, Opening};
use proptest::prelude::*;

fn piece(starts: i64, ends: i64, touched: &[u64]) -> Piece {
    Piece {
        first: Key(starts as u64),
        starts: Some(Timestamp(starts * 1000)),
        ends: Some(Timestamp(ends * 1000)),
        touched: touched.to_vec(),
        opened: Opening::Transcript,
        folder: 0,
        lines: Vec::new(),
        reaction: None,
        about: About::default(),
    }
}

fn joined(pieces: &[Piece]) -> Vec<Vec<usize>> {
    runs(&pieces.iter().collect::<Vec<_>>()).into_iter().map(|run| run.pieces).collect()
}

#[test]
fn a_gap_of_600_seconds_joins_and_601_does_not() {
    for (gap, together) in [(0, true), (599, true), (600, true), (601, false), (-1, false)] {
        let pieces = [piece(0, 1000, &[1]), piece(1000 + gap, 2000, &[1])];
        assert_eq!(joined(&pieces).len() == 1, together, "{gap}");
    }
}

#[test]
fn half_of_the_files_joins_and_49_percent_does_not() {
    let many: Vec<u64> = (0..100).collect();
    for (shared, together) in [(49, false), (50, true), (51, true), (100, true)] {
        let pieces = [piece(0, 10, &many[..shared]), piece(20, 30, &many)];
        assert_eq!(joined(&pieces).len() == 1, together, "{shared}");
    }
}

#[test]
fn the_files_of_the_later_piece_count_not_those_of_the_earlier() {
    assert_eq!(joined(&[piece(0, 10, &[1, 2, 3, 4, 5]), piece(20, 30, &[1])]), [vec![0, 1]]);
}

#[test]
fn no_files_no_join() {
    assert_eq!(joined(&[piece(0, 10, &[1]), piece(20, 30, &[])]).len(), 2);
    assert_eq!(joined(&[piece(0, 10, &[]), piece(20, 30, &[1])]).len(), 2);
}

#[test]
fn pieces_that_overlap_in_time_never_join() {
    assert_eq!(joined(&[piece(0, 100, &[1]), piece(50, 150, &[1])]).len(), 2);
    // Nor through a third one: the run has gone on beside it.
    assert_eq!(joined(&[piece(0, 10, &[1]), piece(20, 100, &[1]), piece(50, 60, &[1])]), [vec![0, 1], vec![2]]);
}

#[test]
fn topic_cuts_stay_cut_and_all_others_can_rejoin() {
    let event = EventId(1);
    for (opened, together) in [
        (Opening::Transcript, true),
        (Opening::Fork, true),
        (Opening::Clear { event }, true),
        (Opening::Commit { event }, true),
        (Opening::Topic { shift: 1000 }, false),
    ] {
        let second = Piece { opened, ..piece(20, 30, &[1]) };
        assert_eq!(joined(&[piece(0, 10, &[1]), second]).len() == 1, together, "{opened}");
    }
}

#[test]
fn runs_without_a_person_join_nothing() {
    let event = EventId(1);
    let headless = || About { headless: true, ..About::default() };
    for (opened, first, second, together) in [
        (Opening::Transcript, headless(), headless(), false),
        (Opening::Transcript, headless(), About::default(), false),
        (Opening::Transcript, About::default(), headless(), false),
        (Opening::Transcript, About::default(), About::default(), true),
        (Opening::Clear { event }, headless(), headless(), false),
        // One transcript, cut by a commit.
        (Opening::Commit { event }, headless(), headless(), true),
    ] {
        let first = Piece { about: first, ..piece(0, 10, &[1]) };
        let second = Piece { opened, about: second, ..piece(20, 30, &[1]) };
        assert_eq!(joined(&[first, second]).len() == 1, together, "{opened}");
    }
}

#[test]
fn where_the_context_was_wiped_the_prompt_must_not_speak_of_something_else() {
    let event = EventId(1);
    for (opened, asked, together) in [
        (Opening::Clear { event }, vec![7, 8], false),
        (Opening::Transcript, vec![7, 8], false),
        (Opening::Clear { event }, vec![2, 8], true),
        (Opening::Clear { event }, vec![], true),
        (Opening::Commit { event }, vec![7, 8], true),
    ] {
        let first = Piece { about: About { spoken: vec![1, 2, 3], ..About::default() }, ..piece(0, 10, &[1]) };
        let second = Piece { opened, about: About { asked, ..About::default() }, ..piece(20, 30, &[1]) };
        assert_eq!(joined(&[first, second]).len() == 1, together, "{opened}");
    }
}

#[test]
fn a_piece_is_compared_with_the_run_so_far() {
    // The third shares nothing with the second, and half with the run.
    let chain = [piece(0, 10, &[1, 2]), piece(20, 30, &[2, 3]), piece(40, 50, &[1, 9])];
    assert_eq!(joined(&chain), [vec![0, 1, 2]]);
}

#[test]
fn the_piece_before_is_the_latest_that_had_ended() {
    // Another one with other files lies in between: it is the one before, and it does not match.
    assert_eq!(joined(&[piece(0, 10, &[1]), piece(12, 15, &[7]), piece(20, 30, &[1])]).len(), 3);
    // One that is still going on is not before anything.
    assert_eq!(joined(&[piece(0, 10, &[1]), piece(5, 500, &[7]), piece(20, 30, &[1])]), [vec![0, 2], vec![1]]);
}

#[test]
fn a_piece_without_a_time_stays_alone() {
    let timeless = Piece { starts: None, ends: None, ..piece(0, 0, &[1]) };
    assert_eq!(joined(&[piece(0, 10, &[1]), timeless]).len(), 2);
}

#[test]
fn a_join_says_why() {
    let pieces = [piece(0, 10, &[1, 2]), piece(140, 150, &[1, 9])];
    let join = runs(&pieces.iter().collect::<Vec<_>>())[0].joins[0];
    assert_eq!(join.to_string(), "joined: began 2 min after the end, 1 of its 2 files are the same");
}

proptest! {
    #[test]
    fn the_order_of_arrival_does_not_matter(
        pieces in proptest::collection::vec((0i64..3000, 0i64..900, proptest::collection::btree_set(0u64..5, 0..4)), 1..12)
            .prop_shuffle(),
        seed in any::<u64>(),
    ) {
        let mut pieces: Vec<Piece> = pieces
            .iter()
            .enumerate()
            .map(|(at, (starts, lasts, touched))| Piece {
                first: Key(at as u64),
                ..piece(*starts, starts + lasts, &touched.iter().copied().collect::<Vec<_>>())
            })
            .collect();
        let names = |pieces: &[Piece]| {
            let mut runs: Vec<Vec<Key>> =
                joined(pieces).iter().map(|run| run.iter().map(|&at| pieces[at].first).collect()).collect();
            runs.sort();
            runs
        };
        let first = names(&pieces);
        let turn = seed as usize % pieces.len();
        pieces.rotate_left(turn);
        prop_assert_eq!(&names(&pieces), &first);
        pieces.reverse();
        prop_assert_eq!(&names(&pieces), &first);
        prop_assert_eq!(first.iter().map(Vec::len).sum::<usize>(), pieces.len());
    }
}
