//! Context efficiency: what was read twice or whole, and how full the context got.

use super::super::Reading;
use super::sheet::{Share, Sheet, too_few};
use super::words::{choose, count, count_behind, number_behind, push_count, push_number};
use crate::facts::Facts;
use crate::rubric::Offline;

pub(super) fn read(facts: &Facts, offline: &Offline) -> Reading {
    let Facts { reads, prompts, tokens, tools, .. } = facts;
    let all = reads.files_read;
    if let Some(unscored) = too_few(all, offline.get("min_reads"), "read") {
        return unscored;
    }
    let mut sheet = Sheet::new(facts, offline);

    let again = Share::new(reads.wasteful_rereads.count(), all);
    let reason = || again.words("read", ("repeats", "repeat")) + " an unchanged range";
    let events = &reads.wasteful_rereads.0;
    sheet.deduct_capped(("rereads", "rereads_cap"), again.number(), "wasteful_rereads", reason, events);

    let large = Share::new(reads.large_reads.count(), all);
    let reason = || large.words("read", ("loads", "load")) + " a large file whole";
    sheet.deduct_capped(
        ("large_reads", "large_reads_cap"),
        large.number(),
        "large_reads",
        reason,
        &reads.large_reads.0,
    );

    // A compaction is a matter of length by nature. A short session may have inherited most of its context, so it
    // pays for one as if it were of ordinary length.
    let full = &prompts.compactions_auto;
    let stretch = offline.get("compactions_calls").max(1.0);
    let times = full.count() as f64 * stretch / (tools.tool_calls as f64).max(stretch);
    let reason =
        || format!("{} in {}", count(full.count(), "automatic compaction"), count(tools.tool_calls, "tool call"));
    sheet.deduct_capped(("compactions", "compactions_cap"), times, "compactions_auto", reason, &full.0);

    let crowded = offline.get("peak_tokens") as u64;
    if tokens.peak_context > crowded {
        let reason = || {
            let mut grew = number_behind("the context grew to ", tokens.peak_context) + " tokens, above ";
            push_number(&mut grew, crowded);
            grew
        };
        sheet.deduct("peak_context", "peak_context", reason, &[]);
    }

    let delegated = tools.subagent_calls.count();
    if delegated > 0 {
        let keep = choose(delegated, ("keeps its", "keep their"));
        let reason = || format!("{} {keep} work out of the main context", count(delegated, "subagent"));
        sheet.credit("delegation", "subagent_calls", reason, &tools.subagent_calls.0);
    }
    sheet.unmoved("wasteful_rereads", || {
        let mut clean = count_behind("no waste shows in ", all, "read") + " of ";
        push_count(&mut clean, reads.unique_files_read, "file");
        clean
    });
    sheet.reading()
}
