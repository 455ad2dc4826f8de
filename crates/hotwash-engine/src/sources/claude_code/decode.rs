//! From Claude Code's records to our events.
//!
//! The one place that knows how this client writes things down: which user records hold a person's words and which are
//! the client's, what a slash command looks like, how a tool is called. Versions 1.0.17 to 2.1.325.

use super::record::{self, Attachment, Blocks, Content, Memory, Notice, Place, Record, Texts};
use crate::sources::Decoder;
use crate::sources::json::{Cursor, Malformed};
use hotwash_core::facts::calls::KeySet;
use hotwash_core::ports::source;
use hotwash_core::records::Reading;
use hotwash_core::sessions::{
    ApiError, Call, Change, CommandVia, Compaction, Event, EventId, GoalCheck, Input, Key, Kind, Message, Origin,
    Outcome, Prompt, PromptVia, Timestamp, Tool, Usage,
};
use hotwash_core::text::{Body, Text};
use std::borrow::Cow;

/// Decodes the records of a transcript. What it remembers only saves work.
#[derive(Default)]
pub(super) struct Records {
    memory: Memory,
}

impl Decoder for Records {
    fn line(
        &mut self,
        line: &[u8],
        number: u32,
        reading: &mut Reading,
        seen: &mut KeySet<Key>,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        objects(line, reading, |cursor, reading| {
            let mut record = Record::default();
            record::read(cursor, &mut record, &mut self.memory)?;
            if record.key.is_none_or(|key| seen.insert(key)) {
                events(&record, number, tell);
            } else {
                reading.duplicate_lines += 1;
            }
            Ok(())
        });
    }

    fn records(&mut self, line: &[u8], show: &mut dyn FnMut(source::Record)) {
        objects(line, &mut Reading::default(), |cursor, _| {
            let mut record = Record::default();
            record::read(cursor, &mut record, &mut self.memory)?;
            let message = &record.message;
            let is_result = matches!(&message.content, Content::Blocks(blocks)
                if blocks.iter().any(|block| block.kind.is("tool_result")));
            show(source::Record {
                key: record.key,
                at: Timestamp::parse(record.timestamp.raw()),
                message: (!message.head.id.is_empty()).then(|| Key::of(message.head.id)),
                is_result,
            });
            Ok(())
        });
    }
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a line: a run of objects, as a rule one. Counts what is wrong with it.
fn objects<'b>(
    line: &'b [u8],
    reading: &mut Reading,
    mut read: impl FnMut(&mut Cursor<'b>, &mut Reading) -> Result<(), Malformed>,
) {
    // Editors put a byte order mark in front of a file.
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let (mut cursor, mut objects) = (Cursor::new(line), 0);
    while let Some(byte) = cursor.peek() {
        reading.lines += u64::from(objects == 0);
        if byte != b'{' || read(&mut cursor, reading).is_err() {
            reading.malformed_lines += 1;
            break;
        }
        objects += 1;
    }
    reading.glued_lines += u64::from(objects > 1);
}

/// Tells `tell` the events of a record, in order.
pub(crate) fn events(record: &Record<'_>, line: u32, tell: &mut dyn FnMut(&Event<'_>)) {
    let at = Timestamp::parse(&plain(record.timestamp));
    let origin = &Origin { id: EventId(line), key: record.key, at, ..made_in(&record.place) };
    let mut tell = |kind: &Kind<'_>| tell(&Event { origin, kind });
    match record.kind {
        kind if kind.is("assistant") => assistant(record, origin, &mut tell),
        kind if kind.is("progress") => progress(record, &mut tell),
        kind if kind.is("user") => user(record, &mut tell),
        kind => other(&plain(kind), record, &mut tell),
    }
}

/// Tells the events of a record that is of none of the usual kinds.
#[inline(never)]
fn other(kind: &[u8], record: &Record<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let notice = record.notice.unwrap_or_default();
    match kind {
        b"system" => system(&notice, tell),
        b"attachment" => attachment(record, tell),
        b"queue-operation" => queue(&notice, tell),
        b"ai-title" => tell(&Kind::Title { text: notice.ai_title, by_person: false }),
        b"custom-title" => tell(&Kind::Title { text: notice.custom_title, by_person: true }),
        known if BOOKKEEPING.contains(&known) => tell(&Kind::Activity),
        _ => tell(&Kind::Unknown),
    }
}

/// Where a record comes from, as far as its place says.
#[inline(never)]
fn made_in<'a>(place: &Place<'a>) -> Origin<'a> {
    Origin {
        cwd: place.cwd,
        version: place.version,
        session: place.session,
        branch: place.branch,
        agent: place.agent,
        sidechain: place.is_sidechain,
        headless: place.entrypoint.to_str().starts_with("sdk-"),
        ..Origin::default()
    }
}

