//! Tool calls: how many, how they ended, and which were the same thing tried again.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::value::{Cited, Ratio, Tally, facts, ratio};
use crate::sessions::{Event, Kind, Outcome, Tool};
use serde::{Deserialize, Serialize};

facts! {
    /// Tool calls and how they ended.
    pub struct ToolFacts {
        /// Distinct tool calls.
        /// Why: the amount of work, and the denominator of most shares.
        /// Blind: calls inside subagents, which have their own transcripts.
        tool_calls: u64,
        /// Tool calls by tool.
        /// Why: shows the way of working.
        /// Blind: as above.
        tool_calls_by_name: Tally,
        /// Calls whose result was never recorded.
        /// Why: the session ended or was killed while they ran.
        /// Blind: whether they took effect.
        calls_without_result: Cited,
        /// Results that say they are errors, less rejections and echoes.
        /// Why: friction, though not failure: hard tasks have many.
        /// Blind: failures behind a pipe, and tools that report errors as plain text.
        tool_errors: Cited,
        /// Tool errors by tool; `?` where the call is missing.
        /// Why: points at the tool that hurts.
        /// Blind: as above.
        tool_errors_by_name: Tally,
        /// Calls that the person turned down.
        /// Why: a decision of the person, so it is no error of the tool.
        /// Blind: rules that turn calls down without asking.
        user_rejections: Cited,
        /// Calls cancelled because a call beside them failed.
        /// Why: one failure in a parallel batch is one failure.
        /// Blind: nothing known.
        error_echoes: Cited,
        /// After an error, the same tool with the same or nearly the same input (less than 20% edited), before
        /// an edit, a read or another command changed the situation.
        /// Why: trying the same thing again rarely helps.
        /// Blind: a retry that is worded quite differently.
        retries: Cited,
        /// The longest run of errors of one tool with nearly the same input.
        /// Why: tells one slip from a loop.
        /// Blind: as above.
        longest_error_streak: u64,
        /// `1 - retries / tool_calls`.
        /// Why: the share of calls that did something new.
        /// Blind: as `retries`.
        retry_free_share: Ratio,
        /// Calls of subagents.
        /// Why: delegation keeps the main context small.
        /// Blind: whether it was worth it.
        subagent_calls: Cited,
        /// Calls of a planning tool: todo lists, task lists, plan mode.
        /// Why: long work goes better with a plan that is kept.
        /// Blind: plans made in prose.
        planning_calls: Cited,
        /// Calls that keep a todo or task list.
        /// Why: a list that is kept shows what is left.
        /// Blind: as above.
        todo_calls: u64,
        /// Skills loaded through the skill tool, by name.
        /// Why: the proper way to load one.
        /// Blind: skills that the client loads by itself.
        skills_loaded: Tally,
        /// Questions that the agent put to the person.
        /// Why: asking beats guessing, to a degree.
        /// Blind: questions in prose.
        questions_to_person: Cited,
    }
}

/// The fold behind [`ToolFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tools {
    facts: ToolFacts,
    /// Failed calls that nothing has happened since.
    failures: Vec<Failure>,
    open: Vec<EventIdOfCall>,
}

type EventIdOfCall = (crate::sessions::Key, crate::sessions::EventId);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failure {
    name: String,
    input: Vec<u8>,
    /// Errors in a row with nearly this input, this one included.
    streak: u64,
}

impl Fold for Tools {
    type Facts = ToolFacts;

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        let facts = &mut self.facts;
        facts.tool_calls += 1;
        count(&mut facts.tool_calls_by_name, &call.name);
        self.open.push((call.key, call.id));
        match call.tool {
            Tool::Subagent => facts.subagent_calls.push(call.id),
            Tool::Plan => facts.planning_calls.push(call.id),
            Tool::Todo => {
                facts.planning_calls.push(call.id);
                facts.todo_calls += 1;
            }
            Tool::AskPerson => facts.questions_to_person.push(call.id),
            _ => {}
        }

