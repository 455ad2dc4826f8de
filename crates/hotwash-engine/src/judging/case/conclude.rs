//! What a case comes to: when nothing is left to ask, whether to look twice, and the judgement.

use super::{Case, Sight, Slot};
use crate::stores::{Judgement, Judging, Lack};
use hotwash_core::evidence::{Alarm, Evidence};
use hotwash_core::outcomes::{Intent, Outcome};
use hotwash_core::prompts::Task;
use hotwash_core::rubric::Critic;
use hotwash_core::scores::{Flag, Grade, Provenance, Unscored};
use hotwash_core::sessions::Timestamp;
use hotwash_core::verdicts::{QualityVerdict, combine, decide, second};
use std::sync::Arc;

/// A session of which less than this was shown is judged in part.
const LITTLE: f64 = 0.5;

impl Case<'_> {
    /// Everything that was asked is answered or has failed.
    pub(super) fn is_settled(&self) -> bool {
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
    pub(in crate::judging) fn is_done(&self) -> bool {
        let may_look_again = self.sights.len() < self.setup.looks.len();
        self.is_settled() && self.again.is_empty() && (!may_look_again || self.doubts().is_empty())
    }

    /// Why a second look is worth its price.
    pub(super) fn doubts(&self) -> Vec<second::Escalation> {
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
        let alarms = self.seen.whole.as_ref()?.alarms();
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
        self.sights.iter().enumerate().rev().find_map(|(look, sight)| self.grade_of(look, sight))
    }

    fn grade_of(&self, look: usize, sight: &Sight) -> Option<Grade> {
        let seen = self.seen(look);
        let slots: Vec<&Slot<QualityVerdict>> = sight.quality.iter().flatten().collect();
        if slots.iter().all(|slot| slot.verdict().is_none()) {
            return None;
        }
        let critics = self.critics();
        let verdicts: Vec<QualityVerdict> = (0..seen.chunks.len())
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
        let chunks: Vec<combine::Chunk<'_>> = seen
            .chunks
            .iter()
            .zip(&verdicts)
            .map(|(evidence, verdict)| combine::Chunk {
                owned_tokens: evidence.part().owned_tokens,
                verdict,
                flags: &[],
            })
            .collect();
        let provenance = self.setup.provenance();
        let alarms: Vec<Alarm> = seen.chunks.iter().flat_map(|chunk| chunk.alarms().iter().cloned()).collect();
        let mut grade = combine::grade(self.setup.rubric, &chunks, &alarms, &|_| Arc::clone(provenance));
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
            if self.seen.all().any(|evidence| !evidence.alarms().is_empty()) {
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
        let parts: Vec<f64> = self.seen.chunks.iter().map(Evidence::coverage).collect();
        if parts.is_empty() {
            self.seen.whole.as_ref().map_or(1.0, Evidence::coverage)
        } else {
            parts.iter().sum::<f64>() / parts.len() as f64
        }
    }

    /// What it comes to, or why to nothing.
    pub(in crate::judging) fn conclude(self, at: Timestamp) -> Result<Judgement, String> {
        let (grade, outcome) = self.agreed(self.grade(), self.outcome());
        if grade.is_none() && outcome.is_none() {
            return Err(self.lack().map_or_else(|| "nothing was asked".into(), |lack| lack.reason));
        }
        let lack = self.lack();
        let mut flags: Vec<Flag> = Vec::new();
        let of_grade = grade.iter().flat_map(|grade| &grade.flags);
        let of_outcome = outcome.iter().flat_map(|outcome| &outcome.flags);
        let of_answers = self.intent.flags().iter().chain(self.sights.iter().flat_map(|sight| sight.outcome.flags()));
        for flag in of_grade.chain(of_outcome).chain(of_answers) {
            flag.raise(&mut flags);
        }
        if lack.is_some() {
            Flag::Partial.raise(&mut flags);
        }
        let judging = Judging {
            provenance: Provenance::clone(self.setup.provenance()),
            at,
            calls: self.answered,
            cost: self.cost,
            tokens: self.tokens,
            flags,
            coverage: self.coverage(),
            complete: lack.is_none(),
            lack,
            intent: self.intent.verdict().cloned(),
            verdict: self.sights.iter().rev().find_map(|sight| sight.outcome.verdict()).cloned(),
        };
        let Case { session, from, to, .. } = self;
        Ok(Judgement { session, from, to, judging, grade, outcome })
    }

    /// The first reason for which something was not answered.
    fn lack(&self) -> Option<Lack> {
        let intent = self.intent.why();
        let last = self.sights.iter().rev();
        let outcome = || last.clone().find_map(|sight| sight.outcome.why());
        let quality = || last.clone().next()?.quality.iter().flatten().find_map(Slot::why);
        let (why, reason) = intent.or_else(outcome).or_else(quality)?;
        Some(Lack { reason, again: why == Unscored::JudgeFailed })
    }
}
