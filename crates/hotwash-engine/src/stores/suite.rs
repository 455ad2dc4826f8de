//! What every store must do, as one set of tests that is run for each of them: `store_suite!(open)`, where `open` is an
//! expression that makes an empty store.

use super::{Archived, Entry, FileState, Form, Lookup, Query, Role, Row, Store};
use crate::sources::claude_code::read::Transcript;
use hotwash_core::facts::{Cost, Tokens};
use hotwash_core::prices;
use hotwash_core::redaction::{Machine, Rules, redact, redact_facts};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::offline;
use hotwash_core::sessions::{Key, Session, SessionId, SessionKind, Timestamp};
use std::sync::{Arc, LazyLock};

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| Arc::new(Rules::new(Machine::default())));
static RUBRIC: LazyLock<Rubric> = LazyLock::new(|| Rubric::shipped("v2").unwrap());

pub(crate) fn rules() -> Arc<Rules> {
    RULES.clone()
}

/// Runs the suite for a store.
macro_rules! store_suite {
    ($open:expr) => {
        $crate::stores::suite::store_suite!($open;
            what_is_put_comes_back_whole
            putting_twice_is_putting_once
            a_transcript_under_a_new_id_leaves_nothing_behind
            a_rewritten_transcript_leaves_the_old_session
            sessions_are_found_by_the_beginning_of_their_ids
            the_last_session_is_the_latest_of_a_person
            windows_include_their_beginning_and_not_their_end
            projects_and_transcripts_narrow_a_list
            what_has_no_grade_is_said
            the_archive_is_noted
            what_is_forgotten_is_gone
            what_is_put_is_unsettled_until_it_is_settled
        );
    };
    ($open:expr; $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $crate::stores::suite::$name(&mut $open);
        })*
    };
}
pub(crate) use store_suite;

/// A session that ended an hour after it began, in a transcript of its own.
struct Sample {
    name: &'static str,
    kind: SessionKind,
    recorded: &'static str,
    project: &'static str,
    hour: Option<i64>,
}

const HOUR: i64 = 3_600_000;
const SAMPLE: Sample =
    Sample { name: "a", kind: SessionKind::Main, recorded: "5e55-a", project: "/srv/orchard", hour: Some(10) };

impl Sample {
    fn entry(&self) -> Entry {
        let mut transcript = Transcript::default();
        let text = include_bytes!("../../../../fixtures/claude-code/rejections-and-echoes.jsonl");
        transcript
            .read(&mut text.as_slice(), &mut crate::sources::claude_code::read::Window::default(), |_| {})
            .unwrap();
        let facts = transcript.ledger.finish(prices::shipped());
        let grade = offline::grade(&facts, &RUBRIC);
        let share = (Tokens { output: 7, ..Tokens::default() }, Cost::default());
        let session = Session {
            id: SessionId(format!("{:0<16}", self.name)),
            kind: self.kind,
            recorded: self.recorded.into(),
            agent: (self.kind == SessionKind::Subagent).then(|| format!("agent-of-{}", self.name)),
            project: redact(self.project, &RULES),
            title: redact("Clean up \"and\" look around…", &RULES),
            from: self.hour.map(|hour| Timestamp(hour * HOUR)),
            to: self.hour.map(|hour| Timestamp((hour + 1) * HOUR)),
            open: true,
            facts: redact_facts(facts, &RULES),
            progress: [("seen".to_string(), share)].into(),
        };
        let role = if self.kind == SessionKind::Main { Role::Main } else { Role::Subagent };
        let file = FileState {
            path: format!("/t/{}.jsonl", self.name),
            inode: u64::MAX,
            size: 1 << 40,
            mtime_ns: -5,
            offset: 1 << 39,
            tail: u64::MAX - 1,
            decoder: 3,
            version: 4,
        };
        Entry {
            file,
            role,
            rewritten: false,
            reading: "{\"lines\":12}".into(),
            keys: vec![Key(self.name.len() as u64), Key(u64::MAX)],
            session: Some((session, grade)),
        }
    }
}

