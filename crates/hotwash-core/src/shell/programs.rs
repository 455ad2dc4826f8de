//! The table of programs that test, build or lint by themselves or by a subcommand.
//!
//! Data only; [`runners`](super::runners) reads it, and knows the programs that need more than a row.

use super::runs::RunKind::{self, Build, Lint, Test};

/// A program, its subcommand ("" for any), flags of which one must be there (none: no matter), what it does, its name.
/// The first row that fits wins.
pub(super) type Rule = (&'static str, &'static str, &'static [&'static str], RunKind, &'static str);

#[rustfmt::skip] // one rule per line
pub(super) const RULES: &[Rule] = &[
    ("pytest", "", &[], Test, "pytest"),
    ("py.test", "", &[], Test, "pytest"),
    ("unittest", "", &[], Test, "unittest"),
    ("nose2", "", &[], Test, "nose2"),
    ("nosetests", "", &[], Test, "nose2"),
    ("behave", "", &[], Test, "behave"),
    ("tox", "", &[], Test, "tox"),
    ("nox", "", &[], Test, "nox"),
    ("trial", "", &[], Test, "trial"),
    ("manage.py", "test", &[], Test, "django"),
    ("go", "test", &["-c"], Build, "go test -c"),
    ("go", "test", &[], Test, "go test"),
    ("go", "build", &[], Build, "go build"),
    ("go", "install", &[], Build, "go build"),
    ("go", "vet", &[], Lint, "go vet"),
    ("gotestsum", "", &[], Test, "go test"),
    ("ginkgo", "build", &[], Build, "ginkgo"),
    ("ginkgo", "", &[], Test, "ginkgo"),
    ("cargo", "test", &["--no-run"], Build, "cargo build"),
    ("cargo", "test", &[], Test, "cargo test"),
    ("cargo", "t", &[], Test, "cargo test"),
    ("cargo", "nextest", &["--no-run"], Build, "cargo build"),
    ("cargo", "nextest", &[], Test, "cargo nextest"),
    ("cargo", "llvm-cov", &[], Test, "cargo test"),
    ("cargo", "tarpaulin", &[], Test, "cargo test"),
    ("cargo", "miri", &[], Test, "cargo test"),
    ("cargo", "build", &[], Build, "cargo build"),
    ("cargo", "b", &[], Build, "cargo build"),
    ("cargo", "check", &[], Build, "cargo check"),
    ("cargo", "c", &[], Build, "cargo check"),
    ("cargo", "doc", &[], Build, "cargo doc"),
    ("cargo", "clippy", &[], Lint, "cargo clippy"),
    ("cargo", "fmt", &["--check"], Lint, "cargo fmt"),
    ("cargo", "deny", &[], Lint, "cargo deny"),
    ("rustfmt", "", &["--check"], Lint, "cargo fmt"),
    ("rustc", "", &[], Build, "rustc"),
    ("jest", "", &[], Test, "jest"),
    ("vitest", "", &[], Test, "vitest"),
    ("mocha", "", &[], Test, "mocha"),
    ("ava", "", &[], Test, "ava"),
    ("tap", "", &[], Test, "tap"),
    ("karma", "start", &[], Test, "karma"),
    ("playwright", "test", &[], Test, "playwright"),
    ("cypress", "run", &[], Test, "cypress"),
    ("wdio", "run", &[], Test, "wdio"),
    ("react-scripts", "test", &[], Test, "jest"),
    ("react-scripts", "build", &[], Build, "react-scripts"),
    ("bun", "test", &[], Test, "bun test"),
    ("bun", "build", &[], Build, "bun build"),
    ("node", "", &["--test"], Test, "node --test"),
    ("deno", "test", &[], Test, "deno test"),
    ("deno", "lint", &[], Lint, "deno lint"),
    ("deno", "check", &[], Lint, "deno check"),
    ("deno", "fmt", &["--check"], Lint, "deno fmt"),
    ("rspec", "", &[], Test, "rspec"),
    ("cucumber", "", &[], Test, "cucumber"),
    ("minitest", "", &[], Test, "minitest"),
    ("rails", "test", &[], Test, "minitest"),
    ("rails", "spec", &[], Test, "rspec"),
    ("phpunit", "", &[], Test, "phpunit"),
    ("pest", "", &[], Test, "pest"),
    ("artisan", "test", &[], Test, "phpunit"),
    ("ctest", "", &[], Test, "ctest"),
    ("bats", "", &[], Test, "bats"),
    ("prove", "", &[], Test, "prove"),
    ("busted", "", &[], Test, "busted"),
    ("mix", "test", &[], Test, "mix test"),
    ("mix", "compile", &[], Build, "mix compile"),
    ("mix", "credo", &[], Lint, "mix credo"),
    ("mix", "dialyzer", &[], Lint, "mix dialyzer"),
    ("mix", "format", &["--check-formatted"], Lint, "mix format"),
    ("dotnet", "test", &[], Test, "dotnet test"),
    ("dotnet", "build", &[], Build, "dotnet build"),
    ("dotnet", "publish", &[], Build, "dotnet build"),
    ("dotnet", "format", &["--verify-no-changes"], Lint, "dotnet format"),
    ("swift", "test", &[], Test, "swift test"),
    ("swift", "build", &[], Build, "swift build"),
    ("xcodebuild", "test", &[], Test, "xcodebuild"),
    ("xcodebuild", "", &[], Build, "xcodebuild"),
    ("flutter", "test", &[], Test, "flutter test"),
    ("flutter", "analyze", &[], Lint, "flutter analyze"),
    ("flutter", "build", &[], Build, "flutter build"),
    ("dart", "test", &[], Test, "dart test"),
    ("dart", "analyze", &[], Lint, "dart analyze"),
    ("zig", "test", &[], Test, "zig test"),
    ("zig", "build", &[], Build, "zig build"),
    ("bazel", "test", &[], Test, "bazel"),
    ("bazel", "build", &[], Build, "bazel"),
    ("bazelisk", "test", &[], Test, "bazel"),
    ("bazelisk", "build", &[], Build, "bazel"),
    ("sbt", "test", &[], Test, "sbt"),
    ("sbt", "compile", &[], Build, "sbt"),
    ("lein", "test", &[], Test, "lein"),
    ("stack", "test", &[], Test, "stack"),
    ("stack", "build", &[], Build, "stack"),
    ("cabal", "test", &[], Test, "cabal"),
    ("cabal", "build", &[], Build, "cabal"),
    ("rebar3", "eunit", &[], Test, "rebar3"),
    ("rebar3", "ct", &[], Test, "rebar3"),
    ("rebar3", "compile", &[], Build, "rebar3"),
    ("meson", "test", &[], Test, "meson"),
    ("meson", "compile", &[], Build, "meson"),
    ("composer", "test", &[], Test, "composer"),
    ("hatch", "test", &[], Test, "pytest"),
    ("hatch", "build", &[], Build, "hatch"),
    ("rye", "test", &[], Test, "pytest"),
    ("poetry", "build", &[], Build, "poetry"),
    ("uv", "build", &[], Build, "uv build"),
    ("cmake", "", &["--build"], Build, "cmake"),
    ("docker", "build", &[], Build, "docker build"),
    ("docker", "buildx", &[], Build, "docker build"),
    ("podman", "build", &[], Build, "docker build"),
    ("tsc", "", &["--noEmit", "--showConfig"], Lint, "tsc"),
    ("tsc", "", &[], Build, "tsc"),
    ("vue-tsc", "", &[], Lint, "tsc"),
    ("tsgo", "", &[], Lint, "tsc"),
    ("vite", "build", &[], Build, "vite"),
    ("next", "build", &[], Build, "next"),
    ("next", "lint", &[], Lint, "next lint"),
    ("nuxt", "build", &[], Build, "nuxt"),
    ("astro", "build", &[], Build, "astro"),
    ("astro", "check", &[], Lint, "astro"),
    ("ng", "test", &[], Test, "ng"),
    ("ng", "build", &[], Build, "ng"),
    ("ng", "lint", &[], Lint, "ng"),
    ("webpack", "", &[], Build, "webpack"),
    ("rollup", "", &[], Build, "rollup"),
    ("esbuild", "", &[], Build, "esbuild"),
    ("tsup", "", &[], Build, "tsup"),
    ("parcel", "build", &[], Build, "parcel"),
    ("gcc", "", &[], Build, "cc"),
    ("g++", "", &[], Build, "cc"),
    ("cc", "", &[], Build, "cc"),
    ("clang", "", &[], Build, "cc"),
    ("clang++", "", &[], Build, "cc"),
    ("javac", "", &[], Build, "javac"),
    ("eslint", "", &[], Lint, "eslint"),
    ("oxlint", "", &[], Lint, "oxlint"),
    ("tslint", "", &[], Lint, "tslint"),
    ("xo", "", &[], Lint, "eslint"),
    ("stylelint", "", &[], Lint, "stylelint"),
    ("svelte-check", "", &[], Lint, "svelte-check"),
    ("biome", "check", &[], Lint, "biome"),
    ("biome", "lint", &[], Lint, "biome"),
    ("biome", "ci", &[], Lint, "biome"),
    ("prettier", "", &["--check", "-c", "-l", "--list-different"], Lint, "prettier"),
    ("ruff", "check", &[], Lint, "ruff"),
    ("ruff", "format", &["--check", "--diff"], Lint, "ruff"),
    ("ruff", ".", &[], Lint, "ruff"),
    ("black", "", &["--check", "--diff"], Lint, "black"),
    ("isort", "", &["--check", "--check-only", "-c"], Lint, "isort"),
    ("flake8", "", &[], Lint, "flake8"),
    ("pylint", "", &[], Lint, "pylint"),
    ("mypy", "", &[], Lint, "mypy"),
    ("dmypy", "", &[], Lint, "mypy"),
    ("pyright", "", &[], Lint, "pyright"),
    ("basedpyright", "", &[], Lint, "pyright"),
    ("ty", "check", &[], Lint, "ty"),
    ("bandit", "", &[], Lint, "bandit"),
    ("pre-commit", "run", &[], Lint, "pre-commit"),
    ("golangci-lint", "run", &[], Lint, "golangci-lint"),
    ("staticcheck", "", &[], Lint, "staticcheck"),
    ("revive", "", &[], Lint, "revive"),
    ("gofmt", "", &["-l", "-d"], Lint, "gofmt"),
    ("gofumpt", "", &["-l", "-d"], Lint, "gofmt"),
    ("shellcheck", "", &[], Lint, "shellcheck"),
    ("shfmt", "", &["-d", "-l"], Lint, "shfmt"),
    ("hadolint", "", &[], Lint, "hadolint"),
    ("actionlint", "", &[], Lint, "actionlint"),
    ("yamllint", "", &[], Lint, "yamllint"),
    ("markdownlint", "", &[], Lint, "markdownlint"),
    ("markdownlint-cli2", "", &[], Lint, "markdownlint"),
    ("rubocop", "", &[], Lint, "rubocop"),
    ("standardrb", "", &[], Lint, "rubocop"),
    ("srb", "tc", &[], Lint, "sorbet"),
    ("phpstan", "", &[], Lint, "phpstan"),
    ("psalm", "", &[], Lint, "psalm"),
    ("phpcs", "", &[], Lint, "phpcs"),
    ("swiftlint", "", &[], Lint, "swiftlint"),
    ("ktlint", "", &[], Lint, "ktlint"),
    ("detekt", "", &[], Lint, "detekt"),
    ("cppcheck", "", &[], Lint, "cppcheck"),
    ("clang-tidy", "", &[], Lint, "clang-tidy"),
    ("clang-format", "", &["--dry-run", "-n"], Lint, "clang-format"),
    ("luacheck", "", &[], Lint, "luacheck"),
    ("terraform", "validate", &[], Lint, "terraform"),
    ("terraform", "fmt", &["-check"], Lint, "terraform"),
    ("tofu", "validate", &[], Lint, "terraform"),
    ("buf", "lint", &[], Lint, "buf"),
];

