//! What every store must do, as one set of tests that is run for each of them: `store_suite!(open)`, where `open` is an
//! expression that makes an empty store.

use super::{
    Answered, Archived, Entry, FileState, Form, Graded, Judged, Judgement, Judging, Lack, Lookup, Query, Reading, Role,
    Row, Ruled, Store, StoreError, StoredPart, Todo,
};
use crate::judges::Stop;
use crate::sources::reader::Transcript;
use hotwash_core::facts::{Cost, Tokens};
use hotwash_core::outcomes::{self, Goal, JudgeStatus, Outcome};
use hotwash_core::prices::{self, Picodollars};
use hotwash_core::redaction::{Machine, Rules, redact, redact_facts};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::{Flag, Grade, Overall, Provenance, offline};
use hotwash_core::sessions::{self, Join, Key, Session, SessionId, SessionKind, Timestamp};
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
            joined_pieces_are_one_session_and_can_be_parted
            sessions_are_found_by_the_beginning_of_their_ids
            the_last_session_is_the_latest_of_a_person
            windows_include_their_beginning_and_not_their_end
            projects_and_transcripts_narrow_a_list
            what_has_no_grade_is_said
            what_was_said_under_another_rubric_stays
            who_judged_the_first_session_has_not_judged_what_others_put
            the_archive_is_noted
            what_is_forgotten_is_gone
            what_is_put_is_unsettled_until_it_is_settled
            answers_are_kept_once_and_found_by_their_questions
            what_a_model_says_stands_until_the_session_changes
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
const READING: Reading = Reading { lines: 12, malformed_lines: 1, ..Reading::OVERSIZED };
const SAMPLE: Sample =
    Sample { name: "a", kind: SessionKind::Main, recorded: "5e55-a", project: "/srv/orchard", hour: Some(10) };

impl Sample {
    fn entry(&self) -> Entry {
        let mut transcript = Transcript::default();
        let text = include_bytes!("../../../../fixtures/claude-code/rejections-and-echoes.jsonl");
        transcript.read(&mut text.as_slice(), &mut crate::sources::reader::Window::default(), |_| {}).unwrap();
        let facts = transcript.pieces.ledger().finish(prices::shipped());
        let print = transcript.pieces.ledger().fingerprint();
        let grade = offline::grade(&facts, &RUBRIC);
        let share = (Tokens { output: 7, ..Tokens::default() }, Cost::default());
        let mut piece = transcript.pieces.parts().next().unwrap().piece();
        piece.starts = self.hour.map(|hour| Timestamp(hour * HOUR));
        let session = Session {
            id: SessionId(format!("{:0<16}", self.name)),
            kind: self.kind,
            recorded: self.recorded.into(),
            agent: (self.kind == SessionKind::Subagent).then(|| format!("agent-of-{}", self.name)),
            project: redact(self.project, &RULES),
            summary: redact("Asked: to clean up.", &RULES),
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
            agent: "an-agent".into(),
            decoder: 3,
            version: 4,
        };
        let part = StoredPart::of(&file.path, file.version, self.recorded, &piece);
        let parts = vec![StoredPart { id: session.id.clone(), ..part }];
        Entry {
            file,
            role,
            reading: serde_json::to_string(&READING).unwrap(),
            keys: vec![Key(self.name.len() as u64), Key(u64::MAX)],
            pieces: vec![piece],
            sessions: vec![Graded { outcome: outcomes::offline(session.facts.get()), print, session, grade, parts }],
        }
    }
}

/// The entry with the session that its piece really begins, under this key.
fn keyed(mut entry: Entry, key: u64) -> Entry {
    entry.pieces[0].first = Key(key);
    let id = entry.pieces[0].id();
    entry.sessions[0].session.id = id.clone();
    entry.sessions[0].parts[0].id = id;
    entry
}

fn put(store: &mut dyn Store, entries: &[Entry]) -> Result<(), StoreError> {
    store.put(entries, &[]).map(drop)
}

fn all(store: &dyn Store) -> Vec<Row> {
    store.sessions(&Query { subagents: true, rubric_hash: RUBRIC.hash(), ..Query::default() }).unwrap()
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.path.trim_start_matches("/t/").trim_end_matches(".jsonl")).collect()
}

