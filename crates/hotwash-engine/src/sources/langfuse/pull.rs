//! Pulls sessions: lists those of a stretch of time, fetches each whole, and keeps it as a transcript.
//!
//! Memory holds a line about each session and a few words of each row of the one under way. What was kept stays kept:
//! a run that was interrupted goes on where it was.

use super::keep::{Collected, Folder};
use crate::langfuse::{Client, LangfuseError, ObservationQuery, Reads, Row, TraceQuery, Window};
use crate::net::Failing;
use crate::sources::discover::words;
use hotwash_core::sessions::Timestamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// What is asked of a row of a session.
const FIELDS: &str = "core,basic,time,io,metadata,model,usage,trace_context";
/// How many rows come at a time: with all that was said in them, a thousand may be too much for one answer.
const ROWS: u64 = 500;
/// How many sessions are asked for together, and how much they may come to.
const TOGETHER: usize = 25;
const TRACES_TOGETHER: usize = 200;
const LETTERS_TOGETHER: usize = 2000;
/// A session may have begun so long before the stretch of time it is found in.
const BEFORE_MS: i64 = 30 * 24 * 3600 * 1000;
/// Rows may arrive so long after they were made.
const LATE_MS: i64 = 15 * 60 * 1000;

/// Which sessions are wanted.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// By when something happened in them.
    pub window: Window,
    /// Only this user's.
    pub user: Option<&'a str>,
    /// Only those with one of these tags; with any, if empty.
    pub tags: &'a [String],
    /// Only those of one of these environments; of any, if empty.
    pub environments: &'a [String],
    /// Only this one.
    pub session: Option<&'a str>,
    /// Only those with so many traces.
    pub min_traces: usize,
    /// Only so many of them, always the same ones.
    pub sample: Option<usize>,
    /// Also those that were scored before.
    pub rescore: bool,
}

/// What is known of a session without asking for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    No,
    /// It was pulled and scored here.
    Here,
    /// It was pulled here, and is yet to be scored by whoever is to judge now.
    Unscored,
    /// The agent's own transcript is on this machine, which says more.
    OnDisk,
    /// It was forgotten, and stays so.
    Forgotten,
}

/// What pulling asks others, and tells them.
pub struct Around<'a> {
    /// What is known of a session, by its id and its file.
    pub known: &'a dyn Fn(&str, &Path) -> Known,
    /// For each of these sessions, whether Langfuse has scores of it as it is now.
    pub already_scored: &'a AlreadyScored<'a>,
    /// Told how far it is: sessions done, and of how many.
    pub progress: &'a dyn Fn(usize, usize),
}

/// Says for each of some sessions whether it was scored as it is now.
pub type AlreadyScored<'a> = dyn Fn(&[Seen<'_>]) -> Result<Vec<bool>, LangfuseError> + 'a;

/// A session as Langfuse lists it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its id.
    pub session: &'a str,
    /// Its traces in the stretch of time, by `trace_key`, and when each began.
    pub traces: &'a HashMap<u64, i64>,
    /// When the last of them began.
    pub begun: Timestamp,
    /// When the last of them ended, where that is said.
    pub ended: Timestamp,
}

/// What a trace is known by.
pub fn trace_key(trace: &str) -> u64 {
    xxh3_64(trace.as_bytes())
}

/// What came of pulling. Listed is the sum of what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Sessions in which something happened in that time.
    pub listed: usize,
    /// Those that were pulled.
    pub pulled: usize,
    /// Those that were pulled before and have not changed; they are among the files.
    pub unchanged: usize,
    /// Those with too few traces.
    pub too_small: usize,
    /// Those that were scored here before.
    pub scored: usize,
    /// Those that were scored from another machine.
    pub scored_elsewhere: usize,
    /// Those whose transcripts are on this machine.
    pub on_disk: usize,
    /// Those that were forgotten.
    pub forgotten: usize,
    /// Those that are not in the sample.
    pub left_out: usize,
    /// Those that could not be pulled, with the reason.
    pub failed: Vec<(String, String)>,
    /// Rows that came.
    pub rows: u64,
    /// Rows that are none, or have no time.
    pub strange: u64,
    /// The transcripts to be read, sorted.
    pub files: Vec<PathBuf>,
    /// Those of sessions that were scored here before, sorted.
    pub scored_files: Vec<PathBuf>,
}

