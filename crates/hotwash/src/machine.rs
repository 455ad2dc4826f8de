//! What redaction has to know of this machine, found out once.

use crate::env::{self, Environment};
use hotwash_core::redaction::{Machine, Rules};
use hotwash_engine::platform::{host_name, private_file};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Parts of names of variables whose values are secrets.
const SECRET_NAMES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// A shorter value would tear up any text.
const SECRET_LENGTH: usize = 8;

/// What happens where an install has no key yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewKey {
    /// One is drawn and kept.
    Keep,
    /// One is drawn for this run.
    ForThisRun,
}

/// The rules by which texts are redacted here. `store` is where the key is kept, beside it.
pub(crate) fn rules(env: &Environment, store: &Path, new: NewKey) -> Arc<Rules> {
    Arc::new(Rules::new(Machine {
        home_dirs: env.home().into_iter().map(|home| home.to_string_lossy().into_owned()).collect(),
        user_names: user(env).into_iter().collect(),
        host_names: host(env).into_iter().collect(),
        secrets: secrets(env),
        key: key(store, new),
    }))
}

/// The rules for the bundled examples, which are nobody's: the same on every machine.
pub(crate) fn example_rules() -> Arc<Rules> {
    Arc::new(Rules::default())
}

/// What redaction takes out of texts as the name of this account or machine.
pub(crate) fn names(env: &Environment) -> Vec<String> {
    let host = host(env);
    let label = host.as_ref().and_then(|host| host.split('.').next()).map(str::to_owned);
    user(env).into_iter().chain(host).chain(label).map(|name| name.trim().to_owned()).collect()
}

fn user(env: &Environment) -> Option<String> {
    [env::USER, env::LOGNAME, env::USERNAME].iter().find_map(|name| env.get(name)).map(str::to_owned)
}

fn host(env: &Environment) -> Option<String> {
    env.get(env::HOSTNAME)
        .map(str::to_owned)
        .or_else(host_name)
        .or_else(|| env.get(env::COMPUTERNAME).map(str::to_owned))
}

fn secrets(env: &Environment) -> Vec<String> {
    let secret = |(name, value): &(&str, &str)| {
        let name = name.to_ascii_uppercase();
        let is_path = value.starts_with(['/', '~', '.']) || Path::new(value).is_absolute() || Path::new(value).exists();
        SECRET_NAMES.iter().any(|part| name.contains(part)) && value.len() >= SECRET_LENGTH && !is_path
    };
    env.each().filter(secret).map(|(_, value)| value.to_owned()).collect()
}

/// The key of this install. Where it can be neither read nor kept, one that lasts as long as the run.
fn key(store: &Path, new: NewKey) -> [u8; 32] {
    let path = store.with_extension("key");
    if let Some(key) = read_key(&path) {
        return key;
    }
    let mut key = [0; 32];
    if getrandom::fill(&mut key).is_err() {
        return key;
    }
    if new == NewKey::Keep && keep_key(&path, &key).is_err() {
        // Another process may have been first; then its key is the install's.
        return read_key(&path).unwrap_or(key);
    }
    key
}

fn read_key(path: &Path) -> Option<[u8; 32]> {
    fs::read(path).ok()?.try_into().ok()
}

fn keep_key(path: &Path, key: &[u8; 32]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("key.{}", std::process::id()));
    let written = private_file().write(true).create_new(true).open(&draft).and_then(|mut file| {
        file.write_all(key)?;
        // A link is there whole or not at all, and never replaces another process's.
        fs::hard_link(&draft, path)
    });
    let _ = fs::remove_file(&draft);
    written
}
