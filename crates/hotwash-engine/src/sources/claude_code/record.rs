//! One record of a transcript: what the fast path takes from it in a single pass, whatever the order of its keys.
//!
//! Which parts matter depends on the record's type, and the type may come last, so every part that any type needs is
//! noted as it goes by. Noting costs no copy: texts borrow from the line. A key that comes twice counts the second time.

use crate::sources::json::{Cursor, Malformed};
use hotwash_core::sessions::{Input, Key, Usage};
use hotwash_core::text::Text;

type Result<T> = std::result::Result<T, Malformed>;

/// A record as noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Text<'a>,
    /// Of its id, made while that is at hand: where records are told, each waits for its key.
    pub(crate) key: Option<Key>,
    pub(crate) timestamp: Text<'a>,
    pub(crate) place: Place<'a>,
    pub(crate) is_meta: bool,
    pub(crate) is_compact_summary: bool,
    pub(crate) is_api_error: bool,
    /// By which the lines of one API message belong together where the message has no id.
    pub(crate) request: Text<'a>,
    /// Who decided that a tool may run: the `source` of `permissionDecision`.
    pub(crate) decided_by: Text<'a>,
    /// The `kind` of the `origin` object, where there is one.
    pub(crate) origin: Option<Text<'a>>,
    pub(crate) message: Message<'a>,
    // Most records have none of these.
    pub(crate) result: Option<ToolUseResult<'a>>,
    pub(crate) attachment: Option<Attachment<'a>>,
    pub(crate) progress: Option<Progress<'a>>,
    pub(crate) notice: Option<Notice<'a>>,
}

impl<'a> Record<'a> {
    fn notice(&mut self) -> &mut Notice<'a> {
        self.notice.get_or_insert_default()
    }
}

/// What records have that the client writes for itself: of the system, of its queue, and titles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notice<'a> {
    pub(crate) subtype: Text<'a>,
    pub(crate) content: Text<'a>,
    pub(crate) operation: Text<'a>,
    pub(crate) ai_title: Text<'a>,
    pub(crate) custom_title: Text<'a>,
    pub(crate) compact_trigger: Text<'a>,
}

/// The `message` of a user or assistant record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) content: Content<'a>,
}

impl<'a> Message<'a> {
    /// What the agent was told of a tool, as recorded, where it is one text.
    fn result(&self) -> Text<'a> {
        match &self.content {
            Content::Blocks(Blocks { first: Block { result: Texts::One(text), .. }, .. }) => *text,
            _ => Text::default(),
        }
    }
}

/// What a message says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head<'a> {
    pub(crate) id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) usage: Usage,
}

/// `content`: a string, or blocks.
#[derive(Clone, Debug, Default)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it stays where it is")]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Text<'a>),
    Blocks(Blocks<'a>),
}

/// Content blocks. As a rule there is one, which then costs no allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks<'a> {
    /// Has no type where there is none.
    first: Block<'a>,
    more: Vec<Block<'a>>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block<'a>> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

/// A content block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block<'a> {
    pub(crate) kind: Text<'a>,
    pub(crate) text: Text<'a>,
    pub(crate) id: Text<'a>,
    pub(crate) name: Text<'a>,
    pub(crate) input: Input<'a>,
    pub(crate) tool_use_id: Text<'a>,
    pub(crate) is_error: bool,
    /// `content` of a tool result: its texts.
    pub(crate) result: Texts<'a>,
}

/// One text without an allocation, or several.
#[derive(Clone, Debug, Default)]
pub(crate) enum Texts<'a> {
    #[default]
    None,
    One(Text<'a>),
    Many(Vec<Text<'a>>),
}

/// `toolUseResult`, where it is an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolUseResult<'a> {
    pub(crate) path: Text<'a>,
    pub(crate) kind: Text<'a>,
    pub(crate) content: Option<Text<'a>>,
    pub(crate) patch: Vec<Text<'a>>,
    pub(crate) lines_read: Option<u64>,
    pub(crate) agent: Text<'a>,
}

