//! Events: what an agent recorded, in our words, whatever the agent.
//!
//! A source hands over [`Event`]s that borrow from its bytes; folds (boundaries, facts) look at them and keep what they
//! need. Vendor shapes stop before this file.

use crate::sessions::Timestamp;
use crate::text::{Body, Text};
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// The place of an event in its transcript: the number of the line that holds it, from 1. Written `e41`; in a session
/// that several transcripts make up, those of the second are written `e2.41`.
///
/// Lines are never renumbered by what a decoder understands of them, so an id stays right when hotwash learns more. A
/// line that holds several things (parallel results) lends them all its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub u32);

/// Events that something points at.
pub type Events = Vec<EventId>;

impl EventId {
    /// The bits that hold the line.
    const LINE_BITS: u32 = 24;
    /// Lines beyond this one, which no transcript has, are told as this one.
    pub const LAST_LINE: u32 = (1 << Self::LINE_BITS) - 1;

    /// An event of the transcript with this number, from 0, of a session that several transcripts make up.
    #[must_use]
    pub fn of_transcript(number: usize, id: EventId) -> EventId {
        let number = u32::try_from(number).unwrap_or(u32::MAX).min(u32::MAX >> Self::LINE_BITS);
        EventId(number << Self::LINE_BITS | id.line())
    }

    /// The transcript, from 0.
    pub fn transcript(self) -> usize {
        (self.0 >> Self::LINE_BITS) as usize
    }

    /// The line in it, from 1.
    pub fn line(self) -> u32 {
        self.0 & Self::LAST_LINE
    }
}

impl std::str::FromStr for EventId {
    type Err = ();

    /// As it is written: `e41`, or `e2.41` for an event of a session's second transcript.
    fn from_str(text: &str) -> Result<EventId, ()> {
        let id = text.strip_prefix('e').ok_or(())?;
        let number = |digits: &str| match digits.as_bytes() {
            [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => digits.parse::<u32>().map_err(|_| ()),
            _ => Err(()),
        };
        let (transcript, line) = match id.split_once('.') {
            Some((transcript, line)) => (number(transcript)?.checked_sub(1).filter(|n| *n > 0).ok_or(())?, line),
            None => (0, id),
        };
        let (transcript, line) = (transcript as usize, number(line)?);
        let id = EventId::of_transcript(transcript, EventId(line));
        (line <= Self::LAST_LINE && id.transcript() == transcript).then_some(id).ok_or(())
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.transcript() {
            0 => write!(f, "e{}", self.line()),
            number => write!(f, "e{}.{}", number + 1, self.line()),
        }
    }
}

/// An id that the agent gave (a record, an API message, a tool call), hashed: equal in every copy of the thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub u64);

impl Key {
    /// The key of an id.
    pub fn of(id: Text<'_>) -> Key {
        Key(xxh3_64(id.to_str().as_bytes()))
    }
}

/// Where an event comes from. Shared by all events of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// Its place in the transcript.
    pub id: EventId,
    /// The record's own id, equal in copies; bookkeeping has none.
    pub key: Option<Key>,
    /// When it happened. Runs backwards now and then: file order is the order.
    pub at: Option<Timestamp>,
    /// The working directory.
    pub cwd: Text<'a>,
    /// The client's version.
    pub version: Text<'a>,
    /// The id under which the agent recorded it.
    pub session: Text<'a>,
    /// The git branch, where recorded.
    pub branch: Text<'a>,
    /// The subagent that did it, where recorded.
    pub agent: Text<'a>,
    /// Done by a subagent but recorded in its parent's transcript.
    pub sidechain: bool,
    /// Recorded by a run that nobody sat in front of.
    pub headless: bool,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Where it comes from.
    pub origin: &'a Origin<'a>,
    /// What it is.
    pub kind: &'a Kind<'a>,
}

