//! What many changes of a file come to: a later change of lines that an earlier one added is merged into it, and a
//! change that is undone vanishes.
//!
//! A patch is recorded without line numbers, so its place is found by its lines. Where they are not found, because
//! something else changed the file in between, the patch stands beside the others as it was made.

use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// How much of one file is kept, in bytes. What comes after that is counted.
const MOST: usize = 400_000;

/// How many lines in a row stand between two hunks at least.
const BETWEEN: usize = 6;

/// A line of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    sign: Sign,
    hash: u64,
    text: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Same,
    Added,
    Removed,
}

impl Row {
    fn new(sign: Sign, text: &str) -> Row {
        // Patches are recorded with two spaces for each tab.
        let hash =
            if text.contains('\t') { xxh3_64(text.replace('\t', "  ").as_bytes()) } else { xxh3_64(text.as_bytes()) };
        Row { sign, hash, text: text.into() }
    }
}

/// Lines that follow each other.
#[derive(Clone, Debug, Default)]
struct Hunk(Vec<Row>);

impl Hunk {
    /// Its lines as they are now, with their places among the rows.
    fn now(&self) -> Vec<(usize, u64)> {
        let rows = self.0.iter().enumerate();
        rows.filter(|(_, row)| row.sign != Sign::Removed).map(|(at, row)| (at, row.hash)).collect()
    }

    fn changes(&self) -> bool {
        self.0.iter().any(|row| row.sign != Sign::Same)
    }
}

/// All changes of a file so far, as one.
#[derive(Clone, Debug, Default)]
pub(super) struct Net {
    hunks: Vec<Hunk>,
    /// It was not there before.
    pub(super) created: bool,
    bytes: usize,
    /// Bytes that found no room.
    pub(super) cut: usize,
}

impl Net {
    /// The whole content was written: of a new file, or over what was known whole.
    pub(super) fn write(&mut self, content: &str, created: bool) {
        self.created |= created;
        self.bytes = 0;
        self.cut = 0;
        let mut hunk = Hunk::default();
        for line in content.lines() {
            self.push(&mut hunk, Row::new(Sign::Added, line));
        }
        self.hunks = vec![hunk];
    }

    /// A patch was made, line by line with signs.
    pub(super) fn patch<'l>(&mut self, lines: impl Iterator<Item = &'l str>) {
        let mut rows = Hunk::default();
        for line in lines {
            let sign = match line.as_bytes().first() {
                Some(b'+') => Sign::Added,
                Some(b'-') => Sign::Removed,
                Some(b'\\') => continue,
                _ => Sign::Same,
            };
            self.push(&mut rows, Row::new(sign, line.get(1..).unwrap_or_default()));
        }
        for hunk in split(rows.0) {
            self.apply(hunk);
        }
    }

    /// Nothing is left of it.
    pub(super) fn clear(&mut self) {
        *self = Net::default();
    }

    fn push(&mut self, hunk: &mut Hunk, row: Row) {
        if self.bytes + row.text.len() > MOST {
            self.cut += row.text.len();
        } else {
            self.bytes += row.text.len() + 1;
            hunk.0.push(row);
        }
    }

    fn apply(&mut self, hunk: Hunk) {
        let before: Vec<u64> = hunk.0.iter().filter(|row| row.sign != Sign::Added).map(|row| row.hash).collect();
        // Where the hunks so far lie in the lines that this one found, and which rows they are.
        let mut places: Vec<(isize, usize)> = Vec::new();
        for (number, earlier) in self.hunks.iter().enumerate() {
            if let Some(place) = meets(&earlier.now(), earlier, &before) {
                places.push((place, number));
            }
        }
        places.sort_unstable();
        if places.is_empty() {
            self.hunks.push(hunk);
            return;
        }
        // What was there, as one stretch: the hunks so far, and between them what this one found.
        let mut middle: Vec<Row> = Vec::new();
        let mut at = 0isize;
        let mut merged_in: Vec<usize> = Vec::new();
        let start = places.first().map_or(0, |(place, _)| (*place).min(0));
        for (place, number) in &places {
            let Some(earlier) = self.hunks.get(*number) else { continue };
            if *place < at && at > 0 {
                continue; // lies over another one: it cannot be both, and stays as it is
            }
            merged_in.push(*number);
            middle.extend(same(&hunk, at.max(0)..*place));
            middle.extend(earlier.0.iter().cloned());
            at = place + earlier.now().len() as isize;
        }
        middle.extend(same(&hunk, at.max(0)..before.len() as isize));
        let merged = compose(middle, hunk.0, start.unsigned_abs());
        let first = merged_in.iter().copied().min().unwrap_or_default();
        let mut number = 0;
        self.hunks.retain(|_| {
            number += 1;
            number - 1 == first || !merged_in.contains(&(number - 1))
        });
        if let Some(place) = self.hunks.get_mut(first) {
            *place = settled(merged);
        }
        self.hunks.retain(|hunk| hunk.changes() || hunk.0.is_empty());
    }

    /// Lines added and removed.
    pub(super) fn count(&self) -> (usize, usize) {
        let count = |sign| self.hunks.iter().flat_map(|hunk| &hunk.0).filter(|row| row.sign == sign).count();
        (count(Sign::Added), count(Sign::Removed))
    }

    /// The content of a file that is known whole.
    pub(super) fn content(&self) -> Option<String> {
        match self.hunks.as_slice() {
            [only] if self.created && only.0.iter().all(|row| row.sign == Sign::Added) => {
                Some(only.0.iter().flat_map(|row| [&*row.text, "\n"]).collect())
            }
            _ => None,
        }
    }

    /// As a diff without line numbers.
    pub(super) fn diff(&self) -> String {
        let mut out = String::new();
        for hunk in self.hunks.iter().filter(|hunk| hunk.changes()) {
            if !out.is_empty() {
                out.push_str("@@\n");
            }
            for row in trimmed(&hunk.0) {
                out.push(match row.sign {
                    Sign::Same => ' ',
                    Sign::Added => '+',
                    Sign::Removed => '-',
                });
                out.push_str(&row.text);
                out.push('\n');
            }
        }
        out
    }
}

