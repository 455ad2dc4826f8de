//! Finds the words of a text, a block of bytes at a time.
//!
//! Most texts that are read for their words are English prose or close to it. What is beyond ASCII is handed over as it
//! stands: what a letter is there, and whether words have spaces between them, is for the caller to say.

use wide::u8x16;

/// A run of ASCII letters and digits, and of anything beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Where it begins.
    pub(crate) start: usize,
    /// Its first eight bytes, the first one lowest, as if all were ASCII and in lower case. See [`head`].
    pub(crate) head: u64,
    /// All of it is known to be ASCII.
    pub(crate) ascii: bool,
}

/// How many bytes of a word are in its head.
pub(crate) const HEAD: usize = 8;

/// As many bytes as a word of the machine has bits.
const BLOCK: usize = 64;
/// A run that begins in these is seen for the length of its head.
const STEP: usize = BLOCK - HEAD;

/// The bit that is set in ASCII letters of lower case, and in digits.
const LOWER: u64 = u64::from_le_bytes([0x20; HEAD]);

/// By how many bytes of a word are in its head: the bits of those.
static FIRST: [u64; 2 * HEAD] = {
    let mut first = [!0; _];
    let mut bytes = 0;
    while bytes < HEAD {
        first[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    first
};

/// The first bytes of a word as a number, ASCII letters in lower case.
pub(crate) const fn head(word: &[u8]) -> u64 {
    let (mut head, mut at) = (0, 0);
    while at < word.len() && at < HEAD {
        let byte = if word[at].is_ascii() { word[at] | 0x20 } else { word[at] };
        head |= (byte as u64) << (8 * at);
        at += 1;
    }
    head
}

/// How many bytes are in a head.
#[inline]
pub(crate) fn head_len(head: u64) -> usize {
    HEAD - head.leading_zeros() as usize / 8
}

/// Words of eight bytes at most by their heads, for looking others up. Most others are none of them, which a bit tells
/// sooner than all the heads.
pub(crate) struct Heads {
    heads: [u64; MOST_HEADS],
    bits: [u64; 8],
}

/// No list of words is longer.
const MOST_HEADS: usize = 32;

impl Heads {
    /// Of words in lower case.
    pub(crate) const fn of(words: &[&str]) -> Self {
        // What is left over holds one of them once more.
        let mut heads = [head(words[0].as_bytes()); MOST_HEADS];
        let (mut bits, mut at) = ([0; 8], 0);
        while at < words.len() {
            assert!(words[at].len() <= HEAD, "a word is all in its head");
            heads[at] = head(words[at].as_bytes());
            let (place, bit) = Self::place(heads[at]);
            bits[place] |= bit;
            at += 1;
        }
        Heads { heads, bits }
    }

    /// Where the bit of a head is.
    const fn place(head: u64) -> (usize, u64) {
        let hash = head.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55;
        (hash as usize / 64, 1 << (hash % 64))
    }

    /// Whether a word, in either case, is one of them.
    pub(crate) fn contain_word(&self, word: &str) -> bool {
        // In a head, a bell is an apostrophe.
        word.len() <= HEAD && self.contain(head(word.as_bytes())) && !word.contains('\u{7}')
    }

    pub(crate) fn contain(&self, head: u64) -> bool {
        let (place, bit) = Self::place(head);
        self.bits[place] & bit != 0 && self.heads.contains(&head)
    }
}

/// Whether a character is a letter or a digit. What is not ASCII in most texts is a dash or a quote, which are known here
/// without the tables.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    !matches!(character, '\u{2000}'..='\u{206F}') && character.is_alphanumeric()
}

/// Shows each run of a text, in order.
pub(crate) fn each_run(text: &[u8], mut tell: impl FnMut(Run)) {
    each_block(text, |block| each_bit(block.starts, |offset| tell(block.run(offset))));
}

/// The same, but of those that are ASCII only the ones that are wanted, by their places and heads. Which ones those are is
/// hard to guess, so that all of a block are looked at before anything is made of one.
pub(crate) fn each_run_of(text: &[u8], wanted: impl Fn(usize, u64) -> bool, mut tell: impl FnMut(Run)) {
    each_block(text, |block| {
        let mut told = block.starts & !block.ascii;
        each_bit(block.starts, |offset| {
            let wanted = wanted(block.at + offset, block.head(offset));
            told |= u64::from(wanted) << offset;
        });
        each_bit(told, |offset| tell(block.run(offset)));
    });
}

/// A part of a text, with a bit for each of its bytes.
struct Block<'t> {
    at: usize,
    bytes: &'t [u8; BLOCK],
    /// What belongs to runs.
    runs: u64,
    /// Where runs begin that are seen for the length of their heads.
    starts: u64,
    /// A run that begins here is known to be ASCII.
    ascii: u64,
}

