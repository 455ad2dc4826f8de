//! What a command means for the course of a session: it hands work over, it passes over checks, it sets changes aside,
//! or it is over at once.

use super::classify::{git_subcommand, reads_only};
use super::segment::Segment;
use serde::{Deserialize, Serialize};

/// What a command means for the course of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// It commits, pushes, merges, releases or publishes, with all checks.
    pub delivers: bool,
    /// It does so and tells git or its hooks to leave checks out.
    pub bypasses: bool,
    /// It only reads, and does not wait: it ends at once.
    pub quick: bool,
    /// It sets the changes of the session aside, or checks out the state that they began from.
    pub sets_aside: bool,
    /// It brings them back.
    pub brings_back: bool,
}

impl Course {
    pub(super) fn of(segments: &[Segment<'_>]) -> Course {
        let delivers = segments.iter().any(hands_over);
        let bypasses = delivers && segments.iter().any(leaves_checks_out);
        let mut course = Course {
            delivers: delivers && !bypasses,
            bypasses,
            quick: reads_only(segments) && !segments.iter().any(waits),
            ..Course::default()
        };
        for segment in segments {
            match aside(segment) {
                Some(true) => (course.sets_aside, course.brings_back) = (true, false),
                Some(false) => course.brings_back = true,
                None => {}
            }
        }
        course
    }
}

/// Whether work leaves the working directory: for the repository, its host, or a registry.
fn hands_over(segment: &Segment<'_>) -> bool {
    let arguments = segment.arguments();
    if arguments.iter().any(|word| matches!(word.as_ref(), "--dry-run" | "--help" | "-h")) {
        return false;
    }
    if let Some((subcommand, _)) = git_subcommand(segment) {
        return matches!(subcommand, "commit" | "push");
    }
    let mut operands = arguments.iter().map(AsRef::as_ref).filter(|word: &&str| !word.starts_with('-'));
    let (first, second) = (operands.next().unwrap_or_default(), operands.next().unwrap_or_default());
    match segment.program() {
        Some("gh") => matches!((first, second), ("pr", "create" | "merge") | ("release", "create")),
        Some("glab") => matches!((first, second), ("mr", "create" | "merge") | ("release", "create")),
        Some(
            "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "uv" | "poetry" | "flit" | "hatch" | "changeset" | "lerna",
        ) => first == "publish" || (first, second) == ("npm", "publish"),
        Some("twine") => first == "upload",
        Some("gem" | "docker" | "podman" | "helm") => first == "push",
        Some("goreleaser" | "semantic-release") => first != "check" && first != "build",
        _ => false,
    }
}

/// `--no-verify`, `git commit -n`, and the variables by which hooks are told to do nothing.
fn leaves_checks_out(segment: &Segment<'_>) -> bool {
    let before = segment.words.get(..segment.head).unwrap_or_default();
    let variable = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or_default();
        match name {
            "HUSKY" | "LEFTHOOK" => matches!(value, "0" | "false"),
            "HUSKY_SKIP_HOOKS" | "SKIP" | "PRE_COMMIT_ALLOW_NO_CONFIG" => !matches!(value, "" | "0"),
            _ => false,
        }
    };
    // `export SKIP=…` sets it for what follows.
    let exports = segment.program() == Some("export") && segment.arguments().iter().any(|word| variable(word));
    let told = git_subcommand(segment).is_some_and(|(subcommand, arguments)| {
        let short = |word: &str| {
            let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or_default();
            // In `-mn` the `n` is the message.
            let flags = flags.split(['m', 'F', 'C', 'c', 't', 'S', 'u']).next().unwrap_or_default();
            subcommand == "commit" && flags.contains('n')
        };
        matches!(subcommand, "commit" | "push" | "merge")
            && arguments.iter().any(|word| word == "--no-verify" || short(word))
    });
    let no_hooks = segment.words.iter().any(|word| word.starts_with("core.hooksPath=/dev/null"));
    told || no_hooks || exports || before.iter().any(|word| variable(word))
}