/// Lines of a hunk as it found them, at some places.
fn same(hunk: &Hunk, places: Range<isize>) -> impl Iterator<Item = Row> {
    let found = hunk.0.iter().filter(|row| row.sign != Sign::Added);
    let (from, to) = (places.start.max(0) as usize, places.end.max(0) as usize);
    found.skip(from).take(to.saturating_sub(from)).map(|row| Row { sign: Sign::Same, ..row.clone() })
}

/// A patch holds its hunks one after the other. Hunks are apart by more lines than they show.
fn split(rows: Vec<Row>) -> Vec<Hunk> {
    let mut hunks = vec![Hunk::default()];
    let mut quiet = 0;
    let mut rows = rows.into_iter().peekable();
    while let Some(row) = rows.next() {
        quiet = if row.sign == Sign::Same { quiet + 1 } else { 0 };
        let Some(hunk) = hunks.last_mut() else { break };
        hunk.0.push(row);
        let goes_on = rows.peek().is_some_and(|next| next.sign != Sign::Same);
        if quiet == BETWEEN && goes_on && hunk.changes() {
            let second = hunk.0.split_off(hunk.0.len() - BETWEEN / 2);
            hunks.push(Hunk(second));
        }
    }
    hunks
}

/// Where in the lines that a patch found an earlier hunk lies: negative where that begins before them.
///
/// They must agree on every line that both know, and on one that the earlier changed or on three.
fn meets(now: &[(usize, u64)], earlier: &Hunk, before: &[u64]) -> Option<isize> {
    let (n, b) = (now.len() as isize, before.len() as isize);
    let agree = |place: isize| {
        let from = place.max(0);
        let to = (place + n).min(b);
        let both = || (from..to).map(|at| (at as usize, (at - place) as usize));
        let all = both().all(|(mine, theirs)| now.get(theirs).map(|(_, hash)| hash) == before.get(mine));
        let changed = || {
            both().any(|(_, theirs)| {
                now.get(theirs).and_then(|(row, _)| earlier.0.get(*row)).is_some_and(|row| row.sign == Sign::Added)
            })
        };
        all && to > from && (to - from >= 3.min(b) || changed())
    };
    // All of it in the earlier one is the surest, then the other way round, then a part.
    let inside = (-(n - b)..=0).rev().find(|place| n >= b && agree(*place));
    let around = || (0..=b - n).find(|place| b >= n && agree(*place));
    let partly = || ((1 - n)..b).filter(|place| agree(*place)).max_by_key(|place| (place + n).min(b) - (*place).max(0));
    inside.or_else(around).or_else(partly)
}

/// The second change on top of the first, which begins `skip` lines before it.
fn compose(first: Vec<Row>, second: Vec<Row>, skip: usize) -> Vec<Row> {
    let mut out = Vec::with_capacity(first.len() + second.len());
    let mut second = second.into_iter().peekable();
    let mut skip = skip;
    for row in first {
        if row.sign == Sign::Removed {
            out.push(row);
            continue;
        }
        if skip > 0 {
            skip -= 1;
            out.push(row);
            continue;
        }
        while let Some(added) = second.next_if(|next| next.sign == Sign::Added) {
            out.push(added);
        }
        match second.next() {
            Some(next) if next.sign == Sign::Removed => {
                if row.sign == Sign::Same {
                    out.push(next);
                }
            }
            _ => out.push(row),
        }
    }
    out.extend(second);
    out
}

