//! Values that only the word before them gives away: `password = …`, `"api_key": "…"`, `--token …`, `Authorization: …`.
//!
//! The word says that a value is likely; the value must then not look like code, a type, a reference or a sentence. A word
//! such as `password` needs little more; a word such as `token`, which code is full of, needs a value that looks random.

use std::ops::Range;

use super::bytes::{
    ALNUM, DIGIT, DOT, LOWER, SPACE, TOKEN, UNDERSCORE, UPPER, URL_SAFE, WIDE, WORD, ends_with_ignoring_case, entropy,
    has, is, is_at, is_before, line_start_within, only, run_end, run_start, slice, starts_with_ignoring_case,
};
use super::headers::{authorization, cookie, scheme};
use super::pairs::{argument, below, beside, plainly_random};
use super::placeholder::placeholder_at;
use super::values::{
    Style, hard_random, is_constant, is_reference, is_token_length, password_like, strong_value, weak_value,
};

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
    /// Innocent more often than not: a value follows if it is random beyond doubt.
    Hard,
    /// As hard, and only in the query of a URL.
    Query,
    /// `Authorization`, with its schemes.
    Header,
    /// `Cookie` and `Set-Cookie`: the rest of the line.
    Cookie,
    /// `Bearer`, `Basic` and the like, followed by the credentials themselves.
    Scheme,
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
    keyword("mot de passe", "password", Weight::Strong),
    keyword("mot_de_passe", "password", Weight::Strong),
    keyword("contraseña", "password", Weight::Strong),
    keyword("contraseÑa", "password", Weight::Strong),
    keyword("senha", "password", Weight::StrongWord),
    keyword("identified by", "password", Weight::Strong),
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
    keyword("key", "key", Weight::Hard),
    keyword("salt", "key", Weight::Hard),
    keyword("pepper", "key", Weight::Hard),
    keyword("access_key_id", "key", Weight::Hard),
    keyword("accesskeyid", "key", Weight::Hard),
    keyword("_signature", "signature", Weight::Hard),
    keyword("sonar.login", "token", Weight::Hard),
    keyword("psk", "password", Weight::StrongWord),
    keyword("appid=", "key", Weight::Query),
    keyword("pw=", "password", Weight::StrongWord),
    keyword("pw:", "password", Weight::StrongWord),
    keyword("pw ", "password", Weight::StrongWord),
    keyword("pw\"", "password", Weight::StrongWord),
    keyword("pw'", "password", Weight::StrongWord),
    keyword("securestring", "password", Weight::Strong),
    keyword("securestring -string", "password", Weight::Strong),
    keyword("credential", "credential", Weight::Weak),
    keyword("credentials", "credential", Weight::Weak),
    keyword("signature=", "signature", Weight::Weak),
    keyword("sig=", "signature", Weight::WeakWord),
    keyword("auth", "credential", Weight::WeakWord),
    keyword("authorization", "authorization", Weight::Header),
    keyword("cookie", "cookie", Weight::Cookie),
    keyword("bearer ", "authorization", Weight::Scheme),
    keyword("basic ", "authorization", Weight::Scheme),
];

/// Last words of a name that make it the name of something else: `token_count`, `secretName`, `api_key_env`.
#[rustfmt::skip]
const NOT_A_VALUE: &[&str] = &[
    "name", "names", "id", "ids", "count", "counts", "len", "length", "type", "types", "field", "fields", "file", "path",
    "url", "uri", "policy", "limit", "limits", "usage", "expiry", "expires", "ttl", "size", "budget", "manager",
    "provider", "input", "prompt", "ref", "label", "strength", "regex", "pattern", "env", "var", "kind", "index", "hint",
    "error", "min", "max", "used", "rate", "status", "mode", "version", "format", "class", "helper", "required", "fds", "fd", "mgr",
    "userdata", "expander", "alias",
];

