//! Writes a made-up `~/.claude` of any size: the same seed gives the same bytes.
//!
//! Sizes, record types, key order and escape density follow what was counted in real transcripts; every word is
//! invented. A stream is cut only between records, so a file is a little larger than it was asked to be.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

const USAGE: &str = "\
Writes made-up transcripts to DIR/projects; the same seed gives the same bytes.

Usage: corpus DIR [--files 5000] [--bytes 2g] [--seed 7] [--one-file SIZE]

  --files N         how many transcripts
  --bytes SIZE      their size together: 200m, 2g (decimal)
  --seed N          another seed, another corpus
  --one-file SIZE   one transcript of this size instead";

/// 2026-11-14T23:59:59Z, the last moment of the corpus.
const END_MS: u64 = 1_794_700_799_000;
const DAY_MS: u64 = 86_400_000;
/// The largest transcript seen.
const MAX_FILE: f64 = 87e6;
/// Bytes per record seen on average, to guess how long a session lasts.
const RECORD: u64 = 3_200;

/// Grows `out` like `write!`, which cannot fail on a `String`.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        let _ = write!($out, $($arg)*);
    }};
}

// ---------------------------------------------------------------------------------------------------------------------
// Chance

/// splitmix64.
#[derive(Clone)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n.max(1))) >> 64) as u64
    }

    /// A number in `low..high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    /// True in `n` of a thousand cases.
    fn permille(&mut self, n: u64) -> bool {
        self.below(1_000) < n
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Many small, a few large: exponential with this mean, at most twelve times it.
    fn exponential(&mut self, mean: u64) -> u64 {
        let drawn = -(1.0 - self.unit()).ln() * mean as f64;
        (drawn as u64).min(mean * 12)
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn mix(a: u64, b: u64) -> u64 {
    Rng(a ^ b.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next()
}

// ---------------------------------------------------------------------------------------------------------------------
// Words

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "account", "adapter", "alias", "anchor", "archive", "backoff", "balance", "batch", "beacon",
    "binding", "block", "border", "branch", "bridge", "bucket", "buffer", "builder", "cache",
    "canvas", "carrier", "channel", "checker", "chunk", "client", "cluster", "codec", "column",
    "config", "context", "counter", "cursor", "daemon", "decoder", "default", "delta", "depth",
    "device", "digest", "domain", "draft", "driver", "edge", "encoder", "engine", "entry", "epoch",
    "error", "event", "factor", "feature", "field", "filter", "flag", "folder", "format", "frame",
    "gateway", "graph", "group", "guard", "handle", "harbor", "header", "helper", "hint", "host",
    "index", "inner", "input", "invoice", "item", "journal", "kernel", "key", "label", "lane",
    "layer", "layout", "ledger", "length", "limit", "linker", "list", "loader", "lock", "logger",
    "manifest", "mapper", "margin", "marker", "matcher", "member", "merge", "metric", "mirror",
    "mode", "model", "module", "monitor", "name", "needle", "node", "offset", "option", "order",
    "outer", "output", "owner", "packet", "page", "parcel", "parser", "partition", "patch", "path",
    "payload", "peer", "pixel", "plan", "pointer", "policy", "pool", "port", "prefix", "printer",
    "probe", "profile", "query", "queue", "quota", "range", "reader", "record", "region",
    "registry", "relay", "render", "report", "request", "resolver", "response", "result", "retry",
    "router", "sample", "scanner", "schema", "scope", "segment", "sender", "server", "session",
    "shard", "shape", "signal", "slot", "source", "span", "spool", "stage", "state", "status",
    "stream", "suffix", "symbol", "table", "target", "task", "tenant", "ticket", "timer", "token",
    "topic", "tracker", "transfer", "tree", "trigger", "tuple", "unit", "value", "vector",
    "version", "view", "visitor", "walker", "warning", "weight", "window", "worker", "writer",
    "zone",
];

#[rustfmt::skip]
const SMALL: &[&str] = &[
    "a", "the", "the", "the", "of", "to", "to", "and", "and", "in", "is", "it", "that", "for", "on",
    "with", "as", "this", "we", "be", "are", "not", "now", "so", "which", "when", "should", "first",
    "before", "after", "only", "because", "still", "then", "also", "into", "each", "needs", "uses",
    "reads", "writes", "returns", "checks",
];

#[rustfmt::skip]
const TYPES: &[&str] = &[
    "Account", "Batch", "Buffer", "Cache", "Config", "Context", "Cursor", "Decoder", "Entry",
    "Error", "Event", "Filter", "Frame", "Handle", "Index", "Invoice", "Journal", "Ledger",
    "Manifest", "Node", "Option<Node>", "Packet", "Parser", "Policy", "Query", "Record", "Registry",
    "Report", "Request", "Response", "Router", "Schema", "Segment", "Session", "String", "Table",
    "Ticket", "Token", "Vec<u8>", "Worker",
];

const INDENT: &[&str] = &["", "    ", "        ", "            ", "                "];
const TABS: &[&str] = &["", "\\t", "\\t\\t", "\\t\\t\\t", "\\t\\t\\t\\t"];

fn word(rng: &mut Rng) -> &'static str {
    rng.pick(WORDS)
}

/// A line of code as it stands inside a JSON string, without its `\n`.
fn code_line(out: &mut String, rng: &mut Rng, tabs: bool) {
    let depth = rng.below(5) as usize;
    out.push_str(if tabs { TABS[depth] } else { INDENT[depth] });
    let (a, b, c) = (word(rng), word(rng), word(rng));
    match rng.below(16) {
        0 | 1 => put!(out, "let {a}_{b} = {c}.{}({a}, {});", word(rng), rng.below(4_096)),
        2 => put!(out, "if {a}.{b} != \\\"{c}\\\" {{"),
        3 => put!(out, "return Err({}::new(\\\"{a} {b} {c}\\\"));", rng.pick(TYPES)),
        4 | 5 => out.push('}'),
        6 => put!(out, "// {} {a} {} {b} {c}", rng.pick(SMALL), rng.pick(SMALL)),
        7 => put!(
            out,
            "pub fn {a}_{b}({c}: &{}, {}: usize) -> Result<{}> {{",
            rng.pick(TYPES),
            word(rng),
            rng.pick(TYPES)
        ),
        8 => put!(out, "for {a} in self.{b}.iter().filter(|{c}| {c}.is_{}()) {{", word(rng)),
        9 => put!(out, "{a}.{b}(&mut {c})?;"),
        10 => put!(out, "{a}: {},", rng.pick(TYPES)),
        11 => put!(out, "assert_eq!({a}.{b}(), \\\"{c}\\\\n\\\");"),
        12 => put!(out, "self.{a}.insert({b}.{c}.clone(), {}::default());", rng.pick(TYPES)),
        _ => {}
    }
}

/// Sentences, as they stand inside a JSON string.
fn prose(out: &mut String, rng: &mut Rng, words: u64) {
    for n in 0..words {
        let text: &str = if rng.permille(450) { rng.pick(SMALL) } else { word(rng) };
        match rng.below(60) {
            0 => put!(out, "`{text}_{}()`", word(rng)),
            1 => put!(out, "\\\"{text}\\\""),
            2 => put!(out, "{text}.\\n\\n"),
            3 => put!(out, "{text}:\\n- "),
            4 => put!(out, "**{text}** —"),
            5..=8 => put!(out, "{text},"),
            _ => out.push_str(text),
        }
        if n + 1 < words {
            out.push(' ');
        }
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(out: &mut String, rng: &mut Rng, chars: u64) {
    let mut left = chars;
    while left > 0 {
        let mut bits = rng.next();
        for _ in 0..left.min(10) {
            out.push(char::from(BASE64[(bits & 63) as usize]));
            bits >>= 6;
        }
        left = left.saturating_sub(10);
    }
}

fn hex(bits: u64, digits: usize) -> String {
    format!("{bits:016x}").chars().take(digits).collect()
}

fn uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.next(), rng.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xFFFF,
        a & 0xFFF,
        8 + (b >> 62),
        (b >> 48) & 0xFFF,
        b & 0xFFFF_FFFF_FFFF
    )
}

/// An id as the service makes them: a prefix and 22 letters and digits.
fn service_id(prefix: &str, rng: &mut Rng) -> String {
    let mut id = String::with_capacity(prefix.len() + 22);
    id.push_str(prefix);
    let mut bits = u128::from(rng.next()) << 64 | u128::from(rng.next());
    for _ in 0..22 {
        // The first 62 of the base64 letters.
        id.push(char::from(BASE64[(bits % 62) as usize]));
        bits /= 62;
    }
    id
}

/// `2026-11-14T23:59:59.000Z`.
fn iso(ms: u64) -> String {
    let (days, of_day) = ((ms / DAY_MS) as i64, ms % DAY_MS);
    // Days to a civil date, after Howard Hinnant.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        of_day / 3_600_000,
        of_day / 60_000 % 60,
        of_day / 1_000 % 60,
        of_day % 1_000
    )
}

