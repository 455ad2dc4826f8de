//! Reading sessions back: lists, windows, single ones.

use super::error::json_error;
use super::files::held;
use super::put::OUTCOMES;
use super::{Result, Store};
use crate::stores::{Judged, Lookup, Query, Row, Ruled, StoredPart, Usage};
use hotwash_core::facts::{Cost, Facts, Tokens};
use hotwash_core::outcomes::{Outcome, Ruling};
use hotwash_core::redaction::{Redacted, redact_facts, restore};
use hotwash_core::rework::Rework;
use hotwash_core::scores::{Grade, Provenance, Reading, Score, offline};
use hotwash_core::sessions::{Session, SessionId, SessionKind, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::IntoDeserializer as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// How much is read of a row. What is not asked for is not looked at, either: it is most of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// No facts, and of the outcome what the score needs.
    Listed,
    /// All but the outcome.
    Facts,
    /// All.
    Whole,
}

impl Extent {
    /// The columns of a row, in the order in which [`Store::row`] reads them; `?1` is the grades' origin, `?2` the
    /// outcomes'.
    fn select(self) -> String {
        let outcomes =
            "LEFT JOIN outcomes o ON o.origin = ?2 AND o.session = s.id LEFT JOIN rework r ON r.session = s.id";
        let (columns, joins) = match self {
            Extent::Listed => (
                "NULL, NULL, NULL, NULL, NULL, coalesce(r.reworked, 0),
                 iif(s.outcome_origin = ?2, s.substance, o.substance), iif(s.outcome_origin = ?2, s.intent, o.intent),
                 iif(s.outcome_origin = ?2, s.status, o.status), iif(s.outcome_origin = ?2, s.goal, o.goal),
                 iif(s.outcome_origin = ?2, s.evidence, o.evidence), iif(s.outcome_origin = ?2, s.lack, o.lack)",
                outcomes,
            ),
            Extent::Facts => ("s.summary, s.facts, s.progress, NULL, NULL", ""),
            Extent::Whole => {
                ("s.summary, s.facts, s.progress, iif(s.outcome_origin = ?2, s.outcome, o.detail), r.detail", outcomes)
            }
        };
        format!(
            "SELECT s.id, s.path, s.version, s.kind, s.recorded, s.agent, s.project, s.title, s.from_ms, s.to_ms, s.open,
                iif(s.grade_origin = ?1, s.overall, g.overall), iif(s.grade_origin = ?1, s.readings, g.readings),
                {columns}
             FROM sessions s LEFT JOIN grades g ON g.origin = ?1 AND g.session = s.id {joins}"
        )
    }
}

