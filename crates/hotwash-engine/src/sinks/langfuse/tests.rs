//! What is promised of pushes: nothing twice, nothing lost, nothing stale, whatever fails on the way.

use super::config::{self, Became, May};
use super::doctor::{self, State};
use super::push::{Options, Report, push};
use super::scored::{self, Scored};
use super::target::{Attach, Targets};
use super::testing::{Fake, Fault};
use super::{dataset, labels};
use crate::langfuse::{Client, Reads, Window};
use crate::net::testing::{Does, START, says, waited, world};
use crate::net::{Failing, Key};
use crate::sources::langfuse::pull::{Seen, trace_key};
use crate::stores::suite::rules;
use crate::stores::{Judging, Row, Usage};
use hotwash_core::facts::Facts;
use hotwash_core::outcomes;
use hotwash_core::redaction::{redact, redact_facts};
use hotwash_core::rubric::{Kind, Rubric};
use hotwash_core::scores::{Grade, Item, Provenance, Reading, Score, Unscored, Value};
use hotwash_core::sessions::{EventId, Events, Session, SessionId, SessionKind, Timestamp};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn v2() -> Rubric {
    Rubric::shipped("v2").unwrap()
}

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// A session that a model judged; `level` moves all of its scores, `at` is when, in seconds.
pub(super) fn row(n: usize, level: f64, at: i64) -> Row {
    let rubric = v2();
    let provenance = Provenance {
        judge: "test".into(),
        judge_version: "1".into(),
        model: Some("m".into()),
        rubric: rubric.id(),
        rubric_hash: rubric.hash(),
        prompt_hash: Some("h".into()),
    };
    let shared = Arc::new(provenance.clone());
    let score = |dimension: &hotwash_core::rubric::Dimension| {
        let value = match &dimension.kind {
            Kind::Numeric(_) => Value::Number(level),
            Kind::Categorical(levels) => {
                let index = (level * (levels.len() - 1) as f64) as usize;
                Value::Level { label: levels[index].label.clone(), index, of: levels.len() }
            }
        };
        let reason = format!("because of {SECRET}");
        let items = vec![Item { amount: -0.1, reason: reason.into(), fact: "judge".into(), events: Events::default() }];
        let reading = Reading::Scored { value, start: 1.0, items, confidence: Some(0.9), spread: None };
        Score { dimension: dimension.name.clone(), reading, provenance: shared.clone() }
    };
    let grade = Grade::of(rubric.dimensions.iter().map(score).collect(), &rubric);
    let facts = Facts::default();
    let outcome = outcomes::offline(&facts);
    let moment = |seconds: i64| Some(Timestamp(START.0 + seconds * 1000));
    let session = Session {
        id: SessionId(format!("{n:016x}")),
        kind: SessionKind::Main,
        recorded: format!("recorded-{n}"),
        agent: None,
        project: redact("/srv/shop", &rules()),
        title: redact("A title", &rules()),
        summary: redact("A summary.", &rules()),
        from: moment(-100),
        to: moment(-10),
        open: false,
        facts: redact_facts(facts, &rules()),
        progress: std::collections::BTreeMap::new(),
    };
    let judged = Judging {
        provenance,
        at: Timestamp(START.0 + at * 1000),
        calls: 1,
        cost: None,
        tokens: 1,
        flags: Vec::new(),
        coverage: 1.0,
        lack: None,
        complete: true,
        intent: None,
        verdict: None,
    };
    Row {
        session,
        path: String::new(),
        version: 0,
        grade: Some(grade),
        with_subagents: Usage::default(),
        outcome: Some(outcome),
        ruled: None,
        rework: None,
        judged: Some(judged),
    }
}

pub(super) fn rows(n: usize) -> Vec<Row> {
    (0..n).map(|n| row(n, 0.5, 0)).collect()
}

