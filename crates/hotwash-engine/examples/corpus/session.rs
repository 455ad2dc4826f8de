//! A session: its lines, one after the other.

mod calls;

use crate::chance::{Rng, mix};
use crate::plan::Plan;
use crate::words::{DAY_MS, base64, code_line, hex, iso, prose, service_id, uuid, word};
use calls::{Call, numbered};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

/// 2026-11-14T23:59:59Z, the last moment of the corpus.
const END_MS: u64 = 1_794_700_799_000;
/// Bytes per record seen on average, to guess how long a session lasts.
const RECORD: u64 = 3_200;

/// Only such as ccusage has prices for offline: it searches long for the price of a model that it does not know, and
/// that is not to count against it.
#[rustfmt::skip]
const MODELS: &[&str] = &[
    "claude-opus-5", "claude-opus-5", "claude-opus-5", "claude-opus-5", "claude-sonnet-5",
    "claude-sonnet-5", "claude-opus-4-8", "claude-opus-4-8", "claude-opus-4-7", "claude-fable-5-1",
    "claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001",
];
const AGENT_MODELS: &[&str] = &["claude-haiku-4-5-20251001", "claude-haiku-4-5", "claude-sonnet-5"];
#[rustfmt::skip]
pub(crate) const PROJECTS: &[&str] = &[
    "atlas", "beacon-api", "cobalt", "dockside", "ember", "fieldnotes", "granary", "harbor-web",
    "inkwell", "juniper", "kiln", "lantern", "mosaic", "northwind", "orchard", "paperboat",
    "quarry", "ridgeline", "saltbox", "tinder", "umbra", "vellum", "weathervane", "yardstick",
    "zephyr",
];
#[rustfmt::skip]
const BRANCHES: &[&str] = &[
    "main", "main", "main", "fix-retry", "feat/ledger-view", "refactor-parser", "",
];
#[rustfmt::skip]
const VERSIONS: &[&str] = &[
    "2.1.12", "2.1.17", "2.1.31", "2.1.39", "2.1.42", "2.1.50", "2.1.63", "2.1.72", "2.1.81",
];
const NEW_VERSIONS: &[&str] = &["2.1.149", "2.1.181", "2.1.200", "2.1.220"];
#[rustfmt::skip]
const SLUGS: &[&str] = &[
    "calm-drifting-otter", "humble-seeking-umbrella", "modular-munching-sutton",
    "prancy-painting-riddle",
];

/// A file of the made-up repository that the session works on.
struct Source {
    path: String,
    lines: Vec<String>,
}

#[rustfmt::skip]
const PROMPTS: &[&str] = &[
    "fix the failing test", "no, that is not what i meant", "please continue", "why is this slow?",
    "commit this", "now do the same for the other one", "looks good, push it",
    "revert that last change", "add tests for it",
];

/// Where a session's lines go, and all that is needed to write the next one.
struct Session<W: Write> {
    sink: W,
    written: u64,
    /// The size at which to stop.
    target: u64,
    line: String,
    rng: Rng,
    /// From 2.1.91 on: no `progress`, more `attachment`, the envelope at the end.
    modern: bool,
    tabs: bool,
    head: String,
    tail: String,
    id: String,
    cwd: String,
    branch: &'static str,
    model: &'static str,
    parent: Option<String>,
    now: u64,
    step: u64,
    context: u64,
    sources: Vec<Source>,
    tasks: u64,
    agents: u64,
    /// What the ids of subagents are made from.
    seed: u64,
    /// Set in a subagent's own file, whose message ids the parent's progress lines repeat.
    agent: Option<(String, Rng)>,
    last_prompt: String,
    glued: bool,
}

/// The mean time between two records of a session of this size, so that the largest ones end within the month.
fn step(bytes: u64) -> u64 {
    (14 * DAY_MS / (bytes / RECORD + 1)).clamp(2, 8_000)
}

/// When a session starts: within 30 days of the end, and early enough to be over by then.
pub(crate) fn start(seed: u64, bytes: u64) -> u64 {
    let lasts = (bytes / RECORD + 1) * step(bytes) * 3 / 2;
    END_MS - lasts - Rng(mix(seed, 1)).below((30 * DAY_MS).saturating_sub(lasts))
}

