//! What is kept of transcripts that were read: their pieces, and a graded session for each.
//!
//! What was noted of a transcript is summed up as soon as it was read (`Read::begin`), while it is in the processor's cache,
//! and takes little room from there on. The sessions of several transcripts are then judged together, one stage after the
//! other: all the code that a session meets on its way is ten times what the cache of instructions holds, that of one stage
//! mostly fits.

use super::Setup;
use crate::sources::claude_code::read::{Reading, Transcript};
use crate::sources::claude_code::role;
use crate::stores::{Entry, FileState, Graded, Joined, Role, StoredPart};
use hotwash_core::facts::{Cited, Cost, Facts, Identity, Ledger, Tokens, Words};
use hotwash_core::outcomes::summary::{Summary, Told};
use hotwash_core::outcomes::{self, Outcome};
use hotwash_core::redaction::{Redacted, Rules, redact, redact_facts, redact_known, redact_text};
use hotwash_core::rework::Fingerprint;
use hotwash_core::scores::{Grade, offline};
use hotwash_core::sessions::joining::runs;
use hotwash_core::sessions::{Key, Part, Piece, Session, SessionId, SessionKind, Timestamp};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session in which something happened within this time may still be going on.
const QUIET_MS: i64 = 30 * 60 * 1000;
/// Stands for the decoder of such a transcript, so that it is read again next time.
const STILL_RUNNING: u32 = 0;
/// A title is at most this long.
const TITLE_CHARS: usize = 120;

/// A transcript that was read.
pub(super) struct Read {
    pub(super) file: FileState,
    /// Its role, if that need not be found out.
    pub(super) role: Option<Role>,
    /// Nothing of it was kept before.
    pub(super) is_new: bool,
    pub(super) transcript: Box<Transcript>,
}

impl Read {
    /// What is kept of it.
    pub(super) fn entry(self, setup: &Setup<'_>) -> Option<Entry> {
        entries(vec![self.begin(setup)], setup).pop()
    }

    /// What is kept of it, still without its sessions, and what those are to be judged by. All else that was noted while
    /// reading is let go of, as long as the processor's cache has it.
    pub(super) fn begin(self, setup: &Setup<'_>) -> Begun {
        let Read { mut file, role: known, is_new, mut transcript } = self;
        let reading = stored(&transcript.reading);
        let mut parts: Vec<&mut Part> = transcript.pieces.parts_mut().collect();
        let finished: Vec<Finished> = parts.iter().map(|part| Finished::of(&part.ledger, setup)).collect();
        if let Some((Finished { facts: last, .. }, part)) = finished.last().zip(parts.last())
            && !(last.ending.ended_on_open_calls.is_empty() && last.ending.ended_without_answer.is_empty())
            && is_fresh(&part.ledger.identity(), setup)
        {
            // The agent may be at it (see `Draft::new`): it is looked at again once it is quiet.
            file.decoder = STILL_RUNNING;
        }
        let role = known.unwrap_or_else(|| {
            let pieces: Vec<(&Part, &Facts)> =
                parts.iter().map(|part| &**part).zip(finished.iter().map(|finished| &*finished.facts)).collect();
            role(file.path.as_ref(), &transcript.reading, &pieces)
        });
        // Nearly always there is one piece, and a list that grows has room for four at once.
        let (mut keys, mut pieces, mut drafts) = (Vec::new(), Vec::with_capacity(parts.len()), Vec::new());
        if let Some(kind) = role.session() {
            let mut lived = Vec::with_capacity(parts.len());
            for (n, (part, finished)) in
                parts.iter().zip(finished).enumerate().filter(|(_, (part, _))| part.has_lived())
            {
                keys.extend(part.ledger.keys());
                pieces.push(part.piece());
                lived.push((n, finished));
            }
            keys.sort_unstable();
            keys.dedup();
            let joined = if kind == SessionKind::Main { within(&file, &mut parts, &pieces, setup) } else { Vec::new() };
            // Pieces that nobody knows yet are put together at once. They are hardly ever parted again.
            let is_joined = |at: usize| joined.iter().any(|run| (run.first..=run.last).contains(&at));
            drafts.reserve_exact(lived.len());
            for (at, (n, finished)) in lived.into_iter().enumerate().filter(|(at, _)| !(is_new && is_joined(*at))) {
                let next = pieces.get(at + 1);
                drafts.push((Draft::new(kind, &pieces[at], next, &mut parts[n].ledger, finished, setup), None));
            }
            for Within { first, last, finished, parts: of_run } in joined {
                let Some(ledger) = parts[last].joint_mut(first) else { continue };
                let next = pieces.get(last + 1);
                drafts.push((Draft::new(kind, &pieces[first], next, ledger, finished, setup), Some(of_run)));
            }
        }
        let entry = Entry { file, role, is_new, reading, keys, pieces, sessions: Vec::new(), joined: Vec::new() };
        Begun { entry, drafts }
    }
}

