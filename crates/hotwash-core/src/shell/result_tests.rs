use proptest::prelude::*;

use super::super::{Run, RunKind};
use super::{Exit, RunResult, run_result};

fn run(kind: RunKind, runner: &'static str, masked: bool) -> Run {
    Run::new(kind, runner, masked)
}

/// Reads outputs as those of a masked run of that kind.
fn check(kind: RunKind, result: RunResult, outputs: &[&str]) {
    for output in outputs {
        assert_eq!(run_result(run(kind, "", true), output, Exit::Ok), result, "{kind:?} {output:?}");
    }
}

#[test]
fn reads_that_tests_passed() {
    let outputs = [
        "===== 3 passed in 0.12s =====",
        "3 passed, 1 xfailed, 2 warnings in 1.02s",
        "12 passed, 1 skipped in 3.00s",
        "Ran 3 tests in 0.001s\n\nOK",
        "Ran 3 tests in 0.001s\n\nOK (expected failures=1)",
        "ok  \texample.com/a\t0.01s\nok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]",
        "--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.01s",
        "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured",
        "     Summary [   0.1s] 5 tests run: 5 passed, 0 skipped",
        "Tests:       3 passed, 3 total",
        "\u{1b}[1mTests:\u{1b}[22m \u{1b}[32m3 passed\u{1b}[39m, 3 total",
        " Test Files  2 passed (2)\n      Tests  7 passed (7)",
        "  3 passing (20ms)",
        "4 examples, 0 failures",
        "2 doctests, 10 tests, 0 failures",
        "5 runs, 9 assertions, 0 failures, 0 errors, 0 skips",
        "1..2\nok 1 a\nok 2 b",
        "# tests 2\n# pass 2\n# fail 0",
        "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
        "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5",
        "OK (5 tests, 9 assertions)",
        "100% tests passed, 0 tests failed out of 5",
        "ok | 3 passed | 0 failed (10ms)",
        "Executed 5 tests, with 0 failures (0 unexpected) in 0.1 seconds",
        "[lint] ERROR task failed\n[test] ok  \texample.com/a\t0.01s",
        "[test] Finished in 2.1s",
        " 3 pass\n 0 fail\nRan 3 tests across 1 files.",
        "OK, but incomplete, skipped, or risky tests!",
        "sync done, Errors: 2\nok  \ta\t0.1s",
        "✔  All specs passed!",
        "WARN 3 failed login attempts\n2 passed in 0.1s",
    ];
    check(RunKind::Test, RunResult::Pass, &outputs);
}

#[test]
fn reads_that_tests_failed() {
    let outputs = [
        "===== 1 failed, 3 passed in 0.12s =====",
        "FAILED tests/test_a.py::test_b - assert 1 == 2",
        "1 error in 0.05s",
        "2 passed, 1 error in 0.05s",
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
        "    --- FAIL: TestA/b (0.00s)\nok  \texample.com/b\t0.1s",
        "FAIL\texample.com/a [build failed]",
        "FAIL\texample.com/a\t0.2s\nok  \texample.com/b\t0.1s\nFAIL",
        "test result: FAILED. 3 passed; 1 failed; 0 ignored",
        "test result: ok. 4 passed; 0 failed\ntest result: FAILED. 0 passed; 1 failed",
        "error: could not compile `a` (lib test) due to 1 previous error",
        "     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped",
        "Tests:       1 failed, 3 passed, 4 total",
        " FAIL  src/a.test.ts",
        "      Tests  1 failed | 3 passed (4)",
        "  3 passing (20ms)\n  1 failing",
        "4 examples, 1 failure",
        "10 tests, 2 failures",
        "5 runs, 9 assertions, 0 failures, 1 errors, 0 skips",
        "1..2\nok 1 a\nnot ok 2 b",
        "# pass 1\n# fail 1",
        "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
        "[INFO] BUILD FAILURE",
        "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5",
        "FAILURES!\nTests: 5, Assertions: 9, Failures: 1.",
        "67% tests passed, 1 tests failed out of 3",
        "make: *** [Makefile:3: test] Error 1",
        " 3 pass\n 1 fail",
        " ❯ src/a.test.ts (3 tests | 1 failed) 5ms",
        "ERRORS!\nTests: 5, Assertions: 3, Errors: 1.",
        "[test] ERROR task failed",
    ];
    check(RunKind::Test, RunResult::Fail, &outputs);
}

#[test]
fn says_so_when_the_output_does_not_tell() {
    let outputs = [
        "",
        "collected 5 items",
        "running 3 tests\ntest a ... ok",
        "?   \texample.com/c\t[no test files]",
        "login failed for 3 users",
        "0 tests, 0 failures",
        "1..3\nok 1 a",
        "the tests failed yesterday",
        "Finished in 2.1s",
        "2026-01-01 12:00:00 3 failed jobs retried",
    ];
    check(RunKind::Test, RunResult::Unknown, &outputs);
    check(RunKind::Build, RunResult::Unknown, &["", "Compiling a v0.1.0"]);
    check(RunKind::Lint, RunResult::Unknown, &["", "Checking a v0.1.0"]);
}

