//! The stages in order: transcripts are found, read, turned into facts, graded and kept.
//!
//! Files are read in parallel, each once, and handed to one writer. What an interrupted run has kept stays kept; the
//! next one goes on with the rest.

use crate::archive::Archive;
use crate::sources::claude_code::discover::{Found, words};
use crate::sources::claude_code::read::{Reading, Transcript, Window};
use crate::sources::claude_code::{self, DECODER};
use crate::stores::{Archived, Entry, FileState, Form, Holder, Role, Store, StoreError};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::facts::{Cited, Facts};
use hotwash_core::prices::Prices;
use hotwash_core::redaction::{Rules, redact, redact_facts};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::offline;
use hotwash_core::sessions::{Key, Session, SessionId, copies};
use hotwash_core::text::Text;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use xxhash_rust::xxh3::xxh3_64;

/// How many transcripts are kept in one go.
const BATCH: usize = 256;
/// The bytes before the end of what was read by which a file that has only grown is recognised.
const TAIL: u64 = 1024;
/// The state to go on from is kept for files written within this time; older ones hardly ever grow.
const GROWING_NS: i64 = 2 * 24 * 3600 * 1_000_000_000;
/// A call without a result in a transcript that was written within this time may still be going on.
const QUIET_NS: i64 = 30 * 60 * 1_000_000_000;
/// Stands for the decoder of such a transcript, so that it is read again next time.
const STILL_RUNNING: u32 = 0;
/// How much of the archive a run compresses that had something to do anyway.
const COMPRESS_BYTES: u64 = 32 << 20;
/// A title is at most this long.
const TITLE_CHARS: usize = 120;

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
    let known = store.files()?;
    let mut ingested = Ingested { found: found.len() as u64, ..Ingested::default() };
    let mut jobs = Vec::new();
    for found in found {
        let path = found.path.to_string_lossy();
        let before = known.get(&*path);
        if before.is_some_and(|before| {
            (before.inode, before.size, before.mtime_ns, before.decoder)
                == (found.inode, found.size, found.mtime_ns, DECODER)
        }) {
            ingested.unchanged += 1;
            continue;
        }
        let archived = match before {
            Some(before) => store.archived(&path)?.into_iter().find(|kept| kept.version == before.version),
            None => None,
        };
        jobs.push(Job { found, before, archived });
    }
    if jobs.is_empty() {
        // An earlier run may have been interrupted before it came to this.
        settle_copies(store, setup)?;
        return Ok(ingested);
    }
    // The longest first, so that no core is left with it at the end.
    jobs.sort_by(|a, b| b.found.size.cmp(&a.found.size).then(a.found.cmp(b.found)));
    if let Some(archive) = setup.archive
        && let Err(error) = archive.prepare()
    {
        ingested.unarchived.push((archive.folder().display().to_string(), words(&error)));
    }

    let total: u64 = jobs.iter().map(|job| job.found.size).sum();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel(BATCH);
    let done = std::thread::scope(|scope| {
        for _ in 0..setup.jobs.clamp(1, jobs.len()) {
            let (sender, next, jobs) = (sender.clone(), &next, &jobs);
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
        // Owned by the writer: when it gives up, the readers must not wait for it.
        let receiver = receiver;
        let mut batch = Batch::default();
        for (file, (job, result)) in receiver.iter().enumerate() {
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
                    batch.entries.push(done.entry);
                }
            }
            (setup.progress)(file + 1, jobs.len(), ingested.bytes, total);
            if batch.entries.len() >= BATCH {
                batch.put(store)?;
            }
        }
        batch.put(store)
    });
    done?;
    ingested.failed.sort();
    ingested.unarchived.sort();
    settle_copies(store, setup)?;
    if !known.is_empty() {
        compress(store, setup);
    }
    Ok(ingested)
}

/// Grades sessions that have no grade under the rubric yet, from the facts that the store holds.
pub fn grade_missing(store: &mut Store, rubric: &Rubric) -> Result<usize, StoreError> {
    let ungraded = store.ungraded(&rubric.hash(), offline::JUDGE, offline::VERSION)?;
    for some in ungraded.chunks(BATCH) {
        let grades: Vec<_> = some.iter().map(|(id, facts)| (id.clone(), offline::grade(facts, rubric))).collect();
        store.put_grades(&grades)?;
    }
    Ok(ungraded.len())
}

