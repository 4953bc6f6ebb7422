//! A database that misbehaves under the service: away, stopped and started, too small a pool, locked, full, deadlocked.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use fathom::{
    domain::{RunId, RunStatus, ThreadId},
    store::{Clock, Database, Renewal, Store},
};
use reqwest::Client;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection, SqliteConnection};
use test_case::test_case;
use tokio::process::Command;

use crate::{
    crash::{Engine, SHAPE, Site, count, script, script_with_pace, until},
    database::{Cluster, TestDatabase},
    fleet::{Replica, check_ledger},
    http::{Answer, Service},
    store::{NOW, claimed, commit_of, created, new_run, seqs},
    stories::engine::QUESTION,
    world::{Call, Kind, Running, Script, Shape, When, World, brain, reply},
};

/// A few seconds: what a reader is willing to wait.
const SOON: Duration = Duration::from_secs(6);

/// Runs whose researchers take a moment for each turn.
fn slow_script() -> Script {
    let slow = |call: &Call| brain::reply(Shape::SMALL, call).after(Duration::from_millis(1_500));
    Script::new().by(When::kind(Kind::Researcher), slow).otherwise(|call| brain::reply(Shape::SMALL, call))
}

/// Refused because of the database, soon, with the advice to come back.
fn is_unavailable(answer: &Answer, since: Instant, limit: Duration) {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.json()["code"], "storage_unavailable");
    assert!(answer.headers.contains_key("retry-after"));
    assert!(since.elapsed() < limit, "after {:?}", since.elapsed());
}

/// What clients meet while the database is away: each kind of request.
async fn is_reported(service: &Service, thread: &str, run: &str, reads_fail: bool) {
    let paths = [
        format!("/api/v1/runs/{run}"),
        format!("/api/v1/threads/{thread}"),
        format!("/api/v1/runs/{run}/events"),
        "/api/v1/runs?status=running".to_owned(),
        format!("/api/v1/threads/{thread}/messages"),
    ];
    let read = async |path: &str| {
        let since = Instant::now();
        is_unavailable(&service.ask("GET", path, &[("accept", "*/*")], "").await, since, SOON);
    };
    // At once, since each is given up after seconds.
    futures::future::join_all(paths.iter().filter(|_| reads_fail).map(|path| read(path))).await;
    if reads_fail {
        let ready = service.get("/readyz").await;
        assert_eq!(ready.status, 503, "{}", ready.text());
        assert_eq!(service.get("/healthz").await.status, 200);
        assert_eq!(service.get("/metrics").await.status, 200);
    }
    let since = Instant::now();
    let refused = service.post("/api/v1/threads", &json!({ "message": "Never to be asked." })).await;
    is_unavailable(&refused, since, Duration::from_secs(25));
}

/// A run goes on and its reader stays, while requests are refused; nothing is created by a refused one.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_reported_and_survived(database: TestDatabase) {
    let world = World::start(slow_script()).await;
    let service = Service::with(&world, &database, &[("FATHOM_LEASE_SECONDS", "60")]).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("researcher.started").await;
    let outage = database.outage().await;
    // Readers of SQLite are not held up by a lock of writers.
    is_reported(&service, &started.thread, &started.run, matches!(database.database, Database::Postgres { .. })).await;
    outage.end().await;
    stream.until("run.completed").await;
    assert_eq!(service.ended(&started.run).await["status"], "completed");
    assert_eq!(service.list("/api/v1/threads").await.len(), 1, "a refused request creates nothing");
    until("the service is ready", async || (service.get("/readyz").await.status == 200).then_some(())).await;
    drop(stream);
    service.stop().await;
    world.finish();
}

