//! Words on the screen: where they go, how wide it is, how they are written.

pub(crate) mod numbers;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod style;
pub(crate) mod text;
pub(crate) mod time;

use crate::env::{self, Environment};
use crate::settings::Settings;
use std::io::{self, IsTerminal as _, Write as _};
use style::Style;
use time::Clock;

/// The width that everything fits into unless more is asked for.
pub(crate) const COLUMNS: usize = 80;
/// The height that a screen has unless the terminal says otherwise.
pub(crate) const LINES: usize = 24;

/// The screen as a command sees it.
pub(crate) struct Screen {
    /// How wide lines may be.
    pub(crate) width: usize,
    /// Colours, or none.
    pub(crate) style: Style,
    /// How moments are shown.
    pub(crate) clock: Clock,
    pager: String,
    charset_is_known: bool,
}

impl Screen {
    /// The screen by the settings.
    pub(crate) fn new(settings: &Settings, env: &Environment) -> Screen {
        Screen {
            width: width(settings.wide.value, env),
            style: Style::for_output(settings.color.value),
            clock: Clock::new(settings.utc.value),
            pager: settings.pager.value.clone(),
            charset_is_known: env.get(env::LESSCHARSET).is_some(),
        }
    }

    /// Prints through the pager where that helps.
    pub(crate) fn page(&self, text: &str) -> io::Result<()> {
        let tall = terminal_size::terminal_size().map_or(LINES, |(_, height)| usize::from(height.0));
        if !io::stdout().is_terminal() || self.pager.is_empty() || text.lines().count() < tall {
            return stdout(text);
        }
        pager::page(&self.pager, self.charset_is_known, text)
    }
}

fn width(wide: bool, env: &Environment) -> usize {
    let terminal = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    let terminal = terminal.map(|(width, _)| usize::from(width.0));
    let said = terminal.or_else(|| env.get(env::COLUMNS).and_then(|columns| columns.parse().ok()));
    match said {
        Some(columns) if wide => columns.max(40),
        Some(columns) => columns.clamp(40, COLUMNS),
        // In a pipe nobody cuts lines off.
        None if wide => 200,
        None => COLUMNS,
    }
}

/// Writes to stdout.
pub(crate) fn stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes to stderr. That nobody reads it is no reason to stop.
pub(crate) fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
