//! Citations: an event and a quote from it, looked up.

use crate::evidence::{Evidence, Source};
use crate::sessions::EventId;
use serde::{Deserialize, Serialize};

/// A shorter quote could be from anywhere.
const SHORTEST: usize = 12;

/// A citation that was looked up and found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cite {
    /// The event.
    pub event: EventId,
    /// What it says.
    pub quote: String,
    /// It is something that the session did: an edit, a file written, a run.
    pub done: bool,
    /// It was only read, fetched or found.
    #[serde(default)]
    pub read: bool,
}

/// The citation, if the event belongs to the evidence and the quote is in it.
pub(super) fn check(evidence: &Evidence, event: &str, quote: &str) -> Option<Cite> {
    let id = self::event(event)?;
    let shown = evidence.event(id).filter(|shown| shown.owned)?;
    let words = normal(shown.words.as_str());
    contains(&words, quote).then(|| {
        let (done, read) = (shown.source == Source::Did, shown.source == Source::Read);
        Cite { event: id, quote: quote.to_owned(), done, read }
    })
}

fn contains(words: &str, quote: &str) -> bool {
    let quote = normal(quote);
    let long = |text: &str| text.chars().count() >= SHORTEST;
    if quote.is_empty() {
        return false;
    }
    quote == words || long(&quote) && words.contains(&quote)
}

/// Without what gets lost when somebody copies a text: kinds of white space, of quotation marks and of dashes, and
/// characters that nobody sees.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for char in text.chars() {
        if char.is_whitespace() {
            gap = true;
            continue;
        }
        if invisible(char) {
            continue;
        }
        if gap && !out.is_empty() {
            out.push(' ');
        }
        gap = false;
        match char {
            '“' | '”' | '„' | '‟' | '«' | '»' | '‘' | '’' | '‚' | '‛' | '`' | '´' | '\'' => {
                out.push('"');
            }
            '‐' | '‑' | '‒' | '–' | '—' | '−' => out.push('-'),
            '…' => out.push_str("..."),
            char => out.push(char),
        }
    }
    out
}

fn invisible(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// An event's id as judges write it.
pub(super) fn event(text: &str) -> Option<EventId> {
    text.trim().trim_matches(|c| matches!(c, '[' | ']' | '`' | '"')).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_in_its_event_or_counts_for_nothing() {
        let evidence = Evidence::for_tests(
            &[
                (1, "fix the parser"),
                (2, "ok"),
                (7, "test result: ok.\n  12 passed;\t0 failed – “fine”, it's"),
                (9, ""),
            ],
            &[],
        );
        for (event, quote, checks) in [
            ("e7", "test result: ok.", true),
            ("e7", "ok. 12 passed; 0 failed", true),
            ("e7", "passed;\n0 failed - \"fine\", it’s", true),
            (" [e7] ", "test result: ok.", true),
            ("e7", "test result: OK.", false),
            ("e7", "test\u{200b} result: ok.", true),
            ("e7", "0 failed", false), // too short
            ("e7", "13 passed; 0 failed", false),
            ("e7", "test result … 0 failed", false),
            ("e2", "ok", true), // the whole event
            ("e2", "o", false),
            ("e1", "fix the parser", true),
            ("e1", "fix the parser now", false),
            ("e1", "test result: ok.", false), // another event's
            ("e8", "test result: ok.", false), // no such event
            ("e9", "", false),
            ("7", "test result: ok.", false),
            ("e2.7", "test result: ok.", false),
            ("e007", "test result: ok.", false),
            ("", "test result: ok.", false),
        ] {
            assert_eq!(check(&evidence, event, quote).is_some(), checks, "{event} {quote}");
        }
    }
}
