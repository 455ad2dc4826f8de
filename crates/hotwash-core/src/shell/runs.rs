//! Test, build and linter runs in a command, and whether their exit code can be seen from outside.
//!
//! What a program is for is in [`runners`](super::runners); what a run came to is [`run_result`](super::run_result)'s.

use serde::{Deserialize, Serialize};

use super::runners;
use super::segment::{Operator, Segment};
use super::split::segments;

/// What a run checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunKind {
    /// Tests.
    Test,
    /// Compilation or bundling.
    Build,
    /// Linters, type checkers, format checks.
    Lint,
}

/// A run of a known tool at the head of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What it checks.
    pub kind: RunKind,
    /// Whether the tool prints nothing when all is well.
    pub silent: bool,
    /// Whether a name that a project chose says what it checks, so that it may print anything: `npm run verify`, `make ci`.
    pub named: bool,
    /// Whether the tool's exit code is lost before the end of the command: `| tail`, `; echo done`, `|| true`.
    pub masked: bool,
}

impl Run {
    /// A run of a tool by the name people use: `cargo test`, `pytest`, `make`.
    pub(super) fn new(kind: RunKind, runner: &str, masked: bool) -> Run {
        Run { kind, silent: silent_on_success(runner), named: is_named(runner), masked }
    }
}

/// Task runners, and scripts of a project.
fn is_named(runner: &str) -> bool {
    runner.ends_with(" script")
        || matches!(
            runner,
            "make"
                | "ninja"
                | "just"
                | "task"
                | "mise"
                | "rake"
                | "invoke"
                | "turbo"
                | "nx"
                | "lerna"
                | "ant"
                | "composer"
        )
}

/// Tools that print nothing when all is well.
fn silent_on_success(runner: &str) -> bool {
    matches!(
        runner,
        "go build"
            | "mix compile"
            | "go vet"
            | "go test -c"
            | "gofmt"
            | "tsc"
            | "eslint"
            | "shellcheck"
            | "rustc"
            | "cc"
            | "javac"
            | "cargo fmt"
            | "staticcheck"
            | "flake8"
            | "actionlint"
            | "hadolint"
            | "yamllint"
            | "markdownlint"
    )
}

/// Shows the runs of a command to `found`, in order, with the names of their tools.
pub(super) fn runs(segments: &[Segment<'_>], found: &mut dyn FnMut(RunKind, &'static str, bool)) {
    collect(segments, Masked::No, 0, found);
}

#[derive(Clone, Copy, PartialEq)]
enum Masked {
    Yes,
    No,
}

/// `bash -c "bash -c …"` goes no deeper than anybody writes it.
const DEEPEST: usize = 4;

fn collect(within: &[Segment<'_>], outer: Masked, depth: usize, found: &mut dyn FnMut(RunKind, &'static str, bool)) {
    for (index, segment) in within.iter().enumerate() {
        if let Some(script) = shell_script(segment) {
            if depth < DEEPEST {
                collect(&segments(script), either(outer, masked(within, index)), depth + 1, found);
            }
            continue;
        }
        runners::recognise(segment.invocation(), |kind, runner| {
            found(kind, runner, either(outer, masked(within, index)) == Masked::Yes);
        });
    }
}

fn either(one: Masked, other: Masked) -> Masked {
    if one == Masked::Yes { one } else { other }
}

/// The text of `bash -c 'text'`.
pub(super) fn shell_script<'s>(segment: &'s Segment<'_>) -> Option<&'s str> {
    if !matches!(segment.program()?, "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    let arguments = segment.arguments();
    let at = arguments
        .iter()
        .position(|word| word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.ends_with('c')))?;
    arguments.get(at + 1).map(AsRef::as_ref)
}

/// Whether a failure of the segment at `index` is invisible in the exit code of the whole command.
fn masked(segments: &[Segment<'_>], index: usize) -> Masked {
    let (before, rest) = segments.split_at(index);
    let pipefail = sets(before, "pipefail", 'o');
    let errexit = sets(before, "errexit", 'e');
    // `cmd; code=$?; …; exit $code` hands it on by itself.
    let hands_on = |segment: &Segment<'_>| {
        segment.program() == Some("exit") && segment.arguments().first().is_some_and(|code| code.starts_with('$'))
    };
    if rest.iter().skip(1).any(hands_on) {
        return Masked::No;
    }
    let mut level = usize::MAX;
    let mut skipping = false;
    for (at, segment) in rest.iter().enumerate() {
        if segment.level > level {
            // Inside a group that a failed `&&` passes over.
            continue;
        }
        if segment.level < level {
            skipping = false;
        }
        level = segment.level;
        let next = rest.get(at + 1);
        match segment.operator {
            // After a failure the rest of an `&&` chain does not run, and neither do its pipes.
            Operator::And => skipping = true,
            Operator::Pipe if skipping || pipefail => {}
            Operator::Or => {
                let gives_up = |segment: &Segment<'_>| {
                    matches!(segment.program(), Some("exit" | "return" | "false"))
                        && segment.arguments().first().is_none_or(|code| code != "0")
                };
                let or = rest.get(at + 1..).unwrap_or_default();
                return if or.iter().take(3).any(gives_up) { Masked::No } else { Masked::Yes };
            }
            Operator::Seq if errexit => return Masked::No,
            // `done`, `fi` and `}` pass the code on.
            Operator::Seq if next.is_some_and(|next| next.program().is_none()) => skipping = false,
            Operator::Seq | Operator::Background | Operator::Pipe => return Masked::Yes,
            Operator::End => return Masked::No,
        }
    }
    Masked::No
}

/// Whether `set -o name` or `set -x` (the flag) stands before.
fn sets(before: &[Segment<'_>], name: &str, flag: char) -> bool {
    before.iter().filter(|segment| segment.program() == Some("set")).any(|segment| {
        let by_flag = |word: &str| flag != 'o' && word.starts_with('-') && word.contains(flag);
        segment.arguments().iter().any(|word| word == name || by_flag(word))
    })
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
