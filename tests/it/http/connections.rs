//! Connections of clients that mean no good, or cannot do better.

use std::{
    io,
    time::{Duration, Instant},
};

use fathom::http::Timeouts;
use reqwest::Client;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    JSON, PATIENCE, Service,
    cancelling::{pending, silent_at},
    small_world,
};
use crate::{
    crash::until,
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Kind, Script, When, World, reply},
};

/// Sends `bytes`, and reads what comes until the service closes. Empty when it closed without a word.
async fn exchange(service: &Service, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    // It may well hang up in the middle.
    let _ = stream.write_all(bytes).await;
    closed(&mut stream).await
}

/// What comes until the end, which has to come.
async fn closed(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    let end = end.unwrap_or_else(|_| panic!("still open after {:?}", String::from_utf8_lossy(&answer)));
    if let Err(error) = end {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_that_are_too_large_or_wrong() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let get = |more: &str| format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}\r\n");
    assert_eq!(status(&exchange(&service, get("").as_bytes()).await), Some(200));
    let many: String = (0..10_000).map(|n| format!("x-{n}: y\r\n")).collect();
    for flood in [many, format!("x: {}\r\n", "y".repeat(1 << 20)), format!("{}: y\r\n", "x".repeat(1 << 20))] {
        let answer = exchange(&service, get(&flood).as_bytes()).await;
        assert!(matches!(status(&answer), Some(431) | None), "{answer}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(1 << 20));
    let answer = exchange(&service, long.as_bytes()).await;
    assert!(matches!(status(&answer), Some(414 | 431) | None), "{answer}");
    let post = |more: &str| {
        format!("POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\r\n")
    };
    let body = json!({ "message": QUESTION }).to_string();
    let lengths = format!("content-length: {}\r\ncontent-length: {}\r\n", body.len(), body.len() + 1);
    let wrong = [
        post(&lengths) + &body,
        post("content-length: -1\r\n") + &body,
        post("content-length: 1, 2\r\n") + &body,
        post("content-length: 99999999999999999999\r\n") + &body,
        post("transfer-encoding: chunked, identity\r\n") + &body,
        post("transfer-encoding: xchunked\r\n") + &body,
        post("transfer-encoding: chunked\r\n") + "zz\r\n" + &body,
        post("transfer-encoding: chunked\r\n") + "ffffffffffffffffff\r\n" + &body,
        post("content-length : 5\r\n") + &body,
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad\0name: x\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n".to_owned(),
        "GET /healthz HTTP/9.9\r\n\r\n".to_owned(),
        "get / http\r\n\r\n".to_owned(),
        "\0\0\0\0\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\x00\x01\x00\x01\u{7f}\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthis is no frame of HTTP/2 at all".to_owned(),
    ];
    for bytes in wrong {
        let answer = exchange(&service, bytes.as_bytes()).await;
        assert!(matches!(status(&answer), Some(400..=499) | None), "{bytes:?}: {answer}");
    }
    // With both, the chunks count (RFC 9112, 6.3), and what stands behind them is no second request.
    let both = post("content-length: 4\r\ntransfer-encoding: chunked\r\n")
        + "0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let answer = exchange(&service, both.as_bytes()).await;
    assert!(matches!(status(&answer), Some(400)) && answer.matches("HTTP/1.1").count() == 1, "{answer}");
    assert_eq!(service.list("/api/v1/threads").await.len(), 0);
    service.stop().await;
    world.finish();
}

/// As `nc -N` does, and some proxies. One that goes away for good is noticed by heartbeats of its stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_its_side_is_answered() {
    let (world, database) = (World::start(silent_at(Kind::Clarify)).await, TestDatabase::sqlite());
    let service = Service::with(&world, &database, &[("FATHOM_MAX_STREAMS", "1")]).await;
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let half_closed = async |path: &str, more: &str| {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        stream
    };
    for (path, more) in [("/healthz".to_owned(), ""), (started.run_path(), "prefer: wait=1\r\n")] {
        let answer = closed(&mut half_closed(&path, more).await).await;
        assert_eq!(status(&answer), Some(200), "{path}: {answer}");
    }
    let mut stream = half_closed(&started.events_path(), "accept: text/event-stream\r\n").await;
    let mut beginning = [0; 12];
    stream.read_exact(&mut beginning).await.unwrap();
    assert_eq!(&beginning, b"HTTP/1.1 200");
    let place = async || {
        let answer = service.client.get(service.url(&started.events_path())).send().await.unwrap();
        (answer.status() == 200).then_some(())
    };
    assert_eq!(place().await, None, "it is still sent to");
    drop(stream);
    until("its place is free again", place).await;
    service.delete(&started.thread_path()).await.expect(204);
    service.stop().await;
    world.finish();
}

const LARGE: usize = 100 << 20;

/// What a connection's buffers may hold, here and there.
const BUFFERS: usize = 32 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_bodies_are_refused_without_being_read() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let head = "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let announced = format!("{head}content-length: {LARGE}\r\n\r\n");
    let began = Instant::now();
    let answer = exchange(&service, announced.as_bytes()).await;
    assert_eq!(status(&answer), Some(413), "before the first byte of it: {answer}");
    assert!(answer.contains("payload_too_large") && began.elapsed() < Duration::from_secs(5));
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).await.unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'['; 1 << 20], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < LARGE && stream.write_all(&chunk).await.is_ok() {
        sent += 1 << 20;
    }
    assert!(sent < (2 << 20) + BUFFERS, "{} MiB were taken", sent >> 20);
    closed(&mut stream).await;
    service.get("/healthz").await.expect(200);
    service.stop().await;
    world.finish();
}

