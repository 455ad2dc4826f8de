//! The pipeline over folders that change between runs.

use crate::support::{Case, Talk, short};
use hotwash_engine::pipeline::Ingested;
use hotwash_engine::stores::{Copies as _, Lookup, Sessions as _, Transcripts as _};
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::sync::Arc;

/// Files read anew, files of which only the rest was read, files left alone.
fn work(ingested: &Ingested) -> (u64, u64, u64) {
    (ingested.read, ingested.grown, ingested.unchanged)
}

/// Messages, tool calls and prompts over all sessions.
fn totals(case: &Case) -> (u64, u64, u64) {
    case.sessions().iter().fold((0, 0, 0), |(messages, calls, prompts), row| {
        let facts = row.session.facts.get();
        (
            messages + facts.tokens.assistant_messages,
            calls + facts.tools.tool_calls,
            prompts + facts.prompts.human_prompts.count(),
        )
    })
}

mod again {
    use super::*;

    #[test]
    fn a_second_run_reads_nothing_and_changes_nothing() {
        for folder in ["fixtures/claude-code", "examples/projects"] {
            let case = Case::copy_of(folder);
            let first = case.ingest();
            let dump = case.dump();
            let second = case.ingest();
            assert_eq!(work(&second), (0, 0, first.found), "{folder}");
            assert_eq!(second.bytes, 0);
            assert_eq!(case.dump(), dump);
        }
    }

    #[test]
    fn how_many_files_are_read_at_once_makes_no_difference() {
        for folder in ["fixtures/claude-code", "examples/projects"] {
            let dumps = [1, 2, 8].map(|jobs| {
                let case = Case { jobs, ..Case::copy_of(folder) };
                case.ingest();
                (case.dump(), case.told())
            });
            // Of the two, only the week holds work that was taken back.
            assert_eq!(dumps[0].1.contains("\nrework "), folder.starts_with("examples"));
            assert_eq!(dumps[0], dumps[1]);
            assert_eq!(dumps[0], dumps[2]);
        }
    }

    #[test]
    fn a_subagent_whose_file_stands_twice_is_kept_the_same_whatever_comes_first() {
        let parent = short("s1", "a");
        let agent = Talk::subagent("s1", "abc").prompt("g1", "look").says("g2", "found");
        let dumps = [1, 2, 8].map(|jobs| {
            let case = Case { jobs, ..Case::new() };
            case.write("p/s1.jsonl", parent.text());
            case.write("p/s1/subagents/agent-abc.jsonl", agent.text());
            case.write("backup/s1/subagents/agent-abc.jsonl", agent.text());
            case.write("backup/s1/subagents/agent-abc.jsonl", agent.text());
            case.ingest();
            case.touch("p/s1/subagents/agent-abc.jsonl", 1);
            case.ingest();
            case.dump()
        });
        assert_eq!(dumps[0], dumps[1]);
        assert_eq!(dumps[0], dumps[2]);
    }

    #[test]
    fn a_file_that_was_only_touched_stays_the_same() {
        let case = Case::with(&[("p/a.jsonl", short("s1", "a").text())]);
        case.ingest();
        let dump = case.dump();
        case.touch("p/a.jsonl", 1);
        assert_eq!(work(&case.ingest()), (0, 1, 0));
        assert_eq!(case.dump(), dump);
    }
}

mod growing {
    use super::*;

    /// Reads a transcript in steps and at once, and compares.
    fn in_steps(text: &[u8], cuts: &[usize]) {
        let whole = Case::new();
        whole.write("p/t.jsonl", text);
        whole.ingest();

        let steps = Case::new();
        let mut before = 0;
        let mut ends_before = 0;
        for cut in cuts.iter().copied().chain([text.len()]) {
            if cut == 0 || cut == before {
                continue;
            }
            if before == 0 {
                steps.write("p/t.jsonl", &text[..cut]);
            } else {
                steps.append("p/t.jsonl", &text[before..cut]);
            }
            let ingested = steps.ingest();
            // From the first whole line on, only the rest is read.
            let expected = if ends_before > 0 { (0, 1, 0) } else { (1, 0, 0) };
            assert_eq!(work(&ingested), expected, "cut at {cut} after {before}");
            ends_before = memchr::memchr_iter(b'\n', &text[..cut]).count();
            before = cut;
        }
        steps.touch("p/t.jsonl", 0);
        assert_eq!(steps.dump(), whole.dump(), "cuts {cuts:?}");
    }

