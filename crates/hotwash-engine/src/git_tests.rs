use super::*;
use hotwash_core::rework::{Act, FileChange, LineChange};
use hotwash_core::sessions::EventId;
use std::process::Command;

const DAY: i64 = 86_400;
const BEGIN: i64 = 1_760_000_000;

/// A repository made with git itself.
struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Made {
        let made = Made(tempfile::tempdir().unwrap());
        made.git(0, &["init", "-q", "-b", "main"]);
        made
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs git so many days after the beginning, with nothing of this machine's settings.
    fn git(&self, day: i64, arguments: &[&str]) -> String {
        let date = format!("{} +0000", BEGIN + day * DAY);
        let mut command = Command::new("git");
        command.args(["-c", "commit.gpgsign=false"]).args(arguments).current_dir(self.path());
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "Ann").env(format!("GIT_{name}_EMAIL"), "ann@example.org");
            command.env(format!("GIT_{name}_DATE"), &date);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    /// Writes a file, or deletes it, and commits that. Gives the id.
    fn commit(&self, day: i64, file: &str, lines: &[&str]) -> String {
        let path = self.path().join(file);
        if lines.is_empty() {
            std::fs::remove_file(path).unwrap();
        } else {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, lines.join("\n") + "\n").unwrap();
        }
        self.git(day, &["add", "-A"]);
        self.git(day, &["commit", "-q", "-m", &format!("Change {file}")]);
        self.git(day, &["rev-parse", "HEAD"])
    }

    fn outcome(&self, work: &Work<'_>) -> Result<Outcome, GitError> {
        Repository::open(self.path())?.outcome(work, &Settings::default())
    }
}

fn at(day: i64) -> Timestamp {
    Timestamp((BEGIN + day * DAY) * 1000)
}

/// What a session did that added these lines to a file on a day, and made a commit.
fn print(file: &str, lines: &[&str], day: i64, commit: Option<&str>) -> Fingerprint {
    let mut changes = Vec::new();
    for line in lines {
        let lines = hashes(line).flatten();
        changes.extend(lines.map(|line| LineChange { line, net: 1, event: EventId(1), at: at(day) }));
    }
    changes.sort_by_key(|change| change.line);
    let file = FileChange { file: FileKey::of(file), created: false, lines: changes };
    let id = commit.map(|id| CommitId::parse(id.get(..7).unwrap()).unwrap());
    let acts = vec![Act { event: EventId(2), at: at(day), what: What::Commit { id, subject: None } }];
    Fingerprint { files: vec![file], acts, ..Fingerprint::default() }
}

fn work(print: &Fingerprint, day: i64) -> Work<'_> {
    Work { from: at(day), to: at(day), print }
}

const LINES: [&str; 4] = ["let one = 1;", "let two = 2;", "let three = 3;", "let four = 4;"];

#[test]
fn lines_that_stay_are_no_rework() {
    let made = Made::new();
    made.commit(0, "src/a.rs", &["fn main() {"]);
    let id = made.commit(1, "src/a.rs", &[&["fn main() {"], &LINES[..]].concat());
    // Indented, and more beside them.
    made.commit(
        5,
        "src/a.rs",
        &["fn main() {", "  let one = 1;", "\tlet two=2;", "let three = 3;", "let four = 4;", "end()"],
    );
    let print = print("src/a.rs", &LINES, 1, Some(&id));
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.added, outcome.landed, outcome.gone, outcome.reworked), (4, 4, 0, false));
    assert_eq!(outcome.until, Some((made.git(5, &["rev-parse", "HEAD"]), at(5))));
}

#[test]
fn lines_gone_within_fourteen_days_are_rework() {
    for (day, gone, reworked) in [(15, 3, true), (16, 0, false)] {
        let made = Made::new();
        made.commit(0, "src/a.rs", &["fn main() {"]);
        made.commit(1, "src/a.rs", &LINES);
        made.commit(day, "src/a.rs", &["let one = 1;", "something else"]);
        let print = print("src/a.rs", &LINES, 1, None);
        let outcome = made.outcome(&work(&print, 1)).unwrap();
        assert_eq!((outcome.landed, outcome.gone, outcome.reworked), (4, gone, reworked), "day {day}");
    }
}

#[test]
fn lines_that_were_never_committed_cannot_go() {
    let made = Made::new();
    made.commit(0, "src/a.rs", &["fn main() {"]);
    made.commit(2, "src/b.rs", &["fn other() {"]);
    let print = print("src/a.rs", &LINES, 1, None);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.added, outcome.landed, outcome.gone, outcome.reworked), (4, 0, 0, false));
}

