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
        let offset = ((page.parse::<u32>().unwrap() - 1) * 10).to_string();
        let same = home.json(&["sessions", "--json", "--limit", "10", "--offset", &offset]);
        assert_eq!(document["sessions"], same["sessions"]);
    }
    assert_eq!(ids.len(), 24);
    assert!(home.stdout(&["sessions", "--offset", "99"]).contains("behind the last of 24 sessions"));
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

#[test]
fn a_list_over_two_years_names_the_year() {
    let home = Home::with_fixtures(&["bang-command.jsonl"]);
    let now = std::fs::read_to_string(crate::fixture("bang-command.jsonl")).unwrap();
    let year = now.split_once("\"timestamp\":\"").unwrap().1.split_once('-').unwrap().0.to_owned();
    let before =
        |text: &str| text.replace(&format!("\":\"{year}-"), "\":\"2021-").replace("\"uuid\":\"", "\"uuid\":\"o");
    assert!(!home.stdout(&["sessions", "--since", "all"]).lines().nth(1).unwrap().contains(&year));
    std::fs::write(home.path("claude/projects/p/old.jsonl"), before(&now)).unwrap();
    let text = home.stdout(&["sessions", "--since", "all"]);
    assert!(text.lines().nth(1).unwrap().contains(&year) && text.lines().nth(2).unwrap().contains("2021"), "{text}");
}
