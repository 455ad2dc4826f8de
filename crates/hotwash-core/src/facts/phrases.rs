//! Phrases as data (`data/phrases/`): many of them, of several meanings and languages, looked for in one pass at word
//! edges; and the words that stand around a phrase.

use aho_corasick::AhoCorasick;
use std::cmp::Reverse;

/// Phrases of several meanings.
pub(super) struct Phrases<M> {
    search: AhoCorasick,
    list: Vec<(&'static str, M)>,
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
        let mut list = Vec::new();
        for (section, _, phrases) in texts.iter().flat_map(|text| lines(text)) {
            if let Some(meaning) = meaning(section) {
                list.extend(each_of(phrases).map(|phrase| (phrase, meaning)));
            }
        }
        let words = list.iter().map(|(words, _)| words);
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(words);
        Phrases { search: search.expect("the phrases that are built in are few"), list }
    }

    /// The phrases that stand in some words at word edges, in order, the longest first. What is not ASCII is in lower case.
    pub(super) fn find(&self, words: &str) -> Vec<Found<M>> {
        let all = self.search.find_overlapping_iter(words);
        let mut found: Vec<_> = all.filter(|it| at_word_edges(words, it.start(), it.end())).collect();
        found.sort_unstable_by_key(|it| (it.start(), Reverse(it.end()), it.pattern()));
        let said = |it: aho_corasick::Match| {
            let (phrase, meaning) = self.list[it.pattern()];
            Found { meaning, phrase, start: it.start(), end: it.end() }
        };
        found.into_iter().map(said).collect()
    }
}

/// Whether words begin and end there. Chinese and Japanese do not put spaces between words.
fn at_word_edges(words: &str, start: usize, end: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
    let (before, rest) = words.split_at_checked(start).unwrap_or_default();
    let (inside, behind) = rest.split_at_checked(end - start).unwrap_or_default();
    !(letter(before.chars().next_back()) && letter(inside.chars().next()))
        && (inside.chars().next_back().is_some_and(is_unspaced) || !letter(behind.chars().next()))
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

/// Whether a word, in either case, is one of some.
pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether the words right before a phrase turn it round ("not all tests pass", "if it works").
pub(super) fn turned_round(words: &str, start: usize) -> bool {
    before(words, start, 4, TURNS)
}

/// Whether one of some words stands among the last `many` of a sentence before a place in it.
pub(super) fn before(words: &str, at: usize, many: usize, list: &[&str]) -> bool {
    words_before(words, at).take(many).any(|word| is_one_of(word, list))
}

/// Whether one of some words stands among the first `many` behind a place, in the same part of the sentence.
pub(super) fn behind(words: &str, at: usize, many: usize, list: &[&str]) -> bool {
    let behind = words.get(at..).unwrap_or_default();
    let part = behind.split(['.', '!', '?', '\n', ';', ',']).next().unwrap_or_default();
    part.split_whitespace().take(many).any(|word| is_one_of(bare(word), list))
}

/// A word without the signs around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'')
}

#[rustfmt::skip]
const TURNS: &[&str] = &[
    "not", "no", "never", "isn't", "aren't", "doesn't", "don't", "until", "if", "whether", "once", "ensure", "verify",
    "check", "make", "nicht", "kein", "keine", "wenn", "ob", "pas", "si",
];

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
            let found = phrases.find(words).into_iter().map(|it| words.get(it.start..it.end).unwrap());
            found.collect::<Vec<_>>().join(",")
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
            let found = Phrases::new(&[LIST], |_| Some(())).find(&words).into_iter().map(|it| (it.start, it.phrase));

            let letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
            let mut before = ' ';
            let mut expected = Vec::new();
            for (start, c) in words.char_indices() {
                if c.is_alphanumeric() && !(letter(before) && letter(c)) {
                    for (.., phrase) in entries(LIST) {
                        let it = words.as_bytes().get(start..start + phrase.len());
                        let stands = it.is_some_and(|it| it.eq_ignore_ascii_case(phrase.as_bytes()));
                        let end = start + phrase.len();
                        let goes_on = words.get(end..).and_then(|rest| rest.chars().next()).is_some_and(letter);
                        if stands && (phrase.ends_with(is_unspaced) || !goes_on) {
                            expected.push((start, phrase));
                        }
                    }
                }
                before = c;
            }
            expected.sort_by_key(|(start, phrase)| (*start, std::cmp::Reverse(phrase.len())));
            prop_assert_eq!(found.collect::<Vec<_>>(), expected, "{}", words);
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
