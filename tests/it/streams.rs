//! The wire of event streams, taken apart by a parser that forgives nothing: cut anywhere, resumed, and still whole.

use std::collections::BTreeMap;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode},
};
use fathom::{
    config::HttpSettings,
    domain::Envelope,
    events::{CommitRetry, EventLog, Opening, Subject, Writer},
    http::{
        State, router,
        sse::{self, Naming, Native, Types, starting_point},
    },
    store::{Commit, Store},
};
use futures::StreamExt as _;
use serde_json::Value;
use test_case::test_case;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use crate::{
    database::TestDatabase,
    store::{claimed, commit_of, finish_of, thought},
    stories::engine::Engine,
    world::{Script, World},
};

/// Every record, named by its type.
fn all() -> Native {
    Native { types: Types::ALL, naming: Naming::ByType }
}

const ALL: usize = 1024 * 1024;

/// What a client keeps of a stream.
#[derive(Debug, Default, PartialEq)]
struct Client {
    events: Vec<Record>,
    /// Milliseconds.
    retry: Option<u64>,
    /// As WHATWG has it: of the last event that was complete.
    last_event_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Record {
    id: String,
    name: String,
    data: String,
}

/// Reads what arrived; an incomplete line or event at the end is dropped, everything else must be exactly as promised.
fn parse(bytes: &[u8]) -> Client {
    let mut client = Client::default();
    let mut fields: Vec<(String, String)> = Vec::new();
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let text = std::str::from_utf8(&bytes[..complete]).expect("UTF-8");
    assert!(!text.contains('\r'));
    for line in text.split_terminator('\n') {
        if line.is_empty() {
            client.dispatch(std::mem::take(&mut fields));
        } else {
            assert!(!line.starts_with("data") || line.starts_with("data: {"), "{line}");
            match line.split_once(": ").expect("a field, a colon, a space") {
                // Neither belongs to an event, and no empty line comes for either alone.
                ("", comment) => assert_eq!(comment, "ping"),
                ("retry", pause) => client.retry = Some(pause.parse().unwrap()),
                (name, value) => fields.push((name.to_owned(), value.to_owned())),
            }
        }
    }
    client
}

impl Client {
    fn dispatch(&mut self, fields: Vec<(String, String)>) {
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let value = |place: usize| fields[place].1.clone();
        match names.as_slice() {
            ["event", "id", "data"] => {
                let record = Record { name: value(0), id: value(1), data: value(2) };
                let envelope: Envelope = serde_json::from_str(&record.data).unwrap();
                assert_eq!((envelope.seq.to_string(), envelope.event.name()), (record.id.clone(), &*record.name));
                self.last_event_id = Some(record.id.clone());
                self.events.push(record);
            }
            other => panic!("not an event: {other:?}"),
        }
    }

