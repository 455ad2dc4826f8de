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
    if [&b"{{"[..], b"%(", b"%s", b"#{", b"${{", b"!vault"].iter().any(|mark| value.starts_with(mark)) {
        return true;
    }
    // `%DB_PASS%`, and what a field of a format string or a list leaves when it is cut: `{password!r`, `[0x42u8`.
    if first == b'%' && value.len() > 2 && value.ends_with(b"%")
        || style != Style::Quoted && matches!(first, b'{' | b'[')
    {
        return true;
    }
    if PUBLIC_KEYS.iter().any(|mark| value.starts_with(mark)) {
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

/// How public keys begin: those of `ssh`, and those in DER.
const PUBLIC_KEYS: &[&[u8]] =
    &[b"AAAAB3NzaC1", b"AAAAC3NzaC1", b"AAAAE2VjZHNh", b"MFkwEwYHKoZIzj0C", b"MIIBIjANBgkqhkiG9w0B", b"MCowBQYDK2Vw"];

/// A number, with its type or without: `4097u32`, `-1_000i64`, `0x8004_u32`, `1.3.132.1`.
fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    if let Some(digits) = value.strip_prefix(b"0x") {
        let digits = digits.strip_suffix(b"_u32").or(digits.strip_suffix(b"_u64")).unwrap_or(digits);
        return digits.len() <= 8 && only(digits, HEX);
    }
    if only(value, DIGIT | DOT) && value.contains(&b'.') {
        return true;
    }
    let kind = value.iter().position(|b| matches!(b, b'u' | b'i' | b'f')).unwrap_or(value.len());
    let (number, kind) = value.split_at(kind);
    !number.is_empty()
        && only(number, DIGIT | UNDERSCORE)
        && (kind.get(1..).is_some_and(|bits| only(bits, DIGIT) || bits == b"size") && kind.len() > 1)
}

pub(super) fn strong_value(value: &[u8], style: Style, spaces_allowed: bool) -> bool {
    let letters_only = only(value, UPPER | LOWER | WIDE);
    if style == Style::Loose && (is_constant(value) || is_camel(value) && value.len() >= 16) {
        return false;
    }
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
                && !only(value, UPPER | LOWER | WIDE | DOT | UNDERSCORE)
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
    if is_camel(value)
        || style == Style::Loose && is_constant(value)
        || style != Style::Quoted && is_dotted_name(value)
        || value.contains(&b'{')
        || memchr::memmem::find(value, b"\\\\").is_some()
    {
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
        || [&b"process.env"[..], b"os.environ", b"self.", b"this."].iter().any(|start| value.starts_with(start))
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
                || (p.len() <= 20
                    && only(p, UPPER | LOWER)
                    && p.iter().filter(|b| b.is_ascii_uppercase()).count() * 3 <= p.len())
        })
        && value.split(|b| b"-_./:".contains(b)).any(|p| p.len() >= 3 && only(p, UPPER | LOWER))
        || only(value, DIGIT | DASH | DOT)
}

/// A word without its number: `SOCKS5`, `utf8`, `x25519`.
fn numbered(word: &[u8]) -> &[u8] {
    let digits = word.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let short = digits <= 2 && word.len() > digits + 2;
    let algorithm = (3..=5).contains(&digits) && (1..=8).contains(&(word.len() - digits));
    if short || algorithm { slice(word, 0, word.len() - digits) } else { word }
}

/// The name of a constant: `DOT11_AUTH_CIPHER_PAIR`.
pub(super) fn is_constant(value: &[u8]) -> bool {
    let name = value.strip_suffix(b",").unwrap_or(value);
    name.contains(&b'_') && only(name, UPPER | DIGIT | UNDERSCORE) && has(name, UPPER)
}

