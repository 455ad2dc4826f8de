//! Brings each tool call together with what came of it, so that no fold has to.
//!
//! A call is counted once however often it is recorded, and its result is the first one recorded, wherever it stands:
//! some transcripts hold the result before the call.

use super::edits::is_source;
use super::text_hash;
use super::verification::Results;
use crate::rework::Lines;
use crate::sessions::{Call, EventId, Key, Kind, Outcome, Timestamp, Tool};
use crate::sessions::{Event, Origin};
use crate::shell;
use crate::text::Text;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::LazyLock;

/// Inputs are kept to this length for comparing calls with each other.
const INPUT_KEPT: usize = 1000;

/// So many calls that have ended are kept for their room, if it is no more than this in each.
const SPARE_CALLS: usize = 8;
const SPARE_BYTES: usize = 16 * 1024;

/// A map from hashes: they need no hashing again.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<Passthrough>>;
/// A set of hashes.
pub type KeySet<K> = HashSet<K, BuildHasherDefault<Passthrough>>;

/// Room for the calls, messages and files of most sessions. A map that grows step by step moves all it holds each time.
pub(super) const USUAL_CALLS: usize = 56;
pub(crate) const USUAL_FILES: usize = 14;

/// Gives a map room where it has none yet.
pub(super) fn roomy<K: Eq + Hash, V>(map: &mut KeyMap<K, V>, room: usize) -> &mut KeyMap<K, V> {
    if map.capacity() == 0 {
        map.reserve(room);
    }
    map
}

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
    /// What its runs came to: read off the output once, however many ledgers follow the call.
    #[serde(skip)]
    pub(super) results: OnceCell<Results>,
    /// The lines of its change, as above.
    #[serde(skip)]
    pub(super) lines: OnceCell<Lines>,
    #[serde(skip)]
    path_hash: OnceCell<u64>,
    #[serde(skip)]
    is_source: OnceCell<bool>,
}

impl OpenCall {
    /// Nobody's call.
    fn blank() -> OpenCall {
        OpenCall {
            id: EventId::default(),
            key: Key(0),
            message: Key(0),
            tool: Tool::Other,
            name: String::new(),
            path: String::new(),
            command: shell::Command::default(),
            pattern: String::new(),
            which: String::new(),
            range: (None, None),
            input: Vec::with_capacity(INPUT_KEPT),
            at: None,
            results: OnceCell::new(),
            lines: OnceCell::new(),
            path_hash: OnceCell::new(),
            is_source: OnceCell::new(),
        }
    }

    /// The hash by which its path is compared with others: worked out once for all who ask.
    pub(crate) fn path_hash(&self) -> u64 {
        *self.path_hash.get_or_init(|| text_hash(&self.path))
    }

    /// Whether its file belongs to the program rather than to its prose, as above.
    pub(super) fn is_source(&self) -> bool {
        *self.is_source.get_or_init(|| is_source(&self.path))
    }

    /// Becomes another call, in the room of the one that it was.
    fn becomes(&mut self, origin: &Origin<'_>, call: &Call<'_>) {
        let OpenCall { id, key, message, tool, name, path, command, pattern, which, range, input, at, .. } = self;
        (*id, *at) = (origin.id, origin.at);
        (*key, *message, *tool) = (call.key, call.message, call.tool);
        set(name, call.name);
        set_path(path, origin, call);
        match call.tool {
            Tool::Shell => command.becomes(&call.input.command.to_str()),
            _ => command.clear(),
        }
        set(pattern, call.input.pattern);
        set(which, call.input.which);
        *range = (call.input.offset, call.input.limit);
        input.clear();
        input.extend_from_slice(&call.input.whole[..call.input.whole.len().min(INPUT_KEPT)]);
        self.forget();
        if call.tool.touches() {
            self.path_hash = text_hash(&self.path).into();
        }
    }

    /// Lets go of what was worked out of it, which may be much larger than the call.
    fn forget(&mut self) {
        // Taken, where they are there: writing something empty over them costs more.
        let _ = (self.results.take(), self.lines.take());
        let _ = (self.path_hash.take(), self.is_source.take());
    }

    fn room(&self) -> usize {
        let OpenCall { name, path, command, pattern, which, input, .. } = self;
        [name, path, &command.text, pattern, which].map(String::capacity).iter().sum::<usize>() + input.capacity()
    }
}

