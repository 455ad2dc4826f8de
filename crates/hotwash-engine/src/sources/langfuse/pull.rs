//! Pulls sessions: lists those of a stretch of time, fetches each whole, and keeps it as a transcript.
//!
//! Memory holds a line about each session and a few words of each row of the one under way. What was kept stays kept:
//! a run that was interrupted goes on where it was.

use super::keep::{Collected, Folder};
use crate::langfuse::{Client, LangfuseError, ObservationQuery, Reads, Row, TraceQuery, Window};
use crate::net::Failing;
use crate::sources::claude_code::discover::words;
use hotwash_core::sessions::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// What is asked of a row of a session.
const FIELDS: &str = "core,basic,time,io,metadata,model,usage,trace_context";
/// How many rows come at a time: with all that was said in them, a thousand may be too much for one answer.
const ROWS: u64 = 200;
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
    /// It was pulled and graded here.
    Here,
    /// The agent's own transcript is on this machine, which says more.
    OnDisk,
    /// It was forgotten, and stays so.
    Forgotten,
}

/// What pulling asks others, and tells them.
pub struct Around<'a> {
    /// What is known of a session, by its id and its file.
    pub known: &'a dyn Fn(&str, &Path) -> Known,
    /// Whether somebody else has scored a session already, by its id.
    pub already_scored: &'a dyn Fn(&str) -> bool,
    /// Told how far it is: sessions done, and of how many.
    pub progress: &'a dyn Fn(usize, usize),
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
    /// Those that were scored before, here or by others.
    pub scored: usize,
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
    traces: HashSet<u64>,
    oldest: i64,
    newest: i64,
}

/// What is noted beside a file: up to where it was pulled, and when.
#[derive(Deserialize, Serialize)]
struct Note {
    newest: i64,
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
    let mut chosen: Vec<(&String, &Listed, bool)> = Vec::new();
    for (session, of) in &listed {
        let file = folder.file(session);
        let known = (around.known)(session, &file);
        let current = known == Known::Here && file.exists() && is_current(&folder.note(session), of);
        match known {
            Known::Forgotten => pulled.forgotten += 1,
            Known::OnDisk => pulled.on_disk += 1,
            _ if of.traces.len() < wanted.min_traces => pulled.too_small += 1,
            Known::Here if current && !wanted.rescore => pulled.scored += 1,
            Known::No if !wanted.rescore && (around.already_scored)(session) => pulled.scored += 1,
            Known::Here | Known::No => chosen.push((session, of, current)),
        }
    }
    if let Some(sample) = wanted.sample.filter(|sample| *sample < chosen.len()) {
        pulled.left_out = chosen.len() - sample;
        chosen.sort_by_key(|(session, ..)| (xxh3_64(session.as_bytes()), *session));
        chosen.truncate(sample);
    }
    // The newest first: whoever stops it in the middle has the last days.
    chosen.sort_by(|(a, one, _), (b, other, _)| other.newest.cmp(&one.newest).then(a.cmp(b)));
    let total = chosen.len();
    let mut later = Vec::new();
    for (done, (session, of, current)) in chosen.into_iter().enumerate() {
        (around.progress)(done, total);
        if current {
            pulled.unchanged += 1;
            pulled.files.extend(folder.files(session));
            continue;
        }
        match one(client, folder, session, of, wanted, &mut pulled) {
            Ok(()) => {}
            Err(PullError::Langfuse(error)) if !is_final(error.kind) => later.push((session, of)),
            Err(error) => return Err(error),
        }
    }
    // A server that was down for one may be up for all by now.
    for (session, of) in later {
        match one(client, folder, session, of, wanted, &mut pulled) {
            Err(PullError::Langfuse(error)) if !is_final(error.kind) => {
                pulled.failed.push((session.clone(), error.to_string()));
            }
            done => done?,
        }
    }
    (around.progress)(total, total);
    pulled.failed.sort();
    pulled.files.sort();
    Ok(pulled)
}

fn is_final(kind: Failing) -> bool {
    kind.is_for_all() || kind == Failing::Stopped
}

/// Whether a file has all that the list shows, and nothing more can be on its way.
fn is_current(note: &Path, listed: &Listed) -> bool {
    let note = fs::read(note).ok().and_then(|note| serde_json::from_slice::<Note>(&note).ok());
    note.is_some_and(|note| note.newest >= listed.newest && note.pulled >= listed.newest + LATE_MS)
}

