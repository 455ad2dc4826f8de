use super::Home;
use insta::assert_snapshot;
use std::fs;

fn archived(home: &Home) -> usize {
    let names = fs::read_dir(home.path("data/hotwash/hotwash-archive")).unwrap();
    // Beside a transcript stands the state to go on from.
    names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().ends_with(".jsonl")).count()
}

#[test]
fn a_session_goes_from_store_and_archive_and_stays_away() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let before = archived(&home);
    assert_snapshot!(home.run(&["forget", "10227e43", "--yes"]));
    assert_eq!(archived(&home), before - 1);
    assert_eq!(home.output(&["show", "10227e43"]).status.code(), Some(2));
    let document = home.json(&["score", "--json", "--since", "all"]);
    assert_eq!(document["counts"]["skipped"]["forgotten"], 1);
    // Not even when the transcript grows.
    let path = home.path("claude/projects/-home-mara-orchard/9c8e76f8-3e50-4901-8238-aa3ef22a531b.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"type\":\"summary\"}}\n")).unwrap();
    assert_eq!(home.json(&["score", "--json", "--since", "all"])["counts"]["skipped"]["forgotten"], 1);
    let store = fs::read(home.store()).unwrap();
    assert!(!store.windows(17).any(|bytes| bytes == b"Pump read timeout"), "nothing of it is left in the file");
}

#[test]
fn subagents_go_with_their_session() {
    let home = Home::with_examples();
    home.stdout(&[]);
    assert_snapshot!(home.run(&["forget", "c2108e36", "--yes"]));
}

#[test]
fn a_project_or_a_period() {
    let home = Home::with_examples();
    home.stdout(&[]);
    home.stdout(&["forget", "--project", "orchard", "--yes"]);
    assert_eq!(home.json(&["score", "--json"])["sessions"].as_array().unwrap().len(), 12);
    home.stdout(&["forget", "--since", "2026-10-08", "--yes"]);
    let left = home.json(&["score", "--json", "--since", "all"]);
    let newest = left["sessions"].as_array().unwrap().last().unwrap()["to"].as_str().unwrap().to_owned();
    assert!(newest.starts_with("2026-10-07"), "{newest}");
}

#[test]
fn it_asks_first_and_says_what_is_meant() {
    let home = Home::with_examples();
    assert_snapshot!(home.run(&["forget", "last"]));
    home.stdout(&[]);
    assert_snapshot!(home.run(&["forget", "10227e43"]));
    assert_snapshot!(home.run(&["forget"]));
    assert!(home.stdout(&["show", "10227e43"]).contains("Pump"));
}
