//! What is written of a session: a score for each dimension, one for all, and its outcome where that is wanted. All words
//! are redacted here, once more and whole, before they are cut.

use super::target::Target;
use crate::langfuse::{ScoreValue, Subject};
use crate::stores::Row;
use hotwash_core::hash::sha256;
use hotwash_core::outcomes::{self, PrismInput};
use hotwash_core::redaction::{Rules, redact};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::{Overall, Provenance, Reading, Score, Value as Scored, offline};
use hotwash_core::sessions::{EventId, Timestamp};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The name of the score for all dimensions together.
pub const OVERALL: &str = "overall_quality";
/// The score of how the work was done, for a session without an overall.
pub const PROCESS: &str = "process_quality";

/// The scores of an outcome, and what each says.
pub const PRISM: [(&str, &str); 5] = [
    ("substance", "Something of substance happened"),
    ("intent", "What the person was after"),
    ("goal_complete", "The goal was reached"),
    ("rework", "Later sessions took the work back"),
    ("crushed", "Substance, goal reached, and no rework"),
];

/// The longest comment, in characters.
const COMMENT: usize = 2_000;
/// How many events are named for each reason.
const EVENTS: usize = 3;

/// What should be under one id.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The score's name.
    pub(crate) name: String,
    /// The version of what it is scored by.
    pub(crate) version: String,
    /// What to write; none where there is no value, and nothing should be there.
    pub(crate) draft: Option<Draft>,
    /// It is asked for. What is not is kept up to date where it is there, and not written where it is not.
    pub(crate) asked: bool,
}

/// A score before it has an id, a config and a time.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) value: ScoreValue,
    pub(crate) comment: Option<String>,
    pub(crate) metadata: Value,
}

/// What a score is known by. What it is attached to cannot be changed, so that is a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a session that ours is all of. It goes by Langfuse's id, so that a transcript on disk and what was recorded of
    /// it come to the same score.
    Whole,
    /// On a session that ours is a part of.
    Part,
    /// On a trace of a session that ours is all of: by Langfuse's id as well.
    WholeTrace,
    /// On a trace of a session that ours is a part of.
    PartTrace,
}

impl Place {
    pub(crate) const ALL: [Place; 4] = [Place::Whole, Place::Part, Place::WholeTrace, Place::PartTrace];

    pub(crate) fn of(subject: &Subject, target: &Target) -> Place {
        match subject {
            Subject::Session(_) if target.whole => Place::Whole,
            Subject::Session(_) => Place::Part,
            _ if target.whole => Place::WholeTrace,
            _ => Place::PartTrace,
        }
    }
}

impl Slot {
    /// The id of this score: the same on every machine and in every run.
    pub(crate) fn id(&self, row: &Row, target: &Target, place: Place, generation: u32) -> String {
        id(row, target, (&self.name, &self.version), place, generation)
    }
}

/// The id of a score, by its name and the version of what it is scored by. An id that was deleted is never used again: the
/// next one is of a later generation.
pub(crate) fn id(row: &Row, target: &Target, what: (&str, &str), place: Place, generation: u32) -> String {
    match (place, &target.session) {
        (Place::Whole | Place::WholeTrace, Some(session)) => id_of_whole(session, what, place, generation),
        _ => id_of(&row.session.id.to_string(), what, place, generation),
    }
}

/// The id of a score for all of a session of Langfuse's.
pub(crate) fn id_of_whole(session: &str, what: (&str, &str), place: Place, generation: u32) -> String {
    id_of(&format!("whole {session}"), what, place, generation)
}

fn id_of(of: &str, (name, version): (&str, &str), place: Place, generation: u32) -> String {
    let attached = match place {
        Place::Whole | Place::Part => "session",
        Place::WholeTrace | Place::PartTrace => "trace",
    };
    let mut parts = format!("{of}\n{name}\n{version}\n{attached}");
    if generation > 0 {
        let _ = write!(parts, "\n{generation}");
    }
    format!("hw-{}", sha256(&[parts.as_bytes()]).chars().take(29).collect::<String>())
}

/// When a verdict was reached: it grows with every new one. The offline judge's are as old as what they are about.
pub(crate) fn judged_at(row: &Row) -> Timestamp {
    row.judged.as_ref().map(|judged| judged.at).or(row.session.to).or(row.session.from).unwrap_or(Timestamp(0))
}

