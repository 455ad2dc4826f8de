//! Judges a block of sessions: their lines are looked for in everything that came later.
//!
//! Nearly no line is ever in danger, so only lines are looked at more closely that somebody may have taken out of a file
//! they were added to, or whose file somebody did something to as a whole.

use super::commits::Commits;
use super::fate::{self, Done, Hit, fate};
use super::fingerprint::{Added, FileChange, Fingerprint, LineChange, What};
use super::lines::Line;
use super::repository::FileKey;
use super::rule::{Revert, Rework, Settings, Taken};
use crate::sessions::{EventId, SessionId, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Sessions to be judged together, and all that may have done something to their lines.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// In the order of their ranks.
    targets: Vec<Target>,
    others: Vec<(u32, Fingerprint)>,
    commits: Commits,
}

#[derive(Debug)]
struct Target {
    rank: u32,
    until: Timestamp,
    print: Fingerprint,
}

/// A line that is watched.
#[derive(Debug)]
struct Slot {
    target: u32,
    added: Added,
}

/// What was done with a whole file to a line.
type Deeds = BTreeMap<u32, Vec<Hit>>;

impl Block {
    /// A block with these sessions to judge, in the order of their ranks: each with its rank, the end of its window and
    /// its fingerprint.
    pub(super) fn new(targets: Vec<(u32, Timestamp, Fingerprint)>) -> Block {
        debug_assert!(targets.is_sorted_by_key(|(rank, ..)| *rank), "targets stand by their ranks");
        let mut block = Block { targets: Vec::with_capacity(targets.len()), ..Block::default() };
        for (rank, until, print) in targets {
            block.commits.add(rank, &print);
            block.targets.push(Target { rank, until, print });
        }
        block
    }

    /// Whether a session is one of those to be judged.
    pub(super) fn judges(&self, rank: u32) -> bool {
        self.targets.binary_search_by_key(&rank, |target| target.rank).is_ok()
    }

    /// Takes in another session.
    pub(super) fn take(&mut self, rank: u32, print: Fingerprint) {
        self.commits.add(rank, &print);
        self.others.push((rank, print));
    }

    /// What became of the sessions' work, in the order in which they were given; nothing where nobody touched it.
    pub(super) fn judge(self, name: impl Fn(u32) -> SessionId, settings: &Settings) -> Vec<Option<Rework>> {
        let watched = self.watched();
        self.judge_by(watched, name, settings)
    }

    /// The same, by the fates of these lines of targets.
    fn judge_by(
        mut self,
        mut watched: Vec<(Line, u32)>,
        name: impl Fn(u32) -> SessionId,
        settings: &Settings,
    ) -> Vec<Option<Rework>> {
        self.commits.seal();
        watched.sort_unstable();
        watched.dedup();
        let slot = |(line, target)| {
            let added = self.targets[target as usize].print.added_line(line)?;
            Some(Slot { target, added })
        };
        let slots: Vec<Slot> = watched.into_iter().filter_map(slot).collect();
        let mut taken: BTreeMap<u32, BTreeMap<u32, (u32, Vec<EventId>)>> = BTreeMap::new();
        for (target, (rank, event)) in self.taken(&slots) {
            let (lines, events) = taken.entry(target).or_default().entry(rank).or_default();
            *lines += 1;
            events.push(event);
        }
        let judge = |(at, target): (u32, &Target)| {
            let taken = taken.remove(&at).unwrap_or_default();
            let undone = self.commits.undone(target.rank, target.until);
            if taken.is_empty() && undone.is_none() {
                return None;
            }
            let by: Vec<Taken> = taken
                .into_iter()
                .map(|(rank, (lines, mut events))| {
                    events.sort_unstable();
                    events.dedup();
                    Taken { session: name(rank), lines, events }
                })
                .collect();
            let revert = undone.map(|undone| Revert {
                commit: undone.commit.event,
                session: name(undone.by.rank),
                event: undone.by.event,
                dropped: undone.dropped,
            });
            let (added, removed) = (target.print.count_added() as u32, by.iter().map(|taken| taken.lines).sum());
            let enough = removed >= settings.min_lines && f64::from(removed) >= settings.share * f64::from(added);
            let reworked = removed > 0 && enough || revert.is_some();
            Some(Rework { added, removed, sampled: target.print.cut.is_some(), by, revert, reworked })
        };
        (0..).zip(&self.targets).map(judge).collect()
    }

