//! What a goal is judged by, beside words: whether anything was changed, planned first, tried over and over.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::value::{Change, Cited, FactValue, Form, facts, stored};
use super::word::Outside;
use crate::sessions::{Event, EventId, GoalCheck, Kind, Outcome, PromptVia, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// So many changes of one file may be tries at the same fix.
pub(super) const TRIES: usize = 3;

/// Events that belong together, list by list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CitedLists(pub Vec<Vec<EventId>>);

impl Form for CitedLists {
    const FORM: &'static str = "count of lists of events";
}

impl FactValue for CitedLists {
    fn json(&self) -> Value {
        Value::from(self.0.len())
    }
    fn stored(&self) -> Value {
        stored(self)
    }
    fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
    fn outside(&mut self, _: &mut Change<'_>) {}
}

facts! {
    /// What the goal is judged by.
    pub struct GoalFacts {
        /// Edits, writes and notebook edits that were tried.
        /// Why: tells changes by a file tool from those through the shell.
        /// Blind: nothing known.
        edit_calls_tried: u64,
        /// The last change of a source file.
        /// Why: only a run after it says anything about the work as it stands.
        /// Blind: changes made through the shell.
        last_source_edit: Cited,
        /// The last shell command that worked.
        /// Why: what was asked for before it may have been done there.
        /// Blind: whether it was.
        last_command: Cited,
        /// The last shell command that worked and committed, pushed, merged, released or published, with all checks.
        /// Why: what went wrong before it did not keep the work from being handed over.
        /// Blind: whether it was what was asked for; what is handed over by other means.
        handed_over: Cited,
        /// The last check of the goal that the person set, where the client said that it is reached.
        /// Why: somebody who looked says so, if only at the conversation: more than a claim, less than a person or a run.
        /// Blind: a model said it, and saw only what the agent told.
        goal_met: Cited,
        /// The last check of it, where the client said that it is not reached, or gave it up.
        /// Why: what the person measures the work by does not hold.
        /// Blind: as above.
        goal_unmet: Cited,
        /// All checks that said so.
        /// Why: each is a try that did not do.
        /// Blind: as above.
        goal_tries: Cited,
        /// What the last check said in its words.
        /// Why: the client's own reason.
        /// Blind: as above.
        goal_reason: Option<Outside>,
        /// The client gave the goal up.
        /// Why: it said that the goal cannot be reached.
        /// Blind: as above.
        goal_given_up: bool,
        /// The first call before any edit that may have changed something by other means: a shell command that does
        /// more than read and check, a subagent, a tool that we do not know, a person's own command.
        /// Why: where there is none and no edit, nothing was changed.
        /// Blind: whether it did change something.
        changed_by_other_means: Cited,
        /// Files that were changed three times or more, with the changes.
        /// Why: many tries on one file may be a loop.
        /// Blind: changes made through the shell.
        repeated_edits: CitedLists,
        /// Calls of a planning tool before the first change.
        /// Why: a plan before the action.
        /// Blind: plans made in prose.
        planned_before_change: Cited,
        /// Plans of the agent that the person approved in the session.
        /// Why: a plan is accepted so.
        /// Blind: plans told in prose.
        plans_approved: Cited,
        /// A shell command that ended with a stack trace or an error message, with no change and no command that
        /// worked after it.
        /// Why: what was tried last did not run.
        /// Blind: failures whose exit code is masked.
        ended_on_crash: Cited,
    }
}

/// The fold behind [`GoalFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Goal {
    facts: GoalFacts,
    /// Edits with the hashes of their files.
    edits: Vec<(u64, EventId)>,
    crash: Option<EventId>,
    last_command: Option<EventId>,
    handed_over: Option<EventId>,
    changed: bool,
    /// What the person set as the goal, until they take it back.
    condition: Option<String>,
}

impl Fold for Goal {
    type Facts = GoalFacts;

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        match call.tool {
            tool if tool.edits() => self.facts.edit_calls_tried += 1,
            Tool::Todo | Tool::Plan if !self.changed => self.facts.planned_before_change.push(call.id),
            Tool::Subagent | Tool::Other => self.may_change(call.id),
            _ => {}
        }
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        let Some(call) = call else { return };
        match (status, call.tool) {
            (Status::Ok, tool) if tool.edits() => self.edited(call),
            (Status::Ok, Tool::Shell) => {
                self.crash = None;
                self.last_command = Some(call.id);
                if call.command.course.delivers {
                    self.handed_over = Some(call.id);
                }
                self.ran(call);
            }
            (Status::Failed, Tool::Shell) => {
                if crashed(&outcome.body.tail(800)) {
                    self.crash = Some(call.id);
                }
                self.ran(call);
            }
            (Status::Ok, Tool::Plan) if outcome.body.head(200).contains("has approved") => {
                self.facts.plans_approved.push(call.id);
            }
            _ => {}
        }
    }

    fn said(&mut self, event: &Event<'_>) {
        let id = event.origin.id;
        match event.kind {
            Kind::Bang(_) => self.may_change(id),
            Kind::Prompt(prompt) if prompt.via == PromptVia::Goal => {
                self.forget_goal();
                self.condition = Some(prompt.words.to_owned());
            }
            // What was reached stays so.
            Kind::Command { name, args, .. }
                if name.is("/goal") && args.is("clear") && self.facts.goal_met.is_empty() =>
            {
                self.forget_goal();
            }
            Kind::GoalCheck(check) => self.check(id, check),
            _ => {}
        }
    }

    fn finish(&mut self) -> GoalFacts {
        let mut facts = std::mem::take(&mut self.facts);
        // By file, and in their order within it.
        self.edits.sort_by_key(|(file, _)| *file);
        let by_file = self.edits.chunk_by(|(one, _), (other, _)| one == other);
        let tried = by_file.filter(|edits| edits.len() >= TRIES);
        facts.repeated_edits.0 = tried.map(|edits| edits.iter().map(|(_, id)| *id).collect()).collect();
        facts.repeated_edits.0.sort_unstable();
        facts.last_command = Cited(self.last_command.into_iter().collect());
        facts.handed_over = Cited(self.handed_over.into_iter().collect());
        facts.ended_on_crash = Cited(self.crash.into_iter().collect());
        facts
    }
}