/// Everything that should be in Langfuse of a session.
pub(crate) fn slots(row: &Row, target: &Target, rubric: &Rubric, prism: bool, rules: &Rules) -> Vec<Slot> {
    let mut all = Vec::new();
    let version = rubric.id();
    let slot = |name: &str, draft| Slot { name: name.to_owned(), version: version.clone(), draft, asked: true };
    let scores = row.grade.as_ref().map(|grade| grade.scores.as_slice()).unwrap_or_default();
    for dimension in &rubric.dimensions {
        let score = scores.iter().find(|score| score.dimension == dimension.name);
        all.push(slot(&dimension.name, score.and_then(|score| of_score(score, row, target, rules))));
    }
    all.push(slot(OVERALL, overall(row, target, rules)));
    all.push(slot(PROCESS, process(row, target, rules)));
    all.extend(of_outcome(row, target, rules).into_iter().map(|slot| Slot { asked: prism, ..slot }));
    all
}

fn of_score(score: &Score, row: &Row, target: &Target, rules: &Rules) -> Option<Draft> {
    let Reading::Scored { value, items, confidence, spread, .. } = &score.reading else { return None };
    let value = match value {
        Scored::Number(number) => ScoreValue::Number(*number),
        Scored::Level { label, .. } => ScoreValue::Label(label.clone()),
    };
    let mut words = Words::default();
    for item in items {
        let amount = if item.amount == 0.0 { String::new() } else { format!("{:+.3} ", item.amount) };
        words.line(&format!("{amount}{}", item.reason), &item.events);
    }
    let mut metadata = metadata(row, target, Some(&score.provenance));
    metadata["confidence"] = json!(confidence);
    metadata["spread"] = json!(spread);
    Some(draft(value, &words, metadata, (row, target), rules))
}

fn overall(row: &Row, target: &Target, rules: &Rules) -> Option<Draft> {
    let grade = row.grade.as_ref()?;
    let Overall::Graded { thousandths, tier, cap, present, .. } = &grade.overall else { return None };
    let mut words = format!("{tier}, from {present} of {} dimensions", grade.scores.len());
    if let Some(cap) = cap {
        let _ = write!(words, "; {} by the number, capped because the goal is {}", cap.uncapped, cap.goal);
    }
    let metadata = json!({ "tier": tier, "cap": cap, "dimensions": present });
    Some(total(*thousandths, &words, metadata, row, target, rules))
}

/// How the work was done, where there is no overall.
fn process(row: &Row, target: &Target, rules: &Rules) -> Option<Draft> {
    let grade = row.grade.as_ref()?;
    let Overall::Process { thousandths, present } = &grade.overall else { return None };
    let words =
        format!("from {present} of {} dimensions; nothing says whether the goal was reached", grade.scores.len());
    Some(total(*thousandths, &words, json!({ "dimensions": present }), row, target, rules))
}

/// A score that follows from all dimensions, with the session's title and summary.
fn total(thousandths: u32, words: &str, more: Value, row: &Row, target: &Target, rules: &Rules) -> Draft {
    let words = format!("{words}\n{}\n{}", row.session.title, row.session.summary);
    let words = Words { plain: words.clone(), shown: words };
    let provenance = row.grade.iter().flat_map(|grade| &grade.scores).next().map(|score| score.provenance.as_ref());
    let mut metadata = metadata(row, target, provenance);
    if let (Value::Object(metadata), Value::Object(more)) = (&mut metadata, more) {
        metadata.extend(more);
    }
    draft(ScoreValue::Number(f64::from(thousandths) / 1000.0), &words, metadata, (row, target), rules)
}

fn of_outcome(row: &Row, target: &Target, rules: &Rules) -> Vec<Slot> {
    let version = format!("prism@{}", outcomes::VERSION);
    let rework = row.rework.as_ref().is_some_and(|rework| rework.reworked);
    let outcome = row.outcome.as_ref();
    let value = |name: &str| {
        let outcome = outcome?;
        let ruling = outcome.ruling();
        let input = PrismInput { ruling, rework, provisional: false, by_model: row.judged.is_some() };
        Some(match name {
            "substance" => ScoreValue::Bool(ruling.substance),
            "intent" => ScoreValue::Label(ruling.intent.name().to_owned()),
            "goal_complete" => ScoreValue::Bool(outcome.goal_complete()?),
            "rework" => ScoreValue::Bool(rework),
            // Who is on neither side neither crushed the goal nor failed to.
            _ => ScoreValue::Bool(Some(input.crushed()).filter(|_| input.counts())?),
        })
    };
    let (none, mut words) = (Words::default(), Words::default());
    for reason in outcome.iter().flat_map(|outcome| &outcome.reasons) {
        words.line(&reason.text, &reason.events);
    }
    let draft = |name: &str| {
        let value = value(name)?;
        let provenance = row.judged.as_ref().map(|judged| &judged.provenance);
        let mut metadata = metadata(row, target, provenance);
        metadata["status"] = json!(outcome.map(|outcome| outcome.status));
        metadata["evidence"] = json!(outcome.map(|outcome| outcome.evidence));
        metadata["confidence"] = json!(outcome.and_then(|outcome| outcome.confidence));
        metadata["outcome_version"] = json!(outcomes::VERSION);
        Some(self::draft(value, if name == "rework" { &none } else { &words }, metadata, (row, target), rules))
    };
    PRISM
        .iter()
        .map(|(name, _)| Slot { name: (*name).to_owned(), version: version.clone(), draft: draft(name), asked: true })
        .collect()
}

