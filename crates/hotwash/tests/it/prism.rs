//! `hotwash prism` and `hotwash rework`.

use crate::Home;
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn the_example_week_by_intent() {
    assert_snapshot!(Home::empty().run(&["prism", "--example", "--by", "intent"]));
}

#[test]
fn groups_add_up_to_the_whole() {
    let home = Home::with_examples();
    for by in ["project", "week", "model", "agent", "intent"] {
        let document = home.json(&["prism", "--json", "--since", "all", "--by", by]);
        assert_eq!(document["by"], by);
        let groups = document["groups"].as_array().unwrap();
        for key in ["crushed", "decided", "undecided", "sessions"] {
            let sum: u64 = groups.iter().filter_map(|group| group["prism"][key].as_u64()).sum();
            assert_eq!(Value::from(sum), document["prism"][key], "{key} by {by}");
        }
    }
}

#[test]
fn groups_come_page_by_page() {
    let home = Home::with_examples();
    let groups = |args: &[&str]| {
        let args: Vec<&str> = ["prism", "--json", "--by", "intent"].iter().chain(args).copied().collect();
        home.json(&args)["groups"].as_array().unwrap().clone()
    };
    let all = groups(&[]);
    let pages = [groups(&["--limit", "4"]), groups(&["--limit", "4", "--offset", "4"]), groups(&["--offset", "8"])];
    assert_eq!(pages.concat(), all);
    assert!(home.stdout(&["prism", "--by", "intent", "--limit", "4"]).contains(&format!("4 of {} shown", all.len())));
}

#[test]
fn a_session_that_was_taken_back_says_by_whom() {
    let home = Home::with_examples();
    let sessions = home.json(&["score", "--json", "--since", "all"]);
    let all = sessions["sessions"].as_array().unwrap();
    let reworked = all.iter().find(|session| session["rework"]["reworked"] == true).expect("one is in the week");
    let text = home.stdout(&["rework", reworked["id"].as_str().unwrap()]);
    let by = reworked["rework"]["by"][0]["session"].as_str().unwrap();
    assert!(text.contains("reworked") && text.contains(by.get(..8).unwrap()), "{text}");
    let output = home.output(&["rework", reworked["id"].as_str().unwrap(), "--git"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("is in no git repository"), "{stderr}");
    let kept = all.iter().find(|session| session["rework"].is_null()).unwrap();
    assert!(home.stdout(&["rework", kept["id"].as_str().unwrap()]).contains("No later session"));
}

#[test]
fn without_sessions_there_is_no_score() {
    let document = Home::empty().json(&["prism", "--json", "--project", "nowhere"]);
    assert_eq!((&document["prism"]["score"], &document["prism"]["sessions"]), (&Value::Null, &Value::from(0)));
}
