//! What people's words say about how it went, and in which language they say it.

use super::Fold;
use super::calls::Step;
use super::claims::{Reaction, reaction};
use super::value::{Cited, facts};
use crate::sessions::{Event, EventId, Kind};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
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
                let words = prompt.words;
                let opening = words.char_indices().take_while(|(at, _)| *at < REACTION_BYTES).last();
                let opening = opening.and_then(|(at, c)| words.get(..at + c.len_utf8())).unwrap_or_default();
                match reaction(opening) {
                    Some(Reaction::Accepted) => self.accepted.push(event.origin.id),
                    Some(Reaction::Frustrated | Reaction::Abandoned) => {
                        self.failures.push((self.turn, event.origin.id));
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
    if prose.iter().map(|word| word.len()).sum::<usize>() < 12 {
        return None;
    }
    // Telling languages apart in earnest costs more than reading the rest of the transcript, and in most prompts a few
    // small words tell as much. Where hardly a letter is beyond ASCII, and no small word is known, nothing would.
    if let Some(language) = by_small_words(&prose) {
        return Some(language.to_string());
    }
    let letters = |beyond: bool| {
        let counts = |c: &char| c.is_alphabetic() && c.is_ascii() != beyond;
        prose.iter().flat_map(|word| word.chars()).filter(counts).count()
    };
    if letters(true) * 20 < letters(false) {
        return None;
    }
    let info = DETECTOR.detect(&prose.join(" "))?;
    (info.is_reliable() || info.confidence() > 0.5).then(|| info.lang().code().to_string())
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

/// The language with the most small words: at least two, and more than any other has.
fn by_small_words(prose: &[&str]) -> Option<&'static str> {
    /// For each small word, a bit for each language that has it.
    static LANGUAGES: LazyLock<HashMap<&str, u32>> = LazyLock::new(|| {
        let mut languages = HashMap::new();
        for (language, (_, words)) in SMALL_WORDS.iter().enumerate() {
            for word in *words {
                *languages.entry(*word).or_default() |= 1 << language;
            }
        }
        languages
    });
    let mut hits = [0; SMALL_WORDS.len()];
    for word in prose {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
        let languages = LANGUAGES.get(word.as_str()).copied().unwrap_or_default();
        for (language, hits) in hits.iter_mut().enumerate() {
            *hits += languages >> language & 1;
        }
    }
    let most = *hits.iter().max()?;
    let mut best = hits.iter().zip(SMALL_WORDS).filter(|(hits, _)| **hits == most).map(|(_, (language, _))| *language);
    best.next().filter(|_| most >= 2 && best.next().is_none())
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