impl Goal {
    fn forget_goal(&mut self) {
        let GoalFacts { goal_met, goal_unmet, goal_tries, goal_reason, goal_given_up, .. } = &mut self.facts;
        for events in [goal_met, goal_unmet, goal_tries] {
            *events = Cited::default();
        }
        (*goal_reason, *goal_given_up) = (None, false);
        self.condition = None;
    }

    /// A goal that the person did not set proves nothing.
    fn check(&mut self, id: EventId, check: &GoalCheck<'_>) {
        if check.set || self.condition.as_deref().is_none_or(|goal| goal.trim() != check.condition.to_str().trim()) {
            return;
        }
        let facts = &mut self.facts;
        let (now, before) = if check.met {
            (&mut facts.goal_met, &mut facts.goal_unmet)
        } else {
            facts.goal_tries.push(id);
            (&mut facts.goal_unmet, &mut facts.goal_met)
        };
        (*now, *before) = (Cited(vec![id]), Cited::default());
        let reason = check.reason.to_str().trim().to_owned();
        facts.goal_reason = Some(reason).filter(|reason| !reason.is_empty()).map(Outside::from);
        facts.goal_given_up = check.given_up;
    }

    fn edited(&mut self, call: &OpenCall) {
        self.changed = true;
        self.crash = None;
        self.edits.push((call.path_hash(), call.id));
        if call.is_source() {
            let Cited(last) = &mut self.facts.last_source_edit;
            last.clear();
            last.push(call.id);
        }
    }

    /// Commands are looked at until the first that may have changed something: one is enough.
    fn ran(&mut self, call: &OpenCall) {
        if self.unchanged() && call.command.runs.is_empty() && !call.command.read_only {
            self.may_change(call.id);
        }
    }

    fn may_change(&mut self, id: EventId) {
        if self.unchanged() {
            self.facts.changed_by_other_means.push(id);
        }
    }

    fn unchanged(&self) -> bool {
        !self.changed && self.facts.changed_by_other_means.is_empty()
    }
}

