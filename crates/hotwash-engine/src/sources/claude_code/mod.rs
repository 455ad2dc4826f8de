//! Claude Code: the transcripts under `~/.claude/projects`.

pub(crate) mod decode;
mod discover;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub(crate) mod record;

use super::{Decoder, Source};
use hotwash_core::facts::{Facts, Identity};
use hotwash_core::records::{Reading, Role};
use hotwash_core::sessions::Part;
use std::path::Path;

/// Counts up when the same bytes give other events or facts, or the state to read on from has another form, so that
/// transcripts are read anew.
pub const DECODER: u32 = 7;

/// Claude Code.
pub(super) struct ClaudeCode;

impl Source for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn owns(&self, path: &Path) -> bool {
        discover::owns(path)
    }

    fn version(&self) -> u32 {
        DECODER
    }

    fn reads_on(&self) -> bool {
        true
    }

    fn recorded_by(&self, _: &Path) -> Option<String> {
        Some("Claude Code".into())
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<decode::Records>::default()
    }

    fn role(&self, path: &Path, reading: &Reading, pieces: &[(&Part, &Facts)]) -> Role {
        role(path, reading, pieces)
    }
}

/// The folder in which hotwash's own judge runs, and the mark in front of what it asks.
pub const JUDGE_FOLDER: &str = "hotwash/judge";
/// The mark in front of what hotwash's own judge is asked.
pub const JUDGE_MARK: &str = "<hotwash-judge";

/// What a transcript is, by its name and by what is in it: its pieces with their facts.
pub fn role(path: &Path, reading: &Reading, pieces: &[(&Part, &Facts)]) -> Role {
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let identities: Vec<Identity<'_>> = pieces.iter().map(|(part, _)| part.ledger.identity()).collect();
    let first = pieces.first().map(|(part, _)| part.ledger.words());

    let by_judge = |identity: &Identity<'_>| identity.cwd.is_some_and(|cwd| cwd.ends_with(JUDGE_FOLDER));
    let asked = first.and_then(|words| words.first_prompt.as_deref());
    if identities.iter().any(by_judge) || asked.is_some_and(|prompt| prompt.starts_with(JUDGE_MARK)) {
        return Role::JudgeRun;
    }
    let sum = |count: fn(&Facts) -> u64| pieces.iter().map(|(_, facts)| count(facts)).sum::<u64>();
    let prompts = sum(|facts| facts.prompts.human_prompts.count() + facts.prompts.plan_prompts.count());
    let recorded = identities.iter().find_map(|identity| identity.agent);
    let agent = recorded.or_else(|| name.strip_prefix("agent-"));
    // A name is only a hint: where a person prompts and no subagent is named, it is that person's work.
    let subagent = agent.is_some() && (prompts == 0 || recorded.is_some() && name.starts_with("agent-"));
    if subagent && agent.is_some_and(|agent| agent.starts_with("acompact")) {
        return Role::CompactionCopy;
    }
    if sum(|facts| facts.tokens.assistant_messages) == 0 && prompts == 0 {
        let understood = reading.lines - reading.malformed_lines;
        let unknown = sum(|facts| facts.transcript.unknown_records);
        let nothing_known = unknown > 0 || understood == 0 && reading.lines > 0;
        return if nothing_known { Role::Foreign } else { Role::Empty };
    }
    if subagent && first.is_some_and(|words| words.task.as_deref() == Some("Warmup")) {
        return Role::Warmup;
    }
    if subagent { Role::Subagent } else { Role::Main }
}
