//! The `claude` command: a stand-in that speaks its protocol, and the real one where it is installed.

use super::claude_cli::{ClaudeCli, Config};
use super::testing::{Does, Got, KEY, Server, prompt, says, world};
use super::{Failing, JudgeError, Live as _, Reply, Stop};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the stand-in does: it notes how it was called, and prints what lies ready.
const STAND_IN: &str = r#"#!/bin/sh
at="$(dirname "$0")"
if [ "$1" = "--help" ]; then cat "$at/help"; exit 0; fi
n=$(cat "$at/count" 2>/dev/null || echo 0)
echo $((n + 1)) > "$at/count"
cat > "$at/stdin"
printf '%s\n' "$@" > "$at/arguments"
env > "$at/environment"
pwd > "$at/folder"
[ -f "$at/$n.out" ] || n=last
[ -f "$at/$n.hangs" ] && sleep 20
cat "$at/$n.out"
exit $(cat "$at/$n.code")
"#;

pub(super) const HELP: &str = "Options:
  -p, --print            Print
  --output-format <f>    See --verbose and --made-up
  --no-session-persistence  Only with --print
  --safe-mode            Safe
  --tools <tools...>     Tools
  --strict-mcp-config    Strict
  --effort <level>       Effort
  --json-schema <s>      Schema
  --system-prompt <p>    System
";

/// What the stand-in prints in one run.
pub(super) struct Step {
    pub(super) out: String,
    pub(super) code: i32,
    pub(super) hangs: bool,
}

/// How a run of the judge went.
pub(super) struct Run {
    pub(super) result: Result<Reply, JudgeError>,
    pub(super) asked: usize,
    pub(super) told: usize,
    pub(super) waited: Duration,
    folder: tempfile::TempDir,
}

/// Runs a judge over a stand-in. The last step happens for ever.
pub(super) fn stand_in(steps: &[Step], help: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("help"), help).unwrap();
    for (n, step) in steps.iter().enumerate() {
        for name in [n.to_string(), "last".into()] {
            fs::write(at(&format!("{name}.out")), &step.out).unwrap();
            fs::write(at(&format!("{name}.code")), step.code.to_string()).unwrap();
            let hangs = at(&format!("{name}.hangs"));
            if step.hangs {
                fs::write(hangs, "").unwrap();
            } else {
                let _ = fs::remove_file(hangs);
            }
        }
    }
    let program = at("claude");
    if !steps.is_empty() {
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let environment = [
        ("PATH", "/usr/bin:/bin"),
        ("ANTHROPIC_API_KEY", KEY),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://elsewhere"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
    ];
    let environment = environment.map(|(name, value)| (OsString::from(name), OsString::from(value))).to_vec();
    let (world, heard) = world();
    let mut config = Config::new(at("hotwash/judge"), environment);
    config.program = program;
    let hangs = steps.iter().any(|step| step.hangs);
    config.timeout = Duration::from_secs(if hangs { 2 } else { 60 });
    config.retries.attempts = 6;
    let judge = ClaudeCli::new(config, world.clone()).unwrap();
    assert!(!format!("{judge:?}").contains(KEY));
    let result = judge.reply(&prompt(), "claude-haiku-5-5");
    let asked = fs::read_to_string(at("count")).ok().and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let told = heard.0.lock().unwrap().len();
    Run { result, asked, told, waited: super::testing::waited(&world), folder }
}

/// The result object of a run that went well.
pub(super) fn went_well(text: &str, stop: Stop) -> Value {
    let stop = if stop == Stop::Refusal { "refusal" } else { "end_turn" };
    json!({
        "type": "result", "subtype": "success", "is_error": false, "result": text, "stop_reason": stop,
        "total_cost_usd": 0.25, "usage": {"input_tokens": 10, "output_tokens": 5},
        "modelUsage": {"claude-haiku-5-5": {"outputTokens": 5, "costBasis": "list"}},
    })
}

fn step(out: &Value) -> Step {
    Step { out: format!("{out}\n"), code: 0, hangs: false }
}

