//! One session before its judge: which questions are ready, what the answers came to, and when it is done.
//!
//! Nothing here asks, waits, pays or keeps. A case is told answers in any order, and the same answers always give the same
//! judgement, so that one can be worked out again from what was kept.

use super::Setup;
use crate::judges::{Failing, JudgeError, Stop};
use crate::stores::{Answered, Judgement, Judging, Row};
use hotwash_core::evidence::{Alarm, Evidence, Record};
use hotwash_core::outcomes::{Intent, Outcome};
use hotwash_core::prices::Picodollars;
use hotwash_core::prompts::{self, Prompt, Task};
use hotwash_core::rubric::Critic;
use hotwash_core::scores::{Flag, Grade, Unscored};
use hotwash_core::sessions::{SessionId, Timestamp};
use hotwash_core::verdicts::{IntentVerdict, OutcomeVerdict, QualityVerdict, Reading, combine, decide, second};
use std::sync::Arc;

/// A question to a model.
#[derive(Clone, Debug)]
pub struct Ask {
    /// A hash of the question and of who is asked: the same in every run.
    pub id: String,
    /// A name for people: `<session>.<task>[.<critic>][.<chunk>][.second][.again]`.
    pub name: String,
    /// What is asked.
    pub prompt: Arc<Prompt>,
    /// Who is asked.
    pub model: String,
    /// By which of the looks.
    pub look: usize,
    place: Place,
}

/// Where an answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Intent,
    Outcome,
    Quality { critic: usize, chunk: usize },
}

/// What came of a question.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// An answer.
    Reply { text: String, stop: Stop, cost: Option<Picodollars>, tokens: u64 },
    /// None.
    Failed(JudgeError),
}

impl Said {
    pub(super) fn of(answered: &Answered) -> Said {
        Said::Reply {
            text: answered.reply.as_str().to_owned(),
            stop: answered.stop,
            cost: answered.cost,
            tokens: answered.usage.map_or(0, |usage| usage.context() + usage.output),
        }
    }
}

/// How far a question is.
#[derive(Clone, Debug, Default)]
enum Slot<T> {
    #[default]
    Open,
    Asked,
    /// The first answer had something wrong with it, and the question was put again.
    AskedAgain(Reading<T>),
    Read(Reading<T>),
    Failed(Unscored, String),
}

impl<T> Slot<T> {
    fn is_settled(&self) -> bool {
        matches!(self, Slot::Read(_) | Slot::Failed(..))
    }

    fn verdict(&self) -> Option<&T> {
        match self {
            Slot::Read(reading) => reading.verdict.as_ref(),
            _ => None,
        }
    }

    fn flags(&self) -> &[Flag] {
        match self {
            Slot::Read(reading) => &reading.flags,
            _ => &[],
        }
    }

    /// Why there is no verdict.
    fn why(&self) -> Option<(Unscored, String)> {
        match self {
            Slot::Failed(why, reason) => Some((*why, reason.clone())),
            Slot::Read(reading) if reading.verdict.is_none() => Some(reading.why()),
            _ => None,
        }
    }

    /// Takes an answer. Says what was wrong with it, where it is worth asking once more.
    fn take(
        &mut self,
        reading: Reading<T>,
        join: impl FnOnce(Reading<T>, Reading<T>) -> Reading<T>,
    ) -> Option<Vec<hotwash_core::verdicts::Problem>> {
        match std::mem::take(self) {
            Slot::AskedAgain(first) => {
                *self = Slot::Read(join(first, reading));
                None
            }
            _ if reading.problems.is_empty() => {
                *self = Slot::Read(reading);
                None
            }
            _ => {
                let problems = reading.problems.clone();
                *self = Slot::AskedAgain(reading);
                Some(problems)
            }
        }
    }

    /// No answer came. What the first one was good for stays.
    fn fail(&mut self, why: Unscored, reason: &str) {
        *self = match std::mem::take(self) {
            Slot::AskedAgain(first) if first.verdict.is_some() => Slot::Read(first),
            _ => Slot::Failed(why, reason.to_owned()),
        };
    }
}

/// What one judge says.
#[derive(Clone, Debug, Default)]
struct Sight {
    outcome: Slot<OutcomeVerdict>,
    /// By critic, then by chunk.
    quality: Vec<Vec<Slot<QualityVerdict>>>,
}

