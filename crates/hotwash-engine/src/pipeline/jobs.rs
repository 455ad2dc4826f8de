//! Transcripts to be read, as readers take them and hand on what came of them.
//!
//! What takes a lot of code and little time is done for many at once, because that code is then in the processor's cache:
//! files are opened and archived in a row, and sessions graded (see [`entry`](super::entry)). How many, [`Limits`] says.

use super::Setup;
use super::entry::{Begun, Read, entries};
use super::open::{still_begins_so, tail_of_read};
use crate::archive::Archive;
use crate::sources::Agent;
use crate::sources::claude_code::discover::Found;
use crate::sources::claude_code::read::{Reading, Transcript, Window};
use crate::stores::{Archived, FileState, Rows};
use hotwash_core::sessions::topic::Decisions;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A transcript of this size is read before others.
const LONG_BYTES: u64 = 4 << 20;
/// How many transcripts all readers together have in hand, and how many bytes of them, before each grades its own in one
/// go and hands them to the writer, who is woken for it. Many at once cost less, and take memory. Where there are many
/// readers, each has the least that is worth it, and all together more.
const IN_HAND: usize = 96;
const IN_HAND_BYTES: u64 = 32 << 20;
/// And how many each has at least and at most.
const GROUP: RangeInclusive<usize> = 8..=48;
/// How many files all readers together have open, about, for what is done with many at once.
const OPEN_FILES: usize = 128;
/// How many transcripts a reader takes at a time, at most.
const TAKEN: usize = 8;
/// The version of a transcript that nothing is known of. One that is rewritten gets the next.
pub(super) const FIRST_VERSION: u32 = 1;
/// The state to go on from is kept for files written within this time; older ones hardly ever grow.
const GROWING_NS: i64 = 2 * 24 * 3600 * 1_000_000_000;

/// A transcript to be read.
pub(super) struct Job<'a> {
    pub(super) found: &'a Found,
    pub(super) before: Option<Box<FileState>>,
    pub(super) archived: Option<Box<Archived>>,
    pub(super) topics: &'a Arc<Decisions>,
}

/// Puts the longest first, so that no core is left with it at the end. The others stay as they were found, which is about
/// the order in which the store has them.
pub(super) fn longest_first(jobs: &mut [Job<'_>]) {
    jobs.sort_by_key(|job| Reverse(Some(job.found.size).filter(|size| *size >= LONG_BYTES)));
}

/// Takes the next transcripts that nobody has taken, and opens them. Those that are long are taken one by one, and so are
/// the last ones, so that all readers have something to do to the end.
///
/// The system opens many in a row, and links many in a row (see [`Group`]), in much less time than one after each that was
/// read: what it needs for that is in the processor's cache by then.
pub(super) fn take<'j>(
    jobs: &'j [Job<'j>],
    next: &AtomicUsize,
    limits: &Limits,
) -> Option<Vec<(&'j Job<'j>, io::Result<File>)>> {
    let end = |from: usize| {
        let (left, mut bytes) = (&jobs[from..], 0);
        let most = (left.len() / limits.parts).clamp(1, limits.taken);
        let fits = |job: &&Job<'_>| {
            let is_little = bytes < LONG_BYTES;
            bytes += job.found.size;
            is_little
        };
        let count = left.iter().take(most).take_while(fits).count();
        (count > 0).then_some(from + count)
    };
    let from = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).ok()?;
    let taken = &jobs[from..end(from)?];
    Some(taken.iter().map(|job| (job, File::open(&job.found.path))).collect())
}

/// How much a reader has in hand.
pub(super) struct Limits {
    /// How large a group gets.
    pub(super) transcripts: usize,
    bytes: u64,
    /// How many are taken at a time, and how many are open after they were read.
    taken: usize,
    open: usize,
    /// Into so many parts what is left is thought to be shared out: towards the end, one is less than may be taken.
    parts: usize,
}

impl Limits {
    /// Where so many readers share what may be in hand.
    pub(super) fn of(readers: usize) -> Limits {
        let transcripts = (IN_HAND / readers).clamp(*GROUP.start(), *GROUP.end());
        let files = OPEN_FILES / readers;
        let taken = (files / 2).clamp(1, TAKEN);
        Limits {
            transcripts,
            bytes: IN_HAND_BYTES / IN_HAND as u64 * transcripts as u64,
            taken,
            open: files.saturating_sub(taken).max(1),
            parts: 4 * readers,
        }
    }
}

