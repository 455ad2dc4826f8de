//! Facts: what can be counted in a session, always the same for the same events, citing them.
//!
//! Each group of facts is a fold over events in a file of its own, with its manual beside it. [`Ledger`] runs them all
//! in one pass; its state can be put away and taken up again when a transcript grows. How things are counted is said on
//! each fact; `docs/facts.md` is generated from there.

pub mod calls;
pub mod claims;
pub mod edits;
pub mod ending;
pub mod goal;
pub mod heard;
pub mod manual;
pub mod pace;
pub mod parallel;
mod phrases;
pub mod prompts;
pub mod reads;
mod settle;
pub mod signals;
pub mod speech;
#[cfg(test)]
pub(crate) mod testing;
pub mod tokens;
pub mod tools;
pub mod transcript;
pub mod value;
pub mod verification;
pub mod wanted;
pub mod word;

pub use calls::{OpenCall, Status, Step};
pub use signals::SignalFacts;
pub use tokens::{Cost, Tokens};
pub use transcript::{Identity, Words};
pub use value::{Change, Cited, FactValue, Group, Manual, Ratio, Tally};
pub use word::{Outside, Own};

use crate::prices::Prices;
use crate::rework::Fingerprint;
use crate::sessions::{Event, Key, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// A group of facts being established. It has the methods for what it looks at, and of the rest it sees nothing.
pub trait Fold {
    /// What comes out.
    type Facts;
    /// Looks at every event, before the method for its kind does.
    fn event(&mut self, _: &Event<'_>) {}
    /// Looks at an event that nothing was said or done by.
    fn noted(&mut self, _: &Event<'_>) {}
    /// A call is made.
    fn called(&mut self, _: &Event<'_>, _: &OpenCall) {}
    /// A call has ended. Without a call where the transcript holds none.
    fn ended(&mut self, _: &Event<'_>, _: Option<&OpenCall>, _: &Outcome<'_>, _: Status) {}
    /// Something else was said or done.
    fn said(&mut self, _: &Event<'_>) {}
    /// The facts so far. They are handed over, not copied: nothing can be added to them afterwards.
    fn finish(&mut self) -> Self::Facts;
}

/// What a fold comes to: tokens need the price table.
macro_rules! finished {
    (tokens, $ledger:ident, $prices:ident) => {
        $ledger.tokens.priced($prices)
    };
    ($name:ident, $ledger:ident, $prices:ident) => {
        $ledger.$name.finish()
    };
}

/// Declares the groups once: the folds, the facts, and the list that documentation and output go by.
macro_rules! groups {
    ($($name:ident: $fold:ty => $facts:ty, $title:literal;)*) => {
        /// All facts of a session or transcript. There is no writing them down before they are [`Redacted`].
        ///
        /// [`Redacted`]: crate::redaction::Redacted
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        #[expect(missing_docs, reason = "each group says what it is")]
        pub struct Facts { $(pub $name: $facts,)* }

        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        struct Folds { $($name: $fold,)* }

        impl Facts {
            /// The groups with their titles and manuals, in the order in which they are shown.
            pub const GROUPS: &'static [(&'static str, &'static [Manual])] =
                &[$(($title, <$facts as Group>::MANUAL),)*];

            /// As the store keeps them: JSON, group by group, without what was not seen.
            pub(crate) fn stored(&self) -> String {
                let mut groups = serde_json::Map::new();
                $(let mut group = serde_json::Map::new();
                self.$name.each(&mut |manual, value| {
                    if !value.is_nothing() {
                        group.insert(manual.name.to_owned(), value.stored());
                    }
                });
                if !group.is_empty() {
                    groups.insert(stringify!($name).to_owned(), group.into());
                })*
                serde_json::Value::from(groups).to_string()
            }

            /// Shows each word from outside to `change`: all groups do, and in them each fact does.
            pub(crate) fn outside(&mut self, mut change: impl FnMut(&str) -> Option<String>) {
                $(self.$name.outside(&mut change);)*
            }

            /// Shows each fact to `visit`.
            pub fn each<'s>(&'s self, mut visit: impl FnMut(&'static Manual, &'s dyn FactValue)) {
                $(self.$name.each(&mut visit);)*
            }
        }

        impl Folds {
            fn noted(&mut self, event: &Event<'_>) {
                $(self.$name.event(event); self.$name.noted(event);)*
            }

            fn called(&mut self, event: &Event<'_>, call: &OpenCall) {
                $(self.$name.event(event); self.$name.called(event, call);)*
            }

            fn ended(&mut self, event: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
                $(self.$name.event(event); self.$name.ended(event, call, outcome, status);)*
            }

            fn said(&mut self, event: &Event<'_>) {
                $(self.$name.event(event); self.$name.said(event);)*
            }

            fn finish(&mut self, prices: &Prices) -> Facts {
                Facts { $($name: finished!($name, self, prices),)* }
            }
        }
    };
}

groups! {
    prompts: prompts::Prompts => prompts::PromptFacts, "What people did";
    tools: tools::Tools => tools::ToolFacts, "Tool calls";
    parallel: parallel::Parallel => parallel::ParallelFacts, "Calls made at once";
    reads: reads::Reads => reads::ReadFacts, "Files read";
    edits: edits::Edits => edits::EditFacts, "Files changed";
    verification: verification::Verification => verification::VerificationFacts, "The shell, and what was checked";
    ending: ending::Ending => ending::EndingFacts, "How it ended";
    tokens: tokens::TokenFold => tokens::TokenFacts, "Messages, tokens, cost";
    pace: pace::Pace => pace::PaceFacts, "Time";
    signals: signals::Signals => signals::SignalFacts, "What people said";
    goal: goal::Goal => goal::GoalFacts, "What the goal is judged by";
    transcript: transcript::Transcript => transcript::TranscriptFacts, "The transcript";
}

/// Establishes all facts in one pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    folds: Folds,
}

impl Ledger {
    /// Looks at the next event and its part in the story of a call.
    pub(crate) fn step(&mut self, event: &Event<'_>, step: &Step<'_>) {
        match *step {
            Step::Called(call) => self.folds.called(event, call),
            Step::Ended { call, outcome, status } => self.folds.ended(event, call, outcome, status),
            Step::Aside => self.folds.said(event),
        }
    }

    /// Looks at an event that nothing was said or done by.
    pub(crate) fn bookkeeping(&mut self, event: &Event<'_>) {
        self.folds.noted(event);
    }

    /// Says that nothing more will come. What only a next event would be held against is let go, and no fact changes.
    pub fn end(&mut self) {
        self.folds.parallel.forget();
    }

    /// The facts so far. The ledger is copied for it, because more may come.
    pub fn finish(&self, prices: &Prices) -> Facts {
        let mut facts = self.folds.clone().finish(prices);
        settle::settle(&mut facts, &self.last_answer().unwrap_or_default());
        if !facts.knows("cost_usd") {
            facts.tokens.cost_usd.lose();
        }
        facts
    }

    /// Who, where and when.
    pub fn identity(&self) -> Identity<'_> {
        let (from, to) = self.folds.pace.span().unzip();
        Identity { from, to, ..self.folds.transcript.identity() }
    }

    /// Whether the run had no person in front of it.
    pub fn is_headless(&self) -> bool {
        self.folds.transcript.is_headless()
    }

    /// How the first prompt takes what came before it, in a word.
    pub fn opening_reaction(&self) -> Option<Own> {
        self.folds.signals.opening_reaction()
    }

    /// What needs words; raw, for redaction.
    pub fn words(&self) -> &Words {
        self.folds.transcript.words()
    }

    /// The agent's last words; raw, for redaction.
    pub fn last_answer(&self) -> Option<String> {
        self.folds.transcript.last_answer()
    }

    /// Keys of the API messages and prompts seen and of what names the session, in no order: copies of a transcript
    /// share them.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let Folds { tokens, transcript, .. } = &self.folds;
        tokens.message_keys().chain(transcript.prompt_keys().iter().copied()).chain(transcript.first())
    }

    /// What the session did to its repository, line by line.
    pub fn fingerprint(&self) -> Fingerprint {
        self.folds.edits.fingerprint()
    }

    /// Tokens and cost of subagents that only progress records show.
    pub fn subagents(&self, prices: &Prices) -> BTreeMap<String, (Tokens, Cost)> {
        self.folds.tokens.subagents(prices)
    }
}

impl Facts {
    /// Whether the recording could tell a fact at all.
    pub fn knows(&self, name: &str) -> bool {
        !self.transcript.not_recorded.iter().any(|lost| **lost == *name)
    }

    /// As machines read them: each fact by its name, and the events of those that point at something beside them.
    pub(crate) fn to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut json = serde_json::Map::new();
        let mut cited = serde_json::Map::new();
        self.each(|manual, value| {
            if !self.knows(manual.name) {
                json.insert(manual.name.to_string(), serde_json::Value::Null);
                return;
            }
            json.insert(manual.name.to_string(), value.json());
            if !value.events().is_empty() {
                let events: Vec<String> = value.events().iter().map(ToString::to_string).collect();
                cited.insert(manual.name.to_string(), events.into());
            }
        });
        json.insert("events".to_string(), cited.into());
        json
    }
}

/// The hash by which texts are compared.
pub(crate) fn text_hash(text: &str) -> u64 {
    xxh3_64(text.trim().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_keeps_reads_back() {
        let facts = testing::facts_of("e1 user fix it\n e2 Bash cargo test\n e3 error boom\n e4 Read a.rs\n e5 ok");
        assert_eq!(serde_json::from_str::<Facts>(&facts.stored()).unwrap(), facts);
        assert_eq!(Facts::default().stored(), "{}");
        assert_eq!(serde_json::from_str::<Facts>("{}").unwrap(), Facts::default());
    }

    #[test]
    fn every_fact_has_a_whole_manual_page() {
        let mut names = std::collections::BTreeSet::new();
        for (_, manual) in Facts::GROUPS {
            for page in *manual {
                assert!(names.insert(page.name), "{} stands twice", page.name);
                assert!(page.doc.contains("\n Why: ") && page.doc.contains("\n Blind: "), "{}", page.name);
            }
        }
        let mut seen = 0;
        Facts::default().each(|_, _| seen += 1);
        assert_eq!(seen, names.len());
    }
}
