//! Writing: transcripts with their sessions and grades, copies and joins once they are settled.

use super::archive::put_archived;
use super::files::held;
use super::rows::{GradeRow, JoinedRows, OutcomeRow, PrintRow, Rows, SessionRows, encode, json};
use super::{Result, Store};
#[cfg(test)]
use crate::stores::Entry;
use crate::stores::{Archived, Role, StoredPart};
use hotwash_core::outcomes::{self, Outcome};
use hotwash_core::rework::Rework;
use hotwash_core::scores::{Grade, Provenance, offline};
use hotwash_core::sessions::{Piece, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

impl Store {
    /// Keeps transcripts, for tests that look at them afterwards.
    #[cfg(test)]
    pub(crate) fn put(&mut self, entries: &[Entry]) -> Result<()> {
        let rows: Vec<Rows> = entries.iter().cloned().map(Rows::from).collect();
        self.put_rows(&rows, &[]).map(drop)
    }

    /// Keeps transcripts with their sessions and grades, and what the archive has of them, all or nothing of it. Until they
    /// are settled it is open whose the events are that they share with others, and which of their pieces belong together.
    /// Says which ones somebody has forgotten since they were found, by place and version: nothing of them is kept.
    pub fn put_rows(&mut self, entries: &[Rows], archived: &[Archived]) -> Result<Vec<(String, u32)>> {
        self.write(|transaction| {
            let forgotten = put_entries(transaction, entries, Owner::Open)?;
            let is_kept = |path: &str| !forgotten.iter().any(|(forgotten, _)| forgotten == path);
            put_archived(transaction, archived.iter().filter(|archived| is_kept(&archived.path)))?;
            let mut mark =
                transaction.prepare_cached("INSERT OR REPLACE INTO unsettled (path, mark) VALUES (?1, random())")?;
            for entry in entries.iter().filter(|entry| entry.holding.is_some() && is_kept(&entry.file.path)) {
                mark.execute([&entry.file.path])?;
            }
            Ok(forgotten)
        })
    }

    /// Keeps transcripts without the events that are others', all or none of them. `copies` can no longer be read, and
    /// all that was in them is others'.
    pub fn put_own(&mut self, entries: &[Rows], copies: &[&str]) -> Result<()> {
        self.write(|transaction| {
            let mut stale = Vec::new();
            for path in copies {
                let version: Option<u32> = transaction
                    .prepare_cached(
                        "UPDATE files SET role = ?2, sessions = 0 WHERE path = ?1 AND role != 'forgotten'
                         RETURNING version",
                    )?
                    .query_row([path, Role::Copy.name()], |row| row.get(0))
                    .optional()?;
                let Some(version) = version else { continue };
                let before = given(transaction, path, version)?;
                transaction
                    .prepare_cached("UPDATE holdings SET kind = '', pieces = ?3 WHERE path = ?1 AND version = ?2")?
                    .execute(params![path, version, encode(&[])])?;
                stale.push((path, before));
            }
            put_entries(transaction, entries, Owner::Known)?;
            // Last, because what was moved has another place now, and its grades stay with it.
            stale.iter().try_for_each(|(path, ids)| drop_stale(transaction, path, ids))
        })
    }

    /// Keeps sessions that are made of several pieces, and puts back `single` ones, given with their places, that no
    /// longer are; all or none of them.
    pub fn put_joined(&mut self, joined: &[&JoinedRows], single: &[(SessionRows, String, u32)]) -> Result<()> {
        let origins = Origins::default();
        self.write(|transaction| {
            for (session, path, version) in single {
                if !still_holds(transaction, path, *version, &session.id)? {
                    continue;
                }
                transaction.prepare_cached("DELETE FROM joined WHERE session = ?1")?.execute([&session.id.0])?;
                begin(transaction, &session.id, path, *version)?;
                put_session(transaction, &origins, session, path, *version, "OR REPLACE")?;
            }
            for JoinedRows { session, joined, parts } in joined {
                let Some(first) = parts.first() else { continue };
                let mut whole = true;
                for StoredPart { id, path, version, .. } in parts {
                    whole &= still_holds(transaction, path, *version, id)?;
                }
                if !whole {
                    continue;
                }
                begin(transaction, &session.id, &first.path, first.version)?;
                put_session(transaction, &origins, session, &first.path, first.version, "OR REPLACE")?;
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO joined (session, parts) VALUES (?1, ?2)")?
                    .execute([&session.id.0, joined])?;
                // Their grades stay: should they be parted again, what was paid for is there.
                for part in &parts[1..] {
                    let StoredPart { id: SessionId(id), path, version, .. } = part;
                    for table in ["joined", "prints", "rework"] {
                        transaction
                            .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
                            .execute([id])?;
                    }
                    if transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])? > 0 {
                        count_session(transaction, path, *version, -1)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Nothing is open any more about these transcripts, unless they were put again since they were marked so.
    pub fn settled(&mut self, marks: &BTreeMap<String, i64>) -> Result<()> {
        self.write(|transaction| {
            let mut unmark = transaction.prepare_cached("DELETE FROM unsettled WHERE path = ?1 AND mark = ?2")?;
            marks.iter().try_for_each(|(path, mark)| unmark.execute(params![path, mark]).map(drop))
        })
    }

    /// Keeps grades of sessions that are already there, all or none of them.
    pub fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()> {
        let origins = Origins::default();
        self.write(|transaction| {
            grades.iter().try_for_each(|(id, grade)| put_grade(transaction, &origins, id, GradeRow::of(grade).as_ref()))
        })
    }

    /// Keeps outcomes of sessions that are already there, all or none of them.
    pub fn put_outcomes(&mut self, outcomes: &[(SessionId, Outcome)]) -> Result<()> {
        let origins = Origins::default();
        self.write(|transaction| {
            outcomes
                .iter()
                .try_for_each(|(id, outcome)| put_outcome(transaction, &origins, id, &OutcomeRow::of(outcome)))
        })
    }

    /// Notes that the offline judge has judged every session by this rubric, and its outcome.
    pub fn complete(&mut self, rubric_hash: &str) -> Result<()> {
        let open = self.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM origins WHERE rubric_hash IN (?1, ?2) AND complete = 0)";
            connection.query_row(sql, [rubric_hash, &OUTCOMES.rubric_hash], |row| row.get::<_, bool>(0))
        })?;
        if !open {
            return Ok(());
        }
        self.write(|transaction| {
            let mut statement = transaction.prepare_cached(
                "UPDATE origins SET complete = 1 WHERE rubric_hash = ?1 AND judge = ?2 AND judge_version = ?3",
            )?;
            let outcome = &*OUTCOMES;
            statement.execute([rubric_hash, offline::JUDGE, offline::VERSION])?;
            statement.execute([&outcome.rubric_hash, &outcome.judge, &outcome.judge_version]).map(drop)
        })
    }

    /// Keeps what became of the work of sessions: for each, what later ones did to it, or nothing.
    pub fn put_rework(&mut self, all: &[(SessionId, Option<Rework>)]) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            // In a first run there is nothing to take back.
            let kept =
                transaction.query_row("SELECT EXISTS (SELECT 1 FROM rework)", [], |row| row.get::<_, bool>(0))?;
            for (SessionId(id), rework) in all {
                let Some(rework) = rework else {
                    if kept {
                        transaction.prepare_cached("DELETE FROM rework WHERE session = ?1")?.execute([id])?;
                    }
                    continue;
                };
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO rework (session, reworked, detail) VALUES (?1, ?2, ?3)")?
                    .execute(params![id, rework.reworked, json(rework)])?;
            }
            Ok(())
        })
    }
}

