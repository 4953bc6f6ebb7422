//! A service that asks for keys: who has none, or one that does not allow it, gets nothing.

use std::{
    any::Any,
    time::{Duration, Instant},
};

use fathom::{
    auth::Keys,
    domain::{KeyScope, Timestamp},
    http::paths,
    store::Database,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection};
use test_case::test_case;

use super::{Answer, JSON, NOBODY, Service, small_world};
use crate::{crash::until, database::TestDatabase, stories::engine::QUESTION, world::World};

const KEYS: [(&str, &str); 1] = [("FATHOM_AUTHENTICATION", "keys")];

async fn service(database: &TestDatabase) -> (World, Service) {
    let world = small_world().await;
    let service = Service::with(&world, database, &KEYS).await;
    (world, service)
}

async fn ask(service: &Service, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let authorization = format!("Bearer {key}");
    service.ask(method, path, &[JSON, ("authorization", &authorization)], body.to_string()).await
}

/// A path with ids of nobody in it.
fn filled(path: &str) -> String {
    path.replace("{id}", NOBODY)
        .replace("{source_id}", "1001")
        .replace("{key_id}", NOBODY)
        .replace("{document_id}", NOBODY)
        .replace("{share_id}", NOBODY)
}

/// Every route below `/api/` with every method.
fn operations() -> Vec<(String, &'static str)> {
    let below = paths().into_iter().filter(|(path, _)| path.starts_with("/api/"));
    let all = below.flat_map(|(path, methods)| methods.iter().map(move |method| (filled(path), *method)));
    // Signing in is what one does without a key.
    all.filter(|operation| *operation != ("/api/v1/session".to_owned(), "POST")).collect()
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_answers_without_a_key_that_is_taken(database: TestDatabase) {
    let (world, service) = service(&database).await;
    let soon = Timestamp::now().plus(Duration::from_millis(1));
    let expired = service.key("ann", KeyScope::Admin, Some(soon)).await;
    let revoked = service.key("ann", KeyScope::Admin, None).await;
    ask(&service, &revoked, "GET", "/api/v1/threads", &Value::Null).await.expect(200);
    let admin = service.key("root", KeyScope::Admin, None).await;
    let keys = ask(&service, &admin, "GET", "/api/v1/keys", &Value::Null).await.expect(200).json();
    let id = keys["data"][1]["id"].as_str().unwrap().to_owned();
    let simple = format!("/api/v1/keys/{}", id.replace('-', ""));
    ask(&service, &admin, "DELETE", &simple, &Value::Null).await.refused(422, "validation_failed");
    let ended = ask(&service, &admin, "DELETE", &format!("/api/v1/keys/{id}"), &Value::Null).await.expect(200).json();
    assert!(ended["revoked_at"].is_string() && ended["last_used_at"].is_string(), "{ended}");
    let (head, last) = admin.split_at(admin.len() - 2);
    let altered = format!("{head}{}", if last == "AA" { "AE" } else { "AA" });
    tokio::time::sleep(Duration::from_millis(5)).await;
    let mut tried = 0;
    for (path, method) in operations() {
        for (key, what) in [(&expired, "expired"), (&revoked, "revoked"), (&altered, "altered"), (&id, "an id")] {
            let answer = ask(&service, key, method, &path, &json!({})).await;
            assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"fathom\"", "{method} {path}, {what}");
            answer.refused(401, "unauthenticated");
        }
        service.ask(method, &path, &[JSON], "{}").await.refused(401, "unauthenticated");
        for header in [("cookie", &*format!("fathom_session={admin}")), ("authorization", "Basic YTpi")] {
            service.ask(method, &path, &[JSON, header], "{}").await.refused(401, "unauthenticated");
        }
        tried += 1;
    }
    assert!(tried >= 24, "{tried} operations");
    for open in ["/healthz", "/readyz", "/openapi.yaml", "/"] {
        service.get(open).await.expect(200);
    }
    service.stop().await;
    world.finish();
}

/// Holds a lock, until it is dropped, under which keys can be read and not be changed.
async fn unwritable(database: &TestDatabase) -> Box<dyn Any> {
    match &database.database {
        Database::Postgres { url, .. } => {
            let mut holder = PgConnection::connect(url.expose_secret()).await.unwrap();
            holder.execute("BEGIN; LOCK TABLE api_keys IN SHARE MODE").await.unwrap();
            Box::new(holder)
        }
        Database::Sqlite { .. } => Box::new(database.outage().await),
    }
}