pub(crate) fn what_is_put_comes_back_whole(store: &mut dyn Store) {
    let main = SAMPLE.entry();
    let sub = Sample { name: "b", kind: SessionKind::Subagent, hour: None, ..SAMPLE }.entry();
    put(store, &[main.clone(), sub.clone()]).unwrap();
    let rows = all(store);
    assert_eq!(names(&rows), ["a", "b"]);
    for (row, entry) in rows.iter().zip([&main, &sub]) {
        let Graded { session, grade, outcome, .. } = &entry.sessions[0];
        assert_eq!(serde_json::to_value(&row.session).unwrap(), serde_json::to_value(session).unwrap());
        assert_eq!(row.session.facts.get(), session.facts.get());
        assert_eq!(row.session.progress, session.progress);
        assert_eq!(row.grade.as_ref(), Some(grade));
        assert_eq!(row.outcome.as_ref(), Some(outcome));
        assert_eq!((&row.path, row.version), (&entry.file.path, entry.file.version));
        assert_eq!(store.file(&entry.file.path).unwrap().as_ref(), Some(&entry.file));
        let files = store.files().unwrap();
        let seen = files.iter().find(|file| file.state.path == entry.file.path).unwrap();
        assert_eq!((&seen.state, seen.became.role, seen.became.sessions), (&entry.file, entry.role, 1));
        assert_eq!(seen.became.reading, READING);
        assert_eq!(store.parts(row).unwrap().len(), 0, "its piece has another id");
    }
    let holders = store.holdings().unwrap();
    assert_eq!((&holders[0].path, holders[0].role, &holders[0].keys), (&main.file.path, Role::Main, &main.keys));
    assert_eq!(holders[1].role, Role::Subagent);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 1), (Role::Subagent, 1)].into());
    // Its own, the subagent's, and the one that only progress records show.
    let (own, with) = (rows[0].session.facts.get().tokens.tokens.output, &rows[0].with_subagents);
    assert_eq!((with.subagents, with.tokens.output), (2, 2 * own + 7));
    assert_eq!(names(&store.subagents(&rows[0], "").unwrap()), ["b"]);
    assert_eq!(store.file("/elsewhere").unwrap(), None);
}

pub(crate) fn putting_twice_is_putting_once(store: &mut dyn Store) {
    let entries = [SAMPLE.entry(), Sample { name: "b", ..SAMPLE }.entry()];
    put(store, &entries).unwrap();
    let before = format!("{:?}", all(store));
    put(store, &entries).unwrap();
    let grades: Vec<_> =
        entries.iter().map(|entry| (entry.sessions[0].session.id.clone(), entry.sessions[0].grade.clone())).collect();
    store.put_grades(&grades).unwrap();
    assert_eq!(format!("{:?}", all(store)), before);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 2)].into());
}

pub(crate) fn a_transcript_under_a_new_id_leaves_nothing_behind(store: &mut dyn Store) {
    let entry = keyed(SAMPLE.entry(), 1);
    put(store, std::slice::from_ref(&entry)).unwrap();
    let entry = keyed(entry, 2);
    put(store, std::slice::from_ref(&entry)).unwrap();
    assert_eq!(ids(&all(store)), [entry.pieces[0].id()]);
    let copy = Entry { role: Role::Copy, pieces: Vec::new(), sessions: Vec::new(), ..entry };
    put(store, &[copy]).unwrap();
    assert!(all(store).is_empty());
    assert!(store.ungraded("").unwrap().is_empty());
}

fn ids(rows: &[Row]) -> Vec<SessionId> {
    rows.iter().map(|row| row.session.id.clone()).collect()
}

