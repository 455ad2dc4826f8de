//! Where a session ends: a transcript is cut into pieces as it is read.
//!
//! A piece ends at `/clear`, at the end of a turn that committed what the piece changed, and where a prompt turns to
//! another topic. Idle time, `/compact` and resuming end nothing, and a prompt typed while a call is open steers the turn
//! under way. Pieces that belong together are joined again later ([`joining`](super::joining)).
//!
//! Words alone do not prove another topic. When a prompt looks like one, the piece is followed both ways until the files
//! that are touched next decide: cut if they are elsewhere, on as before if not. Once decided, nothing that comes later
//! changes it, so that a transcript gives the same pieces however it grows. What was known of a prompt before it was read
//! ([`TopicJudge::known`]) decides at once.

use super::joining::{GAP_MS, is_enough};
use super::topic::{self, Known, Question, TopicJudge, Vocabulary};
use super::{Event, EventId, Key, Kind, PromptVia, SessionId, Timestamp};
use crate::facts::calls::{Calls, KeySet, OpenCall, Status, Step};
use crate::facts::{Identity, Ledger, Own, text_hash};
use crate::shell::{self, Commit};
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// So many files touched decide whether a topic is another one.
const FILES_DECIDE: usize = 2;

/// A piece may still be joined to those before if it only lacks so many shared files. One that lacks more hardly ever is.
const FILES_TURN_IT: usize = 2;

/// Why a piece begins where it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// A new transcript, with an empty context.
    #[default]
    Transcript,
    /// The first event of its own in a transcript that begins as a copy of another.
    Fork,
    /// The context was wiped.
    Clear {
        /// The command.
        event: EventId,
    },
    /// The turn before committed what had been changed.
    Commit {
        /// The call that committed.
        event: EventId,
    },
    /// The prompt is about something else.
    Topic {
        /// How much of it, in thousandths.
        shift: u16,
    },
    /// The prompt is about something else, as a model says.
    Judged {
        /// How sure it is, in thousandths.
        sure: u16,
    },
}

impl Opening {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Opening::Transcript => "new transcript",
            Opening::Fork => "fork",
            Opening::Clear { .. } => "/clear",
            Opening::Commit { .. } => "commit",
            Opening::Topic { .. } | Opening::Judged { .. } => "other topic",
        }
    }

    /// The same with its event as one of the transcript with this number, from 0, of a session.
    #[must_use]
    pub fn of_transcript(self, number: usize) -> Opening {
        match self {
            Opening::Clear { event } => Opening::Clear { event: EventId::of_transcript(number, event) },
            Opening::Commit { event } => Opening::Commit { event: EventId::of_transcript(number, event) },
            other => other,
        }
    }

    /// Whether the piece may be joined to the one before.
    pub fn may_rejoin(self) -> bool {
        !matches!(self, Opening::Topic { .. } | Opening::Judged { .. })
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opening::Transcript => f.write_str("a new transcript with an empty context"),
            Opening::Fork => f.write_str("the first event that is not copied from another transcript"),
            Opening::Clear { event } => write!(f, "the context was wiped by /clear ({event})"),
            Opening::Commit { event } => write!(f, "the turn before committed its changes ({event})"),
            Opening::Topic { shift } => {
                write!(f, "the prompt is about something else ({} % of its words are new, other files)", shift / 10)
            }
            Opening::Judged { sure } => {
                write!(f, "the prompt is about something else, as a model says ({} % sure)", sure / 10)
            }
        }
    }
}

/// A stretch of a transcript that pursues one goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Why it begins here.
    pub opened: Opening,
    /// The first prompt's key, or the first record's where nobody prompted.
    pub first: Key,
    /// The first prompt's moment, or the first event's where nobody prompted.
    pub starts: Option<Timestamp>,
    /// The last event's moment.
    pub ends: Option<Timestamp>,
    /// The working directory, hashed.
    pub folder: u64,
    /// Files read or edited with success, hashed and sorted.
    pub touched: Vec<u64>,
    /// The lines of its events, as ranges with both ends.
    pub lines: Vec<(u32, u32)>,
    /// How its first prompt takes what came before; see the fact `opening_reaction`.
    pub reaction: Option<Own>,
    /// What else decides whether it is joined.
    #[serde(skip)]
    pub about: About,
}

