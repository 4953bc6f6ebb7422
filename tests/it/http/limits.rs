//! What owners and keys may use, as their clients see it.

use fathom::domain::{Cost, KeyScope, UseLimits};
use serde_json::{Value, json};

use super::{Answer, JSON, NOBODY, Service, cancelling::silent_at, small_world};
use crate::{
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Kind, World},
};

async fn ask(service: &Service, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    service.ask(method, path, &[JSON, ("x-api-key", key)], body.to_string()).await
}

async fn start(service: &Service, key: &str) -> Answer {
    ask(service, key, "POST", "/api/v1/threads", &json!({ "message": QUESTION })).await
}

/// Every value of a header that may come several times.
fn all(answer: &Answer, name: &str) -> Vec<String> {
    answer.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_and_its_owner_start_as_many_runs_as_they_may() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let variables = [("FATHOM_AUTHENTICATION", "keys"), ("FATHOM_RUNS_PER_DAY_PER_OWNER", "3")];
    let service = Service::with(&world, &database, &variables).await;
    let two = UseLimits { runs_per_day: Some(2), ..UseLimits::default() };
    let key = service.limited_key("ann", KeyScope::Write, None, two).await;
    let first = start(&service, &key).await.expect(201);
    let expected = ["\"runs-per-day\";q=3;qu=\"runs\";w=86400", "\"key-runs-per-day\";q=2;qu=\"runs\";w=86400"];
    assert_eq!(all(&first, "ratelimit-policy"), expected);
    assert!(all(&first, "ratelimit")[1].starts_with("\"key-runs-per-day\";r=1;t="), "{:?}", first.headers);
    let reads = service.ask("GET", &first.started().run_path(), &[("x-api-key", &key)], "").await.expect(200);
    assert_eq!(reads.header("ratelimit"), "", "reading is not limited here");
    start(&service, &key).await.expect(201);
    let refused = start(&service, &key).await;
    let problem = refused.refused(429, "limit_reached");
    assert_eq!(problem["detail"], "this key may start 2 runs a day (UTC)");
    assert!((1..=86_401).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    assert!(all(&refused, "ratelimit")[1].starts_with("\"key-runs-per-day\";r=0;t="));
    let other = service.key("ann", KeyScope::Write, None).await;
    start(&service, &other).await.expect(201);
    assert_eq!(
        start(&service, &other).await.refused(429, "limit_reached")["detail"],
        "this owner may start 3 runs a day (UTC)"
    );
    let bob = service.key("bob", KeyScope::Write, None).await;
    start(&service, &bob).await.expect(201);
    service.stop().await;
    world.finish();
}

/// Runs at once: a place is free when a run has ended. A request that is repeated with its idempotency key takes none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_is_free_again_when_a_run_has_ended() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_RUNS_AT_ONCE_PER_OWNER", "1")]).await;
    let body = json!({ "message": QUESTION });
    let headers = [JSON, ("idempotency-key", "once")];
    let first = service.ask("POST", "/api/v1/threads", &headers, body.to_string()).await.expect(201).started();
    service.ask("POST", "/api/v1/threads", &headers, body.to_string()).await.expect(201);
    let refused = service.post("/api/v1/threads", &body).await;
    assert_eq!(refused.refused(429, "limit_reached")["detail"], "this owner may have 1 runs at once");
    assert_eq!(refused.header("ratelimit"), "\"runs-at-once\";r=0");
    service.post(&format!("{}/cancel", first.run_path()), &json!({})).await.expect(202);
    service.ended(&first.run).await;
    let second = service.post("/api/v1/threads", &body).await.expect(201).started();
    assert_ne!(second.run, first.run);
    service.post(&format!("{}/cancel", second.run_path()), &json!({})).await.expect(202);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_beyond_those_of_a_minute_are_refused() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let few = UseLimits { requests_per_minute: Some(20), ..UseLimits::default() };
    let key = service.limited_key("ann", KeyScope::Read, None, few).await;
    let list = async || ask(&service, &key, "GET", "/api/v1/threads", &Value::Null).await;
    let first = list().await.expect(200);
    assert_eq!(first.header("ratelimit-policy"), "\"key-requests-per-minute\";q=20;w=60");
    // Of whatever the answer is: a stream, what is not there, what cannot be.
    let writer = service.key("ann", KeyScope::Write, None).await;
    let started = start(&service, &writer).await.expect(201).started();
    let nobody = format!("/api/v1/threads/{NOBODY}");
    let wrong = "/api/v1/threads?limit=many".to_owned();
    let stream = reqwest::Client::new().get(service.url(&started.events_path()));
    let stream = stream.header("x-api-key", &key).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream; charset=utf-8");
    let mut left = vec![stream.headers()["ratelimit"].to_str().unwrap().to_owned()];
    for (path, status) in [(&nobody, 404), (&wrong, 422)] {
        left.extend(all(&ask(&service, &key, "GET", path, &Value::Null).await.expect(status), "ratelimit"));
    }
    assert!(left.len() == 3 && left.iter().all(|left| left.starts_with("\"key-requests-per-minute\";r=")), "{left:?}");
    // The minute may end while they are sent, once.
    let mut refused = None;
    for _ in 0..41 {
        let answer = list().await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("one is too many");
    refused.refused(429, "rate_limited");
    assert!((1..=61).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    // A browser would give its stream up for good on 429: it comes back when it may.
    let headers = [("x-api-key", key.as_str()), ("accept", "text/event-stream")];
    let mut hint = None;
    for _ in 0..41 {
        let answer = service.ask("GET", &started.events_path(), &headers, "").await.expect(200);
        hint = answer.text().strip_prefix("retry: ").and_then(|hint| hint.trim_end().parse::<u64>().ok());
        if hint.is_some() {
            break;
        }
    }
    let wait: u64 = list().await.header("retry-after").parse().unwrap();
    assert!(hint.is_some_and(|hint| hint >= wait * 1_000), "{hint:?} for {wait} s");
    let unlimited = service.key("ann", KeyScope::Read, None).await;
    ask(&service, &unlimited, "GET", "/api/v1/threads", &Value::Null).await.expect(200);
    service.get("/healthz").await.expect(200);
    service.stop().await;
    world.finish();
}

/// What runs spent is shown to their owner, and everybody's to administrators.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn use_is_shown_to_those_whom_it_concerns() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let (ann, bob) = (service.key("ann", KeyScope::Write, None).await, service.key("bob", KeyScope::Write, None).await);
    let admin = service.key("root", KeyScope::Admin, None).await;
    for key in [&ann, &ann, &bob] {
        let run = start(&service, key).await.expect(201).started();
        service.ask("GET", &run.run_path(), &[("x-api-key", key), ("prefer", "wait=30")], "").await.expect(200);
    }
    let used = async |key: &str, query: &str| {
        let answer = ask(&service, key, "GET", &format!("/api/v1/usage{query}"), &Value::Null).await.expect(200).json();
        let of = |row: &Value| (row["owner"].as_str().unwrap().to_owned(), row["runs"].as_u64().unwrap());
        (answer["data"].as_array().unwrap().iter().map(of).collect::<Vec<_>>(), answer)
    };
    let own = used(&ann, "").await;
    assert_eq!(own.0, [("ann".to_owned(), 2)]);
    let row = &own.1["data"][0];
    assert!(row["calls"].as_u64().unwrap() > 4 && row["searches"].as_u64().unwrap() >= 2, "{row}");
    let of_models: u64 =
        row["by_model"].as_object().unwrap().values().map(|model| model["calls"].as_u64().unwrap()).sum();
    assert_eq!(row["calls"], of_models);
    assert_eq!(used(&bob, "?owner=ann").await.0, [], "another's is not there");
    assert_eq!(used(&admin, "?by=month").await.0, [("ann".to_owned(), 2), ("bob".to_owned(), 1)]);
    assert_eq!(used(&admin, "?owner=bob").await.0, [("bob".to_owned(), 1)]);
    assert_eq!(used(&admin, "?from=2020-01-01&to=2020-01-31").await.0, []);
    let spent = async |key: &str, query: &str| {
        let path = format!("/api/v1/usage/breakdown{query}");
        let answer = ask(&service, key, "GET", &path, &Value::Null).await.expect(200).json();
        (answer["runs"].as_u64().unwrap(), answer["calls"].as_u64().unwrap(), answer)
    };
    let (runs, calls, sums) = spent(&ann, "").await;
    assert_eq!((runs, calls), (2, of_models), "the ledger and the journals say the same");
    for by in ["by_stage", "by_role", "by_model"] {
        let calls: u64 = sums[by].as_object().unwrap().values().map(|sum| sum["calls"].as_u64().unwrap()).sum();
        assert_eq!(calls, of_models, "{by}: {sums}");
    }
    assert!(sums["by_stage"]["research"]["input_tokens"].as_u64().unwrap() > 0, "{sums}");
    let of_bob = spent(&bob, "").await;
    assert_eq!(spent(&bob, "?owner=ann").await.0, 0, "another's is not there");
    assert_eq!(spent(&admin, "?owner=ann").await.1, calls);
    assert_eq!((spent(&admin, "").await.0, spent(&admin, "").await.1), (3, calls + of_bob.1));
    let long = format!("?owner={}", "a".repeat(201));
    let early = ask(&service, &ann, "GET", "/api/v1/usage?from=0001-01-01", &Value::Null).await;
    let problem = early.refused(422, "validation_failed");
    assert!(problem["detail"].as_str().unwrap().contains("from 1970-01-01 to 9999-12-31"), "{problem}");
    for wrong in ["?by=year", "?from=yesterday", "?from=2026-02-30", "?from=2026-02-02&to=2026-02-01", &long] {
        let breakdown = wrong != "?by=year";
        for path in ["/api/v1/usage", "/api/v1/usage/breakdown"].iter().take(1 + usize::from(breakdown)) {
            let path = format!("{path}{wrong}");
            ask(&service, &ann, "GET", &path, &Value::Null).await.refused(422, "validation_failed");
        }
    }
    service.stop().await;
    world.finish();
}

/// Limits of a key come through the API, too, and what is no limit is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn administrators_give_keys_limits() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let admin = service.key("root", KeyScope::Admin, None).await;
    let wanted = |limits: Value| json!({ "name": "ci", "owner": "ann", "limits": limits });
    let limits = json!({ "runs_per_day": 1, "cost_per_day_usd": 0.5 });
    let made = ask(&service, &admin, "POST", "/api/v1/keys", &wanted(limits.clone())).await.expect(201).json();
    assert_eq!(made["limits"], limits);
    let key = made["secret"].as_str().unwrap();
    let started = start(&service, key).await.expect(201);
    let run = &started.json()["run"];
    assert_eq!(run["options"]["max_cost_usd"], 0.25, "at most half of what is left");
    assert_eq!(all(&started, "ratelimit-policy")[1], "\"key-cost-per-day\";q=50;qu=\"cents\";w=86400");
    for (wrong, pointer) in [
        (json!({ "runs_per_year": 1 }), "/limits/runs_per_year"),
        (json!({ "runs_per_day": 0 }), "/limits/runs_per_day"),
        (json!({ "a/b~c": 1 }), "/limits/a~1b~0c"),
        (json!({ "cost_per_month_usd": null }), "/limits/cost_per_month_usd"),
    ] {
        let problem =
            ask(&service, &admin, "POST", "/api/v1/keys", &wanted(wrong)).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
    let money = UseLimits { cost_per_day_usd: Some(Cost(10_000_000)), ..UseLimits::default() };
    let poor = service.limited_key("zoe", KeyScope::Write, None, money).await;
    start(&service, &poor).await.expect(201);
    service.stop().await;
    world.finish();
}

/// Who has no key yet is nobody's owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_lock_nobody_out() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let variables = [("FATHOM_AUTHENTICATION", "keys"), ("FATHOM_REQUESTS_PER_MINUTE_PER_OWNER", "2")];
    let service = Service::with(&world, &database, &variables).await;
    let sign_in = async |key: &str| service.post("/api/v1/session", &json!({ "key": key })).await;
    for _ in 0..5 {
        sign_in("fathom_wrong").await.refused(422, "validation_failed");
    }
    let key = service.key("local", KeyScope::Read, None).await;
    sign_in(&key).await.expect(200);
    // Within two minutes these are one too many.
    let mut refused = 0;
    for _ in 0..5 {
        let answer = ask(&service, &key, "GET", "/api/v1/session", &Value::Null).await;
        refused += u32::from(answer.status == 429);
    }
    assert!(refused >= 1, "an owner is counted");
    service.stop().await;
    world.finish();
}
