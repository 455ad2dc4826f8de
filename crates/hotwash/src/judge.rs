//! Judging from the command line: who is asked, what may be sent, and what is said on the way.

use crate::commands::Context;
use crate::env;
use crate::errors::{Exit, Failure};
use crate::judge_settings::{Backend as Way, Named};
use crate::proxy::proxy;
use crate::run::{self, Run, now_ns};
use crate::screen::numbers::count;
use crate::screen::progress::{JudgingBar, waiting};
use crate::screen::text::{words, wrap_indented};
use crate::screen::{self, stdout};
use crate::settings::Settings;
use crate::sharing::Sharing;
use hotwash_core::prices::{self, Picodollars, Prices};
use hotwash_core::prompts::Task;
use hotwash_core::sessions::Timestamp;
use hotwash_engine::judges::anthropic::{self, Anthropic};
use hotwash_engine::judges::batches::{self, Batches};
use hotwash_engine::judges::claude_cli::{self, ClaudeCli};
use hotwash_engine::judges::files::Files;
use hotwash_engine::judges::openai::{self, OpenAi};
use hotwash_engine::judges::{Failing, JudgeError, Key, Question, World};
use hotwash_engine::judging::log::{EgressLog, StoredLedger};
use hotwash_engine::judging::{self, Ask, Backend, Docket, Dockets, Estimate, Look, Report, Setup, Share, Subject};
use hotwash_engine::net::http::Network;
use hotwash_engine::net::retry::Retries;
use hotwash_engine::platform::private_file;
use hotwash_engine::sources::claude_code::JUDGE_FOLDER;
use hotwash_engine::stores::{Row, Sqlite, Store};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// For how many sessions the bill is worked out when nobody asked for one …
const OFFERED: usize = 5;
/// … and how large their transcripts may be, because they are read for it.
const OFFERED_BYTES: u64 = 1 << 20;

/// The server that is asked unless another is named.
const OPENAI_HOST: &str = "://api.openai.com";

/// What came of judging.
pub(crate) struct Judged {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What was done.
    pub(crate) report: Report,
    /// What was expected.
    pub(crate) estimate: Estimate,
    /// What became of transcripts, where it was asked where other goals begin.
    pub(crate) topics: Option<Topics>,
}

/// What came of asking where other goals begin.
pub(crate) struct Topics {
    /// Of transcripts.
    pub(crate) report: Report,
    /// Those that were cut elsewhere by it.
    pub(crate) recut: u64,
}

/// A way to a model, opened.
enum Opened<'a> {
    Anthropic(Anthropic),
    Batches(Box<Batches<'a>>),
    ClaudeCli(ClaudeCli),
    OpenAi(OpenAi),
    Files(Files),
}

impl Opened<'_> {
    fn backend(&self) -> Backend<'_> {
        match self {
            Opened::Anthropic(live) => Backend::Live(live),
            Opened::ClaudeCli(live) => Backend::Live(live),
            Opened::OpenAi(live) => Backend::Live(live),
            Opened::Batches(deferred) => Backend::Deferred(&**deferred),
            Opened::Files(deferred) => Backend::Deferred(deferred),
        }
    }

    /// Whether it can be asked, as far as that is known without asking.
    fn check(&self) -> Result<(), JudgeError> {
        if let Opened::ClaudeCli(cli) = self { cli.check() } else { Ok(()) }
    }

    /// The exact bytes of a question.
    fn bytes(&self, ask: &Ask) -> Result<Vec<u8>, JudgeError> {
        let Ask { id, name, prompt, model, .. } = ask;
        Ok(match self {
            Opened::Anthropic(api) => api.body(prompt, model),
            Opened::OpenAi(api) => api.body(prompt, model),
            Opened::Batches(batches) => {
                let mut all = Vec::new();
                batches.bodies(&[Question { id, name, prompt, model }], &mut |body| all.extend_from_slice(body));
                all
            }
            Opened::ClaudeCli(cli) => cli.body(prompt)?,
            Opened::Files(files) => files.body(&Question { id, name, prompt, model }).into_bytes(),
        })
    }
}

