//! The stages in order: transcripts are found, read, turned into facts, graded and kept.
//!
//! Files are read in parallel, each once, and handed to one writer. What an interrupted run has kept stays kept, but for a
//! first store that was still being made; the next one goes on with the rest.

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
use crate::sources::claude_code::discover::{Found, words};
use crate::sources::claude_code::read::{Reading, Window};
use crate::stores::{
    Archived, Disk, FileState, Holder, Holding, JoinedRows, Put, Role, Rows, Stamp, Store, StoreError,
};
use hotwash_core::outcomes;
use hotwash_core::prices::Prices;
use hotwash_core::redaction::Rules;
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::offline;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Key, Piece, SessionId, SessionKind};
use jobs::{FIRST_VERSION, Group, Job, Limits, longest_first, take};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// How many transcripts may wait for the writer.
const WAITING: usize = 512;
/// How many transcripts are kept in one go. Each time, the pages that indexes grow in are written once more.
const BATCH: usize = 512;
/// And how many at least while others are still read.
const SMALLEST_BATCH: usize = 64;
/// After how many transcripts somebody is asked to empty the log of the store, and after how many the writer does so.
const ASKED_AFTER: usize = 2 * BATCH;
const WAITS_AFTER: usize = 16 * BATCH;
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
pub fn ingest(found: &[Found], store: &mut Store, setup: &Setup<'_>) -> Result<Ingested, StoreError> {
    let mut ingested = Ingested { found: found.len() as u64, ..Ingested::default() };
    if let Some(archive) = setup.archive {
        archive.tidy();
    }
    let topics = Arc::new(store.decisions()?);
    let mut jobs = changed(found, store, &topics, &mut ingested)?;
    for job in &mut jobs {
        if let Some(before) = &job.before {
            let kept = store.archived(&before.path)?;
            job.archived = kept.into_iter().find(|kept| kept.version == before.version).map(Box::new);
        }
    }
    if jobs.is_empty() {
        store.take_place()?;
        // An earlier run may have been interrupted before it came to this.
        settle(store, setup, Ready::default())?;
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

    let disk = Mutex::new(store.without_waiting()?);
    let done = std::thread::scope(|scope| {
        let (asked, asks) = mpsc::sync_channel(1);
        let mut log = Log { disk: &disk, asked, taken: 0 };
        scope.spawn(|| {
            for () in asks {
                checkpoint(&disk);
            }
        });
        let ready = read(&jobs, store, setup, &mut ingested, &mut log)?;
        // Settling mostly reads.
        log.ask();
        if store.decisions()? != *topics {
            // Somebody was judging meanwhile: what was read before that is looked at again.
            let paths: Vec<String> = jobs.iter().map(|job| job.found.path.to_string_lossy().into_owned()).collect();
            store.mark_uncut(&paths)?;
        }
        settle(store, setup, ready)?;
        grade_missing(store, setup.rubric)?;
        // A first store is whole when others see it.
        store.take_place()
    });
    let waits = store.with_waiting();
    let is_kept = done?;
    waits?;
    if !is_kept {
        // Somebody else has made the store meanwhile: it is to be kept there.
        let forgotten = forgotten(&jobs, store)?;
        let mut ingested = ingest(found, store, setup)?;
        unarchive(&forgotten, setup, &mut ingested);
        return Ok(ingested);
    }
    // The first run has better things to do.
    if ingested.unchanged > 0 || jobs.iter().any(|job| job.before.is_some()) {
        compress(store, setup);
    }
    Ok(ingested)
}

/// Those of some transcripts that the store is to know nothing of, as they were archived.
fn forgotten(jobs: &[Job<'_>], store: &Store) -> Result<Vec<(String, u32)>, StoreError> {
    let mut forgotten = HashSet::new();
    store.each_file(|path, _, _, role| {
        if role == Role::Forgotten {
            forgotten.insert(path.to_owned());
        }
    })?;
    let paths = jobs.iter().map(|job| job.found.path.to_string_lossy().into_owned());
    Ok(paths.filter(|path| forgotten.contains(path)).map(|path| (path, FIRST_VERSION)).collect())
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

/// Reads transcripts, many at a time, and keeps what comes of them. Gives what was established on the way.
fn read(
    jobs: &[Job<'_>],
    store: &mut Store,
    setup: &Setup<'_>,
    ingested: &mut Ingested,
    log: &mut Log<'_>,
) -> Result<Ready, StoreError> {
    let mut ready = Ready { held: store.is_being_made().then(|| Vec::with_capacity(jobs.len())), ..Ready::default() };
    let total: u64 = jobs.iter().map(|job| job.found.size).sum();
    let next = AtomicUsize::new(0);
    let readers = setup.jobs.clamp(1, jobs.len());
    let limits = Limits::of(readers);
    let (sender, receiver) = mpsc::sync_channel(WAITING / limits.transcripts);
    std::thread::scope(|scope| {
        let mut makers = Vec::new();
        for maker in 0..readers {
            let (sender, next, limits) = (sender.clone(), &next, &limits);
            let (back, kept) = mpsc::channel::<Vec<Rows>>();
            makers.push(back);
            scope.spawn(move || {
                let mut window = Window::default();
                let mut group = Group::of(limits);
                while let Some(taken) = take(jobs, next, limits) {
                    for (job, file) in taken {
                        group.add(job, file.and_then(|file| job.run(file, setup, &mut window)), limits, setup);
                        if group.is_full(limits) {
                            let full = std::mem::replace(&mut group, Group::of(limits));
                            if sender.send((maker, full.finish(setup))).is_err() {
                                return; // the writer has given up
                            }
                            kept.try_iter().for_each(drop);
                        }
                    }
                }
                let _ = sender.send((maker, group.finish(setup)));
            });
        }
        drop(sender);
        let (mut batch, mut files) = (Batch::default(), 0);
        // Owned by the writer: when it gives up, the readers must not wait for it.
        for (maker, (done, rows)) in receiver {
            let mut rows = rows.into_iter();
            for (job, result) in done {
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
                            Some(Ok(archived)) => batch.archived.push(archived),
                            Some(Err(error)) => ingested.unarchived.push((path(), words(&error))),
                            None => {}
                        }
                        if let Some(rows) = rows.next() {
                            batch.rows.push(rows);
                            batch.makers.push(maker);
                        }
                    }
                }
                files += 1;
                (setup.progress)(files, jobs.len(), ingested.bytes, total);
                // Fewer and fewer, so that little is left when the last one has been read and nobody else has anything to do.
                let enough = (jobs.len() - files).clamp(SMALLEST_BATCH, BATCH);
                if batch.rows.len() >= enough {
                    batch.put(store, setup, ingested, &mut ready)?;
                    log.has_grown(batch.rows.len());
                    batch.give_back(&makers);
                }
            }
        }
        if batch.rows.is_empty() && batch.archived.is_empty() {
            return Ok(());
        }
        batch.put(store, setup, ingested, &mut ready)
    })?;
    ingested.failed.sort();
    ingested.unarchived.sort();
    Ok(ready)
}

/// The transcripts that are not as they were when they were read. What was forgotten is left alone.
fn changed<'f>(
    found: &'f [Found],
    store: &Store,
    topics: &'f Arc<Decisions>,
    ingested: &mut Ingested,
) -> Result<Vec<Job<'f>>, StoreError> {
    let mut places: HashMap<&[u8], usize, Xxh3DefaultBuilder> = HashMap::default();
    if !store.is_being_made() {
        places.reserve(found.len());
        places.extend(found.iter().enumerate().map(|(at, found)| (found.path.as_os_str().as_encoded_bytes(), at)));
    }
    let mut before: Vec<Before> = vec![Before::Nothing; found.len()];
    let mut problem = None;
    store.each_file(|path, state, stamp, role| {
        let Some(&at) = places.get(path.as_bytes()) else { return };
        let Found { inode, size, mtime_ns, .. } = found[at];
        let decoder = Agent::of(&found[at].path).decoder();
        before[at] = if role == Role::Forgotten {
            Before::Forgotten
        } else if *stamp == (Stamp { inode, size, mtime_ns, decoder }) {
            Before::Same
        } else {
            match state() {
                Ok(state) => Before::Other(Box::new(state)),
                Err(error) => {
                    problem = Some(error);
                    Before::Same
                }
            }
        };
    })?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    let same = before.iter().filter(|before| matches!(before, Before::Same)).count();
    let mut jobs = Vec::with_capacity(found.len() - same);
    for (found, before) in found.iter().zip(before) {
        match before {
            Before::Forgotten => ingested.found -= 1,
            Before::Same => ingested.unchanged += 1,
            Before::Nothing => jobs.push(Job { found, before: None, archived: None, topics }),
            Before::Other(state) => jobs.push(Job { found, before: Some(state), archived: None, topics }),
        }
    }
    Ok(jobs)
}

