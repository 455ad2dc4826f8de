//! What models cost: a dated table, kept as data in `data/prices.toml`.
//!
//! Money is counted in whole picodollars (10⁻¹² dollars), so that sums are exact and do not depend on their order.

use crate::sessions::Usage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// An amount of money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picodollars(pub u64);

impl Picodollars {
    /// In dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Both together. Stops at the largest amount, which only a damaged transcript reaches.
    #[must_use]
    pub fn plus(self, other: Picodollars) -> Picodollars {
        Picodollars(self.0.saturating_add(other.0))
    }
}

/// Prices by model.
#[derive(Clone, Debug)]
pub struct Prices {
    /// The day the table was checked.
    pub as_of: String,
    models: BTreeMap<String, Vec<Rates>>,
}

/// Dollars per million tokens, for prompts above a size.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    #[serde(default)]
    above: u64,
    input: f64,
    cache_write_5m: f64,
    cache_write_1h: f64,
    cache_read: f64,
    output: f64,
}

/// Picodollars per token, for prompts above a size.
#[derive(Clone, Copy, Debug)]
struct Rates {
    above: u64,
    input: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    cache_read: u64,
    output: u64,
}

impl From<&Price> for Rates {
    fn from(price: &Price) -> Self {
        let rate = |dollars: f64| (dollars * 1e6).round() as u64;
        Rates {
            above: price.above,
            input: rate(price.input),
            cache_write_5m: rate(price.cache_write_5m),
            cache_write_1h: rate(price.cache_write_1h),
            cache_read: rate(price.cache_read),
            output: rate(price.output),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    as_of: String,
    model: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    ids: Vec<String>,
    price: Vec<Price>,
}

/// The table that ships with this version.
pub fn shipped() -> &'static Prices {
    static SHIPPED: LazyLock<Prices> = LazyLock::new(|| {
        // The file is part of the program and a test reads it: an empty table is the honest answer to a broken one.
        Prices::parse(include_str!("../data/prices.toml"))
            .unwrap_or_else(|_| Prices { as_of: "unknown".into(), models: BTreeMap::new() })
    });
    &SHIPPED
}

impl Prices {
    /// Reads a table.
    pub fn parse(source: &str) -> Result<Prices, toml::de::Error> {
        let table: Table = toml::from_str(source)?;
        let mut models = BTreeMap::new();
        for entry in table.model {
            let mut rates: Vec<Rates> = entry.price.iter().map(Rates::from).collect();
            rates.sort_by_key(|rates| rates.above);
            for id in entry.ids {
                models.insert(id, rates.clone());
            }
        }
        Ok(Prices { as_of: table.as_of, models })
    }

    /// The table with another model in it, at a price that somebody names: dollars per million tokens read and written. One
    /// that is there keeps its price.
    #[must_use]
    pub fn with(&self, model: &str, input: f64, output: f64) -> Prices {
        let mut prices = self.clone();
        if self.find(model).is_none() {
            let price =
                Price { above: 0, input, cache_write_5m: input, cache_write_1h: input, cache_read: input, output };
            prices.models.insert(model.to_owned(), vec![Rates::from(&price)]);
        }
        prices
    }

    /// What a message cost, or nothing if the model has no price. Zero tokens cost nothing whatever the model.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Picodollars> {
        if usage.context() + usage.output == 0 {
            return Some(Picodollars(0));
        }
        let all = self.find(model)?;
        let rates = all.iter().rev().find(|rates| usage.context() > rates.above).or(all.first())?;
        let part = |tokens: u64, rate: u64| Picodollars(tokens.saturating_mul(rate));
        let hour = usage.cache_write_1h.min(usage.cache_write);
        let parts = [
            part(usage.input, rates.input),
            part(usage.cache_write - hour, rates.cache_write_5m),
            part(hour, rates.cache_write_1h),
            part(usage.cache_read, rates.cache_read),
            part(usage.output, rates.output),
        ];
        Some(parts.into_iter().fold(Picodollars(0), Picodollars::plus))
    }

    /// A model by its id, without a provider's prefix, a date, or a variant mark.
    fn find(&self, model: &str) -> Option<&[Rates]> {
        if let Some(rates) = self.models.get(model) {
            return Some(rates);
        }
        let name = model.rsplit(['/', ':']).find(|part| part.contains("claude")).unwrap_or(model);
        let name = name.strip_prefix("anthropic.").unwrap_or(name);
        let name = name.split(['[', '@']).next().unwrap_or(name);
        let undated = name
            .rsplit_once('-')
            .filter(|(_, date)| date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit()))
            .map_or(name, |(name, _)| name);
        self.models.get(name).or_else(|| self.models.get(undated)).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_counts_stop_at_the_largest_amount() {
        let usage = Usage { input: u64::MAX / 4, output: u64::MAX / 4, ..Usage::default() };
        let model = shipped().models.keys().next().unwrap();
        assert_eq!(shipped().cost(model, &usage), Some(Picodollars(u64::MAX)));
    }

    fn dollars(model: &str, usage: Usage) -> Option<f64> {
        shipped().cost(model, &usage).map(Picodollars::dollars)
    }

    #[test]
    fn the_shipped_table_is_sound() {
        let prices = Prices::parse(include_str!("../data/prices.toml")).unwrap();
        assert!(prices.models.len() > 15);
        assert_eq!(prices.as_of.len(), 10);
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let million = 1_000_000;
        for (usage, expected) in [
            (Usage { input: million, ..Usage::default() }, 4.0),
            (Usage { cache_write: million, ..Usage::default() }, 5.0),
            (Usage { cache_write: million, cache_write_1h: million, ..Usage::default() }, 8.0),
            (Usage { cache_read: million, ..Usage::default() }, 0.2),
            (Usage { output: million, ..Usage::default() }, 20.0),
        ] {
            assert_eq!(dollars("claude-opus-5-5", usage), Some(expected));
        }
    }

    #[test]
    fn dates_and_prefixes_do_not_matter_and_the_unknown_stays_unknown() {
        let usage = Usage { output: 1_000_000, ..Usage::default() };
        for (model, expected) in [
            ("claude-sonnet-4-5-20250929", Some(15.0)),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None),
            ("anthropic/claude-sonnet-4-5", Some(15.0)),
            ("claude-opus-5-5[1m]", Some(20.0)),
            ("gpt-9", None),
            ("", None),
        ] {
            assert_eq!(dollars(model, usage), expected, "{model}");
        }
        assert_eq!(dollars("gpt-9", Usage::default()), Some(0.0));
    }

    #[test]
    fn a_price_can_be_named_for_what_has_none() {
        let usage = Usage { input: 1_000_000, output: 1_000_000, ..Usage::default() };
        let prices = shipped().with("llama", 0.5, 2.0).with("claude-opus-5-5", 0.0, 0.0);
        assert_eq!(prices.cost("llama", &usage).map(Picodollars::dollars), Some(2.5));
        assert_eq!(prices.cost("claude-opus-5-5", &usage), shipped().cost("claude-opus-5-5", &usage));
    }

    #[test]
    fn a_step_in_price_holds_for_the_whole_request() {
        assert_eq!(dollars("claude-haiku-5-5", Usage { input: 100_000, ..Usage::default() }), Some(0.01));
        assert_eq!(dollars("claude-haiku-5-5", Usage { input: 128_000, ..Usage::default() }), Some(0.064));
    }
}
