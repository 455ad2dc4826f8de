//! Which pieces of a working directory belong together.
//!
//! People wipe the context or commit in the middle of a task. A piece rejoins what came before when it starts within ten
//! minutes of its end and at least half of the files it touches were touched there. Runs without a person join nothing, and
//! where the context was wiped, the new prompt must share a word with what was said before or point back to it. This is one pass over the pieces in
//! order of time, so that the result depends on the pieces alone, not on the order in which they became known.

use super::{Opening, Piece, Timestamp};
use crate::facts::calls::KeySet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The longest gap, inclusive.
pub(super) const GAP_MS: i64 = 600_000;

/// Why a piece was joined to the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// From the last event before to its first prompt.
    pub gap_ms: i64,
    /// Files that it touches.
    pub files: u32,
    /// Those of them that had been touched before.
    pub shared: u32,
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Join { gap_ms, files, shared } = self;
        let seconds = gap_ms / 1000;
        let after = if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) };
        write!(f, "joined: began {after} after the end, {shared} of its {files} files are the same")
    }
}

/// Pieces that are one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Which pieces, in order of time.
    pub pieces: Vec<usize>,
    /// Why each but the first was joined.
    pub joins: Vec<Join>,
}

/// Joins the pieces of one working directory.
pub fn runs(pieces: &[&Piece]) -> Vec<Run> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| (pieces[at].starts, pieces[at].ends, pieces[at].first, &pieces[at].lines));
    let mut open: Vec<Open> = Vec::new();
    // Ends of pieces, each with its run; the latest that is not after a moment is looked up.
    let mut ends: BTreeSet<(Timestamp, usize)> = BTreeSet::new();
    for at in order {
        let piece = pieces[at];
        let before = piece.starts.and_then(|starts| ends.range(..=(starts, usize::MAX)).next_back()).copied();
        let joined = before.and_then(|(_, run)| Some((run, open[run].join(piece)?)));
        let run = if let Some((run, join)) = joined {
            open[run].run.joins.push(join);
            run
        } else {
            open.push(Open::default());
            open.len() - 1
        };
        open[run].take(at, piece);
        ends.extend(piece.ends.map(|ends| (ends, run)));
    }
    open.into_iter().map(|open| open.run).collect()
}

/// Whether a piece that touches so many files shares enough of them.
pub(super) fn is_enough(shared: usize, files: usize) -> bool {
    files > 0 && shared * 2 >= files
}

/// A run that may yet be joined.
#[derive(Default)]
struct Open {
    run: Run,
    /// The files that its pieces touch.
    touched: KeySet<u64>,
    /// The words of its prompts and files.
    spoken: KeySet<u64>,
    /// A run without a person is among them.
    headless: bool,
    ends: Option<Timestamp>,
}

impl Open {
    fn take(&mut self, at: usize, piece: &Piece) {
        self.run.pieces.push(at);
        self.touched.extend(&piece.touched);
        self.spoken.extend(&piece.about.spoken);
        self.headless |= piece.about.headless;
        self.ends = self.ends.max(piece.ends);
    }

    /// Whether a piece belongs to this run, and why.
    fn join(&self, piece: &Piece) -> Option<Join> {
        let gap_ms = piece.starts?.0 - self.ends?.0;
        if !piece.opened.may_rejoin() || !(0..=GAP_MS).contains(&gap_ms) {
            return None;
        }
        // What was cut in the middle of a transcript goes on in the same context.
        let goes_on = matches!(piece.opened, Opening::Commit { .. });
        // Runs without a person are independent of each other, whatever files they have in common.
        if !goes_on && (piece.about.headless || self.headless) {
            return None;
        }
        // Where the context was wiped, a prompt that shares no word with what was said before is about something else.
        let asked = &piece.about.asked;
        let elsewhere =
            !asked.is_empty() && !self.spoken.is_empty() && asked.iter().all(|word| !self.spoken.contains(word));
        if !goes_on && elsewhere {
            return None;
        }
        let files = piece.touched.len();
        let shared = piece.touched.iter().filter(|file| self.touched.contains(file)).count();
        is_enough(shared, files).then_some(Join { gap_ms, files: files as u32, shared: shared as u32 })
    }
}

#[cfg(test)]
#[path = "joining_tests.rs"]
mod prism_merge;
