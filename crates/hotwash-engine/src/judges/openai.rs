//! Chat completions: the protocol of `OpenAI`, spoken by Ollama, llama.cpp, vLLM and many between.
//!
//! They differ in what they take. What one refuses is left out, step by step, and remembered for the model.

use super::http::{Failed, Headers, Network, Request, Server};
use super::schema::Plain;
use super::{Failing, JudgeError, Key, Live, Reply, Stop, World, schema};
use hotwash_core::prompts::Prompt;
use hotwash_core::sessions::Usage;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How to reach the server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it is, with its version: `https://api.openai.com/v1`, `http://localhost:11434/v1`.
    pub base: String,
    /// The key; local servers want none.
    pub key: Option<Key>,
    /// The temperature, for models that take one.
    pub temperature: Option<f64>,
    /// Limits.
    pub network: Network,
}

/// How an answer's form is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Schema,
    Object,
    Words,
}

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    format: Format,
    /// The limit has its old name, `max_tokens`.
    old_limit: bool,
    temperature: bool,
}

impl Form {
    /// What to begin with.
    const FIRST: Form = Form { format: Format::Schema, old_limit: false, temperature: true };

    /// What to leave out after a refusal; none if nothing is left that could have been refused.
    fn after(self, status: Option<u16>, kind: Failing, said: &str) -> Option<Form> {
        if !matches!(status, Some(200 | 400 | 422 | 501)) || kind == Failing::TooLarge || kind.is_for_all() {
            return None;
        }
        if !self.old_limit && said.contains("max_completion_tokens") {
            return Some(Form { old_limit: true, ..self });
        }
        if self.temperature && said.contains("temperature") {
            return Some(Form { temperature: false, ..self });
        }
        match self.format {
            Format::Schema => Some(Form { format: Format::Object, ..self }),
            Format::Object => Some(Form { format: Format::Words, ..self }),
            // Servers that do not say what they refuse.
            Format::Words if !self.old_limit => Some(Form { old_limit: true, ..self }),
            Format::Words => None,
        }
    }
}

/// A server of chat completions as a judge.
#[derive(Debug)]
pub struct OpenAi {
    server: Server,
    headers: Headers,
    temperature: Option<f64>,
    forms: Mutex<HashMap<String, Form>>,
}

impl OpenAi {
    /// A judge; sends nothing yet.
    pub fn new(config: Config, world: World) -> Result<OpenAi, JudgeError> {
        let key = config.key.filter(|key| !key.is_empty());
        let bearer = key.iter().map(|key| ("authorization", format!("Bearer {}", key.expose())));
        Ok(OpenAi {
            headers: Headers(bearer.collect()),
            temperature: config.temperature,
            forms: Mutex::default(),
            server: Server::new(super::manners::JUDGE, &config.base, key, config.network, world)?,
        })
    }

    /// The bytes that are sent.
    pub fn body(&self, prompt: &Prompt, model: &str) -> Vec<u8> {
        self.body_in(prompt, model, self.form(model))
    }

