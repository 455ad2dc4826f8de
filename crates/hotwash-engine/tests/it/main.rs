//! The engine from the outside: transcripts in a folder, the pipeline, the store.

mod fixtures;
