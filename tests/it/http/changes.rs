//! Changes are carried out to their end, whatever becomes of their client, and answered when there is room.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Service, small_world};
use crate::{
    crash::until,
    database::TestDatabase,
    fleet::Replica,
    stories::engine::QUESTION,
    world::{Script, World},
};

/// What a client may be about when it hangs up.
const MOMENT: Duration = Duration::from_millis(300);

/// Begins a thread with a document; its id.
async fn thread_of(client: &reqwest::Client, url: String) -> String {
    let request = client.post(url).header("content-type", "application/octet-stream").body("The gate is paid by dues.");
    let begun: Value = request.send().await.unwrap().json().await.unwrap();
    begun["thread"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
}

/// Sends these bytes over a connection of its own.
async fn sent(address: &str, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_leaves_a_change_with_its_audit_line() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::sqlite());
    let mut replica = Replica::start_with(&world, &database.database, &[("FATHOM_LOG_FORMAT", "json")]).await;
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let thread = thread_of(&client, replica.url("/api/v1/documents?name=dues.md")).await;
    // The deletion waits for the database.
    let outage = database.outage().await;
    let path = format!("/api/v1/threads/{thread}");
    let stream = sent(&replica.address, &format!("DELETE {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    tokio::time::sleep(MOMENT).await;
    drop(stream);
    tokio::time::sleep(MOMENT).await;
    outage.end().await;
    until("the thread is gone", async || (replica.get(&path).await.0 == 404).then_some(())).await;
    replica.running.terminate().await;
    assert!(replica.running.ends().await.success(), "{}", replica.running.stderr());
    let log = replica.running.stderr();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let audit: Vec<Value> = lines.filter(|line| line["target"] == "audit").collect();
    let [line] = &audit[..] else { panic!("{audit:?}") };
    assert_eq!(
        (&line["fields"]["message"], &line["fields"]["thread_id"]),
        (&json!("a thread was deleted"), &json!(thread))
    );
    assert!(line["spans"][0]["request_id"].is_string(), "it knows its request: {line}");
    world.finish();
}

/// What came of it is no document, whether the client hangs up or the service stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_changes_nothing() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let thread = thread_of(&service.client, service.url("/api/v1/documents?name=dues.md")).await;
    let address = service.address.to_string();
    let head = format!("POST /api/v1/threads/{thread}/documents?name=minutes.txt HTTP/1.1\r\nhost: localhost\r\n");
    let half = format!("{head}content-length: 1000\r\n\r\n{}", "The council met. ".repeat(20));
    let chunk = format!("{head}transfer-encoding: chunked\r\n\r\n10\r\nThe council met.\r\n");
    for bytes in [&half, &chunk] {
        let stream = sent(&address, bytes).await;
        tokio::time::sleep(MOMENT).await;
        drop(stream);
    }
    let _open = [sent(&address, &half).await, sent(&address, &chunk).await];
    tokio::time::sleep(MOMENT).await;
    // It waits for the changes under way.
    service.stop().await;
    assert_eq!(database.rows("SELECT id FROM documents".to_owned()).await.unwrap(), 1, "the one that was whole");
    world.finish();
}

/// No body of JSON was asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_breaks_off_is_not_said_to_be_json() {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let broken = |path: &str| {
        let head = "host: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
        format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n4\r\nThe \r\nno length\r\n")
    };
    let expected = [("/api/v1/documents?name=dues.md", "validation_failed"), ("/api/v1/threads", "malformed_json")];
    for (path, code) in expected {
        let mut stream = sent(&service.address.to_string(), &broken(path)).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains(code) && answer.contains("the body broke off"), "{answer}");
    }
    service.stop().await;
    world.finish();
}

/// A refusal would say that nothing has happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_to_a_change_waits_for_room() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let variables = [("FATHOM_MAX_BUFFERED_BYTES", "4194304"), ("FATHOM_CORS_ORIGINS", "*")];
    let service = Service::with(&world, &database, &variables).await;
    let address = service.address.to_string();
    let head = "POST /api/v1/threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let mut holders = Vec::new();
    for bytes in [1_990_000, 1_990_000, 210_000] {
        let unfinished = format!("{head}content-length: {}\r\n\r\n{}", bytes + 1, "[".repeat(bytes));
        holders.push(sent(&address, &unfinished).await);
    }
    // What is left is little more than the answers that are not counted, and less than the list of options.
    let large = json!({ "message": QUESTION, "metadata": { "x": "y".repeat(3_500) } });
    let full = async || {
        let options = service.ask("GET", "/api/v1/options", &[("origin", "https://page.test")], "").await;
        (options.status == 503).then_some(options)
    };
    until("there is no room", full).await;
    // How long an answer is counts as it was before it is compressed.
    for encoding in ["gzip", "identity"] {
        let headers = [("origin", "https://page.test"), ("accept-encoding", encoding)];
        let refused = service.ask("GET", "/api/v1/options", &headers, "").await;
        refused.refused(503, "overloaded");
        assert_eq!(refused.header("access-control-allow-origin"), "*", "pages of other addresses may read why");
    }
    let answered = service.post("/api/v1/threads", &large);
    let freed = async {
        let created = || "SELECT id FROM threads".to_owned();
        until("it is created", async || (database.rows(created()).await.unwrap() == 1).then_some(())).await;
        tokio::time::sleep(MOMENT).await;
        drop(holders);
    };
    let (answer, ()) = tokio::join!(answered, freed);
    let started = answer.expect(201).started();
    service.ended(&started.run).await;
    service.stop().await;
    world.finish();
}
