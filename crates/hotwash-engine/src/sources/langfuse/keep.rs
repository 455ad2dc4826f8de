//! Keeps the rows of a session as a transcript: one file per session, and one for each of its subagents.

use super::arrange::{Arranged, Entry, Line, What, arrange};
use super::{As, ENDING};
use crate::platform::private_folder;
use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// The longest name that is made of an id.
const NAME_CHARS: usize = 80;

/// No first line of ours is longer.
const HEAD_BYTES: u64 = 16 << 10;

/// What was not touched for so long is nobody's work any more.
const LEFT_MS: i64 = 3_600_000;

/// Where the sessions of a project are kept.
#[derive(Clone, Debug)]
pub struct Folder {
    place: PathBuf,
    host: String,
    project: String,
}

impl Folder {
    /// Beside a store.
    pub fn beside(store: &Path, host: &str, project: &str) -> Folder {
        let place = store.parent().unwrap_or(Path::new("")).join("langfuse").join(name(host)).join(name(project));
        Folder { place, host: host.to_owned(), project: project.to_owned() }
    }

    /// The file of a session.
    pub fn file(&self, session: &str) -> PathBuf {
        self.place.join(name(session) + ENDING)
    }

    /// Where something about a session may be noted that is no part of it.
    pub fn note(&self, session: &str) -> PathBuf {
        self.place.join(name(session) + ".pulled")
    }

    /// The files of a session: its own first, then those of its subagents, by name.
    pub fn files(&self, session: &str) -> Vec<PathBuf> {
        let agents = fs::read_dir(self.place.join(name(session)));
        let mut files: Vec<PathBuf> = agents.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()));
        files.sort();
        let own = self.file(session);
        if own.exists() {
            files.insert(0, own);
        }
        files
    }

    /// Removes what runs that were killed have left behind.
    pub fn tidy(&self, now: Timestamp) {
        for entry in fs::read_dir(&self.place).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let unfinished = [&b".rows"[..], b".new"].iter().any(|end| name.as_encoded_bytes().ends_with(end));
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let modified = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
            let age_ms = modified.map_or(0, |modified| now.0 - modified.as_millis() as i64);
            if unfinished && age_ms > LEFT_MS {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Begins to collect the rows of a session.
    pub fn collect(&self, session: &str) -> io::Result<Collected<'_>> {
        private(&self.place)?;
        let path = self.place.join(format!("{}.{}.rows", name(session), std::process::id()));
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        let (session, rows) = (session.to_owned(), BufWriter::new(file));
        Ok(Collected { folder: self, session, path, rows, size: 0, entries: Vec::new(), strange: 0 })
    }
}

/// Rows of a session as they come, in any order. They are put on disk; what is kept in memory is a few words of each.
pub struct Collected<'f> {
    folder: &'f Folder,
    session: String,
    path: PathBuf,
    rows: BufWriter<File>,
    size: u64,
    entries: Vec<Entry>,
    /// Rows that are none, or have no time.
    pub strange: u64,
}

