//! Goals reached: the PRISM score of rows, whole and by group.

use crate::outcomes::prism::{Prism, PrismInput, iso_week, provisional};
use crate::records::{Judged, Row, Ruled};
use crate::rework::repository;
use crate::sessions::Timestamp;

/// What a score is given for each of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The repository, by its folder.
    Project,
    /// The ISO week in which sessions ended.
    Week,
    /// The model that answered first.
    Model,
    /// The coding agent.
    Agent,
    /// What people were after.
    Intent,
}

impl Judged {
    /// This session as the score takes it. `newest` is the end of the newest session: what is younger than the rework window
    /// is so by then.
    pub fn input(&self, newest: Timestamp) -> PrismInput {
        let provisional = self.to.is_some_and(|to| provisional(to, newest));
        PrismInput { ruling: self.ruling, rework: self.reworked, provisional, by_model: self.by_model }
    }
}

impl Row {
    /// This session as the score takes it, if its outcome is known.
    pub fn input(&self, newest: Timestamp) -> Option<PrismInput> {
        let Ruled { ruling, reworked, by_model } = self.ruled?;
        let provisional = self.session.to.is_some_and(|to| provisional(to, newest));
        Some(PrismInput { ruling, rework: reworked, provisional, by_model })
    }
}

/// The score of listed sessions.
pub fn goals(rows: &[Row], newest: Timestamp) -> Prism {
    Prism::of(rows.iter().filter_map(|row| row.input(newest)))
}

/// The scores of groups: those with the most sessions first, weeks in their order. `agent` tells the agent of a transcript.
pub fn goals_by(
    judged: &[Judged],
    by: By,
    newest: Timestamp,
    agent: impl Fn(&Judged) -> String,
) -> Vec<(String, Prism)> {
    let groups = Prism::by(judged.iter().map(|judged| {
        let key = match by {
            By::Project => repository(judged.project.as_str()).to_owned(),
            By::Week => judged.to.map_or_else(|| "no date".into(), iso_week),
            By::Model if judged.model.is_empty() => "no model".into(),
            By::Model => judged.model.clone(),
            By::Agent => agent(judged),
            By::Intent => judged.ruling.intent.name().into(),
        };
        (key, judged.input(newest))
    }));
    let mut groups: Vec<(String, Prism)> = groups.into_iter().collect();
    if by != By::Week {
        groups.sort_by_key(|(_, prism)| std::cmp::Reverse(prism.sessions));
    }
    groups
}