/// What is kept of a transcript, but for the sessions.
pub(super) struct Begun {
    entry: Entry,
    /// Those, each with its pieces where it is made of several.
    drafts: Vec<(Draft, Option<Vec<StoredPart>>)>,
}

impl Begun {
    /// Where the transcript is.
    pub(super) fn path(&self) -> &str {
        &self.entry.file.path
    }
}

/// What is kept of transcripts, in their order.
pub(super) fn entries(begun: Vec<Begun>, setup: &Setup<'_>) -> Vec<Entry> {
    let sessions = begun.iter().map(|begun| begun.drafts.len()).sum();
    let (mut drafts, mut places) = (Vec::with_capacity(sessions), Vec::with_capacity(sessions));
    let mut entries = Vec::with_capacity(begun.len());
    for (at, Begun { mut entry, drafts: of_entry }) in begun.into_iter().enumerate() {
        entry.sessions.reserve_exact(of_entry.len());
        entries.push(entry);
        for (draft, joined) in of_entry {
            drafts.push(draft);
            places.push((at, joined));
        }
    }
    for ((at, joined), graded) in places.into_iter().zip(graded(drafts, setup)) {
        match joined {
            Some(parts) => entries[at].joined.push(Joined { graded, parts }),
            None => entries[at].sessions.push(graded),
        }
    }
    entries
}

/// A session that pieces of one transcript make up, as if there were no others in their folder.
struct Within {
    first: usize,
    last: usize,
    finished: Finished,
    parts: Vec<StoredPart>,
}

/// The sessions that pieces of this transcript make up.
fn within(file: &FileState, parts: &mut [&mut Part], pieces: &[Piece], setup: &Setup<'_>) -> Vec<Within> {
    let one_folder = pieces.windows(2).all(|pair| pair[0].folder == pair[1].folder);
    if pieces.len() < 2 || !one_folder {
        return Vec::new();
    }
    let mut joined = Vec::new();
    for run in runs(&pieces.iter().collect::<Vec<_>>()) {
        let (first, last) = (run.pieces[0], run.pieces[run.pieces.len() - 1]);
        let in_order = run.pieces.iter().copied().eq(first..=last);
        let Some(ledger) = parts[last].joint_mut(first).filter(|_| in_order && last > first) else { continue };
        let finished = Finished::of(ledger, setup);
        let recorded = ledger.identity().session.unwrap_or_default();
        let mut of_run: Vec<StoredPart> = pieces[first..=last]
            .iter()
            .map(|piece| StoredPart::of(&file.path, file.version, recorded, piece))
            .collect();
        for (part, join) in of_run[1..].iter_mut().zip(&run.joins) {
            part.joined = Some(*join);
        }
        joined.push(Within { first, last, finished, parts: of_run });
    }
    joined
}

/// What came of a ledger: the facts, and the agent's last words, which they go by.
pub(super) struct Finished {
    /// Where they stay: they are large.
    facts: Arc<Facts>,
    answer: Option<String>,
}

impl Finished {
    /// What comes of a ledger.
    pub(super) fn of(ledger: &Ledger, setup: &Setup<'_>) -> Finished {
        Finished { facts: Arc::new(ledger.finish(setup.prices)), answer: ledger.last_answer() }
    }
}

/// A session that is yet to be judged.
pub(super) struct Draft {
    kind: SessionKind,
    first: Key,
    recorded: String,
    agent: Option<String>,
    project: Redacted<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    open: bool,
    facts: Arc<Facts>,
    progress: BTreeMap<String, (Tokens, Cost)>,
    print: Fingerprint,
    /// Raw, like those below.
    title: Option<String>,
    /// What was asked for at first.
    asked: Option<String>,
    answer: Option<String>,
}

impl Draft {
    /// The session that begins with a piece, from the facts of that piece and of those that were joined to it. `next` is
    /// the piece that follows in the same transcript: how it opens is the last word on this one.
    pub(super) fn new(
        kind: SessionKind,
        first: &Piece,
        next: Option<&Piece>,
        ledger: &mut Ledger,
        finished: Finished,
        setup: &Setup<'_>,
    ) -> Draft {
        let Finished { mut facts, answer } = finished;
        let Words { title, first_prompt, task } = ledger.words().clone();
        let identity = ledger.identity();
        let own = Arc::make_mut(&mut facts);
        own.signals.followed_by = next.and_then(|next| next.reaction.clone());
        if is_fresh(&identity, setup) {
            // A call without a result, or a result without an answer, is no end yet.
            own.ending.ended_on_open_calls = Cited::default();
            own.ending.ended_without_answer = Cited::default();
        }
        Draft {
            kind,
            first: first.first,
            recorded: identity.session.unwrap_or_default().to_owned(),
            agent: identity.agent.map(str::to_owned),
            project: redact_known(identity.cwd.unwrap_or_default(), setup.rules),
            from: identity.from,
            to: identity.to,
            open: next.is_none(),
            facts,
            progress: ledger.subagents(setup.prices),
            print: match kind {
                SessionKind::Main => ledger.fingerprint(),
                // What a subagent added and removed counts for nothing by itself.
                SessionKind::Subagent => Fingerprint::default(),
            },
            title,
            asked: first_prompt.or(task),
            answer,
        }
    }