/// `attachment`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attachment<'a> {
    pub(crate) kind: Text<'a>,
    pub(crate) mode: Text<'a>,
    pub(crate) prompt: Texts<'a>,
    /// Blocks of the prompt that are no text.
    pub(crate) images: u32,
    /// How it stands with a goal.
    pub(crate) condition: Text<'a>,
    pub(crate) reason: Text<'a>,
    pub(crate) met: bool,
    pub(crate) failed: bool,
    pub(crate) sentinel: bool,
}

/// `data` of a progress record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress<'a> {
    pub(crate) kind: Text<'a>,
    pub(crate) agent: Text<'a>,
    pub(crate) message_kind: Text<'a>,
    /// A subagent's message; its own transcript has the content.
    pub(crate) message: Head<'a>,
}

/// Where a record was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place<'a> {
    pub(crate) session: Text<'a>,
    pub(crate) version: Text<'a>,
    pub(crate) cwd: Text<'a>,
    pub(crate) branch: Text<'a>,
    pub(crate) agent: Text<'a>,
    pub(crate) entrypoint: Text<'a>,
    pub(crate) is_sidechain: bool,
}

/// What is remembered of the records before, because it comes again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// What a subagent was asked, in quotes: all that it does is recorded with it.
    prompt: Vec<u8>,
}

/// How long ids and times are, as a rule.
const UUID: usize = 36;
const TIMESTAMP: usize = 24;
const MESSAGE_ID: usize = 28;
const TOOL_USE_ID: usize = 30;
const AGENT_ID: usize = 17;

/// Room for the lines of most patches.
const PATCH: usize = 32;

/// Reads the record that the cursor stands at into an empty one.
///
/// Pairs are first looked for in the order that most records have: comparing with a known key costs less than finding
/// out which one it is. Other keys are told apart by their length first, which costs less than comparing with each.
pub(crate) fn read<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>, memory: &mut Memory) -> Result<()> {
    if !cursor.enter(br#"{"parentUuid":"#) {
        return cursor.object(|cursor, key| pair(cursor, key, record, memory));
    }
    cursor.skip_of::<UUID>()?;
    if cursor.pass(br#","isSidechain":"#) {
        flag(cursor, &mut record.place.is_sidechain)?;
    }
    if cursor.pass(br#","type":"#) {
        cursor.text(&mut record.kind)?;
    }
    if cursor.pass(br#","data":"#) {
        progress(cursor, record.progress.insert(Progress::default()), memory)?;
        for key in [br#","toolUseID":"#.as_slice(), br#","parentToolUseID":"#, br#","toolUseID":"#] {
            if cursor.pass(key) {
                cursor.skip_short()?;
            }
        }
    }
    if cursor.pass(br#","message":"#) {
        message(cursor, &mut record.message)?;
    }
    if cursor.pass(br#","requestId":"#) {
        cursor.text(&mut record.request)?;
        if cursor.pass(br#","type":"#) {
            cursor.text(&mut record.kind)?;
        }
    }
    if cursor.pass(br#","uuid":"#) {
        uuid(cursor, &mut record.key)?;
    }
    if cursor.pass(br#","timestamp":"#) {
        cursor.text_of::<TIMESTAMP>(&mut record.timestamp)?;
    }
    if cursor.pass(br#","uuid":"#) {
        uuid(cursor, &mut record.key)?;
    }
    if cursor.pass(br#","toolUseResult":"#) {
        tool_use_result(cursor, record.message.result(), record.result.insert(ToolUseResult::default()))?;
    }
    if cursor.pass(br#","sourceToolAssistantUUID":"#) {
        cursor.skip_of::<UUID>()?;
    }
    cursor.more_pairs(|cursor, key| pair(cursor, key, record, memory))
}

