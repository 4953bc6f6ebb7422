-- What the service adds: threads that describe themselves, runs that carry their progress, a queue that is fair between
-- owners, and keys that make requests repeatable. Columns have defaults throughout, so that a release which does not
-- know them keeps working on this schema.

-- The first words of the first message, one line.
ALTER TABLE threads ADD COLUMN title TEXT NOT NULL DEFAULT '';
-- JSON objects as the client gave them: what it wants to remember, and the options its later runs inherit.
ALTER TABLE threads ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE threads ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
-- Events up to this number were removed by retention; 0 when none was.
ALTER TABLE threads ADD COLUMN pruned_through BIGINT NOT NULL DEFAULT 0;

-- Whose work it is, for a fair queue; empty when the operator does not tell users apart.
ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
-- How often a process died with this run in its hands since the last step was stored.
ALTER TABLE runs ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0;
-- Progress, counted up in the transactions that append the events it is read off.
ALTER TABLE runs ADD COLUMN phase TEXT;
ALTER TABLE runs ADD COLUMN iterations BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN researchers_started BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN researchers_finished BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN researchers_failed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN searches BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN sources_found BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN warnings BIGINT NOT NULL DEFAULT 0;

-- How many runs each owner has in work and in the queue.
CREATE INDEX runs_active_by_owner ON runs (owner, status) WHERE status IN ('queued', 'running');
-- What a process holds.
CREATE INDEX runs_claimed ON runs (claimed_by) WHERE status = 'running';

-- The ledger's sums per run and model, added to in the transactions that store the steps.
CREATE TABLE run_usage (
    run_id           UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    model            TEXT   NOT NULL,
    calls            BIGINT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    PRIMARY KEY (run_id, model)
);

INSERT INTO run_usage (run_id, model, calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens)
SELECT run_id, model, COUNT(*), SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), SUM(reasoning_tokens)
FROM steps WHERE model IS NOT NULL GROUP BY run_id, model;

-- A request that carries a key is answered once. Written in the transaction that creates the run, so that the same key
-- on two replicas at once still gives one run. No foreign keys: a key outlives its thread, and the answer to its
-- repetition is then that the thread is gone.
CREATE TABLE idempotency_keys (
    -- The operation the key was given to, such as 'POST /api/v1/threads', and its owner.
    scope        TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    -- SHA-256 of the request's body, hex.
    request_hash TEXT   NOT NULL,
    thread_id    UUID   NOT NULL,
    run_id       UUID   NOT NULL,
    message_id   UUID   NOT NULL,
    -- The body of the first answer; NULL when the process ended before it could be kept.
    response     TEXT,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);

-- For the cleaning up.
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);

-- To forget the kept answers of a deleted thread, which repeat its text.
CREATE INDEX idempotency_keys_threads ON idempotency_keys (thread_id);

-- Which programs may work on this schema, so that a replica of the previous release can be restarted in the middle of a
-- rolling upgrade. Each migration from here on adds its row: the version of the oldest schema whose programs still work
-- after it. A migration that only adds (tables, indexes, columns with defaults) repeats the number of the one before
-- it; one that takes something away names the first release that does without.
CREATE TABLE schema_compatibility (
    version        BIGINT PRIMARY KEY,
    oldest_program BIGINT NOT NULL
);

-- The first release knows nothing of this table and refuses every schema but its own, although its statements would run.
INSERT INTO schema_compatibility (version, oldest_program) VALUES (2, 2);