/// Whether models are to be asked, and not the offline judge alone.
pub(crate) fn is_asked(context: &Context<'_>, dry_run: bool) -> Result<bool, Failure> {
    let is_asked = !context.settings.judge.value.is_empty();
    if dry_run && !is_asked {
        return Err(Failure::new("--dry-run shows what a model would be sent, and no model is asked")
            .hint("name one, such as `--judge anthropic`"));
    }
    Ok(is_asked)
}

/// Judges sessions by the models of the settings. Nothing comes of it where only the bill was asked for. Where other goals
/// begin is asked first; `again` then tells the sessions that come of it.
pub(crate) fn judge(
    context: &Context<'_>,
    run: &mut Run<'_>,
    rows: &[Row],
    again: &dyn Fn(&Run<'_>) -> Result<Vec<Row>, Failure>,
    dry_run: bool,
) -> Result<Option<Judged>, Failure> {
    let settings = &context.settings;
    let _alone = if dry_run { None } else { Some(alone(settings)?) };
    let is_paid = |named: &Named| named.backend != Way::Files;
    if !dry_run && !run.is_kept() && !run.is_given() && settings.judge.value.iter().any(is_paid) {
        return Err(Failure::new("answers that are paid for cannot be kept in this run").hint(
            "judge your own transcripts, not the examples, with a store that can be written; or use --judge files",
        ));
    }
    // Sessions that were given are not kept. What was paid for is, and is not paid for again.
    let answers = if run.is_given() && (!dry_run || settings.store.value.exists()) {
        let store: Box<dyn Store> = Box::new(Sqlite::open(&settings.store.value, Arc::clone(&run.rules))?);
        Some(std::cell::RefCell::new(store))
    } else {
        None
    };
    let stop = Arc::new(AtomicBool::new(false));
    let world = world(settings, Arc::clone(&stop))?;
    let ledger = if settings.judge.value.iter().any(|named| named.backend == Way::AnthropicBatch) {
        Some(StoredLedger::new(Sqlite::open(&settings.store.value, Arc::clone(&run.rules))?))
    } else {
        None
    };
    let opened = settings
        .judge
        .value
        .iter()
        .map(|named| open(named, context, ledger.as_ref(), &world, dry_run))
        .collect::<Result<Vec<_>, Failure>>()?;
    let names: Vec<String> = settings.judge.value.iter().map(|named| named.backend.name().to_owned()).collect();
    let looks = looks(settings, &opened, &names)?;
    if !dry_run {
        check_openai(context)?;
    }
    let prices = prices_for(settings, &looks);
    let bar = JudgingBar::new();
    let sharing = Sharing::new(context, &run.rules);
    let setup = Setup {
        rules: &run.rules,
        rubric: &run.rubric,
        prices: &prices,
        archive: run.archive.as_ref(),
        looks: &looks,
        tasks: &settings.tasks.value,
        panel: settings.panel.value,
        budget: settings.budget.value,
        thresholds: settings.thresholds.value.clone(),
        cap: settings.max_usd.value.map(picodollars),
        concurrency: settings.concurrency.value,
        stop: &stop,
        now: &|| Timestamp(now_ns() / 1_000_000),
        may_share: &|row| sharing.allows(row),
        may_share_from: &|folder| sharing.allows_from(folder),
        progress: &|report| bar.tell(report),
        answers: answers.as_ref(),
        origin: OnceLock::new(),
    };
    let mut topics = pick_topics(&*run.store, rows, &setup)?;
    let of_topics = judging::estimate(&*run.store, &mut topics, &setup)?;
    let mut dockets = pick(&*run.store, rows, &setup)?;
    let of_sessions = judging::estimate(&*run.store, &mut dockets, &setup)?;
    let mut estimate = of_sessions.and(&of_topics);
    check_cap(&setup, &estimate)?;
    if dry_run {
        show_bytes(run, &topics, &setup, &opened)?;
        show_bytes(run, &dockets, &setup, &opened)?;
        let later =
            if topics.open.is_empty() { "" } else { "; sessions may be cut elsewhere once topics are told apart" };
        say(&format!("nothing was sent: {}{later}", expected(&estimate, Some(&topics), &dockets, settings)));
        return Ok(None);
    }
    if !dockets.open.is_empty() || !topics.open.is_empty() {
        for (named, opened) in settings.judge.value.iter().zip(&opened) {
            opened.check().map_err(|error| cannot_use(named, error))?;
        }
    }
    say(&expected(&estimate, Some(&topics), &dockets, settings));
    let asks_topics = setup.tasks.contains(&Task::Topic);
    if dockets.open.is_empty() && topics.open.is_empty() && topics.report.failed.is_empty() {
        let topics = asks_topics.then_some(Topics { report: topics.report, recut: 0 });
        return Ok(Some(Judged { exit: Exit::Done, report: dockets.report, estimate, topics }));
    }
    stop_on_interrupt(&stop);
    let asked: BTreeSet<String> = topics.open.iter().filter_map(path).map(str::to_owned).collect();
    let fresh;
    let topics = if asks_topics {
        bar.begin(&topics);
        let report = judging::judge(&mut *run.store, topics, &setup);
        bar.clear();
        let report = report?;
        let recut = run::recut(&mut *run.store, run.archive.as_ref(), &run.rules, &run.rubric)?;
        fresh = again(run)?;
        // Pieces may be joined otherwise where none is cut elsewhere.
        if !are_same(rows, &fresh) {
            dockets = pick(&*run.store, &fresh, &setup)?;
            // Where nothing is asked any more, nothing is to be announced.
            if report.ended.is_none() && !stop.load(Ordering::Relaxed) {
                let of_sessions = judging::estimate(&*run.store, &mut dockets, &setup)?;
                if settings.tasks.value != [Task::Topic] {
                    let rest = expected(&of_sessions, None, &dockets, settings);
                    say(&format!("{} cut elsewhere: {rest}", count(recut, "transcript")));
                }
                estimate = of_sessions.and(&of_topics);
            }
        }
        dockets.goes_on_after(&report, &asked, &*run.store)?;
        Some(Topics { report, recut })
    } else {
        None
    };
    bar.begin(&dockets);
    let report = judging::judge(&mut *run.store, dockets, &setup);
    bar.clear();
    let report = report?;
    let exit = tell(&report, topics.as_ref(), &opened, settings);
    if has_sent(&report) {
        let away = settings.judge.value.iter().filter(|named| named.backend != Way::Files);
        run.sent_to.extend(away.map(ToString::to_string));
    }
    Ok(Some(Judged { exit, report, estimate, topics }))
}

/// The transcripts of which it is to be asked where other goals begin: none where that is no task.
fn pick_topics<'r>(store: &dyn Store, rows: &[Row], setup: &'r Setup<'r>) -> Result<Dockets<'r>, Failure> {
    if setup.tasks.contains(&Task::Topic) {
        return Ok(judging::topics::pick(store, rows, setup)?);
    }
    Ok(Dockets { open: Vec::new(), report: Report::default() })
}

/// The sessions that are to be judged: none where only topics are asked about.
fn pick<'r>(store: &dyn Store, rows: &'r [Row], setup: &'r Setup<'r>) -> Result<Dockets<'r>, Failure> {
    if setup.tasks == [Task::Topic] {
        return Ok(Dockets { open: Vec::new(), report: Report::default() });
    }
    Ok(judging::pick(store, rows, setup)?)
}

