//! Replicas that were frozen, or cut off from the database, for longer than their lease: others finish their runs, they
//! spend no more than the calls they had begun, write nothing, and go on serving.

use std::time::Duration;

use fathom::{
    domain::{Run, RunStatus, Timestamp},
    store::Database,
};
use secrecy::ExposeSecret as _;
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::{LEASE, run_id};
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, Undisturbed, count, until},
    fleet::{Cable, Fleet, Mode, Reader, Replica, check_ledger, check_stream},
    world::{Kind, Script, When, brain, reply},
};

const PATIENCE: Duration = Duration::from_secs(60);
/// Long enough for a process to be stopped in the middle of it.
const PACE: Duration = Duration::from_millis(300);

/// From the freeze to the next life. A second is that of the claim loop, the others are a busy machine's.
const TAKEN_OVER: Duration = LEASE.saturating_add(Duration::from_secs(7));

/// Has services say which calls they begin.
const LOUD: &[(&str, &str)] = &[("FATHOM_LOG", "info,fathom::llm::client=debug")];

/// Every answer takes a while.
fn slow() -> Script {
    Script::new().otherwise(|call| brain::reply(SHAPE, call).after(PACE))
}

/// Model calls that were made and whose answers are not stored: what a disturbance may cost at most. Given a moment, in
/// which what was on its way arrives; no call is answered so fast.
async fn in_flight(site: &Site, run: &Run) -> usize {
    tokio::time::sleep(PACE / 3).await;
    site.world.models.total() - count(&site.steps(run.id).await, "model")
}

/// Calls that a stopped service has begun, sent or not: a call that was allowed while the lease held may be stopped on
/// its way out, and leaves when the process goes on.
fn begun(replica: &Replica) -> usize {
    replica.running.stderr().matches("a model call begins").count()
}

/// Stops the service that works on the run for so many milliseconds, at so many steps.
async fn freeze_after(n: usize, undisturbed: &Undisturbed) {
    let site = Site::new(Engine::Postgres, slow()).await;
    let fleet = Fleet::start_with(&site.world, &site.database.database, 2, LOUD).await;
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    let run = site.has_steps(n).await;
    let frozen = site.holder(&fleet).await;
    let mut reader = Reader::start(&id.to_string(), vec![fleet.replicas[1 - frozen].address.clone()]);
    fleet.replicas[frozen].running.signal("STOP").await;
    // What it commits arrives.
    tokio::time::sleep(PACE / 3).await;
    let begun_before = begun(&fleet.replicas[frozen]);
    let in_flight = begun_before - count(&site.steps(run.id).await, "model");
    until("another one has taken it over", async || (!site.resumed_at(&run).await.is_empty()).then_some(())).await;
    // Once while the other one works, once after it has finished.
    if n.is_multiple_of(2) {
        site.is_final(id).await;
    }
    fleet.replicas[frozen].running.signal("CONT").await;
    let run = site.is_final(id).await;
    fleet.replicas[frozen].is_ready().await;
    assert_eq!(
        begun(&fleet.replicas[frozen]),
        begun_before,
        "after {n} steps: it began a call for a run of another one"
    );
    let seen = reader.ends(PATIENCE).await;
    undisturbed.is_matched_by(&site, &run).await;
    check_stream(&seen, &site.events(&run).await);
    check_ledger(&site.store, &run).await;
    let calls = site.world.models.total();
    let most = undisturbed.fingerprints.len() + in_flight;
    assert!(calls <= most, "after {n} steps: {calls} calls, of {most} with {in_flight} in flight");
    assert_eq!(site.resumed_at(&run).await.len(), 1, "it was not taken back");
    goes_on_serving(&site, &fleet, frozen).await;
    site.world.finish();
}