impl Store {
    /// Sessions, the latest first.
    pub fn sessions(&self, query: &Query) -> Result<Vec<Row>> {
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

    /// The end of the newest session, by which windows are anchored.
    pub fn newest(&self, query: &Query) -> Result<Option<Timestamp>> {
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

    /// The session whose id begins so; `last` is the latest one. A piece that was joined is found under its session.
    pub fn lookup(&self, prefix: &str, rubric_hash: &str) -> Result<Lookup> {
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

    /// Whether there is a session with this id.
    pub fn has_session(&self, id: &str) -> Result<bool> {
        self.read(|connection| connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id]))
    }

    /// The ids of all sessions.
    pub fn session_ids(&self) -> Result<HashSet<SessionId>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM sessions")?;
            statement.query_map([], |row| row.get(0).map(SessionId))?.collect()
        })
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

    /// Sessions of the subagents that a session spawned.
    pub fn subagents(&self, row: &Row, rubric_hash: &str) -> Result<Vec<Row>> {
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

    /// Sessions that have no grade under a rubric by this version of the offline judge.
    pub fn ungraded(&self, rubric_hash: &str, judge: &str, judge_version: &str) -> Result<Vec<(SessionId, Facts)>> {
        self.read(|connection| {
            let origin = origin_of(connection, rubric_hash, judge, judge_version)?;
            not_judged(connection, "grades", "grade_origin", origin)
        })
    }

    /// Sessions that have no outcome by this version of the offline judge.
    pub fn undecided_yet(&self) -> Result<Vec<(SessionId, Facts)>> {
        self.read(|connection| not_judged(connection, "outcomes", "outcome_origin", outcome_origin(connection)?))
    }

    /// People's sessions of a window as the PRISM score sees them, in the order of their ends.
    pub fn judged(&self, query: &Query) -> Result<Vec<Judged>> {
        let named = match &query.paths {
            Some(_) => {
                let rows = self.sessions(&Query { without_facts: true, subagents: false, ..query.clone() })?;
                Some(rows.into_iter().map(|row| row.session.id.0).collect::<HashSet<_>>())
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
                let id: String = row.get(0)?;
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
                    id: SessionId(id),
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

    /// The pieces of a session, in order of time. Empty where its transcript has been replaced since.
    pub fn parts(&self, row: &Row) -> Result<Vec<StoredPart>> {
        self.read(|connection| parts(connection, &row.session.id, &row.path, row.version, &row.session.recorded))
    }

    /// Sessions that are made of several pieces, with those.
    pub fn joined(&self) -> Result<HashMap<String, Vec<StoredPart>>> {
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

    fn row(
        &self,
        row: &rusqlite::Row<'_>,
        provenance: Option<&Arc<Provenance>>,
        extent: Extent,
    ) -> rusqlite::Result<Row> {
        fn json<T: serde::de::DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<T> {
            serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| json_error(&error))
        }
        let there = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str_or_null()?.is_some());
        let (facts, progress) = match extent {
            Extent::Listed => (Redacted::none(), BTreeMap::new()),
            Extent::Facts | Extent::Whole => (redact_facts(json::<Facts>(row, 14)?, &self.rules), json(row, 15)?),
        };
        let is_subagent = row.get_ref(3)?.as_str()? == SessionKind::Subagent.name();
        let session = Session {
            id: SessionId(row.get(0)?),
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Main },
            recorded: row.get(4)?,
            agent: row.get(5)?,
            project: restore(row.get_ref(6)?.as_str()?, &self.rules),
            title: restore(row.get_ref(7)?.as_str()?, &self.rules),
            summary: restore(row.get_ref(13)?.as_str_or_null()?.unwrap_or_default(), &self.rules),
            from: row.get::<_, Option<i64>>(8)?.map(Timestamp),
            to: row.get::<_, Option<i64>>(9)?.map(Timestamp),
            open: row.get(10)?,
            facts,
            progress,
        };
        let grade = match (row.get_ref(12)?.as_str_or_null()?, provenance) {
            (Some(readings), Some(provenance)) => {
                let readings: Vec<(String, Reading)> =
                    serde_json::from_str(readings).map_err(|error| json_error(&error))?;
                let score = |(dimension, reading)| Score { dimension, reading, provenance: Arc::clone(provenance) };
                let scores = readings.into_iter().map(score).collect();
                Some(Grade { scores, overall: json(row, 11)?, flags: Vec::new() })
            }
            _ => None,
        };
        let outcome: Option<Outcome> = if there(16)? { Some(json(row, 16)?) } else { None };
        let rework: Option<Rework> = if there(17)? { Some(json(row, 17)?) } else { None };
        let (ruling, reworked) = match extent {
            Extent::Listed if row.get_ref(19)? != ValueRef::Null => (Some(ruling(row, 19)?), row.get(18)?),
            _ => (outcome.as_ref().map(Outcome::ruling), rework.as_ref().is_some_and(|rework| rework.reworked)),
        };
        let own = &session.facts.get().tokens;
        let with_subagents = Usage { subagents: 0, tokens: own.tokens, cost: own.cost_usd.clone() };
        Ok(Row {
            session,
            path: row.get(1)?,
            version: row.get(2)?,
            grade,
            with_subagents,
            outcome,
            ruled: ruling.map(|ruling| Ruled { ruling, reworked, by_model: false }),
            rework,
            judged: None,
        })
    }
}

pub(super) fn joined(connection: &Connection) -> rusqlite::Result<HashMap<String, Vec<StoredPart>>> {
    let mut statement = connection.prepare_cached("SELECT session, parts FROM joined")?;
    let rows = statement.query_map([], |row| {
        let parts = serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(|error| json_error(&error))?;
        Ok((row.get(0)?, parts))
    })?;
    rows.collect()
}

/// The number under which an origin is kept, and whether every session has been judged so.
fn origin_of(
    connection: &Connection,
    rubric_hash: &str,
    judge: &str,
    judge_version: &str,
) -> rusqlite::Result<Option<(i64, bool)>> {
    let sql = "SELECT id, complete FROM origins WHERE rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3";
    connection
        .prepare_cached(sql)?
        .query_row([rubric_hash, judge, judge_version], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// The origin of the offline judge's outcomes.
fn outcome_origin(connection: &Connection) -> rusqlite::Result<Option<(i64, bool)>> {
    let Provenance { rubric_hash, judge, judge_version, .. } = &*OUTCOMES;
    origin_of(connection, rubric_hash, judge, judge_version)
}

/// The facts of the sessions of which neither their rows, by this column, nor a table has anything from an origin: all of
/// them where there is no such origin.
fn not_judged(
    connection: &Connection,
    table: &str,
    column: &str,
    origin: Option<(i64, bool)>,
) -> rusqlite::Result<Vec<(SessionId, Facts)>> {
    if let Some((_, true)) = origin {
        return Ok(Vec::new());
    }
    // What is in the table is compared by the indexes alone: the rows of other sessions only are looked at.
    let sql = format!(
        "SELECT id, facts FROM sessions
         WHERE id IN (SELECT id FROM sessions EXCEPT SELECT session FROM {table} WHERE origin = ?1)
            AND {column} IS NOT ifnull(?1, -1)"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([origin.map(|(id, _)| id)], |row| {
        let facts = serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(|error| json_error(&error))?;
        Ok((SessionId(row.get(0)?), facts))
    })?;
    rows.collect()
}

/// What the score needs of an outcome, from its columns, the first of which is this one.
fn ruling(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Ruling> {
    fn word<T: serde::de::DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<T> {
        let word = row.get_ref(column)?.as_str()?;
        T::deserialize(word.into_deserializer()).map_err(|error: serde::de::value::Error| {
            rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.to_string().into())
        })
    }
    let lack = if row.get_ref(first + 5)?.as_str_or_null()?.is_some() { Some(word(row, first + 5)?) } else { None };
    Ok(Ruling {
        substance: row.get(first)?,
        intent: word(row, first + 1)?,
        status: word(row, first + 2)?,
        goal: word(row, first + 3)?,
        evidence: word(row, first + 4)?,
        lack,
    })
}

/// The pieces of a session.
fn parts(
    connection: &Connection,
    id: &SessionId,
    path: &str,
    version: u32,
    recorded: &str,
) -> rusqlite::Result<Vec<StoredPart>> {
    let joined = connection
        .prepare_cached("SELECT parts FROM joined WHERE session = ?1")?
        .query_row([&id.0], |row| row.get::<_, String>(0))
        .optional()?;
    if let Some(json) = joined {
        return serde_json::from_str(&json).map_err(|error| json_error(&error));
    }
    let own = held(connection, path, version)?.into_iter().find(|piece| piece.id() == *id);
    Ok(own.map(|piece| StoredPart::of(path, version, recorded, &piece)).into_iter().collect())
}

/// A transcript of a session, as far as it tells which subagents are whose.
struct Spawning {
    recorded: String,
    /// When each piece of the transcript starts, and whether it is the session's.
    starts: Vec<(Option<Timestamp>, bool)>,
}

impl Spawning {
    fn of(connection: &Connection, row: &Row) -> rusqlite::Result<Vec<Spawning>> {
        let session = &row.session;
        if session.kind != SessionKind::Main || session.recorded.is_empty() {
            return Ok(Vec::new());
        }
        let parts = parts(connection, &session.id, &row.path, row.version, &session.recorded)?;
        if parts.is_empty() {
            return Ok(vec![Spawning { recorded: session.recorded.clone(), starts: Vec::new() }]);
        }
        let mine: HashSet<&str> = parts.iter().map(|part| part.id.0.as_str()).collect();
        let transcripts: BTreeMap<(&str, u32), &StoredPart> =
            parts.iter().map(|part| ((part.path.as_str(), part.version), part)).collect();
        let mut found = Vec::new();
        for ((path, version), part) in transcripts {
            let held = held(connection, path, version)?;
            let starts = held.iter().map(|piece| (piece.starts, mine.contains(piece.id().0.as_str()))).collect();
            found.push(Spawning { recorded: part.recorded.clone(), starts });
        }
        Ok(found)
    }

    /// Whether a subagent that began at a moment was spawned by the session: by the last piece that had begun then.
    fn spawned(&self, from: Option<Timestamp>) -> bool {
        let before = self.starts.iter().rfind(|(starts, _)| *starts <= from);
        before.or(self.starts.first()).is_none_or(|(_, mine)| *mine)
    }
}

/// Adds what the subagents of sessions used: from their own transcripts, or from the progress records of those that
/// have none.
fn add_subagents(connection: &Connection, rows: &mut [Row]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT agent, from_ms, facts ->> '$.tokens.tokens', facts ->> '$.tokens.cost_usd' FROM sessions
         WHERE kind = 'subagent' AND recorded = ?1",
    )?;
    let mut spawns = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE kind = 'subagent' AND recorded = ?1)")?;
    let joined: HashSet<String> = connection
        .prepare_cached("SELECT session FROM joined")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for row in rows.iter_mut().filter(|row| row.session.kind == SessionKind::Main) {
        let mut recorded = HashSet::new();
        let is_spawning = joined.contains(&row.session.id.0)
            || !row.session.recorded.is_empty()
                && spawns.query_row([&row.session.recorded], |row| row.get::<_, bool>(0))?;
        for transcript in if is_spawning { Spawning::of(connection, row)? } else { Vec::new() } {
            let mut children = statement.query([&transcript.recorded])?;
            while let Some(child) = children.next()? {
                if !transcript.spawned(child.get::<_, Option<i64>>(1)?.map(Timestamp)) {
                    continue;
                }
                recorded.extend(child.get::<_, Option<String>>(0)?);
                let read = |column: usize| child.get::<_, Option<String>>(column);
                let tokens: Option<Tokens> = read(2)?.and_then(|json| serde_json::from_str(&json).ok());
                let cost: Option<Cost> = read(3)?.and_then(|json| serde_json::from_str(&json).ok());
                row.with_subagents.add(&tokens.unwrap_or_default(), &cost.unwrap_or_default());
            }
        }
        for (agent, (tokens, cost)) in &row.session.progress {
            if !recorded.contains(agent) {
                row.with_subagents.add(tokens, cost);
            }
        }
    }
    Ok(())
}
