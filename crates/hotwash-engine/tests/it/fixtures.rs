//! What is true of each fixture and of the example week.

use crate::support::root;
use hotwash_core::prices;
use hotwash_core::redaction::{Rules, redact_facts};
use hotwash_engine::sources::Agent;
use hotwash_engine::sources::claude_code;
use hotwash_engine::sources::discover::discover;
use hotwash_engine::sources::reader::{Transcript, Window};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Everything that is said of a transcript, by name. What was not seen is left out.
fn said_of(path: &Path) -> BTreeMap<String, String> {
    let mut transcript = Transcript::whole().by(Agent::owning(path).unwrap());
    transcript.read(&mut File::open(path).unwrap(), &mut Window::default(), |_| {}).unwrap();
    let mut said = BTreeMap::new();
    let ledger = transcript.pieces.ledger();
    let facts = ledger.finish(prices::shipped());
    let pieces: Vec<_> = transcript.pieces.parts().map(|part| (part, &facts)).collect();
    flatten("", &Value::Object(redact_facts(facts.clone(), &Rules::default()).to_json()), &mut said);
    flatten("", &serde_json::to_value(transcript.reading).unwrap(), &mut said);
    said.insert("role".into(), claude_code::role(path, &transcript.reading, &pieces).name().replace(' ', "-"));
    let words = ledger.words();
    for (name, words) in [("first_prompt", &words.first_prompt), ("last_answer", &ledger.last_answer())] {
        said.extend(words.as_ref().map(|words| (name.to_string(), words.replace(' ', "_"))));
    }
    for (agent, (tokens, _)) in ledger.subagents(prices::shipped()) {
        said.insert(format!("progress.{agent}.output"), tokens.output.to_string());
    }
    said
}

fn flatten(name: &str, value: &Value, said: &mut BTreeMap<String, String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Object(entries) => {
            for (key, value) in entries {
                flatten(&if name.is_empty() { key.clone() } else { format!("{name}.{key}") }, value, said);
            }
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_string)).collect();
            said.insert(name.to_string(), items.join(","));
        }
        Value::String(text) => drop(said.insert(name.to_string(), text.replace(' ', "_"))),
        Value::Number(number) if number.as_f64() == Some(0.0) => {}
        other => drop(said.insert(name.to_string(), other.to_string())),
    }
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    discover(&[folder.to_path_buf()]).found.into_iter().map(|found| found.path).collect()
}

