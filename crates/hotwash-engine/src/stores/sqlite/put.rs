//! Writing transcripts, sessions, and what the offline judge says of them.

use super::transcripts::held;
use crate::stores::{Entry, Graded};
use hotwash_core::outcomes::{self, Lack, Outcome};
use hotwash_core::rework::repository;
use hotwash_core::scores::{Grade, Overall, Provenance, offline};
use hotwash_core::sessions::{About, Key, Piece, SessionId, SessionKind};
use rusqlite::{OptionalExtension, Params, Transaction, params};
use serde::Serialize;
use std::sync::LazyLock;

/// Whether it is known whose the events are that transcripts share.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Owner {
    Known,
    Open,
}

/// Keeps transcripts. Says which ones have been forgotten meanwhile.
pub(super) fn put_entries(
    transaction: &Transaction<'_>,
    entries: &[Entry],
    owner: Owner,
) -> rusqlite::Result<Vec<(String, u32)>> {
    let (mut stale, mut forgotten, mut writer) = (Vec::new(), Vec::new(), Writer::new(transaction));
    for entry in entries {
        match writer.put_entry(entry, owner)? {
            None => forgotten.push((entry.file.path.clone(), entry.file.version)),
            Some(ids) => stale.push((ids, &entry.file.path)),
        }
    }
    // Judged under other origins they are not.
    let judged: Vec<String> = writer.origins.iter().map(|(_, id)| id.to_string()).collect();
    if !judged.is_empty() {
        let sql = format!("UPDATE origins SET complete = 0 WHERE complete = 1 AND id NOT IN ({})", judged.join(", "));
        execute(transaction, &sql, [])?;
    }
    // Last, because another entry may have taken a session over: then its grades, which may have been paid for, stay.
    stale.iter().try_for_each(|(ids, path)| drop_stale(transaction, path, ids))?;
    Ok(forgotten)
}

/// Removes sessions that a transcript had before, with their grades, unless another transcript has them now.
pub(super) fn drop_stale(transaction: &Transaction<'_>, path: &str, ids: &[SessionId]) -> rusqlite::Result<()> {
    for SessionId(id) in ids {
        if place(transaction, id)?.is_some_and(|(at, _)| at == path) {
            drop_session(transaction, id)?;
            // By their whole keys: there is no index by session alone.
            for table in ["grades", "outcomes"] {
                let sql = format!("DELETE FROM {table} WHERE origin IN (SELECT id FROM origins) AND session = ?1");
                execute(transaction, &sql, [id])?;
            }
        }
    }
    Ok(())
}

/// Drops a session that is one no longer, and what is kept beside it, but for the grades in the table for them, which may
/// have been paid for.
fn drop_session(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    execute(transaction, "DELETE FROM joined WHERE session = ?1", [id])?;
    execute(transaction, "DELETE FROM rework WHERE session = ?1", [id])?;
    execute(transaction, DROP_PRINT, [id])?;
    if let Some((path, version)) = place(transaction, id)? {
        count_session(transaction, &path, version, -1)?;
    }
    execute(transaction, "DELETE FROM sessions WHERE id = ?1", [id]).map(drop)
}

/// Drops the fingerprint of a session that is there.
const DROP_PRINT: &str = "DELETE FROM fingerprints WHERE number = (SELECT number FROM sessions WHERE id = ?1)";

