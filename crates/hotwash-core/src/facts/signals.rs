//! What people said: what they asked for, how they took what was done, and in which language.
//!
//! Only a person's own words are read ([`speech`](super::speech)), each prompt once ([`heard`](super::heard)). Which
//! signals still stand at the end shows when the runs are known: `settle.rs` drops those that were
//! resolved.

use super::Fold;
use super::calls::{OpenCall, Status};
use super::heard::{Ask, Heard, Reaction, heard};
use super::phrases::is_one_of;
use super::speech::{Speech, speech};
use super::value::{Cited, facts};
use super::word::Own;
use crate::sessions::{Event, EventId, Kind, Outcome, Tool};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use whatlang::Detector;

/// Failure signals count in the last turns only.
pub(super) const LAST_TURNS: usize = 3;
/// Enough words to tell a language.
const LANGUAGE_BYTES: usize = 400;
/// So much of a prompt goes into telling the language.
const LANGUAGE_SAMPLE: usize = 600;
/// Fewer bytes of words tell no language.
const ENOUGH_BYTES: usize = 12;
/// Somebody who writes that much gives context.
const MUCH_BYTES: usize = 300;
/// So many numbered steps are a plan.
const PLAN_STEPS: u32 = 3;

facts! {
    /// What people said.
    pub struct SignalFacts {
        /// Prompts that accept what was done ("thanks", "that works"). The prompt that opens the session is none.
        /// Why: explicit acceptance is the best sign of a goal reached.
        /// Blind: most people just go on; seven languages are read.
        completion_signals: Cited,
        /// Prompts of the last three turns that complain or give up ("still broken", "never mind"), unless a green run
        /// or acceptance came later. The prompt that opens the session states its task and is none.
        /// Why: a session that ends so did not reach its goal.
        /// Blind: as above; irony.
        failure_signals: Cited,
        /// Those of them that complain. That something does not work is a complaint only after something was changed, and
        /// a correction only until something is changed or run again. A complaint that a change answered is none at the
        /// end: nobody knows whether the change was right.
        /// Why: one of the four signals that a goal was missed.
        /// Blind: as above.
        frustration_signals: Cited,
        /// Those of them that give the goal up or put it off.
        /// Why: one of the four signals that a goal was missed.
        /// Blind: a person who leaves without a word.
        abandonment_signals: Cited,
        /// Failing tests, builds and crashes of the last three turns with no change and no success of their kind after
        /// them, and errors that a person reported there and nobody worked on.
        /// Why: one of the four signals that a goal was missed.
        /// Blind: failures that were expected; runners we do not know.
        unresolved_error_signals: Cited,
        /// Red runs of one kind, three or more, each after another change of the same file, with none green since and
        /// the last of them in the last three turns.
        /// Why: one of the four signals that a goal was missed: the same fix tried over and over.
        /// Blind: tries on different files, and runs whose result cannot be read.
        iteration_loop: Cited,
        /// Prompts that ask for a commit, a push or a pull request.
        /// Why: nobody asks that of what they do not want.
        /// Blind: people who commit by hand.
        commit_requests: Cited,
        /// Prompts that only take note of what was done ("ok").
        /// Why: the person saw it and did not complain.
        /// Blind: whether they looked.
        acknowledgements: Cited,
        /// Prompts that give leave to do what was proposed ("go ahead", "let's build it").
        /// Why: a plan is accepted so.
        /// Blind: a bare "yes".
        go_aheads: Cited,
        /// Prompts that put tests off.
        /// Why: a feature may be complete without them if the person says so.
        /// Blind: a habit that nobody mentions.
        tests_deferred: Cited,
        /// Prompts that say that something is wrong, whatever they ask for.
        /// Why: a session that opens so and changes something is about mending it.
        /// Blind: as `completion_signals`.
        reported_symptoms: Cited,
        /// Prompts that came with a stack trace, a failing test or an error message.
        /// Why: a report of what went wrong.
        /// Blind: a failure told in prose; pictures.
        reported_errors: Cited,
        /// Prompts that say in which form they want the reply ("reply with JSON", "in one word").
        /// Why: an answer is asked for there, and nothing need be changed.
        /// Blind: forms told in other words.
        answers_wanted: Cited,
        /// Prompts that say what to keep to or to keep off, or name the place.
        /// Why: the scope of the goal is bounded.
        /// Blind: what both sides know without saying.
        scope_given: Cited,
        /// Prompts that bring context: a file, a link, a paste, a picture, or many words.
        /// Why: an agent that is told where to look need not guess.
        /// Blind: whether it is the right context.
        context_given: Cited,
        /// Prompts with three or more numbered steps, and approved plans.
        /// Why: a plan before the action.
        /// Blind: steps told in prose.
        plans_given: Cited,
        /// Prompts that ask to be told something.
        /// Why: what the goal is.
        /// Blind: words of other languages than the seven.
        asked_question: Cited,
        /// Prompts that ask to find something out.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_investigation: Cited,
        /// Prompts that ask to judge work.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_review: Cited,
        /// Prompts that ask for a plan.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_plan: Cited,
        /// Prompts that ask for a small change.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_small_change: Cited,
        /// Prompts that ask to mend something, or report that it is broken.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_bug_fix: Cited,
        /// Prompts that ask for something new.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_feature: Cited,
        /// Prompts that ask for another shape of the same behaviour.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_refactor: Cited,
        /// Prompts that ask for a change, without words that tell its kind; approved plans.
        /// Why: what the goal is.
        /// Blind: as above.
        asked_change: Cited,
        /// How the prompt that opens the session takes what was done before it: accepted, complaint, or other where it
        /// goes on to something else; unknown where it reports that something is wrong or asks for nothing.
        /// Why: where one transcript holds several sessions, it is the last word on the one before.
        /// Blind: as `completion_signals`.
        opening_reaction: Option<Own>,
        /// How the prompt after the session takes it, where the next session of the transcript begins with one.
        /// Why: somebody who goes on without complaint was content.
        /// Blind: unknown at the end of a transcript.
        followed_by: Option<Own>,
        /// The language of the prompts, as a three-letter code.
        /// Why: phrases are only read in a few languages.
        /// Blind: prompts too short to tell.
        natural_language: Option<Own>,
    }
}

