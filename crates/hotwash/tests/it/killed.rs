//! Killed in the middle of judging, again and again: what was answered is not asked again.

use super::Home;
use super::obliging::{self, Mood, server::Server};
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const CONCURRENCY: usize = 8;

#[test]
fn what_was_answered_before_a_kill_is_not_asked_again() {
    // All 20 kills over 200 sessions take minutes without optimisation; a few show the same.
    let slow = std::env::var_os("HOTWASH_SLOW_TESTS").is_some();
    let (sessions, kills) = if slow { (200, 20) } else { (40, 3) };
    let home = Home::empty();
    let folder = home.path("claude/projects/p");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..sessions {
        fs::write(folder.join(format!("s{number}.jsonl")), obliging::small_session(&format!("s{number}"))).unwrap();
    }
    let server = Server::new(Duration::from_millis(15), false, |asked| {
        obliging::answer(&asked.schema, &asked.text, Mood::Delighted).to_string()
    });
    let command = || {
        let concurrency = CONCURRENCY.to_string();
        let args =
            ["score", "--since", "all", "--judge", "openai:m", "--tasks", "quality", "--concurrency", &concurrency];
        let mut command = home.command(&args);
        command.env("OPENAI_BASE_URL", &server.url).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut killed = 0;
    for kill in 1..=kills {
        let mut child = command().spawn().unwrap();
        // By what can be seen, not by the clock: when a share of the questions has come in.
        let share = sessions * kill / (kills + 1);
        while server.requests() < share && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        }
        child.wait().unwrap();
    }
    assert!(killed > 0);
    assert!(command().status().unwrap().success());
    let calls = server.requests();
    println!("{sessions} sessions, {killed} kills: {calls} calls");
    assert!(calls <= sessions + killed * CONCURRENCY, "{calls} calls for {sessions} sessions and {killed} kills");
    let document = home.json(&["score", "--since", "all", "--json"]);
    let judged = document["sessions"].as_array().unwrap().iter().filter(|session| !session["judged"].is_null());
    assert_eq!(judged.count(), sessions);
    assert!(home.stdout(&["doctor"]).contains("ok"));
}
