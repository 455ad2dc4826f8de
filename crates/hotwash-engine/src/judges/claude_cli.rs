//! The `claude` command as a judge, for people with a subscription and no key.
//!
//! It runs as a bare model: without tools, settings, hooks, memory and servers, and it keeps no transcript. A version that
//! cannot be told all of this is not run. What it says is told in its result object, not in its exit code alone.

use super::egress;
use super::http;
use super::retry::{Gate, Retries, Setback, Tries};
use super::{Failing, JudgeError, Key, Live, Reply, Stop, World, anthropic, schema};
use crate::platform::{begin_group, end_group};
use crate::sources::claude_code::{JUDGE_FOLDER, JUDGE_MARK};
use hotwash_core::prompts::Prompt;
use hotwash_core::sessions::Timestamp;
use serde_json::Value;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What the log of what is sent calls it: where the command sends things to is its own affair.
const HOST: &str = "claude-cli";
/// The longest argument that is passed; Linux takes twice that.
const ARGUMENT_BYTES: usize = 64 << 10;
/// The longest input that the command takes.
const INPUT_BYTES: usize = 10_000_000;
/// How much of its output is read.
const OUTPUT_BYTES: u64 = 32 << 20;

/// How to run the command.
#[derive(Clone)]
pub struct Config {
    /// The command: `claude`, or a path.
    pub program: PathBuf,
    /// Where it runs: a folder of its own, `…/hotwash/judge`, so that its traces are known. It is made if it is not there.
    pub folder: PathBuf,
    /// The environment; what would make it export something is taken out.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may take before it is killed.
    pub timeout: Duration,
    /// How often it may try again by itself.
    pub own_retries: u32,
    /// What one answer may cost, in dollars.
    pub most_dollars: Option<f64>,
    /// When it is run again.
    pub retries: Retries,
}

impl Config {
    /// What is usual.
    pub fn new(folder: PathBuf, environment: Vec<(OsString, OsString)>) -> Config {
        let retries = Retries { attempts: 3, ..Retries::default() };
        let timeout = Duration::from_secs(300);
        Config { program: "claude".into(), folder, environment, timeout, own_retries: 2, most_dollars: None, retries }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("program", &self.program).field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The `claude` command as a judge.
#[derive(Debug)]
pub struct ClaudeCli {
    config: Config,
    world: World,
    gate: Gate,
    flags: OnceLock<Result<Flags, JudgeError>>,
}

/// The flags that this version of the command has.
#[derive(Clone, Debug)]
struct Flags(HashSet<String>);

impl Flags {
    fn has(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }

    /// Reads the help: flags begin a line.
    fn read(help: &str) -> Flags {
        let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let words = lines.flat_map(|line| line.split_whitespace().take_while(|word| word.starts_with('-')));
        Flags(words.map(|word| word.trim_end_matches(',').to_owned()).collect())
    }

    /// What this version would leave behind or let in.
    fn lacks(&self) -> Option<&'static str> {
        let quiet = self.has("--safe-mode") || self.has("--settings") && self.has("--setting-sources");
        match () {
            () if !self.has("--no-session-persistence") => Some("would write a transcript of every judgement"),
            () if !self.has("--tools") => Some("cannot be kept from using tools"),
            () if !quiet => Some("cannot be kept from running hooks"),
            () if !self.has("--output-format") => Some("does not say its result in JSON"),
            () => None,
        }
    }
}

/// What is passed for a prompt.
struct Input {
    system: Option<String>,
    schema: Option<String>,
    stdin: String,
}

/// What came of one run.
struct Ran {
    /// None where a signal ended it.
    code: Option<i32>,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl ClaudeCli {
    /// A judge; runs nothing yet.
    pub fn new(config: Config, world: World) -> Result<ClaudeCli, JudgeError> {
        if !config.folder.ends_with(JUDGE_FOLDER) || !config.folder.is_absolute() {
            let message =
                format!("the folder in which claude judges must be an absolute path that ends in {JUDGE_FOLDER}");
            return Err(JudgeError::before(Failing::Rejected, message));
        }
        Ok(ClaudeCli { config, world, gate: Gate::default(), flags: OnceLock::new() })
    }

    /// What is handed to the command: its system prompt and schema, and what it reads.
    pub fn body(&self, prompt: &Prompt) -> Result<Vec<u8>, JudgeError> {
        let input = input(prompt, self.flags()?);
        Ok([input.system.unwrap_or_default(), input.schema.unwrap_or_default(), input.stdin].concat().into_bytes())
    }

    /// Whether the command is there, and understands what it is told.
    pub fn check(&self) -> Result<(), JudgeError> {
        self.flags().map(|_| ())
    }

    /// The flags, found out once.
    fn flags(&self) -> Result<&Flags, JudgeError> {
        self.flags.get_or_init(|| self.probe()).as_ref().map_err(Clone::clone)
    }

    fn probe(&self) -> Result<Flags, JudgeError> {
        let program = self.config.program.display();
        let fails = |kind, what: String| JudgeError::before(kind, what);
        std::fs::create_dir_all(&self.config.folder)
            .map_err(|error| fails(Failing::NotThere, format!("{}: {error}", self.config.folder.display())))?;
        let mut command = self.command();
        command.arg("--help");
        let ran = run(command, String::new(), Duration::from_secs(60)).map_err(|error| self.not_run(&error))?;
        let help = String::from_utf8_lossy(&ran.as_ref().map(|ran| ran.out.clone()).unwrap_or_default()).into_owned();
        let flags = Flags::read(&help);
        if flags.0.is_empty() {
            return Err(fails(Failing::NotThere, format!("{program} --help says nothing; is it Claude Code?")));
        }
        match flags.lacks() {
            Some(lack) => Err(fails(
                Failing::NotThere,
                format!(
                    "this version of {program} {lack}, so it is not used; update Claude Code, or use another judge"
                ),
            )),
            None => Ok(flags),
        }
    }

    fn not_run(&self, error: &io::Error) -> JudgeError {
        let program = self.config.program.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("there is no command {program}; install Claude Code, or name it by its path");
                JudgeError::before(Failing::NotThere, message)
            }
            io::ErrorKind::PermissionDenied => {
                JudgeError::before(Failing::NotThere, format!("{program} may not be run: {error}"))
            }
            _ => JudgeError::before(Failing::Unreachable, format!("{program} could not be run: {error}")),
        }
    }

