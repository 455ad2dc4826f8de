//! How well it went: the answer.

use super::fields::{Fields, Notes};
use super::{Fault, Problem, Reading, json};
use crate::evidence::Evidence;
use crate::prompts::dimensions_of;
use crate::redaction::Rules;
use crate::rubric::{Critic, Dimension, Kind, Rubric};
use crate::scores::{self, Flag, Item, Unscored, Value};
use crate::sessions::Events;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What ledger items of a judge rest on, where it is no fact.
pub(super) const JUDGE: &str = "judge";

/// How well a session went, or a chunk of it, on the dimensions that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QualityVerdict {
    /// By dimension. Each that was asked for is there, scored or not.
    pub readings: BTreeMap<String, scores::Reading>,
}

impl QualityVerdict {
    /// Reads a reply. A dimension that cannot be read does not spoil the others.
    pub fn read(
        reply: &str,
        evidence: &Evidence,
        rubric: &Rubric,
        critic: Option<&Critic>,
        rules: &Rules,
    ) -> Reading<QualityVerdict> {
        let dimensions = dimensions_of(rubric, critic);
        let keys: Vec<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        json::read(reply, &keys, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &keys);
            let verdict = QualityVerdict::of(&mut notes, Some(&fields), &dimensions, evidence);
            notes.reading(Some(verdict))
        })
    }

    /// Reads the part of a reply that is about these dimensions.
    pub(super) fn of(
        notes: &mut Notes<'_>,
        fields: Option<&Fields<'_>>,
        dimensions: &[&Dimension],
        evidence: &Evidence,
    ) -> QualityVerdict {
        let missing = || {
            let reason = "the judge's answer: quality: is missing".to_owned();
            scores::Reading::Unscored { why: Unscored::Unreadable, reason }
        };
        let mut one = |dimension: &&Dimension| {
            let reading = fields.map_or_else(missing, |fields| reading(notes, fields, dimension, evidence));
            (dimension.name.clone(), reading)
        };
        QualityVerdict { readings: dimensions.iter().map(&mut one).collect() }
    }

    /// No value on any dimension that was asked for.
    pub fn unscored(rubric: &Rubric, critic: Option<&Critic>, why: Unscored, reason: &str) -> QualityVerdict {
        let none = |dimension: &Dimension| {
            let reading = scores::Reading::Unscored { why, reason: reason.to_owned() };
            (dimension.name.clone(), reading)
        };
        QualityVerdict { readings: dimensions_of(rubric, critic).into_iter().map(none).collect() }
    }

    /// One verdict of several on the same evidence: the critics of a panel, or a question and its retry. The first value
    /// on a dimension counts.
    #[must_use]
    pub fn join(verdicts: impl IntoIterator<Item = QualityVerdict>) -> QualityVerdict {
        let mut joined = QualityVerdict::default();
        for (dimension, reading) in verdicts.into_iter().flat_map(|verdict| verdict.readings) {
            match joined.readings.get(&dimension) {
                Some(scores::Reading::Scored { .. }) => {}
                Some(scores::Reading::Unscored { .. }) if matches!(reading, scores::Reading::Unscored { .. }) => {}
                _ => drop(joined.readings.insert(dimension, reading)),
            }
        }
        joined
    }
}

impl Reading<QualityVerdict> {
    /// What two answers to the same question come to: what is good in the second, and in the first what is not there.
    #[must_use]
    pub fn joined(first: Reading<QualityVerdict>, second: Reading<QualityVerdict>) -> Reading<QualityVerdict> {
        let mut flags = second.flags;
        for flag in first.flags.into_iter().chain([Flag::Retried]) {
            flag.raise(&mut flags);
        }
        let verdicts: Vec<QualityVerdict> = [second.verdict, first.verdict].into_iter().flatten().collect();
        let verdict = (!verdicts.is_empty()).then(|| QualityVerdict::join(verdicts));
        Reading { verdict, problems: second.problems, flags }
    }
}

