//! Facts are written down directly here: what a scorer makes of them is one thing, how they are counted another.

use super::*;
use crate::facts::edits::EditFacts;
use crate::facts::ending::EndingFacts;
use crate::facts::goal::GoalFacts;
use crate::facts::parallel::ParallelFacts;
use crate::facts::prompts::PromptFacts;
use crate::facts::reads::ReadFacts;
use crate::facts::signals::SignalFacts;
use crate::facts::tokens::TokenFacts;
use crate::facts::tools::ToolFacts;
use crate::facts::transcript::TranscriptFacts;
use crate::facts::verification::{Runs, VerificationFacts};
use crate::scores::Overall;
use crate::sessions::Events;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::LazyLock;

fn rubric(name: &str) -> Rubric {
    Rubric::shipped(name).unwrap()
}

fn events(ids: &[u32]) -> Events {
    ids.iter().copied().map(EventId).collect()
}

fn cited(ids: &[u32]) -> Cited {
    Cited(events(ids))
}

fn passed(ids: &[u32]) -> Runs {
    Runs { pass: events(ids), ..Runs::default() }
}

fn failed(ids: &[u32]) -> Runs {
    Runs { fail: events(ids), ..Runs::default() }
}

/// As it could stand on a screen.
fn render(grade: &Grade) -> String {
    let mut out = String::new();
    for score in &grade.scores {
        match &score.reading {
            Reading::Scored { value, start, items, confidence, .. } => {
                match value {
                    Value::Number(number) => {
                        let _ = writeln!(out, "{} {number:.3}, from {start:.3}", score.dimension);
                    }
                    Value::Level { label, .. } => {
                        let sure = confidence.map_or(String::new(), |confidence| format!(", confidence {confidence}"));
                        let _ = writeln!(out, "{} {label}{sure}", score.dimension);
                    }
                }
                for item in items {
                    let amount = if item.amount == 0.0 { "      ".into() } else { format!("{:+.3}", item.amount) };
                    let events: Vec<String> = item.events.iter().map(ToString::to_string).collect();
                    let colon = if events.is_empty() { "" } else { ": " };
                    let _ = writeln!(out, "  {amount} {}{colon}{}", item.reason, events.join(", "));
                }
            }
            Reading::Unscored { reason, .. } => {
                let _ = writeln!(out, "{} unscored: {reason}", score.dimension);
            }
        }
    }
    match &grade.overall {
        Overall::Graded { thousandths, tier, cap, present, .. } => {
            let capped =
                cap.as_ref().map(|cap| format!(", {} capped: goal {}", cap.uncapped, cap.goal)).unwrap_or_default();
            let _ = write!(out, "overall {thousandths} {tier} from {present} dimensions{capped}");
        }
        Overall::Process { thousandths, present } => {
            let _ = write!(out, "process {thousandths} from {present} dimensions");
        }
        Overall::TooFew { present, needed } => {
            let _ = write!(out, "no overall: {present} dimensions, {needed} needed");
        }
    }
    out
}

fn line(facts: &Facts, dimension: &str) -> String {
    let grade = grade(facts, &rubric("v2"));
    let scores = grade.scores.into_iter().filter(|score| score.dimension == dimension).collect();
    let one = render(&Grade { scores, overall: Overall::TooFew { present: 0, needed: 0 }, flags: Vec::new() });
    one.rsplit_once('\n').unwrap().0.to_owned()
}

fn number(facts: &Facts, dimension: &str) -> Option<f64> {
    static V2: LazyLock<Rubric> = LazyLock::new(|| rubric("v2"));
    match read(facts, &crate::outcomes::offline(facts), V2.dimension(dimension).unwrap()) {
        Reading::Scored { value, .. } => Some(value.number()),
        Reading::Unscored { .. } => None,
    }
}

