//! What a record means, looked up in its tree.

use super::tree::{Node, Value};
use crate::sources::claude_code::decode::BOOKKEEPING;
use hotwash_core::sessions::{
    ApiError, Call, Change, CommandVia, Compaction, Event, EventId, GoalCheck, Input, Key, Kind, Message, Origin,
    Outcome, Prompt, PromptVia, Timestamp, Tool, Usage,
};
use hotwash_core::text::{Body, Text};

/// More than any message has: a larger number is taken for this.
const LARGEST_COUNT: i64 = 1 << 40;

/// A value that may not be there.
#[derive(Clone, Copy)]
pub(super) struct At<'t>(pub(super) Option<&'t Node>);

impl<'t> At<'t> {
    /// The value of a key, where this is an object that has it.
    fn get(self, key: &str) -> At<'t> {
        At(match self.0.map(|node| &node.value) {
            Some(Value::Object(entries)) => entries.iter().rev().find(|entry| entry.0 == key).map(|entry| &entry.1),
            _ => None,
        })
    }

    fn items(self) -> impl Iterator<Item = At<'t>> {
        let items = match self.0.map(|node| &node.value) {
            Some(Value::Array(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().map(|node| At(Some(node)))
    }

    fn is_object(self) -> bool {
        matches!(self.0, Some(Node { value: Value::Object(_), .. }))
    }

    fn string(self) -> Option<&'t str> {
        match self.0.map(|node| &node.value) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The string, empty where there is none.
    pub(super) fn str(self) -> &'t str {
        self.string().unwrap_or_default()
    }

    fn text(self) -> Text<'t> {
        Text::plain(self.str())
    }

    fn is_true(self) -> bool {
        matches!(self.0, Some(Node { value: Value::Bool(true), .. }))
    }

    /// A number without its fraction.
    fn integer(self) -> Option<i64> {
        match self.0.map(|node| &node.value) {
            Some(Value::Number(number)) => {
                number.parse().ok().or_else(|| number.parse().ok().map(|number: f64| number.trunc() as i64))
            }
            _ => None,
        }
    }

    fn count(self) -> Option<u64> {
        self.integer().map(|number| number.clamp(0, LARGEST_COUNT) as u64)
    }

    fn bytes(self, line: &'t [u8]) -> &'t [u8] {
        self.0.and_then(|node| line.get(node.span.clone())).unwrap_or_default()
    }

    /// A string, or the text blocks of an array; none where this is neither.
    fn texts(self) -> Option<Vec<Text<'t>>> {
        match self.0.map(|node| &node.value) {
            Some(Value::Text(text)) => Some(vec![Text::plain(text)]),
            Some(Value::Array(_)) => Some(self.blocks("text").map(|block| block.get("text").text()).collect()),
            _ => None,
        }
    }

    /// The blocks of a type.
    fn blocks(self, kind: &str) -> impl Iterator<Item = At<'t>> {
        self.items().filter(move |block| block.get("type").str() == kind)
    }
}

/// The record's own id.
pub(super) fn uuid(record: At<'_>) -> &str {
    record.get("uuid").str()
}

/// Tells the events of a record, in order. `line` is the text that the record's spans are of.
pub(super) fn events(record: At<'_>, line: &[u8], number: u32, tell: &mut dyn FnMut(&Event<'_>)) {
    let origin = Origin {
        id: EventId(number),
        key: key(uuid(record)),
        at: Timestamp::parse(record.get("timestamp").str().as_bytes()),
        cwd: record.get("cwd").text(),
        version: record.get("version").text(),
        session: record.get("sessionId").text(),
        branch: record.get("gitBranch").text(),
        agent: record.get("agentId").text(),
        sidechain: record.get("isSidechain").is_true(),
        headless: record.get("entrypoint").str().starts_with("sdk-"),
    };
    let tell = &mut |kind: &Kind<'_>| tell(&Event { origin: &origin, kind });
    match record.get("type").str() {
        "assistant" => assistant(record, line, &origin, tell),
        "user" => user(record, tell),
        "system" => system(record, tell),
        "attachment" => attachment(record, tell),
        "progress" => progress(record, tell),
        "queue-operation" => queue_operation(record, tell),
        "ai-title" => tell(&Kind::Title { text: record.get("aiTitle").text(), by_person: false }),
        "custom-title" => tell(&Kind::Title { text: record.get("customTitle").text(), by_person: true }),
        kind if BOOKKEEPING.contains(&kind.as_bytes()) => tell(&Kind::Activity),
        _ => tell(&Kind::Unknown),
    }
}

