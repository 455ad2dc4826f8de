//! Finds out whether later sessions took back what earlier ones had done.
//!
//! A session that comes, goes or changes can only matter to those of its repository that ended within the window before
//! it, so only they are judged again. Repositories have nothing to do with each other and are judged side by side.

use super::Paths;
use super::side_by_side::side_by_side;
use crate::stores::{Holding, Store, StoreError};
use hotwash_core::rework::{Placed, Rework, Settings, affected, rework};
use hotwash_core::sessions::{Piece, SessionId, Timestamp};

/// From when to when a session changed something.
type Span = (Timestamp, Timestamp);
/// A repository in which sessions changed something.
struct Open {
    repository: String,
    /// When those did that may have changed what became of the work.
    spans: Vec<Span>,
    /// All that changed something, with the numbers of their fingerprints, where that need not be asked.
    known: Option<(Vec<Placed>, Vec<i64>)>,
}

/// What became of the work of a session; none where nobody touched it.
type Judged = (SessionId, Option<Rework>);

/// Judges again what sessions of these transcripts may have reworked, and those sessions themselves, in so many threads.
pub(super) fn settle_rework(
    store: &mut Store,
    jobs: usize,
    holdings: &[Holding],
    changed: &Paths<'_>,
) -> Result<(), StoreError> {
    let is_changed = |holding: &Holding| changed.contains(holding.path.as_str());
    let mut open: Vec<Open> = if store.is_being_made() {
        // That is all of them, and nobody else puts any: one pass over what there is finds them sooner than their ids do.
        let all = store.all_changed()?.into_iter().map(|(repository, found)| {
            let spans = found.iter().map(|(placed, _)| (placed.from, placed.to)).collect();
            Open { repository, spans, known: Some(found.into_iter().unzip()) }
        });
        all.collect()
    } else {
        let holdings = holdings.iter().filter(|holding| is_changed(holding));
        let mut ids: Vec<SessionId> = holdings.flat_map(|holding| holding.pieces.iter().map(Piece::id)).collect();
        for (session, parts) in store.joined()? {
            if parts.iter().any(|part| changed.contains(part.path.as_str())) {
                ids.push(SessionId(session));
            }
        }
        let changes = store.changes_of(&ids)?.into_iter();
        changes.map(|(repository, spans)| Open { repository, spans, known: None }).collect()
    };
    // The largest first, so that nobody is left with it at the end.
    open.sort_by_key(|open| std::cmp::Reverse(open.spans.len()));
    let judged = side_by_side(store, jobs, &open, |store, open, ()| judged(store, open))?;
    store.put_rework(&judged.concat())
}

/// What became of the work of a repository's sessions, where those that changed may have had a part in it.
fn judged(store: &Store, Open { repository, spans, known }: &Open) -> Result<Vec<Judged>, StoreError> {
    // Another process may write meanwhile.
    let _view = store.as_it_is()?;
    let settings = Settings::default();
    let asked;
    let (all, numbers) = if let Some(known) = known {
        known
    } else {
        let first = spans.iter().map(|(from, _)| *from).min().unwrap_or(Timestamp(0));
        // Those before are in no window that was touched, nor do they matter to one that was.
        let window = settings.until(Timestamp(0)).0;
        let since = Timestamp(first.0.saturating_sub(window));
        asked = store.changed_in(repository, since)?.into_iter().unzip();
        &asked
    };
    let wanted = affected(spans, all, &settings);
    let mut prints = store.prints()?;
    let judged = rework(all, &wanted, &settings, |at| prints.get(numbers[at]))?;
    Ok(wanted.iter().map(|&at| all[at].session.clone()).zip(judged).collect())
}