/// Names that end in "key" and hold none: `cache_key`, `primary-key`.
#[rustfmt::skip]
const NOT_A_KEY: &[&str] = &[
    "cache", "primary", "foreign", "sort", "partition", "public", "idempotency", "lookup", "group", "map", "dict",
    "index", "object", "row", "column", "unique", "composite", "translation", "i18n", "query", "hot", "arrow", "shortcut",
    "state", "reg", "sub", "root", "react",
];

/// What says in prose that the value follows, in the languages of the words above.
const IS: &[&str] = &["is ", "ist ", "lautet ", "est ", "es ", "é "];

/// What stands before `pass` in names of passwords that are written as one word.
const BEFORE_PASS: &[&str] =
    &["db", "user", "admin", "root", "sql", "ftp", "smtp", "mail", "imap", "pop", "auth", "remote", "ssh", "become"];

/// Finds the value that the keyword at `word` announces.
pub(super) fn value_after(text: &[u8], word: &Range<usize>, keyword: &Keyword) -> Option<Range<usize>> {
    if keyword.weight == Weight::Scheme {
        return scheme(text, word);
    }
    // What follows the word belongs to it only to make it rare, or long enough.
    let word = &(word.start..word.end - usize::from(keyword.word.ends_with(['=', ':', ' ', '"', '\''])));
    let ident_end = run_end(slice(text, 0, text.len().min(word.end + 48)), word.end, URL_SAFE);
    let next = *text.get(ident_end)?;
    if is(next, ALNUM | WIDE) || b"/;?{}%$&+~#|^@\0".contains(&next) {
        return None;
    }
    let ident_start = run_start(text, word.start, URL_SAFE | DOT | WIDE, 48);
    if !name_fits(text, word, ident_start, ident_end, keyword) {
        return None;
    }
    let name = ident_start..ident_end;
    let Some((at, spaced, tight)) = separator(text, ident_start, ident_end, keyword) else {
        let header = matches!(keyword.weight, Weight::Header | Weight::Cookie);
        return (!header).then(|| argument(text, &name, keyword).or_else(|| beside(text, &name, keyword)))?;
    };
    match keyword.weight {
        Weight::Header => authorization(text, at),
        Weight::Cookie => cookie(text, at),
        _ => value(text, at, ident_start, spaced, tight, keyword)
            .or_else(|| below(text, at, keyword))
            .or_else(|| beside(text, &name, keyword)),
    }
}

fn name_fits(text: &[u8], word: &Range<usize>, ident_start: usize, ident_end: usize, keyword: &Keyword) -> bool {
    let before = slice(text, ident_start, word.start);
    let compound = keyword.word == "pass" && BEFORE_PASS.iter().any(|w| ends_with_ignoring_case(before, w.as_bytes()));
    let own_word = matches!(keyword.weight, Weight::StrongWord | Weight::WeakWord) && !compound;
    if own_word && is_before(text, word.start, LOWER | WIDE) && !is_at(text, word.start, UPPER) {
        return false;
    }
    if own_word && is_before(text, word.start, UPPER) && is_at(text, word.start, UPPER) {
        return false;
    }
    let suffix = slice(text, word.end, ident_end);
    // `needless_pass_by_value`, `RenderPassDescriptor`: to pass is what code does all the time.
    if keyword.word == "pass" && !only(suffix, DIGIT) && !ends_with_ignoring_case(suffix, b"word") {
        return false;
    }
    // A group of a regular expression: `(?P<secret>…)`.
    if slice(text, ident_start.saturating_sub(2), ident_start) == b"P<"
        || slice(text, ident_start.saturating_sub(2), ident_start) == b"?<"
    {
        return false;
    }
    if keyword.weight == Weight::Query && !matches!(text.get(ident_start.wrapping_sub(1)), Some(b'?' | b'&')) {
        return false;
    }
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
        let end = before.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |i| i + 1);
        let before = slice(before, 0, end);
        let names_other = |w: &&str| {
            ends_with_ignoring_case(before, w.as_bytes()) && {
                let from = before.len() - w.len();
                !is_before(before, from, ALNUM) || is_at(before, from, UPPER) && !is_before(before, from, UPPER)
            }
        };
        if NOT_A_KEY.iter().any(names_other) {
            return false;
        }
    }
    true
}

