//! Whether something has changed: control charts for series, and changes told apart from changes of the mix.

use super::distributions::chi_squared_1;
use super::{Undefined, ratio};
use serde::{Deserialize, Serialize};

/// A cumulative sum chart of standardised values (Montgomery).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cusum {
    /// The sums above.
    pub above: Vec<f64>,
    /// The sums below.
    pub below: Vec<f64>,
    /// The first value at which either leaves its limit.
    pub alarm: Option<usize>,
}

/// The slack of a cumulative sum: half the shift that it is to find, in standard errors.
pub const CUSUM_K: f64 = 0.5;
/// The limit: about one false alarm in 465 periods.
pub const CUSUM_H: f64 = 5.0;

/// Adds up how far values lie off, beyond a slack of `k`; an alarm is a sum over `h`.
pub fn cusum(values: &[f64], k: f64, h: f64) -> Cusum {
    let (mut above, mut below, mut alarm) = (Vec::new(), Vec::new(), None);
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    for (at, value) in values.iter().enumerate() {
        up = (up + value - k).max(0.0);
        down = (down - value - k).max(0.0);
        above.push(up);
        below.push(down);
        if alarm.is_none() && up.max(down) > h {
            alarm = Some(at);
        }
    }
    Cusum { above, below, alarm }
}

/// An exponentially weighted mean of standardised values: each mean with the limit that it should stay within.
pub fn ewma(values: &[f64], lambda: f64, width: f64) -> Vec<(f64, f64)> {
    let mut last = 0.0;
    let step = |(at, value): (usize, &f64)| {
        last = lambda * value + (1.0 - lambda) * last;
        let settled = 1.0 - (1.0 - lambda).powi(2 * (at as i32 + 1));
        (last, width * (lambda / (2.0 - lambda) * settled).sqrt())
    };
    values.iter().enumerate().map(step).collect()
}

/// A group of sessions, such as those of one intent, in two periods: successes and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stratum {
    /// In the first period.
    pub a: (u64, u64),
    /// In the second period.
    pub b: (u64, u64),
}

/// A change between two periods, told apart from a change of what was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The share of successes in each period.
    pub crude: (f64, f64),
    /// The same, had both periods the mix of both together.
    pub standardised: (f64, f64),
    /// The part of the crude change that comes of the mix (Kitagawa).
    pub mix: f64,
    /// The part that comes of the rates.
    pub rate: f64,
    /// The common odds ratio of the first against the second (Mantel and Haenszel).
    pub odds_ratio: Option<f64>,
    /// The test of it (Cochran, Mantel and Haenszel): statistic without and with the correction for continuity, probability
    /// without.
    pub test: Option<(f64, f64, f64)>,
    /// Strata that are empty in one period and were left out.
    pub left_out: usize,
}

/// Splits the change of a share into what comes of the mix and what comes of the rates.
pub fn change(strata: &[Stratum]) -> Result<Change, Undefined> {
    let used: Vec<[f64; 4]> = strata
        .iter()
        .filter(|stratum| stratum.a.1 > 0 && stratum.b.1 > 0)
        .map(|stratum| [stratum.a.0, stratum.a.1, stratum.b.0, stratum.b.1].map(|count| count as f64))
        .collect();
    let sum = |f: &dyn Fn(&[f64; 4]) -> f64| used.iter().map(f).sum::<f64>();
    let (na, nb) = (sum(&|s| s[1]), sum(&|s| s[3]));
    if used.is_empty() {
        return Err(Undefined::Empty);
    }
    let crude = (sum(&|s| s[0]) / na, sum(&|s| s[2]) / nb);
    let both = na + nb;
    let weight = |s: &[f64; 4]| (s[1] + s[3]) / both;
    let standardised = (sum(&|s| weight(s) * s[0] / s[1]), sum(&|s| weight(s) * s[2] / s[3]));
    let mix = sum(&|s| (s[3] / nb - s[1] / na) * f64::midpoint(s[0] / s[1], s[2] / s[3]));
    let rate = sum(&|s| (s[2] / s[3] - s[0] / s[1]) * f64::midpoint(s[1] / na, s[3] / nb));
    let n = |s: &[f64; 4]| s[1] + s[3];
    let odds_ratio = ratio(sum(&|s| s[0] * (s[3] - s[2]) / n(s)), sum(&|s| s[2] * (s[1] - s[0]) / n(s))).ok();
    let expected = |s: &[f64; 4]| s[1] * (s[0] + s[2]) / n(s);
    let variance = sum(&|s| {
        let hits = s[0] + s[2];
        if n(s) < 2.0 { 0.0 } else { s[1] * s[3] * hits * (n(s) - hits) / (n(s) * n(s) * (n(s) - 1.0)) }
    });
    let off = sum(&|s| s[0] - expected(s)).abs();
    let test = (variance > 0.0).then(|| {
        let plain = off * off / variance;
        (plain, (off - 0.5).max(0.0).powi(2) / variance, chi_squared_1(plain))
    });
    Ok(Change { crude, standardised, mix, rate, odds_ratio, test, left_out: strata.len() - used.len() })
}
