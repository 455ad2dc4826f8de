//! What to look for, compiled once: the tables of this folder and what the caller says about the machine.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::anchors::{Anchors, Case, Word};
use super::facts::Vocabulary;
use super::forms::{FORMS, Form};
use super::keywords::{KEYWORDS, Keyword};
use super::paths::HOME_ANCHORS;
use super::placeholder::Kind;
use super::places::{PLACES, Place};
use super::providers::{PATTERNS, Pattern};

/// What is known of the machine that the text comes from. The caller finds out; nothing here reads the environment.
#[derive(Clone, Default)]
pub struct Machine {
    /// Home directories, such as `/home/ada`; they become `~`. Those in the usual places are found without being named.
    pub home_dirs: Vec<String>,
    /// Account names. Short names and words that are everywhere, such as `root`, are left in the text.
    pub user_names: Vec<String>,
    /// Host names. A full name also stands for its first label.
    pub host_names: Vec<String>,
    /// Values of environment variables whose names look secret, and other secrets known by value.
    pub secrets: Vec<String>,
    /// The key of the hash in placeholders. Without a key of its own, an install's placeholders can be tested against guesses.
    pub key: [u8; 32],
}

impl fmt::Debug for Machine {
    /// Says nothing: every field is what this module is there to hide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

/// Compiled rules. Building them takes milliseconds: do it once and share them.
pub struct Rules {
    pub(super) anchors: Anchors,
    pub(super) kinds: Vec<Anchor>,
    pub(super) key: [u8; 32],
    pub(super) vocabulary: Mutex<Vocabulary>,
    number: u64,
}

/// What an anchor found in the text stands for.
pub(super) enum Anchor {
    Provider(&'static Pattern),
    Keyword(&'static Keyword),
    Place(&'static Place),
    Form(&'static Form),
    Pem,
    Putty,
    Jwt,
    Url,
    Home,
    Telegram,
    Literal(Literal),
}

/// A string that is known to be private.
pub(super) struct Literal {
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) whole_word: bool,
}

impl Literal {
    /// What to look for. Names are known in any case, secrets as they are.
    fn word(&self) -> Word<'_> {
        let case = if matches!(self.kind, Kind::Secret(_)) { Case::Exact } else { Case::Any };
        Word { text: &self.text, case }
    }
}

impl fmt::Debug for Rules {
    /// Says how many, never what: the rules hold the machine's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("anchors", &self.kinds.len()).finish_non_exhaustive()
    }
}

impl Default for Rules {
    /// The rules for text of which no machine is known.
    fn default() -> Rules {
        Rules::new(Machine::default())
    }
}

/// How many there have been.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Rules {
    /// Compiles the rules for a machine.
    pub fn new(machine: Machine) -> Rules {
        let Machine { home_dirs, user_names, host_names, secrets, key } = machine;
        let literals = literals(&home_dirs, &user_names, &host_names, &secrets);
        let known = PATTERNS.len() + KEYWORDS.len() + PLACES.len() + HOME_ANCHORS.len() + literals.len() + 5;
        let (mut words, mut kinds) = (Vec::with_capacity(known), Vec::with_capacity(known));
        let mut add = |text: &'static str, case: Case, anchor: Anchor| {
            words.push(Word { text, case });
            kinds.push(anchor);
        };
        for pattern in PATTERNS {
            add(pattern.prefix, Case::Exact, Anchor::Provider(pattern));
        }
        for keyword in KEYWORDS {
            add(keyword.word, Case::Any, Anchor::Keyword(keyword));
        }
        for place in PLACES {
            add(place.anchor, place.case, Anchor::Place(place));
        }
        for form in &FORMS {
            for anchor in form.anchors {
                add(anchor, Case::Any, Anchor::Form(form));
            }
        }
        for anchor in HOME_ANCHORS {
            add(anchor, Case::Any, Anchor::Home);
        }
        add("-----BEGIN ", Case::Exact, Anchor::Pem);
        add("PuTTY-User-Key-File-", Case::Exact, Anchor::Putty);
        add("eyJ", Case::Exact, Anchor::Jwt);
        add("://", Case::Exact, Anchor::Url);
        add(":AA", Case::Exact, Anchor::Telegram);
        words.extend(literals.iter().map(Literal::word));
        let anchors = Anchors::new(words.into_iter());
        kinds.extend(literals.into_iter().map(Anchor::Literal));
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Rules { anchors, kinds, key, vocabulary: Mutex::default(), number }
    }

