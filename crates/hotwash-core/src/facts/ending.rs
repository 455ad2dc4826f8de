//! How it ended: on a failure of the service, on a call that never came back, on errors that nothing followed up.
//!
//! "At the end" is a matter of order, which counts do not keep, so it is established here.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::value::{Cited, facts};
use super::word::Own;
use crate::sessions::{ApiError, Event, EventId, Events, Key, Kind, Outcome, Tool};
use crate::text::Text;
use serde::{Deserialize, Serialize};

facts! {
    /// How it ended.
    pub struct EndingFacts {
        /// A request that failed for good, with no word, call or prompt after it.
        /// Why: the work stopped there, whatever had been done before.
        /// Blind: whether somebody took it up in another session.
        ended_on_api_error: Cited,
        /// The turns that the run was allowed were used up, with no word, call or prompt after it.
        /// Why: the work stopped there, whatever had been done before.
        /// Blind: whether somebody took it up in another session.
        ended_on_turn_limit: Cited,
        /// Calls of the last message that have no result, with no word or prompt after them. Calls that wait for the
        /// person's answer (a question, a plan to approve) are left out.
        /// Why: the session was ended in the middle of the work.
        /// Blind: a session that is still running looks the same; so does one that waits for a permission.
        ended_on_open_calls: Cited,
        /// Those of them that commit or push.
        /// Why: the work itself was over; some tools record a transcript while they commit.
        /// Blind: as above.
        ended_on_open_commit: Cited,
        /// Those of them that may take long: a subagent, a tool that we do not know, a shell command that does more than
        /// read.
        /// Why: a recording that was taken while they ran looks the same as one that broke off.
        /// Blind: how long they ran.
        ended_on_open_long: Cited,
        /// Tool errors after which no tool call worked.
        /// Why: nothing that was done afterwards can have resolved them.
        /// Blind: an error that was passed over while other calls went on.
        unresolved_errors: Cited,
        /// A tool's result with no word of the agent, no call and no prompt after it.
        /// Why: the run was ended in the middle of the work: by a limit, or from outside.
        /// Blind: a session that is still running looks the same.
        ended_without_answer: Cited,
        /// The person stopped the agent or turned a call down, and nobody said anything afterwards.
        /// Why: why it stands where it stands; not a failure by itself.
        /// Blind: whether the work went on elsewhere.
        ended_on_interrupt: Cited,
        /// The agent's last words, where nothing came after them.
        /// Why: the result was communicated.
        /// Blind: whether it is the right result.
        last_answer: Cited,
        /// The phrase with which the last words claim success.
        /// Why: a claim without a green run behind it is not backed.
        /// Blind: claims in other words, and what stands beyond the first 2,000 bytes.
        closing_claim: Option<Own>,
        /// The phrase with which the last words say that what is red is not the work's fault, or that nothing was due.
        /// Why: then a red run at the end is no hard evidence.
        /// Blind: as above.
        closing_excuse: Option<Own>,
        /// The phrase with which the last words say that it is not done.
        /// Why: an agent that says so is usually right.
        /// Blind: as above.
        closing_admission: Option<Own>,
        /// The last words end with a question, or a question or a plan waits for the person.
        /// Why: the work waits; it did not fail.
        /// Blind: questions in the middle of the last words.
        ended_on_question: bool,
        /// The last words are longer than what is looked at.
        /// Why: what they say of the result may stand in the rest.
        /// Blind: nothing known.
        closing_cut: bool,
        /// The last words are data: an object or a list in JSON.
        /// Why: a run that answers so was asked for an answer, not for a change.
        /// Blind: data with prose around it, and other formats.
        closing_data: bool,
    }
}

/// The fold behind [`EndingFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ending {
    api_error: Option<EventId>,
    turn_limit: Option<EventId>,
    /// The message under way and its calls without a result.
    message: Option<Key>,
    open: Vec<(Key, EventId)>,
    /// Those of them that commit.
    commits: Events,
    /// Those of them that may take long.
    long: Events,
    errors: Events,
    stands: Stands,
    /// A question or a plan waits for the person.
    waits: bool,
}

/// What came last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stands {
    #[default]
    Open,
    Unanswered(EventId),
    Interrupted(EventId),
    Answered(EventId),
}

impl Fold for Ending {
    type Facts = EndingFacts;

