//! What went wrong with Langfuse, in words, whichever of its three shapes the answer had.

use crate::net::http::{Failed, Manners};
use crate::net::{CallError, Failing};
use serde_json::Value;

/// How Langfuse words errors.
pub(super) const LANGFUSE: Manners = Manners { name: "Langfuse", detail, hint: |_, _| None };

/// Why Langfuse did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LangfuseError {
    /// What kind of failure it is.
    pub kind: Failing,
    /// The status, where there was one.
    pub status: Option<u16>,
    /// What happened and where, without anything secret.
    pub message: String,
    /// What may help.
    pub hint: Option<&'static str>,
    /// What was sent may have been taken all the same.
    pub unclear: bool,
}

impl LangfuseError {
    pub(crate) fn new(kind: Failing, message: impl Into<String>) -> LangfuseError {
        LangfuseError { kind, status: None, message: message.into(), hint: None, unclear: false }
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> LangfuseError {
        LangfuseError { hint: Some(hint), ..self }
    }

    /// The endpoint is not there, or not on this server.
    pub fn is_missing(&self) -> bool {
        matches!(self.status, Some(404 | 405 | 410))
    }

    /// The answer was too large, or took too long to put together: a smaller page may fare better.
    pub(super) fn wants_smaller_pages(&self) -> bool {
        self.kind == Failing::TooLarge || matches!(self.status, Some(413 | 422 | 524)) || self.kind == Failing::TimedOut
    }
}

impl From<CallError> for LangfuseError {
    fn from(error: CallError) -> LangfuseError {
        let hint = matches!(error.kind, Failing::Unreachable | Failing::Broken).then_some(HOST);
        LangfuseError { kind: error.kind, status: None, message: error.message, hint, unclear: false }
    }
}

impl From<Failed> for LangfuseError {
    fn from(failed: Failed) -> LangfuseError {
        let Failed { error, status, said, unclear, too_long, .. } = failed;
        let kind = match status {
            _ if too_long => Failing::TooLarge,
            // The database took too long, or too much memory.
            Some(422) => Failing::TimedOut,
            _ => error.kind,
        };
        let hint = hint(kind, status, &said);
        LangfuseError { kind, status, message: error.message, hint, unclear }
    }
}

pub(super) const HOST: &str =
    "give the address that you open in the browser, as https://cloud.langfuse.com, without a path";
const KEYS: &str = "check the host and both keys; keys of one region or server mean nothing to another \
                    (cloud, us.cloud, jp.cloud and hipaa.cloud.langfuse.com)";

fn hint(kind: Failing, status: Option<u16>, said: &str) -> Option<&'static str> {
    match (kind, status) {
        (_, Some(401)) => Some(KEYS),
        (_, Some(403)) => Some("these keys may not do that; use the project's own public and secret key"),
        (_, Some(404)) if said.contains("web page") => Some(HOST),
        (_, Some(404)) if said.contains("events_only") => {
            Some("the server is Langfuse 4, which has only the newer reads")
        }
        (_, Some(404)) if said.contains("observations v2") => {
            Some("the server is Langfuse 3; the older reads are used")
        }
        (Failing::Unreachable | Failing::Broken, _) | (_, Some(300..=399)) => Some(HOST),
        (Failing::TimedOut, Some(422 | 524)) => Some("ask for less time at once"),
        (Failing::RateLimited, _) => Some("wait, and run it again: nothing is lost, and nothing is sent twice"),
        (Failing::Unavailable, _) => Some("the server is in trouble; run it again later"),
        _ => None,
    }
}

/// What an error body says: message and issues, whichever of them it has; a web page is only called that.
fn detail(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return if text.trim_start().starts_with('<') { "a web page".to_owned() } else { text.into_owned() };
    };
    let message = value["message"].as_str().unwrap_or_default();
    let more = match &value["error"] {
        Value::String(error) if !error.ends_with("Error") => error.clone(),
        Value::Array(issues) => issues.iter().take(3).map(issue).collect::<Vec<_>>().join("; "),
        _ => String::new(),
    };
    match (message, more.as_str()) {
        ("", "") => value.to_string(),
        (message, "") => message.to_owned(),
        ("", more) => more.to_owned(),
        (message, more) => format!("{message}: {more}"),
    }
}

fn issue(issue: &Value) -> String {
    let steps = issue["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let path: Vec<String> = steps.iter().map(|step| step.as_str().map_or(step.to_string(), str::to_owned)).collect();
    let message = issue["message"].as_str().unwrap_or("not valid");
    if path.is_empty() { message.to_owned() } else { format!("{}: {message}", path.join(".")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_shape_become_words() {
        for (body, words) in [
            (
                r#"{"message":"Invalid request data","error":[{"code":"x","path":["filter",0],"message":"Invalid input"}]}"#,
                "Invalid request data: filter.0: Invalid input",
            ),
            (r#"{"message":"Trace x not found","error":"LangfuseNotFoundError"}"#, "Trace x not found"),
            (r#"{"message":"No authorization header"}"#, "No authorization header"),
            (r#"{"message":"Took long","error":"Request timed out"}"#, "Took long: Request timed out"),
            (r#"{"error":"odd"}"#, "odd"),
            ("<!DOCTYPE html><html><body>404</body></html>", "a web page"),
            ("Invalid JSON", "Invalid JSON"),
            ("[]", "[]"),
        ] {
            assert_eq!(detail(body.as_bytes()), words);
        }
    }
}
