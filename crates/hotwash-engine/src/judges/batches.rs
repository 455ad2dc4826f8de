//! The Message Batches API of Anthropic: many questions at half the price, answered within a day.
//!
//! A batch outlives the run that sent it. What was sent is kept in a [`Ledger`], first as an intent, then with the
//! batch's id, until every answer in it has been told. So nothing is sent twice, and nothing that was paid for is lost.

use super::anthropic::{self, Caching, Form, Params};
use super::http::{self, Failed, Headers, Request, Server};
use super::retry::{Setback, Tries};
use super::{Answer, Deferred, Failing, JudgeError, Question, Reply, World};
use hotwash_core::hash::sha256;
use hotwash_core::sessions::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PATH: &str = "/v1/messages/batches";
/// How far the clocks of this machine and of the API may be apart.
const SLACK: Duration = Duration::from_secs(300);
/// How long after an intent its batch may have been made: as long as sending is tried.
const LATE: Duration = Duration::from_secs(3600);

/// How to reach the API, and how long to wait.
#[derive(Clone, Debug)]
pub struct Config {
    /// How to reach it: it is the same API.
    pub api: anthropic::Config,
    /// How long to wait between two looks.
    pub poll: Duration,
    /// How long to look before the rest is left to another run. Zero is one look.
    pub patience: Duration,
    /// How many questions go into one batch.
    pub most: usize,
    /// How many bytes go into one batch.
    pub most_bytes: usize,
}

impl Config {
    /// What is usual.
    pub fn new(api: anthropic::Config) -> Config {
        Config {
            api,
            poll: Duration::from_secs(20),
            patience: Duration::from_secs(24 * 3600),
            most: 10_000,
            most_bytes: 64 << 20,
        }
    }
}

/// A batch whose answers have not all been told, or the intent to send one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenBatch {
    /// Its name in the ledger.
    pub token: String,
    /// When it was about to be sent.
    pub at: Timestamp,
    /// What the API calls it; none while it is not known whether it arrived.
    pub batch: Option<String>,
    /// The questions in it, by id.
    pub ids: Vec<String>,
}

/// Remembers batches from one run to the next. An error says why it cannot; then nothing is sent. Two runs at once must not
/// share one: the intent of the other looks like that of a run that died.
pub trait Ledger {
    /// Those that are not finished.
    fn open(&self) -> Result<Vec<OpenBatch>, String>;
    /// This one is about to be sent. It must be on disk when this returns.
    fn submitting(&self, batch: &OpenBatch) -> Result<(), String>;
    /// It was taken, under this id.
    fn submitted(&self, token: &str, batch: &str) -> Result<(), String>;
    /// All of it was told, or it was never taken.
    fn finished(&self, token: &str) -> Result<(), String>;
}

/// The Message Batches API as a judge.
pub struct Batches<'a> {
    server: Server,
    headers: Headers,
    caching: Caching,
    ledger: &'a dyn Ledger,
    config: Config,
    /// How models are asked that refused to be asked as usual.
    forms: Mutex<HashMap<String, Form>>,
    /// Questions that were refused for how they were asked, and are to be asked otherwise.
    refused: Mutex<HashSet<String>>,
}

/// A batch that is at the API.
struct Running {
    token: String,
    batch: String,
    /// The questions in it that nothing was told of yet, by what they are called there, in their order.
    left: Vec<(String, String)>,
    /// How models were asked in it, where not as usual.
    forms: HashMap<String, Form>,
}

impl Running {
    fn new(token: String, batch: String, ids: Vec<String>) -> Running {
        let left = ids.into_iter().map(|id| (custom_id(&id), id)).collect();
        Running { token, batch, left, forms: HashMap::new() }
    }

    /// Tells the same of everything that is left.
    fn tell_rest(&mut self, answer: &mut dyn FnMut(&str, Answer), rest: &Answer) {
        self.left.drain(..).for_each(|(_, id)| answer(&id, rest.clone()));
    }
}

