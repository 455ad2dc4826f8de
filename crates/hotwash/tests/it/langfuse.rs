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
    rows: Vec<Value>,
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

    /// One in which agents have recorded: sessions, their turns, and what stands in their rows.
    fn with(sessions: &[(&str, usize, Value)]) -> Langfuse {
        let langfuse = Langfuse::start();
        for (session, turns, more) in sessions {
            (0..*turns).for_each(|n| langfuse.record(turn(session, n, more)));
        }
        langfuse
    }

    fn record(&self, rows: Vec<Value>) {
        self.1.lock().unwrap().rows.extend(rows);
    }

    /// Pulls and grades: what was said of what Langfuse has, and the sessions that were graded.
    fn pull(&self, home: &Home, args: &[&str]) -> (String, Vec<Value>) {
        let args = [&["score", "--source", "langfuse", "--json", "--facts"], args].concat();
        let output = self.run(home, &args);
        assert!(output.status.success(), "{}", home.shown(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = words(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        (said, document["sessions"].as_array().unwrap().clone())
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
    let path = request.split(' ').nth(1).unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let asked: Vec<(String, String)> =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.into(), decoded(v))).collect();
    match (request.split(' ').next().unwrap(), path.trim_start_matches("/api/public")) {
        (_, "/health") => json!({ "version": "4" }),
        (_, "/projects") => json!({ "data": [{ "id": "p", "name": "test" }] }),
        ("POST", "/score-configs") => {
            let mut config = body.clone();
            config["id"] = json!(format!("c{}", kept.configs.len()));
            kept.configs.push(config.clone());
            config
        }
        (_, "/score-configs") => json!({ "data": kept.configs, "meta": { "totalPages": 1 } }),
        (_, "/ingestion") => {
            for event in body["batch"].as_array().unwrap() {
                let mut score = event["body"].clone();
                (score["source"], score["timestamp"]) = (json!("API"), event["timestamp"].clone());
                kept.scores.insert(score["id"].as_str().unwrap().to_owned(), score);
            }
            json!({ "successes": [], "errors": [] })
        }
        (_, "/v3/scores") => page(kept.scores.values().filter(|score| is_asked_for(score, &asked)), &asked),
        (_, "/v2/observations") => {
            let mut rows: Vec<&Value> = kept.rows.iter().filter(|row| is_asked_for(row, &asked)).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row["startTime"].to_string()));
            page(rows.into_iter(), &asked)
        }
        _ => json!({ "data": [], "meta": {} }),
    }
}

/// Whether a row or a score is what a query asks for.
fn is_asked_for(row: &Value, asked: &[(String, String)]) -> bool {
    let environments: Vec<&str> = asked.iter().filter(|(name, _)| name == "environment").map(|(_, v)| &**v).collect();
    let one = |(name, value): &(String, String)| match name.as_str() {
        "fromStartTime" => row["startTime"].as_str() >= Some(value),
        "toStartTime" => row["startTime"].as_str() < Some(value),
        "fromTimestamp" => row["timestamp"].as_str() >= Some(value),
        "toTimestamp" => row["timestamp"].as_str() < Some(value),
        "isRootObservation" => row["isRootObservation"] == true,
        "environment" => environments.contains(&row["environment"].as_str().unwrap_or_default()),
        "id" | "name" | "source" | "userId" | "sessionId" => value.split(',').any(|value| row[name] == *value),
        "filter" => serde_json::from_str::<Vec<Value>>(value).unwrap().iter().all(|filter| {
            let (column, value) = (&row[filter["column"].as_str().unwrap()], &filter["value"]);
            let is_in = |found: &Value| value.as_array().is_some_and(|all| all.contains(found));
            match filter["operator"].as_str().unwrap() {
                "=" => column == value,
                "none of" => !is_in(column),
                _ => is_in(column) || column.as_array().is_some_and(|all| all.iter().any(is_in)),
            }
        }),
        _ => true,
    };
    asked.iter().all(one)
}

/// A page, with a cursor to the next one.
fn page<'a>(all: impl Iterator<Item = &'a Value>, asked: &[(String, String)]) -> Value {
    let number = |name: &str| asked.iter().find(|(known, _)| known == name).and_then(|(_, n)| n.parse::<usize>().ok());
    let (from, limit) = (number("cursor").unwrap_or(0), number("limit").unwrap());
    let mut all = all.skip(from);
    let data: Vec<&Value> = all.by_ref().take(limit).collect();
    let next = all.next().map(|_| (from + limit).to_string());
    json!({ "data": data, "meta": { "cursor": next } })
}

