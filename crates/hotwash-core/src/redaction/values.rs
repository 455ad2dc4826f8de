//! Whether a value behind a keyword is one: not code, not a type, not a reference, not a sentence.

use super::bytes::{
    ALNUM, BASE64, DASH, DIGIT, DOT, EQUALS, HEX, LOWER, PLUS_SLASH, SPACE, TOKEN, UNDERSCORE, UPPER, WIDE, WORD,
    entropy, has, only, slice,
};

/// How the value was written down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Quoted,
    /// The value ends the line and its name starts it: `.env`, YAML, INI.
    Line,
    /// `name=value` without a space: shell, URL, connection string.
    Tight,
    /// Anything else, most often code.
    Loose,
}

/// Variables, templates, stars, words that mean "no value".
pub(super) fn is_reference(value: &[u8], style: Style) -> bool {
    let first = value.first().copied().unwrap_or_default();
    let second = value.get(1).copied().unwrap_or_default();
    if first == b'$' && (second == b'{' || second == b'(' || second == b'_' || second.is_ascii_uppercase()) {
        return true;
    }
    if first == b'$'
        && second.is_ascii_lowercase()
        && style != Style::Quoted
        && only(value.get(1..).unwrap_or_default(), WORD)
    {
        return true;
    }
    if value.starts_with(b"{{")
        || value.starts_with(b"%(")
        || value == b"%s"
        || value.starts_with(b"#{")
        || value.starts_with(b"${{")
    {
        return true;
    }
    // `{name}` of a format string, `4097u32`, `*const u8`.
    if first == b'{' && value.contains(&b'}')
        || is_number(value)
        || value.starts_with(b"*const")
        || value.starts_with(b"*mut")
    {
        return true;
    }
    if first == b'<' && value.ends_with(b">") && !value.starts_with(b"<SECRET:") || value.starts_with(b"...") {
        return true;
    }
    if value.iter().all(|&b| b == first) || value.iter().all(|&b| matches!(b, b'*' | b'.' | b'-' | b'_' | b' ')) {
        return true;
    }
    if !has(value, ALNUM | WIDE) && value.len() < 6 {
        return true;
    }
    STOP.iter().any(|w| value.eq_ignore_ascii_case(w.as_bytes()))
}

/// A number with its type: `4097u32`, `1_000i64`.
fn is_number(value: &[u8]) -> bool {
    let kind = value.iter().position(|b| matches!(b, b'u' | b'i' | b'f')).unwrap_or(value.len());
    let (number, kind) = value.split_at(kind);
    !number.is_empty()
        && only(number, DIGIT | UNDERSCORE)
        && (kind.get(1..).is_some_and(|bits| only(bits, DIGIT) || bits == b"size") && kind.len() > 1)
}

pub(super) fn strong_value(value: &[u8], style: Style, spaces_allowed: bool) -> bool {
    let letters_only = only(value, UPPER | LOWER | WIDE);
    let wordy = only(value, UPPER | LOWER | WIDE | SPACE | DOT | DASH | UNDERSCORE)
        || value.iter().all(|b| b.is_ascii_alphabetic() || b" .,:'!?-_/()".contains(b));
    if wordy && mentions_keyword(value) {
        return false;
    }
    let spaces = memchr::memchr_iter(b' ', value).count();
    match style {
        Style::Quoted if spaces > 0 => spaces_allowed || (spaces <= 4 && !wordy && !is_code(value)),
        Style::Quoted => {
            let call = is_code(value) && value.ends_with(b")");
            !call && !is_path(value) && !value.starts_with(b"http")
        }
        Style::Line | Style::Tight => value.len() >= 4 && !is_code(value) && !is_path(value),
        Style::Loose => {
            value.len() >= 6
                && !letters_only
                && !is_code(value)
                && has(value, UPPER | LOWER)
                && !only(value, UPPER | LOWER | DOT | UNDERSCORE)
                && !value.starts_with(b"/")
                && !is_words(value)
        }
    }
}

/// Base64 may begin with a slash, too.
fn is_path(value: &[u8]) -> bool {
    (value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"~/")) && !is_base64(value)
}

/// Drawn at random by the look of it.
fn is_base64(value: &[u8]) -> bool {
    value.len() >= 24
        && only(value, BASE64 | EQUALS)
        && [DIGIT, UPPER, LOWER].iter().all(|kind| has(value, *kind))
        && entropy(value) >= 4.2
        && !is_words(value)
}

