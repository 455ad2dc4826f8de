//! Langfuse: sessions that agents recorded there, kept here as transcripts.
//!
//! A file has an envelope per line: `{"at","as","row"}` for a row as Langfuse returned it, `{"at","end"}` where what a row
//! began has ended, and in front of them a line that says what was asked.

pub mod arrange;
mod decode;
mod discover;
pub mod keep;
mod lost;
pub mod pull;
mod recorder;
mod row;
mod said;
mod tools;

use super::claude_code::{self, ClaudeCode};
use super::{Decoder, Source};
use hotwash_core::facts::Facts;
use hotwash_core::records::{Reading, Role};
use hotwash_core::sessions::Part;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Counts up when the same file gives other events.
pub const DECODER: u32 = 2;

/// How the names of files end.
pub const ENDING: &str = ".langfuse.jsonl";

/// Sessions from Langfuse.
pub(super) struct Langfuse;

/// The name that is stored.
pub const NAME: &str = "langfuse";

impl Source for Langfuse {
    fn name(&self) -> &'static str {
        NAME
    }

    fn owns(&self, path: &Path) -> bool {
        discover::owns(path)
    }

    fn version(&self) -> u32 {
        // Tools and words are decoded as Claude Code's are.
        claude_code::DECODER + (DECODER << 16)
    }

    fn reads_on(&self) -> bool {
        false
    }

    fn is_second_hand(&self) -> bool {
        true
    }

    fn recorded_by(&self, path: &Path) -> Option<String> {
        keep::recorded_by(path)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<decode::Memory>::default()
    }

    fn role(&self, path: &Path, reading: &Reading, pieces: &[(&Part, &Facts)]) -> Role {
        ClaudeCode.role(path, reading, pieces)
    }
}

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
