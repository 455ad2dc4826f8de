//! Greens that mislead: what looks like success and says nothing about it. Told to a judge as facts, with the events.

use super::input::Asked;
use super::produced::Produced;
use crate::facts::edits::is_source;
use crate::facts::{OpenCall, Status};
use crate::rework::absolute;
use crate::sessions::{EventId, Origin, Outcome, Tool};
use crate::shell::{self, Exit, RunKind, RunResult};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// Something that looks like success and is none, or not for that reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Green {
    pub(super) what: Misleading,
    pub(super) events: Vec<EventId>,
}

/// What misleads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misleading {
    /// An edit that changed nothing.
    NothingChanged,
    /// The last try to change a file failed.
    EditFailed,
    /// Edits were made, and nothing is left of them.
    NothingLeft,
    /// A command was to change files, and git showed no difference after it.
    EmptyDiff,
    /// Tests were changed after they had failed.
    TestsChangedAfterRed,
    /// Tests were made to ask for less.
    TestsWeakened,
    /// A check said the same before and after the change.
    SameBeforeAndAfter,
    /// Only tests that the session wrote itself were run.
    OnlyOwnTests,
    /// Files were read in another place than where they were changed.
    OtherCheckout,
    /// Checks ran in another place than where files were changed.
    CheckedElsewhere,
}

impl Misleading {
    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Misleading::NothingChanged => "an edit reported success and changed nothing",
            Misleading::EditFailed => "the last try to change a file failed and was not made good",
            Misleading::NothingLeft => "edits were made, but the net change of all files is none",
            Misleading::EmptyDiff => "a command was to change files, and git showed no difference after it",
            Misleading::TestsChangedAfterRed => "tests were edited after they had failed",
            Misleading::TestsWeakened => {
                "tests were made to ask for less: assertions removed or inverted, or tests skipped"
            }
            Misleading::SameBeforeAndAfter => {
                "a check printed the same before and after the change: nothing broke by it, but it does not show the change"
            }
            Misleading::OnlyOwnTests => "only tests that the session wrote itself were run",
            Misleading::OtherCheckout => "files were read in another checkout or copy than the one that was changed",
            Misleading::CheckedElsewhere => "checks ran in another folder than the one that was changed",
        }
    }
}

/// What is remembered of a session to find them.
#[derive(Debug, Default)]
pub(super) struct Log {
    deeds: Vec<Deed>,
}

#[derive(Debug)]
struct Deed {
    id: EventId,
    what: Did,
}

#[derive(Debug)]
enum Did {
    /// A file was changed, or was to be.
    Edit { path: String, made: Made, weaker: bool },
    /// A file was read.
    Read { path: String },
    /// A command ran.
    Ran(Ran),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Change,
    Nothing,
    Failure,
}

#[derive(Debug)]
struct Ran {
    command: u64,
    output: u64,
    /// It runs tests, or a program that is not known to only read.
    checks: bool,
    mutates: bool,
    commits: bool,
    /// The worst result of its test runs.
    tests: Option<RunResult>,
    /// The words of it that may be files, made absolute.
    names: Vec<String>,
    /// Where it ran.
    cwd: String,
    /// What git showed as the difference is empty.
    diff_empty: Option<bool>,
}

impl Log {
    /// A call was made.
    pub(super) fn called(&mut self, call: &OpenCall) {
        if call.tool == Tool::Read {
            self.deeds.push(Deed { id: call.id, what: Did::Read { path: call.path.clone() } });
        }
    }