/// That it was used is noted later.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_taken_while_nothing_can_be_written(database: TestDatabase) {
    let (world, service) = service(&database).await;
    let ann = service.key("ann", KeyScope::Read, None).await;
    let root = service.key("root", KeyScope::Admin, None).await;
    let lock = unwritable(&database).await;
    for key in [&ann, &root, &ann] {
        let began = Instant::now();
        ask(&service, key, "GET", "/api/v1/threads", &Value::Null).await.expect(200);
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }
    drop(lock);
    until("the use is noted", async || {
        let keys = ask(&service, &root, "GET", "/api/v1/keys", &Value::Null).await.expect(200).json();
        let mut keys = keys["data"].as_array().unwrap().iter();
        keys.any(|key| key["owner"] == "ann" && key["last_used_at"].is_string()).then_some(())
    })
    .await;
    service.stop().await;
    world.finish();
}

/// A key that reads changes nothing, and one that writes manages no keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_allows_what_its_scope_says() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let [read, write] =
        [service.key("ann", KeyScope::Read, None).await, service.key("ann", KeyScope::Write, None).await];
    for (path, method) in operations() {
        if method != "GET" && path != "/api/v1/session" {
            ask(&service, &read, method, &path, &json!({})).await.refused(403, "not_permitted");
        }
        if path.starts_with("/api/v1/keys") {
            ask(&service, &write, method, &path, &json!({})).await.refused(403, "not_permitted");
        }
    }
    let question = json!({ "message": QUESTION });
    let started = ask(&service, &write, "POST", "/api/v1/threads", &question).await.expect(201).started();
    ask(&service, &read, "GET", &started.thread_path(), &Value::Null).await.expect(200);
    let with_header = [("x-api-key", &*read)];
    service.ask("GET", &started.run_path(), &with_header, "").await.expect(200);
    service.stop().await;
    world.finish();
}

/// Owners see their own; an administrator sees everybody's and makes keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_sees_what_its_owner_has() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let admin = service.key("root", KeyScope::Admin, None).await;
    let made = async |owner: &str| {
        let wanted = json!({ "name": "laptop", "owner": owner, "expires_in_days": 30 });
        let made = ask(&service, &admin, "POST", "/api/v1/keys", &wanted).await.expect(201).json();
        assert_eq!((&made["owner"], &made["scope"]), (&json!(owner), &json!("write")));
        made["secret"].as_str().unwrap().to_owned()
    };
    let (ann, bob) = (made("ann").await, made("bob").await);
    let question = json!({ "message": QUESTION });
    let started = ask(&service, &ann, "POST", "/api/v1/threads", &question).await.expect(201).started();
    let foreign = [("x-user", "ann"), ("x-api-key", &*bob)];
    service.ask("GET", &started.thread_path(), &foreign, "").await.refused(404, "not_found");
    let list = ask(&service, &bob, "GET", "/api/v1/threads", &Value::Null).await.expect(200).json();
    assert_eq!(list["data"], json!([]));
    ask(&service, &admin, "GET", &started.thread_path(), &Value::Null).await.expect(200);
    for (body, pointer) in [
        (json!({ "name": " ", "owner": "ann" }), "/name"),
        (json!({ "name": "a", "owner": "x".repeat(201) }), "/owner"),
        (json!({ "name": "a", "owner": format!("\u{18}{}", "x".repeat(200)) }), "/owner"),
        (json!({ "name": "a", "owner": "ann", "expires_in_days": 0 }), "/expires_in_days"),
        (json!({ "name": "a", "owner": "ann", "scope": "root" }), "/scope"),
    ] {
        let problem = ask(&service, &admin, "POST", "/api/v1/keys", &body).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    let all = ask(&service, &admin, "GET", "/api/v1/keys", &Value::Null).await.expect(200).text();
    for secret in [&ann, &bob, &admin] {
        assert!(!all.contains(secret.rsplit('_').next().unwrap()), "a secret is shown once");
    }
    service.stop().await;
    world.finish();
}

/// Each sign-in through an issuer makes one, and they stay for days.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_listed_by_pages(database: TestDatabase) {
    let (world, service) = service(&database).await;
    let admin = service.key("root", KeyScope::Admin, None).await;
    for _ in 0..21 {
        service.key("ann", KeyScope::Read, None).await;
    }
    let listed = async |query: &str| {
        let list = ask(&service, &admin, "GET", &format!("/api/v1/keys?{query}"), &Value::Null).await;
        let list = list.expect(200).json();
        let ids: Vec<Value> = list["data"].as_array().unwrap().iter().map(|key| key["id"].clone()).collect();
        (ids, list["next_cursor"].as_str().map(str::to_owned))
    };
    let (whole, end) = listed("limit=100").await;
    assert_eq!((whole.len(), end), (22, None));
    assert_eq!(listed("").await.0, whole[..20], "newest first, the usual number");
    let (mut all, mut cursor) = (Vec::new(), Some(String::new()));
    while let Some(at) = cursor {
        let (ids, next) = listed(&format!("limit=7&cursor={at}")).await;
        all.extend(ids);
        cursor = next;
    }
    assert_eq!(all, whole);
    for (query, code) in [("limit=101", "validation_failed"), ("cursor=threads.1", "invalid_cursor")] {
        ask(&service, &admin, "GET", &format!("/api/v1/keys?{query}"), &Value::Null).await.refused(422, code);
    }
    service.stop().await;
    world.finish();
}

