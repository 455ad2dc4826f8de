//! The tables, as a list of steps: a store of any older version is brought forward by those it lacks.

/// Each step takes the schema from its index to the next version. Steps that were released never change.
pub(super) const STEPS: &[&str] = &[
    r"
    -- A row is small, because each run looks at all of them.
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
        -- What reading had to say; empty where all was sound.
        reading TEXT NOT NULL,
        -- How many sessions begin in it.
        sessions INTEGER NOT NULL
    ) WITHOUT ROWID;

    -- What a transcript shares with others: the keys by which copies are found, and the pieces that may be joined.
    CREATE TABLE holdings (
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        -- Of the sessions that came of it; empty where none did.
        kind TEXT NOT NULL,
        keys BLOB NOT NULL,
        pieces BLOB NOT NULL,
        PRIMARY KEY (path, version)
    ) WITHOUT ROWID;

    CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        recorded TEXT NOT NULL,
        agent TEXT,
        project TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        from_ms INTEGER,
        to_ms INTEGER,
        open INTEGER NOT NULL,
        summary TEXT NOT NULL,
        facts TEXT NOT NULL,
        progress TEXT NOT NULL
    );
    -- In the order in which sessions are listed, so that listing the last few reads no others and sorts nothing.
    CREATE INDEX sessions_by_time ON sessions (kind, to_ms DESC, id);
    CREATE INDEX sessions_of_subagents ON sessions (recorded) WHERE kind = 'subagent';

    -- Sessions that are made of several pieces. The others are one piece of one transcript.
    CREATE TABLE joined (
        session TEXT PRIMARY KEY NOT NULL,
        parts TEXT NOT NULL
    ) WITHOUT ROWID;

    -- Where grades and outcomes come from. Another judge, version or prompt never overwrites what one has said; an empty
    -- text stands for 'has none'.
    CREATE TABLE origins (
        id INTEGER PRIMARY KEY,
        rubric TEXT NOT NULL,
        rubric_hash TEXT NOT NULL,
        judge TEXT NOT NULL,
        judge_version TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        -- Every session that there is has been judged so.
        complete INTEGER NOT NULL,
        UNIQUE (rubric_hash, judge, judge_version, model, prompt_hash, rubric)
    );

    CREATE TABLE grades (
        origin INTEGER NOT NULL REFERENCES origins (id),
        session TEXT NOT NULL,
        thousandths INTEGER,
        tier TEXT,
        overall TEXT NOT NULL,
        -- Readings by dimension, in the rubric's order; where they come from is said once, above.
        readings TEXT NOT NULL,
        PRIMARY KEY (origin, session)
    );

    -- Whether sessions reached their goals: what the score needs as columns, the rest as JSON.
    CREATE TABLE outcomes (
        origin INTEGER NOT NULL REFERENCES origins (id),
        session TEXT NOT NULL,
        substance INTEGER NOT NULL,
        intent TEXT NOT NULL,
        status TEXT NOT NULL,
        goal TEXT NOT NULL,
        evidence TEXT NOT NULL,
        lack TEXT,
        probability REAL,
        detail TEXT NOT NULL,
        PRIMARY KEY (origin, session)
    );

    -- Fingerprints of the lines that sessions added and removed, and what became of them.
    CREATE TABLE prints (
        session TEXT PRIMARY KEY NOT NULL,
        repository TEXT NOT NULL,
        from_ms INTEGER NOT NULL,
        to_ms INTEGER NOT NULL,
        print BLOB NOT NULL
    );
    CREATE INDEX prints_by_repository ON prints (repository, to_ms);
    CREATE TABLE rework (
        session TEXT PRIMARY KEY NOT NULL,
        reworked INTEGER NOT NULL,
        detail TEXT NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE archive (
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        name TEXT NOT NULL,
        form TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (path, version)
    ) WITHOUT ROWID;

    -- Transcripts that were put and not yet compared with others for copies and joins. Empty but for a run under way, or
    -- one that was interrupted.
    CREATE TABLE unsettled (
        path TEXT PRIMARY KEY NOT NULL,
        -- Another each time it is put: who settles what another process has put again since must not unmark it.
        mark INTEGER NOT NULL
    ) WITHOUT ROWID;
",
    r"
    -- What model judges answered, word for word but for what redaction took out. The id is a hash of the question and of who
    -- was asked, so that nothing is asked and paid for twice.
    CREATE TABLE answers (
        id TEXT PRIMARY KEY NOT NULL,
        session TEXT NOT NULL,
        name TEXT NOT NULL,
        task TEXT NOT NULL,
        judge TEXT NOT NULL,
        model TEXT NOT NULL,
        answered_by TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        reply TEXT NOT NULL,
        stop TEXT NOT NULL,
        -- Tokens as JSON, and the cost; none where nobody says.
        usage TEXT,
        picodollars INTEGER,
        requests INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX answers_by_session ON answers (session);

    -- What they came to. Kept beside the offline judge's grades and outcomes, which every session has.
    CREATE TABLE judgements (
        origin INTEGER NOT NULL REFERENCES origins (id),
        session TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        -- The session as it was judged: one that has grown or was joined since is to be judged anew.
        from_ms INTEGER,
        to_ms INTEGER,
        grade TEXT,
        outcome TEXT,
        detail TEXT NOT NULL,
        PRIMARY KEY (session, origin)
    ) WITHOUT ROWID;

    -- Batches that were handed over and not yet fetched.
    CREATE TABLE batches (
        id TEXT PRIMARY KEY NOT NULL,
        at_ms INTEGER NOT NULL,
        questions TEXT NOT NULL
    ) WITHOUT ROWID;
",
    r"
    -- What models said of prompts, by their keys: whether another goal begins with them. It holds in every transcript that
    -- has the prompt, so that any order of reading gives the same sessions.
    CREATE TABLE topics (
        prompt INTEGER PRIMARY KEY NOT NULL,
        -- 'other', 'same', or 'open' where the model was not sure and words are left to decide.
        decision TEXT NOT NULL,
        sure INTEGER,
        reason TEXT NOT NULL,
        judge TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        at_ms INTEGER NOT NULL
    );

    -- Who has answered about which prompt, whoever's word counts.
    CREATE TABLE topics_asked (
        prompt INTEGER NOT NULL,
        judge TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        PRIMARY KEY (prompt, judge, model, prompt_hash)
    ) WITHOUT ROWID;

    -- Transcripts that were read before something was said of their prompts. Marked like those that are unsettled.
    CREATE TABLE uncut (
        path TEXT PRIMARY KEY NOT NULL,
        mark INTEGER NOT NULL
    ) WITHOUT ROWID;
",
    r"
    -- What the offline judge said of a session when it was put stands in the session's own row: every session has it, and
    -- rows of its own would have to be found by texts again. What is short comes first, so that lists need not pass the
    -- facts. What else was said stays in the tables for it, and so does what was said before this step.
    ALTER TABLE sessions RENAME TO before;
    CREATE TABLE sessions (
        -- For what is kept beside a session: to append by a number costs less than to look for the place of a text.
        number INTEGER PRIMARY KEY,
        id TEXT UNIQUE NOT NULL,
        path TEXT NOT NULL,
        version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        recorded TEXT NOT NULL,
        agent TEXT,
        project TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        from_ms INTEGER,
        to_ms INTEGER,
        open INTEGER NOT NULL,
        -- As in outcomes.
        outcome_origin INTEGER REFERENCES origins (id),
        substance INTEGER,
        intent TEXT,
        status TEXT,
        goal TEXT,
        evidence TEXT,
        lack TEXT,
        probability REAL,
        outcome TEXT,
        -- As in grades.
        grade_origin INTEGER REFERENCES origins (id),
        thousandths INTEGER,
        tier TEXT,
        overall TEXT,
        readings TEXT,
        summary TEXT NOT NULL,
        facts TEXT NOT NULL,
        progress TEXT NOT NULL
    );
    INSERT INTO sessions (number, id, path, version, kind, recorded, agent, project, title, model, from_ms, to_ms, open,
            summary, facts, progress)
        SELECT rowid, id, path, version, kind, recorded, agent, project, title, model, from_ms, to_ms, open, summary,
            facts, progress
        FROM before;
    DROP TABLE before;
    CREATE INDEX sessions_by_time ON sessions (kind, to_ms DESC, id);
    CREATE INDEX sessions_of_subagents ON sessions (recorded) WHERE kind = 'subagent';

    -- Under another name than before: an older version that is at it meanwhile must fail, and not number them by itself.
    CREATE TABLE fingerprints (
        -- The session's.
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        repository TEXT NOT NULL,
        from_ms INTEGER NOT NULL,
        to_ms INTEGER NOT NULL,
        print BLOB NOT NULL
    );
    INSERT INTO fingerprints (number, session, repository, from_ms, to_ms, print)
        SELECT s.number, p.session, p.repository, p.from_ms, p.to_ms, p.print
        FROM prints p JOIN sessions s ON s.id = p.session;
    DROP TABLE prints;
    CREATE INDEX fingerprints_by_repository ON fingerprints (repository, to_ms);
",
    r"
    -- The agent whose transcript a file is. Before this step the name of the file said it.
    ALTER TABLE files ADD COLUMN agent TEXT NOT NULL DEFAULT 'claude-code';
    UPDATE files SET agent = 'langfuse' WHERE substr(path, -15) = '.langfuse.jsonl';
",
];
