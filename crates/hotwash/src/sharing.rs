//! What may leave this machine, to a model or to anybody else.

use crate::commands::Context;
use crate::machine;
use crate::repositories::Repositories;
use crate::run::Run;
use crate::settings::{self, Settings};
use hotwash_core::redaction::{Rules, redact};
use hotwash_engine::pipeline::Folders;
use hotwash_engine::stores::Row;

/// What placeholders in a path begin with, apart from `~`.
const PLACEHOLDERS: [&str; 6] = ["<USER:", "<HOST:", "<SECRET:", "<EMAIL:", "<PHONE:", "<CARD:"];

/// What may leave.
pub(crate) struct Sharing<'a> {
    settings: &'a Settings,
    repositories: Repositories,
    rules: &'a Rules,
    /// Names of this machine, by what stands for them.
    names: Vec<(String, String)>,
}

impl<'a> Sharing<'a> {
    pub(crate) fn new(context: &'a Context<'_>, rules: &'a Rules) -> Sharing<'a> {
        let names = machine::names(context.env);
        Sharing {
            settings: &context.settings,
            repositories: Repositories::new(context.env),
            rules,
            names: names.into_iter().map(|name| (redact(&name, rules).into_string(), name)).collect(),
        }
    }

    pub(crate) fn allows(&self, row: &Row) -> bool {
        let project = row.session.project.as_str();
        // A folder that cannot be found again may hold a file that says no.
        let Some(named) = self.named(project) else { return false };
        self.allows_from(&named) && !self.settings.opt_out.value.iter().any(|part| project.contains(part.as_str()))
    }

    /// The same for a session that may have been in several folders, each of which is asked. What can no longer be read is
    /// known by the one it is counted to.
    pub(crate) fn allows_whole(&self, run: &Run<'_>, row: &Row) -> bool {
        if !self.allows(row) {
            return false;
        }
        let mut folders = Folders::default();
        let _ = run.tell(row, &mut |event| folders.see(event));
        folders.all(|folder| self.allows_from(folder))
    }

    /// Whether what was done in a folder may leave.
    pub(crate) fn allows_from(&self, folder: &str) -> bool {
        let Settings { share, opt_out, .. } = self.settings;
        let path = self.repositories.folder(folder);
        let whole = path.to_string_lossy();
        let left_out = |part: &String| [folder, &whole].iter().any(|path| path.contains(part.as_str()));
        // A switch in the folder where we happen to be says nothing of other projects.
        let off = !share.value && !matches!(share.from, settings::Layer::Project(..));
        !off && !opt_out.value.iter().any(left_out) && settings::shares(&path)
    }

    /// A project's path with the names that were taken out of it; none where something else was.
    fn named(&self, project: &str) -> Option<String> {
        let has_placeholder = |path: &str| PLACEHOLDERS.iter().any(|mark| path.contains(mark));
        if !has_placeholder(project) {
            return Some(project.to_owned());
        }
        let named = self.names.iter().fold(project.to_owned(), |path, (mark, name)| path.replace(mark, name));
        (!has_placeholder(&named) && redact(&named, self.rules).as_str() == project).then_some(named)
    }
}
