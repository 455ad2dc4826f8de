//! What most commands begin with: the store is opened, transcripts are found, read, graded and kept.

use crate::env::Environment;
use crate::errors::{Exit, Failure};
use crate::example::Place;
use crate::machine::{self, NewKey};
use crate::screen::numbers::count;
use crate::screen::progress::Progress;
use crate::screen::text::words;
use crate::screen::{self, Screen};
use crate::settings::{Layer, Settings};
use crate::window;
use hotwash_core::prices;
use hotwash_core::redaction::{Rules, redact};
use hotwash_core::reports::{Counts, Window};
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::{Event, Opening, SessionId};
use hotwash_engine::archive::Archive;
use hotwash_engine::pipeline::{self, Ingested, Setup, Untold};
use hotwash_engine::sources::discover::{Discovery, Found, discover};
use hotwash_engine::sources::instead::instead;
use hotwash_engine::stores::{Became, Query, Role, Row, Sqlite, Store, StoreError, StoredPart, Topic};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many troublesome files are named.
const NAMED: usize = 3;
/// How many are where there is nothing else to say.
const MOST_REASONS: usize = 50;

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// The folders of the settings.
    Sources,
    /// The folders of the settings; the example week where they and the store hold nothing.
    SourcesOrExample,
    /// These, of which `-` is stdin: graded as they are, whatever the store knows, and not kept.
    Given(&'a [PathBuf]),
    /// These files, which the store takes in like those of the settings.
    Kept(&'a [PathBuf]),
}

/// What a command works with once everything is read.
pub(crate) struct Run<'a> {
    /// The settings.
    pub(crate) settings: &'a Settings,
    /// Where sessions are.
    pub(crate) store: Box<dyn Store>,
    /// Where transcripts are kept.
    pub(crate) archive: Option<Archive>,
    /// What to take out of texts.
    pub(crate) rules: Arc<Rules>,
    /// What was graded by.
    pub(crate) rubric: Rubric,
    /// The transcripts that are there.
    pub(crate) found: Vec<Found>,
    /// The example week was read, not the person's sessions.
    pub(crate) example: bool,
    /// What came of reading.
    pub(crate) ingested: Ingested,
    /// Only the sessions of these transcripts, sorted.
    pub(crate) paths: Option<Vec<String>>,
    /// Why nothing is kept, where something should have been.
    pub(crate) not_kept: Option<String>,
    /// Who was sent something of it.
    pub(crate) sent_to: Vec<String>,
    /// The sessions come from Langfuse.
    pub(crate) pulled: bool,
    place: Option<Place>,
    topics: OnceCell<HashMap<SessionId, Topic>>,
}

