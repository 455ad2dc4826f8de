//! What of a prompt is the person's own words: not the code, logs and quotes that came along.
//!
//! People paste a stack trace and ask one question about it. Cues and reactions are looked for in what is left when the
//! paste is taken out, at the beginning and at the end, where people say what they want. That something was pasted is
//! kept: it is context, and a pasted error is a report.

use std::borrow::Cow;
use std::ops::ControlFlow;

/// How much of a prompt's beginning is looked at, and how much of its end.
const HEAD_BYTES: usize = 900;
const TAIL_BYTES: usize = 500;
/// A run of lines that do not read like sentences is a paste from this many on.
const PASTED_LINES: usize = 6;

/// A prompt, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech<'a> {
    /// The person's own words, with plain apostrophes, and in lower case where that takes more than ASCII.
    pub words: Cow<'a, str>,
    /// Code, a log or a quote came along.
    pub pasted: bool,
    /// What came along says that something failed.
    pub pasted_error: bool,
    /// How many steps the person numbered.
    pub steps: u32,
}

/// Takes a prompt apart.
pub fn speech(prompt: &str) -> Speech<'_> {
    let prompt = prompt.trim();
    // Most prompts are one short line, and hold nothing but words.
    if prompt.len() <= HEAD_BYTES && !prompt.contains('\n') && !is_pasted(prompt) {
        return Speech { words: plain(prompt), ..Speech::default() };
    }
    let (head, tail) = ends(prompt);
    let mut speech = Speech::default();
    let mut words = String::new();
    for part in [head, tail] {
        let _: ControlFlow<()> = own_words(part, &mut speech, &mut |line| {
            words.push_str(line);
            words.push('\n');
            ControlFlow::Continue(())
        });
    }
    // Nothing stands before the first line, which was trimmed.
    words.truncate(words.trim_end().len());
    speech.words = Cow::Owned(plain(&words).into_owned());
    speech
}

/// What `take` makes of the first of a prompt's own lines that it makes something of. The lines are as they were written.
pub fn first_line<'p, T>(prompt: &'p str, mut take: impl FnMut(&'p str) -> Option<T>) -> Option<T> {
    let mut say = |line: &'p str| take(line).map_or(ControlFlow::Continue(()), ControlFlow::Break);
    own_words(prompt, &mut Speech::default(), &mut say).break_value()
}

/// The beginning of a prompt and, where it is long, its end, both cut at a line or a space.
fn ends(prompt: &str) -> (&str, &str) {
    if prompt.len() <= HEAD_BYTES + TAIL_BYTES {
        return (prompt, "");
    }
    let bytes = prompt.as_bytes();
    let cut = |from: usize, forward: bool| {
        let gap = |byte: &u8| byte.is_ascii_whitespace();
        let at = if forward {
            bytes[from..].iter().position(gap).map(|at| from + at)
        } else {
            bytes[..from].iter().rposition(gap)
        };
        let mut at = at.unwrap_or(from);
        while !prompt.is_char_boundary(at) {
            at += 1;
        }
        at
    };
    let (end, start) = (cut(HEAD_BYTES, false), cut(prompt.len() - TAIL_BYTES, true));
    (prompt.get(..end).unwrap_or(prompt), prompt.get(start.max(end)..).unwrap_or_default())
}

/// Gives `say` the lines that are the person's own, until it has enough.
fn own_words<'t, T>(
    text: &'t str,
    speech: &mut Speech<'_>,
    say: &mut impl FnMut(&'t str) -> ControlFlow<T>,
) -> ControlFlow<T> {
    let mut fence: Option<&str> = None;
    // Lines that may be a paste: one or two are somebody's short lines, many are not.
    let mut unsure: Vec<&str> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        let mark = match trimmed.as_bytes().first() {
            Some(b'`' | b'~' | b'"') => ["```", "~~~", "\"\"\""].into_iter().find(|mark| trimmed.starts_with(mark)),
            _ => None,
        };
        match (fence, mark) {
            (Some(open), _) => {
                note_error(trimmed, speech);
                if trimmed.starts_with(open) || trimmed.ends_with(open) {
                    fence = None;
                }
                continue;
            }
            (None, Some(mark)) => {
                speech.pasted = true;
                // A fence that opens and closes on one line holds all of it.
                let closed = trimmed.len() > mark.len() && trimmed.get(mark.len()..).unwrap_or_default().contains(mark);
                fence = (!closed).then_some(mark);
                continue;
            }
            (None, None) => {}
        }
        if trimmed.is_empty() {
            settle(&mut unsure, speech, say)?;
            continue;
        }
        if is_pasted(line) {
            speech.pasted = true;
            note_error(trimmed, speech);
            continue;
        }
        if is_step(trimmed) {
            speech.steps += 1;
        }
        if reads_like_words(line) {
            settle(&mut unsure, speech, say)?;
            say(trimmed)?;
        } else {
            unsure.push(trimmed);
        }
    }
    settle(&mut unsure, speech, say)
}

