//! A stand-in for Langfuse, in this process: it keeps scores, configs and datasets as the real one does, drops what does
//! not fit a config without a word, queues deletions and carries them out later, and fails where it is told to.

use crate::langfuse::{Client, Config};
use crate::net::testing::{Does, Got, KEY, Server, says, world};
use crate::net::{Key, World};
use hotwash_core::sessions::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// When a request fails.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Before anything was done.
    Before(Does),
    /// After it was done: only the answer is lost.
    After(Does),
}

/// What it is, and what is in it.
#[derive(Default)]
pub(super) struct State {
    /// By id.
    pub(super) scores: BTreeMap<String, Value>,
    /// Ids whose deletion is queued.
    pub(super) deletions: Vec<String>,
    /// Every id whose deletion was asked for.
    deleted: HashSet<String>,
    /// Ids that were written after their deletion was asked for.
    pub(super) reused: Vec<String>,
    /// The latest event of each score.
    events: HashMap<String, Timestamp>,
    /// In the order they were made.
    pub(super) configs: Vec<Value>,
    /// By id.
    pub(super) items: BTreeMap<String, Value>,
    /// Traces: id, session, time.
    pub(super) traces: Vec<(String, String, String)>,
    /// Their first spans have a parent that is nowhere, and do not say that they are roots.
    pub(super) rootless: bool,
    /// The environment of all traces.
    pub(super) environment: String,
    /// Writes that changed something.
    pub(super) changes: u64,
    /// `v2/observations` is not there.
    pub(super) old_reads: bool,
    /// Nor is `v3/scores`.
    pub(super) old_scores: bool,
    /// `ingestion` is not there.
    pub(super) no_ingestion: bool,
    /// `POST /scores` takes arrays.
    pub(super) takes_arrays: bool,
    /// Scores of this name are taken and dropped.
    pub(super) drops: Option<String>,
    /// What fails: requests that begin so, how often, and how.
    pub(super) faults: Vec<(String, u32, Fault)>,
    /// Stops the run after so many requests.
    pub(super) stops: Option<(usize, World)>,
}

/// The stand-in.
pub(super) struct Fake {
    pub(super) state: Arc<Mutex<State>>,
    server: Server,
}

impl Fake {
    pub(super) fn start() -> Fake {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let server = Server::start(move |got, before| {
            let mut state = shared.lock().unwrap();
            if let Some((after, world)) = &state.stops
                && before >= *after
            {
                world.stop.store(true, Ordering::SeqCst);
            }
            let request = format!("{} {}", got.method, got.path);
            let fault =
                state.faults.iter_mut().find(|(what, times, _)| request.starts_with(what.as_str()) && *times > 0);
            let fault = fault.map(|(_, times, fault)| {
                *times -= 1;
                fault.clone()
            });
            match fault {
                Some(Fault::Before(does)) => does,
                Some(Fault::After(does)) => {
                    state.answer(got);
                    does
                }
                None => state.answer(got),
            }
        });
        Fake { state, server }
    }

    /// A client, in a world where nobody waits.
    pub(super) fn client(&self) -> Client {
        self.client_in(world().0)
    }

    pub(super) fn client_in(&self, world: World) -> Client {
        Client::connect(self.config(), world).unwrap()
    }

    pub(super) fn config(&self) -> Config {
        Config::new(&self.server.base, Key::new("pk-lf-test"), Key::new(KEY))
    }

    /// Every byte it got.
    pub(super) fn bytes(&self) -> String {
        let got = self.server.got();
        got.iter().fold(String::new(), |all, got| {
            format!("{all}{} {}\n{}\n", got.method, got.path, String::from_utf8_lossy(&got.body))
        })
    }

    /// How often something was asked for.
    pub(super) fn asked(&self, request: &str) -> usize {
        let got = self.server.got();
        got.iter().filter(|got| format!("{} {}", got.method, got.path).starts_with(request)).count()
    }

    /// Scores by id, without what changes from run to run.
    pub(super) fn scores(&self) -> BTreeMap<String, Value> {
        let strip = |score: &Value| {
            let mut score = score.clone();
            if let Some(metadata) = score["metadata"].as_object_mut() {
                metadata.remove("revision");
            }
            score.as_object_mut().map(|score| score.remove("timestamp"));
            // Ids of configs are made up by the server.
            score["configId"] = json!(score["configId"].is_string());
            score
        };
        self.state.lock().unwrap().scores.iter().map(|(id, score)| (id.clone(), strip(score))).collect()
    }

