//! The shell: file work done there, commits, test, build and linter runs, and whether what was claimed was checked.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::claims::{self, Claim};
use super::value::{Cited, FactValue, Form, Ratio, facts, ratio, stored};
use crate::sessions::{Change, Event, EventId, Events, Kind, Outcome, Tool};
use crate::shell::{self, Exit, Run, RunKind, RunResult};
use crate::text::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Runs of one kind and how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Those that were green.
    pub pass: Events,
    /// Those that were red.
    pub fail: Events,
    /// Those whose output does not tell.
    pub unknown: Events,
    /// How many had their exit code masked by a pipe or a following command.
    pub masked: u64,
}

impl Runs {
    /// All of them.
    pub fn total(&self) -> usize {
        self.pass.len() + self.fail.len() + self.unknown.len()
    }

    fn push(&mut self, id: EventId, result: RunResult, masked: bool) {
        match result {
            RunResult::Pass => self.pass.push(id),
            RunResult::Fail => self.fail.push(id),
            RunResult::Unknown => self.unknown.push(id),
        }
        self.masked += u64::from(masked);
    }
}

impl Form for Runs {
    const FORM: &'static str = "count by result, with events";
}

impl FactValue for Runs {
    fn json(&self) -> Value {
        json!({
            "total": self.total(), "pass": self.pass.len(), "fail": self.fail.len(),
            "unknown": self.unknown.len(), "masked": self.masked,
        })
    }
    fn events(&self) -> &[EventId] {
        &self.fail
    }
    fn stored(&self) -> Value {
        stored(self)
    }
    fn is_nothing(&self) -> bool {
        self.total() == 0
    }
    fn outside(&mut self, _: &mut super::Change<'_>) {}
}

facts! {
    /// The shell, and what was checked there.
    pub struct VerificationFacts {
        /// Shell calls.
        /// Why: the widest tool, and the one that hides the most.
        /// Blind: shells behind other tools.
        bash_calls: u64,
        /// Shell calls that do a file tool's job: cat, head, tail, sed, awk, grep, rg, find, ls.
        /// Why: the file tools show more, number lines and keep track of what was read.
        /// Blind: file work later in a chain of commands.
        bash_file_ops: Cited,
        /// Calls that work on files: reads, edits, searches, listings, and the shell's share of them.
        /// Why: the denominator of the share below.
        /// Blind: as above.
        file_operations: u64,
        /// The shell's share of file operations.
        /// Why: the seed's penalty is a fifth of it.
        /// Blind: as above.
        bash_file_share: Ratio,
        /// Calls that change something: edits, writes, and shell commands that write files or commit.
        /// Why: one is enough for a session to have substance.
        /// Blind: changes made by programs that the shell runs.
        mutating_calls: u64,
        /// Shell calls that worked and hold a `git commit`.
        /// Why: work that was finished is committed.
        /// Blind: commits through other tools.
        git_commits: Cited,
        /// Those whose output shows the commit.
        /// Why: a hook may have stopped the others.
        /// Blind: quiet commits.
        git_commits_confirmed: u64,
        /// Test runs, by the result read from their output where the exit code is masked.
        /// Why: the best evidence there is that something works.
        /// Blind: runners we do not know; tests that test nothing.
        test_runs: Runs,
        /// Builds.
        /// Why: weaker evidence than a test, but evidence.
        /// Blind: as above.
        build_runs: Runs,
        /// Linters, formatters in checking mode, type checkers.
        /// Why: as above.
        /// Blind: as above.
        lint_runs: Runs,
        /// Whether a green run came after the last change of a source file, with nothing red behind it; not
        /// applicable where no source file was changed.
        /// Why: work that was not checked is a claim.
        /// Blind: checks by hand, in a browser or by the person.
        verified: Option<bool>,
        /// The last test, build or linter run was red, and nothing green came after.
        /// Why: the session ended on red.
        /// Blind: as above.
        ended_red: Cited,
        /// The last run, where it came after the last change of a source file and its result cannot be read.
        /// Why: it was checked, and what came of it is unknown: neither green nor no run.
        /// Blind: as above.
        unread_run: Cited,
        /// Red runs made while the changes of the session were set aside: stashed, or with the state checked out that they
        /// began from.
        /// Why: what is red without them was red before them.
        /// Blind: other copies of the repository.
        red_without_changes: Cited,
        /// Commands that committed, pushed or published with checks left out (`--no-verify`, hooks told to do nothing), and
        /// edits that switched a test off while the last run was red.
        /// Why: what had failed was passed over, not mended.
        /// Blind: checks that are left out by other means; whether the person wanted it.
        checks_bypassed: Cited,
        /// Closing messages of a turn that say it works, it is fixed, or tests pass, while the last run was red.
        /// Why: claimed done on red.
        /// Blind: as `claims`.
        claimed_on_red: Cited,
        /// Closing messages of a turn that say it works, it is fixed, or tests pass.
        /// Why: the place where agents are wrong most often.
        /// Blind: claims in other words; only a few languages are read.
        claims: Cited,
        /// Claims with no green run behind them: after the last change nothing was run, or what was run was red.
        /// Why: claimed, not verified.
        /// Blind: as `verified`.
        unbacked_claims: Cited,
        /// Skills read through the shell instead of being loaded.
        /// Why: the skill tool is the proper way.
        /// Blind: skills read with the read tool.
        skills_by_shell: Cited,
    }
}

/// The fold behind [`VerificationFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verification {
    facts: VerificationFacts,
    state: State,
    edited_source: bool,
    last_red: Option<EventId>,
    /// The last run since the last change whose result cannot be read.
    unread: Option<EventId>,
    /// The changes of the session are set aside.
    set_aside: bool,
    /// The agent's last words in the turn under way.
    closing: Option<(EventId, String)>,
}

