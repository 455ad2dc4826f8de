//! Wilson's interval for a share: honest for few cases and at the edges, where the usual one has no width.

/// The 97.5% quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95% interval of `part` of `whole`, or nothing where there is no whole.
pub fn interval(part: u64, whole: u64) -> Option<(f64, f64)> {
    if whole == 0 {
        return None;
    }
    let (n, p) = (whole as f64, part.min(whole) as f64 / whole as f64);
    let z2 = Z * Z;
    let centre = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let bound = |value: f64| (value / (1.0 + z2 / n)).clamp(0.0, 1.0);
    // At the edges rounding would leave a hair between the share and its bound.
    let low = if part == 0 { 0.0 } else { bound(centre - half) };
    let high = if part >= whole { 1.0 } else { bound(centre + half) };
    Some((low, high))
}
