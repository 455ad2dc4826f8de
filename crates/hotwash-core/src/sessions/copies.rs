//! Who owns an event that several transcripts hold.
//!
//! A fork, a resumed session and a duplicated file copy events with their ids. A copied event belongs to the transcript
//! whose first unshared event is earliest; a transcript with nothing of its own owns nothing.

use super::{Key, Timestamp};
use crate::facts::calls::{KeyMap, KeySet};
use std::collections::{BTreeMap, HashMap};

/// The records of one transcript that have an id, in order.
pub type Records = Vec<(Key, Option<Timestamp>)>;

/// Groups transcripts that share keys. Each is given by its keys; groups of one are left out.
pub fn groups(transcripts: &[&[Key]]) -> Vec<Vec<usize>> {
    let mut parent: Vec<usize> = (0..transcripts.len()).collect();
    let mut holders: KeyMap<Key, u32> = HashMap::default();
    for (holder, keys) in transcripts.iter().enumerate() {
        for key in *keys {
            if let Some(&first) = holders.get(key) {
                let (a, b) = (root(&mut parent, first as usize), root(&mut parent, holder));
                parent[a.max(b)] = a.min(b);
            } else {
                holders.insert(*key, holder as u32);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..transcripts.len() {
        let first = root(&mut parent, at);
        if first < at {
            groups.entry(first).or_insert_with(|| vec![first]).push(at);
        }
    }
    groups.into_values().collect()
}

/// The first of those that are joined with one.
fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

/// For each transcript of a group, the keys that belong to another one of it.
pub fn foreign(group: &[Records]) -> Vec<Vec<Key>> {
    let contained = contained(group);
    // Who holds a key, if it is one alone.
    let mut alone: KeyMap<Key, Option<usize>> = HashMap::default();
    for (at, records) in group.iter().enumerate().filter(|(at, _)| !contained[*at]) {
        for (key, _) in records {
            let holder = alone.entry(*key).or_insert(Some(at));
            *holder = holder.filter(|holder| *holder == at);
        }
    }
    // The order of precedence: by the first event that nobody else holds, then by place in the group. One whose own
    // events have no time cannot be the earliest.
    let unshared = |at: usize| {
        let mut own =
            group[at].iter().filter(|(key, _)| alone.get(key) == Some(&Some(at))).map(|(_, time)| *time).peekable();
        match (own.peek().is_some(), own.flatten().next()) {
            (_, Some(time)) => (0, Some(time)),
            (true, None) => (1, None),
            (false, None) => (2, None),
        }
    };
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by_key(|&at| (unshared(at), at));
    let mut owners: KeyMap<Key, usize> = HashMap::default();
    for at in order.into_iter().filter(|at| !contained[*at]) {
        for (key, _) in &group[at] {
            owners.entry(*key).or_insert(at);
        }
    }

    let mut foreign = vec![Vec::new(); group.len()];
    for (at, records) in group.iter().enumerate() {
        for (key, _) in records {
            if owners.get(key) != Some(&at) {
                foreign[at].push(*key);
            }
        }
        foreign[at].sort_unstable();
        foreign[at].dedup();
    }
    foreign
}

/// Which transcripts hold nothing that another one of the group does not hold too. Of equal ones the first is kept.
/// They own nothing, and must not make the events of the others look shared.
fn contained(group: &[Records]) -> Vec<bool> {
    let keys: Vec<KeySet<Key>> = group.iter().map(|records| records.iter().map(|(key, _)| *key).collect()).collect();
    let within = |at: usize, other: usize| {
        let smaller = keys[at].len() < keys[other].len() || keys[at].len() == keys[other].len() && other < at;
        at != other && smaller && keys[at].is_subset(&keys[other])
    };
    (0..group.len()).map(|at| (0..group.len()).any(|other| within(at, other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records(keys: &[(u64, i64)]) -> Records {
        keys.iter().map(|&(key, at)| (Key(key), Some(Timestamp(at)))).collect()
    }

    #[test]
    fn a_fork_owns_only_what_came_after_it() {
        let original = records(&[(1, 10), (2, 20), (3, 30)]);
        let fork = records(&[(1, 10), (2, 20), (9, 40)]);
        for group in [[original.clone(), fork.clone()], [fork, original]] {
            let foreign = foreign(&group);
            let originals = usize::from(group[0].len() != 3 || group[0][2].0 != Key(3));
            assert!(foreign[originals].is_empty());
            assert_eq!(foreign[1 - originals], [Key(1), Key(2)]);
        }
    }

    #[test]
    fn a_whole_copy_owns_nothing() {
        let original = records(&[(1, 10), (2, 20)]);
        let grown = records(&[(1, 10), (2, 20), (3, 30)]);
        assert_eq!(foreign(&[original.clone(), grown]), [vec![Key(1), Key(2)], vec![]]);
        assert_eq!(foreign(&[original.clone(), original]), [vec![], vec![Key(1), Key(2)]]);
    }

    #[test]
    fn an_event_without_a_time_is_not_the_earliest() {
        let original = records(&[(1, 10), (2, 20), (3, 30)]);
        let mut fork = records(&[(1, 10), (2, 20), (8, 0), (9, 40)]);
        fork[2].1 = None;
        assert_eq!(foreign(&[fork.clone(), original.clone()]), [vec![Key(1), Key(2)], vec![]]);
        fork.pop();
        assert_eq!(foreign(&[fork, original]), [vec![Key(1), Key(2)], vec![]]);
    }

    #[test]
    fn a_stale_beginning_owns_nothing_beside_two_whole_copies() {
        let whole = records(&[(1, 10), (2, 20), (3, 30)]);
        let stale = records(&[(1, 10), (2, 20)]);
        let foreign = foreign(&[stale, whole.clone(), whole]);
        assert_eq!(foreign, [vec![Key(1), Key(2)], vec![], vec![Key(1), Key(2), Key(3)]]);
    }

    #[test]
    fn sharing_is_transitive() {
        let (a, b, c, d) = ([Key(1), Key(2)], [Key(2), Key(3)], [Key(3)], [Key(7)]);
        assert_eq!(groups(&[&a, &d, &b, &c]), [vec![0, 2, 3]]);
        assert!(groups(&[&a, &d]).is_empty());
    }

    proptest! {
        #[test]
        fn groups_are_those_of_which_one_leads_to_another(transcripts in proptest::collection::vec(
            proptest::collection::vec((0u64..3, 0u64..40), 0..4), 0..12))
        {
            // Some keys differ in the bits that are not looked at first.
            let key = |&(high, low): &(u64, u64)| Key(high << 40 | low);
            let transcripts: Vec<Vec<Key>> = transcripts.iter().map(|keys| keys.iter().map(key).collect()).collect();
            let share = |a: usize, b: usize| transcripts[a].iter().any(|key| transcripts[b].contains(key));
            let mut plain: Vec<Vec<usize>> = Vec::new();
            for at in 0..transcripts.len() {
                let (with, mut others): (Vec<_>, Vec<_>) =
                    plain.into_iter().partition(|group| group.iter().any(|&other| share(at, other)));
                let mut group = with.concat();
                group.push(at);
                group.sort_unstable();
                others.push(group);
                plain = others;
            }
            plain.retain(|group| group.len() > 1);
            plain.sort();
            prop_assert_eq!(groups(&transcripts.iter().map(Vec::as_slice).collect::<Vec<_>>()), plain);
        }

        #[test]
        fn every_event_has_exactly_one_owner(group in proptest::collection::vec(
            proptest::collection::vec((0u64..12, 0i64..50), 0..10), 1..5))
        {
            let group: Vec<Records> = group.iter().map(|keys| records(keys)).collect();
            let foreign = foreign(&group);
            let mut owners: BTreeMap<Key, std::collections::BTreeSet<usize>> = BTreeMap::new();
            for (at, records) in group.iter().enumerate() {
                for (key, _) in records {
                    if !foreign[at].contains(key) {
                        owners.entry(*key).or_default().insert(at);
                    }
                }
            }
            let all: std::collections::BTreeSet<Key> = group.iter().flatten().map(|(key, _)| *key).collect();
            prop_assert_eq!(owners.len(), all.len());
            prop_assert!(owners.values().all(|owners| owners.len() == 1));
        }
    }
}
