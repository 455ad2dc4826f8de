//! JSON schemas as services take them. What they do not take is left out; the answer is checked against the whole schema
//! anyway.

use hotwash_core::prompts::Prompt;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Words about bounds, which services that hold a model to a schema refuse.
const BOUNDS: [&str; 12] = [
    "$schema",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "uniqueItems",
];

/// The schema of a prompt as services take it, written down: without bounds, and with objects that take no further keys.
#[derive(Clone)]
pub(super) struct Plain(Arc<Written>);

struct Written {
    of: Arc<Value>,
    json: Box<RawValue>,
    strict: bool,
}

impl Plain {
    /// Worked out once for each kind of question.
    pub(super) fn of(prompt: &Prompt) -> Plain {
        static REMEMBERED: LazyLock<Mutex<HashMap<String, Plain>>> = LazyLock::new(Mutex::default);
        let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Plain| Arc::ptr_eq(&known.0.of, &prompt.schema) || known.0.of == prompt.schema;
        if let Some(known) = remembered.get(&prompt.template_hash).filter(same) {
            return known.clone();
        }
        let value = plain(&prompt.schema);
        let json = to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let new = Plain(Arc::new(Written { of: Arc::clone(&prompt.schema), json, strict: requires_all(&value) }));
        remembered.insert(prompt.template_hash.clone(), new.clone());
        new
    }

    /// Whether every key of every object is required, which is what strictness asks for.
    pub(super) fn is_strict(&self) -> bool {
        self.0.strict
    }
}

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(serializer)
    }
}

fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut plain = Map::new();
            for (key, value) in fields {
                let value = match key.as_str() {
                    _ if BOUNDS.contains(&key.as_str()) => continue,
                    "minItems" if value.as_u64().is_none_or(|items| items > 1) => continue,
                    "enum" | "const" | "default" | "examples" | "required" => value.clone(),
                    "properties" | "$defs" | "definitions" => named(value),
                    _ => self::plain(value),
                };
                plain.insert(key.clone(), value);
            }
            if fields.get("type").is_some_and(|kind| kind == "object") || fields.contains_key("properties") {
                plain.insert("additionalProperties".into(), Value::Bool(false));
            }
            Value::Object(plain)
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// Schemas by names, which may be anything.
fn named(schemas: &Value) -> Value {
    match schemas {
        Value::Object(fields) => fields.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect(),
        other => other.clone(),
    }
}

fn requires_all(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let required = |name: &String| {
                let list = fields.get("required").and_then(Value::as_array);
                list.is_some_and(|list| list.iter().any(|item| item == name))
            };
            let properties = fields.get("properties").and_then(Value::as_object);
            properties.is_none_or(|properties| properties.keys().all(required)) && fields.values().all(requires_all)
        }
        Value::Array(items) => items.iter().all(requires_all),
        _ => true,
    }
}

/// A name for the schema of a prompt, in the letters that services take.
pub(super) fn name(prompt: &Prompt) -> String {
    let name = format!("{}_{}", prompt.task, prompt.critic);
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    letters.take(64).collect::<String>().trim_matches('_').to_owned()
}

/// How to ask for JSON in words, of a service that cannot be held to a schema.
pub(super) fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must follow this JSON schema:\n{schema}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_go_and_names_stay() {
        let schema = json!({
            "$schema": "x", "type": "object", "required": ["minimum", "list"],
            "properties": {
                "minimum": {"type": "number", "minimum": 0, "maximum": 1},
                "list": {"type": "array", "minItems": 3, "maxItems": 8, "items": {"type": "object", "properties": {"a": {"enum": ["maximum"]}}}},
                "one": {"type": "array", "minItems": 1},
            },
        });
        let expected = json!({
            "type": "object", "required": ["minimum", "list"], "additionalProperties": false,
            "properties": {
                "minimum": {"type": "number"},
                "list": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"a": {"enum": ["maximum"]}}}},
                "one": {"type": "array", "minItems": 1},
            },
        });
        assert_eq!(plain(&schema), expected);
        assert!(!requires_all(&schema));
        assert!(requires_all(&json!({"properties": {"a": {"type": "string"}}, "required": ["a"]})));
    }
}
