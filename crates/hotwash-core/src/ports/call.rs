//! Why a call to the outside failed, told apart by what the caller may do about it.

/// Why there is no answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What kind of failure it is.
    pub kind: Failing,
    /// What happened and where, in words, without anything secret.
    pub message: String,
    /// How many requests were made.
    pub requests: u32,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The key is missing or wrong, or may not do this. Every other request would fail too.
    Denied,
    /// The account is out of money or quota. Every other request would fail too.
    Exhausted,
    /// The endpoint, or what was asked for, does not exist. Every other request would fail too.
    NotThere,
    /// Too many requests, also after waiting.
    RateLimited,
    /// The service is overloaded or failed, also after retries.
    Unavailable,
    /// No answer in time.
    TimedOut,
    /// No connection: nothing was asked.
    Unreachable,
    /// The connection broke off: the request may have been received.
    Broken,
    /// The request was too large.
    TooLarge,
    /// The request was refused as wrong.
    Rejected,
    /// The answer does not follow the protocol, or cannot be read.
    Garbled,
    /// It was not answered in time and must be asked again: an expired or cancelled batch.
    Expired,
    /// The run was stopped.
    Stopped,
}

impl CallError {
    /// A failure before anything was asked.
    pub fn before(kind: Failing, message: impl Into<String>) -> CallError {
        CallError { kind, message: message.into(), requests: 0 }
    }
}

impl Failing {
    /// Every other request would fail too: the run stops.
    pub fn is_for_all(self) -> bool {
        matches!(self, Failing::Denied | Failing::Exhausted | Failing::NotThere)
    }
}
