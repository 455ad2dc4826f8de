//! The stages in order: transcripts are found, read, turned into facts, graded and kept.
//!
//! Files are read in parallel, each once, and handed to one writer. What an interrupted run has kept stays kept; the next
//! one goes on with the rest.

mod entry;
mod jobs;
mod open;
mod recut;
mod settle_copies;
mod settle_joins;
mod settle_rework;
mod side_by_side;

pub use open::{Folders, Untold, open_transcript, tell};
pub use recut::recut;

use crate::archive::Archive;
use crate::sources::Agent;
use crate::sources::discover::{Found, words};
use crate::sources::reader::{Reading, Window};
use crate::stores::{Archived, Became, Entry, File, FileState, Role, Store, StoreError, Todo};
use hotwash_core::outcomes;
use hotwash_core::prices::Prices;
use hotwash_core::redaction::Rules;
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::offline;
use hotwash_core::sessions::SessionId;
use hotwash_core::sessions::topic::Decisions;
use jobs::{Job, longest_first};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// How many transcripts may wait for the writer.
const WAITING: usize = 64;
/// How many transcripts are kept in one go.
const BATCH: usize = 256;
/// How much of the archive a run compresses that had something to do anyway.
const COMPRESS_BYTES: u64 = 16 << 20;
/// And how many files, each of which waits for the disk.
const COMPRESS_FILES: usize = 8;

/// What a run works with.
pub struct Setup<'a> {
    /// What to take out of words.
    pub rules: &'a Rules,
    /// What to grade by.
    pub rubric: &'a Rubric,
    /// What tokens cost.
    pub prices: &'a Prices,
    /// Where transcripts are kept.
    pub archive: Option<&'a Archive>,
    /// How many files are read at once.
    pub jobs: usize,
    /// Now, in nanoseconds since 1970.
    pub now_ns: i64,
    /// Told how far it is: files done, files in all, bytes done, bytes in all.
    pub progress: &'a (dyn Fn(usize, usize, u64, u64) + Sync),
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Ingested {
    /// Transcripts that were looked at.
    pub found: u64,
    /// Those that have not changed since they were read.
    pub unchanged: u64,
    /// Those that were read anew.
    pub read: u64,
    /// Those that had grown, of which only the rest was read.
    pub grown: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Transcripts that could not be read, with the reason.
    pub failed: Vec<(String, String)>,
    /// Transcripts that could not be archived, with the reason.
    pub unarchived: Vec<(String, String)>,
    /// What reading had to say about those that were read, added up.
    pub reading: Reading,
}

/// Reads what is new, grades it and keeps it.
pub fn ingest(found: &[Found], store: &mut dyn Store, setup: &Setup<'_>) -> Result<Ingested, StoreError> {
    let mut ingested = Ingested { found: found.len() as u64, ..Ingested::default() };
    if let Some(archive) = setup.archive {
        archive.tidy();
    }
    let topics = Arc::new(decisions(store)?);
    let mut jobs = changed(found, store, &topics, &mut ingested)?;
    for job in &mut jobs {
        if let Some(before) = &job.before {
            let kept = store.archived(&before.path)?;
            job.archived = kept.into_iter().find(|kept| kept.version == before.version).map(Box::new);
        }
    }
    if jobs.is_empty() {
        // An earlier run may have been interrupted before it came to this.
        settle(store, setup)?;
        grade_missing(store, setup.rubric)?;
        return Ok(ingested);
    }
    longest_first(&mut jobs);
    if let Some(archive) = setup.archive {
        archive.expect(jobs.iter().filter(|job| job.archived.is_none()).map(|job| job.found));
        if let Err(error) = archive.prepare() {
            ingested.unarchived.push((archive.folder().display().to_string(), words(&error)));
        }
    }
    read(&jobs, store, setup, &mut ingested)?;
    if decisions(store)? != *topics {
        // Somebody was judging meanwhile: what was read before that is looked at again.
        let paths: Vec<String> = jobs.iter().map(|job| job.found.path.to_string_lossy().into_owned()).collect();
        store.mark(Todo::Cut, &paths)?;
    }
    settle(store, setup)?;
    grade_missing(store, setup.rubric)?;
    // The first run has better things to do.
    if ingested.unchanged > 0 || jobs.iter().any(|job| job.before.is_some()) {
        compress(store, setup);
    }
    Ok(ingested)
}