/// Transcripts that were read, to be handed to the writer together.
pub(super) struct Group<'j> {
    done: Vec<(&'j Job<'j>, io::Result<Done>)>,
    begun: Vec<Begun>,
    bytes: u64,
    /// Those that are yet to be archived, by their places among what is done.
    open: Vec<(usize, Open)>,
}

impl<'j> Group<'j> {
    /// With room for as many as it may get.
    pub(super) fn of(limits: &Limits) -> Group<'j> {
        let room = limits.transcripts;
        let (done, begun) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Group { done, begun, bytes: 0, open: Vec::with_capacity(room.min(limits.open)) }
    }

    /// Adds a transcript. One that nobody writes to any more is archived later, with others.
    pub(super) fn add(
        &mut self,
        job: &'j Job<'j>,
        result: io::Result<(Done, Open, Begun)>,
        limits: &Limits,
        setup: &Setup<'_>,
    ) {
        self.bytes += job.found.size;
        let result = result.map(|(mut done, open, begun)| {
            self.begun.push(begun);
            if let Some(archive) = setup.archive {
                if job.before.is_none() && archive.is_cold(job.found) {
                    self.open.push((self.done.len(), open));
                } else {
                    done.archived = Some(job.keep(archive, &open));
                }
            }
            done
        });
        self.done.push((job, result));
        if self.open.len() >= limits.open {
            self.archive(setup);
        }
    }

    /// Archives what is open, and closes it.
    fn archive(&mut self, setup: &Setup<'_>) {
        for (at, open) in self.open.drain(..) {
            if let (job, Ok(done)) = &mut self.done[at] {
                done.archived = setup.archive.map(|archive| job.keep(archive, &open));
            }
        }
    }

    pub(super) fn is_full(&self, limits: &Limits) -> bool {
        self.done.len() >= limits.transcripts || self.bytes >= limits.bytes
    }

    /// What came of each, and the rows of those that could be read. They are made here and not by the writer, who has the
    /// most to do.
    pub(super) fn finish(mut self, setup: &Setup<'_>) -> (Vec<(&'j Job<'j>, io::Result<Done>)>, Vec<Rows>) {
        self.archive(setup);
        let Group { done, begun, .. } = self;
        (done, Rows::of_all(entries(begun, setup)))
    }
}

/// What came of reading one.
pub(super) struct Done {
    pub(super) reading: Reading,
    /// Once it was.
    pub(super) archived: Option<io::Result<Archived>>,
    pub(super) bytes: u64,
    pub(super) grown: bool,
}

/// A transcript that was read, as it is to be archived.
pub(super) struct Open {
    file: File,
    version: u32,
    /// What was read before still stands.
    grown: bool,
}

impl Job<'_> {
    /// Reads the transcript, which is open.
    pub(super) fn run(
        &self,
        mut input: File,
        setup: &Setup<'_>,
        window: &mut Window,
    ) -> io::Result<(Done, Open, Begun)> {
        let before = self.before.as_deref();
        let grown = before.is_some_and(|before| before.offset > 0 && still_begins_so(&input, before));
        let agent = Agent::of(&self.found.path);
        let resumed = before.filter(|_| grown && agent.grows()).and_then(|before| resume(setup.archive?, before));
        let resumes = resumed.is_some();
        let mut transcript = resumed.unwrap_or_else(|| Box::<Transcript>::default().by(agent)).knowing(self.topics);
        let from = transcript.offset;
        let read_before = transcript.reading;
        if from > 0 {
            input.seek(SeekFrom::Start(from))?;
        }

        let bytes = self.found.size.saturating_sub(from);
        transcript.expect(bytes);
        let mut state = None;
        let age = setup.now_ns.saturating_sub(self.found.mtime_ns);
        transcript.read(&mut input, window, |transcript| {
            if age < GROWING_NS && setup.archive.is_some() && agent.grows() {
                state = postcard::to_allocvec(&(agent.decoder(), transcript)).ok();
            }
        })?;

        let rewritten = before.is_some_and(|before| before.offset > 0 && !grown);
        let version = before.map_or(FIRST_VERSION, |before| before.version + u32::from(rewritten));
        let file = FileState {
            path: self.found.path.to_string_lossy().into_owned(),
            inode: self.found.inode,
            size: self.found.size,
            mtime_ns: self.found.mtime_ns,
            offset: transcript.offset,
            tail: tail_of_read(&input, transcript.offset, window.end())?,
            decoder: agent.decoder(),
            version,
        };
        let reading = transcript.reading.since(&read_before);
        let begun = Read { file, role: None, is_new: before.is_none(), transcript }.begin(setup);
        if let Some((archive, state)) = setup.archive.zip(state) {
            // Without it the transcript is read as a whole when it grows: slower, and as right.
            let _ = archive.keep_state(begun.path(), version, &state);
        }
        let done = Done { reading, archived: None, bytes, grown: resumes };
        Ok((done, Open { file: input, version, grown }, begun))
    }

    fn keep(&self, archive: &Archive, open: &Open) -> io::Result<Archived> {
        let Open { file, version, grown } = open;
        let mut kept = self.archived.as_deref().cloned();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.version == *version && *grown) {
            // An unfinished last line may have been written anew: only what was read to its end is known to stand.
            kept.size = kept.size.min(self.before.as_ref().map_or(0, |before| before.offset));
            return archive.keep(self.found, file, *version, Some(kept));
        }
        if let Some(kept) = kept {
            archive.drop_rewritten(&kept, self.found)?;
        }
        archive.keep(self.found, file, *version, None)
    }
}

