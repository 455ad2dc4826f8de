//! Collects a session's [`Fingerprint`] while its events go by.
//!
//! Only files within the repository count. What the session took back itself is gone: lines that it removed again,
//! files that it deleted or put back before committing them.

use super::acts::{self, Deed};
use super::fingerprint::{ACTS_KEPT, Act, FileChange, Fingerprint, LineChange, Subject, What};
use super::lines::{Line, hashes};
use super::repository::{FileKey, repository, tree_key, within};
use crate::facts::edits::is_source;
use crate::sessions::{Change, EventId, Timestamp};
use crate::shell;
use crate::text::{Body, Text};
use serde::{Deserialize, Serialize};

/// How many commands before the first change are remembered. A session with more has done something by then.
const OPENING: usize = 32;

/// The changes of a session so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The repository and the working tree of the first working directory.
    works_in: Option<(Box<str>, u64)>,
    /// The last moment known.
    now: Option<Timestamp>,
    files: Vec<File>,
    /// Where and when each edit was.
    edits: Vec<(EventId, Option<Timestamp>)>,
    /// How many of the edits stood when something was last committed.
    committed: u32,
    undone: Vec<Undone>,
    acts: Vec<Act>,
    /// The commands before the first edit.
    opening: Vec<Box<str>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct File {
    /// Nothing where it lies outside the repository.
    key: Option<FileKey>,
    created: bool,
    touches: Vec<Touch>,
}

/// A line was added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Touch {
    line: Line,
    /// The number of the edit.
    edit: u32,
    removed: bool,
    /// It is of a new file's content.
    created: bool,
}

impl Touch {
    /// Whether it is another touch of the same line, the other way round, by an edit.
    fn undoes(self, other: Touch) -> bool {
        self.line == other.line && self.removed != other.removed && self.created == other.created
    }
}

/// Edits that the session took back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Undone {
    /// The file, or all that the session did not make.
    file: Option<u32>,
    /// The first of the edits, and the first one after them.
    edits: (u32, u32),
}

/// A change to a file, line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// Lines added.
    pub(crate) added: u64,
    /// Lines removed.
    pub(crate) removed: u64,
    /// What the patch touches, then what a new file holds: the lines that say something, as touches of the first edit.
    touches: Vec<Touch>,
    /// How many of them the patch touches.
    patched: usize,
    created: bool,
}

impl Lines {
    /// Reads a change.
    pub(crate) fn of(change: &Change<'_>) -> Lines {
        let mut lines = Lines { created: change.created.is_some(), ..Lines::default() };
        let Lines { added, removed, touches, patched, .. } = &mut lines;
        for line in change.patch {
            let line = line.to_str();
            let (text, goes) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
                (Some(text), _) => (text, false),
                (_, Some(text)) => (text, true),
                _ => continue,
            };
            *(if goes { &mut *removed } else { &mut *added }) += 1;
            let line = hashes(text).flatten().next();
            touches.extend(line.map(|line| Touch { line, edit: 0, removed: goes, created: false }));
        }
        *patched = touches.len();
        if let Some(content) = change.created {
            for line in hashes(&content.to_str()) {
                *added += 1;
                touches.extend(line.map(|line| Touch { line, edit: 0, removed: false, created: true }));
            }
        }
        lines
    }
}

impl Changes {
    /// Remembers where the session works.
    pub(crate) fn works_in(&mut self, cwd: Text<'_>) {
        if self.works_in.is_none() && !cwd.is_empty() {
            let cwd = cwd.to_str();
            self.works_in = Some((repository(&cwd).into(), tree_key(&cwd)));
        }
    }

    /// Takes in a new file and gives its number. Plans, notes and other prose are working material: to replace or delete
    /// them is no rework, so that their lines do not count.
    pub(crate) fn file(&mut self, path: &str) -> u32 {
        let key = self.key(path).filter(|_| is_source(path));
        self.files.push(File { key, created: false, touches: Vec::new() });
        self.files.len() as u32 - 1
    }

    /// Takes in a change to a file, and says whether it only puts back what an earlier edit replaced.
    pub(crate) fn edited(&mut self, file: u32, change: &Lines, event: EventId, at: Option<Timestamp>) -> bool {
        self.now = at.or(self.now);
        let edit = self.edits.len() as u32;
        self.edits.push((event, self.now));
        self.opening.clear();
        let Some(file) = self.files.get_mut(file as usize) else { return false };
        let (earlier, new) = (&file.touches, &change.touches[..change.patched]);
        let both = || new.iter().any(|touch| touch.removed) && new.iter().any(|touch| !touch.removed);
        let went_back = !earlier.is_empty()
            && both()
            && new.iter().all(|touch| earlier.iter().any(|earlier| touch.undoes(*earlier)));
        file.created |= change.created;
        file.touches.extend(change.touches.iter().map(|touch| Touch { edit, ..*touch }));
        went_back
    }

    /// Takes in a shell command that was run, and whether it went well.
    pub(crate) fn ran(
        &mut self,
        command: &shell::Command,
        cwd: Text<'_>,
        output: Option<&Body<'_>>,
        event: EventId,
        at: Option<Timestamp>,
    ) {
        if let Some(output) = output
            && command.may_act
        {
            let deeds = acts::deeds(&command.text, &cwd.to_str());
            if !deeds.is_empty() {
                self.now = at.or(self.now);
                self.did(deeds, &output.to_str(), event);
            }
        }
        if self.edits.is_empty() && self.opening.len() <= OPENING {
            self.opening.push(command.text.as_str().into());
        }
    }

