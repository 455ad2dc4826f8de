//! Confidence intervals for shares. All of them are at the 95% level.

use super::Undefined;
use super::distributions::{Z, beta_quantile};
use serde::{Deserialize, Serialize};

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// `half` to both sides of `centre`.
    pub fn around(centre: f64, half: f64) -> Interval {
        Interval { low: centre - half, high: centre + half }
    }

    /// The value lies within.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Wilson's interval for a share, `part` of `whole`. It is sound for few cases and at 0 and 1, where the usual (Wald)
/// interval has no width.
pub fn wilson(part: u64, whole: u64) -> Result<Interval, Undefined> {
    if whole == 0 {
        return Err(Undefined::Empty);
    }
    let (n, p) = (whole as f64, part.min(whole) as f64 / whole as f64);
    let z2 = Z * Z;
    let centre = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let bound = |value: f64| (value / (1.0 + z2 / n)).clamp(0.0, 1.0);
    // Rounding would leave a tiny gap between a share of 0 or 1 and its bound.
    let low = if part == 0 { 0.0 } else { bound(centre - half) };
    let high = if part >= whole { 1.0 } else { bound(centre + half) };
    Ok(Interval { low, high })
}

/// The exact (Clopper-Pearson) interval for a share. It is never too narrow, and mostly too wide.
pub fn clopper_pearson(part: u64, whole: u64) -> Result<Interval, Undefined> {
    if whole == 0 {
        return Err(Undefined::Empty);
    }
    let (k, n) = (part.min(whole) as f64, whole as f64);
    let low = if part == 0 { 0.0 } else { beta_quantile(0.025, k, n - k + 1.0) };
    let high = if part >= whole { 1.0 } else { beta_quantile(0.975, k + 1.0, n - k) };
    Ok(Interval { low, high })
}

/// Newcombe's interval for the difference of two shares, the first minus the second.
pub fn newcombe((k1, n1): (u64, u64), (k2, n2): (u64, u64)) -> Result<Interval, Undefined> {
    let (first, second) = (wilson(k1, n1)?, wilson(k2, n2)?);
    let (p1, p2) = (k1 as f64 / n1 as f64, k2 as f64 / n2 as f64);
    let difference = p1 - p2;
    Ok(Interval {
        low: difference - ((p1 - first.low).powi(2) + (second.high - p2).powi(2)).sqrt(),
        high: difference + ((first.high - p1).powi(2) + (p2 - second.low).powi(2)).sqrt(),
    })
}

/// A share that was corrected for the errors of its judge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corrected {
    /// The share, within 0 and 1.
    pub rate: f64,
    /// Its standard error.
    pub se: f64,
    /// The correction led outside 0 and 1, and was cut.
    pub clamped: bool,
}

/// The share of positives that a judge with a known sensitivity (measured on `n_pos` cases) and specificity (on `n_neg`) would
/// have found `observed` of, in `n` cases (Rogan and Gladen).
pub fn rogan_gladen(
    (observed, n): (f64, u64),
    (sensitivity, n_pos): (f64, u64),
    (specificity, n_neg): (f64, u64),
) -> Result<Corrected, Undefined> {
    if n == 0 || n_pos == 0 || n_neg == 0 {
        return Err(Undefined::Empty);
    }
    let better = sensitivity + specificity - 1.0;
    if better <= 0.0 {
        return Err(Undefined::NoBetterThanChance);
    }
    let raw = (observed + specificity - 1.0) / better;
    let of = |p: f64, n: u64| p * (1.0 - p) / n as f64;
    let variance = of(observed, n) + raw * raw * of(sensitivity, n_pos) + (1.0 - raw).powi(2) * of(specificity, n_neg);
    let rate = raw.clamp(0.0, 1.0);
    Ok(Corrected { rate, se: variance.sqrt() / better, clamped: (rate - raw).abs() > 1e-12 })
}
