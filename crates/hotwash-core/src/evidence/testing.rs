//! Records of stories, for tests.

use super::Evidence;
use super::record::{About, Record, Recorder};
use crate::facts::testing::{facts_of, tell};
use crate::redaction::Rules;

/// Evidence as it reads, with its marker left out.
pub(super) fn text_of(evidence: &Evidence) -> String {
    evidence.text().as_str().replace(evidence.marker(), "MARK")
}

/// A story as it is kept for a judge.
pub(super) fn record_of(story: &str) -> Record {
    let rules = Rules::default();
    let mut recorder = Recorder::new(&rules);
    tell(story, |event| recorder.event(event));
    recorder.finish(About { facts: &facts_of(story), subagents: Vec::new() })
}
