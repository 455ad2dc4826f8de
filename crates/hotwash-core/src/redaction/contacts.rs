//! E-mail addresses, telephone numbers and payment cards, and passwords in URLs.

use std::ops::Range;

use super::bytes::{
    ALNUM, DASH, DIGIT, DOT, HEX, LOWER, NUMBER, PLUS_SLASH, UNDERSCORE, UPPER, URL_SAFE, WIDE, has, is, is_at,
    is_before, only, run_end, run_start, slice,
};
use super::placeholder::{Kind, placeholder_at};
use wide::u8x16;

/// The last part of names that have an at sign and are no addresses: `logo@2x.png`, `getty@tty1.service`.
const NOT_A_DOMAIN: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "service", "socket", "timer", "target", "mount", "js", "ts",
    "tsx", "jsx", "mjs", "json", "rs", "py", "go", "tgz", "zip", "lock", "md", "html", "css", "yaml", "yml", "toml",
];

/// The address around the at sign at `at`.
pub(super) fn email(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_start(text, at, URL_SAFE | DOT | WIDE | PLUS_SLASH, 128);
    // A slash is no part of the name, but a plus is.
    let start = memchr::memrchr(b'/', slice(text, start, at)).map_or(start, |i| start + i + 1);
    let start = (start..at).find(|&i| is_at(text, i, ALNUM | UNDERSCORE | WIDE))?;
    let mut end = run_end(text, at + 1, ALNUM | DASH | DOT | WIDE).min(at + 256);
    while end > at && is_before(text, end, DOT | DASH) {
        end -= 1;
    }
    let domain = text.get(at + 1..end)?;
    let dot = memchr::memrchr(b'.', domain)?;
    let top = domain.get(dot + 1..)?;
    let top_fits = top.len() >= 2 && top.len() <= 24 && only(top, UPPER | LOWER | WIDE) || top.starts_with(b"xn--");
    if dot == 0 || !top_fits || NOT_A_DOMAIN.iter().any(|w| top.eq_ignore_ascii_case(w.as_bytes())) {
        return None;
    }
    let name = slice(text, start, at);
    let remote = matches!(name, b"git" | b"hg" | b"gitea" | b"gitlab" | b"svn");
    if remote && (text.get(end) == Some(&b':') || before_is(text, start, b"://")) {
        return None;
    }
    // The part between `://` and the at sign is the business of `userinfo`.
    let token = run_start(text, start, ALNUM | DOT | DASH | UNDERSCORE | PLUS_SLASH, 64);
    let in_url = before_is(text, start, b"://")
        || memchr::memmem::find(slice(text, token.saturating_sub(64), start), b"://").is_some_and(|i| {
            !slice(text, token.saturating_sub(64) + i + 3, start).iter().any(|b| b"/ ?\n\"'<>".contains(b))
        });
    (!in_url).then_some(start..end)
}

fn before_is(text: &[u8], at: usize, what: &[u8]) -> bool {
    slice(text, at.saturating_sub(what.len()), at) == what
}

/// Words that stand for a password and are none.
pub(super) const SAMPLES: &[&str] = &["password", "passwd", "pass", "pwd", "pw", "secret", "token"];

/// The secret part of `scheme://user:password@host`, given where the authority starts.
pub(super) fn userinfo(text: &[u8], at: usize) -> Option<Range<usize>> {
    let limit = text.len().min(at + 512);
    let rest = slice(text, at, limit);
    memchr::memchr(b'@', rest)?;
    let stop = rest.iter().position(|b| b" \t\r\n\"'`<>\\,;".contains(b)).unwrap_or(rest.len());
    let slash = slice(rest, 0, stop).iter().position(|b| b"/?#".contains(b)).unwrap_or(stop);
    let sign = memchr::memrchr(b'@', slice(rest, 0, slash)).or_else(|| {
        // A slash in a password ought to be escaped and is not always; a port is told from a password by its digits.
        let sign = memchr::memchr(b'@', slice(rest, 0, stop))?;
        let colon = memchr::memchr(b':', slice(rest, 0, slash))?;
        let port = only(slice(rest, colon + 1, slash), DIGIT);
        (!port && !slice(rest, 0, colon).contains(&b'.')).then_some(sign)
    })?;
    let info = slice(rest, 0, sign);
    let secret = match memchr::memchr(b':', info) {
        // Some services take the token for the user, and this for the password.
        Some(colon) if slice(info, colon + 1, sign) == b"x-oauth-basic" => 0..colon,
        Some(colon) => colon + 1..sign,
        None => 0..sign,
    };
    let value = slice(rest, secret.start, secret.end);
    let alone = secret.start == 0;
    // A token, not the name of somebody: `ssh://ada@host`.
    let token = value.len() >= 24 || value.len() >= 12 && has(value, DIGIT);
    let harmless = value.is_empty()
        || alone && !token
        || [&b"$"[..], b"{", b"%s", b"***"].iter().any(|mark| value.starts_with(mark))
        || info.starts_with(b"[")
        || info.starts_with(b"]")
        || value.ends_with(b"]")
        || value.ends_with(b"}")
        || SAMPLES.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let range = at + secret.start..at + secret.end;
    (!harmless && placeholder_at(text, range.start) != Some(range.end)).then_some(range)
}

