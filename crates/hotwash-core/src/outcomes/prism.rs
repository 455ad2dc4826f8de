//! The PRISM score: the share of sessions that crushed their goal.
//!
//! `crushed = substance AND judge_status ok AND goal complete AND NOT rework`, and the score is
//! `100 × crushed / (substance AND judge_status ok)`. Sessions without substance or goal are on neither side, and so are
//! the undecided ones, which is why the bounds are told that the score would have if all of them had failed, or crushed.

use super::{Evidence, Goal, Intent, JudgeStatus, Lack, Ruling};
use crate::sessions::Timestamp;
use crate::stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// With fewer decided sessions there are counts and no percentage: one would say more than is known.
pub const FEWEST: u64 = 8;
/// Later sessions can take a crush away for so many days.
pub const REWORK_DAYS: i64 = 14;

/// A session, as the score sees it.
#[derive(Clone, Copy, Debug)]
pub struct PrismInput {
    /// Its outcome.
    pub ruling: Ruling,
    /// A later session reverted or rewrote it.
    pub rework: bool,
    /// It is younger than the rework window.
    pub provisional: bool,
    /// A model has judged it.
    pub by_model: bool,
}

impl PrismInput {
    /// Whether it is in the denominator.
    pub fn counts(&self) -> bool {
        self.ruling.substance && self.ruling.status == JudgeStatus::Ok
    }

    /// Whether it crushed its goal.
    pub fn crushed(&self) -> bool {
        self.counts() && self.ruling.goal == Goal::Complete && !self.rework
    }
}

/// The score with what stands behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prism {
    /// Sessions that crushed their goal.
    pub crushed: u64,
    /// Sessions with substance and a verdict.
    pub decided: u64,
    /// `100 × crushed / decided`; nothing where fewer than [`FEWEST`] were decided, as with the next two.
    pub score: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<(f64, f64)>,
    /// What it would be if all undecided sessions had failed, and if all had crushed.
    pub bounds: Option<(f64, f64)>,
    /// The same with completions that nobody put into words counted as not complete.
    pub explicit: Explicit,
    /// Of the decided ones, those that are younger than the rework window.
    pub provisional: u64,
    /// Sessions that reached their goal and were reworked later.
    pub reworked: u64,
    /// Sessions with substance and a goal that the evidence does not decide.
    pub undecided: u64,
    /// Of the decided and the undecided ones, those that a model has judged.
    pub by_model: u64,
    /// Sessions with substance in which no goal was established.
    pub no_goal: u64,
    /// Sessions with substance whose judge failed.
    pub judge_failed: u64,
    /// Sessions with substance that were not judged.
    pub skipped: u64,
    /// Sessions without substance.
    pub without_substance: u64,
    /// All of them.
    pub sessions: u64,
    /// What would move it, the most frequent first.
    pub moves: Vec<Move>,
}

/// The score on explicit completions alone; the denominator is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explicit {
    /// Sessions that crushed their goal on explicit evidence.
    pub crushed: u64,
    /// `100 × crushed / decided`; nothing where fewer than [`FEWEST`] were decided.
    pub score: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<(f64, f64)>,
}

/// What would move the score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// How many sessions.
    pub count: u64,
    /// Of which intent.
    pub intent: Intent,
    /// What they lack; nothing for those that were reworked later.
    pub lack: Option<Lack>,
    /// In words: "12 bug fixes ended without a run".
    pub text: String,
}

impl Prism {
    /// The score of some sessions.
    pub fn of(sessions: impl IntoIterator<Item = PrismInput>) -> Prism {
        let mut tally = Tally::default();
        sessions.into_iter().for_each(|session| tally.add(&session));
        tally.prism()
    }

    /// The scores of groups of sessions, by their key: a project, a week, a model, an agent, an intent.
    pub fn by<K: Ord>(sessions: impl IntoIterator<Item = (K, PrismInput)>) -> BTreeMap<K, Prism> {
        let mut tallies: BTreeMap<K, Tally> = BTreeMap::new();
        for (key, session) in sessions {
            tallies.entry(key).or_default().add(&session);
        }
        tallies.into_iter().map(|(key, tally)| (key, tally.prism())).collect()
    }
}

/// The counts that a score is made of.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    prism: Prism,
    moves: BTreeMap<(Intent, Option<Lack>), u64>,
}

