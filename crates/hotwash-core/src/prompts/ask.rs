//! The four questions.

use super::template::{Template, fill, own};
use super::{Prompt, Task, schema};
use crate::evidence::{Evidence, PromptEvidence};
use crate::hash::of_texts;
use crate::redaction::{Compose, Redacted, Rules, redact};
use crate::rubric::{Critic, Dimension, Kind, Rubric};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

pub(super) const TOPIC: Template = Template(include_str!("../../prompts/topic.md"));
pub(super) const INTENT: Template = Template(include_str!("../../prompts/intent.md"));
pub(super) const OUTCOME: Template = Template(include_str!("../../prompts/outcome.md"));
pub(super) const QUALITY: Template = Template(include_str!("../../prompts/quality.md"));
/// How dimensions are scored, whoever is asked to.
pub(super) const SCORING: &str = include_str!("../../prompts/scoring.md");

/// What is the same for every session under a task.
struct Fixed {
    text: Arc<Redacted<String>>,
    schema: Arc<Value>,
    hash: String,
}

impl Fixed {
    /// Of a task that no rubric changes.
    fn own(template: Template, schema: Value, words: &'static str) -> Fixed {
        let text = Arc::new(template.fixed(&own(words), &[]));
        let [task, data, cites, answer] = template.words();
        Fixed { text, hash: of_texts(&[task, data, cites, answer, words]), schema: Arc::new(schema) }
    }

    fn prompt(&self, task: Task, evidence: Redacted<String>, question: Redacted<String>) -> Prompt {
        let max_output_tokens = match task {
            Task::Intent => 1_000,
            Task::Topic | Task::Outcome | Task::Quality => 8_000,
        };
        Prompt {
            task,
            critic: String::new(),
            fixed: Arc::clone(&self.text),
            evidence,
            question,
            schema: Arc::clone(&self.schema),
            template_hash: self.hash.clone(),
            max_output_tokens,
        }
    }
}

/// A hash of what sessions are judged by, templates, schemas and rubric: two runs under the same one can be compared.
pub fn version(rubric: &Rubric) -> String {
    let schemas = [schema::intent(), schema::outcome(&[])].map(|schema| schema.to_string());
    let words = [INTENT, OUTCOME, QUALITY].map(Template::words);
    let mut parts: Vec<&str> = words.iter().flatten().copied().chain([SCORING]).collect();
    parts.extend(schemas.iter().map(String::as_str));
    let rubric = rubric.hash();
    parts.push(&rubric);
    of_texts(&parts)
}

fn fixed_for_topics() -> &'static Fixed {
    static WORDS: LazyLock<String> = LazyLock::new(|| schema::topic().to_string());
    static FIXED: LazyLock<Fixed> = LazyLock::new(|| Fixed::own(TOPIC, schema::topic(), &WORDS));
    &FIXED
}

/// The hash of what is asked about prompts, whatever they are.
pub fn topic_version() -> &'static str {
    &fixed_for_topics().hash
}

/// At which prompts of a transcript another goal begins.
pub fn topic(prompts: &PromptEvidence) -> Prompt {
    let mut asked = Compose::new();
    for (number, (id, _)) in prompts.asked().iter().enumerate() {
        asked.own(if number == 0 { "" } else { ", " }).plain(*id);
    }
    let question = TOPIC.question(&[("marker", own_marker(prompts.marker())), ("asked", asked.finish())]);
    fixed_for_topics().prompt(Task::Topic, prompts.text().clone(), question)
}

/// What the person wanted. `requests` holds their prompts and nothing else.
pub fn intent(requests: &Evidence) -> Prompt {
    static WORDS: LazyLock<String> = LazyLock::new(|| schema::intent().to_string());
    static FIXED: LazyLock<Fixed> = LazyLock::new(|| Fixed::own(INTENT, schema::intent(), &WORDS));

    let question = INTENT.question(&[("marker", own_marker(requests.marker()))]);
    FIXED.prompt(Task::Intent, requests.text().clone(), question)
}

/// Whether the person got it; with a rubric, how well it went, too.
pub fn outcome(evidence: &Evidence, rubric: Option<&Rubric>, rules: &Rules) -> Prompt {
    let asked = Asked::of(Task::Outcome, rubric, None, rules);
    let mut rest = Compose::new();
    rest.own("then the marks");
    if rubric.is_some() {
        rest.own(", then the scores of ").words(&asked.names);
    }
    let question = OUTCOME.question(&[("marker", own_marker(evidence.marker())), ("rest", rest.finish())]);
    asked.fixed.prompt(Task::Outcome, evidence.text().clone(), question)
}

/// How well it went: on all dimensions, or on those of one critic.
pub fn quality(evidence: &Evidence, rubric: &Rubric, critic: Option<&Critic>, rules: &Rules) -> Prompt {
    let asked = Asked::of(Task::Quality, Some(rubric), critic, rules);

    let part = evidence.part();
    let mut which = Compose::new();
    if part.of > 1 {
        which.own("It is part ").plain(part.number + 1).own(" of ").plain(part.of).own(" of the session");
        which.own(if part.number + 1 == part.of { ", the last one." } else { ": the session goes on after it." });
        which.own(" Judge only what belongs to it; what is marked as context does not.");
    }
    let question = QUALITY.question(&[
        ("marker", own_marker(evidence.marker())),
        ("part", which.finish()),
        ("names", asked.names.clone()),
    ]);
    let prompt = asked.fixed.prompt(Task::Quality, evidence.text().clone(), question);
    Prompt { critic: critic.map(|critic| critic.name.clone()).unwrap_or_default(), ..prompt }
}

