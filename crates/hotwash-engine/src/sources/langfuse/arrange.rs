//! Puts the rows of a session in the order in which things happened, and says as what each is read.
//!
//! Rows come newest first, and a row is a stretch of time: a call is made where a tool's row starts and answered where it
//! ends. A generation says its words where its first call is made, because the plugin that reads transcripts lets it end
//! only when its tools have. This needs all rows of a session at once, so it works on a few words of each.

use super::As;
use super::recorder::Recorder;
use super::row::Row;
use super::said;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Rows that are a turn by their name, wherever they stand.
const TURNS: &[&str] =
    &["Conversational Turn", "Claude Code Turn", "Codex Turn", "opencode.turn", "claude_code.interaction"];
/// Subagents within subagents end somewhere.
const DEEPEST: usize = 64;

/// What the order of a row depends on.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where the row is: its first byte and its length.
    pub place: (u64, usize),
    id: String,
    trace: String,
    parent: String,
    role: As,
    named_turn: bool,
    root: bool,
    is_trace: bool,
    start: i64,
    end: Option<i64>,
    version: (String, String),
    /// The ids of the calls that a generation asks for, in order.
    calls: Vec<String>,
    /// The id of the call that a tool's row answers.
    call: String,
    /// A person's words are in it.
    asks: bool,
    recorder: Recorder,
}

impl Entry {
    /// What is needed of a row at a place; none where it is no row or has no time.
    pub fn of(row: &[u8], place: (u64, usize)) -> Option<Entry> {
        let row = Row::read(row)?;
        let name = row.text("name");
        let named_turn = TURNS.contains(&name);
        let role = match row.kind() {
            "GENERATION" => As::Generation,
            _ if name == "claude_code.llm_request" => As::Generation,
            "TOOL" | "RETRIEVER" => As::Tool,
            _ if name.starts_with("Tool: ") || name == "claude_code.tool" => As::Tool,
            _ if name.starts_with("Subagent: ") => As::Agent,
            "AGENT" if !named_turn => As::Agent,
            _ => As::Aside,
        };
        let calls = match role {
            As::Generation => said::calls(&row.io("output")).into_iter().map(|call| call.id).collect(),
            _ => Vec::new(),
        };
        let is_trace = row.kind() == "TRACE";
        let (updated, ended) = row.version();
        Some(Entry {
            place,
            id: row.id().to_owned(),
            trace: row.trace().to_owned(),
            parent: row.text("parentObservationId").to_owned(),
            role,
            named_turn,
            root: row.0.get("isRootObservation").is_some_and(|root| root == true),
            is_trace,
            start: row.start()?.0,
            end: row.end().map(|end| end.0),
            version: (updated.to_owned(), ended.to_owned()),
            calls,
            call: super::decode::call_id(&row).to_owned(),
            asks: role != As::Tool && said::asked(&row.io("input")).is_some(),
            recorder: Recorder::of(&row),
        })
    }

    /// The agent whose work it is.
    pub(super) fn agent(&self) -> &'static str {
        self.recorder.agent()
    }

    /// By which lines refer to it.
    pub(super) fn key(&self) -> String {
        super::decode::row_key(&self.trace, &self.id)
    }
}

/// A line to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The row's number among the entries.
    pub row: usize,
    /// What is written of it.
    pub what: What,
}

/// What a line says of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// All of it.
    Begins(As),
    /// That it has ended.
    Ends,
}

/// The lines of a session.
#[derive(Clone, Debug, Default)]
pub struct Arranged {
    /// Of the session itself.
    pub main: Vec<Line>,
    /// Of its subagents, by the ids of their rows.
    pub agents: BTreeMap<String, Vec<Line>>,
}

