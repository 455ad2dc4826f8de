//! The domain of hotwash: what an event, a fact, a rubric, a score is, and the arithmetic on them.
//!
//! Nothing here does I/O, reads a clock or draws a random number: see `Cargo.toml`, which names nothing that could.

pub mod facts;
pub mod prices;
pub mod redaction;
pub mod rubric;
pub mod scores;
pub mod sessions;
pub mod shell;
pub mod text;
