//! What a reader of a grade or an outcome should know beside its value.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something to know about a verdict that does not show in its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// The session's own text speaks to its judge. Left out of trends until somebody has looked.
    InjectionSuspected,
    /// Two parts of the verdict, or the verdict and the facts, do not go together. The lower one was taken.
    Contradiction,
    /// Part of the session was not judged.
    Partial,
    /// As many chunks said the one as the other. The lower one was taken.
    Tie,
    /// Chunks are far apart.
    WideSpread,
    /// The overall is so close to the edge of a tier that it may as well be the other.
    NearTierEdge,
    /// Evidence that the judge gave was looked up and not found.
    UncheckedCites,
    /// The answer had keys that nobody asked for.
    UnknownKeys,
    /// The answer was given several times over.
    Repeated,
    /// A number came as text.
    NumberAsText,
    /// The judge was asked a second time, because its first answer could not be read in full.
    Retried,
    /// A second look was taken.
    SecondLook,
}

impl Flag {
    /// All of them.
    pub const ALL: [Flag; 12] = [
        Flag::InjectionSuspected,
        Flag::Contradiction,
        Flag::Partial,
        Flag::Tie,
        Flag::WideSpread,
        Flag::NearTierEdge,
        Flag::UncheckedCites,
        Flag::UnknownKeys,
        Flag::Repeated,
        Flag::NumberAsText,
        Flag::Retried,
        Flag::SecondLook,
    ];

    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Flag::InjectionSuspected => "injection_suspected",
            Flag::Contradiction => "contradiction",
            Flag::Partial => "partial",
            Flag::Tie => "tie",
            Flag::WideSpread => "wide_spread",
            Flag::NearTierEdge => "near_tier_edge",
            Flag::UncheckedCites => "unchecked_cites",
            Flag::UnknownKeys => "unknown_keys",
            Flag::Repeated => "repeated",
            Flag::NumberAsText => "number_as_text",
            Flag::Retried => "retried",
            Flag::SecondLook => "second_look",
        }
    }

    /// What it says, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Flag::InjectionSuspected => {
                "the session's own text speaks to its judge; left out until somebody has looked"
            }
            Flag::Contradiction => {
                "two parts of the verdict, or verdict and facts, do not go together; the lower one holds"
            }
            Flag::Partial => "part of the session was not judged",
            Flag::Tie => "as many parts said the one as the other; the lower one holds",
            Flag::WideSpread => "the parts are far apart",
            Flag::NearTierEdge => "so close to the edge of a tier that it may as well be the other",
            Flag::UncheckedCites => "some of the judge's evidence was looked up and not found, and does not count",
            Flag::UnknownKeys => "the answer had keys that nobody asked for",
            Flag::Repeated => "the answer was given several times over",
            Flag::NumberAsText => "a number came as text",
            Flag::Retried => "asked a second time, because the first answer could not be read in full",
            Flag::SecondLook => "looked at by a second judge",
        }
    }

    /// Puts a flag among others, in order and once.
    pub fn raise(self, flags: &mut Vec<Flag>) {
        if let Err(place) = flags.binary_search(&self) {
            flags.insert(place, self);
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_they_are_stored() {
        for flag in Flag::ALL {
            assert_eq!(serde_json::to_string(&flag).unwrap(), format!("\"{flag}\""));
        }
    }

    #[test]
    fn a_flag_is_raised_once_and_in_order() {
        let mut flags = Vec::new();
        for flag in Flag::ALL.into_iter().rev().chain(Flag::ALL) {
            flag.raise(&mut flags);
        }
        assert_eq!(flags, Flag::ALL);
    }
}
