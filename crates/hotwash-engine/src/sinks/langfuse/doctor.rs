//! Tries everything once: who answers, what it allows, and whether a score comes back.

use super::config::{self, Became, May};
use crate::langfuse::{
    Client, LangfuseError, NewScore, ObservationQuery, Reads, ScoreValue, Subject, TraceQuery, Window,
};
use hotwash_core::hash::sha256;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::Timestamp;
use serde_json::json;
use std::ops::ControlFlow;
use std::time::Duration;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Well.
    Good,
    /// It works, and there is something to know.
    Note,
    /// Badly.
    Bad,
}

/// Something that was looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it came out.
    pub state: State,
    /// In words.
    pub words: String,
    /// What may help.
    pub hint: Option<String>,
}

/// Clocks that are further apart than this make a mess of times.
const CLOCKS_MS: i64 = 10_000;
/// How far back a session is looked for.
const BACK_MS: i64 = 7 * 86_400_000;
/// How long a test score may take to come and to go.
const PATIENCE_MS: [u64; 9] = [200, 800, 2_000, 3_000, 2_000, 4_000, 5_000, 5_000, 10_000];

/// Looks at everything. One thing that fails does not keep the others from being looked at.
pub fn examine(client: &Client, rubric: &Rubric) -> Vec<Check> {
    let project = client.project();
    let mut all = vec![check(
        "server",
        State::Good,
        format!("Langfuse {} at {}, project {} ({})", client.version(), client.host(), project.name, project.id),
    )];
    all.push(generation(client));
    all.push(permissions(client));
    all.push(clock(client));
    all.push(or_bad("configs", configs(client, rubric)));
    all.push(or_bad("session", session(client)));
    all.push(or_bad("round trip", round_trip(client)));
    all
}

fn check(name: &'static str, state: State, words: impl Into<String>) -> Check {
    Check { name, state, words: words.into(), hint: None }
}

fn or_bad(name: &'static str, checked: Result<Check, LangfuseError>) -> Check {
    checked
        .unwrap_or_else(|error| Check { hint: error.hint.map(str::to_owned), ..check(name, State::Bad, error.message) })
}

fn generation(client: &Client) -> Check {
    let old = client.has_older_reads();
    let (state, words) = match (client.reads(), old) {
        (Reads::Observations, Ok(None)) => (State::Good, "newer reads only (Langfuse 4, events only)".to_owned()),
        (Reads::Observations, Ok(Some(None))) => (State::Good, "newer and older reads; the newer are used".to_owned()),
        (Reads::Observations, Ok(Some(Some(ends)))) => {
            (State::Good, format!("newer and older reads; the older ones end: {ends}"))
        }
        (Reads::Legacy, Ok(Some(_))) => (State::Good, "older reads only (Langfuse 3)".to_owned()),
        (Reads::Legacy, Ok(None)) => (State::Bad, "neither the newer nor the older reads are there".to_owned()),
        (_, Err(error)) => (State::Note, format!("which reads there are cannot be told: {error}")),
    };
    check("generation", state, words)
}

/// What the keys may read, one thing after the other; writing is tried last.
fn permissions(client: &Client) -> Check {
    let nobody = ["hw-doctor".to_owned()];
    let now = client.now();
    let window = Window { from: Timestamp(now.0 - 1), to: now };
    let sessions = || match client.reads() {
        Reads::Observations => client
            .observations(&ObservationQuery { page: 1, ..ObservationQuery::new(window, "core") }, &mut |_| {
                ControlFlow::Break(())
            }),
        Reads::Legacy => client
            .legacy_traces(&TraceQuery { page: 1, ..TraceQuery::new(window, "core") }, &mut |_| ControlFlow::Break(())),
    };
    let tried: [(&str, Result<(), LangfuseError>); 4] = [
        ("sessions", sessions()),
        ("scores", client.scores_by_id(&nobody).map(|_| ())),
        ("configs", client.configs().map(|_| ())),
        ("datasets", client.has_datasets()),
    ];
    let denied: Vec<String> =
        tried.iter().filter_map(|(what, tried)| Some(format!("{what} ({})", tried.as_ref().err()?))).collect();
    if denied.is_empty() {
        return check("permissions", State::Good, "sessions, scores, configs and datasets may be read");
    }
    let hint = tried.iter().find_map(|(_, tried)| tried.as_ref().err()?.hint).map(str::to_owned);
    Check { hint, ..check("permissions", State::Bad, format!("cannot be read: {}", denied.join("; "))) }
}