/// The key of an id that is not empty.
fn key(id: &str) -> Option<Key> {
    if id.is_empty() { None } else { Some(Key::of(Text::plain(id))) }
}

fn usage(usage: At<'_>) -> Usage {
    let count = |name| usage.get(name).count().unwrap_or(0);
    Usage {
        input: count("input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cache_write_1h: usage.get("cache_creation").get("ephemeral_1h_input_tokens").count().unwrap_or(0),
        cache_read: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        fast: usage.get("speed").str() == "fast",
    }
}

fn assistant(record: At<'_>, line: &[u8], origin: &Origin<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let message = record.get("message");
    let content = message.get("content");
    let failed = record.get("isApiErrorMessage").is_true();
    if failed {
        let texts = content.texts().unwrap_or_default();
        tell(&Kind::ApiError(ApiError::Final(Body::Many(&texts))));
    }
    let id = message.get("id").str();
    let known = key(id).or_else(|| key(record.get("requestId").str())).or(origin.key);
    let message_key = known.unwrap_or_else(|| {
        let place = format!("{} {}", record.get("sessionId").str(), origin.id);
        Key::of(Text::plain(&place))
    });
    let (model, usage) = (message.get("model").text(), usage(message.get("usage")));
    let named = !model.is_empty() || usage != Usage::default();
    if !id.is_empty() || named && !failed {
        tell(&Kind::Message(Message { key: message_key, model, usage, agent: record.get("agentId").text() }));
    }
    if let Some(text) = content.string()
        && !failed
    {
        tell(&Kind::Says(Text::plain(text)));
    }
    for block in content.items() {
        match (block.get("type").str(), key(block.get("id").str())) {
            ("text", _) if !failed => tell(&Kind::Says(block.get("text").text())),
            ("thinking" | "redacted_thinking", _) => tell(&Kind::Thinking),
            ("tool_use" | "server_tool_use", Some(key)) => {
                let tool = tool(block.get("name").str());
                tell(&Kind::Call(Call {
                    key,
                    message: message_key,
                    name: block.get("name").text(),
                    tool,
                    input: input(block.get("input"), tool, line),
                }));
            }
            _ => {}
        }
    }
}

fn tool(name: &str) -> Tool {
    const TOOLS: &[(Tool, &[&str])] = &[
        (Tool::Read, &["Read", "NotebookRead"]),
        (Tool::Edit, &["Edit", "MultiEdit"]),
        (Tool::Write, &["Write"]),
        (Tool::NotebookEdit, &["NotebookEdit"]),
        (Tool::Shell, &["Bash"]),
        (Tool::Search, &["Grep"]),
        (Tool::ListFiles, &["Glob", "LS"]),
        (Tool::WebFetch, &["WebFetch"]),
        (Tool::WebSearch, &["WebSearch"]),
        (Tool::Subagent, &["Task", "Agent"]),
        (Tool::Todo, &["TodoWrite", "TaskCreate", "TaskUpdate"]),
        (Tool::Plan, &["EnterPlanMode", "ExitPlanMode", "exit_plan_mode"]),
        (Tool::Skill, &["Skill"]),
        (Tool::AskPerson, &["AskUserQuestion"]),
    ];
    TOOLS.iter().find(|(_, names)| names.contains(&name)).map_or(Tool::Other, |(tool, _)| *tool)
}

fn input<'t>(input: At<'t>, tool: Tool, line: &'t [u8]) -> Input<'t> {
    let first = |names: &[&str]| {
        let found = names.iter().map(|name| input.get(name).str()).find(|text| !text.is_empty());
        Text::plain(found.unwrap_or_default())
    };
    Input {
        path: first(&["file_path", "notebook_path", "path"]),
        command: first(&["command"]),
        pattern: first(&["pattern", "query", "url"]),
        which: first(if tool == Tool::Skill {
            &["skill", "subagent_type", "command"]
        } else {
            &["skill", "subagent_type"]
        }),
        offset: input.get("offset").integer(),
        limit: input.get("limit").integer(),
        whole: input.bytes(line),
    }
}

fn user(record: At<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let content = record.get("message").get("content");
    let noted = record.get("toolUseResult");
    let results: Vec<At<'_>> = content.blocks("tool_result").collect();
    let patch = patch(noted);
    let decided_by = record.get("permissionDecision").get("source").string();
    for (nth, block) in results.iter().enumerate() {
        let texts = block.get("content").texts().unwrap_or_default();
        let mut outcome = Outcome {
            call: key(block.get("tool_use_id").str()),
            error: block.get("is_error").is_true(),
            asked: decided_by.filter(|who| !who.is_empty()).map(|who| who.starts_with("user")),
            body: Body::Many(&texts),
            ..Outcome::default()
        };
        if nth == 0 {
            outcome.change = change(noted, &patch);
            outcome.lines_read = noted.get("file").get("numLines").count();
            outcome.agent = noted.get("agentId").text();
        }
        tell(&Kind::Outcome(outcome));
    }
    let texts = content.texts().unwrap_or_default();
    if !results.is_empty() && texts.is_empty() {
        return;
    }
    let by_client =
        ["isMeta", "isCompactSummary", "isSidechain"].iter().any(|flag| record.get(flag).is_true()) || foreign(record);
    let via = if results.is_empty() { PromptVia::Typed } else { PromptVia::WithResult };
    said(&texts, content.blocks("image").count(), via, by_client, tell);
}

/// Whether somebody else than the person is named as the origin.
fn foreign(record: At<'_>) -> bool {
    record.get("origin").get("kind").string().is_some_and(|kind| kind != "human")
}

fn patch(noted: At<'_>) -> Vec<Text<'_>> {
    let lines = noted.get("structuredPatch").items().flat_map(|hunk| hunk.get("lines").items());
    lines.filter_map(At::string).map(Text::plain).collect()
}

fn change<'t>(noted: At<'t>, patch: &'t [Text<'t>]) -> Option<Change<'t>> {
    let content = noted.get("content").string();
    let created = if noted.get("type").str() == "create" { content.map(Text::plain) } else { None };
    if created.is_none() && patch.is_empty() {
        return None;
    }
    Some(Change { path: noted.get("filePath").text(), patch, created })
}

