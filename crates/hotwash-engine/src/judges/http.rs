//! HTTP, for every backend that speaks it: one agent, limits on time and size, another try where that helps, and words
//! for what went wrong. Redirects are not followed: a key goes to the host it was meant for.

use super::egress;
use super::retry::{self, Gate, Retries, Setback, Tries};
use super::{Failing, JudgeError, Key, World};
use hotwash_core::redaction::{Rules, redact};
use hotwash_core::sessions::Timestamp;
use serde_json::Value;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::time::Duration;
use ureq::Timeout;
use ureq::http::HeaderMap;

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct Network {
    /// How long connecting may take.
    pub connect: Duration,
    /// How long a request may take, from connecting to the last byte of the answer.
    pub call: Duration,
    /// The longest answer that is read.
    pub answer_bytes: u64,
    /// A proxy, as a URL.
    pub proxy: Option<Key>,
    /// When to try again.
    pub retries: Retries,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            connect: Duration::from_secs(10),
            call: Duration::from_secs(300),
            answer_bytes: 16 << 20,
            proxy: None,
            retries: Retries::default(),
        }
    }
}

/// How much of an answer that is an error is read, and how much of it is told.
const ERROR_BYTES: u64 = 64 << 10;
const ERROR_CHARS: usize = 300;

/// One server, and the key to it.
#[derive(Debug)]
pub(super) struct Server {
    agent: ureq::Agent,
    base: String,
    host: String,
    network: Network,
    gate: Gate,
    key: Option<Key>,
    pub(super) world: World,
}

/// A request: `POST` where there is a body, else `GET`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    /// What comes behind the base.
    pub(super) path: &'a str,
    pub(super) headers: &'a Headers,
    pub(super) body: Option<&'a [u8]>,
}

/// Headers, of which one may be a key.
pub(super) struct Headers(pub(super) Vec<(&'static str, String)>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// An answer with a status of success.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) body: Vec<u8>,
    pub(super) requests: u32,
}

/// No answer, or one that is an error.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) error: JudgeError,
    /// The status, where there was one.
    pub(super) status: Option<u16>,
    /// What the server said, in small letters.
    pub(super) said: String,
    /// The request may have been taken all the same: it was sent, and what became of it is not known.
    pub(super) unclear: bool,
    /// How to go on, where the same may be asked again.
    setback: Option<Setback>,
}

impl From<Failed> for JudgeError {
    fn from(failed: Failed) -> JudgeError {
        failed.error
    }
}

