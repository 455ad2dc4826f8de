//! Secrets that the form of a line or a command gives away: one regular expression per form, as data.
//!
//! A form is tried where its anchor stands, on the lines around it. Each group of the expression is a secret, if it looks
//! like one.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::bytes::{DIGIT, line_start_within, only, slice};
use super::contacts::SAMPLES;
use super::placeholder::placeholder_at;
use super::values::{Style, hard_random, is_code, is_reference, mentions_keyword, password_like};

/// A way of writing a secret down.
pub(super) struct Form {
    /// The words that the form is looked for at, of three bytes or more, in any case.
    pub(super) anchors: &'static [&'static str],
    pub(super) kind: &'static str,
    reach: Reach,
    likely: Likely,
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

/// How much of the text is looked at.
#[derive(Clone, Copy)]
enum Reach {
    /// The line of the anchor.
    Line,
    /// From the anchor on, over several lines.
    Ahead,
    /// Several lines on both sides.
    Around,
}

/// What the value must show, beyond standing in the right place.
#[derive(Clone, Copy)]
enum Likely {
    /// Nothing: but variables, samples and words that announce a value are none.
    Any,
    /// A look of a password: the form alone occurs in prose and code, too.
    Password,
}

/// How far a line is looked at on either side, and how far several lines are.
const LINE: usize = 400;
const BLOCK: usize = 800;

const fn form(
    anchors: &'static [&'static str],
    kind: &'static str,
    reach: Reach,
    likely: Likely,
    pattern: &'static str,
) -> Form {
    Form { anchors, kind, reach, likely, pattern, compiled: OnceLock::new() }
}

/// A value with quotes or without, as a shell and most files of settings take it.
macro_rules! value {
    () => {
        r#"(?:"((?:\\.|[^"\\\n])+)"|'((?:\\.|[^'\\\n])+)'|([^\s"'`|;&<>()\\,]+))"#
    };
}

/// A string of JSON.
macro_rules! string {
    () => {
        r#""((?:\\.|[^"\\\n])+)""#
    };
}

/// `ada:'correct horse'`, with quotes around all of it, around a part or none.
macro_rules! user_and_password {
    () => {
        r#"(?:"[^"\s:]+:([^"\n]+)"|'[^'\s:]+:([^'\n]+)'|["']?[\w.@%-][\w.@%+-]*["']?:(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`\\:][^\s"'`\\]*)))"#
    };
}

