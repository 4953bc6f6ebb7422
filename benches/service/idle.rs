//! Memory of readers for whom nothing happens.

use std::time::Duration;

use crate::{
    Kind,
    figures::{Aim, Figures},
    readers::Readers,
    scene::Scene,
    world::{Record, Script, Shape},
};

/// The readers are spread over so many threads with a finished run each.
const THREADS: usize = 100;
/// What the readers' start took is given back by then.
const SETTLING: Duration = Duration::from_secs(8);

pub async fn idle(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, Script::whole_run(Shape::SMALL), Record::Counts)?;
    let service = scene.serve(&[]).await?;
    let mut client = service.client().await?;
    let mut threads = Vec::new();
    for number in 0..THREADS {
        threads.push(service.ask(&mut client, number).await?.0);
    }
    service.wait_for_runs("completed", THREADS).await?;
    for (count, most) in [(1_000, 30.0), (10_000, 300.0)] {
        let before = service.idle_mb().await?;
        let cpu = service.cpu_ms()?;
        let path = |number: usize| format!("/api/v1/threads/{}/events?after=1000000", threads[number % THREADS]);
        let readers = Readers::start((0..count).map(|number| (service.address, path(number))).collect());
        readers.wait_until_open(count).await?;
        let opening = service.cpu_ms()? - cpu;
        tokio::time::sleep(SETTLING).await;
        let after = service.memory_mb("VmRSS")?;
        figures.add(&format!("{count} idle readers, added"), "MB", Aim::AtMost(most), after - before);
        figures.add(&format!("{count} idle readers, CPU to open one"), "µs", Aim::None, opening * 1e3 / count as f64);
        let cpu = service.cpu_ms()?;
        tokio::time::sleep(SETTLING).await;
        let share = (service.cpu_ms()? - cpu) / SETTLING.as_millis() as f64 * 100.0;
        figures.add(&format!("{count} idle readers, of a core"), "%", Aim::None, share);
        readers.stop().await?;
    }
    Ok(())
}
