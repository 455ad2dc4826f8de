//! Sessions from Langfuse: what their rows come to, and that it is what the transcript they were made of comes to.

use crate::support::{Case, root};
use hotwash_core::prices;
use hotwash_core::redaction::{Rules, redact_facts};
use hotwash_engine::pipeline;
use hotwash_engine::sources::Agent;
use hotwash_engine::sources::langfuse::keep::Folder;
use hotwash_engine::sources::reader::{Transcript, Window};
use hotwash_engine::stores::Sessions as _;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The facts of a transcript, without the places they point at: those are lines, and lines differ.
fn facts(path: &Path) -> Map<String, Value> {
    let mut transcript = Transcript::whole().by(Agent::owning(path).unwrap());
    transcript.read(&mut File::open(path).unwrap(), &mut Window::default(), |_| {}).unwrap();
    assert_eq!(transcript.reading.malformed_lines, 0, "{}", path.display());
    let facts = transcript.pieces.ledger().finish(prices::shipped());
    let mut facts = redact_facts(facts, &Rules::default()).to_json();
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

/// What it shows, the file, and what is true of the session. A name alone says that it is unknown.
const FIXTURES: &[(&str, &str, &str)] = &[
    (
        "the plugin for Claude Code",
        "claude-plugin.json",
        "human_prompts=2 assistant_messages=4 tool_calls=3 tool_errors=1 edit_calls_ok=1 files_read=1 \
         edits_without_prior_read=0 parallel_calls=2 test_runs.fail=1 unbacked_claims=1 tokens.cache_read=50 \
         wall_seconds=110 waiting_seconds=60 compactions_auto versions interrupts lines_added",
    ),
    (
        "its later form",
        "claude-typescript.json",
        "human_prompts=1 tool_calls=2 tool_errors=1 files_created=1 lines_added=2 lines_removed=0 parallel_calls=2",
    ),
    (
        "spans without words",
        "claude-telemetry.json",
        "human_prompts=1 tool_calls=1 assistant_messages=1 tokens.input=100 tokens.cache_read=7 tool_errors \
         test_runs completion_signals files_read",
    ),
    (
        "Codex",
        "codex.json",
        "human_prompts=2 interrupts=1 tool_calls=3 tool_errors=1 test_runs.pass=1 edit_calls_ok=1 lines_added=2 \
         lines_removed=1 tokens.output=13 tokens.cache_read=4",
    ),
    (
        "OpenCode",
        "opencode.json",
        "human_prompts=1 files_read=1 edit_calls_ok=1 edits_without_prior_read=0 tool_calls=2",
    ),
    (
        "an application that records no tools",
        "application.json",
        "human_prompts=1 assistant_messages=2 tool_calls=1 calls_without_result=0 tokens cost_usd peak_context",
    ),
    ("nothing but answers", "answers.json", "human_prompts=3 assistant_messages=3 models cost_usd tokens"),
    ("a turn with a subagent", "subagent.json", "human_prompts=1 subagent_calls=1 tool_calls=1 assistant_messages=2"),
    ("an older server", "older-server.json", "human_prompts=1 assistant_messages=1 tokens.output=5 wall_seconds=9"),
];

#[test]
fn recordings_of_every_kind_give_facts() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (what, file, said)) in FIXTURES.iter().enumerate() {
        let rows: Value =
            serde_json::from_slice(&fs::read(root().join("fixtures/langfuse").join(file)).unwrap()).unwrap();
        let files = keep(folder.path(), &format!("s-{number}"), &rows);
        let facts = facts(&files[0]);
        for word in said.split_whitespace() {
            let Some((name, value)) = word.split_once('=') else {
                assert!(facts[word].is_null(), "{what}: {word} is {}", facts[word]);
                continue;
            };
            let found = name.split('.').fold(Value::Object(facts.clone()), |value, name| value[name].clone());
            assert_eq!(found.to_string(), value, "{what}: {name}");
        }
    }
}