/// What is known of the work as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// Nothing was run since the last change.
    #[default]
    Unchecked,
    Green,
    Red,
}

impl Fold for Verification {
    type Facts = VerificationFacts;

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        let facts = &mut self.facts;
        match call.tool {
            Tool::Shell => {
                facts.bash_calls += 1;
                if call.command.file_operation {
                    facts.bash_file_ops.push(call.id);
                    facts.file_operations += 1;
                }
                if call.command.loads_skill {
                    facts.skills_by_shell.push(call.id);
                }
            }
            Tool::Read | Tool::Search | Tool::ListFiles => facts.file_operations += 1,
            Tool::Edit | Tool::Write | Tool::NotebookEdit => {
                facts.file_operations += 1;
                facts.mutating_calls += 1;
            }
            _ => {}
        }
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        match (call, status) {
            (Some(call), Status::Ok | Status::Failed) if call.tool == Tool::Shell => {
                self.ran(call, &outcome.body, status);
            }
            (Some(call), Status::Ok) if call.tool.edits() && call.is_source() => {
                if self.last_red.is_some() && outcome.change.as_ref().is_some_and(switches_a_test_off) {
                    self.facts.checks_bypassed.push(call.id);
                }
                self.edited_source = true;
                self.state = State::Unchecked;
                self.unread = None;
            }
            _ => {}
        }
    }

    fn said(&mut self, event: &Event<'_>) {
        match &event.kind {
            Kind::Says(text) if !event.origin.sidechain => {
                let words = text.tail(claims::CLOSING_BYTES);
                if !words.trim().is_empty() {
                    self.closing = Some((event.origin.id, words.into_owned()));
                }
            }
            Kind::Prompt(_) | Kind::PlanApproval(_) => self.close_turn(),
            _ => {}
        }
    }

    fn finish(&mut self) -> VerificationFacts {
        self.close_turn();
        let mut facts = std::mem::take(&mut self.facts);
        facts.bash_file_share = ratio(facts.bash_file_ops.count(), facts.file_operations);
        facts.verified = self.edited_source.then_some(self.state == State::Green);
        facts.unread_run = Cited(self.unread.into_iter().collect());
        facts.ended_red = Cited(self.last_red.into_iter().collect());
        facts
    }
}