/// What words recorded as a person's are, by how they begin behind the blocks that the client put in front.
fn said(texts: &[Text<'_>], images: usize, via: PromptVia, by_client: bool, tell: &mut dyn FnMut(&Kind<'_>)) {
    let joined = texts.iter().map(|text| text.to_str().into_owned()).collect::<Vec<_>>().join("\n");
    let words = behind_client_blocks(&joined);
    let begins = |marks: &[&str]| marks.iter().any(|mark| words.starts_with(mark));

    let client = Kind::ClientText(Body::Many(texts));
    let kind = if begins(&["[Request interrupted by user"]) {
        Kind::Interrupt
    } else if by_client {
        client
    } else if begins(&["<command-name>", "<command-message>", "<command-args>"]) {
        return command(words, CommandVia::User, client, tell);
    } else if begins(&["<bash-input>"]) {
        inside(words, "bash-input").map_or(client, |command| Kind::Bang(Text::plain(command)))
    } else if begins(&[
        "<task-notification",
        "<teammate-message",
        "<local-command",
        "<bash-stdout",
        "<bash-stderr",
        "Operation stopped by hook:",
        "Caveat: The messages below were generated by the user while running local commands",
    ]) {
        client
    } else if begins(&["Implement the following plan:"]) {
        Kind::PlanApproval(Body::Many(texts))
    } else if words.is_empty() && images == 0 {
        client
    } else {
        Kind::Prompt(Prompt { words: words.trim(), via, images: images as u32 })
    };
    tell(&kind);
}

