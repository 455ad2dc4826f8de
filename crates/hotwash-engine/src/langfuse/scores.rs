//! Scores: written in batches, read back by id, deleted one by one. That one was taken does not say that it is kept.

use super::client::Paging;
use super::wire::{Query, encoded};
use super::{Client, LangfuseError, Window};
use crate::net::http::Method;
use hotwash_core::hash::sha256;
use hotwash_core::labels;
use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a score is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A session, by Langfuse's id.
    Session(String),
    /// A trace.
    Trace(String),
    /// An observation of a trace.
    Observation {
        /// The trace.
        trace: String,
        /// The observation.
        id: String,
    },
    /// Something else.
    Other,
}

/// What scores are asked for by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Sessions.
    Sessions,
    /// Traces, and what is in them.
    Traces,
}

impl On {
    fn parameter(self) -> &'static str {
        match self {
            On::Sessions => "sessionId",
            On::Traces => "traceId",
        }
    }
}

/// A score's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreValue {
    /// A number.
    Number(f64),
    /// One of some labels.
    Label(String),
    /// Yes or no.
    Bool(bool),
}

impl ScoreValue {
    /// What Langfuse calls the type.
    pub fn data_type(&self) -> &'static str {
        match self {
            ScoreValue::Number(_) => "NUMERIC",
            ScoreValue::Label(_) => "CATEGORICAL",
            ScoreValue::Bool(_) => "BOOLEAN",
        }
    }

    /// As it is written: yes and no are numbers.
    pub fn json(&self) -> Value {
        match self {
            ScoreValue::Number(number) => json!(number),
            ScoreValue::Label(label) => json!(label),
            ScoreValue::Bool(yes) => json!(u8::from(*yes)),
        }
    }
}

impl From<ScoreValue> for labels::Value {
    fn from(value: ScoreValue) -> labels::Value {
        match value {
            ScoreValue::Number(number) => labels::Value::Number(number),
            ScoreValue::Label(label) => labels::Value::Level(label),
            ScoreValue::Bool(yes) => labels::Value::Holds(yes),
        }
    }
}

impl From<&labels::Value> for ScoreValue {
    fn from(value: &labels::Value) -> ScoreValue {
        match value {
            labels::Value::Number(number) => ScoreValue::Number(*number),
            labels::Value::Level(level) => ScoreValue::Label(level.clone()),
            labels::Value::Holds(yes) => ScoreValue::Bool(*yes),
        }
    }
}

/// A score to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewScore {
    /// Whoever writes another one under this id replaces it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: ScoreValue,
    /// What it is about.
    pub subject: Subject,
    /// The config it keeps to.
    pub config: Option<String>,
    /// Why.
    pub comment: Option<String>,
    /// Where it comes from. Keys that were there before stay, so every key is named every time.
    pub metadata: Value,
    /// The environment of what it is about; none for the server's default.
    pub environment: Option<String>,
    /// Of two under one id the later one counts.
    pub at: Timestamp,
}

impl NewScore {
    fn body(&self) -> Value {
        let mut body = json!({
            "id": self.id, "name": self.name, "value": self.value.json(), "dataType": self.value.data_type(),
            "comment": self.comment, "metadata": self.metadata,
        });
        match &self.subject {
            Subject::Session(id) => body["sessionId"] = json!(id),
            Subject::Trace(id) => body["traceId"] = json!(id),
            Subject::Observation { trace, id } => (body["traceId"], body["observationId"]) = (json!(trace), json!(id)),
            Subject::Other => {}
        }
        if let Some(config) = &self.config {
            body["configId"] = json!(config);
        }
        if let Some(environment) = &self.environment {
            body["environment"] = json!(environment);
        }
        body
    }

    /// As an event; the same score has the same id as often as it is sent.
    fn event(&self) -> Value {
        let (body, at) = (self.body(), self.at.to_string());
        let id = sha256(&[body.to_string().as_bytes(), at.as_bytes()]);
        json!({ "id": id, "type": "score-create", "timestamp": at, "body": body })
    }
}

