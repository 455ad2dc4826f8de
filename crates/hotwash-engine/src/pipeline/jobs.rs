//! Transcripts to be read, and what came of reading them.

use super::Setup;
use super::entry::entry;
use super::open::{still_begins_so, tail_of_read};
use crate::archive::Archive;
use crate::sources::Agent;
use crate::sources::discover::Found;
use crate::sources::reader::{Reading, Transcript, Window};
use crate::stores::{Archived, Entry, FileState};
use hotwash_core::sessions::topic::Decisions;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::sync::Arc;

/// A transcript of this size is read before others.
const LONG_BYTES: u64 = 4 << 20;
/// The version of a transcript that nothing is known of. One that is rewritten gets the next.
const FIRST_VERSION: u32 = 1;
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

/// What came of reading one.
pub(super) struct Done {
    pub(super) entry: Entry,
    pub(super) reading: Reading,
    pub(super) archived: Option<io::Result<Archived>>,
    pub(super) bytes: u64,
    pub(super) grown: bool,
}

impl Job<'_> {
    /// Reads the transcript, and archives it.
    pub(super) fn run(&self, setup: &Setup<'_>, window: &mut Window) -> io::Result<Done> {
        let mut input = File::open(&self.found.path)?;
        let before = self.before.as_deref();
        let grown = before.is_some_and(|before| before.offset > 0 && still_begins_so(&input, before));
        let agent = before.and_then(|before| Agent::named(&before.agent)).unwrap_or(self.found.agent);
        let resumed =
            before.filter(|_| grown && agent.reads_on()).and_then(|before| resume(setup.archive?, before, agent));
        let resumes = resumed.is_some();
        let mut transcript = resumed.unwrap_or_default().by(agent).knowing(self.topics);
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
            if age < GROWING_NS && setup.archive.is_some() && agent.reads_on() {
                state = postcard::to_allocvec(&(agent.version(), transcript)).ok();
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
            agent: agent.name().into(),
            decoder: agent.version(),
            version,
        };
        let reading = transcript.reading.since(&read_before);
        if let Some((archive, state)) = setup.archive.zip(state) {
            // Without it the transcript is read as a whole when it grows: slower, and as right.
            let _ = archive.keep_state(&file.path, version, &state);
        }
        let entry = entry(file, None, transcript, setup);
        let archived = setup.archive.map(|archive| self.keep(archive, &input, version, grown));
        Ok(Done { entry, reading, archived, bytes, grown: resumes })
    }

    /// Archives the file. `grown` says that what was read before still stands in it.
    fn keep(&self, archive: &Archive, file: &File, version: u32, grown: bool) -> io::Result<Archived> {
        let mut kept = self.archived.as_deref().cloned();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.version == version && grown) {
            // An unfinished last line may have been written anew: only what was read to its end is known to stand.
            kept.size = kept.size.min(self.before.as_ref().map_or(0, |before| before.offset));
            return archive.keep(self.found, file, version, Some(kept));
        }
        if let Some(kept) = kept {
            archive.drop_rewritten(&kept, self.found)?;
        }
        archive.keep(self.found, file, version, None)
    }
}

/// The state that was kept of a transcript, if it fits what the store knows of it.
fn resume(archive: &Archive, before: &FileState, agent: Agent) -> Option<Box<Transcript>> {
    let state = archive.state(&before.path, before.version)?;
    let (decoder, transcript): (u32, Box<Transcript>) = postcard::from_bytes(&state).ok()?;
    (decoder == agent.version() && transcript.offset == before.offset).then_some(transcript)
}
