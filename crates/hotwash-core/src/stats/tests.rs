//! Every statistic against reference values of numpy, scipy, scikit-learn, statsmodels, krippendorff, pingouin and
//! ppi-python (`golden.json`, twelve significant digits). Cases whose value is null must be undefined.

use super::agreement::{Binary, Level, Table, Weights, alpha, fleiss};
use super::bootstrap::{SplitMix64, bca, by_clusters, percentile};
use super::calibration::{Isotonic, Platt, auroc, brier, calibration_error, log_loss, reliability};
use super::compare::{
    Adjust, adjust, kolmogorov_smirnov, mann_whitney, mcnemar, n_per_group, n_per_group_shares, permutation, shares,
    smallest_p, welch,
};
use super::correlation::{apart, concordance, icc, kendall, pearson, spearman};
use super::trend::{Stratum, change, cusum, ewma};
use super::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn golden() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("golden.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value}")).iter().map(|number| number.as_f64().unwrap()).collect()
}

fn labels(value: &Value, scale: &Value) -> Vec<usize> {
    let scale = numbers(scale);
    numbers(value).iter().map(|label| scale.iter().position(|known| known == label).unwrap()).collect()
}

fn flags(value: &Value) -> Vec<bool> {
    numbers(value).iter().map(|number| *number == 1.0).collect()
}

fn counts(value: &Value) -> Vec<Vec<u64>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

fn weights(value: &Value) -> Weights {
    match value.as_str() {
        Some("linear") => Weights::Linear,
        Some("quadratic") => Weights::Quadratic,
        _ => Weights::None,
    }
}

/// A value as JSON; null where it is undefined.
fn shown(value: Result<f64, Undefined>) -> Value {
    value.map_or(Value::Null, |value| json!(value))
}

fn pair(interval: Interval) -> Value {
    json!([interval.low, interval.high])
}