/// Forgets sessions: in the archive, in the store and on the disk. Says which transcripts that took. What is forgotten
/// stays so until its file changes.
pub fn forget(store: &mut Store, archive: Option<&Archive>, ids: &[SessionId]) -> Result<Vec<String>, ForgetError> {
    let transcripts = store.transcripts(ids)?;
    // The archive first: if it stops half-way, the sessions are still there to be forgotten again.
    if let Some(archive) = archive {
        archive.forget(&transcripts)?;
    }
    store.forget(ids)?;
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

/// Opens a transcript as it was when it was read: the original, or what the archive has of it. It may have grown.
pub fn open_transcript(
    store: &Store,
    archive: Option<&Archive>,
    path: &str,
    version: u32,
) -> Result<Option<Box<dyn io::Read>>, StoreError> {
    let newest = store.file(path)?.filter(|file| file.version == version);
    if let Some(newest) = &newest
        && let Some(original) = open_original(newest)
    {
        return Ok(Some(Box::new(original)));
    }
    let kept = store.archived(path)?.into_iter().find(|kept| kept.version == version);
    Ok(kept.zip(archive).and_then(|(kept, archive)| {
        // Another name of a file that was rewritten in place shows what it is now.
        let lost = kept.form == Form::Link
            && newest.is_some_and(|newest| {
                let link = File::open(archive.folder().join(&kept.name));
                link.is_ok_and(|link| !still_begins_so(&link, &newest))
            });
        if lost { None } else { archive.open(&kept).ok() }
    }))
}

/// The file of a transcript, unless something else has taken its place.
fn open_original(state: &FileState) -> Option<File> {
    File::open(&state.path).ok().filter(|file| still_begins_so(file, state))
}

#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    archived: Vec<Archived>,
}

impl Batch {
    fn put(&mut self, store: &mut Store) -> Result<(), StoreError> {
        store.put_archived(&self.archived)?;
        store.put(&self.entries)?;
        self.archived.clear();
        self.entries.clear();
        Ok(())
    }
}

/// A transcript to be read.
struct Job<'a> {
    found: &'a Found,
    before: Option<&'a FileState>,
    archived: Option<Archived>,
}

/// What came of reading one.
struct Done {
    entry: Entry,
    reading: Reading,
    archived: Option<io::Result<Archived>>,
    bytes: u64,
    grown: bool,
}

impl Job<'_> {
    fn run(&self, setup: &Setup<'_>, window: &mut Window) -> io::Result<Done> {
        let mut file = File::open(&self.found.path)?;
        let grown = self.before.is_some_and(|before| before.offset > 0 && still_begins_so(&file, before));
        let resumed = self.before.filter(|_| grown).and_then(|before| resume(setup.archive?, before));
        let resumes = resumed.is_some();
        let mut transcript = resumed.unwrap_or_default();
        let from = transcript.offset;
        let read_before = transcript.reading;
        file.seek(SeekFrom::Start(from))?;

        let mut state = None;
        let age = setup.now_ns.saturating_sub(self.found.mtime_ns);
        transcript.read(&mut file, window, |transcript| {
            if age < GROWING_NS && setup.archive.is_some() {
                state = postcard::to_allocvec(&(DECODER, transcript)).ok();
            }
        })?;

        let rewritten = self.before.is_some_and(|before| before.offset > 0 && !grown);
        let file = FileState {
            path: self.found.path.to_string_lossy().into_owned(),
            inode: self.found.inode,
            size: self.found.size,
            mtime_ns: self.found.mtime_ns,
            offset: transcript.offset,
            tail: tail(&file, transcript.offset)?,
            decoder: DECODER,
            version: self.before.map_or(1, |before| before.version + u32::from(rewritten)),
        };
        let archived = setup.archive.map(|archive| {
            let kept = self.keep(archive, file.version, grown);
            if let Some(state) = &state {
                // Without it the transcript is read as a whole when it grows: slower, and as right.
                let _ = archive.keep_state(&file.path, file.version, state);
            }
            kept
        });
        let reading = transcript.reading.since(&read_before);
        let bytes = self.found.size.saturating_sub(from);
        let entry = entry(file, None, rewritten, &transcript, setup);
        Ok(Done { entry, reading, archived, bytes, grown: resumes })
    }

    fn keep(&self, archive: &Archive, version: u32, grown: bool) -> io::Result<Archived> {
        let mut kept = self.archived.clone();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.version == version && grown) {
            // An unfinished last line may have been written anew: only what was read to its end is known to stand.
            kept.size = kept.size.min(self.before.map_or(0, |before| before.offset));
            return archive.keep(self.found, version, Some(kept));
        }
        if let Some(kept) = kept {
            archive.drop_rewritten(&kept, self.found)?;
        }
        archive.keep(self.found, version, None)
    }
}

