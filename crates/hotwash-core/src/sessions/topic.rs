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
use crate::facts::calls::KeyMap;
use crate::words::{Heads, each_run, head_len, is_alphanumeric};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
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
/// Room for the prompts and files of most sessions, as far as they are looked at.
const HEARD_BYTES: usize = 500;
/// A word that says something, with all that stands around it, takes more.
const WORD_BYTES: usize = 16;

/// A set of words by their beginnings. Those are letters, so that they have to be mixed to be hashes.
type Stems = HashSet<u64, BuildHasherDefault<Mixed>>;

/// Mixes a number into a hash.
#[derive(Clone, Copy, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

/// What a session has been about so far. Words are looked at when somebody asks, which in most sessions nobody does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Vocabulary {
    words: Stems,
    /// Texts that have not been looked at yet.
    heard: String,
}

impl Vocabulary {
    /// Takes a text in.
    pub fn learn(&mut self, text: &str) {
        if self.heard.capacity() == 0 {
            self.heard.reserve(HEARD_BYTES);
        }
        self.heard.push_str(beginning(text));
        self.heard.push('\n');
    }

    /// Whether it shares a word with some others. Looks no further at what was taken in since than to the first one: most
    /// prompts go on with what the session began with.
    fn shares(&mut self, others: &Stems) -> bool {
        let Vocabulary { words, heard } = self;
        let mut shared = others.iter().any(|word| words.contains(word));
        let mut looked_at = 0;
        while let Some(rest) = heard.get(looked_at..).filter(|rest| !rest.is_empty() && !shared) {
            let text = rest.split_inclusive('\n').next().unwrap_or(rest);
            words.reserve(text.len() / WORD_BYTES);
            for_each_word(text, |word| {
                shared |= others.contains(&word);
                words.insert(word);
            });
            looked_at += text.len();
        }
        heard.drain(..looked_at);
        shared
    }
}

/// What is asked: is the next prompt about something else?
pub struct Question<'a> {
    /// Words of the prompts so far and of the names of files touched.
    pub vocabulary: &'a mut Vocabulary,
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
        let mut words = Stems::default();
        words.reserve(beginning(prompt).len() / WORD_BYTES);
        for_each_word(prompt, |word| {
            words.insert(word);
        });
        if words.len() < FEWEST_WORDS || vocabulary.shares(&words) || vocabulary.words.len() < FEWEST_WORDS {
            return None;
        }
        let mut answered = false;
        for_each_word(&answer(), |word| answered |= words.contains(&word));
        (!answered).then_some(1000)
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
    let Some(head) = ascii_beginning(prompt) else { return points_back_in_any_script(prompt) };
    let first = head.split(separates).find(|word| !word.is_empty());
    first.is_none_or(|first| OPENINGS.iter().any(|opening| opening.eq_ignore_ascii_case(first)))
        || holds(head.as_bytes(), &BACKWARDS)
}

/// The beginning of a prompt as ASCII, unless it has letters beyond that. Other signs, such as dashes and quotes, stand
/// between words like blanks.
fn ascii_beginning(prompt: &str) -> Option<Cow<'_, str>> {
    let head = prompt.get(..POINTING_CHARS).unwrap_or(prompt);
    if head.is_ascii() {
        return Some(Cow::Borrowed(head));
    }
    // Each character becomes a byte.
    let mut ascii = String::with_capacity(POINTING_CHARS);
    let mut rest = prompt;
    loop {
        let left = rest.as_bytes().iter().take(POINTING_CHARS - ascii.len());
        let (plain, behind) = rest.split_at_checked(left.take_while(|byte| byte.is_ascii()).count())?;
        ascii.push_str(plain);
        let mut behind = behind.chars();
        match behind.next() {
            Some(other) if ascii.len() < POINTING_CHARS => {
                if is_alphanumeric(other) {
                    return None;
                }
                ascii.push(' ');
            }
            _ => return Some(Cow::Owned(ascii)),
        }
        rest = behind.as_str();
    }
}

/// [`points_back`] for any prompt.
fn points_back_in_any_script(prompt: &str) -> bool {
    let end = prompt.char_indices().nth(POINTING_CHARS).map_or(prompt.len(), |(end, _)| end);
    let head = prompt.get(..end).unwrap_or_default().to_lowercase();
    let mut words = head.split(separates).filter(|word| !word.is_empty());
    words.clone().next().is_none_or(|first| OPENINGS.contains(&first))
        || words.any(|word| BACKWARDS.contain_word(word))
        || UNSPACED.iter().any(|mark| head.contains(mark))
}

/// Whether a character is no part of a word.
fn separates(character: char) -> bool {
    !is_alphanumeric(character) && character != '\''
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
static BACKWARDS: Heads = Heads::of(&[
    "it", "its", "that", "those", "these", "them", "same", "again", "above", "previous", "earlier", "before",
    "instead", "das", "dies", "diese", "dieser", "dieses", "wieder", "vorhin", "ça", "cela", "encore", "même", "eso",
    "esto", "otra", "mismo", "isso", "isto", "mesmo", "novo",
]);
/// The same in scripts that put no spaces between words.
const UNSPACED: &[&str] = &["这", "那", "再", "继续", "还是", "これ", "それ", "その", "もう一度", "続け", "まだ"];

/// Whether one of some words stands in an ASCII text. An apostrophe is part of a word.
fn holds(text: &[u8], words: &Heads) -> bool {
    let goes_on = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'\'');
    let mut holds = false;
    each_run(text, |run| {
        holds |= words.contain(run.head)
            && !goes_on(text.get(run.start + head_len(run.head)))
            && text.get(run.start.wrapping_sub(1)) != Some(&b'\'');
    });
    holds
}

