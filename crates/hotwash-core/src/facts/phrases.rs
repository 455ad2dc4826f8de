//! Phrases as data (`data/phrases/`): many of them, of several meanings and languages, looked for in one pass at word
//! edges.
//!
//! Words are long and phrases begin where words do, so eight bytes at a time are asked where one begins, and only there
//! a table says which phrases begin with its first letters. An automaton over the same phrases took several times as long
//! to search and a hundred times as long to build.

/// Phrases of several meanings.
pub(super) struct Phrases<M> {
    /// One bit for each three bytes, brought down to sixteen bits, that a phrase may begin with.
    begins: Box<[u64; 1024]>,
    /// Where the phrases of each slot begin; those of the last end where all do.
    slots: Vec<u16>,
    all: Vec<Phrase<M>>,
}

struct Phrase<M> {
    /// The bytes from its first letter on, as many as fit, and which of them count.
    first: u64,
    mask: u64,
    /// How many bytes stand before its first letter.
    lead: usize,
    text: &'static str,
    meaning: M,
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
        let mut phrases = Vec::new();
        for (section, _, line) in texts.iter().flat_map(|text| lines(text)) {
            if let Some(meaning) = meaning(section) {
                phrases.extend(split(line).map(|phrase| Phrase::new(phrase, meaning)));
            }
        }
        phrases.sort_by_cached_key(|phrase| slot(phrase.first));
        let mut begins = Box::new([0; 1024]);
        let mut slots = vec![0; SLOTS + 1];
        for phrase in &phrases {
            slots[slot(phrase.first) + 1] += 1;
            // Whatever follows a shorter phrase.
            let any = if phrase.mask & 0xFF_0000 == 0 { 0..=255 } else { 0..=0 };
            for bit in any.map(|third| begins_bit(phrase.first | third << 16)) {
                begins[bit >> 6] |= 1 << (bit & 63);
            }
        }
        for at in 0..SLOTS {
            slots[at + 1] += slots[at];
        }
        Phrases { begins, slots, all: phrases }
    }

    /// The phrases that stand in some words at word edges, in the order in which they end, the longer one first. The
    /// words are in lower case.
    pub(super) fn find(&self, words: &str) -> Vec<Found<M>> {
        let mut found = Vec::new();
        beginnings(words.as_bytes(), |at, bytes| {
            let bit = begins_bit(bytes);
            if self.begins[bit >> 6] >> (bit & 63) & 1 == 0 {
                return;
            }
            let slot = slot(bytes);
            let (from, to) = (usize::from(self.slots[slot]), usize::from(self.slots[slot + 1]));
            for phrase in &self.all[from..to] {
                if bytes & phrase.mask == phrase.first {
                    found.extend(phrase.at(words, at));
                }
            }
        });
        found.sort_by_key(|found| (found.end, found.start));
        found
    }
}

impl<M: Copy> Phrase<M> {
    fn new(text: &'static str, meaning: M) -> Self {
        let lead = text.find(char::is_alphanumeric).unwrap_or_default();
        let letters = &text.as_bytes()[lead..];
        let mask = [0xFF; 8];
        let mask = eight(&mask[..letters.len().min(8)]);
        Phrase { first: eight(letters), mask, lead, text, meaning }
    }

    /// Whether the phrase, its first letter at a place, stands there at word edges.
    fn at(&self, words: &str, letter_at: usize) -> Option<Found<M>> {
        let start = letter_at.checked_sub(self.lead)?;
        let end = start + self.text.len();
        if words.as_bytes().get(start..end)? != self.text.as_bytes() {
            return None;
        }
        let before = words.get(..start)?.chars().next_back();
        let after = words.get(end..)?.chars().next();
        let stands = is_unspaced(self.text) || !letter(before) && !letter(after);
        stands.then_some(Found { meaning: self.meaning, phrase: self.text, start, end })
    }
}

/// Four for each of the first letters that there are.
const SLOTS: usize = 4096;

/// The bit for the first three bytes. It says no to nearly all words.
fn begins_bit(bytes: u64) -> usize {
    (((bytes & 0xFF_FFFF) * 0x9E37_79B1) >> 16) as usize & 0xFFFF
}

