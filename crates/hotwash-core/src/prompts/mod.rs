//! What a judge is asked: the fixed part first, so that it can be cached, then the evidence, then the question.
//!
//! The words are in files under `prompts/`, the answers' schemas in `schema.rs`; `ask.rs` puts them together. The fixed
//! part holds no byte of a session. [`Prompt::again`] asks once more and says what was wrong.

mod ask;
pub(crate) mod schema;
mod template;
#[cfg(test)]
mod tests;

pub(crate) use ask::dimensions_of;
pub use ask::{intent, outcome, quality, topic, topic_version, version};

use crate::evidence::tokens::of_text;
use crate::hash::of_texts;
use crate::redaction::{Compose, Redacted, Rules, redact};
use crate::verdicts::Problem;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// What a judge is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// At which prompts of a transcript another goal begins.
    Topic,
    /// What the person was after, and what would have to be true at the end.
    Intent,
    /// Whether that is so.
    Outcome,
    /// How well the session went, by a rubric.
    Quality,
}

impl Task {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Task; 4] = [Task::Topic, Task::Intent, Task::Outcome, Task::Quality];

    /// Its name, everywhere the same.
    pub fn name(self) -> &'static str {
        match self {
            Task::Topic => "topic",
            Task::Intent => "intent",
            Task::Outcome => "outcome",
            Task::Quality => "quality",
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One question to a judge. All of its text is redacted: there is no other way to make one.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What is asked.
    pub task: Task,
    /// Who of a panel is asked; empty for a single judge.
    pub critic: String,
    /// The part that is the same for every session: role, rules, rubric.
    pub fixed: Arc<Redacted<String>>,
    /// The session's own text, fenced.
    pub evidence: Redacted<String>,
    /// What is to be answered.
    pub question: Redacted<String>,
    /// The JSON schema of the answer.
    pub schema: Arc<Value>,
    /// The hash of the template and the rubric: the same for every session, so that equal ones can be compared.
    pub template_hash: String,
    /// How many tokens an answer may take.
    pub max_output_tokens: u32,
}

impl Prompt {
    /// What follows the fixed part: the evidence, then the question.
    pub fn user(&self) -> String {
        format!("{}\n\n{}", self.evidence, self.question)
    }

    /// How many tokens it is estimated to be.
    pub fn tokens(&self) -> usize {
        of_text(self.fixed.as_str()) + of_text(self.evidence.as_str()) + of_text(self.question.as_str())
    }

    /// The same question once more, with what was wrong with the answer. The answer itself is not shown: it may hold what
    /// the session wanted it to say.
    #[must_use]
    pub fn again(&self, problems: &[Problem], rules: &Rules) -> Prompt {
        let mut question = Compose::new();
        question.words(&self.question);
        question.own("\n\nYou have answered this before, and the answer could not be used as it was:\n");
        for problem in problems.iter().take(MOST_PROBLEMS) {
            question.own("\n- ").words(&redact(&problem.to_string(), rules));
        }
        if problems.len() > MOST_PROBLEMS {
            question.own("\n- and ").plain(problems.len() - MOST_PROBLEMS).own(" more of the kind");
        }
        question.own("\n\nAnswer again, in full: one JSON object that fits the schema, and nothing else.");
        Prompt { question: question.finish(), ..self.clone() }
    }

    /// A hash of everything that is sent: equal questions have equal answers, and are asked once.
    pub fn hash(&self) -> String {
        // The template's hash stands for the fixed part and the schema.
        of_texts(&[&self.template_hash, self.evidence.as_str(), self.question.as_str()])
    }
}

/// So many problems are told a judge.
const MOST_PROBLEMS: usize = 12;
