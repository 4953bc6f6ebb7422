//! Two users of one service, distinguished by the header of a trusted proxy: each sees their own.

use std::net::IpAddr;

use fathom::http::paths;
use reqwest::{Client, header::HeaderValue};
use serde_json::{Value, json};
use test_case::test_case;

use super::{Answer, JSON, NOBODY, Service, Started, small_world};
use crate::{database::TestDatabase, stories::engine::QUESTION};

const SEPARATE: [(&str, &str); 2] = [("FATHOM_OWNER_HEADER", "x-user"), ("FATHOM_SEPARATE_OWNERS", "true")];

async fn ask(service: &Service, user: &str, method: &str, path: &str, body: &Value) -> Answer {
    service.ask(method, path, &[JSON, ("x-user", user)], body.to_string()).await
}

async fn start(service: &Service, user: &str) -> Started {
    ask(service, user, "POST", "/api/v1/threads", &json!({ "message": QUESTION })).await.expect(201).started()
}

/// The ids in a list, as this user sees it.
async fn ids(service: &Service, user: &str, path: &str) -> Vec<String> {
    let list = ask(service, user, "GET", path, &Value::Null).await.expect(200).json();
    list["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// The run at its end, as its owner sees it.
async fn ended(service: &Service, user: &str, run: &str) -> Value {
    let path = format!("/api/v1/runs/{run}");
    let wait = [("x-user", user), ("prefer", "wait=25")];
    service.ask("GET", &path, &wait, "").await.expect(200).json()
}

async fn with_two_owners(
    database: &TestDatabase,
    variables: &[(&'static str, &str)],
    story: impl AsyncFnOnce(&Service, Started, Started),
) {
    let world = small_world().await;
    let service = Service::with(&world, database, variables).await;
    let (ann, bob) = (start(&service, "ann").await, start(&service, "bob").await);
    for (user, run) in [("ann", &ann.run), ("bob", &bob.run)] {
        assert_eq!(ended(&service, user, run).await["outcome"], "report", "{user}");
    }
    story(&service, ann, bob).await;
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_owner_sees_their_own(database: TestDatabase) {
    with_two_owners(&database, &SEPARATE, async |service, ann, bob| {
        for (user, own) in [("ann", &ann), ("bob", &bob)] {
            for path in ["/api/v1/threads", "/api/v1/threads?q=a", "/api/v1/threads?status=idle"] {
                assert_eq!(ids(service, user, path).await, std::slice::from_ref(&own.thread), "{user} {path}");
            }
            assert_eq!(ids(service, user, "/api/v1/runs").await, std::slice::from_ref(&own.run));
            assert_eq!(
                ids(service, user, &format!("{}/runs", own.thread_path())).await,
                std::slice::from_ref(&own.run)
            );
            let report = ask(service, user, "GET", &format!("{}/report", own.run_path()), &Value::Null).await;
            assert!(report.expect(200).text().contains("Sources"));
            let events = ask(service, user, "GET", &own.events_path(), &Value::Null).await.expect(200);
            assert!(events.text().contains("run.completed"));
        }
        assert!(ids(service, "zoe", "/api/v1/runs").await.is_empty(), "a stranger has none");
        let nobody = service.get("/api/v1/threads").await.expect(200).json();
        assert_eq!(nobody["data"], json!([]), "nor has who is not named");

        // The same key of two owners, in each other's threads too, has nothing to do with the other one.
        let again = json!({ "content": "And who repairs it?" }).to_string();
        let headers = |user| [JSON, ("x-user", user), ("idempotency-key", "mine")];
        let path = format!("{}/messages", ann.thread_path());
        let first = service.ask("POST", &path, &headers("ann"), again.clone()).await.expect(202);
        service.ask("POST", &path, &headers("bob"), again.clone()).await.refused(404, "not_found");
        let repeated = service.ask("POST", &path, &headers("ann"), again).await.expect(202);
        assert_eq!(repeated.header("idempotent-replayed"), "true");
        assert_eq!(repeated.json(), first.json());
        ended(service, "ann", first.json()["run"]["id"].as_str().unwrap()).await;
        let question = json!({ "message": QUESTION }).to_string();
        let begin = async |user| {
            let answer = service.ask("POST", "/api/v1/threads", &headers(user), question.clone()).await.expect(201);
            ended(service, user, &answer.started().run).await;
            answer
        };
        let (of_ann, of_bob) = (begin("ann").await, begin("bob").await);
        assert_ne!(of_ann.started().thread, of_bob.started().thread, "each has a thread of their own");
        assert_eq!(of_bob.header("idempotent-replayed"), "");
    })
    .await;
}

/// Every route there is, so that a new one is not forgotten: with the ids of another owner it answers as with ids that
/// never were.
#[tokio::test(flavor = "multi_thread")]
async fn no_route_shows_what_belongs_to_another_owner() {
    let database = TestDatabase::sqlite();
    with_two_owners(&database, &SEPARATE, async |service, ann, _| {
        let body = |path: &str, method: &str| match (method, path.rsplit('/').next().unwrap()) {
            ("POST", "messages") => json!({ "content": "More?" }),
            ("PATCH", _) if path.contains("collections") => json!({ "name": "Mine" }),
            ("PATCH", _) => json!({ "title": "Mine" }),
            _ => json!({}),
        };
        let named = json!({ "name": "Anns" });
        let collection = ask(service, "ann", "POST", "/api/v1/collections", &named).await.expect(201).json();
        let collection = collection["id"].as_str().unwrap();
        let mut tried = 0;
        for (path, methods) in paths() {
            let Some((place, rest)) = path.split_once("/{id}").filter(|_| path.starts_with("/api/")) else { continue };
            let own = match place.rsplit('/').next().unwrap() {
                "runs" => &ann.run,
                "threads" => &ann.thread,
                "collections" => collection,
                other => panic!("{other}: teach this test whose they are"),
            };
            let rest =
                rest.replace("{source_id}", "1001").replace("{share_id}", NOBODY).replace("{document_id}", NOBODY);
            assert!(!rest.contains('{'), "{path}: teach this test what its parameters are");
            for method in methods {
                let ask = async |id: &str| {
                    let path = format!("{place}/{id}{rest}");
                    let answer = ask(service, "bob", method, &path, &body(&path, method)).await;
                    let mut problem = answer.refused(404, "not_found");
                    problem.as_object_mut().unwrap().retain(|name, _| !["instance", "request_id"].contains(&&**name));
                    problem
                };
                assert_eq!(ask(own).await, ask(NOBODY).await, "{method} {path}");
                tried += 1;
            }
            if rest == "/events" {
                let headers = [("x-user", "bob"), ("accept", "text/event-stream")];
                let path = format!("{place}/{own}{rest}");
                service.ask("GET", &path, &headers, "").await.refused(404, "not_found");
            }
        }
        assert!(tried >= 15, "{tried} routes take an id");
        let thread = ask(service, "ann", "GET", &ann.thread_path(), &Value::Null).await.expect(200).json();
        assert_ne!(thread["title"], "Mine");
        assert_eq!(ids(service, "ann", "/api/v1/runs").await, [ann.run], "nothing was started or deleted");
        assert_eq!(ids(service, "ann", "/api/v1/collections").await, [collection]);
        assert!(ids(service, "bob", "/api/v1/collections").await.is_empty());
    })
    .await;
}

/// The header alone makes the queue fair and hides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn owners_share_a_service_that_does_not_separate_them() {
    let database = TestDatabase::sqlite();
    with_two_owners(&database, &SEPARATE[..1], async |service, ann, bob| {
        assert_eq!(ids(service, "ann", "/api/v1/runs").await, [bob.run.clone(), ann.run.clone()]);
        ask(service, "ann", "GET", &bob.thread_path(), &Value::Null).await.expect(200);
        ask(service, "zoe", "DELETE", &bob.thread_path(), &Value::Null).await.expect(204);
    })
    .await;
}

/// A client of this machine at another of its addresses, as a proxy in another container has its own.
fn client_at(address: &str) -> Client {
    Client::builder().no_proxy().local_address(address.parse::<IpAddr>().unwrap()).build().unwrap()
}

/// All that reach the port can send the header, so it counts from listed addresses alone; and behind a proxy that adds
/// its header to the client's, the client would choose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_named_by_listed_proxies_alone() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let list = ("FATHOM_TRUSTED_PROXIES", "127.0.0.2, 127.0.3.0/24, fd00::/8");
    let mut service = Service::with(&world, &database, &[SEPARATE[0], SEPARATE[1], list]).await;
    let elsewhere = service.client.clone();
    for address in ["127.0.0.2", "127.0.3.77"] {
        service.client = client_at(address);
        let session = ask(&service, "ann", "GET", "/api/v1/session", &Value::Null).await.expect(200).json();
        assert_eq!((&session["owner"], &session["authentication"]), (&json!("ann"), &json!("none")));
        let twice = [("x-user", "bob"), ("x-user", "ann")];
        let problem = service.ask("GET", "/api/v1/session", &twice, "").await.refused(403, "proxy_not_trusted");
        assert!(problem["detail"].as_str().unwrap().contains("more than once"), "{problem}");
    }
    let anns = start(&service, "ann").await;
    ended(&service, "ann", &anns.run).await;
    for client in [elsewhere, client_at("127.0.0.3"), client_at("127.0.2.77")] {
        service.client = client;
        for (method, path) in
            [("GET", &*anns.thread_path()), ("DELETE", &anns.thread_path()), ("POST", "/api/v1/threads")]
        {
            let body = json!({ "message": QUESTION });
            let problem = ask(&service, "ann", method, path, &body).await.refused(403, "proxy_not_trusted");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("FATHOM_TRUSTED_PROXIES") && detail.starts_with("127.0."), "{detail}");
        }
        // Who names nobody is nobody in particular.
        assert_eq!(service.get("/api/v1/session").await.expect(200).json()["owner"], "local");
        service.get(&anns.thread_path()).await.refused(404, "not_found");
    }
    service.client = client_at("127.0.0.2");
    assert_eq!(ids(&service, "ann", "/api/v1/threads").await, [anns.thread], "nothing was started or deleted");
    service.stop().await;
    world.finish();
}

/// Two users whose names would become one are none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_would_have_to_be_changed_is_refused() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let service = Service::with(&world, &database, &SEPARATE).await;
    let session = async |name: &[u8]| {
        let request = service.client.get(service.url("/api/v1/session"));
        let response = request.header("x-user", HeaderValue::from_bytes(name).unwrap()).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let long = "ü".repeat(200);
    for (name, owner) in [("zoë", "zoë"), (&long, &long), ("Local", "Local"), ("", "local")] {
        let (status, body) = session(name.as_bytes()).await;
        assert_eq!((status, body["owner"].as_str()), (200, Some(owner)), "{body}");
    }
    let refused: [(&[u8], &str); 6] = [
        (b"zo\xeb", "UTF-8"),
        (b"zo\xea", "UTF-8"),
        (&[long.as_bytes(), b"a"].concat(), "200"),
        (b"local", "local"),
        ("zoë\u{a0}".as_bytes(), "space"),
        ("zo\u{85}ë".as_bytes(), "control"),
    ];
    for (name, why) in refused {
        let (status, problem) = session(name).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("owner_not_allowed")), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("x-user: ") && detail.contains(why), "{detail}");
    }
    service.ask("POST", "/api/v1/threads", &[JSON, ("x-user", "local")], "{}").await.refused(403, "owner_not_allowed");
    service.stop().await;
    world.finish();
}
