//! Agreement on labels: how often two judges say the same, and how much of that is chance.

use super::distributions::Z;
use super::{Interval, Undefined, paired, ratio};
use serde::{Deserialize, Serialize};

/// How much a disagreement counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Every disagreement counts the same.
    None,
    /// By how many levels two labels are apart.
    Linear,
    /// By the square of that: the usual choice for ordered levels.
    Quadratic,
}

impl Weights {
    fn of(self, a: usize, b: usize) -> f64 {
        let apart = a.abs_diff(b) as f64;
        match self {
            Weights::None => f64::from(u8::from(a != b)),
            Weights::Linear => apart,
            Weights::Quadratic => apart * apart,
        }
    }
}

/// Counts of pairs of labels on a declared scale: `table[a][b]`. The scale is given, not taken from the data: a level that
/// nobody used still lies between its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table(Vec<Vec<u64>>);

/// Kappa with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kappa {
    /// Agreement beyond chance: 1 is perfect, 0 is chance.
    pub kappa: f64,
    /// Its asymptotic standard error (Fleiss, Cohen and Everitt).
    pub se: f64,
    /// The interval that follows.
    pub interval: Interval,
}

/// The shares of pairs, and the first and the second judge's shares of labels.
type Shares = (Vec<Vec<f64>>, Vec<f64>, Vec<f64>);

impl Table {
    /// Counts pairs of labels, each from 0 to below `levels`.
    pub fn of(a: &[usize], b: &[usize], levels: usize) -> Result<Table, Undefined> {
        paired(a.len(), b.len(), 1)?;
        if a.iter().chain(b).any(|label| *label >= levels) {
            return Err(Undefined::Mismatch);
        }
        let mut table = vec![vec![0; levels]; levels];
        for (a, b) in a.iter().zip(b) {
            table[*a][*b] += 1;
        }
        Ok(Table(table))
    }

    /// Takes counts as they are; the table must be square.
    pub fn from_counts(counts: Vec<Vec<u64>>) -> Result<Table, Undefined> {
        let levels = counts.len();
        if counts.iter().any(|row| row.len() != levels) { Err(Undefined::Mismatch) } else { Ok(Table(counts)) }
    }

    /// Its rows: the first judge's labels.
    pub fn rows(&self) -> &[Vec<u64>] {
        &self.0
    }

