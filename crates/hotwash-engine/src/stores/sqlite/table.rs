//! Putting rows, most of which are new.

use rusqlite::{CachedStatement, ToSql, Transaction};

/// Whether there was a row of the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Before,
    Not,
}

/// A table, for as long as a transaction puts rows into it.
///
/// `OR REPLACE` may have to take back half of what it did, so SQLite first copies every page that it touches. That was a
/// third of all the work of putting, for rows of which nearly none replaces another.
pub(super) struct Table<'t> {
    transaction: &'t Transaction<'t>,
    /// Its name, the columns and the values.
    into: &'static str,
    new: CachedStatement<'t>,
}

impl<'t> Table<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>, into: &'static str) -> rusqlite::Result<Table<'t>> {
        let new = transaction.prepare_cached(&format!("INSERT OR IGNORE INTO {into}"))?;
        Ok(Table { transaction, into, new })
    }

    /// Puts a row unless there is one of the same key.
    pub(super) fn put_new(&mut self, row: &[&dyn ToSql]) -> rusqlite::Result<Known> {
        Ok(if self.new.execute(row)? == 0 { Known::Before } else { Known::Not })
    }

    /// Puts a row, in the place of one of the same key if there is one.
    pub(super) fn put(&mut self, row: &[&dyn ToSql]) -> rusqlite::Result<Known> {
        let known = self.put_new(row)?;
        if known == Known::Before {
            self.transaction.prepare_cached(&format!("INSERT OR REPLACE INTO {}", self.into))?.execute(row)?;
        }
        Ok(known)
    }
}
