use super::*;
use crate::pipeline::{Setup, ingest};
use crate::sources::discover::discover;
use crate::stores::suite::{rules, store_suite};
use crate::stores::{Query, Role, Sessions as _, Todo, Transcripts as _};
use hotwash_core::prices;
use hotwash_core::rework::Placed;
use hotwash_core::rubric::Rubric;
use hotwash_core::sessions::{SessionId, Timestamp};
use std::fs;
use std::sync::mpsc;

store_suite!(Sqlite::in_memory(rules()).unwrap());

fn run(folder: &Path, store: &mut Sqlite) -> Result<u64> {
    let found = discover(&[folder.to_path_buf()]).found;
    let rules = rules();
    let rubric = Rubric::shipped("v2").unwrap();
    let setup = Setup {
        rules: &rules,
        rubric: &rubric,
        prices: prices::shipped(),
        archive: None,
        jobs: 2,
        now_ns: i64::MAX,
        progress: &|_, _, _, _| {},
    };
    ingest(&found, store, &setup).map(|ingested| ingested.read)
}

fn pages(store: &Sqlite, pragma: &str, value: i64) -> i64 {
    store.connection.query_row(&format!("PRAGMA {pragma} = {value}"), [], |row| row.get(0)).unwrap()
}

fn count(store: &Sqlite) -> usize {
    store.sessions(&Query::default()).unwrap().len()
}

fn transcripts(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..files {
        let line = format!(
            r#"{{"type":"user","uuid":"u{at}","sessionId":"s{at}","timestamp":"2026-10-12T08:00:00Z","message":{{"content":"go"}}}}"#
        );
        fs::write(folder.path().join(format!("{at}.jsonl")), line + "\n").unwrap();
    }
    folder
}

#[test]
fn a_full_disk_is_said_keeps_what_was_kept_and_is_gone_on_from() {
    // More transcripts than fit into two portions: readers wait for the writer when it gives up.
    let files = 1200;
    let folder = transcripts(files);
    let path = folder.path().join("data/hotwash.db");
    let mut whole = Sqlite::in_memory(rules()).unwrap();
    run(folder.path(), &mut whole).unwrap();
    let size: i64 = whole.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();

    let (sender, receiver) = mpsc::channel();
    let place = folder.path().to_path_buf();
    std::thread::spawn(move || {
        let mut store = Sqlite::open(&path, rules()).unwrap();
        // Enough for one portion, beside what tables take that are empty, and not for two.
        pages(&store, "max_page_count", size * 2 / 3);
        let error = run(&place, &mut store).unwrap_err();
        sender.send((error, store)).unwrap();
    });
    let (error, mut store) = receiver.recv_timeout(Duration::from_secs(120)).expect("it hangs");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.only_writing_fails());
    let kept = count(&store);
    assert!(kept >= 128 && kept < files, "{kept} kept");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());

    pages(&store, "max_page_count", 1 << 30);
    assert_eq!(run(folder.path(), &mut store).unwrap(), (files - kept) as u64);
    let all = |store: &Sqlite| format!("{:?}", store.sessions(&Query::default()).unwrap());
    assert_eq!(all(&store), all(&whole));
    assert!(store.marked(Todo::Settle).unwrap().is_empty());
}

#[test]
fn what_stands_beside_sessions_is_theirs_when_they_get_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let before = Connection::open(&path).unwrap();
    schema::STEPS[..3].iter().for_each(|step| before.execute_batch(step).unwrap());
    // Prints in another order than sessions, one of a session that is gone, and a number that nobody has.
    before
        .execute_batch(
            "INSERT INTO sessions VALUES ('x', '/x', 1, 'main', '', NULL, '', '', '', 1, 2, 0, '', '{}', '{}');
             INSERT INTO sessions VALUES ('a', '/a', 1, 'main', '', NULL, '', '', '', 1, 2, 0, '', '{}', '{}');
             INSERT INTO sessions VALUES ('b', '/b', 1, 'main', '', NULL, '', '', '', 3, 4, 0, '', '{}', '{}');
             DELETE FROM sessions WHERE id = 'x';
             INSERT INTO prints VALUES ('b', '/of/b', 3, 4, x'00'), ('x', '/of/x', 1, 2, x'00'), ('a', '/of/a', 1, 2, x'00');
             PRAGMA user_version = 3;",
        )
        .unwrap();
    let store = Sqlite::open(&path, rules()).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let changed = |repository: &str, id: &str, from, to| {
        let placed = Placed { session: SessionId(id.into()), from: Timestamp(from), to: Timestamp(to) };
        (repository.to_owned(), vec![placed])
    };
    assert_eq!(store.changes().unwrap(), [changed("/of/a", "a", 1, 2), changed("/of/b", "b", 3, 4)].into());
    // An older version that has the store open would give them other numbers.
    let late =
        "INSERT OR IGNORE INTO prints (session, repository, from_ms, to_ms, print) VALUES ('c', '/of/c', 5, 6, x'00')";
    assert!(before.execute(late, []).is_err());
}

#[test]
fn what_was_said_of_pieces_is_forgotten_with_the_session_that_they_are_in() {
    let mut store = Sqlite::in_memory(rules()).unwrap();
    let id = crate::stores::suite::put_joined_pair(&mut store);
    let said = |store: &Sqlite| {
        ["grades", "outcomes", "judgements"].map(|table| {
            let sql = format!("SELECT count(*) FROM {table}");
            store.connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
        })
    };
    assert_eq!(said(&store), [1, 1, 1]);
    store.forget(&[id]).unwrap();
    assert_eq!(said(&store), [0, 0, 0]);
    assert_eq!(store.roles().unwrap(), [(Role::Forgotten, 2)].into());
}
