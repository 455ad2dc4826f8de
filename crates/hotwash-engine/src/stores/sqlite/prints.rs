//! Fingerprints of what sessions changed, by repository.

use super::{Result, Store};
use hotwash_core::rework::{Fingerprint, Placed};
use hotwash_core::sessions::{SessionId, Timestamp};
use rusqlite::params;
use std::collections::BTreeMap;

impl Store {
    /// Where and when these sessions changed something: by repository, from when to when each.
    pub fn changes_of(&self, ids: &[SessionId]) -> Result<BTreeMap<String, Vec<(Timestamp, Timestamp)>>> {
        let _view = self.as_it_is()?;
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT repository, from_ms, to_ms FROM prints WHERE session = ?1")?;
            let mut found: BTreeMap<String, Vec<(Timestamp, Timestamp)>> = BTreeMap::new();
            for SessionId(id) in ids {
                let mut rows = statement.query([id])?;
                let Some(row) = rows.next()? else { continue };
                let (repository, span) = (row.get_ref(0)?.as_str()?, (Timestamp(row.get(1)?), Timestamp(row.get(2)?)));
                match found.get_mut(repository) {
                    Some(spans) => spans.push(span),
                    None => drop(found.insert(repository.to_owned(), vec![span])),
                }
            }
            Ok(found)
        })
    }

    /// The sessions of a repository that changed something and ended at or after a moment.
    pub fn changed_in(&self, repository: &str, since: Timestamp) -> Result<Vec<Placed>> {
        self.read(|connection| {
            let sql =
                "SELECT session, from_ms, to_ms FROM prints WHERE repository = ?1 AND to_ms >= ?2 ORDER BY session";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![repository, since.0], |row| {
                let (from, to) = (Timestamp(row.get(1)?), Timestamp(row.get(2)?));
                Ok(Placed { session: SessionId(row.get(0)?), from, to })
            })?;
            rows.collect()
        })
    }

    /// What a session changed.
    pub fn print(&self, id: &SessionId) -> Result<Fingerprint> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT print FROM prints WHERE session = ?1")?;
            statement.query_row([&id.0], |row| {
                Fingerprint::from_bytes(row.get_ref(0)?.as_blob()?).map_err(|error| {
                    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, error.to_string().into())
                })
            })
        })
    }
}