#[test]
fn a_subagent_gets_a_transcript_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let rows = fs::read(root().join("fixtures/langfuse/subagent.json")).unwrap();
    let files = keep(folder.path(), "s-1", &serde_json::from_slice(&rows).unwrap());
    assert_eq!(files.len(), 2);
    let facts = facts(&files[1]);
    assert_eq!((&facts["tool_calls"], &facts["human_prompts"]), (&Value::from(1), &Value::from(0)));
    assert!(files[1].ends_with("agent-s1.langfuse.jsonl"));
}

#[test]
fn the_order_in_which_rows_come_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let rows = fs::read(root().join("fixtures/langfuse/claude-plugin.json")).unwrap();
    let mut rows: Value = serde_json::from_slice(&rows).unwrap();
    let one = fs::read(&keep(folder.path(), "s-1", &rows)[0]).unwrap();
    rows.as_array_mut().unwrap().reverse();
    let other = fs::read(&keep(folder.path(), "s-1", &rows)[0]).unwrap();
    assert_eq!(String::from_utf8(one).unwrap(), String::from_utf8(other).unwrap());
}

/// The rows of a fixture.
fn rows_of(fixture: &str) -> Value {
    serde_json::from_slice(&fs::read(root().join("fixtures/langfuse").join(fixture)).unwrap()).unwrap()
}

#[test]
fn a_session_on_disk_and_in_langfuse_counts_once() {
    let disk = [
        r#"{"type":"user","uuid":"u1","sessionId":"s-1","cwd":"/work/app","timestamp":"2026-10-05T09:00:00.000Z","message":{"role":"user","content":"Rename the parser and run the tests."}}"#,
        r#"{"type":"assistant","uuid":"u2","sessionId":"s-1","cwd":"/work/app","timestamp":"2026-10-05T09:00:04.000Z","message":{"id":"m1","model":"claude-opus-4-8","role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
    ]
    .join("\n");
    for disk_first in [true, false] {
        let case = Case::new();
        let add = |disk_now: bool| {
            if disk_now {
                case.write("p/s-1.jsonl", &disk);
            } else {
                keep(&case.projects(), "s-1", &rows_of("claude-plugin.json"));
            }
            case.ingest();
        };
        add(disk_first);
        assert_eq!(case.sessions().len(), 1);
        add(!disk_first);
        let sessions = case.sessions();
        assert_eq!(sessions.len(), 1, "disk first: {disk_first}");
        assert!(sessions[0].path.ends_with("p/s-1.jsonl"));
        case.ingest();
        assert_eq!(case.sessions().len(), 1);
    }
}

#[test]
fn a_session_that_goes_on_stays_the_same_session() {
    let case = Case::new();
    let mut rows = rows_of("claude-plugin.json");
    let all = rows.clone();
    rows.as_array_mut().unwrap().retain(|row| row["traceId"] == "t1");
    keep(&case.projects(), "s-1", &rows);
    case.ingest();
    let before = case.sessions().remove(0).session;
    assert_eq!((before.open, before.recorded.as_str()), (true, "s-1"));
    keep(&case.projects(), "s-1", &all);
    let ingested = case.ingest();
    assert_eq!(ingested.read, 1);
    let after = case.sessions().remove(0).session;
    assert_eq!(after.id, before.id);
    assert_eq!(after.facts.get().prompts.human_prompts.count(), 2);
    keep(&case.projects(), "s-1", &all);
    assert_eq!(case.ingest().unchanged, 1);
    // It can be told again from its lines, as a judge and `show` do.
    let (store, row) = (case.open(), case.sessions().remove(0));
    let mut told = 0;
    pipeline::tell(&store, None, &store.parts(&row).unwrap(), &mut |_| told += 1).unwrap();
    assert!(told > 20);
}

#[test]
fn forgetting_removes_what_was_pulled() {
    let case = Case::new();
    let files = keep(&case.projects(), "s-1", &rows_of("subagent.json"));
    case.ingest();
    assert_eq!(case.sessions().len(), 2);
    let id = case.sessions().into_iter().find(|row| row.session.agent.is_none()).unwrap().session.id;
    pipeline::forget(&mut case.open(), Some(&case.archive()), &[id]).unwrap();
    assert!(files.iter().all(|file| !file.exists()), "{files:?}");
    keep(&case.projects(), "s-1", &rows_of("subagent.json"));
    case.ingest();
    assert!(case.sessions().is_empty());
}