#[inline(never)]
fn pair<'a>(cursor: &mut Cursor<'a>, key: &[u8], record: &mut Record<'a>, memory: &mut Memory) -> Result<()> {
    let text = match key.len() {
        4 if key == b"type" => &mut record.kind,
        4 if key == b"uuid" => return uuid(cursor, &mut record.key),
        4 if key == b"data" => return progress(cursor, record.progress.insert(Progress::default()), memory),
        6 if key == b"isMeta" => return flag(cursor, &mut record.is_meta),
        6 if key == b"origin" => return origin(cursor, &mut record.origin),
        7 if key == b"message" => {
            record.message = Message::default();
            return message(cursor, &mut record.message);
        }
        7 if key == b"subtype" => &mut record.notice().subtype,
        7 if key == b"content" => &mut record.notice().content,
        7 if key == b"aiTitle" => &mut record.notice().ai_title,
        9 if key == b"timestamp" => return cursor.text_of::<TIMESTAMP>(&mut record.timestamp),
        9 if key == b"requestId" => &mut record.request,
        9 if key == b"operation" => &mut record.notice().operation,
        10 if key == b"attachment" => return attachment(cursor, record.attachment.insert(Attachment::default())),
        11 if key == b"customTitle" => &mut record.notice().custom_title,
        13 if key == b"toolUseResult" => {
            return tool_use_result(cursor, record.message.result(), record.result.insert(ToolUseResult::default()));
        }
        15 if key == b"compactMetadata" => {
            return text_at(cursor, b"trigger", &mut record.notice().compact_trigger);
        }
        16 if key == b"isCompactSummary" => return flag(cursor, &mut record.is_compact_summary),
        17 if key == b"isApiErrorMessage" => return flag(cursor, &mut record.is_api_error),
        18 if key == b"permissionDecision" => return text_at(cursor, b"source", &mut record.decided_by),
        3 if key == b"cwd" => &mut record.place.cwd,
        7 if key == b"version" => &mut record.place.version,
        7 if key == b"agentId" => &mut record.place.agent,
        9 if key == b"sessionId" => &mut record.place.session,
        9 if key == b"gitBranch" => &mut record.place.branch,
        10 if key == b"entrypoint" => &mut record.place.entrypoint,
        11 if key == b"isSidechain" => return flag(cursor, &mut record.place.is_sidechain),
        _ => return cursor.skip(),
    };
    cursor.text(text)
}

#[inline]
fn uuid(cursor: &mut Cursor<'_>, key: &mut Option<Key>) -> Result<()> {
    let mut uuid = Text::default();
    cursor.text_of::<UUID>(&mut uuid)?;
    *key = (!uuid.is_empty()).then(|| Key::of(uuid));
    Ok(())
}

fn text_if<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Text<'a>>> {
    let mut text = Text::default();
    Ok(cursor.text_if(&mut text)?.then_some(text))
}

fn flag(cursor: &mut Cursor<'_>, flag: &mut bool) -> Result<()> {
    *flag = cursor.is_true()?;
    Ok(())
}

#[inline(never)]
fn origin<'a>(cursor: &mut Cursor<'a>, kind: &mut Option<Text<'a>>) -> Result<()> {
    *kind = None;
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"kind" => *kind = text_if(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

/// The text under one key of an object.
#[inline(never)]
fn text_at<'a>(cursor: &mut Cursor<'a>, wanted: &[u8], text: &mut Text<'a>) -> Result<()> {
    *text = Text::default();
    cursor.object_or_skip(|cursor, key| if key == wanted { cursor.text(text) } else { cursor.skip() })
}

/// Reads a message into an empty one.
#[inline(never)]
fn message<'a>(cursor: &mut Cursor<'a>, message: &mut Message<'a>) -> Result<()> {
    let said = &mut message.content;
    message_parts(cursor, &mut message.head, |cursor| content(cursor, said))
}