/// What an answer says on one dimension.
fn reading(notes: &mut Notes<'_>, fields: &Fields<'_>, dimension: &Dimension, evidence: &Evidence) -> scores::Reading {
    let keys = ["evidence", "rationale", "score", "score_confidence"];
    let before = notes.problems.len();
    let Some(fields) = notes.object(fields, &dimension.name, &keys) else { return unscored(&notes.problems, before) };
    let mut items = Vec::new();
    for one in notes.objects(&fields, "evidence", &["event", "quote", "shows"]) {
        // What stands where the session speaks to its judge shows nothing.
        let alarmed = |event| evidence.alarms().iter().any(|alarm| alarm.event == event);
        let cite = notes.cite(&one, evidence).filter(|cite| !alarmed(cite.event));
        let shows = notes.text(&one, "shows").unwrap_or_default();
        items.extend(cite.map(|cite| {
            let reason = if shows.is_empty() { cite.quote } else { format!("{shows}: “{}”", cite.quote) };
            Item { amount: 0.0, reason: reason.into(), fact: JUDGE.into(), events: vec![cite.event] }
        }));
    }
    let rationale = notes.text(&fields, "rationale").filter(|text| !text.is_empty());
    let scored = notes.problems.len();
    let value = match &dimension.kind {
        Kind::Numeric(_) => notes.number(&fields, "score").map(Value::Number),
        Kind::Categorical(levels) => {
            let labels: Vec<&str> = levels.iter().map(|level| level.label.as_str()).collect();
            let index = notes.label(&fields, "score", &labels, true);
            index.zip(index.and_then(|index| levels.get(index))).map(|(index, level)| Value::Level {
                label: level.label.clone(),
                index,
                of: levels.len(),
            })
        }
    };
    let Some(value) = value else { return unscored(&notes.problems, scored) };
    let confidence = notes.number(&fields, "score_confidence");
    if items.is_empty() {
        let cited = notes.problems.len();
        let text = "no quote given for it was found in its event";
        notes.problem(fields.at().to_owned(), Fault::NoCitation, text);
        return unscored(&notes.problems, cited);
    }
    let rationale = rationale.map(|reason| Item {
        amount: 0.0,
        reason: reason.into(),
        fact: JUDGE.into(),
        events: Events::default(),
    });
    let items = rationale.into_iter().chain(items).collect();
    scores::Reading::Scored { start: value.number(), value, items, confidence, spread: None }
}

