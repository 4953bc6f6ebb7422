//! `GET /runs/{id}` as often as one core can while runs are in flight.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    Kind, SHAPE,
    client::Client,
    figures::{Aim, Figures},
    scene::Scene,
    world::{Record, Script},
};

const RUNS: usize = 50;
const CONNECTIONS: usize = 32;
const SPELL: Duration = Duration::from_secs(5);

pub async fn requests(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, Script::whole_run(SHAPE), Record::Counts)?;
    scene.world.set_latency(Duration::from_secs(2), Duration::from_millis(500));
    let service = scene.serve_on_one_core(&[]).await?;
    let mut client = service.client().await?;
    let mut runs = Vec::new();
    for number in 0..RUNS {
        runs.push(service.ask(&mut client, number).await?.1);
    }
    service.wait_for_runs("running", RUNS).await?;
    // Until each has a usage to show and the researchers are at work.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let alone = (service.cpu_ms()?, Instant::now());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let runs_share = (service.cpu_ms()? - alone.0) / (alone.1.elapsed().as_secs_f64() * 1e3);
    let (before, began) = (service.cpu_ms()?, Instant::now());
    let answered = hammer(service.address, &runs).await?;
    let (cpu, seconds) = (service.cpu_ms()? - before, began.elapsed().as_secs_f64());
    anyhow::ensure!(service.count(&mut client, "running").await? == RUNS, "the runs ended too early");
    let rate = answered as f64 / seconds;
    let busy = cpu / 1e3 / seconds;
    Scene::unpin()?;
    figures.add("answers per second", "/s", Aim::AtLeast(5_000.0), rate);
    figures.add("of the core, the service used", "%", Aim::None, busy * 100.0);
    figures.add("of the core, the runs alone", "%", Aim::None, runs_share * 100.0);
    let capacity = answered as f64 / ((busy - runs_share) * seconds) * (1.0 - runs_share);
    figures.add("answers per second when the core is full (computed)", "/s", Aim::AtLeast(5_000.0), capacity);
    Ok(())
}

/// Asks for the runs in turn over several connections, from a thread of its own; how many answers came.
async fn hammer(address: std::net::SocketAddr, runs: &[String]) -> anyhow::Result<usize> {
    let runs: Vec<String> = runs.to_vec();
    let answered = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (count, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
            let mut clients = tokio::task::JoinSet::new();
            for place in 0..CONNECTIONS {
                let (count, over) = (Arc::clone(&count), Arc::clone(&over));
                let requests: Vec<String> = (0..runs.len())
                    .map(|n| {
                        format!(
                            "GET /api/v1/runs/{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            runs[(place + n) % runs.len()]
                        )
                    })
                    .collect();
                clients.spawn(async move {
                    let mut client = Client::connect(address).await?;
                    for request in requests.iter().cycle() {
                        let (status, _) = client.exchange(request.as_bytes()).await?;
                        anyhow::ensure!(status == 200, "{status}");
                        count.fetch_add(1, Ordering::Relaxed);
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    Ok(())
                });
            }
            tokio::time::sleep(SPELL).await;
            over.store(true, Ordering::Relaxed);
            while let Some(joined) = clients.join_next().await {
                joined??;
            }
            anyhow::Ok(count.load(Ordering::Relaxed))
        })
    });
    answered.await?
}