/// The id of the n-th subagent of a session.
pub(crate) fn agent_id(seed: u64, n: u64) -> String {
    format!("a{}", hex(mix(seed, 0xA6E2 + n), 16))
}

/// The ids of a subagent's messages, drawn in this order in its own file and in its parent's progress lines.
fn agent_ids(agent: &str) -> Rng {
    Rng(agent.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)))
}

impl<W: Write> Session<W> {
    fn new(sink: W, plan: &Plan, seed: u64, target: u64) -> Self {
        let mut rng = Rng(seed);
        let modern = rng.permille(90);
        let version = rng.pick(if modern { NEW_VERSIONS } else { VERSIONS });
        let branch = rng.pick(BRANCHES);
        let model = rng.pick(if plan.agent.is_some() { AGENT_MODELS } else { MODELS });
        let tabs = rng.permille(400);
        let named = rng.permille(900).then(|| rng.pick(SLUGS));
        let step = step(target);
        let now = plan.start.unwrap_or_else(|| start(seed, target));

        let (cwd, session) = (plan.cwd.clone(), plan.session.clone());
        let agent = plan.agent.clone().map(|id| (id.clone(), agent_ids(&id)));
        let side = agent.is_some();
        let mut own = format!(
            "\"userType\":\"external\"{},\"cwd\":\"{cwd}\",\"sessionId\":\"{session}\",\"version\":\"{version}\",\"gitBranch\":\"{branch}\"",
            if modern { ",\"entrypoint\":\"cli\"" } else { "" }
        );
        if let Some((id, _)) = &agent {
            put!(own, ",\"agentId\":\"{id}\"");
        }
        if let Some(slug) = named {
            put!(own, ",\"slug\":\"{slug}\"");
        }
        let (head, tail) = if modern {
            (format!("\"isSidechain\":{side},"), format!(",{own}"))
        } else {
            (format!("\"isSidechain\":{side},{own},"), String::new())
        };
        Self {
            sink,
            written: 0,
            target,
            line: String::new(),
            rng,
            modern,
            tabs,
            head,
            tail,
            id: session,
            cwd,
            branch,
            model,
            parent: None,
            now,
            step,
            context: 15_000,
            sources: Vec::new(),
            tasks: 0,
            agents: 0,
            seed,
            agent,
            last_prompt: String::new(),
            glued: false,
        }
    }

    // -- lines

    fn flush(&mut self) -> io::Result<()> {
        // Two writers at once leave two objects on one line.
        self.glued = self.rng.below(26_000) == 0;
        if !self.glued {
            self.line.push('\n');
        }
        self.sink.write_all(self.line.as_bytes())?;
        self.written += self.line.len() as u64;
        self.line.clear();
        Ok(())
    }

    fn tick(&mut self) -> String {
        self.now = (self.now + self.rng.exponential(self.step)).min(END_MS);
        // Written late, as in most files.
        let late = if self.rng.permille(45) { self.rng.below(4_000) } else { 0 };
        iso(self.now - late)
    }

    fn open(&mut self) {
        match &self.parent {
            Some(parent) => put!(self.line, "{{\"parentUuid\":\"{parent}\",{}", self.head),
            None => put!(self.line, "{{\"parentUuid\":null,{}", self.head),
        }
    }

    /// Ends a line of the conversation, which becomes the parent of the next; returns its uuid.
    fn close(&mut self) -> io::Result<String> {
        self.line.push_str(&self.tail);
        self.line.push('}');
        self.flush()?;
        Ok(self.parent.clone().unwrap_or_default())
    }

    fn stamp(&mut self) {
        let id = uuid(&mut self.rng);
        let at = self.tick();
        put!(self.line, ",\"uuid\":\"{id}\",\"timestamp\":\"{at}\"");
        self.parent = Some(id);
    }

    // -- the repository

    fn source(&mut self, fresh: u64) -> usize {
        if self.sources.is_empty() || self.rng.permille(fresh) {
            let path = format!(
                "{}/src/{}/{}_{}.{}",
                self.cwd,
                word(&mut self.rng),
                word(&mut self.rng),
                word(&mut self.rng),
                if self.tabs { "go" } else { "rs" }
            );
            // No larger than there is room for.
            let room = self.target.saturating_sub(self.written) / 100;
            let count = (20 + self.rng.exponential(260)).min(room.max(8));
            let lines = self.code(count);
            return self.keep(Source { path, lines });
        }
        self.rng.below(self.sources.len() as u64) as usize
    }