#[test]
fn it_is_run_as_a_bare_model() {
    let mut out = went_well("It is done.", Stop::End);
    out["structured_output"] = json!({"score": 0.5});
    let run = stand_in(&[step(&out)], HELP);
    let reply = run.result.unwrap();
    assert_eq!((&*reply.text, reply.dollars, reply.requests), (r#"{"score":0.5}"#, Some(0.25), 1));
    assert_eq!(reply.usage.unwrap().output, 5);

    let note = |name: &str| fs::read_to_string(run.folder.path().join(name)).unwrap();
    assert_eq!(note("stdin"), "<hotwash-judge>\nEVIDENCE\n\nQUESTION");
    assert!(note("folder").trim().ends_with("hotwash/judge"));
    let arguments = note("arguments");
    for part in
        ["-p\n--output-format\njson\n--no-session-persistence\n--tools\n\n--safe-mode\n", "--system-prompt\nRULES\n"]
    {
        assert!(arguments.contains(part), "{arguments}");
    }
    assert!(!arguments.contains("--disable-slash-commands"), "this version does not have it: {arguments}");
    let environment = note("environment");
    for (line, is_there) in [
        ("CLAUDE_CODE_ENABLE_TELEMETRY=0", true),
        ("CLAUDE_CODE_MAX_RETRIES=2", true),
        ("API_TIMEOUT_MS=", true),
        ("ANTHROPIC_API_KEY=", true),
        ("OTEL_", false),
        ("CLAUDECODE=", false),
    ] {
        assert_eq!(environment.lines().any(|found| found.starts_with(line)), is_there, "{line}");
    }
}

#[test]
fn a_price_that_was_guessed_is_none() {
    let mut out = went_well("{}", Stop::End);
    out["modelUsage"]["claude-haiku-5-5"]["costBasis"] = json!("unknown");
    assert_eq!(stand_in(&[step(&out)], HELP).result.unwrap().dollars, None);
}

#[test]
fn a_version_that_leaves_traces_is_not_run() {
    for (flag, lack) in [
        ("--no-session-persistence", "transcript"),
        ("--tools", "tools"),
        ("--safe-mode", "hooks"),
        ("--output", "JSON"),
    ] {
        let help: String =
            HELP.lines().filter(|line| !line.contains(&format!("  {flag}"))).collect::<Vec<_>>().join("\n");
        let run = stand_in(&[step(&went_well("{}", Stop::End))], &help);
        let error = run.result.unwrap_err();
        assert_eq!((error.kind, run.asked), (Failing::NotThere, 0), "{flag}");
        assert!(error.message.contains(lack), "{flag}: {error}");
    }
}

#[test]
fn it_fails_in_its_own_ways() {
    let failed = |result: &str, status: Value, reason: &str| json!({"type": "result", "subtype": "success", "is_error": true, "result": result, "api_error_status": status, "terminal_reason": reason});
    let none = Value::Null;
    for (out, kind) in [
        (failed("Invalid API key · Please run /login", none.clone(), "api_error"), Failing::Denied),
        (failed("You've hit your limit · resets 3pm", json!(429), "api_error"), Failing::Exhausted),
        (failed("Prompt is too long", json!(400), "prompt_too_long"), Failing::TooLarge),
        (failed("API Error: 400 odd", json!(400), "api_error"), Failing::Rejected),
        (
            json!({"type": "result", "subtype": "error_max_budget_usd", "is_error": true, "errors": ["x"]}),
            Failing::Rejected,
        ),
        (json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "errors": []}), Failing::Garbled),
    ] {
        let run = stand_in(&[Step { code: 1, ..step(&out) }], HELP);
        assert_eq!((run.result.unwrap_err().kind, run.asked), (kind, 1), "{out}");
    }
}

/// The real command, where it is installed.
fn installed() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOTWASH_TEST_CLAUDE") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("claude")).find(|path| path.is_file())
}

