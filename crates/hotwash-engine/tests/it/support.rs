//! The one helper that knows the API: transcripts in a temporary folder, the pipeline over them, the store as text.

use hotwash_core::prices;
use hotwash_core::redaction::{Machine, Rules};
use hotwash_core::rubric::Rubric;
use hotwash_engine::archive::Archive;
use hotwash_engine::pipeline::{self, Ingested, Setup};
use hotwash_engine::sources::discover::{Found, discover};
use hotwash_engine::stores::sqlite::testing::Tables;
use hotwash_engine::stores::{Copies as _, Lookup, Query, Row, Sessions as _, Sqlite, Store, StoreError};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// The clock of all tests: 20 October 2026, a week and a half after the fixtures.
pub(crate) const NOW_NS: i64 = 1_792_454_400 * 1_000_000_000;

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| Arc::new(Rules::new(Machine::default())));
static RUBRIC: LazyLock<Rubric> = LazyLock::new(|| Rubric::shipped("v2").unwrap());

pub(crate) fn rules() -> Arc<Rules> {
    RULES.clone()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of transcripts, and a store with its archive beside it.
pub(crate) struct Case {
    pub(crate) folder: Folder,
    pub(crate) jobs: usize,
    pub(crate) now_ns: i64,
    pub(crate) archived: bool,
}

/// Its place on the disk.
pub(crate) enum Folder {
    Own(TempDir),
    Another(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Another(path) => path,
        }
    }
}

impl Case {
    pub(crate) fn new() -> Case {
        let folder = Folder::Own(tempfile::tempdir().unwrap());
        let case = Case { folder, jobs: 2, now_ns: NOW_NS, archived: true };
        fs::create_dir(case.projects()).unwrap();
        case
    }

    /// The case that another process has made.
    pub(crate) fn at(place: PathBuf) -> Case {
        Case { folder: Folder::Another(place), jobs: 2, now_ns: NOW_NS, archived: true }
    }

    /// Where another process finds it.
    pub(crate) fn place(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the store and the archive.
    pub(crate) fn forget_everything(&self) {
        let _ = fs::remove_dir_all(self.folder.path().join("data"));
    }

    /// A run up to the moment before copies are settled: each transcript is put as if it were alone.
    pub(crate) fn ingest_without_settling(&self) {
        let tables = self.open_with_settling_refused();
        let error = self.try_ingest(&self.found(), &mut self.open()).unwrap_err();
        assert!(error.to_string().contains("not now"), "{error}");
        tables.execute("DROP TRIGGER refuse");
    }

    fn open_with_settling_refused(&self) -> Tables {
        drop(self.open());
        let tables = self.tables();
        tables.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON files WHEN EXISTS (SELECT 1 FROM files WHERE path = new.path)
             BEGIN SELECT raise(ABORT, 'not now'); END;",
        );
        tables
    }

