//! Prediction-powered inference: the mean over many judged sessions, corrected by the few that people labelled.
//!
//! The mean of a judge's scores is not only noisy but wrong: a bias does not go away with more sessions. Where some sessions
//! also have labels, their differences say how far the judge is off, and the many scores without labels make the interval
//! narrower than the labels alone could.

use super::distributions::{Z, t_quantile};
use super::{Interval, Undefined, mean, variance};
use serde::{Deserialize, Serialize};

/// With fewer labels than this a corrected mean is not shown.
pub const FEWEST_LABELS: usize = 30;

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub se: f64,
    /// The interval.
    pub interval: Interval,
    /// How much the judge's scores count: 0 is labels alone, 1 is full trust.
    pub trust: f64,
}

/// The mean of the labels alone.
pub fn classical(labels: &[f64]) -> Result<Estimate, Undefined> {
    let centre = mean(labels.iter().copied()).ok_or(Undefined::Empty)?;
    let se = (variance(labels, 0).unwrap_or(0.0) / labels.len() as f64).sqrt();
    Ok(Estimate { mean: centre, se, interval: Interval::around(centre, Z * se), trust: 0.0 })
}

/// How much trust gives the narrowest interval, from 0 to 1.
pub fn best_trust(labels: &[f64], judged: &[f64], unlabelled: &[f64]) -> Result<f64, Undefined> {
    let n = super::paired(labels.len(), judged.len(), 2)?;
    if unlabelled.is_empty() {
        return Ok(0.0);
    }
    let (mean_y, mean_f) = (average(labels), average(judged));
    let covariance = labels.iter().zip(judged).map(|(y, f)| (y - mean_y) * (f - mean_f)).sum::<f64>() / n as f64;
    let all: Vec<f64> = judged.iter().chain(unlabelled).copied().collect();
    let spread = (1.0 + n as f64 / unlabelled.len() as f64) * variance(&all, 1).unwrap_or(0.0);
    Ok(if spread == 0.0 { 0.0 } else { (covariance / spread).clamp(0.0, 1.0) })
}

/// The corrected mean with a given trust. The normal interval, as reference implementations have it.
pub fn with_trust(labels: &[f64], judged: &[f64], unlabelled: &[f64], trust: f64) -> Result<Estimate, Undefined> {
    let n = super::paired(labels.len(), judged.len(), 1)? as f64;
    let rest: Vec<f64> = labels.iter().zip(judged).map(|(y, f)| y - trust * f).collect();
    let many = unlabelled.len() as f64;
    let (of_many, variance_of_many) = if unlabelled.is_empty() {
        (0.0, 0.0)
    } else {
        (trust * average(unlabelled), trust * trust * variance(unlabelled, 0).unwrap_or(0.0) / many)
    };
    if unlabelled.is_empty() && trust != 0.0 {
        return Err(Undefined::Empty);
    }
    let centre = of_many + average(&rest);
    let se = (variance_of_many + variance(&rest, 0).unwrap_or(0.0) / n).sqrt();
    Ok(Estimate { mean: centre, se, interval: Interval::around(centre, Z * se), trust })
}

/// The corrected mean that reports show (PPI++): the best trust, and an interval that also holds for few labels (Student's t
/// and the factor √(n / (n - 1))).
pub fn corrected_mean(labels: &[f64], judged: &[f64], unlabelled: &[f64]) -> Result<Estimate, Undefined> {
    let n = super::paired(labels.len(), judged.len(), 2)?;
    let trust = best_trust(labels, judged, unlabelled)?;
    let estimate = with_trust(labels, judged, unlabelled, trust)?;
    let se = estimate.se * (n as f64 / (n as f64 - 1.0)).sqrt();
    let half = t_quantile(0.975, n as f64 - 1.0) * se;
    Ok(Estimate { se, interval: Interval::around(estimate.mean, half), ..estimate })
}

/// By what factor the judge's scores multiply the labels, where they correlate by `rho` and there are `ratio` times as many
/// sessions without labels as with.
pub fn gain(rho: f64, ratio: f64) -> f64 {
    1.0 / (1.0 - rho * rho * ratio / (ratio + 1.0))
}

fn average(values: &[f64]) -> f64 {
    mean(values.iter().copied()).unwrap_or(0.0)
}