/// Where a score comes from. Every key every time: those that were there before would stay.
fn metadata(row: &Row, target: &Target, provenance: Option<&Provenance>) -> Value {
    let judged = row.judged.as_ref();
    let session = &row.session;
    json!({
        "judge": provenance.map_or(offline::JUDGE, |provenance| provenance.judge.as_str()),
        "judge_version": provenance.map(|provenance| &provenance.judge_version),
        "model": provenance.and_then(|provenance| provenance.model.as_ref()),
        "rubric": provenance.map(|provenance| &provenance.rubric),
        "rubric_hash": provenance.map(|provenance| &provenance.rubric_hash),
        "prompt_hash": provenance.and_then(|provenance| provenance.prompt_hash.as_ref()),
        "coverage": judged.map(|judged| judged.coverage),
        "flags": row.grade.as_ref().map(|grade| &grade.flags),
        "confidence": null,
        "spread": null,
        "session": session.id,
        "langfuse_session": target.session,
        "session_to": session.to.map(|to| to.to_string()),
        "open": session.open,
        "part": !target.whole,
        "other_sessions": target.others,
    })
}

/// A name for the run that came to a verdict.
fn run(provenance: &Provenance, at: Timestamp) -> String {
    let Provenance { judge, judge_version, model, prompt_hash, .. } = provenance;
    let text = format!("{judge}\n{judge_version}\n{model:?}\n{prompt_hash:?}\n{at}");
    sha256(&[text.as_bytes()]).chars().take(16).collect()
}

/// What is said of a score.
#[derive(Default)]
struct Words {
    /// With the events it is about.
    shown: String,
    /// Without: they have other numbers in a transcript than in what was recorded of it.
    plain: String,
}

impl Words {
    fn line(&mut self, text: &str, events: &[EventId]) {
        let _ = writeln!(self.shown, "{text}{}", places(events));
        let _ = writeln!(self.plain, "{text}");
    }
}

/// What depends on where a session was read, or on when.
const OF_THE_SOURCE: [&str; 3] = ["session", "session_to", "open"];

/// Finishes a score: its words redacted and cut, and a digest by which it is known again.
fn draft(
    value: ScoreValue,
    words: &Words,
    mut metadata: Value,
    (row, target): (&Row, &Target),
    rules: &Rules,
) -> Draft {
    let redacted = |words: &str| redact(words.trim(), rules).shorten(COMMENT).into_string();
    let comment = Some(redacted(&words.shown)).filter(|comment| !comment.is_empty());
    let mut lasting = metadata.clone();
    if let Some(lasting) = lasting.as_object_mut() {
        lasting.retain(|key, _| !OF_THE_SOURCE.contains(&key.as_str()));
    }
    let whole = json!([value.json(), redacted(&words.plain), lasting]).to_string();
    // A newer program or a later verdict that says the same changes nothing, so these are no part of it.
    let judged = row.judged.as_ref();
    metadata["judged_at"] = json!(judged.map(|judged| judged.at.to_string()));
    metadata["run"] = json!(judged.map(|judged| run(&judged.provenance, judged.at)));
    metadata["known_to"] = json!(target.known_to.map(|to| to.to_string()));
    metadata["by"] = json!(concat!("hotwash ", env!("CARGO_PKG_VERSION")));
    metadata["digest"] = json!(sha256(&[whole.as_bytes()]).chars().take(24).collect::<String>());
    Draft { value, comment, metadata }
}

fn places(events: &[EventId]) -> String {
    let names: Vec<String> = events.iter().take(EVENTS).map(ToString::to_string).collect();
    match (names.is_empty(), events.len().saturating_sub(EVENTS)) {
        (true, _) => String::new(),
        (_, 0) => format!(" ({})", names.join(", ")),
        (_, more) => format!(" ({} and {more} more)", names.join(", ")),
    }
}
