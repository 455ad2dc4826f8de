//! Making a store where there is none.
//!
//! What a first run puts goes into a file of its own, in a folder beside the store's place, without a log: each page is
//! written once and not three times. The file takes the place once all of it is on the disk. Until then there is no store,
//! so that a run that is killed, or a power cut, leaves nothing half-made; who comes next begins anew.
//!
//! Each run has its own file, locked for as long as it is at it; what is not locked was left by one that was killed. Nobody
//! waits for another. If there is a store when a file is ready to take its place, the file is thrown away.

use super::{LOG, Result, Store, StoreError, beside, folder_of};
use hotwash_core::redaction::Rules;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the names of files end in that are made.
const ENDING: &str = "db";
/// What stands beside a store while it is in use, and is left where that ends badly.
const BESIDE_STORES: [&str; 3] = [LOG, "-shm", "-journal"];

/// Where a database says which versions of its format one must know to write and to read it, and what it says where its log
/// is to be read, too. SQLite writes this by itself when it is told to keep a log, and waits for the disk three times over.
const VERSIONS_AT: u64 = 18;
const WITH_LOG: [u8; 2] = [2, 2];

/// A store that is being made. Its file is removed with this, unless it has taken its place.
#[derive(Debug)]
pub(super) struct Making {
    path: PathBuf,
    file: Locked,
}

/// A file that is being made, for those who bring it to the disk meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Locked(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// None once it has taken its place, or was thrown away. Closed before somebody opens it as a store: to close a file
    /// is to lose all locks that the process has on it, SQLite's too.
    file: Option<File>,
    /// Why it could not be brought to the disk. The system says so once.
    failed: Option<io::Error>,
}

impl Locked {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings to the disk what was written so far. Says whether it is still being made.
    pub(super) fn sync(&self) -> bool {
        let mut state = self.state();
        let Some(file) = &state.file else { return false };
        if let Err(error) = file.sync_data() {
            state.failed.get_or_insert(error);
        }
        true
    }
}