/// What was established while reading, so that settling need not read it again.
#[derive(Default)]
struct Ready {
    /// Sessions of several pieces, by their ids.
    joined: HashMap<SessionId, JoinedRows>,
    /// What transcripts were marked with. One has another mark in the store if somebody has put it again since.
    marks: Vec<i64>,
    /// The paths of those that were known before.
    known: HashSet<String>,
    /// What all transcripts hold, where the store is being made: then there are no others.
    held: Option<Vec<Mine>>,
}

/// What a transcript holds that was put.
struct Mine {
    path: String,
    mark: i64,
    role: Role,
    version: u32,
    keys: Vec<Key>,
    /// If they are of people's.
    pieces: Option<Vec<Piece>>,
}

impl Mine {
    /// Taken from its rows; none where it has nothing that others could have too.
    fn take(rows: &mut Rows, mark: i64) -> Option<Mine> {
        if rows.holds_nothing() {
            return None;
        }
        let Rows { file, role, keys, pieces, .. } = rows;
        let pieces = match role.session() {
            Some(SessionKind::Main) => Some(std::mem::take(pieces)),
            _ => None,
        };
        let (path, keys) = (std::mem::take(&mut file.path), std::mem::take(keys));
        Some(Mine { path, mark, role: *role, version: file.version, keys, pieces })
    }
}

