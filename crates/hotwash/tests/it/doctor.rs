use super::{Home, folded};
use insta::assert_snapshot;
use std::fs;

#[test]
fn nothing_there_yet() {
    assert_snapshot!(folded(&Home::empty().run(&["doctor"])));
}

#[test]
fn all_is_well() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let document = home.json(&["doctor", "--json"]);
    for finding in document["findings"].as_array().unwrap() {
        assert_eq!(finding["state"], "ok", "{finding}");
    }
}

#[test]
fn a_damaged_store_is_said_to_be() {
    let home = Home::with_examples();
    fs::create_dir_all(home.path("data/hotwash")).unwrap();
    fs::write(home.store(), "no database at all, only words".repeat(100)).unwrap();
    let block = home.run(&["doctor"]);
    assert!(block.starts_with("exit: 3") && block.contains("bad   store"), "{block}");
}
