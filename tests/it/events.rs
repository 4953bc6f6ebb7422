//! Following the log and writing it: replay from any point, live readers, databases that go away and come back.

use std::{pin::pin, time::Duration};

use fathom::{
    domain::{Envelope, RunId, ThreadId},
    events::{EventLog, Patience, Writer, WriterHandle},
    store::{Commit, Error, NewRun, Store},
};
use futures::{Stream, StreamExt as _};
use tokio_util::task::TaskTracker;

use crate::{
    database::{TestDatabase, on_each_engine},
    store::{added, claimant, claimed, commit_of, finish_of, new_run, thought},
};

on_each_engine!(
    a_late_reader_sees_everything_and_then_what_comes,
    a_reader_may_start_after_any_number,
    a_live_reader_is_woken,
    a_lost_wake_up_costs_a_second_at_most,
    following_a_run_ends_with_it,
    following_what_is_not_there_ends,
    a_deleted_thread_ends_its_readers,
    long_logs_come_in_pages,
    the_writer_keeps_order_and_drains_when_its_handles_are_gone,
    a_failure_nobody_waited_for_is_heard_once,
    a_database_that_comes_back_loses_nothing,
    a_database_that_stays_away_is_an_error,
);

const SOON: Duration = Duration::from_secs(20);

struct World {
    store: Store,
    log: EventLog,
    writer: WriterHandle,
    tasks: TaskTracker,
}

async fn world(database: &TestDatabase, patience: Patience) -> World {
    let store = database.open().await;
    let tasks = TaskTracker::new();
    let log = EventLog::start(store.clone(), &tasks);
    let writer = Writer::start(store.clone(), log.clone(), patience, &tasks);
    World { store, log, writer, tasks }
}

async fn take(stream: impl Stream<Item = Result<Envelope, Error>>, count: usize) -> Vec<i64> {
    let taken = stream.take(count).map(|item| item.unwrap().seq).collect();
    tokio::time::timeout(SOON, taken).await.expect("events in time")
}

async fn a_late_reader_sees_everything_and_then_what_comes(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    world.writer.commit(commit_of(lease, "a")).await.unwrap();
    let mut reader = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(reader.by_ref(), 2).await, [1, 2]);
    world.writer.commit(commit_of(lease, "b")).await.unwrap();
    assert_eq!(take(reader.by_ref(), 1).await, [3]);
}

async fn a_reader_may_start_after_any_number(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    for key in ["a", "b", "c"] {
        world.writer.commit(commit_of(lease, key)).await.unwrap();
    }
    world.writer.commit(finish_of(lease)).await.unwrap();
    for after_seq in 0..=5 {
        let expected: Vec<i64> = (after_seq + 1..=5).collect();
        assert_eq!(take(world.log.follow_run(lease.run_id, after_seq), 9).await, expected);
        assert_eq!(take(world.log.follow(lease.thread_id, after_seq), expected.len()).await, expected);
    }
}

