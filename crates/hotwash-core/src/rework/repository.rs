//! Which repository a folder belongs to, from its path alone, and what a file is called in there.
//!
//! Agents work in worktrees inside the repository. A line added in one of them and removed in another is the same line,
//! so the part of a path that names the worktree is left out. A subfolder cannot be told from a repository of its own,
//! and is taken for one.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Where agents and people put worktrees inside a repository. The next part of the path is the worktree's name.
const WORKTREES: [&str; 2] = [".claude/worktrees", ".worktrees"];

/// The repository that a working directory belongs to.
pub fn repository(cwd: &str) -> &str {
    match worktree(cwd) {
        Some((repository, _)) => repository,
        None => whole(cwd),
    }
}

/// The working tree that a working directory belongs to: the repository, or one of its worktrees.
pub fn working_tree(cwd: &str) -> &str {
    match worktree(cwd) {
        Some((_, inside)) => cwd.get(..cwd.len() - inside.len()).map_or(cwd, whole),
        None => whole(cwd),
    }
}

/// A file's path within a repository, or nothing where it lies outside. It is the same in all worktrees.
pub fn within<'p>(repository: &str, path: &'p str) -> Option<&'p str> {
    let inside = path.strip_prefix(repository)?;
    let relative = inside.strip_prefix(['/', '\\'])?;
    let relative = worktree(inside).map_or(relative, |(_, inside)| inside);
    (!relative.is_empty()).then_some(relative)
}

/// What a file is known by: a hash of its path within its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileKey(pub u64);

impl FileKey {
    /// The key of a path within a repository.
    pub fn of(relative: &str) -> FileKey {
        FileKey(xxh3_64(relative.as_bytes()))
    }
}

/// What a working tree is known by.
pub(super) fn tree_key(cwd: &str) -> u64 {
    xxh3_64(working_tree(cwd).as_bytes())
}

/// A path made absolute, with `.` and `..` resolved as far as words go. Nobody asks the disk.
pub(crate) fn absolute(cwd: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let cwd = if path.starts_with('/') { "" } else { cwd };
    for part in cwd.split('/').chain(path.split('/')) {
        match part {
            ".." => {
                parts.pop();
            }
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.iter().flat_map(|part| ["/", part]).collect()
}

/// What comes before and after the part of a path that names a worktree.
fn worktree(path: &str) -> Option<(&str, &str)> {
    for (at, name) in path.match_indices("worktrees") {
        let (folder, rest) = path.split_at_checked(at + name.len())?;
        let before = WORKTREES.iter().find_map(|name| folder.strip_suffix(name)?.strip_suffix(['/', '\\']));
        let name = rest.strip_prefix(['/', '\\']).unwrap_or_default();
        let (name, inside) = name.split_once(['/', '\\']).unwrap_or((name, ""));
        if let Some(before) = before.filter(|_| !name.is_empty()) {
            return Some((before, inside));
        }
    }
    None
}

fn whole(folder: &str) -> &str {
    match folder.trim_end_matches(['/', '\\']) {
        "" => folder,
        trimmed => trimmed,
    }
}

#[cfg(test)]
mod prism_rework {
    use super::*;

    #[test]
    fn worktrees_belong_to_their_repository() {
        for (cwd, belongs_to, tree) in [
            ("/home/ann/shop", "/home/ann/shop", "/home/ann/shop"),
            ("/home/ann/shop/", "/home/ann/shop", "/home/ann/shop"),
            ("/home/ann/shop/.claude/worktrees/red-fox", "/home/ann/shop", "/home/ann/shop/.claude/worktrees/red-fox"),
            ("/home/ann/shop/.worktrees/fix/src", "/home/ann/shop", "/home/ann/shop/.worktrees/fix"),
            ("/home/ann/shop/.worktrees/a/.worktrees/b", "/home/ann/shop", "/home/ann/shop/.worktrees/a"),
            ("/home/ann/shop/.worktrees", "/home/ann/shop/.worktrees", "/home/ann/shop/.worktrees"),
            ("/home/ann/shop/.worktrees/", "/home/ann/shop/.worktrees", "/home/ann/shop/.worktrees"),
            ("/home/ann/my.worktrees/b", "/home/ann/my.worktrees/b", "/home/ann/my.worktrees/b"),
            ("/home/ann/shop/web", "/home/ann/shop/web", "/home/ann/shop/web"),
            ("/", "/", "/"),
            ("", "", ""),
        ] {
            assert_eq!(repository(cwd), belongs_to, "{cwd}");
            assert_eq!(working_tree(cwd), tree, "{cwd}");
        }
    }

    #[test]
    fn a_file_has_one_name_in_all_worktrees() {
        for (path, name) in [
            ("/r/src/a.rs", Some("src/a.rs")),
            ("/r/.worktrees/fix/src/a.rs", Some("src/a.rs")),
            ("/r/.claude/worktrees/fix/src/a.rs", Some("src/a.rs")),
            ("/r/.claude/settings.json", Some(".claude/settings.json")),
            ("/repo/src/a.rs", None),
            ("/tmp/a.rs", None),
            ("/r", None),
            ("/r/", None),
        ] {
            assert_eq!(within("/r", path), name, "{path}");
        }
    }

    #[test]
    fn steps_in_paths_are_taken() {
        for (cwd, path, is) in [
            ("/r", "a.rs", "/r/a.rs"),
            ("/r", "./src//a.rs", "/r/src/a.rs"),
            ("/r/src", "../a.rs", "/r/a.rs"),
            ("/r", "../../../a.rs", "/a.rs"),
            ("/r", "/x/./y", "/x/y"),
            ("/r", "/x/y", "/x/y"),
            ("", "a", "/a"),
        ] {
            assert_eq!(absolute(cwd, path), is, "{cwd} {path}");
        }
    }
}