fn all(store: &Store) -> Vec<Row> {
    store.sessions(&Query { subagents: true, rubric_hash: RUBRIC.hash(), ..Query::default() }).unwrap()
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.session.id.0.trim_end_matches('0')).collect()
}

pub(crate) fn what_is_put_comes_back_whole(store: &mut Store) {
    let main = SAMPLE.entry();
    let sub = Sample { name: "b", kind: SessionKind::Subagent, hour: None, ..SAMPLE }.entry();
    store.put(&[main.clone(), sub.clone()]).unwrap();
    let rows = all(store);
    assert_eq!(names(&rows), ["a", "b"]);
    for (row, entry) in rows.iter().zip([&main, &sub]) {
        let (session, grade) = entry.session.as_ref().unwrap();
        assert_eq!(serde_json::to_value(&row.session).unwrap(), serde_json::to_value(session).unwrap());
        assert_eq!(row.session.facts.get(), session.facts.get());
        assert_eq!(row.session.progress, session.progress);
        assert_eq!(row.grade.as_ref(), Some(grade));
        assert_eq!((&row.path, row.version), (&entry.file.path, entry.file.version));
        assert_eq!(store.file(&entry.file.path).unwrap().as_ref(), Some(&entry.file));
        assert_eq!(store.files().unwrap()[&entry.file.path], entry.file);
    }
    let holders = store.holders().unwrap();
    assert_eq!((&holders[0].path, holders[0].role, &holders[0].keys), (&main.file.path, Role::Main, &main.keys));
    assert_eq!(holders[1].role, Role::Subagent);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 1), (Role::Subagent, 1)].into());
    // Its own, the subagent's, and the one that only progress records show.
    let (own, with) = (rows[0].session.facts.get().tokens.tokens.output, &rows[0].with_subagents);
    assert_eq!((with.subagents, with.tokens.output), (2, 2 * own + 7));
    assert_eq!(names(&store.subagents(SAMPLE.recorded, "").unwrap()), ["b"]);
    assert_eq!(store.file("/elsewhere").unwrap(), None);
}

pub(crate) fn putting_twice_is_putting_once(store: &mut Store) {
    let entries = [SAMPLE.entry(), Sample { name: "b", ..SAMPLE }.entry()];
    store.put(&entries).unwrap();
    let before = format!("{:?}", all(store));
    store.put(&entries).unwrap();
    let grades: Vec<_> = entries
        .iter()
        .map(|entry| entry.session.clone().map(|(session, grade)| (session.id, grade)).unwrap())
        .collect();
    store.put_grades(&grades).unwrap();
    assert_eq!(format!("{:?}", all(store)), before);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 2)].into());
}

pub(crate) fn a_transcript_under_a_new_id_leaves_nothing_behind(store: &mut Store) {
    let mut entry = SAMPLE.entry();
    store.put(&[entry.clone()]).unwrap();
    entry.session.as_mut().unwrap().0.id = SessionId("f".repeat(16));
    store.put(&[entry.clone()]).unwrap();
    assert_eq!(names(&all(store)), ["f".repeat(16)]);
    entry.session = None;
    entry.role = Role::Copy;
    store.put(&[entry]).unwrap();
    assert!(all(store).is_empty());
    assert!(store.ungraded("", "", "").unwrap().is_empty());
}

pub(crate) fn a_rewritten_transcript_leaves_the_old_session(store: &mut Store) {
    let mut entry = SAMPLE.entry();
    store.put(&[entry.clone()]).unwrap();
    let mut other = Sample { name: "c", ..SAMPLE }.entry();
    other.file = FileState { version: 5, ..entry.file.clone() };
    other.rewritten = true;
    store.put(&[other.clone()]).unwrap();
    let versions: Vec<_> = all(store).iter().map(|row| (row.session.id.0.clone(), row.version)).collect();
    assert_eq!(versions.len(), 2);
    assert!(versions.iter().any(|(id, version)| *id == entry.session.as_ref().unwrap().0.id.0 && *version == 4));
    // And goes on under its new id without touching the old one.
    entry = other;
    entry.rewritten = false;
    entry.session.as_mut().unwrap().0.id = SessionId("d".repeat(16));
    store.put(&[entry]).unwrap();
    assert_eq!(names(&all(store)), ["a".to_string(), "d".repeat(16)]);
}

