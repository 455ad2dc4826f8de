//! Messages, tokens and what they cost.

use super::Fold;
use super::calls::{KeyMap, OpenCall};
use super::value::{Change, Cited, FactValue, Form, change_words, facts, stored};
use super::word::Outside;
use crate::prices::{Picodollars, Prices};
use crate::sessions::{ApiError, Event, Events, Key, Kind, Message, Usage};
use crate::text::Text;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Tokens by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was not cached.
    pub input: u64,
    /// Input written to the cache.
    pub cache_creation: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.input + self.cache_creation + self.cache_read + self.output
    }

    /// Adds others.
    pub fn add(&mut self, other: &Tokens) {
        self.input += other.input;
        self.cache_creation += other.cache_creation;
        self.cache_read += other.cache_read;
        self.output += other.output;
    }
}

impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        Tokens {
            input: usage.input,
            cache_creation: usage.cache_write,
            cache_read: usage.cache_read,
            output: usage.output,
        }
    }
}

impl Form for Tokens {
    const FORM: &'static str = "count by kind";
}

impl FactValue for Tokens {
    fn stored(&self) -> Value {
        stored(self)
    }
    fn is_nothing(&self) -> bool {
        self.total() == 0
    }
    fn outside(&mut self, _: &mut Change<'_>) {}
}

/// A sum of money, or what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The cost of everything whose price is known.
    pub known: Picodollars,
    /// Models whose price is not.
    pub unpriced: Vec<Outside>,
    /// Output tokens of some messages were counted when the answer had only begun, so that it is more than this.
    #[serde(default)]
    pub partial: bool,
}

impl Cost {
    /// Dollars, or unknown where a part is unknown.
    pub fn dollars(&self) -> Option<f64> {
        self.unpriced.is_empty().then(|| self.known.dollars())
    }

    /// Says that a part was not recorded: what is known is the least it can be.
    pub(super) fn lose(&mut self) {
        if self.unpriced.is_empty() {
            self.unpriced.push("unknown".into());
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Cost) {
        self.known = self.known.plus(other.known);
        self.partial |= other.partial;
        for model in &other.unpriced {
            if let Err(at) = self.unpriced.binary_search(model) {
                self.unpriced.insert(at, model.clone());
            }
        }
    }
}

impl Form for Cost {
    const FORM: &'static str = "dollars or unknown";
}

impl FactValue for Cost {
    fn json(&self) -> Value {
        self.dollars().map_or(Value::Null, |dollars| json!((dollars * 1e6).round() / 1e6))
    }
    fn stored(&self) -> Value {
        stored(self)
    }
    fn is_nothing(&self) -> bool {
        self.known.0 == 0 && self.unpriced.is_empty()
    }
    fn outside(&mut self, change: &mut Change<'_>) {
        let Cost { known: _, unpriced, partial: _ } = self;
        change_words(unpriced, change);
    }
}

facts! {
    /// Messages, tokens, cost.
    pub struct TokenFacts {
        /// Distinct API messages by the agent, the client's own left out.
        /// Why: each is a request that was paid for.
        /// Blind: requests whose answer was never recorded.
        assistant_messages: u64,
        /// Tokens by kind, once per message, as last reported for it.
        /// Why: what was paid for.
        /// Blind: small helper requests that the client does not record.
        tokens: Tokens,
        /// Dollars at list price, from the dated price table; unknown where a model has no price in it.
        /// Why: a grade without a price tells half.
        /// Blind: subscriptions, discounts, prices before or after the table's date.
        cost_usd: Cost,
        /// Messages whose output tokens are fewer than their words and calls can be: the client kept the count from when
        /// the answer began.
        /// Why: tokens and cost are lower bounds then.
        /// Blind: counts that are too low by less; what was thought and not kept.
        partial_messages: u64,
        /// Models without a price in the table.
        /// Why: says why the cost is unknown.
        /// Blind: nothing known.
        unpriced_models: Vec<Outside>,
        /// Models that answered, most messages first.
        /// Why: results differ by model.
        /// Blind: models behind a gateway's alias.
        models: Vec<Outside>,
        /// The largest context that a message was answered from, in tokens.
        /// Why: long contexts cost more and answer worse.
        /// Blind: subagents have contexts of their own.
        peak_context: u64,
        /// Subagents that only show through progress records, with no transcript of their own among them.
        /// Why: their tokens would be missing otherwise.
        /// Blind: clients after 2.1.81 record no progress.
        subagents_seen_in_progress: Vec<Outside>,
        /// Requests that the service failed and the client tried again.
        /// Why: lost time that is nobody's fault here.
        /// Blind: retries inside the client's library.
        api_errors_retried: Cited,
        /// Requests that failed for good and ended a turn.
        /// Why: the work stopped there.
        /// Blind: nothing known.
        api_errors_final: Cited,
    }
}

/// The fold behind [`TokenFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TokenFold {
    models: Vec<Box<str>>,
    messages: Messages,
    /// Messages of subagents that progress records show, by subagent.
    subagents: BTreeMap<String, Messages>,
    peak_context: u64,
    retried: Events,
    gave_up: Events,
}

/// Messages with their models and tokens, as last reported.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Messages {
    list: Vec<(Key, u16, Usage)>,
    /// How much each wrote, in bytes.
    wrote: Vec<u64>,
    /// Where each stands in the list.
    places: KeyMap<Key, u32>,
    /// The one that was told last.
    last: u32,
}

impl Messages {
    fn tell(&mut self, key: Key, model: u16, usage: &Usage) {
        let next = self.list.len() as u32;
        self.last = *self.places.entry(key).or_insert(next);
        if self.last == next {
            self.list.push((key, model, *usage));
            self.wrote.push(0);
        } else {
            self.list[self.last as usize] = (key, model, *usage);
        }
    }

