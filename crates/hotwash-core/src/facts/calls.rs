//! Brings each tool call together with what came of it, so that no fold has to.
//!
//! A call is counted once however often it is recorded, and its result is the first one recorded, wherever it stands:
//! some transcripts hold the result before the call.

use super::edits::is_source;
use super::text_hash;
use crate::sessions::{Call, EventId, Key, Kind, Outcome, Timestamp, Tool};
use crate::sessions::{Event, Origin};
use crate::shell;
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Inputs are kept to this length for comparing calls with each other.
const INPUT_KEPT: usize = 1000;

/// A map from hashes: they need no hashing again.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<Passthrough>>;
/// A set of hashes.
pub type KeySet<K> = HashSet<K, BuildHasherDefault<Passthrough>>;

/// Takes the last 64-bit number of a key as its hash.
#[derive(Clone, Copy, Default)]
pub struct Passthrough(u64);

impl Hasher for Passthrough {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.0);
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = self.0.rotate_left(5) ^ hash;
    }
}

/// A call that was made, with what later steps need of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenCall {
    /// Where it was made.
    pub id: EventId,
    /// Its id.
    pub key: Key,
    /// The API message that made it.
    pub message: Key,
    /// The tool.
    pub tool: Tool,
    /// The tool as the agent names it.
    pub name: String,
    /// The file, absolute; empty where there is none.
    pub path: String,
    /// What the shell command does.
    pub command: shell::Command,
    /// What is searched for.
    pub pattern: String,
    /// The skill or kind of subagent.
    pub which: String,
    /// First line and number of lines asked for.
    pub range: (Option<i64>, Option<i64>),
    /// The input as recorded, its beginning.
    pub input: Vec<u8>,
    /// When.
    pub at: Option<Timestamp>,
}

impl OpenCall {
    fn new(origin: &Origin<'_>, call: &Call<'_>) -> OpenCall {
        let Call { key, message, name, tool, input } = *call;
        let command = match tool {
            Tool::Shell => shell::Command::read(&input.command.to_str()),
            _ => shell::Command::default(),
        };
        OpenCall {
            id: origin.id,
            key,
            message,
            tool,
            name: name.to_str().into_owned(),
            path: absolute(input.path, origin.cwd),
            command,
            pattern: input.pattern.to_str().into_owned(),
            which: input.which.to_str().into_owned(),
            range: (input.offset, input.limit),
            input: input.whole[..input.whole.len().min(INPUT_KEPT)].to_vec(),
            at: origin.at,
        }
    }

    /// The hash by which its path is compared with others.
    pub(crate) fn path_hash(&self) -> u64 {
        text_hash(&self.path)
    }

    /// Whether its file belongs to the program rather than to its prose.
    pub(super) fn is_source(&self) -> bool {
        is_source(&self.path)
    }
}

/// A call's path, made absolute by the record's working directory.
fn absolute(path: Text<'_>, cwd: Text<'_>) -> String {
    let path = path.to_str();
    let rooted = path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') || path.starts_with("\\\\");
    if rooted || path.is_empty() || cwd.is_empty() {
        return path.into_owned();
    }
    format!("{}/{}", cwd.to_str().trim_end_matches('/'), path.strip_prefix("./").unwrap_or(&path))
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It has a result, and the result is no error.
    Ok,
    /// The tool failed.
    Failed,
    /// The person said no: a decision, not an error.
    Rejected,
    /// Cancelled because a call beside it failed: that one counts.
    Echo,
}

impl Status {
    fn of(outcome: &Outcome<'_>) -> Status {
        const REJECTED: [&str; 2] = ["The user doesn't want to proceed", "The user doesn't want to take this action"];
        const ECHO: [&str; 2] = ["Sibling tool call errored", "Cancelled: parallel tool call"];
        if !outcome.error {
            return Status::Ok;
        }
        let words = outcome.body.head(600);
        let says = |phrases: [&str; 2]| phrases.iter().any(|phrase| words.contains(phrase));
        if words.starts_with("[Request interrupted by user") || says(REJECTED) {
            Status::Rejected
        } else if says(ECHO) {
            Status::Echo
        } else {
            Status::Failed
        }
    }
}

/// Whether the agent waited for a person until a call ended. What it took once it was allowed is not known.
pub fn waited_for_person(call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) -> bool {
    let asks = call.is_some_and(|call| matches!(call.tool, Tool::AskPerson | Tool::Plan));
    asks || outcome.asked.unwrap_or(status == Status::Rejected)
}

/// An event's part in the story of a call.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// It is no call, or one that was told before.
    Aside,
    /// A call is made.
    Called(&'a OpenCall),
    /// A call has ended. Without a call where the transcript holds none.
    Ended {
        /// The call.
        call: Option<&'a OpenCall>,
        /// What came of it; empty where the result was recorded before the call. It is told once without the call then,
        /// and once more when the call comes, at the call's event.
        outcome: &'a Outcome<'a>,
        /// How it ended.
        status: Status,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum State {
    Open(Box<OpenCall>),
    /// A result whose call has not been seen.
    Orphan(Status),
    Ended,
}

/// The calls of a transcript so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Calls {
    states: KeyMap<Key, State>,
}

impl Calls {
    /// Follows the story, telling `tell` each step once.
    pub fn event(&mut self, event: &Event<'_>, mut tell: impl FnMut(&Event<'_>, &Step<'_>)) {
        match &event.kind {
            Kind::Call(call) => {
                let state = self.states.get(&call.key);
                if matches!(state, Some(State::Open(_) | State::Ended)) {
                    return tell(event, &Step::Aside);
                }
                let open = Box::new(OpenCall::new(event.origin, call));
                tell(event, &Step::Called(&open));
                let state = if let Some(&State::Orphan(status)) = state {
                    tell(event, &Step::Ended { call: Some(&open), outcome: &Outcome::default(), status });
                    State::Ended
                } else {
                    State::Open(open)
                };
                self.states.insert(call.key, state);
            }
            Kind::Outcome(outcome) => {
                let status = Status::of(outcome);
                let Some(key) = outcome.call else {
                    return tell(event, &Step::Ended { call: None, outcome, status });
                };
                match self.states.get_mut(&key) {
                    Some(state @ State::Open(_)) => {
                        if let State::Open(call) = std::mem::replace(state, State::Ended) {
                            tell(event, &Step::Ended { call: Some(&call), outcome, status });
                        }
                    }
                    Some(State::Ended | State::Orphan(_)) => tell(event, &Step::Aside),
                    None => {
                        self.states.insert(key, State::Orphan(status));
                        tell(event, &Step::Ended { call: None, outcome, status });
                    }
                }
            }
            _ => tell(event, &Step::Aside),
        }
    }
}
