//! How fast sessions are judged: `judging HOTWASH [SESSIONS [CONCURRENCY [DELAY_MS]]]`.
//!
//! Makes small sessions, has the program judge them against a server of ours that answers after a while, and prints the
//! rate beside the best that so many calls at once allow, and beside what a client gets here that does nothing but send
//! as many bytes and wait: the server works on the same machine.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example talks to who runs it, and may fail")]

#[path = "../tests/obliging/mod.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod obliging;

use obliging::{Mood, server::Server};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("the program");
    let mut number = |usual: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (sessions, concurrency, delay) = (number(1000), number(32), number(50));
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("claude/projects/p");
    fs::create_dir_all(&folder).unwrap();
    for at in 0..sessions {
        fs::write(folder.join(format!("s{at}.jsonl")), obliging::small_session(&format!("s{at}"))).unwrap();
    }
    // The same answer for all, so that the time is the program's and not the server's.
    let server = Server::new(Duration::from_millis(delay as u64), false, |asked| {
        obliging::answer(&asked.schema, &asked.text, Mood::Delighted).to_string()
    });
    let run = |judge: bool| {
        let mut command = Command::new("/usr/bin/env");
        command.arg(&program).args(["score", "--since", "all"]);
        if judge {
            command.args(["--judge", "openai:m", "--tasks", "quality", "--concurrency", &concurrency.to_string()]);
        }
        command.env("HOME", home.path()).env("XDG_DATA_HOME", home.path().join("data"));
        command.env("CLAUDE_CONFIG_DIR", home.path().join("claude")).env("OPENAI_BASE_URL", &server.url);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        assert!(command.status().unwrap().success());
        begun.elapsed()
    };
    // Reading and grading offline is not what is measured.
    run(false);
    let without = run(false);
    let whole = run(true);
    let ideal = Duration::from_millis((delay * sessions.div_ceil(concurrency)) as u64);
    let share = |time: Duration| 100.0 * ideal.as_secs_f64() / time.as_secs_f64();
    println!("{sessions} sessions, {concurrency} at once, {delay} ms an answer: {} calls", server.requests());
    println!("ideal {ideal:.2?}; whole command {whole:.2?} ({:.0} % of the ideal rate)", share(whole));
    println!("less the same command without judging, {without:.2?}: {:.0} %", share(whole.saturating_sub(without)));
    let idle = only_send(&server, sessions, concurrency);
    println!("a client that only sends as much and waits: {idle:.2?} ({:.0} %)", share(idle));
}

/// Sends the question that came first as often as there are sessions, so many at once, and reads the answers.
fn only_send(server: &Server, sessions: usize, concurrency: usize) -> Duration {
    let question = server.bytes().swap_remove(0);
    let left = AtomicUsize::new(sessions);
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..concurrency {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
                stream.set_nodelay(true).unwrap();
                let mut answer = vec![0; 1 << 20];
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    stream.write_all(&question).unwrap();
                    // The server writes an answer in one piece, and nothing before the next question.
                    let mut read = stream.read(&mut answer).unwrap();
                    while !answer[..read].ends_with(b"}") {
                        read += stream.read(&mut answer[read..]).unwrap();
                    }
                }
            });
        }
    });
    begun.elapsed()
}
