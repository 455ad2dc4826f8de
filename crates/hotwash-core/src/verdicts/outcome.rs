//! Whether the person got it: the answer.

use super::fields::{Fields, Notes};
use super::{Cite, Criterion, Fault, IntentVerdict, Reading, json};
use crate::evidence::Evidence;
use crate::prompts::schema::{EXPLICIT, SIGNALS, STATES};
use crate::redaction::Rules;
use crate::scores::Flag;
use serde::{Deserialize, Serialize};

const KEYS: [&str; 8] = [
    "criteria",
    "explicit",
    "failure_signals",
    "no_breakage_left",
    "plan_before_action",
    "result_communicated",
    "verdict",
    "verified_before_done",
];

/// Whether the person got what they wanted, criterion by criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeVerdict {
    /// One for each criterion, in order.
    pub criteria: Vec<Finding>,
    /// How likely it is that all required criteria pass a check that nobody has seen.
    pub probability: f64,
    /// How sure the judge is of that, where it says.
    pub confidence: Option<f64>,
    /// What could still be wrong.
    pub doubts: Vec<String>,
    /// What says openly that the goal was reached, where something does.
    pub explicit: Option<(Explicit, Vec<Cite>)>,
    /// What speaks of failure at the end.
    pub signals: Vec<(Signal, Vec<Cite>)>,
    /// A plan came before the first change.
    pub plan_before_action: Option<bool>,
    /// A green run came after the last change.
    pub verified_before_done: Option<bool>,
    /// Nothing was left broken.
    pub no_breakage_left: Option<bool>,
    /// The session ended with a true account of the result.
    pub result_communicated: Option<bool>,
    /// What was asked for and what came of it.
    pub summary: String,
    /// The share of required criteria that are known to be met or unmet.
    pub coverage: f64,
}

/// What was found of a criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The criterion.
    pub criterion: Criterion,
    /// Whether it is met.
    pub status: Status,
    /// Why.
    pub finding: String,
    /// The citations that check.
    pub cites: Vec<Cite>,
}

/// Whether a criterion is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is, and a citation shows it.
    Met,
    /// It is not.
    Unmet,
    /// Nobody can tell.
    Unknown,
}

/// What says openly that a goal was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explicit {
    /// The person said so.
    Person,
    /// A run shows it.
    Run,
}

/// What speaks of failure at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// An error stands.
    UnresolvedError,
    /// The person is not happy with it.
    Frustration,
    /// The goal was given up.
    Abandoned,
    /// The same fix was tried over and over.
    Loop,
}

impl Signal {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Signal::UnresolvedError => "an error stands at the end",
            Signal::Frustration => "the person is not content at the end",
            Signal::Abandoned => "the goal was given up",
            Signal::Loop => "the same fix was tried over and over",
        }
    }
}

impl OutcomeVerdict {
    /// Reads a reply to the question that was put with this evidence and these criteria.
    pub fn read(reply: &str, evidence: &Evidence, intent: &IntentVerdict, rules: &Rules) -> Reading<OutcomeVerdict> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let fields = notes.whole(map, &KEYS);
            let criteria = criteria(&mut notes, &fields, evidence, &intent.criteria);
            let explicit = explicit(&mut notes, &fields, evidence);
            let signals = signals(&mut notes, &fields, evidence);
            let no_breakage_left = notes.boolean(&fields, "no_breakage_left");
            let plan_before_action = notes.boolean(&fields, "plan_before_action");
            let result_communicated = notes.boolean(&fields, "result_communicated");
            let verified_before_done = notes.boolean(&fields, "verified_before_done");
            let keys = ["doubts", "probability", "probability_confidence", "summary"];
            let verdict = notes.object(&fields, "verdict", &keys).and_then(|verdict| {
                let doubts = notes.texts(&verdict, "doubts");
                let probability = notes.number(&verdict, "probability");
                let confidence = notes.number(&verdict, "probability_confidence");
                let summary = notes.text(&verdict, "summary").unwrap_or_default();
                Some(OutcomeVerdict {
                    coverage: coverage(&criteria),
                    criteria,
                    probability: probability?,
                    confidence,
                    doubts,
                    explicit,
                    signals,
                    plan_before_action,
                    verified_before_done,
                    no_breakage_left,
                    result_communicated,
                    summary,
                })
            });
            notes.reading(verdict)
        })
    }

    /// The required criteria that are not met.
    pub fn unmet(&self) -> impl Iterator<Item = &Finding> {
        self.criteria.iter().filter(|one| one.criterion.required && one.status == Status::Unmet)
    }

    /// The share of all criteria that nobody can tell.
    pub fn unknown(&self) -> f64 {
        let unknown = self.criteria.iter().filter(|one| one.status == Status::Unknown).count();
        if self.criteria.is_empty() { 1.0 } else { unknown as f64 / self.criteria.len() as f64 }
    }

    /// The same without any citation that `keep` does not take: what rests on nothing then is unknown.
    #[must_use]
    pub fn keep_cites(mut self, keep: impl Fn(&Cite) -> bool) -> OutcomeVerdict {
        for one in &mut self.criteria {
            one.cites.retain(&keep);
            if one.status == Status::Met && one.cites.is_empty() {
                one.status = Status::Unknown;
            }
        }
        if let Some((_, cites)) = &mut self.explicit {
            cites.retain(&keep);
        }
        self.explicit = self.explicit.filter(|(_, cites)| !cites.is_empty());
        for (_, cites) in &mut self.signals {
            cites.retain(&keep);
        }
        self.signals.retain(|(_, cites)| !cites.is_empty());
        self.coverage = coverage(&self.criteria);
        self
    }
}

