//! A judge for tests that answers anything by its schema, and cites what the evidence really says.

pub(crate) mod server;

use serde_json::{Map, Value, json};

/// What it is inclined to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    /// Everything is as good as it can be.
    Delighted,
    /// Nothing is.
    Disappointed,
}

/// An answer that fits a schema. `text` is everything that the judge was asked.
pub(crate) fn answer(schema: &Value, text: &str, mood: Mood) -> Value {
    Judge { cites: cites(text), prompts: prompts(text), mood }.value("", schema)
}

struct Judge {
    cites: Vec<(String, String)>,
    /// Those that it is asked about, where it is asked where another goal begins.
    prompts: Vec<String>,
    mood: Mood,
}

impl Judge {
    fn value(&self, name: &str, schema: &Value) -> Value {
        let good = self.mood == Mood::Delighted;
        if let Some(labels) = schema["enum"].as_array() {
            return match name {
                "intent" => json!("bug_fix"),
                "status" => json!(if good { "met" } else { "unmet" }),
                "kind" => json!(if good { "run" } else { "none" }),
                // Levels come lowest first.
                _ => labels[if good { labels.len() - 1 } else { 0 }].clone(),
            };
        }
        match schema["type"].as_str() {
            Some("object") => {
                let empty = Map::new();
                let properties = schema["properties"].as_object().unwrap_or(&empty);
                let object = properties.iter().map(|(name, schema)| (name.clone(), self.value(name, schema)));
                Value::Object(object.collect())
            }
            Some("array") => self.list(name, &schema["items"]),
            Some("boolean") => json!(good),
            Some("number") if name.contains("confidence") || name.contains("sure") => json!(0.9),
            Some("number") => json!(if good { 0.95 } else { 0.05 }),
            Some("integer") => json!(1),
            _ => json!(format!("a few words on {name}")),
        }
    }

    fn list(&self, name: &str, items: &Value) -> Value {
        let one = |at: usize| {
            let mut one = self.value(name, items);
            if let Some(object) = one.as_object_mut() {
                if name == "findings" {
                    object.insert("check".into(), json!(at + 1));
                }
                if name == "checks" {
                    object.insert("check".into(), json!(format!("thing number {} is as it should be", at + 1)));
                    object.insert("essential".into(), json!(true));
                }
                if name == "shifts" {
                    object.insert("event".into(), json!(self.prompts.get(at)));
                }
                if let (Some((event, quote)), true) =
                    (self.cites.get(at % self.cites.len().max(1)), object.contains_key("quote"))
                {
                    object.insert("event".into(), json!(event));
                    object.insert("quote".into(), json!(quote));
                }
            }
            one
        };
        let count = match name {
            "checks" | "findings" => 3,
            // Who is delighted finds a goal of its own in every prompt.
            "shifts" if self.mood == Mood::Delighted => self.prompts.len(),
            "shifts" | "failure_signals" | "doubts" | "beyond" => 0,
            _ => 1,
        };
        Value::Array((0..count).map(one).collect())
    }
}

/// Events of the evidence with a stretch of what they say: what the agent said, or what the person asked for.
fn cites(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // A file that was made or changed, which its last event stands for.
        if let Some(id) =
            line.strip_prefix("## ").and_then(|head| head.rsplit(' ').next()).filter(|id| id.starts_with('e'))
        {
            let quote: String = lines.peek().copied().unwrap_or_default().trim().chars().take(60).collect();
            if quote.chars().count() >= 12 {
                found.push((id.to_owned(), quote));
            }
            continue;
        }
        let Some((id, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) else { continue };
        if !id.starts_with('e') {
            continue;
        }
        let said = match rest.strip_prefix("agent: ") {
            Some(said) => said,
            None if rest == "the person" => lines.peek().copied().unwrap_or_default().trim(),
            None => continue,
        };
        let quote: String = said.chars().take(60).collect();
        if quote.chars().count() >= 12 && !said.starts_with("see ") {
            found.push((id.to_owned(), quote));
        }
    }
    // The last ones: in a part of a longer session the first belong to another.
    found.reverse();
    found
}

/// The prompts that the question is about.
fn prompts(text: &str) -> Vec<String> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("Asked about: "));
    let listed = line.and_then(|line| line.split(". ").next()).unwrap_or_default();
    listed.split(", ").filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// The transcript of a small session that is worth judging.
pub(crate) fn small_session(name: &str) -> String {
    let record = |minute: u32, kind: &str, message: Value| {
        let record = json!({
            "type": kind, "uuid": format!("{name}-{minute}"), "sessionId": name, "cwd": format!("/srv/{name}"),
            "timestamp": format!("2026-10-12T10:{minute:02}:00.000Z"), "isSidechain": false, "message": message,
        });
        format!("{record}\n")
    };
    let says = |n: u32, text: &str| {
        json!({ "id": format!("{name}-m{n}"), "role": "assistant", "model": "claude-sonnet-5",
            "usage": { "output_tokens": 5 }, "content": [{ "type": "text", "text": text }] })
    };
    let user = |text: &str| json!({ "role": "user", "content": text });
    [
        record(1, "user", user(&format!("What does the importer of {name} do with rows that have no columns?"))),
        record(2, "assistant", says(1, "It keeps them as empty rows, as far as I can see from here.")),
        record(3, "user", user("And with rows that have only blanks in them, are they kept too?")),
        record(4, "assistant", says(2, "Those are kept as well, nothing is dropped by the importer.")),
        record(5, "user", user("Then that is what I wanted to know about it, thanks a lot.")),
        record(6, "assistant", says(3, "You are welcome, ask again whenever something is unclear.")),
    ]
    .concat()
}
