//! Writing: transcripts with their sessions and grades, copies and joins once they are settled.

use super::archive::put_archived;
use super::files::held;
use super::rows::{GradeRow, JoinedRows, OutcomeRow, PrintRow, Rows, SessionRows, Texts, encode, json};
use super::table::{Known, Table};
use super::{Result, Store};
use crate::stores::{Archived, Role, StoredPart};
use hotwash_core::outcomes::{self, Outcome};
use hotwash_core::rework::Rework;
use hotwash_core::scores::{Grade, Provenance, offline};
use hotwash_core::sessions::{Piece, SessionId};
use rusqlite::{OptionalExtension, ToSql, Transaction, params};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Room for most grades and most outcomes, as they are kept.
const GRADE_BYTES: usize = 2048;
const OUTCOME_BYTES: usize = 512;

/// What came of putting transcripts.
#[derive(Debug)]
pub struct Put {
    /// Those that somebody has forgotten since they were found, by place and version: nothing of them is kept.
    pub forgotten: Vec<(String, u32)>,
    /// What the others are marked with until they are settled. It tells whether they were put again since, which cannot be
    /// while the store is being made: then only who puts them knows it.
    pub mark: i64,
}

impl Store {
    /// Keeps transcripts, for tests that look at them afterwards.
    #[cfg(test)]
    pub(crate) fn put(&mut self, entries: &[crate::stores::Entry]) -> Result<()> {
        let rows: Vec<Rows> = entries.iter().cloned().map(Rows::from).collect();
        self.put_rows(&rows, &[]).map(drop)
    }

