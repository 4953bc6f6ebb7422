//! Releases side by side on one database: the schema of an earlier one is brought up to date with its rows, its
//! statements still run afterwards, and a program meets the schema of a later one.

use std::time::Duration;

use fathom::{
    domain::{DocumentSet, FailureCode, MessageRole, Outcome, RunId, RunStatus, ThreadId, Timestamp},
    store::{Claimed, Database, Error, NEWEST_SCHEMA, Schema, Store},
};
use secrecy::ExposeSecret as _;
use sqlx::{
    Connection as _, Executor as _, PgConnection,
    migrate::{Migration, MigrationType, Migrator},
};
use test_case::test_case;

use crate::{
    crash::{Engine, Site, until},
    database::TestDatabase,
    store::{NOW, claimant_at, claimed, commit_of, created, finish_of, new_run},
    world::Script,
};

/// A value where a statement has `$1`, `$2` and so on.
#[derive(Clone, Copy)]
enum Value<'a> {
    Id(uuid::Uuid),
    Bytes(&'a str),
    Number(i64),
    Text(&'a str),
    Null,
}

use Value::{Bytes, Id, Null, Number, Text};

/// The statement with its values written out, as the engine takes them.
fn written(database: &Database, statement: &str, values: &[Value<'_>]) -> String {
    let postgres = matches!(database, Database::Postgres { .. });
    let mut text = statement.to_owned();
    for (place, value) in values.iter().enumerate().rev() {
        let literal = match value {
            Id(id) if postgres => format!("'{id}'::uuid"),
            Id(id) => format!("x'{}'", id.simple()),
            Bytes(hex) if postgres => format!("'\\x{hex}'::bytea"),
            Bytes(hex) => format!("x'{hex}'"),
            Number(number) => number.to_string(),
            Text(text) => format!("'{text}'"),
            Null => "NULL".to_owned(),
        };
        text = text.replace(&format!("${}", place + 1), &literal);
    }
    assert!(!text.contains('$'), "a value is missing: {text}");
    text
}

/// What the first release had as constant text, in the order of a run's life. Kept as it was then; only lists of rows
/// are written out for one row. `FOR UPDATE` clauses of Postgres alone are left out. Its ids, in their order: thread,
/// run, message, run's answer, stamp.
fn first_release(ids: [uuid::Uuid; 5]) -> Vec<(&'static str, Vec<Value<'static>>, Option<usize>)> {
    let [thread, run, message, answer, stamp] = ids.map(Id);
    let (now, later) = (Number(NOW.0), Number(NOW.0 + 30_000));
    const OPTIONS: &str = r#"{"allow_clarification":true,"max_clarifications":1,"max_structured_output_retries":3,"max_concurrent_research_units":5,"max_researcher_iterations":6,"max_react_tool_calls":10,"max_researcher_seconds":3600,"require_think":false,"search_api":"tavily","max_content_length":50000,"summarization_model":"openai:gpt-4.1-mini","summarization_model_max_tokens":8192,"research_model":"openai:gpt-4.1","research_model_max_tokens":10000,"compression_model":"openai:gpt-4.1","compression_model_max_tokens":8192,"final_report_model":"openai:gpt-4.1","final_report_model_max_tokens":10000,"model_context_window":null}"#;
    vec![
        ("SELECT id FROM threads LIMIT 1", vec![], Some(0)),
        ("INSERT INTO threads (id, created_at, last_seq) VALUES ($1, $2, $3)", vec![thread, now, Number(1)], None),
        (
            "INSERT INTO runs (id, thread_id, first_seq, status, options, created_at, documents) \
          SELECT $1, id, last_seq, 'queued', $2, $3, $5 FROM threads WHERE id = $4",
            vec![run, Text(OPTIONS), now, thread, Null],
            None,
        ),
        (
            "INSERT INTO messages (id, thread_id, position, role, content, run_id, created_at) \
          VALUES ($1, $2, $3, $4, $5, $6, $7)",
            vec![message, thread, Number(1), Text("user"), Text("Why?"), run, now],
            None,
        ),
        (
            "INSERT INTO events (thread_id, seq, run_id, ts, agent, agent_id, name, body) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            vec![
                thread,
                Number(1),
                run,
                now,
                Text("root"),
                Null,
                Text("run.queued"),
                Text(r#"{"type":"run.queued","data":{}}"#),
            ],
            None,
        ),
        (
            "SELECT id FROM runs WHERE status IN ('queued', 'running') \
          AND (status = 'queued' OR lease_expires_at <= $1) LIMIT 1",
            vec![now],
            Some(1),
        ),
        (
            "SELECT id FROM runs WHERE status IN ('queued', 'running') \
          AND (status = 'queued' OR lease_expires_at <= $1) ORDER BY created_at, id LIMIT 1",
            vec![now],
            Some(1),
        ),
        (
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3, \
          started_at = COALESCE(started_at, $4) \
          WHERE id = $1 AND (status = 'queued' OR (status = 'running' AND (lease_expires_at <= $4 OR claimed_by = $5))) \
          RETURNING epoch, id, thread_id, status, outcome, error_code, error_message, options, created_at, started_at, \
          finished_at",
            vec![run, Text("old"), later, now, Null],
            Some(1),
        ),
        (
            "UPDATE runs SET lease_expires_at = $3 WHERE id = $1 AND epoch = $2 AND status = 'running' \
          AND claimed_by IS NOT NULL RETURNING cancel_requested",
            vec![run, Number(1), later],
            Some(1),
        ),
        ("SELECT id, epoch, status, last_commit FROM runs WHERE id IN ($1) ORDER BY id", vec![run], Some(1)),
        (
            "UPDATE threads SET last_seq = last_seq + added.column2 FROM (VALUES ($1, $2)) AS added \
          WHERE threads.id = added.column1 RETURNING threads.id, threads.last_seq",
            vec![thread, Number(1)],
            Some(1),
        ),
        (
            "INSERT INTO steps (run_id, key, kind, request_hash, value, started_at, finished_at, model, role, attempts, \
          input_tokens, cached_tokens, output_tokens, reasoning_tokens) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            vec![
                run,
                Text("brief"),
                Text("model"),
                Text("ab"),
                Text("{}"),
                now,
                now,
                Text("openai:m"),
                Text("research"),
                Number(1),
                Number(10),
                Number(4),
                Number(5),
                Number(0),
            ],
            None,
        ),
        (
            "INSERT INTO events (thread_id, seq, run_id, ts, agent, agent_id, name, body) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            vec![
                thread,
                Number(2),
                run,
                now,
                Text("researcher"),
                Text("r1"),
                Text("thought"),
                Text(r#"{"type":"thought","data":{"text":"Hm."}}"#),
            ],
            None,
        ),
        (
            "SELECT run_id, url_hash, id, aliases FROM sources WHERE (run_id, url_hash) IN (VALUES ($1, $2))",
            vec![run, Bytes("00ff")],
            Some(0),
        ),
        (
            "INSERT INTO sources (run_id, url_hash, id, aliases, url, title, section, engine, score, published, \
          fetched_at, content_hash, snapshot) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            vec![
                run,
                Bytes("00ff"),
                Number(1002),
                Text("[]"),
                Text("a.md"),
                Text("A"),
                Null,
                Text("local"),
                Null,
                Null,
                now,
                Text("cd"),
                Text("text"),
            ],
            None,
        ),
        (
            "UPDATE sources SET id = $3, aliases = $4 WHERE run_id = $1 AND url_hash = $2",
            vec![run, Bytes("00ff"), Number(1001), Text("[1002]")],
            None,
        ),
        (
            "INSERT INTO notes (run_id, researcher, topic, text) VALUES ($1, $2, $3, $4)",
            vec![run, Number(1), Text("tides"), Text("They come [S1001].")],
            None,
        ),
        (
            "UPDATE runs SET last_commit = newest.column2 FROM (VALUES ($1, $2)) AS newest WHERE runs.id = newest.column1",
            vec![run, stamp],
            None,
        ),
        (
            "SELECT key, kind, request_hash, value, started_at, finished_at, model, role, attempts, input_tokens, \
          cached_tokens, output_tokens, reasoning_tokens FROM steps WHERE run_id = $1 ORDER BY finished_at, key",
            vec![run],
            Some(1),
        ),
        (
            "UPDATE runs SET lease_expires_at = 0, claimed_by = NULL WHERE id = $1 AND epoch = $2 AND status = 'running'",
            vec![run, Number(1)],
            None,
        ),
        (
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3, \
          started_at = COALESCE(started_at, $4) WHERE id = $1 RETURNING epoch, id, thread_id, status, outcome, \
          error_code, error_message, options, created_at, started_at, finished_at",
            vec![run, Text("old"), later, now],
            Some(1),
        ),
        (
            "SELECT COUNT(*) FROM runs JOIN events ON events.thread_id = runs.thread_id WHERE runs.id = $1 \
          AND events.run_id = $1 AND events.seq >= runs.first_seq AND events.name = 'report.started'",
            vec![run],
            Some(1),
        ),
        (
            "SELECT id, aliases, url, title, section, engine, score, published, fetched_at, content_hash, snapshot \
          FROM sources WHERE run_id = $1 ORDER BY id",
            vec![run],
            Some(1),
        ),
        (
            "SELECT id, thread_id, role, content, run_id, created_at FROM messages WHERE thread_id IN ($1) \
          ORDER BY thread_id, position, id",
            vec![thread],
            Some(1),
        ),
        ("UPDATE threads SET last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq", vec![thread], Some(1)),
        (
            "INSERT INTO events (thread_id, seq, run_id, ts, agent, agent_id, name, body) \
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            vec![
                thread,
                Number(3),
                run,
                now,
                Text("root"),
                Null,
                Text("run.completed"),
                Text(
                    r#"{"type":"run.completed","data":{"outcome":"report","input_tokens":10,"cached_tokens":4,"output_tokens":5,"reasoning_tokens":0,"ms":1}}"#,
                ),
            ],
            None,
        ),
        (
            "UPDATE runs SET status = $2, outcome = $3, error_code = $4, error_message = $5, report = $6, finished_at = $7, \
          claimed_by = NULL, lease_expires_at = 0 WHERE id = $1",
            vec![
                run,
                Text("completed"),
                Text("report"),
                Null,
                Null,
                Text(r##"{"markdown":"# They come","citations":[],"dropped_citations":0}"##),
                now,
            ],
            None,
        ),
        (
            "INSERT INTO messages (id, thread_id, position, role, content, run_id, created_at) \
          VALUES ($1, $2, $3, $4, $5, $6, $7)",
            vec![answer, thread, Number(3), Text("assistant"), Text("# They come"), run, now],
            None,
        ),
        (
            "SELECT seq, run_id, ts, agent, agent_id, body FROM events WHERE thread_id = $1 AND seq > $2 ORDER BY seq \
          LIMIT $3 + 0",
            vec![thread, Number(0), Number(9)],
            Some(3),
        ),
        (
            "SELECT id, created_at, last_seq FROM threads ORDER BY created_at DESC, id DESC LIMIT $1 + 0",
            vec![Number(9)],
            Some(1),
        ),
        (
            "SELECT CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens, \
          CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens FROM steps WHERE run_id = $1",
            vec![run],
            Some(1),
        ),
    ]
}

