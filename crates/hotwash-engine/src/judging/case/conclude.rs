//! What a case comes to: when nothing is left to ask, whether to look twice, and the judgement.

use super::{Case, Sight, Slot};
use crate::stores::{Judgement, Judging, Lack};
use hotwash_core::evidence::{Alarm, Evidence};
use hotwash_core::outcomes::Outcome;
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
        let outcome = |sight: &Sight| !self.wants(Task::Outcome) || sight.outcome.is_settled();
        let apart = self.wants(Task::Quality) && self.scored_with_outcome().is_none();
        let quality =
            |sight: &Sight| !apart || !sight.quality.is_empty() && sight.quality.iter().flatten().all(Slot::is_settled);
        (self.requests.is_none() || self.intent.is_settled())
            && self.sights.iter().all(|sight| outcome(sight) && quality(sight))
    }

    /// Nothing is left to ask.
    pub(in crate::judging) fn is_done(&self) -> bool {
        let may_look_again = self.sights.len() < self.setup.looks.len();
        self.is_settled() && self.again.is_empty() && (!may_look_again || self.doubts().is_empty())
    }

    /// Why a second look is worth its price.
    pub(super) fn doubts(&self) -> Vec<second::Escalation> {
        let first = &self.sights[0];
        // What the first could not answer the second may.
        if self.wants(Task::Outcome) && first.outcome.is_settled() && first.verdict().is_none()
            || first.quality.iter().flatten().any(|slot| slot.why().is_some())
        {
            return vec![second::Escalation::LowConfidence];
        }
        match (self.outcome(), first.verdict()) {
            (Some(outcome), Some(verdict)) => second::of_outcome(verdict, &outcome, &self.setup.thresholds),
            _ => self.grade(None).iter().flat_map(second::of_grade).collect(),
        }
    }

    /// The outcome, where the judge gave one.
    fn outcome(&self) -> Option<Outcome> {
        if !self.wants(Task::Outcome) {
            return None;
        }
        let intent = self.intended();
        let alarms = self.seen.whole.alarms();
        let look = |number: usize| {
            let verdict = self.sights.get(number)?.verdict()?;
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

    /// The grade, where the judge gave one: the second look's, where that has one. Its goal follows from the outcome, and
    /// from what facts say where there is none.
    fn grade(&self, outcome: Option<&Outcome>) -> Option<Grade> {
        self.sights.iter().enumerate().rev().find_map(|(look, sight)| self.grade_of(look, sight, outcome))
    }

    fn grade_of(&self, look: usize, sight: &Sight, outcome: Option<&Outcome>) -> Option<Grade> {
        let rubric = self.setup.rubric;
        let parts = self.seen(look).parts();
        let slots: Vec<&Slot<QualityVerdict>> = sight.quality.iter().flatten().collect();
        let with_outcome = sight.outcome.verdict().and_then(|review| review.quality.as_ref());
        if with_outcome.is_none() && slots.iter().all(|slot| slot.verdict().is_none()) {
            return None;
        }
        let critics = self.critics();
        let of_chunk = |chunk: usize| {
            let of_critic = |(critic, slots): (Option<&Critic>, &Vec<Slot<QualityVerdict>>)| {
                let slot = slots.get(chunk)?;
                let (why, reason) = slot.why().unwrap_or((Unscored::JudgeFailed, "nobody answered".into()));
                let nothing = || QualityVerdict::unscored(rubric, critic, why, &reason);
                Some(slot.verdict().cloned().unwrap_or_else(nothing))
            };
            let of_critics = critics.iter().copied().zip(&sight.quality).filter_map(of_critic);
            QualityVerdict::join(with_outcome.cloned().into_iter().chain(of_critics))
        };
        let verdicts: Vec<QualityVerdict> = (0..parts.len()).map(of_chunk).collect();
        let chunk = |(evidence, verdict)| {
            let evidence: &Evidence = evidence;
            combine::Chunk { owned_tokens: evidence.part().owned_tokens, verdict, flags: &[] }
        };
        let chunks: Vec<combine::Chunk<'_>> = parts.iter().zip(&verdicts).map(chunk).collect();
        let alarms: Vec<Alarm> = parts.iter().flat_map(|part| part.alarms().iter().cloned()).collect();
        let said = self.sights.iter().rev().find_map(Sight::verdict);
        let facts = || {
            let mut facts = self.offline.clone();
            if self.seen.all().any(|evidence| !evidence.alarms().is_empty()) {
                Flag::InjectionSuspected.raise(&mut facts.flags);
            }
            facts
        };
        let goal = rubric.dimension(&rubric.goal).map(|dimension| match outcome {
            Some(outcome) => combine::goal(dimension, outcome, said),
            None => combine::goal(dimension, &facts(), None),
        });
        let provenance = self.setup.provenance();
        let mut grade = combine::grade(rubric, &chunks, goal.as_ref(), &alarms, &|_| Arc::clone(provenance));
        for flag in slots.iter().flat_map(|slot| slot.flags()) {
            flag.raise(&mut grade.flags);
        }
        if slots.iter().any(|slot| slot.verdict().is_none()) || self.is_cut() {
            Flag::Partial.raise(&mut grade.flags);
        }
        Some(grade)
    }

    /// Something had to be left out although it is not merely what was read.
    fn is_cut(&self) -> bool {
        self.coverage() < LITTLE
    }

    /// The share of what decides that the judge saw.
    fn coverage(&self) -> f64 {
        let parts = self.seen.parts();
        parts.iter().map(Evidence::coverage).sum::<f64>() / parts.len().max(1) as f64
    }

    /// What it comes to, or why to nothing.
    pub(in crate::judging) fn conclude(self, at: Timestamp) -> Result<Judgement, String> {
        let outcome = self.outcome();
        let grade = self.grade(outcome.as_ref()).filter(|_| self.wants(Task::Quality));
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
            intent: self.wants(Task::Intent).then(|| self.intended()),
            verdict: self.sights.iter().rev().find_map(Sight::verdict).cloned(),
        };
        let Case { session, from, to, .. } = self;
        Ok(Judgement { session, from, to, judging, grade, outcome })
    }

    /// The first reason for which something was not answered.
    fn lack(&self) -> Option<Lack> {
        let intent = self.intent.why();
        let last = self.sights.last();
        let outcome = last.and_then(|sight| {
            let unread = || (Unscored::Unreadable, "the answer gives no probability".to_owned());
            let review = sight.outcome.verdict();
            sight.outcome.why().or_else(|| review.filter(|review| review.outcome.is_none()).map(|_| unread()))
        });
        let earlier = self.sights.iter().any(|sight| sight.verdict().is_some());
        let quality = || last?.quality.iter().flatten().find_map(Slot::why);
        let (why, reason) = intent.or_else(|| outcome.filter(|_| !earlier)).or_else(quality)?;
        Some(Lack { reason, again: why == Unscored::JudgeFailed })
    }
}
