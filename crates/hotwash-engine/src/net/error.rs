//! Why a request came to nothing, told apart by what one may do about it.

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
    /// The key is missing or wrong, or may not do this: no other request will fare better.
    Denied,
    /// The account is out of money or quota: no other request will fare better.
    Exhausted,
    /// The endpoint, or what was asked for, is not there: no other request will fare better.
    NotThere,
    /// Too many requests, also after waiting.
    RateLimited,
    /// The service is overloaded or failed, also after trying again.
    Unavailable,
    /// No answer in time.
    TimedOut,
    /// Nobody was reached: nothing was asked.
    Unreachable,
    /// The connection broke off: what was asked may have been heard.
    Broken,
    /// The request was too large.
    TooLarge,
    /// The request was refused as wrong.
    Rejected,
    /// An answer came that is not one: not the protocol, not readable.
    Garbled,
    /// It was not answered in time and must be asked again: an expired or cancelled batch.
    Expired,
    /// The run was stopped.
    Stopped,
}

impl CallError {
    /// A failure before anything was asked.
    pub(crate) fn before(kind: Failing, message: impl Into<String>) -> CallError {
        CallError { kind, message: message.into(), requests: 0 }
    }
}

impl Failing {
    /// No other request will fare better: the run stops.
    pub fn is_for_all(self) -> bool {
        matches!(self, Failing::Denied | Failing::Exhausted | Failing::NotThere)
    }
}
