//! Values that only the word before them gives away: `password = …`, `"api_key": "…"`, `--token …`, `Authorization: …`.
//!
//! The word says that a value is likely; the value must then not look like code, a type, a reference or a sentence. A word
//! such as `password` needs little more; a word such as `token`, which code is full of, needs a value that looks random.

use std::ops::Range;

use super::bytes::{
    DOT, LOWER, SPACE, UNDERSCORE, UPPER, URL_SAFE, WIDE, WORD, is_at, is_before, line_start, only, run_end, run_start,
    slice, starts_with_ignoring_case,
};
use super::headers::{authorization, cookie, scheme, user_flag};
use super::placeholder::placeholder_at;
use super::values::{Style, is_reference, strong_value, weak_value};

/// A word that announces a secret.
pub(super) struct Keyword {
    pub(super) word: &'static str,
    pub(super) kind: &'static str,
    pub(super) weight: Weight,
}

/// How much the word says by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// A value follows, whatever it looks like.
    Strong,
    /// As strong, but short and part of other words: it must be a word of its own in the identifier.
    StrongWord,
    /// A value follows if it looks random.
    Weak,
    /// As weak, and must be a word of its own.
    WeakWord,
    /// `Authorization`, with its schemes.
    Header,
    /// `Cookie` and `Set-Cookie`: the rest of the line.
    Cookie,
    /// `Bearer`, `Basic` and the like, followed by the credentials themselves.
    Scheme,
    /// `-u` and `--user`: the part behind the colon.
    UserFlag,
}

pub(super) const KEYWORD_KINDS: &[&str] =
    &["password", "secret", "token", "key", "authorization", "cookie", "signature", "credential"];

const fn keyword(word: &'static str, kind: &'static str, weight: Weight) -> Keyword {
    Keyword { word, kind, weight }
}

#[rustfmt::skip]
pub(super) static KEYWORDS: &[Keyword] = &[
    keyword("password", "password", Weight::Strong),
    keyword("passwd", "password", Weight::Strong),
    keyword("passphrase", "password", Weight::Strong),
    keyword("passwort", "password", Weight::Strong),
    keyword("kennwort", "password", Weight::Strong),
    keyword("identified by", "password", Weight::Strong),
    keyword("sshpass -p", "password", Weight::Strong),
    keyword("pwd", "password", Weight::StrongWord),
    keyword("pass", "password", Weight::StrongWord),
    keyword("psw", "password", Weight::StrongWord),
    keyword("secret", "secret", Weight::Strong),
    keyword("token", "token", Weight::Weak),
    keyword("apikey", "key", Weight::Weak),
    keyword("api key", "key", Weight::Weak),
    keyword("accesskey", "key", Weight::Weak),
    keyword("accountkey", "key", Weight::Weak),
    keyword("sharedaccesssignature", "signature", Weight::Weak),
    keyword("privatekey", "key", Weight::Weak),
    keyword("encryptionkey", "key", Weight::Weak),
    keyword("signingkey", "key", Weight::Weak),
    keyword("masterkey", "key", Weight::Weak),
    keyword("authkey", "key", Weight::Weak),
    keyword("_key", "key", Weight::Weak),
    keyword("-key", "key", Weight::Weak),
    keyword("credential", "credential", Weight::Weak),
    keyword("credentials", "credential", Weight::Weak),
    keyword("signature=", "signature", Weight::Weak),
    keyword("sig=", "signature", Weight::WeakWord),
    keyword("auth", "credential", Weight::WeakWord),
    keyword("authorization", "authorization", Weight::Header),
    keyword("cookie", "cookie", Weight::Cookie),
    keyword("bearer ", "authorization", Weight::Scheme),
    keyword("basic ", "authorization", Weight::Scheme),
    keyword(" -u ", "password", Weight::UserFlag),
    keyword(" --user ", "password", Weight::UserFlag),
];

/// Last words of a name that make it the name of something else: `token_count`, `secretName`, `api_key_env`.
#[rustfmt::skip]
const NOT_A_VALUE: &[&str] = &[
    "name", "names", "id", "ids", "count", "counts", "len", "length", "type", "types", "field", "fields", "file", "path",
    "url", "uri", "policy", "limit", "limits", "usage", "expiry", "expires", "ttl", "size", "budget", "manager",
    "provider", "input", "prompt", "ref", "label", "strength", "regex", "pattern", "env", "var", "kind", "index", "hint",
    "error", "min", "max", "used", "rate", "status", "mode", "version", "format", "class", "helper", "required", "fds", "fd",
];

