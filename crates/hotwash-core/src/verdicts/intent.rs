//! What the person wanted: the answer.

use super::fields::Notes;
use super::{Fault, Reading, json};
use crate::outcomes::Intent;
use crate::redaction::Rules;
use serde::{Deserialize, Serialize};

const KEYS: [&str; 8] =
    ["asked", "context_given", "criteria", "goal_stated", "intent", "scope_bounded", "sure_of_intent", "title"];
/// So many criteria are asked for.
const FEWEST: usize = 3;
const MOST: usize = 8;

/// What the person wanted, and what would have to be true at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentVerdict {
    /// The kind of goal.
    pub intent: Intent,
    /// How sure the judge is of that, where it says.
    pub confidence: Option<f64>,
    /// The goal in a few words.
    pub title: String,
    /// The request in a sentence or two.
    pub asked: String,
    /// The person said what they want.
    pub goal_stated: Option<bool>,
    /// They said where it ends, or where it is.
    pub scope_bounded: Option<bool>,
    /// They brought what is needed to understand it.
    pub context_given: Option<bool>,
    /// What must be true at the end. None where there is no goal.
    pub criteria: Vec<Criterion>,
}

/// Something that must be true at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// What.
    pub check: String,
    /// Without it the goal is missed.
    pub required: bool,
    /// The person's words say it; else it follows from them.
    pub stated: bool,
}

impl IntentVerdict {
    /// Reads a reply.
    pub fn read(reply: &str, rules: &Rules) -> Reading<IntentVerdict> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &KEYS);
            let asked = notes.text(&fields, "asked").unwrap_or_default();
            let context_given = notes.boolean(&fields, "context_given");
            let mut criteria = criteria(&mut notes, &fields);
            let goal_stated = notes.boolean(&fields, "goal_stated");
            let intent = notes.label(&fields, "intent", &Intent::ALL.map(Intent::name), false);
            let intent = intent.and_then(|index| Intent::ALL.get(index).copied());
            let scope_bounded = notes.boolean(&fields, "scope_bounded");
            let confidence = notes.number(&fields, "sure_of_intent");
            let title = notes.text(&fields, "title").unwrap_or_default();
            match intent {
                Some(Intent::None) => criteria.clear(),
                Some(_) => settle(&mut notes, &mut criteria),
                None => {}
            }
            let verdict = intent.filter(|intent| *intent == Intent::None || !criteria.is_empty()).map(|intent| {
                let said = (goal_stated, scope_bounded, context_given);
                let (goal_stated, scope_bounded, context_given) = said;
                let title = title.clone();
                IntentVerdict { intent, confidence, title, asked, goal_stated, scope_bounded, context_given, criteria }
            });
            notes.reading(verdict)
        })
    }

    /// What completes a goal of a kind, where nobody wrote down more: for when the judge could not be understood.
    pub fn usual(intent: Intent) -> IntentVerdict {
        let checks: &[&str] = match intent {
            Intent::Question => &["The question is answered, rightly and in full."],
            Intent::Investigation => &["A conclusion is stated.", "What was found supports it."],
            Intent::Review => {
                &["There is a verdict that one can act on.", "It rests on the work that was to be reviewed."]
            }
            Intent::Plan => &["The plan covers everything that was asked for.", "One could start on it as it is."],
            Intent::SmallChange => &["The change that was asked for is made, everywhere it was asked for."],
            Intent::BugFix => &[
                "What was reported no longer happens.",
                "The cause is mended, and not only the example that was given.",
                "What worked before still works.",
            ],
            Intent::Feature => &[
                "Everything that was asked for is there.",
                "It works, with the names and formats that were asked for.",
                "What worked before still works.",
            ],
            Intent::Refactor => &["The new shape that was asked for is there.", "Behaviour is unchanged."],
            Intent::None => &[],
        };
        let criterion = |check: &&str| Criterion { check: (*check).to_owned(), required: true, stated: false };
        IntentVerdict {
            intent,
            confidence: None,
            title: String::new(),
            asked: String::new(),
            goal_stated: None,
            scope_bounded: None,
            context_given: None,
            criteria: checks.iter().map(criterion).collect(),
        }
    }
}

fn criteria(notes: &mut Notes<'_>, fields: &super::fields::Fields<'_>) -> Vec<Criterion> {
    let mut found = Vec::new();
    for one in notes.objects(fields, "criteria", &["check", "required", "source"]) {
        let check = notes.text(&one, "check").filter(|check| !check.is_empty());
        // What nobody said to be optional is required.
        let required = notes.boolean(&one, "required").unwrap_or(true);
        let stated = notes.label(&one, "source", &["stated", "implicit"], false) == Some(0);
        found.extend(check.map(|check| Criterion { check, required, stated }));
    }
    found
}

/// Notes what is wrong with the list as a whole, and makes do with it.
fn settle(notes: &mut Notes<'_>, criteria: &mut Vec<Criterion>) {
    if !(FEWEST..=MOST).contains(&criteria.len()) {
        let text = format!("must be {FEWEST} to {MOST} criteria");
        notes.problem("criteria".to_owned(), Fault::Count, text);
        criteria.truncate(MOST);
    }
    if !criteria.iter().any(|criterion| criterion.required) && !criteria.is_empty() {
        notes.problem("criteria".to_owned(), Fault::Count, "at least one must be required");
        for criterion in criteria {
            criterion.required = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn reply() -> Value {
        let criterion = |check: &str| json!({ "check": check, "required": true, "source": "stated" });
        json!({
            "asked": "Make parse take an empty text.",
            "context_given": false,
            "criteria": [criterion("parse(\"\") is []"), criterion("parse(\" \") is []"), criterion("the rest stays")],
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
        assert_eq!((verdict.intent, verdict.criteria.len()), (Intent::BugFix, 3));
        let stored = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<IntentVerdict>(&stored).unwrap(), verdict);
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_kept() {
        type Case = (&'static str, Value, Fault, bool);
        let many = |n: usize, required: bool| {
            json!(vec![json!({ "check": "x", "required": required, "source": "implicit" }); n])
        };
        let cases: [Case; 8] = [
            ("intent", json!("bugfix please"), Fault::OffScale, false),
            ("intent", Value::Null, Fault::OffScale, false),
            ("title", json!(3), Fault::WrongKind, true),
            ("goal_stated", json!("yes"), Fault::WrongKind, true),
            ("criteria", json!([]), Fault::Count, false),
            ("criteria", many(1, true), Fault::Count, true),
            ("criteria", many(9, true), Fault::Count, true),
            ("criteria", many(3, false), Fault::Count, true),
        ];
        for (key, value, fault, kept) in cases {
            let mut reply = reply();
            reply[key] = value;
            let reading = read(&reply);
            assert_eq!(reading.problems.first().map(|problem| problem.fault), Some(fault), "{key}");
            assert_eq!(reading.verdict.is_some(), kept, "{key}");
            if let Some(verdict) = reading.verdict {
                assert!(verdict.criteria.len() <= MOST && verdict.criteria.iter().any(|one| one.required));
            }
        }
    }

    #[test]
    fn no_goal_has_no_criteria() {
        let mut reply = reply();
        reply["intent"] = json!("none");
        let reading = read(&reply);
        assert!(reading.problems.is_empty());
        assert!(reading.verdict.unwrap().criteria.is_empty());
    }

    #[test]
    fn every_kind_of_goal_has_its_usual_criteria() {
        for intent in Intent::ALL {
            assert_eq!(IntentVerdict::usual(intent).criteria.is_empty(), intent == Intent::None);
        }
    }
}
