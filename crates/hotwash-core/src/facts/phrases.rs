//! Phrases as data (`data/phrases/`): many of them, of several meanings and languages, looked for in one pass at word
//! edges.
//!
//! A phrase is found by the beginning of its first word, which is looked up once for each word of a text. That costs less
//! than an automaton to build and to run: there are more than a thousand phrases, and most texts are a line or two.

use crate::words::{Heads, each_run_of, head, head_len, is_alphanumeric};

/// Phrases of several meanings.
pub(super) struct Phrases<M> {
    by_word: Vec<FirstWord>,
    /// What tells soonest that no phrase begins with a word of a text, as nearly none does.
    begins: Box<[Begins; BEGINS]>,
    list: Vec<Phrase<M>>,
}

/// A first word and where its phrases stand in the list, the longest first. Each is at the place that its hash gives it,
/// or at the first free one behind that. There are more places than words.
#[derive(Clone, Copy, Default)]
struct FirstWord {
    head: u64,
    from: u16,
    to: u16,
}

/// What is known of the first words that share some bits of their hashes.
#[derive(Clone, Copy, Default)]
struct Begins {
    /// A bit for some more bits of each.
    heads: u32,
    /// How their phrases go on, a bit for each letter: most texts that hold the word go on otherwise.
    next: u32,
}

/// The place of a first word, or where it would be. How many places there are is a power of two, so that no number has to
/// be divided.
fn place(words: &[FirstWord], head: u64) -> usize {
    let mut at = hash(head) as usize & (words.len() - 1);
    while words[at].head != head && words[at].to != 0 {
        at = (at + 1) & (words.len() - 1);
    }
    at
}

/// The last bits of the letter with which a text goes on behind a word at a place and the sign behind that. Where the text
/// ends, only phrases can stand that end there, too.
#[inline]
fn next(text: &[u8], start: usize, head: u64) -> u32 {
    u32::from(text.get(start + head_len(head) + 1).copied().unwrap_or_default() & 31)
}

#[derive(Clone, Copy)]
struct Phrase<M> {
    words: &'static str,
    meaning: M,
    /// Its first bytes, and which of them it has: most phrases differ there from a text that begins with the same word.
    first: u64,
    mask: u64,
}

impl<M> Phrase<M> {
    fn new(words: &'static str, meaning: M) -> Self {
        let mask = !0 >> (64 - 8 * words.len().clamp(1, 8));
        Phrase { words, meaning, first: first_bytes(words.as_bytes()), mask }
    }
}

/// Up to eight bytes of a text as a number, letters in lower case and some signs like others.
fn first_bytes(text: &[u8]) -> u64 {
    const LOWER: u64 = u64::from_le_bytes([0x20; 8]);
    let bytes = text.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        bytes
    });
    u64::from_le_bytes(bytes) | LOWER
}

const BEGINS: usize = 1024;

/// Hardly a phrase takes fewer, with what stands around it.
const PHRASE_BYTES: usize = 12;

/// The place of a word among those that begin phrases, and the number of its bit there.
#[inline]
fn bit(head: u64) -> (usize, u32) {
    let hash = hash(head);
    ((hash >> 54) as usize % BEGINS, (hash >> 49) as u32 & 31)
}