/// The opening accepts what was done before.
pub const ACCEPTED: &str = "accepted";
/// The opening complains of what was done before.
pub const COMPLAINT: &str = "complaint";
/// The opening says nothing of what was done before.
pub const OTHER: &str = "other";

/// The fold behind [`SignalFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Signals {
    facts: SignalFacts,
    /// What stated the goal first: a prompt, an approved plan, a command.
    opened: bool,
    turn: usize,
    /// Something was changed, or may have been.
    worked: bool,
    complaints: Vec<Complaint>,
    /// Prompts that give up, with the turn they opened.
    abandoned: Vec<(usize, EventId)>,
    words: String,
}

/// A prompt that complains.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Complaint {
    turn: usize,
    event: EventId,
    /// No more than a correction.
    correction: bool,
    /// Something was changed after it.
    answered: bool,
}

impl Fold for Signals {
    type Facts = SignalFacts;

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        self.worked |= call.tool == Tool::Subagent;
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, _: &Outcome<'_>, status: Status) {
        let Some(call) = call.filter(|_| status == Status::Ok) else { return };
        let edits = call.tool.edits();
        self.worked |= edits;
        if !self.complaints.is_empty() && (edits || call.tool == Tool::Shell) {
            self.complaints.retain(|complaint| !complaint.correction);
            let changes = edits || call.command.mutates_files || call.command.course.delivers;
            self.complaints.iter_mut().for_each(|complaint| complaint.answered |= changes);
        }
    }

    fn said(&mut self, event: &Event<'_>) {
        let id = event.origin.id;
        match &event.kind {
            Kind::Prompt(prompt) => {
                self.turn += 1;
                let speech = speech(prompt.words);
                self.heard(id, &speech, heard(&speech), prompt.images > 0);
                if self.words.len() < LANGUAGE_BYTES {
                    let words = prompt.words;
                    let end = (0..=words.len().min(LANGUAGE_SAMPLE)).rev().find(|end| words.is_char_boundary(*end));
                    let sample = words.get(..end.unwrap_or_default()).unwrap_or_default();
                    self.words.push_str(sample);
                    self.words.push('\n');
                }
            }
            Kind::PlanApproval(body) => {
                self.turn += 1;
                self.opened = true;
                self.facts.plans_given.push(id);
                // The plan is the agent's, but the person took it for theirs; its heading says what kind of work it is.
                let plan = body.head(400);
                let heading = plan.lines().find_map(|line| line.trim().strip_prefix("# ")).unwrap_or_default();
                let ask = heard(&speech(heading)).ask.filter(|ask| ask.wants_change());
                self.facts.asked(ask.unwrap_or(Ask::Change)).push(id);
            }
            Kind::Command { name, .. } => {
                if let Some(ask) = by_command(&name.to_str()) {
                    self.opened = true;
                    self.facts.asked(ask).push(id);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self) -> SignalFacts {
        let mut facts = std::mem::take(&mut self.facts);
        // How it opened is asked for apart.
        self.facts.opening_reaction.clone_from(&facts.opening_reaction);
        let recent = |turn: usize| turn + LAST_TURNS > self.turn;
        let complaints = self.complaints.iter().filter(|complaint| recent(complaint.turn) && !complaint.answered);
        facts.frustration_signals = Cited(complaints.map(|complaint| complaint.event).collect());
        let abandoned = self.abandoned.iter().filter(|(turn, _)| recent(*turn));
        facts.abandonment_signals = Cited(abandoned.map(|(_, event)| *event).collect());
        facts.natural_language = language(&self.words);
        facts
    }
}

impl Signals {
    fn heard(&mut self, id: EventId, speech: &Speech<'_>, heard: Heard, pictures: bool) {
        let Heard { ask, symptom, reaction, acknowledged, go_ahead, commit, tests_later, limits, answer } = heard;
        let facts = &mut self.facts;
        if let Some(ask) = ask {
            facts.asked(ask).push(id);
        }
        let mark = |wanted: bool, fact: &mut Cited| {
            if wanted {
                fact.push(id);
            }
        };
        let names_a_place = speech.words.contains(['/', '`', '@']);
        mark(commit, &mut facts.commit_requests);
        mark(go_ahead, &mut facts.go_aheads);
        mark(acknowledged, &mut facts.acknowledgements);
        mark(tests_later, &mut facts.tests_deferred);
        mark(answer, &mut facts.answers_wanted);
        mark(speech.pasted_error, &mut facts.reported_errors);
        mark(symptom || speech.pasted_error, &mut facts.reported_symptoms);
        mark(limits || names_a_place, &mut facts.scope_given);
        let much = speech.words.len() >= MUCH_BYTES;
        mark(speech.pasted || pictures || names_a_place || much, &mut facts.context_given);
        mark(speech.steps >= PLAN_STEPS, &mut facts.plans_given);
        if !self.opened {
            // The prompt that opens a session is its task: "it still fails" there is what to work on.
            self.opened = true;
            let reaction = match reaction {
                Some(Reaction::Accepted) => Some(ACCEPTED),
                Some(Reaction::Frustrated | Reaction::Broken | Reaction::Corrected) => Some(COMPLAINT),
                // A report may be about what was done before; "continue" says that it is not over.
                _ if symptom || speech.pasted_error || ask.is_none() => None,
                _ => Some(OTHER),
            };
            facts.opening_reaction = reaction.map(Own::from);
            return;
        }
        let complains = match reaction {
            Some(Reaction::Frustrated | Reaction::Corrected) => true,
            Some(Reaction::Broken) => self.worked,
            Some(Reaction::Accepted | Reaction::Abandoned) | None => false,
        };
        if complains {
            // "Ugh. Is there another way?" steers.
            let steers = reaction == Some(Reaction::Frustrated) && ask.is_some() && !symptom;
            let correction = steers || reaction == Some(Reaction::Corrected);
            self.complaints.push(Complaint { turn: self.turn, event: id, correction, answered: false });
        }
        match reaction {
            Some(Reaction::Accepted) => facts.completion_signals.push(id),
            Some(Reaction::Abandoned) => self.abandoned.push((self.turn, id)),
            _ => {}
        }
    }
}

impl Signals {
    /// See the fact of the same name.
    pub(super) fn opening_reaction(&self) -> Option<Own> {
        self.facts.opening_reaction.clone()
    }
}

impl SignalFacts {
    fn asked(&mut self, ask: Ask) -> &mut Cited {
        match ask {
            Ask::Question => &mut self.asked_question,
            Ask::Investigation => &mut self.asked_investigation,
            Ask::Review => &mut self.asked_review,
            Ask::Plan => &mut self.asked_plan,
            Ask::SmallChange => &mut self.asked_small_change,
            Ask::BugFix | Ask::Symptom => &mut self.asked_bug_fix,
            Ask::Feature => &mut self.asked_feature,
            Ask::Refactor => &mut self.asked_refactor,
            Ask::Change => &mut self.asked_change,
        }
    }
}

/// What a slash command asks for, by its name: its body is nobody's words.
fn by_command(name: &str) -> Option<Ask> {
    name.split(|c: char| !c.is_ascii_alphabetic()).find_map(|word| {
        Some(match word {
            "review" | "audit" => Ask::Review,
            "plan" | "brainstorm" | "design" | "spec" => Ask::Plan,
            "fix" | "bugfix" | "debug" => Ask::BugFix,
            "refactor" | "simplify" => Ask::Refactor,
            "implement" | "feature" | "build" => Ask::Feature,
            "init" => Ask::Change,
            "investigate" | "research" => Ask::Investigation,
            "explain" => Ask::Question,
            _ => return None,
        })
    })
}

/// The language of some words. Code and paths between them are left out; too few words tell nothing.
fn language(words: &str) -> Option<Own> {
    let prose = || words.split_whitespace().filter(|word| !is_code(word));
    if prose().map(str::len).sum::<usize>() < ENOUGH_BYTES {
        return None;
    }
    // Telling languages apart in earnest costs more than reading the rest of the transcript, and in most prompts a few
    // small words tell as much. Where hardly a letter is beyond ASCII, and no small word is known, nothing would.
    if let Some(language) = by_small_words(words) {
        return Some(language.into());
    }
    let (mut ascii, mut beyond) = (0usize, 0usize);
    for letter in prose().flat_map(str::chars).filter(|c| c.is_alphabetic()) {
        *(if letter.is_ascii() { &mut ascii } else { &mut beyond }) += 1;
    }
    if beyond * 20 < ascii {
        return None;
    }
    let info = DETECTOR.detect(&prose().collect::<Vec<_>>().join(" "))?;
    (info.is_reliable() || info.confidence() > 0.5).then(|| info.lang().code().into())
}

fn is_code(word: &str) -> bool {
    word.contains(['/', '_', '`', '=', '{', '<', '(', '\\', '@']) || word.contains("::")
}

/// Languages that people are known to talk to agents in. Each further one makes every other less certain.
static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    use whatlang::Lang::{Ara, Cmn, Deu, Eng, Fra, Hin, Ita, Jpn, Kor, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr, Vie};
    Detector::with_allowlist(vec![
        Ara, Cmn, Deu, Eng, Fra, Hin, Ita, Jpn, Kor, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr, Vie,
    ])
});

