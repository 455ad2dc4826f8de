//! What recordings in Langfuse lose, by the names of facts: it is unknown, not none.

use hotwash_core::facts::edits::EditFacts;
use hotwash_core::facts::ending::EndingFacts;
use hotwash_core::facts::goal::GoalFacts;
use hotwash_core::facts::parallel::ParallelFacts;
use hotwash_core::facts::reads::ReadFacts;
use hotwash_core::facts::verification::VerificationFacts;
use hotwash_core::facts::{Group, Manual, SignalFacts};

/// What nobody sends to Langfuse: what the client does beside the conversation.
pub(super) const ALWAYS: &[&str] = &[
    "api_errors_final",
    "api_errors_retried",
    "bang_commands",
    "clears",
    "compactions_auto",
    "compactions_manual",
    "ended_on_api_error",
    "headless",
    "human_prompts_in_attachments",
    "human_prompts_in_tool_result_lines",
    "queue_only_prompts",
    "slash_commands",
    "subagents_seen_in_progress",
    "versions",
];
/// What only one of the plugins tells: it marks a turn that the person stopped.
pub(super) const STOPPED: &[&str] = &["ended_on_interrupt", "interrupts"];
/// Where a generation has no usage.
pub(super) const USAGE: &[&str] = &["cost_usd", "partial_messages", "peak_context", "tokens", "unpriced_models"];
/// Where a generation has no model.
pub(super) const MODEL: &[&str] = &["cost_usd", "models", "unpriced_models"];
/// Where an edit is known by its arguments: they need not be whole lines.
pub(super) const LINES: &[&str] = &["lines_added", "lines_removed"];
/// Where a file was written and its content before is not known.
pub(super) const BEFORE: &[&str] = &["lines_added", "lines_removed", "reverted_edits"];
/// Where it is not said whether a file was there before.
pub(super) const CREATED: &[&str] = &["files_created", "lines_added", "lines_removed", "reverted_edits"];
/// Where what was read was cut.
pub(super) const LENGTH: &[&str] = &["large_reads"];

/// Where neither words nor arguments were sent: all that is not time, tokens and names of tools.
pub(super) fn content() -> Vec<&'static str> {
    let groups: [&[Manual]; 7] = [
        ReadFacts::MANUAL,
        EditFacts::MANUAL,
        VerificationFacts::MANUAL,
        EndingFacts::MANUAL,
        SignalFacts::MANUAL,
        GoalFacts::MANUAL,
        ParallelFacts::MANUAL,
    ];
    let errors = ["tool_errors", "tool_errors_by_name", "retries", "longest_error_streak", "retry_free_share"];
    groups.into_iter().flatten().map(|page| page.name).chain(errors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotwash_core::facts::Facts;

    #[test]
    fn only_facts_are_lost() {
        let facts: Vec<&str> = Facts::GROUPS.iter().flat_map(|(_, pages)| pages.iter().map(|page| page.name)).collect();
        let lists = [ALWAYS, STOPPED, USAGE, MODEL, LINES, BEFORE, CREATED, LENGTH, &content()].concat();
        for name in lists {
            assert!(facts.contains(&name), "{name}");
        }
    }
}