fn settle<'t, T>(
    unsure: &mut Vec<&'t str>,
    speech: &mut Speech<'_>,
    say: &mut impl FnMut(&'t str) -> ControlFlow<T>,
) -> ControlFlow<T> {
    if unsure.is_empty() {
        return ControlFlow::Continue(());
    }
    let pasted = unsure.len() >= PASTED_LINES;
    speech.pasted |= pasted;
    for line in unsure.drain(..) {
        if pasted {
            note_error(line, speech);
        } else {
            say(line)?;
        }
    }
    ControlFlow::Continue(())
}

/// A line that people do not write by hand: a quote, a log line, a stack frame, a diff, a shell's prompt, a tag.
fn is_pasted(line: &str) -> bool {
    let trimmed = line.trim_start();
    let bytes = trimmed.as_bytes();
    let Some(&first) = bytes.first() else {
        return false;
    };
    let second = bytes.get(1).copied().unwrap_or_default();
    match first {
        b'>' | b'{' | b'}' | b'|' => true,
        b'<' => second == b'/' || second.is_ascii_alphabetic() && trimmed.trim_end().ends_with('>'),
        b'@' => second == b'@',
        b'$' | b'%' => second == b' ',
        b'+' | b'-' => trimmed.starts_with("+++ ") || trimmed.starts_with("--- ") || second == b'\t',
        // A time in front is a log.
        b'0'..=b'9' => bytes.len() >= 8 && (is_date(bytes) || is_clock(bytes)),
        b'[' => is_labelled(&bytes[1..]) || bytes.len() >= 9 && (is_date(&bytes[1..]) || is_clock(&bytes[1..])),
        b'a' => trimmed.starts_with("at ") && trimmed.ends_with(')') && trimmed.contains(':'),
        b'F' => trimmed.starts_with("File \"") || trimmed.starts_with("FAIL\t") || trimmed.starts_with("FAIL: "),
        b'T' => trimmed.starts_with("Traceback (most recent"),
        b'E' | b'e' => is_error_line(trimmed),
        b'=' => trimmed.starts_with("=== ") || trimmed.starts_with("===="),
        b'g' => trimmed.starts_with("goroutine ") && trimmed.ends_with(':'),
        b'p' | b't' => trimmed.starts_with("panic: ") || trimmed.starts_with("thread '"),
        0xE2 => is_drawn(trimmed),
        _ => false,
    }
}

/// Boxes, bullets of terminals and prompts of shells.
fn is_drawn(line: &str) -> bool {
    let drawn =
        |c: char| matches!(c, '│' | '─' | '├' | '└' | '┌' | '╭' | '╰' | '⎿' | '⏺' | '❯' | '➜' | '⨯' | '✗' | '✘' | '┃');
    line.chars().next().is_some_and(drawn)
}

/// `Error: …`, `error[E0308]: …`, `ERROR …`: what a program prints, not how a person begins a sentence.
fn is_error_line(line: &str) -> bool {
    ["Error: ", "error: ", "error[", "ERROR ", "ERROR: ", "Exception in "].iter().any(|mark| line.starts_with(mark))
}

/// `[lint] …`, `[INFO] …`: what a task or a log is told by.
fn is_labelled(bytes: &[u8]) -> bool {
    let label =
        bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-')).count();
    label >= 2 && bytes[label..].starts_with(b"] ")
}

fn is_date(bytes: &[u8]) -> bool {
    bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && matches!(bytes[4], b'-' | b'/')
        && bytes[5].is_ascii_digit()
        && matches!(bytes[7], b'-' | b'/')
}

fn is_clock(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && bytes[0].is_ascii_digit() && bytes[2] == b':' && bytes[3].is_ascii_digit() && bytes[5] == b':'
}

/// `1. this`, `2) that`.
fn is_step(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=2).contains(&digits) && matches!(line.as_bytes().get(digits), Some(b'.' | b')'))
}

