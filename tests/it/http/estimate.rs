//! What a run would take, asked before it starts: from the owner's finished runs, else from the preset, under the
//! limits.

use fathom::domain::{KeyScope, UseLimits};
use serde_json::{Value, json};
use test_case::test_case;

use super::{JSON, Service, small_world};
use crate::{
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Script, Shape, World},
};

const KEYS: [(&str, &str); 1] = [("FATHOM_AUTHENTICATION", "keys")];

async fn ask(service: &Service, key: &str, method: &str, path: &str, body: &Value) -> super::Answer {
    service.ask(method, path, &[JSON, ("x-api-key", key)], body.to_string()).await
}

async fn estimate(service: &Service, key: &str, options: Value) -> Value {
    let body = json!({ "message": QUESTION, "options": options });
    ask(service, key, "POST", "/api/v1/estimate", &body).await.expect(200).json()
}

/// Has a run made; what it took.
async fn research(service: &Service, key: &str, options: &Value) -> Value {
    let body = json!({ "message": QUESTION, "options": options });
    let started = ask(service, key, "POST", "/api/v1/threads", &body).await.expect(201);
    let wait = [("x-api-key", key), ("prefer", "wait=30")];
    let run = service.ask("GET", &started.started().run_path(), &wait, "").await.expect(200).json();
    assert_eq!(run["outcome"], "report", "{run:#}");
    run
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_estimate_is_made_from_the_owners_own_runs(database: TestDatabase) {
    let world = World::start(Script::whole_run(Shape { queries: 2, ..Shape::SMALL })).await;
    let service = Service::with(&world, &database, &KEYS).await;
    let [ann, bob] = [service.key("ann", KeyScope::Write, None).await, service.key("bob", KeyScope::Write, None).await];
    let first = estimate(&service, &ann, json!({})).await;
    assert_eq!(first["basis"], json!({ "from": "preset", "runs": 0, "effort": "standard" }));
    assert_eq!(first["model_calls"], json!({ "low": 26, "expected": 80, "high": 240 }));
    assert_eq!((&first["cost_usd"], &first["limited_by"]), (&Value::Null, &Value::Null));
    let mut took = Vec::new();
    for _ in 0..3 {
        took.push(research(&service, &ann, &json!({})).await);
    }
    let own = estimate(&service, &ann, json!({})).await;
    assert_eq!(own["basis"], json!({ "from": "runs", "runs": 3, "effort": "standard" }));
    let mut calls: Vec<_> = took.iter().map(|run| run["usage"]["calls"].as_u64().unwrap()).collect();
    calls.sort_unstable();
    assert_eq!(own["model_calls"], json!({ "low": calls[0], "expected": calls[1], "high": calls[2] }));
    assert_eq!((&took[0]["progress"]["searches"], &own["searches"]["expected"]), (&json!(1), &json!(2)), "queries");
    let mut read: Vec<_> = took.iter().map(|run| run["usage"]["input_tokens"].as_u64().unwrap()).collect();
    read.sort_unstable();
    assert_eq!(own["input_tokens"], json!({ "low": read[0], "expected": read[1], "high": read[2] }));
    // Other options are other runs, and another owner's runs are nobody's business, an administrator's neither.
    let admin = service.key("root", KeyScope::Admin, None).await;
    for (key, options) in [(&ann, json!({ "effort": "deep" })), (&bob, json!({})), (&admin, json!({}))] {
        assert_eq!(estimate(&service, key, options).await["basis"]["from"], "preset");
    }
    let threads = ask(&service, &bob, "GET", "/api/v1/threads", &Value::Null).await.expect(200).json();
    assert_eq!(threads["data"], json!([]), "nothing was started");
    service.stop().await;
    world.finish();
}

/// They took no more for the searches that they were refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_estimate_by_runs_that_were_refused_searches_is_what_they_took() {
    let world = World::start(Script::whole_run(Shape { queries: 2, ..Shape::SMALL })).await;
    let service = Service::with(&world, &TestDatabase::sqlite(), &KEYS).await;
    let ann = service.key("ann", KeyScope::Write, None).await;
    let options = json!({ "max_searches": 1 });
    let mut calls = Vec::new();
    for _ in 0..3 {
        let run = research(&service, &ann, &options).await;
        assert_eq!(run["limited_by"], "max_searches", "{run:#}");
        calls.push(run["usage"]["calls"].as_u64().unwrap());
    }
    calls.sort_unstable();
    let own = estimate(&service, &ann, options).await;
    assert_eq!((&own["basis"]["from"], &own["searches"]["expected"]), (&json!("runs"), &json!(1)));
    assert_eq!(own["model_calls"], json!({ "low": calls[0], "expected": calls[1], "high": calls[2] }));
    assert_eq!(own["limited_by"], Value::Null);
    service.stop().await;
    world.finish();
}

