//! Ports: what the engine implements so that the pipeline can read, judge, keep and send. `docs/design/ports.md` says
//! why they are what they are.
//!
//! A port is a small trait over the types of this crate. It says nothing of HTTP, files or SQL.

pub mod call;
pub mod judge;
pub mod source;
pub mod store;
