//! Sessions: lists, windows, single ones, and what the offline judge says of them.

use super::error::json_error;
use super::put::{OUTCOMES, Owner, Writer, execute, given, json};
use super::rows::{Extent, Spawning, add_subagents, joined, not_judged, origin_of, outcome_origin, parts, ruling};
use super::{Result, Sqlite};
use crate::stores::{Graded, Judged, Lookup, Query, Row, StoredPart};
use hotwash_core::facts::Facts;
use hotwash_core::outcomes::Outcome;
use hotwash_core::ports::store::Sessions;
use hotwash_core::redaction::restore;
use hotwash_core::rework::{Fingerprint, Placed, Rework};
use hotwash_core::scores::{Grade, Provenance, offline};
use hotwash_core::sessions::{SessionId, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

impl Sessions for Sqlite {
    fn sessions(&self, query: &Query) -> Result<Vec<Row>> {
        let origin = self.offline(&query.rubric_hash)?;
        let elsewhere = match query.paths {
            Some(_) => self.joined()?,
            None => HashMap::new(),
        };
        self.read(|connection| {
            // Said so that the index by time can be used.
            let extent = if query.without_facts { Extent::Listed } else { Extent::Whole };
            let kind = if query.subagents { "?5" } else { "s.kind = 'main' AND NOT ?5" };
            let since = if query.since.is_some() { "s.to_ms >= ?3" } else { "?3 IS NULL" };
            let sql = format!(
                "{} WHERE {kind} AND {since} AND (?4 IS NULL OR s.from_ms < ?4) ORDER BY s.to_ms DESC, s.id",
                extent.select()
            );
            let mut statement = connection.prepare(&sql)?;
            let since = query.since.map(|at| at.0);
            let until = query.until.map(|at| at.0);
            let (grades, outcomes) = (origin.as_ref().map(|(id, _)| id), outcome_origin(connection)?.map(|(id, _)| id));
            let mut rows = statement.query(params![grades, outcomes, since, until, query.subagents])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                if let Some(paths) = &query.paths {
                    let named = |path: &str| paths.binary_search_by(|named| named.as_str().cmp(path)).is_ok();
                    let parts = elsewhere.get(row.get_ref(0)?.as_str()?);
                    if !named(row.get_ref(1)?.as_str()?)
                        && !parts.is_some_and(|parts| parts.iter().any(|part| named(&part.path)))
                    {
                        continue;
                    }
                }
                if let Some(project) = &query.project
                    && !restore(row.get_ref(6)?.as_str()?, &self.rules).as_str().contains(project.as_str())
                {
                    continue;
                }
                found.push(self.row(row, origin.as_ref().map(|(_, provenance)| provenance), extent)?);
            }
            if extent == Extent::Whole {
                add_subagents(connection, &mut found)?;
            }
            self.add_judgements(connection, &query.rubric_hash, &mut found)?;
            Ok(found)
        })
    }

    fn newest(&self, query: &Query) -> Result<Option<Timestamp>> {
        if query.project.is_some() || query.paths.is_some() {
            let query = Query { since: None, subagents: false, without_facts: true, ..query.clone() };
            return Ok(self.sessions(&query)?.first().and_then(|row| row.session.to));
        }
        self.read(|connection| {
            // The first in the order of the index by time: one look, however many there are.
            let until = if query.until.is_some() { "from_ms < ?1" } else { "?1 IS NULL" };
            let sql = format!(
                "SELECT to_ms FROM sessions WHERE kind = 'main' AND to_ms IS NOT NULL AND {until}
                 ORDER BY to_ms DESC LIMIT 1"
            );
            let newest = connection.query_row(&sql, [query.until.map(|at| at.0)], |row| row.get(0)).optional()?;
            Ok(newest.map(Timestamp))
        })
    }

    fn lookup(&self, prefix: &str, rubric_hash: &str) -> Result<Lookup> {
        if self.has_session(prefix)? {
            return Ok(Lookup::One(Box::new(self.by_id(prefix, rubric_hash)?)));
        }
        let mut ids: Vec<String> = self.read(|connection| {
            if prefix == "last" {
                let sql = "SELECT id FROM sessions WHERE kind = 'main' ORDER BY to_ms DESC, id LIMIT 1";
                return connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect();
            }
            // The agent's own ids are accepted too: that is what people find in file names.
            let sql = "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1
                       UNION SELECT id FROM sessions WHERE kind = 'main' AND length(?1) >= 4
                           AND substr(recorded, 1, length(?1)) = ?1
                       UNION SELECT id FROM sessions WHERE length(?1) >= 4 AND agent = ?1 LIMIT 9";
            let prefix = prefix.to_ascii_lowercase();
            connection.prepare(sql)?.query_map([prefix], |row| row.get(0))?.collect()
        })?;
        if ids.is_empty() {
            let prefix = prefix.to_ascii_lowercase();
            let is_meant = |part: &StoredPart| {
                part.id.0.starts_with(&prefix) || prefix.len() >= 4 && part.recorded.starts_with(&prefix)
            };
            ids.extend(self.joined()?.into_iter().filter(|(_, parts)| parts.iter().any(is_meant)).map(|(id, _)| id));
            ids.sort();
        }
        match &ids[..] {
            [] => Ok(Lookup::None),
            [id] => Ok(Lookup::One(Box::new(self.by_id(id, rubric_hash)?))),
            _ => Ok(Lookup::Many(ids.into_iter().map(SessionId).collect())),
        }
    }

    fn subagents(&self, row: &Row, rubric_hash: &str) -> Result<Vec<Row>> {
        let origin = self.offline(rubric_hash)?;
        self.read(|connection| {
            let mut found = Vec::new();
            for transcript in Spawning::of(connection, row)? {
                let sql = format!(
                    "{} WHERE s.kind = 'subagent' AND s.recorded = ?2 ORDER BY s.from_ms, s.id",
                    Extent::Facts.select()
                );
                let mut statement = connection.prepare(&sql)?;
                let mut rows = statement.query(params![origin.as_ref().map(|(id, _)| id), transcript.recorded])?;
                while let Some(child) = rows.next()? {
                    let child = self.row(child, origin.as_ref().map(|(_, provenance)| provenance), Extent::Facts)?;
                    if transcript.spawned(child.session.from) {
                        found.push(child);
                    }
                }
            }
            Ok(found)
        })
    }

    fn judged(&self, query: &Query) -> Result<Vec<Judged>> {
        let named = match &query.paths {
            Some(_) => {
                let rows = self.sessions(&Query { without_facts: true, subagents: false, ..query.clone() })?;
                Some(rows.into_iter().map(|row| row.session.id).collect::<HashSet<_>>())
            }
            None => None,
        };
        self.read(|connection| {
            let origin = outcome_origin(connection)?;
            let by_models = self.judgements(connection, &query.rubric_hash, false)?;
            let since = if query.since.is_some() { "s.to_ms >= ?2" } else { "?2 IS NULL" };
            let sql = format!(
                "SELECT s.id, s.project, s.model, s.to_ms, s.from_ms, s.path, coalesce(r.reworked, 0),
                    s.outcome_origin IS NOT ?1,
                    s.substance, s.intent, s.status, s.goal, s.evidence, s.lack,
                    o.substance, o.intent, o.status, o.goal, o.evidence, o.lack
                 FROM sessions s LEFT JOIN outcomes o ON o.origin = ?1 AND o.session = s.id
                 LEFT JOIN rework r ON r.session = s.id
                 WHERE s.kind = 'main' AND {since} AND (?3 IS NULL OR s.from_ms < ?3)
                    AND (s.outcome_origin = ?1 OR o.origin = ?1)
                 ORDER BY s.to_ms DESC, s.id"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let (since, until) = (query.since.map(|at| at.0), query.until.map(|at| at.0));
            let mut rows = statement.query(params![origin.map(|(id, _)| id), since, until])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let id = SessionId(row.get(0)?);
                if named.as_ref().is_some_and(|named| !named.contains(&id)) {
                    continue;
                }
                let project = restore(row.get_ref(1)?.as_str()?, &self.rules);
                if query.project.as_ref().is_some_and(|wanted| !project.as_str().contains(wanted.as_str())) {
                    continue;
                }
                let from = row.get::<_, Option<i64>>(4)?.map(Timestamp);
                let to = row.get::<_, Option<i64>>(3)?.map(Timestamp);
                let by_model = by_models.get(&id).filter(|judgement| judgement.is_of(from, to));
                let by_model = by_model.and_then(|judgement| judgement.outcome.as_ref());
                let ruling = match by_model {
                    Some(outcome) => outcome.ruling(),
                    None => ruling(row, if row.get(7)? { 14 } else { 8 })?,
                };
                found.push(Judged {
                    id,
                    project,
                    path: row.get(5)?,
                    model: row.get(2)?,
                    from,
                    to,
                    ruling,
                    reworked: row.get(6)?,
                    by_model: by_model.is_some(),
                });
            }
            Ok(found)
        })
    }

    fn parts(&self, row: &Row) -> Result<Vec<StoredPart>> {
        self.read(|connection| parts(connection, &row.session.id, &row.path, row.version, &row.session.recorded))
    }

    fn made_of(&self) -> Result<HashMap<SessionId, Vec<StoredPart>>> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT s.id, j.parts FROM sessions s LEFT JOIN joined j ON j.session = s.id")?;
            let rows = statement.query_map([], |row| {
                let parts = row.get_ref(1)?.as_str_or_null()?.map(serde_json::from_str).transpose();
                Ok((SessionId(row.get(0)?), parts.map_err(|error| json_error(&error))?.unwrap_or_default()))
            })?;
            rows.collect()
        })
    }

    fn put_sessions(&mut self, sessions: &[Graded]) -> Result<()> {
        if sessions.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut known: HashMap<(&str, u32), Vec<SessionId>> = HashMap::new();
            let mut writer = Writer::new(transaction);
            for graded in sessions {
                let mut is_whole = true;
                for part in &graded.parts {
                    let ids = match known.entry((&part.path, part.version)) {
                        Slot::Occupied(known) => known.into_mut(),
                        Slot::Vacant(new) => new.insert(given(transaction, &part.path, part.version)?),
                    };
                    is_whole &= ids.contains(&part.id);
                }
                if let Some(first) = graded.parts.first().filter(|_| is_whole) {
                    writer.put_session(graded, (&first.path, first.version), Owner::Known)?;
                }
            }
            Ok(())
        })
    }

    fn ungraded(&self, rubric_hash: &str) -> Result<Vec<(SessionId, Facts)>> {
        self.read(|connection| {
            let origin = origin_of(connection, rubric_hash, offline::JUDGE, offline::VERSION)?;
            let mut found = not_judged(connection, "grades", "grade_origin", origin)?;
            found.extend(not_judged(connection, "outcomes", "outcome_origin", outcome_origin(connection)?)?);
            Ok(found.into_iter().collect())
        })
    }

    fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()> {
        self.write(|transaction| {
            let mut writer = Writer::new(transaction);
            grades.iter().try_for_each(|(id, grade)| writer.put_grade(id, grade))
        })
    }

    fn put_outcomes(&mut self, outcomes: &[(SessionId, Outcome)]) -> Result<()> {
        self.write(|transaction| {
            let mut writer = Writer::new(transaction);
            outcomes.iter().try_for_each(|(id, outcome)| writer.put_outcome(id, outcome))
        })
    }

    fn complete(&mut self, rubric_hash: &str) -> Result<()> {
        let is_known = self.read(|connection| {
            let sql = "SELECT NOT EXISTS (SELECT 1 FROM origins WHERE rubric_hash IN (?1, ?2) AND complete = 0)";
            connection.query_row(sql, [rubric_hash, &OUTCOMES.rubric_hash], |row| row.get::<_, bool>(0))
        })?;
        if is_known {
            return Ok(());
        }
        self.write(|transaction| {
            let sql = "UPDATE origins SET complete = 1 WHERE rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3";
            let Provenance { rubric_hash: outcomes, judge, judge_version, .. } = &*OUTCOMES;
            execute(transaction, sql, [rubric_hash, offline::JUDGE, offline::VERSION])?;
            execute(transaction, sql, [outcomes, judge, judge_version]).map(drop)
        })
    }

    fn changes(&self) -> Result<BTreeMap<String, Vec<Placed>>> {
        self.read(read_changes)
    }

    fn print(&self, id: &SessionId) -> Result<Fingerprint> {
        self.read(|connection| {
            let sql = "SELECT print FROM fingerprints WHERE number = (SELECT number FROM sessions WHERE id = ?1)";
            let print = |row: &rusqlite::Row<'_>| {
                Fingerprint::from_bytes(row.get_ref(0)?.as_blob()?)
                    .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.to_string().into()))
            };
            Ok(connection.prepare_cached(sql)?.query_row([&id.0], print).optional()?.unwrap_or_default())
        })
    }

    fn put_rework(
        &mut self,
        changes: &BTreeMap<String, Vec<Placed>>,
        reworked: &[(SessionId, Rework)],
    ) -> Result<bool> {
        self.write(|transaction| {
            if read_changes(transaction)? != *changes {
                return Ok(false);
            }
            execute(transaction, "DELETE FROM rework", [])?;
            for (SessionId(id), rework) in reworked {
                let sql = "INSERT INTO rework (session, reworked, detail) VALUES (?1, ?2, ?3)";
                execute(transaction, sql, params![id, rework.reworked, json(rework)])?;
            }
            Ok(true)
        })
    }
}

