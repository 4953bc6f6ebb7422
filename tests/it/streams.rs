//! The wire of event streams, taken apart by a parser that forgives nothing: cut anywhere, resumed, and still whole.

use std::collections::BTreeMap;

use axum::{
    body::to_bytes,
    http::{HeaderMap, HeaderValue},
};
use fathom::{
    domain::Envelope,
    events::{EventLog, Opening, Patience, Subject, Writer},
    http::sse::{Types, sse, starting_point},
    store::Commit,
};
use futures::StreamExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    database::{TestDatabase, on_each_engine},
    store::{claimed, commit_of, finish_of, thought},
};

on_each_engine!(a_stream_cut_anywhere_goes_on_where_it_was, a_stream_goes_on_in_another_process);

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
            let (name, value) = line.split_once(": ").expect("a field, a colon, a space");
            fields.push((name.to_owned(), value.to_owned()));
        }
    }
    client
}

impl Client {
    fn dispatch(&mut self, fields: Vec<(String, String)>) {
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let value = |place: usize| fields[place].1.clone();
        match names.as_slice() {
            [""] => assert_eq!(fields[0].1, "ping"),
            ["retry"] => self.retry = Some(value(0).parse().unwrap()),
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
    let after = starting_point(headers, None).unwrap();
    match log.open(subject, after).await.unwrap() {
        Opening::Unknown => panic!("it exists"),
        Opening::Over => Vec::new(),
        Opening::Frames(frames) => {
            to_bytes(sse(frames, Types::ALL, CancellationToken::new()), ALL).await.unwrap().to_vec()
        }
    }
}

async fn a_stream_cut_anywhere_goes_on_where_it_was(database: TestDatabase) {
    let store = database.open().await;
    let tasks = TaskTracker::new();
    let log = EventLog::start(store.clone(), &tasks);
    let writer = Writer::start(store.clone(), log.clone(), Patience::default(), &tasks);
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
async fn a_stream_goes_on_in_another_process(database: TestDatabase) {
    let tasks = TaskTracker::new();
    let (store, elsewhere) = (database.open().await, database.open().await);
    let log = EventLog::start(store.clone(), &tasks);
    let other = EventLog::start(elsewhere, &tasks);
    let writer = Writer::start(store.clone(), log.clone(), Patience::default(), &tasks);
    let lease = claimed(&store).await;
    let subject = Subject::Run(lease.run_id);
    let Opening::Frames(frames) = log.open(subject, 0).await.unwrap() else { panic!("frames") };
    let shutdown = CancellationToken::new();
    let mut chunks = sse(frames, Types::ALL, shutdown.clone()).into_data_stream();
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
    assert_eq!(client.retry, Some(1000));
    writer.commit(commit_of(lease, "c")).await.unwrap();
    writer.commit(finish_of(lease)).await.unwrap();
    let rest = parse(&body(&other, subject, &client.headers()).await);
    client.events.extend(rest.events);
    assert!(client.events.iter().map(|event| event.id.parse::<i64>().unwrap()).eq(1..=5), "{client:?}");
}