    /// A case with these transcripts in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Case {
        let case = Case::new();
        for (name, text) in files {
            case.write(name, text);
        }
        case
    }

    /// A case with a copy of a folder of the project in it.
    pub(crate) fn copy_of(folder: &str) -> Case {
        let case = Case::new();
        let from = root().join(folder);
        for found in discover(std::slice::from_ref(&from)).found {
            let name = found.path.strip_prefix(&from).unwrap().to_str().unwrap();
            case.write(name, fs::read(&found.path).unwrap());
        }
        case
    }

    pub(crate) fn projects(&self) -> PathBuf {
        self.folder.path().join("projects")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.projects().join(name)
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    pub(crate) fn store_path(&self) -> PathBuf {
        self.folder.path().join("data/hotwash.db")
    }

    pub(crate) fn archive(&self) -> Archive {
        Archive::beside(&self.store_path(), self.now_ns)
    }

    /// Writes a transcript anew, in place, as of now.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.touch(name, 0);
    }

    pub(crate) fn append(&self, name: &str, text: impl AsRef<[u8]>) {
        File::options().append(true).open(self.path(name)).unwrap().write_all(text.as_ref()).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Makes a transcript as old as this many days.
    pub(crate) fn touch(&self, name: &str, days: u64) {
        // Never the same moment twice.
        static TICKS: AtomicU64 = AtomicU64::new(0);
        let tick = Duration::from_nanos(TICKS.fetch_add(1, Ordering::Relaxed));
        let at = UNIX_EPOCH + Duration::from_nanos(self.now_ns as u64) - Duration::from_secs(days * 24 * 3600) - tick;
        File::options().write(true).open(self.path(name)).unwrap().set_modified(at).unwrap();
    }

    pub(crate) fn open(&self) -> Sqlite {
        Sqlite::open(&self.store_path(), rules()).unwrap()
    }

    pub(crate) fn found(&self) -> Vec<Found> {
        discover(&[self.projects()]).found
    }

    pub(crate) fn ingest(&self) -> Ingested {
        self.try_ingest(&self.found(), &mut self.open()).unwrap()
    }

    pub(crate) fn try_ingest(&self, found: &[Found], store: &mut dyn Store) -> Result<Ingested, StoreError> {
        let archive = self.archive();
        pipeline::ingest(found, store, &self.setup(self.archived.then_some(&archive)))
    }

    /// A run during which something happens each time a transcript was read and before it is put.
    pub(crate) fn ingest_while(&self, meanwhile: &(dyn Fn() + Sync)) {
        let archive = self.archive();
        let progress = |_: usize, _: usize, _: u64, _: u64| meanwhile();
        let setup = Setup { progress: &progress, ..self.setup(Some(&archive)) };
        pipeline::ingest(&self.found(), &mut self.open(), &setup).unwrap();
    }

    fn setup<'a>(&self, archive: Option<&'a Archive>) -> Setup<'a> {
        Setup {
            rules: &RULES,
            rubric: &RUBRIC,
            prices: prices::shipped(),
            archive,
            jobs: self.jobs,
            now_ns: self.now_ns,
            progress: &|_, _, _, _| {},
        }
    }

    /// Cuts transcripts again of whose prompts something else is known now.
    pub(crate) fn recut(&self, store: &mut dyn Store) -> u64 {
        let archive = self.archive();
        pipeline::recut(store, &self.setup(self.archived.then_some(&archive))).unwrap()
    }

    /// All sessions, subagents' too, the latest first.
    pub(crate) fn sessions(&self) -> Vec<Row> {
        self.open().sessions(&Query { subagents: true, rubric_hash: RUBRIC.hash(), ..Query::default() }).unwrap()
    }

    /// The session that came of a transcript.
    pub(crate) fn session(&self, name: &str) -> Row {
        let path = self.name(name);
        let mut rows: Vec<Row> = self.sessions().into_iter().filter(|row| row.path == path).collect();
        assert_eq!(rows.len(), 1, "sessions of {name}");
        rows.remove(0)
    }

    /// What role a transcript has in the store.
    pub(crate) fn role(&self, name: &str) -> String {
        let sql = "SELECT role FROM files WHERE path = ?1";
        self.tables().text(sql, &[&self.name(name)])
    }

    pub(crate) fn look_up(&self, id: &str) -> Lookup {
        self.open().lookup(id, &RUBRIC.hash()).unwrap()
    }

    /// A transcript as the pipeline opens it.
    pub(crate) fn transcript(&self, name: &str, version: u32) -> Option<String> {
        let mut text = Vec::new();
        let archive = self.archive();
        let opened = pipeline::open_transcript(&self.open(), Some(&archive), &self.name(name), version).unwrap();
        opened?.read_to_end(&mut text).unwrap();
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    pub(crate) fn tables(&self) -> Tables {
        Tables::open(&self.store_path())
    }

    /// Everything in the store and its archive as sorted text, less what may differ between equal stores: the state
    /// to go on from, and when and where on the disk a file lies.
    pub(crate) fn dump(&self) -> String {
        let mut lines = self.rows(&["files", "holdings", "sessions", "joined", "grades", "archive"]);
        let archive = self.archive();
        for kept in self.open().archive().unwrap() {
            let mut content = Vec::new();
            if let Ok(mut input) = archive.open(&kept) {
                input.read_to_end(&mut content).unwrap();
            }
            lines.push(format!("kept {} {} {:016x}", kept.path, kept.version, xxh3_64(&content)));
        }
        lines.sort();
        lines.join("\n").replace(self.folder.path().to_str().unwrap(), "~")
    }

    /// The sessions of the store as sorted text: which there are, of what they are made, and what is said of them.
    pub(crate) fn told(&self) -> String {
        // Grades of pieces that have been joined stay, and nobody looks at them.
        let mut lines = self.rows(&[
            "holdings",
            "sessions",
            "joined",
            "fingerprints",
            "rework",
            "grades WHERE session IN (SELECT id FROM sessions)",
            "outcomes WHERE session IN (SELECT id FROM sessions)",
            "(SELECT path, role, sessions, reading, version FROM files WHERE role != 'empty')",
        ]);
        let miscounted = "SELECT path FROM files WHERE sessions !=
            (SELECT count(*) FROM sessions WHERE path = files.path AND version = files.version)";
        assert!(self.tables().rows(miscounted).is_empty(), "{lines:?}");
        lines.sort();
        lines.join("\n").replace(self.folder.path().to_str().unwrap(), "~")
    }

    fn rows(&self, tables: &[&str]) -> Vec<String> {
        let store = self.tables();
        let mut lines = Vec::new();
        for table in tables {
            for row in store.rows(&format!("SELECT * FROM {table}")) {
                let mut line = (*table).to_string();
                for (name, value) in row {
                    if !["inode", "mtime_ns", "name", "number"].contains(&name.as_str()) {
                        write!(line, " {name}={value}").unwrap();
                    }
                }
                lines.push(line);
            }
        }
        lines
    }

    /// SQLite's own opinion of the file.
    pub(crate) fn assert_sound(&self) {
        assert_eq!(self.open().check().unwrap(), Vec::<String>::new());
    }
}