/// What a piece is about, as far as it decides whether the piece is joined to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The run had no person in front of it.
    pub headless: bool,
    /// Words of its first prompt, hashed; none where they tell nothing.
    pub asked: Vec<u64>,
    /// Words of its prompts and of the names of its files, hashed and sorted.
    pub spoken: Vec<u64>,
}

impl Piece {
    /// The id of the session that begins with it.
    pub fn id(&self) -> SessionId {
        SessionId::of(self.first)
    }
}

/// A piece being read, with its facts so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Part {
    /// The facts so far.
    pub ledger: Ledger,
    opened: Opening,
    lines: Vec<(u32, u32)>,
    touched: KeySet<u64>,
    /// Files changed, by their paths: a commit names paths.
    changed: Vec<String>,
    folders: Vec<u64>,
    vocabulary: Vocabulary,
    /// The words of the first prompt, and all words, once the piece has ended.
    asked: Option<Vec<u64>>,
    spoken: Vec<u64>,
    /// Somebody prompted, or the agent answered.
    lived: bool,
    /// The facts so far of this piece and of those that it will probably be joined to. If it is joined to others, the
    /// session is read again as one.
    joint: Option<Box<Joint>>,
}

/// Pieces that are probably one session.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Joint {
    /// The first of them, by its number in the transcript.
    first: usize,
    ledger: Ledger,
    /// How many files the last one had touched when it was asked whether they are others, or fewer than it is worth to ask
    /// for. It is asked again for twice as many. When does not matter to what comes of it, so this is not kept.
    #[serde(skip)]
    asked: usize,
}

impl Part {
    /// The facts of this piece together with those before it, from the one with this number in the transcript on, if
    /// they were established; for who has them handed over.
    pub fn joint_mut(&mut self, first: usize) -> Option<&mut Ledger> {
        self.joint.as_deref_mut().filter(|joint| joint.first == first).map(|joint| &mut joint.ledger)
    }

    fn new(opened: Opening) -> Part {
        Part { opened, ..Part::default() }
    }

    /// Whether anything happened in it that a session could come of.
    pub fn has_lived(&self) -> bool {
        self.lived
    }

    /// The piece so far.
    pub fn piece(&self) -> Piece {
        let identity = self.ledger.identity();
        let mut touched: Vec<u64> = self.touched.iter().copied().collect();
        touched.sort_unstable();
        Piece {
            opened: self.opened,
            first: identity.first.unwrap_or_else(|| self.key_without_ids(&identity)),
            starts: identity.prompted.or(identity.from),
            ends: identity.to,
            folder: text_hash(identity.cwd.unwrap_or_default()),
            touched,
            lines: self.lines.clone(),
            reaction: self.ledger.opening_reaction(),
            about: About {
                headless: self.ledger.is_headless(),
                asked: self.asked.clone().unwrap_or_default(),
                spoken: if self.spoken.is_empty() { self.vocabulary.spoken() } else { self.spoken.clone() },
            },
        }
    }

    /// Where records have no ids, the place of a piece in its transcript stands for its beginning.
    fn key_without_ids(&self, identity: &Identity<'_>) -> Key {
        let recorded = Key::of(Text::plain(identity.session.unwrap_or_default()));
        match self.opened {
            Opening::Transcript | Opening::Fork => recorded,
            _ => Key(recorded.0 ^ text_hash(&self.lines.first().map_or(0, |(first, _)| *first).to_string())),
        }
    }

    fn holds(&mut self, event: &Event<'_>) {
        let line = event.origin.id.0;
        match self.lines.last_mut() {
            Some((_, last)) if *last == line || *last + 1 == line => *last = line,
            _ => self.lines.push((line, line)),
        }
        self.lived |= matches!(
            event.kind,
            Kind::Prompt(_) | Kind::PlanApproval(_) | Kind::Message(_) | Kind::Call(_) | Kind::Says(_)
        );
    }

    /// An event that nothing was said or done by.
    fn bookkeeping(&mut self, event: &Event<'_>) {
        self.holds(event);
        self.ledger.bookkeeping(event);
        if let Some(joint) = &mut self.joint {
            joint.ledger.bookkeeping(event);
        }
    }

