//! Which files are Claude Code's.

use std::path::Path;

/// Whether a file may be a transcript of Claude Code.
pub(super) fn owns(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b".jsonl")
}