    fn example() -> Vec<u8> {
        let name = "examples/projects/-home-mara-tidepool/cff25939-83b0-4652-a7bf-bb7fee7c8f1b.jsonl";
        fs::read(crate::support::root().join(name)).unwrap()
    }

    #[test]
    fn a_transcript_read_at_every_line_end_gives_the_same() {
        let text = example();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &text).map(|at| at + 1).collect();
        in_steps(&text, &ends);
        for end in ends {
            in_steps(&text, &[end]);
        }
    }

    #[test]
    fn a_cut_inside_a_character_is_healed() {
        let text = example();
        let wide = text.iter().position(|byte| *byte >= 0x80).unwrap();
        in_steps(&text, &[wide + 1]);
        in_steps(&text, &[wide, wide + 1, wide + 2]);
    }

    #[test]
    fn every_fixture_may_arrive_in_two_parts() {
        for found in Case::copy_of("fixtures/claude-code").found() {
            let text = fs::read(&found.path).unwrap();
            if !text.is_empty() && found.path.file_name().unwrap() != "not-json.jsonl" {
                in_steps_of(&text, found.path.file_name().unwrap().to_str().unwrap());
            }
        }
    }

    fn in_steps_of(text: &[u8], name: &str) {
        let [whole, steps] = [(); 2].map(|()| Case::new());
        whole.write(name, text);
        whole.ingest();
        let (one, two) = text.split_at(text.len() / 2);
        steps.write(name, one);
        steps.ingest();
        steps.append(name, two);
        steps.ingest();
        assert_eq!(steps.dump(), whole.dump(), "{name}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn a_transcript_read_in_any_steps_gives_the_same(mut cuts in proptest::collection::vec(0usize..1 << 20, 1..7)) {
            let text = example();
            for cut in &mut cuts {
                *cut %= text.len();
            }
            cuts.sort_unstable();
            in_steps(&text, &cuts);
        }
    }

    #[test]
    fn the_archive_follows() {
        let talk = short("s1", "a");
        let grown = short("s1", "a").prompt("a9", "and the wind?");
        for days in [0, 2, 20] {
            let case = Case::with(&[("p/a.jsonl", talk.text())]);
            case.touch("p/a.jsonl", days);
            case.ingest();
            case.append("p/a.jsonl", &grown.text()[talk.text().len()..]);
            case.ingest();
            case.remove("p/a.jsonl");
            assert_eq!(case.transcript("p/a.jsonl", 1).as_deref(), Some(grown.text()), "{days} days old");
        }
    }

    #[test]
    fn all_is_archived_however_many_are_read_at_once() {
        let talks: Vec<(String, Talk)> =
            (0..150).map(|n| (format!("p/{n}.jsonl"), short(&format!("s{n}"), &format!("a{n}-")))).collect();
        for jobs in [1, 3, 20, 200] {
            let case = Case { jobs, ..Case::new() };
            for (n, (name, talk)) in talks.iter().enumerate() {
                case.write(name, talk.text());
                case.touch(name, n as u64 % 3);
            }
            let ingested = case.ingest();
            assert_eq!((work(&ingested), ingested.unarchived), ((150, 0, 0), vec![]), "{jobs} at once");
            for (name, talk) in &talks {
                case.remove(name);
                assert_eq!(case.transcript(name, 1).as_deref(), Some(talk.text()), "{name}, {jobs} at once");
            }
        }
    }

    #[test]
    fn an_unfinished_line_that_is_written_anew_is_not_in_the_archive_twice() {
        let talk = short("s1", "a");
        let case = Case::with(&[("p/a.jsonl", &format!("{}{{\"type\":\"unfini", talk.text()))]);
        case.ingest();
        let grown = short("s1", "a").prompt("a9", "and the wind, if there is any?").says("a10", "None.");
        case.write("p/a.jsonl", grown.text());
        assert_eq!(work(&case.ingest()), (0, 1, 0));
        case.remove("p/a.jsonl");
        assert_eq!(case.transcript("p/a.jsonl", 1).as_deref(), Some(grown.text()));
    }

    #[test]
    fn a_file_that_grew_after_it_was_found_is_read_to_its_end_next_time() {
        for days in [0, 2, 20] {
            let talk = short("s1", "a");
            let case = Case::with(&[("p/a.jsonl", talk.text())]);
            case.touch("p/a.jsonl", days);
            case.ingest();
            // Another file gives the run something to do, so that what is cold is compressed.
            case.write("p/b.jsonl", short("s2", "b").text());
            case.ingest();
            let texts = [talk.prompt("a7", "more"), short("s1", "a").prompt("a7", "more").prompt("a8", "still more")];
            case.write("p/a.jsonl", texts[0].text());
            let found = case.found();
            case.write("p/a.jsonl", texts[1].text());
            case.try_ingest(&found, &mut case.open()).unwrap();
            case.ingest();
            assert_eq!(case.session("p/a.jsonl").session.facts.get().prompts.human_prompts.count(), 3);
            case.remove("p/a.jsonl");
            assert_eq!(case.transcript("p/a.jsonl", 1).as_deref(), Some(texts[1].text()), "{days} days old");
        }
    }
}