/// Lives the run of the first release on whatever schema is there.
async fn live(database: &TestDatabase) -> (ThreadId, RunId) {
    let ids = std::array::from_fn(|_| uuid::Uuid::now_v7());
    for (statement, values, rows) in first_release(ids) {
        let text = written(&database.database, statement, &values);
        let found = database.rows(text).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
        assert_eq!(found, rows.unwrap_or(0), "{statement}");
    }
    (ThreadId(ids[0]), RunId(ids[1]))
}

/// The newest program reads all of it.
async fn is_read(store: &Store, thread_id: ThreadId, run_id: RunId) {
    let run = store.run(run_id).await.unwrap().unwrap();
    assert_eq!((run.status, run.outcome, run.started_at), (RunStatus::Completed, Some(Outcome::Report), Some(NOW)));
    assert_eq!(store.report(run_id).await.unwrap().unwrap().markdown, "# They come");
    assert_eq!(store.events_after(thread_id, 0, 10).await.unwrap().len(), 3);
    let messages = store.messages(thread_id).await.unwrap();
    assert!(messages.iter().map(|message| message.role).eq([MessageRole::User, MessageRole::Assistant]));
    assert_eq!(store.thread(thread_id).await.unwrap().unwrap().last_seq, 3);
    assert_eq!(store.journal(run_id).await.unwrap()[0].call.as_ref().unwrap().usage.input_tokens, 10);
    assert_eq!(&*store.snapshots(run_id).await.unwrap()[0].snapshot, "text");
    assert_eq!(store.notes(run_id).await.unwrap().len(), 1);
    assert_eq!(store.overview(run_id).await.unwrap().unwrap().question, "Why?");
}