    /// Keeps at most 48 files, so that memory stays flat.
    fn keep(&mut self, source: Source) -> usize {
        if self.sources.len() < 48 {
            self.sources.push(source);
            return self.sources.len() - 1;
        }
        let n = self.rng.below(48) as usize;
        self.sources[n] = source;
        n
    }

    fn code(&mut self, count: u64) -> Vec<String> {
        (0..count)
            .map(|_| {
                let mut line = String::with_capacity(48);
                code_line(&mut line, &mut self.rng, self.tabs);
                line
            })
            .collect()
    }

    // -- people

    fn prompt(&mut self) -> io::Result<()> {
        let mut text = String::new();
        if self.rng.permille(280) {
            text.push_str(self.rng.pick(PROMPTS));
        } else {
            let words = 4 + self.rng.exponential(38);
            prose(&mut text, &mut self.rng, words);
        }
        if self.rng.permille(60) {
            text.push_str("\\n\\n```\\n");
            let count = 5 + self.rng.exponential(30);
            for line in self.code(count) {
                put!(text, "{line}\\n");
            }
            text.push_str("```");
        }
        self.snapshot(false)?;
        self.open();
        put!(self.line, "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}");
        self.stamp();
        if self.modern {
            self.line
                .push_str(",\"permissionMode\":\"default\",\"promptSource\":\"typed\",\"origin\":{\"kind\":\"human\"}");
        } else {
            self.line.push_str(
                ",\"thinkingMetadata\":{\"maxThinkingTokens\":31999},\"todos\":[],\"permissionMode\":\"default\"",
            );
        }
        self.close()?;
        self.last_prompt = text;
        Ok(())
    }

    /// A pasted picture: a line of about a megabyte.
    fn picture(&mut self) -> io::Result<()> {
        let chars = self.rng.between(150_000, 1_900_000);
        self.open();
        self.line.push_str(
            "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[Image #1] ",
        );
        prose(&mut self.line, &mut self.rng, 12);
        self.line.push_str("\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo");
        base64(&mut self.line, &mut self.rng, chars);
        self.line.push_str("\"}}]}");
        self.stamp();
        self.line.push_str(",\"imagePasteIds\":[1]");
        self.close()?;
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.open();
        put!(
            self.line,
            "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
        );
        self.stamp();
        self.close()?;
        Ok(())
    }

    // -- bookkeeping

    fn snapshot(&mut self, update: bool) -> io::Result<()> {
        let id = uuid(&mut self.rng);
        let at = iso(self.now);
        put!(
            self.line,
            "{{\"type\":\"file-history-snapshot\",\"messageId\":\"{id}\",\"snapshot\":{{\"messageId\":\"{id}\",\"trackedFileBackups\":{{"
        );
        for (n, source) in self.sources.iter().take(8).enumerate() {
            let comma = if n > 0 { "," } else { "" };
            put!(
                self.line,
                "{comma}\"{}\":{{\"backupFileName\":\"{}@v{n}\",\"version\":{n},\"backupTime\":\"{at}\"}}",
                source.path,
                hex(mix(n as u64, self.seed), 16)
            );
        }
        put!(self.line, "}},\"timestamp\":\"{at}\"}},\"isSnapshotUpdate\":{update}}}");
        self.flush()
    }

    fn queue(&mut self) -> io::Result<()> {
        let at = self.tick();
        put!(
            self.line,
            "{{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"timestamp\":\"{at}\",\"sessionId\":\"{}\",\"content\":\"",
            self.id
        );
        prose(&mut self.line, &mut self.rng, 18);
        self.line.push_str("\"}");
        self.flush()?;
        let (at, done) = (self.tick(), if self.rng.permille(600) { "dequeue" } else { "remove" });
        put!(
            self.line,
            "{{\"type\":\"queue-operation\",\"operation\":\"{done}\",\"timestamp\":\"{at}\",\"sessionId\":\"{}\"}}",
            self.id
        );
        self.flush()
    }