/// The bytes of a text. Copies only where something is escaped, which a client may do with any character.
#[inline]
fn plain(text: Text<'_>) -> Cow<'_, [u8]> {
    match text.as_verbatim() {
        Some(bytes) => Cow::Borrowed(bytes),
        None => Cow::Owned(text.to_str().into_owned().into_bytes()),
    }
}

/// Record types that hold nothing to count.
pub(super) const BOOKKEEPING: &[&[u8]] = &[
    b"file-history-snapshot",
    b"file-history-delta",
    b"last-prompt",
    b"summary",
    b"pr-link",
    b"permission-mode",
    b"mode",
    b"worktree-state",
    b"bridge-session",
    b"tools-used",
    b"cost-state",
    b"agent-name",
    b"agent-color",
    b"agent-setting",
    b"atis-latch",
    b"api-request",
    b"api-request-shape",
    b"api-request-blob",
    b"continued-in",
    b"resume-head-vouch",
    b"content-replacement",
    b"data-flow-records",
    b"data-flow-incomplete",
    b"derived-from",
    b"fork-context-ref",
    b"frame-link",
    b"ended-by-model",
    b"tag",
    b"relocated",
    b"artifact-comment-monitor",
    b"artifact-autoreact-ledger",
    b"history-suppression",
    b"attribution-snapshot",
    b"isolation-latch",
    b"session-owner",
    b"dev-mods",
    b"memory-mode",
    b"observer-ref",
    b"result",
    b"rate_limit_event",
];

/// What a message is known by. Lines without its id belong together by their request; one without that is a message of its
/// own.
fn message_key(record: &Record<'_>, origin: &Origin<'_>) -> Key {
    match [record.message.head.id, record.request].into_iter().find(|id| !id.is_empty()) {
        Some(id) => Key::of(id),
        None => {
            record.key.unwrap_or_else(|| Key::of(Text::plain(&format!("{} {}", origin.session.to_str(), origin.id))))
        }
    }
}

fn assistant(record: &Record<'_>, origin: &Origin<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let message = &record.message;
    let key = message_key(record, origin);
    if record.is_api_error {
        let texts: Vec<Text<'_>> = text_blocks(&message.content);
        tell(&Kind::ApiError(ApiError::Final(Body::Many(&texts))));
    }
    let (model, usage) = (message.head.model, message.head.usage);
    // Without an id it is the model's where that or its tokens are named. What the client says of an error is its own.
    let named = !model.is_empty() || usage != Usage::default();
    if !message.head.id.is_empty() || named && !record.is_api_error {
        tell(&Kind::Message(Message { key, model, usage, agent: origin.agent }));
    }
    let blocks = match &message.content {
        Content::Blocks(blocks) => blocks,
        // An API error is already told; its text is not the agent's.
        Content::Text(text) if !record.is_api_error => return tell(&Kind::Says(*text)),
        Content::Text(_) | Content::None => return,
    };
    for block in blocks.iter() {
        match &*plain(block.kind) {
            b"text" if !record.is_api_error => tell(&Kind::Says(block.text)),
            b"thinking" | b"redacted_thinking" => tell(&Kind::Thinking),
            b"tool_use" | b"server_tool_use" if !block.id.is_empty() => {
                let tool = tool(block.name);
                let input = if tool == Tool::Skill && block.input.which.is_empty() {
                    Input { which: block.input.command, ..block.input }
                } else {
                    block.input
                };
                tell(&Kind::Call(Call { key: Key::of(block.id), message: key, name: block.name, tool, input }));
            }
            _ => {}
        }
    }
}

/// A tool by its name.
pub(crate) fn tool(name: Text<'_>) -> Tool {
    match &*plain(name) {
        b"Read" | b"NotebookRead" => Tool::Read,
        b"Edit" | b"MultiEdit" => Tool::Edit,
        b"Write" => Tool::Write,
        b"NotebookEdit" => Tool::NotebookEdit,
        b"Bash" => Tool::Shell,
        b"Grep" => Tool::Search,
        b"Glob" | b"LS" => Tool::ListFiles,
        b"WebFetch" => Tool::WebFetch,
        b"WebSearch" => Tool::WebSearch,
        b"Task" | b"Agent" => Tool::Subagent,
        b"TodoWrite" | b"TaskCreate" | b"TaskUpdate" => Tool::Todo,
        b"EnterPlanMode" | b"ExitPlanMode" | b"exit_plan_mode" => Tool::Plan,
        b"Skill" => Tool::Skill,
        b"AskUserQuestion" => Tool::AskPerson,
        _ => Tool::Other,
    }
}

fn text_blocks<'a>(content: &Content<'a>) -> Vec<Text<'a>> {
    match content {
        Content::None => Vec::new(),
        Content::Text(text) => vec![*text],
        Content::Blocks(blocks) => {
            blocks.iter().filter(|block| block.kind.is("text")).map(|block| block.text).collect()
        }
    }
}

