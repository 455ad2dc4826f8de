//! The store port: what is kept of transcripts and sessions, and what was said of them.
//!
//! Everything is keyed by content and version, so that every method may be called twice. A method that writes keeps all that
//! it is given, or nothing of it. Several processes may use one store.

use crate::facts::Facts;
use crate::outcomes::Outcome;
use crate::records::{
    Answered, Archived, Became, Entangled, Entry, File, FileState, Graded, Holding, Judged, Judgement, Lookup, Query,
    Role, Row, StoredPart, Topic,
};
use crate::rework::{Fingerprint, Placed, Rework};
use crate::scores::{Grade, Provenance};
use crate::sessions::{Key, SessionId, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What came of asking a store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A store.
pub trait Store: Transcripts + Sessions + Said + Copies {
    /// Another way to read what is in it, for another thread; none where there is no other.
    fn reader(&self) -> Result<Option<Box<dyn Store + Send>>>;

    /// Whether what is put outlives the process.
    fn lasts(&self) -> bool;

    /// What is wrong with it. Reads all of it.
    fn check(&self) -> Result<Vec<String>>;

    /// The version of its form.
    fn schema(&self) -> Result<i64>;
}

/// What is still to be done about a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Todo {
    /// To find out whose the events are that it shares with others, and which of its pieces belong together.
    Settle,
    /// To cut it again: something else is known of its prompts since it was read.
    Cut,
}

/// Transcripts.
pub trait Transcripts {
    /// All that were read, in the order of their paths.
    fn files(&self) -> Result<Vec<File>>;

    /// What became of the files of which one cannot guess it, by their paths. All others are [`Became::default`].
    fn outcomes(&self) -> Result<HashMap<String, Became>> {
        let files = self.files()?.into_iter();
        let unusual = files.filter(|file| file.became != Became::default());
        Ok(unusual.map(|file| (file.state.path, file.became)).collect())
    }

    /// How many files there are of each role.
    fn roles(&self) -> Result<BTreeMap<Role, u64>> {
        let mut roles = BTreeMap::new();
        for file in self.files()? {
            *roles.entry(file.became.role).or_default() += 1;
        }
        Ok(roles)
    }

    /// What is known of one file.
    fn file(&self, path: &str) -> Result<Option<FileState>>;

    /// What all transcripts hold, in the order of their paths and versions.
    fn holdings(&self) -> Result<Vec<Holding>>;

    /// Keeps transcripts with their sessions, and what the archive has of them, and marks them as [`Todo::Settle`]: until
    /// that is done, a session that another transcript has, too, is left to that one. Says which ones have been forgotten
    /// since they were found, by place and version: nothing of them is kept.
    fn put(&mut self, entries: &[Entry], archived: &[Archived]) -> Result<Vec<(String, u32)>>;

    /// Keeps transcripts without the events that are others'. `copies` can no longer be read, and all that was in them is
    /// others'.
    fn put_own(&mut self, entries: &[Entry], copies: &[&str]) -> Result<()>;

    /// The transcripts that something is still to be done about, each with a mark: another one each time.
    fn marked(&self, todo: Todo) -> Result<BTreeMap<String, i64>>;

    /// Marks transcripts.
    fn mark(&mut self, todo: Todo, paths: &[String]) -> Result<()>;

    /// It was done for these transcripts. Those that were marked again since stay so.
    fn unmark(&mut self, todo: Todo, marks: &BTreeMap<String, i64>) -> Result<()>;

    /// What cannot be forgotten without each other: the sessions that share a transcript with these, and the transcripts
    /// of all of them, of their subagents, what else lies in their folders, and whole copies of any of these. A fork is a
    /// session of its own and stays.
    fn entangled(&self, ids: &[SessionId]) -> Result<Entangled>;

    /// Removes sessions with everything that came of them and of their subagents, also from the disk, and says what the
    /// archive had of them. The files stay noted, so that what is forgotten is not read again until it changes, and so do
    /// the keys (hashes), so that a fork does not bring it back.
    fn forget(&mut self, ids: &[SessionId]) -> Result<Vec<Archived>>;
}

/// Sessions.
pub trait Sessions {
    /// Sessions, the latest first.
    fn sessions(&self, query: &Query) -> Result<Vec<Row>>;

    /// The end of the newest session, by which windows are anchored.
    fn newest(&self, query: &Query) -> Result<Option<Timestamp>>;

    /// The session whose id begins so; `last` is the latest one. A piece that was joined is found under its session.
    fn lookup(&self, prefix: &str, rubric_hash: &str) -> Result<Lookup>;

    /// Sessions of the subagents that a session spawned.
    fn subagents(&self, row: &Row, rubric_hash: &str) -> Result<Vec<Row>>;

    /// People's sessions of a window as the PRISM score sees them, the latest first.
    fn judged(&self, query: &Query) -> Result<Vec<Judged>>;

    /// The pieces of a session, in order of time. Empty where its transcript has been replaced since.
    fn parts(&self, row: &Row) -> Result<Vec<StoredPart>>;

    /// All sessions, each with its pieces if it is made of several.
    fn made_of(&self) -> Result<HashMap<SessionId, Vec<StoredPart>>>;