/// Names that end in "key" and hold none: `cache_key`, `primary-key`.
#[rustfmt::skip]
const NOT_A_KEY: &[&str] = &[
    "cache", "primary", "foreign", "sort", "partition", "public", "idempotency", "lookup", "group", "hash", "map", "dict",
    "index", "object", "row", "column", "unique", "composite", "translation", "i18n", "query", "hot", "arrow",
];

/// Finds the value that the keyword at `word` announces.
pub(super) fn value_after(text: &[u8], word: &Range<usize>, keyword: &Keyword) -> Option<Range<usize>> {
    match keyword.weight {
        Weight::Scheme => return scheme(text, word),
        Weight::UserFlag => return user_flag(text, word.end),
        _ => {}
    }
    // The sign of equality belongs to the word only to make it rare.
    let word = &(word.start..word.end - usize::from(keyword.word.ends_with('=')));
    let ident_end = run_end(text, word.end, URL_SAFE).min(word.end + 48);
    if !matches!(text.get(ident_end)?, b':' | b'=' | b' ' | b'\t' | b'"' | b'\'' | b'`' | b']' | b'\\' | b'>' | b'!') {
        return None;
    }
    let ident_start = run_start(text, word.start, URL_SAFE | DOT | WIDE, 48);
    if !name_fits(text, word, ident_start, ident_end, keyword) {
        return None;
    }
    let (at, spaced, tight) = separator(text, ident_start, ident_end, keyword)?;
    match keyword.weight {
        Weight::Header => authorization(text, at),
        Weight::Cookie => cookie(text, at),
        _ => value(text, at, ident_start, spaced, tight, keyword),
    }
}