fn set(kept: &mut String, text: Text<'_>) {
    kept.clear();
    if !text.is_empty() {
        kept.push_str(&text.to_str());
    }
}

/// Keeps the call's path, made absolute by the record's working directory.
fn set_path(kept: &mut String, origin: &Origin<'_>, call: &Call<'_>) {
    set(kept, call.input.path);
    let bytes = kept.as_bytes();
    let rooted = bytes.first() == Some(&b'/') || bytes.get(1) == Some(&b':') || kept.starts_with("\\\\");
    if !rooted && !kept.is_empty() && !origin.cwd.is_empty() {
        let path = kept.strip_prefix("./").unwrap_or(kept);
        *kept = format!("{}/{path}", origin.cwd.to_str().trim_end_matches('/'));
    }
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
        static REJECTED: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| {
            ["The user doesn't want to proceed", "The user doesn't want to take this action"].map(Finder::new)
        });
        static ECHO: LazyLock<[Finder<'static>; 2]> =
            LazyLock::new(|| ["Sibling tool call errored", "Cancelled: parallel tool call"].map(Finder::new));
        if !outcome.error {
            return Status::Ok;
        }
        let words = outcome.body.head(600);
        let says = |phrases: &[Finder<'_>]| phrases.iter().any(|phrase| phrase.find(words.as_bytes()).is_some());
        if words.starts_with("[Request interrupted by user") || says(&*REJECTED) {
            Status::Rejected
        } else if says(&*ECHO) {
            Status::Echo
        } else {
            Status::Failed
        }
    }
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
        /// What came of it; empty where the result was recorded before the call.
        outcome: &'a Outcome<'a>,
        /// How it ended.
        status: Status,
    },
}

/// In whole words: a map is filled with thousands of them, and what is copied byte by byte the processor has to wait for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(u64)]
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

thread_local! {
    /// Calls that have ended: there is room in them for those to come, of whatever transcript.
    #[expect(clippy::vec_box, reason = "they go back and forth between here and their states, and are large")]
    static SPARE: RefCell<Vec<Box<OpenCall>>> = const { RefCell::new(Vec::new()) };
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
                let mut open = SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Box::new(OpenCall::blank()));
                open.becomes(event.origin, call);
                tell(event, &Step::Called(&open));
                let state = if let Some(&State::Orphan(status)) = state {
                    tell(event, &Step::Ended { call: Some(&open), outcome: &Outcome::default(), status });
                    spare(open);
                    State::Ended
                } else {
                    State::Open(open)
                };
                roomy(&mut self.states, USUAL_CALLS).insert(call.key, state);
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
                            spare(call);
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

/// Keeps the room of a call that has ended, unless there is enough of it.
fn spare(mut call: Box<OpenCall>) {
    call.forget();
    if call.room() <= SPARE_BYTES {
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < SPARE_CALLS {
                spare.push(call);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::Input;

    #[test]
    fn nothing_of_an_ended_call_is_left_in_the_next() {
        let text = Text::plain;
        let inputs = [
            (Tool::Shell, Input { command: text("cargo test && git commit -m x"), ..Input::default() }),
            (Tool::Read, Input { path: text("src/a.rs"), offset: Some(3), limit: Some(9), ..Input::default() }),
            (
                Tool::Search,
                Input { pattern: text("needle"), path: text("/"), whole: b"{\"pattern\"}", ..Input::default() },
            ),
            (Tool::Skill, Input { which: text("deploy"), ..Input::default() }),
            (Tool::Other, Input::default()),
        ];
        let calls: Vec<Call<'_>> = (1..)
            .zip(inputs)
            .map(|(n, (tool, input))| Call { key: Key(n), message: Key(n + 9), name: text("some"), tool, input })
            .collect();
        let origins =
            [Origin { cwd: text("/home/ana"), at: Some(Timestamp(7)), ..Origin::default() }, Origin::default()];
        let becomes = |open: &mut OpenCall, at: usize| open.becomes(&origins[at % 2], &calls[at]);
        for (first, second) in (0..calls.len()).flat_map(|first| (0..calls.len()).map(move |second| (first, second))) {
            let (mut used, mut fresh) = (OpenCall::blank(), OpenCall::blank());
            becomes(&mut used, first);
            used.results.get_or_init(Results::default);
            becomes(&mut used, second);
            becomes(&mut fresh, second);
            assert_eq!(format!("{used:?}"), format!("{fresh:?}"));
        }
    }
}
