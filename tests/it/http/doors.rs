//! Who is let in: requests that name this service, and changes that come from its own pages. And what every answer
//! tells a browser.

use fathom::http::paths;
use serde_json::json;
use test_case::test_case;

use super::{JSON, NOBODY, Service, small_world};
use crate::{
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Script, World},
};

const THREADS: &str = "/api/v1/threads";

fn question() -> String {
    json!({ "message": QUESTION }).to_string()
}

/// A path with ids of nothing for its parameters.
fn named(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { NOBODY.to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// DNS rebinding: to the browser everything is of one origin, whose name leads here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_name_was_pointed_here_is_refused() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let port = service.address.port();
    for name in ["evil.test".to_owned(), format!("evil.test:{port}"), format!("127.0.0.1.evil.test:{port}")] {
        let (host, origin) = (("host", name.as_str()), format!("http://{name}"));
        for path in ["/", "/healthz", "/readyz", "/metrics", "/docs/", "/openapi.yaml", THREADS, "/nowhere"] {
            service.ask("GET", path, &[host], "").await.refused(421, "host_not_allowed");
        }
        let headers = [host, JSON, ("origin", &origin), ("sec-fetch-site", "same-origin")];
        service.ask("POST", THREADS, &headers, question()).await.refused(421, "host_not_allowed");
        for (path, methods) in paths() {
            for method in methods {
                service.ask(method, &named(path), &headers, "{}").await.refused(421, "host_not_allowed");
            }
        }
        let preflight = [host, ("origin", &origin), ("access-control-request-method", "POST")];
        service.ask("OPTIONS", THREADS, &preflight, "").await.refused(421, "host_not_allowed");
    }
    for name in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "10.0.0.7".to_owned(), "[::1]".to_owned()] {
        service.ask("GET", "/healthz", &[("host", &name)], "").await.expect(200);
    }
    assert!(service.list(THREADS).await.is_empty());
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_changes_nothing() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let own = format!("http://{}", service.address);
    let foreign: [&[(&str, &str)]; 6] = [
        &[("origin", "http://evil.test")],
        &[("origin", "null")],
        &[("origin", "http://localhost:1")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", &own)],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.test")],
    ];
    let messages = format!("{}/messages", started.thread_path());
    let cancel = format!("{}/cancel", started.run_path());
    for headers in foreign {
        for (method, path) in
            [("POST", THREADS), ("POST", &messages), ("POST", &cancel), ("DELETE", &started.thread_path())]
        {
            let headers = [headers, &[JSON]].concat();
            service.ask(method, path, &headers, question()).await.refused(403, "origin_not_allowed");
        }
    }
    // Every route there is, so that a new one is not forgotten.
    for (path, methods) in paths() {
        for method in methods.iter().filter(|method| **method != "GET") {
            let headers = [JSON, ("origin", "http://evil.test")];
            service.ask(method, &named(path), &headers, "{}").await.refused(403, "origin_not_allowed");
        }
    }
    // What a form can send without asking first is no JSON, from wherever it comes.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let answer = service.ask("POST", THREADS, &[("content-type", kind)], question()).await;
        answer.refused(415, "unsupported_media_type");
    }
    assert_eq!(service.list(THREADS).await.len(), 1, "nothing was created and nothing deleted");
    let own: [&[(&str, &str)]; 4] = [
        &[],
        &[("origin", &own)],
        &[("origin", &own), ("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
    ];
    for headers in own {
        service.ask("POST", THREADS, &[headers, &[JSON]].concat(), question()).await.expect(201);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allowed_origins_and_names_are_let_in() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let variables = [
        ("FATHOM_ALLOWED_HOSTS", "Research.example.com"),
        ("FATHOM_CORS_ORIGINS", "https://app.example.com"),
        ("FATHOM_MAX_QUEUED_RUNS", "100"),
    ];
    let service = Service::with(&world, &database, &variables).await;
    let host = ("host", "research.example.com");
    service.ask("GET", THREADS, &[host], "").await.expect(200);
    service.ask("GET", THREADS, &[("host", "other.example.com")], "").await.refused(421, "host_not_allowed");
    // A proxy in front may speak TLS where this service does not.
    for origin in ["https://research.example.com", "https://app.example.com"] {
        service.ask("POST", THREADS, &[host, JSON, ("origin", origin)], question()).await.expect(201);
    }
    let other = [host, JSON, ("origin", "https://more.example.com")];
    service.ask("POST", THREADS, &other, question()).await.refused(403, "origin_not_allowed");
    service.stop().await;
    let any = Service::with(&world, &database, &[("FATHOM_ALLOWED_HOSTS", "*"), ("FATHOM_CORS_ORIGINS", "*")]).await;
    let headers = [("host", "anything.test"), JSON, ("origin", "https://page.test")];
    any.ask("POST", THREADS, &headers, question()).await.expect(201);
    any.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_tells_browsers_what_it_is() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let report = format!("{}/report", started.run_path());
    let html = ("accept", "text/html");
    for (path, caching) in [
        (THREADS, "no-store"),
        (&*started.thread_path(), "no-store"),
        (&*started.run_path(), "no-store"),
        (&*report, "private, no-cache"),
        ("/api/v1/options", "no-store"),
        ("/healthz", "no-store"),
        ("/metrics", "no-store"),
        ("/nowhere", "no-store"),
        ("/api/v1/threads/7", "no-store"),
        ("/docs/", "no-cache"),
        ("/openapi.yaml", "no-cache"),
    ] {
        for accept in [("accept", "*/*"), html] {
            let answer = service.ask("GET", path, &[accept], "").await;
            if answer.status == 406 {
                continue;
            }
            assert_eq!(answer.header("cache-control"), caching, "{path}");
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
            let policy = answer.header("content-security-policy");
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
                "{path}: {policy}"
            );
        }
    }
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_cursor_is_the_first_page() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    for path in [THREADS.to_owned(), "/api/v1/runs".to_owned(), format!("{}/messages", started.thread_path())] {
        let first = service.get(&path).await.expect(200).json();
        let again = service.get(&format!("{path}?cursor=&limit=5")).await.expect(200).json();
        assert_eq!(first["data"], again["data"], "{path}");
        service.get(&format!("{path}?cursor=%20")).await.refused(422, "invalid_cursor");
    }
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_has_so_many_threads(database: TestDatabase) {
    let world = small_world().await;
    let variables = [("FATHOM_MAX_THREADS_PER_OWNER", "2"), ("FATHOM_OWNER_HEADER", "x-user")];
    let service = Service::with(&world, &database, &variables).await;
    let ask = async |user: &str| service.ask("POST", THREADS, &[JSON, ("x-user", user)], question()).await;
    let first = ask("ada").await.expect(201).started();
    ask("ada").await.expect(201);
    let refused = ask("ada").await.refused(403, "too_many_threads");
    assert_eq!(refused["retryable"], false);
    ask("bob").await.expect(201);
    let message = json!({ "content": "And who repairs it?" }).to_string();
    service.ended(&first.run).await;
    let path = format!("{}/messages", first.thread_path());
    service.ask("POST", &path, &[JSON, ("x-user", "ada")], message).await.expect(202);
    service.delete(&first.thread_path()).await.expect(204);
    ask("ada").await.expect(201);
    service.stop().await;
}
