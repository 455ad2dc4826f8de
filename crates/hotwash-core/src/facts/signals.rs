//! What people's words say about how it went, and in which language they say it.

use super::Fold;
use super::calls::Step;
use super::claims::{Reaction, reaction};
use super::value::{Cited, facts};
use crate::sessions::{Event, EventId, Kind};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use whatlang::Detector;

/// Failure signals count in the last turns only.
const LAST_TURNS: u32 = 3;
/// A reaction stands at the beginning of what a person says.
const REACTION_BYTES: usize = 600;
/// Enough words to tell a language.
const LANGUAGE_BYTES: usize = 400;

facts! {
    /// What people said of it.
    pub struct SignalFacts {
        /// Prompts that accept what was done ("thanks", "that works").
        /// Why: explicit acceptance is the best sign of a goal reached.
        /// Blind: most people just go on; only a few languages are read.
        completion_signals: Cited,
        /// Prompts of the last three turns that complain or give up ("still broken", "never mind").
        /// Why: a session that ends so did not reach its goal.
        /// Blind: as above; irony.
        failure_signals: Cited,
        /// The language of the prompts, as a three-letter code.
        /// Why: phrases are only read in a few languages.
        /// Blind: prompts too short to tell.
        natural_language: Option<String>,
    }
}

/// The fold behind [`SignalFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Signals {
    turn: u32,
    accepted: Vec<EventId>,
    /// Complaints with the turn they opened.
    failures: Vec<(u32, EventId)>,
    words: String,
}

impl Fold for Signals {
    type Facts = SignalFacts;

    fn event(&mut self, event: &Event<'_>, _: &Step<'_>) {
        match &event.kind {
            Kind::Prompt(prompt) => {
                self.turn += 1;
                let words = prompt.words();
                let opening = words.char_indices().take_while(|(at, _)| *at < REACTION_BYTES).last();
                let opening = opening.and_then(|(at, c)| words.get(..at + c.len_utf8())).unwrap_or_default();
                match reaction(opening) {
                    Some(Reaction::Accepted) => self.accepted.push(event.origin.id),
                    Some(Reaction::Frustrated | Reaction::Abandoned) => {
                        self.failures.push((self.turn, event.origin.id))
                    }
                    None => {}
                }
                if self.words.len() < LANGUAGE_BYTES {
                    self.words.push_str(opening);
                    self.words.push('\n');
                }
            }
            Kind::PlanApproval(_) => self.turn += 1,
            _ => {}
        }
    }

    fn finish(&self) -> SignalFacts {
        let recent = self.failures.iter().filter(|(turn, _)| turn + LAST_TURNS > self.turn);
        SignalFacts {
            completion_signals: Cited(self.accepted.clone()),
            failure_signals: Cited(recent.map(|(_, id)| *id).collect()),
            natural_language: language(&self.words),
        }
    }
}

/// The language of some words. Code and paths between them are left out; too few words tell nothing.
fn language(words: &str) -> Option<String> {
    let prose: Vec<&str> = words
        .split_whitespace()
        .filter(|word| !word.contains(['/', '_', '`', '=', '{', '<', '(', '\\', '@']) && !word.contains("::"))
        .collect();
    let prose = prose.join(" ");
    if prose.chars().filter(|c| c.is_alphabetic()).count() < 12 {
        return None;
    }
    if is_english(&prose) {
        return Some("eng".to_string());
    }
    let info = DETECTOR.detect(&prose)?;
    (info.is_reliable() || info.confidence() > 0.5).then(|| info.lang().code().to_string())
}

/// Languages that people are known to talk to agents in. Each further one makes every other less certain.
static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    use whatlang::Lang::{Ara, Cmn, Deu, Eng, Fra, Hin, Ita, Jpn, Kor, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr, Vie};
    Detector::with_allowlist(vec![
        Ara, Cmn, Deu, Eng, Fra, Hin, Ita, Jpn, Kor, Nld, Pol, Por, Rus, Spa, Swe, Tur, Ukr, Vie,
    ])
});

/// Whether words are plainly English: nothing but ASCII, and one in eight a word that only English has.
/// Telling languages apart in earnest costs more than reading the whole transcript.
fn is_english(prose: &str) -> bool {
    const ENGLISH: &[&str] =
        &["the", "and", "is", "it", "to", "of", "that", "this", "with", "for", "you", "we", "not", "should", "what"];
    let words = prose.split(' ').count();
    let english = prose.split(' ').filter(|word| ENGLISH.contains(word)).count();
    prose.is_ascii() && english >= 2 && english * 8 >= words
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;

    #[test]
    fn a_complaint_counts_only_near_the_end() {
        let late = facts_of("e1 user fix it\n e2 user still broken\n e3 user hm\n e4 user go on");
        assert_eq!(late.signals.failure_signals.count(), 1);
        let early = facts_of("e1 user still broken\n e2 user a\n e3 user b\n e4 user c");
        assert!(early.signals.failure_signals.is_empty());
    }

    #[test]
    fn the_language_of_the_prompts() {
        let facts = facts_of("e1 user Bitte behebe den Fehler in der Anmeldung und schreibe einen Test dafür");
        assert_eq!(facts.signals.natural_language.as_deref(), Some("deu"));
        assert_eq!(facts_of("e1 user ok").signals.natural_language, None);
    }
}
