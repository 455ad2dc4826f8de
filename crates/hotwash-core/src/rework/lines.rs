//! The hash by which lines of code are compared: the text without its white space, for lines that say something.
//!
//! A text is hashed as it was recorded, 64 bytes at a time, and escapes are resolved on the way: the same line has
//! the same hash in a transcript and in a repository, however it is indented. 31 bits are kept. A line is looked for
//! among the lines of one file, or among those that one repository's sessions added in two weeks. That is some 200,000
//! at worst, where a hundred lines meet a stranger once in a hundred times, and then one line of them is misjudged.

use crate::text::Text;
use wide::u8x16;

/// How many letters and digits a line must have to say something: a brace and a blank do not.
const SAYS: u32 = 3;

/// The hash of a line that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
}

/// Shows `each` the hash of every line of a text, or nothing for a line that says nothing. A newline at the end begins
/// no further line.
pub fn each_line(text: Text<'_>, each: impl FnMut(Option<Line>)) {
    Scanner::new().each_line(text, each);
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// As many bytes as a word of the machine has bits.
const BLOCK: usize = 64;
/// So many bytes are copied at once: more than nearly all runs between blanks have.
const COPY: usize = BLOCK / 2;

/// Hashes the lines of one text after the other, in the same room.
pub(super) struct Scanner {
    line: Hasher,
    /// The last block of a text, and whatever stood there before.
    last: [u8; BLOCK + COPY],
}

impl Scanner {
    pub(super) fn new() -> Self {
        Scanner { line: Hasher::new(), last: [0; _] }
    }

    /// The hash of a line that is the rest of a text behind its first byte, such as the sign of a patch.
    pub(super) fn line_behind_sign(&mut self, text: Text<'_>) -> Option<Line> {
        let mut hash = None;
        self.hash(text.raw().get(1..).unwrap_or_default(), text.is_escaped(), |line| hash = hash.or(line));
        hash
    }

    /// As [`each_line`].
    pub(super) fn each_line(&mut self, text: Text<'_>, each: impl FnMut(Option<Line>)) {
        self.hash(text.raw(), text.is_escaped(), each);
    }

    fn hash(&mut self, bytes: &[u8], escaped: bool, mut each: impl FnMut(Option<Line>)) {
        let Scanner { line, last } = self;
        // Where the next block begins, and where the line under way does.
        let (mut at, mut began) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let block = rest.first_chunk().unwrap_or_else(|| {
                last[..rest.len()].copy_from_slice(rest);
                last
            });
            let (mut blanks, mut stops) = marks(block, escaped);
            // What is behind the end is blank.
            let behind = u64::MAX.checked_shl(rest.len().min(BLOCK) as u32).unwrap_or(0);
            blanks |= behind;
            stops &= !behind;
            // What of the block belongs to the line, and where the next block begins.
            let (mut from, mut to, mut next) = (0, BLOCK, BLOCK);
            while stops != 0 {
                let stop = stops.trailing_zeros() as usize;
                stops &= stops - 1;
                let length = match rest.get(stop + 1) {
                    _ if !escaped => 1,
                    Some(b'"' | b'\\' | b'/') if stop + 1 < BLOCK => {
                        // The character behind the backslash stands for itself.
                        blanks |= 1 << stop;
                        stops &= !(2 << stop);
                        continue;
                    }
                    Some(b't' | b'r') if stop + 1 < BLOCK => {
                        blanks |= 3 << stop;
                        continue;
                    }
                    Some(b'n') => 2,
                    _ => {
                        line.block(block, from, stop, blanks);
                        next = stop + escape(&rest[stop..], line);
                        to = from;
                        break;
                    }
                };
                line.block(block, from, stop, blanks);
                each(line.finish());
                from = stop + length;
                began = at + from;
            }
            line.block(block, from, to, blanks);
            at += next.max(from);
        }
        if began < bytes.len() {
            each(line.finish());
        }
    }
}

/// Where a block has blanks, and where lines end or escapes begin: a bit for each byte.
fn marks(block: &[u8; BLOCK + COPY], escaped: bool) -> (u64, u64) {
    let (mut blanks, mut stops) = (0, 0);
    let (chunks, _) = block.as_chunks();
    for (n, chunk) in chunks.iter().take(BLOCK / 16).enumerate() {
        let bytes = u8x16::new(*chunk);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let (blank, stop) = if escaped {
            (is(b' ').to_bitmask(), is(b'\\').to_bitmask())
        } else {
            ((is(b' ') | is(b'\t') | is(b'\r')).to_bitmask(), is(b'\n').to_bitmask())
        };
        blanks |= u64::from(blank) << (16 * n);
        stops |= u64::from(stop) << (16 * n);
    }
    (blanks, stops)
}

