//! Finds every occurrence of a few hundred short words in one pass.
//!
//! Each word is known by two neighbouring pairs of its bytes, the rarest it has. Whatever the position of the word, one of the two
//! pairs lies on an even offset, so every other offset is looked at, and a table of bits, which stays in the nearest cache,
//! says no to most of them. An automaton over the same words ran at a third of the speed.

use std::ops::Range;

/// Room for the entries of all words at once.
const ROOM: usize = 4096;

/// How many bytes are looked at before anything is made of what was seen.
const BLOCK: usize = 64;

/// A word to look for.
pub(super) struct Word<'w> {
    pub(super) text: &'w str,
    pub(super) case: Case,
}

/// Whether a word is looked for as it is written or in any mixture of cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Exact,
    Any,
}

/// The compiled words.
pub(super) struct Anchors {
    /// By the second byte of a pair: a bit for each first byte, by its last six bits. Pairs that share it are told apart by
    /// their buckets.
    firsts: Box<[u64; 256]>,
    /// For each pair of bytes the number of its bucket; 0 is the empty one.
    bucket_of: Vec<u16>,
    buckets: Vec<Bucket>,
    /// The entries of all buckets, one bucket after the other.
    entries: Vec<Entry>,
    /// All words, one behind the other.
    text: Vec<u8>,
}

/// The words that a pair of bytes stands in. Each is known by three bytes, so that one of the pair's neighbours is known.
#[derive(Clone, Default)]
struct Bucket {
    /// Where its entries stand.
    entries: Range<u32>,
    /// What may stand before the pair and behind it, by their marks.
    near: [u32; 2],
}

/// A bit by which most neighbours are told apart. It is the same for a letter in either case.
#[inline]
fn mark(byte: u8) -> u32 {
    1 << (byte & 31)
}

#[derive(Clone, Copy)]
struct Entry {
    /// The number of the word, and where it stands among all of them.
    word: u32,
    from: u32,
    case: Case,
    /// How far into the word the pair stands.
    offset: u32,
    /// The neighbour of the pair that the word is known by, and whether it stands behind the pair.
    neighbour: u32,
    behind: bool,
    length: u32,
    /// The first and the last byte of the word, at hand without looking the word up.
    first: u8,
    last: u8,
}

