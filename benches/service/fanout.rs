//! Deltas of a report on their way to many readers of its run.

use std::{collections::HashMap, time::Duration};

use serde_json::Value;

use crate::{
    Kind, SHAPE,
    client::Client,
    figures::{Aim, Figures},
    readers::{Readers, Receipt},
    scene::{Scene, Service},
    world::{self, Record, Script, When, brain},
};

/// Between the pieces of a streamed report.
pub const PACE: Duration = Duration::from_millis(20);

/// Whole runs whose reports are streamed at a model's pace.
pub fn script() -> Script {
    let report = |call: &world::Call| brain::reply(SHAPE, call).pace(PACE);
    Script::new().by(When::kind(world::Kind::Report), report).otherwise(|call| brain::reply(SHAPE, call))
}

pub async fn fanout(kind: Kind, count: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, script(), Record::Counts)?;
    scene.world.set_latency(Duration::from_millis(200), Duration::from_millis(200));
    let service = scene.serve(&[]).await?;
    let (thread, run) = service.ask(&mut service.client().await?, 1).await?;
    let path = format!("/api/v1/runs/{run}/events");
    let cpu = service.cpu_ms()?;
    let readers = Readers::start(vec![(service.address, path); count]);
    let receipts = readers.ended().await?;
    let cpu = service.cpu_ms()? - cpu;
    let events = events(&service, &thread).await?;
    anyhow::ensure!(receipts.len() >= events.len() * count, "{} of {}", receipts.len(), events.len() * count);
    let deltas: HashMap<i64, i64> =
        events.iter().filter(|event| event.name == "report.delta").map(|event| (event.seq, event.ts_ms)).collect();
    let mut first: HashMap<i64, i64> = HashMap::new();
    for receipt in &receipts {
        let at = first.entry(receipt.seq).or_insert(receipt.at_us);
        *at = receipt.at_us.min(*at);
    }
    let of_deltas: Vec<&Receipt> = receipts.iter().filter(|receipt| deltas.contains_key(&receipt.seq)).collect();
    anyhow::ensure!(deltas.len() > 20, "the report had {} deltas", deltas.len());
    let spread = of_deltas.iter().map(|receipt| (receipt.at_us - first[&receipt.seq]) as f64 / 1e3).collect();
    let whole = of_deltas.iter().map(|receipt| receipt.at_us as f64 / 1e3 - deltas[&receipt.seq] as f64).collect();
    let aims = [Aim::None, Aim::AtMost(20.0)];
    figures.add_spread("first reader's receipt to each reader's", "ms", aims, spread);
    figures.add_spread("envelope's time to each reader's receipt", "ms", aims, whole);
    figures.add("CPU per event and reader, whole run", "µs", Aim::None, cpu * 1e3 / receipts.len() as f64);
    Ok(())
}

/// What the log says of an event.
pub struct Logged {
    pub seq: i64,
    pub name: String,
    pub ts_ms: i64,
}

/// All events of a thread.
pub async fn events(service: &Service, thread: &str) -> anyhow::Result<Vec<Logged>> {
    let mut client: Client = service.client().await?;
    let (mut events, mut after) = (Vec::new(), 0);
    loop {
        let page = client.json(&format!("/api/v1/threads/{thread}/events?limit=1000&after={after}")).await?;
        let data = page["data"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        for event in data {
            let ts = event["ts"].as_str().unwrap_or("");
            let ts = time::OffsetDateTime::parse(ts, &time::format_description::well_known::Rfc3339)?;
            events.push(Logged {
                seq: event["seq"].as_i64().unwrap_or(0),
                name: event["type"].as_str().unwrap_or("").to_owned(),
                ts_ms: (ts.unix_timestamp_nanos() / 1_000_000) as i64,
            });
        }
        if data.is_empty() {
            return Ok(events);
        }
        after = page["next_after"].as_i64().unwrap_or(0);
    }
}
