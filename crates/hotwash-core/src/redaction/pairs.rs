//! Values that stand apart from their names: in another attribute, in the content of a tag, on the next line, or as the
//! argument of a call that bears the name.

use std::ops::Range;

use super::bytes::{
    ALNUM, SPACE, URL_SAFE, has, is_at, is_before, line_start_within, only, run_end, run_start, slice,
    starts_with_ignoring_case,
};
use super::keywords::{Keyword, Weight, closing_quote, run_of, run_of_not, skip_string_prefix};
use super::placeholder::placeholder_at;
use super::values::{Style, hard_random, password_like, weak_value};

/// Attributes whose value is a name: `<add key="SmtpPassword" value="…"/>`, `- name: DB_PASSWORD`.
const NAMES: &[&str] = &["name", "key", "parameterkey", "parametername", "variable"];

/// Attributes whose value is the value.
const VALUES: &[&str] = &["value", "default", "parametervalue"];

/// How far apart the two may stand.
const REACH: usize = 240;

/// Whether this is the value of the keyword, where the place of it alone is no proof.
fn fits(text: &[u8], range: &Range<usize>, keyword: &Keyword) -> bool {
    let value = slice(text, range.start, range.end);
    if placeholder_at(text, range.start).is_some() {
        return false;
    }
    match keyword.weight {
        Weight::Strong | Weight::StrongWord => password_like(value) || hard_random(value),
        Weight::Weak | Weight::WeakWord => {
            weak_value(value, Style::Quoted) && password_like(value) || hard_random(value)
        }
        _ => hard_random(value),
    }
}

/// The value that belongs to the name at `name`, in another attribute of the same tag or object or in its content.
pub(super) fn beside(text: &[u8], name: &Range<usize>, keyword: &Keyword) -> Option<Range<usize>> {
    let before = slice(text, name.start.saturating_sub(48), name.start);
    let found = if trimmed(before).ends_with(b"<key>") {
        let after = slice(text, name.end, text.len()).strip_prefix(b"</key>")?;
        let at = run_end(text, text.len() - after.len(), SPACE);
        let at = at + slice(text, at, text.len()).strip_prefix(b"<string>").map(|_| b"<string>".len())?;
        Some(at..run_of_not(text, at, b"<\n"))
    } else if is_tag(before) {
        content(text, name.end)
    } else if is_name(before) {
        let end = run_of(text, name.end, b"\"'", 1);
        after(text, end).or_else(|| content(text, end)).or_else(|| ahead(text, name.start))
    } else {
        None
    };
    found.filter(|range| fits(text, range, keyword))
}

/// Without the spaces and quotes at its end.
fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| !b" \t\"'".contains(b)).map_or(0, |i| i + 1);
    slice(text, 0, end)
}

/// Whether what follows is said to be a name: `key="`, `"ParameterKey": "`, `variable "`.
fn is_name(before: &[u8]) -> bool {
    let lead = trimmed(before);
    let word = match lead.split_last() {
        Some((b'=' | b':', rest)) => trimmed(rest),
        _ if lead.ends_with(b"variable") => lead,
        _ => return false,
    };
    let last = slice(word, run_start(word, word.len(), URL_SAFE, 24), word.len());
    NAMES.iter().any(|name| last.eq_ignore_ascii_case(name.as_bytes()))
}

/// Whether what follows is the name of a tag with a namespace: `<wsse:`.
fn is_tag(before: &[u8]) -> bool {
    let Some(space) = before.strip_suffix(b":") else {
        return before.ends_with(b"<");
    };
    let start = run_start(space, space.len(), ALNUM, 16);
    start < space.len() && start > 0 && space.get(start - 1) == Some(&b'<')
}