/// A score as it is kept there.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredScore {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its value; none for kinds that say nothing here.
    pub value: Option<ScoreValue>,
    /// `API`, `ANNOTATION` or `EVAL`.
    pub source: String,
    /// When.
    pub at: Option<Timestamp>,
    /// Why.
    pub comment: Option<String>,
    /// The config it keeps to.
    pub config: Option<String>,
    /// Where it comes from.
    pub metadata: Value,
    /// What it is about.
    pub subject: Subject,
    /// The person who gave it.
    pub author: Option<String>,
}

/// A score as either generation of reads words it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    name: String,
    #[serde(default)]
    value: Value,
    string_value: Option<String>,
    #[serde(default)]
    data_type: String,
    #[serde(default)]
    source: String,
    timestamp: Option<String>,
    comment: Option<String>,
    config_id: Option<String>,
    #[serde(default)]
    metadata: Value,
    author_user_id: Option<String>,
    subject: Option<WireSubject>,
    trace_id: Option<String>,
    session_id: Option<String>,
    observation_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSubject {
    kind: String,
    id: String,
    trace_id: Option<String>,
}

impl From<Wire> for StoredScore {
    fn from(wire: Wire) -> StoredScore {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let subject = match wire.subject {
            Some(WireSubject { kind, id, trace_id }) => match kind.as_str() {
                "session" => Subject::Session(id),
                "trace" => Subject::Trace(id),
                "observation" => Subject::Observation { trace: trace_id.unwrap_or_default(), id },
                _ => Subject::Other,
            },
            None => match (some(wire.session_id), some(wire.trace_id), some(wire.observation_id)) {
                (_, Some(trace), Some(id)) => Subject::Observation { trace, id },
                (_, Some(trace), None) => Subject::Trace(trace),
                (Some(session), None, _) => Subject::Session(session),
                _ => Subject::Other,
            },
        };
        let value = match wire.data_type.as_str() {
            "NUMERIC" => wire.value.as_f64().map(ScoreValue::Number),
            "BOOLEAN" => {
                wire.value.as_bool().or_else(|| wire.value.as_f64().map(|value| value != 0.0)).map(ScoreValue::Bool)
            }
            "CATEGORICAL" => {
                wire.string_value.or_else(|| wire.value.as_str().map(str::to_owned)).map(ScoreValue::Label)
            }
            _ => None,
        };
        StoredScore {
            id: wire.id,
            name: wire.name,
            value,
            source: wire.source,
            at: wire.timestamp.and_then(|at| Timestamp::parse(at.as_bytes())),
            comment: some(wire.comment),
            config: some(wire.config_id),
            metadata: wire.metadata,
            subject,
            author: some(wire.author_user_id),
        }
    }
}

/// A score that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its id.
    pub id: String,
    /// What the server said.
    pub why: String,
}

#[derive(Deserialize)]
struct Ingested {
    #[serde(default)]
    errors: Vec<IngestError>,
}

#[derive(Deserialize)]
struct IngestError {
    id: String,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    error: Value,
}

/// How many scores go into one request, and how many bytes.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 900_000;
/// How many go into one array of the newer kind of request.
const ARRAY: usize = 15;
/// How many ids are asked for at once: more would make the address too long. Twice as many as fit on a page.
const IDS: usize = 200;
/// How often events are sent again that the server failed on.
const AGAIN: u32 = 3;

/// How many sessions or traces are asked about together, and how many letters their ids may have.
const SUBJECTS: usize = 50;
const LETTERS: usize = 2_000;

/// The ways to write scores, in the order in which they are tried.
const INGESTION: u8 = 0;
const ARRAYS: u8 = 1;
const ONE_BY_ONE: u8 = 2;