fn user(record: &Record<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let texts;
    let (body, images, results) = match &record.message.content {
        Content::None => (Body::default(), 0, 0),
        Content::Text(text) => (Body::One(*text), 0, 0),
        Content::Blocks(blocks) => {
            let results = results(record, blocks, tell);
            if results > 0 && results == blocks.iter().count() {
                return;
            }
            let images = blocks.iter().filter(|block| block.kind.is("image")).count() as u32;
            texts = text_blocks(&record.message.content);
            if results > 0 && texts.is_empty() {
                return;
            }
            let body = match texts[..] {
                [text] => Body::One(text),
                _ => Body::Many(&texts),
            };
            (body, images, results)
        }
    };
    let foreign = record.origin.is_some_and(|kind| !kind.is("human"));
    let by_client = record.is_meta || record.is_compact_summary || record.place.is_sidechain || foreign;
    let via = if results > 0 { PromptVia::WithResult } else { PromptVia::Typed };
    said(&body, images, via, by_client, tell);
}

/// Tells the results among the blocks and how many there were. What the client noted beside them is the first one's.
fn results<'a>(record: &Record<'a>, blocks: &Blocks<'a>, tell: &mut dyn FnMut(&Kind<'_>)) -> usize {
    let mut told = 0;
    for block in blocks.iter().filter(|block| block.kind.is("tool_result")) {
        let body = match &block.result {
            Texts::None => Body::default(),
            Texts::One(text) => Body::One(*text),
            Texts::Many(texts) => Body::Many(texts),
        };
        let mut outcome = Outcome {
            call: (!block.tool_use_id.is_empty()).then(|| Key::of(block.tool_use_id)),
            error: block.is_error,
            asked: (!record.decided_by.is_empty()).then(|| record.decided_by.to_str().starts_with("user")),
            body,
            ..Outcome::default()
        };
        if told == 0
            && let Some(noted) = &record.result
        {
            let created = noted.content.filter(|_| noted.kind.is("create"));
            if created.is_some() || !noted.patch.is_empty() {
                outcome.change = Some(Change { path: noted.path, patch: &noted.patch, created });
            }
            outcome.lines_read = noted.lines_read;
            outcome.agent = noted.agent;
        }
        tell(&Kind::Outcome(outcome));
        told += 1;
    }
    told
}

/// Blocks that the client puts in front of a person's words.
const CLIENT_BLOCKS: &[&str] = &["<system-reminder>", "<system_instruction>", "<user-prompt-submit-hook>"];

/// What the client writes under the person's name.
const CLIENT_BEGINNINGS: &[&str] = &[
    "<task-notification",
    "<teammate-message",
    "<local-command",
    "<bash-stdout",
    "<bash-stderr",
    "Operation stopped by hook:",
    "Caveat: The messages below were generated by the user while running local commands",
];

const INTERRUPT: &str = "[Request interrupted by user";
const PLAN: &str = "Implement the following plan:";
/// How much of a long text is looked at to see what it is.
const LOOK: usize = 4096;
/// Longer than any mark that a text can begin with.
const MARK: usize = 128;

/// Words recorded as the person's: a prompt, a command, an interrupt, or the client's.
pub(crate) fn said(body: &Body<'_>, images: u32, via: PromptVia, by_client: bool, tell: &mut dyn FnMut(&Kind<'_>)) {
    let (start, all) = beginning(body);
    let skip = client_blocks(&start);
    let words = start.get(skip..).unwrap_or_default();

    if words.starts_with(INTERRUPT) {
        return tell(&Kind::Interrupt);
    }
    if by_client {
        return tell(&Kind::ClientText(*body));
    }
    if words.starts_with("<command-name>")
        || words.starts_with("<command-message>")
        || words.starts_with("<command-args>")
    {
        return match between(words, "<command-name>", "</command-name>") {
            Some(name) => command(name, words, CommandVia::User, tell),
            None => tell(&Kind::ClientText(*body)),
        };
    }
    if words.starts_with("<bash-input>") {
        return match between(words, "<bash-input>", "</bash-input>") {
            Some(command) => tell(&Kind::Bang(Text::plain(command))),
            None => tell(&Kind::ClientText(*body)),
        };
    }
    if CLIENT_BEGINNINGS.iter().any(|beginning| words.starts_with(beginning)) {
        return tell(&Kind::ClientText(*body));
    }
    if words.starts_with(PLAN) {
        return tell(&Kind::PlanApproval(*body));
    }
    if words.is_empty() && images == 0 {
        return tell(&Kind::ClientText(*body));
    }
    let whole = if all { start } else { body.to_str() };
    let words = whole.get(skip..).unwrap_or_default().trim();
    tell(&Kind::Prompt(Prompt { words, via, images }));
}

