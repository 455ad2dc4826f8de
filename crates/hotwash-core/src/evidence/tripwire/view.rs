//! The words around the last one that was read.

use super::{CLOSE, Class, Hit, Word};
use std::collections::VecDeque;
use std::ops::Range;

pub(super) struct View<'w> {
    pub(super) window: &'w VecDeque<Hit>,
    pub(super) last: &'w Hit,
}

impl<'w> View<'w> {
    /// What stands at most so far before the last word, from it backwards.
    pub(super) fn near(&self, within: usize) -> impl Iterator<Item = &'w Hit> + use<'w> {
        let last = self.last.place;
        self.window.iter().rev().take_while(move |hit| hit.place + within >= last)
    }

    /// All that these words are.
    pub(super) fn classes(&self, within: usize) -> Class {
        self.near(within).fold(Class(0), |all, hit| all.and(hit.class))
    }

    pub(super) fn word(&self, within: usize, word: Word) -> bool {
        self.near(within).any(|hit| hit.word == word)
    }

    /// Where these words stand.
    pub(super) fn place(&self, within: usize) -> Option<Range<usize>> {
        self.near(within).last().map(|first| first.range.start..self.last.range.end)
    }

    /// Whether words of these classes follow each other.
    pub(super) fn order<const N: usize>(&self, within: usize, wanted: [Class; N]) -> bool {
        let mut wanted = wanted.into_iter().rev().peekable();
        for hit in self.near(within) {
            wanted.next_if(|class| hit.class.holds(*class));
        }
        wanted.peek().is_none()
    }

    /// Whether, in one sentence, one word follows another at most so far behind it.
    pub(super) fn then(&self, one: impl Fn(&Hit) -> bool, other: impl Fn(&Hit) -> bool, within: usize) -> bool {
        if !self.near(CLOSE).any(&one) {
            return false;
        }
        let before = |from: usize| self.near(CLOSE).skip(from + 1);
        let follows = |by: &Hit, hit: &Hit| by.place + within >= hit.place && one(by);
        self.near(CLOSE).enumerate().any(|(at, hit)| other(hit) && before(at).any(|by| follows(by, hit)))
    }
}
