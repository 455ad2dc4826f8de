//! What leaves the machine is told before it leaves: when, where to, how much, and its hash.

use super::{CallError, Failing, World};
use hotwash_core::hash::sha256;
use hotwash_core::sessions::Timestamp;

/// One request that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// When.
    pub at: Timestamp,
    /// Where to: a host with its port, or the program that is handed it.
    pub host: String,
    /// The bytes of its body.
    pub bytes: u64,
    /// The hash of its body.
    pub sha256: String,
}

/// Hears of every request before it is sent.
pub trait Egress: Send + Sync {
    /// Takes note. What cannot be noted is not sent: an error says why.
    fn sending(&self, request: &Sending) -> Result<(), String>;
}

/// Tells of a body that is about to be sent.
pub(crate) fn tell(world: &World, host: &str, parts: &[&[u8]]) -> Result<(), CallError> {
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    let request = Sending { at: world.clock.now(), host: host.to_owned(), bytes, sha256: sha256(parts) };
    world.egress.sending(&request).map_err(|error| {
        let message = format!("nothing was sent to {host}, because the log of what is sent cannot be written: {error}");
        CallError::before(Failing::Stopped, message)
    })
}
