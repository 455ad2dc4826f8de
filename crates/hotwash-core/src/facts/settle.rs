//! Facts that follow from other facts, once all of them are known: which signals of failure still stand at the end, and
//! what the last words say.

use super::claims::closing;
use super::goal::TRIES;
use super::signals::LAST_TURNS;
use super::transcript::WORDS_KEPT;
use super::value::Cited;
use super::verification::Runs;
use super::word::Own;
use super::{Facts, SignalFacts};
use crate::sessions::EventId;

/// Stands for a model whose tokens were not recorded.
const NOT_RECORDED: &str = "not recorded";

/// Completes the facts, with the last words of the session.
pub(super) fn settle(facts: &mut Facts, last_words: &str) {
    read_last_words(facts, last_words);
    let from = last_turns(facts);
    facts.signals.unresolved_error_signals = unresolved_errors(facts, from);
    facts.signals.iteration_loop = iteration_loop(facts, from);
    drop_resolved(facts);
    if !facts.knows("cost_usd") && facts.tokens.cost_usd.unpriced.is_empty() {
        // Sums of costs go by this, not by names of facts.
        facts.tokens.cost_usd.unpriced.push(NOT_RECORDED.into());
    }
}

fn read_last_words(facts: &mut Facts, words: &str) {
    let ending = &mut facts.ending;
    if ending.last_answer.is_empty() {
        return;
    }
    let said = closing(words);
    ending.closing_claim = said.claim.map(|(_, phrase)| phrase.into());
    ending.closing_excuse = said.excuse.map(Own::from);
    ending.closing_admission = said.admission.map(Own::from);
    ending.closing_data = is_data(words);
    // Cut words are a little shorter than the limit.
    ending.closing_cut = words.len() + 100 > WORDS_KEPT;
    ending.ended_on_question |= said.asks && !ending.closing_cut;
}

/// Whether words are an object or a list in JSON, with or without a fence. They may be cut.
fn is_data(words: &str) -> bool {
    let words = words.trim_start();
    let words = words.strip_prefix("```json").or_else(|| words.strip_prefix("```")).unwrap_or(words);
    let mut signs = words.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let begins = (signs.next(), signs.next());
    matches!(begins, (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b'"' | b']')))
}

/// Complaints that a later green run, acceptance or hand-over resolved are no longer signals.
fn drop_resolved(facts: &mut Facts) {
    let handed_over = last(&facts.goal.handed_over);
    let resolved = last(&facts.signals.completion_signals).max(last_green(facts)).max(handed_over);
    let SignalFacts { frustration_signals, abandonment_signals, failure_signals, .. } = &mut facts.signals;
    for signals in [&mut *frustration_signals, &mut *abandonment_signals] {
        signals.0.retain(|signal| Some(*signal) > resolved);
    }
    failure_signals.0 = frustration_signals.0.iter().chain(&abandonment_signals.0).copied().collect();
    failure_signals.0.sort_unstable();
}

/// What failed in the last turns and was not put right.
fn unresolved_errors(facts: &Facts, from: EventId) -> Cited {
    let handed_over = last(&facts.goal.handed_over);
    let last_edit = last(&facts.edits.edit_calls_ok).max(handed_over);
    let checks = &facts.verification;
    let red = |runs: &Runs| {
        let red = reds(facts, runs).max();
        red.filter(|red| Some(*red) > runs.pass.iter().copied().max() && Some(*red) > last_edit && *red >= from)
    };
    let crash = last(&facts.goal.ended_on_crash).filter(|crash| Some(*crash) > last_edit && *crash >= from);
    // A report that came with the first prompt is the task; one that somebody worked on was not left alone.
    let opening = facts.prompts.human_prompts.0.first();
    let worked_on = last_edit.max(last_green(facts)).max(last(&facts.signals.completion_signals));
    let reported = last(&facts.signals.reported_errors)
        .filter(|report| Some(*report) > worked_on && *report >= from && Some(report) != opening);
    let mut events: Vec<EventId> =
        [red(&checks.test_runs), red(&checks.build_runs), crash, reported].into_iter().flatten().collect();
    events.sort_unstable();
    events.dedup();
    Cited(events)
}

/// Red runs of one kind since it was last green, each after another change of the same file, if they reach the last turns.
fn iteration_loop(facts: &Facts, from: EventId) -> Cited {
    let accepted = last(&facts.signals.completion_signals).max(last(&facts.goal.handed_over));
    let checks = &facts.verification;
    // A linter that keeps finding something is not a fix that keeps failing.
    for runs in [&checks.test_runs, &checks.build_runs] {
        let green = runs.pass.iter().copied().max();
        let red: Vec<EventId> = reds(facts, runs).filter(|red| Some(*red) > green).collect();
        let recent = red.last().is_some_and(|red| *red >= from && Some(*red) > accepted);
        for edits in facts.goal.repeated_edits.0.iter().filter(|_| recent) {
            let mut before = green;
            let mut tries = red.clone();
            tries.retain(|red| {
                let tried = edits.iter().any(|edit| Some(*edit) > before && edit < red);
                before = Some(*red);
                tried
            });
            if tries.len() >= TRIES {
                return Cited(tries);
            }
        }
    }
    Cited::default()
}

/// The red runs of a kind that say something about the changes of the session.
fn reds<'f>(facts: &'f Facts, runs: &'f Runs) -> impl Iterator<Item = EventId> {
    let without = &facts.verification.red_without_changes;
    runs.fail.iter().copied().filter(|red| !without.0.contains(red))
}

/// Where the last turns begin.
fn last_turns(facts: &Facts) -> EventId {
    let prompts = &facts.prompts;
    // The last of them so far, the latest first.
    let mut turns = [EventId::default(); LAST_TURNS];
    for turn in prompts.human_prompts.0.iter().chain(&prompts.plan_prompts.0) {
        let mut turn = *turn;
        for later in &mut turns {
            if turn > *later {
                std::mem::swap(&mut turn, later);
            }
        }
    }
    turns[LAST_TURNS - 1]
}

fn last(cited: &Cited) -> Option<EventId> {
    cited.0.iter().copied().max()
}

fn last_green(facts: &Facts) -> Option<EventId> {
    let checks = &facts.verification;
    [&checks.test_runs, &checks.build_runs, &checks.lint_runs].into_iter().flat_map(|runs| &runs.pass).copied().max()
}