/// Takes in the escape at the beginning of `bytes`, or the run of them that stands for characters outside ASCII, and
/// says how long it is.
fn escape(bytes: &[u8], line: &mut Hasher) -> usize {
    let length = match bytes.get(1) {
        None => 1,
        Some(b'u') => {
            // Whoever escapes one character escapes the next one too, and two may be one.
            let mut length = 0;
            while bytes[length..].starts_with(b"\\u") {
                length = bytes.len().min(length + 6);
            }
            length
        }
        Some(b't' | b'r' | b'n') => return 2,
        Some(quoted @ (b'"' | b'\\' | b'/')) => {
            line.plain(&[*quoted]);
            return 2;
        }
        Some(_) => 2,
    };
    let text = Text::json(&bytes[..length]).to_str();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    text.as_bytes().split(blank).for_each(|plain| line.plain(plain));
    length
}

/// Hashes a line from its pieces, whatever their lengths are.
struct Hasher {
    state: u64,
    /// Letters and digits so far, at least as far as it matters.
    says: u32,
    /// Bytes that were not hashed yet, with room for another block.
    rest: [u8; 2 * BLOCK + COPY],
    length: usize,
}

impl Hasher {
    const START: u64 = 0x9E37_79B9_7F4A_7C15;

    fn new() -> Self {
        Hasher { state: Self::START, says: 0, rest: [0; _], length: 0 }
    }

    /// Takes in some bytes of a block, less the blanks among them.
    fn block(&mut self, block: &[u8; BLOCK + COPY], from: usize, to: usize, blanks: u64) {
        if from >= to {
            return;
        }
        let kept = !blanks & !0 << from & !0 >> (BLOCK - to);
        // Where runs of what is kept begin, each with the blank behind it.
        let mut edges = kept ^ kept << 1;
        let mut length = self.length;
        while edges != 0 {
            let start = edges.trailing_zeros() as usize;
            edges &= edges - 1;
            let end = edges.trailing_zeros() as usize;
            edges &= edges.wrapping_sub(1);
            // More than the run may be copied: what follows is written over it.
            copy(block, start, &mut self.rest, length);
            if end - start > COPY {
                copy(block, start + COPY, &mut self.rest, length + COPY);
            }
            length += end - start;
        }
        self.length = length;
        if self.length > BLOCK {
            self.shift();
        }
    }

    /// Takes in bytes without blanks.
    fn plain(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(BLOCK) {
            self.rest[self.length..self.length + bytes.len()].copy_from_slice(bytes);
            self.length += bytes.len();
            if self.length > BLOCK {
                self.shift();
            }
        }
    }

    /// Hashes what makes whole words, and says where the rest begins.
    fn words(&mut self) -> usize {
        let (words, rest) = self.rest[..self.length].as_chunks();
        let (mut state, mut says) = (self.state, self.says);
        for word in words {
            let word = u64::from_le_bytes(*word);
            if says < SAYS {
                says += letters(word);
            }
            state = fold(state ^ word);
        }
        (self.state, self.says) = (state, says);
        self.length - rest.len()
    }

    /// Makes room for another block.
    fn shift(&mut self) {
        let whole = self.words();
        self.rest.copy_within(whole..self.length, 0);
        self.length -= whole;
    }