#[test]
fn reads_builds_and_linters() {
    let built = [
        "    Finished `dev` profile [unoptimized] target(s) in 0.1s",
        "BUILD SUCCESSFUL in 2s",
        "Build succeeded.",
        "✓ built in 1.2s",
    ];
    check(RunKind::Build, RunResult::Pass, &built);
    let broke = [
        "error[E0308]: mismatched types\n --> a.rs:1:1",
        "error: could not compile `a` (lib) due to 2 previous errors",
        "src/a.ts(3,5): error TS2322: Type",
        "# example.com/a\n./a.go:3:5: undefined: x",
        "a.c:1:2: error: expected ';'",
        "make[1]: *** [Makefile:3: all] Error 1",
        "npm ERR! code 1",
        "Found 3 errors in 2 files.",
    ];
    check(RunKind::Build, RunResult::Fail, &broke);
    let clean = [
        "All checks passed!",
        "Success: no issues found in 3 source files",
        "0 errors, 0 warnings, 0 informations",
        "0 issues.",
        "Found 0 errors.",
        "✖ 2 problems (0 errors, 2 warnings)",
        "5 files inspected, no offenses detected",
        "All matched files use Prettier code style!",
        "120 mods/funs, found no issues.",
        "a.c:1:2: warning: unused\n0 errors",
    ];
    check(RunKind::Lint, RunResult::Pass, &clean);
    let dirty = [
        "✖ 3 problems (2 errors, 1 warning)",
        "Found 2 errors.",
        "a.py:3: error: Incompatible types\nFound 1 error in 1 file (checked 3 source files)",
        "a.go:3:5: unused variable (unused)",
        "1 issues:\n* errcheck: 1",
        "Diff in src/a.rs:3:",
        "would reformat a.py",
        "1 file would be reformatted, 3 files would be left unchanged.",
        "[warn] Code style issues found in 2 files.",
        "In a.sh line 3:\n  echo $x",
        "120 mods/funs, found 1 code readability issue.",
        "done (warnings were emitted)",
        "error: this loop never loops",
        "  3:5  error  'x' is defined but never used  no-unused-vars",
    ];
    check(RunKind::Lint, RunResult::Fail, &dirty);
}

#[test]
fn lets_an_exit_code_of_its_own_decide() {
    let own = run(RunKind::Test, "pytest", false);
    let masked = run(RunKind::Test, "pytest", true);
    let cases = [
        (own, "", Exit::Ok, RunResult::Pass),
        (own, "", Exit::Failed, RunResult::Fail),
        (own, "3 passed in 1s", Exit::Failed, RunResult::Fail),
        (own, "1 failed in 1s", Exit::Ok, RunResult::Fail),
        (own, "", Exit::Unknown, RunResult::Unknown),
        (own, "3 passed in 1s", Exit::Unknown, RunResult::Pass),
        (masked, "3 passed in 1s", Exit::Failed, RunResult::Pass),
        (masked, "", Exit::Failed, RunResult::Unknown),
        (run(RunKind::Build, "go build", true), "\n", Exit::Ok, RunResult::Pass),
        (run(RunKind::Build, "go build", true), "", Exit::Unknown, RunResult::Unknown),
        (run(RunKind::Build, "cargo build", true), "", Exit::Ok, RunResult::Unknown),
    ];
    for (run, output, exit, result) in cases {
        assert_eq!(run_result(run, output, exit), result, "{run:?} {output:?} {exit:?}");
    }
}

/// What is said of the runs in a command, the worst of them, as facts have it.
fn said_of(command: &str, output: &str, exit: Exit) -> Option<RunResult> {
    let runs = super::super::Command::read(command).runs;
    let results = runs.iter().map(|run| run_result(*run, output, exit));
    results.reduce(|one, other| match (one, other) {
        (RunResult::Fail, _) | (_, RunResult::Fail) => RunResult::Fail,
        (RunResult::Unknown, _) | (_, RunResult::Unknown) => RunResult::Unknown,
        _ => RunResult::Pass,
    })
}

#[test]
fn reads_each_run_of_the_list_right() {
    let cases: Vec<&str> = include_str!("real_runs.txt").split("\n== ").skip(1).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let (head, output) = case.split_once('\n').unwrap_or((case, ""));
        let mut words = head.splitn(3, ' ');
        let (expected, exit, command) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let exit = match exit {
            "ok" => Exit::Ok,
            "failed" => Exit::Failed,
            _ => Exit::Unknown,
        };
        let said = said_of(command, output.trim_end(), exit);
        let name = said.map_or("no run", |said| match said {
            RunResult::Pass => "pass",
            RunResult::Fail => "fail",
            RunResult::Unknown => "unknown",
        });
        if name != expected {
            wrong.push(format!("{command}: {name}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest! {
    #[test]
    fn any_output_is_taken(output in any::<String>()) {
        for kind in [RunKind::Test, RunKind::Build, RunKind::Lint] {
            run_result(run(kind, "", true), &output, Exit::Ok);
        }
    }

    #[test]
    fn a_failure_is_found_wherever_it_stands(before in "[a-z \n]{0,80}", after in "[a-z \n]{0,80}") {
        let output = format!("{before}\n--- FAIL: TestA (0.00s)\n{after}\nok  \ta\t0.1s");
        prop_assert_eq!(run_result(run(RunKind::Test, "go test", true), &output, Exit::Ok), RunResult::Fail);
    }
}
