//! hotwash grades AI coding sessions: facts, scores and outcomes, each with its evidence.
//!
//! The binary is the one mouth: only it prints, reads the environment and picks an exit code.

mod cli;
mod commands;
mod env;
mod errors;
mod example;
mod folders;
mod judge;
mod judge_settings;
mod langfuse;
mod machine;
mod proxy;
mod pulling;
mod repositories;
mod run;
mod screen;
mod settings;
mod shapes;
mod sharing;
mod window;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let cli = cli::Cli::parse();
    let env = env::Environment::read();
    errors::exit(commands::run(cli, &env, started), &env)
}