/// Programs that only look and yet take as long as they are let.
fn waits(segment: &Segment<'_>) -> bool {
    let has = |flags: &[&str]| segment.arguments().iter().any(|word| flags.contains(&word.as_ref()));
    match segment.program() {
        Some("sleep" | "watch" | "wait" | "read") => true,
        Some("tail" | "less" | "journalctl") => has(&["-f", "-F", "--follow"]),
        Some("gh") => has(&["watch", "--watch"]),
        // A search of all there is.
        Some("find" | "grep" | "rg" | "du") => has(&["/"]),
        _ => false,
    }
}

/// Whether git sets changes aside, or brings them back.
fn aside(segment: &Segment<'_>) -> Option<bool> {
    let (subcommand, arguments) = git_subcommand(segment)?;
    let first = arguments.first().map(AsRef::as_ref);
    match subcommand {
        "stash" => match first {
            None | Some("push" | "save") => Some(true),
            Some("pop" | "apply") => Some(false),
            Some(flag) if flag.starts_with('-') => Some(true),
            _ => None,
        },
        // With a path behind it one file is put back.
        "checkout" | "switch" if arguments.len() == 1 => {
            let older = |name: &str| {
                matches!(name, "main" | "master" | "develop" | "trunk")
                    || ["origin/", "upstream/", "HEAD~", "HEAD^"].iter().any(|start| name.starts_with(start))
            };
            Some(older(first?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Command;

    #[test]
    fn work_is_handed_over_with_checks_or_without() {
        for (command, delivers, bypasses) in [
            ("git commit -m 'fix the parser'", true, false),
            ("git add -A && git commit -m x && git push", true, false),
            ("git push origin main --dry-run", false, false),
            ("gh pr create --fill", true, false),
            ("gh pr view 3", false, false),
            ("gh release create v1.0.0", true, false),
            ("npm publish --access public", true, false),
            ("cargo publish", true, false),
            ("npm run build", false, false),
            ("docker push registry/app:1", true, false),
            ("git commit --no-verify -m x", false, true),
            ("git commit -nm x", false, true),
            ("git commit -mn", true, false),
            ("git push --no-verify", false, true),
            ("HUSKY=0 git commit -m x", false, true),
            ("HUSKY=1 git commit -m x", true, false),
            ("SKIP=flake8 git commit -m x", false, true),
            ("export LEFTHOOK=0; git commit -m x", false, true),
            ("git -c core.hooksPath=/dev/null commit -m x", false, true),
            ("git commit -m 'explain --no-verify'", true, false),
            ("git log --grep no-verify", false, false),
        ] {
            let course = Command::read(command).course;
            assert_eq!((course.delivers, course.bypasses), (delivers, bypasses), "{command}");
        }
    }

    #[test]
    fn what_only_reads_is_over_at_once_unless_it_waits() {
        for (command, quick) in [
            ("ls -la", true),
            ("cat a.rs | head -5", true),
            ("git status", true),
            ("tail -f log", false),
            ("sleep 60 && cat log", false),
            ("grep -r x /", false),
            ("cargo test", false),
            ("npm run dev", false),
            ("python train.py", false),
        ] {
            assert_eq!(Command::read(command).course.quick, quick, "{command}");
        }
    }

    #[test]
    fn changes_are_set_aside_and_brought_back() {
        for (command, sets_aside, brings_back) in [
            ("git stash && cargo test; git stash pop", true, true),
            ("git stash", true, false),
            ("git stash -u", true, false),
            ("git stash list", false, false),
            ("git stash pop", false, true),
            ("git checkout main && npm test", true, false),
            ("git checkout my-branch", false, true),
            ("git checkout HEAD~1", true, false),
            ("git checkout main -- src/a.rs", false, false),
            ("cargo test", false, false),
        ] {
            let course = Command::read(command).course;
            assert_eq!((course.sets_aside, course.brings_back), (sets_aside, brings_back), "{command}");
        }
    }
}