const SHORT: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_given_up() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let patience = Timeouts { head: SHORT, body: SHORT, write: SHORT };
    let service = Service::patient(&world, &database, &[], patience).await;
    let head = "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let cases = [
        (
            "a head",
            "",
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
            None,
        ),
        ("a preface", "", "PRI * HTTP/2.0\r\n\r\nSM".to_owned() + &"\r".repeat(30), None),
        ("nothing", "", String::new(), None),
        ("an idle connection", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", String::new(), Some(200)),
        ("a body", &format!("{head}content-length: 1000\r\n\r\n"), "[".repeat(60), Some(408)),
        ("chunks", &format!("{head}transfer-encoding: chunked\r\n\r\n"), "1\r\n[\r\n".repeat(20), Some(408)),
    ];
    let stories = cases.iter().map(|(what, fast, slow, expected)| {
        let service = &service;
        async move {
            let mut stream = TcpStream::connect(service.address).await.unwrap();
            let began = Instant::now();
            stream.write_all(fast.as_bytes()).await.unwrap();
            let (mut reader, mut writer) = stream.split();
            let drip = async {
                for byte in slow.as_bytes() {
                    tokio::time::sleep(SHORT / 10).await;
                    if writer.write_all(&[*byte]).await.is_err() {
                        break;
                    }
                }
                std::future::pending::<()>().await;
            };
            let mut answer = Vec::new();
            let read = tokio::time::timeout(PATIENCE, reader.read_to_end(&mut answer));
            let ended = tokio::select! { ended = read => ended, () = drip => unreachable!("it never ends") };
            assert!(ended.is_ok(), "{what}: still open");
            let (answer, took) = (String::from_utf8_lossy(&answer).into_owned(), began.elapsed());
            assert!(took > SHORT / 2 && took < 20 * SHORT, "{what}: {took:?}");
            match expected {
                Some(expected) => assert_eq!(status(&answer), Some(*expected), "{what}: {answer}"),
                None => assert!(matches!(status(&answer), Some(408) | None), "{what}: {answer}"),
            }
        }
    });
    futures::future::join_all(stories).await;
    service.get("/healthz").await.expect(200);
    service.stop().await;
    world.finish();
}

