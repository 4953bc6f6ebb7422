-- What keeps the promises of the service. It only adds, so that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (3, 2);

-- A run that goes on from the journal of an earlier run of its thread, which failed or was cancelled: that run, and the
-- one whose message it answers. Both NULL for a run that answers its own message.
ALTER TABLE runs ADD COLUMN retry_of UUID;
ALTER TABLE runs ADD COLUMN question_of UUID;

-- SHA-256 of what a request is about, whatever words say it, hex: a release with other prompts knows a stored step by it,
-- and so does a retry with another model. Empty for steps of releases that did not know it.
ALTER TABLE steps ADD COLUMN input_hash TEXT NOT NULL DEFAULT '';
-- Which wording of the prompts the request was made with; the whole request has to be the same only under the same one.
ALTER TABLE steps ADD COLUMN prompts TEXT NOT NULL DEFAULT '';
-- Taken over from the run that this one retries: that run has paid for it, so it is no part of this run's usage.
ALTER TABLE steps ADD COLUMN inherited BOOLEAN NOT NULL DEFAULT FALSE;

-- Whose thread it is: threads are counted per owner, so that nobody can fill the database. Those from before count for
-- nobody in particular.
ALTER TABLE threads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX threads_by_owner ON threads (owner);

-- Whom calls of the run wait for since when (JSON; empty or null: for nobody), and until when, so that whoever waits for
-- a provider that is away is seen to wait and does not count as stuck.
ALTER TABLE runs ADD COLUMN waiting_for TEXT;
ALTER TABLE runs ADD COLUMN waiting_until BIGINT;

-- Which run kills the processes that work on it: `deaths` counts those that died while our own code worked on it. Here are
-- the ends of its owners that nobody can explain, which count less, and since when (0: never) there has been either.
ALTER TABLE runs ADD COLUMN unexplained BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN suspect_since BIGINT NOT NULL DEFAULT 0;

-- One row, which is written to find out whether the database takes writes: one that stands by, or whose disk is full, still
-- answers reads.
CREATE TABLE write_probe (
    id         BIGINT PRIMARY KEY,
    written_at BIGINT NOT NULL
);
INSERT INTO write_probe (id, written_at) VALUES (1, 0);

-- The option that ended the run's research early, because the run had spent what it allows.
ALTER TABLE runs ADD COLUMN limited_by TEXT;

-- Whom to tell when the run has ended; null: nobody.
ALTER TABLE runs ADD COLUMN webhook_url TEXT;

-- Webhooks that are still to be delivered. Gone with their run, and so with its thread.
CREATE TABLE webhook_deliveries (
    run_id   UUID   PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    ended_at BIGINT NOT NULL,
    -- Attempts that were begun.
    attempts BIGINT NOT NULL DEFAULT 0,
    -- When the next attempt is due. Whoever takes a delivery sets it to the time at which others may take it.
    next_at  BIGINT NOT NULL
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at);

-- The row is written in the transaction that ends the run, whichever statement of whichever release does so.
CREATE FUNCTION add_webhook_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (run_id, ended_at, next_at) VALUES (NEW.id, NEW.finished_at, NEW.finished_at)
    ON CONFLICT (run_id) DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_webhook AFTER UPDATE OF finished_at ON runs FOR EACH ROW
WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL AND NEW.webhook_url IS NOT NULL)
EXECUTE FUNCTION add_webhook_delivery();

-- What a call cost, in billionths of a dollar, so that sums are exact; null where no price is known. As the tokens, it is
-- kept with the call and summed up per run and model.
ALTER TABLE steps ADD COLUMN cost BIGINT;
ALTER TABLE run_usage ADD COLUMN cost BIGINT;
