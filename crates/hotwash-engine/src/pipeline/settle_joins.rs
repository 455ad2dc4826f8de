//! Joins pieces that belong together, and parts those again that no longer do.
//!
//! Which pieces are one session is a function of all pieces of a working directory. So it is worked out for all pieces
//! each time, and what differs from the store is written. To look only at some directories would be wrong: a piece that
//! left one, for another directory or another transcript, may have stood between two pieces that belong together. A joined
//! session is read again as one, piece after piece, because facts that depend on order cannot be added up.

use super::Setup;
use super::entry::{Finished, graded};
use super::open::{Untold, tell_lines};
use crate::sources::reader::Window;
use crate::stores::{Graded, Holding, Store, StoreError, StoredPart, transcript_numbers};
use hotwash_core::sessions::joining::{Run, runs};
use hotwash_core::sessions::topic::ByWords;
use hotwash_core::sessions::{Event, Piece, Pieces, SessionId, SessionKind};
use std::collections::{BTreeMap, HashSet};

/// A piece and the transcript it is in.
#[derive(Clone, Copy)]
struct Placed<'h> {
    holding: &'h Holding,
    piece: &'h Piece,
}

impl Placed<'_> {
    /// Whether it is the last piece of its transcript, which may yet grow.
    fn is_last(&self) -> bool {
        self.holding.pieces.last() == Some(self.piece)
    }

    /// Whether another piece stands behind it in the same transcript.
    fn goes_on_in(&self, other: &Placed<'_>) -> bool {
        std::ptr::eq(self.holding, other.holding) && self.piece.lines.last() < other.piece.lines.first()
    }
}

/// Brings the sessions in line with the pieces that transcripts hold.
pub(super) fn settle_joins(store: &mut dyn Store, setup: &Setup<'_>, holdings: &[Holding]) -> Result<(), StoreError> {
    let sessions = store.made_of()?;
    let mut folders: BTreeMap<u64, Vec<Placed<'_>>> = BTreeMap::new();
    for holding in holdings.iter().filter(|holding| holding.is_of_person()) {
        for piece in &holding.pieces {
            folders.entry(piece.folder).or_default().push(Placed { holding, piece });
        }
    }
    let mut changed = Vec::new();
    for placed in folders.values() {
        for run in runs(&placed.iter().map(|placed| placed.piece).collect::<Vec<_>>()) {
            let pieces: Vec<Placed<'_>> = run.pieces.iter().map(|&at| placed[at]).collect();
            let ids: Vec<SessionId> = pieces.iter().map(|placed| placed.piece.id()).collect();
            let is_kept = match sessions.get(&ids[0]) {
                None => false,
                Some(parts) if parts.is_empty() => pieces.len() == 1,
                // A transcript that was put again since has given its pieces sessions of their own.
                Some(parts) => is_same(parts, &pieces) && !ids[1..].iter().any(|id| sessions.contains_key(id)),
            };
            if !is_kept {
                changed.extend(session(store, setup, &run, &pieces)?);
            }
        }
    }
    store.put_sessions(&changed)
}

/// Whether a session has these pieces.
fn is_same(parts: &[StoredPart], pieces: &[Placed<'_>]) -> bool {
    let same = |(part, Placed { holding, piece }): (&StoredPart, &Placed<'_>)| {
        (part.path.as_str(), part.version, &part.lines) == (holding.path.as_str(), holding.version, &piece.lines)
    };
    parts.len() == pieces.len() && parts.iter().zip(pieces).all(same)
}

/// The session that pieces make up; none if one of them can no longer be read.
fn session(
    store: &dyn Store,
    setup: &Setup<'_>,
    run: &Run,
    pieces: &[Placed<'_>],
) -> Result<Option<Graded>, StoreError> {
    let Some(mut graded) = replay(store, setup, pieces)? else { return Ok(None) };
    for (part, join) in graded.parts[1..].iter_mut().zip(&run.joins) {
        part.joined = Some(*join);
    }
    graded.session.open = pieces.last().is_some_and(Placed::is_last);
    Ok(Some(graded))
}

/// Reads pieces as one session.
fn replay(store: &dyn Store, setup: &Setup<'_>, pieces: &[Placed<'_>]) -> Result<Option<Graded>, StoreError> {
    let mut parts: Vec<StoredPart> = pieces
        .iter()
        .map(|Placed { holding, piece }| StoredPart::of(&holding.path, holding.version, "", piece))
        .collect();
    let numbers = transcript_numbers(&parts);
    let mut whole = Pieces::whole();
    let mut recorded: BTreeMap<usize, String> = BTreeMap::new();
    let told = tell_with_what_came_before(store, setup, pieces, &numbers, &mut |event, transcript| {
        let Some(number) = transcript else { return whole.pass(event) };
        let session = event.origin.session;
        if !session.is_empty() {
            recorded.entry(number).or_insert_with(|| session.to_str().into_owned());
        }
        whole.event(event, &ByWords);
    });
    match told {
        Err(Untold::Store(error)) => return Err(error),
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    for (part, number) in parts.iter_mut().zip(numbers) {
        part.opened = part.opened.of_transcript(number);
        part.recorded = recorded.get(&number).cloned().unwrap_or_default();
    }
    let finished = Finished::of(whole.ledger_mut(), setup);
    let last = &pieces[pieces.len() - 1];
    let next = last.holding.pieces.iter().skip_while(|piece| *piece != last.piece).nth(1);
    Ok(Some(graded(SessionKind::Main, parts, pieces[0].piece, next, whole.ledger_mut(), finished, setup)))
}

/// Tells `tell` the events of pieces, each with the number of its transcript, and before them, without one, what came before
/// in those that is none of theirs: a call may be open from then, or an id be a repeated one. So what comes of it is what
/// came of reading the transcript.
fn tell_with_what_came_before(
    store: &dyn Store,
    setup: &Setup<'_>,
    pieces: &[Placed<'_>],
    numbers: &[usize],
    tell: &mut dyn FnMut(&Event<'_>, Option<usize>),
) -> Result<(), Untold> {
    let mut window = Window::default();
    let mut to_come: HashSet<*const Piece> = pieces.iter().map(|placed| std::ptr::from_ref(placed.piece)).collect();
    let mut numbers = numbers.iter();
    for in_one_go in pieces.chunk_by(Placed::goes_on_in) {
        let Some((Placed { holding, piece: last }, &number)) = in_one_go.last().zip(numbers.nth(in_one_go.len() - 1))
        else {
            continue;
        };
        for placed in in_one_go {
            to_come.remove(&std::ptr::from_ref(placed.piece));
        }
        let before = holding.pieces.iter().take_while(|piece| !std::ptr::eq(*piece, *last));
        let read = before.filter(|piece| !to_come.contains(&std::ptr::from_ref(*piece))).chain([*last]);
        let lines: Vec<(u32, u32)> = read.flat_map(|piece| piece.lines.iter().copied()).collect();
        let wanted: Vec<(u32, u32)> = in_one_go.iter().flat_map(|placed| placed.piece.lines.iter().copied()).collect();
        let place = (holding.path.as_str(), holding.version);
        tell_lines(store, setup.archive, place, number, &lines, &mut window, &mut |event| {
            let line = event.origin.id.line();
            let at = wanted.partition_point(|(_, to)| *to < line);
            tell(event, wanted.get(at).is_some_and(|(from, _)| *from <= line).then_some(number));
        })?;
    }
    Ok(())
}
