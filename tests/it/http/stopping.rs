//! The service stops: what is open is ended in good order, and what is begun goes on elsewhere.

use std::time::Duration;

use serde_json::json;
use test_case::test_case;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    PATIENCE, Service,
    cancelling::{gone, pending, silent_at},
    names, seqs,
};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, World},
};

/// Nothing but a call under way waits for the end of the grace, which is half a second unless a test says otherwise.
const SOON: Duration = Duration::from_secs(5);
/// For a service that has to stop long before its end.
const LONG_GRACE: &[(&str, &str)] = &[("FATHOM_GRACE_SECONDS", "10")];

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_readers_go_on_in_the_next_process(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let call = pending(&world, Kind::Report).await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    let mut quiet = service.stream(&format!("{}?types=run.completed", started.events_path()), &[]).await;
    let mut events = stream.until("report.started").await;
    service.begin_to_stop();
    events.extend(stream.rest().await);
    assert_eq!(quiet.rest().await.len(), 0);
    for retry in [stream.retry, quiet.retry] {
        assert!(retry.is_some_and(|ms| (500..=1_500).contains(&ms)), "soon, and not all at once: {retry:?}");
    }
    gone(&call).await;
    let took = service.stop().await;
    assert!(took < SOON, "{took:?}");
    world.models.follow(Script::whole_run(Shape::SMALL));
    let calls = world.models.total();
    let service = Service::start(&world, &database).await;
    let id = stream.last_id.unwrap();
    let mut stream = service.stream(&started.events_path(), &[("last-event-id", &id)]).await;
    events.extend(stream.rest().await);
    assert!(seqs(&events).into_iter().eq(1..=events.len() as i64), "{:?}", seqs(&events));
    let names = names(&events);
    assert!(names.contains(&"run.resumed") && names.last() == Some(&"run.completed"), "{names:?}");
    assert_eq!(world.models.total() - calls, 1, "what was done is not done again");
    assert_eq!(service.run(&started.run).await["outcome"], "report");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_flight_are_answered() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let body = json!({ "message": "Who keeps the gate?" }).to_string();
    let (begin, end) = body.split_at(body.len() / 2);
    let mut slow = TcpStream::connect(service.address).await.unwrap();
    let head = format!(
        "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{begin}",
        body.len()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let path = started.run_path();
    let waiting = service.ask("GET", &path, &[("prefer", "wait=60")], "");
    let stopping = async {
        // Nothing tells when the others have arrived; they would be refused if they had not.
        service.thread(&started.thread).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        service.begin_to_stop();
        slow.write_all(end.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, slow.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    };
    let (run, answer) = tokio::join!(waiting, stopping);
    assert!(["queued", "running"].contains(&run.expect(200).json()["status"].as_str().unwrap()));
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let took = service.stop().await;
    assert!(took < SOON, "{took:?}");
    let store = database.open().await;
    let runs = store.runs_page(&fathom::runs::RunFilter::default(), None, 10).await.unwrap();
    assert_eq!(runs.items.len(), 2);
    assert!(runs.items.iter().all(|run| !run.status.is_final()), "both are there for the next process");
    store.close().await;
}

/// Those that a browser opens in advance, and those it keeps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_a_request_hold_nothing_up() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::with(&world, &database, LONG_GRACE).await;
    let mut silent = TcpStream::connect(service.address).await.unwrap();
    let mut idle = TcpStream::connect(service.address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut seen = [0; 12];
    idle.read_exact(&mut seen).await.unwrap();
    assert_eq!(&seen, b"HTTP/1.1 200");
    service.get("/healthz").await.expect(200);
    let address = service.address;
    let took = service.stop().await;
    assert!(took < SOON, "{took:?}");
    for connection in [&mut silent, &mut idle] {
        let mut rest = Vec::new();
        let end = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut rest)).await;
        assert!(end.is_ok(), "it is closed");
    }
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
    world.finish();
}
