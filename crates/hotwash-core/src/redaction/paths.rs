//! Home directories, whoever's they are: `/home/ada/…`, `/Users/ada/…`, `C:\Users\ada\…` and `-Users-ada-…`, the form in
//! which agents name a project's folder after its path.

use std::ops::Range;

use super::bytes::{
    ALNUM, DASH, DOT, DOTTED, PLUS_SLASH, TOKEN, UNDERSCORE, URL_SAFE, WIDE, WORD, is_at, is_before, run_end,
    run_start, slice,
};

/// Anchors, in lower case; the text may use either.
pub(super) const HOME_ANCHORS: &[&str] = &["/home/", "/users/", "\\users\\", "\\\\users\\\\", "-home-", "-users-"];

/// Accounts that are nobody's.
const NOBODY: &[&[u8]] = &[b"Shared", b"Public", b"Default", b"linuxbrew"];

/// The home directory whose anchor stands at `anchor`.
pub(super) fn home(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let mark = slice(text, anchor.start, anchor.end);
    match mark.first()? {
        b'-' => dashed(text, anchor),
        b'\\' => windows(text, anchor),
        _ => {
            // Unix spells these in one way only; `/Home/` is a page of a web site.
            if mark != b"/home/" && mark != b"/Users/" {
                return windows(text, anchor);
            }
            let start = match windows_root(text, anchor.start) {
                Some(start) => start,
                None if unix_root(text, anchor.start) => anchor.start,
                None => return None,
            };
            Some(start..account_end(text, anchor.end)?)
        }
    }
}

/// Whether a path may start at `at`: not in the middle of `src/home/x` or `example.com/home/x`.
fn unix_root(text: &[u8], at: usize) -> bool {
    if !is_before(text, at, URL_SAFE | DOT | WIDE) && !(is_before(text, at, super::bytes::TILDE)) {
        return !(at > 0 && text.get(at - 1) == Some(&b'>'));
    }
    // `-I/home/ada/include`: a flag of one letter.
    let flag = at >= 2 && text.get(at - 2) == Some(&b'-') && !is_before(text, at - 2, TOKEN);
    // `/mnt/c/Users/ada`, `/c/Users/ada`, `/private/home/ada`, `/var/home/ada`.
    let token = run_start(text, at, DOTTED | PLUS_SLASH, 24);
    let before = slice(text, token, at);
    flag || matches!(
        before,
        b"/c"
            | b"/d"
            | b"/mnt/c"
            | b"/mnt/d"
            | b"/var"
            | b"/private"
            | b"/export"
            | b"/usr"
            | b"/System/Volumes/Data"
            | b"/host_mnt"
            | b"/run/host"
    )
}

/// Where `C:` starts, if it stands before `at`.
fn windows_root(text: &[u8], at: usize) -> Option<usize> {
    let colon = at.checked_sub(1)?;
    let drive = at.checked_sub(2)?;
    (text.get(colon) == Some(&b':') && text.get(drive)?.is_ascii_alphabetic() && !is_before(text, drive, ALNUM))
        .then_some(drive)
}

fn windows(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let start = windows_root(text, anchor.start).or_else(|| {
        // `\\server\Users\ada`
        (text.get(anchor.start) == Some(&b'\\')).then_some(anchor.start)
    })?;
    let simple = account_end(text, anchor.end)?;
    // Windows accounts may have spaces; the name then goes on to the next backslash.
    let rest = slice(text, simple, text.len().min(simple + 32));
    if rest.first() == Some(&b' ')
        && let Some(stop) = rest.iter().position(|&b| b == b'\\' || b == b'/')
        && slice(rest, 0, stop).iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b' ' | b'.' | 0x80..))
    {
        return Some(start..simple + stop);
    }
    Some(start..simple)
}

fn dashed(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let mark = slice(text, anchor.start, anchor.end);
    if mark != b"-home-" && mark != b"-Users-" {
        return None;
    }
    let free = !is_before(text, anchor.start, ALNUM | UNDERSCORE | DASH | DOT | WIDE | super::bytes::TILDE);
    let end = run_end(text, anchor.end, WORD | WIDE);
    // Only a folder made of a path goes on: `-home-ada-project`. A flag such as `-home-dir` stands behind a space.
    let folder = is_before(text, anchor.start, PLUS_SLASH) || text.get(end) == Some(&b'-');
    let person = is_at(text, anchor.end, ALNUM | WIDE);
    (free && folder && person).then_some(anchor.start..end)
}

fn account_end(text: &[u8], start: usize) -> Option<usize> {
    if !is_at(text, start, WORD | WIDE) {
        return None;
    }
    let mut end = run_end(text, start, DOTTED | WIDE).min(start + 64);
    while end > start && is_before(text, end, DOT) {
        end -= 1;
    }
    // A cut through a character would leave half of it behind.
    while end < text.len() && text.get(end).is_some_and(|b| b & 0xc0 == 0x80) {
        end += 1;
    }
    (!NOBODY.contains(&slice(text, start, end))).then_some(end)
}