    fn body_in(&self, prompt: &Prompt, model: &str, form: Form) -> Vec<u8> {
        // A server that takes objects still has to be told which.
        let user = match form.format {
            Format::Schema => prompt.user(),
            Format::Object | Format::Words => format!("{}\n\n{}", prompt.user(), schema::in_words(&prompt.schema)),
        };
        let body = Body {
            max_completion_tokens: (!form.old_limit).then_some(prompt.max_output_tokens),
            max_tokens: form.old_limit.then_some(prompt.max_output_tokens),
            messages: [
                Message { content: prompt.fixed.as_str(), role: "system" },
                Message { content: &user, role: "user" },
            ],
            model,
            response_format: match form.format {
                Format::Schema => {
                    let schema = Plain::of(prompt);
                    let strict = schema.is_strict();
                    let json_schema = JsonSchema { name: schema::name(prompt), schema, strict };
                    Some(ResponseFormat { json_schema: Some(json_schema), r#type: "json_schema" })
                }
                Format::Object => Some(ResponseFormat { json_schema: None, r#type: "json_object" }),
                Format::Words => None,
            },
            temperature: self.temperature.filter(|_| form.temperature),
        };
        super::written(&body, prompt)
    }

    fn form(&self, model: &str) -> Form {
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(model).copied().unwrap_or(Form { temperature: self.temperature.is_some(), ..Form::FIRST })
    }

    /// Asks in one form. Some servers say success and answer with an error.
    fn ask(&self, body: &[u8], model: &str) -> Result<Reply, Refusal> {
        let request = Request::post("/chat/completions", &self.headers, body);
        let answered = self.server.ask(request)?;
        let requests = answered.requests;
        let value: Option<Value> = serde_json::from_slice(&answered.body).ok();
        if let Some(error) = value.as_ref().and_then(|value| value.get("error")).filter(|error| !error.is_null()) {
            let said = super::http::shown(&error.to_string());
            // Some say what they would have answered, had they not said success.
            let meant = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
            let kind = super::http::failing(meant.unwrap_or(400), &said.to_lowercase());
            let message = format!("{} answered with an error: {said}", self.server.host());
            let error = JudgeError { kind, message, requests };
            return Err(Refusal { error, status: meant.or(Some(200)), said: said.to_lowercase() });
        }
        let reply = value.as_ref().and_then(|value| reply(value, model));
        let garbled = || self.server.garbled("something that is no completion", requests);
        let reply = reply.ok_or_else(|| Refusal { error: garbled(), status: None, said: String::new() })?;
        Ok(Reply { requests, ..reply })
    }
}

/// What is sent. It is mostly the two texts, which are not copied for it.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    messages: [Message<'a>; 2],
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct Message<'a> {
    content: &'a str,
    role: &'static str,
}

#[derive(Serialize)]
struct ResponseFormat {
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<JsonSchema>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct JsonSchema {
    name: String,
    schema: Plain,
    strict: bool,
}

struct Refusal {
    error: JudgeError,
    status: Option<u16>,
    said: String,
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Refusal {
        Refusal { error: failed.error, status: failed.status, said: failed.said }
    }
}

impl Live for OpenAi {
    fn reply(&self, prompt: &Prompt, model: &str) -> Result<Reply, JudgeError> {
        let mut form = self.form(model);
        let mut before = 0;
        let mut first: Option<JudgeError> = None;
        loop {
            match self.ask(&self.body_in(prompt, model, form), model) {
                Ok(reply) => {
                    self.forms.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), form);
                    return Ok(Reply { requests: reply.requests + before, ..reply });
                }
                Err(refusal) => {
                    before += refusal.error.requests;
                    let next = form.after(refusal.status, refusal.error.kind, &refusal.said);
                    // The first refusal is of what was meant to be asked, and says most.
                    let rejected = refusal.error.kind == Failing::Rejected;
                    let error = first.take().filter(|_| rejected).unwrap_or(refusal.error);
                    let Some(next) = next else { return Err(JudgeError { requests: before, ..error }) };
                    first = Some(error);
                    form = next;
                }
            }
        }
    }
}

/// A completion, as servers give it; none if it is not one.
fn reply(value: &Value, model: &str) -> Option<Reply> {
    let choice = value.get("choices")?.get(0)?;
    let message = choice.get("message")?;
    let refusal = message["refusal"].as_str().filter(|refusal| !refusal.is_empty());
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    let stop = match choice["finish_reason"].as_str() {
        _ if refusal.is_some() => Stop::Refusal,
        Some("content_filter") => Stop::Refusal,
        Some("length") => Stop::MaxTokens,
        _ => Stop::End,
    };
    Some(Reply {
        text: refusal.map_or(text, str::to_owned),
        stop,
        model: value["model"].as_str().unwrap_or(model).to_owned(),
        usage: value.get("usage").and_then(usage),
        dollars: None,
        batch: false,
        requests: 1,
    })
}

fn usage(usage: &Value) -> Option<Usage> {
    let prompt = usage.get("prompt_tokens")?.as_u64()?;
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0).min(prompt);
    let output = usage["completion_tokens"].as_u64().unwrap_or(0);
    Some(Usage { input: prompt - cached, cache_read: cached, output, ..Usage::default() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, says};
    use super::*;
    use serde_json::json;

    fn judge(server: &testing::Server) -> OpenAi {
        let network = testing::network();
        let config = Config { base: format!("{}/v1/", server.base), key: None, temperature: Some(0.0), network };
        OpenAi::new(config, testing::world().0).unwrap()
    }

    fn good() -> super::super::testing::Does {
        says(200, &json!({"choices": [{"message": {"content": "{}"}}]}).to_string())
    }

    #[test]
    fn what_a_server_does_not_take_is_left_out_and_that_is_remembered() {
        type Refuses = (u16, &'static str, &'static [&'static str]);
        let cases: [(Refuses, u32, &str); 7] = [
            ((400, "json_schema is not supported", &["json_schema"]), 2, "json_object"),
            ((422, "response_format: extra field", &["response_format"]), 3, ""),
            ((200, "unsupported response_format", &["response_format"]), 3, ""),
            ((400, "Unrecognized argument: max_completion_tokens", &["max_completion_tokens"]), 2, "json_schema"),
            ((400, "'temperature' does not support 0", &["temperature"]), 2, "json_schema"),
            ((400, "Bad Request", &["max_completion_tokens"]), 4, ""),
            ((501, "not implemented", &["json_schema"]), 2, "json_object"),
        ];
        for ((status, message, refuses), asked, format) in cases {
            let server = testing::Server::start(move |got, _| {
                let body = String::from_utf8_lossy(&got.body).into_owned();
                if refuses.iter().any(|word| body.contains(word)) {
                    return says(status, &json!({"error": {"message": message}}).to_string());
                }
                good()
            });
            let judge = judge(&server);
            assert_eq!(judge.reply(&testing::prompt(), "m").unwrap().requests, asked, "{message}");
            assert_eq!(judge.reply(&testing::prompt(), "m").unwrap().requests, 1, "{message}");
            let got = server.got();
            let last: Value = serde_json::from_slice(&got.last().unwrap().body).unwrap();
            assert_eq!(last["response_format"]["type"].as_str().unwrap_or_default(), format, "{message}");
            assert!(!got[0].headers.contains_key("authorization"), "there is no key");
        }
    }

    #[test]
    fn what_is_wrong_for_all_is_asked_once() {
        for (status, message, kind, asked) in [
            (400, "the model `m` does not exist", Failing::NotThere, 1),
            (400, "This model's maximum context length is 8192 tokens", Failing::TooLarge, 1),
            (429, "insufficient_quota", Failing::Exhausted, 1),
            (400, "odd", Failing::Rejected, 4),
        ] {
            let server = testing::Server::start(move |_, _| says(status, &json!({"error": message}).to_string()));
            let error = judge(&server).reply(&testing::prompt(), "m").unwrap_err();
            assert_eq!((error.kind, error.requests), (kind, asked), "{error}");
        }
    }

    #[test]
    fn answers_come_in_several_shapes() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        for (choice, text, stop) in [
            (json!({"message": {"content": "x"}, "finish_reason": "stop"}), "x", Stop::End),
            (json!({"message": {"content": parts}}), "ab", Stop::End),
            (json!({"message": {"content": null, "refusal": "no"}}), "no", Stop::Refusal),
            (json!({"message": {"content": "x"}, "finish_reason": "content_filter"}), "x", Stop::Refusal),
            (json!({"message": {"content": "x"}, "finish_reason": "length"}), "x", Stop::MaxTokens),
        ] {
            let reply = reply(&json!({"choices": [choice]}), "m").unwrap();
            assert_eq!((&*reply.text, reply.stop, reply.usage), (text, stop, None));
        }
        let usage =
            usage(&json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}));
        assert_eq!(usage, Some(Usage { input: 6, cache_read: 4, output: 5, ..Usage::default() }));
    }
}
