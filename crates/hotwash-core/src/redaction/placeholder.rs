//! What stands in the place of something that was taken out.
//!
//! A placeholder holds four hex digits of a keyed hash: equal values get equal placeholders, so a reader can follow
//! one through a session, and nobody without the key can test a guess against it.

use sha2::{Digest, Sha256};

use super::keywords::KEYWORD_KINDS;
use super::providers::{IN_RUNS, PATTERNS};

/// What was found. Ordered: where two findings overlap, the lesser one names the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A key, token or password; the word says whose or what, as in `github` or `password`.
    Secret(&'static str),
    /// A payment card number.
    Card,
    /// An e-mail address.
    Email,
    /// A telephone number.
    Phone,
    /// A name of this machine.
    Host,
    /// The name of an account on this machine.
    User,
    /// A home directory; it becomes `~`.
    Home,
}

impl Kind {
    /// The word for people: `github`, `password`, `email`, `home`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Secret(name) => name,
            Kind::Card => "card",
            Kind::Email => "email",
            Kind::Phone => "phone",
            Kind::Host => "host",
            Kind::User => "user",
            Kind::Home => "home",
        }
    }

    /// Kinds named by what stands around the value know less than those named by the value itself.
    pub(super) fn rank(self) -> u8 {
        match self {
            Kind::Secret(name) if KEYWORD_KINDS.contains(&name) => 1,
            Kind::Secret(_) => 0,
            Kind::Card => 2,
            Kind::Email => 3,
            Kind::Phone => 4,
            Kind::Home => 5,
            Kind::Host => 6,
            Kind::User => 7,
        }
    }
}

/// Kinds that no table names.
pub(super) const OTHER_KINDS: &[&str] = &[
    "pem",
    "jwt",
    "env",
    "url",
    "twilio",
    "telegram",
    "mailchimp",
    "path",
    "unstable",
    "putty",
    "asana",
    "airtable",
    "recaptcha",
    "dropbox",
];

/// The placeholder for a value.
pub(super) fn placeholder(kind: Kind, value: &[u8], key: &[u8; 32]) -> String {
    let tag = match kind {
        Kind::Home => return "~".to_owned(),
        Kind::Secret(name) => return format!("<SECRET:{name}:{:04x}>", id(value, key)),
        Kind::Card => "CARD",
        Kind::Email => "EMAIL",
        Kind::Phone => "PHONE",
        Kind::Host => "HOST",
        Kind::User => "USER",
    };
    format!("<{tag}:{:04x}>", id(value, key))
}

fn id(value: &[u8], key: &[u8; 32]) -> u16 {
    // Sixteen bits of a hash whose key comes first: there is no length extension to be had from so little.
    let digest = Sha256::new().chain_update(key).chain_update(value).finalize();
    u16::from_be_bytes([digest[0], digest[1]])
}

/// The longest placeholder: `<SECRET:` + the longest kind + `:3f2a>`.
const LONGEST: usize = 40;

/// Whether `start..end` lies inside one placeholder, which is then left alone.
pub(super) fn inside_placeholder(text: &[u8], start: usize, end: usize) -> bool {
    let low = (start + 1).saturating_sub(LONGEST);
    let Some(before) = text.get(low..=start) else {
        return false;
    };
    memchr::memrchr(b'<', before).and_then(|i| placeholder_at(text, low + i)).is_some_and(|stop| end <= stop)
}

/// Where the placeholder that starts at `at` ends, if one does. Only words of our own are accepted between the
/// brackets: `<SECRET:hunter2:3f2a>` is no placeholder, so nothing can hide in the shape of one.
pub(super) fn placeholder_at(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(b"<")?;
    let rest = rest.get(..rest.len().min(LONGEST))?;
    let close = memchr::memchr(b'>', rest)?;
    let inner = rest.get(..close)?;
    let (name, id) = inner.split_at_checked(inner.len().checked_sub(5)?)?;
    let id = id.strip_prefix(b":")?;
    if !id.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let known = match name.strip_prefix(b"SECRET:") {
        Some(kind) => known_kind(kind),
        None => matches!(name, b"CARD" | b"EMAIL" | b"PHONE" | b"HOST" | b"USER"),
    };
    known.then_some(at + 1 + close + 1)
}

fn known_kind(kind: &[u8]) -> bool {
    OTHER_KINDS.iter().chain(KEYWORD_KINDS).any(|k| k.as_bytes() == kind)
        || PATTERNS.iter().chain(IN_RUNS).any(|p| p.kind.as_bytes() == kind)
}
