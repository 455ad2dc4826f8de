//! One session before its judge: which questions are ready and what was answered. What it comes to is in `conclude`.
//!
//! Nothing here asks, waits, pays or keeps. A case is told answers in any order, and the same answers always give the same
//! judgement, so that one can be worked out again from what was kept.

mod conclude;

use super::Setup;
use crate::judges::{Failing, JudgeError, Stop};
use crate::stores::{Answered, Row};
use hotwash_core::evidence::{Evidence, Record};
use hotwash_core::hash::of_texts;
use hotwash_core::outcomes::Outcome;
use hotwash_core::prices::Picodollars;
use hotwash_core::prompts::{self, Prompt, Task};
use hotwash_core::rubric::{Critic, Rubric};
use hotwash_core::scores::{Flag, Unscored};
use hotwash_core::sessions::{SessionId, Timestamp};
use hotwash_core::verdicts::{IntentVerdict, OutcomeVerdict, Problem, QualityVerdict, Reading, Review};
use std::sync::Arc;

/// A question to a model.
#[derive(Clone, Debug)]
pub struct Ask {
    /// A hash of the question and of who is asked: the same in every run.
    pub id: String,
    /// A name for people: `<session>.<task>[.<first prompt>][.<critic>][.<chunk>][.second][.again]`.
    pub name: String,
    /// What is asked.
    pub prompt: Arc<Prompt>,
    /// Who is asked.
    pub model: String,
    /// By which of the looks.
    pub look: usize,
    pub(super) place: Place,
}

impl Ask {
    pub(super) fn new(prompt: Prompt, name: String, model: &str, look: usize, place: Place, setup: &Setup<'_>) -> Ask {
        let id = id(&prompt, setup.looks[look].name, model);
        Ask { id, name, prompt: Arc::new(prompt), model: model.to_owned(), look, place }
    }

    /// The same once more, with what was wrong with the answer.
    pub(super) fn again(&self, problems: &[Problem], setup: &Setup<'_>) -> Ask {
        let prompt = self.prompt.again(problems, setup.rules);
        Ask::new(prompt, format!("{}.again", self.name), &self.model, self.look, self.place, setup)
    }
}

/// Where an answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To one of the questions about a transcript.
    Topics(usize),
    Intent,
    Outcome,
    Quality {
        critic: usize,
        chunk: usize,
    },
}

/// What came of a question.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// An answer.
    Reply { text: String, stop: Stop, cost: Option<Picodollars>, tokens: u64, at: Timestamp },
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
            at: answered.at,
        }
    }
}

/// How far a question is.
#[derive(Clone, Debug, Default)]
pub(super) enum Slot<T> {
    #[default]
    Open,
    Asked,
    /// The first answer had something wrong with it, and the question was put again.
    AskedAgain(Reading<T>),
    Read(Reading<T>),
    Failed(Unscored, String),
}

impl<T> Slot<T> {
    pub(super) fn is_settled(&self) -> bool {
        matches!(self, Slot::Read(_) | Slot::Failed(..))
    }