/// Arranges the rows of a session. Of rows that came twice the newest counts.
pub fn arrange(entries: &[Entry]) -> Arranged {
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let known = known.entry((&entry.trace, &entry.id)).or_insert(at);
        if entry.version > entries[*known].version {
            *known = at;
        }
    }
    let mut rows: Vec<usize> = known.values().copied().collect();
    rows.sort_unstable_by_key(|&at| (entries[at].start, &entries[at].trace, &entries[at].id));
    let parent = |at: usize| known.get(&(entries[at].trace.as_str(), entries[at].parent.as_str())).copied();

    let mut roles: HashMap<usize, As> = rows.iter().map(|&at| (at, entries[at].role)).collect();
    for turn in turns(entries, &rows, &parent) {
        roles.insert(turn, As::Turn);
    }
    // Where each call is answered, and which generation asked for a tool, with the call's place among the others.
    let mut answers: HashMap<(&str, &str), usize> = HashMap::new();
    for &at in rows.iter().filter(|at| roles[at] == As::Tool) {
        answers.entry((&entries[at].trace, &entries[at].call)).or_insert(at);
    }
    let mut asked: HashMap<usize, usize> = HashMap::new();
    let mut said_at: HashMap<usize, i64> = HashMap::new();
    for &at in rows.iter().filter(|at| entries[**at].role == As::Generation) {
        let entry = &entries[at];
        let mut first = None::<i64>;
        for (place, call) in entry.calls.iter().enumerate() {
            if let Some(&tool) = answers.get(&(entry.trace.as_str(), call.as_str())) {
                asked.insert(tool, place);
                first = Some(first.map_or(entries[tool].start, |first| first.min(entries[tool].start)));
            }
        }
        let end = entry.end.unwrap_or(entry.start);
        said_at.insert(at, first.filter(|first| (entry.start..=end).contains(first)).unwrap_or(end));
    }

    let mut arranged = Arranged::default();
    for &at in &rows {
        let (entry, role) = (&entries[at], roles[&at]);
        let agent = agent_of(at, &roles, &parent).map(|agent| entries[agent].id.clone());
        let begins = if role == As::Generation { said_at[&at] } else { entry.start };
        let lines = match agent {
            Some(agent) => arranged.agents.entry(agent).or_default(),
            None => &mut arranged.main,
        };
        lines.push(Line { at: begins, row: at, what: What::Begins(role) });
        let ends = match role {
            As::Turn if entry.role == As::Generation => Some(said_at[&at]),
            As::Turn | As::Tool => entry.end,
            As::Generation | As::Agent | As::Aside => None,
        };
        if let Some(end) = ends {
            lines.push(Line { at: end.max(entry.start), row: at, what: What::Ends });
        }
    }
    // At one moment calls end, then people and models speak, then calls are made. What takes no time ends at once.
    let order = |line: &Line| {
        let entry = &entries[line.row];
        let at_once = entry.end == Some(entry.start);
        let rank = match (&line.what, roles[&line.row]) {
            (What::Ends, As::Tool) if !at_once => 0,
            (What::Begins(As::Agent), _) => 1,
            (What::Begins(As::Turn), _) => 2,
            (What::Begins(As::Generation | As::Aside), _) => 3,
            (_, As::Turn) => 5,
            _ => 4,
        };
        let place = asked.get(&line.row).copied().unwrap_or_default();
        (line.at, rank, entry.start, place, entry.trace.clone(), entry.id.clone(), line.what == What::Ends)
    };
    arranged.main.sort_by_cached_key(&order);
    arranged.agents.values_mut().for_each(|lines| lines.sort_by_cached_key(&order));
    arranged
}

/// The rows that are turns: those that are called so, else the first root of a trace, by preference one in which somebody
/// asks for something.
fn turns(entries: &[Entry], rows: &[usize], parent: &dyn Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut traces: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &at in rows {
        traces.entry(&entries[at].trace).or_default().push(at);
    }
    let mut turns = Vec::new();
    for rows in traces.values() {
        let named: Vec<usize> = rows.iter().copied().filter(|&at| entries[at].named_turn).collect();
        if !named.is_empty() {
            turns.extend(named);
            continue;
        }
        let is_root = |at: usize| entries[at].root || parent(at).is_none();
        let may = |at: &usize| is_root(*at) && entries[*at].role != As::Tool;
        // A server that has traces says in them what its roots may leave out.
        let best = |at: &usize| (Reverse(entries[*at].asks), entries[*at].is_trace, entries[*at].start);
        turns.extend(rows.iter().copied().filter(may).min_by_key(best));
    }
    turns
}

/// The subagent that a row belongs to, or that it begins.
fn agent_of(at: usize, roles: &HashMap<usize, As>, parent: &dyn Fn(usize) -> Option<usize>) -> Option<usize> {
    let mut next = Some(at);
    for _ in 0..DEEPEST {
        let at = next?;
        match roles.get(&at) {
            Some(As::Agent) => return Some(at),
            Some(As::Turn) => return None,
            _ => next = parent(at),
        }
    }
    None
}
