//! The store on a laptop: one SQLite file in the user's data directory.
//!
//! Everything is keyed by content and version, so that writing it again changes nothing. Writers take turns through
//! SQLite's own locks; a reader never waits.

mod schema;

use super::{Archived, Entry, FileState, Form, Holder, Lookup, Query, Role, Row, Usage};
use crate::sources::claude_code::read;
use hotwash_core::facts::{Cost, Facts, Tokens};
use hotwash_core::redaction::{Rules, redact_facts, restore};
use hotwash_core::scores::{Grade, Overall, Provenance, Reading, Score};
use hotwash_core::sessions::{Key, Session, SessionId, SessionKind, Timestamp};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later hotwash wrote it.
    #[error("the store {path} was written by a newer hotwash (schema {found}, this one knows {known})")]
    Newer {
        /// The store.
        path: String,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// It is no store, or no longer one.
    #[error("the store {path} is damaged or is no hotwash store: {cause}")]
    Damaged {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
    /// It cannot be written.
    #[error("the store {path} cannot be written: {cause}")]
    ReadOnly {
        /// The store.
        path: String,
        /// What SQLite or the system says.
        cause: String,
    },
    /// The disk is full.
    #[error("no space is left for the store {path}")]
    Full {
        /// The store.
        path: String,
    },
    /// Another process has held it for too long.
    #[error("the store {path} is in use by another process")]
    Busy {
        /// The store.
        path: String,
    },
    /// Anything else.
    #[error("the store {path} failed: {cause}")]
    Other {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Newer { .. } => "update hotwash, or point --store at another file",
            StoreError::Damaged { .. } => {
                "nothing was changed; move the file away and run hotwash again to build a new one from the transcripts"
            }
            StoreError::ReadOnly { .. } => "check the permissions, or point --store at a file you may write",
            StoreError::Full { .. } => "free some space and run the same command again: it goes on where it was",
            StoreError::Busy { .. } => "wait for the other hotwash to finish and run the same command again",
            StoreError::Other { .. } => "`hotwash doctor` looks at the store",
        }
    }

    /// Whether going on without keeping anything makes sense.
    pub fn only_writing_fails(&self) -> bool {
        matches!(self, StoreError::ReadOnly { .. } | StoreError::Full { .. })
    }
}

type Result<T> = std::result::Result<T, StoreError>;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    rules: Arc<Rules>,
}

