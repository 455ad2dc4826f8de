//! What a session did to its repository, in hashes: the lines it added and removed, its commits, and what it undid.
//!
//! A fingerprint holds no words, so that there is nothing in it to redact. How it is kept is in
//! `encoding.rs`, how it comes about in `changes.rs`.

use super::lines::Line;
use super::repository::FileKey;
use crate::sessions::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How many changed lines of a session are kept. Of more than that, the ones with the lowest hashes: a sample that is
/// as good as random, and in which every session keeps the same lines.
pub const LINES_KEPT: usize = 4096;
/// How many acts of a session are kept, the first ones.
pub const ACTS_KEPT: usize = 256;

/// What a session did to its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The working tree that it worked in.
    pub tree: u64,
    /// The files it changed, by their keys.
    pub files: Vec<FileChange>,
    /// What it did with git and to whole files, in the order of time.
    pub acts: Vec<Act>,
    /// Lines from this one on were left out, because there were too many.
    pub cut: Option<Line>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub file: FileKey,
    /// It was made by this session.
    pub created: bool,
    /// Lines of which it has more or fewer than before, by their hashes.
    pub lines: Vec<LineChange>,
}

/// What became of a line: all copies of it in a file, from the session's beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineChange {
    /// The line.
    pub line: Line,
    /// How many there are more of, or fewer. Never 0.
    pub net: i32,
    /// The event that changed it last.
    pub event: EventId,
    /// When that was.
    pub at: Timestamp,
}

/// A line that a session added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The line.
    pub line: Line,
    /// When the session last changed it.
    pub at: Timestamp,
    /// The file that it was added to, with the number of copies.
    pub home: (FileKey, i32),
    /// Further ones.
    pub more: Vec<(FileKey, i32)>,
}

impl Added {
    /// The files that it was added to, with the number of copies.
    pub fn homes(&self) -> impl Iterator<Item = (FileKey, i32)> {
        std::iter::once(self.home).chain(self.more.iter().copied())
    }
}

/// Something done with git, or to a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// Where.
    pub event: EventId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A commit was made, of which its output shows the id and the subject, or not.
    Commit {
        /// The id.
        id: Option<CommitId>,
        /// The subject.
        subject: Option<Subject>,
    },
    /// A commit was undone that is named.
    Revert(CommitId),
    /// A commit was undone whose subject is named: `Revert "subject"`.
    RevertSubject(Subject),
    /// The last commits were thrown away: `git reset --hard HEAD~2`.
    Drop(u32),
    /// A file was put back as it was last committed, in a session that had changed nothing before.
    Discard(FileKey),
    /// All files were, in such a session.
    DiscardAll,
    /// A file was deleted.
    Remove(FileKey),
    /// A file was moved.
    Move(FileKey, FileKey),
}

/// The beginning of a commit's id, as far as it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitId {
    /// The first digits, from the highest bits down; those that were not shown are 0.
    pub(super) bits: u64,
    /// How many there are, 4 to 16.
    pub(super) digits: u8,
}

impl CommitId {
    /// Reads at least four hexadecimal digits; of more than 16 the first 16.
    pub fn parse(text: &str) -> Option<CommitId> {
        if !(4..=64).contains(&text.len()) || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let digits = text.len().min(16);
        let bits = u64::from_str_radix(text.get(..digits)?, 16).ok()?;
        Some(CommitId { bits: bits << (64 - 4 * digits), digits: digits as u8 })
    }

    /// Whether both may be the same commit: they agree as far as both are known.
    pub fn agrees(self, other: CommitId) -> bool {
        let digits = self.digits.min(other.digits);
        digits > 0 && (self.bits ^ other.bits) >> (64 - 4 * u32::from(digits)) == 0
    }
}

/// A hash of a commit's subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject(pub(super) u64);

impl Subject {
    /// The hash of these words.
    pub fn of(words: &str) -> Subject {
        Subject(crate::facts::text_hash(words))
    }

