//! The tables of a store, for tests that look behind the port, or change what no method changes.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// A store's tables.
#[derive(Debug)]
pub struct Tables(Connection);

impl Tables {
    /// Opens the database at a place, whatever is in it.
    pub fn open(path: &Path) -> Tables {
        Tables(Connection::open(path).expect("a database"))
    }

    /// Executes some statements.
    pub fn execute(&self, sql: &str) {
        self.0.execute_batch(sql).expect(sql);
    }

    /// The number that a question gives, if it gives one.
    pub fn number(&self, sql: &str, values: &[&str]) -> Option<i64> {
        self.0.query_row(sql, params_from_iter(values), |row| row.get(0)).ok()
    }

    /// The text that a question gives.
    pub fn text(&self, sql: &str, values: &[&str]) -> String {
        self.0.query_row(sql, params_from_iter(values), |row| row.get(0)).expect(sql)
    }

    /// The rows that a question gives, as the names of columns with their values.
    pub fn rows(&self, sql: &str) -> Vec<Vec<(String, String)>> {
        let mut statement = self.0.prepare(sql).expect(sql);
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query_map([], |row| {
            let value = |(at, name): (usize, &String)| {
                let value = match row.get_ref(at)? {
                    ValueRef::Null => "-".to_owned(),
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    ValueRef::Blob(blob) => format!("{:016x}", xxh3_64(blob)),
                };
                Ok((name.clone(), value))
            };
            names.iter().enumerate().map(value).collect()
        });
        rows.and_then(Iterator::collect).expect(sql)
    }
}
