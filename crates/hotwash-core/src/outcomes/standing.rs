//! How the work and the person stood at the end: the order of things, which the rules of [`decide`](super::decide) go
//! by.

use super::intent::Intent;
use crate::facts::signals::{ACCEPTED, COMPLAINT, OTHER};
use crate::facts::{Cited, Facts};
use crate::sessions::EventId;

/// How things stood.
pub(super) struct Standing {
    /// The last change by a file tool.
    pub last_edit: Option<EventId>,
    /// Something was changed, or may have been.
    pub changed: bool,
    /// All that was changed was put back.
    pub taken_back: bool,
    /// The run that is green after the last change of a source file, with nothing red behind it.
    pub green: Option<EventId>,
    /// The same for tests alone.
    pub green_test: Option<EventId>,
    /// No source file was changed, so that no run is due.
    pub prose_only: bool,
    /// The prompt that accepts the result, after the last change.
    pub accepted: Option<Word>,
    /// The prompt with which the person went on after the last change and its run, without complaint.
    pub went_on: Option<Word>,
    /// Checks were left out, and nothing was green afterwards.
    pub bypassed: Option<EventId>,
    /// The check that says that the goal the person set is reached, where nothing was asked for or changed after it.
    pub met: Option<EventId>,
    /// The work was committed, pushed or released, and nothing was said or changed afterwards.
    pub handed_over: bool,
    /// A change that was asked for last and that nobody began.
    pub left_open: Option<EventId>,
}

/// Where a person's word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// In the session.
    At(EventId),
    /// In the prompt after it.
    After,
}

impl Word {
    pub(super) fn events(self) -> Vec<EventId> {
        match self {
            Word::At(event) => vec![event],
            Word::After => Vec::new(),
        }
    }
}

impl Standing {
    pub(super) fn of(facts: &Facts, intent: Intent) -> Standing {
        let Facts { edits, goal, signals, verification, prompts, .. } = facts;
        let last_edit = last(&edits.edit_calls_ok);
        let opening = prompts.human_prompts.0.first().copied();
        let green = (verification.verified == Some(true)).then(|| last_green(facts)).flatten();
        let last_red_test = verification.test_runs.fail.iter().copied().max();
        let green_test = verification.test_runs.pass.iter().copied().max();
        let green_test =
            green_test.filter(|run| Some(*run) > last_red_test && Some(*run) > last(&goal.last_source_edit));

        let work = [
            &signals.asked_small_change,
            &signals.asked_bug_fix,
            &signals.asked_feature,
            &signals.asked_refactor,
            &signals.asked_change,
        ];
        let last_ask = work.into_iter().filter_map(last).max();
        let wonders = [&signals.asked_question, &signals.asked_investigation].into_iter().filter_map(last).max();
        let followed_by = |word: &str| signals.followed_by.as_deref() == Some(word);

        let mut words = last(&signals.completion_signals);
        if intent.needs_change() {
            words = words.max(last(&signals.commit_requests));
        }
        // A question is answered when nobody asks on; work when nothing more was asked for.
        let asked_on = if intent.needs_change() { last_ask } else { last_ask.max(wonders) };
        let accepted = words.filter(|word| Some(*word) != opening && Some(*word) > last_edit && Some(*word) > asked_on);
        let accepted = accepted.map(Word::At).or_else(|| followed_by(ACCEPTED).then_some(Word::After));

        let last_done = last_edit.max(last(&goal.last_command));
        let left_open = last_ask.filter(|ask| Some(*ask) > last_done && last_edit.is_some() && Some(*ask) != opening);
        let last_prompt = last(&prompts.human_prompts).filter(|prompt| Some(*prompt) != opening);
        let went_on = last_prompt.filter(|prompt| {
            Some(*prompt) > last_edit
                && Some(*prompt) > last_green(facts)
                && last_ask < last_edit
                // "Yes" and "continue" go on with the same thing.
                && (wonders == Some(*prompt) || asked_otherwise(facts, *prompt))
                && !signals.failure_signals.0.contains(prompt)
                && !signals.reported_symptoms.0.contains(prompt)
        });
        let went_on =
            went_on.map(Word::At).or_else(|| (followed_by(OTHER) || followed_by(ACCEPTED)).then_some(Word::After));
        let undone = edits.reverted_edits.count();
        Standing {
            last_edit,
            changed: last_edit.is_some() || !goal.changed_by_other_means.is_empty(),
            taken_back: undone > 0 && edits.edit_calls_ok.count() <= 2 * undone,
            green,
            green_test,
            prose_only: last_edit.is_some() && goal.last_source_edit.is_empty(),
            accepted,
            went_on,
            bypassed: last(&verification.checks_bypassed).filter(|bypass| Some(*bypass) > last_green(facts)),
            met: last(&goal.goal_met).filter(|met| Some(*met) > last_edit.max(last_ask)),
            handed_over: last(&goal.handed_over) > last_edit.max(last(&prompts.human_prompts)),
            left_open: left_open.filter(|_| accepted.is_none()),
        }
    }
}

fn asked_otherwise(facts: &Facts, prompt: EventId) -> bool {
    let signals = &facts.signals;
    let said = [
        &signals.asked_review,
        &signals.asked_plan,
        &signals.acknowledgements,
        &signals.completion_signals,
        &signals.commit_requests,
    ];
    said.into_iter().any(|said| said.0.contains(&prompt))
}

/// The prompt after the session complains of it.
pub(super) fn complained_afterwards(facts: &Facts) -> bool {
    facts.signals.followed_by.as_deref() == Some(COMPLAINT)
}

/// The last of the events that something points at.
pub(super) fn last(cited: &Cited) -> Option<EventId> {
    cited.0.iter().copied().max()
}

/// The last green run of any kind.
pub(super) fn last_green(facts: &Facts) -> Option<EventId> {
    let checks = &facts.verification;
    [&checks.test_runs, &checks.build_runs, &checks.lint_runs].into_iter().flat_map(|runs| &runs.pass).copied().max()
}
