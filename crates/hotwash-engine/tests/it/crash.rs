//! Killed at any moment, or two at once: nothing is lost, nothing is damaged, and the end is the same.
//!
//! The child is this test binary: `child` does nothing unless it is told where to work.

use crate::support::{Case, Talk};
use hotwash_engine::stores::{Query, Sessions as _, Transcripts as _};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PLACE: &str = "HOTWASH_TEST_CHILD";

#[test]
fn child() {
    if let Some(place) = std::env::var_os(PLACE) {
        Case::at(place.into()).ingest();
    }
}

fn spawn(case: &Case) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--test-threads", "1"])
        .env(PLACE, case.place())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A few hundred small transcripts, some of them forks, copies and subagents of others.
fn crowd(files: usize) -> Case {
    let case = Case::new();
    for at in 0..files {
        let (session, ids) = (format!("s{at}"), format!("i{at}-"));
        let talk = Talk::new(&session).prompt(&format!("{ids}1"), "go").says(&format!("{ids}2"), "ok");
        match at % 10 {
            7 => {
                let fork = talk.fork(&format!("f{at}")).later(30).prompt(&format!("{ids}f"), "no");
                case.write(&format!("p{}/a-fork-{at}.jsonl", at % 3), fork.text());
            }
            8 => case.write(&format!("p{}/copy-{at}.jsonl", at % 3), talk.text()),
            9 => {
                let agent = Talk::subagent(&session, &format!("a{at}"))
                    .prompt(&format!("{ids}g"), "look")
                    .says(&format!("{ids}h"), "x");
                case.write(&format!("p{}/{session}/subagents/agent-a{at}.jsonl", at % 3), agent.text());
            }
            _ => {}
        }
        let own = if at % 10 == 7 { talk.prompt(&format!("{ids}o"), "on") } else { talk };
        case.write(&format!("p{}/{session}.jsonl", at % 3), own.text());
    }
    case
}

/// Such a crowd, and what the store comes to in the end. It is gone again.
fn crowd_and_end(files: usize) -> (Case, String) {
    let case = crowd(files);
    case.ingest();
    let expected = case.dump();
    case.forget_everything();
    (case, expected)
}

/// How far a run has come: files archived, then kept, then settled. By what can be seen, not by the clock, which says
/// little on a busy machine.
fn progress(case: &Case, files: usize) -> usize {
    let archived = fs::read_dir(case.archive().folder()).map_or(0, |entries| {
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl")).count()
    });
    if !case.store_path().exists() {
        return archived.min(files);
    }
    let count = |table: &str| -> usize {
        case.tables().number(&format!("SELECT count(*) FROM {table}"), &[]).unwrap_or(0) as usize
    };
    let kept = count("files");
    archived.min(files) + kept + if kept == files { files - count("unsettled") } else { 0 }
}

#[test]
fn a_run_killed_at_any_moment_is_finished_by_the_next() {
    let case = crowd(300);
    assert!(spawn(&case).wait().unwrap().success());
    let (expected, files, moments) = (case.dump(), case.found().len(), moments());
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut reached = [0; 4]; // killed with nothing kept, something kept, all kept and not settled; not killed in time
    for moment in 0..moments {
        case.forget_everything();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (f64::from(moment) + (seed >> 40) as f64 / f64::from(1u32 << 24)) / f64::from(moments);
        let mut child = spawn(&case);
        let wanted = (share * 3.0 * files as f64) as usize;
        while progress(&case, files) < wanted && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap(); // SIGKILL
        let killed = !child.wait().unwrap().success();
        let at = progress(&case, files);
        reached[if killed { at.saturating_sub(1) / files } else { 3 }] += 1;
        if case.store_path().exists() {
            case.assert_sound();
        }
        let kept = case.open().roles().unwrap().values().sum::<u64>();
        let ingested = case.ingest();
        assert_eq!(ingested.unchanged, kept, "what was kept is not read again");
        case.assert_sound();
        assert_eq!(case.dump(), expected, "killed at {at} of {}", 3 * files);
    }
    println!("killed while reading, keeping, settling; not killed in time: {reached:?}");
    assert!(reached[0] > 0 && reached[1] + reached[2] > 0, "{reached:?}");
}

fn moments() -> u32 {
    if std::env::var_os("HOTWASH_SLOW_TESTS").is_some() { 50 } else { 12 }
}

#[test]
fn a_run_killed_again_and_again_is_finished_at_last() {
    let (case, expected) = crowd_and_end(250);
    for delay in [40, 90, 150, 60, 200] {
        let mut child = spawn(&case);
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    case.ingest();
    case.assert_sound();
    assert_eq!(case.dump(), expected);
}

#[test]
fn a_run_that_stopped_before_copies_were_settled_is_finished_by_one_with_nothing_to_read() {
    let (case, expected) = crowd_and_end(20);
    // As it stands the moment before copies are settled.
    case.ingest_without_settling();
    assert_ne!(case.dump(), expected);
    let ingested = case.ingest();
    assert_eq!((ingested.read, ingested.grown), (0, 0));
    assert_eq!(case.dump(), expected);
}

#[test]
fn two_processes_over_the_same_folder_agree() {
    let (case, expected) = crowd_and_end(150);
    for round in 0..6 {
        case.forget_everything();
        let mut children = [spawn(&case), spawn(&case)];
        assert!(children.iter_mut().all(|child| child.wait().unwrap().success()), "round {round}");
        assert_eq!(case.dump(), expected, "round {round}");
        case.assert_sound();
    }
}

#[test]
fn a_store_that_many_make_at_once_opens_for_all() {
    for round in 0..20 {
        let case = Case::new();
        let start = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            let open = || {
                start.wait();
                case.open().newest(&Query::default())
            };
            let opened: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            assert!(opened.into_iter().all(|opened| opened.join().is_ok_and(|newest| newest.is_ok())), "round {round}");
        });
    }
}

#[test]
fn two_connections_at_once_agree() {
    let (case, expected) = crowd_and_end(60);
    for _ in 0..3 {
        case.forget_everything();
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| case.ingest())).collect();
            assert!(runs.into_iter().all(|run| run.join().is_ok()));
        });
        assert_eq!(case.dump(), expected);
    }
}
