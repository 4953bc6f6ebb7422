-- What is looked for among much that has ended is found by an index, and webhooks are due by one clock. It only adds, so
-- that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (10, 2);

-- The runs that failed or were cancelled, of an owner and of all, newest first: few among those that have ended.
CREATE INDEX runs_ended_otherwise ON runs (owner, status, created_at, id) WHERE status IN ('failed', 'cancelled');
-- The second has a condition more, since SQLite would take it as well where only those of an owner are asked for.
CREATE INDEX runs_of_all_ended_otherwise ON runs (status, created_at, id)
WHERE status IN ('failed', 'cancelled') AND finished_at IS NOT NULL;

-- The message that a run answers, in a thread however long.
CREATE INDEX messages_of_run ON messages (run_id);

-- A delivery is due by the clock of the database, by which it is looked for: the clock of the worker that ended the run may
-- be another one. `ended_at` stays what the run says.
CREATE OR REPLACE FUNCTION add_webhook_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (run_id, ended_at, next_at)
    VALUES (NEW.id, NEW.finished_at, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT))
    ON CONFLICT (run_id) DO NOTHING;
    RETURN NULL;
END
$$;
