//! One set of tests for every backend: what happens on the other side, and what must come of it.

use super::batches::Ledger as _;
#[cfg(unix)]
use super::claude_cli_tests;
use super::http::Network;
use super::testing::{Does, Got, Heard, KEY, START, Server, Shelf, impatient, network, prompt, says, waited, world};
use super::{Answer, Deferred as _, Failing, JudgeError, Key, Live as _, Question, Reply, Stop};
use super::{World, anthropic, batches, egress, files, openai};
use hotwash_core::sessions::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const GOOD: &str = r#"{"score":0.5}"#;
const PROSE: &str = "Here it is:\n```json\n{\"score\":0.5}\n```\nThat is all.";
const WRONG: &str = r#"{"points":"many"}"#;

/// What happens on the other side.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// It answers.
    Answers(&'static str, Stop),
    /// It fails with a status, and names a time in seconds.
    Fails(u16, Option<u32>),
    /// It fails with a status and a body of this many bytes.
    FailsAtLength(u16, usize),
    /// It says nothing.
    Hangs,
    /// It breaks off.
    Cuts,
    /// It says something that is not its protocol.
    Babbles,
    /// It points to another host.
    Redirects,
    /// It is not there.
    IsGone,
}
use Happens::{Answers, Babbles, Cuts, Fails, FailsAtLength, Hangs, IsGone, Redirects};

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    Text(&'static str, Stop),
    Fails(Failing),
    Waits,
}
use Comes::Text;

/// A scene: its name, what happens one after the other (the last for ever), what comes of it, how often the other side
/// is asked, and how many seconds are waited at least.
type Scene = (&'static str, &'static [Happens], Comes, usize, u64);

const OK: Happens = Answers(GOOD, Stop::End);
const END: Comes = Text(GOOD, Stop::End);
const SCENES: &[Scene] = &[
    ("success", &[OK], END, 1, 0),
    ("wrong key", &[Fails(401, None)], Comes::Fails(Failing::Denied), 1, 0),
    ("not allowed", &[Fails(403, None)], Comes::Fails(Failing::Denied), 1, 0),
    ("no money", &[Fails(402, None)], Comes::Fails(Failing::Exhausted), 1, 0),
    ("no such model", &[Fails(404, None)], Comes::Fails(Failing::NotThere), 1, 0),
    ("too large", &[Fails(413, None)], Comes::Fails(Failing::TooLarge), 1, 0),
    ("too many, then not", &[Fails(429, Some(7)), OK], END, 2, 7),
    ("too many for an hour", &[Fails(429, Some(3600)), OK], Comes::Fails(Failing::RateLimited), 1, 0),
    ("too many for ever", &[Fails(429, Some(1))], Comes::Fails(Failing::RateLimited), 6, 5),
    ("overloaded, then not", &[Fails(529, None), Fails(529, None), OK], END, 3, 0),
    ("failed, then not", &[Fails(500, None), OK], END, 2, 0),
    ("failed for ever", &[Fails(503, None)], Comes::Fails(Failing::Unavailable), 6, 0),
    ("slow, then not", &[Hangs, OK], END, 2, 0),
    ("slow for ever", &[Hangs], Comes::Fails(Failing::TimedOut), 2, 0),
    ("cut, then not", &[Cuts, OK], END, 2, 0),
    ("cut for ever", &[Cuts], Comes::Fails(Failing::Broken), 6, 0),
    ("refusal", &[Answers("no", Stop::Refusal)], Text("no", Stop::Refusal), 1, 0),
    ("no more room", &[Answers("{\"sc", Stop::MaxTokens)], Text("{\"sc", Stop::MaxTokens), 1, 0),
    ("prose around it", &[Answers(PROSE, Stop::End)], Text(PROSE, Stop::End), 1, 0),
    ("not what the schema says", &[Answers(WRONG, Stop::End)], Text(WRONG, Stop::End), 1, 0),
    ("nobody there", &[IsGone], Comes::Fails(Failing::Unreachable), 0, 0),
    ("a long complaint", &[FailsAtLength(401, 3_000_000)], Comes::Fails(Failing::Denied), 1, 0),
    ("babble", &[Babbles], Comes::Fails(Failing::Garbled), 1, 0),
    ("another place", &[Redirects], Comes::Fails(Failing::NotThere), 1, 0),
];

