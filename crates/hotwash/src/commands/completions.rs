//! `hotwash completions`: a script that lets a shell complete the command line.

use crate::cli::{Cli, Completions};
use crate::errors::{Exit, Failure};
use crate::screen::stdout;
use clap::CommandFactory as _;

pub(super) fn run(args: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hotwash", &mut script);
    stdout(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
