use super::ask::{INTENT, OUTCOME, QUALITY, SCORING, TOPIC};
use super::template::{Template, places};
use super::*;
use crate::evidence::{Evidence, PromptEvidence, PromptRecorder};
use crate::facts::testing::tell;
use crate::rubric::Rubric;
use crate::verdicts::Fault;

const SECRET: &str = "please mend zanzibar.rs";

fn evidence() -> Evidence {
    Evidence::for_tests(&[(1, SECRET), (6, "test result: ok. 12 passed; 0 failed")], &[])
}

fn prompts() -> PromptEvidence {
    let rules = Rules::default();
    let mut recorder = PromptRecorder::new(&rules);
    let story = format!("e1 user  {SECRET}\n e2 says  done\n e3 user  now the other zanzibar, please");
    tell(&story, |event| recorder.event(event));
    recorder.finish().questions(&|_| false).remove(0)
}

/// One of each, and of quality one for each rubric and each critic.
fn all() -> Vec<Prompt> {
    let rules = Rules::default();
    let mut all = vec![topic(&prompts()), intent(&evidence()), outcome(&evidence(), None, &rules)];
    for name in Rubric::shipped_names() {
        let rubric = Rubric::shipped(name).unwrap();
        all.push(outcome(&evidence(), Some(&rubric), &rules));
        all.push(quality(&evidence(), &rubric, None, &rules));
        all.extend(rubric.critics.iter().map(|critic| quality(&evidence(), &rubric, Some(critic), &rules)));
    }
    all
}

#[test]
fn no_place_is_left_empty() {
    for prompt in all() {
        for text in [prompt.fixed.as_str(), prompt.question.as_str()] {
            assert!(!text.contains("{{") && !text.contains("}}\n"), "{}", prompt.task);
            assert!(!text.contains("=== question"), "{}", prompt.task);
        }
        assert!(prompt.question.as_str().len() > 100);
    }
    // And every place is one that somebody fills.
    let known = [
        "data",
        "cites",
        "answer",
        "marker",
        "asked",
        "rest",
        "scoring",
        "critic",
        "rubric",
        "dimensions",
        "part",
        "names",
    ];
    for template in [TOPIC, INTENT, OUTCOME, QUALITY, Template(SCORING)] {
        let cites = template.0 == OUTCOME.0 || template.0 == QUALITY.0;
        assert_eq!(places(template.0).contains(&"cites"), cites);
        for place in places(template.0) {
            assert!(known.contains(&place), "{place}");
        }
    }
}

#[test]
fn the_fixed_part_holds_nothing_of_a_session() {
    for prompt in all() {
        assert!(!prompt.fixed.as_str().contains("zanzibar"));
        assert!(!prompt.fixed.as_str().contains(evidence().marker()));
        assert!(prompt.evidence.as_str().contains("zanzibar"));
        if prompt.task != Task::Topic {
            assert!(prompt.question.as_str().contains(evidence().marker()));
        }
    }
}

#[test]
fn the_marker_of_a_topic_is_in_both_fences_and_the_question() {
    let prompt = &all()[0];
    let (_, marker) = prompt.question.as_str().split_once("marker ").unwrap();
    let marker = marker.split('.').next().unwrap();
    assert_eq!(marker.len(), 32);
    assert_eq!(prompt.evidence.as_str().matches(marker).count(), 2);
}

#[test]
fn redaction_changes_none_of_our_own_words() {
    for prompt in all() {
        assert_eq!(redact(prompt.fixed.as_str(), &Rules::default()), *prompt.fixed, "{}", prompt.task);
    }
}

/// The subset of JSON schema that all backends take.
fn check_schema(schema: &Value) {
    let allowed = ["type", "properties", "required", "additionalProperties", "items", "enum", "description"];
    let object = schema.as_object().unwrap();
    assert!(object.keys().all(|key| allowed.contains(&key.as_str())), "{schema}");
    if schema["type"] == "object" {
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().unwrap();
        let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(properties.keys().map(String::as_str).collect::<Vec<_>>(), required);
        properties.values().for_each(check_schema);
    } else if schema["type"] == "array" {
        check_schema(&schema["items"]);
    } else {
        assert!(["string", "number", "integer", "boolean"].contains(&schema["type"].as_str().unwrap()));
    }
}

