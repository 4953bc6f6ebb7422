//! A database that goes away for longer than the lease, that reads and does not write, whose disk is full; clocks that
//! are wrong. Every run succeeds, and nothing is paid for twice.
//!
//! The outages of this file are short and the leases shorter. `FATHOM_LONG_OUTAGES=1 cargo test --test it
//! replicas::outages` makes them as long as in life: half a minute under a lease of 15 s.

use std::time::Duration;

use fathom::{
    domain::{RunId, RunStatus},
    store::{Database, Error, Store},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, until},
    database::{Cluster, TestDatabase},
    fleet::{Cable, Fleet, Mode, Replica, check_ledger},
    store::{claimed, finish_of},
    world::{Ended, Script, brain},
};

/// Side by side on two services.
const RUNS: usize = 8;
/// Calls are in flight when an outage begins, and end within it.
const PACE: Duration = Duration::from_millis(400);

fn is_long() -> bool {
    std::env::var_os("FATHOM_LONG_OUTAGES").is_some()
}

/// How long an outage lasts, and the lease under it.
fn lengths() -> (Duration, &'static str) {
    if is_long() { (Duration::from_secs(30), "15") } else { (Duration::from_secs(5), "2") }
}

async fn patiently<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let limit = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < limit, "it never came about that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Services with runs on them, in the middle of their research.
struct Busy {
    site: Site,
    fleet: Fleet,
    ids: Vec<RunId>,
}

impl Busy {
    async fn on(engine: Engine, variables: &[&[(&str, &str)]]) -> Self {
        let slow = Script::new().otherwise(|call| brain::reply(SHAPE, call).after(PACE));
        let site = Site::new(engine, slow).await;
        let (_, lease) = lengths();
        let mut replicas = Vec::new();
        for own in variables {
            let variables: Vec<_> = [("FATHOM_LEASE_SECONDS", lease)].into_iter().chain(own.iter().copied()).collect();
            replicas.push(Replica::start_with(&site.world, &site.database.database, &variables).await);
        }
        let fleet = Fleet::of(replicas).await;
        let mut ids = Vec::new();
        for n in 0..RUNS {
            ids.push(run_id(&fleet.replicas[n % variables.len()].ask(&format!("{QUESTION} ({n})")).await));
        }
        let busy = Self { site, fleet, ids };
        patiently("all are at work", async || (busy.open_calls() >= RUNS).then_some(())).await;
        busy
    }

    fn open_calls(&self) -> usize {
        self.site.world.models.calls_matching(|call| call.ended() == Ended::Pending).len()
    }

    /// Every run has its report; answers that were paid for and are not in a journal: at most so many.
    async fn ends_well(self, lost: usize) {
        let mut stored = 0;
        for id in &self.ids {
            let run = patiently("the run is final", async || {
                let run = self.site.store.run(*id).await.unwrap().unwrap();
                run.status.is_final().then_some(run)
            })
            .await;
            assert_eq!(run.status, RunStatus::Completed, "{:?}\n{}", run.error, self.logs());
            check_ledger(&self.site.store, &run).await;
            let steps = self.site.steps(*id).await;
            stored += steps.iter().filter(|step| step.call.is_some()).count();
        }
        let made = self.site.world.models.total();
        assert!(made <= stored + lost, "{made} calls for {stored} answers, {lost} may be lost\n{}", self.logs());
        println!("{RUNS} runs: {made} calls for {stored} answers");
        self.site.world.finish();
    }

