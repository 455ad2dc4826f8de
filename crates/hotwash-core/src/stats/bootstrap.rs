//! Resampling. Every function takes its seed, so that the same labels give the same interval.

use super::distributions::{normal_cdf, normal_quantile};
use super::{Interval, Undefined, mean, quantile};
use serde::{Deserialize, Serialize};

/// A small random number generator with a contract: the same seed gives the same numbers on every machine, forever.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Begins with a seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Puts values in random order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }
}

/// An interval from resamples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// From the 2.5% to the 97.5% quantile of the resamples.
    pub interval: Interval,
    /// The mean of the resamples.
    pub mean: f64,
    /// Their standard deviation: the standard error of the statistic.
    pub se: f64,
    /// How many resamples had no value and were left out.
    pub undefined: usize,
}

/// The percentile interval of a statistic of `n` observations. `of` gets the places of a resample.
pub fn percentile(
    n: usize,
    resamples: usize,
    seed: u64,
    of: impl FnMut(&[usize]) -> Result<f64, Undefined>,
) -> Result<Bootstrap, Undefined> {
    let mut of = of;
    let (values, undefined) = replicates(&(0..n).map(|at| vec![at]).collect::<Vec<_>>(), resamples, seed, &mut of)?;
    summary(values, undefined)
}

/// The same where observations belong together, such as the sessions of one project: whole clusters are drawn, because
/// observations of one cluster are more alike than those of two, and resampling them one by one gives too narrow an interval.
pub fn by_clusters(
    clusters: &[Vec<usize>],
    resamples: usize,
    seed: u64,
    mut of: impl FnMut(&[usize]) -> Result<f64, Undefined>,
) -> Result<Bootstrap, Undefined> {
    let (values, undefined) = replicates(clusters, resamples, seed, &mut of)?;
    summary(values, undefined)
}

fn replicates(
    clusters: &[Vec<usize>],
    resamples: usize,
    seed: u64,
    of: &mut dyn FnMut(&[usize]) -> Result<f64, Undefined>,
) -> Result<(Vec<f64>, usize), Undefined> {
    if clusters.is_empty() {
        return Err(Undefined::Empty);
    }
    let mut random = SplitMix64::new(seed);
    let mut values = Vec::with_capacity(resamples);
    let mut drawn = Vec::new();
    for _ in 0..resamples {
        drawn.clear();
        for _ in 0..clusters.len() {
            drawn.extend_from_slice(&clusters[random.below(clusters.len())]);
        }
        values.extend(of(&drawn).ok());
    }
    let undefined = resamples - values.len();
    if 2 * undefined > resamples { Err(Undefined::Unstable) } else { Ok((values, undefined)) }
}

fn summary(mut values: Vec<f64>, undefined: usize) -> Result<Bootstrap, Undefined> {
    let centre = mean(values.iter().copied()).ok_or(Undefined::Empty)?;
    let se = super::variance(&values, 1).unwrap_or(0.0).sqrt();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| quantile(&values, share).ok_or(Undefined::Empty);
    Ok(Bootstrap { interval: Interval { low: at(0.025)?, high: at(0.975)? }, mean: centre, se, undefined })
}

/// A bias-corrected and accelerated interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bca {
    /// The interval.
    pub interval: Interval,
    /// The correction for bias.
    pub z0: f64,
    /// The acceleration.
    pub acceleration: f64,
    /// Which quantiles of the resamples the interval reaches to.
    pub quantiles: (f64, f64),
}

/// The bias-corrected and accelerated interval of a statistic of `n` observations (Efron). Resamples equal to the statistic
/// count half.
pub fn bca(
    n: usize,
    resamples: usize,
    seed: u64,
    mut of: impl FnMut(&[usize]) -> Result<f64, Undefined>,
) -> Result<Bca, Undefined> {
    let all: Vec<usize> = (0..n).collect();
    let whole = of(&all)?;
    let (mut values, _) = replicates(&all.iter().map(|at| vec![*at]).collect::<Vec<_>>(), resamples, seed, &mut of)?;
    values.sort_by(f64::total_cmp);
    let below = values.iter().filter(|value| **value < whole).count() as f64;
    let equal = values.iter().filter(|value| **value == whole).count() as f64;
    let z0 = normal_quantile((below + equal / 2.0) / values.len() as f64);
    let without = |left_out: usize| of(&all.iter().copied().filter(|at| *at != left_out).collect::<Vec<_>>());
    let jackknife: Vec<f64> = (0..n).map(without).collect::<Result<_, _>>()?;
    let centre = mean(jackknife.iter().copied()).ok_or(Undefined::Empty)?;
    let sum = |power: i32| jackknife.iter().map(|value| (centre - value).powi(power)).sum::<f64>();
    let spread = sum(2).powf(1.5);
    let acceleration = if spread == 0.0 { 0.0 } else { sum(3) / (6.0 * spread) };
    let shifted = |share: f64| {
        let z = z0 + normal_quantile(share);
        normal_cdf(z0 + z / (1.0 - acceleration * z))
    };
    let quantiles = (shifted(0.025), shifted(0.975));
    let at = |share: f64| quantile(&values, share).ok_or(Undefined::Empty);
    Ok(Bca { interval: Interval { low: at(quantiles.0)?, high: at(quantiles.1)? }, z0, acceleration, quantiles })
}
