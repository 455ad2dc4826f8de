//! Making a store where there is none.
//!
//! What a first run puts goes into a file beside the store's place, without a log: each page is written once and not three
//! times. The file takes the place once all of it is on the disk. Until then there is no store, so that a run that is
//! killed, or a power cut, leaves nothing half-made; who comes next begins anew.
//!
//! Only one makes a store at a time. Who comes meanwhile opens the place as ever. If there is a store when another one is
//! ready to take its place, that other one is thrown away.

use super::{Disk, Result, Store, StoreError};
use hotwash_core::redaction::Rules;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store that is being made. Thrown away with this, unless it has taken its place.
#[derive(Debug)]
pub(super) struct Making {
    path: PathBuf,
    file: Locked,
}

/// The file while it is being made: locked, so that nobody else makes the same store. None once that is over.
///
/// To close a file is to lose all locks that the process has on it, SQLite's too. So it is closed before somebody opens it
/// as a store.
#[derive(Clone, Debug)]
pub(super) struct Locked(Arc<Mutex<Option<File>>>);

impl Locked {
    fn file(&self) -> MutexGuard<'_, Option<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings it to the disk, as far as it goes. Says whether it is still being made.
    pub(super) fn sync(&self) -> bool {
        self.file().as_ref().is_some_and(|file| {
            // What fails here fails again before the file takes its place.
            let _ = file.sync_data();
            true
        })
    }
}

impl Making {
    /// Begins, unless somebody is at it.
    fn begin(store: &Path) -> io::Result<Option<Making>> {
        let path = beside(store);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let Some(making) = Making::of(path, file) else { return Ok(None) };
        if let Some(file) = &*making.file.file() {
            // What a run that was killed has left.
            file.set_len(0)?;
        }
        Ok(Some(making))
    }

    /// The one at a place, unless somebody is at it.
    fn of(path: PathBuf, file: File) -> Option<Making> {
        (file.try_lock().is_ok() && is_at(&file, &path))
            .then(|| Making { path, file: Locked(Arc::new(Mutex::new(Some(file)))) })
    }

    /// Takes the place of the store, if there is none. Says whether it did.
    fn take_place(self, store: &Path) -> io::Result<bool> {
        let mut file = self.file.file();
        if let Some(file) = &*file {
            file.sync_all()?;
        }
        let taken = match renameat_with(CWD, &self.path, CWD, store, RenameFlags::NOREPLACE) {
            Ok(()) => true,
            Err(rustix::io::Errno::EXIST) => false,
            // Not every file system knows how to look and rename at once.
            Err(_) if store.exists() => false,
            Err(_) => fs::rename(&self.path, store).map(|()| true)?,
        };
        if taken {
            *file = None;
        }
        Ok(taken)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // Nothing is left to remove of one that has taken its place.
        if self.file.file().take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where a store is made.
fn beside(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push("-new");
    path.into()
}

/// Whether a file is still the one at a place. Another may have been put there, or somewhere else, before it was locked.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(at)) => (file.dev(), file.ino()) == (at.dev(), at.ino()),
        _ => false,
    }
}

impl Store {
    /// Opens a store to put many transcripts into at once. One that is not there yet is made beside its place, which is
    /// faster; nobody sees it, and it is gone with what this gives, until it [takes its place](Store::take_place).
    pub fn open_or_make(path: &Path, rules: Arc<Rules>) -> Result<Store> {
        if path.symlink_metadata().is_ok() {
            // What a run that was killed has left holds what somebody may want forgotten.
            let left = beside(path);
            drop(File::open(&left).ok().and_then(|file| Making::of(left, file)));
        } else if super::make_folder(path).is_ok()
            && let Ok(Some(making)) = Making::begin(path)
        {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            if let Ok(connection) = Connection::open_with_flags(&making.path, flags) {
                let store = Store { connection, path: path.to_path_buf(), rules: rules.clone(), making: Some(making) };
                if let Ok(store) = store.prepared() {
                    return Ok(store);
                }
            }
        }
        // It says better what is wrong, if something is.
        Store::open(path, rules)
    }

    /// Takes its place, if it was made beside it. Says false if another store is there by now: then this one is that other
    /// one, and what was put is gone.
    pub fn take_place(&mut self) -> Result<bool> {
        let Some(making) = self.making.take() else { return Ok(true) };
        let path = self.path.clone();
        let nowhere = Store::in_memory(self.rules.clone())?;
        // Closed before it is moved.
        drop(std::mem::replace(self, nowhere));
        let failed = |error: io::Error| StoreError::of_system(&path, &error);
        let taken = making.take_place(&path).map_err(failed)?;
        *self = Store::open(&path, self.rules.clone())?;
        Ok(taken)
    }
}

impl Disk {
    /// Of a store that is being made.
    pub(super) fn of(store: &Store) -> Disk {
        let making = store.making.as_ref().map(|making| making.file.clone());
        Disk { store: store.path.clone(), making, connection: None }
    }
}