/// What transcripts hold.
struct Held {
    /// Of those that are to be settled.
    marks: BTreeMap<String, i64>,
    /// All, if any are to be settled.
    holders: Vec<Holder>,
    /// The pieces of people's, where they are not to be asked of the store.
    holdings: Option<Vec<Holding>>,
}

impl Held {
    /// As the store tells it.
    fn in_store(store: &Store) -> Result<Held, StoreError> {
        let marks = store.unsettled()?;
        let holders = if marks.is_empty() { Vec::new() } else { store.holders()? };
        Ok(Held { marks, holders, holdings: None })
    }

    /// As the store would tell it: in the order of their places, of each the one that was put last. Two names that are no
    /// text may become one.
    fn of(mut all: Vec<Mine>) -> Held {
        all.sort_by(|a, b| a.path.cmp(&b.path));
        let (mut marks, mut holders, mut holdings) = (Vec::with_capacity(all.len()), Vec::new(), Vec::new());
        for Mine { path, mark, role, version, keys, pieces } in all {
            if !keys.is_empty() {
                put_last(&mut holders, Holder { path: path.clone(), role, keys }, |holder| &holder.path);
            }
            if let Some(pieces) = pieces {
                put_last(&mut holdings, Holding { path: path.clone(), version, pieces }, |holding| &holding.path);
            }
            marks.push((path, mark));
        }
        Held { marks: marks.into_iter().collect(), holders, holdings: Some(holdings) }
    }
}

/// Adds a thing behind those of places before its own, in the stead of another of the same place.
fn put_last<T>(things: &mut Vec<T>, thing: T, path: fn(&T) -> &str) {
    match things.last_mut() {
        Some(last) if path(last) == path(&thing) => *last = thing,
        _ => things.push(thing),
    }
}

/// The pieces of all transcripts of people, as the store would tell it. What is known of some is asked again, because
/// settling may have changed it.
fn holdings(
    store: &Store,
    known: Option<Vec<Holding>>,
    settled: &BTreeSet<String>,
) -> Result<Vec<Holding>, StoreError> {
    let Some(mut holdings) = known else { return store.holdings() };
    // Both are in the order of their places.
    let mut others = settled.iter().peekable();
    holdings.retain(|holding| {
        while others.next_if(|other| **other < holding.path).is_some() {}
        others.peek().is_none_or(|other| **other != holding.path)
    });
    for path in settled {
        holdings.extend(store.holdings_at(path)?);
    }
    holdings.sort_by(|a, b| (&a.path, a.version).cmp(&(&b.path, b.version)));
    Ok(holdings)
}

/// The transcripts that are to be settled.
struct Unsettled {
    /// Each has its mark, which the store has too, unless it is being made.
    marks: BTreeMap<String, i64>,
    ready: Ready,
}

impl Unsettled {
    /// Whether nothing was known of a transcript before: it was read as a whole, and as if all in it were its own.
    fn is_new(&self, path: &str) -> bool {
        let is_ours = self.marks.get(path).is_some_and(|mark| self.ready.marks.contains(mark));
        is_ours && !self.ready.known.contains(path)
    }
}

/// Paths to be found again.
type Paths<'a> = HashSet<&'a str, Xxh3DefaultBuilder>;

/// What the store knows of a file.
#[derive(Clone)]
enum Before {
    Nothing,
    Forgotten,
    Same,
    Other(Box<FileState>),
}

/// Finds out whose the events are that several transcripts hold, and which pieces belong together, where something that
/// was put may have changed it.
fn settle(store: &mut Store, setup: &Setup<'_>, mut ready: Ready) -> Result<(), StoreError> {
    recut::read_again(store, setup)?;
    let Held { marks, holders, holdings: known } = match ready.held.take() {
        Some(held) => Held::of(held),
        None => Held::in_store(store)?,
    };
    if marks.is_empty() {
        return Ok(());
    }
    let unsettled = Unsettled { marks, ready };
    let others = settle_copies::settle_copies(store, setup, &holders, &unsettled)?;
    drop(holders);
    let changed: Paths<'_> = unsettled.marks.keys().chain(&others).map(String::as_str).collect();
    let holdings = holdings(store, known, &others)?;
    settle_joins::settle_joins(store, setup, &holdings, &changed, &others, &unsettled)?;
    settle_rework::settle_rework(store, setup.jobs, &holdings, &changed)?;
    store.settled(&unsettled.marks)
}

