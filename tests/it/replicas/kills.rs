//! SIGKILL of the service that works on a run, after every entry of its journal: somebody else takes it over when the
//! lease has ended, asks nothing twice, and ends with the same report.
//!
//! The test command kills after every ninth entry and where stages meet;
//! `FATHOM_KILL_EVERYWHERE=1 cargo test --test it replicas::kills` kills after each.

use std::time::{Duration, Instant};

use fathom::domain::{Run, RunStatus, Timestamp};
use futures::{StreamExt as _, stream};

use super::{Fleet, LEASE, run_id};
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, Undisturbed, kills_everywhere, script, stored_before, until},
    fleet::{Replica, check_ledger, check_stream, worker_pid},
    world::{Kind, Script, When, brain, reply},
};

/// Disturbed runs at the same time; they mostly wait for leases to end.
const AT_ONCE: usize = 4;
/// From the death of the worker to the next life. A second is that of the claim loop, the others are a busy machine's.
const TAKEN_OVER: Duration = LEASE.saturating_add(Duration::from_secs(7));
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_replica_is_killed_goes_on_in_another_one() {
    kill_along(Engine::Postgres, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_only_replica_is_killed_goes_on_when_that_is_back() {
    kill_along(Engine::Postgres, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_the_embedded_database_goes_on_when_the_service_is_back() {
    kill_along(Engine::Sqlite, 1).await;
}

/// A process knows that another one of its machine is gone, and does not wait for the end of its lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_started_again_does_not_wait_for_its_own_lease() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let long = [("FATHOM_LEASE_SECONDS", "600")];
    let mut first = Replica::start_with(&site.world, &site.database.database, &long).await;
    let asked = first.ask(QUESTION).await;
    site.has_steps(8).await;
    first.running.kill().await;
    let second = Replica::start_with(&site.world, &site.database.database, &long).await;
    let run = site.is_final(run_id(&asked)).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    check_ledger(&site.store, &run).await;
    second.stop().await;
    site.world.finish();
}

/// Services of one machine with a data folder each do not see what the other one notes about its runs. Its death is
/// proved all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_at_once_in_a_replica_with_another_data_folder() {
    let site = Site::new(Engine::Postgres, script()).await;
    let mut first = replica_apart(&site, "first").await;
    let asked = first.ask(QUESTION).await;
    site.has_steps(8).await;
    let second = replica_apart(&site, "second").await;
    first.running.kill().await;
    let killed_at = Timestamp::now();
    let run = site.is_final(run_id(&asked)).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    let resumed_at = site.resumed_at(&run).await;
    assert!(matches!(resumed_at[..], [at] if at.after(killed_at) < Duration::from_secs(5)), "{resumed_at:?}");
    check_ledger(&site.store, &run).await;
    second.stop().await;
    site.world.finish();
}

/// What one process may have died of, the next one may die of: nothing but the lease keeps them apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_process_may_have_died_of_waits_for_its_lease() {
    let silent = Script::new().always(When::kind(Kind::Brief), reply::silence());
    let site = Site::new(Engine::Postgres, silent.otherwise(|call| brain::reply(SHAPE, call))).await;
    let mut first = replica_apart(&site, "first").await;
    first.ask(QUESTION).await;
    site.is_asked(Kind::Brief).await;
    let second = replica_apart(&site, "second").await;
    // Its first look takes all runs of processes that are dead.
    second.is_ready().await;
    site.database.execute("UPDATE runs SET unexplained = 1").await;
    first.running.kill().await;
    // As long as another run waits at most.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(site.database.count("SELECT epoch FROM runs").await, 1, "its lease is not over");
    site.database.execute("UPDATE runs SET lease_expires_at = 0").await;
    until("it goes on", async || (site.database.count("SELECT epoch FROM runs").await == 2).then_some(())).await;
    second.stop().await;
    site.world.finish();
}

/// A service with a data folder of its own, and leases whose end nobody waits for.
async fn replica_apart(site: &Site, folder: &str) -> Replica {
    let folder = site.world.folder().join(folder).display().to_string();
    let variables = [("FATHOM_LEASE_SECONDS", "600"), ("FATHOM_DATA_DIR", folder.as_str())];
    Replica::start_with(&site.world, &site.database.database, &variables).await
}

async fn kill_along(engine: Engine, replicas: usize) {
    let started = Instant::now();
    let undisturbed = &Undisturbed::of(engine).await;
    let places = places(undisturbed.journal.len());
    let kill = |n: usize| async move { kill_after(engine, replicas, n, undisturbed).await };
    stream::iter(places.clone()).map(kill).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    println!("{engine:?}, {replicas} replicas: killed after {places:?}, {:.1} s", started.elapsed().as_secs_f64());
}

/// After which entries of the journal to kill.
fn places(entries: usize) -> Vec<usize> {
    let everywhere = kills_everywhere();
    let sampled = |n: &usize| everywhere || n.is_multiple_of(9) || [1, 2, 3].contains(n) || *n + 2 >= entries;
    (0..=entries).filter(sampled).collect()
}

async fn kill_after(engine: Engine, replicas: usize, n: usize, undisturbed: &Undisturbed) {
    let site = Site::new(engine, script()).await;
    let mut fleet = site.fleet(replicas).await;
    let asked = fleet.replicas[0].ask(QUESTION).await;
    let mut reader = fleet.reader(asked["run"]["id"].as_str().unwrap());
    let run = site.has_steps(n).await;
    let place = if run.status.is_final() { 0 } else { site.holder_or_first(&fleet).await };
    fleet.replicas[place].running.kill().await;
    let killed_at = Timestamp::now();
    site.is_quiet().await;
    let (calls, searches) = settled(&site, &run).await;
    let was_over = site.store.run(run.id).await.unwrap().unwrap().status.is_final();
    if replicas == 1 {
        fleet.replace(place, &site.world, &site.database.database).await;
    }
    let back_at = Timestamp::now();
    let seen = reader.ends(PATIENCE).await;
    let run = site.is_final(run_id(&asked)).await;
    let stored = stored_before(site.steps(run.id).await, killed_at);
    undisturbed.is_matched_by(&site, &run).await;
    check_stream(&seen, &site.events(&run).await);
    check_ledger(&site.store, &run).await;
    let again = site.world.models.total() - calls;
    assert_eq!(again, undisturbed.calls_left(&stored), "after {n}: only what was not stored is asked again");
    let searched = site.world.web.total() - searches;
    assert_eq!(searched, undisturbed.searches_left(&stored), "after {n}: only what was not stored is searched again");
    if let ([resumed_at], false) = (site.resumed_at(&run).await.as_slice(), was_over) {
        let waited = Duration::from_millis(u64::try_from(resumed_at.since(back_at)).unwrap_or(0));
        println!("after {n}: taken over after {waited:?}");
        assert!(waited <= TAKEN_OVER, "after {n}: taken over after {waited:?}");
    }
    site.world.finish();
}

/// Model calls and searches, once what the dead process had sent has arrived, and before another one goes on: that is
/// when the lease is over, or a replica that sees its marks has looked.
async fn settled(site: &Site, run: &Run) -> (usize, usize) {
    let totals = || (site.world.models.total(), site.world.web.total());
    let (mut last, mut same) = (totals(), 0);
    while same < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = totals();
        if !site.resumed_at(run).await.is_empty() {
            return last;
        }
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

impl Site {
    /// Who works on the run, or anybody when nobody does any more.
    async fn holder_or_first(&self, fleet: &Fleet) -> usize {
        let worker = self.database.text("SELECT claimed_by FROM runs").await;
        worker.and_then(|worker| fleet.place_of(worker_pid(&worker)?)).unwrap_or(0)
    }
}