    fn system(&mut self, subtype: &str, rest: &str) -> io::Result<()> {
        self.open();
        put!(self.line, "\"type\":\"system\",\"subtype\":\"{subtype}\",{rest}");
        self.stamp();
        self.close()?;
        Ok(())
    }

    fn attachment(&mut self, body: &str) -> io::Result<()> {
        self.open();
        put!(self.line, "\"attachment\":{body},\"type\":\"attachment\"");
        self.stamp();
        self.close()?;
        Ok(())
    }

    fn hook(&mut self, event: &str, tool: &str, call: &str) -> io::Result<()> {
        if self.modern {
            let body = format!(
                "{{\"type\":\"hook_success\",\"hookName\":\"{event}:{tool}\",\"toolUseID\":\"{call}\",\"hookEvent\":\"{event}\",\"content\":\"\",\"stdout\":\"{{\\n  \\\"continue\\\": true\\n}}\\n\",\"stderr\":\"\",\"exitCode\":0,\"command\":\"tools/hooks/{}.sh\",\"durationMs\":41}}",
                event.to_lowercase()
            );
            return self.attachment(&body);
        }
        self.open();
        put!(
            self.line,
            "\"type\":\"progress\",\"data\":{{\"type\":\"hook_progress\",\"hookEvent\":\"{event}\",\"hookName\":\"{event}:{tool}\",\"command\":\"tools/hooks/{}.sh\"}},\"parentToolUseID\":\"{call}\",\"toolUseID\":\"{call}\"",
            event.to_lowercase()
        );
        let id = uuid(&mut self.rng);
        let at = self.tick();
        put!(self.line, ",\"timestamp\":\"{at}\",\"uuid\":\"{id}\"");
        self.parent = Some(id);
        self.close()?;
        Ok(())
    }

    fn bash_progress(&mut self, call: &str) -> io::Result<()> {
        let count = self.rng.between(1, 9);
        let mut full = String::new();
        for second in 0..count {
            for _ in 0..self.rng.below(6) {
                put!(
                    full,
                    "   Compiling {}-{} v0.{}.{}\\n",
                    word(&mut self.rng),
                    word(&mut self.rng),
                    self.rng.below(40),
                    self.rng.below(9)
                );
            }
            let lines = full.matches("\\n").count();
            if self.written > self.target {
                break;
            }
            self.open();
            put!(
                self.line,
                "\"type\":\"progress\",\"data\":{{\"type\":\"bash_progress\",\"output\":\"{full}\",\"fullOutput\":\"{full}\",\"elapsedTimeSeconds\":{},\"totalLines\":{lines},\"totalBytes\":{},\"taskId\":\"b{}\"}},\"toolUseID\":\"bash-progress-{second}\",\"parentToolUseID\":\"{call}\"",
                second + 2,
                full.len(),
                hex(mix(self.seed, second), 8)
            );
            self.stamp();
            self.close()?;
        }
        Ok(())
    }

    /// What a subagent does, as its parent's file repeats it.
    fn agent_progress(&mut self, call: &Call, agent: &str, prompt: &str) -> io::Result<()> {
        let mut ids = agent_ids(agent);
        let model = self.rng.pick(AGENT_MODELS);
        let bubble = service_id("agent_msg_01", &mut self.rng);
        for n in 0..self.rng.between(6, 44) {
            if self.written > self.target {
                break;
            }
            let nested = self.nested(n, &mut ids, model, prompt);
            let copies = if self.rng.permille(60) {
                (0..self.rng.between(2, 9)).map(|_| nested.as_str()).collect::<Vec<_>>().join(",")
            } else {
                String::new()
            };
            self.open();
            put!(
                self.line,
                "\"type\":\"progress\",\"data\":{{\"message\":{nested},\"normalizedMessages\":[{copies}],\"type\":\"agent_progress\",\"prompt\":\"{prompt}\",\"agentId\":\"{agent}\"}},\"toolUseID\":\"{bubble}\",\"parentToolUseID\":\"{}\"",
                call.id
            );
            self.stamp();
            self.close()?;
        }
        Ok(())
    }