    /// Its words, redacted.
    fn words<'d>(&'d self, rules: &Rules) -> RedactedWords<'d> {
        let redacted = |words: &'d String| redact_text(words, rules);
        RedactedWords {
            title: self.title.as_ref().map(redacted),
            asked: self.asked.as_ref().map(redacted),
            answer: self.answer.as_ref().map(redacted),
        }
    }

    /// The session, and what it did to its repository.
    fn into_session(
        self,
        title: Redacted<String>,
        summary: Redacted<String>,
        setup: &Setup<'_>,
    ) -> (Session, Fingerprint) {
        let Draft { kind, first, recorded, agent, project, from, to, open, facts, progress, print, .. } = self;
        let id = SessionId::of(first);
        let facts = redact_facts(facts, setup.rules);
        (Session { id, kind, recorded, agent, project, title, summary, from, to, open, facts, progress }, print)
    }
}

/// What a session is told by.
struct RedactedWords<'t> {
    title: Option<Redacted<Cow<'t, str>>>,
    asked: Option<Redacted<Cow<'t, str>>>,
    answer: Option<Redacted<Cow<'t, str>>>,
}

impl RedactedWords<'_> {
    /// The title and the paragraph, redacted once more where they are other words.
    fn summary(self, facts: &Facts, outcome: &Outcome, rules: &Rules) -> (Redacted<String>, Redacted<String>) {
        let told = Told {
            title: self.title.as_ref().map(Redacted::as_str),
            first_prompt: self.asked.as_ref().map(Redacted::as_str),
            last_answer: self.answer.as_ref().map(Redacted::as_str),
        };
        let Summary { title, paragraph } = Summary::of(&told, facts, outcome);
        let title = match self.title {
            Some(given) if given.as_str() == title => given.into_owned(),
            _ => redact_text(title, rules).into_owned(),
        };
        (one_line(title, rules), redact_text(paragraph, rules).into_owned())
    }
}

/// Sessions with what the offline judge says of them.
pub(super) fn graded(drafts: Vec<Draft>, setup: &Setup<'_>) -> Vec<Graded> {
    let outcomes: Vec<Outcome> = drafts.iter().map(|draft| outcomes::offline(&draft.facts)).collect();
    let words: Vec<RedactedWords<'_>> = drafts.iter().map(|draft| draft.words(setup.rules)).collect();
    let summaries: Vec<_> = words
        .into_iter()
        .zip(drafts.iter().zip(&outcomes))
        .map(|(words, (draft, outcome))| words.summary(&draft.facts, outcome, setup.rules))
        .collect();
    let sessions: Vec<(Session, Fingerprint)> = drafts
        .into_iter()
        .zip(summaries)
        .map(|(draft, (title, summary))| draft.into_session(title, summary, setup))
        .collect();
    // Redaction changes no fact that the outcome goes by.
    let judge = offline::Judge::new(setup.rubric);
    let grades: Vec<Grade> = sessions
        .iter()
        .zip(&outcomes)
        .map(|((session, _), outcome)| judge.grade(session.facts.get(), outcome))
        .collect();
    let of_each = sessions.into_iter().zip(grades).zip(outcomes);
    of_each.map(|(((session, print), grade), outcome)| Graded { session, grade, outcome, print }).collect()
}

/// Whether something happened so lately that the agent may still be at it.
fn is_fresh(identity: &Identity<'_>, setup: &Setup<'_>) -> bool {
    let age_ms = |to: Timestamp| (setup.now_ns / 1_000_000).saturating_sub(to.0);
    identity.to.is_some_and(|to| (-QUIET_MS..QUIET_MS).contains(&age_ms(to)))
}

/// Folds white space, then shortens: redacted text may be cut, raw text may not.
fn one_line(text: Redacted<String>, rules: &Rules) -> Redacted<String> {
    let mut before = ' ';
    let is_folded = text.as_str().chars().all(|c| {
        let is_after_space = std::mem::replace(&mut before, c) == ' ';
        !c.is_whitespace() || c == ' ' && !is_after_space
    });
    let line = if is_folded && before != ' ' {
        text
    } else {
        redact(&text.as_str().split_whitespace().collect::<Vec<_>>().join(" "), rules)
    };
    line.shorten(TITLE_CHARS)
}

/// What reading had to say, as JSON; nothing where all was sound.
fn stored(reading: &Reading) -> String {
    if (Reading { lines: 0, ..*reading }) == Reading::default() {
        return String::new();
    }
    serde_json::to_string(reading).unwrap_or_default()
}
