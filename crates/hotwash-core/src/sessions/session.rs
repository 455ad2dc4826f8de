//! A session: the unit that is graded.

use super::{Key, Timestamp};
use crate::facts::{Cost, Facts, Tokens};
use crate::redaction::Redacted;
use crate::rework::repository;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The id of a session: a hash of its first prompt's own id, so that growing never orphans a verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl SessionId {
    /// How many hexadecimal digits an id has.
    pub const DIGITS: usize = 16;
    /// How many of them people are shown: enough for a few thousand sessions.
    pub const SHOWN: usize = 8;

    /// The id of the session that begins with this record.
    pub fn of(first: Key) -> SessionId {
        let hash = Sha256::new().chain_update(b"session").chain_update(first.0.to_be_bytes()).finalize();
        let mut digits = String::with_capacity(Self::DIGITS);
        for byte in hash.iter().take(Self::DIGITS / 2) {
            for digit in [byte >> 4, byte & 15] {
                digits.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        SessionId(digits)
    }

    /// The part that people are shown.
    pub fn short(&self) -> &str {
        self.0.get(..Self::SHOWN).unwrap_or(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose work a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A person's, or a run's of its own.
    Main,
    /// A subagent's: it belongs to the session that spawned it.
    Subagent,
}

impl SessionKind {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            SessionKind::Main => "main",
            SessionKind::Subagent => "subagent",
        }
    }
}

/// A session with its facts.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Whose work it is.
    pub kind: SessionKind,
    /// The agent's own id for the transcript.
    pub recorded: String,
    /// The subagent's own id.
    pub agent: Option<String>,
    /// The working directory.
    pub project: Redacted<String>,
    /// What it is about, in a line.
    pub title: Redacted<String>,
    /// What was asked for, what was done and what came of it, in a paragraph.
    pub summary: Redacted<String>,
    /// The first moment.
    pub from: Option<Timestamp>,
    /// The last moment.
    pub to: Option<Timestamp>,
    /// The last of its transcript: it may yet grow.
    pub open: bool,
    /// The facts.
    pub facts: Redacted<Arc<Facts>>,
    /// Tokens and cost of subagents that only progress records show.
    pub progress: BTreeMap<String, (Tokens, Cost)>,
}

impl Session {
    /// The folder of the project: that of the repository, also where the work was done in one of its worktrees.
    pub fn repository(&self) -> &str {
        repository(self.project.as_str())
    }

    /// The name of the project: the last part of its folder.
    pub fn project_name(&self) -> &str {
        let project = self.repository().trim_end_matches(['/', '\\']);
        project.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(project)
    }
}
