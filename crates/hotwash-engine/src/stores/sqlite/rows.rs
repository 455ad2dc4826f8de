//! What is kept, as it stands in the tables. Made by whoever has read a transcript: there are many of them, and one
//! writer.

use crate::stores::{Entry, FileState, Graded, Joined, Role, StoredPart};
use hotwash_core::outcomes::{Lack, Outcome};
use hotwash_core::redaction::Redacted;
use hotwash_core::rework::repository;
use hotwash_core::scores::{Grade, Overall, Provenance, Reading};
use hotwash_core::sessions::{Key, Piece, Session, SessionId, SessionKind, Timestamp};
use serde::Serialize;
use std::sync::Arc;

/// Room for most pieces, as they are kept.
const PIECE_BYTES: usize = 256;

/// The rows of a transcript.
#[derive(Debug)]
pub struct Rows {
    /// The file.
    pub file: FileState,
    /// What it turned out to be.
    pub role: Role,
    /// Nothing of it was known before.
    pub is_new: bool,
    pub(super) reading: String,
    /// None where it has nothing that others could have too.
    pub(super) holding: Option<HoldingRow>,
    /// Keys of its messages and prompts, by which copies are found.
    pub keys: Vec<Key>,
    /// Its pieces, which may be joined with others.
    pub pieces: Vec<Piece>,
    pub(super) sessions: Vec<SessionRows>,
    /// The sessions of several pieces.
    pub joined: Vec<JoinedRows>,
}

#[derive(Debug)]
pub(super) struct HoldingRow {
    pub(super) keys: Vec<u8>,
    pub(super) pieces: Vec<u8>,
}

/// The rows of a session.
#[derive(Debug)]
pub struct SessionRows {
    /// Its id.
    pub id: SessionId,
    pub(super) kind: SessionKind,
    pub(super) recorded: String,
    pub(super) agent: Option<String>,
    pub(super) project: Redacted<String>,
    pub(super) title: Redacted<String>,
    pub(super) model: String,
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
    pub(super) open: bool,
    pub(super) summary: Redacted<String>,
    pub(super) facts: String,
    pub(super) progress: String,
    pub(super) grade: Option<GradeRow>,
    pub(super) outcome: OutcomeRow,
    /// None where it changed nothing that could be taken back.
    pub(super) print: Option<PrintRow>,
}

#[derive(Debug)]
pub(super) struct GradeRow {
    pub(super) provenance: Arc<Provenance>,
    pub(super) thousandths: Option<u32>,
    pub(super) tier: Option<String>,
    pub(super) overall: String,
    pub(super) readings: String,
}

#[derive(Debug)]
pub(super) struct OutcomeRow {
    pub(super) substance: bool,
    pub(super) intent: &'static str,
    pub(super) status: &'static str,
    pub(super) goal: &'static str,
    pub(super) evidence: &'static str,
    pub(super) lack: Option<&'static str>,
    pub(super) probability: Option<f64>,
    pub(super) detail: String,
}

#[derive(Debug)]
pub(super) struct PrintRow {
    pub(super) repository: String,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) print: Vec<u8>,
}

/// The rows of a session that is made of several pieces.
#[derive(Debug)]
pub struct JoinedRows {
    /// The session, under the id of its first piece.
    pub session: SessionRows,
    pub(super) joined: String,
    /// Its pieces, in order of time.
    pub parts: Vec<StoredPart>,
    /// It is put along with its transcript, of which nobody knew before.
    pub is_put: bool,
}

impl From<Entry> for Rows {
    fn from(entry: Entry) -> Rows {
        let mut written = Written::of_all(std::slice::from_ref(&entry)).into_iter();
        Rows::of(entry, &mut written)
    }
}

impl Rows {
    /// The rows of several transcripts.
    pub fn of_all(entries: Vec<Entry>) -> Vec<Rows> {
        let mut written = Written::of_all(&entries).into_iter();
        entries.into_iter().map(|entry| Rows::of(entry, &mut written)).collect()
    }

    /// Whether it has nothing that others could have too.
    pub fn holds_nothing(&self) -> bool {
        self.holding.is_none()
    }

    /// The rows of a transcript, with what is written of its sessions.
    fn of(entry: Entry, written: &mut impl Iterator<Item = Written>) -> Rows {
        let Entry { file, role, is_new, reading, keys, pieces, sessions, joined } = entry;
        let holding = (!keys.is_empty() || !pieces.is_empty()).then(|| HoldingRow::of(&keys, &pieces));
        let sessions = sessions.into_iter().zip(&mut *written).map(|(graded, written)| written.rows(graded)).collect();
        let joined = joined.into_iter().zip(written).map(|(Joined { graded, parts }, written)| JoinedRows {
            session: written.rows(graded),
            joined: json(&parts),
            parts,
            is_put: is_new,
        });
        Rows { file, role, is_new, reading, holding, keys, pieces, sessions, joined: joined.collect() }
    }
}