/// A real server that dies, stays away for longer than the lease, and comes back by way of its crash recovery.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_server_is_stopped_and_started() {
    let mut cluster = tokio::task::spawn_blocking(Cluster::own).await.unwrap();
    let database = TestDatabase::within(&cluster).await;
    let world = World::start(slow_script()).await;
    let service = Service::with(&world, &database, &[("FATHOM_LEASE_SECONDS", "4")]).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("researcher.started").await;
    tokio::task::block_in_place(|| cluster.stop());
    is_reported(&service, &started.thread, &started.run, true).await;
    cluster.start_again();
    stream.until("run.completed").await;
    let run = service.ended(&started.run).await;
    assert_eq!((&run["status"], &run["outcome"]), (&"completed".into(), &"report".into()));
    let events = service.events(&format!("/api/v1/runs/{}/events", started.run)).await;
    assert!(events.iter().map(|event| event["seq"].as_u64().unwrap()).eq(1..=events.len() as u64), "no gap");
    assert_eq!(service.list("/api/v1/threads").await.len(), 1);
    drop(stream);
    service.stop().await;
    drop(world);
    tokio::task::block_in_place(|| drop(cluster));
}

/// Far more runs and readers than connections.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_runs_dry_only_slows(mut database: TestDatabase) {
    if let Database::Postgres { max_connections, .. } = &mut database.database {
        *max_connections = 1;
    }
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::start(&world, &database).await;
    let runs = futures::future::join_all((0..8).map(|_| service.start_run())).await;
    let done = AtomicBool::new(false);
    let ask = async || {
        for started in runs.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
            service.run(&started.run).await;
            service.list("/api/v1/runs").await;
        }
    };
    // Enough to want the only connection at any time beside the runs and streams, and few enough that a turn comes
    // within the time limit of a read where each statement takes a tenth of a second.
    let readers = futures::future::join_all((0..3).map(|_| ask()));
    let streams = async {
        let read = async |run: &str| {
            let mut stream = service.stream(&format!("/api/v1/runs/{run}/events"), &[]).await;
            stream.until("run.completed").await;
        };
        futures::future::join_all(runs.iter().chain(&runs).map(|started| read(&started.run))).await;
        done.store(true, Ordering::Relaxed);
    };
    tokio::join!(readers, streams);
    service.stop().await;
    world.finish();
}

/// Another transaction locks what the commit needs, in the other order, and is never the one to be given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_lost_a_deadlock_is_made_again() {
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    let store = database.open().await;
    let lease = claimed(&store).await;
    let mut other = PgConnection::connect(url.expose_secret()).await.unwrap();
    other.execute("SET deadlock_timeout = '1h'; BEGIN; SELECT id FROM threads FOR UPDATE").await.unwrap();
    let commit = async { store.commit(vec![commit_of(lease, "a")]).await };
    let cross = async {
        until("the commit waits for the thread", async || {
            let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND wait_event_type = 'Lock'";
            (database.count(waiting).await > 0).then_some(())
        })
        .await;
        other.execute("UPDATE runs SET deaths = deaths; COMMIT").await.unwrap();
    };
    let (committed, ()) = tokio::join!(commit, cross);
    assert_eq!(committed, [Ok(())], "the store repeats it itself");
    assert_eq!(seqs(&store, lease.thread_id).await, [1, 2]);
    let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    until("the server has counted it", async || (database.count(count).await == 1).then_some(())).await;
}

/// A service with a run that has ended, whose notes nobody can read until the connection rolls back.
async fn locked_notes(world: &World, database: &TestDatabase) -> (Service, String, PgConnection) {
    let Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    let service = Service::start(world, database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let mut other = PgConnection::connect(url.expose_secret()).await.unwrap();
    other.execute("BEGIN; LOCK TABLE notes").await.unwrap();
    (service, started.run, other)
}

/// A table that is locked makes reads slow, not endless, and the pool is there again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reads_are_given_up() {
    let database = TestDatabase::postgres().await;
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let (service, run, mut other) = locked_notes(&world, &database).await;
    let since = Instant::now();
    let path = format!("/api/v1/runs/{run}/notes");
    let given_up = service.get(&path).await;
    assert_eq!(given_up.status, 503, "{}", given_up.text());
    assert_eq!(given_up.json()["code"], "overloaded", "the database answers others");
    assert!(since.elapsed() < Duration::from_secs(8), "after {:?}", since.elapsed());
    assert_eq!(service.run(&run).await["status"], "completed", "others are not held up");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(service.get(&path).await.status, 200);
    service.stop().await;
    world.finish();
}

