//! `hotwash facts`

use super::Context;
use crate::cli::Facts;
use crate::errors::{Exit, Failure};

pub(super) fn run(_context: &Context<'_>, _args: &Facts) -> Result<Exit, Failure> {
    Err(Failure::new("not yet"))
}
