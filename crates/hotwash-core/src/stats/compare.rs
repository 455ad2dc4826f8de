//! Two samples: whether they differ, by how much, and how many tests were made.

use super::bootstrap::SplitMix64;
use super::correlation::ties;
use super::distributions::{
    ln_choose, noncentral_t_sf, normal_cdf, normal_quantile, normal_two_sided, t_quantile, t_two_sided,
};
use super::{Interval, Undefined, mean, quantile, ranks, variance};
use serde::{Deserialize, Serialize};

/// The Mann-Whitney test with its effect sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// How many pairs the first sample wins; ties count half.
    pub u: f64,
    /// The two-sided probability: exact without ties in small samples, else the normal one with a correction for continuity.
    pub p: f64,
    /// The exact one; none with ties.
    pub exact: Option<f64>,
    /// The normal one with a correction for continuity.
    pub normal: f64,
    /// The normal one without.
    pub plain: f64,
    /// The share of pairs that the first sample wins.
    pub share: f64,
    /// From -1 to 1: how much more often the first wins than it loses.
    pub cliffs_delta: f64,
    /// The median difference of all pairs (Hodges and Lehmann).
    pub shift: f64,
}

/// Up to this size without ties the exact distribution is used.
const EXACT_UP_TO: usize = 30;

/// Compares two samples by ranks.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Result<MannWhitney, Undefined> {
    if x.is_empty() || y.is_empty() {
        return Err(Undefined::Empty);
    }
    let (n1, n2) = (x.len() as f64, y.len() as f64);
    let all: Vec<f64> = x.iter().chain(y).copied().collect();
    let u = ranks(&all).iter().take(x.len()).sum::<f64>() - n1 * (n1 + 1.0) / 2.0;
    let n = n1 + n2;
    let tied: f64 = ties(&all).iter().map(|t| t * t * t - t).sum();
    let sigma = (n1 * n2 / 12.0 * (n + 1.0 - tied / (n * (n - 1.0)))).sqrt();
    let off = (u - n1 * n2 / 2.0).abs();
    let normal = |off: f64| if sigma == 0.0 { 1.0 } else { normal_two_sided(off.max(0.0) / sigma) };
    let exact = (tied == 0.0).then(|| exact_u(x.len(), y.len(), u.max(n1 * n2 - u) as usize));
    let with_continuity = normal(off - 0.5);
    let mut differences: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| x - y)).collect();
    differences.sort_by(f64::total_cmp);
    let small = x.len().min(y.len()) <= EXACT_UP_TO;
    Ok(MannWhitney {
        u,
        p: exact.filter(|_| small).unwrap_or(with_continuity),
        exact,
        normal: with_continuity,
        plain: normal(off),
        share: u / (n1 * n2),
        cliffs_delta: 2.0 * u / (n1 * n2) - 1.0,
        shift: quantile(&differences, 0.5).unwrap_or(0.0),
    })
}

/// The two-sided probability of a U of at least `u`, without ties.
fn exact_u(n1: usize, n2: usize, u: usize) -> f64 {
    // ways[k][u]: how many sets of k ranks of the first so many have this U.
    let most = n1 * n2;
    let mut ways = vec![vec![0.0; most + 1]; n1 + 1];
    ways[0][0] = 1.0;
    for rank in 1..=n1 + n2 {
        for k in (1..=n1.min(rank)).rev() {
            // The k-th smallest of the first sample at this rank wins against rank - k of the second.
            let wins = rank - k;
            if wins > n2 {
                continue;
            }
            let (fewer, this) = ways.split_at_mut(k);
            for (to, from) in this[0][wins..].iter_mut().zip(&fewer[k - 1]) {
                *to += from;
            }
        }
    }
    let all: f64 = ways[n1].iter().sum();
    (2.0 * ways[n1][u..].iter().sum::<f64>() / all).min(1.0)
}

/// The smallest two-sided probability that samples of these sizes can reach: below 4 and 4 nothing can be significant.
pub fn smallest_p(n1: usize, n2: usize) -> Result<f64, Undefined> {
    if n1 == 0 || n2 == 0 {
        return Err(Undefined::Empty);
    }
    Ok((2.0 / ln_choose((n1 + n2) as f64, n1 as f64).exp()).min(1.0))
}

/// Welch's test for a difference of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welch {
    /// The difference of means, the first minus the second.
    pub difference: f64,
    /// The test statistic.
    pub t: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// The two-sided probability.
    pub p: f64,
    /// The interval of the difference.
    pub interval: Interval,
}

