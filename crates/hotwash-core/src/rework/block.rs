//! Judges a block of sessions: their lines are looked for in everything that came later.
//!
//! Lines such as `return None` are in half of all sessions, and nearly none of them are ever in danger. So what was
//! done to a line is told only for lines that somebody took out of a file they were added to.

use super::commits::Commits;
use super::fate::{self, Done, Hit, fate};
use super::fingerprint::{Added, Fingerprint, What};
use super::lines::Line;
use super::repository::FileKey;
use super::rule::{Revert, Rework, Settings, Taken};
use crate::sessions::{EventId, SessionId, Timestamp};
use std::collections::{BTreeMap, HashMap};

/// Sessions to be judged together, and all that may have done something to their lines.
#[derive(Debug, Default)]
pub(super) struct Block {
    targets: Vec<Target>,
    /// Where in `targets` a session is, by its rank.
    places: HashMap<u32, u32>,
    /// The lines that are watched, by their hashes.
    slots: Vec<Slot>,
    others: Vec<(u32, Fingerprint)>,
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
    /// Somebody took it out of a file.
    in_danger: bool,
}

/// What was done with a whole file to a line.
type Deeds = BTreeMap<u32, Vec<Hit>>;

impl Block {
    /// A block with these sessions to judge: each with its rank, the end of its window and its fingerprint.
    pub(super) fn new(targets: Vec<(u32, Timestamp, Fingerprint)>) -> Block {
        let mut block = Block::default();
        let mut slots = Vec::new();
        for (rank, until, print) in targets {
            let target = block.targets.len() as u32;
            block.places.insert(rank, target);
            block.commits.add(rank, &print);
            let added = print.added();
            block.targets.push(Target { rank, until, print, slots: Vec::with_capacity(added.len()) });
            slots.extend(added.into_iter().map(|added| Some(Slot { target, added, in_danger: false })));
        }
        // By line, then by target, in one number: slots are large, and those of a target stand together.
        let line_of = |slot: &Option<Slot>| slot.as_ref().map_or(0, |slot| u64::from(slot.added.line.number()));
        let mut order: Vec<u64> = (0..).zip(&slots).map(|(at, slot)| line_of(slot) << 32 | at).collect();
        order.sort_unstable();
        block.slots.extend(order.into_iter().filter_map(|place| slots[(place as u32) as usize].take()));
        for (at, slot) in (0..).zip(&block.slots) {
            block.targets[slot.target as usize].slots.push(at);
        }
        block
    }

    /// Whether a session is one of those to be judged.
    pub(super) fn judges(&self, rank: u32) -> bool {
        self.places.contains_key(&rank)
    }

    /// Takes in another session.
    pub(super) fn take(&mut self, rank: u32, print: Fingerprint) {
        self.commits.add(rank, &print);
        self.others.push((rank, print));
    }

