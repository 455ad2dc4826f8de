//! The git repositories in which sessions worked, asked what became of their work.

use crate::env::Environment;
use crate::run::Run;
use hotwash_core::rework::Settings;
use hotwash_core::sessions::{SessionId, Timestamp};
use hotwash_engine::git::{GitError, Outcome, Repository, Work};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Repositories by the folder in which sessions worked, each opened once.
pub(crate) struct Repositories {
    home: Option<PathBuf>,
    opened: BTreeMap<PathBuf, Option<Repository>>,
    /// Why some could not be asked.
    problems: BTreeMap<String, u64>,
}

impl Repositories {
    /// None opened yet.
    pub(crate) fn new(env: &Environment) -> Repositories {
        Repositories { home: env.home(), opened: BTreeMap::new(), problems: BTreeMap::new() }
    }

    /// The folder of a project. What is shown and stored has `~` for the home folder.
    pub(crate) fn folder(&self, project: &str) -> PathBuf {
        match (project.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(project),
        }
    }

    /// What a repository says of a session's work; nothing where it cannot be asked, or the session changed nothing.
    pub(crate) fn outcome(
        &mut self,
        run: &Run<'_>,
        id: &SessionId,
        span: (Option<Timestamp>, Option<Timestamp>),
        folder: &Path,
    ) -> Option<Outcome> {
        let (from, to) = (span.0?, span.1?);
        let print = run.store.print(id).ok()?;
        if !self.opened.contains_key(folder) {
            let opened = Repository::open(folder).map_err(|error| self.note(&error)).ok();
            self.opened.insert(folder.to_path_buf(), opened);
        }
        let repository = self.opened.get(folder)?.as_ref()?;
        match repository.outcome(&Work { from, to, print: &print }, &Settings::default()) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    fn note(&mut self, error: &GitError) {
        *self.problems.entry(error.to_string()).or_default() += 1;
    }

    /// Why some could not be asked, in words.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &str> {
        self.problems.keys().map(String::as_str)
    }
}
