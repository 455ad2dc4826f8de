//! Killed at any moment, or two at once: nothing is lost, nothing is damaged, and the end is the same.
//!
//! The child is this test binary: `child` does nothing unless it is told where to work.

use crate::support::{Case, Talk, rules};
use hotwash_engine::pipeline;
use hotwash_engine::stores::{Query, Store};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PLACE: &str = "HOTWASH_TEST_CHILD";
/// Set where the store is not made beside its place.
const IN_PLACE: &str = "HOTWASH_TEST_IN_PLACE";

#[test]
fn child() {
    if let Some(place) = std::env::var_os(PLACE) {
        Case { makes: std::env::var_os(IN_PLACE).is_none(), ..Case::at(place.into()) }.ingest();
    }
}

fn spawn(case: &Case) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--test-threads", "1"])
        .env(PLACE, case.place())
        .envs((!case.makes).then_some((IN_PLACE, "yes")))
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
/// little on a busy machine. Of a store that is being made only its size is seen, of the `size` that it will have.
fn progress(case: &Case, files: usize, size: u64) -> usize {
    let archived = fs::read_dir(case.archive().folder()).map_or(0, |entries| {
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl")).count()
    });
    if !case.store_path().exists() {
        let made = fs::read_dir(making(case)).ok().and_then(|mut entries| entries.next()?.ok()?.metadata().ok());
        let made = made.map_or(0, |made| made.len() * files as u64 / size) as usize;
        return archived.min(files) + if archived >= files { made.min(files) } else { 0 };
    }
    let count = |table: &str| -> usize {
        let sql = format!("SELECT count(*) FROM {table}");
        case.connection().query_row(&sql, [], |row| row.get::<_, i64>(0)).map_or(0, |count| count as usize)
    };
    let kept = count("files");
    archived.min(files) + kept + if kept == files { files - count("unsettled") } else { 0 }
}

fn kill_at_moments(moments: u32, talks: usize, makes: bool) {
    let case = Case { makes, ..crowd(talks) };
    assert!(spawn(&case).wait().unwrap().success());
    let expected = case.dump();
    let (files, size) = (case.found().len(), fs::metadata(case.store_path()).unwrap().len());
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut reached = [0; 4]; // killed with nothing kept, something kept, all kept and not settled; not killed in time
    for moment in 0..moments {
        case.forget_everything();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (f64::from(moment) + (seed >> 40) as f64 / f64::from(1u32 << 24)) / f64::from(moments);
        let mut child = spawn(&case);
        let wanted = (share * 3.0 * files as f64) as usize;
        // That a store is being settled before it takes its place is not seen.
        let seen = if makes { wanted.min(2 * files - files / 4) } else { wanted };
        while progress(&case, files, size) < seen && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(SETTLING * (wanted - seen) as u32 / files as u32);
        child.kill().unwrap(); // SIGKILL
        let killed = !child.wait().unwrap().success();
        let at = progress(&case, files, size);
        reached[if killed { at.saturating_sub(1) / files } else { 3 }] += 1;
        if case.store_path().exists() {
            case.assert_sound();
        }
        case.ingest();
        case.assert_sound();
        assert_eq!(case.dump(), expected, "killed at {at} of {}", 3 * files);
    }
    println!("killed while reading, keeping, settling; not killed in time: {reached:?}");
    assert!(reached[0] > 0 && reached[1] + reached[2] > 0, "{reached:?}");
}

/// How long it takes to settle such a crowd, about.
const SETTLING: Duration = Duration::from_millis(50);

fn moments() -> u32 {
    if std::env::var_os("HOTWASH_SLOW_TESTS").is_some() { 50 } else { 12 }
}

#[test]
fn a_run_killed_at_any_moment_is_finished_by_the_next() {
    kill_at_moments(moments(), 300, false);
}

#[test]
fn a_first_run_killed_at_any_moment_is_made_up_for_by_the_next() {
    kill_at_moments(moments(), 300, true);
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
    let (mut case, expected) = crowd_and_end(150);
    for round in 0..6 {
        case.forget_everything();
        case.makes = round % 3 != 0;
        let mut children = [spawn(&case), spawn(&case)];
        assert!(children.iter_mut().all(|child| child.wait().unwrap().success()), "round {round}");
        assert_eq!(case.dump(), expected, "round {round}");
        case.assert_sound();
    }
}

/// Where a store is made.
fn making(case: &Case) -> PathBuf {
    case.store_path().with_extension("db-making")
}

#[test]
fn a_store_takes_its_place_as_a_whole() {
    let case = crowd(20);
    let mut store = Store::open_or_make(&case.store_path(), rules()).unwrap();
    assert!(making(&case).exists() && !case.store_path().exists());
    case.try_ingest(&case.found(), &mut store).unwrap();
    assert!(!making(&case).exists() && case.store_path().exists());
    let mode: String = case.connection().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    case.assert_sound();
}

