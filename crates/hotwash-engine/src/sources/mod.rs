//! Where transcripts come from. A source finds them and turns their bytes into events; what events mean is the core's.

pub mod claude_code;
pub(crate) mod json;
