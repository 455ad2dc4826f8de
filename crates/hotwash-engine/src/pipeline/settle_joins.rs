//! Joins pieces that belong together, and parts those again that no longer do.
//!
//! Which pieces are one session is a function of all pieces of a working directory, so it is worked out anew for each
//! directory in which a transcript has changed. A joined session is read again as one, piece after piece, because facts
//! that depend on order cannot be added up.

use super::entry::{Draft, Finished, graded};
use super::open::{Untold, tell};
use super::{Paths, Setup, Unsettled};
use crate::stores::{
    Graded, Holding, Joined, JoinedRows, SessionRows, Store, StoreError, StoredPart, transcript_numbers,
};
use hotwash_core::sessions::joining::{Run, runs};
use hotwash_core::sessions::topic::ByWords;
use hotwash_core::sessions::{Piece, Pieces, SessionId, SessionKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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
}

/// Brings the sessions of all directories up to date in which one of these transcripts has a piece. What is ready
/// are sessions of several pieces that need not be read again. They were put as they are if they are of new transcripts,
/// unless some of their events turned out to be `others`'.
pub(super) fn settle_joins(
    store: &mut Store,
    setup: &Setup<'_>,
    holdings: &[Holding],
    changed: &Paths<'_>,
    others: &BTreeSet<String>,
    unsettled: &Unsettled,
) -> Result<(), StoreError> {
    let before = store.joined()?;
    let is_as_put = |path: &String| unsettled.is_new(path) && !others.contains(path);
    let of_changed = |holding: &Holding| changed.contains(holding.path.as_str());
    let folders: HashSet<u64> = holdings
        .iter()
        .filter(|holding| of_changed(holding))
        .flat_map(|holding| holding.pieces.iter().map(|piece| piece.folder))
        .collect();
    let mut pieces: BTreeMap<u64, Vec<Placed<'_>>> = BTreeMap::new();
    for holding in holdings {
        for piece in holding.pieces.iter().filter(|piece| folders.contains(&piece.folder)) {
            pieces.entry(piece.folder).or_default().push(Placed { holding, piece });
        }
    }
    // Pieces that were not alone so far. They are known by their ids, because a copy may have another place now.
    let joined_before: HashSet<&str> = before.values().flatten().map(|part| part.id.0.as_str()).collect();
    let (mut joined, mut read, mut single) = (Vec::new(), Vec::new(), Vec::new());
    for placed in pieces.values() {
        for run in runs(&placed.iter().map(|placed| placed.piece).collect::<Vec<_>>()) {
            if let [alone] = run.pieces[..] {
                let (alone, id) = (placed[alone], placed[alone].piece.id());
                // What it was joined to may be gone altogether, and its session with it.
                let is_lost = || Ok::<_, StoreError>(!is_as_put(&alone.holding.path) && !store.has_session(&id.0)?);
                if joined_before.contains(id.0.as_str()) || is_lost()? {
                    single.extend(part(store, setup, alone)?);
                }
                continue;
            }
            let of_run: Vec<Placed<'_>> = run.pieces.iter().map(|&at| placed[at]).collect();
            let ids: Vec<SessionId> = of_run.iter().map(|placed| placed.piece.id()).collect();
            let known = before.get(&ids[0].0).filter(|parts| parts.iter().map(|part| &part.id).eq(&ids));
            let ready = unsettled.ready.joined.get(&ids[0]).filter(|ready| is_same(&ready.parts, &of_run));
            let is_put = ready
                .is_some_and(|ready| ready.is_put && is_as_put(&of_run[0].holding.path) && known == Some(&ready.parts));
            if is_put || known.is_some() && !of_run.iter().any(|placed| of_changed(placed.holding)) {
                continue;
            }
            match ready {
                Some(ready) => joined.push(ready),
                None => read.extend(join(store, setup, &run, &of_run)?),
            }
        }
    }
    joined.extend(&read);
    if joined.is_empty() && single.is_empty() {
        return Ok(());
    }
    store.put_joined(&joined, &single)
}

/// Whether parts that were joined while reading are these.
fn is_same(parts: &[StoredPart], pieces: &[Placed<'_>]) -> bool {
    let same = |(part, Placed { holding, piece }): (&StoredPart, &Placed<'_>)| {
        (part.path.as_str(), part.version, &part.lines) == (holding.path.as_str(), holding.version, &piece.lines)
    };
    parts.len() == pieces.len() && parts.iter().zip(pieces).all(same)
}

/// A session made of several pieces; none if one of them can no longer be read.
fn join(store: &Store, setup: &Setup<'_>, run: &Run, pieces: &[Placed<'_>]) -> Result<Option<JoinedRows>, StoreError> {
    let Some((mut graded, mut parts)) = replay(store, setup, pieces)? else { return Ok(None) };
    for (part, join) in parts[1..].iter_mut().zip(&run.joins) {
        part.joined = Some(*join);
    }
    graded.session.open = pieces.last().is_some_and(Placed::is_last);
    Ok(Some(Joined { graded, parts }.into()))
}

/// A session that is one piece again.
fn part(store: &Store, setup: &Setup<'_>, piece: Placed<'_>) -> Result<Option<(SessionRows, String, u32)>, StoreError> {
    let Some((mut graded, _)) = replay(store, setup, &[piece])? else { return Ok(None) };
    graded.session.open = piece.is_last();
    Ok(Some((graded.into(), piece.holding.path.clone(), piece.holding.version)))
}

/// Reads pieces as one session.
fn replay(
    store: &Store,
    setup: &Setup<'_>,
    pieces: &[Placed<'_>],
) -> Result<Option<(Graded, Vec<StoredPart>)>, StoreError> {
    let mut whole = Pieces::whole();
    let mut parts = Vec::new();
    for Placed { holding, piece } in pieces {
        parts.push(StoredPart::of(&holding.path, holding.version, "", piece));
    }
    let mut recorded: BTreeMap<usize, String> = BTreeMap::new();
    let told = tell(store, setup.archive, &parts, &mut |event| {
        let origin = event.origin;
        if !origin.session.is_empty() {
            recorded.entry(origin.id.transcript()).or_insert_with(|| origin.session.to_str().into_owned());
        }
        whole.event(event, &ByWords);
    });
    match told {
        Err(Untold::Store(error)) => return Err(error),
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    let numbers = transcript_numbers(&parts);
    for (part, number) in parts.iter_mut().zip(numbers) {
        part.opened = part.opened.of_transcript(number);
        part.recorded = recorded.get(&number).cloned().unwrap_or_default();
    }
    let finished = Finished::of(whole.ledger_mut(), setup);
    let last = &pieces[pieces.len() - 1];
    let next = last.holding.pieces.iter().skip_while(|piece| *piece != last.piece).nth(1);
    let draft = Draft::new(SessionKind::Main, pieces[0].piece, next, whole.ledger_mut(), finished, setup);
    Ok(graded(vec![draft], setup).pop().map(|graded| (graded, parts)))
}