    /// All sessions, those that are judged among them.
    fn prints(&self) -> impl Iterator<Item = (u32, &Fingerprint)> {
        let others = self.others.iter().map(|(rank, print)| (*rank, print));
        self.targets.iter().map(|target| (target.rank, &target.print)).chain(others)
    }

    /// Whether a session could do something to a line at that time.
    fn counts(&self, slot: &Slot, rank: u32, at: Timestamp) -> bool {
        let target = &self.targets[slot.target as usize];
        target.rank != rank && slot.added.at < at && at <= target.until
    }

    /// The lines of targets that may be in danger, and perhaps some more, in any order.
    fn watched(&self) -> Vec<(Line, u32)> {
        let mut removed = HashSet::new();
        let (mut files, mut trees) = (HashSet::new(), HashSet::new());
        for (_, print) in self.prints() {
            for file in &print.files {
                let gone = file.lines.iter().filter(|change| change.net < 0);
                removed.extend(gone.map(|change| (file.file, change.line)));
            }
            for act in &print.acts {
                match act.what {
                    What::Discard(file) | What::Remove(file) | What::Move(file, _) => {
                        files.insert(file);
                    }
                    What::DiscardAll => {
                        trees.insert(print.tree);
                    }
                    _ => {}
                }
            }
        }
        let mut watched = Vec::new();
        for (at, Target { print, .. }) in (0..).zip(&self.targets) {
            let all = trees.contains(&print.tree);
            for file in &print.files {
                let all = all || files.contains(&file.file);
                let added = file.lines.iter().filter(|change| change.net > 0);
                let watch = added.filter(|change| all || removed.contains(&(file.file, change.line)));
                watched.extend(watch.map(|change| (change.line, at)));
            }
        }
        watched
    }

    /// Follows lines, and says of which session's lines somebody removed the last copy, and where.
    fn taken(&self, slots: &[Slot]) -> Vec<(u32, (u32, EventId))> {
        let (deeds, history) = (self.deeds(slots), self.history(slots));
        let mut taken = Vec::new();
        let mut history = history.chunk_by(|a, b| a.0 == b.0).peekable();
        for (at, of_line) in by_line(slots) {
            let line = of_line[0].added.line;
            let mut hits = Vec::new();
            while let Some(of_line) = history.next_if(|of_line| of_line[0].0 <= line) {
                if of_line[0].0 == line {
                    hits = of_line.iter().map(|(_, hit)| *hit).collect();
                    fate::sort(&mut hits);
                }
            }
            let sessions: Vec<&[Hit]> = fate::sessions(&hits).collect();
            for (at, slot) in (at..).zip(of_line) {
                let from = sessions.partition_point(|session| fate::last(session).0 <= slot.added.at);
                let later = sessions[from..].iter().copied();
                let deeds = deeds.get(&at);
                if deeds.is_none() && !later.clone().flatten().any(|hit| self.endangers(hit, slot)) {
                    continue;
                }
                let counts = later.filter(|session| {
                    let (at, rank) = fate::last(session);
                    self.counts(slot, rank, at)
                });
                let gone = match deeds {
                    None => fate(slot.added.homes(), counts),
                    Some(deeds) => {
                        let mut hits: Vec<Hit> = counts.flatten().chain(deeds).copied().collect();
                        fate::sort(&mut hits);
                        fate(slot.added.homes(), fate::sessions(&hits))
                    }
                };
                taken.extend(gone.map(|gone| (slot.target, gone)));
            }
        }
        taken
    }

