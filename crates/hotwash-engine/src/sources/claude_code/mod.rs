//! Claude Code: the transcripts under `~/.claude/projects`.

pub(crate) mod decode;
pub mod discover;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub mod read;
pub(crate) mod record;

use crate::stores::Role;
use hotwash_core::facts::Facts;
use read::Transcript;
use std::path::Path;

/// Counts up when the same bytes give other events or facts, so that transcripts are read anew.
pub const DECODER: u32 = 2;

/// The folder in which hotwash's own judge runs, and the mark in front of what it asks.
pub const JUDGE_FOLDER: &str = "hotwash/judge";
/// The mark in front of what hotwash's own judge is asked.
pub const JUDGE_MARK: &str = "<hotwash-judge";

/// What a transcript is, by its name and by what is in it.
pub fn role(path: &Path, transcript: &Transcript, facts: &Facts) -> Role {
    let identity = transcript.ledger.identity();
    let words = transcript.ledger.words();
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();

    let by_judge = identity.cwd.as_deref().is_some_and(|cwd| cwd.ends_with(JUDGE_FOLDER));
    let marked = words.first_prompt.as_deref().is_some_and(|prompt| prompt.starts_with(JUDGE_MARK));
    if by_judge || marked {
        return Role::JudgeRun;
    }
    let prompts = facts.prompts.human_prompts.count() + facts.prompts.plan_prompts.count();
    let agent = identity.agent.as_deref().or_else(|| name.strip_prefix("agent-"));
    // A name is only a hint: where a person prompts and no subagent is named, it is that person's work.
    let subagent = agent.is_some() && (prompts == 0 || identity.agent.is_some() && name.starts_with("agent-"));
    if subagent && agent.is_some_and(|agent| agent.starts_with("acompact")) {
        return Role::CompactionCopy;
    }
    if facts.tokens.assistant_messages == 0 && prompts == 0 {
        let understood = transcript.reading.lines - transcript.reading.malformed_lines;
        let nothing_known = facts.transcript.unknown_records > 0 || understood == 0 && transcript.reading.lines > 0;
        return if nothing_known { Role::Foreign } else { Role::Empty };
    }
    if subagent && words.task.as_deref() == Some("Warmup") {
        return Role::Warmup;
    }
    if subagent { Role::Subagent } else { Role::Main }
}