/// Finds what stands between name and value; gives where the value starts, and whether spaces or nothing surround it.
fn separator(text: &[u8], ident_start: usize, ident_end: usize, keyword: &Keyword) -> Option<(usize, bool, bool)> {
    // `char auth[] = "…"`
    let ident_end = ident_end + if slice(text, ident_end, ident_end + 2) == b"[]" { 2 } else { 0 };
    let quote_end = run_of(text, ident_end, b"\"'`]\\*", 3);
    let quoted_name = quote_end > ident_end;
    let at = run_of(text, quote_end, b" \t", 24);
    let spaced = at > quote_end;
    let rest = text.get(at..)?;
    let width = match rest {
        [b'=', b'=', b'=', ..] => 3,
        [b':' | b'=' | b'!', b'=', ..] | [b'=', b'>', ..] | [b'<', b'-', b' ', ..]
        // What is taken where the name has no value.
        | [b'|', b'|', b' ', b'"' | b'\'', ..]
        | [b'?', b'?', b' ', b'"' | b'\'', ..] => 2,
        [b'|', b' ', ..] if spaced && plainly_random(text, at + 2) => 1,
        [b':', b':', ..] => return None,
        [b':' | b'=', ..] => 1,
        [b'>', ..] if text.get(ident_start.checked_sub(1)?) == Some(&b'<') => 1,
        [b',', ..] if quoted_name || slice(text, 0, ident_start).ends_with(b"define(") => 1,
        _ if spaced && !quoted_name && let Some(is) = IS.iter().find(|is| rest.starts_with(is.as_bytes())) => is.len(),
        _ if spaced && !quoted_name && spaces_suffice(text, ident_start, at, keyword) => 0,
        _ => return None,
    };
    let after = at + width;
    let value = run_of(text, after, b" \t", 24);
    Some((value, spaced || value > after, !spaced && value == after && width == 1 && rest.first() == Some(&b'=')))
}

