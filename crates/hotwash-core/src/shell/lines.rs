//! What one line of a runner's output says about the run.
//!
//! Written for the summaries of the common runners, and strict about where on a line a word stands: logs and test
//! names are full of "failed". Putting the lines together is [`result`](super::result)'s work.

use std::borrow::Cow;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Passed,
    Failed,
    Nothing,
}

/// An output without escape sequences.
pub(super) fn undecorated(output: &str) -> Cow<'_, str> {
    if output.contains('\u{1b}') { strip_escapes(output).into() } else { Cow::Borrowed(output) }
}

/// The `[task] ` that task runners put in front of a line (Maven its `[ERROR] `), and the rest.
pub(super) fn task_and_text(line: &str) -> (Option<&str>, &str) {
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((task, rest)) if task.len() <= 40 && !task.contains(' ') => (Some(task), rest.trim()),
        _ => (None, line),
    }
}

/// Drops `ESC [ … letter`, which ends with its line.
fn strip_escapes(output: &str) -> String {
    let mut plain = String::with_capacity(output.len());
    let mut letters = output.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.clone().next() == Some('[') {
            letters.next();
            if letters.by_ref().find(|letter| letter.is_ascii_alphabetic() || *letter == '\n') == Some('\n') {
                plain.push('\n');
            }
        }
    }
    plain
}

/// TAP has no summary: every point of the plan must be there and be ok.
#[derive(Default)]
pub(super) struct Tap {
    /// The first plan counts; one that cannot be read is none.
    plan: Option<usize>,
    ok: usize,
}

impl Tap {
    pub(super) fn complete(&self) -> bool {
        self.plan.is_some_and(|plan| plan > 0 && self.ok >= plan)
    }

    fn read(&mut self, line: &str) -> Says {
        if let Some(rest) = line.strip_prefix("not ok ") {
            let excused = rest.contains("# TODO") || rest.contains("# SKIP");
            self.ok += usize::from(excused);
            return if excused { Says::Nothing } else { Says::Failed };
        }
        if line.strip_prefix("ok ").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit())) {
            self.ok += 1;
        } else if let Some(plan) = line.strip_prefix("1..") {
            self.plan.get_or_insert(plan.split(' ').next().and_then(|plan| plan.parse().ok()).unwrap_or(0));
        }
        Says::Nothing
    }
}

/// Words that tell a result by standing at the beginning of a line, or anywhere in it.
struct Phrases {
    fails_at_start: &'static [&'static str],
    fails_inside: &'static [&'static str],
    passes_at_start: &'static [&'static str],
    passes_inside: &'static [&'static str],
}

impl Phrases {
    /// What they say of a line.
    fn say(&self, line: &str) -> Says {
        if begins(line, self.fails_at_start) || contains(line, self.fails_inside) {
            Says::Failed
        } else if begins(line, self.passes_at_start) || contains(line, self.passes_inside) {
            Says::Passed
        } else {
            Says::Nothing
        }
    }
}

#[rustfmt::skip] // a list, read in columns
const TESTS: Phrases = Phrases {
    fails_at_start: &[
        "--- FAIL", "FAIL\t", "FAIL ", "FAILED ", "FAILED(", "FAILED:", "FAILURES!", "test result: FAILED", "panic: ",
        "BUILD FAIL", "Failed!", "Test Run Failed", "evaluation failed :(", "** TEST FAILED", "Some tests failed.",
    ],
    fails_inside: &[],
    passes_at_start: &[
        "test result: ok.", "OK (", "OK, but ", "BUILD SUCCESS", "Passed!", "congratulations :)", "100% tests passed",
        "** TEST SUCCEEDED", "All tests passed", "✔  All specs passed!", "Test Run Successful.",
    ],
    passes_inside: &[],
};

#[rustfmt::skip]
const BUILDS: Phrases = Phrases {
    fails_at_start: &[
        "error:", "error TS", "error CS", "BUILD FAIL", "Build FAILED", "ERROR in ", "** BUILD FAILED", "Type error: ",
        "Failed to compile", "ERROR: failed to", "== Compilation error", "ninja: build stopped", "error during build:",
        "Build error occurred", "> Build failed", "x Build failed", "✗ Build failed", "Error: ", "│ Error: ",
        "ERROR: process ",
    ],
    fails_inside: &[
        ": error TS", ": error CS", ": fatal error:", "completed with 'failure'", "completed with 'cancelled'",
    ],
    passes_at_start: &[
        "Finished `", "Finished dev", "Finished release", "Finished test", "BUILD SUCCESS", "Build succeeded",
        "** BUILD SUCCEEDED", "Successfully built", "Build complete!", "✓ built in", "✓ Compiled successfully",
        "Compiled successfully", "webpack compiled", "No changes. Your infrastructure", "Plan: ", "Complete!",
        "All checks were successful",
    ],
    passes_inside: &["compiled successfully", "[build] Complete!", "completed with 'success'"],
};

