//! Statistics: pure functions of numbers, which know nothing of sessions.
//!
//! Where a statistic has no value, the result is the reason ([`Undefined`]), never NaN and never a made-up 0 or 1.

mod describe;
mod intervals;

pub use describe::{mean, quantile, weighted_mean};
pub use intervals::{Interval, wilson};

use serde::{Deserialize, Serialize};

/// Why a statistic has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Undefined {
    /// There are no observations, or all of them weigh 0.
    #[error("there are no observations")]
    Empty,
}
