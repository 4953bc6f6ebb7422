//! What a step of a run waits for the journal, and how that compares to the least a database can do.

use std::{sync::Arc, time::Duration};

use fathom::{
    domain::{Event, MessageId, Moment, RunId, RunOptions, Scope, ThreadId, Timestamp, Usage},
    events::{CommitRetry, EventLog, Writer, WriterHandle},
    journal::{CallRecord, Entry, Journal},
    store::{Admission, Claimant, Claimed, Clock, Database, NewRun, NewThread, Store, Synchronous},
};
use sqlx::{Connection as _, Executor as _};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::task::TaskTracker;

use crate::{
    Kind, LIMIT,
    figures::{Aim, Figures, percentile, sorted},
    scene::{Scene, cpu_ms},
    world::{Record, Script},
};

const STEPS: usize = 500;
const RUNS: usize = 50;
/// Steps of each of them, and the pause between two: together as many a second as 50 runs make whose model calls take
/// two seconds.
const STEPS_AMONG_OTHERS: usize = 40;
const PAUSE: Duration = Duration::from_millis(290);
/// What a model's answer weighs.
const VALUE_BYTES: usize = 1_500;

pub async fn journal(kind: Kind, figures: &mut Figures) -> anyhow::Result<()> {
    let scene = Scene::new(kind, Script::new(), Record::Counts)?;
    let path = scene.folder.path().join("fathom.db");
    let database = match &scene.cluster {
        Some(cluster) => Database::Postgres { url: cluster.url("postgres").into(), max_connections: 8 },
        None => Database::Sqlite { path: path.clone(), synchronous: Synchronous::Full },
    };
    let before = (cpu_ms("self")?, scene.database_cpu_ms()?);
    // On threads as in the service; this one's runtime has a single one.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.spawn(async move {
        let store = Store::open(&database).await?;
        let tasks = TaskTracker::new();
        let log = EventLog::start(store.clone(), &tasks);
        let writer = Writer::start(store.clone(), log, CommitRetry::default(), &tasks);
        let one = begin(&store, &writer).await?;
        steps(&one, 50, Duration::ZERO).await?;
        let alone = steps(&one, STEPS, Duration::ZERO).await?;
        let mut runs = JoinSet::new();
        for number in 0..RUNS {
            let journal = begin(&store, &writer).await?;
            runs.spawn(async move {
                tokio::time::sleep(PAUSE.mul_f64(number as f64 / RUNS as f64)).await;
                steps(&journal, STEPS_AMONG_OTHERS, PAUSE).await
            });
        }
        let mut among_others = Vec::new();
        while let Some(joined) = runs.join_next().await {
            among_others.extend(joined??);
        }
        anyhow::Ok((alone, among_others))
    });
    let (alone, among_others) = measured.await??;
    runtime.shutdown_background();
    let count = (alone.len() + among_others.len()) as f64;
    let per_step = [cpu_ms("self")? - before.0, scene.database_cpu_ms()? - before.1].map(|ms| ms * 1e3 / count);
    let aims = if kind == Kind::Postgres { [Aim::AtMost(1.0), Aim::None] } else { [Aim::None; 2] };
    let least = percentile(&sorted(least(&scene, &path).await?), 50.0);
    figures.add("one small INSERT of its own, p50", "ms", Aim::None, least);
    let p50 = percentile(&sorted(alone.clone()), 50.0);
    figures.add_spread("wait per step, one run", "ms", aims, alone);
    figures.add("the same in small INSERTs", "", Aim::None, p50 / least);
    figures.add_spread("wait per step, 50 runs in flight", "ms", aims, among_others);
    figures.add("CPU per step, here", "µs", Aim::None, per_step[0]);
    figures.add("CPU per step, database server", "µs", Aim::None, per_step[1]);
    Ok(())
}

/// A journal of a new run that this process has claimed.
async fn begin(store: &Store, writer: &WriterHandle) -> anyhow::Result<Arc<Journal>> {
    let now = Timestamp::now();
    let new_run = NewRun {
        thread_id: ThreadId::new(),
        run_id: RunId::new(),
        message_id: MessageId::new(),
        content: "How?".to_owned(),
        options: RunOptions::default(),
        given_options: serde_json::Map::new(),
        documents: None,
        owner: fathom::domain::Owner::local(),
        key: None,
        reserved: None,
        webhook_url: None,
        sealed_keys: None,
        retry: None,
        collections: Vec::new(),
        now,
    };
    store.create_thread(&new_run, &NewThread::default(), &Admission::default()).await?;
    let claimant = Claimant { worker: "bench".to_owned(), lease: LIMIT, clock: Clock::Database };
    let Claimed::Yes { lease, .. } = store.claim(new_run.run_id, &claimant).await? else {
        anyhow::bail!("not claimed")
    };
    Ok(Arc::new(Journal::new(lease, Moment::now().plus(LIMIT), Vec::new(), writer.clone())))
}

/// Milliseconds of each step.
async fn steps(journal: &Journal, count: usize, pause: Duration) -> anyhow::Result<Vec<f64>> {
    let value = "x".repeat(VALUE_BYTES);
    let mut taken = Vec::new();
    for _ in 0..count {
        let tokens = Usage { input_tokens: 3_000, output_tokens: 300, ..Usage::default() };
        let model = "openai:gpt-4.1".to_owned();
        let call = CallRecord { model: model.clone(), role: "research".to_owned(), attempts: 1, usage: tokens };
        let event = Event::Usage { model, role: "research".to_owned(), tokens };
        let entry = Entry { call: Some(call), ..Entry::new(value.clone()).event(&Scope::researcher(1), event) };
        let key = uuid::Uuid::now_v7().to_string();
        let began = Instant::now();
        journal.step(&key, fathom::journal::StepKind::Model, "hash".to_owned(), async { Ok(entry) }).await?;
        taken.push(began.elapsed().as_secs_f64() * 1_000.0);
        tokio::time::sleep(pause).await;
    }
    Ok(taken)
}

/// Milliseconds of single inserts, each its own transaction, over one connection.
async fn least(scene: &Scene, path: &std::path::Path) -> anyhow::Result<Vec<f64>> {
    const TABLE: &str = "CREATE TABLE least (value INT8)";
    const INSERT: &str = "INSERT INTO least VALUES (1)";
    let mut taken = Vec::new();
    match &scene.cluster {
        Some(cluster) => {
            let mut connection = sqlx::PgConnection::connect(&cluster.url("postgres")).await?;
            connection.execute(TABLE).await?;
            for _ in 0..STEPS {
                let began = Instant::now();
                sqlx::query(INSERT).execute(&mut connection).await?;
                taken.push(began.elapsed().as_secs_f64() * 1_000.0);
            }
        }
        None => {
            let options = sqlx::sqlite::SqliteConnectOptions::new()
                .filename(path)
                .synchronous(sqlx::sqlite::SqliteSynchronous::Normal);
            let mut connection = sqlx::SqliteConnection::connect_with(&options).await?;
            connection.execute(TABLE).await?;
            for _ in 0..STEPS {
                let began = Instant::now();
                sqlx::query(INSERT).execute(&mut connection).await?;
                taken.push(began.elapsed().as_secs_f64() * 1_000.0);
            }
        }
    }
    Ok(taken)
}
