//! The rules a rubric keeps beyond having the right keys: one function per rule, each noting what breaks it.
//!
//! Values that are missing or of the wrong type are not looked at here: that has been reported, and a second message
//! about the same mistake helps nobody.

use super::fields::{At, Notes, did_you_mean};
use super::{Chunks, Dimension, GoalCap, Kind, Scorer, Tiers};

/// The overall and process scores are stored under these names beside the dimensions.
const RESERVED: [&str; 2] = ["overall_quality", "process_quality"];

/// How far the weights may be from 1, so that thirds can be written down.
const WEIGHTS_TOLERANCE: f64 = 0.001;

/// Names become keys in schemas, databases and sinks, so they keep to what all of those accept.
pub(super) fn name(notes: &Notes, what: &str, name: &At<String>) {
    if !name.is_set() {
        return;
    }
    let value = &name.value;
    let starts_well = value.starts_with(|c: char| c.is_ascii_lowercase());
    let ends_well = !value.ends_with('_') && !value.contains("__");
    let only = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !starts_well || !ends_well || !value.chars().all(only) {
        let message = format!("{what} `{value}` must be snake_case, such as `goal_achievement`");
        notes.add(name.line, "name", message);
    } else if RESERVED.contains(&value.as_str()) {
        let message = format!("{what} `{value}` is taken by a score that follows from the dimensions");
        notes.add(name.line, "name", message);
    }
}

pub(super) fn version(notes: &Notes, version: &At<String>) {
    if !version.is_set() {
        return;
    }
    let parts: Vec<&str> = version.value.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() != 3 || !parts.iter().all(is_number) {
        let message = format!("version `{}` must be three numbers, such as `1.0.0`", version.value);
        notes.add(version.line, "version", message);
    }
}

pub(super) fn unique(notes: &Notes, what: &str, names: &[At<String>]) {
    for (i, name) in names.iter().enumerate() {
        let same = |other: &&At<String>| other.is_set() && other.value == name.value;
        if let Some(first) = names[..i].iter().find(same).and_then(|first| first.line)
            && name.is_set()
        {
            let message = format!("{what} `{}` is already there on line {first}", name.value);
            notes.add(name.line, "duplicate", message);
        }
    }
}

pub(super) fn weight(notes: &Notes, what: &str, weight: &At<f64>) {
    if weight.is_set() && !(0.0..=1.0).contains(&weight.value) {
        let message = format!("{what} has weight {}, it must be between 0 and 1", weight.value);
        notes.add(weight.line, "weight", message);
    }
}

pub(super) fn weights(notes: &Notes, names: &[At<String>], weights: &[At<f64>]) {
    // Without all of them the sum says nothing.
    if weights.is_empty() || !weights.iter().all(At::is_set) {
        return;
    }
    let sum: f64 = weights.iter().map(|weight| weight.value).sum();
    // The margin is for sums such as 0.3 + 0.3 + 0.401, which binary fractions put a hair above 1.001.
    if (sum - 1.0).abs() > WEIGHTS_TOLERANCE + 1e-9 {
        let shown = (sum * 10_000.0).round() / 10_000.0;
        let message = format!("dimension weights add up to {shown}, they must add up to 1");
        let each: Vec<String> =
            names.iter().zip(weights).map(|(name, weight)| format!("{} {}", name.value, weight.value)).collect();
        let hint = Some(format!("they are {}", each.join(", ")));
        notes.add_with_hint(weights[0].line, "weights", message, hint);
    }
}

pub(super) fn goal(notes: &Notes, goal: &At<String>, dimensions: &[At<String>]) {
    if goal.is_set() && is_unknown(&goal.value, dimensions) {
        let message = format!("the goal `{}` is not one of the dimensions", goal.value);
        let hint = did_you_mean(&goal.value, dimensions.iter().map(|it| it.value.as_str()));
        notes.add_with_hint(goal.line, "goal", message, hint);
    }
}

pub(super) fn min_dimensions(notes: &Notes, min: &At<usize>, dimensions: usize) {
    if min.is_set() && dimensions > 0 && !(1..=dimensions).contains(&min.value) {
        let message = format!(
            "`min_dimensions` is {}, it must be between 1 and the number of dimensions, {dimensions}",
            min.value
        );
        notes.add(min.line, "min-dimensions", message);
    }
}

pub(super) fn min_process_dimensions(notes: &Notes, min: &At<usize>, dimensions: usize) {
    // The goal is not one of them.
    if min.is_set() && dimensions > 1 && !(1..dimensions).contains(&min.value) {
        let message = format!(
            "`min_process_dimensions` is {}, it must be between 1 and the number of dimensions besides the goal, {}",
            min.value,
            dimensions - 1
        );
        notes.add(min.line, "min-dimensions", message);
    }
}

pub(super) fn goal_caps(notes: &Notes, caps: &[At<GoalCap>], goal: Option<&Dimension>, tiers: &Tiers) {
    let Some(goal) = goal else { return };
    for cap in caps {
        let GoalCap { level, tier } = &cap.value;
        if goal.level_index(level).is_none() {
            let labels: Vec<&str> = goal.levels().iter().map(|level| level.label.as_str()).collect();
            let message = format!("`goal_caps` names the level `{level}`, which `{}` does not have", goal.name);
            let hint = did_you_mean(level, labels.iter().copied())
                .or_else(|| (!labels.is_empty()).then(|| format!("levels are {}", super::fields::listed(&labels))));
            notes.add_with_hint(cap.line, "goal-caps", message, hint);
        }
        if !tiers.iter().any(|known| known.name == *tier) {
            let names: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
            let message = format!("`goal_caps` names the tier `{tier}`, which does not exist");
            let hint = did_you_mean(tier, names.iter().copied())
                .or_else(|| Some(format!("tiers are {}", super::fields::listed(&names))));
            notes.add_with_hint(cap.line, "goal-caps", message, hint);
        }
    }
}