impl Store {
    /// Opens a store, making it if there is none.
    pub fn open(path: &Path, rules: Arc<Rules>) -> Result<Store> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
            && let Err(error) = std::fs::create_dir_all(folder)
        {
            return Err(StoreError::ReadOnly { path: path.display().to_string(), cause: error.to_string() });
        }
        if is_cut_short(path) {
            // SQLite itself would notice only when it misses something, and might write before that.
            return Err(StoreError::Damaged { path: path.display().to_string(), cause: "its end is missing".into() });
        }
        // For the owner's eyes only; SQLite gives its helper files the same rights.
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| explain(path, &error))?;
        Store { connection, path: path.to_path_buf(), rules }.prepared()
    }

    /// A store that is gone with the process.
    pub fn in_memory(rules: Arc<Rules>) -> Result<Store> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| explain(&path, &error))?;
        Store { connection, path, rules }.prepared()
    }

    fn prepared(mut self) -> Result<Store> {
        let known = schema::STEPS.len() as i64;
        let found = self.try_prepare(known).map_err(|error| explain(&self.path, &error))?;
        if found > known {
            return Err(StoreError::Newer { path: self.path.display().to_string(), found, known });
        }
        Ok(self)
    }

    /// Sets the connection up and brings the schema forward; says which version it found.
    fn try_prepare(&mut self, known: i64) -> rusqlite::Result<i64> {
        let connection = &mut self.connection;
        connection.busy_timeout(Duration::from_secs(30))?;
        connection.set_prepared_statement_cache_capacity(32);
        let version =
            |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        let found = version(connection)?;
        if found > known {
            return Ok(found);
        }
        // Commits are safe against a crash of the process at once, and against a power cut from the next checkpoint on.
        connection
            .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;")?;
        if found == 0 && connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", [], |row| row.get(0))? {
            // Tables, but none of ours... unless another process has just made them.
            let found = version(connection)?;
            if found == 0 {
                return Err(not_ours());
            }
        }
        if found < known {
            connection.pragma_update(None, "journal_mode", "WAL")?;
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks SQLite whether the file is sound. Reads all of it.
    pub fn check(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let problems = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
            Ok(problems.into_iter().filter(|problem| problem != "ok").collect())
        })
    }

    /// The files read so far.
    pub fn files(&self) -> Result<HashMap<String, FileState>> {
        self.read(|connection| {
            let mut statement = connection.prepare(SELECT_FILE)?;
            let rows = statement.query_map([], file)?;
            rows.map(|row| row.map(|file| (file.path.clone(), file))).collect()
        })
    }

    /// What is known of one file.
    pub fn file(&self, path: &str) -> Result<Option<FileState>> {
        self.read(|connection| {
            let sql = format!("{SELECT_FILE} WHERE path = ?1");
            connection.prepare_cached(&sql)?.query_row([path], file).optional()
        })
    }

    /// How many files there are of each role.
    pub fn roles(&self) -> Result<BTreeMap<Role, u64>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT role, count(*) FROM files GROUP BY role")?;
            let rows = statement
                .query_map([], |row| Ok((Role::from_name(&row.get::<_, String>(0)?), row.get::<_, i64>(1)? as u64)))?;
            rows.collect()
        })
    }

    /// What each file turned out to be and what reading it had to say, by its path. Where all was sound the counts of
    /// lines are left out: they are many, and nobody asks for them.
    pub fn outcomes(&self) -> Result<HashMap<String, (Role, read::Reading)>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT path, role, reading FROM files")?;
            let rows = statement.query_map([], |row| {
                let role = Role::from_name(row.get_ref(1)?.as_str()?);
                let reading = row.get_ref(2)?.as_str()?;
                let sound = |count: &str| reading.contains(count);
                let reading = if sound("\"malformed_lines\":0,") && sound("\"oversized_lines\":0}") {
                    read::Reading::default()
                } else {
                    serde_json::from_str(reading).unwrap_or_default()
                };
                Ok((row.get(0)?, (role, reading)))
            })?;
            rows.collect()
        })
    }

    /// Paths of the transcripts whose sessions were forgotten.
    pub fn forgotten(&self) -> Result<HashSet<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT path FROM files WHERE role = 'forgotten'")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// The version of its tables.
    pub fn schema(&self) -> Result<i64> {
        self.read(|connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0)))
    }

    /// All transcripts whose events may be copies or have been copied, in the order of their paths.
    pub fn holders(&self) -> Result<Vec<Holder>> {
        self.read(|connection| {
            let sql = "SELECT path, role, keys FROM files WHERE length(keys) > 0 ORDER BY path";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let role = Role::from_name(row.get_ref(1)?.as_str()?);
                Ok(Holder { path: row.get(0)?, role, keys: keys(row.get_ref(2)?.as_blob()?) })
            })?;
            rows.collect()
        })
    }

    /// Transcripts that were put and have not been compared with others for copies.
    pub fn unsettled(&self) -> Result<BTreeSet<String>> {
        self.read(|connection| {
            connection.prepare("SELECT path FROM unsettled")?.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Keeps transcripts with their sessions and grades, all or none of them. Until they are settled it is open whose
    /// the events are that they share with others.
    pub fn put(&mut self, entries: &[Entry]) -> Result<()> {
        self.write(|transaction| {
            let mut mark = transaction.prepare_cached("INSERT OR IGNORE INTO unsettled (path) VALUES (?1)")?;
            for entry in entries.iter().filter(|entry| !entry.keys.is_empty()) {
                mark.execute([&entry.file.path])?;
            }
            put_entries(transaction, entries, Owner::Open)
        })
    }

    /// Keeps transcripts without the events that are others', all or none of them. `copies` can no longer be read, and
    /// all that was in them is others'. Nothing is open any more about `paths`.
    pub fn settle(&mut self, entries: &[Entry], copies: &[&str], paths: &[&str]) -> Result<()> {
        self.write(|transaction| {
            for path in copies {
                transaction
                    .prepare_cached("UPDATE files SET role = ?2, session = NULL WHERE path = ?1")?
                    .execute([path, Role::Copy.name()])?;
            }
            put_entries(transaction, entries, Owner::Known)?;
            let mut unmark = transaction.prepare_cached("DELETE FROM unsettled WHERE path = ?1")?;
            paths.iter().try_for_each(|path| unmark.execute([path]).map(drop))
        })
    }

    /// Keeps grades of sessions that are already there, all or none of them.
    pub fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()> {
        self.write(|transaction| grades.iter().try_for_each(|(id, grade)| put_grade(transaction, id, grade)))
    }

    /// Sessions, the latest first.
    pub fn sessions(&self, query: &Query) -> Result<Vec<Row>> {
        self.read(|connection| {
            let children = children(connection, query.since)?;
            // Said so that the index by time can be used.
            let kind = if query.subagents { "?4" } else { "s.kind = 'main' AND NOT ?4" };
            let since = if query.since.is_some() { "s.to_ms >= ?2" } else { "?2 IS NULL" };
            let sql = format!(
                "{SELECT_ROW} WHERE {kind} AND {since} AND (?3 IS NULL OR s.from_ms < ?3)
                 ORDER BY s.to_ms DESC, s.id"
            );
            let mut statement = connection.prepare(&sql)?;
            let since = query.since.map(|at| at.0);
            let until = query.until.map(|at| at.0);
            let rows = statement
                .query_map(params![query.rubric_hash, since, until, query.subagents], |row| self.row(row, &children))?;
            let wanted = |row: &Row| {
                let project = query.project.as_ref();
                let path = query.paths.as_ref();
                project.is_none_or(|project| row.session.project.as_str().contains(project.as_str()))
                    && path.is_none_or(|paths| paths.binary_search(&row.path).is_ok())
            };
            rows.filter(|row| row.as_ref().map_or(true, wanted)).collect()
        })
    }

    /// The end of the newest session, by which windows are anchored.
    pub fn newest(&self, query: &Query) -> Result<Option<Timestamp>> {
        if query.project.is_some() || query.paths.is_some() {
            let query = Query { since: None, subagents: false, ..query.clone() };
            return Ok(self.sessions(&query)?.first().and_then(|row| row.session.to));
        }
        self.read(|connection| {
            let sql = "SELECT max(to_ms) FROM sessions WHERE kind = 'main' AND (?1 IS NULL OR from_ms < ?1)";
            let newest = connection.query_row(sql, [query.until.map(|at| at.0)], |row| row.get::<_, Option<i64>>(0))?;
            Ok(newest.map(Timestamp))
        })
    }

    /// The session whose id begins so; `last` is the latest one.
    pub fn lookup(&self, prefix: &str, rubric_hash: &str) -> Result<Lookup> {
        self.read(|connection| {
            let ids: Vec<String> = if prefix == "last" {
                let sql = "SELECT id FROM sessions WHERE kind = 'main' ORDER BY to_ms DESC, id LIMIT 1";
                connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            } else {
                // The agent's own ids are accepted too: that is what people find in file names.
                let sql = "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1
                           UNION SELECT id FROM sessions WHERE kind = 'main' AND length(?1) >= 4
                               AND substr(recorded, 1, length(?1)) = ?1
                           UNION SELECT id FROM sessions WHERE length(?1) >= 4 AND agent = ?1 LIMIT 9";
                let prefix = prefix.to_ascii_lowercase();
                connection.prepare(sql)?.query_map([prefix], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            };
            match &ids[..] {
                [] => Ok(Lookup::None),
                [id] => {
                    let children = children(connection, None)?;
                    let sql = format!("{SELECT_ROW} WHERE s.id = ?2");
                    let row = connection.query_row(&sql, params![rubric_hash, id], |row| self.row(row, &children))?;
                    Ok(Lookup::One(Box::new(row)))
                }
                _ => Ok(Lookup::Many(ids.into_iter().map(SessionId).collect())),
            }
        })
    }

    /// Sessions of the subagents that a session spawned.
    pub fn subagents(&self, recorded: &str, rubric_hash: &str) -> Result<Vec<Row>> {
        self.read(|connection| {
            let sql = format!("{SELECT_ROW} WHERE s.recorded = ?2 AND s.kind = 'subagent' ORDER BY s.from_ms, s.id");
            let mut statement = connection.prepare(&sql)?;
            let children = BTreeMap::new();
            let rows = statement.query_map(params![rubric_hash, recorded], |row| self.row(row, &children))?;
            rows.collect()
        })
    }

    /// Sessions that have no grade under a rubric by this version of the offline judge.
    pub fn ungraded(&self, rubric_hash: &str, judge: &str, judge_version: &str) -> Result<Vec<(SessionId, Facts)>> {
        self.read(|connection| {
            let sql = "SELECT id, facts FROM sessions WHERE NOT EXISTS (SELECT 1 FROM grades
                       WHERE session = id AND rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3)";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([rubric_hash, judge, judge_version], |row| {
                let facts: String = row.get(1)?;
                Ok((SessionId(row.get(0)?), serde_json::from_str(&facts).map_err(|error| json_error(&error))?))
            })?;
            rows.collect()
        })
    }

    /// What the archive holds of a transcript, the newest version first.
    pub fn archived(&self, path: &str) -> Result<Vec<Archived>> {
        self.read(|connection| {
            let sql = "SELECT path, version, name, form, size FROM archive WHERE path = ?1 ORDER BY version DESC";
            connection.prepare_cached(sql)?.query_map([path], archived)?.collect()
        })
    }

    /// Everything the archive holds.
    pub fn archive(&self) -> Result<Vec<Archived>> {
        self.read(|connection| {
            let sql = "SELECT path, version, name, form, size FROM archive ORDER BY path, version";
            connection.prepare(sql)?.query_map([], archived)?.collect()
        })
    }

    /// Notes what the archive holds.
    pub fn put_archived(&mut self, all: &[Archived]) -> Result<()> {
        self.write(|transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT INTO archive (path, version, name, form, size) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET name = excluded.name, form = excluded.form, size = excluded.size",
            )?;
            for entry in all {
                let Archived { path, version, name, form, size } = entry;
                statement.execute(params![path, version, name, form.name(), *size as i64])?;
            }
            Ok(())
        })
    }

    /// The transcripts, by place and version, that have to go for sessions to be forgotten: their own, their subagents'
    /// and what else lies in their folders, and whole copies of any of these. A fork is a session of its own and stays.
    pub fn transcripts(&self, ids: &[SessionId]) -> Result<Vec<(String, u32)>> {
        self.read(|connection| transcripts(connection, ids))
    }

    /// Removes sessions with everything that came of them and of their subagents, and says what the archive had of
    /// them. The files stay noted, so that what is forgotten is not read again until it changes, and so do the keys
    /// (hashes), so that a fork does not bring it back.
    pub fn forget(&mut self, ids: &[SessionId]) -> Result<Vec<Archived>> {
        self.write(|transaction| {
            let mut removed = Vec::new();
            for (path, version) in transcripts(transaction, ids)? {
                let which = params![path, version];
                let sql = "SELECT path, version, name, form, size FROM archive WHERE path = ?1 AND version = ?2";
                for entry in transaction.prepare_cached(sql)?.query_map(which, archived)? {
                    removed.push(entry?);
                }
                for sql in [
                    "DELETE FROM archive WHERE path = ?1 AND version = ?2",
                    "DELETE FROM grades WHERE session IN (SELECT id FROM sessions WHERE path = ?1 AND version = ?2)",
                    "DELETE FROM sessions WHERE path = ?1 AND version = ?2",
                    "UPDATE files SET session = NULL, role = 'forgotten', reading = '{}'
                     WHERE path = ?1 AND version = ?2",
                ] {
                    transaction.prepare_cached(sql)?.execute(which)?;
                }
            }
            Ok(removed)
        })
    }

    /// Gives freed room back to the file system.
    pub fn shrink(&mut self) -> Result<()> {
        self.read(|connection| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"))
    }

    fn row(&self, row: &rusqlite::Row<'_>, children: &BTreeMap<String, Vec<Child>>) -> rusqlite::Result<Row> {
        let facts: String = row.get("facts")?;
        let facts: Facts = serde_json::from_str(&facts).map_err(|error| json_error(&error))?;
        let progress: String = row.get("progress")?;
        let kind: String = row.get("kind")?;
        let session = Session {
            id: SessionId(row.get("id")?),
            kind: if kind == SessionKind::Subagent.name() { SessionKind::Subagent } else { SessionKind::Main },
            recorded: row.get("recorded")?,
            agent: row.get("agent")?,
            project: restore(&row.get::<_, String>("project")?, &self.rules),
            title: restore(&row.get::<_, String>("title")?, &self.rules),
            from: row.get::<_, Option<i64>>("from_ms")?.map(Timestamp),
            to: row.get::<_, Option<i64>>("to_ms")?.map(Timestamp),
            open: row.get("open")?,
            facts: redact_facts(facts, &self.rules),
            progress: serde_json::from_str(&progress).map_err(|error| json_error(&error))?,
        };
        let grade = match row.get::<_, Option<String>>("readings")? {
            None => None,
            Some(readings) => Some(grade(row, &readings)?),
        };
        let with_subagents = with_subagents(&session, children);
        Ok(Row { session, path: row.get("path")?, version: row.get("version")?, grade, with_subagents })
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        work(&self.connection).map_err(|error| explain(&self.path, &error))
    }

    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let Store { connection, path, .. } = self;
        let explain = |error: rusqlite::Error| explain(path, &error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
        let done = work(&transaction).map_err(explain)?;
        transaction.commit().map_err(explain)?;
        Ok(done)
    }
}

