//! The Messages API of Anthropic: one request, one answer.

use super::http::{Failed, Headers, Network, Request, Server};
use super::schema::Plain;
use super::{Failing, JudgeError, Key, Live, Reply, Stop, World, schema};
use hotwash_core::prompts::Prompt;
use hotwash_core::sessions::Usage;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Where the API is.
pub const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

/// How to reach the API.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it is: [`BASE`], or a proxy for it.
    pub base: String,
    /// The key.
    pub key: Key,
    /// Several critics read the same evidence, so that caching it pays.
    pub several_critics: bool,
    /// Limits.
    pub network: Network,
}

/// What a model is asked with. Each has less than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Held to a schema, with little effort.
    Effort,
    /// Held to a schema.
    Schema,
    /// Asked for JSON in words.
    Words,
}

impl Form {
    /// What to begin with.
    pub(super) fn of(model: &str) -> Form {
        if takes_effort(model) { Form::Effort } else { Form::Schema }
    }

    /// What to try after a refusal, if that is what was refused.
    fn after(self, failed: &Failed) -> Option<Form> {
        if failed.status != Some(400) || failed.error.kind != Failing::Rejected {
            return None;
        }
        self.after_saying(&failed.said)
    }

    /// The same, by what was said of it in small letters.
    pub(super) fn after_saying(self, said: &str) -> Option<Form> {
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        match self {
            Form::Effort if says(&["effort"]) => Some(Form::Schema),
            Form::Effort | Form::Schema
                if says(&[
                    "output_config",
                    "output_format",
                    "schema",
                    "structured",
                    "extra inputs",
                    "unknown",
                    "unexpected",
                ]) =>
            {
                Some(Form::Words)
            }
            _ => None,
        }
    }
}

/// Models of which it is known that they take an effort: those of generation 5, and the last ones of 4.
fn takes_effort(model: &str) -> bool {
    let mut parts = model.strip_prefix("claude-").unwrap_or_default().split('-');
    let family = parts.next().unwrap_or_default();
    // A date is no version.
    let mut number = || parts.next().and_then(|part| part.parse::<u32>().ok()).filter(|number| *number < 100);
    // The third generation named its version before its family.
    let named = family.starts_with(|c: char| c.is_ascii_alphabetic());
    let version = (family, number(), number().unwrap_or(0));
    named && matches!(version, (_, Some(5..), _) | ("opus", Some(4), 5..) | ("sonnet", Some(4), 6..))
}

/// How long what is sent is kept in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caching {
    /// Five minutes; the evidence too, if so.
    Short { evidence: bool },
    /// An hour, because a batch takes its time; the evidence too, if so.
    Long { evidence: bool },
}

/// What is asked, as the API takes it. It is mostly texts, which are not copied for it.
#[derive(Serialize)]
pub(super) struct Params<'a> {
    max_tokens: u32,
    messages: [Message<'a>; 1],
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    content: Vec<Block<'a>>,
    role: &'static str,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    text: Cow<'a, str>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    format: OutputFormat,
}

#[derive(Serialize)]
struct OutputFormat {
    schema: Plain,
    r#type: &'static str,
}

