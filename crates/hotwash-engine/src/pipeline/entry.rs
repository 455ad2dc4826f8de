//! What is kept of a transcript that was read: its pieces, and a graded session for each.

use super::Setup;
use crate::sources::claude_code::read::{Reading, Transcript};
use crate::sources::claude_code::role;
use crate::stores::{Entry, FileState, Graded, Role};
use hotwash_core::facts::{Cited, Facts, Ledger};
use hotwash_core::redaction::{Redacted, Rules, redact, redact_facts};
use hotwash_core::scores::offline;
use hotwash_core::sessions::{Part, Piece, Session, SessionId, SessionKind};

/// A call without a result in a transcript that was written within this time may still be going on.
const QUIET_NS: i64 = 30 * 60 * 1_000_000_000;
/// Stands for the decoder of such a transcript, so that it is read again next time.
const STILL_RUNNING: u32 = 0;
/// A title is at most this long.
const TITLE_CHARS: usize = 120;

/// What is kept of a transcript. Its role is found out unless it is known.
pub(super) fn entry(mut file: FileState, known: Option<Role>, transcript: &Transcript, setup: &Setup<'_>) -> Entry {
    let parts: Vec<&Part> = transcript.pieces.parts().collect();
    let mut facts: Vec<Facts> = parts.iter().map(|part| part.ledger.finish(setup.prices)).collect();
    if let Some(last) = facts.last_mut()
        && !last.ending.ended_on_open_calls.is_empty()
        && setup.now_ns.saturating_sub(file.mtime_ns) < QUIET_NS
    {
        // A call without a result is no end yet: the agent may be at it. It is looked at again once it is quiet.
        last.ending.ended_on_open_calls = Cited::default();
        file.decoder = STILL_RUNNING;
    }
    let role = known.unwrap_or_else(|| {
        let pieces: Vec<(&Part, &Facts)> = parts.iter().copied().zip(&facts).collect();
        role(file.path.as_ref(), &transcript.reading, &pieces)
    });
    let (mut pieces, mut sessions, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(kind) = role.session() {
        for (part, facts) in parts.iter().zip(facts).filter(|(part, _)| part.has_lived()) {
            let piece = part.piece();
            sessions.push(graded(kind, &piece, &part.ledger, facts, setup));
            pieces.push(piece);
            keys.extend(part.ledger.keys());
        }
        if let Some(last) = sessions.last_mut() {
            last.session.open = true;
        }
        keys.sort_unstable();
        keys.dedup();
    }
    Entry { file, role, is_new: false, reading: stored(&transcript.reading), keys, pieces, sessions }
}

/// The session that begins with a piece, from the facts of that piece and of those that were joined to it.
pub(super) fn graded(kind: SessionKind, first: &Piece, ledger: &Ledger, facts: Facts, setup: &Setup<'_>) -> Graded {
    let identity = ledger.identity();
    let words = ledger.words();
    let title = [&words.title, &words.first_prompt, &words.task, &words.last_answer].into_iter().flatten().next();
    let title = redact(title.map_or("", String::as_str), setup.rules);
    let session = Session {
        id: SessionId::of(first.first),
        kind,
        recorded: identity.session.unwrap_or_default(),
        agent: identity.agent,
        project: redact(identity.cwd.as_deref().unwrap_or_default(), setup.rules),
        title: one_line(&title, setup.rules),
        from: identity.from,
        to: identity.to,
        open: false,
        facts: redact_facts(facts, setup.rules),
        progress: ledger.subagents(setup.prices),
    };
    let grade = offline::grade(session.facts.get(), setup.rubric);
    Graded { session, grade }
}

/// Folds white space, then shortens: redacted text may be cut, raw text may not.
fn one_line(text: &Redacted<String>, rules: &Rules) -> Redacted<String> {
    let folded = text.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    redact(&folded, rules).shorten(TITLE_CHARS)
}

/// What reading had to say, as JSON; nothing where all was sound.
fn stored(reading: &Reading) -> String {
    if (Reading { lines: 0, ..*reading }) == Reading::default() {
        return String::new();
    }
    serde_json::to_string(reading).unwrap_or_default()
}
