//! Asks a git repository itself what became of a session's work: was its commit reverted, are its files and lines still
//! there two weeks later.
//!
//! It sees what no transcript shows: what people did by hand, and what was merged. It looks at what is committed on the
//! branch that is checked out, and follows first parents, so that a merge counts as of the day it was merged. Only what
//! was committed there at some time can be gone. Nothing is written, no program is run, and of git's settings only
//! the repository's own are read.

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use hotwash_core::rework::{CommitId, FileKey, Fingerprint, Line, Settings, What, hashes};
use hotwash_core::sessions::Timestamp;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Why a repository cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is none.
    #[error("{} is in no git repository", .0.display())]
    None(PathBuf),
    /// It has no working tree, so that no session can have worked there.
    #[error("{} is a bare repository, and no session can have worked in it", .0.display())]
    Bare(PathBuf),
    /// Its branch has no commit yet.
    #[error("the git repository of {} has no commit yet", .0.display())]
    Unborn(PathBuf),
    /// It does not reach back far enough.
    #[error("the git repository of {} is shallow and does not reach back to {since}; `git fetch --unshallow` gets the rest", .path.display())]
    Shallow {
        /// The repository.
        path: PathBuf,
        /// As far as was looked for.
        since: Timestamp,
    },
    /// It cannot be read.
    #[error("the git repository of {} cannot be read: {reason}", .path.display())]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// What git's side says.
        reason: String,
    },
}

/// A repository that can be asked.
pub struct Repository {
    git: gix::Repository,
    folder: PathBuf,
    /// Where in the repository the folder is, with a slash at the end; empty where it is the repository.
    prefix: String,
    tip: ObjectId,
}

/// A session's work.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// When the session began.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
    /// What it did.
    pub print: &'a Fingerprint,
}

/// What became of a session's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its commits that were reverted and not reapplied.
    pub reverted: Vec<Reverted>,
    /// Files of its that were committed and are deleted, by their paths.
    pub deleted: Vec<String>,
    /// Lines that it added.
    pub added: u32,
    /// Those of them that were committed.
    pub landed: u32,
    /// Those of them that are gone, and not moved.
    pub gone: u32,
    /// The last commit that was looked at, and when it was made; nothing where none was made in that time.
    pub until: Option<(String, Timestamp)>,
    /// Whether that is rework.
    pub reworked: bool,
}

/// A commit that was reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// The commit.
    pub commit: String,
    /// The one that reverts it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A commit on the branch.
struct Commit {
    id: ObjectId,
    tree: ObjectId,
    at: Timestamp,
}

impl Repository {
    /// Opens the repository that a folder belongs to.
    pub fn open(folder: &Path) -> Result<Repository, GitError> {
        let none = || GitError::None(folder.to_path_buf());
        let unreadable = |error: &dyn std::fmt::Display| unreadable(folder, error);
        gix::discover::upwards(folder).map_err(|_| none())?;
        let upwards = gix::discover::upwards::Options::default();
        let options = gix::open::Options::isolated();
        let git = gix::discover_opts(folder, upwards, options).map_err(|error| unreadable(&error))?;
        let Some(root) = git.workdir().filter(|_| !git.is_bare()) else {
            return Err(GitError::Bare(folder.to_path_buf()));
        };
        let within = |root: &Path| -> Option<String> {
            let (folder, root) = (folder.canonicalize().ok()?, root.canonicalize().ok()?);
            let inside = folder.strip_prefix(&root).ok()?.to_str()?.to_owned();
            Some(if inside.is_empty() { inside } else { inside + "/" })
        };
        let prefix = within(root).ok_or_else(none)?;
        let head = git.head().map_err(|error| unreadable(&error))?;
        if head.is_unborn() {
            return Err(GitError::Unborn(folder.to_path_buf()));
        }
        let tip = git.head_id().map_err(|error| unreadable(&error))?.detach();
        Ok(Repository { folder: folder.to_path_buf(), prefix, tip, git })
    }

