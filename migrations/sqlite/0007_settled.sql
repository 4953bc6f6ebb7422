-- An owner's end is counted once, and what is looked for by its age is found by an index. It only adds, so that a replica of
-- the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (7, 2);

-- The newest lease whose end was settled after its owner had died: settling it again changes nothing. 0 before the first.
ALTER TABLE runs ADD COLUMN settled_epoch INTEGER NOT NULL DEFAULT 0;

-- The use of a key, and of everybody, over a period.
CREATE INDEX deleted_usage_of_key ON deleted_usage (key_id, created_at) WHERE key_id IS NOT NULL;
CREATE INDEX deleted_usage_oldest ON deleted_usage (created_at);

-- Those that have expired are removed when one begins.
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX issued_keys_by_expiry ON api_keys (expires_at) WHERE issuer IS NOT NULL;
