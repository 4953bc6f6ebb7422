//! From the request to cancel a run to the moment its model server sees the connection close.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::json;

use crate::{
    Kind, LIMIT, SHAPE,
    figures::{Aim, Figures},
    scene::{Scene, Service},
    world::{Call, Record, Script, World},
};

const CANCELS: usize = 50;

pub async fn cancel(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, Script::whole_run(SHAPE), Record::Calls)?;
    scene.world.set_latency(LIMIT, LIMIT);
    let worker = scene.serve(&[]).await?;
    let taken = cancel_at(&scene.world, &worker, &worker).await?;
    figures.add_spread("POST cancel to the call's end", "ms", [Aim::AtMost(200.0); 2], taken);
    if kind == Kind::Postgres {
        let other = scene.serve(&[("FATHOM_MAX_CONCURRENT_RUNS", "1")]).await?;
        // The other replica's one place is taken, so that it works on none of those that are cancelled.
        let mut client = other.client().await?;
        let placed = worker_is_avoided(&scene.world, &worker, &other).await?;
        let taken = cancel_at(&scene.world, &worker, &other).await?;
        figures.add_spread("POST cancel at another replica to the call's end", "ms", [Aim::AtMost(200.0); 2], taken);
        client.post(&format!("/api/v1/runs/{placed}/cancel"), &json!({})).await?;
    }
    Ok(())
}

/// Asks until `other` works on a run, and returns it; the runs that `worker` took are cancelled.
async fn worker_is_avoided(world: &World, worker: &Service, other: &Service) -> anyhow::Result<String> {
    let mut client = other.client().await?;
    for number in 0..1_000 {
        let calls = world.models.total();
        let (_, run) = other.ask(&mut client, number).await?;
        next_call(world, calls).await?;
        let metrics = client.get("/metrics").await?.1;
        if String::from_utf8_lossy(&metrics).lines().any(|line| line == "fathom_runs_active 1") {
            return Ok(run);
        }
        worker.client().await?.post(&format!("/api/v1/runs/{run}/cancel"), &json!({})).await?;
    }
    anyhow::bail!("the other replica never took a run")
}

/// Milliseconds of each cancel asked of `asked` while `worker` works.
async fn cancel_at(world: &World, worker: &Service, asked: &Service) -> anyhow::Result<Vec<f64>> {
    let (mut client, mut canceller) = (worker.client().await?, asked.client().await?);
    let mut taken = Vec::new();
    for number in 0..CANCELS {
        let calls = world.models.total();
        let (_, run) = worker.ask(&mut client, number).await?;
        let call = next_call(world, calls).await?;
        let sent = Instant::now();
        canceller.post(&format!("/api/v1/runs/{run}/cancel"), &json!({})).await?;
        let ended = loop {
            if let Some(ended) = call.ended_at() {
                break ended;
            }
            anyhow::ensure!(sent.elapsed() < LIMIT, "the call never ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        taken.push(ended.saturating_duration_since(sent).as_secs_f64() * 1_000.0);
    }
    Ok(taken)
}

/// The call after that many.
async fn next_call(world: &World, calls: usize) -> anyhow::Result<Arc<Call>> {
    let since = Instant::now();
    while world.models.calls().len() <= calls {
        anyhow::ensure!(since.elapsed() < LIMIT, "no call came");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    world.models.calls().pop().context("there is one")
}
