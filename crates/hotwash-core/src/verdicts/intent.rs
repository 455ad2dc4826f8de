//! What the person wanted: the answer.

use super::fields::{Fields, Notes};
use super::{Reading, json};
use crate::outcomes::Intent;
use crate::redaction::Rules;
use serde::{Deserialize, Serialize};

pub(super) const KEYS: [&str; 6] =
    ["context_given", "goal_stated", "intent", "scope_bounded", "sure_of_intent", "title"];

/// What the person wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentVerdict {
    /// The kind of goal.
    pub intent: Intent,
    /// How sure the judge is of that, where it says.
    pub confidence: Option<f64>,
    /// The goal in a few words.
    pub title: String,
    /// The person said what they want.
    pub goal_stated: Option<bool>,
    /// They said where it ends, or where it is.
    pub scope_bounded: Option<bool>,
    /// They brought what is needed to understand it.
    pub context_given: Option<bool>,
}

impl IntentVerdict {
    /// Reads a reply.
    pub fn read(reply: &str, rules: &Rules) -> Reading<IntentVerdict> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &KEYS);
            let verdict = IntentVerdict::of(&mut notes, &fields);
            notes.reading(verdict)
        })
    }

    /// Reads the part of a reply that is about it.
    pub(super) fn of(notes: &mut Notes<'_>, fields: &Fields<'_>) -> Option<IntentVerdict> {
        let context_given = notes.boolean(fields, "context_given");
        let goal_stated = notes.boolean(fields, "goal_stated");
        let intent = notes.label(fields, "intent", &Intent::ALL.map(Intent::name), false);
        let scope_bounded = notes.boolean(fields, "scope_bounded");
        let confidence = notes.number(fields, "sure_of_intent");
        let title = notes.text(fields, "title").unwrap_or_default();
        let intent = intent.and_then(|index| Intent::ALL.get(index).copied())?;
        Some(IntentVerdict { intent, confidence, title, goal_stated, scope_bounded, context_given })
    }

    /// No more than the kind of goal, as facts have it: for when the judge could not be understood.
    pub fn usual(intent: Intent) -> IntentVerdict {
        IntentVerdict {
            intent,
            confidence: None,
            title: String::new(),
            goal_stated: None,
            scope_bounded: None,
            context_given: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::Fault;
    use serde_json::{Value, json};

    fn reply() -> Value {
        json!({
            "context_given": false,
            "goal_stated": true,
            "intent": "bug_fix",
            "scope_bounded": true,
            "sure_of_intent": 0.9,
            "title": "Empty texts",
        })
    }

    fn read(reply: &Value) -> Reading<IntentVerdict> {
        IntentVerdict::read(&reply.to_string(), &Rules::default())
    }

    #[test]
    fn reads_a_whole_answer() {
        let reading = read(&reply());
        assert_eq!((reading.problems, reading.flags), (vec![], vec![]));
        let verdict = reading.verdict.unwrap();
        assert_eq!((verdict.intent, verdict.context_given), (Intent::BugFix, Some(false)));
        let stored = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<IntentVerdict>(&stored).unwrap(), verdict);
    }

    #[test]
    fn what_earlier_prompts_were_answered_still_opens() {
        let stored = r#"{"intent":"bug_fix","confidence":0.9,"title":"Empty texts","asked":"Make parse take an empty text.",
            "goal_stated":true,"scope_bounded":null,"context_given":false,
            "criteria":[{"check":"parse(\"\") is []","required":true,"stated":true}]}"#;
        let verdict: IntentVerdict = serde_json::from_str(stored).unwrap();
        assert_eq!((verdict.intent, verdict.title.as_str()), (Intent::BugFix, "Empty texts"));
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_kept() {
        for (key, value, fault, kept) in [
            ("intent", json!("bugfix please"), Fault::OffScale, false),
            ("intent", Value::Null, Fault::OffScale, false),
            ("title", json!(3), Fault::WrongKind, true),
            ("goal_stated", json!("yes"), Fault::WrongKind, true),
            ("sure_of_intent", json!(90), Fault::OffScale, true),
        ] {
            let mut reply = reply();
            reply[key] = value;
            let reading = read(&reply);
            assert_eq!(reading.problems.first().map(|problem| problem.fault), Some(fault), "{key}");
            assert_eq!(reading.verdict.is_some(), kept, "{key}");
        }
    }
}
