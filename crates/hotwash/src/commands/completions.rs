//! `hotwash completions`: a script that lets a shell complete the command line.

use super::Context;
use crate::cli::{Cli, Completions};
use crate::errors::{Exit, Failure};
use clap::CommandFactory as _;

pub(super) fn run(context: &Context<'_>, args: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hotwash", &mut script);
    context.screen.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