/// It alone takes the next run, since the other one is gone.
async fn goes_on_serving(site: &Site, fleet: &Fleet, place: usize) {
    fleet.replicas[1 - place].running.signal("TERM").await;
    let next = site.is_final(run_id(&fleet.replicas[place].ask(QUESTION).await)).await;
    assert_eq!(next.status, RunStatus::Completed, "{:?}", next.error);
    check_ledger(&site.store, &next).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_replica_writes_nothing_more_and_goes_on_serving() {
    let undisturbed = &Undisturbed::of(Engine::Postgres).await;
    futures::future::join_all([6, 15, 28, 51].map(|n| freeze_after(n, undisturbed))).await;
}

/// It holds the lock of the run's row then, which would keep others from claiming the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_frozen_in_the_middle_of_a_commit_keeps_its_run_no_longer_than_its_lease() {
    let site = Site::new(Engine::Postgres, slow()).await;
    let fleet = site.fleet(2).await;
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    let run = site.has_steps(8).await;
    let Database::Postgres { url, .. } = &site.database.database else { panic!("only on Postgres") };
    let mut blocker = PgConnection::connect(url.expose_secret()).await.unwrap();
    blocker.execute("BEGIN; SELECT id FROM threads FOR UPDATE").await.unwrap();
    until("a commit waits for the thread's row", async || {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
            AND (query LIKE 'UPDATE threads%' OR query LIKE 'WITH given%')";
        (site.database.count(waiting).await > 0).then_some(())
    })
    .await;
    let frozen = site.holder(&fleet).await;
    fleet.replicas[frozen].running.signal("STOP").await;
    let frozen_at = Timestamp::now();
    // From here on the commit only lacks its end.
    blocker.execute("ROLLBACK").await.unwrap();
    until("another one has taken it over", async || (!site.resumed_at(&run).await.is_empty()).then_some(())).await;
    let waited = site.resumed_at(&run).await[0].since(frozen_at);
    assert!(waited <= TAKEN_OVER.as_millis() as i64, "taken over after {waited} ms");
    fleet.replicas[frozen].running.signal("CONT").await;
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    check_ledger(&site.store, &run).await;
    goes_on_serving(&site, &fleet, frozen).await;
    site.world.finish();
}

/// A database that answers slowly while a run is made ready costs time: nobody takes the run away, and nobody is
/// blamed.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_kept_while_its_run_is_made_ready() {
    let site = Site::new(Engine::Postgres, slow()).await;
    let fleet = site.fleet(2).await;
    let Database::Postgres { url, .. } = &site.database.database else { panic!("only on Postgres") };
    let mut blocker = PgConnection::connect(url.expose_secret()).await.unwrap();
    // Of this run, nothing but making it ready reads that table.
    blocker.execute("BEGIN; LOCK TABLE run_keys IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    site.holder(&fleet).await;
    tokio::time::sleep(LEASE * 3).await;
    blocker.execute("ROLLBACK").await.unwrap();
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    assert_eq!(site.blamed().await, 0);
    assert!(site.resumed_at(&run).await.is_empty(), "one process did it all");
    check_ledger(&site.store, &run).await;
    site.world.finish();
}

/// Nobody tells it that its connections are dead: every answer it waits for is one too many.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_database_was_replaced_goes_on_over_new_connections() {
    let undisturbed = &Undisturbed::of(Engine::Postgres).await;
    let torn = Torn::at(12).await;
    torn.fleet.replicas[1].running.signal("STOP").await;
    torn.cable.set(Mode::Replaced);
    let begun = tokio::time::Instant::now();
    let run = torn.site.is_final(torn.site.run().await.id).await;
    println!("a replaced database cost {:?}", begun.elapsed());
    undisturbed.is_matched_by(&torn.site, &run).await;
    check_ledger(&torn.site.store, &run).await;
    torn.fleet.replicas[0].is_ready().await;
    torn.fleet.replicas[1].running.signal("CONT").await;
    torn.site.world.finish();
}

