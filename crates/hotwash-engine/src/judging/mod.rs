//! Judging by models: which sessions, what is asked, what came of it, and for how much.
//!
//! A [`Case`] is one session before its judge and does no I/O, nor does the one in [`topics`], which is a transcript whose
//! prompts are told apart; `live` and `deferred` carry questions and answers of either. The store is written by the one
//! thread that hands out the work.

mod carrier;
mod case;
mod deferred;
mod live;
pub mod log;
mod matter;
pub mod purse;
pub mod topics;

pub use case::{Ask, Case};
pub use purse::Share;
pub use topics::Prompted;

use crate::archive::Archive;
use crate::judges::{Deferred, Live};
use crate::pipeline::{self, Folders, Untold};
use crate::stores::{Answered, Row, Store, StoreError, StoredPart};
use hotwash_core::evidence::{About, Record, Recorder, SubagentNote};
use hotwash_core::hash::of_texts;
use hotwash_core::outcomes;
use hotwash_core::prices::{Picodollars, Prices};
use hotwash_core::prompts::{self, Task};
use hotwash_core::redaction::{Rules, redact};
use hotwash_core::rubric::Rubric;
use hotwash_core::scores::Provenance;
use hotwash_core::sessions::{Event, SessionKind, Timestamp};
use hotwash_core::verdicts::Thresholds;
use matter::Matter;
use purse::Purse;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Changes with every change of what is made of the same answers.
pub const VERSION: &str = "1.0.0";
/// A session that may yet go on is left alone for so long, in milliseconds.
const QUIET_MS: i64 = 30 * 60 * 1000;
/// How much of what was rendered for the estimate is kept for the judging, in bytes.
const KEPT_BYTES: usize = 32 << 20;
/// What a session takes beside its text.
const CASE_BYTES: usize = 16 << 10;

/// Who is asked first, or second.
pub struct Look<'a> {
    /// The backend's name.
    pub name: &'a str,
    /// The backend.
    pub backend: Backend<'a>,
    /// The model for quality and outcome.
    pub model: String,
    /// The model for what is easier: topic and intent.
    pub small_model: String,
    /// The share of the list price that it takes.
    pub share: Share,
    /// What was sent before costs less: the beginning of a request that equals another's.
    pub caches: bool,
}

impl Look<'_> {
    /// The model for a task; for critics by the class that the rubric names.
    pub fn model_for(&self, task: Task, class: Option<&str>) -> &str {
        match (task, class) {
            (Task::Topic | Task::Intent, _) | (_, Some("haiku" | "small")) => &self.small_model,
            _ => &self.model,
        }
    }
}

/// A way to a model.
#[derive(Clone, Copy)]
pub enum Backend<'a> {
    /// It answers while one waits.
    Live(&'a dyn Live),
    /// It answers later.
    Deferred(&'a dyn Deferred),
}

/// What a run of judging works with.
pub struct Setup<'a> {
    /// What to take out of words.
    pub rules: &'a Rules,
    /// What to grade by.
    pub rubric: &'a Rubric,
    /// What tokens cost.
    pub prices: &'a Prices,
    /// Where transcripts are kept.
    pub archive: Option<&'a Archive>,
    /// Who is asked, and who is asked again where the first is not sure.
    pub looks: &'a [Look<'a>],
    /// What is asked.
    pub tasks: &'a [Task],
    /// The rubric's critics score apart.
    pub panel: bool,
    /// How many tokens of a session a judge is shown, if what decides is no more than that.
    pub budget: usize,
    /// How likely a goal must be reached to call it so.
    pub thresholds: Thresholds,
    /// What may be spent.
    pub cap: Option<Picodollars>,
    /// How many questions may be under way at once.
    pub concurrency: usize,
    /// Nothing more is to be asked.
    pub stop: &'a AtomicBool,
    /// What time it is.
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
    /// Whether anything of a session may reach a model.
    pub may_share: &'a dyn Fn(&Row) -> bool,
    /// Whether anything may that was done in a folder, given as it was recorded.
    pub may_share_from: &'a dyn Fn(&str) -> bool,
    /// Told how far it is.
    pub progress: &'a dyn Fn(&Report),
    /// Where answers are kept, where that is not with the sessions: what was paid for outlives sessions that are not kept.
    pub answers: Option<&'a RefCell<Box<dyn Store>>>,
    /// Empty at first: what [`Setup::provenance`] says, worked out once.
    pub origin: OnceLock<Arc<Provenance>>,
}

