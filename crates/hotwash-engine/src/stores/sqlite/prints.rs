//! Fingerprints of what sessions changed, by repository.

use super::{Result, Store, explain};
use hotwash_core::rework::{Fingerprint, Placed};
use hotwash_core::sessions::{SessionId, Timestamp};
use rusqlite::types::Type;
use rusqlite::{CachedStatement, Row, params};
use std::collections::BTreeMap;
use std::path::Path;

/// Where and when sessions changed something: by repository, from when to when each.
type Changes = BTreeMap<String, Vec<(Timestamp, Timestamp)>>;

impl Store {
    /// Where and when these sessions changed something.
    pub fn changes_of(&self, ids: &[SessionId]) -> Result<Changes> {
        let _view = self.as_it_is()?;
        self.read(|connection| {
            let sql = "SELECT repository, from_ms, to_ms FROM fingerprints
                       WHERE number = (SELECT number FROM sessions WHERE id = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = Changes::new();
            for SessionId(id) in ids {
                if let Some(row) = statement.query([id])?.next()? {
                    let span = (Timestamp(row.get(1)?), Timestamp(row.get(2)?));
                    add(&mut found, row.get_ref(0)?.as_str()?, span);
                }
            }
            Ok(found)
        })
    }

    /// All sessions that changed something, by repository, and otherwise as [`Store::changed_in`] gives them.
    pub fn all_changed(&self) -> Result<BTreeMap<String, Vec<(Placed, i64)>>> {
        self.read(|connection| {
            let sql = "SELECT session, from_ms, to_ms, number, repository FROM fingerprints";
            let mut statement = connection.prepare_cached(sql)?;
            let (mut rows, mut found) = (statement.query([])?, BTreeMap::new());
            while let Some(row) = rows.next()? {
                add(&mut found, row.get_ref(4)?.as_str()?, placed(row)?);
            }
            Ok(found)
        })
    }

    /// The sessions of a repository that changed something and ended at or after a moment, each with the number of its
    /// fingerprint, which holds as long as one holds on to the store.
    pub fn changed_in(&self, repository: &str, since: Timestamp) -> Result<Vec<(Placed, i64)>> {
        self.read(|connection| {
            let sql = "SELECT session, from_ms, to_ms, number FROM fingerprints WHERE repository = ?1 AND to_ms >= ?2";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map(params![repository, since.0], placed)?.collect()
        })
    }

    /// What a session changed.
    pub fn print(&self, id: &SessionId) -> Result<Fingerprint> {
        self.read(|connection| {
            let sql = "SELECT print FROM fingerprints WHERE number = (SELECT number FROM sessions WHERE id = ?1)";
            connection.prepare_cached(sql)?.query_row([&id.0], fingerprint)
        })
    }

    /// What sessions changed.
    pub fn prints(&self) -> Result<Prints<'_>> {
        let statement = self.connection.prepare_cached("SELECT print FROM fingerprints WHERE number = ?1");
        Ok(Prints { statement: statement.map_err(|error| explain(&self.path, &error))?, path: &self.path })
    }
}

/// What sessions changed, one by one.
pub struct Prints<'s> {
    statement: CachedStatement<'s>,
    path: &'s Path,
}

impl Prints<'_> {
    /// The fingerprint of this number.
    pub fn get(&mut self, number: i64) -> Result<Fingerprint> {
        self.statement.query_row([number], fingerprint).map_err(|error| explain(self.path, &error))
    }
}

fn fingerprint(row: &Row<'_>) -> rusqlite::Result<Fingerprint> {
    Fingerprint::from_bytes(row.get_ref(0)?.as_blob()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.to_string().into()))
}

fn placed(row: &Row<'_>) -> rusqlite::Result<(Placed, i64)> {
    let (from, to) = (Timestamp(row.get(1)?), Timestamp(row.get(2)?));
    Ok((Placed { session: SessionId(row.get(0)?), from, to }, row.get(3)?))
}

fn add<T>(found: &mut BTreeMap<String, Vec<T>>, repository: &str, thing: T) {
    match found.get_mut(repository) {
        Some(things) => things.push(thing),
        None => drop(found.insert(repository.to_owned(), vec![thing])),
    }
}