const SELECT_ROW: &str = "SELECT s.*, g.rubric, g.rubric_hash, g.judge, g.judge_version, g.model, g.prompt_hash,
    g.readings, g.overall FROM sessions s
    LEFT JOIN grades g ON g.session = s.id AND g.rubric_hash = ?1 AND g.judge = 'offline'
        AND g.judge_version = (SELECT max(judge_version) FROM grades l
            WHERE l.session = s.id AND l.rubric_hash = ?1 AND l.judge = 'offline')";

/// A grade as it was kept.
fn grade(row: &rusqlite::Row<'_>, readings: &str) -> rusqlite::Result<Grade> {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let provenance = Arc::new(Provenance {
        judge: row.get("judge")?,
        judge_version: row.get("judge_version")?,
        model: some(row.get("model")?),
        rubric: row.get("rubric")?,
        rubric_hash: row.get("rubric_hash")?,
        prompt_hash: some(row.get("prompt_hash")?),
    });
    let readings: Vec<(String, Reading)> = serde_json::from_str(readings).map_err(|error| json_error(&error))?;
    let overall: String = row.get("overall")?;
    Ok(Grade {
        scores: readings
            .into_iter()
            .map(|(dimension, reading)| Score { dimension, reading, provenance: Arc::clone(&provenance) })
            .collect(),
        overall: serde_json::from_str(&overall).map_err(|error| json_error(&error))?,
    })
}

