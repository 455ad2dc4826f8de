//! Phrases as data (`data/phrases/`): many of them, of several meanings and languages, looked for in one pass at word
//! edges.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

/// Phrases of several meanings.
pub(super) struct Phrases<M> {
    automaton: Option<AhoCorasick>,
    meanings: Vec<(&'static str, M)>,
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
        let meanings: Vec<(&'static str, M)> = texts
            .iter()
            .flat_map(|text| entries(text))
            .filter_map(|(section, _, phrase)| Some((phrase, meaning(section)?)))
            .collect();
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(meanings.iter().map(|(phrase, _)| phrase))
            .ok();
        Phrases { automaton, meanings }
    }

    /// The phrases that stand in some words at word edges, in the order in which they end. The words are in lower case.
    pub(super) fn find<'s>(&'s self, words: &'s str) -> impl Iterator<Item = Found<M>> + 's {
        let matches = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(words));
        matches.filter_map(move |found| {
            let (phrase, meaning) = self.meanings[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            let before = words.get(..start)?.chars().next_back();
            let after = words.get(end..)?.chars().next();
            (is_unspaced(phrase) || !letter(before) && !letter(after)).then_some(Found { meaning, phrase, start, end })
        })
    }
}

/// The phrases of a text with their section and language.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let mut section = "";
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .filter_map(move |line| {
            if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                section = name;
                return None;
            }
            let (language, phrases) = line.split_once(' ')?;
            Some((section, language, phrases))
        })
        .flat_map(|(section, language, phrases)| {
            phrases.split(" | ").map(move |phrase| (section, language, phrase.trim()))
        })
}

/// Chinese and Japanese do not put spaces between words.
fn is_unspaced(phrase: &str) -> bool {
    phrase.chars().next().is_some_and(|first| first >= '\u{2E80}')
}

fn letter(character: Option<char>) -> bool {
    character.is_some_and(char::is_alphanumeric)
}

/// The part of a sentence before a place in it.
pub(super) fn sentence_before(words: &str, at: usize) -> &str {
    let before = words.get(..at).unwrap_or_default();
    before.rsplit(['.', '!', '?', '\n', ';', '。', '！', '？']).next().unwrap_or_default()
}

/// Whether the words right before a phrase turn it round ("not all tests pass", "if it works").
pub(super) fn turned_round(words: &str, start: usize) -> bool {
    before(words, start, 4, TURNS)
}

/// Whether one of some words stands among the last `many` of a sentence before a place in it.
pub(super) fn before(words: &str, at: usize, many: usize, list: &[&str]) -> bool {
    sentence_before(words, at).split_whitespace().rev().take(many).any(|word| list.contains(&bare(word)))
}

/// Whether one of some words stands among the first `many` behind a place, in the same part of the sentence.
pub(super) fn behind(words: &str, at: usize, many: usize, list: &[&str]) -> bool {
    let behind = words.get(at..).unwrap_or_default();
    let part = behind.split(['.', '!', '?', '\n', ';', ',']).next().unwrap_or_default();
    part.split_whitespace().take(many).any(|word| list.contains(&bare(word)))
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
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_section_speaks_seven_languages_in_lower_case() {
        for text in [heard::ASKS, heard::REACTIONS, claims::CLAIMS] {
            let mut sections: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (section, language, phrase) in entries(text) {
                sections.entry(section).or_default().insert(language);
                assert_eq!(phrase, phrase.to_lowercase(), "{section}");
                assert!(!phrase.is_empty() && !phrase.contains('|'), "{section} {phrase}");
                let cjk = matches!(language, "zh" | "ja") || is_unspaced(phrase);
                assert!(!is_unspaced(phrase) || cjk, "{section} {phrase}");
            }
            for (section, languages) in sections {
                let all = ["de", "en", "es", "fr", "ja", "pt", "zh"];
                assert_eq!(languages.into_iter().collect::<Vec<_>>(), all, "{section}");
            }
        }
    }
}