/// A phrase that stands in some words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<M> {
    pub(super) meaning: M,
    pub(super) phrase: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<M: Copy> Phrases<M> {
    /// Phrases out of texts of sections, lines and phrases. `meaning` says what the phrases of a section mean.
    pub(super) fn new(texts: &[&'static str], meaning: impl Fn(&str) -> Option<M>) -> Self {
        let mut list = Vec::with_capacity(texts.iter().map(|text| text.len()).sum::<usize>() / PHRASE_BYTES);
        for (section, _, phrases) in texts.iter().flat_map(|text| lines(text)) {
            let Some(meaning) = meaning(section) else { continue };
            list.extend(each_of(phrases).map(|phrase| Phrase::new(phrase, meaning)));
        }
        // By the first word, the longest first, else in their order. All of that in one number is sorted soonest.
        let key = |(at, phrase): (u32, &Phrase<M>)| {
            let long = !(phrase.words.len() as u32);
            u128::from(first_word(phrase.words)) << 64 | u128::from(long) << 32 | u128::from(at)
        };
        let mut order: Vec<u128> = (0..).zip(&list).map(key).collect();
        order.sort_unstable();
        let word = |key: u128| (key >> 64) as u64;
        let list: Vec<Phrase<M>> = order.iter().filter_map(|key| list.get(*key as u32 as usize).copied()).collect();
        let by_first_word = || order.chunk_by(|one, other| word(*one) == word(*other));
        let mut by_word = vec![FirstWord::default(); (2 * by_first_word().count()).next_power_of_two()];
        let mut begins = Box::new([Begins::default(); BEGINS]);
        let mut from = 0;
        for same in by_first_word() {
            let head = same.first().copied().map_or(0, word);
            let to = from + same.len();
            let at = place(&by_word, head);
            by_word[at] = FirstWord { head, from: from as u16, to: to as u16 };
            let (place, bit) = bit(head);
            begins[place].heads |= 1 << bit;
            for phrase in &list[from..to] {
                let ends = phrase.words.len() <= head_len(head) + 1;
                begins[place].next |= if ends { !0 } else { 1 << next(phrase.words.as_bytes(), 0, head) };
            }
            from = to;
        }
        Phrases { by_word, begins, list }
    }

    /// Tells the phrases that stand in some words at word edges, in order, the longest first. What is not ASCII is in
    /// lower case.
    pub(super) fn find(&self, words: &str, mut tell: impl FnMut(Found<M>)) {
        let begins = |start: usize, head: u64| {
            let (place, bit) = bit(head);
            let Begins { heads, next: letters } = self.begins[place];
            (heads >> bit) & (letters >> next(words.as_bytes(), start, head)) & 1 != 0
        };
        each_word(words, begins, |start, head| {
            let text = words.as_bytes().get(start..).unwrap_or_default();
            let here = first_bytes(text);
            let FirstWord { from, to, .. } = self.by_word[place(&self.by_word, head)];
            for phrase in self.list.get(from as usize..to as usize).unwrap_or_default() {
                if (here ^ phrase.first) & phrase.mask == 0 {
                    found(words, start, phrase, &mut tell);
                }
            }
        });
    }
}

/// Tells a phrase of which the beginning stands at a place, if all of it does.
fn found<M: Copy>(words: &str, start: usize, phrase: &Phrase<M>, tell: &mut impl FnMut(Found<M>)) {
    let &Phrase { words: phrase, meaning, .. } = phrase;
    let end = start + phrase.len();
    let stands = words.as_bytes().get(start..end).is_some_and(|it| it.eq_ignore_ascii_case(phrase.as_bytes()));
    if stands && ends_at(words, phrase, end) {
        tell(Found { meaning, phrase, start, end });
    }
}

/// Whether a word ends there, too. Chinese and Japanese do not put spaces between words.
fn ends_at(words: &str, phrase: &str, end: usize) -> bool {
    let letter = |c: char| is_alphanumeric(c) && !is_unspaced(c);
    phrase.chars().next_back().is_some_and(is_unspaced)
        || !words.get(end..).and_then(|rest| rest.chars().next()).is_some_and(letter)
}

/// Shows the words of a text with where they begin and their heads, less those that are seen at once to begin nothing.
/// An unspaced character is a word.
fn each_word(words: &str, begins: impl Fn(usize, u64) -> bool, mut tell: impl FnMut(usize, u64)) {
    each_run_of(words.as_bytes(), begins, |run| {
        if run.ascii {
            tell(run.start, run.head);
        } else {
            each_word_of_run(words, run.start, &mut tell);
        }
    });
}

/// The same for the run that begins at a place, of any script.
#[inline(never)]
fn each_word_of_run(words: &str, mut at: usize, tell: &mut impl FnMut(usize, u64)) {
    let bytes = words.as_bytes();
    while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
        let start = at;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii() {
                if !byte.is_ascii_alphanumeric() {
                    break;
                }
                at += 1;
                continue;
            }
            let character = words.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
            let alone = is_unspaced(character) && at == start;
            if !is_alphanumeric(character) || is_unspaced(character) && !alone {
                break;
            }
            at += character.len_utf8();
            if alone {
                break;
            }
        }
        if at > start {
            tell(start, head(&bytes[start..at]));
        } else {
            // What is no letter: a character is never longer than what is left.
            at += words.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        }
    }
}

