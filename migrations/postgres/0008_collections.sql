-- Collections of documents, which belong to an owner and are searched by the runs that name them. A replica of the release
-- before goes on working: it gives documents to threads, and searches what its runs may search.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (8, 2);

CREATE TABLE collections (
    id         UUID PRIMARY KEY,
    owner      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- Lists, newest first: of an owner, and of all.
CREATE INDEX collections_of_owner ON collections (owner, created_at, id);
CREATE INDEX collections_newest ON collections (created_at, id);

-- A document is in a thread or in a collection.
ALTER TABLE documents ALTER COLUMN thread_id DROP NOT NULL;
ALTER TABLE documents ADD COLUMN collection_id UUID REFERENCES collections (id) ON DELETE CASCADE;
ALTER TABLE documents ADD CONSTRAINT documents_in_one_set CHECK ((thread_id IS NULL) <> (collection_id IS NULL));
CREATE INDEX documents_of_collection ON documents (collection_id, created_at, id) WHERE collection_id IS NOT NULL;

-- The collections that a run searches, of those that its options name; one that is deleted is gone from here too.
CREATE TABLE run_collections (
    run_id        UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    collection_id UUID NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, collection_id)
);

CREATE INDEX runs_of_collection ON run_collections (collection_id);