impl Setup<'_> {
    /// The answer to a question, if it was asked before.
    pub fn answer(&self, store: &dyn Store, id: &str) -> Result<Option<Answered>, StoreError> {
        match self.answers {
            Some(answers) => answers.borrow().answer(id),
            None => store.answer(id),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Where grades and outcomes of this run come from. Runs that could differ in anything but chance differ in this.
    pub fn provenance(&self) -> &Arc<Provenance> {
        self.origin.get_or_init(|| Arc::new(self.work_out_provenance()))
    }

    fn work_out_provenance(&self) -> Provenance {
        let mut models: Vec<&str> = Vec::new();
        let mut judges: Vec<&str> = Vec::new();
        for look in self.looks {
            judges.push(look.name);
            models.push(&look.model);
            if look.small_model != look.model && self.panel {
                models.push(&look.small_model);
            }
        }
        let panel = if self.panel { "panel" } else { "single" };
        let budget = self.budget.to_string();
        let hash = of_texts(&[&prompts::version(self.rubric), panel, &budget, &format!("{:?}", self.thresholds)]);
        Provenance {
            judge: judges.join(","),
            judge_version: VERSION.to_owned(),
            model: Some(models.join(",")),
            rubric: self.rubric.id(),
            rubric_hash: self.rubric.hash(),
            prompt_hash: Some(hash),
        }
    }
}

/// What came of a run of judging, or has so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Sessions that were looked at.
    pub found: u64,
    /// Sessions that were judged in this run.
    pub judged: u64,
    /// Sessions that this judge had judged before, as they are.
    pub before: u64,
    /// Sessions that were left out, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Sessions that could not be judged, by reason.
    pub failed: BTreeMap<String, u64>,
    /// Sessions of which something could not be judged, by reason.
    pub partial: BTreeMap<String, u64>,
    /// Questions that wait for an answer, by name.
    pub waiting: Vec<String>,
    /// Sessions that wait for one.
    pub waits: u64,
    /// Sessions whose verdict carries a warning, by its name.
    pub flagged: BTreeMap<&'static str, u64>,
    /// Questions that were answered in this run.
    pub calls: u64,
    /// Questions whose answers were there.
    pub cached: u64,
    /// Requests that were made, failed ones included.
    pub requests: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// What was spent.
    pub spent: Picodollars,
    /// What may have been spent beside that: on answers that broke off, or that have no price.
    pub perhaps: Picodollars,
    /// Answers whose price nobody knows.
    pub unpriced: u64,
    /// Why the run ended before its end, where it did.
    pub ended: Option<String>,
    /// Transcripts of which it could not be told where other goals begin, by reason.
    pub failed_transcripts: BTreeMap<String, u64>,
    /// Transcripts of which nothing is waited for any more, by their paths.
    pub told: BTreeSet<String>,
    /// What is left to be spent, for whoever goes on.
    purse: Option<Purse>,
}

impl Report {
    /// Sessions that are done, one way or another.
    pub fn done(&self) -> u64 {
        self.judged + self.before + self.waits + self.skipped.values().sum::<u64>() + self.failed.values().sum::<u64>()
    }

    fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    fn fail(&mut self, why: &str) {
        *self.failed.entry(why.to_owned()).or_default() += 1;
    }
}

/// What judging would take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Sessions that would be judged.
    pub sessions: u64,
    /// Transcripts whose prompts would be told apart.
    pub transcripts: u64,
    /// Questions that would be asked.
    pub calls: u64,
    /// Tokens that would be read.
    pub tokens: u64,
    /// What it would probably cost, where every model has a price.
    pub probably: Option<Picodollars>,
    /// What it may cost at most.
    pub at_most: Option<Picodollars>,
}

impl Estimate {
    /// What both would take.
    #[must_use]
    pub fn and(self, other: &Estimate) -> Estimate {
        let sum = |a: Option<Picodollars>, b: Option<Picodollars>| Some(a?.plus(b?));
        Estimate {
            sessions: self.sessions + other.sessions,
            transcripts: self.transcripts + other.transcripts,
            calls: self.calls + other.calls,
            tokens: self.tokens + other.tokens,
            probably: sum(self.probably, other.probably),
            at_most: sum(self.at_most, other.at_most),
        }
    }
}

/// What is to be judged, rendered or not yet.
pub struct Docket<'r> {
    /// What it is.
    pub subject: Subject<'r>,
    matter: Option<Matter<'r>>,
}

/// What can be judged.
#[derive(Clone)]
pub enum Subject<'r> {
    /// A session.
    Session(&'r Row),
    /// A transcript, of which it is asked where other goals begin.
    Transcript(Prompted),
}

impl Subject<'_> {
    fn open<'s>(&self, store: &dyn Store, setup: &'s Setup<'s>) -> Result<Result<Matter<'s>, Untold>, StoreError> {
        Ok(match self {
            Subject::Session(row) => open_case(store, row, setup)?.map(|case| Matter::Session(Box::new(case))),
            Subject::Transcript(it) => topics::open(store, it, setup)?.map(|case| Matter::Topics(Box::new(case))),
        })
    }
}

