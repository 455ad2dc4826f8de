//! Langfuse: sessions that agents recorded there, kept here as transcripts.
//!
//! A file has an envelope per line: `{"at","as","row"}` for a row as Langfuse returned it, `{"at","end"}` where what a row
//! began has ended, and in front of them a line that says what was asked.

pub mod arrange;
pub(crate) mod decode;
pub mod keep;
mod lost;
pub mod pull;
mod recorder;
mod row;
mod said;
mod tools;

use serde::{Deserialize, Serialize};

/// Counts up when the same file gives other events.
pub const DECODER: u32 = 2;

/// How the names of files end.
pub const ENDING: &str = ".langfuse.jsonl";

/// As what a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum As {
    /// A person asks, and the agent works on it until it ends.
    Turn,
    /// A model answers.
    Generation,
    /// A tool is called.
    Tool,
    /// A subagent is given a task.
    Agent,
    /// Something else, which says only that something was going on.
    Aside,
}
