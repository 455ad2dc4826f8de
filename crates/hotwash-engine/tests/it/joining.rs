//! Sessions across transcripts: cut, joined, parted again, and the same whatever the order of arrival.

use crate::support::{Case, Talk};
use hotwash_core::sessions::Opening;
use hotwash_engine::stores::{Row, Sessions as _, StoredPart};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

fn edit(file: &str) -> Value {
    json!({"file_path": format!("/srv/orchard/{file}"), "old_string": "a", "new_string": "b"})
}

/// A turn in which a file is changed; two minutes and one more for the prompt.
fn turn(talk: Talk, id: &str, file: &str) -> Talk {
    talk.prompt(id, "now change the next thing").call(&format!("{id}c"), "Edit", &edit(file), "done")
}

fn commit(talk: Talk, id: &str) -> Talk {
    talk.call(id, "Bash", &json!({"command": "git commit -am done"}), "[main 1234567] done")
}

fn clear(talk: Talk, id: &str) -> Talk {
    talk.record(id, json!({"type": "user", "message": {"content": "<command-name>/clear</command-name>"}}))
}

fn parts(case: &Case, row: &Row) -> Vec<StoredPart> {
    case.open().parts(row).unwrap()
}

#[test]
fn prism_a_commit_ends_a_session_and_the_next_one_rejoins_where_it_goes_on() {
    let first = commit(turn(Talk::new("s1"), "a", "soil.rs"), "b");
    for (file, sessions) in [("soil.rs", 1), ("rain.rs", 2)] {
        let case = Case::with(&[("p/a.jsonl", turn(first.fork("s1"), "c", file).text())]);
        case.ingest();
        let rows = case.sessions();
        assert_eq!(rows.len(), sessions, "{file}");
        let last = parts(&case, &rows[0]).pop().unwrap();
        assert!(matches!(last.opened, Opening::Commit { .. }));
        assert_eq!(last.joined.is_some(), sessions == 1);
        let edits: u64 = rows.iter().map(|row| row.session.facts.get().edits.edit_calls_ok.count()).sum();
        assert_eq!(edits, 2);
        assert!(rows[0].session.open);
        assert_eq!(rows.iter().filter(|row| row.session.open).count(), 1, "the last one of a transcript is open");
    }
}

/// Whether a piece goes on with what came before shows only at its end.
#[test]
fn prism_a_piece_that_turns_elsewhere_at_first_rejoins_if_it_comes_back() {
    let (same, other) = (["1.rs", "2.rs", "3.rs", "4.rs", "5.rs"], ["v.rs", "w.rs", "x.rs", "y.rs", "z.rs"]);
    let told = |files: &[&str]| {
        let edits = |talk: Talk, name: &str, files: &[&str]| {
            let of = |talk, (at, file): (usize, &&str)| turn(talk, &format!("{name}{at}"), file);
            commit(files.iter().enumerate().fold(talk, of), name)
        };
        let talk = edits(edits(Talk::new("s1"), "a", &same), "b", files);
        let case = Case::with(&[("p/a.jsonl", edits(talk, "c", &["1.rs"]).text())]);
        case.ingest();
        let [row] = &case.sessions()[..] else { panic!("not one session of {files:?}") };
        let joined: Vec<bool> = parts(&case, row).iter().map(|part| part.joined.is_some()).collect();
        let facts = row.session.facts.get();
        (joined, facts.prompts.turns, facts.edits.edit_calls_ok.count(), facts.edits.files_edited)
    };
    let expected = (vec![false, true, true], 16, 16, 10);
    assert_eq!(told(&[same, other].concat()), expected);
    assert_eq!(told(&[other, same].concat()), expected);
}

