//! How soon the service is there, how soon a thread's first event is, and how little it takes.

use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    Kind, LIMIT, SHAPE,
    figures::{Aim, Figures, percentile, sorted},
    scene::Scene,
    world::{Record, Script, Shape},
};

const STARTS: usize = 5;
const THREADS: usize = 50;
/// Runs in the database of the second start.
const RUNS: usize = 20;

pub async fn start(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    // The aims are for the embedded database.
    let aim = |most| if kind == Kind::Sqlite { Aim::AtMost(most) } else { Aim::None };
    let (mut empty, mut existing, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..STARTS {
        let scene = Scene::new(kind, Script::whole_run(Shape::SMALL), Record::Counts)?;
        let service = scene.serve_by(&[], &[]).await?;
        empty.push(service.ready_ms);
        idle.push(service.idle_mb().await?);
        if round == 0 {
            let mut client = service.client().await?;
            for number in 0..RUNS {
                service.ask(&mut client, number).await?;
            }
            service.wait_for_runs("completed", RUNS).await?;
            service.stop()?;
            for _ in 0..STARTS {
                let service = scene.serve_by(&[], &[]).await?;
                existing.push(service.ready_ms);
                service.stop()?;
            }
        }
    }
    figures.add("exec to ready, empty database", "ms", aim(100.0), percentile(&sorted(empty), 50.0));
    figures.add("exec to ready, existing database", "ms", aim(100.0), percentile(&sorted(existing), 50.0));
    figures.add("resident when idle", "MB", aim(25.0), percentile(&sorted(idle), 50.0));
    Ok(())
}

/// From the request for a thread, and from its answer, to the first event in the hands of a reader that opens its
/// stream when it knows the thread.
pub async fn first(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, Script::whole_run(SHAPE), Record::Counts)?;
    scene.world.set_latency(LIMIT, LIMIT);
    let service = scene.serve(&[("FATHOM_MAX_CONCURRENT_RUNS", "1000")]).await?;
    let mut client = service.client().await?;
    let (mut from_request, mut from_answer) = (Vec::new(), Vec::new());
    for number in 0..THREADS {
        let asked = Instant::now();
        let (thread, _) = service.ask(&mut client, number).await?;
        let answered = Instant::now();
        let mut stream = tokio::net::TcpStream::connect(service.address).await?;
        let request = format!("GET /api/v1/threads/{thread}/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut seen = Vec::new();
        while !seen.windows(7).any(|window| window == b"\nevent:" || window == b"\nid: 1\n") {
            anyhow::ensure!(stream.read_buf(&mut seen).await? > 0, "the stream ended");
        }
        from_request.push(asked.elapsed().as_secs_f64() * 1_000.0);
        from_answer.push(answered.elapsed().as_secs_f64() * 1_000.0);
    }
    let aims = [Aim::AtMost(10.0), Aim::AtMost(10.0)];
    figures.add_spread("POST sent to first event", "ms", aims, from_request);
    figures.add_spread("POST answered to first event", "ms", aims, from_answer);
    Ok(())
}
