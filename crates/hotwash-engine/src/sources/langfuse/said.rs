//! Words in what went into a model and what came out, in the shapes that agents and libraries write them in.

use super::row::decoded;
use serde_json::Value;

/// Names under which applications pass what a person asked.
const ASKED: &[&str] =
    &["prompt", "query", "question", "user_input", "message", "text", "input", "content", "kwargs", "args"];
/// And what was answered.
const ANSWERED: &[&str] = &["content", "text", "answer", "response", "output", "result", "message", "completion"];

/// A call that a model's answer asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) name: String,
    /// What it is called with; none where only the tool's own row says.
    pub(super) input: Option<Value>,
}

/// A result that a model was shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) error: bool,
}

/// What the person asked last.
pub(super) fn asked(input: &Value) -> Option<String> {
    let words = match input {
        Value::String(text) => Some(text.clone()),
        Value::Array(messages) => {
            let said_by = |message: &Value| message.get("role").and_then(Value::as_str).map(str::to_owned);
            if messages.iter().any(|message| said_by(message).is_some()) {
                let person = |message: &&Value| matches!(said_by(message).as_deref(), Some("user" | "human"));
                return messages.iter().rev().filter(person).find_map(|message| words(message.get("content")?));
            }
            words(input).or_else(|| messages.iter().find_map(asked))
        }
        Value::Object(fields) => match fields.get("role").and_then(Value::as_str) {
            Some("user" | "human") => fields.get("content").and_then(words),
            Some(_) => None,
            None => match fields.get("messages") {
                Some(messages) => asked(messages),
                None => ASKED.iter().find_map(|name| fields.get(*name).and_then(asked)),
            },
        },
        _ => None,
    };
    words.filter(|words| !words.trim().is_empty())
}

/// What was answered in words.
pub(super) fn answered(output: &Value) -> Option<String> {
    let words = match output {
        Value::String(text) => Some(text.clone()),
        Value::Array(messages) => match messages.last().and_then(|message| message.get("role")) {
            Some(_) => messages.last().and_then(answered),
            None => words(output),
        },
        Value::Object(fields) => match fields.get("choices").and_then(|choices| choices.get(0)) {
            Some(choice) => choice.get("message").and_then(answered),
            None => ANSWERED.iter().find_map(|name| match fields.get(*name)? {
                text @ (Value::String(_) | Value::Array(_)) => words(text),
                inner => answered(inner),
            }),
        },
        _ => None,
    };
    words.filter(|words| !words.trim().is_empty())
}

/// A text, or the texts among blocks.
pub(super) fn words(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let text = |block: &Value| match block.get("type").and_then(Value::as_str) {
                None | Some("text" | "input_text" | "output_text") => block.get("text")?.as_str().map(str::to_owned),
                Some(_) => None,
            };
            let texts: Vec<String> = blocks.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        Value::Object(fields) => fields.get("text").or_else(|| fields.get("content")).and_then(words),
        _ => None,
    }
}

/// The calls that an answer asks for, in order.
pub(super) fn calls(output: &Value) -> Vec<Asked> {
    let message = match output {
        Value::Array(messages) => messages.last().unwrap_or(output),
        _ => output.get("choices").and_then(|choices| choices.get(0)?.get("message")).unwrap_or(output),
    };
    let listed = ["tool_calls", "toolCalls"].into_iter().filter_map(|name| message.get(name)?.as_array()).flatten();
    let blocks = message.get("content").and_then(Value::as_array).or_else(|| output.as_array());
    let blocks = blocks.into_iter().flatten().filter(|block| {
        matches!(block.get("type").and_then(Value::as_str), Some("tool_use" | "tool-call" | "server_tool_use"))
    });
    listed.chain(blocks).filter_map(call).collect()
}

fn call(call: &Value) -> Option<Asked> {
    let inner = call.get("function").unwrap_or(call);
    let text = |from: &Value, names: &[&str]| -> Option<String> {
        names.iter().find_map(|name| from.get(*name)?.as_str().map(str::to_owned))
    };
    let input = ["input", "arguments", "args"].into_iter().find_map(|name| inner.get(name));
    Some(Asked {
        id: text(call, &["id", "toolCallId", "call_id"])?,
        name: text(inner, &["name", "toolName"])?,
        input: input.filter(|input| !input.is_null()).map(|input| match input {
            Value::String(text) => decoded(text),
            other => other.clone(),
        }),
    })
}