const SELECT_FILE: &str = "SELECT path, inode, size, mtime_ns, offset, tail, decoder, version FROM files";

/// Whether it is known whose the events are that transcripts share.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Known,
    Open,
}

fn put_entries(transaction: &Transaction<'_>, entries: &[Entry], owner: Owner) -> rusqlite::Result<()> {
    let mut stale = Vec::new();
    for entry in entries {
        stale.extend(put_entry(transaction, entry, owner)?.map(|id| (id, &entry.file.path)));
    }
    // Last, because another entry may have taken the session over: then its grades, which may have been paid for, stay.
    for (id, path) in stale {
        transaction
            .prepare_cached(
                "DELETE FROM sessions WHERE id = ?1 AND path = ?2 AND NOT EXISTS (SELECT 1 FROM files WHERE session = ?1)",
            )?
            .execute([&id, path])?;
        transaction
            .prepare_cached(
                "DELETE FROM grades WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)",
            )?
            .execute([&id])?;
    }
    Ok(())
}

/// Keeps a transcript. Says which session it had before, if that is no longer its own.
fn put_entry(transaction: &Transaction<'_>, entry: &Entry, owner: Owner) -> rusqlite::Result<Option<String>> {
    let Entry { file, role, rewritten, reading, keys, session } = entry;
    let id = session.as_ref().map(|(session, _)| &session.id);
    // The same transcript under a new id: its first prompt has only now been written, or it turned out a copy.
    // A rewritten one is another transcript in the same place: the old session stays, and so does its archive.
    let stale = if *rewritten {
        None
    } else {
        let before: Option<String> = transaction
            .prepare_cached("SELECT session FROM files WHERE path = ?1")?
            .query_row([&file.path], |row| row.get(0))
            .optional()?
            .flatten();
        before.filter(|before| id.is_none_or(|id| id.0 != *before))
    };
    let mut blob = Vec::with_capacity(keys.len() * 8);
    for key in keys {
        blob.extend_from_slice(&key.0.to_le_bytes());
    }
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO files (path, inode, size, mtime_ns, offset, tail, decoder, version, role, session,
             reading, keys) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            file.path,
            file.inode as i64,
            file.size as i64,
            file.mtime_ns,
            file.offset as i64,
            file.tail as i64,
            file.decoder,
            file.version,
            role.name(),
            id.map(|id| &id.0),
            reading,
            blob
        ])?;
    // A session that another transcript holds too is left alone until it is known whose it is.
    let elsewhere = match (owner, id) {
        (Owner::Open, Some(id)) => transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM sessions s JOIN files f ON f.path = s.path AND f.session = s.id
                 WHERE s.id = ?1 AND s.path != ?2)",
            )?
            .query_row([&id.0, &file.path], |row| row.get(0))?,
        _ => false,
    };
    if let Some((session, grade)) = session.as_ref().filter(|_| !elsewhere) {
        let progress = serde_json::to_string(&session.progress).unwrap_or_else(|_| "{}".into());
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO sessions (id, path, version, kind, recorded, agent, project, title, from_ms,
                 to_ms, open, facts, progress) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                session.id.0,
                file.path,
                file.version,
                session.kind.name(),
                session.recorded,
                session.agent,
                session.project.as_str(),
                session.title.as_str(),
                session.from.map(|at| at.0),
                session.to.map(|at| at.0),
                session.open,
                session.facts.get().stored(),
                progress
            ])?;
        put_grade(transaction, &session.id, grade)?;
    }
    Ok(stale)
}

