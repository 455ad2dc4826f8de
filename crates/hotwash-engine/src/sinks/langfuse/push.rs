//! Brings the scores in Langfuse in line with the grades here.
//!
//! What is there is read first, so that a push of what was pushed before writes nothing. What was written is read back,
//! because the server takes scores that it then drops. Ids and times follow from the verdict, so a push that was killed is
//! finished by the next one, and one that is repeated changes nothing.

use super::config::{self, Became, May, Settled};
use super::encode::{self, PRISM, Place, Slot};
use super::target::{self, Attach, Root, Target, Targets};
use crate::langfuse::{Client, LangfuseError, NewScore, ScoreValue, StoredScore, Subject};
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
    /// Nothing is written: the report says what would be.
    pub dry_run: bool,
    /// Told how many sessions are done.
    pub progress: &'a dyn Fn(u64),
}

/// What became of a push. Scores wanted = unchanged + written + newer there + refused + dropped; in a dry run those to write
/// stand for all that were tried.
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
    /// In a dry run: scores that would be written, and of which session.
    pub to_write: Vec<(SessionId, NewScore)>,
    /// In a dry run: how many would be deleted.
    pub to_remove: u64,
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
    let may = if options.dry_run { May::Look } else { May::Create };
    let settled = config::settle(client, config::wanted(options.rubric, options.prism), may)?;
    report.configs = settled.iter().filter(|config| matches!(config.became, Became::Differs(_))).cloned().collect();
    for group in rows.chunks(GROUP) {
        let plan = plan(client, group, &settled, options, &mut report)?;
        if options.dry_run {
            report.to_write.extend(plan.write);
            report.to_remove += plan.remove.len() as u64;
        } else {
            carry_out(client, plan, &mut report)?;
        }
        (options.progress)(report.sessions);
    }
    Ok(report)
}

/// What is to be done.
#[derive(Default)]
struct Plan {
    write: Vec<(SessionId, NewScore)>,
    /// By id, after whether others are known by it: of which session, and its name.
    remove: BTreeMap<(bool, String), (SessionId, String)>,
}

/// A session on its way.
struct Bound<'a> {
    row: &'a Row,
    target: Target,
    subject: Subject,
    place: Place,
    slots: Vec<Slot>,
}

impl Bound<'_> {
    /// The ids that scores have where these do not go.
    fn elsewhere(&self, wanted: impl Fn(&Slot) -> bool) -> Vec<String> {
        let places = Place::ALL.into_iter().filter(|place| *place != self.place);
        let slots = |place| self.slots.iter().filter(|slot| wanted(slot)).map(move |slot| (slot, place));
        places.flat_map(slots).map(|(slot, place)| slot.id(self.row, &self.target, place)).collect()
    }

    /// Those by which it is known whether there is any.
    fn probes(&self) -> Vec<String> {
        let mut drafted = self.slots.iter().filter(|slot| slot.draft.is_some()).map(|slot| slot.name.as_str());
        let ends = [drafted.next(), drafted.next_back()];
        self.elsewhere(|slot| ends.contains(&Some(slot.name.as_str())))
    }

    /// Every score of these that may be elsewhere; of an outcome that is not asked for, the one that is never without.
    fn signs(&self) -> Vec<String> {
        self.elsewhere(|slot| slot.asked || slot.name == PRISM[0].0)
    }
}

/// Says where each session goes, and what should be there of it.
fn bind<'a>(
    client: &Client,
    rows: &'a [Row],
    options: &Options<'_>,
    report: &mut Report,
) -> Result<(Vec<Bound<'a>>, HashMap<SessionId, Root>), LangfuseError> {
    report.sessions += rows.len() as u64;
    let graded = rows.iter().filter(|row| row.grade.is_some());
    let graded: Vec<(&Row, Target)> = graded.map(|row| (row, options.targets.target(row))).collect();
    report.ungraded += (rows.len() - graded.len()) as u64;
    let to_trace = graded.iter().filter(|(_, target)| target.wants_trace(options.attach));
    let roots = roots(client, to_trace.map(|(row, target)| (*row, target)))?;
    let mut bound = Vec::new();
    for (row, target) in graded {
        let Some(subject) = target.subject(roots.get(&row.session.id), options.attach) else {
            report.without_target += 1;
            continue;
        };
        if target.wants_trace(options.attach) && matches!(subject, Subject::Session(_)) {
            report.without_trace += 1;
        }
        let slots = encode::slots(row, &target, options.rubric, options.prism, options.rules);
        let place = Place::of(&subject, &target);
        bound.push(Bound { row, target, subject, place, slots });
    }
    Ok((bound, roots))
}