/// What a day may cost bounds the estimate as it bounds the run, and what is used up lets none in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_estimate_knows_what_is_left_of_budgets() {
    let world = small_world().await;
    let variables = [KEYS[0], ("FATHOM_TOKENS_PER_DAY_PER_OWNER", "100000")];
    let service = Service::with(&world, &TestDatabase::sqlite(), &variables).await;
    let month = UseLimits { tokens_per_month: Some(40_000), ..UseLimits::default() };
    let [ann, poor] = [
        service.key("ann", KeyScope::Write, None).await,
        service.limited_key("bob", KeyScope::Write, None, month).await,
    ];
    let tokens = |estimate: &Value| {
        let of = |name: &str| estimate[name]["high"].as_u64().unwrap();
        of("input_tokens") + of("output_tokens")
    };
    let before = estimate(&service, &ann, json!({})).await;
    assert!(tokens(&before) <= 50_000, "half of the day: {before}");
    assert_eq!(before["limited_by"], json!({ "option": "tokens_per_day", "at": "low" }));
    let of_key = estimate(&service, &poor, json!({})).await;
    assert!(tokens(&of_key) <= 20_000, "half of the key's month: {of_key}");
    assert_eq!(of_key["limited_by"]["option"], "key_tokens_per_month");
    // A run that asks for less than it is given is bounded by its own option.
    let own = estimate(&service, &ann, json!({ "max_tokens": 20_000 })).await;
    assert_eq!(own["limited_by"]["option"], "max_tokens");
    let spent = research(&service, &ann, &json!({})).await;
    let used = ["input_tokens", "output_tokens"].map(|name| spent["usage"][name].as_u64().unwrap());
    let after = estimate(&service, &ann, json!({})).await;
    assert!(tokens(&after) <= (100_000 - used.iter().sum::<u64>()) / 2, "{after}");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_estimate_keeps_to_the_limits_and_refuses_what_a_thread_would() {
    let world = small_world().await;
    let service = Service::with(&world, &TestDatabase::sqlite(), &[]).await;
    let options = json!({ "max_model_calls": 40, "max_searches": 500 });
    let estimate = service.post("/api/v1/estimate", &json!({ "options": options })).await.expect(200).json();
    assert_eq!(estimate["model_calls"], json!({ "low": 26, "expected": 40, "high": 40 }));
    assert_eq!(estimate["searches"]["expected"], 6, "half of the calls, half of the searches");
    assert_eq!(estimate["limited_by"], json!({ "option": "max_model_calls", "at": "expected" }));
    let refused = [
        (json!({ "message": " " }), "/message"),
        (json!({ "message": "a", "options": { "max_searches": 0 } }), "/options/max_searches"),
        (json!({ "options": { "research_model": "acme:x" } }), "/options/research_model"),
    ];
    for (body, pointer) in refused {
        let estimated = service.post("/api/v1/estimate", &body).await.refused(422, "validation_failed");
        assert_eq!(estimated["errors"][0]["pointer"], pointer, "{body}");
        let created = service.post("/api/v1/threads", &body).await;
        assert_eq!(created.status, 422, "{body}");
    }
    assert!(service.list("/api/v1/threads").await.is_empty());
    service.stop().await;
    world.finish();
}
