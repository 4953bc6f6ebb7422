-- The texts of sources, which SQLite keeps compressed; Postgres compresses long values by itself, so nothing changes.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (9, 2);
