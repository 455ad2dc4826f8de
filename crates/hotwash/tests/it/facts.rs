use super::{Home, fixture};
use insta::assert_snapshot;
use serde_json::Value;
use std::fs;

#[test]
fn a_table_for_people() {
    let home = Home::empty();
    assert_snapshot!(home.run(&["facts", fixture("compact-auto.jsonl").to_str().unwrap()]));
}

#[test]
fn one_object_per_file_in_the_order_given() {
    let home = Home::empty();
    let names = ["interrupts.jsonl", "empty.jsonl", "glued-lines.jsonl", "api-errors.jsonl", "compact-manual.jsonl"];
    let paths = names.map(|name| fixture(name).to_str().unwrap().to_owned());
    let args: Vec<&str> =
        ["facts", "--json", "--jobs", "4"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let text = home.stdout(&args);
    let objects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let files: Vec<&str> = objects.iter().map(|object| object["file"].as_str().unwrap()).collect();
    assert_eq!(files, paths.iter().map(String::as_str).collect::<Vec<_>>());
    let get = |at: usize, key: &str| objects[at][key].to_string();
    assert_eq!([get(0, "interrupts"), get(0, "human_prompts")], ["2", "3"]);
    assert_eq!([get(1, "lines"), get(1, "role")], ["0", "\"empty\""]);
    assert_eq!(get(2, "glued_lines"), "1");
    assert_eq!(get(3, "api_errors"), r#"{"final":1,"retry":3}"#);
    assert_eq!(get(4, "compacts"), r#"{"auto":0,"manual":1}"#);
    assert!(!home.store().exists(), "nothing is kept");
}

#[test]
fn folders_stdin_and_what_cannot_be_read() {
    let home = Home::empty();
    assert_eq!(home.stdout(&["facts", "--json", fixture("fork").to_str().unwrap()]).lines().count(), 2);
    let mut command = home.command(&["facts", "--json", "-"]);
    let output = command.stdin(fs::File::open(fixture("fork/fork.jsonl")).unwrap()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""file":"-""#));
    let some = home.output(&["facts", "--json", "nowhere", fixture("fork").to_str().unwrap()]);
    assert_eq!((some.status.code(), String::from_utf8_lossy(&some.stdout).lines().count()), (Some(3), 2));
    assert_snapshot!(home.run(&["facts", "nowhere"]));
}
