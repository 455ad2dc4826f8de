//! The rule: a session is rework's victim when later sessions take away half of the lines it added, or its commit.
//!
//! For each line that a session added, what later sessions did to it is told in the order of time. It is removed where
//! no copy of it is left at the end of the window. The result depends on the session itself and on those that changed
//! something within the window after it, and on nothing else: not on their order of arrival, nor on further sessions.

use super::block::Block;
use super::fingerprint::Fingerprint;
use crate::sessions::{EventId, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// How many sessions are judged in one go; what is held in memory grows with it.
const BLOCK: usize = 512;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// What counts as rework.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// For how many days after its end a session's lines are watched.
    pub window_days: u32,
    /// The share of a session's lines that must be gone.
    pub share: f64,
    /// How many lines must be gone at least.
    pub min_lines: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { window_days: 14, share: 0.5, min_lines: 3 }
    }
}

impl Settings {
    /// The last moment at which a session that ended then can be reworked.
    pub fn until(&self, end: Timestamp) -> Timestamp {
        Timestamp(end.0.saturating_add(i64::from(self.window_days) * DAY_MS))
    }
}

/// A session of a repository, and when it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The session.
    pub session: SessionId,
    /// Its first moment.
    pub from: Timestamp,
    /// Its last.
    pub to: Timestamp,
}

/// What became of a session's work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rework {
    /// Different lines that it added and that say something.
    pub added: u32,
    /// Those of them that are gone.
    pub removed: u32,
    /// Both are of a sample, because there were too many lines.
    pub sampled: bool,
    /// Who took them away, in the order of time.
    pub by: Vec<Taken>,
    /// The undoing of one of its commits.
    pub revert: Option<Revert>,
    /// Whether that is rework.
    pub reworked: bool,
}

impl Rework {
    /// The share of its lines that are gone; nothing where it added none.
    pub fn share(&self) -> Option<f64> {
        (self.added > 0).then(|| f64::from(self.removed) / f64::from(self.added))
    }
}

/// What a later session took away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The session.
    pub session: SessionId,
    /// How many lines.
    pub lines: u32,
    /// Where in that session.
    pub events: Vec<EventId>,
}

/// How a commit was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// The event that made the commit.
    pub commit: EventId,
    /// The session that undid it.
    pub session: SessionId,
    /// Where in that session.
    pub event: EventId,
    /// By `git reset --hard`, and not by a commit of its own.
    pub dropped: bool,
}

/// The sessions that must be judged again when some have come, gone or changed: those that changed, and those in whose
/// window they are. Of a session that moved in time, both places count as changed.
pub fn affected(changed: &[(Timestamp, Timestamp)], all: &[Placed], settings: &Settings) -> Vec<usize> {
    let mut changed = changed.to_vec();
    changed.sort_unstable();
    // For each one, the latest end of those that began no later.
    let mut latest = Timestamp(i64::MIN);
    let latest: Vec<Timestamp> = changed
        .iter()
        .map(|&(_, to)| {
            latest = latest.max(to);
            latest
        })
        .collect();
    let touches = |placed: &Placed| {
        let begun = changed.partition_point(|&(from, _)| from <= settings.until(placed.to));
        begun > 0 && latest[begun - 1] >= placed.from
    };
    (0..all.len()).filter(|&at| touches(&all[at])).collect()
}

/// Judges the `wanted` ones among the sessions of one repository, in that order; nothing comes of those that nobody
/// touched. `load` fetches a session's fingerprint, and is asked only for those that matter: the wanted ones and those
/// within their windows.
pub fn rework<E>(
    sessions: &[Placed],
    wanted: &[usize],
    settings: &Settings,
    mut load: impl FnMut(usize) -> Result<Fingerprint, E>,
) -> Result<Vec<Option<Rework>>, E> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|&at| (sessions[at].from, sessions[at].to, &sessions[at].session));
    let mut ranks = vec![0; sessions.len()];
    for (rank, &at) in (0..).zip(&order) {
        ranks[at] = rank;
    }
    let mut targets: Vec<usize> = wanted.iter().copied().filter(|&at| at < sessions.len()).collect();
    targets.sort_by_key(|&at| ranks[at]);
    targets.dedup();

    let mut results = vec![None; sessions.len()];
    for targets in targets.chunks(BLOCK) {
        let begin = targets.iter().map(|&at| sessions[at].from).min();
        let end = targets.iter().map(|&at| settings.until(sessions[at].to)).max();
        let (Some(begin), Some(end)) = (begin, end) else { continue };
        let mut watched = Vec::with_capacity(targets.len());
        for &at in targets {
            watched.push((ranks[at], settings.until(sessions[at].to), load(at)?));
        }
        let mut block = Block::new(watched);
        for (rank, &at) in (0..).zip(&order) {
            if sessions[at].from <= end && sessions[at].to >= begin && !block.judges(rank) {
                block.take(rank, load(at)?);
            }
        }
        let judged = block.judge(|rank| sessions[order[rank as usize]].session.clone(), settings);
        for (&at, rework) in targets.iter().zip(judged) {
            results[at] = rework;
        }
    }
    Ok(wanted.iter().map(|&at| results.get(at).cloned().unwrap_or_default()).collect())
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod prism_rework;
