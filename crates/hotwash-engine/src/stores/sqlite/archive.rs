//! What the archive holds, as the store notes it.

use super::{Result, Sqlite};
use crate::stores::{Archived, Form};
use hotwash_core::ports::store::Copies;
use rusqlite::{Transaction, params};

impl Copies for Sqlite {
    fn archived(&self, path: &str) -> Result<Vec<Archived>> {
        self.read(|connection| {
            let sql = "SELECT path, version, name, form, size FROM archive WHERE path = ?1 ORDER BY version DESC";
            connection.prepare_cached(sql)?.query_map([path], archived)?.collect()
        })
    }

    fn archive(&self) -> Result<Vec<Archived>> {
        self.read(|connection| {
            let sql = "SELECT path, version, name, form, size FROM archive ORDER BY path, version";
            connection.prepare(sql)?.query_map([], archived)?.collect()
        })
    }

    fn put_otherwise(&mut self, all: Vec<Archived>) -> Result<Vec<Archived>> {
        self.write(|transaction| {
            let sql = "UPDATE archive SET name = ?3, form = ?4, size = ?5 WHERE path = ?1 AND version = ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            let mut unknown = Vec::new();
            for entry in all {
                let Archived { path, version, name, form, size } = &entry;
                if statement.execute(params![path, version, name, form.name(), *size as i64])? == 0 {
                    unknown.push(entry);
                }
            }
            Ok(unknown)
        })
    }
}

pub(super) fn put_archived<'a>(
    transaction: &Transaction<'_>,
    all: impl IntoIterator<Item = &'a Archived>,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO archive (path, version, name, form, size) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut archive = transaction.prepare_cached(sql)?;
    for Archived { path, version, name, form, size } in all {
        archive.execute(params![path, version, name, form.name(), *size as i64])?;
    }
    Ok(())
}

pub(super) fn archived(row: &rusqlite::Row<'_>) -> rusqlite::Result<Archived> {
    Ok(Archived {
        path: row.get(0)?,
        version: row.get(1)?,
        name: row.get(2)?,
        form: Form::from_name(&row.get::<_, String>(3)?),
        size: row.get::<_, i64>(4)? as u64,
    })
}