    pub(super) fn verdict(&self) -> Option<&T> {
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
    pub(super) fn why(&self) -> Option<(Unscored, String)> {
        match self {
            Slot::Failed(why, reason) => Some((*why, reason.clone())),
            Slot::Read(reading) if reading.verdict.is_none() => Some(reading.why()),
            _ => None,
        }
    }

    /// Takes an answer. Says what was wrong with it, where it is worth asking once more.
    pub(super) fn take(
        &mut self,
        reading: Reading<T>,
        join: impl FnOnce(Reading<T>, Reading<T>) -> Reading<T>,
    ) -> Option<Vec<Problem>> {
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
    pub(super) fn fail(&mut self, why: Unscored, reason: &str) {
        *self = match std::mem::take(self) {
            Slot::AskedAgain(first) if first.verdict.is_some() => Slot::Read(first),
            _ => Slot::Failed(why, reason.to_owned()),
        };
    }
}

/// What one judge says.
#[derive(Clone, Debug, Default)]
struct Sight {
    outcome: Slot<Review>,
    /// By critic, then by chunk; none where it is asked with the outcome.
    quality: Vec<Vec<Slot<QualityVerdict>>>,
}

impl Sight {
    fn verdict(&self) -> Option<&OutcomeVerdict> {
        self.outcome.verdict()?.outcome.as_ref()
    }
}

/// What is shown of a session to those who judge it.
struct Seen {
    whole: Evidence,
    /// The same in chunks, where what decides is too much for one look.
    chunks: Vec<Evidence>,
}

impl Seen {
    fn of(record: &Record, setup: &Setup<'_>) -> Seen {
        let rules = &setup.rubric.chunks;
        let in_chunks = setup.tasks.contains(&Task::Quality) && record.decides_by() > rules.max_tokens;
        Seen { whole: record.whole(setup.budget), chunks: if in_chunks { record.chunks(rules) } else { Vec::new() } }
    }

    fn all(&self) -> impl Iterator<Item = &Evidence> {
        std::iter::once(&self.whole).chain(&self.chunks)
    }

    /// What is scored.
    fn parts(&self) -> &[Evidence] {
        if self.chunks.is_empty() { std::slice::from_ref(&self.whole) } else { &self.chunks }
    }
}

/// One session before its judge.
pub struct Case<'s> {
    setup: &'s Setup<'s>,
    session: SessionId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    offline: Outcome,
    /// The person's words, where only the intent is asked: otherwise it is asked with the outcome.
    requests: Option<Evidence>,
    seen: Seen,
    /// What the second one to look is shown, where that is not the same: without what speaks to its judge.
    seen_again: Option<Seen>,
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
        let censored = if setup.looks.len() > 1 { record.without_alarms() } else { None };
        Case {
            session: row.session.id.clone(),
            from: row.session.from,
            to: row.session.to,
            offline,
            requests: (wants(Task::Intent) && !wants(Task::Outcome)).then(|| record.requests()),
            seen: Seen::of(record, setup),
            seen_again: censored.map(|record| Seen::of(&record, setup)),
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
        let evidence = self.requests.iter().chain(self.seen.all()).chain(self.seen_again.iter().flat_map(Seen::all));
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

    /// What those who look first, or second, are shown.
    fn seen(&self, look: usize) -> &Seen {
        self.seen_again.as_ref().filter(|_| look > 0).unwrap_or(&self.seen)
    }

    fn wants(&self, task: Task) -> bool {
        self.setup.tasks.contains(&task)
    }

    /// The critics: one who scores everything, or the rubric's who score anything that is asked.
    fn critics(&self) -> Vec<Option<&'s Critic>> {
        if !self.setup.panel {
            return vec![None];
        }
        let asked = |critic: &&Critic| critic.dimensions.iter().any(|name| *name != self.setup.rubric.goal);
        self.setup.rubric.critics.iter().filter(asked).map(Some).collect()
    }

    /// The rubric, where its dimensions are scored with the outcome, in one answer.
    fn scored_with_outcome(&self) -> Option<&'s Rubric> {
        let one_look = self.seen.chunks.is_empty() && !self.setup.panel;
        (one_look && self.wants(Task::Outcome) && self.wants(Task::Quality)).then_some(self.setup.rubric)
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
        let new = asks.len();
        if matches!(self.sights[look].outcome, Slot::Open) && self.sights[look].quality.is_empty() {
            asks.extend(self.all_asks(look));
        }
        for ask in asks.iter().skip(new) {
            match ask.place {
                Place::Outcome => self.sights[look].outcome = Slot::Asked,
                Place::Quality { .. } if self.sights[look].quality.is_empty() => {
                    let slots = vec![Slot::Asked; self.seen(look).parts().len()];
                    self.sights[look].quality = vec![slots; self.critics().len()];
                }
                _ => {}
            }
        }
    }

    /// Everything that one look is asked about outcome and quality.
    fn all_asks(&self, look: usize) -> Vec<Ask> {
        let Setup { rubric, rules, .. } = self.setup;
        let mut asks = Vec::new();
        let with = self.scored_with_outcome();
        if self.wants(Task::Outcome) {
            let prompt = prompts::outcome(&self.seen(look).whole, with, rules);
            asks.push(self.ask(look, Place::Outcome, prompt));
        }
        if self.wants(Task::Quality) && with.is_none() {
            for (critic, name) in self.critics().into_iter().enumerate() {
                for (chunk, evidence) in self.seen(look).parts().iter().enumerate() {
                    let prompt = prompts::quality(evidence, rubric, name, rules);
                    asks.push(self.ask(look, Place::Quality { critic, chunk }, prompt));
                }
            }
        }
        asks
    }

