-- The first schema. Its Postgres twin (migrations/postgres) has the same tables, columns and names, and the longer
-- reasons.
--
-- Times are milliseconds since the Unix epoch (UTC) and ids are version 7 UUIDs as 16 bytes; both are bound by the
-- program. STRICT makes the engine keep to the types.

CREATE TABLE threads (
    id         BLOB    PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The number of the newest event. Whoever appends events raises it first, in the same transaction; that row lock
    -- is what makes the log of a thread free of gaps.
    last_seq   INTEGER NOT NULL CHECK (last_seq >= 0)
) STRICT;

-- Listing, newest first.
CREATE INDEX threads_newest ON threads (created_at, id);

CREATE TABLE runs (
    id               BLOB    PRIMARY KEY,
    thread_id        BLOB    NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    -- No event of this run has a smaller number; spares readers of one run the events of the runs before it.
    first_seq        INTEGER NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    outcome          TEXT,
    error_code       TEXT,
    error_message    TEXT,
    options          TEXT    NOT NULL,
    -- The folder it searches, absolute, so that it can be resumed without naming it again; NULL for the web.
    documents        TEXT,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    -- The lease: who works on it and until when; NULL and 0 while nobody does.
    claimed_by       TEXT,
    lease_expires_at INTEGER NOT NULL DEFAULT 0,
    -- Rises with every claim. A write that carries an older one is refused.
    epoch            INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    report           TEXT,
    -- The stamp of the newest commit, so that a commit whose answer got lost can be recognised when it is repeated.
    last_commit      BLOB,
    CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'completed') = (outcome IS NOT NULL)),
    CHECK ((error_code IS NULL) = (error_message IS NULL))
) STRICT;

-- At most one active run per thread, whatever races.
CREATE UNIQUE INDEX runs_one_active_per_thread ON runs (thread_id) WHERE status IN ('queued', 'running');
-- The queue, oldest first; holds active runs alone and so stays small.
CREATE INDEX runs_claimable ON runs (created_at, id) WHERE status IN ('queued', 'running');
-- The runs of a thread, and the cascade when it is deleted.
CREATE INDEX runs_of_thread ON runs (thread_id, created_at, id);
-- Listing, newest first.
CREATE INDEX runs_newest ON runs (created_at, id);

CREATE TABLE messages (
    id         BLOB    PRIMARY KEY,
    thread_id  BLOB    NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    -- The number of the event it came with: orders messages even when their times are equal.
    position   INTEGER NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    content    TEXT    NOT NULL,
    run_id     BLOB,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_of_thread ON messages (thread_id, position, id);

-- The journal, the ledger and the provenance in one. The key is unique in its run: a step is recorded once.
CREATE TABLE steps (
    run_id           BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key              TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    request_hash     TEXT    NOT NULL,
    value            TEXT    NOT NULL,
    started_at       INTEGER NOT NULL,
    finished_at      INTEGER NOT NULL,
    -- Of steps that called a model; all NULL otherwise.
    model            TEXT,
    role             TEXT,
    attempts         INTEGER,
    input_tokens     INTEGER,
    cached_tokens    INTEGER,
    output_tokens    INTEGER,
    reasoning_tokens INTEGER,
    PRIMARY KEY (run_id, key)
) STRICT;

-- The log, stored in the order of its key (WITHOUT ROWID). It is read by thread and ascending number only, so the primary key is its one index. run_id has no foreign
-- key: runs disappear only together with their thread, and the check would cost a lookup per event.
CREATE TABLE events (
    thread_id BLOB    NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    seq       INTEGER NOT NULL CHECK (seq > 0),
    run_id    BLOB    NOT NULL,
    ts        INTEGER NOT NULL,
    agent     TEXT    NOT NULL,
    agent_id  TEXT,
    -- The event's type, also inside body; a column so that it can be counted.
    name      TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (thread_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    run_id       BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id           INTEGER NOT NULL,
    -- JSON array of numbers, ascending: further ids of the same page.
    aliases      TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    -- SHA-256 of url. A page is one source per run, and an index over the URL itself would refuse long ones.
    url_hash     BLOB  NOT NULL,
    title        TEXT    NOT NULL,
    section      TEXT,
    engine       TEXT    NOT NULL,
    score        REAL,
    published    TEXT,
    fetched_at   INTEGER NOT NULL,
    content_hash TEXT    NOT NULL,
    snapshot     TEXT    NOT NULL,
    PRIMARY KEY (run_id, id),
    UNIQUE (run_id, url_hash)
) STRICT;

CREATE TABLE notes (
    run_id     BLOB    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    researcher INTEGER NOT NULL,
    topic      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    PRIMARY KEY (run_id, researcher)
) STRICT;
