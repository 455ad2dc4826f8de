//! Why a store cannot be used, in words.

use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later hotwash wrote it.
    #[error("the store {path} was written by a newer hotwash (schema {found}, this one knows {known})")]
    Newer {
        /// The store.
        path: String,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// It is no store, or no longer one.
    #[error("the store {path} is damaged or is no hotwash store: {cause}")]
    Damaged {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
    /// It cannot be written.
    #[error("the store {path} cannot be written: {cause}")]
    ReadOnly {
        /// The store.
        path: String,
        /// What SQLite or the system says.
        cause: String,
    },
    /// The disk is full.
    #[error("no space is left for the store {path}")]
    Full {
        /// The store.
        path: String,
    },
    /// Another process has held it for too long.
    #[error("the store {path} is in use by another process")]
    Busy {
        /// The store.
        path: String,
    },
    /// Anything else.
    #[error("the store {path} failed: {cause}")]
    Other {
        /// The store.
        path: String,
        /// What SQLite says.
        cause: String,
    },
}

impl StoreError {
    /// What the system says when a store is made.
    pub(super) fn of_system(path: &Path, error: &io::Error) -> StoreError {
        let path = path.display().to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            _ => StoreError::ReadOnly { path, cause: error.to_string() },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Newer { .. } => "update hotwash, or point --store at another file",
            StoreError::Damaged { .. } => {
                "nothing was changed; move the file away and run hotwash again to build a new one from the transcripts"
            }
            StoreError::ReadOnly { .. } => "check the permissions, or point --store at a file you may write",
            StoreError::Full { .. } => {
                "free some space and run the same command again: what was kept is not read again"
            }
            StoreError::Busy { .. } => "wait for the other hotwash to finish and run the same command again",
            StoreError::Other { .. } => "`hotwash doctor` looks at the store",
        }
    }

    /// Whether going on without keeping anything makes sense.
    pub fn only_writing_fails(&self) -> bool {
        matches!(self, StoreError::ReadOnly { .. } | StoreError::Full { .. })
    }
}

/// A database that somebody else has made is no store.
pub(super) fn not_ours() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, "it holds other tables".into())
}

/// JSON in the store that cannot be read is damage like any other.
pub(super) fn json_error(error: &serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.to_string().into())
}

pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display().to_string();
    let cause = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, cause },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly { path, cause }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        _ if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => StoreError::Damaged { path, cause },
        _ => StoreError::Other { path, cause },
    }
}
