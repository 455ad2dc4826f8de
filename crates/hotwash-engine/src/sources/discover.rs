//! Finds transcripts, of whichever agent they are.

use super::Agent;
use crate::platform::{file_number, modified_ns};
use std::fs::{self, Metadata};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A transcript's file and what its metadata say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// The agent that owns a file of this name.
    pub agent: Agent,
    /// The file's number in its file system; 0 where the system does not say.
    pub inode: u64,
    /// Its size.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub mtime_ns: i64,
}

impl Found {
    /// A file by its metadata.
    pub fn new(path: PathBuf, metadata: &Metadata) -> Found {
        Found {
            agent: Agent::owning(&path).unwrap_or_default(),
            path,
            inode: file_number(metadata).unwrap_or(0),
            size: metadata.len(),
            mtime_ns: modified_ns(metadata),
        }
    }
}

/// What was found, and what could not be looked at.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Transcripts, sorted by path, each once.
    pub found: Vec<Found>,
    /// Paths that could not be looked at, with the reason.
    pub problems: Vec<(PathBuf, String)>,
}

/// How many folders are looked at side by side: most of the time goes into waiting for the system.
const THREADS: usize = 4;

/// Looks for transcripts: a file is taken as it is, a folder is searched for files of agents at any depth.
pub fn discover(places: &[PathBuf]) -> Discovery {
    let mut discovery = Discovery::default();
    for place in places {
        match fs::metadata(place) {
            Ok(metadata) if metadata.is_dir() => search(place, &mut discovery),
            Ok(metadata) if metadata.is_file() => discovery.found.push(Found::new(place.clone(), &metadata)),
            Ok(_) => discovery.problems.push((place.clone(), "neither a file nor a folder".into())),
            Err(error) => discovery.problems.push((place.clone(), words(&error))),
        }
    }
    // As a rule in order already: a folder is walked by name, which is how paths compare.
    discovery.found.sort();
    discovery.found.dedup_by(|a, b| a.path == b.path);
    discovery
}

/// Walks the folders in a folder side by side.
fn search(place: &Path, discovery: &mut Discovery) {
    let mut folders = Vec::new();
    look_into(place, discovery, &mut |folder, _| folders.push(folder));
    let next = AtomicUsize::new(0);
    let walk_some = || {
        let mut walked = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(folder) = folders.get(at) else { return walked };
            let mut discovery = Discovery::default();
            walk(folder, &mut discovery);
            walked.push((at, discovery));
        }
    };
    let mut walked = std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS.min(folders.len())).map(|_| scope.spawn(walk_some)).collect();
        let mut walked = walk_some();
        walked.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        walked
    });
    walked.sort_by_key(|(at, _)| *at);
    for (_, Discovery { found, problems }) in walked {
        discovery.found.extend(found);
        discovery.problems.extend(problems);
    }
}

fn walk(folder: &Path, discovery: &mut Discovery) {
    look_into(folder, discovery, &mut |folder, discovery| walk(&folder, discovery));
}

/// Takes the transcripts that lie in a folder, by name, and shows the folders in it.
fn look_into(folder: &Path, discovery: &mut Discovery, show: &mut dyn FnMut(PathBuf, &mut Discovery)) {
    let mut entries = Vec::new();
    match fs::read_dir(folder) {
        Ok(found) => {
            for entry in found {
                match entry {
                    Ok(entry) => entries.push((entry.file_name(), entry)),
                    Err(error) => discovery.problems.push((folder.to_path_buf(), words(&error))),
                }
            }
        }
        Err(error) => discovery.problems.push((folder.to_path_buf(), words(&error))),
    }
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (_, entry) in entries {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            show(entry.path(), discovery);
            continue;
        }
        let path = entry.path();
        if Agent::owning(&path).is_none() {
            continue;
        }
        // A link is followed; the file behind it may be gone.
        let metadata = if kind.is_symlink() { fs::metadata(&path) } else { entry.metadata() };
        match metadata {
            Ok(metadata) if metadata.is_file() => discovery.found.push(Found::new(path, &metadata)),
            Ok(_) => {}
            Err(error) => discovery.problems.push((path, words(&error))),
        }
    }
}

/// What an error says, without the system's number.
pub fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_transcripts_at_any_depth_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("p/session/subagents")).unwrap();
        for path in ["p/b.jsonl", "p/a.jsonl", "p/session/subagents/agent-1.jsonl", "p/notes.txt"] {
            fs::write(at(path), "{}\n").unwrap();
        }
        let discovery = discover(&[folder.path().to_path_buf(), at("p/a.jsonl"), at("missing")]);
        let found: Vec<_> =
            discovery.found.iter().map(|found| found.path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(
            found,
            [Path::new("p/a.jsonl"), Path::new("p/b.jsonl"), Path::new("p/session/subagents/agent-1.jsonl")]
        );
        assert_eq!(discovery.problems, [(at("missing"), "no such file or directory".to_string())]);
    }
}
