//! Claude Code: the transcripts under `~/.claude/projects`.

pub(crate) mod decode;
pub mod read;
pub(crate) mod record;
