//! Reads of what agents recorded. Rows come newest first, may come twice, and are not sorted out here.

use super::client::Paging;
use super::wire::{Kind, Query, Row, encoded};
use super::{Client, LangfuseError};
use hotwash_core::sessions::Timestamp;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::ops::ControlFlow;

/// A stretch of time; its end is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
}

/// Which observations are wanted, of a server that has `v2/observations`.
#[derive(Clone, Debug)]
pub struct ObservationQuery<'a> {
    /// By when they began.
    pub window: Window,
    /// Groups of fields: `core,basic,io,metadata,model,usage,trace_context`.
    pub fields: &'a str,
    /// How many at once, up to 1000.
    pub page: u64,
    /// Only the roots of traces, as the server sees them.
    pub roots: bool,
    /// Only those that belong to a session.
    pub in_a_session: bool,
    /// Only those of this session.
    pub session: Option<&'a str>,
    /// Only those of one of these sessions; of any, if empty.
    pub sessions: &'a [&'a str],
    /// Only those of this trace.
    pub trace: Option<&'a str>,
    /// Only those of one of these traces; of any, if empty.
    pub traces: &'a [String],
    /// Only those of this user.
    pub user: Option<&'a str>,
    /// Only those of one of these environments; of any, if empty.
    pub environments: &'a [String],
    /// Only those with one of these tags; with any, if empty.
    pub tags: &'a [String],
}

impl<'a> ObservationQuery<'a> {
    /// Everything of a stretch of time.
    pub fn new(window: Window, fields: &'a str) -> ObservationQuery<'a> {
        ObservationQuery {
            window,
            fields,
            page: 1000,
            roots: false,
            in_a_session: false,
            session: None,
            sessions: &[],
            trace: None,
            traces: &[],
            user: None,
            environments: &[],
            tags: &[],
        }
    }

    /// As the server wants it. Filters rather than parameters: older servers ignore parameters they do not know, and
    /// answer with everything.
    fn query(&self) -> Query {
        let mut filter = Vec::new();
        if let Some(session) = self.session {
            filter.push(json!({"type": "string", "column": "sessionId", "operator": "=", "value": session}));
        } else if !self.sessions.is_empty() {
            let sessions = self.sessions;
            filter
                .push(json!({"type": "stringOptions", "column": "sessionId", "operator": "any of", "value": sessions}));
        } else if self.in_a_session {
            filter.push(json!({"type": "stringOptions", "column": "sessionId", "operator": "none of", "value": [""]}));
        }
        if !self.traces.is_empty() {
            filter.push(
                json!({"type": "stringOptions", "column": "traceId", "operator": "any of", "value": self.traces}),
            );
        }
        if !self.tags.is_empty() {
            filter.push(json!({"type": "arrayOptions", "column": "tags", "operator": "any of", "value": self.tags}));
        }
        let mut query = Query::default()
            .with("fromStartTime", self.window.from.to_string())
            .with("toStartTime", self.window.to.to_string())
            .with("fields", self.fields)
            .with_some("isRootObservation", self.roots.then_some("true"))
            .with_some("traceId", self.trace)
            .with_some("userId", self.user)
            .with_some("filter", (!filter.is_empty()).then(|| json!(filter).to_string()));
        for environment in self.environments {
            query = query.with("environment", environment);
        }
        query
    }
}

/// Which traces are wanted, of a server that has the older reads.
#[derive(Clone, Debug)]
pub struct TraceQuery<'a> {
    /// By when they were recorded.
    pub window: Window,
    /// Groups of fields: `core,io,metrics`.
    pub fields: &'a str,
    /// How many at once, up to 100.
    pub page: u64,
    /// Only those of this session.
    pub session: Option<&'a str>,
    /// Only those of this user.
    pub user: Option<&'a str>,
    /// Only those of one of these environments; of any, if empty.
    pub environments: &'a [String],
    /// Only those with this tag.
    pub tag: Option<&'a str>,
}

impl<'a> TraceQuery<'a> {
    /// Everything of a stretch of time.
    pub fn new(window: Window, fields: &'a str) -> TraceQuery<'a> {
        TraceQuery { window, fields, page: 100, session: None, user: None, environments: &[], tag: None }
    }
}

impl Client {
    /// Observations, from a server that has `v2/observations`.
    pub fn observations(
        &self,
        wanted: &ObservationQuery<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), LangfuseError> {
        self.rows(("/v2/observations", &wanted.query()), Paging::Cursor, wanted.page.min(1000), Kind::Observation, each)
    }

    /// Traces of a stretch of time, from a server with the older reads.
    pub fn legacy_traces(
        &self,
        wanted: &TraceQuery<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), LangfuseError> {
        let mut query = Query::default()
            .with("fromTimestamp", wanted.window.from.to_string())
            .with("toTimestamp", wanted.window.to.to_string())
            .with("fields", wanted.fields)
            .with("orderBy", "timestamp.desc")
            .with_some("sessionId", wanted.session)
            .with_some("userId", wanted.user)
            .with_some("tags", wanted.tag);
        for environment in wanted.environments {
            query = query.with("environment", environment);
        }
        self.rows(("/traces", &query), Paging::Number, wanted.page.min(100), Kind::Trace, each)
    }

    /// Observations of one trace, from a server with the older reads.
    pub fn legacy_observations(
        &self,
        trace: &str,
        window: Window,
        page: u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), LangfuseError> {
        let query = Query::default()
            .with("traceId", trace)
            .with("fromStartTime", window.from.to_string())
            .with("toStartTime", window.to.to_string());
        self.rows(("/observations", &query), Paging::Number, page.min(100), Kind::Observation, each)
    }

    /// One trace with its observations and scores, from a server with the older reads; none where it is not there.
    pub fn legacy_trace(&self, id: &str) -> Result<Option<Box<RawValue>>, LangfuseError> {
        match self.get(&format!("/traces/{}", encoded(id))) {
            Ok(trace) => Ok(Some(trace)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the older reads are there too; and what the server says of their end, where it does.
    #[expect(clippy::option_option, reason = "not there; there; there, and to be removed")]
    pub(crate) fn has_older_reads(&self) -> Result<Option<Option<String>>, LangfuseError> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(rename = "_deprecation")]
            deprecation: Option<Deprecation>,
        }
        #[derive(Deserialize)]
        struct Deprecation {
            #[serde(default)]
            message: String,
        }
        let now = self.now().to_string();
        let query = Query::default().with("limit", "1").with("fromTimestamp", &now).with("toTimestamp", &now);
        match self.get::<Answer>(&query.after("/traces")) {
            Ok(answer) => {
                let said = answer.deprecation.map(|deprecation| crate::net::http::shown(&deprecation.message));
                Ok(Some(said))
            }
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
