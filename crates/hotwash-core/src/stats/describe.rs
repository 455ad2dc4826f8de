//! Descriptive statistics: means and quantiles. There is one function for a mean, and everything uses it.

/// The mean of some values; `None` where there are none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    weighted_mean(values.into_iter().map(|value| (1.0, value)))
}

/// The mean of some values, each with its weight; `None` where the weights add up to nothing.
pub fn weighted_mean(values: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let add = |(weights, sum), (weight, value): (f64, f64)| (weights + weight, sum + weight * value);
    let (weights, sum) = values.into_iter().fold((0.0, 0.0), add);
    (weights > 0.0).then(|| sum / weights)
}

/// A quantile of sorted values by linear interpolation (type 7, the default of R and numpy); `None` where there are none.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

/// The variance; `ddof` is 1 for a sample and 0 for a population. `None` where there are too few values.
pub fn variance(values: &[f64], ddof: usize) -> Option<f64> {
    if values.len() <= ddof {
        return None;
    }
    let mean = mean(values.iter().copied())?;
    let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(sum / (values.len() - ddof) as f64)
}

/// The place of each value when all are sorted, from 1; equal values share the mean of their places.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = at as f64 + f64::midpoint(tied.len() as f64, 1.0);
        for place in tied {
            ranks[*place] = rank;
        }
        at += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_values() {
        assert_eq!(mean([1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean([]), None);
        assert_eq!(weighted_mean([(3.0, 1.0), (1.0, 5.0)]), Some(2.0));
        assert_eq!(weighted_mean([(0.0, 1.0)]), None);
    }

    #[test]
    fn quantiles_lie_between_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((quantile(&values, share).unwrap() - expected).abs() < 1e-12, "{share}");
        }
        assert_eq!(quantile(&[7.0], 0.3), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(variance(&[1.0, 3.0], 1), Some(2.0));
        assert_eq!(variance(&[1.0], 1), None);
    }
}