        let again = self.failures.iter_mut().find(|failure| failure.is_like(call));
        if let Some(failure) = again {
            facts.retries.push(call.id);
            // The streak grows if this one fails too; until then it is remembered under the new input.
            failure.input.clone_from(&call.input);
        } else if call.tool.edits() || matches!(call.tool, Tool::Read | Tool::Shell) {
            self.failures.clear();
        }
    }

    fn ended(&mut self, event: &Event<'_>, call: Option<&OpenCall>, _: &Outcome<'_>, status: Status) {
        let id = event.origin.id;
        let facts = &mut self.facts;
        if let Some(call) = call
            && let Some(at) = self.open.iter().rposition(|(key, _)| *key == call.key)
        {
            self.open.remove(at);
        }
        // What was counted when it came alone has a name now.
        let late = matches!(event.kind, Kind::Call(_));
        match status {
            Status::Rejected | Status::Echo if late => {}
            Status::Ok => {
                if let Some(call) = call {
                    if !self.failures.is_empty() {
                        self.failures.retain(|failure| !failure.is_like(call));
                    }
                    if call.tool == Tool::Skill {
                        count(&mut facts.skills_loaded, &call.which);
                    }
                }
            }
            Status::Rejected => facts.user_rejections.push(id),
            Status::Echo => facts.error_echoes.push(id),
            Status::Failed => {
                if late {
                    facts.tool_errors_by_name.entry("?".into()).and_modify(|unknown| *unknown -= 1);
                    facts.tool_errors_by_name.retain(|_, errors| *errors > 0);
                } else {
                    facts.tool_errors.push(id);
                }
                count(&mut facts.tool_errors_by_name, call.map_or("?", |call| &call.name));
                if let Some(call) = call {
                    let streak = if let Some(failure) = self.failures.iter_mut().find(|failure| failure.is_like(call)) {
                        failure.streak += 1;
                        failure.streak
                    } else {
                        self.failures.push(Failure { name: call.name.clone(), input: call.input.clone(), streak: 1 });
                        1
                    };
                    facts.longest_error_streak = facts.longest_error_streak.max(streak);
                }
            }
        }
    }

    fn finish(&mut self) -> ToolFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.calls_without_result = Cited(self.open.iter().map(|(_, id)| *id).collect());
        facts.retry_free_share = ratio(facts.tool_calls - facts.retries.count(), facts.tool_calls);
        facts
    }
}

impl Failure {
    fn is_like(&self, call: &OpenCall) -> bool {
        self.name == call.name && nearly_equal(&self.input, &call.input)
    }
}

fn count(tally: &mut Tally, name: &str) {
    *tally.entry(name.to_owned().into()).or_default() += 1;
}

/// No edit distance is less than the number of bytes that one has and the other lacks, in whatever order.
fn least_distance(a: &[u8], b: &[u8]) -> usize {
    let mut counts = [0i32; 256];
    for byte in a {
        counts[usize::from(*byte)] += 1;
    }
    for byte in b {
        counts[usize::from(*byte)] -= 1;
    }
    let (more, less) = counts.iter().fold((0, 0), |(more, less), count| (more + count.max(&0), less - count.min(&0)));
    more.max(less) as usize
}

/// Whether the edit distance is under 20% of the longer one's length.
fn nearly_equal(a: &[u8], b: &[u8]) -> bool {
    let limit = a.len().max(b.len()).saturating_sub(1) / 5;
    if a.len().abs_diff(b.len()) > limit {
        return false;
    }
    // What both begin and end with costs nothing; most retries differ in one spot.
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    // No distance is more than the longer one's length.
    if a.len().max(b.len()) <= limit {
        return true;
    }
    if a.len() > limit && least_distance(a, b) > limit {
        return false;
    }

    is_within(limit, a, b)
}

