//! What models said: answers and what they came to, and topics of prompts.

use super::error::json_error;
use super::put::origin;
use super::transcripts::{keys, mark};
use super::{Result, Sqlite};
use crate::stores::{Answered, Judgement, Row, Ruled, Stop, Topic};
use hotwash_core::ports::store::{Said, Todo};
use hotwash_core::prices::Picodollars;
use hotwash_core::redaction::restore;
use hotwash_core::scores::Provenance;
use hotwash_core::sessions::topic::Known;
use hotwash_core::sessions::{Key, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Said for Sqlite {
    fn answer(&self, id: &str) -> Result<Option<Answered>> {
        self.read(|connection| {
            let sql =
                "SELECT id, session, name, task, judge, model, answered_by, prompt_hash, at_ms, reply, stop, usage,
                       picodollars, requests FROM answers WHERE id = ?1";
            connection.prepare_cached(sql)?.query_row([id], |row| self.answered(row)).optional()
        })
    }

    fn answers(&self, session: &SessionId) -> Result<Vec<Answered>> {
        self.read(|connection| {
            let sql =
                "SELECT id, session, name, task, judge, model, answered_by, prompt_hash, at_ms, reply, stop, usage,
                       picodollars, requests FROM answers WHERE session = ?1 ORDER BY at_ms, name";
            connection.prepare_cached(sql)?.query_map([&session.0], |row| self.answered(row))?.collect()
        })
    }

    fn put_answers(&mut self, answers: &[Answered]) -> Result<()> {
        self.write_safely(|transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT OR REPLACE INTO answers (id, session, name, task, judge, model, answered_by, prompt_hash, at_ms,
                 reply, stop, usage, picodollars, requests)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?;
            for answer in answers {
                let usage = answer.usage.as_ref().map(serde_json::to_string).transpose();
                statement.execute(params![
                    answer.id,
                    answer.session.0,
                    answer.name,
                    answer.task,
                    answer.judge,
                    answer.model,
                    answer.answered_by,
                    answer.prompt_hash,
                    answer.at.0,
                    answer.reply.as_str(),
                    answer.stop.name(),
                    usage.map_err(|error| json_error(&error))?,
                    answer.cost.map(|cost| cost.0 as i64),
                    answer.requests,
                ])?;
            }
            Ok(())
        })
    }

    fn judged_by(&self, provenance: &Provenance) -> Result<HashMap<SessionId, Judgement>> {
        self.read(|connection| {
            let mut found = self.judgements(connection, &provenance.rubric_hash, true)?;
            found.retain(|_, judgement| judgement.judging.provenance == *provenance);
            Ok(found)
        })
    }

    fn put_judgements(&mut self, judgements: &[Judgement]) -> Result<()> {
        self.write_safely(|transaction| {
            for Judgement { session, from, to, judging, grade, outcome } in judgements {
                let origin = origin(transaction, &judging.provenance)?;
                let grade = grade.as_ref().map(serde_json::to_string).transpose();
                let outcome = outcome.as_ref().map(serde_json::to_string).transpose();
                transaction
                    .prepare_cached(
                        // What was judged in one run stays where another judges the rest of the same.
                        "INSERT INTO judgements (origin, session, at_ms, from_ms, to_ms, grade, outcome, detail)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                         ON CONFLICT (session, origin) DO UPDATE SET
                             grade = CASE WHEN from_ms IS ?4 AND to_ms IS ?5 THEN coalesce(?6, grade) ELSE ?6 END,
                             outcome = CASE WHEN from_ms IS ?4 AND to_ms IS ?5 THEN coalesce(?7, outcome) ELSE ?7 END,
                             detail = CASE WHEN from_ms IS ?4 AND to_ms IS ?5 AND ?7 IS NULL AND outcome IS NOT NULL
                                 THEN detail ELSE ?8 END,
                             at_ms = ?3, from_ms = ?4, to_ms = ?5",
                    )?
                    .execute(params![
                        origin,
                        session.0,
                        judging.at.0,
                        from.map(|at| at.0),
                        to.map(|at| at.0),
                        grade.map_err(|error| json_error(&error))?,
                        outcome.map_err(|error| json_error(&error))?,
                        serde_json::to_string(judging).map_err(|error| json_error(&error))?,
                    ])?;
            }
            Ok(())
        })
    }

    fn topics(&self) -> Result<BTreeMap<Key, Topic>> {
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

    fn topics_asked(&self, judge: &str, model: &str, prompt_hash: &str) -> Result<BTreeSet<Key>> {
        self.read(|connection| {
            let sql = "SELECT prompt FROM topics_asked WHERE judge = ?1 AND model = ?2 AND prompt_hash = ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let prompt = |row: &rusqlite::Row<'_>| Ok(Key(row.get::<_, i64>(0)? as u64));
            statement.query_map([judge, model, prompt_hash], prompt)?.collect()
        })
    }

    fn put_topics(&mut self, topics: &[Topic]) -> Result<()> {
        self.write_safely(|transaction| {
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
            if changed.is_empty() {
                return Ok(());
            }
            mark(transaction, Todo::Cut, holding(transaction, &changed)?.iter().map(String::as_str))
        })
    }

    fn batches(&self) -> Result<Vec<(String, Timestamp, String)>> {
        self.read(|connection| {
            let sql = "SELECT id, at_ms, questions FROM batches ORDER BY at_ms, id";
            let batch = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Timestamp(row.get(1)?), row.get(2)?));
            connection.prepare_cached(sql)?.query_map([], batch)?.collect()
        })
    }

    fn put_batch(&mut self, id: &str, at: Timestamp, questions: &str) -> Result<()> {
        self.write_safely(|transaction| {
            let sql = "INSERT OR REPLACE INTO batches (id, at_ms, questions) VALUES (?1, ?2, ?3)";
            transaction.prepare_cached(sql)?.execute(params![id, at.0, questions]).map(drop)
        })
    }

    fn drop_batch(&mut self, id: &str) -> Result<()> {
        self.write(|transaction| {
            transaction.prepare_cached("DELETE FROM batches WHERE id = ?1")?.execute([id]).map(drop)
        })
    }
}