/// The share of required criteria that are known; of all where none is required.
fn coverage(criteria: &[Finding]) -> f64 {
    let any_required = criteria.iter().any(|one| one.criterion.required);
    let counted = || criteria.iter().filter(|one| one.criterion.required || !any_required);
    let known = counted().filter(|one| one.status != Status::Unknown).count();
    if criteria.is_empty() { 0.0 } else { known as f64 / counted().count() as f64 }
}

fn criteria(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence, asked: &[Criterion]) -> Vec<Finding> {
    let nothing = |criterion: &Criterion| Finding {
        criterion: criterion.clone(),
        status: Status::Unknown,
        finding: String::new(),
        cites: Vec::new(),
    };
    let mut found: Vec<Finding> = asked.iter().map(nothing).collect();
    let mut seen = vec![0_usize; asked.len()];
    for one in notes.objects(fields, "criteria", &["criterion", "evidence", "finding", "status"]) {
        let index = notes.count(&one, "criterion").and_then(|number| number.checked_sub(1));
        let Some((place, seen)) = index.and_then(|index| found.get_mut(index).zip(seen.get_mut(index))) else {
            notes.problem(one.path("criterion"), Fault::OffScale, "there is no criterion of that number");
            continue;
        };
        *seen += 1;
        let cites = notes.cites(&one, evidence);
        let finding = notes.text(&one, "finding").unwrap_or_default();
        let status = match notes.label(&one, "status", &STATES, false) {
            Some(0) if cites.is_empty() => {
                let text = "is called met, and no quote given for it was found in its event";
                notes.problem(one.at().to_owned(), Fault::NoCitation, text);
                Status::Unknown
            }
            Some(0) => Status::Met,
            Some(1) => Status::Unmet,
            _ => Status::Unknown,
        };
        if *seen > 1 && place.status != status {
            notes.problem(one.at().to_owned(), Fault::Ambiguous, "the same criterion is judged twice, and differently");
            place.status = Status::Unknown;
            continue;
        }
        place.status = status;
        place.finding = finding;
        place.cites = cites;
    }
    for (index, _) in seen.iter().enumerate().filter(|(_, seen)| **seen == 0) {
        notes.problem("criteria".to_owned(), Fault::Missing, format!("criterion {} is missing", index + 1));
    }
    found
}

fn explicit(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence) -> Option<(Explicit, Vec<Cite>)> {
    let explicit = notes.object(fields, "explicit", &["evidence", "kind"])?;
    let cites = notes.cites(&explicit, evidence);
    let kind = match notes.label(&explicit, "kind", &EXPLICIT, false)? {
        0 => Explicit::Person,
        1 => Explicit::Run,
        _ => return None,
    };
    if cites.is_empty() {
        notes.flag(Flag::UncheckedCites);
        return None;
    }
    Some((kind, cites))
}

