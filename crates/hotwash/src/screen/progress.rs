//! How far a run is, on stderr and only for people.

use super::COLUMNS;
use super::text::{fit, line};
use hotwash_engine::judging::{Dockets, Report};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

/// A bar that appears once there is something to wait for.
pub(crate) struct Progress {
    bar: OnceLock<ProgressBar>,
    shown: bool,
}

impl Progress {
    /// Shown where stderr is a terminal.
    pub(crate) fn new() -> Progress {
        Progress { bar: OnceLock::new(), shown: std::io::stderr().is_terminal() }
    }

    /// Files done, files in all, bytes done, bytes in all.
    pub(crate) fn tell(&self, files: usize, of_files: usize, bytes: u64, of_bytes: u64) {
        if !self.shown || of_files < 8 {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(of_bytes), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("reading {wide_bar} {bytes}/{total_bytes}  {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("##."));
            }
            bar
        });
        bar.set_position(bytes);
        bar.set_message(format!("{files} of {of_files}"));
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// How far judging is: sessions done, and what was spent.
pub(crate) struct JudgingBar {
    bar: OnceLock<ProgressBar>,
    shown: bool,
    /// So many were done before it began.
    before: Cell<u64>,
}

impl JudgingBar {
    /// Shown where stderr is a terminal.
    pub(crate) fn new() -> JudgingBar {
        JudgingBar { bar: OnceLock::new(), shown: std::io::stderr().is_terminal(), before: Cell::new(0) }
    }

    /// Sessions are to be judged, or transcripts looked through.
    pub(crate) fn begin(&self, dockets: &Dockets<'_>) {
        let sessions = dockets.open.len() as u64;
        if !self.shown || sessions == 0 {
            return;
        }
        self.before.set(done(&dockets.report));
        if let Some(bar) = self.bar.get() {
            bar.reset();
            bar.set_length(sessions);
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(sessions), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("judging {wide_bar} {pos} of {len}  {msg}") {
            bar.set_style(style.progress_chars("##."));
        }
        let _ = self.bar.set(bar);
    }

    /// How far it is.
    pub(crate) fn tell(&self, report: &Report) {
        let Some(bar) = self.bar.get() else { return };
        let failed: u64 = report.failed.values().sum();
        bar.set_position(done(report).saturating_sub(self.before.get()));
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        bar.set_message(format!("{} answers, ${:.2} spent{failed}", report.calls, report.spent.dollars()));
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// Of what was taken up, how much is done.
fn done(report: &Report) -> u64 {
    report.judged + report.waits + report.failed.values().sum::<u64>()
}

/// How far something is that Langfuse takes part in: sessions done.
pub(crate) struct SessionsBar {
    doing: &'static str,
    bar: OnceLock<ProgressBar>,
    shown: bool,
}

impl SessionsBar {
    /// Shown where stderr is a terminal.
    pub(crate) fn new(doing: &'static str) -> SessionsBar {
        SessionsBar { doing, bar: OnceLock::new(), shown: std::io::stderr().is_terminal() }
    }

    /// Sessions done, and of how many.
    pub(crate) fn tell(&self, done: usize, of: usize) {
        if !self.shown || of < 2 {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(of as u64), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos} of {len}") {
                bar.set_style(style.progress_chars("##."));
            }
            bar.set_prefix(self.doing);
            bar
        });
        bar.set_position(done as u64);
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// Says what is waited for and for how long, on a line that is taken away when that is over.
pub(crate) fn waiting(wait: Option<(&str, Duration)>) {
    let mut err = std::io::stderr().lock();
    if err.is_terminal() {
        let columns = terminal_size::terminal_size().map_or(COLUMNS, |(width, _)| usize::from(width.0));
        let words = wait.map(|(what, time)| fit(&waiting_line(what, time), columns.saturating_sub(1)));
        // A terminal that is gone is no reason to stop.
        let _ = write!(err, "\r\x1b[2K{}", words.unwrap_or_default()).and_then(|()| err.flush());
    }
}

/// The time comes first, because what is waited for may have to be cut.
fn waiting_line(what: &str, time: Duration) -> String {
    format!("waiting {} s: {}", time.as_secs_f64().ceil(), line(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_said_on_one_line() {
        let said = waiting_line("the server answered 503:\nService\u{1b}[2J", Duration::from_millis(2_400));
        assert!(said.starts_with("waiting 3 s: the server answered 503: Service"), "{said}");
        assert!(!said.contains(char::is_control), "{said:?}");
    }
}
