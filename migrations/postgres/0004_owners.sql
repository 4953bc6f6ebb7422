-- Whose threads they are, and the keys by which a service with several users knows them. A replica of the releases before
-- goes on working: what it stores without an owner is seen by those who see everything.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (4, 2);

-- What was stored for nobody in particular belongs to the one owner there was.
ALTER TABLE threads ALTER COLUMN owner SET DEFAULT 'local';
UPDATE threads SET owner = 'local' WHERE owner = '';
UPDATE runs SET owner = 'local' WHERE owner = '';

-- The threads and the runs of an owner, newest first.
DROP INDEX threads_by_owner;
CREATE INDEX threads_of_owner ON threads (owner, created_at, id);
CREATE INDEX runs_of_owner ON runs (owner, created_at, id);

-- Keys of the API. The secret is not here: only its SHA-256, and secrets are random, so nobody can guess one from it.
CREATE TABLE api_keys (
    id           UUID   PRIMARY KEY,
    name         TEXT   NOT NULL,
    owner        TEXT   NOT NULL,
    scope        TEXT   NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    secret_hash  BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    -- Null: never.
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

-- Browsers that signed in with a key; gone with it.
CREATE TABLE sessions (
    id          UUID   PRIMARY KEY,
    key_id      UUID   NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    secret_hash BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);

CREATE INDEX sessions_of_key ON sessions (key_id);
