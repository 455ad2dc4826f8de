//! Gives copied events to the transcript that owns them.

use super::entry::entry;
use super::{Setup, open_transcript};
use crate::sources::claude_code::read::{Transcript, Window};
use crate::sources::{Agent, claude_code, langfuse};
use crate::stores::{Holder, Role, Store, StoreError};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::sessions::topic::Decisions;
use hotwash_core::sessions::{Key, copies};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Settles the copies among transcripts that were put. Says which others that has changed.
pub(super) fn settle_copies(
    store: &mut Store,
    setup: &Setup<'_>,
    unsettled: &BTreeMap<String, i64>,
) -> Result<BTreeSet<String>, StoreError> {
    let holders = store.holders()?;
    let topics = Arc::new(store.decisions()?);
    let keys: Vec<&[_]> = holders.iter().map(|holder| holder.keys.as_slice()).collect();
    let mut changed = BTreeSet::new();
    for group in copies::groups(&keys) {
        let group: Vec<&Holder> = group.into_iter().map(|at| &holders[at]).collect();
        if group.iter().any(|holder| unsettled.contains_key(&holder.path)) {
            settle_group(store, setup, &topics, &group)?;
            changed.extend(group.iter().map(|holder| holder.path.clone()));
        }
    }
    if holders.iter().any(|holder| Agent::of(holder.path.as_ref()) == Agent::Langfuse) {
        changed.extend(settle_pulled(store, setup, &holders)?);
    }
    Ok(changed)
}

/// What was pulled from Langfuse and is on disk too is a copy: the transcript says more. There are no keys to tell by,
/// because Langfuse has no ids of messages and records; it has the session's own.
fn settle_pulled(store: &mut Store, setup: &Setup<'_>, holders: &[Holder]) -> Result<Vec<String>, StoreError> {
    let (_, copies) = store.recorded_besides(langfuse::ENDING)?;
    let mut entries = Vec::new();
    for path in &copies {
        let Some(file) = store.file(path)? else { continue };
        let (mut entry, _) = entry(file, Some(Role::Copy), &Transcript::default(), setup);
        if let Ok(at) = holders.binary_search_by(|holder| holder.path.cmp(path)) {
            entry.keys.clone_from(&holders[at].keys);
        }
        entries.push(entry);
    }
    if !entries.is_empty() {
        store.put_own(&entries, &[])?;
    }
    Ok(copies)
}

fn settle_group(
    store: &mut Store,
    setup: &Setup<'_>,
    topics: &Arc<Decisions>,
    group: &[&Holder],
) -> Result<(), StoreError> {
    let mut members = Vec::new();
    let mut unreadable = Vec::new();
    for holder in group {
        let Some(file) = store.file(&holder.path)? else { continue };
        let input = match holder.role {
            Role::Forgotten => None,
            _ => open_transcript(store, setup.archive, &holder.path, file.version)?,
        };
        match input.map(|mut input| claude_code::read::records(Agent::of(holder.path.as_ref()), &mut *input)) {
            Some(Ok(records)) => members.push((*holder, file, records)),
            // A copy had nothing of its own before, so there is nothing to be lost with it.
            _ if holder.role == Role::Copy => {}
            _ => unreadable.push(*holder),
        }
    }
    let within = |keys: &[Key], other: &Holder| keys.iter().all(|key| other.keys.binary_search(key).is_ok());
    // What can no longer be asked keeps what it gave, unless another holds all of it: then it was moved there.
    let (moved, gone): (Vec<&Holder>, Vec<&Holder>) = unreadable.into_iter().partition(|gone| {
        gone.role != Role::Forgotten && members.iter().any(|(member, ..)| within(&gone.keys, member))
    });
    let taken: KeySet<Key> = gone.iter().flat_map(|gone| gone.keys.iter().copied()).collect();

    let records: Vec<_> = members.iter().map(|(.., records)| records.clone()).collect();
    let mut entries = Vec::new();
    for (at, ((holder, file, records), mut foreign)) in members.iter().zip(copies::foreign(&records)).enumerate() {
        let agent = Agent::of(file.path.as_ref());
        let open = || open_transcript(store, setup.archive, &file.path, file.version);
        if !taken.is_empty()
            && agent == Agent::ClaudeCode
            && let Some(mut input) = open()?
            && let Ok(copied) = claude_code::read::copied(&mut *input, &taken)
        {
            foreign.extend(copied);
        }
        let Some(mut input) = open()? else { continue };
        let foreign: HashSet<Key> = foreign.into_iter().collect();
        let owns_nothing = if records.is_empty() {
            // Its records have no ids: it can only be a copy as a whole.
            let whole = |(other, (member, ..)): (usize, &(&Holder, _, _))| {
                other != at && within(&holder.keys, member) && (member.keys.len() > holder.keys.len() || other < at)
            };
            members.iter().enumerate().any(whole)
        } else {
            records.iter().all(|(key, _)| foreign.contains(key))
        };
        let mut transcript = Transcript::without(foreign.into_iter().collect()).by(agent).knowing(topics);
        if transcript.read(&mut *input, &mut Window::default(), |_| {}).is_err() {
            continue;
        }
        let role = owns_nothing.then_some(Role::Copy);
        // Without a state to go on from: when it grows it is read as a whole, and its copies are settled again.
        if let Some(archive) = setup.archive {
            archive.drop_state(&file.path, file.version);
        }
        let (mut entry, _) = entry(file.clone(), role, &transcript, setup);
        entry.keys.clone_from(&holder.keys);
        entries.push(entry);
    }
    let moved: Vec<&str> = moved.into_iter().map(|holder| holder.path.as_str()).collect();
    store.put_own(&entries, &moved)
}
