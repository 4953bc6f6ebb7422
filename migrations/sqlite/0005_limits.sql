-- Limits of owners and keys, the use that deleted runs leave behind, links that share a thread, documents of threads, and
-- keys that come with requests. It only adds, so that a
-- replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (5, 2);

-- What the key may use: a JSON object, whose unknown members are passed over.
ALTER TABLE api_keys ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
-- Who vouched for the owner, for a key that was made at a sign-in through others; null for all others.
ALTER TABLE api_keys ADD COLUMN issuer TEXT;

-- The key with which the run was started; null where nobody asks for one. Not a reference: what a key has used counts
-- after its end, too.
ALTER TABLE runs ADD COLUMN key_id BLOB;
CREATE INDEX runs_of_key ON runs (key_id, created_at) WHERE key_id IS NOT NULL;

-- What runs had used that were deleted with their threads: it counts on, or deleting would give back what a day allows.
CREATE TABLE deleted_usage (
    owner            TEXT   NOT NULL,
    key_id           BLOB,
    -- When the run was created.
    created_at       INTEGER NOT NULL,
    -- Empty in the row of the run itself, which has its searches and counts as one run; the others are those of its models.
    model            TEXT   NOT NULL,
    runs             INTEGER NOT NULL,
    searches         INTEGER NOT NULL,
    calls            INTEGER NOT NULL,
    input_tokens     INTEGER NOT NULL,
    cached_tokens    INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost             INTEGER
) STRICT;

CREATE INDEX deleted_usage_of_owner ON deleted_usage (owner, created_at);

-- Written whichever statement of whichever release deletes the run, before what belongs to it is gone.
CREATE TRIGGER runs_usage BEFORE DELETE ON runs
BEGIN
    INSERT INTO deleted_usage (owner, key_id, created_at, model, runs, searches, calls, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, cost)
    VALUES (OLD.owner, OLD.key_id, OLD.created_at, '', 1, OLD.searches, 0, 0, 0, 0, 0, NULL);
    INSERT INTO deleted_usage (owner, key_id, created_at, model, runs, searches, calls, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, cost)
    SELECT OLD.owner, OLD.key_id, OLD.created_at, model, 0, 0, calls, input_tokens, cached_tokens, output_tokens,
        reasoning_tokens, cost FROM run_usage WHERE run_id = OLD.id;
END;

-- Links by which anybody may read a thread. As of keys, only the SHA-256 of the secret is here. Gone with the thread.
CREATE TABLE shares (
    id          BLOB   PRIMARY KEY,
    thread_id   BLOB   NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    secret_hash BLOB   NOT NULL,
    created_at  INTEGER NOT NULL,
    -- Null: never.
    expires_at  INTEGER,
    revoked_at  INTEGER
) STRICT;

CREATE INDEX shares_of_thread ON shares (thread_id, created_at, id);

-- Documents that users give to a thread; runs of a replica of the releases before do not search them.
-- The text of a document, read once, when it is given; the file itself is not kept.
CREATE TABLE documents (
    id           BLOB PRIMARY KEY,
    thread_id    BLOB NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    -- Empty once it is removed.
    name         TEXT NOT NULL,
    -- SHA-256 of the file, hex.
    content_hash TEXT NOT NULL,
    size_bytes   INTEGER NOT NULL,
    characters   INTEGER NOT NULL,
    title        TEXT,
    author       TEXT,
    published    TEXT,
    -- What could not be read of it.
    missing      TEXT,
    -- JSON; empty once it is removed. The row stays: runs that may search it say so in their prompts.
    sections     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    removed_at   INTEGER
) STRICT;

CREATE INDEX documents_of_thread ON documents (thread_id, created_at, id);

-- What a run may search: the documents that its thread had when the run was created.
CREATE TABLE run_documents (
    run_id      BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    document_id BLOB NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, document_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_of_document ON run_documents (document_id);

-- Keys of providers and search engines that came with the request for a run, encrypted with a secret of the server. What
-- is here is wiped when the run ends; the row stays and says that it had keys of its own.
CREATE TABLE run_keys (
    run_id BLOB PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    sealed BLOB
) STRICT, WITHOUT ROWID;

CREATE TRIGGER runs_keys AFTER UPDATE OF status ON runs WHEN NEW.status IN ('completed', 'failed', 'cancelled')
BEGIN
    UPDATE run_keys SET sealed = NULL WHERE run_id = NEW.id;
END;