/// Reads a message, whatever is made of its content.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is made of it is known where it is called")]
fn message_parts<'a>(
    cursor: &mut Cursor<'a>,
    head: &mut Head<'a>,
    mut content: impl FnMut(&mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    if cursor.enter(br#"{"role":"user","content":"#) {
        content(cursor)?;
    } else if cursor.enter(br#"{"model":"#) {
        cursor.text(&mut head.model)?;
        if cursor.pass(br#","id":"#) {
            cursor.text_of::<MESSAGE_ID>(&mut head.id)?;
        }
        if cursor.pass(br#","type":"message","role":"assistant","content":"#) {
            content(cursor)?;
        }
        if cursor.pass(br#","stop_reason":"#) && !cursor.pass(b"null") {
            cursor.skip()?;
        }
        cursor.pass(br#","stop_sequence":null"#);
        if cursor.pass(br#","usage":"#) {
            usage(cursor, &mut head.usage)?;
        }
        cursor.pass(br#","context_management":null"#);
    } else {
        return cursor.object_or_skip(|cursor, key| message_pair(cursor, key, head, &mut content));
    }
    cursor.more_pairs(|cursor, key| message_pair(cursor, key, head, &mut content))
}

#[inline(never)]
fn message_pair<'a>(
    cursor: &mut Cursor<'a>,
    key: &[u8],
    head: &mut Head<'a>,
    content: &mut impl FnMut(&mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    let text = match key.len() {
        2 if key == b"id" => &mut head.id,
        5 if key == b"model" => &mut head.model,
        5 if key == b"usage" => return usage(cursor, &mut head.usage),
        7 if key == b"content" => return content(cursor),
        _ => return cursor.skip(),
    };
    cursor.text(text)
}

/// The pairs that nearly all begin with are looked for in their order, because their keys are long.
#[inline(never)]
fn usage(cursor: &mut Cursor<'_>, usage: &mut Usage) -> Result<()> {
    *usage = Usage::default();
    if !cursor.enter(br#"{"input_tokens":"#) {
        return cursor.object_or_skip(|cursor, key| usage_pair(cursor, key, usage));
    }
    usage.input = cursor.count()?;
    if cursor.pass(br#","cache_creation_input_tokens":"#) {
        usage.cache_write = cursor.count()?;
    }
    if cursor.pass(br#","cache_read_input_tokens":"#) {
        usage.cache_read = cursor.count()?;
    }
    if cursor.pass(br#","cache_creation":"#) {
        cache_creation(cursor, usage)?;
    }
    if cursor.pass(br#","output_tokens":"#) {
        usage.output = cursor.count()?;
    }
    cursor.pass(br#","service_tier":"standard""#);
    cursor.pass(br#","inference_geo":"not_available""#);
    cursor.more_pairs(|cursor, key| usage_pair(cursor, key, usage))
}

#[inline(never)]
fn usage_pair(cursor: &mut Cursor<'_>, key: &[u8], usage: &mut Usage) -> Result<()> {
    let count = match key.len() {
        12 if key == b"input_tokens" => &mut usage.input,
        27 if key == b"cache_creation_input_tokens" => &mut usage.cache_write,
        23 if key == b"cache_read_input_tokens" => &mut usage.cache_read,
        13 if key == b"output_tokens" => &mut usage.output,
        5 if key == b"speed" => {
            let mut speed = Text::default();
            cursor.text(&mut speed)?;
            usage.fast = speed.is("fast");
            return Ok(());
        }
        14 if key == b"cache_creation" => return cache_creation(cursor, usage),
        _ => return cursor.skip(),
    };
    *count = cursor.count()?;
    Ok(())
}

fn cache_creation(cursor: &mut Cursor<'_>, usage: &mut Usage) -> Result<()> {
    usage.cache_write_1h = 0;
    if !cursor.enter(br#"{"ephemeral_5m_input_tokens":"#) {
        return cursor.object_or_skip(|cursor, key| cache_creation_pair(cursor, key, usage));
    }
    // One of them is zero as a rule, which need not be found out: what stands behind a number waits for its length.
    if cursor.pass(br#"0,"ephemeral_1h_input_tokens":"#) {
        usage.cache_write_1h = cursor.count()?;
    } else {
        cursor.skip_number()?;
        if cursor.leave(br#","ephemeral_1h_input_tokens":0}"#) {
            return Ok(());
        }
        if cursor.pass(br#","ephemeral_1h_input_tokens":"#) {
            usage.cache_write_1h = cursor.count()?;
        }
    }
    cursor.more_pairs(|cursor, key| cache_creation_pair(cursor, key, usage))
}

#[inline(never)]
fn cache_creation_pair(cursor: &mut Cursor<'_>, key: &[u8], usage: &mut Usage) -> Result<()> {
    match key.len() {
        25 if key == b"ephemeral_1h_input_tokens" => usage.cache_write_1h = cursor.count()?,
        _ => cursor.skip()?,
    }
    Ok(())
}

#[inline(never)]
fn content<'a>(cursor: &mut Cursor<'a>, content: &mut Content<'a>) -> Result<()> {
    *content = Content::None;
    match cursor.peek() {
        Some(b'"') => {
            *content = Content::Text(Text::default());
            let Content::Text(text) = content else { return Ok(()) };
            cursor.long_text(text)?;
        }
        Some(b'[') => {
            *content = Content::Blocks(Blocks::default());
            let Content::Blocks(blocks) = content else { return Ok(()) };
            cursor.array(|cursor| {
                if cursor.peek() != Some(b'{') {
                    return cursor.skip();
                }
                // One without a type says nothing, and millions of them fit in a line.
                if blocks.first.kind.is_empty() {
                    block(cursor, &mut blocks.first)?;
                    if blocks.first.kind.is_empty() {
                        blocks.first = Block::default();
                    }
                    return Ok(());
                }
                let mut next = Block::default();
                block(cursor, &mut next)?;
                if !next.kind.is_empty() {
                    blocks.more.push(next);
                }
                Ok(())
            })?;
        }
        _ => cursor.skip()?,
    }
    Ok(())
}

fn block<'a>(cursor: &mut Cursor<'a>, block: &mut Block<'a>) -> Result<()> {
    if cursor.enter(br#"{"type":"#) {
        cursor.text(&mut block.kind)?;
        if cursor.pass(br#","text":"#) {
            cursor.long_text(&mut block.text)?;
        }
        if cursor.pass(br#","thinking":"#) {
            cursor.skip_long()?;
            if cursor.pass(br#","signature":"#) {
                cursor.skip_long()?;
            }
        }
        if cursor.pass(br#","id":"#) {
            cursor.text_of::<TOOL_USE_ID>(&mut block.id)?;
        }
        if cursor.pass(br#","name":"#) {
            cursor.text(&mut block.name)?;
        }
        if cursor.pass(br#","input":"#) {
            input(cursor, &mut block.input)?;
            cursor.pass(br#","caller":{"type":"direct"}"#);
        }
    } else if cursor.enter(br#"{"tool_use_id":"#) {
        cursor.text_of::<TOOL_USE_ID>(&mut block.tool_use_id)?;
        if cursor.pass(br#","type":"#) {
            cursor.text(&mut block.kind)?;
        }
        if cursor.pass(br#","content":"#) {
            texts(cursor, &mut block.result)?;
        }
    } else {
        return cursor.object(|cursor, key| block_pair(cursor, key, block));
    }
    cursor.more_pairs(|cursor, key| block_pair(cursor, key, block))
}

#[inline(never)]
fn block_pair<'a>(cursor: &mut Cursor<'a>, key: &[u8], block: &mut Block<'a>) -> Result<()> {
    let text = match key.len() {
        4 if key == b"type" => &mut block.kind,
        4 if key == b"text" => &mut block.text,
        2 if key == b"id" => &mut block.id,
        4 if key == b"name" => &mut block.name,
        5 if key == b"input" => return input(cursor, &mut block.input),
        11 if key == b"tool_use_id" => &mut block.tool_use_id,
        8 if key == b"is_error" => return flag(cursor, &mut block.is_error),
        7 if key == b"content" => {
            texts(cursor, &mut block.result)?;
            return Ok(());
        }
        _ => return cursor.skip(),
    };
    cursor.text(text)
}

/// Reads a string, or the texts of an array of blocks. Says how many images stood among them.
fn texts<'a>(cursor: &mut Cursor<'a>, texts: &mut Texts<'a>) -> Result<u32> {
    *texts = Texts::None;
    let mut images = 0;
    match cursor.peek() {
        Some(b'"') => {
            *texts = Texts::One(Text::default());
            let Texts::One(text) = texts else { return Ok(0) };
            cursor.long_text(text)?;
        }
        Some(b'[') => {
            let mut many = Vec::new();
            cursor.array(|cursor| {
                if cursor.peek() != Some(b'{') {
                    return cursor.skip();
                }
                let (mut kind, mut text) = (Text::default(), Text::default());
                cursor.object(|cursor, key| match key.len() {
                    4 if key == b"type" => cursor.text(&mut kind),
                    4 if key == b"text" => cursor.text(&mut text),
                    _ => cursor.skip(),
                })?;
                if kind.is("text") {
                    many.push(text);
                } else if kind.is("image") {
                    images += 1;
                }
                Ok(())
            })?;
            *texts = Texts::Many(many);
        }
        _ => cursor.skip()?,
    }
    Ok(images)
}

pub(crate) fn input<'a>(cursor: &mut Cursor<'a>, input: &mut Input<'a>) -> Result<()> {
    *input = Input::default();
    let (mut notebook, mut folder, mut query, mut url) = Default::default();
    let mut agent = Text::default();
    input.whole = cursor.raw(|cursor| {
        cursor.object_or_skip(|cursor, key| {
            let text = match key.len() {
                9 if key == b"file_path" => &mut input.path,
                13 if key == b"notebook_path" => &mut notebook,
                4 if key == b"path" => &mut folder,
                7 if key == b"command" => &mut input.command,
                7 if key == b"pattern" => &mut input.pattern,
                5 if key == b"query" => &mut query,
                3 if key == b"url" => &mut url,
                5 if key == b"skill" => &mut input.which,
                13 if key == b"subagent_type" => &mut agent,
                6 if key == b"offset" => {
                    input.offset = cursor.integer()?;
                    return Ok(());
                }
                5 if key == b"limit" => {
                    input.limit = cursor.integer()?;
                    return Ok(());
                }
                _ => return cursor.skip(),
            };
            cursor.long_text(text)
        })
    })?;
    let texts = [(&mut input.path, [notebook, folder]), (&mut input.pattern, [query, url])];
    for (text, others) in texts {
        if text.is_empty() {
            *text = if others[0].is_empty() { others[1] } else { others[0] };
        }
    }
    if input.which.is_empty() {
        input.which = agent;
    }
    Ok(())
}

