//! Redacted text made fit for a reader: without what steers a terminal or cannot be seen, and cut where it is too long.

use super::{Redacted, Rules, redact};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

/// Takes everything private out of a text, then what cannot be seen: escapes of terminals, control and invisible
/// characters. Newlines and tabs stay.
pub fn redact_visible(text: &str, rules: &Rules) -> Redacted<String> {
    redact(text, rules).visible(rules)
}

impl Redacted<String> {
    /// The text without what cannot be seen.
    #[must_use]
    pub fn visible(self, rules: &Rules) -> Redacted<String> {
        match visible(&self.0) {
            Cow::Borrowed(_) => self,
            // What was apart may have come together.
            Cow::Owned(text) => redact(&text, rules),
        }
    }

    /// A part of it, grown to whole characters.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Redacted<String> {
        let Range { mut start, mut end } = range;
        end = end.min(self.0.len());
        start = start.min(end);
        while !self.0.is_char_boundary(start) {
            start -= 1;
        }
        while !self.0.is_char_boundary(end) {
            end += 1;
        }
        Redacted(self.0.get(start..end).unwrap_or_default().to_owned())
    }

    /// The text with a word of ours replaced by another one, in whatever case it is written.
    #[must_use]
    pub fn replaced(self, word: &'static str, other: &'static str) -> Redacted<String> {
        let lower = self.0.to_ascii_lowercase();
        if memchr::memmem::find(lower.as_bytes(), word.as_bytes()).is_none() {
            return self;
        }
        let mut out = String::with_capacity(self.0.len());
        let mut at = 0;
        for found in memchr::memmem::find_iter(lower.as_bytes(), word.as_bytes()) {
            out.push_str(self.0.get(at..found).unwrap_or_default());
            out.push_str(other);
            at = found + word.len();
        }
        out.push_str(self.0.get(at..).unwrap_or_default());
        Redacted(out)
    }

    /// The text with its middle cut out and a mark in its place that says how much, so that what stays weighs about
    /// `most` (see [`weight`]). The end is given a third.
    #[must_use]
    pub fn cut(&self, most: usize) -> Redacted<String> {
        let mut out = String::new();
        cut_into(&mut out, &self.0, most);
        Redacted(out)
    }
}

/// What a text weighs: a quarter of a token for each ASCII character, a whole one for each other.
pub fn weight(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let wide = text.bytes().filter(|byte| *byte >= 0xC0).count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii + 4 * wide
}

/// What the mark of a cut weighs at most.
pub const MARK_WEIGHT: usize = 60;

/// Writes a text, or its beginning and its end with a mark in between. Gives the number of characters that were cut.
pub(super) fn cut_into(out: &mut String, text: &str, most: usize) -> usize {
    if weight(text) <= most {
        out.push_str(text);
        return 0;
    }
    let head = whole_lines_front(text, place(text.chars(), most - most / 3));
    let tail = whole_lines_back(text, text.len() - place(text.chars().rev(), most / 3)).max(head);
    let cut = text.get(head..tail).unwrap_or_default().chars().count();
    out.push_str(text.get(..head).unwrap_or_default());
    if !out.is_empty() && !out.ends_with('\n') && head > 0 {
        out.push(' ');
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "[… {} characters cut …]", grouped(cut));
    let rest = text.get(tail..).unwrap_or_default();
    if !rest.is_empty() {
        out.push(if text.get(..tail).is_some_and(|before| before.ends_with('\n')) { '\n' } else { ' ' });
    }
    out.push_str(rest);
    cut
}

/// How many bytes of these characters weigh no more than `most`.
fn place(characters: impl Iterator<Item = char>, most: usize) -> usize {
    let mut weighs = 0;
    characters
        .take_while(|c| {
            weighs += if c.is_ascii() { 1 } else { 4 };
            weighs <= most
        })
        .map(char::len_utf8)
        .sum()
}

/// Back to the end of a line, where one is near.
fn whole_lines_front(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memrchr(b'\n', before).map(|line| line + 1).filter(|line| *line * 4 >= at * 3).unwrap_or(at)
}

/// On to the beginning of a line, where one is near.
fn whole_lines_back(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', after)
        .map(|line| line + 1)
        .filter(|line| *line * 4 <= after.len())
        .map_or(at, |line| at + line)
}

/// A number with its thousands apart: 12,340.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    digits.char_indices().fold(String::new(), |mut out, (at, digit)| {
        if at > 0 && at % 3 == first {
            out.push(',');
        }
        out.push(digit);
        out
    })
}

fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) || c == '\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' => skip_escape(&mut characters),
            // A line that is written over is a line.
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Passes over the rest of a terminal's escape sequence.
fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while characters.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
            characters.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
        }
        Some(']' | 'P' | '_' | '^') => {
            characters.next();
            while let Some(c) = characters.next_if(|c| *c != '\n') {
                if c == '\u{7}' {
                    return;
                }
                if c == '\u{1b}' {
                    characters.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some('(' | ')') => {
            characters.next();
            characters.next_if(char::is_ascii_alphanumeric);
        }
        _ => {
            characters.next_if(|c| matches!(c, '7' | '8' | '=' | '>' | 'c' | 'D' | 'E' | 'H' | 'M' | 'Z'));
        }
    }
}

/// Whether a character cannot be seen, or steers how others are: controls, zero width, direction, tags, fillers.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' | ' '..='~' => false,
        _ => matches!(
            c,
            '\0'..='\u{1f}'
                | '\u{7f}'..='\u{9f}'
                | '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_seen_is_taken_out() {
        let rules = Rules::default();
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("50%\r100%\r\n", "50%\n100%\n"),
            ("a\u{200b}b\u{202e}c\u{e0041}d\0", "abcd"),
        ] {
            assert_eq!(redact_visible(text, &rules).as_str(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_secret_that_an_escape_tore_apart_is_found() {
        let torn = "ghp_16C7e42F292c\u{1b}[0m6912E7710c838347Ae178B4a";
        let shown = redact_visible(torn, &Rules::default());
        assert!(shown.as_str().starts_with("<SECRET:github:"), "{shown}");
    }

    #[test]
    fn a_cut_says_its_size() {
        let text = redact(&"0123456789".repeat(2000), &Rules::default());
        let cut = text.cut(300);
        assert!(cut.as_str().contains("[… 19,700 characters cut …]"), "{cut}");
        assert_eq!(text.cut(20_000), text);
    }

    proptest! {
        #[test]
        fn a_cut_weighs_no_more_than_asked_and_its_mark(text in "[a-zé中\n ]{0,400}", most in 0usize..300) {
            let cut = redact(&text, &Rules::default()).cut(most);
            prop_assert!(weight(cut.as_str()) <= most + MARK_WEIGHT);
        }

        #[test]
        fn nothing_hidden_is_left(text in "\\PC{0,80}|[\\x00-\\x20\u{200b}\u{202e}\\[0-9m]{0,40}") {
            let shown = redact_visible(&text, &Rules::default());
            prop_assert!(!shown.as_str().chars().any(is_hidden));
        }
    }
}