    /// What became of a session's work until the end of its window.
    pub fn outcome(&self, work: &Work<'_>, settings: &Settings) -> Result<Outcome, GitError> {
        let until = settings.until(work.to);
        let mut outcome = Outcome { reverted: self.reverted(work, until)?, ..Outcome::default() };
        let commits = self.commits(work.from, until)?;
        outcome.until = commits.last().map(|last| (last.id.to_string(), last.at));
        let changes = self.changes(&commits)?;
        self.lines(work.print, &changes, &mut outcome)?;
        let enough =
            outcome.gone >= settings.min_lines && f64::from(outcome.gone) >= settings.share * f64::from(outcome.added);
        outcome.reworked = outcome.gone > 0 && enough || !outcome.reverted.is_empty();
        Ok(outcome)
    }

    /// The commits of the branch in a stretch of time, the oldest first; before them the one that they began from.
    fn commits(&self, from: Timestamp, until: Timestamp) -> Result<Vec<Commit>, GitError> {
        let shallow = self.git.is_shallow().unwrap_or(false);
        let mut commits = Vec::new();
        let mut next = Some(self.tip);
        while let Some(id) = next {
            let commit = match self.git.find_commit(id) {
                Err(_) if shallow => return Err(GitError::Shallow { path: self.folder.clone(), since: from }),
                commit => commit.map_err(|error| self.unreadable(&error))?,
            };
            let tree = commit.tree_id().map_err(|error| self.unreadable(&error))?.detach();
            let at = Timestamp(commit.time().map_err(|error| self.unreadable(&error))?.seconds.saturating_mul(1000));
            if at <= until {
                commits.push(Commit { id, tree, at });
            }
            if at < from {
                break;
            }
            next = commit.parent_ids().next().map(gix::Id::detach);
        }
        if next.is_none() {
            // Before the first commit there was nothing.
            let nothing = ObjectId::empty_tree(self.git.object_hash());
            commits.push(Commit { id: nothing, tree: nothing, at: Timestamp(i64::MIN) });
        }
        commits.reverse();
        Ok(commits)
    }

    /// What the commits made of each file that they changed: its contents in the order of time, nothing where it was
    /// deleted.
    fn changes(&self, commits: &[Commit]) -> Result<BTreeMap<String, Vec<Option<ObjectId>>>, GitError> {
        let mut changes: BTreeMap<String, Vec<Option<ObjectId>>> = BTreeMap::new();
        for two in commits.windows(2) {
            self.differences(Some(two[0].tree), Some(two[1].tree), "", &mut |path, blob| {
                changes.entry(path).or_default().push(blob);
            })?;
        }
        Ok(changes)
    }