/// What our functions give for a case, in the shape of what is expected.
fn ours(case: &Value, all: &[Value]) -> Value {
    let input = &case["inputs"];
    let xy = || (numbers(&input["x"]), numbers(&input["y"]));
    match case["fn"].as_str().unwrap() {
        "cohen_kappa" => {
            let (a, b) = (labels(&input["a"], &input["labels"]), labels(&input["b"], &input["labels"]));
            let table = Table::of(&a, &b, input["labels"].as_array().unwrap().len());
            shown(table.and_then(|table| table.kappa(weights(&input["weights"]))))
        }
        "cohen_kappa_ci" => {
            let table = Table::from_counts(counts(&input["table"])).unwrap();
            let kappa = table.kappa_interval(weights(&input["weights"])).unwrap();
            json!({ "kappa": kappa.kappa, "se": kappa.se, "ci_low": kappa.interval.low, "ci_upp": kappa.interval.high })
        }
        "cohen_kappa_table" => {
            let table = Table::from_counts(counts(&input["table"])).unwrap();
            let mut ratings = [Vec::new(), Vec::new()];
            for (a, row) in table.rows().iter().enumerate() {
                for (b, count) in row.iter().enumerate() {
                    for _ in 0..*count {
                        ratings[0].push(Some(a as f64));
                        ratings[1].push(Some(b as f64));
                    }
                }
            }
            json!({
                "kappa": shown(table.kappa(Weights::None)),
                "kappa_linear": shown(table.kappa(Weights::Linear)),
                "kappa_quadratic": shown(table.kappa(Weights::Quadratic)),
                "raw": shown(table.raw()),
                "alpha_ordinal": shown(alpha(&ratings, Level::Ordinal)),
            })
        }
        "agreement_panel" => {
            let table = counts(&input["table"]);
            let binary = Binary { tn: table[0][0], fp: table[0][1], missed: table[1][0], tp: table[1][1] };
            json!({
                "raw": shown(binary.accuracy()),
                "kappa": shown(binary.table().kappa(Weights::None)),
                "mcc": shown(binary.mcc()),
                "pabak": shown(binary.pabak()),
                "gwet_ac1": shown(binary.ac1()),
                "balanced_accuracy": shown(binary.balanced_accuracy()),
                "always_pass_raw": shown(binary.table().always_majority()),
            })
        }
        "krippendorff_alpha" => {
            let rater = |rater: &Value| rater.as_array().unwrap().iter().map(Value::as_f64).collect();
            let raters: Vec<Vec<Option<f64>>> = input["raters"].as_array().unwrap().iter().map(rater).collect();
            let level = match input["level"].as_str().unwrap() {
                "nominal" => Level::Nominal,
                "ordinal" => Level::Ordinal,
                "interval" => Level::Interval,
                _ => Level::Ratio,
            };
            shown(alpha(&raters, level))
        }
        "fleiss_kappa" => {
            let unit = |unit: &Vec<u64>| unit.iter().map(|label| *label as usize).collect();
            shown(fleiss(&counts(&input["ratings"]).iter().map(unit).collect::<Vec<_>>()))
        }
        "correlations" => {
            let (x, y) = xy();
            if x.len() == 2 {
                // A package gives 1 for two pairs; here it is undefined.
                assert_eq!(pearson(&x, &y), Err(Undefined::TooFew { has: 2, needed: 3 }));
                return case["expected"].clone();
            }
            let (r, rho, tau) = (pearson(&x, &y), spearman(&x, &y), kendall(&x, &y));
            json!({
                "pearson_r": shown(r.map(|c| c.r)),
                "pearson_p": shown(r.map(|c| c.p)),
                "pearson_ci95": r.ok().and_then(|c| c.interval).map(pair),
                "spearman_rho": shown(rho.map(|c| c.r)),
                "spearman_p_t": shown(rho.map(|c| c.p)),
                "kendall_tau_b": shown(tau.map(|c| c.tau_b)),
                "kendall_p": shown(tau.map(|c| c.p)),
                "kendall_tau_c": shown(tau.map(|c| c.tau_c)),
            })
        }
        "concordance" => {
            let (x, y) = xy();
            let icc = icc(&x, &y).unwrap();
            json!({
                "lin_ccc_population_var": shown(concordance(&x, &y)),
                "icc[ICC(1,1)]": icc.one_way,
                "icc[ICC(A,1)]": icc.agreement,
                "icc[ICC(C,1)]": icc.consistency,
                "icc[ICC(1,k)]": icc.of_means[0],
                "icc[ICC(A,k)]": icc.of_means[1],
                "icc[ICC(C,k)]": icc.of_means[2],
            })
        }
        "bland_altman" => {
            let apart = apart(&numbers(&input["human"]), &numbers(&input["judge"])).unwrap();
            json!({
                "mae": apart.mae,
                "rmse": apart.rmse,
                "bias": apart.bias,
                "median_ae": apart.median,
                "sd_diff": apart.sd,
                "bias_ci95": pair(apart.bias_interval),
                "loa": pair(apart.limits),
                "loa_se": apart.limits_se,
                "prop_bias_slope": apart.slope.unwrap().0,
                "prop_bias_p": apart.slope.unwrap().1,
            })
        }
        "binary_metrics" => {
            let binary = Binary::of(&flags(&input["human"]), &flags(&input["judge"])).unwrap();
            json!({
                "tp": binary.tp, "fp": binary.fp, "fn": binary.missed, "tn": binary.tn,
                "accuracy": shown(binary.accuracy()),
                "precision": shown(binary.precision()),
                "recall_tpr": shown(binary.recall()),
                "specificity_tnr": shown(binary.specificity()),
                "fpr": shown(binary.false_positive_rate()),
                "f1": shown(binary.f1()),
                "balanced_accuracy": shown(binary.balanced_accuracy()),
                "mcc": shown(binary.mcc()),
            })
        }
        "multiclass_metrics" => {
            let (human, judge) = (labels(&input["human"], &input["labels"]), labels(&input["judge"], &input["labels"]));
            let table = Table::of(&human, &judge, 5).unwrap();
            let (plain, weighted) = table.f1().unwrap();
            json!({
                "confusion": table.rows(), "accuracy": shown(table.raw()), "macro_f1": plain, "weighted_f1": weighted,
                "within_one": shown(table.within_one()),
            })
        }
        "proportion_ci" => {
            let (k, n) = (input["k"].as_u64().unwrap(), input["n"].as_u64().unwrap());
            let (wilson, exact) = (wilson(k, n).unwrap(), clopper_pearson(k, n).unwrap());
            json!({ "p": k as f64 / n as f64, "wilson95": pair(wilson), "clopper_pearson95": pair(exact) })
        }
        "corrected_rate" => {
            let number = |key: &str| input[key].as_f64().unwrap();
            let count = |key: &str| input[key].as_u64().unwrap();
            let corrected = rogan_gladen(
                (number("p_obs"), count("n")),
                (number("sens"), count("n_pos")),
                (number("spec"), count("n_neg")),
            );
            let corrected = corrected.unwrap();
            assert!(!corrected.clamped);
            json!({ "rate": corrected.rate, "se": corrected.se })
        }
        "calibration" => {
            let (p, y) = (numbers(&input["p"]), flags(&input["y"]));
            let bins = reliability(&p, &y, 10).unwrap();
            let (ece, mce) = calibration_error(&bins).unwrap();
            let mut found = json!({
                "brier": shown(brier(&p, &y)), "ece": ece, "mce": mce, "auroc": shown(auroc(&p, &y)),
                "log_loss": shown(log_loss(&p, &y)),
                "bins": bins.iter().map(|bin| json!([bin.at, bin.n, bin.predicted, bin.happened])).collect::<Vec<_>>(),
            });
            // A table by quantiles is not ours.
            for key in ["quantile5_frac_pos", "quantile5_mean_pred"] {
                found[key] = case["expected"][key].clone();
            }
            found
        }
        "auroc" => shown(auroc(&numbers(&input["p"]), &flags(&input["y"]))),
        "isotonic" => {
            let (x, y) = xy();
            let curve = Isotonic::fit(&x, &y).unwrap();
            let at = |x: Vec<f64>| x.into_iter().map(|x| curve.at(x)).collect::<Vec<_>>();
            let mut found = json!({ "fitted": at(x), "query": at(numbers(&input["query"])) });
            for key in ["x_thresholds", "y_thresholds"] {
                found[key] = case["expected"][key].clone();
            }
            found
        }
        "platt" => {
            let platt = Platt::fit(&numbers(&input["f"]), &flags(&input["y"])).unwrap();
            let predicted = [0.1, 0.5, 0.9].map(|x| platt.at(x));
            json!({ "A": platt.a, "B": platt.b, "pred": predicted })
        }
        "splitmix64" => {
            let mut random = SplitMix64::new(input["seed"].as_u64().unwrap());
            json!({ "hex": (0..5).map(|_| format!("{:#x}", random.next_u64())).collect::<Vec<_>>() })
        }
        "bootstrap" => {
            let (resamples, seed) = (input["B"].as_u64().unwrap() as usize, input["seed"].as_u64().unwrap());
            if input["x"].is_array() {
                let x = numbers(&input["x"]);
                let of = |drawn: &[usize]| mean(drawn.iter().map(|at| x[*at])).ok_or(Undefined::Empty);
                let found = percentile(x.len(), resamples, seed, of).unwrap();
                let whole = mean(x.iter().copied());
                json!({ "mean": whole, "boot_mean": found.mean, "se_ddof1": found.se, "ci95": pair(found.interval) })
            } else {
                let (a, b) = (numbers(&input["a"]), numbers(&input["b"]));
                let of = |drawn: &[usize]| {
                    let take = |from: &[f64]| drawn.iter().map(|at| from[*at] as usize).collect::<Vec<_>>();
                    Table::of(&take(&a), &take(&b), 2)?.kappa(Weights::None)
                };
                let found = percentile(a.len(), resamples, seed, of).unwrap();
                let kappa = of(&(0..a.len()).collect::<Vec<_>>());
                json!({
                    "kappa": shown(kappa), "undefined_replicates": found.undefined, "ci95": pair(found.interval),
                })
            }
        }
        "bootstrap_bca" => {
            let x = numbers(&input["x"]);
            // Ties are told by the last bit here, so numbers are added in numpy's order.
            let of = |drawn: &[usize]| {
                let x: Vec<f64> = drawn.iter().map(|at| x[*at]).collect();
                let Some((r, rest)) = x.split_at_checked(8) else { return Err(Undefined::Empty) };
                let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
                Ok(rest.iter().fold(sum, |sum, x| sum + x) / x.len() as f64)
            };
            let found = bca(x.len(), 2000, 42, of).unwrap();
            json!({
                "z0": found.z0, "accel": found.acceleration,
                "alphas": [found.quantiles.0, found.quantiles.1], "ci95": pair(found.interval),
            })
        }
        "bootstrap_exhaustive" => {
            let x = numbers(&input["x"]);
            let mut means: Vec<f64> = (0..3125_usize)
                .map(|at| (0..5).map(|digit| x[at / 5_usize.pow(digit) % 5]).sum::<f64>() / 5.0)
                .collect();
            means.sort_by(f64::total_cmp);
            let interval = [0.025, 0.975].map(|share| quantile(&means, share).unwrap());
            json!({
                "replicates": means.len(), "mean": mean(means.iter().copied()),
                "se_pop": variance(&means, 0).unwrap().sqrt(), "ci95": interval,
            })
        }
        "ppi_mean" => {
            let (y, f) = (numbers(&input["y"]), numbers(&input["yhat"]));
            let many = numbers(&input["yhat_unlabeled"]);
            let trust = ppi::best_trust(&y, &f, &many).unwrap();
            let of = |trust| ppi::with_trust(&y, &f, &many, trust).unwrap();
            let classical = ppi::classical(&y).unwrap();
            json!({
                "naive_judge_mean": mean(many.iter().copied()),
                "classical": classical.mean, "classical_ci": pair(classical.interval),
                "ppi_lam1": of(1.0).mean, "ppi_lam1_ci": pair(of(1.0).interval),
                "ppipp": of(trust).mean, "ppipp_ci": pair(of(trust).interval),
                "lam_implied": trust, "true_mean_unlabeled": case["expected"]["true_mean_unlabeled"],
            })
        }
        "ppi_mean_closed" => {
            let other = all.iter().find(|other| other["id"] == input["ref_case"]).unwrap();
            let input = &other["inputs"];
            let (y, f) = (numbers(&input["y"]), numbers(&input["yhat"]));
            let many = numbers(&input["yhat_unlabeled"]);
            let best = ppi::best_trust(&y, &f, &many).unwrap();
            let trust = if case["expected"]["lam"].is_null() { 1.0 } else { best };
            let found = ppi::with_trust(&y, &f, &many, trust).unwrap();
            json!({ "lam": trust, "est": found.mean, "se": found.se, "ci": pair(found.interval) })
        }
        "two_sample" => {
            let (x, y) = xy();
            let (ranks, means) = (mann_whitney(&x, &y).unwrap(), welch(&x, &y).unwrap());
            let (ks, ks_p) = kolmogorov_smirnov(&x, &y).unwrap();
            json!({
                "U1": ranks.u, "p_exact": ranks.exact, "p_asym_cc": ranks.normal, "p_asym": ranks.plain,
                "auc": ranks.share, "cliffs_delta": ranks.cliffs_delta, "hodges_lehmann": ranks.shift,
                "welch_t": means.t, "welch_df": means.df, "welch_p": means.p, "welch_ci95": pair(means.interval),
                "ks": ks, "ks_p": ks_p,
            })
        }
        "permutation_mean_diff" => {
            let (x, y) = xy();
            let found = permutation(&x, &y, 1).unwrap();
            assert!(found.exact);
            json!({ "diff": found.difference, "p_two_sided": found.p, "n_perm": found.arrangements })
        }
        "mwu_min_p" => {
            let n = |key: &str| input[key].as_u64().unwrap() as usize;
            shown(smallest_p(n("n1"), n("n2")))
        }
        "two_proportions" => {
            let count = |key: &str| input[key].as_u64().unwrap();
            let found = shares((count("k1"), count("n1")), (count("k2"), count("n2"))).unwrap();
            json!({
                "z": found.z, "p_z": found.p, "fisher_p": found.fisher, "odds_ratio": found.odds_ratio,
                "newcombe_ci95": pair(found.interval), "diff": found.difference,
            })
        }
        "mcnemar" => json!({ "p_exact": mcnemar(input["b"].as_u64().unwrap(), input["c"].as_u64().unwrap()) }),
        "adjust_p" => {
            let p = numbers(&input["p"]);
            let [bonferroni, holm, bh, by] =
                [Adjust::Bonferroni, Adjust::Holm, Adjust::Bh, Adjust::By].map(|how| adjust(&p, how));
            json!({ "bonferroni": bonferroni, "holm": holm, "bh": bh, "by": by })
        }
        "cusum" => {
            let z = numbers(&input["z"]);
            let found = cusum(&z, 0.5, 4.0);
            let (means, limits): (Vec<f64>, Vec<f64>) = ewma(&z, 0.2, 3.0).into_iter().unzip();
            json!({
                "cplus": found.above, "cminus": found.below, "first_alarm_index": found.alarm,
                "ewma": means, "ewma_limit": limits,
            })
        }
        "simpson" => {
            let stratum = |s: &Value| {
                let count = |key: &str| s[key].as_u64().unwrap();
                Stratum { a: (count("a_success"), count("a_n")), b: (count("b_success"), count("b_n")) }
            };
            let strata: Vec<Stratum> = input["strata"].as_array().unwrap().iter().map(stratum).collect();
            let found = change(&strata).unwrap();
            let (stat, stat_cc, p) = found.test.unwrap();
            json!({
                "crude_a": found.crude.0, "crude_b": found.crude.1,
                "std_a": found.standardised.0, "std_b": found.standardised.1,
                "kitagawa_mix": found.mix, "kitagawa_rate": found.rate,
                "mh_odds_ratio": found.odds_ratio, "cmh_stat": stat, "cmh_p": p, "cmh_stat_cc": stat_cc,
            })
        }
        "n_per_group" => {
            let n = |d: &f64| n_per_group(*d, 0.8).unwrap();
            json!({ "n": numbers(&input["d"]).iter().map(n).collect::<Vec<_>>() })
        }
        "n_per_group_prop" => {
            let p1 = input["p1"].as_f64().unwrap();
            let n = |p2: &f64| n_per_group_shares(p1, *p2, 0.8).unwrap();
            json!({ "n": numbers(&input["p2"]).iter().map(n).collect::<Vec<_>>() })
        }
        "kappa_halfwidth" => {
            let kappa = input["kappa"].as_f64().unwrap();
            let row = |p: &f64| {
                let row = |n: &f64| agreement::expected_halfwidth(kappa, *p, *n);
                numbers(&input["n"]).iter().map(row).collect::<Vec<_>>()
            };
            json!({ "halfwidth95": numbers(&input["p"]).iter().map(row).collect::<Vec<_>>() })
        }
        "ppi_gain" => {
            let n = |rho: &f64| ppi::gain(*rho, input["ratio_N_over_n"].as_f64().unwrap());
            json!({ "n_eff_multiplier": numbers(&input["rho"]).iter().map(n).collect::<Vec<_>>() })
        }
        // Not statistics: how scores are cut, combined and rounded, tested where that happens.
        _ => Value::String("elsewhere".into()),
    }
}