/// Planned, read before changed, checked, accepted.
fn good() -> Facts {
    Facts {
        prompts: PromptFacts { human_prompts: cited(&[1, 180, 210]), turns: 3, ..PromptFacts::default() },
        tools: ToolFacts {
            tool_calls: 48,
            tool_errors: cited(&[61]),
            longest_error_streak: 1,
            planning_calls: cited(&[12, 90, 171]),
            subagent_calls: cited(&[14]),
            ..ToolFacts::default()
        },
        parallel: ParallelFacts {
            parallel_calls: cited(&[20, 21, 22, 31, 32, 40, 41, 42]),
            missed_parallel: cited(&[55, 70]),
            independent_calls: 10,
            ..ParallelFacts::default()
        },
        reads: ReadFacts {
            files_read: 18,
            unique_files_read: 14,
            wasteful_rereads: cited(&[77]),
            ..ReadFacts::default()
        },
        edits: EditFacts {
            edit_calls_ok: cited(&[80, 84, 99, 104, 120, 131, 140]),
            files_edited: 4,
            ..EditFacts::default()
        },
        verification: VerificationFacts {
            file_operations: 27,
            bash_file_ops: cited(&[65, 66]),
            test_runs: Runs { pass: events(&[150]), fail: events(&[110]), ..Runs::default() },
            verified: Some(true),
            claims: cited(&[175]),
            ..VerificationFacts::default()
        },
        tokens: TokenFacts { peak_context: 92_000, ..TokenFacts::default() },
        signals: SignalFacts {
            asked_bug_fix: cited(&[1]),
            completion_signals: cited(&[210]),
            ..SignalFacts::default()
        },
        ..Facts::default()
    }
}

/// In loops, in the dark, unchecked, and given up on.
fn bad() -> Facts {
    Facts {
        prompts: PromptFacts {
            human_prompts: cited(&[1, 300]),
            turns: 2,
            compactions_auto: cited(&[150, 260]),
            ..PromptFacts::default()
        },
        tools: ToolFacts {
            tool_calls: 62,
            tool_errors: cited(&[21, 23, 25, 27, 60, 81, 290]),
            retries: cited(&[22, 24, 26]),
            longest_error_streak: 4,
            ..ToolFacts::default()
        },
        parallel: ParallelFacts {
            missed_parallel: cited(&[31, 33, 35, 37, 39, 41]),
            independent_calls: 6,
            ..ParallelFacts::default()
        },
        reads: ReadFacts {
            files_read: 31,
            unique_files_read: 15,
            wasteful_rereads: cited(&[41, 77, 90, 101, 140, 190, 201]),
            large_reads: cited(&[33]),
            ..ReadFacts::default()
        },
        edits: EditFacts {
            edit_calls_ok: cited(&[50, 70, 90, 110, 130, 270]),
            files_edited: 5,
            edits_without_prior_read: cited(&[70, 130]),
            edits_refused_unread: cited(&[60]),
            reverted_edits: cited(&[131]),
            ..EditFacts::default()
        },
        verification: VerificationFacts {
            file_operations: 60,
            bash_file_ops: cited(&[9, 11, 13, 15, 17, 19]),
            test_runs: failed(&[80, 289]),
            verified: Some(false),
            ended_red: cited(&[289]),
            claims: cited(&[140, 295]),
            unbacked_claims: cited(&[140, 295]),
            ..VerificationFacts::default()
        },
        ending: EndingFacts { unresolved_errors: cited(&[290]), ..EndingFacts::default() },
        tokens: TokenFacts { peak_context: 182_400, ..TokenFacts::default() },
        signals: SignalFacts {
            asked_bug_fix: cited(&[1]),
            frustration_signals: cited(&[300]),
            ..SignalFacts::default()
        },
        ..Facts::default()
    }
}