/// A flag, a `.netrc` line or SQL: `--password x`, `login a password x`, `PASSWORD 'x'`.
fn spaces_suffice(text: &[u8], ident_start: usize, value: usize, keyword: &Keyword) -> bool {
    // No file and no command has spaces in the name of a password; prose has.
    let prose = keyword.word == "mot de passe";
    if text.get(ident_start) == Some(&b'-') || keyword.word.trim_end().contains(' ') && !prose {
        return true;
    }
    let start = line_start_within(text, ident_start, 300);
    let before = slice(text, start, ident_start);
    if before.ends_with(b"ENV ") || before.ends_with(b"setx ") || before.ends_with(b"setenv ") {
        return true;
    }
    // Languages that define a name without a sign in between: C, Clojure, CMake, Elixir.
    let defined = ["#define ", "(def ", "set(", "@", ":"].iter().any(|start| before.ends_with(start.as_bytes()));
    if defined && matches!(text.get(value..), Some([b'"' | b'\'', ..] | [b'@', b'"', ..])) {
        return true;
    }
    let strong = matches!(keyword.weight, Weight::Strong | Weight::StrongWord);
    if keyword.word.len() > 3 && (strong || keyword.weight == Weight::Weak) && plainly_random(text, value) {
        return true;
    }
    if !strong {
        return text.get(ident_start) == Some(&b'_');
    }
    if text.get(value) == Some(&b'`') {
        return closing_quote(text, value + 1, b'`').is_some_and(|end| password_like(slice(text, value + 1, end)));
    }
    // To "pass 'x'" is what prose does with arguments.
    if matches!(text.get(value), Some(b'\'' | b'"')) {
        return keyword.word != "pass";
    }
    if prose {
        return false;
    }
    if memchr::memmem::find(before, b"login ").is_some() || memchr::memmem::find(before, b"machine ").is_some() {
        return true;
    }
    // A declaration in C: `FunctionPass *create();`
    if text.get(value) == Some(&b'*') {
        return false;
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
    let at = skip_yaml(text, at)?;
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
        return (text.get(end) == Some(&b'<')).then(|| acceptable(text, at..end, Style::Quoted, keyword))?;
    }
    let innocent = matches!(keyword.weight, Weight::Hard | Weight::Query);
    if innocent && !is_token_length(run_end(slice(text, 0, text.len().min(at + 201)), at, TOKEN) - at) {
        return None;
    }
    let line = line_start_within(text, ident_start, 300);
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
    let last = slice(text, whole.saturating_sub(2), whole);
    let goes_on = matches!(last, [.., b';' | b',' | b'{' | b'(' | b')' | b'}'] | [b')', b':']);
    if first_in_line && ends_line && !goes_on {
        return acceptable(text, at..whole, Style::Line, keyword);
    }
    if matches!(text.get(ident_start.wrapping_sub(1)), Some(b'?' | b'&')) && innocent {
        let end = run_of_not(text, at, b" \t\r\n\"'`<>,;&|)}]\\#");
        return acceptable(text, at..end, Style::Line, keyword);
    }
    let end = run_of_not(text, at, ENDS);
    let style = if tight && !spaced { Style::Tight } else { Style::Loose };
    let all = if spaced { beyond_ampersands(text, end) } else { end };
    let whole = (all > end).then(|| acceptable(text, at..all, style, keyword)).flatten();
    whole.or_else(|| acceptable(text, at..end, style, keyword))
}

/// What ends a value that nothing encloses.
const ENDS: &[u8] = b" \t\r\n\"'`<>,;&|)}]\\";

/// Where a value in prose ends that may hold an ampersand. In a query, a form or a page something else begins with it.
fn beyond_ampersands(text: &[u8], end: usize) -> usize {
    let mut end = end;
    while text.get(end) == Some(&b'&') {
        let more = run_of_not(text, end + 1, ENDS);
        if more == end + 1 || text.get(more) == Some(&b';') || slice(text, end, more).contains(&b'=') {
            break;
        }
        end = more;
    }
    end
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
    let quoted = matches!(text.get(range.start.wrapping_sub(1)), Some(b'\'' | b'"'));
    let name = matches!(text.get(range.start.wrapping_sub(1)), Some(b'"')) && only(value, UPPER | LOWER | UNDERSCORE);
    if keyword.word == "identified by" && (!quoted || name) {
        return (text.get(range.end) == Some(&b';') && password_like(value)).then_some(range);
    }
    // `PASS: TestLogin` is a verdict of a test runner; `DB_PASS: x7Hq…` is none.
    let bare = matches!(style, Style::Line | Style::Loose);
    if keyword.word == "pass" && bare && is_before(text, range.start, SPACE) && !is_password_name(text, range.start) {
        let assigned = trimmed_before(text, range.start).ends_with(b"=");
        return (assigned && style == Style::Line && short_name_value(value)).then_some(range);
    }
    if keyword.word.starts_with("pw") || keyword.word == "psk" {
        return (if style == Style::Quoted {
            password_like(value) && !is_constant(value)
        } else {
            short_name_value(value)
        })
        .then_some(range);
    }
    let list = listed(text, range.start, style);
    let defined = list && is_defined(text, range.start);
    let fits = match keyword.weight {
        Weight::Hard | Weight::Query => {
            let flag = style == Style::Tight && is_flag(text, range.start);
            (flag || matches!(style, Style::Quoted | Style::Line)) && hard_random(value) || defined && is_salt(value)
        }
        _ if defined && is_salt(value) => true,
        Weight::Strong | Weight::StrongWord if !list || defined => {
            strong_value(value, style, keyword.word == "passphrase")
        }
        _ => weak_value(value, style),
    };
    fits.then_some(range)
}