#[test]
fn schemas_are_what_backends_take() {
    for prompt in all() {
        check_schema(&prompt.schema);
        assert!(prompt.fixed.as_str().contains(&prompt.schema.to_string()), "{}", prompt.task);
    }
}

#[test]
fn evidence_comes_before_the_verdict() {
    for prompt in all() {
        let schema = prompt.schema.to_string();
        let order: &[&str] = match prompt.task {
            Task::Topic => &["shifts", "because", "event", "sure", "sure_of_rest"],
            Task::Intent => &["goal_stated", "intent", "title"],
            Task::Outcome => &[
                "asks",
                "checks",
                "findings",
                "evidence",
                "finding",
                "status",
                "doubts",
                "probability",
                "marks",
                "explicit",
                "failure_signals",
            ],
            Task::Quality => &["evidence", "quote", "rationale", "score", "score_confidence"],
        };
        let mut rest = schema.as_str();
        for key in order {
            rest = rest.split_once(&format!("\"{key}\":{{")).unwrap_or_else(|| panic!("{key} in {schema}")).1;
        }
        if let (Task::Outcome, Some(quality)) = (prompt.task, rest.find("\"quality\":{")) {
            assert!(quality < rest.find("\"summary\":{").unwrap());
        }
    }
}

#[test]
fn the_template_hash_is_the_same_for_every_session_and_another_for_every_question() {
    let other = Evidence::for_tests(&[(1, "something else")], &[]);
    let (one, two) = (intent(&evidence()), intent(&other));
    assert_eq!(one.template_hash, two.template_hash);
    assert_eq!(one.fixed, two.fixed);
    assert_ne!(one.hash(), two.hash());
    let mut hashes: Vec<String> = all().into_iter().skip(1).map(|prompt| prompt.template_hash).collect();
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn nobody_is_asked_whether_the_goal_was_reached_in_a_word() {
    for prompt in all().iter().filter(|prompt| matches!(prompt.task, Task::Outcome | Task::Quality)) {
        let words = prompt.schema.to_string();
        assert!(!words.contains("goal_achievement") && !words.contains("task_completion"), "{words}");
    }
}

#[test]
fn a_retry_says_what_was_wrong_and_changes_nothing_else() {
    let rules = Rules::default();
    let problem = |at: &str| Problem { at: at.into(), fault: Fault::OffScale, text: "must be a number".into() };
    let first = intent(&evidence());
    let again = first.again(&[problem("judgement.probability")], &rules);
    assert!(again.question.as_str().starts_with(first.question.as_str()));
    assert!(again.question.as_str().contains("\n- judgement.probability: must be a number\n"));
    assert_eq!((again.fixed, again.evidence), (first.fixed, first.evidence.clone()));
    let many: Vec<Problem> = (0..40).map(|n| problem(&n.to_string())).collect();
    assert!(intent(&evidence()).again(&many, &rules).question.as_str().contains("- and 28 more"));
}

#[test]
fn a_rubric_of_ones_own_is_asked_as_it_stands() {
    let source = Rubric::shipped("v2").unwrap().source().to_owned();
    let source = source.replace("name = \"process_adherence\"", "name = \"house_rules\"");
    let source = source.replace("[\"process_adherence\"]", "[\"house_rules\"]");
    let rubric = Rubric::parse("own.toml", &source).unwrap();
    let prompt = quality(&evidence(), &rubric, None, &Rules::default());
    assert!(prompt.fixed.as_str().contains("### `house_rules`"));
    assert!(prompt.schema["properties"].get("house_rules").is_some());
    for dimension in dimensions_of(&rubric, None) {
        for text in dimension.checks.iter().chain(&dimension.plus).chain(&dimension.minus) {
            assert!(prompt.fixed.as_str().contains(text), "{text}");
        }
    }
}