/// A path through names, some of which have digits: `ed25519.Ed25519PrivateKey`.
fn is_dotted_name(value: &[u8]) -> bool {
    let name = |part: &[u8]| {
        let digits = part.iter().filter(|b| b.is_ascii_digit()).count();
        part.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            && only(part, WORD)
            && (is_constant(part)
                || digits <= 6 && changes(part) * 2 <= part.len()
                || digits <= 2 && part.len() <= 16 && changes(part) * 3 <= part.len() * 2)
    };
    value.contains(&b'.') && value.split(|&b| b == b'.').all(name)
}

/// Words run together: few capitals, fewer digits, and long stretches of small letters.
pub(super) fn is_camel(value: &[u8]) -> bool {
    let count = |alphabet| value.iter().filter(|&&b| super::bytes::is(b, alphabet)).count();
    only(value, ALNUM)
        && has(value, LOWER)
        && has(value, UPPER)
        && count(UPPER) * 3 <= value.len()
        && (count(DIGIT) == 0
            || count(DIGIT) <= 2 && count(UPPER) * 4 <= value.len() && changes(value) * 5 <= value.len() * 2)
        && changes(value) * 2 <= value.len()
}

/// How often the kind of letter changes from one byte to the next.
fn changes(value: &[u8]) -> usize {
    value
        .windows(2)
        .filter(|w| {
            w[0].is_ascii_digit() != w[1].is_ascii_digit() || w[0].is_ascii_uppercase() != w[1].is_ascii_uppercase()
        })
        .count()
}

/// Drawn at random beyond doubt, so that a name which is often innocent suffices: long hex, a UUID, or letters and
/// digits well mixed.
pub(super) fn hard_random(value: &[u8]) -> bool {
    if !is_token_length(value.len()) || !only(value, TOKEN) || is_reference(value, Style::Quoted) {
        return false;
    }
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let one_case = !(has(value, UPPER) && has(value, LOWER));
    if only(value, HEX) && one_case && value.len() >= 24 {
        return digits >= 4 && entropy(value) >= 3.0;
    }
    if is_uuid(value) {
        return true;
    }
    !is_words(value)
        && !is_camel(value)
        && !is_dotted_name(value)
        && digits
            >= if one_case { 3 } else { 2 - usize::from(value.len() >= 20 && changes(value) * 5 >= value.len() * 2) }
        && has(value, UPPER | LOWER)
        && entropy(value) >= 3.2
        && changes(value) >= value.len() / 5
}

/// How long a key or token may be.
pub(super) fn is_token_length(length: usize) -> bool {
    (16..=200).contains(&length)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(i, b)| if matches!(i, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_hexdigit() })
        && entropy(value) >= 2.5
}

/// What people and machines set as passwords, as far as it can be told from words and names: a letter, and a digit or a
/// sign that names do not have.
pub(super) fn password_like(value: &[u8]) -> bool {
    let begins_reference = matches!(value.first(), Some(b'$' | b'<' | b'{' | b'%' | b'*' | b'&' | b'-'));
    let letter = has(value, UPPER | LOWER);
    let digit = has(value, DIGIT);
    let sign = value.iter().any(|b| b"!@#^*~".contains(b));
    (5..=80).contains(&value.len())
        && !begins_reference
        && letter
        && (digit || sign)
        && value.iter().all(|b| b.is_ascii_graphic() && !b"{}<>\"'`".contains(b))
        && !is_reference(value, Style::Quoted)
        && !is_code(value)
        && !is_words(value)
        && !mentions_keyword(value)
        && memchr::memmem::find(value, b"://").is_none()
}

/// A name or a label that has the keyword in it: `user_password`, `New password`.
pub(super) fn mentions_keyword(value: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "credential", "passphrase"];
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
    "changeme", "change_me", "change-me", "placeholder", "example", "name", "auth", "userdata", "unspecified",
    "protected", "manager", "your", "must", "should", "cannot", "authentication", "rotation", "[redacted]", "pass", "fail",
    "options", "flag", "flags", "argument", "arguments", "from", "the", "and",
];
