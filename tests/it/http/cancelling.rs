//! Runs are cancelled and threads deleted, wherever they are.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use test_case::test_case;

use super::{NOBODY, Service, names, small_world};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Call, Ended, Kind, Script, Shape, When, World, reply},
};

/// From the request to the end of the model's connection.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Plays a run up to the calls of that kind, and is silent then.
pub fn silent_at(kind: Kind) -> Script {
    Script::whole_run(Shape::SMALL).always(When::kind(kind), reply::silence())
}

/// The first model call of that kind that is being answered.
pub async fn pending(world: &World, kind: Kind) -> Arc<Call> {
    let find = async || world.models.calls_of(kind).into_iter().find(|call| call.ended() == Ended::Pending);
    until("the model is asked", find).await
}

pub async fn gone(call: &Call) {
    until("the client goes away", async || (call.ended() == Ended::Aborted).then_some(())).await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queued_run_is_cancelled_on_the_spot(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_CONCURRENT_RUNS", "1")]).await;
    let first = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let second = service.start_run().await;
    let mut stream = service.stream(&second.events_path(), &[]).await;
    let run = service.post(&format!("{}/cancel", second.run_path()), &json!({})).await.expect(202).json();
    assert_eq!((&run["status"], &run["started_at"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(names(&stream.rest().await), ["run.created", "run.cancelled"]);
    assert_eq!(service.thread(&second.thread).await["status"], "idle");
    world.models.follow(Script::whole_run(Shape::SMALL));
    let next = service.say(&second.thread, "Now, please.").await;
    service.delete(&first.thread_path()).await.expect(204);
    assert_eq!(service.ended(&next).await["outcome"], "report", "the thread is as good as before");
    service.stop().await;
    world.finish();
}

/// The machine may be busy with other tests: the fastest of some attempts counts.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_run_is_cancelled_with_its_calls_and_keeps_its_notes(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let started = service.start_run().await;
        let call = pending(&world, Kind::Report).await;
        let mut stream = service.stream(&started.events_path(), &[]).await;
        let began = Instant::now();
        let cancel = async {
            service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
        };
        let closed = async {
            gone(&call).await;
            began.elapsed()
        };
        let ((), took) = tokio::join!(cancel, closed);
        fastest = fastest.min(took);
        assert_eq!(names(&stream.rest().await).last(), Some(&"run.cancelled"));
        let run = service.ended(&started.run).await;
        assert_eq!((&run["status"], &run["cancel_requested"]), (&json!("cancelled"), &json!(true)));
        assert_eq!(service.list(&format!("{}/notes", started.run_path())).await.len(), 1);
        assert!(!service.list(&format!("{}/sources", started.run_path())).await.is_empty());
        service.get(&format!("{}/report", started.run_path())).await.refused(409, "no_report");
        if fastest < AT_ONCE {
            break;
        }
    }
    println!("a cancelled run's call ended after {fastest:?}");
    assert!(fastest < AT_ONCE, "{fastest:?}");
    world.models.follow(Script::whole_run(Shape::SMALL));
    let thread = service.list("/api/v1/threads").await[0]["id"].as_str().unwrap().to_owned();
    let next = service.say(&thread, "Once more.").await;
    assert_eq!(service.ended(&next).await["outcome"], "report", "the thread is as good as before");
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_final_run_stays_what_it_is(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let run = service.ended(&started.run).await;
    let cancel = format!("{}/cancel", started.run_path());
    for _ in 0..2 {
        assert_eq!(service.post(&cancel, &json!({})).await.expect(200).json(), run);
    }
    service.post(&format!("/api/v1/runs/{NOBODY}/cancel"), &json!({})).await.refused(404, "not_found");
    service.stop().await;
    world.finish();
}

/// Through the database: at once where it tells, within a second otherwise.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_cancels_too(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let (here, there) = (Service::start(&world, &database).await, Service::start(&world, &database).await);
    let started = here.start_run().await;
    let call = pending(&world, Kind::Report).await;
    for service in [&there, &here] {
        let cancel = format!("{}/cancel", started.run_path());
        let run = service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.json();
        assert_eq!(run["status"], "cancelled");
    }
    gone(&call).await;
    there.stop().await;
    here.stop().await;
    world.finish();
}

/// While it waits, is claimed, begins, works or ends.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_at_any_moment(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let stories = (0..30).map(|number| {
        let service = &service;
        async move {
            let started = service.start_run().await;
            tokio::time::sleep(Duration::from_millis(number * 7)).await;
            let cancel = format!("{}/cancel", started.run_path());
            let run = service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.json();
            let events = service.events(&started.events_path()).await;
            let end = format!("run.{}", run["status"].as_str().unwrap());
            assert!(["run.cancelled", "run.completed"].contains(&end.as_str()), "{run:#}");
            assert_eq!(names(&events).iter().filter(|name| **name == end).count(), 1);
            assert_eq!(names(&events).last(), Some(&end.as_str()));
            assert_eq!(service.thread(&started.thread).await["status"], "idle");
        }
    });
    futures::future::join_all(stories).await;
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_comes_together_no_answer_is_a_defect(database: TestDatabase) {
    let world = small_world().await;
    let (here, there) = (Service::start(&world, &database).await, Service::start(&world, &database).await);
    let say = json!({ "content": "And?" }).to_string();
    let stories = (0..12).map(|number| {
        let (here, there, say) = (&here, &there, &say);
        async move {
            let started = here.start_run().await;
            let (thread, run) = (started.thread_path(), started.run_path());
            let (messages, cancel) = (format!("{thread}/messages"), format!("{run}/cancel"));
            let requests = [
                (here, "POST", &messages, number * 3),
                (there, "POST", &messages, number * 5),
                (here, "POST", &cancel, number * 4),
                (there, "POST", &cancel, number * 4),
                (here, "GET", &run, number * 6),
                (there, "DELETE", &thread, number * 9),
                (here, "DELETE", &thread, number * 9),
                (here, "POST", &messages, number * 9),
                (there, "GET", &messages, number * 9),
            ];
            let asked = requests.map(|(service, method, path, after)| async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                let answer = service.ask(method, path, &[super::JSON], say.clone()).await;
                assert!([200, 202, 204, 404, 409].contains(&answer.status), "{method} {path}: {}", answer.text());
                (method, answer.status)
            });
            let answers = futures::future::join_all(asked).await;
            let deleted = answers.iter().filter(|answer| **answer == ("DELETE", 204)).count();
            assert_eq!(deleted, 1, "{answers:?}");
            there.get(&thread).await.refused(404, "not_found");
        }
    });
    futures::future::join_all(stories).await;
    assert_eq!(here.list("/api/v1/runs").await.len(), 0);
    here.stop().await;
    there.stop().await;
    let left = database.row_counts().await;
    assert!(left.iter().all(|(_, rows)| *rows == 0), "{left:?}");
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_deleted_while_its_run_works(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let call = pending(&world, Kind::Report).await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    let mut of_thread = service.stream(&format!("{}/events", started.thread_path()), &[]).await;
    stream.until("report.started").await;
    let began = Instant::now();
    assert!(service.delete(&started.thread_path()).await.expect(204).body.is_empty());
    gone(&call).await;
    println!("a deleted run's call ended after {:?}", began.elapsed());
    stream.rest().await;
    of_thread.rest().await;
    let (thread, run) = (started.thread_path(), started.run_path());
    let parts = ["", "/messages", "/runs", "/events"].map(|part| format!("{thread}{part}"));
    let more = ["", "/events", "/report", "/notes", "/sources", "/sources/S1001", "/steps"];
    for path in parts.into_iter().chain(more.map(|part| format!("{run}{part}"))) {
        service.get(&path).await.refused(404, "not_found");
    }
    service.post(&format!("{run}/cancel"), &json!({})).await.refused(404, "not_found");
    service.post(&format!("{thread}/messages"), &json!({ "content": "Still there?" })).await.refused(404, "not_found");
    service.delete(&thread).await.refused(404, "not_found");
    service.stop().await;
    let left = database.row_counts().await;
    assert!(left.iter().all(|(_, rows)| *rows == 0), "{left:?}");
    world.finish();
}