/// The migrations of the first release, whose files never change.
fn first_migrator(database: &Database) -> Migrator {
    let sql = match database {
        Database::Postgres { .. } => include_str!("../../../migrations/postgres/0001_first.sql"),
        Database::Sqlite { .. } => include_str!("../../../migrations/sqlite/0001_first.sql"),
    };
    let first = Migration::new(1, "first".into(), MigrationType::Simple, sql.into(), false);
    Migrator { migrations: vec![first].into(), ..Migrator::DEFAULT }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_of_the_first_release_survive(database: TestDatabase) {
    database.migrate(&first_migrator(&database.database)).await;
    let (thread_id, run_id) = live(&database).await;
    let store = database.open().await;
    is_read(&store, thread_id, run_id).await;
    let details = store.details(vec![store.run(run_id).await.unwrap().unwrap()]).await.unwrap();
    assert_eq!(details[0].usage["openai:m"].tokens.input_tokens, 10, "the sums are made up from the journal");
}

/// The migrations before the one by which a document may be in a collection.
const BEFORE_COLLECTIONS: usize = 7;

/// The migrations of the releases up to that one.
fn earlier_migrator(database: &Database, newest: usize) -> Migrator {
    let engine = if matches!(database, Database::Postgres { .. }) { "postgres" } else { "sqlite" };
    let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.truncate(newest);
    let migration = |(version, path): (i64, &std::path::PathBuf)| {
        let sql = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap()[5..].to_owned();
        Migration::new(version, name.into(), MigrationType::Simple, sql.into(), false)
    };
    Migrator { migrations: (1..).zip(&files).map(migration).collect::<Vec<_>>().into(), ..Migrator::DEFAULT }
}

/// Documents of threads, and what runs may search of them, are there when a document may be in a collection too.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_threads_survive(database: TestDatabase) {
    database.migrate(&earlier_migrator(&database.database, BEFORE_COLLECTIONS)).await;
    let (thread_id, run_id) = live(&database).await;
    let [kept, removed] = [uuid::Uuid::now_v7(), uuid::Uuid::now_v7()];
    let document = "INSERT INTO documents (id, thread_id, name, content_hash, size_bytes, characters, title, sections, \
        created_at, removed_at) VALUES ($1, $2, $3, 'ab', 10, 9, 'Dues', $4, $5, $6)";
    let may_search = "INSERT INTO run_documents (run_id, document_id) VALUES ($1, $2)";
    for (id, name, sections, at, removed_at) in [(kept, "dues.md", "[]", 1, Null), (removed, "", "", 2, Number(NOW.0))]
    {
        let values = [Id(id), Id(thread_id.0), Text(name), Text(sections), Number(NOW.0 + at), removed_at];
        database.rows(written(&database.database, document, &values)).await.unwrap();
        database.rows(written(&database.database, may_search, &[Id(run_id.0), Id(id)])).await.unwrap();
    }
    let store = database.open().await;
    let documents = store.uploads(DocumentSet::Thread(thread_id)).await.unwrap();
    let [document] = &documents[..] else { panic!("{documents:?}") };
    assert_eq!((document.id.0, &*document.name, document.title.as_deref()), (kept, "dues.md", Some("Dues")));
    assert!(store.has_uploads(run_id).await.unwrap());
    let searched = store.uploads_of_run(run_id).await.unwrap();
    assert!(searched.len() == 1 && searched[0].1 == "[]", "{searched:?}");
    // What refers to the new table still does, and a document is in one set.
    let both = "UPDATE documents SET collection_id = thread_id";
    assert!(database.rows(both.to_owned()).await.is_err());
    assert!(store.delete_thread(thread_id).await.unwrap());
    let left = "SELECT document_id FROM run_documents UNION ALL SELECT id FROM documents";
    assert_eq!(database.rows(left.to_owned()).await.unwrap(), 0);
}