    /// Keeps sessions whose pieces have been joined or parted. One of which a transcript no longer has a piece is left out:
    /// the transcript was put again, and will be settled again.
    fn put_sessions(&mut self, sessions: &[Graded]) -> Result<()>;

    /// Sessions that lack a grade under a rubric, or an outcome, by this version of the offline judge.
    fn ungraded(&self, rubric_hash: &str) -> Result<Vec<(SessionId, Facts)>>;

    /// Keeps grades of sessions that are already there.
    fn put_grades(&mut self, grades: &[(SessionId, Grade)]) -> Result<()>;

    /// Keeps outcomes of sessions that are already there.
    fn put_outcomes(&mut self, outcomes: &[(SessionId, Outcome)]) -> Result<()>;

    /// Notes that no session lacks a grade under this rubric any more, nor an outcome.
    fn complete(&mut self, rubric_hash: &str) -> Result<()>;

    /// The sessions that changed something, by repository.
    fn changes(&self) -> Result<BTreeMap<String, Vec<Placed>>>;

    /// What a session changed; nothing where it is gone.
    fn print(&self, id: &SessionId) -> Result<Fingerprint>;

    /// Keeps what later sessions did to the work of earlier ones, in the place of what was known of that, if `changes` are
    /// still those that it was worked out from. Says whether that is so.
    fn put_rework(&mut self, changes: &BTreeMap<String, Vec<Placed>>, reworked: &[(SessionId, Rework)])
    -> Result<bool>;
}

/// What models said. It was paid for, so it survives a power cut from the moment that it is kept.
pub trait Said {
    /// The answer to a question, if it was asked before.
    fn answer(&self, id: &str) -> Result<Option<Answered>>;

    /// Everything that was answered about a session, in order of time.
    fn answers(&self, session: &SessionId) -> Result<Vec<Answered>>;

    /// Keeps answers.
    fn put_answers(&mut self, answers: &[Answered]) -> Result<()>;

    /// Sessions of which this very judge has said all there is to say, as they were then.
    fn judged_by(&self, provenance: &Provenance) -> Result<HashMap<SessionId, Judgement>>;

    /// Keeps what answers came to.
    fn put_judgements(&mut self, judgements: &[Judgement]) -> Result<()>;

    /// What was said of prompts.
    fn topics(&self) -> Result<BTreeMap<Key, Topic>>;

    /// The prompts that a judge has answered about, whoever's word counts now.
    fn topics_asked(&self, judge: &str, model: &str, prompt_hash: &str) -> Result<BTreeSet<Key>>;

    /// Keeps what was said of prompts. What was said last counts, whenever it is put; a judge that is not sure takes nothing
    /// from one that was. Transcripts that may have to be cut elsewhere by it are marked as [`Todo::Cut`].
    fn put_topics(&mut self, topics: &[Topic]) -> Result<()>;

    /// Batches that were handed over and not yet fetched: id, when, and what is known of its questions.
    fn batches(&self) -> Result<Vec<(String, Timestamp, String)>>;

    /// Notes a batch.
    fn put_batch(&mut self, id: &str, at: Timestamp, questions: &str) -> Result<()>;

    /// A batch was fetched.
    fn drop_batch(&mut self, id: &str) -> Result<()>;
}

/// Copies of transcripts in the archive.
pub trait Copies {
    /// Everything the archive holds.
    fn archive(&self) -> Result<Vec<Archived>>;

    /// What the archive holds of a transcript, the newest version first.
    fn archived(&self, path: &str) -> Result<Vec<Archived>>;

    /// Notes that the archive holds some of it otherwise now. Gives back what is unknown, because it was forgotten
    /// meanwhile.
    fn put_otherwise(&mut self, all: Vec<Archived>) -> Result<Vec<Archived>>;
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later hotwash wrote it.
    #[error("the store {path} was written by a newer hotwash (schema {found}, this one knows {known})")]
    Newer {
        /// The store.
        path: String,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// It is no store, or no longer one.
    #[error("the store {path} is damaged or is no hotwash store: {cause}")]
    Damaged {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
    /// It cannot be written.
    #[error("the store {path} cannot be written: {cause}")]
    ReadOnly {
        /// The store.
        path: String,
        /// What SQLite or the system says.
        cause: String,
    },
    /// The disk is full.
    #[error("no space is left for the store {path}")]
    Full {
        /// The store.
        path: String,
    },
    /// Another process has held it for too long.
    #[error("the store {path} is in use by another process")]
    Busy {
        /// The store.
        path: String,
    },
    /// Anything else.
    #[error("the store {path} failed: {cause}")]
    Other {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Newer { .. } => "update hotwash, or point --store at another file",
            StoreError::Damaged { .. } => {
                "nothing was changed; move the file away and run hotwash again to build a new one from the transcripts"
            }
            StoreError::ReadOnly { .. } => "check the permissions, or point --store at a file you may write",
            StoreError::Full { .. } => {
                "free some space and run the same command again: what was kept is not read again"
            }
            StoreError::Busy { .. } => "wait for the other hotwash to finish and run the same command again",
            StoreError::Other { .. } => "`hotwash doctor` looks at the store",
        }
    }

    /// Whether going on without keeping anything makes sense.
    pub fn only_writing_fails(&self) -> bool {
        matches!(self, StoreError::ReadOnly { .. } | StoreError::Full { .. })
    }
}
