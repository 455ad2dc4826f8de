//! Long output through a pager.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Shows text in a pager. Where the pager cannot be started, prints it.
pub(crate) fn page(pager: &str, charset_is_known: bool, text: &str) -> io::Result<()> {
    // A pager may have arguments and quotes, as in other tools: the shell reads them.
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if !charset_is_known {
        // Without a locale less takes anything beyond ASCII for garbage.
        command.env("LESSCHARSET", "utf-8");
    }
    let started = command.spawn();
    let Ok(mut child) = started else {
        return super::stdout(text);
    };
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(text.as_bytes()) {
            // Left before the end: nothing wrong with that.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
    }
    let status = child.wait()?;
    // 127: there is no such program.
    if status.code() == Some(127) { super::stdout(text) } else { Ok(()) }
}