/// What an event is.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// A person said something.
    Prompt(Prompt<'a>),
    /// A person approved a plan, and the client wrote the prompt that carries it out.
    PlanApproval(Body<'a>),
    /// A slash command.
    Command {
        /// Its name with the slash.
        name: Text<'a>,
        /// What was typed behind the name.
        args: Text<'a>,
        /// Where it was recorded.
        via: CommandVia,
    },
    /// A command that the person ran in the agent's shell mode (`!ls`).
    Bang(Text<'a>),
    /// The person stopped the agent.
    Interrupt,
    /// Typed while the agent was busy; may or may not turn up again as a prompt.
    Queued(Text<'a>),
    /// What the client, a hook or a parent agent put into the conversation: reminders, notifications, tasks, echoes.
    ClientText(Body<'a>),
    /// An API message, told again on each of its lines; the last usage of a message id counts.
    Message(Message<'a>),
    /// An API message of a subagent, seen only through its parent's progress records.
    SubagentMessage(Message<'a>),
    /// Prose by the agent.
    Says(Text<'a>),
    /// Reasoning, which may be empty.
    Thinking,
    /// A tool call.
    Call(Call<'a>),
    /// What came of a tool call.
    Outcome(Outcome<'a>),
    /// The context was summarised and begun anew.
    Compaction(Compaction),
    /// The model's service failed.
    ApiError(ApiError<'a>),
    /// The client says how it stands with a goal that was set (`/goal`).
    GoalCheck(GoalCheck<'a>),
    /// The run has used up the turns that it was allowed.
    TurnLimit,
    /// A name for the transcript.
    Title {
        /// The name.
        text: Text<'a>,
        /// Given by a person, not by the agent.
        by_person: bool,
    },
    /// Bookkeeping that says only that something was going on.
    Activity,
    /// A record of a kind we do not know yet.
    Unknown,
    /// Facts, by name, that this recording cannot tell: what it lost is unknown, not none.
    NotRecorded(&'a [&'static str]),
}

impl Kind<'_> {
    /// Whether it tells what was said or done. Most events are bookkeeping, which few look at.
    pub(crate) fn tells(&self) -> bool {
        !matches!(
            self,
            Kind::Message(_)
                | Kind::SubagentMessage(_)
                | Kind::Thinking
                | Kind::ClientText(_)
                | Kind::Title { .. }
                | Kind::Activity
                | Kind::Unknown
                | Kind::NotRecorded(_)
        )
    }
}

/// Words of a person.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// The person's own words, without what the client put in front of them; empty where a picture says it all.
    pub words: &'a str,
    /// The road it took.
    pub via: PromptVia,
    /// Pictures that came along.
    pub images: u32,
}

/// What the client says of a goal. It asks a model before each stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoalCheck<'a> {
    /// The goal was only set, or taken up again: nothing was checked.
    pub set: bool,
    /// The goal is reached.
    pub met: bool,
    /// The client gave it up.
    pub given_up: bool,
    /// What must be true.
    pub condition: Text<'a>,
    /// Why the check says so.
    pub reason: Text<'a>,
}

/// The road a prompt took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptVia {
    /// A record of its own.
    Typed,
    /// Text that rides in one record with a tool's result.
    WithResult,
    /// Typed while the agent worked, delivered as an attachment.
    Queued,
    /// The condition of a `/goal`: what is wanted and what it is measured by.
    Goal,
}

/// Where a slash command was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandVia {
    /// As a user record.
    User,
    /// As a system record.
    System,
}

/// An API message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The message's id.
    pub key: Key,
    /// The model that answered.
    pub model: Text<'a>,
    /// Tokens as reported on this line.
    pub usage: Usage,
    /// The subagent, for [`Kind::SubagentMessage`].
    pub agent: Text<'a>,
}

/// Tokens of one API message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was not cached.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour; the rest is kept for five minutes.
    pub cache_write_1h: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
    /// Answered in the dearer fast mode.
    pub fast: bool,
}

impl Usage {
    /// What the model had in front of it.
    pub fn context(&self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The call's id.
    pub key: Key,
    /// The API message that made it; calls of one message run in parallel.
    pub message: Key,
    /// The tool as the agent names it.
    pub name: Text<'a>,
    /// The tool as we know it.
    pub tool: Tool,
    /// What it was called with.
    pub input: Input<'a>,
}

/// The parts of a call's input that facts look at.
#[derive(Clone, Copy, Default)]
pub struct Input<'a> {
    /// The file or folder.
    pub path: Text<'a>,
    /// The shell command.
    pub command: Text<'a>,
    /// What is searched for or fetched.
    pub pattern: Text<'a>,
    /// The skill or the kind of subagent.
    pub which: Text<'a>,
    /// First line to read.
    pub offset: Option<i64>,
    /// How many lines to read.
    pub limit: Option<i64>,
    /// Everything, as recorded.
    pub whole: &'a [u8],
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Input { path, command, pattern, which, offset, limit, whole } = self;
        let whole = String::from_utf8_lossy(whole);
        f.debug_tuple("Input").field(&(path, command, pattern, which, offset, limit, whole)).finish()
    }
}

/// Tools by what they do. Sources map their agent's names to these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Tool {
    Read,
    Edit,
    Write,
    NotebookEdit,
    Shell,
    Search,
    ListFiles,
    WebFetch,
    WebSearch,
    Subagent,
    Todo,
    Plan,
    Skill,
    AskPerson,
    Other,
}

impl Tool {
    /// Changes a file.
    pub fn edits(self) -> bool {
        matches!(self, Tool::Edit | Tool::Write | Tool::NotebookEdit)
    }

    /// Reads or changes a file.
    pub fn touches(self) -> bool {
        self.edits() || self == Tool::Read
    }

    /// Only looks; several at once cannot get into each other's way.
    pub fn only_reads(self) -> bool {
        matches!(self, Tool::Read | Tool::Search | Tool::ListFiles | Tool::WebFetch | Tool::WebSearch)
    }
}

/// What came of a tool call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome<'a> {
    /// The call's id.
    pub call: Option<Key>,
    /// The tool says it failed.
    pub error: bool,
    /// Whether a person was asked to allow it, where that was recorded.
    pub asked: Option<bool>,
    /// What the model was shown.
    pub body: Body<'a>,
    /// The change to a file.
    pub change: Option<Change<'a>>,
    /// Lines of the file part that was read.
    pub lines_read: Option<u64>,
    /// The subagent that did it.
    pub agent: Text<'a>,
}