/// What is to be judged, with why the rest is not.
pub struct Dockets<'r> {
    /// Those that are.
    pub open: Vec<Docket<'r>>,
    /// What is known of the others.
    pub report: Report,
}

/// Picks the sessions that are to be judged.
pub fn pick<'r>(store: &dyn Store, rows: &'r [Row], setup: &'r Setup<'r>) -> Result<Dockets<'r>, StoreError> {
    let before = store.judged_by(setup.provenance())?;
    let now = (setup.now)();
    let mut report = Report { found: rows.len() as u64, ..Report::default() };
    let mut open = Vec::new();
    for row in rows {
        let session = &row.session;
        let judged = before.get(&session.id).is_some_and(|judgement| {
            let has = |task| match task {
                Task::Outcome => judgement.outcome.is_some(),
                Task::Quality => judgement.grade.is_some(),
                Task::Topic | Task::Intent => true,
            };
            judgement.is_of(session.from, session.to)
                && judgement.judging.complete
                && setup.tasks.iter().all(|task| has(*task))
        });
        if !(setup.may_share)(row) {
            report.skip("opted out");
        } else if session.kind != SessionKind::Main {
            report.skip("subagent");
        } else if !row.outcome.as_ref().is_some_and(|outcome| outcome.substance.passes()) {
            report.skip("too little happened");
        } else if is_going_on(row, now) {
            report.skip("still going on");
        } else if judged {
            report.before += 1;
        } else {
            open.push(Docket { subject: Subject::Session(row), matter: None });
        }
    }
    Ok(Dockets { open, report })
}

/// Whether a session may yet go on.
fn is_going_on(row: &Row, now: Timestamp) -> bool {
    let session = &row.session;
    session.to.is_some_and(|to| session.open && now.0.saturating_sub(to.0) < QUIET_MS)
}

impl Dockets<'_> {
    /// Goes on after topics were told apart, with what that cost. Sessions that have a piece in a transcript whose answer is
    /// waited for are put off: they may be cut elsewhere.
    pub fn goes_on_after(
        &mut self,
        topics: &Report,
        asked: &BTreeSet<String>,
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let report = &mut self.report;
        report.calls += topics.calls;
        report.cached += topics.cached;
        report.requests += topics.requests;
        report.tokens += topics.tokens;
        report.spent = report.spent.plus(topics.spent);
        report.perhaps = report.perhaps.plus(topics.perhaps);
        report.unpriced += topics.unpriced;
        report.waiting.extend_from_slice(&topics.waiting);
        report.ended.clone_from(&topics.ended);
        report.failed_transcripts.clone_from(&topics.failed);
        report.purse.clone_from(&topics.purse);
        if topics.waits == 0 {
            return Ok(());
        }
        for docket in std::mem::take(&mut self.open) {
            let waits = |part: &StoredPart| asked.contains(&part.path) && !topics.told.contains(&part.path);
            match docket.subject {
                Subject::Session(row) if store.parts(row)?.iter().any(waits) => self.report.waits += 1,
                _ => self.open.push(docket),
            }
        }
        Ok(())
    }
}

/// What judging would take. Sessions are rendered for it; as many as fit into memory stay so.
pub fn estimate<'r>(
    store: &dyn Store,
    dockets: &mut Dockets<'r>,
    setup: &'r Setup<'r>,
) -> Result<Estimate, StoreError> {
    let mut estimate =
        Estimate { probably: Some(Picodollars(0)), at_most: Some(Picodollars(0)), ..Estimate::default() };
    let add = |sum: Option<Picodollars>, cost: Option<Picodollars>| Some(sum?.plus(cost?));
    let mut kept = 0;
    let mut sent = BTreeSet::new();
    for docket in &mut dockets.open {
        let matter = match docket.matter.take() {
            Some(matter) => matter,
            None => match docket.subject.open(store, setup)? {
                Ok(matter) => matter,
                Err(_) => continue,
            },
        };
        let mut asked = false;
        for ask in matter.foreseen() {
            if setup.answer(store, &ask.id)?.is_some() {
                continue;
            }
            let look = &setup.looks[ask.look];
            asked = true;
            estimate.calls += 1;
            estimate.tokens += ask.prompt.tokens() as u64;
            // Only the rules come first in a request, and a schema belongs to them: both must be the same.
            let prefix = match (look.caches, sent.insert((ask.model.clone(), ask.prompt.template_hash.clone()))) {
                (false, _) => purse::Prefix::Plain,
                (true, true) => purse::Prefix::Written,
                (true, false) => purse::Prefix::Read,
            };
            let cost = purse::probably(setup.prices, &ask.model, &ask.prompt, look.share, prefix);
            estimate.probably = add(estimate.probably, cost);
            estimate.at_most = add(estimate.at_most, purse::at_most(setup.prices, &ask.model, &ask.prompt, look.share));
        }
        match docket.subject {
            Subject::Session(_) => estimate.sessions += u64::from(asked),
            Subject::Transcript(_) => estimate.transcripts += u64::from(asked),
        }
        kept += matter.bytes() + CASE_BYTES;
        if kept <= KEPT_BYTES {
            docket.matter = Some(matter);
        }
    }
    Ok(estimate)
}

