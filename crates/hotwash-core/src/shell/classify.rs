//! What kind of thing a command does: reads files, writes them, commits, loads a skill.
//!
//! Judged by the programs at the heads of its segments and their flags. Test, build and linter runs are in
//! [`runs`](super::runs); whether a call succeeded is for the caller to know.

use std::borrow::Cow;

use super::runs::shell_script;
use super::segment::{Segment, basename, head, past_flags};
use super::split::segments;

/// Whether the command does a file tool's job: its first program other than `cd`, `pushd`, `export` and `set` is
/// `cat`, `head`, `tail`, `sed`, `awk`, `grep`, `rg`, `find` or `ls`. A `cat` that only prints a heredoc is not; one that
/// writes it to a file does an editor's job.
pub(super) fn file_operation(segments: &[Segment<'_>]) -> bool {
    let first = segments
        .iter()
        .find(|segment| segment.program().is_some_and(|program| !matches!(program, "cd" | "pushd" | "export" | "set")));
    first.is_some_and(|segment| match segment.program() {
        Some("cat") => {
            let only_prints = segment.heredoc && segment.outputs.is_empty();
            !only_prints || operands(segment.arguments()).next().is_some()
        }
        Some(program) => matches!(program, "head" | "tail" | "sed" | "awk" | "grep" | "rg" | "find" | "ls"),
        None => false,
    })
}

/// Whether the command has a `git commit` that is no dry run.
pub(super) fn git_commit(segments: &[Segment<'_>]) -> bool {
    segments.iter().any(|segment| {
        git_subcommand(segment).is_some_and(|(subcommand, arguments)| {
            subcommand == "commit"
                && !arguments.iter().any(|word| matches!(word.as_ref(), "--dry-run" | "--help" | "-h"))
        })
    })
}

/// Whether git says in the output that it made a commit: `[main abc1234] Subject`, also `(root-commit)` and `detached HEAD`.
pub fn commit_confirmed(output: &str) -> bool {
    output.lines().any(|line| shown_commit(line).is_some())
}

/// The id and the subject of the commit that git says on a line that it made.
pub(crate) fn shown_commit(line: &str) -> Option<(&str, &str)> {
    let (inside, subject) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let (branch, hash) = inside.rsplit_once(' ')?;
    let shown = !branch.is_empty()
        && (7..=64).contains(&hash.len())
        && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    shown.then(|| (hash, subject.trim()))
}

/// Whether a SKILL.md is read through the shell.
pub(super) fn loads_skill(segments: &[Segment<'_>]) -> bool {
    segments.iter().any(|segment| {
        matches!(segment.program(), Some("cat" | "head" | "tail" | "sed" | "less" | "more" | "bat" | "nl" | "awk"))
            && segment.arguments().iter().chain(&segment.inputs).any(|word| is_skill(word))
            && !edits_in_place(segment)
    })
}

fn is_skill(path: &str) -> bool {
    path.strip_suffix("SKILL.md").is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Whether nothing but reading happens: every program only reads, and no file is written. A command substitution
/// could hold anything, so it is not vouched for.
pub fn read_only(command: &str) -> bool {
    reads_only(&segments(command))
}

pub(super) fn reads_only(segments: &[Segment<'_>]) -> bool {
    !segments.is_empty()
        && segments.iter().all(|segment| {
            (segment.program().is_none() || only_reads(segment.invocation()))
                && !writes_output(segment)
                && !segment.words.iter().any(|word| substitutes(word))
        })
}

/// Whether a word holds a command.
fn substitutes(word: &str) -> bool {
    let signs = word.bytes().any(|byte| matches!(byte, b'(' | b'`'));
    signs && (word.contains("$(") || word.contains('`') || word.contains(">("))
}

/// Whether files are written through the shell: redirections, editors in place, `mv` and its like, the git commands
/// that change the working tree, package managers, formatters. What a script or program of the project writes by
/// itself cannot be seen here.
pub(super) fn mutates_files(segments: &[Segment<'_>]) -> bool {
    mutates(segments, 0)
}

fn mutates(within: &[Segment<'_>], depth: usize) -> bool {
    within.iter().any(|segment| match shell_script(segment) {
        Some(script) => depth < 4 && mutates(&segments(script), depth + 1),
        None => writes_output(segment) || changes_files(segment.invocation()) || changes_tree(segment),
    })
}

/// Whether a command may do something to commits or to whole files (`rework/acts.rs`): never wrong about a no.
pub(super) fn may_act(command: &str) -> bool {
    let git = ["commit", "checkout", "restore", "reset", "revert"];
    ["rm ", "mv "].iter().any(|word| command.contains(word))
        || command.contains("git ") && git.iter().any(|word| command.contains(word))
}

/// `git`'s subcommand and what follows it, past `-C dir` and `-c key=value`.
pub(super) fn git_subcommand<'s, 'a>(segment: &'s Segment<'a>) -> Option<(&'s str, &'s [Cow<'a, str>])> {
    if segment.program() != Some("git") {
        return None;
    }
    git_words(segment.arguments())
}

fn git_words<'s, 'a>(arguments: &'s [Cow<'a, str>]) -> Option<(&'s str, &'s [Cow<'a, str>])> {
    let at = past_flags(arguments, 0, &["-C", "-c", "--git-dir", "--work-tree", "--namespace"]);
    Some((arguments.get(at)?.as_ref(), arguments.get(at + 1..)?))
}

/// Words that are neither flags nor the `-` of standard input.
fn operands<'s>(arguments: &'s [Cow<'_, str>]) -> impl Iterator<Item = &'s str> {
    arguments.iter().map(AsRef::as_ref).filter(|word: &&str| !word.starts_with('-'))
}

fn writes_output(segment: &Segment<'_>) -> bool {
    segment.outputs.iter().any(|file| is_file(file))
}

fn is_file(path: &str) -> bool {
    !matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") && !path.starts_with("/dev/fd/")
}

fn edits_in_place(segment: &Segment<'_>) -> bool {
    segment.program().is_some_and(|program| in_place(program, segment.arguments()))
}

/// `sed -i`, `sed -ni.bak`, `perl -pi -e`, `awk -i inplace`.
fn in_place(program: &str, arguments: &[Cow<'_, str>]) -> bool {
    let short = |word: &str, letters: &str| {
        word.strip_prefix('-').is_some_and(|flags| {
            let plain = flags.trim_start_matches(|letter| letters.contains(letter));
            plain.starts_with('i')
        })
    };
    arguments.iter().any(|word| match program {
        "sed" | "gsed" => short(word, "nrEsuz") || word.starts_with("--in-place"),
        "perl" | "ruby" => short(word, "pnlaw0"),
        "awk" | "gawk" => word == "inplace",
        _ => false,
    })
}

fn only_reads(words: &[Cow<'_, str>]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return true;
    };
    let program = basename(program);
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_ref()));
    match program {
        "sed" | "awk" | "gawk" => !in_place(program, arguments),
        "find" => !has(&["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls"]),
        "fd" | "fdfind" => !has(&["-x", "-X", "--exec", "--exec-batch"]),
        "sort" | "tree" => !has(&["-o", "--output"]),
        "xargs" => {
            let at = past_flags(arguments, 0, &["-I", "-n", "-P", "-L", "-d", "-a", "-s"]);
            arguments.get(at..).is_some_and(|inner| starts_none(inner) && only_reads(inner))
        }
        "git" => git_words(arguments).is_none_or(|(subcommand, rest)| git_reads(subcommand, rest)),
        "gh" => operands(arguments).take(2).any(|word| matches!(word, "view" | "list" | "status" | "diff" | "checks")),
        _ => READERS.contains(&program),
    }
}

fn git_reads(subcommand: &str, rest: &[Cow<'_, str>]) -> bool {
    let only_flags = || operands(rest).next().is_none();
    let first = rest.first().map(AsRef::as_ref);
    match subcommand {
        "status" | "log" | "diff" | "show" | "blame" | "rev-parse" | "ls-files" | "ls-tree" | "ls-remote"
        | "cat-file" | "grep" | "describe" | "shortlog" | "merge-base" | "rev-list" | "name-rev" | "for-each-ref"
        | "check-ignore" | "count-objects" | "diff-tree" | "diff-index" | "whatchanged" | "var" | "version"
        | "help" => true,
        "branch" => {
            let lists = |word: &Cow<'_, str>| matches!(word.as_ref(), "--list" | "-l" | "--contains" | "--merged");
            only_flags() || rest.iter().any(lists)
        }
        "tag" => rest.is_empty() || matches!(first, Some("-l" | "--list" | "-n")),
        "remote" => only_flags() || matches!(first, Some("show" | "get-url")),
        "stash" | "worktree" | "notes" => matches!(first, Some("list" | "show")),
        "config" => matches!(first, Some("--get" | "--list" | "-l" | "--get-all" | "get" | "list")),
        "reflog" => matches!(first, None | Some("show")),
        "submodule" => matches!(first, None | Some("status")),
        _ => false,
    }
}

const READERS: &[&str] = &[
    "ls",
    "cat",
    "bat",
    "head",
    "tail",
    "less",
    "more",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "wc",
    "jq",
    "yq",
    "diff",
    "cmp",
    "comm",
    "which",
    "whereis",
    "type",
    "command",
    "date",
    "env",
    "printenv",
    "test",
    "[",
    "[[",
    "true",
    "false",
    ":",
    "stat",
    "file",
    "du",
    "df",
    "ps",
    "uname",
    "id",
    "whoami",
    "hostname",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "cut",
    "tr",
    "uniq",
    "column",
    "nl",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "md5sum",
    "shasum",
    "sha1sum",
    "sha256sum",
    "echo",
    "printf",
    "sleep",
    "seq",
    "paste",
    "rev",
    "tac",
    "fold",
    "fmt",
    "join",
    "export",
    "set",
    "unset",
    "read",
    "break",
    "continue",
    "exit",
    "return",
    "lsof",
    "pgrep",
    "nproc",
    "free",
    "uptime",
    "tokei",
    "cloc",
    "eza",
    "exa",
    "zcat",
    "local",
    "shift",
];

/// Whether the program at the head changes files, or is told to by its flags.
fn changes_files(words: &[Cow<'_, str>]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let program = basename(program);
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_ref()));
    let first = operands(arguments).next();
    match program {
        "mv" | "cp" | "rm" | "rmdir" | "mkdir" | "touch" | "ln" | "chmod" | "chown" | "dd" | "truncate" | "patch"
        | "rsync" | "unzip" | "zip" | "gzip" | "gunzip" | "install" | "wget" | "mktemp" | "unlink" | "shred"
        | "rustfmt" | "rename" | "split" | "csplit" => !has(&["--help", "--version", "--check", "--dry-run"]),
        "tee" => operands(arguments).any(is_file),
        "sed" | "gsed" | "perl" | "ruby" | "awk" | "gawk" => in_place(program, arguments),
        "tar" => {
            first.is_some_and(|_| !arguments.iter().take(1).any(|flags| flags.trim_start_matches('-').contains('t')))
        }
        "curl" => has(&["-o", "-O", "--output", "--remote-name", "-LO", "-OL", "-sLo", "-fsSLo", "-Lo", "-fsSLO"]),
        "sort" => has(&["-o", "--output"]),
        "find" | "fd" | "xargs" => {
            let runs = arguments.iter().position(|word| {
                program == "xargs" && !word.starts_with('-')
                    || matches!(word.as_ref(), "-exec" | "-execdir" | "-x" | "-X" | "--exec")
            });
            let inner =
                runs.map_or(&[][..], |at| arguments.get(at + usize::from(program != "xargs")..).unwrap_or_default());
            has(&["-delete"])
                || inner.get(head(inner)..).is_some_and(|inner| starts_none(inner) && changes_files(inner))
        }
        "npm" | "pnpm" | "yarn" | "bun" => {
            let installs =
                ["install", "i", "ci", "add", "remove", "rm", "uninstall", "update", "up", "upgrade", "link", "dedupe"];
            first.map_or(program == "yarn" && arguments.is_empty(), |first| installs.contains(&first))
        }
        "pip" | "pip3" | "gem" | "brew" | "bundle" | "composer" | "poetry" | "pdm" | "conda" => {
            matches!(first, Some("install" | "uninstall" | "add" | "remove" | "update" | "require" | "lock" | "sync"))
        }
        "uv" => matches!(first, Some("add" | "remove" | "sync" | "lock" | "pip" | "init" | "venv")),
        "cargo" => {
            let first = operands(arguments).find(|word| !word.starts_with('+'));
            matches!(first, Some("add" | "remove" | "rm" | "fix" | "new" | "init" | "update" | "install" | "generate"))
                || (first == Some("fmt") && !has(&["--check"]))
                || has(&["--fix"])
        }
        "go" => matches!(first, Some("mod" | "get" | "fmt" | "generate" | "install")),
        "mix" => {
            matches!(first, Some("deps.get" | "deps.update"))
                || (first == Some("format") && !has(&["--check-formatted"]))
        }
        "gofmt" | "goimports" | "gofumpt" | "shfmt" => has(&["-w"]),
        "black" | "isort" => !has(&["--check", "--diff", "--check-only", "-c", "--version"]),
        "ruff" => has(&["--fix"]) || (first == Some("format") && !has(&["--check", "--diff"])),
        "prettier" | "eslint" | "biome" | "stylelint" | "rubocop" | "golangci-lint" | "clang-format" => {
            has(&["--write", "-w", "--fix", "-i", "-a", "-A"])
        }
        "npx" | "bunx" => {
            let at = past_flags(arguments, 0, &["-p", "--package"]);
            arguments.get(at..).is_some_and(|inner| starts_none(inner) && changes_files(inner))
        }
        "make" | "just" | "task" | "mise" => operands(arguments).any(|task| matches!(task, "fmt" | "format")),
        _ => false,
    }
}

/// Whether the program is none that starts another: one step inside is enough, and no chain of them is too long.
fn starts_none(words: &[Cow<'_, str>]) -> bool {
    let starter = |word: &Cow<'_, str>| matches!(basename(word), "xargs" | "find" | "fd" | "npx" | "bunx");
    !words.first().is_some_and(starter)
}

/// Whether git changes files of the working tree; commits and fetches do not.
fn changes_tree(segment: &Segment<'_>) -> bool {
    git_subcommand(segment).is_some_and(|(subcommand, rest)| {
        let first = rest.first().map(AsRef::as_ref);
        match subcommand {
            "apply" | "am" => !matches!(first, Some("--check" | "--stat")),
            "checkout" | "restore" | "reset" | "revert" | "clean" | "merge" | "rebase" | "pull" | "cherry-pick"
            | "mv" | "rm" | "switch" | "clone" | "init" => true,
            "stash" => !matches!(first, Some("list" | "show" | "drop")),
            "worktree" | "submodule" => !matches!(first, None | Some("list" | "status")),
            _ => false,
        }
    })
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
