//! How a judge is named, and what else can be set about judging.

use hotwash_core::outcomes::Intent;
use hotwash_core::prompts::Task;
use hotwash_core::verdicts::Thresholds;
use std::fmt;

/// A way to reach a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// The Messages API.
    Anthropic,
    /// Its batches: half the price, later.
    AnthropicBatch,
    /// The `claude` program of this machine.
    ClaudeCli,
    /// Any endpoint that speaks as OpenAI's does.
    OpenAi,
    /// Files that somebody else answers.
    Files,
}

impl Backend {
    const ALL: [Backend; 5] =
        [Backend::Anthropic, Backend::AnthropicBatch, Backend::ClaudeCli, Backend::OpenAi, Backend::Files];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Anthropic => "anthropic",
            Backend::AnthropicBatch => "anthropic-batch",
            Backend::ClaudeCli => "claude-cli",
            Backend::OpenAi => "openai",
            Backend::Files => "files",
        }
    }

    /// The model that judges unless another is named: one for quality and outcome, one for what is easier.
    pub(crate) fn models(self) -> Option<(&'static str, &'static str)> {
        match self {
            Backend::Anthropic | Backend::AnthropicBatch | Backend::ClaudeCli => {
                Some(("claude-sonnet-5-5", "claude-haiku-5-5"))
            }
            Backend::Files => Some(("files", "files")),
            Backend::OpenAi => None,
        }
    }
}

/// A judge as it is named: `anthropic`, `openai:gpt-5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The way to it.
    pub(crate) backend: Backend,
    /// The model, where it is named.
    pub(crate) model: Option<String>,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.backend.name())?;
        match &self.model {
            Some(model) => write!(f, ":{model}"),
            None => Ok(()),
        }
    }
}

/// Judges by name: none for `offline`, one, or two of which the second looks where the first is not sure.
pub(crate) fn judges(text: &str) -> Option<Vec<Named>> {
    if text.trim() == "offline" {
        return Some(Vec::new());
    }
    let named = |text: &str| {
        let (backend, model) = match text.split_once(':') {
            Some((backend, model)) => (backend.trim(), Some(model.trim().to_owned())),
            None => (text.trim(), None),
        };
        let backend = Backend::ALL.into_iter().find(|known| known.name() == backend)?;
        (model.as_deref() != Some("")).then_some(Named { backend, model })
    };
    let judges: Vec<Named> = text.split(',').map(named).collect::<Option<_>>()?;
    (judges.len() <= 2).then_some(judges)
}

/// The same as text.
pub(crate) fn shown(judges: &[Named]) -> String {
    if judges.is_empty() {
        return "offline".into();
    }
    judges.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Tasks by name. What one needs of another comes along.
pub(crate) fn tasks(text: &str) -> Option<Vec<Task>> {
    if text.trim() == "all" {
        return Some(Task::ALL.to_vec());
    }
    let task = |name: &str| Task::ALL.into_iter().find(|task| task.name() == name.trim());
    let mut tasks: Vec<Task> = text.split(',').map(task).collect::<Option<_>>()?;
    if tasks.contains(&Task::Outcome) {
        tasks.push(Task::Intent);
    }
    tasks.sort();
    tasks.dedup();
    // What was wanted is of no use to anybody by itself.
    (tasks != [Task::Intent] && tasks != [Task::Topic, Task::Intent]).then_some(tasks)
}

/// Thresholds by name: `complete=0.7,failed=0.4,bug_fix=0.8`.
pub(crate) fn thresholds(text: &str) -> Option<Thresholds> {
    let mut thresholds = Thresholds::default();
    for one in text.split(',').filter(|text| !text.trim().is_empty()) {
        let (name, number) = one.split_once('=')?;
        let number = number.trim().parse().ok().filter(|number| (0.0..=1.0).contains(number))?;
        match name.trim() {
            "complete" => thresholds.complete_at = number,
            "failed" => thresholds.failed_at = number,
            name => {
                let intent = Intent::ALL.into_iter().find(|known| known.name() == name)?;
                thresholds.by_intent.insert(intent, number);
            }
        }
    }
    let lowest = thresholds.by_intent.values().fold(thresholds.complete_at, |low, at| low.min(*at));
    (thresholds.failed_at < lowest).then_some(thresholds)
}

/// The same as text.
pub(crate) fn shown_thresholds(thresholds: &Thresholds) -> String {
    let Thresholds { complete_at, by_intent, failed_at } = thresholds;
    let mut all = vec![format!("complete={complete_at}"), format!("failed={failed_at}")];
    all.extend(by_intent.iter().map(|(intent, at)| format!("{}={at}", intent.name())));
    all.join(",")
}

/// Dollars per million tokens read and written: `0.5,2`.
pub(crate) fn price(text: &str) -> Option<(f64, f64)> {
    let (input, output) = text.split_once(',')?;
    let dollars = |text: &str| text.trim().parse::<f64>().ok().filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
    Some((dollars(input)?, dollars(output)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_are_named_with_a_model_or_without() {
        assert_eq!(judges("offline"), Some(Vec::new()));
        assert_eq!(shown(&judges("anthropic").unwrap()), "anthropic");
        let cascade = "openai:llama3:8b,anthropic:claude-opus-5-5";
        assert_eq!(shown(&judges(cascade).unwrap()), cascade);
        for wrong in ["", "gpt", "openai:", "offline,files", "files,files,files"] {
            assert_eq!(judges(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_task_brings_what_it_needs() {
        assert_eq!(tasks("outcome"), Some(vec![Task::Intent, Task::Outcome]));
        assert_eq!(tasks("quality"), Some(vec![Task::Quality]));
        assert_eq!(tasks("quality, intent,intent"), Some(vec![Task::Intent, Task::Quality]));
        assert_eq!(tasks("all"), Some(Task::ALL.to_vec()));
        assert_eq!(tasks("topic"), Some(vec![Task::Topic]));
        assert_eq!(tasks("quality,topic"), Some(vec![Task::Topic, Task::Quality]));
        for wrong in ["intent", "topic,intent", "all,topic", "everything"] {
            assert_eq!(tasks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_checked() {
        for (text, shown) in [
            ("", "complete=0.7,failed=0.4"),
            ("bug_fix=0.8, feature = 1", "complete=0.7,failed=0.4,bug_fix=0.8,feature=1"),
            ("failed=0.2, complete=0.9", "complete=0.9,failed=0.2"),
        ] {
            assert_eq!(thresholds(text).map(|set| shown_thresholds(&set)).as_deref(), Some(shown), "{text}");
        }
        for wrong in ["bug_fix=80", "bugs=0.5", "0.5", "failed=0.7", "complete=0.3", "question=0.4"] {
            assert_eq!(thresholds(wrong), None, "{wrong}");
        }
        assert_eq!(price("0.5,2"), Some((0.5, 2.0)));
        for wrong in ["1", "-1,2", "a,b", "inf,1"] {
            assert_eq!(price(wrong), None, "{wrong}");
        }
    }
}
