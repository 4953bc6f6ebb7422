//! What an operator is shown of trouble that somebody has to end: a key that is gone, a server that is away or has no
//! connections left, too few open files.

use std::time::{Duration, Instant};

use fathom::{
    domain::{Event, Run, WarningCode},
    store::{Database, Error, Store},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection};
use test_case::test_case;
use tokio::{net::TcpStream, process::Command};

use crate::{
    crash::{Engine, QUESTION, Site, script_with_pace, until},
    database::{Cluster, TestDatabase},
    fleet::Replica,
    world::{Running, Script, World},
};

const NO_KEY: [(&str, &str); 2] = [("OPENAI_API_KEY", ""), ("OPENAI_BASE_URL", "")];
/// A run that was given back for a while may be taken up at once.
const FREE: &str = "UPDATE runs SET lease_expires_at = 0 WHERE claimed_by IS NULL";

async fn output(site: &Site, arguments: &[&str]) -> String {
    let mut process = site.spawn(arguments);
    assert!(process.ends().await.success(), "{}", process.stderr());
    process.stdout()
}

async fn has_resumed(site: &Site, run: &Run) -> bool {
    site.events(run).await.iter().any(|envelope| matches!(envelope.event, Event::RunResumed { .. }))
}

/// Who asks the API or the command line learns what is missing, and once: the run waits where waits are shown.
#[test_case(Engine::Sqlite)]
#[test_case(Engine::Postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_key_is_gone_says_what_to_set(engine: Engine) {
    let site = Site::new(engine, script_with_pace(Duration::from_millis(100))).await;
    let mut service = Replica::start(&site.world, &site.database.database).await;
    let asked = service.ask(QUESTION).await;
    let run = site.has_steps(5).await;
    service.running.kill().await;
    let path = format!("/api/v1/runs/{}", asked["run"]["id"].as_str().unwrap());
    for life in 0..2 {
        site.database.execute(FREE).await;
        let mut service = Replica::start_with(&site.world, &site.database.database, &NO_KEY).await;
        service.running.says("a run cannot go on here").await;
        let shown = until("it is shown", async || {
            let progress = service.get(&path).await.1["progress"].clone();
            progress["waiting_for"].is_object().then_some(progress)
        })
        .await;
        assert_eq!((&shown["phase"], &shown["waiting_for"]["for"]), (&json!("waiting"), &json!("openai:gpt-4.1-mini")));
        assert!(shown["waiting_for"]["reason"].as_str().unwrap().contains("set OPENAI_API_KEY"), "{shown}");
        let refused = async || {
            let events = site.events(&run).await;
            let is_refusal = |event: &Event| matches!(event, Event::Warning { code: WarningCode::NotConfigured, .. });
            events.iter().filter(|envelope| is_refusal(&envelope.event)).count()
        };
        until("its readers are shown it", async || (refused().await > 0).then_some(())).await;
        assert_eq!(refused().await, 1, "in life {life}");
        // Who tries it from a shell without the key takes it from nobody.
        let mut resumed = site.spawn_with(&["resume", &run.id.to_string()], &NO_KEY);
        assert_eq!(resumed.ends().await.code(), Some(2), "{}", resumed.stderr());
        assert!(output(&site, &["runs", "list"]).await.contains("  waiting  "));
        assert!(output(&site, &["runs", "show", &run.id.to_string()]).await.contains("set OPENAI_API_KEY"));
        service.running.kill().await;
    }
    site.database.execute(FREE).await;
    let service = Replica::start(&site.world, &site.database.database).await;
    until("it goes on", async || has_resumed(&site, &run).await.then_some(())).await;
    let at_work = service.get(&path).await.1;
    assert_eq!((&at_work["status"], &at_work["progress"]["waiting_for"]), (&json!("running"), &Value::Null));
    until("it goes on to its end", async || (service.get(&path).await.1["status"] == "completed").then_some(())).await;
    service.stop().await;
    site.world.finish();
}

/// What a run left unsaid while nobody held it is no silence of the process that takes it up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_taken_up_after_an_outage_is_not_stuck() {
    let site = Site::new(Engine::Sqlite, script_with_pace(Duration::from_millis(100))).await;
    let mut service = Replica::start(&site.world, &site.database.database).await;
    service.ask(QUESTION).await;
    let run = site.has_steps(5).await;
    service.running.kill().await;
    site.database.execute("UPDATE events SET ts = ts - 7200000").await;
    let service = Replica::start(&site.world, &site.database.database).await;
    until("it goes on", async || has_resumed(&site, &run).await.then_some(())).await;
    // The first look is made right after the first claim; the next line of the log is none of its.
    until("it ends", async || service.running.stderr().contains("work on a run ended").then_some(())).await;
    let log = service.running.stderr();
    assert!(!log.contains("a run seems to be stuck"), "{log}");
    service.stop().await;
}

fn url(database: &TestDatabase) -> String {
    let Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    url.expose_secret().to_owned()
}

async fn open(url: String, max_connections: u32) -> Store {
    Store::open(&Database::Postgres { url: url.into(), max_connections }).await.unwrap()
}

fn said(error: Error) -> String {
    let Error::Unavailable(text) = error else { panic!("{error:?}") };
    text
}

