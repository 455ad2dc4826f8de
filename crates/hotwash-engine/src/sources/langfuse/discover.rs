//! Which files are ours, with what Langfuse had.

use super::ENDING;
use std::path::Path;

/// Whether a file is one that was pulled.
pub(super) fn owns(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes())
}
