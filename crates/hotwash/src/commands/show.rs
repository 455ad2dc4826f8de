//! `hotwash show`

use super::Context;
use crate::cli::Show;
use crate::errors::{Exit, Failure};

pub(super) fn run(_context: &Context<'_>, _args: &Show) -> Result<Exit, Failure> {
    Err(Failure::new("not yet"))
}
