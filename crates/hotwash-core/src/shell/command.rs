//! What a command does, all that facts ask of it at once: its text is cut up a single time.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use xxhash_rust::xxh3::xxh3_64;

use super::classify::{file_operation, git_commit, loads_skill, may_act, mutates_files, reads_only};
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
    /// The test, build and linter runs in it, in order.
    pub runs: Vec<Run>,
}

/// How many commands of those read last are at hand, and how long they may be for it.
const LATELY: usize = 512;
const LATELY_BYTES: usize = 400;

thread_local! {
    /// Commands that were read lately, each in the place that its hash gives it. Agents run the same few again and again:
    /// four in ten commands of real transcripts had stood in one of them before.
    static READ_LATELY: RefCell<Vec<Command>> = RefCell::new(vec![Command::default(); LATELY]);
}

impl Command {
    /// Reads a command's text.
    pub fn read(text: &str) -> Command {
        let mut command = Command::default();
        command.becomes(text);
        command
    }

    /// Becomes another command, in the room of the one that it was.
    pub(crate) fn becomes(&mut self, text: &str) {
        if text.len() > LATELY_BYTES {
            return self.takes_in(text);
        }
        READ_LATELY.with_borrow_mut(|lately| {
            // The first ones are empty, and what an empty text comes to.
            let known = &mut lately[xxh3_64(text.as_bytes()) as usize % LATELY];
            if known.text != text {
                let mut read = Command::default();
                read.takes_in(text);
                *known = read;
            }
            self.is_like(known);
        });
    }

    /// Becomes no command at all, which is what an empty text comes to.
    pub(crate) fn clear(&mut self) {
        let Command { text, file_operation, loads_skill, commits, mutates_files, read_only, may_act, runs } = self;
        text.clear();
        runs.clear();
        (*file_operation, *loads_skill, *commits) = (false, false, false);
        (*mutates_files, *read_only, *may_act) = (false, false, false);
    }

    fn takes_in(&mut self, text: &str) {
        let segments = segments(text);
        self.runs.clear();
        runs(&segments, &mut |kind, runner, masked| self.runs.push(Run::new(kind, runner, masked)));
        self.file_operation = file_operation(&segments);
        self.loads_skill = loads_skill(&segments);
        self.commits = git_commit(&segments);
        self.mutates_files = mutates_files(&segments);
        self.read_only = reads_only(&segments);
        self.may_act = may_act(text);
        self.text.clear();
        self.text.push_str(text);
    }

    fn is_like(&mut self, other: &Command) {
        let Command { text, file_operation, loads_skill, commits, mutates_files, read_only, may_act, runs } = other;
        self.text.clone_from(text);
        self.runs.clone_from(runs);
        (self.file_operation, self.loads_skill) = (*file_operation, *loads_skill);
        (self.commits, self.mutates_files) = (*commits, *mutates_files);
        (self.read_only, self.may_act) = (*read_only, *may_act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_changes_nothing() {
        let long = format!("cargo test && {}", "echo and more; ".repeat(LATELY_BYTES / 10));
        let some = ["", "cargo test | tail -1", "git commit -m x", "cat a > b", "cat .claude/skills/x/SKILL.md", &long];
        let many: Vec<String> =
            (0..LATELY * 3).map(|n| format!("cargo test --jobs {n} && git commit -m {n}")).collect();
        let mut command = Command::default();
        for text in some.iter().copied().chain(many.iter().map(String::as_str)).chain(some).chain(some) {
            let mut fresh = Command::default();
            fresh.takes_in(text);
            command.becomes(text);
            assert_eq!(command, fresh);
        }
    }
}