/// Why nothing can be pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// Langfuse did not answer, or not as it should.
    #[error(transparent)]
    Langfuse(#[from] LangfuseError),
    /// A file could not be written.
    #[error("cannot keep what Langfuse has: {}", words(.0))]
    Disk(#[from] io::Error),
}

/// A session as the list shows it.
#[derive(Clone, Debug, Default)]
struct Listed {
    traces: HashMap<u64, i64>,
    oldest: i64,
    ended: i64,
    /// The latest of all that is said of it, also of when it came to the server.
    newest: i64,
}

impl Listed {
    fn seen<'a>(&'a self, session: &'a str) -> Seen<'a> {
        let begun = self.traces.values().copied().max().unwrap_or_default();
        Seen { session, traces: &self.traces, begun: Timestamp(begun), ended: Timestamp(self.ended) }
    }
}

/// What is noted beside a file: up to where it was pulled, when its last turn had ended, and when it was pulled.
#[derive(Deserialize, Serialize)]
struct Note {
    newest: i64,
    #[serde(default)]
    ended: i64,
    pulled: i64,
}

/// The few things of a row that a list needs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Times {
    end_time: Option<String>,
    updated_at: Option<String>,
}

/// Pulls what is wanted and not here yet.
pub fn pull(client: &Client, folder: &Folder, wanted: &Wanted<'_>, around: &Around<'_>) -> Result<Pulled, PullError> {
    let listed = list(client, wanted)?;
    let mut pulled = Pulled { listed: listed.len(), ..Pulled::default() };
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    for (session, of) in &listed {
        let file = folder.file(session);
        let known = (around.known)(session, &file);
        let here = matches!(known, Known::Here | Known::Unscored);
        let note = if here && file.exists() { noted(&folder.note(session)) } else { None };
        let current = note.as_ref().is_some_and(|note| note.is_current(of));
        // One that has gone on since it was pulled here is as new as one that never was.
        let is_new = known == Known::Unscored || note.is_none_or(|note| note.ended < of.ended);
        match known {
            Known::Forgotten => pulled.forgotten += 1,
            Known::OnDisk => pulled.on_disk += 1,
            _ if of.traces.len() < wanted.min_traces => pulled.too_small += 1,
            Known::Here if current && !wanted.rescore => {
                pulled.scored += 1;
                pulled.scored_files.extend(folder.files(session));
            }
            Known::Here | Known::Unscored | Known::No => {
                let asks = is_new && !wanted.rescore;
                chosen.push(Chosen { session, listed: of, scored: known == Known::Here, current, asks });
            }
        }
    }
    pulled.scored_elsewhere = leave_out_scored(&mut chosen, around.already_scored)?;
    if let Some(sample) = wanted.sample.filter(|sample| *sample < chosen.len()) {
        pulled.left_out = chosen.len() - sample;
        chosen.sort_by_key(|chosen| (xxh3_64(chosen.session.as_bytes()), chosen.session));
        chosen.truncate(sample);
    }
    // The newest first: whoever stops it in the middle has the last days.
    chosen.sort_by_key(|chosen| (Reverse(chosen.listed.newest), chosen.session));
    let (current, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|chosen| chosen.current);
    pulled.unchanged += current.len();
    pulled.files.extend(current.iter().flat_map(|chosen| folder.files(chosen.session)));
    let total = chosen.len();
    let mut later = Vec::new();
    let mut done = 0;
    for batch in batches(&chosen, client.reads()) {
        (around.progress)(done, total);
        done += batch.len();
        match some(client, folder, batch, wanted, &mut pulled) {
            Ok(()) => {}
            Err(PullError::Langfuse(error)) if !is_final(error.kind) => later.extend(batch),
            Err(error) => return Err(error),
        }
    }
    // A server that was down for a while may be up by now, and one that finds several too much may manage one.
    for chosen in later {
        match some(client, folder, std::slice::from_ref(chosen), wanted, &mut pulled) {
            Err(PullError::Langfuse(error)) if !is_final(error.kind) => {
                pulled.failed.push((chosen.session.to_owned(), error.to_string()));
            }
            done => done?,
        }
    }
    (around.progress)(total, total);
    pulled.failed.sort();
    pulled.files.sort();
    pulled.scored_files.sort();
    Ok(pulled)
}

/// A session to be pulled.
struct Chosen<'a> {
    session: &'a str,
    listed: &'a Listed,
    /// It was pulled and scored here before.
    scored: bool,
    /// And has not gone on since.
    current: bool,
    /// Others may have scored it.
    asks: bool,
}