    /// A call has ended.
    pub(super) fn ended(
        &mut self,
        origin: &Origin<'_>,
        call: &OpenCall,
        outcome: &Outcome<'_>,
        status: Status,
        asked: Option<&Asked>,
        body: &str,
    ) {
        let what = match (call.tool, status) {
            (tool, Status::Ok | Status::Failed) if tool.edits() => {
                let path = call.path.clone();
                let patched = outcome.change.map(|change| {
                    let signed = |line: &str| matches!(line.as_bytes().first(), Some(b'+' | b'-'));
                    change.created.is_some() || change.patch.iter().any(|line| signed(&line.to_str()))
                });
                let same = asked.is_some_and(|asked| {
                    asked.content.is_none() && !asked.replaced.is_empty() && asked.replaced.iter().all(|(a, b)| a == b)
                });
                let made = match (status, patched) {
                    (Status::Failed, _) => Made::Failure,
                    (_, Some(false)) => Made::Nothing,
                    _ if same => Made::Nothing,
                    _ => Made::Change,
                };
                let weaker = made == Made::Change && is_test(&path) && weakens(outcome, asked);
                Did::Edit { path, made, weaker }
            }
            (Tool::Shell, Status::Ok | Status::Failed) => Did::Ran(ran(origin, call, status, body)),
            _ => return,
        };
        self.deeds.push(Deed { id: call.id, what });
    }

    /// All that misleads.
    pub(super) fn greens(&self, files: &[Produced]) -> Vec<Green> {
        let mut greens = Vec::new();
        let mut add = |what, mut events: Vec<EventId>| {
            events.sort_unstable();
            events.dedup();
            if !events.is_empty() {
                greens.push(Green { what, events });
            }
        };
        let edits = || {
            self.deeds.iter().filter_map(|deed| match &deed.what {
                Did::Edit { path, made, weaker } => Some((deed.id, path.as_str(), *made, *weaker)),
                _ => None,
            })
        };
        add(
            Misleading::NothingChanged,
            edits().filter(|(_, _, made, _)| *made == Made::Nothing).map(|edit| edit.0).collect(),
        );
        let last: BTreeMap<&str, (EventId, Made)> = edits().map(|(id, path, made, _)| (path, (id, made))).collect();
        add(
            Misleading::EditFailed,
            last.values().filter(|(_, made)| *made == Made::Failure).map(|(id, _)| *id).collect(),
        );
        if !files.is_empty() && files.iter().all(|file| file.added + file.removed == 0 && !moved(file)) {
            add(Misleading::NothingLeft, files.iter().flat_map(|file| file.events.iter().copied()).collect());
        }
        add(Misleading::EmptyDiff, self.empty_diffs());
        add(Misleading::TestsChangedAfterRed, self.tests_changed_after_red());
        add(Misleading::TestsWeakened, edits().filter(|edit| edit.3).map(|edit| edit.0).collect());
        add(Misleading::SameBeforeAndAfter, self.same_before_and_after());
        add(Misleading::OnlyOwnTests, self.only_own_tests());
        add(Misleading::OtherCheckout, self.other_checkout());
        add(Misleading::CheckedElsewhere, self.checked_elsewhere());
        greens
    }

    fn runs(&self) -> impl Iterator<Item = (usize, EventId, &Ran)> {
        self.deeds.iter().enumerate().filter_map(|(at, deed)| match &deed.what {
            Did::Ran(ran) => Some((at, deed.id, ran)),
            _ => None,
        })
    }

    /// Where files were changed.
    fn changed(&self) -> impl Iterator<Item = (usize, EventId, &str)> {
        self.deeds.iter().enumerate().filter_map(|(at, deed)| match &deed.what {
            Did::Edit { path, made: Made::Change, .. } => Some((at, deed.id, path.as_str())),
            _ => None,
        })
    }

    /// Commands that were to change files, with a look at the difference after them that shows none.
    fn empty_diffs(&self) -> Vec<EventId> {
        let mut found = Vec::new();
        let mut changing: Option<EventId> = None;
        for deed in &self.deeds {
            match &deed.what {
                // Something was changed for certain; what git shows then is about that.
                Did::Edit { made: Made::Change, .. } => changing = None,
                Did::Ran(ran) => match ran.diff_empty {
                    Some(true) if !ran.mutates => {
                        if let Some(command) = changing.take() {
                            found.extend([command, deed.id]);
                        }
                    }
                    Some(false) => changing = None,
                    _ if ran.commits => changing = None,
                    _ if ran.mutates => changing = Some(deed.id),
                    _ => {}
                },
                _ => {}
            }
        }
        found
    }

