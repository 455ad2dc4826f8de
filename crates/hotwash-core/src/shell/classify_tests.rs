use proptest::prelude::*;

use super::super::Command;
use super::{commit_confirmed, read_only};

/// Those of the cases that the function gets wrong.
fn wrong<'c>(judge: fn(&str) -> bool, yes: &[&'c str], no: &[&'c str]) -> Vec<&'c str> {
    let missed = yes.iter().filter(|case| !judge(case));
    missed.chain(no.iter().filter(|case| judge(case))).copied().collect()
}

const NONE: [&str; 0] = [];

#[test]
fn file_operations_are_told_by_the_first_program() {
    let yes = [
        "cat a.txt",
        "cd src && ls -la",
        "export A=1; set -e; grep -rn x .",
        "sudo head -5 log",
        "FOO=1 /usr/bin/find . -name x",
        "sed -i s/a/b/ f",
        "cat a <<EOF\nx\nEOF",
        "cat f | wc -l",
        "cat > f <<'EOF'\nhello\nEOF",
        "for f in *; do cat $f; done",
        "rg x && cargo test",
    ];
    let no =
        ["", "cd src", "echo hi | cat", "git log | head", "cat <<EOF\nhello\nEOF", "cargo test; cat log", "# cat x"];
    assert_eq!(wrong(|command| Command::read(command).file_operation, &yes, &no), NONE);
}

#[test]
fn commits_are_segments_of_their_own() {
    let yes = [
        "git commit -m x",
        "git add . && git commit -am 'fix: y'",
        "git -C dir -c user.name=a commit --amend --no-edit",
        "cd a; GIT_EDITOR=true git commit",
        "git commit -m \"$(cat <<'EOF'\nIt's done (really)\nEOF\n)\"",
    ];
    let no = [
        "git commit --dry-run",
        "git log --grep commit",
        "echo 'git commit'",
        "git commit-tree abc",
        "grep commit f",
        "cat <<EOF\ngit commit\nEOF",
    ];
    assert_eq!(wrong(|command| Command::read(command).commits, &yes, &no), NONE);
}

#[test]
fn commits_are_confirmed_by_gits_own_line() {
    let yes = [
        "[main abc1234] Fix it\n 1 file changed",
        "hook ran\n[main (root-commit) abc1234] First",
        "[detached HEAD 0123456789] x",
        "[feature/a-b 12ab34c] [x] y",
    ];
    let no = ["", "[main] x", "[INFO abc] x", "nothing to commit", "see [main abc1234] above", "[main ABC1234] x"];
    assert_eq!(wrong(commit_confirmed, &yes, &no), NONE);
}

#[test]
fn skills_are_loaded_by_reading_them() {
    let yes =
        ["cat .claude/skills/x/SKILL.md", "cd a && head -50 SKILL.md", "sed -n 1,40p b/SKILL.md", "less < a/SKILL.md"];
    let no = ["ls skills/SKILL.md", "cat SKILL.md.bak", "sed -i s/a/b/ SKILL.md", "echo SKILL.md", "cat README.md"];
    assert_eq!(wrong(|command| Command::read(command).loads_skill, &yes, &no), NONE);
}

#[test]
fn reading_leaves_nothing_behind() {
    let yes = [
        "ls -la",
        "cd a && cat b | head -5",
        "git status && git -C x log --oneline | head",
        "grep -r x . 2>/dev/null || echo none",
        "find . -name '*.rs' | xargs grep -l x",
        "for f in *; do wc -l $f; done",
        "git branch -a",
        "sed -n 1,5p f",
        "gh pr view 5",
    ];
    let no = [
        "",
        "cat a > b",
        "sed -i s/a/b/ f",
        "find . -delete",
        "git commit -m x",
        "git branch new",
        "cargo test",
        "cat $(rm -rf x)",
        "ls | tee f",
        "find . | xargs rm",
    ];
    assert_eq!(wrong(read_only, &yes, &no), NONE);
}

#[test]
fn writing_is_seen_through_programs_flags_and_redirections() {
    let yes = [
        "echo x > f",
        "cat > f <<EOF\nx\nEOF",
        "make &> log",
        "sed -i.bak s/a/b/ f",
        "sed -Ei s/a/b/ f",
        "perl -pi -e s/a/b/ f",
        "ls | tee -a f",
        "cd a && rm -rf b",
        "sudo mkdir -p x",
        "patch -p1 < x.diff",
        "git apply x.diff",
        "git checkout -- f",
        "git -C a stash",
        "npm install",
        "yarn",
        "pip install x",
        "cargo fmt",
        "npx prettier --write .",
        "gofmt -w .",
        "find . -name x -exec rm {} +",
        "ls | xargs rm",
        "bash -c 'rm x'",
        "mise run fmt",
    ];
    let no = [
        "",
        "ls > /dev/null 2>&1",
        "cat f",
        "sed -n 1,5p f",
        "sed --expression=i f",
        "git status",
        "git commit -m x",
        "git stash list",
        "cargo fmt --check",
        "cargo test",
        "npm test",
        "yarn test",
        "black --check .",
        "ls | tee /dev/null",
        "echo 'rm x'",
        "find . -name x | xargs grep y",
    ];
    assert_eq!(wrong(|command| Command::read(command).mutates_files, &yes, &no), NONE);
}

#[test]
fn chains_of_starters_are_not_too_long() {
    for starter in ["xargs ", "npx ", "sudo ", "uv run ", "bash -c "] {
        let command = starter.repeat(20_000);
        read_only(&command);
        Command::read(&command);
    }
}

proptest! {
    #[test]
    fn any_command_is_taken(text in "(git|npx|make|mvn|bash -c|sed|uv run|cat|xargs|go|=|é|[-a$(){}<>&|;'\"`\\\\\n #]| ){0,30}") {
        commit_confirmed(&text);
        prop_assert!(!(read_only(&text) && Command::read(&text).mutates_files), "{}", text);
    }

    #[test]
    fn nothing_both_only_reads_and_writes(text in "(cat|ls|rm|sed -i|git (log|stash)|echo|xargs)( [a-z>|&;$(]{1,4}){0,4}") {
        prop_assert!(!(read_only(&text) && Command::read(&text).mutates_files), "{}", text);
    }
}
