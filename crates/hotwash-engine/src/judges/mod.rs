//! Judges: the backends behind [`hotwash_core::ports::judge`], one file each.
//!
//! `anthropic`, `openai` and `claude_cli` answer at once ([`Live`]); `batches` and `files` in a later round or run
//! ([`Deferred`]). `schema` says what services take of a JSON schema, `manners` how they word errors.

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

pub use crate::net::{CallError as JudgeError, Clock, Failing, Key, SystemClock, World};
pub use hotwash_core::ports::judge::{Answer, Deferred, Live, Question, Reply};
pub use hotwash_core::records::Stop;

use crate::net::{egress, http, retry};
use hotwash_core::prompts::Prompt;
use serde::Serialize;

/// The bytes of a body that holds a prompt.
fn written(body: &impl Serialize, prompt: &Prompt) -> Vec<u8> {
    let texts = [&*prompt.fixed, &prompt.evidence, &prompt.question].map(|text| text.as_str().len());
    // Room for the texts, for what JSON makes of their line ends, and for a schema.
    let mut bytes = Vec::with_capacity(texts.iter().sum::<usize>() * 9 / 8 + (16 << 10));
    // It cannot fail: the keys are texts, and memory takes everything.
    let _ = serde_json::to_writer(&mut bytes, body);
    bytes
}