#[test]
fn a_deleted_file_is_named() {
    let made = Made::new();
    made.commit(0, "src/b.rs", &["fn main() {"]);
    made.commit(1, "src/a.rs", &LINES);
    made.commit(3, "src/a.rs", &[]);
    let print = print("src/a.rs", &LINES, 1, None);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.deleted, outcome.gone, outcome.reworked), (vec!["src/a.rs".to_string()], 4, true));
}

#[test]
fn moved_lines_are_not_gone() {
    let made = Made::new();
    made.commit(0, "src/b.rs", &["fn main() {"]);
    made.commit(1, "src/a.rs", &LINES);
    made.git(3, &["mv", "src/a.rs", "src/c.rs"]);
    made.git(3, &["commit", "-q", "-m", "Move"]);
    let print = print("src/a.rs", &LINES, 1, None);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.landed, outcome.gone, outcome.reworked), (4, 0, false));
    assert_eq!(outcome.deleted, ["src/a.rs"]);
}

#[test]
fn a_reverted_commit_is_rework_until_it_is_reapplied() {
    let made = Made::new();
    made.commit(0, "a.rs", &["fn main() {"]);
    let id = made.commit(1, "a.rs", &["fn main() {", "let one = 1;"]);
    let print = print("a.rs", &["let one = 1;"], 1, Some(&id));
    made.git(2, &["revert", "--no-edit", &id]);
    let by = made.git(2, &["rev-parse", "HEAD"]);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!(outcome.reverted, [Reverted { commit: id.clone(), by: by.clone(), at: at(2) }]);
    assert!(outcome.reworked);
    made.git(4, &["revert", "--no-edit", &by]);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.reverted, outcome.gone, outcome.reworked), (vec![], 0, false));
}

#[test]
fn a_revert_after_the_window_is_none() {
    let made = Made::new();
    let id = made.commit(1, "a.rs", &LINES);
    made.commit(2, "b.rs", &LINES);
    made.git(16, &["revert", "--no-edit", &id]);
    let print = print("a.rs", &LINES, 1, Some(&id));
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.landed, outcome.gone, outcome.reworked), (4, 0, false));
}

#[test]
fn a_merge_counts_as_of_its_day() {
    let made = Made::new();
    made.commit(0, "a.rs", &["fn main() {"]);
    made.git(0, &["checkout", "-q", "-b", "side"]);
    made.commit(1, "a.rs", &LINES);
    made.git(2, &["checkout", "-q", "main"]);
    made.commit(3, "b.rs", &["fn other() {"]);
    made.git(4, &["merge", "-q", "--no-ff", "-m", "Merge", "side"]);
    made.commit(6, "a.rs", &["nothing of it"]);
    let print = print("a.rs", &LINES, 1, None);
    let outcome = made.outcome(&work(&print, 1)).unwrap();
    assert_eq!((outcome.landed, outcome.gone, outcome.reworked), (4, 4, true));
}

#[test]
fn a_folder_in_a_repository_has_its_own_names() {
    let made = Made::new();
    made.commit(0, "b.rs", &["fn main() {"]);
    made.commit(1, "web/src/a.ts", &LINES);
    made.commit(2, "web/src/a.ts", &["let five = 5;"]);
    let print = print("src/a.ts", &LINES, 1, None);
    let outcome = Repository::open(&made.path().join("web")).unwrap().outcome(&work(&print, 1), &Settings::default());
    assert_eq!(outcome.unwrap().gone, 4);
}

#[test]
fn what_cannot_be_asked_says_why() {
    let nothing = tempfile::tempdir().unwrap();
    let says = |result: Result<Outcome, GitError>| result.unwrap_err().to_string();
    let print = print("a.rs", &LINES, 1, None);
    let ask = |path: &Path| Repository::open(path).and_then(|it| it.outcome(&work(&print, 1), &Settings::default()));
    assert!(says(ask(nothing.path())).ends_with("is in no git repository"));
    assert!(says(ask(&nothing.path().join("gone"))).ends_with("is in no git repository"));

    let unborn = Made::new();
    assert!(says(ask(unborn.path())).ends_with("has no commit yet"));

    let made = Made::new();
    made.commit(0, "a.rs", &["fn main() {"]);
    made.commit(2, "a.rs", &LINES);
    made.commit(3, "a.rs", &["let five = 5;"]);
    let bare = nothing.path().join("bare");
    made.git(4, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(says(ask(&bare)).contains("is a bare repository"));

    let shallow = nothing.path().join("shallow");
    let from = format!("file://{}", made.path().display());
    made.git(4, &["clone", "-q", "--depth", "1", &from, shallow.to_str().unwrap()]);
    let words = says(ask(&shallow));
    assert!(
        words.contains("is shallow and does not reach back to 2025-10-10") && words.contains("--unshallow"),
        "{words}"
    );
}