/// The results among what a model was shown.
pub(super) fn results(input: &Value) -> Vec<Shown> {
    let listed = input.get("tool_results").and_then(Value::as_array);
    let messages = input.get("messages").unwrap_or(input).as_array();
    let mut shown = Vec::new();
    for result in listed.into_iter().flatten() {
        shown.extend(result_of(result, result.get("output").or_else(|| result.get("content"))));
    }
    for message in messages.into_iter().flatten() {
        if message.get("role").is_some_and(|role| role == "tool") {
            shown.extend(result_of(message, message.get("content")));
        }
        for block in message.get("content").and_then(Value::as_array).into_iter().flatten() {
            if block.get("type").is_some_and(|kind| kind == "tool_result") {
                shown.extend(result_of(block, block.get("content")));
            }
        }
    }
    shown
}

fn result_of(result: &Value, content: Option<&Value>) -> Option<Shown> {
    let id = ["tool_use_id", "tool_call_id", "toolCallId"].into_iter().find_map(|name| result.get(name)?.as_str())?;
    Some(Shown {
        id: id.to_owned(),
        text: content.map(plain).unwrap_or_default(),
        error: result.get("is_error").is_some_and(|error| error == true),
    })
}

/// A value as the model was shown it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => words(value).unwrap_or_else(|| value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_asked_is_found_in_every_shape() {
        for (input, words) in [
            (json!("fix it"), Some("fix it")),
            (json!({"role": "user", "content": "fix it"}), Some("fix it")),
            (json!({"role": "user", "content": [{"type": "text", "text": "fix it"}]}), Some("fix it")),
            (json!({"role": "tool", "tool_results": []}), None),
            (
                json!({"messages": [{"role": "system", "content": "be good"}, {"role": "user", "content": "fix it"},
                {"role": "assistant", "content": "so?"}]}),
                Some("fix it"),
            ),
            (json!([{"role": "system", "content": "be good"}]), None),
            (json!({"args": [], "kwargs": {"question": "fix it"}}), Some("fix it")),
            (json!({"query": "fix it", "limit": 3}), Some("fix it")),
            (json!({"limit": 3}), None),
            (json!(null), None),
            (json!("  "), None),
        ] {
            assert_eq!(asked(&input).as_deref(), words, "{input}");
        }
    }

    #[test]
    fn what_was_answered_is_found_in_every_shape() {
        for (output, words) in [
            (json!("done"), Some("done")),
            (json!({"role": "assistant", "content": "done"}), Some("done")),
            (json!({"role": "assistant", "tool_calls": [{"id": "1", "name": "Bash"}]}), None),
            (json!({"choices": [{"message": {"role": "assistant", "content": "done"}}]}), Some("done")),
            (json!([{"type": "text", "text": "done"}, {"type": "tool_use", "id": "1", "name": "x"}]), Some("done")),
            (json!({"answer": "done", "sources": []}), Some("done")),
            (json!(null), None),
        ] {
            assert_eq!(answered(&output).as_deref(), words, "{output}");
        }
    }

    #[test]
    fn calls_and_results_are_found_in_every_shape() {
        let bash = |input: Option<Value>| Asked { id: "c1".into(), name: "Bash".into(), input };
        let with = bash(Some(json!({"command": "ls"})));
        for (output, call) in [
            (json!({"role": "assistant", "tool_calls": [{"id": "c1", "name": "Bash"}]}), bash(None)),
            (json!({"tool_calls": [{"id": "c1", "name": "Bash", "input": {"command": "ls"}}]}), with.clone()),
            (
                json!({"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}]}),
                with.clone(),
            ),
            (
                json!({"choices": [{"message": {"tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"ls\"}"}}]}}]}),
                with,
            ),
        ] {
            assert_eq!(calls(&output), [call], "{output}");
        }
        let ok = Shown { id: "c1".into(), text: "a.rs".into(), error: false };
        for input in [
            json!({"role": "tool", "tool_results": [{"tool_use_id": "c1", "tool_name": "Bash", "output": "a.rs"}]}),
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c1", "content": "a.rs"}]}),
            json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.rs"}]}]),
        ] {
            assert_eq!(results(&input), std::slice::from_ref(&ok), "{input}");
        }
    }
}
