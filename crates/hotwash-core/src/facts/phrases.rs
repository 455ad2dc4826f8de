//! Phrases as data: many of them, of several meanings, looked for in one pass at word edges.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

/// Phrases of several meanings.
pub(super) struct Phrases<M: 'static> {
    automaton: Option<AhoCorasick>,
    meanings: Vec<(&'static str, M)>,
}

/// A phrase that stands in some words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<M> {
    pub meaning: M,
    pub phrase: &'static str,
    pub start: usize,
    pub end: usize,
}

impl<M: Copy> Phrases<M> {
    pub fn new(lists: impl IntoIterator<Item = (M, &'static [&'static str])>) -> Self {
        let list = |(meaning, list): (M, &'static [&'static str])| list.iter().map(move |phrase| (*phrase, meaning));
        let meanings: Vec<(&'static str, M)> = lists.into_iter().flat_map(list).collect();
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(meanings.iter().map(|(phrase, _)| phrase))
            .ok();
        Phrases { automaton, meanings }
    }

    /// The phrases that stand in some words at word edges, in the order in which they end. The words are in lower case.
    pub fn find<'s>(&'s self, words: &'s str) -> impl Iterator<Item = Found<M>> + 's {
        let matches = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(words));
        matches.filter_map(move |found| {
            let (phrase, meaning) = self.meanings[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            let before = words.get(..start)?.chars().next_back();
            let after = words.get(end..)?.chars().next();
            // Chinese and Japanese do not put spaces between words.
            let unspaced = phrase.chars().next().is_some_and(|first| first >= '\u{2E80}');
            (unspaced || !letter(before) && !letter(after)).then_some(Found { meaning, phrase, start, end })
        })
    }
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

const TURNS: &[&str] = &[
    "not", "no", "never", "isn't", "aren't", "doesn't", "don't", "until", "if", "whether", "once", "ensure", "verify",
    "check", "make", "nicht", "kein", "keine", "wenn", "ob", "pas", "si",
];
