//! `hotwash forget`

use super::Context;
use crate::cli::Forget;
use crate::errors::{Exit, Failure};

pub(super) fn run(_context: &Context<'_>, _args: &Forget) -> Result<Exit, Failure> {
    Err(Failure::new("not yet"))
}