fn clock(client: &Client) -> Check {
    match client.clock_ahead_ms() {
        None => check("clock", State::Note, "the server does not say what time it is"),
        Some(ahead) if ahead.abs() > CLOCKS_MS => Check {
            hint: Some("set the clock of whichever is wrong: the later of two scores counts".to_owned()),
            ..check("clock", State::Bad, format!("the server is {} s {}", ahead.abs() / 1000, side(ahead)))
        },
        // It tells whole seconds, so a second is no difference.
        Some(ahead) => check("clock", State::Good, format!("within {} s of the server's", ahead.abs() / 1000 + 1)),
    }
}

fn side(ahead: i64) -> &'static str {
    if ahead > 0 { "ahead" } else { "behind" }
}

fn configs(client: &Client, rubric: &Rubric) -> Result<Check, LangfuseError> {
    let settled = config::settle(client, config::wanted(rubric, false), May::Look)?;
    let named = |wanted: fn(&Became) -> bool| {
        let names = settled.iter().filter(|config| wanted(&config.became)).map(|config| config.wanted.name.as_str());
        names.collect::<Vec<_>>()
    };
    let (missing, differ) =
        (named(|became| *became == Became::Missing), named(|became| matches!(became, Became::Differs(_))));
    let right = settled.len() - missing.len() - differ.len();
    let mut words = format!("{right} of {} score configs are there", settled.len());
    for (what, names) in [("missing", &missing), ("different", &differ)] {
        if !names.is_empty() {
            words = format!("{words}; {what}: {}", names.join(", "));
        }
    }
    let state = if right == settled.len() { State::Good } else { State::Note };
    let hint = (state != State::Good).then(|| "`hotwash langfuse setup` makes and shows them".to_owned());
    Ok(Check { hint, ..check("configs", state, words) })
}

fn session(client: &Client) -> Result<Check, LangfuseError> {
    let now = client.now();
    let window = Window { from: Timestamp(now.0 - BACK_MS), to: Timestamp(now.0 + CLOCKS_MS) };
    let mut found = None;
    let mut see = |row: crate::langfuse::Row| {
        let session = row.session.map(|session| (session, row.at));
        if session.is_some() {
            found = session;
        }
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match client.reads() {
        Reads::Observations => {
            let query = ObservationQuery { in_a_session: true, page: 1, ..ObservationQuery::new(window, "core,basic") };
            client.observations(&query, &mut see)?;
        }
        Reads::Legacy => {
            client.legacy_traces(&TraceQuery::new(window, "core"), &mut see)?;
        }
    }
    Ok(match found {
        Some((session, at)) => {
            let at = at.map(|at| format!(", {at}")).unwrap_or_default();
            check("session", State::Good, format!("the latest is {}{at}", crate::net::http::shown(&session)))
        }
        None => Check {
            hint: Some("does an agent record here, and under a session id?".to_owned()),
            ..check("session", State::Note, "none in the last 7 days")
        },
    })
}

/// Writes a score, reads it back, and asks for its deletion, which the server only queues.
fn round_trip(client: &Client) -> Result<Check, LangfuseError> {
    let now = client.now();
    // Another one each time, so that what was left of the last is not taken for this.
    let id = format!("hw-doctor-{}", sha256(&[&now.0.to_be_bytes()]).chars().take(16).collect::<String>());
    let score = NewScore {
        id: id.clone(),
        name: "hotwash_doctor".to_owned(),
        value: ScoreValue::Number(1.0),
        subject: Subject::Session("hotwash-doctor".to_owned()),
        config: None,
        comment: Some("A test, to be deleted at once".to_owned()),
        metadata: json!({ "by": concat!("hotwash ", env!("CARGO_PKG_VERSION")) }),
        environment: None,
        at: now,
    };
    if let Some(refused) = client.put_scores(std::slice::from_ref(&score))?.first() {
        return Ok(check("round trip", State::Bad, format!("a test score was refused: {}", refused.why)));
    }
    let came = shows(client, &id)?;
    client.delete_score(&id)?;
    Ok(match came {
        Some(ms) => {
            let after = ms as f64 / 1000.0;
            let words = format!("a score was written and read back after {after:.1} s; its deletion is queued");
            check("round trip", State::Good, words)
        }
        None => check("round trip", State::Bad, "a score was taken, and cannot be read back"),
    })
}

/// Waits until a score shows. After how many milliseconds.
fn shows(client: &Client, id: &str) -> Result<Option<u64>, LangfuseError> {
    let mut waited = 0;
    for wait in PATIENCE_MS {
        client.pause("the test score does not show yet", Duration::from_millis(wait))?;
        waited += wait;
        if !client.scores_by_id(std::slice::from_ref(&id.to_owned()))?.is_empty() {
            return Ok(Some(waited));
        }
    }
    Ok(None)
}
