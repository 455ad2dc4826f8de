//! Brings the scores in Langfuse in line with the grades here.
//!
//! What is there is read first, so that a push of what was pushed before writes nothing. What was written is read back,
//! because the server takes scores that it then drops. Ids and times follow from the verdict, so a push that was killed is
//! finished by the next one, and one that is repeated changes nothing.

use super::config::{self, Became, May, Settled};
use super::encode::{self, Slot};
use super::target::{Attach, Target, Targets};
use crate::langfuse::{Client, LangfuseError, NewScore, StoredScore, Subject};
use crate::net::Failing;
use crate::stores::Row;
use hotwash_core::redaction::Rules;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::{SessionId, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// How sessions are pushed.
pub struct Options<'a> {
    /// What they were graded by.
    pub rubric: &'a Rubric,
    /// What to take out of words.
    pub rules: &'a Rules,
    /// Which sessions share a transcript.
    pub targets: &'a Targets,
    /// What scores are attached to; none for what SPEC says: the session where it is whole, else its first trace.
    pub attach: Option<Attach>,
    /// Outcomes too.
    pub prism: bool,
    /// Verdicts there that are newer are replaced all the same.
    pub force: bool,
    /// Told how many sessions are done.
    pub progress: &'a dyn Fn(u64),
}

/// What became of a push. Scores wanted = unchanged + written + newer there + refused + dropped.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Sessions that were looked at.
    pub sessions: u64,
    /// Sessions that are not graded by this rubric, which says nothing about what may be there of them.
    pub ungraded: u64,
    /// Sessions that are nothing of Langfuse's.
    pub without_target: u64,
    /// Sessions that are a part of one there, and have no trace there to be attached to.
    pub without_trace: u64,
    /// Scores that should be there.
    pub wanted: u64,
    /// Those that were there already.
    pub unchanged: u64,
    /// Those that were written, and read back.
    pub written: u64,
    /// Those that are there with a newer verdict, from another machine perhaps.
    pub newer_there: u64,
    /// Scores that should not be there any more, and were deleted.
    pub removed: u64,
    /// Scores that the server refused, with what it said.
    pub refused: Vec<Lost>,
    /// Scores that the server took and did not keep.
    pub dropped: Vec<Lost>,
    /// Scores that should have been deleted.
    pub not_removed: Vec<Lost>,
    /// Configs that differ from the rubric; scores that do not fit them go without.
    pub configs: Vec<Settled>,
}

impl Report {
    /// Everything is there that should be, and nothing else.
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.dropped.is_empty() && self.not_removed.is_empty()
    }
}

/// A score that did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The session.
    pub session: SessionId,
    /// The score.
    pub name: String,
    /// Why.
    pub why: String,
}

/// How many sessions are read back together.
const GROUP: usize = 1000;

/// Pushes sessions.
pub fn push(client: &Client, rows: &[Row], options: &Options<'_>) -> Result<Report, LangfuseError> {
    let mut report = Report::default();
    let settled = config::settle(client, config::wanted(options.rubric, options.prism), May::Create)?;
    report.configs = settled.iter().filter(|config| matches!(config.became, Became::Differs(_))).cloned().collect();
    for group in rows.chunks(GROUP) {
        let plan = plan(client, group, &settled, options, &mut report)?;
        carry_out(client, plan, &mut report)?;
    }
    Ok(report)
}

/// The sessions that a model has judged by this rubric and as they are now, as Langfuse knows.
pub fn scored(client: &Client, rows: &[Row], rubric: &Rubric) -> Result<HashSet<SessionId>, LangfuseError> {
    let mut by_id: HashMap<String, &Row> = HashMap::new();
    for row in rows {
        for attached in ["session", "trace"] {
            by_id.insert(encode::id(row, encode::OVERALL, &rubric.id(), attached), row);
        }
    }
    let ids: Vec<String> = by_id.keys().cloned().collect();
    let there = client.scores_by_id(&ids)?;
    let judged = there.iter().filter_map(|score| {
        let row = by_id.get(&score.id)?;
        let at = moment(&score.metadata["session_to"]);
        let as_now = at.is_some() && at >= row.session.to;
        (as_now && moment(&score.metadata["judged_at"]).is_some()).then(|| row.session.id.clone())
    });
    Ok(judged.collect())
}

