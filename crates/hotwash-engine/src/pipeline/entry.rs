//! What is kept of a transcript that was read: its pieces, and a graded session for each, or for several that belong
//! together.

use super::Setup;
use crate::sources::reader::{Reading, Transcript};
use crate::stores::{Entry, FileState, Graded, Role, StoredPart};
use hotwash_core::facts::{Cited, Facts, Identity, Ledger, Words};
use hotwash_core::outcomes::summary::{Summary, Told};
use hotwash_core::outcomes::{self, Outcome};
use hotwash_core::redaction::{Redacted, Rules, redact, redact_facts, redact_known, redact_text};
use hotwash_core::rework::Fingerprint;
use hotwash_core::scores::offline;
use hotwash_core::sessions::joining::runs;
use hotwash_core::sessions::{Part, Piece, Session, SessionId, SessionKind, Timestamp};
use std::sync::Arc;

/// A session in which something happened within this time may still be going on.
const QUIET_MS: i64 = 30 * 60 * 1000;
/// Stands for the decoder of such a transcript, so that it is read again next time.
const STILL_RUNNING: u32 = 0;
/// A title is at most this long.
const TITLE_CHARS: usize = 120;

/// What is kept of a transcript. Its role is given if that need not be found out.
pub(super) fn entry(
    mut file: FileState,
    known: Option<Role>,
    mut transcript: Box<Transcript>,
    setup: &Setup<'_>,
) -> Entry {
    let reading = stored(&transcript.reading);
    let mut parts: Vec<&mut Part> = transcript.pieces.parts_mut().collect();
    let finished: Vec<Finished> = parts.iter().map(|part| Finished::of(&part.ledger, setup)).collect();
    if let Some((Finished { facts: last, .. }, part)) = finished.last().zip(parts.last())
        && !(last.ending.ended_on_open_calls.is_empty() && last.ending.ended_without_answer.is_empty())
        && is_fresh(&part.ledger.identity(), setup)
    {
        // The agent may be at it (see `graded`): it is looked at again once it is quiet.
        file.decoder = STILL_RUNNING;
    }
    let role = known.unwrap_or_else(|| {
        let pieces: Vec<(&Part, &Facts)> =
            parts.iter().map(|part| &**part).zip(finished.iter().map(|finished| &*finished.facts)).collect();
        transcript.agent.role(file.path.as_ref(), &transcript.reading, &pieces)
    });
    let mut entry = Entry { file, role, reading, keys: Vec::new(), pieces: Vec::new(), sessions: Vec::new() };
    let Some(kind) = role.session() else { return entry };
    let mut lived = Vec::with_capacity(parts.len());
    for (n, (part, finished)) in parts.iter().zip(finished).enumerate().filter(|(_, (part, _))| part.has_lived()) {
        entry.keys.extend(part.ledger.keys());
        entry.pieces.push(part.piece());
        lived.push((n, finished));
    }
    entry.keys.sort_unstable();
    entry.keys.dedup();
    let joined = match kind {
        SessionKind::Main => within(&entry.file, &mut parts, &entry.pieces, setup),
        SessionKind::Subagent => Vec::new(),
    };
    let (mut joined, mut from) = (joined.into_iter().peekable(), 0);
    for (at, (n, finished)) in lived.into_iter().enumerate() {
        if at < from {
            continue; // it is in the session before
        }
        let first = &entry.pieces[at];
        if let Some(Within { last, finished, parts: of_run, .. }) = joined.next_if(|run| run.first == at)
            && let Some(ledger) = parts[last].joint_mut(at)
        {
            let next = entry.pieces.get(last + 1);
            entry.sessions.push(graded(kind, of_run, first, next, ledger, finished, setup));
            from = last + 1;
            continue;
        }
        let ledger = &mut parts[n].ledger;
        let recorded = ledger.identity().session.unwrap_or_default();
        let part = StoredPart::of(&entry.file.path, entry.file.version, recorded, first);
        entry.sessions.push(graded(kind, vec![part], first, entry.pieces.get(at + 1), ledger, finished, setup));
    }
    entry
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
    joined.sort_by_key(|run| run.first);
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

/// The session that begins with a piece, from the facts of that piece and of those that were joined to it, with what the
/// offline judge says of it. `next` is the piece that follows in the same transcript: how it opens is the last word on
/// this one.
pub(super) fn graded(
    kind: SessionKind,
    parts: Vec<StoredPart>,
    first: &Piece,
    next: Option<&Piece>,
    ledger: &mut Ledger,
    finished: Finished,
    setup: &Setup<'_>,
) -> Graded {
    let Finished { mut facts, answer } = finished;
    let Words { title, first_prompt, wanted, task } = ledger.words().clone();
    let identity = ledger.identity();
    let own = Arc::make_mut(&mut facts);
    own.signals.followed_by = next.and_then(|next| next.reaction.clone());
    if is_fresh(&identity, setup) {
        // A call without a result, or a result without an answer, is no end yet.
        own.ending.ended_on_open_calls = Cited::default();
        own.ending.ended_without_answer = Cited::default();
    }
    // The outcome repeats what the client said of a goal, which is redacted before.
    let facts = redact_facts(facts, setup.rules);
    let outcome = outcomes::offline(facts.get());
    let asked = first_prompt.or(task);
    let raw = [title, asked, wanted, answer];
    let (title, summary) = told(raw.each_ref().map(Option::as_deref), facts.get(), &outcome, setup.rules);
    let session = Session {
        id: SessionId::of(first.first),
        kind,
        recorded: identity.session.unwrap_or_default().to_owned(),
        agent: identity.agent.map(str::to_owned),
        project: redact_known(identity.cwd.unwrap_or_default(), setup.rules),
        title,
        summary,
        from: identity.from,
        to: identity.to,
        open: next.is_none(),
        facts,
        progress: ledger.subagents(setup.prices),
    };
    let grade = offline::Judge::new(setup.rubric).grade(session.facts.get(), &outcome);
    let print = match kind {
        SessionKind::Main => ledger.fingerprint(),
        // What a subagent added and removed counts for nothing by itself.
        SessionKind::Subagent => Fingerprint::default(),
    };
    Graded { session, grade, outcome, print, parts }
}

/// The title and the paragraph that tell a session, given its raw words (its name, what was asked for at first, the first
/// words that say what is wanted, the answer): redacted, and redacted once more where they are other words then.
fn told(
    raw: [Option<&str>; 4],
    facts: &Facts,
    outcome: &Outcome,
    rules: &Rules,
) -> (Redacted<String>, Redacted<String>) {
    let redacted = |words| redact_text(words, rules);
    let [given, asked, wanted, answer] = raw.map(|words| words.map(redacted));
    let told = Told {
        title: given.as_ref().map(Redacted::as_str),
        first_prompt: asked.as_ref().map(Redacted::as_str),
        wanted: wanted.as_ref().map(Redacted::as_str),
        last_answer: answer.as_ref().map(Redacted::as_str),
    };
    let Summary { title, paragraph } = Summary::of(&told, facts, outcome);
    let title = match given {
        Some(given) if given.as_str() == title => given.into_owned(),
        _ => redact_text(title, rules).into_owned(),
    };
    (one_line(title, rules), redact_text(paragraph, rules).into_owned())
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
