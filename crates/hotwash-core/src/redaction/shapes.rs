//! Tokens that no prefix gives away, but their shape or the word right before them. They are looked for in long runs of
//! token letters only.

use std::ops::Range;

use super::bytes::{
    ALNUM, Alphabet, BASE64, BASE64_ANY, DIGIT, HEX, LOWER, TOKEN, UPPER, URL_SAFE, WORD, entropy, has, is_at,
    is_before, only, run_end, run_start, slice, starts_with_ignoring_case,
};
use super::values::hard_random;

/// Words before 64 hex digits, or before a seed in base 32, that make a private key of them.
const KEY_WORDS: &[&str] = &[
    "sk",
    "seed",
    "privkey",
    "priv_key",
    "private_key",
    "privatekey",
    "wallet",
    "privatekeytoaccount",
    "fromsecret",
    "accounts",
];

/// The token in the run, and what kind it is.
pub(super) fn find(text: &[u8], run: &Range<usize>) -> Option<(Range<usize>, &'static str)> {
    // A run goes on over line breaks; these tokens do not.
    let line = memchr::memchr2(b'\n', b'\r', slice(text, run.start, run.end));
    let run = &(run.start..line.map_or(run.end, |i| run.start + i));
    let value = slice(text, run.start, run.end);
    let before = slice(text, run.start.saturating_sub(80), run.start);
    let whole = |kind| Some((run.clone(), kind));
    match value.len() {
        24..=26 if before.ends_with(b"s.") && !is_before(before, before.len() - 2, TOKEN) && mixed(value, ALNUM) => {
            Some((run.start - 2..run.end, "vault"))
        }
        24..=28 => discord(text, run),
        32 if before.ends_with(b":") && only(value, HEX) => asana(text, run),
        40 if value.starts_with(b"6L") && slice(value, 8, 13) == b"AAAAA" => whole("recaptcha"),
        40 if only(value, HEX) && announced(before, b"github.com") => whole("github"),
        64 if only(value, HEX) && airtable(before) => Some((run.start - 18..run.end, "airtable")),
        64 if only(value, HEX) && entropy(value) > 3.0 && key_follows(before) => whole("key"),
        66 if value.starts_with(b"0x")
            && only(slice(value, 2, 66), HEX)
            && entropy(value) > 3.0
            && key_follows(before) =>
        {
            whole("key")
        }
        56 if value.starts_with(b"S") && only(value, UPPER | DIGIT) && key_follows(before) => whole("key"),
        44 | 88
            if only(slice(value, 0, value.len() - 2), BASE64)
                && announced(before, b"value")
                && memchr::memmem::find(before, b"PrivKey").is_some() =>
        {
            whole("key")
        }
        130..
            if before.ends_with(b"sl.")
                && !is_before(before, before.len() - 3, TOKEN)
                && only(slice(value, 0, 130), URL_SAFE) =>
        {
            Some((run.start - 3..run.end, "dropbox"))
        }
        _ => None,
    }
}

/// The key that is the whole content of a file, as that of Rails is.
pub(super) fn alone(text: &[u8]) -> Option<Range<usize>> {
    let key = text.trim_ascii();
    let start = text.iter().position(|b| !b.is_ascii_whitespace())?;
    let random = key.len() == 32 && only(key, LOWER | DIGIT) && only(key, HEX) && hard_random(key);
    random.then_some(start..start + key.len())
}

/// Letters of both cases and digits.
fn mixed(value: &[u8], alphabet: Alphabet) -> bool {
    only(value, alphabet) && [DIGIT, UPPER, LOWER].iter().all(|kind| has(value, *kind)) && hard_random(value)
}

/// A bot's token: its number in base64, a time and a signature, with dots between them.
fn discord(text: &[u8], run: &Range<usize>) -> Option<(Range<usize>, &'static str)> {
    let time = run.end + 1;
    let signature = run_end(text, time, URL_SAFE) + 1;
    let end = run_end(text, signature, URL_SAFE);
    let dots = text.get(run.end) == Some(&b'.') && text.get(signature - 1) == Some(&b'.');
    let fits = dots
        && signature - 1 - time == 6
        && (27..=40).contains(&(end - signature))
        && !is_before(text, run.start, TOKEN)
        && !is_at(text, end, TOKEN)
        && mixed(slice(text, run.start, run.end), URL_SAFE)
        && [DIGIT, UPPER, LOWER].iter().all(|kind| has(slice(text, signature, end), *kind));
    fits.then_some((run.start..end, "discord"))
}