    fn did(&mut self, deeds: Vec<Deed>, output: &str, event: EventId) {
        let refused = acts::refused(output);
        let mut shown = acts::commits_shown(output);
        for deed in deeds {
            match deed {
                Deed::Commit { .. } if acts::nothing_to_commit(output) => {}
                Deed::Commit { amends } => {
                    if amends
                        && let Some(at) = self.acts.iter().rposition(|act| matches!(act.what, What::Commit { .. }))
                    {
                        self.acts.remove(at);
                    }
                    self.commit(shown.next(), event);
                }
                _ if refused => {}
                Deed::Revert(named) => {
                    let undoes = shown.next();
                    for id in named {
                        self.act(event, What::Revert(id));
                    }
                    self.commit(undoes, event);
                }
                Deed::Drop(count) => self.act(event, What::Drop(count)),
                Deed::Discard(path) => match self.find(&path) {
                    Some(file) => self.undo(Some(file)),
                    None => self.foreign(event, self.key(&path).map(What::Discard)),
                },
                Deed::DiscardAll if self.edits.len() > self.committed as usize => self.undo(None),
                Deed::DiscardAll => self.foreign(event, Some(What::DiscardAll)),
                Deed::Remove(path) => {
                    let mine = self.find(&path).and_then(|at| Some((at, self.files.get_mut(at as usize)?)));
                    let made = mine.is_some_and(|(at, file)| {
                        self.undone.push(Undone { file: Some(at), edits: (0, self.edits.len() as u32) });
                        std::mem::take(&mut file.created)
                    });
                    if let Some(key) = self.key(&path)
                        && !made
                    {
                        self.act(event, What::Remove(key));
                    }
                }
                Deed::Move(from, to) => {
                    if let (Some(from), Some(to)) = (self.key(&from), self.key(&to)) {
                        self.act(event, What::Move(from, to));
                    }
                }
            }
        }
    }

    fn commit(&mut self, shown: Option<(Option<super::CommitId>, &str)>, event: EventId) {
        self.committed = self.edits.len() as u32;
        let (id, subject) = shown.map_or((None, None), |(id, subject)| (id, Some(subject)));
        if let Some(undone) = subject.and_then(Subject::undone_by) {
            self.act(event, What::RevertSubject(undone));
        }
        self.act(event, What::Commit { id, subject: subject.map(Subject::of) });
    }

    /// Somebody else's work was thrown away, unless the session may have been cleaning up after itself.
    fn foreign(&mut self, event: EventId, what: Option<What>) {
        let nothing_done = self.edits.is_empty()
            && self.opening.len() <= OPENING
            && self.opening.iter().all(|command| shell::read_only(command));
        if let Some(what) = what.filter(|_| nothing_done) {
            self.act(event, what);
        }
    }

    fn undo(&mut self, file: Option<u32>) {
        self.undone.push(Undone { file, edits: (self.committed, self.edits.len() as u32) });
    }

    fn act(&mut self, event: EventId, what: What) {
        if self.acts.len() < ACTS_KEPT {
            self.acts.push(Act { event, at: self.now.unwrap_or(Timestamp(0)), what });
        }
    }

    fn key(&self, path: &str) -> Option<FileKey> {
        let (repository, _) = self.works_in.as_ref()?;
        within(repository, path).map(FileKey::of)
    }

    fn find(&self, path: &str) -> Option<u32> {
        let key = self.key(path)?;
        let at = self.files.iter().position(|file| file.key == Some(key) && !file.touches.is_empty())?;
        Some(at as u32)
    }

    fn is_undone(&self, file: u32, created: bool, edit: u32) -> bool {
        self.undone.iter().any(|undone| {
            // What was made and not committed is unknown to git, which leaves it alone.
            undone.file.map_or(!created, |it| it == file) && (undone.edits.0..undone.edits.1).contains(&edit)
        })
    }

    /// What the session did, as far as it went.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint { acts: self.acts.clone(), ..Fingerprint::default() };
        fingerprint.tree = self.works_in.as_ref().map_or(0, |(_, tree)| *tree);
        for (number, file) in (0..).zip(&self.files) {
            let Some(key) = file.key.filter(|_| !file.touches.is_empty()) else {
                continue;
            };
            let mut touches = file.touches.clone();
            touches.retain(|touch| !self.is_undone(number, file.created, touch.edit));
            touches.sort_unstable();
            let mut lines = Vec::new();
            for copies in touches.chunk_by(|a, b| a.line == b.line) {
                let net = copies.iter().map(|touch| if touch.removed { -1 } else { 1 }).sum();
                if let Some(last) = copies.last()
                    && net != 0
                    && let Some((event, at)) = self.edits.get(last.edit as usize)
                {
                    let at = at.or(self.now).unwrap_or(Timestamp(0));
                    lines.push(LineChange { line: last.line, net, event: *event, at });
                }
            }
            fingerprint.files.push(FileChange { file: key, created: file.created, lines });
        }
        fingerprint.files.sort_unstable_by_key(|file| file.file);
        if fingerprint.files.windows(2).any(|two| two[0].file == two[1].file) {
            // Two spellings of one path, or one file in two worktrees.
            return Fingerprint::joined([&fingerprint]);
        }
        fingerprint.keep_to_limits();
        fingerprint
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod prism_rework;
