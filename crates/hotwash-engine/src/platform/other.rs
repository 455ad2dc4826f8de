//! Any other system, Windows above all: what the standard library does everywhere. Folders of an account there are closed
//! to others from the beginning.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::process::{Child, Command};

pub(super) fn private_file() -> OpenOptions {
    File::options()
}

pub(super) fn private_folder() -> DirBuilder {
    DirBuilder::new()
}

pub(super) fn file_number(_: &Metadata) -> Option<u64> {
    None
}

pub(super) fn begin_group(_: &mut Command) {}

pub(super) fn end_group(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
}

pub(super) fn host_name() -> Option<String> {
    None
}