/// One session before its judge.
pub struct Case<'s> {
    setup: &'s Setup<'s>,
    session: SessionId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    offline: Outcome,
    /// What each task is shown, where it is asked.
    requests: Option<Evidence>,
    whole: Option<Evidence>,
    chunks: Vec<Evidence>,
    intent: Slot<IntentVerdict>,
    sights: Vec<Sight>,
    again: Vec<Ask>,
    waits: bool,
    asked: u64,
    answered: u64,
    cost: Option<Picodollars>,
    tokens: u64,
}

impl<'s> Case<'s> {
    /// A session, rendered.
    pub(super) fn open(row: &Row, offline: Outcome, record: &Record, setup: &'s Setup<'s>) -> Case<'s> {
        let wants = |task| setup.tasks.contains(&task);
        let budget = setup.rubric.chunks.max_tokens;
        Case {
            session: row.session.id.clone(),
            from: row.session.from,
            to: row.session.to,
            offline,
            requests: wants(Task::Intent).then(|| record.requests()),
            whole: wants(Task::Outcome).then(|| record.whole(budget)),
            chunks: if wants(Task::Quality) { record.chunks(&setup.rubric.chunks) } else { Vec::new() },
            intent: Slot::Open,
            sights: vec![Sight::default()],
            again: Vec::new(),
            waits: false,
            asked: 0,
            answered: 0,
            cost: Some(Picodollars(0)),
            tokens: 0,
            setup,
        }
    }

    /// The session.
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let evidence = self.requests.iter().chain(&self.whole).chain(&self.chunks);
        // The text, and about as much again for the events as they are looked up in.
        evidence.map(|evidence| 2 * evidence.text().as_str().len()).sum()
    }

    /// It will not get further in this run, because an answer is not there yet.
    pub(super) fn wait(&mut self) {
        self.waits = true;
    }

    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    fn wants(&self, task: Task) -> bool {
        self.setup.tasks.contains(&task)
    }

    /// The critics: one who scores everything, or the rubric's.
    fn critics(&self) -> Vec<Option<&'s Critic>> {
        if self.setup.panel { self.setup.rubric.critics.iter().map(Some).collect() } else { vec![None] }
    }

    /// The questions that are ready and were not handed out before.
    pub(super) fn ready(&mut self) -> Vec<Ask> {
        let mut asks = std::mem::take(&mut self.again);
        if let Some(requests) = &self.requests
            && matches!(self.intent, Slot::Open)
        {
            asks.push(self.ask(0, Place::Intent, prompts::intent(requests)));
            self.intent = Slot::Asked;
        }
        for look in 0..self.sights.len() {
            self.ready_in(look, &mut asks);
        }
        if self.sights.len() < self.setup.looks.len() && self.is_settled() && !self.doubts().is_empty() {
            self.sights.push(Sight::default());
            self.ready_in(self.sights.len() - 1, &mut asks);
        }
        self.asked += asks.len() as u64;
        asks
    }

    fn ready_in(&mut self, look: usize, asks: &mut Vec<Ask>) {
        if let Some(whole) = &self.whole
            && matches!(self.sights[look].outcome, Slot::Open)
            && let Some(intent) = self.intended().filter(|intent| intent.intent != Intent::None)
        {
            let prompt = prompts::outcome(whole, &intent, self.setup.rules);
            asks.push(self.ask(look, Place::Outcome, prompt));
            self.sights[look].outcome = Slot::Asked;
        }
        if self.wants(Task::Quality) && self.sights[look].quality.is_empty() {
            for (critic, name) in self.critics().into_iter().enumerate() {
                for (chunk, evidence) in self.chunks.iter().enumerate() {
                    let prompt = prompts::quality(evidence, self.setup.rubric, name, self.setup.rules);
                    asks.push(self.ask(look, Place::Quality { critic, chunk }, prompt));
                }
            }
            let slots = vec![Slot::Asked; self.chunks.len()];
            self.sights[look].quality = vec![slots; self.critics().len()];
        }
    }

    /// Every question that can be foreseen before anything was answered. Of the outcome's, the criteria are not known yet:
    /// the usual ones stand in for them.
    pub(super) fn foreseen(&self) -> Vec<Ask> {
        let mut asks = Vec::new();
        if let Some(requests) = &self.requests {
            asks.push(self.ask(0, Place::Intent, prompts::intent(requests)));
        }
        if let Some(whole) = &self.whole {
            let intent = match self.offline.intended.intent {
                Intent::None => Intent::Feature,
                intent => intent,
            };
            let prompt = prompts::outcome(whole, &IntentVerdict::usual(intent), self.setup.rules);
            asks.push(self.ask(0, Place::Outcome, prompt));
        }
        for (critic, name) in self.critics().into_iter().enumerate() {
            for (chunk, evidence) in self.chunks.iter().enumerate() {
                let prompt = prompts::quality(evidence, self.setup.rubric, name, self.setup.rules);
                asks.push(self.ask(0, Place::Quality { critic, chunk }, prompt));
            }
        }
        asks
    }

    /// What the person wanted, once that is settled. Where the judge could not be understood, the facts' word for it, with
    /// the usual criteria.
    fn intended(&self) -> Option<IntentVerdict> {
        match self.intent.verdict() {
            Some(verdict) => Some(verdict.clone()),
            None if self.intent.is_settled() && !self.is_blocked() => {
                Some(IntentVerdict::usual(self.offline.intended.intent))
            }
            None => None,
        }
    }

    /// The judge did not answer on the intent. It may another time, so the outcome is not asked without it.
    fn is_blocked(&self) -> bool {
        matches!(self.intent, Slot::Failed(Unscored::JudgeFailed, _))
    }

    fn ask(&self, look: usize, place: Place, prompt: Prompt) -> Ask {
        let by = &self.setup.looks[look];
        let class = match place {
            Place::Quality { critic, .. } => self.critics().get(critic).copied().flatten().map(|critic| &critic.model),
            _ => None,
        };
        let model = by.model_for(prompt.task, class.map(String::as_str)).to_owned();
        let mut name = format!("{}.{}", self.session, prompt.task);
        if let Place::Quality { chunk, .. } = place {
            if !prompt.critic.is_empty() {
                name = format!("{name}.{}", prompt.critic);
            }
            if self.chunks.len() > 1 {
                name = format!("{name}.{}", chunk + 1);
            }
        }
        if look > 0 {
            name.push_str(".second");
        }
        Ask { id: id(&prompt, by.name, &model), name, prompt: Arc::new(prompt), model, look, place }
    }

    /// Hears what came of a question.
    pub(super) fn answer(&mut self, ask: &Ask, said: &Said) {
        let (text, stop) = match said {
            Said::Failed(error) => {
                let reason = format!("the judge did not answer: {error}");
                return self.fail(ask, why(error.kind), &reason);
            }
            Said::Reply { text, stop, cost, tokens } => {
                self.answered += 1;
                self.tokens += tokens;
                self.cost = self.cost.zip(*cost).map(|(sum, cost)| sum.plus(cost));
                (text, *stop)
            }
        };
        if stop == Stop::Refusal {
            return self.fail(ask, Unscored::Refused, "the model refused to judge it");
        }
        let rules = self.setup.rules;
        let wrong = match ask.place {
            Place::Intent => self.intent.take(IntentVerdict::read(text, rules), Reading::after_retry),
            Place::Outcome => {
                let (Some(intent), Some(whole)) = (self.intended(), &self.whole) else { return };
                let reading = OutcomeVerdict::read(text, whole, &intent, rules);
                self.sights[ask.look].outcome.take(reading, Reading::after_retry)
            }
            Place::Quality { critic, chunk } => {
                let name = self.critics().get(critic).copied().flatten();
                let reading = QualityVerdict::read(text, &self.chunks[chunk], self.setup.rubric, name, rules);
                self.sights[ask.look].quality[critic][chunk].take(reading, Reading::joined)
            }
        };
        if let Some(problems) = wrong {
            let prompt = ask.prompt.again(&problems, rules);
            let by = &self.setup.looks[ask.look];
            let id = id(&prompt, by.name, &ask.model);
            let name = format!("{}.again", ask.name);
            self.again.push(Ask { id, name, prompt: Arc::new(prompt), ..ask.clone() });
        }
    }

    fn fail(&mut self, ask: &Ask, why: Unscored, reason: &str) {
        match ask.place {
            Place::Intent => self.intent.fail(why, reason),
            Place::Outcome => self.sights[ask.look].outcome.fail(why, reason),
            Place::Quality { critic, chunk } => self.sights[ask.look].quality[critic][chunk].fail(why, reason),
        }
    }
}

