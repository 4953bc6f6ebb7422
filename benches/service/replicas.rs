//! Two replicas on one Postgres database.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::Value;
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use crate::{
    Kind, SHAPE, fanout,
    figures::{Aim, Figures, percentile, sorted},
    readers::{Readers, Receipt},
    scene::{Scene, Service},
    world::{Record, Script, Shape},
};

/// Places of each replica in the mode `claims`.
const PLACES: usize = 25;

/// Events of runs on both replicas to readers on both, at an easy pace and as fast as it goes.
pub async fn events(readers: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let easy = Load { name: "easy", runs: 10, model_ms: 1_000, search_ms: 500 };
    let full = Load { name: "full", runs: 20, model_ms: 50, search_ms: 20 };
    for load in [easy, full] {
        let delivered = deliver(&load, readers).await?;
        let aim = |most| if load.name == "easy" { Aim::AtMost(most) } else { Aim::None };
        let name = load.name;
        figures.add(&format!("{name}: events written"), "/s", Aim::None, delivered.written);
        figures.add(&format!("{name}: events delivered"), "/s", Aim::None, delivered.delivered);
        let (same, other) = (format!("{name}: commit to receipt, same replica"), format!("{name}: other replica"));
        figures.add_spread(&same, "ms", [aim(5.0), aim(5.0)], delivered.same_ms);
        figures.add_spread(&other, "ms", [aim(25.0), aim(25.0)], delivered.other_ms);
    }
    Ok(())
}

struct Load {
    name: &'static str,
    runs: usize,
    model_ms: u64,
    search_ms: u64,
}

struct Delivered {
    written: f64,
    delivered: f64,
    same_ms: Vec<f64>,
    other_ms: Vec<f64>,
}

async fn deliver(load: &Load, count: usize) -> anyhow::Result<Delivered> {
    let scene = Scene::new(Kind::Postgres, fanout::script(), Record::Counts)?;
    scene.world.set_latency(Duration::from_millis(load.model_ms), Duration::from_millis(load.search_ms));
    let settings = [("FATHOM_MAX_CONCURRENT_RUNS", (load.runs / 2).to_string())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let services = [scene.serve(&settings).await?, scene.serve(&settings).await?];
    let mut client = services[0].client().await?;
    let mut asked = Vec::new();
    for number in 0..load.runs {
        asked.push(services[0].ask(&mut client, number).await?);
    }
    let targets: Vec<usize> = (0..count).map(|reader| reader / 2 % load.runs).collect();
    let paths = targets
        .iter()
        .enumerate()
        .map(|(reader, target)| (services[reader % 2].address, format!("/api/v1/runs/{}/events", asked[*target].1)));
    let readers = Readers::start(paths.collect());
    services[0].wait_for_runs("running", load.runs).await?;
    let workers = workers(&scene, &services).await?;
    let receipts = readers.ended().await?;
    let commits = commits(&scene).await?;
    anyhow::ensure!(services[0].count(&mut client, "completed").await? == load.runs, "not all runs were completed");
    Ok(evaluate(&asked, &targets, &workers, &commits, &receipts))
}

/// The place of the replica that works on each run.
async fn workers(scene: &Scene, services: &[Service]) -> anyhow::Result<HashMap<String, usize>> {
    let mut workers = HashMap::new();
    for row in query(scene, "SELECT id, claimed_by FROM runs WHERE claimed_by IS NOT NULL").await? {
        let (id, worker): (Uuid, String) = (row.try_get(0)?, row.try_get(1)?);
        let place = services.iter().position(|service| worker.contains(&format!("/{}/", service.id())));
        workers.insert(id.to_string(), place.context("a worker of ours")?);
    }
    Ok(workers)
}

/// When each event was committed, in microseconds since 1970; Postgres takes the time before it waits for the disk.
async fn commits(scene: &Scene) -> anyhow::Result<HashMap<(String, i64), i64>> {
    const COMMITS: &str = "SELECT thread_id, seq, \
        (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::INT8 FROM events";
    let rows = query(scene, COMMITS).await?;
    let commit = |row: &sqlx::postgres::PgRow| {
        let thread: Uuid = row.try_get(0)?;
        Ok(((thread.to_string(), row.try_get(1)?), row.try_get(2)?))
    };
    rows.iter().map(commit).collect()
}

async fn query(scene: &Scene, sql: &'static str) -> anyhow::Result<Vec<sqlx::postgres::PgRow>> {
    let cluster = scene.cluster.as_ref().context("there is a cluster")?;
    let mut connection = sqlx::PgConnection::connect(&cluster.url("postgres")).await?;
    Ok(sqlx::query(sql).fetch_all(&mut connection).await?)
}

fn evaluate(
    asked: &[(String, String)],
    targets: &[usize],
    workers: &HashMap<String, usize>,
    commits: &HashMap<(String, i64), i64>,
    receipts: &[Receipt],
) -> Delivered {
    let (mut same_ms, mut other_ms) = (Vec::new(), Vec::new());
    for receipt in receipts {
        let reader = receipt.reader as usize;
        let (thread, run) = &asked[targets[reader]];
        let committed = commits.get(&(thread.clone(), receipt.seq)).copied().unwrap_or(0);
        let taken = (receipt.at_us - committed) as f64 / 1_000.0;
        // What was there before the reader came was not on its way.
        if receipt.seq > 3 {
            if workers.get(run) == Some(&(reader % 2)) { same_ms.push(taken) } else { other_ms.push(taken) }
        }
    }
    let times = sorted(commits.values().map(|at| *at as f64 / 1e6).collect());
    // Between the first and the last hundredth, since runs begin and end one by one.
    let seconds = percentile(&times, 99.0) - percentile(&times, 1.0);
    let rate = |count: usize| count as f64 * 0.98 / seconds;
    Delivered { written: rate(commits.len()), delivered: rate(receipts.len()), same_ms, other_ms }
}

/// From a place that is free to the next run that is claimed for it, while very many wait.
pub async fn claims(count: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(Kind::Postgres, Script::whole_run(Shape::SMALL), Record::Counts)?;
    scene.world.set_latency(Duration::from_millis(300), Duration::from_millis(100));
    let places = PLACES.to_string();
    let settings =
        [("FATHOM_MAX_CONCURRENT_RUNS", places.as_str()), ("FATHOM_LOG", "info"), ("FATHOM_LOG_FORMAT", "json")];
    let services = [scene.serve(&settings).await?, scene.serve(&settings).await?];
    let mut client = services[0].client().await?;
    let began = Instant::now();
    for number in 0..count {
        services[0].ask(&mut client, number).await?;
    }
    figures.add("threads created, one after the other", "/s", Aim::None, count as f64 / began.elapsed().as_secs_f64());
    services[0].wait_for_runs("completed", count).await?;
    let mut waits = Vec::new();
    for service in &services {
        let log = service.log();
        let times = |text: &'static str| {
            log.lines().filter_map(move |line| {
                let line: Value = serde_json::from_str(line).ok().filter(|_| line.contains(text))?;
                let at = line["timestamp"].as_str()?.to_owned();
                let at = time::OffsetDateTime::parse(&at, &time::format_description::well_known::Rfc3339).ok()?;
                Some(at.unix_timestamp_nanos() as f64 / 1e6)
            })
        };
        let claimed: Vec<f64> = times("a run was claimed").collect();
        let ended: Vec<f64> = times("work on a run ended").collect();
        anyhow::ensure!(claimed.len() > PLACES, "the log tells of {} claims", claimed.len());
        waits.extend(claimed.iter().skip(PLACES).zip(&ended).map(|(claimed, ended)| (claimed - ended).max(0.0)));
    }
    figures.add_spread("free place to next claim", "ms", [Aim::AtMost(50.0); 2], waits);
    Ok(())
}