fn plan(
    client: &Client,
    rows: &[Row],
    configs: &[Settled],
    options: &Options<'_>,
    report: &mut Report,
) -> Result<Plan, LangfuseError> {
    let (bound, mut roots) = bind(client, rows, options, report)?;
    let there = present(client, &bound, options)?;
    let mut plan = Plan::default();
    let mut without_environment: Vec<(&Row, &Target)> = Vec::new();
    for bound in &bound {
        let Bound { row, target, subject, place, slots } = bound;
        let (session, probes) = (&row.session.id, bound.probes());
        let before = plan.write.len();
        // What goes elsewhere is not lost to an older verdict either.
        let newer_elsewhere = !options.force
            && bound.elsewhere(|_| true).iter().any(|id| there.get(id).is_some_and(|known| is_newer(known, row)));
        for slot in slots {
            let id = slot.id(row, target, *place);
            let known = there.get(&id);
            for elsewhere in Place::ALL.into_iter().filter(|other| other != place) {
                let id = slot.id(row, target, elsewhere);
                if there.contains_key(&id) && !newer_elsewhere {
                    // A run that is killed leaves these for last, so that the next one finds the rest.
                    let last = probes.contains(&id) || slot.name == PRISM[0].0;
                    plan.remove.insert((last, id), (session.clone(), slot.name.clone()));
                }
            }
            if !slot.asked {
                continue;
            }
            let newer = newer_elsewhere || known.is_some_and(|known| is_newer(known, row)) && !options.force;
            let Some(draft) = &slot.draft else {
                if known.is_some() && !newer {
                    plan.remove.insert((false, id), (session.clone(), slot.name.clone()));
                }
                continue;
            };
            // Under one id the trace stays what it was first.
            let subject = match (known.map(|known| &known.subject), subject) {
                (Some(first @ Subject::Trace(_)), Subject::Trace(_)) => first.clone(),
                _ => subject.clone(),
            };
            let config = configs.iter().find(|config| config.wanted.name == slot.name);
            let config = config.and_then(|config| config.stored.as_ref()).filter(|config| config.takes(&draft.value));
            let config = config.map(|config| config.id.clone());
            report.wanted += 1;
            let same = |known: &StoredScore| {
                is_there(known, &draft.value, &subject, config.as_ref()) && is_said(known, &draft.metadata)
            };
            if known.is_some_and(same) && !options.force {
                report.unchanged += 1;
                continue;
            }
            if newer {
                report.newer_there += 1;
                continue;
            }
            let at = revision(known, encode::judged_at(row));
            let mut metadata = draft.metadata.clone();
            metadata["revision"] = json!(at.to_string());
            let score = NewScore {
                id,
                name: slot.name.clone(),
                value: draft.value.clone(),
                subject,
                config,
                comment: draft.comment.clone(),
                metadata,
                environment: None,
                at,
            };
            plan.write.push((session.clone(), score));
        }
        if plan.write.len() > before && !roots.contains_key(session) {
            without_environment.push((row, target));
        }
    }
    // Scores are shown with the environment they are in, so they go where the traces are.
    roots.extend(self::roots(client, without_environment.into_iter())?);
    for (session, score) in &mut plan.write {
        score.environment = roots.get(session).and_then(|root| root.environment.clone());
    }
    Ok(plan)
}

/// What is there of these sessions, by id. A score may be elsewhere from before: on the session, when that was still whole,
/// or where somebody said then that it should go. Mostly none is, so of a session that goes where it would go by itself two
/// are looked for elsewhere, and all only where one of them is found.
fn present(
    client: &Client,
    bound: &[Bound<'_>],
    options: &Options<'_>,
) -> Result<HashMap<String, StoredScore>, LangfuseError> {
    let mut ids = Vec::new();
    for bound in bound {
        let sure = options.attach.is_none() && bound.place == Place::Whole;
        let asked = bound.slots.iter().filter(|slot| slot.asked);
        ids.extend(asked.map(|slot| slot.id(bound.row, &bound.target, bound.place)));
        ids.extend(if sure { bound.probes() } else { bound.signs() });
    }
    let mut there = read(client, ids.clone())?;
    let looked: HashSet<String> = ids.into_iter().collect();
    let all = bound.iter().map(|bound| bound.elsewhere(|_| true));
    let moved = all.filter(|ids| ids.iter().any(|id| there.contains_key(id)));
    let more: Vec<String> = moved.flatten().filter(|id| !looked.contains(id)).collect();
    there.extend(read(client, more)?);
    Ok(there)
}

/// Where sessions begin in Langfuse, of those for which that matters.
fn roots<'a>(
    client: &Client,
    wanted: impl Iterator<Item = (&'a Row, &'a Target)>,
) -> Result<HashMap<SessionId, Root>, LangfuseError> {
    let wanted: Vec<(&str, &Row)> =
        wanted.filter_map(|(row, target)| Some((target.session.as_deref()?, row))).collect();
    let roots = target::roots(client, &wanted)?;
    let named = roots.into_iter().zip(&wanted);
    Ok(named.filter_map(|(root, (_, row))| Some((row.session.id.clone(), root?))).collect())
}