impl Verification {
    fn ran(&mut self, call: &OpenCall, output: &Body<'_>, status: Status) {
        let facts = &mut self.facts;
        let shell::Command { commits, mutates_files, course, runs, .. } = &call.command;
        if *commits || *mutates_files {
            facts.mutating_calls += 1;
        }
        if course.bypasses && status == Status::Ok {
            facts.checks_bypassed.push(call.id);
        }
        if *commits && status == Status::Ok {
            facts.git_commits.push(call.id);
            facts.git_commits_confirmed += u64::from(shell::commit_confirmed(&output.to_str()));
        }
        // What stands behind a command that fails is done all the same where it is to bring them back.
        let aside = self.set_aside || course.sets_aside;
        self.set_aside = aside && !course.brings_back;
        if runs.is_empty() {
            return;
        }
        let results = results(runs, &output.to_str(), status);
        for (kind, result) in KINDS.into_iter().zip(results) {
            let Some(result) = result else { continue };
            let tally = match kind {
                RunKind::Test => &mut facts.test_runs,
                RunKind::Build => &mut facts.build_runs,
                RunKind::Lint => &mut facts.lint_runs,
            };
            tally.push(call.id, result, runs.iter().any(|run| run.kind == kind && run.masked));
            match result {
                RunResult::Fail if aside => {
                    if !facts.red_without_changes.0.contains(&call.id) {
                        facts.red_without_changes.push(call.id);
                    }
                }
                _ if aside => {}
                RunResult::Fail => {
                    self.state = State::Red;
                    self.last_red = Some(call.id);
                    self.unread = None;
                }
                // A green run beside a red one in the same command does not wipe it.
                RunResult::Pass if self.last_red != Some(call.id) => {
                    self.state = State::Green;
                    self.last_red = None;
                    self.unread = None;
                }
                RunResult::Unknown if self.state == State::Unchecked => self.unread = Some(call.id),
                RunResult::Pass | RunResult::Unknown => {}
            }
        }
    }

    /// The last words of the turn may claim something, and a green run may be behind them.
    fn close_turn(&mut self) {
        let Some((id, words)) = self.closing.take() else { return };
        let Some(claim) = claims::claim(&words) else { return };
        // "Done" says nothing about tests where nothing was changed; "tests pass" always does.
        if claim == Claim::Checked || self.edited_source {
            self.facts.claims.push(id);
            if self.state != State::Green && self.unread.is_none() {
                self.facts.unbacked_claims.push(id);
            }
            if self.last_red.is_some() {
                self.facts.claimed_on_red.push(id);
            }
        }
    }
}

/// Whether a change adds a mark by which a test is left out, and takes none away.
fn switches_a_test_off(change: &Change<'_>) -> bool {
    const MARKS: [&str; 12] = [
        "#[ignore",
        "@pytest.mark.skip",
        "@unittest.skip",
        "pytest.skip(",
        ".skip(",
        "xit(",
        "xdescribe(",
        "t.Skip(",
        "@Disabled",
        "@Ignore",
        "test.todo(",
        "@tag :skip",
    ];
    let marked = |sign: u8| {
        let lines = change.patch.iter().filter(|line| line.raw().first() == Some(&sign));
        lines.filter(|line| MARKS.iter().any(|mark| line.to_str().contains(mark))).count()
    };
    marked(b'+') > marked(b'-')
}

/// What the runs of a command came to, kind by kind.
type Results = [Option<RunResult>; 3];

const KINDS: [RunKind; 3] = [RunKind::Test, RunKind::Build, RunKind::Lint];