/// The least number of bytes between the first digit of a number and the last.
const SHORTEST: usize = 10;

/// Where there are fewer digits there is no number. Those that are found have ten at least, which [`may_have_numbers`] goes by.
const FEWEST: usize = 8;

/// Finds the telephone and card numbers: in runs of digits and what stands between digits, if they are long enough.
pub(super) fn numbers(text: &[u8], mut found: impl FnMut(Range<usize>, Kind)) {
    if !may_have_numbers(text) {
        return;
    }
    let mut at = 0;
    // Look at the last byte a run of the shortest length would have; if it does not belong, no run starts before it.
    while let Some(&probe) = text.get(at + SHORTEST - 1) {
        if !in_number(probe) {
            at += SHORTEST;
            continue;
        }
        let mut start = at + SHORTEST - 1;
        while start > at && text.get(start - 1).is_some_and(|&b| in_number(b)) {
            start -= 1;
        }
        if start > at {
            at = start;
            continue;
        }
        let rest = slice(text, start, text.len());
        let end = start + rest.iter().position(|&b| !in_number(b)).unwrap_or(rest.len());
        if slice(text, start, end).iter().filter(|b| b.is_ascii_digit()).count() >= FEWEST {
            numbers_in(text, start, end, &mut found);
        }
        at = end + 1;
    }
}

/// Whether a block of sixteen bytes has four digits. A number has at least ten, with at most two bytes between them, so
/// that it has four in one of the three blocks that the first ten may be spread over.
fn may_have_numbers(text: &[u8]) -> bool {
    let has_four = |block: &[u8; 16]| {
        let value = u8x16::new(*block) - u8x16::splat(b'0');
        let mut digits = value.min(u8x16::splat(9)).simd_eq(value).to_bitmask();
        for _ in 1..4 {
            digits &= digits.wrapping_sub(1);
        }
        digits != 0
    };
    match text.last_chunk() {
        // The last block takes in some of the one before.
        Some(last) => text.as_chunks().0.iter().any(has_four) || has_four(last),
        None => true,
    }
}

fn in_number(byte: u8) -> bool {
    is(byte, NUMBER)
}

fn numbers_in(text: &[u8], start: usize, end: usize, found: &mut impl FnMut(Range<usize>, Kind)) {
    let mut at = start;
    while at < end {
        if !is_at(text, at, DIGIT) {
            at += 1;
            continue;
        }
        let stop = number_end(text, at);
        let range = if stop - at >= SHORTEST {
            let card = card(text, at, stop).map(|range| (range, Kind::Card));
            card.or_else(|| phone(text, at, stop).map(|range| (range, Kind::Phone)))
        } else {
            None
        };
        match range {
            Some((range, kind)) => {
                at = range.end;
                found(range, kind);
            }
            None => at = run_end(text, at, DIGIT),
        }
    }
}

/// Where digits with single separators end.
fn number_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        if is_at(text, at, DIGIT) {
            at += 1;
        } else if matches!(text.get(at..), Some([b' ' | b'-' | b'.', d, ..]) if d.is_ascii_digit()) {
            at += 2;
        } else if matches!(text.get(at..), Some([b' ', b'(', d, ..] | [b')', b' ', d, ..]) if d.is_ascii_digit()) {
            at += 3;
        } else if matches!(text.get(at..), Some([b')' | b'(', d, ..]) if d.is_ascii_digit()) {
            at += 2;
        } else {
            return at;
        }
        if at - start > 40 {
            return at;
        }
    }
}

fn bounded(text: &[u8], start: usize, end: usize) -> bool {
    let joined_left = is_before(text, start, ALNUM | UNDERSCORE | DOT | DASH | WIDE);
    let joined_right = is_at(text, end, ALNUM | UNDERSCORE | WIDE)
        || is_at(text, end, DASH | DOT) && is_at(text, end + 1, HEX | ALNUM);
    !joined_left && !joined_right
}

