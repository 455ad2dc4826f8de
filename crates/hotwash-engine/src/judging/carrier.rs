//! What live and deferred judging share: an answer is kept before anything is made of it, and a case that is done becomes
//! a judgement.

use super::case::{Ask, Said};
use super::matter::{Came, Matter};
use super::purse::{self, Purse, Reserved, Share, Spent};
use super::{Docket, Report, Setup, Subject, without_path};
use crate::judges::{Failing, JudgeError, Reply};
use crate::pipeline::Untold;
use crate::stores::{Answered, Judgement, Store, StoreError, Topic};
use hotwash_core::prices::Picodollars;
use hotwash_core::redaction::redact;
use hotwash_core::sessions::SessionId;

/// So many questions in a row that come to nothing are enough: those behind them will fare no better.
const IN_A_ROW: u32 = 10;

/// How many judgements are kept in one go.
const TOGETHER: usize = 64;

/// Keeps answers, tells them to cases and counts.
pub(super) struct Carrier<'s, 'w> {
    store: &'s mut dyn Store,
    pub(super) setup: &'w Setup<'w>,
    pub(super) purse: Purse,
    pub(super) report: Report,
    fresh: Vec<Answered>,
    judgements: Vec<Judgement>,
    topics: Vec<Topic>,
    /// Questions that came to nothing since the last answer.
    in_vain: u32,
}

impl<'s, 'w> Carrier<'s, 'w> {
    pub(super) fn new(store: &'s mut dyn Store, purse: Purse, report: Report, setup: &'w Setup<'w>) -> Carrier<'s, 'w> {
        let (fresh, judgements, topics) = (Vec::new(), Vec::new(), Vec::new());
        Carrier { store, setup, purse, report, fresh, judgements, topics, in_vain: 0 }
    }

