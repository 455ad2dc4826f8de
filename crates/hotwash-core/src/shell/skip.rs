//! Finds the end of what a scanner steps over: substitutions, heredoc bodies, comments.
//!
//! Positions are byte offsets into the command; each function takes one and gives back one at or after it, never past
//! the end. What the stepped-over text means is nobody's business: a substitution stays part of its word.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// A heredoc whose body begins on the next line.
pub(super) struct Heredoc<'a> {
    pub(super) delimiter: Cow<'a, str>,
    pub(super) dash: bool,
}

/// The end of what begins with `$` or a backtick at `at`.
pub(super) fn skip_expansion(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'$'), Some(b'(')) => skip_parens(text, at + 2),
        (Some(b'$'), Some(b'{')) => (memchr_from(b'}', bytes, at + 2) + 1).min(bytes.len()),
        (Some(b'`'), _) => {
            let mut end = at + 1;
            loop {
                match bytes.get(end) {
                    None => return bytes.len(),
                    Some(b'`') => return end + 1,
                    Some(b'\\') => end += 2,
                    Some(_) => end += 1,
                }
            }
        }
        _ => at + 1,
    }
}

/// What an open bracket inside a substitution waits for.
#[derive(PartialEq)]
enum Open {
    Paren,
    /// `((…))`: `<<` is a shift there, `#` a base.
    Arithmetic,
    Quote,
}

/// The position after the `)` that closes a substitution whose inside begins at `at`. Quotes, heredocs and comments
/// inside are honoured: a commit message in `"$(cat <<'EOF' …)"` may hold any quote or bracket. Kept on a stack of its
/// own, not by recursion, so that no nesting is too deep.
pub(super) fn skip_parens(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    let first = if bytes.get(at) == Some(&b'(') { Open::Arithmetic } else { Open::Paren };
    let mut open = vec![first];
    let mut heredocs = Vec::new();
    while let (Some(byte), Some(inside)) = (bytes.get(at), open.last()) {
        match (byte, inside) {
            (b'\\', _) => at += 1,
            (b'"', Open::Quote) | (b')', Open::Paren | Open::Arithmetic) => {
                open.pop();
            }
            (b'"', _) => open.push(Open::Quote),
            (b'$', Open::Quote) if bytes.get(at + 1) == Some(&b'(') => {
                at += 1;
                open.push(if bytes.get(at + 1) == Some(&b'(') { Open::Arithmetic } else { Open::Paren });
            }
            (_, Open::Quote) => {}
            (b'(', Open::Arithmetic) => open.push(Open::Arithmetic),
            (b'(', Open::Paren) => {
                open.push(if bytes.get(at + 1) == Some(&b'(') { Open::Arithmetic } else { Open::Paren });
            }
            (b'\'', _) => at = memchr_from(b'\'', bytes, at + 1),
            (b'#', Open::Paren) if bytes.get(at.wrapping_sub(1)).is_none_or(u8::is_ascii_whitespace) => {
                at = line_end(bytes, at);
                continue;
            }
            (b'<', Open::Paren) if bytes.get(at + 1) == Some(&b'<') => {
                at = heredoc_start(text, at + 2, &mut heredocs);
                continue;
            }
            (b'\n', _) => {
                at = skip_heredocs(text, at + 1, &mut heredocs);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

/// After the `<<` of a heredoc inside a substitution: notes its delimiter and returns the position behind it.
fn heredoc_start<'a>(text: &'a str, mut at: usize, heredocs: &mut Vec<Heredoc<'a>>) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(at) == Some(&b'<') {
        return at + 1;
    }
    let dash = bytes.get(at) == Some(&b'-');
    at += usize::from(dash);
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'\'' | b'"'));
    let start = at + usize::from(quote.is_some() || bytes.get(at) == Some(&b'\\'));
    let rest = bytes.get(start..).unwrap_or_default();
    let length = match quote {
        Some(quote) => memchr2(quote, b'\n', rest),
        None => rest.iter().position(|byte| is_special(*byte)),
    };
    let end = start + length.unwrap_or(rest.len());
    heredocs.push(Heredoc { delimiter: Cow::Borrowed(slice(text, start, end)), dash });
    if quote.is_some() && bytes.get(end) == quote.as_ref() { end + 1 } else { end }
}

/// The position after the bodies of the heredocs that wait at a line's beginning. One that never ends takes the rest.
pub(super) fn skip_heredocs(text: &str, mut at: usize, heredocs: &mut Vec<Heredoc<'_>>) -> usize {
    for heredoc in heredocs.drain(..) {
        while at < text.len() {
            let end = line_end(text.as_bytes(), at);
            let line = slice(text, at, end).trim_end_matches('\r');
            let line = if heredoc.dash { line.trim_start_matches('\t') } else { line };
            at = (end + 1).min(text.len());
            if line == heredoc.delimiter {
                break;
            }
        }
    }
    at
}

pub(super) fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\r'
            | b'\n'
            | b';'
            | b'&'
            | b'|'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\\'
            | b'\''
            | b'"'
            | b'$'
            | b'`'
    )
}

pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr_from(b'\n', bytes, at)
}

/// Where `needle` is at or after `at`; the end when it is nowhere.
pub(super) fn memchr_from(needle: u8, bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    memchr(needle, rest).map_or(bytes.len(), |found| at + found)
}

/// Every cut is next to an ASCII byte, so it is on a character boundary.
pub(super) fn slice(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}