#[rustfmt::skip]
const LINTS: Phrases = Phrases {
    fails_at_start: &[
        "error:", "error TS", "Diff in ", "would reformat ", "Would reformat", "Code style issues found", "vet: ",
        "The command is terminated due to an error", "done (warnings were emitted)", "Error: ", "│ Error: ",
    ],
    fails_inside: &[": error TS", ": error: ", "  error  ", " would be reformatted", " mods/funs, found "],
    passes_at_start: &[
        "All checks passed", "Finished `", "Finished dev", "No issues found", "All matched files use Prettier",
        "All done!", "done (passed successfully)", "No problems found", "Success! The configuration is valid",
    ],
    passes_inside: &[
        "no offenses detected", "No ESLint warnings or errors", "No fixes applied", "already formatted",
    ],
};

/// What a line says about tests.
pub(super) fn of_tests(line: &str, tap: &mut Tap) -> Says {
    if broken(line) || tap.read(line) == Says::Failed {
        return Says::Failed;
    }
    if let Some(says) = turbo(line) {
        return says;
    }
    // Flutter puts the time and its counts in front.
    if line.ends_with(": All tests passed!") {
        return Says::Passed;
    }
    if line.ends_with(": Some tests failed.") {
        return Says::Failed;
    }
    match (line, TESTS.say(line)) {
        ("FAIL" | "FAILED", _) | (_, Says::Failed) => Says::Failed,
        // pytest could not load a file.
        (line, _) if line.starts_with("ERROR ") && line.contains("::") => Says::Failed,
        ("PASS" | "OK", _) => Says::Passed,
        (line, says) => match counted(line) {
            Says::Nothing if is_go_package(line) => Says::Passed,
            Says::Nothing => says,
            counted => counted,
        },
    }
}

/// `ok  \tpackage\t0.1s`
fn is_go_package(line: &str) -> bool {
    line.strip_prefix("ok").is_some_and(|rest| rest.starts_with(['\t', ' ']) && rest.contains('\t'))
}

/// What a line says about a build.
pub(super) fn of_build(line: &str) -> Says {
    if broken(line) || has_position(line) {
        return Says::Failed;
    }
    if let Some(says) = turbo(line) {
        return says;
    }
    if let Some(found) = line.strip_prefix("Found ")
        && found.contains(" error")
    {
        return if found.starts_with("0 ") { Says::Passed } else { Says::Failed };
    }
    if line.starts_with("Generated ") && line.ends_with(" app") {
        return Says::Passed;
    }
    BUILDS.say(line)
}

/// What a line says about a linter, type checker or format check.
pub(super) fn of_lint(line: &str) -> Says {
    // Before the counts: both lines also say how many files there were.
    if line.contains("found no issues") || line.starts_with("Success: no issues found") {
        return Says::Passed;
    }
    let shellcheck = line.starts_with("In ") && line.ends_with(':') && line.contains(" line ");
    if broken(line) || has_position(line) || shellcheck {
        return Says::Failed;
    }
    if let Some(says) = turbo(line) {
        return says;
    }
    let mut says = LINTS.say(line);
    if says == Says::Failed {
        return says;
    }
    // The last count decides: `✖ 2 problems (0 errors, 2 warnings)` is no failure.
    for (count, word, _) in counts(line) {
        if PROBLEMS.contains(&word.strip_suffix('s').unwrap_or(word)) {
            says = if count > 0 { Says::Failed } else { Says::Passed };
        }
    }
    says
}

/// What linters count.
const PROBLEMS: [&str; 5] = ["error", "issue", "problem", "offense", "diagnostic"];

/// Turbo's `Tasks:    2 successful, 3 total`.
fn turbo(line: &str) -> Option<Says> {
    let mut counts =
        counts(line.strip_prefix("Tasks:")?).filter(|(_, word, _)| matches!(*word, "successful" | "total"));
    let ((successful, ..), (total, ..)) = (counts.next()?, counts.next()?);
    Some(if successful == total { Says::Passed } else { Says::Failed })
}

/// The run itself broke: it did not compile, or the task runner says that it failed.
fn broken(line: &str) -> bool {
    begins(line, BREAKING) || line.ends_with(" failed]") || (line.starts_with("make[") && line.contains("]: ***"))
}

#[rustfmt::skip]
const BREAKING: &[&str] = &[
    "error: could not compile", "error[E", "error: test failed", "error: Recipe ", "npm ERR!", "npm error ",
    "make: ***", "error Command failed", "ERROR task failed", "task: Failed to run", "ELIFECYCLE",
    "error: script \"", "ERROR  run failed: command",
];

