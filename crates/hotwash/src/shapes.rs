//! Sessions as machines read them. `docs/json.md` describes every key; a change here is a change there.

use crate::commands::rework;
use crate::judge::{Judged, Topics};
use crate::run::Run;
use hotwash_core::facts::{Cost, FactValue as _, Tokens};
use hotwash_core::outcomes::{self, Booleans, Outcome};
use hotwash_core::prices::Picodollars;
use hotwash_core::reports::{Counts, Page, Window};
use hotwash_core::scores::{Overall, Reading, Score, Value as ScoreValue, offline};
use hotwash_core::sessions::{EventId, Timestamp};
use hotwash_core::verdicts;
use hotwash_engine::stores::{Judging, Row, StoredPart};
use serde_json::{Map, Value, json};

/// The version of everything here. It goes up when a key changes its meaning or goes away.
pub(crate) const VERSION: u32 = 1;

/// A session with its scores; with its facts where they are wanted.
pub(crate) fn session(row: &Row, run: &Run<'_>, facts: bool) -> Value {
    let session = &row.session;
    let own = &session.facts.get().tokens;
    let counted = session.facts.get().knows("tokens");
    let mut shape = json!({
        "id": session.id,
        "recorded_id": session.recorded,
        "kind": session.kind,
        "project": session.project,
        "title": session.title,
        "from": moment(session.from),
        "to": moment(session.to),
        "open": session.open,
        "transcript": run.shown_path(&row.path),
        "overall": row.grade.as_ref().map_or(Value::Null, |grade| overall(&grade.overall)),
        "process": row.grade.as_ref().and_then(|grade| grade.overall.process()),
        "scores": row.grade.as_ref().map_or_else(Vec::new, |grade| grade.scores.iter().map(score).collect()),
        "usage": {
            "own": usage(counted.then_some(&own.tokens), &own.cost_usd),
            "with_subagents": usage(counted.then_some(&row.with_subagents.tokens), &row.with_subagents.cost),
            "subagents": row.with_subagents.subagents,
        },
    });
    shape["summary"] = json!(session.summary);
    shape["outcome"] = row.outcome.as_ref().map_or(Value::Null, |outcome| self::outcome(outcome, row));
    shape["rework"] = rework::shape(row);
    shape["flags"] = json!(row.grade.as_ref().map(|grade| &grade.flags));
    shape["judged"] = row.judged.as_ref().map_or(Value::Null, judged);
    shape["parts"] = run.store.parts(row).unwrap_or_default().iter().map(|part| self::part(part, run)).collect();
    if facts {
        shape["facts"] = Value::Object(session.facts.to_json());
    }
    shape
}

/// Whether a session reached its goal.
fn outcome(outcome: &Outcome, row: &Row) -> Value {
    let events = |events: &[EventId]| events.iter().map(ToString::to_string).collect::<Vec<_>>();
    let booleans = booleans(row);
    let seven: Map<String, Value> = booleans
        .all()
        .into_iter()
        .map(|(name, held)| {
            let reason = &held.reason;
            (name.to_owned(), json!({ "holds": held.holds, "reason": reason.text, "events": events(&reason.events) }))
        })
        .collect();
    json!({
        "intent": outcome.intended.intent,
        "intent_confidence": outcome.intended.confidence,
        "substance": outcome.substance.passes(),
        "status": outcome.status,
        "goal": outcome.goal,
        "goal_complete": outcome.goal_complete(),
        "evidence": outcome.evidence,
        "confidence": outcome.confidence,
        "probability": outcome.probability,
        "flags": outcome.flags,
        "reasons": outcome.reasons.iter().map(|reason| json!({
            "fact": reason.fact, "text": reason.text, "events": events(&reason.events),
        })).collect::<Vec<_>>(),
        "booleans": seven,
        "letter": booleans.letter(),
        "version": outcomes::VERSION,
    })
}

/// The seven questions: as facts answer them, and a judge where it was asked.
pub(crate) fn booleans(row: &Row) -> Booleans {
    let facts = Booleans::of(row.session.facts.get());
    match &row.judged {
        Some(judging) => verdicts::booleans(&facts, judging.intent.as_ref(), judging.verdict.as_ref()),
        None => facts,
    }
}

/// Who judged a session, and what they found.
fn judged(judging: &Judging) -> Value {
    let Judging { provenance, at, calls, cost, tokens, flags, coverage, complete, lack, intent, verdict } = judging;
    json!({
        "judge": provenance.judge,
        "judge_version": provenance.judge_version,
        "model": provenance.model,
        "prompt_hash": provenance.prompt_hash,
        "at": moment(Some(*at)),
        "calls": calls,
        "tokens": tokens,
        "cost_usd": cost.map(Picodollars::dollars),
        "flags": flags,
        "coverage": coverage,
        "complete": complete,
        "lack": lack.as_ref().map(|lack| &lack.reason),
        "intent": intent,
        "verdict": verdict,
    })
}

