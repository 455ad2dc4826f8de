//! What a command does, all that facts ask of it at once: its text is cut up a single time.

use serde::{Deserialize, Serialize};

use super::classify::{file_operation, git_commit, loads_skill, may_act, mutates_files, reads_only};
use super::course::Course;
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
    /// It does nothing but read.
    pub read_only: bool,
    /// It may do something to commits or to whole files.
    pub(crate) may_act: bool,
    /// What it means for the course of the session.
    pub course: Course,
    /// The test, build and linter runs in it, in order.
    pub runs: Vec<Run>,
}

impl Command {
    /// Reads a command's text.
    pub fn read(text: &str) -> Command {
        let segments = segments(text);
        let mut all = Vec::new();
        runs(&segments, &mut |kind, runner, masked| all.push(Run::new(kind, runner, masked)));
        Command {
            text: text.to_owned(),
            file_operation: file_operation(&segments),
            loads_skill: loads_skill(&segments),
            commits: git_commit(&segments),
            mutates_files: mutates_files(&segments),
            read_only: reads_only(&segments),
            may_act: may_act(text),
            course: Course::of(&segments),
            runs: all,
        }
    }
}
