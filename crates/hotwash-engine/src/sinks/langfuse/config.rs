//! The score configs that a rubric needs: adopted where they are there, made where not, changed only when told to.

use super::encode::{OVERALL, PRISM, PROCESS};
use crate::langfuse::{Category, Client, LangfuseError, Shape, StoredConfig, WantedConfig};
use hotwash_core::outcomes::Intent;
use hotwash_core::rubric::{Kind, Rubric};
use std::time::Duration;

/// What became of a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It was there, and as it should be.
    Adopted,
    /// It was made.
    Created,
    /// It was changed; how it differed before.
    Changed(Vec<String>),
    /// It differs, and was left alone; how.
    Differs(Vec<String>),
    /// It is not there, and was not to be made.
    Missing,
}

/// A config of the rubric, and what became of it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// As it should be.
    pub wanted: WantedConfig,
    /// As it is; none where it is not there.
    pub stored: Option<StoredConfig>,
    /// What became of it.
    pub became: Became,
    /// How many others of this name there are.
    pub twins: usize,
}

/// What may be done about configs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// Only look.
    Look,
    /// Make those that are missing.
    Create,
    /// And change those that differ.
    Change,
}

/// The configs of a rubric, and those of outcomes where they are wanted.
pub fn wanted(rubric: &Rubric, prism: bool) -> Vec<WantedConfig> {
    let dimension = |dimension: &hotwash_core::rubric::Dimension| WantedConfig {
        name: dimension.name.clone(),
        shape: match &dimension.kind {
            Kind::Numeric(_) => Shape::Share,
            Kind::Categorical(levels) => labels(levels.iter().map(|level| level.label.as_str())),
        },
        description: dimension.measures.clone(),
    };
    let mut all: Vec<WantedConfig> = rubric.dimensions.iter().map(dimension).collect();
    let description = "All dimensions together, weighted as the rubric says".to_owned();
    all.push(WantedConfig { name: OVERALL.to_owned(), shape: Shape::Share, description });
    let description = "How the work was done, where nothing says whether the goal was reached".to_owned();
    all.push(WantedConfig { name: PROCESS.to_owned(), shape: Shape::Share, description });
    if prism {
        all.extend(PRISM.iter().map(|(name, about)| WantedConfig {
            name: (*name).to_owned(),
            shape: match *name {
                "intent" => labels(Intent::ALL.into_iter().map(Intent::name)),
                _ => Shape::YesNo,
            },
            description: (*about).to_owned(),
        }));
    }
    all
}

fn labels<'a>(labels: impl Iterator<Item = &'a str>) -> Shape {
    let category = |(index, label): (usize, &str)| Category { label: label.to_owned(), value: index as f64 };
    Shape::Labels(labels.enumerate().map(category).collect())
}

/// Brings the configs of a project in line with what is wanted.
pub fn settle(client: &Client, wanted: Vec<WantedConfig>, may: May) -> Result<Vec<Settled>, LangfuseError> {
    let mut there = client.configs()?;
    let mut all = Vec::new();
    for wanted in wanted {
        let settled = one(client, &wanted, may, &mut there)?;
        all.push(settled);
    }
    let made = |settled: &Settled| settled.became == Became::Created;
    if all.iter().any(made) {
        // Whoever else made one at the same time: the oldest is the one.
        let there = client.configs()?;
        for settled in all.iter_mut().filter(|settled| made(settled)) {
            if let (Some(oldest), twins) = pick(&there, &settled.wanted) {
                (settled.stored, settled.twins) = (Some(oldest), twins);
            }
        }
    }
    Ok(all)
}

fn one(
    client: &Client,
    wanted: &WantedConfig,
    may: May,
    there: &mut Vec<StoredConfig>,
) -> Result<Settled, LangfuseError> {
    let (best, twins) = pick(there, wanted);
    let settled = |stored, became| Settled { wanted: wanted.clone(), stored, became, twins };
    let Some(best) = best else {
        if may == May::Look {
            return Ok(settled(None, Became::Missing));
        }
        return Ok(settled(Some(create(client, wanted, there)?), Became::Created));
    };
    let differs = best.differences(wanted);
    if differs.is_empty() {
        return Ok(settled(Some(best), Became::Adopted));
    }
    if may != May::Change {
        return Ok(settled(Some(best), Became::Differs(differs)));
    }
    let stored = if best.data_type == wanted.shape.data_type() {
        client.change_config(&best.id, wanted)?
    } else {
        create(client, wanted, there)?
    };
    Ok(settled(Some(stored), Became::Changed(differs)))
}

/// Of several under one name: one that is right, else one of the right type, else any that is in use; the oldest of those.
fn pick(there: &[StoredConfig], wanted: &WantedConfig) -> (Option<StoredConfig>, usize) {
    let named: Vec<&StoredConfig> = there.iter().filter(|config| config.name == wanted.name).collect();
    let rank = |config: &StoredConfig| {
        let differs = !config.differences(wanted).is_empty();
        (differs, config.data_type != wanted.shape.data_type(), config.is_archived)
    };
    // The first of equals, and they are sorted by age.
    let best = named.iter().min_by_key(|config| rank(config)).map(|config| (*config).clone());
    (best, named.iter().filter(|config| !config.is_archived).count().saturating_sub(1))
}

/// Makes a config once: where it is not clear whether it was made, one looks before trying again.
fn create(
    client: &Client,
    wanted: &WantedConfig,
    there: &mut Vec<StoredConfig>,
) -> Result<StoredConfig, LangfuseError> {
    const TRIES: u32 = 5;
    let mut turn = 1;
    loop {
        let error = match client.create_config(wanted) {
            Ok(config) => return Ok(config),
            Err(error) if !error.unclear || turn >= TRIES => return Err(error),
            Err(error) => error,
        };
        client.pause(&error.message, Duration::from_secs(1 << turn))?;
        *there = client.configs().map_err(|_| error)?;
        if let (Some(config), _) = pick(there, wanted)
            && config.differences(wanted).is_empty()
        {
            return Ok(config);
        }
        turn += 1;
    }
}
