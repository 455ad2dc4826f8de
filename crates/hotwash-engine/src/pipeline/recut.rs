//! Cuts transcripts again of whose prompts something else is known since they were read.

use super::entry::entry;
use super::{Ready, Setup, open_transcript, settle};
use crate::sources::Agent;
use crate::sources::claude_code::read::{Transcript, Window};
use crate::stores::{Store, StoreError};
use std::sync::Arc;

/// Brings all sessions in line with what is known of prompts. Says how many transcripts were cut elsewhere.
pub fn recut(store: &mut Store, setup: &Setup<'_>) -> Result<u64, StoreError> {
    let changed = read_again(store, setup)?;
    settle(store, setup, &Ready::new())?;
    Ok(changed)
}

/// Reads the transcripts that are marked, and puts those that are cut elsewhere now; they are to be settled. One that can
/// no longer be read stays as it is.
pub(super) fn read_again(store: &mut Store, setup: &Setup<'_>) -> Result<u64, StoreError> {
    let marked = store.uncut()?;
    if marked.is_empty() {
        return Ok(0);
    }
    let topics = Arc::new(store.decisions()?);
    let holdings = store.holdings()?;
    let mut changed = 0;
    for (path, mark) in marked {
        let file = store.file(&path)?;
        let held = file.as_ref().and_then(|file| {
            holdings.iter().find(|holding| (holding.path.as_str(), holding.version) == (path.as_str(), file.version))
        });
        if let Some((file, held)) = file.zip(held)
            && let Some(mut input) = open_transcript(store, setup.archive, &path, file.version)?
        {
            // It was cut by what was known before, and may hold a cut that is still open.
            if let Some(archive) = setup.archive {
                archive.drop_state(&path, file.version);
            }
            let mut transcript = Transcript::default().by(Agent::of(path.as_ref())).knowing(&topics);
            if transcript.read(&mut *input, &mut Window::default(), |_| {}).is_ok() {
                let (entry, _) = entry(file, None, &transcript, setup);
                if entry.pieces != held.pieces {
                    store.put(&[entry])?;
                    changed += 1;
                }
            }
        }
        store.cut(&path, mark)?;
    }
    Ok(changed)
}
