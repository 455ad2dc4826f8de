//! What is shortened, and in which order, when a session does not fit.
//!
//! Each piece of text belongs to a [`Class`]. Classes are shortened one after the other, each only as far as it takes:
//! within a class the longest pieces lose first, because the same cap holds for all of them.

use crate::redaction::MARK_WEIGHT;

/// What a piece of text is, in the order in which it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// What was only read.
    Read,
    /// Output of a command that was run again later.
    Repeated,
    /// Output from a while ago.
    OldOutput,
    /// Prose and arguments from a while ago.
    OldWords,
    /// Output near the end.
    Output,
    /// Prose and arguments near the end.
    Words,
    /// The person's words.
    Request,
    /// What was made.
    Produced,
    /// The last runs.
    Run,
    /// The last answer.
    Answer,
}

const CLASSES: [Class; 10] = [
    Class::Read,
    Class::Repeated,
    Class::OldOutput,
    Class::OldWords,
    Class::Output,
    Class::Words,
    Class::Request,
    Class::Produced,
    Class::Run,
    Class::Answer,
];

/// How much of a piece each class may show, by weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps([usize; CLASSES.len()]);

/// No piece shows more than that, however much room there is.
const FIRST: [usize; CLASSES.len()] =
    [30_000, 10_000, 40_000, 40_000, 40_000, 40_000, 200_000, 400_000, 60_000, 60_000];

/// How far classes are shortened in a first round, and in a second.
const FLOORS: [[usize; CLASSES.len()]; 2] =
    [[200, 120, 400, 500, 1_500, 1_200, 4_000, 6_000, 4_000, 4_000], [0, 0, 80, 120, 240, 240, 600, 800, 800, 1_200]];

impl Caps {
    /// As much as there is room for at best.
    pub(super) fn first() -> Caps {
        Caps(FIRST)
    }

    /// How much of a piece of this class is shown.
    pub(super) fn of(&self, class: Class) -> usize {
        self.0.get(class as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, class: Class, cap: usize) {
        if let Some(place) = self.0.get_mut(class as usize) {
            *place = cap;
        }
    }

    /// Shortens one class so that its pieces together weigh no more than `budget`.
    pub(super) fn limit(&mut self, class: Class, pieces: &[(Class, usize)], budget: usize) {
        let of_class: Vec<(Class, usize)> = pieces.iter().copied().filter(|(other, _)| *other == class).collect();
        self.lower(class, 0, &of_class, budget);
    }

    /// Lowers the cap of a class to what fits, but not below a floor. Says whether it fits then.
    fn lower(&mut self, class: Class, floor: usize, pieces: &[(Class, usize)], budget: usize) -> bool {
        let (mut low, mut high) = (floor.min(self.of(class)), self.of(class));
        if self.size(pieces) <= budget {
            return true;
        }
        self.set(class, low);
        if self.size(pieces) > budget {
            return false;
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            self.set(class, middle);
            if self.size(pieces) <= budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.set(class, low);
        true
    }

    /// What pieces weigh when they are shortened so.
    pub(super) fn size(&self, pieces: &[(Class, usize)]) -> usize {
        let shown = |(class, weight): &(Class, usize)| match self.of(*class) {
            cap if *weight > cap => (cap + MARK_WEIGHT).min(*weight),
            _ => *weight,
        };
        pieces.iter().map(shown).sum()
    }

    /// Shortens pieces until they weigh no more than `budget`, as far as that goes.
    pub(super) fn fit(mut self, pieces: &[(Class, usize)], budget: usize) -> Caps {
        for floors in FLOORS {
            for (class, floor) in CLASSES.into_iter().zip(floors) {
                if self.lower(class, floor, pieces, budget) {
                    return self;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_goes_first_and_only_as_far_as_it_takes() {
        let pieces = [(Class::Read, 10_000), (Class::Output, 10_000), (Class::Produced, 10_000)];
        let caps = Caps::first().fit(&pieces, 25_000);
        assert_eq!(caps.of(Class::Output), Caps::first().of(Class::Output));
        assert!((4_000..5_000).contains(&caps.of(Class::Read)), "{caps:?}");
        let tight = Caps::first().fit(&pieces, 12_000);
        assert!(tight.of(Class::Read) == 200 && tight.of(Class::Produced) > 10_000, "{tight:?}");
        assert!(tight.size(&pieces) <= 12_000);
    }
}
