//! The short form of the soak; `cargo test --test soak -- --seconds 300 --runs 100` is the long one.

use std::time::Duration;

use crate::fleet::{Plan, Soak};

#[tokio::test(flavor = "multi_thread")]
async fn a_few_runs_survive_a_quarter_of_a_minute_of_chaos() {
    // Another one each time, and printed: a failure can be tried again with `--seed`.
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let plan = Plan { seed, runs: 12, duration: Duration::from_secs(15), latency: Duration::from_millis(60) };
    println!("{}", Soak::run(plan).await);
}
