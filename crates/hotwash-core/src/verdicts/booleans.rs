//! The seven plain questions, after a judge's answers.

use super::quality::JUDGE;
use super::{IntentVerdict, OutcomeVerdict};
use crate::outcomes::{Booleans, Held, Reason};
use crate::sessions::Events;

/// The seven, as the judge answers them. Where facts say that nothing verified the work or that something was left broken,
/// a judge does not raise that; where it did not answer, the facts' answer stands.
pub fn booleans(facts: &Booleans, intent: Option<&IntentVerdict>, outcome: Option<&OutcomeVerdict>) -> Booleans {
    let of_intent = |answer: fn(&IntentVerdict) -> Option<bool>| intent.and_then(answer);
    let of_outcome = |answer: fn(&OutcomeVerdict) -> Option<bool>| outcome.and_then(answer);
    let lower = |facts: &Held, answer: Option<bool>| held(facts, answer.filter(|holds| !holds));
    Booleans {
        goal_stated: held(&facts.goal_stated, of_intent(|intent| intent.goal_stated)),
        scope_bounded: held(&facts.scope_bounded, of_intent(|intent| intent.scope_bounded)),
        context_given: held(&facts.context_given, of_intent(|intent| intent.context_given)),
        plan_before_action: held(&facts.plan_before_action, of_outcome(|outcome| outcome.plan_before_action)),
        verified_before_done: lower(&facts.verified_before_done, of_outcome(|outcome| outcome.verified_before_done)),
        no_breakage_left: lower(&facts.no_breakage_left, of_outcome(|outcome| outcome.no_breakage_left)),
        result_communicated: held(&facts.result_communicated, of_outcome(|outcome| outcome.result_communicated)),
    }
}

fn held(facts: &Held, answer: Option<bool>) -> Held {
    match answer {
        Some(holds) if holds != facts.holds => {
            let text = if holds { "the judge finds that it holds" } else { "the judge finds that it does not hold" };
            Held { holds, reason: Reason { fact: JUDGE.into(), text: text.into(), events: Events::default() } }
        }
        _ => facts.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::{intent, reply, verdict};
    use super::*;
    use crate::facts::Facts;

    #[test]
    fn a_judge_answers_what_reading_takes_and_lowers_what_facts_know() {
        let verdict = Some(verdict(&reply()));
        let wanted = IntentVerdict { goal_stated: Some(true), scope_bounded: Some(false), ..intent() };
        let mut facts = Booleans::of(&Facts::default());
        for holds in [false, true] {
            for held in [
                &mut facts.goal_stated,
                &mut facts.scope_bounded,
                &mut facts.context_given,
                &mut facts.plan_before_action,
                &mut facts.verified_before_done,
                &mut facts.no_breakage_left,
                &mut facts.result_communicated,
            ] {
                held.holds = holds;
            }
            assert_eq!(booleans(&facts, None, None), facts);
            let judged = booleans(&facts, Some(&wanted), verdict.as_ref());
            let holding = judged.all().map(|(_, held)| held.holds);
            // Stated, bounded, context (not answered), planned, verified, unbroken, told.
            assert_eq!(holding, [true, false, holds, false, holds, holds, true]);
        }
    }
}