    /// How many pairs there are.
    pub fn n(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    fn levels(&self) -> usize {
        self.0.len()
    }

    fn shares(&self) -> Result<Shares, Undefined> {
        let n = self.n();
        if n == 0 {
            return Err(Undefined::Empty);
        }
        let shares: Vec<Vec<f64>> =
            self.0.iter().map(|row| row.iter().map(|count| *count as f64 / n as f64).collect()).collect();
        let first = shares.iter().map(|row| row.iter().sum()).collect();
        let second = (0..self.levels()).map(|b| shares.iter().map(|row| row[b]).sum()).collect();
        Ok((shares, first, second))
    }

    /// The share of equal labels.
    pub fn raw(&self) -> Result<f64, Undefined> {
        let same: u64 = self.0.iter().enumerate().map(|(level, row)| row[level]).sum();
        if self.n() == 0 { Err(Undefined::Empty) } else { Ok(same as f64 / self.n() as f64) }
    }

    /// The share of labels that are at most one level apart.
    pub fn within_one(&self) -> Result<f64, Undefined> {
        let near = |(a, row): (usize, &Vec<u64>)| {
            row.iter().enumerate().filter(|(b, _)| a.abs_diff(*b) <= 1).map(|(_, count)| count).sum::<u64>()
        };
        let near: u64 = self.0.iter().enumerate().map(near).sum();
        if self.n() == 0 { Err(Undefined::Empty) } else { Ok(near as f64 / self.n() as f64) }
    }

    /// The raw agreement of a judge that always gives the first judge's commonest label.
    pub fn always_majority(&self) -> Result<f64, Undefined> {
        let (_, first, _) = self.shares()?;
        Ok(first.into_iter().fold(0.0, f64::max))
    }

    /// Cohen's kappa. Where both judges gave one label only it is undefined, not 1.
    pub fn kappa(&self, weights: Weights) -> Result<f64, Undefined> {
        let (shares, first, second) = self.shares()?;
        let (mut observed, mut expected) = (0.0, 0.0);
        for a in 0..self.levels() {
            for b in 0..self.levels() {
                observed += weights.of(a, b) * shares[a][b];
                expected += weights.of(a, b) * first[a] * second[b];
            }
        }
        if expected == 0.0 { Err(Undefined::OneClass) } else { Ok(1.0 - observed / expected) }
    }

    /// Cohen's kappa with its asymptotic interval. With few labels in a class it is too narrow: prefer a bootstrap.
    pub fn kappa_interval(&self, weights: Weights) -> Result<Kappa, Undefined> {
        let kappa = self.kappa(weights)?;
        let (shares, first, second) = self.shares()?;
        let k = self.levels();
        let most = weights.of(0, k - 1).max(f64::MIN_POSITIVE);
        // Agreement weights: 1 on the diagonal.
        let agree = |a: usize, b: usize| 1.0 - weights.of(a, b) / most;
        let row_mean: Vec<f64> = (0..k).map(|a| (0..k).map(|b| second[b] * agree(a, b)).sum()).collect();
        let column_mean: Vec<f64> = (0..k).map(|b| (0..k).map(|a| first[a] * agree(a, b)).sum()).collect();
        let (mut observed, mut expected, mut sum) = (0.0, 0.0, 0.0);
        for a in 0..k {
            for b in 0..k {
                observed += shares[a][b] * agree(a, b);
                expected += first[a] * second[b] * agree(a, b);
            }
        }
        for a in 0..k {
            for b in 0..k {
                let term = agree(a, b) * (1.0 - expected) - (row_mean[a] + column_mean[b]) * (1.0 - observed);
                sum += shares[a][b] * term * term;
            }
        }
        let rest = observed * expected - 2.0 * expected + observed;
        let variance = (sum - rest * rest) / (self.n() as f64 * (1.0 - expected).powi(4));
        let se = variance.max(0.0).sqrt();
        Ok(Kappa { kappa, se, interval: Interval::around(kappa, Z * se) })
    }

    /// The mean of the F1 of each level, plainly and weighted by the first judge's labels.
    pub fn f1(&self) -> Result<(f64, f64), Undefined> {
        let (shares, first, second) = self.shares()?;
        let f1 = |level: usize| {
            let both = first[level] + second[level];
            if both == 0.0 { 0.0 } else { 2.0 * shares[level][level] / both }
        };
        let used: Vec<usize> = (0..self.levels()).filter(|level| first[*level] + second[*level] > 0.0).collect();
        let plain = used.iter().map(|level| f1(*level)).sum::<f64>() / used.len() as f64;
        Ok((plain, used.iter().map(|level| first[*level] * f1(*level)).sum()))
    }
}

/// How wide the interval of a kappa will be, to both sides, with `n` labels of which the share `p` is in one of two classes: how
/// many labels are worth the while.
pub fn expected_halfwidth(kappa: f64, p: f64, n: f64) -> f64 {
    let chance = p * p + (1.0 - p) * (1.0 - p);
    let observed = kappa * (1.0 - chance) + chance;
    1.96 * (observed * (1.0 - observed) / n).sqrt() / (1.0 - chance)
}

/// What a judge of yes and no got right and wrong, measured by labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    /// Yes, and right.
    pub tp: u64,
    /// Yes, and wrong.
    pub fp: u64,
    /// No, and wrong.
    #[serde(rename = "fn")]
    pub missed: u64,
    /// No, and right.
    pub tn: u64,
}

impl Binary {
    /// Counts verdicts against labels.
    pub fn of(labels: &[bool], verdicts: &[bool]) -> Result<Binary, Undefined> {
        paired(labels.len(), verdicts.len(), 1)?;
        let count = |label: bool, verdict: bool| {
            labels.iter().zip(verdicts).filter(|pair| *pair == (&label, &verdict)).count() as u64
        };
        Ok(Binary {
            tp: count(true, true),
            fp: count(false, true),
            missed: count(true, false),
            tn: count(false, false),
        })
    }

    /// How many there are.
    pub fn n(self) -> u64 {
        self.tp + self.fp + self.missed + self.tn
    }

    /// The share of verdicts that are right.
    pub fn accuracy(self) -> Result<f64, Undefined> {
        ratio((self.tp + self.tn) as f64, self.n() as f64)
    }

    /// Of those that were called yes, the share that is.
    pub fn precision(self) -> Result<f64, Undefined> {
        ratio(self.tp as f64, (self.tp + self.fp) as f64)
    }

    /// Of those that are yes, the share that was called so.
    pub fn recall(self) -> Result<f64, Undefined> {
        ratio(self.tp as f64, (self.tp + self.missed) as f64)
    }

    /// Of those that are no, the share that was called so.
    pub fn specificity(self) -> Result<f64, Undefined> {
        ratio(self.tn as f64, (self.tn + self.fp) as f64)
    }

