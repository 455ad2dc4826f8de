//! Everything of hotwash that reads, calls or writes: sources, judges, stores, sinks, and the pipeline through them.

pub mod archive;
pub mod git;
pub mod judges;
pub mod judging;
pub mod langfuse;
pub mod net;
pub mod pipeline;
pub mod platform;
pub mod sinks;
pub mod sources;
pub mod stores;