    fn event(&mut self, event: &Event<'_>, step: &Step<'_>) {
        self.holds(event);
        if let Step::Ended { call: Some(call), status: Status::Ok, .. } = step {
            self.touched(call);
        }
        match &event.kind {
            Kind::Prompt(prompt) => {
                self.asked.get_or_insert_with(|| topic::asked(prompt.words));
                self.vocabulary.learn(prompt.words);
            }
            Kind::PlanApproval(_) => {
                self.asked.get_or_insert_default();
            }
            _ => {}
        }
        self.ledger.step(event, step);
        if let Some(joint) = &mut self.joint {
            joint.ledger.step(event, step);
        }
    }

    /// Says that nothing more will come. What is only asked of the piece under way need not be kept.
    fn end(&mut self) {
        self.spoken = self.vocabulary.spoken();
        (self.changed, self.folders, self.vocabulary) = Default::default();
        self.stands();
    }

    /// Says that nobody will tell it more, though it may still be asked about.
    fn stands(&mut self) {
        self.ledger.end();
        if let Some(joint) = &mut self.joint {
            joint.ledger.end();
        }
    }

    fn touched(&mut self, call: &OpenCall) {
        let Some(file) = touches(call) else { return };
        if self.touched.insert(file) {
            let (folder, name) = folder_and_name(&call.path);
            let folder = text_hash(folder);
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
            self.vocabulary.learn(name);
        }
        if call.tool.edits() && !self.changed.contains(&call.path) {
            self.changed.push(call.path.clone());
        }
    }

    /// Whether a commit takes in something that the piece changed.
    fn is_committed_by(&self, commit: &Commit) -> bool {
        match commit {
            Commit::Unnamed => !self.changed.is_empty(),
            Commit::Named(names) => names.iter().any(|name| self.changed.iter().any(|path| is_within(path, name))),
        }
    }
}

/// The file that a call reads or edits, hashed.
fn touches(call: &OpenCall) -> Option<u64> {
    call.tool.touches().then(|| call.path_hash())
}

fn folder_and_name(path: &str) -> (&str, &str) {
    path.rsplit_once(['/', '\\']).unwrap_or(("", path))
}

/// How many of the files that a piece touches were touched before.
fn shared(part: &Part, before: &[Part]) -> usize {
    part.touched.iter().filter(|file| before.iter().rev().any(|part| part.touched.contains(file))).count()
}

/// Whether a path is, or lies in, what a command line names.
fn is_within(path: &str, name: &str) -> bool {
    let name = name.trim_start_matches("./").trim_end_matches('/');
    let at_part = |rest: &str| rest.is_empty() || rest.starts_with('/');
    path.match_indices(name).any(|(at, _)| {
        let before = path.get(..at).unwrap_or_default();
        (before.is_empty() || before.ends_with('/') || name.starts_with('/'))
            && at_part(path.get(at + name.len()..).unwrap_or_default())
    })
}

/// A transcript cut into pieces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pieces {
    /// Nothing is cut: the transcript is taken as a whole.
    whole: bool,
    calls: Calls,
    /// The pieces that have ended.
    ended: Vec<Part>,
    current: Part,
    turn: Turn,
    tentative: Option<Box<Tentative>>,
}

/// What the turn under way may lead to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Turn {
    /// Calls without a result.
    open: Vec<Key>,
    /// A commit that ends the piece with the turn.
    commit: Option<EventId>,
}

/// A prompt that looks like another topic, until its files decide.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tentative {
    /// The piece as it was before the prompt.
    before: Part,
    /// The piece that begins with the prompt, if it does.
    after: Part,
}

impl Pieces {
    /// A transcript that is not cut.
    pub fn whole() -> Pieces {
        Pieces { whole: true, ..Pieces::default() }
    }

    /// A transcript that begins with events of another.
    pub fn forked() -> Pieces {
        Pieces { current: Part::new(Opening::Fork), ..Pieces::default() }
    }

    /// Looks at the next event.
    pub fn event(&mut self, event: &Event<'_>, topic: &dyn TopicJudge) {
        if event.kind.tells() {
            return self.told(event, topic);
        }
        // It is no part of a call and ends no piece. Most events are such.
        self.current.bookkeeping(event);
        if let Some(tentative) = self.tentative.as_deref_mut() {
            tentative.after.bookkeeping(event);
        }
    }