/// An administrator may go on with anybody's thread. What they started there is its owner's to see, and theirs only as
/// long as they administer.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_in_a_thread_of_another_owner_is_not_listed(database: TestDatabase) {
    let (world, service) = service(&database).await;
    let admin = service.key("root", KeyScope::Admin, None).await;
    let (root, ann) =
        (service.key("root", KeyScope::Write, None).await, service.key("ann", KeyScope::Write, None).await);
    let ended = async |answer: Answer| {
        let run = answer.json()["run"]["id"].as_str().unwrap().to_owned();
        let headers = [("x-api-key", &*admin), ("prefer", "wait=25")];
        let ended = service.ask("GET", &format!("/api/v1/runs/{run}"), &headers, "").await.expect(200).json();
        assert_eq!(ended["status"], "completed");
        run
    };
    let question = json!({ "message": QUESTION });
    let started = ask(&service, &ann, "POST", "/api/v1/threads", &question).await.expect(201);
    let thread = started.started().thread_path();
    let of_ann = ended(started).await;
    let more = json!({ "content": "And who repairs it?" });
    let of_admin = ask(&service, &admin, "POST", &format!("{thread}/messages"), &more).await.expect(202);
    let of_admin = ended(of_admin).await;
    let own = ended(ask(&service, &root, "POST", "/api/v1/threads", &question).await.expect(201)).await;
    let all = [own, of_admin, of_ann];
    let listed = async |key: &str, path: &str| {
        let list = ask(&service, key, "GET", path, &Value::Null).await.expect(200).json();
        let runs = list["data"].as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for path in ["/api/v1/runs", "/api/v1/runs?status=completed"] {
        assert_eq!(listed(&root, path).await, all[..1], "{path}");
        assert_eq!(listed(&ann, path).await, all[2..], "{path}");
        assert_eq!(listed(&admin, path).await, all, "{path}");
    }
    assert_eq!(listed(&ann, &format!("{thread}/runs")).await, all[1..]);
    let run = format!("/api/v1/runs/{}", all[1]);
    ask(&service, &root, "GET", &run, &Value::Null).await.refused(404, "not_found");
    service.stop().await;
    world.finish();
}

/// A browser's session: from its sign-in to its end, which comes with the end of the key at the latest.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_lasts_until_it_is_signed_out_or_its_key_is_revoked(database: TestDatabase) {
    let (world, service) = service(&database).await;
    let key = service.key("ann", KeyScope::Read, None).await;
    let sign_in = async |key: &str, headers: &[(&str, &str)]| {
        let headers = [&[JSON], headers].concat();
        service.ask("POST", "/api/v1/session", &headers, json!({ "key": key }).to_string()).await
    };
    sign_in("fathom_no", &[]).await.refused(422, "validation_failed");
    let first = sign_in(&key, &[("x-forwarded-proto", "https")]).await.expect(200);
    assert_eq!(first.json()["owner"], "ann");
    let set = first.header("set-cookie").to_owned();
    assert!(set.ends_with("; HttpOnly; SameSite=Strict; Secure") && !set.contains(&key), "{set}");
    for tls in [("x-forwarded-proto", "HTTPS, http"), ("origin", &*service.url("").replace("http", "https"))] {
        let set = sign_in(&key, &[tls]).await.expect(200);
        assert!(set.header("set-cookie").ends_with("; Secure"), "{tls:?}");
    }
    let second = sign_in(&key, &[]).await.expect(200);
    assert!(!second.header("set-cookie").contains("Secure"));
    let cookie = |answer: &Answer| answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let (one, two) = (cookie(&first), cookie(&second));
    let with =
        async |method: &str, path: &str, cookie: &str| service.ask(method, path, &[("cookie", cookie)], "").await;
    for cookie in [&one, &two] {
        with("GET", "/api/v1/threads", cookie).await.expect(200);
        assert_eq!(with("GET", "/api/v1/session", cookie).await.expect(200).json()["key"]["scope"], "read");
    }
    let bare = one.split_once('=').unwrap().1;
    ask(&service, bare, "GET", "/api/v1/threads", &Value::Null).await.refused(401, "unauthenticated");
    with("DELETE", "/api/v1/session", &one).await.expect(204);
    with("GET", "/api/v1/threads", &one).await.refused(401, "unauthenticated");
    with("GET", "/api/v1/threads", &two).await.expect(200);
    let id = service.app.keys.list(None, 1).await.unwrap().items[0].id;
    service.app.keys.revoke(id).await.unwrap();
    with("GET", "/api/v1/threads", &two).await.refused(401, "unauthenticated");
    sign_in(&key, &[]).await.refused(422, "validation_failed");
    service.stop().await;
    world.finish();
}