    fn nested(&mut self, n: u64, ids: &mut Rng, model: &str, prompt: &str) -> String {
        let mut out = String::new();
        let (id, at) = (uuid(&mut self.rng), self.tick());
        if n == 0 {
            put!(
                out,
                "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{prompt}\"}}]}},\"uuid\":\"{id}\",\"timestamp\":\"{at}\"}}"
            );
        } else if n % 2 == 1 {
            let message = service_id("msg_01", ids);
            let source = self.source(300);
            put!(
                out,
                "{{\"type\":\"assistant\",\"timestamp\":\"{at}\",\"message\":{{\"model\":\"{model}\",\"id\":\"{message}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"{}\"}}}}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":",
                service_id("toolu_01", &mut self.rng),
                self.sources[source].path
            );
            let (write, read, output) = (self.rng.exponential(2_000), 9_000 + n * 700, 3 + self.rng.below(160));
            put!(
                out,
                "{{\"input_tokens\":2,\"cache_creation_input_tokens\":{write},\"cache_read_input_tokens\":{read},\"cache_creation\":{{\"ephemeral_5m_input_tokens\":{write},\"ephemeral_1h_input_tokens\":0}},\"output_tokens\":{output},\"service_tier\":\"standard\",\"inference_geo\":\"not_available\"}}"
            );
            put!(
                out,
                ",\"context_management\":null}},\"requestId\":\"{}\",\"uuid\":\"{id}\"}}",
                service_id("req_011C", ids)
            );
        } else {
            let source = self.source(100);
            put!(
                out,
                "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"{}\",\"type\":\"tool_result\",\"content\":\"",
                service_id("toolu_01", &mut self.rng)
            );
            numbered(&mut out, &self.sources[source].lines, 0);
            put!(out, "\"}}]}},\"uuid\":\"{id}\",\"timestamp\":\"{at}\"}}");
        }
        out
    }

    // -- the model

    /// The usage of one message: the same on all its lines, but for the output, which is final on the last only.
    fn usage(&mut self, created: u64, output: u64) -> String {
        let (fast, hour) = (self.modern, !self.seed.is_multiple_of(3));
        let (five, one) = if hour { (0, created) } else { (created, 0) };
        let input = 1 + self.seed % 11;
        let read = self.context;
        let mut usage = format!(
            "{{\"input_tokens\":{input},\"cache_creation_input_tokens\":{created},\"cache_read_input_tokens\":{read},\"cache_creation\":{{\"ephemeral_5m_input_tokens\":{five},\"ephemeral_1h_input_tokens\":{one}}},\"output_tokens\":{output},\"service_tier\":\"standard\",\"inference_geo\":\"not_available\""
        );
        if fast {
            usage.push_str(",\"server_tool_use\":{\"web_search_requests\":0,\"web_fetch_requests\":0},\"iterations\":[],\"speed\":\"standard\"");
        }
        usage.push('}');
        usage
    }

    fn block(&mut self, message: &str, request: &str, content: &str, usage: &str, stop: &str) -> io::Result<String> {
        self.open();
        put!(
            self.line,
            "\"message\":{{\"model\":\"{}\",\"id\":\"{message}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{content}],\"stop_reason\":{stop},\"stop_sequence\":null,\"usage\":{usage}}},\"requestId\":\"{request}\",\"type\":\"assistant\"",
            self.model
        );
        self.stamp();
        self.close()
    }

