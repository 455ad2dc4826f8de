//! Secrets that a command, a call or the layout of a file gives away: one line per place, as data.

use std::ops::Range;

use super::anchors::Case;
use super::bytes::{
    ALNUM, BASE64, DIGIT, DOT, LOWER, SPACE, UPPER, URL_SAFE, WORD, entropy, has, is_before, line_start_within, only,
    run_end, run_start, slice,
};
use super::keywords::{closing_quote, run_of, run_of_not, skip_string_prefix};
use super::placeholder::placeholder_at;
use super::values::{Style, hard_random, is_reference, password_like};
use super::{shapes, table};

/// Where secrets stand.
pub(super) struct Place {
    pub(super) anchor: &'static str,
    pub(super) case: Case,
    pub(super) kind: &'static str,
    how: How,
}

type Find = fn(&[u8], &Range<usize>, &mut dyn FnMut(Range<usize>));

/// How to get from the anchor to the secret.
enum How {
    /// It is the next word of the command.
    Next,
    /// It is the next word but one, behind a name.
    Second,
    /// It is the word behind this flag of the command, in the same line.
    Flag(&'static str),
    /// It is glued to this flag.
    Glued(&'static str),
    /// The anchor is the first word of its line and the secret the second.
    Line,
    /// The anchor reads what `echo` writes.
    Echo,
    /// It is the last of the first three strings of a call, of which there are two at least.
    Call,
    /// It is the one string of a call, or the last.
    Argument,
    Other(Find),
}

const fn place(anchor: &'static str, kind: &'static str, how: How) -> Place {
    Place { anchor, case: Case::Any, kind, how }
}

const fn exact(anchor: &'static str, kind: &'static str, find: Find) -> Place {
    Place { anchor, case: Case::Exact, kind, how: How::Other(find) }
}

#[rustfmt::skip]
pub(super) static PLACES: &[Place] = &[
    place("mysql", "password", How::Glued(" -p")),
    place("sshpass", "password", How::Glued(" -p")),
    place("docker login ", "password", How::Flag(" -p ")),
    place("podman login ", "password", How::Flag(" -p ")),
    place("az login ", "password", How::Flag(" -p ")),
    place("twine upload ", "password", How::Flag(" -p ")),
    place("mongosh ", "password", How::Flag(" -p ")),
    place("mongodump ", "password", How::Flag(" -p ")),
    place("redis-cli ", "password", How::Flag(" -a ")),
    place("sqlcmd ", "password", How::Flag(" -P ")),
    place("security import ", "password", How::Flag(" -P ")),
    place("zip ", "password", How::Flag(" -P ")),
    place("plink ", "password", How::Flag(" -pw ")),
    place("ldapsearch ", "password", How::Flag(" -w ")),
    place("ldapadd ", "password", How::Flag(" -w ")),
    place("ldapmodify ", "password", How::Flag(" -w ")),
    place("net user ", "password", How::Second),
    place("-storepass ", "password", How::Next),
    place("-keypass ", "password", How::Next),
    place("-srcstorepass ", "password", How::Next),
    place("-deststorepass ", "password", How::Next),
    place("--requirepass ", "password", How::Next),
    place("vault login ", "token", How::Next),
    place("cargo login ", "token", How::Next),
    place("snyk auth ", "token", How::Next),
    place("/user:", "password", How::Flag(" /pass:")),
    place("nickserv identify ", "password", How::Next),
    place("nickserv :identify ", "password", How::Next),
    place("requirepass ", "password", How::Line),
    place("masterauth ", "password", How::Line),
    place("bindpw ", "password", How::Line),
    place("rootpw ", "password", How::Line),
    place("olcrootpw: ", "password", How::Line),
    place("authtoken ", "token", How::Line),
    place("auth_token ", "token", How::Line),
    place("apikey ", "key", How::Line),
    place("| sudo -s", "password", How::Echo),
    place("| chpasswd", "password", How::Echo),
    place("| sudo chpasswd", "password", How::Echo),
    place("| docker login", "password", How::Echo),
    place("login(", "password", How::Call),
    place("mysql_connect(", "password", How::Call),
    place("mysqli_connect(", "password", How::Call),
    place("auth(", "password", How::Call),
    place("auth=(", "password", How::Call),
    place("auth = (", "password", How::Call),
    place("credential(", "password", How::Call),
    place("credentials(", "password", How::Call),
    place("passwordauthentication(", "password", How::Call),
    place("mysqli(", "password", How::Call),
    place("pdo(", "password", How::Call),
    place("drivermanager.getconnection(", "password", How::Call),
    place("jwt.sign(", "secret", How::Argument),
    place("cookieparser(", "secret", How::Argument),
    place("analytics.load(", "key", How::Argument),
    place("mixpanel.init(", "key", How::Argument),
    place("algoliasearch(", "key", How::Argument),
    place("new pusher(", "key", How::Argument),
    place("withcustomtoken(", "token", How::Argument),
    place(".totp(", "secret", How::Argument),
    place(",password", "password", How::Other(table::below)),
    place(",\"password", "password", How::Other(table::below)),
    place("_password", "password", How::Other(table::below)),
    place("@tcp(", "password", How::Other(before_at)),
    place("@unix(", "password", How::Other(before_at)),
    place("jdbc:oracle:thin:", "password", How::Other(after_user)),
    place("sqlplus ", "password", How::Other(after_user)),
    exact("<D>", "key", shapes::xml_exponent),
    exact("\"kty\"", "key", shapes::json_key),
    exact("Secret", "secret", shapes::kubernetes),
];

impl Place {
    /// Calls `hit` with what is secret at this place.
    pub(super) fn find(&self, text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
        let range = match self.how {
            How::Other(find) => return find(text, found, hit),
            How::Next => word(text, found.end),
            How::Second if is_before(text, found.start, WORD | DOT) => None,
            How::Second => {
                let name = run_of_not(text, run_of(text, found.end, b" ", 8), b" \t\r\n");
                word(text, run_of(text, name, b" ", 8))
            }
            How::Flag(flag) => flagged(text, found, flag).and_then(|at| word(text, run_of(text, at, b" ", 8))),
            How::Glued(flag) => flagged(text, found, flag).and_then(|at| word(text, at)),
            How::Line => line(text, found),
            How::Echo => echoed(text, found.start),
            How::Call => call(text, found.end),
            How::Argument => arguments(text, found.end).into_iter().flatten().last().filter(|r| random(text, r)),
        };
        if let Some(range) = range.filter(|r| placeholder_at(text, r.start).is_none()) {
            hit(range);
        }
    }
}

/// The word at `at`, quoted or not, if it may be a secret.
fn word(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = run_of(text, at, b"\"'", 1);
    let end = run_of_not(text, start, b" \t\r\n\"'`|;<>&)\\");
    secret(text, start..end)
}

fn secret(text: &[u8], range: Range<usize>) -> Option<Range<usize>> {
    let value = slice(text, range.start, range.end);
    (value.len() >= 6 && (password_like(value) || hard_random(value))).then_some(range)
}

fn random(text: &[u8], range: &Range<usize>) -> bool {
    let value = slice(text, range.start, range.end);
    let base32 = value.len() >= 16 && only(value, UPPER | DIGIT) && has(value, DIGIT) && entropy(value) >= 3.2;
    hard_random(value) || base32
}

/// Where the flag of a command ends, in the same line and command.
fn flagged(text: &[u8], found: &Range<usize>, flag: &str) -> Option<usize> {
    // The rest of the command's name may follow: `mysqldump`.
    let command = !is_before(text, found.start, WORD)
        && matches!(text.get(run_end(text, found.end, LOWER)), Some(b' ' | b'"' | b'\\'))
        || is_before(text, found.end, SPACE)
        || text.get(found.start) == Some(&b'/');
    if !command {
        return None;
    }
    let from = found.end - usize::from(is_before(text, found.end, SPACE));
    let end = run_of_not(text, from, b"\n|;").min(from + 120);
    memchr::memmem::find(slice(text, from, end), flag.as_bytes()).map(|i| from + i + flag.len())
}

fn line(text: &[u8], found: &Range<usize>) -> Option<Range<usize>> {
    let lead = slice(text, line_start_within(text, found.start, 80), found.start);
    if !only(lead, SPACE) {
        return None;
    }
    let range = word(text, run_of(text, found.end, b" \t", 24))?;
    let end = run_of(text, range.end, b"\"' \t\r", 4);
    matches!(text.get(end), None | Some(b'\n')).then_some(range)
}

/// The word that `echo` writes to what stands at `at`.
fn echoed(text: &[u8], at: usize) -> Option<Range<usize>> {
    let low = line_start_within(text, at, 200);
    let start = low + memchr::memmem::rfind(slice(text, low, at), b"echo ")? + b"echo ".len();
    let range = word(text, start)?;
    let user = memchr::memchr(b':', slice(text, range.start, range.end)).map_or(0, |i| i + 1);
    secret(text, range.start + user..range.end)
}

/// The strings that a call starts with, four at most.
fn arguments(text: &[u8], at: usize) -> [Option<Range<usize>>; 4] {
    let mut all = [const { None }; 4];
    let mut at = at;
    for slot in &mut all {
        at = skip_string_prefix(text, run_of(text, at, b" \t\r\n", 40));
        // A variable may come first: `sign(payload, "…")`.
        let name = run_of_not(text, at, b" ,()\"'`\n");
        if name > at && text.get(name) == Some(&b',') {
            at = skip_string_prefix(text, run_of(text, name + 1, b" \t", 8));
        }
        let Some(quote) = text.get(at).copied().filter(|b| matches!(b, b'"' | b'\'')) else { break };
        let Some(end) = closing_quote(text, at + 1, quote) else { break };
        *slot = Some(at + 1..end);
        at = run_of(text, end + 1, b" \t", 8);
        if text.get(at) != Some(&b',') {
            break;
        }
        at += 1;
    }
    all
}

fn call(text: &[u8], at: usize) -> Option<Range<usize>> {
    let range = match arguments(text, at) {
        [_, _, Some(third), _] => third,
        [_, Some(second), ..] => second,
        // A token instead of a name and a password.
        [Some(only), ..] => return (only.len() >= 24 && random(text, &only)).then_some(only),
        _ => return None,
    };
    let value = slice(text, range.start, range.end);
    let fits = (6..=64).contains(&value.len())
        && (password_like(value) || hard_random(value))
        && entropy(value) >= 2.5
        && !value.iter().any(|b| b"/:".contains(b))
        && !(value.contains(&b'.') && only(value, ALNUM | DOT));
    fits.then_some(range)
}

/// `user:password@tcp(…)`
fn before_at(text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    let low = found.start.saturating_sub(96);
    let before = slice(text, low, found.start);
    let start = before.iter().rposition(|b| b" \t\r\n\"'`/=".contains(b)).map_or(0, |i| i + 1);
    if let Some(colon) = memchr::memchr(b':', slice(before, start, before.len())) {
        offer(text, low + start + colon + 1..found.start, hit);
    }
}

/// `user/password@host`
fn after_user(text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    let slash = run_end(text, found.end, URL_SAFE);
    let end = run_of_not(text, slash + 1, b" \t\r\n\"'`@/");
    if slash > found.end && text.get(slash) == Some(&b'/') && text.get(end) == Some(&b'@') {
        offer(text, slash + 1..end, hit);
    }
}

fn offer(text: &[u8], range: Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    let value = slice(text, range.start, range.end);
    if value.len() >= 3 && !is_reference(value, Style::Tight) && placeholder_at(text, range.start).is_none() {
        hit(range);
    }
}

/// The secret that goes with a public id of AWS: forty letters close behind it.
pub(super) fn aws_secret(text: &[u8], id: &Range<usize>) -> Option<Range<usize>> {
    let near = slice(text, id.end, text.len().min(id.end + 60));
    let open = near.iter().enumerate().filter(|(_, b)| b"\"':,;|= \t".contains(b)).map(|(i, _)| id.end + i + 1);
    open.map(|start| start..run_end(text, start, BASE64)).find(|r| {
        r.len() == 40 && hard_random(slice(text, r.start, r.end)) && run_start(text, r.start, ALNUM, 1) == r.start
    })
}