pub(super) fn with(client: &Client, rows: &[Row], change: impl FnOnce(&mut Options<'_>)) -> Report {
    let (rubric, targets, rules) = (v2(), Targets::default(), rules());
    let mut options = Options {
        rubric: &rubric,
        rules: &rules,
        targets: &targets,
        attach: None,
        prism: false,
        force: false,
        dry_run: false,
        progress: &|_| {},
    };
    change(&mut options);
    push(client, rows, &options).unwrap()
}

pub(super) fn pushed(client: &Client, rows: &[Row]) -> Report {
    with(client, rows, |_| {})
}

#[test]
fn a_push_again_changes_nothing_and_a_new_verdict_only_its_own() {
    let fake = Fake::start();
    let mut rows = rows(40);
    let report = pushed(&fake.client(), &rows);
    assert_eq!((report.wanted, report.written, report.unchanged), (280, 280, 0));
    assert_eq!((fake.scores().len(), fake.changes()), (280, 280));
    assert!(fake.asked("POST /api/public/ingestion") <= 3);

    let report = pushed(&fake.client(), &rows);
    assert_eq!((report.written, report.unchanged, fake.changes()), (0, 280, 280));

    if let Some(Reading::Scored { value, .. }) = rows[7].grade.as_mut().map(|grade| &mut grade.scores[1].reading) {
        *value = Value::Number(0.9);
    }
    // Judged again, with one other word.
    rows[7].judged.iter_mut().for_each(|judged| judged.at = Timestamp(START.0 + 5000));
    let report = pushed(&fake.client(), &rows);
    assert_eq!((report.written, report.unchanged, fake.changes(), fake.scores().len()), (1, 279, 281, 280));
}

#[test]
fn a_later_verdict_replaces_an_earlier_one_and_not_the_other_way_round() {
    let fake = Fake::start();
    pushed(&fake.client(), &[row(1, 0.3, 100)]);
    let first = fake.scores();
    let report = pushed(&fake.client(), &[row(1, 0.8, 50)]);
    assert_eq!((report.newer_there, report.written), (7, 0));
    assert_eq!(fake.scores(), first);
    // A model's is not replaced by the offline judge's.
    let offline = Row { judged: None, ..row(1, 0.8, 50) };
    assert_eq!(pushed(&fake.client(), &[offline]).newer_there, 7);
    let report = pushed(&fake.client(), &[row(1, 0.8, 200_000)]);
    assert_eq!((report.newer_there, report.written), (0, 7));
    // Days later, and the same score still.
    assert_eq!(fake.scores().len(), 7);
    let report = with(&fake.client(), &[row(1, 0.1, 60)], |options| options.force = true);
    assert_eq!(report.written, 7);
}

#[test]
fn a_later_verdict_stays_wherever_it_is_attached() {
    let fake = Fake::start();
    let at = Timestamp(START.0 - 50_000).to_string();
    fake.state.lock().unwrap().traces.push(("t1".into(), "recorded-1".into(), at));
    with(&fake.client(), &[row(1, 0.3, 100)], |options| options.attach = Some(Attach::Trace));
    let first = fake.scores();
    let offline = Row { judged: None, ..row(1, 0.8, 50) };
    for older in [offline.clone(), row(1, 0.8, 50)] {
        for attach in [None, Some(Attach::Session)] {
            let report = with(&fake.client(), std::slice::from_ref(&older), |options| options.attach = attach);
            assert_eq!((report.wanted, report.newer_there, report.written, report.deletions_queued), (7, 7, 0, 0));
            assert_eq!(fake.scores(), first);
        }
    }
    let report = with(&fake.client(), &[offline], |options| options.force = true);
    assert_eq!((report.written, report.deletions_queued, fake.staying().len()), (7, 7, 7));
}

#[test]
fn what_has_no_value_is_not_there() {
    let fake = Fake::start();
    let mut rows = rows(2);
    pushed(&fake.client(), &rows);
    if let Some(grade) = &mut rows[0].grade {
        grade.scores[0].reading = Reading::Unscored { why: Unscored::Refused, reason: "refused".into() };
    }
    let report = pushed(&fake.client(), &rows);
    // One of the others says from now on that an id is used up.
    assert_eq!((report.wanted, report.written, report.unchanged, report.deletions_queued), (13, 1, 12, 1));
    fake.delete();
    assert_eq!(fake.scores().len(), 13);
    // Not graded is not the same as without a value.
    rows[1].grade = None;
    let report = pushed(&fake.client(), &rows);
    assert_eq!((report.ungraded, report.deletions_queued, fake.scores().len()), (1, 0, 13));
}

/// A session that a model did not judge, as it is known from a transcript and from Langfuse: by another id of ours, with
/// other numbers of events.
fn both_ways() -> [Row; 2] {
    let from_disk = Row { judged: None, ..row(1, 0.5, 0) };
    let mut recorded = from_disk.clone();
    recorded.session.id = SessionId(format!("{:016x}", 77));
    for score in recorded.grade.iter_mut().flat_map(|grade| &mut grade.scores) {
        if let Reading::Scored { items, .. } = &mut score.reading {
            items[0].events = vec![EventId(30)];
        }
    }
    [from_disk, recorded]
}

#[test]
fn a_transcript_and_what_was_recorded_of_it_have_one_set_of_scores() {
    for attach in [Attach::Session, Attach::Trace] {
        let fake = Fake::start();
        let at = Timestamp(START.0 - 50_000).to_string();
        fake.state.lock().unwrap().traces.push(("t1".into(), "recorded-1".into(), at));
        for row in both_ways() {
            with(&fake.client(), &[row], |options| options.attach = Some(attach));
            assert_eq!(fake.scores().len(), 7, "{attach:?}");
        }
    }
}

#[test]
fn two_sources_that_say_the_same_leave_each_other_alone() {
    let fake = Fake::start();
    let [from_disk, mut recorded] = both_ways();
    let push = |row: &Row| {
        let report = pushed(&fake.client(), std::slice::from_ref(row));
        (report.written, report.unchanged)
    };
    assert_eq!(push(&from_disk), (7, 0));
    // Another title too: what is there is as good.
    recorded.session.title = redact("Another title", &rules());
    assert_eq!((push(&recorded), push(&from_disk)), ((0, 7), (0, 7)));
    // Who knows more of the session says so, once.
    recorded.session.to = Some(Timestamp(START.0 - 9_000));
    assert_eq!((push(&recorded), push(&from_disk), push(&recorded)), ((7, 0), (0, 7), (0, 7)));
    // What a source itself says otherwise is written.
    recorded.session.title = redact("A third title", &rules());
    assert_eq!((push(&recorded), push(&from_disk)), ((1, 6), (0, 7)));
    let other = Row { judged: None, ..row(1, 0.8, 0) };
    assert_eq!(push(&other), (7, 0));
}

#[test]
fn nothing_secret_is_sent() {
    let fake = Fake::start();
    with(&fake.client(), &rows(1), |options| options.prism = true);
    let bytes = fake.bytes();
    assert!(bytes.contains("because of") && !bytes.contains(SECRET));
}

#[test]
fn a_push_that_was_stopped_anywhere_is_finished_by_the_next() {
    let whole = Fake::start();
    pushed(&whole.client(), &rows(6));
    for after in 3..16 {
        let fake = Fake::start();
        let (world, _) = world();
        let client = fake.client_in(world.clone());
        fake.state.lock().unwrap().stops = Some((after, world));
        let (rubric, targets, rules) = (v2(), Targets::default(), rules());
        let options = Options {
            rubric: &rubric,
            rules: &rules,
            targets: &targets,
            attach: None,
            prism: false,
            force: false,
            dry_run: false,
            progress: &|_| {},
        };
        let _ = push(&client, &rows(6), &options);
        fake.state.lock().unwrap().stops = None;
        let report = pushed(&fake.client(), &rows(6));
        assert!(report.is_complete(), "{after}");
        assert_eq!(fake.scores(), whole.scores(), "{after}");
        assert_eq!(fake.changes(), 42, "{after}");
        assert_eq!(fake.state.lock().unwrap().configs.len(), 8, "{after}");
    }
}

#[test]
fn faults_lose_nothing_and_double_nothing() {
    let whole = Fake::start();
    pushed(&whole.client(), &rows(4));
    let busy = Does::Says(429, vec![("retry-after", "2".into())], b"{\"message\":\"Rate limit exceeded\"}".to_vec());
    let cut = Does::Cuts(b"{\"data\":[".to_vec());
    let cut_unseen = Does::CutsUnseen(b"{\"data\":[{\"id\"".to_vec());
    let faults = [
        Fault::Before(busy),
        Fault::Before(says(503, r#"{"message":"Service Unavailable"}"#)),
        Fault::After(says(500, r#"{"message":"Internal Server Error"}"#)),
        Fault::After(cut),
        Fault::After(cut_unseen.clone()),
        Fault::Before(cut_unseen),
        Fault::Before(says(200, r#"{"data":[],"meta":{"#)),
    ];
    let endpoints = [
        "GET /api/public/health",
        "GET /api/public/projects",
        "GET /api/public/v2/observations",
        "GET /api/public/score-configs",
        "POST /api/public/score-configs",
        "POST /api/public/ingestion",
        "GET /api/public/v3/scores",
    ];
    for endpoint in endpoints {
        for fault in &faults {
            let fake = Fake::start();
            fake.state.lock().unwrap().faults.push((endpoint.into(), 3, fault.clone()));
            let report = pushed(&fake.client(), &rows(4));
            assert_eq!((report.written, report.is_complete()), (28, true), "{endpoint} {fault:?}");
            assert_eq!(fake.scores(), whole.scores(), "{endpoint} {fault:?}");
            let configs = fake.state.lock().unwrap().configs.len();
            assert_eq!((configs, fake.changes()), (8, 28), "{endpoint} {fault:?}");
        }
    }
}

#[test]
fn what_the_server_drops_is_said() {
    let fake = Fake::start();
    fake.state.lock().unwrap().drops = Some("output_quality".into());
    let report = pushed(&fake.client(), &rows(2));
    assert_eq!((report.written, report.dropped.len(), report.is_complete()), (12, 2, false));
    assert!(report.dropped.iter().all(|lost| lost.name == "output_quality" && lost.why.contains("read back")));
}

#[test]
fn what_is_sent_again_is_later_and_of_the_same_day() {
    // Three days before, at the end of a day, and now.
    let end_of_day = START.0.div_euclid(86_400_000) * 86_400 - START.0 / 1000 - 1;
    for at in [-3 * 86_400, end_of_day, 0] {
        let fake = Fake::start();
        fake.state.lock().unwrap().drops = Some("output_quality".into());
        assert_eq!(pushed(&fake.client(), &[row(1, 0.5, at)]).dropped.len(), 1);
        let bytes = fake.bytes();
        let batches = bytes.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let events = batches.flat_map(|body| body["batch"].as_array().cloned().unwrap_or_default());
        let of_it = events.filter(|event| event["body"]["name"] == "output_quality");
        let times: Vec<String> = of_it.map(|event| event["timestamp"].as_str().unwrap().to_owned()).collect();
        assert_eq!(times.len(), 3);
        let day = |at: &str| at.split('T').next().map(str::to_owned);
        let follows = |pair: &[String]| pair[0] < pair[1] && day(&pair[0]) == day(&pair[1]);
        assert!(times.windows(2).all(follows), "{times:?}");
    }
}

#[test]
fn scores_are_written_in_whichever_way_the_server_has() {
    let whole = Fake::start();
    pushed(&whole.client(), &rows(5));
    for takes_arrays in [true, false] {
        let fake = Fake::start();
        (fake.state.lock().unwrap().no_ingestion, fake.state.lock().unwrap().takes_arrays) = (true, takes_arrays);
        assert_eq!(pushed(&fake.client(), &rows(5)).written, 35);
        assert_eq!(fake.scores(), whole.scores());
        assert_eq!(pushed(&fake.client(), &rows(5)).unchanged, 35);
    }
}

#[test]
fn older_servers_do_as_well() {
    let fake = Fake::start();
    (fake.state.lock().unwrap().old_reads, fake.state.lock().unwrap().old_scores) = (true, true);
    let client = fake.client();
    assert_eq!(client.reads(), Reads::Legacy);
    assert_eq!(pushed(&client, &rows(3)).written, 21);
    assert_eq!(pushed(&client, &rows(3)).unchanged, 21);
}

#[test]
fn configs_are_adopted_shown_and_changed_only_when_told_to() {
    let fake = Fake::start();
    let config = |id: &str, at: &str, name: &str, more: serde_json::Value| {
        let mut config = json!({
            "id": id, "createdAt": at, "name": name, "dataType": "NUMERIC", "isArchived": false, "minValue": 0, "maxValue": 1,
        });
        more.as_object().unwrap().iter().for_each(|(key, value)| config[key] = value.clone());
        config
    };
    fake.state.lock().unwrap().configs = vec![
        config("old", "1", "tool_efficiency", json!({})),
        config("new", "2", "tool_efficiency", json!({})),
        config("gone", "1", "output_quality", json!({ "isArchived": true })),
        config("wide", "1", "context_efficiency", json!({ "maxValue": 10 })),
        config("type", "1", "goal_achievement", json!({})),
    ];
    let settle = |may| config::settle(&fake.client(), config::wanted(&v2(), false), may).unwrap();
    let became = |settled: &[config::Settled], name: &str| {
        let found = settled.iter().find(|settled| settled.wanted.name == name).unwrap();
        (found.became.clone(), found.stored.as_ref().map(|stored| stored.id.clone()), found.twins)
    };
    let settled = settle(May::Create);
    assert_eq!(became(&settled, "tool_efficiency"), (Became::Adopted, Some("old".into()), 1));
    for (name, how) in [
        ("output_quality", "is archived"),
        ("context_efficiency", "goes from 0 to 10, not from 0 to 1"),
        ("goal_achievement", "is NUMERIC, not CATEGORICAL"),
    ] {
        assert_eq!(became(&settled, name).0, Became::Differs(vec![how.into()]));
    }
    // What does not fit a config goes without one, and is not lost.
    assert_eq!(pushed(&fake.client(), &rows(1)).written, 7);
    let settled = settle(May::Change);
    assert!(settled.iter().all(|settled| settled.stored.is_some()));
    // Those that went without get theirs.
    let report = pushed(&fake.client(), &rows(1));
    assert_eq!((report.written, report.unchanged), (2, 5));
    assert!(fake.scores().values().all(|score| score["configId"] == json!(true)));
    assert_eq!(pushed(&fake.client(), &rows(1)).unchanged, 7);
    let report = with(&fake.client(), &rows(1), |options| options.force = true);
    assert_eq!((report.written, report.unchanged), (7, 0));
    let settled = settle(May::Look);
    assert!(settled.iter().all(|settled| settled.became == Became::Adopted), "{settled:?}");
}

#[test]
fn sessions_judged_from_elsewhere_are_known() {
    let fake = Fake::start();
    let rows = rows(3);
    pushed(&fake.client(), &rows[..2]);
    let ids = |rows: &[Row]| scored::judged(&fake.client(), rows, &Targets::default(), &v2()).unwrap().len();
    assert_eq!(ids(&rows), 2);
    // One that has grown since is to be judged again.
    let mut grown = rows.clone();
    grown[0].session.to = Some(Timestamp(START.0 + 1000));
    assert_eq!(ids(&grown), 1);
    // The offline judge's grades are nobody's verdict.
    let offline: Vec<Row> = (10..12).map(|n| Row { judged: None, ..row(n, 0.5, 0) }).collect();
    pushed(&fake.client(), &offline);
    assert_eq!(ids(&offline), 0);
}

/// A session that a model judged in one respect only, which is too little for an overall score.
fn small(n: usize) -> Row {
    let mut row = row(n, 0.5, 0);
    for score in row.grade.iter_mut().flat_map(|grade| grade.scores.iter_mut().skip(1)) {
        score.reading = Reading::Unscored { why: Unscored::NothingToGoBy, reason: String::new() };
    }
    row.grade = row.grade.map(|grade| Grade::of(grade.scores, &v2()));
    row
}

#[test]
fn sessions_without_an_overall_score_are_known_as_well() {
    for attach in [Attach::Session, Attach::Trace] {
        let fake = Fake::start();
        let at = Timestamp(START.0 - 50_000).to_string();
        fake.state.lock().unwrap().traces.push(("t1".into(), "recorded-1".into(), at));
        let report = with(&fake.client(), &[small(1)], |options| options.attach = Some(attach));
        assert_eq!(report.written, 1);
        let judged = scored::judged(&fake.client(), &[small(1), small(2)], &Targets::default(), &v2()).unwrap();
        assert_eq!(judged, HashSet::from([small(1).session.id]), "{attach:?}");
    }
}

/// Whether a session is covered by what was scored: its id, its traces, and when the last of them began and ended, in
/// seconds.
fn covers(scored: &Scored, session: &str, traces: &[&str], begun: i64, ended: i64) -> bool {
    let traces: HashMap<u64, i64> = traces.iter().map(|trace| (trace_key(trace), 0)).collect();
    let at = |seconds: i64| Timestamp(START.0 + seconds * 1000);
    scored.covers(&Seen { session, traces: &traces, begun: at(begun), ended: at(ended) })
}

#[test]
fn what_was_scored_is_known_until_it_goes_on() {
    for old in [false, true] {
        let fake = Fake::start();
        let at = Timestamp(START.0 - 50_000).to_string();
        {
            let mut state = fake.state.lock().unwrap();
            (state.old_reads, state.old_scores) = (old, old);
            state.traces.push(("t2".into(), "recorded-2".into(), at.clone()));
            state.traces.push(("t6".into(), "recorded-6".into(), at));
        }
        let client = fake.client();
        // The third has too little in it for an overall score.
        let small = small(3);
        let offline = Row { judged: None, ..row(4, 0.5, 0) };
        pushed(&client, &[row(1, 0.5, 0), small, offline]);
        with(&client, &[row(2, 0.5, 0), self::small(6)], |options| options.attach = Some(Attach::Trace));
        let window = Window { from: Timestamp(START.0 - 1000), to: Timestamp(START.0 + 1000) };
        let ids: Vec<String> = (1..7).map(|n| format!("recorded-{n}")).collect();
        let none = HashMap::new();
        let seen: Vec<Seen<'_>> =
            ids.iter().map(|session| Seen { session, traces: &none, begun: START, ended: START }).collect();
        let read = |models| Scored::read(&client, &v2(), models, window, &seen).unwrap();
        let scored = read(false);
        // They end ten seconds before the start of all.
        for (session, begun, ended, known) in [
            ("recorded-1", -20, -10, true),
            ("recorded-1", -20, 40, true),
            ("recorded-1", -20, 60, false),
            ("recorded-1", -5, -5, false),
            ("recorded-2", -20, -10, true),
            ("recorded-3", -20, -10, true),
            ("recorded-4", -20, -10, true),
            ("recorded-5", -20, -10, false),
            ("recorded-6", -20, -10, true),
        ] {
            assert_eq!(covers(&scored, session, &[], begun, ended), known, "{session} {begun} {ended} {old}");
        }
        // A session may be known by a trace alone.
        assert!(covers(&scored, "by another name", &["t2"], -20, -10));
        // The offline judge's word is none where a model is to judge.
        let scored = read(true);
        assert!(covers(&scored, "recorded-1", &[], -20, -10) && !covers(&scored, "recorded-4", &[], -20, -10));
        let other = Rubric::shipped("v1").unwrap();
        let scored = Scored::read(&client, &other, false, window, &seen).unwrap();
        assert!(!covers(&scored, "recorded-1", &[], -20, -10));
    }
}

#[test]
fn a_dry_run_reads_and_writes_nothing() {
    let fake = Fake::start();
    let report = with(&fake.client(), &rows(2), |options| options.dry_run = true);
    assert_eq!((report.wanted, report.to_write.len(), report.written), (14, 14, 0));
    assert_eq!((fake.asked("POST"), fake.asked("DELETE"), fake.asked("PATCH")), (0, 0, 0));
    assert_eq!(pushed(&fake.client(), &rows(2)).written, 14);
    assert!(with(&fake.client(), &rows(2), |options| options.dry_run = true).to_write.is_empty());
}

#[test]
fn scores_are_in_the_environment_of_their_traces() {
    for old in [false, true] {
        let fake = Fake::start();
        let at = Timestamp(START.0 - 50_000).to_string();
        {
            let mut state = fake.state.lock().unwrap();
            (state.old_reads, state.environment) = (old, "production".into());
            state.traces.push(("t1".into(), "recorded-0".into(), at));
        }
        pushed(&fake.client(), &rows(2));
        let scores = fake.scores();
        let of = |session: &str| {
            let scores = scores.values().filter(move |score| score["sessionId"] == session);
            scores.map(|score| score["environment"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("recorded-0"), vec![json!("production"); 7]);
        // Nobody knows of the other.
        assert_eq!(of("recorded-1"), vec![json!(null); 7]);
    }
}

#[test]
fn five_hundred_sessions_are_pushed_once_again_and_with_one_changed_verdict() {
    if std::env::var_os("HOTWASH_SLOW_TESTS").is_none() {
        return;
    }
    let fake = Fake::start();
    let mut rows = rows(500);
    assert_eq!((pushed(&fake.client(), &rows).written, fake.scores().len()), (3500, 3500));
    let before = fake.scores();
    assert_eq!((pushed(&fake.client(), &rows).unchanged, fake.changes()), (3500, 3500));
    if let Some(Reading::Scored { value, .. }) = rows[77].grade.as_mut().map(|grade| &mut grade.scores[1].reading) {
        *value = Value::Number(0.9);
    }
    rows[77].judged.iter_mut().for_each(|judged| judged.at = Timestamp(START.0 + 5000));
    assert_eq!((pushed(&fake.client(), &rows).written, fake.changes(), fake.scores().len()), (1, 3501, 3500));
    let after = fake.scores();
    assert_eq!(before.iter().filter(|(id, score)| after[*id] != **score).count(), 1);
}

#[test]
fn what_people_say_becomes_labels_and_ground_truth() {
    for old in [false, true] {
        let fake = Fake::start();
        let label =
            |id: &str, name: &str, value: serde_json::Value, kind: &str, who: Option<&str>, on: serde_json::Value| {
                let mut score = json!({
                    "id": id, "name": name, "value": value, "dataType": kind, "source": "ANNOTATION",
                    "authorUserId": who, "timestamp": START.to_string(), "metadata": {},
                });
                on.as_object().unwrap().iter().for_each(|(key, value)| score[key] = value.clone());
                score
            };
        {
            let mut state = fake.state.lock().unwrap();
            (state.old_reads, state.old_scores) = (old, old);
            state.traces.push(("t1".into(), "s1".into(), START.to_string()));
            for score in [
                label(
                    "a",
                    "goal_achievement",
                    json!("partial"),
                    "CATEGORICAL",
                    Some("ann"),
                    json!({ "sessionId": "s1" }),
                ),
                label("b", "tool_efficiency", json!(0.5), "NUMERIC", Some("ann"), json!({ "traceId": "t1" })),
                label(
                    "c",
                    "tool_efficiency",
                    json!(0.25),
                    "NUMERIC",
                    Some("bob"),
                    json!({ "traceId": "t1", "observationId": "o" }),
                ),
                label("d", "tool_efficiency", json!(0.1), "NUMERIC", None, json!({ "sessionId": "s1" })),
                label("e", "tool_efficiency", json!(0.1), "NUMERIC", Some("ann"), json!({ "traceId": "nowhere" })),
            ] {
                state.scores.insert(score["id"].as_str().unwrap().to_owned(), score);
            }
        }
        let client = fake.client();
        let window = Window { from: Timestamp(START.0 - 1000), to: Timestamp(START.0 + 1000) };
        let found = labels::labels(&client, window, false).unwrap();
        let shown: Vec<_> =
            found.all.iter().map(|one| (one.label.session.as_str(), one.label.source.id.as_str())).collect();
        assert_eq!(shown, [("s1", "a"), ("s1", "b"), ("s1", "c")]);
        assert_eq!((found.unsigned, found.homeless), (1, 1));
        assert_eq!(labels::labels(&client, window, true).unwrap().all.len(), 4);
        let about = |_: &str| Some((redact("A title", &rules()), redact("A summary.", &rules())));
        let keep = || dataset::keep(&client, dataset::NAME, &found.all, window.from, &about).unwrap();
        assert_eq!((keep().written, keep().unchanged), (1, 1));
        // A later look that sees only newer labels takes nothing away.
        let newer: Vec<_> = found.all.iter().filter(|one| one.label.source.id == "b").cloned().collect();
        let later = Timestamp(START.0 + 1_000_000);
        let of_both = fake.state.lock().unwrap().items.values().next().unwrap()["expectedOutput"].clone();
        dataset::keep(&client, dataset::NAME, &newer, later, &about).unwrap();
        assert_eq!(fake.state.lock().unwrap().items.values().next().unwrap()["expectedOutput"], of_both);
        let state = fake.state.lock().unwrap();
        let item = state.items.values().next().unwrap();
        assert_eq!(item["input"], json!({ "session_id": "s1", "title": "A title", "summary": "A summary." }));
        assert_eq!(item["expectedOutput"]["goal_achievement"], "partial");
        assert_eq!(item["metadata"]["labeled_by"], json!(["ann", "bob"]));
    }
}

#[test]
fn the_doctor_tries_everything() {
    let fake = Fake::start();
    let checks = doctor::examine(&fake.client(), &v2());
    let states: Vec<_> = checks.iter().map(|check| (check.name, check.state)).collect();
    let expected = [
        ("server", State::Good),
        ("generation", State::Good),
        ("permissions", State::Good),
        ("clock", State::Note),
        ("configs", State::Note),
        ("session", State::Note),
        ("round trip", State::Good),
    ];
    assert_eq!(states, expected);
    fake.delete();
    assert!(fake.scores().is_empty());
}

#[test]
fn who_does_not_answer_as_langfuse_does_is_named() {
    let fake = Fake::start();
    for (does, kind, hint) in [
        (says(401, r#"{"message":"Invalid credentials."}"#), Failing::Denied, "both keys"),
        (says(404, "<!DOCTYPE html>"), Failing::NotThere, "browser"),
        (says(200, "<!DOCTYPE html>"), Failing::Garbled, "address of Langfuse"),
        (says(200, "pong"), Failing::Garbled, "address of Langfuse"),
        (says(200, r#"{"status":"up"}"#), Failing::Garbled, "address of Langfuse"),
        (says(404, r#"{"message":"no such path"}"#), Failing::NotThere, "browser"),
    ] {
        fake.state.lock().unwrap().faults = vec![("GET /api/public/".into(), 9, Fault::Before(does))];
        let world = world().0;
        let error = Client::connect(fake.config(), world.clone()).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.hint.unwrap().contains(hint), "{error:?}");
        assert_eq!(waited(&world).as_secs(), 0, "{error:?}");
    }
    let old = says(200, r#"{"version":"2.95.11","status":"OK"}"#);
    fake.state.lock().unwrap().faults = vec![("GET /api/public/health".into(), 1, Fault::Before(old))];
    let error = Client::connect(fake.config(), world().0).unwrap_err();
    assert!(error.message.contains("too old") && error.hint.unwrap().contains("3.53"), "{error:?}");
    let mut config = fake.config();
    (config.public_key, config.secret_key) = (Key::new("sk-lf-1"), Key::new("pk-lf-1"));
    assert!(Client::connect(config, world().0).unwrap_err().message.contains("wrong way round"));
}