pub(crate) fn sessions_are_found_by_the_beginning_of_their_ids(store: &mut Store) {
    let samples = [
        Sample { name: "abc1", recorded: "5e55-1", ..SAMPLE },
        Sample { name: "abd2", recorded: "5e55-2", ..SAMPLE },
        Sample { name: "eee3", recorded: "5e55-1", kind: SessionKind::Subagent, ..SAMPLE },
    ];
    store.put(&samples.map(|sample| sample.entry())).unwrap();
    let find = |prefix: &str| match store.lookup(prefix, &RUBRIC.hash()).unwrap() {
        Lookup::One(row) => row.session.id.0.trim_end_matches('0').to_string(),
        Lookup::None => "none".into(),
        Lookup::Many(ids) => format!("{} of them", ids.len()),
    };
    assert_eq!(find("abc"), "abc1");
    assert_eq!(find("ABC"), "abc1");
    assert_eq!(find("ab"), "2 of them");
    assert_eq!(find("e"), "eee3");
    assert_eq!(find("9"), "none");
    assert_eq!(find("abc%"), "none");
    assert_eq!(find("5e55-1"), "abc1");
    assert_eq!(find("5e55"), "2 of them");
    assert_eq!(find("agent-of-eee3"), "eee3");
    let Lookup::One(row) = store.lookup("abc", &RUBRIC.hash()).unwrap() else { panic!("not one") };
    assert!(row.grade.is_some());
    assert_eq!(row.with_subagents.subagents, 2);
}

pub(crate) fn the_last_session_is_the_latest_of_a_person(store: &mut Store) {
    assert!(matches!(store.lookup("last", "").unwrap(), Lookup::None));
    assert_eq!(store.newest(&Query::default()).unwrap(), None);
    let samples = [
        Sample { name: "a", hour: Some(5), ..SAMPLE },
        Sample { name: "b", hour: Some(7), ..SAMPLE },
        Sample { name: "c", hour: None, ..SAMPLE },
        Sample { name: "d", hour: Some(9), kind: SessionKind::Subagent, ..SAMPLE },
    ];
    store.put(&samples.map(|sample| sample.entry())).unwrap();
    let Lookup::One(row) = store.lookup("last", "").unwrap() else { panic!("no last session") };
    assert_eq!(names(&[*row]), ["b"]);
    assert_eq!(store.newest(&Query::default()).unwrap(), Some(Timestamp(8 * HOUR)));
    let until = Query { until: Some(Timestamp(7 * HOUR)), ..Query::default() };
    assert_eq!(store.newest(&until).unwrap(), Some(Timestamp(6 * HOUR)));
    let project = Query { project: Some("orchard".into()), ..Query::default() };
    assert_eq!(store.newest(&project).unwrap(), Some(Timestamp(8 * HOUR)));
    let with_subagents = Query { subagents: true, ..project };
    assert_eq!(store.newest(&with_subagents).unwrap(), Some(Timestamp(8 * HOUR)));
}