/// Several runs of one kind in one command are one run, and as good as the worst of them.
fn results(runs: &[Run], output: &str, status: Status) -> Results {
    let exit = match status {
        // A command that was sent to the background or never ran says nothing yet.
        _ if output.starts_with("Command running in background") || output.starts_with("<tool_use_error>") => {
            Exit::Unknown
        }
        Status::Ok => Exit::Ok,
        _ => Exit::Failed,
    };
    KINDS.map(|kind| {
        let of_kind = runs.iter().filter(|run| run.kind == kind);
        of_kind.map(|run| shell::run_result(*run, output, exit)).reduce(worse)
    })
}

fn worse(one: RunResult, other: RunResult) -> RunResult {
    match (one, other) {
        (RunResult::Fail, _) | (_, RunResult::Fail) => RunResult::Fail,
        (RunResult::Unknown, _) | (_, RunResult::Unknown) => RunResult::Unknown,
        (RunResult::Pass, RunResult::Pass) => RunResult::Pass,
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;

    fn verified(script: &str) -> Option<bool> {
        facts_of(script).verification.verified
    }

    #[test]
    fn verified_is_green_after_the_last_edit_and_nothing_red_later() {
        let edit = "e1 Edit  a.rs -x +y\n e2 ok\n";
        for (script, expected) in [
            ("e1 user hi".to_string(), None),
            ("e1 Edit  README.md -x +y\n e2 ok".into(), None),
            (edit.into(), Some(false)),
            (format!("{edit} e3 Bash  cargo test\n e4 ok test result: ok. 3 passed; 0 failed"), Some(true)),
            (format!("{edit} e3 Bash  cargo build\n e4 ok"), Some(true)),
            (format!("e0 Bash  cargo test\n e1 ok test result: ok. 3 passed; 0 failed\n {edit}"), Some(false)),
            (format!("{edit} e3 Bash  cargo test\n e4 error test result: FAILED. 1 passed; 2 failed"), Some(false)),
            (
                format!("{edit} e3 Bash  cargo test\n e4 ok\n e5 Bash  cargo clippy\n e6 error could not compile"),
                Some(false),
            ),
        ] {
            assert_eq!(verified(&script), expected, "{script}");
        }
    }

    #[test]
    fn a_claim_without_a_green_run_is_unbacked() {
        let script = "
            e1 user  fix it
            e2 Edit  a.rs -x +y
            e3 ok
            e4 says  All tests pass now.
            e5 user  sure?
            e6 Bash  cargo test
            e7 ok    test result: ok. 3 passed; 0 failed
            e8 says  All tests pass now.
        ";
        let facts = facts_of(script).verification;
        assert_eq!(facts.claims.count(), 2);
        assert_eq!(facts.unbacked_claims.0, [crate::sessions::EventId(4)]);
    }

    #[test]
    fn nothing_of_a_claim_is_left_in_the_next_turn() {
        let script = "
            e1 user  fix it
            e2 says  All tests pass now.
            e3 user  go on
            e4 says  Hm.
            e5 user  sure?
        ";
        assert_eq!(facts_of(script).verification.claims.0, [crate::sessions::EventId(2)]);
    }

    #[test]
    fn a_masked_failure_is_a_failure() {
        let facts =
            facts_of("e1 Bash  cargo test 2>&1 | tail -5\n e2 ok test result: FAILED. 1 passed; 2 failed").verification;
        assert_eq!((facts.test_runs.fail.len(), facts.test_runs.masked, facts.ended_red.count()), (1, 1, 1));
    }

    #[test]
    fn a_red_run_without_the_changes_says_nothing_about_them() {
        let start = "e1 Edit  a.rs -x +y\n e2 ok\n e3 Bash  cargo test\n e4 error test result: FAILED. 1 failed";
        let failed = "error test result: FAILED. 1 failed";
        for (story, without) in [
            (format!("{start}\n e5 Bash  git stash && cargo test; git stash pop\n e6 {failed}"), vec![5]),
            (format!("{start}\n e5 Bash  git stash\n e6 ok\n e7 Bash  cargo test\n e8 {failed}"), vec![7]),
            (
                format!(
                    "{start}\n e5 Bash  git stash\n e6 ok\n e7 Bash  git stash pop\n e8 ok\n e9 Bash  cargo test\n e10 {failed}"
                ),
                vec![],
            ),
            (format!("{start}\n e5 Bash  git stash list; cargo test\n e6 {failed}"), vec![]),
        ] {
            let without: Vec<_> = without.into_iter().map(crate::sessions::EventId).collect();
            assert_eq!(facts_of(&story).verification.red_without_changes.0, without, "{story}");
        }
    }

    #[test]
    fn a_run_that_cannot_be_read_is_neither_green_nor_none() {
        let edit = "e1 Edit  a.rs -x +y\n e2 ok\n";
        for (run, unread) in [
            ("e3 Bash  make check | tail -1\n e4 ok hm", true),
            ("e3 Bash  make check\n e4 ok hm", false),
            ("e3 Bash  ls\n e4 ok hm", false),
            ("e3 Bash  make check | tail -1\n e4 ok hm\n e5 Bash  cargo test\n e6 ok", false),
            ("e3 Bash  make check | tail -1\n e4 ok hm\n e5 Edit  a.rs -x +y\n e6 ok", false),
        ] {
            let facts = facts_of(&format!("{edit} {run}\n e9 says  The parser is fixed.")).verification;
            assert_eq!(facts.unread_run.count() == 1, unread, "{run}");
            if unread {
                assert!(facts.unbacked_claims.is_empty() && facts.verified == Some(false), "{run}");
            }
        }
    }

    #[test]
    fn checks_are_bypassed_where_they_are_left_out() {
        let red = "e1 Bash  cargo test\n e2 error test result: FAILED. 1 failed\n";
        for (story, bypassed) in [
            ("e3 Bash  git commit --no-verify -m x\n e4 ok", 1),
            ("e3 Bash  git commit -m x\n e4 ok", 0),
            ("e3 Bash  git commit --no-verify -m x\n e4 error rejected", 0),
            ("e3 Edit  a.rs -x +#[ignore]\n e4 ok", 1),
            ("e3 Edit  a.rs -#[ignore] +x\n e4 ok", 0),
            ("e3 Edit  a.rs -x +y\n e4 ok", 0),
        ] {
            assert_eq!(facts_of(&format!("{red} {story}")).verification.checks_bypassed.count(), bypassed, "{story}");
        }
        let green = "e1 Bash  cargo test\n e2 ok test result: ok. 3 passed; 0 failed\n";
        let ignored = facts_of(&format!("{green} e3 Edit  a.rs -x +#[ignore]\n e4 ok"));
        assert!(ignored.verification.checks_bypassed.is_empty(), "nothing had failed");
    }

    #[test]
    fn a_claim_while_the_last_run_is_red_is_claimed_on_red() {
        let claim = "says  The parser is fixed.";
        for (story, on_red) in [
            (format!("e3 Bash  cargo test\n e4 error test result: FAILED. 1 failed\n e5 {claim}"), 1),
            (format!("e3 Bash  cargo test\n e4 ok test result: ok. 3 passed; 0 failed\n e5 {claim}"), 0),
            (format!("e3 {claim}"), 0),
            ("e3 Bash  cargo test\n e4 error test result: FAILED. 1 failed\n e5 says  One still fails.".into(), 0),
        ] {
            let facts = facts_of(&format!("e1 Edit  a.rs -x +y\n e2 ok\n {story}"));
            assert_eq!(facts.verification.claimed_on_red.count(), on_red, "{story}");
        }
    }

    #[test]
    fn the_shell_share_of_file_work() {
        let facts = facts_of("e1 Bash  cat a.rs\n e2 ok\n e3 Read  b.rs\n e4 ok\n e5 Bash  cargo test\n e6 ok");
        assert_eq!(facts.verification.bash_file_share, Some(0.5));
        assert_eq!(facts_of("e1 user hi").verification.bash_file_share, None);
    }
}
