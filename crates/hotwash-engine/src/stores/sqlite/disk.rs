//! Bringing commits to the disk while the store is written, so that the writer need not wait for it.

use super::make::Locked;
use super::{CHECKPOINT_PAGES, LOG, Result, Store, beside};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::PathBuf;

/// How long the log gets before it is emptied along with a commit that is brought to the disk.
const CHECKPOINT_BYTES: u64 = 4 << 20;

impl Store {
    /// Leaves it to somebody else to bring commits to the disk, who is given back. A commit survives a kill as it is, and
    /// a power cut once that was done.
    pub fn without_waiting(&self) -> Result<Disk> {
        self.read(|connection| connection.pragma_update(None, "wal_autocheckpoint", 0))?;
        Ok(self.disk())
    }

    /// Who can bring commits to the disk while others are at the store.
    pub fn disk(&self) -> Disk {
        Disk { store: self.path.clone(), making: self.is_made_in(), connection: None }
    }

    /// Brings commits to the disk by itself again.
    pub fn with_waiting(&self) -> Result<()> {
        self.read(|connection| connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES))
    }
}

/// See [`Store::disk`]. That it cannot do something is no reason to stop: the store does so in the end.
#[derive(Debug)]
pub struct Disk {
    store: PathBuf,
    /// While the store is being made there is no log, and nothing but its file to bring to the disk.
    making: Option<Locked>,
    connection: Option<Connection>,
}

impl Disk {
    /// Waits until what was committed is on the disk.
    pub fn sync(&mut self) {
        let Ok(file) = File::open(beside(&self.store, LOG)) else { return };
        let _ = file.sync_data();
        if file.metadata().is_ok_and(|log| log.len() > CHECKPOINT_BYTES) {
            self.checkpoint();
        }
    }

    /// Moves commits from the log to where they belong, as far as nobody is in the way, and waits until they are there. If
    /// nobody writes meanwhile, the log begins anew; otherwise it goes on growing.
    pub fn checkpoint(&mut self) {
        if self.making.as_ref().is_some_and(Locked::sync) {
            return;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        if self.connection.is_none() {
            self.connection = Connection::open_with_flags(&self.store, flags).ok();
        }
        if let Some(connection) = &self.connection {
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}
