//! Orders given to one replica about a run of another one, and one request made to two replicas at once.

use std::time::{Duration, Instant};

use fathom::domain::RunStatus;

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, script, until},
    fleet::{Fleet, check_ledger},
    world::{Ended, Kind, Script, When, brain, reply},
};

/// An order has arrived by then: a second is promised, and a machine with other work takes longer.
const SOON: Duration = Duration::from_secs(4);

fn stuck(kind: Kind) -> Script {
    Script::new().always(When::kind(kind), reply::silence()).otherwise(|call| brain::reply(SHAPE, call))
}

/// Two replicas, a run on one of them, stuck in its summaries, and the place of the other one.
async fn at_work() -> (Site, Fleet, serde_json::Value, usize) {
    let site = Site::new(Engine::Postgres, stuck(Kind::Summary)).await;
    let fleet = site.fleet(2).await;
    let asked = fleet.replicas[0].ask(QUESTION).await;
    site.is_asked(Kind::Summary).await;
    let other = 1 - site.holder(&fleet).await;
    (site, fleet, asked, other)
}

async fn calls_stop_soon(site: &Site, since: Instant) {
    site.is_quiet().await;
    assert!(since.elapsed() <= SOON, "outbound calls ended after {:?}", since.elapsed());
    let calls = site.world.models.calls_of(Kind::Summary);
    assert!(calls.iter().all(|call| call.ended() == Ended::Aborted), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_a_run_on_another_replica() {
    let (site, fleet, asked, other) = at_work().await;
    let begun = Instant::now();
    let id = run_id(&asked);
    assert_eq!(fleet.replicas[other].post(&format!("/api/v1/runs/{id}/cancel")).await, 202);
    calls_stop_soon(&site, begun).await;
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Cancelled);
    assert!(begun.elapsed() <= SOON);
    assert!(!site.store.sources(id).await.unwrap().is_empty(), "what was found is kept");
    // The thread is usable: the next message is answered.
    site.world.models.follow(script());
    let body = serde_json::json!({"content": "And the bridge?"});
    let url = fleet.replicas[other].url(&format!("/api/v1/threads/{}/messages", run.thread_id));
    let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 202);
    let answer: serde_json::Value = answer.json().await.unwrap();
    let next = site.is_final(run_id(&answer)).await;
    assert_eq!(next.status, RunStatus::Completed);
    check_ledger(&site.store, &next).await;
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_reaches_a_run_on_another_replica() {
    let (site, fleet, asked, other) = at_work().await;
    let begun = Instant::now();
    let thread = asked["thread"]["id"].as_str().unwrap();
    assert_eq!(fleet.replicas[other].delete(&format!("/api/v1/threads/{thread}")).await, 204);
    calls_stop_soon(&site, begun).await;
    for replica in &fleet.replicas {
        assert_eq!(replica.get(&format!("/api/v1/threads/{thread}")).await.0, 404);
    }
    assert!(site.database.row_counts().await.iter().all(|(_, count)| *count == 0));
    site.world.models.follow(script());
    let next = site.is_final(run_id(&fleet.replicas[1 - other].ask(QUESTION).await)).await;
    assert_eq!(next.status, RunStatus::Completed, "the replica that worked on it goes on");
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_to_two_replicas_at_once_is_one_run() {
    let site = Site::new(Engine::Postgres, script()).await;
    let fleet = site.fleet(2).await;
    for n in 0..10 {
        let key = format!("key {n}");
        let both = fleet.replicas.iter().map(|replica| replica.ask_with_key(QUESTION, Some(&key)));
        let answers = futures::future::join_all(both).await;
        let [(first, one), (second, other)] = answers.as_slice() else { panic!("two were asked") };
        // Who comes second while the first is being answered may be asked to come again.
        assert!([*first, *second].contains(&201), "{answers:?}");
        assert!([*first, *second].iter().all(|status| [201, 409].contains(status)), "{answers:?}");
        if (*first, *second) == (201, 201) {
            assert_eq!(one["run"]["id"], other["run"]["id"]);
        }
        let (status, again) = fleet.replicas[n % 2].ask_with_key(QUESTION, Some(&key)).await;
        let created = if *first == 201 { one } else { other };
        assert_eq!((status, &again["run"]["id"]), (201, &created["run"]["id"]));
    }
    assert_eq!(site.store.runs(100).await.unwrap().len(), 10);
    until("all are final", async || {
        site.store.runs(100).await.unwrap().iter().all(|run| run.status == RunStatus::Completed).then_some(())
    })
    .await;
    site.world.finish();
}