fn put_grade(transaction: &Transaction<'_>, id: &SessionId, grade: &Grade) -> rusqlite::Result<()> {
    let Some(Score { provenance, .. }) = grade.scores.first() else {
        return Ok(());
    };
    let Provenance { judge, judge_version, model, rubric, rubric_hash, prompt_hash } = &**provenance;
    let (thousandths, tier) = match &grade.overall {
        Overall::Graded { thousandths, tier, .. } => (Some(*thousandths), Some(tier)),
        Overall::TooFew { .. } => (None, None),
    };
    let json = |error: &serde_json::Error| json_error(error);
    let readings: Vec<(&str, &Reading)> =
        grade.scores.iter().map(|score| (score.dimension.as_str(), &score.reading)).collect();
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO grades (session, rubric, rubric_hash, judge, judge_version, model, prompt_hash,
             thousandths, tier, overall, readings) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            id.0,
            rubric,
            rubric_hash,
            judge,
            judge_version,
            model.as_deref().unwrap_or_default(),
            prompt_hash.as_deref().unwrap_or_default(),
            thousandths,
            tier,
            serde_json::to_string(&grade.overall).map_err(|error| json(&error))?,
            serde_json::to_string(&readings).map_err(|error| json(&error))?
        ])?;
    Ok(())
}