impl Server {
    pub(super) fn new(base: &str, key: Option<Key>, network: Network, world: World) -> Result<Server, JudgeError> {
        let wrong = |what: &str| JudgeError::before(Failing::NotThere, what.to_owned());
        let base = base.trim().trim_end_matches('/').to_owned();
        let Some((_, rest)) = base.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https")) else {
            return Err(wrong("the base URL of the judge must begin with http:// or https://"));
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong("the base URL of the judge must not hold a user or a password"));
        }
        let proxy = match &network.proxy {
            Some(proxy) => Some(ureq::Proxy::new(proxy.expose()).map_err(|_| wrong("the proxy is not a URL"))?),
            None => None,
        };
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .user_agent(concat!("hotwash/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(network.connect))
            .timeout_resolve(Some(network.connect))
            .timeout_global(Some(network.call))
            // As many as there may be threads, so that none has to connect anew.
            .max_idle_connections(256)
            .max_idle_connections_per_host(256);
        let agent = config.build().new_agent();
        Ok(Server { agent, host: authority.to_owned(), base, network, gate: Gate::default(), key, world })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Asks, and again where that helps.
    pub(super) fn ask(&self, request: Request<'_>) -> Result<Answered, Failed> {
        self.ask_unless(request, |_| false)
    }

    /// Asks, and again where that helps, unless a failure is one to stop at.
    pub(super) fn ask_unless(
        &self,
        request: Request<'_>,
        stop_at: impl Fn(&Failed) -> bool,
    ) -> Result<Answered, Failed> {
        let mut body = Vec::new();
        let requests = self.attempt(request, stop_at, &mut |incoming| {
            body.clear();
            incoming.read_to(&mut body, self.network.answer_bytes)
        })?;
        Ok(Answered { body, requests })
    }

    /// Asks for lines, and tells each whole one. A download that is cut begins anew, and so do the lines.
    pub(super) fn lines(&self, request: Request<'_>, tell: &mut dyn FnMut(&[u8])) -> Result<u32, Failed> {
        self.attempt(request, |_| false, &mut |incoming| incoming.lines(tell))
    }

    fn attempt(
        &self,
        request: Request<'_>,
        stop_at: impl Fn(&Failed) -> bool,
        take: &mut dyn FnMut(&mut Incoming) -> io::Result<()>,
    ) -> Result<u32, Failed> {
        let mut tries = Tries::new(&self.network.retries, request.body.unwrap_or(request.path.as_bytes()));
        loop {
            self.pass_gate(&mut tries)?;
            let told = egress::tell(&self.world, &self.host, &[request.body.unwrap_or_default()]);
            told.map_err(|error| Failed::plain(JudgeError { requests: tries.made, ..error }))?;
            tries.made += 1;
            let mut failed = match self.once(request, take) {
                Ok(()) => return Ok(tries.made),
                Err(failed) => failed,
            };
            failed.error.requests = tries.made;
            let Some(setback) = failed.setback.filter(|_| !stop_at(&failed)) else { return Err(failed) };
            let wait = tries.next(setback);
            // What one was told holds for all, also where this one gives up.
            let told = if let Setback::Named(time) = setback { Some(time) } else { wait };
            if let Some(time) = told.filter(|_| failed.status == Some(429)) {
                self.gate.close_until(Timestamp(self.world.clock.now().0 + time.as_millis() as i64));
            }
            let Some(wait) = wait else {
                if let Setback::Named(time) = setback {
                    failed.error.message = format!("{}; it asks to wait {} s", failed.error.message, time.as_secs());
                }
                return Err(failed);
            };
            if !self.world.wait(wait) {
                return Err(failed);
            }
        }
    }

    /// Waits until the gate is open.
    fn pass_gate(&self, tries: &mut Tries<'_>) -> Result<(), Failed> {
        loop {
            if self.world.is_stopped() {
                return Err(Failed::plain(World::stopped(tries.made)));
            }
            let closed = self.gate.closed_for(self.world.clock.now());
            if closed.is_zero() {
                return Ok(());
            }
            // Not all at once when it opens.
            let wait = closed + tries.spread();
            if !tries.spend(wait) {
                let message = format!("{} takes nothing for another {} s", self.host, closed.as_secs());
                return Err(Failed::plain(JudgeError { kind: Failing::RateLimited, message, requests: tries.made }));
            }
            self.world.wait(wait);
        }
    }

    fn once(&self, request: Request<'_>, take: &mut dyn FnMut(&mut Incoming) -> io::Result<()>) -> Result<(), Failed> {
        let url = format!("{}{}", self.base, request.path);
        let headers = &request.headers.0;
        let sent = if let Some(body) = request.body {
            let post = self.agent.post(&url).header("content-type", "application/json");
            headers.iter().fold(post, |post, (name, value)| post.header(*name, value)).send(body)
        } else {
            headers.iter().fold(self.agent.get(&url), |get, (name, value)| get.header(*name, value)).call()
        };
        let response = sent.map_err(|error| self.broken(error))?;
        let (parts, body) = response.into_parts();
        let mut incoming = Incoming { body };
        let now = self.world.clock.now();
        if !parts.status.is_success() {
            return Err(self.refused(parts.status.as_u16(), &parts.headers, incoming, now));
        }
        if let Some(time) = retry::used_up(|name| header(&parts.headers, name), now) {
            self.gate.close_until(Timestamp(now.0 + time.as_millis() as i64));
        }
        take(&mut incoming).map_err(|error| {
            if error.kind() == io::ErrorKind::FileTooLarge {
                let message = format!("{} answered with more than {} bytes", self.host, self.network.answer_bytes);
                return Failed::plain(JudgeError { kind: Failing::Garbled, message, requests: 0 });
            }
            self.broken(error.into())
        })
    }

    /// What a status means, and what the server said of it.
    fn refused(&self, status: u16, headers: &HeaderMap, mut incoming: Incoming, now: Timestamp) -> Failed {
        let mut body = Vec::new();
        // A body that breaks off says what it says; the status counts.
        let _ = incoming.read_to(&mut body, ERROR_BYTES);
        let said = self.public(&detail(&body));
        let small = said.to_lowercase();
        let kind = failing(status, &small);
        let mut message = format!("{} answered {status}", self.host);
        if !said.is_empty() {
            message = format!("{message}: {said}");
        }
        let id = header(headers, "request-id").or_else(|| header(headers, "x-request-id"));
        if let Some(id) = id.filter(|id| id.len() <= 100) {
            message = format!("{message} (request {})", self.public(id));
        }
        if (300..400).contains(&status) {
            let place = header(headers, "location").unwrap_or_default();
            let place = place.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#']).next();
            let place = place.and_then(|place| place.rsplit('@').next()).filter(|place| !place.is_empty());
            let place = place.map_or("another path".to_owned(), |place| self.public(place));
            message = format!("{message}; it points to {place}, which was not followed");
        }
        if let Some(hint) = hint(kind, status) {
            message = format!("{message}; {hint}");
        }
        let again = retry::may_repeat(status) && !kind.is_for_all();
        let named = || retry::named(|name| header(headers, name), now);
        let setback = again.then(|| named().map_or(Setback::Failed, Setback::Named));
        let unclear = matches!(status, 408 | 500 | 502 | 504);
        Failed { error: JudgeError { kind, message, requests: 0 }, status: Some(status), said: small, unclear, setback }
    }

    /// What a failure below HTTP means.
    fn broken(&self, error: ureq::Error) -> Failed {
        let host = &self.host;
        let timeout = Setback::TimedOut;
        let (kind, what, setback, unclear) = match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                let what = format!(
                    "could not connect to {host} within {} s; is it reachable?",
                    self.network.connect.as_secs()
                );
                (Failing::Broken, what, Some(Setback::Failed), false)
            }
            ureq::Error::Timeout(_) => {
                let what = format!("{host} did not answer within {} s", self.network.call.as_secs());
                (Failing::TimedOut, what, Some(timeout), true)
            }
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                (Failing::TimedOut, format!("{host} did not answer in time"), Some(timeout), true)
            }
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let what = format!("{host} refuses connections; is the server running, and the address right?");
                (Failing::Broken, what, Some(Setback::Failed), false)
            }
            ureq::Error::HostNotFound => {
                let what = format!("there is no host {host}; check the base URL and the network");
                (Failing::Broken, what, Some(Setback::Failed), false)
            }
            ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) => {
                (Failing::Broken, format!("could not connect to {host}"), Some(Setback::Failed), false)
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => {
                let what = format!("no secure connection to {host}: {}", self.public(&error.to_string()));
                (Failing::Broken, what, None, false)
            }
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
                let what = format!("a request to {host} cannot be made; the key or the base URL has odd characters");
                (Failing::Denied, what, None, false)
            }
            error => {
                let what = format!("the connection to {host} broke off: {}", self.public(&error.to_string()));
                (Failing::Broken, what, Some(Setback::Failed), true)
            }
        };
        let error = JudgeError { kind, message: what, requests: 0 };
        Failed { error, status: None, said: String::new(), unclear, setback }
    }

    /// Foreign words, fit to be shown: without keys and secrets, on one line, and short.
    fn public(&self, text: &str) -> String {
        let hidden = [self.key.as_ref(), self.network.proxy.as_ref()].into_iter().flatten();
        let text = hidden.fold(text.to_owned(), |text, key| key.hidden_in(&text));
        shown(&text)
    }

    /// An answer that is none.
    pub(super) fn garbled(&self, what: &str, requests: u32) -> JudgeError {
        let message = format!("{} answered with {what}; is the base URL that of the API?", self.host);
        JudgeError { kind: Failing::Garbled, message, requests }
    }
}