    /// Of those that are no, the share that was called yes.
    pub fn false_positive_rate(self) -> Result<f64, Undefined> {
        self.specificity().map(|specificity| 1.0 - specificity)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(self) -> Result<f64, Undefined> {
        ratio(2.0 * self.tp as f64, (2 * self.tp + self.fp + self.missed) as f64)
    }

    /// The mean of recall and specificity.
    pub fn balanced_accuracy(self) -> Result<f64, Undefined> {
        Ok(f64::midpoint(self.recall()?, self.specificity()?))
    }

    /// Matthews' correlation.
    pub fn mcc(self) -> Result<f64, Undefined> {
        let [tp, fp, missed, tn] = [self.tp, self.fp, self.missed, self.tn].map(|count| count as f64);
        let product = (tp + fp) * (tp + missed) * (tn + fp) * (tn + missed);
        ratio(tp * tn - fp * missed, product.sqrt())
    }

    /// Kappa with chance set to one half, whatever the classes' sizes (PABAK).
    pub fn pabak(self) -> Result<f64, Undefined> {
        Ok(2.0 * self.accuracy()? - 1.0)
    }

    /// Gwet's AC1, which rare classes do not pull down.
    pub fn ac1(self) -> Result<f64, Undefined> {
        let share = ratio((2 * self.tp + self.fp + self.missed) as f64, 2.0 * self.n() as f64)?;
        let chance = 2.0 * share * (1.0 - share);
        Ok((self.accuracy()? - chance) / (1.0 - chance))
    }

    /// The same counts as a table of labels (rows) and verdicts, no before yes.
    pub fn table(self) -> Table {
        Table(vec![vec![self.tn, self.fp], vec![self.missed, self.tp]])
    }
}

/// The measurement level of ratings, for [`alpha`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Names.
    Nominal,
    /// Ordered.
    Ordinal,
    /// Numbers whose differences count.
    Interval,
    /// Numbers whose ratios count.
    Ratio,
}

/// Krippendorff's alpha of several raters, some of whom may not have rated every unit: `raters[rater][unit]`. Units with one
/// rating are left out.
pub fn alpha(raters: &[Vec<Option<f64>>], level: Level) -> Result<f64, Undefined> {
    let units = raters.iter().map(Vec::len).max().ok_or(Undefined::Empty)?;
    let of_unit = |unit: usize| -> Vec<f64> {
        raters.iter().filter_map(|ratings| ratings.get(unit).copied().flatten()).collect()
    };
    let units: Vec<Vec<f64>> = (0..units).map(of_unit).filter(|ratings| ratings.len() >= 2).collect();
    let mut values: Vec<f64> = units.iter().flatten().copied().collect();
    if values.is_empty() {
        return Err(Undefined::Empty);
    }
    let n = values.len() as f64;
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() < 2 {
        return Err(Undefined::OneClass);
    }
    let place = |value: f64| values.partition_point(|known| *known < value);
    let mut pairs = vec![vec![0.0; values.len()]; values.len()];
    for ratings in &units {
        let weight = 1.0 / (ratings.len() - 1) as f64;
        for (at, a) in ratings.iter().enumerate() {
            for (other, b) in ratings.iter().enumerate() {
                if at != other {
                    pairs[place(*a)][place(*b)] += weight;
                }
            }
        }
    }
    let totals: Vec<f64> = pairs.iter().map(|row| row.iter().sum()).collect();
    let distance = |a: usize, b: usize| match level {
        Level::Nominal => f64::from(u8::from(a != b)),
        Level::Interval => (values[a] - values[b]).powi(2),
        Level::Ratio => {
            let sum = values[a] + values[b];
            if sum == 0.0 { 0.0 } else { ((values[a] - values[b]) / sum).powi(2) }
        }
        Level::Ordinal => {
            let between: f64 = totals[a.min(b)..=a.max(b)].iter().sum();
            (between - f64::midpoint(totals[a], totals[b])).powi(2)
        }
    };
    let (mut observed, mut expected) = (0.0, 0.0);
    for a in 0..values.len() {
        for b in (0..values.len()).filter(|b| *b != a) {
            observed += pairs[a][b] * distance(a, b);
            expected += totals[a] * totals[b] * distance(a, b);
        }
    }
    Ok(1.0 - (n - 1.0) * observed / expected)
}

/// Fleiss' kappa of a fixed number of raters: `ratings[unit][rater]`.
pub fn fleiss(ratings: &[Vec<usize>]) -> Result<f64, Undefined> {
    let raters = ratings.first().ok_or(Undefined::Empty)?.len();
    if raters < 2 || ratings.iter().any(|unit| unit.len() != raters) {
        return Err(Undefined::Mismatch);
    }
    let levels = ratings.iter().flatten().max().map_or(0, |most| most + 1);
    let (mut agreed, mut shares) = (0.0, vec![0.0; levels]);
    let (n, k) = (ratings.len() as f64, raters as f64);
    for unit in ratings {
        let mut counts = vec![0.0; levels];
        for label in unit {
            counts[*label] += 1.0;
        }
        agreed += (counts.iter().map(|count| count * count).sum::<f64>() - k) / (k * (k - 1.0));
        shares.iter_mut().zip(&counts).for_each(|(share, count)| *share += count / (n * k));
    }
    let chance: f64 = shares.iter().map(|share| share * share).sum();
    if (chance - 1.0).abs() < 1e-12 { Err(Undefined::OneClass) } else { Ok((agreed / n - chance) / (1.0 - chance)) }
}
