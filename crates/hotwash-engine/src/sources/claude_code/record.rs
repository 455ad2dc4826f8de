//! One record of a transcript: what the fast path takes from it in a single pass, whatever the order of its keys.
//!
//! Which parts matter depends on the record's type, and the type may come last, so every part that any type needs is
//! noted as it goes by. Noting costs no copy: texts borrow from the line. A key that comes twice counts the second time.

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
    pub(crate) session: Text<'a>,
    pub(crate) version: Text<'a>,
    pub(crate) cwd: Text<'a>,
    pub(crate) branch: Text<'a>,
    pub(crate) agent: Text<'a>,
    pub(crate) entrypoint: Text<'a>,
    pub(crate) is_meta: bool,
    pub(crate) is_sidechain: bool,
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

/// Reads the record that the cursor stands at.
///
/// Keys are told apart by their length first: comparing each with all names would cost more than reading the values.
pub(crate) fn read<'a>(cursor: &mut Cursor<'a>, record: &mut Record<'a>) -> Result<()> {
    *record = Record::default();
    cursor.object(|cursor, key| {
        match (key.len(), key) {
            (3, b"cwd") => record.cwd = cursor.text()?,
            (4, b"type") => record.kind = cursor.text()?,
            (4, b"uuid") => record.uuid = cursor.text()?,
            (4, b"data") => progress(cursor, &mut record.progress)?,
            (6, b"isMeta") => record.is_meta = cursor.is_true()?,
            (6, b"origin") => record.origin = origin(cursor)?,
            (7, b"message") => message(cursor, &mut record.message)?,
            (7, b"version") => record.version = cursor.text()?,
            (7, b"subtype") => record.subtype = cursor.text()?,
            (7, b"agentId") => record.agent = cursor.text()?,
            (7, b"content") => record.content = cursor.text()?,
            (7, b"aiTitle") => record.ai_title = cursor.text()?,
            (9, b"timestamp") => record.timestamp = cursor.text()?,
            (9, b"sessionId") => record.session = cursor.text()?,
            (9, b"gitBranch") => record.branch = cursor.text()?,
            (9, b"operation") => record.operation = cursor.text()?,
            (10, b"entrypoint") => record.entrypoint = cursor.text()?,
            (10, b"attachment") => record.attachment = attachment(cursor)?,
            (11, b"isSidechain") => record.is_sidechain = cursor.is_true()?,
            (11, b"customTitle") => record.custom_title = cursor.text()?,
            (13, b"toolUseResult") => tool_use_result(cursor, &mut record.result)?,
            (15, b"compactMetadata") => record.compact_trigger = compact_trigger(cursor)?,
            (16, b"isCompactSummary") => record.is_compact_summary = cursor.is_true()?,
            (17, b"isApiErrorMessage") => record.is_api_error = cursor.is_true()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

fn origin<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Text<'a>>> {
    let mut kind = None;
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"kind" => kind = cursor.text_if()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(kind)
}

fn compact_trigger<'a>(cursor: &mut Cursor<'a>) -> Result<Text<'a>> {
    let mut trigger = Text::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"trigger" => trigger = cursor.text()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(trigger)
}