impl<'a> Params<'a> {
    pub(super) fn new(prompt: &'a Prompt, model: &'a str, form: Form, caching: Caching) -> Params<'a> {
        let (ttl, evidence_too) = match caching {
            Caching::Short { evidence } => (None, evidence),
            Caching::Long { evidence } => (Some("1h"), evidence),
        };
        let block = |text: Cow<'a, str>, cached: bool| Block {
            cache_control: cached.then_some(CacheControl { ttl, r#type: "ephemeral" }),
            text,
            r#type: "text",
        };
        let question = match form {
            Form::Words => format!("{}\n\n{}", prompt.question, schema::in_words(&prompt.schema)).into(),
            Form::Effort | Form::Schema => prompt.question.as_str().into(),
        };
        // The API refuses empty text.
        let unless_empty = |text: &'a str, cached: bool| (!text.trim().is_empty()).then(|| block(text.into(), cached));
        let mut content: Vec<Block<'a>> = unless_empty(prompt.evidence.as_str(), evidence_too).into_iter().collect();
        content.push(block(question, false));
        Params {
            max_tokens: prompt.max_output_tokens,
            messages: [Message { content, role: "user" }],
            model,
            output_config: (form != Form::Words).then(|| OutputConfig {
                effort: (form == Form::Effort).then_some("low"),
                format: OutputFormat { schema: Plain::of(prompt), r#type: "json_schema" },
            }),
            system: unless_empty(prompt.fixed.as_str(), true).into_iter().collect(),
        }
    }
}

/// The headers of every request.
pub(super) fn headers(key: &Key) -> Headers {
    Headers(vec![("x-api-key", key.expose().to_owned()), ("anthropic-version", VERSION.to_owned())])
}

/// A message, as the API gives it; none if it is not one.
pub(super) fn reply(message: &Value, model: &str) -> Option<Reply> {
    let blocks = message.get("content")?.as_array()?;
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    let stop = match message["stop_reason"].as_str() {
        Some("refusal") => Stop::Refusal,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::MaxTokens,
        _ => Stop::End,
    };
    Some(Reply {
        text: texts.collect(),
        stop,
        model: message["model"].as_str().unwrap_or(model).to_owned(),
        usage: message.get("usage").and_then(usage),
        dollars: None,
        batch: false,
        requests: 1,
    })
}

/// Tokens, as the API counts them.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    usage.get("output_tokens")?;
    Some(Usage {
        input: count(&usage["input_tokens"]),
        cache_write: count(&usage["cache_creation_input_tokens"]),
        cache_write_1h: count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]),
        cache_read: count(&usage["cache_read_input_tokens"]),
        output: count(&usage["output_tokens"]),
        fast: usage["speed"] == "fast",
    })
}

/// The key must be there before anything is asked.
pub(super) fn check(key: &Key) -> Result<(), JudgeError> {
    if key.is_empty() {
        return Err(JudgeError::before(
            Failing::Denied,
            "there is no key for the Anthropic API; set ANTHROPIC_API_KEY",
        ));
    }
    Ok(())
}

/// The Messages API as a judge.
#[derive(Debug)]
pub struct Anthropic {
    server: Server,
    headers: Headers,
    caching: Caching,
    forms: Mutex<HashMap<String, Form>>,
}

impl Anthropic {
    /// A judge; sends nothing yet.
    pub fn new(config: Config, world: World) -> Result<Anthropic, JudgeError> {
        check(&config.key)?;
        Ok(Anthropic {
            headers: headers(&config.key),
            caching: Caching::Short { evidence: config.several_critics },
            forms: Mutex::default(),
            server: Server::new(super::manners::JUDGE, &config.base, Some(config.key), config.network, world)?,
        })
    }

    /// The bytes that are sent.
    pub fn body(&self, prompt: &Prompt, model: &str) -> Vec<u8> {
        self.body_in(prompt, model, self.form(model))
    }

    fn body_in(&self, prompt: &Prompt, model: &str, form: Form) -> Vec<u8> {
        super::written(&Params::new(prompt, model, form, self.caching), prompt)
    }

    fn form(&self, model: &str) -> Form {
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(model).copied().unwrap_or_else(|| Form::of(model))
    }
}