impl Tally {
    /// Counts a session.
    pub fn add(&mut self, session: &PrismInput) {
        let Ruling { substance, intent, status, goal, evidence, lack } = session.ruling;
        let prism = &mut self.prism;
        prism.sessions += 1;
        if !substance {
            prism.without_substance += 1;
            return;
        }
        if matches!(status, JudgeStatus::Ok | JudgeStatus::Undecided) {
            prism.by_model += u64::from(session.by_model);
        }
        match status {
            JudgeStatus::Ok => {
                prism.decided += 1;
                prism.provisional += u64::from(session.provisional);
                if session.crushed() {
                    prism.crushed += 1;
                    prism.explicit.crushed += u64::from(evidence == Evidence::Explicit);
                    return;
                }
                if goal == Goal::Complete {
                    prism.reworked += 1;
                    *self.moves.entry((intent, None)).or_default() += 1;
                    return;
                }
            }
            JudgeStatus::Undecided => prism.undecided += 1,
            JudgeStatus::NoGoal => prism.no_goal += 1,
            JudgeStatus::Failed => prism.judge_failed += 1,
            JudgeStatus::Skipped => prism.skipped += 1,
        }
        if let Some(lack) = lack {
            *self.moves.entry((intent, Some(lack))).or_default() += 1;
        }
    }

    /// The score so far.
    pub fn prism(self) -> Prism {
        let mut prism = self.prism;
        let (crushed, decided, undecided) = (prism.crushed, prism.decided, prism.undecided);
        if decided >= FEWEST {
            let percent = |part: u64, whole: u64| Some(100.0 * part as f64 / whole as f64);
            let interval =
                |part| stats::wilson(part, decided).ok().map(|share| (100.0 * share.low, 100.0 * share.high));
            let all = decided + undecided;
            prism.score = percent(crushed, decided);
            prism.interval = interval(crushed);
            prism.bounds = percent(crushed, all).zip(percent(crushed + undecided, all));
            prism.explicit.score = percent(prism.explicit.crushed, decided);
            prism.explicit.interval = interval(prism.explicit.crushed);
        }
        let moves = self.moves.into_iter();
        prism.moves = moves
            .map(|((intent, lack), count)| Move { count, intent, lack, text: in_words(count, intent, lack) })
            .collect();
        // Stable: equals stay in the order of intents and lacks.
        prism.moves.sort_by_key(|a_move| std::cmp::Reverse(a_move.count));
        prism
    }
}

fn in_words(count: u64, intent: Intent, lack: Option<Lack>) -> String {
    let who = if count == 1 { intent.singular() } else { intent.plural() };
    let did = match lack {
        None => "reached the goal and were reworked later",
        Some(Lack::BrokeOff) => "broke off in the middle of the work",
        Some(Lack::NothingChanged) => "ended with nothing changed",
        Some(Lack::Unmet) => "ended with the goal that was set not met",
        Some(Lack::Complaint) => "ended with a complaint",
        Some(Lack::GivenUp) => "were given up",
        Some(Lack::Error) => "ended on an error",
        Some(Lack::Loop) => "went round in circles",
        Some(Lack::Red) => "ended with the last run red",
        Some(Lack::NoRun) => "ended without a run",
        Some(Lack::NoTest) => "were accepted without a test",
        Some(Lack::NoWord) => "ended green without a word on the result",
        Some(Lack::NotAccepted) => "ended without a word on the result",
        Some(Lack::LeftOpen) => "were left open",
    };
    let did = if count == 1 { did.replacen("were ", "was ", 1) } else { did.to_owned() };
    format!("{count} {who} {did}")
}

/// The ISO week of a moment, as `2026-W03`.
pub fn iso_week(at: Timestamp) -> String {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let days = at.0.div_euclid(DAY);
    // The year of a week is its Thursday's; day 0 was a Thursday.
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let date = Timestamp(thursday * DAY).to_string();
    let year = date.split('-').next().unwrap_or_default();
    let first = Timestamp::parse(format!("{year}-01-01T00:00:00.000Z").as_bytes());
    let first = first.map_or(thursday, |first| first.0.div_euclid(DAY));
    format!("{year}-W{:02}", (thursday - first) / 7 + 1)
}

/// Whether a session that ended then is younger than the rework window.
pub fn provisional(ended: Timestamp, now: Timestamp) -> bool {
    now.0 - ended.0 < REWORK_DAYS * 24 * 60 * 60 * 1000
}
