//! Grades on their way to Langfuse, against a server on loopback that keeps scores and little else.

use super::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Kept {
    scores: BTreeMap<String, Value>,
    configs: Vec<Value>,
    requests: Vec<String>,
}

/// Where it listens, and what it keeps.
struct Langfuse(String, Arc<Mutex<Kept>>);

impl Langfuse {
    fn start() -> Langfuse {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let shared = kept.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serve(stream, &shared).unwrap()));
        Langfuse(url, kept)
    }

    fn run(&self, home: &Home, args: &[&str]) -> Output {
        let mut command = home.command(args);
        command.env("LANGFUSE_BASE_URL", &self.0).env("LANGFUSE_PUBLIC_KEY", "pk-lf-1");
        command.env("LANGFUSE_SECRET_KEY", SECRET).output().unwrap()
    }

    fn scores(&self) -> BTreeMap<String, Value> {
        self.1.lock().unwrap().scores.clone()
    }
}

const SECRET: &str = "sk-lf-THE-KEY-THAT-NOBODY-MAY-SEE";

fn serve(mut stream: TcpStream, kept: &Mutex<Kept>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut kept = kept.lock().unwrap();
    kept.requests.push(format!("{first}{}", String::from_utf8_lossy(&body)));
    let answer = answer(&mut kept, &first, &serde_json::from_slice(&body).unwrap_or_default()).to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
    stream.write_all((head + &answer).as_bytes())
}

fn answer(kept: &mut Kept, request: &str, body: &Value) -> Value {
    if request.contains("/health") {
        return json!({ "version": "4" });
    } else if request.contains("/projects") {
        return json!({ "data": [{ "id": "p", "name": "test" }] });
    } else if request.starts_with("POST /api/public/score-configs") {
        let mut config = body.clone();
        config["id"] = json!(format!("c{}", kept.configs.len()));
        kept.configs.push(config.clone());
        return config;
    } else if request.starts_with("GET /api/public/score-configs") {
        return json!({ "data": kept.configs, "meta": { "totalPages": 1 } });
    } else if request.contains("/ingestion") {
        for event in body["batch"].as_array().unwrap() {
            let mut score = event["body"].clone();
            score["source"] = json!("API");
            kept.scores.insert(score["id"].as_str().unwrap().to_owned(), score);
        }
        return json!({ "successes": [], "errors": [] });
    }
    let asked = |(id, _): &(&String, &Value)| request.contains(id.as_str());
    let scores = kept.scores.iter().filter(asked).map(|(_, score)| score.clone()).collect::<Vec<_>>();
    json!({ "data": if request.contains("/v3/scores") { scores } else { Vec::new() }, "meta": {} })
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn grades_arrive_once_and_say_where_they_come_from() {
    let (home, langfuse) = (Home::with_examples(), Langfuse::start());
    let output = langfuse.run(&home, &["score", "--since", "all", "--sink", "langfuse"]);
    assert!(output.status.success(), "{}", home.shown(&output));
    assert!(!words(&output.stdout).contains("Local only"));
    let first = langfuse.scores();
    assert!(first.len() > 50);
    let overall = first.values().find(|score| score["name"] == "overall_quality").unwrap();
    assert_eq!(overall["metadata"]["judge"], "offline");
    assert!(overall["sessionId"].is_string() && overall["configId"].is_string());

    let output = langfuse.run(&home, &["langfuse", "push", "--since", "all", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["written"], &report["unchanged"]), (&json!(0), &json!(first.len())));
    assert_eq!(langfuse.scores(), first);

    let log = fs::read_to_string(home.path("data/hotwash/hotwash.egress.jsonl")).unwrap();
    assert_eq!(log.lines().count(), langfuse.1.lock().unwrap().requests.len());
    assert!(!log.contains(SECRET) && !words(&output.stdout).contains(SECRET));
}

#[test]
fn who_opted_out_does_not_get_there() {
    let (home, langfuse) = (Home::with_examples(), Langfuse::start());
    fs::create_dir_all(home.path("config/hotwash")).unwrap();
    for no in ["share = false\n", "opt_out = [\"/\", \"~\"]\n"] {
        fs::write(home.path("config/hotwash/config.toml"), no).unwrap();
        let output = langfuse.run(&home, &["score", "--since", "all", "--sink", "langfuse"]);
        assert!(words(&output.stderr).contains("opted out"), "{}", home.shown(&output));
        assert!(langfuse.scores().is_empty());
    }
}

#[test]
fn keys_come_from_their_owner_and_are_not_shown() {
    let (home, langfuse) = (Home::with_examples(), Langfuse::start());
    let block = home.run(&["langfuse", "doctor"]);
    assert!(block.starts_with("exit: 2") && block.contains("LANGFUSE_SECRET_KEY"), "{block}");
    let shown = langfuse.run(&home, &["config"]);
    assert!(words(&shown.stdout).contains("(set)") && !words(&shown.stdout).contains(SECRET));
    for key in ["langfuse_host = \"http://127.0.0.1:9\"", "langfuse_secret_key = \"x\"", "langfuse_public_key = \"x\""]
    {
        fs::write(home.path("work/.hotwash.toml"), key).unwrap();
        let block = home.run(&["langfuse", "doctor"]);
        assert!(block.starts_with("exit: 2") && block.contains("cannot be set in a project's file"), "{block}");
    }
    fs::remove_file(home.path("work/.hotwash.toml")).unwrap();
    let output = langfuse.run(&home, &["score", "--example", "--sink", "langfuse"]);
    assert_eq!(output.status.code(), Some(2), "{}", home.shown(&output));
    assert!(langfuse.scores().is_empty());
}
