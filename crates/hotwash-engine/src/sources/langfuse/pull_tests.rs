//! Pulling, from a stand-in that answers as servers of both families do, and fails as they do.

use super::*;
use crate::langfuse::Config;
use crate::net::Key;
use crate::net::testing::{Does, Got, Server, says, world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Which server it is, and how often it fails.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    New,
    Older,
}

/// Rows of sessions with so many turns each: a root, a generation and a tool.
fn rows(sessions: &[(&str, usize)]) -> Vec<Value> {
    let mut rows = Vec::new();
    for (session, turns) in sessions {
        for turn in 0..*turns {
            let trace = format!("{session}-{turn}");
            let at = |second: usize| format!("2026-09-{:02}T08:{turn:02}:{second:02}.000Z", 15 + session.len() % 5);
            let row = |id: &str, kind: &str, name: &str, parent: &str, from: usize, to: usize| {
                json!({"id": format!("{trace}-{id}"), "traceId": trace, "sessionId": session, "type": kind, "name": name,
                    "parentObservationId": parent, "isRootObservation": id == "r", "startTime": at(from), "endTime": at(to),
                    "tags": [session.get(..1)], "userId": "u", "environment": "default", "level": "DEFAULT"})
            };
            let mut root = row("r", "SPAN", "Conversational Turn", "nowhere", 0, 30);
            root["input"] = json!({"role": "user", "content": format!("fix {turn}")});
            let mut answer = row("g", "GENERATION", "LLM Call 1", &format!("{trace}-r"), 0, 30);
            answer["output"] =
                json!({"role": "assistant", "content": "Done.", "tool_calls": [{"id": trace, "name": "Bash"}]});
            let mut tool = row("x", "TOOL", "Tool: Bash", &format!("{trace}-r"), 5, 9);
            tool["input"] = json!({"command": "ls"});
            tool["metadata"] = json!({"tool_id": trace, "tool_name": "Bash", "output_meta": {}});
            rows.extend([root, answer, tool]);
        }
    }
    rows
}

/// What a request asks, by name.
fn asked(got: &Got) -> (String, BTreeMap<String, String>) {
    let (path, query) = got.path.split_once('?').unwrap_or((&got.path, ""));
    let decoded = |text: &str| {
        let (mut out, mut bytes) = (Vec::new(), text.bytes());
        while let Some(byte) = bytes.next() {
            let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16)).unwrap() as u8;
            out.push(if byte == b'%' { digit() * 16 + digit() } else { byte });
        }
        String::from_utf8(out).unwrap()
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    (
        path.trim_start_matches("/api/public").to_owned(),
        pairs.map(|(name, value)| (name.into(), decoded(value))).collect(),
    )
}

