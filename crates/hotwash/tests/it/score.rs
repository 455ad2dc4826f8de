use super::{Home, fixture, root};
use insta::assert_snapshot;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

#[test]
fn the_numbers_add_up() {
    let home = Home::with_examples();
    for args in [
        &["score", "--json"][..],
        &["score", "--json", "--since", "24h"],
        &["score", "--json", "--since", "all", "--subagents"],
    ] {
        let document = home.json(args);
        let counts = &document["counts"];
        let sum = |key: &str| counts[key].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
        assert_eq!(counts["found"], counts["graded"].as_u64().unwrap() + sum("skipped") + sum("failed"), "{counts}");
        let graded = document["sessions"].as_array().unwrap().iter();
        let graded = graded.filter(|session| !session["overall"].is_null() || !session["process"].is_null());
        assert_eq!(counts["graded"], graded.count() as u64);
    }
}

#[test]
fn the_same_bytes_whatever_the_jobs_and_however_often() {
    let args = |jobs| ["score", "--json", "--facts", "--since", "all", "--subagents", "--jobs", jobs];
    // One home: the paths are part of the document.
    let home = Home::with_examples();
    let first = home.stdout(&args("1"));
    assert_eq!(first, home.stdout(&args("4")));
    fs::remove_dir_all(home.path("data/hotwash")).unwrap();
    assert_eq!(first, home.stdout(&args("4")));
}

#[test]
fn a_session_in_json() {
    let home = Home::empty();
    let transcript = root().join("examples/projects/-home-mara-orchard/9c8e76f8-3e50-4901-8238-aa3ef22a531b.jsonl");
    assert_snapshot!(home.run(&["score", transcript.to_str().unwrap(), "--json"]));
}

#[test]
fn every_key_is_documented() {
    fn keys(value: &Value, into: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
            Value::Object(values) => {
                for (key, value) in values {
                    into.insert(key.clone());
                    keys(value, into);
                }
            }
            _ => {}
        }
    }
    let home = Home::with_examples();
    let mut all = std::collections::BTreeSet::new();
    for args in
        [&["score", "--json"][..], &["sessions", "--json"], &["doctor", "--json"], &["prism", "--json", "--by", "week"]]
    {
        keys(&home.json(args), &mut all);
    }
    let docs = fs::read_to_string(root().join("docs/json.md")).unwrap();
    let missing: Vec<_> = all.into_iter().filter(|key| !docs.contains(&format!("`{key}`"))).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_subagent_that_is_named_is_meant() {
    let home = Home::empty();
    let name = "c2108e36-e011-487c-b8e0-29d80aaba9f6/subagents/agent-abe5c6ec9ec0dcf4a.jsonl";
    let transcript = root().join("examples/projects/-home-mara-tidepool").join(name);
    let document = home.json(&["score", "--json", transcript.to_str().unwrap()]);
    assert_eq!(document["sessions"][0]["kind"], "subagent");
}

#[test]
fn items_move_the_start_to_the_value() {
    let document = Home::with_examples().json(&["score", "--json", "--since", "all"]);
    for session in document["sessions"].as_array().unwrap() {
        for score in session["scores"].as_array().unwrap().iter().filter(|score| score.get("value").is_some()) {
            let number = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as i64;
            let items = score["items"].as_array().unwrap();
            let sum: i64 = number(&score["start"]) + items.iter().map(|item| number(&item["amount"])).sum::<i64>();
            assert_eq!(sum, number(&score["value"]), "{score}");
        }
    }
}