fn name_fits(text: &[u8], word: &Range<usize>, ident_start: usize, ident_end: usize, keyword: &Keyword) -> bool {
    let own_word = matches!(keyword.weight, Weight::StrongWord | Weight::WeakWord);
    if own_word && is_before(text, word.start, LOWER | WIDE) && !is_at(text, word.start, UPPER) {
        return false;
    }
    if own_word && is_before(text, word.start, UPPER) && is_at(text, word.start, UPPER) {
        return false;
    }
    let suffix = slice(text, word.end, ident_end);
    let last = suffix.rsplit(|b| matches!(b, b'_' | b'-')).next().unwrap_or_default();
    let mut camel = last.len();
    while camel > 0 && last.get(camel - 1).is_some_and(u8::is_ascii_lowercase) {
        camel -= 1;
    }
    let hump = last.get(camel.saturating_sub(1)..).unwrap_or_default();
    let names_other = |tail: &[u8]| NOT_A_VALUE.iter().any(|w| tail.eq_ignore_ascii_case(w.as_bytes()));
    if !suffix.is_empty() && (names_other(last) || names_other(hump)) {
        return false;
    }
    // `tokenizer`, `secretary`, `TOKENIZE`: the word goes on and is another one. A plural of a strong word may stay.
    let same_case = |alphabet| is_at(text, word.end, alphabet) && is_at(text, word.end - 1, alphabet);
    if same_case(LOWER) || same_case(UPPER) {
        let plural = suffix.eq_ignore_ascii_case(b"s") && keyword.weight == Weight::Strong;
        if !plural {
            return false;
        }
    }
    if keyword.kind == "key" {
        let before = slice(text, ident_start, word.start);
        let last = before.rsplit(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
        if NOT_A_KEY.iter().any(|w| last.eq_ignore_ascii_case(w.as_bytes())) {
            return false;
        }
    }
    true
}

/// Finds what stands between name and value; gives where the value starts, and whether spaces or nothing surround it.
fn separator(text: &[u8], ident_start: usize, ident_end: usize, keyword: &Keyword) -> Option<(usize, bool, bool)> {
    let quote_end = run_of(text, ident_end, b"\"'`]\\", 3);
    let quoted_name = quote_end > ident_end;
    let at = run_of(text, quote_end, b" \t", 24);
    let spaced = at > quote_end;
    let rest = text.get(at..)?;
    let width = match rest {
        [b'=', b'=', b'=', ..] => 3,
        [b':' | b'=' | b'!', b'=', ..] | [b'=', b'>', ..] => 2,
        [b':', b':', ..] => return None,
        [b':' | b'=', ..] => 1,
        [b'>', ..] if text.get(ident_start.checked_sub(1)?) == Some(&b'<') => 1,
        [b',', ..] if quoted_name => 1,
        [b'i', b's', b' ', ..] if spaced && !quoted_name => 3,
        _ if spaced && !quoted_name && spaces_suffice(text, ident_start, at, keyword) => 0,
        _ => return None,
    };
    let after = at + width;
    let value = run_of(text, after, b" \t", 24);
    Some((value, spaced || value > after, !spaced && value == after && width == 1 && rest.first() == Some(&b'=')))
}

/// A flag, a `.netrc` line or SQL: `--password x`, `login a password x`, `PASSWORD 'x'`.
fn spaces_suffice(text: &[u8], ident_start: usize, value: usize, keyword: &Keyword) -> bool {
    if text.get(ident_start) == Some(&b'-') || keyword.word.contains(' ') {
        return true;
    }
    let start = line_start(text, ident_start).max(ident_start.saturating_sub(300));
    let before = slice(text, start, ident_start);
    if before.ends_with(b"ENV ") || before.ends_with(b"setx ") || before.ends_with(b"setenv ") {
        return true;
    }
    let strong = matches!(keyword.weight, Weight::Strong | Weight::StrongWord);
    if !strong {
        return text.get(ident_start) == Some(&b'_');
    }
    // To "pass 'x'" is what prose does with arguments.
    if matches!(text.get(value), Some(b'\'' | b'"')) {
        return keyword.word != "pass";
    }
    if memchr::memmem::find(before, b"login ").is_some() || memchr::memmem::find(before, b"machine ").is_some() {
        return true;
    }
    // Alone on its line, as `.netrc` is often laid out.
    let value_end = run_of_not(text, value, b" \t\r\n");
    let alone = matches!(text.get(value_end), None | Some(b'\n' | b'\r'));
    alone && before.iter().all(|&b| matches!(b, b' ' | b'\t' | b'+' | b'-'))
}

fn value(
    text: &[u8],
    at: usize,
    ident_start: usize,
    spaced: bool,
    tight: bool,
    keyword: &Keyword,
) -> Option<Range<usize>> {
    let at = skip_type(text, at);
    let at = skip_scheme(text, at);
    let at = skip_string_prefix(text, at);
    if let Some(quote @ (b'"' | b'\'' | b'`')) = text.get(at).copied() {
        let start = at + 1;
        if let Some(end) = closing_quote(text, start, quote) {
            return acceptable(text, start..end, Style::Quoted, keyword);
        }
        let end = run_of_not(text, start, b" \t\r\n\"'`<>,;");
        return acceptable(text, start..end, Style::Quoted, keyword);
    }
    if text.get(ident_start.wrapping_sub(1)) == Some(&b'<') && text.get(at.wrapping_sub(1)) == Some(&b'>') {
        let end = run_of_not(text, at, b"<\n");
        return acceptable(text, at..end, Style::Quoted, keyword);
    }
    let line = line_start(text, ident_start).max(ident_start.saturating_sub(300));
    let mut lead = slice(text, line, ident_start);
    while let Some(rest) =
        lead.strip_prefix(b" ").or(lead.strip_prefix(b"\t")).or(lead.strip_prefix(b"+")).or(lead.strip_prefix(b"-"))
    {
        lead = rest;
    }
    let first_in_line =
        lead.is_empty() || matches!(lead, b"export " | b"set " | b"ENV " | b"ARG " | b"'" | b"\"" | b"$env:");
    let whole = run_of_not(text, at, b" \t\r\n\"'`<>");
    let ends_line = matches!(text.get(run_of(text, whole, b" \t\r", 24)), None | Some(b'\n' | b'#'));
    let last = text.get(whole.wrapping_sub(1));
    if first_in_line && ends_line && !matches!(last, Some(b';' | b',' | b'{' | b'(' | b')' | b'}')) {
        return acceptable(text, at..whole, Style::Line, keyword);
    }
    let end = run_of_not(text, at, b" \t\r\n\"'`<>,;&|)}]\\");
    let style = if tight && !spaced { Style::Tight } else { Style::Loose };
    acceptable(text, at..end, style, keyword)
}

fn acceptable(text: &[u8], range: Range<usize>, style: Style, keyword: &Keyword) -> Option<Range<usize>> {
    let value = text.get(range.clone())?;
    if value.len() < 3 || placeholder_at(text, range.start) == Some(range.end) || is_reference(value, style) {
        return None;
    }
    let after = text.get(range.end..).unwrap_or_default();
    if style != Style::Quoted && matches!(after, [b'(' | b'[', ..] | [b'<', b'[', ..]) {
        return None;
    }
    // A call or a type, cut at its first closing bracket: `open(path`, `Optional[str`.
    if matches!(style, Style::Loose | Style::Tight)
        && let Some(bracket) = memchr::memchr2(b'(', b'[', value)
        && bracket > 0
        && only(slice(value, 0, bracket), WORD | DOT)
    {
        return None;
    }
    // An argument in code: `load(password=ask_for_it)`. And the end of a sentence that begins on the line before.
    let in_call = style == Style::Tight && text.get(range.end) == Some(&b')') && only(value, LOWER | UNDERSCORE);
    if in_call && value.contains(&b'_') || style == Style::Line && value.ends_with(b".") && only(value, LOWER | DOT) {
        return None;
    }
    // SQL quotes its strings; prose that identifies things quotes names of code.
    if keyword.word == "identified by" && !matches!(text.get(range.start - 1), Some(b'\'' | b'"')) {
        return None;
    }
    // `PASS: TestLogin` is a verdict of a test runner; `DB_PASS: x7Hq…` is none.
    let bare = matches!(style, Style::Line | Style::Loose);
    if keyword.word == "pass" && bare && is_before(text, range.start, SPACE) && !is_password_name(text, range.start) {
        return None;
    }
    let weight = if listed(text, range.start, style) { Weight::Weak } else { keyword.weight };
    let fits = match weight {
        Weight::Strong | Weight::StrongWord => strong_value(value, style, keyword.word == "passphrase"),
        _ => weak_value(value, style),
    };
    fits.then_some(range)
}

/// Whether the name before a value has more to it than the word `pass`, as `db_pass` and `--admin-pass` have.
fn is_password_name(text: &[u8], value: usize) -> bool {
    let mut end = value;
    while end > 0 && !is_before(text, end, URL_SAFE) && value - end < 8 {
        end -= 1;
    }
    let name = slice(text, run_start(text, end, URL_SAFE, 48), end);
    name.len() > 5
        && name.rsplit(|b| matches!(b, b'_' | b'-')).next().is_some_and(|last| last.eq_ignore_ascii_case(b"pass"))
        || name.ends_with(b"Pass")
}

/// Whether a comma stands between name and value: `("password", "x")`, but also `["password", "username"]`.
fn listed(text: &[u8], value: usize, style: Style) -> bool {
    let mut at = value.saturating_sub(usize::from(style == Style::Quoted));
    while is_before(text, at, SPACE) {
        at -= 1;
    }
    at.checked_sub(1).and_then(|i| text.get(i)) == Some(&b',')
}

pub(super) fn closing_quote(text: &[u8], start: usize, quote: u8) -> Option<usize> {
    let rest = text.get(start..text.len().min(start + 2048))?;
    let mut i = 0;
    while let Some(&b) = rest.get(i) {
        match b {
            b'\\' => i += 1,
            b'\n' => return None,
            b if b == quote => return Some(start + i),
            _ => {}
        }
        i += 1;
    }
    None
}

/// `password: str = "…"`, `let token: &str = "…"`: the type is not the value.
fn skip_type(text: &[u8], at: usize) -> usize {
    let mut end = at;
    while end < at + 40 && text.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || b"&'_<>[]?:|".contains(b)) {
        end += 1;
    }
    let equals = run_of(text, end, b" ", 2);
    if end > at && equals > end && text.get(equals) == Some(&b'=') && text.get(equals + 1) == Some(&b' ') {
        run_of(text, equals + 1, b" ", 4)
    } else {
        at
    }
}

