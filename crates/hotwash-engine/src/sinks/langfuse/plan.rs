//! What a push is to do: which scores should be there of each session, which are, and what follows from that.
//!
//! The server only queues a deletion, and carries it out later on whatever has that id by then. So an id that was deleted is
//! never written again: ids carry a generation, and each score says from which generation on ids of its session are unused.
//! A score that is to be deleted is marked as withdrawn first, so that another machine does not take it for one that stays.

use super::config::Settled;
use super::encode::{self, Draft, PRISM, Place, Slot};
use super::push::{Lost, Options, Report};
use super::target::{self, Look, Root, Target};
use crate::langfuse::{Client, LangfuseError, NewScore, On, ScoreValue, StoredScore, Subject};
use crate::stores::Row;
use hotwash_core::sessions::{SessionId, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is to be done.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) write: Vec<(SessionId, NewScore)>,
    /// By id, after whether others are known by it.
    pub(super) remove: BTreeMap<(bool, String), Removal>,
}

/// A score that is to be deleted.
pub(super) struct Removal {
    pub(super) session: SessionId,
    pub(super) name: String,
    /// What to write first, so that everybody sees that it is to be deleted; none where it says so already.
    pub(super) mark: Option<NewScore>,
}

impl Removal {
    /// That it was not deleted.
    pub(super) fn lost(&self, id: &str, why: String) -> Lost {
        Lost { id: id.to_owned(), session: self.session.clone(), name: self.name.clone(), why }
    }
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
    fn id(&self, slot: &Slot, place: Place) -> String {
        slot.id(self.row, &self.target, place, 0)
    }

    /// The ids that scores have first where these do not go.
    fn elsewhere(&self, wanted: impl Fn(&Slot) -> bool) -> Vec<String> {
        let places = Place::ALL.into_iter().filter(|place| *place != self.place);
        let slots = |place| self.slots.iter().filter(|slot| wanted(slot)).map(move |slot| (slot, place));
        places.flat_map(slots).map(|(slot, place)| self.id(slot, place)).collect()
    }

    /// Those by which it is known whether there is any.
    fn probes(&self) -> Vec<String> {
        let drafted = self.slots.iter().filter(|slot| slot.asked && slot.draft.is_some());
        let mut drafted = drafted.map(|slot| slot.name.as_str());
        let ends = [drafted.next(), drafted.next_back()];
        self.elsewhere(|slot| ends.contains(&Some(slot.name.as_str())))
    }

    /// Every score of these that may be elsewhere; of an outcome that is not asked for, the one that is never without.
    fn signs(&self) -> Vec<String> {
        self.elsewhere(|slot| slot.asked || slot.name == PRISM[0].0)
    }

    /// Whether any score of it is there under a first id.
    fn is_known(&self, there: &There) -> bool {
        let ids = self.slots.iter().flat_map(|slot| Place::ALL.map(|place| self.id(slot, place)));
        ids.into_iter().any(|id| there.scores.contains_key(&id))
    }

    /// Whether what is there under first ids is all that there can be.
    fn is_settled(&self, there: &There) -> bool {
        let first = |slot: &Slot, place| there.scores.get(&self.id(slot, place));
        let outcome = self.slots.iter().any(|slot| !slot.asked && first(slot, self.place).is_some());
        self.slots.iter().all(|slot| {
            let right = match first(slot, self.place) {
                Some(score) => withdrawn(score).is_none() && unused(score) == 0,
                None => slot.draft.is_none() || !slot.asked && !outcome,
            };
            let mut elsewhere = Place::ALL.into_iter().filter(|place| *place != self.place);
            right && elsewhere.all(|place| first(slot, place).is_none())
        })
    }
}

/// What is there.
#[derive(Default)]
struct There {
    /// By id.
    scores: HashMap<String, StoredScore>,
    /// Of their ids.
    generations: BTreeSet<u32>,
}

impl There {
    fn add(&mut self, scores: impl IntoIterator<Item = StoredScore>) {
        for score in scores {
            self.generations.insert(generation(&score));
            self.scores.insert(score.id.clone(), score);
        }
    }

