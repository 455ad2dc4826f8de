//! The only door out: text becomes [`Redacted`] here or it does not leave.
//!
//! Models, sinks, logs and the store accept `Redacted` text and nothing else, and [`redact`] is the one function that
//! makes it. Give it whole events: half a token escapes the rules, while redacted text may be cut anywhere.
//!
//! A text is scanned as it stands and once more for each disguise it wears: invisible characters, percent
//! escapes, JSON escapes, base64. A scan is one pass over all anchors (`anchors.rs`) with a small hand-written
//! test at each hit (`providers.rs` for tokens that name their maker, `keywords.rs` and `headers.rs` for values behind a word, `pairs.rs` for
//! values apart from their name, `places.rs` for calls, `forms.rs` for lines and commands, `table.rs` for columns, `contacts.rs`,
//! `paths.rs`) and one look at long runs (`shapes.rs`).
//! What comes out is scanned again until nothing is found, so redacting twice changes nothing by construction; text that
//! does not come to rest is withheld as a whole.

mod anchors;
mod base64;
mod bytes;
mod clean;
mod compose;
mod contacts;
mod facts;
mod forms;
mod headers;
mod keywords;
mod pairs;
mod paths;
mod placeholder;
mod places;
mod providers;
mod rules;
mod scan;
mod shapes;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod views;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

pub(crate) use base64::texts as base64_texts;
pub use clean::{MARK_WEIGHT, is_hidden, redact_visible, weight};
pub use compose::{Compose, Plain};
pub use facts::{redact_facts, redact_known};
pub use placeholder::Kind;
pub use rules::{Machine, Mark, Marker, Rules};

use placeholder::placeholder;
use scan::{Hit, in_order, scan};
use views::Survey;

/// A value that has been through [`redact`]. There is no other way to make one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted<T>(T);

impl Serialize for Redacted<String> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<T: AsRef<str>> Redacted<T> {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_ref()
    }
}

impl Redacted<Cow<'_, str>> {
    /// The text, for those who keep it.
    pub fn into_owned(self) -> Redacted<String> {
        Redacted(self.0.into_owned())
    }
}

impl Redacted<String> {
    /// The text, for those who only pass it on.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The first `max_chars` characters, the last of which is then `…`.
    #[must_use]
    pub fn shorten(self, max_chars: usize) -> Redacted<String> {
        if self.0.chars().nth(max_chars).is_none() {
            return self;
        }
        let mut text: String = self.0.chars().take(max_chars.saturating_sub(1)).collect();
        if max_chars > 0 {
            text.push('…');
        }
        Redacted(text)
    }
}

impl fmt::Display for Redacted<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Redacted<String> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// One thing that [`redact`] takes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where it stands in the text, in bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// What comes in its place.
    pub placeholder: String,
}

/// How often the output may turn out to hold something still, before it is withheld.
const ROUNDS: usize = 8;

/// Takes everything private out of a text.
pub fn redact(text: &str, rules: &Rules) -> Redacted<String> {
    redact_text(text, rules).into_owned()
}

/// [`redact`] without a copy of a text that has nothing private in it: most have not.
pub fn redact_text<'t>(text: impl Into<Cow<'t, str>>, rules: &Rules) -> Redacted<Cow<'t, str>> {
    let text = text.into();
    let found = findings(&text, rules);
    if found.is_empty() {
        return Redacted(text);
    }
    let mut current = replace(&text, &found);
    for _ in 0..ROUNDS {
        let found = findings(&current, rules);
        if found.is_empty() {
            return Redacted(current.into());
        }
        current = replace(&current, &found);
    }
    Redacted(placeholder(Kind::Secret("unstable"), text.as_bytes(), &rules.key).into())
}

/// Makes text that was stored redacted [`Redacted`] again, by redacting it: a store is no witness.
pub fn restore(stored: &str, rules: &Rules) -> Redacted<String> {
    redact(stored, rules)
}

/// What [`redact`] would take out of a text, in order and without overlaps.
pub fn findings(text: &str, rules: &Rules) -> Vec<Finding> {
    let mut hits = scan(text, rules);
    let survey = views::survey(text.as_bytes());
    if hits.is_empty() && survey == Survey::default() {
        return Vec::new();
    }
    let bare = views::without_invisible(text, survey);
    let base = bare.as_ref().map_or(text, |view| view.text.as_str());
    let bare_range = |range: &Range<usize>| bare.as_ref().map_or_else(|| range.clone(), |view| view.source(range));
    if bare.is_some() {
        add(&mut hits, base, scan(base, rules), &bare_range);
    }
    let percent = survey.percent.then(|| views::without_percent(base));
    let backslash = survey.backslash.then(|| views::without_backslash(base));
    for view in [percent, backslash].into_iter().flatten().flatten() {
        add(&mut hits, &view.text, scan(&view.text, rules), &|range| bare_range(&view.source(range)));
    }
    in_order(text.as_bytes(), hits)
        .into_iter()
        .map(|hit| {
            let range = widen(text, hit.range);
            let value = hit.value.as_deref().or(text.as_bytes().get(range.clone())).unwrap_or_default();
            Finding { placeholder: placeholder(hit.kind, value, &rules.key), range, kind: hit.kind }
        })
        .collect()
}

/// Adds what was found in a view, at the places it came from, with the values as the view shows them.
fn add(hits: &mut Vec<Hit>, view: &str, found: Vec<Hit>, source: &dyn Fn(&Range<usize>) -> Range<usize>) {
    for hit in found {
        let value = hit.value.or_else(|| view.as_bytes().get(hit.range.clone()).map(<[u8]>::to_vec));
        hits.push(Hit { range: source(&hit.range), kind: hit.kind, value });
    }
}

/// The range, grown to whole characters.
fn widen(text: &str, range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while end < text.len() && !text.is_char_boundary(end) {
        end += 1;
    }
    start..end.min(text.len())
}

fn replace(text: &str, findings: &[Finding]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        // Ranges that touched the same character may overlap once widened: then nothing is left between them.
        out.push_str(text.get(at..finding.range.start).unwrap_or_default());
        out.push_str(&finding.placeholder);
        at = finding.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