    fn called(&mut self, event: &Event<'_>, call: &OpenCall) {
        self.goes_on(event.origin.id);
        if event.origin.sidechain {
            return;
        }
        let asks = matches!(call.tool, Tool::AskPerson | Tool::Plan);
        (self.stands, self.waits) = (Stands::Open, asks);
        // What an earlier message left open was lost, not waited for: the agent went on.
        if self.message != Some(call.message) {
            self.message = Some(call.message);
            self.open.clear();
            self.commits.clear();
            self.long.clear();
        }
        if call.command.commits {
            self.commits.push(call.id);
        } else if may_take_long(call) {
            self.long.push(call.id);
        }
        if !asks {
            self.open.push((call.key, call.id));
        }
    }

    fn ended(&mut self, event: &Event<'_>, call: Option<&OpenCall>, _: &Outcome<'_>, status: Status) {
        let id = event.origin.id;
        if !event.origin.sidechain {
            self.stands = if status == Status::Rejected { Stands::Interrupted(id) } else { Stands::Unanswered(id) };
            self.waits = false;
        }
        self.goes_on(id);
        if let Some(call) = call {
            self.open.retain(|(key, _)| *key != call.key);
        }
        match status {
            Status::Ok => self.errors.clear(),
            // One whose call comes later was counted when it came alone.
            Status::Failed if !matches!(event.kind, Kind::Call(_)) => self.errors.push(id),
            Status::Failed | Status::Rejected | Status::Echo => {}
        }
    }

    fn said(&mut self, event: &Event<'_>) {
        let id = event.origin.id;
        if !event.origin.sidechain {
            self.comes_last(event);
        }
        match &event.kind {
            Kind::ApiError(ApiError::Final(_)) => self.api_error = Some(id),
            Kind::TurnLimit => self.turn_limit = Some(id),
            Kind::Prompt(_) | Kind::PlanApproval(_) | Kind::Interrupt => {
                self.goes_on(id);
                self.open.clear();
            }
            Kind::Says(text) if !event.origin.sidechain && !text.is_empty() => {
                self.goes_on(id);
                self.open.clear();
            }
            _ => {}
        }
    }

    fn finish(&mut self) -> EndingFacts {
        let open =
            |among: &Events| Cited(self.open.iter().map(|(_, id)| *id).filter(|id| among.contains(id)).collect());
        EndingFacts {
            ended_on_api_error: Cited(self.api_error.into_iter().collect()),
            ended_on_turn_limit: Cited(self.turn_limit.into_iter().collect()),
            ended_on_open_calls: Cited(self.open.iter().map(|(_, id)| *id).collect()),
            ended_on_open_commit: open(&self.commits),
            ended_on_open_long: open(&self.long),
            unresolved_errors: Cited(std::mem::take(&mut self.errors)),
            ended_without_answer: self.stands_so(|stands| matches!(stands, Stands::Unanswered(_))),
            ended_on_interrupt: self.stands_so(|stands| matches!(stands, Stands::Interrupted(_))),
            last_answer: self.stands_so(|stands| matches!(stands, Stands::Answered(_))),
            ended_on_question: self.waits,
            ..EndingFacts::default()
        }
    }
}

impl Ending {
    fn comes_last(&mut self, event: &Event<'_>) {
        let id = event.origin.id;
        let stands = match &event.kind {
            Kind::Interrupt => Stands::Interrupted(id),
            Kind::Says(text) if says_something(*text) => Stands::Answered(id),
            Kind::Prompt(_) | Kind::PlanApproval(_) | Kind::ApiError(ApiError::Final(_)) => Stands::Open,
            _ => return,
        };
        self.waits &= stands == Stands::Open && !matches!(event.kind, Kind::Prompt(_) | Kind::PlanApproval(_));
        self.stands = stands;
    }

    fn stands_so(&self, wanted: fn(&Stands) -> bool) -> Cited {
        match self.stands {
            Stands::Unanswered(id) | Stands::Interrupted(id) | Stands::Answered(id) if wanted(&self.stands) => {
                Cited(vec![id])
            }
            _ => Cited::default(),
        }
    }

    /// The record of an API error may hold prose of its own, which has the same id.
    fn goes_on(&mut self, id: EventId) {
        if self.api_error.is_some_and(|error| error != id) {
            self.api_error = None;
        }
        self.turn_limit = None;
    }
}

/// Whether a call may well be under way still when a transcript is recorded.
fn may_take_long(call: &OpenCall) -> bool {
    match call.tool {
        Tool::Subagent | Tool::Other => true,
        Tool::Shell => !call.command.course.quick,
        _ => false,
    }
}

