//! Distribution functions that the statistics need, over `statrs`.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF as _, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

/// The 97.5% quantile of the standard normal distribution.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// P(Z ≤ z).
pub(super) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The normal quantile.
pub(super) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// P(|Z| ≥ |z|).
pub(super) fn normal_two_sided(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// P(|T| ≥ |t|) with `df` degrees of freedom.
pub(super) fn t_two_sided(t: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |students| (2.0 * students.sf(t.abs())).min(1.0))
}

/// The quantile of Student's t distribution.
pub(super) fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::INFINITY, |students| {
        // The library's search stops early; Newton's method makes the last digits right.
        let mut t = students.inverse_cdf(p);
        for _ in 0..3 {
            let density = statrs::distribution::Continuous::pdf(&students, t);
            t -= (students.cdf(t) - p) / density;
        }
        t
    })
}

/// The quantile of the beta distribution.
pub(super) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let Ok(beta) = Beta::new(a, b) else { return f64::NAN };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if beta.cdf(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// P(χ² ≥ x) with one degree of freedom.
pub(super) fn chi_squared_1(x: f64) -> f64 {
    ChiSquared::new(1.0).map_or(1.0, |chi| chi.sf(x))
}

/// ln C(n, k).
pub(super) fn ln_choose(n: f64, k: f64) -> f64 {
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// P(T > t) of a noncentral t distribution, by Simpson's rule over the chi distribution in its denominator.
pub(super) fn noncentral_t_sf(t: f64, df: f64, delta: f64) -> f64 {
    const STEPS: usize = 4000;
    // The square root of χ²/df is close to 1, with a standard deviation of about 1/√(2 df).
    let spread = 12.0 / (2.0 * df).sqrt();
    let (low, high) = ((1.0 - spread).max(0.0), 1.0 + spread);
    let step = (high - low) / STEPS as f64;
    let constant = (df / 2.0).ln() * (df / 2.0) + 2.0_f64.ln() - ln_gamma(df / 2.0);
    let value = |s: f64| {
        if s <= 0.0 {
            return 0.0;
        }
        let density = (constant + (df - 1.0) * s.ln() - df * s * s / 2.0).exp();
        density * normal_cdf(delta - t * s)
    };
    let inner: f64 = (1..STEPS).map(|at| value(low + at as f64 * step) * if at % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (value(low) + inner + value(high)) * step / 3.0
}
