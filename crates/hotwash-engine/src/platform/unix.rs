//! Linux, macOS and other Unix systems.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

pub(super) fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

pub(super) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[expect(clippy::unnecessary_wraps, reason = "other systems do not say")]
pub(super) fn file_number(metadata: &Metadata) -> Option<u64> {
    Some(metadata.ino())
}

pub(super) fn begin_group(command: &mut Command) {
    command.process_group(0);
}

pub(super) fn end_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}

pub(super) fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(name).filter(|name| !name.is_empty())
}
