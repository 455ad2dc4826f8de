//! What outlives a run of judging beside answers: the log of what was sent, and batches that are under way.

use crate::judges::batches::{Ledger, OpenBatch};
use crate::net::egress::{Egress, Sending};
use crate::platform::private_file;
use crate::stores::{Said as _, Sqlite};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A file with one line of JSON for each request, written before it is sent: when, where to, how much, and its hash.
pub struct EgressLog(Mutex<File>);

impl EgressLog {
    /// Opens the log, or begins it.
    pub fn open(path: &Path) -> io::Result<EgressLog> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = private_file().append(true).create(true).open(path)?;
        Ok(EgressLog(Mutex::new(file)))
    }
}

impl Egress for EgressLog {
    fn sending(&self, request: &Sending) -> Result<(), String> {
        let Sending { at, host, bytes, sha256 } = request;
        let line = serde_json::json!({ "at": at.to_string(), "host": host, "bytes": bytes, "sha256": sha256 });
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece, so that lines of two processes never mix.
        file.write_all(format!("{line}\n").as_bytes()).map_err(|error| error.to_string())
    }
}

/// Batches in the store, through a connection of its own.
pub struct StoredLedger(RefCell<Sqlite>);

impl StoredLedger {
    /// Keeps batches in this store.
    pub fn new(store: Sqlite) -> StoredLedger {
        StoredLedger(RefCell::new(store))
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    batch: Option<String>,
    ids: Vec<String>,
}

impl Ledger for StoredLedger {
    fn open(&self) -> Result<Vec<OpenBatch>, String> {
        let batches = self.0.borrow().batches().map_err(|error| error.to_string())?;
        let read = |(token, at, json): (String, _, String)| {
            let Kept { batch, ids } = serde_json::from_str(&json).map_err(|error| error.to_string())?;
            Ok(OpenBatch { token, at, batch, ids })
        };
        batches.into_iter().map(read).collect()
    }

    fn submitting(&self, batch: &OpenBatch) -> Result<(), String> {
        let OpenBatch { token, at, batch, ids } = batch;
        let kept = Kept { batch: batch.clone(), ids: ids.clone() };
        let json = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
        let mut store = self.0.borrow_mut();
        store.put_batch(token, *at, &json).map_err(|error| error.to_string())
    }

    fn submitted(&self, token: &str, batch: &str) -> Result<(), String> {
        let known = self.open()?.into_iter().find(|known| known.token == token);
        let known = known.ok_or_else(|| "a batch that was about to be sent is not in the ledger".to_owned())?;
        self.submitting(&OpenBatch { batch: Some(batch.to_owned()), ..known })
    }

    fn finished(&self, token: &str) -> Result<(), String> {
        self.0.borrow_mut().drop_batch(token).map_err(|error| error.to_string())
    }
}