/// Reads of a table that is locked take all connections that they may have, beside which leases are renewed. Given up,
/// they cost no other connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reads_leave_connections_to_others() {
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    let store = database.open().await;
    let lease = claimed(&store).await;
    let mut other = PgConnection::connect(url.expose_secret()).await.unwrap();
    other.execute("BEGIN; LOCK TABLE notes").await.unwrap();
    let reads = futures::future::join_all((0..20).map(|_| store.notes(lease.run_id)));
    let renewed = async {
        until("readers have all their connections", async || {
            let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND wait_event_type = 'Lock'";
            (database.count(waiting).await >= 6).then_some(())
        })
        .await;
        let renewal = store.renew(&lease, Duration::from_secs(30), Clock::At(NOW));
        tokio::time::timeout(Duration::from_secs(2), renewal).await.expect("at once").unwrap()
    };
    // The reads are given up with this.
    let renewed = tokio::select! { renewed = renewed => renewed, _ = reads => panic!("the table is locked") };
    assert!(matches!(renewed, Renewal::Held { .. }));
    let newest = "SELECT CAST(MAX(backend_start) AS TEXT) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'fathom'";
    let before = database.text(newest).await;
    until("connections at work on what was given up are thrown away", async || {
        (store.connections().1 == 0).then_some(())
    })
    .await;
    store.ping().await.unwrap();
    assert_eq!(database.text(newest).await, before, "the connection of the renewal is used again");
    other.execute("ROLLBACK").await.unwrap();
}

/// Readers that hold every connection say nothing about the database, so probes do not wait behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_does_not_wait_behind_readers() {
    let database = TestDatabase::postgres().await;
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let (service, run, mut other) = locked_notes(&world, &database).await;
    let path = format!("/api/v1/runs/{run}/notes");
    let readers = futures::future::join_all((0..40).map(|_| service.get(&path)));
    let probes = async {
        until("all connections wait", async || {
            let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND wait_event_type = 'Lock'";
            // Of the eight of the pool two are kept for writers.
            (database.count(waiting).await >= 6).then_some(())
        })
        .await;
        for _ in 0..3 {
            let ready = service.get("/readyz").await;
            assert_eq!((ready.status, &ready.json()["checks"]["database"]), (200, &json!("ok")), "{}", ready.text());
        }
        assert!(service.get("/healthz").await.status == 200);
    };
    let (given_up, ()) = tokio::join!(readers, probes);
    assert!(given_up.iter().all(|answer| answer.status == 503), "they did wait");
    other.execute("ROLLBACK").await.unwrap();
    service.stop().await;
    world.finish();
}

