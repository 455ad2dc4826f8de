//! The client: which server it is, one request at a time, and pages.

use super::LangfuseError;
use super::errors::{HOST, LANGFUSE};
use super::wire::{Kind, Query, Row, basic};
use crate::net::http::{Answered, Failed, Headers, Method, Network, Request, Server};
use crate::net::retry::{Retries, Setback, Tries};
use crate::net::{Failing, Key, World};
use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::time::Duration;

/// Where Langfuse is, and the keys to it.
#[derive(Clone, Debug)]
pub struct Config {
    /// As one opens it in the browser: `https://cloud.langfuse.com`.
    pub host: String,
    /// `pk-lf-…`.
    pub public_key: Key,
    /// `sk-lf-…`.
    pub secret_key: Key,
    /// Limits on time and size.
    pub network: Network,
}

impl Config {
    /// With the usual limits.
    pub fn new(host: &str, public_key: Key, secret_key: Key) -> Config {
        let network = Network {
            call: Duration::from_secs(120),
            answer_bytes: 12 << 20,
            retries: Retries { attempts: 8, timeouts: 3, ..Retries::default() },
            ..Network::default()
        };
        Config { host: host.to_owned(), public_key, secret_key, network }
    }
}

/// Which family of reads a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// `v2/observations` and `v3/scores`: Langfuse 4, and Cloud.
    Observations,
    /// Sessions, traces and observations: Langfuse 3 and before.
    Legacy,
}

/// The project that the keys belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A connection to one project of one server.
#[derive(Debug)]
pub struct Client {
    server: Server,
    headers: Headers,
    network: Network,
    reads: Reads,
    version: String,
    project: Project,
    /// By how much the server's clock is ahead of ours, where it says what time it is.
    ahead_ms: Option<i64>,
    /// Somebody has answered: a connection that fails now is trouble on the way, not a wrong address.
    answers: bool,
    /// How scores are written here, as far as it was found out.
    pub(super) way: AtomicU8,
    /// Scores can only be read in the older way.
    pub(super) older_scores: AtomicBool,
}

#[derive(Deserialize)]
struct Health {
    version: String,
}

#[derive(Deserialize)]
struct Listed<T> {
    #[serde(default = "Vec::new")]
    data: Vec<T>,
}

/// A page, with what leads to the next one.
#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    cursor: Option<String>,
    total_pages: Option<u64>,
}

const ADDRESS: &str = "is this the address of Langfuse?";

/// Whether an answer may be the beginning of one of this API's.
fn is_cut(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err()
}

/// How a list is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paging {
    Cursor,
    Number,
}

/// After so many connections that come to nothing, there is nobody at an address.
const NOBODY: u32 = 3;

/// Sizes of pages; each divides those before it, so that a smaller one goes on where a larger one stopped.
const SIZES: [u64; 7] = [1000, 500, 100, 50, 25, 5, 1];

/// An address as people type it: without a scheme it is meant to be safe, unless it is this machine's.
fn with_scheme(host: &str) -> Cow<'_, str> {
    if host.contains("://") {
        Cow::Borrowed(host)
    } else if host.starts_with("localhost") || host.starts_with("127.") {
        format!("http://{host}").into()
    } else {
        format!("https://{host}").into()
    }
}

impl Client {
    /// Connects, and finds out who answers: its version, whether the keys are right, and which reads it has.
    pub fn connect(config: Config, world: World) -> Result<Client, LangfuseError> {
        let (public, secret) = (config.public_key, config.secret_key);
        if public.is_empty() || secret.is_empty() {
            return Err(LangfuseError::new(Failing::Denied, "Langfuse needs a public and a secret key")
                .with_hint("both are in the project's settings in Langfuse, under API keys"));
        }
        if public.expose().starts_with("sk-") && secret.expose().starts_with("pk-") {
            return Err(LangfuseError::new(Failing::Denied, "the two keys of Langfuse are the wrong way round")
                .with_hint("the public key begins with pk-lf-, the secret one with sk-lf-"));
        }
        let host = config.host.trim().trim_end_matches('/');
        let host = host.strip_suffix("/api/public").unwrap_or(host);
        let base = format!("{}/api/public", with_scheme(host));
        let headers = Headers(vec![("authorization", basic(public.expose(), secret.expose()))]);
        let network = config.network;
        let server = Server::new(LANGFUSE, &base, Some(secret), network.clone(), world)?;
        let (reads, version, project) = (Reads::Legacy, String::new(), Project::default());
        let mut client = Client {
            server,
            headers,
            network,
            reads,
            version,
            project,
            ahead_ms: None,
            answers: false,
            way: AtomicU8::new(0),
            older_scores: AtomicBool::new(false),
        };
        client.find_out()?;
        Ok(client)
    }

