-- Collections of documents, which belong to an owner and are searched by the runs that name them. A program of the release
-- before goes on working: it gives documents to threads, and searches what its runs may search.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (8, 2);

CREATE TABLE collections (
    id         BLOB PRIMARY KEY,
    owner      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Lists, newest first: of an owner, and of all.
CREATE INDEX collections_of_owner ON collections (owner, created_at, id);
CREATE INDEX collections_newest ON collections (created_at, id);

-- A document is in a thread or in a collection. SQLite cannot let a column be null that could not: the table is made
-- again, and so is the one that refers to it, since dropping a table deletes what refers to its rows.
CREATE TABLE documents_in_sets (
    id            BLOB PRIMARY KEY,
    thread_id     BLOB REFERENCES threads (id) ON DELETE CASCADE,
    collection_id BLOB REFERENCES collections (id) ON DELETE CASCADE,
    -- Empty once it is removed.
    name          TEXT NOT NULL,
    -- SHA-256 of the file, hex.
    content_hash  TEXT NOT NULL,
    size_bytes    INTEGER NOT NULL,
    characters    INTEGER NOT NULL,
    title         TEXT,
    author        TEXT,
    published     TEXT,
    -- What could not be read of it.
    missing       TEXT,
    -- JSON; empty once it is removed. The row stays: runs that may search it say so in their prompts.
    sections      TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    removed_at    INTEGER,
    CHECK ((thread_id IS NULL) <> (collection_id IS NULL))
) STRICT;

INSERT INTO documents_in_sets (id, thread_id, name, content_hash, size_bytes, characters, title, author, published, missing,
    sections, created_at, removed_at)
SELECT id, thread_id, name, content_hash, size_bytes, characters, title, author, published, missing, sections, created_at,
    removed_at
FROM documents;

CREATE TABLE run_documents_in_sets (
    run_id      BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    document_id BLOB NOT NULL REFERENCES documents_in_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, document_id)
) STRICT, WITHOUT ROWID;

INSERT INTO run_documents_in_sets (run_id, document_id) SELECT run_id, document_id FROM run_documents;

DROP TABLE run_documents;
DROP TABLE documents;
-- What refers to it follows.
ALTER TABLE documents_in_sets RENAME TO documents;
ALTER TABLE run_documents_in_sets RENAME TO run_documents;

CREATE INDEX documents_of_thread ON documents (thread_id, created_at, id);
CREATE INDEX documents_of_collection ON documents (collection_id, created_at, id) WHERE collection_id IS NOT NULL;
CREATE INDEX runs_of_document ON run_documents (document_id);

-- The collections that a run searches, of those that its options name; one that is deleted is gone from here too.
CREATE TABLE run_collections (
    run_id        BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    collection_id BLOB NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, collection_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_of_collection ON run_collections (collection_id);
