//! Following the log and writing it: replay from any point, live readers, databases that go away and come back.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use fathom::{
    domain::{Envelope, Event, RunId, RunStatus, ThreadId},
    events::{CommitRetry, EventLog, Frame, Opening, Subject, Writer, WriterHandle},
    store::{ClaimFilter, Claimed, Clock, Commit, Error, Lease, NewRun, Store},
};
use futures::{Stream, StreamExt as _};
use test_case::test_case;
use tokio_util::task::TaskTracker;

use crate::{
    database::TestDatabase,
    store::{NOW, added, claimant, claimed, commit_of, finish_of, new_run, step, thought},
};

mod notify {
    use crate::database::TestDatabase;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_commit_that_alone_is_refused_waits_aside() {
        // A disk that is full, and a table that is missing.
        for code in ["53100", "42P01"] {
            super::a_commit_that_alone_is_refused_waits_aside(TestDatabase::postgres().await, code).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_run_ends_behind_a_commit_that_nobody_waits_for() {
        super::a_run_ends_behind_a_commit_that_nobody_waits_for(TestDatabase::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn other_processes_are_woken_well_before_their_poll() {
        super::other_processes_are_woken_well_before_their_poll(TestDatabase::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_listener_that_lost_its_connection_gets_another() {
        super::a_listener_that_lost_its_connection_gets_another(TestDatabase::postgres().await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn calls_reach_the_other_process() {
        super::calls_reach_the_other_process(TestDatabase::postgres().await).await;
    }
}

const SOON: Duration = Duration::from_secs(20);

struct World {
    store: Store,
    log: EventLog,
    writer: WriterHandle,
    tasks: TaskTracker,
}

async fn world(database: &TestDatabase, patience: CommitRetry) -> World {
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

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_reader_sees_everything_and_then_what_comes(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    world.writer.commit(commit_of(lease, "a")).await.unwrap();
    let mut reader = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(reader.by_ref(), 2).await, [1, 2]);
    world.writer.commit(commit_of(lease, "b")).await.unwrap();
    assert_eq!(take(reader.by_ref(), 1).await, [3]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_may_start_after_any_number(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
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
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_reader_is_woken(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut reader = pin!(world.log.follow(lease.thread_id, 1));
    let started = Instant::now();
    for number in 0..20 {
        let (_, seqs) = tokio::join!(
            async { world.writer.commit(commit_of(lease, &number.to_string())).await.unwrap() },
            take(reader.by_ref(), 1)
        );
        assert_eq!(seqs, [number + 2]);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_wake_up_costs_a_second_at_most(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut reader = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(reader.by_ref(), 1).await, [1]);
    let elsewhere = database.open().await;
    let started = Instant::now();
    let (results, seqs) = tokio::join!(elsewhere.commit(vec![commit_of(lease, "a")]), take(reader.by_ref(), 1));
    assert_eq!((results, seqs), (vec![Ok(())], vec![2]));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn following_a_run_ends_with_it(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
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
    let (second, _) = world.store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().unwrap();
    world.writer.commit(finish_of(second)).await.unwrap();
    assert_eq!(take(world.log.follow_run(first.run_id, 0), 99).await, [1, 2, 3]);
    assert_eq!(take(world.log.follow_run(run.id, 0), 99).await, [4, 5]);
    assert_eq!(take(world.log.follow(first.thread_id, 0), 5).await, [1, 2, 3, 4, 5]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn following_what_is_not_there_ends(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    assert!(take(world.log.follow(ThreadId::new(), 0), 1).await.is_empty());
    assert!(take(world.log.follow_run(RunId::new(), 0), 1).await.is_empty());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_thread_ends_its_readers(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut of_thread = pin!(world.log.follow(lease.thread_id, 0));
    let mut of_run = pin!(world.log.follow_run(lease.run_id, 0));
    assert_eq!((take(of_thread.by_ref(), 1).await, take(of_run.by_ref(), 1).await), (vec![1], vec![1]));
    assert!(world.store.delete_thread(lease.thread_id).await.unwrap());
    let rest = async { (of_thread.collect::<Vec<_>>().await, of_run.collect::<Vec<_>>().await) };
    let (of_thread, of_run) = tokio::time::timeout(SOON, rest).await.unwrap();
    for rest in [of_thread, of_run] {
        let rest: Vec<_> = rest.into_iter().map(|envelope| envelope.map(|it| (it.seq, it.event)).unwrap()).collect();
        assert_eq!(rest, [(1, Event::ThreadDeleted {})], "the last word, under the number of the last event");
    }
}

/// As a standby server does that was behind when it took over: the last two of four events are not there.
async fn lose_two(database: &TestDatabase) {
    database.execute("DELETE FROM events WHERE seq > 2").await;
    database.execute("UPDATE threads SET last_seq = 2").await;
}

/// Written here, they contradict what readers had at once; written elsewhere, the numbers have gone back.
#[test_case(TestDatabase::sqlite(), true; "sqlite here")]
#[test_case(TestDatabase::sqlite(), false; "sqlite elsewhere")]
#[test_case(TestDatabase::postgres().await, true; "postgres here")]
#[test_case(TestDatabase::postgres().await, false; "postgres elsewhere")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_lost_events_go_back(database: TestDatabase, here: bool) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut of_thread = pin!(world.log.follow(lease.thread_id, 0));
    let mut of_run = pin!(world.log.follow_run(lease.run_id, 0));
    assert_eq!(take(of_thread.by_ref(), 1).await, [1]);
    for key in ["a", "b", "c"] {
        world.writer.commit(commit_of(lease, key)).await.unwrap();
    }
    assert_eq!((take(of_thread.by_ref(), 3).await, take(of_run.by_ref(), 4).await), (vec![2, 3, 4], vec![1, 2, 3, 4]));
    lose_two(&database).await;
    let others: &[&str] = if here { &["d", "e", "f"] } else { &["d"] };
    let commit = Commit { events: others.iter().map(|key| thought(key)).collect(), ..Commit::new(lease) };
    let elsewhere = database.open().await;
    let write = async |commit| match here {
        true => assert_eq!(world.writer.commit(commit).await, Ok(())),
        false => assert_eq!(elsewhere.commit(vec![commit]).await, [Ok(())]),
    };
    write(commit).await;
    let expected: Vec<(i64, Event)> = std::iter::once((2, Event::StreamRewound { to: 2 }))
        .chain((3..).zip(others.iter().map(|key| thought(key).event)))
        .collect();
    let next = async |reader: &mut (dyn Stream<Item = Result<Envelope, Error>> + Unpin + Send)| {
        let taken =
            reader.take(expected.len()).map(|item| item.map(|envelope| (envelope.seq, envelope.event)).unwrap());
        tokio::time::timeout(SOON, taken.collect::<Vec<_>>()).await.expect("events in time")
    };
    assert_eq!(next(&mut of_thread).await, expected);
    assert_eq!(next(&mut of_run).await, expected);
    write(finish_of(lease)).await;
    assert_eq!(take(of_run, 9).await.len(), 1, "its end is not missed");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_logs_come_in_pages(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let events = (0..1200).map(|number| thought(&number.to_string())).collect();
    world.writer.commit(Commit { events, ..Commit::new(lease) }).await.unwrap();
    assert_eq!(take(world.log.follow(lease.thread_id, 0), 1201).await, (1..=1201).collect::<Vec<_>>());
}

/// Were each to read for itself, every frame would be another.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_share_what_is_read_once(database: TestDatabase) {
    const READERS: usize = 1000;
    const EVENTS: i64 = 60;
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let Opening::Frames(frames) = world.log.open(Subject::Run(lease.run_id), 1).await.unwrap() else {
            panic!("an active run has frames");
        };
        readers.push(frames.map(Result::unwrap).collect::<Vec<Arc<Frame>>>());
    }
    let write = async {
        for number in 2..EVENTS {
            world.writer.commit(commit_of(lease, &number.to_string())).await.unwrap();
        }
        world.writer.commit(finish_of(lease)).await.unwrap();
    };
    let read = tokio::time::timeout(3 * SOON, futures::future::join_all(readers));
    let (read, ()) = tokio::join!(read, write);
    let read = read.expect("all readers in time");
    let mut different = BTreeSet::new();
    for frames in &read {
        assert!(frames.iter().map(|frame| frame.seq).eq(2..=EVENTS));
        different.extend(frames.iter().map(Arc::as_ptr).map(|frame| frame.addr()));
    }
    assert!(different.len() < READERS, "{} frames for {EVENTS} events", different.len());
}

/// The reader falls behind what is kept in memory, and nobody waits for it.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_holds_up_nobody_and_misses_nothing(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut slow = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(slow.by_ref(), 1).await, [1]);
    for batch in 0..6 {
        let events = (0..100).map(|number| thought(&format!("{batch} {number}"))).collect();
        world.writer.commit(Commit { events, ..Commit::new(lease) }).await.unwrap();
    }
    let large = (0..20).map(|_| thought(&"x".repeat(100_000))).collect();
    world.writer.commit(Commit { events: large, ..Commit::new(lease) }).await.unwrap();
    world.writer.commit(finish_of(lease)).await.unwrap();
    assert_eq!(take(world.log.follow_run(lease.run_id, 1), 999).await, (2..=622).collect::<Vec<_>>());
    assert_eq!(take(slow, 621).await, (2..=622).collect::<Vec<_>>());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_beyond_the_end_stands_for_the_end(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    for beyond in [2, 1000, i64::MAX] {
        let of_run = take(world.log.follow_run(lease.run_id, beyond), 1);
        let of_thread = take(world.log.follow(lease.thread_id, beyond), 1);
        let write = async {
            // Both have to be there before the event is; that nothing comes shows nothing, so it is given a moment.
            tokio::time::sleep(Duration::from_millis(200)).await;
            world.writer.commit(commit_of(lease, &beyond.to_string())).await.unwrap();
        };
        let (of_run, of_thread, ()) = tokio::join!(of_run, of_thread, write);
        assert_eq!(of_run, of_thread);
        assert_eq!(of_run, [world.store.last_seq(lease.thread_id).await.unwrap().unwrap()]);
    }
    world.writer.commit(finish_of(lease)).await.unwrap();
    for beyond in [5, 1000, i64::MAX] {
        assert!(take(world.log.follow_run(lease.run_id, beyond), 1).await.is_empty());
        assert!(matches!(world.log.open(Subject::Run(lease.run_id), beyond).await.unwrap(), Opening::Over));
    }
    assert!(matches!(world.log.open(Subject::Run(RunId::new()), 0).await.unwrap(), Opening::Unknown));
    assert!(matches!(world.log.open(Subject::Thread(ThreadId::new()), 0).await.unwrap(), Opening::Unknown));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_reads_the_same_as_frame_and_as_value(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let texts = ["a \"b\" \\ \n\r\t", "\u{2028} 🦀 ü", "", "}{", "nul \u{1}"];
    let events = texts.map(thought).into();
    world.writer.commit(Commit { events, ..Commit::new(lease) }).await.unwrap();
    world.writer.commit(finish_of(lease)).await.unwrap();
    let frames: Vec<_> = world.log.frames(Subject::Run(lease.run_id), 0).map(Result::unwrap).collect().await;
    let envelopes = world.store.events_after(lease.thread_id, 0, 100).await.unwrap();
    assert_eq!(frames.len(), envelopes.len());
    for (frame, envelope) in frames.iter().zip(&envelopes) {
        // What ends lines for some clients is written as an escape.
        let json = serde_json::to_string(envelope).unwrap().replace('\u{2028}', "\\u2028");
        assert_eq!(std::str::from_utf8(&frame.json).unwrap(), json);
        assert_eq!(&*frame.name, envelope.event.name());
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_add_up_to_the_log(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let first = claimed(&world.store).await;
    for number in 0..20 {
        world.writer.commit(commit_of(first, &number.to_string())).await.unwrap();
    }
    world.writer.commit(finish_of(first)).await.unwrap();
    let next = NewRun { thread_id: first.thread_id, ..new_run() };
    let second = added(&world.store, &next).await.unwrap().unwrap();
    assert_eq!(pages(&world, Subject::Run(first.run_id), 7).await, ((1..=22).collect(), true));
    assert_eq!(pages(&world, Subject::Run(second.id), 7).await, (vec![23], false));
    assert_eq!(pages(&world, Subject::Thread(first.thread_id), 7).await, ((1..=23).collect(), false));
    let (second, _) = world.store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().unwrap();
    world.writer.commit(finish_of(second)).await.unwrap();
    for limit in [1, 2, 23, 24, 1000] {
        assert_eq!(pages(&world, Subject::Run(second.run_id), limit).await, (vec![23, 24], true));
        assert_eq!(pages(&world, Subject::Thread(first.thread_id), limit).await, ((1..=24).collect(), true));
    }
    let beyond = world.log.page(Subject::Thread(first.thread_id), 1000, 5).await.unwrap().unwrap();
    assert_eq!((beyond.frames.len(), beyond.next_after, beyond.done), (0, 24, true));
    assert!(world.log.page(Subject::Thread(ThreadId::new()), 0, 5).await.unwrap().is_none());
    assert!(world.log.page(Subject::Run(RunId::new()), 0, 5).await.unwrap().is_none());
}

/// All there is, and whether the last page said so.
async fn pages(world: &World, subject: Subject, limit: u32) -> (Vec<i64>, bool) {
    let (mut seqs, mut after_seq) = (Vec::new(), 0);
    loop {
        let page = world.log.page(subject, after_seq, limit).await.unwrap().unwrap();
        assert!(page.frames.len() <= limit as usize);
        seqs.extend(page.frames.iter().map(|frame| frame.seq));
        if page.done || page.next_after == after_seq {
            return (seqs, page.done);
        }
        after_seq = page.next_after;
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_thread_is_noticed_at_once_when_notified(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let started = Instant::now();
    for _ in 0..10 {
        let lease = claimed(&world.store).await;
        let mut reader = pin!(world.log.follow(lease.thread_id, 0));
        assert_eq!(take(reader.by_ref(), 1).await, [1]);
        assert!(world.store.delete_thread(lease.thread_id).await.unwrap());
        world.log.wake(lease.thread_id);
        assert_eq!(take(reader.by_ref(), 2).await, [1], "the last word, under the number of the last event");
    }
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

/// A reader that is left over holds up nothing.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_end_with_the_log(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
    let lease = claimed(&world.store).await;
    let mut reader = pin!(world.log.follow(lease.thread_id, 0));
    assert_eq!(take(reader.by_ref(), 1).await, [1]);
    drop((world.writer, world.log));
    world.tasks.close();
    tokio::time::timeout(SOON, world.tasks.wait()).await.expect("the tasks end");
    let last = tokio::time::timeout(SOON, reader.next()).await.expect("an end in time");
    assert!(matches!(last, Some(Err(Error::Unavailable(_)))), "{last:?}");
}

/// Through the poll alone, if need be.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_reads_along(database: TestDatabase) {
    let (here, there) =
        (world(&database, CommitRetry::default()).await, world(&database, CommitRetry::default()).await);
    let lease = claimed(&here.store).await;
    let mut readers = [there.log.follow_run(lease.run_id, 0).boxed(), there.log.follow(lease.thread_id, 0).boxed()];
    for number in 1..4 {
        for reader in &mut readers {
            assert_eq!(take(reader.by_ref(), 1).await, [number]);
        }
        here.writer.commit(commit_of(lease, &number.to_string())).await.unwrap();
    }
    here.writer.commit(finish_of(lease)).await.unwrap();
    let [of_run, of_thread] = readers;
    assert_eq!(take(of_run, 99).await, [4, 5]);
    assert_eq!(take(of_thread, 2).await, [4, 5]);
}

/// The poll alone would take about a second for each.
async fn deliver_quickly(from: &World, to: &World, lease: Lease, keys: std::ops::Range<u32>) {
    let last_seq = from.store.last_seq(lease.thread_id).await.unwrap().unwrap();
    let mut reader = pin!(to.log.follow(lease.thread_id, last_seq));
    let started = Instant::now();
    let count = keys.len();
    for (seq, key) in (last_seq + 1..).zip(keys) {
        from.writer.commit(commit_of(lease, &key.to_string())).await.unwrap();
        assert_eq!(take(reader.by_ref(), 1).await, [seq]);
    }
    let each = started.elapsed() / u32::try_from(count).unwrap();
    assert!(each < Duration::from_millis(400), "{each:?} for each event");
}

async fn other_processes_are_woken_well_before_their_poll(database: TestDatabase) {
    let (here, there) =
        (world(&database, CommitRetry::default()).await, world(&database, CommitRetry::default()).await);
    until_listening(&database, 2).await;
    let lease = claimed(&here.store).await;
    deliver_quickly(&here, &there, lease, 0..20).await;
    deliver_quickly(&there, &here, lease, 20..40).await;
}

async fn a_listener_that_lost_its_connection_gets_another(database: TestDatabase) {
    let (here, there) =
        (world(&database, CommitRetry::default()).await, world(&database, CommitRetry::default()).await);
    until_listening(&database, 2).await;
    let lease = claimed(&here.store).await;
    let mut reader = pin!(there.log.follow(lease.thread_id, 1));
    for key in ["a", "b"] {
        database.execute(END_LISTENERS).await;
        here.writer.commit(commit_of(lease, key)).await.unwrap();
    }
    assert_eq!(take(reader.by_ref(), 2).await, [2, 3]);
    until_listening(&database, 2).await;
    deliver_quickly(&here, &there, lease, 0..20).await;
}

async fn calls_reach_the_other_process(database: TestDatabase) {
    let (here, there) =
        (world(&database, CommitRetry::default()).await, world(&database, CommitRetry::default()).await);
    until_listening(&database, 2).await;
    let run_id = RunId::new();
    let mut queue = there.log.wakes().on_queue();
    let mut control = there.log.wakes().on_control(run_id);
    for _ in 0..3 {
        here.log.wakes().queue();
        tokio::time::timeout(SOON, queue.changed()).await.expect("the queue's call").unwrap();
    }
    for _ in 0..3 {
        here.log.wakes().control(run_id);
        tokio::time::timeout(SOON, control.called()).await.expect("the run's call");
    }
}

const LISTENERS: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')";
const END_LISTENERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND query LIKE 'LISTEN%'";

async fn until_listening(database: &TestDatabase, count: i64) {
    let started = Instant::now();
    while database.count(LISTENERS).await < count {
        assert!(started.elapsed() < SOON, "no listeners");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_keeps_order_and_drains_when_its_handles_are_gone(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
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

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_nobody_waited_for_is_heard_once(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
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
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_comes_back_loses_nothing(database: TestDatabase) {
    let world = world(&database, CommitRetry::default()).await;
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

/// A writer that waits for a commit waits as long as the database is away, and others see that nothing is stored
/// meanwhile.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_a_database_that_stays_away(database: TestDatabase) {
    let impatient = CommitRetry { total: Duration::from_millis(300), ..CommitRetry::default() };
    let world = world(&database, impatient).await;
    let lease = claimed(&world.store).await;
    let mut stores = world.writer.stores();
    assert!(*stores.borrow());
    let outage = database.outage().await;
    let commit = tokio::spawn({
        let writer = world.writer.clone();
        async move { writer.commit(commit_of(lease, "a")).await }
    });
    stores.wait_for(|stores| !stores).await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(!commit.is_finished(), "it has more patience than that");
    outage.end().await;
    commit.await.unwrap().unwrap();
    stores.wait_for(|stores| *stores).await.unwrap();
    assert_eq!(world.store.journal(lease.run_id).await.unwrap().len(), 1);
}

/// One that is refused while others get through holds up nobody else, and is written when it can be.
async fn a_commit_that_alone_is_refused_waits_aside(database: TestDatabase, code: &str) {
    let impatient = CommitRetry { total: Duration::from_millis(100), ..CommitRetry::default() };
    let world = world(&database, impatient).await;
    let (full, other) = (claimed(&world.store).await, claimed(&world.store).await);
    refuse_big(&database, code).await;
    let waits = tokio::spawn({
        let writer = world.writer.clone();
        async move { writer.commit(commit_of(full, "big")).await }
    });
    let follows = tokio::spawn({
        let (writer, mut stores) = (world.writer.clone(), world.writer.stores());
        async move {
            stores.wait_for(|stores| !stores).await.unwrap();
            writer.commit(commit_of(full, "small")).await
        }
    });
    let mut stores = world.writer.stores();
    tokio::time::timeout(SOON, stores.wait_for(|stores| !stores)).await.expect("it is tried again").unwrap();
    world.writer.commit(commit_of(other, "small")).await.unwrap();
    assert!(!waits.is_finished() && !follows.is_finished());
    database.execute("DROP TRIGGER refuse ON steps").await;
    waits.await.unwrap().unwrap();
    follows.await.unwrap().unwrap();
    let keys: Vec<_> = world.store.journal(full.run_id).await.unwrap().into_iter().map(|step| step.key).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
}

/// Makes the database refuse one step.
async fn refuse_big(database: &TestDatabase, code: &str) {
    let refuse = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON steps FOR EACH ROW WHEN (NEW.key = 'big') EXECUTE FUNCTION refuse()"
    );
    database.rows(refuse).await.unwrap();
}

/// A cancelled run has dropped what made the commit, and would never end.
async fn a_run_ends_behind_a_commit_that_nobody_waits_for(database: TestDatabase) {
    let impatient = CommitRetry { total: Duration::from_millis(100), ..CommitRetry::default() };
    let world = world(&database, impatient).await;
    let lease = claimed(&world.store).await;
    refuse_big(&database, "42P01").await;
    let (writer, mut stores) = (world.writer.clone(), world.writer.stores());
    let waits = tokio::spawn(async move { writer.commit(commit_of(lease, "big")).await });
    tokio::time::timeout(SOON, stores.wait_for(|stores| !stores)).await.expect("it is tried again").unwrap();
    waits.abort();
    let ends = world.writer.commit(finish_of(lease));
    tokio::time::timeout(SOON, ends).await.expect("it ends").unwrap();
    assert_eq!(world.store.journal(lease.run_id).await.unwrap(), []);
    let run = world.store.run(lease.run_id).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Completed);
}

/// As a standby server that was behind when it took over: a run whose newest commit is gone is not written on, by
/// whichever of its branches, until it is claimed again and goes on from what is there.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_follows_a_commit_that_the_database_has_lost(database: TestDatabase) {
    const LOST: &str = "DELETE FROM steps WHERE key = 'b'; DELETE FROM events WHERE seq = 3; \
        UPDATE runs SET last_commit = (SELECT last_commit FROM runs JOIN threads ON threads.id = runs.thread_id \
        WHERE last_seq = 2) WHERE thread_id IN (SELECT id FROM threads WHERE last_seq = 3); \
        UPDATE threads SET last_seq = 2 WHERE last_seq = 3";
    let world = world(&database, CommitRetry::default()).await;
    let (lease, neighbour) = (claimed(&world.store).await, claimed(&world.store).await);
    world.writer.commit(commit_of(neighbour, "a")).await.unwrap();
    for key in ["a", "b"] {
        world.writer.commit(commit_of(lease, key)).await.unwrap();
    }
    database.execute(LOST).await;
    let commits = [commit_of(lease, "c"), commit_of(neighbour, "c"), commit_of(lease, "d")];
    let answers = futures::future::join_all(commits.map(|commit| world.writer.commit(commit))).await;
    assert_eq!(answers, [Err(Error::Fenced), Ok(()), Err(Error::Fenced)]);
    assert_eq!(world.writer.commit(finish_of(lease)).await, Err(Error::Fenced));
    assert_eq!(world.store.journal(lease.run_id).await.unwrap(), [step("a")]);

    world.store.release(lease.run_id, lease.epoch, None, Duration::ZERO, Clock::At(NOW)).await.unwrap();
    let Claimed::Yes { lease, .. } = world.store.claim(lease.run_id, &claimant("a")).await.unwrap() else {
        panic!("not claimed")
    };
    for key in ["b", "c"] {
        world.writer.commit(commit_of(lease, key)).await.unwrap();
    }
    world.writer.commit(finish_of(lease)).await.unwrap();
    assert_eq!(world.store.journal(lease.run_id).await.unwrap(), ["a", "b", "c"].map(step));
}