/// Not of the pool, which nobody can help by making it larger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_is_what_the_error_speaks_of() {
    let mut cluster = tokio::task::spawn_blocking(Cluster::own).await.unwrap();
    let database = TestDatabase::within(&cluster).await;
    let store = open(url(&database), 2).await;
    tokio::task::block_in_place(|| cluster.stop());
    // The first word may be about the connection that broke.
    let _ = store.ping().await;
    let text = said(store.ping().await.unwrap_err());
    assert!(text.contains("127.0.0.1:") && text.contains("refused"), "{text}");
    tokio::task::block_in_place(|| drop(cluster));
}

/// Otherwise a run would fail at the first such character, once it is paid for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_store_every_character_is_refused() {
    let database = TestDatabase::postgres().await;
    let mut admin = PgConnection::connect(&url(&database)).await.unwrap();
    let cluster = Cluster::of_this_process();
    for (encoding, is_taken) in [("LATIN1", false), ("SQL_ASCII", true)] {
        let name = format!("of_{}", encoding.to_lowercase());
        let made = format!("CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0");
        sqlx::raw_sql(&made).execute(&mut admin).await.unwrap();
        let database = Database::Postgres { url: cluster.url(&name).into(), max_connections: 2 };
        match (Store::open(&database).await, is_taken) {
            (Ok(store), true) => store.close().await,
            (Err(Error::Unusable(text)), false) => {
                assert!(text.contains(encoding) && text.contains("ENCODING 'UTF8' TEMPLATE template0"), "{text}");
            }
            (answer, _) => panic!("{encoding}: {answer:?}"),
        }
        sqlx::raw_sql(&format!("DROP DATABASE {name} WITH (FORCE)")).execute(&mut admin).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_all_in_use_are_counted() {
    let database = TestDatabase::postgres().await;
    let store = open(url(&database), 1).await;
    let mut other = PgConnection::connect(&url(&database)).await.unwrap();
    other.execute("BEGIN; LOCK TABLE threads").await.unwrap();
    let (first, second) = tokio::join!(store.ping(), async {
        let second = store.ping().await;
        other.execute("ROLLBACK").await.unwrap();
        second
    });
    assert_eq!(first, Ok(()), "it waited for the table, not for a connection");
    let text = said(second.unwrap_err());
    assert!(text.contains("all connections are in use (1)"), "{text}");
}

/// With a role that may have two, which the service uses in turn; when others have them, the error says what helps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_connections_to_give_is_borne_and_named() {
    let database = TestDatabase::postgres().await;
    let role = format!("few_{}", std::process::id());
    let mut admin = PgConnection::connect(&url(&database)).await.unwrap();
    let made = format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 2; GRANT ALL ON SCHEMA public TO {role}");
    sqlx::raw_sql(&made).execute(&mut admin).await.unwrap();
    let own = url(&database).replace("postgres@", &format!("{role}@"));
    let store = open(own.clone(), 8).await;
    for _ in 0..3 {
        let reads = futures::future::join_all((0..8).map(|_| store.ping())).await;
        assert_eq!(reads.into_iter().filter_map(Result::err).collect::<Vec<_>>(), []);
    }
    store.close().await;
    let others = async || PgConnection::connect(&own).await.ok();
    let held = until("its connections are closed", async || Some([others().await?, others().await?])).await;
    let (store, _held) = open_when_full(&own, held).await;
    let text = said(store.ping().await.unwrap_err());
    for word in ["too many connections", "max_connections", "FATHOM_DB_CONNECTIONS", "four more"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

/// A store that was opened with connections to spare, of which others have taken all since: these.
async fn open_when_full(url: &str, [first, second]: [PgConnection; 2]) -> (Store, [PgConnection; 2]) {
    second.close().await.unwrap();
    let store = until("there is one connection", async || {
        Store::open(&Database::Postgres { url: url.to_owned().into(), max_connections: 8 }).await.ok()
    })
    .await;
    let second = until("it is free again", async || PgConnection::connect(url).await.ok()).await;
    (store, [first, second])
}

/// Idle connections take up all files that the service may open: new ones are let in all the same, and the log stays
/// readable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_open_files_are_said_and_borne() {
    const FILES: usize = 128;
    let world = World::start(Script::new()).await;
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {FILES}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(fathom_testkit::program::path()).args(["serve", "--listen", "127.0.0.1:0"]);
    command.env_clear().envs(world.environment()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("FATHOM_DATA_DIR", folder.path()).env("FATHOM_MAX_CONNECTIONS", "24000");
    let mut service = Running::spawn(command, world.folder());
    let line = service.says(" on http://").await;
    let address = line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let note = service.says("files may be open").await;
    assert!(note.contains(&format!("only {FILES} files")) && note.contains("LimitNOFILE"), "{note}");
    let idle = futures::future::join_all((0..FILES + 40).map(|_| TcpStream::connect(&address))).await;
    assert!(idle.iter().all(Result::is_ok));
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
    let since = Instant::now();
    let answer = client.get(format!("http://{address}/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    println!("answered after {:?}", since.elapsed());
    let log = service.stderr();
    assert_eq!(log.matches("a connection could not be accepted").count(), 1, "{log}");
    drop(idle);
    service.terminate().await;
    assert!(service.ends().await.success());
    world.finish();
}