    /// Makes marks with the key of these rules.
    pub fn marker(&self) -> Marker {
        Marker(self.key)
    }
}

/// Makes marks for texts that nobody can guess who does not have the key.
#[derive(Clone)]
pub struct Marker([u8; 32]);

impl fmt::Debug for Marker {
    /// Says nothing: the key is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marker").finish_non_exhaustive()
    }
}

impl Marker {
    /// The mark of a text: the same for the same text.
    pub fn mark(&self, text: &str) -> Mark {
        let inner = Sha256::new().chain_update(self.0).chain_update(b"mark").chain_update(text).finalize();
        let outer = Sha256::new().chain_update(self.0).chain_update(inner).finalize();
        let digits = outer.iter().take(16).flat_map(|byte| [byte >> 4, byte & 15]);
        Mark(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect())
    }
}

/// 128 bits in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Rules {
    /// Told apart by this from all others of the process: for those who remember what they redacted.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// Words that are account or host names on many machines and words of the language on all.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "root", "user", "users", "dev", "admin", "ubuntu", "node", "runner", "test", "tests", "home", "app", "build", "builder",
    "ci", "git", "github", "gitlab", "www", "www-data", "nobody", "daemon", "bin", "sys", "guest", "debian", "fedora", "centos",
    "alpine", "docker", "vagrant", "ec2-user", "pi", "vscode", "codespace", "developer", "default", "localhost", "local",
    "host", "server", "main", "master", "system", "service", "claude", "agent", "workspace", "work", "code", "data", "web", "api",
    "secret", "email", "phone", "card", "true", "false", "none", "null", "password", "token", "linux", "macbook", "desktop", "laptop",
    "computer", "postgres", "mysql", "redis", "python", "rust", "java", "administrator", "changeme", "development", "production", "staging",
];

fn literals(home_dirs: &[String], user_names: &[String], host_names: &[String], secrets: &[String]) -> Vec<Literal> {
    let mut all = Vec::new();
    let common = |text: &str| COMMON.iter().any(|w| text.eq_ignore_ascii_case(w));
    for secret in secrets {
        // A secret of several lines may be quoted one line at a time.
        let lines =
            secret.lines().map(str::trim).filter(|l| l.len() >= 16 && !l.starts_with("-----")).map(str::to_owned);
        for text in lines.chain([secret.trim().to_owned()]) {
            // Four to seven characters are taken for the secret only as a word of their own; fewer would tear up any text.
            let short = text.chars().count() < 8;
            if text.chars().count() >= 4 && !(short && common(&text)) {
                all.push(Literal { text, kind: Kind::Secret("env"), whole_word: short });
            }
        }
    }
    for home in home_dirs {
        let text = home.trim_end_matches(['/', '\\']).to_owned();
        if text.len() >= 4 && text != "/root" && text.contains(['/', '\\']) {
            all.push(Literal { text, kind: Kind::Home, whole_word: true });
        }
    }
    let hosts = host_names.iter().flat_map(|name| [name.as_str(), name.split('.').next().unwrap_or_default()]);
    let names = user_names.iter().map(|n| (n.as_str(), Kind::User)).chain(hosts.map(|n| (n, Kind::Host)));
    for (name, kind) in names {
        let text = name.trim();
        if text.chars().count() >= 3 && !common(text) && !text.chars().all(|c| c.is_ascii_digit()) {
            all.push(Literal { text: text.to_owned(), kind, whole_word: true });
        }
    }
    all.sort_by(|a, b| a.text.cmp(&b.text).then(a.kind.cmp(&b.kind)));
    all.dedup_by(|a, b| a.text == b.text);
    all
}
