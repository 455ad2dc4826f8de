//! A store of plain maps. It shows what the methods of the port mean, and is what other stores are compared with.

use super::{
    Answered, Archived, Became, Copies, Entangled, Entry, File, FileState, Graded, Holding, Judged, Judgement, Lookup,
    Query, Reading, Result, Role, Row, Ruled, Said, Sessions, Store, StoredPart, Todo, Topic, Transcripts, Usage,
};
use hotwash_core::facts::Facts;
use hotwash_core::outcomes::Outcome;
use hotwash_core::redaction::Redacted;
use hotwash_core::rework::{Fingerprint, Placed, Rework, repository};
use hotwash_core::scores::{Grade, Provenance, offline};
use hotwash_core::sessions::topic::Known;
use hotwash_core::sessions::{Key, Piece, SessionId, SessionKind, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// By place and version.
type Place = (String, u32);

/// A store that is gone with the process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    files: BTreeMap<String, (FileState, Role, Reading)>,
    holdings: BTreeMap<Place, (Role, Vec<Key>, Vec<Piece>)>,
    sessions: BTreeMap<SessionId, (Place, Graded)>,
    /// By session and the hash of the rubric.
    grades: BTreeMap<(SessionId, String), Grade>,
    outcomes: BTreeMap<SessionId, Outcome>,
    rework: BTreeMap<SessionId, Rework>,
    marks: BTreeMap<(Todo, String), i64>,
    marked: i64,
    archive: BTreeMap<Place, Archived>,
    answers: BTreeMap<String, Answered>,
    judgements: Vec<Judgement>,
    topics: BTreeMap<Key, Topic>,
    topics_asked: BTreeSet<(String, String, String, Key)>,
    batches: BTreeMap<String, (Timestamp, String)>,
}

impl Memory {
    /// Whether a transcript holds a piece of this id.
    fn holds(&self, place: &Place, id: &SessionId) -> bool {
        self.holdings.get(place).is_some_and(|(_, _, pieces)| pieces.iter().any(|piece| piece.id() == *id))
    }

    /// Keeps transcripts; where `is_open`, a session that another one holds is left to that.
    fn put_entries(&mut self, entries: &[Entry], is_open: bool) -> Vec<Place> {
        let (mut forgotten, mut stale) = (Vec::new(), Vec::new());
        for entry in entries {
            let place = (entry.file.path.clone(), entry.file.version);
            if self.files.get(&place.0).is_some_and(|(_, role, _)| *role == Role::Forgotten) {
                forgotten.push(place);
                continue;
            }
            let before = self.holdings.remove(&place).map(|(_, _, pieces)| pieces).unwrap_or_default();
            stale.extend(before.iter().map(|piece| (piece.id(), place.0.clone())));
            let reading = serde_json::from_str(&entry.reading).unwrap_or_default();
            self.files.insert(place.0.clone(), (entry.file.clone(), entry.role, reading));
            if !entry.keys.is_empty() || !entry.pieces.is_empty() {
                self.holdings.insert(place.clone(), (entry.role, entry.keys.clone(), entry.pieces.clone()));
            }
            for graded in &entry.sessions {
                let other = self.sessions.get(&graded.session.id).map(|(other, _)| other.clone());
                let is_others = |other: Place| other.0 != place.0 && self.holds(&other, &graded.session.id);
                if !(is_open && other.is_some_and(is_others)) {
                    self.put_session(place.clone(), graded, is_open);
                }
            }
        }
        for (id, path) in stale {
            self.drop_stale(&id, &path);
        }
        forgotten
    }

    /// Drops a session that a transcript gave before, unless it does so still or another one does.
    fn drop_stale(&mut self, id: &SessionId, path: &str) {
        let is_stale = |(place, _): &(Place, Graded)| place.0 == path && !self.holds(place, id);
        if self.sessions.get(id).is_some_and(is_stale) {
            self.sessions.remove(id);
            self.rework.remove(id);
            self.outcomes.remove(id);
            self.grades.retain(|(of, _), _| of != id);
        }
    }