    /// The subject of the commit that a commit with this subject undoes, if it undoes one.
    pub fn undone_by(words: &str) -> Option<Subject> {
        let quoted = |mark| words.trim().strip_prefix(mark).and_then(|rest: &str| rest.strip_suffix('"'));
        // What git calls the undoing of an undoing.
        let reapplied = || quoted("Reapply \"").map(|subject| Subject::of(&format!("Revert \"{subject}\"")));
        quoted("Revert \"").map(Subject::of).or_else(reapplied)
    }
}

impl Fingerprint {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.acts.is_empty()
    }

    /// What several parts of one session did together: the pieces it was joined from, or its subagents and itself.
    /// Their order does not matter. Events keep the ids that they have in their own transcripts.
    #[must_use]
    pub fn joined<'p>(parts: impl IntoIterator<Item = &'p Fingerprint>) -> Fingerprint {
        let mut joined = Fingerprint::default();
        let mut files: BTreeMap<FileKey, (bool, BTreeMap<Line, LineChange>)> = BTreeMap::new();
        let mut trees = Vec::new();
        for part in parts {
            trees.push(part.tree);
            joined.acts.extend_from_slice(&part.acts);
            joined.cut = [joined.cut, part.cut].into_iter().flatten().min();
            for file in &part.files {
                let (created, lines) = files.entry(file.file).or_default();
                *created |= file.created;
                for change in &file.lines {
                    let line = lines.entry(change.line).or_insert(LineChange { net: 0, ..*change });
                    line.net = line.net.saturating_add(change.net);
                    (line.at, line.event) = (line.at, line.event).max((change.at, change.event));
                }
            }
        }
        joined.tree = trees.into_iter().min().unwrap_or_default();
        joined.acts.sort_by_key(|act| (act.at, act.event));
        let files = files.into_iter().map(|(file, (created, lines))| {
            let lines = lines.into_values().filter(|change| change.net != 0).collect();
            FileChange { file, created, lines }
        });
        joined.files = files.collect();
        joined.keep_to_limits();
        joined
    }

    /// Leaves out what is too much.
    pub(super) fn keep_to_limits(&mut self) {
        self.acts.truncate(ACTS_KEPT);
        let count = || self.files.iter().map(|file| file.lines.len()).sum::<usize>();
        if count() > LINES_KEPT {
            let mut lines: Vec<Line> = self.lines().map(|(_, change)| change.line).collect();
            let (_, &mut first_out, _) = lines.select_nth_unstable(LINES_KEPT);
            self.cut = Some(self.cut.map_or(first_out, |cut| cut.min(first_out)));
        }
        if let Some(cut) = self.cut {
            for file in &mut self.files {
                let kept = file.lines.partition_point(|change| change.line < cut);
                file.lines.truncate(kept);
            }
        }
        self.files.retain(|file| file.created || !file.lines.is_empty());
    }

    /// The lines that the session added: those of which there are more now, in all files together. What it moved from
    /// one file to another it did not add.
    pub fn added(&self) -> Vec<Added> {
        debug_assert!(self.files.is_sorted_by_key(|file| file.file), "files stand by their keys");
        let mut lines: Vec<(FileKey, &LineChange)> = self.lines().collect();
        // The files of a line keep their order.
        lines.sort_by_key(|(_, change)| change.line);
        lines.chunk_by(|a, b| a.1.line == b.1.line).filter_map(balance).collect()
    }

    /// How many they are.
    pub(super) fn count_added(&self) -> usize {
        let mut nets: HashMap<Line, i64> = HashMap::new();
        for (_, change) in self.lines() {
            *nets.entry(change.line).or_default() += i64::from(change.net);
        }
        nets.values().filter(|net| **net > 0).count()
    }

    /// A line, if the session added it.
    pub(super) fn added_line(&self, line: Line) -> Option<Added> {
        let mut changes = Vec::new();
        for file in &self.files {
            if let Ok(at) = file.lines.binary_search_by_key(&line, |change| change.line) {
                changes.push((file.file, &file.lines[at]));
            }
        }
        balance(&changes)
    }

    /// All lines that changed, with their files.
    pub fn lines(&self) -> impl Iterator<Item = (FileKey, &LineChange)> {
        self.files.iter().flat_map(|file| file.lines.iter().map(move |change| (file.file, change)))
    }
}

