//! Finds the quote that ends a JSON string, or the newline that cuts it off. Nearly every byte of a transcript passes
//! through here.
//!
//! Whether a stretch of text has quotes, and whether they are escaped, is anybody's guess, the processor's too. So the
//! same few steps are done for each block, and the only question asked is whether the string ends there. To ask whether
//! backslashes stand behind each other, too, and spare some steps where none do, is as fast for text in which they hardly
//! ever do, and a sixth slower for text with JSON or patterns in it.
//!
//! Most processors compare 32 or 64 bytes at once, all that we build for 16. Which one this is shows only when the program
//! runs, and the compiler cannot know that it was asked: hence the `unsafe`, the only one in what ships. `scripts/miri`
//! runs the tests below where every step is checked.

use wide::u8x16;

/// How many bytes are looked at together: as many as a word has bits.
pub const BLOCK: usize = u64::BITS as usize;

/// Where quotes, backslashes and newlines stand in a block: a bit for each place.
struct Places {
    quotes: u64,
    backslashes: u64,
    newlines: u64,
}

impl Places {
    /// With the places of a byte found like this.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is to be compiled for the processor that its caller is for")]
    fn by(of: impl Fn(u8) -> u64) -> Places {
        Places { quotes: of(b'"'), backslashes: of(b'\\'), newlines: of(b'\n') }
    }
}

/// Where the first quote that is not escaped or the first newline stands, counted from the first block. `escaped` says
/// whether the first byte is.
#[inline]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the compiler cannot know that the processor was asked")
)]
pub fn closing(blocks: &[[u8; BLOCK]], escaped: bool) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has what the function asks for.
            return unsafe { x86::closing_by_64(blocks, escaped) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function asks for.
            return unsafe { x86::closing_by_32(blocks, escaped) };
        }
    }
    closing_by_16(blocks, escaped)
}

fn closing_by_16(blocks: &[[u8; BLOCK]], escaped: bool) -> Option<usize> {
    first(blocks, escaped, |block| {
        let (chunks, _) = block.as_chunks::<16>();
        let bits = |n: usize, byte| u64::from(u8x16::new(chunks[n]).simd_eq(u8x16::splat(byte)).to_bitmask());
        Places::by(|byte| bits(0, byte) | bits(1, byte) << 16 | bits(2, byte) << 32 | bits(3, byte) << 48)
    })
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "reading into a register takes an address")]
mod x86 {
    use super::{BLOCK, Places, first};
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm512_cmpeq_epi8_mask,
        _mm512_loadu_si512, _mm512_set1_epi8,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn closing_by_32(blocks: &[[u8; BLOCK]], escaped: bool) -> Option<usize> {
        // SAFETY: this is an address of 32 bytes, and any will do.
        let load = |half: &[u8; 32]| unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let places = |half: __m256i, byte: u8| {
            let same = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8));
            u64::from(_mm256_movemask_epi8(same) as u32)
        };
        first(blocks, escaped, |block| {
            let (halves, _) = block.as_chunks();
            let (low, high) = (load(&halves[0]), load(&halves[1]));
            Places::by(|byte| places(low, byte) | places(high, byte) << 32)
        })
    }

    #[target_feature(enable = "avx512bw")]
    pub(super) fn closing_by_64(blocks: &[[u8; BLOCK]], escaped: bool) -> Option<usize> {
        first(blocks, escaped, |block| {
            // SAFETY: this is an address of 64 bytes, and any will do.
            let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            Places::by(|byte| _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte as i8)))
        })
    }
}

/// [`closing`] with the places of a block found like this.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is to be compiled for the processor that its caller is for")]
fn first(blocks: &[[u8; BLOCK]], escaped: bool, places: impl Fn(&[u8; BLOCK]) -> Places) -> Option<usize> {
    let mut escapes = Escapes { first: u64::from(escaped) };
    for (n, block) in blocks.iter().enumerate() {
        let Places { quotes, backslashes, newlines } = places(block);
        let ends = quotes & !escapes.escaped(backslashes) | newlines;
        if ends != 0 {
            return Some(n * BLOCK + ends.trailing_zeros() as usize);
        }
    }
    None
}

/// Which places of a string are escaped, block after block.
struct Escapes {
    /// A bit for the first place of the next block.
    first: u64,
}

impl Escapes {
    /// The places of the next block that stand behind an odd number of backslashes: a bit for each.
    ///
    /// Of a run of backslashes every other one escapes, beginning with the first. Subtracting a run from a one at every
    /// odd place behind it borrows through the run, which leaves alternating bits, whatever its length.
    #[inline(always)]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = u64::from_le_bytes([0b1010_1010; 8]);
        let may_escape = backslashes & !self.first;
        let alternating = (may_escape << 1 | ODD).wrapping_sub(may_escape) ^ ODD;
        let escaped = alternating ^ (backslashes | self.first);
        self.first = (alternating & backslashes) >> 63;
        escaped
    }
}

#[cfg(test)]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "each way is tried that this processor knows"))]
mod tests {
    use super::*;

    /// What each way says that this processor knows.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there are no others"))]
    fn all(blocks: &[[u8; BLOCK]], escaped: bool) -> Vec<Option<usize>> {
        let mut found = vec![closing(blocks, escaped), closing_by_16(blocks, escaped)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function asks for.
                found.push(unsafe { x86::closing_by_32(blocks, escaped) });
            }
            if is_x86_feature_detected!("avx512bw") {
                // SAFETY: the processor has what the function asks for.
                found.push(unsafe { x86::closing_by_64(blocks, escaped) });
            }
        }
        found
    }

    /// Every byte looked at by itself.
    fn plainly(bytes: &[u8], mut escaped: bool) -> Option<usize> {
        bytes.iter().position(|byte| {
            let ends = *byte == b'"' && !escaped || *byte == b'\n';
            escaped = *byte == b'\\' && !escaped;
            ends
        })
    }

    #[test]
    fn an_end_is_found_behind_any_run_of_backslashes() {
        // Under Miri each of these takes its time.
        let step = if cfg!(miri) { 9 } else { 1 };
        for end in (0..3 * BLOCK).step_by(step) {
            for (run, ends) in (0..=end.min(4)).flat_map(|run| [(run, b'"'), (run, b'\n')]) {
                let mut bytes = [b'a'; 3 * BLOCK];
                bytes[end - run..end].fill(b'\\');
                bytes[end] = ends;
                for escaped in [false, true] {
                    let found = all(bytes.as_chunks().0, escaped);
                    assert!(
                        found.iter().all(|found| *found == plainly(&bytes, escaped)),
                        "{run} before {end}: {found:?}"
                    );
                }
            }
        }
    }

    #[cfg(not(miri))]
    proptest::proptest! {
        #[test]
        fn all_ways_find_the_same_end(
            text in r#"[a"\\\\\\]{0,20}a{0,140}[a"\\\\\\\n]{0,90}"#,
            escaped: bool,
        ) {
            let (blocks, _) = text.as_bytes().as_chunks();
            for found in all(blocks, escaped) {
                proptest::prop_assert_eq!(found, plainly(blocks.as_flattened(), escaped));
            }
        }
    }
}