/// `1/1200000000000000:…`
fn asana(text: &[u8], run: &Range<usize>) -> Option<(Range<usize>, &'static str)> {
    let colon = run.start - 1;
    let digits = run_start(text, colon, DIGIT, 20);
    let fits = (15..=18).contains(&(colon - digits)) && digits >= 2 && text.get(digits - 1) == Some(&b'/');
    (fits && is_at(text, digits - 2, DIGIT)).then_some((digits.saturating_sub(2)..run.end, "asana"))
}

/// `pat`, fourteen letters and digits, and a dot.
fn airtable(before: &[u8]) -> bool {
    let start = slice(before, before.len().saturating_sub(18), before.len());
    start.len() == 18 && start.starts_with(b"pat") && start.ends_with(b".") && only(slice(start, 3, 17), ALNUM)
}

/// Whether the name before the value is this one: `"github.com": "…`.
fn announced(before: &[u8], name: &[u8]) -> bool {
    let end = before.iter().rposition(|b| !b"\" :='".contains(b)).map_or(0, |i| i + 1);
    end < before.len() && slice(before, 0, end).ends_with(name)
}

/// Whether a word that is followed by private keys stands before the value, with an assignment or a bracket between them.
fn key_follows(before: &[u8]) -> bool {
    let before = before.strip_suffix(b"0x").unwrap_or(before);
    let end = before.iter().rposition(|b| !b"\"' :=([@".contains(b)).map_or(0, |i| i + 1);
    if !slice(before, end, before.len()).iter().any(|b| b":=([".contains(b)) {
        return false;
    }
    let start = run_start(before, end, WORD, 40);
    let word = slice(before, start, end);
    KEY_WORDS.iter().any(|known| {
        word.len() >= known.len() && {
            let from = word.len() - known.len();
            let own = from == 0 || !is_before(word, from, ALNUM) || word.get(from).is_some_and(u8::is_ascii_uppercase);
            own && starts_with_ignoring_case(slice(word, from, word.len()), known.as_bytes())
        }
    })
}

/// Where the D of an RSA key in XML ends: `<D>…</D>`.
pub(super) fn xml_exponent(text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    let end = run_end(text, found.end, BASE64_ANY | super::bytes::EQUALS | super::bytes::SPACE);
    if end - found.end >= 40 && slice(text, end, end + 4) == b"</D>" {
        hit(found.end..end);
    }
}

/// The private part of a key in JSON, given its `"kty"`.
pub(super) fn json_key(text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    const REACH: usize = 2048;
    let low = found.start.saturating_sub(REACH);
    let start = memchr::memrchr(b'{', slice(text, low, found.start)).map_or(low, |i| low + i);
    let near = slice(text, found.end, text.len().min(found.end + REACH));
    let end = memchr::memchr(b'}', near).map_or(near.len(), |i| i) + found.end;
    for name in [&b"\"d\""[..], b"\"p\"", b"\"q\"", b"\"k\"", b"\"dp\"", b"\"dq\"", b"\"qi\""] {
        let Some(at) = memchr::memmem::find(slice(text, start, end), name) else { continue };
        let mut value = start + at + name.len();
        while matches!(text.get(value), Some(b' ' | b':' | b'"' | b'\t')) {
            value += 1;
        }
        let stop = run_end(text, value, URL_SAFE);
        if stop - value >= 40 {
            hit(value..stop);
        }
    }
}

/// The values of a Kubernetes secret, given the `Secret` of its `kind: Secret`: those below `data` or `stringData`.
pub(super) fn kubernetes(text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    const REACH: usize = 2048;
    let line = slice(text, found.start.saturating_sub(6), found.start) == b"kind: ";
    if !line || !matches!(text.get(found.end), None | Some(b'\n' | b'\r')) {
        return;
    }
    let low = found.start.saturating_sub(REACH);
    let start = memchr::memmem::rfind(slice(text, low, found.start), b"\n---").map_or(low, |i| low + i);
    let near = slice(text, found.end, text.len().min(found.end + REACH));
    let end = memchr::memmem::find(near, b"\n---").map_or(near.len(), |i| i) + found.end;
    let mut data = None;
    let mut at = start;
    for line in slice(text, start, end).split(|&b| b == b'\n') {
        let indent = line.iter().take_while(|b| **b == b' ').count();
        let words = line.trim_ascii();
        if matches!(words, b"data:" | b"stringData:") {
            data = Some(indent);
        } else if !words.is_empty() && data.is_some_and(|base| indent <= base) {
            data = None;
        } else if data.is_some()
            && let Some(colon) = memchr::memmem::find(line, b": ")
        {
            let value = slice(line, colon + 2, line.len()).trim_ascii();
            let from = at + line.len() - slice(line, colon + 2, line.len()).trim_ascii_start().len();
            let fits = value.len() >= 8 && only(value, TOKEN) && has(value, UPPER | LOWER);
            if fits {
                hit(from..from + value.len());
            }
        }
        at += line.len() + 1;
    }
}