    /// An event that something was said or done by. Apart from the rest, which needs none of its room.
    fn told(&mut self, event: &Event<'_>, topic: &dyn TopicJudge) {
        let Pieces { whole, calls, ended, current, turn, tentative } = self;
        let mut cutter = Cutter { ended, current, turn, tentative };
        calls.event(event, |event, step| cutter.step(event, step, (!*whole).then_some(topic)));
    }

    /// Passes over an event of a piece that nobody asks for. What is asked for may be about its calls.
    pub fn pass(&mut self, event: &Event<'_>) {
        self.calls.event(event, |_, _| {});
    }

    /// The pieces so far, in order. There is always one.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &Part> + Clone {
        self.ended.iter().chain([&self.current])
    }

    /// The same, for who has their facts handed over.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        self.ended.iter_mut().chain([&mut self.current])
    }

    /// The facts of a transcript that is not cut, or of the last piece.
    pub fn ledger(&self) -> &Ledger {
        &self.current.ledger
    }

    /// The same, for who has them handed over.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.current.ledger
    }
}

/// [`Pieces`] without the calls, which are being followed while it works.
struct Cutter<'a> {
    ended: &'a mut Vec<Part>,
    current: &'a mut Part,
    turn: &'a mut Turn,
    tentative: &'a mut Option<Box<Tentative>>,
}

