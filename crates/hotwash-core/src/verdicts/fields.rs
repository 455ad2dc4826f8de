//! Typed values out of an answer. What is wrong is noted, and reading goes on.

use super::{Cite, Fault, Problem, Reading, cites};
use crate::evidence::Evidence;
use crate::redaction::{Rules, redact_visible};
use crate::scores::Flag;
use serde_json::{Map, Value};

/// Texts of an answer are kept up to this many characters.
const LONGEST_TEXT: usize = 1_000;
/// Lists up to this many entries.
const LONGEST_LIST: usize = 64;
/// So far off the scale is a rounding error.
const SLACK: f64 = 1e-6;

/// Notes what is wrong while an answer is read.
pub(super) struct Notes<'a> {
    rules: &'a Rules,
    pub(super) problems: Vec<Problem>,
    pub(super) flags: Vec<Flag>,
}

/// An object of an answer, and where it stands.
pub(super) struct Fields<'v> {
    map: &'v Map<String, Value>,
    at: String,
}

impl<'a> Notes<'a> {
    pub(super) fn new(rules: &'a Rules) -> Notes<'a> {
        Notes { rules, problems: Vec::new(), flags: Vec::new() }
    }

    /// The reading that comes of it.
    pub(super) fn reading<T>(self, verdict: Option<T>) -> Reading<T> {
        Reading { verdict, problems: self.problems, flags: self.flags }
    }

    pub(super) fn problem(&mut self, at: String, fault: Fault, text: impl Into<String>) {
        self.problems.push(Problem { at, fault, text: text.into() });
    }

    pub(super) fn flag(&mut self, flag: Flag) {
        flag.raise(&mut self.flags);
    }

    /// The whole answer.
    pub(super) fn whole<'v>(&mut self, map: &'v Map<String, Value>, keys: &[&str]) -> Fields<'v> {
        self.known(map, keys);
        Fields { map, at: String::new() }
    }

    fn known(&mut self, map: &Map<String, Value>, keys: &[&str]) {
        if map.keys().any(|key| !keys.contains(&key.as_str())) {
            self.flag(Flag::UnknownKeys);
        }
    }

    fn required<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v Value> {
        let value = fields.map.get(key);
        if value.is_none() {
            self.problem(fields.path(key), Fault::Missing, "is missing");
        }
        value
    }

    pub(super) fn object<'v>(&mut self, fields: &Fields<'v>, key: &str, keys: &[&str]) -> Option<Fields<'v>> {
        let value = self.required(fields, key)?;
        let Value::Object(map) = value else {
            self.problem(fields.path(key), Fault::WrongKind, "must be an object");
            return None;
        };
        self.known(map, keys);
        Some(Fields { map, at: fields.path(key) })
    }

    /// The objects of a list.
    pub(super) fn objects<'v>(&mut self, fields: &Fields<'v>, key: &str, keys: &[&str]) -> Vec<Fields<'v>> {
        let mut found = Vec::new();
        for (index, item) in self.list(fields, key).iter().enumerate() {
            let at = format!("{}[{index}]", fields.path(key));
            match item {
                Value::Object(map) => {
                    self.known(map, keys);
                    found.push(Fields { map, at });
                }
                _ => self.problem(at, Fault::WrongKind, "must be an object"),
            }
        }
        found
    }

    /// The texts of a list.
    pub(super) fn texts(&mut self, fields: &Fields<'_>, key: &str) -> Vec<String> {
        let items = self.list(fields, key);
        items.iter().filter_map(Value::as_str).map(|text| self.clean(text)).collect()
    }

    fn list<'v>(&mut self, fields: &Fields<'v>, key: &str) -> &'v [Value] {
        match self.required(fields, key) {
            Some(Value::Array(items)) => items.get(..LONGEST_LIST).unwrap_or(items),
            Some(_) => {
                self.problem(fields.path(key), Fault::WrongKind, "must be a list");
                &[]
            }
            None => &[],
        }
    }

    /// Words, redacted, on one line, and not too many.
    pub(super) fn text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let value = self.required(fields, key)?;
        let Some(text) = value.as_str() else {
            self.problem(fields.path(key), Fault::WrongKind, "must be a text");
            return None;
        };
        Some(self.clean(text))
    }

    fn clean(&self, text: &str) -> String {
        let text: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let text: Vec<&str> = text.into_iter().filter(|word| !word.is_empty()).collect();
        redact_visible(&text.join(" "), self.rules).shorten(LONGEST_TEXT).into_string()
    }

    pub(super) fn boolean(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
        let value = self.required(fields, key)?;
        if value.as_bool().is_none() {
            self.problem(fields.path(key), Fault::WrongKind, "must be true or false");
        }
        value.as_bool()
    }

    /// A finite number from 0 to 1. Anything else is not guessed at.
    pub(super) fn number(&mut self, fields: &Fields<'_>, key: &str) -> Option<f64> {
        let value = self.required(fields, key)?;
        let number = self.any_number(value).filter(|n| (-SLACK..=1.0 + SLACK).contains(n));
        if number.is_none() {
            self.problem(fields.path(key), Fault::OffScale, "must be a number from 0 to 1, such as 0.35");
        }
        // Adding 0 makes a 0 of a -0.
        number.map(|number| number.clamp(0.0, 1.0) + 0.0)
    }

    /// A whole number from 0 up.
    pub(super) fn count(&mut self, fields: &Fields<'_>, key: &str) -> Option<usize> {
        let value = self.required(fields, key)?;
        let count = self.any_number(value).and_then(whole);
        if count.is_none() {
            self.problem(fields.path(key), Fault::WrongKind, "must be a whole number");
        }
        count
    }

    fn any_number(&mut self, value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) => number.as_f64().filter(|number| number.is_finite()),
            Value::String(text) => {
                let text = text.trim();
                let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
                let number = text.chars().all(plain).then(|| text.parse::<f64>().ok()).flatten();
                let number = number.filter(|number| number.is_finite())?;
                self.flag(Flag::NumberAsText);
                Some(number)
            }
            _ => None,
        }
    }

    /// Which of the labels it is; in `numbered` ones a label's number will do.
    pub(super) fn label<S: AsRef<str>>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        labels: &[S],
        numbered: bool,
    ) -> Option<usize> {
        let value = self.required(fields, key)?;
        let named = value.as_str().and_then(|text| {
            let text = folded(text);
            labels.iter().position(|label| folded(label.as_ref()) == text)
        });
        let by_number = || {
            let number = if numbered { self.any_number(value) } else { None };
            number.and_then(whole).filter(|index| *index < labels.len())
        };
        let found = named.or_else(by_number);
        if found.is_none() {
            let labels: Vec<&str> = labels.iter().map(AsRef::as_ref).collect();
            let text = format!("must be one of {}", labels.join(", "));
            self.problem(fields.path(key), Fault::OffScale, text);
        }
        found
    }

    /// The citations of a list that check. The others are flagged and gone.
    pub(super) fn cites(&mut self, fields: &Fields<'_>, evidence: &Evidence) -> Vec<Cite> {
        let mut found = Vec::new();
        for cite in self.objects(fields, "evidence", &["event", "quote"]) {
            let checked = self.cite(&cite, evidence);
            found.extend(checked.filter(|cite| !found.contains(cite)));
        }
        found
    }

    /// A citation, if it checks.
    pub(super) fn cite(&mut self, fields: &Fields<'_>, evidence: &Evidence) -> Option<Cite> {
        let word = |key: &str| fields.map.get(key).and_then(Value::as_str);
        let checked = word("event").zip(word("quote")).and_then(|(event, quote)| cites::check(evidence, event, quote));
        if checked.is_none() {
            self.flag(Flag::UncheckedCites);
        }
        checked.map(|cite| Cite { quote: self.clean(&cite.quote), ..cite })
    }
}