impl Live for Anthropic {
    fn reply(&self, prompt: &Prompt, model: &str) -> Result<Reply, JudgeError> {
        let mut form = self.form(model);
        let mut before = 0;
        loop {
            let body = self.body_in(prompt, model, form);
            let request = Request::post("/v1/messages", &self.headers, &body);
            let answered = match self.server.ask(request) {
                Ok(answered) => answered,
                Err(failed) => {
                    before += failed.error.requests;
                    let Some(next) = form.after(&failed) else {
                        return Err(JudgeError { requests: before, ..failed.error });
                    };
                    form = next;
                    continue;
                }
            };
            let requests = before + answered.requests;
            if before > 0 {
                self.forms.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), form);
            }
            let message: Option<Value> = serde_json::from_slice(&answered.body).ok();
            let reply = message.as_ref().and_then(|message| reply(message, model));
            let reply = reply.ok_or_else(|| self.server.garbled("something that is no message", requests))?;
            return Ok(Reply { requests, ..reply });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, says};
    use super::*;
    use serde_json::json;

    const MODEL: &str = "claude-haiku-5-5";

    /// A judge over a server.
    fn judge(server: &testing::Server, several_critics: bool) -> Anthropic {
        let config = Config {
            base: server.base.clone(),
            key: Key::new(testing::KEY),
            several_critics,
            network: testing::network(),
        };
        Anthropic::new(config, testing::world().0).unwrap()
    }

    #[test]
    fn the_fixed_part_is_cached_and_the_evidence_where_several_read_it() {
        let server = testing::Server::start(|_, _| says(200, ""));
        for (several, cached) in [(false, Value::Null), (true, json!({"type": "ephemeral"}))] {
            let body = judge(&server, several).body(&testing::prompt(), MODEL);
            let evidence = match cached {
                Value::Null => json!({"type": "text", "text": "EVIDENCE"}),
                cached => json!({"type": "text", "text": "EVIDENCE", "cache_control": cached}),
            };
            let schema = json!({
                "type": "object", "required": ["score"], "additionalProperties": false,
                "properties": {"score": {"type": "number"}},
            });
            let expected = json!({
                "model": MODEL,
                "max_tokens": 1000,
                "system": [{"type": "text", "text": "RULES", "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": [evidence, {"type": "text", "text": "QUESTION"}]}],
                "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": schema}},
            });
            assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
        }
    }

    #[test]
    fn what_a_server_does_not_know_is_left_out_and_that_is_remembered() {
        for (error, refused, asked) in [
            ("output_config: Extra inputs are not permitted", "output_config", 2),
            ("output_config.effort: this model does not take effort", "effort", 2),
        ] {
            let server = testing::Server::start(move |got, _| {
                if String::from_utf8_lossy(&got.body).contains(refused) {
                    return says(
                        400,
                        &json!({"error": {"type": "invalid_request_error", "message": error}}).to_string(),
                    );
                }
                says(200, &json!({"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn"}).to_string())
            });
            let judge = judge(&server, false);
            assert_eq!(judge.reply(&testing::prompt(), MODEL).unwrap().requests, asked);
            assert_eq!(judge.reply(&testing::prompt(), MODEL).unwrap().requests, 1, "{error}");
            let last = String::from_utf8_lossy(&server.got().last().unwrap().body).into_owned();
            assert_eq!(last.contains("follow this JSON schema"), refused == "output_config", "{last}");
        }
        let server = testing::Server::start(|_, _| says(400, "{\"error\":{\"message\":\"messages: odd\"}}"));
        let error = judge(&server, false).reply(&testing::prompt(), MODEL).unwrap_err();
        assert_eq!((error.kind, error.requests), (Failing::Rejected, 1));
    }

    #[test]
    fn tokens_are_told_by_kind() {
        let message = json!({
            "content": [], "model": "m", "stop_reason": "model_context_window_exceeded",
            "usage": {
                "input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 4},
            },
        });
        let reply = reply(&message, "asked").unwrap();
        let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 9, cache_write_1h: 4, fast: false };
        assert_eq!((reply.usage, reply.stop, &*reply.model), (Some(usage), Stop::MaxTokens, "m"));
    }

    #[test]
    fn effort_is_for_those_who_take_it() {
        for (model, takes) in [
            ("claude-haiku-5-5", true),
            ("claude-sonnet-5", true),
            ("claude-fable-5-2", true),
            ("claude-opus-4-8", true),
            ("claude-opus-4-5-20251101", true),
            ("claude-sonnet-4-6", true),
            ("claude-sonnet-4-5", false),
            ("claude-haiku-4-5-20251001", false),
            ("claude-opus-4-20250514", false),
            ("claude-3-5-haiku", false),
            ("sonnet", false),
        ] {
            assert_eq!(takes_effort(model), takes, "{model}");
        }
    }
}