    /// What is to be judged: as it was rendered for the estimate, or rendered now. None where it cannot be told.
    pub(super) fn take_up(&mut self, docket: Docket<'w>) -> Result<Option<Matter<'w>>, StoreError> {
        if let Some(matter) = docket.matter {
            return Ok(Some(matter));
        }
        let matter = docket.subject.open(self.store, self.setup)?;
        if let (Err(_), Subject::Transcript(prompted)) = (&matter, docket.subject) {
            self.report.told.insert(prompted.path);
        }
        Ok(matter
            .map_err(|untold| match untold {
                Untold::KeptBack => self.report.skip("opted out"),
                untold => self.report.fail(&without_path(&untold)),
            })
            .ok())
    }

    /// What it came to, with what is left in the purse.
    pub(super) fn finish(self) -> Report {
        Report { purse: Some(self.purse), ..self.report }
    }

    /// The questions of a case that are ready and were not answered before. Those that were are told to it at once.
    pub(super) fn ready(&mut self, case: &mut Matter<'_>) -> Result<Vec<Ask>, StoreError> {
        let mut open = Vec::new();
        loop {
            let asks = case.ready();
            if asks.is_empty() {
                return Ok(open);
            }
            for ask in asks {
                if !self.recall(case, &ask)? {
                    open.push(ask);
                }
            }
        }
    }

    /// Tells a case the answer to a question, if it was answered before.
    pub(super) fn recall(&mut self, case: &mut Matter<'_>, ask: &Ask) -> Result<bool, StoreError> {
        let Some(mut answered) = self.setup.answer(self.store, &ask.id)? else { return Ok(false) };
        self.report.cached += 1;
        if answered.session.0.is_empty() {
            // It came before anybody knew what it was about.
            answered.session = case.session().clone();
            answered.name.clone_from(&ask.name);
            ask.prompt.task.name().clone_into(&mut answered.task);
            self.setup.looks[ask.look].name.clone_into(&mut answered.judge);
            answered.model.clone_from(&ask.model);
            answered.prompt_hash.clone_from(&ask.prompt.template_hash);
            self.fresh.push(answered.clone());
        }
        case.answer(ask, &Said::of(&answered));
        Ok(true)
    }

    /// Sets money aside for a question.
    pub(super) fn reserve(&mut self, ask: &Ask) -> Option<Reserved> {
        let share = self.setup.looks[ask.look].share;
        self.purse.reserve(purse::at_most(self.setup.prices, &ask.model, &ask.prompt, share))
    }

    /// An answer came to a question of another run. It was paid for, so it is kept for whoever asks that next.
    pub(super) fn stray(&mut self, id: &str, reply: Reply) {
        let Reply { text, stop, model, usage, requests, .. } = reply;
        self.fresh.push(Answered {
            id: id.to_owned(),
            session: SessionId(String::new()),
            name: String::new(),
            task: String::new(),
            judge: String::new(),
            answered_by: redact(&model, self.setup.rules).into_string(),
            model: String::new(),
            prompt_hash: String::new(),
            at: (self.setup.now)(),
            reply: redact(&text, self.setup.rules),
            stop,
            usage,
            cost: usage
                .as_ref()
                .and_then(|usage| self.setup.prices.cost(&model, usage))
                .map(|cost| Share::Half.of(cost)),
            requests,
        });
    }

    /// An answer came. It is kept with the next [`Carrier::keep`], before the case hears of it.
    pub(super) fn received(&mut self, session: &SessionId, ask: &Ask, reply: Reply, reserved: Reserved) -> Said {
        let Reply { text, stop, model, usage, dollars, batch, requests } = reply;
        let look = &self.setup.looks[ask.look];
        let share = if batch { Share::Half } else { look.share };
        let priced = || usage.as_ref().and_then(|usage| self.setup.prices.cost(&ask.model, usage));
        let cost = match (share, dollars) {
            (Share::Nothing, _) => Some(Picodollars(0)),
            (_, Some(dollars)) => Some(Picodollars((dollars.max(0.0) * 1e12) as u64)),
            (share, None) => priced().map(|cost| share.of(cost)),
        };
        self.purse.settle(reserved, cost.map_or(Spent::Unknown, Spent::Known));
        let answered = Answered {
            id: ask.id.clone(),
            session: session.clone(),
            name: ask.name.clone(),
            task: ask.prompt.task.name().to_owned(),
            judge: look.name.to_owned(),
            model: ask.model.clone(),
            // Whatever a model says may hold what it read, and more: it goes through the same door.
            answered_by: redact(&model, self.setup.rules).into_string(),
            prompt_hash: ask.prompt.template_hash.clone(),
            at: (self.setup.now)(),
            reply: redact(&text, self.setup.rules),
            stop,
            usage,
            cost,
            requests,
        };
        self.in_vain = 0;
        self.report.calls += 1;
        self.report.requests += u64::from(requests);
        self.report.tokens += usage.map_or(0, |usage| usage.context() + usage.output);
        self.report.spent = self.purse.spent();
        self.report.unpriced = self.purse.unpriced();
        self.report.perhaps = self.purse.perhaps();
        let said = Said::of(&answered);
        self.fresh.push(answered);
        said
    }

    /// No answer came, and none will.
    pub(super) fn failed(&mut self, error: &JudgeError, reserved: Reserved) -> Said {
        // No word came back, but the question may have been read.
        let lost = matches!(error.kind, Failing::TimedOut | Failing::Broken | Failing::Garbled);
        self.purse.settle(reserved, if lost && error.requests > 0 { Spent::Perhaps } else { Spent::Nothing });
        self.report.perhaps = self.purse.perhaps();
        self.report.requests += u64::from(error.requests);
        // What is wrong with one question says nothing of the next.
        self.in_vain += u32::from(!matches!(error.kind, Failing::Stopped | Failing::TooLarge | Failing::Expired));
        if error.kind.is_for_all() {
            self.report.ended.get_or_insert_with(|| error.message.clone());
        } else if self.in_vain >= IN_A_ROW {
            self.report.ended.get_or_insert_with(|| format!("{IN_A_ROW} questions in a row came to nothing"));
        }
        Said::Failed(error.clone())
    }

    /// Keeps the answers that have come in. What they came to can be worked out again, so it may wait for company.
    pub(super) fn keep_answers(&mut self) -> Result<(), StoreError> {
        if self.judgements.len() >= TOGETHER { self.keep() } else { self.keep_fresh() }
    }

    fn keep_fresh(&mut self) -> Result<(), StoreError> {
        if !self.fresh.is_empty() {
            match self.setup.answers {
                Some(answers) => answers.borrow_mut().put_answers(&self.fresh)?,
                None => self.store.put_answers(&self.fresh)?,
            }
            self.fresh.clear();
        }
        Ok(())
    }

    /// Keeps all that has come in.
    pub(super) fn keep(&mut self) -> Result<(), StoreError> {
        self.keep_fresh()?;
        if !self.judgements.is_empty() {
            self.store.put_judgements(&self.judgements)?;
            self.judgements.clear();
        }
        if !self.topics.is_empty() {
            self.store.put_topics(&self.topics)?;
            self.topics.clear();
        }
        Ok(())
    }

    /// A case is done.
    pub(super) fn conclude(&mut self, case: Matter<'_>) {
        self.report.told.extend(case.path().map(str::to_owned));
        match case.conclude((self.setup.now)()) {
            Ok(Came::Topics(topics, failed)) => {
                match failed {
                    None => self.report.judged += 1,
                    Some(why) => self.report.fail(&why),
                }
                self.topics.extend(topics);
            }
            Ok(Came::Judgement(judgement)) => {
                self.report.judged += 1;
                if let Some(lack) = &judgement.judging.lack {
                    *self.report.partial.entry(lack.reason.clone()).or_default() += 1;
                }
                for flag in &judgement.judging.flags {
                    *self.report.flagged.entry(flag.name()).or_default() += 1;
                }
                self.judgements.push(*judgement);
            }
            Err(why) => self.report.fail(&why),
        }
        (self.setup.progress)(&self.report);
    }
}
