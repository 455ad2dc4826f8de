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

/// Whether the table may hold a program: most are not in it, which a bit tells sooner than all the rows.
pub(super) fn may_have_a_rule(program: &str) -> bool {
    let (word, bit) = place(program);
    KNOWN[word] & bit != 0
}

/// A bit for each program of the table.
static KNOWN: [u64; 32] = {
    let mut known = [0; 32];
    let mut at = 0;
    while at < RULES.len() {
        let (word, bit) = place(RULES[at].0);
        known[word] |= bit;
        at += 1;
    }
    known
};

/// Where the bit of a program is.
const fn place(program: &str) -> (usize, u64) {
    let bytes = program.as_bytes();
    let mut hash = bytes.len() as u32;
    let mut at = 0;
    while at < bytes.len() {
        hash = hash.wrapping_mul(31) ^ bytes[at] as u32;
        at += 1;
    }
    ((hash as usize >> 6) % 32, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_its_bit_and_common_others_have_none() {
        assert!(RULES.iter().all(|rule| may_have_a_rule(rule.0)));
        let others = ["cd", "ls", "cat", "grep", "git", "echo", "head", "tail", "sed", "rm", "find", "rg", "mkdir"];
        let taken: Vec<_> = others.iter().filter(|program| may_have_a_rule(program)).collect();
        assert!(taken.is_empty(), "{taken:?}");
    }
}
