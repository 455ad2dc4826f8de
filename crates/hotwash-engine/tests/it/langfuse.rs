//! Sessions from Langfuse: what their rows come to, and that it is what the transcript they were made of comes to.

use crate::support::root;
use hotwash_core::prices;
use hotwash_engine::sources::Agent;
use hotwash_engine::sources::claude_code::read::{Transcript, Window};
use hotwash_engine::sources::langfuse::keep::Folder;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The facts of a transcript, without the places they point at: those are lines, and lines differ.
fn facts(path: &Path) -> Map<String, Value> {
    let mut transcript = Transcript::whole().by(Agent::of(path));
    transcript.read(&mut File::open(path).unwrap(), &mut Window::default(), |_| {}).unwrap();
    assert_eq!(transcript.reading.malformed_lines, 0, "{}", path.display());
    let mut facts = transcript.pieces.ledger().finish(prices::shipped()).to_json();
    facts.remove("events");
    for runs in ["test_runs", "build_runs", "lint_runs"] {
        if let Some(Value::Object(runs)) = facts.get_mut(runs) {
            runs.retain(|_, value| !value.is_array());
        }
    }
    facts
}

/// Keeps rows as a session, as pulling them does.
fn keep(folder: &Path, session: &str, rows: &Value) -> Vec<PathBuf> {
    let folder = Folder::beside(&folder.join("hotwash.db"), "localhost:3000", "project");
    let mut collected = folder.collect(session).unwrap();
    for row in rows.as_array().unwrap() {
        collected.row(&row.to_string()).unwrap();
    }
    assert_eq!(collected.strange, 0);
    collected.keep().unwrap();
    folder.files(session)
}

/// A session as Claude Code wrote it and as Langfuse's own plugin recorded it, where somebody has both.
#[test]
fn a_session_gives_the_same_facts_from_disk_and_from_langfuse() {
    let example = std::env::var_os("HOTWASH_LANGFUSE_EXAMPLE").map(PathBuf::from);
    let example = example.unwrap_or_else(|| root().join("../shared/tools/langfuse-fake"));
    let rows = example.join("example_claude_code_session.v2observations.json");
    let Ok(rows) = fs::read(rows) else { return };
    let rows: Value = serde_json::from_slice(&rows).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = keep(folder.path(), "3f1c9a52-7c1e-4b7e-9a51-0d5e8f2b6c11", &rows["data"]);
    let from_langfuse = facts(&files[0]);
    let from_disk = facts(&example.join("example_claude_code_session.transcript.jsonl"));
    let lost: Vec<&str> =
        from_langfuse["not_recorded"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    for (name, value) in &from_disk {
        let pulled = &from_langfuse[name];
        if name == "not_recorded" {
            continue;
        }
        if lost.contains(&name.as_str()) {
            println!("unknown: {name} ({value} on disk)");
            assert!(pulled.is_null(), "{name}");
        } else {
            assert_eq!(pulled, value, "{name}");
        }
    }
}
