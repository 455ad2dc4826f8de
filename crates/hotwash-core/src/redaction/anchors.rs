//! Finds every occurrence of a few hundred short words in one pass.
//!
//! Each word is known by two neighbouring pairs of its bytes, the rarest it has. Whatever the position of the word, one of the two
//! pairs lies on an even offset, so every other offset is looked at, and a table of one bit per pair of bytes, which
//! stays in the nearest cache, says no to nearly all of them. An automaton over the same words ran at a third of the speed.

use std::ops::Range;

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
    /// One bit per pair of bytes.
    bits: Box<[u64; 1024]>,
    /// For each pair of bytes the number of its bucket; 0 is the empty one.
    bucket_of: Vec<u16>,
    buckets: Vec<Bucket>,
    words: Vec<(Box<[u8]>, Case)>,
}

/// The words that a pair of bytes stands in. Each is known by three bytes, so that one of the pair's neighbours is known.
#[derive(Default)]
struct Bucket {
    entries: Vec<Entry>,
    /// What may stand before the pair and behind it, by their marks.
    near: [u32; 2],
}

/// A bit by which most neighbours are told apart. It is the same for a letter in either case.
fn mark(byte: u8) -> u32 {
    1 << (byte & 31)
}

struct Entry {
    word: usize,
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
        let (bits, bucket_of, buckets) = (Box::new([0; 1024]), vec![0; 1 << 16], vec![Bucket::default()]);
        let mut anchors = Anchors { bits, bucket_of, buckets, words: Vec::new() };
        for (number, word) in words.enumerate() {
            let bytes = word.text.as_bytes();
            anchors.words.push((bytes.into(), word.case));
            let Some(at) = anchors.cheapest(bytes, word.case) else { continue };
            for offset in [at, at + 1] {
                if let Some(&[a, b]) = bytes.get(offset..offset + 2) {
                    let (first, last) = (bytes[0], bytes[bytes.len() - 1]);
                    for pair in variants(a, b, word.case) {
                        let (offset, length) = (offset as u32, bytes.len() as u32);
                        let behind = offset as usize == at;
                        let neighbour = mark(if behind { bytes[at + 2] } else { bytes[at] });
                        let bucket = anchors.bucket(pair);
                        bucket.near[usize::from(behind)] |= neighbour;
                        bucket.entries.push(Entry { word: number, offset, neighbour, behind, length, first, last });
                    }
                }
            }
        }
        anchors
    }

    /// The bucket of a pair, a new one where there is none.
    fn bucket(&mut self, pair: u16) -> &mut Bucket {
        let index = usize::from(pair);
        if self.bucket_of[index] == 0 {
            self.bucket_of[index] = self.buckets.len() as u16;
            self.buckets.push(Bucket::default());
            self.bits[index >> 6] |= 1 << (index & 63);
        }
        &mut self.buckets[usize::from(self.bucket_of[index])]
    }

    /// Where the three bytes start whose two pairs are the least common. Pairs that are looked for anyway cost less.
    fn cheapest(&self, word: &[u8], case: Case) -> Option<usize> {
        let pair = |a: u8, b: u8| {
            let known = variants(a, b, case).iter().all(|&pair| self.bucket_of[usize::from(pair)] != 0);
            commonness(a, b, case) * if known { 1 } else { 4 }
        };
        let cost = |w: &[u8]| pair(w[0], w[1]) + pair(w[1], w[2]);
        word.windows(3).enumerate().min_by_key(|(_, w)| cost(w)).map(|(i, _)| i)
    }

    /// Calls `found` with the number and the place of every occurrence, overlapping ones included.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let mut blocks = text.chunks_exact(8);
        let mut at = 0;
        for block in blocks.by_ref() {
            let hit = self.bit(block[0], block[1])
                | self.bit(block[2], block[3])
                | self.bit(block[4], block[5])
                | self.bit(block[6], block[7]);
            if hit & 1 != 0 {
                for offset in [0, 2, 4, 6] {
                    if self.bit(block[offset], block[offset + 1]) & 1 != 0 {
                        self.look(text, at + offset, &mut found);
                    }
                }
            }
            at += 8;
        }
        while at + 1 < text.len() {
            self.look(text, at, &mut found);
            at += 2;
        }
    }

    fn bit(&self, a: u8, b: u8) -> u64 {
        let index = usize::from(u16::from_le_bytes([a, b]));
        self.bits[index >> 6] >> (index & 63)
    }

    /// Looks at the pair at a place. Its neighbours tell nearly always that no word is there.
    #[inline]
    fn look(&self, text: &[u8], at: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        let pair = usize::from(u16::from_le_bytes([text[at], text[at + 1]]));
        let bucket = &self.buckets[usize::from(self.bucket_of[pair])];
        let mark_at = |at: usize| text.get(at).map_or(0, |byte| mark(*byte));
        let near = [mark_at(at.wrapping_sub(1)), mark_at(at + 2)];
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
        for entry in &bucket.entries {
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
            let (bytes, case) = &self.words[entry.word];
            let equal = match case {
                Case::Exact => there == &**bytes,
                Case::Any => there.eq_ignore_ascii_case(bytes),
            };
            if equal {
                found(entry.word, start..end);
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

fn variants(a: u8, b: u8, case: Case) -> Vec<u16> {
    let both = |byte: u8| match case {
        Case::Any if byte.is_ascii_alphabetic() => {
            vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]
        }
        _ => vec![byte],
    };
    let (first, second) = (both(a), both(b));
    first.iter().flat_map(|&a| second.iter().map(move |&b| u16::from_le_bytes([a, b]))).collect()
}
