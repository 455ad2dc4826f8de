//! Many sessions at a glance: their mean and spread, their tiers, which ones to look at first.

use crate::records::Row;
use crate::rubric::Rubric;
use crate::scores::{Flag, Overall};
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
    /// Those with an overall score, the lowest first, and of equals the latest.
    pub graded: Vec<&'r Row>,
    /// Those left out of everything, because their own text speaks to the judge.
    pub suspected: Vec<&'r Row>,
    /// The scores of `graded`; nothing where there are none.
    pub spread: Option<Spread>,
}

/// Overall scores of many sessions, in thousandths.
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
    /// How many say how the work was done, and not whether it got there.
    pub process_only: u64,
    /// How many are in each tier of the rubric, in its order.
    pub tiers: Vec<(String, u64)>,
    /// All of them, the lowest first.
    pub all: Vec<u32>,
}

/// Looks at many sessions at once.
pub fn overview<'r>(rows: &'r [Row], rubric: &Rubric) -> Overview<'r> {
    let repositories: BTreeSet<&str> = rows.iter().map(|row| row.session.repository()).collect();
    let (suspected, mut graded): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| row.overall().is_some()).partition(|row| row.is_suspected());
    graded.sort_by_key(|row| (row.overall(), Reverse(row.session.to)));
    Overview {
        from: rows.iter().filter_map(|row| row.session.from).min(),
        to: rows.iter().filter_map(|row| row.session.to).max(),
        projects: repositories.len() as u64,
        spread: spread(&graded, rubric),
        graded,
        suspected,
    }
}

fn spread(graded: &[&Row], rubric: &Rubric) -> Option<Spread> {
    let all: Vec<u32> = graded.iter().filter_map(|row| row.overall()).collect();
    let n = all.len();
    let tier = |tier: &str| all.iter().filter(|score| rubric.tiers.of(**score).name == tier).count() as u64;
    Some(Spread {
        n: n as u64,
        mean: stats::mean(all.iter().map(|score| f64::from(*score)))?,
        median: all.get((n - 1) / 2)?.midpoint(*all.get(n / 2)?),
        lowest: *all.first()?,
        highest: *all.last()?,
        process_only: graded.iter().filter(|row| row.is_process_only()).count() as u64,
        tiers: rubric.tiers.iter().map(|known| (known.name.clone(), tier(&known.name))).collect(),
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

    /// Whether its score says how the work was done, and not whether it got there.
    pub fn is_process_only(&self) -> bool {
        matches!(self.grade.as_ref().map(|grade| &grade.overall), Some(Overall::Graded { process_only: true, .. }))
    }
}