/// Results of commands, of reading and of editing are looked for, in this order, as clients write them. What a command
/// wrote or a search found is most often what the agent was told.
#[inline(never)]
fn tool_use_result<'a>(cursor: &mut Cursor<'a>, told: Text<'a>, result: &mut ToolUseResult<'a>) -> Result<()> {
    if cursor.enter(br#"{"stdout":"#) {
        cursor.skip_again(told.raw())?;
        if cursor.pass(br#","stderr":"#) {
            cursor.skip()?;
        }
        cursor.pass(br#","interrupted":false"#);
        cursor.pass(br#","isImage":false"#);
        cursor.pass(br#","noOutputExpected":false"#);
    } else if cursor.enter(br#"{"type":"#) {
        cursor.text(&mut result.kind)?;
        if cursor.pass(br#","file":"#) {
            result.lines_read = lines_read(cursor)?;
        }
    } else if cursor.enter(br#"{"filePath":"#) {
        cursor.long_text(&mut result.path)?;
        for key in [br#","oldString":"#.as_slice(), br#","newString":"#, br#","originalFile":"#] {
            if cursor.pass(key) {
                cursor.skip_long()?;
            }
        }
        if cursor.pass(br#","structuredPatch":"#) {
            patch(cursor, &mut result.patch)?;
        }
        cursor.pass(br#","userModified":false"#);
        cursor.pass(br#","replaceAll":false"#);
    } else {
        return cursor.object_or_skip(|cursor, key| tool_use_result_pair(cursor, key, told, result));
    }
    cursor.more_pairs(|cursor, key| tool_use_result_pair(cursor, key, told, result))
}

#[inline(never)]
fn tool_use_result_pair<'a>(
    cursor: &mut Cursor<'a>,
    key: &[u8],
    told: Text<'a>,
    result: &mut ToolUseResult<'a>,
) -> Result<()> {
    match key.len() {
        8 if key == b"filePath" => cursor.text(&mut result.path)?,
        4 if key == b"type" => cursor.text(&mut result.kind)?,
        7 if key == b"content" => result.content = cursor.text_again(told)?,
        7 if key == b"agentId" => cursor.text(&mut result.agent)?,
        15 if key == b"structuredPatch" => patch(cursor, &mut result.patch)?,
        4 if key == b"file" => result.lines_read = lines_read(cursor)?,
        _ => cursor.skip()?,
    }
    Ok(())
}

/// Reads the lines of a patch.
#[inline(never)]
fn patch<'a>(cursor: &mut Cursor<'a>, patch: &mut Vec<Text<'a>>) -> Result<()> {
    patch.clear();
    patch.reserve(PATCH);
    cursor.array_or_skip(|cursor| {
        let earlier = patch.len();
        let mut pair = |cursor: &mut Cursor<'a>, key: &[u8]| match key.len() {
            5 if key == b"lines" => {
                patch.truncate(earlier);
                cursor.array_or_skip(|cursor| {
                    patch.push(Text::default());
                    if let Some(line) = patch.last_mut()
                        && !cursor.text_if(line)?
                    {
                        patch.pop();
                    }
                    Ok(())
                })
            }
            _ => cursor.skip(),
        };
        if !cursor.enter(br#"{"oldStart":"#) {
            return cursor.object_or_skip(pair);
        }
        cursor.skip_number()?;
        for key in [br#","oldLines":"#.as_slice(), br#","newStart":"#, br#","newLines":"#] {
            if cursor.pass(key) {
                cursor.skip_number()?;
            }
        }
        cursor.more_pairs(&mut pair)
    })
}

/// How many lines of a file were read.
#[inline(never)]
fn lines_read(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    let mut lines = None;
    let mut pair = |cursor: &mut Cursor<'_>, key: &[u8]| {
        match key.len() {
            8 if key == b"numLines" => lines = cursor.count_if()?,
            _ => cursor.skip()?,
        }
        Ok(())
    };
    if cursor.enter(br#"{"filePath":"#) {
        cursor.skip()?;
        if cursor.pass(br#","content":"#) {
            cursor.skip_long()?;
        }
        if cursor.pass(br#","numLines":"#) {
            pair(cursor, b"numLines")?;
        }
        for key in [br#","startLine":"#.as_slice(), br#","totalLines":"#] {
            if cursor.pass(key) {
                cursor.skip_number()?;
            }
        }
        cursor.more_pairs(&mut pair)?;
    } else {
        cursor.object_or_skip(&mut pair)?;
    }
    Ok(lines)
}

#[inline(never)]
fn attachment<'a>(cursor: &mut Cursor<'a>, attachment: &mut Attachment<'a>) -> Result<()> {
    cursor.object_or_skip(|cursor, key| {
        match key.len() {
            4 if key == b"type" => cursor.text(&mut attachment.kind)?,
            11 if key == b"commandMode" => cursor.text(&mut attachment.mode)?,
            6 if key == b"prompt" => attachment.images = texts(cursor, &mut attachment.prompt)?,
            9 if key == b"condition" => cursor.text(&mut attachment.condition)?,
            6 if key == b"reason" => cursor.text(&mut attachment.reason)?,
            3 if key == b"met" => flag(cursor, &mut attachment.met)?,
            6 if key == b"failed" => flag(cursor, &mut attachment.failed)?,
            8 if key == b"sentinel" => flag(cursor, &mut attachment.sentinel)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

#[inline(never)]
fn progress<'a>(cursor: &mut Cursor<'a>, progress: &mut Progress<'a>, memory: &mut Memory) -> Result<()> {
    if cursor.enter(br#"{"type":"#) {
        cursor.text(&mut progress.kind)?;
        // Of a hook, then of a command.
        for key in [br#","hookEvent":"#.as_slice(), br#","hookName":"#, br#","command":"#] {
            if cursor.pass(key) {
                cursor.skip_short()?;
            }
        }
        if cursor.pass(br#","output":"#) {
            let output = cursor.skip_long()?;
            if cursor.pass(br#","fullOutput":"#) {
                cursor.skip_again(output)?;
            }
        }
        for key in [br#","elapsedTimeSeconds":"#.as_slice(), br#","totalLines":"#, br#","totalBytes":"#] {
            if cursor.pass(key) {
                cursor.skip_number()?;
            }
        }
    } else if cursor.enter(br#"{"message":"#) {
        subagent_message(cursor, progress)?;
        if cursor.pass(br#","normalizedMessages":"#) && !cursor.pass(b"[]") {
            cursor.skip()?;
        }
        if cursor.pass(br#","type":"#) {
            cursor.text(&mut progress.kind)?;
        }
        if cursor.pass(br#","prompt":"#) {
            prompt(cursor, &mut memory.prompt)?;
        }
        if cursor.pass(br#","agentId":"#) {
            cursor.text_of::<AGENT_ID>(&mut progress.agent)?;
        }
    } else {
        return cursor.object_or_skip(|cursor, key| progress_pair(cursor, key, progress));
    }
    cursor.more_pairs(|cursor, key| progress_pair(cursor, key, progress))
}

/// Skips a prompt, which most often is the last one again: comparing takes less time than looking for its end.
fn prompt(cursor: &mut Cursor<'_>, last: &mut Vec<u8>) -> Result<()> {
    if last.is_empty() || !cursor.pass(last) {
        let prompt = cursor.raw(|cursor| cursor.skip_long().map(drop))?;
        last.clear();
        if prompt.ends_with(b"\"") {
            last.extend_from_slice(prompt);
        }
    }
    Ok(())
}

#[inline(never)]
fn progress_pair<'a>(cursor: &mut Cursor<'a>, key: &[u8], progress: &mut Progress<'a>) -> Result<()> {
    match key.len() {
        4 if key == b"type" => cursor.text(&mut progress.kind),
        7 if key == b"agentId" => cursor.text(&mut progress.agent),
        7 if key == b"message" => subagent_message(cursor, progress),
        _ => cursor.skip(),
    }
}

#[inline(never)]
fn subagent_message<'a>(cursor: &mut Cursor<'a>, progress: &mut Progress<'a>) -> Result<()> {
    (progress.message_kind, progress.message) = Default::default();
    let mut pair = |cursor: &mut Cursor<'a>, key: &[u8]| match key.len() {
        4 if key == b"type" => cursor.text(&mut progress.message_kind),
        7 if key == b"message" => message_head(cursor, &mut progress.message),
        _ => cursor.skip(),
    };
    if !cursor.enter(br#"{"type":"#) {
        return cursor.object_or_skip(pair);
    }
    pair(cursor, b"type")?;
    if cursor.pass(br#","timestamp":"#) {
        cursor.skip_of::<TIMESTAMP>()?;
    }
    if cursor.pass(br#","message":"#) {
        pair(cursor, b"message")?;
    }
    if cursor.pass(br#","requestId":"#) {
        cursor.skip_short()?;
    }
    if cursor.pass(br#","uuid":"#) {
        cursor.skip_of::<UUID>()?;
    }
    if cursor.pass(br#","timestamp":"#) {
        cursor.skip_of::<TIMESTAMP>()?;
    }
    cursor.more_pairs(pair)
}

