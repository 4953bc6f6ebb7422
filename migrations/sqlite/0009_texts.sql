-- The texts of sources are kept compressed. A program of a release before would find empty texts in the rows that come.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (9, 9);

-- The text in zlib's format; `snapshot` is empty then. Null in rows of releases before, whose text is in `snapshot` as it is.
ALTER TABLE sources ADD COLUMN compressed BLOB;
