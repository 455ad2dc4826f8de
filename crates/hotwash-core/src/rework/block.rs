//! Judges a block of sessions: their lines are looked for in everything that came later.

use super::commits::Commits;
use super::fate::{Done, Hit, fate};
use super::fingerprint::{Added, Fingerprint, What};
use super::repository::FileKey;
use super::rule::{Revert, Rework, Settings, Taken};
use crate::sessions::{EventId, SessionId, Timestamp};
use std::collections::{BTreeMap, HashMap};

/// Sessions to be judged together, and what later ones did to their lines.
#[derive(Debug, Default)]
pub(super) struct Block {
    targets: Vec<Target>,
    /// Where in `targets` a session is, by its rank.
    places: HashMap<u32, u32>,
    /// The lines that are watched, by their hashes.
    slots: Vec<Slot>,
    /// Where the slots of the lines with the same first bits begin.
    starts: Vec<u32>,
    /// How far a line is shifted to leave those bits.
    shift: u32,
    hits: Vec<Hit>,
    /// Files that sessions threw away, deleted or moved.
    deeds: Vec<Deed>,
    commits: Commits,
}

#[derive(Debug)]
struct Target {
    rank: u32,
    until: Timestamp,
    print: Fingerprint,
    /// Its lines, by their places among the slots.
    slots: Vec<u32>,
}

/// A line that is watched.
#[derive(Debug)]
struct Slot {
    target: u32,
    added: Added,
}

#[derive(Clone, Copy, Debug)]
struct Deed {
    rank: u32,
    tree: u64,
    at: Timestamp,
    event: EventId,
    what: What,
}

impl Block {
    /// A block with these sessions to judge: each with its rank, the end of its window and its fingerprint.
    pub(super) fn new(targets: Vec<(u32, Timestamp, Fingerprint)>) -> Block {
        let mut block = Block::default();
        for (rank, until, print) in targets {
            let target = block.targets.len() as u32;
            block.places.insert(rank, target);
            block.slots.extend(print.added().into_iter().map(|added| Slot { target, added }));
            block.targets.push(Target { rank, until, print, slots: Vec::new() });
        }
        block.slots.sort_by_key(|slot| (slot.added.line, slot.target));
        for (at, slot) in block.slots.iter().enumerate() {
            block.targets[slot.target as usize].slots.push(at as u32);
        }
        // Hashes are spread evenly, so that their first bits are a table as good as any.
        let bits = block.slots.len().next_power_of_two().trailing_zeros().min(24);
        block.shift = 31 - bits;
        block.starts = Vec::with_capacity((1 << bits) + 1);
        for (at, slot) in block.slots.iter().enumerate() {
            block.starts.resize((slot.added.line.number() >> block.shift) as usize + 1, at as u32);
        }
        block.starts.resize((1 << bits) + 1, block.slots.len() as u32);
        block
    }

    /// Takes in a session that may have done something to those lines; also one that is judged itself.
    pub(super) fn take(&mut self, rank: u32, print: &Fingerprint) {
        let (tree, own) = (print.tree, self.places.get(&rank).copied());
        for (file, change) in print.lines() {
            let at = (change.line.number() >> self.shift) as usize;
            let near = self.starts[at]..self.starts[at + 1];
            for slot in near {
                let it = &self.slots[slot as usize];
                if it.added.line == change.line
                    && Some(it.target) != own
                    && it.added.at < change.at
                    && change.at <= self.targets[it.target as usize].until
                {
                    let done = Done::Changed(file, change.net);
                    self.hits.push(Hit { slot, rank, at: change.at, event: change.event, done });
                }
            }
        }
        let whole_files = print
            .acts
            .iter()
            .filter(|act| matches!(act.what, What::Discard(_) | What::DiscardAll | What::Remove(_) | What::Move(..)));
        self.deeds.extend(whole_files.map(|act| Deed { rank, tree, at: act.at, event: act.event, what: act.what }));
        self.commits.add(rank, print);
    }

    /// Takes in a session that is judged itself.
    pub(super) fn take_own(&mut self, rank: u32) -> bool {
        let Some(&target) = self.places.get(&rank) else {
            return false;
        };
        let print = std::mem::take(&mut self.targets[target as usize].print);
        self.take(rank, &print);
        self.targets[target as usize].print = print;
        true
    }

