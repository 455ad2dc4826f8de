use super::Home;
use insta::assert_snapshot;
use std::fs;

#[test]
fn csv_has_fixed_columns() {
    let home = Home::with_examples();
    let text = home.stdout(&["export", "--format", "csv", "--since", "24h"]);
    assert_snapshot!(text.replace("\r\n", "\n"));
    assert!(text.ends_with("\r\n"));
}

#[test]
fn jsonl_has_a_line_per_session_and_goes_to_a_file() {
    let home = Home::with_examples();
    assert_eq!(home.stdout(&["export", "--since", "all", "-o", "out.jsonl"]), "");
    let text = fs::read_to_string(home.path("work/out.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 24);
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(first["facts"]["tool_calls"].is_u64() && first["scores"].is_array());
}