impl Making {
    /// Begins, where a store can be made.
    fn begin(store: &Path) -> io::Result<Option<Making>> {
        if store.as_os_str() == ":memory:" || store.symlink_metadata().is_ok() || is_anything_beside(store) {
            return Ok(None);
        }
        let folder = folder(store);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ if folder.symlink_metadata()?.is_dir() => {}
            _ => return Ok(None),
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = folder.join(format!("{}-{now}.{ENDING}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        // Before it was locked, somebody may have taken it for one that was left.
        let is_ours = file.try_lock().is_ok() && is_at(&file, &path);
        let making = Making { path, file: Locked(Arc::new(Mutex::new(State { file: Some(file), failed: None }))) };
        Ok(is_ours.then_some(making))
    }

    /// SQLite itself need lock nothing that nobody else sees, and on some file systems its locks and ours are the same.
    pub(super) fn connect(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        Connection::open_with_flags_and_vfs(&self.path, flags, "unix-none")
    }

    /// Takes the place of the store, if there is none. Says whether it did.
    fn take_place(self, store: &Path) -> io::Result<bool> {
        let mut state = self.file.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if let Some(file) = &state.file {
            file.write_all_at(&WITH_LOG, VERSIONS_AT)?;
            file.sync_all()?;
        }
        if is_anything_beside(store) {
            // The log of another store would be taken for this one's.
            return Ok(false);
        }
        let moved = match renameat_with(CWD, &self.path, CWD, store, RenameFlags::NOREPLACE) {
            // Not every file system knows how to rename like this.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::hard_link(&self.path, store),
            moved => moved.map_err(io::Error::from),
        };
        match moved {
            Ok(()) => {
                // What is put into it from here on must not be lost with its name. Not every folder can be asked for this.
                let _ = File::open(folder_of(store)).and_then(|folder| folder.sync_all());
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // Nothing is there any more if it has taken its place. Locked until it is gone.
        let _ = fs::remove_file(&self.path);
        self.file.state().file = None;
        if let Some(folder) = self.path.parent() {
            // Unless others are at it.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Where a store is made.
fn folder(store: &Path) -> PathBuf {
    beside(store, "-making")
}

fn is_anything_beside(store: &Path) -> bool {
    BESIDE_STORES.iter().any(|ending| beside(store, ending).symlink_metadata().is_ok())
}

/// Whether a file is the one at a place.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(file), Ok(at)) => (file.dev(), file.ino()) == (at.dev(), at.ino()),
        _ => false,
    }
}

impl Store {
    /// Opens a store to put many transcripts into at once. One that is not there yet is made beside its place, which is
    /// faster; nobody sees it, and it is gone with what this gives, until it [takes its place](Store::take_place).
    pub fn open_or_make(path: &Path, rules: Arc<Rules>) -> Result<Store> {
        if super::make_folder(path).is_ok()
            && let Ok(Some(making)) = Making::begin(path)
            && let Ok(store) = Store::within(making, path, rules.clone())
        {
            Store::clear_away(path);
            return Ok(store);
        }
        // It says better what is wrong, if something is.
        Store::open(path, rules)
    }

    /// Removes what runs have left that were killed while they made this store: somebody may want it forgotten.
    pub fn clear_away(path: &Path) {
        let folder = folder(path);
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_file())
                && path.extension().is_some_and(|ending| ending == ENDING)
                && let Ok(file) = File::open(&path)
                && file.try_lock().is_ok()
            {
                let _ = fs::remove_file(&path);
            }
        }
        let _ = fs::remove_dir(&folder);
    }

    fn within(making: Making, path: &Path, rules: Arc<Rules>) -> Result<Store> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = making.connect(flags).map_err(|error| super::explain(path, &error))?;
        Store { connection, path: path.to_path_buf(), rules, making: Some(making) }.prepared()
    }

    /// Takes its place, if it was made beside it. Says false if something else is there by now: then this is the store that
    /// is there, and what was put is gone.
    pub fn take_place(&mut self) -> Result<bool> {
        let Some(making) = self.making.take() else { return Ok(true) };
        let path = self.path.clone();
        // Closed before it is moved.
        self.connection = Connection::open_in_memory().map_err(|error| super::explain(&path, &error))?;
        let taken = making.take_place(&path).map_err(|error| StoreError::of_system(&path, &error));
        match taken.and_then(|taken| Ok((taken, Store::open(&path, self.rules.clone())?))) {
            Ok((taken, store)) => {
                *self = store;
                Ok(taken)
            }
            Err(error) => {
                *self = Store::in_memory(self.rules.clone())?;
                Err(error)
            }
        }
    }

    /// Whether it is being made, and nobody else can put anything into it or see what is there.
    pub fn is_being_made(&self) -> bool {
        self.making.is_some()
    }

    /// Its file, while it is being made.
    pub(super) fn is_made_in(&self) -> Option<Locked> {
        self.making.as_ref().map(|making| making.file.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::suite::rules;

    #[test]
    fn what_takes_its_place_keeps_a_log_from_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let making = Making::begin(&path).unwrap().unwrap();
        let Store { connection, making, .. } = Store::within(making, &path, rules()).unwrap();
        drop(connection);
        assert!(making.unwrap().take_place(&path).unwrap());
        // Before anybody has opened it: SQLite would see to it then.
        assert_eq!(fs::read(&path).unwrap()[18..20], WITH_LOG);
        assert!(!folder.path().join("s.db-making").exists());
    }

    #[test]
    fn who_reads_a_store_that_is_being_made_sees_what_was_put_so_far() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_make(&folder.path().join("s.db"), rules()).unwrap();
        assert!(store.is_being_made());
        for round in 1..4 {
            // One who has looked before stays and is in nobody's way, but is not asked again (see `Store::reader`).
            let (early, path) = (store.reader().unwrap().unwrap(), format!("/t/{round}.jsonl"));
            assert_eq!(early.uncut().unwrap().len(), round - 1);
            store.mark_uncut(&[path]).unwrap();
            assert_eq!(store.reader().unwrap().unwrap().uncut().unwrap().len(), round);
        }
        assert!(store.take_place().unwrap());
        assert_eq!((store.uncut().unwrap().len(), store.check().unwrap()), (3, Vec::new()));
    }
}
