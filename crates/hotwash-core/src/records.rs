//! What passes between the stages and is kept: transcripts and their files, graded sessions, judgements, answers.
//!
//! Stores keep these and give them back, whatever their tables look like.

use crate::facts::{Cost, Tokens};
use crate::outcomes::{Outcome, Ruling};
use crate::prices::Picodollars;
use crate::redaction::Redacted;
use crate::rework::{Fingerprint, Rework};
use crate::scores::{Flag, Grade, Provenance};
use crate::sessions::topic::Known;
use crate::sessions::{self, Join, Key, Opening, Piece, Session, SessionId, SessionKind, Timestamp};
use crate::verdicts::{IntentVerdict, OutcomeVerdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What reading itself has to say about a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Lines that are not blank.
    pub lines: u64,
    /// Lines that could not be decoded to their end, or hold something that is no object.
    pub malformed_lines: u64,
    /// Lines that hold several objects without a newline between them.
    pub glued_lines: u64,
    /// Objects that stood in the transcript before.
    pub duplicate_lines: u64,
    /// Lines over the limit, passed over.
    pub oversized_lines: u64,
}

impl Reading {
    /// A line over the limit.
    pub const OVERSIZED: Reading =
        Reading { lines: 1, malformed_lines: 0, glued_lines: 0, duplicate_lines: 0, oversized_lines: 1 };

    /// Adds another's counts.
    pub fn add(&mut self, other: &Reading) {
        self.each(other, |mine, others| *mine += others);
    }

    /// What came after an earlier reading of the same transcript.
    #[must_use]
    pub fn since(mut self, earlier: &Reading) -> Reading {
        self.each(earlier, |mine, others| *mine -= others);
        self
    }

    fn each(&mut self, other: &Reading, change: impl Fn(&mut u64, u64)) {
        let Reading { lines, malformed_lines, glued_lines, duplicate_lines, oversized_lines } = other;
        change(&mut self.lines, *lines);
        change(&mut self.malformed_lines, *malformed_lines);
        change(&mut self.glued_lines, *glued_lines);
        change(&mut self.duplicate_lines, *duplicate_lines);
        change(&mut self.oversized_lines, *oversized_lines);
    }
}

/// What is known of a transcript's file, so that an unchanged one costs a look at its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// Where it is.
    pub path: String,
    /// The file's number in its file system.
    pub inode: u64,
    /// Its size when it was read.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// The end of the last whole line that was read.
    pub offset: u64,
    /// A hash of the bytes before that place: equal when the file has only grown since.
    pub tail: u64,
    /// The name of the agent whose transcript it is.
    pub agent: String,
    /// The version of the decoder that read it.
    pub decoder: u32,
    /// Counts up each time something else is found in its place.
    pub version: u32,
}

/// What a transcript turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A person's work, or a run's of its own.
    Main,
    /// A subagent's.
    Subagent,
    /// A subagent that the client starts only to be ready.
    Warmup,
    /// A copy that a compaction left behind.
    CompactionCopy,
    /// A run of hotwash's own judge.
    JudgeRun,
    /// Nothing in it but copies of another transcript's events.
    Copy,
    /// Nothing happened in it.
    Empty,
    /// It is no transcript of this agent.
    Foreign,
    /// Its session was forgotten, and it is not to be read again.
    Forgotten,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 9] = [
        Role::Main,
        Role::Subagent,
        Role::Warmup,
        Role::CompactionCopy,
        Role::JudgeRun,
        Role::Copy,
        Role::Empty,
        Role::Foreign,
        Role::Forgotten,
    ];

    /// As it is stored, and shown as a reason for leaving it out.
    pub fn name(self) -> &'static str {
        match self {
            Role::Main => "main",
            Role::Subagent => "subagent",
            Role::Warmup => "warmup",
            Role::CompactionCopy => "compaction copy",
            Role::JudgeRun => "judge run",
            Role::Copy => "copy",
            Role::Empty => "empty",
            Role::Foreign => "not a Claude Code transcript",
            Role::Forgotten => "forgotten",
        }
    }

    /// The role of this name; none of ours where there is none.
    pub fn from_name(name: &str) -> Role {
        Role::ALL.into_iter().find(|role| role.name() == name).unwrap_or(Role::Foreign)
    }

    /// The kind of session that comes of it, if any.
    pub fn session(self) -> Option<SessionKind> {
        match self {
            Role::Main => Some(SessionKind::Main),
            Role::Subagent => Some(SessionKind::Subagent),
            _ => None,
        }
    }
}

