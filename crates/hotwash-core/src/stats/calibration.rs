//! Probabilities: how far they can be believed, and curves that bring them in line with what happened.

use super::{Undefined, mean, paired, ranks};
use serde::{Deserialize, Serialize};

/// The mean squared distance of probabilities from what happened: 0 is perfect, 0.25 is what 0.5 for everything gives.
pub fn brier(probabilities: &[f64], happened: &[bool]) -> Result<f64, Undefined> {
    paired(probabilities.len(), happened.len(), 1)?;
    let squared = probabilities.iter().zip(happened).map(|(p, y)| (p - f64::from(u8::from(*y))).powi(2));
    mean(squared).ok_or(Undefined::Empty)
}

/// The mean logarithmic loss. Probabilities of 0 and 1 are moved a hair inwards, so that one of them cannot make it infinite.
pub fn log_loss(probabilities: &[f64], happened: &[bool]) -> Result<f64, Undefined> {
    paired(probabilities.len(), happened.len(), 1)?;
    let loss = |(p, y): (&f64, &bool)| {
        let p = p.clamp(1e-15, 1.0 - 1e-15);
        -(if *y { p } else { 1.0 - p }).ln()
    };
    mean(probabilities.iter().zip(happened).map(loss)).ok_or(Undefined::Empty)
}

/// Probabilities of about the same height, and how often it happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Which of the bins of equal width, from 0.
    pub at: usize,
    /// How many probabilities lie in it.
    pub n: usize,
    /// Their mean.
    pub predicted: f64,
    /// The share of them that happened.
    pub happened: f64,
}

/// The reliability table: bins of equal width that hold something.
pub fn reliability(probabilities: &[f64], happened: &[bool], bins: usize) -> Result<Vec<Bin>, Undefined> {
    paired(probabilities.len(), happened.len(), 1)?;
    let place = |p: f64| ((p * bins as f64).floor().max(0.0) as usize).min(bins.saturating_sub(1));
    let bin = |at: usize| {
        let inside = || probabilities.iter().zip(happened).filter(move |(p, _)| place(**p) == at);
        Some(Bin {
            at,
            n: inside().count(),
            predicted: mean(inside().map(|(p, _)| *p))?,
            happened: mean(inside().map(|(_, y)| f64::from(u8::from(*y))))?,
        })
    };
    Ok((0..bins).filter_map(bin).collect())
}

/// The expected and the maximum calibration error: how far predictions are from what happened, over the bins.
pub fn calibration_error(bins: &[Bin]) -> Result<(f64, f64), Undefined> {
    let n: usize = bins.iter().map(|bin| bin.n).sum();
    if n == 0 {
        return Err(Undefined::Empty);
    }
    let gap = |bin: &Bin| (bin.predicted - bin.happened).abs();
    let expected = bins.iter().map(|bin| bin.n as f64 * gap(bin)).sum::<f64>() / n as f64;
    Ok((expected, bins.iter().map(gap).fold(0.0, f64::max)))
}

/// The probability that something that happened was given a higher number than something that did not; ties count half.
pub fn auroc(scores: &[f64], happened: &[bool]) -> Result<f64, Undefined> {
    let n = paired(scores.len(), happened.len(), 1)?;
    let yes = happened.iter().filter(|y| **y).count();
    if yes == 0 || yes == n {
        return Err(Undefined::OneClass);
    }
    let sum: f64 = ranks(scores).iter().zip(happened).filter(|(_, y)| **y).map(|(rank, _)| rank).sum();
    let (yes, no) = (yes as f64, (n - yes) as f64);
    Ok((sum - yes * (yes + 1.0) / 2.0) / (yes * no))
}

/// A rising curve from scores to values (isotonic regression): straight between its points, flat outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Isotonic {
    points: Vec<(f64, f64)>,
}

