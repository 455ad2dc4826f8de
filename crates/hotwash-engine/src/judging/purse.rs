//! Money: what was spent, what may be spent by calls under way, and the cap that is never passed.

use hotwash_core::evidence::tokens::of_text;
use hotwash_core::prices::{Picodollars, Prices};
use hotwash_core::prompts::Prompt;
use hotwash_core::sessions::Usage;

/// Tokens are estimated from characters. A cap must hold where the estimate is low, so this much is added.
const MARGIN: (u64, u64) = (3, 2);

/// What a run may spend, and has.
#[derive(Clone, Debug, Default)]
pub struct Purse {
    cap: Option<Picodollars>,
    spent: Picodollars,
    reserved: Picodollars,
    /// What may have been spent, as far as anybody knows: it counts against the cap like what was.
    perhaps: Picodollars,
    /// Calls whose price nobody knows.
    unpriced: u64,
}

/// Money set aside for a call under way.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is set aside must be settled"]
pub struct Reserved(Picodollars);

impl Purse {
    /// A purse with a cap, or without one.
    pub fn new(cap: Option<Picodollars>) -> Purse {
        Purse { cap, ..Purse::default() }
    }

    /// Sets aside the most that a call may cost. Nothing if that might pass the cap; a price that nobody knows might.
    pub fn reserve(&mut self, at_most: Option<Picodollars>) -> Option<Reserved> {
        let amount = match (at_most, self.cap) {
            (None, Some(_)) => return None,
            (None, None) => Picodollars(0),
            (Some(amount), _) => amount,
        };
        let after = self.spent.plus(self.perhaps).plus(self.reserved).plus(amount);
        if self.cap.is_some_and(|cap| after > cap) {
            return None;
        }
        self.reserved = self.reserved.plus(amount);
        Some(Reserved(amount))
    }

    /// A call is over: what it cost is spent, and nothing is set aside for it any more.
    #[expect(clippy::needless_pass_by_value, reason = "what is settled is gone")]
    pub fn settle(&mut self, reserved: Reserved, cost: Spent) {
        self.reserved = Picodollars(self.reserved.0.saturating_sub(reserved.0.0));
        match cost {
            Spent::Nothing => {}
            Spent::Perhaps => self.perhaps = self.perhaps.plus(reserved.0),
            Spent::Unknown => {
                self.unpriced += 1;
                self.perhaps = self.perhaps.plus(reserved.0);
            }
            Spent::Known(cost) => self.spent = self.spent.plus(cost),
        }
    }

    /// What was spent.
    pub fn spent(&self) -> Picodollars {
        self.spent
    }

    /// What may have been spent beside that.
    pub fn perhaps(&self) -> Picodollars {
        self.perhaps
    }

    /// What is left of the cap, when everything that is under way costs as much as it may.
    pub fn left(&self) -> Option<Picodollars> {
        let gone = self.spent.plus(self.perhaps).plus(self.reserved);
        self.cap.map(|cap| Picodollars(cap.0.saturating_sub(gone.0)))
    }

    /// Calls whose price nobody knows.
    pub fn unpriced(&self) -> u64 {
        self.unpriced
    }
}

/// What a call cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// It was never answered.
    Nothing,
    /// It was never answered, and may have been charged for all the same.
    Perhaps,
    /// It was answered, and nobody says for how much.
    Unknown,
    /// This much.
    Known(Picodollars),
}

/// What a call may cost at most; nothing where the model has no price.
pub fn at_most(prices: &Prices, model: &str, prompt: &Prompt, share: Share) -> Option<Picodollars> {
    if share == Share::Nothing {
        return Some(Picodollars(0));
    }
    let input = prompt.tokens() as u64 * MARGIN.0 / MARGIN.1;
    // Written to the cache is the dearest way to read something, and for an hour, as batches do, dearer still.
    let cache_write_1h = if share == Share::Half { input } else { 0 };
    let output = u64::from(prompt.max_output_tokens);
    let usage = Usage { cache_write: input, cache_write_1h, output, ..Usage::default() };
    prices.cost(model, &usage).map(|cost| share.of(cost))
}

