-- What pages say of themselves, and which of a run's pages are one source. It only adds, so that a replica of the release
-- before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (6, 2);

-- Null where the page says nothing of the kind, and in rows of releases before.
ALTER TABLE sources ADD COLUMN author TEXT;
ALTER TABLE sources ADD COLUMN site TEXT;
-- A JSON array of texts: rows of a run that share one are the same page or have the same text. Null in rows of releases
-- before, which are sources of their own.
ALTER TABLE sources ADD COLUMN keys TEXT;