/// Answers a request from rows.
fn answer(family: Family, rows: &[Value], got: &Got) -> Does {
    let (path, query) = asked(got);
    let limit: usize = query.get("limit").map_or(50, |limit| limit.parse().unwrap());
    let within = |at: &Value, from: &str, to: &str| {
        let at = at.as_str().unwrap();
        query.get(from).is_none_or(|from| at >= from.as_str()) && query.get(to).is_none_or(|to| at < to.as_str())
    };
    let page = |found: Vec<Value>, from: usize| found.into_iter().skip(from).take(limit).collect::<Vec<_>>();
    match (path.as_str(), family) {
        ("/health", _) => says(200, r#"{"version":"4.16.0","status":"OK"}"#),
        ("/projects", _) => says(200, r#"{"data":[{"id":"p","name":"P"}]}"#),
        ("/v2/observations", Family::New) => {
            let filter: Vec<Value> = query.get("filter").map_or_else(Vec::new, |f| serde_json::from_str(f).unwrap());
            let passes = |row: &Value| {
                filter.iter().all(|filter| {
                    let column = &row[filter["column"].as_str().unwrap()];
                    let is_in = |value: &Value| filter["value"].as_array().unwrap().contains(value);
                    match (filter["operator"].as_str().unwrap(), column) {
                        ("=", column) => *column == filter["value"],
                        ("any of", Value::Array(tags)) => tags.iter().any(is_in),
                        ("any of", column) => is_in(column),
                        (_, column) => !is_in(column),
                    }
                })
            };
            let roots = query.contains_key("isRootObservation");
            let mut found: Vec<Value> = rows
                .iter()
                .filter(|row| within(&row["startTime"], "fromStartTime", "toStartTime") && passes(row))
                .filter(|row| !roots || row["isRootObservation"] == true)
                .cloned()
                .collect();
            found.sort_by_key(|row| Reverse(row["startTime"].to_string()));
            let from: usize = query.get("cursor").map_or(0, |cursor| cursor.parse().unwrap());
            let more = (from + limit < found.len()).then(|| (from + limit).to_string());
            says(200, &json!({"data": page(found, from), "meta": {"cursor": more}}).to_string())
        }
        ("/v2/observations", Family::Older) => says(404, r#"{"message":"observations v2 is not there"}"#),
        (path @ ("/traces" | "/observations"), Family::Older) => {
            let from = (query["page"].parse::<usize>().unwrap() - 1) * limit;
            let found: Vec<Value> = rows
                .iter()
                .filter(|row| query.get("sessionId").is_none_or(|session| row["sessionId"] == *session))
                .filter(|row| query.get("traceId").is_none_or(|trace| row["traceId"] == *trace))
                .filter(|row| path == "/observations" || row["isRootObservation"] == true)
                .filter(|row| within(&row["startTime"], "fromTimestamp", "toTimestamp"))
                .map(|row| match path {
                    "/traces" => {
                        json!({"id": row["traceId"], "timestamp": row["startTime"], "sessionId": row["sessionId"],
                        "input": row["input"], "name": "Turn", "tags": row["tags"]})
                    }
                    _ => row.clone(),
                })
                .collect();
            let pages = found.len().div_ceil(limit);
            says(200, &json!({"data": page(found, from), "meta": {"totalPages": pages}}).to_string())
        }
        _ => says(404, "<html>not here</html>"),
    }
}

fn connect(base: &str) -> Client {
    Client::connect(Config::new(base, Key::new("pk-lf-1"), Key::new("sk-lf-1")), world().0).unwrap()
}

const WINDOW: Window = Window { from: Timestamp(1_789_000_000_000), to: Timestamp(1_790_000_000_000) };

fn all() -> Wanted<'static> {
    Wanted {
        window: WINDOW,
        user: None,
        tags: &[],
        environments: &[],
        session: None,
        min_traces: 3,
        sample: None,
        rescore: false,
    }
}

fn unknown() -> Around<'static> {
    Around { known: &|_, _| Known::No, already_scored: &|seen| Ok(vec![false; seen.len()]), progress: &|_, _| {} }
}

/// What files hold, by their names.
fn held(files: &[PathBuf]) -> BTreeMap<String, String> {
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|file| (name(file), fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn faults_lose_nothing_whichever_server_it_is() {
    let sessions = [("alpha", 12), ("bravos", 3), ("charlie", 2), ("deltadelta", 5)];
    for family in [Family::New, Family::Older] {
        let rows = Arc::new(rows(&sessions));
        let sound = rows.clone();
        let sound = Server::start(move |got, _| answer(family, &sound, got));
        let faulty = Server::start(move |got, before| match before % 7 {
            1 => Does::Says(429, vec![("retry-after", "1".into())], b"{}".to_vec()),
            2 => says(500, "{}"),
            4 => Does::Cuts(b"{\"data\":[".to_vec()),
            5 => Does::CutsUnseen(b"{\"data\":[{".to_vec()),
            _ => answer(family, &rows, got),
        });
        let mut found = Vec::new();
        for server in [&sound, &faulty] {
            let place = tempfile::tempdir().unwrap();
            // Both by the same name, so that their files may be compared.
            let folder = Folder::beside(&place.path().join("hotwash.db"), "host", "p");
            let pulled = pull(&connect(&server.base), &folder, &all(), &unknown()).unwrap();
            assert_eq!((pulled.listed, pulled.pulled, pulled.too_small, pulled.failed.len()), (4, 3, 1, 0));
            found.push(held(&pulled.files));
        }
        assert_eq!(found[0].len(), 3);
        assert!(found[0] == found[1]);
    }
}

#[test]
fn what_is_here_is_asked_for_again_only_when_it_goes_on() {
    let rows = Arc::new(std::sync::Mutex::new(rows(&[("alpha", 3), ("bravos", 3)])));
    let shared = rows.clone();
    let server = Server::start(move |got, _| answer(Family::New, &shared.lock().unwrap(), got));
    let client = connect(&server.base);
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::beside(&place.path().join("hotwash.db"), "host", "p");
    let known = |_: &str, file: &Path| if file.exists() { Known::Here } else { Known::No };
    let around = Around { known: &known, ..unknown() };
    let run = |wanted: &Wanted<'_>| {
        let before = server.got().len();
        let pulled = pull(&client, &folder, wanted, &around).unwrap();
        (pulled.pulled, pulled.scored, pulled.unchanged, pulled.files.len(), server.got().len() - before)
    };
    assert_eq!(run(&all()), (2, 0, 0, 2, 2));
    assert_eq!(run(&all()), (0, 2, 0, 0, 1));
    assert_eq!(run(&Wanted { rescore: true, ..all() }), (0, 0, 2, 2, 1));
    rows.lock().unwrap().extend(super::tests::rows(&[("bravos", 4)]).split_off(9));
    assert_eq!(run(&all()), (1, 1, 0, 1, 2));
}

#[test]
fn sessions_are_picked() {
    let sessions: Vec<(String, usize)> = (0..30).map(|n| (format!("{}{n}", ["a", "b"][n % 2]), 3)).collect();
    let sessions: Vec<(&str, usize)> = sessions.iter().map(|(name, turns)| (name.as_str(), *turns)).collect();
    let rows = rows(&sessions);
    let server = Server::start(move |got, _| answer(Family::New, &rows, got));
    let client = connect(&server.base);
    let run = |wanted: &Wanted<'_>, around: &Around<'_>| {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::beside(&place.path().join("hotwash.db"), "host", "p");
        let pulled = pull(&client, &folder, wanted, around).unwrap();
        (held(&pulled.files).into_keys().collect::<Vec<_>>(), pulled)
    };
    let (all_of_them, pulled) = run(&all(), &unknown());
    assert_eq!((all_of_them.len(), pulled.rows), (30, 270));
    let few = Wanted { sample: Some(5), ..all() };
    let (one, pulled) = run(&few, &unknown());
    assert_eq!((one.len(), pulled.left_out), (5, 25));
    assert_eq!(one, run(&few, &unknown()).0);
    assert_eq!(run(&Wanted { tags: &["b".into()], ..all() }, &unknown()).0.len(), 15);
    assert_eq!(run(&Wanted { session: Some("a4"), ..all() }, &unknown()).0, ["a4.langfuse.jsonl"]);
    assert_eq!(run(&Wanted { min_traces: 4, ..all() }, &unknown()).1.too_small, 30);
    let a = |seen: &[Seen<'_>]| Ok(seen.iter().map(|seen| seen.session.starts_with('a')).collect());
    let scored = Around { already_scored: &a, ..unknown() };
    assert_eq!(run(&all(), &scored).1.scored_elsewhere, 15);
    let known = |session: &str, _: &Path| if session == "a0" { Known::Forgotten } else { Known::OnDisk };
    let (files, pulled) = run(&Wanted { rescore: true, ..all() }, &Around { known: &known, ..unknown() });
    assert_eq!((files.len(), pulled.forgotten, pulled.on_disk), (0, 1, 29));
}

#[test]
fn a_session_that_only_its_roots_name_is_pulled_whole() {
    let mut rows = rows(&[("alpha", 3)]);
    for row in rows.iter_mut().filter(|row| row["isRootObservation"] != true) {
        row["sessionId"] = json!("");
    }
    let server = Server::start(move |got, _| answer(Family::New, &rows, got));
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::beside(&place.path().join("hotwash.db"), "host", "p");
    let pulled = pull(&connect(&server.base), &folder, &all(), &unknown()).unwrap();
    let text = &held(&pulled.files)["alpha.langfuse.jsonl"];
    assert_eq!(text.matches("LLM Call 1").count(), 3);
}

#[test]
fn what_fails_for_all_ends_it() {
    let server = Server::start(|got, _| match asked(got).0.as_str() {
        "/health" => says(200, r#"{"version":"4.16.0"}"#),
        "/projects" => says(200, r#"{"data":[{"id":"p","name":"P"}]}"#),
        _ if got.path.contains("limit=1&") => says(200, r#"{"data":[]}"#),
        _ => says(401, r#"{"message":"Invalid credentials."}"#),
    });
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::beside(&place.path().join("hotwash.db"), "host", "p");
    let error = pull(&connect(&server.base), &folder, &all(), &unknown()).unwrap_err();
    assert!(matches!(error, PullError::Langfuse(error) if error.kind == Failing::Denied));
}
