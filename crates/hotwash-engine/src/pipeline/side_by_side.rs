//! Work on parts of the store that have nothing to do with each other.

use crate::stores::{Store, StoreError};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does work on each item, in so many threads that read the store, each with room `M` to work in, and gives what came of it
/// in the order of the items. Where no other can read, because the store is in memory or the system has had enough, the
/// caller does all.
pub(super) fn side_by_side<T: Sync, R: Send, M: Default>(
    store: &dyn Store,
    jobs: usize,
    items: &[T],
    work: impl Fn(&dyn Store, &T, &mut M) -> Result<R, StoreError> + Sync,
) -> Result<Vec<R>, StoreError> {
    let mut readers = Vec::new();
    while readers.len() + 1 < jobs.min(items.len()) {
        match store.reader() {
            Ok(Some(reader)) => readers.push(reader),
            _ => break,
        }
    }
    let next = AtomicUsize::new(0);
    let some = |store: &dyn Store| {
        let (mut done, mut room) = (Vec::new(), M::default());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(done) };
            // One that fails ends it for all.
            let result = work(store, item, &mut room).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
            done.push((at, result));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let some = &some;
        let others: Vec<_> = readers.into_iter().map(|reader| scope.spawn(move || some(&*reader))).collect();
        let mut done = some(store)?;
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok::<_, StoreError>(done)
    })?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