pub(super) fn tiers(notes: &Notes, line: Option<usize>, bounds: &[At<usize>]) {
    let Some(lowest) = bounds.last() else {
        notes.add(line, "tiers", "there must be at least one tier");
        return;
    };
    for pair in bounds.windows(2) {
        let (above, below) = (&pair[0], &pair[1]);
        if above.is_set() && below.is_set() && below.value >= above.value {
            let message = format!("a tier from {} follows one from {}, bounds must fall", below.value, above.value);
            notes.add(below.line, "tiers", message);
        }
    }
    for bound in bounds.iter().filter(|bound| bound.value > 1000) {
        let message = format!("a tier begins at {}, scores end at 1000 thousandths", bound.value);
        notes.add(bound.line, "tiers", message);
    }
    if lowest.is_set() && lowest.value != 0 {
        let message =
            format!("the last tier begins at {}, it must begin at 0 so that every score has one", lowest.value);
        notes.add(lowest.line, "tiers", message);
    }
}

pub(super) fn chunks(notes: &Notes, line: usize, chunks: &Chunks) {
    let line = Some(line);
    let Chunks {
        target_tokens: target,
        max_tokens: max,
        overlap_tokens: overlap,
        min_last_share: share,
        overlap_turns: _, // any number of turns will do, `overlap_tokens` bounds them
    } = *chunks;
    if target == 0 {
        notes.add(line, "chunks", "`target_tokens` must not be 0");
    }
    if target.saturating_add(overlap) > max {
        let message =
            format!("`target_tokens` {target} and `overlap_tokens` {overlap} are more than `max_tokens` {max}");
        notes.add(line, "chunks", message);
    }
    if !(0.0..=1.0).contains(&share) {
        let message = format!("`min_last_share` is {share}, it must be between 0 and 1");
        notes.add(line, "chunks", message);
    }
}

/// Bands may touch and may leave gaps, since they only describe the scale, but two may not claim the same value.
pub(super) fn bands(notes: &Notes, what: &str, bands: &[(At<f64>, At<f64>)]) {
    let mut set: Vec<_> = bands.iter().filter(|(from, to)| from.is_set() && to.is_set()).collect();
    for (from, to) in &set {
        let (low, high) = (from.value, to.value);
        if low < 0.0 || high > 1.0 || low >= high {
            let message = format!("{what} has a band from {low} to {high}, bands run upwards between 0 and 1");
            notes.add(from.line, "bands", message);
        }
    }
    set.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    for pair in set.windows(2) {
        let (below, above) = (pair[0], pair[1]);
        if above.0.value < below.1.value {
            let message = format!(
                "{what} has a band from {} to {} that overlaps the one from {} to {}",
                above.0.value, above.1.value, below.0.value, below.1.value
            );
            notes.add(above.0.line, "bands", message);
        }
    }
}

pub(super) fn scorer_fits(notes: &Notes, line: Option<usize>, what: &str, scorer: Scorer, kind: &Kind) {
    let name = scorer.name();
    let message = match (scorer.levels(), kind) {
        (None, Kind::Numeric(_)) => return,
        (None, Kind::Categorical(_)) => {
            format!("scorer `{name}` gives a number, but {what} is categorical")
        }
        (Some(_), Kind::Numeric(_)) => {
            format!("scorer `{name}` gives a level, but {what} is numeric")
        }
        (Some(needed), Kind::Categorical(levels)) if levels.len() == needed => return,
        (Some(needed), Kind::Categorical(levels)) => {
            format!("scorer `{name}` tells {needed} levels apart, but {what} has {}", levels.len())
        }
    };
    notes.add(line, "offline", message);
}

pub(super) fn critics(
    notes: &Notes,
    critics: &[At<String>],
    covered: &[At<Vec<At<String>>>],
    dimensions: &[At<String>],
) {
    // Who scores each dimension, in the order of the file.
    let mut claims: Vec<(&str, &At<String>)> = Vec::new();
    for (critic, scored) in critics.iter().zip(covered) {
        if scored.is_set() && scored.value.is_empty() {
            let message = format!("critic `{}` scores no dimension", critic.value);
            notes.add(scored.line, "critics", message);
        }
        for dimension in &scored.value {
            let name = &dimension.value;
            if is_unknown(name, dimensions) {
                let message = format!("critic `{}` scores `{name}`, which is not one of the dimensions", critic.value);
                let hint = did_you_mean(name, dimensions.iter().map(|it| it.value.as_str()));
                notes.add_with_hint(dimension.line, "critics", message, hint);
            } else if let Some((first, _)) = claims.iter().find(|(_, other)| other.value == *name) {
                let message =
                    format!("critic `{}` scores `{name}`, which critic `{first}` scores already", critic.value);
                notes.add(dimension.line, "critics", message);
            }
            claims.push((&critic.value, dimension));
        }
    }
    // A critic whose list could not be read may be the one that covers it.
    if !covered.iter().all(At::is_set) {
        return;
    }
    for dimension in dimensions.iter().filter(|dimension| dimension.is_set()) {
        if !claims.iter().any(|(_, claimed)| claimed.value == dimension.value) {
            let message = format!("no critic scores dimension `{}`", dimension.value);
            notes.add(dimension.line, "critics", message);
        }
    }
}

/// Whether no dimension is called so. A dimension without a readable name may be the one that is meant.
fn is_unknown(name: &str, dimensions: &[At<String>]) -> bool {
    !dimensions.is_empty()
        && dimensions.iter().all(At::is_set)
        && !dimensions.iter().any(|dimension| dimension.value == name)
}
