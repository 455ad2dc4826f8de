//! Files changed: how much, with or without looking first, and back and forth.

use super::calls::{KeyMap, KeySet, Status, Step};
use super::value::{Cited, facts};
use super::{Fold, line_hash, text_hash};
use crate::sessions::{Event, Tool};
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
        programming_languages: Vec<String>,
    }
}

/// The fold behind [`EditFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Edits {
    facts: EditFacts,
    known: KeySet<u64>,
    edited: KeySet<u64>,
    touched: KeySet<u64>,
    languages: std::collections::BTreeMap<String, u64>,
    /// By file: lines that edits of this session added and removed.
    added: KeyMap<u64, KeySet<u64>>,
    removed: KeyMap<u64, KeySet<u64>>,
}

impl Fold for Edits {
    type Facts = EditFacts;

    fn event(&mut self, event: &Event<'_>, step: &Step<'_>) {
        let Step::Ended { call, outcome, status } = step else {
            return;
        };
        if *status == Status::Failed && outcome.body.head(400).contains("File has not been read yet") {
            self.facts.edits_refused_unread.push(event.origin.id);
        }
        if *status != Status::Ok {
            return;
        }
        let file = call.map_or(0, |call| text_hash(&call.path));
        if let Some(call) = call
            && (call.tool.edits() || call.tool == Tool::Read)
            && self.touched.insert(file)
        {
            self.facts.files_touched += 1;
            if let Some(language) = language(&call.path) {
                *self.languages.entry(language.to_string()).or_default() += 1;
            }
        }
        if let Some(call) = call
            && call.tool.edits()
        {
            self.facts.edit_calls_ok.push(call.id);
            if self.edited.insert(file) {
                self.facts.files_edited += 1;
            }
            let created = outcome.change.is_some_and(|change| change.created.is_some());
            self.facts.files_created += u64::from(created);
            if !created && !self.known.contains(&file) {
                self.facts.edits_without_prior_read.push(call.id);
            }
            self.known.insert(file);
        } else if call.is_some_and(|call| call.tool == Tool::Read) {
            self.known.insert(file);
        }
        if let Some(change) = &outcome.change {
            let (mut added, mut removed) = (Vec::new(), Vec::new());
            for line in change.patch {
                match line.raw().first() {
                    Some(b'+') => {
                        self.facts.lines_added += 1;
                        added.extend(line_hash(&line.raw()[1..]));
                    }
                    Some(b'-') => {
                        self.facts.lines_removed += 1;
                        removed.extend(line_hash(&line.raw()[1..]));
                    }
                    _ => {}
                }
            }
            if let Some(content) = change.created {
                self.facts.lines_added += count_lines(&content.to_str());
            }
            let went_back = |lines: &[u64], before: &KeyMap<u64, KeySet<u64>>| {
                let before = before.get(&file);
                !lines.is_empty() && before.is_some_and(|before| lines.iter().all(|line| before.contains(line)))
            };
            if went_back(&added, &self.removed) && went_back(&removed, &self.added) {
                self.facts.reverted_edits.push(event.origin.id);
            }
            if !added.is_empty() {
                self.added.entry(file).or_default().extend(added);
            }
            if !removed.is_empty() {
                self.removed.entry(file).or_default().extend(removed);
            }
        }
    }

    fn finish(&self) -> EditFacts {
        let mut facts = self.facts.clone();
        facts.read_before_edit = (!facts.edit_calls_ok.is_empty())
            .then(|| facts.edits_without_prior_read.is_empty() && facts.edits_refused_unread.is_empty());
        let mut languages: Vec<_> = self.languages.iter().collect();
        languages.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        facts.programming_languages = languages.into_iter().map(|(name, _)| name.clone()).collect();
        facts
    }
}

/// Lines of a text; a newline at the end begins no further one.
fn count_lines(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    newlines + u64::from(!text.ends_with('\n'))
}

/// The language of a file by its ending.
fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "rs" => "Rust",
        "go" => "Go",
        "py" | "pyi" | "ipynb" => "Python",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "swift" => "Swift",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "C++",
        "cs" => "C#",
        "rb" => "Ruby",
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

/// Whether a change to this file is a change to the program rather than to its prose.
pub fn is_source(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    let prose = [".md", ".mdx", ".txt", ".rst", ".adoc", ".log", ".csv", ".svg", ".png"];
    !prose.iter().any(|ending| name.ends_with(ending)) && !name.starts_with("license") && !name.starts_with("changelog")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::facts_of;
    use crate::sessions::EventId;

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

    #[test]
    fn lines_are_counted_as_people_count_them() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1)] {
            assert_eq!(count_lines(text), lines, "{text:?}");
        }
    }
}
