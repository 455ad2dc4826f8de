//! Numbers that add up: found = graded + skipped (by reason) + failed (by reason).

use crate::records::{Became, Query, Reading, Role, Row};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The reason of a session whose facts are too few for a grade.
pub const TOO_LITTLE: &str = "too little to grade";
/// The reason of a session of another time.
const OUTSIDE: &str = "outside the window";
/// The reason of a session of another time or project, where only one project was asked for.
const ELSEWHERE: &str = "other project or time";

/// The reason of a transcript whose pieces all belong to a session that begins in another one.
const JOINED: &str = "joined to another";

/// What became of the sessions that were found, and of the transcripts that hold none.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Sessions in transcripts that are there, transcripts without one, and sessions of the window whose transcripts are
    /// gone.
    pub found: u64,
    /// Sessions with a grade.
    pub graded: u64,
    /// The part of `graded` whose text speaks to its judge: left out of every mean.
    pub suspected: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Could not be read, by reason.
    pub failed: BTreeMap<String, u64>,
    /// What reading the transcripts that are there had to say.
    pub reading: Reading,
    /// The part of `found` that only the store and the archive have.
    pub kept: u64,
}

impl Counts {
    /// Counts the transcripts that were found, by path, of which `rows` are the sessions that `query` asked for. `failed` says
    /// of those that could not be read why, and `known` what became of the others.
    pub fn of<'p, P: AsRef<str> + 'p>(
        found: impl IntoIterator<Item = P>,
        failed: &'p [(String, String)],
        rows: &[Row],
        query: &Query,
        known: &HashMap<String, Became>,
    ) -> Counts {
        let outside = if query.project.is_some() { ELSEWHERE } else { OUTSIDE };
        let mut counts = Counts::default();
        let mut listed: HashMap<&str, Vec<&Row>> = HashMap::new();
        for row in rows {
            listed.entry(&row.path).or_default().push(row);
        }
        let mut gone = Vec::new();
        for (_, why) in failed {
            counts.found += 1;
            add(&mut counts.failed, why, 1);
        }
        let failed: HashSet<&str> = failed.iter().map(|(path, _)| path.as_str()).collect();
        for path in found {
            let path = path.as_ref();
            if failed.contains(path) {
                continue;
            }
            let Became { role, sessions, reading } = known.get(path).copied().unwrap_or_default();
            counts.reading.add(&reading);
            // The last version is what stands there now.
            let rows = listed.remove(path).unwrap_or_default();
            let version = rows.iter().map(|row| row.version).max();
            let (rows, older): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| Some(row.version) == version);
            gone.extend(older);
            counts.found += sessions.max(1);
            for row in &rows {
                counts.row(row);
            }
            if role.session().is_none() || role == Role::Subagent && !query.subagents {
                add(&mut counts.skipped, role.name(), 1);
            } else if sessions == 0 {
                add(&mut counts.skipped, JOINED, 1);
            } else {
                add(&mut counts.skipped, outside, sessions.saturating_sub(rows.len() as u64));
            }
        }
        gone.extend(listed.into_values().flatten());
        for row in gone {
            counts.found += 1;
            counts.kept += 1;
            counts.row(row);
        }
        counts
    }

    fn row(&mut self, row: &Row) {
        match row.score() {
            Some(_) => {
                self.graded += 1;
                self.suspected += u64::from(row.is_suspected());
            }
            None => add(&mut self.skipped, TOO_LITTLE, 1),
        }
    }

    /// How many were skipped for a reason.
    pub fn skipped_as(&self, reason: &str) -> u64 {
        self.skipped.get(reason).copied().unwrap_or(0)
    }

    /// "24 graded, 1 too little to grade, 3 skipped (2 subagent, 1 copy), 0 unreadable".
    pub fn words(&self) -> String {
        let too_little = self.skipped_as(TOO_LITTLE);
        let others: Vec<(&String, &u64)> = self.skipped.iter().filter(|(reason, _)| *reason != TOO_LITTLE).collect();
        let skipped: u64 = others.iter().map(|(_, n)| **n).sum();
        let mut others = others;
        others.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let reasons: Vec<String> = others.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let failed: u64 = self.failed.values().sum();
        let suspected = match self.suspected {
            0 => String::new(),
            n => format!(" ({n} suspected, left out)"),
        };
        format!(
            "{} found: {} graded{suspected}, {too_little} {TOO_LITTLE}, {skipped} skipped{reasons}, {failed} unreadable",
            self.found, self.graded
        )
    }
}

fn add(counts: &mut BTreeMap<String, u64>, reason: &str, n: u64) {
    match counts.get_mut(reason) {
        _ if n == 0 => {}
        Some(count) => *count += n,
        None => drop(counts.insert(reason.to_owned(), n)),
    }
}
