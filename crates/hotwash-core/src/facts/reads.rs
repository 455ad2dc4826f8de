//! Files read, and read again.

use super::Fold;
use super::calls::{KeyMap, OpenCall, Status};
use super::value::{Cited, Ratio, facts, ratio};
use crate::sessions::{Event, Kind, Outcome, Tool};
use serde::{Deserialize, Serialize};

/// A whole-file read of more lines than this is large.
const LARGE_LINES: u64 = 1000;

facts! {
    /// Files read.
    pub struct ReadFacts {
        /// Read calls that worked.
        /// Why: reading is how an agent learns the code, and what fills its context.
        /// Blind: files read through the shell.
        files_read: u64,
        /// Distinct files among them.
        /// Why: the breadth of the look.
        /// Blind: two paths to one file.
        unique_files_read: u64,
        /// Further reads of a file already read.
        /// Why: the context may already hold it.
        /// Blind: reads of another part count too; see the two facts below.
        rereads: Cited,
        /// Further reads of the same range of a file.
        /// Why: closer to waste than reading another part.
        /// Blind: ranges that overlap without being equal.
        rereads_same_range: Cited,
        /// Further reads of the same range with no edit of the file and no compaction in between.
        /// Why: the context already held exactly this.
        /// Blind: changes made outside the session.
        wasteful_rereads: Cited,
        /// Whole-file reads of more than 1,000 lines.
        /// Why: most of it is not needed, all of it is paid for.
        /// Blind: results whose length was not recorded.
        large_reads: Cited,
        /// Distinct files as a share of reads.
        /// Why: the seed's read efficiency.
        /// Blind: a file read in parts lowers it although nothing was wasted.
        read_efficiency: Ratio,
    }
}

/// The fold behind [`ReadFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reads {
    facts: ReadFacts,
    files: KeyMap<u64, File>,
    /// Counts what happens, so that moments can be compared.
    clock: u32,
    compacted: u32,
}

/// The first line and the number of lines asked for.
type Range = (Option<i64>, Option<i64>);

/// The ranges of a file that were read, each with the moment it was last read, and when the file last changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct File {
    ranges: Vec<(Range, u32)>,
    changed: u32,
}

impl Fold for Reads {
    type Facts = ReadFacts;

    fn said(&mut self, event: &Event<'_>) {
        if let Kind::Compaction(_) = event.kind {
            self.clock += 1;
            self.compacted = self.clock;
        }
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        let Some(call) = call.filter(|_| status == Status::Ok) else {
            return;
        };
        self.clock += 1;
        if !call.tool.touches() {
            return;
        }
        let file = self.files.entry(call.path_hash()).or_default();
        if call.tool != Tool::Read {
            file.changed = self.clock;
            return;
        }
        let facts = &mut self.facts;
        facts.files_read += 1;
        if call.range == (None, None) && outcome.lines_read.is_some_and(|lines| lines > LARGE_LINES) {
            facts.large_reads.push(call.id);
        }
        if file.ranges.is_empty() {
            facts.unique_files_read += 1;
        } else {
            facts.rereads.push(call.id);
        }
        let before = file.ranges.iter_mut().find(|(range, _)| *range == call.range);
        if let Some((_, moment)) = before {
            facts.rereads_same_range.push(call.id);
            if *moment > file.changed && *moment > self.compacted {
                facts.wasteful_rereads.push(call.id);
            }
            *moment = self.clock;
        } else {
            file.ranges.push((call.range, self.clock));
        }
    }

    fn finish(&mut self) -> ReadFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.read_efficiency = ratio(facts.unique_files_read, facts.files_read);
        facts
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;

    #[test]
    fn a_read_after_a_change_or_a_compaction_is_no_waste() {
        for (between, wasted) in [
            ("e3 says  hm", 1),
            ("e3 compact", 0),
            ("e3 Edit  a.rs -x +y\n e4 ok", 0),
            ("e3 Edit  b.rs -x +y\n e4 ok", 1),
            ("e3 Edit  a.rs -x +y\n e4 error not found", 1),
        ] {
            let facts = facts_of(&format!("e1 Read  a.rs\n e2 ok\n {between}\n e5 Read  a.rs\n e6 ok"));
            let reads = facts.reads;
            assert_eq!(reads.wasteful_rereads.count(), wasted, "{between}");
            assert_eq!((reads.files_read, reads.unique_files_read, reads.rereads.count()), (2, 1, 1));
            assert_eq!(reads.read_efficiency, Some(0.5));
        }
    }

    #[test]
    fn another_part_is_a_reread_but_not_the_same_range() {
        let facts = facts_of(
            "
            e1 Read  a.rs:1+50
            e2 ok
            e3 Read  a.rs:51+50
            e4 ok
        ",
        );
        assert_eq!((facts.reads.rereads.count(), facts.reads.rereads_same_range.count()), (1, 0));
    }

    #[test]
    fn no_read_no_efficiency() {
        assert_eq!(facts_of("e1 user hi").reads.read_efficiency, None);
    }
}