/// Whether a transcript still gives a piece. It does not if somebody has forgotten it since it was looked at, or put it
/// again in other pieces; then they are settled again.
fn still_holds(transaction: &Transaction<'_>, path: &str, version: u32, id: &SessionId) -> rusqlite::Result<bool> {
    Ok(given(transaction, path, version)?.contains(id))
}

/// Counts a session that is about to begin in a transcript, unless it does so already.
fn begin(transaction: &Transaction<'_>, id: &SessionId, path: &str, version: u32) -> rusqlite::Result<()> {
    let known = transaction.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([&id.0])?;
    if known { Ok(()) } else { count_session(transaction, path, version, 1) }
}

fn count_session(transaction: &Transaction<'_>, path: &str, version: u32, by: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE files SET sessions = sessions + ?3 WHERE path = ?1 AND version = ?2")?
        .execute(params![path, version, by])
        .map(drop)
}

/// Whether it is known whose the events are that transcripts share.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Known,
    Open,
}

/// Keeps transcripts. Says which ones somebody has forgotten meanwhile.
fn put_entries(transaction: &Transaction<'_>, entries: &[Rows], owner: Owner) -> rusqlite::Result<Vec<(String, u32)>> {
    let (mut stale, mut forgotten, origins) = (Vec::new(), Vec::new(), Origins::default());
    for entry in entries {
        match put_entry(transaction, &origins, entry, owner)? {
            None => forgotten.push((entry.file.path.clone(), entry.file.version)),
            Some(ids) if ids.is_empty() => {}
            Some(ids) => stale.push((ids, &entry.file.path)),
        }
    }
    // Judged under other origins they are not.
    let judged: Vec<String> = origins.0.borrow().iter().map(|(_, id)| id.to_string()).collect();
    if !judged.is_empty() {
        let sql = format!("UPDATE origins SET complete = 0 WHERE complete = 1 AND id NOT IN ({})", judged.join(", "));
        transaction.prepare_cached(&sql)?.execute([])?;
    }
    // Last, because another entry may have taken a session over: then its grades, which may have been paid for, stay.
    stale.iter().try_for_each(|(ids, path)| drop_stale(transaction, path, ids))?;
    Ok(forgotten)
}