/// What was read: a transcript with its pieces, and the sessions that they make up by themselves.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The file.
    pub file: FileState,
    /// What it turned out to be.
    pub role: Role,
    /// What reading had to say, as JSON; empty where all was sound.
    pub reading: String,
    /// Keys of its messages and prompts, by which copies are found.
    pub keys: Vec<Key>,
    /// Its pieces.
    pub pieces: Vec<Piece>,
    /// The sessions, each of one piece or of several that belong together unless a piece of another transcript lies
    /// between them.
    pub sessions: Vec<Graded>,
}

/// What is kept: a session with its facts, and what the offline judge says of it.
#[derive(Clone, Debug)]
pub struct Graded {
    /// The session, under the id of its first piece.
    pub session: Session,
    /// Its grade.
    pub grade: Grade,
    /// Whether it reached its goal.
    pub outcome: Outcome,
    /// The lines that it added and removed.
    pub print: Fingerprint,
    /// Its pieces, in order of time; at least one.
    pub parts: Vec<StoredPart>,
}

/// A session as the PRISM score sees it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its id.
    pub id: SessionId,
    /// The working directory.
    pub project: Redacted<String>,
    /// Its transcript's path.
    pub path: String,
    /// The model that answered first.
    pub model: String,
    /// Its first moment.
    pub from: Option<Timestamp>,
    /// Its last moment.
    pub to: Option<Timestamp>,
    /// Its outcome, without the reasons.
    pub ruling: Ruling,
    /// Later sessions took its work back.
    pub reworked: bool,
    /// The outcome is a model's.
    pub by_model: bool,
}

/// What a transcript holds: by its keys copies are found, and its pieces may be joined with others.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Where the transcript is.
    pub path: String,
    /// Which of the transcripts that stood there.
    pub version: u32,
    /// It is the one that stands there now.
    pub is_newest: bool,
    /// What it is.
    pub role: Role,
    /// Keys of its messages and prompts, sorted.
    pub keys: Vec<Key>,
    /// Its pieces.
    pub pieces: Vec<Piece>,
}

impl Holding {
    /// Whether its pieces may be joined with others: they are a person's work.
    pub fn is_of_person(&self) -> bool {
        self.role.session() == Some(SessionKind::Main)
    }
}

/// A piece of a session: where it is, and why it belongs there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPart {
    /// The transcript.
    pub path: String,
    /// Which of the transcripts that stood there.
    pub version: u32,
    /// The agent's own id for the transcript.
    pub recorded: String,
    /// The id that the piece alone would have.
    pub id: SessionId,
    /// The lines of its events.
    pub lines: Vec<(u32, u32)>,
    /// Why it begins where it does.
    pub opened: Opening,
    /// Why it was joined to what came before; none for the first.
    pub joined: Option<Join>,
    /// When it starts.
    pub starts: Option<Timestamp>,
}

impl StoredPart {
    /// A piece by itself.
    pub fn of(path: &str, version: u32, recorded: &str, piece: &Piece) -> StoredPart {
        StoredPart {
            path: path.to_owned(),
            version,
            recorded: recorded.to_owned(),
            id: piece.id(),
            lines: piece.lines.clone(),
            opened: piece.opened,
            joined: None,
            starts: piece.starts,
        }
    }
}

