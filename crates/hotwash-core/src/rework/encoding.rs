//! A fingerprint as bytes: about five for a line.
//!
//! Numbers have seven bits in a byte, the lowest first. What is sorted is kept as the distance from the one before.

use super::fingerprint::{Act, CommitId, FileChange, Fingerprint, LineChange, Subject, What};
use super::lines::Line;
use super::repository::FileKey;
use crate::sessions::{EventId, Timestamp};
use std::collections::BTreeSet;

/// Stands first. Counts up when the layout changes, or what is hashed.
const VERSION: u8 = 1;

/// For how many files room is made at once: a count that was changed may be any.
const FILES_MADE_ROOM_FOR: usize = 64;

/// Why bytes are no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// They are of another version.
    #[error("a fingerprint of version {0}, which this program does not know")]
    Version(u8),
    /// They are none, or were changed.
    #[error("a damaged fingerprint")]
    Damaged,
}

impl Fingerprint {
    /// The bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(vec![VERSION]);
        out.fixed(self.tree);
        out.number(self.cut.map_or(0, |cut| u64::from(cut.number()) + 1));

        // Where and when is said once for all lines of an edit.
        let edits = self.edits();
        out.number(edits.len() as u64);
        let mut before = Place::default();
        for &(event, at) in &edits {
            out.place(&mut before, event, at);
        }
        out.number(self.files.len() as u64);
        for FileChange { file, created, lines } in &self.files {
            out.fixed(file.0);
            out.number((lines.len() as u64) << 1 | u64::from(*created));
            let mut last = 0;
            for &LineChange { line, net, event, at } in lines {
                out.number(u64::from(line.number().wrapping_sub(last)));
                last = line.number();
                let amount = match net {
                    1 => 0,
                    -1 => 1,
                    _ => 2,
                };
                let edit = edits.binary_search(&(event, at)).unwrap_or_default() as u64;
                out.number(edit << 2 | amount);
                if amount == 2 {
                    out.signed(i64::from(net));
                }
            }
        }
        out.number(self.acts.len() as u64);
        for act in &self.acts {
            out.act(act, &mut before);
        }
        out.0
    }

    /// Where and when lines were changed, in order.
    fn edits(&self) -> Vec<(EventId, Timestamp)> {
        let edits: BTreeSet<_> = self.lines().map(|(_, change)| (change.event, change.at)).collect();
        edits.into_iter().collect()
    }

    /// Reads bytes that were kept. No bytes make it fail otherwise than by saying so.
    pub fn from_bytes(bytes: &[u8]) -> Result<Fingerprint, Unreadable> {
        match bytes.split_first() {
            None => Err(Unreadable::Damaged),
            Some((&VERSION, rest)) => {
                let mut reader = Reader(rest);
                let read = reader.fingerprint().filter(|_| reader.0.is_empty());
                read.ok_or(Unreadable::Damaged)
            }
            Some((&version, _)) => Err(Unreadable::Version(version)),
        }
    }
}

/// The place that the next one is told from.
#[derive(Default)]
struct Place {
    event: i64,
    at: i64,
}

struct Writer(Vec<u8>);

