//! Redacting facts: their numbers are nobody's secret, but names of tools, commands and models come from outside.

use super::{Redacted, Rules, redact};
use crate::facts::Facts;
use crate::facts::calls::Passthrough;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, LazyLock, PoisonError};

/// Takes everything private out of the words in facts.
pub fn redact_facts(facts: impl Into<Arc<Facts>>, rules: &Rules) -> Redacted<Arc<Facts>> {
    let mut facts = facts.into();
    let mut vocabulary = rules.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::make_mut(&mut facts).outside(|word| vocabulary.other(word, rules).map(Redacted::into_string));
    Redacted(facts)
}

/// [`redact`] for a short text that comes again and again, such as a project's folder.
pub fn redact_known(text: &str, rules: &Rules) -> Redacted<String> {
    let mut vocabulary = rules.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
    vocabulary.other(text, rules).unwrap_or_else(|| Redacted(text.to_owned()))
}

impl Serialize for Redacted<Arc<Facts>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.stored()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl Redacted<Arc<Facts>> {
    /// The facts of nothing, in which there is no word. Sessions that are listed without their facts share them.
    pub fn none() -> Redacted<Arc<Facts>> {
        static NONE: LazyLock<Redacted<Arc<Facts>>> = LazyLock::new(|| Redacted(Arc::default()));
        NONE.clone()
    }

    /// The facts.
    pub fn get(&self) -> &Facts {
        &self.0
    }

    /// As the store keeps them: JSON, group by group, without what was not seen.
    ///
    /// Facts as they were found have no such form, in JSON neither:
    ///
    /// ```compile_fail,E0624
    /// hotwash_core::facts::Facts::default().stored();
    /// ```
    ///
    /// ```compile_fail,E0277
    /// serde_json::to_string(&hotwash_core::facts::Facts::default());
    /// ```
    pub fn stored(&self) -> String {
        self.0.stored()
    }

    /// As machines read them: each fact by its name, and the events of those that point at something beside them.
    pub fn to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        self.0.to_json()
    }
}

/// What came of short texts that come again and again: names of tools and models, versions, commands, folders. Nothing
/// where they stay as they are.
///
/// What comes of a text depends on the text and the rules alone, so what came of it before is what would come of it now.
#[derive(Default)]
pub(super) struct Vocabulary(HashMap<String, Option<Redacted<String>>, BuildHasherDefault<Passthrough>>);

impl Vocabulary {
    /// More distinct texts than that are no vocabulary, and must not fill the memory.
    const MOST: usize = 1024;
    /// Longer texts do not come again.
    const LONGEST: usize = 256;

    /// What comes of a text under the rules that this belongs to, if it is another text.
    fn other(&mut self, text: &str, rules: &Rules) -> Option<Redacted<String>> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let other = Some(redact(text, rules)).filter(|redacted| redacted.as_str() != text);
        if text.len() <= Self::LONGEST {
            if self.0.len() >= Self::MOST {
                self.0.clear();
            }
            self.0.insert(text.to_owned(), other.clone());
        }
        other
    }
}