/// The transcript in which a session begins.
fn place(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<(String, u32)>> {
    let mut statement = transaction.prepare_cached("SELECT path, version FROM sessions WHERE id = ?1")?;
    statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Counts sessions that begin in a transcript.
fn count_session(transaction: &Transaction<'_>, path: &str, version: u32, by: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE files SET sessions = sessions + ?3 WHERE path = ?1 AND version = ?2";
    execute(transaction, sql, params![path, version, by]).map(drop)
}

/// Where the grade and the outcome come from that stand in the row of a session.
#[derive(Clone, Copy, Default)]
struct Origins {
    grade: Option<i64>,
    outcome: Option<i64>,
}

/// Puts transcripts and sessions, within a transaction.
pub(super) struct Writer<'t> {
    transaction: &'t Transaction<'t>,
    /// Origins that were looked up: hundreds of sessions have the same two.
    origins: Vec<(Provenance, i64)>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>) -> Writer<'t> {
        Writer { transaction, origins: Vec::new() }
    }

    fn execute(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        execute(self.transaction, sql, params)
    }

    /// Keeps a transcript, unless it is forgotten. Says which sessions it had before that are no longer its own.
    fn put_entry(&mut self, entry: &Entry, owner: Owner) -> rusqlite::Result<Option<Vec<SessionId>>> {
        let Entry { file, role, reading, keys, pieces, sessions } = entry;
        let (path, version) = (file.path.as_str(), file.version);
        // A rewritten transcript is another one in the same place: the old sessions stay, and so does their archive.
        let mut stale = given(self.transaction, path, version)?;
        stale.retain(|id| !pieces.iter().any(|piece| piece.id() == *id));
        let known = self.execute(
            "INSERT INTO files (path, inode, size, mtime_ns, offset, tail, decoder, version, role, reading, sessions, agent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11)
             ON CONFLICT (path) DO UPDATE SET inode = ?2, size = ?3, mtime_ns = ?4, offset = ?5, tail = ?6,
                 decoder = ?7, version = ?8, role = ?9, reading = ?10, sessions = iif(version = ?8, sessions, 0),
                 agent = ?11
             WHERE role != 'forgotten'",
            params![
                path,
                file.inode as i64,
                file.size as i64,
                file.mtime_ns,
                file.offset as i64,
                file.tail as i64,
                file.decoder,
                version,
                role.name(),
                reading,
                file.agent,
            ],
        )?;
        if known == 0 {
            return Ok(None);
        }
        if keys.is_empty() && pieces.is_empty() {
            self.execute("DELETE FROM holdings WHERE path = ?1 AND version = ?2", params![path, version])?;
        } else {
            let sql = "INSERT OR REPLACE INTO holdings (path, version, kind, keys, pieces) VALUES (?1, ?2, ?3, ?4, ?5)";
            let kind = role.session().map_or("", SessionKind::name);
            self.execute(sql, params![path, version, kind, bytes(keys), encode(pieces)])?;
        }
        for graded in sessions {
            if owner == Owner::Known || !is_held_elsewhere(self.transaction, &graded.session.id, path)? {
                self.put_session(graded, (path, version), owner)?;
            }
        }
        Ok(Some(stale))
    }

    /// Keeps a session that begins in a transcript, in the place of what was known of it. Its pieces after the first are
    /// sessions no longer, unless it is open whose they are.
    pub(super) fn put_session(
        &mut self,
        graded: &Graded,
        (path, version): (&str, u32),
        owner: Owner,
    ) -> rusqlite::Result<()> {
        let Graded { session, grade, outcome, print, parts } = graded;
        let (id, others) = (session.id.0.as_str(), parts.get(1..).unwrap_or_default());
        let provenance = grade.scores.first().map(|score| &*score.provenance);
        let grade_origin = provenance.map(|provenance| self.origin(provenance)).transpose()?;
        let origins = Origins { grade: grade_origin, outcome: Some(self.origin(&OUTCOMES)?) };
        let before = place(self.transaction, id)?;
        if before.is_some() {
            self.set_apart(id, origins)?;
        }
        if before.as_ref().is_none_or(|(at, of)| (at.as_str(), *of) != (path, version)) {
            if let Some((path, version)) = before {
                count_session(self.transaction, &path, version, -1)?;
            }
            count_session(self.transaction, path, version, 1)?;
        }
        let (thousandths, tier) = overall(grade);
        let facts = session.facts.get();
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO sessions (id, path, version, kind, recorded, agent, project, title, model, from_ms, to_ms, open,
                 outcome_origin, substance, intent, status, goal, evidence, lack, probability, outcome,
                 grade_origin, thousandths, tier, overall, readings, summary, facts, progress)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                 ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)
             ON CONFLICT (id) DO UPDATE SET path = ?2, version = ?3, kind = ?4, recorded = ?5, agent = ?6, project = ?7,
                 title = ?8, model = ?9, from_ms = ?10, to_ms = ?11, open = ?12, outcome_origin = ?13, substance = ?14,
                 intent = ?15, status = ?16, goal = ?17, evidence = ?18, lack = ?19, probability = ?20, outcome = ?21,
                 grade_origin = ?22, thousandths = ?23, tier = ?24, overall = ?25, readings = ?26, summary = ?27,
                 facts = ?28, progress = ?29
             RETURNING number",
        )?;
        let row = params![
            id,
            path,
            version,
            session.kind.name(),
            session.recorded,
            session.agent,
            session.project.as_str(),
            session.title.as_str(),
            facts.tokens.models.first().map(|model| &**model).unwrap_or_default(),
            session.from.map(|at| at.0),
            session.to.map(|at| at.0),
            session.open,
            origins.outcome,
            outcome.substance.passes(),
            outcome.intended.intent.name(),
            outcome.status.name(),
            outcome.goal.name(),
            outcome.evidence.name(),
            outcome.lack.map(Lack::name),
            outcome.probability,
            json(outcome),
            origins.grade,
            thousandths,
            tier,
            provenance.map(|_| json(&grade.overall)),
            provenance.map(|_| readings(grade)),
            session.summary.as_str(),
            session.facts.stored(),
            json(&session.progress),
        ];
        let number: i64 = statement.query_row(row, |row| row.get(0))?;
        // What was set apart and stands in the row again: what comes from one origin is in one place.
        let which = params![origins.grade, id];
        self.execute("DELETE FROM grades WHERE origin = ?1 AND session = ?2", which)?;
        let which = params![origins.outcome, id];
        self.execute("DELETE FROM outcomes WHERE origin = ?1 AND session = ?2", which)?;
        match (session.from, session.to, session.kind) {
            (Some(from), Some(to), SessionKind::Main) if !print.is_empty() => {
                let sql = "INSERT OR REPLACE INTO fingerprints (number, session, repository, from_ms, to_ms, print)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let repository = repository(session.project.as_str());
                self.execute(sql, params![number, id, repository, from.0, to.0, print.to_bytes()])?;
            }
            _ => {
                // What changed nothing has nothing that could be taken back.
                self.execute(DROP_PRINT, [id])?;
                self.execute("DELETE FROM rework WHERE session = ?1", [id])?;
            }
        }
        if others.is_empty() {
            self.execute("DELETE FROM joined WHERE session = ?1", [id])?;
        } else {
            let sql = "INSERT OR REPLACE INTO joined (session, parts) VALUES (?1, ?2)";
            self.execute(sql, [id, &json(parts)])?;
        }
        for part in others {
            let is_theirs = |(at, _): (String, u32)| owner == Owner::Known || at == part.path;
            if place(self.transaction, &part.id.0)?.is_some_and(is_theirs) {
                // Their grades stay: should they be parted again, what was paid for is there.
                self.set_apart(&part.id.0, Origins::default())?;
                drop_session(self.transaction, &part.id.0)?;
            }
        }
        Ok(())
    }

    /// Keeps apart what stands in the row of a session that is about to go, or to have in it what comes from elsewhere.
    fn set_apart(&self, id: &str, unless: Origins) -> rusqlite::Result<()> {
        let grades = "INSERT OR REPLACE INTO grades (origin, session, thousandths, tier, overall, readings)
                      SELECT grade_origin, id, thousandths, tier, overall, readings FROM sessions
                      WHERE id = ?1 AND grade_origin IS NOT NULL AND grade_origin IS NOT ?2";
        let outcomes = "INSERT OR REPLACE INTO outcomes
                        (origin, session, substance, intent, status, goal, evidence, lack, probability, detail)
                        SELECT outcome_origin, id, substance, intent, status, goal, evidence, lack, probability, outcome
                        FROM sessions WHERE id = ?1 AND outcome_origin IS NOT NULL AND outcome_origin IS NOT ?2";
        self.execute(grades, params![id, unless.grade])?;
        self.execute(outcomes, params![id, unless.outcome]).map(drop)
    }

    /// Keeps a grade of a session that is already there: in its row, if one from the same origin stands there.
    pub(super) fn put_grade(&mut self, SessionId(id): &SessionId, grade: &Grade) -> rusqlite::Result<()> {
        let Some(score) = grade.scores.first() else { return Ok(()) };
        let origin = self.origin(&score.provenance)?;
        let (thousandths, tier) = overall(grade);
        let row = params![origin, id, thousandths, tier, json(&grade.overall), readings(grade)];
        let sql = "UPDATE sessions SET thousandths = ?3, tier = ?4, overall = ?5, readings = ?6
                   WHERE id = ?2 AND grade_origin = ?1";
        if self.execute(sql, row)? == 0 {
            let sql = "INSERT OR REPLACE INTO grades (origin, session, thousandths, tier, overall, readings)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            self.execute(sql, row)?;
        }
        Ok(())
    }

    /// Keeps the outcome of a session by the offline judge in the same way.
    pub(super) fn put_outcome(&mut self, SessionId(id): &SessionId, outcome: &Outcome) -> rusqlite::Result<()> {
        let row = params![
            self.origin(&OUTCOMES)?,
            id,
            outcome.substance.passes(),
            outcome.intended.intent.name(),
            outcome.status.name(),
            outcome.goal.name(),
            outcome.evidence.name(),
            outcome.lack.map(Lack::name),
            outcome.probability,
            json(outcome),
        ];
        let sql = "UPDATE sessions SET substance = ?3, intent = ?4, status = ?5, goal = ?6, evidence = ?7, lack = ?8,
                   probability = ?9, outcome = ?10 WHERE id = ?2 AND outcome_origin = ?1";
        if self.execute(sql, row)? == 0 {
            let sql = "INSERT OR REPLACE INTO outcomes
                           (origin, session, substance, intent, status, goal, evidence, lack, probability, detail)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            self.execute(sql, row)?;
        }
        Ok(())
    }

    fn origin(&mut self, provenance: &Provenance) -> rusqlite::Result<i64> {
        if let Some((_, id)) = self.origins.iter().find(|(known, _)| known == provenance) {
            return Ok(*id);
        }
        let id = origin(self.transaction, provenance)?;
        self.origins.push((provenance.clone(), id));
        Ok(id)
    }
}