#[test]
fn prism_a_clear_begins_a_transcript_that_rejoins_and_is_graded_as_one() {
    let first = turn(Talk::new("s1"), "a", "soil.rs");
    let second = turn(clear(Talk::new("s2").later(9), "b0"), "b", "soil.rs");
    let case = Case::with(&[("p/1.jsonl", first.text()), ("p/2.jsonl", second.text())]);
    case.ingest();
    let [row] = &case.sessions()[..] else { panic!("not one session") };
    let facts = row.session.facts.get();
    assert_eq!((facts.prompts.turns, facts.edits.edit_calls_ok.count()), (2, 2));
    let events: Vec<String> = facts.prompts.human_prompts.0.iter().map(ToString::to_string).collect();
    assert_eq!(events, ["e1", "e2.2"], "events of the second transcript say so");
    let parts = parts(&case, row);
    assert_eq!(parts[1].opened.to_string(), "the context was wiped by /clear (e2.1)");
    assert_eq!((parts[0].recorded.as_str(), parts[1].recorded.as_str()), ("s1", "s2"));

    // Another transcript turns up that lies between them: they are two again, and it is a third.
    let between = turn(Talk::new("s3").later(4), "d", "rain.rs");
    case.write("p/3.jsonl", between.text());
    case.ingest();
    assert_eq!(case.sessions().len(), 3);
    assert!(case.open().made_of().unwrap().values().all(Vec::is_empty));
    let turns: Vec<u64> = case.sessions().iter().map(|row| row.session.facts.get().prompts.turns).collect();
    assert_eq!(turns, [1, 1, 1]);
}

#[test]
fn prism_a_joined_session_grows_with_its_last_piece() {
    let first = turn(Talk::new("s1"), "a", "soil.rs");
    let second = turn(Talk::new("s2").later(5), "b", "soil.rs");
    let case = Case::with(&[("p/1.jsonl", first.text()), ("p/2.jsonl", second.text())]);
    case.ingest();
    let id = case.sessions()[0].session.id.clone();
    case.write("p/2.jsonl", turn(second, "c", "soil.rs").text());
    case.ingest();
    let [row] = &case.sessions()[..] else { panic!("not one session") };
    assert_eq!((&row.session.id, row.session.facts.get().prompts.turns), (&id, 3));
}

/// A piece is known by its first prompt: one that nobody has prompted yet is another one when somebody does.
#[test]
fn prism_a_piece_stays_when_what_it_was_joined_to_becomes_another() {
    let unprompted = Talk::new("s1").call("a", "Edit", &edit("soil.rs"), "done");
    let next = turn(Talk::new("s2").later(5), "b", "soil.rs");
    let case = Case::with(&[("p/1.jsonl", unprompted.text()), ("p/2.jsonl", next.text())]);
    case.ingest();
    assert_eq!(case.sessions().len(), 1);
    case.write("p/1.jsonl", turn(unprompted.later(30), "c", "rain.rs").text());
    case.ingest();
    let expected = Case::with(&[]);
    for name in ["p/1.jsonl", "p/2.jsonl"] {
        expected.write(name, std::fs::read(case.path(name)).unwrap());
    }
    expected.ingest();
    assert_eq!(counted(&case), counted(&expected));
    assert_eq!(case.sessions().len(), 2);
}

#[test]
fn prism_a_piece_stays_when_what_it_was_joined_to_moves_elsewhere() {
    let first = turn(Talk::new("s1"), "a", "soil.rs");
    let second = turn(Talk::new("s2").later(5), "b", "soil.rs");
    let case = Case::with(&[("p/1.jsonl", first.text()), ("p/2.jsonl", second.text())]);
    case.ingest();
    assert_eq!(case.sessions().len(), 1);
    let on = (0..40).fold(first.in_folder("/srv/meadow").later(30), |talk, n| talk.says(&format!("x{n}"), "on"));
    case.write("p/1.jsonl", on.text());
    case.ingest();
    let mut sessions: Vec<_> = counted(&case).into_iter().map(|(_, turns, begin)| (turns, begin)).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [(1, 1), (1, 1)]);
}

