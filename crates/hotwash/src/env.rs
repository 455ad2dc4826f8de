//! Every environment variable that hotwash looks at, and the one place that looks.
#![expect(clippy::doc_markdown, reason = "these comments are shown on a terminal")]

use crate::folders::{Folders, System, folders};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A variable and what it does.
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, in a sentence.
    pub(crate) about: &'static str,
}

macro_rules! variables {
    ($($constant:ident = $name:literal, $about:literal;)*) => {
        $(#[doc = $about] pub(crate) const $constant: &str = $name;)*
        /// All of them, for the reference page.
        pub(crate) const ALL: &[Variable] = &[$(Variable { name: $name, about: $about },)*];
    };
}

variables! {
    STORE = "HOTWASH_STORE", "The file that facts and scores are kept in.";
    NO_ARCHIVE = "HOTWASH_NO_ARCHIVE", "Set to 1 to keep no copies of transcripts.";
    JOBS = "HOTWASH_JOBS", "How many files are read at once.";
    RUBRIC = "HOTWASH_RUBRIC", "The rubric to grade by: v2, v1, v0 or a file.";
    JUDGE = "HOTWASH_JUDGE", "Who grades: offline, anthropic, anthropic-batch, claude-cli, openai or files.";
    JUDGE_MODEL = "HOTWASH_JUDGE_MODEL", "The model that judges quality and outcome.";
    JUDGE_SMALL_MODEL = "HOTWASH_JUDGE_SMALL_MODEL", "The model that judges what is easier.";
    MAX_USD = "HOTWASH_MAX_USD", "Never spend more than this in a run.";
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY", "The key for --judge anthropic and anthropic-batch.";
    ANTHROPIC_BASE_URL = "ANTHROPIC_BASE_URL", "Where the Messages API is.";
    OPENAI_API_KEY = "OPENAI_API_KEY", "The key for --judge openai; local servers need none.";
    OPENAI_BASE_URL = "OPENAI_BASE_URL", "Where an endpoint is that speaks as OpenAI's does.";
    LANGFUSE_HOST = "LANGFUSE_HOST", "Where Langfuse is: a URL.";
    LANGFUSE_BASE_URL = "LANGFUSE_BASE_URL", "The same, where LANGFUSE_HOST is not set.";
    LANGFUSE_PUBLIC_KEY = "LANGFUSE_PUBLIC_KEY", "The public key of a project in Langfuse, pk-lf-...";
    LANGFUSE_SECRET_KEY = "LANGFUSE_SECRET_KEY", "The secret key of that project, sk-lf-...";
    HTTPS_PROXY = "HTTPS_PROXY", "The proxy that judges and Langfuse are reached through; not what is on this machine.";
    HTTPS_PROXY_SMALL = "https_proxy", "The same, where HTTPS_PROXY is not set.";
    NO_PROXY = "NO_PROXY", "Hosts and domains, separated by commas, that no proxy is used for; * is all.";
    NO_PROXY_SMALL = "no_proxy", "The same, where NO_PROXY is not set.";
    SINCE = "HOTWASH_SINCE", "How far back to look, such as 7d.";
    UTC = "HOTWASH_UTC", "Set to 1 to show times in UTC.";
    COLOR = "HOTWASH_COLOR", "auto, always or never.";
    WIDE = "HOTWASH_WIDE", "Set to 1 to use the whole width of the terminal.";
    HOTWASH_PAGER = "HOTWASH_PAGER", "The pager for long output; before PAGER.";
    PAGER = "PAGER", "The pager for long output.";
    LESSCHARSET = "LESSCHARSET", "The character set of less; else it is told that this is UTF-8.";
    NO_COLOR = "NO_COLOR", "Set to anything to have no colour.";
    CLAUDE_CONFIG_DIR = "CLAUDE_CONFIG_DIR", "Claude Code's folders, separated by commas, instead of ~/.claude.";
    HOME = "HOME", "The home directory: where the defaults below start, and what redaction turns into ~.";
    XDG_DATA_HOME = "XDG_DATA_HOME", "Where the store is by default, in hotwash/; else ~/.local/share, or where the system has data.";
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME", "Where the user's settings are, in hotwash/config.toml; else ~/.config, or where the system has settings.";
    USERPROFILE = "USERPROFILE", "On Windows, the home directory; before HOME.";
    APPDATA = "APPDATA", "On Windows, where settings are, where XDG_CONFIG_HOME is not set.";
    LOCALAPPDATA = "LOCALAPPDATA", "On Windows, where the store is, where XDG_DATA_HOME is not set.";
    USER = "USER", "The account's name, which redaction takes out of texts.";
    LOGNAME = "LOGNAME", "The account's name, where USER is not set.";
    USERNAME = "USERNAME", "The account's name on Windows.";
    HOSTNAME = "HOSTNAME", "The machine's name, which redaction takes out of texts.";
    COMPUTERNAME = "COMPUTERNAME", "The machine's name on Windows.";
    TMPDIR = "TMPDIR", "Where the example week and stdin are put while they are read; else /tmp.";
    TEMP = "TEMP", "The same on Windows.";
    COLUMNS = "COLUMNS", "The width of the terminal, where the terminal does not say.";
}

/// The environment as it was when the program began.
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Where we are.
    pub(crate) folder: PathBuf,
}

impl Environment {
    /// Reads it.
    pub(crate) fn read() -> Environment {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let mut variables: BTreeMap<_, _> =
            std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        let home = if cfg!(windows) { USERPROFILE } else { HOME };
        if variables.get(home).is_none_or(String::is_empty)
            && let Some(folder) = std::env::home_dir()
        {
            variables.insert(home.to_owned(), text(folder.into_os_string()));
        }
        Environment { variables, folder: std::env::current_dir().unwrap_or_default() }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All that are set.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The home directory.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.folders().home.map(PathBuf::from)
    }

    /// Where things are kept.
    pub(crate) fn folders(&self) -> Folders {
        folders(System::THIS, |name| self.get(name))
    }
}