/// Lines that are removed and added again are the same.
fn settled(rows: Vec<Row>) -> Hunk {
    let mut out: Vec<Row> = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next_if(|row| row.sign != Sign::Same) {
            if row.sign == Sign::Removed { removed.push(row) } else { added.push(row) }
        }
        let head = removed.iter().zip(&added).take_while(|(a, b)| a.hash == b.hash).count();
        let rest = removed.len().min(added.len()) - head;
        let tail =
            removed.iter().rev().zip(added.iter().rev()).take(rest).take_while(|(a, b)| a.hash == b.hash).count();
        let (removed_end, added_end) = (removed.len() - tail, added.len() - tail);
        let same = |row: Row| Row { sign: Sign::Same, ..row };
        let mut added = added.into_iter().enumerate();
        out.extend(added.by_ref().take(head).map(|(_, row)| same(row)));
        out.extend(removed.into_iter().take(removed_end).skip(head));
        for (at, row) in added {
            out.push(if at >= added_end { same(row) } else { row });
        }
        while let Some(row) = rows.next_if(|row| row.sign == Sign::Same) {
            out.push(row);
        }
    }
    Hunk(out)
}

/// No more than three lines around what is changed.
fn trimmed(rows: &[Row]) -> &[Row] {
    let changed = |row: &Row| row.sign != Sign::Same;
    let first = rows.iter().position(changed).unwrap_or_default().saturating_sub(3);
    let last = rows.iter().rposition(changed).map_or(rows.len(), |at| (at + 4).min(rows.len()));
    rows.get(first..last).unwrap_or(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn net(patches: &[&str]) -> Net {
        let mut net = Net::default();
        for patch in patches {
            net.patch(patch.split('|'));
        }
        net
    }

    #[test]
    fn patches_of_the_same_lines_become_one() {
        for (patches, expected) in [
            (&[" a|-b|+c| d"][..], " a|-b|+c| d|"),
            (&[" a|-b|+c| d", " a|-c|+e| d"], " a|-b|+e| d|"),
            (&[" a|-b|+c| d", " a|-c|+b| d"], ""),
            (&[" a|-b|+c| d", " x|-y|+z"], " a|-b|+c| d|@@| x|-y|+z|"),
            (&[" a|+b| c", " b| c|+d"], " a|+b| c|+d|"),
            (&[" c|+d", " a|+b| c|-d|+e"], " a|+b| c|+e|"),
            (&["-a|+b", "-b|+c", "-c|+a"], ""),
            // Of two that are alike one is changed, and the other stays.
            (&["-a|+b", "-a|+b", "-b|+c"], "-a|+c|@@|-a|+b|"),
            (&[" a|+b| c", " a|+b| c", " a|-b| c"], " a|+b| c|"),
        ] {
            assert_eq!(net(patches).diff().replace('\n', "|"), expected, "{patches:?}");
        }
    }

    #[test]
    fn a_new_file_is_known_whole_whatever_is_changed_in_it() {
        let mut net = Net::default();
        net.write("one\ntwo\nthree\nfour\n", true);
        net.patch(" one|-two|+zwei| three".split('|'));
        net.patch(" three|+3.5| four".split('|'));
        assert_eq!(net.content().as_deref(), Some("one\nzwei\nthree\n3.5\nfour\n"));
        assert_eq!(net.count(), (5, 0));
    }

    #[test]
    fn a_tab_is_as_good_as_the_spaces_that_stand_for_it() {
        let mut net = Net::default();
        net.write("if x {\n\tone()\n}\n", true);
        net.patch(" if x {|-  one()|+  two()| }".split('|'));
        assert_eq!(net.content().as_deref(), Some("if x {\n  two()\n}\n"));
    }

    #[test]
    fn one_patch_may_bridge_two() {
        let net = net(&[" a|-b|+B| c", " d|-e|+E| f", " B| c| d|-E|+5"]);
        assert_eq!(net.diff().replace('\n', "|"), " a|-b|+B| c| d|-e|+5| f|");
    }

    proptest! {
        #[test]
        fn a_new_file_after_any_edits_is_what_the_edits_made(
            lines in proptest::collection::vec("[a-z]{3,8}", 1..12),
            edits in proptest::collection::vec((0usize..12, 0usize..3, proptest::collection::vec("[A-Z]{3,8}", 0..3)), 0..6),
        ) {
            let mut lines: Vec<String> = lines.into_iter().enumerate().map(|(at, line)| format!("{line}{at}")).collect();
            let mut net = Net::default();
            net.write(&lines.join("\n"), true);
            for (step, (at, gone, new)) in edits.into_iter().enumerate() {
                let at = at.min(lines.len());
                let end = (at + gone).min(lines.len());
                let new: Vec<String> = new.into_iter().enumerate().map(|(i, line)| format!("{line}{step}.{i}")).collect();
                let (from, to) = (at.saturating_sub(3), (end + 3).min(lines.len()));
                let mut patch: Vec<String> = lines[from..at].iter().map(|line| format!(" {line}")).collect();
                patch.extend(lines[at..end].iter().map(|line| format!("-{line}")));
                patch.extend(new.iter().map(|line| format!("+{line}")));
                patch.extend(lines[end..to].iter().map(|line| format!(" {line}")));
                net.patch(patch.iter().map(String::as_str));
                lines.splice(at..end, new);
                if lines.is_empty() { break; }
            }
            if !lines.is_empty() {
                prop_assert_eq!(net.content().unwrap(), lines.join("\n") + "\n");
            }
        }
    }
}