/// A copied event belongs to the copy that holds more. With it, a piece may move to another folder, and no longer stand
/// between two pieces of its own.
#[test]
fn prism_pieces_are_joined_when_what_lay_between_belongs_elsewhere() {
    let first = turn(Talk::new("s1"), "a", "soil.rs");
    let between = turn(Talk::new("s2").later(4), "b", "rain.rs").in_folder("/srv/meadow");
    let second = turn(Talk::new("s3").later(8), "c", "soil.rs");
    let fork = commit(turn(between.fork("s4"), "d", "rain.rs"), "e");
    let case = Case::with(&[("p/1.jsonl", first.text()), ("p/2.jsonl", between.text()), ("p/3.jsonl", second.text())]);
    case.ingest();
    assert_eq!(case.sessions().len(), 3);
    case.write("p/4.jsonl", fork.text());
    case.ingest();
    assert_eq!(case.sessions().len(), 2);
    let told = case.told();
    case.forget_everything();
    case.ingest();
    assert_eq!(case.told(), told);
}

/// Sessions are in order of time, and transcripts need not be.
#[test]
fn prism_pieces_that_stand_the_other_way_round_are_told_in_order_of_time() {
    let before = turn(clear(Talk::new("s1"), "a0"), "a", "soil.rs");
    let between = turn(Talk::new("s2").later(7), "b", "soil.rs");
    let after = |minute| turn(Talk::new("s1").later(minute), "c", "soil.rs");
    let told = |files: &[(&str, &str)]| {
        let case = Case::with(files);
        case.ingest();
        let [row] = &case.sessions()[..] else { panic!("not one session") };
        let facts = row.session.facts.get();
        let lines: Vec<_> = parts(&case, row).into_iter().map(|part| part.lines).collect();
        (lines, facts.prompts.turns, facts.edits.edit_calls_ok.count(), row.session.recorded.clone())
    };
    let two = after(6).text().to_owned() + before.text();
    assert_eq!(told(&[("p/1.jsonl", &two)]), (vec![vec![(4, 7)], vec![(1, 3)]], 2, 2, "s1".into()));
    let three = after(14).text().to_owned() + before.text();
    let expected = (vec![vec![(4, 7)], vec![(1, 3)], vec![(1, 3)]], 3, 3, "s1".into());
    assert_eq!(told(&[("p/1.jsonl", &three), ("p/2.jsonl", between.text())]), expected);
}

#[test]
fn prism_all_transcripts_of_a_long_session_keep_their_names() {
    let case = Case::new();
    for n in 0..270u32 {
        let talk = Talk::new(&format!("s{n}")).later(4 * n);
        case.write(&format!("p/{n}.jsonl"), turn(talk, &format!("a{n}"), "soil.rs").text());
    }
    case.ingest();
    let [row] = &case.sessions()[..] else { panic!("not one session") };
    let recorded: Vec<String> = parts(&case, row).into_iter().map(|part| part.recorded).collect();
    assert!(recorded.iter().enumerate().all(|(n, recorded)| *recorded == format!("s{n}")), "{recorded:?}");
}

#[test]
fn prism_a_record_on_the_line_of_another_is_told_once() {
    let first = turn(Talk::new("s1"), "a", "soil.rs");
    let prompt = first.text().lines().next().unwrap();
    let again = turn(clear(Talk::new("s1").later(8), "b0"), "b", "soil.rs");
    let (clear, rest) = again.text().split_once('\n').unwrap();
    let glued = format!("{}{clear}\n{prompt}{rest}", first.text());
    let between = turn(Talk::new("s2").later(4), "c", "soil.rs");
    let case = Case::with(&[("p/1.jsonl", &glued[..]), ("p/2.jsonl", between.text())]);
    case.ingest();
    let [row] = &case.sessions()[..] else { panic!("not one session") };
    assert_eq!(row.session.facts.get().prompts.turns, 3);
}

#[test]
fn prism_subagents_follow_the_piece_that_spawned_them() {
    let main = turn(commit(turn(Talk::new("s1"), "a", "soil.rs"), "b"), "c", "rain.rs");
    let early = Talk::subagent("s1", "early").later(1).prompt("x1", "look").says("x2", "seen");
    let late = Talk::subagent("s1", "late").later(6).prompt("y1", "look").says("y2", "seen");
    let case = Case::with(&[
        ("p/s1.jsonl", main.text()),
        ("p/s1/subagents/agent-early.jsonl", early.text()),
        ("p/s1/subagents/agent-late.jsonl", late.text()),
    ]);
    case.ingest();
    let rows: Vec<Row> = case.sessions().into_iter().filter(|row| row.session.agent.is_none()).collect();
    assert_eq!(rows.len(), 2);
    for (row, agent) in rows.iter().zip(["late", "early"]) {
        let children = case.open().subagents(row, "").unwrap();
        let agents: Vec<_> = children.iter().filter_map(|child| child.session.agent.as_deref()).collect();
        assert_eq!(agents, [agent]);
        assert_eq!(row.with_subagents.subagents, 1);
    }
}