/// Where phrases are found by their first letters: up to three of the first word, or the first character where that is
/// beyond ASCII. What follows a shorter word does not count, because it need not be part of the phrase.
fn slot(bytes: u64) -> usize {
    let [first, second, third, ..] = bytes.to_le_bytes();
    let key = match first {
        0xE0.. => [first, second, third, 0],
        0x80.. => [first, second, 0, 0],
        _ => match (second.is_ascii_alphanumeric(), third.is_ascii_alphanumeric()) {
            (true, true) => [first, second, third, 0],
            (true, false) => [first, second, 0, 0],
            (false, _) => [first, 0, 0, 0],
        },
    };
    (u32::from_le_bytes(key).wrapping_mul(0x9E37_79B1) >> 20) as usize
}

/// Calls `found` with each place where a word may begin, and the eight bytes there. Each character beyond ASCII is one:
/// whether it is a letter shows when a phrase is found.
fn beginnings(words: &[u8], mut found: impl FnMut(usize, u64)) {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    /// For each byte of `bytes`, all below 0x80, whether it is `least` or more, in its highest bit.
    const fn from(bytes: u64, least: u8) -> u64 {
        bytes + 0x0101_0101_0101_0101 * (0x80 - least) as u64
    }
    let mut letter_before = 0;
    for at in (0..words.len()).step_by(8) {
        let bytes = eight(&words[at..]);
        let low = bytes & !HIGH;
        let letters = from(low, b'a') & !from(low, b'z' + 1) | from(low, b'0') & !from(low, b'9' + 1);
        let letters = letters & !bytes & HIGH;
        let beyond = bytes & bytes << 1 & HIGH;
        let mut begin = letters & !(letters << 8 | letter_before) | beyond;
        letter_before = letters >> 56;
        while begin != 0 {
            let at = at + begin.trailing_zeros() as usize / 8;
            found(at, eight(&words[at..]));
            begin &= begin - 1;
        }
    }
}

/// The first eight bytes, or as many as there are.
fn eight(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    bytes.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte))
}

/// The lines of a text: their section, their language, and their phrases.
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
fn split(line: &'static str) -> impl Iterator<Item = &'static str> {
    line.split('|').map(str::trim)
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
    let bytes = before.as_bytes();
    let ends = |at: &usize| match bytes[*at] {
        b'.' | b'!' | b'?' | b'\n' | b';' => true,
        // The last byte of a wide one.
        0x80.. => ["。", "！", "？"].iter().any(|wide| bytes[..=*at].ends_with(wide.as_bytes())),
        _ => false,
    };
    let from = (0..bytes.len()).rev().find(ends).map_or(0, |at| at + 1);
    before.get(from..).unwrap_or_default()
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
            for (section, language, line) in lines(text) {
                sections.entry(section).or_default().insert(language);
                for phrase in split(line) {
                    assert_eq!(phrase, phrase.to_lowercase(), "{section}");
                    assert!(phrase.contains(char::is_alphanumeric), "{section} {phrase}");
                    let cjk = matches!(language, "zh" | "ja") || is_unspaced(phrase);
                    assert!(!is_unspaced(phrase) || cjk, "{section} {phrase}");
                }
            }
            for (section, languages) in sections {
                let all = ["de", "en", "es", "fr", "ja", "pt", "zh"];
                assert_eq!(languages.into_iter().collect::<Vec<_>>(), all, "{section}");
            }
        }
    }
    /// What is found without any table: each phrase, wherever it stands at word edges.
    fn slowly(phrases: &Phrases<()>, words: &str) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for phrase in &phrases.all {
            let places =
                words.match_indices(phrase.text).filter_map(|(start, _)| phrase.at(words, start + phrase.lead));
            found.extend(places.map(|found| (found.end, found.start)));
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn every_phrase_is_found_wherever_it_stands() {
        let texts = [heard::ASKS, heard::REACTIONS, claims::CLAIMS];
        let phrases = Phrases::new(&texts, |_| Some(()));
        let all: Vec<&str> = texts.iter().flat_map(|text| lines(text)).flat_map(|(.., line)| split(line)).collect();
        // Phrases next to each other, at every offset in a block, between signs of every kind.
        for (number, pair) in all.windows(2).enumerate().step_by(5) {
            let gap = [" ", ". ", "…", "-", "，", "x", "é", "中", "1", "\n", "\u{a0}", "_", "(", "'"][number % 14];
            let words = format!("{}{}{gap}{}{gap}", " ".repeat(number % 9), pair[0], pair[1]);
            let found: Vec<_> = phrases.find(&words).iter().map(|found| (found.end, found.start)).collect();
            assert_eq!(found, slowly(&phrases, &words), "{words}");
        }
    }
}
