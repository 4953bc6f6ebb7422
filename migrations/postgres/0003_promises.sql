-- What keeps the promises of the service. It only adds, so that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (3, 2);

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