mod rewritten {
    use super::*;

    #[test]
    fn a_rewritten_file_is_another_transcript_and_the_old_one_stays_readable() {
        let (old, new) = (short("s1", "a"), short("s2", "b").prompt("b9", "once more, with feeling"));
        for days in [0, 2, 20] {
            let case = Case::with(&[("p/t.jsonl", old.text())]);
            case.touch("p/t.jsonl", days);
            case.ingest();
            // As editors and the agent do: a new file is moved into the place of the old one.
            case.write("p/draft", new.text());
            fs::rename(case.path("p/draft"), case.path("p/t.jsonl")).unwrap();
            assert_eq!(work(&case.ingest()), (1, 0, 0));
            let versions: Vec<(u32, String)> =
                case.sessions().into_iter().map(|row| (row.version, row.session.recorded)).collect();
            assert_eq!(versions, [(2, "s2".to_string()), (1, "s1".to_string())]);
            assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(old.text()), "{days} days old");
            assert_eq!(case.transcript("p/t.jsonl", 2).as_deref(), Some(new.text()));
        }
    }

    #[test]
    fn what_is_rewritten_in_place_while_hot_stays_readable_too() {
        let (old, new) = (short("s1", "a"), short("s2", "b"));
        let case = Case::with(&[("p/t.jsonl", old.text())]);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        case.ingest();
        assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(old.text()));
    }

    #[test]
    fn what_was_lost_to_rewriting_in_place_is_not_made_up() {
        let (old, new) = (short("s1", "a"), short("s2", "b"));
        let case = Case::with(&[("p/t.jsonl", old.text())]);
        case.touch("p/t.jsonl", 2);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        case.ingest();
        assert_ne!(case.transcript("p/t.jsonl", 1).as_deref(), Some(new.text()));
        assert_eq!(case.transcript("p/t.jsonl", 2).as_deref(), Some(new.text()));
        assert_eq!(case.sessions().len(), 2);
    }

    #[test]
    fn a_shorter_file_in_its_place_is_another_transcript() {
        let old = short("s1", "a").prompt("a7", "more").says("a8", "yes");
        let new = Talk::new("s2").prompt("b1", "hello");
        let case = Case::with(&[("p/t.jsonl", old.text())]);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        assert_eq!(work(&case.ingest()), (1, 0, 0));
        assert_eq!(case.sessions().len(), 2);
        assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(old.text()));
        assert_eq!(case.transcript("p/t.jsonl", 2).as_deref(), Some(new.text()));
    }

    #[test]
    fn a_file_without_a_whole_line_may_become_anything() {
        let new = short("s2", "b");
        let case = Case::with(&[("p/t.jsonl", short("s1", "a").text().lines().next().unwrap())]);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        case.ingest();
        case.remove("p/t.jsonl");
        let row = case.session("p/t.jsonl");
        assert_eq!(case.transcript("p/t.jsonl", row.version).as_deref(), Some(new.text()));
    }

    #[test]
    fn a_transcript_is_not_opened_as_what_has_since_taken_its_place() {
        let (old, new) = (short("s1", "a"), short("s2", "b"));
        let case = Case::with(&[("p/t.jsonl", old.text())]);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(old.text()));
    }

    #[test]
    fn a_deleted_file_leaves_its_session_and_its_transcript() {
        for days in [0, 2, 20] {
            let talk = short("s1", "a");
            let case = Case::with(&[("p/t.jsonl", talk.text()), ("p/u.jsonl", short("s2", "b").text())]);
            case.touch("p/t.jsonl", days);
            case.ingest();
            let dump = case.dump();
            case.remove("p/t.jsonl");
            assert_eq!(work(&case.ingest()), (0, 0, 1));
            assert_eq!(case.dump(), dump);
            assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(talk.text()), "{days} days old");
        }
    }

    #[test]
    fn a_moved_transcript_is_counted_once() {
        for archived in [true, false] {
            let talk = short("s1", "a");
            let case = Case { archived, ..Case::with(&[("p/t.jsonl", talk.text())]) };
            case.ingest();
            fs::create_dir(case.path("q")).unwrap();
            fs::rename(case.path("p/t.jsonl"), case.path("q/t.jsonl")).unwrap();
            case.ingest();
            assert_eq!(totals(&case), (2, 1, 1));
            case.append("q/t.jsonl", &short("s1", "a").prompt("a7", "more").text()[talk.text().len()..]);
            case.ingest();
            assert_eq!(totals(&case), (2, 1, 2));
        }
    }
}

