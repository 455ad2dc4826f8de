//! What people say of sessions in Langfuse, read back as labels.

use crate::langfuse::{Client, LangfuseError, ObservationQuery, Reads, StoredScore, Subject, Window};
use hotwash_core::labels::{About, Label, Source};
use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// A label, and what the person looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The label; its session is Langfuse's.
    pub label: Label,
    /// What it is on.
    pub subject: Subject,
}

/// Labels, and what was no label.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// One for each person, session and name, in that order.
    pub all: Vec<Annotation>,
    /// Annotations that a program wrote: nobody is named.
    pub unsigned: u64,
    /// Annotations of something that is in no session.
    pub homeless: u64,
}

/// Reads the labels of a stretch of time. A program can write annotations too, but nobody's name; those are taken only
/// where that is wanted.
pub fn labels(client: &Client, window: Window, unsigned: bool) -> Result<Labels, LangfuseError> {
    let mut labels = Labels::default();
    let mut scores: Vec<StoredScore> = Vec::new();
    client.human_scores(window, &mut |score| {
        if score.author.is_some() || unsigned {
            scores.push(score);
        } else {
            labels.unsigned += 1;
        }
    })?;
    let traces: BTreeSet<String> = scores.iter().filter_map(|score| trace_of(&score.subject)).collect();
    let sessions = sessions_of(client, &traces, window)?;
    for score in scores {
        let session = match (&score.subject, trace_of(&score.subject)) {
            (Subject::Session(session), _) => Some(session.clone()),
            (_, Some(trace)) => sessions.get(&trace).cloned(),
            _ => None,
        };
        let (Some(session), Some(value)) = (session, score.value) else {
            labels.homeless += 1;
            continue;
        };
        let StoredScore { id, name, at, comment, subject, author, .. } = score;
        let source = Source { system: "langfuse".into(), id };
        let (about, value) = (About::named(name), value.into());
        labels.all.push(Annotation { label: Label { session, about, value, author, at, comment, source }, subject });
    }
    let of = |label: &Label| (label.session.clone(), label.about.name().to_owned(), label.author.clone());
    labels.all.sort_by_key(|Annotation { label, .. }| (of(label), label.at, label.source.id.clone()));
    // Of several by one person on one thing the last one counts.
    labels.all.reverse();
    labels.all.dedup_by(|a, b| of(&a.label) == of(&b.label));
    labels.all.reverse();
    Ok(labels)
}

fn trace_of(subject: &Subject) -> Option<String> {
    match subject {
        Subject::Trace(trace) | Subject::Observation { trace, .. } => Some(trace.clone()),
        _ => None,
    }
}

/// How long before it was labelled a session may have been recorded.
const BEFORE_MS: i64 = 90 * 86_400_000;
/// How many traces are asked about at once.
const TRACES: usize = 50;

/// The sessions that traces belong to.
fn sessions_of(
    client: &Client,
    traces: &BTreeSet<String>,
    window: Window,
) -> Result<BTreeMap<String, String>, LangfuseError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Trace {
        session_id: Option<String>,
    }
    let mut known = BTreeMap::new();
    let traces: Vec<String> = traces.iter().cloned().collect();
    if client.reads() == Reads::Legacy {
        for trace in traces {
            let found = client.legacy_trace(&trace)?;
            let found = found.and_then(|raw| serde_json::from_str::<Trace>(raw.get()).ok());
            if let Some(session) = found.and_then(|found| found.session_id).filter(|session| !session.is_empty()) {
                known.insert(trace, session);
            }
        }
        return Ok(known);
    }
    let window = Window { from: Timestamp(window.from.0 - BEFORE_MS), to: window.to };
    for traces in traces.chunks(TRACES) {
        let query = ObservationQuery { traces, in_a_session: true, ..ObservationQuery::new(window, "core,basic") };
        client.observations(&query, &mut |row| {
            if let (Some(trace), Some(session)) = (row.trace, row.session) {
                known.insert(trace, session);
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(known)
}