fn signals(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence) -> Vec<(Signal, Vec<Cite>)> {
    const KINDS: [Signal; 4] = [Signal::UnresolvedError, Signal::Frustration, Signal::Abandoned, Signal::Loop];
    let mut found = Vec::new();
    for one in notes.objects(fields, "failure_signals", &["evidence", "kind"]) {
        let cites = notes.cites(&one, evidence);
        let kind = notes.label(&one, "kind", &SIGNALS, false).and_then(|index| KINDS.get(index).copied());
        if cites.is_empty() {
            notes.flag(Flag::UncheckedCites);
        } else {
            found.extend(kind.map(|kind| (kind, cites)));
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::outcomes::Intent;
    use serde_json::{Value, json};

    pub(crate) fn evidence() -> Evidence {
        let events = [
            (1, "please make parse take an empty text"),
            (4, "+    if text.is_empty() { return Vec::new(); }"),
            (6, "test result: ok. 12 passed; 0 failed"),
            (8, "Done! Everything works perfectly now."),
        ];
        Evidence::for_tests(&events, &[])
    }

    pub(crate) fn intent() -> IntentVerdict {
        IntentVerdict::usual(Intent::BugFix)
    }

    pub(crate) fn reply() -> Value {
        let one = |number: usize, event: &str, quote: &str| {
            let evidence = json!([{ "event": event, "quote": quote }]);
            json!({ "criterion": number, "evidence": evidence, "finding": "it does", "status": "met" })
        };
        json!({
            "criteria": [
                one(1, "e4", "if text.is_empty()"),
                one(2, "e4", "{ return Vec::new(); }"),
                one(3, "e6", "12 passed; 0 failed"),
            ],
            "explicit": { "evidence": [{ "event": "e6", "quote": "test result: ok." }], "kind": "run" },
            "failure_signals": [],
            "no_breakage_left": true,
            "plan_before_action": false,
            "result_communicated": true,
            "verdict": {
                "doubts": ["blank texts"], "probability": 0.8, "probability_confidence": 0.7, "summary": "It was mended.",
            },
            "verified_before_done": true,
        })
    }

    fn read(reply: &Value) -> Reading<OutcomeVerdict> {
        OutcomeVerdict::read(&reply.to_string(), &evidence(), &intent(), &Rules::default())
    }

    #[test]
    fn reads_a_whole_answer() {
        let reading = read(&reply());
        assert_eq!((reading.problems, reading.flags), (vec![], vec![]));
        let verdict = reading.verdict.unwrap();
        assert_eq!((verdict.probability, verdict.coverage, verdict.unknown()), (0.8, 1.0, 0.0));
        assert_eq!(verdict.explicit.as_ref().unwrap().0, Explicit::Run);
        let stored = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<OutcomeVerdict>(&stored).unwrap(), verdict);
    }

    #[test]
    fn met_without_a_citation_that_checks_is_unknown() {
        for evidence in [
            json!([]),
            json!([{ "event": "e4", "quote": "if text.is_blank()" }]),
            json!([{ "event": "e5", "quote": "if text.is_empty()" }]),
            json!([{ "event": "e4" }]),
            json!([{ "quote": "if text.is_empty()" }]),
        ] {
            let mut reply = reply();
            reply["criteria"][0]["evidence"] = evidence.clone();
            let reading = read(&reply);
            assert_eq!(reading.problems.len(), 1, "{evidence}");
            assert_eq!(reading.problems[0].fault, Fault::NoCitation);
            let verdict = reading.verdict.unwrap();
            assert_eq!(verdict.criteria[0].status, Status::Unknown);
            assert_eq!((verdict.coverage * 3.0).round(), 2.0);
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_kept() {
        type Change = fn(&mut Value);
        let cases: [(Change, Fault, bool); 10] = [
            (|reply| reply["verdict"]["probability"] = json!(80), Fault::OffScale, false),
            (|reply| reply["verdict"]["probability"] = json!("80%"), Fault::OffScale, false),
            (|reply| reply["verdict"] = json!("complete"), Fault::WrongKind, false),
            (|reply| reply["criteria"][0]["status"] = json!("mostly"), Fault::OffScale, true),
            (|reply| reply["criteria"][0]["criterion"] = json!(4), Fault::OffScale, true),
            (|reply| reply["criteria"][0]["criterion"] = json!(0), Fault::OffScale, true),
            (|reply| reply["criteria"] = json!([]), Fault::Missing, true),
            (|reply| reply["criteria"] = json!({}), Fault::WrongKind, true),
            (|reply| reply["explicit"]["kind"] = json!("agent"), Fault::OffScale, true),
            (|reply| reply["no_breakage_left"] = json!(1), Fault::WrongKind, true),
        ];
        for (number, (change, fault, kept)) in cases.into_iter().enumerate() {
            let mut reply = reply();
            change(&mut reply);
            let reading = read(&reply);
            assert_eq!(reading.problems.first().map(|problem| problem.fault), Some(fault), "{number}");
            assert_eq!(reading.verdict.is_some(), kept, "{number}");
        }
    }

    #[test]
    fn a_criterion_judged_twice_is_unknown_unless_both_agree() {
        for (status, expected) in [("unmet", Status::Unknown), ("met", Status::Met)] {
            let mut reply = reply();
            let mut again = reply["criteria"][0].clone();
            again["status"] = json!(status);
            reply["criteria"].as_array_mut().unwrap().push(again);
            assert_eq!(read(&reply).verdict.unwrap().criteria[0].status, expected);
        }
    }

    #[test]
    fn signals_and_acceptance_need_a_citation() {
        let mut reply = reply();
        let quoted = json!([{ "event": "e8", "quote": "Everything works perfectly now" }]);
        reply["failure_signals"] =
            json!([{ "kind": "loop", "evidence": [] }, { "kind": "frustration", "evidence": quoted }]);
        reply["explicit"]["evidence"] = json!([{ "event": "e6", "quote": "the person is delighted" }]);
        let reading = read(&reply);
        assert_eq!(reading.flags, [Flag::UncheckedCites]);
        let verdict = reading.verdict.unwrap();
        assert_eq!(verdict.signals.len(), 1);
        assert_eq!(verdict.explicit, None);
    }
}