#[test]
fn a_store_that_is_made_holds_what_one_would_that_was_there_before() {
    for mut case in [crowd(30), Case::copy_of("examples/projects"), Case::copy_of("fixtures")] {
        let [made, before] = [true, false].map(|makes| {
            case.makes = makes;
            case.ingest();
            let held = (case.dump(), case.told(), case.unsettled());
            case.forget_everything();
            held
        });
        assert_eq!(made, before);
    }
}

#[test]
fn a_store_that_was_not_finished_is_thrown_away() {
    let (case, expected) = crowd_and_end(20);
    drop(Store::open_or_make(&case.store_path(), rules()).unwrap());
    assert!(!making(&case).exists() && !case.store_path().exists());
    // As a run that is killed leaves it: where there is no store, and where there is one.
    for _ in 0..2 {
        fs::create_dir_all(making(&case)).unwrap();
        fs::write(making(&case).join("7-7.db"), "half a store").unwrap();
        case.ingest();
        assert!(!making(&case).exists());
        assert_eq!(case.dump(), expected);
    }
    // What is not ours stays.
    fs::create_dir_all(making(&case)).unwrap();
    for (name, text) in [("notes.txt", "mine"), ("7-7.db", "half a store")] {
        fs::write(making(&case).join(name), text).unwrap();
    }
    Store::clear_away(&case.store_path());
    assert_eq!(fs::read_dir(making(&case)).unwrap().count(), 1);
    assert_eq!(fs::read(making(&case).join("notes.txt")).unwrap(), b"mine");
}

#[test]
fn the_log_of_a_store_that_is_gone_is_not_another_ones() {
    let case = crowd(20);
    case.ingest();
    let expected = case.dump();
    let log = case.store_path().with_extension("db-wal");
    let connection = case.connection();
    connection.execute_batch("UPDATE sessions SET title = 'of another store'").unwrap();
    let left = fs::read(&log).unwrap();
    drop(connection);
    for made_before in [false, true] {
        case.forget_everything();
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        if made_before {
            let mut store = Store::open_or_make(&case.store_path(), rules()).unwrap();
            fs::write(&log, &left).unwrap();
            case.try_ingest(&case.found(), &mut store).unwrap();
        } else {
            fs::write(&log, &left).unwrap();
            case.ingest();
        }
        assert_eq!(case.dump(), expected);
        case.assert_sound();
    }
}

#[test]
fn what_was_forgotten_while_a_store_was_made_is_not_archived() {
    let case = crowd(3);
    let mut slow = Store::open_or_make(&case.store_path(), rules()).unwrap();
    case.ingest();
    let id = case.session("p0/s0.jsonl").session.id;
    pipeline::forget(&mut case.open(), Some(&case.archive()), &[id]).unwrap();
    let expected = case.dump();
    let archived = case.archive().folder().read_dir().unwrap().count();
    case.try_ingest(&case.found(), &mut slow).unwrap();
    assert_eq!(case.dump(), expected);
    assert_eq!(case.archive().folder().read_dir().unwrap().count(), archived);
}

#[test]
fn who_comes_while_a_store_is_made_goes_first() {
    let (case, expected) = crowd_and_end(20);
    let mut slow = Store::open_or_make(&case.store_path(), rules()).unwrap();
    // Neither waits for the other nor gets in its way.
    case.ingest();
    assert!(making(&case).exists());
    assert_eq!(case.dump(), expected);
    let ingested = case.try_ingest(&case.found(), &mut slow).unwrap();
    assert_eq!((ingested.read, ingested.unchanged), (0, case.found().len() as u64));
    assert!(!making(&case).exists());
    assert_eq!(case.dump(), expected);
    case.assert_sound();
}

#[test]
fn who_found_less_while_a_store_was_made_takes_nothing_back() {
    let talk = Talk::new("s1").prompt("a1", "go").says("a2", "ok");
    for archived in [true, false] {
        let case = Case { archived, ..Case::with(&[("p/a.jsonl", talk.text())]) };
        let mut slow = Store::open_or_make(&case.store_path(), rules()).unwrap();
        let found = case.found();
        case.write("p/a.jsonl", Talk::new("s1").prompt("a1", "go").says("a2", "ok").prompt("a3", "on").text());
        case.ingest();
        let prompts = || case.session("p/a.jsonl").session.facts.get().prompts.human_prompts.count();
        assert_eq!(prompts(), 2);
        case.try_ingest(&found, &mut slow).unwrap();
        assert_eq!(prompts(), 2);
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
