//! Judges that answer later: rounds of questions over many sessions, since one task may need another's answer.

use super::carrier::Carrier;
use super::case::{Ask, Said};
use super::matter::Matter;
use super::purse::{Purse, Reserved, Spent};
use super::{Backend, Dockets, Report, Setup};
use crate::judges::{Answer, JudgeError, Question};
use crate::stores::{Store, StoreError};
use std::collections::HashMap;

/// How much evidence is in memory at once.
const GROUP_BYTES: usize = 96 << 20;

pub(super) fn judge<'r>(
    store: &mut dyn Store,
    dockets: Dockets<'r>,
    purse: Purse,
    setup: &'r Setup<'r>,
) -> Result<Report, StoreError> {
    let Dockets { open, report } = dockets;
    let mut carrier = Carrier::new(store, purse, report, setup);
    let mut open = open.into_iter();
    while open.len() > 0 && !setup.stopped() && carrier.report.ended.is_none() {
        let (mut cases, mut bytes) = (Vec::new(), 0);
        while bytes < GROUP_BYTES
            && let Some(docket) = open.next()
        {
            if let Some(case) = carrier.take_up(docket)? {
                bytes += case.bytes();
                cases.push(Some(case));
            }
        }
        let mut put_off = Vec::new();
        while round(&mut carrier, &mut cases, &mut put_off)? && !setup.stopped() && carrier.report.ended.is_none() {}
        if let Some((_, ask)) = put_off.first() {
            let why = super::over_the_cap(ask, setup, &carrier.purse);
            carrier.report.ended.get_or_insert(why);
        }
        for mut case in cases.into_iter().flatten() {
            // What was answered last may have been all that was missing; nothing more is asked.
            carrier.ready(&mut case)?;
            if case.is_done() {
                carrier.conclude(case);
                continue;
            }
            // What waits is waited for; what the end of the run cut off is not.
            if case.waits() {
                carrier.report.waits += 1;
            } else {
                carrier.report.skip("not asked any more");
            }
        }
        carrier.keep()?;
    }
    for _ in open {
        carrier.report.skip("not asked any more");
    }
    carrier.report.waiting.sort();
    Ok(carrier.finish())
}

/// A question of a round.
struct Asked {
    /// Who asks. Several, where several sessions ask the very same.
    asking: Vec<(usize, Ask)>,
    /// What is set aside for it, until something is known of it.
    reserved: Option<Reserved>,
}

/// Asks everything that is ready, as far as the cap lets it; what it does not is put off, because much of what is set aside
/// for the others comes back with their answers. Says whether something was answered, so that another round may get further.
fn round(
    carrier: &mut Carrier<'_, '_>,
    cases: &mut [Option<Matter<'_>>],
    put_off: &mut Vec<(usize, Ask)>,
) -> Result<bool, StoreError> {
    let mut ready = std::mem::take(put_off);
    for (number, place) in cases.iter_mut().enumerate() {
        let Some(case) = place else { continue };
        ready.extend(carrier.ready(case)?.into_iter().map(|ask| (number, ask)));
        if case.is_done()
            && let Some(case) = place.take()
        {
            carrier.conclude(case);
        }
    }
    let mut asks: Vec<Asked> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, ask) in ready {
        if let Some(at) = places.get(&ask.id) {
            asks[*at].asking.push((number, ask));
        } else if let Some(reserved) = carrier.reserve(&ask) {
            places.insert(ask.id.clone(), asks.len());
            asks.push(Asked { asking: vec![(number, ask)], reserved: Some(reserved) });
        } else {
            put_off.push((number, ask));
        }
    }
    carrier.keep()?;
    let mut progress = false;
    let setup = carrier.setup;
    for (look, it) in setup.looks.iter().enumerate() {
        let asked: Vec<Ask> =
            asks.iter().map(|asked| &asked.asking[0].1).filter(|ask| ask.look == look).cloned().collect();
        if asked.is_empty() {
            continue;
        }
        let mut problem = None;
        let mut hear = |id: &str, answer: Answer| {
            let Some(Asked { asking, reserved }) = places.get(id).map(|at| &mut asks[*at]) else {
                if let Answer::Reply(reply) = answer {
                    carrier.stray(id, reply);
                    if let Err(error) = carrier.keep() {
                        problem.get_or_insert(error);
                    }
                }
                return;
            };
            let Some(reserved) = reserved.take() else { return };
            let Some(session) = cases.get(asking[0].0).and_then(Option::as_ref).map(|case| case.session().clone())
            else {
                return;
            };
            let said = match answer {
                Answer::Waits => {
                    carrier.purse.settle(reserved, Spent::Nothing);
                    carrier.report.waiting.push(asking[0].1.name.clone());
                    for (number, _) in asking {
                        cases.get_mut(*number).and_then(Option::as_mut).into_iter().for_each(Matter::wait);
                    }
                    return;
                }
                Answer::Reply(reply) => carrier.received(&session, &asking[0].1, reply, reserved),
                Answer::Failed(error) => carrier.failed(&error, reserved),
            };
            // At once: a batch is forgotten when its last answer was told.
            if let Err(error) = carrier.keep() {
                problem.get_or_insert(error);
            }
            if matches!(said, Said::Reply { .. }) {
                carrier.report.cached += asking.len() as u64 - 1;
            }
            for (number, ask) in asking {
                if let Some(case) = cases.get_mut(*number).and_then(Option::as_mut) {
                    case.answer(ask, &said);
                }
            }
            progress = true;
            (carrier.setup.progress)(&carrier.report);
        };
        let done = match it.backend {
            Backend::Deferred(deferred) => {
                let mut questions: Vec<Question<'_>> = asked
                    .iter()
                    .map(|ask| Question { id: &ask.id, name: &ask.name, prompt: &ask.prompt, model: &ask.model })
                    .collect();
                questions.sort_by_key(|question| question.name);
                deferred.round(&questions, &mut hear)
            }
            Backend::Live(live) => {
                for ask in &asked {
                    if setup.stopped() {
                        break;
                    }
                    match live.reply(&ask.prompt, &ask.model) {
                        Ok(reply) => hear(&ask.id, Answer::Reply(reply)),
                        Err(error) => hear(&ask.id, Answer::Failed(error)),
                    }
                }
                Ok(())
            }
        };
        if let Some(error) = problem {
            return Err(error);
        }
        if let Err(JudgeError { message, .. }) = done {
            carrier.report.ended.get_or_insert(message);
        }
    }
    // Whatever was neither answered nor put off was not asked.
    for reserved in asks.into_iter().filter_map(|asked| asked.reserved) {
        carrier.purse.settle(reserved, Spent::Nothing);
    }
    carrier.keep()?;
    Ok(progress)
}
