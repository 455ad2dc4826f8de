//! The JSON schemas of answers, in the subset that all backends take: every object closed, every property required, no
//! limits on numbers or lengths. Limits are checked by who reads the answer.
//!
//! Models answer in the order of the properties, and our JSON keeps properties in alphabetical order. So names are chosen
//! to make that the order in which one should think: evidence before verdict.

use crate::outcomes::Intent;
use crate::rubric::{Dimension, Kind};
use serde_json::{Map, Value, json};

/// Of an answer to at which prompts another goal begins.
pub(super) fn topic() -> Value {
    let shift = object([
        ("because", text("one sentence")),
        ("event", text("the id of the prompt")),
        ("sure", number("that another goal begins with it, from 0 to 1")),
    ]);
    object([("shifts", list(shift)), ("sure_of_rest", number("that all others go on with the same goal, from 0 to 1"))])
}

/// Of an answer to what the person wanted.
pub(super) fn intent() -> Value {
    object([
        ("context_given", boolean("the person brought what is needed to understand it")),
        ("goal_stated", boolean("the person said what they want")),
        ("intent", one_of(Intent::ALL.map(Intent::name))),
        ("scope_bounded", boolean("the person said where it is or where it ends")),
        ("sure_of_intent", number("from 0 to 1")),
        ("title", text("at most ten words")),
    ])
}

/// The names of failure signals.
pub(crate) const SIGNALS: [&str; 4] = ["unresolved_error", "frustration", "abandoned", "loop"];
/// The names of a criterion's states.
pub(crate) const STATES: [&str; 4] = ["met", "partly", "unmet", "unknown"];
/// What says openly that a goal was reached.
pub(crate) const EXPLICIT: [&str; 3] = ["person", "run", "none"];

/// Of an answer to whether the person got what they wanted, and to how well it went on these dimensions, if any.
pub(super) fn outcome(dimensions: &[&Dimension]) -> Value {
    let check = object([
        ("check", text("what must be true at the end: one thing, checkable, from the request alone")),
        ("essential", boolean("the result would fail without it")),
    ]);
    let finding = object([
        ("check", json!({ "type": "integer", "description": "its number, from 1" })),
        ("evidence", cites()),
        ("finding", text("what the final state does; one or two sentences")),
        ("status", one_of(STATES)),
    ]);
    let judgement = object([
        ("doubts", list(text("why the independent check may fail: place, input, effect"))),
        ("probability", number("that the independent check passed, from 0 to 1")),
    ]);
    let beyond =
        object([("event", text("its id")), ("quote", text("copied from it")), ("what", text("in a few words"))]);
    let explicit = object([("evidence", cites()), ("kind", one_of(EXPLICIT))]);
    let signal = object([("evidence", cites()), ("kind", one_of(SIGNALS))]);
    let marks = object([
        ("beyond", list(beyond)),
        ("explicit", explicit),
        ("failure_signals", list(signal)),
        ("no_breakage_left", boolean("nothing broken or half done is left")),
        ("plan_before_action", boolean("a plan came before the first change, or nothing was changed")),
        ("result_communicated", boolean("the session ends with a true account of the result")),
        ("verified_before_done", boolean("a green run came after the last change, or none was due")),
    ]);
    // In the order of the alphabet, which is the order of thought.
    let mut all = vec![
        ("asks", intent()),
        ("checks", list(check)),
        ("findings", list(finding)),
        ("judgement", judgement),
        ("marks", marks),
        ("summary", text("what was asked for and what came of it, in one or two sentences")),
    ];
    if !dimensions.is_empty() {
        all.push(("quality", quality(dimensions)));
    }
    object(all)
}

/// Of an answer to how well it went, on these dimensions.
pub(super) fn quality(dimensions: &[&Dimension]) -> Value {
    let one = |dimension: &&Dimension| {
        let observation = object([
            ("event", text("its id")),
            ("quote", text("copied from it")),
            ("shows", text("what it shows, in a few words")),
        ]);
        let score = match &dimension.kind {
            Kind::Numeric(_) => number("from 0 to 1"),
            Kind::Categorical(levels) => one_of(levels.iter().map(|level| level.label.as_str())),
        };
        let shape = object([
            ("evidence", list(observation)),
            ("rationale", text("one sentence")),
            ("score", score),
            ("score_confidence", number("from 0 to 1")),
        ]);
        (dimension.name.clone(), shape)
    };
    object(dimensions.iter().map(one))
}

fn object<K: Into<String>>(properties: impl IntoIterator<Item = (K, Value)>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().map(|(key, value)| (key.into(), value)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

fn cites() -> Value {
    list(object([("event", text("its id")), ("quote", text("copied from it"))]))
}

fn list(items: Value) -> Value {
    Value::Object(Map::from_iter([("type".to_owned(), "array".into()), ("items".to_owned(), items)]))
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "number", "description": description })
}

fn boolean(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn one_of<'a>(labels: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": labels.into_iter().collect::<Vec<_>>() })
}
