//! Pages that shrink, and reads that have an end.

use super::{Client, Config, ObservationQuery, TraceQuery, Window};
use crate::net::http::Network;
use crate::net::testing::{Does, KEY, START, Server, says, waited, world};
use crate::net::{Failing, Key, Waits, World};
use hotwash_core::sessions::Timestamp;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

const ROWS: usize = 730;

/// A server with so many rows, which gives a page only where it is not too large.
fn server(old: bool, too_large: impl Fn(usize) -> Option<Does> + Send + Sync + 'static) -> Server {
    Server::start(move |got, _| {
        let (path, query) = got.path.split_once('?').unwrap_or((&got.path, ""));
        let number = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<usize>().ok());
        let size = number("limit=").unwrap_or(50);
        let from = number("cursor=").unwrap_or_else(|| (number("page=").unwrap_or(1) - 1) * size);
        let rows: Vec<Value> = (from..ROWS.min(from + size))
            .map(|n| json!({ "id": format!("{n}"), "traceId": "t", "sessionId": "", "padding": "x".repeat(50) }))
            .collect();
        match path.trim_start_matches("/api/public") {
            "/health" => says(200, r#"{"version":"4"}"#),
            "/projects" => says(200, r#"{"data":[{"id":"p","name":"n"}]}"#),
            "/v2/observations" if old => says(404, "<!DOCTYPE html>"),
            _ => too_large(size).unwrap_or_else(|| {
                let mut meta = json!({ "totalPages": ROWS.div_ceil(size) });
                if !old && from + size < ROWS {
                    meta["cursor"] = json!((from + size).to_string());
                }
                says(200, &json!({ "data": rows, "meta": meta }).to_string())
            }),
        }
    })
}

fn client(server: &Server, network: impl FnOnce(&mut Network)) -> (Client, crate::net::World) {
    let world = world().0;
    let mut config = Config::new(&server.base, Key::new("pk-lf-1"), Key::new(KEY));
    network(&mut config.network);
    (Client::connect(config, world.clone()).unwrap(), world)
}

fn ids(client: &Client, old: bool) -> Result<Vec<usize>, super::LangfuseError> {
    let window = Window { from: START, to: Timestamp(START.0 + 1) };
    let mut ids = Vec::new();
    let mut see = |row: super::Row| {
        assert_eq!((row.trace.is_some(), row.session), (true, None));
        ids.push(row.id.parse().unwrap());
        ControlFlow::Continue(())
    };
    if old {
        let query = TraceQuery::new(window, "core");
        client.legacy_traces(&query, &mut see)?;
    } else {
        client.observations(&ObservationQuery::new(window, "core"), &mut see)?;
    }
    Ok(ids)
}

#[test]
fn pages_get_smaller_and_no_row_is_lost_or_told_twice() {
    let all: Vec<usize> = (0..ROWS).collect();
    for old in [false, true] {
        for (status, most) in [(413, 100), (422, 25), (524, 5), (413, 1000)] {
            let server = server(old, move |size| (size > most).then(|| says(status, "too much")));
            let (client, _) = client(&server, |_| {});
            assert_eq!(ids(&client, old).unwrap(), all, "{old} {status} {most}");
        }
        // The answer is longer than what is read of one.
        let server = server(old, |_| None);
        let (client, _) = client(&server, |network| network.answer_bytes = 3000);
        assert_eq!(ids(&client, old).unwrap(), all);
    }
    // One row alone is too large: that is an error, not silence.
    let server = server(false, |size| (size > 0).then(|| says(413, "Body exceeded 1mb limit")));
    let error = Client::connect(Config::new(&server.base, Key::new("pk-lf-1"), Key::new(KEY)), world().0).unwrap_err();
    assert_eq!(error.kind, Failing::TooLarge);
}

#[test]
fn who_is_told_to_wait_waits() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let server = server(false, move |_| {
        let n = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let body = br#"{"message":"Rate limit exceeded","code":"rate_limited","details":{"retryAfterSeconds":60}}"#;
        (n == 1).then(|| Does::Says(429, vec![("retry-after", "60".into())], body.to_vec()))
    });
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = said.clone();
    let waits: Arc<Waits> = Arc::new(move |wait| {
        let words = wait.map(|(what, time)| format!("{} s: {what}", time.as_secs()));
        heard.lock().unwrap().push(words.unwrap_or_default());
    });
    let world = World { waits, ..world().0 };
    let config = Config::new(&server.base, Key::new("pk-lf-1"), Key::new(KEY));
    let client = Client::connect(config, world.clone()).unwrap();
    assert_eq!(ids(&client, false).unwrap().len(), ROWS);
    assert!(waited(&world).as_secs() >= 60);
    let said = said.lock().unwrap();
    assert!(
        said[0].starts_with("60 s: 127.0.0.1") && said[0].contains("answered 429: Rate limit exceeded"),
        "{said:?}"
    );
    assert_eq!(said.last().map(String::as_str), Some(""));
}
