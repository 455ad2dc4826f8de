//! Forgetting: what has to go with a session, and letting it go.

use super::archive::archived;
use super::rows::joined;
use super::transcripts::{held, keys};
use crate::stores::{Archived, Entangled};
use hotwash_core::sessions::SessionId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Removes sessions with everything that came of them, and says what the archive had of them.
pub(super) fn forget(transaction: &Transaction<'_>, ids: &[SessionId]) -> rusqlite::Result<Vec<Archived>> {
    let mut removed = Vec::new();
    // First: which transcripts a session is in is not known any more once it is gone.
    let transcripts = entangled(transaction, ids)?.transcripts;
    // Answers of which nobody knows yet what they are about may be about these.
    transaction.prepare_cached("DELETE FROM answers WHERE session = ''")?.execute([])?;
    for SessionId(id) in ids {
        for table in ["joined", "answers", "judgements"] {
            transaction.prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?.execute([id])?;
        }
    }
    for (path, version) in transcripts {
        let which = params![path, version];
        super::said::forget(transaction, &path, version)?;
        let of_path = "SELECT id FROM sessions WHERE path = ?1 AND version = ?2";
        let mut sessions = transaction.prepare_cached(of_path)?;
        let mut said_of: BTreeSet<String> =
            sessions.query_map(which, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        // What was asked about a transcript is kept under its first piece, which may be a part of another session. So
        // are grades of pieces from before they were joined.
        said_of.extend(held(transaction, &path, version)?.iter().map(|piece| piece.id().0));
        for id in &said_of {
            for sql in [
                "DELETE FROM answers WHERE session = ?1",
                "DELETE FROM judgements WHERE session = ?1",
                "DELETE FROM rework WHERE session = ?1",
                // By their whole keys: there is no index by session alone.
                "DELETE FROM grades WHERE origin IN (SELECT id FROM origins) AND session = ?1",
                "DELETE FROM outcomes WHERE origin IN (SELECT id FROM origins) AND session = ?1",
            ] {
                transaction.prepare_cached(sql)?.execute([id])?;
            }
        }
        let sql = "SELECT path, version, name, form, size FROM archive WHERE path = ?1 AND version = ?2";
        for entry in transaction.prepare_cached(sql)?.query_map(which, archived)? {
            removed.push(entry?);
        }
        for sql in [
            "DELETE FROM archive WHERE path = ?1 AND version = ?2",
            "DELETE FROM fingerprints WHERE number IN (SELECT number FROM sessions WHERE path = ?1 AND version = ?2)",
            "DELETE FROM sessions WHERE path = ?1 AND version = ?2",
            "UPDATE files SET sessions = 0, role = 'forgotten', reading = '' WHERE path = ?1 AND version = ?2",
            "UPDATE holdings SET kind = '', pieces = x'00' WHERE path = ?1 AND version = ?2",
        ] {
            transaction.prepare_cached(sql)?.execute(which)?;
        }
    }
    Ok(removed)
}

/// A transcript goes as a whole, and with it every session that has a piece in it, and so on.
fn around(connection: &Connection, ids: &[SessionId]) -> rusqlite::Result<Entangled> {
    let mut places: HashMap<String, Vec<(String, u32)>> = HashMap::new();
    let mut recorded: HashMap<String, Vec<String>> = HashMap::new();
    let mut subagents: HashMap<String, Vec<String>> = HashMap::new();
    let mut statement = connection.prepare_cached("SELECT id, path, version, kind, recorded FROM sessions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, transcript): (String, String) = (row.get(0)?, row.get(4)?);
        places.entry(id.clone()).or_default().push((row.get(1)?, row.get(2)?));
        if transcript.is_empty() {
            continue;
        }
        if row.get_ref(3)?.as_str()? == "subagent" {
            subagents.entry(transcript).or_default().push(id);
        } else {
            recorded.entry(id).or_default().push(transcript);
        }
    }
    for (id, parts) in joined(connection)? {
        for part in parts {
            places.entry(id.clone()).or_default().push((part.path, part.version));
            recorded.entry(id.clone()).or_default().push(part.recorded);
        }
    }
    let mut within: HashMap<&(String, u32), Vec<&String>> = HashMap::new();
    for (id, places) in &places {
        for place in places {
            within.entry(place).or_default().push(id);
        }
    }

    let mut found = Entangled::default();
    let mut next: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    while let Some(id) = next.pop() {
        let Some(places) = places.get(id).filter(|_| found.sessions.insert(SessionId(id.to_owned()))) else { continue };
        for place in places {
            if found.transcripts.insert(place.clone()) {
                next.extend(within.get(place).into_iter().flatten().map(|id| id.as_str()));
            }
        }
        let transcripts = recorded.get(id).into_iter().flatten();
        next.extend(transcripts.filter_map(|name| subagents.get(name)).flatten().map(String::as_str));
    }
    Ok(found)
}

/// What cannot be forgotten without each other.
pub(super) fn entangled(connection: &Connection, ids: &[SessionId]) -> rusqlite::Result<Entangled> {
    let which = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?));
    let Entangled { sessions, transcripts: mut found } = around(connection, ids)?;
    let folder = |(path, _): &(String, u32)| path.strip_suffix(".jsonl").map(|stem| format!("{stem}/"));
    let folders: BTreeSet<String> = found.iter().filter_map(folder).collect();
    let mut inside =
        connection.prepare_cached("SELECT path, version FROM files WHERE substr(path, 1, length(?1)) = ?1")?;
    for folder in folders {
        for row in inside.query_map([&folder], which)? {
            found.insert(row?);
        }
    }
    let mut known = HashSet::new();
    let mut keys_of = connection.prepare_cached("SELECT keys FROM holdings WHERE path = ?1 AND version = ?2")?;
    for (path, version) in &found {
        let held = keys_of.query_row(params![path, version], |row| Ok(keys(row.get_ref(0)?.as_blob()?))).optional()?;
        known.extend(held.unwrap_or_default());
    }
    let mut copies = connection.prepare_cached(
        "SELECT f.path, f.version, h.keys FROM files f JOIN holdings h USING (path, version)
             WHERE f.role = 'copy' AND length(h.keys) > 0",
    )?;
    let mut rows = copies.query([])?;
    while let Some(row) = rows.next()? {
        if keys(row.get_ref(2)?.as_blob()?).iter().all(|key| known.contains(key)) {
            found.insert(which(row)?);
        }
    }
    Ok(Entangled { sessions, transcripts: found })
}
