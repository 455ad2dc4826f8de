//! Calls made at once, and calls that could have been.

use super::Fold;
use super::calls::{OpenCall, Status, Step};
use super::value::{Cited, Ratio, facts, ratio};
use crate::sessions::{Event, EventId, Key, Kind};
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
    /// The message under way: its calls, and whether they are all read-only.
    message: Option<Key>,
    calls: Vec<EventId>,
    reads: u64,
    /// The read-only call before, once it has ended.
    last: Option<Look>,
    /// The read-only call under way that may turn out to have been independent of `last`.
    now: Option<Look>,
    /// Room for what the next one shows, from one before.
    #[serde(skip)]
    room: Vec<u8>,
}

/// A read-only call and what it showed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Look {
    id: EventId,
    key: Option<Key>,
    message: Option<Key>,
    input: Box<str>,
    shown: Vec<u8>,
}

impl Fold for Parallel {
    type Facts = ParallelFacts;

    fn event(&mut self, event: &Event<'_>, step: &Step<'_>) {
        match step {
            Step::Called(call) => self.called(call),
            Step::Ended { call: Some(call), outcome, status } => {
                let Some(mut look) = self.now.take_if(|look| look.key == Some(call.key)) else {
                    return;
                };
                if *status != Status::Ok {
                    self.forget_last();
                    return;
                }
                look.shown = std::mem::take(&mut self.room);
                let needed = outcome.body.len().min(RESULT_KEPT);
                if look.shown.capacity() < needed {
                    look.shown = Vec::with_capacity(needed.next_power_of_two());
                }
                for part in outcome.body.parts() {
                    let room = RESULT_KEPT - look.shown.len();
                    look.shown.extend_from_slice(&part.raw()[..part.raw().len().min(room)]);
                }
                if let Some(last) = &self.last
                    && last.message != look.message
                    && !occurs(&look.input, &last.shown)
                    && !occurs(&last.input, &look.shown)
                {
                    self.facts.missed_parallel.push(look.id);
                }
                self.forget_last();
                self.last = Some(look);
            }
            // A prompt begins something new; what was looked at before has no bearing on it.
            Step::Aside if matches!(event.kind, Kind::Prompt(_) | Kind::PlanApproval(_)) => {
                self.forget_last();
                self.now = None;
            }
            Step::Ended { .. } | Step::Aside => {}
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
    /// Lets go of what only a next call would be compared with.
    pub(super) fn end(&mut self) {
        (self.last, self.now, self.room) = Default::default();
    }

    fn forget_last(&mut self) {
        if let Some(last) = self.last.take() {
            self.room = last.shown;
            self.room.clear();
        }
    }

    fn called(&mut self, call: &OpenCall) {
        if self.message == Some(call.message) {
            if self.calls.len() == 1 {
                self.facts.parallel_calls.push(self.calls[0]);
                self.reads_at_once += self.reads;
            }
            self.facts.parallel_calls.push(call.id);
            self.reads_at_once += u64::from(call.tool.only_reads());
        } else {
            self.message = Some(call.message);
            self.calls.clear();
            self.reads = 0;
        }
        self.calls.push(call.id);
        self.reads += u64::from(call.tool.only_reads());

        if !call.tool.only_reads() {
            self.forget_last();
            self.now = None;
        } else if self.calls.len() == 1 {
            let input = if call.path.is_empty() { &call.pattern } else { &call.path };
            self.now = Some(Look {
                id: call.id,
                key: Some(call.key),
                message: Some(call.message),
                input: input.as_str().into(),
                shown: Vec::new(),
            });
        } else {
            // A batch is already parallel; only single calls are compared with the one before.
            self.forget_last();
            self.now = None;
        }
    }
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
