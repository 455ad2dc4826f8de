//! Which files are the toy's.

use std::path::Path;

pub(super) fn owns(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toy")
}