/// The sessions in which something happened.
fn list(client: &Client, wanted: &Wanted<'_>) -> Result<BTreeMap<String, Listed>, LangfuseError> {
    let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
    let mut note = |row: Row| {
        if let (Some(session), Some(trace), Some(at)) = (row.session, row.trace, row.at) {
            let times: Times = serde_json::from_str(row.raw.get()).unwrap_or_default();
            let moments = [times.end_time, times.updated_at].into_iter().flatten();
            let newest = moments.filter_map(|moment| Timestamp::parse(moment.as_bytes())).max();
            let newest = newest.map_or(at.0, |newest| newest.0.max(at.0));
            let known = listed.entry(session);
            let known = known.or_insert_with(|| Listed { oldest: at.0, newest, ..Listed::default() });
            known.traces.insert(xxh3_64(trace.as_bytes()));
            (known.oldest, known.newest) = (known.oldest.min(at.0), known.newest.max(newest));
        }
        ControlFlow::Continue(())
    };
    let Wanted { window, user, tags, environments, session, .. } = *wanted;
    match client.reads() {
        Reads::Observations => {
            let query = ObservationQuery {
                roots: true,
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
            let query = TraceQuery { window, fields: "core", page: 100, session, user, environments, tags };
            client.legacy_traces(&query, &mut note)?;
        }
    }
    Ok(listed)
}

/// Pulls a session and keeps it.
fn one(
    client: &Client,
    folder: &Folder,
    session: &str,
    listed: &Listed,
    wanted: &Wanted<'_>,
    pulled: &mut Pulled,
) -> Result<(), PullError> {
    let mut collected = folder.collect(session)?;
    let from = listed.oldest.min(wanted.window.from.0) - BEFORE_MS;
    let window = Window { from: Timestamp(from), to: wanted.window.to };
    match client.reads() {
        Reads::Observations => observations(client, session, window, &mut collected)?,
        Reads::Legacy => traces(client, session, window, &mut collected)?,
    }
    pulled.rows += collected.len() as u64;
    pulled.strange += collected.strange;
    if collected.keep()? {
        pulled.pulled += 1;
    } else {
        pulled.unchanged += 1;
    }
    let note = Note { newest: listed.newest, pulled: client.now().0 };
    fs::write(folder.note(session), serde_json::to_vec(&note).unwrap_or_default())?;
    pulled.files.extend(folder.files(session));
    Ok(())
}

/// The rows of a session.
fn observations(
    client: &Client,
    session: &str,
    window: Window,
    collected: &mut Collected<'_>,
) -> Result<(), PullError> {
    // Traces of which only a root has come: whoever recorded them may have named the session there alone.
    let mut alone: HashMap<String, bool> = HashMap::new();
    let query = ObservationQuery { session: Some(session), page: ROWS, ..ObservationQuery::new(window, FIELDS) };
    into(collected, |each| {
        client.observations(&query, &mut |row| {
            let answer = row.raw.get().contains("\"GENERATION\"");
            let trace = row.trace.clone().unwrap_or_default();
            alone.entry(trace).and_modify(|alone| *alone = false).or_insert(!answer);
            each(row)
        })
    })?;
    let alone: BTreeSet<String> = alone.into_iter().filter_map(|(trace, alone)| alone.then_some(trace)).collect();
    for trace in alone.iter().filter(|trace| !trace.is_empty()) {
        let query = ObservationQuery { trace: Some(trace), page: ROWS, ..ObservationQuery::new(window, FIELDS) };
        into(collected, |each| client.observations(&query, each))?;
    }
    Ok(())
}

/// The traces of a session and their rows, of a server with the older reads.
fn traces(client: &Client, session: &str, window: Window, collected: &mut Collected<'_>) -> Result<(), PullError> {
    let mut traces = BTreeSet::new();
    let query = TraceQuery {
        window,
        fields: "core,io",
        page: 50,
        session: Some(session),
        user: None,
        environments: &[],
        tags: &[],
    };
    into(collected, |each| {
        client.legacy_traces(&query, &mut |row| {
            traces.insert(row.id.clone());
            each(row)
        })
    })?;
    for trace in &traces {
        into(collected, |each| client.legacy_observations(trace, 100, each))?;
    }
    Ok(())
}

/// Takes in rows as they come.
fn into(
    collected: &mut Collected<'_>,
    read: impl FnOnce(&mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), LangfuseError>,
) -> Result<(), PullError> {
    let mut problem = None;
    read(&mut |row| match collected.row(row.raw.get()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            problem = Some(error);
            ControlFlow::Break(())
        }
    })?;
    problem.map_or(Ok(()), |error| Err(error.into()))
}
