//! Output quality: what the last run says about the edits before it, and edits that were taken back.

use super::super::Reading;
use super::sheet::{Share, Sheet, too_few};
use super::words::count;
use super::{last, last_green, nothing_to_go_by};
use crate::facts::Facts;
use crate::rubric::Offline;

pub(super) fn read(facts: &Facts, offline: &Offline) -> Reading {
    let Facts { edits, verification, .. } = facts;
    let all = edits.edit_calls_ok.count();
    if let Some(unscored) = too_few(all, offline.get("min_edits"), "edit") {
        return unscored;
    }
    let last_edit = last(&edits.edit_calls_ok);
    let mut sheet = Sheet::new(facts, offline);

    let red = last(&verification.ended_red);
    let green = last_green(facts).filter(|_| red.is_none());
    // `verified` looks at source files alone: prose written after the green run does not undo it.
    if verification.verified == Some(true) || green > last_edit {
        let reason = || "the last run after the edits is green";
        sheet.credit("green", "verified", reason, green.as_slice());
    } else if red > last_edit {
        let reason = || "the last run after the edits is red";
        sheet.deduct("red", "ended_red", reason, red.as_slice());
    }

    let taken_back = &edits.reverted_edits;
    let reverted = Share::new(taken_back.count(), all);
    let reason = || reverted.words("edit", ("undoes", "undo")) + " an earlier one";
    let params = ("reverted_edits", "reverted_edits_cap");
    sheet.deduct_capped(params, reverted.number(), "reverted_edits", reason, &taken_back.0);

    if sheet.is_empty() {
        return nothing_to_go_by(count(all, "edit") + ", and no run after the last one shows a result");
    }
    sheet.reading()
}
