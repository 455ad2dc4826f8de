//! What went wrong, what to do next, and the exit code that says it to scripts.

use crate::env::Environment;
use crate::screen;
use hotwash_engine::stores::StoreError;
use std::fmt;
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All of it.
    Done,
    /// All of it, and the score is under `--fail-under`.
    Under,
    /// A part: something could not be read, kept or archived.
    Partly,
}

impl Exit {
    /// Both together: the one that says more.
    pub(crate) fn and(self, other: Exit) -> Exit {
        if self == Exit::Done { other } else { self }
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody is listening any more, which is fine.
    ClosedPipe,
    /// What could not be done.
    Cannot {
        /// What, and of which thing.
        what: String,
        /// Why, from the outside in.
        causes: Vec<String>,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl Failure {
    /// Something could not be done.
    pub(crate) fn new(what: impl Into<String>) -> Failure {
        Failure::Cannot { what: what.into(), causes: Vec::new(), hint: None }
    }

    /// Because of this.
    pub(crate) fn cause(mut self, cause: impl fmt::Display) -> Failure {
        if let Failure::Cannot { causes, .. } = &mut self {
            causes.push(cause.to_string());
        }
        self
    }

    /// And this is what to do.
    pub(crate) fn hint(mut self, words: impl Into<String>) -> Failure {
        if let Failure::Cannot { hint, .. } = &mut self {
            *hint = Some(words.into());
        }
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        // SQLite quotes the whole statement; its first line is enough to look for.
        let words = error.to_string();
        Failure::new(words.lines().next().unwrap_or_default()).hint(error.hint())
    }
}

/// Errors of writing to the screen or to a pipe.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::new("cannot write the output").cause(screen::text::words(&error))
    }
}

/// Says what went wrong, if anything, and picks the exit code.
pub(crate) fn exit(result: Result<Exit, Failure>, env: &Environment) -> ExitCode {
    match result {
        Ok(Exit::Done) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Exit::Under) => ExitCode::from(1),
        Ok(Exit::Partly) => ExitCode::from(3),
        Err(Failure::Cannot { what, causes, hint }) => {
            let style = screen::style::Style::for_errors(env);
            let mut text = format!("{} {what}\n", style.error("error:"));
            for cause in causes {
                let _ = writeln!(text, "  cause: {cause}");
            }
            if let Some(hint) = hint {
                let hint = screen::text::wrap_indented(&hint, screen::COLUMNS, "hint: ".len());
                let _ = writeln!(text, "\n{} {hint}", style.strong("hint:"));
            }
            screen::stderr(&text);
            ExitCode::from(2)
        }
    }
}