mod copies {
    use super::*;

    /// An original, a fork of it and a copy that was taken up again.
    fn three() -> [(&'static str, String); 3] {
        let begin = short("s1", "a");
        let fork = begin.fork("s2").later(60).prompt("f1", "use an enum").says("f2", "An enum it will be.");
        let resumed = begin.fork("s3").later(120).prompt("r1", "and the wind?").call(
            "r2",
            "Bash",
            &json!({"command": "ls"}),
            "x",
        );
        let original = begin.prompt("o1", "or a struct?").says("o2", "Which one?");
        [
            ("p/1.jsonl", fork.text().to_string()),
            ("p/2.jsonl", original.text().to_string()),
            ("p/3.jsonl", resumed.text().to_string()),
        ]
    }

    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

    #[test]
    fn forks_end_the_same_in_any_order_of_arrival() {
        let files = three();
        let at_once = Case::with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
        at_once.ingest();
        let expected = at_once.dump();
        // 2 messages, 1 call and 1 prompt shared; 1, 1 and 1 messages, one call, three prompts of their own.
        assert_eq!(totals(&at_once), (5, 2, 4));
        assert_eq!(at_once.session("p/2.jsonl").session.facts.get().prompts.human_prompts.count(), 2);

        for order in ORDERS {
            let one_by_one = Case::new();
            for at in order {
                one_by_one.write(files[at].0, &files[at].1);
                one_by_one.ingest();
            }
            assert_eq!(one_by_one.dump(), expected, "{order:?}");
            let pair_first = Case::new();
            for at in &order[..2] {
                pair_first.write(files[*at].0, &files[*at].1);
            }
            pair_first.ingest();
            pair_first.write(files[order[2]].0, &files[order[2]].1);
            pair_first.ingest();
            assert_eq!(pair_first.dump(), expected, "{order:?}");
        }
    }

    #[test]
    fn forks_that_grow_between_runs_end_the_same() {
        let files = three();
        let expected = Case::with(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
        expected.ingest();
        for order in ORDERS {
            let case = Case::new();
            for at in order {
                let (name, text) = &files[at];
                let half = text.match_indices('\n').nth(4).unwrap().0 + 1;
                case.write(name, &text[..half]);
                case.ingest();
            }
            for at in order {
                let (name, text) = &files[at];
                let half = text.match_indices('\n').nth(4).unwrap().0 + 1;
                case.append(name, &text[half..]);
                case.ingest();
            }
            assert_eq!(case.dump(), expected.dump(), "{order:?}");
        }
    }

    #[test]
    fn a_whole_duplicate_is_a_copy_and_counts_for_nothing() {
        let talk = short("s1", "a");
        let case = Case::with(&[("p/a.jsonl", talk.text()), ("p/b.jsonl", talk.text())]);
        case.ingest();
        assert_eq!((case.role("p/a.jsonl"), case.role("p/b.jsonl")), ("main".into(), "copy".into()));
        assert_eq!(case.sessions().len(), 1);
        assert_eq!(totals(&case), (2, 1, 1));
    }

    #[test]
    fn the_fork_of_the_fixtures_owns_what_came_after_it() {
        let case = Case::copy_of("fixtures/claude-code/fork");
        case.ingest();
        assert_eq!(totals(&case), (5, 2, 3));
        let fork = case.session("fork.jsonl");
        assert_eq!(fork.session.facts.get().tokens.assistant_messages, 2);
        assert_eq!(case.session("original.jsonl").session.facts.get().tokens.assistant_messages, 3);
    }

    #[test]
    fn a_copy_whose_original_is_gone_gives_nothing_back() {
        let files = three();
        for archived in [true, false] {
            let case = Case { archived, ..Case::new() };
            case.write(files[1].0, &files[1].1);
            case.ingest();
            let original = case.session(files[1].0).session.facts.get().clone();
            case.remove(files[1].0);
            case.write(files[0].0, &files[0].1);
            case.ingest();
            assert_eq!(case.session(files[1].0).session.facts.get(), &original, "archived: {archived}");
            assert_eq!(totals(&case), (4, 1, 3), "archived: {archived}");
        }
    }

    #[test]
    fn a_fork_that_grows_leaves_the_grades_of_its_original_alone() {
        // A model's grade of the original is paid for; that its fork grows must not lose it.
        let files = three();
        let half = files[0].1.trim_end().rfind('\n').unwrap() + 1;
        let case = Case::with(&[(files[0].0, &files[0].1[..half]), (files[1].0, &files[1].1)]);
        case.ingest();
        let row = case.session(files[1].0);
        let mut grade = row.grade.unwrap();
        for score in &mut grade.scores {
            Arc::make_mut(&mut score.provenance).judge = "a model".into();
        }
        case.open().put_grades(&[(row.session.id.clone(), grade)]).unwrap();
        case.append(files[0].0, &files[0].1[half..]);
        case.ingest();
        let sql = "SELECT count(*) FROM grades JOIN origins ON id = origin
                   WHERE session = ?1 AND judge = 'a model'";
        assert_eq!(case.tables().number(sql, &[&row.session.id.0]), Some(1));
    }

    #[test]
    fn copies_without_ids_of_their_records_do_not_vanish() {
        let talk = short("s1", "a");
        let bare = talk.text().replace("\"uuid\"", "\"was\"");
        let case = Case::with(&[("p/a.jsonl", &bare), ("p/b.jsonl", &bare)]);
        case.ingest();
        assert_eq!(case.sessions().len(), 1);
        assert_eq!(totals(&case), (2, 1, 1));
    }
}

mod subagents {
    use super::*;

    #[test]
    fn each_layout_adds_its_subagent_to_the_parent_once() {
        let case = Case::copy_of("fixtures/claude-code");
        case.ingest();
        // (transcript, own output, output with subagents, subagents)
        let expected = [
            ("sibling-agent/44444444-4444-4444-8444-444444444444.jsonl", 40, 80, 1),
            ("nested-agent/55555555-5555-4555-8555-555555555555.jsonl", 40, 80, 1),
            ("agent-progress.jsonl", 40, 61, 1),
            ("inline-sidechain.jsonl", 80, 80, 0),
        ];
        for (name, own, all, subagents) in expected {
            let row = case.session(name);
            let found = (
                row.session.facts.get().tokens.tokens.output,
                row.with_subagents.tokens.output,
                row.with_subagents.subagents,
            );
            assert_eq!(found, (own, all, subagents), "{name}");
        }
    }

    #[test]
    fn warmups_and_compaction_copies_never_become_sessions() {
        let case = Case::copy_of("fixtures/claude-code");
        case.ingest();
        assert!(
            case.sessions().iter().all(|row| !row.path.contains("acompact") && !row.path.contains("agent-b07d5e4"))
        );
    }

    #[test]
    fn progress_records_give_way_to_a_transcript_of_the_same_subagent() {
        let case = Case::copy_of("fixtures/claude-code");
        let session = case.found().len();
        assert!(session > 0);
        case.ingest();
        let parent = case.session("agent-progress.jsonl");
        let agent = Talk::subagent(&parent.session.recorded, "c81f3aa").prompt("z1", "look").says("z2", "main.rs");
        case.write("elsewhere/agent-c81f3aa.jsonl", agent.text());
        case.ingest();
        let row = case.session("agent-progress.jsonl");
        assert_eq!((row.with_subagents.subagents, row.with_subagents.tokens.output), (1, 50));
    }

    #[test]
    fn the_sum_is_the_same_whatever_the_window() {
        // The subagent is done long before its session is.
        let parent = short("s1", "a").later(600).prompt("a8", "and now?").says("a9", "Later.");
        let agent = Talk::subagent("s1", "abc").prompt("g1", "look").says("g2", "found");
        let case = Case::with(&[("p/s1.jsonl", parent.text()), ("p/s1/subagents/agent-abc.jsonl", agent.text())]);
        case.ingest();
        let whole = case.session("p/s1.jsonl");
        let query = hotwash_engine::stores::Query { since: whole.session.to, ..Default::default() };
        let windowed = case.open().sessions(&query).unwrap();
        assert_eq!(windowed[0].with_subagents, whole.with_subagents);
        assert_eq!(whole.with_subagents.subagents, 1);
    }
}

#[test]
fn judge_runs_never_become_sessions() {
    let case = Case::new();
    let fixture = fs::read(crate::support::root().join("fixtures/claude-code/judge-run.jsonl")).unwrap();
    case.write("p/judge.jsonl", fixture);
    case.ingest();
    assert!(case.sessions().is_empty());
    assert_eq!(case.role("p/judge.jsonl"), "judge run");
}

#[test]
fn every_main_transcript_has_a_session_and_the_numbers_add_up() {
    for folder in ["fixtures/claude-code", "examples/projects"] {
        let case = Case::copy_of(folder);
        let found = case.ingest().found;
        let roles = case.open().roles().unwrap();
        assert_eq!(roles.values().sum::<u64>(), found);
        let sessions = case.tables().number("SELECT sum(sessions) FROM files", &[]);
        assert_eq!(sessions, Some(case.sessions().len() as i64), "{folder}");
        assert!(case.sessions().iter().all(|row| row.grade.is_some()));
    }
}

mod forgetting {
    use super::*;
    use hotwash_engine::pipeline;
    use hotwash_engine::stores::Role;

    fn forget(case: &Case, name: &str) {
        let id = case.session(name).session.id;
        pipeline::forget(&mut case.open(), Some(&case.archive()), &[id]).unwrap();
    }

    /// Whether some words are anywhere in the store's folder.
    fn remembers(case: &Case, words: &str) -> bool {
        let folder = case.store_path().parent().unwrap().to_path_buf();
        let mut places = vec![folder];
        while let Some(place) = places.pop() {
            for entry in fs::read_dir(place).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    places.push(path);
                } else if memchr::memmem::find(&fs::read(&path).unwrap(), words.as_bytes()).is_some() {
                    return true;
                }
            }
        }
        false
    }