fn card(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let value = slice(text, start, end);
    if end - start > 23
        || !value.iter().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'-'))
        || !bounded(text, start, end)
    {
        return None;
    }
    // One of several numbers: `f(5503284107318959, 446)`.
    let listed = matches!(slice(text, end, end + 3), [b',', b' ', b'0'..=b'9' | b'-'])
        || matches!(slice(text, start.saturating_sub(3), start), [b'0'..=b'9', b',', b' ']);
    if listed {
        return None;
    }
    let groups: Vec<usize> = value.split(|b| !b.is_ascii_digit()).map(<[u8]>::len).collect();
    let grouped = matches!(groups.as_slice(), [_] | [4, 6, 4 | 5] | [4, 4, 4, 4] | [4, 4, 4, 4, 1..=3]);
    let digits: Vec<u8> = value.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
    // Numbers of seventeen to nineteen digits without a gap are hashes and counters far more often than cards.
    let plausible = groups.len() > 1 || digits.len() <= 16;
    (grouped && plausible && issuer(&digits) && luhn(&digits)).then_some(start..end)
}

fn issuer(digits: &[u8]) -> bool {
    let head = digits.iter().take(4).fold(0u32, |n, &d| n * 10 + u32::from(d));
    match head {
        4000..=4999 => matches!(digits.len(), 16 | 19),
        5100..=5599 | 2221..=2720 | 3528..=3589 => digits.len() == 16,
        3400..=3499 | 3700..=3799 => digits.len() == 15,
        3000..=3059 | 3600..=3699 | 3800..=3899 => digits.len() == 14,
        6011 | 6500..=6599 | 6440..=6499 | 6200..=6299 => matches!(digits.len(), 16..=19),
        _ => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &d)| {
            let d = u32::from(d);
            if i % 2 == 0 {
                d
            } else if d > 4 {
                d * 2 - 9
            } else {
                d * 2
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// A number with a plus, or one laid out as `(555) 123-4567`, `555-123-4567`, `555.123.4567`.
fn phone(text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let value = slice(text, start, end);
    let groups: Vec<&[u8]> = value.split(|b| !b.is_ascii_digit()).filter(|g| !g.is_empty()).collect();
    let digits: usize = groups.iter().map(|g| g.len()).sum();
    if is_at(text, end, ALNUM | UNDERSCORE | WIDE) || is_at(text, end, DOT | DASH) && is_at(text, end + 1, ALNUM) {
        return None;
    }
    if start > 0 && text.get(start - 1) == Some(&b'+') {
        let plus = start - 1;
        let first = groups.first()?;
        if is_before(text, plus, ALNUM | UNDERSCORE | WIDE | PLUS_SLASH) || first.first() == Some(&b'0') {
            return None;
        }
        let line_head = plus == 0 || text.get(plus - 1) == Some(&b'\n');
        // A number added by a diff also follows a plus; times and dates have other lengths than telephones.
        let fits = if groups.len() == 1 {
            if line_head { (11..=12).contains(&digits) } else { (10..=15).contains(&digits) }
        } else {
            (10..=15).contains(&digits)
                && first.len() <= 3
                && groups.iter().skip(1).all(|g| (2..=8).contains(&g.len()))
                && !value.windows(2).any(|w| w == b". ")
        };
        return fits.then_some(plus..end);
    }
    let bracket = start > 0 && text.get(start - 1) == Some(&b'(');
    let from = if bracket { start - 1 } else { start };
    if is_before(text, from, ALNUM | UNDERSCORE | DOT | DASH | WIDE | PLUS_SLASH) {
        return None;
    }
    let groups = match groups.as_slice() {
        [first, rest @ ..] if rest.len() == 3 && *first == b"1" => rest,
        all => all,
    };
    let [area, exchange, line] = groups else {
        return None;
    };
    let shape = area.len() == 3 && exchange.len() == 3 && line.len() == 4;
    let real = matches!(area.first(), Some(b'2'..=b'9')) && matches!(exchange.first(), Some(b'2'..=b'9'));
    let separators: Vec<u8> = value.iter().copied().filter(|b| !b.is_ascii_digit()).collect();
    let even = bracket || separators.first() == separators.last() && matches!(separators.first(), Some(b'-' | b'.'));
    (shape && real && even).then_some(from..end)
}
