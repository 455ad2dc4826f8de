//! Where grades go besides the store.

pub mod langfuse;