/// Removes sessions that a transcript had before, with their grades, unless somebody else has them now.
fn drop_stale(transaction: &Transaction<'_>, path: &str, ids: &[SessionId]) -> rusqlite::Result<()> {
    for SessionId(id) in ids {
        let dropped = transaction
            .prepare_cached("DELETE FROM sessions WHERE id = ?1 AND path = ?2")?
            .execute([id.as_str(), path])?;
        if dropped > 0 {
            for table in ["joined", "grades", "outcomes", "prints", "rework"] {
                transaction.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([id])?;
            }
        }
    }
    Ok(())
}

/// Keeps a transcript, unless it is forgotten. Says which sessions it had before that are no longer its own.
fn put_entry(
    transaction: &Transaction<'_>,
    origins: &Origins,
    entry: &Rows,
    owner: Owner,
) -> rusqlite::Result<Option<Vec<SessionId>>> {
    let Rows { file, role, is_new, reading, holding, sessions } = entry;
    // A rewritten transcript is another one in the same place: the old sessions stay, and so does their archive.
    let mut stale = if *is_new { Vec::new() } else { given(transaction, &file.path, file.version)? };
    stale.retain(|id| !sessions.iter().any(|session| session.id == *id));
    let put = transaction
        .prepare_cached(
            "INSERT INTO files (path, inode, size, mtime_ns, offset, tail, decoder, version, role, reading, sessions)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT DO UPDATE SET inode = ?2, size = ?3, mtime_ns = ?4, offset = ?5, tail = ?6, decoder = ?7,
             version = ?8, role = ?9, reading = ?10, sessions = ?11 WHERE role != 'forgotten'",
        )?
        .execute(params![
            file.path,
            file.inode as i64,
            file.size as i64,
            file.mtime_ns,
            file.offset as i64,
            file.tail as i64,
            file.decoder,
            file.version,
            role.name(),
            reading,
            sessions.len() as i64,
        ])?;
    if put == 0 {
        return Ok(None);
    }
    if let Some(holding) = holding {
        let kind = role.session().map_or("", |kind| kind.name());
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO holdings (path, version, kind, keys, pieces) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![file.path, file.version, kind, holding.keys, holding.pieces])?;
    } else if !*is_new {
        transaction
            .prepare_cached("DELETE FROM holdings WHERE path = ?1 AND version = ?2")?
            .execute(params![file.path, file.version])?;
    }
    for session in sessions {
        let (path, version) = (&file.path, file.version);
        if owner == Owner::Known || put_session(transaction, origins, session, path, version, "OR IGNORE")? == 0 {
            // A session that another transcript holds too is left alone until it is known whose it is.
            if owner == Owner::Known || !is_held_elsewhere(transaction, &session.id, path)? {
                put_session(transaction, origins, session, path, version, "OR REPLACE")?;
            }
        }
    }
    Ok(Some(stale))
}

/// The sessions that a transcript has given, by its pieces.
fn given(transaction: &Transaction<'_>, path: &str, version: u32) -> rusqlite::Result<Vec<SessionId>> {
    Ok(held(transaction, path, version)?.iter().map(Piece::id).collect())
}

