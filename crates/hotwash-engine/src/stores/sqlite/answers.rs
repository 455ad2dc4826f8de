//! What model judges answered and what it came to: paid for, so never lost and never asked for twice.

use super::error::json_error;
use super::put::origin;
use super::{Result, Store};
use crate::judges::Stop;
use crate::stores::{Answered, Judgement, Row, Ruled};
use hotwash_core::prices::Picodollars;
use hotwash_core::redaction::restore;
use hotwash_core::scores::Provenance;
use hotwash_core::sessions::{SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

impl Store {
    /// From here on a commit survives a power cut too: what is kept was paid for.
    pub fn keep_safe(&self) -> Result<()> {
        self.read(|connection| connection.pragma_update(None, "synchronous", "FULL"))
    }

    /// The answer to a question, if it was asked before.
    pub fn answer(&self, id: &str) -> Result<Option<Answered>> {
        self.read(|connection| {
            let sql =
                "SELECT id, session, name, task, judge, model, answered_by, prompt_hash, at_ms, reply, stop, usage,
                       picodollars, requests FROM answers WHERE id = ?1";
            connection.prepare_cached(sql)?.query_row([id], |row| self.answered(row)).optional()
        })
    }

    /// Everything that was answered about a session, in order of time.
    pub fn answers(&self, session: &SessionId) -> Result<Vec<Answered>> {
        self.read(|connection| {
            let sql =
                "SELECT id, session, name, task, judge, model, answered_by, prompt_hash, at_ms, reply, stop, usage,
                       picodollars, requests FROM answers WHERE session = ?1 ORDER BY at_ms, name";
            connection.prepare_cached(sql)?.query_map([&session.0], |row| self.answered(row))?.collect()
        })
    }

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

    /// Keeps answers, all or none of them.
    pub fn put_answers(&mut self, answers: &[Answered]) -> Result<()> {
        self.write(|transaction| {
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

    /// Keeps what answers came to, all or none of it.
    pub fn put_judgements(&mut self, judgements: &[Judgement]) -> Result<()> {
        self.write(|transaction| {
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

    /// The latest judgement by a model of each session under a rubric, without its grade where nobody asks for that: it
    /// is most of it. Empty for most people, and then it costs nothing.
    pub(super) fn judgements(
        &self,
        connection: &Connection,
        rubric_hash: &str,
        grades: bool,
    ) -> rusqlite::Result<HashMap<String, Judgement>> {
        let mut statement = connection.prepare_cached(
            "SELECT j.session, j.from_ms, j.to_ms, CASE WHEN ?2 THEN j.grade END, j.outcome, j.detail FROM judgements j
             JOIN origins o ON o.id = j.origin WHERE o.rubric_hash = ?1 ORDER BY j.at_ms, j.origin",
        )?;
        let mut rows = statement.query(params![rubric_hash, grades])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|at| at.map(Timestamp));
            let judgement = Judgement {
                session: SessionId(id.clone()),
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
            let Some(judgement) = judgements.remove(&row.session.id.0) else { continue };
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

    /// Batches that were handed over and not yet fetched: id, when, and what is known of its questions.
    pub fn batches(&self) -> Result<Vec<(String, Timestamp, String)>> {
        self.read(|connection| {
            let sql = "SELECT id, at_ms, questions FROM batches ORDER BY at_ms, id";
            let batch = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Timestamp(row.get(1)?), row.get(2)?));
            connection.prepare_cached(sql)?.query_map([], batch)?.collect()
        })
    }

    /// Notes a batch.
    pub fn put_batch(&mut self, id: &str, at: Timestamp, questions: &str) -> Result<()> {
        self.write(|transaction| {
            let sql = "INSERT OR REPLACE INTO batches (id, at_ms, questions) VALUES (?1, ?2, ?3)";
            transaction.prepare_cached(sql)?.execute(params![id, at.0, questions]).map(drop)
        })
    }

    /// A batch was fetched.
    pub fn drop_batch(&mut self, id: &str) -> Result<()> {
        self.write(|transaction| {
            transaction.prepare_cached("DELETE FROM batches WHERE id = ?1")?.execute([id]).map(drop)
        })
    }

    /// Sessions of which this very judge has said all there is to say, as they were then.
    pub fn judged_by(&self, provenance: &Provenance) -> Result<HashMap<String, Judgement>> {
        self.read(|connection| {
            let mut found = self.judgements(connection, &provenance.rubric_hash, true)?;
            found.retain(|_, judgement| judgement.judging.provenance == *provenance);
            Ok(found)
        })
    }
}