/// A step that has begun may have to call once more, or may not have called yet: not while nobody knows whose run it
/// is.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_without_its_database_does_not_try_failing_calls_again() {
    let busy = |tries: usize| {
        let busy = reply::status(503).header("retry-after-ms", "200");
        Script::new().first(When::kind(Kind::Brief), vec![busy; tries]).otherwise(|call| brain::reply(SHAPE, call))
    };
    let site = Site::new(Engine::Postgres, busy(1_000)).await;
    let torn = Torn::on(site, async |site| site.is_asked_often(Kind::Brief, 3).await).await;
    torn.cable.set(Mode::Silent);
    // The other one shall not be able to help.
    torn.fleet.replicas[1].running.signal("STOP").await;
    tokio::time::sleep(LEASE + LEASE / 4).await;
    let calls = torn.site.world.models.total();
    tokio::time::sleep(2 * LEASE).await;
    assert_eq!(torn.site.world.models.total(), calls, "calls were made without a lease");
    torn.cable.set(Mode::Open);
    torn.fleet.replicas[1].running.signal("CONT").await;
    torn.site.world.models.follow(busy(0));
    let run = torn.site.is_final(torn.site.run().await.id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    check_ledger(&torn.site.store, &run).await;
    torn.site.world.finish();
}

/// A replica behind a cable, with a run, and another one that is not.
struct Torn {
    site: Site,
    fleet: Fleet,
    cable: Cable,
}

impl Site {
    async fn is_asked_often(&self, kind: Kind, times: usize) {
        until("the model was asked so often", async || (self.world.models.count(kind) >= times).then_some(())).await;
    }
}

impl Torn {
    async fn at(n: usize) -> Self {
        Self::on(Site::new(Engine::Postgres, slow()).await, async |site| _ = site.has_steps(n).await).await
    }

    /// The other replica is started when `ready` is over.
    async fn on(site: Site, ready: impl AsyncFnOnce(&Site)) -> Self {
        let Database::Postgres { url, .. } = &site.database.database else { panic!("only on Postgres") };
        let cable = Cable::to(url.expose_secret()).await;
        let behind = Replica::start_with(&site.world, &site.database.database, &[("DATABASE_URL", &cable.url)]).await;
        behind.ask(QUESTION).await;
        ready(&site).await;
        let mut fleet = site.fleet(1).await;
        fleet.replicas.insert(0, behind);
        assert_eq!(site.holder(&fleet).await, 0);
        Self { site, fleet, cable }
    }

    /// Takes the database away from the one for ten seconds.
    async fn tear(self, mode: Mode, undisturbed: &Undisturbed) {
        let Self { site, fleet, cable } = self;
        let run = site.run().await;
        cable.set(mode);
        let torn_at = Timestamp::now();
        let in_flight = in_flight(&site, &run).await;
        let mut reader = Reader::start(&run.id.to_string(), vec![fleet.replicas[1].address.clone()]);
        tokio::time::sleep(Duration::from_secs(10)).await;
        cable.set(Mode::Open);
        let run = site.is_final(run.id).await;
        let seen = reader.ends(PATIENCE).await;
        undisturbed.is_matched_by(&site, &run).await;
        check_stream(&seen, &site.events(&run).await);
        check_ledger(&site.store, &run).await;
        let resumed = site.resumed_at(&run).await;
        assert_eq!(resumed.len(), 1);
        let waited = resumed[0].since(torn_at);
        assert!(waited <= TAKEN_OVER.as_millis() as i64, "taken over after {waited} ms");
        let calls = site.world.models.total();
        let most = undisturbed.fingerprints.len() + in_flight;
        assert!(calls <= most, "{mode:?}: {calls} calls, of {most} with {in_flight} in flight");
        fleet.replicas[0].is_ready().await;
        goes_on_serving(&site, &fleet, 0).await;
        site.world.finish();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_without_its_database_spends_what_is_in_flight_and_comes_back() {
    let undisturbed = &Undisturbed::of(Engine::Postgres).await;
    let tears = [(Mode::Cut, 8), (Mode::Silent, 8), (Mode::Cut, 30), (Mode::Silent, 30)];
    let tears = tears.map(|(mode, n)| async move { Torn::at(n).await.tear(mode, undisturbed).await });
    futures::future::join_all(tears).await;
}
