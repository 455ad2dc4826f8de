//! Where other goals begin in a transcript: what is asked of its prompts, and what the answers decide.
//!
//! This comes before sessions are judged, because it says what the sessions are. Answers become decisions on prompts, by
//! their keys, and those are replayed whenever a transcript is read ([`crate::pipeline::recut`]).

use super::case::{Ask, Place, Said, Slot, cut_at, why};
use super::{Docket, Dockets, Report, Setup, Subject, is_going_on, without_path};
use crate::judges::Stop;
use crate::pipeline::Untold;
use crate::stores::{Query, Row, Store, StoreError, StoredPart, Topic};
use hotwash_core::evidence::{PromptEvidence, PromptRecorder};
use hotwash_core::prompts::{self, Task};
use hotwash_core::redaction::redact;
use hotwash_core::scores::Unscored;
use hotwash_core::sessions::{EventId, Key, Opening, Piece, SessionId, SessionKind, Timestamp};
use hotwash_core::verdicts::{Reading, TopicVerdict};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A transcript of which it is asked where other goals begin.
#[derive(Clone)]
pub struct Prompted {
    /// Where it is.
    pub path: String,
    /// The session that its first piece would be: answers are kept under it.
    pub session: SessionId,
    /// The lines of all its pieces.
    part: StoredPart,
    /// The prompts that this very judge was asked about before.
    known: Arc<BTreeSet<Key>>,
}

/// Picks the transcripts of sessions in which a prompt could be about something else, and nobody was asked.
pub fn pick<'r>(store: &dyn Store, rows: &[Row], setup: &'r Setup<'r>) -> Result<Dockets<'r>, StoreError> {
    let mut wanted: BTreeMap<(String, u32), Within<'_>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.session.kind == SessionKind::Main) {
        for part in store.parts(row)? {
            wanted.entry((part.path, part.version)).or_default();
        }
    }
    let mut report = Report { found: wanted.len() as u64, ..Report::default() };
    let mut open = Vec::new();
    if wanted.is_empty() {
        return Ok(Dockets { open, report });
    }
    // All that came of these transcripts, because all of their prompts are shown.
    let paths: BTreeSet<String> = wanted.keys().map(|(path, _)| path.clone()).collect();
    let query =
        Query { paths: Some(paths.into_iter().collect()), rubric_hash: setup.rubric.hash(), ..Query::default() };
    let all = store.sessions(&query)?;
    for row in &all {
        // A session that was joined has a piece in each of its transcripts.
        for part in store.parts(row)? {
            if let Some(within) = wanted.get_mut(&(part.path, part.version)) {
                within.rows.push(row);
                within.pieces.insert(part.id.0);
            }
        }
    }
    let known = Arc::new(known(store, setup)?);
    let holdings = store.holdings()?;
    let holdings: HashMap<(&str, u32), &[Piece]> =
        holdings.iter().map(|held| ((held.path.as_str(), held.version), held.pieces.as_slice())).collect();
    let now = (setup.now)();
    for ((path, version), Within { rows, pieces: covered }) in &wanted {
        let held = holdings.get(&(path.as_str(), *version)).copied();
        let is_newest = store.file(path)?.is_some_and(|file| file.version == *version);
        let has_substance = |row: &&Row| row.outcome.as_ref().is_some_and(|outcome| outcome.substance.passes());
        let Some(pieces) = held.filter(|pieces| !pieces.is_empty() && is_newest) else {
            report.skip("rewritten since");
            continue;
        };
        // What a model has cut too small can be told by no other unless it is asked.
        let is_cut = pieces.iter().any(|piece| matches!(piece.opened, Opening::Judged { .. }));
        if !rows.iter().all(|row| (setup.may_share)(row)) {
            report.skip("opted out");
        } else if !pieces.iter().all(|piece| covered.contains(&piece.id().0)) {
            // Of a piece that is in no session nobody knows whether it may be shown.
            report.skip("partly in no session");
        } else if !is_cut && !rows.iter().any(has_substance) {
            report.skip("too little happened");
        } else if rows.iter().any(|row| is_going_on(row, now)) {
            report.skip("still going on");
        } else {
            let mut part = StoredPart::of(path, *version, "", &pieces[0]);
            part.lines = pieces.iter().flat_map(|piece| piece.lines.iter().copied()).collect();
            let session = pieces[0].id();
            let prompted = Prompted { path: path.clone(), session, part, known: Arc::clone(&known) };
            match open_with(store, &prompted, setup)? {
                Err(Untold::KeptBack) => report.skip("opted out"),
                Err(untold) => report.fail(&without_path(&untold)),
                Ok((_, Few::NothingToAsk)) => report.skip("nothing to cut"),
                Ok((_, Few::AllKnown)) => report.before += 1,
                Ok((_, Few::Suspected)) => report.skip("speaks to its judge"),
                Ok((_, Few::Some)) => open.push(Docket { subject: Subject::Transcript(prompted), matter: None }),
            }
        }
    }
    Ok(Dockets { open, report })
}

