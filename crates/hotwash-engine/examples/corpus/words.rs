//! Made-up words, code, ids and times.

use crate::chance::Rng;
use hotwash_core::sessions::Timestamp;
use std::fmt::Write as _;

pub(crate) const DAY_MS: u64 = 86_400_000;

#[rustfmt::skip]
pub(crate) const WORDS: &[&str] = &[
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
pub(crate) const SMALL: &[&str] = &[
    "a", "the", "the", "the", "of", "to", "to", "and", "and", "in", "is", "it", "that", "for", "on",
    "with", "as", "this", "we", "be", "are", "not", "now", "so", "which", "when", "should", "first",
    "before", "after", "only", "because", "still", "then", "also", "into", "each", "needs", "uses",
    "reads", "writes", "returns", "checks",
];

#[rustfmt::skip]
pub(crate) const TYPES: &[&str] = &[
    "Account", "Batch", "Buffer", "Cache", "Config", "Context", "Cursor", "Decoder", "Entry",
    "Error", "Event", "Filter", "Frame", "Handle", "Index", "Invoice", "Journal", "Ledger",
    "Manifest", "Node", "Option<Node>", "Packet", "Parser", "Policy", "Query", "Record", "Registry",
    "Report", "Request", "Response", "Router", "Schema", "Segment", "Session", "String", "Table",
    "Ticket", "Token", "Vec<u8>", "Worker",
];

pub(crate) const INDENT: &[&str] = &["", "    ", "        ", "            ", "                "];
pub(crate) const TABS: &[&str] = &["", "\\t", "\\t\\t", "\\t\\t\\t", "\\t\\t\\t\\t"];

pub(crate) fn word(rng: &mut Rng) -> &'static str {
    rng.pick(WORDS)
}

/// A line of code as it stands inside a JSON string, without its `\n`.
pub(crate) fn code_line(out: &mut String, rng: &mut Rng, tabs: bool) {
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
pub(crate) fn prose(out: &mut String, rng: &mut Rng, words: u64) {
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

pub(crate) const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn base64(out: &mut String, rng: &mut Rng, chars: u64) {
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

pub(crate) fn hex(bits: u64, digits: usize) -> String {
    format!("{bits:016x}").chars().take(digits).collect()
}

pub(crate) fn uuid(rng: &mut Rng) -> String {
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
pub(crate) fn service_id(prefix: &str, rng: &mut Rng) -> String {
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
pub(crate) fn iso(ms: u64) -> String {
    Timestamp(ms as i64).to_string()
}
