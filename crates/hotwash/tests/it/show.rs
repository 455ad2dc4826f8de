use super::{Home, columns};
use insta::assert_snapshot;
use std::fs;

#[test]
fn a_session_that_went_wrong() {
    assert_snapshot!(Home::empty().run(&["show", "10227e43"]));
}

#[test]
fn an_event_as_a_whole() {
    assert_snapshot!(Home::empty().run(&["show", "10227e43", "e11"]));
}

#[test]
fn every_event() {
    assert_snapshot!(Home::empty().run(&["show", "10227e43", "--events"]));
}

#[test]
fn by_the_agents_own_id_and_by_last() {
    let home = Home::with_examples();
    assert!(home.stdout(&["show", "9c8e76f8"]).starts_with("10227e43  Pump read timeout"));
    assert!(home.stdout(&["show", "last"]).starts_with("4cdb26d1"));
}

#[test]
fn ids_that_are_none_or_many() {
    let home = Home::with_examples();
    assert_snapshot!(home.run(&["show", "ffffffff"]));
    assert_snapshot!(home.run(&["show", "8"]));
    assert_snapshot!(home.run(&["show", "10227e43", "e4711"]));
    assert_snapshot!(home.run(&["show", "10227e43", "first"]));
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let home = Home::with_examples();
    let document = home.json(&["score", "--json", "--since", "all", "--subagents"]);
    for session in document["sessions"].as_array().unwrap() {
        let text = home.stdout(&["show", session["id"].as_str().unwrap()]);
        for line in text.lines() {
            assert!(columns(line) <= 80, "{line}");
        }
    }
}

#[test]
fn a_transcript_that_is_gone_is_read_from_the_archive() {
    let home = Home::with_examples();
    home.stdout(&[]);
    fs::remove_dir_all(home.path("claude")).unwrap();
    let text = home.stdout(&["show", "10227e43"]);
    assert!(text.contains("read from the archive"), "{text}");
    assert!(text.contains("TURN 3"), "{text}");
    assert!(home.stdout(&[]).contains("24 found"), "sessions stay when transcripts go");
}

#[test]
fn an_archive_that_is_switched_off_is_still_read() {
    let home = Home::with_examples();
    home.stdout(&[]);
    fs::remove_dir_all(home.path("claude")).unwrap();
    assert!(home.stdout(&["show", "10227e43", "--no-archive"]).contains("TURN 3"));
}

#[test]
fn without_an_archive_the_grade_stays() {
    let home = Home::with_examples();
    home.stdout(&["--no-archive"]);
    fs::remove_dir_all(home.path("claude")).unwrap();
    let text = home.stdout(&["show", "10227e43"]);
    assert!(text.contains("Poor 30 of 100") && text.contains("no timeline"), "{text}");
}

#[test]
fn secrets_never_reach_the_screen() {
    let home = Home::empty();
    fs::create_dir_all(home.path("claude/projects/p")).unwrap();
    let secret = "hunter2-correct-horse-battery";
    let line = format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-10-05T08:00:00Z","cwd":"/home/mara/a","message":{{"role":"user","content":"deploy with {secret} please"}}}}"#
    );
    fs::write(home.path("claude/projects/p/a.jsonl"), line + "\n").unwrap();
    for args in [&["show", "last"][..], &["show", "last", "e1"], &["sessions"], &["export"], &["score", "--json"]] {
        let output = home.command(args).env("DEPLOY_TOKEN", secret).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains(secret), "{args:?}: {text}");
    }
}
