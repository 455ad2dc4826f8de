//! What a command does, all that facts ask of it at once: its text is cut up a single time.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::classify::{file_operation, git_commit, loads_skill, mutates_files};
use super::runs::{Run, runs};
use super::split::segments;

/// What a command does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its text.
    pub text: String,
    /// It does a file tool's job.
    pub file_operation: bool,
    /// It reads a skill.
    pub loads_skill: bool,
    /// It commits.
    pub commits: bool,
    /// It writes files.
    pub mutates_files: bool,
    /// The test, build and linter runs in it, in order.
    pub runs: Vec<Run>,
}

impl Command {
    /// Reads a command's text.
    pub fn read(text: &str) -> Command {
        let mut command = Command::default();
        command.becomes(text.into());
        command
    }

    /// Becomes another command, in the room of the one that it was.
    pub(crate) fn becomes(&mut self, text: Cow<'_, str>) {
        let Command {
            text: kept,
            file_operation: operates,
            loads_skill: loads,
            commits,
            mutates_files: mutates,
            runs: found,
        } = self;
        found.clear();
        let segments = segments(&text);
        runs(&segments, &mut |kind, runner, masked| found.push(Run::new(kind, runner, masked)));
        *operates = file_operation(&segments);
        *loads = loads_skill(&segments);
        *commits = git_commit(&segments);
        *mutates = mutates_files(&segments);
        drop(segments);
        kept.clear();
        kept.push_str(&text);
    }
}
