//! What task runners do, told by the names of their tasks: `make test`, `mise run lint`, `gradle build`.
//!
//! A name is all there is to go by: the file that defines the task is not here to be read. Package managers' scripts
//! share the names; finding them on the command line is left to [`runners`](super::runners).

use super::runners::Words;
use super::runs::RunKind::{self, Build, Lint, Test};
use super::segment::{is_assignment, past_flags};

/// What the tasks named on a task runner's command line do.
pub(super) fn tasks(
    program: &str,
    runner: &'static str,
    arguments: Words<'_, '_>,
    value_flags: &[&str],
    mut found: impl FnMut(RunKind, &'static str),
) {
    let one_task =
        !matches!(program, "make" | "gmake" | "rake" | "ninja" | "turbo" | "task" | "invoke" | "inv" | "ant");
    if matches!(program, "make" | "gmake" | "rake" | "ninja")
        && arguments.iter().any(|word| matches!(word.as_ref(), "-n" | "--dry-run" | "--just-print"))
    {
        return;
    }
    let mut named = false;
    let mut at = 0;
    loop {
        at = past_flags(arguments, at, value_flags);
        let Some(word) = arguments.get(at) else { break };
        at += 1;
        if is_assignment(word) || (matches!(word.as_ref(), "run" | "r" | "run-many") && !named) {
            // `turbo run test`, `mise run test`; make's variables.
            continue;
        }
        named = true;
        match (program, word.as_ref()) {
            ("make" | "gmake", "check") => found(Test, runner),
            ("make" | "gmake" | "ninja", "all") => found(Build, runner),
            (_, task) => {
                if let Some(kind) = task_kind(task) {
                    found(kind, runner);
                }
            }
        }
        if one_task {
            // What follows is for the task, but for mise's `:::`.
            match arguments.get(at..).unwrap_or_default().iter().position(|word| word == ":::") {
                Some(more) => at += more + 1,
                None => break,
            }
        }
    }
    match program {
        "make" | "gmake" | "ninja" if !named => found(Build, runner),
        "rake" if !named => found(Test, runner),
        _ => {}
    }
}

/// For a program whose operands are names of tasks: its name, and those of its flags that take a value.
pub(super) fn task_runner(program: &str) -> Option<(&'static str, &'static [&'static str])> {
    Some(match program {
        "make" | "gmake" => ("make", &["-C", "-f", "-o", "-I", "--directory", "--file"]),
        "ninja" => ("ninja", &["-C", "-f", "-j"]),
        "just" => ("just", &["-f", "--justfile", "-d", "--working-directory", "--set"]),
        "task" => ("task", &["-d", "--dir", "-t", "--taskfile"]),
        "mise" => ("mise", &["-C", "--cd", "-j", "--jobs", "-E", "--env", "-t", "--tool"]),
        "rake" => ("rake", &["-f", "-C"]),
        "invoke" | "inv" => ("invoke", &["-c", "-r"]),
        "turbo" => ("turbo", &["--filter", "-F"]),
        "nx" => ("nx", &["-p", "--projects"]),
        "lerna" => ("lerna", &["--scope"]),
        "ant" => ("ant", &["-f", "-buildfile"]),
        _ => return None,
    })
}

/// What a task does, by its name: `test:unit`, `lint`, `type-check`, `build-docs`.
pub(super) fn task_kind(name: &str) -> Option<RunKind> {
    let mut words =
        name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let checks = name.contains("check");
    if words.peek().is_some_and(|first| NOT_A_CHECK.contains(first)) {
        return None;
    }
    let by_word = |word: &str| match word {
        "test" | "tests" | "spec" | "specs" | "e2e" | "unittest" | "unittests" | "pytest" | "jest" | "vitest" => {
            Some(Test)
        }
        "lint" | "linter" | "linters" | "eslint" | "typecheck" | "typechecking" | "tsc" | "clippy" | "ruff"
        | "mypy" | "vet" | "check" | "checks" | "verify" | "validate" => Some(Lint),
        "ci" => Some(Test),
        "fmt" | "format" | "prettier" | "types" | "type" if checks => Some(Lint),
        "build" | "compile" | "bundle" => Some(Build),
        _ => None,
    };
    words.find_map(by_word)
}

/// A task that begins with one of these prepares or changes something, whatever else its name says.
const NOT_A_CHECK: [&str; 17] = [
    "install", "setup", "clean", "deploy", "release", "start", "dev", "serve", "seed", "generate", "gen", "new",
    "create", "update", "fix", "publish", "watch",
];

/// The last of Maven's phases and goals that means something: it includes those before it.
pub(super) fn maven(arguments: Words<'_, '_>, mut found: impl FnMut(RunKind, &'static str)) {
    let skips = arguments.iter().any(|word| word.starts_with("-DskipTests") || word.starts_with("-Dmaven.test.skip"));
    let kind = |goal: &str| match goal {
        "test" | "verify" | "integration-test" | "surefire:test" | "failsafe:verify" if !skips => Some(Test),
        "test" | "verify" | "compile" | "test-compile" | "package" | "install" => Some(Build),
        "checkstyle:check" | "spotless:check" | "pmd:check" | "spotbugs:check" => Some(Lint),
        _ => None,
    };
    if let Some(kind) = arguments.iter().rev().find_map(|word| kind(word)) {
        found(kind, "mvn");
    }
}

/// Gradle's tasks, whichever project they are of.
pub(super) fn gradle(arguments: Words<'_, '_>, mut found: impl FnMut(RunKind, &'static str)) {
    let at = |word: &str| {
        let task = word.rsplit(':').next().unwrap_or(word);
        match task {
            "build" | "assemble" | "jar" | "classes" | "testClasses" => Some(Build),
            "check" | "test" => Some(Test),
            "lint" | "detekt" | "ktlintCheck" | "spotlessCheck" | "checkstyleMain" => Some(Lint),
            task if task.starts_with("compile") || task.starts_with("assemble") => Some(Build),
            task if task.starts_with("test") || task.ends_with("Test") || task.ends_with("Tests") => Some(Test),
            _ => None,
        }
    };
    let flags = ["-p", "-b", "-x", "--tests", "--project-dir", "--exclude-task"];
    let mut index = past_flags(arguments, 0, &flags);
    while let Some(word) = arguments.get(index) {
        if let Some(kind) = at(word) {
            found(kind, "gradle");
        }
        index = past_flags(arguments, index + 1, &flags);
    }
}