impl Fields<'_> {
    /// Where a key of it stands.
    pub(super) fn path(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    /// Where it stands itself.
    pub(super) fn at(&self) -> &str {
        &self.at
    }
}

fn whole(number: f64) -> Option<usize> {
    (number.fract() == 0.0 && (0.0..1e6).contains(&number)).then_some(number as usize)
}

/// Without what makes no difference in a label.
fn folded(label: &str) -> String {
    let joint = |c: char| if matches!(c, '_' | '-') || c.is_whitespace() { ' ' } else { c };
    label.trim().chars().map(joint).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_from_0_to_1_and_not_guessed_at() {
        let rules = Rules::default();
        for (value, expected) in [
            (json!(0), Some(0.0)),
            (json!(1), Some(1.0)),
            (json!(0.85), Some(0.85)),
            (json!(-0.0), Some(0.0)),
            (json!(1.000_000_5), Some(1.0)),
            (json!(-0.000_000_5), Some(0.0)),
            (json!(1.000_002), None),
            (json!(-0.2), None),
            (json!(85), None),
            (json!("85%"), None),
            (json!("0.85"), Some(0.85)),
            (json!(" 1e-1 "), Some(0.1)),
            (json!("0,85"), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!("0.85 or so"), None),
            (json!(""), None),
            (json!(null), None),
            (json!(true), None),
            (json!([0.5]), None),
            (json!({ "value": 0.5 }), None),
        ] {
            let map = Map::from_iter([("n".to_owned(), value.clone())]);
            let mut notes = Notes::new(&rules);
            let fields = notes.whole(&map, &["n"]);
            let number = notes.number(&fields, "n");
            assert_eq!(number, expected, "{value}");
            assert!(number.is_none_or(f64::is_sign_positive));
            assert_eq!(notes.problems.is_empty(), expected.is_some(), "{value}");
            assert_eq!(notes.flags == [Flag::NumberAsText], value.is_string() && expected.is_some(), "{value}");
        }
    }

    #[test]
    fn labels_differ_by_more_than_case_and_joints() {
        let rules = Rules::default();
        let labels = ["failed", "nearly_there", "Complete"];
        for (value, plain, numbered) in [
            (json!("failed"), Some(0), Some(0)),
            (json!(" FAILED\n"), Some(0), Some(0)),
            (json!("Nearly there"), Some(1), Some(1)),
            (json!("nearly-there"), Some(1), Some(1)),
            (json!("complete"), Some(2), Some(2)),
            (json!("completed"), None, None),
            (json!("complete (2)"), None, None),
            (json!(2), None, Some(2)),
            (json!(2.0), None, Some(2)),
            (json!("1"), None, Some(1)),
            (json!(3), None, None),
            (json!(-1), None, None),
            (json!(0.67), None, None),
            (json!(null), None, None),
            (json!(["failed"]), None, None),
        ] {
            let map = Map::from_iter([("l".to_owned(), value.clone())]);
            for (may, expected) in [(false, plain), (true, numbered)] {
                let mut notes = Notes::new(&rules);
                let fields = notes.whole(&map, &["l"]);
                assert_eq!(notes.label(&fields, "l", &labels, may), expected, "{value} {may}");
                assert_eq!(notes.problems.is_empty(), expected.is_some(), "{value}");
            }
        }
    }
}
