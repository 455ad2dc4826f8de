//! `hotwash export`: a row per session, for other programs.

use super::{Context, project};
use crate::cli::{Export, Format};
use crate::errors::{Exit, Failure};
use crate::run::{Input, Run};
use crate::screen::stdout;
use crate::screen::text::words;
use crate::shapes;
use hotwash_core::facts::FactValue as _;
use hotwash_core::reports::oldest_first;
use hotwash_core::scores::{Overall, Reading, offline};
use hotwash_engine::stores::Row;
use std::fs;

pub(super) fn run(context: &Context<'_>, args: &Export) -> Result<Exit, Failure> {
    let run = Run::new(&context.settings, context.env, Input::Sources)?;
    let query = run.query(project(&args.select), args.subagents);
    let (_, mut rows) = run.sessions(&context.screen, args.select.until.as_deref(), &query)?;
    oldest_first(&mut rows);
    let exit = run.report();
    let page = args.part.page();
    let rows = page.of(&rows);
    let text = match args.format {
        Format::Jsonl => rows.iter().map(|row| shapes::session(row, &run, true).to_string() + "\n").collect(),
        Format::Csv => csv(rows, &run),
    };
    match &args.output {
        None => stdout(&text)?,
        Some(path) => fs::write(path, text)
            .map_err(|error| Failure::new(format!("cannot write {}", path.display())).cause(words(&error)))?,
    }
    Ok(exit)
}

/// The columns of every row; those of the rubric's dimensions follow, each as a number or empty.
const COLUMNS: &[&str] = &[
    "id",
    "kind",
    "project",
    "title",
    "from",
    "to",
    "overall",
    "tier",
    "tier_cap",
    "process",
    "active_seconds",
    "turns",
    "tool_calls",
    "tool_errors",
    "files_edited",
    "lines_added",
    "lines_removed",
    "verified",
    "tokens_input",
    "tokens_cache_creation",
    "tokens_cache_read",
    "tokens_output",
    "cost_usd",
    "cost_usd_with_subagents",
    "subagents",
    "models",
    "intent",
    "substance",
    "outcome",
    "outcome_status",
    "outcome_evidence",
    "outcome_judge",
    "reworked",
    "rework_share",
];

fn csv(rows: &[Row], run: &Run<'_>) -> String {
    let names = run.rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
    let mut out = record(COLUMNS.iter().map(|name| (*name).to_owned()).chain(names.map(str::to_owned)));
    for row in rows {
        let session = &row.session;
        let facts = session.facts.get();
        let at = |at: Option<hotwash_core::sessions::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
        let dollars = |cost: &hotwash_core::facts::Cost| match cost.json() {
            serde_json::Value::Null => String::new(),
            known => known.to_string(),
        };
        let share = |thousandths: u32| format!("{:.3}", f64::from(thousandths) / 1000.0);
        let grade = row.grade.as_ref().map(|grade| &grade.overall);
        let (tier, cap) = match grade {
            Some(Overall::Graded { tier, cap, .. }) => {
                (tier.clone(), cap.as_ref().map(|cap| format!("goal {}", cap.goal)).unwrap_or_default())
            }
            _ => Default::default(),
        };
        let tokens = &facts.tokens.tokens;
        // What the recording lost is not 0.
        let known = |fact: &str, n: u64| if facts.knows(fact) { n.to_string() } else { String::new() };
        let fields = vec![
            session.id.to_string(),
            session.kind.name().to_owned(),
            session.project.as_str().to_owned(),
            session.title.as_str().to_owned(),
            at(session.from),
            at(session.to),
            grade.and_then(Overall::thousandths).map(share).unwrap_or_default(),
            tier,
            cap,
            grade.and_then(Overall::process).map(share).unwrap_or_default(),
            facts.pace.active_seconds.to_string(),
            known("turns", facts.prompts.turns),
            known("tool_calls", facts.tools.tool_calls),
            known("tool_errors", facts.tools.tool_errors.count()),
            known("files_edited", facts.edits.files_edited),
            known("lines_added", facts.edits.lines_added),
            known("lines_removed", facts.edits.lines_removed),
            facts.verification.verified.map(|yes| yes.to_string()).unwrap_or_default(),
            known("tokens", tokens.input),
            known("tokens", tokens.cache_creation),
            known("tokens", tokens.cache_read),
            known("tokens", tokens.output),
            dollars(&facts.tokens.cost_usd),
            dollars(&row.with_subagents.cost),
            row.with_subagents.subagents.to_string(),
            facts.tokens.models.join(" "),
        ];
        let fields = fields.into_iter().chain(outcome(row));
        let value = |name: &str| {
            let score = row.grade.iter().flat_map(|grade| &grade.scores).find(|score| score.dimension == name);
            match score.map(|score| &score.reading) {
                Some(Reading::Scored { value, .. }) => format!("{:.3}", value.number()),
                _ => String::new(),
            }
        };
        let values = run.rubric.dimensions.iter().map(|dimension| value(&dimension.name));
        out.push_str(&record(fields.chain(values)));
    }
    out
}

/// What was wanted, whether it was reached, and whether later sessions took it back.
fn outcome(row: &Row) -> [String; 8] {
    let known = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let outcome = row.outcome.as_ref();
    let judge = match &row.judged {
        Some(judging) => &judging.provenance.judge,
        None => offline::JUDGE,
    };
    // Where it added lines and nothing is known of later, all of them are still there.
    let share = match &row.rework {
        Some(rework) => rework.share(),
        None => (row.session.facts.get().edits.lines_added > 0).then_some(0.0),
    };
    [
        known(outcome.map(|outcome| outcome.intended.intent.name())),
        known(outcome.map(|outcome| if outcome.substance.passes() { "true" } else { "false" })),
        known(outcome.map(|outcome| outcome.goal.name())),
        known(outcome.map(|outcome| outcome.status.name())),
        known(outcome.map(|outcome| outcome.evidence.name())),
        known(outcome.map(|_| judge)),
        row.rework.as_ref().is_some_and(|rework| rework.reworked).to_string(),
        share.map(|share| format!("{share:.3}")).unwrap_or_default(),
    ]
}

/// A record as RFC 4180 has it.
fn record(fields: impl Iterator<Item = String>) -> String {
    fields.map(|text| field(&text)).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A field, quoted where it must be. One that a spreadsheet would take for a formula gets an apostrophe in front.
fn field(text: &str) -> String {
    let formula =
        text.starts_with(['=', '+', '@', '\t', '\r']) || text.starts_with('-') && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (text, quoted) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("- a list", "'- a list"),
            ("-0.5", "-0.5"),
            ("", ""),
        ] {
            assert_eq!(field(text), quoted);
        }
    }
}
