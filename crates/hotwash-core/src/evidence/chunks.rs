//! Where a session is cut that is too long for one look.
//!
//! Works on [`Unit`]s: things that cannot be cut, such as the parallel calls of one message with their results. What a
//! chunk *owns* is judged in it. The end of what the chunk before owns comes along as context.

use crate::rubric::Chunks;
use std::ops::Range;

/// Something that cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// How large it is.
    pub tokens: usize,
    /// The turn it belongs to; never decreases.
    pub turn: usize,
}

/// A chunk, as ranges of units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What comes along from the chunk before, right before what is owned.
    pub context: Range<usize>,
    /// What it is about.
    pub owned: Range<usize>,
}

/// The most that a unit may be when every chunk holds `fixed` tokens beside its units.
pub fn most(rules: &Chunks, fixed: usize) -> usize {
    rules.max_tokens.saturating_sub(fixed).max(1)
}

/// Cuts units into chunks, each of which holds `fixed` tokens beside them. A unit larger than [`most`] is counted as
/// large as that: it has to be shortened.
pub fn chunks(units: &[Unit], fixed: usize, rules: &Chunks) -> Vec<Chunk> {
    let most = most(rules, fixed);
    let size = |range: &Range<usize>| -> usize {
        units.get(range.clone()).unwrap_or_default().iter().map(|unit| unit.tokens.min(most)).sum()
    };
    if units.is_empty() {
        return Vec::new();
    }
    let mut owned = if size(&(0..units.len())) <= most {
        std::iter::once(0..units.len()).collect()
    } else {
        cut(units, rules.target_tokens.min(most), &size)
    };
    if let [.., before, last] = owned.as_slice() {
        let both = before.start..last.end;
        if (size(last) as f64) < rules.min_last_share * size(before) as f64 && size(&both) <= most {
            owned.truncate(owned.len() - 2);
            owned.push(both);
        }
    }
    let mut chunks: Vec<Chunk> = Vec::with_capacity(owned.len());
    for owned in owned {
        let before = chunks.last().map_or(0..0, |chunk: &Chunk| chunk.owned.clone());
        let room = rules.overlap_tokens.min(most.saturating_sub(size(&owned)));
        chunks.push(Chunk { context: context(units, before, room, rules.overlap_turns), owned });
    }
    chunks
}

/// Fills chunks turn by turn, and unit by unit where a turn is too large for any.
fn cut(units: &[Unit], target: usize, size: &dyn Fn(&Range<usize>) -> usize) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut current = 0..0;
    let mut filled = 0;
    let mut take = |piece: Range<usize>, tokens: usize| {
        if filled + tokens > target && !current.is_empty() {
            cuts.push(current.clone());
            (current, filled) = (piece.start..piece.start, 0);
        }
        current.end = piece.end;
        filled += tokens;
        current.clone()
    };
    let mut last = 0..0;
    let mut start = 0;
    for turn in units.chunk_by(|a, b| a.turn == b.turn) {
        let range = start..start + turn.len();
        start = range.end;
        let tokens = size(&range);
        if tokens <= target {
            last = take(range, tokens);
        } else {
            for at in range.clone() {
                last = take(at..at + 1, size(&(at..at + 1)));
            }
        }
    }
    cuts.push(last);
    cuts
}

