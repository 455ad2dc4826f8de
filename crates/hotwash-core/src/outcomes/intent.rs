//! The intent of a session: what its person was after, from what they asked for.
//!
//! What was done breaks ties only: an "add it" of three lines is a small change, one of a hundred a feature. Where
//! somebody wonders first and then wants work done, the work is the goal.

use super::{Evidence, Reason};
use crate::facts::Facts;
use crate::facts::heard::Ask;
use crate::facts::signals::COMPLAINT;
use crate::sessions::{EventId, Events};
use serde::{Deserialize, Serialize};

/// What a session is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// To be told something.
    Question,
    /// To find something out.
    Investigation,
    /// To have work judged.
    Review,
    /// A plan or a design.
    Plan,
    /// A small change.
    SmallChange,
    /// To have something mended.
    BugFix,
    /// Something new.
    Feature,
    /// Another shape for the same behaviour.
    Refactor,
    /// No goal was established.
    None,
}

impl Intent {
    /// All of them.
    pub const ALL: [Intent; 9] = [
        Intent::Question,
        Intent::Investigation,
        Intent::Review,
        Intent::Plan,
        Intent::SmallChange,
        Intent::BugFix,
        Intent::Feature,
        Intent::Refactor,
        Intent::None,
    ];

    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Several of them, in words.
    pub fn plural(self) -> &'static str {
        self.words().2
    }

    /// One of them, in words.
    pub fn singular(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Intent::Question => ("question", "question", "questions"),
            Intent::Investigation => ("investigation", "investigation", "investigations"),
            Intent::Review => ("review", "review", "reviews"),
            Intent::Plan => ("plan", "plan", "plans"),
            Intent::SmallChange => ("small_change", "small change", "small changes"),
            Intent::BugFix => ("bug_fix", "bug fix", "bug fixes"),
            Intent::Feature => ("feature", "feature", "features"),
            Intent::Refactor => ("refactor", "refactor", "refactors"),
            Intent::None => ("none", "session without a goal", "sessions without a goal"),
        }
    }

    /// Something is to be different afterwards.
    pub fn needs_change(self) -> bool {
        matches!(self, Intent::SmallChange | Intent::BugFix | Intent::Feature | Intent::Refactor)
    }

    /// How sure a judge must be to call it complete when nobody said so and no run shows it.
    pub fn silent_floor(self) -> Option<f64> {
        match self {
            Intent::Question | Intent::SmallChange => Some(0.50),
            Intent::Investigation | Intent::Review | Intent::Plan => Some(0.60),
            Intent::BugFix | Intent::Feature | Intent::Refactor => Some(0.75),
            Intent::None => None,
        }
    }
}

/// Whether a judge may call a goal complete: on explicit evidence always, on silence only when sure enough for the
/// intent.
pub fn silent_allowed(intent: Intent, evidence: Evidence, confidence: f64) -> bool {
    match (intent.silent_floor(), evidence) {
        (None, _) => false,
        (Some(_), Evidence::Explicit) => true,
        (Some(floor), Evidence::Silent) => confidence >= floor,
    }
}

/// What a session is after, and how sure that is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intended {
    /// What it is after.
    pub intent: Intent,
    /// How sure that is.
    pub confidence: f64,
    /// The prompts that say so.
    pub reason: Reason,
}

/// A change of at most so many lines is small.
const SMALL_LINES: u64 = 20;
/// And of at most so many files.
const SMALL_FILES: u64 = 2;
/// The first thing asked for counts more than what comes up on the way.
const OPENING_WEIGHT: u32 = 3;
/// How sure an intent is that nobody put into words.
const BY_WORK_ALONE: f64 = 0.4;

