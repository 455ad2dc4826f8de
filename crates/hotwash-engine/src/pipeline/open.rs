//! Opens transcripts as they were when they were read.

use crate::archive::Archive;
use crate::sources::Agent;
use crate::sources::discover::words;
use crate::sources::reader::{self, Window};
use crate::stores::{FileState, Form, Store, StoreError, StoredPart, transcript_numbers};
use hotwash_core::sessions::{Event, EventId, Origin};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The bytes before the end of what was read by which a file that has only grown is recognised.
const TAIL: u64 = 1024;

/// Opens a transcript as it was when it was read: the original, or what the archive has of it. It may have grown.
pub fn open_transcript(
    store: &dyn Store,
    archive: Option<&Archive>,
    path: &str,
    version: u32,
) -> Result<Option<Box<dyn io::Read>>, StoreError> {
    match store.file(path)?.filter(|file| file.version == version) {
        Some(newest) => open_known(store, archive, &newest),
        None => open_kept(store, archive, path, version, |_| true),
    }
}

/// The same for one of which it is known what the store says of it.
pub(super) fn open_known(
    store: &dyn Store,
    archive: Option<&Archive>,
    newest: &FileState,
) -> Result<Option<Box<dyn io::Read>>, StoreError> {
    if let Some(original) = open_original(newest) {
        return Ok(Some(Box::new(original)));
    }
    // Another name of a file that was rewritten in place shows what it is now.
    open_kept(store, archive, &newest.path, newest.version, |link| {
        File::open(link).map_or(true, |link| still_begins_so(&link, newest))
    })
}

/// Opens what the archive has of a transcript, unless that is a link that is not as it was.
fn open_kept(
    store: &dyn Store,
    archive: Option<&Archive>,
    path: &str,
    version: u32,
    is_as_it_was: impl FnOnce(&Path) -> bool,
) -> Result<Option<Box<dyn io::Read>>, StoreError> {
    let kept = store.archived(path)?.into_iter().find(|kept| kept.version == version);
    Ok(kept.zip(archive).and_then(|(kept, archive)| {
        let lost = kept.form == Form::Link && !is_as_it_was(&archive.folder().join(&kept.name));
        if lost { None } else { archive.open(&kept).ok() }
    }))
}

/// Why a session cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Untold {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A transcript is gone, and the archive does not have it.
    #[error("the transcript {0} is gone, and the archive does not have it")]
    Gone(String),
    /// A transcript cannot be read.
    #[error("cannot read {0}: {why}", why = words(.1))]
    Unreadable(String, #[source] io::Error),
    /// Part of it happened in a project that keeps out.
    #[error("part of it happened in a project that opted out")]
    KeptBack,
}

/// The folders in which something happened, as events name them. A session is counted to the one in which most of it did.
#[derive(Debug, Default)]
pub struct Folders(BTreeSet<String>);

impl Folders {
    /// Looks at an event.
    pub fn see(&mut self, event: &Event<'_>) {
        let folder = event.origin.cwd.to_str();
        if !folder.is_empty() && !self.0.contains(&*folder) {
            self.0.insert(folder.into_owned());
        }
    }

    /// Whether something holds of each.
    pub fn all(&self, holds: impl Fn(&str) -> bool) -> bool {
        self.0.iter().all(|folder| holds(folder))
    }
}

/// Tells `tell` the events of a session, piece after piece. Those of its second transcript and the ones after it are told
/// apart by their ids.
pub fn tell(
    store: &dyn Store,
    archive: Option<&Archive>,
    parts: &[StoredPart],
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<(), Untold> {
    let mut window = Window::default();
    for (StoredPart { path, version, lines, .. }, number) in parts.iter().zip(transcript_numbers(parts)) {
        tell_lines(store, archive, (path, *version), number, lines, &mut window, tell)?;
    }
    Ok(())
}

/// Tells `tell` the events of some lines of the transcript with this path and version, as those of the one with this
/// number in its session.
pub(super) fn tell_lines(
    store: &dyn Store,
    archive: Option<&Archive>,
    (path, version): (&str, u32),
    number: usize,
    lines: &[(u32, u32)],
    window: &mut Window,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<(), Untold> {
    let gone = || Untold::Gone(path.to_owned());
    let mut input = open_transcript(store, archive, path, version)?.ok_or_else(gone)?;
    let agent = store.file(path)?.and_then(|file| Agent::named(&file.agent)).ok_or_else(gone)?;
    let told = reader::lines(agent, &mut *input, window, lines, &mut |event| {
        let origin = Origin { id: EventId::of_transcript(number, event.origin.id), ..*event.origin };
        tell(&Event { origin: &origin, kind: event.kind });
    });
    told.map_err(|error| Untold::Unreadable(path.to_owned(), error))
}

/// The file of a transcript, unless something else has taken its place.
fn open_original(state: &FileState) -> Option<File> {
    File::open(&state.path).ok().filter(|file| still_begins_so(file, state))
}

/// Whether what was read before still stands at the beginning of a file, which is to be read from its beginning then.
pub(super) fn still_begins_so(mut file: &File, before: &FileState) -> bool {
    let is_same = tail(file, before.offset).is_ok_and(|tail| tail == before.tail);
    file.rewind().is_ok() && is_same
}

/// A hash of the bytes before the place up to which a file was read, given what of them is in memory.
pub(super) fn tail_of_read(file: &File, offset: u64, end: &[u8]) -> io::Result<u64> {
    match end.len().checked_sub(offset.min(TAIL) as usize) {
        Some(from) => Ok(xxh3_64(&end[from..])),
        None => tail(file, offset),
    }
}

/// A hash of the bytes before a place, at which the file is to be read on.
fn tail(mut file: &File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut room = [0; TAIL as usize];
    let bytes = &mut room[..(offset - from) as usize];
    match file.read_exact(bytes) {
        // It has shrunk since: next time it will be read anew.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error),
        Ok(()) => Ok(xxh3_64(bytes)),
    }
}