/// What it shows, the file, and what is true of it. `name=0` says that it was not seen.
type Case = (&'static str, &'static str, &'static str);

const FIXTURES: &[Case] = &[
    (
        "two objects on a line both count",
        "glued-lines.jsonl",
        "lines=3 glued_lines=1 malformed_lines=0 human_prompts=2 assistant_messages=2 tokens.output=40 role=main",
    ),
    (
        "a last line that was cut costs that line alone",
        "cut-last-line.jsonl",
        "lines=4 malformed_lines=1 human_prompts=2 assistant_messages=1 tokens.output=20",
    ),
    (
        "invalid UTF-8 loses no line",
        "invalid-utf8.jsonl",
        "lines=2 malformed_lines=0 human_prompts=1 assistant_messages=1",
    ),
    (
        "half a surrogate pair becomes a replacement character",
        "lone-surrogate.jsonl",
        "malformed_lines=0 human_prompts=1 assistant_messages=1 first_prompt=a_cut_emoji:_\u{fffd},_still_a_prompt",
    ),
    (
        "of duplicate keys the last wins",
        "duplicate-keys.jsonl",
        "lines=2 malformed_lines=0 human_prompts=1 first_prompt=the_last_one_wins tokens.output=20",
    ),
    (
        "a record that stands twice counts once",
        "duplicate-uuids.jsonl",
        "lines=6 duplicate_lines=2 tool_calls=1 test_runs.total=1 test_runs.pass=1 human_prompts=1",
    ),
    (
        "raw control characters in strings are accepted",
        "raw-control-character.jsonl",
        "malformed_lines=0 human_prompts=1 assistant_messages=1",
    ),
    (
        "an original is whole on its own",
        "fork/original.jsonl",
        "human_prompts=2 assistant_messages=3 tool_calls=1 files_read=1 session_ids=1 role=main",
    ),
    (
        "a fork on its own shows what it copied too",
        "fork/fork.jsonl",
        "human_prompts=2 assistant_messages=4 tool_calls=2 build_runs.pass=1 role=main",
    ),
    (
        "a side chain in the file is the file's, its prompt is no person's",
        "inline-sidechain.jsonl",
        "human_prompts=1 assistant_messages=4 subagent_calls=1 tool_calls_by_name.Grep=1 tokens.output=80 role=main",
    ),
    (
        "a session with a sibling subagent",
        "sibling-agent/44444444-4444-4444-8444-444444444444.jsonl",
        "human_prompts=1 subagent_calls=1 tokens.output=40 role=main",
    ),
    (
        "a sibling file of a subagent",
        "sibling-agent/agent-3f9c2a1.jsonl",
        "human_prompts=0 tool_calls_by_name.Grep=1 tokens.output=40 role=subagent",
    ),
    ("a warmup is noise", "sibling-agent/agent-b07d5e4.jsonl", "human_prompts=0 tool_calls=0 role=warmup"),
    (
        "a session with nested subagents",
        "nested-agent/55555555-5555-4555-8555-555555555555.jsonl",
        "human_prompts=1 compactions_auto=1 subagent_calls=1 tokens.output=40 role=main",
    ),
    (
        "a nested file of a subagent",
        "nested-agent/55555555-5555-4555-8555-555555555555/subagents/agent-a1c4e7f90b2d35681.jsonl",
        "human_prompts=0 tool_calls_by_name.Grep=1 tokens.output=40 role=subagent",
    ),
    (
        "a copy that a compaction left behind",
        "nested-agent/55555555-5555-4555-8555-555555555555/subagents/agent-acompact-7d20b9.jsonl",
        "human_prompts=0 role=compaction-copy",
    ),
    (
        "a subagent in progress records is not the file's own, whatever the file is called",
        "agent-progress.jsonl",
        "human_prompts=1 assistant_messages=2 tokens.output=40 subagents_seen_in_progress=c81f3aa \
         progress.c81f3aa.output=21 tool_calls=1 tool_calls_by_name.Task=1 role=main",
    ),
    (
        "a file may open with /clear",
        "clear-starts-file.jsonl",
        "human_prompts=1 clears=1 slash_commands=/clear first_prompt=now_the_readme",
    ),
    (
        "a manual compaction, whose summary quotes what must not count",
        "compact-manual.jsonl",
        "compactions_manual=1 compactions_auto=0 slash_commands=/compact interrupts=0 tool_errors=0 rereads=1 \
         rereads_same_range=1 wasteful_rereads=0 human_prompts=2",
    ),
    (
        "reading again after an automatic compaction is no waste",
        "compact-auto.jsonl",
        "compactions_auto=1 compactions_manual=0 rereads=1 wasteful_rereads=0 human_prompts=1 slash_commands=0",
    ),
    (
        "a prompt typed while the agent worked counts, one that shows only in the queue is kept apart",
        "queued-prompt.jsonl",
        "human_prompts=2 human_prompts_in_attachments=1 queue_only_prompts=1",
    ),
    ("a notice of a background task is no prompt", "task-notification.jsonl", "human_prompts=1 assistant_messages=3"),
    (
        "output kept elsewhere leaves a preview",
        "persisted-output.jsonl",
        "tool_calls=1 tool_errors=0 calls_without_result=0 bash_file_ops=1",
    ),
    (
        "a message by the client is neither a message nor an error",
        "synthetic-message.jsonl",
        "assistant_messages=2 tokens.output=40 api_errors_final=0 human_prompts=2",
    ),
    (
        "retries and the final error are apart",
        "api-errors.jsonl",
        "api_errors_retried=3 api_errors_final=1 ended_on_api_error=1 tool_errors=0 assistant_messages=0 human_prompts=1",
    ),
    (
        "a prompt may ride with a tool's result",
        "prompt-with-tool-result.jsonl",
        "human_prompts=2 human_prompts_in_tool_result_lines=1 tool_calls=2 test_runs.pass=1",
    ),
    (
        "the condition of a goal is a prompt, and feedback on it is none",
        "goal-met.jsonl",
        "human_prompts=1 human_prompts_as_goals=1 slash_commands=/goal goal_met=1 goal_unmet=0 goal_tries=1 headless=true \
         first_prompt=the_apples_are_sorted_by_weight",
    ),
    (
        "a goal that the client gave up",
        "goal-given-up.jsonl",
        "human_prompts=1 goal_met=0 goal_unmet=1 goal_given_up=true ended_on_turn_limit=0",
    ),
    ("a goal that ran out of turns", "goal-turn-limit.jsonl", "goal_unmet=1 goal_given_up=0 ended_on_turn_limit=1"),
    ("a plan approval is the client's words", "plan-approval.jsonl", "plan_prompts=1 human_prompts=1 turns=2"),
    (
        "slash commands in their three forms",
        "slash-commands.jsonl",
        "slash_commands=/model,/context,/farm:report human_prompts=1 first_prompt=thanks",
    ),
    ("a person's own command is no prompt", "bang-command.jsonl", "bang_commands=1 human_prompts=1 slash_commands=0"),
    (
        "interrupts, one of which leaves a call without result",
        "interrupts.jsonl",
        "interrupts=2 human_prompts=3 calls_without_result=1 tool_errors=0",
    ),
    (
        "a rejection is a decision and echoes are no errors",
        "rejections-and-echoes.jsonl",
        "user_rejections=1 error_echoes=2 tool_errors=1 tool_errors_by_name.Read=1 interrupts=1 tool_calls=4 parallel_calls=3",
    ),
    (
        "an error that precedes its call is one error",
        "result-before-call.jsonl",
        "tool_calls=1 tool_errors=1 tool_errors_by_name.Read=1 calls_without_result=0 assistant_messages=2",
    ),
    (
        "messages without an id are counted by request, by line, or one by one",
        "messages-without-ids.jsonl",
        "assistant_messages=3 tokens.output=45 tool_calls=1",
    ),
    (
        "a person who is asked for permission is waited for",
        "permission-asked.jsonl",
        "wall_seconds=135 active_seconds=35 waiting_seconds=100 user_rejections=0",
    ),
    (
        "output tokens from when an answer began are too few",
        "streamed-placeholder.jsonl",
        "partial_messages=1 assistant_messages=2 tokens.output=11",
    ),
    (
        "what is unknown or of a wrong type breaks nothing",
        "unknown-types.jsonl",
        "human_prompts=2 malformed_lines=0 unknown_records=3 role=main",
    ),
    ("our own judge at work", "judge-run.jsonl", "role=judge-run"),
    (
        "another agent's file",
        "codex-rollout.jsonl",
        "lines=10 human_prompts=0 assistant_messages=0 unknown_records=10 role=not-a-Claude-Code-transcript",
    ),
    ("no bytes", "empty.jsonl", "lines=0 role=empty"),
    (
        "what is no JSON is counted and left",
        "not-json.jsonl",
        "lines=6 malformed_lines=6 human_prompts=0 role=not-a-Claude-Code-transcript",
    ),
    (
        "what a headless run prints",
        "stream-json.jsonl",
        "malformed_lines=0 human_prompts=0 assistant_messages=2 test_runs.pass=1 tokens.cache_read=16900 role=main",
    ),
];

const EXAMPLES: &[Case] = &[
    (
        "a clean bug fix",
        "e21b11dd",
        "human_prompts=2 tool_calls=7 tool_errors=1 test_runs.total=2 test_runs.fail=1 test_runs.pass=1 git_commits=1 \
         git_commits_confirmed=1 lines_added=6 lines_removed=1 verified=true unbacked_claims=0 completion_signals=1",
    ),
    (
        "a feature with a task list and parallel reads",
        "3b540ba0",
        "todo_calls=6 files_created=2 lint_runs.pass=1 test_runs.pass=1 git_commits=1 verified=true tool_errors=0",
    ),
    (
        "a question answered without an edit",
        "19c78fef",
        "edit_calls_ok=0 mutating_calls=0 files_read=2 completion_signals=1",
    ),
    ("a greeting", "ebe1a863", "human_prompts=1 tool_calls=0 assistant_messages=1"),
    (
        "a masked red run behind a claim",
        "32163955",
        "test_runs.total=1 test_runs.fail=1 test_runs.masked=1 claims=1 unbacked_claims=1 ended_red=1 verified=0 tool_errors=0",
    ),
    ("German", "af2e7851", "natural_language=deu human_prompts=4 test_runs.fail=1 test_runs.pass=2 verified=true"),
    (
        "an edit that fails four times",
        "1f8cf289",
        "tool_errors=4 tool_errors_by_name.Edit=4 longest_error_streak=4 retries=3 edit_calls_ok=1 verified=true",
    ),
    (
        "interrupted and corrected twice",
        "3786cfcc",
        "interrupts=2 user_rejections=2 tool_errors=0 human_prompts=4 verified=true",
    ),
    ("an investigation", "a57f1885", "edit_calls_ok=0 mutating_calls=0 human_prompts=2 files_read=3"),
    (
        "the same reads over and over, and the shell for files",
        "1fadb80d",
        "files_read=8 unique_files_read=2 rereads=6 wasteful_rereads=6 bash_file_ops=7 test_runs.total=0 verified=0",
    ),
    ("a revert by hand", "8b4dbfba", "lines_added=7 lines_removed=45 git_commits=1 verified=true"),
    ("a plan after a subagent explored", "0afae25d", "subagent_calls=1 files_created=1 lines_added=26 tool_calls=3"),
    (
        "given up after four red builds",
        "9c8e76f8",
        "build_runs.fail=4 failure_signals=1 ended_red=1 tool_errors=4 verified=0",
    ),
    (
        "read again after a compaction, which is no waste",
        "d096efb6",
        "compactions_auto=1 rereads=2 wasteful_rereads=0 git_commits=1 verified=true",
    ),
    ("goes on after /clear", "c416cb1c", "clears=1 slash_commands=/clear human_prompts=2"),
    ("a rejected command", "a24f735d", "user_rejections=1 interrupts=1 tool_errors=0 git_commits=1"),
    (
        "an edit refused because the file was not read",
        "5c91e66d",
        "edits_refused_unread=1 tool_errors=1 edit_calls_ok=1 verified=true",
    ),
    ("nobody there to answer", "b256f159", "headless=true human_prompts=1 tool_calls=3"),
    ("an older client's task list", "74c12218", "todo_calls=3 git_commits=1 assistant_messages=9"),
    (
        "ended on a usage limit with a red test",
        "ae7194d0",
        "api_errors_retried=2 api_errors_final=1 ended_on_api_error=1 ended_red=1 test_runs.fail=1",
    ),
    (
        "a side chain in the file",
        "8566bdbc",
        "human_prompts=2 subagent_calls=1 assistant_messages=8 tool_calls=5 tool_calls_by_name.Grep=1",
    ),
];

fn check(said: &BTreeMap<String, String>, (behaviour, file, facts): &Case, problems: &mut Vec<String>) {
    for fact in facts.split_whitespace() {
        let (name, expected) = fact.split_once('=').unwrap();
        let found = said.get(name).map_or("0", String::as_str);
        if found != expected {
            problems.push(format!("{file} ({behaviour}): {name} is {found}, not {expected}"));
        }
    }
}

#[test]
fn every_fixture_shows_what_it_is_for() {
    let folder = root().join("fixtures/claude-code");
    let mut problems = Vec::new();
    for case in FIXTURES {
        check(&said_of(&folder.join(case.1)), case, &mut problems);
    }
    for path in transcripts(&folder) {
        let name = path.strip_prefix(&folder).unwrap();
        if !FIXTURES.iter().any(|(_, file, _)| Path::new(file) == name) {
            problems.push(format!("nothing is said of {}", name.display()));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_example_week_tells_its_stories() {
    let all = transcripts(&root().join("examples/projects"));
    let mut problems = Vec::new();
    for case in EXAMPLES {
        let named = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(case.1));
        check(&said_of(all.iter().find(named).unwrap()), case, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn no_fact_of_a_fixture_is_named_wrongly() {
    let folder = root().join("fixtures/claude-code");
    let mut known: BTreeSet<String> = BTreeSet::new();
    for path in transcripts(&folder).into_iter().chain(transcripts(&root().join("examples/projects"))) {
        known.extend(said_of(&path).into_keys());
    }
    for (_, file, facts) in FIXTURES.iter().chain(EXAMPLES) {
        for fact in facts.split_whitespace() {
            let name = fact.split_once('=').unwrap().0;
            assert!(known.contains(name), "{file}: nothing is ever called {name}");
        }
    }
}