    /// The hash of the line, if it says something. Another line begins.
    fn finish(&mut self) -> Option<Line> {
        let whole = self.words();
        let last = self.rest[whole..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let last = last & ((1 << (8 * (self.length - whole))) - 1);
        let says = self.says >= SAYS || self.says + letters(last) >= SAYS;
        let state = std::mem::replace(&mut self.state, Self::START);
        (self.says, self.length) = (0, 0);
        says.then(|| Line((fold(state ^ last) >> 33) as u32))
    }
}

/// Copies some bytes of a block. There is room for another block, so the remainder is the place itself and only spares
/// looking whether it is.
#[inline]
fn copy(block: &[u8; BLOCK + COPY], at: usize, rest: &mut [u8; 2 * BLOCK + COPY], place: usize) {
    let to = rest[place % (2 * BLOCK)..].first_chunk_mut::<COPY>();
    if let (Some(to), Some(from)) = (to, block[at % BLOCK..].first_chunk::<COPY>()) {
        *to = *from;
    }
}

/// How many bytes of a word are letters, digits or parts of a character outside ASCII.
fn letters(word: u64) -> u32 {
    let low = word & !HIGHS;
    // Adding to seven bits carries into the eighth, and no further.
    let at_least = |low: u64, first: u8| low + ONES * u64::from(0x80 - first);
    let lower = low | (ONES * 0x20);
    let letter = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
    let digit = at_least(low, b'0') & !at_least(low, b'9' + 1);
    // Adds the bits up in the highest byte.
    ((((letter | digit | word) & HIGHS) >> 7).wrapping_mul(ONES) >> 56) as u32
}

fn fold(word: u64) -> u64 {
    let product = u128::from(word) * 0xA076_1D64_78BD_642F;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod prism_rework {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Option<Line> {
        let mut lines = Vec::new();
        each_line(Text::plain(text), |line| lines.push(line));
        assert!(lines.len() <= 1, "{text:?}");
        lines.first().copied().flatten()
    }

    #[test]
    fn white_space_makes_no_other_line() {
        let same = ["if a == b {", "    if a == b {", "\tif  a\t==b{ \r", "if a==b{"];
        for text in same {
            assert_eq!(line(text), line(same[0]), "{text:?}");
        }
        assert_ne!(line("if a == c {"), line(same[0]));
        assert_ne!(line("if b == a {"), line(same[0]));
    }

    #[test]
    fn a_line_that_says_nothing_has_no_hash() {
        for text in ["", "   ", "}", "});", "a;", "x1", "// --", "\t\t}"] {
            assert_eq!(line(text), None, "{text:?}");
        }
        for text in ["end", "x = 10", "é = 1", "日", "  } else {"] {
            assert!(line(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_newline_at_the_end_begins_no_line() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2), ("\n ", 2)] {
            let mut lines = 0;
            each_line(Text::plain(text), |_| lines += 1);
            assert_eq!(lines, count, "{text:?}");
        }
    }

    /// The hash by its definition: of the bytes that are no white space, eight at a time.
    fn plainly(line: &str) -> Option<Line> {
        let bytes: Vec<u8> = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r')).collect();
        let number = |word: &[u8]| word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let (words, last) = bytes.as_chunks::<8>();
        let state = words.iter().fold(Hasher::START, |state, word| fold(state ^ number(word)));
        let says: u32 = bytes.chunks(8).map(|word| letters(number(word))).sum();
        (says >= SAYS).then(|| Line((fold(state ^ number(last)) >> 33) as u32))
    }

    proptest! {
        #[test]
        fn blocks_make_no_difference(text in "([a-z]{0,9} {0,12}|[a-z]{15,80}|[\t\r(;\"\\\\é中]{1,3}|\n){0,60}") {
            let expected: Vec<_> = text.split_inclusive('\n').map(|line| plainly(line.trim_end_matches('\n'))).collect();
            let quoted = serde_json::to_string(&text).unwrap();
            for text in [Text::plain(&text), Text::json(&quoted.as_bytes()[1..quoted.len() - 1])] {
                let mut lines = Vec::new();
                each_line(text, |line| lines.push(line));
                prop_assert_eq!(&lines, &expected);
            }
        }

        #[test]
        fn a_line_is_the_same_escaped_and_plain(text in "([a-z0-9 ]{0,9}|[\\\\\"/\t\r\n]|[é中😀\u{1}])*") {
            let quoted = serde_json::to_string(&text).unwrap();
            let mut ascii = String::new();
            for unit in quoted.encode_utf16() {
                match u8::try_from(unit) {
                    Ok(byte @ b' '..=b'~') => ascii.push(char::from(byte)),
                    _ => ascii.extend(["\\u", &format!("{unit:04x}")]),
                }
            }
            let lines = |text: Text<'_>| {
                let mut lines = Vec::new();
                each_line(text, |line| lines.push(line));
                lines
            };
            let plain = lines(Text::plain(&text));
            prop_assert_eq!(plain.len(), text.lines().count());
            for quoted in [quoted, ascii] {
                prop_assert_eq!(&lines(Text::json(&quoted.as_bytes()[1..quoted.len() - 1])), &plain);
            }
        }

        #[test]
        fn only_white_space_is_left_out(text in "[ \ta-c(]{0,30}", other in "[ \ta-c(]{0,30}") {
            let bare = |text: &str| text.replace([' ', '\t'], "");
            let says = bare(&text).replace('(', "").len() >= 3;
            prop_assert_eq!(line(&text).is_some(), says);
            if says {
                prop_assert_eq!(line(&text) == line(&other), bare(&text) == bare(&other));
            }
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            each_line(Text::json(&bytes), |_| {});
            Scanner::new().line_behind_sign(Text::json(&bytes));
        }
    }
}