#[rustfmt::skip]
pub(super) static FORMS: [Form; 31] = {
    use Likely::{Any, Password};
    use Reach::{Ahead, Around, Line};
    [
        // What passwords were made into
        form(&["{ssha", "{sha}", "{sha256}", "{sha512}", "{smd5}", "{md5}", "{crypt}", "{plain}", "{cleartext}", "{blf-crypt}"], "hash", Ahead, Any,
            r"\{(?:S?SHA(?:256|512)?|S?MD5|[A-Z\d]*-?CRYPT|PLAIN|CLEARTEXT)\}([^\s'`<>{},;]{8,})"),
        form(&["pbkdf2:", "scrypt:"], "hash", Ahead, Any, r"(?:pbkdf2:sha\d+:\d+|scrypt:\d+:\d+:\d+)\$([^\s$]+\$[\da-f]{32,})"),
        form(&[":99999:"], "hash", Line, Any, r"^[\w.-]+:([^:!*\s]{8,}):\d*:\d*:99999:"),
        form(&["htpasswd"], "hash", Around, Password, r"^[\w.@-]+:([./\dA-Za-z]{13})$"),
        // Files of accounts
        form(&[":5432:", ":5433:", ":6432:", ":*:"], "password", Line, Any,
            r#"(?:^|[\s"'`=])[\w.*/-]+:(?:\d+|\*):(?:[A-Za-z_][\w.$-]*|\*):[\w.@*$-]+:((?:\\.|[^\s:"'`<>\\]){3,})(?:$|[\s"'`])"#),
        form(&["machine ", "machine\t", "default login"], "password", Ahead, Any,
            concat!(r#"(?:machine\s+\S+|default)(?:\s+(?:login|user|account|port|protocol)\s+(?:"[^"\n]*"|\S+))+\s+(?:password|passwd)\s+"#, r#"(?:"([^"\n]+)"|([^\s"<>]+))"#)),
        form(&["master.key"], "key", Around, Any, r#"master\.key['"]?[\s:)]*\b([\da-f]{32})\b|\b([\da-f]{32})['"]?\s*(?:>|\|\s*tee)\s*[\w./-]*master\.key"#),
        form(&["\"encryptedusername\""], "credential", Ahead, Any, r#""encryptedUsername"\s*:\s*"([\w+/=-]{20,})""#),
        form(&["]:25 ", "]:465 ", "]:587 ", ":25 ", ":465 ", ":587 "], "password", Line, Any, r"^\[?[\w.-]+\]?:(?:25|465|587)[ \t]+[\w.@+-]+:([^\s<>]{3,})\s*$"),
        form(&["poll "], "password", Line, Any, concat!(r"\bpoll\s.*?\bpass(?:word)?\s+", value!())),
        form(&["imapaccount ", "smtpaccount "], "password", Ahead, Any, concat!(r"Account\b.*\n(?:[ \t]*\w.*\n){0,6}?[ \t]*Pass[ \t]+", value!())),
        form(&["_pw", "_pass"], "password", Line, Any, concat!(r"^\s*set\s+\w*_(?:pw|pass|password)\s*=\s*", value!())),
        form(&["psk="], "password", Line, Any, r#"^\s*psk="([^"\n]{8,63})""#),
        form(&["password>{"], "password", Line, Any, r"<password>\{([\w+/=]{20,})\}<"),
        // Commands
        form(&["curl "], "password", Ahead, Any, concat!(r#"curl\b(?:[^\n|;&\\]|\\\n?)*?\s-(?:[a-zA-Z]*[uU] ?|-(?:proxy-)?user[ =])"#, user_and_password!())),
        form(&[" -u ", " --user "], "password", Ahead, Any, concat!(" (?:-u|--user) +", user_and_password!())),
        form(&["http -a ", " --auth ", " --auth="], "password", Line, Any, concat!(r"\bhttps? .*?(?:-a|--auth)[ =]", user_and_password!())),
        form(&["sshpass "], "password", Ahead, Any, concat!(r"sshpass\s+-p\s*", value!())),
        form(&["--password", "-password "], "password", Line, Any, concat!(r"(?:\s-u|\s--(?:[a-z]+-)*user(?:name)?)[ =]\S+\s+(?:[^\s-]|-.*?\s)*?--(?:[a-z]+-)*password[ =]", value!())),
        form(&["docker login ", "podman login ", "az login ", "twine upload ", "ncftp"], "password", Line, Any, concat!(r"\s(?:-u|--username)[ =]\S+\s(?:.*?\s)?-p ", value!())),
        form(&["lftp ", "open -u", "open --user"], "password", Line, Any, r#"\b(?:lftp|open)\s(?:.*?\s)?(?:-u ?|--user[ =])[\w.@-]+,([^\s"'<>]+)"#),
        form(&["quote pass "], "password", Line, Any, r"quote\s+PASS\s+([^\s<>]+)\s*$"),
        form(&["ftp "], "password", Ahead, Any, r"\bftp\s.*<<.*\n(?:open\s.*\n)?\s*user\s+\S+\s+([^\s<>]+)\s*$"),
        form(&["aws_secret_access_key "], "aws", Ahead, Any, r#"aws_secret_access_key\s+["']?([\w/+]{40})\b"#),
        // Connections
        form(&["pwd={", "password={"], "password", Line, Any, r"[;?]\s*(?:pwd|password)\s*=\s*\{([^}\n]+)\}"),
        form(&["password='"], "password", Line, Any, r"\b(?:host|user|dbname|port)=\S.*?\bpassword='([^'\n]+)'"),
        // State of Terraform
        form(&["\"sensitive\""], "secret", Around, Any,
            concat!(r#"\{[^{}]*"value"\s*:\s*"#, string!(), r#"[^{}]*"sensitive"\s*:\s*true|\{[^{}]*"sensitive"\s*:\s*true[^{}]*"value"\s*:\s*"#, string!())),
        form(&["\"bcrypt_hash\""], "password", Ahead, Any, concat!(r#""bcrypt_hash"[^{}]*"result"\s*:\s*"#, string!())),
        // Headers
        form(&["-token", "-key", "-secret", "-password"], "token", Line, Any,
            r#"(?:^|["'\s(])(?:x-[a-z\d-]*|private-|api-|access-|auth-)(?:token|key|secret|password)["']?\s*[:,]\s*["']?([\w.~+/=-]*\d[\w.~+/=-]*)(?:$|["'\s])"#),
        // Words
        form(&["password is ", "passwort ist ", "passphrase is "], "password", Line, Any, r#"(?-i)(?:word|wort|phrase) (?:is|ist) ["'`]?([a-zA-Z][a-z]+(?:[A-Z][a-z]+){2,})(?:$|[\s"'`,;.!])"#),
        form(&["passphrase ="], "password", Line, Any, r"^\s*[\w.-]*passphrase\s*=\s*((?:[a-z]+ ){3,7}[a-z]+)\s*$"),
    ]
};

impl Form {
    /// Calls `hit` with what is secret around the anchor that was found.
    pub(super) fn find(&self, text: &[u8], found: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
        let Some(regex) = self.compiled.get_or_init(|| compile(self.pattern)) else { return };
        let line_end = || {
            let rest = slice(text, found.end, text.len().min(found.end + LINE));
            found.end + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
        };
        let (start, end) = match self.reach {
            Reach::Line => (line_start_within(text, found.start, LINE), line_end()),
            Reach::Ahead => (found.start, text.len().min(found.end + BLOCK)),
            Reach::Around => (found.start.saturating_sub(BLOCK), text.len().min(found.end + BLOCK)),
        };
        let (window, mut at) = (slice(text, 0, end), start);
        while let Some(groups) = regex.captures_at(window, at) {
            let Some(whole) = groups.get(0) else { return };
            for secret in groups.iter().skip(1).flatten() {
                if self.likely.holds(secret.as_bytes()) && placeholder_at(text, secret.start()).is_none() {
                    hit(secret.range());
                }
            }
            at = whole.end().max(at + 1);
            // What begins later has an anchor of its own.
            if matches!(self.reach, Reach::Ahead) {
                return;
            }
        }
    }
}

impl Likely {
    fn holds(self, value: &[u8]) -> bool {
        let innocent = value.len() < 3
            || is_reference(value, Style::Tight)
            || SAMPLES.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
            || only(value, DIGIT)
            || mentions_keyword(value)
            || is_code(value);
        !innocent
            && match self {
                Likely::Any => true,
                Likely::Password => password_like(value) || hard_random(value),
            }
    }
}

/// The expressions are ours and a test compiles them all, so that none is missing.
fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).case_insensitive(true).multi_line(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_compiles_and_has_anchors() {
        for form in &FORMS {
            assert!(compile(form.pattern).is_some(), "{}", form.pattern);
            assert!(form.anchors.iter().all(|anchor| anchor.len() >= 3), "{:?}", form.anchors);
        }
    }
}