/// Deleting the thread of a run at work is an ordinary thing to do: the worker ends quietly, also one that learns of it
/// only from the database, by its next writes.
#[test_case(Engine::Sqlite)]
#[test_case(Engine::Postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_thread_whose_run_is_at_work_warns_of_nothing(engine: Engine) {
    let site = Site::new(engine, script_with_pace(Duration::from_millis(100))).await;
    let variables = [("FATHOM_LOG", "debug"), ("FATHOM_LOG_FORMAT", "json")];
    let mut service = site.spawn_with(&["serve", "--listen", "127.0.0.1:0"], &variables);
    let line = service.says(" on http://").await;
    let url = format!("http://{}/api/v1", line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap());
    let client = Client::builder().no_proxy().build().unwrap();
    for by_api in [false, true] {
        let body = json!({ "message": QUESTION, "options": { "allow_clarification": false } }).to_string();
        let request = client.post(format!("{url}/threads")).header("content-type", "application/json").body(body);
        let started: Value = request.send().await.unwrap().json().await.unwrap();
        let run_id: RunId = started["run"]["id"].as_str().unwrap().parse().unwrap();
        let thread_id: ThreadId = started["thread"]["id"].as_str().unwrap().parse().unwrap();
        until("its report is written", async || (site.store.report_attempts(run_id).await.unwrap() > 0).then_some(()))
            .await;
        match by_api {
            false => assert!(site.store.delete_thread(thread_id).await.unwrap()),
            true => assert_eq!(client.delete(format!("{url}/threads/{thread_id}")).send().await.unwrap().status(), 204),
        }
        let ended =
            || service.stderr().lines().any(|line| line.contains("\"lost\"") && line.contains(&run_id.to_string()));
        until("its worker ends", async || ended().then_some(())).await;
    }
    service.terminate().await;
    assert!(service.ends().await.success());
    let log = service.stderr();
    let loud = log.lines().filter(|line| line.contains("\"WARN\"") || line.contains("\"ERROR\""));
    assert_eq!(loud.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// The disk of the embedded database fills up under the service, played by a limit on the size of its files: messages
/// are refused, reads are not, a run waits, and all is fine again once there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_under_the_service_passes() {
    let site = Site::new(Engine::Sqlite, slow_script()).await;
    let script = r#"ulimit -S -f 1400; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(fathom_testkit::program::path()).args(["serve", "--listen", "127.0.0.1:0"]);
    command.env_clear().envs(site.world.environment()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("FATHOM_DATA_DIR", site.data_dir()).env("FATHOM_MAX_CONCURRENT_RUNS", "1");
    let mut service = Running::spawn(command, site.world.folder());
    let line = service.says(" on http://").await;
    let url = format!("http://{}/api/v1", line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap());
    let client = Client::builder().no_proxy().build().unwrap();
    let post = async |message: String| {
        let body = json!({ "message": message }).to_string();
        client
            .post(format!("{url}/threads"))
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap()
    };
    let first: Value = post(QUESTION.to_owned()).await.json().await.unwrap();
    let first = first["run"]["id"].as_str().unwrap().to_owned();
    let mut accepted = 1;
    let refused = loop {
        let answer = post("x".repeat(90_000)).await;
        if answer.status() != 201 {
            break answer;
        }
        accepted += 1;
        assert!(accepted < 50, "the limit is no limit");
    };
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["title"]), (&json!("storage_read_only"), &json!("The database only reads")));
    let run = async || client.get(format!("{url}/runs/{first}")).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(run().await["status"], "running", "it waits");
    let root = url.trim_end_matches("/api/v1");
    let ready = async || client.get(format!("{root}/readyz")).send().await.unwrap();
    let answer = ready().await;
    assert_eq!(answer.status(), 503, "who is ready takes messages");
    assert_eq!(answer.json::<Value>().await.unwrap()["checks"]["database"], "takes no writes");
    let metrics = client.get(format!("{root}/metrics")).send().await.unwrap().text().await.unwrap();
    let series = "fathom_ready{check=\"database\"} 0";
    assert!(metrics.lines().any(|line| line == series), "{series} is not in\n{metrics}");
    let id = service.id().unwrap().to_string();
    let lifted = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status().await.unwrap();
    assert!(lifted.success());
    until("there is room again", async || (post("Why?".to_owned()).await.status() == 201).then_some(())).await;
    until("it is ready", async || (ready().await.status() == 200).then_some(())).await;
    until("the run goes on to its end", async || (run().await["status"] == "completed").then_some(())).await;
    assert_eq!(site.store.runs(100).await.unwrap().len(), accepted + 1, "a refused message creates nothing");
    service.kill().await;
}

/// Somebody moves the file of the embedded database, or puts another one in its place: nothing is written that would be
/// lost, and all goes on once it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_away_under_the_service_loses_nothing() {
    let database = TestDatabase::sqlite();
    let Database::Sqlite { path, .. } = &database.database else { panic!("not SQLite") };
    let elsewhere = path.with_extension("elsewhere");
    let world = World::start(slow_script()).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    stream.until("researcher.started").await;
    fs::rename(path, &elsewhere).unwrap();
    for replaced in [false, true] {
        if replaced {
            fs::write(path, "another one").unwrap();
        }
        let ready = service.get("/readyz").await;
        let check = ready.json()["checks"]["database"].clone();
        assert_eq!((ready.status, check), (503, json!("its file is not in its place")));
        let refused = service.post("/api/v1/threads", &json!({ "message": "Never to be asked." })).await;
        assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("storage_read_only")), "{}", refused.text());
        // By the connections that are open: no other one is made.
        let waits = async || {
            let run = service.get(&format!("/api/v1/runs/{}", started.run)).await;
            (run.status == 200 && run.json()["status"] == "running").then_some(())
        };
        until("the run is read, and waits", waits).await;
    }
    fs::rename(&elsewhere, path).unwrap();
    stream.until("run.completed").await;
    assert_eq!(service.ended(&started.run).await["status"], "completed");
    assert_eq!(service.list("/api/v1/threads").await.len(), 1, "a refused request creates nothing");
    assert_eq!(service.get("/readyz").await.status, 200);
    drop(stream);
    service.stop().await;
    world.finish();
}

