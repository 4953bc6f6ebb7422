//! SIGTERM: work is handed over at once, streams end with a hint, nothing is lost; one replica after the other.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use fathom::domain::{RunStatus, Timestamp};
use futures::{StreamExt as _, stream};
use reqwest::Client;
use serde_json::{Value, json};

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, Undisturbed},
    fleet::{Fleet, check_ledger, check_stream},
    world::{Ended, Script, brain},
};

const PATIENCE: Duration = Duration::from_secs(60);
/// From the signal to the next life; the calls under way take a tenth of a second, the rest is a busy machine's.
const HANDED_OVER: Duration = Duration::from_secs(8);
/// Nobody waits for the end of a lease or of the grace.
const WITHOUT_AN_END: &[(&str, &str)] = &[("FATHOM_LEASE_SECONDS", "60"), ("FATHOM_GRACE_SECONDS", "60")];

fn slow(pace: Duration) -> Script {
    Script::new().otherwise(move |call| brain::reply(SHAPE, call).after(pace))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_stops_hands_its_run_over_at_once() {
    let undisturbed = &Undisturbed::of(Engine::Postgres).await;
    let hand_over = |n: usize| async move {
        let site = Site::new(Engine::Postgres, slow(Duration::from_millis(100))).await;
        let mut fleet = Fleet::start_with(&site.world, &site.database.database, 2, WITHOUT_AN_END).await;
        let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
        site.has_steps(n).await;
        let place = site.holder(&fleet).await;
        // Its first stream is that of the replica which stops.
        let addresses = [place, 1 - place].map(|place| fleet.replicas[place].address.clone());
        let mut reader = crate::fleet::Reader::start(&id.to_string(), addresses.to_vec());
        crate::crash::until("events come", async || (reader.count() > 0).then_some(())).await;
        let signalled = (Instant::now(), Timestamp::now());
        fleet.replicas[place].running.terminate().await;
        let status = fleet.replicas[place].running.ends().await;
        assert!(status.success(), "{}", fleet.replicas[place].running.stderr());
        assert!(signalled.0.elapsed() < HANDED_OVER, "it ended after {:?}", signalled.0.elapsed());
        let run = site.is_final(id).await;
        let seen = reader.ends(PATIENCE).await;
        undisturbed.is_matched_by(&site, &run).await;
        check_stream(&seen, &site.events(&run).await);
        check_ledger(&site.store, &run).await;
        assert!(
            reader.hints().iter().any(|hint| (500..1_500).contains(hint)),
            "no word of farewell: {:?}",
            reader.hints()
        );
        let resumed = site.resumed_at(&run).await;
        assert_eq!(resumed.len(), 1);
        let waited = resumed[0].since(signalled.1);
        assert!(waited <= HANDED_OVER.as_millis() as i64, "after {n} steps: it went on after {waited} ms");
        site.world.finish();
    };
    stream::iter([2, 10, 20, 33, 50]).map(hand_over).buffer_unordered(3).collect::<Vec<()>>().await;
}

/// Asks through the balancer until somebody accepts it, as a client does that was asked to come again.
async fn ask(client: Client, url: String, n: usize) -> Value {
    let body = json!({"message": format!("{QUESTION} ({n})")});
    loop {
        let request = client.post(&url).json(&body).header("Idempotency-Key", format!("rolling {n}"));
        match request.send().await {
            Ok(response) if response.status() == 201 => {
                if let Ok(answer) = response.json().await {
                    return answer;
                }
            }
            Ok(response) => assert!([409, 503].contains(&response.status().as_u16()), "{}", response.status()),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarting_one_after_the_other_under_load_pays_for_nothing_twice() {
    const RUNS: usize = 50;
    let site = Site::new(Engine::Postgres, slow(Duration::from_millis(60))).await;
    // A busy machine may be slow to renew; what happens to leases is not the question here.
    let variables = &[("FATHOM_LEASE_SECONDS", "15"), ("FATHOM_GRACE_SECONDS", "20")];
    let mut fleet = Fleet::start_with(&site.world, &site.database.database, 3, variables).await;
    let client = Client::builder().timeout(Duration::from_secs(10)).no_proxy().build().unwrap();
    let (url, balancer) = (fleet.balancer.url("/api/v1/threads"), fleet.balancer.address.clone());
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..RUNS {
        let (client, url, balancer) = (client.clone(), url.clone(), balancer.clone());
        clients.spawn(async move {
            tokio::time::sleep(Duration::from_millis(60) * n as u32).await;
            let answer = ask(client, url, n).await;
            let id = answer["run"]["id"].as_str().unwrap().to_owned();
            let mut reader = crate::fleet::Reader::start(&id, vec![balancer]);
            (id, reader.ends(PATIENCE).await)
        });
    }
    for place in 0..3 {
        tokio::time::sleep(Duration::from_millis(600)).await;
        fleet.replicas[place].running.terminate().await;
        let status = fleet.replicas[place].running.ends().await;
        assert!(status.success(), "{}", fleet.replicas[place].running.stderr());
        fleet.replace(place, &site.world, &site.database.database).await;
    }
    while let Some(done) = clients.join_next().await {
        let (id, seen) = done.unwrap();
        let run = site.store.run(id.parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
        check_stream(&seen, &site.events(&run).await);
        check_ledger(&site.store, &run).await;
    }
    assert_eq!(site.store.runs(100).await.unwrap().len(), RUNS, "each request made one run");
    // What was under way was let end, and stored: each question differs, and so does whatever is asked for it.
    let calls = site.world.models.calls();
    let cut = calls.iter().filter(|call| call.ended() != Ended::Finished).count();
    let asked: BTreeSet<u64> = calls.iter().map(|call| call.fingerprint).collect();
    assert_eq!(
        (cut, calls.len() - asked.len()),
        (0, 0),
        "of {} calls so many were cut off, so many made twice",
        calls.len()
    );
    let queries: BTreeSet<String> = site.world.web.queries().into_iter().collect();
    assert_eq!(queries.len(), site.world.web.total(), "each search once");
    site.world.finish();
}