/// Leaves out the sessions that others have scored, and says how many those are.
fn leave_out_scored(chosen: &mut Vec<Chosen<'_>>, scored: &AlreadyScored<'_>) -> Result<usize, LangfuseError> {
    let asked: Vec<Seen<'_>> = chosen.iter().filter(|one| one.asks).map(|one| one.listed.seen(one.session)).collect();
    if asked.is_empty() {
        return Ok(0);
    }
    let scored = scored(&asked)?;
    let scored: HashSet<&str> =
        asked.iter().zip(scored).filter(|(_, yes)| *yes).map(|(seen, _)| seen.session).collect();
    chosen.retain(|one| !scored.contains(one.session));
    Ok(scored.len())
}

/// Sessions that are asked for together. On the smallest plan of Langfuse's cloud thirty requests a minute are let through,
/// so one each would take an hour for what takes minutes so.
fn batches<'c, 'a>(chosen: &'c [Chosen<'a>], reads: Reads) -> Vec<&'c [Chosen<'a>]> {
    let (mut batches, mut rest) = (Vec::new(), chosen);
    while !rest.is_empty() {
        let (mut together, mut traces, mut letters) = (0, 0, 0);
        for next in rest {
            traces += next.listed.traces.len();
            letters += next.session.len();
            let fits = reads == Reads::Observations
                && together < TOGETHER
                && traces <= TRACES_TOGETHER
                && letters <= LETTERS_TOGETHER;
            if together > 0 && !fits {
                break;
            }
            together += 1;
        }
        let (batch, others) = rest.split_at(together);
        batches.push(batch);
        rest = others;
    }
    batches
}

fn is_final(kind: Failing) -> bool {
    kind.is_for_all() || kind == Failing::Stopped
}

fn noted(note: &Path) -> Option<Note> {
    fs::read(note).ok().and_then(|note| serde_json::from_slice(&note).ok())
}

impl Note {
    /// Whether the file has all that the list shows, and nothing more can be on its way.
    fn is_current(&self, listed: &Listed) -> bool {
        self.newest >= listed.newest && self.pulled >= listed.newest + LATE_MS
    }
}

/// The sessions in which something happened. Every row is looked at: what the server takes for the root of a trace is not
/// there with every recorder.
fn list(client: &Client, wanted: &Wanted<'_>) -> Result<BTreeMap<String, Listed>, LangfuseError> {
    let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
    let mut note = |row: Row| {
        if let (Some(session), Some(trace), Some(at)) = (row.session, row.trace, row.at) {
            let times: Times = serde_json::from_str(row.raw.get()).unwrap_or_default();
            let moment = |text: Option<String>| {
                let moment = text.and_then(|text| Timestamp::parse(text.as_bytes()));
                moment.map_or(at.0, |moment| moment.0.max(at.0))
            };
            let (ended, came) = (moment(times.end_time), moment(times.updated_at));
            let known = listed.entry(session).or_insert_with(|| Listed { oldest: at.0, ..Listed::default() });
            let begun = known.traces.entry(trace_key(&trace)).or_insert(at.0);
            *begun = at.0.min(*begun);
            known.oldest = known.oldest.min(at.0);
            known.ended = known.ended.max(ended);
            known.newest = known.newest.max(ended).max(came);
        }
        ControlFlow::Continue(())
    };
    let Wanted { window, user, tags, environments, session, .. } = *wanted;
    match client.reads() {
        Reads::Observations => {
            let query = ObservationQuery {
                in_a_session: true,
                session,
                user,
                environments,
                tags,
                ..ObservationQuery::new(window, "core,basic,time,trace_context")
            };
            client.observations(&query, &mut note)?;
        }
        // The older list of sessions goes by when they came to the server, not by when things happened.
        Reads::Legacy => {
            // Several tags would mean all of them there.
            let any = tags.iter().map(|tag| Some(tag.as_str())).chain(tags.is_empty().then_some(None));
            for tag in any {
                let query = TraceQuery { session, user, environments, tag, ..TraceQuery::new(window, "core") };
                client.legacy_traces(&query, &mut note)?;
            }
        }
    }
    Ok(listed)
}