    fn find_out(&mut self) -> Result<(), LangfuseError> {
        let health = self.ask_dated(Method::Get, "/health", None);
        let (health, date): (Health, _) = health.map_err(|error| match error.status {
            Some(400..=499) if error.hint.is_none() => error.with_hint(HOST),
            _ => error,
        })?;
        self.answers = true;
        self.version = crate::net::http::shown(&health.version);
        if ["0", "1", "2"].contains(&self.version.split('.').next().unwrap_or_default()) {
            let words = format!("{} is Langfuse {}, which is too old", self.server.host(), self.version);
            return Err(LangfuseError::new(Failing::NotThere, words).with_hint("update it to Langfuse 3.53 or later"));
        }
        self.ahead_ms = date.map(|date| date.0 - self.now().0);
        let projects: Listed<Project> = self.get("/projects")?;
        self.project = projects.data.into_iter().next().ok_or_else(|| {
            LangfuseError::new(Failing::Denied, format!("{} knows no project for these keys", self.server.host()))
                .with_hint("use the keys of a project, not those of an organization")
        })?;
        let now = self.now().to_string();
        let query = Query::default().with("limit", "1").with("fields", "core");
        let query = query.with("fromStartTime", &now).with("toStartTime", &now);
        // The older answer is not proof of anything but itself: it is sent before keys are looked at.
        self.reads = match self.get::<Listed<Box<RawValue>>>(&query.after("/v2/observations")) {
            Ok(_) => Reads::Observations,
            Err(error) if error.is_missing() => Reads::Legacy,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Which reads the server has.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// The server's version, as it says.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The project that the keys belong to.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The host, with its port.
    pub fn host(&self) -> &str {
        self.server.host()
    }

    /// By how many milliseconds the server's clock is ahead of ours; it tells whole seconds.
    pub fn clock_ahead_ms(&self) -> Option<i64> {
        self.ahead_ms
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.server.world.clock.now()
    }

    /// Waits for something, unless the run is stopped.
    pub(crate) fn pause(&self, what: &str, time: Duration) -> Result<(), LangfuseError> {
        if self.world().wait_for(what, time) { Ok(()) } else { Err(LangfuseError::new(Failing::Stopped, "stopped")) }
    }

    pub(crate) fn world(&self) -> &World {
        &self.server.world
    }

    /// Reads one thing.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, LangfuseError> {
        self.ask_dated(Method::Get, path, None).map(|(value, _)| value)
    }

    /// Sends something that may be sent twice without harm.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<T, LangfuseError> {
        self.ask_dated(method, path, body).map(|(value, _)| value)
    }

    /// Sends something that must not be sent twice: where it is not known what became of it, that is the answer.
    pub(crate) fn send_once<T: DeserializeOwned>(&self, path: &str, body: &[u8]) -> Result<T, LangfuseError> {
        let request = Request::post(path, &self.headers, body);
        let answered = self.server.ask_unless(request, |failed| failed.unclear)?;
        self.read(&answered).map_err(|error| LangfuseError { unclear: true, ..error })
    }

