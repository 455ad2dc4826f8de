use super::super::segments;
use super::RunKind;

fn runs(command: &str) -> Vec<(RunKind, &'static str, bool)> {
    let mut found = Vec::new();
    super::runs(&segments(command), &mut |kind, runner, masked| found.push((kind, runner, masked)));
    found
}

/// `test pytest`, `lint ruff masked`, joined by commas.
fn shown(command: &str) -> String {
    let shown = runs(command).into_iter().map(|(kind, runner, masked)| {
        let kind = match kind {
            RunKind::Test => "test",
            RunKind::Build => "build",
            RunKind::Lint => "lint",
        };
        format!("{kind} {runner}{}", if masked { " masked" } else { "" })
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn knows_runners_by_the_head_of_a_segment() {
    let cases = [
        ("pytest -q", "test pytest"),
        ("python -m pytest tests/", "test pytest"),
        ("python3.12 -m unittest discover", "test unittest"),
        (".venv/bin/python -m pytest", "test pytest"),
        ("python manage.py test app", "test django"),
        ("uv run --with x pytest", "test pytest"),
        ("uv run python -m pytest", "test pytest"),
        ("poetry run env A=1 pytest", "test pytest"),
        ("pipenv run pytest", "test pytest"),
        ("conda run -n dev pytest", "test pytest"),
        ("coverage run -m pytest", "test pytest"),
        ("go test ./...", "test go test"),
        ("go -C sub test ./...", "test go test"),
        ("go test -c ./x", "build go test -c"),
        ("cargo +nightly test --lib", "test cargo test"),
        ("cargo nextest run", "test cargo nextest"),
        ("cargo test --no-run", "build cargo build"),
        ("cargo --manifest-path a/Cargo.toml check", "build cargo check"),
        ("npm test", "test npm script"),
        ("npm t", "test npm script"),
        ("npm --prefix web run test:unit -- --watch=false", "test npm script"),
        ("pnpm -r test", "test npm script"),
        ("yarn jest src", "test jest"),
        ("yarn workspace app test", "test npm script"),
        ("bun test", "test bun test"),
        ("npx jest", "test jest"),
        ("npx --yes vitest@2 run", "test vitest"),
        ("pnpm exec playwright test", "test playwright"),
        ("pnpm dlx cypress run", "test cypress"),
        ("bunx mocha", "test mocha"),
        ("node --test", "test node --test"),
        ("node node_modules/.bin/jest", "test jest"),
        ("bundle exec rspec spec", "test rspec"),
        ("bundle exec rake test", "test rake"),
        ("bin/rails test", "test minitest"),
        ("./mvnw -q test", "test mvn"),
        ("mvn clean package -DskipTests", "build mvn"),
        ("./gradlew :app:test --tests Foo", "test gradle"),
        ("gradle build", "build gradle"),
        ("dotnet test", "test dotnet test"),
        ("vendor/bin/phpunit", "test phpunit"),
        ("php artisan test", "test phpunit"),
        ("ctest --test-dir build", "test ctest"),
        ("make test", "test make"),
        ("make -C sub -j4 check", "test make"),
        ("make lint test V=1", "lint make, test make"),
        ("make", "build make"),
        ("make install", ""),
        ("just test", "test just"),
        ("mise run test:ci", "test mise"),
        ("mise run lint ::: test", "lint mise, test mise"),
        ("mise r build", "build mise"),
        ("mise exec node@20 -- npx vitest", "test vitest"),
        ("mise run fmt", ""),
        ("mise run test -- -run TestLint", "test mise"),
        ("task test", "test task"),
        ("mix test test/a_test.exs", "test mix test"),
        ("mix credo --strict", "lint mix credo"),
        ("swift test", "test swift test"),
        ("deno test -A", "test deno test"),
        ("tox -e py312", "test tox"),
        ("bats test.bats", "test bats"),
        ("ginkgo -r", "test ginkgo"),
        ("docker compose exec -T web pytest", "test pytest"),
        ("docker compose run --rm web npm test", "test npm script"),
        ("docker build .", "build docker build"),
        ("bash -c 'cd a && go test ./...'", "test go test"),
        ("bash -lc \"pytest | tail\"", "test pytest masked"),
        ("./scripts/test", "test test script"),
        ("bash run_tests.sh", "test test script"),
        ("hatch run test:unit", "test project script"),
        ("poetry run lint", "lint project script"),
        ("$PY -m pytest", "test pytest"),
        ("\"$VENV/bin/pytest\" -x", "test pytest"),
        ("turbo run lint test", "lint turbo, test turbo"),
        ("xcodebuild -scheme App test", "test xcodebuild"),
        ("source .venv/bin/activate && time pytest", "test pytest"),
        ("tsc", "build tsc"),
        ("npx tsc --noEmit", "lint tsc"),
        ("npm run typecheck", "lint npm script"),
        ("npm run type-check", "lint npm script"),
        ("npm run build:test", "build npm script"),
        ("npm run format:check", "lint npm script"),
        ("npm run dev", ""),
        ("npm install jest", ""),
        ("cargo fmt --check", "lint cargo fmt"),
        ("cargo fmt", ""),
        ("cargo clippy -- -D warnings", "lint cargo clippy"),
        ("ruff check . && mypy src", "lint ruff, lint mypy"),
        ("prettier --check .", "lint prettier"),
        ("prettier --write .", ""),
        ("black --check .", "lint black"),
        ("npx @biomejs/biome@1.9 check", "lint biome"),
        ("go vet ./...", "lint go vet"),
        ("gofmt -l .", "lint gofmt"),
        ("cmake --build build", "build cmake"),
        ("cmake -B build", ""),
    ];
    for (command, expected) in cases {
        assert_eq!(shown(command), expected, "{command}");
    }
}

#[test]
fn leaves_alone_what_only_mentions_a_runner() {
    let commands = [
        "ls jest/",
        "cat jest/pytest.ini",
        "grep -rn 'go test' .",
        "echo pytest",
        "cat <<EOF\ngo test\nEOF",
        "git commit -m \"$(cat <<'EOF'\ncargo test\nEOF\n)\"",
        "pytest --help",
        "pytest --version",
        "pytest --collect-only -q",
        "cargo test -- --list",
        "go test -list . ./...",
        "npx playwright test --list",
        "go help test",
        "which pytest",
        "pip install pytest",
        "# pytest",
        "tests/test_a.py",
        "make -n test",
    ];
    for command in commands {
        assert_eq!(shown(command), "", "{command}");
    }
}

#[test]
fn sees_where_the_exit_code_is_lost() {
    let cases = [
        ("pytest", false),
        ("pytest;", false),
        ("pytest 2>&1", false),
        ("cd a && pytest && echo ok", false),
        ("cd a; pytest", false),
        ("pytest | tail", true),
        ("pytest |& tee log", true),
        ("set -o pipefail; pytest | tail", false),
        ("set -euo pipefail\npytest | tail\necho", false),
        ("set -e\npytest\necho ok", false),
        ("pytest; echo done", true),
        ("pytest\necho done", true),
        ("pytest || true", true),
        ("pytest || echo failed", true),
        ("pytest || exit 1", false),
        ("pytest || { echo failed; exit 1; }", false),
        ("pytest && echo ok || echo failed", true),
        ("pytest && cat log | tail", false),
        ("(cd a && pytest) | tail", true),
        ("(pytest && cat log) | tail", true),
        ("(pytest | tail) && ls", true),
        ("(cd a && pytest)", false),
        ("pytest && (ls | head)", false),
        ("pytest && (ls; ls)", false),
        ("pytest & wait", true),
        ("for i in 1 2; do pytest; done", false),
        ("pytest && for i in 1 2; do ls; done", false),
        ("pytest && { ls; ls; }", false),
        ("{ pytest && ls; } | tail", true),
        ("for i in 1 2; do pytest; done | tail", true),
        ("if pytest; then echo ok; fi", true),
        ("pytest > log; code=$?; tail log; exit $code", false),
        ("pytest | tail; exit ${PIPESTATUS[0]}", false),
        ("! pytest | tail", true),
    ];
    for (command, masked) in cases {
        assert_eq!(runs(command).first().map(|run| run.2), Some(masked), "{command}");
    }
}