impl<'a> Batches<'a> {
    /// A judge; sends nothing yet.
    pub fn new(config: Config, ledger: &'a dyn Ledger, world: World) -> Result<Batches<'a>, JudgeError> {
        anthropic::check(&config.api.key)?;
        Ok(Batches {
            headers: anthropic::headers(&config.api.key),
            caching: Caching::Long { evidence: config.api.several_critics },
            server: Server::new(
                super::manners::JUDGE,
                &config.api.base,
                Some(config.api.key.clone()),
                config.api.network.clone(),
                world,
            )?,
            ledger,
            config,
            forms: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    fn form(&self, model: &str) -> Form {
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(model).copied().unwrap_or_else(|| Form::of(model))
    }

    /// Whether a question was refused for how it was asked. Then it is noted, to be asked otherwise.
    fn is_refused(&self, id: &str, result: &Value, model: &str, asked: Form) -> bool {
        let error = result["error"].get("error").unwrap_or(&result["error"]);
        if result["type"] != "errored" || error["type"] != "invalid_request_error" {
            return false;
        }
        let said = error["message"].as_str().unwrap_or_default().to_lowercase();
        let Some(next) = asked.after_saying(&said).filter(|_| http::failing(400, &said) == Failing::Rejected) else {
            return false;
        };
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let form = forms.entry(model.to_owned()).or_insert(next);
        *form = next.max(*form);
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        true
    }

    /// The bytes that are sent for these questions, batch by batch.
    pub fn bodies(&self, questions: &[Question<'_>], tell: &mut dyn FnMut(&[u8])) {
        let all: Vec<&Question<'_>> = questions.iter().collect();
        let mut rest = &all[..];
        while !rest.is_empty() {
            let (body, taken) = self.body(rest);
            tell(&body);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// The bytes of the next batch, and how many questions are in it: at least one.
    fn body(&self, questions: &[&Question<'_>]) -> (Vec<u8>, usize) {
        let mut body = b"{\"requests\":[".to_vec();
        let mut taken = 0;
        for question in questions.iter().take(self.config.most.max(1)) {
            let Question { id, prompt, model, .. } = **question;
            let params = Params::new(prompt, model, self.form(model), self.caching);
            let request = super::written(&Asked { custom_id: custom_id(id), params }, prompt);
            if taken > 0 && body.len() + request.len() + 3 > self.config.most_bytes {
                break;
            }
            if taken > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&request);
            taken += 1;
        }
        body.extend_from_slice(b"]}");
        (body, taken)
    }

    fn get(&self, path: &str) -> Result<Value, Failed> {
        let answered = self.server.ask(Request::get(path, &self.headers))?;
        let value = serde_json::from_slice(&answered.body).ok().filter(Value::is_object);
        value.ok_or_else(|| Failed::plain(self.server.garbled("something that is no batch", answered.requests)))
    }

    fn world(&self) -> &World {
        &self.server.world
    }

    /// Sends one batch. An intent stays in the ledger only as long as it is not known what became of it.
    fn submit(&self, body: &[u8], ids: Vec<String>, known: &HashSet<String>) -> Result<Running, JudgeError> {
        let at = self.world().clock.now();
        let token = sha256(&[at.to_string().as_bytes(), body]);
        let open = OpenBatch { token, at, batch: None, ids };
        self.ledger.submitting(&open).map_err(|error| unkept(&error))?;

        let mut tries = Tries::new(&self.config.api.network.retries, body);
        let mut requests = 0;
        let batch = loop {
            let request = Request::post(PATH, &self.headers, body);
            let error = match self.server.ask_unless(request, |failed| failed.unclear) {
                Ok(answered) => {
                    requests += answered.requests;
                    let value: Option<Value> = serde_json::from_slice(&answered.body).ok();
                    let id = value.as_ref().and_then(|value| value["id"].as_str()).filter(|id| is_plain(id));
                    match id {
                        Some(id) => break id.to_owned(),
                        None => self.server.garbled("something that is no batch", requests),
                    }
                }
                Err(failed) => {
                    requests += failed.error.requests;
                    let error = JudgeError { requests, ..failed.error };
                    if !failed.unclear {
                        self.finish(&open.token)?;
                        return Err(error);
                    }
                    error
                }
            };
            // It may have been taken all the same. Where that cannot be found out, another run will.
            tries.made += 1;
            if let Some(batch) = self.find(&open, known).map_err(|_| error.clone())? {
                break batch;
            }
            let setback = if error.kind == Failing::TimedOut { Setback::TimedOut } else { Setback::Failed };
            let wait = if error.kind == Failing::Garbled { None } else { tries.next(setback, false) };
            if !wait.is_some_and(|wait| self.world().wait(wait)) {
                self.finish(&open.token)?;
                return Err(error);
            }
        };
        self.ledger.submitted(&open.token, &batch).map_err(|error| unkept(&error))?;
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Running { forms, ..Running::new(open.token, batch, open.ids) })
    }

    /// Looks for the batch of an intent among those that the API has. Only results say which questions are in one, so a
    /// batch that is still worked on is told by its time and its size.
    fn find(&self, open: &OpenBatch, known: &HashSet<String>) -> Result<Option<String>, JudgeError> {
        let earliest = open.at.0 - SLACK.as_millis() as i64;
        let latest = open.at.0 + (SLACK + LATE).as_millis() as i64;
        let ours: HashSet<String> = open.ids.iter().map(|id| custom_id(id)).collect();
        let mut candidates = Vec::new();
        let mut path = format!("{PATH}?limit=100");
        'pages: loop {
            let page = self.get(&path)?;
            let batches = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
            for batch in batches {
                let created = batch["created_at"].as_str().and_then(|at| Timestamp::parse(at.as_bytes()));
                let (Some(id), Some(created)) = (batch["id"].as_str(), created) else { continue };
                // They come newest first.
                if created.0 < earliest {
                    break 'pages;
                }
                let counts = batch["request_counts"].as_object();
                let size: u64 = counts.into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
                if created.0 <= latest && size == open.ids.len() as u64 && is_plain(id) && !known.contains(id) {
                    let ended = batch["processing_status"] == "ended";
                    candidates.push(((created.0 - open.at.0).abs(), id.to_owned(), ended));
                }
            }
            match page["last_id"].as_str().filter(|id| page["has_more"] == true && is_plain(id)) {
                Some(last) => path = format!("{PATH}?limit=100&after_id={last}"),
                None => break,
            }
        }
        candidates.sort();
        for (_, id, ended) in candidates {
            if !ended {
                return Ok(Some(id));
            }
            let mut is_ours = false;
            self.results(&id, &mut |custom, _| is_ours |= ours.contains(custom))?;
            if is_ours {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Tells the results of a batch. Where the download breaks off it begins anew, and so do the results.
    fn results(&self, batch: &str, tell: &mut dyn FnMut(&str, &Value)) -> Result<(), Failed> {
        // Not the address that the batch names: the key goes to one host.
        let path = format!("{PATH}/{batch}/results");
        let request = Request::get(&path, &self.headers);
        self.server.lines(request, &mut |line| {
            let value: Value = serde_json::from_slice(line).unwrap_or_default();
            if let Some(custom) = value["custom_id"].as_str() {
                tell(custom, &value["result"]);
            }
        })?;
        Ok(())
    }

    /// Tells each answer of a batch that has ended, once, and then forgets the batch.
    fn collect(
        &self,
        running: &mut Running,
        models: &HashMap<&str, &str>,
        answer: &mut dyn FnMut(&str, Answer),
    ) -> Result<(), Failed> {
        let places: HashMap<String, usize> =
            running.left.iter().enumerate().map(|(place, (custom, _))| (custom.clone(), place)).collect();
        let mut told = vec![false; running.left.len()];
        let got = self.results(&running.batch, &mut |custom, result| {
            let Some(&place) = places.get(custom) else { return };
            let (Some((_, id)), Some(told)) = (running.left.get(place), told.get_mut(place)) else { return };
            if std::mem::replace(told, true) {
                return;
            }
            let model = models.get(id.as_str()).copied();
            let form = |model: &str| running.forms.get(model).copied().unwrap_or_else(|| Form::of(model));
            if !model.is_some_and(|model| self.is_refused(id, result, model, form(model))) {
                answer(id, read(result, model.unwrap_or_default(), &running.batch));
            }
        });
        // What was told is told, also where the rest could not be had.
        let mut told = told.into_iter();
        running.left.retain(|_| !told.next().unwrap_or(false));
        got?;
        let missing = expired(format!("batch {} has no result for it", running.batch));
        running.tell_rest(answer, &missing);
        self.finish(&running.token).map_err(Failed::plain)
    }

    fn finish(&self, token: &str) -> Result<(), JudgeError> {
        self.ledger.finished(token).map_err(|error| unkept(&error))
    }

    /// Looks at a batch once. Says whether it is done with.
    fn look(
        &self,
        running: &mut Running,
        models: &HashMap<&str, &str>,
        answer: &mut dyn FnMut(&str, Answer),
    ) -> Result<bool, JudgeError> {
        let seen = self.get(&format!("{PATH}/{}", running.batch));
        let ended = match seen {
            Ok(batch) if batch["processing_status"] != "ended" => return Ok(false),
            Ok(_) => self.collect(running, models, answer),
            Err(failed) => Err(failed),
        };
        match ended {
            Ok(()) => Ok(true),
            // Results are kept for a month, and are seen with keys of the same workspace only.
            Err(failed) if matches!(failed.status, Some(404 | 410)) => {
                let gone = expired(format!("batch {} is no longer there", running.batch));
                running.tell_rest(answer, &gone);
                self.finish(&running.token)?;
                Ok(true)
            }
            Err(failed) if failed.error.kind.is_for_all() => Err(failed.error),
            // It will be looked at again.
            Err(_) => Ok(false),
        }
    }
}

impl Deferred for Batches<'_> {
    fn round(&self, questions: &[Question<'_>], answer: &mut dyn FnMut(&str, Answer)) -> Result<(), JudgeError> {
        let open = self.ledger.open().map_err(|error| unkept(&error))?;
        let mut known: HashSet<String> = open.iter().filter_map(|open| open.batch.clone()).collect();
        let mut running = Vec::new();
        for mut open in open {
            if open.batch.is_none() {
                open.batch = self.find(&open, &known)?;
                match &open.batch {
                    Some(batch) => self.ledger.submitted(&open.token, batch).map_err(|error| unkept(&error))?,
                    None => self.finish(&open.token)?,
                }
            }
            if let Some(batch) = open.batch {
                known.insert(batch.clone());
                running.push(Running::new(open.token, batch, open.ids));
            }
        }

        let mut taken: HashSet<&str> = HashSet::new();
        let sent: HashSet<String> =
            running.iter().flat_map(|running| running.left.iter().map(|(_, id)| id.clone())).collect();
        let fresh = questions.iter().filter(|question| !sent.contains(question.id) && taken.insert(question.id));
        let mut fresh: Vec<&Question<'_>> = fresh.collect();
        while !fresh.is_empty() || !running.is_empty() {
            self.submit_all(&fresh, &mut known, &mut running, answer)?;
            running = self.wait_for(running, questions, answer)?;
            // How a model can be asked shows when it answers; what it refused is asked otherwise.
            let refused = std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner));
            let mut once = HashSet::new();
            let again = |question: &&Question<'_>| refused.contains(question.id) && once.insert(question.id.to_owned());
            fresh = questions.iter().filter(again).collect();
            if fresh.is_empty() {
                break;
            }
        }
        for batch in &mut running {
            batch.tell_rest(answer, &Answer::Waits);
        }
        Ok(())
    }
}

impl Batches<'_> {
    /// Sends questions, in as many batches as it takes.
    fn submit_all(
        &self,
        fresh: &[&Question<'_>],
        known: &mut HashSet<String>,
        running: &mut Vec<Running>,
        answer: &mut dyn FnMut(&str, Answer),
    ) -> Result<(), JudgeError> {
        let mut rest = fresh;
        while !rest.is_empty() && !self.world().is_stopped() {
            let (body, count) = self.body(rest);
            let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            let ids = now.iter().map(|question| question.id.to_owned()).collect();
            match self.submit(&body, ids, known) {
                Ok(new) => {
                    known.insert(new.batch.clone());
                    running.push(new);
                }
                Err(error) if error.kind == Failing::Stopped && self.world().is_stopped() => break,
                Err(error) if error.kind.is_for_all() || error.kind == Failing::Stopped => return Err(error),
                Err(error) => now.iter().for_each(|question| answer(question.id, Answer::Failed(error.clone()))),
            }
            rest = later;
        }
        for question in rest {
            answer(question.id, Answer::Waits);
        }
        Ok(())
    }

    /// Looks at batches until all have ended, or patience has. Says which have not.
    fn wait_for(
        &self,
        mut running: Vec<Running>,
        questions: &[Question<'_>],
        answer: &mut dyn FnMut(&str, Answer),
    ) -> Result<Vec<Running>, JudgeError> {
        let models: HashMap<&str, &str> = questions.iter().map(|question| (question.id, question.model)).collect();
        let start = self.world().clock.now();
        loop {
            let mut still = Vec::new();
            for mut batch in running {
                if self.world().is_stopped() || !self.look(&mut batch, &models, answer)? {
                    still.push(batch);
                }
            }
            running = still;
            let passed = Duration::from_millis((self.world().clock.now().0 - start.0).max(0) as u64);
            if running.is_empty() || passed >= self.config.patience || !self.world().wait(self.config.poll) {
                return Ok(running);
            }
        }
    }
}

/// A question in a batch.
#[derive(Serialize)]
struct Asked<'a> {
    custom_id: String,
    params: Params<'a>,
}

/// A question's id in the letters and the length that the API takes.
fn custom_id(id: &str) -> String {
    if (1..=64).contains(&id.len()) && is_plain(id) { id.to_owned() } else { sha256(&[id.as_bytes()]) }
}

/// Letters, digits, `-` and `_`: what may stand in a path.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// What one result says.
fn read(result: &Value, model: &str, batch: &str) -> Answer {
    let failed = |kind, message| Answer::Failed(JudgeError { kind, message, requests: 1 });
    match result["type"].as_str() {
        Some("succeeded") => match anthropic::reply(&result["message"], model) {
            Some(reply) => Answer::Reply(Reply { batch: true, ..reply }),
            None => failed(Failing::Garbled, format!("a result of batch {batch} is no message")),
        },
        Some("errored") => {
            let error = result["error"].get("error").unwrap_or(&result["error"]);
            let kind = error["type"].as_str().unwrap_or_default();
            let said = http::shown(&format!("{kind}: {}", error["message"].as_str().unwrap_or_default()));
            let kind = match kind {
                "authentication_error" | "permission_error" => Failing::Denied,
                "billing_error" => Failing::Exhausted,
                "not_found_error" => Failing::NotThere,
                "request_too_large" => Failing::TooLarge,
                "rate_limit_error" => Failing::RateLimited,
                "timeout_error" => Failing::TimedOut,
                "invalid_request_error" => http::failing(400, &said.to_lowercase()),
                _ => Failing::Unavailable,
            };
            failed(kind, format!("batch {batch} could not ask it: {said}"))
        }
        Some("expired") => expired(format!("batch {batch} expired before it was asked")),
        Some("canceled") => expired(format!("batch {batch} was cancelled before it was asked")),
        _ => failed(Failing::Garbled, format!("a result of batch {batch} is of no known kind")),
    }
}

fn expired(message: String) -> Answer {
    Answer::Failed(JudgeError { kind: Failing::Expired, message, requests: 1 })
}

fn unkept(error: &str) -> JudgeError {
    JudgeError::before(Failing::Stopped, format!("what is sent to a batch cannot be remembered: {error}"))
}