/// Whether the edit distance is at most `limit`: row by row of the table of all beginnings, as far as it matters.
fn is_within(limit: usize, a: &[u8], b: &[u8]) -> bool {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let (from, to) = (i.saturating_sub(limit), (i + limit + 1).min(b.len()));
        let mut diagonal = std::mem::replace(&mut row[from], if from == 0 { i + 1 } else { limit + 1 });
        for (j, y) in b[..to].iter().enumerate().skip(from) {
            let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
        if row[from..=to].iter().all(|cost| *cost > limit) {
            return false;
        }
    }
    row[b.len()] <= limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::facts_of;
    use proptest::prelude::*;

    #[test]
    fn a_retry_is_the_same_call_after_an_error() {
        let facts = facts_of(
            "
            e1 user  run it
            e2 Bash  cargo tset --workspace
            e3 error no such command: tset
            e4 Bash  cargo test --workspace
            e5 ok
            e6 Bash  cargo test --workspace
            e7 ok
        ",
        );
        assert_eq!(facts.tools.retries.0, [crate::sessions::EventId(4)]);
        assert_eq!(facts.tools.longest_error_streak, 1);
    }

    #[test]
    fn nothing_is_a_retry_once_the_situation_changed() {
        for between in ["Edit  src/a.rs -a +b", "Read  src/a.rs", "Bash  ls"] {
            let facts = facts_of(&format!(
                "
                e1 Bash  cargo test
                e2 error boom
                e3 {between}
                e4 ok
                e5 Bash  cargo test
                e6 ok
            "
            ));
            assert!(facts.tools.retries.is_empty(), "{between}");
        }
    }

    #[test]
    fn a_streak_counts_errors_in_a_row() {
        let facts = facts_of(
            "
            e1 Edit  src/a.rs -aaaaaaaaaaaaaaaaaaaaaaaaaaa +b
            e2 error String to replace not found
            e3 Edit  src/a.rs -aaaaaaaaaaaaaaaaaaaaaaaaaab +b
            e4 error String to replace not found
            e5 Edit  src/a.rs -aaaaaaaaaaaaaaaaaaaaaaaaaac +b
            e6 error String to replace not found
        ",
        );
        assert_eq!((facts.tools.retries.count(), facts.tools.longest_error_streak), (2, 3));
    }

    #[test]
    fn rejections_and_echoes_are_no_errors() {
        let facts = facts_of(
            "
            e1 Bash  rm -rf build
            e2 error The user doesn't want to proceed with this tool use.
            e3 Read  a.rs
            e4 error <tool_use_error>Sibling tool call errored</tool_use_error>
            e5 Read  b.rs
            e6 error File does not exist.
            e7 Read  c.rs
        ",
        );
        let tools = facts.tools;
        assert_eq!([tools.user_rejections.count(), tools.error_echoes.count(), tools.tool_errors.count()], [1, 1, 1]);
        assert_eq!(tools.calls_without_result.count(), 1);
    }

    #[test]
    fn near_means_under_a_fifth() {
        for (a, b, near) in
            [("", "", true), ("abcdefghij", "abcdefghiX", true), ("abcdefghij", "abcdefghXY", false), ("a", "b", false)]
        {
            assert_eq!(nearly_equal(a.as_bytes(), b.as_bytes()), near, "{a} {b}");
        }
    }

    /// The edit distance by its definition.
    fn distance(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], cost);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn near_is_what_the_distance_says(a in "[ab]{0,40}", b in "[ab]{0,40}", cut in 0usize..40) {
            let mixed = format!("{}{}", a.get(..cut.min(a.len())).unwrap_or_default(), b);
            for (a, b) in [(&a, &b), (&a, &mixed), (&mixed, &b)] {
                let limit = a.len().max(b.len()).saturating_sub(1) / 5;
                let near = distance(a.as_bytes(), b.as_bytes()) <= limit;
                prop_assert_eq!(nearly_equal(a.as_bytes(), b.as_bytes()), near, "{} {}", a, b);
            }
        }
    }
}