/// No value, because of the problem that was noted at this place.
fn unscored(problems: &[Problem], at: usize) -> scores::Reading {
    let (why, reason) = match problems.get(at) {
        Some(problem) => (problem.fault.unscored(), format!("the judge's answer: {}", problem.text)),
        None => (Unscored::Unreadable, "the judge's answer cannot be read".to_owned()),
    };
    scores::Reading::Unscored { why, reason }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn evidence() -> Evidence {
        Evidence::for_tests(&[(1, "please mend the parser"), (6, "test result: ok. 12 passed; 0 failed")], &[])
    }

    /// An answer that gives every dimension its best.
    pub(crate) fn reply(rubric: &Rubric) -> serde_json::Value {
        let one = |dimension: &Dimension| {
            let score = dimension.levels().last().map_or(json!(0.9), |level| json!(level.label));
            let evidence = json!([{ "event": "e6", "quote": "12 passed; 0 failed", "shows": "it works" }]);
            let shape =
                json!({ "evidence": evidence, "rationale": "It went well.", "score": score, "score_confidence": 0.8 });
            (dimension.name.clone(), shape)
        };
        dimensions_of(rubric, None).into_iter().map(one).collect::<serde_json::Map<_, _>>().into()
    }

    fn read(reply: &serde_json::Value, rubric: &Rubric) -> Reading<QualityVerdict> {
        QualityVerdict::read(&reply.to_string(), &evidence(), rubric, None, &Rules::default())
    }

    #[test]
    fn reads_every_shipped_rubric() {
        for name in Rubric::shipped_names() {
            let rubric = Rubric::shipped(name).unwrap();
            let reading = read(&reply(&rubric), &rubric);
            assert_eq!((reading.problems, reading.flags), (vec![], vec![]));
            let verdict = reading.verdict.unwrap();
            assert_eq!(verdict.readings.len(), rubric.dimensions.len() - 1);
            assert!(verdict.readings.values().all(|reading| matches!(reading, scores::Reading::Scored { .. })));
            let stored = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<QualityVerdict>(&stored).unwrap(), verdict);
        }
    }

    #[test]
    fn a_bad_dimension_is_unscored_and_spoils_no_other() {
        let rubric = Rubric::shipped("v2").unwrap();
        for (dimension, key, value, why) in [
            ("tool_efficiency", "score", json!(85), Unscored::OffScale),
            ("tool_efficiency", "score", json!("85%"), Unscored::OffScale),
            ("tool_efficiency", "score", json!(-0.2), Unscored::OffScale),
            ("tool_efficiency", "score", json!("high"), Unscored::OffScale),
            ("error_handling", "score", json!("perfect"), Unscored::OffScale),
            ("error_handling", "score", json!(4), Unscored::OffScale),
            ("error_handling", "score", json!(0.67), Unscored::OffScale),
            ("error_handling", "evidence", json!([]), Unscored::NoCitation),
            (
                "error_handling",
                "evidence",
                json!([{ "event": "e6", "quote": "13 passed; 0 failed", "shows": "" }]),
                Unscored::NoCitation,
            ),
        ] {
            let mut reply = reply(&rubric);
            reply[dimension][key] = value.clone();
            let verdict = read(&reply, &rubric).verdict.unwrap();
            for (name, reading) in verdict.readings {
                match reading {
                    scores::Reading::Unscored { why: found, .. } => {
                        assert_eq!((name.as_str(), found), (dimension, why));
                    }
                    scores::Reading::Scored { .. } => assert_ne!(name, dimension, "{value}"),
                }
            }
        }
        let mut reply = reply(&rubric);
        reply.as_object_mut().unwrap().remove("output_quality");
        let reading = read(&reply, &rubric);
        assert_eq!(reading.problems[0].to_string(), "output_quality: is missing");
        let found = &reading.verdict.unwrap().readings["output_quality"];
        assert!(matches!(found, scores::Reading::Unscored { why: Unscored::Unreadable, .. }));
    }

    #[test]
    fn a_level_may_be_given_by_its_number() {
        let rubric = Rubric::shipped("v2").unwrap();
        let mut reply = reply(&rubric);
        reply["error_handling"]["score"] = json!(2);
        let verdict = read(&reply, &rubric).verdict.unwrap();
        let scores::Reading::Scored { value, .. } = &verdict.readings["error_handling"] else { unreachable!() };
        assert_eq!(*value, Value::Level { label: "recovered".into(), index: 2, of: 4 });
    }

    #[test]
    fn a_retry_mends_what_the_first_answer_lacked() {
        let rubric = Rubric::shipped("v2").unwrap();
        let (mut first, mut second) = (reply(&rubric), reply(&rubric));
        first["tool_efficiency"]["score"] = json!(85);
        second["output_quality"]["score"] = json!(85);
        let joined = Reading::joined(read(&first, &rubric), read(&second, &rubric));
        assert_eq!(joined.flags, [Flag::Retried]);
        let readings = joined.verdict.unwrap().readings;
        assert!(readings.values().all(|reading| matches!(reading, scores::Reading::Scored { .. })));
    }

    #[test]
    fn a_panel_is_read_critic_by_critic() {
        let rubric = Rubric::shipped("v2").unwrap();
        let reply = reply(&rubric);
        let read = |critic: &Critic| {
            let own = reply.as_object().unwrap().iter().filter(|(name, _)| critic.dimensions.contains(name));
            let own: serde_json::Map<_, _> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
            let own = serde_json::Value::from(own).to_string();
            let reading = QualityVerdict::read(&own, &evidence(), &rubric, Some(critic), &Rules::default());
            assert!(reading.problems.is_empty() && reading.flags.is_empty());
            reading.verdict.unwrap()
        };
        let panel = QualityVerdict::join(rubric.critics.iter().map(read));
        let alone = QualityVerdict::read(&reply.to_string(), &evidence(), &rubric, None, &Rules::default());
        assert_eq!(Some(panel), alone.verdict);
    }
}