/// Writes the records of one transcript.
pub(crate) struct Talk {
    session: String,
    agent: Option<String>,
    folder: String,
    text: String,
    minute: u32,
}

impl Talk {
    /// A session's transcript. Records come a minute apart.
    pub(crate) fn new(session: &str) -> Talk {
        let folder = "/srv/orchard".to_owned();
        Talk { session: session.into(), agent: None, folder, text: String::new(), minute: 0 }
    }

    /// A subagent's transcript.
    pub(crate) fn subagent(session: &str, agent: &str) -> Talk {
        Talk { agent: Some(agent.into()), ..Talk::new(session) }
    }

    /// The records so far under another session's name: what a fork copies.
    pub(crate) fn fork(&self, session: &str) -> Talk {
        let text = self.text.replace(&format!("\"{}\"", self.session), &format!("\"{session}\""));
        let (agent, folder) = (self.agent.clone(), self.folder.clone());
        Talk { session: session.into(), agent, folder, text, minute: self.minute }
    }

    /// The records so far once more, as some clients write them.
    pub(crate) fn repeated(mut self) -> Talk {
        self.text = self.text.repeat(2);
        self
    }

    /// From here on in this folder.
    pub(crate) fn in_folder(mut self, folder: &str) -> Talk {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Later by some minutes.
    pub(crate) fn later(mut self, minutes: u32) -> Talk {
        self.minute += minutes;
        self
    }

    /// Earlier by some minutes: not all records are written when they were made.
    pub(crate) fn earlier(mut self, minutes: u32) -> Talk {
        self.minute = self.minute.saturating_sub(minutes);
        self
    }

    pub(crate) fn prompt(self, id: &str, words: &str) -> Talk {
        self.record(id, json!({"type": "user", "message": {"role": "user", "content": words}}))
    }

    /// The agent says something in a message of its own, of ten output tokens.
    pub(crate) fn says(self, id: &str, words: &str) -> Talk {
        self.message(id, &json!({"type": "text", "text": words}))
    }

    /// A call and its result: two records.
    pub(crate) fn call(self, id: &str, tool: &str, input: &serde_json::Value, result: &str) -> Talk {
        self.asks(id, id, tool, input).gets(&format!("{id}r"), id, result)
    }

    /// A call with an id of its own.
    pub(crate) fn asks(self, id: &str, call: &str, tool: &str, input: &serde_json::Value) -> Talk {
        self.message(id, &json!({"type": "tool_use", "id": format!("toolu_{call}"), "name": tool, "input": input}))
    }

    /// The result of a call.
    pub(crate) fn gets(self, id: &str, call: &str, result: &str) -> Talk {
        let block = json!({"type": "tool_result", "tool_use_id": format!("toolu_{call}"), "content": result});
        self.record(id, json!({"type": "user", "message": {"role": "user", "content": [block]}}))
    }

    fn message(self, id: &str, block: &serde_json::Value) -> Talk {
        let usage = json!({"input_tokens": 1, "output_tokens": 10});
        let message = json!({"id": format!("msg_{id}"), "role": "assistant", "model": "claude-sonnet-5",
            "content": [block], "usage": usage});
        self.record(id, json!({"type": "assistant", "message": message}))
    }

    pub(crate) fn record(mut self, id: &str, mut record: serde_json::Value) -> Talk {
        let time = format!("2026-10-12T{:02}:{:02}:00.000Z", self.minute / 60, self.minute % 60);
        record["uuid"] = id.into();
        record["timestamp"] = time.into();
        record["sessionId"] = self.session.clone().into();
        record["cwd"] = self.folder.clone().into();
        record["isSidechain"] = self.agent.is_some().into();
        if let Some(agent) = &self.agent {
            record["agentId"] = agent.clone().into();
        }
        writeln!(self.text, "{record}").unwrap();
        self.minute += 1;
        self
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// A short session: a prompt, a read, an answer, with ids that begin so.
pub(crate) fn short(session: &str, ids: &str) -> Talk {
    Talk::new(session)
        .prompt(&format!("{ids}1"), "where is the rain added?")
        .call(&format!("{ids}2"), "Read", &json!({"file_path": "/srv/orchard/soil.rs"}), "1 fn rain() {}")
        .says(&format!("{ids}3"), "In soil.rs.")
}
