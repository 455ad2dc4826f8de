//! Tool calls and what comes back of them.

use super::{Session, Source, agent_id};
use crate::words::{code_line, hex, prose, word};
use std::fmt::Write as _;
use std::io::{self, Write};

/// One tool call between its assistant line and its result.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) assistant: String,
    pub(super) tool: Tool,
}

pub(super) enum Tool {
    Bash(Command),
    Read { source: usize, offset: u64, limit: u64 },
    Edit { source: usize, at: usize, new: Vec<String> },
    Write { path: String, lines: Vec<String> },
    Grep { pattern: &'static str },
    Glob,
    TodoWrite { todos: String },
    TaskCreate { subject: String },
    TaskUpdate { id: u64 },
    Agent { name: &'static str, prompt: String, agent: String },
    Fetch,
    Mcp,
}

pub(super) enum Command {
    Test { runner: usize, green: bool, masked: bool },
    Commit { message: String },
    Other(&'static str),
}

pub(super) const RUNNERS: &[(&str, &str, &str, &str)] = &[
    (
        "cargo test --workspace",
        "test ",
        "test result: ok. 148 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 3.21s",
        "test result: FAILED. 145 passed; 3 failed; 2 ignored; 0 measured; 0 filtered out; finished in 3.40s\\n\\nerror: test failed, to rerun pass `--lib`",
    ),
    (
        "uv run pytest -q",
        "tests/test_",
        "========== 212 passed, 4 skipped in 8.14s ==========",
        "FAILED tests/test_ledger.py::test_merge - AssertionError\\n========== 2 failed, 210 passed in 8.52s ==========",
    ),
    (
        "npm test",
        " ✓ src/",
        "Test Files  31 passed (31)\\n     Tests  204 passed (204)",
        "Test Files  1 failed | 30 passed (31)\\n     Tests  2 failed | 202 passed (204)",
    ),
    (
        "go test ./...",
        "ok  \\tgithub.com/example/",
        "ok  \\tgithub.com/example/cobalt\\t0.412s",
        "--- FAIL: TestMergeLedger (0.01s)\\n    merge_test.go:41: got 3, want 4\\nFAIL\\ngithub.com/example/cobalt\\t0.398s\\nFAIL",
    ),
];
#[rustfmt::skip]
pub(super) const COMMANDS: &[&str] = &[
    "git status", "git diff --stat", "git log --oneline -10", "ls -la src",
    "cargo build 2>&1 | tail -20", "cargo clippy --all-targets", "npm run build",
    "npx tsc --noEmit", "grep -rn \\\"fn parse\\\" src | head -20", "cat Cargo.toml",
    "find . -name '*.rs' | wc -l", "wc -l src/*.rs", "make lint", "docker compose ps",
    "gh pr view 41 --json title,state", "sed -n '1,80p' src/lib.rs",
    "curl -s localhost:8080/health", "mkdir -p build && cd build && cmake ..",
    "python3 scripts/report.py --since 7d", "jq '.items | length' out.json",
];

impl<W: Write> Session<W> {
    pub(super) fn tool(&mut self) -> Tool {
        match self.rng.below(1_000) {
            0..320 => Tool::Bash(match self.rng.below(100) {
                0..16 => Command::Test {
                    runner: self.rng.below(RUNNERS.len() as u64) as usize,
                    green: self.rng.permille(720),
                    masked: self.rng.permille(550),
                },
                16..22 => Command::Commit {
                    message: format!(
                        "Add {} {} to the {}",
                        word(&mut self.rng),
                        word(&mut self.rng),
                        word(&mut self.rng)
                    ),
                },
                _ => Command::Other(self.rng.pick(COMMANDS)),
            }),
            320..550 => {
                let source = self.source(420);
                let whole = self.rng.permille(480);
                let (offset, limit) = if whole { (0, 0) } else { (self.rng.below(60), self.rng.between(20, 200)) };
                Tool::Read { source, offset, limit }
            }
            550..738 => {
                // The larger files are edited the most.
                let drawn = [self.source(20), self.source(20), self.source(20)];
                let source = drawn.into_iter().max_by_key(|&n| self.sources[n].lines.len()).unwrap_or(0);
                let at = self.rng.below(self.sources[source].lines.len() as u64) as usize;
                let count = 1 + self.rng.exponential(9);
                Tool::Edit { source, at, new: self.code(count) }
            }
            738..840 => Tool::Grep { pattern: word(&mut self.rng) },
            840..860 => {
                let path = format!("{}/src/{}_{}.rs", self.cwd, word(&mut self.rng), word(&mut self.rng));
                let count = 20 + self.rng.exponential(130);
                Tool::Write { path, lines: self.code(count) }
            }
            860..878 => Tool::Glob,
            878..892 => {
                let mut todos = String::new();
                for n in 0..self.rng.between(3, 9) {
                    let comma = if n > 0 { "," } else { "" };
                    let status = ["completed", "in_progress", "pending"][(n as usize).min(2)];
                    put!(
                        todos,
                        "{comma}{{\"content\":\"Move the {} {} into the {}\",\"status\":\"{status}\",\"activeForm\":\"Moving the {}\"}}",
                        word(&mut self.rng),
                        word(&mut self.rng),
                        word(&mut self.rng),
                        word(&mut self.rng)
                    );
                }
                Tool::TodoWrite { todos }
            }
            892..909 => Tool::TaskCreate {
                subject: format!("Check the {} of every {}", word(&mut self.rng), word(&mut self.rng)),
            },
            909..940 => Tool::TaskUpdate { id: 1 + self.rng.below(self.tasks.max(1)) },
            940..974 if self.agent.is_none() => {
                let mut prompt = String::new();
                let words = 30 + self.rng.exponential(120);
                prose(&mut prompt, &mut self.rng, words);
                self.agents += 1;
                Tool::Agent {
                    name: if self.modern { "Agent" } else { "Task" },
                    prompt,
                    agent: agent_id(self.seed, self.agents - 1),
                }
            }
            940..980 => Tool::Fetch,
            _ => Tool::Mcp,
        }
    }

    pub(super) fn tool_use(&mut self, id: &str, tool: &Tool) -> String {
        let mut input = String::new();
        let name = match tool {
            Tool::Bash(command) => {
                let text = match command {
                    Command::Test { runner, masked, .. } => {
                        format!("{}{}", RUNNERS[*runner].0, if *masked { " 2>&1 | tail -30" } else { "" })
                    }
                    Command::Commit { message } => {
                        format!("git add -A && git commit -m \\\"{message}\\\"")
                    }
                    Command::Other(text) => (*text).to_owned(),
                };
                put!(
                    input,
                    "\"command\":\"{text}\",\"description\":\"Look at the {} {}\"",
                    word(&mut self.rng),
                    word(&mut self.rng)
                );
                "Bash"
            }
            Tool::Read { source, offset, limit } => {
                put!(input, "\"file_path\":\"{}\"", self.sources[*source].path);
                if *limit > 0 {
                    put!(input, ",\"offset\":{offset},\"limit\":{limit}");
                }
                "Read"
            }
            Tool::Edit { source, at, new } => {
                let source = &self.sources[*source];
                put!(input, "\"replace_all\":false,\"file_path\":\"{}\",\"old_string\":\"", source.path);
                joined(&mut input, old_lines(&source.lines, *at));
                input.push_str("\",\"new_string\":\"");
                joined(&mut input, new);
                input.push('"');
                "Edit"
            }
            Tool::Write { path, lines } => {
                put!(input, "\"file_path\":\"{path}\",\"content\":\"");
                joined(&mut input, lines);
                input.push('"');
                "Write"
            }
            Tool::Grep { pattern } => {
                put!(
                    input,
                    "\"pattern\":\"{pattern}_\\\\w+\",\"path\":\"{}/src\",\"output_mode\":\"content\",\"-n\":true",
                    self.cwd
                );
                "Grep"
            }
            Tool::Glob => {
                put!(input, "\"pattern\":\"**/*{}*.rs\"", word(&mut self.rng));
                "Glob"
            }
            Tool::TodoWrite { todos } => {
                put!(input, "\"todos\":[{todos}]");
                "TodoWrite"
            }
            Tool::TaskCreate { subject } => {
                put!(input, "\"subject\":\"{subject}\",\"description\":\"");
                prose(&mut input, &mut self.rng, 30);
                input.push_str("\",\"activeForm\":\"Checking\"");
                "TaskCreate"
            }
            Tool::TaskUpdate { id } => {
                put!(input, "\"taskId\":\"{id}\",\"status\":\"completed\"");
                "TaskUpdate"
            }
            Tool::Agent { name, prompt, .. } => {
                put!(
                    input,
                    "\"description\":\"Explore the {} {}\",\"prompt\":\"{prompt}\",\"subagent_type\":\"Explore\"",
                    word(&mut self.rng),
                    word(&mut self.rng)
                );
                name
            }
            Tool::Fetch => {
                put!(
                    input,
                    "\"url\":\"https://docs.example.org/{}/{}\",\"prompt\":\"What does it say of the {}?\"",
                    word(&mut self.rng),
                    word(&mut self.rng),
                    word(&mut self.rng)
                );
                "WebFetch"
            }
            Tool::Mcp => {
                put!(input, "\"query\":\"{} {}\",\"limit\":20", word(&mut self.rng), word(&mut self.rng));
                "mcp__tracker__search_tickets"
            }
        };
        let caller = if self.modern || self.seed & 1 == 0 { ",\"caller\":{\"type\":\"direct\"}" } else { "" };
        format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{name}\",\"input\":{{{input}}}{caller}}}")
    }

    /// The result of a call: what the model saw, and beside it the client's own record of the same.
    pub(super) fn result(&mut self, call: Call) -> io::Result<()> {
        let name = match &call.tool {
            Tool::Bash(_) => "Bash",
            Tool::Read { .. } => "Read",
            Tool::Edit { .. } => "Edit",
            _ => "Other",
        };
        if self.rng.permille(if self.modern { 1_000 } else { 530 }) {
            self.hook("PreToolUse", name, &call.id)?;
        }
        if !self.modern {
            if matches!(call.tool, Tool::Bash(_)) && self.rng.permille(570) {
                self.bash_progress(&call.id)?;
            }
            if let Tool::Agent { agent, prompt, .. } = &call.tool {
                let (agent, prompt) = (agent.clone(), prompt.clone());
                self.agent_progress(&call, &agent, &prompt)?;
            }
        }

        // What the model saw; what the client kept.
        let (mut seen, mut kept) = (String::new(), String::new());
        let mut error = Some(false);
        let roll = self.rng.below(1_000);
        match call.tool {
            // Refused by the user, and so cut short.
            _ if roll < 6 => {
                seen.push_str("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.");
                kept.push_str("\"User rejected tool use\"");
                error = Some(true);
            }
            Tool::Bash(command) => {
                let mut output = String::new();
                let (mut code, mut masked) = (0, false);
                match command {
                    Command::Test { runner, green, masked: pipe } => {
                        let (_, each, pass, fail) = RUNNERS[runner];
                        for _ in 0..self.rng.between(4, 40) {
                            put!(
                                output,
                                "{each}{}_{}::{} ... ok\\n",
                                word(&mut self.rng),
                                word(&mut self.rng),
                                word(&mut self.rng)
                            );
                        }
                        output.push_str(if green { pass } else { fail });
                        (code, masked) = (i32::from(!green) * 101, pipe);
                    }
                    Command::Commit { message } => {
                        let branch = if self.branch.is_empty() { "main" } else { self.branch };
                        put!(
                            output,
                            "[{branch} {}] {message}\\n {} files changed, {} insertions(+), {} deletions(-)",
                            hex(self.rng.next(), 7),
                            self.rng.between(1, 9),
                            self.rng.below(200),
                            self.rng.below(90)
                        );
                    }
                    Command::Other(_) => {
                        let lines = self.rng.exponential(34);
                        for line in self.code(lines) {
                            put!(output, "{line}\\n");
                        }
                        code = i32::from(roll < 60);
                    }
                }
                if code != 0 && !masked {
                    put!(seen, "Exit code {code}\\n{output}");
                    put!(kept, "\"Error: Exit code {code}\\n{output}\"");
                    error = Some(true);
                } else {
                    put!(
                        kept,
                        "{{\"stdout\":\"{output}\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"noOutputExpected\":false}}"
                    );
                    seen = output;
                }
            }
            Tool::Read { source, offset, limit } => {
                error = None;
                if roll < 20 {
                    seen.push_str("<tool_use_error>File does not exist.</tool_use_error>");
                    kept.push_str("\"Error: File does not exist.\"");
                    error = Some(true);
                } else {
                    let source = &self.sources[source];
                    let total = source.lines.len();
                    let from = (offset as usize).min(total);
                    let to = if limit == 0 { total } else { (from + limit as usize).min(total) };
                    let part = &source.lines[from..to];
                    numbered(&mut seen, part, from);
                    if self.rng.permille(180) {
                        seen.push_str("\\n<system-reminder>\\nWhenever you read a file, consider whether it looks like what was asked for.\\n</system-reminder>\\n");
                    }
                    put!(kept, "{{\"type\":\"text\",\"file\":{{\"filePath\":\"{}\",\"content\":\"", source.path);
                    joined(&mut kept, part);
                    put!(kept, "\",\"numLines\":{},\"startLine\":{},\"totalLines\":{total}}}}}", part.len(), from + 1);
                }
            }
            Tool::Edit { source, at, new } => {
                error = None;
                if roll < 45 {
                    let why = if roll < 25 {
                        "String to replace not found in file."
                    } else {
                        "File has not been read yet. Read it first before writing to it."
                    };
                    put!(seen, "<tool_use_error>{why}</tool_use_error>");
                    put!(kept, "\"Error: {why}\"");
                    error = Some(true);
                } else {
                    let source = &mut self.sources[source];
                    // Another edit of the same message may have shortened the file.
                    let at = at.min(source.lines.len() - 1);
                    let old = old_lines(&source.lines, at).to_vec();
                    put!(
                        seen,
                        "The file {} has been updated successfully. Here's the result of running `cat -n` on a snippet of the edited file:\\n",
                        source.path
                    );
                    numbered(&mut seen, &new, at);
                    put!(kept, "{{\"filePath\":\"{}\",\"oldString\":\"", source.path);
                    joined(&mut kept, &old);
                    kept.push_str("\",\"newString\":\"");
                    joined(&mut kept, &new);
                    kept.push_str("\",\"originalFile\":\"");
                    joined(&mut kept, &source.lines);
                    let before = &source.lines[at.saturating_sub(3)..at];
                    put!(
                        kept,
                        "\",\"structuredPatch\":[{{\"oldStart\":{},\"oldLines\":{},\"newStart\":{},\"newLines\":{},\"lines\":[",
                        at + 1,
                        old.len() + before.len(),
                        at + 1,
                        new.len() + before.len()
                    );
                    let marked = before
                        .iter()
                        .map(|line| (' ', line))
                        .chain(old.iter().map(|line| ('-', line)))
                        .chain(new.iter().map(|line| ('+', line)));
                    for (n, (mark, line)) in marked.enumerate() {
                        put!(kept, "{}\"{mark}{line}\"", if n > 0 { "," } else { "" });
                    }
                    kept.push_str("]}],\"userModified\":false,\"replaceAll\":false}");
                    source.lines.splice(at..at + old.len(), new);
                    source.lines.truncate(900);
                }
            }
            Tool::Write { path, lines } => {
                error = None;
                put!(seen, "File created successfully at: {path}");
                put!(kept, "{{\"type\":\"create\",\"filePath\":\"{path}\",\"content\":\"");
                joined(&mut kept, &lines);
                kept.push_str("\",\"structuredPatch\":[],\"originalFile\":null}");
                self.keep(Source { path, lines });
            }
            Tool::Grep { pattern } => {
                error = None;
                let count = self.rng.exponential(45);
                let mut found = String::new();
                for _ in 0..count {
                    put!(found, "src/{}/{}.rs:{}:", word(&mut self.rng), word(&mut self.rng), self.rng.below(900));
                    code_line(&mut found, &mut self.rng, self.tabs);
                    put!(found, " {pattern}\\n");
                }
                put!(
                    kept,
                    "{{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":\"{found}\",\"numLines\":{count}}}"
                );
                seen = found;
            }
            Tool::Glob => {
                error = None;
                kept.push_str("{\"filenames\":[");
                let count = self.rng.between(1, 30);
                for n in 0..count {
                    let name = format!("{}/src/{}/{}.rs", self.cwd, word(&mut self.rng), word(&mut self.rng));
                    put!(seen, "{}{name}", if n > 0 { "\\n" } else { "" });
                    put!(kept, "{}\"{name}\"", if n > 0 { "," } else { "" });
                }
                put!(kept, "],\"durationMs\":{},\"numFiles\":{count},\"truncated\":false}}", self.rng.below(400));
            }
            Tool::TodoWrite { todos } => {
                error = None;
                seen.push_str("Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress.");
                put!(kept, "{{\"oldTodos\":[],\"newTodos\":[{todos}]}}");
            }
            Tool::TaskCreate { subject } => {
                error = None;
                self.tasks += 1;
                put!(seen, "Task #{} created successfully: {subject}", self.tasks);
                put!(kept, "{{\"task\":{{\"id\":\"{}\",\"subject\":\"{subject}\"}}}}", self.tasks);
            }
            Tool::TaskUpdate { id } => {
                error = None;
                put!(seen, "Updated task #{id} status");
                put!(
                    kept,
                    "{{\"success\":true,\"taskId\":\"{id}\",\"updatedFields\":[\"status\"],\"statusChange\":{{\"from\":\"in_progress\",\"to\":\"completed\"}}}}"
                );
            }
            Tool::Agent { prompt, agent, .. } => {
                error = None;
                let words = 60 + self.rng.exponential(420);
                prose(&mut seen, &mut self.rng, words);
                put!(
                    kept,
                    "{{\"status\":\"completed\",\"prompt\":\"{prompt}\",\"agentId\":\"{agent}\",\"content\":[{{\"type\":\"text\",\"text\":\"{seen}\"}}],\"totalDurationMs\":{},\"totalTokens\":{},\"totalToolUseCount\":{},\"usage\":",
                    self.rng.below(300_000),
                    self.rng.below(90_000),
                    self.rng.below(40)
                );
                put!(
                    kept,
                    "{{\"input_tokens\":4,\"cache_creation_input_tokens\":812,\"cache_read_input_tokens\":41210,\"cache_creation\":{{\"ephemeral_5m_input_tokens\":812,\"ephemeral_1h_input_tokens\":0}},\"output_tokens\":{},\"service_tier\":\"standard\"}}}}",
                    self.rng.below(2_000)
                );
            }
            Tool::Fetch => {
                error = None;
                let words = 60 + self.rng.exponential(260);
                prose(&mut seen, &mut self.rng, words);
                put!(
                    kept,
                    "{{\"bytes\":{},\"code\":200,\"codeText\":\"OK\",\"result\":\"{seen}\",\"durationMs\":{},\"url\":\"https://docs.example.org/\"}}",
                    self.rng.below(400_000),
                    self.rng.below(9_000)
                );
            }
            Tool::Mcp => {
                error = None;
                seen.push_str("{\\\"tickets\\\":[");
                for n in 0..self.rng.between(1, 24) {
                    put!(
                        seen,
                        "{}{{\\\"id\\\":{},\\\"title\\\":\\\"{} {}\\\"}}",
                        if n > 0 { "," } else { "" },
                        self.rng.below(9_000),
                        word(&mut self.rng),
                        word(&mut self.rng)
                    );
                }
                seen.push_str("]}");
                put!(kept, "[{{\"type\":\"text\",\"text\":\"{seen}\"}}]");
            }
        }

        self.open();
        put!(
            self.line,
            "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{}\",\"type\":\"tool_result\",\"content\":",
            call.id
        );
        if kept.starts_with('[') || kept.starts_with("{\"status\"") {
            put!(self.line, "[{{\"type\":\"text\",\"text\":\"{seen}\"}}]");
        } else {
            put!(self.line, "\"{seen}\"");
        }
        if let Some(error) = error {
            put!(self.line, ",\"is_error\":{error}");
        }
        self.line.push_str("}]}");
        self.stamp();
        put!(self.line, ",\"toolUseResult\":{kept},\"sourceToolAssistantUUID\":\"{}\"", call.assistant);
        self.close()?;

        if roll < 6 {
            self.note("[Request interrupted by user for tool use]")?;
        }
        if self.rng.permille(if self.modern { 500 } else { 480 }) {
            self.hook("PostToolUse", name, &call.id)?;
        }
        Ok(())
    }
}

/// Lines as the Read tool shows them.
pub(super) fn numbered(out: &mut String, lines: &[String], before: usize) {
    for (n, line) in lines.iter().enumerate() {
        put!(out, "{:>6}→{line}\\n", before + n + 1);
    }
}

fn joined(out: &mut String, lines: &[String]) {
    for line in lines {
        out.push_str(line);
        out.push_str("\\n");
    }
}

/// What an edit at this line replaces.
fn old_lines(lines: &[String], at: usize) -> &[String] {
    let at = at.min(lines.len().saturating_sub(1));
    &lines[at..(at + 1 + at % 6).min(lines.len())]
}