    /// The scores that are not about to be deleted.
    pub(super) fn staying(&self) -> BTreeMap<String, Value> {
        let mut scores = self.scores();
        scores.retain(|_, score| score["metadata"]["withdrawn"].is_null());
        scores
    }

    /// Carries out the deletions that are queued: whatever has those ids now is gone. No id may have been written again.
    pub(super) fn delete(&self) {
        let mut state = self.state.lock().unwrap();
        for id in std::mem::take(&mut state.deletions) {
            state.scores.remove(&id);
        }
        assert_eq!(state.reused, Vec::<String>::new());
    }

    pub(super) fn changes(&self) -> u64 {
        self.state.lock().unwrap().changes
    }
}

fn decoded(text: &str) -> String {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let hex: String = bytes.by_ref().take(2).map(char::from).collect();
            out.extend(u8::from_str_radix(&hex, 16));
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).unwrap()
}

impl State {
    fn answer(&mut self, got: &Got) -> Does {
        let (path, query) = got.path.split_once('?').unwrap_or((&got.path, ""));
        let path = path.strip_prefix("/api/public").unwrap_or(path).to_owned();
        let query: HashMap<String, String> =
            query.split('&').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.into(), decoded(v))).collect();
        let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
        if path != "/health" && !got.headers.get("authorization").is_some_and(|key| key.starts_with("Basic ")) {
            return says(401, r#"{"message":"No authorization header"}"#);
        }
        let (status, body) = self.route(&got.method, &path, &query, &body);
        says(status, &body.to_string())
    }

    fn route(&mut self, method: &str, path: &str, query: &HashMap<String, String>, body: &Value) -> (u16, Value) {
        let missing = || (404, json!({ "message": "not available in events_only mode" }));
        match (method, path) {
            ("GET", "/health") => (200, json!({ "status": "OK", "version": "9.9.9" })),
            ("GET", "/v2/datasets") => (200, json!({ "data": [], "meta": {} })),
            ("GET", "/projects") => (200, json!({ "data": [{ "id": "p", "name": "test" }] })),
            ("GET", "/v2/observations") if !self.old_reads => (200, json!({ "data": self.roots(query), "meta": {} })),
            ("GET", "/traces") if self.old_reads => {
                let all = self
                    .traces
                    .iter()
                    .map(|(id, session, at)| json!({"id": id, "sessionId": session, "timestamp": at, "environment": self.environment}));
                paged(&all.collect::<Vec<_>>(), query)
            }
            ("GET", path) if path.starts_with("/traces/") && self.old_reads => {
                let found = self.traces.iter().find(|(id, ..)| path.ends_with(id.as_str()));
                found.map_or_else(missing, |(id, session, _)| (200, json!({ "id": id, "sessionId": session })))
            }
            ("GET", "/v3/scores") if !self.old_scores => self.read_scores(query, "id"),
            ("GET", "/v2/scores") if self.old_scores => self.read_scores(query, "scoreIds"),
            ("POST", "/ingestion") if !self.no_ingestion => {
                for event in body["batch"].as_array().into_iter().flatten() {
                    self.put(&event["body"], event["timestamp"].as_str());
                }
                (207, json!({ "successes": [], "errors": [] }))
            }
            ("POST", "/scores") => match body.as_array() {
                Some(_) if !self.takes_arrays => (400, json!({ "message": "expected object, received array" })),
                Some(all) => {
                    for score in all {
                        self.put(score, score["timestamp"].as_str());
                    }
                    (202, json!({ "message": "Accepted" }))
                }
                None => {
                    self.put(body, None);
                    (200, json!({ "id": body["id"] }))
                }
            },
            ("DELETE", path) if path.starts_with("/scores/") => {
                let id = path.trim_start_matches("/scores/").to_owned();
                self.deleted.insert(id.clone());
                self.deletions.push(id);
                (202, json!({ "message": "Score deletion queued successfully" }))
            }
            ("GET", "/score-configs") => paged(&self.configs.iter().rev().cloned().collect::<Vec<_>>(), query),
            ("POST", "/score-configs") => {
                let n = self.configs.len();
                let mut config = json!({ "id": format!("c{n}"), "createdAt": format!("{n:04}"), "isArchived": false });
                merge(&mut config, body);
                self.configs.push(config.clone());
                (200, config)
            }
            ("PATCH", path) => {
                let id = path.rsplit('/').next().unwrap_or_default();
                let Some(config) = self.configs.iter_mut().find(|config| config["id"] == json!(id)) else {
                    return missing();
                };
                merge(config, body);
                (200, config.clone())
            }
            ("POST", "/v2/datasets") => (200, json!({ "name": body["name"] })),
            ("GET", "/dataset-items") => paged(&self.items.values().cloned().collect::<Vec<_>>(), query),
            ("POST", "/dataset-items") => {
                self.items.insert(body["id"].as_str().unwrap().to_owned(), body.clone());
                self.changes += 1;
                (200, body.clone())
            }
            _ => missing(),
        }
    }

    fn roots(&self, query: &HashMap<String, String>) -> Vec<Value> {
        if self.rootless && query.contains_key("isRootObservation") {
            return Vec::new();
        }
        let root = |(trace, session, at): &(String, String, String)| json!({ "id": format!("o-{trace}"), "traceId": trace, "sessionId": session, "startTime": at, "environment": self.environment });
        self.traces.iter().map(root).collect()
    }

    /// What the worker does with a score after it was taken.
    fn put(&mut self, score: &Value, at: Option<&str>) {
        let id = score["id"].as_str().unwrap().to_owned();
        if self.deleted.contains(&id) {
            self.reused.push(id.clone());
        }
        let config = self.configs.iter().find(|config| config["id"] == score["configId"]);
        let fits = match config {
            Some(config) => {
                let known = config["categories"].as_array();
                config["dataType"] == score["dataType"]
                    && config["isArchived"] == json!(false)
                    && known.is_none_or(|known| known.iter().any(|label| label["label"] == score["value"]))
            }
            None => !score["configId"].is_string(),
        };
        if !fits || self.drops.as_deref() == score["name"].as_str() {
            return;
        }
        let at = at.map_or(Timestamp(i64::MAX), |at| Timestamp::parse(at.as_bytes()).unwrap());
        let last = self.events.get(&id).copied();
        let old = self.scores.get(&id);
        // Equal times are a coin toss there; here the first one stays.
        if old.is_some() && last.is_some_and(|last| at <= last && at.0 != i64::MAX) {
            return;
        }
        self.events.insert(id.clone(), at);
        let mut new = old.cloned().unwrap_or_else(|| json!({ "source": "API", "timestamp": at.to_string() }));
        let (metadata, trace) = (new["metadata"].clone(), new["traceId"].clone());
        let first = new["name"].is_null();
        merge(&mut new, score);
        if !first {
            new["traceId"] = trace;
        }
        let mut merged = if metadata.is_object() { metadata } else { json!({}) };
        merge(&mut merged, &score["metadata"]);
        new["metadata"] = merged;
        self.changes += 1;
        self.scores.insert(id, new);
    }

    fn read_scores(&self, query: &HashMap<String, String>, by: &str) -> (u16, Value) {
        let ids: Option<Vec<&str>> = query.get(by).map(|ids| ids.split(',').collect());
        let all = self.scores.iter().filter(|(id, score)| {
            ids.as_ref().is_none_or(|ids| ids.contains(&id.as_str()))
                && ["source", "name"].iter().all(|by| query.get(*by).is_none_or(|value| score[by] == json!(value)))
                && ["sessionId", "traceId"]
                    .iter()
                    .all(|by| query.get(*by).is_none_or(|ids| ids.split(',').any(|id| score[by] == id)))
        });
        let shown = |(_, score): (&String, &Value)| {
            let mut score = score.clone();
            if score["dataType"] == "CATEGORICAL" && self.old_scores {
                score["stringValue"] = score["value"].clone();
                score["value"] = json!(0);
            }
            score
        };
        let all: Vec<Value> = all.map(shown).collect();
        if self.old_scores {
            return paged(&all, query);
        }
        let (from, size) = (number(query, "cursor").unwrap_or(0), number(query, "limit").unwrap_or(50));
        let meta = if from + size < all.len() { json!({ "cursor": (from + size).to_string() }) } else { json!({}) };
        (200, json!({ "data": all.iter().skip(from).take(size).collect::<Vec<_>>(), "meta": meta }))
    }
}

fn number(query: &HashMap<String, String>, name: &str) -> Option<usize> {
    query.get(name).and_then(|text| text.parse().ok())
}

fn paged(all: &[Value], query: &HashMap<String, String>) -> (u16, Value) {
    let (page, size) = (number(query, "page").unwrap_or(1), number(query, "limit").unwrap_or(50));
    let data: Vec<&Value> = all.iter().skip((page - 1) * size).take(size).collect();
    (200, json!({ "data": data, "meta": { "totalPages": all.len().div_ceil(size) } }))
}

fn merge(into: &mut Value, from: &Value) {
    let empty = Map::new();
    for (key, value) in from.as_object().unwrap_or(&empty) {
        into[key] = value.clone();
    }
}
