//! Lists come in pages that fit together, whatever is added meanwhile.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_case::test_case;

use super::{Service, cancelling::silent_at, small_world};
use crate::{
    database::TestDatabase,
    world::{Kind, World},
};

/// What a list's pages hold together; `between` happens after each.
async fn pages(service: &Service, path: &str, limit: usize, mut between: impl AsyncFnMut()) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = service.get(&format!("{path}?limit={limit}{cursor}")).await.expect(200).json();
        let data = page["data"].as_array().unwrap();
        assert!(data.len() <= limit);
        all.extend(data.iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return all };
        assert_eq!(data.len(), limit, "only the last page is short");
        cursor = format!("&cursor={next}");
        between().await;
    }
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_threads_and_runs_stay_whole_while_new_ones_come(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::start(&world, &database).await;
    let (mut threads, mut runs) = (Vec::new(), Vec::new());
    for number in 0..7 {
        let started = service.create(&json!({ "message": format!("Question {number}") })).await;
        threads.insert(0, started.thread);
        runs.insert(0, started.run);
    }
    let more = async || _ = service.start_run().await;
    assert_eq!(ids(&pages(&service, "/api/v1/threads", 3, more).await), threads, "newest first, none twice");
    let all = pages(&service, "/api/v1/runs", 3, async || _ = service.start_run().await).await;
    assert!(ids(&all).ends_with(&runs.iter().map(String::as_str).collect::<Vec<_>>()), "{all:?}");
    assert_eq!(ids(&all).into_iter().collect::<BTreeSet<_>>().len(), all.len());
    let last = service.get("/api/v1/threads?limit=100").await.expect(200).json();
    assert_eq!(last["next_cursor"], Value::Null);
    cursors_belong_to_their_list(&service, &threads[0]).await;
    for thread in ids(last["data"].as_array().unwrap()) {
        service.delete(&format!("/api/v1/threads/{thread}")).await.expect(204);
    }
    assert_eq!(service.list("/api/v1/threads").await, Vec::<Value>::new());
    assert_eq!(service.list("/api/v1/runs").await, Vec::<Value>::new());
    service.stop().await;
}

async fn cursors_belong_to_their_list(service: &Service, thread: &str) {
    let page = service.get("/api/v1/threads?limit=1").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let elsewhere = format!("/api/v1/threads/{thread}/messages?cursor={cursor}");
    for path in [format!("/api/v1/runs?cursor={cursor}"), elsewhere] {
        service.get(&path).await.refused(422, "invalid_cursor");
    }
    let far = format!("threads.ffffffffffffffffff.{}", "0".repeat(32));
    for garbage in ["x", "threads.", "threads..", "threads.-.x", "%00", "%F0%9F%A6%80", "' OR 1=1", &far] {
        let problem = service.get(&format!("/api/v1/threads?cursor={garbage}")).await.refused(422, "invalid_cursor");
        assert_eq!(problem["errors"][0]["parameter"], "cursor");
    }
    for limit in ["0", "101", "-1", "1.5", "ten", "", "99999999999999999999"] {
        let problem = service.get(&format!("/api/v1/threads?limit={limit}")).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["parameter"], "limit", "{limit}");
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_messages_are_oldest_first(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    for message in ["Two", "Three"] {
        let run = service.say(&started.thread, message).await;
        service.ended(&run).await;
    }
    let path = format!("{}/messages", started.thread_path());
    let whole = service.list(&path).await;
    assert_eq!((whole.len(), &whole[2]["content"], &whole[4]["content"]), (6, &json!("Two"), &json!("Three")));
    let mut asked = 0;
    let paged = pages(&service, &path, 4, async || {
        asked += 1;
        let run = service.say(&started.thread, "Later").await;
        service.ended(&run).await;
    });
    let paged = paged.await;
    assert_eq!((ids(&paged)[..6].to_vec(), asked), (ids(&whole), 1));
    assert_eq!(paged[6]["content"], "Later", "what came meanwhile is at the end");
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_listed_by_status(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_CONCURRENT_RUNS", "1")]).await;
    let completed = service.start_run().await;
    service.ended(&completed.run).await;
    world.models.follow(silent_at(Kind::Clarify));
    let running = service.start_run().await;
    super::cancelling::pending(&world, Kind::Clarify).await;
    let (queued, cancelled) = (service.start_run().await, service.start_run().await);
    service.post(&format!("{}/cancel", cancelled.run_path()), &json!({})).await.expect(202);
    let of = async |status: &str| service.list(&format!("/api/v1/runs?status={status}")).await;
    let cases = [("completed", completed), ("running", running), ("queued", queued), ("cancelled", cancelled)];
    for (status, started) in &cases {
        let found = of(status).await;
        assert_eq!((ids(&found), &found[0]["status"]), (vec![started.run.as_str()], &json!(status)));
    }
    assert_eq!(of("failed").await, Vec::<Value>::new());
    assert_eq!(service.list("/api/v1/runs").await.len(), 4);
    for status in ["late", "", "Queued", "queued,running"] {
        let problem = service.get(&format!("/api/v1/runs?status={status}")).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["parameter"], "status");
    }
    service.stop().await;
}
