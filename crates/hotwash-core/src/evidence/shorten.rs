//! What is shortened, and in which order, when a session does not fit.
//!
//! Each piece of text belongs to a [`Class`]. Classes are shortened one after the other, each only as far as it takes:
//! within a class the longest pieces lose first, because the same cap holds for all of them.

use crate::redaction::MARK_WEIGHT;

/// What a piece of text is, in the order in which it is given up: what decides least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Names of files, and what the client put in.
    Listing,
    /// What was only read.
    Read,
    /// Output of a command that was run again later.
    Repeated,
    /// Output from a while ago.
    OldOutput,
    /// Arguments of a call from a while ago.
    OldCall,
    /// Prose from a while ago.
    OldWords,
    /// Output near the end.
    Output,
    /// Arguments of a call near the end.
    Call,
    /// Prose near the end.
    Words,
    /// What subagents found.
    Found,
    /// The person's words.
    Request,
    /// What was made.
    Produced,
    /// The last runs.
    Run,
    /// The last answer.
    Answer,
}

const CLASSES: [Class; 14] = [
    Class::Listing,
    Class::Read,
    Class::Repeated,
    Class::OldOutput,
    Class::OldCall,
    Class::OldWords,
    Class::Output,
    Class::Call,
    Class::Words,
    Class::Found,
    Class::Request,
    Class::Produced,
    Class::Run,
    Class::Answer,
];

impl Class {
    /// Whether it decides what came of a session.
    pub(super) fn decides(self) -> bool {
        self >= Class::Found
    }
}

/// How much of a piece each class may show, by weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps([usize; CLASSES.len()]);

/// No piece shows more than that, however much room there is, within a budget of [`BUDGET`]: a judge is paid by the word,
/// and reads the worse the more of them there are.
const FIRST: [usize; CLASSES.len()] =
    [300, 900, 500, 900, 900, 2_500, 900, 900, 2_500, 4_000, 6_000, 48_000, 4_000, 12_000];
/// How many tokens of a session are shown unless somebody asks for more: what those caps are meant for.
pub const BUDGET: usize = 12_000;

/// How far classes are shortened in a first round, and in a second.
const FLOORS: [[usize; CLASSES.len()]; 2] = [
    [80, 200, 120, 300, 300, 500, 500, 500, 1_000, 1_500, 4_000, 6_000, 2_000, 4_000],
    [0, 0, 0, 60, 100, 120, 200, 200, 240, 600, 600, 800, 800, 1_200],
];

impl Caps {
    /// As much as is shown at best within a budget of so many tokens.
    pub(super) fn first(budget: usize) -> Caps {
        Caps(FIRST.map(|cap| (cap * budget / BUDGET).max(cap / 2)))
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

    /// Shortens what decides little until all pieces weigh no more than `budget`, as far as that goes; what decides only
    /// where `all` says so.
    pub(super) fn fit(mut self, pieces: &[(Class, usize)], budget: usize, all: bool) -> Caps {
        for decides in [false, true] {
            for floors in FLOORS {
                for (class, floor) in CLASSES.into_iter().zip(floors).filter(|(class, _)| class.decides() == decides) {
                    if decides && !all || self.lower(class, floor, pieces, budget) {
                        return self;
                    }
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
        let first = Caps::first(BUDGET);
        let caps = first.fit(&pieces, 11_500, false);
        assert_eq!(caps.of(Class::Output), first.of(Class::Output));
        assert!((300..600).contains(&caps.of(Class::Read)), "{caps:?}");
        for all in [false, true] {
            let tight = first.fit(&pieces, 9_000, all);
            assert_eq!((tight.of(Class::Read), tight.of(Class::Output)), (0, 200));
            assert_eq!(tight.of(Class::Produced) < 10_000, all, "{tight:?}");
            assert_eq!(tight.size(&pieces) <= 9_000, all, "{tight:?}");
        }
    }

    #[test]
    fn a_larger_budget_shows_more_of_each_piece() {
        let caps = [6_000, 12_000, 24_000].map(|budget| Caps::first(budget).of(Class::Words));
        assert_eq!(caps, [1_250, 2_500, 5_000]);
    }
}