pub(crate) fn windows_include_their_beginning_and_not_their_end(store: &mut Store) {
    let samples = [
        Sample { name: "a", hour: Some(10), ..SAMPLE }, // until 11
        Sample { name: "b", hour: Some(12), ..SAMPLE }, // until 13
        Sample { name: "c", hour: None, ..SAMPLE },
    ];
    store.put(&samples.map(|sample| sample.entry())).unwrap();
    let list = |since: Option<i64>, until: Option<i64>| {
        let query = Query { since: since.map(Timestamp), until: until.map(Timestamp), ..Query::default() };
        names(&store.sessions(&query).unwrap()).join("")
    };
    assert_eq!(list(None, None), "bac");
    assert_eq!(list(Some(11 * HOUR), None), "ba");
    assert_eq!(list(Some(11 * HOUR + 1), None), "b");
    assert_eq!(list(Some(13 * HOUR + 1), None), "");
    assert_eq!(list(None, Some(10 * HOUR)), "");
    assert_eq!(list(None, Some(10 * HOUR + 1)), "a");
    assert_eq!(list(None, Some(12 * HOUR)), "a");
    assert_eq!(list(Some(11 * HOUR), Some(12 * HOUR + 1)), "ba");
}

pub(crate) fn projects_and_transcripts_narrow_a_list(store: &mut Store) {
    let samples = [
        Sample { name: "a", ..SAMPLE },
        Sample { name: "b", project: "/srv/tidepool", ..SAMPLE },
        Sample { name: "c", kind: SessionKind::Subagent, ..SAMPLE },
    ];
    store.put(&samples.map(|sample| sample.entry())).unwrap();
    let list = |query: Query| names(&store.sessions(&query).unwrap()).join("");
    assert_eq!(list(Query::default()), "ab");
    assert_eq!(list(Query { subagents: true, ..Query::default() }), "abc");
    assert_eq!(list(Query { project: Some("tide".into()), ..Query::default() }), "b");
    assert_eq!(list(Query { paths: Some(vec!["/t/a.jsonl".into(), "/t/c.jsonl".into()]), ..Query::default() }), "a");
    assert_eq!(list(Query { paths: Some(Vec::new()), ..Query::default() }), "");
    let other_rubric = Query { rubric_hash: "other".into(), ..Query::default() };
    assert!(store.sessions(&other_rubric).unwrap().iter().all(|row| row.grade.is_none()));
}