/// Pulls sessions and keeps them.
fn some(
    client: &Client,
    folder: &Folder,
    batch: &[Chosen<'_>],
    wanted: &Wanted<'_>,
    pulled: &mut Pulled,
) -> Result<(), PullError> {
    let mut collected = BTreeMap::new();
    for Chosen { session, .. } in batch {
        collected.insert(*session, folder.collect(session)?);
    }
    let oldest = batch.iter().map(|chosen| chosen.listed.oldest).min().unwrap_or(wanted.window.from.0);
    let from = Timestamp(oldest.min(wanted.window.from.0) - BEFORE_MS);
    let window = Window { from, to: wanted.window.to };
    match client.reads() {
        Reads::Observations => observations(client, window, &mut collected)?,
        Reads::Legacy => {
            for (session, collected) in &mut collected {
                traces(client, session, window, collected)?;
            }
        }
    }
    for Chosen { session, listed, scored, .. } in batch {
        let Some(collected) = collected.remove(session) else { continue };
        pulled.rows += collected.len() as u64;
        pulled.strange += collected.strange;
        let changed = collected.keep()?;
        let note = Note { newest: listed.newest, ended: listed.ended, pulled: client.now().0 };
        fs::write(folder.note(session), serde_json::to_vec(&note).unwrap_or_default())?;
        match (changed, *scored && !wanted.rescore) {
            (false, true) => {
                pulled.scored += 1;
                pulled.scored_files.extend(folder.files(session));
                continue;
            }
            (false, false) => pulled.unchanged += 1,
            (true, _) => pulled.pulled += 1,
        }
        pulled.files.extend(folder.files(session));
    }
    Ok(())
}

/// The rows of some sessions.
fn observations(
    client: &Client,
    window: Window,
    collected: &mut BTreeMap<&str, Collected<'_>>,
) -> Result<(), PullError> {
    // Traces of which only a root has come: whoever recorded them may have named the session there alone.
    let mut alone: HashMap<String, Option<String>> = HashMap::new();
    let sessions: Vec<&str> = collected.keys().copied().collect();
    let mut query = ObservationQuery { page: ROWS, ..ObservationQuery::new(window, FIELDS) };
    match sessions[..] {
        [session] => query.session = Some(session),
        _ => query.sessions = &sessions,
    }
    let mut problem = None;
    client.observations(&query, &mut |row| {
        let Some(collected) = row.session.as_deref().and_then(|session| collected.get_mut(session)) else {
            return ControlFlow::Continue(());
        };
        let answers = row.raw.get().contains("\"GENERATION\"");
        let session = row.session.clone().filter(|_| !answers);
        alone.entry(row.trace.clone().unwrap_or_default()).and_modify(|alone| *alone = None).or_insert(session);
        take(collected, &row, &mut problem)
    })?;
    alone.retain(|trace, session| !trace.is_empty() && session.is_some());
    let traces: Vec<String> = alone.keys().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    for traces in traces.chunks(TOGETHER) {
        let query = ObservationQuery { traces, page: ROWS, ..ObservationQuery::new(window, FIELDS) };
        client.observations(&query, &mut |row| {
            let session = row.trace.as_ref().and_then(|trace| alone.get(trace)?.as_deref());
            match session.and_then(|session| collected.get_mut(session)) {
                Some(collected) => take(collected, &row, &mut problem),
                None => ControlFlow::Continue(()),
            }
        })?;
    }
    problem.map_or(Ok(()), |error| Err(error.into()))
}

/// The traces of a session and their rows, of a server with the older reads.
fn traces(client: &Client, session: &str, window: Window, collected: &mut Collected<'_>) -> Result<(), PullError> {
    let (mut traces, mut problem) = (BTreeSet::new(), None);
    let query = TraceQuery { page: 50, session: Some(session), ..TraceQuery::new(window, "core,io") };
    client.legacy_traces(&query, &mut |row| {
        traces.insert(row.id.clone());
        take(collected, &row, &mut problem)
    })?;
    for trace in &traces {
        client.legacy_observations(trace, window, 100, &mut |row| take(collected, &row, &mut problem))?;
    }
    problem.map_or(Ok(()), |error| Err(error.into()))
}

/// Takes in a row; stops where it cannot be kept.
fn take(collected: &mut Collected<'_>, row: &Row, problem: &mut Option<io::Error>) -> ControlFlow<()> {
    match collected.row(row.raw.get()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *problem = Some(error);
            ControlFlow::Break(())
        }
    }
}

#[cfg(test)]
#[path = "pull_tests.rs"]
mod tests;