pub(crate) fn a_rewritten_transcript_leaves_the_old_session(store: &mut dyn Store) {
    let entry = keyed(SAMPLE.entry(), 1);
    put(store, std::slice::from_ref(&entry)).unwrap();
    let mut other = keyed(Sample { name: "c", ..SAMPLE }.entry(), 2);
    other.file = FileState { version: 5, ..entry.file.clone() };
    put(store, &[other.clone()]).unwrap();
    let versions: Vec<_> = all(store).iter().map(|row| (row.session.id.clone(), row.version)).collect();
    assert_eq!(versions.len(), 2);
    assert!(versions.contains(&(entry.pieces[0].id(), 4)));
    assert_eq!(store.parts(&all(store)[0]).unwrap().len(), 1);
    // And goes on under its new id without touching the old one.
    let later = keyed(other, 3);
    put(store, std::slice::from_ref(&later)).unwrap();
    let mut found = ids(&all(store));
    found.sort();
    let mut expected = [entry.pieces[0].id(), later.pieces[0].id()];
    expected.sort();
    assert_eq!(found, expected);
    // That what stands there now is a copy says nothing of what stood there before.
    store.put_own(&[], &[&later.file.path]).unwrap();
    assert_eq!(ids(&all(store)), [entry.pieces[0].id()]);
    assert_eq!(store.parts(&all(store)[0]).unwrap().len(), 1);
}

pub(crate) fn joined_pieces_are_one_session_and_can_be_parted(store: &mut dyn Store) {
    let first = keyed(Sample { name: "a", recorded: "5e55-a", ..SAMPLE }.entry(), 1);
    let second = keyed(Sample { name: "b", recorded: "5e55-b", hour: Some(12), ..SAMPLE }.entry(), 2);
    let child = |name, recorded, hour| {
        Sample { name, recorded, kind: SessionKind::Subagent, hour: Some(hour), ..SAMPLE }.entry()
    };
    put(store, &[first.clone(), second.clone(), child("x", "5e55-a", 10), child("y", "5e55-b", 12)]).unwrap();
    let whole =
        |entry: &Entry| StoredPart::of(&entry.file.path, 4, &entry.sessions[0].session.recorded, &entry.pieces[0]);
    let join = Join { gap_ms: 5, files: 2, shared: 1 };
    let parts = vec![whole(&first), StoredPart { joined: Some(join), ..whole(&second) }];
    let graded = first.sessions[0].clone();
    let joined = Graded { parts: parts.clone(), ..graded.clone() };
    for _ in 0..2 {
        store.put_sessions(std::slice::from_ref(&joined)).unwrap();
        let rows = store.sessions(&Query::default()).unwrap();
        assert_eq!(ids(&rows), [first.pieces[0].id()]);
        assert_eq!(store.parts(&rows[0]).unwrap(), parts);
        assert_eq!(names(&store.subagents(&rows[0], "").unwrap()), ["x", "y"]);
        assert_eq!(rows[0].with_subagents.subagents, 3);
    }
    let found = |prefix: &str| match store.lookup(prefix, "").unwrap() {
        Lookup::One(row) => row.session.id,
        other => panic!("{other:?}"),
    };
    // Somebody may still have the id of the second one, or know its transcript.
    assert_eq!(found(&second.pieces[0].id().0), graded.session.id);
    assert_eq!(found("5e55-b"), graded.session.id);
    let of_second = Query { paths: Some(vec![second.file.path.clone()]), ..Query::default() };
    assert_eq!(store.sessions(&of_second).unwrap().len(), 1);
    assert_eq!(store.outcomes().unwrap()[&second.file.path].sessions, 0);
    assert_eq!(store.entangled(std::slice::from_ref(&graded.session.id)).unwrap().sessions.len(), 3);

    let single = |entry: &Entry| entry.sessions[0].clone();
    store.put_sessions(&[single(&first), single(&second)]).unwrap();
    assert_eq!(store.sessions(&Query::default()).unwrap().len(), 2);
    assert!(store.made_of().unwrap().values().all(Vec::is_empty));
    assert_eq!(store.roles().unwrap()[&Role::Main], 2);

    // Parted under another rubric, the second one still has the grade that it had before it was joined.
    store.put_sessions(std::slice::from_ref(&joined)).unwrap();
    assert_eq!(all(store).iter().filter(|row| row.session.kind == SessionKind::Main).count(), 1);
    let mut parted = second.sessions[0].clone();
    parted.grade = offline::grade(parted.session.facts.get(), &Rubric::shipped("v1").unwrap());
    store.put_sessions(&[single(&first), parted]).unwrap();
    assert!(all(store).len() == 4 && all(store).iter().all(|row| row.grade.is_some() && row.outcome.is_some()));

    // Somebody forgets one of the two before they are joined.
    store.forget(&[second.pieces[0].id()]).unwrap();
    store.put_sessions(&[single(&second), joined]).unwrap();
    assert_eq!(ids(&store.sessions(&Query::default()).unwrap()), [first.pieces[0].id()]);
    assert!(store.made_of().unwrap().values().all(Vec::is_empty));
}