/// Takes out of the archive what somebody has forgotten while it was read.
fn unarchive(forgotten: &[(String, u32)], setup: &Setup<'_>, ingested: &mut Ingested) {
    if let Some(archive) = setup.archive
        && !forgotten.is_empty()
        && let Err(error) = archive.forget(forgotten)
    {
        let why = format!("what was forgotten meanwhile is still there: {}", words(&error));
        ingested.unarchived.push((archive.folder().display().to_string(), why));
    }
}

/// Reads transcripts, many at a time, and keeps what comes of them.
fn read(jobs: &[Job<'_>], store: &mut dyn Store, setup: &Setup<'_>, ingested: &mut Ingested) -> Result<(), StoreError> {
    let total: u64 = jobs.iter().map(|job| job.found.size).sum();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    std::thread::scope(|scope| {
        for _ in 0..setup.jobs.clamp(1, jobs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                let mut window = Window::default();
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send((job, job.run(setup, &mut window))).is_err() {
                        return; // the writer has given up
                    }
                }
            });
        }
        drop(sender);
        let (mut entries, mut archived) = (Vec::new(), Vec::new());
        // Owned by the writer: when it gives up, the readers must not wait for it.
        for (files, (job, result)) in (1..).zip(receiver) {
            let path = || job.found.path.to_string_lossy().into_owned();
            match result {
                Err(error) => ingested.failed.push((path(), words(&error))),
                Ok(done) => {
                    if done.grown {
                        ingested.grown += 1;
                    } else {
                        ingested.read += 1;
                    }
                    ingested.bytes += done.bytes;
                    ingested.reading.add(&done.reading);
                    match done.archived {
                        Some(Ok(entry)) => archived.push(entry),
                        Some(Err(error)) => ingested.unarchived.push((path(), words(&error))),
                        None => {}
                    }
                    entries.push(done.entry);
                }
            }
            (setup.progress)(files, jobs.len(), ingested.bytes, total);
            if entries.len() >= BATCH {
                put(store, setup, &mut entries, &mut archived, ingested)?;
            }
        }
        put(store, setup, &mut entries, &mut archived, ingested)
    })?;
    ingested.failed.sort();
    ingested.unarchived.sort();
    Ok(())
}

/// Keeps transcripts with what the archive has of them.
fn put(
    store: &mut dyn Store,
    setup: &Setup<'_>,
    entries: &mut Vec<Entry>,
    archived: &mut Vec<Archived>,
    ingested: &mut Ingested,
) -> Result<(), StoreError> {
    let forgotten = store.put(entries, archived)?;
    unarchive(&forgotten, setup, ingested);
    entries.clear();
    archived.clear();
    Ok(())
}

/// The transcripts that are not as they were when they were read. What was forgotten is left alone.
fn changed<'f>(
    found: &'f [Found],
    store: &dyn Store,
    topics: &'f Arc<Decisions>,
    ingested: &mut Ingested,
) -> Result<Vec<Job<'f>>, StoreError> {
    let places = found.iter().enumerate().map(|(at, found)| (found.path.as_os_str().as_encoded_bytes(), at));
    let places: HashMap<&[u8], usize> = places.collect();
    let mut before: Vec<Option<File>> = vec![None; found.len()];
    for file in store.files()? {
        if let Some(&at) = places.get(file.state.path.as_bytes()) {
            before[at] = Some(file);
        }
    }
    let mut jobs = Vec::new();
    for (found, before) in found.iter().zip(before) {
        let is_same = |FileState { inode, size, mtime_ns, agent, decoder, .. }: &FileState| {
            (*inode, *size, *mtime_ns) == (found.inode, found.size, found.mtime_ns)
                && *decoder == Agent::named(agent).unwrap_or(found.agent).version()
        };
        match before {
            Some(File { became: Became { role: Role::Forgotten, .. }, .. }) => ingested.found -= 1,
            Some(File { state, .. }) if is_same(&state) => ingested.unchanged += 1,
            before => {
                let before = before.map(|file| Box::new(file.state));
                jobs.push(Job { found, before, archived: None, topics });
            }
        }
    }
    Ok(jobs)
}