    /// The headers with which it comes back.
    fn headers(&self) -> HeaderMap {
        let id = self.last_event_id.as_ref();
        id.map(|id| ("last-event-id".parse().unwrap(), HeaderValue::from_str(id).unwrap())).into_iter().collect()
    }
}

/// The body that a client gets; empty when nothing will come (204).
async fn body(log: &EventLog, subject: Subject, headers: &HeaderMap) -> Vec<u8> {
    let after = starting_point(headers, None, None).unwrap();
    match log.open(subject, after).await.unwrap() {
        Opening::Unknown => panic!("it exists"),
        Opening::Over => Vec::new(),
        Opening::Frames(frames) => {
            let body = sse::body(frames, all(), CancellationToken::new());
            to_bytes(body, ALL).await.unwrap().to_vec()
        }
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_cut_anywhere_goes_on_where_it_was(database: TestDatabase) {
    let store = database.open().await;
    let tasks = TaskTracker::new();
    let log = EventLog::start(store.clone(), &tasks);
    let writer = Writer::start(store.clone(), log.clone(), CommitRetry::default(), &tasks);
    let lease = claimed(&store).await;
    let texts = ["id: 7", "a\n\nb\r\ndata: x", "\u{2028}\u{85}🦀 ü", ": ping", "\"\\\0"];
    for text in texts {
        writer.commit(Commit { events: vec![thought(text); 3], ..Commit::new(lease) }).await.unwrap();
    }
    writer.commit(finish_of(lease)).await.unwrap();
    let subject = Subject::Run(lease.run_id);
    let uncut = body(&log, subject, &HeaderMap::new()).await;
    let whole = parse(&uncut);
    assert_eq!(whole.retry, Some(3000));
    assert!(whole.events.iter().map(|event| event.id.parse::<usize>().unwrap()).eq(1..=17));
    let mut rests: BTreeMap<Option<String>, Client> = BTreeMap::new();
    for cut in 0..=uncut.len() {
        let mut client = parse(&uncut[..cut]);
        if !rests.contains_key(&client.last_event_id) {
            let rest = parse(&body(&log, subject, &client.headers()).await);
            rests.insert(client.last_event_id.clone(), rest);
        }
        client.events.extend(rests[&client.last_event_id].events.iter().cloned());
        assert_eq!(client.events, whole.events, "cut after {cut} bytes");
    }
    assert_eq!(rests.len(), 18, "a rest for each event, and for none");
    assert_eq!(rests[&Some("17".to_owned())].events, [], "nothing after the last one");
}

/// The client's replica stops in the middle of the run; another one goes on.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_goes_on_in_another_process(database: TestDatabase) {
    let tasks = TaskTracker::new();
    let (store, elsewhere) = (database.open().await, database.open().await);
    let log = EventLog::start(store.clone(), &tasks);
    let other = EventLog::start(elsewhere, &tasks);
    let writer = Writer::start(store.clone(), log.clone(), CommitRetry::default(), &tasks);
    let lease = claimed(&store).await;
    let subject = Subject::Run(lease.run_id);
    let Opening::Frames(frames) = log.open(subject, 0).await.unwrap() else { panic!("frames") };
    let shutdown = CancellationToken::new();
    let mut chunks = sse::body(frames, all(), shutdown.clone()).into_data_stream();
    let mut arrived = Vec::new();
    for key in ["a", "b"] {
        writer.commit(commit_of(lease, key)).await.unwrap();
    }
    while parse(&arrived).events.len() < 3 {
        arrived.extend_from_slice(&chunks.next().await.unwrap().unwrap());
    }
    shutdown.cancel();
    while let Some(chunk) = chunks.next().await {
        arrived.extend_from_slice(&chunk.unwrap());
    }
    let mut client = parse(&arrived);
    assert!(client.retry.is_some_and(|pause| (500..1500).contains(&pause)), "{client:?}");
    writer.commit(commit_of(lease, "c")).await.unwrap();
    writer.commit(finish_of(lease)).await.unwrap();
    let rest = parse(&body(&other, subject, &client.headers()).await);
    client.events.extend(rest.events);
    assert!(client.events.iter().map(|event| event.id.parse::<i64>().unwrap()).eq(1..=5), "{client:?}");
}

/// The service's router over an empty database that the test fills.
async fn with_router(max_streams: usize, test: impl AsyncFnOnce(Router, Store, CancellationToken)) {
    let world = World::start(Script::new()).await;
    let database = TestDatabase::sqlite();
    let engine = Engine::start(&world, &database, &[]).await;
    let settings = HttpSettings { max_body_bytes: 1024, max_streams, ..engine.http.clone() };
    let shutdown = CancellationToken::new();
    let state = State::new(engine.app.runs.clone(), engine.app.keys.clone(), settings, shutdown.clone());
    test(router(&state), engine.app.runs.store().clone(), shutdown).await;
    drop(state);
    engine.app.close().await;
    world.finish();
}

async fn get(router: &Router, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request = Request::builder().uri(path).body(Body::empty()).unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    router.clone().oneshot(request).await.unwrap()
}

async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), ALL).await.unwrap()).unwrap()
}

/// "Not now" as a stream: nothing but when to come back.
async fn hint_to_come_back(response: Response<Body>) {
    assert_eq!(
        (response.status(), &response.headers()["content-type"]),
        (StatusCode::OK, &"text/event-stream; charset=utf-8".parse().unwrap())
    );
    assert!(response.headers().contains_key("x-request-id") && !response.headers().contains_key("retry-after"));
    let client = parse(&to_bytes(response.into_body(), ALL).await.unwrap());
    // At a random time of three seconds, after the two that `Retry-After` would have said.
    assert!(client.retry.is_some_and(|pause| (2_000..5_000).contains(&pause)), "{client:?}");
    assert_eq!(client.events, []);
}

