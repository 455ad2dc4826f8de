//! Where transcripts come from. A source finds them and turns their bytes into events; what events mean is the core's.

pub mod claude_code;
pub mod instead;
pub(crate) mod json;
pub mod langfuse;

use std::path::Path;

/// Who wrote a transcript, which says how its lines are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code itself.
    #[default]
    ClaudeCode,
    /// Hotwash, from what Langfuse had.
    Langfuse,
}

impl Agent {
    /// By the name of the file.
    pub fn of(path: &Path) -> Agent {
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(langfuse::ENDING.as_bytes()) { Agent::Langfuse } else { Agent::ClaudeCode }
    }

    /// Counts up when the same bytes give other events or facts, or the state to read on from has another form, so that
    /// transcripts are read anew.
    pub fn decoder(self) -> u32 {
        match self {
            Agent::ClaudeCode => claude_code::DECODER,
            // Facts are the same for all; what is between bytes and events is not.
            Agent::Langfuse => claude_code::DECODER + (langfuse::DECODER << 16),
        }
    }

    /// Whether a transcript that has grown is read on from where it was. Otherwise it is read as a whole.
    pub fn grows(self) -> bool {
        self == Agent::ClaudeCode
    }
}