// ---------------------------------------------------------------------------------------------------------------------
// A session

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
const PROJECTS: &[&str] = &[
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

/// One tool call between its assistant line and its result.
struct Call {
    id: String,
    assistant: String,
    tool: Tool,
}

enum Tool {
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

enum Command {
    Test { runner: usize, green: bool, masked: bool },
    Commit { message: String },
    Other(&'static str),
}

const RUNNERS: &[(&str, &str, &str, &str)] = &[
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
const COMMANDS: &[&str] = &[
    "git status", "git diff --stat", "git log --oneline -10", "ls -la src",
    "cargo build 2>&1 | tail -20", "cargo clippy --all-targets", "npm run build",
    "npx tsc --noEmit", "grep -rn \\\"fn parse\\\" src | head -20", "cat Cargo.toml",
    "find . -name '*.rs' | wc -l", "wc -l src/*.rs", "make lint", "docker compose ps",
    "gh pr view 41 --json title,state", "sed -n '1,80p' src/lib.rs",
    "curl -s localhost:8080/health", "mkdir -p build && cd build && cmake ..",
    "python3 scripts/report.py --since 7d", "jq '.items | length' out.json",
];
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
fn start(seed: u64, bytes: u64) -> u64 {
    let lasts = (bytes / RECORD + 1) * step(bytes) * 3 / 2;
    END_MS - lasts - Rng(mix(seed, 1)).below((30 * DAY_MS).saturating_sub(lasts))
}

/// The id of the n-th subagent of a session.
fn agent_id(seed: u64, n: u64) -> String {
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

    fn tool(&mut self) -> Tool {
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

    fn tool_use(&mut self, id: &str, tool: &Tool) -> String {
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
    fn result(&mut self, call: Call) -> io::Result<()> {
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

/// Lines as the Read tool shows them.
fn numbered(out: &mut String, lines: &[String], before: usize) {
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

// ---------------------------------------------------------------------------------------------------------------------
// The plan: which files, how large

/// One file to be written.
struct Plan {
    path: PathBuf,
    bytes: u64,
    seed: u64,
    cwd: String,
    session: String,
    /// A subagent's own file.
    agent: Option<String>,
    fork: Option<Fork>,
    /// When a subagent starts: soon after its parent.
    start: Option<u64>,
}

/// A file that starts as a copy of another: the same uuids and message ids.
#[derive(Clone, Copy)]
struct Fork {
    seed: u64,
    bytes: u64,
    copied: u64,
}

/// File sizes by rank: median 105 KB, p90 650 KB, p99 5.4 MB, the largest 87 MB.
///
/// Straight lines between the measured quantiles, in log size over the normal score: log-normal in the body, heavier
/// in the tail.
fn sizes(files: usize, total: u64) -> Vec<u64> {
    const POINTS: &[(f64, f64)] = &[(-3.9, 1.5e3), (0.0, 105e3), (1.2816, 650e3), (2.3263, 5.4e6), (3.72, MAX_FILE)];
    let raw: Vec<f64> = (0..files)
        .map(|rank| {
            let z = normal_score((rank as f64 + 0.5) / files as f64);
            let right = POINTS.iter().position(|point| z <= point.0).unwrap_or(POINTS.len() - 1).max(1);
            let ((z0, s0), (z1, s1)) = (POINTS[right - 1], POINTS[right]);
            (s0.ln() + (z - z0) / (z1 - z0) * (s1.ln() - s0.ln())).exp().min(MAX_FILE)
        })
        .collect();
    // To the total asked for: the largest stay below the cap, the others make up for it.
    let mut factor = total as f64 / raw.iter().sum::<f64>();
    for _ in 0..30 {
        let sum: f64 = raw.iter().map(|size| (size * factor).min(MAX_FILE)).sum();
        factor *= total as f64 / sum;
    }
    raw.iter()
        .map(|size| {
            // The record that passes the mark is written whole, and so is what ends its turn.
            let size = (size * factor).min(MAX_FILE) as u64;
            size - (size / 3).min(17_000)
        })
        .collect()
}

/// The inverse of the normal distribution, after Acklam's central and tail fits; good to 1e-4 here.
fn normal_score(p: f64) -> f64 {
    let tail = |q: f64| {
        let t = (-2.0 * q.ln()).sqrt();
        t - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t)
    };
    if p < 0.5 { -tail(p) } else { tail(1.0 - p) }
}

fn plans(root: &Path, files: usize, total: u64, seed: u64) -> Vec<Plan> {
    let mut rng = Rng(seed);
    let mut sizes = sizes(files, total);
    for n in (1..sizes.len()).rev() {
        sizes.swap(n, rng.below(n as u64 + 1) as usize);
    }
    let mut plans: Vec<Plan> = Vec::with_capacity(files);
    for (n, bytes) in sizes.into_iter().enumerate() {
        let seed = rng.next();
        let parent = plans.last().filter(|plan| plan.agent.is_none() && plan.fork.is_none());
        let (mut agent, mut fork, mut begins) = (None, None, None);
        let (mut project, mut session) = (rng.pick(PROJECTS), uuid(&mut rng));
        let mut folder = None;
        if let Some(parent) = parent {
            if n % 12 == 5 && bytes < 1_500_000 {
                agent = Some(agent_id(parent.seed, 0));
                begins = Some(start(parent.seed, parent.bytes) + 60_000);
                session.clone_from(&parent.session);
                folder = Some(parent);
            } else if n % 90 == 40 && parent.bytes < 5_000_000 {
                fork = Some(Fork { seed: parent.seed, bytes: parent.bytes, copied: parent.bytes.min(bytes * 4 / 5) });
                folder = Some(parent);
            }
        }
        if let Some(parent) = folder {
            project = PROJECTS.iter().find(|name| parent.cwd.ends_with(*name)).copied().unwrap_or(project);
        }
        let cwd = format!("/home/dev/work/{project}");
        let slug = root.join("projects").join(cwd.replace('/', "-"));
        let path = match &agent {
            Some(id) => slug.join(&session).join("subagents").join(format!("agent-{id}.jsonl")),
            None => slug.join(format!("{session}.jsonl")),
        };
        plans.push(Plan { path, bytes, seed, cwd, session, agent, fork, start: begins });
    }
    plans
}

fn write_file(plan: &Plan) -> io::Result<u64> {
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

// ---------------------------------------------------------------------------------------------------------------------
// The command line

fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, unit)) => (
            text.get(..at)?,
            match unit.to_ascii_lowercase() {
                'k' => 1_000,
                'm' => 1_000_000,
                'g' => 1_000_000_000,
                _ => return None,
            },
        ),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut root, mut files, mut bytes, mut seed, mut one) = (None, 5_000, 2_000_000_000, 7, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            "--files" => files = value()?.parse()?,
            "--seed" => seed = value()?.parse()?,
            "--bytes" => {
                bytes = size(&value()?).ok_or("--bytes takes a size such as 200m or 2g")?;
            }
            "--one-file" => {
                one = Some(size(&value()?).ok_or("--one-file takes a size such as 500m")?);
            }
            _ if arg.starts_with('-') || root.is_some() => {
                return Err(format!("unknown argument {arg}\n\n{USAGE}").into());
            }
            _ => root = Some(PathBuf::from(arg)),
        }
    }
    let root = root.ok_or(USAGE)?;
    let mut plans = plans(&root, if one.is_some() { 1 } else { files }, bytes, seed);
    if let (Some(size), Some(plan)) = (one, plans.first_mut()) {
        plan.bytes = size;
    }
    // The largest first, so that the threads end together.
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.bytes));

    let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let work = || -> io::Result<()> {
            while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                written.fetch_add(write_file(plan)?, Ordering::Relaxed);
            }
            Ok(())
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .try_for_each(|handle| handle.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
    })?;
    println!("{} files, {} bytes", plans.len(), written.into_inner());
    Ok(())
}