impl Isotonic {
    /// Fits the curve by pooling neighbours that fall.
    pub fn fit(x: &[f64], y: &[f64]) -> Result<Isotonic, Undefined> {
        paired(x.len(), y.len(), 1)?;
        let mut pairs: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The value and weight of each block, and the scores it spans. Equal scores are one block from the start.
        let mut blocks: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        for tied in pairs.chunk_by(|a, b| a.0 == b.0) {
            let weight = tied.len() as f64;
            blocks.push((tied.iter().map(|pair| pair.1).sum::<f64>() / weight, weight, vec![tied[0].0]));
            while let [.., before, last] = &mut blocks[..] {
                if before.0 < last.0 {
                    break;
                }
                let weight = before.1 + last.1;
                before.0 = (before.0 * before.1 + last.0 * last.1) / weight;
                before.1 = weight;
                before.2.append(&mut last.2);
                blocks.pop();
            }
        }
        let mut points = Vec::new();
        for (value, _, scores) in blocks {
            points.extend(scores.first().map(|score| (*score, value)));
            points.extend(scores.get(1..).and_then(<[f64]>::last).map(|score| (*score, value)));
        }
        Ok(Isotonic { points })
    }

    /// The value for a score.
    pub fn at(&self, x: f64) -> f64 {
        let after = self.points.partition_point(|point| point.0 < x);
        match (after.checked_sub(1).and_then(|before| self.points.get(before)), self.points.get(after)) {
            (Some(before), Some(after)) => before.1 + (after.1 - before.1) * (x - before.0) / (after.0 - before.0),
            (Some(only), None) | (None, Some(only)) => only.1,
            (None, None) => f64::NAN,
        }
    }
}

/// A logistic curve from scores to probabilities: `1 / (1 + exp(a x + b))` (Platt).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Platt {
    /// The slope; negative where higher scores are likelier to happen.
    pub a: f64,
    /// The place.
    pub b: f64,
}

impl Platt {
    /// Fits the curve by Newton's method. Targets are moved inwards as Platt has it, so that few cases cannot make it steep.
    pub fn fit(scores: &[f64], happened: &[bool]) -> Result<Platt, Undefined> {
        let n = paired(scores.len(), happened.len(), 1)?;
        let yes = happened.iter().filter(|y| **y).count();
        if yes == 0 || yes == n {
            return Err(Undefined::OneClass);
        }
        let (high, low) = ((yes as f64 + 1.0) / (yes as f64 + 2.0), 1.0 / ((n - yes) as f64 + 2.0));
        let targets: Vec<f64> = happened.iter().map(|y| if *y { high } else { low }).collect();
        let loss = |a: f64, b: f64| -> f64 {
            let each = |(score, target): (&f64, &f64)| {
                let z = a * score + b;
                // -t ln p - (1 - t) ln(1 - p), without overflow.
                target * z + if z > 0.0 { (-z).exp().ln_1p() } else { z.exp().ln_1p() - z }
            };
            scores.iter().zip(&targets).map(each).sum()
        };
        let (mut a, mut b) = (0.0, ((n - yes) as f64 + 1.0).ln() - (yes as f64 + 1.0).ln());
        for _ in 0..100 {
            let (mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, 1e-12, 0.0, 1e-12);
            for (score, target) in scores.iter().zip(&targets) {
                let p = 1.0 / (1.0 + (a * score + b).exp());
                let (slope, curve) = (target - p, p * (1.0 - p));
                ga += score * slope;
                gb += slope;
                haa += score * score * curve;
                hab += score * curve;
                hbb += curve;
            }
            let determinant = haa * hbb - hab * hab;
            if determinant == 0.0 {
                return Err(Undefined::ZeroVariance);
            }
            let (da, db) = ((hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant);
            let (before, mut step) = (loss(a, b), 1.0);
            while step > 1e-10 && loss(a - step * da, b - step * db) > before + 1e-15 {
                step /= 2.0;
            }
            (a, b) = (a - step * da, b - step * db);
            if da.abs().max(db.abs()) < 1e-14 {
                break;
            }
        }
        Ok(Platt { a, b })
    }

    /// The probability for a score.
    pub fn at(self, score: f64) -> f64 {
        1.0 / (1.0 + (self.a * score + self.b).exp())
    }
}
