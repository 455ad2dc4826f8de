//! The store's file: what is on the disk before and after, and who else is using it.

use crate::support::{Case, rules};
use hotwash_engine::sources::discover::discover;
use hotwash_engine::stores::sqlite::testing::Tables;
use hotwash_engine::stores::{Query, Role, Sessions as _, Sqlite, StoreError, Transcripts as _};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Makes a store to keep from the fixtures. Run it alone when the schema has a new version:
/// `HOTWASH_KEEP=store-v1.db cargo test -p hotwash-engine --test it -- --ignored makes_a_store_to_keep`
#[test]
#[ignore = "writes into the source tree"]
fn makes_a_store_to_keep() {
    let Some(name) = std::env::var_os("HOTWASH_KEEP") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    // Relative names, so that no machine's folders are in it.
    std::env::set_current_dir(crate::support::root()).unwrap();
    let folders = ["fork", "sibling-agent", "nested-agent"];
    let found = discover(&folders.map(|folder| PathBuf::from("fixtures/claude-code").join(folder))).found;
    let case = Case { archived: false, now_ns: i64::MAX, ..Case::new() };
    let mut store = Sqlite::open(&path, rules()).unwrap();
    case.try_ingest(&found, &mut store).unwrap();
    // Gives back the room that was freed.
    store.forget(&[]).unwrap();
}

/// The bytes of a file.
fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// Tries to open a store and says what came of it; the file must not change by that.
fn refused(path: &Path) -> StoreError {
    let before = bytes(path);
    let error = Sqlite::open(path, rules()).and_then(|mut store| {
        store.roles()?;
        store.sessions(&Query::default())?;
        Case::new().try_ingest(&[], &mut store).map(drop)
    });
    assert!(bytes(path) == before, "the file has changed");
    error.expect_err("it was opened")
}

fn ingested() -> Case {
    let case = Case::copy_of("fixtures/claude-code");
    case.ingest();
    case
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let case = ingested();
    case.tables().execute("PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)");
    let error = refused(&case.store_path());
    assert!(matches!(error, StoreError::Newer { found: 999, .. }), "{error}");
    assert!(error.hint().contains("update"));
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let case = Case::new();
    let path = case.projects().join("notes.txt");
    fs::write(&path, "not a database\n".repeat(1000)).unwrap();
    assert!(matches!(refused(&path), StoreError::Damaged { .. }));
    // Somebody else's database.
    let path = case.projects().join("other.db");
    Tables::open(&path).execute("CREATE TABLE recipes (name TEXT)");
    let error = refused(&path);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    // A folder.
    assert!(Sqlite::open(&case.projects(), rules()).is_err());
}

#[test]
fn a_damaged_store_is_said_and_left_alone() {
    let case = ingested();
    case.open().forget(&[]).map(drop).unwrap();
    let whole = bytes(&case.store_path());
    for share in [0.1, 0.5, 0.99, 0.99999] {
        fs::write(case.store_path(), &whole[..(whole.len() as f64 * share) as usize]).unwrap();
        let error = refused(&case.store_path());
        assert!(matches!(error, StoreError::Damaged { .. }), "{share}: {error}");
    }
    // Garbage in the middle is found where it is read.
    let mut garbled = whole.clone();
    let pages = garbled.len() / 4096;
    garbled[4096 * 2..4096 * (pages - 1)].fill(0xab);
    fs::write(case.store_path(), &garbled).unwrap();
    let error = refused(&case.store_path());
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    fs::write(case.store_path(), &whole).unwrap();
    assert!(!case.sessions().is_empty());
}

#[test]
fn a_store_without_bytes_is_a_new_one() {
    let case = Case::copy_of("fixtures/claude-code");
    fs::create_dir_all(case.store_path().parent().unwrap()).unwrap();
    fs::write(case.store_path(), "").unwrap();
    case.ingest();
    assert!(!case.sessions().is_empty());
    case.assert_sound();
}

#[test]
fn a_store_that_cannot_be_written_is_said() {
    // A folder's place is taken by a file: so for everybody, root too.
    let case = Case::new();
    fs::write(case.projects().join("file"), "").unwrap();
    let error = Sqlite::open(&case.projects().join("file/hotwash.db"), rules()).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");

    let case = ingested();
    let folder = case.store_path().parent().unwrap().to_path_buf();
    let lock = |mode| {
        fs::set_permissions(case.store_path(), fs::Permissions::from_mode(mode & 0o666)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    lock(0o555);
    if fs::write(folder.join("probe"), "").is_ok() {
        return; // permissions do not bite: root
    }
    case.append("interrupts.jsonl", "\n");
    let error = Sqlite::open(&case.store_path(), rules())
        .and_then(|mut store| case.try_ingest(&case.found(), &mut store).map(drop))
        .unwrap_err();
    lock(0o755);
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

/// One store per schema that was ever released: each can still be opened, read and written.
#[test]
fn stores_of_earlier_versions_are_brought_forward() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")).unwrap() {
        let kept = entry.unwrap().path();
        let case = Case::new();
        fs::create_dir_all(case.store_path().parent().unwrap()).unwrap();
        fs::copy(&kept, case.store_path()).unwrap();
        let rows = case.sessions();
        assert_eq!(rows.len(), 6, "{}", kept.display());
        let fork = rows.iter().find(|row| row.path.ends_with("fork/fork.jsonl")).unwrap();
        assert_eq!(fork.session.facts.get().tokens.assistant_messages, 2);
        assert_eq!(case.open().roles().unwrap().values().sum::<u64>(), 8);
        assert_eq!(case.open().roles().unwrap().get(&Role::Main), Some(&4));

        case.write("p/new.jsonl", crate::support::short("s1", "a").text());
        case.ingest();
        // The judge may be another by now: what it says of sessions that were there before is told again.
        let rows = case.sessions();
        assert_eq!(rows.len(), 7);
        assert!(rows.iter().all(|row| row.grade.is_some() && row.outcome.is_some()));
        assert_eq!(case.open().judged(&Query::default()).unwrap().len(), 5);
        case.assert_sound();
    }
}

#[test]
fn a_store_from_the_fixtures_is_kept_for_this_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let case = ingested();
    let version = case.tables().number("PRAGMA user_version", &[]).unwrap();
    assert!(path.join(format!("store-v{version}.db")).exists(), "see makes_a_store_to_keep");
}
