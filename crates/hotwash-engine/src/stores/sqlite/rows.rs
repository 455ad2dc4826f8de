//! What is kept, as it stands in the tables. Made by whoever has read a transcript: there are many of them, and one
//! writer.

use crate::stores::{Entry, FileState, Graded, Joined, Role, StoredPart};
use hotwash_core::outcomes::{Lack, Outcome};
use hotwash_core::redaction::Redacted;
use hotwash_core::rework::repository;
use hotwash_core::scores::{Grade, Overall, Provenance, Score};
use hotwash_core::sessions::{Key, Piece, Session, SessionId, SessionKind, Timestamp};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::{Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;

/// Room for most pieces, as they are kept.
const PIECE_BYTES: usize = 256;
/// Room for all that is written of most sessions.
const SESSION_BYTES: usize = 5 << 10;

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
    pub(super) model: Place,
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
    pub(super) open: bool,
    pub(super) summary: Redacted<String>,
    pub(super) facts: Place,
    pub(super) progress: Place,
    pub(super) grade: Option<GradeRow>,
    pub(super) outcome: OutcomeRow,
    /// None where it changed nothing that could be taken back.
    pub(super) print: Option<PrintRow>,
    /// What stands at the places above.
    pub(super) texts: Texts,
}

#[derive(Debug)]
pub(super) struct GradeRow {
    pub(super) provenance: Arc<Provenance>,
    pub(super) thousandths: Option<u32>,
    pub(super) tier: Option<Place>,
    pub(super) overall: Place,
    pub(super) readings: Place,
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
    pub(super) detail: Place,
}

/// What was written of a session, one text behind the other: memory for all of them is made, and let go of, once.
#[derive(Debug)]
pub(super) struct Texts(Vec<u8>);

/// Where one of them stands.
#[derive(Debug)]
pub(super) struct Place(Range<usize>);

/// One of them. It was written as text, and nobody need look at it again to know that it is.
pub(super) struct Text<'t>(&'t [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

impl Texts {
    pub(super) fn with_room(bytes: usize) -> Texts {
        Texts(Vec::with_capacity(bytes))
    }

    pub(super) fn get(&self, Place(place): &Place) -> Text<'_> {
        Text(self.0.get(place.clone()).unwrap_or_default())
    }

    /// Adds what is written as text.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Place {
        let from = self.0.len();
        write(&mut self.0);
        Place(from..self.0.len())
    }

    fn add_words(&mut self, words: &str) -> Place {
        self.add(|out| out.extend_from_slice(words.as_bytes()))
    }

    /// Adds a value as JSON. What is kept has no map but with words as keys, and nothing else makes this fail.
    fn add_json(&mut self, value: &impl Serialize) -> Place {
        self.add(|out| {
            let from = out.len();
            let done = serde_json::to_writer(&mut *out, value);
            debug_assert!(done.is_ok(), "{done:?}");
            if done.is_err() {
                out.truncate(from);
            }
        })
    }
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
        let mut bytes = vec![0; keys.len() * size_of::<u64>()];
        for (bytes, key) in bytes.as_chunks_mut().0.iter_mut().zip(keys) {
            *bytes = key.0.to_le_bytes();
        }
        HoldingRow { keys: bytes, pieces: encode(pieces) }
    }
}

/// What of a session takes some writing.
struct Written {
    texts: Texts,
    facts: Place,
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
        let mut texts: Vec<Texts> = all.iter().map(|_| Texts::with_room(SESSION_BYTES)).collect();
        let facts: Vec<Place> = all.iter().zip(&mut texts).map(|(graded, texts)| facts(graded, texts)).collect();
        let grades: Vec<Option<GradeRow>> =
            all.iter().zip(&mut texts).map(|(graded, texts)| GradeRow::of(&graded.grade, texts)).collect();
        let outcomes: Vec<OutcomeRow> =
            all.iter().zip(&mut texts).map(|(graded, texts)| OutcomeRow::of(&graded.outcome, texts)).collect();
        let prints = all.iter().copied().map(PrintRow::of);
        let of_each = texts.into_iter().zip(facts).zip(grades).zip(outcomes).zip(prints);
        of_each
            .map(|((((texts, facts), grade), outcome), print)| Written { texts, facts, grade, outcome, print })
            .collect()
    }

    fn rows(self, graded: Graded) -> SessionRows {
        let Written { mut texts, facts, grade, outcome, print } = self;
        let model = graded.session.facts.get().tokens.models.first();
        let model = texts.add_words(model.map(String::as_str).unwrap_or_default());
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
            progress: texts.add_json(&progress),
            grade,
            outcome,
            print,
            texts,
        }
    }
}

impl From<Graded> for SessionRows {
    fn from(graded: Graded) -> SessionRows {
        let mut texts = Texts::with_room(SESSION_BYTES);
        let written = Written {
            facts: facts(&graded, &mut texts),
            grade: GradeRow::of(&graded.grade, &mut texts),
            outcome: OutcomeRow::of(&graded.outcome, &mut texts),
            print: PrintRow::of(&graded),
            texts,
        };
        written.rows(graded)
    }
}

/// Writes the facts of a session.
fn facts(graded: &Graded, texts: &mut Texts) -> Place {
    texts.add_words(&graded.session.facts.get().stored())
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
    pub(super) fn of(grade: &Grade, texts: &mut Texts) -> Option<GradeRow> {
        let provenance = Arc::clone(&grade.scores.first()?.provenance);
        let (thousandths, tier) = match &grade.overall {
            Overall::Graded { thousandths, tier, .. } => (Some(*thousandths), Some(texts.add_words(tier))),
            Overall::TooFew { .. } => (None, None),
        };
        let (overall, readings) = (texts.add_json(&grade.overall), texts.add_json(&Readings(&grade.scores)));
        Some(GradeRow { provenance, thousandths, tier, overall, readings })
    }
}

/// What was read off a session, each with the dimension that it is on.
struct Readings<'g>(&'g [Score]);

impl Serialize for Readings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|score| (&score.dimension, &score.reading)))
    }
}

impl OutcomeRow {
    pub(super) fn of(outcome: &Outcome, texts: &mut Texts) -> OutcomeRow {
        OutcomeRow {
            substance: outcome.substance.passes(),
            intent: outcome.intended.intent.name(),
            status: outcome.status.name(),
            goal: outcome.goal.name(),
            evidence: outcome.evidence.name(),
            lack: outcome.lack.map(Lack::name),
            probability: outcome.probability,
            detail: texts.add_json(outcome),
        }
    }
}

/// Pieces as they are kept.
pub(super) fn encode(pieces: &[Piece]) -> Vec<u8> {
    postcard::to_extend(pieces, Vec::with_capacity(pieces.len() * PIECE_BYTES)).unwrap_or_default()
}

/// As JSON. Nothing that is kept makes this fail.
pub(super) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value);
    debug_assert!(json.is_ok(), "{json:?}");
    json.unwrap_or_default()
}