    fn tests_changed_after_red(&self) -> Vec<EventId> {
        let Some(red) = self.runs().find(|(_, _, ran)| ran.tests == Some(RunResult::Fail)).map(|(at, ..)| at) else {
            return Vec::new();
        };
        // A test that the session is writing is not one that failed.
        let own: BTreeSet<&str> = self.changed().take_while(|(at, ..)| *at < red).map(|(_, _, path)| path).collect();
        let later = self.changed().filter(|(at, _, path)| *at > red && is_test(path) && !own.contains(path));
        later.map(|(_, id, _)| id).collect()
    }

    /// Checks of the work as it stands that said the same before the first change.
    fn same_before_and_after(&self) -> Vec<EventId> {
        let source = || self.changed().filter(|(_, _, path)| is_source(path)).map(|(at, ..)| at);
        let (Some(first_edit), Some(last_edit)) = (source().next(), source().last()) else { return Vec::new() };
        let checks = || self.runs().filter(|(_, _, ran)| ran.checks && !ran.mutates);
        let mut before: BTreeMap<u64, (EventId, u64)> = BTreeMap::new();
        for (_, id, ran) in checks().take_while(|(at, ..)| *at < first_edit) {
            before.insert(ran.command, (id, ran.output));
        }
        let mut found = Vec::new();
        for (_, id, ran) in checks().filter(|(at, ..)| *at > last_edit) {
            if let Some((first, output)) = before.get(&ran.command)
                && *output == ran.output
            {
                found.extend([*first, id]);
            }
        }
        found
    }

    fn only_own_tests(&self) -> Vec<EventId> {
        let created: BTreeSet<&str> = {
            let mut known = BTreeSet::new();
            let mut created = BTreeSet::new();
            for deed in &self.deeds {
                match &deed.what {
                    Did::Read { path } => {
                        known.insert(path.as_str());
                    }
                    Did::Edit { path, made: Made::Change, .. } if !known.contains(path.as_str()) && is_test(path) => {
                        created.insert(path.as_str());
                    }
                    _ => {}
                }
            }
            created
        };
        let runs: Vec<(EventId, &Ran)> =
            self.runs().filter(|(_, _, ran)| ran.tests.is_some()).map(|(_, id, ran)| (id, ran)).collect();
        let own = |ran: &Ran| {
            let mut tests = ran.names.iter().filter(|name| is_test(name)).peekable();
            tests.peek().is_some() && tests.all(|name| created.contains(name.as_str()))
        };
        if runs.iter().all(|(_, ran)| own(ran)) { runs.iter().map(|(id, _)| *id).collect() } else { Vec::new() }
    }

    /// Reads of a file that was changed too, but in another place.
    fn other_checkout(&self) -> Vec<EventId> {
        let changed: BTreeMap<&str, &str> =
            self.changed().filter_map(|(_, _, path)| Some((ending(path)?, path))).collect();
        let paths: BTreeSet<&str> = self.changed().map(|(_, _, path)| path).collect();
        let read = self.deeds.iter().filter_map(|deed| match &deed.what {
            Did::Read { path } => Some((deed.id, path.as_str())),
            _ => None,
        });
        let elsewhere = |path: &str| {
            !paths.contains(path) && ending(path).and_then(|end| changed.get(end)).is_some_and(|other| *other != path)
        };
        read.filter(|(_, path)| elsewhere(path)).map(|(id, _)| id).collect()
    }

    /// Test runs, none of which ran in a folder that holds a changed file or lies beside one.
    fn checked_elsewhere(&self) -> Vec<EventId> {
        let changed: Vec<&str> =
            self.changed().filter(|(_, _, path)| is_source(path)).map(|(_, _, path)| path).collect();
        let near = |ran: &Ran| {
            let cwd = ran.cwd.trim_end_matches('/');
            changed.iter().any(|path| path.starts_with(cwd) || top(path) == top(cwd)) || ran.cwd.is_empty()
        };
        let runs: Vec<(EventId, &Ran)> =
            self.runs().filter(|(_, _, ran)| ran.tests.is_some()).map(|(_, id, ran)| (id, ran)).collect();
        if changed.is_empty() || runs.iter().any(|(_, ran)| near(ran)) {
            return Vec::new();
        }
        runs.iter().map(|(id, _)| *id).collect()
    }
}