/// A Messages API that answers by the tool through which the command takes structured answers.
fn messages_api(got: &Got) -> Does {
    if got.method != "POST" || !got.path.starts_with("/v1/messages") {
        return says(404, "{}");
    }
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let tool = json!({"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {}});
    let input = json!({"type": "input_json_delta", "partial_json": "{\"score\":0.5}"});
    let events = [
        ("message_start", json!({"message": message})),
        ("content_block_start", json!({"index": 0, "content_block": tool})),
        ("content_block_delta", json!({"index": 0, "delta": input})),
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", json!({"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}})),
        ("message_stop", json!({})),
    ];
    let stream = events.into_iter().map(|(name, mut data)| {
        data["type"] = json!(name);
        format!("event: {name}\ndata: {data}\n\n")
    });
    Does::Says(200, vec![("content-type", "text/event-stream".into())], stream.collect::<String>().into_bytes())
}

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files_under(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[test]
fn the_real_command_answers_and_leaves_nothing() {
    let Some(program) = installed() else {
        eprintln!("skipped: claude is not installed; HOTWASH_TEST_CLAUDE may name it");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (settings, fired) = (at("config"), at("fired"));
    fs::create_dir_all(&settings).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "command": format!("touch {}", fired.display())}]}]);
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"];
    let hooks: serde_json::Map<String, Value> =
        events.iter().map(|event| ((*event).to_owned(), hook.clone())).collect();
    fs::write(settings.join("settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
    fs::write(settings.join("CLAUDE.md"), "MEMORY-OF-THE-PERSON").unwrap();

    let api = Server::start(|got, _| messages_api(got));
    let telemetry = Server::start(|_, _| says(200, "{}"));
    let environment = [
        ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ("HOME", home.path().into()),
        ("CLAUDE_CONFIG_DIR", settings.clone().into()),
        ("ANTHROPIC_BASE_URL", api.base.clone().into()),
        ("ANTHROPIC_API_KEY", "dummy-key-of-a-test".into()),
        ("CLAUDECODE", "1".into()),
        ("CLAUDE_CODE_ENABLE_TELEMETRY", "1".into()),
        ("OTEL_LOGS_EXPORTER", "otlp".into()),
        ("OTEL_METRICS_EXPORTER", "otlp".into()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json".into()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", telemetry.base.clone().into()),
    ];
    let environment = environment.map(|(name, value)| (OsString::from(name), value)).to_vec();
    let (world, heard) = world();
    let mut config = Config::new(at("hotwash/judge"), environment);
    config.program = program;
    config.timeout = Duration::from_secs(90);
    let judge = ClaudeCli::new(config, world).unwrap();
    let reply = judge.reply(&prompt(), "claude-haiku-5-5").unwrap();

    assert_eq!((&*reply.text, reply.stop, &*reply.model), (r#"{"score":0.5}"#, Stop::End, "claude-haiku-5-5"));
    assert!(reply.dollars.is_some_and(|dollars| dollars > 0.0), "{reply:?}");
    assert_eq!(heard.0.lock().unwrap().len(), 1);
    let asked: Vec<Got> = api.got().into_iter().filter(|got| got.method == "POST").collect();
    let bodies: Vec<String> = asked.iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect();
    assert_eq!(asked.len(), 1, "{:?}", api.got().iter().map(|got| &got.path).collect::<Vec<_>>());
    assert!(bodies[0].contains("RULES") && bodies[0].contains("EVIDENCE") && !bodies[0].contains("MEMORY-OF"));

    let mut left = Vec::new();
    files_under(&settings.join("projects"), &mut left);
    assert_eq!(left, Vec::<PathBuf>::new(), "a transcript was written");
    let mut everything = Vec::new();
    files_under(home.path(), &mut everything);
    for file in &everything {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        assert!(!text.contains("EVIDENCE"), "{} holds the evidence", file.display());
    }
    assert!(!fired.exists(), "a hook fired");
    assert!(telemetry.got().is_empty(), "telemetry was sent: {:?}", telemetry.got());
    eprintln!("claude left behind: {everything:?}");
}