/// As much of a text as is looked at.
fn beginning(text: &str) -> &str {
    let end = (0..=LOOK_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Shows the words of a text that say something, as keys of their beginnings. Scripts that put no space between words are
/// read two characters at a time.
fn for_each_word(text: &str, mut tell: impl FnMut(u64)) {
    let text = beginning(text);
    each_run(text.as_bytes(), |run| {
        if !run.ascii {
            let rest = text.get(run.start..).unwrap_or_default();
            let end = rest.bytes().position(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
            return for_each_word_of_any_script(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default(), &mut tell);
        }
        let letters = head_len(run.head);
        let stem = (run.head as u32).swap_bytes() >> (8 * STEM_CHARS.saturating_sub(letters));
        if says_something(stem, letters) {
            tell(u64::from(stem));
        }
    });
}

fn for_each_word_of_any_script(text: &str, tell: &mut dyn FnMut(u64)) {
    for word in text.split(|c: char| !is_alphanumeric(c)) {
        if word.chars().any(|c| c >= '\u{2E80}') {
            let characters: Vec<char> = word.chars().collect();
            for pair in characters.windows(2) {
                tell(xxh3_64(pair.iter().collect::<String>().as_bytes()));
            }
            continue;
        }
        let stem: String = word.chars().take(STEM_CHARS).flat_map(char::to_lowercase).collect();
        let letters = word.chars().count();
        if !stem.is_ascii() {
            if letters >= FEWEST_LETTERS {
                tell(xxh3_64(stem.as_bytes()));
            }
        } else if says_something(packed(&stem), letters) {
            tell(u64::from(packed(&stem)));
        }
    }
}

fn says_something(stem: u32, letters: usize) -> bool {
    letters >= FEWEST_LETTERS && SMALL.binary_search(&stem).is_err()
}

/// Up to four ASCII letters as a number.
const fn packed(stem: &str) -> u32 {
    let (bytes, mut number, mut at) = (stem.as_bytes(), 0, 0);
    while at < bytes.len() && at < STEM_CHARS {
        number = number << 8 | bytes[at] as u32;
        at += 1;
    }
    number
}

/// Beginnings of words that stand in any prompt, packed and in order.
static SMALL: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut small: Vec<u32> = SMALL_WORDS.split_whitespace().map(packed).collect();
    small.sort_unstable();
    small
});

const SMALL_WORDS: &str = "
    the and for with this that from have not are was you your can coul woul shou will plea want need make let lets when
    what wher whic how why who also just like into out all any some then than ther thes they them use usin get now new
    add fix our its has had does did one two but der die das und ist nich ein eine bitt mit auf wir den dem des les une
    est pas dans pour vous avec que qui los las por para con una del como uma com dos";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn signs_between_words_do_not_hide_what_points_back(
            prompt in "((It|it's|that|Also|word|before|ça|É|这|K|x1)[-',“”—… \u{a0}\u{3000}\n]{1,3}){0,90}"
        ) {
            prop_assert_eq!(points_back(&prompt), points_back_in_any_script(&prompt));
        }

        #[test]
        fn a_prompt_without_foreign_letters_is_ascii(prompt in "([a-z]{1,9}[“”—… ]{1,2}){0,90}") {
            let ascii = ascii_beginning(&prompt).unwrap();
            prop_assert!(ascii.is_ascii());
            prop_assert_eq!(ascii.chars().count(), prompt.chars().count().min(POINTING_CHARS));
        }
    }

    fn vocabulary(texts: &[&str]) -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        for text in texts {
            vocabulary.learn(text);
        }
        vocabulary
    }

    fn ask(vocabulary: &mut Vocabulary, answer: &str, prompt: &str) -> Option<u16> {
        ByWords.shift(Question { vocabulary, answer: &|| answer.to_owned(), prompt })
    }

    fn shift(before: &[&str], answer: &str, prompt: &str) -> Option<u16> {
        ByWords.may_shift(prompt).then(|| ask(&mut vocabulary(before), answer, prompt)).flatten()
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
    fn an_earlier_question_changes_no_answer() {
        let before = ["Please validate addresses in the login form", "login_form.tsx", "Explain the invoices table"];
        let prompts = [
            "Write another form component covering legacy exports sent monthly",
            "Write a migration dropping legacy invoices from our database schema",
            "Paint every garden fence purple tomorrow morning, thanks",
            "Paint nothing",
        ];
        let wanted = prompts.map(|prompt| ask(&mut vocabulary(&before), "", prompt));
        assert_eq!(wanted, [None, None, Some(1000), None]);
        for first in prompts {
            for (second, wanted) in prompts.iter().zip(wanted) {
                let mut asked = vocabulary(&before);
                ask(&mut asked, "", first);
                assert_eq!(ask(&mut asked, "", second), wanted, "{second} after {first}");
            }
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