    /// One API message: a line per block, then the results of its calls. The last one of a turn calls nothing.
    fn message(&mut self, last: bool) -> io::Result<()> {
        let (message, request) = match &mut self.agent {
            Some((_, ids)) => (service_id("msg_01", ids), service_id("req_011C", ids)),
            None => (service_id("msg_01", &mut self.rng), service_id("req_011C", &mut self.rng)),
        };
        let created = 120 + self.rng.exponential(700);
        let total = 20 + self.rng.exponential(330);
        let early = self.usage(created, 1 + total % 8);
        let end = self.usage(created, total);
        let null = if self.modern { "\"tool_use\"" } else { "null" };

        if self.rng.permille(520) {
            let mut content = String::from("{\"type\":\"thinking\",\"thinking\":\"");
            if !self.modern {
                let words = 12 + self.rng.exponential(95);
                prose(&mut content, &mut self.rng, words);
            }
            content.push_str("\",\"signature\":\"E");
            let chars = 180 + self.rng.exponential(500);
            base64(&mut content, &mut self.rng, chars);
            content.push_str("\"}");
            self.block(&message, &request, &content, &early, null)?;
        }
        if last || self.rng.permille(560) {
            let mut content = String::from("{\"type\":\"text\",\"text\":\"");
            let words = if last { 20 + self.rng.exponential(110) } else { 5 + self.rng.exponential(28) };
            prose(&mut content, &mut self.rng, words);
            if last {
                content.push_str(self.rng.pick(&[
                    " All tests pass.",
                    " Done.",
                    " The fix is in place.",
                    " Shall I go on?",
                    "",
                ]));
            }
            content.push_str("\"}");
            let (usage, stop) = if last { (&end, "\"end_turn\"") } else { (&early, null) };
            self.block(&message, &request, &content, usage, stop)?;
        }
        if !last {
            let count = [1, 1, 1, 1, 1, 1, 1, 2, 2, 3][self.rng.below(10) as usize];
            let mut calls = Vec::with_capacity(count);
            for n in 0..count {
                let tool = self.tool();
                let id = service_id("toolu_01", &mut self.rng);
                let content = self.tool_use(&id, &tool);
                let (usage, stop) = if n + 1 == count { (&end, null) } else { (&early, null) };
                let assistant = self.block(&message, &request, &content, usage, stop)?;
                calls.push(Call { id, assistant, tool });
            }
            for call in calls {
                self.result(call)?;
            }
        }
        self.context += created;
        Ok(())
    }

    // -- the whole

    fn start(&mut self) -> io::Result<()> {
        if self.agent.is_some() {
            let mut text = String::new();
            prose(&mut text, &mut self.rng, 90);
            self.open();
            put!(self.line, "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}");
            self.stamp();
            self.close()?;
            return Ok(());
        }
        if self.rng.permille(120) {
            let leaf = uuid(&mut self.rng);
            put!(
                self.line,
                "{{\"type\":\"summary\",\"summary\":\"The {} of the {}\",\"leafUuid\":\"{leaf}\"}}",
                word(&mut self.rng),
                word(&mut self.rng)
            );
            self.flush()?;
        }
        if self.rng.permille(100) {
            self.hook("SessionStart", "clear", "SessionStart")?;
            for text in [
                "<command-name>/clear</command-name>\\n            <command-message>clear</command-message>\\n            <command-args></command-args>",
                "<local-command-stdout></local-command-stdout>",
            ] {
                self.open();
                put!(self.line, "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}");
                self.stamp();
                self.close()?;
            }
            return Ok(());
        }
        self.hook("SessionStart", "startup", "SessionStart")
    }

    fn turn(&mut self) -> io::Result<()> {
        if self.agent.is_none() {
            self.prompt()?;
            // A picture now and then, one in about 20 MB, where there is room for it.
            if self.target > 3_000_000 && self.rng.permille(20) {
                self.picture()?;
            }
            if self.rng.permille(360) {
                self.queue()?;
            }
            if self.modern {
                self.attachment("{\"type\":\"output_style\",\"style\":\"Explanatory\"}")?;
                self.attachment("{\"type\":\"task_reminder\",\"content\":[],\"itemCount\":0}")?;
            }
        }
        let mut steps = 1 + self.rng.exponential(9);
        while steps > 0 && self.written < self.target {
            steps -= 1;
            self.message(false)?;
            if self.rng.permille(55) {
                self.snapshot(true)?;
            }
            if self.rng.permille(2) {
                for attempt in 1..=self.rng.between(1, 4) {
                    let rest = format!(
                        "\"level\":\"error\",\"error\":{{\"status\":529,\"requestID\":\"req_011C\",\"error\":{{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}}}}},\"retryInMs\":{}.{},\"retryAttempt\":{attempt},\"maxRetries\":10",
                        520 * attempt,
                        self.rng.below(9_999)
                    );
                    self.system("api_error", &rest)?;
                }
            }
            if self.context > 166_000 {
                self.compact()?;
            }
        }
        if self.rng.permille(40) {
            return self.note("[Request interrupted by user]");
        }
        self.message(true)?;
        if self.agent.is_none() {
            let (hook, took) = (uuid(&mut self.rng), self.rng.below(900_000));
            let rest = format!(
                "\"hookCount\":1,\"hookInfos\":[{{\"command\":\"tools/hooks/stop.sh\",\"durationMs\":{}}}],\"hookErrors\":[],\"preventedContinuation\":false,\"stopReason\":\"\",\"hasOutput\":false,\"level\":\"suggestion\",\"toolUseID\":\"{hook}\"",
                took % 5_000
            );
            self.system("stop_hook_summary", &rest)?;
            if self.rng.permille(520) {
                self.system("turn_duration", &format!("\"durationMs\":{took},\"isMeta\":false"))?;
            }
            if self.rng.permille(60) {
                let at = self.tick();
                let number = self.rng.below(900);
                put!(
                    self.line,
                    "{{\"type\":\"pr-link\",\"sessionId\":\"{}\",\"prNumber\":{number},\"prUrl\":\"https://github.com/example/repo/pull/{number}\",\"prRepository\":\"example/repo\",\"timestamp\":\"{at}\"}}",
                    self.id
                );
                self.flush()?;
            }
        }
        Ok(())
    }

