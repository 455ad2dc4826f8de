//! What one line of a runner's output says about the run.
//!
//! Written for the summaries of the common runners, and strict about where on a line a word stands: logs and test
//! names are full of "failed". Putting the lines together is [`result`](super::result)'s work.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem::Finder;
use wide::u8x16;

use super::runs::RunKind;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Passed,
    Failed,
    Nothing,
}

/// An output without escape sequences.
pub(super) fn undecorated(output: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, output.as_bytes()).is_none() { Cow::Borrowed(output) } else { strip_escapes(output).into() }
}

/// A line without surrounding blanks.
pub(super) fn bare(line: &str) -> &str {
    let ascii = line.trim_ascii();
    let ends = (ascii.as_bytes().first(), ascii.as_bytes().last());
    // Blanks beyond ASCII are rare enough to look for them only where the ends are no plain letters.
    if let (Some(0x21..0x7f), Some(0x21..0x7f)) | (None, _) = ends { ascii } else { line.trim() }
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
    fails_at_start: Beginnings,
    fails_inside: Needles,
    passes_at_start: Beginnings,
    passes_inside: Needles,
    /// The beginnings of all lines that are looked at for what they begin with.
    starts: Starts,
    /// Words of which each phrase that may stand anywhere has one.
    stems: Needles,
}

impl Phrases {
    /// What they say of a line, those that may stand anywhere left out unless `inside`.
    fn say(&self, line: &str, inside: bool) -> Says {
        if self.fails_at_start.begin(line.as_bytes()) || inside && contains(line, self.fails_inside.words) {
            Says::Failed
        } else if self.passes_at_start.begin(line.as_bytes()) || inside && contains(line, self.passes_inside.words) {
            Says::Passed
        } else {
            Says::Nothing
        }
    }

    /// Whether any of those that may stand anywhere in a line stands in the output at all.
    fn inside(&self, output: &[u8], stem: bool) -> bool {
        (stem || self.stems.stand_in(output))
            && (self.fails_inside.stand_in(output) || self.passes_inside.stand_in(output))
    }
}

/// Words that are looked for in whole outputs. To prepare a search takes longer than to search most outputs.
struct Needles {
    words: &'static [&'static str],
    finders: OnceLock<Vec<Finder<'static>>>,
}

impl Needles {
    const fn of(words: &'static [&'static str]) -> Self {
        Needles { words, finders: OnceLock::new() }
    }

    fn finders(&self) -> &[Finder<'static>] {
        self.finders.get_or_init(|| self.words.iter().map(Finder::new).collect())
    }

    /// Whether any of them stands in an output.
    fn stand_in(&self, output: &[u8]) -> bool {
        self.finders().iter().any(|finder| finder.find(output).is_some())
    }
}

/// Beginnings of lines. Most lines have none of them, which their first four bytes tell.
struct Beginnings {
    phrases: &'static [&'static str],
    /// For each hash of four bytes where the phrases that begin so are in the list: from the first to behind the last.
    places: [(u8, u8); 256],
}

impl Beginnings {
    const fn of(phrases: &'static [&'static str]) -> Self {
        assert!(phrases.len() < 256, "a place is a byte");
        let mut places = [(0, 0); 256];
        let mut at = 0;
        while at < phrases.len() {
            let place = &mut places[Self::hash(first_four(phrases[at]))];
            if place.1 == 0 {
                place.0 = at as u8;
            }
            at += 1;
            place.1 = at as u8;
        }
        Beginnings { phrases, places }
    }

    const fn hash(first: [u8; 4]) -> usize {
        hash(first) as usize >> 24
    }

    /// Whether a line begins with one of them.
    fn begin(&self, line: &[u8]) -> bool {
        let Some(first) = line.first_chunk() else { return false };
        let (from, to) = self.places[Self::hash(*first) % self.places.len()];
        let phrases = &self.phrases[usize::from(from)..usize::from(to)];
        phrases.iter().any(|phrase| line.starts_with(phrase.as_bytes()))
    }
}

/// A bit for some bits of the hash of each beginning.
struct Starts([u64; 64]);