/// For each piece of a session, the number of its transcript among those of the session, from 0.
pub fn transcript_numbers(parts: &[StoredPart]) -> Vec<usize> {
    let mut known: Vec<(&str, u32)> = Vec::new();
    let places = parts.iter().map(|part| (part.path.as_str(), part.version));
    places
        .map(|place| {
            known.iter().position(|other| *other == place).unwrap_or_else(|| {
                known.push(place);
                known.len() - 1
            })
        })
        .collect()
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Ended at or after.
    pub since: Option<Timestamp>,
    /// Began before.
    pub until: Option<Timestamp>,
    /// The project's folder or name contains this.
    pub project: Option<String>,
    /// Sessions of subagents too.
    pub subagents: bool,
    /// Only sessions from these transcripts; sorted.
    pub paths: Option<Vec<String>>,
    /// The hash of the rubric whose grades are wanted.
    pub rubric_hash: String,
    /// Facts and usage are left empty: who only looks at grades need not wait for them.
    pub without_facts: bool,
}

/// What is shown: a session with all that was said of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The session.
    pub session: Session,
    /// Its transcript's path.
    pub path: String,
    /// Which of the transcripts that stood there.
    pub version: u32,
    /// Its grade under the rubric asked for; none if it has not been graded so.
    pub grade: Option<Grade>,
    /// What it used together with its subagents.
    pub with_subagents: Usage,
    /// Whether it reached its goal; none without facts.
    pub outcome: Option<Outcome>,
    /// As much of that as the PRISM score needs, also without facts.
    pub ruled: Option<Ruled>,
    /// What later sessions did to its work; none where they did nothing.
    pub rework: Option<Rework>,
    /// The model judge whose grade and outcome these are; none where they are the offline judge's.
    pub judged: Option<Judging>,
}

/// What the PRISM score needs of a session that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// Its outcome, without the reasons.
    pub ruling: Ruling,
    /// Later sessions took its work back.
    pub reworked: bool,
    /// The outcome is a model's.
    pub by_model: bool,
}

/// What a model judge came to on a session.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The session.
    pub session: SessionId,
    /// Its first moment when it was judged.
    pub from: Option<Timestamp>,
    /// Its last moment then.
    pub to: Option<Timestamp>,
    /// Who judged, when and for how much.
    pub judging: Judging,
    /// The grade, where quality was judged.
    pub grade: Option<Grade>,
    /// The outcome, where that was judged.
    pub outcome: Option<Outcome>,
}

impl Judgement {
    /// Whether it is of a session as it is now.
    pub fn is_of(&self, from: Option<Timestamp>, to: Option<Timestamp>) -> bool {
        (self.from, self.to) == (from, to)
    }
}

/// Who judged a session, when and for how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// Where grade and outcome come from.
    pub provenance: Provenance,
    /// When.
    pub at: Timestamp,
    /// Questions that were asked, those answered before not counted again.
    pub calls: u64,
    /// What the answers cost; none where somebody's price is unknown.
    pub cost: Option<Picodollars>,
    /// Tokens that were read and written.
    pub tokens: u64,
    /// What to know of it before trusting it: the text spoke to its judge, two verdicts contradict each other, ….
    pub flags: Vec<Flag>,
    /// The share of the session that was seen, from 0 to 1.
    pub coverage: f64,
    /// Everything that was asked was answered.
    pub complete: bool,
    /// What was not, where that is so.
    #[serde(default)]
    pub lack: Option<Lack>,
    /// What the judge took the person to want, where it was asked.
    pub intent: Option<IntentVerdict>,
    /// What it found of that, where it was asked.
    pub verdict: Option<OutcomeVerdict>,
}

/// Why something could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// In words.
    pub reason: String,
    /// The same judge may yet answer; where it has, and badly, only another can.
    pub again: bool,
}