const STREAM: (&str, &str) = ("accept", "text/event-stream");
const AS_JSON: (&str, &str) = ("accept", "application/json");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_streams_a_run_to_its_end() {
    with_router(10, async |router, store, _| {
        let lease = claimed(&store).await;
        for key in ["a", "b", "c"] {
            assert_eq!(store.commit(vec![commit_of(lease, key)]).await, [Ok(())]);
        }
        assert_eq!(store.commit(vec![finish_of(lease)]).await, [Ok(())]);
        let path = format!("/api/v1/runs/{}/events", lease.run_id);
        let response = get(&router, &path, &[("accept", "text/event-stream")]).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
        assert_eq!((header("cache-control").as_str(), header("x-accel-buffering").as_str()), ("no-store", "no"));
        let client = parse(&to_bytes(response.into_body(), ALL).await.unwrap());
        assert!(client.events.iter().map(|event| event.id.as_str()).eq(["1", "2", "3", "4", "5"]));
        assert_eq!(client.retry, Some(3000));
        let rest = get(&router, &format!("{path}?after=1"), &[("last-event-id", "3")]).await;
        assert_eq!(parse(&to_bytes(rest.into_body(), ALL).await.unwrap()).events, client.events[3..]);
        let ends = get(&router, &format!("{path}?types=run.*"), &[]).await;
        let ends = parse(&to_bytes(ends.into_body(), ALL).await.unwrap()).events;
        assert_eq!(ends, [client.events[0].clone(), client.events[4].clone()]);
        for after in ["5", "6", "99999999999999999999"] {
            let over = get(&router, &path, &[("last-event-id", after)]).await;
            assert_eq!(over.status(), StatusCode::NO_CONTENT);
            assert!(to_bytes(over.into_body(), ALL).await.unwrap().is_empty());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_answers_with_pages_too() {
    with_router(10, async |router, store, _| {
        let lease = claimed(&store).await;
        assert_eq!(store.commit(vec![commit_of(lease, "a")]).await, [Ok(())]);
        let path = format!("/api/v1/threads/{}/events", lease.thread_id);
        let page = json(get(&router, &format!("{path}?limit=1&after=1"), &[AS_JSON]).await).await;
        assert_eq!((&page["next_after"], &page["done"]), (&2.into(), &false.into()));
        let stored = store.events_after(lease.thread_id, 1, 1).await.unwrap();
        assert_eq!(page["data"], serde_json::to_value(stored).unwrap());
        assert_eq!(store.commit(vec![finish_of(lease)]).await, [Ok(())]);
        let page = json(get(&router, &format!("{path}?types=nothing.*"), &[AS_JSON]).await).await;
        assert_eq!(page, serde_json::json!({"data": [], "next_after": 3, "done": true}));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_refuses_what_it_cannot_read() {
    with_router(10, async |router, store, _| {
        let lease = claimed(&store).await;
        let path = format!("/api/v1/threads/{}/events", lease.thread_id);
        let check = async |query: &str, header: (&str, &str), status: u16, place: Value| {
            let response = get(&router, &format!("{path}{query}"), &[header]).await;
            assert_eq!(response.status(), status, "{query} {header:?}");
            let errors = json(response).await["errors"].take();
            let place_of =
                |error: &Value| error.as_object().unwrap().iter().find(|(key, _)| *key != "detail").unwrap().1.clone();
            assert_eq!(errors.get(0).map_or(Value::Null, place_of), place, "{query} {header:?}");
        };
        check("?after=x", AS_JSON, 422, "after".into()).await;
        check("?after=-1", ("x", "y"), 422, "after".into()).await;
        check("?types=", ("x", "y"), 422, "types".into()).await;
        check("?limit=0", AS_JSON, 422, "limit".into()).await;
        check("?limit=1001", AS_JSON, 422, "limit".into()).await;
        check("", ("last-event-id", "abc"), 422, "Last-Event-ID".into()).await;
        check("?lastEventId=abc", AS_JSON, 422, "lastEventId".into()).await;
        check("", ("accept", "text/html"), 406, Value::Null).await;
        for path in ["threads", "runs"] {
            let path = format!("/api/v1/{path}/0193a1b2-0000-7000-8000-000000000000/events");
            assert_eq!(get(&router, &path, &[]).await.status(), 404);
            assert_eq!(get(&router, &path, &[AS_JSON]).await.status(), 404);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_counted_and_end_with_the_service() {
    with_router(1, async |router, store, shutdown| {
        let lease = claimed(&store).await;
        let path = format!("/api/v1/threads/{}/events", lease.thread_id);
        let first = get(&router, &path, &[]).await;
        assert_eq!(json(get(&router, &path, &[]).await).await["code"], "too_many_streams");
        hint_to_come_back(get(&router, &path, &[STREAM]).await).await;
        let nobody = path.replace(&lease.thread_id.to_string(), "0193a1b2-0000-7000-8000-000000000000");
        drop(first);
        assert_eq!(get(&router, &nobody, &[STREAM]).await.status(), 404, "that will not be different later");
        let second = get(&router, &path, &[]).await;
        assert_eq!(second.status(), 200, "the first one's place is free again");
        shutdown.cancel();
        let client = parse(&to_bytes(second.into_body(), ALL).await.unwrap());
        assert!(client.retry.is_some_and(|pause| (500..1500).contains(&pause)), "{client:?}");
        assert_eq!(json(get(&router, &path, &[]).await).await["code"], "shutting_down");
        hint_to_come_back(get(&router, &path, &[STREAM]).await).await;
    })
    .await;
}