#[test]
fn under_the_bar_is_exit_1() {
    let home = Home::with_examples();
    let output = home.output(&["score", "--fail-under", "99"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("under 99"));
    assert_eq!(home.output(&["score", "--fail-under", "10"]).status.code(), Some(0));
    assert_eq!(home.output(&["score", "--fail-under", "101"]).status.code(), Some(2));
}

#[test]
fn gates_look_at_one_kind_of_score_each() {
    let home = Home::with_examples();
    let code = |args: &[&str]| home.output(args).status.code();
    assert_eq!(code(&["score", "--fail-under-process", "99"]), Some(1));
    assert_eq!(code(&["score", "--fail-under-process", "10", "--fail-under", "10"]), Some(0));
    assert_eq!(code(&["score", "--fail-under-process", "10", "--fail-under", "99"]), Some(1));
    // Nothing shows whether the only session of this transcript reached its goal.
    let undecided = root().join("examples/projects/-home-mara-orchard/1fadb80d-f69b-48d8-8ca8-207ee198c578.jsonl");
    let undecided = undecided.display().to_string();
    let block = home.run(&["score", &undecided, "--fail-under", "10"]);
    assert!(block.starts_with("exit: 2") && block.contains("hint: an overall score needs"), "{block}");
    assert_eq!(code(&["score", &undecided, "--fail-under-process", "10"]), Some(0));
}

#[test]
fn the_verdict_does_not_hang_on_who_reads_on() {
    let home = Home::with_examples();
    fs::write(home.path("work/.hotwash.toml"), "fail_under = 99\n").unwrap();
    for args in [&["score", "--json", "--fail-under", "98"][..], &["score", "--json"], &["score"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{args:?}");
    }
    assert_eq!(home.output(&["score"]).status.code(), Some(1));
    assert_eq!(home.output(&["score", "--fail-under", "10"]).status.code(), Some(0));
    assert_eq!(home.output(&["sessions"]).status.code(), Some(0));
    fs::write(home.path("work/.hotwash.toml"), "fail_under = 101\n").unwrap();
    let block = home.run(&["score"]);
    assert!(block.starts_with("exit: 2") && block.contains("line 1: `fail_under` is `101`"), "{block}");
}

const ORCHARD: &str = "examples/projects/-home-mara-orchard/9c8e76f8-3e50-4901-8238-aa3ef22a531b.jsonl";

/// What a document says of its sessions, without where they are.
fn grades(document: &Value) -> Vec<(Value, Value, Value)> {
    let sessions = document["sessions"].as_array().unwrap();
    sessions.iter().map(|one| (one["id"].clone(), one["overall"].clone(), one["scores"].clone())).collect()
}

#[test]
fn what_is_given_is_graded_whatever_the_store_knows() {
    let home = Home::with_examples();
    let whole = fs::read_to_string(root().join(ORCHARD)).unwrap();
    fs::write(home.path("work/copy.jsonl"), &whole).unwrap();
    let half: String = whole.split_inclusive('\n').take(whole.lines().count() / 2).collect();
    fs::write(home.path("work/half.jsonl"), half).unwrap();
    let given = |name: &str| grades(&home.json(&["score", "--json", name]));
    let alone = (given("copy.jsonl"), given("half.jsonl"));
    assert!(!home.store().exists(), "nothing is kept");
    assert_eq!((alone.0.len(), alone.1.len()), (1, 1));
    let before = home.run(&[]);
    assert_eq!((given("copy.jsonl"), given("half.jsonl")), alone);
    // A transcript that is much newer does not move anybody's week.
    fs::write(home.path("work/newer.jsonl"), whole.replace("\"2026-", "\"2027-").replace("uuid\":\"", "uuid\":\"f"))
        .unwrap();
    assert_eq!(given("newer.jsonl").len(), 1);
    assert_eq!(home.run(&[]), before);
    let text = home.stdout(&["score", "newer.jsonl"]);
    assert!(text.contains("Nothing kept.") && text.contains("--keep"), "{text}");
    // Unless that is wanted.
    assert_eq!(grades(&home.json(&["score", "--json", "--keep", "newer.jsonl"])).len(), 1);
    assert_ne!(home.run(&[]), before);
    assert!(home.stdout(&["sessions"]).contains("1 session ("));
    assert_eq!(home.output(&["score", "--keep"]).status.code(), Some(2));
    assert_eq!(home.output(&["score", "--keep", "-"]).status.code(), Some(2));
}

#[test]
fn nothing_to_grade_says_why_of_each_file() {
    let home = Home::empty();
    let whole = fs::read(root().join(ORCHARD)).unwrap();
    let utf16: Vec<u8> = String::from_utf8_lossy(&whole).encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(home.path("work/utf16.jsonl"), [&b"\xff\xfe"[..], &utf16].concat()).unwrap();
    fs::write(home.path("work/packed.jsonl"), b"\x1f\x8b\x08\0\0\0\0\0\0\x03garbage\ngarbage\n").unwrap();
    fs::write(home.path("work/broken.jsonl"), "{\"type\":\n{\"type\":\n").unwrap();
    fs::create_dir(home.path("work/none")).unwrap();
    let names = ["empty.jsonl", "codex-rollout.jsonl", "not-json.jsonl"];
    for name in names {
        fs::copy(fixture(name), home.path("work").join(name)).unwrap();
    }
    let mut args = vec!["score", "utf16.jsonl", "packed.jsonl", "broken.jsonl"];
    args.extend(names);
    assert_snapshot!(home.run(&args));
    assert!(home.run(&["score", "none"]).contains("none: no transcript (.jsonl) in it"));
    let mut command = home.command(&["score", "-"]);
    let output = command.stdin(fs::File::open(home.path("work/not-json.jsonl")).unwrap()).output().unwrap();
    let block = home.shown(&output);
    assert!(block.starts_with("exit: 2") && block.contains("cause: -: "), "{block}");
    // What can be graded is, beside what cannot.
    fs::write(home.path("work/whole.jsonl"), &whole).unwrap();
    let output = home.output(&["score", "empty.jsonl", "whole.jsonl"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("empty.jsonl (an empty file)"));
}

#[test]
fn a_byte_order_mark_costs_no_line() {
    let home = Home::empty();
    let whole = fs::read(root().join(ORCHARD)).unwrap();
    let mut given = Vec::new();
    for mark in [&b""[..], b"\xef\xbb\xbf"] {
        fs::write(home.path("work/marked.jsonl"), [mark, &whole].concat()).unwrap();
        given.push(home.json(&["score", "--json", "--facts", "marked.jsonl"]));
    }
    assert_eq!(given[0], given[1]);
    assert_eq!(given[1]["warnings"]["malformed_lines"], 0);
}

#[test]
fn stdin_is_graded_and_not_kept() {
    let home = Home::empty();
    let transcript = root().join("examples/projects/-home-mara-orchard/9c8e76f8-3e50-4901-8238-aa3ef22a531b.jsonl");
    let mut command = home.command(&["score", "-", "--json"]);
    let output = command.stdin(fs::File::open(transcript).unwrap()).stdout(Stdio::piped()).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["counts"]["graded"], 1);
    assert_eq!(document["sessions"][0]["transcript"], "-");
    assert!(!home.store().exists());
    assert_eq!(fs::read_dir(home.path("tmp")).unwrap().count(), 0, "nothing is left in the temporary folder");
}

#[test]
fn what_is_no_transcript_is_counted_and_named() {
    let home = Home::empty();
    fs::write(home.path("work/binary.jsonl"), [0u8, 159, 146, 150].repeat(50)).unwrap();
    let names = ["empty.jsonl", "codex-rollout.jsonl", "not-json.jsonl", "bang-command.jsonl"];
    for name in names {
        fs::copy(fixture(name), home.path("work").join(name)).unwrap();
    }
    let mut args = vec!["score", "binary.jsonl"];
    args.extend(names);
    assert_snapshot!(home.run(&args));
}

#[test]
fn paths_that_are_not_there() {
    let home = Home::empty();
    assert_snapshot!(home.run(&["score", "nowhere.jsonl"]));
    let transcript = fixture("bang-command.jsonl");
    let output = home.output(&["score", "nowhere.jsonl", transcript.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn no_transcripts_give_no_scores() {
    let document = Home::empty().json(&["score", "--json"]);
    assert_eq!((&document["counts"]["found"], &document["example"]), (&Value::from(0), &Value::from(false)));
}

#[test]
fn another_rubric_grades_what_was_read_before() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let document = home.json(&["score", "--json", "--rubric", "v1"]);
    assert_eq!(document["rubric"]["id"], "v1@1.1.0");
    assert_eq!(document["sessions"][0]["scores"][0]["dimension"], "task_completion");
}

#[test]
fn windows_are_anchored_to_the_newest_session() {
    let home = Home::with_examples();
    let found = |args: &[&str]| home.json(args)["sessions"].as_array().unwrap().len();
    assert_eq!(found(&["score", "--json", "--since", "all"]), 24);
    assert_eq!(found(&["score", "--json", "--since", "2026-10-11"]), 2);
    assert_eq!(found(&["score", "--json", "--since", "all", "--until", "2026-10-05"]), 3);
    assert_eq!(found(&["score", "--json", "--since", "24h", "--until", "2026-10-05"]), 3);
    assert_snapshot!(home.run(&["score", "--since", "yesterday"]));
    assert_eq!(found(&["score", "--json", "--since", "2026-10-05", "--until", "2026-10-05"]), 3);
    let block = home.run(&["score", "--since", "2026-10-06", "--until", "2026-10-05"]);
    assert!(block.starts_with("exit: 2") && block.contains("--until ends before --since begins"), "{block}");
    assert_snapshot!(home.run(&["--since", "2d", "score"]));
}

#[test]
fn only_transcripts_that_are_named_are_reported() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let transcript = fixture("fork/original.jsonl");
    let document = home.json(&["score", "--json", transcript.to_str().unwrap()]);
    assert_eq!(document["sessions"].as_array().unwrap().len(), 1);
}
