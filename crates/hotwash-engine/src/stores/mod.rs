//! Where facts and scores are kept.

#[cfg(test)]
mod memory;
pub mod sqlite;
#[cfg(test)]
pub(crate) mod suite;

pub use hotwash_core::ports::store::*;
pub use hotwash_core::records::*;
pub use sqlite::Sqlite;