/// Judges. Whatever happens on the way, every answer that came is kept.
pub fn judge<'r>(store: &mut dyn Store, mut dockets: Dockets<'r>, setup: &'r Setup<'r>) -> Result<Report, StoreError> {
    let purse = dockets.report.purse.take().unwrap_or_else(|| Purse::new(setup.cap));
    let is_deferred = |look: &Look<'_>| matches!(look.backend, Backend::Deferred(_));
    if setup.looks.iter().any(is_deferred) {
        deferred::judge(store, dockets, purse, setup)
    } else {
        live::judge(store, dockets, purse, setup)
    }
}

/// Every question as far as it can be foreseen, for those who want to look before anything is sent.
pub fn questions(
    store: &dyn Store,
    subject: &Subject<'_>,
    setup: &Setup<'_>,
) -> Result<Result<Vec<Ask>, Untold>, StoreError> {
    Ok(subject.open(store, setup)?.map(|matter| matter.foreseen()))
}

/// Renders a session for its judge.
fn open_case<'s>(store: &dyn Store, row: &Row, setup: &'s Setup<'s>) -> Result<Result<Case<'s>, Untold>, StoreError> {
    let record = match record(store, row, setup)? {
        Ok(record) => record,
        Err(untold) => return Ok(Err(untold)),
    };
    // What facts say, whatever a model has said before.
    let offline = outcomes::offline(row.session.facts.get());
    Ok(Ok(Case::open(row, offline, &record, setup)))
}

fn record(store: &dyn Store, row: &Row, setup: &Setup<'_>) -> Result<Result<Record, Untold>, StoreError> {
    let mut recorder = Recorder::new(setup.rules);
    if let Err(untold) = tell(store, &store.parts(row)?, setup, &mut |event| recorder.event(event))? {
        return Ok(Err(untold));
    }
    let note = |child: Row| {
        let kind = redact("subagent", setup.rules);
        SubagentNote { title: child.session.title, kind, summary: child.session.summary }
    };
    let subagents = if row.with_subagents.subagents > 0 {
        store.subagents(row, &setup.rubric.hash())?.into_iter().map(note).collect()
    } else {
        Vec::new()
    };
    Ok(Ok(recorder.finish(About { facts: row.session.facts.get(), subagents })))
}

/// Tells the events of pieces, unless one of them happened where nothing may leave: a session is one project's by where
/// most of it happened, and may have been elsewhere, too.
fn tell(
    store: &dyn Store,
    parts: &[StoredPart],
    setup: &Setup<'_>,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<Result<(), Untold>, StoreError> {
    let mut folders = Folders::default();
    let told = pipeline::tell(store, setup.archive, parts, &mut |event| {
        folders.see(event);
        tell(event);
    });
    match told {
        Err(Untold::Store(error)) => Err(error),
        Ok(()) if !folders.all(setup.may_share_from) => Ok(Err(Untold::KeptBack)),
        told => Ok(told),
    }
}

/// Why a question is not asked any more: it might cost more than is left.
fn over_the_cap(ask: &Ask, setup: &Setup<'_>, purse: &Purse) -> String {
    let most = purse::at_most(setup.prices, &ask.model, &ask.prompt, setup.looks[ask.look].share);
    match (setup.cap, most, purse.left()) {
        (Some(cap), Some(most), Some(left)) => {
            let [cap, most, left] = [cap, most, left].map(Picodollars::dollars);
            format!("the next question may cost ${most:.4}, more than the ${left:.4} that is left of ${cap}")
        }
        _ => format!("nobody knows what {} costs, so no cap can be kept", ask.model),
    }
}

/// Why a session cannot be told, for counting: without the name of its file.
fn without_path(untold: &Untold) -> String {
    match untold {
        Untold::Store(error) => error.to_string(),
        Untold::Gone(_) => "the transcript is gone, and the archive does not have it".into(),
        Untold::Unreadable(..) => "the transcript cannot be read".into(),
        Untold::KeptBack => untold.to_string(),
    }
}
