//! Calls made at once, and calls that could have been.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::value::{Cited, Ratio, facts, ratio};
use crate::sessions::{Event, EventId, Key, Kind, Outcome};
use crate::text::Body;
use serde::{Deserialize, Serialize};

/// How much of a result is kept to look for the next call's input in it.
const RESULT_KEPT: usize = 128 * 1024;

facts! {
    /// Calls made at once.
    pub struct ParallelFacts {
        /// Calls that shared their message with another.
        /// Why: looking at several things at once saves time and turns.
        /// Blind: clients that split parallel calls into messages of their own.
        parallel_calls: Cited,
        /// Read-only calls that followed another one in a message of their own although neither's input occurs in
        /// the other's result.
        /// Why: a chance to look at both at once was missed.
        /// Blind: that the second was thought of only because of what the first did not show.
        missed_parallel: Cited,
        /// Read-only calls that could run at once: those that did and those that missed it.
        /// Why: the denominator of the share below.
        /// Blind: as above.
        independent_calls: u64,
        /// Read-only calls made at once, as a share of those that could have been.
        /// Why: the seed of the parallel bonus.
        /// Blind: as above.
        parallel_share: Ratio,
    }
}

/// The fold behind [`ParallelFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Parallel {
    facts: ParallelFacts,
    /// Read-only calls among the parallel ones.
    reads_at_once: u64,
    /// The message under way: its first call, how many there are, and how many of them are read-only.
    message: Option<Key>,
    first: EventId,
    calls: u64,
    reads: u64,
    /// The read-only call before, once it has ended.
    last: Option<Look>,
    /// The read-only call under way that may turn out to have been independent of `last`.
    now: Option<Look>,
}

/// A read-only call and what it showed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Look {
    id: EventId,
    key: Option<Key>,
    message: Option<Key>,
    /// Empty until it has ended.
    input: String,
    /// The beginning of its result.
    shown: Vec<u8>,
}

impl Fold for Parallel {
    type Facts = ParallelFacts;

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        self.follow(call);
        self.look(call);
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        if let Some(call) = call
            && let Some(look) = self.now.take_if(|look| look.key == Some(call.key))
        {
            self.looked(look, call, &outcome.body, status);
        }
    }

    /// A prompt begins something new; what was looked at before has no bearing on it.
    fn said(&mut self, event: &Event<'_>) {
        if matches!(event.kind, Kind::Prompt(_) | Kind::PlanApproval(_)) {
            self.forget();
        }
    }

    fn finish(&mut self) -> ParallelFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.independent_calls = self.reads_at_once + facts.missed_parallel.count();
        facts.parallel_share = ratio(self.reads_at_once, facts.independent_calls);
        facts
    }
}

impl Parallel {
    /// Counts a call with those of its message.
    fn follow(&mut self, call: &OpenCall) {
        if self.message == Some(call.message) {
            if self.calls == 1 {
                self.facts.parallel_calls.push(self.first);
                self.reads_at_once += self.reads;
            }
            self.facts.parallel_calls.push(call.id);
            self.reads_at_once += u64::from(call.tool.only_reads());
        } else {
            (self.message, self.first) = (Some(call.message), call.id);
            (self.calls, self.reads) = (0, 0);
        }
        self.calls += 1;
        self.reads += u64::from(call.tool.only_reads());
    }

    fn look(&mut self, call: &OpenCall) {
        if !call.tool.only_reads() {
            self.forget();
        } else if self.calls == 1 {
            let (key, message) = (Some(call.key), Some(call.message));
            self.now = Some(Look { id: call.id, key, message, ..Look::default() });
        } else {
            // A batch is already parallel; only single calls are compared with the one before.
            self.forget();
        }
    }

    /// Lets go of the calls that others would be compared with.
    pub(super) fn forget(&mut self) {
        (self.last, self.now) = (None, None);
    }

    /// The read-only call under way has ended.
    fn looked(&mut self, mut look: Look, call: &OpenCall, body: &Body<'_>, status: Status) {
        if status != Status::Ok {
            return self.forget();
        }
        let input = if call.path.is_empty() { &call.pattern } else { &call.path };
        look.shown = beginning(body);
        if let Some(last) = &self.last
            && last.message != look.message
            && !occurs(input, &last.shown)
            && !occurs(&last.input, &look.shown)
        {
            self.facts.missed_parallel.push(look.id);
        }
        look.input.clone_from(input);
        self.last = Some(look);
    }
}

/// The beginning of a result, as recorded.
fn beginning(body: &Body<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in body.parts() {
        let part = part.raw();
        bytes.extend_from_slice(&part[..part.len().min(RESULT_KEPT - bytes.len())]);
    }
    bytes
}

/// Whether a result mentions an input. A path counts as mentioned by its file name: tools print paths in many forms.
fn occurs(input: &str, shown: &[u8]) -> bool {
    let name = input.rsplit(['/', '\\']).find(|part| part.len() >= 3).unwrap_or(input);
    name.len() < 3 || memchr::memmem::find(shown, name.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;

    #[test]
    fn independent_looks_in_separate_messages_are_chances_missed() {
        let facts = facts_of(
            "
            e1 Read  src/alpha.rs
            e2 ok    fn alpha()
            e3 Read  src/beta.rs
            e4 ok    fn beta()
        ",
        );
        assert_eq!(facts.parallel.missed_parallel.count(), 1);
    }

    #[test]
    fn a_look_that_the_first_one_pointed_at_is_no_chance() {
        let facts = facts_of(
            "
            e1 Grep  beta
            e2 ok    src/beta.rs:3
            e3 Read  src/beta.rs
            e4 ok    fn beta()
        ",
        );
        assert!(facts.parallel.missed_parallel.is_empty());
    }

    #[test]
    fn nothing_of_a_look_is_left_after_something_else_was_done() {
        let facts = facts_of(
            "
            e1 Grep  alphabet
            e2 ok    x
            e3 Bash  make
            e4 ok
            e5 Grep  beta
            e6 ok    nothing
            e7 Read  src/gamma.rs
            e8 ok    beta
        ",
        );
        assert_eq!(facts.parallel.missed_parallel.0, []);
    }

    #[test]
    fn calls_of_one_message_are_parallel() {
        let facts = facts_of(
            "
            e1 Read  src/alpha.rs
            e2 &Read src/beta.rs
            e3 &Bash ls
            e4 ok
        ",
        );
        assert_eq!(facts.parallel.parallel_calls.count(), 3);
        assert_eq!(facts.parallel.parallel_share, Some(1.0));
    }

    #[test]
    fn no_look_no_share() {
        assert_eq!(facts_of("e1 user hello").parallel.parallel_share, None);
    }
}
