//! Byte classes and the small tests on bytes that every rule is made of.
//!
//! Rules work on bytes because every anchor, separator and token alphabet is ASCII; a byte of 0x80 or more is part of
//! a letter somewhere in a word and is never a boundary.

/// A set of byte classes, used as a token's alphabet.
pub(super) type Alphabet = u16;

pub(super) const UPPER: Alphabet = 1;
pub(super) const LOWER: Alphabet = 1 << 1;
pub(super) const DIGIT: Alphabet = 1 << 2;
pub(super) const UNDERSCORE: Alphabet = 1 << 3;
pub(super) const DASH: Alphabet = 1 << 4;
pub(super) const DOT: Alphabet = 1 << 5;
pub(super) const PLUS_SLASH: Alphabet = 1 << 6;
pub(super) const EQUALS: Alphabet = 1 << 7;
pub(super) const TILDE: Alphabet = 1 << 8;
pub(super) const HEX: Alphabet = 1 << 9;
pub(super) const SPACE: Alphabet = 1 << 10;
pub(super) const WIDE: Alphabet = 1 << 11;
pub(super) const DOLLAR: Alphabet = 1 << 12;
/// Digits and what may stand between the digits of a telephone or card number.
pub(super) const NUMBER: Alphabet = 1 << 13;

/// What stands between the settings of a hash.
pub(super) const COMMA: Alphabet = 1 << 14;

pub(super) const ALNUM: Alphabet = UPPER | LOWER | DIGIT;
pub(super) const WORD: Alphabet = ALNUM | UNDERSCORE;
pub(super) const URL_SAFE: Alphabet = WORD | DASH;
pub(super) const DOTTED: Alphabet = URL_SAFE | DOT;
pub(super) const BASE64: Alphabet = ALNUM | PLUS_SLASH;
pub(super) const BASE64_ANY: Alphabet = URL_SAFE | PLUS_SLASH;
/// What a token may hold when its provider does not say: everything tokens are made of in the wild.
pub(super) const TOKEN: Alphabet = DOTTED | PLUS_SLASH | EQUALS | TILDE;

static CLASSES: [Alphabet; 256] = classes();

const fn classes() -> [Alphabet; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        let mut class = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'.' => DOT,
            b'+' | b'/' => PLUS_SLASH,
            b'=' => EQUALS,
            b'~' => TILDE,
            b'$' => DOLLAR,
            b',' => COMMA,
            b' ' | b'\t' | b'\n' | b'\r' => SPACE,
            0x80.. => WIDE,
            _ => 0,
        };
        if matches!(byte, b'0'..=b'9' | b' ' | b'-' | b'.' | b'(' | b')') {
            class |= NUMBER;
        }
        if byte.is_ascii_hexdigit() {
            class |= HEX;
        }
        table[i] = class;
        i += 1;
    }
    table
}

pub(super) fn is(byte: u8, alphabet: Alphabet) -> bool {
    CLASSES[byte as usize] & alphabet != 0
}

/// Whether the byte at `at` exists and is of the alphabet.
pub(super) fn is_at(text: &[u8], at: usize, alphabet: Alphabet) -> bool {
    text.get(at).is_some_and(|&b| is(b, alphabet))
}

/// Whether the byte before `at` exists and is of the alphabet.
pub(super) fn is_before(text: &[u8], at: usize, alphabet: Alphabet) -> bool {
    at.checked_sub(1).is_some_and(|i| is_at(text, i, alphabet))
}

/// Where the run of alphabet bytes that starts at `from` ends.
pub(super) fn run_end(text: &[u8], from: usize, alphabet: Alphabet) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().position(|&b| !is(b, alphabet)).unwrap_or(rest.len())
}

/// Where the run of alphabet bytes that ends before `to` starts, looking back at most `limit` bytes.
pub(super) fn run_start(text: &[u8], to: usize, alphabet: Alphabet, limit: usize) -> usize {
    let low = to.saturating_sub(limit);
    let mut at = to;
    while at > low && is_before(text, at, alphabet) {
        at -= 1;
    }
    at
}

pub(super) fn has(text: &[u8], alphabet: Alphabet) -> bool {
    text.iter().any(|&b| is(b, alphabet))
}

pub(super) fn only(text: &[u8], alphabet: Alphabet) -> bool {
    text.iter().all(|&b| is(b, alphabet))
}

pub(super) fn slice(text: &[u8], start: usize, end: usize) -> &[u8] {
    text.get(start..end).unwrap_or_default()
}

pub(super) fn starts_with_ignoring_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

pub(super) fn ends_with_ignoring_case(text: &[u8], suffix: &[u8]) -> bool {
    text.len().checked_sub(suffix.len()).is_some_and(|at| slice(text, at, text.len()).eq_ignore_ascii_case(suffix))
}

/// Where the line that holds `at` starts.
pub(super) fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', slice(text, 0, at)).map_or(0, |i| i + 1)
}

/// Where the line that holds `at` starts, or a place `limit` bytes before it if that is nearer.
pub(super) fn line_start_within(text: &[u8], at: usize, limit: usize) -> usize {
    let low = at.saturating_sub(limit);
    memchr::memrchr(b'\n', slice(text, low, at)).map_or(low, |i| low + i + 1)
}

/// Shannon entropy in bits per byte, of at most the first 256 bytes.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let value = value.get(..256).unwrap_or(value);
    let mut counts = [0u32; 256];
    for &b in value {
        counts[b as usize] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|&&n| n > 0)
        .map(|&n| {
            let share = f64::from(n) / total;
            -share * share.log2()
        })
        .sum()
}
