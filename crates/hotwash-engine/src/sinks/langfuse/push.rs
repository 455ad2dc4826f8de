//! Brings the scores in Langfuse in line with the grades here.
//!
//! What is there is read first, so that a push of what was pushed before writes nothing. What was written is read back,
//! because the server takes scores that it then drops. Ids and times follow from the verdict, so a push that was killed is
//! finished by the next one, and one that is repeated changes nothing.

use super::config::{self, Became, May, Settled};
use super::plan::{Plan, day, is_there, just_after, moment, plan, read};
use super::target::{Attach, Targets};
use crate::langfuse::{Client, LangfuseError, NewScore};
use crate::net::Failing;
use crate::stores::Row;
use hotwash_core::redaction::Rules;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::SessionId;
use serde_json::json;
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
    /// Scores that should not be there any more, and whose deletion is queued there.
    pub deletions_queued: u64,
    /// Those whose deletion was asked for by an earlier push, and that are still there.
    pub deletions_pending: u64,
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
    /// Its id.
    pub id: String,
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

/// How long to wait for the first look, and between looks: scores show after some six seconds, at times after fifteen.
const LOOKS_MS: [u64; 10] = [200, 800, 2_000, 3_000, 2_000, 2_000, 5_000, 5_000, 10_000, 15_000];
/// How often what did not arrive is sent again.
const ROUNDS: u32 = 3;

/// Scores on their way, by id.
type Open = BTreeMap<String, (SessionId, NewScore)>;

fn carry_out(client: &Client, plan: Plan, report: &mut Report) -> Result<(), LangfuseError> {
    let write = plan.write.into_iter().map(|(session, score)| (score.id.clone(), (session, score))).collect();
    let (written, refused, open) = send(client, write)?;
    report.written += written;
    let mut lost = refused;
    report.refused.extend(lost.iter().cloned());
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
        let dropped = Lost { id: score.id, session, name: score.name, why };
        lost.push(dropped.clone());
        report.dropped.push(dropped);
    }
    // Last, so that a score which moves is never nowhere.
    let lost: HashSet<(SessionId, String)> = lost.into_iter().map(|lost| (lost.session, lost.name)).collect();
    let mut remove = plan.remove;
    remove.retain(|(_, id), removal| {
        let stays = lost.contains(&(removal.session.clone(), removal.name.clone()));
        if stays {
            let why = "what replaces it did not arrive".to_owned();
            report.not_removed.push(removal.lost(id, why));
        }
        !stays
    });
    let marks = remove
        .iter()
        .filter_map(|((_, id), removal)| Some((id.clone(), (removal.session.clone(), removal.mark.clone()?))));
    let (_, refused, open) = send(client, marks.collect())?;
    let unmarked: HashSet<String> = open.into_keys().chain(refused.into_iter().map(|lost| lost.id)).collect();
    for ((_, id), removal) in remove {
        if unmarked.contains(&id) {
            report.not_removed.push(removal.lost(&id, "it cannot be marked as withdrawn".to_owned()));
            continue;
        }
        match client.delete_score(&id) {
            Ok(()) => report.deletions_queued += 1,
            // Others may fare as badly, but scores must be written all the same.
            Err(error) if error.kind != Failing::Stopped && !error.kind.is_for_all() => {
                report.not_removed.push(removal.lost(&id, error.message));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes scores and reads them back. How many arrived, what was refused, and what was taken and cannot be read back.
fn send(client: &Client, mut open: Open) -> Result<(u64, Vec<Lost>, Open), LangfuseError> {
    let (mut arrived, mut lost) = (0, Vec::new());
    for round in 1..=ROUNDS {
        if open.is_empty() {
            break;
        }
        let scores: Vec<NewScore> = open.values().map(|(_, score)| score.clone()).collect();
        for refused in client.put_scores(&scores)? {
            if let Some((session, score)) = open.remove(&refused.id) {
                lost.push(Lost { id: refused.id, session, name: score.name, why: refused.why });
            }
        }
        arrived += read_back(client, &mut open)?;
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
    Ok((arrived, lost, open))
}

/// Looks until all are there or it has been long enough; takes out those that are. One of them is watched, so that not
/// all are read again and again.
fn read_back(client: &Client, open: &mut Open) -> Result<u64, LangfuseError> {
    let mut arrived = 0;
    for wait in LOOKS_MS {
        let Some(watched) = open.keys().next_back().cloned() else { break };
        let what = format!("{} scores were sent to {} and do not show yet", open.len(), client.host());
        client.pause(&what, Duration::from_millis(wait))?;
        let look = |ids| -> Result<HashMap<_, _>, LangfuseError> {
            Ok(read(client, ids)?.into_iter().map(|score| (score.id.clone(), score)).collect())
        };
        let is_here = |there: &HashMap<_, crate::langfuse::StoredScore>, score: &NewScore| {
            there.get(&score.id).is_some_and(|known| {
                is_there(known, &score.value, &score.subject, score.config.as_ref())
                    && ["digest", "withdrawn"].iter().all(|key| known.metadata[key] == score.metadata[key])
                    && moment(&known.metadata["revision"]) >= Some(score.at)
            })
        };
        if open.len() > 100 {
            let there = look(vec![watched.clone()])?;
            if !open.get(&watched).is_some_and(|(_, score)| is_here(&there, score)) {
                continue;
            }
        }
        let there = look(open.keys().cloned().collect())?;
        let before = open.len();
        open.retain(|_, (_, score)| !is_here(&there, score));
        arrived += (before - open.len()) as u64;
    }
    Ok(arrived)
}