pub(crate) fn what_has_no_grade_is_said(store: &mut Store) {
    let entries = [SAMPLE.entry(), Sample { name: "b", ..SAMPLE }.entry()];
    store.put(&entries).unwrap();
    let ungraded = |store: &Store, hash: &str, version: &str| {
        store.ungraded(hash, offline::JUDGE, version).unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert!(ungraded(store, &RUBRIC.hash(), offline::VERSION).is_empty());
    assert_eq!(ungraded(store, &RUBRIC.hash(), "later").len(), 2);
    let other = Rubric::shipped("v1").unwrap();
    assert_eq!(ungraded(store, &other.hash(), offline::VERSION).len(), 2);
    let (session, _) = entries[0].session.as_ref().unwrap();
    let grade = offline::grade(session.facts.get(), &other);
    store.put_grades(&[(session.id.clone(), grade.clone())]).unwrap();
    assert_eq!(ungraded(store, &other.hash(), offline::VERSION), [entries[1].session.as_ref().unwrap().0.id.clone()]);
    let rows = store.sessions(&Query { rubric_hash: other.hash(), ..Query::default() }).unwrap();
    assert_eq!(rows[0].grade.as_ref(), Some(&grade));
    assert_eq!(rows[1].grade, None);
}

pub(crate) fn the_archive_is_noted(store: &mut Store) {
    let kept = |version, form, size| Archived {
        path: "/t/a.jsonl".into(),
        version,
        name: format!("{version}.jsonl"),
        form,
        size,
    };
    let other = Archived { path: "/t/0.jsonl".into(), ..kept(1, Form::Copy, 7) };
    let all = [kept(1, Form::Link, 5), kept(2, Form::Copy, 6), other.clone()];
    store.put_archived(&all).unwrap();
    store.put_archived(&all).unwrap();
    assert_eq!(store.archived("/t/a.jsonl").unwrap(), [all[1].clone(), all[0].clone()]);
    assert_eq!(store.archive().unwrap(), [other.clone(), all[0].clone(), all[1].clone()]);
    let compressed = Archived { name: "1.jsonl.zst".into(), ..kept(1, Form::Zstd, 5) };
    store.put_archived(std::slice::from_ref(&compressed)).unwrap();
    assert_eq!(store.archived("/t/a.jsonl").unwrap(), [all[1].clone(), compressed]);
    assert!(store.archived("/t/b.jsonl").unwrap().is_empty());
}

pub(crate) fn what_is_forgotten_is_gone(store: &mut Store) {
    let samples = [
        Sample { name: "a", ..SAMPLE },
        Sample { name: "b", kind: SessionKind::Subagent, ..SAMPLE },
        Sample { name: "ccc", recorded: "5e55-c", ..SAMPLE },
    ];
    let mut entries = samples.map(|sample| sample.entry()).to_vec();
    // A compaction's copy in the session's folder, and a whole copy elsewhere.
    let mut inside = Sample { name: "a/subagents/agent-acompact-1", ..SAMPLE }.entry();
    (inside.session, inside.role, inside.keys) = (None, Role::CompactionCopy, Vec::new());
    let mut copy = Sample { name: "z", ..SAMPLE }.entry();
    (copy.session, copy.role) = (None, Role::Copy);
    entries.extend([inside, copy]);
    store.put(&entries).unwrap();
    let kept = |path: &str| Archived { path: path.into(), version: 4, name: path.into(), form: Form::Copy, size: 1 };
    store.put_archived(&entries.iter().map(|entry| kept(&entry.file.path)).collect::<Vec<_>>()).unwrap();

    let forgotten = ["/t/a.jsonl", "/t/a/subagents/agent-acompact-1.jsonl", "/t/b.jsonl", "/t/z.jsonl"];
    let id = entries[0].session.as_ref().unwrap().0.id.clone();
    let transcripts = store.transcripts(std::slice::from_ref(&id)).unwrap();
    assert_eq!(transcripts, forgotten.map(|path| (path.to_string(), 4)));
    let removed = store.forget(std::slice::from_ref(&id)).unwrap();
    assert_eq!(removed.iter().map(|kept| kept.path.as_str()).collect::<Vec<_>>(), forgotten);
    assert_eq!(names(&all(store)), ["ccc"]);
    assert_eq!(store.archive().unwrap(), [kept("/t/ccc.jsonl")]);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 1), (Role::Forgotten, 4)].into());
    assert!(store.ungraded("other", "", "").unwrap().len() == 1);
    // The file is still known, so that it is not read again.
    assert_eq!(store.file("/t/a.jsonl").unwrap(), Some(entries[0].file.clone()));
    assert!(store.forget(&[id]).unwrap().is_empty());
}

pub(crate) fn what_is_put_is_unsettled_until_it_is_settled(store: &mut Store) {
    let (a, b) = (SAMPLE.entry(), Sample { name: "b", ..SAMPLE }.entry());
    let empty = Entry { keys: Vec::new(), ..Sample { name: "c", ..SAMPLE }.entry() };
    store.put(&[a.clone(), b.clone(), empty]).unwrap();
    assert_eq!(store.unsettled().unwrap(), [a.file.path.clone(), b.file.path.clone()].into());
    store
        .settle(&[Entry { session: None, role: Role::Copy, ..b.clone() }], &[], &[&a.file.path, &b.file.path])
        .unwrap();
    assert!(store.unsettled().unwrap().is_empty());
    assert_eq!(names(&all(store)), ["a", "c"]);
    // Put again, b claims the same session as a: it is left to a until that is settled.
    let mut claim = b;
    claim.session.as_mut().unwrap().0.id = a.session.as_ref().unwrap().0.id.clone();
    store.put(std::slice::from_ref(&claim)).unwrap();
    assert_eq!(all(store)[0].path, a.file.path);
    store.settle(&[Entry { session: None, ..a.clone() }, claim.clone()], &[], &[]).unwrap();
    assert_eq!(all(store)[0].path, claim.file.path);
    assert!(all(store)[0].grade.is_some());
}