impl HoldingRow {
    fn of(keys: &[Key], pieces: &[Piece]) -> HoldingRow {
        let mut bytes = Vec::with_capacity(keys.len() * size_of::<u64>());
        for key in keys {
            bytes.extend(key.0.to_le_bytes());
        }
        HoldingRow { keys: bytes, pieces: encode(pieces) }
    }
}

/// What of a session takes some writing.
struct Written {
    facts: String,
    grade: Option<GradeRow>,
    outcome: OutcomeRow,
    print: Option<PrintRow>,
}

impl Written {
    /// What is written of all sessions of some transcripts: one kind of thing after the other, so that the code for it
    /// stays at hand.
    fn of_all(entries: &[Entry]) -> Vec<Written> {
        let mut all: Vec<&Graded> = Vec::new();
        for Entry { sessions, joined, .. } in entries {
            all.extend(sessions);
            all.extend(joined.iter().map(|joined| &joined.graded));
        }
        let facts: Vec<String> = all.iter().map(|graded| graded.session.facts.get().stored()).collect();
        let grades: Vec<Option<GradeRow>> = all.iter().map(|graded| GradeRow::of(&graded.grade)).collect();
        let outcomes: Vec<OutcomeRow> = all.iter().map(|graded| OutcomeRow::of(&graded.outcome)).collect();
        let of_each = facts.into_iter().zip(grades).zip(outcomes).zip(all.iter().copied().map(PrintRow::of));
        of_each.map(|(((facts, grade), outcome), print)| Written { facts, grade, outcome, print }).collect()
    }

    fn rows(self, graded: Graded) -> SessionRows {
        let Written { facts, grade, outcome, print } = self;
        let model = graded.session.facts.get().tokens.models.first().cloned().unwrap_or_default();
        let Session { id, kind, recorded, agent, project, title, summary, from, to, open, progress, .. } =
            graded.session;
        SessionRows {
            id,
            kind,
            recorded,
            agent,
            project,
            title,
            model,
            from,
            to,
            open,
            summary,
            facts,
            progress: json(&progress),
            grade,
            outcome,
            print,
        }
    }
}

impl From<Graded> for SessionRows {
    fn from(graded: Graded) -> SessionRows {
        let written = Written {
            facts: graded.session.facts.get().stored(),
            grade: GradeRow::of(&graded.grade),
            outcome: OutcomeRow::of(&graded.outcome),
            print: PrintRow::of(&graded),
        };
        written.rows(graded)
    }
}

impl PrintRow {
    fn of(Graded { session, print, .. }: &Graded) -> Option<PrintRow> {
        match (session.from, session.to, session.kind) {
            (Some(from), Some(to), SessionKind::Main) if !print.is_empty() => {
                let repository = repository(session.project.as_str()).to_owned();
                Some(PrintRow { repository, from, to, print: print.to_bytes() })
            }
            _ => None,
        }
    }
}

impl From<Joined> for JoinedRows {
    fn from(Joined { graded, parts }: Joined) -> JoinedRows {
        JoinedRows { session: graded.into(), joined: json(&parts), parts, is_put: false }
    }
}

impl GradeRow {
    /// None where nothing was scored, so that nobody says where it comes from.
    pub(super) fn of(grade: &Grade) -> Option<GradeRow> {
        let provenance = Arc::clone(&grade.scores.first()?.provenance);
        let (thousandths, tier) = match &grade.overall {
            Overall::Graded { thousandths, tier, .. } => (Some(*thousandths), Some(tier.clone())),
            Overall::TooFew { .. } => (None, None),
        };
        let readings: Vec<(&str, &Reading)> =
            grade.scores.iter().map(|score| (score.dimension.as_str(), &score.reading)).collect();
        Some(GradeRow {
            provenance,
            thousandths,
            tier,
            overall: json(&grade.overall),
            readings: json_in(&readings, 2048),
        })
    }
}

impl OutcomeRow {
    pub(super) fn of(outcome: &Outcome) -> OutcomeRow {
        OutcomeRow {
            substance: outcome.substance.passes(),
            intent: outcome.intended.intent.name(),
            status: outcome.status.name(),
            goal: outcome.goal.name(),
            evidence: outcome.evidence.name(),
            lack: outcome.lack.map(Lack::name),
            probability: outcome.probability,
            detail: json_in(outcome, 512),
        }
    }
}

/// Pieces as they are kept.
pub(super) fn encode(pieces: &[Piece]) -> Vec<u8> {
    postcard::to_extend(pieces, Vec::with_capacity(pieces.len() * PIECE_BYTES)).unwrap_or_default()
}

/// As JSON, short for the most part.
pub(super) fn json(value: &impl Serialize) -> String {
    json_in(value, 96)
}

/// As JSON that takes about so much room. What is kept has no map but with words as keys, and nothing else makes this
/// fail.
fn json_in(value: &impl Serialize, room: usize) -> String {
    let json = hotwash_core::json::to_string(value, room);
    debug_assert!(json.is_ok(), "{json:?}");
    json.unwrap_or_default()
}
