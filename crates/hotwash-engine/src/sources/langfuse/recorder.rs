//! Who recorded something in Langfuse, which says how it is worded.

use super::row::Row;
use serde_json::Value;

/// Who recorded something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Recorder {
    /// Langfuse's plugin for Claude Code, or the hook it grew out of.
    ClaudeCode,
    /// Claude Code itself.
    Telemetry,
    Codex,
    OpenCode,
    /// Any other program.
    #[default]
    Application,
}

impl Recorder {
    pub(super) fn of(row: &Row) -> Recorder {
        let name = row.text("name");
        let noted = |prefix: &str| {
            let notes = row.0.get("metadata").and_then(Value::as_object);
            notes.is_some_and(|notes| notes.keys().any(|note| note.starts_with(prefix)))
        };
        if name.starts_with("claude_code.") {
            Recorder::Telemetry
        } else if row.noted_text(&["source"]) == "claude-code"
            || row.is_tagged("claude-code")
            || row.text("traceName").starts_with("Claude Code")
            || name == "Claude Code Turn"
            || noted("claude.")
        {
            Recorder::ClaudeCode
        } else if name == "Codex Turn" || row.is_tagged("codex") || noted("codex.") {
            Recorder::Codex
        } else if name.starts_with("opencode.") || row.is_tagged("opencode") || noted("opencode.") {
            Recorder::OpenCode
        } else {
            Recorder::Application
        }
    }

    /// The agent whose work it is, as people call it.
    pub(super) fn agent(self) -> &'static str {
        match self {
            Recorder::ClaudeCode | Recorder::Telemetry => "Claude Code",
            Recorder::Codex => "Codex",
            Recorder::OpenCode => "OpenCode",
            Recorder::Application => "application",
        }
    }
}
