//! What happened: events as a source hands them over, and where a session begins and ends.

pub mod copies;
pub mod event;
pub mod joining;
pub mod pieces;
pub mod session;
pub mod time;
pub mod topic;

pub use event::{
    ApiError, Call, Change, CommandVia, Compaction, Event, EventId, Events, GoalCheck, Input, Key, Kind, Message,
    Origin, Outcome, Prompt, PromptVia, Tool, Usage, command_line,
};
pub use joining::Join;
pub use pieces::{About, Opening, Part, Piece, Pieces};
pub use session::{Session, SessionId, SessionKind};
pub use time::Timestamp;