    fn compact(&mut self) -> io::Result<()> {
        let logical = self.parent.take().unwrap_or_default();
        let trigger = if self.rng.permille(875) { "auto" } else { "manual" };
        let rest = format!(
            "\"logicalParentUuid\":\"{logical}\",\"content\":\"Conversation compacted\",\"isMeta\":false,\"level\":\"info\",\"compactMetadata\":{{\"trigger\":\"{trigger}\",\"preTokens\":{}}}",
            self.context
        );
        self.system("compact_boundary", &rest)?;
        self.open();
        self.line.push_str("\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\\n\\nAnalysis:\\n");
        prose(&mut self.line, &mut self.rng, 1_200);
        self.line.push_str("\"},\"isVisibleInTranscriptOnly\":true,\"isCompactSummary\":true");
        self.stamp();
        self.close()?;
        self.context = 24_000;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.agent.is_none() {
            if self.rng.permille(500) {
                put!(
                    self.line,
                    "{{\"type\":\"last-prompt\",\"lastPrompt\":\"{}\",\"leafUuid\":\"{}\",\"sessionId\":\"{}\"}}",
                    self.last_prompt,
                    self.parent.clone().unwrap_or_default(),
                    self.id
                );
                self.flush()?;
            }
            if self.rng.permille(200) {
                put!(
                    self.line,
                    "{{\"type\":\"ai-title\",\"aiTitle\":\"Rework the {} {}\",\"sessionId\":\"{}\"}}",
                    word(&mut self.rng),
                    word(&mut self.rng),
                    self.id
                );
                self.flush()?;
            }
        }
        self.sink.flush()
    }
}

/// Writes a file as planned. Says how large it is.
pub(crate) fn write_file(plan: &Plan) -> io::Result<u64> {
    if let Some(folder) = plan.path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let sink = BufWriter::with_capacity(256 * 1024, File::create(&plan.path)?);
    let mut session = match plan.fork {
        None => Session::new(sink, plan, plan.seed, plan.bytes),
        Some(fork) => Session::new(sink, plan, fork.seed, fork.bytes),
    };
    session.start()?;
    // A fork draws as its parent did, then as itself.
    if let Some(fork) = plan.fork {
        while session.written < fork.copied {
            session.turn()?;
        }
        session.rng = Rng(plan.seed);
        session.target = plan.bytes;
    }
    while session.written < plan.bytes {
        session.turn()?;
    }
    session.finish()?;
    let (written, now, glued) = (session.written, session.now, session.glued);
    let file = session.sink.into_inner().map_err(io::IntoInnerError::into_error)?;
    // A third of real files have no newline at the end.
    let cut = u64::from(!glued && plan.seed.is_multiple_of(3));
    file.set_len(written - cut)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(now))?;
    if plan.agent.is_some() {
        std::fs::write(
            plan.path.with_extension("meta.json"),
            "{\"agentType\":\"Explore\",\"description\":\"Explore the code\"}",
        )?;
    }
    Ok(written - cut)
}