/// A change to a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    /// The file.
    pub path: Text<'a>,
    /// Lines of a unified diff, each with its sign.
    pub patch: &'a [Text<'a>],
    /// The whole content, where the file is new.
    pub created: Option<Text<'a>>,
}

/// Why a context was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compaction {
    /// The person asked for it.
    Manual,
    /// The context was full.
    Auto,
}

/// A failure of the model's service.
#[derive(Clone, Copy, Debug)]
pub enum ApiError<'a> {
    /// It was tried again.
    Retry,
    /// The turn ended on it.
    Final(Body<'a>),
}

/// A slash command as it was typed.
pub fn command_line(name: &Text<'_>, args: &Text<'_>) -> String {
    format!("{} {}", name.to_str(), args.to_str()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        for (transcript, line) in [(0, 1), (0, 41), (1, 41), (200, 7), (0, EventId::LAST_LINE)] {
            let id = EventId::of_transcript(transcript, EventId(line));
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for wrong in [
            "",
            "e",
            "41",
            "e0",
            "e041",
            "e-1",
            "e+1",
            "e1.41",
            "e0.41",
            "e2.",
            "e2.0",
            "e1.2.3",
            "E41",
            "e99999999999",
            "e16777216",
            "e999.1",
        ] {
            assert_eq!(wrong.parse::<EventId>(), Err(()), "{wrong}");
        }
    }
}