impl Cutter<'_> {
    /// Takes in a step. Cuts where `topic` and the rest say so; nowhere without it.
    fn step(&mut self, event: &Event<'_>, step: &Step<'_>, topic: Option<&dyn TopicJudge>) {
        if let Some(topic) = topic {
            self.before(event, topic);
        }
        self.current.event(event, step);
        if let Some(tentative) = self.tentative.as_deref_mut() {
            tentative.after.event(event, step);
        }
        if topic.is_some() {
            self.after(event, step);
        }
    }

    /// Cuts in front of an event, if it ends the piece.
    fn before(&mut self, event: &Event<'_>, topic: &dyn TopicJudge) {
        match &event.kind {
            Kind::Command { name, .. } if name.is("/clear") => {
                self.decide_by_the_end_of_the_turn();
                self.cut(Opening::Clear { event: event.origin.id }, event);
                *self.turn = Turn::default();
            }
            Kind::Prompt(prompt) => {
                let typed = matches!(prompt.via, PromptVia::Typed | PromptVia::Goal);
                let steers = !typed || !self.turn.open.is_empty();
                self.turn.open.clear();
                if !steers {
                    self.turn_opens(event, Some(prompt.words), topic);
                }
            }
            Kind::PlanApproval(_) => {
                self.turn.open.clear();
                self.turn_opens(event, None, topic);
            }
            Kind::Interrupt => self.turn.open.clear(),
            _ => {}
        }
    }

    fn turn_opens(&mut self, event: &Event<'_>, words: Option<&str>, topic: &dyn TopicJudge) {
        self.decide_by_the_end_of_the_turn();
        let commit = self.turn.commit.take();
        let known = match event.origin.key.filter(|_| words.is_some() && self.may_turn_to_another(event)) {
            Some(key) => topic.known(key),
            None => Known::Nothing,
        };
        // Where both are so, the topic is the reason: what belongs to another goal is not joined again.
        if let Known::Other { sure } = known {
            return self.cut(Opening::Judged { sure }, event);
        }
        if let Some(commit) = commit {
            return self.cut(Opening::Commit { event: commit }, event);
        }
        let Some(prompt) = words.filter(|_| !self.current.touched.is_empty() && !self.shares_a_line(event)) else {
            return;
        };
        if known == Known::Same || !topic.may_shift(prompt) {
            return;
        }
        let Part { ledger, vocabulary, .. } = &*self.current;
        let answer = || ledger.last_answer().unwrap_or_default();
        if let Some(shift) = topic.shift(Question { vocabulary, answer: &answer, prompt }) {
            let (mut before, after) = (self.current.clone(), Part::new(Opening::Topic { shift }));
            before.stands();
            *self.tentative = Some(Box::new(Tentative { before, after }));
        }
    }

    /// Notes what came of an event.
    fn after(&mut self, event: &Event<'_>, step: &Step<'_>) {
        match step {
            Step::Called(call) if !event.origin.sidechain => self.turn.open.push(call.key),
            Step::Ended { call: Some(call), status, .. } => {
                self.turn.open.retain(|key| *key != call.key);
                if *status == Status::Ok {
                    self.done(call);
                }
            }
            _ => {}
        }
    }

    fn done(&mut self, call: &OpenCall) {
        // The first commit of a turn counts.
        if call.command.commits
            && self.turn.commit.is_none()
            && let Some(commit) = shell::commit(&call.command.text)
        {
            let part = self.tentative.as_ref().map_or(&*self.current, |tentative| &tentative.after);
            if part.is_committed_by(&commit) || self.current.is_committed_by(&commit) {
                self.turn.commit = Some(call.id);
            }
        }
        if touches(call).is_some()
            && self.tentative.as_ref().is_some_and(|tentative| tentative.after.touched.len() >= FILES_DECIDE)
        {
            self.decide();
        }
        if touches(call).is_some() && self.has_turned_away() {
            self.current.joint = None;
        }
    }

    /// Whether the piece under way has touched so many other files by now that it will hardly be joined to those before.
    fn has_turned_away(&mut self) -> bool {
        let files = self.current.touched.len();
        let Some(joint) = self.current.joint.as_deref_mut().filter(|joint| files >= 2 * joint.asked) else {
            return false;
        };
        joint.asked = files;
        let before = &self.ended[joint.first..];
        !is_enough(shared(self.current, before) + FILES_TURN_IT, files)
    }

    fn decide_by_the_end_of_the_turn(&mut self) {
        if self.tentative.as_ref().is_some_and(|tentative| !tentative.after.touched.is_empty()) {
            self.decide();
        }
        *self.tentative = None;
    }

    /// Cuts if all that was touched since is elsewhere: other files, in other folders.
    fn decide(&mut self) {
        let Some(tentative) = self.tentative.take() else { return };
        let Tentative { mut before, after } = *tentative;
        let same_folder = after.folders.iter().any(|folder| before.folders.contains(folder));
        if after.touched.is_disjoint(&before.touched) && !same_folder {
            *self.current = after;
            before.end();
            self.ended.push(before);
        }
    }

    /// Ends the piece, unless nothing has happened in it yet: then only the reason is another.
    fn cut(&mut self, opening: Opening, event: &Event<'_>) {
        if !self.current.lived {
            if self.current.opened == Opening::Transcript {
                self.current.opened = opening;
            }
        } else if !self.shares_a_line(event) {
            self.ended.push(std::mem::replace(self.current, Part::new(opening)));
            self.current.joint = if opening.may_rejoin() { self.joint(event) } else { None };
            self.ended.last_mut().into_iter().for_each(Part::end);
        }
    }

    /// What a piece that begins with an event is probably joined to: the run so far, if it has only just ended. Reading it
    /// all again as one session is then spared.
    fn joint(&mut self, event: &Event<'_>) -> Option<Box<Joint>> {
        let number = self.ended.len() - 1;
        let is_joined = |joint: &Joint| {
            let (before, last) = (&self.ended[joint.first..number], &self.ended[number]);
            is_enough(shared(last, before), last.touched.len())
        };
        if self.ended[number].joint.as_deref().is_some_and(is_joined) {
            // The run goes on here: what it was before is no session any more.
            self.ended[number - 1].joint = None;
        } else {
            self.ended[number].joint = None;
        }
        let last = &self.ended[number];
        let gap_ms = event.origin.at?.0 - last.ledger.identity().to?.0;
        if !(0..=GAP_MS).contains(&gap_ms) {
            return None;
        }
        let (first, ledger) = match last.joint.as_deref() {
            Some(joint) => (joint.first, &joint.ledger),
            None => (number, &last.ledger),
        };
        Some(Box::new(Joint { first, ledger: ledger.clone(), asked: FILES_TURN_IT + 1 }))
    }

    /// Whether there is something before a prompt that it could turn away from.
    fn may_turn_to_another(&self, event: &Event<'_>) -> bool {
        self.current.lived && !self.shares_a_line(event)
    }

    /// Records glued on one line stay together: a piece is made of whole lines.
    fn shares_a_line(&self, event: &Event<'_>) -> bool {
        self.current.lines.last().is_some_and(|(_, last)| *last == event.origin.id.0)
    }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod prism_boundaries;
