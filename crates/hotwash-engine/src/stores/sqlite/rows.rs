//! Reading the rows of sessions.

use super::Sqlite;
use super::error::json_error;
use super::put::OUTCOMES;
use super::transcripts::held;
use crate::stores::{Row, Ruled, StoredPart, Usage};
use hotwash_core::facts::{Cost, Facts, Tokens};
use hotwash_core::outcomes::{Outcome, Ruling};
use hotwash_core::redaction::{Redacted, redact_facts, restore};
use hotwash_core::rework::Rework;
use hotwash_core::scores::{Grade, Provenance, Reading, Score};
use hotwash_core::sessions::{Session, SessionId, SessionKind, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};
use serde::de::IntoDeserializer as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// How much is read of a row. What is not asked for is not looked at, either: it is most of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// No facts, and of the outcome what the score needs.
    Listed,
    /// All but the outcome.
    Facts,
    /// All.
    Whole,
}

impl Extent {
    /// The columns of a row, in the order in which [`Sqlite::row`] reads them; `?1` is the grades' origin, `?2` the
    /// outcomes'.
    pub(super) fn select(self) -> String {
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

impl Sqlite {
    pub(super) fn row(
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
pub(super) fn origin_of(
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
pub(super) fn outcome_origin(connection: &Connection) -> rusqlite::Result<Option<(i64, bool)>> {
    let Provenance { rubric_hash, judge, judge_version, .. } = &*OUTCOMES;
    origin_of(connection, rubric_hash, judge, judge_version)
}

/// The facts of the sessions of which neither their rows, by this column, nor a table has anything from an origin: all of
/// them where there is no such origin.
pub(super) fn not_judged(
    connection: &Connection,
    table: &str,
    column: &str,
    origin: Option<(i64, bool)>,
) -> rusqlite::Result<BTreeMap<SessionId, Facts>> {
    if let Some((_, true)) = origin {
        return Ok(BTreeMap::new());
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
pub(super) fn ruling(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Ruling> {
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
pub(super) fn parts(
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
pub(super) struct Spawning {
    pub(super) recorded: String,
    /// When each piece of the transcript starts, and whether it is the session's.
    starts: Vec<(Option<Timestamp>, bool)>,
}

impl Spawning {
    pub(super) fn of(connection: &Connection, row: &Row) -> rusqlite::Result<Vec<Spawning>> {
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
    pub(super) fn spawned(&self, from: Option<Timestamp>) -> bool {
        let before = self.starts.iter().rfind(|(starts, _)| *starts <= from);
        before.or(self.starts.first()).is_none_or(|(_, mine)| *mine)
    }
}

/// Adds what the subagents of sessions used: from their own transcripts, or from the progress records of those that
/// have none.
pub(super) fn add_subagents(connection: &Connection, rows: &mut [Row]) -> rusqlite::Result<()> {
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