#[test]
fn a_good_session_and_a_bad_one() {
    assert_snapshot!(render(&grade(&good(), &rubric("v2"))), @"
    goal_achievement complete, confidence 0.9
             the person accepted the result in words: e210
    tool_efficiency 0.923, from 0.900
      +0.080 8 of 10 independent read-only calls were made at once: e20, e21, e22, e31, e32, e40, e41, e42
      -0.030 2 of 10 independent read-only calls were made alone instead of beside the one before: e55, e70
      -0.015 2 of 27 file operations were done in the shell instead of with a file tool: e65, e66
      -0.012 1 of 48 tool calls failed: e61
    process_adherence 1.000, from 0.700
      +0.200 a green run came after the last change of a source file: e150
      +0.100 3 calls of a planning tool accompany long work (4 edited files, 48 tool calls): e12, e90, e171
    context_efficiency 0.967, from 0.950
      +0.050 1 subagent keeps its work out of the main context: e14
      -0.033 1 of 18 reads repeats an unchanged range: e77
    error_handling recovered
             1 of 48 tool calls failed, the same one at most once in a row, and none was left standing at the end: e61
    output_quality 0.950, from 0.800
      +0.150 the last run after the edits is green: e150
    overall 844 Good from 6 dimensions
    ");
    assert_snapshot!(render(&grade(&bad(), &rubric("v2"))), @"
    goal_achievement failed, confidence 0.9
             the person complains near the end, and nothing later resolves it: e300
    tool_efficiency 0.596, from 0.900
      -0.150 6 of 6 independent read-only calls were made alone instead of beside the one before: e31, e33, e35, e37, e39, e41
      -0.057 1 of 7 edits was refused because the file had not been read: e60
      -0.048 3 of 62 tool calls repeat a call that had just failed: e22, e24, e26
      -0.029 3 of 62 tool calls failed, those that were retried and refused edits not counted: e27, e81, e290
      -0.020 6 of 60 file operations were done in the shell instead of with a file tool: e9, e11, e13, e15, e17, e19
    process_adherence 0.000, from 0.700
      -0.200 no green run came after the last change of a source file: e270
      -0.200 2 of 2 success claims have no green run behind them: e140, e295
      -0.171 3 of 7 edits were aimed at a file that had not been read: e60, e70, e130
      -0.150 the last run that tells its result was red: e289
      -0.100 long work (5 edited files, 62 tool calls) went without a planning tool
      +0.121 cannot go below 0
    context_efficiency 0.655, from 0.950
      -0.135 7 of 31 reads repeat an unchanged range: e41, e77, e90, e101, e140, e190, e201
      -0.100 2 automatic compactions in 62 tool calls: e150, e260
      -0.050 the context grew to 182,400 tokens, above 150,000
      -0.010 1 of 31 reads loads a large file whole: e33
    error_handling poor
             nearly the same call failed 4 times in a row: e22, e24, e26
    output_quality 0.317, from 0.800
      -0.400 the last run after the edits is red: e289
      -0.083 1 of 6 edits undoes an earlier one: e131
    overall 233 Failed from 6 dimensions
    ");
}

#[test]
fn nothing_is_unscored_and_not_middling() {
    assert_snapshot!(render(&grade(&Facts::default(), &rubric("v2"))), @"
    goal_achievement unscored: no prompt says what was wanted: undecided
    tool_efficiency unscored: 0 tool calls; 5 are needed to say anything
    process_adherence unscored: 0 tool calls; 3 are needed to say anything
    context_efficiency unscored: 0 reads; 3 are needed to say anything
    error_handling unscored: no error in 0 tool calls; 5 are needed to say anything
    output_quality unscored: 0 edits; 1 is needed to say anything
    no overall: 0 dimensions, 3 needed
    ");
    let look = Facts {
        tools: ToolFacts { tool_calls: 8, ..ToolFacts::default() },
        reads: ReadFacts { files_read: 8, unique_files_read: 8, ..ReadFacts::default() },
        ..Facts::default()
    };
    assert_snapshot!(render(&grade(&look, &rubric("v2"))), @"
    goal_achievement unscored: no prompt says what was wanted: undecided
    tool_efficiency 0.900, from 0.900
             nothing stands out in 8 tool calls
    process_adherence unscored: 8 tool calls with no edit, no claim and no red run: no process to look at
    context_efficiency 0.950, from 0.950
             no waste shows in 8 reads of 8 files
    error_handling prevented
             no error in 8 tool calls
    output_quality unscored: 0 edits; 1 is needed to say anything
    process 939 from 3 dimensions
    ");
}

#[test]
fn older_rubrics_are_served_where_facts_say_something() {
    assert_snapshot!(render(&grade(&bad(), &rubric("v1"))), @"
    task_completion failed, confidence 0.9
             the person complains near the end, and nothing later resolves it: e300
    execution_quality 0.000, from 0.700
      -0.200 no green run came after the last change of a source file: e270
      -0.200 2 of 2 success claims have no green run behind them: e140, e295
      -0.171 3 of 7 edits were aimed at a file that had not been read: e60, e70, e130
      -0.150 the last run that tells its result was red: e289
      -0.100 long work (5 edited files, 62 tool calls) went without a planning tool
      +0.121 cannot go below 0
    tool_mastery 0.596, from 0.900
      -0.150 6 of 6 independent read-only calls were made alone instead of beside the one before: e31, e33, e35, e37, e39, e41
      -0.057 1 of 7 edits was refused because the file had not been read: e60
      -0.048 3 of 62 tool calls repeat a call that had just failed: e22, e24, e26
      -0.029 3 of 62 tool calls failed, those that were retried and refused edits not counted: e27, e81, e290
      -0.020 6 of 60 file operations were done in the shell instead of with a file tool: e9, e11, e13, e15, e17, e19
    resource_efficiency 0.655, from 0.950
      -0.135 7 of 31 reads repeat an unchanged range: e41, e77, e90, e101, e140, e190, e201
      -0.100 2 automatic compactions in 62 tool calls: e150, e260
      -0.050 the context grew to 182,400 tokens, above 150,000
      -0.010 1 of 31 reads loads a large file whole: e33
    security_compliance unscored: facts alone say nothing about security compliance
    user_satisfaction unscored: facts alone say nothing about user satisfaction
    overall 242 Failed from 4 dimensions
    ");
    assert_snapshot!(render(&grade(&bad(), &rubric("v0"))), @"
    context_efficiency 0.655, from 0.950
      -0.135 7 of 31 reads repeat an unchanged range: e41, e77, e90, e101, e140, e190, e201
      -0.100 2 automatic compactions in 62 tool calls: e150, e260
      -0.050 the context grew to 182,400 tokens, above 150,000
      -0.010 1 of 31 reads loads a large file whole: e33
    instruction_following unscored: facts alone say nothing about instruction following
    tool_appropriateness 0.596, from 0.900
      -0.150 6 of 6 independent read-only calls were made alone instead of beside the one before: e31, e33, e35, e37, e39, e41
      -0.057 1 of 7 edits was refused because the file had not been read: e60
      -0.048 3 of 62 tool calls repeat a call that had just failed: e22, e24, e26
      -0.029 3 of 62 tool calls failed, those that were retried and refused edits not counted: e27, e81, e290
      -0.020 6 of 60 file operations were done in the shell instead of with a file tool: e9, e11, e13, e15, e17, e19
    task_completion failed, confidence 0.9
             the person complains near the end, and nothing later resolves it: e300
    error_recovery poor
             nearly the same call failed 4 times in a row: e22, e24, e26
    cost_efficiency unscored: facts alone say nothing about cost efficiency
    overall 315 Poor from 4 dimensions
    ");
}

#[test]
fn scores_say_where_they_come_from() {
    let rubric = rubric("v2");
    for score in grade(&good(), &rubric).scores {
        let Provenance { judge, judge_version, model, rubric: id, rubric_hash, prompt_hash } = &*score.provenance;
        assert_eq!((judge.as_str(), judge_version.as_str()), (JUDGE, VERSION));
        assert_eq!((model, prompt_hash), (&None, &None));
        assert_eq!((id, rubric_hash), (&rubric.id(), &rubric.hash()));
    }
}

#[test]
fn same_facts_same_bytes() {
    for facts in [good(), bad(), Facts::default()] {
        for name in Rubric::shipped_names() {
            let json = |facts: &Facts| serde_json::to_string(&grade(facts, &rubric(name))).unwrap();
            let stored: Facts = serde_json::from_str(&facts.stored()).unwrap();
            assert_eq!(json(&facts), json(&facts));
            assert_eq!(json(&facts), json(&stored));
        }
    }
}

#[test]
fn every_item_names_a_fact_of_the_manual() {
    let known: Vec<&str> = Facts::GROUPS.iter().flat_map(|(_, manual)| manual.iter()).map(|page| page.name).collect();
    for facts in [good(), bad()] {
        for score in grade(&facts, &rubric("v2")).scores {
            let Reading::Scored { items, .. } = score.reading else { continue };
            for item in items {
                let scale_ends = item.reason.starts_with("cannot go");
                assert!(scale_ends && item.fact.is_empty() || known.contains(&&*item.fact), "{}", item.fact);
            }
        }
    }
}

/// The same way of working for `times` as long: counts and lists grow, shares, flags and maxima stay.
fn longer(facts: &Facts, times: u32) -> Facts {
    fn grow(value: &mut serde_json::Value, times: u32) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    if !["peak_context", "longest_error_streak", "ended_red"].contains(&name.as_str()) {
                        grow(field, times);
                    }
                }
            }
            serde_json::Value::Array(list) => {
                let ids: Vec<u64> = list.iter().filter_map(serde_json::Value::as_u64).collect();
                if ids.len() == list.len() {
                    let copy = |k| ids.iter().map(move |id| id + k * 1000).collect::<Vec<_>>();
                    *value = json!((0..u64::from(times)).flat_map(copy).collect::<Vec<_>>());
                }
            }
            serde_json::Value::Number(n) if n.is_u64() => *value = json!(n.as_u64().unwrap() * u64::from(times)),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(&facts.stored()).unwrap();
    grow(&mut value, times);
    let mut facts: Facts = serde_json::from_value(value).unwrap();
    for id in &mut facts.verification.ended_red.0 {
        id.0 += (times - 1) * 1000;
    }
    facts
}

const NUMERIC: [&str; 4] = ["tool_efficiency", "process_adherence", "context_efficiency", "output_quality"];

#[test]
fn ten_times_the_same_is_not_ten_times_as_bad() {
    for facts in [good(), bad()] {
        let long = longer(&facts, 10);
        assert_eq!(long.tools.tool_calls, facts.tools.tool_calls * 10);
        assert_eq!(long.tools.retries.count(), facts.tools.retries.count() * 10);
        for dimension in NUMERIC {
            let (short, long) = (number(&facts, dimension).unwrap(), number(&long, dimension).unwrap());
            assert!((short - long).abs() < 0.1, "{dimension}: {short} became {long}");
        }
    }
}

fn some(of: u32) -> impl Strategy<Value = Cited> {
    prop::collection::vec(2..900u32, 0..=of as usize).prop_map(|mut ids| {
        ids.sort_unstable();
        cited(&ids)
    })
}

prop_compose! {
    /// Sessions of ordinary length: long enough to be planned, with a compaction in a hundred calls at most.
    fn sessions()(
        calls in 100..300u64,
        (errors, retries, subagents, plans) in (some(30), some(20), some(3), some(3)),
        (missed, chances) in (some(10), 10..30u64),
        (again, large, reads) in (some(20), some(5), 20..60u64),
        (edits, blind, refused, reverted) in (some(30), some(5), some(3), some(5)),
        (in_shell, file_operations) in (some(20), 20..90u64),
        (green, verified) in (some(4), prop::option::of(any::<bool>())),
        (claims, compactions, peak) in (some(4), some(1), 0..300_000u64),
    ) -> Facts {
        Facts {
            prompts: PromptFacts { compactions_auto: compactions, ..PromptFacts::default() },
            tools: ToolFacts {
                tool_calls: calls,
                tool_errors: errors,
                retries,
                subagent_calls: subagents,
                planning_calls: plans,
                ..ToolFacts::default()
            },
            parallel: ParallelFacts { missed_parallel: missed, independent_calls: chances, ..ParallelFacts::default() },
            reads: ReadFacts { files_read: reads, wasteful_rereads: again, large_reads: large, ..ReadFacts::default() },
            edits: EditFacts {
                edit_calls_ok: edits,
                edits_without_prior_read: blind,
                edits_refused_unread: refused,
                reverted_edits: reverted,
                ..EditFacts::default()
            },
            verification: VerificationFacts {
                bash_file_ops: in_shell,
                file_operations,
                test_runs: Runs { pass: green.0, ..Runs::default() },
                verified,
                unbacked_claims: claims.clone(),
                claims,
                ..VerificationFacts::default()
            },
            tokens: TokenFacts { peak_context: peak, ..TokenFacts::default() },
            ..Facts::default()
        }
    }
}

proptest! {
    #[test]
    fn length_alone_moves_no_number(facts in sessions()) {
        let long = longer(&facts, 10);
        for dimension in NUMERIC {
            let (short, long) = (number(&facts, dimension), number(&long, dimension));
            prop_assert_eq!(short.is_some(), long.is_some(), "{}", dimension);
            if let (Some(short), Some(long)) = (short, long) {
                prop_assert!((short - long).abs() < 0.1, "{}: {} became {}", dimension, short, long);
            }
        }
    }

    #[test]
    fn printed_items_add_up_to_the_printed_value(facts in sessions()) {
        for score in grade(&facts, &rubric("v2")).scores {
            let Reading::Scored { value: Value::Number(value), start, items, .. } = score.reading else { continue };
            let printed = |x: f64| format!("{x:.3}").replace('.', "").parse::<i64>().unwrap();
            let sum: i64 = items.iter().map(|item| printed(item.amount)).sum();
            prop_assert_eq!(printed(start) + sum, printed(value), "{}", score.dimension);
        }
    }
}

#[test]
fn one_failure_is_punished_once() {
    let tools = |errors: &[u32], retries: &[u32]| Facts {
        tools: ToolFacts {
            tool_calls: 20,
            tool_errors: cited(errors),
            retries: cited(retries),
            ..ToolFacts::default()
        },
        ..Facts::default()
    };
    assert_snapshot!(line(&tools(&[5], &[6]), "tool_efficiency"), @"
    tool_efficiency 0.850, from 0.900
      -0.050 1 of 20 tool calls repeats a call that had just failed: e6
    ");
    assert_snapshot!(line(&tools(&[5, 9, 15], &[6]), "tool_efficiency"), @"
    tool_efficiency 0.790, from 0.900
      -0.060 2 of 20 tool calls failed, those that were retried not counted: e9, e15
      -0.050 1 of 20 tool calls repeats a call that had just failed: e6
    ");
    let mut refused = tools(&[5, 9], &[]);
    refused.edits.edits_refused_unread = cited(&[9]);
    refused.edits.edit_calls_ok = cited(&[12]);
    assert_snapshot!(line(&refused, "tool_efficiency"), @"
    tool_efficiency 0.750, from 0.900
      -0.120 1 of 2 edits was refused because the file had not been read: e9
      -0.030 1 of 20 tool calls failed, refused edits not counted: e5
    ");
}

#[test]
fn results_of_calls_made_elsewhere_are_not_more_than_all() {
    let orphans = Facts {
        tools: ToolFacts { tool_calls: 5, tool_errors: cited(&[2, 3, 4, 5, 6, 7]), ..ToolFacts::default() },
        ..Facts::default()
    };
    assert_snapshot!(line(&orphans, "tool_efficiency"), @"
    tool_efficiency 0.600, from 0.900
      -0.300 6 of 6 tool calls failed: e2, e3, e4, e5, e6, e7
    ");
}

#[test]
fn few_chances_say_nothing_about_parallel_calls() {
    let parallel = |chances| Facts {
        tools: ToolFacts { tool_calls: 20, ..ToolFacts::default() },
        parallel: ParallelFacts { independent_calls: chances, ..ParallelFacts::default() },
        ..Facts::default()
    };
    assert_eq!(number(&parallel(3), "tool_efficiency"), Some(0.9));
    assert_eq!(number(&parallel(4), "tool_efficiency"), Some(1.0));
}

#[test]
fn planning_matters_in_long_work_only() {
    let work = |calls, plans: &[u32]| Facts {
        tools: ToolFacts { tool_calls: calls, planning_calls: cited(plans), ..ToolFacts::default() },
        edits: EditFacts { edit_calls_ok: cited(&[4]), files_edited: 1, ..EditFacts::default() },
        ..Facts::default()
    };
    for (facts, expected) in [(work(14, &[]), 0.7), (work(14, &[2]), 0.7), (work(15, &[]), 0.6), (work(15, &[2]), 0.8)]
    {
        assert_eq!(number(&facts, "process_adherence"), Some(expected));
    }
}

#[test]
fn edits_are_judged_by_runs_after_them() {
    let work = |tests: Runs, verified, red: &[u32]| Facts {
        edits: EditFacts { edit_calls_ok: cited(&[10, 20]), ..EditFacts::default() },
        verification: VerificationFacts { test_runs: tests, verified, ended_red: cited(red), ..Default::default() },
        ..Facts::default()
    };
    for (facts, expected) in vec![
        (work(Runs::default(), Some(false), &[]), None),
        (work(passed(&[5]), Some(false), &[]), None),
        (work(Runs { unknown: events(&[25]), ..Runs::default() }, Some(false), &[]), None),
        (work(failed(&[15]), Some(false), &[15]), None),
        (work(failed(&[25]), Some(false), &[25]), Some(0.4)),
        (work(passed(&[25]), Some(true), &[]), Some(0.95)),
        (work(passed(&[15]), Some(true), &[]), Some(0.95)), // the edit after it was prose
        (work(passed(&[25]), None, &[]), Some(0.95)),
        (work(Runs { pass: events(&[25]), fail: events(&[30]), ..Runs::default() }, Some(false), &[30]), Some(0.4)),
    ] {
        assert_eq!(number(&facts, "output_quality"), expected, "{:?}", facts.verification);
    }
    let mut undone = work(Runs::default(), None, &[]);
    undone.edits.reverted_edits = cited(&[20]);
    assert_snapshot!(line(&undone, "output_quality"), @"
    output_quality 0.600, from 0.800
      -0.200 1 of 2 edits undoes an earlier one: e20
    ");
}

#[test]
fn errors_decide_a_level() {
    let errors = |calls, errors: &[u32], streak, left: &[u32]| {
        let facts = Facts {
            tools: ToolFacts {
                tool_calls: calls,
                tool_errors: cited(errors),
                longest_error_streak: streak,
                retries: cited(&[4]),
                ..ToolFacts::default()
            },
            ending: EndingFacts { unresolved_errors: cited(left), ..EndingFacts::default() },
            ..Facts::default()
        };
        line(&facts, "error_handling")
    };
    let lines = [
        errors(4, &[], 0, &[]),
        errors(5, &[], 0, &[]),
        errors(11, &[3, 5], 1, &[]),
        errors(10, &[3, 5], 1, &[]),
        errors(40, &[3, 5], 2, &[]),
        errors(40, &[3, 5, 7, 9], 4, &[]),
        errors(40, &[3, 5], 1, &[5]),
        errors(40, &[3, 5, 7], 1, &[7]),
    ];
    assert_snapshot!(lines.join("\n"), @"
    error_handling unscored: no error in 4 tool calls; 5 are needed to say anything
    error_handling prevented
             no error in 5 tool calls
    error_handling recovered
             2 of 11 tool calls failed, the same one at most once in a row, and none was left standing at the end: e3, e5
    error_handling struggled
             2 of 10 tool calls failed: e3, e5
    error_handling struggled
             nearly the same call failed 2 times in a row: e4
    error_handling poor
             nearly the same call failed 4 times in a row: e4
    error_handling poor
             1 of 2 errors stands at the end: no call worked after it: e5
    error_handling recovered
             3 of 40 tool calls failed, the same one at most once in a row, and 1 was left standing at the end: e3, e5, e7
    ");
}

/// A session of three prompts (e1 wants a bug fixed, e50, e90 asks something) with one edit (e20).
fn told(change: impl FnOnce(&mut Facts)) -> String {
    let mut facts = Facts {
        prompts: PromptFacts { human_prompts: cited(&[1, 50, 90]), turns: 3, ..PromptFacts::default() },
        edits: EditFacts { edit_calls_ok: cited(&[20]), ..EditFacts::default() },
        signals: SignalFacts { asked_bug_fix: cited(&[1]), asked_question: cited(&[90]), ..SignalFacts::default() },
        goal: GoalFacts { last_source_edit: cited(&[20]), ..GoalFacts::default() },
        ..Facts::default()
    };
    change(&mut facts);
    line(&facts, "goal_achievement")
}

#[test]
fn hard_evidence_of_failure() {
    assert_snapshot!(told(|it| it.ending.ended_on_api_error = cited(&[95])), @"
    goal_achievement failed, confidence 0.9
             the session ended on a request that failed for good: e95
    ");
    assert_snapshot!(told(|it| it.ending.ended_on_open_calls = cited(&[95, 96])), @"
    goal_achievement failed, confidence 0.9
             the session ended while 2 tool calls were still open: e95, e96
    ");
    assert_snapshot!(told(|it| it.signals.frustration_signals = cited(&[50, 90])), @"
    goal_achievement failed, confidence 0.9
             the person complains near the end, and nothing later resolves it: e50, e90
    ");
    assert_snapshot!(told(|it| {
        it.transcript = TranscriptFacts { headless: true, ..TranscriptFacts::default() };
        it.ending.ended_on_open_calls = cited(&[95]);
    }), @"
    goal_achievement failed, confidence 0.9
             the session ended while 1 tool call was still open: e95
    ");
}

#[test]
fn hard_evidence_of_completion() {
    assert_snapshot!(told(|it| it.signals.completion_signals = cited(&[90])), @"
    goal_achievement complete, confidence 0.9
             the person accepted the result in words: e90
    ");
    assert_snapshot!(told(|it| {
        it.signals.failure_signals = cited(&[50]);
        it.signals.completion_signals = cited(&[90]);
    }), @"
    goal_achievement complete, confidence 0.9
             the person accepted the result in words: e90
    ");
    assert_snapshot!(told(|it| {
        it.verification.verified = Some(true);
        it.verification.test_runs = passed(&[30]);
    }), @"
    goal_achievement complete, confidence 0.8
             a green run came after the last change: e30
             the person went on without complaint: e90
    ");
}

#[test]
fn otherwise_the_goal_is_undecided() {
    let nobody = told(|_| {});
    assert_snapshot!(nobody, @"goal_achievement unscored: no run came after the last edit e20, and nobody accepted the result: undecided");
    // Calls that never came back in the middle, claims, errors and counts decide nothing.
    let hints = told(|it| {
        it.tools.calls_without_result = cited(&[30]);
        it.tools.tool_errors = cited(&[31, 32, 33]);
        it.tokens.api_errors_final = cited(&[40]);
        it.verification.claims = cited(&[89]);
        it.verification.verified = Some(false);
    });
    assert_eq!(hints, nobody);
    // The opening prompt states the task, whatever its words.
    assert_eq!(told(|it| it.signals.failure_signals = cited(&[1])), nobody);
    assert_eq!(told(|it| it.signals.completion_signals = cited(&[1])), nobody);
    // Praise before the last change is not about the result.
    let early = told(|it| {
        it.signals.completion_signals = cited(&[50]);
        it.edits.edit_calls_ok = cited(&[20, 60]);
    });
    assert!(early.ends_with("undecided"), "{early}");
    // Green, but nobody has seen it yet.
    let unseen = told(|it| {
        it.verification.verified = Some(true);
        it.edits.edit_calls_ok = cited(&[95]);
    });
    assert!(unseen.ends_with("undecided"), "{unseen}");

    assert_snapshot!(told(|it| {
        it.signals.completion_signals = cited(&[90]);
        it.verification.ended_red = cited(&[80]);
    }), @"goal_achievement unscored: the person accepted the result, but the last run is red: undecided");
    assert_snapshot!(told(|it| {
        it.transcript.headless = true;
        it.signals.completion_signals = cited(&[90]);
        it.verification.verified = Some(true);
    }), @"goal_achievement unscored: nobody was there to accept the result, and nothing shows a failure: undecided");
}