/// Compares the means of two samples whose spreads may differ.
pub fn welch(x: &[f64], y: &[f64]) -> Result<Welch, Undefined> {
    let few = |sample: &[f64]| Undefined::TooFew { has: sample.len(), needed: 2 };
    let of = |sample: &[f64]| variance(sample, 1).map(|v| v / sample.len() as f64).ok_or(few(sample));
    let (vx, vy) = (of(x)?, of(y)?);
    let variance = vx + vy;
    if variance == 0.0 {
        return Err(Undefined::ZeroVariance);
    }
    let average = |sample: &[f64]| mean(sample.iter().copied()).unwrap_or(0.0);
    let difference = average(x) - average(y);
    let df = variance * variance / (vx * vx / (x.len() as f64 - 1.0) + vy * vy / (y.len() as f64 - 1.0));
    let t = difference / variance.sqrt();
    let half = t_quantile(0.975, df) * variance.sqrt();
    Ok(Welch { difference, t, df, p: t_two_sided(t, df), interval: Interval::around(difference, half) })
}

/// The largest distance of two cumulative distributions, with its exact probability (Kolmogorov and Smirnov).
pub fn kolmogorov_smirnov(x: &[f64], y: &[f64]) -> Result<(f64, f64), Undefined> {
    if x.is_empty() || y.is_empty() {
        return Err(Undefined::Empty);
    }
    let below = |sample: &[f64], value: f64| sample.iter().filter(|v| **v <= value).count();
    // In units of 1 / (n1 n2), so that nothing is rounded.
    let apart = |value: &f64| (below(x, *value) * y.len()).abs_diff(below(y, *value) * x.len());
    let most = x.iter().chain(y).map(apart).max().unwrap_or(0);
    let (n1, n2) = (x.len(), y.len());
    // The share of lattice paths that never come that far apart. A path's share is halved, in a way, with every step.
    let mut inside = vec![0.0; n2 + 1];
    for i in 0..=n1 {
        for j in 0..=n2 {
            let is_inside = (i * n2).abs_diff(j * n1) < most;
            inside[j] = if !is_inside {
                0.0
            } else if i == 0 && j == 0 {
                1.0
            } else {
                // Of all paths to (i, j), those from above are i of i + j, and those from the left j of i + j.
                let above = if i > 0 { inside[j] * i as f64 } else { 0.0 };
                let left = if j > 0 { inside[j - 1] * j as f64 } else { 0.0 };
                (above + left) / (i + j) as f64
            };
        }
    }
    Ok((most as f64 / (n1 * n2) as f64, (1.0 - inside[n2]).clamp(0.0, 1.0)))
}

/// A permutation test for a difference of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permutation {
    /// The difference of means, the first minus the second.
    pub difference: f64,
    /// The two-sided probability.
    pub p: f64,
    /// How many arrangements were looked at.
    pub arrangements: usize,
    /// All there are, not a sample.
    pub exact: bool,
}

/// Up to so many arrangements all are looked at.
const ALL_UP_TO: f64 = 20_000.0;
/// Of more, so many at random.
const SAMPLED: usize = 9_999;

/// Compares means by all ways to share out the values, or by many random ones where there are too many.
pub fn permutation(x: &[f64], y: &[f64], seed: u64) -> Result<Permutation, Undefined> {
    if x.is_empty() || y.is_empty() {
        return Err(Undefined::Empty);
    }
    let mut all: Vec<f64> = x.iter().chain(y).copied().collect();
    let total: f64 = all.iter().sum();
    let (n1, n2) = (x.len() as f64, y.len() as f64);
    let of = |sum: f64| sum / n1 - (total - sum) / n2;
    let difference = of(x.iter().sum());
    let margin = 1e-12 * difference.abs().max(1e-300) + 1e-14;
    let (mut at_least, mut at_most, mut arrangements) = (0usize, 0usize, 0usize);
    let mut count = |found: f64| {
        at_least += usize::from(found >= difference - margin);
        at_most += usize::from(found <= difference + margin);
        arrangements += 1;
    };
    let exact = ln_choose(n1 + n2, n1) <= ALL_UP_TO.ln() + 1e-9;
    if exact {
        let mut chosen: Vec<usize> = (0..x.len()).collect();
        loop {
            count(of(chosen.iter().map(|at| all[*at]).sum()));
            // The next combination in order.
            let Some(place) = (0..chosen.len()).rev().find(|at| chosen[*at] != all.len() - chosen.len() + at) else {
                break;
            };
            chosen[place] += 1;
            for later in place + 1..chosen.len() {
                chosen[later] = chosen[later - 1] + 1;
            }
        }
    } else {
        let mut random = SplitMix64::new(seed);
        // The arrangement that was seen is one of them, so that the probability is never 0.
        count(difference);
        for _ in 0..SAMPLED {
            random.shuffle(&mut all);
            count(of(all[..x.len()].iter().sum()));
        }
    }
    let p = (2.0 * at_least.min(at_most) as f64 / arrangements as f64).min(1.0);
    Ok(Permutation { difference, p, arrangements, exact })
}

/// Two shares compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// The first minus the second.
    pub difference: f64,
    /// Newcombe's interval of the difference.
    pub interval: Interval,
    /// The test statistic of the pooled z test.
    pub z: f64,
    /// Its two-sided probability.
    pub p: f64,
    /// Fisher's exact probability.
    pub fisher: f64,
    /// The odds ratio; none where a denominator is 0.
    pub odds_ratio: Option<f64>,
}

