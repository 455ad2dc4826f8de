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
    // In a first run that is all of them, and one pass over what there is finds them sooner than their ids do.
    let changes = if holdings.iter().all(is_changed) {
        store.all_changes()?
    } else {
        let holdings = holdings.iter().filter(|holding| is_changed(holding));
        let mut ids: Vec<SessionId> = holdings.flat_map(|holding| holding.pieces.iter().map(Piece::id)).collect();
        for (session, parts) in store.joined()? {
            if parts.iter().any(|part| changed.contains(part.path.as_str())) {
                ids.push(SessionId(session));
            }
        }
        store.changes_of(&ids)?
    };
    let mut open: Vec<(String, Vec<Span>)> = changes.into_iter().collect();
    // The largest first, so that nobody is left with it at the end.
    open.sort_by_key(|(_, spans)| std::cmp::Reverse(spans.len()));
    let judged = side_by_side(store, jobs, &open, |store, (repository, spans), ()| judged(store, repository, spans))?;
    store.put_rework(&judged.concat())
}

/// What became of the work of a repository's sessions, where sessions with these spans may have had a part in it.
fn judged(store: &Store, repository: &str, spans: &[Span]) -> Result<Vec<Judged>, StoreError> {
    // Another process may write meanwhile.
    let _view = store.as_it_is()?;
    let settings = Settings::default();
    let first = spans.iter().map(|(from, _)| *from).min().unwrap_or(Timestamp(0));
    // Those before are in no window that was touched, nor do they matter to one that was.
    let window = settings.until(Timestamp(0)).0;
    let found = store.changed_in(repository, Timestamp(first.0.saturating_sub(window)))?;
    let (all, numbers): (Vec<Placed>, Vec<i64>) = found.into_iter().unzip();
    let wanted = affected(spans, &all, &settings);
    let mut prints = store.prints()?;
    let judged = rework(&all, &wanted, &settings, |at| prints.get(numbers[at]))?;
    Ok(wanted.iter().map(|&at| all[at].session.clone()).zip(judged).collect())
}