/// The value of the attribute that comes next and is called so.
fn after(text: &[u8], from: usize) -> Option<Range<usize>> {
    let rest = slice(text, from, text.len().min(from + REACH));
    let mut open = 0;
    let mut i = 0;
    while let Some(&b) = rest.get(i) {
        match b {
            b'<' | b'>' | b'}' => return None,
            // The body of a `variable` is its own.
            b'{' if open > 0 => return None,
            b'{' => open += 1,
            // The next item of a list.
            b'\n' if rest.get(run_of(rest, i + 1, b" \t", 40)) == Some(&b'-') => return None,
            b'v' | b'V' | b'd' | b'D' | b'p' | b'P' if !is_before(rest, i, ALNUM) => {
                if let Some(range) = attribute(text, from + i) {
                    return Some(range);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// The value of the attribute that came before.
fn ahead(text: &[u8], name: usize) -> Option<Range<usize>> {
    let low = name.saturating_sub(REACH);
    let before = slice(text, low, name);
    let open = before.iter().rposition(|b| b"<>{}".contains(b))?;
    if !matches!(before.get(open), Some(b'<' | b'{')) {
        return None;
    }
    after(text, low + open + 1).filter(|range| range.end < name)
}

/// `value="…"`, `"default": …`, `Default: …`, where the attribute starts.
fn attribute(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = slice(text, at, text.len());
    let word = VALUES.iter().find(|word| starts_with_ignoring_case(rest, word.as_bytes()))?;
    let end = run_of(text, at + word.len(), b"\"' \t", 24);
    if !matches!(text.get(end), Some(b'=' | b':')) {
        return None;
    }
    bare_or_quoted(text, run_of(text, end + 1, b" \t", 24))
}

fn bare_or_quoted(text: &[u8], at: usize) -> Option<Range<usize>> {
    let at = skip_string_prefix(text, at);
    match text.get(at).copied() {
        Some(quote @ (b'"' | b'\'' | b'`')) => Some(at + 1..closing_quote(text, at + 1, quote)?),
        _ => Some(at..run_of_not(text, at, b" \t\r\n\"'`<>,;{}")),
    }
}

/// What stands in the tag that the name belongs to.
fn content(text: &[u8], from: usize) -> Option<Range<usize>> {
    let rest = slice(text, from, text.len().min(from + REACH));
    let close = rest.iter().position(|b| b"<>{}".contains(b))?;
    if rest.get(close) != Some(&b'>') || close > 0 && rest.get(close - 1) == Some(&b'/') {
        return None;
    }
    let at = run_end(text, from + close + 1, SPACE);
    let rest = slice(text, at, text.len());
    let skip = ["<value>", "<![CDATA["].iter().find(|tag| rest.starts_with(tag.as_bytes())).map_or(0, |tag| tag.len());
    let end = run_of_not(text, at + skip, b"<\n]");
    matches!(text.get(end), Some(b'<' | b']')).then_some(at + skip..end)
}

/// The value below the name: alone on the next line, or in an object or a mapping that holds nothing else of interest.
pub(super) fn below(text: &[u8], at: usize, keyword: &Keyword) -> Option<Range<usize>> {
    let found = if text.get(at) == Some(&b'{') {
        attribute(text, run_of(text, run_end(text, at + 1, SPACE), b"\"'", 1))
    } else {
        let line = next_line(text, at)?;
        let value = run_of(text, line, b" \t", 80);
        alone(text, value).or_else(|| mapped(text, value))
    };
    found.filter(|range| fits(text, range, keyword))
}

/// Where the next line starts, if this one says that the value is there.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    let at = run_of(text, at, b"(\\>|-", 2);
    let at = run_of(text, at, b" \t\r", 8);
    (text.get(at) == Some(&b'\n')).then_some(at + 1)
}

/// A value that has the line to itself. Without quotes it must look drawn at random.
fn alone(text: &[u8], at: usize) -> Option<Range<usize>> {
    let range = bare_or_quoted(text, at)?;
    let quoted = matches!(text.get(range.start.checked_sub(1)?), Some(b'"' | b'\'' | b'`'));
    let end = run_of(text, range.end + usize::from(quoted), b";,) \t\r", 6);
    let value = slice(text, range.start, range.end);
    (matches!(text.get(end), None | Some(b'\n')) && hard_random(value)).then_some(range)
}

/// `Default: …` among the first lines below a name.
fn mapped(text: &[u8], value: usize) -> Option<Range<usize>> {
    let indent = value - line_start_within(text, value, 100);
    let mut line = value;
    for _ in 0..4 {
        if starts_with_ignoring_case(slice(text, line, text.len()), b"default:") {
            return attribute(text, line);
        }
        let next = memchr::memchr(b'\n', slice(text, line, text.len().min(line + 200)))? + line + 1;
        line = run_of(text, next, b" \t", 80);
        if line - next != indent || indent == 0 {
            return None;
        }
    }
    None
}

/// Calls that compare their first argument with their second.
const COMPARES: &[&str] = &["strcmp(", "strncmp(", "compare_digest("];

/// Methods that compare with their argument.
const EQUALS: &[&str] = &[".equals(", ".equalsIgnoreCase(", ".isEqual("];

/// Methods of what was found by the name, that type into it.
const TYPES: &[&str] = &[").send_keys(", ").sendKeys(", ").type(", ").fill("];

/// The string that a call with the name in it is given: `setPassword("…")`, `password.equals("…")`.
pub(super) fn argument(text: &[u8], name: &Range<usize>, keyword: &Keyword) -> Option<Range<usize>> {
    let rest = slice(text, name.end, text.len().min(name.end + 32));
    let at = match rest.first()? {
        b'(' => {
            let ident = slice(text, name.start, name.end).rsplit(|&b| b == b'.').next().unwrap_or_default();
            let sets = ident.len() > 3 && starts_with_ignoring_case(ident, b"set");
            (sets || ident == b"PASSWORD").then_some(name.end + 1)?
        }
        b'"' | b'\'' => {
            name.end + 1 + TYPES.iter().find(|call| slice(rest, 1, rest.len()).starts_with(call.as_bytes()))?.len()
        }
        b'.' => name.end + EQUALS.iter().find(|call| rest.starts_with(call.as_bytes()))?.len(),
        b',' => {
            let before = slice(text, name.start.saturating_sub(16), name.start);
            COMPARES.iter().any(|call| before.ends_with(call.as_bytes())).then_some(name.end + 1)?
        }
        _ => return None,
    };
    let at = skip_string_prefix(text, run_of(text, at, b" \t", 2));
    let quote = text.get(at).copied().filter(|b| matches!(b, b'"' | b'\''))?;
    let range = at + 1..closing_quote(text, at + 1, quote)?;
    let long = range.len() >= 8 && !is_at(text, range.start, SPACE);
    (long && fits(text, &range, keyword)).then_some(range)
}

/// Whether a name and a value with only spaces between them make a pair: the value is long and drawn at random.
pub(super) fn plainly_random(text: &[u8], at: usize) -> bool {
    let near = slice(text, 0, text.len().min(at + 201));
    let value = slice(text, at, run_of_not(near, at, b" \t\r\n\"'`<>,;|)"));
    value.len() >= 20 && hard_random(value) && only(value, URL_SAFE) && has(value, ALNUM)
}