    /// The command in its folder, with an environment in which it exports nothing and does not think itself a subagent.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.config.program);
        command.current_dir(&self.config.folder).env_clear();
        let dropped = |name: &str| {
            name.starts_with("OTEL_")
                || matches!(
                    name,
                    "CLAUDECODE"
                        | "CLAUDE_CODE_CHILD_SESSION"
                        | "CLAUDE_CODE_ENTRYPOINT"
                        | "CLAUDE_CODE_SESSION_ID"
                        | "CLAUDE_EFFORT"
                        | "CLAUDE_ENV_FILE"
                        | "CLAUDE_PID"
                        | "CLAUDE_PROJECT_DIR"
                        | "ANTHROPIC_LOG"
                )
        };
        let kept = self.config.environment.iter().filter(|(name, _)| !dropped(&name.to_string_lossy()));
        command.envs(kept.map(|(name, value)| (name, value)));
        // Time for one more try of its own.
        let inside = self.config.timeout / 2;
        command.envs([
            ("CLAUDE_CODE_ENABLE_TELEMETRY", "0"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ]);
        command.env("CLAUDE_CODE_MAX_RETRIES", self.config.own_retries.to_string());
        command.env("API_TIMEOUT_MS", inside.as_millis().to_string());
        command
    }

    fn arguments(&self, command: &mut Command, flags: &Flags, input: &Input, model: &str) {
        command.args(["-p", "--output-format", "json", "--no-session-persistence", "--tools", ""]);
        if flags.has("--safe-mode") {
            command.arg("--safe-mode");
        } else {
            command.args(["--setting-sources", "", "--settings", r#"{"disableAllHooks":true}"#]);
        }
        for flag in ["--strict-mcp-config", "--disable-slash-commands"] {
            if flags.has(flag) {
                command.arg(flag);
            }
        }
        if flags.has("--effort") {
            command.args(["--effort", "low"]);
        }
        if let Some(dollars) = self.config.most_dollars.filter(|_| flags.has("--max-budget-usd")) {
            command.args(["--max-budget-usd", &dollars.to_string()]);
        }
        if let Some(system) = &input.system {
            command.args(["--system-prompt", system]);
        }
        if let Some(schema) = &input.schema {
            command.args(["--json-schema", schema]);
        }
        if !model.is_empty() {
            command.args(["--model", model]);
        }
    }

    /// Runs it once.
    fn once(&self, prompt: &Prompt, model: &str) -> Result<Reply, JudgeError> {
        let flags = self.flags()?;
        let input = input(prompt, flags);
        if input.stdin.len() > INPUT_BYTES {
            let message = format!("{} bytes are more than claude reads", input.stdin.len());
            return Err(JudgeError::before(Failing::TooLarge, message));
        }
        let mut command = self.command();
        self.arguments(&mut command, flags, &input, model);
        let text = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
        egress::tell(&self.world, HOST, &[&text(&input.system), &text(&input.schema), input.stdin.as_bytes()])?;
        let ran = run(command, input.stdin, self.config.timeout).map_err(|error| self.not_run(&error))?;
        let Some(ran) = ran else {
            let message = format!("claude did not answer within {} s and was ended", self.config.timeout.as_secs());
            return Err(JudgeError { kind: Failing::TimedOut, message, requests: 1 });
        };
        self.read(&ran, model).map_err(|error| JudgeError { requests: 1, ..error })
    }

    /// What a run says.
    fn read(&self, ran: &Ran, model: &str) -> Result<Reply, JudgeError> {
        let fails = |kind, what: &str, said: &str| {
            let said = self.public(said);
            let message = if said.is_empty() { format!("claude {what}") } else { format!("claude {what}: {said}") };
            Err(JudgeError::before(kind, message))
        };
        let Some(value) = result(&ran.out) else {
            let (out, err) = (String::from_utf8_lossy(&ran.out), String::from_utf8_lossy(&ran.err));
            let cut = ran.code.is_none() || out.trim_start().starts_with('{');
            let said = if err.trim().is_empty() { &out } else { &err };
            return match cut {
                true => fails(Failing::Broken, "broke off", said),
                false if err.contains("unknown option") => fails(Failing::Rejected, "does not know a flag", said),
                false => fails(failing(None, &said.to_lowercase()).unwrap_or(Failing::Garbled), "gave no result", said),
            };
        };
        let said = value["result"].as_str().unwrap_or_default();
        let small = said.to_lowercase();
        // It costs, and it is known why there is no more: an answer, then.
        let full = value["is_error"] == true && small.contains("output token maximum");
        let stop = match value["stop_reason"].as_str() {
            Some("refusal") => Stop::Refusal,
            _ if full => Stop::MaxTokens,
            _ => Stop::End,
        };
        if (ran.code == Some(0) && value["is_error"] == false) || full {
            let structured = value.get("structured_output").filter(|output| !output.is_null());
            return Ok(Reply {
                text: structured.map_or_else(|| said.to_owned(), Value::to_string),
                stop,
                model: answered_by(&value).unwrap_or_else(|| model.to_owned()),
                usage: value.get("usage").and_then(anthropic::usage),
                dollars: dollars(&value),
                batch: false,
                requests: 1,
            });
        }
        let listed = value["errors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
        let said = if said.is_empty() { listed.join("; ") } else { said.to_owned() };
        match (value["subtype"].as_str(), value["terminal_reason"].as_str()) {
            (Some("error_max_budget_usd"), _) => fails(Failing::Rejected, "would have cost more than it may", &said),
            (Some("error_max_turns"), _) => fails(Failing::Garbled, "came to no answer", &said),
            (_, Some("prompt_too_long")) => fails(Failing::TooLarge, "was asked too much", &said),
            _ => {
                let status = value["api_error_status"].as_u64().map(|status| status as u16);
                let kind = failing(status, &said.to_lowercase()).unwrap_or(Failing::Unavailable);
                let hint = if kind == Failing::Denied { "failed; run `claude` once and log in" } else { "failed" };
                fails(kind, hint, &said)
            }
        }
    }

    /// Foreign words, fit to be shown.
    fn public(&self, text: &str) -> String {
        let secret = |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word));
        let secrets = self.config.environment.iter().filter(|(name, _)| secret(&name.to_string_lossy().to_uppercase()));
        let keys = secrets.map(|(_, value)| value.to_string_lossy().into_owned()).filter(|value| value.len() >= 8);
        http::shown(&keys.fold(text.to_owned(), |text, key| Key::new(&key).hidden_in(&text)))
    }
}

impl Live for ClaudeCli {
    fn reply(&self, prompt: &Prompt, model: &str) -> Result<Reply, JudgeError> {
        let mut tries = Tries::new(&self.config.retries, prompt.evidence.as_str().as_bytes());
        let mut requests = 0;
        loop {
            let closed = self.gate.closed_for(self.world.clock.now());
            if !tries.spend(closed) || !self.world.wait(closed) {
                return Err(World::stopped(requests));
            }
            tries.made += 1;
            let error = match self.once(prompt, model) {
                Ok(reply) => return Ok(Reply { requests: requests + 1, ..reply }),
                Err(error) => error,
            };
            requests += error.requests;
            let setback = match error.kind {
                Failing::RateLimited | Failing::Unavailable | Failing::Unreachable | Failing::Broken => Setback::Failed,
                Failing::TimedOut => Setback::TimedOut,
                _ => return Err(JudgeError { requests, ..error }),
            };
            let lost = matches!(error.kind, Failing::TimedOut | Failing::Broken);
            let Some(wait) = tries.next(setback, lost) else { return Err(JudgeError { requests, ..error }) };
            if error.kind == Failing::RateLimited {
                self.gate.close_until(Timestamp(self.world.clock.now().0 + wait.as_millis() as i64));
            }
            if !self.world.wait(wait) {
                return Err(JudgeError { requests, ..error });
            }
        }
    }
}

/// What is passed where. What is too long for an argument is read with the rest.
fn input(prompt: &Prompt, flags: &Flags) -> Input {
    let schema = prompt.schema.to_string();
    let system = prompt.fixed.as_str();
    let system = Some(system.to_owned()).filter(|text| flags.has("--system-prompt") && text.len() <= ARGUMENT_BYTES);
    let schema = Some(schema).filter(|text| flags.has("--json-schema") && text.len() <= ARGUMENT_BYTES);
    let mut stdin = format!("{JUDGE_MARK}>\n");
    if system.is_none() {
        stdin = format!("{stdin}{}\n\n", prompt.fixed);
    }
    stdin.push_str(&prompt.user());
    if schema.is_none() {
        stdin = format!("{stdin}\n\n{}", schema::in_words(&prompt.schema));
    }
    Input { system, schema, stdin }
}

/// The result object among what was printed.
fn result(out: &[u8]) -> Option<Value> {
    let is_result = |value: &Value| value["type"] == "result";
    if let Ok(value) = serde_json::from_slice::<Value>(out) {
        return match value {
            Value::Array(items) => items.into_iter().rfind(is_result),
            value => Some(value).filter(is_result),
        };
    }
    let lines = out.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.into_iter().find(is_result)
}

/// The model that wrote most.
fn answered_by(value: &Value) -> Option<String> {
    let models = value["modelUsage"].as_object()?;
    models.iter().max_by_key(|(_, usage)| usage["outputTokens"].as_u64()).map(|(model, _)| model.clone())
}

/// What it cost, where that was reckoned by the list: models that it does not know it prices like others.
fn dollars(value: &Value) -> Option<f64> {
    let models = value["modelUsage"].as_object()?;
    let by_list = !models.is_empty() && models.values().all(|usage| usage["costBasis"] == "list");
    value["total_cost_usd"].as_f64().filter(|dollars| by_list && dollars.is_finite())
}

/// What kind of failure it is, by the status it met and by its words, in small letters.
fn failing(status: Option<u16>, said: &str) -> Option<Failing> {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["usage limit", "hit your limit", "limit reached", "credit balance"]) {
        return Some(Failing::Exhausted);
    }
    if let Some(status) = status {
        return Some(http::failing(status, said));
    }
    let kinds: [(&[&str], Failing); 5] = [
        (&["/login", "not logged in", "invalid api key", "authenticat", "oauth"], Failing::Denied),
        (&["prompt is too long", "exceeds 10mb"], Failing::TooLarge),
        (&["timed out", "timeout"], Failing::TimedOut),
        (&["connect", "network", "socket", "fetch failed"], Failing::Unreachable),
        (&["json schema", "json-schema", "unknown model"], Failing::Rejected),
    ];
    kinds.into_iter().find(|(words, _)| says(words)).map(|(_, kind)| kind)
}

/// Runs a command to its end; none if that took too long, in which case it and what it started are ended.
fn run(mut command: Command, input: String, timeout: Duration) -> io::Result<Option<Ran>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    begin_group(&mut command);
    let mut child = command.spawn()?;
    let start = Instant::now();
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read to the end says why in its result.
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let mut step = Duration::from_millis(2);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() >= timeout {
            end_group(&mut child);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(step);
        step = (step * 2).min(Duration::from_millis(50));
    };
    // What it started may hold its output open.
    let mut take = |pipe: &Receiver<Vec<u8>>| match pipe.recv_timeout(Duration::from_secs(2)) {
        Err(RecvTimeoutError::Timeout) => {
            end_group(&mut child);
            pipe.recv_timeout(Duration::from_secs(2)).unwrap_or_default()
        }
        got => got.unwrap_or_default(),
    };
    Ok(Some(Ran { out: take(&out), err: take(&err), code: status.code() }))
}

/// Reads a pipe to its end in a thread of its own.
fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let mut pipe = pipe.take(OUTPUT_BYTES);
            // What was read counts, also where the rest cannot be.
            let _ = pipe.read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe.into_inner(), &mut io::sink());
        }
        let _ = sender.send(bytes);
    });
    receiver
}