/// A slash command by its name, to which a slash is added where the client left it out.
fn command(words: &str, via: CommandVia, otherwise: Kind<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    match inside(words, "command-name") {
        Some(name) => {
            let name = format!("/{}", name.trim().strip_prefix('/').unwrap_or(name.trim()));
            let args = inside(words, "command-args").map_or("", str::trim);
            if name == "/goal" && !args.is_empty() && args != "clear" {
                tell(&Kind::Prompt(Prompt { words: args, via: PromptVia::Goal, images: 0 }));
            }
            let args = Text::plain(args);
            tell(&Kind::Command { name: Text::plain(&name), args, via });
        }
        None => tell(&otherwise),
    }
}

/// Cuts leading client blocks and white space. A block that is not closed goes to the end.
fn behind_client_blocks(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(name) = client_block(text) {
        let behind = text.split_once(&format!("</{name}>"));
        text = behind.map_or("", |(_, rest)| rest.trim_start());
    }
    text
}

/// The name of the client block that opens here.
fn client_block(text: &str) -> Option<&str> {
    match text.strip_prefix('<')?.split_once('>')?.0 {
        name @ ("system-reminder" | "system_instruction" | "user-prompt-submit-hook") => Some(name),
        tag if tag.starts_with("ide_") => tag.split_whitespace().next(),
        _ => None,
    }
}

/// What stands between the first `<tag>` and the `</tag>` behind it.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

fn system(record: At<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    if record.get("subtype").str() == "local_command" {
        let content = record.get("content");
        return command(content.str(), CommandVia::System, Kind::ClientText(Body::One(content.text())), tell);
    }
    tell(&match record.get("subtype").str() {
        "compact_boundary" if record.get("compactMetadata").get("trigger").str() == "manual" => {
            Kind::Compaction(Compaction::Manual)
        }
        "compact_boundary" => Kind::Compaction(Compaction::Auto),
        "api_error" => Kind::ApiError(ApiError::Retry),
        _ => Kind::Activity,
    });
}

fn attachment(record: At<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let attachment = record.get("attachment");
    match attachment.get("type").str() {
        "goal_status" => {
            return tell(&Kind::GoalCheck(GoalCheck {
                set: attachment.get("sentinel").is_true(),
                met: attachment.get("met").is_true(),
                given_up: attachment.get("failed").is_true(),
                condition: attachment.get("condition").text(),
                reason: attachment.get("reason").text(),
            }));
        }
        "max_turns_reached" => return tell(&Kind::TurnLimit),
        _ => {}
    }
    let prompt = attachment.get("prompt");
    let queued = attachment.get("type").str() == "queued_command" && attachment.get("commandMode").str() == "prompt";
    match prompt.texts() {
        Some(texts) if queued => {
            let by_client = foreign(record) || record.get("isSidechain").is_true();
            said(&texts, prompt.blocks("image").count(), PromptVia::Queued, by_client, tell);
        }
        _ => tell(&Kind::Activity),
    }
}

fn progress(record: At<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    tell(&Kind::Activity);
    let data = record.get("data");
    let message = data.get("message").get("message");
    if data.get("type").str() == "agent_progress"
        && data.get("message").get("type").str() == "assistant"
        && let Some(key) = key(message.get("id").str())
    {
        tell(&Kind::SubagentMessage(Message {
            key,
            model: message.get("model").text(),
            usage: usage(message.get("usage")),
            agent: data.get("agentId").text(),
        }));
    }
}

fn queue_operation(record: At<'_>, tell: &mut dyn FnMut(&Kind<'_>)) {
    let content = record.get("content");
    // Notices of background tasks are queued too, as JSON or as a tag; so are slash commands.
    let by_person = content.str().trim_start().chars().next().is_some_and(|first| !"{</[".contains(first));
    tell(&if by_person && record.get("operation").str() == "enqueue" {
        Kind::Queued(content.text())
    } else {
        Kind::Activity
    });
}

/// Whether a value is a record.
pub(super) fn is_record(node: &Node) -> bool {
    At(Some(node)).is_object()
}
