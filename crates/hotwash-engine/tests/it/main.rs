//! The engine from the outside: transcripts in a folder, the pipeline, the store.

#![expect(clippy::unwrap_used, clippy::string_slice, clippy::print_stdout, reason = "helpers of tests are tests too")]

mod bad_input;
mod crash;
mod fixtures;
mod joining;
mod pipeline;
mod store;
mod support;