/// What a run of judging came to, and what was expected of it.
pub(crate) fn judging(judged: &Judged) -> Value {
    let Judged { report, estimate, .. } = judged;
    json!({
        "topics": judged.topics.as_ref().map(|Topics { report, recut }| json!({
            "transcripts": report.found,
            "asked": report.judged,
            "asked_before": report.before,
            "waiting": report.waits,
            "skipped": report.skipped,
            "failed": report.failed,
            "recut": recut,
        })),
        "estimate": {
            "sessions": estimate.sessions,
            "transcripts": estimate.transcripts,
            "calls": estimate.calls,
            "tokens": estimate.tokens,
            "usd": estimate.probably.map(Picodollars::dollars),
            "usd_at_most": estimate.at_most.map(Picodollars::dollars),
        },
        "found": report.found,
        "judged": report.judged,
        "judged_before": report.before,
        "skipped": report.skipped,
        "failed": report.failed,
        "partial": report.partial,
        "waiting": report.waiting,
        "sessions_waiting": report.waits,
        "flagged": report.flagged,
        "calls": report.calls,
        "cached": report.cached,
        "requests": report.requests,
        "tokens": report.tokens,
        "spent_usd": report.spent.dollars(),
        "perhaps_usd": report.perhaps.dollars(),
        "unpriced_calls": report.unpriced,
        "ended_early": report.ended,
    })
}

/// A piece of a session.
fn part(part: &StoredPart, run: &Run<'_>) -> Value {
    json!({
        "id": part.id,
        "recorded_id": part.recorded,
        "transcript": run.shown_path(&part.path),
        "lines": part.lines,
        "opened": part.opened.name(),
        "why": part.opened.to_string(),
        "joined": part.joined.as_ref().map(ToString::to_string),
        "topic": run.topic(part).map(|topic| json!({
            "judge": topic.judge,
            "model": topic.model,
            "prompt_hash": topic.prompt_hash,
            "at": moment(Some(topic.at)),
            "sure": topic.sure.map(|sure| f64::from(sure) / 1000.0),
            "reason": topic.reason,
        })),
    })
}

/// What a run worked with and what became of what it found.
pub(crate) fn head(run: &Run<'_>, window: &Window, counts: &Counts) -> Value {
    json!({
        "version": VERSION,
        "window": { "since": moment(window.since), "until": moment(window.until) },
        "rubric": { "id": run.rubric.id(), "hash": run.rubric.hash() },
        "judge": { "name": offline::JUDGE, "version": offline::VERSION },
        "example": run.example,
        "counts": {
            "found": counts.found,
            "graded": counts.graded,
            "suspected": counts.suspected,
            "skipped": counts.skipped,
            "failed": counts.failed,
            "kept": counts.kept,
        },
        "warnings": {
            "malformed_lines": counts.reading.malformed_lines,
            "oversized_lines": counts.reading.oversized_lines,
        },
    })
}

fn overall(overall: &Overall) -> Value {
    match overall {
        Overall::Graded { thousandths, tier, cap, present, .. } => json!({
            "thousandths": thousandths, "tier": tier, "cap": cap, "dimensions": present,
        }),
        Overall::Process { .. } | Overall::TooFew { .. } => Value::Null,
    }
}

fn score(score: &Score) -> Value {
    match &score.reading {
        Reading::Scored { value, start, items, confidence, spread } => {
            let items: Vec<Value> = items
                .iter()
                .map(|item| {
                    let events: Vec<String> = item.events.iter().map(ToString::to_string).collect();
                    json!({ "amount": item.amount, "reason": item.reason, "fact": item.fact, "events": events })
                })
                .collect();
            let mut shape = json!({
                "dimension": score.dimension, "value": value.number(), "start": start, "items": items,
            });
            if let ScoreValue::Level { label, .. } = value {
                shape["label"] = json!(label);
            }
            if let Some(confidence) = confidence {
                shape["confidence"] = json!(confidence);
            }
            if let Some(spread) = spread {
                shape["spread"] = json!(spread);
            }
            shape
        }
        Reading::Unscored { why, reason } => {
            json!({ "dimension": score.dimension, "unscored": why, "reason": reason })
        }
    }
}

fn usage(tokens: Option<&Tokens>, cost: &Cost) -> Value {
    let (dollars, at_least) = (cost.json(), cost.partial);
    json!({ "tokens": tokens, "cost_usd": dollars, "cost_is_at_least": at_least, "unpriced_models": cost.unpriced })
}

/// Which part of a list a document holds.
pub(crate) fn page(page: Page, all: usize) -> Value {
    json!({ "offset": page.offset, "limit": page.limit, "rows": all })
}

/// A moment in UTC, or null.
pub(crate) fn moment(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| Value::String(at.to_string()))
}

/// A document, ready to be printed.
pub(crate) fn document(value: &Value) -> String {
    // Values made of numbers and texts can always be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
