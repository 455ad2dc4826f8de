//! One file per command.

mod completions;
mod config;
mod doctor;
mod export;
mod facts;
mod forget;
mod langfuse;
mod prism;
mod redact;
pub(crate) mod rework;
mod rubric;
mod score;
mod sessions;
mod show;
mod summary;

use crate::cli::{Cli, Command, Gate, Judging, LangfuseAccess, Select};
use crate::env::Environment;
use crate::errors::{Exit, Failure};
use crate::screen::Screen;
use crate::settings::{self, Settings};
use std::time::Instant;

/// What every command gets.
pub(crate) struct Context<'a> {
    /// The settings.
    pub(crate) settings: Settings,
    /// The screen.
    pub(crate) screen: Screen,
    /// The environment, for what is no setting.
    pub(crate) env: &'a Environment,
    /// When the program began.
    pub(crate) started: Instant,
}

/// Does what was asked.
pub(crate) fn run(cli: Cli, env: &Environment, started: Instant) -> Result<Exit, Failure> {
    let Cli { global, select, command } = cli;
    if command.is_some() && (select.since.is_some() || select.until.is_some() || select.project.is_some()) {
        return Err(Failure::new("--since, --until and --project stand behind the command")
            .hint("such as `hotwash sessions --since 2w`"));
    }
    let (judging, since) = match &command {
        None => (Judging::default(), select.since.clone()),
        Some(Command::Score(args)) => (args.judging.clone(), args.select.since.clone()),
        Some(Command::Sessions(args)) => (Judging::default(), args.select.since.clone()),
        Some(Command::Export(args)) => (Judging::default(), args.select.since.clone()),
        Some(Command::Prism(args)) => (Judging::default(), args.select.since.clone()),
        Some(Command::Langfuse(args)) => (Judging::default(), args.since().map(str::to_owned)),
        Some(_) => (Judging::default(), None),
    };
    let langfuse = match &command {
        Some(Command::Score(args)) => args.langfuse.clone(),
        Some(Command::Langfuse(args)) => args.access.clone(),
        _ => LangfuseAccess::default(),
    };
    let gate = match &command {
        Some(Command::Score(args)) => args.gate,
        _ => Gate::default(),
    };
    let settings = settings::resolve(global, judging, langfuse, since, gate, env)?;
    let screen = Screen::new(&settings, env);
    let context = Context { settings, screen, env, started };
    match command {
        None => summary::run(&context, &select),
        Some(Command::Score(args)) => score::run(&context, &args),
        Some(Command::Sessions(args)) => sessions::run(&context, &args),
        Some(Command::Show(args)) => show::run(&context, &args),
        Some(Command::Prism(args)) => prism::run(&context, &args),
        Some(Command::Rework(args)) => rework::run(&context, &args),
        Some(Command::Redact(args)) => redact::run(&context, &args),
        Some(Command::Facts(args)) => facts::run(&context, &args),
        Some(Command::Export(args)) => export::run(&context, &args),
        Some(Command::Rubric(args)) => rubric::run(&context, &args),
        Some(Command::Langfuse(args)) => langfuse::run(&context, &args.command),
        Some(Command::Forget(args)) => forget::run(&context, &args),
        Some(Command::Config(args)) => config::run(&context, &args),
        Some(Command::Doctor(args)) => doctor::run(&context, &args),
        Some(Command::Completions(args)) => completions::run(&args),
    }
}

/// The project that sessions are picked by.
fn project(select: &Select) -> Option<&str> {
    select.project.as_deref()
}