impl Writer {
    fn fixed(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    fn place(&mut self, before: &mut Place, event: EventId, at: Timestamp) {
        self.signed(i64::from(event.0).wrapping_sub(before.event));
        self.signed(at.0.wrapping_sub(before.at));
        *before = Place { event: i64::from(event.0), at: at.0 };
    }

    fn commit(&mut self, id: CommitId) {
        self.0.push(id.digits);
        self.fixed(id.bits);
    }

    fn act(&mut self, act: &Act, before: &mut Place) {
        let tag = match act.what {
            What::Commit { id, subject } => u8::from(id.is_some()) | u8::from(subject.is_some()) << 1,
            What::Revert(_) => 4,
            What::RevertSubject(_) => 5,
            What::Drop(_) => 6,
            What::Discard(_) => 7,
            What::DiscardAll => 8,
            What::Remove(_) => 9,
            What::Move(..) => 10,
        };
        self.0.push(tag);
        self.place(before, act.event, act.at);
        match act.what {
            What::Commit { id, subject } => {
                if let Some(id) = id {
                    self.commit(id);
                }
                if let Some(Subject(hash)) = subject {
                    self.fixed(hash);
                }
            }
            What::Revert(id) => self.commit(id),
            What::RevertSubject(subject) => self.fixed(subject.0),
            What::Drop(count) => self.number(u64::from(count)),
            What::Discard(file) | What::Remove(file) => self.fixed(file.0),
            What::DiscardAll => {}
            What::Move(from, to) => {
                self.fixed(from.0);
                self.fixed(to.0);
            }
        }
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let tree = self.fixed()?;
        let cut = match self.number()? {
            0 => None,
            above => Some(line(above - 1)?),
        };
        let mut before = Place::default();
        let count = self.count()?;
        let mut edits = Vec::with_capacity(count);
        for _ in 0..count {
            edits.push(self.place(&mut before)?);
        }
        let count = self.count()?;
        let mut files: Vec<FileChange> = Vec::with_capacity(count.min(FILES_MADE_ROOM_FOR));
        for _ in 0..count {
            let file = FileKey(self.fixed()?);
            if files.last().is_some_and(|last| last.file >= file) {
                return None;
            }
            let head = self.number()?;
            let count = usize::try_from(head >> 1).ok().filter(|&count| count <= self.0.len())?;
            let mut lines = Vec::with_capacity(count);
            let mut last = None;
            for _ in 0..count {
                let step = self.number()?;
                let number = last.map_or(Some(step), |last: u64| last.checked_add(step).filter(|_| step > 0))?;
                last = Some(number);
                let edit = self.number()?;
                let &(event, at) = edits.get(usize::try_from(edit >> 2).ok()?)?;
                let net = match edit & 3 {
                    0 => 1,
                    1 => -1,
                    2 => i32::try_from(self.signed()?).ok().filter(|net| !matches!(net, -1..=1))?,
                    _ => return None,
                };
                lines.push(LineChange { line: line(number)?, net, event, at });
            }
            files.push(FileChange { file, created: head & 1 == 1, lines });
        }
        let mut acts = Vec::new();
        for _ in 0..self.count()? {
            acts.push(self.act(&mut before)?);
        }
        Some(Fingerprint { tree, files, acts, cut })
    }

    /// How many things follow; each takes at least a byte.
    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|&count| count <= self.0.len())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn fixed(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // The tenth byte has room for one bit, and the last one is never empty-handed.
                return (shift < 63 || byte <= 1).then_some(number).filter(|_| shift == 0 || byte > 0);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn place(&mut self, before: &mut Place) -> Option<(EventId, Timestamp)> {
        let event = before.event.wrapping_add(self.signed()?);
        let at = before.at.wrapping_add(self.signed()?);
        *before = Place { event, at };
        Some((EventId(u32::try_from(event).ok()?), Timestamp(at)))
    }

    fn commit(&mut self) -> Option<CommitId> {
        let digits = self.byte().filter(|digits| (4..=16).contains(digits))?;
        Some(CommitId { bits: self.fixed()?, digits })
    }

    fn act(&mut self, before: &mut Place) -> Option<Act> {
        let tag = self.byte()?;
        let (event, at) = self.place(before)?;
        let what = match tag {
            0..=3 => What::Commit {
                id: if tag & 1 == 1 { Some(self.commit()?) } else { None },
                subject: if tag & 2 == 2 { Some(Subject(self.fixed()?)) } else { None },
            },
            4 => What::Revert(self.commit()?),
            5 => What::RevertSubject(Subject(self.fixed()?)),
            6 => What::Drop(u32::try_from(self.number()?).ok()?),
            7 => What::Discard(FileKey(self.fixed()?)),
            8 => What::DiscardAll,
            9 => What::Remove(FileKey(self.fixed()?)),
            10 => What::Move(FileKey(self.fixed()?), FileKey(self.fixed()?)),
            _ => return None,
        };
        Some(Act { event, at, what })
    }
}

fn line(number: u64) -> Option<Line> {
    u32::try_from(number).ok().filter(|&number| number <= Line::LAST).map(Line::new)
}

#[cfg(test)]
pub(super) mod prism_rework {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    prop_compose! {
        fn commit_id()(bits in any::<u64>(), digits in 4u8..=16) -> CommitId {
            CommitId { bits: bits >> (64 - 4 * u32::from(digits)) << (64 - 4 * u32::from(digits)), digits }
        }
    }

