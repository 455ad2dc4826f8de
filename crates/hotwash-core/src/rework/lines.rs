//! The hash by which lines of code are compared: the text without its white space, for lines that say something.
//!
//! The same line has the same hash in a transcript and in a repository, however it is indented. 31 bits are kept. A line
//! is looked for among the lines of one file, or among those that one repository's sessions added in two weeks. That is
//! some 200,000 at worst, where a hundred lines meet a stranger once in a hundred times, and then one line of them is
//! misjudged.

use serde::{Deserialize, Serialize};

/// How many letters and digits a line must have to say something: a brace and a blank do not.
const SAYS: usize = 3;

/// The hash of a line that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Line(u32);

impl Line {
    /// The largest there is.
    pub(super) const LAST: u32 = u32::MAX >> 1;

    /// The line with this number, which is cut to what a hash can be.
    pub fn new(number: u32) -> Line {
        Line(number & Line::LAST)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The hash of a line, or nothing for a line that says nothing: of its bytes but for white space, eight at a time.
    pub(super) fn of(line: &str) -> Option<Line> {
        const START: u64 = 0x9E37_79B9_7F4A_7C15;
        let bytes: Vec<u8> = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).collect();
        let says = bytes.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count();
        let (words, rest) = bytes.as_chunks();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let state = words.iter().chain([&last]).fold(START, |state, word| fold(state ^ u64::from_le_bytes(*word)));
        (says >= SAYS).then_some(Line((state >> 33) as u32))
    }
}

fn fold(word: u64) -> u64 {
    let product = u128::from(word) * 0xA076_1D64_78BD_642F;
    (product >> 64) as u64 ^ product as u64
}

/// The hash of every line of a text, or nothing for a line that says nothing. A newline at the end begins no further
/// line.
pub fn hashes(text: &str) -> impl Iterator<Item = Option<Line>> {
    text.split_inclusive('\n').map(Line::of)
}

#[cfg(test)]
mod prism_rework {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hash_stays_what_it_was() {
        // Hashes are kept in stores.
        for (line, hash) in [
            ("let x = 1;", 0x0da7_4c9f),
            ("    return a_rather_long_name(of_something);", 0x65ed_5db7),
            ("日本語", 0x50a9_644a),
        ] {
            assert_eq!(Line::of(line).map(Line::number), Some(hash), "{line:?}");
        }
    }

    #[test]
    fn white_space_makes_no_other_line() {
        let same = ["if a == b {", "    if a == b {", "\tif  a\t==b{ \r\n", "if a==b{"];
        for text in same {
            assert_eq!(Line::of(text), Line::of(same[0]), "{text:?}");
        }
        assert_ne!(Line::of("if a == c {"), Line::of(same[0]));
        assert_ne!(Line::of("if b == a {"), Line::of(same[0]));
    }

    #[test]
    fn a_line_that_says_nothing_has_no_hash() {
        for text in ["", "   ", "}", "});", "a;", "x1", "// --", "\t\t}"] {
            assert_eq!(Line::of(text), None, "{text:?}");
        }
        for text in ["end", "x = 10", "é = 1", "日", "  } else {"] {
            assert!(Line::of(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_newline_at_the_end_begins_no_line() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2), ("\n ", 2)] {
            assert_eq!(hashes(text).count(), count, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn only_white_space_is_left_out(text in "[ \ta-c(]{0,30}", other in "[ \ta-c(]{0,30}") {
            let bare = |text: &str| text.replace([' ', '\t'], "");
            let says = bare(&text).replace('(', "").len() >= 3;
            prop_assert_eq!(Line::of(&text).is_some(), says);
            if says {
                prop_assert_eq!(Line::of(&text) == Line::of(&other), bare(&text) == bare(&other));
            }
        }
    }
}
