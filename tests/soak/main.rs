//! Chaos for as long as one likes: `cargo test --test soak -- --seconds 300 --runs 100 [--seed N] [--latency-ms 200]`.
//!
//! Three services on one Postgres behind a balancer are killed, frozen, asked to stop and restarted, and lose their
//! connections to the database and to their readers, while runs go on. See `fathom_testkit::fleet::Soak`. The test
//! command has a short form of it; this one is run by hand, since it takes minutes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it stops at the first surprise, as tests do"
)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use fathom_testkit::fleet;

#[derive(Parser)]
struct Arguments {
    /// How long to disturb; what is left of the runs comes on top.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    #[arg(long, default_value_t = 100)]
    runs: usize,
    /// That of a soak to be repeated; the same faults in the same order.
    #[arg(long)]
    seed: Option<u64>,
    /// Time before each answer of the scripted model; a run has about twelve one after the other.
    #[arg(long, default_value_t = 200)]
    latency_ms: u64,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let plan = fleet::Plan {
        seed: arguments.seed.unwrap_or(now),
        runs: arguments.runs,
        duration: Duration::from_secs(arguments.seconds),
        latency: Duration::from_millis(arguments.latency_ms),
    };
    println!("{}", fleet::Soak::run(plan).await);
}