impl Intended {
    /// What the facts say.
    pub fn of(facts: &Facts) -> Intended {
        let mut asks = asks(facts);
        // A report that something is wrong, with something changed after it, wanted it mended.
        if let Some((ask, event)) = asks.first_mut()
            && !ask.wants_change()
            && !facts.edits.edit_calls_ok.is_empty()
            && facts.signals.reported_symptoms.0.contains(event)
        {
            *ask = Ask::BugFix;
        }
        // What begins with a complaint about what was done before is there to mend it.
        let prompt = facts.prompts.human_prompts.0.first();
        if let Some(&prompt) = prompt
            && facts.signals.opening_reaction.as_deref() == Some(COMPLAINT)
            && !facts.edits.edit_calls_ok.is_empty()
        {
            asks.retain(|(_, event)| *event != prompt);
            asks.insert(0, (Ask::BugFix, prompt));
        }
        let Some(&(opening, _)) = asks.first() else {
            return without_words(facts);
        };
        let work = asks.iter().filter(|(ask, _)| ask.wants_change()).count();
        // Somebody who wonders all along and lets nothing be changed wanted to know.
        let wants_work = work > 0 && (opening.wants_change() || changed(facts) || work * 2 > asks.len());
        // A plan or a review that is written down is still one.
        let written_down = matches!(opening, Ask::Plan | Ask::Review) && facts.goal.last_source_edit.is_empty();
        let wants_work = wants_work && !written_down;
        let family = asks.iter().filter(|(ask, _)| !wants_work || ask.wants_change());
        let mut tally: Vec<(Intent, u32, Events)> = Vec::new();
        let mut lead = None;
        for (at, &(ask, event)) in family.enumerate() {
            let unsaid = matches!(ask, Ask::Change | Ask::SmallChange);
            let intent = match lead {
                // A change that comes up on the way belongs to what it comes up on.
                Some(lead) if unsaid => lead,
                // What a review finds is to be mended.
                None if ask == Ask::Change && opening == Ask::Review => Intent::BugFix,
                _ => intent_of(ask, facts),
            };
            if intent.needs_change() {
                lead.get_or_insert(intent);
            }
            if !wants_work && intent.needs_change() {
                continue;
            }
            let weight = if at == 0 { OPENING_WEIGHT } else { 1 };
            match tally.iter_mut().find(|(known, ..)| *known == intent) {
                Some((_, sum, events)) => {
                    *sum += weight;
                    events.push(event);
                }
                None => tally.push((intent, weight, vec![event])),
            }
        }
        let total: u32 = tally.iter().map(|(_, sum, _)| sum).sum();
        // Of equals, the first.
        let best = tally.into_iter().rev().max_by_key(|(_, sum, _)| *sum);
        let Some((intent, sum, events)) = best else {
            return without_words(facts);
        };
        // A run that was asked for an answer and changed nothing is no work, whatever its prompt speaks of.
        let answers = !facts.signals.answers_wanted.is_empty() || facts.ending.closing_data;
        if facts.transcript.headless && answers && intent.needs_change() && !changed(facts) {
            let reason = Reason::new("answers_wanted", "a headless run was asked for an answer", &events);
            let looked = !facts.tools.tool_calls_by_name.is_empty();
            let intent = if looked { Intent::Investigation } else { Intent::Question };
            return Intended { intent, confidence: 0.7, reason };
        }
        // Two digits are more than such a number knows.
        let confidence = (50.0 + 40.0 * f64::from(sum) / f64::from(total.max(1))).round() / 100.0;
        // Somebody who only wonders, and then lets the program be changed, said so in words that are not known.
        if matches!(intent, Intent::Question | Intent::Investigation) && !facts.goal.last_source_edit.is_empty() {
            return without_words(facts);
        }
        let what = asked_for(intent);
        let text = match events.len() {
            1 => ["a prompt asks ", what].concat(),
            n => format!("{n} prompts ask {what}"),
        };
        Intended { intent, confidence, reason: Reason { fact: fact_of(intent).into(), text: text.into(), events } }
    }

    /// Whether a change was asked for so plainly that none is a failure.
    pub fn surely_needs_change(&self) -> bool {
        self.intent.needs_change() && self.confidence >= 0.7
    }
}

/// What was asked for, in order.
fn asks(facts: &Facts) -> Vec<(Ask, EventId)> {
    let signals = &facts.signals;
    let lists = [
        (Ask::Question, &signals.asked_question),
        (Ask::Investigation, &signals.asked_investigation),
        (Ask::Review, &signals.asked_review),
        (Ask::Plan, &signals.asked_plan),
        (Ask::SmallChange, &signals.asked_small_change),
        (Ask::BugFix, &signals.asked_bug_fix),
        (Ask::Feature, &signals.asked_feature),
        (Ask::Refactor, &signals.asked_refactor),
        (Ask::Change, &signals.asked_change),
    ];
    let mut asks: Vec<(Ask, EventId)> =
        lists.iter().flat_map(|(ask, events)| events.0.iter().map(|event| (*ask, *event))).collect();
    asks.sort_by_key(|(_, event)| *event);
    asks
}

