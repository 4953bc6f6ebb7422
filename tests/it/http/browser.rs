//! The browser's own `EventSource` as a reader: it sees the run as it happens, comes back by itself, and stops at the
//! end.

use std::time::Duration;

use serde_json::json;

use super::{Service, seqs};
use crate::{
    browser::Reader,
    contract::Contract,
    database::TestDatabase,
    world::{Script, Shape, World},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_reads_a_run_to_its_end_and_stops() {
    let envelope = &Contract::get().document["components"]["schemas"]["Envelope"];
    let kinds = envelope["discriminator"]["mapping"].as_object().unwrap().keys().map(String::as_str).collect();
    reads_to_the_end("", kinds).await;
}

/// `onmessage` gets them all, also those that the page does not know.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_may_take_all_events_by_one_name() {
    reads_to_the_end("?event=message", vec!["message"]).await;
}

async fn reads_to_the_end(query: &str, names: Vec<&str>) {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    world.set_latency(Duration::from_millis(30), Duration::from_millis(10));
    let mut reader = Reader::new().await;
    let database = TestDatabase::sqlite();
    let service = Service::with(&world, &database, &[("FATHOM_CORS_ORIGINS", reader.origin.as_str())]).await;
    let started = service.start_run().await;
    reader.open(&service.url(&format!("{}{query}", started.events_path())), &names);
    reader.tells("begun").await;
    let seen = reader.tells("closed").await;
    reader.close().await;
    let numbers = seqs(&service.events(&started.events_path()).await);
    assert_eq!(seen["seen"], json!(numbers), "every event once and in order: {seen}");
    assert_eq!(seen["kinds"]["run.completed"], 1);
    service.stop().await;
    world.finish();
}
