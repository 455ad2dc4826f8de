//! The transcript itself: who recorded it, where and when, and the words that name it.

use super::Fold;
use super::value::facts;
use super::wanted::{Telling, Wanted, commanded, of_prompt};
use super::word::{Outside, Own};
use crate::sessions::{Event, EventId, Key, Kind, Origin, PromptVia, Timestamp};
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// How much of a prompt or an answer is kept, in bytes.
pub(super) const WORDS_KEPT: usize = 2000;

facts! {
    /// Where it was recorded.
    pub struct TranscriptFacts {
        /// Client versions, in order of appearance.
        /// Why: formats and behaviour differ by version.
        /// Blind: records without a version.
        versions: Vec<Outside>,
        /// Distinct ids under which the agent recorded.
        /// Why: more than one means that a transcript was copied or taken up again.
        /// Blind: copies whose ids were rewritten.
        session_ids: u64,
        /// Recorded by a run that nobody sat in front of.
        /// Why: nobody could accept or complain there.
        /// Blind: clients before 2.1.100 do not say.
        headless: bool,
        /// Records of a kind that this version does not know.
        /// Why: a new client may write what we cannot read yet.
        /// Blind: nothing known.
        unknown_records: u64,
        /// Names of facts that the recording cannot tell. They are unknown: null for machines, and no item of a grade.
        /// Why: a recording that passed through another system lost things on the way, and none is not the same as lost.
        /// Blind: a fact that is only told in part, such as text that was cut.
        not_recorded: Vec<Own>,
    }
}

/// What needs words, kept raw in memory only: it passes redaction before it is stored or shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The name that a person or the agent gave it.
    pub title: Option<String>,
    /// The first prompt.
    pub first_prompt: Option<String>,
    /// The first words that say what is wanted: of a prompt, a plan, or behind a command.
    pub wanted: Option<String>,
    /// What a subagent was told to do: the first words in its transcript.
    pub task: Option<String>,
}

/// Who, where and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity<'l> {
    /// The id under which the agent recorded, as the first record has it.
    pub session: Option<&'l str>,
    /// The subagent's id, in a subagent's transcript.
    pub agent: Option<&'l str>,
    /// The working directory in which most was done.
    pub cwd: Option<&'l str>,
    /// The key of the first prompt, or of the first record where nobody prompted.
    pub first: Option<Key>,
    /// The first prompt's place.
    pub first_prompt: Option<EventId>,
    /// The first prompt's moment.
    pub prompted: Option<Timestamp>,
    /// The first moment.
    pub from: Option<Timestamp>,
    /// The last moment.
    pub to: Option<Timestamp>,
}

/// The fold behind [`TranscriptFacts`], [`Words`] and [`Identity`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Transcript {
    facts: TranscriptFacts,
    sessions: Vec<String>,
    agent: Option<String>,
    cwds: Vec<(String, u64)>,
    first_record: Option<Key>,
    last_record: Option<(EventId, Option<Key>)>,
    first_prompt: Option<(EventId, Option<Key>)>,
    prompted: Option<Timestamp>,
    prompts: Vec<Key>,
    titled_by_person: bool,
    words: Words,
    wanted: Wanted,
    last_answer: Option<String>,
}

impl Fold for Transcript {
    type Facts = TranscriptFacts;

    fn event(&mut self, event: &Event<'_>) {
        let origin = event.origin;
        // Two records glued on one line share the line, not the id.
        if self.last_record != Some((origin.id, origin.key)) {
            self.last_record = Some((origin.id, origin.key));
            self.envelope(origin);
        }
    }

    fn noted(&mut self, event: &Event<'_>) {
        if !matches!(event.kind, Kind::Message(_) | Kind::SubagentMessage(_) | Kind::Activity) {
            self.named(event);
        }
    }

