//! Small shapes on the wire: rows as they came, queries, and the header that carries the keys.

use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// A row as the server sent it, and the few things in it that every reader needs.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// The trace it belongs to; a trace's own id.
    pub trace: Option<String>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// When it began.
    pub at: Option<Timestamp>,
    /// All of it.
    pub raw: Box<RawValue>,
}

/// What kind of thing rows are, which says where their ids stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Observation,
    Trace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    id: String,
    trace_id: Option<String>,
    session_id: Option<String>,
    start_time: Option<String>,
    timestamp: Option<String>,
}

impl Row {
    /// Reads the head of a row; none where it has no id.
    pub(super) fn read(raw: Box<RawValue>, kind: Kind) -> Option<Row> {
        let head: Head = serde_json::from_str(raw.get()).ok()?;
        let (trace, session, at) = match kind {
            Kind::Observation => (head.trace_id, head.session_id, head.start_time),
            Kind::Trace => (Some(head.id.clone()), head.session_id, head.timestamp),
        };
        // What is absent is mostly an empty text.
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let at = at.and_then(|at| Timestamp::parse(at.as_bytes()));
        Some(Row { id: head.id, trace: some(trace), session: some(session), at, raw })
    }
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<str>) -> Query {
        let mark = if self.0.is_empty() { '?' } else { '&' };
        let _ = write!(self.0, "{mark}{name}={}", encoded(value.as_ref()));
        self
    }

    pub(crate) fn with_some(self, name: &str, value: Option<impl AsRef<str>>) -> Query {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn after(&self, path: &str) -> String {
        format!("{path}{}", self.0)
    }
}

/// A text as it may stand in a path or in a query.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The header of Basic authentication.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelled_as_basic_authentication_wants_them() {
        for (text, spelled) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(text.as_bytes()), spelled);
        }
        assert_eq!(basic("pk-lf-1", "sk-lf-2"), "Basic cGstbGYtMTpzay1sZi0y");
    }

    #[test]
    fn queries_hold_anything() {
        let query = Query::default().with("a", "x+y=ü/").with_some("b", None::<&str>).with("c", "1");
        assert_eq!(query.after("/p"), "/p?a=x%2By%3D%C3%BC%2F&c=1");
    }

    #[test]
    fn rows_show_their_heads() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let row = Row::read(
            raw(
                r#"{"id":"o","traceId":"t","sessionId":"","startTime":"2026-11-15T19:00:00.000Z","createdAt":"x","z":1}"#,
            ),
            Kind::Observation,
        );
        let row = row.unwrap();
        assert_eq!(
            (row.trace.as_deref(), row.session, row.at.map(|at| at.0)),
            (Some("t"), None, Some(1_794_769_200_000))
        );
        assert!(row.raw.get().ends_with("\"z\":1}"));
        let row =
            Row::read(raw(r#"{"id":"t","sessionId":"s","timestamp":"2026-11-15T19:00:00Z"}"#), Kind::Trace).unwrap();
        assert_eq!((row.trace.as_deref(), row.session.as_deref()), (Some("t"), Some("s")));
        assert!(Row::read(raw("{}"), Kind::Trace).is_none());
    }
}