/// The largest ones take longer over an ordinary line than any other body may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_have_time_by_their_length() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::sqlite());
    let patience = Timeouts { body: SHORT, ..Timeouts::default() };
    let service = Service::patient(&world, &database, &[], patience).await;
    let text = "Dues are paid at the gate.\n".repeat((256 << 10) / 27);
    for head in [format!("content-length: {}\r\n\r\n", text.len()), "transfer-encoding: chunked\r\n\r\n".to_owned()] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let line = "POST /api/v1/documents?name=dues.txt HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
        stream.write_all(format!("{line}{head}").as_bytes()).await.unwrap();
        let is_chunked = head.contains("chunked");
        for part in text.as_bytes().chunks(text.len().div_ceil(4)) {
            tokio::time::sleep(SHORT / 2).await;
            let part = match is_chunked {
                true => [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat(),
                false => part.to_vec(),
            };
            stream.write_all(&part).await.unwrap();
        }
        if is_chunked {
            stream.write_all(b"0\r\n\r\n").await.unwrap();
        }
        let answer = closed(&mut stream).await;
        assert_eq!(status(&answer), Some(201), "{answer}");
    }
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patience_with_requests_does_not_end_streams_and_waits() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let patience = Timeouts { head: SHORT, body: SHORT, write: SHORT };
    let service = Service::patient(&world, &database, &[], patience).await;
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("phase.started").await;
    let run = service.ask("GET", &started.run_path(), &[("prefer", "wait=2")], "").await.expect(200);
    assert_eq!(run.json()["status"], "running", "it was waited for to the end: four times the patience");
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
    stream.until("run.cancelled").await;
    service.stop().await;
    world.finish();
}

/// Its stream has far more to say than all buffers hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_never_reads_is_given_up_and_disturbs_nobody() {
    let database = TestDatabase::sqlite();
    let (long, short) = ("word ".repeat(200_000), "word ".repeat(48_000));
    let thoughts = || reply::calls((0..4).map(|_| ("think_tool", json!({"reflection": &short}))));
    let script = silent_at(Kind::Report)
        .first(When::kind(Kind::Brief), [reply::brief(&long)])
        .first(When::kind(Kind::Supervisor), [thoughts(), thoughts()]);
    let world = World::start(script).await;
    // Long enough to open all of them on a busy machine before the first is given up.
    let patience = Timeouts { write: Duration::from_secs(6), ..Timeouts::default() };
    let settings = [("FATHOM_MAX_STREAMS", "8"), ("FATHOM_MODEL_CONTEXT_WINDOW", "2000000")];
    let service = Service::patient(&world, &database, &settings, patience).await;
    let started = service.start_run().await;
    pending(&world, Kind::Report).await;
    let head = format!(
        "GET {}?after=0 HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n",
        started.events_path()
    );
    let mut readers = Vec::new();
    for _ in 0..8 {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut reader = socket.connect(service.address).await.unwrap();
        reader.write_all(head.as_bytes()).await.unwrap();
        let mut beginning = [0; 12];
        reader.read_exact(&mut beginning).await.unwrap();
        assert_eq!(&beginning, b"HTTP/1.1 200");
        readers.push(reader);
    }
    let places = async |status: u16| {
        let answer = service.client.get(service.url(&started.events_path())).send().await.unwrap();
        (answer.status() == status).then_some(())
    };
    assert_eq!(places(503).await, Some(()), "all places are taken");
    let began = Instant::now();
    service.get("/healthz").await.expect(200);
    assert!(began.elapsed() < SHORT * 10, "others are served");
    until("their places are free again", async || places(200).await).await;
    service.delete(&started.thread_path()).await.expect(204);
    drop(readers);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_disturb_nobody() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let mut idle = Vec::new();
    for number in 0..500 {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HT").await.unwrap();
        }
        idle.push(stream);
    }
    let started = service.start_run().await;
    assert_eq!(service.ended(&started.run).await["outcome"], "report");
    drop(idle);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_without_an_upgrade_is_there_when_asked_for() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let client = Client::builder().no_proxy().timeout(PATIENCE).http2_prior_knowledge().build().unwrap();
    assert!(client.get(service.url("/healthz")).send().await.is_err(), "nobody asked for it");
    service.stop().await;
    let mut service = Service::with(&world, &database, &[("FATHOM_HTTP2", "true")]).await;
    service.client = Client::builder().no_proxy().timeout(PATIENCE).http2_prior_knowledge().build().unwrap();
    let response = service.client.get(service.url("/healthz")).send().await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    let started = service.start_run().await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(service.stream(&started.events_path(), &[]).await);
    }
    let all: Vec<_> = futures::future::join_all(streams.iter_mut().map(|stream| stream.rest())).await;
    assert!(all.iter().all(|events| *events == all[0] && events.len() > 10), "one connection, twenty streams");
    service.get("/api/v1/threads/7").await.refused(422, "validation_failed");
    let flood = "y".repeat(100 * 1024);
    let large = service.client.get(service.url("/healthz")).header("x", flood).send().await;
    assert!(large.is_err() || large.unwrap().status() == 431);
    service.get("/healthz").await.expect(200);
    service.stop().await;
    world.finish();
}

