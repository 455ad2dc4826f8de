//! The engine from the outside: transcripts in a folder, the pipeline, the store.

#![expect(clippy::unwrap_used, clippy::string_slice, reason = "helpers of tests are tests too")]

#[path = "../obliging/mod.rs"]
#[allow(dead_code, reason = "the server is for tests of the program")]
mod obliging;

mod bad_input;
mod crash;
mod fixtures;
mod joining;
mod judging;
mod langfuse;
mod pipeline;
mod store;
mod support;
mod topics;
