//! What a run came to, read from what it printed.
//!
//! An exit code says it best, but most real runs are piped into `tail` or followed by something else, and then the
//! runner's own summary is all there is. One failure anywhere decides. What a single line says is in [`lines`](super::lines).
//! Whether the client ran the command at all, or sent it to the background, is for the caller to know: that is
//! [`Exit::Unknown`].

use super::lines::{self, Says};
use super::runs::{Run, RunKind};
use super::tasks::task_kind;

/// What the tool said of the whole command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ended with code 0.
    Ok,
    /// It ended with another code.
    Failed,
    /// It never ran, was cut off, or still runs in the background.
    Unknown,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunResult {
    /// Nothing failed.
    Pass,
    /// A test, a file or the run itself failed.
    Fail,
    /// Neither the exit code nor the output says.
    Unknown,
}

/// The result of a run, from the output and the exit of the command it is part of.
///
/// Where the exit code is the run's own it decides, but a failure that the output clearly states is one all the same:
/// task runners and hooks swallow codes too. Where it is masked, only the output counts.
pub fn run_result(run: Run, output: &str, exit: Exit) -> RunResult {
    match (run.masked, exit) {
        (false, Exit::Failed) => RunResult::Fail,
        (false, Exit::Ok) => match read(run.kind, output) {
            RunResult::Fail => RunResult::Fail,
            RunResult::Pass | RunResult::Unknown => RunResult::Pass,
        },
        (true, Exit::Ok) if run.silent && output.trim().is_empty() => RunResult::Pass,
        (true, _) | (false, Exit::Unknown) => read_any(run, output),
    }
}

/// What an output says. What a project named may print what any tool prints.
fn read_any(run: Run, output: &str) -> RunResult {
    let said = read(run.kind, output);
    if said != RunResult::Unknown || !run.named {
        return said;
    }
    let others = [RunKind::Test, RunKind::Build, RunKind::Lint].into_iter().filter(|kind| *kind != run.kind);
    others.map(|kind| read(kind, output)).fold(RunResult::Unknown, |so_far, said| match (so_far, said) {
        (RunResult::Fail, _) | (_, RunResult::Fail) => RunResult::Fail,
        (RunResult::Pass, _) | (_, RunResult::Pass) => RunResult::Pass,
        _ => RunResult::Unknown,
    })
}

fn read(kind: RunKind, output: &str) -> RunResult {
    let mut result = RunResult::Unknown;
    let mut tap = lines::Tap::default();
    for line in lines::undecorated(output).lines() {
        let (task, line) = lines::task_and_text(line.trim());
        if line.is_empty() {
            continue;
        }
        match task.and_then(task_kind) {
            // `[lint] ERROR task failed` is not about the tests that ran beside it.
            Some(other) if other != kind => continue,
            Some(_) if line.starts_with("Finished in ") => result = RunResult::Pass,
            _ => {}
        }
        let says = match kind {
            RunKind::Test => lines::of_tests(line, &mut tap),
            RunKind::Build => lines::of_build(line),
            RunKind::Lint => lines::of_lint(line),
        };
        match says {
            Says::Failed => return RunResult::Fail,
            Says::Passed => result = RunResult::Pass,
            Says::Nothing => {}
        }
    }
    if tap.complete() { RunResult::Pass } else { result }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
