//! What systems do differently: the rights of new files, file numbers, groups of processes, the machine's name.
//!
//! All else is done with ordinary calls that every system has. The tests compile both modules on Unix and put them through
//! the same cases.

#[cfg(any(not(unix), test))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use other as system;
#[cfg(unix)]
use unix as system;

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::process::{Child, Command};

/// Options for a file that, when it is made, only its owner may read.
pub fn private_file() -> OpenOptions {
    system::private_file()
}

/// Makes folders that only their owner may look into.
pub fn private_folder() -> DirBuilder {
    system::private_folder()
}

/// A file's number in its file system, which it keeps under any name. None where the system does not say.
pub fn file_number(metadata: &Metadata) -> Option<u64> {
    system::file_number(metadata)
}

/// Has a command and all that it starts end together ([`end_group`]).
pub fn begin_group(command: &mut Command) {
    system::begin_group(command);
}

/// Ends a process, and what it started where the system keeps them together ([`begin_group`]).
pub fn end_group(child: &mut Child) {
    system::end_group(child);
}

/// The machine's name. None where the system keeps it in a variable.
pub fn host_name() -> Option<String> {
    system::host_name()
}

/// When a file was last written, in nanoseconds since 1970.
pub fn modified_ns(metadata: &Metadata) -> i64 {
    use std::time::UNIX_EPOCH;
    metadata.modified().map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i64,
        Err(before) => -(before.duration().as_nanos() as i64),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::modified_ns;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, UNIX_EPOCH};

    /// What callers rely on, whichever system it is.
    macro_rules! cases {
        ($system:ident, $module:path) => {
            mod $system {
                use super::*;
                use $module as system;

                #[test]
                fn files_and_folders_can_be_made_and_used() {
                    let folder = tempfile::tempdir().unwrap();
                    let inner = folder.path().join("a/b");
                    assert!(system::private_folder().create(&inner).is_err(), "one above is missing");
                    system::private_folder().recursive(true).create(&inner).unwrap();
                    let path = inner.join("f");
                    let mut file = system::private_file().write(true).create_new(true).open(&path).unwrap();
                    file.write_all(b"one").unwrap();
                    assert_eq!(fs::read(&path).unwrap(), b"one");
                    assert!(system::private_file().write(true).create_new(true).open(&path).is_err());
                }

                #[test]
                fn a_number_is_a_files_own_and_kept_under_another_name() {
                    let folder = tempfile::tempdir().unwrap();
                    let at = |name: &str| folder.path().join(name);
                    let number = |name: &str| system::file_number(&fs::metadata(at(name)).unwrap());
                    for name in ["a", "b"] {
                        fs::write(at(name), "").unwrap();
                    }
                    let (a, b) = (number("a"), number("b"));
                    assert!(a.is_none() && b.is_none() || a.is_some() && a != b && a != Some(0));
                    fs::rename(at("a"), at("c")).unwrap();
                    fs::hard_link(at("c"), at("d")).unwrap();
                    assert_eq!((number("c"), number("d")), (a, a));
                }

                #[test]
                fn a_process_ends_when_it_is_to() {
                    let mut command = std::process::Command::new("sleep");
                    system::begin_group(&mut command);
                    let mut child = command.arg("600").spawn().unwrap();
                    assert!(child.try_wait().unwrap().is_none());
                    system::end_group(&mut child);
                    assert!(!child.wait().unwrap().success());
                }

                #[test]
                fn a_name_is_not_empty() {
                    assert_ne!(system::host_name().as_deref(), Some(""));
                }
            }
        };
    }

    cases!(on_unix, crate::platform::unix);
    cases!(elsewhere, crate::platform::other);

    #[test]
    fn on_unix_nobody_else_reads_what_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let (file, inner) = (folder.path().join("f"), folder.path().join("g"));
        super::private_file().write(true).create_new(true).open(&file).unwrap();
        super::private_folder().create(&inner).unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file), mode(inner)), (0o600, 0o700));
    }

    #[test]
    fn times_are_exact_also_before_1970() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("f")).unwrap();
        let moment = Duration::new(1_000_000_000, 123_456_789);
        for (time, ns) in [(UNIX_EPOCH + moment, 1), (UNIX_EPOCH, 0), (UNIX_EPOCH - moment, -1)] {
            file.set_modified(time).unwrap();
            assert_eq!(modified_ns(&file.metadata().unwrap()), ns * moment.as_nanos() as i64);
        }
    }
}
