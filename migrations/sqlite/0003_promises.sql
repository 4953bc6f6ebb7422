-- What keeps the promises of the service. It only adds, so that a replica of the release before goes on working.

INSERT INTO schema_compatibility (version, oldest_program) VALUES (3, 2);
