//! Langfuse's public API, as servers of four generations speak it: what is asked, what comes back, and what went wrong.
//!
//! [`Client::connect`] finds out which generation answers. Nothing is unbounded: every read names a stretch of time or an
//! id, and comes in pages that get smaller where the server finds them too large. Rows are handed over as they came.

mod client;
mod configs;
mod datasets;
mod errors;
mod reads;
mod scores;
#[cfg(test)]
mod tests;
mod wire;

pub use client::{Client, Config, Project, Reads};
pub use configs::{Category, Shape, StoredConfig, WantedConfig};
pub use datasets::DatasetItem;
pub use errors::LangfuseError;
pub use reads::{ObservationQuery, TraceQuery, Window};
pub use scores::{NewScore, On, Refused, ScoreValue, StoredScore, Subject};
pub use wire::{Row, encoded};