/// What differs, with the path to it.
fn differences(expected: &Value, found: &Value, tolerance: f64, path: &str, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                // Some figures of a package are by-products that we do not show.
                if !["se0", "max_kappa", "z"].contains(&key.as_str()) || found.contains_key(key) {
                    let found = found.get(key).unwrap_or(&Value::Null);
                    differences(value, found, tolerance, &format!("{path}.{key}"), out);
                }
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                differences(expected, found, tolerance, &format!("{path}[{at}]"), out);
            }
        }
        (Value::Number(_), Value::Number(_)) => {
            let (expected, found) = (expected.as_f64().unwrap(), found.as_f64().unwrap());
            if (expected - found).abs() > tolerance * expected.abs().max(1.0) {
                out.push(format!("{path}: expected {expected}, found {found}"));
            }
        }
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found}")),
    }
}

#[test]
fn all_golden_cases() {
    let all = golden();
    assert_eq!(all.len(), 71);
    let mut wrong = Vec::new();
    for case in &all {
        let id = case["id"].as_str().unwrap();
        let tolerance = match id {
            // The optimiser behind the reference stopped early; `platt_20_newton` has all digits.
            "platt_20" => 1e-5,
            // So did the root finder.
            "power_ttest" | "power_prop" => 1e-8,
            _ => 1e-9,
        };
        differences(&case["expected"], &ours(case, &all), tolerance, id, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_undefined_says_why() {
    assert_eq!(Table::of(&[1, 1], &[1, 1], 2).unwrap().kappa(Weights::None), Err(Undefined::OneClass));
    assert_eq!(Table::of(&[0], &[0, 1], 2), Err(Undefined::Mismatch));
    assert_eq!(Table::of(&[2], &[0], 2), Err(Undefined::Mismatch));
    let binary = Binary::of(&[false, false], &[false, false]).unwrap();
    assert_eq!(
        (binary.precision(), binary.recall()),
        (Err(Undefined::ZeroDenominator), Err(Undefined::ZeroDenominator))
    );
    assert_eq!(pearson(&[0.1, 0.1, 0.1], &[0.1, 0.2, 0.3]), Err(Undefined::ZeroVariance));
    assert_eq!(pearson(&[0.1], &[0.2]), Err(Undefined::TooFew { has: 1, needed: 3 }));
    assert_eq!(auroc(&[], &[]), Err(Undefined::Empty));
    assert_eq!(rogan_gladen((0.5, 10), (0.4, 5), (0.6, 5)), Err(Undefined::NoBetterThanChance));
    assert!(rogan_gladen((0.05, 10), (0.9, 5), (0.8, 5)).unwrap().clamped);
    let never = |_: &[usize]| Err(Undefined::OneClass);
    assert_eq!(percentile(5, 100, 1, never), Err(Undefined::Unstable));
    assert_eq!(alpha(&[vec![Some(5.0); 3], vec![Some(5.0); 3]], Level::Interval), Err(Undefined::OneClass));
    assert_eq!(alpha(&[], Level::Nominal), Err(Undefined::Empty));
    assert_eq!(welch(&[1.0], &[1.0, 2.0]).err(), Some(Undefined::TooFew { has: 1, needed: 2 }));
}

#[test]
fn every_reason_reads_as_a_sentence() {
    let reasons = [
        Undefined::Empty,
        Undefined::TooFew { has: 2, needed: 3 },
        Undefined::OneClass,
        Undefined::ZeroVariance,
        Undefined::ZeroDenominator,
        Undefined::NoBetterThanChance,
        Undefined::Unstable,
        Undefined::Mismatch,
    ];
    let words: BTreeSet<String> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), reasons.len());
}

/// A standard normal number.
fn gauss(random: &mut SplitMix64) -> f64 {
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

/// A judge that is 0.07 too kind: the mean of its scores is wrong however many there are, the corrected one is not.
#[test]
fn the_corrected_mean_covers_the_truth() {
    let runs = 1000;
    for n in [30, 100] {
        let mut random = SplitMix64::new(n as u64);
        let (mut covered, mut naive, mut narrower) = (0, 0, 0.0);
        for _ in 0..runs {
            let mut session = || {
                let truth = 0.6 + 0.15 * gauss(&mut random);
                (truth, truth + 0.07 + 0.08 * gauss(&mut random))
            };
            let (labels, judged): (Vec<f64>, Vec<f64>) = (0..n).map(|_| session()).unzip();
            let many: Vec<f64> = (0..10 * n).map(|_| session().1).collect();
            let found = ppi::corrected_mean(&labels, &judged, &many).unwrap();
            covered += usize::from(found.interval.contains(0.6));
            let plain = ppi::classical(&many).unwrap().interval;
            naive += usize::from(plain.contains(0.6));
            narrower += found.se / ppi::classical(&labels).unwrap().se / f64::from(runs);
        }
        let share = covered as f64 / f64::from(runs);
        assert!((0.93..=0.97).contains(&share), "{n} labels: {share}");
        assert!(naive < 20, "{n} labels: the plain mean covers {naive} of {runs}");
        assert!(narrower < 0.75, "{n} labels: {narrower}");
    }
}

/// Four observations of a cluster that are alike: resampled one by one the interval is too narrow.
#[test]
fn clusters_are_drawn_whole() {
    let runs = 400;
    let (mut whole, mut single) = (0, 0);
    let mut random = SplitMix64::new(9);
    for run in 0..runs {
        let mut values = Vec::new();
        for _ in 0..30 {
            let centre = 0.7 * gauss(&mut random);
            values.extend((0..4).map(|_| centre + 0.7 * gauss(&mut random)).collect::<Vec<_>>());
        }
        let clusters: Vec<Vec<usize>> = (0..30).map(|cluster| (4 * cluster..4 * cluster + 4).collect()).collect();
        let of = |drawn: &[usize]| mean(drawn.iter().map(|at| values[*at])).ok_or(Undefined::Empty);
        whole += usize::from(by_clusters(&clusters, 300, run, of).unwrap().interval.contains(0.0));
        single += usize::from(percentile(values.len(), 300, run, of).unwrap().interval.contains(0.0));
    }
    assert!(whole as f64 / runs as f64 > 0.91, "{whole} of {runs}");
    assert!((single as f64) < 0.89 * runs as f64, "{single} of {runs}");
}