/// As during a dump: the migration waits, and nobody waits behind it for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_waits_for_a_table_holds_nobody_up() {
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    database.migrate(&earlier_migrator(&database.database, BEFORE_COLLECTIONS)).await;
    let mut dump = PgConnection::connect(url.expose_secret()).await.unwrap();
    dump.execute("BEGIN; LOCK TABLE documents IN ACCESS SHARE MODE").await.unwrap();
    let others = async {
        until("the migration waits", async || {
            let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND wait_event_type = 'Lock'";
            (database.count(waiting).await > 0).then_some(())
        })
        .await;
        let read = database.count("SELECT COUNT(*) FROM documents");
        assert_eq!(tokio::time::timeout(Duration::from_secs(5), read).await.expect("soon"), 0);
        dump.execute("COMMIT").await.unwrap();
    };
    let (store, ()) = tokio::join!(database.open(), others);
    assert_eq!(store.schema().await, Ok(Schema::Fits));
}

/// A replica of the first release goes on working after a newer one has migrated, and both see each other's runs.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_statements_of_the_first_release_run_on_the_newest_schema(database: TestDatabase) {
    let store = database.open().await;
    let (thread_id, run_id) = live(&database).await;
    is_read(&store, thread_id, run_id).await;

    let queued = created(&store, &new_run()).await;
    let claim = "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3 \
        WHERE id = $1";
    let values = [Id(queued.id.0), Text("old"), Number(NOW.0 + 1)];
    database.rows(written(&database.database, claim, &values)).await.unwrap();
    let late = claimant_at("new", Timestamp(NOW.0 + 1));
    let Claimed::Yes { lease, .. } = store.claim(queued.id, &late).await.unwrap() else { panic!("its lease is over") };
    assert_eq!(lease.epoch, 2);
    assert_eq!(store.commit(vec![commit_of(lease, "a")]).await, [Ok(())]);
    assert_eq!(store.commit(vec![finish_of(lease)]).await, [Ok(())]);
}

