//! Files changed: how much, with or without looking first, and back and forth.

use super::calls::{KeyMap, OpenCall, Status};
use super::value::{Cited, facts};
use super::word::Own;
use super::{Fold, text_hash};
use crate::rework::{Changes, Fingerprint, Lines};
use crate::sessions::{Event, EventId, Outcome, Tool};
use serde::{Deserialize, Serialize};

facts! {
    /// Files changed.
    pub struct EditFacts {
        /// Edits, writes and notebook edits that worked.
        /// Why: the work itself.
        /// Blind: changes made through the shell.
        edit_calls_ok: Cited,
        /// Distinct files changed.
        /// Why: the breadth of the change.
        /// Blind: as above.
        files_edited: u64,
        /// Files that did not exist before.
        /// Why: tells new work from changes.
        /// Blind: files made through the shell.
        files_created: u64,
        /// Distinct files read or changed.
        /// Why: sessions that touch the same files belong together.
        /// Blind: as above.
        files_touched: u64,
        /// Lines added.
        /// Why: the size of the change.
        /// Blind: results recorded without their patch.
        lines_added: u64,
        /// Lines removed.
        /// Why: the size of the change.
        /// Blind: as above.
        lines_removed: u64,
        /// Edits of a file that nothing earlier in the transcript read, changed or wrote.
        /// Why: an edit in the dark is a guess.
        /// Blind: a file that was read through the shell or shown by the client.
        edits_without_prior_read: Cited,
        /// Edits that the tool turned down because the file had not been read.
        /// Why: the cleaner sign of an edit in the dark.
        /// Blind: other agents' tools do not check.
        edits_refused_unread: Cited,
        /// Edits that only put back what an earlier edit of the session had replaced.
        /// Why: going back and forth on one spot usually means guessing.
        /// Blind: reverts through the shell, such as `git checkout`.
        reverted_edits: Cited,
        /// Whether every file that existed was read before it was changed.
        /// Why: the seed's read-before-edit.
        /// Blind: as `edits_without_prior_read`.
        read_before_edit: Option<bool>,
        /// Programming languages of the files changed or read, by their endings, most files first.
        /// Why: results differ by language.
        /// Blind: endings we do not know.
        programming_languages: Vec<Own>,
    }
}

/// The fold behind [`EditFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Edits {
    facts: EditFacts,
    /// By hash of the path.
    files: KeyMap<u64, File>,
    languages: std::collections::BTreeMap<Own, u64>,
    changes: Changes,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct File {
    /// It was read, changed or written by a call.
    known: bool,
    edited: bool,
    /// Its number among those whose changes are known.
    number: Option<u32>,
}

impl Fold for Edits {
    type Facts = EditFacts;

    fn called(&mut self, event: &Event<'_>, _: &OpenCall) {
        self.changes.works_in(event.origin.cwd);
    }

    fn said(&mut self, event: &Event<'_>) {
        self.changes.works_in(event.origin.cwd);
    }

    fn ended(&mut self, event: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        self.changes.works_in(event.origin.cwd);
        if status == Status::Failed && outcome.body.head(400).contains("File has not been read yet") {
            self.facts.edits_refused_unread.push(event.origin.id);
        }
        match call {
            Some(call) if call.tool == Tool::Shell => {
                let output = (status == Status::Ok).then_some(&outcome.body);
                self.changes.ran(&call.command, event.origin.cwd, output, call.id, event.origin.at);
            }
            _ if status != Status::Ok => {}
            Some(call) if call.tool.touches() => self.touched(call, outcome, event),
            _ => {
                if let Some(change) = &outcome.change {
                    let path = change.path.to_str();
                    let file = self.files.entry(text_hash(&path)).or_default();
                    let number = *file.number.get_or_insert_with(|| self.changes.file(&path));
                    self.changed(number, &Lines::of(change), event, event.origin.id);
                }
            }
        }
    }

    fn finish(&mut self) -> EditFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.read_before_edit = (!facts.edit_calls_ok.is_empty())
            .then(|| facts.edits_without_prior_read.is_empty() && facts.edits_refused_unread.is_empty());
        let mut languages: Vec<_> = std::mem::take(&mut self.languages).into_iter().collect();
        languages.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        facts.programming_languages = languages.into_iter().map(|(name, _)| name).collect();
        facts
    }
}

impl Edits {
    /// What the session did to its repository.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.changes.fingerprint()
    }

    /// A file was read or changed.
    fn touched(&mut self, call: &OpenCall, outcome: &Outcome<'_>, event: &Event<'_>) {
        let facts = &mut self.facts;
        let file = self.files.entry(call.path_hash()).or_default();
        if !file.known {
            facts.files_touched += 1;
            if let Some(language) = language(&call.path) {
                *self.languages.entry(language.into()).or_default() += 1;
            }
        }
        if call.tool.edits() {
            facts.edit_calls_ok.push(call.id);
            facts.files_edited += u64::from(!file.edited);
            let created = outcome.change.is_some_and(|change| change.created.is_some());
            facts.files_created += u64::from(created);
            if !created && !file.known {
                facts.edits_without_prior_read.push(call.id);
            }
            file.edited = true;
        }
        file.known = true;
        if let Some(change) = &outcome.change {
            let number = *file.number.get_or_insert_with(|| self.changes.file(&call.path));
            self.changed(number, &Lines::of(change), event, call.id);
        }
    }

    /// A change is known line by line.
    fn changed(&mut self, file: u32, change: &Lines, event: &Event<'_>, cited: EventId) {
        self.facts.lines_added += change.added;
        self.facts.lines_removed += change.removed;
        if self.changes.edited(file, change, cited, event.origin.at) {
            self.facts.reverted_edits.push(event.origin.id);
        }
    }
}