    /// What became of the sessions' work, in the order in which they were given.
    pub(super) fn judge(mut self, name: impl Fn(u32) -> SessionId, settings: &Settings) -> Vec<Rework> {
        self.commits.seal();
        self.find_files();
        let Block { targets, slots, mut hits, commits, .. } = self;
        hits.sort_unstable_by_key(|hit| hit.slot);
        let mut taken: Vec<BTreeMap<u32, (u32, Vec<EventId>)>> = vec![BTreeMap::new(); targets.len()];
        for hits in hits.chunk_by_mut(|a, b| a.slot == b.slot) {
            let Some(slot) = hits.first().and_then(|hit| slots.get(hit.slot as usize)) else { continue };
            if let Some((rank, event)) = fate(&slot.added.homes, hits) {
                let (lines, events) = taken[slot.target as usize].entry(rank).or_default();
                *lines += 1;
                events.push(event);
            }
        }
        let judge = |(target, taken): (&Target, BTreeMap<u32, (u32, Vec<EventId>)>)| {
            let by: Vec<Taken> = taken
                .into_iter()
                .map(|(rank, (lines, mut events))| {
                    events.sort_unstable();
                    events.dedup();
                    Taken { session: name(rank), lines, events }
                })
                .collect();
            let revert = commits.undone(target.rank, target.until).map(|undone| Revert {
                commit: undone.commit.event,
                session: name(undone.by.rank),
                event: undone.by.event,
                dropped: undone.dropped,
            });
            let (added, removed) = (target.slots.len() as u32, by.iter().map(|taken| taken.lines).sum());
            let enough = removed >= settings.min_lines && f64::from(removed) >= settings.share * f64::from(added);
            let reworked = removed > 0 && enough || revert.is_some();
            Rework { added, removed, sampled: target.print.cut.is_some(), by, revert, reworked }
        };
        targets.iter().zip(taken).map(judge).collect()
    }

    /// Tells the lines of files that were thrown away, deleted or moved.
    fn find_files(&mut self) {
        let mut holders: HashMap<FileKey, Vec<u32>> = HashMap::new();
        let mut trees: HashMap<u64, Vec<u32>> = HashMap::new();
        for (at, target) in (0..).zip(&self.targets) {
            trees.entry(target.print.tree).or_default().push(at);
            for file in &target.print.files {
                holders.entry(file.file).or_default().push(at);
            }
        }
        for deed in std::mem::take(&mut self.deeds) {
            let (file, candidates) = match deed.what {
                What::Discard(file) | What::Remove(file) | What::Move(file, _) => (Some(file), holders.get(&file)),
                _ => (None, trees.get(&deed.tree)),
            };
            for &at in candidates.into_iter().flatten() {
                let target = &self.targets[at as usize];
                if target.rank != deed.rank && deed.at <= target.until {
                    let hits = target.slots.iter().flat_map(|&slot| self.hits_of(target, slot, file, &deed));
                    self.hits.extend(hits.collect::<Vec<_>>());
                }
            }
        }
    }

    /// What was done to a line with its file, or with all files.
    fn hits_of(&self, target: &Target, slot: u32, file: Option<FileKey>, deed: &Deed) -> Vec<Hit> {
        let it = &self.slots[slot as usize].added;
        let homes = it.homes.iter().map(|(home, _)| *home).filter(|home| file.is_none_or(|file| file == *home));
        let touches = |home: &FileKey| match deed.what {
            What::Discard(_) | What::DiscardAll => {
                // Git keeps what it has, and does not touch what it does not know.
                let created = target.print.files.iter().any(|file| file.file == *home && file.created);
                !created && target.print.tree == deed.tree && !self.commits.any_between(deed.tree, it.at, deed.at)
            }
            _ => true,
        };
        let done = |home| match deed.what {
            What::Move(from, to) => Done::Moved(from, to),
            _ => Done::Gone(home),
        };
        let hit = |home| Hit { slot, rank: deed.rank, at: deed.at, event: deed.event, done: done(home) };
        if it.at < deed.at { homes.filter(touches).map(hit).collect() } else { Vec::new() }
    }
}
