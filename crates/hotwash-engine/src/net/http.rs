//! HTTP, for every client that speaks it: one agent, limits on time and size, another try where that helps, and words
//! for what went wrong. Redirects are not followed: a key goes to the host it was meant for.

use super::egress;
use super::names::Names;
use super::retry::{self, Gate, Retries, Setback, Tries};
use super::{CallError, Failing, Key, World};
use hotwash_core::redaction::{Rules, redact};
use hotwash_core::sessions::Timestamp;
use serde_json::Value;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::time::Duration;
use ureq::Timeout;
use ureq::http::HeaderMap;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;

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

/// What differs from one kind of server to another: what it is called, how it words errors, and what to try then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    /// `the judge`.
    pub(crate) name: &'static str,
    /// What an error body says.
    pub(crate) detail: fn(&[u8]) -> String,
    /// What may help.
    pub(crate) hint: fn(Failing, u16) -> Option<&'static str>,
}

/// One server, and the key to it.
#[derive(Debug)]
pub(crate) struct Server {
    manners: Manners,
    agent: ureq::Agent,
    base: String,
    host: String,
    network: Network,
    gate: Gate,
    key: Option<Key>,
    pub(crate) world: World,
}

/// What a request wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// What comes behind the base.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a Headers,
    pub(crate) body: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    pub(crate) fn get(path: &'a str, headers: &'a Headers) -> Request<'a> {
        Request { method: Method::Get, path, headers, body: None }
    }

    pub(crate) fn post(path: &'a str, headers: &'a Headers, body: &'a [u8]) -> Request<'a> {
        Request { method: Method::Post, path, headers, body: Some(body) }
    }
}

/// Headers, of which one may be a key.
pub(crate) struct Headers(pub(crate) Vec<(&'static str, String)>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// An answer with a status of success.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) body: Vec<u8>,
    /// What time it was where the answer came from.
    pub(crate) date: Option<Timestamp>,
    pub(crate) requests: u32,
}

/// No answer, or one that is an error.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) error: CallError,
    /// The status, where there was one.
    pub(crate) status: Option<u16>,
    /// What the server said, in small letters.
    pub(crate) said: String,
    /// The request may have been taken all the same: it was sent, and what became of it is not known.
    pub(crate) unclear: bool,
    /// The answer was longer than what is read of one.
    pub(crate) too_long: bool,
    /// How to go on, where the same may be asked again.
    setback: Option<Setback>,
}

impl From<Failed> for CallError {
    fn from(failed: Failed) -> CallError {
        failed.error
    }
}

impl Server {
    pub(crate) fn new(
        manners: Manners,
        base: &str,
        key: Option<Key>,
        network: Network,
        world: World,
    ) -> Result<Server, CallError> {
        let wrong = |what: &str| CallError::before(Failing::NotThere, what.to_owned());
        let name = manners.name;
        let base = base.trim().trim_end_matches('/').to_owned();
        let Some((_, rest)) = base.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https")) else {
            return Err(wrong(&format!("the base URL of {name} must begin with http:// or https://")));
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong(&format!("the base URL of {name} must not hold a user or a password")));
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
        let agent =
            ureq::Agent::with_parts(config.build(), DefaultConnector::default(), Names::<DefaultResolver>::default());
        Ok(Server { manners, agent, host: authority.to_owned(), base, network, gate: Gate::default(), key, world })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Asks, and again where that helps.
    pub(crate) fn ask(&self, request: Request<'_>) -> Result<Answered, Failed> {
        self.ask_unless(request, |_| false)
    }

    /// Asks, and again where that helps, unless a failure is one to stop at.
    pub(crate) fn ask_unless(
        &self,
        request: Request<'_>,
        stop_at: impl Fn(&Failed) -> bool,
    ) -> Result<Answered, Failed> {
        let (mut body, mut date) = (Vec::new(), None);
        let requests = self.attempt(request, stop_at, &mut |incoming| {
            body.clear();
            date = incoming.date;
            incoming.read_to(&mut body, self.network.answer_bytes)
        })?;
        Ok(Answered { body, date, requests })
    }

