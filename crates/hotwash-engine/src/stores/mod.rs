//! Where facts and scores are kept.

pub mod sqlite;
#[cfg(test)]
pub(crate) mod suite;

pub use hotwash_core::records::*;
pub use sqlite::{Store, StoreError};