/// Whether a line is made of words more than of signs. Deeply indented lines are code.
fn reads_like_words(line: &str) -> bool {
    let indent = line.len() - line.trim_start().len();
    if indent >= 4 || line.starts_with('\t') {
        return false;
    }
    let line = line.trim();
    let look = line.chars().take(LOOK_CHARS);
    let letters = look.clone().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let signs = look.filter(|c| SIGNS.contains(*c)).count();
    signs <= 1 || signs * 8 <= letters
}

/// How much of a line tells whether it reads like words.
const LOOK_CHARS: usize = 160;

/// Signs that code is full of.
const SIGNS: &str = "{}()=;<>[]|\\/_:\"";

/// Notes a line of a paste that says that something failed.
fn note_error(line: &str, speech: &mut Speech<'_>) {
    const MARKS: [&str; 8] =
        ["Traceback (most recent", "panicked at", "--- FAIL", "FAILED", "Error: ", "error: ", "panic: ", "Exception"];
    speech.pasted_error |= is_error_line(line) || MARKS.iter().any(|mark| line.contains(mark));
}

/// Words with plain apostrophes, and in lower case where that takes more than ASCII.
pub(super) fn plain(words: &str) -> Cow<'_, str> {
    if words.chars().any(|c| c == '’' || !c.is_ascii() && c.is_uppercase()) {
        return Cow::Owned(words.to_lowercase().replace('’', "'"));
    }
    Cow::Borrowed(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(prompt: &str) -> String {
        speech(prompt).words.into_owned()
    }

    #[test]
    fn what_was_pasted_is_not_said() {
        for (prompt, said) in [
            ("Fix the parser", "Fix the parser"),
            ("look:\n```\nit still fails\n```\nwhat is this?", "look:\nwhat is this?"),
            ("> still broken\nwho said that?", "who said that?"),
            ("2026-01-05T10:00:00Z still broken\nwhy?", "why?"),
            ("[10:00:01] never mind\nwhy?", "why?"),
            ("[lint] still broken\nwhy?", "why?"),
            ("[x] this one", "[x] this one"),
            ("Error: still broken\n    at run (a.js:1:2)\nwhy?", "why?"),
            ("Traceback (most recent call last):\n  File \"a.py\", line 3\nwhy?", "why?"),
            ("❯ make\n│ still broken\nwhy?", "why?"),
            ("<log>\nhm\n</log>\nwhy?", "hm\nwhy?"),
            ("Don’t stop", "don't stop"),
            ("- one thing\n- another", "- one thing\n- another"),
        ] {
            assert_eq!(words(prompt), said, "{prompt}");
        }
    }

    #[test]
    fn a_pasted_error_is_a_report() {
        assert!(speech("see\n```\n--- FAIL: TestParse\n```").pasted_error);
        assert!(speech("Error: no such file\nwhat now").pasted_error);
        assert!(!speech("see\n```\nlet a = 1;\n```").pasted_error);
        assert!(!speech("the error is gone").pasted_error);
    }

    #[test]
    fn a_long_run_of_code_is_a_paste_and_a_line_of_it_is_not() {
        let code = "    let a = b(c);\n".repeat(PASTED_LINES);
        assert!(speech(&format!("see:\n{code}")).pasted);
        assert_eq!(words(&format!("see:\n{code}\nwhy?")), "see:\nwhy?");
        assert_eq!(words("see:\n    let a = b(c);\nwhy?"), "see:\nlet a = b(c);\nwhy?");
    }

    #[test]
    fn a_long_prompt_is_looked_at_from_both_ends() {
        let long = format!("fix the parser\n{}\nand then add a test", "x y ".repeat(2000));
        let said = words(&long);
        assert!(said.starts_with("fix the parser") && said.ends_with("and then add a test"), "{said}");
        assert!(said.len() < HEAD_BYTES + TAIL_BYTES + 10);
        // Cutting is safe wherever it falls.
        for size in 400..500 {
            let _ = speech(&"ä中😀".repeat(size));
        }
    }

    #[test]
    fn a_letter_beyond_ascii_changes_nothing_else() {
        for line in ["fn a(b: C) -> D { e }", "please look at the (first) line", "a = b;", "{}()=;<>[]|\\/_:\"", ""] {
            let plain = reads_like_words(&line.repeat(9));
            assert_eq!(reads_like_words(&format!("{}é", line.repeat(9))), plain, "{line}");
        }
    }

    #[test]
    fn numbered_steps_are_counted() {
        assert_eq!(speech("do:\n1. this\n2. that\n3) those").steps, 3);
    }
}
