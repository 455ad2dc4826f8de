//! What is kept of a transcript that was read: its pieces, and a graded session for each.

use super::Setup;
use crate::sources::claude_code::read::{Reading, Transcript};
use crate::sources::claude_code::role;
use crate::stores::{Entry, FileState, Graded, Joined, Role, StoredPart};
use hotwash_core::facts::{Cited, Facts, Identity, Ledger};
use hotwash_core::outcomes::summary::{Summary, Told};
use hotwash_core::outcomes::{self};
use hotwash_core::redaction::{Redacted, Rules, redact, redact_facts, redact_known};
use hotwash_core::scores::offline;
use hotwash_core::sessions::joining::runs;
use hotwash_core::sessions::{Part, Piece, Session, SessionId, SessionKind, Timestamp};

/// A session in which something happened within this time may still be going on.
const QUIET_MS: i64 = 30 * 60 * 1000;
/// Stands for the decoder of such a transcript, so that it is read again next time.
const STILL_RUNNING: u32 = 0;
/// A title is at most this long.
const TITLE_CHARS: usize = 120;

/// What is kept of a transcript. Its role is found out unless it is known.
pub(super) fn entry(
    mut file: FileState,
    known: Option<Role>,
    is_new: bool,
    transcript: &mut Transcript,
    setup: &Setup<'_>,
) -> Entry {
    let finished: Vec<Finished> =
        transcript.pieces.parts_mut().map(|part| Finished::of(&mut part.ledger, setup)).collect();
    let mut parts: Vec<&mut Part> = transcript.pieces.parts_mut().collect();
    if let Some((Finished { facts: last, .. }, part)) = finished.last().zip(parts.last())
        && !(last.ending.ended_on_open_calls.is_empty() && last.ending.ended_without_answer.is_empty())
        && is_fresh(&part.ledger.identity(), setup)
    {
        // The agent may be at it (see `graded`): it is looked at again once it is quiet.
        file.decoder = STILL_RUNNING;
    }
    let role = known.unwrap_or_else(|| {
        let pieces: Vec<(&Part, &Facts)> =
            parts.iter().map(|part| &**part).zip(finished.iter().map(|finished| &finished.facts)).collect();
        role(file.path.as_ref(), &transcript.reading, &pieces)
    });
    let mut joined = Vec::new();
    let (mut pieces, mut parts_of, mut sessions, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    if let Some(kind) = role.session() {
        for (n, (part, finished)) in parts.iter().zip(finished).enumerate().filter(|(_, (part, _))| part.has_lived()) {
            keys.extend(part.ledger.keys());
            pieces.push(part.piece());
            parts_of.push((n, finished));
        }
        let joined_at = if kind == SessionKind::Main { within(&file, &mut parts, &pieces, setup) } else { Vec::new() };
        // Pieces that nobody knows yet are put together at once. They are hardly ever parted again.
        let is_joined =
            |at: usize| joined_at.iter().any(|(first, joined)| (*first..first + joined.parts.len()).contains(&at));
        for (at, (n, finished)) in parts_of.into_iter().enumerate().filter(|(at, _)| !(is_new && is_joined(*at))) {
            let next = pieces.get(at + 1);
            let mut graded = graded(kind, &pieces[at], next, &parts[n].ledger, finished, setup);
            graded.session.open = next.is_none();
            sessions.push(graded);
        }
        joined.extend(joined_at.into_iter().map(|(_, joined)| joined));
        keys.sort_unstable();
        keys.dedup();
    }
    Entry { file, role, is_new, reading: stored(&transcript.reading), keys, pieces, sessions, joined }
}

/// The sessions that pieces of one transcript make up, as if there were no others in their folder, each with the place
/// of its first piece.
fn within(file: &FileState, parts: &mut [&mut Part], pieces: &[Piece], setup: &Setup<'_>) -> Vec<(usize, Joined)> {
    let one_folder = pieces.windows(2).all(|pair| pair[0].folder == pair[1].folder);
    if pieces.len() < 2 || !one_folder {
        return Vec::new();
    }
    let mut joined = Vec::new();
    for run in runs(&pieces.iter().collect::<Vec<_>>()) {
        let (first, last) = (run.pieces[0], run.pieces[run.pieces.len() - 1]);
        let in_order = run.pieces.iter().copied().eq(first..=last);
        let Some(ledger) = parts[last].joint(first).filter(|_| in_order && last > first) else { continue };
        let next = pieces.get(last + 1);
        let finished = Finished::of(ledger, setup);
        let mut graded = graded(SessionKind::Main, &pieces[first], next, ledger, finished, setup);
        graded.session.open = next.is_none();
        let mut of_run: Vec<StoredPart> = pieces[first..=last]
            .iter()
            .map(|piece| StoredPart::of(&file.path, file.version, &graded.session.recorded, piece))
            .collect();
        for (part, join) in of_run[1..].iter_mut().zip(&run.joins) {
            part.joined = Some(*join);
        }
        joined.push((first, Joined { graded, parts: of_run }));
    }
    joined
}

/// What came of a ledger: the facts, and the agent's last words, which they go by.
pub(super) struct Finished {
    facts: Facts,
    answer: Option<String>,
}

impl Finished {
    /// What comes of a ledger.
    pub(super) fn of(ledger: &mut Ledger, setup: &Setup<'_>) -> Finished {
        let answer = ledger.last_answer();
        Finished { facts: ledger.hand_over(setup.prices, answer.as_deref()), answer }
    }
}

/// The session that begins with a piece, from the facts of that piece and of those that were joined to it. `next` is the
/// piece that follows in the same transcript: how it opens is the last word on this one.
pub(super) fn graded(
    kind: SessionKind,
    first: &Piece,
    next: Option<&Piece>,
    ledger: &Ledger,
    finished: Finished,
    setup: &Setup<'_>,
) -> Graded {
    let Finished { mut facts, answer } = finished;
    let identity = ledger.identity();
    let words = ledger.words();
    facts.signals.followed_by = next.and_then(|next| next.reaction.clone());
    if is_fresh(&identity, setup) {
        // A call without a result, or a result without an answer, is no end yet.
        facts.ending.ended_on_open_calls = Cited::default();
        facts.ending.ended_without_answer = Cited::default();
    }
    let outcome = outcomes::offline(&facts);
    let redacted = |words: Option<&String>| words.map(|words| redact(words, setup.rules));
    let given = redacted(words.title.as_ref());
    let asked = redacted(words.first_prompt.as_ref().or(words.task.as_ref()));
    let answer = redacted(answer.as_ref());
    let told = Told {
        title: given.as_ref().map(Redacted::as_str),
        first_prompt: asked.as_ref().map(Redacted::as_str),
        last_answer: answer.as_ref().map(Redacted::as_str),
    };
    let Summary { title, paragraph } = Summary::of(&told, &facts, &outcome);
    let title = match given {
        Some(given) if given.as_str() == title => given,
        _ => redact(&title, setup.rules),
    };
    let session = Session {
        id: SessionId::of(first.first),
        kind,
        recorded: identity.session.unwrap_or_default().to_owned(),
        agent: identity.agent.map(str::to_owned),
        project: redact_known(identity.cwd.unwrap_or_default(), setup.rules),
        title: one_line(title, setup.rules),
        summary: redact(&paragraph, setup.rules),
        from: identity.from,
        to: identity.to,
        open: false,
        facts: redact_facts(facts, setup.rules),
        progress: ledger.subagents(setup.prices),
    };
    // Redaction changes no fact that the outcome goes by.
    let grade = offline::grade_as(session.facts.get(), &outcome, setup.rubric);
    Graded { session, grade, outcome, print: ledger.fingerprint() }
}

/// Whether something happened so lately that the agent may still be at it.
fn is_fresh(identity: &Identity<'_>, setup: &Setup<'_>) -> bool {
    let age_ms = |to: Timestamp| (setup.now_ns / 1_000_000).saturating_sub(to.0);
    identity.to.is_some_and(|to| (-QUIET_MS..QUIET_MS).contains(&age_ms(to)))
}

/// Folds white space, then shortens: redacted text may be cut, raw text may not.
fn one_line(text: Redacted<String>, rules: &Rules) -> Redacted<String> {
    let is_folded = text.as_str().split(' ').all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    let line =
        if is_folded { text } else { redact(&text.as_str().split_whitespace().collect::<Vec<_>>().join(" "), rules) };
    line.shorten(TITLE_CHARS)
}

/// What reading had to say, as JSON; nothing where all was sound.
fn stored(reading: &Reading) -> String {
    if (Reading { lines: 0, ..*reading }) == Reading::default() {
        return String::new();
    }
    serde_json::to_string(reading).unwrap_or_default()
}