fn message<'a>(cursor: &mut Cursor<'a>, message: &mut Message<'a>) -> Result<()> {
    *message = Message::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"id" => message.id = cursor.text()?,
            b"model" => message.model = cursor.text()?,
            b"usage" => message.usage = usage(cursor)?,
            b"content" => message.content = content(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

fn usage(cursor: &mut Cursor<'_>) -> Result<Usage> {
    let mut usage = Usage::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"input_tokens" => usage.input = cursor.count()?,
            b"cache_creation_input_tokens" => usage.cache_write = cursor.count()?,
            b"cache_read_input_tokens" => usage.cache_read = cursor.count()?,
            b"output_tokens" => usage.output = cursor.count()?,
            b"speed" => usage.fast = cursor.text()?.is("fast"),
            b"cache_creation" => {
                usage.cache_write_1h = 0;
                cursor.object_or_skip(|cursor, key| {
                    match key {
                        b"ephemeral_1h_input_tokens" => usage.cache_write_1h = cursor.count()?,
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(usage)
}

fn content<'a>(cursor: &mut Cursor<'a>) -> Result<Content<'a>> {
    match cursor.peek() {
        Some(b'"') => Ok(Content::Text(cursor.text()?)),
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
            Ok(Content::Blocks(blocks))
        }
        _ => {
            cursor.skip()?;
            Ok(Content::None)
        }
    }
}

fn block<'a>(cursor: &mut Cursor<'a>, block: &mut Block<'a>) -> Result<()> {
    cursor.object(|cursor, key| {
        match key {
            b"type" => block.kind = cursor.text()?,
            b"text" => block.text = cursor.text()?,
            b"id" => block.id = cursor.text()?,
            b"name" => block.name = cursor.text()?,
            b"input" => block.input = input(cursor)?,
            b"tool_use_id" => block.tool_use_id = cursor.text()?,
            b"is_error" => block.is_error = cursor.is_true()?,
            b"content" => block.result = texts(cursor)?.0,
            _ => cursor.skip()?,
        }
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
                    match key {
                        b"type" => kind = cursor.text()?,
                        b"text" => text = cursor.text()?,
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

fn input<'a>(cursor: &mut Cursor<'a>) -> Result<Input<'a>> {
    let whole = cursor.clone().raw()?;
    let mut input = Input { whole, ..Input::default() };
    let (mut notebook, mut folder, mut query, mut url) = Default::default();
    let mut agent = Text::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"file_path" => input.path = cursor.text()?,
            b"notebook_path" => notebook = cursor.text()?,
            b"path" => folder = cursor.text()?,
            b"command" => input.command = cursor.text()?,
            b"pattern" => input.pattern = cursor.text()?,
            b"query" => query = cursor.text()?,
            b"url" => url = cursor.text()?,
            b"skill" => input.which = cursor.text()?,
            b"subagent_type" => agent = cursor.text()?,
            b"offset" => input.offset = cursor.integer()?,
            b"limit" => input.limit = cursor.integer()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let or = |first: Text<'a>, second: Text<'a>| if first.is_empty() { second } else { first };
    input.path = or(input.path, or(notebook, folder));
    input.pattern = or(input.pattern, or(query, url));
    input.which = or(input.which, agent);
    Ok(input)
}

fn tool_use_result<'a>(cursor: &mut Cursor<'a>, result: &mut ToolUseResult<'a>) -> Result<()> {
    *result = ToolUseResult::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"filePath" => result.path = cursor.text()?,
            b"type" => result.kind = cursor.text()?,
            b"content" => result.content = cursor.text_if()?,
            b"agentId" => result.agent = cursor.text()?,
            b"structuredPatch" => {
                result.patch.clear();
                cursor.array_or_skip(|cursor| {
                    let earlier = result.patch.len();
                    cursor.object_or_skip(|cursor, key| match key {
                        b"lines" => {
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
            b"file" => {
                result.lines_read = None;
                cursor.object_or_skip(|cursor, key| {
                    match key {
                        b"numLines" => result.lines_read = cursor.count_if()?,
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

fn attachment<'a>(cursor: &mut Cursor<'a>) -> Result<Attachment<'a>> {
    let mut attachment = Attachment::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"type" => attachment.kind = cursor.text()?,
            b"commandMode" => attachment.mode = cursor.text()?,
            b"prompt" => (attachment.prompt, attachment.images) = texts(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(attachment)
}

fn progress<'a>(cursor: &mut Cursor<'a>, progress: &mut Progress<'a>) -> Result<()> {
    *progress = Progress::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"type" => progress.kind = cursor.text()?,
            b"agentId" => progress.agent = cursor.text()?,
            b"message" => {
                (progress.message_kind, progress.message) = Default::default();
                cursor.object_or_skip(|cursor, key| {
                    match key {
                        b"type" => progress.message_kind = cursor.text()?,
                        b"message" => progress.message = message_head(cursor)?,
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
fn message_head<'a>(cursor: &mut Cursor<'a>) -> Result<Message<'a>> {
    let mut message = Message::default();
    cursor.object_or_skip(|cursor, key| {
        match key {
            b"id" => message.id = cursor.text()?,
            b"model" => message.model = cursor.text()?,
            b"usage" => message.usage = usage(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(message)
}
