//! The judge port: a backend turns a [`Prompt`] into a [`Reply`].
//!
//! A backend knows nothing of sessions, rubrics or spending caps. [`crate::verdicts`] reads what a reply says. Prompts
//! hold redacted text only, so a backend cannot send anything else.

use super::call::CallError;
use crate::prompts::Prompt;
use crate::records::Stop;
use crate::sessions::Usage;

/// A judge that answers at once. Called from several threads.
pub trait Live: Send + Sync {
    /// Asks. An error is returned only after the retries that make sense.
    fn reply(&self, prompt: &Prompt, model: &str) -> Result<Reply, CallError>;
}

/// A judge that answers in a later round, perhaps in another run.
pub trait Deferred {
    /// Submits the questions that were not submitted before, in this run or an earlier one, and reports on each question
    /// of the round by `id`, in any order. Returns when every question is answered, has failed or must wait.
    fn round(&self, questions: &[Question<'_>], answer: &mut dyn FnMut(&str, Answer)) -> Result<(), CallError>;
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
    /// The model that is asked.
    pub model: &'a str,
}

/// What is known of a question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It was answered.
    Reply(Reply),
    /// It failed, and will not be answered.
    Failed(CallError),
    /// It has not been answered yet.
    Waits,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its text; JSON, if all went well.
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