    fn logs(&self) -> String {
        self.fleet.replicas.iter().map(|replica| replica.running.stderr()).collect::<Vec<_>>().join("\n---\n")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_away_for_longer_than_the_lease_costs_no_call() {
    for engine in [Engine::Postgres, Engine::Sqlite] {
        let replicas: &[&[(&str, &str)]] = if engine == Engine::Postgres { &[&[], &[]] } else { &[&[]] };
        let busy = Busy::on(engine, replicas).await;
        let outage = busy.site.database.outage().await;
        tokio::time::sleep(lengths().0).await;
        outage.end().await;
        busy.ends_well(0).await;
    }
}

/// Renamed or dropped, like a role that may not log in, is no defect of the service: its runs keep what they have.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_lets_nobody_in_for_a_while_costs_no_call() {
    let busy = Busy::on(Engine::Postgres, &[&[]]).await;
    let mut outage = busy.site.database.outage().await;
    outage.rename().await;
    tokio::time::sleep(lengths().0).await;
    outage.end().await;
    assert!(!busy.logs().contains("a run cannot go on here"), "{}", busy.logs());
    busy.ends_well(0).await;
}

/// As a connection to the server's other databases.
async fn admin() -> PgConnection {
    PgConnection::connect(&Cluster::of_this_process().url("postgres")).await.unwrap()
}

fn name(database: &Database) -> String {
    let Database::Postgres { url, .. } = database else { panic!("only on Postgres") };
    url.expose_secret().split(['/', '?']).nth(3).unwrap().to_owned()
}

/// What a failover looks like: the server one is connected to has become one that stands by; connections to it go on
/// answering reads when another one has taken its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_only_reads_for_a_while_costs_no_call() {
    let busy = Busy::on(Engine::Postgres, &[&[], &[]]).await;
    let (replica, name) = (&busy.fleet.replicas[0], name(&busy.site.database.database));
    let mut admin = admin().await;
    admin.execute(format!("ALTER DATABASE {name} SET default_transaction_read_only = on").as_str()).await.unwrap();
    busy.site.database.drop_connections().await;
    until("it says that it is not ready", async || {
        let (status, body) = replica.get("/readyz").await;
        (status == 503 && body["checks"]["database"] == "takes no writes").then_some(())
    })
    .await;
    let (status, body) = replica.ask_with_key(QUESTION, None).await;
    assert_eq!((status, &body["code"]), (503, &json!("storage_read_only")), "{body}");
    // Writers that connect again and again keep a small pool busy, so a reader may have to come back.
    until("it can be read", async || (replica.get("/api/v1/threads").await.0 == 200).then_some(())).await;
    tokio::time::sleep(lengths().0).await;
    admin.execute(format!("ALTER DATABASE {name} RESET default_transaction_read_only").as_str()).await.unwrap();
    replica.is_ready().await;
    busy.ends_well(0).await;
}

/// Writes that are refused do not have everybody connect again each time: readers of a small pool would wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_only_reads_is_not_connected_to_again_and_again() {
    let database = TestDatabase::postgres().await;
    let name = name(&database.database);
    let Database::Postgres { url, .. } = &database.database else { panic!("only on Postgres") };
    let store = Store::open(&Database::Postgres { url: url.clone(), max_connections: 2 }).await.unwrap();
    let mut admin = admin().await;
    admin.execute(format!("ALTER DATABASE {name} SET default_transaction_read_only = on").as_str()).await.unwrap();
    database.drop_connections().await;
    let mut sessions = async || -> i64 {
        let sessions = format!("SELECT sessions FROM pg_stat_database WHERE datname = '{name}'");
        sqlx::query_scalar(&sessions).fetch_one(&mut admin).await.unwrap()
    };
    let before = sessions().await;
    for _ in 0..100 {
        let refused = store.probe_write().await.unwrap_err();
        assert!(matches!(&refused, Error::TakesNoWrites(text) if text.contains("read-only")), "{refused}");
        store.ping().await.unwrap();
    }
    store.close().await;
    // What is counted arrives after the end of a session.
    let made = patiently("the sessions are counted", async || Some(sessions().await - before).filter(|made| *made > 0));
    let made = made.await;
    assert!(made < 30, "{made} connections for 100 writes");
}

/// Three connections at once, all used.
async fn three_reads(store: &Store) -> Vec<Error> {
    let reads = futures::future::join_all((0..3).map(|_| store.ping())).await;
    reads.into_iter().filter_map(Result::err).collect()
}

/// The others are well: they are closed all the same, but nobody waits for them to end in good form.
#[tokio::test(flavor = "multi_thread")]
async fn one_cut_connection_has_nobody_wait_for_the_others() {
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("only on Postgres") };
    let store = Store::open(&Database::Postgres { url: url.clone(), max_connections: 3 }).await.unwrap();
    for _ in 0..5 {
        assert_eq!(three_reads(&store).await, []);
        database
            .execute(
                "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE application_name = 'fathom' \
                 AND datname = current_database() AND query LIKE '%threads%' LIMIT 1) AS one",
            )
            .await;
        let begun = tokio::time::Instant::now();
        assert_eq!(three_reads(&store).await, []);
        assert!(begun.elapsed() < Duration::from_secs(2), "reads took {:?}", begun.elapsed());
    }
}

/// Nobody tells the pool that the connections lead nowhere: it finds out once, not once for each.
#[tokio::test(flavor = "multi_thread")]
async fn connections_to_a_server_that_has_gone_keep_no_place() {
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("only on Postgres") };
    let cable = Cable::to(url.expose_secret()).await;
    let store = Store::open(&Database::Postgres { url: cable.url.clone().into(), max_connections: 3 }).await.unwrap();
    assert_eq!(three_reads(&store).await, []);
    cable.set(Mode::Replaced);
    // Connections that were used a moment ago are used without a look; their statement waits its own time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = tokio::time::Instant::now();
    patiently("it can be read", async || three_reads(&store).await.is_empty().then_some(())).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "reads took {:?}", begun.elapsed());
    assert_eq!(three_reads(&store).await, []);
}