    #[test]
    fn what_is_forgotten_is_gone_from_store_and_archive_and_stays_gone() {
        let case = Case::with(&[
            ("p/a.jsonl", Talk::new("s1").prompt("a1", "tell nobody about the quinces").text()),
            ("p/b.jsonl", short("s2", "b").text()),
        ]);
        case.ingest();
        assert!(remembers(&case, "quinces"));
        forget(&case, "p/a.jsonl");
        assert!(!remembers(&case, "quinces"));
        assert_eq!(case.sessions().len(), 1);
        assert_eq!(work(&case.ingest()), (0, 0, 1));
        assert!(!remembers(&case, "quinces"));
        assert_eq!(case.open().roles().unwrap().get(&Role::Forgotten), Some(&1));
    }

    #[test]
    fn what_is_forgotten_stays_forgotten_when_the_file_goes_on() {
        let case = Case::with(&[("p/a.jsonl", short("s1", "a").text())]);
        case.ingest();
        forget(&case, "p/a.jsonl");
        case.append("p/a.jsonl", "\n");
        assert_eq!(work(&case.ingest()), (0, 0, 0));
        assert!(case.sessions().is_empty());
    }

    #[test]
    fn another_transcript_that_stood_in_the_same_place_is_not_forgotten_with_it() {
        let (old, new) = (short("s1", "a"), short("s2", "b"));
        let case = Case::with(&[("p/t.jsonl", old.text())]);
        case.ingest();
        case.write("p/t.jsonl", new.text());
        case.ingest();
        let id = case.sessions().into_iter().find(|row| row.version == 2).unwrap().session.id;
        pipeline::forget(&mut case.open(), Some(&case.archive()), &[id]).unwrap();
        assert_eq!(case.session("p/t.jsonl").version, 1);
        assert_eq!(case.transcript("p/t.jsonl", 1).as_deref(), Some(old.text()));
    }