/// Very many runs at once.
pub async fn many(count: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(Kind::Postgres, Script::whole_run(SHAPE), Record::Counts)?;
    scene.world.set_latency(Duration::from_secs(2), Duration::from_millis(500));
    let places = count.div_ceil(2).to_string();
    let settings = [("FATHOM_MAX_CONCURRENT_RUNS", places.as_str())];
    let services = [scene.serve(&settings).await?, scene.serve(&settings).await?];
    let mut clients = [services[0].client().await?, services[1].client().await?];
    let began = Instant::now();
    for number in 0..count {
        services[number % 2].ask(&mut clients[number % 2], number).await?;
    }
    let mut left = count;
    while left > 0 && began.elapsed() < crate::LIMIT * 3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        left =
            services[0].count(&mut clients[0], "queued").await? + services[0].count(&mut clients[0], "running").await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let completed = services[0].count(&mut clients[0], "completed").await?;
    const WALLS: &str = "SELECT (finished_at - started_at)::FLOAT8 FROM runs WHERE status = 'completed'";
    let walls: Result<Vec<f64>, sqlx::Error> = query(&scene, WALLS).await?.iter().map(|row| row.try_get(0)).collect();
    let (models, searches) = SHAPE.chain();
    let chain_ms = f64::from(models) * 2_000.0 + f64::from(searches) * 500.0;
    figures.add("runs that did not succeed", "", Aim::AtMost(0.0), (count - completed) as f64);
    figures.add("first POST to last end", "s", Aim::None, seconds);
    figures.add("median run to its longest chain", "", Aim::None, percentile(&sorted(walls?), 50.0) / chain_ms);
    let cpu = services[0].cpu_ms()? + services[1].cpu_ms()?;
    figures.add("CPU per run, both replicas", "ms", Aim::None, cpu / count as f64);
    figures.add("CPU per run, database server", "ms", Aim::None, scene.database_cpu_ms()? / count as f64);
    for (place, service) in services.iter().enumerate() {
        figures.add(&format!("peak memory of replica {}", place + 1), "MB", Aim::None, service.memory_mb("VmHWM")?);
    }
    Ok(())
}
