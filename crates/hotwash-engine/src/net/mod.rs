//! What everything that talks to a server shares: HTTP with limits and another try, keys that do not show themselves, a
//! clock that tests make up, and a log of what leaves.

pub mod egress;
pub mod http;
mod names;
pub mod retry;
#[cfg(test)]
pub(crate) mod testing;
mod world;

pub use hotwash_core::ports::call::{CallError, Failing};
pub use world::{Clock, Key, SystemClock, Waits, World};