/// Frames of HTTP/2 by hand (RFC 9113): length, type, flags, stream.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Its window is closed, and it answers every ping.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_http_2_client_that_lets_nothing_through_is_cut_off() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let patience = Timeouts { head: SHORT, write: 2 * SHORT, ..Timeouts::default() };
    let service = Service::patient(&world, &database, &[("FATHOM_HTTP2", "true")], patience).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let (mut reader, mut writer) = TcpStream::connect(service.address).await.unwrap().into_split();
    // SETTINGS_INITIAL_WINDOW_SIZE is 0. The request's header fields: GET, http, and three literals.
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let literal = |name: u8, value: &str| [&[name, u8::try_from(value.len()).unwrap()], value.as_bytes()].concat();
    let path = format!("{}/report", started.run_path());
    let fields = [vec![0x82, 0x86], literal(0x04, &path), literal(0x01, "localhost")].concat();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    writer.write_all(&[preface, &settings[..], &frame(1, 5, 1, &fields)].concat()).await.unwrap();
    let (mut pings, mut answered) = (0, false);
    let reading = async {
        loop {
            let mut head = [0; 9];
            if reader.read_exact(&mut head).await.is_err() {
                return;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            if reader.read_exact(&mut payload).await.is_err() {
                return;
            }
            answered |= head[3] == 1;
            assert!(head[3] != 0 || length == 0, "a body came through a closed window");
            if head[3] == 6 && head[4] & 1 == 0 {
                pings += 1;
                let _ = writer.write_all(&frame(6, 1, 0, &payload)).await;
            } else if head[3] == 4 && head[4] & 1 == 0 {
                let _ = writer.write_all(&frame(4, 1, 0, &[])).await;
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("it is cut off");
    assert!(answered && pings > 0, "{pings} pings were answered before");
    service.get("/healthz").await.expect(200);
    service.stop().await;
    world.finish();
}

/// Unfinished bodies of many connections and answers that nobody reads share one room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_held_for_clients_are_bounded() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let patience = Timeouts { body: Duration::from_secs(600), ..Timeouts::default() };
    let variables = [("FATHOM_MAX_BUFFERED_BYTES", "4194304")];
    let service = Service::patient(&world, &database, &variables, patience).await;
    let head = "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let unfinished = format!("{head}content-length: 2000000\r\n\r\n{}", "[".repeat(1_900_000));
    let (mut holders, mut refused) = (Vec::new(), 0);
    for _ in 0..4 {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(unfinished.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        match tokio::time::timeout(2 * SHORT, stream.read_exact(&mut begin)).await {
            Ok(read) => {
                read.unwrap();
                assert_eq!(&begin, b"HTTP/1.1 503");
                refused += 1;
            }
            Err(_) => holders.push(stream),
        }
    }
    assert!(refused >= 2 && !holders.is_empty(), "{refused} were refused");
    let large = serde_json::json!({ "message": "x", "metadata": {"x": "y".repeat(700_000)} });
    let answer = service.post("/api/v1/threads", &large).await;
    assert_eq!(answer.refused(503, "overloaded")["retryable"], true);
    service.get("/healthz").await.expect(200);
    service.start_run().await;
    drop(holders);
    until("there is room again", async || (service.post("/api/v1/threads", &large).await.status == 422).then_some(()))
        .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_give_way() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_CONNECTIONS", "20")]).await;
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("phase.started").await;
    let mut idle = Vec::new();
    for number in 0..60 {
        let mut connection = TcpStream::connect(service.address).await.unwrap();
        match number % 3 {
            0 => connection.write_all(b"GET /healthz HT").await.unwrap(),
            1 => connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap(),
            _ => {}
        }
        idle.push(connection);
    }
    let client = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
    let answer = client.get(service.url("/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200, "a newcomer is let in");
    client.post(service.url(&format!("{}/cancel", started.run_path()))).json(&json!({})).send().await.unwrap();
    stream.until("run.cancelled").await;
    drop(idle);
    service.stop().await;
    world.finish();
}

/// It writes all it has before it reads anything, as many clients do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_refusal_of_a_large_body_is_seen_by_who_still_sends() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let body = vec![b' '; 10 << 20];
    for (what, head) in [
        ("too large", "content-type: application/json\r\n"),
        ("no JSON", "content-type: text/plain\r\n"),
        ("another page's", "content-type: application/json\r\norigin: http://evil.test\r\n"),
    ] {
        for _ in 0..10 {
            let mut stream = TcpStream::connect(service.address).await.unwrap();
            let head = format!(
                "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\n{head}content-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&body).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(begin.starts_with(b"HTTP/1.1 4"), "{what}");
        }
    }
    service.stop().await;
    world.finish();
}

/// Over HTTP/2 a refusal ends one stream and leaves the connection to the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_refusal_of_a_large_body_over_http_2_ends_its_stream_alone() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let mut service = Service::with(&world, &database, &[("FATHOM_HTTP2", "true")]).await;
    service.client = Client::builder().no_proxy().timeout(PATIENCE).http2_prior_knowledge().build().unwrap();
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("phase.started").await;
    // What is read of a refused body, and far more.
    for bytes in [10 << 20, 40 << 20] {
        for _ in 0..5 {
            let pieces = (0..bytes >> 20).map(|_| Ok::<_, io::Error>(vec![b' '; 1 << 20]));
            let body = reqwest::Body::wrap_stream(futures::stream::iter(pieces));
            let refused = service.ask("POST", "/api/v1/threads", &[JSON], body).await;
            refused.refused(413, "payload_too_large");
        }
    }
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
    stream.until("run.cancelled").await;
    service.stop().await;
}

/// Of the real program, in KiB.
fn resident(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_flat_under_bad_input() {
    let world = World::start(Script::new()).await;
    let mut program = world.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let line = program.says("http://127.0.0.1:").await;
    let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let client = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
    let threads = format!("http://{address}/api/v1/threads");
    let bodies = ["[".repeat(1 << 20), "x".repeat(3 << 20), format!("{{\"message\":\"{}\"}}", "ü".repeat(900_000))];
    let round = async || {
        let requests = (0..60).map(|n| {
            let body = bodies[n % bodies.len()].clone();
            client.post(&threads).header("content-type", "application/json").body(body).send()
        });
        for answer in futures::future::join_all(requests).await {
            // A refused body may be answered before it was sent, which some clients take for a broken connection.
            let status = answer.map_or(413, |answer| answer.status().as_u16());
            assert!([400, 413, 422].contains(&status), "{status}");
        }
        for _ in 0..20 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            let head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
            let _ = stream.write_all(head.as_bytes()).await;
        }
    };
    round().await;
    let id = program.id().unwrap();
    let before = resident(id);
    for _ in 0..4 {
        round().await;
    }
    let after = resident(id);
    println!("{before} KiB after one round of bad input, {after} KiB after five");
    assert!(after < before + before / 2 + (32 << 10), "{before} KiB became {after} KiB");
    assert_eq!(client.get(format!("http://{address}/healthz")).send().await.unwrap().status(), 200);
    program.terminate().await;
    assert!(program.ends().await.success());
    world.finish();
}
