use super::{Home, columns};
use insta::assert_snapshot;
use std::fs;
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn the_example_week_where_there_are_no_transcripts() {
    assert_snapshot!(Home::empty().run(&[]));
}

#[test]
fn the_same_week_as_ones_own_transcripts() {
    assert_snapshot!(Home::with_examples().run(&[]));
}

#[test]
fn fits_on_a_screen() {
    let home = Home::with_examples();
    for args in [
        &[][..],
        &["--example"],
        &["--since", "all"],
        &["--since", "24h"],
        &["--project", "nothing like it"],
        &["score"],
    ] {
        let text = home.stdout(args);
        assert!(text.lines().count() <= 24, "{args:?}\n{text}");
        for line in text.lines() {
            assert!(columns(line) <= 80, "{args:?}: {} columns: {line}", columns(line));
        }
    }
}

#[test]
fn fits_on_a_narrow_screen() {
    let home = Home::with_examples();
    for args in [
        &[][..],
        &["--example"],
        &["prism", "--by", "intent"],
        &["prism", "--by", "project"],
        &["sessions"],
        &["sessions", "--why"],
        &["show", "last"],
        &["show", "last", "--events"],
        &["rework", "last"],
        &["rubric", "list"],
    ] {
        let output = home.command(args).env("COLUMNS", "60").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() > 1, "{args:?}\n{text}");
        for line in text.lines() {
            assert!(columns(line) <= 60, "{args:?}: {} columns: {line}", columns(line));
        }
    }
}

#[test]
fn a_second_run_says_the_same() {
    let home = Home::with_examples();
    let first = home.run(&[]);
    assert_eq!(first, home.run(&[]));
    assert!(first.starts_with("exit: 0"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::with_examples();
    for args in [&["score", "--json", "--since", "all"][..], &["show", "last", "--events"], &["export"], &[]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_path_that_cannot_be_read_is_counted_and_named() {
    let home = Home::with_fixtures(&["bang-command.jsonl"]);
    std::os::unix::fs::symlink("/nowhere/at/all", home.path("claude/projects/p/gone.jsonl")).unwrap();
    assert_snapshot!(home.run(&[]));
}

#[test]
fn a_file_without_permission_is_counted_and_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::with_fixtures(&["bang-command.jsonl", "interrupts.jsonl"]);
    let path = home.path("claude/projects/p/interrupts.jsonl");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        return; // root may read everything
    }
    let block = home.run(&[]);
    assert!(block.starts_with("exit: 3"), "{block}");
    assert!(block.contains("interrupts.jsonl (permission denied)"), "{block}");
}

#[test]
fn a_store_that_cannot_be_written_is_done_without() {
    let home = Home::with_examples();
    fs::write(home.path("data/hotwash"), "in the way").unwrap();
    let block = home.run(&[]);
    assert!(block.starts_with("exit: 3"), "{block}");
    assert!(block.contains("nothing of this run is kept"), "{block}");
    assert!(block.contains("20 graded"), "{block}");
}

#[test]
fn a_read_only_folder_is_done_without() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::with_examples();
    let folder = home.path("data/hotwash");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.join("probe"), "").is_ok() {
        return; // root may write everywhere
    }
    let block = home.run(&[]);
    assert!(block.starts_with("exit: 3"), "{block}");
    assert!(block.contains("nothing of this run is kept"), "{block}");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let store = home.store();
    // The schema's version stands in bytes 60 to 63 of a database.
    let mut bytes = fs::read(&store).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&store, &bytes).unwrap();
    for left in ["data/hotwash/hotwash.db-wal", "data/hotwash/hotwash.db-shm"] {
        let _ = fs::remove_file(home.path(left));
    }
    assert_snapshot!(home.run(&[]));
    assert_eq!(fs::read(&store).unwrap(), bytes);
}

#[test]
fn garbage_in_place_of_the_store_is_left_alone() {
    let home = Home::with_examples();
    fs::create_dir_all(home.path("data/hotwash")).unwrap();
    fs::write(home.store(), "this is no database, and it is long enough to be looked at ".repeat(100)).unwrap();
    let before = fs::read(home.store()).unwrap();
    assert_snapshot!(home.run(&[]));
    assert_eq!(fs::read(home.store()).unwrap(), before);
}

#[test]
fn a_truncated_store_is_an_error_with_a_hint() {
    let home = Home::with_examples();
    home.stdout(&[]);
    let bytes = fs::read(home.store()).unwrap();
    fs::write(home.store(), &bytes[..bytes.len() / 2]).unwrap();
    let block = home.run(&[]);
    assert!(block.starts_with("exit: 2"), "{block}");
    assert!(block.contains("damaged") && block.contains("hint: "), "{block}");
}

#[test]
fn words_of_a_transcript_cannot_steer_the_terminal() {
    let home = Home::empty();
    fs::create_dir_all(home.path("claude/projects/p")).unwrap();
    let line = r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-10-05T08:00:00Z","cwd":"/home/mara/a","message":{"role":"user","content":"hello \u001b[2J\u001b]0;x\u0007 修复登录页面的错误修复登录页面的错误修复登录页面的错误修复登录页面的错误"}}"#;
    fs::write(home.path("claude/projects/p/a.jsonl"), format!("{line}\n")).unwrap();
    for args in [&[][..], &["sessions"], &["show", "last"], &["show", "last", "e1"], &["show", "last", "--events"]] {
        let text = home.stdout(args);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{args:?}: {text:?}");
        let whole = args.contains(&"e1");
        assert!(whole || text.lines().all(|line| columns(line) <= 80), "{args:?}: {text}");
    }
}