fn skip_scheme(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    for scheme in ["bearer ", "basic ", "token "] {
        if starts_with_ignoring_case(rest, scheme.as_bytes()) {
            return at + scheme.len();
        }
    }
    at
}

/// `b"…"`, `r"…"`, `f'…'`, `String::from("…")`.
pub(super) fn skip_string_prefix(text: &[u8], at: usize) -> usize {
    let end = run_end(text, at, WORD).min(at + 32);
    match text.get(end) {
        Some(b'"' | b'\'') if end - at <= 2 => end,
        Some(b':' | b'(' | b'.') if end > at => {
            let call = run_of_not(text, at, b"( \t\n\"'`,;=");
            let name = slice(text, at, call);
            let reads = [
                &b"env"[..],
                b"get",
                b"read",
                b"input",
                b"prompt",
                b"find",
                b"match",
                b"replace",
                b"Error",
                b"encode",
                b"decode",
                b"require",
                b"split",
                b"strip",
            ];
            let literal = text.get(call) == Some(&b'(') && matches!(text.get(call + 1), Some(b'"' | b'\''));
            if literal && call - at < 40 && !reads.iter().any(|r| memchr::memmem::find(name, r).is_some()) {
                call + 1
            } else {
                at
            }
        }
        _ => at,
    }
}

/// Skips at most `limit` bytes of the set.
pub(super) fn run_of(text: &[u8], from: usize, set: &[u8], limit: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take(limit).take_while(|b| set.contains(b)).count()
}

/// Skips, within reason, to the first byte of the set.
pub(super) fn run_of_not(text: &[u8], from: usize, set: &[u8]) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take(4096).take_while(|b| !set.contains(b)).count()
}
