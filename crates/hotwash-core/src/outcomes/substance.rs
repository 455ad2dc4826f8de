//! The floor of substance: did real work happen?
//!
//! A call that mutates is an edit, write or notebook edit that worked, or a shell command that writes files, changes the
//! working tree or commits. What a program that the shell runs changes by itself cannot be seen.

use crate::facts::Facts;
use serde::{Deserialize, Serialize};

/// So many turns are substance.
pub const TURNS: u64 = 3;
/// So many net lines are.
pub const NET_LINES: i64 = 10;
/// So many calls that mutate are.
pub const MUTATING_CALLS: u64 = 1;

/// What of substance happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Substance {
    /// Turns.
    pub turns: u64,
    /// Lines added, less lines removed.
    pub net_lines: i64,
    /// Calls that changed something.
    pub mutating_calls: u64,
}

impl Substance {
    /// What the facts say.
    pub fn of(facts: &Facts) -> Substance {
        let signed = |lines: u64| i64::try_from(lines).unwrap_or(i64::MAX);
        // Edits are counted as they are tried, and may have failed; the shell's share is what else mutated.
        let by_shell = facts.verification.mutating_calls.saturating_sub(facts.goal.edit_calls_tried);
        Substance {
            turns: facts.prompts.turns,
            net_lines: signed(facts.edits.lines_added) - signed(facts.edits.lines_removed),
            mutating_calls: facts.edits.edit_calls_ok.count() + by_shell,
        }
    }

    /// Whether it is enough to count.
    pub fn passes(&self) -> bool {
        self.turns >= TURNS || self.net_lines >= NET_LINES || self.mutating_calls >= MUTATING_CALLS
    }
}
