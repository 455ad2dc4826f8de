//! What a session made: each file with what all changes of it come to.

use super::input::Asked;
use super::net::Net;
use super::record::shown;
use crate::redaction::{Redacted, Rules};
use crate::rework::{Deed, deeds, refused};
use crate::sessions::{Change, EventId};
use crate::shell;
use std::collections::HashMap;

/// Files changed so far.
#[derive(Debug, Default)]
pub(super) struct Files {
    all: Vec<File>,
    places: HashMap<String, usize>,
    /// Files that commands name as written, with the command.
    by_shell: Vec<(EventId, Vec<String>)>,
    /// The last commit.
    committed: Option<EventId>,
}

#[derive(Debug, Default)]
struct File {
    path: String,
    net: Net,
    events: Vec<EventId>,
    /// What else happened to it.
    fate: Option<(Fate, EventId)>,
}

/// What happened to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    PutBack,
    Deleted,
    Moved,
}

/// A file as it was made.
#[derive(Clone, Debug)]
pub(super) struct Produced {
    /// Its path, as short as it can be said.
    pub(super) path: Redacted<String>,
    /// The changes of it.
    pub(super) events: Vec<EventId>,
    /// The content of a new file, or the diff of another.
    pub(super) text: Redacted<String>,
    /// How much of it there was, in characters.
    pub(super) chars: usize,
    pub(super) created: bool,
    /// It is where the agent writes down its plans, and no part of the work.
    pub(super) plan: bool,
    /// It is the whole content.
    pub(super) whole: bool,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) fate: Option<(Fate, EventId)>,
}

impl Files {
    /// A change that worked. Gives the number of the file.
    pub(super) fn changed(&mut self, path: &str, change: Option<&Change<'_>>, asked: &Asked, id: EventId) -> usize {
        let number = *self.places.entry(path.to_owned()).or_insert_with(|| {
            self.all.push(File { path: path.to_owned(), ..File::default() });
            self.all.len() - 1
        });
        let Some(file) = self.all.get_mut(number) else { return number };
        file.events.push(id);
        file.fate = None;
        match change {
            Some(Change { created: Some(content), .. }) => file.net.write(&content.to_str(), true),
            Some(change) => {
                let lines: Vec<_> = change.patch.iter().map(|line| line.to_str()).collect();
                file.net.patch(lines.iter().map(AsRef::as_ref));
            }
            None => match &asked.content {
                Some(content) => file.net.write(content, false),
                None => file.net.patch(asked.signed().lines()),
            },
        }
        number
    }

    /// A command that worked.
    pub(super) fn ran(&mut self, command: &shell::Command, cwd: &str, output: &str, id: EventId) {
        if command.mutates_files {
            self.by_shell.push((id, written(&command.text)));
        }
        if !command.may_act || refused(output) {
            return;
        }
        for deed in deeds(&command.text, cwd) {
            match deed {
                Deed::Commit { .. } => self.committed = Some(id),
                Deed::Discard(path) => self.ends(&path, Fate::PutBack, id),
                Deed::DiscardAll => {
                    let changed: Vec<String> =
                        self.all.iter().filter(|file| !file.net.created).map(|file| file.path.clone()).collect();
                    for path in changed {
                        self.ends(&path, Fate::PutBack, id);
                    }
                }
                Deed::Remove(path) => self.ends(&path, Fate::Deleted, id),
                Deed::Move(from, _) => self.ends(&from, Fate::Moved, id),
                Deed::Revert(_) | Deed::Drop(_) => {}
            }
        }
    }

    fn ends(&mut self, path: &str, fate: Fate, id: EventId) {
        let Some(file) = self.places.get(path).and_then(|number| self.all.get_mut(*number)) else { return };
        // What was committed is not put back by that.
        let kept = self.committed.is_some_and(|commit| file.events.last().is_some_and(|last| *last < commit));
        if fate == Fate::PutBack && kept {
            return;
        }
        file.fate = Some((fate, id));
        if fate != Fate::Moved {
            file.net.clear();
        }
    }

    /// Files that commands name as written, with the commands.
    pub(super) fn by_shell(&self) -> &[(EventId, Vec<String>)] {
        &self.by_shell
    }

    /// All that was made.
    pub(super) fn finish(self, short: &dyn Fn(&str) -> String, rules: &Rules) -> Vec<Produced> {
        let produced = |file: File| {
            let (added, removed) = file.net.count();
            let content = file.net.content();
            let whole = content.is_some();
            let text = shown(&content.unwrap_or_else(|| file.net.diff()), rules);
            Produced {
                path: shown(&short(&file.path), rules),
                chars: text.as_str().chars().count() + file.net.cut,
                text,
                events: file.events,
                created: file.net.created,
                plan: is_plan(&file.path),
                whole,
                added,
                removed,
                fate: file.fate,
            }
        };
        self.all.into_iter().map(produced).collect()
    }
}

/// Whether it is where an agent keeps its own plans.
fn is_plan(path: &str) -> bool {
    path.replace('\\', "/").contains("/.claude/plans/")
}

/// The files that a command says it writes, as far as it names them.
fn written(command: &str) -> Vec<String> {
    let mut files = Vec::new();
    for segment in shell::segments(command) {
        let outputs = segment.outputs.iter().filter(|file| !file.starts_with("/dev/"));
        files.extend(outputs.map(ToString::to_string));
        let operands = || segment.arguments().iter().filter(|word| !word.starts_with('-')).map(ToString::to_string);
        match segment.program() {
            // The first word that is no flag is the script.
            Some("sed" | "perl")
                if segment.arguments().iter().any(|word| word.starts_with("-i") || word.starts_with("-pi")) =>
            {
                files.extend(operands().skip(1));
            }
            Some("tee") => files.extend(operands()),
            Some("mv" | "cp") => files.extend(operands().next_back()),
            _ => {}
        }
    }
    files.retain(|file| !file.is_empty());
    files.dedup();
    files
}
