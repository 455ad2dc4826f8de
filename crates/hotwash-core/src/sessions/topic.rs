//! Whether a prompt is about something else than the session so far.
//!
//! Offline this is told by words alone, and confirmed by the files that are touched next (see
//! [`pieces`](super::pieces)). A false cut is worse than a missed one, so it takes a prompt of some length that shares
//! no word with anything the person asked for, no name of a file that was touched, nothing of the last answer, and that
//! does not point back ("it", "again", "the same").
//!
//! What a model said of a prompt is replayed ([`Decisions`]): it decides at once, and words are left with the prompts that
//! no model was asked about, or did not decide.

use super::Key;
use crate::facts::calls::{KeyMap, KeySet};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// A prompt with fewer words that say something tells nothing about its topic.
const FEWEST_WORDS: usize = 6;
/// Words are compared by their beginnings, so that `test`, `tests` and `testing` are one.
const STEM_CHARS: usize = 4;
/// Nor does one of fewer bytes: a dozen characters without spaces can be six words.
const FEWEST_BYTES: usize = 20;
/// A shorter word says nothing.
const FEWEST_LETTERS: usize = 3;
/// How much of a prompt may point back.
const POINTING_CHARS: usize = 400;
/// How much of a text is looked at.
const LOOK_BYTES: usize = 1000;

/// What a session has been about so far: its words, by the hashes of their beginnings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Vocabulary(KeySet<u64>);

impl Vocabulary {
    /// Takes a text in.
    pub fn learn(&mut self, text: &str) {
        self.0.extend(stems(text));
    }
}

/// So many words of a session are remembered.
const MOST_SPOKEN: usize = 300;
/// And so many of a prompt.
const MOST_ASKED: usize = 60;
/// A prompt with fewer words that say something may be about anything.
const FEWEST_ASKED: usize = 2;

impl Vocabulary {
    /// Its words, in order.
    pub(super) fn spoken(&self) -> Vec<u64> {
        few(&self.0, MOST_SPOKEN)
    }
}

/// The words of a prompt that say what it is about; none where it points back or says too little.
pub(super) fn asked(prompt: &str) -> Vec<u64> {
    let asked = if points_back(prompt) { Vec::new() } else { few(&stems(prompt), MOST_ASKED) };
    if asked.len() < FEWEST_ASKED { Vec::new() } else { asked }
}

fn few(words: &KeySet<u64>, most: usize) -> Vec<u64> {
    let mut words: Vec<u64> = words.iter().copied().collect();
    words.sort_unstable();
    words.truncate(most);
    words
}

/// What is asked: is the next prompt about something else?
pub struct Question<'a> {
    /// Words of the prompts so far and of the names of files touched.
    pub vocabulary: &'a Vocabulary,
    /// The agent's last answer, for who asks for it.
    pub answer: &'a dyn Fn() -> String,
    /// The next prompt.
    pub prompt: &'a str,
}

/// What was decided of a prompt before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// It goes on with the same.
    Same,
    /// It is about something else.
    Other {
        /// How sure that is, in thousandths.
        sure: u16,
    },
}

/// Who tells one topic from another.
pub trait TopicJudge {
    /// What is known of a prompt by its key. What is known decides, whatever its words are.
    fn known(&self, _prompt: Key) -> Known {
        Known::Nothing
    }

    /// Whether a prompt may be about something else at all, by itself.
    fn may_shift(&self, prompt: &str) -> bool;

    /// How much of a prompt is about something else, in thousandths; nothing where it is the same, or cannot be told.
    fn shift(&self, question: Question<'_>) -> Option<u16>;
}

/// The judge that only counts words.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByWords;

impl TopicJudge for ByWords {
    fn may_shift(&self, prompt: &str) -> bool {
        prompt.len() >= FEWEST_BYTES && !points_back(prompt)
    }

    fn shift(&self, question: Question<'_>) -> Option<u16> {
        let Question { vocabulary, answer, prompt } = question;
        let words = stems(prompt);
        let known = &vocabulary.0;
        if words.len() < FEWEST_WORDS || known.len() < FEWEST_WORDS || !words.is_disjoint(known) {
            return None;
        }
        words.is_disjoint(&stems(&answer())).then_some(1000)
    }
}

/// The judge that repeats what was decided before, by the keys of prompts, and counts words where nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions(KeyMap<Key, Known>);

impl FromIterator<(Key, Known)> for Decisions {
    fn from_iter<I: IntoIterator<Item = (Key, Known)>>(decided: I) -> Decisions {
        Decisions(decided.into_iter().filter(|(_, known)| *known != Known::Nothing).collect())
    }
}

impl TopicJudge for Decisions {
    fn known(&self, prompt: Key) -> Known {
        self.0.get(&prompt).copied().unwrap_or_default()
    }

    fn may_shift(&self, prompt: &str) -> bool {
        ByWords.may_shift(prompt)
    }

