//! What a shell command does to commits and to whole files, read from its text and its output.
//!
//! Only what was named counts: a path with a variable or a pattern in it, a folder, a commit called `main` say nothing
//! about which file or commit it was.

use super::fingerprint::CommitId;
use super::repository::absolute;
use crate::shell::{Operator, Segment, segments, shown_commit};
use std::borrow::Cow;

/// Something that a command does. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A commit; in place of the last one where it amends it.
    Commit { amends: bool },
    /// Commits that are named are undone.
    Revert(Vec<CommitId>),
    /// The last commits are thrown away.
    Drop(u32),
    /// A file is put back as it was committed.
    Discard(String),
    /// All files of the working tree are.
    DiscardAll,
    /// A file is deleted.
    Remove(String),
    /// A file is moved.
    Move(String, String),
}

/// What a command does when it is run in a folder.
pub(crate) fn deeds(command: &str, cwd: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let mut cwd = Cow::Borrowed(cwd);
    let mut may_not_run = false;
    for segment in segments(command) {
        if !may_not_run {
            match segment.program() {
                Some("cd" | "pushd") => {
                    if let Some(folder) = operands(segment.arguments()).next() {
                        cwd = Cow::Owned(absolute(&cwd, folder));
                    }
                }
                Some("git") => git(&segment, &cwd, &mut deeds),
                Some("rm") => removes(segment.arguments(), &cwd, &mut deeds),
                Some("mv") => moves(segment.arguments(), &cwd, &mut deeds),
                _ => {}
            }
        }
        // What stands behind `||` is run when things go wrong.
        may_not_run = segment.operator == Operator::Or;
    }
    deeds
}

/// The commits that git says it made, with their subjects.
pub(super) fn commits_shown(output: &str) -> impl Iterator<Item = (Option<CommitId>, &str)> {
    output.lines().filter_map(shown_commit).map(|(id, subject)| (CommitId::parse(id), subject))
}

/// Whether git says that it could not do it. The exit code is often lost in a pipe.
pub(crate) fn refused(output: &str) -> bool {
    let says =
        |line: &str| line.starts_with("error: ") || line.starts_with("fatal: ") || line.starts_with("CONFLICT (");
    output.lines().any(|line| says(line.trim_start()))
}

/// Whether git says that there was nothing to commit.
pub(super) fn nothing_to_commit(output: &str) -> bool {
    ["nothing to commit", "no changes added to commit", "nothing added to commit"]
        .iter()
        .any(|words| output.contains(words))
}

fn git(segment: &Segment<'_>, cwd: &str, deeds: &mut Vec<Deed>) {
    let mut words = segment.arguments();
    let mut cwd = Cow::Borrowed(cwd);
    let (name, arguments) = loop {
        match words {
            [flag, folder, rest @ ..] if flag == "-C" => {
                cwd = Cow::Owned(absolute(&cwd, folder));
                words = rest;
            }
            [flag, _, rest @ ..] if matches!(flag.as_ref(), "-c" | "--git-dir" | "--work-tree") => words = rest,
            [flag, rest @ ..] if flag.starts_with('-') => words = rest,
            [name, rest @ ..] => break (name.as_ref(), rest),
            [] => return,
        }
    };
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_ref()));
    match name {
        "commit" if !has(&["--dry-run", "--help", "-h"]) => deeds.push(Deed::Commit { amends: has(&["--amend"]) }),
        "revert" if !has(&["--abort", "--quit", "--skip", "--continue"]) => {
            let named = operands(arguments).filter_map(|word| CommitId::parse(word.rsplit("..").next()?));
            deeds.push(Deed::Revert(named.collect()));
        }
        "reset" if has(&["--hard"]) => {
            deeds.extend(operands(arguments).next().and_then(steps_back).map(Deed::Drop));
            deeds.push(Deed::DiscardAll);
        }
        "checkout" if !has(&["-b", "-B", "--orphan", "-p", "--patch", "--detach", "-t", "--track"]) => {
            let split = arguments.iter().position(|word| word == "--");
            let (from, paths) = split.map_or((&[][..], arguments), |at| (&arguments[..at], &arguments[at + 1..]));
            // Files of another commit are not put back as they were.
            let from_here = operands(from).all(is_head);
            if from_here && (split.is_some() || operands(paths).all(looks_like_path)) {
                discards(paths, &cwd, deeds);
            }
        }
        "restore" => {
            let staged = has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]);
            let mut from_here = true;
            let mut paths = Vec::new();
            let mut words = arguments.iter().map(AsRef::as_ref).filter(|word: &&str| *word != "--");
            while let Some(word) = words.next() {
                if let Some(source) = word.strip_prefix("--source=") {
                    from_here &= is_head(source);
                } else if matches!(word, "--source" | "-s") {
                    from_here &= words.next().is_some_and(is_head);
                } else {
                    paths.push(Cow::Borrowed(word));
                }
            }
            if !staged && from_here && !has(&["-p", "--patch"]) {
                discards(&paths, &cwd, deeds);
            }
        }
        "rm" if !has(&["--cached", "-n", "--dry-run"]) => removes(arguments, &cwd, deeds),
        "mv" if !has(&["-n", "--dry-run"]) => moves(arguments, &cwd, deeds),
        _ => {}
    }
}

