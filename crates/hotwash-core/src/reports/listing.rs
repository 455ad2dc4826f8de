//! Lists of sessions and of other things: filtered, sorted, and a part of them at a time.

use crate::records::Row;
use crate::scores::{Overall, worst_first};
use std::cmp::Reverse;

/// Stands for a tier where there is only a process score.
pub const PROCESS: &str = "process";

/// Which part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// How many are left out at the start.
    pub offset: usize,
    /// At most so many follow; nothing for all.
    pub limit: Option<usize>,
}

impl Page {
    /// This part of a list.
    pub fn of<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let rest = all.get(self.offset..).unwrap_or_default();
        rest.get(..self.limit.unwrap_or(rest.len())).unwrap_or(rest)
    }
}

/// Which sessions of those that are there.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of one of these tiers, in upper or lower case, `process` and `ungraded` being two too; empty for all.
    pub tiers: Vec<String>,
    /// The title contains all of these words.
    pub words: String,
}

impl Filter {
    /// Whether a session is one of them.
    pub fn takes(&self, row: &Row) -> bool {
        let tier = match row.grade.as_ref().map(|grade| &grade.overall) {
            Some(Overall::Graded { tier, .. }) => tier.as_str(),
            Some(Overall::Process { .. }) => PROCESS,
            _ => "ungraded",
        };
        let title = row.session.title.as_str().to_lowercase();
        (self.tiers.is_empty() || self.tiers.iter().any(|wanted| wanted.eq_ignore_ascii_case(tier)))
            && self.words.to_lowercase().split_whitespace().all(|word| title.contains(word))
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Missed goals first, by overall score; then undecided sessions, by process score; then the rest.
    Worst,
    /// The latest first.
    Newest,
    /// The longest active time first.
    Longest,
    /// The dearest first, subagents included.
    Cost,
}

/// The sessions that a filter takes, in order. Rows come newest first, which also decides between equals.
pub fn list(mut rows: Vec<Row>, filter: &Filter, order: Order) -> Vec<Row> {
    rows.retain(|row| filter.takes(row));
    match order {
        Order::Newest => {}
        Order::Worst => rows.sort_by_key(|row| worst_first(row.grade.as_ref(), row.goal())),
        Order::Longest => rows.sort_by_key(|row| Reverse(row.session.facts.get().pace.active_seconds)),
        Order::Cost => rows.sort_by_key(|row| Reverse(row.with_subagents.cost.known)),
    }
    rows
}

/// Puts the oldest first: the order of a document must not hang on anything but the sessions.
pub fn oldest_first(rows: &mut [Row]) {
    rows.sort_by(|a, b| (a.session.from, &a.session.id).cmp(&(b.session.from, &b.session.id)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_everything_once() {
        let all: Vec<u32> = (0..7).collect();
        let page = |offset, limit| Page { offset, limit }.of(&all);
        assert_eq!([page(0, Some(3)), page(3, Some(3)), page(6, Some(3))].concat(), all);
        assert_eq!(page(0, None), all);
        assert_eq!(page(5, None), [5, 6]);
        assert!(page(7, Some(3)).is_empty() && page(99, None).is_empty() && page(0, Some(0)).is_empty());
    }
}
