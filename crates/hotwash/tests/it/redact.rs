use super::Home;
use std::fs;

/// Made of parts, so that nobody takes this file for a leak.
fn secret() -> String {
    ["gh", "p_", "q7Rw2Lz9Xc4Vb6Nm1Ka8Sd5Fg3Hj0Pe2Ty4U"].concat()
}

#[test]
fn says_what_would_be_replaced_and_where() {
    let home = Home::empty();
    let text = format!("first\nexport TOKEN={}\nmail ada@example.org, \"password\": \"correct horse 77\"\n", secret());
    fs::write(home.path("work/notes.md"), &text).unwrap();
    let list = home.stdout(&["redact", "notes.md"]);
    assert!(list.starts_with("notes.md: 3 places to replace: 1 email, 1 github, 1 password\n"), "{list}");
    assert!(list.contains("2:14  github") && list.contains("export TOKEN=<SECRET:github:"), "{list}");
    assert!(!list.contains(&secret()) && !list.contains("correct"), "{list}");

    let redacted = home.stdout(&["redact", "notes.md", "--text"]);
    assert!(redacted.starts_with("first\nexport TOKEN=<SECRET:github:") && !redacted.contains("horse"), "{redacted}");
    fs::write(home.path("work/clean.md"), &redacted).unwrap();
    assert_eq!(home.stdout(&["redact", "clean.md"]), "clean.md: nothing to replace\n");

    let document = home.json(&["redact", "notes.md", "--json"]);
    assert_eq!(document["findings"][0]["line"], 2);
    assert_eq!(document["findings"][0]["kind"], "github");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let block = Home::empty().run(&["redact", "nowhere.md"]);
    assert!(block.starts_with("exit: 2") && block.contains("cannot read nowhere.md"), "{block}");
}
