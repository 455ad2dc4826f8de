//! Transcripts: their files, what they hold, and what is still to be done about them.

use super::archive::put_archived;
use super::put::{Owner, drop_stale, encode, execute, given, put_entries};
use super::{Result, Sqlite};
use crate::stores::{Archived, Became, Entangled, Entry, File, FileState, Holding, Reading, Role};
use hotwash_core::ports::store::{Todo, Transcripts};
use hotwash_core::sessions::{About, Key, Piece, SessionId};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::BTreeMap;

impl Transcripts for Sqlite {
    fn files(&self) -> Result<Vec<File>> {
        self.read(|connection| {
            let sql =
                "SELECT path, inode, size, mtime_ns, offset, tail, decoder, version, agent, role, sessions, reading FROM files
                       ORDER BY path";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                let role = Role::from_name(row.get_ref(9)?.as_str()?);
                let reading = match row.get_ref(11)?.as_str()? {
                    "" => Reading::default(),
                    reading => serde_json::from_str(reading).unwrap_or_default(),
                };
                let became = Became { role, sessions: row.get::<_, i64>(10)? as u64, reading };
                Ok(File { state: file(row)?, became })
            })?;
            rows.collect()
        })
    }

    fn file(&self, path: &str) -> Result<Option<FileState>> {
        self.read(|connection| {
            let sql =
                "SELECT path, inode, size, mtime_ns, offset, tail, decoder, version, agent FROM files WHERE path = ?1";
            connection.prepare_cached(sql)?.query_row([path], file).optional()
        })
    }

    fn holdings(&self) -> Result<Vec<Holding>> {
        self.read(|connection| {
            let sql = "SELECT h.path, h.version, h.kind, f.role, h.keys, h.pieces FROM holdings h
                       LEFT JOIN files f USING (path, version) ORDER BY h.path, h.version";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                let role = row.get_ref(3)?.as_str_or_null()?;
                Ok(Holding {
                    path: row.get(0)?,
                    version: row.get(1)?,
                    is_newest: role.is_some(),
                    // Roles from which sessions come are called as those are.
                    role: Role::from_name(role.unwrap_or(row.get_ref(2)?.as_str()?)),
                    keys: keys(row.get_ref(4)?.as_blob()?),
                    pieces: pieces(row.get_ref(5)?.as_blob()?)?,
                })
            })?;
            rows.collect()
        })
    }

    fn put(&mut self, entries: &[Entry], archived: &[Archived]) -> Result<Vec<(String, u32)>> {
        self.write(|transaction| {
            let forgotten = put_entries(transaction, entries, Owner::Open)?;
            let is_kept = |path: &str| !forgotten.iter().any(|(forgotten, _)| forgotten == path);
            put_archived(transaction, archived.iter().filter(|archived| is_kept(&archived.path)))?;
            let shares = |entry: &&Entry| !(entry.keys.is_empty() && entry.pieces.is_empty());
            let paths = entries.iter().filter(shares).map(|entry| entry.file.path.as_str());
            mark(transaction, Todo::Settle, paths.filter(|path| is_kept(path)))?;
            Ok(forgotten)
        })
    }

    fn put_own(&mut self, entries: &[Entry], copies: &[&str]) -> Result<()> {
        self.write(|transaction| {
            let mut stale = Vec::new();
            for path in copies {
                let version: Option<u32> = transaction
                    .prepare_cached(
                        "UPDATE files SET role = ?2 WHERE path = ?1 AND role != 'forgotten' RETURNING version",
                    )?
                    .query_row([path, Role::Copy.name()], |row| row.get(0))
                    .optional()?;
                let Some(version) = version else { continue };
                let before = given(transaction, path, version)?;
                let sql = "UPDATE holdings SET kind = '', pieces = ?3 WHERE path = ?1 AND version = ?2";
                execute(transaction, sql, params![path, version, encode(&[])])?;
                stale.push((path, before));
            }
            put_entries(transaction, entries, Owner::Known)?;
            // Last, because what was moved has another place now, and its grades stay with it.
            stale.iter().try_for_each(|(path, ids)| drop_stale(transaction, path, ids))
        })
    }

    fn marked(&self, todo: Todo) -> Result<BTreeMap<String, i64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("SELECT path, mark FROM {}", table(todo)))?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    fn mark(&mut self, todo: Todo, paths: &[String]) -> Result<()> {
        self.write(|transaction| mark(transaction, todo, paths.iter().map(String::as_str)))
    }

    fn unmark(&mut self, todo: Todo, marks: &BTreeMap<String, i64>) -> Result<()> {
        self.write(|transaction| {
            let sql = format!("DELETE FROM {} WHERE path = ?1 AND mark = ?2", table(todo));
            marks.iter().try_for_each(|(path, mark)| execute(transaction, &sql, params![path, mark]).map(drop))
        })
    }

    fn entangled(&self, ids: &[SessionId]) -> Result<Entangled> {
        self.read(|connection| super::forget::entangled(connection, ids))
    }

    fn forget(&mut self, ids: &[SessionId]) -> Result<Vec<Archived>> {
        let removed = self.write(|transaction| super::forget::forget(transaction, ids))?;
        self.shrink()?;
        Ok(removed)
    }
}

/// Where marks are kept.
fn table(todo: Todo) -> &'static str {
    match todo {
        Todo::Settle => "unsettled",
        Todo::Cut => "uncut",
    }
}

pub(super) fn mark<'p>(
    transaction: &Transaction<'_>,
    todo: Todo,
    mut paths: impl Iterator<Item = &'p str>,
) -> rusqlite::Result<()> {
    let sql = format!("INSERT OR REPLACE INTO {} (path, mark) VALUES (?1, random())", table(todo));
    paths.try_for_each(|path| execute(transaction, &sql, [path]).map(drop))
}

fn file(row: &Row<'_>) -> rusqlite::Result<FileState> {
    Ok(FileState {
        path: row.get(0)?,
        inode: row.get::<_, i64>(1)? as u64,
        size: row.get::<_, i64>(2)? as u64,
        mtime_ns: row.get(3)?,
        offset: row.get::<_, i64>(4)? as u64,
        tail: row.get::<_, i64>(5)? as u64,
        decoder: row.get(6)?,
        version: row.get(7)?,
        agent: row.get(8)?,
    })
}

/// Keys as they are stored.
pub(super) fn keys(blob: &[u8]) -> Vec<Key> {
    blob.chunks_exact(8).map(|key| Key(u64::from_le_bytes(key.try_into().unwrap_or_default()))).collect()
}

/// The pieces of a transcript.
pub(super) fn held(connection: &Connection, path: &str, version: u32) -> rusqlite::Result<Vec<Piece>> {
    let sql = "SELECT pieces FROM holdings WHERE path = ?1 AND version = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![path, version], |row| pieces(row.get_ref(0)?.as_blob()?)).optional()?;
    Ok(found.unwrap_or_default())
}

/// Pieces as they are stored.
fn pieces(blob: &[u8]) -> rusqlite::Result<Vec<Piece>> {
    decode(blob).map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.to_string().into()))
}

/// Pieces, and behind them what they are about, where that was kept.
fn decode(blob: &[u8]) -> postcard::Result<Vec<Piece>> {
    let (mut pieces, rest): (Vec<Piece>, _) = postcard::take_from_bytes(blob)?;
    if !rest.is_empty() {
        let about: Vec<About> = postcard::from_bytes(rest)?;
        pieces.iter_mut().zip(about).for_each(|(piece, about)| piece.about = about);
    }
    Ok(pieces)
}