pub(super) fn execute(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
    transaction.prepare_cached(sql)?.execute(params)
}

/// The number and the name of a grade.
fn overall(grade: &Grade) -> (Option<u32>, Option<&str>) {
    if let Overall::Graded { thousandths, tier, .. } = &grade.overall {
        (Some(*thousandths), Some(tier))
    } else {
        (None, None)
    }
}

/// What was read off a session, each with the dimension that it is on, as JSON.
fn readings(grade: &Grade) -> String {
    json(&grade.scores.iter().map(|score| (&score.dimension, &score.reading)).collect::<Vec<_>>())
}

/// Keys as they are stored.
fn bytes(keys: &[Key]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.0.to_le_bytes()).collect()
}

/// Pieces as they are stored.
pub(super) fn encode(pieces: &[Piece]) -> Vec<u8> {
    let about: Vec<&About> = pieces.iter().map(|piece| &piece.about).collect();
    postcard::to_allocvec(pieces).and_then(|bytes| postcard::to_extend(&about, bytes)).unwrap_or_default()
}

/// As JSON. What is kept has no map but with words as keys, and nothing else makes this fail.
pub(super) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value);
    debug_assert!(json.is_ok(), "{json:?}");
    json.unwrap_or_default()
}

/// The sessions that a transcript has given, by its pieces.
pub(super) fn given(transaction: &Transaction<'_>, path: &str, version: u32) -> rusqlite::Result<Vec<SessionId>> {
    Ok(held(transaction, path, version)?.iter().map(Piece::id).collect())
}