/// What is to be done.
#[derive(Default)]
struct Plan {
    write: Vec<(SessionId, NewScore)>,
    remove: Vec<(SessionId, String, String)>,
}

/// A session on its way.
struct Bound<'a> {
    row: &'a Row,
    subject: Subject,
    slots: Vec<Slot>,
}

fn plan(
    client: &Client,
    rows: &[Row],
    configs: &[Settled],
    options: &Options<'_>,
    report: &mut Report,
) -> Result<Plan, LangfuseError> {
    let mut bound = Vec::new();
    for row in rows {
        report.sessions += 1;
        if row.grade.is_none() {
            report.ungraded += 1;
            continue;
        }
        let target: Target = options.targets.target(row);
        let Some(subject) = target.subject(client, row, options.attach)? else {
            report.without_target += 1;
            continue;
        };
        let wants_trace = options.attach == Some(Attach::Trace) || (options.attach.is_none() && !target.whole);
        if wants_trace && matches!(subject, Subject::Session(_)) {
            report.without_trace += 1;
        }
        let slots = encode::slots(row, &target, options.rubric, options.prism, options.rules);
        bound.push(Bound { row, subject, slots });
        (options.progress)(report.sessions);
    }
    let there = read(client, &ids(&bound, options))?;
    let mut plan = Plan::default();
    for Bound { row, subject, slots } in bound {
        let (attached, elsewhere) = sides(&subject);
        for slot in slots {
            let known = there.get(&slot.id(row, attached));
            if let Some(stale) = there.get(&slot.id(row, elsewhere)) {
                plan.remove.push((row.session.id.clone(), slot.name.clone(), stale.id.clone()));
            }
            let newer = known.is_some_and(|known| is_newer(known, row)) && !options.force;
            let id = slot.id(row, attached);
            let Some(draft) = slot.draft else {
                if let Some(known) = known.filter(|_| !newer) {
                    plan.remove.push((row.session.id.clone(), slot.name, known.id.clone()));
                }
                continue;
            };
            // Under one id the trace stays what it was first.
            let subject = match (known.map(|known| &known.subject), &subject) {
                (Some(first @ Subject::Trace(_)), Subject::Trace(_)) => first.clone(),
                _ => subject.clone(),
            };
            report.wanted += 1;
            if known.is_some_and(|known| is_same(known, &draft.value, &draft.metadata, &subject)) {
                report.unchanged += 1;
                continue;
            }
            if newer {
                report.newer_there += 1;
                continue;
            }
            let at = revision(known, encode::judged_at(row));
            let mut metadata = draft.metadata;
            metadata["revision"] = json!(at.to_string());
            let config = configs.iter().find(|config| config.wanted.name == slot.name);
            let config = config.and_then(|config| config.stored.as_ref()).filter(|config| config.takes(&draft.value));
            let score = NewScore {
                id,
                name: slot.name,
                value: draft.value,
                subject,
                config: config.map(|config| config.id.clone()),
                comment: draft.comment,
                metadata,
                at,
            };
            plan.write.push((row.session.id.clone(), score));
        }
    }
    Ok(plan)
}

/// The kind of subject that a score is attached to, and the other one.
fn sides(subject: &Subject) -> (&'static str, &'static str) {
    match encode::attached(subject) {
        "session" => ("session", "trace"),
        attached => (attached, "session"),
    }
}

/// The ids to look for. A score may have been attached elsewhere before: to the session, when that was still whole, or
/// where somebody says now where it is to go.
fn ids(bound: &[Bound<'_>], options: &Options<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for Bound { row, subject, slots } in bound {
        let (attached, elsewhere) = sides(subject);
        for slot in slots {
            all.push(slot.id(row, attached));
            if elsewhere == "session" || options.attach.is_some() {
                all.push(slot.id(row, elsewhere));
            }
        }
    }
    all
}

fn read(client: &Client, ids: &[String]) -> Result<HashMap<String, StoredScore>, LangfuseError> {
    Ok(client.scores_by_id(ids)?.into_iter().map(|score| (score.id.clone(), score)).collect())
}

fn is_same(known: &StoredScore, value: &crate::langfuse::ScoreValue, metadata: &Value, subject: &Subject) -> bool {
    known.value.as_ref() == Some(value) && known.metadata["digest"] == metadata["digest"] && known.subject == *subject
}

