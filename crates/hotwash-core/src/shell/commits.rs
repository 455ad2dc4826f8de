//! Which files a `git commit` takes in, as far as its command says.

use super::classify::git_subcommand;
use super::split::segments;

/// What a command commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It commits, and does not say which files: all changed ones, or what was staged before.
    Unnamed,
    /// It names files and folders.
    Named(Vec<String>),
}

/// What a command commits; nothing if it does not.
pub fn commit(command: &str) -> Option<Commit> {
    let segments = segments(command);
    let mut names = Vec::new();
    let (mut commits, mut open) = (false, false);
    for (verb, arguments) in segments.iter().filter_map(git_subcommand) {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let flagged = |flags: &[&str]| arguments.iter().any(|word| flags.contains(word));
        match verb {
            "add" | "stage" => {
                open |= flagged(&["-A", "--all", "-u", "--update", ".", "./", "*"]);
                names.extend(operands(&arguments, &[]));
            }
            "rm" | "mv" => names.extend(operands(&arguments, &[])),
            "commit" if !flagged(&["--dry-run", "--help", "-h"]) => {
                commits = true;
                let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
                open |= flagged(&["--all", "-i", "--include"])
                    || arguments.iter().filter(short).any(|word| flags_of(word).contains('a'));
                names.extend(operands(
                    &arguments,
                    &["-m", "-F", "-C", "-c", "-t", "--message", "--file", "--author", "--date", "--trailer"],
                ));
            }
            _ => {}
        }
    }
    if !commits {
        return None;
    }
    let plain = |name: &String| !name.contains(['$', '`', '*', '?']) && name != "." && name != ":/";
    let named = !open && !names.is_empty() && names.iter().all(plain);
    Some(if named { Commit::Named(names) } else { Commit::Unnamed })
}

/// The letters of a cluster of short flags that take no value: in `-am`, the `m` takes one.
fn flags_of(word: &str) -> &str {
    let letters = word.trim_start_matches('-');
    letters.split_once('m').map_or(letters, |(before, _)| before)
}

/// Words that are no flags and no values of the flags named.
fn operands(arguments: &[&str], valued: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let takes_next = valued.contains(word)
            || word.starts_with('-') && !word.starts_with("--") && word.len() > 2 && word.ends_with('m');
        if takes_next && !valued.is_empty() {
            words.next();
        } else if !word.starts_with('-') {
            found.push((*word).to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_commits() {
        let named = |names: &[&str]| Some(Commit::Named(names.iter().map(|name| (*name).to_owned()).collect()));
        for (command, expected) in [
            ("git commit -m 'fix the parser'", Some(Commit::Unnamed)),
            ("git commit -am done", Some(Commit::Unnamed)),
            ("git add -A && git commit -m x", Some(Commit::Unnamed)),
            ("git add . && git commit -m x", Some(Commit::Unnamed)),
            ("git add src/a.rs src/b.rs && git commit -m 'two files'", named(&["src/a.rs", "src/b.rs"])),
            ("git commit -m 'one' -- src/a.rs", named(&["src/a.rs"])),
            ("cd /work && git add src/*.rs && git commit -m x", Some(Commit::Unnamed)),
            ("git commit --dry-run", None),
            ("git log --grep commit", None),
            ("echo 'git commit'", None),
            ("cargo test", None),
        ] {
            assert_eq!(commit(command), expected, "{command}");
        }
    }
}
