//! Templates: files with `{{name}}` where something comes in.

use crate::redaction::{Compose, Redacted};

/// Everything that judges are told of the evidence, whatever they are asked.
const DATA: &str = include_str!("../../prompts/data.md");
/// How they are to answer.
const ANSWER: &str = include_str!("../../prompts/answer.md");
/// How they are to cite, where they are to.
const CITES: &str = include_str!("../../prompts/cites.md");
/// The line between the fixed part and the question.
const QUESTION: &str = "=== question ===\n";

/// One task's words.
#[derive(Clone, Copy)]
pub(super) struct Template(pub(super) &'static str);

impl Template {
    /// What is the same for every session.
    pub(super) fn fixed(self, schema: &Redacted<String>, values: &[(&str, Redacted<String>)]) -> Redacted<String> {
        let answer = fill(ANSWER, &[("schema", schema.clone())]);
        let mut all = vec![("data", own(DATA)), ("cites", own(CITES)), ("answer", answer)];
        all.extend_from_slice(values);
        fill(self.parts().0, &all)
    }

    /// What is asked.
    pub(super) fn question(self, values: &[(&str, Redacted<String>)]) -> Redacted<String> {
        fill(self.parts().1.trim_end(), values)
    }

    /// All words that a judge is told, for the hash.
    pub(super) fn words(self) -> [&'static str; 4] {
        [self.0, DATA, CITES, ANSWER]
    }

    fn parts(self) -> (&'static str, &'static str) {
        self.0.split_once(QUESTION).unwrap_or((self.0, ""))
    }
}

/// Words of the program as redacted text.
pub(super) fn own(words: &'static str) -> Redacted<String> {
    let mut text = Compose::new();
    text.own(words);
    text.finish()
}

/// A template with its places filled in. What comes in is not looked through for places: it may be anybody's words.
pub(super) fn fill(template: &'static str, values: &[(&str, Redacted<String>)]) -> Redacted<String> {
    let mut out = Compose::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        out.own(before);
        // A test fills in every template and finds no place left empty.
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            out.words(value);
        }
        rest = after;
    }
    out.own(rest);
    out.finish()
}

#[cfg(test)]
pub(super) fn places(template: &'static str) -> Vec<&'static str> {
    template.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_once_and_only_places() {
        let words = |text: &str| crate::redaction::redact(text, &crate::redaction::Rules::default());
        for (template, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a {{x}} b", "a 1 b"),
            ("{{x}}{{y}}", "1{{x}}"),
            ("{{y}} {{x}}", "{{x}} 1"),
            ("open {{x", "open {{x"),
            ("{ {x} }", "{ {x} }"),
        ] {
            let filled = fill(template, &[("x", words("1")), ("y", words("{{x}}"))]);
            assert_eq!(filled.as_str(), expected);
        }
    }
}
