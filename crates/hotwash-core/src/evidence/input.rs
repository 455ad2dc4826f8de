//! What a call was made with, in words for a reader.

use crate::sessions::{Call, Tool};
use serde_json::Value;
use std::fmt::Write as _;

/// What an editing call asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// The whole content that is written.
    pub(super) content: Option<String>,
    /// What is replaced, and by what.
    pub(super) replaced: Vec<(String, String)>,
}

impl Asked {
    /// Reads the input of a call of an editing tool.
    pub(super) fn of(input: &Value) -> Asked {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let pair = |value: &Value| text(value, "old_string").zip(text(value, "new_string"));
        let mut replaced: Vec<(String, String)> = pair(input).into_iter().collect();
        if let Some(Value::Array(edits)) = input.get("edits") {
            replaced.extend(edits.iter().filter_map(pair));
        }
        if let Some(source) = text(input, "new_source") {
            replaced.push((String::new(), source));
        }
        Asked { content: text(input, "content"), replaced }
    }

    /// As lines with signs.
    pub(super) fn signed(&self) -> String {
        let mut out = String::new();
        let mut lines = |sign: &str, text: &str| {
            for line in text.lines() {
                for part in [sign, line, "\n"] {
                    out.push_str(part);
                }
            }
        };
        for (old, new) in &self.replaced {
            lines("-", old);
            lines("+", new);
        }
        if let Some(content) = &self.content {
            lines("+", content);
        }
        out
    }
}

/// The input of a call, or nothing where it is no JSON.
pub(super) fn parse(call: &Call<'_>) -> Value {
    serde_json::from_slice(call.input.whole).unwrap_or_default()
}

/// What a call was made with.
pub(super) fn words(call: &Call<'_>, parsed: &Value, asked: Option<&Asked>, short: &dyn Fn(&str) -> String) -> String {
    let input = &call.input;
    let path = || short(&input.path.to_str());
    if let (Tool::Todo, Some(list)) = (call.tool, todo(parsed)) {
        return list;
    }
    match call.tool {
        Tool::Shell if !input.command.is_empty() => {
            let background = parsed.get("run_in_background").and_then(Value::as_bool) == Some(true);
            let note = if background { "  (in the background)" } else { "" };
            format!("{}{note}", input.command.to_str())
        }
        Tool::Read if !input.path.is_empty() => match (input.offset, input.limit) {
            (None, None) => path(),
            (offset, limit) => {
                let from = offset.unwrap_or(1);
                let to = limit.map_or_else(String::new, |limit| (from + limit - 1).to_string());
                format!("{} lines {from}–{to}", path())
            }
        },
        _ if asked.is_some() => format!("{}\n{}", path(), asked.map(Asked::signed).unwrap_or_default()),
        _ => match parsed {
            Value::Object(fields) if !fields.is_empty() => {
                let mut out = String::new();
                for (key, value) in fields {
                    // Writing to a string cannot fail.
                    let _ = match value {
                        Value::String(text) if key.contains("path") => writeln!(out, "{key}: {}", short(text)),
                        Value::String(text) => writeln!(out, "{key}: {text}"),
                        other => writeln!(out, "{key}: {other}"),
                    };
                }
                out.trim_end().to_owned()
            }
            _ => {
                let parts = [input.command, input.pattern, input.which, input.path];
                let named: Vec<_> = parts.iter().filter(|text| !text.is_empty()).map(|text| text.to_str()).collect();
                if named.is_empty() { String::from_utf8_lossy(input.whole).into_owned() } else { named.join("  ") }
            }
        },
    }
}

/// A task list with a mark before each task.
fn todo(input: &Value) -> Option<String> {
    let line = |task: &Value| {
        let words = task.get("content").and_then(Value::as_str)?;
        let mark = match task.get("status").and_then(Value::as_str)? {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        Some(format!("{mark} {words}"))
    };
    let lines: Option<Vec<String>> = input.get("todos")?.as_array()?.iter().map(line).collect();
    lines.map(|lines| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_list_has_a_mark_before_each_task() {
        let cases = [
            (
                r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}"#,
                Some("[x] a\n[>] b\n[ ] c"),
            ),
            (r#"{"todos":[]}"#, Some("")),
            (r#"{"todos":[{"status":"pending"}]}"#, None),
            (r#"{"plan":"x"}"#, None),
        ];
        for (input, shown) in cases {
            assert_eq!(todo(&serde_json::from_str(input).unwrap()).as_deref(), shown, "{input}");
        }
    }
}
