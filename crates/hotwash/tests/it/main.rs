//! The compiled program in a temporary directory with a clean environment: exit code, stdout and stderr as people see
//! them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "../../../hotwash-engine/tests/obliging/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod obliging;

mod config;
mod doctor;
mod export;
mod facts;
mod forget;
mod injections;
mod judging;
mod killed;
mod langfuse;
mod prism;
mod redact;
mod rubric;
mod score;
mod secrets;
mod sessions;
mod show;
mod summary;
mod topics;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A home of its own.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// One in which Claude Code never ran.
    fn empty() -> Home {
        let home = Home { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "data", "config", "tmp", "work"] {
            fs::create_dir(home.path(folder)).unwrap();
        }
        home
    }

    /// One with the example week as its transcripts.
    fn with_examples() -> Home {
        let home = Home::empty();
        copy(&root().join("examples/projects"), &home.path("claude/projects"));
        home
    }

    /// One with some fixtures as its transcripts.
    fn with_fixtures(names: &[&str]) -> Home {
        let home = Home::empty();
        fs::create_dir_all(home.path("claude/projects/p")).unwrap();
        for name in names {
            let to = home.path("claude/projects/p").join(Path::new(name).file_name().unwrap());
            fs::copy(fixture(name), to).unwrap();
        }
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn store(&self) -> PathBuf {
        self.path("data/hotwash/hotwash.db")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotwash"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("CLAUDE_CONFIG_DIR", self.path("claude"))
            .env("TMPDIR", self.path("tmp"))
            .env("HOSTNAME", "testhost")
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Exit code, stdout and stderr in one block, without what differs from run to run.
    fn run(&self, args: &[&str]) -> String {
        self.shown(&self.output(args))
    }

    fn shown(&self, output: &Output) -> String {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code().unwrap();
        let block = format!("exit: {code}\n----- stdout -----\n{stdout}----- stderr -----\n{stderr}");
        let folder = self.folder.path().to_string_lossy().into_owned();
        let block = block.replace(&*folder, "[DIR]").replace(&*root().to_string_lossy(), "[ROOT]");
        let block = block.replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
        without_times(&block)
    }

    /// Stdout of a run that must go well.
    fn stdout(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(output.status.success(), "{}", self.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.stdout(args)).unwrap()
    }
}

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures/claude-code").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// "Local only. 0.3 s" says how long it took, which is never the same.
fn without_times(block: &str) -> String {
    let line = |line: &str| match line.split_once("Local only. ") {
        Some((before, _)) => format!("{before}Local only. [TIME]"),
        None => line.to_owned(),
    };
    block.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Without line breaks and columns, which hang on how long the temporary directory's name is.
fn folded(block: &str) -> String {
    block.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ok ", "\nok ").replace(" warn ", "\nwarn ")
}

/// How many columns a line takes.
fn columns(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}