/// Whether these are the same sessions.
fn are_same(before: &[Row], now: &[Row]) -> bool {
    let which = |row: &Row| (row.session.id.clone(), row.session.from, row.session.to);
    before.iter().map(which).eq(now.iter().map(which))
}

fn path<'d>(docket: &'d Docket<'_>) -> Option<&'d str> {
    match &docket.subject {
        Subject::Transcript(prompted) => Some(&prompted.path),
        Subject::Session(_) => None,
    }
}

/// What judging would cost, where somebody has a key and has not switched judging on.
pub(crate) fn offer(context: &Context<'_>, run: &Run<'_>, rows: &[Row]) -> Option<String> {
    let settings = &context.settings;
    let has_key = context.env.get(env::ANTHROPIC_API_KEY).is_some_and(|key| !key.trim().is_empty());
    if !settings.judge.value.is_empty() || !has_key || run.example || rows.is_empty() || !settings.share.value {
        return None;
    }
    let (model, small_model) = Way::Anthropic.models()?;
    let nobody = Nobody;
    let looks = [Look {
        name: Way::Anthropic.name(),
        backend: Backend::Live(&nobody),
        model: model.into(),
        small_model: small_model.into(),
        share: Share::Whole,
        caches: true,
    }];
    let (stop, sharing) = (AtomicBool::new(false), Sharing::new(context, &run.rules));
    let setup = Setup {
        rules: &run.rules,
        rubric: &run.rubric,
        prices: prices::shipped(),
        archive: run.archive.as_ref(),
        looks: &looks,
        tasks: &settings.tasks.value,
        panel: settings.panel.value,
        budget: settings.budget.value,
        thresholds: settings.thresholds.value.clone(),
        cap: None,
        concurrency: 1,
        stop: &stop,
        now: &|| Timestamp(now_ns() / 1_000_000),
        may_share: &|row| sharing.allows(row),
        may_share_from: &|folder| sharing.allows_from(folder),
        progress: &|_| {},
        answers: None,
        origin: OnceLock::new(),
    };
    let mut dockets = judging::pick(&*run.store, rows, &setup).ok()?;
    let all = dockets.open.len();
    let is_small = |row: &Row| std::fs::metadata(&row.path).is_ok_and(|file| file.len() < OFFERED_BYTES);
    let mut small = 0;
    dockets.open.retain(|docket| {
        let kept = small < OFFERED && matches!(docket.subject, Subject::Session(row) if is_small(row));
        small += usize::from(kept);
        kept
    });
    let estimate =
        judging::estimate(&*run.store, &mut dockets, &setup).ok().filter(|estimate| estimate.sessions > 0)?;
    let dollars = estimate.probably?.dollars() * all as f64 / dockets.open.len().max(1) as f64;
    Some(format!(
        "A model can judge the {} for about ${dollars:.2}: `hotwash score --judge anthropic`; --dry-run shows every byte.",
        count(all as u64, "session")
    ))
}

