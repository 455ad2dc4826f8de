//! Where transcripts come from. A source finds them and turns their lines into events; what events mean is the core's.
//!
//! Each agent has a folder here, which implements [`Source`], and a line in `AGENTS`.

pub mod claude_code;
pub mod discover;
pub mod instead;
pub(crate) mod json;
pub mod langfuse;
mod lines;
pub mod reader;
#[cfg(test)]
mod toy;

pub use hotwash_core::ports::source::{Decoder, Source};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

/// All agents. A file belongs to the first that owns it, so one whose names are special stands before one that takes many.
static AGENTS: &[&dyn Source] = &[
    &langfuse::Langfuse,
    &claude_code::ClaudeCode,
    #[cfg(test)]
    &toy::Toy,
];

/// An agent whose transcripts can be read.
#[derive(Clone, Copy)]
pub struct Agent(&'static dyn Source);

impl Agent {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Agent> {
        AGENTS.iter().map(|source| Agent(*source))
    }

    /// The one of this name, as it is stored.
    pub fn named(name: &str) -> Option<Agent> {
        Agent::all().find(|agent| agent.name() == name)
    }

    /// The one that owns a file which is seen for the first time.
    pub fn owning(path: &Path) -> Option<Agent> {
        Agent::all().find(|agent| agent.owns(path))
    }
}

impl Default for Agent {
    /// The one whose transcript a file is taken for that nobody owns, because somebody has named it.
    fn default() -> Agent {
        Agent(&claude_code::ClaudeCode)
    }
}

impl Deref for Agent {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Agent {}

impl PartialOrd for Agent {
    fn partial_cmp(&self, other: &Agent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Agent {
    fn cmp(&self, other: &Agent) -> Ordering {
        self.name().cmp(other.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_differ_and_lead_back() {
        let names: BTreeSet<&str> = Agent::all().map(|agent| agent.0.name()).collect();
        assert_eq!(names.len(), AGENTS.len());
        assert!(names.iter().all(|name| Agent::named(name).is_some_and(|agent| agent.name() == *name)));
        assert_eq!(Agent::named("unheard of"), None);
    }

    #[test]
    fn a_file_belongs_to_one_agent() {
        let cases = [
            ("/p/a.jsonl", Some("claude-code")),
            ("/p/a.langfuse.jsonl", Some("langfuse")),
            ("/p/a.toy", Some("toy")),
            ("/p/notes.txt", None),
        ];
        for (path, name) in cases {
            assert_eq!(Agent::owning(path.as_ref()).map(|agent| agent.0.name()), name, "{path}");
        }
    }
}
