//! Whether the person got it: the answer, which may say how well it went, too.

use super::fields::{Fields, Notes};
use super::intent::{self, IntentVerdict};
use super::quality::QualityVerdict;
use super::{Cite, Fault, Reading, json};
use crate::evidence::Evidence;
use crate::prompts::dimensions_of;
use crate::prompts::schema::{EXPLICIT, SIGNALS, STATES};
use crate::redaction::Rules;
use crate::rubric::Rubric;
use crate::scores::Flag;
use serde::{Deserialize, Serialize};

const KEYS: [&str; 6] = ["asks", "checks", "findings", "judgement", "marks", "summary"];
const MARKS: [&str; 7] = [
    "beyond",
    "explicit",
    "failure_signals",
    "no_breakage_left",
    "plan_before_action",
    "result_communicated",
    "verified_before_done",
];
/// So many criteria are asked for at most.
const MOST: usize = 8;

/// One answer on a whole session.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// What was wanted.
    pub intent: Option<IntentVerdict>,
    /// Whether that is so.
    pub outcome: Option<OutcomeVerdict>,
    /// How well it went, where that was asked.
    pub quality: Option<QualityVerdict>,
}

/// Whether the person got what they wanted, criterion by criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeVerdict {
    /// The criteria, in order, with what was found of each.
    pub criteria: Vec<Finding>,
    /// How likely it is that the result passes a check that nobody has seen.
    pub probability: f64,
    /// What could still be wrong.
    pub doubts: Vec<String>,
    /// What goes beyond the request.
    #[serde(default)]
    pub beyond: Vec<(String, Cite)>,
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
}

/// Something that must be true at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// What.
    pub check: String,
    /// Without it the goal is missed; else it is a detail.
    pub required: bool,
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
    /// In part.
    Partly,
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

impl Review {
    /// Reads a reply to the question that was put with this evidence and this rubric, if one was.
    pub fn read(reply: &str, evidence: &Evidence, rubric: Option<&Rubric>, rules: &Rules) -> Reading<Review> {
        json::read(reply, &KEYS, |map| {
            let mut notes = Notes::new(rules);
            let mut keys = KEYS.to_vec();
            keys.extend(rubric.map(|_| "quality"));
            let fields = notes.whole(map, &keys);
            let asks = notes.object(&fields, "asks", &intent::KEYS);
            let intent = asks.and_then(|asks| IntentVerdict::of(&mut notes, &asks));
            let outcome = OutcomeVerdict::of(&mut notes, &fields, evidence);
            let quality = rubric.map(|rubric| {
                let dimensions = dimensions_of(rubric, None);
                let names: Vec<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
                let fields = notes.object(&fields, "quality", &names);
                QualityVerdict::of(&mut notes, fields.as_ref(), &dimensions, evidence)
            });
            notes.reading(Some(Review { intent, outcome, quality }))
        })
    }
}

impl Reading<Review> {
    /// What two answers to the same question come to: what is good in the second, and in the first what is not there.
    #[must_use]
    pub fn completed(first: Reading<Review>, second: Reading<Review>) -> Reading<Review> {
        let mut flags = second.flags;
        for flag in first.flags.into_iter().chain([Flag::Retried]) {
            flag.raise(&mut flags);
        }
        let verdict = match (first.verdict, second.verdict) {
            (Some(first), Some(second)) => Some(Review {
                intent: second.intent.or(first.intent),
                outcome: second.outcome.or(first.outcome),
                quality: match (second.quality, first.quality) {
                    (Some(second), Some(first)) => Some(QualityVerdict::join([second, first])),
                    (second, first) => second.or(first),
                },
            }),
            (first, second) => second.or(first),
        };
        Reading { verdict, problems: second.problems, flags }
    }
}

