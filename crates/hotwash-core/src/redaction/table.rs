//! Tables with a column of passwords, as browsers and password managers export them.

use std::ops::Range;

use super::bytes::{line_start_within, slice};
use super::placeholder::placeholder_at;

/// How long a header and all rows may be.
const HEADER: usize = 300;
const ROWS: usize = 1 << 16;

/// Calls `hit` with the cells below the name of a column, if the line that it stands in is a header.
pub(super) fn below(text: &[u8], name: &Range<usize>, hit: &mut dyn FnMut(Range<usize>)) {
    let start = line_start_within(text, name.start, HEADER);
    let rest = slice(text, name.end, text.len().min(name.end + HEADER));
    let Some(end) = memchr::memchr(b'\n', rest).map(|i| name.end + i) else { return };
    let header: Vec<_> = cells(text, start..end).collect();
    let is_name = |cell: &Range<usize>| {
        let cell = slice(text, cell.start, cell.end);
        !cell.is_empty() && cell.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'-'))
    };
    let Some(column) = header.iter().position(|cell| cell.contains(&(name.end - 1))) else { return };
    if header.len() < 3 || !header.iter().all(is_name) {
        return;
    }
    let mut line = end + 1;
    let last = text.len().min(line + ROWS);
    while line < last {
        let end = memchr::memchr(b'\n', slice(text, line, last)).map_or(last, |i| line + i);
        let row: Vec<_> = cells(text, line..end).collect();
        if row.len() != header.len() {
            return;
        }
        if let Some(cell) = row.get(column).filter(|cell| cell.len() >= 3 && placeholder_at(text, cell.start).is_none())
        {
            hit(cell.clone());
        }
        line = end + 1;
    }
}

/// The cells of a line, without their quotes.
fn cells(text: &[u8], line: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = line.end - usize::from(slice(text, line.start, line.end).ends_with(b"\r"));
    let mut next = Some(line.start);
    std::iter::from_fn(move || {
        let start = next?;
        let quoted = text.get(start) == Some(&b'"');
        let from = start + usize::from(quoted);
        let rest = slice(text, from, end);
        let close = if quoted {
            memchr::memmem::find(rest, b"\",").or(rest.len().checked_sub(1))
        } else {
            memchr::memchr(b',', rest)
        };
        let stop = close.map_or(end, |i| from + i);
        let comma = stop + usize::from(quoted);
        next = (comma < end).then_some(comma + 1);
        Some(from..stop.max(from))
    })
}