    fn shift(&self, question: Question<'_>) -> Option<u16> {
        ByWords.shift(question)
    }
}

/// Whether a prompt begins with, or leans on, what was before.
fn points_back(prompt: &str) -> bool {
    let head: String = prompt.chars().take(POINTING_CHARS).collect::<String>().to_lowercase();
    let separates = |character: char| !character.is_alphanumeric() && character != '\'';
    let mut words = head.split(separates).filter(|word| !word.is_empty());
    words.clone().next().is_none_or(|first| OPENINGS.contains(&first))
        || words.any(|word| BACKWARDS.contains(&word))
        || UNSPACED.iter().any(|mark| head.contains(mark))
}

/// Words with which a prompt goes on with what was before.
const OPENINGS: &[&str] = &[
    "also",
    "and",
    "but",
    "now",
    "then",
    "ok",
    "okay",
    "yes",
    "no",
    "next",
    "continue",
    "again",
    "still",
    "wait",
    "actually",
    "instead",
    "und",
    "aber",
    "auch",
    "jetzt",
    "nun",
    "ja",
    "nein",
    "weiter",
    "noch",
    "et",
    "mais",
    "aussi",
    "maintenant",
    "oui",
    "non",
    "y",
    "pero",
    "también",
    "ahora",
    "sí",
    "e",
    "mas",
    "também",
    "agora",
    "sim",
    "não",
];
/// Words that lean on what was before.
#[rustfmt::skip]
const BACKWARDS: &[&str] = &[
    "it", "its", "that", "those", "these", "them", "same", "again", "above", "previous", "earlier", "before",
    "instead", "das", "dies", "diese", "dieser", "dieses", "wieder", "vorhin", "ça", "cela", "encore", "même", "eso",
    "esto", "otra", "mismo", "isso", "isto", "mesmo", "novo",
];
/// The same in scripts that put no spaces between words.
const UNSPACED: &[&str] = &["这", "那", "再", "继续", "还是", "これ", "それ", "その", "もう一度", "続け", "まだ"];

/// As much of a text as is looked at.
fn beginning(text: &str) -> &str {
    let end = (0..=LOOK_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The words of a text that say something, as hashes of their beginnings. Scripts that put no space between words are
/// read two characters at a time.
fn stems(text: &str) -> KeySet<u64> {
    let mut stems = KeySet::default();
    for word in beginning(text).split(|c: char| !c.is_alphanumeric()) {
        if word.chars().any(|c| c >= '\u{2E80}') {
            let characters: Vec<char> = word.chars().collect();
            stems.extend(characters.windows(2).map(|pair| hash(&pair.iter().collect::<String>())));
        } else if word.chars().count() >= FEWEST_LETTERS {
            let stem: String = word.chars().take(STEM_CHARS).flat_map(char::to_lowercase).collect();
            if !SMALL.contains(&*stem) {
                stems.insert(hash(&stem));
            }
        }
    }
    stems
}

fn hash(stem: &str) -> u64 {
    xxh3_64(stem.as_bytes())
}

/// Beginnings of words that stand in any prompt.
static SMALL: LazyLock<HashSet<&str>> = LazyLock::new(|| SMALL_WORDS.split_whitespace().collect());

const SMALL_WORDS: &str = "
    the and for with this that from have not are was you your can coul woul shou will plea want need make let lets when
    what wher whic how why who also just like into out all any some then than ther thes they them use usin get now new
    add fix our its has had does did one two but der die das und ist nich ein eine bitt mit auf wir den dem des les une
    est pas dans pour vous avec que qui los las por para con una del como uma com dos";

#[cfg(test)]
mod tests {
    use super::*;
    fn vocabulary(texts: &[&str]) -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        for text in texts {
            vocabulary.learn(text);
        }
        vocabulary
    }

    fn ask(vocabulary: &Vocabulary, answer: &str, prompt: &str) -> Option<u16> {
        ByWords.shift(Question { vocabulary, answer: &|| answer.to_owned(), prompt })
    }

    fn shift(before: &[&str], answer: &str, prompt: &str) -> Option<u16> {
        ByWords.may_shift(prompt).then(|| ask(&vocabulary(before), answer, prompt)).flatten()
    }

    #[test]
    fn only_a_prompt_without_a_word_in_common_is_another_topic() {
        let before = ["Please make the login form validate e-mail addresses before submitting", "login_form.tsx"];
        let cases = [
            ("Write a migration dropping the legacy invoices table from our database schema", true),
            ("Write a migration for the address column, dropping legacy invoices entirely", false),
            ("Write another form component covering legacy invoices exported monthly", false),
            ("Does it validate numbers, too?", false),
            ("thanks", false),
            ("also write a migration dropping the legacy invoices table of our database", false),
            ("Undo that and write a migration dropping legacy invoices from database tables", false),
            ("数据库迁移删除旧发票表并且更新所有报表", true),
            ("Schreibe eine Migration für veraltete Rechnungen und prüfe die Datenbank", true),
            ("Schreibe eine Migration für das Login und prüfe die Datenbank gründlich", false),
        ];
        for (prompt, expected) in cases {
            assert_eq!(shift(&before, "", prompt).is_some(), expected, "{prompt}");
        }
    }

    #[test]
    fn what_the_agent_offered_is_no_other_topic() {
        let prompt = "Write a migration dropping the legacy invoices table from our database schema";
        let before = ["Please make the login form validate e-mail addresses before submitting"];
        assert!(shift(&before, "", prompt).is_some());
        assert!(shift(&before, "Should I clean up the old invoices as well?", prompt).is_none());
    }

    #[test]
    fn too_little_before_tells_nothing() {
        let prompt = "Write a migration dropping the legacy invoices table from our database schema";
        assert!(shift(&["hello"], "", prompt).is_none());
    }
}
