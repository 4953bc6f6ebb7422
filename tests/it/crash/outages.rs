//! A database that goes away in the middle of a run and comes back.

use std::time::Duration;

use super::{Engine, Site, Undisturbed, script};
use crate::world::{Call, Kind, Script, When, brain};

/// How long it is away.
const OUTAGE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_another_process_that_locks_sqlite() {
    bear_an_outage(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_postgres_ending_every_connection() {
    bear_an_outage(Engine::Postgres).await;
}

async fn bear_an_outage(engine: Engine) {
    let undisturbed = &Undisturbed::of(engine).await;
    // Early, with several commits waiting, and while the report is written.
    let one = |kind: Kind| async move {
        let site = Site::new(engine, script()).await;
        let mut process = site.research();
        site.is_asked(kind).await;
        let run = site.run().await;
        let outage = site.database.outage().await;
        tokio::time::sleep(OUTAGE).await;
        outage.end().await;
        assert!(process.ends().await.success(), "{kind:?}: {}", process.stderr());
        assert_eq!(process.stdout(), undisturbed.report);
        assert_eq!(site.world.models.total(), undisturbed.fingerprints.len(), "no call was made twice");
        undisturbed.is_matched_by(&site, &run).await;
        site.world.finish();
    };
    futures::future::join_all([Kind::Brief, Kind::Researcher, Kind::Summary, Kind::Report].map(one)).await;
}

/// Longer than the lease: the run is lost, claimed again by the same process, and goes on from its journal.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_longer_than_the_lease_costs_no_finished_call() {
    let undisturbed = Undisturbed::of(Engine::Postgres).await;
    let slow = |call: &Call| brain::reply(super::SHAPE, call).after(Duration::from_millis(500));
    let script =
        Script::new().by(When::kind(Kind::Compression), slow).otherwise(|call| brain::reply(super::SHAPE, call));
    let site = Site::new(Engine::Postgres, script).await;
    let mut process = site.spawn_with(
        &["research", super::QUESTION, "--set", "allow_clarification=true"],
        &[("FATHOM_LEASE_SECONDS", "2")],
    );
    site.is_asked(Kind::Compression).await;
    let run = site.run().await;
    let outage = site.database.outage().await;
    tokio::time::sleep(OUTAGE).await;
    outage.end().await;
    assert!(process.ends().await.success(), "{}", process.stderr());
    assert_eq!(process.stdout(), undisturbed.report);
    undisturbed.is_matched_by(&site, &run).await;
    site.world.finish();
}