impl<'a> Run<'a> {
    /// Reads what is new and grades it.
    pub(crate) fn new(settings: &'a Settings, env: &Environment, input: Input<'_>) -> Result<Run<'a>, Failure> {
        let rubric = rubric_of(settings)?;
        if settings.example {
            if matches!(input, Input::Given(_) | Input::Kept(_)) {
                return Err(Failure::new("--example is the bundled week, and paths were given too")
                    .hint("leave one of the two out"));
            }
            return Run::example(settings, env, rubric);
        }
        if let Input::Given(paths) = input {
            return Run::given(settings, env, rubric, paths);
        }
        let (places, given) = match input {
            Input::Given(paths) | Input::Kept(paths) => (paths.to_vec(), true),
            Input::Sources | Input::SourcesOrExample => (folders(settings), false),
        };
        // While transcripts are looked for, somebody else opens the store.
        let (mut discovery, (rules, opened)) = std::thread::scope(|scope| {
            let opens = scope.spawn(|| {
                let rules = machine::rules(env, &settings.store.value, NewKey::Keep);
                let opened = Sqlite::open(&settings.store.value, rules.clone());
                (rules, opened)
            });
            (discover(&places), opens.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        if given {
            absolute(&mut discovery, env);
            if discovery.found.is_empty() && !discovery.problems.is_empty() {
                return Err(nothing_readable(&discovery));
            }
        }
        let (store, mut not_kept): (Box<dyn Store>, _) = match opened {
            Ok(store) => (Box::new(store), None),
            Err(error) if error.only_writing_fails() => {
                (Box::new(Sqlite::in_memory(rules.clone())?), Some(error.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
        let archive = not_kept.is_none().then(|| Archive::beside(&settings.store.value, now_ns()));
        let mut run = Run { archive, ..Run::around(settings, store, rubric, rules) };
        match run.ingest(&mut discovery) {
            Err(error) if error.only_writing_fails() => {
                // What cannot be kept can still be shown.
                not_kept = Some(error.to_string());
                run.store = Box::new(Sqlite::in_memory(run.rules.clone())?);
                run.archive = None;
                run.ingest(&mut discovery)?;
            }
            done => done?,
        }
        run.not_kept = not_kept;
        if given {
            run.paths = Some(run.found_paths());
        }
        let nothing = run.found.is_empty() && run.ingested.failed.is_empty();
        if matches!(input, Input::SourcesOrExample) && nothing && run.store.newest(&Query::default())?.is_none() {
            let Run { rubric, not_kept, .. } = run;
            let mut run = Run::example(settings, env, rubric)?;
            run.not_kept = not_kept;
            return Ok(run);
        }
        Ok(run)
    }

    /// The store as it is: nothing is read, nothing is graded.
    pub(crate) fn of_store(settings: &'a Settings, rules: Arc<Rules>) -> Result<Run<'a>, Failure> {
        let store = Box::new(Sqlite::open(&settings.store.value, rules.clone())?);
        let rubric = rubric_of(settings)?;
        let archive = Some(Archive::beside(&settings.store.value, now_ns()));
        Ok(Run { archive, ..Run::around(settings, store, rubric, rules) })
    }

    fn around(settings: &'a Settings, store: Box<dyn Store>, rubric: Rubric, rules: Arc<Rules>) -> Run<'a> {
        Run {
            settings,
            store,
            archive: None,
            rules,
            rubric,
            found: Vec::new(),
            example: false,
            ingested: Ingested::default(),
            paths: None,
            not_kept: None,
            sent_to: Vec::new(),
            pulled: false,
            place: None,
            topics: OnceCell::new(),
        }
    }

    /// What somebody gave, and nothing else.
    fn given(settings: &'a Settings, env: &Environment, rubric: Rubric, paths: &[PathBuf]) -> Result<Run<'a>, Failure> {
        let is_stdin = paths.iter().any(|path| path.as_os_str() == "-");
        if is_stdin && paths.len() > 1 {
            return Err(Failure::new("stdin cannot be read together with files").hint("give `-` alone"));
        }
        let place = is_stdin.then(|| Place::with_stdin(env)).transpose();
        let place = place.map_err(|error| Failure::new("cannot read stdin").cause(words(&error)))?;
        // Whoever answers questions must find the same placeholders in them tomorrow.
        let new = if is_stdin && settings.judge.value.is_empty() { NewKey::ForThisRun } else { NewKey::Keep };
        let rules = machine::rules(env, &settings.store.value, new);
        let mut discovery = match &place {
            Some(place) => discover(&[place.folder().to_path_buf()]),
            None => discover(paths),
        };
        absolute(&mut discovery, env);
        if discovery.found.is_empty() && !discovery.problems.is_empty() {
            return Err(nothing_readable(&discovery));
        }
        let mut run = Run::in_memory(settings, rubric, rules, &mut discovery, place)?;
        run.paths = Some(run.found_paths());
        match run.nothing_to_grade(paths) {
            Some(failure) => Err(failure),
            None => Ok(run),
        }
    }

    /// Why there is nothing to grade in what was given, where that is so: the reason for each file.
    fn nothing_to_grade(&self, paths: &[PathBuf]) -> Option<Failure> {
        let mut reasons = self.ingested.failed.clone();
        reasons.extend(self.skipped());
        let has_reason = |path: &str| reasons.iter().any(|(known, _)| known == path);
        if !self.found.iter().all(|found| has_reason(&found.path.to_string_lossy())) {
            return None;
        }
        if self.found.is_empty() {
            reasons =
                paths.iter().map(|path| (path.display().to_string(), "no transcript (.jsonl) in it".into())).collect();
        }
        let named = reasons.iter().take(MOST_REASONS);
        let failure = named
            .fold(Failure::new("there is nothing to grade in what was given"), |failure, (path, why)| {
                failure.cause(format!("{}: {why}", self.shown_path(path)))
            });
        let failure = match reasons.len().saturating_sub(MOST_REASONS) {
            0 => failure,
            more => failure.cause(format!("and {more} more")),
        };
        Some(failure.hint("give transcripts (.jsonl), folders of them, or - for stdin"))
    }

    fn found_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.found.iter().map(|found| found.path.to_string_lossy().into_owned()).collect();
        paths.sort();
        paths
    }

    fn example(settings: &'a Settings, env: &Environment, rubric: Rubric) -> Result<Run<'a>, Failure> {
        let place = Place::with_examples(env)
            .map_err(|error| Failure::new("cannot unpack the example week").cause(words(&error)))?;
        let mut discovery = discover(&[place.folder().to_path_buf()]);
        let run = Run::in_memory(settings, rubric, machine::example_rules(), &mut discovery, Some(place))?;
        Ok(Run { example: true, ..run })
    }

    fn in_memory(
        settings: &'a Settings,
        rubric: Rubric,
        rules: Arc<Rules>,
        discovery: &mut Discovery,
        place: Option<Place>,
    ) -> Result<Run<'a>, Failure> {
        let store = Box::new(Sqlite::in_memory(rules.clone())?);
        let mut run = Run { place, ..Run::around(settings, store, rubric, rules) };
        run.ingest(discovery)?;
        Ok(run)
    }

    /// Takes what was found, once it is read.
    fn ingest(&mut self, discovery: &mut Discovery) -> Result<(), StoreError> {
        let progress = Progress::new();
        let setup = Setup {
            rules: &self.rules,
            rubric: &self.rubric,
            prices: prices::shipped(),
            // Switched off, nothing more goes into it; what is there can still be read.
            archive: self.archive.as_ref().filter(|_| self.settings.archive.value),
            jobs: self.settings.jobs.value,
            now_ns: now_ns(),
            progress: &|files, of_files, bytes, of_bytes| progress.tell(files, of_files, bytes, of_bytes),
        };
        let ingested = pipeline::ingest(&discovery.found, &mut *self.store, &setup);
        progress.clear();
        self.ingested = ingested?;
        let problems = discovery.problems.iter().map(|(path, why)| (path.to_string_lossy().into_owned(), why.clone()));
        self.ingested.failed.extend(problems);
        self.ingested.failed.sort();
        self.found = std::mem::take(&mut discovery.found);
        Ok(())
    }

    /// The query for the sessions of this run, less the window.
    pub(crate) fn query(&self, project: Option<&str>, subagents: bool) -> Query {
        Query {
            project: project.map(str::to_owned),
            subagents,
            paths: self.paths.clone(),
            rubric_hash: self.rubric.hash(),
            ..Query::default()
        }
    }

    /// The stretch of time that is asked for.
    pub(crate) fn window(&self, screen: &Screen, until: Option<&str>, query: &Query) -> Result<Window, Failure> {
        // Who names transcripts wants all of them.
        let all = self.paths.is_some() && self.settings.since.from == Layer::Default;
        let since = if all { "all" } else { &self.settings.since.value };
        window::settle(since, until, &screen.clock, &*self.store, query)
    }

    /// The sessions of a window, and the window.
    pub(crate) fn sessions(
        &self,
        screen: &Screen,
        until: Option<&str>,
        query: &Query,
    ) -> Result<(Window, Vec<Row>), Failure> {
        let window = self.window(screen, until, query)?;
        let rows = self.store.sessions(&window.within(query))?;
        Ok((window, rows))
    }

    /// Counts the transcripts of this run, of which `rows` are the sessions that `query` asked for; `known` is what the store
    /// says became of them.
    pub(crate) fn counts(&self, rows: &[Row], query: &Query, known: &HashMap<String, Became>) -> Counts {
        let found = self.found.iter().map(|found| found.path.to_string_lossy());
        Counts::of(found, &self.ingested.failed, rows, query, known)
    }

    /// Asks the store two things at once, where there is a second way into it.
    pub(crate) fn at_once<A, B: Send>(
        &self,
        one: impl FnOnce(&dyn Store) -> Result<A, Failure>,
        other: impl FnOnce(&dyn Store) -> Result<B, Failure> + Send,
    ) -> Result<(A, B), Failure> {
        let Ok(Some(beside)) = self.store.reader() else {
            return Ok((one(&*self.store)?, other(&*self.store)?));
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(move || other(&*beside));
            let one = one(&*self.store);
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((one?, other?))
        })
    }

    /// Tells the events of a session.
    pub(crate) fn tell(&self, row: &Row, tell: &mut dyn FnMut(&Event<'_>)) -> Result<(), Untold> {
        pipeline::tell(&*self.store, self.archive.as_ref(), &self.store.parts(row)?, tell)
    }

    /// What a model said of the prompt that a piece begins with, where that is why it begins.
    pub(crate) fn topic(&self, part: &StoredPart) -> Option<&Topic> {
        if !matches!(part.opened, Opening::Judged { .. }) {
            return None;
        }
        let load = || {
            let topics = self.store.topics().unwrap_or_default();
            topics.into_iter().map(|(prompt, topic)| (SessionId::of(prompt), topic)).collect()
        };
        self.topics.get_or_init(load).get(&part.id)
    }

    /// Somebody gave what is graded, and did not want it kept.
    pub(crate) fn is_given(&self) -> bool {
        self.paths.is_some() && !self.is_kept() && self.not_kept.is_none()
    }

    /// What this run comes to is there tomorrow.
    pub(crate) fn is_kept(&self) -> bool {
        self.store.lasts()
    }

    /// A transcript's path as people may see it.
    pub(crate) fn shown_path(&self, path: &str) -> String {
        let shown = self.place.as_ref().and_then(|place| place.shown(path));
        shown.unwrap_or_else(|| redact(path, &self.rules).into_string())
    }

    /// Says on stderr what did not work, and what the exit code is.
    pub(crate) fn report(&self) -> Exit {
        let mut lines = Vec::new();
        if let Some(why) = &self.not_kept {
            lines.push(format!("{why}; nothing of this run is kept"));
        }
        if !self.ingested.failed.is_empty() {
            let n = self.ingested.failed.len() as u64;
            lines.push(format!("{} could not be read: {}", count(n, "path"), self.named(&self.ingested.failed)));
        }
        if !self.ingested.unarchived.is_empty() {
            let n = self.ingested.unarchived.len() as u64;
            let named = self.named(&self.ingested.unarchived);
            lines.push(format!("{} could not be archived: {named}", count(n, "transcript")));
        }
        let skipped = self.skipped();
        if !skipped.is_empty() {
            lines.push(format!("{} skipped: {}", count(skipped.len() as u64, "file"), self.named(&skipped)));
        }
        let reading = &self.ingested.reading;
        if reading.malformed_lines + reading.oversized_lines > 0 {
            let malformed = count(reading.malformed_lines, "line");
            lines.push(match reading.oversized_lines {
                0 => format!("{malformed} could not be decoded; the rest was read"),
                n => {
                    format!("{malformed} could not be decoded and {} too long; the rest was read", count(n, "line was"))
                }
            });
        }
        for line in &lines {
            screen::stderr(&format!("warning: {line}\n"));
        }
        let partly =
            self.not_kept.is_some() || !self.ingested.failed.is_empty() || !self.ingested.unarchived.is_empty();
        if partly { Exit::Partly } else { Exit::Done }
    }

    /// Files that somebody named and that gave no session, with the reason.
    fn skipped(&self) -> Vec<(String, String)> {
        let Some(paths) = &self.paths else { return Vec::new() };
        let Ok(known) = self.store.outcomes() else { return Vec::new() };
        let why = |path: &String| {
            let Became { role, reading, .. } = known.get(path).filter(|became| became.role.session().is_none())?;
            let instead = match role {
                Role::Foreign | Role::Empty => instead(Path::new(path)).ok().flatten(),
                _ => None,
            };
            let undecoded = reading.lines > 0 && reading.lines == reading.malformed_lines;
            Some(instead.unwrap_or(if undecoded { "no line of it could be decoded" } else { role.name() }))
        };
        paths.iter().filter_map(|path| Some((path.clone(), why(path)?.to_owned()))).collect()
    }

    fn named(&self, files: &[(String, String)]) -> String {
        let names: Vec<String> =
            files.iter().take(NAMED).map(|(path, why)| format!("{} ({why})", self.shown_path(path))).collect();
        let rest = files.len().saturating_sub(NAMED);
        names.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
    }
}

/// Cuts transcripts again of whose prompts something else is known now. Says how many were cut elsewhere.
pub(crate) fn recut(
    store: &mut dyn Store,
    archive: Option<&Archive>,
    rules: &Rules,
    rubric: &Rubric,
) -> Result<u64, StoreError> {
    let (prices, progress) = (prices::shipped(), &|_, _, _, _| {});
    let setup = Setup { rules, rubric, prices, archive, jobs: 1, now_ns: now_ns(), progress };
    pipeline::recut(store, &setup)
}

/// The rubric of the settings.
pub(crate) fn rubric_of(settings: &Settings) -> Result<Rubric, Failure> {
    rubric(&settings.rubric.value).map_err(|failure| settings.rubric.from.blame(failure))
}

/// A built-in rubric, or one from a file.
pub(crate) fn rubric(name: &str) -> Result<Rubric, Failure> {
    if let Some(rubric) = Rubric::shipped(name) {
        return Ok(rubric);
    }
    let path = Path::new(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let known: Vec<&str> = Rubric::shipped_names().collect();
        return Err(Failure::new(format!("there is no rubric `{name}`"))
            .hint(format!("the built-in ones are {}; anything else is a file", known.join(", "))));
    }
    let cannot = || Failure::new(format!("cannot read the rubric {name}"));
    let source = std::fs::read_to_string(path).map_err(|error| cannot().cause(words(&error)))?;
    Rubric::parse(name, &source).map_err(|errors| {
        let failure = errors.problems.iter().fold(cannot(), |failure, problem| {
            let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            failure.cause(format!("{line}{}: {}", problem.rule, problem.message))
        });
        failure.hint(format!("`hotwash rubric check {name}` says what to do about each"))
    })
}

/// Where Claude Code keeps transcripts, of the folders in the settings that are there.
pub(crate) fn folders(settings: &Settings) -> Vec<PathBuf> {
    let transcripts = |folder: &PathBuf| {
        let projects = folder.join("projects");
        if projects.is_dir() { projects } else { folder.clone() }
    };
    let usual = |folder: &PathBuf| folder.file_name().is_some_and(|name| name == ".claude" || name == "claude");
    let folders = settings.sources.value.iter().filter(|folder| folder.exists());
    // Claude Code's own folder holds other `.jsonl` files beside `projects`.
    folders.filter(|folder| !usual(folder) || folder.join("projects").is_dir()).map(transcripts).collect()
}

/// The store knows transcripts by their whole path: a relative one would be another file tomorrow.
fn absolute(discovery: &mut Discovery, env: &Environment) {
    for found in &mut discovery.found {
        let path = std::path::absolute(env.folder.join(&found.path));
        found.path = path.unwrap_or_else(|_| found.path.clone());
    }
    discovery.found.sort_unstable();
    discovery.found.dedup_by(|a, b| a.path == b.path);
}

fn nothing_readable(discovery: &Discovery) -> Failure {
    let failure = Failure::new("none of the paths can be read");
    let failure = discovery
        .problems
        .iter()
        .take(NAMED)
        .fold(failure, |failure, (path, why)| failure.cause(format!("{}: {why}", path.display())));
    failure.hint("give transcripts (.jsonl), folders of them, or - for stdin")
}

/// Now.
pub(crate) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}