/// Asks nobody: for working out a bill.
struct Nobody;

impl hotwash_engine::judges::Live for Nobody {
    fn reply(&self, _: &hotwash_core::prompts::Prompt, _: &str) -> Result<hotwash_engine::judges::Reply, JudgeError> {
        Err(JudgeError { kind: Failing::Stopped, message: "nobody is asked".into(), requests: 0 })
    }
}

/// What surrounds everything that is sent: a clock, and the log of it.
pub(crate) fn world(settings: &Settings, stop: Arc<AtomicBool>) -> Result<World, Failure> {
    let path = settings.store.value.with_extension("egress.jsonl");
    let log = EgressLog::open(&path).map_err(|error| {
        Failure::new(format!("cannot write the log of what is sent, {}", path.display())).cause(words(&error))
    })?;
    let mut world = World::new(Arc::new(log));
    (world.stop, world.waits) = (stop, Arc::new(waiting));
    Ok(world)
}

fn open<'a>(
    named: &Named,
    context: &Context<'_>,
    ledger: Option<&'a StoredLedger>,
    world: &World,
    dry_run: bool,
) -> Result<Opened<'a>, Failure> {
    let Context { settings, env, .. } = context;
    // Money is set aside for one answer: under a cap, none that may have been paid for is asked for again in the same run.
    let retries = match settings.max_usd.value {
        Some(_) => Retries { unclear: 1, ..Retries::default() },
        None => Retries::default(),
    };
    let network = |base: &str| Network { proxy: proxy(env, base), retries: retries.clone(), ..Network::default() };
    // Nothing is sent in a dry run, so none is needed.
    let no_key = if dry_run { "no key" } else { "" };
    let key = |variable: &str| Key::new(env.get(variable).unwrap_or(no_key));
    let cannot = |error| cannot_use(named, error);
    let anthropic = || {
        let base = settings.anthropic_url.value.clone();
        let (key, network) = (key(env::ANTHROPIC_API_KEY), network(&base));
        // What comes before the evidence differs by critic, so that no other request reads it from a cache.
        anthropic::Config { base, key, several_critics: false, network }
    };
    Ok(match named.backend {
        Way::Anthropic => Opened::Anthropic(Anthropic::new(anthropic(), world.clone()).map_err(cannot)?),
        Way::AnthropicBatch => {
            let Some(ledger) = ledger else { return Err(Failure::new("there is no store to remember batches in")) };
            let config = batches::Config::new(anthropic());
            Opened::Batches(Box::new(Batches::new(config, ledger, world.clone()).map_err(cannot)?))
        }
        Way::OpenAi => {
            let key = Some(key(env::OPENAI_API_KEY)).filter(|key| !key.is_empty());
            let base = settings.openai_url.value.clone();
            let network = network(&base);
            let config = openai::Config { base, key, temperature: None, network };
            Opened::OpenAi(OpenAi::new(config, world.clone()).map_err(cannot)?)
        }
        Way::ClaudeCli => {
            // A folder of its own, by whose name its traces are known and left out.
            let beside = settings.store.value.parent().unwrap_or(Path::new(""));
            let folder = env.folder.join(beside).join(JUDGE_FOLDER);
            let environment = env.each().map(|(name, value)| (name.into(), value.into())).collect();
            let mut config = claude_cli::Config::new(folder, environment);
            config.retries.unclear = retries.unclear;
            Opened::ClaudeCli(ClaudeCli::new(config, world.clone()).map_err(cannot)?)
        }
        Way::Files => Opened::Files(Files::new(&env.folder.join(&settings.judge_dir.value), world.clone())),
    })
}

