//! What models said of prompts: whether another goal begins with them. It holds for every transcript that has the prompt,
//! whenever it is read.

use super::files::keys;
use super::{Result, Store};
use crate::stores::Topic;
use hotwash_core::redaction::restore;
use hotwash_core::sessions::topic::{Decisions, Known};
use hotwash_core::sessions::{Key, Timestamp};
use rusqlite::{OptionalExtension, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

impl Store {
    /// What was said of prompts, by their keys.
    pub fn topics(&self) -> Result<BTreeMap<Key, Topic>> {
        self.read(|connection| {
            let sql = "SELECT prompt, decision, sure, reason, judge, model, prompt_hash, at_ms FROM topics";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut found = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let sure: Option<u16> = row.get(2)?;
                let topic = Topic {
                    prompt: Key(row.get::<_, i64>(0)? as u64),
                    known: known(row.get_ref(1)?.as_str()?, sure),
                    sure,
                    reason: restore(row.get_ref(3)?.as_str()?, &self.rules),
                    judge: row.get(4)?,
                    model: row.get(5)?,
                    prompt_hash: row.get(6)?,
                    at: Timestamp(row.get(7)?),
                };
                found.insert(topic.prompt, topic);
            }
            Ok(found)
        })
    }

    /// The prompts that a judge has answered about, whoever's word counts now.
    pub fn topics_asked(&self, judge: &str, model: &str, prompt_hash: &str) -> Result<BTreeSet<Key>> {
        self.read(|connection| {
            let sql = "SELECT prompt FROM topics_asked WHERE judge = ?1 AND model = ?2 AND prompt_hash = ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let prompt = |row: &rusqlite::Row<'_>| Ok(Key(row.get::<_, i64>(0)? as u64));
            statement.query_map([judge, model, prompt_hash], prompt)?.collect()
        })
    }

    /// The same as a judge that repeats it.
    pub fn decisions(&self) -> Result<Decisions> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT prompt, decision, sure FROM topics")?;
            let decision = |row: &rusqlite::Row<'_>| {
                Ok((Key(row.get::<_, i64>(0)? as u64), known(row.get_ref(1)?.as_str()?, row.get(2)?)))
            };
            statement.query_map([], decision)?.collect()
        })
    }

    /// Keeps what was said, all or none of it. What was said last counts, whenever it is put. Transcripts that may have to
    /// be cut elsewhere by it are marked.
    pub fn put_topics(&mut self, topics: &[Topic]) -> Result<()> {
        self.write(|transaction| {
            let mut changed = BTreeSet::new();
            for topic in topics {
                transaction
                    .prepare_cached(
                        "INSERT OR IGNORE INTO topics_asked (prompt, judge, model, prompt_hash)
                         VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![topic.prompt.0 as i64, topic.judge, topic.model, topic.prompt_hash])?;
                let before = transaction
                    .prepare_cached("SELECT decision, sure, at_ms FROM topics WHERE prompt = ?1")?
                    .query_row([topic.prompt.0 as i64], |row| {
                        Ok((known(row.get_ref(0)?.as_str()?, row.get(1)?), row.get::<_, i64>(2)?))
                    })
                    .optional()?;
                let (before, at_ms) = before.unwrap_or((Known::Nothing, i64::MIN));
                // Who is not sure takes nothing from who was, nor who was asked before.
                let is_sure = topic.known != Known::Nothing;
                if before != Known::Nothing && (!is_sure || topic.at.0 < at_ms) {
                    continue;
                }
                if before != topic.known {
                    changed.insert(topic.prompt);
                }
                transaction
                    .prepare_cached(
                        "INSERT OR REPLACE INTO topics (prompt, decision, sure, reason, judge, model, prompt_hash, at_ms)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    )?
                    .execute(params![
                        topic.prompt.0 as i64,
                        name(topic.known),
                        topic.sure,
                        topic.reason.as_str(),
                        topic.judge,
                        topic.model,
                        topic.prompt_hash,
                        topic.at.0,
                    ])?;
            }
            if changed.is_empty() { Ok(()) } else { mark(transaction, &holding(transaction, &changed)?) }
        })
    }

    /// Marks transcripts that were read while something else was known of their prompts.
    pub fn mark_uncut(&mut self, paths: &[String]) -> Result<()> {
        self.write(|transaction| mark(transaction, paths))
    }

    /// Transcripts that may have to be cut elsewhere, each with a mark.
    pub fn uncut(&self) -> Result<BTreeMap<String, i64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT path, mark FROM uncut")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// A transcript is cut as it should be, unless it was marked again since.
    pub fn cut(&mut self, path: &str, mark: i64) -> Result<()> {
        self.write(|transaction| {
            let sql = "DELETE FROM uncut WHERE path = ?1 AND mark = ?2";
            transaction.prepare_cached(sql)?.execute(params![path, mark]).map(drop)
        })
    }
}

/// Forgets what was said of the prompts of a transcript.
pub(super) fn forget(transaction: &Transaction<'_>, path: &str, version: u32) -> rusqlite::Result<()> {
    let held = transaction
        .prepare_cached("SELECT keys FROM holdings WHERE path = ?1 AND version = ?2")?
        .query_row(params![path, version], |row| Ok(keys(row.get_ref(0)?.as_blob()?)))
        .optional()?;
    for table in ["topics", "topics_asked"] {
        let mut forget = transaction.prepare_cached(&format!("DELETE FROM {table} WHERE prompt = ?1"))?;
        for key in held.iter().flatten() {
            forget.execute([key.0 as i64])?;
        }
    }
    transaction.prepare_cached("DELETE FROM uncut WHERE path = ?1")?.execute([path]).map(drop)
}

fn mark(transaction: &Transaction<'_>, paths: &[String]) -> rusqlite::Result<()> {
    let mut mark = transaction.prepare_cached("INSERT OR REPLACE INTO uncut (path, mark) VALUES (?1, random())")?;
    paths.iter().try_for_each(|path| mark.execute([path]).map(drop))
}

/// The transcripts of people that hold one of these prompts, copies too: by what they are is found what is copied.
fn holding(transaction: &Transaction<'_>, prompts: &BTreeSet<Key>) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT f.path, h.keys FROM files f JOIN holdings h USING (path, version)
               WHERE f.role IN ('main', 'copy')";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if keys(row.get_ref(1)?.as_blob()?).iter().any(|key| prompts.contains(key)) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

fn name(known: Known) -> &'static str {
    match known {
        Known::Nothing => "open",
        Known::Same => "same",
        Known::Other { .. } => "other",
    }
}

fn known(name: &str, sure: Option<u16>) -> Known {
    match name {
        "same" => Known::Same,
        "other" => Known::Other { sure: sure.unwrap_or_default() },
        _ => Known::Nothing,
    }
}