/// A value behind a name as short as `pw`, where code has much else.
fn short_name_value(value: &[u8]) -> bool {
    let name = value.windows(3).any(|w| w[0].is_ascii_lowercase() && w[1] == b'_' && w[2].is_ascii_lowercase());
    password_like(value)
        && !name
        && !value.iter().any(|b| b"()[].:/<>,;".contains(b))
        && !value.starts_with(b"0x")
        && entropy(value) >= 2.5
}

/// Whether the value is that of a flag: `--key=…`, `-Dsonar.login=…`.
fn is_flag(text: &[u8], value: usize) -> bool {
    let start = run_start(text, value.saturating_sub(1), URL_SAFE | DOT, 48);
    text.get(start) == Some(&b'-') && is_before(text, start, SPACE)
}

/// The bytes before a place, without the spaces at their end.
fn trimmed_before(text: &[u8], at: usize) -> &[u8] {
    slice(text, at.saturating_sub(24), at).trim_ascii_end()
}

/// Whether name and value are the arguments of PHP's `define`.
fn is_defined(text: &[u8], value: usize) -> bool {
    let before = slice(text, line_start_within(text, value, 80), value);
    starts_with_ignoring_case(before.trim_ascii_start(), b"define(")
}

/// The sixty-four signs that are drawn for `wp-config.php`.
fn is_salt(value: &[u8]) -> bool {
    (60..=68).contains(&value.len()) && entropy(value) >= 4.5 && has(value, DIGIT)
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
        || ends_with_ignoring_case(name, b"pass")
            && BEFORE_PASS.iter().any(|w| ends_with_ignoring_case(slice(name, 0, name.len() - 4), w.as_bytes()))
}

/// Whether a comma stands between name and value: `("password", "x")`, but also `["password", "username"]`.
fn listed(text: &[u8], value: usize, style: Style) -> bool {
    let mut at = value.saturating_sub(usize::from(style == Style::Quoted));
    // The prefix of a string: `("X-Secret", b"x")`.
    if style == Style::Quoted && is_before(text, at, LOWER) && is_before(text, at - 1, SPACE) {
        at -= 1;
    }
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

/// `!!str …`, `&name …`: tags and anchors of YAML. Nothing where the tag says that the value is elsewhere.
fn skip_yaml(text: &[u8], at: usize) -> Option<usize> {
    const ELSEWHERE: &[&str] =
        &["!secret", "!vault", "!env", "!env_var", "!ref", "!getatt", "!include", "!importvalue", "!reference", "!var"];
    const OF_CODE: &[&str] = &["&mut", "&dyn", "&const", "&raw", "&'static"];
    let mut at = at;
    while let Some(b'!' | b'&') = text.get(at) {
        let ends: &[u8] = if text.get(at + 1) == Some(&b'<') { b" \t\r\n" } else { b" \t\r\n\"'`,;(){}" };
        let end = run_of_not(text, at, ends);
        let word = slice(text, at, end);
        let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
        if is(ELSEWHERE) {
            return None;
        }
        let spaces = run_of(text, end, b" \t", 24);
        if spaces == end || is(OF_CODE) {
            break;
        }
        at = spaces;
    }
    Some(at)
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

/// `b"…"`, `r"…"`, `f'…'`, `@"…"`, `[]byte("…")`, `String::from("…")`.
pub(super) fn skip_string_prefix(text: &[u8], at: usize) -> usize {
    for prefix in ["@\"", "[]byte(\"", "[]byte(`"] {
        if starts_with_ignoring_case(slice(text, at, text.len()), prefix.as_bytes()) {
            return at + prefix.len() - 1;
        }
    }
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
                b"Field",
                b"Identifier",
                b"consume",
                b"::w!",
                b"::s!",
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
