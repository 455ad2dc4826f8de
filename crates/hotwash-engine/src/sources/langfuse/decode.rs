//! From rows of Langfuse to our events.
//!
//! The one place that knows what agents write there: Langfuse's plugin for Claude Code in both generations, Claude Code's
//! own OpenTelemetry spans, the plugins for Codex and `OpenCode`, and applications that record generations and tools.

use super::recorder::Recorder;
use super::row::Row;
use super::{As, lost, said, tools};
use crate::sources::Decoder;
use crate::sources::claude_code::{decode as claude_code, record};
use crate::sources::json::Cursor;
use hotwash_core::facts::calls::KeySet;
use hotwash_core::records::Reading;
use hotwash_core::sessions::{
    ApiError, Call, Change, Event, EventId, Input, Key, Kind, Message, Origin, Outcome, Prompt, PromptVia, Timestamp,
    Tool,
};
use hotwash_core::text::{Body, Text};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Stands for a model that nobody named, so that its cost is unknown.
const NO_MODEL: &str = "unknown";

/// What has to be known of the lines before.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    session: String,
    agent: String,
    place: Place,
    recorder: Recorder,
    /// The message that asked for each call of the turn, by the call's id.
    asked_by: HashMap<String, Key>,
    /// The last message of each trace that is under way.
    last_message: HashMap<String, Key>,
    /// Calls that were told, and those whose result was.
    called: KeySet<Key>,
    ended: KeySet<Key>,
    /// Rows that have begun, by their keys, and as what.
    open: HashMap<String, (As, Row)>,
    /// The person's words of this turn were told.
    prompted: bool,
    /// The agent's words of this turn were told.
    answered: bool,
}

/// Where the agent works.
#[derive(Clone, Debug, Default)]
struct Place {
    cwd: String,
    branch: String,
}

/// A line of the file.
#[derive(Deserialize)]
struct Envelope<'l> {
    #[serde(default)]
    at: String,
    #[serde(rename = "as")]
    role: Option<As>,
    #[serde(borrow)]
    row: Option<&'l RawValue>,
    end: Option<String>,
    langfuse: Option<Head>,
}

/// What was asked.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    session: String,
    agent: Option<String>,
}

/// By which one line refers to the row of another.
pub(super) fn row_key(trace: &str, id: &str) -> String {
    format!("{trace}/{id}")
}

/// The id of the call that a tool's row is about: the agent's, else the row's own.
pub(super) fn call_id(row: &Row) -> &str {
    const NAMES: &[&str] = &[
        "tool_id",
        "tool_use_id",
        "tool_call_id",
        "claude.tool_use_id",
        "claude.tool_id",
        "codex.call_id",
        "opencode.call_id",
        "call_id",
        "callID",
        "gen_ai.tool.call.id",
    ];
    let id = row.noted_text(NAMES);
    if id.is_empty() { row.id() } else { id }
}