/// The state that was kept of a transcript, if it fits what the store knows of it.
fn resume(archive: &Archive, before: &FileState) -> Option<Box<Transcript>> {
    let state = archive.state(&before.path, before.version)?;
    let (decoder, transcript): (u32, Box<Transcript>) = postcard::from_bytes(&state).ok()?;
    (decoder == Agent::ClaudeCode.decoder() && transcript.offset == before.offset).then_some(transcript)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transcripts of these sizes, none of which are there.
    fn found(sizes: &[u64]) -> Vec<Found> {
        let found = |(n, size): (usize, &u64)| Found {
            path: format!("/nowhere/{n}.jsonl").into(),
            size: *size,
            mtime_ns: 0,
            inode: n as u64,
        };
        sizes.iter().enumerate().map(found).collect()
    }

    /// How many are taken each time by one of so many readers, until none are left, and in which order.
    fn taken(sizes: &[u64], readers: usize) -> (Vec<usize>, Vec<u64>) {
        let (found, topics) = (found(sizes), Arc::default());
        let mut jobs: Vec<Job<'_>> =
            found.iter().map(|found| Job { found, before: None, archived: None, topics: &topics }).collect();
        longest_first(&mut jobs);
        let (next, limits) = (AtomicUsize::new(0), Limits::of(readers));
        let all: Vec<Vec<u64>> = std::iter::from_fn(|| take(&jobs, &next, &limits))
            .map(|some| some.iter().map(|(job, _)| job.found.inode).collect())
            .collect();
        (all.iter().map(Vec::len).collect(), all.concat())
    }

    #[test]
    fn long_ones_and_the_last_ones_are_taken_one_by_one() {
        let mut sizes = vec![100; 100];
        (sizes[3], sizes[90]) = (LONG_BYTES, LONG_BYTES + 1);
        let (counts, order) = taken(&sizes, 2);
        let fewer = [1, 1, 8, 8, 8, 8, 8, 7, 6, 5, 5, 4, 3, 3, 3, 2, 2, 2, 2];
        assert_eq!(counts, fewer.into_iter().chain([1; 14]).collect::<Vec<_>>());
        let rest = (0..100).filter(|n| *n != 3 && *n != 90);
        assert_eq!(order, [90, 3].into_iter().chain(rest).collect::<Vec<_>>());
        assert_eq!(taken(&[], 2), (vec![], vec![]));
        // Nor is much taken at a time where many are nearly long.
        assert_eq!(taken(&[LONG_BYTES - 1; 100], 2).0[..3], [2, 2, 2]);
    }

    #[test]
    fn many_readers_have_few_files_open_each() {
        for readers in 1..=OPEN_FILES {
            let Limits { taken, open, .. } = Limits::of(readers);
            assert!(taken > 0 && open > 0 && readers * (taken + open) <= 2 * OPEN_FILES, "{readers}");
        }
    }
}