fn intent_of(ask: Ask, facts: &Facts) -> Intent {
    match ask {
        Ask::Question => Intent::Question,
        Ask::Investigation => Intent::Investigation,
        Ask::Review => Intent::Review,
        Ask::Plan => Intent::Plan,
        Ask::BugFix | Ask::Symptom => Intent::BugFix,
        Ask::Refactor => Intent::Refactor,
        Ask::SmallChange | Ask::Change | Ask::Feature => by_size(facts, ask),
    }
}

/// A small change, a feature or another shape, by what was done. A change that nobody sees the size of is what its words
/// say.
fn by_size(facts: &Facts, ask: Ask) -> Intent {
    let Facts { edits, goal, verification, .. } = facts;
    let (added, removed) = (edits.lines_added, edits.lines_removed);
    let lines = added + removed;
    if edits.edit_calls_ok.is_empty() {
        // To release, to push or to build something that is there is to run things.
        let ran = !goal.handed_over.is_empty() || verification.build_runs.total() > 0;
        return if ask == Ask::Feature && !ran { Intent::Feature } else { Intent::SmallChange };
    }
    let few = lines <= SMALL_LINES && edits.files_edited <= SMALL_FILES;
    let modest = lines <= 5 * SMALL_LINES && edits.files_edited <= 5;
    match ask {
        // Prose is no feature of a program.
        _ if goal.last_source_edit.is_empty() => Intent::SmallChange,
        Ask::Feature => Intent::Feature,
        _ if few => Intent::SmallChange,
        // More goes than comes: nothing new.
        _ if removed >= 2 * added && modest => Intent::SmallChange,
        _ if removed >= 2 * added => Intent::Refactor,
        // What is there is put in other words, or renamed through many files.
        _ if modest && added <= removed + SMALL_LINES => Intent::SmallChange,
        Ask::SmallChange if lines <= 5 * SMALL_LINES => Intent::SmallChange,
        _ => Intent::Feature,
    }
}

/// Nobody said what they wanted in words that are known: what was done may tell.
fn without_words(facts: &Facts) -> Intended {
    let commits = &facts.signals.commit_requests;
    if !commits.is_empty() {
        let reason = Reason::new("commit_requests", "the person wants what is there committed or pushed", &commits.0);
        return Intended { intent: by_size(facts, Ask::SmallChange), confidence: BY_WORK_ALONE, reason };
    }
    let edits = &facts.edits.edit_calls_ok;
    let prompts = facts.prompts.human_prompts.count() + facts.prompts.plan_prompts.count();
    let goals = &facts.prompts.human_prompts_as_goals;
    if edits.is_empty() && !goals.is_empty() {
        let reason = Reason::new("human_prompts_as_goals", "the person set a goal", &goals.0);
        return Intended { intent: Intent::SmallChange, confidence: BY_WORK_ALONE, reason };
    }
    if edits.is_empty() || prompts == 0 {
        let reason = Reason::new("human_prompts", "no prompt says what was wanted", &[]);
        return Intended { intent: Intent::None, confidence: BY_WORK_ALONE, reason };
    }
    let reason = Reason::new("edit_calls_ok", "no prompt asks for a change, but files were changed", &edits.0);
    Intended { intent: by_size(facts, Ask::Change), confidence: BY_WORK_ALONE, reason }
}

fn changed(facts: &Facts) -> bool {
    !facts.edits.edit_calls_ok.is_empty() || !facts.goal.changed_by_other_means.is_empty()
}

fn asked_for(intent: Intent) -> &'static str {
    match intent {
        Intent::Question => "to be told something",
        Intent::Investigation => "to find something out",
        Intent::Review => "for a review",
        Intent::Plan => "for a plan",
        Intent::SmallChange => "for a small change",
        Intent::BugFix => "to mend something",
        Intent::Feature => "for something new",
        Intent::Refactor => "for a refactoring",
        Intent::None => "for nothing",
    }
}

fn fact_of(intent: Intent) -> &'static str {
    match intent {
        Intent::Question => "asked_question",
        Intent::Investigation => "asked_investigation",
        Intent::Review => "asked_review",
        Intent::Plan => "asked_plan",
        Intent::SmallChange => "asked_small_change",
        Intent::BugFix => "asked_bug_fix",
        Intent::Feature => "asked_feature",
        Intent::Refactor => "asked_refactor",
        Intent::None => "human_prompts",
    }
}