/// What becomes of the beginning of a request that others share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// It costs what the rest costs.
    Plain,
    /// It is kept for others, which costs more.
    Written,
    /// It was kept, and costs less.
    Read,
}

/// A beginning shorter than this, in tokens, is kept by no model.
const SHORTEST_KEPT: u64 = 4_096;

/// What a call will probably cost; nothing where the model has no price.
pub fn probably(prices: &Prices, model: &str, prompt: &Prompt, share: Share, prefix: Prefix) -> Option<Picodollars> {
    if share == Share::Nothing {
        return Some(Picodollars(0));
    }
    let (all, fixed) = (prompt.tokens() as u64, of_text(prompt.fixed.as_str()) as u64);
    let prefix = if fixed < SHORTEST_KEPT { Prefix::Plain } else { prefix };
    let [cache_write, cache_read] = match prefix {
        Prefix::Plain => [0, 0],
        Prefix::Written => [fixed, 0],
        Prefix::Read => [0, fixed],
    };
    let input = all.saturating_sub(cache_write + cache_read);
    let output = u64::from(prompt.max_output_tokens / 4);
    let usage = Usage { input, cache_write, cache_read, output, ..Usage::default() };
    prices.cost(model, &usage).map(|cost| share.of(cost))
}

/// The share of the list price that a backend takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    Whole,
    /// Half of it: batches.
    Half,
    /// Nothing: somebody else answers, at their own expense.
    Nothing,
}

impl Share {
    /// The share of an amount.
    pub fn of(self, amount: Picodollars) -> Picodollars {
        match self {
            Share::Whole => amount,
            Share::Half => Picodollars(amount.0 / 2),
            Share::Nothing => Picodollars(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn dollars(dollars: u64) -> Picodollars {
        Picodollars(dollars * 1_000_000_000_000)
    }

    #[test]
    fn what_is_under_way_counts_against_the_cap() {
        let mut purse = Purse::new(Some(dollars(3)));
        let first = purse.reserve(Some(dollars(2))).unwrap();
        assert_eq!(purse.reserve(Some(dollars(2))), None);
        purse.settle(first, Spent::Known(dollars(1)));
        let second = purse.reserve(Some(dollars(2))).unwrap();
        purse.settle(second, Spent::Nothing);
        assert_eq!(purse.spent(), dollars(1));
    }

    #[test]
    fn what_has_no_price_cannot_be_capped() {
        assert_eq!(Purse::new(Some(dollars(3))).reserve(None), None);
        let mut purse = Purse::new(None);
        let reserved = purse.reserve(None).unwrap();
        purse.settle(reserved, Spent::Unknown);
        assert_eq!((purse.spent(), purse.unpriced()), (dollars(0), 1));
    }

    #[test]
    fn what_nobody_can_tell_counts_as_much_as_it_may_have_been() {
        for spent in [Spent::Unknown, Spent::Perhaps] {
            let mut purse = Purse::new(Some(dollars(3)));
            let reserved = purse.reserve(Some(dollars(2))).unwrap();
            purse.settle(reserved, spent);
            assert_eq!(purse.reserve(Some(dollars(2))), None, "{spent:?}");
            assert_eq!(purse.spent(), dollars(0));
        }
    }

    proptest! {
        /// Whatever is asked for and whatever it costs, as long as nothing costs more than was set aside for it.
        #[test]
        fn the_cap_is_never_passed(cap in 0u64..1000, calls in proptest::collection::vec((0u64..100, 0u64..=100, any::<bool>()), 0..60)) {
            let mut purse = Purse::new(Some(Picodollars(cap)));
            let mut under_way = Vec::new();
            for (amount, share, wait) in calls {
                if let Some(reserved) = purse.reserve(Some(Picodollars(amount))) {
                    under_way.push((reserved, amount * share / 100));
                }
                if !wait {
                    for (reserved, cost) in under_way.drain(..) {
                        purse.settle(reserved, Spent::Known(Picodollars(cost)));
                    }
                }
                prop_assert!(purse.spent() <= Picodollars(cap));
            }
        }
    }
}
