//! Many sessions at a glance: their mean and spread, their tiers, which ones to look at first.

use crate::outcomes::{Goal, JudgeStatus};
use crate::records::Row;
use crate::rubric::Rubric;
use crate::scores::{Flag, Overall, worst_first};
use crate::sessions::Timestamp;
use crate::stats;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Many sessions at a glance.
#[derive(Clone, Debug)]
pub struct Overview<'r> {
    /// The first moment of the first one.
    pub from: Option<Timestamp>,
    /// The last moment of the last one.
    pub to: Option<Timestamp>,
    /// How many repositories they are of.
    pub projects: u64,
    /// How many reached their goal, missed it, or left it open. Suspected ones are left out.
    pub goals: Goals,
    /// Those with a score, the worst first, and of equals the latest.
    pub graded: Vec<&'r Row>,
    /// Those left out of everything, because their own text speaks to the judge.
    pub suspected: Vec<&'r Row>,
    /// The overall scores of `graded`; nothing where there are none.
    pub overall: Option<Spread>,
    /// The process scores of those without an overall; nothing where there are none.
    pub process: Option<Spread>,
    /// How many are in each tier of the rubric, in its order.
    pub tiers: Vec<(String, u64)>,
}

/// What became of the goals of many sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goals {
    /// They were reached.
    pub reached: u64,
    /// They were missed.
    pub missed: u64,
    /// Nothing says.
    pub open: u64,
    /// Too little happened to ask.
    pub little: u64,
    /// There was none.
    pub none: u64,
    /// A model judged some of them.
    pub by_model: bool,
}

/// Scores of many sessions, in thousandths.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// How many.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median, cut.
    pub median: u32,
    /// The lowest.
    pub lowest: u32,
    /// The highest.
    pub highest: u32,
    /// All of them, the lowest first.
    pub all: Vec<u32>,
}

/// Looks at many sessions at once.
pub fn overview<'r>(rows: &'r [Row], rubric: &Rubric) -> Overview<'r> {
    let repositories: BTreeSet<&str> = rows.iter().map(|row| row.session.repository()).collect();
    let (suspected, mut graded): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| row.score().is_some()).partition(|row| row.is_suspected());
    graded.sort_by_key(|row| (worst_first(row.grade.as_ref(), row.goal()), Reverse(row.session.to)));
    let without_overall = graded.iter().filter(|row| row.overall().is_none());
    let tier = |tier: &str| graded.iter().filter(|row| row.tier() == Some(tier)).count() as u64;
    Overview {
        from: rows.iter().filter_map(|row| row.session.from).min(),
        to: rows.iter().filter_map(|row| row.session.to).max(),
        projects: repositories.len() as u64,
        goals: goals(rows),
        overall: spread(graded.iter().filter_map(|row| row.overall()).collect()),
        process: spread(without_overall.filter_map(|row| row.score()).collect()),
        tiers: rubric.tiers.iter().map(|known| (known.name.clone(), tier(&known.name))).collect(),
        graded,
        suspected,
    }
}

/// What a missed goal counts at most where a gate looks at overall scores.
const MISSED_AT_MOST: u32 = 499;

impl Overview<'_> {
    /// The mean overall score for a gate: good manners must not hide a missed goal. Nothing where no session has one.
    pub fn mean_for_gate(&self) -> Option<f64> {
        let counted = |row: &&Row| match (row.overall()?, row.goal()) {
            (overall, Some(Goal::Failed)) => Some(overall.min(MISSED_AT_MOST)),
            (overall, _) => Some(overall),
        };
        stats::mean(self.graded.iter().filter_map(counted).map(f64::from))
    }

    /// The mean process score for a gate, of all sessions that have one.
    pub fn process_mean_for_gate(&self) -> Option<f64> {
        let process = |row: &&Row| row.grade.as_ref()?.overall.process();
        stats::mean(self.graded.iter().filter_map(process).map(f64::from))
    }
}

fn goals(rows: &[Row]) -> Goals {
    let mut goals = Goals::default();
    for ruled in rows.iter().filter(|row| !row.is_suspected()).filter_map(|row| row.ruled.as_ref()) {
        goals.by_model |= ruled.by_model;
        let place = match (ruled.ruling.goal, ruled.ruling.status) {
            (Goal::Complete, _) => &mut goals.reached,
            (Goal::Failed, _) => &mut goals.missed,
            (Goal::Undecided, JudgeStatus::NoGoal) => &mut goals.none,
            (Goal::Undecided, _) if !ruled.ruling.substance => &mut goals.little,
            (Goal::Undecided, _) => &mut goals.open,
        };
        *place += 1;
    }
    goals
}

fn spread(mut all: Vec<u32>) -> Option<Spread> {
    all.sort_unstable();
    let n = all.len();
    Some(Spread {
        n: n as u64,
        mean: stats::mean(all.iter().map(|score| f64::from(*score)))?,
        median: all.get(n.checked_sub(1)? / 2)?.midpoint(*all.get(n / 2)?),
        lowest: *all.first()?,
        highest: *all.last()?,
        all,
    })
}

impl Row {
    /// Its overall score in thousandths, if it has one.
    pub fn overall(&self) -> Option<u32> {
        self.grade.as_ref()?.overall.thousandths()
    }

    /// Whether its own text speaks to its judge. Until a person has looked it counts in no mean.
    pub fn is_suspected(&self) -> bool {
        self.judged.as_ref().is_some_and(|judging| judging.flags.contains(&Flag::InjectionSuspected))
    }

    /// Its overall score or, where it has none, its process score.
    pub fn score(&self) -> Option<u32> {
        self.grade.as_ref().and_then(|grade| grade.overall.thousandths().or(grade.overall.process()))
    }

    /// Its tier, if it has an overall score.
    pub fn tier(&self) -> Option<&str> {
        match &self.grade.as_ref()?.overall {
            Overall::Graded { tier, .. } => Some(tier),
            Overall::Process { .. } | Overall::TooFew { .. } => None,
        }
    }

    /// Whether its goal was reached, if there is a word on it.
    pub fn goal(&self) -> Option<Goal> {
        self.ruled.as_ref().map(|ruled| ruled.ruling.goal)
    }
}