/// Every event well before the poll would bring it.
async fn a_live_reader_is_woken(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    let mut reader = pin!(world.log.follow(lease.thread_id, 1));
    let started = std::time::Instant::now();
    for number in 0..20 {
        let (_, seqs) = tokio::join!(
            async { world.writer.commit(commit_of(lease, &number.to_string())).await.unwrap() },
            take(reader.by_ref(), 1)
        );
        assert_eq!(seqs, [number + 2]);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

async fn a_lost_wake_up_costs_a_second_at_most(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    let mut reader = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(reader.by_ref(), 1).await, [1]);
    let elsewhere = database.open().await;
    let (results, seqs) = tokio::join!(elsewhere.commit(vec![commit_of(lease, "a")]), take(reader.by_ref(), 1));
    assert_eq!((results, seqs), (vec![Ok(())], vec![2]));
}

async fn following_a_run_ends_with_it(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let first = claimed(&world.store).await;
    let follow_first = take(world.log.follow_run(first.run_id, 0), 99);
    let work = async {
        world.writer.commit(commit_of(first, "a")).await.unwrap();
        world.writer.commit(finish_of(first)).await.unwrap();
    };
    let (seqs, ()) = tokio::join!(follow_first, work);
    assert_eq!(seqs, [1, 2, 3]);
    let next = NewRun { thread_id: first.thread_id, ..new_run() };
    let run = added(&world.store, &next).await.unwrap().unwrap();
    let (second, _) = world.store.claim_next(&claimant("b")).await.unwrap().unwrap();
    world.writer.commit(finish_of(second)).await.unwrap();
    assert_eq!(take(world.log.follow_run(first.run_id, 0), 99).await, [1, 2, 3]);
    assert_eq!(take(world.log.follow_run(run.id, 0), 99).await, [4, 5]);
    assert_eq!(take(world.log.follow(first.thread_id, 0), 5).await, [1, 2, 3, 4, 5]);
}

async fn following_what_is_not_there_ends(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    assert!(take(world.log.follow(ThreadId::new(), 0), 1).await.is_empty());
    assert!(take(world.log.follow_run(RunId::new(), 0), 1).await.is_empty());
}

async fn a_deleted_thread_ends_its_readers(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    let mut of_thread = pin!(world.log.follow(lease.thread_id, 0));
    let mut of_run = pin!(world.log.follow_run(lease.run_id, 0));
    assert_eq!((take(of_thread.by_ref(), 1).await, take(of_run.by_ref(), 1).await), (vec![1], vec![1]));
    assert!(world.store.delete_thread(lease.thread_id).await.unwrap());
    assert!(take(of_thread.by_ref(), 1).await.is_empty());
    assert!(take(of_run.by_ref(), 1).await.is_empty());
}

async fn long_logs_come_in_pages(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let lease = claimed(&world.store).await;
    let events = (0..1200).map(|number| thought(&number.to_string())).collect();
    world.writer.commit(Commit { events, ..Commit::new(lease) }).await.unwrap();
    assert_eq!(take(world.log.follow(lease.thread_id, 0), 1201).await, (1..=1201).collect::<Vec<_>>());
}

async fn the_writer_keeps_order_and_drains_when_its_handles_are_gone(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let leases = [claimed(&world.store).await, claimed(&world.store).await];
    for number in 0..50 {
        for lease in leases {
            world.writer.send(commit_of(lease, &format!("{number:02}"))).await.unwrap();
        }
    }
    drop((world.writer, world.log));
    world.tasks.close();
    tokio::time::timeout(SOON, world.tasks.wait()).await.expect("the writer ends");
    for lease in leases {
        let events = world.store.events_after(lease.thread_id, 1, 1000).await.unwrap();
        let expected: Vec<_> = (0..50).map(|number| thought(&format!("{number:02}")).event).collect();
        assert_eq!(events.into_iter().map(|event| event.event).collect::<Vec<_>>(), expected);
    }
}

async fn a_failure_nobody_waited_for_is_heard_once(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let (lease, neighbour) = (claimed(&world.store).await, claimed(&world.store).await);
    for key in ["a", "a", "b"] {
        world.writer.send(commit_of(lease, key)).await.unwrap();
    }
    world.writer.commit(commit_of(neighbour, "a")).await.unwrap();
    let heard = world.writer.commit(commit_of(lease, "c")).await;
    assert!(matches!(heard, Err(Error::Corrupt(_))), "{heard:?}");
    world.writer.commit(finish_of(lease)).await.unwrap();
    let keys: Vec<_> = world.store.journal(lease.run_id).await.unwrap().into_iter().map(|step| step.key).collect();
    assert_eq!(keys, ["a"]);
}

/// Several outages while two runs keep writing.
async fn a_database_that_comes_back_loses_nothing(database: TestDatabase) {
    let world = world(&database, Patience::default()).await;
    let leases = [claimed(&world.store).await, claimed(&world.store).await];
    let write = async |lease| {
        for number in 0..60 {
            let commit = commit_of(lease, &format!("{number:02}"));
            if number % 3 == 0 {
                world.writer.commit(commit).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            } else {
                world.writer.send(commit).await.unwrap();
            }
        }
        world.writer.commit(finish_of(lease)).await.unwrap();
    };
    let interrupt = async {
        for _ in 0..3 {
            let outage = database.outage().await;
            tokio::time::sleep(Duration::from_millis(150)).await;
            outage.end().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let read = take(world.log.follow_run(leases[0].run_id, 0), 999);
    let ((), (), (), seqs) = tokio::join!(write(leases[0]), write(leases[1]), interrupt, read);
    assert_eq!(seqs, (1..=62).collect::<Vec<_>>());
    for lease in leases {
        let keys: Vec<_> = world.store.journal(lease.run_id).await.unwrap().into_iter().map(|step| step.key).collect();
        assert_eq!(keys, (0..60).map(|number| format!("{number:02}")).collect::<Vec<_>>());
    }
}

async fn a_database_that_stays_away_is_an_error(database: TestDatabase) {
    let impatient = Patience { total: Duration::from_millis(300), ..Patience::default() };
    let world = world(&database, impatient).await;
    let lease = claimed(&world.store).await;
    let outage = database.outage().await;
    let result = world.writer.commit(commit_of(lease, "a")).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    outage.end().await;
    world.writer.commit(commit_of(lease, "a")).await.unwrap();
    assert_eq!(world.store.journal(lease.run_id).await.unwrap().len(), 1);
}
