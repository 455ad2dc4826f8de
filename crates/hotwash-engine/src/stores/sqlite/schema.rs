//! The tables, as a list of steps: a store of any older version is brought forward by those it lacks.

/// Each step takes the schema from its index to the next version. Steps that were released never change.
pub(super) const STEPS: &[&str] = &[r"
    CREATE TABLE files (
        path TEXT PRIMARY KEY NOT NULL,
        inode INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        tail INTEGER NOT NULL,
        decoder INTEGER NOT NULL,
        version INTEGER NOT NULL,
        role TEXT NOT NULL,
        session TEXT,
        reading TEXT NOT NULL,
        keys BLOB NOT NULL
    );

    CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        recorded TEXT NOT NULL,
        agent TEXT,
        project TEXT NOT NULL,
        title TEXT NOT NULL,
        from_ms INTEGER,
        to_ms INTEGER,
        open INTEGER NOT NULL,
        facts TEXT NOT NULL,
        progress TEXT NOT NULL
    );
    -- In the order in which sessions are listed, so that listing the last few reads no others and sorts nothing.
    CREATE INDEX sessions_by_time ON sessions (kind, to_ms DESC, id);

    -- Every column of the key says where a grade comes from; an empty text stands for 'has none'.
    CREATE TABLE grades (
        session TEXT NOT NULL,
        rubric TEXT NOT NULL,
        rubric_hash TEXT NOT NULL,
        judge TEXT NOT NULL,
        judge_version TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        thousandths INTEGER,
        tier TEXT,
        overall TEXT NOT NULL,
        -- Readings by dimension, in the rubric's order; where they come from is said once, above.
        readings TEXT NOT NULL,
        PRIMARY KEY (session, rubric_hash, judge, judge_version, model, prompt_hash)
    );

    CREATE TABLE archive (
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        name TEXT NOT NULL,
        form TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (path, version)
    );

    -- Transcripts that were put and not yet compared with others for copies. Empty but for a run under way, or one that
    -- was interrupted.
    CREATE TABLE unsettled (path TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
"];
