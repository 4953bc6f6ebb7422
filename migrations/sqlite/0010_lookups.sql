-- The twin of the Postgres migration of that number; the longer reasons stand there.
--
-- What is looked for among much that has ended is found by an index, and webhooks are due by one clock. It only adds, so
-- that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (10, 9);

-- The runs that failed or were cancelled, of an owner and of all, newest first: few among those that have ended.
-- SQLite sees that one state is among these, and not that it is in a list. The second has a condition more, so that it is
-- not taken where only those of an owner are asked for.
CREATE INDEX runs_ended_otherwise ON runs (owner, status, created_at, id)
WHERE status = 'failed' OR status = 'cancelled';
CREATE INDEX runs_of_all_ended_otherwise ON runs (status, created_at, id)
WHERE (status = 'failed' OR status = 'cancelled') AND finished_at IS NOT NULL;

-- The message that a run answers, in a thread however long.
CREATE INDEX messages_of_run ON messages (run_id);

-- A delivery is due by the clock by which it is looked for.
DROP TRIGGER runs_webhook;
CREATE TRIGGER runs_webhook AFTER UPDATE OF finished_at ON runs
WHEN OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL AND NEW.webhook_url IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO webhook_deliveries (run_id, ended_at, next_at)
    VALUES (NEW.id, NEW.finished_at, CAST(unixepoch('subsec') * 1000 AS INTEGER));
END;