impl Decoder for Memory {
    fn line(
        &mut self,
        line: &[u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        read_line(line, number, reading, self, &mut |event| {
            // What another transcript owns was put there before.
            if event.origin.key.is_none_or(|key| !seen.contains(&key)) {
                tell(event);
            }
        });
    }
}

/// Decodes a line.
fn read_line(line: &[u8], number: u32, reading: &mut Reading, memory: &mut Memory, tell: &mut dyn FnMut(&Event<'_>)) {
    if line.trim_ascii().is_empty() {
        return;
    }
    reading.lines += 1;
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else {
        reading.malformed_lines += 1;
        return;
    };
    if let Some(head) = envelope.langfuse {
        memory.session = head.session;
        memory.agent = head.agent.unwrap_or_default();
        return;
    }
    let at = Timestamp::parse(envelope.at.as_bytes());
    let row = match (&envelope.end, envelope.row) {
        (Some(end), _) => memory.open.remove(end),
        (None, Some(row)) => Row::read(row.get().as_bytes()).map(|row| (envelope.role.unwrap_or(As::Aside), row)),
        (None, None) => None,
    };
    let Some((role, row)) = row else {
        // The end of a row that another line lost is no news; anything else is broken.
        reading.malformed_lines += u64::from(envelope.end.is_none());
        return;
    };
    if envelope.end.is_none() && role == As::Turn {
        memory.begin_turn(&row);
    }
    let Place { cwd, branch } = memory.place.clone();
    let (session, agent) = (memory.session.clone(), memory.agent.clone());
    let key = match (&envelope.end, role) {
        // What names a session is the trace: the plugin makes its id of the prompt's.
        (None, As::Turn) => Key::of(Text::plain(row.trace())),
        (None, _) => Key::of(Text::plain(&row_key(row.trace(), row.id()))),
        (Some(end), _) => Key::of(Text::plain(&format!("{end}/end"))),
    };
    let origin = Origin {
        id: EventId(number),
        key: Some(key),
        at,
        cwd: Text::plain(&cwd),
        session: Text::plain(&session),
        branch: Text::plain(&branch),
        agent: Text::plain(&agent),
        sidechain: !agent.is_empty(),
        ..Origin::default()
    };
    let mut tell = |kind: &Kind<'_>| tell(&Event { origin: &origin, kind });
    if envelope.end.is_some() {
        return match role {
            As::Tool => memory.outcome(&row, &mut tell),
            _ => memory.turn_ended(&row, &mut tell),
        };
    }
    match role {
        As::Turn => memory.turn(row, &mut tell),
        As::Generation => memory.generation(&row, &mut tell),
        As::Tool => memory.tool(row, &mut tell),
        As::Agent => {
            let input = row.io("input");
            let task = said::asked(&input).unwrap_or_else(|| row.text("name").to_owned());
            tell(&Kind::ClientText(Body::One(Text::plain(&task))));
            tell(&Kind::NotRecorded(lost::ALWAYS));
            tell(&Kind::NotRecorded(lost::STOPPED));
        }
        As::Aside => tell(&Kind::Activity),
    }
}

type Tell<'t> = &'t mut dyn FnMut(&Kind<'_>);

impl Memory {
    fn begin_turn(&mut self, row: &Row) {
        self.recorder = Recorder::of(row);
        let place = |names: &[&str]| Some(row.noted_text(names)).filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(cwd) = place(&["cwd", "claude.cwd", "codex.cwd", "opencode.cwd", "directory"]) {
            self.place.cwd = cwd;
        }
        if let Some(branch) = place(&["git_branch", "claude.git_branch", "codex.git_branch", "branch"]) {
            self.place.branch = branch;
        }
        self.asked_by.clear();
        (self.prompted, self.answered) = (false, false);
    }

    fn turn(&mut self, row: Row, tell: Tell<'_>) {
        let mut words = said::asked(&row.io("input"));
        if self.recorder == Recorder::Telemetry {
            let prompt = row.noted_text(&["user_prompt", "prompt"]);
            words =
                words.or_else(|| Some(prompt.to_owned())).filter(|words| !words.is_empty() && words != "<REDACTED>");
            if words.is_none() {
                // That somebody asked is sure, what they asked is not.
                self.prompt("", tell);
                tell(&Kind::NotRecorded(&lost::content()));
            }
        }
        match words {
            Some(words) => self.prompt(&words, tell),
            None => tell(&Kind::Activity),
        }
        tell(&Kind::NotRecorded(lost::ALWAYS));
        if self.recorder != Recorder::Codex {
            tell(&Kind::NotRecorded(lost::STOPPED));
        }
        self.open.insert(row_key(row.trace(), row.id()), (As::Turn, row));
    }

    /// Words of a person; once a turn.
    fn prompt(&mut self, words: &str, tell: Tell<'_>) {
        if std::mem::replace(&mut self.prompted, true) {
            return;
        }
        if !words.is_empty() && matches!(self.recorder, Recorder::ClaudeCode | Recorder::Telemetry) {
            return claude_code::said(&Body::One(Text::plain(words)), 0, PromptVia::Typed, false, tell);
        }
        tell(&Kind::Prompt(Prompt { words: words.trim(), via: PromptVia::Typed, images: 0 }));
    }

    fn generation(&mut self, row: &Row, tell: Tell<'_>) {
        let (input, output) = (row.io("input"), row.io("output"));
        for shown in said::results(&input) {
            let call = Key::of(Text::plain(&shown.id));
            if self.called.contains(&call) && self.ended.insert(call) {
                let body = Body::One(Text::plain(&shown.text));
                tell(&Kind::Outcome(Outcome { call: Some(call), error: shown.error, body, ..Outcome::default() }));
            }
        }
        if !self.prompted
            && self.agent.is_empty()
            && let Some(words) = said::asked(&input)
        {
            self.prompt(&words, tell);
        }
        let message = self.message(row, tell);
        let failed = row.text("level") == "ERROR";
        if let Some(words) = said::answered(&output) {
            self.answered = true;
            tell(&Kind::Says(Text::plain(&words)));
        } else if failed {
            let body = Body::One(Text::plain(row.text("statusMessage")));
            tell(&Kind::ApiError(ApiError::Final(body)));
        }
        for call in said::calls(&output) {
            self.asked_by.insert(call.id.clone(), message);
            // Without arguments the tool's own row tells it.
            if let Some(input) = call.input {
                self.call(&call.id, message, &call.name, &input, tell);
            }
        }
    }

    /// Tells the message that a generation is, and what is not known of it.
    fn message(&mut self, row: &Row, tell: Tell<'_>) -> Key {
        let id = row.noted_text(&["message_id", "claude.message_id", "gen_ai.response.id", "opencode.message_id"]);
        let own = row_key(row.trace(), row.id());
        let key = Key::of(Text::plain(if id.is_empty() { &own } else { id }));
        self.last_message.insert(row.trace().to_owned(), key);
        let (model, usage) = (row.model(), row.usage());
        tell(&Kind::Message(Message {
            key,
            model: Text::plain(if model.is_empty() { NO_MODEL } else { model }),
            usage: usage.unwrap_or_default(),
            agent: Text::plain(&self.agent),
        }));
        if model.is_empty() {
            tell(&Kind::NotRecorded(lost::MODEL));
        }
        if usage.is_none() {
            tell(&Kind::NotRecorded(lost::USAGE));
        }
        key
    }

    fn tool(&mut self, row: Row, tell: Tell<'_>) {
        let id = call_id(&row).to_owned();
        let asked = self.asked_by.get(&id).or_else(|| self.last_message.get(row.trace()));
        let message = asked.copied().unwrap_or_else(|| Key::of(Text::plain(&row_key(row.trace(), row.id()))));
        let input = row.io("input");
        let name = tool_name(&row).to_owned();
        if self.recorder == Recorder::Telemetry && input.is_null() {
            tell(&Kind::NotRecorded(&lost::content()));
        }
        self.call(&id, message, &name, &input, tell);
        self.open.insert(row_key(row.trace(), row.id()), (As::Tool, row));
    }

    fn call(&mut self, id: &str, message: Key, name: &str, value: &Value, tell: Tell<'_>) {
        let key = Key::of(Text::plain(id));
        self.called.insert(key);
        let whole = match value {
            Value::Null => "{}".to_owned(),
            value => value.to_string(),
        };
        let mut input = Input::default();
        if record::input(&mut Cursor::new(whole.as_bytes()), &mut input).is_err() {
            input = Input::default();
        }
        let tool = tools::tool(name);
        // What other agents call things.
        let path = first_text(value, &["filePath", "file", "target_file", "filename", "relative_path"]);
        let path = path.or_else(|| tools::changed(tool, value, "").map(|changed| changed.path)).unwrap_or_default();
        let command = first_text(value, &["cmd", "script", "command"]).unwrap_or_default();
        if input.path.is_empty() && (tool.edits() || tool == Tool::Read) {
            input.path = Text::plain(&path);
        }
        if input.command.is_empty() && tool == Tool::Shell {
            input.command = Text::plain(&command);
        }
        if tool == Tool::Skill && input.which.is_empty() {
            input.which = input.command;
        }
        input.whole = whole.as_bytes();
        tell(&Kind::Call(Call { key, message, name: Text::plain(name), tool, input }));
    }

    fn turn_ended(&mut self, row: &Row, tell: Tell<'_>) {
        // A turn that is nothing but one answer.
        if row.kind() == "GENERATION" {
            return self.generation(row, tell);
        }
        let stopped = self.recorder == Recorder::Codex && row.text("level") == "WARNING";
        let words = said::answered(&row.io("output")).filter(|_| !self.answered);
        match words {
            Some(words) => tell(&Kind::Says(Text::plain(&words))),
            None if stopped => tell(&Kind::Interrupt),
            None => tell(&Kind::Activity),
        }
    }

    fn outcome(&mut self, row: &Row, tell: Tell<'_>) {
        let call = Key::of(Text::plain(call_id(row)));
        let output = row.io("output");
        let unanswered = matches!(&output, Value::Null) || output == "";
        if unanswered && self.recorder == Recorder::ClaudeCode && row.noted(&["output_meta"]).is_none() {
            return tell(&Kind::Activity); // the call was never answered
        }
        self.ended.insert(call);
        let tool = tools::tool(tool_name(row));
        let mut text = said::plain(&output);
        let by_level = row.text("level") == "ERROR";
        if text.is_empty() && by_level {
            row.text("statusMessage").clone_into(&mut text);
        }
        let flag = |names: &[&str]| row.noted(names).and_then(Value::as_bool);
        let noted = flag(&["is_error", "claude.is_error"]).or_else(|| flag(&["success"]).map(|worked| !worked));
        let error = by_level || noted.unwrap_or_else(|| tools::failed(tool, &text));
        let changed = if error { None } else { tools::changed(tool, &row.io("input"), &text) };
        let patch: Vec<Text<'_>> =
            changed.iter().flat_map(|changed| &changed.patch).map(|line| Text::plain(line)).collect();
        let input = row.io("input");
        let path = first_text(&input, &["file_path", "filePath", "path", "notebook_path"]);
        let path = path.or_else(|| changed.as_ref().map(|changed| changed.path.clone())).unwrap_or_default();
        let created = changed.as_ref().and_then(|changed| changed.created.as_deref()).map(Text::plain);
        let change = (created.is_some() || !patch.is_empty()).then_some(Change {
            path: Text::plain(&path),
            patch: &patch,
            created,
        });
        let cut = row.noted(&["output_meta"]).is_some_and(|meta| meta.get("truncated").is_some_and(|cut| cut == true));
        let read = tool == Tool::Read && !error;
        tell(&Kind::Outcome(Outcome {
            asked: None,
            call: Some(call),
            error,
            body: Body::One(Text::plain(&text)),
            change,
            lines_read: (read && !cut).then(|| text.lines().count() as u64),
            agent: Text::default(),
        }));
        if read && cut {
            tell(&Kind::NotRecorded(lost::LENGTH));
        }
        if let Some(changed) = changed.filter(|changed| !changed.lost.is_empty()) {
            tell(&Kind::NotRecorded(changed.lost));
        }
    }
}

/// The tool that a row is about, as the agent names it.
fn tool_name(row: &Row) -> &str {
    let noted = row.noted_text(&[
        "tool_name",
        "claude.tool_name",
        "codex.tool_name",
        "opencode.tool",
        "tool.name",
        "gen_ai.tool.name",
    ]);
    let name = row.text("name");
    let bare = name.strip_prefix("Tool: ").or_else(|| name.strip_prefix("execute_tool ")).unwrap_or(name);
    if noted.is_empty() { bare } else { noted }
}

fn first_text(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match value.get(*name)? {
        Value::String(text) => Some(text.clone()),
        // A command given as words, of which the last is all where a shell is given one.
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words[..] {
                [_, "-c" | "-lc", script] => Some(script.to_owned()),
                [] => None,
                _ => Some(words.join(" ")),
            }
        }
        _ => None,
    })
}