fn cannot_use(named: &Named, error: JudgeError) -> Failure {
    let hint = match named.backend {
        Way::Anthropic | Way::AnthropicBatch => {
            "set ANTHROPIC_API_KEY, or use `--judge claude-cli` with a subscription, or `--judge files` without either"
        }
        Way::ClaudeCli => "install Claude Code, or use another judge",
        Way::OpenAi => "set OPENAI_BASE_URL, and OPENAI_API_KEY where the server wants one",
        Way::Files => "name another folder with --judge-dir",
    };
    Failure::new(format!("cannot use the judge {named}")).cause(error).hint(hint)
}

/// Without a key nothing goes to OpenAI itself, where a server of one's own was meant perhaps.
fn check_openai(context: &Context<'_>) -> Result<(), Failure> {
    let Context { settings, env, .. } = context;
    let asked = settings.judge.value.iter().find(|named| named.backend == Way::OpenAi);
    let has_key = env.get(env::OPENAI_API_KEY).is_some_and(|key| !key.trim().is_empty());
    match asked {
        Some(named) if !has_key && settings.openai_url.value.contains(OPENAI_HOST) => {
            Err(Failure::new(format!("cannot use the judge {named}"))
                .cause("no OPENAI_API_KEY, and OPENAI_BASE_URL names no other server")
                .hint("set OPENAI_BASE_URL to your server, such as http://127.0.0.1:11434/v1, or set OPENAI_API_KEY"))
        }
        _ => Ok(()),
    }
}