    /// The scores under the ids of a slot, in all places and generations.
    fn of(&self, bound: &Bound<'_>, slot: &Slot) -> Vec<Known<'_>> {
        let ids = self.generations.iter().flat_map(|generation| Place::ALL.map(|place| (*generation, place)));
        let known = ids.filter_map(|(generation, place)| {
            let score = self.scores.get(&slot.id(bound.row, &bound.target, place, generation))?;
            Some(Known { score, place, generation })
        });
        known.collect()
    }
}

/// A score that is there, and what its id says.
#[derive(Clone, Copy)]
struct Known<'a> {
    score: &'a StoredScore,
    place: Place,
    generation: u32,
}

fn number(score: &StoredScore, key: &str) -> u32 {
    score.metadata[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// The generation of a score's id, as it says.
fn generation(score: &StoredScore) -> u32 {
    number(score, "generation")
}

/// From which generation on no id of its session has been used, as far as it says.
fn unused(score: &StoredScore) -> u32 {
    number(score, "unused_generation")
}

/// Since when a score is to be deleted.
pub(super) fn withdrawn(score: &StoredScore) -> Option<Timestamp> {
    moment(&score.metadata["withdrawn"])
}

/// Says where each session goes, and what should be there of it.
fn bind<'a>(
    client: &Client,
    rows: &'a [Row],
    options: &Options<'_>,
    report: &mut Report,
) -> Result<(Vec<Bound<'a>>, Roots), LangfuseError> {
    report.sessions += rows.len() as u64;
    let graded = rows.iter().filter(|row| row.grade.is_some());
    let graded: Vec<(&Row, Target)> = graded.map(|row| (row, options.targets.target(row))).collect();
    report.ungraded += (rows.len() - graded.len()) as u64;
    let to_trace = graded.iter().filter(|(_, target)| target.wants_trace(options.attach));
    let mut roots = Roots::default();
    roots.find(client, to_trace.map(|(row, target)| (*row, target)), Look::All)?;
    let mut bound = Vec::new();
    for (row, target) in graded {
        let Some(subject) = target.subject(roots.of(row), options.attach) else {
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

pub(super) fn plan(
    client: &Client,
    rows: &[Row],
    configs: &[Settled],
    options: &Options<'_>,
    report: &mut Report,
) -> Result<Plan, LangfuseError> {
    let (bound, mut roots) = bind(client, rows, options, report)?;
    let there = present(client, &bound, options, &mut roots)?;
    let mut plan = Plan::default();
    let mut changed: Vec<(&Row, &Target)> = Vec::new();
    for bound in &bound {
        let before = (plan.write.len(), plan.remove.len());
        plan.session(bound, &there, configs, (options, client.now()), report);
        if before != (plan.write.len(), plan.remove.len()) {
            changed.push((bound.row, &bound.target));
        }
    }
    // Scores are shown with the environment they are in, so they go where the traces are.
    roots.find(client, changed.into_iter(), Look::Roots)?;
    let environment = |session| roots.found.get(session)?.as_ref()?.environment.clone();
    for (session, score) in &mut plan.write {
        score.environment = environment(session);
    }
    for removal in plan.remove.values_mut() {
        let environment = environment(&removal.session);
        removal.mark.iter_mut().for_each(|mark| mark.environment.clone_from(&environment));
    }
    Ok(plan)
}

/// A deletion that was asked for so long ago, and was not carried out, is asked for again.
const PATIENCE_MS: i64 = 3_600_000;

impl Plan {
    /// What is to be done for a session.
    fn session(
        &mut self,
        bound: &Bound<'_>,
        there: &There,
        configs: &[Settled],
        (options, now): (&Options<'_>, Timestamp),
        report: &mut Report,
    ) {
        let (row, place) = (bound.row, bound.place);
        let known: Vec<Vec<Known<'_>>> = bound.slots.iter().map(|slot| there.of(bound, slot)).collect();
        let stays = |known: &Known<'_>| withdrawn(known.score).is_none();
        // A newer verdict holds for all scores of its session, also for one that it has no value for.
        let newer = !options.force && known.iter().flatten().any(|known| stays(known) && is_newer(known.score, row));
        let mut going: Vec<(&Slot, Known<'_>)> = Vec::new();
        let mut wanted: Vec<(&Slot, &Draft, Option<Known<'_>>)> = Vec::new();
        for (slot, known) in bound.slots.iter().zip(&known) {
            let current = known.iter().filter(|known| known.place == place && stays(known));
            let current = current.max_by_key(|known| known.generation).copied();
            let others = known.iter().filter(|known| current.is_none_or(|current| current.score.id != known.score.id));
            going.extend(others.map(|known| (slot, *known)).filter(|(_, known)| !stays(known) || !newer));
            if !slot.asked && !known.iter().any(stays) {
                continue;
            }
            match (&slot.draft, current) {
                (Some(draft), current) => wanted.push((slot, draft, current)),
                (None, Some(current)) if !newer => going.push((slot, current)),
                (None, _) => {}
            }
        }
        let after = |known: &Known<'_>| known.generation.saturating_add(u32::from(!stays(known)));
        let used = known.iter().flatten().map(|known| after(known).max(unused(known.score)));
        let goes = going.iter().map(|(_, known)| known.generation.saturating_add(1));
        let next = used.chain(goes).max().unwrap_or(0);

        let before = self.write.len();
        let mut same = Vec::new();
        report.wanted += wanted.len() as u64;
        for (slot, draft, current) in wanted {
            let score = new_score(bound, slot, draft, current, (configs, next));
            match current {
                Some(known) if is_same(known.score, &score, draft) && !options.force => same.push((known, score)),
                _ if newer => report.newer_there += 1,
                _ => self.write.push((row.session.id.clone(), score)),
            }
        }
        // One at least says which generations are used up when those that used them are gone.
        let told = self.write.len() > before || same.iter().any(|(known, _)| unused(known.score) >= next);
        if !told && !same.is_empty() && !newer {
            self.write.push((row.session.id.clone(), same.remove(0).1));
        }
        report.unchanged += same.len() as u64;
        let probes = bound.probes();
        for (slot, known) in going {
            let mark = match withdrawn(known.score) {
                Some(since) if (now.0 - since.0).abs() < PATIENCE_MS => {
                    report.deletions_pending += 1;
                    continue;
                }
                Some(_) => None,
                None => mark(known.score, row, next, now),
            };
            // A run that is killed leaves these for last, so that the next one finds the rest.
            let last = probes.contains(&known.score.id) || slot.name == PRISM[0].0;
            let removal = Removal { session: row.session.id.clone(), name: slot.name.clone(), mark };
            self.remove.insert((last, known.score.id.clone()), removal);
        }
    }
}

/// A score as it should be: in place of the current one, or under an id that was never used.
fn new_score(
    bound: &Bound<'_>,
    slot: &Slot,
    draft: &Draft,
    current: Option<Known<'_>>,
    (configs, next): (&[Settled], u32),
) -> NewScore {
    let row = bound.row;
    // Under one id the trace stays what it was first.
    let subject = match (current.map(|known| &known.score.subject), &bound.subject) {
        (Some(first @ Subject::Trace(_)), Subject::Trace(_)) => first.clone(),
        (_, subject) => subject.clone(),
    };
    let config = configs.iter().find(|config| config.wanted.name == slot.name);
    let config = config.and_then(|config| config.stored.as_ref()).filter(|config| config.takes(&draft.value));
    let generation = current.map_or(next, |known| known.generation);
    let at = revision(current.map(|known| known.score), encode::judged_at(row));
    let mut metadata = draft.metadata.clone();
    metadata["generation"] = json!(generation);
    metadata["unused_generation"] = json!(next);
    metadata["withdrawn"] = Value::Null;
    metadata["revision"] = json!(at.to_string());
    NewScore {
        id: slot.id(row, &bound.target, bound.place, generation),
        name: slot.name.clone(),
        value: draft.value.clone(),
        subject,
        config: config.map(|config| config.id.clone()),
        comment: draft.comment.clone(),
        metadata,
        environment: None,
        at,
    }
}

/// The same score, and that it is to be deleted.
fn mark(known: &StoredScore, row: &Row, next: u32, now: Timestamp) -> Option<NewScore> {
    let at = revision(Some(known), encode::judged_at(row));
    let mut metadata = known.metadata.clone();
    metadata["unused_generation"] = json!(next);
    metadata["withdrawn"] = json!(now.to_string());
    metadata["revision"] = json!(at.to_string());
    Some(NewScore {
        id: known.id.clone(),
        name: known.name.clone(),
        value: known.value.clone()?,
        subject: known.subject.clone(),
        config: None,
        comment: Some("Withdrawn: this score is about to be deleted.".to_owned()),
        metadata,
        environment: None,
        at,
    })
}

/// What is there of these sessions. A score may be elsewhere from before: on the session, when that was still whole, or
/// where somebody said then that it should go. Mostly none is, so of a session that goes where it would go by itself two
/// are looked for elsewhere, and all only where one of them is found. Where something is missing or was withdrawn, all
/// that hangs on the session and on its first trace is read.
fn present(
    client: &Client,
    bound: &[Bound<'_>],
    options: &Options<'_>,
    roots: &mut Roots,
) -> Result<There, LangfuseError> {
    let mut ids = Vec::new();
    for bound in bound {
        let sure = options.attach.is_none() && bound.place == Place::Whole;
        let asked = bound.slots.iter().filter(|slot| slot.asked || slot.name == PRISM[0].0);
        ids.extend(asked.map(|slot| bound.id(slot, bound.place)));
        ids.extend(if sure { bound.probes() } else { bound.signs() });
    }
    let mut there = There::default();
    there.add(read(client, ids.clone())?);
    let looked: HashSet<String> = ids.into_iter().collect();
    let is_there = |there: &There, ids: &[String]| ids.iter().any(|id| there.scores.contains_key(id));
    let mut more = Vec::new();
    for bound in bound {
        let (elsewhere, others) = (bound.elsewhere(|_| true), bound.slots.iter().filter(|slot| !slot.asked));
        let outcome: Vec<String> = others.map(|slot| bound.id(slot, bound.place)).collect();
        more.extend([elsewhere, outcome].into_iter().filter(|ids| is_there(&there, ids)).flatten());
    }
    more.retain(|id| !looked.contains(id));
    there.add(read(client, more)?);
    let open: Vec<&Bound<'_>> = bound.iter().filter(|bound| !bound.is_settled(&there)).collect();
    // Where scores are on traces from before, those are the first ones.
    let (moved, rest): (Vec<&Bound<'_>>, Vec<_>) = open.iter().partition(|bound| bound.is_known(&there));
    for (bound, look) in [(moved, Look::All), (rest, Look::Roots)] {
        roots.find(client, bound.iter().map(|bound| (bound.row, &bound.target)), look)?;
    }
    let sessions: BTreeSet<&str> = open.iter().filter_map(|bound| bound.target.session.as_deref()).collect();
    let traces: BTreeSet<&str> = open.iter().filter_map(|bound| Some(roots.of(bound.row)?.trace.as_str())).collect();
    for (on, ids) in [(On::Sessions, sessions), (On::Traces, traces)] {
        let ids: Vec<&str> = ids.into_iter().collect();
        client.scores_on(on, &ids, None, &mut |score| there.add([score]))?;
    }
    Ok(there)
}

/// Where sessions begin in Langfuse, as far as it was looked for.
#[derive(Default)]
struct Roots {
    found: HashMap<SessionId, Option<Root>>,
}

impl Roots {
    fn of(&self, row: &Row) -> Option<&Root> {
        self.found.get(&row.session.id)?.as_ref()
    }

    /// Looks for those that were not looked for.
    fn find<'a>(
        &mut self,
        client: &Client,
        wanted: impl Iterator<Item = (&'a Row, &'a Target)>,
        look: Look,
    ) -> Result<(), LangfuseError> {
        let new = wanted.filter(|(row, _)| !self.found.contains_key(&row.session.id));
        let new: Vec<(&str, &Row)> = new.filter_map(|(row, target)| Some((target.session.as_deref()?, row))).collect();
        let roots = target::roots(client, &new, look)?;
        self.found.extend(roots.into_iter().zip(&new).map(|(root, (_, row))| (row.session.id.clone(), root)));
        Ok(())
    }
}

pub(super) fn read(client: &Client, mut ids: Vec<String>) -> Result<Vec<StoredScore>, LangfuseError> {
    // Parts of one session share the ids of what was the whole.
    ids.sort_unstable();
    ids.dedup();
    client.scores_by_id(&ids)
}

/// Whether a score that is there is the one that should be.
fn is_same(known: &StoredScore, score: &NewScore, draft: &Draft) -> bool {
    is_there(known, &score.value, &score.subject, score.config.as_ref()) && is_said(known, &draft.metadata)
}

/// Whether a score has this value, and is where it should be. A config that it once had cannot be taken from it.
pub(super) fn is_there(known: &StoredScore, value: &ScoreValue, subject: &Subject, config: Option<&String>) -> bool {
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

pub(super) fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// The next moment of the same day.
pub(super) fn just_after(at: Timestamp) -> Timestamp {
    Timestamp((at.0 + 1).min((day(at) + 1) * DAY_MS - 1))
}

pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?.as_bytes())
}
