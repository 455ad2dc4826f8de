//! What a fact is made of, and the macro that keeps its manual beside it.

use super::word::{Outside, Own};
use crate::sessions::{EventId, Events};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The manual page of a fact, taken from the doc comment on its field.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// The fact's name, everywhere the same.
    pub name: &'static str,
    /// What kind of value it has.
    pub form: &'static str,
    /// What it counts, why it matters, what it cannot see.
    pub doc: &'static str,
}

/// A group of facts that one fold makes.
pub trait Group {
    /// The manual pages, in the order of the fields.
    const MANUAL: &'static [Manual];
    /// Shows each fact to `visit`.
    fn each<'s>(&'s self, visit: &mut dyn FnMut(&'static Manual, &'s dyn FactValue));
    /// Shows each word from outside to `change`.
    fn outside(&mut self, change: &mut Change<'_>);
}

/// A value that a fact can have.
///
/// A `String` is none. Words are [`Own`] or [`Outside`], and those from outside are redacted before a fact is stored or
/// shown:
///
/// ```compile_fail,E0277
/// fn may_be_a_fact<T: hotwash_core::facts::FactValue>() {}
/// may_be_a_fact::<Vec<String>>();
/// ```
///
/// ```
/// use hotwash_core::facts::{FactValue, Outside, Own};
/// fn may_be_a_fact<T: FactValue>() {}
/// may_be_a_fact::<Vec<Outside>>();
/// may_be_a_fact::<Option<Own>>();
/// ```
pub trait FactValue {
    /// As machines read it.
    fn json(&self) -> Value {
        self.stored()
    }
    /// The events it points at.
    fn events(&self) -> &[EventId] {
        &[]
    }
    /// As the store keeps it: all of it, unlike [`FactValue::json`].
    fn stored(&self) -> Value;
    /// Nothing was seen: neither worth a line for people nor a byte in the store.
    fn is_nothing(&self) -> bool;
    /// Shows each word from outside to `change`, for redaction. Values without any have nothing to show.
    fn outside(&mut self, change: &mut Change<'_>);
}

/// The name of a value's form, for the manual.
pub trait Form {
    /// Such as `count`.
    const FORM: &'static str;
}

/// A count that points at what it counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cited(pub Events);

impl Cited {
    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// One more.
    pub fn push(&mut self, event: EventId) {
        self.0.push(event);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How often each name was seen.
pub type Tally = BTreeMap<Outside, u64>;

/// Gives another word for a word from outside, where there is one.
pub type Change<'c> = dyn FnMut(&str) -> Option<String> + 'c;

/// A share or a formula's value. A zero denominator is *not applicable*, never 0 and never 1.
pub type Ratio = Option<f64>;

/// `part / whole`, or not applicable.
pub fn ratio(part: u64, whole: u64) -> Ratio {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A value as JSON.
pub(crate) fn stored(value: &impl Serialize) -> Value {
    // Numbers, texts and lists can always be written.
    serde_json::to_value(value).unwrap_or(Value::Null)
}

macro_rules! value {
    ($type:ty, $form:literal, $nothing:expr, $outside:expr) => {
        impl Form for $type {
            const FORM: &'static str = $form;
        }
        impl FactValue for $type {
            fn stored(&self) -> Value {
                stored(self)
            }
            fn is_nothing(&self) -> bool {
                let nothing: fn(&$type) -> bool = $nothing;
                nothing(self)
            }
            fn outside(&mut self, change: &mut Change<'_>) {
                let outside: fn(&mut $type, &mut Change<'_>) = $outside;
                outside(self, change);
            }
        }
    };
}

value!(u64, "count", |n| *n == 0, |_, _| {});
value!(bool, "flag", |b| !b, |_, _| {});
value!(Ratio, "ratio", Option::is_none, |_, _| {});
value!(Option<bool>, "flag or not applicable", Option::is_none, |_, _| {});
value!(Option<u64>, "number or unknown", Option::is_none, |_, _| {});
value!(Option<Own>, "word or unknown", Option::is_none, |_, _| {});
value!(Option<Outside>, "word or unknown", Option::is_none, |words, change| change_words(words, change));
value!(Vec<Own>, "list", Vec::is_empty, |_, _| {});
value!(Vec<Outside>, "list", Vec::is_empty, |words, change| change_words(words, change));
value!(Tally, "count by name", BTreeMap::is_empty, change_names);

/// Puts other words in the place of words from outside.
pub(crate) fn change_words<'w>(words: impl IntoIterator<Item = &'w mut Outside>, change: &mut Change<'_>) {
    for word in words {
        if let Some(other) = change(word) {
            *word = other.into();
        }
    }
}

/// The same with names. Two may be called alike afterwards.
fn change_names(tally: &mut Tally, change: &mut Change<'_>) {
    for (mut name, count) in std::mem::take(tally) {
        if let Some(other) = change(&name) {
            name = other.into();
        }
        *tally.entry(name).or_default() += count;
    }
}

impl Form for Cited {
    const FORM: &'static str = "count with events";
}

impl FactValue for Cited {
    fn json(&self) -> Value {
        Value::from(self.count())
    }
    fn events(&self) -> &[EventId] {
        &self.0
    }
    fn stored(&self) -> Value {
        stored(self)
    }
    fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
    fn outside(&mut self, _: &mut Change<'_>) {}
}

/// Declares a group of facts: a plain struct whose doc comments are also its manual pages.
///
/// Each field's comment has three parts: what it counts; `Why:`, why it matters; `Blind:`, what it cannot see.
macro_rules! facts {
    ($(#[doc = $about:literal])* pub struct $group:ident { $($(#[doc = $doc:literal])+ $name:ident: $type:ty,)* }) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default)]
        pub struct $group { $($(#[doc = $doc])+ pub $name: $type,)* }

        impl $crate::facts::Group for $group {
            const MANUAL: &'static [$crate::facts::Manual] = &[$($crate::facts::Manual {
                name: stringify!($name),
                form: <$type as $crate::facts::value::Form>::FORM,
                doc: concat!($($doc, "\n"),+),
            },)*];

            fn each<'s>(
                &'s self,
                visit: &mut dyn FnMut(&'static $crate::facts::Manual, &'s dyn $crate::facts::FactValue),
            ) {
                let mut manual = Self::MANUAL.iter();
                $(if let Some(page) = manual.next() { visit(page, &self.$name); })*
            }

            fn outside(&mut self, change: &mut $crate::facts::Change<'_>) {
                $($crate::facts::FactValue::outside(&mut self.$name, change);)*
            }
        }
    };
}
pub(crate) use facts;
