//! Langfuse's public API, as servers of four generations speak it: what is asked, what comes back, and what went wrong.
//!
//! [`Client::connect`] finds out which generation answers. Nothing is unbounded: every read names a stretch of time or an
//! id, and comes in pages that get smaller where the server finds them too large. Rows are handed over as they came.

mod client;
mod errors;
mod reads;
mod wire;

pub use client::{Client, Config, Project, Reads};
pub use errors::LangfuseError;
pub use reads::{ObservationQuery, TraceQuery, Window};
pub use wire::{Row, encoded};
