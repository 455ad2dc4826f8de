//! `hotwash doctor`

use super::Context;
use crate::cli::Doctor;
use crate::errors::{Exit, Failure};

pub(super) fn run(_context: &Context<'_>, _args: &Doctor) -> Result<Exit, Failure> {
    Err(Failure::new("not yet"))
}
