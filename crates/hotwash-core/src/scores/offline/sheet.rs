//! The sheet on which a number is worked out: a start value and items that move it.
//!
//! Everything is in whole thousandths, so that the printed items add up to the printed value exactly.

use super::super::{Item, Reading, Value};
use super::{note, nothing_to_go_by, words};
use crate::facts::Facts;
use crate::facts::value::ratio;
use crate::rubric::Offline;
use crate::sessions::EventId;
use std::borrow::Cow;

/// A number being worked out by the amounts of a rubric.
pub(super) struct Sheet<'a> {
    facts: &'a Facts,
    offline: &'a Offline,
    start: i64,
    items: Vec<Item>,
}

/// A part of a whole, never more than all of it.
#[derive(Clone, Copy)]
pub(super) struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    /// Results whose call is in another transcript can outnumber the calls of this one: the whole is then the part.
    pub(super) fn new(part: u64, whole: u64) -> Self {
        Self { part, whole: whole.max(part) }
    }

    /// Between 0 and 1; nothing of nothing is 0.
    pub(super) fn number(self) -> f64 {
        ratio(self.part, self.whole).unwrap_or(0.0)
    }

    /// "7 of 31 reads repeat": the noun goes by the whole, the verb (one, many) by the part.
    pub(super) fn words(self, noun: &str, verb: (&str, &str)) -> String {
        words::of(self.part, self.whole, noun, verb)
    }

    /// Whether there is a part at all.
    pub(super) fn is_some(self) -> bool {
        self.part > 0
    }
}

/// Nothing to go by where there is too little of something for a share of it to mean anything.
pub(super) fn too_few(n: u64, needed: f64, noun: &str) -> Option<Reading> {
    let needed = needed as u64;
    (n < needed).then(|| {
        let mut why = words::count(n, noun);
        why.push_str("; ");
        words::push_number(&mut why, needed);
        why.push_str(words::choose(needed, (" is needed to say anything", " are needed to say anything")));
        nothing_to_go_by(why)
    })
}

impl<'a> Sheet<'a> {
    /// Begins at the rubric's start value.
    pub(super) fn new(facts: &'a Facts, offline: &'a Offline) -> Self {
        Self { facts, offline, start: whole(offline.get("start")), items: Vec::new() }
    }

    /// Takes off a rubric's amount.
    pub(super) fn deduct<R: Into<Cow<'static, str>>>(
        &mut self,
        param: &'static str,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        self.add(-self.offline.get(param), fact, reason, events);
    }

    /// Adds a rubric's amount.
    pub(super) fn credit<R: Into<Cow<'static, str>>>(
        &mut self,
        param: &'static str,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        self.add(self.offline.get(param), fact, reason, events);
    }

    /// Takes off a share of a rubric's amount.
    pub(super) fn deduct_share<R: Into<Cow<'static, str>>>(
        &mut self,
        param: &'static str,
        share: Share,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        if share.is_some() {
            self.add(-self.offline.get(param) * share.number(), fact, reason, events);
        }
    }

    /// Takes off so many times a rubric's amount, up to a cap.
    pub(super) fn deduct_capped<R: Into<Cow<'static, str>>>(
        &mut self,
        (param, cap): (&'static str, &'static str),
        times: f64,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        if times > 0.0 {
            let amount = (self.offline.get(param) * times).min(self.offline.get(cap));
            self.add(-amount, fact, reason, events);
        }
    }

    /// Adds a share of a rubric's amount.
    pub(super) fn credit_share<R: Into<Cow<'static, str>>>(
        &mut self,
        param: &'static str,
        share: Share,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        if share.is_some() {
            self.add(self.offline.get(param) * share.number(), fact, reason, events);
        }
    }

    /// What moves the value by less than half a thousandth is not worth a line, nor the making of its reason. What the
    /// recording cannot tell moves nothing.
    fn add<R: Into<Cow<'static, str>>>(
        &mut self,
        amount: f64,
        fact: &'static str,
        reason: impl FnOnce() -> R,
        events: &[EventId],
    ) {
        let amount = whole(amount);
        if amount != 0 && self.facts.knows(fact) {
            self.items.push(Item { amount: thousandths(amount), ..note(fact, reason(), events) });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Says why the start value stands where nothing moved it.
    pub(super) fn unmoved<R: Into<Cow<'static, str>>>(&mut self, fact: &'static str, reason: impl FnOnce() -> R) {
        if self.items.is_empty() {
            self.items.push(note(fact, reason(), &[]));
        }
    }

    /// Adds it up, the heaviest item first.
    pub(super) fn reading(mut self) -> Reading {
        // Stable, so that equal amounts keep the order in which the scorer looked at them.
        self.items.sort_by_key(|item| std::cmp::Reverse(whole(item.amount).abs()));
        let sum: i64 = self.start + self.items.iter().map(|item| whole(item.amount)).sum::<i64>();
        let value = sum.clamp(0, 1000);
        if value != sum {
            let reason = if sum < 0 { "cannot go below 0" } else { "cannot go above 1" };
            self.items.push(Item { amount: thousandths(value - sum), ..note("", reason, &[]) });
        }
        Reading::Scored {
            value: Value::Number(thousandths(value)),
            start: thousandths(self.start),
            items: self.items,
            confidence: None,
            spread: None,
        }
    }
}

fn whole(amount: f64) -> i64 {
    (amount * 1000.0).round() as i64
}

fn thousandths(amount: i64) -> f64 {
    amount as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rubric::Scorer;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_add_up_to_the_value_exactly(
            start in 0.0..=1.0f64,
            amounts in prop::collection::vec(-1.0..=1.0f64, 0..12),
        ) {
            let mut offline = Scorer::OutputQuality.defaults();
            offline.set("start", start);
            let facts = Facts::default();
            let mut sheet = Sheet::new(&facts, &offline);
            for amount in amounts {
                sheet.add(amount, "edit_calls_ok", String::new, &[]);
            }
            let Reading::Scored { value, start, items, .. } = sheet.reading() else { unreachable!() };
            let sum: i64 = whole(start) + items.iter().map(|item| whole(item.amount)).sum::<i64>();
            prop_assert_eq!(thousandths(sum), value.number());
            prop_assert!((0.0..=1.0).contains(&value.number()));
            let moved: Vec<f64> =
                items.iter().filter(|item| !item.fact.is_empty()).map(|item| item.amount.abs()).collect();
            prop_assert!(moved.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn the_end_of_the_scale_is_an_item_of_its_own() {
        let offline = Scorer::OutputQuality.defaults();
        let facts = Facts::default();
        let mut sheet = Sheet::new(&facts, &offline);
        sheet.add(0.15, "verified", || "up", &[]);
        sheet.add(0.2, "verified", || "further up", &[]);
        let Reading::Scored { value, items, .. } = sheet.reading() else { unreachable!() };
        let lines: Vec<_> = items.iter().map(|item| (item.amount, &*item.reason)).collect();
        assert_eq!(lines, [(0.2, "further up"), (0.15, "up"), (-0.15, "cannot go above 1")]);
        assert_eq!(value, Value::Number(1.0));
    }

    #[test]
    fn what_was_not_recorded_moves_nothing() {
        let offline = Scorer::OutputQuality.defaults();
        let mut facts = Facts::default();
        facts.transcript.not_recorded.push("peak_context".into());
        let mut sheet = Sheet::new(&facts, &offline);
        sheet.add(0.15, "peak_context", || "up", &[]);
        assert!(sheet.is_empty());
    }
}
