//! Judges that answer while one waits: a few hands carry questions, one head keeps the store and the purse.

use super::carrier::Carrier;
use super::case::{Ask, Said};
use super::matter::Matter;
use super::purse::{Purse, Reserved};
use super::{Backend, Docket, Dockets, Report, Setup};
use crate::judges::{Failing, JudgeError, Reply};
use crate::stores::{Store, StoreError};
use hotwash_core::prompts::Prompt;
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

/// A question on its way.
struct Errand {
    ticket: u64,
    prompt: Arc<Prompt>,
    model: String,
    look: usize,
}

/// What came of an errand, by its ticket.
type Answer = (u64, Result<Reply, JudgeError>);

/// A question under way, as the head knows it.
struct UnderWay {
    /// Who asks. Several, where several sessions ask the very same.
    asking: Vec<(u64, Ask)>,
    reserved: Reserved,
}

pub(super) fn judge<'r>(
    store: &mut dyn Store,
    dockets: Dockets<'r>,
    purse: Purse,
    setup: &'r Setup<'r>,
) -> Result<Report, StoreError> {
    let Dockets { open, report } = dockets;
    let carrier = Carrier::new(store, purse, report, setup);
    let (errands, inbox) = mpsc::channel::<Errand>();
    let inbox = Mutex::new(inbox);
    let (replies, answers) = mpsc::channel();
    let halt = AtomicBool::new(false);
    // Backends are shared by the hands; the rest of the setup is not theirs.
    let backends: Vec<_> = setup
        .looks
        .iter()
        .filter_map(|look| match look.backend {
            Backend::Live(live) => Some(live),
            Backend::Deferred(_) => None,
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..setup.concurrency.max(1) {
            let (inbox, replies, backends, halt, stop) = (&inbox, replies.clone(), &backends, &halt, setup.stop);
            scope.spawn(move || {
                loop {
                    let errand = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(Errand { ticket, prompt, model, look }) = errand else { return };
                    if halt.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
                        let (kind, message) = (Failing::Stopped, "stopped before it was asked".into());
                        if replies.send((ticket, Err(JudgeError { kind, message, requests: 0 }))).is_err() {
                            return;
                        }
                        continue;
                    }
                    let ask = AssertUnwindSafe(|| backends[look].reply(&prompt, &model));
                    // Whatever happens, the head hears of it: it waits for every errand that it sent.
                    let answer = catch_unwind(ask).unwrap_or_else(|_| {
                        let (kind, message) = (Failing::Garbled, "the backend broke down, which is a bug".into());
                        Err(JudgeError { kind, message, requests: 1 })
                    });
                    if answer.as_ref().is_err_and(|error| error.kind.is_for_all()) {
                        // At once: the others have their next errand in hand.
                        halt.store(true, Ordering::Relaxed);
                    }
                    if replies.send((ticket, answer)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(replies);
        // Owned here: when the head is done, however it ends, the hands find nobody to work for.
        let head = Head {
            carrier,
            errands,
            answers,
            open: open.into_iter(),
            cases: HashMap::new(),
            queue: VecDeque::new(),
            under_way: HashMap::new(),
            came: Vec::new(),
            answered: HashSet::new(),
            count: 0,
            halt: &halt,
        };
        head.run()
    })
}

struct Head<'s, 'r> {
    carrier: Carrier<'s, 'r>,
    errands: mpsc::Sender<Errand>,
    answers: mpsc::Receiver<Answer>,
    open: std::vec::IntoIter<Docket<'r>>,
    cases: HashMap<u64, Matter<'r>>,
    queue: VecDeque<(u64, Ask)>,
    under_way: HashMap<u64, UnderWay>,
    /// Answers that nobody has looked at yet.
    came: Vec<Answer>,
    /// Questions that were answered in this run.
    answered: HashSet<String>,
    count: u64,
    /// Set where no other question will fare better: the hands drop what they were given.
    halt: &'s AtomicBool,
}

impl<'r> Head<'_, 'r> {
    fn run(mut self) -> Result<Report, StoreError> {
        match self.work() {
            Ok(()) => {}
            Err(error) => {
                // What is under way is paid for: it is waited for, and kept if the store takes it again.
                self.hear(true);
                let _ = self.carrier.keep();
                return Err(error);
            }
        }
        let Head { mut carrier, open, cases, .. } = self;
        let why = if carrier.setup.stopped() { "stopped before" } else { "not asked any more" };
        for _ in 0..cases.len() + open.len() {
            carrier.report.skip(why);
        }
        Ok(carrier.finish())
    }

    fn work(&mut self) -> Result<(), StoreError> {
        loop {
            self.hand_out()?;
            if self.under_way.is_empty() {
                return self.carrier.keep();
            }
            self.look_ahead()?;
            let said = self.hear(false);
            // What was paid for is safe before anything is made of it.
            self.carrier.keep_answers()?;
            // Nobody waits for what is made of it.
            self.hand_out_ready()?;
            for (number, ask, heard) in said {
                if let Some(case) = self.cases.get_mut(&number) {
                    case.answer(&ask, &heard);
                    self.go_on(number)?;
                }
            }
            (self.carrier.setup.progress)(&self.carrier.report);
        }
    }

    /// Makes ready what will be asked next, until an answer comes or there is enough for every hand.
    fn look_ahead(&mut self) -> Result<(), StoreError> {
        while self.came.is_empty() && self.queue.len() < self.carrier.setup.concurrency && !self.is_over() {
            let Some(docket) = self.open.next() else { return Ok(()) };
            self.take_up(docket)?;
            self.came.extend(self.answers.try_iter());
        }
        Ok(())
    }

    /// Waits for the next answer, or for all that are under way, and takes whatever else has come.
    fn hear(&mut self, all: bool) -> Vec<(u64, Ask, Said)> {
        let mut came = std::mem::take(&mut self.came);
        let wanted = if all { self.under_way.len() } else { self.under_way.len().min(1) };
        // Never for more than is under way: nobody else will come.
        while came.len() < wanted {
            let Ok(one) = self.answers.recv() else { break };
            came.push(one);
        }
        came.extend(self.answers.try_iter());
        let mut said = Vec::new();
        for (ticket, answer) in came {
            let Some(UnderWay { asking, reserved }) = self.under_way.remove(&ticket) else { continue };
            let Some((first, ask)) = asking.first() else { continue };
            let Some(session) = self.cases.get(first).map(|case| case.session().clone()) else { continue };
            let heard = match answer {
                Ok(reply) => {
                    self.answered.insert(ask.id.clone());
                    self.carrier.received(&session, ask, reply, reserved)
                }
                Err(error) => {
                    let heard = self.carrier.failed(&error, reserved);
                    if error.kind == Failing::Stopped {
                        // It was not asked, which says nothing about the session.
                        continue;
                    }
                    heard
                }
            };
            if matches!(heard, Said::Reply { .. }) {
                self.carrier.report.cached += asking.len() as u64 - 1;
            }
            said.extend(asking.into_iter().map(|(case, ask)| (case, ask, heard.clone())));
        }
        said
    }

    /// Gives the hands something to do, as long as there is something and nothing speaks against it.
    fn hand_out(&mut self) -> Result<(), StoreError> {
        loop {
            self.hand_out_ready()?;
            if !self.queue.is_empty() || self.is_busy() || self.is_over() {
                return Ok(());
            }
            let Some(docket) = self.open.next() else { return Ok(()) };
            self.take_up(docket)?;
        }
    }

    /// Gives the hands what is ready. None gets another errand before its last answer is kept, so that a kill costs no
    /// more than what is under way.
    fn hand_out_ready(&mut self) -> Result<(), StoreError> {
        while !self.is_busy() && !self.is_over() {
            let Some((number, ask)) = self.queue.pop_front() else { return Ok(()) };
            if self.was_answered(number, &ask)? {
                continue;
            }
            if let Some(same) = self.under_way.values_mut().find(|under_way| under_way.asking[0].1.id == ask.id) {
                same.asking.push((number, ask));
                continue;
            }
            let Some(reserved) = self.carrier.reserve(&ask) else {
                if !self.under_way.is_empty() {
                    // Much of what is set aside for others comes back with their answers.
                    self.queue.push_front((number, ask));
                    return Ok(());
                }
                self.carrier.report.ended = Some(super::over_the_cap(&ask, self.carrier.setup, &self.carrier.purse));
                return Ok(());
            };
            self.count += 1;
            let errand = Errand {
                ticket: self.count,
                prompt: Arc::clone(&ask.prompt),
                model: ask.model.clone(),
                look: ask.look,
            };
            self.under_way.insert(self.count, UnderWay { asking: vec![(number, ask)], reserved });
            if self.errands.send(errand).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.under_way.len() >= self.carrier.setup.concurrency.max(1)
    }

    /// Whether nothing more is to be asked, which the hands are told where it is so for good.
    fn is_over(&self) -> bool {
        let ended = self.carrier.report.ended.is_some();
        self.halt.fetch_or(ended, Ordering::Relaxed);
        ended || self.carrier.setup.stopped()
    }

    /// Opens what is next on the docket; what it wants to know is asked after everything that is ready.
    fn take_up(&mut self, docket: Docket<'r>) -> Result<(), StoreError> {
        let Some(case) = self.carrier.take_up(docket)? else { return Ok(()) };
        self.count += 1;
        self.cases.insert(self.count, case);
        let asks = self.next_of(self.count)?;
        self.queue.extend(asks);
        Ok(())
    }

    /// Goes on with a case that was told something; what else it wants to know comes first, so that it is soon done.
    fn go_on(&mut self, number: u64) -> Result<(), StoreError> {
        for ask in self.next_of(number)?.into_iter().rev() {
            self.queue.push_front(ask);
        }
        Ok(())
    }

    /// What a case wants to know next. One that wants nothing more is concluded.
    fn next_of(&mut self, number: u64) -> Result<Vec<(u64, Ask)>, StoreError> {
        let Some(mut case) = self.cases.remove(&number) else { return Ok(Vec::new()) };
        let asks = self.carrier.ready(&mut case)?;
        if case.is_done() {
            self.carrier.conclude(case);
        } else {
            self.cases.insert(number, case);
        }
        Ok(asks.into_iter().map(|ask| (number, ask)).collect())
    }

    /// Tells a case what somebody else was answered to the very same question since this one was made ready.
    fn was_answered(&mut self, number: u64, ask: &Ask) -> Result<bool, StoreError> {
        let Some(case) = self.cases.get_mut(&number).filter(|_| self.answered.contains(&ask.id)) else {
            return Ok(false);
        };
        let told = self.carrier.recall(case, ask)?;
        if told {
            self.go_on(number)?;
        }
        Ok(told)
    }
}