impl OutcomeVerdict {
    fn of(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence) -> Option<OutcomeVerdict> {
        let asked = checks(notes, fields);
        let criteria = findings(notes, fields, evidence, &asked);
        let judgement = notes.object(fields, "judgement", &["doubts", "probability"]);
        let doubts = judgement.as_ref().map(|judgement| notes.texts(judgement, "doubts")).unwrap_or_default();
        let probability = judgement.as_ref().and_then(|judgement| notes.number(judgement, "probability"));
        let marks = notes.object(fields, "marks", &MARKS);
        let mut boolean = |key: &str| marks.as_ref().and_then(|marks| notes.boolean(marks, key));
        let no_breakage_left = boolean("no_breakage_left");
        let plan_before_action = boolean("plan_before_action");
        let result_communicated = boolean("result_communicated");
        let verified_before_done = boolean("verified_before_done");
        let explicit = marks.as_ref().and_then(|marks| explicit(notes, marks, evidence));
        let signals = marks.as_ref().map(|marks| signals(notes, marks, evidence)).unwrap_or_default();
        let beyond = marks.as_ref().map(|marks| beyond(notes, marks, evidence)).unwrap_or_default();
        let summary = notes.text(fields, "summary").unwrap_or_default();
        Some(OutcomeVerdict {
            criteria,
            probability: probability?,
            doubts,
            beyond,
            explicit,
            signals,
            plan_before_action,
            verified_before_done,
            no_breakage_left,
            result_communicated,
            summary,
        })
    }

    /// The required criteria.
    pub fn required(&self) -> impl Iterator<Item = &Finding> {
        self.criteria.iter().filter(|one| one.criterion.required)
    }

    /// The required criteria that are not met, or not wholly.
    pub fn unmet(&self) -> impl Iterator<Item = &Finding> {
        self.required().filter(|one| matches!(one.status, Status::Unmet | Status::Partly))
    }

    /// Everything that is required is met.
    pub fn has_all_required(&self) -> bool {
        self.required().next().is_some() && self.required().all(|one| one.status == Status::Met)
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
        self.beyond.retain(|(_, cite)| keep(cite));
        self
    }
}

fn checks(notes: &mut Notes<'_>, fields: &Fields<'_>) -> Vec<Criterion> {
    let mut found = Vec::new();
    for one in notes.objects(fields, "checks", &["check", "essential"]) {
        let check = notes.text(&one, "check").filter(|check| !check.is_empty());
        // What is not said to be a detail is essential.
        let required = notes.boolean(&one, "essential").unwrap_or(true);
        found.extend(check.map(|check| Criterion { check, required }));
    }
    found.truncate(MOST);
    if !found.iter().any(|criterion| criterion.required) {
        for criterion in &mut found {
            criterion.required = true;
        }
    }
    found
}

fn findings(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence, asked: &[Criterion]) -> Vec<Finding> {
    let nothing = |criterion: &Criterion| Finding {
        criterion: criterion.clone(),
        status: Status::Unknown,
        finding: String::new(),
        cites: Vec::new(),
    };
    let mut found: Vec<Finding> = asked.iter().map(nothing).collect();
    let mut seen = vec![0_usize; asked.len()];
    let mut unshown = None;
    for one in notes.objects(fields, "findings", &["check", "evidence", "finding", "status"]) {
        let index = notes.count(&one, "check").and_then(|number| number.checked_sub(1));
        let Some((place, seen)) = index.and_then(|index| found.get_mut(index).zip(seen.get_mut(index))) else {
            if index.is_none_or(|index| index < MOST) {
                notes.problem(one.path("check"), Fault::OffScale, "there is no check of that number");
            }
            continue;
        };
        *seen += 1;
        let cites = notes.cites(&one, evidence);
        let finding = notes.text(&one, "finding").unwrap_or_default();
        let status = match notes.label(&one, "status", &STATES, false) {
            // What was only read is not what was done.
            Some(0) if cites.iter().all(|cite| cite.read) => {
                if cites.is_empty() {
                    unshown.get_or_insert_with(|| one.at().to_owned());
                }
                Status::Unknown
            }
            Some(0) => Status::Met,
            Some(1) => Status::Partly,
            Some(2) => Status::Unmet,
            _ => Status::Unknown,
        };
        if *seen > 1 && place.status != status {
            notes.problem(one.at().to_owned(), Fault::Ambiguous, "the same check is judged twice, and differently");
            place.status = Status::Unknown;
            continue;
        }
        place.status = status;
        place.finding = finding;
        place.cites = cites;
    }
    for (index, _) in seen.iter().enumerate().filter(|(_, seen)| **seen == 0) {
        notes.problem("findings".to_owned(), Fault::Missing, format!("check {} is missing", index + 1));
    }
    // Worth asking again only where nothing at all is shown.
    if let Some(at) = unshown.filter(|_| found.iter().all(|one| one.cites.is_empty())) {
        notes.problem(at, Fault::NoCitation, "is called met, and no quote given for it was found in its event");
    }
    found
}

