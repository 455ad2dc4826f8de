//! What a command printed, cut into lines. It is read as it was recorded where that can be done: most lines say nothing,
//! and need not be decoded to see it.

use memchr::memchr2;
use std::borrow::Cow;
use std::ops::Range;
use wide::u8x16;

use super::lines::undecorated;
use crate::text::{Body, Text};

/// Lines of an output are longer than this as a rule.
const LINE_BYTES: usize = 32;

/// What a command printed.
pub(crate) struct Output<'o> {
    /// As recorded, or decoded where an escape may hide a letter.
    text: Cow<'o, [u8]>,
    escaped: bool,
    /// The same without escape sequences, where it has some. They, and newlines that are not escaped, are only looked for
    /// in what is decoded.
    undecorated: Option<String>,
    /// Where its lines end.
    ends: Vec<usize>,
}

impl<'o> Output<'o> {
    /// What a command is recorded to have printed.
    pub(crate) fn of(body: &Body<'o>) -> Self {
        if let [text] = *body.parts()
            && text.is_escaped()
            && memchr2(0x1b, b'\n', text.raw()).is_none()
            && let Some(ends) = line_ends(text.raw(), true)
        {
            return Output { text: Cow::Borrowed(text.raw()), escaped: true, undecorated: None, ends };
        }
        Output::decoded(body.to_str())
    }

    /// What a command printed, decoded.
    pub(super) fn decoded(text: Cow<'o, str>) -> Self {
        let undecorated = match undecorated(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(plain) => Some(plain),
        };
        let ends = line_ends(undecorated.as_deref().unwrap_or(&text).as_bytes(), false).unwrap_or_default();
        let text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        Output { text, escaped: false, undecorated, ends }
    }

    /// Whether it begins with some words, in which there is nothing to escape.
    pub(crate) fn begins_with(&self, words: &str) -> bool {
        self.text.starts_with(words.as_bytes())
    }

    /// Whether there is nothing but white space.
    pub(super) fn is_blank(&self) -> bool {
        self.recorded(&self.text).is_blank()
    }

    /// Its bytes, without escape sequences.
    pub(super) fn bytes(&self) -> &[u8] {
        self.undecorated.as_ref().map_or(&*self.text, String::as_bytes)
    }

    /// The places of its lines in them. A newline at the end begins no further line.
    pub(super) fn lines(&self) -> impl Iterator<Item = Range<usize>> {
        let newline = if self.escaped { 2 } else { 1 };
        let mut from = 0;
        let last = self.ends.last().map_or(0, |end| end + newline);
        let last = (last < self.bytes().len()).then(|| self.bytes().len());
        self.ends.iter().copied().chain(last).map(move |end| {
            let line = from..end;
            from = end + newline;
            line
        })
    }

    /// A line of it, in room that is used again.
    pub(super) fn line<'s>(&self, bytes: &'s [u8], room: &'s mut Vec<u8>) -> Cow<'s, str> {
        self.recorded(bytes).to_str_in(room)
    }

    fn recorded<'s>(&self, bytes: &'s [u8]) -> Text<'s> {
        if self.escaped { Text::json(bytes) } else { Text::verbatim(bytes) }
    }
}

/// As many bytes as a word has bits: line ends are looked for in so many at once.
const BLOCK: usize = 64;

/// Where the lines of a text end, or nothing where something is escaped beside blanks, quotes and backslashes.
fn line_ends(text: &[u8], escaped: bool) -> Option<Vec<usize>> {
    let mut ends = Vec::with_capacity(text.len() / LINE_BYTES);
    let mark = if escaped { b'\\' } else { b'\n' };
    let (blocks, rest) = text.as_chunks();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // Where the last escape ends.
    let mut behind = 0;
    for (n, block) in blocks.iter().chain([&last]).enumerate() {
        let mut marks = places(block, mark);
        while marks != 0 {
            let at = BLOCK * n + marks.trailing_zeros() as usize;
            marks &= marks - 1;
            if !escaped {
                ends.push(at);
            } else if at >= behind {
                behind = at + 2;
                match text.get(at + 1) {
                    Some(b'n') => ends.push(at),
                    Some(b't' | b'r' | b'"' | b'\\') => {}
                    _ => return None,
                }
            }
        }
    }
    Some(ends)
}

/// Where a byte stands in a block: a bit for each place.
fn places(block: &[u8; BLOCK], byte: u8) -> u64 {
    let (chunks, _) = block.as_chunks::<16>();
    let bits = |n: usize| u64::from(u8x16::new(chunks[n]).simd_eq(u8x16::splat(byte)).to_bitmask());
    bits(0) | bits(1) << 16 | bits(2) << 32 | bits(3) << 48
}
