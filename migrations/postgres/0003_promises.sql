-- What keeps the promises of the service. It only adds, so that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (3, 2);

-- Whose thread it is: threads are counted per owner, so that nobody can fill the database. Those from before count for
-- nobody in particular.
ALTER TABLE threads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX threads_by_owner ON threads (owner);

-- Whom calls of the run wait for since when (JSON; empty or null: for nobody), and until when, so that whoever waits for
-- a provider that is away is seen to wait and does not count as stuck.
ALTER TABLE runs ADD COLUMN waiting_for TEXT;
ALTER TABLE runs ADD COLUMN waiting_until BIGINT;

-- The option that ended the run's research early, because the run had spent what it allows.
ALTER TABLE runs ADD COLUMN limited_by TEXT;