/// What came of a transcript: sessions, and those of its pieces that are in them.
#[derive(Default)]
struct Within<'a> {
    rows: Vec<&'a Row>,
    pieces: BTreeSet<String>,
}

/// The prompts of which this very judge has said something.
fn known(store: &dyn Store, setup: &Setup<'_>) -> Result<BTreeSet<Key>, StoreError> {
    let Some(look) = setup.looks.first() else { return Ok(BTreeSet::new()) };
    store.topics_asked(look.name, look.model_for(Task::Topic, None), prompts::topic_version())
}

/// What there is to ask of a transcript.
enum Few {
    NothingToAsk,
    AllKnown,
    Suspected,
    Some,
}

fn open_with<'s>(
    store: &dyn Store,
    it: &Prompted,
    setup: &'s Setup<'s>,
) -> Result<Result<(TopicCase<'s>, Few), Untold>, StoreError> {
    let mut recorder = PromptRecorder::new(setup.rules);
    let parts = std::slice::from_ref(&it.part);
    if let Err(untold) = super::tell(store, parts, setup, &mut |event| recorder.event(event))? {
        return Ok(Err(untold));
    }
    let prompts = recorder.finish();
    let questions = prompts.questions(&|key| it.known.contains(&key));
    let is_suspected = |evidence: &PromptEvidence| !evidence.alarms().is_empty();
    let few = if questions.is_empty() {
        if prompts.questions(&|_| false).is_empty() { Few::NothingToAsk } else { Few::AllKnown }
    } else if questions.iter().all(is_suspected) {
        Few::Suspected
    } else {
        Few::Some
    };
    let questions = questions.into_iter().filter(|evidence| !is_suspected(evidence));
    Ok(Ok((TopicCase::new(it, questions.collect(), setup), few)))
}

/// Renders a transcript for its judge.
pub(super) fn open<'s>(
    store: &dyn Store,
    it: &Prompted,
    setup: &'s Setup<'s>,
) -> Result<Result<TopicCase<'s>, Untold>, StoreError> {
    Ok(open_with(store, it, setup)?.map(|(case, _)| case))
}

/// A question about some of its prompts.
struct Questioned {
    evidence: PromptEvidence,
    slot: Slot<TopicVerdict>,
    /// When it was answered.
    at: Option<Timestamp>,
}

/// One transcript before its judge. Where a prompt speaks to the judge nothing is asked, and words decide as before.
pub(super) struct TopicCase<'s> {
    setup: &'s Setup<'s>,
    path: String,
    session: SessionId,
    questions: Vec<Questioned>,
    again: Vec<Ask>,
    waits: bool,
}

impl<'s> TopicCase<'s> {
    fn new(it: &Prompted, questions: Vec<PromptEvidence>, setup: &'s Setup<'s>) -> TopicCase<'s> {
        let questioned = |evidence| Questioned { evidence, slot: Slot::Open, at: None };
        let questions = questions.into_iter().map(questioned).collect();
        TopicCase {
            setup,
            path: it.path.clone(),
            session: it.session.clone(),
            questions,
            again: Vec::new(),
            waits: false,
        }
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn bytes(&self) -> usize {
        self.questions.iter().map(|one| one.evidence.text().as_str().len()).sum()
    }

