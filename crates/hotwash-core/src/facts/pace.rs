//! How long it took, and who was waiting for whom.

use super::Fold;
use super::calls::{OpenCall, Status, waited_for_person};
use super::value::facts;
use crate::sessions::{Event, Kind, Outcome, Timestamp};
use serde::{Deserialize, Serialize};

/// A gap counts as activity up to this long.
const LONGEST_STEP_MS: i64 = 5 * 60 * 1000;

facts! {
    /// Time.
    pub struct PaceFacts {
        /// Seconds from the first event to the last.
        /// Why: what the calendar saw.
        /// Blind: nights and meetings are in it.
        wall_seconds: u64,
        /// Seconds in which the agent was at work: gaps between events, each counted up to five minutes, those
        /// that end in a prompt or in what a person was asked for left out.
        /// Why: what the work took.
        /// Blind: a build of an hour counts five minutes unless the client records its progress; older clients do not
        /// record that a person was asked and said yes.
        active_seconds: u64,
        /// Seconds that the agent waited for the person, each wait counted up to five minutes.
        /// Why: shows how closely the person steered.
        /// Blind: whether the person was thinking or away; what a call took after a person allowed it is in it.
        waiting_seconds: u64,
    }
}

/// The fold behind [`PaceFacts`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pace {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    active_ms: i64,
    waiting_ms: i64,
    /// The activity that ended in the event of now.
    #[serde(skip)]
    step_ms: i64,
}

impl Fold for Pace {
    type Facts = PaceFacts;

    fn event(&mut self, event: &Event<'_>) {
        self.step_ms = 0;
        let Some(at) = event.origin.at else {
            return;
        };
        match self.last {
            Some(last) if at > last => {
                let gap = (at.0 - last.0).clamp(0, LONGEST_STEP_MS);
                match event.kind {
                    Kind::Prompt(_) | Kind::PlanApproval(_) => self.waiting_ms += gap,
                    _ => {
                        self.active_ms += gap;
                        self.step_ms = gap;
                    }
                }
                self.last = Some(at);
            }
            // Records written late carry earlier times: they add nothing, and the latest time stays the measure.
            Some(_) => self.first = self.first.min(Some(at)),
            None => (self.first, self.last) = (Some(at), Some(at)),
        }
    }

    fn ended(&mut self, _: &Event<'_>, call: Option<&OpenCall>, outcome: &Outcome<'_>, status: Status) {
        if waited_for_person(call, outcome, status) {
            let gap = std::mem::take(&mut self.step_ms);
            self.active_ms -= gap;
            self.waiting_ms += gap;
        }
    }

    fn finish(&mut self) -> PaceFacts {
        let wall = self.first.zip(self.last).map_or(0, |(first, last)| last.0 - first.0);
        PaceFacts {
            wall_seconds: (wall / 1000) as u64,
            active_seconds: (self.active_ms / 1000) as u64,
            waiting_seconds: (self.waiting_ms / 1000) as u64,
        }
    }
}

impl Pace {
    /// The first and the last moment.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.first.zip(self.last)
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::facts_of;

    #[test]
    fn long_gaps_are_capped_and_waiting_is_kept_apart() {
        let facts = facts_of(
            "
            e1 user  go               @0
            e2 says  working          @60
            e3 says  still working    @3660
            e4 user  and now?         @3700
            e5 says  done             @3690
        ",
        );
        let pace = facts.pace;
        assert_eq!((pace.wall_seconds, pace.active_seconds, pace.waiting_seconds), (3700, 360, 40));
    }

    #[test]
    fn a_person_who_is_asked_is_waited_for() {
        for (call, end, active, waiting) in [
            ("Bash  make", "ok    done", 130, 0),
            ("Bash  make", "asked done", 10, 120),
            ("Bash  make", "error The user doesn't want to proceed with this tool use.", 10, 120),
            ("Bash  make", "error no such target", 130, 0),
            ("Ask   which one?", "ok    the first", 10, 120),
            ("Plan  first this", "ok    approved", 10, 120),
        ] {
            let facts = facts_of(&format!("e1 user go @0\n e2 {call} @10\n e3 {end} @130"));
            let pace = facts.pace;
            assert_eq!((pace.active_seconds, pace.waiting_seconds), (active, waiting), "{call} {end}");
        }
    }
}