impl Sqlite {
    fn answered(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Answered> {
        let usage = row.get::<_, Option<String>>(11)?.map(|json| serde_json::from_str(&json)).transpose();
        Ok(Answered {
            id: row.get(0)?,
            session: SessionId(row.get(1)?),
            name: row.get(2)?,
            task: row.get(3)?,
            judge: row.get(4)?,
            model: row.get(5)?,
            answered_by: row.get(6)?,
            prompt_hash: row.get(7)?,
            at: Timestamp(row.get(8)?),
            reply: restore(row.get_ref(9)?.as_str()?, &self.rules),
            stop: Stop::from_name(row.get_ref(10)?.as_str()?),
            usage: usage.map_err(|error| json_error(&error))?,
            cost: row.get::<_, Option<i64>>(12)?.map(|cost| Picodollars(cost as u64)),
            requests: row.get(13)?,
        })
    }

    /// The latest judgement by a model of each session under a rubric, without its grade where nobody asks for that: it
    /// is most of it. Empty for most people, and then it costs nothing.
    pub(super) fn judgements(
        &self,
        connection: &Connection,
        rubric_hash: &str,
        grades: bool,
    ) -> rusqlite::Result<HashMap<SessionId, Judgement>> {
        let mut statement = connection.prepare_cached(
            "SELECT j.session, j.from_ms, j.to_ms, CASE WHEN ?2 THEN j.grade END, j.outcome, j.detail FROM judgements j
             JOIN origins o ON o.id = j.origin WHERE o.rubric_hash = ?1 ORDER BY j.at_ms, j.origin",
        )?;
        let mut rows = statement.query(params![rubric_hash, grades])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            let id = SessionId(row.get(0)?);
            let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|at| at.map(Timestamp));
            let judgement = Judgement {
                session: id.clone(),
                from: moment(1)?,
                to: moment(2)?,
                grade: self.redacted_json(row, 3)?,
                outcome: self.redacted_json(row, 4)?,
                judging: match self.redacted_json(row, 5)? {
                    Some(judging) => judging,
                    None => continue,
                },
            };
            match found.entry(id) {
                Entry::Occupied(mut earlier) => {
                    let before: &Judgement = earlier.get();
                    // What breaks off takes nothing from what was whole.
                    if judgement.judging.complete
                        || !before.judging.complete
                        || !before.is_of(judgement.from, judgement.to)
                    {
                        earlier.insert(judgement);
                    }
                }
                Entry::Vacant(place) => drop(place.insert(judgement)),
            }
        }
        Ok(found)
    }

    /// What stands in a column as JSON. A store is no witness: its words are redacted again.
    fn redacted_json<T: serde::de::DeserializeOwned>(
        &self,
        row: &rusqlite::Row<'_>,
        column: usize,
    ) -> rusqlite::Result<Option<T>> {
        let Some(json) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
        serde_json::from_str(restore(json, &self.rules).as_str()).map(Some).map_err(|error| json_error(&error))
    }

    /// Puts what models say in the place of what the offline judge says, for sessions that are still as they were judged.
    pub(super) fn add_judgements(
        &self,
        connection: &Connection,
        rubric_hash: &str,
        rows: &mut [Row],
    ) -> rusqlite::Result<()> {
        let mut judgements = self.judgements(connection, rubric_hash, true)?;
        if judgements.is_empty() {
            return Ok(());
        }
        for row in rows {
            let Some(judgement) = judgements.remove(&row.session.id) else { continue };
            if !judgement.is_of(row.session.from, row.session.to) {
                continue;
            }
            let Judgement { judging, grade, outcome, .. } = judgement;
            if let Some((ruled, outcome)) = row.ruled.as_mut().zip(outcome.as_ref()) {
                *ruled = Ruled { ruling: outcome.ruling(), by_model: true, ..*ruled };
            }
            row.grade = grade.or(row.grade.take());
            row.outcome = outcome.or(row.outcome.take());
            row.judged = Some(judging);
        }
        Ok(())
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
