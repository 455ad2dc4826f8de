//! What those who carry questions and answers need of a matter before its judge, whatever it is.

use super::case::{Ask, Case, Said};
use super::topics::TopicCase;
use crate::stores::{Judgement, Topic};
use hotwash_core::sessions::{SessionId, Timestamp};

/// A session, or a transcript that is to be cut into some.
pub(super) enum Matter<'s> {
    Session(Box<Case<'s>>),
    Topics(Box<TopicCase<'s>>),
}

/// What came of one.
pub(super) enum Came {
    Judgement(Box<Judgement>),
    /// What was said of prompts, and why nothing was of some.
    Topics(Vec<Topic>, Option<String>),
}

impl Matter<'_> {
    /// The session that answers are kept under.
    pub(super) fn session(&self) -> &SessionId {
        match self {
            Matter::Session(case) => case.session(),
            Matter::Topics(case) => case.session(),
        }
    }

    /// The transcript, where it is one.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Matter::Session(_) => None,
            Matter::Topics(case) => Some(case.path()),
        }
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Matter::Session(case) => case.bytes(),
            Matter::Topics(case) => case.bytes(),
        }
    }

    /// It will not get further in this run, because an answer is not there yet.
    pub(super) fn wait(&mut self) {
        match self {
            Matter::Session(case) => case.wait(),
            Matter::Topics(case) => case.wait(),
        }
    }

    pub(super) fn waits(&self) -> bool {
        match self {
            Matter::Session(case) => case.waits(),
            Matter::Topics(case) => case.waits(),
        }
    }

    /// The questions that are ready and were not handed out before.
    pub(super) fn ready(&mut self) -> Vec<Ask> {
        match self {
            Matter::Session(case) => case.ready(),
            Matter::Topics(case) => case.ready(),
        }
    }

    /// Every question that can be foreseen before anything was answered.
    pub(super) fn foreseen(&self) -> Vec<Ask> {
        match self {
            Matter::Session(case) => case.foreseen(),
            Matter::Topics(case) => case.foreseen(),
        }
    }

    /// Hears what came of a question.
    pub(super) fn answer(&mut self, ask: &Ask, said: &Said) {
        match self {
            Matter::Session(case) => case.answer(ask, said),
            Matter::Topics(case) => case.answer(ask, said),
        }
    }

    /// Nothing is left to ask.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Matter::Session(case) => case.is_done(),
            Matter::Topics(case) => case.is_done(),
        }
    }

    /// What it comes to, or why to nothing.
    pub(super) fn conclude(self, at: Timestamp) -> Result<Came, String> {
        match self {
            Matter::Session(case) => case.conclude(at).map(|judgement| Came::Judgement(Box::new(judgement))),
            Matter::Topics(case) => {
                let (topics, failed) = case.conclude(at);
                Ok(Came::Topics(topics, failed))
            }
        }
    }
}