    fn put_session(&mut self, place: Place, graded: &Graded, is_open: bool) {
        let id = &graded.session.id;
        for part in graded.parts.iter().skip(1) {
            if self.sessions.get(&part.id).is_some_and(|(at, _)| !is_open || at.0 == part.path) {
                self.sessions.remove(&part.id);
            }
        }
        if let Some(score) = graded.grade.scores.first() {
            self.grades.insert((id.clone(), score.provenance.rubric_hash.clone()), graded.grade.clone());
        }
        self.outcomes.insert(id.clone(), graded.outcome.clone());
        self.sessions.insert(id.clone(), (place, graded.clone()));
    }

    /// The latest judgement of a session under a rubric, if it is of the session as it is.
    fn judgement(&self, rubric_hash: &str, id: &SessionId) -> Option<&Judgement> {
        let of_it = self
            .judgements
            .iter()
            .filter(|said| said.session == *id && said.judging.provenance.rubric_hash == rubric_hash);
        let mut of_it: Vec<&Judgement> = of_it.collect();
        of_it.sort_by_key(|said| said.judging.at);
        // What breaks off takes nothing from what was whole.
        of_it.into_iter().reduce(|before, said| {
            let is_whole = said.judging.complete || !before.judging.complete;
            if is_whole || !before.is_of(said.from, said.to) { said } else { before }
        })
    }

    fn row(&self, id: &SessionId, rubric_hash: &str) -> Option<Row> {
        let ((path, version), Graded { session, .. }) = self.sessions.get(id)?;
        let own = &session.facts.get().tokens;
        let mut row = Row {
            session: session.clone(),
            path: path.clone(),
            version: *version,
            grade: self.grades.get(&(id.clone(), rubric_hash.to_owned())).cloned(),
            with_subagents: Usage { subagents: 0, tokens: own.tokens, cost: own.cost_usd.clone() },
            outcome: self.outcomes.get(id).cloned(),
            ruled: None,
            rework: self.rework.get(id).cloned(),
            judged: None,
        };
        let mut seen = BTreeSet::new();
        for child in self.children(&row) {
            let (_, Graded { session, .. }) = &self.sessions[&child];
            seen.extend(session.agent.clone());
            let tokens = &session.facts.get().tokens;
            row.with_subagents.add(&tokens.tokens, &tokens.cost_usd);
        }
        for (agent, (tokens, cost)) in &session.progress {
            if session.kind == SessionKind::Main && !seen.contains(agent) {
                row.with_subagents.add(tokens, cost);
            }
        }
        let said = self.judgement(rubric_hash, id).filter(|said| said.is_of(session.from, session.to));
        if let Some(said) = said {
            row.grade = said.grade.clone().or(row.grade);
            row.outcome = said.outcome.clone().or(row.outcome);
            row.judged = Some(said.judging.clone());
        }
        let by_model = said.is_some_and(|said| said.outcome.is_some());
        let reworked = row.rework.as_ref().is_some_and(|rework| rework.reworked);
        row.ruled = row.outcome.as_ref().map(|outcome| Ruled { ruling: outcome.ruling(), reworked, by_model });
        Some(row)
    }

    /// The sessions of subagents that a session spawned: of each transcript of its own, those that began in its pieces.
    fn children(&self, row: &Row) -> Vec<SessionId> {
        if row.session.kind != SessionKind::Main || row.session.recorded.is_empty() {
            return Vec::new();
        }
        let parts = self.parts_of(&row.session.id, (&row.path, row.version));
        let places: BTreeSet<(Place, String)> =
            parts.iter().map(|part| ((part.path.clone(), part.version), part.recorded.clone())).collect();
        let mut found = Vec::new();
        let whole = [((row.path.clone(), row.version), row.session.recorded.clone())].into();
        for (place, recorded) in if places.is_empty() { whole } else { places } {
            let pieces = self.holdings.get(&place).map(|(_, _, pieces)| pieces.as_slice()).unwrap_or_default();
            let is_own = |from: Option<Timestamp>| {
                let last = pieces.iter().rfind(|piece| piece.starts <= from).or(pieces.first());
                parts.is_empty() || last.is_none_or(|last| parts.iter().any(|part| part.id == last.id()))
            };
            let children = self.sessions.values().filter(|(_, Graded { session, .. })| {
                session.kind == SessionKind::Subagent && session.recorded == recorded && is_own(session.from)
            });
            found.extend(children.map(|(_, Graded { session, .. })| (session.from, session.id.clone())));
        }
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    }