/// The ending of a file's name, in lower case.
fn ending(name: &str) -> Option<String> {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

/// The language of a file by its ending.
fn language(path: &str) -> Option<&'static str> {
    Some(match ending(name(path))?.as_str() {
        "rs" => "Rust",
        "go" => "Go",
        "py" | "pyi" | "ipyn" => "Python",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "swift" => "Swift",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "C++",
        "cs" => "C#",
        "r" => "Ruby",
        "php" => "PHP",
        "ex" | "exs" => "Elixir",
        "scala" => "Scala",
        "hs" => "Haskell",
        "lua" => "Lua",
        "zig" => "Zig",
        "dart" => "Dart",
        "sh" | "bash" | "zsh" => "Shell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "sass" | "less" => "CSS",
        "vue" => "Vue",
        "svelte" => "Svelte",
        _ => return None,
    })
}

/// Whether a change to this file is a change to the program rather than to its prose, to what a tool writes by itself, or
/// to what git is to leave out.
pub fn is_source(path: &str) -> bool {
    let name = name(path);
    let begins = |word: &str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let prose =
        ["md", "mdx", "txt", "rst", "adoc", "org", "log", "csv", "svg", "png", "jpg", "pdf", "lock", "lockb", "sum"];
    let beside = [
        "license",
        "changelog",
        "readme",
        "codeowners",
        "notice",
        ".gitignore",
        ".gitattributes",
        "package-lock.",
        "pnpm-lock.",
        "npm-shrinkwrap.",
    ];
    let ignores = name.starts_with('.') && name.ends_with("ignore");
    !ending(name).is_some_and(|ending| prose.contains(&&*ending)) && !ignores && !beside.into_iter().any(begins)
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;
    use crate::sessions::EventId;

    #[test]
    fn prose_lock_files_and_ignore_lists_are_no_source() {
        for path in [
            "README",
            "docs/plan.md",
            "NOTES.txt",
            "Cargo.lock",
            "web/package-lock.json",
            "pnpm-lock.yaml",
            "go.sum",
            "yarn.lock",
            ".gitignore",
            "a/.dockerignore",
            "LICENSE-MIT",
            ".github/CODEOWNERS",
            "bun.lockb",
        ] {
            assert!(!super::is_source(path), "{path}");
        }
        for path in ["src/lock.rs", "a.py", "package.json", "Makefile", "locks/a.go", "ignore.ts"] {
            assert!(super::is_source(path), "{path}");
        }
    }

    #[test]
    fn counts_the_lines_of_patches_and_new_files() {
        let facts = facts_of(
            "
            e1 Read  a.rs
            e2 ok
            e3 Edit  a.rs -old line +new line +another
            e4 ok
            e5 Write b.rs +one +two
            e6 created
        ",
        );
        let edits = facts.edits;
        assert_eq!((edits.lines_added, edits.lines_removed), (4, 1));
        assert_eq!((edits.files_edited, edits.files_created, edits.files_touched), (2, 1, 2));
        assert_eq!(edits.read_before_edit, Some(true));
        assert_eq!(edits.programming_languages, ["Rust"]);
    }

    #[test]
    fn prose_is_no_source() {
        for (path, source) in [
            ("/a/lib.rs", true),
            ("Makefile", true),
            ("md", true),
            ("a.md/b", true),
            ("c:\\docs.txt\\x.go", true),
            ("a.markdown", true),
            ("README.md", false),
            ("/a/Notes.RST", false),
            ("a.rs.txt", false),
            (".adoc", false),
            ("LICENSE", false),
            ("ChangeLog.rs", false),
        ] {
            assert_eq!(super::is_source(path), source, "{path}");
        }
    }

    #[test]
    fn an_edit_in_the_dark_is_seen() {
        let facts = facts_of("e1 Edit  a.rs -a +b\n e2 ok\n e3 Edit  a.rs -b +c\n e4 ok");
        assert_eq!(facts.edits.edits_without_prior_read.0, [EventId(1)]);
        assert_eq!(facts.edits.read_before_edit, Some(false));
    }

    #[test]
    fn an_edit_and_its_undo_count_once() {
        let facts = facts_of(
            "
            e1 user  fix the parser
            e2 Edit  src/parse.rs -let first = 1; +let second = 2;
            e3 ok
            e4 Edit  src/parse.rs -let second = 2; +let first = 1;
            e5 ok
        ",
        );
        assert_eq!(facts.edits.reverted_edits.0, [EventId(5)]);
    }
}