/// With a long queue nothing but claims happens for a while; here, the second one never succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_that_claims_runs_is_not_silent() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    for _ in 0..2 {
        created(&store, &new_run()).await;
    }
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF status ON runs WHEN NEW.status = 'running' \
        AND OLD.status = 'queued' AND EXISTS (SELECT 1 FROM runs WHERE status = 'running') \
        BEGIN SELECT RAISE(ABORT, 'one is enough'); END";
    database.execute(refuse).await;
    let world = World::start(Script::new().otherwise(|_| reply::silence())).await;
    let service = Service::start(&world, &database).await;
    until("a run is claimed", async || (store.load().await.unwrap().queued == 1).then_some(())).await;
    let claims = async || {
        let ready = service.get("/readyz").await.json();
        (ready["checks"]["claim_loop"] == "ok").then_some(())
    };
    until("its claim counts", claims).await;
    drop(service);
}

/// A copy that is made as docs/operations.md has it, beside a run at work: a service on it goes on with the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_goes_on_with_the_run_that_was_at_work() {
    let stuck = Script::new().always(When::kind(Kind::Report), reply::silence());
    let site = Site::new(Engine::Sqlite, stuck.otherwise(|call| brain::reply(SHAPE, call))).await;
    let mut first = Replica::start(&site.world, &site.database.database).await;
    first.ask(QUESTION).await;
    site.is_asked(Kind::Report).await;
    let (backup, mut copy) = (site.world.folder().join("backup/fathom.db"), site.database.database.clone());
    fs::create_dir(backup.parent().unwrap()).unwrap();
    site.database.rows(format!("VACUUM INTO '{}'", backup.display())).await.unwrap();
    first.running.kill().await;
    site.is_quiet().await;
    let Database::Sqlite { path, .. } = &mut copy else { panic!("not SQLite") };
    *path = backup;
    let store = Store::open(&copy).await.unwrap();
    let run = store.runs(1).await.unwrap().pop().unwrap();
    assert_eq!(run.status, RunStatus::Running);
    let (calls, stored) = (site.world.models.total(), count(&store.steps(run.id).await.unwrap(), "model"));
    site.world.models.follow(script());
    let second = Replica::start(&site.world, &copy).await;
    let ends = async || store.run(run.id).await.unwrap().filter(|run| run.status.is_final());
    let run = until("the run of the copy is final", ends).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    assert_eq!(site.world.models.total() - calls, calls - stored, "what is stored is not asked for again");
    check_ledger(&store, &run).await;
    second.stop().await;
    site.world.finish();
}

/// A file that another program holds: one clear line, after a bounded wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_file_is_one_line() {
    let site = Site::new(Engine::Sqlite, Script::new()).await;
    let Database::Sqlite { path, .. } = &site.database.database else { panic!("not SQLite") };
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut other = SqliteConnection::connect_with(&options).await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let since = Instant::now();
    let mut process = site.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(process.ends().await.code(), Some(2));
    let stderr = process.stderr();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for word in ["fathom: ", "fathom.db", "locked", "another program"] {
        assert!(stderr.contains(word), "{word} is not in {stderr}");
    }
    assert!(since.elapsed() < Duration::from_secs(25), "{:?}", since.elapsed());
    other.execute("ROLLBACK").await.unwrap();
    created(&site.store, &new_run()).await;
    let mut process = site.spawn(&["runs", "list"]);
    assert!(process.ends().await.success(), "{}", process.stderr());
    site.world.finish();
}
