//! Credentials on a line of their own kind: HTTP headers and their schemes.

use std::ops::Range;

use super::bytes::{
    ALNUM, Alphabet, DASH, DIGIT, DOT, TOKEN, URL_SAFE, entropy, has, is_before, only, run_end, slice,
    starts_with_ignoring_case,
};
use super::contacts::SAMPLES;
use super::keywords::{run_of, run_of_not, skip_string_prefix};
use super::placeholder::placeholder_at;
use super::values::{Style, is_code, is_reference, is_words, weak_value};

pub(super) fn authorization(text: &[u8], at: usize) -> Option<Range<usize>> {
    let at = run_of(text, skip_string_prefix(text, at), b"\"'`", 1);
    let end = run_of_not(text, at, b"\r\n\"'`\\");
    let value = slice(text, at, end);
    let space = memchr::memchr(b' ', value);
    let start = match space {
        Some(i) if i <= 20 && only(slice(value, 0, i), ALNUM | DASH) => at + run_of(value, i, b" ", 4),
        None => at,
        // A sentence about authorization, not a header.
        Some(_) => return None,
    };
    let credentials = slice(text, start, end);
    let sentence = credentials.contains(&b' ') && !credentials.contains(&b'=');
    let end = if sentence { run_of_not(text, start, b" \t").min(end) } else { end };
    // `Token token="…"`, `Digest username="…", response="…"`: what is quoted belongs to it.
    let end = if slice(text, start, end).ends_with(b"=") && text.get(end) == Some(&b'"') {
        let line = slice(text, end, run_of_not(text, end, b"\r\n"));
        memchr::memrchr(b'"', line).map_or(end, |i| end + i)
    } else {
        end
    };
    let credentials = slice(text, start, end);
    if credentials.len() < 6
        || SAMPLES.iter().any(|word| credentials.eq_ignore_ascii_case(word.as_bytes()))
        || is_reference(credentials, Style::Loose)
        || placeholder_at(text, start).is_some_and(|e| e >= end)
        || is_code(credentials)
    {
        return None;
    }
    let known = space.is_some_and(|i| {
        ["bearer", "basic", "token", "digest", "apikey", "aws4-hmac-sha256", "negotiate", "hawk", "key"]
            .iter()
            .any(|s| slice(value, 0, i).eq_ignore_ascii_case(s.as_bytes()))
    });
    (known || weak_value(credentials, Style::Quoted)).then_some(start..end)
}

pub(super) fn cookie(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_of(text, at, b"\"'`", 1);
    let end = run_of_not(text, start, b"\r\n\"'`\\");
    let value = slice(text, start, end);
    let equals = memchr::memchr(b'=', value)?;
    let named = equals > 0 && only(slice(value, 0, equals), DOTTED_NAME);
    let long = value.len() - equals > 8 && !is_reference(slice(value, equals + 1, value.len()), Style::Loose);
    (named && long && has(slice(value, equals, value.len()), DIGIT) && !is_code(value)).then_some(start..end)
}

const DOTTED_NAME: Alphabet = URL_SAFE | DOT;

pub(super) fn scheme(text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    if is_before(text, word.start, ALNUM) {
        return None;
    }
    let end = run_end(text, word.end, TOKEN);
    let value = slice(text, word.end, end);
    let basic = starts_with_ignoring_case(slice(text, word.start, word.end), b"basic");
    let random = value.len() >= 12 && has(value, DIGIT) && !is_words(value) && !is_code(value) && entropy(value) >= 2.8;
    let fits = if basic {
        super::base64::holds_user_and_password(value)
    } else {
        random || value.len() >= 24 && !is_words(value) && !is_code(value) && entropy(value) >= 3.8
    };
    fits.then_some(word.end..end)
}