/// Compares two shares, each `part` of `whole`.
pub fn shares((k1, n1): (u64, u64), (k2, n2): (u64, u64)) -> Result<Shares, Undefined> {
    let interval = super::newcombe((k1, n1), (k2, n2))?;
    let [k1, n1, k2, n2] = [k1, n1, k2, n2].map(|count| count as f64);
    let difference = k1 / n1 - k2 / n2;
    let pooled = (k1 + k2) / (n1 + n2);
    let se = (pooled * (1.0 - pooled) * (1.0 / n1 + 1.0 / n2)).sqrt();
    let (z, p) = if se == 0.0 { (0.0, 1.0) } else { (difference / se, normal_two_sided(difference / se)) };
    let odds = (k1 * (n2 - k2), k2 * (n1 - k1));
    let odds_ratio = (odds.1 > 0.0).then(|| odds.0 / odds.1);
    Ok(Shares { difference, interval, z, p, fisher: fisher((k1, n1), (k2, n2)), odds_ratio })
}

/// The probability of a table at most as likely as this one, with all margins as they are.
fn fisher((k1, n1): (f64, f64), (k2, n2): (f64, f64)) -> f64 {
    let hits = k1 + k2;
    let chance = |k: f64| (ln_choose(n1, k) + ln_choose(n2, hits - k) - ln_choose(n1 + n2, hits)).exp();
    let (low, high, seen) = ((hits - n2).max(0.0) as u64, n1.min(hits) as u64, chance(k1));
    (low..=high).map(|k| chance(k as f64)).filter(|p| *p <= seen * (1.0 + 1e-7)).sum::<f64>().min(1.0)
}

/// An exact paired test (`McNemar`) of two judges on the same cases: `b` that only the first got right, `c` that only the second
/// did.
pub fn mcnemar(b: u64, c: u64) -> f64 {
    let n = (b + c) as f64;
    let tail: f64 = (0..=b.min(c)).map(|k| (ln_choose(n, k as f64) - n * 2.0_f64.ln()).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// How probabilities are corrected for being several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjust {
    /// Any false alarm at all, by multiplication.
    Bonferroni,
    /// Any false alarm at all, step by step.
    Holm,
    /// The share of false alarms among the claims (Benjamini and Hochberg).
    Bh,
    /// The same, however the tests depend on each other (Benjamini and Yekutieli).
    By,
}

/// Corrected probabilities, in the order of the input.
pub fn adjust(p: &[f64], how: Adjust) -> Vec<f64> {
    let m = p.len();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let harmonic: f64 = (1..=m).map(|k| 1.0 / k as f64).sum();
    let factor = |place: usize| match how {
        Adjust::Bonferroni => m as f64,
        Adjust::Holm => (m - place) as f64,
        Adjust::Bh => m as f64 / (place + 1) as f64,
        Adjust::By => harmonic * m as f64 / (place + 1) as f64,
    };
    let raw = |place: usize| (p[order[place]] * factor(place)).min(1.0);
    let mut adjusted = vec![0.0; m];
    match how {
        Adjust::Bonferroni => (0..m).for_each(|place| adjusted[order[place]] = raw(place)),
        Adjust::Holm => {
            let mut most = 0.0_f64;
            for place in 0..m {
                most = most.max(raw(place));
                adjusted[order[place]] = most;
            }
        }
        Adjust::Bh | Adjust::By => {
            let mut least = 1.0_f64;
            for place in (0..m).rev() {
                least = least.min(raw(place));
                adjusted[order[place]] = least;
            }
        }
    }
    adjusted
}

/// How many observations each of two samples needs to show a shift of `d` standard deviations at 5% with this power.
pub fn n_per_group(d: f64, power: f64) -> Result<f64, Undefined> {
    if d == 0.0 {
        return Err(Undefined::ZeroDenominator);
    }
    let reached = |n: f64| {
        let (df, delta) = (2.0 * n - 2.0, d.abs() * (n / 2.0).sqrt());
        let t = t_quantile(0.975, df);
        noncentral_t_sf(t, df, delta) + 1.0 - noncentral_t_sf(-t, df, delta)
    };
    Ok(smallest(power, reached))
}

/// The smallest size at which a rising function reaches a value.
fn smallest(value: f64, reached: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (2.0, 4.0);
    while reached(high) < value && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if reached(middle) < value { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// How many observations each of two samples needs to tell two shares apart at 5% with this power (Cohen's h).
pub fn n_per_group_shares(p1: f64, p2: f64, power: f64) -> Result<f64, Undefined> {
    let h = 2.0 * p1.sqrt().asin() - 2.0 * p2.sqrt().asin();
    if h == 0.0 {
        return Err(Undefined::ZeroDenominator);
    }
    // Both tails count, also the one on the wrong side.
    Ok(smallest(power, |n| {
        let (z, off) = (normal_quantile(0.975), h.abs() * (n / 2.0).sqrt());
        normal_cdf(off - z) + normal_cdf(-off - z)
    }))
}