/// A schema that this program does not know yet: one more than the migrations there are.
const LATER: i64 = NEWEST_SCHEMA + 1;

/// What a later release will do: a migration that adds something, its word about older programs, and runs with options
/// and failures that only it knows.
async fn migrate_on(database: &TestDatabase, oldest_program: i64) {
    let recorded = match &database.database {
        Database::Postgres { .. } => "'\\x00'::bytea",
        Database::Sqlite { .. } => "x'00'",
    };
    let migration = format!(
        "ALTER TABLE runs ADD COLUMN flavour TEXT NOT NULL DEFAULT 'plain'; \
         INSERT INTO schema_compatibility (version, oldest_program) VALUES ({LATER}, {oldest_program}); \
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES ({LATER}, 'flavour', TRUE, {recorded}, 1); \
         UPDATE runs SET options = REPLACE(options, '{{', '{{\"flavour\":\"plain\",'), phase = 'tasting', \
         error_code = 'bitter', error_message = 'Too bitter.' WHERE status = 'running'"
    );
    database.rows(migration).await.unwrap();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_schema_that_says_so_is_worked_on(database: TestDatabase) {
    let before = database.open().await;
    let lease = claimed(&before).await;
    migrate_on(&database, 2).await;
    let restarted = database.open().await;
    let run = restarted.run(lease.run_id).await.unwrap().unwrap();
    assert_eq!((run.progress.phase, run.error.unwrap().code), (None, FailureCode::Internal));
    assert_eq!(restarted.commit(vec![commit_of(lease, "a")]).await, [Ok(())]);
    assert_eq!(before.commit(vec![commit_of(lease, "b")]).await, [Ok(())], "statements that were prepared before");
    assert_eq!(restarted.commit(vec![finish_of(lease)]).await, [Ok(())]);
    assert_eq!(claimed(&restarted).await.epoch, 1);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_schema_that_needs_newer_programs_is_refused(database: TestDatabase) {
    database.open().await;
    migrate_on(&database, LATER).await;
    let error = Store::open(&database.database).await.unwrap_err();
    let said = |text: &str| {
        text.contains(&format!("version {LATER}")) && text.contains(&format!("knows version {}", LATER - 1))
    };
    assert!(matches!(&error, Error::Unusable(text) if said(text)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refusal_is_one_line_of_the_binary() {
    let site = Site::new(Engine::Sqlite, Script::new()).await;
    migrate_on(&site.database, LATER).await;
    let mut process = site.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(process.ends().await.code(), Some(2));
    let stderr = process.stderr();
    assert!(stderr.lines().count() == 1 && stderr.contains("start the newer release that wrote it"), "{stderr}");
    site.world.finish();
}

/// A migration that has run anywhere stays as it is, byte for byte: a database that has it is refused by a program
/// whose text of it is another one. A change is a migration of its own.
#[test_case("postgres/0001_first.sql", "9deffee28195f4a1a93a62a7ce630ce2d42d40ab81641c71a3e366b9f639b529"; "first, postgres")]
#[test_case("postgres/0002_service.sql", "23b53207f6c4a5359491c55b708fcd72d3155c6362f7de948f5eeb1051901f0e"; "second, postgres")]
#[test_case("postgres/0003_promises.sql", "84d127e7fe6ea4535fde052a3c27d5a5128cf893b519fd50b12e72ca637e345a"; "third, postgres")]
#[test_case("postgres/0004_owners.sql", "8d9f754249b139c037b0e80a43e9affa865122849eb8cb8b977656dba660a12c"; "fourth, postgres")]
#[test_case("sqlite/0001_first.sql", "971a6e306a6212d91dcffe53125b12aae19aaa0df66e5db07ac9e08461b22c02"; "first, sqlite")]
#[test_case("sqlite/0002_service.sql", "16f4a8c98faf36e647e801c2b3a018618c3f2bdc386737837a7d9316277b2a1e"; "second, sqlite")]
#[test_case("sqlite/0003_promises.sql", "6237ba516fece03d6f8e6f24d5df2c07fc996903a6a3151baee087f373bae44a"; "third, sqlite")]
#[test_case("sqlite/0004_owners.sql", "adabfd449574cfd3f95ccfef18502ae0b4ae7feec620fa52870fa5ab0f8fc30c"; "fourth, sqlite")]
#[test_case("postgres/0005_limits.sql", "26b271bca367c174f29264bb4ff69612667b7d1e2365f8a1a9905304426b8e6a"; "fifth, postgres")]
#[test_case("sqlite/0005_limits.sql", "07b3b8c39f865ca060edcbca1fc835e576f418df478cc0c348ea4bcd55b9c943"; "fifth, sqlite")]
#[test_case("postgres/0006_sources.sql", "f1451e07f71c2e220cc2dc41b6cfab7af540dc5fb03bd31707437cbe1a339970"; "sixth, postgres")]
#[test_case("sqlite/0006_sources.sql", "f1451e07f71c2e220cc2dc41b6cfab7af540dc5fb03bd31707437cbe1a339970"; "sixth, sqlite")]
#[test_case("postgres/0007_settled.sql", "b0e3084c8f85a894ea2a10c79561e252fc4ecf78e004077ea2646459b43a0a93"; "seventh, postgres")]
#[test_case("sqlite/0007_settled.sql", "0477386fb463fa32cb2f011e6d01bb6b00521d3d5c9c82e67c9b6ba89306f147"; "seventh, sqlite")]
#[test_case("postgres/0008_collections.sql", "db6d55bcde97b6e66f698461418948e88335185f4513d3b86985b0f33baf713d"; "eighth, postgres")]
#[test_case("sqlite/0008_collections.sql", "01dd1b3583da7967ff0ba6f09fa74f6ce04933cc80b309f18b77b7e484061284"; "eighth, sqlite")]
#[test_case("postgres/0009_texts.sql", "f05a9dc8587e1258163829b3ce15d36123cb234981518f7f14d052762e8bb5e5"; "ninth, postgres")]
#[test_case("sqlite/0009_texts.sql", "84a8abbb9b541b8e50b9d8de7c4151e077b5e43e2cc5417e9746a0eb12779c3d"; "ninth, sqlite")]
#[test_case("postgres/0010_lookups.sql", "0a230240f88ba60bb972a23685687e09417e6b25452820f5e40b459b9a3d2242"; "tenth, postgres")]
#[test_case("sqlite/0010_lookups.sql", "1e3395c851ef698eb5e5f2d89c4a805d94c4815c360002cb6527c89350c768bd"; "tenth, sqlite")]
fn a_released_migration_never_changes(file: &str, digest: &str) {
    let path = format!("{}/migrations/{file}", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(fathom::domain::digest::sha256_hex(&std::fs::read(path).unwrap()), digest);
}
