use super::Home;
use insta::assert_snapshot;

#[test]
fn the_worst_first() {
    assert_snapshot!(Home::with_examples().run(&["sessions", "--sort", "worst", "--limit", "5"]));
}

#[test]
fn pages_hold_every_session_once() {
    let home = Home::with_examples();
    let mut ids = std::collections::BTreeSet::new();
    for page in ["1", "2", "3"] {
        let document = home.json(&["sessions", "--json", "--limit", "10", "--page", page]);
        assert_eq!(document["page"]["of"], 3);
        ids.extend(document["sessions"].as_array().unwrap().iter().map(|session| session["id"].to_string()));
    }
    assert_eq!(ids.len(), 24);
    assert_snapshot!(home.run(&["sessions", "--page", "9"]));
}

#[test]
fn filters() {
    let home = Home::with_examples();
    let found = |args: &[&str]| {
        let args: Vec<&str> = ["sessions", "--json", "--limit", "100"].iter().chain(args).copied().collect();
        home.json(&args)["sessions"].as_array().unwrap().len()
    };
    assert_eq!(found(&["--tier", "poor"]), 2);
    assert_eq!(found(&["--tier", "poor", "--tier", "ungraded"]), 6);
    assert_eq!(found(&["--project", "orchard"]), 12);
    assert_eq!(found(&["--search", "TIMEOUT pump"]), 1);
    assert_eq!(found(&["--subagents"]), 26);
    assert_snapshot!(home.run(&["sessions", "--search", "no such words"]));
    assert_snapshot!(home.run(&["sessions", "--tier", "splendid"]));
}
