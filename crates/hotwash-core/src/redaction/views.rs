//! The same text with one kind of disguise taken off: invisible characters, percent escapes, JSON escapes.
//!
//! A view remembers where each of its bytes came from, so that what is found in it is cut out of the original. Escapes
//! are undone only on the lines that have any; the other lines are read as they stand.

use std::ops::Range;
use wide::u8x16;

/// Which disguises a text may wear. One pass in blocks tells, and most texts wear none.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) control: bool,
    pub(super) wide: bool,
    pub(super) percent: bool,
    pub(super) backslash: bool,
}

impl Survey {
    /// Looks at the byte at a place.
    fn note(&mut self, text: &[u8], at: usize) {
        match text.get(at) {
            Some(b'%') => self.percent = true,
            Some(b'\\') => self.backslash = true,
            Some(&byte) if is_control(byte) => self.control = true,
            // Dashes and quotes begin like invisible characters.
            Some(&byte) if begins_invisible(byte) => self.wide |= invisible_at(text, at) > 0,
            _ => {}
        }
    }
}

pub(super) fn survey(text: &[u8]) -> Survey {
    let mut survey = Survey::default();
    let mut note = |from: usize, block: &[u8; 16]| {
        let bytes = u8x16::new(*block);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        // Many a block has the end of a line in it, and that is nothing to look at.
        let low = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes) & !is(b'\n');
        let invisible = is(0xc2) | is(0xe2) | is(0xef);
        let mut there = (low | is(b'%') | is(b'\\') | invisible).to_bitmask();
        while there != 0 {
            survey.note(text, from + there.trailing_zeros() as usize);
            there &= there - 1;
        }
    };
    let Some(last) = text.last_chunk() else {
        (0..text.len()).for_each(|at| survey.note(text, at));
        return survey;
    };
    let (blocks, _) = text.as_chunks();
    for (number, block) in blocks.iter().enumerate() {
        note(number * block.len(), block);
    }
    // The last block takes in some of the one before.
    note(text.len() - last.len(), last);
    survey
}

/// A decoded text and the way back.
pub(super) struct View {
    pub(super) text: String,
    segments: Vec<Segment>,
    source_len: usize,
}

struct Segment {
    decoded: usize,
    source: usize,
    kind: SegmentKind,
}

#[derive(PartialEq, Eq)]
enum SegmentKind {
    /// Byte for byte the source.
    Copied,
    /// Stands for the whole of its source.
    Escape,
}

impl View {
    fn new(source_len: usize) -> View {
        View { text: String::new(), segments: Vec::new(), source_len }
    }

    fn copy(&mut self, text: &str, range: Range<usize>) {
        if let Some(part) = text.get(range.clone())
            && !part.is_empty()
        {
            self.mark(range.start, SegmentKind::Copied);
            self.text.push_str(part);
        }
    }

    fn mark(&mut self, source: usize, kind: SegmentKind) {
        self.segments.push(Segment { decoded: self.text.len(), source, kind });
    }

    fn segment(&self, decoded: usize) -> Option<(usize, &Segment)> {
        let i = self.segments.partition_point(|s| s.decoded <= decoded).checked_sub(1)?;
        Some((i, self.segments.get(i)?))
    }

    /// The range of the source that a range of the view was made from.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        let start = match self.segment(range.start) {
            Some((_, s)) if s.kind == SegmentKind::Copied => s.source + (range.start - s.decoded),
            Some((_, s)) => s.source,
            None => 0,
        };
        let end = match self.segment(range.end.saturating_sub(1)) {
            Some((_, s)) if s.kind == SegmentKind::Copied => s.source + (range.end - s.decoded),
            Some((i, _)) => self.segments.get(i + 1).map_or(self.source_len, |next| next.source),
            None => self.source_len,
        };
        start..end.max(start)
    }
}

/// The text without its invisible and control characters, if it has any.
pub(super) fn without_invisible(text: &str, survey: Survey) -> Option<View> {
    if !survey.control && !survey.wide {
        return None;
    }
    let bytes = text.as_bytes();
    let mut view = View::new(text.len());
    let (mut from, mut at) = (0, 0);
    let mut any = false;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let step = if survey.control {
            rest.iter().position(|&byte| is_control(byte) || begins_invisible(byte))
        } else {
            memchr::memchr3(0xc2, 0xe2, 0xef, rest)
        };
        let Some(step) = step else {
            break;
        };
        at += step;
        let length = invisible_at(bytes, at);
        if length == 0 {
            at += 1;
            continue;
        }
        any = true;
        view.copy(text, from..at);
        at += length;
        from = at;
    }
    view.copy(text, from..text.len());
    any.then_some(view)
}

fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0c | 0x0e..=0x1f)
}

/// Whether an invisible character may begin with a byte.
fn begins_invisible(byte: u8) -> bool {
    matches!(byte, 0xc2 | 0xe2 | 0xef)
}

/// How many bytes of invisible matter start at `at`: a zero-width character, a control character, a terminal's colour.
fn invisible_at(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..).unwrap_or_default() {
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        [0xc2, 0xad, ..] => 2,
        [0x1b, b'[', rest @ ..] => {
            let body = rest.iter().take(16).take_while(|b| matches!(b, b'0'..=b'9' | b';' | b'?')).count();
            2 + body + usize::from(rest.get(body).is_some_and(u8::is_ascii_alphabetic))
        }
        [b'\t' | b'\n' | b'\r', ..] => 0,
        [0..0x20, ..] => 1,
        _ => 0,
    }
}

/// The lines that hold percent escapes, with those undone.
pub(super) fn without_percent(text: &str) -> Option<View> {
    unescape(text, b'%', percent_escape)
}

/// The lines that hold backslash escapes, with those undone.
pub(super) fn without_backslash(text: &str) -> Option<View> {
    unescape(text, b'\\', backslash_escape)
}

fn unescape(text: &str, mark: u8, decode: fn(&[u8]) -> Option<(char, usize)>) -> Option<View> {
    let bytes = text.as_bytes();
    let mut view = View::new(text.len());
    let mut any = false;
    let mut next_mark = memchr::memchr(mark, bytes);
    while let Some(first) = next_mark {
        let start = super::bytes::line_start(bytes, first);
        let end = memchr::memchr(b'\n', bytes.get(first..).unwrap_or_default()).map_or(bytes.len(), |i| first + i + 1);
        let (mut from, mut at) = (start, first);
        while at < end {
            let Some((character, length)) = decode(bytes.get(at..end).unwrap_or_default()) else {
                at = find(bytes, mark, at + 1).map_or(end, |i| i.min(end));
                continue;
            };
            any = true;
            view.copy(text, from..at);
            view.mark(at, SegmentKind::Escape);
            if !matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}') {
                view.text.push(character);
            }
            at += length;
            from = at;
            at = find(bytes, mark, at).map_or(end, |i| i.min(end));
        }
        view.copy(text, from..end);
        next_mark = find(bytes, mark, end);
    }
    any.then_some(view)
}

fn find(bytes: &[u8], mark: u8, from: usize) -> Option<usize> {
    memchr::memchr(mark, bytes.get(from..)?).map(|i| from + i)
}

fn percent_escape(rest: &[u8]) -> Option<(char, usize)> {
    match rest {
        [b'%', high, low, ..] => {
            let byte = hex(*high)? << 4 | hex(*low)?;
            // Parts of longer characters say nothing about secrets, which are ASCII; they stay as they are.
            (byte < 0x80).then_some((char::from_u32(byte)?, 3))
        }
        _ => None,
    }
}

fn backslash_escape(rest: &[u8]) -> Option<(char, usize)> {
    let character = match *rest.get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' | b'f' => ' ',
        c @ (b'"' | b'\'' | b'\\' | b'/') => char::from(c),
        b'x' => {
            let byte = hex(*rest.get(2)?)? << 4 | hex(*rest.get(3)?)?;
            return (byte < 0x80).then_some((char::from_u32(byte)?, 4));
        }
        b'u' => {
            let digits = rest.get(2..6)?;
            let mut code = 0;
            for &digit in digits {
                code = code << 4 | hex(digit)?;
            }
            return Some((char::from_u32(code)?, 6));
        }
        _ => return None,
    };
    Some((character, 2))
}

fn hex(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_survey_tells_what_a_look_at_every_byte_tells(
            text in "([a-z ]{0,20}[\n\t%\\\\\u{1}\u{1b}\u{7f}—“”é\u{a0}\u{ad}\u{200b}\u{feff}中\u{2063}]?){0,6}"
        ) {
            let Survey { control, wide, percent, backslash } = survey(text.as_bytes());
            prop_assert_eq!(control, text.bytes().any(is_control));
            prop_assert_eq!(wide, text.contains(['\u{ad}', '\u{200b}', '\u{2063}', '\u{feff}']));
            prop_assert_eq!(percent, text.contains('%'));
            prop_assert_eq!(backslash, text.contains('\\'));
        }
    }
}
