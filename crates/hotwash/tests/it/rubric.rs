use super::{Home, root};
use insta::assert_snapshot;
use std::fs;

#[test]
fn the_list() {
    assert_snapshot!(Home::empty().run(&["rubric", "list"]));
}

#[test]
fn a_rubric_for_people() {
    assert_snapshot!(Home::empty().run(&["rubric", "show"]));
}

#[test]
fn errors_name_the_line_and_the_rule() {
    let home = Home::empty();
    let source = fs::read_to_string(root().join("rubrics/v2.toml")).unwrap();
    let broken = source.replacen("weight = 0.30", "weight = 0.50", 1).replacen("combine = ", "combin = ", 1);
    fs::write(home.path("work/mine.toml"), broken).unwrap();
    let block = home.run(&["rubric", "check", "mine.toml"]);
    assert!(block.starts_with("exit: 2"), "{block}");
    assert!(block.contains("mine.toml:") && block.contains("weights:"), "{block}");
    assert_snapshot!(block);
    assert_snapshot!(home.run(&["score", "--rubric", "mine.toml"]));
    assert_snapshot!(home.run(&["score", "--rubric", "v9"]));
}

#[test]
fn ones_own_rubric_grades() {
    let home = Home::with_examples();
    let source = home.stdout(&["rubric", "show", "v2", "--source"]).replacen("name = \"v2\"", "name = \"mine\"", 1);
    fs::write(home.path("work/mine.toml"), source).unwrap();
    assert!(home.stdout(&["rubric", "check", "mine.toml"]).contains("mine@2.1.0 is sound"));
    let document = home.json(&["score", "--json", "--rubric", "mine.toml"]);
    assert_eq!(document["rubric"]["id"], "mine@2.1.0");
    assert_eq!(document["counts"]["graded"], 20);
    // A project's file names it from its own folder.
    fs::write(home.path("work/.hotwash.toml"), "rubric = \"mine.toml\"\n").unwrap();
    fs::create_dir(home.path("work/deep")).unwrap();
    let output = home.command(&["score", "--json"]).current_dir(home.path("work/deep")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("mine@2.1.0"), "{}", home.shown(&output));
}
