//! The facts as a judge is shown them: only what can be used and not easily be counted by reading.

use super::greens::Green;
use super::produced::Produced;
use crate::facts::verification::Runs;
use crate::facts::{Cited, Facts};
use crate::redaction::{Compose, Redacted};
use crate::sessions::EventId;

/// So many events are named of one thing.
const NAMED: usize = 12;

/// The table.
pub(super) fn table(facts: &Facts, files: &[Produced], greens: &[Green]) -> Redacted<String> {
    let mut out = Compose::new();
    let Facts { prompts, tools, edits, verification, ending, transcript, .. } = facts;
    let mode = if transcript.headless { "headless (nobody in front of it)" } else { "interactive, as far as recorded" };
    out.own("run: ").own(mode).own("\n");
    out.own("turns ").plain(prompts.turns).own(", tool calls ").plain(tools.tool_calls);
    out.own(", failed ").plain(tools.tool_errors.count());
    cite(&mut out, &tools.tool_errors.0);
    out.own("\n");
    let (added, removed) = files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    out.own("edits that worked ").plain(edits.edit_calls_ok.count()).own(", files ").plain(edits.files_edited);
    out.own(" (new: ").plain(edits.files_created).own("), net lines +").plain(added).own(" −").plain(removed).own("\n");
    runs(&mut out, facts);
    out.own("green run after the last source change: ").own(match verification.verified {
        Some(true) => "yes",
        Some(false) => "no",
        None => "no source file was changed by an edit tool",
    });
    out.own("\n");
    cited(&mut out, "the agent claims success in its own words (claims, not evidence)", &verification.claims);
    cited(&mut out, "claims with no green run behind them", &verification.unbacked_claims);
    cited(&mut out, "commits", &verification.git_commits);
    cited(&mut out, "stopped by the person", &prompts.interrupts);
    cited(&mut out, "context compacted, earlier details lost to the agent", &prompts.compactions_auto);
    for (words, cited_by) in [
        ("ended on a red run", &verification.ended_red),
        ("ended on a failure of the model's service", &ending.ended_on_api_error),
        ("ended with calls still open", &ending.ended_on_open_calls),
        ("ended on a tool's result, without an answer", &ending.ended_without_answer),
        ("ended by the person's stop", &ending.ended_on_interrupt),
        ("ended with the agent's answer", &ending.last_answer),
        ("errors after which nothing worked", &ending.unresolved_errors),
    ] {
        cited(&mut out, words, cited_by);
    }
    if ending.ended_on_question {
        out.own("ended with a question to the person\n");
    }
    if !greens.is_empty() {
        out.own("misleading signs of success:\n");
        for green in greens {
            out.own("- ").own(green.what.words());
            cite(&mut out, &green.events);
            out.own("\n");
        }
    }
    out.finish()
}

fn cited(out: &mut Compose, words: &'static str, events: &Cited) {
    if !events.is_empty() {
        out.own(words).own(": ").plain(events.count());
        cite(out, &events.0);
        out.own("\n");
    }
}

fn cite(out: &mut Compose, events: &[EventId]) {
    if events.is_empty() {
        return;
    }
    out.own(" (");
    let skipped = events.len().saturating_sub(NAMED);
    // The last ones say more about where things stand.
    for (at, id) in events.iter().skip(skipped).enumerate() {
        out.own(if at > 0 {
            " "
        } else if skipped > 0 {
            "… "
        } else {
            ""
        })
        .plain(*id);
    }
    out.own(")");
}

/// Test, build and linter runs in order, and where the last change lies between them.
fn runs(out: &mut Compose, facts: &Facts) {
    let verification = &facts.verification;
    let mut all: Vec<(EventId, &'static str, &'static str)> = Vec::new();
    let kinds: [(&Runs, &'static str); 3] =
        [(&verification.test_runs, "test"), (&verification.build_runs, "build"), (&verification.lint_runs, "lint")];
    for (runs, kind) in kinds {
        for (ids, result) in [(&runs.pass, "green"), (&runs.fail, "red"), (&runs.unknown, "unclear")] {
            all.extend(ids.iter().map(|id| (*id, kind, result)));
        }
    }
    all.sort_unstable();
    if all.is_empty() {
        out.own("test, build and lint runs: none\n");
        return;
    }
    let last_edit = facts.edits.edit_calls_ok.0.last().copied();
    out.own("runs in order: ");
    let skipped = all.len().saturating_sub(2 * NAMED);
    if skipped > 0 {
        out.own("(").plain(skipped).own(" earlier) ");
    }
    let mut edit_told = last_edit.is_none();
    for (at, (id, kind, result)) in all.iter().skip(skipped).enumerate() {
        if !edit_told && Some(*id) > last_edit {
            edit_told = true;
            if let Some(edit) = last_edit {
                out.own(if at > 0 { " | " } else { "" }).own("last edit ").plain(edit).own(" |");
            }
        } else if at > 0 {
            out.own(",");
        }
        out.own(if at > 0 || edit_told && last_edit.is_some() { " " } else { "" })
            .plain(*id)
            .own(" ")
            .own(kind)
            .own(" ")
            .own(result);
    }
    if let Some(edit) = last_edit.filter(|_| !edit_told) {
        out.own(" | last edit ").plain(edit).own(" | no run after it");
    }
    out.own("\n");
}