impl Anchors {
    /// Compiles words of three bytes or more; shorter ones are passed over.
    pub(super) fn new<'w>(words: impl Iterator<Item = Word<'w>>) -> Anchors {
        let (firsts, bucket_of, buckets) = (Box::new([0; 256]), vec![0; 1 << 16], vec![Bucket::default()]);
        let mut anchors = Anchors { firsts, bucket_of, buckets, entries: Vec::new(), text: Vec::new() };
        let mut entries: Vec<(u16, Entry)> = Vec::with_capacity(ROOM);
        for (word, Word { text, case }) in (0..).zip(words) {
            let bytes = text.as_bytes();
            let Some(at) = anchors.cheapest(bytes, case) else { continue };
            let (from, length) = (anchors.text.len() as u32, bytes.len() as u32);
            let (first, last) = (bytes[0], bytes[bytes.len() - 1]);
            anchors.text.extend_from_slice(bytes);
            for behind in [true, false] {
                let offset = if behind { at } else { at + 1 };
                let neighbour = mark(if behind { bytes[at + 2] } else { bytes[at] });
                let entry = Entry { word, from, case, offset: offset as u32, neighbour, behind, length, first, last };
                for pair in variants(bytes[offset], bytes[offset + 1], case) {
                    let number = anchors.bucket(pair);
                    let bucket = &mut anchors.buckets[usize::from(number)];
                    bucket.near[usize::from(behind)] |= neighbour;
                    bucket.entries.end += 1;
                    entries.push((number, entry));
                }
            }
        }
        anchors.arrange(&entries);
        anchors
    }

    /// Puts the entries of each bucket together, in their order. So far buckets only say how many they have.
    fn arrange(&mut self, entries: &[(u16, Entry)]) {
        let Some((_, any)) = entries.first() else { return };
        let mut from = 0;
        for bucket in &mut self.buckets {
            from += std::mem::replace(&mut bucket.entries, from..from).end;
        }
        self.entries = vec![*any; entries.len()];
        for (number, entry) in entries {
            let end = &mut self.buckets[usize::from(*number)].entries.end;
            self.entries[*end as usize] = *entry;
            *end += 1;
        }
    }

    /// The number of a pair's bucket, a new one where there is none.
    fn bucket(&mut self, pair: u16) -> u16 {
        let number = &mut self.bucket_of[usize::from(pair)];
        if *number == 0 {
            *number = self.buckets.len() as u16;
            self.buckets.push(Bucket::default());
            let [first, second] = pair.to_le_bytes();
            self.firsts[usize::from(second)] |= 1 << (first % 64);
        }
        *number
    }

    /// Where the three bytes start whose two pairs are the least common. Pairs that are looked for anyway cost less.
    fn cheapest(&self, word: &[u8], case: Case) -> Option<usize> {
        let pair = |a: u8, b: u8| {
            let known = variants(a, b, case).all(|pair| self.bucket_of[usize::from(pair)] != 0);
            commonness(a, b, case) * if known { 1 } else { 4 }
        };
        let cost = |w: &[u8]| pair(w[0], w[1]) + pair(w[1], w[2]);
        word.windows(3).enumerate().min_by_key(|(_, w)| cost(w)).map(|(i, _)| i)
    }

    /// Calls `found` with the number and the place of every occurrence, overlapping ones included.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            self.look_at_all(self.pairs(block), text, number * BLOCK, &mut found);
        }
        self.look_at_all(self.pairs(rest), text, text.len() - rest.len(), &mut found);
    }

    /// A bit for each pair of a block that may have a bucket. Where to go on is asked only then: asked for each pair, the
    /// processor would have to guess.
    #[inline]
    fn pairs(&self, block: &[u8]) -> u32 {
        let mut there = 0;
        for [a, b] in block.as_chunks().0.iter().rev() {
            there = there << 1 | (self.firsts[usize::from(*b)] >> (a % 64) & 1) as u32;
        }
        there
    }

    /// Looks at the pairs of the block at `from` that have a bit.
    #[inline]
    fn look_at_all(&self, mut there: u32, text: &[u8], from: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        while there != 0 {
            self.look(text, from + 2 * there.trailing_zeros() as usize, found);
            there &= there - 1;
        }
    }

    /// Looks at the pair at a place. Its neighbours tell nearly always that no word is there.
    #[inline]
    fn look(&self, text: &[u8], at: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        let around = text.get(at.wrapping_sub(1)..).and_then(<[u8]>::first_chunk);
        let (pair, near) = if let Some(&[before, a, b, behind]) = around {
            ([a, b], [mark(before), mark(behind)])
        } else {
            // At either end of the text.
            let mark_at = |at: usize| text.get(at).map_or(0, |byte| mark(*byte));
            ([text[at], text[at + 1]], [mark_at(at.wrapping_sub(1)), mark_at(at + 2)])
        };
        let bucket = &self.buckets[usize::from(self.bucket_of[usize::from(u16::from_le_bytes(pair))])];
        if near[0] & bucket.near[0] | near[1] & bucket.near[1] != 0 {
            self.compare(bucket, near, text, at, found);
        }
    }

    #[inline(never)]
    fn compare(
        &self,
        bucket: &Bucket,
        near: [u32; 2],
        text: &[u8],
        at: usize,
        found: &mut impl FnMut(usize, Range<usize>),
    ) {
        let Range { start, end } = bucket.entries;
        for entry in self.entries.get(start as usize..end as usize).unwrap_or_default() {
            if near[usize::from(entry.behind)] & entry.neighbour == 0 {
                continue;
            }
            let Some(start) = at.checked_sub(entry.offset as usize) else {
                continue;
            };
            let end = start + entry.length as usize;
            let Some(there) = text.get(start..end) else {
                continue;
            };
            // Letters differ in this bit by their case only.
            if (there[0] ^ entry.first | there[there.len() - 1] ^ entry.last) & !0x20 != 0 {
                continue;
            }
            let word = self.text.get(entry.from as usize..).and_then(|rest| rest.get(..there.len()));
            let equal = word.is_some_and(|word| match entry.case {
                Case::Exact => there == word,
                Case::Any => there.eq_ignore_ascii_case(word),
            });
            if equal {
                found(entry.word as usize, start..end);
            }
        }
    }
}