    /// Shows `each` the files that differ between two trees, as they are in the second.
    fn differences(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        folder: &str,
        each: &mut impl FnMut(String, Option<ObjectId>),
    ) -> Result<(), GitError> {
        if before == after {
            return Ok(());
        }
        let (before, after) = (self.entries(before)?, self.entries(after)?);
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (was, is) = (before.get(name).copied(), after.get(name).copied());
            if was == is {
                continue;
            }
            let path = format!("{folder}{name}");
            let folder_of = |entry: Option<Entry>| entry.filter(|entry| entry.folder).map(|entry| entry.id);
            let file_of = |entry: Option<Entry>| entry.filter(|entry| !entry.folder).map(|entry| entry.id);
            if folder_of(was).is_some() || folder_of(is).is_some() {
                self.differences(folder_of(was), folder_of(is), &format!("{path}/"), each)?;
            }
            if file_of(was) != file_of(is) {
                each(path, file_of(is));
            }
        }
        Ok(())
    }

    fn entries(&self, tree: Option<ObjectId>) -> Result<BTreeMap<String, Entry>, GitError> {
        let Some(tree) = tree.filter(|tree| !tree.is_empty_tree()) else {
            return Ok(BTreeMap::new());
        };
        let tree = self.git.find_tree(tree).map_err(|error| self.unreadable(&error))?;
        let entries = tree.decode().map_err(|error| self.unreadable(&error))?.entries;
        // A submodule is another repository's.
        let entries = entries.iter().filter(|entry| !entry.mode.is_commit());
        Ok(entries
            .map(|entry| {
                let name = String::from_utf8_lossy(entry.filename).into_owned();
                (name, Entry { id: entry.oid.to_owned(), folder: entry.mode.is_tree() })
            })
            .collect())
    }

    fn lines(
        &self,
        print: &Fingerprint,
        changes: &BTreeMap<String, Vec<Option<ObjectId>>>,
        outcome: &mut Outcome,
    ) -> Result<(), GitError> {
        // By file: the lines that were added, and those of them that are not found again.
        let mut files: HashMap<FileKey, HashSet<Line>> = HashMap::new();
        for added in print.added() {
            outcome.added += 1;
            for (file, _) in added.homes() {
                files.entry(file).or_default().insert(added.line);
            }
        }
        let (mut landed, mut gone): (HashSet<Line>, HashSet<Line>) = Default::default();
        for (path, versions) in changes {
            let Some(lines) = path.strip_prefix(&self.prefix).and_then(|name| files.get(&FileKey::of(name))) else {
                continue;
            };
            let mut here = HashSet::new();
            for blob in versions.iter().flatten() {
                here.extend(self.lines_of(*blob)?.intersection(lines));
            }
            match versions.last() {
                Some(Some(last)) => {
                    let last = self.lines_of(*last)?;
                    gone.extend(here.iter().filter(|line| !last.contains(line)));
                }
                _ if here.is_empty() => {}
                _ => {
                    outcome.deleted.push(path.clone());
                    gone.extend(&here);
                }
            }
            landed.extend(here);
        }
        // What is in any file that was changed in that time was moved there.
        for last in changes.values().filter_map(|versions| versions.last().copied().flatten()) {
            if gone.is_empty() {
                break;
            }
            let there = self.lines_of(last)?;
            gone.retain(|line| !there.contains(line));
        }
        (outcome.landed, outcome.gone) = (landed.len() as u32, gone.len() as u32);
        Ok(())
    }

    fn lines_of(&self, blob: ObjectId) -> Result<HashSet<Line>, GitError> {
        let blob = self.git.find_blob(blob).map_err(|error| self.unreadable(&error))?;
        Ok(hashes(&String::from_utf8_lossy(&blob.data)).flatten().collect())
    }

    /// The session's commits that a later one on the branch says it reverts.
    fn reverted(&self, work: &Work<'_>, until: Timestamp) -> Result<Vec<Reverted>, GitError> {
        let mine: Vec<CommitId> = work
            .print
            .acts
            .iter()
            .filter_map(|act| if let What::Commit { id, .. } = act.what { id } else { None })
            .collect();
        if mine.is_empty() {
            return Ok(Vec::new());
        }
        let seconds = work.from.0.div_euclid(1000);
        let sorting = Sorting::ByCommitTimeCutoff { order: CommitTimeOrder::NewestFirst, seconds };
        let walk = self.git.rev_walk([self.tip]).sorting(sorting).all().map_err(|error| self.unreadable(&error))?;
        // The newest first: a revert that was reverted itself is known before it is met.
        let mut reverted: HashMap<String, (String, Timestamp)> = HashMap::new();
        for commit in walk {
            let commit = commit.map_err(|error| self.unreadable(&error))?;
            let at = Timestamp(commit.commit_time.unwrap_or_default().saturating_mul(1000));
            let id = commit.id.to_string();
            if at > until || reverted.contains_key(&id) {
                continue;
            }
            let commit = commit.object().map_err(|error| self.unreadable(&error))?;
            for named in named_reverts(&String::from_utf8_lossy(commit.message_raw_sloppy())) {
                reverted.entry(named).or_insert_with(|| (id.clone(), at));
            }
        }
        let is_mine = |id: &str| CommitId::parse(id).is_some_and(|id| mine.iter().any(|mine| mine.agrees(id)));
        let mut reverted: Vec<Reverted> = reverted
            .into_iter()
            .filter(|(commit, _)| is_mine(commit))
            .map(|(commit, (by, at))| Reverted { commit, by, at })
            .collect();
        reverted.sort_by(|a, b| (a.at, &a.commit).cmp(&(b.at, &b.commit)));
        Ok(reverted)
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> GitError {
        unreadable(&self.folder, error)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    id: ObjectId,
    folder: bool,
}

/// The commits that a message says it reverts.
fn named_reverts(message: &str) -> Vec<String> {
    let named = message.match_indices("This reverts commit ").filter_map(|(at, words)| {
        let rest = message.get(at + words.len()..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        rest.get(..digits).filter(|id| id.len() >= 40).map(str::to_ascii_lowercase)
    });
    named.collect()
}

fn unreadable(folder: &Path, error: &dyn std::fmt::Display) -> GitError {
    GitError::Unreadable { path: folder.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod prism_rework;
