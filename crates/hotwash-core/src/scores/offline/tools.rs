//! Tool efficiency: retries, failures, file work in the shell, calls made at once.
//!
//! One failure is punished once: an error that was retried counts as the retry, a refused edit as the refusal.

use super::super::Reading;
use super::sheet::{Share, Sheet, too_few};
use super::words::count_behind;
use crate::facts::Facts;
use crate::rubric::Offline;
use crate::sessions::EventId;

pub(super) fn read(facts: &Facts, offline: &Offline) -> Reading {
    let Facts { tools, parallel, edits, verification, .. } = facts;
    let calls = tools.tool_calls;
    if let Some(unscored) = too_few(calls, offline.get("min_calls"), "tool call") {
        return unscored;
    }
    let mut sheet = Sheet::new(facts, offline);

    let retries = Share::new(tools.retries.count(), calls);
    let reason = || retries.words("tool call", ("repeats", "repeat")) + " a call that had just failed";
    sheet.deduct_capped(("retries", "retries_cap"), retries.number(), "retries", reason, &tools.retries.0);

    let refusals = &edits.edits_refused_unread;
    let refused = Share::new(refusals.count(), edits.edit_calls_ok.count() + refusals.count());
    let reason = || refused.words("edit", ("was", "were")) + " refused because the file had not been read";
    let params = ("refused_edits", "refused_edits_cap");
    sheet.deduct_capped(params, refused.number(), "edits_refused_unread", reason, &refusals.0);

    let errors = other_errors(facts);
    let failed = Share::new(errors.len() as u64, calls);
    let beside = match (retries.is_some(), refused.is_some()) {
        (false, false) => "",
        (true, false) => ", those that were retried not counted",
        (false, true) => ", refused edits not counted",
        (true, true) => ", those that were retried and refused edits not counted",
    };
    let reason = || failed.words("tool call", ("failed", "failed")) + beside;
    sheet.deduct_capped(("tool_errors", "tool_errors_cap"), failed.number(), "tool_errors", reason, &errors);

    let shell = &verification.bash_file_ops;
    let in_shell = Share::new(shell.count(), verification.file_operations);
    let reason =
        || in_shell.words("file operation", ("was", "were")) + " done in the shell instead of with a file tool";
    sheet.deduct_share("bash_file_ops", in_shell, "bash_file_ops", reason, &shell.0);

    let chances = parallel.independent_calls;
    if chances as f64 >= offline.get("missed_parallel_min") {
        let missed = Share::new(parallel.missed_parallel.count(), chances);
        let reason = || {
            let alone = missed.words("independent read-only call", ("was", "were"));
            alone + " made alone instead of beside the one before"
        };
        sheet.deduct_share("missed_parallel", missed, "missed_parallel", reason, &parallel.missed_parallel.0);

        let taken = Share::new(chances.saturating_sub(parallel.missed_parallel.count()), chances);
        let reason = || taken.words("independent read-only call", ("was", "were")) + " made at once";
        sheet.credit_share("parallel", taken, "parallel_calls", reason, &parallel.parallel_calls.0);
    }
    sheet.unmoved("tool_errors", || count_behind("nothing stands out in ", calls, "tool call"));
    sheet.reading()
}

/// Errors that no other item counts: not refused edits, and not those that a retry followed.
fn other_errors(facts: &Facts) -> Vec<EventId> {
    let refused = &facts.edits.edits_refused_unread.0;
    let mut errors: Vec<EventId> = facts.tools.tool_errors.0.clone();
    for retry in &facts.tools.retries.0 {
        // Errors are cited by their results and retries by their calls: the error retried is the nearest one before.
        if let Some(at) = errors.iter().rposition(|error| error < retry) {
            errors.remove(at);
        }
    }
    errors.retain(|error| !refused.contains(error));
    errors
}