fn read(client: &Client, mut ids: Vec<String>) -> Result<HashMap<String, StoredScore>, LangfuseError> {
    // Parts of one session share the ids of what was the whole.
    ids.sort_unstable();
    ids.dedup();
    Ok(client.scores_by_id(&ids)?.into_iter().map(|score| (score.id.clone(), score)).collect())
}

/// Whether a score has this value, and is where it should be. A config that it once had cannot be taken from it.
fn is_there(known: &StoredScore, value: &ScoreValue, subject: &Subject, config: Option<&String>) -> bool {
    known.value.as_ref() == Some(value)
        && known.subject == *subject
        && config.is_none_or(|config| known.config.as_ref() == Some(config))
}

/// Whether a score of the same value says what ours would say, about no less of the session.
fn is_said(known: &StoredScore, ours: &Value) -> bool {
    let there = &known.metadata;
    let reach = |metadata: &Value| (moment(&metadata["session_to"]), metadata["open"] == false);
    reach(there) >= reach(ours) && (there["digest"] == ours["digest"] || is_as_good(there, ours))
}

/// Whether the offline judge came to it in the same way from another source: a transcript, or what was recorded of it.
/// Two machines would word it in turns otherwise.
fn is_as_good(there: &Value, ours: &Value) -> bool {
    const WAY: [&str; 6] = ["judged_at", "judge", "judge_version", "rubric", "rubric_hash", "outcome_version"];
    ours["judged_at"].is_null() && there["session"] != ours["session"] && WAY.iter().all(|key| there[key] == ours[key])
}

/// Whether the verdict there is later than the one here. Any model's is later than the offline judge's.
fn is_newer(known: &StoredScore, row: &Row) -> bool {
    moment(&known.metadata["judged_at"]) > row.judged.as_ref().map(|judged| judged.at)
}

/// The time to write under: that of the verdict, and later than what is there. The day stays that of the first, because
/// a server may take another day for another score.
fn revision(known: Option<&StoredScore>, judged: Timestamp) -> Timestamp {
    let Some(known) = known else { return judged };
    let last = moment(&known.metadata["revision"]).max(known.at);
    let Some(last) = last else { return judged };
    let same_day = known.at.is_none_or(|first| day(first) == day(judged));
    if judged > last && same_day { judged } else { just_after(last) }
}

const DAY_MS: i64 = 86_400_000;

fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// The next moment of the same day.
fn just_after(at: Timestamp) -> Timestamp {
    Timestamp((at.0 + 1).min((day(at) + 1) * DAY_MS - 1))
}

pub(super) fn moment(value: &Value) -> Option<Timestamp> {
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
            // Something was there under a later time that could not be seen: this one is later still, on the same day.
            let now = client.now();
            for (_, score) in open.values_mut() {
                let later = just_after(score.at);
                score.at = if day(now) == day(later) { later.max(now) } else { later };
                score.metadata["revision"] = json!(score.at.to_string());
            }
        }
    }
    // Last, so that a score which moves is never nowhere.
    for ((_, id), (session, name)) in plan.remove {
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
            there.get(&score.id).is_some_and(|known| {
                is_there(known, &score.value, &score.subject, score.config.as_ref())
                    && known.metadata["digest"] == score.metadata["digest"]
                    && moment(&known.metadata["revision"]) >= Some(score.at)
            })
        };
        if open.len() > 100 {
            let there = read(client, vec![watched.clone()])?;
            if !open.get(&watched).is_some_and(|(_, score)| arrived(&there, score)) {
                continue;
            }
        }
        let there = read(client, open.keys().cloned().collect())?;
        let before = open.len();
        open.retain(|_, (_, score)| !arrived(&there, score));
        written += (before - open.len()) as u64;
    }
    Ok(written)
}
