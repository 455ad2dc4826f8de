use crate::archive::Archive;
use crate::pipeline::{self, Ingested, Setup};
use crate::sources::Agent;
use crate::sources::discover::discover;
use crate::stores::suite::rules;
use crate::stores::{Query, Sessions as _, Sqlite, Transcripts as _};
use hotwash_core::prices;
use hotwash_core::rubric::Rubric;
use std::fs::{self, File};
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
fn a_transcript_is_found_read_stored_and_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let projects = folder.path().join("projects");
    fs::create_dir(&projects).unwrap();
    let path = projects.join("t.toy");
    fs::write(&path, "asks\ta\tPlease mend the parser\nsays\tb\tI mended it.\nnonsense\n").unwrap();
    let store_path = folder.path().join("hotwash.db");
    let mut store = Sqlite::open(&store_path, rules()).unwrap();
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    let archive = Archive::beside(&store_path, now_ns);
    let rubric = Rubric::shipped("v2").unwrap();
    let ingest = |store: &mut Sqlite| -> Ingested {
        let setup = Setup {
            rules: &rules(),
            rubric: &rubric,
            prices: prices::shipped(),
            archive: Some(&archive),
            jobs: 1,
            now_ns,
            progress: &|_, _, _, _| {},
        };
        pipeline::ingest(&discover(std::slice::from_ref(&projects)).found, store, &setup).unwrap()
    };
    let counts = |store: &Sqlite| {
        let rows = store.sessions(&Query { rubric_hash: rubric.hash(), ..Query::default() }).unwrap();
        assert!(rows.iter().all(|row| row.grade.is_some() && row.outcome.is_some()));
        let facts = |row: &crate::stores::Row| {
            let facts = row.session.facts.get();
            (facts.prompts.human_prompts.count(), facts.tokens.assistant_messages)
        };
        rows.iter().map(facts).collect::<Vec<_>>()
    };

    let Ingested { read, grown, reading, .. } = ingest(&mut store);
    assert_eq!((read, grown, reading.lines, reading.malformed_lines), (1, 0, 3, 1));
    assert_eq!(counts(&store), [(1, 1)]);
    let file = store.file(path.to_str().unwrap()).unwrap().unwrap();
    assert_eq!(Agent::named(&file.agent).unwrap().name(), "toy");
    assert_eq!(ingest(&mut store).unchanged, 1);

    // The stored name says how to read it, whatever it is called.
    let told = |store: &Sqlite| {
        let rows = store.sessions(&Query { rubric_hash: rubric.hash(), ..Query::default() }).unwrap();
        let parts = store.parts(&rows[0]).unwrap();
        let mut lines = Vec::new();
        pipeline::tell(store, Some(&archive), &parts, &mut |event| lines.push(event.origin.id.line())).unwrap();
        lines
    };
    assert_eq!(told(&store), [1, 2, 2]);

    let more = b"says\tc\tAnd tested it.\nsays\tb\tagain\n";
    File::options().append(true).open(&path).unwrap().write_all(more).unwrap();
    let Ingested { grown, bytes, reading, .. } = ingest(&mut store);
    assert_eq!((grown, bytes, reading.lines, reading.duplicate_lines), (1, more.len() as u64, 2, 1));
    assert_eq!((counts(&store), told(&store)), (vec![(1, 2)], vec![1, 2, 2, 4, 4]));
}