impl Client {
    /// Writes scores, as many at once as the server takes. What comes back was refused; the rest is queued there.
    pub fn put_scores(&self, scores: &[NewScore]) -> Result<Vec<Refused>, LangfuseError> {
        let mut refused = Vec::new();
        let mut rest = scores;
        while !rest.is_empty() {
            match self.way.load(Ordering::Relaxed) {
                INGESTION => {
                    let (batch, after) = rest.split_at(batch_len(rest));
                    match self.ingest(batch, &mut refused) {
                        Ok(()) => rest = after,
                        // Servers to come may not have it any more.
                        Err(error) if error.is_missing() => self.way.store(ARRAYS, Ordering::Relaxed),
                        Err(error) => return Err(error),
                    }
                }
                ARRAYS => {
                    let (batch, after) = rest.split_at(rest.len().min(ARRAY));
                    match self.post_array(batch, &mut refused) {
                        Ok(()) => rest = after,
                        Err(error) if error.status == Some(400) => self.way.store(ONE_BY_ONE, Ordering::Relaxed),
                        Err(error) => return Err(error),
                    }
                }
                _ => {
                    let Some((score, after)) = rest.split_first() else { break };
                    match self.send::<Value>(Method::Post, "/scores", Some(score.body().to_string().as_bytes())) {
                        Err(error) if error.status == Some(400) => {
                            refused.push(Refused { id: score.id.clone(), why: error.message });
                        }
                        done => {
                            done?;
                        }
                    }
                    rest = after;
                }
            }
        }
        Ok(refused)
    }

    fn ingest(&self, batch: &[NewScore], refused: &mut Vec<Refused>) -> Result<(), LangfuseError> {
        let mut events: Vec<(Value, &NewScore)> = batch.iter().map(|score| (score.event(), score)).collect();
        for round in 0.. {
            let body = json!({ "batch": events.iter().map(|(event, _)| event).collect::<Vec<_>>() }).to_string();
            let answer: Ingested = match self.send(Method::Post, "/ingestion", Some(body.as_bytes())) {
                Err(error) if error.status == Some(413) && batch.len() > 1 => {
                    let (left, right) = batch.split_at(batch.len() / 2);
                    self.ingest(left, refused)?;
                    return self.ingest(right, refused);
                }
                answer => answer?,
            };
            let again: HashSet<&str> = answer
                .errors
                .iter()
                .filter(|error| (error.status >= 500 || error.status == 429) && round < AGAIN)
                .map(|error| error.id.as_str())
                .collect();
            for error in answer.errors.iter().filter(|error| !again.contains(error.id.as_str())) {
                let of = events.iter().find(|(event, _)| event["id"] == json!(error.id));
                let id = of.map_or_else(|| error.id.clone(), |(_, score)| score.id.clone());
                let more = error.error.as_str().map_or_else(|| error.error.to_string(), str::to_owned);
                let said = format!("{} {}: {more}", error.status, error.message.as_deref().unwrap_or_default());
                refused.push(Refused { id, why: crate::net::http::shown(&said) });
            }
            if again.is_empty() {
                return Ok(());
            }
            events.retain(|(event, _)| event["id"].as_str().is_some_and(|id| again.contains(id)));
            let what = format!("{} could not take {} scores", self.host(), events.len());
            self.pause(&what, Duration::from_secs(1 << round))?;
        }
        Ok(())
    }

    /// The newer way: an array. What it refuses it does not name, so those are sent one by one and asked about each.
    fn post_array(&self, batch: &[NewScore], refused: &mut Vec<Refused>) -> Result<(), LangfuseError> {
        let with_time = |score: &NewScore| {
            let mut body = score.body();
            body["timestamp"] = json!(score.at.to_string());
            body
        };
        let body = |scores: &[NewScore]| json!(scores.iter().map(with_time).collect::<Vec<_>>()).to_string();
        let answer: Value = self.send(Method::Post, "/scores", Some(body(batch).as_bytes()))?;
        if answer["rejected"].as_u64().unwrap_or(0) == 0 {
            return Ok(());
        }
        if let [score] = batch {
            let why = crate::net::http::shown(&answer["errors"].to_string());
            refused.push(Refused { id: score.id.clone(), why });
            return Ok(());
        }
        batch.iter().try_for_each(|score| self.post_array(std::slice::from_ref(score), refused))
    }