fn decoded(text: &str) -> String {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16)).unwrap() as u8;
        out.push(if byte == b'%' { digit() * 16 + digit() } else { byte });
    }
    String::from_utf8(out).unwrap()
}

/// A moment so many seconds after the day before yesterday's now, so that what is recorded here is always recent.
fn moment(seconds: i64) -> String {
    static NOW: std::sync::LazyLock<i64> = std::sync::LazyLock::new(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
    });
    hotwash_core::sessions::Timestamp(*NOW - 2 * 86_400_000 + seconds * 1000).to_string()
}

/// The rows of a turn as Langfuse's plugin for Claude Code writes them; what is in `more` stands in each of them.
fn turn(session: &str, turn: usize, more: &Value) -> Vec<Value> {
    let trace = format!("{session}-t{turn}");
    let row = |id: &str, kind: &str, name: &str, from: i64, to: i64, own: Value| {
        let at = |seconds: i64| moment(turn as i64 * 600 + seconds);
        let mut row = json!({
            "id": format!("{trace}-{id}"), "traceId": trace, "sessionId": session, "type": kind, "name": name,
            "parentObservationId": if id == "r" { "nowhere".into() } else { format!("{trace}-r") },
            "isRootObservation": id == "r", "startTime": at(from), "endTime": at(to), "level": "DEFAULT",
            "environment": "default", "userId": "ann", "tags": ["claude-code"],
        });
        for part in [own, more.clone()] {
            part.as_object().unwrap().iter().for_each(|(key, value)| row[key] = value.clone());
        }
        row
    };
    let said = |words: &str| json!({ "role": "assistant", "content": words }).to_string();
    let asked = json!({ "role": "user", "content": format!("Fix number {turn} of {session} and run the tests.") });
    let calls = ["Read", "Edit", "Bash"].map(|name| json!({ "id": format!("{trace}-{name}"), "name": name }));
    let tool = |name: &str, from: i64, input: Value, output: &str| {
        let noted = json!({ "tool_id": format!("{trace}-{name}"), "tool_name": name, "output_meta": {} });
        let own = json!({ "input": input.to_string(), "output": output, "metadata": noted });
        row(&name.to_lowercase(), "TOOL", &format!("Tool: {name}"), from, from + 2, own)
    };
    let place = json!({ "source": "claude-code", "cwd": "/srv/shop" });
    let model = json!({ "model": "claude-opus-4-8", "usageDetails": { "input": 100, "output": 20 } });
    let generation = |id: &str, from: i64, output: String| {
        let mut own = model.clone();
        own["output"] = json!(output);
        row(id, "GENERATION", "LLM Call", from, from + 5, own)
    };
    let file = format!("/srv/shop/{session}.rs");
    vec![
        row(
            "r",
            "SPAN",
            "Conversational Turn",
            0,
            30,
            json!({ "input": asked.to_string(), "output": said("Done."), "metadata": place }),
        ),
        generation("g1", 1, json!({ "role": "assistant", "tool_calls": calls }).to_string()),
        tool("Read", 2, json!({ "file_path": file }), "fn a() {}"),
        tool(
            "Edit",
            5,
            json!({ "file_path": file, "old_string": "a", "new_string": "b" }),
            "The file has been updated.",
        ),
        tool("Bash", 8, json!({ "command": "cargo test" }), "test result: ok. 3 passed; 0 failed"),
        generation("g2", 20, said("Done. All tests pass.")),
    ]
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
    let nowhere: [&[&str]; 3] = [&["--example", "--sink", "langfuse"], &["--attach", "trace"], &["--prism"]];
    for flags in nowhere {
        let output = langfuse.run(&home, &[&["score"], flags].concat());
        let said = home.shown(&output);
        assert!(output.status.code() == Some(2) && words(&output.stderr).contains("--sink"), "{said}");
    }
    assert!(langfuse.scores().is_empty());
}