/// A slash command; the first versions of the client leave the slash out.
fn command(name: &str, words: &str, via: CommandVia, tell: &mut dyn FnMut(&Kind<'_>)) {
    let name = name.trim();
    let args = between(words, "<command-args>", "</command-args>").unwrap_or_default().trim();
    // The condition of a goal is what the person wants. It comes first: a session may begin with it.
    if name.trim_start_matches('/') == "goal" && !matches!(args, "" | "clear") {
        tell(&Kind::Prompt(Prompt { words: args, via: PromptVia::Goal, images: 0 }));
    }
    let args = Text::plain(args);
    if name.starts_with('/') {
        tell(&Kind::Command { name: Text::plain(name), args, via });
    } else {
        tell(&Kind::Command { name: Text::plain(&format!("/{name}")), args, via });
    }
}

/// As much of a text as decides what it is, and whether that is all of it: it is where it is short, or opens a tag,
/// which may close anywhere.
fn beginning<'a>(body: &Body<'a>) -> (Cow<'a, str>, bool) {
    if body.parts().len() == 1 && body.len() > LOOK {
        let head = body.head(LOOK);
        let words = head.trim_start();
        if words.len() >= MARK && !words.starts_with('<') {
            return (head, false);
        }
    }
    (body.to_str(), true)
}

/// How many bytes at the beginning are blocks that the client put there, and white space.
fn client_blocks(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let start = at + rest.len() - trimmed.len();
        let name_end = trimmed.find('>').unwrap_or(0);
        let opening = trimmed.get(..=name_end).unwrap_or_default();
        if !CLIENT_BLOCKS.contains(&opening) && !opening.starts_with("<ide_") {
            return if trimmed.is_empty() { text.len() } else { start };
        }
        let name = opening.trim_start_matches('<').trim_end_matches('>');
        let close = format!("</{}>", name.split_whitespace().next().unwrap_or(name));
        match trimmed.find(&close) {
            Some(end) => at = start + end + close.len(),
            None => return text.len(),
        }
    }
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let from = text.find(open)? + open.len();
    let rest = text.get(from..)?;
    rest.get(..rest.find(close)?)
}

fn system(notice: &Notice<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    match &*plain(notice.subtype) {
        b"compact_boundary" => {
            let manual = notice.compact_trigger.is("manual");
            tell(&Kind::Compaction(if manual { Compaction::Manual } else { Compaction::Auto }));
        }
        b"api_error" => tell(&Kind::ApiError(ApiError::Retry)),
        b"local_command" => {
            let content = notice.content.to_str();
            match between(&content, "<command-name>", "</command-name>") {
                Some(name) => command(name, &content, CommandVia::System, tell),
                None => tell(&Kind::ClientText(Body::One(notice.content))),
            }
        }
        _ => tell(&Kind::Activity),
    }
}

fn attachment(record: &Record<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let Some(attachment) = &record.attachment else { return tell(&Kind::Activity) };
    if attachment.kind.is("goal_status") {
        let &Attachment { condition, reason, met, failed, sentinel, .. } = attachment;
        return tell(&Kind::GoalCheck(GoalCheck { set: sentinel, met, given_up: failed, condition, reason }));
    }
    if attachment.kind.is("max_turns_reached") {
        return tell(&Kind::TurnLimit);
    }
    if !attachment.kind.is("queued_command") || !attachment.mode.is("prompt") {
        return tell(&Kind::Activity);
    }
    let body = match &attachment.prompt {
        Texts::None => return tell(&Kind::Activity),
        Texts::One(text) => Body::One(*text),
        Texts::Many(texts) => Body::Many(texts),
    };
    let foreign = record.origin.is_some_and(|kind| !kind.is("human"));
    said(&body, attachment.images, PromptVia::Queued, foreign || record.place.is_sidechain, tell);
}

fn queue(notice: &Notice<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let content = notice.content;
    let (words, _) = beginning(&Body::One(content));
    let words = words.trim_start();
    // Notices of background tasks are queued too, as JSON or as a tag; so are slash commands.
    let by_person = notice.operation.is("enqueue") && !words.is_empty() && !words.starts_with(['{', '<', '/', '[']);
    tell(&if by_person { Kind::Queued(content) } else { Kind::Activity });
}

fn progress(record: &Record<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    tell(&Kind::Activity);
    let Some(progress) = &record.progress else { return };
    if progress.kind.is("agent_progress") && progress.message_kind.is("assistant") && !progress.message.id.is_empty() {
        tell(&Kind::SubagentMessage(Message {
            key: Key::of(progress.message.id),
            model: progress.message.model,
            usage: progress.message.usage,
            agent: progress.agent,
        }));
    }
}
