//! `hotwash export`

use super::Context;
use crate::cli::Export;
use crate::errors::{Exit, Failure};

pub(super) fn run(_context: &Context<'_>, _args: &Export) -> Result<Exit, Failure> {
    Err(Failure::new("not yet"))
}