    /// The scores under these ids, as far as they are there.
    pub fn scores_by_id(&self, ids: &[String]) -> Result<Vec<StoredScore>, LangfuseError> {
        let mut found = Vec::new();
        for ids in ids.chunks(IDS) {
            let list = ids.join(",");
            self.scores(Query::default(), ("id", "scoreIds", &list), &mut |score| found.push(score))?;
        }
        Ok(found)
    }

    /// Scores that people gave in a stretch of time.
    pub fn human_scores(&self, window: Window, each: &mut dyn FnMut(StoredScore)) -> Result<(), LangfuseError> {
        self.scores(within(window), ("source", "source", "ANNOTATION"), each)
    }

    /// Scores of one name that programs gave in a stretch of time.
    pub fn scores_named(
        &self,
        name: &str,
        window: Window,
        each: &mut dyn FnMut(StoredScore),
    ) -> Result<(), LangfuseError> {
        self.scores(within(window).with("source", "API"), ("name", "name", name), each)
    }

    /// Scores that programs gave to these sessions or traces, in a stretch of time or at any.
    pub fn scores_on(
        &self,
        on: On,
        ids: &[&str],
        window: Option<Window>,
        each: &mut dyn FnMut(StoredScore),
    ) -> Result<(), LangfuseError> {
        let query = || window.map_or_else(Query::default, within).with("source", "API");
        let by = on.parameter();
        // Ids stand in a list with commas.
        let ids: Vec<&str> = ids.iter().copied().filter(|id| !id.contains(',')).collect();
        let mut rest = ids.as_slice();
        while !rest.is_empty() {
            let mut letters = 0;
            let fits = rest.iter().take(SUBJECTS).take_while(|id| {
                letters += id.len();
                letters <= LETTERS
            });
            // The older reads take one at a time.
            let older = self.older_scores.load(Ordering::Relaxed);
            let (batch, after) = rest.split_at(if older { 1 } else { fits.count().max(1) });
            let list = batch.join(",");
            self.scores(query(), (by, by, &list), each)?;
            if older || !self.older_scores.load(Ordering::Relaxed) {
                rest = after;
            }
        }
        Ok(())
    }

    /// Goes through scores; `by` is how the newer and the older reads call a parameter, and its value.
    fn scores(
        &self,
        query: Query,
        by: (&str, &str, &str),
        each: &mut dyn FnMut(StoredScore),
    ) -> Result<(), LangfuseError> {
        let (new, old, value) = by;
        let mut read = |raw: Box<serde_json::value::RawValue>| {
            // A kind of score that is not known yet is nothing of ours.
            if let Ok(wire) = serde_json::from_str::<Wire>(raw.get()) {
                each(wire.into());
            }
            Ok(ControlFlow::Continue(()))
        };
        if !self.older_scores.load(Ordering::Relaxed) {
            let query = query.clone().with(new, value).with("fields", "details,subject,annotation");
            match self.pages(("/v3/scores", &query), Paging::Cursor, 100, &mut read) {
                Err(error) if error.is_missing() => self.older_scores.store(true, Ordering::Relaxed),
                done => return done,
            }
        }
        self.pages(("/v2/scores", &query.with(old, value)), Paging::Number, 100, &mut read)
    }

    /// Deletes a score; one that is not there is as good as deleted.
    pub fn delete_score(&self, id: &str) -> Result<(), LangfuseError> {
        match self.send::<Value>(Method::Delete, &format!("/scores/{}", encoded(id)), None) {
            Err(error) if error.status == Some(404) => Ok(()),
            done => done.map(|_| ()),
        }
    }
}

/// By a score's own time.
fn within(window: Window) -> Query {
    Query::default().with("fromTimestamp", window.from.to_string()).with("toTimestamp", window.to.to_string())
}

/// How many of these go into one request.
fn batch_len(scores: &[NewScore]) -> usize {
    let mut bytes = 0;
    let fits = scores.iter().take(BATCH).take_while(|score| {
        bytes += score.event().to_string().len() + 1;
        bytes <= BATCH_BYTES
    });
    fits.count().max(1)
}
