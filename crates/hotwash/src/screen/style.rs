//! Colour, which only repeats what the words say.

use crate::cli::Color;
use crate::env::{self, Environment};
use anstyle::{AnsiColor, Effects, Style as Ansi};
use std::io::IsTerminal as _;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    /// For stdout.
    pub(crate) fn for_output(color: Color) -> Style {
        let on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
        };
        Style { on }
    }

    /// For stderr, before any setting is known.
    pub(crate) fn for_errors(env: &Environment) -> Style {
        Style { on: std::io::stderr().is_terminal() && env.get(env::NO_COLOR).is_none() }
    }

    fn paint(self, style: Ansi, text: &str) -> String {
        if self.on && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A heading.
    pub(crate) fn heading(self, text: &str) -> String {
        self.paint(Ansi::new().effects(Effects::BOLD), text)
    }

    /// Something that matters.
    pub(crate) fn strong(self, text: &str) -> String {
        self.heading(text)
    }

    /// Something that may be passed over.
    pub(crate) fn quiet(self, text: &str) -> String {
        self.paint(Ansi::new().effects(Effects::DIMMED), text)
    }

    /// A mark of trouble.
    pub(crate) fn error(self, text: &str) -> String {
        self.paint(Ansi::new().fg_color(Some(AnsiColor::Red.into())).effects(Effects::BOLD), text)
    }

    /// A mark of attention.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(Ansi::new().fg_color(Some(AnsiColor::Yellow.into())), text)
    }

    /// Something to type.
    pub(crate) fn command(self, text: &str) -> String {
        self.paint(Ansi::new().fg_color(Some(AnsiColor::Cyan.into())), text)
    }

    /// A tier, by its place from the best (0) down. Blue to orange: no pair that some eyes cannot tell apart.
    pub(crate) fn tier(self, place: usize, text: &str) -> String {
        let color = match place {
            0 => AnsiColor::BrightBlue,
            1 => AnsiColor::Cyan,
            2 => return text.to_owned(),
            3 => AnsiColor::Yellow,
            _ => AnsiColor::BrightRed,
        };
        self.paint(Ansi::new().fg_color(Some(color.into())), text)
    }
}
