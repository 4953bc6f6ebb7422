//! Only so many runs work, only so many wait, and those that wait know their place.

use std::time::Duration;

use serde_json::{Value, json};
use test_case::test_case;

use super::{
    Service, Started,
    cancelling::{pending, silent_at},
    names,
};
use crate::{
    crash::until,
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Ended, Kind, World},
};

async fn status(service: &Service, started: &Started) -> (String, Option<u64>) {
    let run = service.run(&started.run).await;
    (run["status"].as_str().unwrap().to_owned(), run["queue_position"].as_u64())
}

async fn cancel(service: &Service, started: &Started) {
    let cancel = format!("{}/cancel", started.run_path());
    service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.expect(202);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_runs_work_than_may_and_the_others_know_their_place(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_CONCURRENT_RUNS", "2")]).await;
    let mut runs = Vec::new();
    for working in 1..=2 {
        runs.push(service.start_run().await);
        let asked = async || (world.models.count(Kind::Clarify) == working).then_some(());
        until("the run works", asked).await;
    }
    for position in 1..=3 {
        let answer = service.post("/api/v1/threads", &json!({ "message": QUESTION })).await.expect(201);
        assert_eq!(answer.json()["run"]["queue_position"], position);
        runs.push(answer.started());
        let events = service.events(&answer.started().events_path()).await;
        let created = &events[0]["data"];
        assert_eq!((&events[0]["type"], &created["position"]), (&json!("run.created"), &json!(position)));
        assert_eq!((&created["question"], &created["options"]), (&json!(QUESTION), &answer.json()["run"]["options"]));
        assert_eq!(status(&service, runs.last().unwrap()).await, ("queued".to_owned(), Some(position)));
    }
    let mut last_in_line = service.stream(&runs[4].events_path(), &[]).await;
    last_in_line.until("run.created").await;
    cancel(&service, &runs[3]).await;
    assert_eq!(status(&service, &runs[4]).await, ("queued".to_owned(), Some(2)), "it has moved up");
    assert_eq!(world.models.count(Kind::Clarify), 2, "no third one works");
    cancel(&service, &runs[0]).await;
    until("the next one works", async || (world.models.count(Kind::Clarify) == 3).then_some(())).await;
    assert_eq!(status(&service, &runs[2]).await, ("running".to_owned(), None), "the oldest first");
    assert_eq!(status(&service, &runs[4]).await, ("queued".to_owned(), Some(1)));
    let mut places = Vec::new();
    while places.last() != Some(&json!(1)) {
        let moved = last_in_line.until("run.queued").await.pop().unwrap();
        assert_eq!(moved["seq"], 1, "it is no event of the log");
        places.push(moved["data"]["position"].clone());
    }
    assert!(places == [json!(2), json!(1)] || places == [json!(1)], "{places:?}");
    assert_eq!(names(&service.events(&runs[4].events_path()).await), ["run.created"]);
    let open = world.models.calls_matching(|call| call.ended() == Ended::Pending);
    assert_eq!(open.len(), 2);
    service.stop().await;
}

/// With its first event the last that they have.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_come_back_learn_the_place_of_a_run_that_waits(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_CONCURRENT_RUNS", "1")]).await;
    service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let earlier = service.start_run().await;
    cancel(&service, &earlier).await;
    let in_front = service.start_run().await;
    let waiting = Started { run: service.say(&earlier.thread, "And now?").await, thread: earlier.thread };
    let created = service.events(&waiting.events_path()).await.pop().unwrap();
    assert_eq!((&created["type"], &created["data"]["position"]), (&json!("run.created"), &json!(2)));
    let seq = created["seq"].as_i64().unwrap();
    assert!(seq > 1, "the thread has events before it");
    cancel(&service, &in_front).await;
    for events in [waiting.events_path(), format!("{}/events", waiting.thread_path())] {
        let mut stream = service.stream(&format!("{events}?after={seq}"), &[]).await;
        let moved = stream.until("run.queued").await;
        assert_eq!(moved.len(), 1, "nothing of the log comes before: {moved:?}");
        let [seen, run] = ["seq", "run_id"].map(|name| moved[0][name].clone());
        assert_eq!((seen, run, &moved[0]["data"]["position"]), (json!(seq), json!(waiting.run), &json!(1)), "{events}");
    }
    service.stop().await;
}

/// What is stored once events that nobody waited for have been written.
async fn settled(database: &TestDatabase) -> Vec<(&'static str, i64)> {
    let mut counts = database.row_counts().await;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = database.row_counts().await;
        if now == counts {
            return now;
        }
        counts = now;
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses_and_keeps_nothing(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let limits = [("FATHOM_MAX_CONCURRENT_RUNS", "1"), ("FATHOM_MAX_QUEUED_RUNS", "2")];
    let service = Service::with(&world, &database, &limits).await;
    let idle = service.start_run().await;
    cancel(&service, &idle).await;
    service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let waiting = service.start_run().await;
    service.start_run().await;
    let before = settled(&database).await;
    let path = format!("{}/messages", idle.thread_path());
    let requests = [("/api/v1/threads", json!({ "message": QUESTION })), (path.as_str(), json!({ "content": "And?" }))];
    for (path, body) in &requests {
        let key = ("idempotency-key", "again");
        let answer = service.ask("POST", path, &[super::JSON, key], body.to_string()).await;
        assert_eq!(answer.refused(429, "queue_full")["retryable"], true);
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
    }
    assert_eq!(database.row_counts().await, before);
    cancel(&service, &waiting).await;
    let (path, body) = &requests[0];
    let key = ("idempotency-key", "again");
    let answer = service.ask("POST", path, &[super::JSON, key], body.to_string()).await.expect(201);
    assert_eq!(answer.header("idempotent-replayed"), "", "the refusal was not the key's answer");
    service.stop().await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_cannot_fill_the_queue_alone(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let settings = [
        ("FATHOM_MAX_CONCURRENT_RUNS", "1"),
        ("FATHOM_MAX_QUEUED_RUNS_PER_OWNER", "1"),
        ("FATHOM_OWNER_HEADER", "X-User"),
    ];
    let service = Service::with(&world, &database, &settings).await;
    let body = json!({ "message": QUESTION }).to_string();
    let ask = async |user: &str| {
        let headers = [super::JSON, ("x-user", user), ("idempotency-key", "mine")];
        service.ask("POST", "/api/v1/threads", &headers, body.clone()).await
    };
    let first = ask("zoe").await.expect(201).started();
    pending(&world, Kind::Clarify).await;
    let ann = ask("ann").await.expect(201).started();
    let headers = [super::JSON, ("x-user", "ann")];
    service.ask("POST", "/api/v1/threads", &headers, body.clone()).await.refused(429, "queue_full");
    let bob = ask("bob").await.expect(201).started();
    assert_ne!(ann.run, bob.run, "equal keys of different owners have nothing to do with each other");
    assert_eq!(ask("ann").await.expect(201).started().run, ann.run);
    assert_ne!(first.run, ann.run);
    let queued: Vec<Value> = service.list("/api/v1/runs?status=queued").await;
    assert_eq!(queued.len(), 2);
    service.stop().await;
}
