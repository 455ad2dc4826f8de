//! What tests of clients stand on: a clock that does not wait, and a server that follows a script.

use super::egress::{Egress, Sending};
use super::http::Network;
use super::{Clock, World};
use hotwash_core::sessions::Timestamp;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A key that nobody may see.
pub(crate) const KEY: &str = "sk-test-THE-KEY-THAT-NOBODY-MAY-SEE";

/// A clock that goes on when somebody waits.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicI64);

/// When tests begin.
pub(crate) const START: Timestamp = Timestamp(1_790_000_000_000);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    fn sleep(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }
}

/// Keeps what it hears.
#[derive(Debug, Default)]
pub(crate) struct Heard(pub(crate) Mutex<Vec<Sending>>);

impl Egress for Heard {
    fn sending(&self, request: &Sending) -> Result<(), String> {
        self.0.lock().unwrap().push(request.clone());
        Ok(())
    }
}

/// A world with a clock that does not wait, and what was sent in it.
pub(crate) fn world() -> (World, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let clock = Arc::new(TestClock(AtomicI64::new(START.0)));
    (World { clock, ..World::new(heard.clone()) }, heard)
}

/// How long was waited in a world.
pub(crate) fn waited(world: &World) -> Duration {
    Duration::from_millis((world.clock.now().0 - START.0) as u64)
}

/// Limits that a busy machine keeps.
pub(crate) fn network() -> Network {
    Network { call: Duration::from_secs(60), ..Network::default() }
}

/// Limits that make a test of a timeout short.
pub(crate) fn impatient() -> Network {
    Network { call: Duration::from_millis(800), ..Network::default() }
}

/// What a server got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What a server does.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Answers.
    Says(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Answers with success, and breaks off after some bytes.
    Cuts(Vec<u8>),
    /// Answers with success, gives no length, and breaks off after some bytes.
    CutsUnseen(Vec<u8>),
    /// Says nothing for a while.
    Hangs,
}

/// A server on this machine that does what a function says.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) base: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Server {
    /// Starts one. The function is told the request and how many came before it.
    pub(crate) fn start(act: impl Fn(&Got, usize) -> Does + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let (act, all) = (Arc::new(act), got.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (act, all) = (act.clone(), all.clone());
                std::thread::spawn(move || serve(stream, &*act, &all));
            }
        });
        Server { base, got }
    }

    /// What it got so far.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

pub(crate) fn says(status: u16, body: &str) -> Does {
    Does::Says(status, Vec::new(), body.as_bytes().to_vec())
}

fn serve(stream: TcpStream, act: &dyn Fn(&Got, usize) -> Does, all: &Mutex<Vec<Got>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut out = stream;
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let got = Got { method, path, headers, body };
    let before = {
        let mut all = all.lock().unwrap();
        all.push(got.clone());
        all.len() - 1
    };
    let write = |out: &mut TcpStream, head: &str, body: &[u8]| {
        out.write_all(head.as_bytes()).and_then(|()| out.write_all(body)).and_then(|()| out.flush()).ok()
    };
    match act(&got, before) {
        Does::Says(status, headers, body) => {
            let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let headers = headers.concat();
            let length = body.len();
            write(
                &mut out,
                &format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"),
                &body,
            )
        }
        Does::Cuts(body) => {
            let length = body.len() + 1000;
            write(&mut out, &format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"), &body)
        }
        Does::CutsUnseen(body) => write(&mut out, "HTTP/1.1 200 X\r\nconnection: close\r\n\r\n", &body),
        Does::Hangs => {
            std::thread::sleep(Duration::from_secs(10));
            None
        }
    }
}