/// What happens in a transcript.
#[derive(Clone, Debug)]
enum Act {
    Edit(u8),
    Commit,
    Clear,
    Pause(u32),
    /// What follows was made earlier.
    Back(u32),
    /// What follows happens in another folder.
    Move,
    /// An edit of the first file without a result, or the same call again.
    Ask,
    /// The result of such a call, whether or not it was made.
    Get,
    /// The records so far once more.
    Repeat,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0u8..3).prop_map(Act::Edit),
        2 => Just(Act::Commit),
        1 => Just(Act::Clear),
        1 => (1u32..12).prop_map(Act::Pause),
        1 => (1u32..12).prop_map(Act::Back),
        1 => Just(Act::Move),
        1 => Just(Act::Ask),
        1 => Just(Act::Get),
        1 => Just(Act::Repeat),
    ];
    proptest::collection::vec(act, 1..9)
}

/// Transcripts, each with a start and some acts; the last may be a fork of the first.
pub(crate) fn transcripts() -> impl Strategy<Value = Vec<String>> {
    (proptest::collection::vec((0u32..40, acts()), 1..5), any::<bool>()).prop_map(|(all, forks)| {
        let write = |name: String, mut talk: Talk, acts: &[Act]| {
            for (at, act) in acts.iter().enumerate() {
                let id = format!("{name}-{at}");
                talk = match act {
                    Act::Edit(file) => turn(talk, &id, &format!("{file}.rs")),
                    Act::Commit => commit(talk, &id),
                    Act::Clear => clear(talk, &id),
                    Act::Pause(minutes) => talk.later(*minutes),
                    Act::Back(minutes) => talk.earlier(*minutes),
                    Act::Move => talk.in_folder("/srv/meadow"),
                    Act::Ask => talk.asks(&id, &name, "Edit", &edit("0.rs")),
                    Act::Get => talk.gets(&id, &name, "done"),
                    Act::Repeat => talk.repeated(),
                };
            }
            talk
        };
        let mut talks: Vec<Talk> = all
            .iter()
            .enumerate()
            .map(|(at, (start, acts))| write(format!("t{at}"), Talk::new(&format!("s{at}")).later(*start), acts))
            .collect();
        if forks {
            talks.push(write("f".into(), talks[0].fork("fork").later(3), &[Act::Edit(0), Act::Commit, Act::Edit(1)]));
        }
        talks.iter().map(|talk| talk.text().to_owned()).collect()
    })
}

fn all_at_once(transcripts: &[String]) -> Case {
    let case = Case::new();
    for (at, text) in transcripts.iter().enumerate() {
        case.write(&format!("p/{at}.jsonl"), text);
    }
    case.ingest();
    case
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn prism_any_order_of_arrival_gives_the_same_sessions(transcripts in transcripts(), turned in 0usize..5) {
        let expected = all_at_once(&transcripts).told();
        let case = Case::new();
        let mut order: Vec<usize> = (0..transcripts.len()).collect();
        order.rotate_left(turned % transcripts.len());
        for at in order {
            case.write(&format!("p/{at}.jsonl"), &transcripts[at]);
            case.ingest();
        }
        prop_assert_eq!(case.told(), expected);
    }

    #[test]
    fn prism_transcripts_that_grow_give_the_same_sessions(transcripts in transcripts(), steps in 1usize..4) {
        let expected = all_at_once(&transcripts).told();
        let case = Case::new();
        for step in 1..=steps {
            for (at, text) in transcripts.iter().enumerate() {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let some = if step == steps { lines.len() } else { lines.len() * step / steps };
                if some > 0 {
                    case.write(&format!("p/{at}.jsonl"), lines[..some].concat());
                }
                case.ingest();
            }
        }
        prop_assert_eq!(case.told(), expected);
    }
}

