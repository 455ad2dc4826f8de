//! Gives copied events to the transcript that owns them.

use super::entry::entry;
use super::open::open_known;
use super::side_by_side::side_by_side;
use super::{Setup, decisions, second_hand};
use crate::sources::reader::{Transcript, Window};
use crate::sources::{Agent, reader};
use crate::stores::{Entry, Holding, Query, Role, Row, Store, StoreError};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Key, copies};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

/// How many groups are kept in one go.
const GROUPS: usize = 64;

/// Settles the copies among transcripts that were put, which are marked, given all that there are.
pub(super) fn settle_copies(
    store: &mut dyn Store,
    setup: &Setup<'_>,
    mut holders: Vec<Holding>,
    marks: &BTreeMap<String, i64>,
) -> Result<(), StoreError> {
    let topics = Arc::new(decisions(store)?);
    holders.retain(|holder| holder.is_newest && !holder.keys.is_empty());
    let keys: Vec<&[_]> = holders.iter().map(|holder| holder.keys.as_slice()).collect();
    let mut groups: Vec<Vec<&Holding>> = copies::groups(&keys)
        .into_iter()
        .map(|group| group.into_iter().map(|at| &holders[at]).collect())
        .filter(|group: &Vec<&Holding>| group.iter().any(|holder| marks.contains_key(&holder.path)))
        .collect();
    // The largest first, so that nobody is left with it at the end.
    groups.sort_by_key(|group| Reverse(group.iter().map(|holder| holder.keys.len()).sum::<usize>()));
    for groups in groups.chunks(GROUPS) {
        let settled = side_by_side(store, setup.jobs, groups, |store, group, window| {
            settled(store, setup, &topics, group, window)
        })?;
        let (entries, moved): (Vec<Vec<Entry>>, Vec<Vec<&str>>) = settled.into_iter().unzip();
        store.put_own(&entries.into_iter().flatten().collect::<Vec<_>>(), &moved.concat())?;
    }
    settle_second_hand(store, setup, &holders)
}

/// What is retold of a session and is on disk too is a copy: the agent's own transcript says more. There may be no keys to
/// tell by, where ids of messages and records were not retold; the session's own was.
fn settle_second_hand(store: &mut dyn Store, setup: &Setup<'_>, holders: &[Holding]) -> Result<(), StoreError> {
    let retold = second_hand(store)?;
    if retold.is_empty() {
        return Ok(());
    }
    let rows = store.sessions(&Query { subagents: true, without_facts: true, ..Query::default() })?;
    let rows = rows.iter().filter(|row| !row.session.recorded.is_empty());
    let (pulled, others): (Vec<&Row>, Vec<&Row>) = rows.partition(|row| retold.contains(&row.path));
    let others: HashSet<&str> = others.into_iter().map(|row| row.session.recorded.as_str()).collect();
    let copies: BTreeSet<&str> = pulled
        .into_iter()
        .filter(|row| others.contains(row.session.recorded.as_str()))
        .map(|row| row.path.as_str())
        .collect();
    let mut entries = Vec::new();
    for path in copies {
        let Some(file) = store.file(path)? else { continue };
        let mut entry = entry(file, Some(Role::Copy), Box::default(), setup);
        if let Ok(at) = holders.binary_search_by(|holder| holder.path.as_str().cmp(path)) {
            entry.keys.clone_from(&holders[at].keys);
        }
        entries.push(entry);
    }
    store.put_own(&entries, &[])
}

/// The transcripts of a group without what is not theirs, and those that can no longer be read and have nothing of their
/// own.
fn settled<'h>(
    store: &dyn Store,
    setup: &Setup<'_>,
    topics: &Arc<Decisions>,
    group: &[&'h Holding],
    window: &mut Window,
) -> Result<(Vec<Entry>, Vec<&'h str>), StoreError> {
    let (mut members, mut records) = (Vec::new(), Vec::new());
    let mut unreadable = Vec::new();
    for holder in group {
        let Some(file) = store.file(&holder.path)? else { continue };
        let input = match holder.role {
            Role::Forgotten => None,
            _ => open_known(store, setup.archive, &file)?,
        };
        let input = input.zip(Agent::named(&file.agent));
        match input.map(|(mut input, agent)| Ok((reader::records(agent, &mut *input, window)?, agent))) {
            Some(io::Result::Ok((read, agent))) => {
                members.push((*holder, file, agent));
                records.push(read);
            }
            // A copy had nothing of its own before, so there is nothing to be lost with it.
            _ if holder.role == Role::Copy => {}
            _ => unreadable.push(*holder),
        }
    }
    let within = |keys: &[Key], other: &Holding| keys.iter().all(|key| other.keys.binary_search(key).is_ok());
    // What can no longer be asked keeps what it gave, unless another holds all of it: then it was moved there.
    let (moved, gone): (Vec<&'h Holding>, Vec<&'h Holding>) = unreadable.into_iter().partition(|gone| {
        gone.role != Role::Forgotten && members.iter().any(|(member, ..)| within(&gone.keys, member))
    });
    let taken: KeySet<Key> = gone.iter().flat_map(|gone| gone.keys.iter().copied()).collect();

    let mut entries = Vec::new();
    for (at, ((holder, file, agent), mut foreign)) in members.iter().zip(copies::foreign(&records)).enumerate() {
        let records = &records[at];
        let open = || open_known(store, setup.archive, file);
        if !taken.is_empty()
            && let Some(mut input) = open()?
            && let Ok(copied) = reader::copied(*agent, &mut *input, window, &taken)
        {
            foreign.extend(copied);
        }
        let foreign: KeySet<Key> = foreign.into_iter().collect();
        let owns_nothing = if records.is_empty() {
            // Its records have no ids: it can only be a copy as a whole.
            let whole = |(other, (member, ..)): (usize, &(&Holding, _, _))| {
                other != at && within(&holder.keys, member) && (member.keys.len() > holder.keys.len() || other < at)
            };
            members.iter().enumerate().any(whole)
        } else {
            records.iter().all(|(key, _)| foreign.contains(key))
        };
        let mut transcript = Transcript::without(foreign.into_iter().collect()).by(*agent).knowing(topics);
        let Some(mut input) = open()? else { continue };
        if transcript.read(&mut *input, window, |_| {}).is_err() {
            continue;
        }
        let role = owns_nothing.then_some(Role::Copy);
        // Without a state to go on from: when it grows it is read as a whole, and its copies are settled again.
        if let Some(archive) = setup.archive {
            archive.drop_state(&file.path, file.version);
        }
        let mut entry = entry(file.clone(), role, transcript, setup);
        entry.keys.clone_from(&holder.keys);
        entries.push(entry);
    }
    Ok((entries, moved.into_iter().map(|holder| holder.path.as_str()).collect()))
}