    fn said(&mut self, event: &Event<'_>) {
        let origin = event.origin;
        match &event.kind {
            Kind::Prompt(prompt) => {
                self.prompts.extend(origin.key);
                if !self.wanted.is_known() {
                    self.hears(of_prompt(prompt.words), prompt.words);
                }
                // What somebody set as the goal names the session, too.
                if prompt.via == PromptVia::Goal && !self.titled_by_person {
                    self.titled_by_person = true;
                    self.words.title = Some(kept(prompt.words).to_owned());
                }
                if self.first_prompt.is_none() {
                    self.first_prompt = Some((origin.id, origin.key));
                    self.prompted = origin.at;
                    self.words.first_prompt = Some(kept(prompt.words).to_owned());
                }
            }
            Kind::PlanApproval(body) => {
                self.hears(Telling::Enough, &body.head(WORDS_KEPT));
                if self.first_prompt.is_none() {
                    self.first_prompt = Some((origin.id, origin.key));
                    self.prompted = origin.at;
                    self.words.first_prompt = Some(kept(&body.head(WORDS_KEPT)).to_owned());
                }
            }
            Kind::Command { name, args, .. } if !self.wanted.is_known() => {
                if let Some((telling, words)) = commanded(&name.to_str(), &args.to_str()) {
                    self.hears(telling, &words);
                }
            }
            Kind::Says(text) if !origin.sidechain => {
                let words = text.head(WORDS_KEPT);
                if !words.trim().is_empty() {
                    self.last_answer = Some(words.trim().to_owned());
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self) -> TranscriptFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.session_ids = self.sessions.len() as u64;
        facts
    }
}

impl Transcript {
    /// Words that say so much of what is wanted.
    fn hears(&mut self, telling: Telling, words: &str) {
        if self.wanted.hear(telling) {
            self.words.wanted = Some(kept(words).to_owned());
        }
    }

    /// What all events of a record share.
    fn envelope(&mut self, origin: &Origin<'_>) {
        if self.first_record.is_none() {
            self.first_record = origin.key;
        }
        add(&mut self.facts.versions, origin.version);
        add(&mut self.sessions, origin.session);
        self.work_in(origin.cwd);
        if self.agent.is_none() && !origin.agent.is_empty() {
            self.agent = Some(origin.agent.to_str().into_owned());
        }
        self.facts.headless |= origin.headless;
    }

    /// Counts a record for its working directory.
    fn work_in(&mut self, cwd: Text<'_>) {
        if cwd.is_empty() {
            return;
        }
        let cwd = cwd.to_str();
        match self.cwds.iter_mut().find(|(known, _)| *known == cwd) {
            Some((_, records)) => *records += 1,
            None => self.cwds.push((cwd.into_owned(), 1)),
        }
    }

    /// What the client says of the transcript.
    fn named(&mut self, event: &Event<'_>) {
        match &event.kind {
            Kind::ClientText(body) if event.origin.sidechain && self.words.task.is_none() => {
                self.words.task = Some(kept(&body.head(WORDS_KEPT)).to_owned());
            }
            Kind::Title { text, by_person } if *by_person || !self.titled_by_person => {
                self.titled_by_person = *by_person;
                self.words.title = Some(kept(&text.to_str()).to_owned());
            }
            Kind::Unknown => self.facts.unknown_records += 1,
            Kind::NotRecorded(names) => {
                for name in *names {
                    let lost = &mut self.facts.not_recorded;
                    if let Err(at) = lost.binary_search_by(|known| (**known).cmp(name)) {
                        lost.insert(at, Own::from(*name));
                    }
                }
            }
            _ => {}
        }
    }

    /// The key of the first prompt, or of the first record where nobody prompted.
    pub fn first(&self) -> Option<Key> {
        self.first_prompt.and_then(|(_, key)| key).or(self.first_record)
    }

    /// Who and where.
    pub fn identity(&self) -> Identity<'_> {
        let cwd = self.cwds.iter().rev().max_by_key(|(_, records)| *records);
        Identity {
            session: self.sessions.first().map(String::as_str),
            agent: self.agent.as_deref(),
            cwd: cwd.map(|(cwd, _)| cwd.as_str()),
            first: self.first(),
            first_prompt: self.first_prompt.map(|(id, _)| id),
            prompted: self.prompted,
            ..Identity::default()
        }
    }

    /// See the fact `headless`.
    pub fn is_headless(&self) -> bool {
        self.facts.headless
    }

    /// The keys of the prompts, in order.
    pub fn prompt_keys(&self) -> &[Key] {
        &self.prompts
    }

    /// What needs words.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// The agent's last words.
    pub fn last_answer(&self) -> Option<String> {
        self.last_answer.clone()
    }
}

/// Adds a word to a list that lacks it.
fn add<W: Deref<Target = str> + From<String>>(list: &mut Vec<W>, word: Text<'_>) {
    let word = word.to_str();
    if !word.is_empty() && !list.iter().any(|known| **known == *word) {
        list.push(word.into_owned().into());
    }
}

/// The beginning of some words. Cut at a space: half a token would slip through redaction.
fn kept(words: &str) -> &str {
    let words = words.trim();
    if words.len() <= WORDS_KEPT {
        return words;
    }
    let fits = |(at, character): &(usize, char)| *at <= WORDS_KEPT && character.is_whitespace();
    let end = words.char_indices().rev().find(fits).map_or(0, |(at, _)| at);
    words.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::facts::testing::ledger_of;

    #[test]
    fn the_first_prompt_is_kept() {
        let ledger = ledger_of("e1 user fix the parser\n e2 user and the printer, too\n e3 user thanks");
        assert_eq!(ledger.words().first_prompt.as_deref(), Some("fix the parser"));
    }
}