/// Whether the verdict there is later than the one here. Any model's is later than the offline judge's.
fn is_newer(known: &StoredScore, row: &Row) -> bool {
    moment(&known.metadata["judged_at"]) > row.judged.as_ref().map(|judged| judged.at)
}

/// The time to write under: that of the verdict, and later than what is there. The day stays that of the first, because
/// a server may take another day for another score.
fn revision(known: Option<&StoredScore>, judged: Timestamp) -> Timestamp {
    const DAY_MS: i64 = 86_400_000;
    let Some(known) = known else { return judged };
    let last = moment(&known.metadata["revision"]).max(known.at);
    let Some(last) = last else { return judged };
    let day = |at: Timestamp| at.0.div_euclid(DAY_MS);
    let same_day = known.at.is_none_or(|first| day(first) == day(judged));
    if judged > last && same_day { judged } else { Timestamp(last.0 + 1) }
}

fn moment(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?.as_bytes())
}

/// How long to wait for the first look, and between looks: scores show after some six seconds, at times after fifteen.
const LOOKS_MS: [u64; 10] = [200, 800, 2_000, 3_000, 2_000, 2_000, 5_000, 5_000, 10_000, 15_000];
/// How often what did not arrive is sent again.
const ROUNDS: u32 = 3;

fn carry_out(client: &Client, plan: Plan, report: &mut Report) -> Result<(), LangfuseError> {
    let mut open: BTreeMap<String, (SessionId, NewScore)> =
        plan.write.into_iter().map(|(session, score)| (score.id.clone(), (session, score))).collect();
    for round in 1..=ROUNDS {
        if open.is_empty() {
            break;
        }
        let scores: Vec<NewScore> = open.values().map(|(_, score)| score.clone()).collect();
        for refused in client.put_scores(&scores)? {
            if let Some((session, score)) = open.remove(&refused.id) {
                report.refused.push(Lost { session, name: score.name, why: refused.why });
            }
        }
        report.written += read_back(client, &mut open)?;
        if round < ROUNDS {
            // Something was there under a later time that could not be seen: this one is later still.
            let now = client.now();
            for (_, score) in open.values_mut() {
                score.at = Timestamp(score.at.0 + 1).max(now);
                score.metadata["revision"] = json!(score.at.to_string());
            }
        }
    }
    // Last, so that a score which moves is never nowhere.
    for (session, name, id) in plan.remove {
        match client.delete_score(&id) {
            Ok(()) => report.removed += 1,
            // Others may fare as badly, but scores must be written all the same.
            Err(error) if error.kind != Failing::Stopped && !error.kind.is_for_all() => {
                report.not_removed.push(Lost { session, name, why: error.message });
            }
            Err(error) => return Err(error),
        }
    }
    let configs = if open.is_empty() { Vec::new() } else { client.configs()? };
    for (session, score) in open.into_values() {
        let config = score.config.as_ref().map(|id| configs.iter().find(|config| config.id == *id));
        let why = match config {
            Some(None) => "its config is not there any more".to_owned(),
            Some(Some(config)) if config.is_archived => "its config was archived".to_owned(),
            Some(Some(config)) if !config.takes(&score.value) => {
                "its config does not take the value any more".to_owned()
            }
            _ => "the server took it, and it cannot be read back".to_owned(),
        };
        report.dropped.push(Lost { session, name: score.name, why });
    }
    Ok(())
}

/// Looks until all are there or it has been long enough; takes out those that are. One of them is watched, so that not
/// all are read again and again.
fn read_back(client: &Client, open: &mut BTreeMap<String, (SessionId, NewScore)>) -> Result<u64, LangfuseError> {
    let mut written = 0;
    for wait in LOOKS_MS {
        let Some(watched) = open.keys().next_back().cloned() else { break };
        client.pause(Duration::from_millis(wait))?;
        let arrived = |there: &HashMap<String, StoredScore>, score: &NewScore| {
            there.get(&score.id).is_some_and(|known| is_same(known, &score.value, &score.metadata, &score.subject))
        };
        if open.len() > 100 {
            let there = read(client, std::slice::from_ref(&watched))?;
            if !open.get(&watched).is_some_and(|(_, score)| arrived(&there, score)) {
                continue;
            }
        }
        let ids: Vec<String> = open.keys().cloned().collect();
        let there = read(client, &ids)?;
        let before = open.len();
        open.retain(|_, (_, score)| !arrived(&there, score));
        written += (before - open.len()) as u64;
    }
    Ok(written)
}
