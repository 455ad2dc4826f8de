//! Looking into base64: runs of its alphabet that decode to readable text are handed on as that text.
//!
//! The bytes of readable text have their high bit clear, which fixes one bit in three of every four base64 letters.
//! That is tested on the letters themselves, at every alignment, before anything is decoded, so that hashes, images and long paths cost little.

use std::ops::Range;

use super::bytes::{BASE64_ANY, is, is_at, slice};
use wide::u8x16;

/// The shortest run worth decoding.
const SHORTEST: usize = 24;

/// All bytes up to here are no letters of the code.
const LAST_MARK: u8 = b'*';

/// How many quads in a row must decode to ASCII.
const QUADS: usize = 4;

const NONE: u8 = 0xff;
static SEXTETS: [u8; 256] = sextets();

const fn sextets() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        table[i] = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => NONE,
        };
        i += 1;
    }
    table
}

/// Calls `found` with every long run of base64 letters, padding included.
pub(super) fn runs(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    // Look from the last byte a run of the shortest length would have: no run starts before a byte that is no letter.
    while let Some(window) = text.get(at..at + SHORTEST) {
        let other = last_mark(window).or_else(|| window.iter().rposition(|&b| !is(b, BASE64_ANY)));
        if let Some(other) = other {
            at += other + 1;
            continue;
        }
        let start = at;
        let end = wrapped_end(text, start);
        let padding = slice(text, end, end + 2).iter().take_while(|&&b| b == b'=').count();
        found(start..end + padding);
        at = end + 1;
    }
}

/// The last space, line break, quote, bracket or full stop among the last bytes of a window, none of which is a letter of the
/// code. Words are short, so that one is there nearly always, and all of them are looked at in one go.
fn last_mark(window: &[u8]) -> Option<usize> {
    let bytes = u8x16::new(*window.last_chunk()?);
    let marks = bytes.min(u8x16::splat(LAST_MARK)).simd_eq(bytes) | bytes.simd_eq(u8x16::splat(b'.'));
    let last = marks.to_bitmask().checked_ilog2()?;
    Some(window.len() - 16 + last as usize)
}

/// Where the run ends, reading on over the line breaks of encoders that wrap at 60 to 76 letters.
fn wrapped_end(text: &[u8], start: usize) -> usize {
    let mut line = start;
    loop {
        let end = super::bytes::run_end(text, line, BASE64_ANY);
        let next = match text.get(end..) {
            Some([b'\r', b'\n', ..]) => end + 2,
            Some([b'\n', ..]) => end + 1,
            _ => return end,
        };
        if !(60..=76).contains(&(end - line)) || !is_at(text, next, BASE64_ANY) {
            return end;
        }
        line = next;
    }
}

/// Calls `found` with each stretch of readable text that the run decodes to, at whatever alignment it starts.
pub(super) fn readable(run: &[u8], mut found: impl FnMut(&str)) {
    let joined: Vec<u8>;
    let run = if memchr::memchr2(b'\n', b'\r', run).is_some() {
        joined = run.iter().copied().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
        &joined
    } else {
        run
    };
    for alignment in 0..4 {
        let mut at = alignment;
        // Look at the last quad a row of the needed length would have; if it is not plain, no row starts before it.
        while at + 4 * QUADS <= run.len() + 2 {
            let Some(back) = (0..QUADS).rev().find(|quad| !plain(run, at + 4 * quad)) else {
                let mut end = at + 4 * QUADS;
                while plain(run, end) {
                    end += 4;
                }
                // The quad that broke the row may still hold the last bytes of the text.
                let bytes = decode(slice(run, at, (end + 4).min(run.len())));
                let text: String = bytes.iter().filter(|&&b| b < 0x80 && b != 0).map(|&b| char::from(b)).collect();
                found(&text);
                at = end + 4;
                continue;
            };
            at += 4 * (back + 1);
        }
    }
}

/// Whether the quad at `at` decodes to ASCII. A quad may be cut off behind its third letter.
fn plain(run: &[u8], at: usize) -> bool {
    let Some(&[a, b, c]) = run.get(at..at + 3) else {
        return false;
    };
    FLAGS[a as usize] & 1 != 0 && FLAGS[b as usize] & 2 != 0 && FLAGS[c as usize] & 4 != 0
}

/// For each letter, whether it may be the first, second or third of a quad that decodes to ASCII.
static FLAGS: [u8; 256] = flags();

const fn flags() -> [u8; 256] {
    let sextets = sextets();
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let sextet = sextets[i];
        if sextet != NONE {
            table[i] =
                (sextet & 0x20 == 0) as u8 | ((sextet & 0x08 == 0) as u8) << 1 | ((sextet & 0x02 == 0) as u8) << 2;
        }
        i += 1;
    }
    table
}

fn decode(letters: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4 + 3);
    for quad in letters.chunks(4) {
        let mut bits = 0u32;
        let mut count = 0;
        for &letter in quad {
            let sextet = SEXTETS[letter as usize];
            if sextet == NONE {
                break;
            }
            bits = bits << 6 | u32::from(sextet);
            count += 1;
        }
        let [_, a, b, c] = (bits << (6 * (4 - count))).to_be_bytes();
        bytes.extend([a, b, c].iter().take(match count {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => 0,
        }));
    }
    bytes
}

/// Calls `found` with every run of base64 letters that decodes to readable text, and with that text.
pub(crate) fn texts(text: &str, found: &mut dyn FnMut(Range<usize>, &str)) {
    runs(text.as_bytes(), |run| {
        readable(slice(text.as_bytes(), run.start, run.end), |decoded| found(run.clone(), decoded));
    });
}

/// Whether this is what follows `Basic` in an `Authorization` header.
pub(super) fn holds_user_and_password(value: &[u8]) -> bool {
    if value.len() < 8 || !value.iter().all(|&b| is(b, BASE64_ANY) || b == b'=') {
        return false;
    }
    let text = decode(value);
    text.contains(&b':') && text.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
}