/// What it comes to.
impl Case<'_> {
    /// Everything that was asked is answered or has failed.
    fn is_settled(&self) -> bool {
        let no_goal = self.intended().is_some_and(|intent| intent.intent == Intent::None);
        let outcome =
            |sight: &Sight| !self.wants(Task::Outcome) || no_goal || self.is_blocked() || sight.outcome.is_settled();
        let quality = |sight: &Sight| {
            !self.wants(Task::Quality)
                || !sight.quality.is_empty() && sight.quality.iter().flatten().all(Slot::is_settled)
        };
        (!self.wants(Task::Intent) || self.intent.is_settled())
            && self.sights.iter().all(|sight| outcome(sight) && quality(sight))
    }

    /// Nothing is left to ask.
    pub(super) fn is_done(&self) -> bool {
        let may_look_again = self.sights.len() < self.setup.looks.len();
        self.is_settled() && self.again.is_empty() && (!may_look_again || self.doubts().is_empty())
    }

    /// Why a second look is worth its price.
    fn doubts(&self) -> Vec<second::Escalation> {
        let (grade, outcome) = (self.grade(), self.outcome());
        let mut doubts = Vec::new();
        let (grade, outcome) = self.agreed(grade, outcome);
        if let (Some(outcome), Some(verdict)) = (&outcome, self.sights[0].outcome.verdict()) {
            doubts.extend(second::of_outcome(&self.offline, verdict, outcome));
        }
        doubts.extend(grade.iter().flat_map(second::of_grade));
        // What the first could not answer the second may.
        if self.sights[0].outcome.why().is_some()
            || self.sights[0].quality.iter().flatten().any(|slot| slot.why().is_some())
        {
            doubts.push(second::Escalation::LowConfidence);
        }
        doubts
    }

    /// The outcome, where the judge gave one.
    fn outcome(&self) -> Option<Outcome> {
        if !self.wants(Task::Outcome) {
            return None;
        }
        let intent = self.intended()?;
        let alarms = self.whole.as_ref()?.alarms();
        if intent.intent == Intent::None {
            return Some(decide::without_goal(&self.offline, &intent, alarms));
        }
        let look = |number: usize| {
            let verdict = self.sights.get(number)?.outcome.verdict()?;
            Some(second::Look { model: &self.setup.looks[number].model, verdict })
        };
        let thresholds = &self.setup.thresholds;
        match (look(0), look(1)) {
            (Some(first), Some(second)) => {
                Some(second::settle(&self.offline, &intent, first, second, alarms, thresholds))
            }
            (Some(only), None) | (None, Some(only)) => {
                Some(decide(&self.offline, &intent, only.verdict, alarms, thresholds))
            }
            (None, None) => None,
        }
    }

    /// The grade, where the judge gave one: the second look's, where that has one.
    fn grade(&self) -> Option<Grade> {
        self.sights.iter().rev().find_map(|sight| self.grade_of(sight))
    }

    fn grade_of(&self, sight: &Sight) -> Option<Grade> {
        let slots: Vec<&Slot<QualityVerdict>> = sight.quality.iter().flatten().collect();
        if slots.iter().all(|slot| slot.verdict().is_none()) {
            return None;
        }
        let critics = self.critics();
        let verdicts: Vec<QualityVerdict> = (0..self.chunks.len())
            .map(|chunk| {
                let of_critic = |(critic, slots): (Option<&Critic>, &Vec<Slot<QualityVerdict>>)| {
                    let slot = slots.get(chunk)?;
                    let (why, reason) = slot.why().unwrap_or((Unscored::JudgeFailed, "nobody answered".into()));
                    let nothing = || QualityVerdict::unscored(self.setup.rubric, critic, why, &reason);
                    Some(slot.verdict().cloned().unwrap_or_else(nothing))
                };
                QualityVerdict::join(critics.iter().copied().zip(&sight.quality).filter_map(of_critic))
            })
            .collect();
        let chunks: Vec<combine::Chunk<'_>> = self
            .chunks
            .iter()
            .zip(&verdicts)
            .map(|(evidence, verdict)| combine::Chunk {
                owned_tokens: evidence.part().owned_tokens,
                verdict,
                flags: &[],
            })
            .collect();
        let provenance = Arc::new(self.setup.provenance());
        let alarms: Vec<Alarm> = self.chunks.iter().flat_map(|chunk| chunk.alarms().iter().cloned()).collect();
        let mut grade = combine::grade(self.setup.rubric, &chunks, &alarms, &|_| Arc::clone(&provenance));
        for flag in slots.iter().flat_map(|slot| slot.flags()) {
            flag.raise(&mut grade.flags);
        }
        if slots.iter().any(|slot| slot.verdict().is_none()) || self.is_cut() {
            Flag::Partial.raise(&mut grade.flags);
        }
        Some(grade)
    }

    /// Grade and outcome, made to go together. Where the judge gave no outcome, the grade goes by what facts say.
    fn agreed(&self, grade: Option<Grade>, outcome: Option<Outcome>) -> (Option<Grade>, Option<Outcome>) {
        let Some(mut grade) = grade else { return (None, outcome) };
        let mut against = outcome.clone().unwrap_or_else(|| {
            let mut facts = self.offline.clone();
            if self.whole.iter().chain(&self.chunks).any(|evidence| !evidence.alarms().is_empty()) {
                Flag::InjectionSuspected.raise(&mut facts.flags);
            }
            facts
        });
        combine::agree(&mut grade, &mut against, self.setup.rubric);
        (Some(grade), outcome.map(|_| against))
    }

    /// Something had to be left out although it is not merely what was read.
    fn is_cut(&self) -> bool {
        self.coverage() < LITTLE
    }

    /// The share of the session that the judge saw.
    fn coverage(&self) -> f64 {
        let parts: Vec<f64> = self.chunks.iter().map(Evidence::coverage).collect();
        if parts.is_empty() {
            self.whole.as_ref().map_or(1.0, Evidence::coverage)
        } else {
            parts.iter().sum::<f64>() / parts.len() as f64
        }
    }

    /// What it comes to, or why to nothing.
    pub(super) fn conclude(self, at: Timestamp) -> Result<Judgement, String> {
        let (grade, outcome) = self.agreed(self.grade(), self.outcome());
        if grade.is_none() && outcome.is_none() {
            return Err(self.why().unwrap_or_else(|| "nothing was asked".into()));
        }
        let failed = self.why().is_some();
        let mut flags: Vec<Flag> = Vec::new();
        let of_grade = grade.iter().flat_map(|grade| &grade.flags);
        let of_outcome = outcome.iter().flat_map(|outcome| &outcome.flags);
        let of_answers = self.intent.flags().iter().chain(self.sights.iter().flat_map(|sight| sight.outcome.flags()));
        for flag in of_grade.chain(of_outcome).chain(of_answers) {
            flag.raise(&mut flags);
        }
        if failed {
            Flag::Partial.raise(&mut flags);
        }
        let judging = Judging {
            provenance: self.setup.provenance(),
            at,
            calls: self.answered,
            cost: self.cost,
            tokens: self.tokens,
            flags,
            coverage: self.coverage(),
            complete: !failed,
            intent: self.intent.verdict().cloned(),
            verdict: self.sights.iter().rev().find_map(|sight| sight.outcome.verdict()).cloned(),
        };
        let Case { session, from, to, .. } = self;
        Ok(Judgement { session, from, to, judging, grade, outcome })
    }

    /// The first reason for which something was not answered.
    fn why(&self) -> Option<String> {
        let intent = self.intent.why();
        let last = self.sights.iter().rev();
        let outcome = || last.clone().find_map(|sight| sight.outcome.why());
        let quality = || last.clone().next()?.quality.iter().flatten().find_map(Slot::why);
        intent.or_else(outcome).or_else(quality).map(|(_, reason)| reason)
    }
}

/// A session of which less than this was shown is judged in part.
const LITTLE: f64 = 0.5;

/// The hash of a question and of who is asked.
fn id(prompt: &Prompt, judge: &str, model: &str) -> String {
    super::hash(&[&prompt.hash(), judge, model])
}

/// What a failure of the judge makes of a dimension.
fn why(kind: Failing) -> Unscored {
    match kind {
        Failing::Garbled => Unscored::Unreadable,
        _ => Unscored::JudgeFailed,
    }
}