/// The agent's own ids of sessions, sorted.
fn ids(sessions: &[Value]) -> Vec<&str> {
    let mut ids: Vec<&str> = sessions.iter().map(|session| session["recorded_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn sessions_of_langfuse_are_picked() {
    let of =
        |user: &str, tag: &str, environment: &str| json!({ "userId": user, "tags": [tag], "environment": environment });
    let langfuse = Langfuse::with(&[
        ("s-ann", 3, of("ann", "claude-code", "default")),
        ("s-bob", 4, of("bob", "claude-code", "production")),
        ("s-cat", 3, of("cat", "nightly", "production")),
        ("s-few", 2, of("ann", "nightly", "default")),
    ]);
    // What they are picked by, whom that leaves, and what is said of the others.
    for (args, left, said) in [
        ("", "s-ann s-bob s-cat", "4 sessions in Langfuse: 3 pulled, 1 with too few traces"),
        ("--min-traces 1", "s-ann s-bob s-cat s-few", "4 sessions in Langfuse: 4 pulled"),
        ("--min-traces 4", "s-bob", "1 pulled, 3 with too few traces"),
        ("--user bob", "s-bob", "1 session in Langfuse: 1 pulled"),
        ("--tag nightly --min-traces 2", "s-cat s-few", "2 sessions in Langfuse: 2 pulled"),
        ("--tag nightly --tag claude-code", "s-ann s-bob s-cat", "3 pulled"),
        ("--environment production", "s-bob s-cat", "2 pulled"),
        ("--environment production --user cat", "s-cat", "1 pulled"),
        ("--session s-few", "s-few", "1 pulled"),
        ("--session nobodys", "", "0 sessions in Langfuse"),
        ("--since 24h", "", "0 sessions in Langfuse"),
    ] {
        let home = Home::empty();
        let (told, sessions) = langfuse.pull(&home, &args.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ids(&sessions).join(" "), left, "{args}: {told}");
        assert!(told.contains(said), "{args}: {told}");
    }
    // Two are always the same two.
    let sample = || langfuse.pull(&Home::empty(), &["--sample", "2"]);
    let (told, sessions) = sample();
    assert!(told.contains("2 pulled") && told.contains("1 not in the sample"), "{told}");
    assert_eq!(ids(&sessions), ids(&sample().1));
}

#[test]
fn two_machines_do_not_score_the_same_session_twice() {
    let langfuse = Langfuse::with(&[("s-1", 3, json!({})), ("s-2", 3, json!({ "environment": "production" }))]);
    let (one, other) = (Home::empty(), Home::empty());
    let sink: &[&str] = &["--sink", "langfuse"];
    let (_, sessions) = langfuse.pull(&one, sink);
    assert_eq!(ids(&sessions), ["s-1", "s-2"]);
    let first = langfuse.scores();
    assert!(first.len() >= 4, "{first:?}");
    // Scores are where the traces are.
    for score in first.values() {
        let expected = if score["sessionId"] == "s-2" { "production" } else { "default" };
        assert_eq!(score["environment"], expected);
    }

    let (told, sessions) = langfuse.pull(&other, sink);
    assert!(sessions.is_empty() && told.contains("2 scored from another machine"), "{told}");
    let (told, sessions) = langfuse.pull(&one, sink);
    assert!(sessions.is_empty() && told.contains("2 scored before"), "{told}");
    assert_eq!(langfuse.scores(), first);
    // Who wants them all the same gets them, under the same ids.
    let (told, sessions) = langfuse.pull(&other, &["--rescore", "--sink", "langfuse"]);
    assert_eq!(ids(&sessions), ["s-1", "s-2"], "{told}");
    assert_eq!(langfuse.scores(), first);
    // Another rubric has not scored them.
    let (told, sessions) = langfuse.pull(&Home::empty(), &["--rubric", "v1"]);
    assert_eq!(ids(&sessions), ["s-1", "s-2"], "{told}");

    // One that has gone on is scored again, by whoever comes first.
    langfuse.record(turn("s-2", 3, &json!({ "environment": "production" })));
    let (told, sessions) = langfuse.pull(&Home::empty(), sink);
    assert_eq!(ids(&sessions), ["s-2"], "{told}");
    assert!(told.contains("1 scored from another machine"), "{told}");
    let (told, sessions) = langfuse.pull(&one, sink);
    assert!(sessions.is_empty(), "{told}");
    assert!(told.contains("1 scored before") && told.contains("1 scored from another machine"), "{told}");
}

#[test]
fn scores_that_did_not_arrive_are_sent_by_the_next_run() {
    let (home, langfuse) = (Home::empty(), Langfuse::with(&[("s-1", 3, json!({})), ("s-2", 3, json!({}))]));
    // Graded, and stopped before anything was sent; then in the middle.
    langfuse.pull(&home, &[]);
    assert!(langfuse.scores().is_empty());
    let (_, sessions) = langfuse.pull(&home, &["--sink", "langfuse"]);
    assert!(sessions.is_empty());
    let all = langfuse.scores();
    assert!(
        all.values().any(|score| score["sessionId"] == "s-1") && all.values().any(|score| score["sessionId"] == "s-2")
    );
    let half = all.keys().take(all.len() / 2).cloned().collect::<Vec<_>>();
    langfuse.1.lock().unwrap().scores.retain(|id, _| !half.contains(id));
    langfuse.pull(&home, &["--sink", "langfuse"]);
    assert!(langfuse.scores().keys().eq(all.keys()));
}

#[test]
fn a_session_from_disk_and_from_langfuse_has_one_set_of_scores() {
    let disk = Home::with_examples();
    let id = disk.json(&["score", "--json"])["sessions"][0]["recorded_id"].as_str().unwrap().to_owned();
    let langfuse = Langfuse::with(&[(&id, 3, json!({}))]);
    assert!(langfuse.run(&disk, &["langfuse", "push", "--session", &id]).status.success());
    let names = |scores: BTreeMap<String, Value>| -> Vec<String> {
        let names = scores.values().map(|score| score["name"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert!(!langfuse.scores().is_empty());
    langfuse.pull(&Home::empty(), &["--rescore", "--sink", "langfuse"]);
    let mut both = names(langfuse.scores());
    let all = both.len();
    both.dedup();
    assert_eq!(both.len(), all, "{both:?}");
}

#[test]
fn what_langfuse_lost_is_unknown() {
    let (home, langfuse) = (Home::empty(), Langfuse::with(&[("s-1", 3, json!({ "usageDetails": {}, "model": "" }))]));
    let (_, sessions) = langfuse.pull(&home, &[]);
    let session = &sessions[0];
    for lost in ["tokens", "cost_usd", "compactions_auto", "interrupts", "lines_added"] {
        assert!(session["facts"][lost].is_null(), "{lost}");
    }
    assert_eq!((&session["facts"]["tool_calls"], &session["facts"]["human_prompts"]), (&json!(9), &json!(3)));
    assert!(session["usage"]["own"]["tokens"].is_null() && session["usage"]["own"]["cost_usd"].is_null());
    let shown = home.stdout(&["show", session["id"].as_str().unwrap()]);
    assert!(shown.contains("tokens unknown; unknown") && shown.contains("(lines unknown)"), "{shown}");
    let table = home.stdout(&["export", "--format", "csv"]);
    let (head, row) = table.split_once("\r\n").unwrap();
    let column = head.split(',').position(|name| name == "tokens_input").unwrap();
    assert_eq!(row.split(',').nth(column), Some(""));
    let agents = home.json(&["prism", "--by", "agent", "--json"]);
    assert_eq!(agents["groups"][0]["key"], "Claude Code");
}

#[test]
fn agents_are_told_apart() {
    let rows = |fixture: &str, session: &str| {
        let text = fs::read_to_string(root().join("fixtures/langfuse").join(fixture)).unwrap();
        let mut rows: Vec<Value> = serde_json::from_str(&text).unwrap();
        for row in &mut rows {
            row["traceId"] = json!(format!("{session}-{}", row["traceId"].as_str().unwrap()));
            row["sessionId"] = json!(session);
        }
        rows
    };
    let (home, langfuse) = (Home::empty(), Langfuse::start());
    for (fixture, session) in [("codex.json", "s-x"), ("opencode.json", "s-o"), ("application.json", "s-a")] {
        langfuse.record(rows(fixture, session));
    }
    langfuse.record(turn("s-c", 0, &json!({})));
    langfuse.pull(&home, &["--since", "all", "--min-traces", "1"]);
    let agents = home.json(&["prism", "--by", "agent", "--json", "--since", "all"]);
    let mut keys: Vec<&str> =
        agents["groups"].as_array().unwrap().iter().map(|group| group["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["Claude Code", "Codex", "OpenCode", "application"]);
}

#[test]
fn a_dry_run_says_what_it_would_write_and_writes_nothing() {
    let (home, langfuse) = (Home::with_examples(), Langfuse::start());
    home.stdout(&["score", "--since", "all"]);
    let output = langfuse.run(&home, &["langfuse", "push", "--since", "all", "--dry-run"]);
    assert!(output.status.success() && words(&output.stdout).contains("would be written"), "{}", home.shown(&output));
    assert!(words(&output.stdout).lines().all(|line| columns(line) <= 80), "{}", home.shown(&output));
    let output = langfuse.run(&home, &["langfuse", "push", "--since", "all", "--dry-run", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["would_write"].as_array().unwrap().len() as u64, report["wanted"].as_u64().unwrap());
    let kept = langfuse.1.lock().unwrap();
    assert!(kept.scores.is_empty() && kept.configs.is_empty());
    assert!(kept.requests.iter().all(|request| request.starts_with("GET ")));
}