/// How a scene went.
#[derive(Debug)]
struct Played {
    /// What came back; none where one has to wait.
    result: Option<Result<Reply, JudgeError>>,
    /// How often the other side was asked.
    asked: usize,
    /// How often it was said that something is sent.
    told: usize,
    waited: Duration,
}

fn check(backend: &str, scene: &Scene, played: &Played) {
    let (name, _, comes, asked, seconds) = scene;
    let came = match &played.result {
        Some(Ok(reply)) => format!("{:?}", (&reply.text, reply.stop)),
        Some(Err(error)) => format!("{:?}", error.kind),
        None => "Waits".into(),
    };
    let expected = match comes {
        Text(text, stop) => format!("{:?}", (text, stop)),
        Comes::Fails(kind) => format!("{kind:?}"),
        Comes::Waits => "Waits".into(),
    };
    assert_eq!(came, expected, "{backend}, {name}: {played:?}");
    assert_eq!(played.asked, *asked, "{backend}, {name}: {played:?}");
    assert!(played.waited >= Duration::from_secs(*seconds), "{backend}, {name}: {played:?}");
    let shown = format!("{played:?}");
    assert!(!shown.contains(KEY) && !shown.contains("THE-KEY"), "{backend}, {name}: {shown}");
    assert!(shown.len() < 3000, "{backend}, {name}: {shown}");
    if let Some(Err(error)) = &played.result {
        assert!(!error.message.is_empty(), "{backend}, {name}");
    }
    // Nothing is asked without being told of, and what could not be asked was told of all the same.
    assert!(played.told >= played.asked, "{backend}, {name}: {played:?}");
}

/// A server that plays a scene, given how a backend's answers look.
fn theatre(happens: &'static [Happens], answer: fn(&str, Stop) -> Value) -> Server {
    Server::start(move |got, n| happening(happens, n, got, answer))
}

/// What a server does when something happens for the `n`th time.
fn happening(happens: &[Happens], n: usize, got: &Got, answer: fn(&str, Stop) -> Value) -> Does {
    match happens.get(n).or(happens.last()).copied().unwrap_or(Babbles) {
        Answers(text, stop) => says(200, &answer(text, stop).to_string()),
        Fails(status, seconds) => {
            let error = json!({"error": {"type": "some_error", "message": format!("your key {KEY} is odd")}});
            let named = seconds.iter().map(|seconds| ("retry-after", seconds.to_string()));
            let id = [("request-id", "req_1".to_owned())];
            Does::Says(status, named.chain(id).collect(), error.to_string().into_bytes())
        }
        FailsAtLength(status, length) => says(status, &format!("{KEY} ").repeat(length / KEY.len())),
        Hangs => Does::Hangs,
        Cuts => Does::Cuts(b"{\"content\":[{\"type\":\"text\",\"text\":\"{".to_vec()),
        Babbles | IsGone => says(200, "<html>Welcome to the hotel</html>"),
        Redirects => {
            // Another host by its name, and this one by its address: it would count a second request.
            let elsewhere = got.headers["host"].replace("127.0.0.1", "localhost");
            Does::Says(307, vec![("location", format!("http://{elsewhere}/v1/messages"))], Vec::new())
        }
    }
}

/// Short limits only where something hangs.
fn limits(happens: &[Happens]) -> Network {
    if happens.iter().any(|happens| matches!(happens, Hangs)) { impatient() } else { network() }
}

