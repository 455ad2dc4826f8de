use super::*;
use crate::facts::testing::ledger_of;
use crate::rework::{CommitId, hashes};

fn line(text: &str) -> Line {
    hashes(text).flatten().next().unwrap()
}

/// The lines that a story leaves behind in a file, with how many there are more of.
fn left(story: &str, file: &str) -> Vec<(Line, i32)> {
    let fingerprint = ledger_of(story).fingerprint();
    let lines = fingerprint.lines().filter(|(key, _)| *key == FileKey::of(file));
    lines.map(|(_, change)| (change.line, change.net)).collect()
}

fn lines(texts: &[(&str, i32)]) -> Vec<(Line, i32)> {
    let mut lines: Vec<_> = texts.iter().map(|(text, net)| (line(text), *net)).collect();
    lines.sort();
    lines
}

#[test]
fn lines_are_kept_by_file_with_their_events() {
    let story = "
        e1 Edit  src/a.rs -let old = 1; +let new = 2; +} @10
        e2 ok @11
        e3 Write b.rs +fn main() { +} +fn main() {
        e4 created @20
    ";
    assert_eq!(left(story, "src/a.rs"), lines(&[("let old = 1;", -1), ("let new = 2;", 1)]));
    assert_eq!(left(story, "b.rs"), lines(&[("fn main() {", 2)]));
    let fingerprint = ledger_of(story).fingerprint();
    let created: Vec<bool> = fingerprint.files.iter().map(|file| file.created).collect();
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
    for (_, change) in fingerprint.lines() {
        let written = change.net == 2;
        assert_eq!(change.event, EventId(if written { 3 } else { 1 }));
        assert_eq!(change.at, Timestamp(if written { 20_000 } else { 11_000 }));
    }
}

#[test]
fn working_material_is_nothing_to_rework() {
    for (file, lines) in [("plan.md", 0), ("notes/scratch.txt", 0), ("Cargo.lock", 0), ("src/plan.rs", 1)] {
        let story = format!("e1 Edit  {file} -let old = 1; +let new = 2;\n e2 ok");
        assert_eq!(left(&story, file).len(), 2 * lines, "{file}");
    }
}

#[test]
fn what_a_session_takes_back_itself_was_never_there() {
    let edit = "e1 Edit  a.rs -let old = 1; +let new = 2;\n e2 ok\n";
    let changed = lines(&[("let old = 1;", -1), ("let new = 2;", 1)]);
    for (then, is_left) in [
        ("", &changed[..]),
        ("e3 Edit  a.rs -let new = 2; +let old = 1;\n e4 ok", &[]),
        ("e3 Bash  git checkout -- a.rs\n e4 ok", &[]),
        ("e3 Bash  cd src && git checkout -- ../a.rs\n e4 ok", &[]),
        ("e3 Bash  git checkout -- a.rs\n e4 error", &changed),
        ("e3 Bash  git checkout -- a.rs | cat\n e4 ok error: pathspec 'a.rs' did not match", &changed),
        ("e3 Bash  git checkout -- b.rs\n e4 ok", &changed),
        ("e3 Bash  git reset --hard\n e4 ok HEAD is now at 3f2a1b9 Before", &[]),
        ("e3 Bash  git commit -am Now\n e4 ok [main 3f2a1b9] Now\n e5 Bash  git reset --hard\n e6 ok", &changed),
        ("e3 Bash  rm a.rs\n e4 ok", &[]),
    ] {
        assert_eq!(left(&format!("{edit}{then}"), "a.rs"), is_left, "{then}");
    }
}

#[test]
fn git_leaves_alone_what_it_does_not_know() {
    let story = "e1 Write a.rs +let new = 2;\n e2 created\n e3 Bash  git reset --hard\n e4 ok";
    assert_eq!(left(story, "a.rs"), lines(&[("let new = 2;", 1)]));
}

#[test]
fn files_outside_the_repository_do_not_count() {
    let story = "e1 Write /tmp/a.rs +let new = 2;\n e2 created";
    assert!(ledger_of(story).fingerprint().is_empty());
}

fn acts(story: &str) -> Vec<What> {
    ledger_of(story).fingerprint().acts.into_iter().map(|act| act.what).collect()
}

#[test]
fn commits_and_reverts_are_seen() {
    let id = |text| CommitId::parse(text).unwrap();
    let commit =
        |hash: &str, words: &str| What::Commit { id: CommitId::parse(hash), subject: Some(Subject::of(words)) };
    for (story, expected) in [
        ("e1 Bash  git commit -m Cache\n e2 ok [main 3f2a1b9] Cache", vec![commit("3f2a1b9", "Cache")]),
        ("e1 Bash  git commit -qm Cache\n e2 ok", vec![What::Commit { id: None, subject: None }]),
        ("e1 Bash  git commit -m Cache\n e2 error nothing", vec![]),
        ("e1 Bash  git commit -m Cache | cat\n e2 ok nothing to commit, working tree clean", vec![]),
        (
            "e1 Bash  git commit -m A\n e2 ok [main 3f2a1b9] A\n e3 Bash  git commit --amend -m B\n e4 ok [main 77aa88b] B",
            vec![commit("77aa88b", "B")],
        ),
        (
            "e1 Bash  git revert --no-edit HEAD\n e2 ok [main 77aa88b] Revert \"Cache\"",
            vec![What::RevertSubject(Subject::of("Cache")), commit("77aa88b", "Revert \"Cache\"")],
        ),
        (
            "e1 Bash  git revert -n 3f2a1b9\n e2 ok",
            vec![What::Revert(id("3f2a1b9")), What::Commit { id: None, subject: None }],
        ),
        ("e1 Bash  git revert 3f2a1b9 | cat\n e2 ok error: could not revert 3f2a1b9", vec![]),
        ("e1 Bash  git reset --hard HEAD~1\n e2 ok", vec![What::Drop(1), What::DiscardAll]),
        ("e1 Bash  rm src/a.rs\n e2 ok", vec![What::Remove(FileKey::of("src/a.rs"))]),
        ("e1 Bash  mv a.rs b.rs\n e2 ok", vec![What::Move(FileKey::of("a.rs"), FileKey::of("b.rs"))]),
        ("e1 Write a.py +print(123)\n e2 created\n e3 Bash  rm a.py\n e4 ok", vec![]),
    ] {
        assert_eq!(acts(story), expected, "{story}");
    }
}

#[test]
fn throwing_work_away_counts_only_before_doing_any() {
    let discard = "Bash  git checkout -- a.rs\n";
    for (before, counts) in [
        ("", true),
        ("e1 Bash  git status\n e2 ok\n e3 Bash  ls src | head\n e4 ok\n", true),
        // It may be cleaning up what the script did.
        ("e1 Bash  ./generate.sh\n e2 ok\n", false),
        ("e1 Bash  sed -i s/a/b/ a.rs\n e2 ok\n", false),
        ("e1 Edit  b.rs -let old = 1; +let new = 2;\n e2 ok\n", false),
    ] {
        let story = format!("{before} e8 {discard} e9 ok");
        assert_eq!(acts(&story) == [What::Discard(FileKey::of("a.rs"))], counts, "{before}");
    }
}
