//! Sources: agents that record transcripts.

use crate::facts::Facts;
use crate::facts::calls::KeySet;
use crate::records::{Reading, Role};
use crate::sessions::{Event, Key, Part, Timestamp};
use std::path::Path;

/// An agent that records transcripts: which files are its own, and how to read them. It knows nothing of stores.
pub trait Source: Sync {
    /// Its name, which is stored with every transcript of it and never changes.
    fn name(&self) -> &'static str;

    /// Whether a file is one of its transcripts, by its path. It is asked once, when a file is found; after that the stored
    /// name says it.
    fn owns(&self, path: &Path) -> bool;

    /// Counts up when the same bytes give other events or facts, or the state to read on from has another form, so that
    /// transcripts are read again.
    fn version(&self) -> u32;

    /// Whether a transcript that has grown is read on from where it was, by a decoder that knows nothing of the lines before.
    /// Otherwise it is read as a whole.
    fn reads_on(&self) -> bool;

    /// Whether it retells what another agent recorded, and that agent's own transcript says more where there is one. Such
    /// files are ours to remove.
    fn is_second_hand(&self) -> bool {
        false
    }

    /// What people call the agent that recorded a transcript, if the transcript says.
    fn recorded_by(&self, path: &Path) -> Option<String>;

    /// A decoder for one transcript, from its first line on or from where it is read on.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// What a transcript is, by its path and by its pieces with their facts.
    fn role(&self, path: &Path, reading: &Reading, pieces: &[(&Part, &Facts)]) -> Role;
}

/// Turns the lines of a transcript into events, one after the other.
pub trait Decoder {
    /// Decodes a line, given without its newline. Tells its events, but for those of records that were `seen`, and counts
    /// what is wrong with it in `reading`. Nothing that stands in a line makes it fail.
    fn line(
        &mut self,
        line: &[u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        tell: &mut dyn FnMut(&Event<'_>),
    );

    /// Shows the records of a line by which copies of it are found.
    fn records(&mut self, line: &[u8], show: &mut dyn FnMut(Record)) {
        let mut last = None;
        self.line(line, 0, &mut Reading::default(), &mut KeySet::default(), &mut |event| {
            if event.origin.key != last {
                last = event.origin.key;
                show(Record { key: last, at: event.origin.at, ..Record::default() });
            }
        });
    }
}

/// A record of a transcript, as far as it matters for copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub key: Option<Key>,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// The id of the message it is part of.
    pub message: Option<Key>,
    /// It holds the result of a call, and belongs to the record before.
    pub is_result: bool,
}