/// What is the same for every session under a rubric, for one critic or for all dimensions.
struct Asked {
    fixed: Fixed,
    names: Redacted<String>,
}

/// By the task, the rubric's hash, the critic and the rules.
type Remembered = Mutex<HashMap<(Task, String, String, u64), Arc<Asked>>>;

impl Asked {
    /// Worked out once: it is longer than most sessions.
    fn of(task: Task, rubric: Option<&Rubric>, critic: Option<&Critic>, rules: &Rules) -> Arc<Asked> {
        static REMEMBERED: LazyLock<Remembered> = LazyLock::new(Remembered::default);
        let name = critic.map_or("", |critic| critic.name.as_str());
        let key = (task, rubric.map(Rubric::hash).unwrap_or_default(), name.to_owned(), rules.number());
        let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(remembered.entry(key).or_insert_with(|| Arc::new(Asked::new(task, rubric, critic, rules))))
    }

    fn new(task: Task, rubric: Option<&Rubric>, critic: Option<&Critic>, rules: &Rules) -> Asked {
        let dimensions = rubric.map_or_else(Vec::new, |rubric| dimensions_of(rubric, critic));
        let (template, schema) = match task {
            Task::Outcome => (OUTCOME, schema::outcome(&dimensions)),
            _ => (QUALITY, schema::quality(&dimensions)),
        };
        let words = schema.to_string();
        let mut role = Compose::new();
        if let Some(critic) = critic {
            role.own("You are one of a panel, its `").words(&redact(&critic.name, rules));
            role.own("` critic; the other dimensions are scored by others.");
        }
        let mut scoring = Compose::new();
        if let Some(rubric) = rubric {
            if task == Task::Outcome {
                scoring.own("## `quality`: how well the session went\n\n");
            }
            let described: String = dimensions.iter().map(|dimension| describe(dimension)).collect();
            let values = [("rubric", redact(&rubric.id(), rules)), ("dimensions", redact(&described, rules))];
            scoring.words(&fill(SCORING, &values));
        }
        let values = [("critic", role.finish()), ("scoring", scoring.finish())];
        let [task, data, cites, answer] = template.words();
        let name = critic.map_or("", |critic| critic.name.as_str());
        let hash = rubric.map(Rubric::hash).unwrap_or_default();
        let fixed = Fixed {
            text: Arc::new(template.fixed(&redact(&words, rules), &values)),
            hash: of_texts(&[task, data, cites, answer, SCORING, &words, &hash, name]),
            schema: Arc::new(schema),
        };
        let names: Vec<String> = dimensions.iter().map(|dimension| format!("`{}`", dimension.name)).collect();
        Asked { fixed, names: redact(&names.join(", "), rules) }
    }
}

/// The dimensions that a critic scores; all of them without one. The goal's is asked of nobody: it follows from the
/// outcome.
pub(crate) fn dimensions_of<'a>(rubric: &'a Rubric, critic: Option<&Critic>) -> Vec<&'a Dimension> {
    let asked = |dimension: &&Dimension| {
        dimension.name != rubric.goal && critic.is_none_or(|critic| critic.dimensions.contains(&dimension.name))
    };
    rubric.dimensions.iter().filter(asked).collect()
}

/// A dimension in words.
fn describe(dimension: &Dimension) -> String {
    // Writing to a string cannot fail.
    let mut out = String::new();
    let _ = writeln!(out, "### `{}`: {}\n\n{}\n", dimension.name, dimension.title, dimension.measures);
    match &dimension.kind {
        Kind::Numeric(bands) => {
            out.push_str("A number from 0 to 1:\n\n");
            for band in bands {
                let _ = writeln!(out, "- {:.2} to {:.2}: {}", band.from, band.to, band.criterion);
            }
        }
        Kind::Categorical(levels) => {
            out.push_str("One of these levels, the lowest first:\n\n");
            for level in levels {
                let _ = writeln!(out, "- `{}`: {}", level.label, level.criterion);
            }
        }
    }
    let lists =
        [("Look up", &dimension.checks), ("Speaks for it", &dimension.plus), ("Speaks against it", &dimension.minus)];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = writeln!(out, "\n{title}:\n");
        for line in lines {
            let _ = writeln!(out, "- {line}");
        }
    }
    out.push('\n');
    out
}

/// A marker, which is nobody's words: letters, digits and dashes, and not many of them.
fn own_marker(marker: &str) -> Redacted<String> {
    const KNOWN: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    let mut out = Compose::new();
    for at in marker.chars().take(32).filter_map(|char| KNOWN.find(char)) {
        out.own(KNOWN.get(at..=at).unwrap_or_default());
    }
    out.finish()
}
