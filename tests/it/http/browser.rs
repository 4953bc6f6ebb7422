//! The browser's own `EventSource` as a reader: it sees the run as it happens, comes back by itself, and stops at the end.

use std::time::Duration;

use axum::{Router, extract::State as Shared, response::Html, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};

use super::{PATIENCE, Service, seqs};
use crate::{
    browser::{Browser, INSTALL},
    contract::Contract,
    database::TestDatabase,
    world::{Script, Shape, World},
};

/// Notes the events it is given, and tells when the source has closed for good: it comes back by itself after the end of
/// the stream, and a 204 tells it to stop.
const PAGE: &str = r#"<!doctype html><title>reader</title><script>
const seen = [], kinds = {};
const source = new EventSource("EVENTS");
const note = event => { seen.push(Number(event.lastEventId)); kinds[event.type] = (kinds[event.type] || 0) + 1; };
for (const kind of KINDS) source.addEventListener(kind, note);
source.onerror = () => {
  if (source.readyState !== EventSource.CLOSED) return;
  fetch("/told", {method: "POST", body: JSON.stringify({seen, kinds})});
};
</script>"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_reads_a_run_to_its_end_and_stops() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    world.set_latency(Duration::from_millis(30), Duration::from_millis(10));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let database = TestDatabase::sqlite();
    let service = Service::with(&world, &database, &[("FATHOM_CORS_ORIGINS", origin.as_str())]).await;
    let started = service.start_run().await;
    let envelope = &Contract::get().document["components"]["schemas"]["Envelope"];
    let kinds: Vec<&String> = envelope["discriminator"]["mapping"].as_object().unwrap().keys().collect();
    let page = PAGE.replace("EVENTS", &service.url(&started.events_path())).replace("KINDS", &json!(kinds).to_string());
    let (told, mut heard) = mpsc::channel::<Value>(1);
    let site = Router::new()
        .route("/", get(async move || Html(page)))
        .route(
            "/told",
            axum::routing::post(async |Shared(told): Shared<mpsc::Sender<Value>>, body: String| {
                let _ = told.send(serde_json::from_str(&body).unwrap()).await;
            }),
        )
        .with_state(told);
    let mut tasks = JoinSet::new();
    tasks.spawn(async { axum::serve(listener, site).await.unwrap() });
    let mut browser = Browser::new();
    let mut running = browser.command.arg("--remote-debugging-port=0").arg(&origin).spawn().expect(INSTALL);
    let seen = tokio::time::timeout(2 * PATIENCE, heard.recv()).await.expect("the browser stops by itself").unwrap();
    running.kill().await.unwrap();
    let numbers = seqs(&service.events(&started.events_path()).await);
    assert_eq!(seen["seen"], json!(numbers), "every event once and in order: {seen}");
    assert_eq!(seen["kinds"]["run.completed"], 1);
    service.stop().await;
    world.finish();
}