/// Puts two sessions of which a model has judged the second, and joins them. Gives the one that is left.
pub(crate) fn put_joined_pair(store: &mut dyn Store) -> SessionId {
    let first = keyed(Sample { name: "a", recorded: "5e55-a", ..SAMPLE }.entry(), 1);
    let second = keyed(Sample { name: "b", recorded: "5e55-b", hour: Some(12), ..SAMPLE }.entry(), 2);
    put(store, &[first.clone(), second.clone()]).unwrap();
    store.put_judgements(&[judgement(&second, 20)]).unwrap();
    let part = |entry: &Entry| StoredPart::of(&entry.file.path, 4, "", &entry.pieces[0]);
    let join = Join { gap_ms: 5, files: 2, shared: 1 };
    let parts = vec![part(&first), StoredPart { joined: Some(join), ..part(&second) }];
    store.put_sessions(&[Graded { parts, ..first.sessions[0].clone() }]).unwrap();
    first.pieces[0].id()
}

pub(crate) fn sessions_are_found_by_the_beginning_of_their_ids(store: &mut dyn Store) {
    let samples = [
        Sample { name: "abc1", recorded: "5e55-1", ..SAMPLE },
        Sample { name: "abd2", recorded: "5e55-2", ..SAMPLE },
        Sample { name: "eee3", recorded: "5e55-1", kind: SessionKind::Subagent, ..SAMPLE },
    ];
    put(store, &samples.map(|sample| sample.entry())).unwrap();
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

pub(crate) fn the_last_session_is_the_latest_of_a_person(store: &mut dyn Store) {
    assert!(matches!(store.lookup("last", "").unwrap(), Lookup::None));
    assert_eq!(store.newest(&Query::default()).unwrap(), None);
    let samples = [
        Sample { name: "a", hour: Some(5), ..SAMPLE },
        Sample { name: "b", hour: Some(7), ..SAMPLE },
        Sample { name: "c", hour: None, ..SAMPLE },
        Sample { name: "d", hour: Some(9), kind: SessionKind::Subagent, ..SAMPLE },
    ];
    put(store, &samples.map(|sample| sample.entry())).unwrap();
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

pub(crate) fn windows_include_their_beginning_and_not_their_end(store: &mut dyn Store) {
    let samples = [
        Sample { name: "a", hour: Some(10), ..SAMPLE }, // until 11
        Sample { name: "b", hour: Some(12), ..SAMPLE }, // until 13
        Sample { name: "c", hour: None, ..SAMPLE },
    ];
    put(store, &samples.map(|sample| sample.entry())).unwrap();
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

pub(crate) fn projects_and_transcripts_narrow_a_list(store: &mut dyn Store) {
    let samples = [
        Sample { name: "a", ..SAMPLE },
        Sample { name: "b", project: "/srv/tidepool", ..SAMPLE },
        Sample { name: "c", kind: SessionKind::Subagent, ..SAMPLE },
    ];
    put(store, &samples.map(|sample| sample.entry())).unwrap();
    let list = |query: Query| names(&store.sessions(&query).unwrap()).join("");
    assert_eq!(list(Query::default()), "ab");
    assert_eq!(list(Query { subagents: true, ..Query::default() }), "abc");
    assert_eq!(list(Query { project: Some("tide".into()), ..Query::default() }), "b");
    assert_eq!(list(Query { paths: Some(vec!["/t/a.jsonl".into(), "/t/c.jsonl".into()]), ..Query::default() }), "a");
    assert_eq!(list(Query { paths: Some(Vec::new()), ..Query::default() }), "");
    let other_rubric = Query { rubric_hash: "other".into(), ..Query::default() };
    assert!(store.sessions(&other_rubric).unwrap().iter().all(|row| row.grade.is_none()));
}

pub(crate) fn what_has_no_grade_is_said(store: &mut dyn Store) {
    let entries = [SAMPLE.entry(), Sample { name: "b", ..SAMPLE }.entry()];
    put(store, &entries).unwrap();
    let ungraded = |store: &dyn Store, rubric: &Rubric| {
        store.ungraded(&rubric.hash()).unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert!(ungraded(store, &RUBRIC).is_empty());
    let other = Rubric::shipped("v1").unwrap();
    assert_eq!(ungraded(store, &other).len(), 2);
    let session = &entries[0].sessions[0].session;
    let grade = offline::grade(session.facts.get(), &other);
    store.put_grades(&[(session.id.clone(), grade.clone())]).unwrap();
    assert_eq!(ungraded(store, &other), [entries[1].sessions[0].session.id.clone()]);
    let rows = store.sessions(&Query { rubric_hash: other.hash(), ..Query::default() }).unwrap();
    assert_eq!(rows[0].grade.as_ref(), Some(&grade));
    assert_eq!(rows[1].grade, None);
}

pub(crate) fn what_was_said_under_another_rubric_stays(store: &mut dyn Store) {
    let other = Rubric::shipped("v1").unwrap();
    let entry = SAMPLE.entry();
    let Graded { session, .. } = &entry.sessions[0];
    let by = |rubric: &Rubric| offline::grade(session.facts.get(), rubric);
    let grades = |store: &dyn Store| {
        [&*RUBRIC, &other].map(|rubric| {
            let query = Query { rubric_hash: rubric.hash(), ..Query::default() };
            let Lookup::One(row) = store.lookup(&session.id.0, &rubric.hash()).unwrap() else { panic!("not one") };
            let mut rows = store.sessions(&query).unwrap();
            assert_eq!(rows[0].grade, row.grade);
            assert_eq!((store.judged(&query).unwrap().len(), rows[0].outcome.is_some()), (1, true));
            rows.remove(0).grade
        })
    };
    let mut put = |rubric: &Rubric| {
        let mut entry = entry.clone();
        entry.sessions[0].grade = by(rubric);
        put(store, &[entry]).unwrap();
        grades(store)
    };
    assert_eq!(put(&RUBRIC), [Some(by(&RUBRIC)), None]);
    for _ in 0..2 {
        assert_eq!(put(&other), [Some(by(&RUBRIC)), Some(by(&other))]);
        assert_eq!(put(&RUBRIC), [Some(by(&RUBRIC)), Some(by(&other))]);
    }
    // Graded anew it has the new grade, wherever the old one is.
    let anew = |rubric: &Rubric| Grade { overall: Overall::TooFew { present: 0, needed: 9 }, ..by(rubric) };
    for rubric in [&*RUBRIC, &other] {
        store.put_grades(&[(session.id.clone(), anew(rubric))]).unwrap();
    }
    store.put_outcomes(&[(session.id.clone(), entry.sessions[0].outcome.clone())]).unwrap();
    assert_eq!(grades(store), [Some(anew(&RUBRIC)), Some(anew(&other))]);
}

pub(crate) fn who_judged_the_first_session_has_not_judged_what_others_put(store: &mut dyn Store) {
    let by = |name: &'static str, rubric: &Rubric| {
        let mut entry = Sample { name, ..SAMPLE }.entry();
        entry.sessions[0].grade = offline::grade(entry.sessions[0].session.facts.get(), rubric);
        entry
    };
    let ungraded = |store: &dyn Store, rubric: &Rubric| {
        store.ungraded(&rubric.hash()).unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    let other = Rubric::shipped("v1").unwrap();
    let (a, b) = (by("a", &RUBRIC), by("b", &other));
    put(store, std::slice::from_ref(&a)).unwrap();
    assert!(ungraded(store, &RUBRIC).is_empty());
    put(store, std::slice::from_ref(&b)).unwrap();
    let (of_a, of_b) = (a.sessions[0].session.id.clone(), b.sessions[0].session.id.clone());
    assert_eq!(ungraded(store, &RUBRIC), std::slice::from_ref(&of_b));
    assert_eq!(ungraded(store, &other), std::slice::from_ref(&of_a));
    // What is forgotten before it is put is judged by nobody.
    store.forget(&[of_b]).unwrap();
    put(store, &[by("b", &Rubric::shipped("v0").unwrap())]).unwrap();
    assert_eq!(ungraded(store, &Rubric::shipped("v0").unwrap()), [of_a]);
}

pub(crate) fn the_archive_is_noted(store: &mut dyn Store) {
    let kept = |version, form, size| Archived {
        path: "/t/a.jsonl".into(),
        version,
        name: format!("{version}.jsonl"),
        form,
        size,
    };
    let other = Archived { path: "/t/0.jsonl".into(), ..kept(1, Form::Copy, 7) };
    let all = [kept(1, Form::Link, 5), kept(2, Form::Copy, 6), other.clone()];
    store.put(&[], &all).unwrap();
    store.put(&[], &all).unwrap();
    assert_eq!(store.archived("/t/a.jsonl").unwrap(), [all[1].clone(), all[0].clone()]);
    assert_eq!(store.archive().unwrap(), [other.clone(), all[0].clone(), all[1].clone()]);
    let compressed = Archived { name: "1.jsonl.zst".into(), ..kept(1, Form::Zstd, 5) };
    let unknown = Archived { path: "/t/b.jsonl".into(), ..compressed.clone() };
    assert_eq!(store.put_otherwise(vec![compressed.clone(), unknown.clone()]).unwrap(), [unknown]);
    assert_eq!(store.archived("/t/a.jsonl").unwrap(), [all[1].clone(), compressed]);
    assert!(store.archived("/t/b.jsonl").unwrap().is_empty());
}

pub(crate) fn what_is_forgotten_is_gone(store: &mut dyn Store) {
    let samples = [
        Sample { name: "a", ..SAMPLE },
        Sample { name: "b", kind: SessionKind::Subagent, ..SAMPLE },
        Sample { name: "ccc", recorded: "5e55-c", ..SAMPLE },
    ];
    let mut entries = samples.map(|sample| sample.entry()).to_vec();
    // A compaction's copy in the session's folder, and a whole copy elsewhere.
    let mut inside = Sample { name: "a/subagents/agent-acompact-1", ..SAMPLE }.entry();
    (inside.sessions, inside.role, inside.keys) = (Vec::new(), Role::CompactionCopy, Vec::new());
    inside.pieces.clear();
    let mut copy = Sample { name: "z", ..SAMPLE }.entry();
    (copy.sessions, copy.role) = (Vec::new(), Role::Copy);
    copy.pieces.clear();
    entries.extend([inside, copy]);
    put(store, &entries).unwrap();
    let kept = |path: &str| Archived { path: path.into(), version: 4, name: path.into(), form: Form::Copy, size: 1 };
    let all_kept: Vec<_> = entries.iter().map(|entry| kept(&entry.file.path)).collect();
    store.put(&[], &all_kept).unwrap();

    let forgotten = ["/t/a.jsonl", "/t/a/subagents/agent-acompact-1.jsonl", "/t/b.jsonl", "/t/z.jsonl"];
    let id = entries[0].sessions[0].session.id.clone();
    let transcripts = store.entangled(std::slice::from_ref(&id)).unwrap().transcripts;
    assert_eq!(transcripts, forgotten.map(|path| (path.to_string(), 4)).into());
    let removed = store.forget(std::slice::from_ref(&id)).unwrap();
    assert_eq!(removed.iter().map(|kept| kept.path.as_str()).collect::<Vec<_>>(), forgotten);
    assert_eq!(names(&all(store)), ["ccc"]);
    assert_eq!(store.archive().unwrap(), [kept("/t/ccc.jsonl")]);
    assert_eq!(store.roles().unwrap(), [(Role::Main, 1), (Role::Forgotten, 4)].into());
    assert!(store.ungraded("other").unwrap().len() == 1);
    // The file is still known, so that it is not read again.
    assert_eq!(store.file("/t/a.jsonl").unwrap(), Some(entries[0].file.clone()));
    assert!(store.forget(&[id]).unwrap().is_empty());
    // Nor does somebody bring it back who had read it before.
    let marks = store.marked(Todo::Settle).unwrap();
    store.unmark(Todo::Settle, &marks).unwrap();
    let late = [entries[0].clone(), entries[2].clone()];
    let also = [kept("/t/a.jsonl"), kept("/t/ccc.jsonl")];
    assert_eq!(store.put(&late, &also).unwrap(), [("/t/a.jsonl".to_owned(), 4)]);
    store.put_own(&late[..1], &[]).unwrap();
    assert_eq!(names(&all(store)), ["ccc"]);
    assert_eq!(store.archive().unwrap(), [kept("/t/ccc.jsonl")]);
    assert!(store.marked(Todo::Settle).unwrap().keys().eq(["/t/ccc.jsonl"]));
}

pub(crate) fn what_is_put_is_unsettled_until_it_is_settled(store: &mut dyn Store) {
    let (a, b) = (keyed(SAMPLE.entry(), 1), keyed(Sample { name: "b", ..SAMPLE }.entry(), 2));
    let empty =
        Entry { keys: Vec::new(), pieces: Vec::new(), sessions: Vec::new(), role: Role::Empty, ..SAMPLE.entry() };
    let empty = Entry { file: FileState { path: "/t/c.jsonl".into(), ..empty.file }, ..empty };
    put(store, &[a.clone(), b.clone(), empty]).unwrap();
    let marks = store.marked(Todo::Settle).unwrap();
    assert!(marks.keys().eq([&a.file.path, &b.file.path]));
    let nothing = |entry: &Entry| Entry { pieces: Vec::new(), sessions: Vec::new(), ..entry.clone() };
    store.put_own(&[Entry { role: Role::Copy, ..nothing(&b) }], &[]).unwrap();
    // What was put again meanwhile stays open.
    put(store, std::slice::from_ref(&a)).unwrap();
    store.unmark(Todo::Settle, &marks).unwrap();
    assert!(store.marked(Todo::Settle).unwrap().keys().eq([&a.file.path]));
    let marks = store.marked(Todo::Settle).unwrap();
    store.unmark(Todo::Settle, &marks).unwrap();
    assert!(store.marked(Todo::Settle).unwrap().is_empty());
    assert_eq!(names(&all(store)), ["a"]);
    // Put again, b claims the same session as a: it is left to a until that is settled.
    let claim = keyed(b, 1);
    put(store, std::slice::from_ref(&claim)).unwrap();
    assert_eq!(all(store)[0].path, a.file.path);
    store.put_own(&[nothing(&a), claim.clone()], &[]).unwrap();
    assert_eq!(all(store)[0].path, claim.file.path);
    assert!(all(store)[0].grade.is_some());
    // Moved, it keeps what another judge said of it.
    let other = Rubric::shipped("v1").unwrap();
    let session = &claim.sessions[0].session;
    store.put_grades(&[(session.id.clone(), offline::grade(session.facts.get(), &other))]).unwrap();
    let moved = Entry { file: FileState { path: "/t/moved.jsonl".into(), ..claim.file.clone() }, ..claim.clone() };
    store.put_own(std::slice::from_ref(&moved), &[&claim.file.path]).unwrap();
    let rows = store.sessions(&Query { rubric_hash: other.hash(), ..Query::default() }).unwrap();
    assert!(rows[0].path == moved.file.path && rows[0].grade.is_some(), "{rows:?}");
    let claim = moved;
    // What can no longer be read, and is all somebody else's, gives nothing any more.
    store.put_own(&[], &[&claim.file.path]).unwrap();
    assert!(all(store).is_empty());
}

/// What a model says of a sample: failed, for sure.
fn judgement(entry: &Entry, at: i64) -> Judgement {
    let Graded { session, outcome, grade, .. } = &entry.sessions[0];
    let provenance = Provenance {
        judge: "anthropic".into(),
        judge_version: "1".into(),
        model: Some(format!("model-{at}")),
        rubric: RUBRIC.id(),
        rubric_hash: RUBRIC.hash(),
        prompt_hash: Some("abc".into()),
    };
    let (goal, status) = (Goal::Failed, JudgeStatus::Ok);
    Judgement {
        session: session.id.clone(),
        from: session.from,
        to: session.to,
        judging: Judging {
            provenance,
            at: Timestamp(at),
            calls: 2,
            cost: Some(Picodollars(5)),
            tokens: 9,
            flags: vec![Flag::Partial],
            coverage: 0.5,
            lack: Some(Lack { reason: "nobody was there".into(), again: true }),
            complete: true,
            intent: None,
            verdict: None,
        },
        grade: Some(grade.clone()),
        outcome: Some(Outcome { goal, status, ..outcome.clone() }),
    }
}

fn answered(id: &str, entry: &Entry) -> Answered {
    Answered {
        id: id.into(),
        session: entry.sessions[0].session.id.clone(),
        name: format!("a.outcome.{id}"),
        task: "outcome".into(),
        judge: "anthropic".into(),
        model: "m".into(),
        answered_by: "m-1".into(),
        prompt_hash: "abc".into(),
        at: Timestamp(7),
        reply: redact("{\"verdict\": true}", &RULES),
        stop: Stop::MaxTokens,
        usage: Some(sessions::Usage { input: 3, output: 4, ..sessions::Usage::default() }),
        cost: Some(Picodollars(u64::MAX >> 1)),
        requests: 2,
    }
}

pub(crate) fn answers_are_kept_once_and_found_by_their_questions(store: &mut dyn Store) {
    let entry = SAMPLE.entry();
    put(store, std::slice::from_ref(&entry)).unwrap();
    store.put_answers(&[answered("q1", &entry), answered("q2", &entry)]).unwrap();
    store.put_answers(&[answered("q1", &entry)]).unwrap();
    let id = &entry.sessions[0].session.id;
    assert_eq!(store.answers(id).unwrap().len(), 2);
    let back = store.answer("q1").unwrap().unwrap();
    assert_eq!(format!("{back:?}"), format!("{:?}", answered("q1", &entry)));
    assert!(store.answer("q3").unwrap().is_none());
    store.put_batch("b1", Timestamp(1), "[]").unwrap();
    assert_eq!(store.batches().unwrap(), [("b1".to_owned(), Timestamp(1), "[]".to_owned())]);
    store.drop_batch("b1").unwrap();
    assert!(store.batches().unwrap().is_empty());
    store.forget(std::slice::from_ref(id)).unwrap();
    assert!(store.answer("q1").unwrap().is_none() && store.answers(id).unwrap().is_empty());
}

pub(crate) fn what_a_model_says_stands_until_the_session_changes(store: &mut dyn Store) {
    let entry = SAMPLE.entry();
    let other = Sample { name: "bb", recorded: "5e55-b", ..SAMPLE }.entry();
    put(store, &[entry.clone(), other.clone()]).unwrap();
    let said = judgement(&entry, 20);
    store.put_judgements(&[said.clone(), judgement(&entry, 10)]).unwrap();
    let query = Query { rubric_hash: RUBRIC.hash(), ..Query::default() };
    let goals = |store: &dyn Store| {
        let rows = all(store);
        let listed = store.sessions(&Query { without_facts: true, ..query.clone() }).unwrap();
        let ruled = store.judged(&query).unwrap();
        rows.iter()
            .zip(listed)
            .zip(ruled)
            .map(|((row, listed), ruled)| {
                assert_eq!((&row.session.id, &listed.session.id), (&ruled.id, &ruled.id));
                let Judged { ruling, reworked, by_model, .. } = ruled;
                assert_eq!((row.ruled, listed.ruled), (Some(Ruled { ruling, reworked, by_model }), row.ruled));
                assert_eq!(row.outcome.as_ref().unwrap().goal, ruled.ruling.goal);
                (row.judged.clone(), ruled.ruling.goal)
            })
            .collect::<Vec<_>>()
    };
    let offline = other.sessions[0].outcome.goal;
    assert_ne!(offline, Goal::Failed);
    // The latest judgement is the one that counts, and only where there is one.
    assert_eq!(goals(store), [(Some(said.judging.clone()), Goal::Failed), (None, offline)]);
    let by = |at| store.judged_by(&judgement(&entry, at).judging.provenance).unwrap().len();
    assert_eq!((by(20), by(30)), (1, 0));
    // Under another rubric it says nothing.
    let elsewhere = Query { rubric_hash: "other".into(), ..Query::default() };
    assert!(store.sessions(&elsewhere).unwrap().iter().all(|row| row.judged.is_none()));

    let mut grown = entry.clone();
    grown.sessions[0].session.to = Some(Timestamp(99 * HOUR));
    put(store, &[grown]).unwrap();
    assert_eq!(goals(store), [(None, offline), (None, offline)]);
    put(store, &[entry]).unwrap();
    assert_eq!(goals(store)[0].1, Goal::Failed);
}