impl Starts {
    const fn of(lists: &[&[&str]]) -> Self {
        let mut bits = [0; 64];
        let mut list = 0;
        while list < lists.len() {
            let mut at = 0;
            while at < lists[list].len() {
                let (place, bit) = Self::place(first_four(lists[list][at]));
                bits[place] |= bit;
                at += 1;
            }
            list += 1;
        }
        Starts(bits)
    }

    const fn place(first: [u8; 4]) -> (usize, u64) {
        let hash = hash(first);
        (hash as usize >> 26, 1 << (hash >> 20 & 63))
    }

    /// Whether something that begins with these bytes may be among them.
    fn may_have(&self, first: [u8; 4]) -> bool {
        let (place, bit) = Self::place(first);
        self.0[place] & bit != 0
    }
}

const fn hash(first: [u8; 4]) -> u32 {
    u32::from_le_bytes(first).wrapping_mul(0x9E37_79B1)
}

const fn first_four(phrase: &str) -> [u8; 4] {
    let [a, b, c, d, ..] = *phrase.as_bytes() else { panic!("a beginning has four bytes at least") };
    [a, b, c, d]
}

#[rustfmt::skip]
const TEST_FAILS: &[&str] = &[
    "--- FAIL", "FAIL\t", "FAIL ", "FAILED ", "FAILED(", "FAILED:", "FAILURES!", "test result: FAILED", "panic: ",
    "BUILD FAIL", "Failed!", "Test Run Failed", "evaluation failed :(", "** TEST FAILED", "Some tests failed.",
];
#[rustfmt::skip]
const TEST_PASSES: &[&str] = &[
    "test result: ok.", "OK (", "OK, but ", "BUILD SUCCESS", "Passed!", "congratulations :)", "100% tests passed",
    "** TEST SUCCEEDED", "All tests passed", "✔  All specs passed!", "Test Run Successful.",
];
#[rustfmt::skip] // a list, read in columns
static TESTS: Phrases = Phrases {
    fails_at_start: Beginnings::of(TEST_FAILS),
    fails_inside: Needles::of(&[]),
    passes_at_start: Beginnings::of(TEST_PASSES),
    passes_inside: Needles::of(&[]),
    starts: Starts::of(&[TEST_FAILS, TEST_PASSES, BREAKING, LOOKED_AT]),
    stems: Needles::of(&[]),
};

#[rustfmt::skip]
const BUILD_FAILS: &[&str] = &[
    "error:", "error TS", "error CS", "BUILD FAIL", "Build FAILED", "ERROR in ", "** BUILD FAILED", "Type error: ",
    "Failed to compile", "ERROR: failed to", "== Compilation error", "ninja: build stopped",
];
#[rustfmt::skip]
const BUILD_PASSES: &[&str] = &[
    "Finished `", "Finished dev", "Finished release", "Finished test", "BUILD SUCCESS", "Build succeeded",
    "** BUILD SUCCEEDED", "Successfully built", "Build complete!", "✓ built in", "✓ Compiled successfully",
    "Compiled successfully", "webpack compiled",
];
#[rustfmt::skip]
static BUILDS: Phrases = Phrases {
    fails_at_start: Beginnings::of(BUILD_FAILS),
    fails_inside: Needles::of(&[": error TS", ": error CS", ": fatal error:"]),
    passes_at_start: Beginnings::of(BUILD_PASSES),
    passes_inside: Needles::of(&["compiled successfully"]),
    starts: Starts::of(&[BUILD_FAILS, BUILD_PASSES, BREAKING, LOOKED_AT]),
    stems: Needles::of(&["error", "compiled"]),
};

#[rustfmt::skip]
const LINT_FAILS: &[&str] = &[
    "error:", "error TS", "Diff in ", "would reformat ", "Would reformat", "Code style issues found", "vet: ",
    "The command is terminated due to an error", "done (warnings were emitted)",
];
#[rustfmt::skip]
const LINT_PASSES: &[&str] = &[
    "All checks passed", "Finished `", "Finished dev", "No issues found", "All matched files use Prettier",
    "All done!", "done (passed successfully)", "No problems found",
];
#[rustfmt::skip]
static LINTS: Phrases = Phrases {
    fails_at_start: Beginnings::of(LINT_FAILS),
    fails_inside: Needles::of(&[": error TS", ": error: ", "  error  ", " would be reformatted", " mods/funs, found "]),
    passes_at_start: Beginnings::of(LINT_PASSES),
    passes_inside: Needles::of(&[
        "no offenses detected", "No ESLint warnings or errors", "No fixes applied", "already formatted",
    ]),
    starts: Starts::of(&[LINT_FAILS, LINT_PASSES, BREAKING, LOOKED_AT]),
    stems: Needles::of(&["formatted", "mods/funs", "No fixes"]), // beside what linters count
};

