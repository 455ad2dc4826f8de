//! Files: what is known of each, so that an unchanged one costs a look at its metadata.

use super::{Result, Store};
use crate::stores::{Became, FileState, Holder, Holding, Reading, Role, Stamp};
use hotwash_core::sessions::{Key, Piece};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::{BTreeMap, HashMap, HashSet};

const SELECT_FILE: &str = "SELECT path, inode, size, mtime_ns, offset, tail, decoder, version FROM files";

impl Store {
    /// Shows each file that was read so far: its path, its state if that is asked for, and its role.
    pub fn each_file(&self, mut show: impl FnMut(&str, &dyn Fn() -> Result<FileState>, &Stamp, Role)) -> Result<()> {
        let sql = "SELECT path, inode, size, mtime_ns, offset, tail, decoder, version, role FROM files";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let stamp = Stamp {
                    inode: row.get::<_, i64>(1)? as u64,
                    size: row.get::<_, i64>(2)? as u64,
                    mtime_ns: row.get(3)?,
                    decoder: row.get(6)?,
                };
                let role = Role::from_name(row.get_ref(8)?.as_str()?);
                let whole = || file(row).map_err(|error| super::explain(&self.path, &error));
                show(row.get_ref(0)?.as_str()?, &whole, &stamp, role);
            }
            Ok(())
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
                .query_map([], |row| Ok((Role::from_name(row.get_ref(0)?.as_str()?), row.get::<_, i64>(1)? as u64)))?;
            rows.collect()
        })
    }

    /// What became of the files of which one cannot guess it, by their paths. All others are [`Became::default`].
    pub fn outcomes(&self) -> Result<HashMap<String, Became>> {
        self.read(|connection| {
            let sql = "SELECT path, role, reading, sessions FROM files
                       WHERE role != 'main' OR reading != '' OR sessions != 1";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let role = Role::from_name(row.get_ref(1)?.as_str()?);
                let reading = match row.get_ref(2)?.as_str()? {
                    "" => Reading::default(),
                    reading => serde_json::from_str(reading).unwrap_or_default(),
                };
                Ok((row.get(0)?, Became { role, sessions: row.get::<_, i64>(3)? as u64, reading }))
            })?;
            rows.collect()
        })
    }

    /// All transcripts whose events may be copies or have been copied, in the order of their paths.
    pub fn holders(&self) -> Result<Vec<Holder>> {
        self.read(|connection| {
            // Files are looked up by holdings and not the other way round: some of those have so many keys that to pass
            // one in a search takes reading several pages.
            let sql = "SELECT h.path, f.role, h.keys FROM holdings h CROSS JOIN files f USING (path, version)
                       WHERE length(h.keys) > 0 ORDER BY h.path";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                let role = Role::from_name(row.get_ref(1)?.as_str()?);
                Ok(Holder { path: row.get(0)?, role, keys: keys(row.get_ref(2)?.as_blob()?) })
            })?;
            rows.collect()
        })
    }

    /// The ids under which agents recorded sessions in transcripts whose paths do not end like this, and the paths that
    /// do and hold a session of one of these ids.
    pub fn recorded_besides(&self, ending: &str) -> Result<(HashSet<String>, Vec<String>)> {
        self.read(|connection| {
            let sql = "SELECT DISTINCT recorded, path FROM sessions WHERE recorded != ''";
            let mut statement = connection.prepare(sql)?;
            let (mut besides, mut ending_so) = (HashSet::new(), Vec::new());
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (recorded, path): (String, String) = (row.get(0)?, row.get(1)?);
                if path.ends_with(ending) {
                    ending_so.push((recorded, path));
                } else {
                    besides.insert(recorded);
                }
            }
            let mut copies: Vec<String> =
                ending_so.into_iter().filter_map(|(id, path)| besides.contains(&id).then_some(path)).collect();
            copies.sort();
            copies.dedup();
            Ok((besides, copies))
        })
    }

    /// The pieces of all transcripts of people, in the order of their paths and versions.
    pub fn holdings(&self) -> Result<Vec<Holding>> {
        self.read(|connection| {
            let sql = "SELECT path, version, pieces FROM holdings WHERE kind = 'main' ORDER BY path, version";
            let mut statement = connection.prepare(sql)?;
            statement.query_map([], holding)?.collect()
        })
    }

    /// Transcripts that were put and have not been compared with others for copies and joins, each with a mark.
    pub fn unsettled(&self) -> Result<BTreeMap<String, i64>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT path, mark FROM unsettled")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }
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

fn holding(row: &Row<'_>) -> rusqlite::Result<Holding> {
    Ok(Holding { path: row.get(0)?, version: row.get(1)?, pieces: pieces(row.get_ref(2)?.as_blob()?)? })
}

/// Pieces as they are stored.
fn pieces(blob: &[u8]) -> rusqlite::Result<Vec<Piece>> {
    postcard::from_bytes(blob)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.to_string().into()))
}
