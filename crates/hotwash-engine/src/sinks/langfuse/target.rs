//! What of Langfuse a session of ours is.

use crate::langfuse::{Client, LangfuseError, ObservationQuery, Reads, Subject, TraceQuery, Window};
use crate::stores::{Query, Row, Store, StoreError};
use hotwash_core::sessions::{SessionKind, Timestamp};
use serde::Deserialize;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What of Langfuse a session is: one of its sessions, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Langfuse's session.
    pub session: Option<String>,
    /// Ours is that session, and all of it.
    pub whole: bool,
    /// Langfuse's other sessions that it takes in.
    pub others: Vec<String>,
    /// Up to when Langfuse's session is known here.
    pub known_to: Option<Timestamp>,
}

/// Where scores are to be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// To the session.
    Session,
    /// To the first trace.
    Trace,
}

/// Knows which sessions share a transcript.
#[derive(Debug, Default)]
pub struct Targets {
    /// How many sessions of ours came of each one recorded.
    shares: HashMap<String, u32>,
    /// What joined sessions are made of: ids of those recorded, in order.
    joined: HashMap<String, Vec<String>>,
    /// The last moment that is known of each one recorded.
    known_to: HashMap<String, Timestamp>,
}

impl Targets {
    /// Looks through the store.
    pub fn of(store: &dyn Store) -> Result<Targets, StoreError> {
        let mut shares: HashMap<String, u32> = HashMap::new();
        let joined: HashMap<String, Vec<String>> = store
            .made_of()?
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(id, parts)| {
                let mut all: Vec<String> = Vec::new();
                for part in parts {
                    if !all.contains(&part.recorded) {
                        all.push(part.recorded);
                    }
                }
                (id.0, all)
            })
            .collect();
        let mut known_to: HashMap<String, Timestamp> = HashMap::new();
        for row in store.sessions(&Query { without_facts: true, ..Query::default() })? {
            if let Some(to) = row.session.to {
                let known = known_to.entry(row.session.recorded.clone()).or_insert(to);
                *known = to.max(*known);
            }
            match joined.get(&row.session.id.to_string()) {
                Some(all) => all.iter().for_each(|recorded| *shares.entry(recorded.clone()).or_default() += 1),
                None => *shares.entry(row.session.recorded).or_default() += 1,
            }
        }
        Ok(Targets { shares, joined, known_to })
    }

    /// What of Langfuse a session is.
    pub fn target(&self, row: &Row) -> Target {
        let session = &row.session;
        // A subagent's work is a part of the session that spawned it.
        if session.recorded.is_empty() || session.kind != SessionKind::Main {
            return Target::default();
        }
        let all = self.joined.get(&session.id.to_string());
        let first = all.and_then(|all| all.first()).unwrap_or(&session.recorded);
        let others: Vec<String> = all.into_iter().flatten().filter(|id| *id != first).cloned().collect();
        let whole = others.is_empty() && self.shares.get(first).is_none_or(|sessions| *sessions <= 1);
        let known_to = self.known_to.get(first).copied().or(session.to);
        Target { session: Some(first.clone()), whole, others, known_to }
    }
}

impl Target {
    /// Whether scores go to a trace, where there is one, and not to the session.
    pub(crate) fn wants_trace(&self, attach: Option<Attach>) -> bool {
        match attach {
            Some(attach) => attach == Attach::Trace,
            None => !self.whole,
        }
    }

    /// What scores are attached to. A part of a session goes to the trace it begins with; where Langfuse has no such
    /// trace, to the session, and says in its metadata that it is a part. None where it is nothing of Langfuse's.
    pub(crate) fn subject(&self, root: Option<&Root>, attach: Option<Attach>) -> Option<Subject> {
        let session = self.session.clone()?;
        let root = root.filter(|_| self.wants_trace(attach));
        Some(root.map_or(Subject::Session(session), |root| Subject::Trace(root.trace.clone())))
    }
}

/// The first trace of a session that began when ours did, or after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) at: Timestamp,
    pub(crate) trace: String,
    /// The environment it was recorded in, where that is said.
    pub(crate) environment: Option<String>,
}

/// Clocks of the same machine, rounded differently.
const SLACK_MS: i64 = 2_000;
/// How many sessions are asked about together, and how many letters their ids may have.
const TOGETHER: usize = 50;
const LETTERS: usize = 2_000;