    pub(super) fn wait(&mut self) {
        self.waits = true;
    }

    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    fn ask(&self, number: usize, evidence: &PromptEvidence) -> Ask {
        let model = self.setup.looks[0].model_for(Task::Topic, None);
        let mut name = format!("{}.{}", self.session, Task::Topic);
        if let Some((first, _)) = evidence.asked().first() {
            // What is asked when it has grown is another question, and no other wording of this one.
            name = format!("{name}.{first}");
        }
        Ask::new(prompts::topic(evidence), name, model, 0, Place::Topics(number), self.setup)
    }

    pub(super) fn foreseen(&self) -> Vec<Ask> {
        self.questions.iter().enumerate().map(|(number, one)| self.ask(number, &one.evidence)).collect()
    }

    pub(super) fn ready(&mut self) -> Vec<Ask> {
        let mut asks = std::mem::take(&mut self.again);
        let fresh = self.questions.iter().enumerate().filter(|(_, one)| matches!(one.slot, Slot::Open));
        asks.extend(fresh.map(|(number, one)| self.ask(number, &one.evidence)));
        for Questioned { slot, .. } in &mut self.questions {
            if matches!(slot, Slot::Open) {
                *slot = Slot::Asked;
            }
        }
        asks
    }

    pub(super) fn answer(&mut self, ask: &Ask, said: &Said) {
        let Place::Topics(number) = ask.place else { return };
        let Some(Questioned { evidence, slot, at: answered }) = self.questions.get_mut(number) else { return };
        let problems = match said {
            Said::Failed(error) => {
                slot.fail(why(error.kind), &format!("the judge did not answer: {error}"));
                None
            }
            Said::Reply { stop: Stop::Refusal, .. } => {
                slot.fail(Unscored::Refused, "the model refused to judge it");
                None
            }
            Said::Reply { text, stop, at, .. } => {
                *answered = Some(*at);
                let asked: Vec<EventId> = evidence.asked().iter().map(|(id, _)| *id).collect();
                let cut = (*stop == Stop::MaxTokens).then_some(ask.prompt.max_output_tokens);
                let reading = cut_at(cut, TopicVerdict::read(text, &asked, self.setup.rules));
                slot.take(reading, Reading::after_retry)
            }
        };
        if let Some(problems) = problems {
            let ask = ask.again(&problems, self.setup);
            self.again.push(ask);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.again.is_empty() && self.questions.iter().all(|one| one.slot.is_settled())
    }

    /// What is decided of each prompt, and why nothing is of some. What could not be used is not taken for an answer: it is
    /// told again whenever it is asked for, at no cost.
    pub(super) fn conclude(self, at: Timestamp) -> (Vec<Topic>, Option<String>) {
        let look = &self.setup.looks[0];
        let mut topics = Vec::new();
        let mut failed = if self.questions.is_empty() { Some("nothing was asked".to_owned()) } else { None };
        for Questioned { evidence, slot, at: answered } in &self.questions {
            let Some(verdict) = slot.verdict() else {
                failed = failed.or_else(|| slot.why().map(|(_, why)| unusable(slot, &why)));
                continue;
            };
            for (event, prompt) in evidence.asked() {
                let ruling = verdict.ruling(*event);
                topics.push(Topic {
                    prompt: *prompt,
                    known: ruling.known,
                    sure: ruling.sure,
                    reason: redact(&ruling.reason, self.setup.rules),
                    judge: look.name.to_owned(),
                    model: look.model_for(Task::Topic, None).to_owned(),
                    prompt_hash: prompts::topic_version().to_owned(),
                    at: answered.unwrap_or(at),
                });
            }
        }
        (topics, failed)
    }
}

/// Why a question has no verdict, for counting: without the place in the answer.
fn unusable(slot: &Slot<TopicVerdict>, why: &str) -> String {
    match slot {
        Slot::Read(_) => {
            let why: Vec<&str> = why.split(['[', ']']).step_by(2).collect();
            format!("the answer could not be used: {}", why.concat())
        }
        _ => why.to_owned(),
    }
}