fn beyond(notes: &mut Notes<'_>, fields: &Fields<'_>, evidence: &Evidence) -> Vec<(String, Cite)> {
    let mut found = Vec::new();
    for one in notes.objects(fields, "beyond", &["event", "quote", "what"]) {
        let what = notes.text(&one, "what").unwrap_or_default();
        found.extend(notes.cite(&one, evidence).map(|cite| (what, cite)));
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
        let check = |check: &str, essential: bool| json!({ "check": check, "essential": essential });
        let one = |number: usize, event: &str, quote: &str| {
            let evidence = json!([{ "event": event, "quote": quote }]);
            json!({ "check": number, "evidence": evidence, "finding": "it does", "status": "met" })
        };
        json!({
            "asks": {
                "context_given": false, "goal_stated": true, "intent": "bug_fix", "scope_bounded": true,
                "sure_of_intent": 0.9, "title": "Empty texts",
            },
            "checks": [
                check("an empty text is parsed", true), check("so is a blank one", true), check("the rest stays", false),
            ],
            "findings": [
                one(1, "e4", "if text.is_empty()"),
                one(2, "e4", "{ return Vec::new(); }"),
                one(3, "e6", "12 passed; 0 failed"),
            ],
            "judgement": { "doubts": ["blank texts"], "probability": 0.8 },
            "marks": {
                "beyond": [{ "event": "e6", "quote": "12 passed; 0 failed", "what": "a test" }],
                "explicit": { "evidence": [{ "event": "e6", "quote": "test result: ok." }], "kind": "run" },
                "failure_signals": [],
                "no_breakage_left": true,
                "plan_before_action": false,
                "result_communicated": true,
                "verified_before_done": true,
            },
            "summary": "It was mended.",
        })
    }

    /// The outcome of an answer that has one.
    pub(crate) fn verdict(reply: &Value) -> OutcomeVerdict {
        read(reply).verdict.unwrap().outcome.unwrap()
    }

    fn read(reply: &Value) -> Reading<Review> {
        Review::read(&reply.to_string(), &evidence(), None, &Rules::default())
    }

    #[test]
    fn reads_a_whole_answer() {
        let reading = read(&reply());
        assert_eq!((reading.problems, reading.flags), (vec![], vec![]));
        let Review { intent, outcome, quality } = reading.verdict.unwrap();
        assert_eq!((intent.unwrap().intent, quality), (Intent::BugFix, None));
        let verdict = outcome.unwrap();
        assert_eq!((verdict.probability, verdict.criteria.len(), verdict.beyond.len()), (0.8, 3, 1));
        assert!(verdict.has_all_required());
        assert_eq!(verdict.explicit.as_ref().unwrap().0, Explicit::Run);
        let stored = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<OutcomeVerdict>(&stored).unwrap(), verdict);
    }

    #[test]
    fn dimensions_in_the_same_answer_are_read_with_it() {
        let rubric = Rubric::shipped("v2").unwrap();
        let mut reply = reply();
        let mut quality = crate::verdicts::quality::tests::reply(&rubric);
        quality["output_quality"]["score"] = json!(85);
        reply["quality"] = quality;
        let read = |reply: &Value| Review::read(&reply.to_string(), &evidence(), Some(&rubric), &Rules::default());
        let first = read(&reply);
        assert_eq!(first.problems.len(), 1);
        assert!(first.problems[0].to_string().starts_with("quality.output_quality.score: "));
        // What the second answer lacks is taken from the first.
        let second = json!({ "quality": crate::verdicts::quality::tests::reply(&rubric) });
        let both = Reading::completed(first, read(&json!({ "asks": {}, "quality": second["quality"] })));
        let Review { intent, outcome, quality } = both.verdict.unwrap();
        assert!(intent.is_some() && outcome.is_some());
        let scored = |reading: &crate::scores::Reading| matches!(reading, crate::scores::Reading::Scored { .. });
        let readings = quality.unwrap().readings;
        assert!(readings.len() == 5 && readings.values().all(scored), "{readings:?}");
    }

    #[test]
    fn what_earlier_prompts_were_answered_still_opens() {
        let stored = r#"{"criteria":[{"criterion":{"check":"parse(\"\") is []","required":true,"stated":true},
            "status":"met","finding":"it is","cites":[{"event":4,"quote":"if text.is_empty()","done":true}]}],
            "probability":0.8,"confidence":0.7,"doubts":[],"explicit":null,"signals":[],"plan_before_action":false,
            "verified_before_done":true,"no_breakage_left":null,"result_communicated":true,"summary":"","coverage":1.0}"#;
        let verdict: OutcomeVerdict = serde_json::from_str(stored).unwrap();
        assert_eq!((verdict.probability, verdict.criteria[0].status), (0.8, Status::Met));
        assert!(verdict.criteria[0].cites[0].done && !verdict.criteria[0].cites[0].read);
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
            reply["findings"][0]["evidence"] = evidence.clone();
            let reading = read(&reply);
            assert_eq!(reading.problems, [], "{evidence}");
            assert_eq!(verdict(&reply).criteria[0].status, Status::Unknown);
            // Where nothing is shown at all, it is worth asking again.
            reply["findings"][1]["evidence"] = json!([]);
            reply["findings"][2]["evidence"] = json!([]);
            assert_eq!(read(&reply).problems[0].fault, Fault::NoCitation);
        }
    }

    #[test]
    fn what_was_only_read_shows_nothing_to_be_met() {
        use crate::evidence::Source;
        for (source, status) in [
            (Source::Read, Status::Unknown),
            (Source::Agent, Status::Met),
            (Source::Person, Status::Met),
            (Source::Did, Status::Met),
        ] {
            let evidence = Evidence::for_tests_from(&[(4, "if text.is_empty() { return Vec::new(); }", source)], &[]);
            let reading = Review::read(&reply().to_string(), &evidence, None, &Rules::default());
            assert_eq!(reading.verdict.unwrap().outcome.unwrap().criteria[0].status, status);
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_kept() {
        type Change = fn(&mut Value);
        let cases: [(Change, Fault, bool); 10] = [
            (|reply| reply["judgement"]["probability"] = json!(80), Fault::OffScale, false),
            (|reply| reply["judgement"]["probability"] = json!("80%"), Fault::OffScale, false),
            (|reply| reply["judgement"] = json!("complete"), Fault::WrongKind, false),
            (|reply| reply["findings"][0]["status"] = json!("mostly"), Fault::OffScale, true),
            (|reply| reply["findings"][0]["check"] = json!(4), Fault::OffScale, true),
            (|reply| reply["findings"][0]["check"] = json!(0), Fault::OffScale, true),
            (|reply| reply["findings"] = json!([]), Fault::Missing, true),
            (|reply| reply["checks"] = json!({}), Fault::WrongKind, true),
            (|reply| reply["marks"]["explicit"]["kind"] = json!("agent"), Fault::OffScale, true),
            (|reply| reply["marks"]["no_breakage_left"] = json!(1), Fault::WrongKind, true),
        ];
        for (number, (change, fault, kept)) in cases.into_iter().enumerate() {
            let mut reply = reply();
            change(&mut reply);
            let reading = read(&reply);
            assert_eq!(reading.problems.first().map(|problem| problem.fault), Some(fault), "{number}");
            assert_eq!(reading.verdict.unwrap().outcome.is_some(), kept, "{number}");
        }
    }

    #[test]
    fn a_check_judged_twice_is_unknown_unless_both_agree() {
        for (status, expected) in [("unmet", Status::Unknown), ("met", Status::Met)] {
            let mut reply = reply();
            let mut again = reply["findings"][0].clone();
            again["status"] = json!(status);
            reply["findings"].as_array_mut().unwrap().push(again);
            assert_eq!(verdict(&reply).criteria[0].status, expected);
        }
    }

    #[test]
    fn too_many_checks_are_cut_and_where_none_is_essential_all_are() {
        let mut reply = reply();
        let detail = json!({ "check": "a detail", "essential": false });
        reply["checks"] = Value::Array(vec![detail; 9]);
        let criteria = verdict(&reply).criteria;
        assert!(criteria.len() == MOST && criteria.iter().all(|one| one.criterion.required));
    }

    #[test]
    fn signals_and_acceptance_need_a_citation() {
        let mut reply = reply();
        let quoted = json!([{ "event": "e8", "quote": "Everything works perfectly now" }]);
        reply["marks"]["failure_signals"] =
            json!([{ "kind": "loop", "evidence": [] }, { "kind": "frustration", "evidence": quoted }]);
        reply["marks"]["explicit"]["evidence"] = json!([{ "event": "e6", "quote": "the person is delighted" }]);
        assert_eq!(read(&reply).flags, [Flag::UncheckedCites]);
        let verdict = verdict(&reply);
        assert_eq!((verdict.signals.len(), verdict.explicit), (1, None));
    }
}
