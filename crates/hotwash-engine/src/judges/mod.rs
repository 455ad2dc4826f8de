//! Judges: models behind a backend, asked one prompt at a time.
//!
//! A backend turns a [`Prompt`] into a [`Reply`], and knows nothing of sessions, rubrics or money caps. What a reply says
//! is read by core. Prompts hold redacted text only, so a backend cannot send anything else.
//!
//! Two kinds: a [`Live`] judge answers while one waits; a [`Deferred`] one takes a round of questions and has some of the
//! answers, perhaps in another run.

pub mod anthropic;
pub mod batches;
#[cfg(test)]
mod batches_tests;
pub mod claude_cli;
#[cfg(test)]
#[cfg(unix)]
mod claude_cli_tests;
pub mod files;
mod manners;
pub mod openai;
mod schema;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod testing;

pub use hotwash_core::records::Stop;

pub use crate::net::{CallError as JudgeError, Clock, Failing, Key, SystemClock, World};

use crate::net::{egress, http, retry};

use hotwash_core::prompts::Prompt;
use hotwash_core::sessions::Usage;
use serde::Serialize;

/// A judge that answers while one waits. Called from several threads at once.
pub trait Live: Send + Sync {
    /// Asks. What may be tried again has been, when this returns an error.
    fn reply(&self, prompt: &Prompt, model: &str) -> Result<Reply, JudgeError>;
}

/// A judge that answers later.
pub trait Deferred {
    /// Hands over a round of questions, of which some may have been asked in a round or a run before, and gives back what
    /// is known of each, in any order, by `id`. Returns when every question is answered, has failed or must wait.
    fn round(&self, questions: &[Question<'_>], answer: &mut dyn FnMut(&str, Answer)) -> Result<(), JudgeError>;
}

/// The bytes of a body that holds a prompt.
fn written(body: &impl Serialize, prompt: &Prompt) -> Vec<u8> {
    let texts = [&*prompt.fixed, &prompt.evidence, &prompt.question].map(|text| text.as_str().len());
    // Room for the texts, for what JSON makes of their line ends, and for a schema.
    let mut bytes = Vec::with_capacity(texts.iter().sum::<usize>() * 9 / 8 + (16 << 10));
    // It cannot fail: the keys are texts, and memory takes everything.
    let _ = serde_json::to_writer(&mut bytes, body);
    bytes
}

/// A question of a round.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Unique, and the same in every run: a hash of prompt, model and backend.
    pub id: &'a str,
    /// A name for people: `<session>.<task>[.<critic>][.<chunk>][.again]`.
    pub name: &'a str,
    /// What is asked.
    pub prompt: &'a Prompt,
    /// Who is asked.
    pub model: &'a str,
}

/// What is known of a question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It was answered.
    Reply(Reply),
    /// It was not, and will not be.
    Failed(JudgeError),
    /// It was not yet.
    Waits,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its words; JSON, if all went well.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// The model that answered, as the backend names it.
    pub model: String,
    /// Tokens; none where the backend does not say.
    pub usage: Option<Usage>,
    /// What the backend says it cost, in dollars, where it does.
    pub dollars: Option<f64>,
    /// It came out of a batch, where tokens cost half.
    pub batch: bool,
    /// How many requests were made, failed ones included.
    pub requests: u32,
}