impl Block<'_> {
    /// The run that begins at an offset.
    #[inline]
    fn run(&self, offset: usize) -> Run {
        Run { start: self.at + offset, head: self.head(offset), ascii: self.ascii >> offset & 1 != 0 }
    }

    #[inline]
    fn head(&self, offset: usize) -> u64 {
        let bytes = self.bytes.get(offset..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        let in_head = (!(self.runs >> offset) | 1 << HEAD).trailing_zeros() as usize;
        (u64::from_le_bytes(bytes) | LOWER) & FIRST[in_head % FIRST.len()]
    }
}

/// Shows the places of some bits.
#[inline]
fn each_bit(mut bits: u64, mut tell: impl FnMut(usize)) {
    while bits != 0 {
        tell(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Shows a text block by block.
#[inline]
fn each_block(text: &[u8], mut show: impl FnMut(&Block<'_>)) {
    // Whether the byte before a block belongs to a run.
    let mut goes_on = 0;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let mut last = [0; BLOCK];
        let bytes = rest.first_chunk().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            &last
        });
        let (plain, beyond) = marks(bytes);
        let runs = plain | beyond;
        let starts = runs & !(runs << 1 | goes_on) & (!0 >> HEAD);
        show(&Block { at, bytes, runs, starts, ascii: ascii(runs, beyond) });
        goes_on = runs >> (STEP - 1) & 1;
        at += STEP;
    }
}

/// The bits of runs that end in the block, and are ASCII from there on.
#[inline]
fn ascii(runs: u64, beyond: u64) -> u64 {
    let ends_here = u64::MAX.checked_shr(runs.leading_ones()).unwrap_or(0);
    if beyond == 0 {
        return ends_here;
    }
    // Backwards, a bit that is added to a run clears all of it from there to its beginning.
    let (back, others) = (runs.reverse_bits(), beyond.reverse_bits());
    ends_here & !(back & !back.wrapping_add(others) | others).reverse_bits()
}

/// Where a block has letters and digits, and where bytes beyond ASCII: a bit for each place.
fn marks(block: &[u8; BLOCK]) -> (u64, u64) {
    let (mut plain, mut beyond) = (0, 0);
    let (chunks, _) = block.as_chunks();
    for (n, chunk) in chunks.iter().enumerate() {
        let bytes = u8x16::new(*chunk);
        let lower = bytes | u8x16::splat(0x20);
        let known = within(lower, b'a', b'z') | within(bytes, b'0', b'9');
        plain |= u64::from(known.to_bitmask()) << (16 * n);
        beyond |= u64::from(bytes.to_bitmask()) << (16 * n);
    }
    (plain, beyond)
}

/// Where bytes lie between two others: all ones there, zero elsewhere.
fn within(bytes: u8x16, from: u8, to: u8) -> u8x16 {
    let above = bytes - u8x16::splat(from);
    above.min(u8x16::splat(to - from)).simd_eq(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_are_those_of_the_language() {
        assert!(('\0'..=char::MAX).all(|character| is_alphanumeric(character) == character.is_alphanumeric()));
    }

    #[test]
    fn words_are_looked_up_in_either_case() {
        static WORDS: Heads = Heads::of(&["don't", "no", "não", "question"]);
        for word in ["don't", "DON'T", "No", "não", "NãO", "Question"] {
            assert!(WORDS.contain_word(word), "{word}");
        }
        for word in ["", "n", "not", "don\u{7}t", "nÃo", "questions", "questio"] {
            assert!(!WORDS.contain_word(word), "{word}");
        }
    }

    proptest! {
        #[test]
        fn runs_are_found_wherever_they_stand(text in r"([a-cA-C0-1@\[`{/:é中 .]{0,12}[ \n]{0,2}){0,30}") {
            let mut found = Vec::new();
            each_run(text.as_bytes(), |run| found.push(run));
            for wanted in [0, 1] {
                let mut some = Vec::new();
                each_run_of(text.as_bytes(), |_, head| head & 1 == wanted, |run| some.push(run));
                prop_assert!(some.iter().eq(found.iter().filter(|run| !run.ascii || run.head & 1 == wanted)));
            }
            let within = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
            let mut expected = Vec::new();
            for part in text.as_bytes().split(|byte| !within(byte)).filter(|part| !part.is_empty()) {
                let start = part.as_ptr() as usize - text.as_ptr() as usize;
                expected.push((start, part));
            }
            prop_assert_eq!(found.len(), expected.len());
            for (run, (start, part)) in found.iter().zip(expected) {
                prop_assert_eq!(run.start, start);
                // Where it is not known, nothing is said.
                prop_assert!(!run.ascii || part.is_ascii());
                prop_assert!(run.ascii || !part.is_ascii() || part.len() > HEAD);
                if part.is_ascii() {
                    prop_assert_eq!(run.head, head(part));
                    prop_assert_eq!(head_len(run.head), part.len().min(HEAD));
                }
            }
        }
    }
}