    /// Every question that can be foreseen before anything was answered.
    pub(super) fn foreseen(&self) -> Vec<Ask> {
        let intent = self.requests.iter().map(|requests| self.ask(0, Place::Intent, prompts::intent(requests)));
        intent.chain(self.all_asks(0)).collect()
    }

    /// What the person wanted, by the last one who said so; by the facts where no judge could be understood.
    fn intended(&self) -> IntentVerdict {
        let by_judges = self.sights.iter().rev().find_map(|sight| sight.outcome.verdict()?.intent.as_ref());
        let said = by_judges.or_else(|| self.intent.verdict());
        said.cloned().unwrap_or_else(|| IntentVerdict::usual(self.offline.intended.intent))
    }

    fn ask(&self, look: usize, place: Place, prompt: Prompt) -> Ask {
        let by = &self.setup.looks[look];
        let class = match place {
            Place::Quality { critic, .. } => self.critics().get(critic).copied().flatten().map(|critic| &critic.model),
            _ => None,
        };
        let model = by.model_for(prompt.task, class.map(String::as_str));
        let mut name = format!("{}.{}", self.session, prompt.task);
        if let Place::Quality { chunk, .. } = place {
            if !prompt.critic.is_empty() {
                name = format!("{name}.{}", prompt.critic);
            }
            if self.seen(look).parts().len() > 1 {
                name = format!("{name}.{}", chunk + 1);
            }
        }
        if look > 0 {
            name.push_str(".second");
        }
        Ask::new(prompt, name, model, look, place, self.setup)
    }

    /// Hears what came of a question.
    pub(super) fn answer(&mut self, ask: &Ask, said: &Said) {
        let (text, stop) = match said {
            Said::Failed(error) => {
                let reason = format!("the judge did not answer: {error}");
                return self.fail(ask, why(error.kind), &reason);
            }
            Said::Reply { text, stop, cost, tokens, .. } => {
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
        let cut = (stop == Stop::MaxTokens).then_some(ask.prompt.max_output_tokens);
        let wrong = match ask.place {
            Place::Topics(_) => return,
            Place::Intent => self.intent.take(cut_at(cut, IntentVerdict::read(text, rules)), Reading::after_retry),
            Place::Outcome => {
                let (with, whole) = (self.scored_with_outcome(), &self.seen(ask.look).whole);
                let reading = cut_at(cut, Review::read(text, whole, with, rules));
                self.sights[ask.look].outcome.take(reading, Reading::completed)
            }
            Place::Quality { critic, chunk } => {
                let name = self.critics().get(critic).copied().flatten();
                let reading =
                    QualityVerdict::read(text, &self.seen(ask.look).parts()[chunk], self.setup.rubric, name, rules);
                let reading = cut_at(cut, reading);
                self.sights[ask.look].quality[critic][chunk].take(reading, Reading::joined)
            }
        };
        if let Some(problems) = wrong {
            self.again.push(ask.again(&problems, self.setup));
        }
    }

    fn fail(&mut self, ask: &Ask, why: Unscored, reason: &str) {
        match ask.place {
            Place::Topics(_) => {}
            Place::Intent => self.intent.fail(why, reason),
            Place::Outcome => self.sights[ask.look].outcome.fail(why, reason),
            Place::Quality { critic, chunk } => self.sights[ask.look].quality[critic][chunk].fail(why, reason),
        }
    }
}

/// What was read off a reply, which may have been cut off at so many tokens.
pub(super) fn cut_at<T>(most_tokens: Option<u32>, reading: Reading<T>) -> Reading<T> {
    match most_tokens {
        Some(most_tokens) => reading.of_cut_reply(most_tokens),
        None => reading,
    }
}

/// The hash of a question and of who is asked.
fn id(prompt: &Prompt, judge: &str, model: &str) -> String {
    of_texts(&[&prompt.hash(), judge, model])
}

/// What a failure of the judge makes of a dimension.
pub(super) fn why(kind: Failing) -> Unscored {
    match kind {
        Failing::Garbled => Unscored::Unreadable,
        _ => Unscored::JudgeFailed,
    }
}
