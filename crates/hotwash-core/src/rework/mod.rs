//! Rework: whether later sessions took away what a session had added.

mod acts;
mod changes;
mod encoding;
mod fingerprint;
mod lines;
mod repository;

pub(crate) use changes::Changes;
pub use encoding::Unreadable;
pub use fingerprint::{ACTS_KEPT, Act, CommitId, FileChange, Fingerprint, LINES_KEPT, LineChange, Subject, What};
pub use lines::{Line, each_line};
pub use repository::{FileKey, repository, within, working_tree};
