//! What operators and browsers rely on: request ids, origins, health.

use std::time::Duration;

use serde_json::json;
use test_case::test_case;

use super::{Answer, JSON, Service, small_world};
use crate::{
    crash::until,
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Script, World},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_the_requests_id() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let given = "client-7/a.b:c";
    let paths = ["/healthz", "/readyz", "/metrics", "/docs/", "/nowhere", "/api/v1/threads", "/api/v1/runs/x"];
    for path in paths {
        let answer = service.ask("GET", path, &[("x-request-id", given)], "").await;
        assert_eq!(answer.header("x-request-id"), given, "{path}");
    }
    let answer = service.ask("POST", "/api/v1/threads", &[JSON, ("x-request-id", given)], "{").await;
    assert_eq!(answer.refused(400, "malformed_json")["request_id"], given);
    assert_eq!(answer.refused(400, "malformed_json")["instance"], "/api/v1/threads");
    let refused = service.ask("PUT", "/healthz", &[("x-request-id", given)], "").await;
    assert_eq!(refused.refused(405, "method_not_allowed")["request_id"], given);
    let long = "x".repeat(129);
    let mut made: Vec<String> = Vec::new();
    for unfit in ["", "a b", "caf\u{e9}", &long] {
        let answer = service.ask("GET", "/healthz", &[("x-request-id", unfit)], "").await.expect(200);
        made.push(answer.header("x-request-id").to_owned());
    }
    made.push(service.get("/healthz").await.header("x-request-id").to_owned());
    assert!(made.iter().all(|id| uuid::Uuid::try_parse(id).is_ok()), "{made:?}");
    made.dedup();
    assert_eq!(made.len(), 5, "each is new");
    service.stop().await;
    world.finish();
}

/// What a browser asks before it sends a page's request elsewhere, and then that request.
async fn from_page(service: &Service, origin: &str) -> (Answer, Answer) {
    let preflight = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type,idempotency-key,last-event-id"),
    ];
    let preflight = service.ask("OPTIONS", "/api/v1/threads", &preflight, "").await;
    let request = service.ask("GET", "/api/v1/threads", &[("origin", origin)], "").await.expect(200);
    (preflight, request)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_origin_is_let_in_by_default() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let (preflight, request) = from_page(&service, "https://page.test").await;
    preflight.refused(405, "method_not_allowed");
    service.ask("OPTIONS", "/nowhere", &[], "").await.refused(404, "not_found");
    for answer in [preflight, request] {
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{:?}", answer.headers);
    }
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_origins_are_let_in() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let cases = [
        ("https://page.test, http://localhost:3000", "http://localhost:3000", Some("http://localhost:3000")),
        ("https://page.test", "https://page.test.evil.test", None),
        ("https://page.test", "null", None),
        ("*", "https://anybody.test", Some("*")),
    ];
    for (configured, origin, allowed) in cases {
        let service = Service::with(&world, &database, &[("FATHOM_CORS_ORIGINS", configured)]).await;
        let (preflight, request) = from_page(&service, origin).await;
        let allow = |answer: &Answer| {
            let value = answer.headers.get("access-control-allow-origin");
            value.map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!((allow(&preflight).as_deref(), allow(&request).as_deref()), (allowed, allowed), "{origin}");
        assert!(preflight.header("access-control-allow-methods").contains("POST"));
        let headers = preflight.header("access-control-allow-headers");
        assert!(headers.contains("idempotency-key") && headers.contains("last-event-id"), "{headers}");
        assert!(request.header("access-control-expose-headers").contains("x-request-id"));
        let problem = service.ask("GET", "/api/v1/threads/7", &[("origin", origin)], "").await;
        assert_eq!(allow(&problem).as_deref(), allowed, "a page may read problems too");
        service.stop().await;
    }
    world.finish();
}

/// What a newer release does that leaves this one behind.
const LATER: &str = "INSERT INTO schema_compatibility (version, oldest_program) VALUES (1000, 1000); \
    INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
    SELECT 1000, 'later', TRUE, checksum, 1 FROM _sqlx_migrations WHERE version = 1";

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_whose_database_has_another_schema_is_not_ready(database: TestDatabase) {
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    until("the service is ready", async || (service.get("/readyz").await.status == 200).then_some(())).await;
    let changes = [(LATER, "needs a newer release"), ("DELETE FROM _sqlx_migrations", "migrations are missing")];
    for (change, expected) in changes {
        database.execute(change).await;
        let answer = service.get("/readyz").await.expect(503).json();
        assert_eq!(answer["checks"]["database"], expected, "{answer}");
    }
    service.stop().await;
    world.finish();
}

/// It would write what a newer one does not expect. What is queued waits for those that fit.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_a_newer_release_left_behind_begins_no_run(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    until("the service is ready", async || (service.get("/readyz").await.status == 200).then_some(())).await;
    database.execute(LATER).await;
    let looks = Duration::from_millis(2_500);
    tokio::time::sleep(looks).await;
    let started = service.start_run().await;
    tokio::time::sleep(looks).await;
    assert_eq!(service.run(&started.run).await["status"], "queued");
    database.execute("DELETE FROM schema_compatibility WHERE version = 1000").await;
    database.execute("DELETE FROM _sqlx_migrations WHERE version = 1000").await;
    assert_eq!(service.ended(&started.run).await["outcome"], "report");
    service.stop().await;
    world.finish();
}

/// A database that was renamed or dropped, like a password that was changed, refuses connections: that is no lack of
/// migrations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_lets_nobody_in_does_not_lack_migrations() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::postgres().await);
    let service = Service::start(&world, &database).await;
    let ready = async || (service.get("/readyz").await.status == 200).then_some(());
    until("the service is ready", ready).await;
    let mut outage = database.outage().await;
    outage.rename().await;
    let answer = service.get("/readyz").await.expect(503).json();
    assert_eq!(answer["checks"]["database"], "does not answer", "{answer}");
    service.get("/api/v1/threads").await.refused(503, "storage_unavailable");
    service.post("/api/v1/threads", &json!({ "message": QUESTION })).await.refused(503, "storage_unavailable");
    outage.end().await;
    until("the service is ready again", ready).await;
    service.stop().await;
    world.finish();
}

/// Postgres goes away whole; SQLite can still be read while another process holds its write lock.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_whose_database_is_away_says_so_and_recovers(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let ready = async || (service.get("/readyz").await.status == 200).then_some(());
    until("the service is ready", ready).await;
    let is_postgres = matches!(database.database, fathom::store::Database::Postgres { .. });
    let outage = database.outage().await;
    let refusal = service.post("/api/v1/threads", &json!({ "message": QUESTION })).await;
    assert_eq!(refusal.refused(503, "storage_unavailable")["retryable"], true);
    assert!(refusal.header("retry-after").parse::<u32>().unwrap() > 0);
    if is_postgres {
        let answer = service.get("/readyz").await.expect(503).json();
        assert_eq!(
            (&answer["status"], &answer["checks"]["database"]),
            (&json!("not ready"), &json!("does not answer"))
        );
        service.get("/api/v1/threads").await.refused(503, "storage_unavailable");
    }
    let began = std::time::Instant::now();
    service.get("/healthz").await.expect(200);
    service.get("/metrics").await.expect(200);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    outage.end().await;
    until("the service is ready again", ready).await;
    let started = service.start_run().await;
    assert_eq!(service.ended(&started.run).await["outcome"], "report");
    service.stop().await;
    world.finish();
}