/// Which rows of a session are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Roots of traces first, which are few, and every row only where a session has none: enough to know its environment.
    /// Some recorders give the first row of a turn a parent that is nowhere, and the server takes it for no root.
    Roots,
    /// Every row, so that the first trace is certain.
    All,
}

/// Where sessions of ours begin in Langfuse, in the same order.
pub(crate) fn roots(client: &Client, wanted: &[(&str, &Row)], look: Look) -> Result<Vec<Option<Root>>, LangfuseError> {
    let mut found = vec![None; wanted.len()];
    let all: Vec<usize> = (0..wanted.len()).collect();
    if look == Look::Roots || client.reads() == Reads::Legacy {
        some_roots(client, wanted, all.clone(), true, &mut found)?;
    }
    if client.reads() == Reads::Observations {
        let missing = all.into_iter().filter(|at| found[*at].is_none()).collect();
        some_roots(client, wanted, missing, false, &mut found)?;
    }
    Ok(found)
}

fn some_roots(
    client: &Client,
    wanted: &[(&str, &Row)],
    mut order: Vec<usize>,
    roots: bool,
    found: &mut [Option<Root>],
) -> Result<(), LangfuseError> {
    // Neighbours in time: one stretch for all of them is short then.
    order.sort_by_key(|at| wanted[*at].1.session.from);
    let mut rest = order.as_slice();
    while !rest.is_empty() {
        let mut letters = 0;
        let most = if client.reads() == Reads::Observations { TOGETHER } else { 1 };
        let fits = rest.iter().take(most).take_while(|at| {
            letters += wanted[**at].0.len();
            letters <= LETTERS
        });
        let (batch, after) = rest.split_at(fits.count().max(1));
        rest = after;
        batch_of_roots(client, wanted, batch, roots, found)?;
    }
    Ok(())
}

fn batch_of_roots(
    client: &Client,
    wanted: &[(&str, &Row)],
    batch: &[usize],
    roots: bool,
    found: &mut [Option<Root>],
) -> Result<(), LangfuseError> {
    #[derive(Deserialize)]
    struct Environment {
        #[serde(default)]
        environment: Option<String>,
    }
    let span = |row: &Row| row.session.from.zip(row.session.to);
    let mut sessions: HashMap<&str, Vec<usize>> = HashMap::new();
    for at in batch.iter().filter(|at| span(wanted[**at].1).is_some()) {
        sessions.entry(wanted[*at].0).or_default().push(*at);
    }
    let spans = batch.iter().filter_map(|at| span(wanted[*at].1));
    let (Some(from), Some(to)) = (spans.clone().map(|span| span.0).min(), spans.map(|span| span.1).max()) else {
        return Ok(());
    };
    let window = Window { from: Timestamp(from.0 - SLACK_MS), to: Timestamp(to.0 + SLACK_MS) };
    let mut see = |row: crate::langfuse::Row| {
        let (Some(at), Some(trace), Some(session)) = (row.at, row.trace, row.session) else {
            return ControlFlow::Continue(());
        };
        for place in sessions.get(session.as_str()).into_iter().flatten() {
            let within =
                span(wanted[*place].1).is_some_and(|(from, to)| at.0 >= from.0 - SLACK_MS && at.0 < to.0 + SLACK_MS);
            if within && found[*place].as_ref().is_none_or(|known| (at, &trace) < (known.at, &known.trace)) {
                let environment = serde_json::from_str::<Environment>(row.raw.get()).ok();
                let environment = environment.and_then(|row| row.environment).filter(|name| !name.is_empty());
                found[*place] = Some(Root { at, trace: trace.clone(), environment });
            }
        }
        ControlFlow::Continue(())
    };
    let mut ids: Vec<&str> = sessions.keys().copied().collect();
    ids.sort_unstable();
    match client.reads() {
        Reads::Observations => {
            let query = ObservationQuery { roots, sessions: &ids, ..ObservationQuery::new(window, "core,basic") };
            client.observations(&query, &mut see)
        }
        Reads::Legacy => {
            let query = TraceQuery { session: ids.first().copied(), ..TraceQuery::new(window, "core") };
            client.legacy_traces(&query, &mut see)
        }
    }
}