/// The address of a server, or of none where it is gone.
fn address(server: &Server, happens: &[Happens]) -> String {
    if matches!(happens, [IsGone, ..]) { "http://127.0.0.1:9".into() } else { server.base.clone() }
}

fn play_anthropic(happens: &'static [Happens]) -> Played {
    let server = theatre(happens, anthropic_message);
    let (world, heard) = world();
    let config = anthropic::Config {
        base: address(&server, happens),
        key: Key::new(KEY),
        several_critics: false,
        network: limits(happens),
    };
    let judge = anthropic::Anthropic::new(config, world.clone()).unwrap();
    let result = Some(judge.reply(&prompt(), "claude-haiku-5-5"));
    assert!(!format!("{judge:?}").contains(KEY));
    for got in server.got() {
        assert_eq!((&*got.method, &*got.path, &*got.headers["x-api-key"]), ("POST", "/v1/messages", KEY));
        assert_eq!(got.headers["anthropic-version"], "2023-06-01");
        assert_eq!(got.body, judge.body(&prompt(), "claude-haiku-5-5"), "what is shown is what is sent");
    }
    let told = heard.0.lock().unwrap().len();
    Played { result, asked: server.got().len(), told, waited: waited(&world) }
}

fn anthropic_message(text: &str, stop: Stop) -> Value {
    let stop = match stop {
        Stop::End => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": stop,
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2},
    })
}

