//! Confidence intervals. All of them are at the 95% level.

use super::Undefined;
use serde::{Deserialize, Serialize};

/// The 97.5% quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_gives_the_golden_values() {
        for (part, whole, (low, high)) in [
            (0, 10, (0.0, 0.277_532_799_863)),
            (10, 10, (0.722_467_200_137, 1.0)),
            (17, 20, (0.639_581_135_259, 0.947_631_254_104)),
            (1, 1, (0.206_549_314_377, 1.0)),
            (84, 200, (0.353_735_991_616, 0.489_279_260_604)),
        ] {
            let found = wilson(part, whole).unwrap();
            assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{part} of {whole}");
        }
        assert_eq!(wilson(0, 0), Err(Undefined::Empty));
    }
}