    fn what() -> impl Strategy<Value = What> {
        let file = || any::<u64>().prop_map(FileKey);
        let subject = || any::<u64>().prop_map(Subject);
        prop_oneof![
            (proptest::option::of(commit_id()), proptest::option::of(subject()))
                .prop_map(|(id, subject)| What::Commit { id, subject }),
            commit_id().prop_map(What::Revert),
            subject().prop_map(What::RevertSubject),
            any::<u32>().prop_map(What::Drop),
            file().prop_map(What::Discard),
            Just(What::DiscardAll),
            file().prop_map(What::Remove),
            (file(), file()).prop_map(|(from, to)| What::Move(from, to)),
        ]
    }

    fn place() -> impl Strategy<Value = (EventId, Timestamp)> {
        let time = prop_oneof![any::<i64>(), 1_700_000_000_000i64..1_800_000_000_000];
        let any = (any::<u32>(), time).prop_map(|(event, at)| (EventId(event), Timestamp(at)));
        // Most lines share their edit with others.
        let shared = (0u32..4, 0i64..2).prop_map(|(event, at)| (EventId(event), Timestamp(at)));
        prop_oneof![any, shared]
    }

    fn fingerprint() -> impl Strategy<Value = Fingerprint> {
        let net = prop_oneof![Just(1), Just(-1), any::<i32>().prop_filter("0 is no change", |&net| net != 0)];
        let lines = btree_map(0..=Line::LAST, (net, place()), 0..8).prop_map(|lines| {
            let change = |(line, (net, (event, at)))| LineChange { line: Line::new(line), net, event, at };
            lines.into_iter().map(change).collect::<Vec<_>>()
        });
        let files = btree_map(any::<u64>(), (any::<bool>(), lines), 0..5).prop_map(|files| {
            let change = |(file, (created, lines))| FileChange { file: FileKey(file), created, lines };
            files.into_iter().map(change).collect::<Vec<_>>()
        });
        let acts = vec((place(), what()), 0..6)
            .prop_map(|acts| acts.into_iter().map(|((event, at), what)| Act { event, at, what }).collect::<Vec<_>>());
        (any::<u64>(), files, acts, proptest::option::of((0..=Line::LAST).prop_map(Line::new)))
            .prop_map(|(tree, files, acts, cut)| Fingerprint { tree, files, acts, cut })
    }

    proptest! {
        #[test]
        fn what_is_kept_reads_back(fingerprint in fingerprint()) {
            prop_assert_eq!(Fingerprint::from_bytes(&fingerprint.to_bytes()), Ok(fingerprint));
        }

        #[test]
        fn numbers_read_back_whatever_follows(number in any::<u64>(), shift in 0u32..64, rest in vec(any::<u8>(), 0..12)) {
            let mut out = Writer(Vec::new());
            out.number(number >> shift);
            out.0.extend(&rest);
            let mut reader = Reader(&out.0);
            prop_assert_eq!(reader.number(), Some(number >> shift));
            prop_assert_eq!(reader.0, rest);
        }

        #[test]
        fn lines_are_counted_as_they_are_listed(fingerprint in fingerprint()) {
            prop_assert_eq!(fingerprint.count_added(), fingerprint.added().len());
        }

        #[test]
        fn foreign_bytes_are_turned_down(bytes in vec(any::<u8>(), 0..80)) {
            let _ = Fingerprint::from_bytes(&bytes);
            let _ = Fingerprint::from_bytes(&[&[VERSION], bytes.as_slice()].concat());
        }

        #[test]
        fn bytes_that_were_changed_never_panic(
            fingerprint in fingerprint(), at in any::<proptest::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = fingerprint.to_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = Fingerprint::from_bytes(&bytes);
            bytes.truncate(at);
            prop_assert!(Fingerprint::from_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn another_version_is_named() {
        assert_eq!(Fingerprint::from_bytes(&[9, 1, 2]), Err(Unreadable::Version(9)));
        assert_eq!(Fingerprint::from_bytes(&[]), Err(Unreadable::Damaged));
        assert_eq!(Unreadable::Version(9).to_string(), "a fingerprint of version 9, which this program does not know");
    }
}
