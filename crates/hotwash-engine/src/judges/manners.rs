//! How servers of models word their errors, and what may help then.

use super::Failing;
use super::http::Manners;
use serde_json::Value;

/// Those of every judge behind HTTP.
pub(super) const JUDGE: Manners = Manners { name: "the judge", detail, hint };

/// What an error body says: its type and message where it has them, else its text.
fn detail(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    let error = value.get("error").unwrap_or(&value);
    let of = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = if of("type").is_empty() { of("code") } else { of("type") };
    let message = [of("message"), error.as_str().unwrap_or_default(), of("detail")];
    match (kind, message.into_iter().find(|message| !message.is_empty())) {
        ("", Some(message)) => message.to_owned(),
        (kind, Some(message)) => match of("code") {
            code if !code.is_empty() && code != kind => format!("{kind} {code}: {message}"),
            _ => format!("{kind}: {message}"),
        },
        (_, None) => value.to_string(),
    }
}

fn hint(kind: Failing, status: u16) -> Option<&'static str> {
    match kind {
        Failing::Denied => Some("check the key"),
        Failing::Exhausted => Some("the account has no money or quota left"),
        Failing::NotThere if (300..400).contains(&status) => Some("set the base URL to where the API is"),
        Failing::NotThere => Some("check the model's name and the base URL"),
        Failing::RateLimited => Some("fewer at a time may help"),
        _ => None,
    }
}