fn moved(file: &Produced) -> bool {
    matches!(file.fate, Some((super::produced::Fate::Moved | super::produced::Fate::Deleted, _)))
}

/// The last three parts of a path.
fn ending(path: &str) -> Option<&str> {
    let at = path.rmatch_indices('/').nth(2)?.0;
    path.get(at + 1..).filter(|_| at > 0)
}

/// The first three parts of a path.
fn top(path: &str) -> &str {
    let at = path.match_indices('/').nth(3).map_or(path.len(), |(at, _)| at);
    path.get(..at).unwrap_or(path)
}

/// Whether a command shows what was changed, and no more of it is done than shortening it.
pub(super) fn shows_diff(command: &str) -> bool {
    let segments = shell::segments(command);
    let is_diff = |segment: &shell::Segment<'_>| {
        let subcommand = segment.arguments().iter().find(|word| !word.starts_with('-'));
        segment.program() == Some("git") && subcommand.is_some_and(|word| word == "diff")
    };
    let counts = |segment: &shell::Segment<'_>| matches!(segment.program(), Some("grep" | "rg" | "wc" | "awk"));
    segments.iter().any(is_diff) && !segments.iter().any(counts)
}

fn ran(origin: &Origin<'_>, call: &OpenCall, status: Status, body: &str) -> Ran {
    let command = &call.command;
    let cwd = origin.cwd.to_str();
    let mut folder = cwd.to_string();
    let mut names = Vec::new();
    let mut only_diff = true;
    for segment in shell::segments(&command.text) {
        match segment.program() {
            Some("cd" | "pushd") => {
                if let Some(to) = segment.arguments().first().filter(|to| !to.contains(['$', '~', '`'])) {
                    folder = absolute(&folder, to);
                }
            }
            Some("git") if segment.arguments().first().is_some_and(|word| word == "diff" || word == "status") => {}
            _ => only_diff = false,
        }
        let files = segment.arguments().iter().filter(|word| word.contains(['.', '/']) && !word.starts_with('-'));
        names.extend(files.map(|word| absolute(&folder, word.split("::").next().unwrap_or(word))));
    }
    let exit = if status == Status::Ok { Exit::Ok } else { Exit::Failed };
    let tests = command.runs.iter().filter(|run| run.kind == RunKind::Test);
    let results: Vec<RunResult> = tests.map(|run| shell::run_result(*run, body, exit)).collect();
    let worst =
        [RunResult::Fail, RunResult::Unknown, RunResult::Pass].into_iter().find(|result| results.contains(result));
    let looks = only_diff && (shows_diff(&command.text) || command.text.contains("git status"));
    let clean = body.trim().is_empty() || body.contains("working tree clean");
    Ran {
        command: xxh3_64(command.text.trim().as_bytes()),
        output: xxh3_64(without_times(body).as_bytes()),
        checks: if command.runs.is_empty() {
            !command.read_only && !command.commits && !body.trim().is_empty()
        } else {
            worst.is_some()
        },
        mutates: command.mutates_files,
        commits: command.commits,
        tests: worst,
        names,
        cwd: folder,
        diff_empty: looks.then_some(clean),
    }
}

