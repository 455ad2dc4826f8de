//! A server on loopback that answers as the Messages API and as OpenAI's do, so long after a
//! question has come, and remembers every byte.

use super::{Mood, answer};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What a server does with a question: the text of the answer.
pub(crate) type Script = dyn Fn(&Asked) -> String + Send + Sync;

/// A question as it arrived.
pub(crate) struct Asked {
    /// Everything that the model was told.
    pub(crate) text: String,
    /// The schema of the answer.
    pub(crate) schema: Value,
}

/// The server. It lives as long as the process.
pub(crate) struct Server {
    /// Where it listens: `http://127.0.0.1:1234`.
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    script: Box<Script>,
    delay: Duration,
    requests: AtomicUsize,
    bytes: Mutex<Vec<Vec<u8>>>,
    remembers: bool,
}

impl Server {
    /// One that is always in the same mood.
    pub(crate) fn in_the_mood(mood: Mood) -> Server {
        Server::new(Duration::ZERO, true, move |asked| answer(&asked.schema, &asked.text, mood).to_string())
    }

    /// One by a script.
    pub(crate) fn new(
        delay: Duration,
        remembers: bool,
        script: impl Fn(&Asked) -> String + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, bytes) = (AtomicUsize::new(0), Mutex::default());
        let state = Arc::new(State { script: Box::new(script), delay, requests, bytes, remembers });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || state.serve(stream));
            }
        });
        Server { url, state }
    }

    /// How many questions arrived.
    pub(crate) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// Everything that arrived, headers and all; the first question only, where it does not remember.
    pub(crate) fn bytes(&self) -> Vec<Vec<u8>> {
        self.state.bytes.lock().unwrap().clone()
    }
}

impl State {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut out = stream.try_clone().ok()?;
        let mut input = BufReader::new(stream);
        loop {
            let (mut head, mut length) = (Vec::new(), 0);
            loop {
                let from = head.len();
                if input.read_until(b'\n', &mut head).ok()? == 0 {
                    return None;
                }
                let line = String::from_utf8_lossy(&head[from..]).to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().ok()?;
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            input.read_exact(&mut body).ok()?;
            let due = Instant::now() + self.delay;
            self.requests.fetch_add(1, Ordering::SeqCst);
            let reply = self.reply(&serde_json::from_slice(&body).unwrap_or_default());
            let mut bytes = self.bytes.lock().unwrap();
            if self.remembers || bytes.is_empty() {
                bytes.push([head, body].concat());
            }
            drop(bytes);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", reply.len());
            out.write_all(&[head.as_bytes(), reply.as_bytes()].concat()).ok()?;
        }
    }

    fn reply(&self, body: &Value) -> String {
        let format = &body["output_config"]["format"];
        let is_anthropic = format.is_object();
        let schema = if is_anthropic { &format["schema"] } else { &body["response_format"]["json_schema"]["schema"] };
        let mut text = texts(&body["system"]);
        for message in body["messages"].as_array().into_iter().flatten() {
            text = format!("{text}\n{}", texts(&message["content"]));
        }
        let said = (self.script)(&Asked { text, schema: schema.clone() });
        let reply = if is_anthropic {
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                "content": [{ "type": "text", "text": said }], "stop_reason": "end_turn",
                "usage": { "input_tokens": 1000, "output_tokens": 100 },
            })
        } else {
            json!({
                "id": "c1", "object": "chat.completion", "model": body["model"],
                "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": said } }],
                "usage": { "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100 },
            })
        };
        reply.to_string()
    }
}

/// The texts of a content, one after the other.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
