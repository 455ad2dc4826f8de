//! Statistics: pure functions of numbers, which know nothing of sessions.
//!
//! Where a statistic has no value, the result is the reason ([`Undefined`]), never NaN and never a made-up 0 or 1. All of them
//! are checked against reference values from established packages (`golden.json`, read by `tests.rs`).
//!
//! - `describe`: means, variances, quantiles, ranks;
//! - `intervals`: intervals for shares, and a share corrected for the errors of its judge;
//! - `agreement`: kappa, alpha and confusion counts for labels;
//! - `correlation`: correlation, absolute agreement and bias for numbers;
//! - `calibration`: how far probabilities can be believed, and curves that mend them;
//! - `bootstrap`: resampling with a seed, by clusters where observations belong together;
//! - `ppi`: means of judged sessions, corrected by the labelled ones;
//! - `compare`: tests for two samples, and corrections for many of them;
//! - `trend`: whether a series or a mix of groups has changed.

pub mod agreement;
pub mod bootstrap;
pub mod calibration;
pub mod compare;
pub mod correlation;
mod describe;
mod distributions;
mod intervals;
pub mod ppi;
#[cfg(test)]
mod tests;
pub mod trend;

pub use describe::{mean, quantile, ranks, variance, weighted_mean};
pub use intervals::{Corrected, Interval, clopper_pearson, newcombe, rogan_gladen, wilson};

use serde::{Deserialize, Serialize};

/// Why a statistic has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Undefined {
    /// There are no observations, or all of them weigh 0.
    #[error("there are no observations")]
    Empty,
    /// There are fewer observations than it needs.
    #[error("it needs {needed} observations and has {has}")]
    TooFew {
        /// How many there are.
        has: usize,
        /// How many it needs.
        needed: usize,
    },
    /// All observations are of one class.
    #[error("all observations are of one class")]
    OneClass,
    /// All observations are equal.
    #[error("all observations are equal")]
    ZeroVariance,
    /// The denominator is 0: nothing was predicted, or nothing was there to be found.
    #[error("the denominator is 0")]
    ZeroDenominator,
    /// The judge is no better than chance, so that its errors cannot be corrected for.
    #[error("the judge is no better than chance")]
    NoBetterThanChance,
    /// More than half of the resamples have no value.
    #[error("more than half of the resamples have no value")]
    Unstable,
    /// The inputs do not have equal lengths, or a value is outside its range.
    #[error("the inputs do not fit together")]
    Mismatch,
}

/// Both lists have one length, which is at least `needed`.
fn paired(a: usize, b: usize, needed: usize) -> Result<usize, Undefined> {
    if a != b {
        Err(Undefined::Mismatch)
    } else if a == 0 {
        Err(Undefined::Empty)
    } else if a < needed {
        Err(Undefined::TooFew { has: a, needed })
    } else {
        Ok(a)
    }
}

/// A quotient; the reason where it has none.
fn ratio(part: f64, whole: f64) -> Result<f64, Undefined> {
    if whole == 0.0 { Err(Undefined::ZeroDenominator) } else { Ok(part / whole) }
}