    fn parts_of(&self, id: &SessionId, (path, version): (&str, u32)) -> Vec<StoredPart> {
        match self.sessions.get(id) {
            Some((_, graded)) if graded.parts.len() > 1 => graded.parts.clone(),
            Some((_, graded)) if self.holds(&(path.to_owned(), version), id) => {
                let (_, _, pieces) = &self.holdings[&(path.to_owned(), version)];
                let own = pieces.iter().filter(|piece| piece.id() == *id);
                own.map(|piece| StoredPart::of(path, version, &graded.session.recorded, piece)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Store for Memory {
    fn reader(&self) -> Result<Option<Box<dyn Store + Send>>> {
        Ok(None)
    }

    fn lasts(&self) -> bool {
        false
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn schema(&self) -> Result<i64> {
        Ok(0)
    }
}

impl Transcripts for Memory {
    fn files(&self) -> Result<Vec<File>> {
        let files = self.files.values().map(|(state, role, reading)| {
            let begins = |(place, _): &&(Place, Graded)| (&place.0, place.1) == (&state.path, state.version);
            let sessions = self.sessions.values().filter(begins).count() as u64;
            File { state: state.clone(), became: Became { role: *role, sessions, reading: *reading } }
        });
        Ok(files.collect())
    }

    fn file(&self, path: &str) -> Result<Option<FileState>> {
        Ok(self.files.get(path).map(|(state, _, _)| state.clone()))
    }

    fn holdings(&self) -> Result<Vec<Holding>> {
        let holdings = self.holdings.iter().map(|((path, version), (role, keys, pieces))| {
            let is_newest = self.files.get(path).is_some_and(|(state, _, _)| state.version == *version);
            let (keys, pieces) = (keys.clone(), pieces.clone());
            Holding { path: path.clone(), version: *version, is_newest, role: *role, keys, pieces }
        });
        Ok(holdings.collect())
    }

    fn put(&mut self, entries: &[Entry], archived: &[Archived]) -> Result<Vec<(String, u32)>> {
        let forgotten = self.put_entries(entries, true);
        let is_kept = |path: &String| !forgotten.iter().any(|(forgotten, _)| forgotten == path);
        for entry in archived.iter().filter(|entry| is_kept(&entry.path)) {
            self.archive.insert((entry.path.clone(), entry.version), entry.clone());
        }
        let shares = |entry: &&Entry| !entry.keys.is_empty() || !entry.pieces.is_empty();
        let paths = entries.iter().filter(shares).map(|entry| entry.file.path.clone());
        self.mark(Todo::Settle, &paths.filter(is_kept).collect::<Vec<_>>())?;
        Ok(forgotten)
    }

    fn put_own(&mut self, entries: &[Entry], copies: &[&str]) -> Result<()> {
        let mut stale = Vec::new();
        for path in copies {
            let Some((state, role, _)) = self.files.get_mut(*path).filter(|(_, role, _)| *role != Role::Forgotten)
            else {
                continue;
            };
            *role = Role::Copy;
            if let Some((role, _, pieces)) = self.holdings.get_mut(&(state.path.clone(), state.version)) {
                *role = Role::Copy;
                stale.extend(pieces.drain(..).map(|piece| (piece.id(), *path)));
            }
        }
        self.put_entries(entries, false);
        for (id, path) in stale {
            self.drop_stale(&id, path);
        }
        Ok(())
    }

    fn marked(&self, todo: Todo) -> Result<BTreeMap<String, i64>> {
        let marks = self.marks.iter().filter(|((of, _), _)| *of == todo);
        Ok(marks.map(|((_, path), mark)| (path.clone(), *mark)).collect())
    }

    fn mark(&mut self, todo: Todo, paths: &[String]) -> Result<()> {
        for path in paths {
            self.marked += 1;
            self.marks.insert((todo, path.clone()), self.marked);
        }
        Ok(())
    }

    fn unmark(&mut self, todo: Todo, marks: &BTreeMap<String, i64>) -> Result<()> {
        self.marks.retain(|(of, path), mark| *of != todo || marks.get(path) != Some(mark));
        Ok(())
    }

    fn entangled(&self, ids: &[SessionId]) -> Result<Entangled> {
        let mut found = Entangled::default();
        let mut next: Vec<SessionId> = ids.iter().filter(|id| self.sessions.contains_key(id)).cloned().collect();
        while let Some(id) = next.pop() {
            let (place, graded) = &self.sessions[&id];
            if !found.sessions.insert(id) {
                continue;
            }
            let parts = graded.parts.iter().map(|part| (part.path.clone(), part.version));
            let places: BTreeSet<Place> = parts.skip(1).chain([place.clone()]).collect();
            let recorded: BTreeSet<&String> =
                graded.parts.iter().map(|part| &part.recorded).chain([&graded.session.recorded]).collect();
            let is_main = graded.session.kind == SessionKind::Main;
            let goes_along = |(at, other): &(Place, Graded)| {
                let is_child =
                    other.session.kind == SessionKind::Subagent && recorded.contains(&other.session.recorded);
                let shares = other.parts.iter().skip(1).any(|part| places.contains(&(part.path.clone(), part.version)));
                places.contains(at) || shares || is_main && is_child && !other.session.recorded.is_empty()
            };
            let others = self.sessions.iter().filter(|(_, session)| goes_along(session));
            next.extend(others.map(|(id, _)| id.clone()));
            found.transcripts.extend(places);
        }
        let folders: Vec<String> = found
            .transcripts
            .iter()
            .filter_map(|(path, _)| Some(format!("{}/", path.strip_suffix(".jsonl")?)))
            .collect();
        for (state, _, _) in self.files.values() {
            if folders.iter().any(|folder| state.path.starts_with(folder)) {
                found.transcripts.insert((state.path.clone(), state.version));
            }
        }
        let keys = |place: &Place| self.holdings.get(place).map(|(_, keys, _)| keys.as_slice()).unwrap_or_default();
        let known: BTreeSet<Key> = found.transcripts.iter().flat_map(keys).copied().collect();
        for (state, role, _) in self.files.values() {
            let place = (state.path.clone(), state.version);
            let held = keys(&place);
            if *role == Role::Copy && !held.is_empty() && held.iter().all(|key| known.contains(key)) {
                found.transcripts.insert(place);
            }
        }
        Ok(found)
    }

    fn forget(&mut self, ids: &[SessionId]) -> Result<Vec<Archived>> {
        let Entangled { sessions, transcripts } = self.entangled(ids)?;
        let mut gone: BTreeSet<SessionId> = sessions.into_iter().chain(ids.iter().cloned()).collect();
        let mut removed = Vec::new();
        for place in &transcripts {
            removed.extend(self.archive.remove(place));
            if let Some((state, role, reading)) = self.files.get_mut(&place.0)
                && state.version == place.1
            {
                (*role, *reading) = (Role::Forgotten, Reading::default());
            }
            self.marks.remove(&(Todo::Cut, place.0.clone()));
            if let Some((role, keys, pieces)) = self.holdings.get_mut(place) {
                *role = Role::Forgotten;
                gone.extend(pieces.drain(..).map(|piece| piece.id()));
                self.topics.retain(|key, _| !keys.contains(key));
                self.topics_asked.retain(|(_, _, _, key)| !keys.contains(key));
            }
        }
        self.sessions.retain(|id, _| !gone.contains(id));
        self.grades.retain(|(id, _), _| !gone.contains(id));
        self.outcomes.retain(|id, _| !gone.contains(id));
        self.rework.retain(|id, _| !gone.contains(id));
        self.judgements.retain(|said| !gone.contains(&said.session));
        self.answers.retain(|_, answer| !gone.contains(&answer.session) && !answer.session.0.is_empty());
        Ok(removed)
    }
}

impl Sessions for Memory {
    fn sessions(&self, query: &Query) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = self
            .sessions
            .keys()
            .filter_map(|id| self.row(id, &query.rubric_hash))
            .filter(|row| {
                let Row { session, path, .. } = row;
                let named = |path: &String| query.paths.as_ref().is_none_or(|paths| paths.binary_search(path).is_ok());
                let parts = self.sessions[&session.id].1.parts.iter().skip(1);
                (query.subagents || session.kind == SessionKind::Main)
                    && query.since.is_none_or(|since| session.to.is_some_and(|to| to >= since))
                    && query.until.is_none_or(|until| session.from.is_some_and(|from| from < until))
                    && query.project.as_ref().is_none_or(|project| session.project.as_str().contains(project))
                    && (named(path) || parts.map(|part| &part.path).any(named))
            })
            .collect();
        if query.without_facts {
            for row in &mut rows {
                row.session.facts = Redacted::none();
                row.with_subagents = Usage::default();
            }
        }
        rows.sort_by_key(|row| (Reverse(row.session.to), row.session.id.clone()));
        Ok(rows)
    }

    fn newest(&self, query: &Query) -> Result<Option<Timestamp>> {
        let query = Query { since: None, subagents: false, ..query.clone() };
        Ok(self.sessions(&query)?.first().and_then(|row| row.session.to))
    }

    fn lookup(&self, prefix: &str, rubric_hash: &str) -> Result<Lookup> {
        let mut ids: BTreeSet<SessionId> = BTreeSet::new();
        let prefix = prefix.to_ascii_lowercase();
        if self.sessions.contains_key(&SessionId(prefix.clone())) {
            ids.insert(SessionId(prefix));
        } else if prefix == "last" {
            ids.extend(self.sessions(&Query::default())?.into_iter().next().map(|row| row.session.id));
        } else {
            let is_long = prefix.len() >= 4;
            let own = self.sessions.iter().filter(|(id, (_, Graded { session, .. }))| {
                let is_main = session.kind == SessionKind::Main;
                id.0.starts_with(&prefix)
                    || is_long && is_main && session.recorded.starts_with(&prefix)
                    || is_long && session.agent.as_ref() == Some(&prefix)
            });
            ids.extend(own.map(|(id, _)| id.clone()));
            if ids.is_empty() {
                let joined = self.sessions.iter().filter(|(_, (_, graded))| graded.parts.len() > 1);
                let is_meant =
                    |part: &StoredPart| part.id.0.starts_with(&prefix) || is_long && part.recorded.starts_with(&prefix);
                let joined = joined.filter(|(_, (_, graded))| graded.parts.iter().any(is_meant));
                ids.extend(joined.map(|(id, _)| id.clone()));
            }
        }
        let mut ids: Vec<SessionId> = ids.into_iter().take(9).collect();
        Ok(match ids.len() {
            0 | 1 => {
                let row = ids.pop().and_then(|id| self.row(&id, rubric_hash));
                row.map_or(Lookup::None, |row| Lookup::One(Box::new(row)))
            }
            _ => Lookup::Many(ids),
        })
    }

    fn subagents(&self, row: &Row, rubric_hash: &str) -> Result<Vec<Row>> {
        Ok(self.children(row).iter().filter_map(|id| self.row(id, rubric_hash)).collect())
    }

    fn judged(&self, query: &Query) -> Result<Vec<Judged>> {
        let rows = self.sessions(&Query { subagents: false, without_facts: false, ..query.clone() })?;
        let judged = rows.into_iter().filter_map(|row| {
            let Ruled { ruling, reworked, by_model } = row.ruled?;
            let model = row.session.facts.get().tokens.models.first().map(ToString::to_string).unwrap_or_default();
            let (id, project, from, to) = (row.session.id, row.session.project, row.session.from, row.session.to);
            Some(Judged { id, project, path: row.path, model, from, to, ruling, reworked, by_model })
        });
        Ok(judged.collect())
    }

    fn parts(&self, row: &Row) -> Result<Vec<StoredPart>> {
        Ok(self.parts_of(&row.session.id, (&row.path, row.version)))
    }

    fn made_of(&self) -> Result<HashMap<SessionId, Vec<StoredPart>>> {
        let parts = |graded: &Graded| if graded.parts.len() > 1 { graded.parts.clone() } else { Vec::new() };
        Ok(self.sessions.iter().map(|(id, (_, graded))| (id.clone(), parts(graded))).collect())
    }

    fn put_sessions(&mut self, sessions: &[Graded]) -> Result<()> {
        for graded in sessions {
            let is_whole = graded.parts.iter().all(|part| self.holds(&(part.path.clone(), part.version), &part.id));
            if let Some(first) = graded.parts.first().filter(|_| is_whole) {
                self.put_session((first.path.clone(), first.version), graded, false);
            }
        }
        Ok(())
    }

    fn ungraded(&self, rubric_hash: &str) -> Result<Vec<(SessionId, Facts)>> {
        let is_offline = |grade: &&Grade| {
            let by = grade.scores.first().map(|score| (&*score.provenance.judge, &*score.provenance.judge_version));
            by == Some((offline::JUDGE, offline::VERSION))
        };
        let lacks = |id: &SessionId| {
            let grade = self.grades.get(&(id.clone(), rubric_hash.to_owned())).filter(is_offline);
            grade.is_none() || !self.outcomes.contains_key(id)
        };
        let ungraded = self.sessions.iter().filter(|(id, _)| lacks(id));
        Ok(ungraded.map(|(id, (_, graded))| (id.clone(), graded.session.facts.get().clone())).collect())
    }

    fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()> {
        for (id, grade) in grades {
            if let Some(score) = grade.scores.first() {
                self.grades.insert((id.clone(), score.provenance.rubric_hash.clone()), grade.clone());
            }
        }
        Ok(())
    }

    fn put_outcomes(&mut self, outcomes: &[(SessionId, Outcome)]) -> Result<()> {
        self.outcomes.extend(outcomes.iter().cloned());
        Ok(())
    }

    fn complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn changes(&self) -> Result<BTreeMap<String, Vec<Placed>>> {
        let mut found = BTreeMap::<String, Vec<Placed>>::new();
        for (id, (_, Graded { session, print, .. })) in &self.sessions {
            if let (Some(from), Some(to), SessionKind::Main, false) =
                (session.from, session.to, session.kind, print.is_empty())
            {
                let placed = Placed { session: id.clone(), from, to };
                found.entry(repository(session.project.as_str()).to_owned()).or_default().push(placed);
            }
        }
        Ok(found)
    }

    fn print(&self, id: &SessionId) -> Result<Fingerprint> {
        Ok(self.sessions.get(id).map(|(_, graded)| graded.print.clone()).unwrap_or_default())
    }

    fn put_rework(
        &mut self,
        changes: &BTreeMap<String, Vec<Placed>>,
        reworked: &[(SessionId, Rework)],
    ) -> Result<bool> {
        let is_same = self.changes()? == *changes;
        if is_same {
            self.rework = reworked.iter().cloned().collect();
        }
        Ok(is_same)
    }
}

impl Said for Memory {
    fn answer(&self, id: &str) -> Result<Option<Answered>> {
        Ok(self.answers.get(id).cloned())
    }

    fn answers(&self, session: &SessionId) -> Result<Vec<Answered>> {
        let mut found: Vec<Answered> =
            self.answers.values().filter(|answer| answer.session == *session).cloned().collect();
        found.sort_by_key(|answer| (answer.at, answer.name.clone()));
        Ok(found)
    }

    fn put_answers(&mut self, answers: &[Answered]) -> Result<()> {
        self.answers.extend(answers.iter().map(|answer| (answer.id.clone(), answer.clone())));
        Ok(())
    }

    fn judged_by(&self, provenance: &Provenance) -> Result<HashMap<SessionId, Judgement>> {
        let ids: BTreeSet<&SessionId> = self.judgements.iter().map(|said| &said.session).collect();
        let latest = ids.into_iter().filter_map(|id| self.judgement(&provenance.rubric_hash, id));
        let by_it = latest.filter(|said| said.judging.provenance == *provenance);
        Ok(by_it.map(|said| (said.session.clone(), said.clone())).collect())
    }

    fn put_judgements(&mut self, judgements: &[Judgement]) -> Result<()> {
        for judgement in judgements {
            let is_before = |said: &Judgement| {
                said.session == judgement.session && said.judging.provenance == judgement.judging.provenance
            };
            let before = self.judgements.iter().position(is_before).map(|at| self.judgements.remove(at));
            let mut judgement = judgement.clone();
            // What was judged in one run stays where another judges the rest of the same.
            if let Some(before) = before.filter(|before| before.is_of(judgement.from, judgement.to)) {
                if judgement.outcome.is_none() && before.outcome.is_some() {
                    judgement.judging = before.judging;
                }
                judgement.grade = judgement.grade.or(before.grade);
                judgement.outcome = judgement.outcome.or(before.outcome);
            }
            self.judgements.push(judgement);
        }
        Ok(())
    }

    fn topics(&self) -> Result<BTreeMap<Key, Topic>> {
        Ok(self.topics.clone())
    }

    fn topics_asked(&self, judge: &str, model: &str, prompt_hash: &str) -> Result<BTreeSet<Key>> {
        let asked = self.topics_asked.iter();
        let by = asked.filter(|(by, of, hash, _)| (&**by, &**of, &**hash) == (judge, model, prompt_hash));
        Ok(by.map(|(_, _, _, key)| *key).collect())
    }

    fn put_topics(&mut self, topics: &[Topic]) -> Result<()> {
        let mut changed = BTreeSet::new();
        for topic in topics {
            let asked = (topic.judge.clone(), topic.model.clone(), topic.prompt_hash.clone(), topic.prompt);
            self.topics_asked.insert(asked);
            let before = self.topics.get(&topic.prompt);
            let known = before.map_or(Known::Nothing, |before| before.known);
            let is_later = before.is_none_or(|before| topic.at >= before.at);
            if known == Known::Nothing || topic.known != Known::Nothing && is_later {
                if known != topic.known {
                    changed.insert(topic.prompt);
                }
                self.topics.insert(topic.prompt, topic.clone());
            }
        }
        let holds = |holding: &Holding| {
            let is_kind = matches!(holding.role, Role::Main | Role::Copy);
            holding.is_newest && is_kind && holding.keys.iter().any(|key| changed.contains(key))
        };
        let paths: Vec<String> = self.holdings()?.into_iter().filter(holds).map(|holding| holding.path).collect();
        self.mark(Todo::Cut, &paths)
    }

    fn batches(&self) -> Result<Vec<(String, Timestamp, String)>> {
        let mut found: Vec<_> =
            self.batches.iter().map(|(id, (at, questions))| (id.clone(), *at, questions.clone())).collect();
        found.sort_by_key(|(id, at, _)| (*at, id.clone()));
        Ok(found)
    }

    fn put_batch(&mut self, id: &str, at: Timestamp, questions: &str) -> Result<()> {
        self.batches.insert(id.to_owned(), (at, questions.to_owned()));
        Ok(())
    }

    fn drop_batch(&mut self, id: &str) -> Result<()> {
        self.batches.remove(id);
        Ok(())
    }
}

impl Copies for Memory {
    fn archive(&self) -> Result<Vec<Archived>> {
        Ok(self.archive.values().cloned().collect())
    }

    fn archived(&self, path: &str) -> Result<Vec<Archived>> {
        Ok(self.archive.values().rev().filter(|entry| entry.path == path).cloned().collect())
    }

    fn put_otherwise(&mut self, all: Vec<Archived>) -> Result<Vec<Archived>> {
        let mut unknown = Vec::new();
        for entry in all {
            match self.archive.get_mut(&(entry.path.clone(), entry.version)) {
                Some(known) => *known = entry,
                None => unknown.push(entry),
            }
        }
        Ok(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    crate::stores::suite::store_suite!(Memory::default());
}
