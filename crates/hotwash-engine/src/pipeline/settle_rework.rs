//! Finds out whether later sessions took back what earlier ones had done.
//!
//! Any session that comes, goes or changes may matter to others of its repository, so all are judged again. Repositories
//! have nothing to do with each other and are judged side by side.

use super::side_by_side::side_by_side;
use crate::stores::{Store, StoreError};
use hotwash_core::rework::{Placed, Rework, Settings, rework};
use hotwash_core::sessions::SessionId;
use std::cmp::Reverse;

/// Judges what sessions have reworked, in so many threads. Does so again where another process has put sessions meanwhile.
pub(super) fn settle_rework(store: &mut dyn Store, jobs: usize) -> Result<(), StoreError> {
    loop {
        let changes = store.changes()?;
        let mut repositories: Vec<&[Placed]> = changes.values().map(Vec::as_slice).collect();
        // The largest first, so that no thread is left with it at the end.
        repositories.sort_by_key(|sessions| Reverse(sessions.len()));
        let reworked = side_by_side(store, jobs, &repositories, |store, sessions, ()| reworked(store, sessions))?;
        if store.put_rework(&changes, &reworked.concat())? {
            return Ok(());
        }
    }
}

/// The sessions of a repository whose work others have touched, with what became of it.
fn reworked(store: &dyn Store, sessions: &[Placed]) -> Result<Vec<(SessionId, Rework)>, StoreError> {
    let all: Vec<usize> = (0..sessions.len()).collect();
    let judged = rework(sessions, &all, &Settings::default(), |at| store.print(&sessions[at].session))?;
    let touched = sessions.iter().zip(judged);
    Ok(touched.filter_map(|(placed, rework)| Some((placed.session.clone(), rework?))).collect())
}
