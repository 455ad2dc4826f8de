//! A row as Langfuse returned it, of whichever generation: the parts that are looked at, under all their names.

use hotwash_core::sessions::{Timestamp, Usage};
use serde_json::Value;

/// A row: an observation, or a trace of a server that still has those.
#[derive(Clone, Debug)]
pub(super) struct Row(pub(super) Value);

impl Row {
    /// Reads one; none where it is no object.
    pub(super) fn read(bytes: &[u8]) -> Option<Row> {
        serde_json::from_slice(bytes).ok().filter(Value::is_object).map(Row)
    }

    /// A text; empty where there is none, which is also how Langfuse writes it.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        self.text("id")
    }

    /// The trace it belongs to; a trace is its own.
    pub(super) fn trace(&self) -> &str {
        let trace = self.text("traceId");
        if trace.is_empty() { self.id() } else { trace }
    }

    /// `GENERATION`, `TOOL`, `SPAN`, …; what has none is a trace.
    pub(super) fn kind(&self) -> &str {
        let kind = self.text("type");
        if kind.is_empty() { "TRACE" } else { kind }
    }

    pub(super) fn start(&self) -> Option<Timestamp> {
        self.moment("startTime").or_else(|| self.moment("timestamp"))
    }

    pub(super) fn end(&self) -> Option<Timestamp> {
        self.moment("endTime")
    }

    fn moment(&self, name: &str) -> Option<Timestamp> {
        Timestamp::parse(self.text(name).as_bytes())
    }

    /// When this version of the row was written: of two, the later one counts.
    pub(super) fn version(&self) -> (&str, &str) {
        (self.text("updatedAt"), self.text("endTime"))
    }

    /// What was noted beside it under one of these names. OpenTelemetry's attributes are noted flat or in a group.
    pub(super) fn noted(&self, names: &[&str]) -> Option<&Value> {
        let metadata = self.0.get("metadata")?;
        let attributes = metadata.get("attributes");
        names.iter().find_map(|name| {
            metadata
                .get(name)
                .or_else(|| metadata.get(format!("attributes.{name}")))
                .or_else(|| attributes?.get(name))
                .filter(|value| !value.is_null())
        })
    }

    /// A text that was noted beside it.
    pub(super) fn noted_text(&self, names: &[&str]) -> &str {
        self.noted(names).and_then(Value::as_str).unwrap_or_default()
    }

    /// What went in or came out, decoded: it is JSON in a text, JSON, or a text.
    pub(super) fn io(&self, name: &str) -> Value {
        match self.0.get(name) {
            Some(Value::String(text)) => decoded(text),
            Some(value) => value.clone(),
            None => Value::Null,
        }
    }

    /// Whether one of the tags is this.
    pub(super) fn is_tagged(&self, tag: &str) -> bool {
        self.0.get("tags").and_then(Value::as_array).is_some_and(|tags| tags.iter().any(|known| known == tag))
    }

    /// The model, as the agent named it.
    pub(super) fn model(&self) -> &str {
        let named = ["model", "providedModelName"].into_iter().map(|name| self.text(name));
        let noted = self.noted_text(&["gen_ai.response.model", "gen_ai.request.model", "model"]);
        named.chain([noted]).find(|model| !model.is_empty()).unwrap_or_default()
    }

    /// Tokens; none where nobody counted them.
    pub(super) fn usage(&self) -> Option<Usage> {
        let mut details = ["usageDetails", "usage"].into_iter().filter_map(|name| self.0.get(name));
        let mut usage = details.find_map(|details| usage_of(&|name| details.get(name), details));
        if usage.is_none() {
            usage = self.0.get("metadata").and_then(|metadata| usage_of(&|name| self.noted(&[name]), metadata));
        }
        usage.map(|usage| Usage { fast: self.noted_text(&["speed"]) == "fast", ..usage })
    }
}

/// A text that holds JSON is that; others stay texts.
pub(super) fn decoded(text: &str) -> Value {
    let inside = text.trim_start().starts_with(['{', '[', '"']);
    let value = inside.then(|| serde_json::from_str(text).ok()).flatten();
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn usage_of<'v>(get: &dyn Fn(&str) -> Option<&'v Value>, details: &'v Value) -> Option<Usage> {
    let count = |names: &[&str]| {
        let number = |name: &&str| {
            let value = get(name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        names.iter().find_map(number)
    };
    let input = count(&["input", "input_tokens", "prompt_tokens", "gen_ai.usage.input_tokens"]);
    let output = count(&["output", "output_tokens", "completion_tokens", "gen_ai.usage.output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    // Parts of the output that are counted apart, such as reasoning.
    let parts = details.as_object().into_iter().flatten();
    let apart = parts.filter(|(name, _)| name.starts_with("output_") && *name != "output_tokens");
    let apart: u64 = apart.filter_map(|(_, tokens)| tokens.as_u64()).sum();
    let cached = &["cache_read_input_tokens", "input_cached_tokens", "cache_read_tokens", "input_cache_read"];
    let written = &["cache_creation_input_tokens", "cache_creation_tokens", "input_cache_creation"];
    let usage = Usage {
        input: input.unwrap_or_default(),
        output: output.unwrap_or_default() + apart,
        cache_read: count(cached).unwrap_or_default(),
        cache_write: count(written).unwrap_or_default(),
        ..Usage::default()
    };
    // Older servers write zeros where nothing was counted.
    (usage != Usage::default()).then_some(usage)
}