impl Collected<'_> {
    /// Takes in a row.
    pub fn row(&mut self, row: &str) -> io::Result<()> {
        let Some(entry) = Entry::of(row.as_bytes(), (self.size, row.len())) else {
            self.strange += 1;
            return Ok(());
        };
        self.rows.write_all(row.as_bytes())?;
        self.size += row.len() as u64;
        self.entries.push(entry);
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the transcripts of the session, where they are not as they were. Says whether one was.
    pub fn keep(mut self) -> io::Result<bool> {
        self.rows.flush()?;
        let Arranged { main, agents } = arrange(&self.entries);
        let mut changed = false;
        let folder = self.folder.place.join(name(&self.session));
        if !agents.is_empty() {
            private(&folder)?;
        }
        for (agent, lines) in &agents {
            changed |= self.write(&folder.join(format!("agent-{}{ENDING}", name(agent))), lines, Some(agent))?;
        }
        let own = self.folder.file(&self.session);
        Ok(self.write(&own, &main, None)? || changed)
    }

    fn write(&mut self, path: &Path, lines: &[Line], agent: Option<&str>) -> io::Result<bool> {
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let mut out = Hashed { to: BufWriter::new(File::create(&new)?), hash: Xxh3Default::new() };
        let Folder { host, project, .. } = self.folder;
        // Turns say best who recorded them.
        let turn = lines.iter().find(|line| line.what == What::Begins(As::Turn)).or(lines.first());
        let by = turn.map(|line| self.entries[line.row].agent());
        let head =
            json!({"langfuse": {"host": host, "project": project, "session": self.session, "agent": agent, "by": by}});
        writeln!(out, "{head}")?;
        let rows = self.rows.get_mut();
        let mut bytes = Vec::new();
        for Line { at, row, what } in lines {
            let (at, entry) = (Timestamp(*at), &self.entries[*row]);
            match what {
                What::Ends => writeln!(out, "{}", json!({"at": at.to_string(), "end": entry.key()}))?,
                What::Begins(role) => {
                    bytes.resize(entry.place.1, 0);
                    rows.seek(SeekFrom::Start(entry.place.0))?;
                    rows.read_exact(&mut bytes)?;
                    // A row is JSON, so a line break in it stands between its parts.
                    bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
                    write!(out, "{{\"at\":\"{at}\",\"as\":{},\"row\":", json!(role))?;
                    out.write_all(&bytes)?;
                    out.write_all(b"}\n")?;
                }
            }
        }
        out.flush()?;
        if hash(path).is_some_and(|before| before == out.hash.digest()) {
            fs::remove_file(&new)?;
            return Ok(false);
        }
        out.to.get_ref().sync_data()?;
        fs::rename(&new, path)?;
        Ok(true)
    }
}

impl Drop for Collected<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

struct Hashed {
    to: BufWriter<File>,
    hash: Xxh3Default,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hash.update(bytes);
        self.to.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The agent whose work a file holds, where the file is there and says so.
pub fn recorded_by(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct First {
        langfuse: Head,
    }
    #[derive(Deserialize)]
    struct Head {
        by: Option<String>,
    }
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?).take(HEAD_BYTES).read_line(&mut line).ok()?;
    serde_json::from_str::<First>(&line).ok()?.langfuse.by
}

/// A hash of what a file holds; none where there is none.
fn hash(path: &Path) -> Option<u64> {
    let (mut file, mut hash) = (BufReader::new(File::open(path).ok()?), Xxh3Default::new());
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match file.read(&mut bytes).ok()? {
            0 => return Some(hash.digest()),
            read => hash.update(&bytes[..read]),
        }
    }
}

/// Makes a folder that nobody else looks into: what agents and people said is in it.
fn private(folder: &Path) -> io::Result<()> {
    private_folder().recursive(true).create(folder)
}

/// A name that any file system takes, made of an id that may hold anything. Ids that differ keep different names.
fn name(id: &str) -> String {
    let safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    // Two that differ only in what is large and small would be one file where that does not count.
    let plain = id.chars().all(|letter| safe(letter) && !letter.is_ascii_uppercase());
    if plain && !id.is_empty() && id.len() <= NAME_CHARS && !id.starts_with("agent-") {
        return id.to_owned();
    }
    let safe: String = id.chars().map(|letter| if safe(letter) { letter } else { '-' }).take(NAME_CHARS / 2).collect();
    format!("{safe}.{:016x}", xxh3_64(id.as_bytes())).trim_start_matches("agent-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        assert_eq!(name("3f1c9a52-7c1e"), "3f1c9a52-7c1e");
        let ids = ["../../etc/passwd", "..-..-etc-passwd", "", "a/b", "a\\b", "A-B", "a b", &"x".repeat(300)];
        let names: std::collections::BTreeSet<String> = ids.iter().map(|id| name(id)).collect();
        assert_eq!(names.len(), ids.len());
        for name in names {
            assert!(!name.contains(['/', '\\', ' ']) && !name.starts_with("..") && name.len() < 120, "{name}");
        }
    }
}