/// What was said of prompts, as a judge that repeats it.
fn decisions(store: &dyn Store) -> Result<Decisions, StoreError> {
    Ok(store.topics()?.into_values().map(|topic| (topic.prompt, topic.known)).collect())
}

/// Finds out whose the events are that several transcripts hold, and which pieces belong together, where something that
/// was put may have changed it.
fn settle(store: &mut dyn Store, setup: &Setup<'_>) -> Result<(), StoreError> {
    recut::read_again(store, setup)?;
    let marks = store.marked(Todo::Settle)?;
    if marks.is_empty() {
        return Ok(());
    }
    let holdings = store.holdings()?;
    settle_copies::settle_copies(store, setup, holdings, &marks)?;
    let holdings = store.holdings()?;
    settle_joins::settle_joins(store, setup, &holdings)?;
    settle_rework::settle_rework(store, setup.jobs)?;
    store.unmark(Todo::Settle, &marks)
}

/// Judges sessions that have no grade under the rubric or no outcome yet, from the facts that the store holds.
fn grade_missing(store: &mut dyn Store, rubric: &Rubric) -> Result<(), StoreError> {
    let judge = offline::Judge::new(rubric);
    for some in store.ungraded(&rubric.hash())?.chunks(BATCH) {
        let (mut grades, mut outcomes) = (Vec::new(), Vec::new());
        for (id, facts) in some {
            let outcome = outcomes::offline(facts);
            grades.push((id.clone(), judge.grade(facts, &outcome)));
            outcomes.push((id.clone(), outcome));
        }
        store.put_grades(&grades)?;
        store.put_outcomes(&outcomes)?;
    }
    store.complete(&rubric.hash())
}

/// Forgets sessions: in the archive, in the store and on the disk. Says which transcripts that took. What is forgotten
/// stays so, also when its file goes on.
pub fn forget(store: &mut dyn Store, archive: Option<&Archive>, ids: &[SessionId]) -> Result<Vec<String>, ForgetError> {
    let transcripts: Vec<(String, u32)> = store.entangled(ids)?.transcripts.into_iter().collect();
    // The archive first: if it stops half-way, the sessions are still there to be forgotten again.
    if let Some(archive) = archive {
        archive.forget(&transcripts)?;
    }
    // What was pulled is ours to remove; an agent's own transcripts are not.
    let pulled = second_hand(store)?;
    for path in transcripts.iter().map(|(path, _)| path).filter(|path| pulled.contains(*path)) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    store.forget(ids)?;
    if let Some(archive) = archive {
        // Another run may have kept them once more until the store knew.
        archive.forget(&transcripts)?;
    }
    Ok(transcripts.into_iter().map(|(path, _)| path).collect())
}

/// The paths of transcripts in which an agent retells what another recorded.
fn second_hand(store: &dyn Store) -> Result<HashSet<String>, StoreError> {
    let is_retold = |state: &FileState| Agent::named(&state.agent).is_some_and(|agent| agent.is_second_hand());
    let files = store.files()?.into_iter().map(|file| file.state);
    Ok(files.filter(is_retold).map(|state| state.path).collect())
}

/// Why something could not be forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something in the archive could not be removed.
    #[error("the archive cannot be changed: {}", words(.0))]
    Archive(#[from] io::Error),
}

/// Compresses a portion of what has gone cold. That it fails is no reason to fail the run: it will be tried again.
fn compress(store: &mut dyn Store, setup: &Setup<'_>) {
    let Some(archive) = setup.archive else { return };
    let Ok(kept) = store.archive() else { return };
    let compressed = archive.compress_cold(&kept, COMPRESS_BYTES, COMPRESS_FILES);
    let names: Vec<String> = compressed.iter().map(|entry| entry.name.clone()).collect();
    if let Ok(unknown) = store.put_otherwise(compressed) {
        for name in names {
            let _ = archive.remove(name.trim_end_matches(".zst"));
        }
        for entry in unknown {
            let _ = archive.remove(&entry.name);
        }
    }
}