/// `3 failed, 5 passed`, `2 passing`, `4 tests, 0 failures`, `Failures: 1, Errors: 0`, `# fail 0`.
fn counted(line: &str) -> Says {
    // Bun counts what broke outside of tests on a line of its own.
    if let Some((errors, "error" | "errors")) = line.split_once(' ').map(|(count, word)| (count, word.trim()))
        && errors.parse().is_ok_and(|errors: u64| errors > 0)
    {
        return Says::Failed;
    }
    let (mut ran, mut none_failed, mut passed) = (false, false, false);
    for (count, word, ends) in counts(line) {
        match word {
            "failed" | "failing" | "failure" | "failures" | "fail" if ends => {
                if count > 0 {
                    return Says::Failed;
                }
                none_failed = true;
            }
            // `1 error in 0.1s`, `0 failures, 2 errors`: an error count on its own could be any log line.
            "error" | "errors" if count > 0 && (none_failed || passed || in_seconds(line)) => {
                return Says::Failed;
            }
            "passed" | "passing" | "pass" if ends && count > 0 => passed = true,
            "tests" | "test" | "examples" | "example" | "runs" | "doctests" | "scenarios" | "specs" if count > 0 => {
                ran = true;
            }
            _ => {}
        }
    }
    // A lone `Errors: 2` could be any log line.
    let is_summary =
        line.starts_with(['#', 'ℹ']) || contains(line, &["Tests", "Passed"]) || line.starts_with("Failed:");
    for (label, count) in is_summary.then(|| labelled(line)).into_iter().flatten() {
        match label {
            "Failures" | "Errors" | "Failed" | "fail" if count > 0 => return Says::Failed,
            "Failures" | "Failed" => none_failed = true,
            "Tests run" | "Passed" | "run" | "Total" | "pass" if count > 0 => ran = true,
            _ => {}
        }
    }
    let node_passed = line.strip_prefix(['#', 'ℹ']).is_some_and(|rest| rest.trim_start().starts_with("pass ")) && ran;
    if passed || node_passed || (ran && none_failed) { Says::Passed } else { Says::Nothing }
}

fn in_seconds(line: &str) -> bool {
    line.trim_end_matches(['=', ' ']).ends_with('s') && line.contains(" in ")
}

/// Each `<number> <word>` of a line, and whether the phrase ends there: "3 failed login attempts" counts no tests.
/// `3 tests failed` is read as `3 failed`.
fn counts(line: &str) -> impl Iterator<Item = (u64, &str, bool)> {
    let mut words = line.split_ascii_whitespace();
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?.trim_start_matches(['(', '=', '[']);
            if !word.starts_with(|letter: char| letter.is_ascii_digit()) {
                continue;
            }
            let Ok(count) = word.parse::<u64>() else {
                continue;
            };
            let mut after = words.clone();
            let Some(next) = after.next() else { continue };
            let mut noun = next;
            let mut follows = after.next();
            if matches!(noun, "tests" | "test" | "snapshots" | "file" | "files")
                && follows.is_some_and(|word| matches!(trimmed(word), "failed" | "passed"))
            {
                noun = follows.unwrap_or_default();
                follows = after.next();
            }
            let ends = trimmed(noun).len() < noun.len()
                || follows.is_none_or(|word| {
                    matches!(word, "in" | "out" | "and" | "tests" | "test" | "total" | "/" | "-" | "·")
                        || word.starts_with(['(', '|', '=', '[', '–', '\u{2502}'])
                        || word.starts_with(|letter: char| letter.is_ascii_digit())
                });
            return Some((count, trimmed(noun), ends));
        }
    })
}

fn trimmed(word: &str) -> &str {
    word.trim_end_matches([',', ';', '.', ')', ':', '|', '=', '!', ']'])
}

/// Each `Label: number` of a line such as those of Maven, .NET and `PHPUnit`, and node's `# fail 1`.
fn labelled(line: &str) -> impl Iterator<Item = (&str, u64)> {
    let node = line.strip_prefix(['#', 'ℹ']).and_then(|rest| rest.trim().split_once(' ')).into_iter();
    let pairs = line.split([',', '-']).filter_map(|part| part.split_once(':'));
    node.chain(pairs).filter_map(|(label, count)| {
        let count = count.trim().trim_end_matches('.').parse().ok()?;
        Some((label.trim(), count))
    })
}

/// `path:line:column: message`, as compilers and linters point at what they reject; warnings and notes are let be.
fn has_position(line: &str) -> bool {
    let mut parts = line.splitn(4, ':');
    let (Some(path), Some(row), Some(column), Some(message)) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let harmless = ["warning", "note", "info", "remark", "hint"];
    path.contains('.')
        && !path.contains(' ')
        && number(row)
        && number(column)
        && message.starts_with(' ')
        && !harmless.iter().any(|word| message.trim_start().starts_with(word))
}

fn begins(line: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| line.starts_with(phrase))
}

fn contains(line: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| line.contains(phrase))
}
