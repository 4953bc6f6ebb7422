//! The bench itself: with nothing hostile about, everything is well.

use serde_json::json;

use super::Bench;
use crate::world::Script;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_succeed_in_two_gigabytes() {
    let bench = Bench::start(Script::new()).await;
    let run = bench.beside(async { bench.ended(&bench.ask("Skelderwick?", json!({})).await).await }).await;
    assert_eq!(run["status"], "completed", "{run:#}");
    assert!(bench.peak_memory() < 512 * 1024 * 1024);
    bench.finish().await;
}