    /// The message that was told last wrote this much.
    fn wrote(&mut self, bytes: u64) {
        if let Some(wrote) = self.wrote.get_mut(self.last as usize) {
            *wrote += bytes;
        }
    }

    /// How many wrote more than their output tokens can be.
    fn partial(&self) -> u64 {
        let both = self.list.iter().zip(&self.wrote);
        both.filter(|((.., usage), wrote)| **wrote / BYTES_OF_A_TOKEN > usage.output).count() as u64
    }
}

/// Words hardly ever have longer tokens.
const BYTES_OF_A_TOKEN: u64 = 16;
/// A call has at least eight tokens beside its input: its name and its form alone are more.
const BYTES_OF_A_CALL: u64 = 8 * BYTES_OF_A_TOKEN;

/// The marker that the client uses for messages it wrote itself.
const SYNTHETIC: &str = "<synthetic>";

impl Fold for TokenFold {
    type Facts = TokenFacts;

    fn noted(&mut self, event: &Event<'_>) {
        match &event.kind {
            Kind::Message(message) => self.message(message, event.origin.sidechain),
            Kind::SubagentMessage(message) => self.subagent_message(message),
            _ => {}
        }
    }

    fn called(&mut self, _: &Event<'_>, call: &OpenCall) {
        self.messages.wrote(call.input.len() as u64 + BYTES_OF_A_CALL);
    }

    fn said(&mut self, event: &Event<'_>) {
        match &event.kind {
            Kind::Says(text) => self.messages.wrote(text.raw().len() as u64),
            Kind::ApiError(ApiError::Retry) => self.retried.push(event.origin.id),
            Kind::ApiError(ApiError::Final(_)) => self.gave_up.push(event.origin.id),
            _ => {}
        }
    }

    /// Everything but the cost, which needs a price table: [`TokenFold::priced`].
    fn finish(&mut self) -> TokenFacts {
        let mut tokens = Tokens::default();
        let mut models: Vec<(u64, &str)> = self.models.iter().map(|model| (0, &**model)).collect();
        for (_, model, usage) in &self.messages.list {
            tokens.add(&usage.into());
            models[usize::from(*model)].0 += 1;
        }
        models.retain(|(messages, _)| *messages > 0);
        models.sort_unstable_by(|(a, one), (b, other)| b.cmp(a).then(one.cmp(other)));
        TokenFacts {
            assistant_messages: self.messages.list.len() as u64,
            partial_messages: self.messages.partial(),
            tokens,
            models: models.into_iter().map(|(_, model)| model.to_owned().into()).collect(),
            peak_context: self.peak_context,
            subagents_seen_in_progress: self.subagents.keys().cloned().map(Outside::from).collect(),
            api_errors_retried: Cited(std::mem::take(&mut self.retried)),
            api_errors_final: Cited(std::mem::take(&mut self.gave_up)),
            ..TokenFacts::default()
        }
    }
}

impl TokenFold {
    fn message(&mut self, message: &Message<'_>, sidechain: bool) {
        let Some(model) = self.model(message.model) else {
            // What the client says next is nobody's tokens.
            self.messages.last = u32::MAX;
            return;
        };
        self.messages.tell(message.key, model, &message.usage);
        if !sidechain {
            self.peak_context = self.peak_context.max(message.usage.context());
        }
    }

    fn subagent_message(&mut self, message: &Message<'_>) {
        let Some(model) = self.model(message.model) else { return };
        let agent = message.agent.to_str();
        self.subagents.entry(agent.into_owned()).or_default().tell(message.key, model, &message.usage);
    }

    /// The number of a model, unless the client wrote the message itself.
    fn model(&mut self, name: Text<'_>) -> Option<u16> {
        let name = name.to_str();
        if name == SYNTHETIC {
            return None;
        }
        let at = self.models.iter().position(|known| **known == *name).unwrap_or_else(|| {
            self.models.push(name.into());
            self.models.len() - 1
        });
        Some(at as u16)
    }

    /// The facts with their cost.
    pub fn priced(&mut self, prices: &Prices) -> TokenFacts {
        let mut facts = self.finish();
        facts.cost_usd = self.cost(prices, &self.messages);
        facts.cost_usd.partial = facts.partial_messages > 0;
        facts.unpriced_models.clone_from(&facts.cost_usd.unpriced);
        facts
    }

    fn cost(&self, prices: &Prices, messages: &Messages) -> Cost {
        let mut cost = Cost::default();
        for (_, model, usage) in &messages.list {
            let model = &self.models[usize::from(*model)];
            match prices.cost(model, usage) {
                Some(price) => cost.known = cost.known.plus(price),
                None => cost.add(&Cost { unpriced: vec![model.to_string().into()], ..Cost::default() }),
            }
        }
        cost
    }

    /// Tokens and cost of the subagents that progress records show, by subagent, for those without a transcript.
    pub fn subagents(&self, prices: &Prices) -> BTreeMap<String, (Tokens, Cost)> {
        self.subagents
            .iter()
            .map(|(agent, messages)| {
                let mut tokens = Tokens::default();
                for (.., usage) in &messages.list {
                    tokens.add(&usage.into());
                }
                (agent.clone(), (tokens, self.cost(prices, messages)))
            })
            .collect()
    }

    /// The keys of the messages, in order.
    pub fn message_keys(&self) -> impl Iterator<Item = Key> {
        self.messages.list.iter().map(|(key, ..)| *key)
    }
}
