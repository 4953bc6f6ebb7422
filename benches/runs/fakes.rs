//! The role of the fake servers: models and search of the tests' world, playing whole runs.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    SHAPE,
    child::{questions, say},
    world::{Record, Script, World, openai},
};

/// Calls made to learn what the fakes themselves cost.
const TRIALS: usize = 20;

#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    model_ms: u64,
    #[arg(long)]
    search_ms: u64,
}

#[derive(Serialize, Deserialize)]
pub struct Ready {
    pub environment: Vec<(String, String)>,
    pub excess_ms: f64,
}

#[derive(Serialize, Deserialize)]
pub struct Seen {
    pub model_calls: usize,
    pub searches: usize,
    pub violations: Vec<String>,
}

#[tokio::main]
pub async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let mut questions = questions();
    let world = World::recording(Script::whole_run(SHAPE), Record::Counts).await;
    let tried = Duration::from_millis(50);
    world.set_latency(tried, tried);
    let excess_ms = excess_ms(&world.models.base_url(), tried).await?;
    world.set_latency(Duration::from_millis(arguments.model_ms), Duration::from_millis(arguments.search_ms));
    let environment = world.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    say(&Ready { environment, excess_ms })?;
    while questions.recv().await.is_some() {
        let model_calls = world.models.total() - TRIALS;
        say(&Seen { model_calls, searches: world.web.total(), violations: world.violations() })?;
    }
    Ok(())
}

/// By how much a call takes longer than its latency, one at a time, median.
async fn excess_ms(base_url: &str, latency: Duration) -> anyhow::Result<f64> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": "How are you?"}]});
    let mut taken = Vec::new();
    for _ in 0..TRIALS {
        let began = Instant::now();
        let request = client.post(format!("{base_url}/chat/completions")).bearer_auth(openai::KEY).json(&body);
        request.send().await?.error_for_status()?.bytes().await?;
        taken.push((began.elapsed().as_secs_f64() - latency.as_secs_f64()) * 1_000.0);
    }
    Ok(crate::median(&crate::sorted(taken.into_iter())))
}