/// The rows of a program; most programs have none.
pub(super) fn rules(program: &str) -> impl Iterator<Item = &'static Rule> {
    let mut slot = slot(program);
    let rows = loop {
        match RULES.get(usize::from(FIRST[slot])..).unwrap_or_default() {
            [first, ..] if first.0 != program => slot = (slot + 1) % SLOTS,
            rows => break rows,
        }
    };
    let name = rows.first().map(|rule| rule.0);
    rows.iter().take_while(move |rule| Some(rule.0) == name)
}

const SLOTS: usize = 1024;

/// For each hash of a name the first row of a program with it, or the place behind the last row. A program whose place
/// is taken has the next free one.
static FIRST: [u8; SLOTS] = {
    let mut first = [RULES.len() as u8; SLOTS];
    let mut at = 0;
    while at < RULES.len() {
        if at == 0 || !same(RULES[at].0, RULES[at - 1].0) {
            let mut slot = slot(RULES[at].0);
            while (first[slot] as usize) < RULES.len() {
                slot = (slot + 1) % SLOTS;
            }
            first[slot] = at as u8;
        }
        at += 1;
    }
    assert!(RULES.len() < 255);
    first
};

const fn slot(program: &str) -> usize {
    let bytes = program.as_bytes();
    let mut hash = bytes.len();
    let mut at = 0;
    while at < bytes.len() {
        hash = hash.wrapping_mul(31) ^ bytes[at] as usize;
        at += 1;
    }
    hash % SLOTS
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_all_its_rows_and_others_have_none() {
        for rule in RULES {
            let found: Vec<_> = rules(rule.0).collect();
            let all: Vec<_> = RULES.iter().filter(|other| other.0 == rule.0).collect();
            assert_eq!(found, all, "the rows of {} stand together", rule.0);
        }
        for other in ["", "cd", "ls", "cat", "grep", "git", "echo", "no-such-program", "é"] {
            assert_eq!(rules(other).count(), 0, "{other}");
        }
    }
}