pub(super) fn weak_value(value: &[u8], style: Style) -> bool {
    let least = if style == Style::Loose { 16 } else { 8 };
    if value.len() < least || !only(value, TOKEN | PLUS_SLASH) && !value.iter().all(u8::is_ascii_graphic) {
        return false;
    }
    if !has(value, DIGIT) && (value.len() < 20 || !(has(value, UPPER) && has(value, LOWER)) || entropy(value) < 4.0) {
        return false;
    }
    if !has(value, UPPER | LOWER) || is_code(value) || is_words(value) || mentions_keyword(value) {
        return false;
    }
    if value.starts_with(b"/") && memchr::memchr_iter(b'/', value).count() > 1 && !has(value, DIGIT)
        || value.starts_with(b"./")
        || value.starts_with(b"http")
        || memchr::memmem::find(value, b"://").is_some()
    {
        return false;
    }
    let mixed = has(value, UPPER) && has(value, LOWER);
    match value.len() {
        0..=15 => entropy(value) >= 2.5 && (mixed || only(value, ALNUM) || !only(value, WORD | DOT | DASH)),
        _ if only(value, HEX | DASH) => entropy(value) >= 2.5,
        _ => entropy(value) >= if style == Style::Loose { 3.5 } else { 3.0 },
    }
}

/// Calls, paths through names, operators: `get_password()`, `config.password`, `Type::new`, `a->b`, `x[0]`.
pub(super) fn is_code(value: &[u8]) -> bool {
    let contains = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    if value.starts_with(b"(")
        || contains(b"::")
        || contains(b"->")
        || contains(b"()")
        || contains(b"${")
        || contains(b"{{")
        || contains(b"&&")
        || contains(b"||")
    {
        return true;
    }
    if value.starts_with(b"&") && only(value.get(1..).unwrap_or_default(), WORD)
        || value.starts_with(b"process.env")
        || value.starts_with(b"os.environ")
    {
        return true;
    }
    if let Some(open) = memchr::memchr2(b'(', b'[', value)
        && open > 0
        && only(slice(value, 0, open), WORD | DOT)
        && (memchr::memchr2(b')', b']', value).is_some() || open + 1 == value.len())
    {
        return true;
    }
    // A call that was cut at its first closing bracket.
    if let Some(open) = memchr::memchr(b'(', value)
        && only(slice(value, 0, open), WORD | DOT)
        && slice(value, 0, open).contains(&b'.')
    {
        return true;
    }
    let mut parts = value.split(|&b| b == b'.').peekable();
    parts.peek().is_some()
        && value.contains(&b'.')
        && parts.all(|p| {
            p.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') && only(p, UPPER | LOWER | UNDERSCORE)
        })
}

/// `my-service-v2`, `claude-sonnet-4`, `2025-01-31`: words and numbers between dashes.
pub(super) fn is_words(value: &[u8]) -> bool {
    value.iter().any(|b| b"-_./:".contains(b))
        && value.split(|b| b"-_./:".contains(b)).all(|p| {
            let p = numbered(p);
            only(p, LOWER)
                || only(p, UPPER)
                || only(p, DIGIT)
                || (p.len() <= 3 && only(p, LOWER | DIGIT))
                || (p.len() <= 12
                    && p.first().is_some_and(u8::is_ascii_uppercase)
                    && only(p.get(1..).unwrap_or_default(), LOWER))
        })
        && value.split(|b| b"-_./:".contains(b)).any(|p| p.len() >= 3 && only(p, UPPER | LOWER))
        || only(value, DIGIT | DASH | DOT)
}

/// A word without its number: `SOCKS5`, `utf8`.
fn numbered(word: &[u8]) -> &[u8] {
    let digits = word.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    if digits <= 2 && word.len() > digits + 2 { slice(word, 0, word.len() - digits) } else { word }
}

/// A name or a label that has the keyword in it: `user_password`, `New password`.
pub(super) fn mentions_keyword(value: &[u8]) -> bool {
    const WORDS: &[&str] = &["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "credential"];
    value.len() <= 64
        && only(value, ALNUM | DASH | DOT | SPACE | UNDERSCORE | PLUS_SLASH)
        && value.iter().filter(|b| b.is_ascii_digit()).count() <= 2
        && WORDS.iter().any(|w| value.windows(w.len()).any(|part| part.eq_ignore_ascii_case(w.as_bytes())))
}

/// Words that stand where a value would and are none.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "string", "str", "text", "number", "int", "integer", "bool", "boolean", "bytes", "char", "varchar", "any", "object",
    "null", "none", "nil", "true", "false", "undefined", "required", "optional", "hidden", "redacted", "masked", "omitted",
    "removed", "empty", "unset", "default", "unknown", "yes", "inherit", "secretstr", "self", "this", "option", "value",
    "field", "input", "prompt", "prompts", "stdin", "missing", "invalid", "incorrect", "wrong", "expired", "reset", "reset.",
    "protected", "manager", "your", "must", "should", "cannot", "authentication", "rotation", "[redacted]", "the", "and",
];
