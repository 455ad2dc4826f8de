//! Two judges' numbers: whether they rise together, how far they are apart, and in which direction.

use super::distributions::{Z, normal_two_sided, t_quantile, t_two_sided};
use super::{Interval, Undefined, mean, paired, quantile, ranks, variance};
use serde::{Deserialize, Serialize};

/// A correlation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// From -1 to 1.
    pub r: f64,
    /// The probability of one at least as strong without any connection.
    pub p: f64,
    /// Fisher's interval, from four pairs on.
    pub interval: Option<Interval>,
}

/// Pearson's correlation, from three pairs on.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, Undefined> {
    let n = paired(x.len(), y.len(), 3)? as f64;
    let (mean_x, mean_y) = (average(x), average(y));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (left, right) in x.iter().zip(y) {
        let (dx, dy) = (left - mean_x, right - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    // All equal, but for what rounding makes of a mean.
    let flat = |sum: f64, mean: f64| sum <= 1e-24 * n * mean.abs().max(1e-12).powi(2);
    if flat(xx, mean_x) || flat(yy, mean_y) {
        return Err(Undefined::ZeroVariance);
    }
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    let df = n - 2.0;
    let chance = if r.abs() >= 1.0 { 0.0 } else { t_two_sided(r * (df / (1.0 - r * r)).sqrt(), df) };
    let interval = (x.len() >= 4).then(|| {
        let around = Interval::around(r.atanh(), Z / (n - 3.0).sqrt());
        Interval { low: around.low.tanh(), high: around.high.tanh() }
    });
    Ok(Correlation { r, p: chance, interval })
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing theirs.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, Undefined> {
    paired(x.len(), y.len(), 3)?;
    pearson(&ranks(x), &ranks(y)).map(|correlation| Correlation { interval: None, ..correlation })
}

/// Kendall's rank correlation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kendall {
    /// Corrected for ties.
    pub tau_b: f64,
    /// Stuart's version, for tables that are not square.
    pub tau_c: f64,
    /// The probability of one at least as strong without any connection: exact where there are no ties and few pairs.
    pub p: f64,
}

/// Kendall's rank correlation, from three pairs on.
pub fn kendall(x: &[f64], y: &[f64]) -> Result<Kendall, Undefined> {
    let n = paired(x.len(), y.len(), 3)?;
    let (mut concordant, mut discordant) = (0.0, 0.0);
    for a in 0..n {
        for b in 0..a {
            let sign = (x[a] - x[b]) * (y[a] - y[b]);
            concordant += f64::from(u8::from(sign > 0.0));
            discordant += f64::from(u8::from(sign < 0.0));
        }
    }
    let (ties_x, ties_y) = (ties(x), ties(y));
    let pairs = n as f64 * (n as f64 - 1.0) / 2.0;
    let tied = |ties: &[f64]| ties.iter().map(|t| t * (t - 1.0) / 2.0).sum::<f64>();
    let (tied_x, tied_y) = (tied(&ties_x), tied(&ties_y));
    if pairs - tied_x <= 0.0 || pairs - tied_y <= 0.0 {
        return Err(Undefined::ZeroVariance);
    }
    let difference: f64 = concordant - discordant;
    let tau_b = difference / ((pairs - tied_x) * (pairs - tied_y)).sqrt();
    let classes = ties_x.len().min(ties_y.len()) as f64;
    let tau_c = 2.0 * difference / (n as f64).powi(2) * classes / (classes - 1.0);
    let fewest = f64::min(discordant, pairs - discordant);
    let p = if tied_x == 0.0 && tied_y == 0.0 && (n <= 33 || fewest <= 1.0) {
        exact_inversions(n, fewest as usize)
    } else {
        let n = n as f64;
        let sum = |ties: &[f64], f: &dyn Fn(f64) -> f64| ties.iter().map(|t| f(*t)).sum::<f64>();
        let (x0, y0) =
            (sum(&ties_x, &|t| t * (t - 1.0) * (2.0 * t + 5.0)), sum(&ties_y, &|t| t * (t - 1.0) * (2.0 * t + 5.0)));
        let (x1, y1) = (sum(&ties_x, &|t| t * (t - 1.0) * (t - 2.0)), sum(&ties_y, &|t| t * (t - 1.0) * (t - 2.0)));
        let m = n * (n - 1.0);
        let variance =
            (m * (2.0 * n + 5.0) - x0 - y0) / 18.0 + 2.0 * tied_x * tied_y / m + x1 * y1 / (9.0 * m * (n - 2.0));
        normal_two_sided(difference / variance.sqrt())
    };
    Ok(Kendall { tau_b, tau_c, p })
}

/// How often each distinct value occurs.
pub(super) fn ties(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|tied| tied.len() as f64).collect()
}

/// The two-sided probability of at most `fewest` inversions in a random order of `n`.
fn exact_inversions(n: usize, fewest: usize) -> f64 {
    let mut ways = vec![1.0];
    for place in 2..=n {
        let mut next = vec![0.0; ways.len() + place - 1];
        for (inversions, count) in ways.iter().enumerate() {
            for more in 0..place {
                next[inversions + more] += count / place as f64;
            }
        }
        ways = next;
    }
    (2.0 * ways.iter().take(fewest + 1).sum::<f64>()).min(1.0)
}

