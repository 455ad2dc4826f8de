//! Process adherence: a plan for long work, a look before a change, a check after it, no claim without one.

use super::super::Reading;
use super::sheet::{Share, Sheet, too_few};
use super::words::{choose, count, count_behind, push_count};
use super::{last, last_green, nothing_to_go_by};
use crate::facts::Facts;
use crate::rubric::Offline;

pub(super) fn read(facts: &Facts, offline: &Offline) -> Reading {
    let Facts { tools, edits, verification, .. } = facts;
    let calls = tools.tool_calls;
    if let Some(unscored) = too_few(calls, offline.get("min_calls"), "tool call") {
        return unscored;
    }
    let at_least = |n: u64, param| n as f64 >= offline.get(param);
    let long = at_least(edits.files_edited, "planning_from_edits") || at_least(calls, "planning_from_calls");
    let attempts = edits.edit_calls_ok.count() + edits.edits_refused_unread.count();
    let claims = verification.claims.count();
    let checked = verification.verified.is_some() || !verification.ended_red.is_empty();
    let skills = verification.skills_by_shell.count();
    if !long && !checked && attempts + claims + skills == 0 {
        let calls = count(calls, "tool call");
        return nothing_to_go_by(calls + " with no edit, no claim and no red run: no process to look at");
    }
    let mut sheet = Sheet::new(facts, offline);

    if long {
        let size = || {
            let mut size = count_behind("long work (", edits.files_edited, "edited file") + ", ";
            push_count(&mut size, calls, "tool call");
            size + ")"
        };
        let plans = tools.planning_calls.count();
        if plans > 0 {
            let accompany = choose(plans, (" of a planning tool accompanies ", " of a planning tool accompany "));
            let reason = || count(plans, "call") + accompany + &size();
            sheet.credit("planning", "planning_calls", reason, &tools.planning_calls.0);
        } else {
            let reason = || size() + " went without a planning tool";
            sheet.deduct("no_planning", "planning_calls", reason, &[]);
        }
    }

    let mut unread = [&edits.edits_without_prior_read.0[..], &edits.edits_refused_unread.0].concat();
    unread.sort_unstable();
    let blind = Share::new(unread.len() as u64, attempts);
    let reason = || blind.words("edit", ("was aimed", "were aimed")) + " at a file that had not been read";
    let params = ("blind_edits", "blind_edits_cap");
    sheet.deduct_capped(params, blind.number(), "edits_without_prior_read", reason, &unread);

    match verification.verified {
        Some(true) => {
            let reason = || "a green run came after the last change of a source file";
            sheet.credit("verified", "verified", reason, last_green(facts).as_slice());
        }
        // A run that does not tell its result is not none.
        Some(false) if !verification.unread_run.is_empty() => {}
        Some(false) => {
            let reason = || "no green run came after the last change of a source file";
            sheet.deduct("unverified", "verified", reason, last(&edits.edit_calls_ok).as_slice());
        }
        None => {}
    }
    if !verification.ended_red.is_empty() {
        let reason = || "the last run that tells its result was red";
        sheet.deduct("red_end", "ended_red", reason, &verification.ended_red.0);
    }

    let unbacked = Share::new(verification.unbacked_claims.count(), claims);
    let reason = || unbacked.words("success claim", ("has no green run behind it", "have no green run behind them"));
    let params = ("unbacked_claims", "unbacked_claims_cap");
    sheet.deduct_capped(params, unbacked.number(), "unbacked_claims", reason, &verification.unbacked_claims.0);

    if skills > 0 {
        let were = choose(skills, ("was", "were"));
        let reason = || format!("{} {were} read through the shell instead of being loaded", count(skills, "skill"));
        sheet.deduct("skill_by_shell", "skills_by_shell", reason, &verification.skills_by_shell.0);
    }
    sheet.unmoved("edits_without_prior_read", || {
        let mut clean = count_behind("nothing stands out in ", attempts, "edit") + " and ";
        push_count(&mut clean, claims, "success claim");
        clean
    });
    sheet.reading()
}