fn play_openai(happens: &'static [Happens]) -> Played {
    let server = theatre(happens, completion);
    let (world, heard) = world();
    let base = format!("{}/v1", address(&server, happens));
    let config = openai::Config { base, key: Some(Key::new(KEY)), temperature: None, network: limits(happens) };
    let judge = openai::OpenAi::new(config, world.clone()).unwrap();
    let result = Some(judge.reply(&prompt(), "gpt"));
    assert!(!format!("{judge:?}").contains(KEY));
    for got in server.got() {
        assert_eq!((&*got.method, &*got.path), ("POST", "/v1/chat/completions"));
        assert_eq!(got.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(got.body, judge.body(&prompt(), "gpt"), "what is shown is what is sent");
    }
    let told = heard.0.lock().unwrap().len();
    Played { result, asked: server.got().len(), told, waited: waited(&world) }
}

fn completion(text: &str, stop: Stop) -> Value {
    let message = match stop {
        Stop::Refusal => json!({"role": "assistant", "content": null, "refusal": text}),
        _ => json!({"role": "assistant", "content": text, "refusal": null}),
    };
    let reason = if stop == Stop::MaxTokens { "length" } else { "stop" };
    json!({
        "model": "gpt", "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}},
    })
}

/// What happens, happens when a batch is sent; its results are there at once.
fn play_batches(happens: &'static [Happens]) -> Played {
    let posts = AtomicUsize::new(0);
    let server = Server::start(move |got, _| {
        if got.method == "POST" {
            let created = |_: &str, _| json!({"id": "msgbatch_1", "processing_status": "in_progress"});
            return happening(happens, posts.fetch_add(1, Ordering::SeqCst), got, created);
        }
        if got.path.ends_with("/results") {
            let Some(Answers(text, stop)) = happens.last().copied() else { return says(404, "") };
            let result = json!({"type": "succeeded", "message": anthropic_message(text, stop)});
            return says(200, &json!({"custom_id": "0123abcd", "result": result}).to_string());
        }
        let list = got.path.contains('?');
        let ended = json!({"id": "msgbatch_1", "processing_status": "ended"});
        says(200, &if list { json!({"data": [], "has_more": false}) } else { ended }.to_string())
    });
    let (world, heard) = world();
    let ledger = Shelf::default();
    let config = batches::Config::new(anthropic::Config {
        base: address(&server, happens),
        key: Key::new(KEY),
        several_critics: false,
        network: limits(happens),
    });
    let judge = batches::Batches::new(config, &ledger, world.clone()).unwrap();
    let prompt = prompt();
    let question = Question { id: "0123abcd", name: "s1.quality", prompt: &prompt, model: "claude-haiku-5-5" };
    let mut result = None;
    let round = judge.round(&[question], &mut |id, answer| {
        assert_eq!(id, question.id);
        assert!(result.is_none(), "told twice");
        result = match answer {
            Answer::Reply(reply) => {
                assert!(reply.batch);
                Some(Ok(reply))
            }
            Answer::Failed(error) => Some(Err(error)),
            Answer::Waits => None,
        };
    });
    if let Err(error) = round {
        result = Some(Err(error));
    }
    let posts = server.got().iter().filter(|got| got.method == "POST").count();
    assert!(ledger.open().unwrap().is_empty(), "{happens:?}");
    let told = heard.0.lock().unwrap().len();
    Played { result, asked: posts, told, waited: waited(&world) }
}

/// What happens, happens to the command.
#[cfg(unix)]
fn play_claude_cli(happens: &'static [Happens]) -> Played {
    let step = |happens: &Happens| {
        let failed = |status: u16, said: String| {
            json!({
                "type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
                "terminal_reason": "api_error", "result": said,
            })
        };
        let (out, code) = match *happens {
            Answers(_, Stop::MaxTokens) => (json!({"type": "result", "is_error": true, "result": FULL}).to_string(), 1),
            Answers(GOOD, stop) => {
                let mut out = claude_cli_tests::went_well("Done.", stop);
                out["structured_output"] = serde_json::from_str(GOOD).unwrap();
                (out.to_string(), 0)
            }
            Answers(text, stop) => (claude_cli_tests::went_well(text, stop).to_string(), 0),
            Fails(status, _) => (failed(status, format!("API Error: {status} {KEY}")).to_string(), 1),
            FailsAtLength(status, length) => (failed(status, KEY.repeat(length / KEY.len())).to_string(), 1),
            Redirects => (failed(307, "API Error: 307".into()).to_string(), 1),
            Cuts => ("{\"type\":\"result\",\"resu".into(), 1),
            Babbles => ("Welcome to the hotel".into(), 0),
            Hangs | IsGone => (String::new(), 0),
        };
        claude_cli_tests::Step { out, code, hangs: matches!(happens, Hangs) }
    };
    let steps: Vec<_> = happens.iter().filter(|happens| !matches!(happens, IsGone)).map(step).collect();
    let run = claude_cli_tests::stand_in(&steps, claude_cli_tests::HELP);
    Played { result: Some(run.result), asked: run.asked, told: run.told, waited: run.waited }
}

/// What the command says when an answer has no more room.
#[cfg(unix)]
const FULL: &str = "API Error: Claude's response exceeded the 32000 output token maximum.";

/// The command names no times, its answers without room are its own words, and where it is not there it never will be.
#[cfg(unix)]
fn in_claude_cli(scene: Scene) -> Scene {
    let (name, happens, comes, asked, _) = scene;
    match happens {
        [Fails(429, Some(3600)), ..] => (name, happens, END, 2, 0),
        [Answers(_, Stop::MaxTokens)] => (name, happens, Text(FULL, Stop::MaxTokens), asked, 0),
        [IsGone] => (name, happens, Comes::Fails(Failing::NotThere), asked, 0),
        _ => (name, happens, comes, asked, 0),
    }
}

/// Somebody answers in a folder between rounds; nobody is asked over a network.
fn play_files(happens: &'static [Happens]) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let (world, heard) = world();
    let judge = files::Files::new(folder.path(), world.clone());
    let prompt = prompt();
    let question = Question { id: "0123abcd", name: "s1.quality", prompt: &prompt, model: "somebody" };
    let mut result = None;
    let mut round = || {
        judge.round(&[question], &mut |id, answer| {
            assert_eq!(id, question.id);
            result = match answer {
                Answer::Reply(reply) => Some(Ok(reply)),
                Answer::Failed(error) => Some(Err(error)),
                Answer::Waits => None,
            };
        })
    };
    round().unwrap();
    for happens in happens {
        let reply = match happens {
            Answers(text, _) => (*text).to_owned(),
            Fails(status, _) | FailsAtLength(status, _) => format!("{{\"error\":\"status {status} {KEY}\"}}"),
            Cuts => "{\"score\":".into(),
            Hangs | IsGone | Redirects => String::new(),
            Babbles => "I do not know.".into(),
        };
        std::fs::write(folder.path().join("s1.quality.reply.json"), reply).unwrap();
        round().unwrap();
    }
    let told = heard.0.lock().unwrap().len();
    Played { result, asked: 0, told, waited: waited(&world) }
}

/// In a folder whatever is not an answer is waited for, and nobody knows why an answer ended.
fn in_files(scene: Scene) -> Scene {
    let (name, happens, comes, ..) = scene;
    let comes = match (happens.last(), comes) {
        (Some(Cuts), _) | (_, Comes::Fails(_)) if !matches!(happens.last(), Some(Babbles | Answers(..))) => {
            Comes::Waits
        }
        (Some(Answers("{\"sc", _)), _) => Comes::Waits,
        (Some(Answers(text, _)), _) => Text(text, Stop::End),
        (Some(Babbles), _) => Text("I do not know.", Stop::End),
        (_, comes) => comes,
    };
    (name, happens, comes, 0, 0)
}

#[test]
fn the_messages_api() {
    for scene in SCENES {
        check("anthropic", scene, &play_anthropic(scene.1));
    }
}

#[test]
fn servers_that_speak_like_openai() {
    for scene in SCENES {
        check("openai", scene, &play_openai(scene.1));
    }
}

#[test]
fn batches_of_messages() {
    for scene in SCENES {
        check("anthropic-batch", scene, &play_batches(scene.1));
    }
}

#[cfg(unix)]
#[test]
fn the_claude_command() {
    for scene in SCENES {
        check("claude-cli", &in_claude_cli(*scene), &play_claude_cli(scene.1));
    }
}

#[test]
fn a_folder() {
    for scene in SCENES {
        check("files", &in_files(*scene), &play_files(scene.1));
    }
}

/// A judge over a server, and the world it lives in.
fn judge_of(server: &Server) -> (anthropic::Anthropic, World, Arc<Heard>) {
    let (world, heard) = world();
    let key = Key::new(KEY);
    let config = anthropic::Config { base: server.base.clone(), key, several_critics: false, network: network() };
    (anthropic::Anthropic::new(config, world.clone()).unwrap(), world, heard)
}

#[test]
fn what_one_thread_is_told_holds_for_all() {
    let server = Server::start(|_, n| match n {
        0 => Does::Says(429, vec![("retry-after", "900".into())], Vec::new()),
        _ => says(200, &anthropic_message(GOOD, Stop::End).to_string()),
    });
    let (judge, world, _) = judge_of(&server);
    let error = judge.reply(&prompt(), "m").unwrap_err();
    assert!(error.message.contains("asks to wait 900 s"), "{error}");
    let error = judge.reply(&prompt(), "m").unwrap_err();
    assert_eq!((error.kind, error.requests, server.got().len()), (Failing::RateLimited, 0, 1), "{error}");
    world.clock.sleep(Duration::from_secs(890));
    assert!(judge.reply(&prompt(), "m").is_ok(), "it waits for the rest");
    assert!(waited(&world) >= Duration::from_secs(900));
    assert_eq!(server.got().len(), 2);
}

#[test]
fn what_is_used_up_is_waited_for() {
    let reset = Timestamp(START.0 + 30_000).to_string();
    let server = Server::start(move |_, _| {
        let headers = vec![
            ("anthropic-ratelimit-requests-remaining", "0".to_owned()),
            ("anthropic-ratelimit-requests-reset", reset.clone()),
        ];
        Does::Says(200, headers, anthropic_message(GOOD, Stop::End).to_string().into_bytes())
    });
    let (judge, world, _) = judge_of(&server);
    assert!(judge.reply(&prompt(), "m").is_ok());
    assert_eq!(waited(&world), Duration::ZERO);
    assert!(judge.reply(&prompt(), "m").is_ok());
    assert!(waited(&world) >= Duration::from_secs(30));
}

#[test]
fn stopping_ends_waiting_and_sends_nothing_more() {
    let server = Server::start(|_, _| says(529, ""));
    let (judge, world, _) = judge_of(&server);
    world.stop.store(true, Ordering::SeqCst);
    assert_eq!(judge.reply(&prompt(), "m").unwrap_err().kind, Failing::Stopped);
    assert_eq!(server.got().len(), 0);

    let stop = world.stop.clone();
    let server = Server::start(move |_, _| {
        stop.store(true, Ordering::SeqCst);
        says(529, "")
    });
    world.stop.store(false, Ordering::SeqCst);
    let key = Key::new(KEY);
    let config = anthropic::Config { base: server.base.clone(), key, several_critics: false, network: network() };
    let judge = anthropic::Anthropic::new(config, world).unwrap();
    // It was refused, but only for now: that it was stopped says more.
    let stopped = judge.reply(&prompt(), "m").unwrap_err();
    assert_eq!((stopped.kind, stopped.requests), (Failing::Stopped, 1));
    assert_eq!(server.got().len(), 1);
}

/// A log that cannot be written.
struct Full;

impl egress::Egress for Full {
    fn sending(&self, _: &egress::Sending) -> Result<(), String> {
        Err("disk full".into())
    }
}

#[test]
fn what_is_sent_is_told_first_or_not_sent() {
    let server = theatre(&[Fails(500, None), OK], anthropic_message);
    let (judge, _, heard) = judge_of(&server);
    assert!(judge.reply(&prompt(), "m").is_ok());
    let body = judge.body(&prompt(), "m");
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(heard.len(), 2, "each attempt");
    for sending in heard {
        assert_eq!(format!("http://{}", sending.host), server.base);
        assert_eq!((sending.bytes, sending.sha256), (body.len() as u64, hotwash_core::hash::sha256(&[&body])));
    }

    let server = theatre(&[OK], anthropic_message);
    let world = World { egress: Arc::new(Full), ..world().0 };
    let key = Key::new(KEY);
    let config = anthropic::Config { base: server.base.clone(), key, several_critics: false, network: network() };
    let error = anthropic::Anthropic::new(config, world).unwrap().reply(&prompt(), "m").unwrap_err();
    assert!(error.message.contains("disk full"), "{error}");
    assert_eq!(server.got().len(), 0);
}

#[test]
fn addresses_and_keys_are_checked_before_anything_is_sent() {
    for (base, key, kind) in [
        ("api.anthropic.com", KEY, Failing::NotThere),
        ("ftp://x", KEY, Failing::NotThere),
        ("https://user:pass@x", KEY, Failing::NotThere),
        ("https://x", " ", Failing::Denied),
    ] {
        let config =
            anthropic::Config { base: base.into(), key: Key::new(key), several_critics: false, network: network() };
        let error = anthropic::Anthropic::new(config, world().0).unwrap_err();
        assert_eq!(error.kind, kind, "{base}");
        assert!(!error.message.contains("pass@"), "{error}");
    }
    let server = theatre(&[OK], anthropic_message);
    let config = anthropic::Config {
        base: server.base.clone(),
        key: Key::new("two\nlines"),
        several_critics: false,
        network: network(),
    };
    let error = anthropic::Anthropic::new(config, world().0).unwrap().reply(&prompt(), "m").unwrap_err();
    assert_eq!((error.kind, server.got().len()), (Failing::Denied, 0));
    assert!(!error.message.contains("lines"), "{error}");
}
