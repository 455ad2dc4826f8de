//! What Langfuse knows to be scored, so that two machines do not score the same session twice.

use super::encode::{self, OVERALL, PROCESS, Place};
use super::plan::{moment, withdrawn};
use super::target::Targets;
use crate::langfuse::{Client, LangfuseError, On, StoredScore, Subject, Window};
use crate::sources::langfuse::pull::{Seen, trace_key};
use crate::stores::Row;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::{SessionId, Timestamp};
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

/// The sessions that a model has judged by this rubric and as they are now.
pub fn judged(
    client: &Client,
    rows: &[Row],
    targets: &Targets,
    rubric: &Rubric,
) -> Result<HashSet<SessionId>, LangfuseError> {
    let mut judged = HashSet::new();
    let dimensions: Vec<&str> = rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    // A session with too little in it has no overall score, but it may have others.
    for names in [&[OVERALL], dimensions.as_slice()] {
        let mut by_id: HashMap<String, &Row> = HashMap::new();
        for row in rows.iter().filter(|row| !judged.contains(&row.session.id)) {
            let target = targets.target(row);
            let whole = [Place::Whole, Place::WholeTrace];
            for place in if target.whole { whole } else { [Place::Part, Place::PartTrace] } {
                for generation in GENERATIONS {
                    let id = |name| encode::id(row, &target, (name, &rubric.id()), place, generation);
                    by_id.extend(names.iter().map(|name| (id(name), row)));
                }
            }
        }
        let ids: Vec<String> = by_id.keys().cloned().collect();
        let there = client.scores_by_id(&ids)?;
        let there = there.iter().filter(|score| by_a_model(score) && withdrawn(score).is_none());
        judged.extend(there.filter_map(|score| {
            let row = by_id.get(&score.id)?;
            let at = moment(&score.metadata["session_to"]);
            (at.is_some() && at >= row.session.to).then(|| row.session.id.clone())
        }));
    }
    Ok(judged)
}

/// The generations of ids that are looked for. Of scores whose ids are later still it is not known here, and such a session
/// is scored again.
const GENERATIONS: [u32; 3] = [0, 1, 2];

fn by_a_model(score: &StoredScore) -> bool {
    moment(&score.metadata["judged_at"]).is_some()
}

/// Up to when sessions were scored, by keys of sessions and of traces.
#[derive(Debug, Default)]
pub struct Scored {
    sessions: HashMap<u64, Timestamp>,
    traces: HashMap<u64, Timestamp>,
}

/// A score is as old as what it is about, and stays on the day of its first version while a session goes on.
const BEFORE_MS: i64 = 30 * 24 * 3600 * 1000;
/// What ends a turn may be told a little later than what happened in it.
const LATE_MS: i64 = 60_000;

impl Scored {
    /// Reads what was scored by this rubric, of sessions in which something happened in a stretch of time. Where a model
    /// is to judge, the offline judge's scores are none. Overall scores come first, all in one list; those sessions that
    /// are not among them may have others, and are asked about by their ids, then by the ids that scores on a trace have.
    pub fn read(
        client: &Client,
        rubric: &Rubric,
        models: bool,
        window: Window,
        seen: &[Seen<'_>],
    ) -> Result<Scored, LangfuseError> {
        let mut scored = Scored::default();
        let window = Window { from: Timestamp(window.from.0 - BEFORE_MS), to: window.to };
        let version = rubric.id();
        let see = |scored: &mut Scored, score: StoredScore| {
            let counts = withdrawn(&score).is_none() && (by_a_model(&score) || !models);
            if counts && score.metadata["rubric"] == version.as_str() {
                scored.add(&score);
            }
        };
        for name in [OVERALL, PROCESS] {
            client.scores_named(name, window, &mut |score| see(&mut scored, score))?;
        }
        let open = seen.iter().filter(|seen| !scored.covers(seen)).map(|seen| seen.session);
        let open: Vec<&str> = open.collect();
        client.scores_on(On::Sessions, &open, Some(window), &mut |score| see(&mut scored, score))?;
        let open = seen.iter().filter(|seen| !scored.covers(seen)).map(|seen| seen.session);
        let on_trace = |session| {
            let names = rubric.dimensions.iter().map(|dimension| (dimension.name.as_str(), version.as_str()));
            let all = names.flat_map(|what| GENERATIONS.map(|generation| (what, generation)));
            all.map(|(what, generation)| encode::id_of_whole(session, what, Place::WholeTrace, generation))
                .collect::<Vec<_>>()
        };
        let ids: Vec<String> = open.flat_map(on_trace).collect();
        client.scores_by_id(&ids)?.into_iter().for_each(|score| see(&mut scored, score));
        Ok(scored)
    }

    fn add(&mut self, score: &StoredScore) {
        let told = [&score.metadata["session_to"], &score.metadata["known_to"]];
        let Some(to) = told.into_iter().filter_map(moment).max() else { return };
        let later = |known: &mut Timestamp| *known = to.max(*known);
        let mut sessions: Vec<&str> = score.metadata["langfuse_session"].as_str().into_iter().collect();
        sessions.extend(score.metadata["other_sessions"].as_array().into_iter().flatten().filter_map(|id| id.as_str()));
        match &score.subject {
            Subject::Session(session) => sessions.push(session),
            Subject::Trace(trace) => later(self.traces.entry(trace_key(trace)).or_insert(to)),
            _ => {}
        }
        for session in sessions {
            later(self.sessions.entry(xxh3_64(session.as_bytes())).or_insert(to));
        }
    }

    /// Whether a session was scored, and nothing has happened in it since.
    pub fn covers(&self, seen: &Seen<'_>) -> bool {
        let session = self.sessions.get(&xxh3_64(seen.session.as_bytes()));
        let traces = seen.traces.keys().filter_map(|trace| self.traces.get(trace));
        let to = session.into_iter().chain(traces).max();
        to.is_some_and(|to| *to >= seen.begun && to.0 + LATE_MS >= seen.ended.0)
    }
}