fn looks<'o>(settings: &Settings, opened: &'o [Opened<'_>], names: &'o [String]) -> Result<Vec<Look<'o>>, Failure> {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let look = |((named, opened), name): ((&Named, &'o Opened<'_>), &'o String)| {
        let usual = named.backend.models();
        let model = named.model.clone().or_else(|| some(&settings.judge_model.value));
        let model = model.or_else(|| usual.map(|(model, _)| model.to_owned())).ok_or_else(|| {
            Failure::new(format!("which model is {named} to ask?"))
                .hint(format!("name it behind a colon, such as `--judge {named}:MODEL`, or set judge_model"))
        })?;
        // Who names a model means it for everything, unless the smaller one is named too.
        let small = some(&settings.judge_small_model.value);
        let small = small.or_else(|| usual.filter(|_| named.model.is_none()).map(|(_, small)| small.to_owned()));
        let share = match named.backend {
            Way::AnthropicBatch => Share::Half,
            Way::Files => Share::Nothing,
            _ => Share::Whole,
        };
        let small_model = small.unwrap_or_else(|| model.clone());
        // Batches may be worked on in any order, long after one another.
        let caches = matches!(named.backend, Way::Anthropic | Way::ClaudeCli);
        Ok(Look { name: name.as_str(), backend: opened.backend(), model, small_model, share, caches })
    };
    settings.judge.value.iter().zip(opened).zip(names).map(look).collect()
}

fn prices_for(settings: &Settings, looks: &[Look<'_>]) -> Prices {
    let mut prices = prices::shipped().clone();
    if let Some((input, output)) = settings.judge_price.value {
        for look in looks {
            prices = prices.with(&look.model, input, output).with(&look.small_model, input, output);
        }
    }
    prices
}

fn picodollars(dollars: f64) -> Picodollars {
    Picodollars((dollars * 1e12) as u64)
}

/// A cap needs prices; without them nothing is sent, and that is said at once.
fn check_cap(setup: &Setup<'_>, estimate: &Estimate) -> Result<(), Failure> {
    if setup.cap.is_some() && estimate.at_most.is_none() {
        let models: Vec<&str> = setup.looks.iter().map(|look| look.model.as_str()).collect();
        return Err(Failure::new(format!("nobody here knows what {} costs, so no cap can be kept", models.join(", ")))
            .hint("name the price with --judge-price IN,OUT, or leave --max-usd out"));
    }
    Ok(())
}

/// Why some of what was found is not judged, in brackets.
fn others(report: &Report, before: &str) -> String {
    let mut others: Vec<String> = Vec::new();
    if report.before > 0 {
        others.push(format!("{} {before} before", report.before));
    }
    others.extend(report.skipped.iter().map(|(why, n)| format!("{n} {why}")));
    if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) }
}

/// What a run is going to do, in a line: about topics where they are still to be told apart, and about sessions.
fn expected(estimate: &Estimate, topics: Option<&Dockets<'_>>, dockets: &Dockets<'_>, settings: &Settings) -> String {
    let tasks = &settings.tasks.value;
    let mut what: Vec<String> = Vec::new();
    let topics = topics.filter(|_| tasks.contains(&Task::Topic));
    if let Some(Dockets { open, report }) = topics {
        let (found, others) = (count(report.found, "transcript"), others(report, "asked about"));
        what.push(match open.len() {
            0 => format!("has no topics to tell apart in {found}{others}"),
            n => format!("tells topics apart in {n} of {found}{others}"),
        });
    }
    if *tasks != [Task::Topic] {
        let (found, others) = (count(dockets.report.found, "session"), others(&dockets.report, "judged"));
        what.push(match dockets.open.len() {
            0 => format!("has nothing to judge in {found}{others}"),
            n => format!("judges {n} of {found}{others}"),
        });
    }
    let what = format!("{} {}", crate::judge_settings::shown(&settings.judge.value), what.join(" and "));
    if dockets.open.is_empty() && topics.is_none_or(|topics| topics.open.is_empty()) {
        return what;
    }
    let bill = match (estimate.probably, estimate.at_most) {
        (Some(Picodollars(0)), Some(Picodollars(0))) => String::new(),
        (Some(probably), Some(at_most)) => {
            // What comes on top only shows on the way; --max-usd holds whatever comes.
            let beside = if settings.judge.value.len() > 1 { "retries and second looks" } else { "retries" };
            format!(", about ${:.2}, at most ${:.2} without {beside}", probably.dollars(), at_most.dollars())
        }
        _ => ", at a price that nobody here knows".into(),
    };
    format!(
        "{what}: {}, about {} tokens{bill}",
        count(estimate.calls, "question"),
        crate::screen::numbers::grouped(estimate.tokens)
    )
}

