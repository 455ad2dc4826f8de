//! hotwash grades AI coding sessions: facts, scores and outcomes, each with its evidence.
//!
//! The binary is the one mouth: only it prints, reads the environment and picks an exit code.

mod cli;
mod commands;
mod counts;
mod env;
mod errors;
mod example;
mod judge;
mod judge_settings;
mod langfuse;
mod ledger;
mod machine;
mod proxy;
mod pulling;
mod repositories;
mod run;
mod screen;
mod settings;
mod shapes;
mod sharing;
mod timeline;
mod window;

use clap::Parser as _;
use std::process::ExitCode;

/// Sessions come and go by the thousand, each with hundreds of small things, made by one thread and mostly freed by
/// another. The system's allocator takes a tenth of the first run for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let cli = cli::Cli::parse();
    let env = env::Environment::read();
    errors::exit(commands::run(cli, &env, started), &env)
}