/// The hash of a word by its head: which of the words that begin alike it is shows when phrases are compared.
#[inline]
fn hash(head: u64) -> u64 {
    let product = head.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ product >> 32
}

fn first_word(phrase: &str) -> u64 {
    let ascii = phrase.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(phrase.len());
    let end = match phrase.as_bytes().get(ascii) {
        Some(0x80..) => {
            let alone = phrase.chars().next().filter(|first| is_unspaced(*first)).map(char::len_utf8);
            let edge = |c: char| !c.is_alphanumeric() || is_unspaced(c);
            alone.or_else(|| phrase.find(edge)).unwrap_or(phrase.len())
        }
        _ => ascii,
    };
    head(phrase.as_bytes().get(..end).unwrap_or_default())
}

/// The lines of a text with their section, language and phrases.
fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let mut section = "";
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(move |line| {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
            return None;
        }
        let (language, phrases) = line.split_once(' ')?;
        Some((section, language, phrases))
    })
}

/// The phrases of a line.
fn each_of(phrases: &'static str) -> impl Iterator<Item = &'static str> {
    phrases.split('|').map(str::trim)
}

/// A character of a script that puts no spaces between words.
fn is_unspaced(character: char) -> bool {
    character >= '\u{2E80}'
}

/// Whether a sentence ends between two places.
pub(super) fn sentence_ends(words: &str, from: usize, to: usize) -> bool {
    let bytes = words.as_bytes();
    (from..to).any(|at| ends_sentence(bytes, at + 1))
}

/// Whether the character before a place ends a sentence.
fn ends_sentence(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end.wrapping_sub(1)) {
        Some(b'.' | b'!' | b'?' | b'\n' | b';') => true,
        Some(0x80..) => end >= 3 && matches!(&bytes[end - 3..end], [0xE3, 0x80, 0x82] | [0xEF, 0xBC, 0x81 | 0x9F]),
        _ => false,
    }
}

/// The words of a sentence before a place in it, the last first.
pub(super) fn words_before(words: &str, at: usize) -> impl Iterator<Item = &str> {
    let bytes = words.as_bytes();
    let mut end = at.min(bytes.len());
    std::iter::from_fn(move || {
        while end > 0 && matches!(bytes[end - 1], b' ' | b'\t' | b'\r') {
            end -= 1;
        }
        let mut start = end;
        while start > 0 && !matches!(bytes[start - 1], b' ' | b'\t' | b'\r') && !ends_sentence(bytes, start) {
            start -= 1;
        }
        let word = words.get(start..end).filter(|word| !word.is_empty())?;
        end = start;
        Some(bare(word))
    })
}

/// Whether the words right before a phrase turn it round ("not all tests pass", "if it works").
pub(super) fn turned_round(words: &str, start: usize) -> bool {
    before(words, start, 4, &TURNS)
}

/// Whether one of some words stands among the last `many` of a sentence before a place in it.
pub(super) fn before(words: &str, at: usize, many: usize, list: &Heads) -> bool {
    words_before(words, at).take(many).any(|word| list.contain_word(word))
}

/// Whether one of some words stands among the first `many` behind a place, in the same part of the sentence.
pub(super) fn behind(words: &str, at: usize, many: usize, list: &Heads) -> bool {
    let behind = words.get(at..).unwrap_or_default();
    let part = behind.split(['.', '!', '?', '\n', ';', ',']).next().unwrap_or_default();
    part.split_whitespace().take(many).any(|word| list.contain_word(bare(word)))
}

/// A word without the signs around it. Most have none.
pub(super) fn bare(word: &str) -> &str {
    let plain = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'\'');
    if plain(word.as_bytes().first()) && plain(word.as_bytes().last()) {
        return word;
    }
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'')
}

#[rustfmt::skip]
static TURNS: Heads = Heads::of(&[
    "not", "no", "never", "isn't", "aren't", "doesn't", "don't", "until", "if", "whether", "once", "ensure", "verify",
    "check", "make", "nicht", "kein", "keine", "wenn", "ob", "pas", "si",
]);

