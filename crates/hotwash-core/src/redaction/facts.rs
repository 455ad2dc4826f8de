//! Redacting facts: their numbers are nobody's secret, but names of tools, commands and models come from outside.

use super::{Redacted, Rules, redact};
use crate::facts::Facts;
use std::collections::HashMap;

/// Takes everything private out of the words in facts.
pub fn redact_facts(facts: Facts, rules: &Rules) -> Redacted<Facts> {
    Vocabulary::new(rules).facts(facts)
}

impl Redacted<Facts> {
    /// The facts.
    pub fn get(&self) -> &Facts {
        &self.0
    }
}

/// Redacts short texts that come again and again, each once: names of tools, models and folders.
///
/// What comes of a text depends on the text and the rules alone, so what came of it before is what would come of it now.
pub struct Vocabulary<'r> {
    rules: &'r Rules,
    known: HashMap<String, Redacted<String>>,
}

impl<'r> Vocabulary<'r> {
    /// More distinct texts than that are no vocabulary, and must not fill the memory.
    const MOST: usize = 1024;
    /// Longer texts do not come again.
    const LONGEST: usize = 256;

    /// Knows nothing yet.
    pub fn new(rules: &'r Rules) -> Self {
        Self { rules, known: HashMap::new() }
    }

    /// Takes everything private out of a text.
    pub fn redact(&mut self, text: &str) -> Redacted<String> {
        self.known(text).cloned().unwrap_or_else(|| redact(text, self.rules))
    }

    /// Takes everything private out of the words in facts.
    pub fn facts(&mut self, mut facts: Facts) -> Redacted<Facts> {
        facts.words(|word| match self.known(word) {
            Some(known) if known.as_str() == word => {}
            Some(known) => word.clone_from(&known.0),
            None => *word = redact(word, self.rules).into_string(),
        });
        Redacted(facts)
    }

    /// What comes of a text, if it is one that may come again.
    fn known(&mut self, text: &str) -> Option<&Redacted<String>> {
        if text.len() > Self::LONGEST {
            return None;
        }
        if !self.known.contains_key(text) {
            if self.known.len() >= Self::MOST {
                self.known.clear();
            }
            self.known.insert(text.to_owned(), redact(text, self.rules));
        }
        self.known.get(text)
    }
}