/// Pairs of bytes by how many of ten thousand in code and prose are these, in either case; each text is pairs end to end.
#[rustfmt::skip]
const COMMON_PAIRS: &[(u8, &str)] = &[
    (80, "  instont reer c, cosee te:  == at"),
    (48, " s tpuubnsorthen//b ::esde ietle anttis n "),
    (33, "arndittr phealraelmeanli fne uroasioedtangpeisut"),
    (23, r#"us32e: rlosi 0rigee_paectoeat__sd  octr  "ma e d {exchla lceve_tur) ouprun_i/ tyhac_0xllfi b"#),
    (17, "f lfac mnou3ifcaamom nrtcls_00ss _ w /ad> imrss:opfoic()nack);_cockeapulpoil__sod_"),
    (13, "ttmpdir_ -efodffempt }tuotn_e(crid 12 muowwirn_r_bsulu_pbiyp:cncrrol htsru_adoag_mzel _uy epda->s.sysh_lizfepluef."),
    (9, r#" *o ysfnvag of#[hi0,e,_f (_e #igupf,y_morcr(ait:bu#  'a lteemix0rygi_nier: vt(ni))p_--rg(ssp `sal_fafltct,be_dosumeqe)h bahobl :lsnf""),ab"#),
];

/// About how many of ten thousand pairs are this one.
fn commonness(a: u8, b: u8, case: Case) -> u32 {
    if case == Case::Exact && (a.is_ascii_uppercase() || b.is_ascii_uppercase()) {
        return 4;
    }
    match SHARES.get(usize::from(a) << 7 | usize::from(b)) {
        Some(0) | None if a.is_ascii_lowercase() && b.is_ascii_lowercase() => 5,
        Some(0) | None => 2,
        Some(share) => u32::from(*share),
    }
}

/// [`COMMON_PAIRS`], by their bytes.
static SHARES: [u8; 1 << 14] = shares();

const fn shares() -> [u8; 1 << 14] {
    let mut table = [0; 1 << 14];
    let mut row = 0;
    while row < COMMON_PAIRS.len() {
        let (share, pairs) = COMMON_PAIRS[row];
        let pairs = pairs.as_bytes();
        let mut i = 0;
        while i + 1 < pairs.len() {
            let firsts = [pairs[i].to_ascii_lowercase(), pairs[i].to_ascii_uppercase()];
            let seconds = [pairs[i + 1].to_ascii_lowercase(), pairs[i + 1].to_ascii_uppercase()];
            let mut way = 0;
            while way < 4 {
                table[(firsts[way & 1] as usize) << 7 | seconds[way >> 1] as usize] = share;
                way += 1;
            }
            i += 2;
        }
        row += 1;
    }
    table
}

/// A pair of bytes as a number, in each mixture of cases that it is looked for in.
fn variants(a: u8, b: u8, case: Case) -> impl Iterator<Item = u16> {
    // The bit in which a letter differs from its other case; none where there is no other.
    let other = |byte: u8| if case == Case::Any && byte.is_ascii_alphabetic() { 0x20 } else { 0 };
    let (first, second) = (other(a), other(b));
    let ways = [(0, 0), (0, second), (first, 0), (first, second)];
    let is_new = [true, second != 0, first != 0, first != 0 && second != 0];
    let pair = move |(first, second)| u16::from_le_bytes([a ^ first, b ^ second]);
    ways.into_iter().zip(is_new).filter(|(_, is_new)| *is_new).map(move |(way, _)| pair(way))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_found_as_a_plain_look_at_every_place_finds_them(
            words in prop::collection::vec(("[a-cA-C:_!\"é]{1,5}", any::<bool>()), 0..8),
            // Some of these differ from others in bits that the table does not tell apart.
            parts in prop::collection::vec("[a-cA-C:_!\"\x01\x02é中]{0,6}", 0..12),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut text = String::new();
            for (n, part) in parts.iter().enumerate() {
                text.push_str(part);
                if let Some(pick) = picks.get(n).filter(|_| !words.is_empty()) {
                    text.push_str(&words[pick.index(words.len())].0);
                }
            }
            let text = text.as_bytes();
            let case = |exact: bool| if exact { Case::Exact } else { Case::Any };
            let anchors = Anchors::new(words.iter().map(|(text, exact)| Word { text, case: case(*exact) }));
            let mut found = Vec::new();
            anchors.find(text, |number, range| found.push((number, range.start, range.end)));
            found.sort_unstable();

            let mut expected = Vec::new();
            for (number, (word, exact)) in words.iter().enumerate().filter(|(_, (word, _))| word.len() >= 3) {
                for (start, there) in text.windows(word.len()).enumerate() {
                    if there == word.as_bytes() || !exact && there.eq_ignore_ascii_case(word.as_bytes()) {
                        expected.push((number, start, start + word.len()));
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