/// What a line says about tests.
pub(super) fn of_tests(line: &str, holds: Holds, tap: &mut Tap) -> Says {
    if broken(line) || tap.read(line) == Says::Failed {
        return Says::Failed;
    }
    match (line, TESTS.say(line, true)) {
        ("FAIL" | "FAILED", _) | (_, Says::Failed) => Says::Failed,
        // pytest could not load a file.
        (line, _) if line.starts_with("ERROR ") && line.contains("::") => Says::Failed,
        ("PASS" | "OK", _) => Says::Passed,
        (line, says) => match if holds.counts { counted(line) } else { Says::Nothing } {
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

/// Which of the words that may stand anywhere in a line may stand in this one.
#[derive(Clone, Copy)]
pub(super) struct Holds {
    phrases: bool,
    counts: bool,
}

/// Tells at a glance that a line says nothing, as most do, and is never wrong about that.
pub(super) struct Glance<'o> {
    kind: RunKind,
    phrases: &'static Phrases,
    holds: Holds,
    output: &'o [u8],
    /// Words of which a line that counts something has one.
    counted: &'static [Finder<'static>],
    /// Where each of them stands next, as far as lines were asked for.
    places: [usize; MOST_COUNTED],
    /// Before this place of the output stands none of them that is still to come.
    next: usize,
}

/// So many words are looked for of which a line that counts something has one.
const MOST_COUNTED: usize = 5;

/// Of these each line that counts tests has one: failed, passing, Errors. Linters have [`PROBLEMS`].
static COUNTED: Needles = Needles::of(&["ail", "ass", "rror"]);

static BESIDE: Beginnings = Beginnings::of(LOOKED_AT);

/// Beginnings that are looked at beside the phrases. Of what has a tab in it, which may be escaped, all up to there is.
#[rustfmt::skip]
const LOOKED_AT: &[&str] = &[
    "FAIL", "PASS", "ERROR ", "not ok ", "make[", "Found ", "Generated ", "Success: no issues found",
];

impl<'o> Glance<'o> {
    /// Looks through the output of a run, decoded or as an [`Output`](super::Output) has it.
    pub(super) fn of(kind: RunKind, output: &'o [u8]) -> Self {
        let (phrases, counted): (_, &[Finder<'_>]) = match kind {
            RunKind::Test => (&TESTS, COUNTED.finders()),
            RunKind::Build => (&BUILDS, &[]),
            RunKind::Lint => (&LINTS, PROBLEMS.finders()),
        };
        debug_assert!(counted.len() <= MOST_COUNTED, "each has a place");
        let mut places = [usize::MAX; MOST_COUNTED];
        for (place, word) in places.iter_mut().zip(counted) {
            *place = word.find(output).unwrap_or(usize::MAX);
        }
        let next = places.into_iter().min().unwrap_or(usize::MAX);
        let inside = match kind {
            RunKind::Test => false,
            RunKind::Build | RunKind::Lint => phrases.inside(output, next < usize::MAX),
        };
        Glance { kind, phrases, holds: Holds { phrases: inside, counts: false }, output, counted, places, next }
    }

    /// What the line at this place of the output may hold, or nothing where it says nothing. Lines are asked for in order.
    pub(super) fn at(&mut self, line: &[u8], place: Range<usize>) -> Option<Holds> {
        let mut holds = self.holds;
        if self.next < place.end {
            for (next, word) in self.places.iter_mut().zip(self.counted) {
                if *next < place.start {
                    let found = word.find(&self.output[place.start..]);
                    *next = found.map_or(usize::MAX, |at| place.start + at);
                }
            }
            self.next = self.places.into_iter().min().unwrap_or(usize::MAX);
            holds.counts = self.next < place.end;
        }
        (holds.phrases || holds.counts || self.may_say(line)).then_some(holds)
    }

    /// Whether a line may say something by its beginning or its end.
    fn may_say(&self, line: &[u8]) -> bool {
        let mut line = unindented(line).trim_ascii();
        while let [b'\\', b't' | b'r', rest @ ..] = line {
            line = rest.trim_ascii_start();
        }
        // A task in front of the line; the plan and the points of TAP; shellcheck.
        if let [b'[', ..] | [b'1', b'.', ..] | [b'o', b'k', ..] | [b'I', b'n', ..] | [.., b']'] = line {
            return true;
        }
        // A blank that is escaped or beyond ASCII may be at the beginning or at the end.
        if let [b'\\' | 0x0b | 0xC2 | 0xE1 | 0xE3, ..]
        | [0xE2, 0x80 | 0x81, ..]
        | [.., b'\\', b't' | b'r']
        | [.., 0x0b | 0x80..] = line
        {
            return true;
        }
        let Some(first) = line.first_chunk() else { return !line.is_empty() };
        let Phrases { starts, fails_at_start, passes_at_start, .. } = self.phrases;
        let begins = [&BREAKS, &BESIDE, fails_at_start, passes_at_start];
        starts.may_have(*first) && begins.iter().any(|beginnings| beginnings.begin(line))
            || self.kind != RunKind::Test && may_have_position(line)
    }
}

/// A line without the blanks in front, as far as they are spaces: many lines are indented, and each differently.
fn unindented(mut line: &[u8]) -> &[u8] {
    while let Some((chunk, rest)) = line.split_first_chunk::<16>() {
        let spaces = u8x16::new(*chunk).simd_eq(u8x16::splat(b' ')).to_bitmask();
        match spaces.trailing_ones() {
            16 => line = rest,
            count => return &line[count as usize..],
        }
    }
    line
}

/// What a line says about a build.
pub(super) fn of_build(line: &str, holds: Holds) -> Says {
    if broken(line) || has_position(line) {
        return Says::Failed;
    }
    if let Some(found) = line.strip_prefix("Found ")
        && found.contains(" error")
    {
        return if found.starts_with("0 ") { Says::Passed } else { Says::Failed };
    }
    if line.starts_with("Generated ") && line.ends_with(" app") {
        return Says::Passed;
    }
    BUILDS.say(line, holds.phrases)
}

/// What a line says about a linter, type checker or format check.
pub(super) fn of_lint(line: &str, holds: Holds) -> Says {
    // Before the counts: both lines also say how many files there were.
    if holds.counts && line.contains("found no issues") || line.starts_with("Success: no issues found") {
        return Says::Passed;
    }
    let shellcheck = line.starts_with("In ") && line.ends_with(':') && line.contains(" line ");
    if broken(line) || has_position(line) || shellcheck {
        return Says::Failed;
    }
    let mut says = LINTS.say(line, holds.phrases);
    if says == Says::Failed || !holds.counts {
        return says;
    }
    // The last count decides: `✖ 2 problems (0 errors, 2 warnings)` is no failure.
    for (count, word, _) in counts(line) {
        if PROBLEMS.words.contains(&word.strip_suffix('s').unwrap_or(word)) {
            says = if count > 0 { Says::Failed } else { Says::Passed };
        }
    }
    says
}

/// What linters count.
static PROBLEMS: Needles = Needles::of(&["error", "issue", "problem", "offense", "diagnostic"]);

/// The run itself broke: it did not compile, or the task runner says that it failed.
fn broken(line: &str) -> bool {
    BREAKS.begin(line.as_bytes())
        || line.ends_with(" failed]")
        || (line.starts_with("make[") && line.contains("]: ***"))
}

static BREAKS: Beginnings = Beginnings::of(BREAKING);

#[rustfmt::skip]
const BREAKING: &[&str] = &[
    "error: could not compile", "error[E", "error: test failed", "error: Recipe ", "npm ERR!", "npm error ",
    "make: ***", "error Command failed", "ERROR task failed", "task: Failed to run", "ELIFECYCLE",
];

/// `3 failed, 5 passed`, `2 passing`, `4 tests, 0 failures`, `Failures: 1, Errors: 0`, `# fail 0`.
fn counted(line: &str) -> Says {
    if !line.bytes().fold(false, |any, byte| any | byte.is_ascii_digit()) {
        return Says::Nothing;
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
    if !may_have_position(line.as_bytes()) {
        return false;
    }
    let mut parts = line.splitn(4, ':');
    let (Some(path), Some(row), Some(column), Some(message)) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let harmless = ["warning", "note", "info", "remark", "hint"];
    path.contains('.')
        && number(row)
        && number(column)
        && message.starts_with(' ')
        && !harmless.iter().any(|word| message.trim_start().starts_with(word))
}

/// Most lines begin with a word, or with one and a colon that no number follows.
fn may_have_position(line: &[u8]) -> bool {
    let path = memchr::memchr2(b' ', b':', line);
    matches!(path.and_then(|end| line.get(end..)), Some([b':', b'0'..=b'9', ..]))
}

fn contains(line: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| line.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_phrase_has_a_stem() {
        for phrases in [&TESTS, &BUILDS, &LINTS] {
            for phrase in phrases.fails_inside.words.iter().chain(phrases.passes_inside.words) {
                assert!(contains(phrase, phrases.stems.words) || contains(phrase, PROBLEMS.words), "{phrase}");
            }
        }
    }

    /// Words and signs that lines of the property are made of, beside the phrases.
    #[rustfmt::skip]
    const PARTS: &[&str] = &[
        "1", "3", "0", " ", " ", "  ", "\t", ":", ",", "::", "[", "]", "] ", "ok", "not ok ", "1..", "PASS", "OK", "FAIL",
        "ERROR ", "failed", "passed", "passing", "tests", "errors", "Failures", "Tests", "# pass", "ℹ fail", "in", "In a line 3",
        "a.rs:1:2: x", " failed]", "make[1]: *** x", "Found 3 errors", "Generated x app", "issues", "é", "test a ... ok",
        "Success: no issues found",
    ];

    proptest! {
        #[test]
        fn words_that_count_are_seen_in_their_lines(lines in proptest::collection::vec("(ail|ass|rror|x| ){0,4}", 0..9)) {
            let output = lines.join("\n");
            let mut glance = Glance::of(RunKind::Test, output.as_bytes());
            let mut from = 0;
            for line in &lines {
                let holds = glance.at(line.as_bytes(), from..from + line.len());
                from += line.len() + 1;
                prop_assert_eq!(holds.is_some_and(|holds| holds.counts), contains(line, COUNTED.words), "{:?}", lines);
            }
        }

        #[test]
        fn a_glance_is_never_wrong(parts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6)) {
            let phrases = [&TESTS, &BUILDS, &LINTS].into_iter().flat_map(|phrases| {
                let inside = [&phrases.fails_inside, &phrases.passes_inside].map(|needles| needles.words);
                let starts = [&phrases.fails_at_start, &phrases.passes_at_start].map(|begin| begin.phrases);
                [inside, starts].concat()
            });
            let all: Vec<&str> = phrases.chain([BREAKING, PARTS]).flatten().copied().collect();
            let line: String = parts.iter().map(|part| *part.get(&all)).collect();
            for kind in [RunKind::Test, RunKind::Build, RunKind::Lint] {
                let whole = bare(&line);
                if whole.is_empty() || Glance::of(kind, line.as_bytes()).at(line.as_bytes(), 0..line.len()).is_some() {
                    continue;
                }
                prop_assert_eq!(task_and_text(whole), (None, whole));
                let (holds, mut tap) = (Holds { phrases: true, counts: true }, Tap::default());
                let says = match kind {
                    RunKind::Test => of_tests(whole, holds, &mut tap),
                    RunKind::Build => of_build(whole, holds),
                    RunKind::Lint => of_lint(whole, holds),
                };
                prop_assert_eq!((says, tap.plan, tap.ok), (Says::Nothing, None, 0), "{}", line);
            }
        }
    }
}
