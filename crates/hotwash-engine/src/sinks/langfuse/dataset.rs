//! Ground truth: a dataset with one item for each session that people labelled.

use super::labels::Annotation;
use crate::langfuse::{Client, DatasetItem, LangfuseError, ScoreValue, Subject};
use hotwash_core::hash::sha256;
use hotwash_core::labels::Label;
use hotwash_core::redaction::Redacted;
use hotwash_core::sessions::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What the dataset is called, unless somebody says otherwise.
pub const NAME: &str = "hotwash-ground-truth";

/// What became of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Sessions that people labelled.
    pub sessions: u64,
    /// Items that were there already.
    pub unchanged: u64,
    /// Items that were made or changed.
    pub written: u64,
}

/// What is known here of a session: its title and its summary.
pub type About<'a> = dyn Fn(&str) -> Option<(Redacted<String>, Redacted<String>)> + 'a;

/// Brings a dataset in line with the labels since a moment. What items know from before it stays.
pub fn keep(
    client: &Client,
    dataset: &str,
    labels: &[Annotation],
    since: Timestamp,
    about: &About<'_>,
) -> Result<Report, LangfuseError> {
    let mut sessions: BTreeMap<&str, Vec<&Annotation>> = BTreeMap::new();
    for annotation in labels {
        sessions.entry(&annotation.label.session).or_default().push(annotation);
    }
    let mut report = Report { sessions: sessions.len() as u64, ..Report::default() };
    if sessions.is_empty() {
        return Ok(report);
    }
    client.put_dataset(dataset, "Sessions that people labelled, to compare judges with")?;
    let there: BTreeMap<String, DatasetItem> =
        client.dataset_items(dataset)?.into_iter().map(|item| (item.id.clone(), item)).collect();
    for (session, labels) in sessions {
        let mut item = item(dataset, session, &labels, about(session));
        let known = there.get(&item.id);
        if let Some(known) = known {
            remember(&mut item, known, since);
        }
        // Somebody else may know more of it.
        if item.input["summary"].is_null()
            && let Some(known) = known
        {
            item.input = known.input.clone();
        }
        if known.is_some_and(|known| {
            (&known.input, &known.expected_output, &known.metadata)
                == (&item.input, &item.expected_output, &item.metadata)
        }) {
            report.unchanged += 1;
            continue;
        }
        client.put_dataset_item(dataset, &item)?;
        report.written += 1;
    }
    Ok(report)
}

fn item(
    dataset: &str,
    session: &str,
    labels: &[&Annotation],
    about: Option<(Redacted<String>, Redacted<String>)>,
) -> DatasetItem {
    let mut expected: BTreeMap<&str, &Label> = BTreeMap::new();
    for Annotation { label, .. } in labels {
        let known = expected.entry(label.about.name()).or_insert(label);
        // Where people differ the latest counts; all of them are in the metadata.
        if label.at > known.at {
            *known = label;
        }
    }
    let value = |label: &Label| ScoreValue::from(&label.value).json();
    let expected: Map<String, Value> =
        expected.into_iter().map(|(name, label)| (name.to_owned(), value(label))).collect();
    let mut who: Vec<&str> = labels.iter().filter_map(|annotation| annotation.label.author.as_deref()).collect();
    who.sort_unstable();
    who.dedup();
    let at = |label: &Label| label.at.map(|at| at.to_string());
    let all: Vec<Value> = labels
        .iter()
        .map(|Annotation { label, .. }| {
            json!({
                "name": label.about.name(), "value": value(label), "who": label.author, "at": at(label),
                "score": label.source.id,
            })
        })
        .collect();
    let trace = labels.iter().find_map(|annotation| match &annotation.subject {
        Subject::Trace(trace) | Subject::Observation { trace, .. } => Some(trace.clone()),
        _ => None,
    });
    let id = sha256(&[dataset.as_bytes(), b"\n", session.as_bytes()]);
    let (title, summary) = about.map_or((None, None), |(title, summary)| (Some(title), Some(summary)));
    DatasetItem {
        id: format!("hw-gt-{}", id.chars().take(26).collect::<String>()),
        input: json!({ "session_id": session, "title": title, "summary": summary }),
        expected_output: Value::Object(expected),
        metadata: json!({
            "labeled_by": who, "labeled_at": labels.iter().filter_map(|annotation| at(&annotation.label)).max(), "labels": all,
        }),
        source_trace_id: trace,
    }
}

/// Adds the labels of an item that are older than what was read, unless the same person has said something else since.
fn remember(item: &mut DatasetItem, known: &DatasetItem, since: Timestamp) {
    fn labels(item: &DatasetItem) -> Vec<Value> {
        item.metadata["labels"].as_array().cloned().unwrap_or_default()
    }
    let since = since.to_string();
    let now = labels(item);
    let said = |label: &Value| (label["name"].clone(), label["who"].clone());
    let mut older: Vec<Value> = labels(known);
    older.retain(|label| {
        let at = label["at"].as_str();
        at.is_some_and(|at| at < since.as_str()) && !now.iter().any(|newer| said(newer) == said(label))
    });
    if older.is_empty() {
        return;
    }
    // The latest last, so that it counts.
    older.sort_by(|a, b| a["at"].as_str().cmp(&b["at"].as_str()));
    let read: BTreeSet<String> = now.iter().map(|label| label["name"].to_string()).collect();
    let mut who: BTreeSet<String> = BTreeSet::new();
    for label in older.iter().chain(&now) {
        who.extend(label["who"].as_str().map(str::to_owned));
    }
    for label in &older {
        if let (Some(name), false) = (label["name"].as_str(), read.contains(&label["name"].to_string())) {
            item.expected_output[name] = label["value"].clone();
        }
    }
    older.extend(now);
    item.metadata["labels"] = Value::Array(older);
    item.metadata["labeled_by"] = json!(who);
}