    /// Whether somebody took a line out of a file that it was added to.
    fn endangers(&self, hit: &Hit, slot: &Slot) -> bool {
        let Done::Changed(file, net) = hit.done else { return false };
        net < 0 && self.counts(slot, hit.rank, hit.at) && slot.added.homes().any(|(home, _)| home == file)
    }

    /// All that was done to any of these lines, by line.
    fn history(&self, slots: &[Slot]) -> Vec<(Line, Hit)> {
        let mut history: Vec<(Line, Hit)> = Vec::new();
        let watched: HashSet<Line> = slots.iter().map(|slot| slot.added.line).collect();
        for (rank, print) in self.prints() {
            for FileChange { file, lines, .. } in &print.files {
                for &LineChange { line, net, event, at } in lines {
                    if watched.contains(&line) {
                        history.push((line, Hit { rank, at, event, done: Done::Changed(*file, net) }));
                    }
                }
            }
        }
        history.sort_unstable_by_key(|(line, hit)| (*line, hit.rank, hit.at, hit.event));
        history
    }

    /// What was done to lines by throwing their files away, deleting or moving them.
    fn deeds(&self, slots: &[Slot]) -> Deeds {
        let mut holders: HashMap<FileKey, Vec<u32>> = HashMap::new();
        let mut trees: HashMap<u64, Vec<u32>> = HashMap::new();
        for (at, slot) in (0..).zip(slots) {
            trees.entry(self.targets[slot.target as usize].print.tree).or_default().push(at);
            for (home, _) in slot.added.homes() {
                holders.entry(home).or_default().push(at);
            }
        }
        let mut deeds = Deeds::new();
        for (rank, print) in self.prints() {
            for act in &print.acts {
                let (file, slots_of) = match act.what {
                    What::Discard(file) | What::Remove(file) | What::Move(file, _) => (Some(file), holders.get(&file)),
                    What::DiscardAll => (None, trees.get(&print.tree)),
                    _ => continue,
                };
                for &at in slots_of.into_iter().flatten() {
                    let slot = &slots[at as usize];
                    if !self.counts(slot, rank, act.at) {
                        continue;
                    }
                    let target = &self.targets[slot.target as usize];
                    let homes = slot.added.homes().map(|(home, _)| home);
                    for home in homes.filter(|home| file.is_none_or(|file| file == *home)) {
                        let done = match act.what {
                            What::Move(from, to) => Done::Moved(from, to),
                            What::Remove(_) => Done::Gone(home),
                            _ if self.uncommitted(target, slot, home, print.tree, act.at) => Done::Gone(home),
                            _ => continue,
                        };
                        deeds.entry(at).or_default().push(Hit { rank, at: act.at, event: act.event, done });
                    }
                }
            }
        }
        deeds
    }

    /// Whether git may not have had a line yet when files of a working tree were put back: git keeps what it has, and
    /// does not touch files that it does not know.
    fn uncommitted(&self, target: &Target, slot: &Slot, home: FileKey, tree: u64, at: Timestamp) -> bool {
        let created = target.print.files.iter().any(|file| file.file == home && file.created);
        !created && target.print.tree == tree && !self.commits.any_between(tree, slot.added.at, at)
    }
}

/// Slots of the same line, each time with the place of the first.
fn by_line(slots: &[Slot]) -> impl Iterator<Item = (u32, &[Slot])> {
    let mut next = 0;
    slots.chunk_by(|a, b| a.added.line == b.added.line).map(move |of_line| {
        let at = next;
        next += of_line.len() as u32;
        (at, of_line)
    })
}

#[cfg(test)]
pub(super) mod prism_rework {
    use super::*;

    /// Judges by all lines that sessions added, in danger or not.
    pub(crate) fn judge_plainly(
        block: Block,
        name: impl Fn(u32) -> SessionId,
        settings: &Settings,
    ) -> Vec<Option<Rework>> {
        let lines = (0..).zip(&block.targets);
        let all = lines.flat_map(|(at, target)| target.print.added().into_iter().map(move |added| (added.line, at)));
        let all = all.collect();
        block.judge_by(all, name, settings)
    }
}