/// Prints what would be sent, byte for byte.
fn show_bytes(run: &Run<'_>, dockets: &Dockets<'_>, setup: &Setup<'_>, opened: &[Opened<'_>]) -> Result<(), Failure> {
    for docket in &dockets.open {
        let asks = match judging::questions(&*run.store, &docket.subject, setup)? {
            Ok(asks) => asks,
            Err(untold) => {
                let id = match &docket.subject {
                    Subject::Session(row) => &row.session.id,
                    Subject::Transcript(prompted) => &prompted.session,
                };
                say(&format!("warning: {}: {untold}", id.short()));
                continue;
            }
        };
        for ask in asks {
            if setup.answer(&*run.store, &ask.id)?.is_some() {
                continue;
            }
            let bytes = opened[ask.look].bytes(&ask).map_err(|error| Failure::new(error.message))?;
            let head = format!("==> {} ({}, {} bytes) <==\n", ask.name, ask.model, bytes.len());
            stdout(&head)?;
            stdout(&String::from_utf8_lossy(&bytes))?;
            stdout("\n\n")?;
        }
    }
    Ok(())
}

/// Whether anything was asked that was not known from before.
fn has_sent(report: &Report) -> bool {
    report.requests + report.calls > 0 || !report.waiting.is_empty()
}

