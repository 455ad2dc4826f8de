//! One record of a transcript: what the fast path takes from it in a single pass, whatever the order of its keys.
//!
//! Which parts matter depends on the record's type, and the type may come last, so every part that any type needs is
//! noted as it goes by. Noting costs no copy: texts borrow from the line. A key that comes twice counts the second time.

use super::place::{Memory, Part, Place};
use crate::sources::json::{Cursor, Malformed};
use hotwash_core::sessions::{Input, Usage};
use hotwash_core::text::Text;

type Result<T> = std::result::Result<T, Malformed>;

/// A record as noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Text<'a>,
    pub(crate) subtype: Text<'a>,
    pub(crate) uuid: Text<'a>,
    pub(crate) timestamp: Text<'a>,
    pub(crate) place: Place<'a>,
    pub(crate) is_meta: bool,
    pub(crate) is_compact_summary: bool,
    pub(crate) is_api_error: bool,
    /// The `kind` of the `origin` object, where there is one.
    pub(crate) origin: Option<Text<'a>>,
    /// `content` of system records and queue operations.
    pub(crate) content: Text<'a>,
    pub(crate) operation: Text<'a>,
    pub(crate) ai_title: Text<'a>,
    pub(crate) custom_title: Text<'a>,
    pub(crate) compact_trigger: Text<'a>,
    pub(crate) message: Message<'a>,
    pub(crate) result: ToolUseResult<'a>,
    pub(crate) attachment: Attachment<'a>,
    pub(crate) progress: Progress<'a>,
}

/// The `message` of a user or assistant record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message<'a> {
    pub(crate) id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) usage: Usage,
    pub(crate) content: Content<'a>,
}

/// `content`: a string, or blocks.
#[derive(Clone, Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Text<'a>),
    Blocks(Vec<Block<'a>>),
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
}

/// `data` of a progress record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress<'a> {
    pub(crate) kind: Text<'a>,
    pub(crate) agent: Text<'a>,
    pub(crate) message_kind: Text<'a>,
    pub(crate) message: Message<'a>,
}

/// Reads the record that the cursor stands at into an empty one.
///
/// Pairs are first looked for in the order that most records have: comparing with a known key costs less than finding
/// out which one it is. Other keys are told apart by their length first, which costs less than comparing with each.
pub(crate) fn read<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>, memory: &mut Memory) -> Result<()> {
    if !cursor.enter(br#"{"parentUuid":"#) {
        return cursor.object(|cursor, key| pair(cursor, key, record, memory));
    }
    cursor.skip()?;
    if cursor.pass(br#","isSidechain":"#) {
        memory.read(cursor, Part::Sidechain, &mut record.place)?;
    }
    if cursor.pass(br#","type":"#) {
        record.kind = cursor.text()?;
    }
    if cursor.pass(br#","data":"#) {
        progress(cursor, &mut record.progress)?;
    }
    if cursor.pass(br#","message":"#) {
        message(cursor, &mut record.message)?;
    }
    if cursor.pass(br#","requestId":"#) {
        cursor.skip()?;
    }
    if cursor.pass(br#","type":"#) {
        record.kind = cursor.text()?;
    }
    if cursor.pass(br#","uuid":"#) {
        record.uuid = cursor.text()?;
    }
    if cursor.pass(br#","timestamp":"#) {
        record.timestamp = cursor.text()?;
    }
    cursor.more_pairs(|cursor, key| pair(cursor, key, record, memory))
}

#[inline(never)]
fn pair<'a>(cursor: &mut Cursor<'a>, key: &[u8], record: &mut Record<'a>, memory: &mut Memory) -> Result<()> {
    let text = match key.len() {
        4 if key == b"type" => &mut record.kind,
        4 if key == b"uuid" => &mut record.uuid,
        4 if key == b"data" => return progress(cursor, &mut record.progress),
        6 if key == b"isMeta" => return flag(cursor, &mut record.is_meta),
        6 if key == b"origin" => return origin(cursor, &mut record.origin),
        7 if key == b"message" => return message(cursor, &mut record.message),
        7 if key == b"subtype" => &mut record.subtype,
        7 if key == b"content" => &mut record.content,
        7 if key == b"aiTitle" => &mut record.ai_title,
        9 if key == b"timestamp" => &mut record.timestamp,
        9 if key == b"operation" => &mut record.operation,
        10 if key == b"attachment" => return attachment(cursor, &mut record.attachment),
        11 if key == b"customTitle" => &mut record.custom_title,
        13 if key == b"toolUseResult" => return tool_use_result(cursor, &mut record.result),
        15 if key == b"compactMetadata" => return compact_trigger(cursor, &mut record.compact_trigger),
        16 if key == b"isCompactSummary" => return flag(cursor, &mut record.is_compact_summary),
        17 if key == b"isApiErrorMessage" => return flag(cursor, &mut record.is_api_error),
        _ => {
            return match Part::of(key) {
                Some(part) => memory.read(cursor, part, &mut record.place),
                None => cursor.skip(),
            };
        }
    };
    *text = cursor.text()?;
    Ok(())
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
            b"kind" => *kind = cursor.text_if()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