/// An answer of a model judge, as it is kept.
#[derive(Clone, Debug)]
pub struct Answered {
    /// A hash of the question and of who was asked.
    pub id: String,
    /// The session it is about.
    pub session: SessionId,
    /// A name for people.
    pub name: String,
    /// What was asked.
    pub task: String,
    /// The backend.
    pub judge: String,
    /// The model that was asked.
    pub model: String,
    /// The model that answered.
    pub answered_by: String,
    /// The hash of the prompt's template.
    pub prompt_hash: String,
    /// When.
    pub at: Timestamp,
    /// What was said.
    pub reply: Redacted<String>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens, where the backend says.
    pub usage: Option<sessions::Usage>,
    /// What it cost, where that is known.
    pub cost: Option<Picodollars>,
    /// Requests that it took.
    pub requests: u32,
}

/// What a model said of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// The prompt.
    pub prompt: Key,
    /// Whether another goal begins with it; nothing where its words are to decide.
    pub known: Known,
    /// How sure the model is, in thousandths, where it says.
    pub sure: Option<u16>,
    /// Why another goal begins with it, where one does.
    pub reason: Redacted<String>,
    /// The backend.
    pub judge: String,
    /// The model that was asked.
    pub model: String,
    /// The hash of the prompt's template.
    pub prompt_hash: String,
    /// When.
    pub at: Timestamp,
}

/// Tokens and cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Subagents that took part.
    pub subagents: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// Cost.
    pub cost: Cost,
}

impl Usage {
    /// Adds what a subagent used.
    pub fn add(&mut self, tokens: &Tokens, cost: &Cost) {
        self.subagents += 1;
        self.tokens.add(tokens);
        self.cost.add(cost);
    }
}

/// What a prefix of an id stands for.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// One session.
    One(Box<Row>),
    /// None.
    None,
    /// Several; some of their ids.
    Many(Vec<SessionId>),
}

/// A transcript in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Where the transcript was.
    pub path: String,
    /// Counts up when the file was rewritten.
    pub version: u32,
    /// The file's name in the archive.
    pub name: String,
    /// How it is kept.
    pub form: Form,
    /// How much of the transcript it holds.
    pub size: u64,
}

/// How a transcript is kept in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Another name of the same file: free, and survives its deletion.
    Link,
    /// A copy of its own, or one that shares blocks until either is written.
    Copy,
    /// Compressed.
    Zstd,
}

impl Form {
    /// As it is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Form::Link => "link",
            Form::Copy => "copy",
            Form::Zstd => "zstd",
        }
    }

    /// The form of this name; a copy where there is none.
    pub fn from_name(name: &str) -> Form {
        match name {
            "link" => Form::Link,
            "zstd" => Form::Zstd,
            _ => Form::Copy,
        }
    }
}

/// A file that was read, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file.
    pub state: FileState,
    /// What became of it.
    pub became: Became,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Became {
    /// What it turned out to be.
    pub role: Role,
    /// How many sessions begin in it.
    pub sessions: u64,
    /// What reading had to say; nothing where all was sound.
    pub reading: Reading,
}

impl Default for Became {
    /// As nearly all are.
    fn default() -> Self {
        Became { role: Role::Main, sessions: 1, reading: Reading::default() }
    }
}

/// Sessions and transcripts that cannot be forgotten without each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entangled {
    /// The sessions.
    pub sessions: BTreeSet<SessionId>,
    /// The transcripts, by place and version.
    pub transcripts: BTreeSet<(String, u32)>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    End,
    /// It had no more room.
    MaxTokens,
    /// The model refused.
    Refusal,
}

impl Stop {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Stop::End => "end",
            Stop::MaxTokens => "max_tokens",
            Stop::Refusal => "refusal",
        }
    }

    /// The reason of this name; done where there is none.
    pub fn from_name(name: &str) -> Stop {
        [Stop::MaxTokens, Stop::Refusal].into_iter().find(|stop| stop.name() == name).unwrap_or(Stop::End)
    }
}