/// What is kept of a transcript. Its role is found out unless it is known.
fn entry(
    mut file: FileState,
    role: Option<Role>,
    rewritten: bool,
    transcript: &Transcript,
    setup: &Setup<'_>,
) -> Entry {
    let mut facts = transcript.ledger.finish(setup.prices);
    if !facts.ending.ended_on_open_calls.is_empty() && setup.now_ns.saturating_sub(file.mtime_ns) < QUIET_NS {
        // A call without a result is no end yet: the agent may be at it. It is looked at again once it is quiet.
        facts.ending.ended_on_open_calls = Cited::default();
        file.decoder = STILL_RUNNING;
    }
    let role = role.unwrap_or_else(|| claude_code::role(file.path.as_ref(), transcript, &facts));
    let session = session(role, transcript, facts, setup).map(|session| {
        let grade = offline::grade(session.facts.get(), setup.rubric);
        (session, grade)
    });
    let reading = serde_json::to_string(&transcript.reading).unwrap_or_default();
    let keys = if session.is_some() { transcript.ledger.keys() } else { Vec::new() };
    Entry { file, role, rewritten, reading, keys, session }
}

/// The session that comes of a transcript, if one does.
fn session(role: Role, transcript: &Transcript, facts: Facts, setup: &Setup<'_>) -> Option<Session> {
    let kind = role.session()?;
    let identity = transcript.ledger.identity();
    let recorded = identity.session.unwrap_or_default();
    let words = transcript.ledger.words();
    let title = [&words.title, &words.first_prompt, &words.task].into_iter().flatten().next().cloned();
    let title = title.or_else(|| transcript.ledger.last_answer()).unwrap_or_default();
    let title = redact(&title, setup.rules);
    Some(Session {
        id: SessionId::of(identity.first.unwrap_or_else(|| Key::of(Text::plain(&recorded)))),
        kind,
        recorded,
        agent: identity.agent,
        project: redact(identity.cwd.as_deref().unwrap_or_default(), setup.rules),
        title: one_line(&title, setup.rules),
        from: identity.from,
        to: identity.to,
        open: true,
        facts: redact_facts(facts, setup.rules),
        progress: transcript.ledger.subagents(setup.prices),
    })
}

/// Folds white space, then shortens: redacted text may be cut, raw text may not.
fn one_line(
    text: &hotwash_core::redaction::Redacted<String>,
    rules: &Rules,
) -> hotwash_core::redaction::Redacted<String> {
    let folded = text.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    redact(&folded, rules).shorten(TITLE_CHARS)
}

/// The state that was kept of a transcript, if it fits what the store knows of it.
fn resume(archive: &Archive, before: &FileState) -> Option<Transcript> {
    let state = archive.state(&before.path, before.version)?;
    let (decoder, transcript): (u32, Transcript) = postcard::from_bytes(&state).ok()?;
    (decoder == DECODER && transcript.offset == before.offset).then_some(transcript)
}

/// Whether what was read before still stands at the beginning of a file.
fn still_begins_so(file: &File, before: &FileState) -> bool {
    tail(file, before.offset).is_ok_and(|tail| tail == before.tail)
}

/// A hash of the bytes before a place.
fn tail(file: &File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(TAIL);
    let mut bytes = vec![0; (offset - from) as usize];
    match file.read_exact_at(&mut bytes, from) {
        // It has shrunk since: next time it will be read anew.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error),
        Ok(()) => Ok(xxh3_64(&bytes)),
    }
}

