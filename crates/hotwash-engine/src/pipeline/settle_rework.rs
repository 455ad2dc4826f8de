//! Finds out whether later sessions took back what earlier ones had done.
//!
//! A session that comes, goes or changes can only matter to those of its repository that ended within the window before
//! it, so only they are judged again.

use crate::stores::{Holding, Store, StoreError};
use hotwash_core::rework::{Settings, affected, rework};
use hotwash_core::sessions::{Piece, SessionId, Timestamp};
use std::collections::HashSet;

/// Judges again what sessions of these transcripts may have reworked, and those sessions themselves.
pub(super) fn settle_rework(store: &mut Store, changed: &HashSet<&str>) -> Result<(), StoreError> {
    let holdings: Vec<Holding> =
        store.holdings()?.into_iter().filter(|holding| changed.contains(holding.path.as_str())).collect();
    let mut ids: Vec<SessionId> = holdings.iter().flat_map(|holding| holding.pieces.iter().map(Piece::id)).collect();
    for (session, parts) in store.joined()? {
        if parts.iter().any(|part| changed.contains(part.path.as_str())) {
            ids.push(SessionId(session));
        }
    }
    let settings = Settings::default();
    for (repository, spans) in store.changes_of(&ids)? {
        let first = spans.iter().map(|(from, _)| *from).min().unwrap_or(Timestamp(0));
        // Those before are in no window that was touched, nor do they matter to one that was.
        let window = settings.until(Timestamp(0)).0;
        let all = store.changed_in(&repository, Timestamp(first.0.saturating_sub(window)))?;
        let wanted = affected(&spans, &all, &settings);
        let judged = rework(&all, &wanted, &settings, |at| store.print(&all[at].session))?;
        let judged: Vec<_> = wanted
            .iter()
            .zip(judged)
            .map(|(&at, rework)| {
                let touched = rework.removed > 0 || rework.revert.is_some();
                (all[at].session.clone(), touched.then_some(rework))
            })
            .collect();
        store.put_rework(&judged)?;
    }
    Ok(())
}