#[inline(never)]
fn compact_trigger<'a>(cursor: &mut Cursor<'a>, trigger: &mut Text<'a>) -> Result<()> {
    *trigger = Text::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"trigger" => *trigger = cursor.text()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

#[inline(never)]
fn message<'a>(cursor: &mut Cursor<'a>, message: &mut Message<'a>) -> Result<()> {
    *message = Message::default();
    let mut pair = |cursor: &mut Cursor<'a>, key: &[u8]| {
        let text = match key.len() {
            2 if key == b"id" => &mut message.id,
            5 if key == b"model" => &mut message.model,
            5 if key == b"usage" => return usage(cursor, &mut message.usage),
            7 if key == b"content" => return content(cursor, &mut message.content),
            _ => return cursor.skip(),
        };
        *text = cursor.text()?;
        Ok(())
    };
    if !cursor.enter(br#"{"model":"#) {
        return cursor.object_or_skip(pair);
    }
    pair(cursor, b"model")?;
    if cursor.pass(br#","id":"#) {
        pair(cursor, b"id")?;
    }
    if cursor.pass(br#","type":"message","role":"assistant","content":"#) {
        pair(cursor, b"content")?;
    }
    cursor.pass(br#","stop_reason":null,"stop_sequence":null"#);
    if cursor.pass(br#","usage":"#) {
        pair(cursor, b"usage")?;
    }
    cursor.more_pairs(pair)
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
            usage.fast = cursor.text()?.is("fast");
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
    let mut each = |cursor: &mut Cursor<'_>, key: &[u8]| {
        match key.len() {
            25 if key == b"ephemeral_1h_input_tokens" => usage.cache_write_1h = cursor.count()?,
            _ => cursor.skip()?,
        }
        Ok(())
    };
    if !cursor.enter(br#"{"ephemeral_5m_input_tokens":"#) {
        return cursor.object_or_skip(each);
    }
    cursor.skip()?;
    if cursor.pass(br#","ephemeral_1h_input_tokens":"#) {
        each(cursor, b"ephemeral_1h_input_tokens")?;
    }
    cursor.more_pairs(each)
}

#[inline(never)]
fn content<'a>(cursor: &mut Cursor<'a>, content: &mut Content<'a>) -> Result<()> {
    *content = Content::None;
    match cursor.peek() {
        Some(b'"') => *content = Content::Text(cursor.text()?),
        Some(b'[') => {
            // As a rule there is one.
            let mut blocks = Vec::with_capacity(1);
            cursor.array(|cursor| {
                if cursor.peek() != Some(b'{') {
                    return cursor.skip();
                }
                blocks.push(Block::default());
                if let Some(last) = blocks.last_mut() {
                    block(cursor, last)?;
                }
                // One without a type says nothing, and millions of them fit in a line.
                blocks.pop_if(|block| block.kind.is_empty());
                Ok(())
            })?;
            *content = Content::Blocks(blocks);
        }
        _ => cursor.skip()?,
    }
    Ok(())
}

fn block<'a>(cursor: &mut Cursor<'a>, block: &mut Block<'a>) -> Result<()> {
    cursor.object(|cursor, key| {
        let text = match key.len() {
            4 if key == b"type" => &mut block.kind,
            4 if key == b"text" => &mut block.text,
            2 if key == b"id" => &mut block.id,
            4 if key == b"name" => &mut block.name,
            5 if key == b"input" => return input(cursor, &mut block.input),
            11 if key == b"tool_use_id" => &mut block.tool_use_id,
            8 if key == b"is_error" => return flag(cursor, &mut block.is_error),
            7 if key == b"content" => {
                block.result = texts(cursor)?.0;
                return Ok(());
            }
            _ => return cursor.skip(),
        };
        *text = cursor.text()?;
        Ok(())
    })
}