/// Lin's concordance: correlation that a bias lowers.
pub fn concordance(x: &[f64], y: &[f64]) -> Result<f64, Undefined> {
    let n = paired(x.len(), y.len(), 2)? as f64;
    let (mean_x, mean_y) = (average(x), average(y));
    let covariance = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / n;
    let spread = variance(x, 0).unwrap_or(0.0) + variance(y, 0).unwrap_or(0.0) + (mean_x - mean_y).powi(2);
    if spread == 0.0 { Err(Undefined::ZeroVariance) } else { Ok(2.0 * covariance / spread) }
}

/// Intraclass correlations of two judges (the names are `McGraw` and Wong's).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Icc {
    /// One-way, a single judge: ICC(1,1).
    pub one_way: f64,
    /// Absolute agreement of a single judge: ICC(A,1).
    pub agreement: f64,
    /// Consistency of a single judge: ICC(C,1).
    pub consistency: f64,
    /// The same three for the mean of both judges: ICC(1,k), ICC(A,k), ICC(C,k).
    pub of_means: [f64; 3],
}

/// Intraclass correlations of two judges.
pub fn icc(x: &[f64], y: &[f64]) -> Result<Icc, Undefined> {
    const JUDGES: f64 = 2.0;
    let n = paired(x.len(), y.len(), 2)? as f64;
    let (mean_x, mean_y) = (average(x), average(y));
    let grand = f64::midpoint(mean_x, mean_y);
    let total: f64 = x.iter().chain(y).map(|value| (value - grand).powi(2)).sum();
    if total == 0.0 {
        return Err(Undefined::ZeroVariance);
    }
    let rows: f64 = x.iter().zip(y).map(|(x, y)| JUDGES * (f64::midpoint(*x, *y) - grand).powi(2)).sum();
    let columns = n * ((mean_x - grand).powi(2) + (mean_y - grand).powi(2));
    let between = rows / (n - 1.0);
    let within = (total - rows) / (n * (JUDGES - 1.0));
    let judges = columns / (JUDGES - 1.0);
    let error = (total - rows - columns) / ((n - 1.0) * (JUDGES - 1.0));
    Ok(Icc {
        one_way: (between - within) / (between + (JUDGES - 1.0) * within),
        agreement: (between - error) / (between + (JUDGES - 1.0) * error + JUDGES / n * (judges - error)),
        consistency: (between - error) / (between + (JUDGES - 1.0) * error),
        of_means: [
            (between - within) / between,
            (between - error) / (between + (judges - error) / n),
            (between - error) / between,
        ],
    })
}

/// How far a judge's numbers are from the labels (Bland and Altman).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// The mean distance.
    pub mae: f64,
    /// The root of the mean squared distance.
    pub rmse: f64,
    /// The median distance.
    pub median: f64,
    /// The mean of judge minus label, with its interval.
    pub bias: f64,
    /// The interval of the bias.
    pub bias_interval: Interval,
    /// The standard deviation of the differences.
    pub sd: f64,
    /// Limits of agreement: 95% of differences are expected between them.
    pub limits: Interval,
    /// The standard error of either limit.
    pub limits_se: f64,
    /// Whether the bias depends on the height of the score: the slope of the difference on the mean of both, and its
    /// probability by chance. None where all means are equal.
    pub slope: Option<(f64, f64)>,
}

/// How far a judge's numbers are from the labels.
pub fn apart(labels: &[f64], judged: &[f64]) -> Result<Apart, Undefined> {
    let count = paired(labels.len(), judged.len(), 2)?;
    let n = count as f64;
    let differences: Vec<f64> = labels.iter().zip(judged).map(|(label, judge)| judge - label).collect();
    let mut distances: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    distances.sort_by(f64::total_cmp);
    let bias = average(&differences);
    let sd = variance(&differences, 1).unwrap_or(0.0).sqrt();
    let means: Vec<f64> = labels.iter().zip(judged).map(|(label, judge)| f64::midpoint(*label, *judge)).collect();
    let slope = pearson(&means, &differences).ok().map(|correlation| {
        let spread = |values: &[f64]| variance(values, 1).unwrap_or(0.0).sqrt();
        (correlation.r * spread(&differences) / spread(&means), correlation.p)
    });
    Ok(Apart {
        mae: average(&distances),
        rmse: average(&differences.iter().map(|difference| difference * difference).collect::<Vec<_>>()).sqrt(),
        median: quantile(&distances, 0.5).unwrap_or(0.0),
        bias,
        bias_interval: Interval::around(bias, t_quantile(0.975, n - 1.0) * sd / n.sqrt()),
        sd,
        limits: Interval::around(bias, 1.96 * sd),
        limits_se: sd * (1.0 / n + 1.96 * 1.96 / (2.0 * (n - 1.0))).sqrt(),
        slope,
    })
}

fn average(values: &[f64]) -> f64 {
    mean(values.iter().copied()).unwrap_or(0.0)
}
