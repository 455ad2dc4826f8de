//! Batches over several runs, against an API that keeps them.

use super::batches::{Batches, Config, Ledger as _, OpenBatch};
use super::testing::{Does, Got, KEY, START, Server, Shelf, network, prompt_of, says, world};
use super::{Answer, Deferred as _, Failing, Key, Question, anthropic};
use hotwash_core::sessions::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the API keeps: batches with the ids in them, and how it behaves.
#[derive(Debug, Default)]
struct Api {
    batches: Vec<(String, Vec<String>)>,
    /// They have ended.
    ended: bool,
    /// So many answers to a batch that was taken are lost on the way.
    lost: usize,
    /// So many downloads of results break off after this many lines.
    cut: (usize, usize),
    /// Results, apart from the usual ones.
    results: Vec<(&'static str, Value)>,
    /// Lines before and after the results.
    odd: Vec<Value>,
    posts: usize,
    /// What was asked, as it arrived, by batch and id.
    asked: Vec<(String, String, String)>,
    /// It refuses questions that hold the one, and says the other.
    refuses: Vec<(&'static str, &'static str)>,
}

fn good() -> Value {
    let content = json!([{"type": "text", "text": "{}"}]);
    json!({"type": "succeeded", "message": {"content": content, "stop_reason": "end_turn", "model": "m"}})
}

impl Api {
    fn act(&mut self, got: &Got) -> Does {
        let shown = |id: &str, ids: &[String], ended: bool| {
            let (status, key) = if ended { ("ended", "succeeded") } else { ("in_progress", "processing") };
            let at = Timestamp(START.0 + 1000).to_string();
            json!({"id": id, "processing_status": status, "created_at": at, "request_counts": {key: ids.len()}})
        };
        if got.method == "POST" {
            self.posts += 1;
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            let requests = body["requests"].as_array().unwrap();
            let ids: Vec<String> =
                requests.iter().map(|request| request["custom_id"].as_str().unwrap().into()).collect();
            let id = format!("msgbatch_{}", self.posts);
            let asked = |(request, of): (&Value, &String)| (id.clone(), of.clone(), request.to_string());
            self.asked.extend(requests.iter().zip(&ids).map(asked));
            let answer = shown(&id, &ids, false).to_string();
            self.batches.push((id, ids));
            if self.lost > 0 {
                self.lost -= 1;
                return Does::Cuts(answer.into_bytes().into_iter().take(10).collect());
            }
            return says(200, &answer);
        }
        if got.path.contains('?') {
            let data: Vec<Value> = self.batches.iter().map(|(id, ids)| shown(id, ids, self.ended)).collect();
            return says(200, &json!({"data": data, "has_more": false}).to_string());
        }
        let Some((id, ids)) = self.batches.iter().find(|(id, _)| got.path.contains(id.as_str())) else {
            return says(404, "no such batch");
        };
        if !got.path.ends_with("/results") {
            return says(200, &shown(id, ids, self.ended).to_string());
        }
        let refused = |of: &String| {
            let (.., text) = self.asked.iter().find(|(batch, asked, _)| batch == id && asked == of)?;
            let (_, said) = self.refuses.iter().find(|(held, _)| text.contains(held))?;
            let error = json!({"type": "invalid_request_error", "message": said});
            Some(json!({"custom_id": of, "result": {"type": "errored", "error": {"type": "error", "error": error}}}))
        };
        let result = |id: &String| {
            if let Some(refused) = refused(id) {
                return refused;
            }
            let special = self.results.iter().find(|(special, _)| special == id);
            json!({"custom_id": id, "result": special.map_or_else(good, |(_, result)| result.clone())})
        };
        let lines = self.odd.iter().cloned().chain(ids.iter().rev().map(result)).chain(self.odd.iter().cloned());
        let lines: Vec<String> = lines.map(|line| format!("{line}\n")).collect();
        if self.cut.0 > 0 {
            self.cut.0 -= 1;
            let part = format!("{}{{\"custom", lines[..self.cut.1].concat()).into_bytes();
            return if self.cut.0.is_multiple_of(2) { Does::CutsUnseen(part) } else { Does::Cuts(part) };
        }
        says(200, &lines.concat())
    }
}

/// A run: asks these questions of the API, and says what was told of each, in the order of the ids.
fn run(
    api: &Arc<Mutex<Api>>,
    ledger: &Shelf,
    ids: &[&str],
    change: impl Fn(&mut Config),
) -> Result<Vec<String>, Failing> {
    let acting = api.clone();
    let server = Server::start(move |got, _| acting.lock().unwrap().act(got));
    let (world, _) = world();
    let (base, key) = (server.base.clone(), Key::new(KEY));
    let mut config = Config::new(anthropic::Config { base, key, several_critics: false, network: network() });
    config.patience = Duration::ZERO;
    change(&mut config);
    let judge = Batches::new(config, ledger, world).unwrap();
    let prompt = prompt_of("E");
    let questions: Vec<Question<'_>> =
        ids.iter().map(|id| Question { id, name: id, prompt: &prompt, model: "claude-haiku-5-5" }).collect();
    let mut told = Vec::new();
    let round = judge.round(&questions, &mut |id, answer| {
        told.push(match answer {
            Answer::Reply(reply) => format!("{id} {}{}", reply.text, if reply.batch { " half" } else { "" }),
            Answer::Failed(error) => format!("{id} {:?}", error.kind),
            Answer::Waits => format!("{id} waits"),
        });
    });
    told.sort();
    round.map(|()| told).map_err(|error| error.kind)
}

fn api(api: Api) -> Arc<Mutex<Api>> {
    Arc::new(Mutex::new(api))
}

const THREE: &[&str] = &["a", "b", "c"];
const ANSWERED: &[&str] = &["a {} half", "b {} half", "c {} half"];

#[test]
fn results_come_in_any_order_twice_and_with_strangers_among_them() {
    let odd = vec![json!({"custom_id": "stranger", "result": good()}), json!({"custom_id": "a", "result": good()})];
    let api = api(Api { ended: true, odd, ..Api::default() });
    let ledger = Shelf::default();
    assert_eq!(run(&api, &ledger, &["a", "b", "c", "a"], |_| ()).unwrap(), ANSWERED);
    assert!(ledger.open().unwrap().is_empty());
    assert_eq!(api.lock().unwrap().posts, 1);
}

#[test]
fn every_kind_of_result_is_told() {
    let error =
        |kind: &str| json!({"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "m"}}});
    let results = vec![
        ("a", json!({"type": "expired"})),
        ("b", json!({"type": "canceled"})),
        ("c", error("invalid_request_error")),
        ("d", error("api_error")),
        ("e", json!({"type": "new"})),
    ];
    let api = api(Api { ended: true, results, ..Api::default() });
    let told = run(&api, &Shelf::default(), &["a", "b", "c", "d", "e"], |_| ()).unwrap();
    assert_eq!(told, ["a Expired", "b Expired", "c Rejected", "d Unavailable", "e Garbled"]);
}

#[test]
fn a_model_that_takes_no_schema_is_asked_in_words() {
    let effort = ("\"effort\"", "output_config.effort: this model does not take effort");
    let schema = ("\"output_config\"", "output_config: Extra inputs are not permitted");
    for (refuses, posts) in [(vec![effort], 2), (vec![schema], 2), (vec![effort, schema], 3)] {
        let api = api(Api { ended: true, refuses, ..Api::default() });
        let ledger = Shelf::default();
        assert_eq!(run(&api, &ledger, THREE, |_| ()).unwrap(), ANSWERED);
        assert_eq!(api.lock().unwrap().posts, posts);
        assert!(ledger.open().unwrap().is_empty());
    }
    // What is refused for anything else is not asked again.
    let api = api(Api { ended: true, refuses: vec![("\"model\"", "messages: too many")], ..Api::default() });
    assert_eq!(run(&api, &Shelf::default(), &["a"], |_| ()).unwrap(), ["a Rejected"]);
    assert_eq!(api.lock().unwrap().posts, 1);
}

#[test]
fn a_round_is_split_by_number_and_by_size() {
    for (most, bytes, posts) in [(10, 1 << 20, 1), (2, 1 << 20, 2), (10, 1, 3)] {
        let api = api(Api { ended: true, ..Api::default() });
        let change = |config: &mut Config| (config.most, config.most_bytes) = (most, bytes);
        assert_eq!(run(&api, &Shelf::default(), THREE, change).unwrap(), ANSWERED);
        assert_eq!(api.lock().unwrap().posts, posts);
    }
}

#[test]
fn a_later_run_picks_up_what_an_earlier_one_sent() {
    let api = api(Api::default());
    let ledger = Shelf::default();
    assert_eq!(run(&api, &ledger, THREE, |_| ()).unwrap(), ["a waits", "b waits", "c waits"]);
    assert_eq!(run(&api, &ledger, &["c", "d"], |_| ()).unwrap(), ["a waits", "b waits", "c waits", "d waits"]);
    api.lock().unwrap().ended = true;
    assert_eq!(run(&api, &ledger, &["d"], |_| ()).unwrap(), [ANSWERED, &["d {} half"]].concat());
    assert_eq!(api.lock().unwrap().posts, 2, "only d was new");
    assert!(ledger.open().unwrap().is_empty());
}

#[test]
fn a_run_that_died_before_or_after_sending_is_told_apart() {
    for ended in [false, true] {
        let api = api(Api { ended, ..Api::default() });
        let dying = Shelf { dies_after_sending: true, ..Shelf::default() };
        assert_eq!(run(&api, &dying, THREE, |_| ()), Err(Failing::Stopped));
        let left = Shelf { open: Mutex::new(dying.open().unwrap()), ..Shelf::default() };
        api.lock().unwrap().ended = true;
        assert_eq!(run(&api, &left, THREE, |_| ()).unwrap(), ANSWERED);
        assert_eq!(api.lock().unwrap().posts, 1, "it had arrived");
    }
    let intent =
        OpenBatch { token: "t".into(), at: START, batch: None, ids: THREE.iter().map(|&id| id.into()).collect() };
    for others in [vec![], vec![("msgbatch_x".to_owned(), vec!["x".to_owned(), "y".to_owned(), "z".to_owned()])]] {
        let api = api(Api { ended: true, batches: others, ..Api::default() });
        let left = Shelf { open: Mutex::new(vec![intent.clone()]), ..Shelf::default() };
        assert_eq!(run(&api, &left, THREE, |_| ()).unwrap(), ANSWERED);
        assert_eq!(api.lock().unwrap().posts, 1, "it had not arrived");
        assert!(left.open().unwrap().is_empty());
    }
}

#[test]
fn a_batch_whose_receipt_was_lost_is_not_sent_again() {
    let api = api(Api { ended: true, lost: 1, ..Api::default() });
    assert_eq!(run(&api, &Shelf::default(), THREE, |_| ()).unwrap(), ANSWERED);
    assert_eq!(api.lock().unwrap().posts, 1);
}

#[test]
fn a_download_that_is_cut_loses_nothing_and_tells_nothing_twice() {
    for lines in 0..3 {
        for (cuts, patience) in [(1, 0), (8, 3600)] {
            let api = api(Api { ended: true, cut: (cuts, lines), ..Api::default() });
            let ledger = Shelf::default();
            let told = run(&api, &ledger, THREE, |config| config.patience = Duration::from_secs(patience)).unwrap();
            assert_eq!(told, ANSWERED);
            assert!(ledger.open().unwrap().is_empty());
        }
    }
}

#[test]
fn a_batch_that_is_gone_is_asked_again_by_whoever_asks() {
    let gone = OpenBatch { token: "t".into(), at: START, batch: Some("msgbatch_old".into()), ids: vec!["a".into()] };
    let api = api(Api { ended: true, ..Api::default() });
    let ledger = Shelf { open: Mutex::new(vec![gone]), ..Shelf::default() };
    assert_eq!(run(&api, &ledger, &["a"], |_| ()).unwrap(), ["a Expired"]);
    assert_eq!(run(&api, &ledger, &["a"], |_| ()).unwrap(), ["a {} half"]);
}
