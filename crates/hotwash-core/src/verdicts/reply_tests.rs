//! Replies of any kind, to all four readers.

use super::outcome::tests as outcome;
use super::quality::tests as quality;
use super::{Fault, IntentVerdict, QualityVerdict, Reading, Review, Status, TopicVerdict, cites};
use crate::evidence::Evidence;
use crate::redaction::Rules;
use crate::rubric::Rubric;
use crate::scores;
use crate::sessions::EventId;
use crate::sessions::topic::Known;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
static SESSION: LazyLock<Evidence> = LazyLock::new(outcome::evidence);
static GRADED: LazyLock<Evidence> = LazyLock::new(quality::evidence);
static V2: LazyLock<Rubric> = LazyLock::new(|| Rubric::shipped("v2").unwrap());

fn read_outcome(reply: &str) -> Reading<Review> {
    Review::read(reply, &SESSION, None, &RULES)
}

fn read_quality(reply: &str) -> Reading<QualityVerdict> {
    QualityVerdict::read(reply, &GRADED, &V2, None, &RULES)
}

fn read_all(reply: &str) {
    TopicVerdict::read(reply, &[EventId(1)], &RULES);
    IntentVerdict::read(reply, &RULES);
    read_outcome(reply);
    read_quality(reply);
}

#[test]
fn topics_are_read_and_only_what_is_sure_decides() {
    let asked = [EventId(5), EventId(9)];
    let shift = |event: &str, sure: Value| json!({ "because": "another ticket", "event": event, "sure": sure });
    let other = |sure| Known::Other { sure };
    for (reply, expected, problems) in [
        (json!({ "shifts": [], "sure_of_rest": 0.9 }), Some([Known::Same; 2]), 0),
        (json!({ "shifts": [], "sure_of_rest": 0.4 }), Some([Known::Nothing; 2]), 0),
        (json!({ "shifts": [shift("e9", json!(0.95))], "sure_of_rest": 1 }), Some([Known::Same, other(950)]), 0),
        (json!({ "shifts": [shift("[e5]", json!(0.7))], "sure_of_rest": 0.1 }), Some([other(700), Known::Nothing]), 0),
        (json!({ "shifts": [shift("e9", json!(0.69))], "sure_of_rest": 1 }), Some([Known::Same, Known::Nothing]), 0),
        // How sure it is, nobody knows.
        (json!({ "shifts": [shift("e9", json!(95))], "sure_of_rest": 1 }), None, 1),
        (json!({ "shifts": [] }), None, 1),
        // What was not asked about, or twice: the judge was not looking.
        (json!({ "shifts": [shift("e6", json!(1))], "sure_of_rest": 1 }), None, 1),
        (json!({ "shifts": [shift("e9", json!(1)), shift("e9", json!(1))], "sure_of_rest": 1 }), None, 1),
        (json!({ "shifts": [shift("the last", json!(1))], "sure_of_rest": 1 }), None, 1),
        (json!({ "shifts": "none", "sure_of_rest": 1 }), None, 1),
        (json!({ "sure_of_rest": 1 }), None, 1),
        (json!([]), None, 1),
    ] {
        let reading = TopicVerdict::read(&reply.to_string(), &asked, &RULES);
        let decided = reading.verdict.map(|verdict| asked.map(|prompt| verdict.ruling(prompt).known));
        assert_eq!(decided, expected, "{reply}");
        assert_eq!(reading.problems.len(), problems, "{reply}");
    }
}