/// A string, or the texts of an array of blocks; and how many images stood among them.
fn texts<'a>(cursor: &mut Cursor<'a>) -> Result<(Texts<'a>, u32)> {
    match cursor.peek() {
        Some(b'"') => Ok((Texts::One(cursor.text()?), 0)),
        Some(b'[') => {
            let (mut texts, mut images) = (Vec::new(), 0);
            cursor.array(|cursor| {
                if cursor.peek() != Some(b'{') {
                    return cursor.skip();
                }
                let (mut kind, mut text) = (Text::default(), Text::default());
                cursor.object(|cursor, key| {
                    match key.len() {
                        4 if key == b"type" => kind = cursor.text()?,
                        4 if key == b"text" => text = cursor.text()?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
                if kind.is("text") {
                    texts.push(text);
                } else if kind.is("image") {
                    images += 1;
                }
                Ok(())
            })?;
            Ok((Texts::Many(texts), images))
        }
        _ => {
            cursor.skip()?;
            Ok((Texts::None, 0))
        }
    }
}

fn input<'a>(cursor: &mut Cursor<'a>, input: &mut Input<'a>) -> Result<()> {
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
            *text = cursor.text()?;
            Ok(())
        })
    })?;
    let or = |first: Text<'a>, second: Text<'a>| if first.is_empty() { second } else { first };
    input.path = or(input.path, or(notebook, folder));
    input.pattern = or(input.pattern, or(query, url));
    input.which = or(input.which, agent);
    Ok(())
}

#[inline(never)]
fn tool_use_result<'a>(cursor: &mut Cursor<'a>, result: &mut ToolUseResult<'a>) -> Result<()> {
    *result = ToolUseResult::default();
    cursor.object_or_skip(|cursor, key| {
        match key.len() {
            8 if key == b"filePath" => result.path = cursor.text()?,
            4 if key == b"type" => result.kind = cursor.text()?,
            7 if key == b"content" => result.content = cursor.text_if()?,
            7 if key == b"agentId" => result.agent = cursor.text()?,
            15 if key == b"structuredPatch" => {
                result.patch.clear();
                cursor.array_or_skip(|cursor| {
                    let earlier = result.patch.len();
                    cursor.object_or_skip(|cursor, key| match key.len() {
                        5 if key == b"lines" => {
                            result.patch.truncate(earlier);
                            cursor.array_or_skip(|cursor| {
                                result.patch.extend(cursor.text_if()?);
                                Ok(())
                            })
                        }
                        _ => cursor.skip(),
                    })
                })?;
            }
            4 if key == b"file" => {
                result.lines_read = None;
                cursor.object_or_skip(|cursor, key| {
                    match key.len() {
                        8 if key == b"numLines" => result.lines_read = cursor.count_if()?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

#[inline(never)]
fn attachment<'a>(cursor: &mut Cursor<'a>, attachment: &mut Attachment<'a>) -> Result<()> {
    *attachment = Attachment::default();
    cursor.object_or_skip(|cursor, key| {
        match key.len() {
            4 if key == b"type" => attachment.kind = cursor.text()?,
            11 if key == b"commandMode" => attachment.mode = cursor.text()?,
            6 if key == b"prompt" => (attachment.prompt, attachment.images) = texts(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

#[inline(never)]
fn progress<'a>(cursor: &mut Cursor<'a>, progress: &mut Progress<'a>) -> Result<()> {
    *progress = Progress::default();
    cursor.object_or_skip(|cursor, key| {
        match key.len() {
            4 if key == b"type" => progress.kind = cursor.text()?,
            7 if key == b"agentId" => progress.agent = cursor.text()?,
            7 if key == b"message" => {
                (progress.message_kind, progress.message) = Default::default();
                cursor.object_or_skip(|cursor, key| {
                    match key.len() {
                        4 if key == b"type" => progress.message_kind = cursor.text()?,
                        7 if key == b"message" => message_head(cursor, &mut progress.message)?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

/// A subagent's message inside a progress record: its own transcript has the content, here only the usage counts.
fn message_head<'a>(cursor: &mut Cursor<'a>, message: &mut Message<'a>) -> Result<()> {
    *message = Message::default();
    cursor.object_or_skip(|cursor, key| {
        let text = match key.len() {
            2 if key == b"id" => &mut message.id,
            5 if key == b"model" => &mut message.model,
            5 if key == b"usage" => return usage(cursor, &mut message.usage),
            _ => return cursor.skip(),
        };
        *text = cursor.text()?;
        Ok(())
    })
}