/// Whether a text does not begin with blanks alone.
fn says_something(text: Text<'_>) -> bool {
    !text.head(64).trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::Cited;
    use crate::facts::testing::facts_of;
    use crate::sessions::EventId;

    #[test]
    fn an_open_call_counts_at_the_end_only() {
        for (story, open) in [
            ("e1 Bash  make\n e2 ok", vec![]),
            ("e1 Bash  make", vec![1]),
            ("e1 Bash  make\n e2 &Read a.rs", vec![1, 2]),
            ("e1 Bash  make\n e2 &Read a.rs\n e3 ok", vec![2]),
            ("e1 Bash  make\n e2 says  That takes too long.", vec![]),
            ("e1 Bash  make\n e2 user  and?", vec![]),
            ("e1 Bash  make\n e2 interrupt", vec![]),
            ("e1 Bash  make\n e2 Read  a.rs", vec![2]),
        ] {
            let facts = facts_of(story).ending;
            let open: Vec<EventId> = open.into_iter().map(EventId).collect();
            assert_eq!(facts.ended_on_open_calls.0, open, "{story}");
        }
    }

    #[test]
    fn an_open_call_that_may_take_long_is_told_apart() {
        for (call, long) in [
            ("Task  look for it", 1),
            ("Tool  browse", 1),
            ("Bash  cargo test", 1),
            ("Bash  python train.py", 1),
            ("Bash  tail -f log", 1),
            ("Bash  git status", 0),
            ("Read  a.rs", 0),
            ("Edit  a.rs -a +b", 0),
        ] {
            let facts = facts_of(&format!("e1 {call}")).ending;
            assert_eq!((facts.ended_on_open_calls.count(), facts.ended_on_open_long.count()), (1, long), "{call}");
        }
    }

    #[test]
    fn an_api_error_counts_at_the_end_only() {
        for (story, ended) in [
            ("e1 user  go\n e2 overloaded", true),
            ("e1 user  go\n e2 overloaded\n e2 says  API Error: 529", true),
            ("e1 user  go\n e2 overloaded\n e3 user  go on", false),
            ("e1 user  go\n e2 overloaded\n e3 Bash  make", false),
            ("e1 user  go\n e2 overloaded\n e3 says  Here it is.", false),
        ] {
            assert_eq!(facts_of(story).ending.ended_on_api_error.count() == 1, ended, "{story}");
        }
    }

    #[test]
    fn what_came_last_is_told_apart() {
        for (story, [unanswered, interrupted, answered]) in [
            ("e1 user  go\n e2 Bash  make\n e3 ok", [1, 0, 0]),
            ("e1 user  go\n e2 Bash  make\n e3 error", [1, 0, 0]),
            ("e1 user  go\n e2 Bash  make\n e3 ok\n e4 says  Done.", [0, 0, 1]),
            ("e1 user  go\n e2 Bash  make\n e3 ok\n e4 interrupt", [0, 1, 0]),
            ("e1 user  go\n e2 Bash  make\n e3 error The user doesn't want to proceed", [0, 1, 0]),
            ("e1 user  go\n e2 Bash  make\n e3 ok\n e4 user  and?", [0, 0, 0]),
            ("e1 user  go\n e2 Bash  make\n e3 ok\n e4 overloaded", [0, 0, 0]),
        ] {
            let ending = facts_of(story).ending;
            let ended = [&ending.ended_without_answer, &ending.ended_on_interrupt, &ending.last_answer];
            assert_eq!(ended.map(Cited::count), [unanswered, interrupted, answered], "{story}");
        }
    }

    #[test]
    fn a_question_or_a_plan_waits_for_the_person() {
        for (story, waits) in [
            ("e1 user  go\n e2 says  Which one?", true),
            ("e1 user  go\n e2 says  That one.", false),
            ("e1 user  go\n e2 Ask  which one", true),
            ("e1 user  go\n e2 Ask  which one\n e3 ok\n e4 says  Done.", false),
            ("e1 user  go\n e2 Plan  do it", true),
            ("e1 user  go\n e2 Plan  do it\n e3 user  no", false),
        ] {
            assert_eq!(facts_of(story).ending.ended_on_question, waits, "{story}");
        }
    }

    #[test]
    fn an_error_is_unresolved_while_no_call_works_after_it() {
        let errors = "e1 Bash  make\n e2 error no rule\n e3 Read  Makefile\n e4 error no such file";
        assert_eq!(facts_of(errors).ending.unresolved_errors.0, [EventId(2), EventId(4)]);
        let resolved = format!("{errors}\n e5 Bash  ls\n e6 ok");
        assert!(facts_of(&resolved).ending.unresolved_errors.is_empty());
    }
}
