//! Rework: whether later sessions took away what a session had added.
//!
//! 1. While a session's events go by, `changes` collects the lines that it adds and removes, its commits, and the files
//!    and commits that it undoes. What is left at its end is its [`Fingerprint`], which is kept.
//! 2. [`rework`] judges sessions of one [`repository`] by what later ones did. [`affected`] says which ones must be
//!    judged again when something has changed.
//!
//! What is honest to say from transcripts alone:
//!
//! - A line is the same line wherever its white space is. It is compared within a file. A copy that turns up anywhere
//!   in the repository after one has gone was moved.
//! - A commit is undone where a later session names its id, its subject (`Revert "…"`) or throws the last commits of
//!   its own working tree away, and where nobody does it again within the window.
//! - `git checkout -- file`, `git restore` and `git reset --hard` undo what was *not* committed. Mostly agents clean up
//!   after themselves with them, so they count against an earlier session only where the later one had done nothing but
//!   look around before, in the same working tree, with no commit seen in between, and not for files that the earlier
//!   one made: git does not know those yet. Somebody who commits by hand is not seen.
//! - What is done outside of sessions is not seen: there the repository itself must be asked.

mod acts;
mod block;
mod changes;
mod commits;
mod encoding;
mod fate;
mod fingerprint;
mod lines;
mod repository;
mod rule;

pub(crate) use acts::{Deed, deeds, refused};
pub(crate) use changes::{Changes, Lines};
pub use encoding::Unreadable;
pub use fingerprint::{
    ACTS_KEPT, Act, Added, CommitId, FileChange, Fingerprint, LINES_KEPT, LineChange, Subject, What,
};
pub use lines::{Line, hashes};
pub(crate) use repository::absolute;
pub use repository::{FileKey, repository, within, working_tree};
pub use rule::{Placed, Revert, Rework, Settings, Taken, affected, rework};