/// Output without what differs from run to run: durations, and the numbers of processes and of addresses.
fn without_times(output: &str) -> String {
    let mut out = String::with_capacity(output.len());
    for word in output.split_whitespace() {
        let number = word.trim_start_matches(['(', '[', '~']).starts_with(|c: char| c.is_ascii_digit());
        let bare = word.trim_end_matches([')', ']', ',', ';', '.']);
        let time = number && (bare.ends_with('s') || word.contains(':') || word.contains('.'));
        if !time {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// Whether a file holds tests, by its name.
pub(super) fn is_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let stem = name.split('.').next().unwrap_or(name);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || matches!(stem, "test" | "tests" | "spec")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.ends_with("test.java")
        || name.ends_with("tests.cs")
        || ["/tests/", "/test/", "/__tests__/", "/spec/"].iter().any(|folder| path.contains(folder))
            && crate::facts::edits::is_source(&path)
}

/// Whether a change of a test file makes it ask for less.
fn weakens(outcome: &Outcome<'_>, asked: Option<&Asked>) -> bool {
    let lines: Vec<String> = match (outcome.change, asked) {
        (Some(change), _) if change.created.is_none() => {
            change.patch.iter().map(|line| line.to_str().into_owned()).collect()
        }
        (None, Some(asked)) if asked.content.is_none() => asked.signed().lines().map(str::to_owned).collect(),
        _ => return false,
    };
    let of = |sign: char| lines.iter().filter_map(move |line| line.strip_prefix(sign)).map(str::trim);
    let skips = |sign| of(sign).filter(|line| SKIPS.iter().any(|skip| line.contains(skip))).count();
    let asserts = |sign| of(sign).filter(|line| ASSERTS.iter().any(|word| line.contains(word))).count();
    let inverted = || {
        of('-').filter(|line| ASSERTS.iter().any(|word| line.contains(word))).any(|old| {
            let plain = uninverted(old);
            of('+').any(|new| new != old && uninverted(new) == plain)
        })
    };
    skips('+') > skips('-') || asserts('-') > asserts('+') || inverted()
}

/// A line with what inverts an assertion taken out of it.
fn uninverted(line: &str) -> String {
    let mut line = line.to_owned();
    for (from, to) in [
        ("assertNotEqual", "assertEqual"),
        ("assertNotIn", "assertIn"),
        ("assertIsNotNone", "assertIsNone"),
        ("assertFalse", "assertTrue"),
        ("assert_ne!", "assert_eq!"),
        ("assert!(!", "assert!("),
        ("refute", "assert"),
        ("assert not ", "assert "),
        (".not.", "."),
        ("!=", "=="),
        (" not in ", " in "),
        ("is not ", "is "),
        ("False", "True"),
        ("false", "true"),
    ] {
        line = line.replace(from, to);
    }
    line
}

const ASSERTS: &[&str] = &["assert", "expect(", "expect!", "should.", "require.", "t.Error", "t.Fatal", "refute"];
const SKIPS: &[&str] = &[
    "#[ignore",
    "pytest.mark.skip",
    "pytest.skip(",
    "pytest.mark.xfail",
    "unittest.skip",
    "self.skipTest",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "xit(",
    "xdescribe(",
    "xtest(",
    "t.Skip(",
    "@Disabled",
    "@Ignore",
    "@tag :skip",
    "skip: true",
    ".todo(",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::record_of;

    fn greens(story: &str) -> Vec<(Misleading, Vec<u32>)> {
        let record = record_of(story);
        record.greens.into_iter().map(|green| (green.what, green.events.iter().map(|id| id.0).collect())).collect()
    }

    fn has(story: &str, what: Misleading) -> Option<Vec<u32>> {
        greens(story).into_iter().find(|(found, _)| *found == what).map(|(_, events)| events)
    }

    #[test]
    fn an_edit_that_failed_and_was_left_so() {
        let story = "e1 Edit  a.rs -x +y\n e2 error String to replace not found in file.";
        assert_eq!(has(story, Misleading::EditFailed), Some(vec![1]));
        let again = format!("{story}\n e3 Edit  a.rs -z +y\n e4 ok");
        assert_eq!(has(&again, Misleading::EditFailed), None);
    }

    #[test]
    fn a_command_that_changed_nothing_by_git() {
        let story = "e1 Bash  sed -i s/a/b/ a.rs\n e2 ok\n e3 Bash  git diff\n e4 ok";
        assert_eq!(has(story, Misleading::EmptyDiff), Some(vec![1, 3]));
        assert_eq!(has(&story.replace("e4 ok", "e4 ok diff --git a/a.rs"), Misleading::EmptyDiff), None);
        let committed =
            "e1 Bash  sed -i s/a/b/ a.rs\n e2 ok\n e3 Bash  git commit -am x\n e4 ok\n e5 Bash  git diff\n e6 ok";
        assert_eq!(has(committed, Misleading::EmptyDiff), None);
    }

    #[test]
    fn edits_of_which_nothing_is_left() {
        let story = "e1 Edit  a.rs -a +b\n e2 ok\n e3 Edit  a.rs -b +a\n e4 ok";
        assert_eq!(has(story, Misleading::NothingLeft), Some(vec![1, 3]));
        let put_back = "e1 Edit  /work/a.rs -a +b\n e2 ok\n e3 Bash  git checkout -- a.rs\n e4 ok";
        assert_eq!(has(put_back, Misleading::NothingLeft), Some(vec![1]));
    }

    #[test]
    fn tests_that_are_edited_after_they_failed() {
        let red = "e1 Bash  pytest\n e2 error 1 failed in 0.1s\n";
        let story = format!("{red} e3 Edit  tests/test_a.py -x = 1 +x = 2\n e4 ok");
        assert_eq!(has(&story, Misleading::TestsChangedAfterRed), Some(vec![3]));
        let source = format!("{red} e3 Edit  a.py -x +y\n e4 ok");
        assert_eq!(has(&source, Misleading::TestsChangedAfterRed), None);
        let own = format!(
            "e10 Write tests/test_b.py +x\n e11 created\n {} e13 Edit tests/test_b.py -x +y\n e14 ok",
            red.replace("e1 ", "e12 ").replace("e2 ", "e12 ")
        );
        assert_eq!(has(&own, Misleading::TestsChangedAfterRed), None);
    }

    #[test]
    fn tests_that_ask_for_less() {
        for (edit, weaker) in [
            ("tests/test_a.py -assert x == 1 +pass", true),
            ("tests/test_a.py -assert x == 1 +assert x != 1", true),
            ("a.test.js -expect(x).toBe(1) +expect(x).not.toBe(1)", true),
            ("tests/a.rs -#[test] +#[ignore]", true),
            ("tests/test_a.py -assert x == 1 +assert x == 2", false),
            ("src/a.py -assert x == 1 +pass", false),
        ] {
            let story = format!("e1 Edit  {edit}\n e2 ok");
            assert_eq!(has(&story, Misleading::TestsWeakened).is_some(), weaker, "{edit}");
        }
    }

    #[test]
    fn a_check_that_says_the_same_before_and_after() {
        let story = |second: &str| {
            format!(
                "e1 Bash  python repro.py\n e2 ok value 3\n e3 Edit  a.py -x +y\n e4 ok\n e5 Bash  python repro.py\n e6 ok {second}"
            )
        };
        assert_eq!(has(&story("value 3"), Misleading::SameBeforeAndAfter), Some(vec![1, 5]));
        assert_eq!(has(&story("value 4"), Misleading::SameBeforeAndAfter), None);
        let timed = "e1 Bash  cargo test\n e2 ok ok. 3 passed; finished in 0.12s\n e3 Edit  a.rs -x +y\n e4 ok\n e5 Bash  cargo test\n e6 ok ok. 3 passed; finished in 0.99s";
        assert_eq!(has(timed, Misleading::SameBeforeAndAfter), Some(vec![1, 5]));
    }

    #[test]
    fn only_tests_of_its_own() {
        let story =
            "e1 Write /work/tests/test_new.py +x\n e2 created\n e3 Bash  pytest tests/test_new.py\n e4 ok 1 passed";
        assert_eq!(has(story, Misleading::OnlyOwnTests), Some(vec![3]));
        let all = format!("{story}\n e5 Bash  pytest\n e6 ok 40 passed");
        assert_eq!(has(&all, Misleading::OnlyOwnTests), None);
    }

    #[test]
    fn another_checkout_than_the_one_that_was_changed() {
        let story = "e1 Read  /lib/copy/src/app/a.py\n e2 ok\n e3 Edit  /work/src/app/a.py -x +y\n e4 ok";
        assert_eq!(has(story, Misleading::OtherCheckout), Some(vec![1]));
        let elsewhere = "e1 Edit  /home/x/one/a.py -x +y\n e2 ok\n e3 Bash  cd /srv/y/two && pytest\n e4 ok 1 passed";
        assert_eq!(has(elsewhere, Misleading::CheckedElsewhere), Some(vec![3]));
    }
}