/// Whether another transcript that holds a session still counts it as its own.
fn is_held_elsewhere(transaction: &Transaction<'_>, id: &SessionId, path: &str) -> rusqlite::Result<bool> {
    let other: Option<(String, u32)> = transaction
        .prepare_cached("SELECT path, version FROM sessions WHERE id = ?1 AND path != ?2")?
        .query_row([&id.0, path], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match other {
        Some((other, version)) => Ok(given(transaction, &other, version)?.contains(id)),
        None => Ok(false),
    }
}

/// Keeps a session with its grade. Says whether it was put: `OR IGNORE` leaves one alone that is there.
fn put_session(
    transaction: &Transaction<'_>,
    origins: &Origins,
    session: &SessionRows,
    path: &str,
    version: u32,
    or: &str,
) -> rusqlite::Result<usize> {
    let put = transaction
        .prepare_cached(&format!(
            "INSERT {or} INTO sessions (id, path, version, kind, recorded, agent, project, title, model, from_ms, to_ms,
             open, summary, facts, progress) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        ))?
        .execute(params![
            session.id.0,
            path,
            version,
            session.kind.name(),
            session.recorded,
            session.agent,
            session.project.as_str(),
            session.title.as_str(),
            session.model,
            session.from.map(|at| at.0),
            session.to.map(|at| at.0),
            session.open,
            session.summary.as_str(),
            session.facts,
            session.progress
        ])?;
    if put > 0 {
        put_grade(transaction, origins, &session.id, session.grade.as_ref())?;
        put_outcome(transaction, origins, &session.id, &session.outcome)?;
        put_print(transaction, &session.id, session.print.as_ref())?;
    }
    Ok(put)
}

/// Keeps the outcome of a session by the offline judge.
fn put_outcome(
    transaction: &Transaction<'_>,
    origins: &Origins,
    id: &SessionId,
    outcome: &OutcomeRow,
) -> rusqlite::Result<()> {
    let origin = origins.of(transaction, &OUTCOMES, id)?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO outcomes (origin, session, substance, intent, status, goal, evidence, lack,
             probability, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            origin,
            id.0,
            outcome.substance,
            outcome.intent,
            outcome.status,
            outcome.goal,
            outcome.evidence,
            outcome.lack,
            outcome.probability,
            outcome.detail,
        ])?;
    Ok(())
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

/// Keeps the fingerprint of a session, if it has one.
fn put_print(transaction: &Transaction<'_>, id: &SessionId, print: Option<&PrintRow>) -> rusqlite::Result<()> {
    let Some(PrintRow { repository, from, to, print }) = print else {
        // What changed nothing has nothing that could be taken back.
        for table in ["prints", "rework"] {
            transaction.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([&id.0])?;
        }
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO prints (session, repository, from_ms, to_ms, print) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![id.0, repository, from.0, to.0, print])?;
    Ok(())
}

fn put_grade(
    transaction: &Transaction<'_>,
    origins: &Origins,
    id: &SessionId,
    grade: Option<&GradeRow>,
) -> rusqlite::Result<()> {
    let Some(GradeRow { provenance, thousandths, tier, overall, readings }) = grade else { return Ok(()) };
    let origin = origins.of(transaction, provenance, id)?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO grades (origin, session, thousandths, tier, overall, readings)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![origin, id.0, thousandths, tier, overall, readings])?;
    Ok(())
}

/// Origins that were looked up in a transaction: hundreds of sessions have the same two.
#[derive(Default)]
struct Origins(RefCell<Vec<(Provenance, i64)>>);

impl Origins {
    fn of(&self, transaction: &Transaction<'_>, provenance: &Provenance, judged: &SessionId) -> rusqlite::Result<i64> {
        if let Some((_, id)) = self.0.borrow().iter().find(|(known, _)| known == provenance) {
            return Ok(*id);
        }
        let id = origin(transaction, provenance, judged)?;
        self.0.borrow_mut().push((provenance.clone(), id));
        Ok(id)
    }
}

/// The number under which it is kept where the grade of a session comes from.
pub(super) fn origin(
    transaction: &Transaction<'_>,
    provenance: &Provenance,
    judged: &SessionId,
) -> rusqlite::Result<i64> {
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
    // Who judges the only session of a store has judged them all, until one comes that somebody else has judged.
    let only = !transaction.prepare_cached("SELECT 1 FROM sessions WHERE id != ?1")?.exists([&judged.0])?;
    let sql = "INSERT INTO origins (rubric_hash, judge, judge_version, model, prompt_hash, rubric, complete)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let key = params![rubric_hash, judge, judge_version, model, prompt_hash, rubric, only];
    transaction.prepare_cached(sql)?.execute(key)?;
    Ok(transaction.last_insert_rowid())
}