/// Judges sessions that have no grade under the rubric or no outcome yet, from the facts that the store holds.
fn grade_missing(store: &mut Store, rubric: &Rubric) -> Result<(), StoreError> {
    let ungraded = store.ungraded(&rubric.hash(), offline::JUDGE, offline::VERSION)?;
    for some in ungraded.chunks(BATCH) {
        let grades: Vec<_> = some.iter().map(|(id, facts)| (id.clone(), offline::grade(facts, rubric))).collect();
        store.put_grades(&grades)?;
    }
    let undecided = store.undecided_yet()?;
    for some in undecided.chunks(BATCH) {
        let judged: Vec<_> = some.iter().map(|(id, facts)| (id.clone(), outcomes::offline(facts))).collect();
        store.put_outcomes(&judged)?;
    }
    store.complete(&rubric.hash())
}

/// Forgets sessions: in the archive, in the store and on the disk. Says which transcripts that took. What is forgotten
/// stays so, also when its file goes on.
pub fn forget(store: &mut Store, archive: Option<&Archive>, ids: &[SessionId]) -> Result<Vec<String>, ForgetError> {
    let transcripts = store.transcripts(ids)?;
    // The archive first: if it stops half-way, the sessions are still there to be forgotten again.
    if let Some(archive) = archive {
        archive.forget(&transcripts)?;
    }
    // What was pulled is ours to remove; an agent's own transcripts are not.
    let pulled = |path: &&String| Agent::of(path.as_ref()) == Agent::Langfuse;
    for path in transcripts.iter().map(|(path, _)| path).filter(pulled) {
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
    store.shrink()?;
    Ok(transcripts.into_iter().map(|(path, _)| path).collect())
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

#[derive(Default)]
struct Batch {
    rows: Vec<Rows>,
    /// Which reader made each of them.
    makers: Vec<usize>,
    archived: Vec<Archived>,
}

impl Batch {
    /// Puts it, and notes what of it is ready.
    fn put(
        &mut self,
        store: &mut Store,
        setup: &Setup<'_>,
        ingested: &mut Ingested,
        ready: &mut Ready,
    ) -> Result<(), StoreError> {
        let Put { forgotten, mark } = store.put_rows(&self.rows, &self.archived)?;
        unarchive(&forgotten, setup, ingested);
        self.archived.clear();
        ready.marks.push(mark);
        for rows in &mut self.rows {
            if !rows.is_new {
                ready.known.insert(rows.file.path.clone());
            }
            if let Some(held) = &mut ready.held {
                held.extend(Mine::take(rows, mark));
            }
            ready.joined.extend(rows.joined.drain(..).map(|joined| (joined.session.id.clone(), joined)));
        }
        Ok(())
    }

    /// Gives rows that were put back to those who made them: memory is let go of at the least cost where it came from.
    fn give_back(&mut self, makers: &[mpsc::Sender<Vec<Rows>>]) {
        let mut made: Vec<Vec<Rows>> = makers.iter().map(|_| Vec::new()).collect();
        for (maker, rows) in self.makers.drain(..).zip(self.rows.drain(..)) {
            made[maker].push(rows);
        }
        for (maker, rows) in makers.iter().zip(made) {
            // One that has nothing left to read is gone.
            let _ = maker.send(rows);
        }
    }
}

/// The log of the store, which the writer has others empty, because it takes its time.
struct Log<'d> {
    disk: &'d Mutex<Disk>,
    asked: mpsc::SyncSender<()>,
    /// How many transcripts it has taken in.
    taken: usize,
}

impl Log<'_> {
    /// So many transcripts were put.
    fn has_grown(&mut self, by: usize) {
        let before = self.taken;
        self.taken += by;
        let has_passed = |every: usize| self.taken / every > before / every;
        if has_passed(WAITS_AFTER) {
            // It only begins anew if nobody writes meanwhile.
            checkpoint(self.disk);
        } else if has_passed(ASKED_AFTER) {
            self.ask();
        }
    }

    /// Has it emptied, unless somebody is at it and asked already.
    fn ask(&self) {
        let _ = self.asked.try_send(());
    }
}

fn checkpoint(disk: &Mutex<Disk>) {
    disk.lock().unwrap_or_else(PoisonError::into_inner).checkpoint();
}

/// Compresses a portion of what has gone cold. That it fails is no reason to fail the run: it will be tried again.
fn compress(store: &mut Store, setup: &Setup<'_>) {
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