#[test]
fn words_of_a_reply_are_redacted_and_kept_short() {
    let long = "x ".repeat(5_000);
    let mut reply = outcome::reply();
    reply["summary"] = json!("ask somebody@example.org\nwho knows");
    reply["judgement"]["doubts"] = json!([long, 3, "and\u{1b}[31m red\u{202e}"]);
    let verdict = outcome::verdict(&reply);
    assert!(!verdict.summary.contains("somebody@") && verdict.summary.ends_with("who knows"));
    assert_eq!(verdict.doubts.len(), 2);
    assert!(verdict.doubts[0].chars().count() <= 1_000 && !verdict.doubts[1].contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn problems_hold_nothing_of_the_reply() {
    let mut reply = outcome::reply();
    for place in ["asks", "checks", "findings", "judgement", "marks", "summary"] {
        reply[place] = json!({ "evil": "zanzibar", "kind": "zanzibar", "status": "zanzibar" });
        for problem in read_outcome(&reply.to_string()).problems {
            assert!(!problem.to_string().contains("zanzibar") && !problem.to_string().contains("evil"), "{problem}");
        }
    }
}

#[test]
fn a_reading_can_be_stored() {
    let mut reply = outcome::reply()["asks"].clone();
    reply["title"] = json!(3);
    reply["extra"] = json!(1);
    let reading = IntentVerdict::read(&reply.to_string(), &RULES);
    assert!(!reading.problems.is_empty() && !reading.flags.is_empty());
    let stored = serde_json::to_string(&reading).unwrap();
    assert_eq!(serde_json::from_str::<Reading<IntentVerdict>>(&stored).unwrap(), reading);
}

#[test]
fn the_better_of_two_answers_is_kept() {
    let (good, mut bad) = (outcome::reply()["asks"].clone(), outcome::reply()["asks"].clone());
    bad["title"] = json!(3);
    let (good, bad, none) = (good.to_string(), bad.to_string(), "sorry");
    for (first, second, problems) in
        [(none, good.as_str(), 0), (&bad, &good, 0), (&good, &bad, 0), (&bad, none, 1), (none, none, 1)]
    {
        let kept = Reading::after_retry(IntentVerdict::read(first, &RULES), IntentVerdict::read(second, &RULES));
        assert_eq!(kept.problems.len(), problems);
        assert_eq!(kept.verdict.is_some(), (first, second) != (none, none));
        assert!(kept.flags.contains(&scores::Flag::Retried));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2.0..2.0f64).prop_map(Value::from),
        (-5..100i64).prop_map(Value::from),
        "(met|unmet|unknown|e[0-9]|e4|person|none|complete|12 passed; 0 failed|if text.is_empty\\(\\)|.{0,12})"
            .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "asks",
        "checks",
        "check",
        "findings",
        "marks",
        "evidence",
        "event",
        "quote",
        "status",
        "judgement",
        "probability",
        "score",
        "kind",
        "goal_achievement",
        "tool_efficiency",
        "shifts",
        "intent",
        "explicit",
        "failure_signals",
        "doubts",
        "zzz",
    ]);
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

/// Puts something else at one place of a reply, counted through all of them.
fn disturb(reply: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *reply = other.clone();
    }
    *at = at.wrapping_sub(1);
    match reply {
        Value::Array(items) => items.iter_mut().for_each(|item| disturb(item, at, other)),
        Value::Object(map) => map.values_mut().for_each(|item| disturb(item, at, other)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_reply_makes_a_reader_panic(json in any_json(), text in ".{0,60}") {
        read_all(&json.to_string());
        read_all(&format!("{text}{json}{text}"));
    }

    #[test]
    fn whatever_is_wrong_in_an_answer_nothing_unchecked_counts(other in any_json(), at in 0..100usize) {
        let mut reply = outcome::reply();
        disturb(&mut reply, &mut at.clone(), &other);
        let reading = read_outcome(&reply.to_string());
        if let Some(verdict) = reading.verdict.as_ref().and_then(|review| review.outcome.as_ref()) {
            prop_assert!((0.0..=1.0).contains(&verdict.probability) && verdict.criteria.len() <= 8);
            for one in &verdict.criteria {
                prop_assert!(one.status != Status::Met || !one.cites.is_empty());
                for cite in &one.cites {
                    prop_assert!(cites::check(&SESSION, &cite.event.to_string(), &cite.quote).is_some());
                }
            }
        } else {
            prop_assert!(!reading.problems.is_empty());
        }

        let mut reply = quality::reply(&V2);
        disturb(&mut reply, &mut at.clone(), &other);
        if let Some(verdict) = read_quality(&reply.to_string()).verdict {
            prop_assert_eq!(verdict.readings.len(), V2.dimensions.len() - 1);
            for (name, reading) in verdict.readings {
                if let scores::Reading::Scored { value, items, .. } = reading {
                    prop_assert!((0.0..=1.0).contains(&value.number()), "{}", name);
                    prop_assert!(items.iter().any(|item| !item.events.is_empty()));
                }
            }
        }
    }
}

#[test]
fn an_answer_that_was_cut_off_is_told_to_be_brief_unless_it_can_be_used() {
    let cut = read_outcome("{\"checks\": [{\"che").of_cut_reply(8000);
    let (_, why) = cut.why();
    assert_eq!((cut.verdict, cut.problems[0].fault), (None, Fault::Cut));
    assert!(why.contains("8000 tokens") && why.contains("brief"), "{why}");
}
