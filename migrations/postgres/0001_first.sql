-- The first schema. Its SQLite twin (migrations/sqlite) has the same tables, columns and names.
--
-- Times are milliseconds since the Unix epoch (UTC) and ids are version 7 UUIDs; both are bound by the program, so
-- that nothing here depends on the server's clock. JSON is kept as TEXT, not JSONB: it must come back byte for byte,
-- and JSONB refuses the escape of the NUL character.
--
-- The fill factors leave room in each page for the rows that change with every commit (threads.last_seq,
-- runs.last_commit), so that those updates touch no index.

CREATE TABLE threads (
    id         UUID   PRIMARY KEY,
    created_at BIGINT NOT NULL,
    -- The number of the newest event. Whoever appends events raises it first, in the same transaction; that row lock
    -- is what makes the log of a thread free of gaps.
    last_seq   BIGINT NOT NULL CHECK (last_seq >= 0)
) WITH (fillfactor = 70);

-- Listing, newest first.
CREATE INDEX threads_newest ON threads (created_at, id);

CREATE TABLE runs (
    id               UUID    PRIMARY KEY,
    thread_id        UUID    NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    -- No event of this run has a smaller number; spares readers of one run the events of the runs before it.
    first_seq        BIGINT  NOT NULL,
    status           TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    outcome          TEXT,
    error_code       TEXT,
    error_message    TEXT,
    options          TEXT    NOT NULL,
    -- The folder it searches, absolute, so that it can be resumed without naming it again; NULL for the web.
    documents        TEXT,
    created_at       BIGINT  NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    -- The lease: who works on it and until when; NULL and 0 while nobody does.
    claimed_by       TEXT,
    lease_expires_at BIGINT  NOT NULL DEFAULT 0,
    -- Rises with every claim. A write that carries an older one is refused.
    epoch            BIGINT  NOT NULL DEFAULT 0,
    cancel_requested BOOLEAN NOT NULL DEFAULT FALSE,
    report           TEXT,
    -- The stamp of the newest commit, so that a commit whose answer got lost can be recognised when it is repeated.
    last_commit      UUID,
    CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'completed') = (outcome IS NOT NULL)),
    CHECK ((error_code IS NULL) = (error_message IS NULL))
) WITH (fillfactor = 70);

-- At most one active run per thread, whatever races.
CREATE UNIQUE INDEX runs_one_active_per_thread ON runs (thread_id) WHERE status IN ('queued', 'running');
-- The queue, oldest first; holds active runs alone and so stays small.
CREATE INDEX runs_claimable ON runs (created_at, id) WHERE status IN ('queued', 'running');
-- The runs of a thread, and the cascade when it is deleted.
CREATE INDEX runs_of_thread ON runs (thread_id, created_at, id);
-- Listing, newest first.
CREATE INDEX runs_newest ON runs (created_at, id);

CREATE TABLE messages (
    id         UUID   PRIMARY KEY,
    thread_id  UUID   NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    -- The number of the event it came with: orders messages even when their times are equal.
    position   BIGINT NOT NULL,
    role       TEXT   NOT NULL CHECK (role IN ('user', 'assistant')),
    content    TEXT   NOT NULL,
    run_id     UUID,
    created_at BIGINT NOT NULL
);

CREATE INDEX messages_of_thread ON messages (thread_id, position, id);

-- The journal, the ledger and the provenance in one. The key is unique in its run: a step is recorded once.
CREATE TABLE steps (
    run_id           UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key              TEXT   NOT NULL,
    kind             TEXT   NOT NULL,
    request_hash     TEXT   NOT NULL,
    value            TEXT   NOT NULL,
    started_at       BIGINT NOT NULL,
    finished_at      BIGINT NOT NULL,
    -- Of steps that called a model; all NULL otherwise.
    model            TEXT,
    role             TEXT,
    attempts         BIGINT,
    input_tokens     BIGINT,
    cached_tokens    BIGINT,
    output_tokens    BIGINT,
    reasoning_tokens BIGINT,
    PRIMARY KEY (run_id, key)
);

-- The log. It is read by thread and ascending number only, so the primary key is its one index. run_id has no foreign
-- key: runs disappear only together with their thread, and the check would cost a lookup per event.
CREATE TABLE events (
    thread_id UUID   NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    seq       BIGINT NOT NULL CHECK (seq > 0),
    run_id    UUID   NOT NULL,
    ts        BIGINT NOT NULL,
    agent     TEXT   NOT NULL,
    agent_id  TEXT,
    -- The event's type, also inside body; a column so that it can be counted.
    name      TEXT   NOT NULL,
    body      TEXT   NOT NULL,
    PRIMARY KEY (thread_id, seq)
);

CREATE TABLE sources (
    run_id       UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id           BIGINT NOT NULL,
    -- JSON array of numbers, ascending: further ids of the same page.
    aliases      TEXT   NOT NULL,
    url          TEXT   NOT NULL,
    -- SHA-256 of url. A page is one source per run, and an index over the URL itself would refuse long ones.
    url_hash     BYTEA  NOT NULL,
    title        TEXT   NOT NULL,
    section      TEXT,
    engine       TEXT   NOT NULL,
    score        DOUBLE PRECISION,
    published    TEXT,
    fetched_at   BIGINT NOT NULL,
    content_hash TEXT   NOT NULL,
    snapshot     TEXT   NOT NULL,
    PRIMARY KEY (run_id, id),
    UNIQUE (run_id, url_hash)
);

CREATE TABLE notes (
    run_id     UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    researcher BIGINT NOT NULL,
    topic      TEXT   NOT NULL,
    text       TEXT   NOT NULL,
    PRIMARY KEY (run_id, researcher)
);