#[cfg(test)]
mod tests {
    use super::super::{claims, heard};
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The phrases of a text with their section and language.
    fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let of_line = |(section, language, phrases)| each_of(phrases).map(move |phrase| (section, language, phrase));
        lines(text).flat_map(of_line)
    }

    #[test]
    fn phrases_are_found_at_word_edges() {
        let phrases = Phrases::new(&["[a]\nen it works | it | étape\nja 動かない | prを作成"], |_| Some(()));
        let found = |words: &str| {
            let mut found = Vec::new();
            phrases.find(words, |it| found.push(words.get(it.start..it.end).unwrap()));
            found.join(",")
        };
        for (words, expected) in [
            ("it works", "it works,it"),
            ("bit it's site", "it"),
            ("it worksheet", "it"),
            ("l'étape étapes", "étape"),
            ("まだ動かないです", "動かない"),
            ("このprを作成して", "prを作成"),
            ("", ""),
        ] {
            assert_eq!(found(words), expected, "{words}");
        }
    }

    proptest! {
        #[test]
        fn phrases_are_found_as_a_plain_look_at_every_place_finds_them(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)
        ) {
            const LIST: &str = "[a]\nen it | it works | it doesn't work | worksheet | step-by-step | wonderfully done
    fr étape | ça marche | c'est bon\nja 動かない | 動 | prを作成 | まだ";
            let words = parts.concat();
            let mut found = Vec::new();
            Phrases::new(&[LIST], |_| Some(())).find(&words, |it| found.push((it.start, it.phrase)));

            let letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
            let mut before = ' ';
            let mut expected = Vec::new();
            for (start, c) in words.char_indices() {
                if c.is_alphanumeric() && !(letter(before) && letter(c)) {
                    for (.., phrase) in entries(LIST) {
                        let it = words.as_bytes().get(start..start + phrase.len());
                        let stands = it.is_some_and(|it| it.eq_ignore_ascii_case(phrase.as_bytes()));
                        if stands && ends_at(&words, phrase, start + phrase.len()) {
                            expected.push((start, phrase));
                        }
                    }
                }
                before = c;
            }
            expected.sort_by_key(|(start, phrase)| (*start, std::cmp::Reverse(phrase.len())));
            prop_assert_eq!(found, expected, "{}", words);
        }
    }

    /// What texts of the property are made of: phrases, their beginnings, and what may stand around them.
    const PARTS: &[&str] = &[
        "it",
        "IT",
        "it works",
        "It Works",
        "works",
        "worksheet",
        "it doesn't work",
        "doesn't",
        "step-by-step",
        "step-by",
        "Wonderfully",
        "wonderfully done",
        "étape",
        "ça marche",
        "c'est bon",
        "動かない",
        "動",
        "か",
        "pr",
        "PRを作成",
        "を",
        "まだ",
        "é",
        "s",
        "1",
        " ",
        " ",
        " ",
        "'",
        "-",
        "\n",
        "。",
        "…",
        "“",
        "_",
        "ж",
        "🙂",
        "a longer stretch of text, ",
    ];

    #[test]
    fn the_words_before_a_place_end_with_the_sentence() {
        let before = |words: &'static str| words_before(words, words.len()).collect::<Vec<_>>().join(" ");
        assert_eq!(before("One. (two), three "), "three two");
        assert_eq!(before("一。二 三"), "三 二");
        assert_eq!(before("one.\n"), "");
    }

    #[test]
    fn every_section_speaks_seven_languages_in_lower_case() {
        for text in [heard::ASKS, heard::REACTIONS, claims::CLAIMS] {
            let mut sections: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (section, language, phrase) in entries(text) {
                sections.entry(section).or_default().insert(language);
                assert_eq!(phrase, phrase.to_lowercase(), "{section}");
                assert!(!phrase.is_empty(), "{section} {phrase}");
                assert!(phrase.starts_with(char::is_alphanumeric), "{section} {phrase} is never found");
            }
            for (section, _, phrases) in lines(text) {
                assert_eq!(phrases.matches('|').count(), phrases.matches(" | ").count(), "{section} {phrases}");
            }
            for (section, languages) in sections {
                let all = ["de", "en", "es", "fr", "ja", "pt", "zh"];
                assert_eq!(languages.into_iter().collect::<Vec<_>>(), all, "{section}");
            }
        }
    }
}
