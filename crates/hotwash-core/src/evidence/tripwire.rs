//! Finds where text speaks to its judge.

use std::ops::Range;

/// The first place in a text that tries to steer whoever judges it.
pub(super) fn find(_text: &str) -> Option<Range<usize>> {
    None
}