/// What is left of a line's changes, each with its file.
fn balance(changes: &[(FileKey, &LineChange)]) -> Option<Added> {
    let mut rest: i64 = changes.iter().map(|(_, change)| i64::from(change.net)).sum();
    let (line, at) = (changes.first()?.1.line, changes.iter().map(|(_, change)| change.at).max()?);
    let mut homes = changes.iter().filter_map(|(file, change)| {
        let copies = i64::from(change.net).min(rest).max(0);
        rest -= copies;
        (copies > 0).then_some((*file, copies as i32))
    });
    let home = homes.next()?;
    Some(Added { line, at, home, more: homes.collect() })
}

#[cfg(test)]
mod prism_rework {
    use super::*;

    fn change(line: u32, net: i32) -> LineChange {
        LineChange { line: Line::new(line), net, event: EventId(line), at: Timestamp(i64::from(line)) }
    }

    fn file(key: u64, lines: Vec<LineChange>) -> FileChange {
        FileChange { file: FileKey(key), created: false, lines }
    }

    #[test]
    fn parts_of_a_session_add_up() {
        let first = Fingerprint { files: vec![file(1, vec![change(5, 1), change(9, 2)])], ..Fingerprint::default() };
        let then =
            Fingerprint { files: vec![file(1, vec![change(9, -2)]), file(2, vec![change(5, 1)])], ..first.clone() };
        let joined = Fingerprint::joined([&first, &then]);
        assert_eq!(joined.files, [file(1, vec![change(5, 1)]), file(2, vec![change(5, 1)])]);
        assert_eq!(joined, Fingerprint::joined([&then, &first]));
    }

    #[test]
    fn of_too_many_lines_every_session_keeps_the_same_ones() {
        let many = |step: u32| {
            let lines = (0..20_000).map(|line| change(line * step, 1)).collect();
            let mut many = Fingerprint { files: vec![file(1, lines)], ..Fingerprint::default() };
            many.keep_to_limits();
            many
        };
        let (some, others) = (many(1), many(3));
        assert_eq!(some.lines().count(), LINES_KEPT);
        assert_eq!(some.cut, Some(Line::new(LINES_KEPT as u32)));
        assert!(some.lines().all(|(_, change)| change.line < some.cut.unwrap()));
        assert!(others.cut > some.cut);
    }

    #[test]
    fn a_commit_is_known_by_the_beginning_of_its_id() {
        let id = |text| CommitId::parse(text).unwrap();
        assert!(id("3f2a1b9").agrees(id("3f2a1b9c4d5e6f708192a3b4c5d6e7f8091a2b3c")));
        assert!(id("3f2a1b9c4d5e6f708192").agrees(id("3F2A1B9c4d5e6f70ffff")));
        assert!(!id("3f2a1b9").agrees(id("3f2a1b8")));
        for text in ["", "3f2", "HEAD", "main", "3f2a1bg"] {
            assert_eq!(CommitId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_subject_says_what_it_undoes() {
        let of = Subject::of;
        for (words, undone) in [
            ("Revert \"Add a cache\"", Some(of("Add a cache"))),
            ("Revert \"Revert \"Add a cache\"\"", Some(of("Revert \"Add a cache\""))),
            ("Reapply \"Add a cache\"", Some(of("Revert \"Add a cache\""))),
            ("Revert the cache", None),
            ("Revert \"", None),
            ("Add a cache", None),
        ] {
            assert_eq!(Subject::undone_by(words), undone, "{words}");
        }
    }
}
