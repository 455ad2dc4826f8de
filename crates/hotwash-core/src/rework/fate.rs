//! What became of one line that a session added: who took the last copy of it away, if anybody did.
//!
//! A line lives in the files that the session added it to. Further copies that later sessions add there go first when
//! copies are removed. A copy that turns up in any file when one has gone was moved there, and lives there from then
//! on. What later sessions do in other files otherwise says nothing: two files may well hold the same line.

use super::repository::FileKey;
use crate::sessions::{EventId, Timestamp};

/// Something that a session did which may have to do with the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// The session's place in the order of time.
    pub(super) rank: u32,
    pub(super) at: Timestamp,
    pub(super) event: EventId,
    pub(super) done: Done,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A file has more or fewer copies.
    Changed(FileKey, i32),
    /// A file has none any more.
    Gone(FileKey),
    /// A file has another name.
    Moved(FileKey, FileKey),
}

/// Puts what was done in order. A session counts as a whole, and as of the last time that it touched the line.
pub(super) fn sort(hits: &mut Vec<Hit>) {
    hits.sort_unstable_by_key(|hit| (hit.rank, hit.at, hit.event));
    let mut sessions: Vec<&[Hit]> = sessions(hits).collect();
    sessions.sort_by_key(|session| last(session));
    *hits = sessions.concat();
}

/// What each session did, where it stands in order.
pub(super) fn sessions(hits: &[Hit]) -> impl Iterator<Item = &[Hit]> {
    hits.chunk_by(|a, b| a.rank == b.rank)
}

/// When a session did it.
pub(super) fn last(session: &[Hit]) -> (Timestamp, u32) {
    session.last().map_or((Timestamp(i64::MIN), 0), |last| (last.at, last.rank))
}

/// Follows a line through what sessions did to it, in order, and says who removed the last copy, and where.
pub(super) fn fate<'h>(
    homes: impl Iterator<Item = (FileKey, i32)>,
    sessions: impl Iterator<Item = &'h [Hit]>,
) -> Option<(u32, EventId)> {
    let mut line = Copies { homes: homes.collect(), names: Vec::new() };
    let added = line.count();
    let mut taken = None;
    for hits in sessions {
        let before = line.count();
        let last = line.apply(hits, added);
        match line.count() {
            0 if before > 0 => taken = last,
            0 => {}
            _ => taken = None,
        }
    }
    taken
}

struct Copies {
    homes: Vec<(FileKey, i32)>,
    /// Files that were moved: the new name and the old one.
    names: Vec<(FileKey, FileKey)>,
}

impl Copies {
    fn count(&self) -> i64 {
        self.homes.iter().map(|(_, copies)| i64::from(*copies)).sum()
    }

    /// Takes in what a session did, and says where it last removed a copy.
    fn apply(&mut self, hits: &[Hit], added: i64) -> Option<(u32, EventId)> {
        let mut last = None;
        // A file that is deleted and written anew is deleted first.
        for hit in hits {
            match hit.done {
                Done::Moved(from, to) => self.names.push((to, from)),
                Done::Gone(file) => {
                    if let Some((_, copies)) = self.home(file)
                        && *copies > 0
                    {
                        *copies = 0;
                        last = Some((hit.rank, hit.event));
                    }
                }
                Done::Changed(..) => {}
            }
        }
        let mut elsewhere = Vec::new();
        for hit in hits {
            let Done::Changed(file, net) = hit.done else { continue };
            match self.home(file) {
                Some((_, copies)) => {
                    let before = std::mem::replace(copies, copies.saturating_add(net).max(0));
                    if *copies < before {
                        last = Some((hit.rank, hit.event));
                    }
                }
                None if net > 0 => elsewhere.push((file, net)),
                None => {}
            }
        }
        for (file, net) in elsewhere {
            let missing = (added - self.count()).max(0);
            if missing > 0 {
                self.homes.push((file, i64::from(net).min(missing) as i32));
            }
        }
        last
    }

    fn home(&mut self, file: FileKey) -> Option<&mut (FileKey, i32)> {
        // By its own name first, then by those it had before. A few steps: files are not moved in circles.
        let mut name = file;
        for _ in 0..=self.names.len() {
            if let Some(at) = self.homes.iter().position(|(home, _)| *home == name) {
                return self.homes.get_mut(at);
            }
            name = self.names.iter().rev().find(|(to, _)| *to == name)?.1;
        }
        None
    }
}

#[cfg(test)]
mod prism_rework {
    use super::*;

    const A: FileKey = FileKey(1);
    const B: FileKey = FileKey(2);
    const C: FileKey = FileKey(3);

    /// Who takes a line away of which a session added so many copies to A. Each number is a session.
    fn taken_by(copies: i32, story: &[(u32, Done)]) -> Option<u32> {
        let hit = |(step, &(rank, done)): (usize, &(u32, Done))| {
            let at = Timestamp(i64::from(rank) * 100 + step as i64);
            Hit { rank, at, event: EventId(step as u32), done }
        };
        let mut hits: Vec<Hit> = story.iter().enumerate().map(hit).collect();
        let fate_of = |hits: &mut Vec<Hit>| {
            sort(hits);
            fate([(A, copies)].into_iter(), sessions(hits)).map(|(rank, _)| rank)
        };
        let taken = fate_of(&mut hits);
        hits.reverse();
        assert_eq!(fate_of(&mut hits), taken, "the order in which they are told must not matter");
        taken
    }

    #[test]
    fn a_line_is_gone_when_no_copy_is_left() {
        use Done::{Changed, Gone, Moved};
        for (copies, story, taken) in [
            (1, &[][..], None),
            (1, &[(1, Changed(A, -1))], Some(1)),
            (2, &[(1, Changed(A, -1))], None),
            (2, &[(1, Changed(A, -1)), (2, Changed(A, -1))], Some(2)),
            // Another file's line is another line.
            (1, &[(1, Changed(B, -1))], None),
            // It was moved, in one session or two, before or after.
            (1, &[(1, Changed(A, -1)), (1, Changed(B, 1))], None),
            (1, &[(1, Changed(B, 1)), (1, Changed(A, -1))], None),
            (1, &[(1, Changed(A, -1)), (2, Changed(B, 1))], None),
            (1, &[(1, Changed(A, -1)), (2, Changed(B, 1)), (3, Changed(B, -1))], Some(3)),
            (1, &[(1, Changed(A, -1)), (2, Changed(A, 1)), (3, Changed(A, -1))], Some(3)),
            // A copy elsewhere from before is no move.
            (1, &[(1, Changed(B, 1)), (2, Changed(A, -1))], Some(2)),
            // A further copy in the same file goes first.
            (1, &[(1, Changed(A, 1)), (2, Changed(A, -1))], None),
            (1, &[(1, Changed(A, 1)), (2, Changed(A, -2))], Some(2)),
            // Whole files.
            (1, &[(1, Gone(A))], Some(1)),
            (1, &[(1, Gone(B))], None),
            (1, &[(1, Changed(A, 1)), (1, Gone(A))], None),
            (1, &[(1, Gone(A)), (2, Changed(C, 1))], None),
            (1, &[(1, Moved(A, B)), (2, Changed(B, -1))], Some(2)),
            (1, &[(1, Moved(A, B)), (2, Moved(B, C)), (3, Gone(C))], Some(3)),
            (1, &[(1, Moved(A, B)), (2, Moved(B, A)), (3, Gone(C))], None),
        ] {
            assert_eq!(taken_by(copies, story), taken, "{copies} {story:?}");
        }
    }
}