/// Says what came of it.
fn tell(report: &Report, topics: Option<&Topics>, opened: &[Opened<'_>], settings: &Settings) -> Exit {
    let mut done: Vec<String> = Vec::new();
    if let Some(Topics { report, recut }) = topics {
        done.push(format!("told topics apart in {}, {recut} cut elsewhere", count(report.judged, "transcript")));
    }
    if settings.tasks.value != [Task::Topic] {
        done.push(format!("judged {}", count(report.judged, "session")));
    }
    let mut line = format!("{}: {} answered", done.join("; "), count(report.calls, "question"));
    if report.cached > 0 {
        let _ = write!(line, ", {} known from before", report.cached);
    }
    if report.spent.0 > 0 {
        let _ = write!(line, ", ${:.4} spent", report.spent.dollars());
    }
    if report.unpriced > 0 {
        let _ = write!(line, ", {} at an unknown price", report.unpriced);
    }
    if report.perhaps.0 > 0 {
        let _ = write!(line, ", perhaps up to ${:.4} more", report.perhaps.dollars());
    }
    say(&line);
    let flags: Vec<String> = report.flagged.iter().map(|(flag, n)| format!("{flag} {n}")).collect();
    if !flags.is_empty() {
        say(&format!("flagged: {}; `hotwash show ID` says why", flags.join(", ")));
    }
    let waiting: usize = report.waiting.len();
    if waiting > 0 {
        let notes: Vec<String> = opened
            .iter()
            .filter_map(|opened| match opened {
                Opened::Files(files) => Some(files.waiting()),
                _ => None,
            })
            .flatten()
            .filter_map(|waiting| Some(format!("{}: {}", waiting.file.display(), waiting.note?)))
            .collect();
        for note in notes.iter().take(5) {
            say(&format!("warning: {note}"));
        }
        let next = if opened.iter().any(|opened| matches!(opened, Opened::Files(_))) {
            let folder = settings.judge_dir.value.display();
            format!("answer `NAME.prompt.md` with `NAME.reply.json` in {folder}, then run this again")
        } else {
            "the batch is under way; run this again later".into()
        };
        say(&format!(
            "{} of {} waiting ({}{}): {next}",
            count(waiting as u64, "question"),
            match topics {
                Some(Topics { report: of_topics, .. }) if report.waits == 0 => count(of_topics.waits, "transcript"),
                _ => count(report.waits, "session"),
            },
            report.waiting.iter().take(3).cloned().collect::<Vec<_>>().join(", "),
            if waiting > 3 { ", ..." } else { "" },
        ));
    }
    // What ended the run is said once, with what it cost.
    let ended = report.ended.as_deref();
    let by_that = |why: &str| ended.is_some_and(|ended| why.ends_with(ended));
    for (why, n) in report.failed.iter().filter(|(why, _)| !by_that(why)) {
        say(&format!("warning: {} could not be judged: {why}", count(*n, "session")));
    }
    for (why, n) in report.partial.iter().filter(|(why, _)| !by_that(why)) {
        say(&format!("warning: {} judged in part only: {why}", count(*n, "session")));
    }
    for (why, n) in report.failed_transcripts.iter().filter(|(why, _)| !by_that(why)) {
        say(&format!("warning: topics of {} could not be told apart: {why}", count(*n, "transcript")));
    }
    let unasked = |report: &Report| -> u64 {
        ["not asked any more", "stopped before"].iter().filter_map(|why| report.skipped.get(why)).sum()
    };
    let of_topics = topics.map_or(0, |topics| unasked(&topics.report));
    let left: Vec<String> = [(of_topics, "transcript"), (unasked(report), "session")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| count(n, what))
        .collect();
    let left = (!left.is_empty()).then(|| format!("{} left", left.join(" and ")));
    if let Some(why) = ended {
        let failed: u64 = report.failed.iter().filter(|(why, _)| by_that(why)).map(|(_, n)| n).sum();
        let failed = (failed > 0).then(|| format!("{} could not be judged", count(failed, "session")));
        let cost: Vec<String> = failed.into_iter().chain(left.clone()).collect();
        let cost = if cost.is_empty() { String::new() } else { format!(", {}", cost.join(", ")) };
        say(&format!("warning: stopped early{cost}: {why}"));
    } else if let Some(left) = &left {
        say(&format!("stopped: {left}; every answer that came is kept"));
    }
    let sound = report.failed.is_empty() && report.failed_transcripts.is_empty() && report.partial.is_empty();
    if sound && report.ended.is_none() && left.is_none() { Exit::Done } else { Exit::Partly }
}

/// Says something beside the output, in lines that fit.
pub(crate) fn say(text: &str) {
    screen::stderr(&format!("{}\n", wrap_indented(text, screen::COLUMNS, 2)));
}

/// Holds others off for as long as it lives: two at once would pay for the same answers.
fn alone(settings: &Settings) -> Result<File, Failure> {
    let path = settings.store.value.with_extension("judging.lock");
    let cannot = |error: &io::Error| Failure::new(format!("cannot lock {}", path.display())).cause(words(error));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    }
    let mut options = private_file();
    options.create(true).truncate(false).write(true);
    let file = options.open(&path).map_err(|error| cannot(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::new("another hotwash is judging with this store")
            .hint("wait for it, or stop it: every answer that came is kept")),
        Err(TryLockError::Error(error)) => Err(cannot(&error)),
    }
}

/// The first interrupt lets what is under way come to its end, the second does not.
fn stop_on_interrupt(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    // That it cannot be set only means that an interrupt ends the program at once; what came until then is kept.
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say("\nstopping: waiting for what is under way, because it is paid for; once more to leave it");
    });
}