/// The last turns of what the chunk before owns, as many as there is room for.
fn context(units: &[Unit], before: Range<usize>, room: usize, turns: usize) -> Range<usize> {
    let mut start = before.end;
    let (mut filled, mut seen, mut turn) = (0, 0, None);
    for at in before.clone().rev() {
        let Some(unit) = units.get(at) else { break };
        seen += usize::from(turn != Some(unit.turn));
        turn = Some(unit.turn);
        filled += unit.tokens;
        if seen > turns || filled > room {
            break;
        }
        start = at;
    }
    start..before.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(target: usize, max: usize, turns: usize, overlap: usize) -> Chunks {
        Chunks {
            target_tokens: target,
            max_tokens: max,
            overlap_turns: turns,
            overlap_tokens: overlap,
            min_last_share: 0.5,
        }
    }

    /// A unit per turn, of one token each, unless said otherwise.
    fn turns(tokens: &[usize]) -> Vec<Unit> {
        tokens.iter().enumerate().map(|(turn, tokens)| Unit { tokens: *tokens, turn }).collect()
    }

    fn owned(units: &[Unit], rules: &Chunks) -> Vec<Range<usize>> {
        chunks(units, 0, rules).into_iter().map(|chunk| chunk.owned).collect()
    }

    #[test]
    fn nothing_gives_no_chunk_and_little_gives_one() {
        let rules = rules(10, 12, 2, 2);
        assert!(chunks(&[], 0, &rules).is_empty());
        assert_eq!(owned(&turns(&[1]), &rules).len(), 1);
        assert_eq!(owned(&turns(&[1; 12]), &rules).len(), 1);
        assert_eq!(owned(&turns(&[1; 13]), &rules), [0..10, 10..13]);
    }

    #[test]
    fn a_short_last_chunk_joins_the_one_before_where_it_fits_exactly() {
        assert_eq!(owned(&turns(&[1; 21]), &rules(10, 11, 2, 2)), [0..10, 10..21]);
        assert_eq!(owned(&turns(&[1; 24]), &rules(10, 14, 2, 2)), [0..10, 10..24]);
        assert_eq!(owned(&turns(&[1; 24]), &rules(10, 13, 2, 2)), [0..10, 10..20, 20..24]);
        // Half is not less than half.
        assert_eq!(owned(&turns(&[1; 25]), &rules(10, 20, 2, 2)), [0..10, 10..20, 20..25]);
    }

    #[test]
    fn cuts_are_between_turns_unless_one_is_too_large() {
        let unit = |tokens, turn| Unit { tokens, turn };
        let units = [unit(6, 0), unit(3, 1), unit(3, 1), unit(9, 2), unit(9, 2), unit(1, 3)];
        assert_eq!(owned(&units, &rules(10, 10, 2, 0)), [0..1, 1..3, 3..4, 4..6]);
    }

    #[test]
    fn the_first_chunk_has_no_context_and_the_others_the_turns_before_them() {
        let context = |rules: &Chunks| -> Vec<Range<usize>> {
            chunks(&turns(&[2; 20]), 0, rules).into_iter().map(|chunk| chunk.context).collect()
        };
        assert_eq!(context(&rules(20, 30, 4, 10)), [0..0, 6..10]);
        assert_eq!(context(&rules(20, 30, 4, 5)), [0..0, 8..10]);
        assert_eq!(context(&rules(20, 24, 4, 10)), [0..0, 8..10]);
    }

    proptest! {
        #[test]
        fn every_invariant_holds(
            parts in proptest::collection::vec((0usize..140, any::<bool>()), 0..120),
            fixed in 0usize..40,
            target in 50usize..100,
            spare in 0usize..60,
            overlap_turns in 0usize..5,
            overlap_tokens in 0usize..30,
        ) {
            let rules = rules(target, target + spare, overlap_turns, overlap_tokens);
            let mut turn = 0;
            let units: Vec<Unit> = parts.iter().map(|(tokens, begins)| {
                turn += usize::from(*begins);
                Unit { tokens: *tokens, turn }
            }).collect();
            let most = most(&rules, fixed);
            let size = |range: &Range<usize>| units[range.clone()].iter().map(|u| u.tokens.min(most)).sum::<usize>();
            let chunks = chunks(&units, fixed, &rules);
            prop_assert_eq!(chunks.is_empty(), units.is_empty());
            if size(&(0..units.len())) <= most && !units.is_empty() {
                prop_assert_eq!(chunks.len(), 1);
            }
            let mut at = 0;
            for (number, chunk) in chunks.iter().enumerate() {
                // No gap, nothing twice, nothing empty.
                prop_assert_eq!(chunk.owned.start, at);
                prop_assert!(chunk.owned.end > at);
                at = chunk.owned.end;
                // Context lies right before, in the chunk before, and is small enough.
                if number == 0 {
                    prop_assert!(chunk.context.is_empty());
                } else {
                    prop_assert_eq!(chunk.context.end, chunk.owned.start);
                    prop_assert!(chunk.context.start >= chunks[number - 1].owned.start);
                }
                let mut turns: Vec<usize> = units[chunk.context.clone()].iter().map(|unit| unit.turn).collect();
                turns.dedup();
                prop_assert!(turns.len() <= overlap_turns);
                prop_assert!(size(&chunk.context) <= overlap_tokens);
                prop_assert!(size(&chunk.context) + size(&chunk.owned) + fixed <= rules.max_tokens.max(fixed + 1));
                // A turn that fits is cut only by no chunk.
                if number > 0 && units[at_start(chunk)].turn == units[at_start(chunk) - 1].turn {
                    let turn = units[at_start(chunk)].turn;
                    let whole: usize =
                        units.iter().filter(|unit| unit.turn == turn).map(|unit| unit.tokens.min(most)).sum();
                    prop_assert!(whole > rules.target_tokens.min(most));
                }
            }
            prop_assert_eq!(at, units.len());
            if let [.., before, last] = chunks.as_slice() {
                let short = (size(&last.owned) as f64) < 0.5 * size(&before.owned) as f64;
                prop_assert!(!short || size(&before.owned) + size(&last.owned) > most);
            }
        }
    }

    fn at_start(chunk: &Chunk) -> usize {
        chunk.owned.start
    }
}
