//! Cuts transcripts again of whose prompts something else is known since they were read.

use super::entry::entry;
use super::{Setup, decisions, grade_missing, open_transcript, settle};
use crate::sources::Agent;
use crate::sources::reader::{Transcript, Window};
use crate::stores::{Holding, Role, Store, StoreError, Todo};
use std::sync::Arc;

/// Brings all sessions in line with what is known of prompts. Says how many transcripts were cut elsewhere.
pub fn recut(store: &mut dyn Store, setup: &Setup<'_>) -> Result<u64, StoreError> {
    let changed = read_again(store, setup)?;
    settle(store, setup)?;
    grade_missing(store, setup.rubric)?;
    Ok(changed)
}

/// Reads the transcripts that are marked, and puts those that are cut elsewhere now; they are to be settled. One that can
/// no longer be read stays as it is.
pub(super) fn read_again(store: &mut dyn Store, setup: &Setup<'_>) -> Result<u64, StoreError> {
    let marked = store.marked(Todo::Cut)?;
    if marked.is_empty() {
        return Ok(0);
    }
    let topics = Arc::new(decisions(store)?);
    let (holdings, became) = (store.holdings()?, store.outcomes()?);
    let (mut changed, mut window) = (0, Window::default());
    for (path, mark) in marked {
        let role = became.get(&path).map_or(Role::Main, |became| became.role);
        let file = store.file(&path)?.filter(|_| matches!(role, Role::Main | Role::Copy));
        if let Some(file) = file
            && let Some(agent) = Agent::named(&file.agent)
            && let Some(mut input) = open_transcript(store, setup.archive, &path, file.version)?
        {
            let is_it = |held: &&Holding| (held.path.as_str(), held.version) == (path.as_str(), file.version);
            let held = holdings.iter().find(is_it).map(|held| held.pieces.as_slice()).unwrap_or_default();
            // It was cut by what was known before, and may hold a cut that is still open.
            if let Some(archive) = setup.archive {
                archive.drop_state(&path, file.version);
            }
            let mut transcript = Box::<Transcript>::default().by(agent).knowing(&topics);
            if transcript.read(&mut *input, &mut window, |_| {}).is_ok() {
                let entry = entry(file, None, transcript, setup);
                if entry.pieces != held {
                    // Why it is cut may be all that is new.
                    let elsewhere =
                        !entry.pieces.iter().map(|piece| &piece.lines).eq(held.iter().map(|piece| &piece.lines));
                    store.put(&[entry], &[])?;
                    changed += u64::from(role == Role::Main && elsewhere);
                }
            }
        }
        store.unmark(Todo::Cut, &[(path, mark)].into())?;
    }
    Ok(changed)
}
