-- What keeps the promises of the service. It only adds, so that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (3, 2);

-- Whose thread it is: threads are counted per owner, so that nobody can fill the database. Those from before count for
-- nobody in particular.
ALTER TABLE threads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX threads_by_owner ON threads (owner);