fn is_head(name: &str) -> bool {
    matches!(name, "HEAD" | "@")
}

/// A name with a dot or a slash may be a path. If it is a branch after all, no file is called so.
fn looks_like_path(name: &str) -> bool {
    name.contains(['.', '/'])
}

/// How many commits before the last one a name like `HEAD~2` or `HEAD^^` is.
fn steps_back(name: &str) -> Option<u32> {
    let mut rest = name.strip_prefix("HEAD").or_else(|| name.strip_prefix('@'))?;
    let mut steps = 0u32;
    while let Some(sign) = rest.chars().next() {
        rest = rest.get(1..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = if digits == 0 { 1 } else { rest.get(..digits)?.parse().ok()? };
        rest = rest.get(digits..)?;
        steps = match sign {
            '~' => steps.checked_add(number)?,
            '^' if number == 1 => steps.checked_add(1)?,
            _ => return None,
        };
    }
    (steps > 0).then_some(steps)
}

fn discards(paths: &[Cow<'_, str>], cwd: &str, deeds: &mut Vec<Deed>) {
    for path in operands(paths) {
        match path {
            "." | ":/" | "./" => deeds.push(Deed::DiscardAll),
            path => deeds.extend(named(cwd, path).map(Deed::Discard)),
        }
    }
}

fn removes(arguments: &[Cow<'_, str>], cwd: &str, deeds: &mut Vec<Deed>) {
    deeds.extend(operands(arguments).filter_map(|path| named(cwd, path)).map(Deed::Remove));
}

fn moves(arguments: &[Cow<'_, str>], cwd: &str, deeds: &mut Vec<Deed>) {
    let mut paths = operands(arguments);
    if let (Some(from), Some(to), None) = (paths.next(), paths.next(), paths.next()) {
        let name = from.rsplit('/').next().unwrap_or(from);
        let to = if to.ends_with('/') { format!("{to}{name}") } else { to.to_owned() };
        if let (Some(from), Some(to)) = (named(cwd, from), named(cwd, &to)) {
            deeds.push(Deed::Move(from, to));
        }
    }
}

/// The absolute path of a file whose name is all there.
fn named(cwd: &str, path: &str) -> Option<String> {
    let left_open = path.contains(['*', '?', '$', '`', '{', '~']) || path.ends_with('/');
    (!left_open).then(|| absolute(cwd, path))
}

fn operands<'s>(arguments: &'s [Cow<'_, str>]) -> impl Iterator<Item = &'s str> {
    arguments.iter().map(AsRef::as_ref).filter(|word: &&str| !word.starts_with('-'))
}

#[cfg(test)]
mod prism_rework {
    use super::*;
    use crate::shell::Command;

    #[test]
    fn a_command_says_what_it_undoes() {
        let discard = |path: &str| Deed::Discard(path.into());
        let remove = |path: &str| Deed::Remove(path.into());
        let revert = |ids: &[&str]| Deed::Revert(ids.iter().filter_map(|id| CommitId::parse(id)).collect());
        for (command, expected) in [
            ("git commit -m 'Fix it'", vec![Deed::Commit { amends: false }]),
            ("git commit --amend --no-edit", vec![Deed::Commit { amends: true }]),
            ("git commit --dry-run", vec![]),
            ("git revert 3f2a1b9", vec![revert(&["3f2a1b9"])]),
            ("git revert --no-edit 3f2a1b9..77aa88b", vec![revert(&["77aa88b"])]),
            ("git revert HEAD", vec![revert(&[])]),
            ("git revert --abort", vec![]),
            ("git checkout -- src/a.rs", vec![discard("/r/src/a.rs")]),
            ("git checkout HEAD -- a.rs b.rs", vec![discard("/r/a.rs"), discard("/r/b.rs")]),
            ("git checkout src/a.rs", vec![discard("/r/src/a.rs")]),
            ("git checkout main", vec![]),
            ("git checkout main -- a.rs", vec![]),
            ("git checkout HEAD~1 -- a.rs", vec![]),
            ("git checkout -b fix/a.rs", vec![]),
            ("git checkout .", vec![Deed::DiscardAll]),
            ("git restore a.rs", vec![discard("/r/a.rs")]),
            ("git restore --staged a.rs", vec![]),
            ("git restore --staged --worktree a.rs", vec![discard("/r/a.rs")]),
            ("git restore --source=main a.rs", vec![]),
            ("git restore -s HEAD a.rs", vec![discard("/r/a.rs")]),
            ("git restore .", vec![Deed::DiscardAll]),
            ("git reset --hard", vec![Deed::DiscardAll]),
            ("git reset --hard HEAD~2", vec![Deed::Drop(2), Deed::DiscardAll]),
            ("git reset --hard HEAD^^", vec![Deed::Drop(2), Deed::DiscardAll]),
            ("git reset --hard origin/main", vec![Deed::DiscardAll]),
            ("git reset --soft HEAD~1", vec![]),
            ("cd src && git checkout -- a.rs", vec![discard("/r/src/a.rs")]),
            ("git -C web checkout -- a.ts", vec![discard("/r/web/a.ts")]),
            ("rm -f a.rs ../r/b.rs", vec![remove("/r/a.rs"), remove("/r/b.rs")]),
            ("rm *.rs $x dir/", vec![]),
            ("git rm --cached a.rs", vec![]),
            ("git rm a.rs", vec![remove("/r/a.rs")]),
            ("git mv a.rs b/", vec![Deed::Move("/r/a.rs".into(), "/r/b/a.rs".into())]),
            ("test -f a.rs || git checkout -- a.rs", vec![]),
            ("echo 'git revert 3f2a1b9'", vec![]),
        ] {
            assert_eq!(deeds(command, "/r"), expected, "{command}");
            assert!(Command::read(command).may_act || expected.is_empty(), "{command}");
        }
    }

    #[test]
    fn output_shows_commits_and_refusals() {
        let output = "[main 3f2a1b9] Add a cache\n 1 file changed\n[main 77aa88b] Revert \"Add a cache\"\n";
        let shown: Vec<_> = commits_shown(output).collect();
        assert_eq!(shown[0], (CommitId::parse("3f2a1b9"), "Add a cache"));
        assert_eq!(shown[1].1, "Revert \"Add a cache\"");
        assert!(refused("error: could not revert 3f2a1b9... Add a cache"));
        assert!(!refused(output));
    }
}
