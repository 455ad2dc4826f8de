//! What of Langfuse a session of ours is.

use crate::langfuse::{Client, LangfuseError, ObservationQuery, Reads, Subject, TraceQuery, Window};
use crate::stores::{Query, Row, Store, StoreError};
use hotwash_core::sessions::{SessionKind, Timestamp};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What of Langfuse a session is: one of its sessions, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Langfuse's session.
    pub session: Option<String>,
    /// Ours is that session, and all of it.
    pub whole: bool,
    /// The trace it begins with, where the source knows.
    pub trace: Option<String>,
    /// Langfuse's other sessions that it takes in.
    pub others: Vec<String>,
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
}

impl Targets {
    /// Looks through the store.
    pub fn of(store: &Store) -> Result<Targets, StoreError> {
        let mut shares: HashMap<String, u32> = HashMap::new();
        let joined: HashMap<String, Vec<String>> = store
            .joined()?
            .into_iter()
            .map(|(id, parts)| {
                let mut all: Vec<String> = Vec::new();
                for part in parts {
                    if !all.contains(&part.recorded) {
                        all.push(part.recorded);
                    }
                }
                (id, all)
            })
            .collect();
        for row in store.sessions(&Query { without_facts: true, ..Query::default() })? {
            match joined.get(&row.session.id.to_string()) {
                Some(all) => all.iter().for_each(|recorded| *shares.entry(recorded.clone()).or_default() += 1),
                None => *shares.entry(row.session.recorded).or_default() += 1,
            }
        }
        Ok(Targets { shares, joined })
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
        Target { session: Some(first.clone()), whole, trace: None, others }
    }
}

impl Target {
    /// What scores are attached to. A part of a session goes to the trace it begins with; where Langfuse has no such
    /// trace, to the session, which says in its metadata that it is a part. None where it is nothing of Langfuse's.
    pub(crate) fn subject(
        &self,
        client: &Client,
        row: &Row,
        attach: Option<Attach>,
    ) -> Result<Option<Subject>, LangfuseError> {
        let Some(session) = &self.session else { return Ok(None) };
        let to_session = attach != Some(Attach::Trace) && (self.whole || attach == Some(Attach::Session));
        if to_session {
            return Ok(Some(Subject::Session(session.clone())));
        }
        let trace = match &self.trace {
            Some(trace) => Some(trace.clone()),
            None => first_trace(client, session, row)?,
        };
        Ok(Some(trace.map_or_else(|| Subject::Session(session.clone()), Subject::Trace)))
    }
}

/// Clocks of the same machine, rounded differently.
const SLACK_MS: i64 = 2_000;

/// The first trace of a session that began when ours did, or after.
fn first_trace(client: &Client, session: &str, row: &Row) -> Result<Option<String>, LangfuseError> {
    let (Some(from), Some(to)) = (row.session.from, row.session.to) else { return Ok(None) };
    let window = Window { from: Timestamp(from.0 - SLACK_MS), to: Timestamp(to.0 + SLACK_MS) };
    let mut first: Option<(Timestamp, String)> = None;
    let mut see = |row: crate::langfuse::Row| {
        if let (Some(at), Some(trace)) = (row.at, row.trace) {
            let seen = (at, trace);
            if first.as_ref().is_none_or(|first| seen < *first) {
                first = Some(seen);
            }
        }
        ControlFlow::Continue(())
    };
    match client.reads() {
        Reads::Observations => {
            let query =
                ObservationQuery { roots: true, session: Some(session), ..ObservationQuery::new(window, "core,basic") };
            client.observations(&query, &mut see)?;
        }
        Reads::Legacy => {
            let query = TraceQuery {
                window,
                fields: "core",
                page: 100,
                session: Some(session),
                user: None,
                environments: &[],
                tags: &[],
            };
            client.legacy_traces(&query, &mut see)?;
        }
    }
    Ok(first.map(|(_, trace)| trace))
}