/// The tables that grow cannot, while rows can still be changed in place.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_costs_no_call() {
    let busy = Busy::on(Engine::Postgres, &[&[], &[]]).await;
    let fill = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$; \
        CREATE TRIGGER full_disk BEFORE INSERT ON steps FOR EACH ROW EXECUTE FUNCTION full_disk()";
    busy.site.database.execute(fill).await;
    let before = busy.site.world.models.total();
    tokio::time::sleep(lengths().0).await;
    let branches = RUNS * SHAPE.researchers * SHAPE.queries * 2;
    let begun = busy.site.world.models.total() - before;
    assert!(begun <= branches, "{begun} calls were begun whose answers cannot be stored");
    busy.site.database.execute("DROP TRIGGER full_disk ON steps").await;
    busy.ends_well(0).await;
}

/// Debian's libfaketime; `scripts/test.sh` installs it.
fn faketime() -> String {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    let path = folders.map(|folder| format!("{folder}/faketime/libfaketimeMT.so.1"));
    path.into_iter().find(|path| std::path::Path::new(path).exists()).expect("libfaketime is installed")
}

/// One replica's clock is an hour off, in either direction; then it dies.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_neither_takes_runs_away_nor_hides_them() {
    let library = faketime();
    for offset in ["+1h", "-1h"] {
        let wrong = [("LD_PRELOAD", library.as_str()), ("FAKETIME", offset)];
        let mut busy = Busy::on(Engine::Postgres, &[&wrong, &[]]).await;
        let resumed = "SELECT COUNT(*) FROM events WHERE name = 'run.resumed'";
        // Longer than it takes to look for work, and to renew.
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(busy.site.database.count(resumed).await, 0, "{offset}: no run changed hands");
        let in_flight = busy.open_calls();
        busy.fleet.replicas[0].running.kill().await;
        let in_flight = in_flight.max(busy.open_calls()) + RUNS;
        busy.ends_well(in_flight).await;
    }
}

/// One replica's clock is days behind, by which nothing is old yet. One that is ahead would find too much to be old.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_does_not_say_what_is_old() {
    const TWO_DAYS_OLD: &str = "UPDATE threads SET created_at = EXTRACT(EPOCH FROM now() - INTERVAL '2 days') * 1000; \
        UPDATE runs SET created_at = threads.created_at, finished_at = threads.created_at FROM threads";
    let site = Site::new(Engine::Postgres, Script::new()).await;
    let lease = claimed(&site.store).await;
    assert_eq!(site.store.commit(vec![finish_of(lease)]).await, [Ok(())]);
    site.database.execute(TWO_DAYS_OLD).await;
    let library = faketime();
    let variables = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", "-10d"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("FATHOM_THREAD_RETENTION_DAYS", "1"),
    ];
    let mut replica = Replica::start_with(&site.world, &site.database.database, &variables).await;
    patiently("it is deleted", async || site.store.thread(lease.thread_id).await.unwrap().is_none().then_some(()))
        .await;
    replica.running.kill().await;
    site.world.finish();
}

/// The clock of the only machine there is jumps, while its runs are at work.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_costs_no_call() {
    let library = faketime();
    for offset in ["+3600", "-3600"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clock");
        std::fs::write(&file, "+0").unwrap();
        let file_name = file.display().to_string();
        let variables = [
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", file_name.as_str()),
            ("FAKETIME_NO_CACHE", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let busy = Busy::on(Engine::Sqlite, &[&variables]).await;
        std::fs::write(&file, offset).unwrap();
        busy.ends_well(0).await;
    }
}

/// A restarted server has cut the connections of everybody; nobody who asks next learns of it.
#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_cost_no_request() {
    let site = Site::new(Engine::Postgres, Script::new().otherwise(|call| brain::reply(SHAPE, call))).await;
    let fleet = site.fleet(1).await;
    let replica = &fleet.replicas[0];
    replica.ask(QUESTION).await;
    for n in 0..5 {
        let requests = (0..4).map(|_| replica.get("/api/v1/threads"));
        futures::future::join_all(requests).await;
        site.database.drop_connections().await;
        let (status, body): (u16, Value) = replica.get("/api/v1/threads").await;
        assert_eq!(status, 200, "{body}");
        site.database.drop_connections().await;
        replica.ask(&format!("{QUESTION} ({n})")).await;
    }
    let runs = site.store.runs(100).await.unwrap();
    assert_eq!(runs.len(), 6, "each request made one run");
    for run in runs {
        assert_eq!(site.is_final(run.id).await.status, RunStatus::Completed);
    }
    site.world.finish();
}