fn file(row: &rusqlite::Row<'_>) -> rusqlite::Result<FileState> {
    Ok(FileState {
        path: row.get(0)?,
        inode: row.get::<_, i64>(1)? as u64,
        size: row.get::<_, i64>(2)? as u64,
        mtime_ns: row.get(3)?,
        offset: row.get::<_, i64>(4)? as u64,
        tail: row.get::<_, i64>(5)? as u64,
        decoder: row.get(6)?,
        version: row.get(7)?,
    })
}

fn keys(blob: &[u8]) -> Vec<Key> {
    blob.chunks_exact(8).map(|key| Key(u64::from_le_bytes(key.try_into().unwrap_or_default()))).collect()
}

/// See [`Store::transcripts`].
fn transcripts(connection: &Connection, ids: &[SessionId]) -> rusqlite::Result<Vec<(String, u32)>> {
    let which = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?));
    let mut found = BTreeSet::new();
    let mut own = connection.prepare_cached(
        "SELECT path, version FROM sessions WHERE id = ?1
         UNION SELECT path, version FROM files WHERE session = ?1
         UNION SELECT c.path, c.version FROM sessions c JOIN sessions s ON c.recorded = s.recorded
             WHERE s.id = ?1 AND s.kind = 'main' AND c.kind = 'subagent' AND s.recorded != ''",
    )?;
    for id in ids {
        for row in own.query_map([&id.0], which)? {
            found.insert(row?);
        }
    }
    let folder = |(path, _): &(String, u32)| path.strip_suffix(".jsonl").map(|stem| format!("{stem}/"));
    let folders: BTreeSet<String> = found.iter().filter_map(folder).collect();
    let mut inside =
        connection.prepare_cached("SELECT path, version FROM files WHERE substr(path, 1, length(?1)) = ?1")?;
    for folder in folders {
        for row in inside.query_map([&folder], which)? {
            found.insert(row?);
        }
    }
    let mut known = HashSet::new();
    let mut keys_of = connection.prepare_cached("SELECT keys FROM files WHERE path = ?1 AND version = ?2")?;
    for (path, version) in &found {
        let held = keys_of.query_row(params![path, version], |row| Ok(keys(row.get_ref(0)?.as_blob()?))).optional()?;
        known.extend(held.unwrap_or_default());
    }
    let mut copies =
        connection.prepare_cached("SELECT path, version, keys FROM files WHERE role = 'copy' AND length(keys) > 0")?;
    let mut rows = copies.query([])?;
    while let Some(row) = rows.next()? {
        if keys(row.get_ref(2)?.as_blob()?).iter().all(|key| known.contains(key)) {
            found.insert(which(row)?);
        }
    }
    Ok(found.into_iter().collect())
}