/// The sessions with their turns, and how many begin in their transcripts by the store's count.
fn counted(case: &Case) -> Vec<(String, u64, i64)> {
    let tables = case.tables();
    let begin = |path: &str| tables.number("SELECT sessions FROM files WHERE path = ?1", &[path]).unwrap();
    let turns = |row: &Row| row.session.facts.get().prompts.turns;
    let mut rows: Vec<_> =
        case.sessions().iter().map(|row| (row.session.id.0.clone(), turns(row), begin(&row.path))).collect();
    rows.sort();
    rows
}

#[test]
fn what_another_run_put_when_it_was_shorter_is_joined() {
    let short = commit(turn(Talk::new("s1"), "a", "soil.rs"), "b").prompt("c", "now change the next thing");
    let long = turn(commit(turn(Talk::new("s1"), "a", "soil.rs"), "b"), "c", "soil.rs");
    let expected = Case::with(&[("p/a.jsonl", long.text())]);
    expected.ingest();
    let case = Case::with(&[("p/a.jsonl", long.text())]);
    drop(case.open());
    case.ingest_while(&|| {
        case.write("p/a.jsonl", short.text());
        case.ingest();
        case.write("p/a.jsonl", long.text());
    });
    assert_eq!(counted(&case), counted(&expected));
}

#[test]
fn what_another_run_has_parted_is_counted_once() {
    let long = turn(commit(turn(Talk::new("s1"), "a", "soil.rs"), "b").later(6), "c", "soil.rs");
    let between = turn(Talk::new("s3").later(6), "d", "rain.rs");
    let expected = Case::with(&[("p/a.jsonl", long.text()), ("p/b.jsonl", between.text())]);
    expected.ingest();
    assert_eq!(expected.sessions().len(), 3);
    let case = Case::with(&[("p/a.jsonl", long.text())]);
    drop(case.open());
    case.ingest_while(&|| {
        case.write("p/b.jsonl", between.text());
        case.ingest();
    });
    assert_eq!(counted(&case), counted(&expected));
}

/// One run has put a transcript and reads others; another puts it again, because it has grown, and gets no further.
#[test]
fn what_another_run_has_put_again_is_joined_again() {
    let first = turn(commit(turn(Talk::new("s1"), "a", "soil.rs"), "b"), "c", "soil.rs");
    let grown = turn(commit(first.fork("s1"), "d"), "e", "rain.rs");
    let more = turn(grown.fork("s1"), "f", "rain.rs");
    let expected = Case::with(&[("p/a.jsonl", more.text())]);
    expected.ingest();
    let case = Case::with(&[("p/a.jsonl", grown.text())]);
    for n in 0..600 {
        let other = Talk::new(&format!("z{n}")).in_folder("/srv/z").prompt(&format!("z{n}"), "hello");
        case.write(&format!("q/{n}.jsonl"), other.text());
    }
    drop(case.open());
    let done = AtomicBool::new(false);
    case.ingest_while(&|| {
        let tables = case.tables();
        let put = tables.number("SELECT count(*) FROM files WHERE path = ?1", &[&case.name("p/a.jsonl")]).unwrap();
        if put == 0 || done.swap(true, Ordering::Relaxed) {
            return;
        }
        case.write("p/a.jsonl", more.text());
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON joined BEGIN SELECT raise(ABORT, 'not now'); END";
        tables.execute(refuse);
        let path = case.path("p/a.jsonl");
        let found: Vec<_> = case.found().into_iter().filter(|found| found.path == path).collect();
        let error = case.try_ingest(&found, &mut case.open()).unwrap_err();
        assert!(error.to_string().contains("not now"), "{error}");
        tables.execute("DROP TRIGGER refuse");
    });
    assert!(done.load(Ordering::Relaxed));
    case.ingest();
    let joined = |case: &Case| counted(case).into_iter().filter(|(_, _, begin)| *begin > 1).collect::<Vec<_>>();
    assert_eq!(joined(&case), joined(&expected));
}