/// Whether another transcript that holds a session still counts it as its own.
fn is_held_elsewhere(transaction: &Transaction<'_>, id: &SessionId, path: &str) -> rusqlite::Result<bool> {
    match place(transaction, &id.0)?.filter(|(other, _)| other != path) {
        Some((other, version)) => Ok(given(transaction, &other, version)?.contains(id)),
        None => Ok(false),
    }
}

/// Where outcomes of the offline judge come from.
pub(super) static OUTCOMES: LazyLock<Provenance> = LazyLock::new(|| Provenance {
    judge: offline::JUDGE.into(),
    judge_version: outcomes::VERSION.into(),
    model: None,
    rubric: "outcome".into(),
    rubric_hash: "outcome".into(),
    prompt_hash: None,
});

/// The number under which it is kept where the grade of a session comes from.
pub(super) fn origin(transaction: &Transaction<'_>, provenance: &Provenance) -> rusqlite::Result<i64> {
    let Provenance { judge, judge_version, model, rubric, rubric_hash, prompt_hash } = provenance;
    let (model, prompt_hash) = (model.as_deref().unwrap_or_default(), prompt_hash.as_deref().unwrap_or_default());
    let known = transaction
        .prepare_cached(
            "SELECT id FROM origins WHERE rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3 AND model = ?4
             AND prompt_hash = ?5 AND rubric = ?6",
        )?
        .query_row([rubric_hash, judge, judge_version, model, prompt_hash, rubric], |row| row.get(0))
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    // Who judges the first session of a store has judged them all, until one comes that somebody else has judged.
    let first = !transaction.prepare_cached("SELECT 1 FROM sessions")?.exists([])?;
    let sql = "INSERT INTO origins (rubric_hash, judge, judge_version, model, prompt_hash, rubric, complete)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let key = params![rubric_hash, judge, judge_version, model, prompt_hash, rubric, first];
    transaction.prepare_cached(sql)?.execute(key)?;
    Ok(transaction.last_insert_rowid())
}