impl Failed {
    pub(super) fn plain(error: JudgeError) -> Failed {
        Failed { error, status: None, said: String::new(), unclear: false, setback: None }
    }
}

/// The body of an answer, as it comes in.
struct Incoming {
    body: ureq::Body,
}

impl Incoming {
    fn read_to(&mut self, to: &mut Vec<u8>, most: u64) -> io::Result<()> {
        let read = self.body.as_reader().take(most + 1).read_to_end(to)?;
        if read as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }

    fn lines(&mut self, tell: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut reader = BufReader::new(self.body.as_reader());
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            // Where no length was given, only this shows that it was cut.
            if !line.ends_with(b"\n") && serde_json::from_slice::<Value>(&line).is_err() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            tell(&line);
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Foreign words on one line, redacted and short.
pub(super) fn shown(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    redact(&words.join(" "), &Rules::default()).shorten(ERROR_CHARS).into_string()
}

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

/// What kind of failure a status is, with what was said, in small letters.
pub(super) fn failing(status: u16, said: &str) -> Failing {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match status {
        401 | 403 | 407 => Failing::Denied,
        402 => Failing::Exhausted,
        400 | 429 if says(&["credit balance", "insufficient_quota", "billing"]) => Failing::Exhausted,
        300..400 | 404 | 405 | 410 => Failing::NotThere,
        400 | 422 if said.contains("model") && says(&["not found", "not exist", "no such"]) => Failing::NotThere,
        413 => Failing::TooLarge,
        400 | 422
            if says(&[
                "prompt is too long",
                "context_length",
                "context length",
                "context window",
                "maximum context",
            ]) =>
        {
            Failing::TooLarge
        }
        408 | 504 => Failing::TimedOut,
        429 => Failing::RateLimited,
        409 | 500.. => Failing::Unavailable,
        _ => Failing::Rejected,
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