#[inline(never)]
fn message_head<'a>(cursor: &mut Cursor<'a>, head: &mut Head<'a>) -> Result<()> {
    *head = Head::default();
    message_parts(cursor, head, Cursor::skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_came_before_makes_no_difference() {
        let read = |line: &str, memory: &mut Memory| {
            let (mut cursor, mut record) = (Cursor::new(line.as_bytes()), Record::default());
            let read = super::read(&mut cursor, &mut record, memory);
            (read, cursor.rest().len(), format!("{record:?}"))
        };
        let mut memory = Memory::default();
        for prompt in [r#""a""#, r#""ab""#, r#""a\"""#, r#""a"#, r#""""#, "1", "12", "null", "[]", "", "\"a\n\""] {
            for prompts in [prompt.to_owned(), format!(" {prompt}"), format!("{prompt}\""), r#""a""#.to_owned()] {
                let line = format!(
                    r#"{{"parentUuid":null,"data":{{"message":{{}},"prompt":{prompts},"agentId":"b"}},"type":"c"}}"#
                );
                for _ in 0..2 {
                    assert_eq!(read(&line, &mut memory), read(&line, &mut Memory::default()), "{line}");
                }
            }
        }
    }

    #[test]
    fn tokens_written_to_the_cache_are_counted_wherever_a_zero_stands() {
        for (short, long, more) in [(0, 7, ""), (7, 0, ""), (0, 0, ""), (7, 8, ""), (7, 0, r#","a":{}"#), (70, 10, "")]
        {
            let both = format!(r#"{{"ephemeral_5m_input_tokens":{short},"ephemeral_1h_input_tokens":{long}{more}}}"#);
            let line = format!(r#"{{"input_tokens":1,"cache_creation":{both},"output_tokens":2}},"#);
            let (mut cursor, mut usage) = (Cursor::new(line.as_bytes()), Usage::default());
            assert_eq!(super::usage(&mut cursor, &mut usage), Ok(()));
            assert_eq!((usage.input, usage.cache_write_1h, usage.output, cursor.rest()), (1, long, 2, &b","[..]));
        }
    }
}