/// Gives copied events to the transcript that owns them, where a transcript that was put shares events with another.
fn settle_copies(store: &mut Store, setup: &Setup<'_>) -> Result<(), StoreError> {
    let unsettled = store.unsettled()?;
    if unsettled.is_empty() {
        return Ok(());
    }
    let holders = store.holders()?;
    let keys: Vec<&[_]> = holders.iter().map(|holder| holder.keys.as_slice()).collect();
    for group in copies::groups(&keys) {
        let group: Vec<&Holder> = group.into_iter().map(|at| &holders[at]).collect();
        if group.iter().any(|holder| unsettled.contains(&holder.path)) {
            settle_group(store, setup, &group)?;
        }
    }
    store.settle(&[], &[], &unsettled.iter().map(String::as_str).collect::<Vec<_>>())
}

fn settle_group(store: &mut Store, setup: &Setup<'_>, group: &[&Holder]) -> Result<(), StoreError> {
    let mut members = Vec::new();
    let mut unreadable = Vec::new();
    for holder in group {
        let Some(file) = store.file(&holder.path)? else { continue };
        let input = match holder.role {
            Role::Forgotten => None,
            _ => open_transcript(store, setup.archive, &holder.path, file.version)?,
        };
        match input.map(|mut input| claude_code::read::records(&mut *input)) {
            Some(Ok(records)) => members.push((*holder, file, records)),
            // A copy had nothing of its own before, so there is nothing to be lost with it.
            _ if holder.role == Role::Copy => {}
            _ => unreadable.push(*holder),
        }
    }
    let within = |keys: &[Key], other: &Holder| keys.iter().all(|key| other.keys.binary_search(key).is_ok());
    // What can no longer be asked keeps what it gave, unless another holds all of it: then it was moved there.
    let (moved, gone): (Vec<&Holder>, Vec<&Holder>) = unreadable.into_iter().partition(|gone| {
        gone.role != Role::Forgotten && members.iter().any(|(member, ..)| within(&gone.keys, member))
    });
    let taken: KeySet<Key> = gone.iter().flat_map(|gone| gone.keys.iter().copied()).collect();

    let records: Vec<_> = members.iter().map(|(.., records)| records.clone()).collect();
    let mut entries = Vec::new();
    for (at, ((holder, file, records), mut foreign)) in members.iter().zip(copies::foreign(&records)).enumerate() {
        let open = || open_transcript(store, setup.archive, &file.path, file.version);
        if !taken.is_empty()
            && let Some(mut input) = open()?
            && let Ok(copied) = claude_code::read::copied(&mut *input, &taken)
        {
            foreign.extend(copied);
        }
        let Some(mut input) = open()? else { continue };
        let foreign: HashSet<Key> = foreign.into_iter().collect();
        let owns_nothing = if records.is_empty() {
            // Its records have no ids: it can only be a copy as a whole.
            let whole = |(other, (member, ..)): (usize, &(&Holder, _, _))| {
                other != at && within(&holder.keys, member) && (member.keys.len() > holder.keys.len() || other < at)
            };
            members.iter().enumerate().any(whole)
        } else {
            records.iter().all(|(key, _)| foreign.contains(key))
        };
        let mut transcript = Transcript::without(foreign.into_iter().collect());
        if transcript.read(&mut *input, &mut Window::default(), |_| {}).is_err() {
            continue;
        }
        let role = owns_nothing.then_some(Role::Copy);
        // Without a state to go on from: when it grows it is read as a whole, and its copies are settled again.
        if let Some(archive) = setup.archive {
            archive.drop_state(&file.path, file.version);
        }
        let mut entry = entry(file.clone(), role, false, &transcript, setup);
        entry.keys.clone_from(&holder.keys);
        entries.push(entry);
    }
    let moved: Vec<&str> = moved.into_iter().map(|holder| holder.path.as_str()).collect();
    let paths: Vec<&str> = group.iter().map(|holder| holder.path.as_str()).collect();
    store.settle(&entries, &moved, &paths)
}

/// Compresses a portion of what has gone cold. That it fails is no reason to fail the run: it will be tried again.
fn compress(store: &mut Store, setup: &Setup<'_>) {
    let Some(archive) = setup.archive else { return };
    let Ok(kept) = store.archive() else { return };
    archive.tidy();
    let compressed = archive.compress_cold(&kept, COMPRESS_BYTES);
    if store.put_archived(&compressed).is_ok() {
        for entry in compressed {
            let _ = archive.remove(entry.name.trim_end_matches(".zst"));
        }
    }
}