/// Whether output ends in a stack trace or an error message. A search that finds nothing fails without one.
fn crashed(output: &str) -> bool {
    const MARKS: [&str; 4] = ["Traceback (most recent call last)", "panicked at", "Exception in thread", "goroutine "];
    // `TypeError: …`, `errors.Error: …` at the beginning of a line.
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let error = |line: &str| {
        line.match_indices("Error: ").any(|(at, _)| line.get(..at).is_some_and(|it| it.chars().all(named)))
    };
    MARKS.iter().any(|mark| output.contains(mark)) || output.split('\n').any(error)
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;
    use crate::sessions::EventId;

    #[test]
    fn reading_and_checking_change_nothing_and_the_rest_may() {
        for (story, by) in [
            ("e1 Bash  grep -r foo src\n e2 ok", None),
            ("e1 Bash  cargo test\n e2 ok", None),
            ("e1 Read  a.rs\n e2 ok", None),
            ("e1 Bash  sed -i s/a/b/ a.rs\n e2 ok", Some(1)),
            ("e1 Bash  git checkout main\n e2 ok", Some(1)),
            ("e1 Bash  ls\n e2 ok\n e3 Bash  python gen.py\n e4 ok\n e5 Bash  ./x\n e6 ok", Some(3)),
            ("e1 Task  write it", Some(1)),
            ("e1 Tool  anything", Some(1)),
            ("e1 Edit  a.rs -a +b\n e2 ok\n e3 Bash  ./x\n e4 ok", None),
        ] {
            let by: Vec<EventId> = by.into_iter().map(EventId).collect();
            assert_eq!(facts_of(story).goal.changed_by_other_means.0, by, "{story}");
        }
    }

    #[test]
    fn a_crash_counts_until_something_works() {
        let crash = "e1 Bash  python a.py\n e2 error Traceback (most recent call last): boom";
        for (after, crashed) in
            [("", true), ("\n e3 Bash  python a.py\n e4 ok", false), ("\n e3 Edit  a.py -a +b\n e4 ok", false)]
        {
            assert_eq!(!facts_of(&format!("{crash}{after}")).goal.ended_on_crash.is_empty(), crashed, "{after}");
        }
        let named = "e1 Bash  python a.py\n e2 error os.Type_Error: boom";
        assert!(!facts_of(named).goal.ended_on_crash.is_empty());
        for innocent in [
            "e1 Bash  grep x a.rs\n e2 error Exit code 1",
            "e1 Bash  ./a\n e2 error the Error: x",
            "e1 Bash  rg Error: src\n e2 ok src/a.rs: Error: x",
        ] {
            assert!(facts_of(innocent).goal.ended_on_crash.is_empty(), "{innocent}");
        }
    }

    #[test]
    fn the_last_check_of_the_goal_that_was_set_counts() {
        let set = "e1 goal it is green\n e2 says  Done.\n e3 check unmet it is green | two tests fail\n e4 says  Done.";
        for (after, met, unmet, tries, reason) in [
            ("", None, Some(3), 1, Some("two tests fail")),
            ("e5 check met it is green | all pass", Some(5), None, 1, Some("all pass")),
            ("e5 check unmet it is green | one fails", None, Some(5), 2, Some("one fails")),
            ("e5 check impossible it is green", None, Some(5), 2, None),
            // Another one than was set.
            ("e5 check met it is blue | yes", None, Some(3), 1, Some("two tests fail")),
            ("e5 command /goal clear", None, None, 0, None),
            ("e5 check met it is green\n e6 command /goal clear", Some(5), None, 1, None),
            ("e5 goal it is blue", None, None, 0, None),
        ] {
            let facts = facts_of(&format!("{set}\n {after}")).goal;
            let events = |id: Option<u32>| id.into_iter().map(EventId).collect::<Vec<_>>();
            assert_eq!((facts.goal_met.0.clone(), facts.goal_unmet.0.clone()), (events(met), events(unmet)), "{after}");
            assert_eq!((facts.goal_tries.count(), facts.goal_reason.as_deref()), (tries, reason), "{after}");
        }
        let by_the_agent = facts_of("e1 user  make it green\n e2 check met it is green | all pass").goal;
        assert!(by_the_agent.goal_met.is_empty());
    }

    #[test]
    fn files_changed_again_and_again_are_listed() {
        let edit = |id: u32, file: &str| format!("e{id} Edit  {file} -a +b\n e{} ok\n", id + 1);
        let story: String = [edit(1, "a.rs"), edit(3, "b.rs"), edit(5, "a.rs"), edit(7, "a.rs")].concat();
        assert_eq!(facts_of(&story).goal.repeated_edits.0, [[EventId(1), EventId(5), EventId(7)]]);
    }

    #[test]
    fn planning_counts_before_the_first_change() {
        let story = "e1 TodoWrite  a\n e2 ok\n e3 Edit  a.rs -a +b\n e4 ok\n e5 TodoWrite  b\n e6 ok";
        assert_eq!(facts_of(story).goal.planned_before_change.0, [EventId(1)]);
        let approved = "e1 Plan  do it\n e2 ok User has approved your plan.";
        assert_eq!(facts_of(approved).goal.plans_approved.0, [EventId(1)]);
    }
}