impl Sqlite {
    /// Whether there is a session with this id.
    fn has_session(&self, id: &str) -> Result<bool> {
        self.read(|connection| connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id]))
    }

    fn by_id(&self, id: &str, rubric_hash: &str) -> Result<Row> {
        let origin = self.offline(rubric_hash)?;
        self.read(|connection| {
            let sql = format!("{} WHERE s.id = ?3", Extent::Whole.select());
            let (grades, outcomes) = (origin.as_ref().map(|(id, _)| id), outcome_origin(connection)?.map(|(id, _)| id));
            let provenance = origin.as_ref().map(|(_, provenance)| provenance);
            let mut row = connection.query_row(&sql, params![grades, outcomes, id], |row| {
                self.row(row, provenance, Extent::Whole).map(|row| [row])
            })?;
            add_subagents(connection, &mut row)?;
            self.add_judgements(connection, rubric_hash, &mut row)?;
            let [row] = row;
            Ok(row)
        })
    }

    /// Sessions that are made of several pieces, with those.
    fn joined(&self) -> Result<HashMap<String, Vec<StoredPart>>> {
        self.read(joined)
    }

    /// Where the offline judge's grades under a rubric come from, and the number it is kept under.
    fn offline(&self, rubric_hash: &str) -> Result<Option<(i64, Arc<Provenance>)>> {
        self.read(|connection| {
            let sql = "SELECT id, rubric, rubric_hash, judge, judge_version, model, prompt_hash FROM origins
                       WHERE rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3";
            let some = |text: String| Some(text).filter(|text| !text.is_empty());
            connection
                .prepare_cached(sql)?
                .query_row([rubric_hash, offline::JUDGE, offline::VERSION], |row| {
                    let provenance = Provenance {
                        judge: row.get(3)?,
                        judge_version: row.get(4)?,
                        model: some(row.get(5)?),
                        rubric: row.get(1)?,
                        rubric_hash: row.get(2)?,
                        prompt_hash: some(row.get(6)?),
                    };
                    Ok((row.get(0)?, Arc::new(provenance)))
                })
                .optional()
        })
    }
}

fn read_changes(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<Placed>>> {
    let sql = "SELECT repository, session, from_ms, to_ms FROM fingerprints ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query([])?, BTreeMap::<String, Vec<Placed>>::new());
    while let Some(row) = rows.next()? {
        let (from, to) = (Timestamp(row.get(2)?), Timestamp(row.get(3)?));
        found.entry(row.get(0)?).or_default().push(Placed { session: SessionId(row.get(1)?), from, to });
    }
    Ok(found)
}