    /// Asks until the answer is whole: one that was cut on the way can have the length it claims.
    fn ask_dated<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<(T, Option<Timestamp>), LangfuseError> {
        let mut tries = Tries::new(&self.network.retries, path.as_bytes());
        let nobody = Cell::new(0);
        let is_nobody = |failed: &Failed| {
            nobody.set(nobody.get() + u32::from(failed.status.is_none() && !failed.unclear));
            !self.answers && nobody.get() >= NOBODY
        };
        loop {
            let answered = self.server.ask_unless(Request { method, path, headers: &self.headers, body }, is_nobody)?;
            tries.made += 1;
            let error = match self.read(&answered) {
                Ok(value) => return Ok((value, answered.date)),
                Err(error) => error,
            };
            // An answer that is whole and not of this API will be the same next time.
            let foreign = !self.answers && !is_cut(&answered.body);
            let error = if foreign { error.with_hint(ADDRESS) } else { error };
            let wait = tries.next(Setback::Failed, false).filter(|_| error.hint.is_none());
            if !wait.is_some_and(|wait| self.server.world.wait_for(&error.message, wait)) {
                return Err(error);
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, answered: &Answered) -> Result<T, LangfuseError> {
        serde_json::from_slice(&answered.body).map_err(|_| {
            let page = answered.body.trim_ascii_start().starts_with(b"<");
            let what = if page { "a web page" } else { "something that is cut or not of this API" };
            let error = LangfuseError::new(Failing::Garbled, format!("{} answered with {what}", self.server.host()));
            if page { error.with_hint(ADDRESS) } else { error }
        })
    }

    /// Goes through a list, page by page, with smaller pages where the server cannot manage large ones.
    pub(super) fn pages(
        &self,
        (path, query): (&str, &Query),
        paging: Paging,
        size: u64,
        each: &mut dyn FnMut(Box<RawValue>) -> Result<ControlFlow<()>, LangfuseError>,
    ) -> Result<(), LangfuseError> {
        let mut sizes = SIZES.iter().copied().skip_while(|known| *known > size.max(1));
        let mut size = sizes.next().unwrap_or(1);
        let (mut cursor, mut passed) = (None::<String>, 0u64);
        loop {
            let mut asked = query.clone().with("limit", size.to_string());
            match paging {
                Paging::Cursor => asked = asked.with_some("cursor", cursor.as_ref()),
                Paging::Number => asked = asked.with("page", (passed / size + 1).to_string()),
            }
            let page: Page = match self.get(&asked.after(path)) {
                Ok(page) => page,
                Err(error) if error.wants_smaller_pages() => match sizes.next() {
                    Some(smaller) => {
                        size = smaller;
                        continue;
                    }
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            };
            let came = page.data.len() as u64;
            for row in page.data {
                if each(row)?.is_break() {
                    return Ok(());
                }
            }
            passed += size;
            let more = match paging {
                // A cursor that leads nowhere new would lead there for ever.
                Paging::Cursor => page.meta.cursor.is_some() && page.meta.cursor != cursor && came > 0,
                Paging::Number => came > 0 && page.meta.total_pages.is_none_or(|pages| passed < pages * size),
            };
            if !more {
                return Ok(());
            }
            cursor = page.meta.cursor;
        }
    }

    /// Goes through a list of rows of one kind.
    pub(super) fn rows(
        &self,
        request: (&str, &Query),
        paging: Paging,
        size: u64,
        kind: Kind,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), LangfuseError> {
        self.pages(request, paging, size, &mut |raw| match Row::read(raw, kind) {
            Some(row) => Ok(each(row)),
            None => Err(LangfuseError::new(
                Failing::Garbled,
                format!("{} answered with a row that has no id", self.server.host()),
            )),
        })
    }
}

#[cfg(test)]
mod address_tests {
    use super::with_scheme;

    #[test]
    fn an_address_without_a_scheme_is_safe_unless_it_is_this_machine() {
        for (typed, meant) in [
            ("cloud.langfuse.com", "https://cloud.langfuse.com"),
            ("http://langfuse.example:3000", "http://langfuse.example:3000"),
            ("localhost:3000", "http://localhost:3000"),
            ("127.0.0.1:3000", "http://127.0.0.1:3000"),
        ] {
            assert_eq!(with_scheme(typed), meant);
        }
    }
}