/// What was verified a moment ago counts for some seconds, and no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_another_process_revokes_is_refused_within_seconds() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let key = service.key("ann", KeyScope::Read, None).await;
    let list = async || ask(&service, &key, "GET", "/api/v1/threads", &Value::Null).await;
    list().await.expect(200);
    let elsewhere = Keys::new(database.open().await);
    let id = elsewhere.list(None, 1).await.unwrap().items[0].id;
    elsewhere.revoke(id).await.unwrap();
    let since = Instant::now();
    until("it is refused", async || (list().await.status == 401).then_some(())).await;
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    service.stop().await;
    world.finish();
}

/// A thread's stream has no end of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_when_its_key_is_revoked() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let ann = service.key("ann", KeyScope::Write, None).await;
    let started = ask(&service, &ann, "POST", "/api/v1/threads", &json!({ "message": QUESTION })).await.expect(201);
    let path = format!("{}/events", started.started().thread_path());
    let mut stream = service.stream(&path, &[("x-api-key", &ann)]).await;
    stream.until("run.completed").await;
    let keys = Keys::new(database.open().await);
    let id = keys.list(None, 100).await.unwrap().items.into_iter().find(|key| key.owner.as_str() == "ann").unwrap().id;
    keys.revoke(id).await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.expect("it ends");
    assert_eq!(end, None);
    service.stop().await;
    world.finish();
}

/// Half of a session's time is over: the browser gets another one, and the old one is taken a moment longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_session_is_renewed() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let key = service.key("ann", KeyScope::Read, None).await;
    let cookie = signed_in(&service, &key).await.1;
    let soon = Timestamp::now().plus(Duration::from_secs(3_600)).0;
    database.rows(format!("UPDATE sessions SET expires_at = {soon}")).await.unwrap();
    let renewed = service.ask("GET", "/api/v1/session", &[("cookie", &cookie)], "").await.expect(200);
    let newer = renewed.header("set-cookie").split(';').next().unwrap().to_owned();
    assert!(newer != cookie && !newer.is_empty(), "{newer}");
    for cookie in [&newer, &cookie] {
        service.ask("GET", "/api/v1/threads", &[("cookie", cookie)], "").await.expect(200);
    }
    service.stop().await;
    world.finish();
}

/// A session that ends with its key cannot be prolonged, so asking who is signed in makes no other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ends_with_its_key_is_not_renewed() {
    let database = TestDatabase::sqlite();
    let (world, service) = service(&database).await;
    let in_an_hour = Timestamp::now().plus(Duration::from_secs(3_600));
    let key = service.key("ann", KeyScope::Read, Some(in_an_hour)).await;
    let (session, cookie) = signed_in(&service, &key).await;
    assert_eq!(session["expires_at"], json!(in_an_hour.to_rfc3339()), "it does not outlive its key");
    for _ in 0..2 {
        let asked = service.ask("GET", "/api/v1/session", &[("cookie", &cookie)], "").await.expect(200);
        assert_eq!(asked.header("set-cookie"), "");
        assert_eq!(asked.json()["expires_at"], session["expires_at"]);
    }
    service.stop().await;
    world.finish();
}

/// A browser's session, and its cookie.
async fn signed_in(service: &Service, key: &str) -> (Value, String) {
    let answer = service.ask("POST", "/api/v1/session", &[JSON], json!({ "key": key }).to_string()).await.expect(200);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    (answer.json(), cookie)
}

/// Without the setting there are no keys to manage, and nobody has to sign in.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_does_not_ask_has_no_keys() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let session = service.get("/api/v1/session").await.expect(200).json();
    assert_eq!((&session["authentication"], &session["key"]), (&json!("none"), &Value::Null));
    service.get("/api/v1/keys").await.refused(403, "not_permitted");
    service.post("/api/v1/keys", &json!({ "name": "a", "owner": "b" })).await.refused(403, "not_permitted");
    service.post("/api/v1/session", &json!({ "key": "fathom_x" })).await.refused(422, "validation_failed");
    service.stop().await;
    world.finish();
}