/// A subagent's share of its session.
struct Child {
    agent: Option<String>,
    tokens: Tokens,
    cost: Cost,
}

/// Subagents by the id under which their session was recorded, of sessions that ended at or after a moment. The
/// subagent itself may have been done long before.
fn children(connection: &Connection, since: Option<Timestamp>) -> rusqlite::Result<BTreeMap<String, Vec<Child>>> {
    let sql = "SELECT recorded, agent, facts ->> '$.tokens.tokens', facts ->> '$.tokens.cost_usd' FROM sessions
               WHERE kind = 'subagent' AND (?1 IS NULL OR recorded IN
                   (SELECT recorded FROM sessions WHERE kind = 'main' AND to_ms >= ?1))";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([since.map(|at| at.0)])?;
    let mut children: BTreeMap<String, Vec<Child>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let read = |column: usize| row.get::<_, Option<String>>(column);
        let tokens = read(2)?.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        let cost = read(3)?.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        children.entry(row.get(0)?).or_default().push(Child { agent: row.get(1)?, tokens, cost });
    }
    Ok(children)
}

/// What a session used together with its subagents: from their own transcripts, or from the progress records of those
/// that have none.
fn with_subagents(session: &Session, children: &BTreeMap<String, Vec<Child>>) -> Usage {
    let own = &session.facts.get().tokens;
    let mut usage = Usage { subagents: 0, tokens: own.tokens, cost: own.cost_usd.clone() };
    if session.kind != SessionKind::Main {
        return usage;
    }
    let children = children.get(&session.recorded).map_or(&[][..], Vec::as_slice);
    let recorded = |agent: &str| children.iter().any(|child| child.agent.as_deref() == Some(agent));
    let unrecorded =
        session.progress.iter().filter(|(agent, _)| !recorded(agent)).map(|(_, share)| (&share.0, &share.1));
    for (tokens, cost) in children.iter().map(|child| (&child.tokens, &child.cost)).chain(unrecorded) {
        usage.subagents += 1;
        usage.tokens.add(tokens);
        usage.cost.add(cost);
    }
    usage
}

fn archived(row: &rusqlite::Row<'_>) -> rusqlite::Result<Archived> {
    Ok(Archived {
        path: row.get(0)?,
        version: row.get(1)?,
        name: row.get(2)?,
        form: Form::from_name(&row.get::<_, String>(3)?),
        size: row.get::<_, i64>(4)? as u64,
    })
}

/// Whether a database file is shorter than it says. While there is a log beside it, the rest may be in there.
fn is_cut_short(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
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

/// A database that somebody else has made is no store.
fn not_ours() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, "it holds other tables".into())
}

/// JSON in the store that cannot be read is damage like any other.
fn json_error(error: &serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.to_string().into())
}

fn explain(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display().to_string();
    let cause = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, cause },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly { path, cause }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        _ if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => StoreError::Damaged { path, cause },
        _ => StoreError::Other { path, cause },
    }
}

#[cfg(test)]
mod tests;
