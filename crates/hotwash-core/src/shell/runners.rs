//! Which programs test, build or lint, and through what they are started.
//!
//! Programs are told by the table in [`programs`](super::programs), task runners (`make`, `mise`, npm scripts) by the
//! names of their tasks, in [`tasks`](super::tasks). Only the words of one segment are looked at; where it
//! stands in the command, and what came of it, is [`runs`](super::runs)' and [`result`](super::result)'s matter.

use std::borrow::Cow;

use super::programs::rules;
use super::runs::RunKind::{self, Build, Lint, Test};
use super::segment::{basename, head, past_flags};
use super::tasks::{gradle, maven, task_kind, task_runner, tasks};

/// The words of a segment, or some of them.
pub(super) type Words<'w, 'a> = &'w [Cow<'a, str>];

/// The runs that the words of a segment start, most often none or one: `make lint test` starts two.
pub(super) fn recognise(words: Words<'_, '_>, mut found: impl FnMut(RunKind, &'static str)) {
    let mut words = words;
    let mut by_script_name = false;
    // Each step leaves fewer words, so this ends.
    while let Some(inner) = wrapped(words) {
        // These run a project's named scripts as readily as programs.
        by_script_name = words
            .first()
            .is_some_and(|word| matches!(program_name(word), "pdm" | "hatch" | "pixi" | "pipenv" | "rye" | "poetry"));
        words = inner.get(head(inner)..).unwrap_or_default();
    }
    let Some((program, arguments)) = words.split_first() else {
        return;
    };
    if is_question(arguments) {
        return;
    }
    let name = program_name(program);
    if let Some((runner, value_flags)) = task_runner(name) {
        return tasks(name, runner, arguments, value_flags, found);
    }
    if let Some((kind, runner)) = rule(name, arguments) {
        return found(kind, runner);
    }
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => {
            if let Some((kind, runner)) = script(name, arguments) {
                found(kind, runner);
            } else if let Some((inner, rest)) = subcommand(name, arguments)
                && let Some((runner, value_flags)) = task_runner(inner)
            {
                // `pnpm turbo run build`: a task runner of the project.
                tasks(inner, runner, rest, value_flags, found);
            }
        }
        _ if by_script_name => {
            if let Some(kind) = task_kind(name) {
                found(kind, "project script");
            }
        }
        "gh" => {
            // What a pipeline checks elsewhere.
            let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).take(2).collect();
            if matches!(words[..], ["run", "watch"] | ["pr", "checks"]) {
                found(Build, "gh");
            }
        }
        "mvn" | "mvnw" => maven(arguments, found),
        "gradle" | "gradlew" => gradle(arguments, found),
        // A project's own script, called by its path.
        _ if program.contains('/') || matches!(name, "bash" | "sh" | "zsh") => {
            let path = if program.contains('/') { Some(program) } else { arguments.first() };
            let stem = path.map(|path| basename(path).trim_end_matches(".sh"));
            match stem {
                Some("test" | "tests" | "run-tests" | "run_tests" | "runtests") => {
                    found(Test, "test script");
                }
                Some("lint" | "check" | "verify") => found(Lint, "lint script"),
                Some("build") => found(Build, "build script"),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Asked about, not run.
fn is_question(arguments: Words<'_, '_>) -> bool {
    arguments.first().is_some_and(|word| word == "-h" || word == "help")
        || arguments.iter().any(|word| {
            matches!(
                word.as_ref(),
                "--help"
                    | "--version"
                    | "--collect-only"
                    | "--co"
                    | "--list"
                    | "-list"
                    | "--list-tests"
                    | "--listTests"
            ) || word.starts_with("-list=")
        })
}

/// The command inside a command that only starts it: `npx`, `uv run`, `bundle exec`, `python -m`, ….
fn wrapped<'w, 'a>(words: Words<'w, 'a>) -> Option<Words<'w, 'a>> {
    let (program, arguments) = words.split_first()?;
    let name = program_name(program);
    let from = |at: usize| arguments.get(at..).filter(|inner| !inner.is_empty());
    match name {
        "npx" | "bunx" | "pnpx" | "uvx" => from(past_flags(arguments, 0, &["-p", "--package", "--from", "--with"])),
        "python" | "python3" | "py" | "pypy3" => python(arguments),
        _ if name.starts_with("python3.") => python(arguments),
        // An interpreter in a variable.
        _ if program.starts_with('$') && arguments.first()? == "-m" => python(arguments),
        "node" | "php" | "ruby" => {
            // A runner's own script under `node_modules` or `vendor`.
            let at = past_flags(arguments, 0, &["-r", "--require", "-I", "-d"]);
            let path = arguments.get(at)?;
            (path.contains("/bin/") || path.contains("/.bin/") || path == "artisan").then(|| from(at)).flatten()
        }
        "coverage" => {
            let (subcommand, rest) = subcommand(name, arguments)?;
            (subcommand == "run").then(|| python(rest).unwrap_or(rest)).filter(|inner| !inner.is_empty())
        }
        "docker" | "podman" | "docker-compose" => container(name, arguments),
        "direnv" => (arguments.first()? == "exec").then(|| from(2)).flatten(),
        "doppler" | "op" | "infisical" | "dotenv" | "dotenvx" => {
            from(arguments.iter().position(|word| word == "--")? + 1)
        }
        _ => {
            let subcommands = starts_with(name)?;
            let (subcommand, rest) = subcommand(name, arguments)?;
            if !subcommands.contains(&subcommand) {
                return None;
            }
            // `mise exec node@20 -- cmd`, `hatch run -- cmd`.
            let dashes = (name == "mise").then(|| rest.iter().position(|word| word == "--")).flatten();
            let at = dashes.map_or_else(|| past_flags(rest, 0, STARTER_VALUE_FLAGS), |at| at + 1);
            rest.get(at..).filter(|inner| !inner.is_empty())
        }
    }
}

/// The subcommands by which a program starts another one.
fn starts_with(program: &str) -> Option<&'static [&'static str]> {
    Some(match program {
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "pixi" | "pipx" | "conda" | "mamba" | "micromamba" => {
            &["run"]
        }
        "npm" | "mise" => &["exec", "x"],
        "pnpm" | "yarn" => &["exec", "dlx"],
        "bun" => &["x"],
        "bundle" | "composer" => &["exec"],
        _ => return None,
    })
}

const STARTER_VALUE_FLAGS: &[&str] = &[
    "--with",
    "--python",
    "-p",
    "--package",
    "--group",
    "--extra",
    "--directory",
    "--project",
    "--env-file",
    "-n",
    "--name",
    "--prefix",
    "-e",
    "--cwd",
];

/// What `python` runs as a module, or a project script that is a runner's front.
fn python<'w, 'a>(arguments: Words<'w, 'a>) -> Option<Words<'w, 'a>> {
    let at = arguments.iter().position(|word| word == "-m" || !word.starts_with('-'))?;
    let word = arguments.get(at)?;
    let inner = match word.as_ref() {
        "-m" => arguments.get(at + 1..),
        path if basename(path) == "manage.py" || path.contains("/bin/") => arguments.get(at..),
        _ => None,
    };
    inner.filter(|inner| !inner.is_empty())
}

/// `docker exec [flags] container cmd`, `docker compose run [flags] service cmd`.
fn container<'w, 'a>(name: &str, arguments: Words<'w, 'a>) -> Option<Words<'w, 'a>> {
    let compose = name == "docker-compose" || arguments.first()? == "compose";
    let from = usize::from(compose && name != "docker-compose");
    let at = past_flags(arguments, from, &["-f", "--file", "-p", "--project-name", "--profile", "--env-file"]);
    let inside = match arguments.get(at)?.as_ref() {
        "exec" => true,
        "run" => compose,
        _ => false,
    };
    let flags = ["-e", "--env", "-u", "--user", "-w", "--workdir", "-v", "--volume", "--name", "--entrypoint"];
    let target = past_flags(arguments, at + 1, &flags);
    arguments.get(target + 1..).filter(|inner| inside && !inner.is_empty())
}

/// The first operand of a program, and the words after it.
fn subcommand<'w, 'a>(program: &str, arguments: Words<'w, 'a>) -> Option<(&'w str, Words<'w, 'a>)> {
    let flags = value_flags(program);
    let mut at = past_flags(arguments, 0, flags);
    if arguments.get(at).is_some_and(|word| word.starts_with('+')) {
        // `cargo +nightly test`
        at = past_flags(arguments, at + 1, flags);
    }
    if matches!((program, arguments.get(at).map(AsRef::as_ref)), ("yarn", Some("workspace"))) {
        at += 2;
    }
    Some((arguments.get(at)?.as_ref(), arguments.get(at + 1..)?))
}

/// Flags before the subcommand that take a value.
fn value_flags(program: &str) -> &'static [&'static str] {
    match program {
        "go" | "cmake" => &["-C"],
        "cargo" => &["--manifest-path", "--config", "-C", "-Z", "--color", "--target-dir"],
        "npm" => &["--prefix", "-w", "--workspace", "-C"],
        "pnpm" => &["-C", "--dir", "-F", "--filter"],
        "yarn" => &["--cwd"],
        "bun" => &["--cwd", "--filter"],
        "uv" => &["--directory", "--project", "--python"],
        "poetry" => &["-C", "--directory", "-P", "--project"],
        "conda" => &["-n", "--name", "-p", "--prefix"],
        "mise" => &["-C", "--cd", "-E", "--env"],
        "bazel" => &["--output_base"],
        "xcodebuild" => &["-scheme", "-project", "-workspace", "-destination", "-configuration", "-sdk"],
        _ => &[],
    }
}

fn program_name(word: &str) -> &str {
    let name = basename(word);
    if !name.bytes().any(|byte| matches!(byte, b'@' | b'.')) {
        return name;
    }
    let name = name.split('@').next().unwrap_or(name);
    let name =
        [".exe", ".cmd", ".js", ".mjs", ".bat"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    // `python -m ruff` and `./manage.py` keep their own names.
    name.strip_suffix(".phar").unwrap_or(name)
}

fn rule(program: &str, arguments: Words<'_, '_>) -> Option<(RunKind, &'static str)> {
    let has = |flag: &&str| {
        arguments
            .iter()
            .any(|word| word.strip_prefix(*flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    };
    let mut first = None;
    rules(program).find_map(|(_, wanted, flags, kind, runner)| {
        let operand = *first.get_or_insert_with(|| subcommand(program, arguments).map(|(operand, _)| operand));
        ((wanted.is_empty() || operand == Some(wanted)) && (flags.is_empty() || flags.iter().any(has)))
            .then_some((*kind, *runner))
    })
}

/// What a script of a package manager does: `npm test`, `pnpm run lint`, `yarn build`.
fn script(program: &str, arguments: Words<'_, '_>) -> Option<(RunKind, &'static str)> {
    let (mut name, mut rest) = subcommand(program, arguments)?;
    if matches!(name, "run" | "run-script") {
        // Flags may stand on either side of `run`.
        (name, rest) = subcommand(program, rest)?;
    }
    if matches!(name, "t" | "tst") {
        return Some((Test, "npm script"));
    }
    // `yarn jest`, `pnpm tsc`: a binary of the project, or a script named after it.
    rule(program_name(name), rest).or_else(|| task_kind(name).map(|kind| (kind, "npm script")))
}