    #[test]
    fn whole_copies_are_forgotten_with_it() {
        let talk = Talk::new("s1").prompt("a1", "tell nobody about the quinces").says("a2", "Never.");
        let case = Case::with(&[("p/a.jsonl", talk.text()), ("p/b.jsonl", talk.text())]);
        case.ingest();
        forget(&case, "p/a.jsonl");
        assert!(!remembers(&case, "quinces"));
        assert!(case.sessions().is_empty());
        case.ingest();
        assert!(case.sessions().is_empty());
    }

    #[test]
    fn the_fork_of_something_forgotten_does_not_bring_it_back() {
        let begin = short("s1", "a");
        let fork = begin.fork("s2").later(60).prompt("f1", "use an enum").says("f2", "An enum it will be.");
        let original = begin.prompt("o1", "or a struct?").says("o2", "Which one?");
        let case = Case::with(&[("p/fork.jsonl", fork.text()), ("p/original.jsonl", original.text())]);
        case.ingest();
        forget(&case, "p/original.jsonl");
        assert_eq!(totals(&case), (1, 0, 1));
        case.append("p/fork.jsonl", &fork.fork("s2").prompt("f3", "good").text()[fork.text().len()..]);
        case.ingest();
        assert_eq!(totals(&case), (1, 0, 2));
    }

    #[test]
    fn files_that_a_crash_left_in_the_archive_are_forgotten_too() {
        let case = Case::with(&[("p/a.jsonl", Talk::new("s1").prompt("a1", "about the quinces").text())]);
        case.touch("p/a.jsonl", 20);
        case.ingest();
        // As if a run had been killed while it compressed.
        let kept = case.open().archived(&case.name("p/a.jsonl")).unwrap().remove(0);
        let folder = case.archive().folder().to_path_buf();
        let left = kept.name.replace(".jsonl", ".12345.tmp");
        fs::copy(folder.join(&kept.name), folder.join(left)).unwrap();
        forget(&case, "p/a.jsonl");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }
}

#[test]
fn last_is_the_latest_session() {
    let case = Case::copy_of("examples/projects");
    case.ingest();
    let Lookup::One(row) = case.look_up("last") else { panic!("no last session") };
    assert!(row.path.contains("8566bdbc"));
}