    /// Keeps transcripts with their sessions and grades, and what the archive has of them, all or nothing of it. Until they
    /// are settled it is open whose the events are that they share with others, and which of their pieces belong together.
    /// Nobody has to be told so of a store that is being made: who makes it settles them, or it comes to nothing.
    pub fn put_rows(&mut self, entries: &[Rows], archived: &[Archived]) -> Result<Put> {
        let is_being_made = self.is_being_made();
        self.write(|transaction| {
            let mark = transaction.query_row("SELECT random()", [], |row| row.get(0))?;
            let forgotten = put_entries(transaction, entries, Owner::Open)?;
            let is_kept = |path: &str| !forgotten.iter().any(|(forgotten, _)| forgotten == path);
            put_archived(transaction, archived.iter().filter(|archived| is_kept(&archived.path)))?;
            let mut marks = Table::new(transaction, "unsettled (path, mark) VALUES (?1, ?2)")?;
            let is_marked = |entry: &&Rows| !is_being_made && entry.holding.is_some() && is_kept(&entry.file.path);
            for entry in entries.iter().filter(is_marked) {
                marks.put(params![entry.file.path, mark])?;
            }
            Ok(Put { forgotten, mark })
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
        self.write(|transaction| {
            let mut tables = Tables::new(transaction)?;
            let mut given = Given { transaction, known: HashMap::new() };
            for (session, path, version) in single {
                if !given.holds(path, *version, &session.id)? {
                    continue;
                }
                transaction.prepare_cached("DELETE FROM joined WHERE session = ?1")?.execute([&session.id.0])?;
                begin(transaction, &session.id, path, *version)?;
                tables.put_session(session, path, *version)?;
            }
            for JoinedRows { session, joined, parts, .. } in joined {
                let Some(first) = parts.first() else { continue };
                let mut whole = true;
                for StoredPart { id, path, version, .. } in parts {
                    whole &= given.holds(path, *version, id)?;
                }
                if !whole {
                    continue;
                }
                begin(transaction, &session.id, &first.path, first.version)?;
                tables.put_session(session, &first.path, first.version)?;
                tables.joined.put(params![session.id.0, joined])?;
                // Their grades stay: should they be parted again, what was paid for is there.
                for part in &parts[1..] {
                    let StoredPart { id: SessionId(id), path, version, .. } = part;
                    tables.set_apart(id, Origins::default())?;
                    if drop_session(transaction, id)? {
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
            let mut statement = transaction.prepare_cached("SELECT path, mark FROM unsettled ORDER BY path")?;
            let (mut rows, mut known, mut all) = (statement.query([])?, marks.iter(), true);
            while let Some(row) = rows.next()? {
                let (path, mark): (_, i64) = (row.get_ref(0)?.as_str()?, row.get(1)?);
                all &= known.next().is_some_and(|known| (known.0.as_str(), *known.1) == (path, mark));
            }
            drop(rows);
            if all {
                // All at once costs next to nothing.
                return transaction.prepare_cached("DELETE FROM unsettled")?.execute([]).map(drop);
            }
            let mut unmark = transaction.prepare_cached("DELETE FROM unsettled WHERE path = ?1 AND mark = ?2")?;
            marks.iter().try_for_each(|(path, mark)| unmark.execute(params![path, mark]).map(drop))
        })
    }

    /// Keeps grades of sessions that are already there, all or none of them.
    pub fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()> {
        self.write(|transaction| {
            let mut tables = Tables::new(transaction)?;
            grades.iter().try_for_each(|(id, grade)| {
                let mut texts = Texts::with_room(GRADE_BYTES);
                match GradeRow::of(grade, &mut texts) {
                    Some(grade) => tables.put_grade(id, &grade, &texts),
                    None => Ok(()),
                }
            })
        })
    }

    /// Keeps outcomes of sessions that are already there, all or none of them.
    pub fn put_outcomes(&mut self, outcomes: &[(SessionId, Outcome)]) -> Result<()> {
        self.write(|transaction| {
            let mut tables = Tables::new(transaction)?;
            outcomes.iter().try_for_each(|(id, outcome)| {
                let mut texts = Texts::with_room(OUTCOME_BYTES);
                tables.put_outcome(id, &OutcomeRow::of(outcome, &mut texts), &texts)
            })
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

/// The sessions that transcripts give as they are kept now, by place and version.
struct Given<'t> {
    transaction: &'t Transaction<'t>,
    known: HashMap<(&'t str, u32), Vec<SessionId>>,
}

impl<'t> Given<'t> {
    /// Whether a transcript still gives a piece. It does not if somebody has forgotten it since it was looked at, or put
    /// it again in other pieces; then they are settled again.
    fn holds(&mut self, path: &'t str, version: u32, id: &SessionId) -> rusqlite::Result<bool> {
        let ids = match self.known.entry((path, version)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(given(self.transaction, path, version)?),
        };
        Ok(ids.contains(id))
    }
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

/// Drops a session that is one no longer, and what is kept beside it, but for the grades in the table for them, which may
/// have been paid for. Says whether it was there.
fn drop_session(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<bool> {
    for table in ["joined", "rework"] {
        transaction.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([id])?;
    }
    transaction.prepare_cached(DROP_PRINT)?.execute([id])?;
    Ok(transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])? > 0)
}

/// Drops the fingerprint of a session that is there.
const DROP_PRINT: &str = "DELETE FROM fingerprints WHERE number = (SELECT number FROM sessions WHERE id = ?1)";

/// Whether a session is kept as one of a transcript in this place.
fn is_at(transaction: &Transaction<'_>, id: &str, path: &str) -> rusqlite::Result<bool> {
    transaction.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1 AND path = ?2")?.exists([id, path])
}

/// Keeps transcripts. Says which ones somebody has forgotten meanwhile.
fn put_entries(transaction: &Transaction<'_>, entries: &[Rows], owner: Owner) -> rusqlite::Result<Vec<(String, u32)>> {
    let (mut stale, mut forgotten, mut tables) = (Vec::new(), Vec::new(), Tables::new(transaction)?);
    for entry in entries {
        match tables.put_entry(entry, owner)? {
            None => forgotten.push((entry.file.path.clone(), entry.file.version)),
            Some(ids) if ids.is_empty() => {}
            Some(ids) => stale.push((ids, &entry.file.path)),
        }
    }
    // Judged under other origins they are not.
    let judged: Vec<String> = tables.origins.iter().map(|(_, id)| id.to_string()).collect();
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
        if is_at(transaction, id, path)? {
            drop_session(transaction, id)?;
            // By their whole keys: there is no index by session alone.
            for table in ["grades", "outcomes"] {
                let sql = format!("DELETE FROM {table} WHERE origin IN (SELECT id FROM origins) AND session = ?1");
                transaction.prepare_cached(&sql)?.execute([id])?;
            }
        }
    }
    Ok(())
}

/// What a transaction puts transcripts and sessions into.
struct Tables<'t> {
    transaction: &'t Transaction<'t>,
    files: Table<'t>,
    holdings: Table<'t>,
    sessions: Table<'t>,
    joined: Table<'t>,
    prints: Table<'t>,
    /// Whether anything was said of sessions that does not stand in their rows. In a first run nothing was.
    apart: bool,
    /// Origins that were looked up: hundreds of sessions have the same two.
    origins: Vec<(Provenance, i64)>,
}

/// Where the grade and the outcome come from that stand in the row of a session.
#[derive(Clone, Copy, Default)]
struct Origins {
    grade: Option<i64>,
    outcome: Option<i64>,
}

impl<'t> Tables<'t> {
    fn new(transaction: &'t Transaction<'t>) -> rusqlite::Result<Tables<'t>> {
        let table = |into| Table::new(transaction, into);
        Ok(Tables {
            transaction,
            files: table(
                "files (path, inode, size, mtime_ns, offset, tail, decoder, version, role, reading, sessions)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?,
            holdings: table("holdings (path, version, kind, keys, pieces) VALUES (?1, ?2, ?3, ?4, ?5)")?,
            sessions: table(
                "sessions (id, path, version, kind, recorded, agent, project, title, model, from_ms, to_ms, open,
                 outcome_origin, substance, intent, status, goal, evidence, lack, probability, outcome,
                 grade_origin, thousandths, tier, overall, readings, summary, facts, progress)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                 ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
            )?,
            joined: table("joined (session, parts) VALUES (?1, ?2)")?,
            prints: table(
                "fingerprints (number, session, repository, from_ms, to_ms, print) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            apart: transaction
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM grades) OR EXISTS (SELECT 1 FROM outcomes)")?
                .query_row([], |row| row.get(0))?,
            origins: Vec::new(),
        })
    }

    /// Keeps a transcript, unless it is forgotten. Says which sessions it had before that are no longer its own.
    fn put_entry(&mut self, entry: &Rows, owner: Owner) -> rusqlite::Result<Option<Vec<SessionId>>> {
        let Rows { file, role, is_new, reading, holding, sessions, joined, .. } = entry;
        let (path, version) = (file.path.as_str(), file.version);
        // A rewritten transcript is another one in the same place: the old sessions stay, and so does their archive.
        let mut stale = if *is_new { Vec::new() } else { given(self.transaction, path, version)? };
        stale.retain(|id| !sessions.iter().any(|session| session.id == *id));
        let row = params![
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
            (sessions.len() + joined.iter().filter(|joined| joined.is_put).count()) as i64,
        ];
        let known = self.files.put_new(row)?;
        if known == Known::Before {
            let sql = "UPDATE files SET inode = ?2, size = ?3, mtime_ns = ?4, offset = ?5, tail = ?6, decoder = ?7,
                       version = ?8, role = ?9, reading = ?10, sessions = ?11 WHERE path = ?1 AND role != 'forgotten'";
            if self.transaction.prepare_cached(sql)?.execute(row)? == 0 {
                return Ok(None);
            }
        }
        if let Some(holding) = holding {
            let kind = role.session().map_or("", |kind| kind.name());
            self.holdings.put(params![path, version, kind, holding.keys, holding.pieces])?;
        } else if !*is_new {
            self.transaction
                .prepare_cached("DELETE FROM holdings WHERE path = ?1 AND version = ?2")?
                .execute(params![path, version])?;
        }
        for session in sessions {
            self.put_unless_held(session, path, version, owner)?;
        }
        for JoinedRows { session, joined, parts, .. } in joined.iter().filter(|joined| joined.is_put) {
            if self.put_unless_held(session, path, version, owner)? {
                self.joined.put(params![session.id.0, joined])?;
            }
            if known == Known::Before {
                // Another process has put it since it was found to be new, and perhaps piece by piece.
                for StoredPart { id: SessionId(id), .. } in &parts[1..] {
                    if is_at(self.transaction, id, path)? {
                        self.set_apart(id, Origins::default())?;
                        drop_session(self.transaction, id)?;
                    }
                }
            }
        }
        Ok(Some(stale))
    }

    /// Keeps a session, and says so. One that another transcript holds too is left alone until it is known whose it is.
    fn put_unless_held(
        &mut self,
        session: &SessionRows,
        path: &str,
        version: u32,
        owner: Owner,
    ) -> rusqlite::Result<bool> {
        if self.put_new_session(session, path, version)? == Known::Before {
            if owner == Owner::Open && is_held_elsewhere(self.transaction, &session.id, path)? {
                return Ok(false);
            }
            self.replace_session(session, path, version)?;
        }
        Ok(true)
    }

    /// Keeps a session with its grade, in the place of what was known of it.
    fn put_session(&mut self, session: &SessionRows, path: &str, version: u32) -> rusqlite::Result<()> {
        match self.put_new_session(session, path, version)? {
            Known::Before => self.replace_session(session, path, version),
            Known::Not => Ok(()),
        }
    }

    /// The same, for one that is there. It keeps its number.
    fn replace_session(&mut self, session: &SessionRows, path: &str, version: u32) -> rusqlite::Result<()> {
        let origins = self.origins(session)?;
        self.set_apart(&session.id.0, origins)?;
        let mut statement = self.transaction.prepare_cached(
            "UPDATE sessions SET path = ?2, version = ?3, kind = ?4, recorded = ?5, agent = ?6, project = ?7,
             title = ?8, model = ?9, from_ms = ?10, to_ms = ?11, open = ?12, outcome_origin = ?13, substance = ?14,
             intent = ?15, status = ?16, goal = ?17, evidence = ?18, lack = ?19, probability = ?20, outcome = ?21,
             grade_origin = ?22, thousandths = ?23, tier = ?24, overall = ?25, readings = ?26, summary = ?27,
             facts = ?28, progress = ?29 WHERE id = ?1 RETURNING number",
        )?;
        let number = with_session(session, path, version, origins, |row| statement.query_row(row, |row| row.get(0)))?;
        self.take_back(&session.id, origins)?;
        self.put_print(session, number, Known::Before)
    }

    /// Keeps a session that is not there yet.
    fn put_new_session(&mut self, session: &SessionRows, path: &str, version: u32) -> rusqlite::Result<Known> {
        let origins = self.origins(session)?;
        let known = with_session(session, path, version, origins, |row| self.sessions.put_new(row))?;
        if known == Known::Not {
            let number = self.transaction.last_insert_rowid();
            self.take_back(&session.id, origins)?;
            self.put_print(session, number, known)?;
        }
        Ok(known)
    }

    /// Where what is said of a session comes from.
    fn origins(&mut self, session: &SessionRows) -> rusqlite::Result<Origins> {
        let grade = match &session.grade {
            Some(grade) => Some(self.origin(&grade.provenance)?),
            None => None,
        };
        Ok(Origins { grade, outcome: Some(self.origin(&OUTCOMES)?) })
    }

    /// Drops what was set apart and stands in the row of a session again: what comes from one origin is in one place.
    fn take_back(&mut self, id: &SessionId, origins: Origins) -> rusqlite::Result<()> {
        if !self.apart {
            return Ok(());
        }
        for (table, origin) in [("grades", origins.grade), ("outcomes", origins.outcome)] {
            let sql = format!("DELETE FROM {table} WHERE origin = ?1 AND session = ?2");
            self.transaction.prepare_cached(&sql)?.execute(params![origin, id.0])?;
        }
        Ok(())
    }

    /// Keeps apart what stands in the row of a session that is about to go, or to have in it what comes from elsewhere.
    fn set_apart(&mut self, id: &str, unless: Origins) -> rusqlite::Result<()> {
        let grades = "INSERT OR REPLACE INTO grades (origin, session, thousandths, tier, overall, readings)
                      SELECT grade_origin, id, thousandths, tier, overall, readings FROM sessions
                      WHERE id = ?1 AND grade_origin IS NOT NULL AND grade_origin IS NOT ?2";
        let outcomes = "INSERT OR REPLACE INTO outcomes
                        (origin, session, substance, intent, status, goal, evidence, lack, probability, detail)
                        SELECT outcome_origin, id, substance, intent, status, goal, evidence, lack, probability, outcome
                        FROM sessions WHERE id = ?1 AND outcome_origin IS NOT NULL AND outcome_origin IS NOT ?2";
        for (sql, unless) in [(grades, unless.grade), (outcomes, unless.outcome)] {
            self.apart |= self.transaction.prepare_cached(sql)?.execute(params![id, unless])? > 0;
        }
        Ok(())
    }

    /// Keeps a grade of a session that is already there: in its row, if one from the same origin stands there.
    fn put_grade(&mut self, id: &SessionId, grade: &GradeRow, texts: &Texts) -> rusqlite::Result<()> {
        let GradeRow { provenance, thousandths, tier, overall, readings } = grade;
        let tier = tier.as_ref().map(|tier| texts.get(tier));
        let (overall, readings) = (texts.get(overall), texts.get(readings));
        let row = params![self.origin(provenance)?, id.0, thousandths, tier, overall, readings];
        let sql = "UPDATE sessions SET thousandths = ?3, tier = ?4, overall = ?5, readings = ?6
                   WHERE id = ?2 AND grade_origin = ?1";
        if self.transaction.prepare_cached(sql)?.execute(row)? == 0 {
            let into = "grades (origin, session, thousandths, tier, overall, readings) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            Table::new(self.transaction, into)?.put(row)?;
        }
        Ok(())
    }

    /// Keeps the outcome of a session by the offline judge in the same way.
    fn put_outcome(&mut self, id: &SessionId, outcome: &OutcomeRow, texts: &Texts) -> rusqlite::Result<()> {
        let OutcomeRow { substance, intent, status, goal, evidence, lack, probability, detail } = outcome;
        let (origin, detail) = (self.origin(&OUTCOMES)?, texts.get(detail));
        let row = params![origin, id.0, substance, intent, status, goal, evidence, lack, probability, detail];
        let sql = "UPDATE sessions SET substance = ?3, intent = ?4, status = ?5, goal = ?6, evidence = ?7, lack = ?8,
                   probability = ?9, outcome = ?10 WHERE id = ?2 AND outcome_origin = ?1";
        if self.transaction.prepare_cached(sql)?.execute(row)? == 0 {
            let into = "outcomes
                (origin, session, substance, intent, status, goal, evidence, lack, probability, detail)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            Table::new(self.transaction, into)?.put(row)?;
        }
        Ok(())
    }

    /// Keeps the fingerprint of a session of this number, if it has one.
    fn put_print(&mut self, session: &SessionRows, number: i64, known: Known) -> rusqlite::Result<()> {
        let SessionRows { id: SessionId(id), print, .. } = session;
        if let Some(PrintRow { repository, from, to, print }) = print {
            self.prints.put(params![number, id, repository, from.0, to.0, print])?;
        } else if known == Known::Before {
            // What changed nothing has nothing that could be taken back.
            self.transaction.prepare_cached(DROP_PRINT)?.execute([id])?;
            self.transaction.prepare_cached("DELETE FROM rework WHERE session = ?1")?.execute([id])?;
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

/// Shows the row of a session.
fn with_session<R>(
    session: &SessionRows,
    path: &str,
    version: u32,
    origins: Origins,
    put: impl FnOnce(&[&dyn ToSql]) -> R,
) -> R {
    let (grade, outcome, texts) = (session.grade.as_ref(), &session.outcome, &session.texts);
    put(params![
        session.id.0,
        path,
        version,
        session.kind.name(),
        session.recorded,
        session.agent,
        session.project.as_str(),
        session.title.as_str(),
        texts.get(&session.model),
        session.from.map(|at| at.0),
        session.to.map(|at| at.0),
        session.open,
        origins.outcome,
        outcome.substance,
        outcome.intent,
        outcome.status,
        outcome.goal,
        outcome.evidence,
        outcome.lack,
        outcome.probability,
        texts.get(&outcome.detail),
        origins.grade,
        grade.and_then(|grade| grade.thousandths),
        grade.and_then(|grade| grade.tier.as_ref()).map(|tier| texts.get(tier)),
        grade.map(|grade| texts.get(&grade.overall)),
        grade.map(|grade| texts.get(&grade.readings)),
        session.summary.as_str(),
        texts.get(&session.facts),
        texts.get(&session.progress)
    ])
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
