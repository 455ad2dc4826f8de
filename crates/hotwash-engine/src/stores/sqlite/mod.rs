//! The store on a laptop: one SQLite file in the user's data directory.
//!
//! Everything is keyed by content and version, so that writing it again changes nothing. Writers take turns through
//! SQLite's own locks; a reader never waits.

mod archive;
mod error;
mod forget;
mod put;
mod rows;
mod said;
mod schema;
mod sessions;
#[doc(hidden)]
pub mod testing;
mod transcripts;

use crate::platform::private_file;
use error::{explain, not_ours, of_system};
use hotwash_core::ports::store::{Result, Store, StoreError};
use hotwash_core::redaction::Rules;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What SQLite calls the log of a store, behind the store's own name.
const LOG: &str = "-wal";

/// How long another process that writes is waited for.
const BUSY: Duration = Duration::from_secs(30);
/// How long until it is tried again where SQLite itself does not wait.
const AGAIN: Duration = Duration::from_millis(5);

/// An open store.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
    rules: Arc<Rules>,
}

impl Sqlite {
    /// Opens a store, making it if there is none.
    pub fn open(path: &Path, rules: Arc<Rules>) -> Result<Sqlite> {
        make_folder(path)?;
        if is_cut_short(path) {
            // SQLite itself would notice only when it misses something, and might write before that.
            return Err(StoreError::Damaged { path: path.display().to_string(), cause: "its end is missing".into() });
        }
        // For the owner's eyes only; SQLite gives its helper files the same rights.
        let _ = private_file().write(true).create_new(true).open(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| explain(path, &error))?;
        Sqlite { connection, path: path.to_path_buf(), rules }.prepared()
    }

    /// A store that is gone with the process.
    pub fn in_memory(rules: Arc<Rules>) -> Result<Sqlite> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| explain(&path, &error))?;
        Sqlite { connection, path, rules }.prepared()
    }

    fn prepared(mut self) -> Result<Sqlite> {
        let known = schema::STEPS.len() as i64;
        let started = Instant::now();
        let found = loop {
            match self.try_prepare(known).map_err(|error| explain(&self.path, &error)) {
                // Where two make the same store at the same moment, SQLite does not let one of them wait.
                Err(StoreError::Busy { .. }) if started.elapsed() < BUSY => std::thread::sleep(AGAIN),
                found => break found?,
            }
        };
        if found > known {
            return Err(StoreError::Newer { path: self.path.display().to_string(), found, known });
        }
        Ok(self)
    }

    /// Sets the connection up and brings the schema forward; says which version it found.
    fn try_prepare(&mut self, known: i64) -> rusqlite::Result<i64> {
        let connection = &mut self.connection;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(64);
        let version =
            |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        let found = version(connection)?;
        if found > known {
            return Ok(found);
        }
        // Commits are safe against a crash of the process at once, and against a power cut from the next checkpoint on.
        // Most rows are too large for pages of the usual size; those of a store that is there stay as they are. No origin is
        // ever removed, so foreign keys need not be checked.
        connection.execute_batch(
            "PRAGMA page_size = 16384; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -4000; PRAGMA foreign_keys = OFF;",
        )?;
        if found == 0 && connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", [], |row| row.get(0))? {
            // Tables, but none of ours... unless another process has just made them.
            let found = version(connection)?;
            if found == 0 {
                return Err(not_ours());
            }
        }
        if !connection.pragma_query_value(None, "journal_mode", |row| Ok(row.get_ref(0)?.as_str()? == "wal"))? {
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        if found < known {
            // Another process may be doing the same: look again once it is our turn.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let found = version(&transaction)?;
            for step in schema::STEPS.iter().skip(found.max(0) as usize) {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "user_version", known)?;
            transaction.commit()?;
        }
        Ok(found)
    }

    /// Gives freed room back to the file system.
    fn shrink(&mut self) -> Result<()> {
        self.read(|connection| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        work(&self.connection).map_err(|error| explain(&self.path, &error))
    }

    /// The same, for what must survive a power cut, too: it was paid for.
    fn write_safely<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|connection| connection.pragma_update(None, "synchronous", "FULL"))?;
        let done = self.write(work);
        self.read(|connection| connection.pragma_update(None, "synchronous", "NORMAL"))?;
        done
    }

    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let Sqlite { connection, path, .. } = self;
        let explain = |error: rusqlite::Error| explain(path, &error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
        let done = work(&transaction).map_err(explain)?;
        transaction.commit().map_err(explain)?;
        Ok(done)
    }
}

impl Store for Sqlite {
    fn lasts(&self) -> bool {
        self.connection.path().is_some_and(|path| !path.is_empty())
    }

    fn schema(&self) -> Result<i64> {
        self.read(|connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0)))
    }

    fn check(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let problems = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok(problems.into_iter().filter(|problem| problem != "ok").collect())
        })
    }

    fn reader(&self) -> Result<Option<Box<dyn Store + Send>>> {
        if !self.lasts() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(|error| explain(&self.path, &error))?;
        let store = Sqlite { connection, path: self.path.clone(), rules: Arc::clone(&self.rules) };
        store.read(|connection| connection.busy_timeout(BUSY))?;
        Ok(Some(Box::new(store)))
    }
}

/// The file beside a store that is called like it, with this ending.
fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Makes the folder that a store is in.
fn make_folder(store: &Path) -> Result<()> {
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| of_system(store, &error))
}

/// Whether a database file is shorter than it says. While there is a log beside it, the rest may be in there.
fn is_cut_short(path: &Path) -> bool {
    if std::fs::metadata(beside(path, LOG)).is_ok_and(|log| log.len() > 0) {
        return false;
    }
    let mut header = [0; 100];
    let Ok(size) = File::open(path).and_then(|mut file| file.read_exact(&mut header).and(file.metadata())) else {
        return false;
    };
    // See "The Database Header" in SQLite's description of its file format.
    let number = |at: usize| header[at..at + 4].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let page = match number(16) >> 16 {
        1 => 65536,
        page => page,
    };
    header.starts_with(b"SQLite format 3\0") && number(24) == number(92) && size.len() < number(28) * page
}

#[cfg(test)]
mod tests;