/// Small words that stand in almost every sentence of a language and are rare in the others.
const SMALL_WORDS: &[(&str, &[&str])] = &[
    ("eng", &["the", "and", "is", "it", "to", "of", "that", "this", "with", "you", "not", "should", "what", "please"]),
    ("deu", &["der", "die", "das", "und", "ist", "nicht", "ein", "eine", "bitte", "mit", "auf", "wir", "den", "noch"]),
    ("fra", &["le", "la", "les", "et", "est", "une", "des", "pas", "dans", "pour", "vous", "sur", "avec", "du"]),
    ("spa", &["el", "los", "las", "una", "por", "para", "con", "que", "esta", "hay", "pero", "del", "como", "esto"]),
    ("por", &["os", "uma", "para", "com", "que", "isso", "esse", "mas", "do", "da", "dos", "por", "favor", "como"]),
    ("ita", &["il", "gli", "che", "una", "per", "con", "non", "questo", "della", "del", "sono", "anche", "ma", "di"]),
    ("nld", &["het", "een", "en", "niet", "van", "dat", "voor", "met", "maar", "zijn", "naar", "ook", "deze", "wat"]),
];

/// The language with the most small words that are no code: at least two, and more than any other has.
fn by_small_words(words: &str) -> Option<&'static str> {
    let mut hits = [0; SMALL_WORDS.len()];
    for word in words.split_whitespace().filter(|word| !is_code(word)) {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
        for (hits, (_, small)) in hits.iter_mut().zip(SMALL_WORDS) {
            *hits += u32::from(is_one_of(word, small));
        }
    }
    let most = hits.into_iter().max().filter(|most| *most >= 2)?;
    let mut best = hits.iter().zip(SMALL_WORDS).filter(|(hits, _)| **hits == most);
    let (_, (language, _)) = best.next()?;
    best.next().is_none().then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::facts_of;

    #[test]
    fn a_complaint_counts_only_near_the_end() {
        let late = facts_of("e1 user fix it\n e2 user ugh\n e3 user hm\n e4 user go on");
        assert_eq!(late.signals.failure_signals.count(), 1);
        let early = facts_of("e1 user fix it\n e2 user ugh\n e3 user a\n e4 user b\n e5 user c");
        assert!(early.signals.failure_signals.is_empty());
    }

    #[test]
    fn each_prompt_asks_for_one_thing_and_a_command_by_its_name() {
        let facts = facts_of("e1 user how does it work?\n e2 user fix it\n e3 user yes\n e4 command /team:review");
        let signals = facts.signals;
        assert_eq!(signals.asked_question.0, [EventId(1)]);
        assert_eq!(signals.asked_bug_fix.0, [EventId(2)]);
        assert_eq!(signals.asked_review.0, [EventId(4)]);
    }

    #[test]
    fn the_language_of_the_prompts() {
        let facts = facts_of("e1 user Bitte behebe den Fehler in der Anmeldung und schreibe einen Test dafür");
        assert_eq!(facts.signals.natural_language.as_deref(), Some("deu"));
        for (words, expected) in [
            ("the parser is broken, please look at it", Some("eng")),
            ("bitte schau dir das an, es geht nicht", Some("deu")),
            ("パーサーが壊れています。直してください", Some("jpn")),
            ("cargo test --workspace src/main.rs", None),
        ] {
            let facts = facts_of(&format!("e1 user {words}"));
            assert_eq!(facts.signals.natural_language.as_deref(), expected, "{words}");
        }
        assert_eq!(facts_of("e1 user ok").signals.natural_language, None);
    }
}
