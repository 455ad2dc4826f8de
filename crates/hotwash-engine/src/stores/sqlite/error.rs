//! What SQLite and the system say, in the words of the port.

use hotwash_core::ports::store::StoreError;
use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// What the system says when a store is made.
pub(super) fn of_system(path: &Path, error: &io::Error) -> StoreError {
    let path = path.display().to_string();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        _ => StoreError::ReadOnly { path, cause: error.to_string() },
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
