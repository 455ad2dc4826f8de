//! What a shell command does, read from its text alone.
//!
//! An agent's Bash calls are most of what it does to a machine, and a transcript keeps them as one string each. Here
//! that string is cut into segments ([`segments`]) and sorted ([`Command`]): does it read files, write them, commit,
//! run tests?
//! The output of a run is read too ([`run_result`]), because most real runs are piped into `tail` and their exit
//! code is lost. Nothing is executed or expanded: variables, globs and `$(…)` stay as they were written.
//!
//! Which call a command belongs to, whether the client ran it at all, and what to count are left to the facts.

mod classify;
mod command;
mod commits;
mod course;
mod lines;
mod programs;
mod result;
mod runners;
mod runs;
mod segment;
mod skip;
mod split;
mod tasks;

pub(crate) use classify::shown_commit;
pub use classify::{commit_confirmed, read_only};
pub use command::Command;
pub use commits::{Commit, commit};
pub use course::Course;
pub use result::{Exit, RunResult, run_result};
pub use runs::{Run, RunKind};
pub use segment::{Operator, Segment};
pub use split::segments;
