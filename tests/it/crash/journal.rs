//! Replay: what is stored is returned, what is not is done, and a request that differs ends the run.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use fathom::{
    domain::{Event, FailureCode, Moment, RunStatus, Timestamp},
    events::{CommitRetry, EventLog, Writer},
    journal::{Entry, Journal, StepKind, Stop},
    store::{Lease, Step, Store},
};
use test_case::test_case;
use tokio_util::task::TaskTracker;

use super::{Engine, Site, script};
use crate::{
    database::TestDatabase,
    store::claimed,
    world::{Kind, Script, When, brain, reply},
};

const KEYS: [&str; 6] = ["date", "brief", "lead/1", "lead/1/r1/turn/1", "lead/1/r1/turn/1/search/0", "report"];

fn writer(store: &Store) -> (fathom::events::WriterHandle, TaskTracker) {
    let tasks = TaskTracker::new();
    (Writer::start(store.clone(), EventLog::start(store.clone(), &tasks), CommitRetry::default(), &tasks), tasks)
}

async fn journal(store: &Store, lease: Lease, stored: Vec<Step>) -> Journal {
    Journal::new(lease, Moment::now().plus(Duration::from_secs(60)), stored, writer(store).0)
}

/// Asks for a step; says whether the work was done.
async fn ask(journal: &Journal, key: &str, hash: &str, value: &str) -> (Result<String, Stop>, bool) {
    let done = Cell::new(false);
    let work = async {
        done.set(true);
        Ok(Entry::new(value.to_owned()))
    };
    let result = journal.step(key, StepKind::Model, hash.to_owned(), work).await;
    (result, done.get())
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stored_step_is_replayed_and_no_other_request_gets_its_value(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let first = journal(&store, lease, Vec::new()).await;
    for key in KEYS {
        assert!(matches!(ask(&first, key, key, &format!("value of {key}")).await, (Ok(_), true)));
    }
    // Whatever part of the journal is asked for first, and whichever one of the requests differs.
    for odd in KEYS {
        for shift in 0..KEYS.len() {
            let replay = journal(&store, lease, store.journal(lease.run_id).await.unwrap()).await;
            let mut over = false;
            for key in KEYS.into_iter().cycle().skip(shift).take(KEYS.len()) {
                over |= key == odd;
                let hash = if key == odd { "another request" } else { key };
                let (result, done) = ask(&replay, key, hash, "made again").await;
                assert!(!done, "{key} was done again");
                match result {
                    Ok(value) => assert!(!over && value == format!("value of {key}"), "{key}: {value}"),
                    Err(stop) => {
                        assert!(over && matches!(&stop, Stop::Mismatch { key } if key == odd), "{key}: {stop}")
                    }
                }
            }
            let (result, done) = ask(&replay, "never stored", "never stored", "value").await;
            assert!(!done && matches!(result, Err(Stop::Mismatch { .. })), "nothing begins any more");
        }
    }
    assert_eq!(store.journal(lease.run_id).await.unwrap().len(), KEYS.len());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_is_stored_before_its_value_is_seen(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let journal = journal(&store, lease, Vec::new()).await;
    for (number, key) in KEYS.into_iter().enumerate() {
        journal.mark(&format!("{key}/started"), Vec::new()).await.unwrap();
        ask(&journal, key, key, "value").await.0.unwrap();
        // The mark, which nobody waited for, was written before it.
        assert_eq!(store.steps(lease.run_id).await.unwrap().len(), 2 * number + 2);
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_begins_once_the_lease_may_be_lost(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let journal = Journal::new(lease, Moment::now(), Vec::new(), writer(&store).0);
    let mut asked = std::pin::pin!(ask(&journal, "brief", "brief", "value"));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut asked).await;
    assert!(early.is_err() && store.steps(lease.run_id).await.unwrap().is_empty());
    let minute = Duration::from_secs(60);
    // As after the machine slept: the clock that runs evenly did not.
    journal.extend(Moment::at(Instant::now() + minute, Timestamp::now()));
    let asleep = tokio::time::timeout(Duration::from_millis(50), &mut asked).await;
    assert!(asleep.is_err() && store.steps(lease.run_id).await.unwrap().is_empty());
    journal.extend(Moment::now().plus(minute));
    assert!(matches!(asked.await, (Ok(_), true)), "the lease was still ours");
}

/// A stored request is changed behind the run's back, as a defect of replay would change the new one.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_differs_fails_the_run_which_keeps_what_it_found() {
    let changes = [
        "UPDATE steps SET request_hash = 'x' WHERE key = 'brief'",
        "UPDATE steps SET request_hash = 'x' WHERE key = 'lead/1'",
        "UPDATE steps SET request_hash = 'x' WHERE key = 'lead/1/r2/turn/1/search/1'",
        "UPDATE steps SET request_hash = 'x' WHERE kind = 'model' AND role = 'summarization'",
        "UPDATE steps SET request_hash = 'x' WHERE key = 'lead/1/r1/compress'",
    ];
    futures::future::join_all(changes.map(fail_by)).await;
}

async fn fail_by(change: &'static str) {
    let silent = Script::new().always(When::kind(Kind::Report), reply::silence());
    let site = Site::new(Engine::Sqlite, silent.otherwise(|call| brain::reply(super::SHAPE, call))).await;
    let mut process = site.research();
    site.is_asked(Kind::Report).await;
    let run = site.run().await;
    process.kill().await;
    site.is_quiet().await;
    site.world.models.follow(script());
    let (notes, sources) = (site.store.notes(run.id).await.unwrap(), site.store.sources(run.id).await.unwrap());
    assert_eq!((notes.len(), sources.is_empty()), (2, false));
    site.database.execute(change).await;
    let calls = site.world.models.total();
    let mut next = site.resume(run.id);
    assert_eq!(next.ends().await.code(), Some(1), "{change}: {}", next.stderr());
    assert!(next.stderr().contains("the journal does not fit"), "{}", next.stderr());
    assert_eq!((next.stdout().as_str(), site.world.models.total()), ("", calls), "{change}");
    let failed = site.store.run(run.id).await.unwrap().unwrap();
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(failed.error.map(|failure| failure.code), Some(FailureCode::JournalMismatch));
    assert_eq!(site.store.notes(run.id).await.unwrap(), notes);
    assert_eq!(site.store.sources(run.id).await.unwrap(), sources);
    let events = site.events(&run).await;
    let ends: Vec<_> = events.iter().filter(|envelope| envelope.event.is_terminal()).collect();
    assert!(matches!(ends.as_slice(), [end] if matches!(end.event, Event::RunFailed { .. })), "{ends:?}");
    site.world.finish();
}