    /// What became of the sessions' work, in the order in which they were given.
    pub(super) fn judge(mut self, name: impl Fn(u32) -> SessionId, settings: &Settings) -> Vec<Rework> {
        self.commits.seal();
        let deeds = self.deeds();
        self.find_danger();
        let mut taken: Vec<BTreeMap<u32, (u32, Vec<EventId>)>> = vec![BTreeMap::new(); self.targets.len()];
        for (target, (rank, event)) in self.taken(&deeds) {
            let (lines, events) = taken[target as usize].entry(rank).or_default();
            *lines += 1;
            events.push(event);
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
            let revert = self.commits.undone(target.rank, target.until).map(|undone| Revert {
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
        self.targets.iter().zip(taken).map(judge).collect()
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

    /// Marks the lines that somebody took out of a file they were added to.
    fn find_danger(&mut self) {
        let homes = self.slots.iter().zip(0..).flat_map(|(slot, at): (&Slot, u32)| {
            slot.added.homes().map(move |(file, _)| ((slot.added.line, file), at))
        });
        let mut homes: Vec<((Line, FileKey), u32)> = homes.collect();
        // Slots stand by their lines.
        for homes in homes.chunk_by_mut(|a, b| a.0.0 == b.0.0).filter(|homes| homes.len() > 1) {
            homes.sort_unstable();
        }
        let table = Table::new(homes.iter().map(|((line, _), _)| *line));
        let mut in_danger = Vec::new();
        for (rank, print) in self.prints() {
            for (file, change) in print.lines().filter(|(_, change)| change.net < 0) {
                let near = homes.get(table.near(change.line)).unwrap_or_default();
                let first = near.partition_point(|(home, _)| *home < (change.line, file));
                let here = near[first..].iter().take_while(|(home, _)| *home == (change.line, file));
                let counts = here.filter(|(_, slot)| self.counts(&self.slots[*slot as usize], rank, change.at));
                in_danger.extend(counts.map(|(_, slot)| *slot));
            }
        }
        for slot in in_danger {
            self.slots[slot as usize].in_danger = true;
        }
    }

    /// Follows the lines that are in danger, and says of which session's lines somebody removed the last copy, and
    /// where.
    fn taken(&self, deeds: &Deeds) -> Vec<(u32, (u32, EventId))> {
        let watched: Vec<u32> = (0..)
            .zip(&self.slots)
            .filter(|(at, slot)| slot.in_danger || deeds.contains_key(at))
            .map(|(at, _)| at)
            .collect();
        let line_of = |slot: &u32| self.slots[*slot as usize].added.line;
        let table = Table::new(watched.iter().map(line_of));
        // All that was done to any of these lines, by line.
        let mut history: Vec<(Line, Hit)> = Vec::new();
        for (rank, print) in self.prints() {
            for (file, change) in print.lines() {
                let near = watched.get(table.near(change.line)).unwrap_or_default();
                if near.iter().any(|slot| line_of(slot) == change.line) {
                    let done = Done::Changed(file, change.net);
                    history.push((change.line, Hit { rank, at: change.at, event: change.event, done }));
                }
            }
        }
        history.sort_unstable_by_key(|(line, hit)| (*line, hit.rank, hit.at, hit.event));
        let mut taken = Vec::new();
        let mut history = history.chunk_by(|a, b| a.0 == b.0).peekable();
        for slots in watched.chunk_by(|a, b| line_of(a) == line_of(b)) {
            let line = line_of(&slots[0]);
            let mut hits = Vec::new();
            while let Some(of_line) = history.next_if(|of_line| of_line[0].0 <= line) {
                if of_line[0].0 == line {
                    hits = of_line.iter().map(|(_, hit)| *hit).collect();
                    fate::sort(&mut hits);
                }
            }
            let sessions: Vec<&[Hit]> = fate::sessions(&hits).collect();
            for &at in slots {
                let slot = &self.slots[at as usize];
                let from = sessions.partition_point(|session| fate::last(session).0 <= slot.added.at);
                let later = sessions[from..].iter().copied();
                let counts = later.filter(|session| {
                    let (at, rank) = fate::last(session);
                    self.counts(slot, rank, at)
                });
                let gone = match deeds.get(&at) {
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

    /// What was done to lines by throwing their files away, deleting or moving them.
    fn deeds(&self) -> Deeds {
        let mut holders: HashMap<FileKey, Vec<&Target>> = HashMap::new();
        let mut trees: HashMap<u64, Vec<&Target>> = HashMap::new();
        for target in &self.targets {
            trees.entry(target.print.tree).or_default().push(target);
            for file in &target.print.files {
                holders.entry(file.file).or_default().push(target);
            }
        }
        let mut deeds = Deeds::new();
        for (rank, print) in self.prints() {
            for act in &print.acts {
                let (file, targets) = match act.what {
                    What::Discard(file) | What::Remove(file) | What::Move(file, _) => (Some(file), holders.get(&file)),
                    What::DiscardAll => (None, trees.get(&print.tree)),
                    _ => continue,
                };
                for target in targets.into_iter().flatten().filter(|target| act.at <= target.until) {
                    for &at in &target.slots {
                        let slot = &self.slots[at as usize];
                        if !self.counts(slot, rank, act.at) {
                            continue;
                        }
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

/// Where in a sorted list the lines with the same first bits are. Hashes are spread evenly, so that their first bits
/// are a table as good as any.
struct Table {
    starts: Vec<u32>,
    shift: u32,
}

impl Table {
    fn new(lines: impl ExactSizeIterator<Item = Line>) -> Table {
        let length = lines.len();
        let bits = length.next_power_of_two().trailing_zeros().min(24);
        let mut table = Table { starts: Vec::with_capacity((1 << bits) + 1), shift: 31 - bits };
        for (at, line) in (0..).zip(lines) {
            let first = (line.number() >> table.shift) as usize + 1;
            if first > table.starts.len() {
                table.starts.resize(first, at);
            }
        }
        table.starts.resize((1 << bits) + 1, length as u32);
        table
    }

    fn near(&self, line: Line) -> std::ops::Range<usize> {
        let at = (line.number() >> self.shift) as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }
}
