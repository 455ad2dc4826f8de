//! Whether a session's commit was undone by a later session, and not done again.

use super::fingerprint::{CommitId, Fingerprint, Subject, What};
use crate::sessions::{EventId, Timestamp};

/// How often a commit is undone and done again before nobody follows any more.
const BACK_AND_FORTH: usize = 16;

/// Where in all sessions something was: in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) at: Timestamp,
    pub(super) rank: u32,
    pub(super) event: EventId,
}

#[derive(Clone, Copy, Debug)]
struct Commit {
    place: Place,
    tree: u64,
    id: Option<CommitId>,
    subject: Option<Subject>,
}

#[derive(Clone, Copy, Debug)]
struct Undoing {
    place: Place,
    tree: u64,
    what: Named,
}

/// How the undone commit is named.
#[derive(Clone, Copy, Debug)]
enum Named {
    Id(CommitId),
    Subject(Subject),
    Last(u32),
}

/// The commits of a repository's sessions, and their undoings.
#[derive(Debug, Default)]
pub(super) struct Commits {
    commits: Vec<Commit>,
    undoings: Vec<Undoing>,
}

/// A commit that was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undone {
    /// Where it was made.
    pub(super) commit: Place,
    /// Where it was undone.
    pub(super) by: Place,
    /// By throwing it away.
    pub(super) dropped: bool,
}

impl Commits {
    /// Takes in a session's.
    pub(super) fn add(&mut self, rank: u32, print: &Fingerprint) {
        for act in &print.acts {
            let place = Place { at: act.at, rank, event: act.event };
            let mut undoing = |what| self.undoings.push(Undoing { place, tree: print.tree, what });
            match act.what {
                What::Commit { id, subject } => self.commits.push(Commit { place, tree: print.tree, id, subject }),
                What::Revert(id) => undoing(Named::Id(id)),
                What::RevertSubject(subject) => undoing(Named::Subject(subject)),
                What::Drop(count) => undoing(Named::Last(count)),
                What::Discard(_) | What::DiscardAll | What::Remove(_) | What::Move(..) => {}
            }
        }
    }

    /// Puts them in order.
    pub(super) fn seal(&mut self) {
        self.commits.sort_by_key(|commit| commit.place);
        self.undoings.sort_by_key(|undoing| undoing.place);
    }

    /// Whether something was committed in a working tree from one moment up to another.
    pub(super) fn any_between(&self, tree: u64, from: Timestamp, up_to: Timestamp) -> bool {
        let first = self.commits.partition_point(|commit| commit.place.at < from);
        self.commits[first..].iter().take_while(|commit| commit.place.at <= up_to).any(|commit| commit.tree == tree)
    }

    /// The first of a session's commits that another one undid by then and nobody did again.
    pub(super) fn undone(&self, rank: u32, until: Timestamp) -> Option<Undone> {
        if self.undoings.is_empty() {
            return None;
        }
        let mut mine = self.commits.iter().filter(|commit| commit.place.rank == rank);
        mine.find_map(|commit| self.undoing(commit, until).filter(|undone| undone.by.rank != rank))
    }

    /// How a commit was undone for good.
    fn undoing(&self, commit: &Commit, until: Timestamp) -> Option<Undone> {
        let mut undoing = self.next_undoing(commit, commit.place, until)?;
        for _ in 0..BACK_AND_FORTH {
            // The undoing is a commit itself, which may have been undone in its turn.
            let again = self.made_by(undoing).and_then(|made| self.next_undoing(made, made.place, until));
            let Some(again) = again else {
                let dropped = matches!(undoing.what, Named::Last(_));
                return Some(Undone { commit: commit.place, by: undoing.place, dropped });
            };
            // Done again. That is the end of it, unless the redoing or the commit is undone once more.
            let redone = self.made_by(again).and_then(|made| self.next_undoing(made, made.place, until));
            undoing = redone.or_else(|| self.next_undoing(commit, again.place, until))?;
        }
        None
    }

    /// The commit that an undoing made.
    fn made_by(&self, undoing: &Undoing) -> Option<&Commit> {
        let at = self.commits.partition_point(|commit| commit.place < undoing.place);
        self.commits.get(at).filter(|commit| commit.place == undoing.place)
    }

    /// The first undoing of a commit after a place.
    fn next_undoing(&self, commit: &Commit, after: Place, until: Timestamp) -> Option<&Undoing> {
        let first = self.undoings.partition_point(|undoing| undoing.place <= after);
        let later = self.undoings[first..].iter().take_while(|undoing| undoing.place.at <= until);
        later.into_iter().find(|undoing| self.means(undoing, commit))
    }

    fn means(&self, undoing: &Undoing, commit: &Commit) -> bool {
        let before = || {
            let end = self.commits.partition_point(|commit| commit.place < undoing.place);
            self.commits[..end].iter().rev()
        };
        match undoing.what {
            Named::Id(id) => commit.id.is_some_and(|it| it.agrees(id)),
            // "Fix it" may have been said before: the last one is meant.
            Named::Subject(subject) => {
                commit.subject == Some(subject)
                    && before()
                        .find(|other| other.subject == Some(subject))
                        .is_some_and(|last| last.place == commit.place)
            }
            // Those that were made in the same working tree, as far as sessions made them.
            Named::Last(count) => {
                commit.tree == undoing.tree
                    && before()
                        .filter(|other| other.tree == undoing.tree)
                        .take(count as usize)
                        .any(|one| one.place == commit.place)
            }
        }
    }
}