    /// Asks for lines, and tells each whole one. A download that is cut begins anew, and so do the lines.
    pub(crate) fn lines(&self, request: Request<'_>, tell: &mut dyn FnMut(&[u8])) -> Result<u32, Failed> {
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
            // What may be deleted is counted by the day: running out of it must not hold up the rest.
            let gated = request.method != Method::Delete;
            if gated {
                self.pass_gate(&mut tries)?;
            }
            let told = egress::tell(&self.world, &self.host, &[request.body.unwrap_or_default()]);
            told.map_err(|error| Failed::plain(CallError { requests: tries.made, ..error }))?;
            tries.made += 1;
            let mut failed = match self.once(request, take) {
                Ok(()) => return Ok(tries.made),
                Err(failed) => failed,
            };
            failed.error.requests = tries.made;
            let Some(setback) = failed.setback.filter(|_| !stop_at(&failed)) else { return Err(failed) };
            // What only fetches costs nothing.
            let lost = failed.unclear && failed.status.is_none() && request.method == Method::Post;
            let wait = tries.next(setback, lost);
            // What one was told holds for all, also where this one gives up.
            let told = if let Setback::Named(time) = setback { Some(time) } else { wait };
            if let Some(time) = told.filter(|_| gated && failed.status == Some(429)) {
                self.gate.close_until(Timestamp(self.world.clock.now().0 + time.as_millis() as i64));
            }
            let Some(wait) = wait else {
                if let Setback::Named(time) = setback {
                    failed.error.message = format!("{}; it asks to wait {} s", failed.error.message, time.as_secs());
                }
                return Err(failed);
            };
            if !self.world.wait_for(&failed.error.message, wait) {
                // Who is stopped while waiting was not refused; what may have been paid for is told as it was.
                return Err(if lost { failed } else { Failed::plain(World::stopped(tries.made)) });
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
                return Err(Failed::plain(CallError { kind: Failing::RateLimited, message, requests: tries.made }));
            }
            self.world.wait_for(&format!("{} takes nothing for now", self.host), wait);
        }
    }

    fn once(&self, request: Request<'_>, take: &mut dyn FnMut(&mut Incoming) -> io::Result<()>) -> Result<(), Failed> {
        let url = format!("{}{}", self.base, request.path);
        let headers = &request.headers.0;
        let body = request.body.unwrap_or_default();
        let with = |builder: ureq::RequestBuilder<ureq::typestate::WithBody>| {
            let builder = builder.header("content-type", "application/json");
            headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, value)).send(body)
        };
        let without = |builder: ureq::RequestBuilder<ureq::typestate::WithoutBody>| {
            headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, value)).call()
        };
        let sent = match request.method {
            Method::Get => without(self.agent.get(&url)),
            Method::Delete => without(self.agent.delete(&url)),
            Method::Post => with(self.agent.post(&url)),
            Method::Patch => with(self.agent.patch(&url)),
        };
        let response = sent.map_err(|error| self.broken(error))?;
        let (parts, body) = response.into_parts();
        let date = header(&parts.headers, "date").and_then(retry::http_date);
        let mut incoming = Incoming { body, date };
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
                let failed = Failed::plain(CallError { kind: Failing::Garbled, message, requests: 0 });
                return Failed { too_long: true, ..failed };
            }
            self.broken(error.into())
        })
    }

    /// What a status means, and what the server said of it.
    fn refused(&self, status: u16, headers: &HeaderMap, mut incoming: Incoming, now: Timestamp) -> Failed {
        let mut body = Vec::new();
        // A body that breaks off says what it says; the status counts.
        let _ = incoming.read_to(&mut body, ERROR_BYTES);
        let said = self.public(&(self.manners.detail)(&body));
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
        if let Some(hint) = (self.manners.hint)(kind, status) {
            message = format!("{message}; {hint}");
        }
        let again = retry::may_repeat(status) && !kind.is_for_all();
        let named = || retry::named(|name| header(headers, name), now);
        let setback = again.then(|| named().map_or(Setback::Failed, Setback::Named));
        let unclear = matches!(status, 408 | 500 | 502 | 504);
        Failed {
            error: CallError { kind, message, requests: 0 },
            status: Some(status),
            said: small,
            unclear,
            too_long: false,
            setback,
        }
    }

    /// What a failure below HTTP means.
    fn broken(&self, error: ureq::Error) -> Failed {
        let host = &self.host;
        let timeout = Setback::TimedOut;
        let no_host = || {
            let what = format!("there is no host {host}; check the base URL and the network");
            (Failing::Unreachable, what, Some(Setback::Failed), false)
        };
        let (kind, what, setback, unclear) = match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                let what = format!(
                    "could not connect to {host} within {} s; is it reachable?",
                    self.network.connect.as_secs()
                );
                (Failing::Unreachable, what, Some(Setback::Failed), false)
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
                (Failing::Unreachable, what, Some(Setback::Failed), false)
            }
            ureq::Error::Io(error) if error.to_string().contains("InvalidContentType") => {
                let what = format!("{host} speaks without encryption; does its address begin with http://?");
                (Failing::Unreachable, what, None, false)
            }
            ureq::Error::HostNotFound => no_host(),
            // The system says it in words only.
            ureq::Error::Io(error) if error.to_string().contains("failed to lookup address") => no_host(),
            ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) => {
                (Failing::Unreachable, format!("could not connect to {host}"), Some(Setback::Failed), false)
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => {
                let what = format!("no secure connection to {host}: {}", self.public(&error.to_string()));
                (Failing::Unreachable, what, None, false)
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
        let error = CallError { kind, message: what, requests: 0 };
        Failed { error, status: None, said: String::new(), unclear, too_long: false, setback }
    }

    /// Foreign words, fit to be shown: without keys and secrets, on one line, and short.
    fn public(&self, text: &str) -> String {
        let hidden = [self.key.as_ref(), self.network.proxy.as_ref()].into_iter().flatten();
        let text = hidden.fold(text.to_owned(), |text, key| key.hidden_in(&text));
        shown(&text)
    }

    /// An answer that is none.
    pub(crate) fn garbled(&self, what: &str, requests: u32) -> CallError {
        let message = format!("{} answered with {what}; is the base URL that of the API?", self.host);
        CallError { kind: Failing::Garbled, message, requests }
    }
}

impl Failed {
    pub(crate) fn plain(error: CallError) -> Failed {
        Failed { error, status: None, said: String::new(), unclear: false, too_long: false, setback: None }
    }
}

/// The body of an answer, as it comes in.
struct Incoming {
    body: ureq::Body,
    date: Option<Timestamp>,
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
pub(crate) fn shown(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    redact(&words.join(" "), &Rules::default()).shorten(ERROR_CHARS).into_string()
}

/// What kind of failure a status is, with what was said, in small letters.
pub(crate) fn failing(status: u16, said: &str) -> Failing {
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
