//! Redacting facts: their numbers are nobody's secret, but names of tools, commands and models come from outside.

use super::{Redacted, Rules, redact};
use crate::facts::Facts;

/// Takes everything private out of the words in facts.
pub fn redact_facts(mut facts: Facts, rules: &Rules) -> Redacted<Facts> {
    facts.words(|word| *word = redact(word, rules).into_string());
    Redacted(facts)
}

impl Redacted<Facts> {
    /// The facts.
    pub fn get(&self) -> &Facts {
        &self.0
    }
}
