//! Fingerprints of what sessions changed, by repository.

use super::{Result, Store};
use hotwash_core::rework::{Fingerprint, Placed};
use hotwash_core::sessions::{SessionId, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

impl Store {
    /// The sessions that changed something, by repository.
    pub fn changes(&self) -> Result<BTreeMap<String, Vec<Placed>>> {
        self.read(changes)
    }

    /// What a session changed; nothing where it is gone.
    pub fn print(&self, id: &SessionId) -> Result<Fingerprint> {
        self.read(|connection| {
            let sql = "SELECT print FROM fingerprints WHERE number = (SELECT number FROM sessions WHERE id = ?1)";
            let print = |row: &rusqlite::Row<'_>| {
                Fingerprint::from_bytes(row.get_ref(0)?.as_blob()?)
                    .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.to_string().into()))
            };
            Ok(connection.prepare_cached(sql)?.query_row([&id.0], print).optional()?.unwrap_or_default())
        })
    }
}

pub(super) fn changes(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<Placed>>> {
    let sql = "SELECT repository, session, from_ms, to_ms FROM fingerprints ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query([])?, BTreeMap::<String, Vec<Placed>>::new());
    while let Some(row) = rows.next()? {
        let (from, to) = (Timestamp(row.get(2)?), Timestamp(row.get(3)?));
        found.entry(row.get(0)?).or_default().push(Placed { session: SessionId(row.get(1)?), from, to });
    }
    Ok(found)
}
