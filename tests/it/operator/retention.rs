//! Old threads and events are removed, and readers who ask for events that are gone learn which.

use std::{pin::pin, time::Duration};

use fathom::{
    domain::{Envelope, Event, RunId, ThreadId, Timestamp},
    events::{EventLog, Opening, Subject},
    store::{ClaimFilter, Commit, Database, Error, Lease, NewRun, Pruned, Store},
};
use futures::StreamExt as _;
use reqwest::{Client, StatusCode};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use sqlx::{Connection as _, Executor as _, PgConnection};
use test_case::test_case;
use tokio_util::task::TaskTracker;

use crate::{
    crash::{Engine, Site, script, until},
    database::TestDatabase,
    store::{NOW, added, claimant, claimed, commit_of, finish_of, new_run, thought},
};

const SOON: Duration = Duration::from_secs(20);
/// All runs that ended did so before.
const LATER: Timestamp = Timestamp(NOW.0 + 1);

/// Brings a claimed run to its end: four events of its own, the one that queued it included.
async fn end(store: &Store, lease: Lease) {
    for commit in [commit_of(lease, "a"), commit_of(lease, "b"), finish_of(lease)] {
        assert_eq!(store.commit(vec![commit]).await, [Ok(())]);
    }
}

async fn next_run(store: &Store, thread_id: ThreadId) -> Lease {
    added(store, &NewRun { thread_id, ..new_run() }).await.unwrap().unwrap();
    store.claim_next(&claimant("a"), ClaimFilter::ALL).await.unwrap().unwrap().0
}

/// A thread with the events 1 to 4 and 5 to 8 of two finished runs, and 9 of one at work.
async fn three_runs(store: &Store) -> [Lease; 3] {
    let first = claimed(store).await;
    end(store, first).await;
    let second = next_run(store, first.thread_id).await;
    end(store, second).await;
    [first, second, next_run(store, first.thread_id).await]
}

async fn prune_all(store: &Store, before: Timestamp, limit: u32) -> u64 {
    let mut events = 0;
    loop {
        let Pruned { threads, events: removed } = store.prune_events(before, limit).await.unwrap();
        events += removed;
        if threads == 0 {
            return events;
        }
    }
}

/// Deletes threads as the service does; which ones.
async fn prune_threads(store: &Store, before: Timestamp) -> Vec<ThreadId> {
    let (mut deleted, mut after) = (Vec::new(), None);
    loop {
        let page = store.expired_threads(before, after, 1).await.unwrap();
        for expired in page.items {
            if store.delete_expired(&expired).await.unwrap() {
                deleted.push(expired.id);
            }
        }
        after = page.next;
        if after.is_none() {
            return deleted;
        }
    }
}

async fn seqs(store: &Store, thread_id: ThreadId) -> Vec<i64> {
    store.events_after(thread_id, 0, 10_000).await.unwrap().iter().map(|event| event.seq).collect()
}

/// What a reader sees: the number of each event, and both ends of each gap.
fn seen(envelope: &Envelope) -> (i64, i64) {
    match envelope.event {
        Event::StreamGap { from, to } => {
            assert_eq!(envelope.seq, to);
            (from, to)
        }
        _ => (envelope.seq, envelope.seq),
    }
}

/// The first `count` things that a stream and pages of any size say, which are the same; fewer when it ends.
async fn read(log: &EventLog, subject: Subject, after_seq: i64, count: usize) -> Vec<(i64, i64)> {
    let streamed = match log.open(subject, after_seq).await.unwrap() {
        Opening::Unknown => panic!("it exists"),
        Opening::Over => Vec::new(),
        Opening::Frames(frames) => {
            let seen = frames.take(count).map(|frame| seen(&frame.unwrap().envelope().unwrap())).collect::<Vec<_>>();
            tokio::time::timeout(SOON, seen).await.expect("events in time")
        }
    };
    for limit in [1, 2, 1000] {
        let (mut paged, mut after_seq) = (Vec::new(), after_seq);
        while paged.len() < streamed.len() {
            let page = log.page(subject, after_seq, limit).await.unwrap().unwrap();
            assert!(page.frames.len() <= limit as usize);
            paged.extend(page.frames.iter().map(|frame| seen(&frame.envelope().unwrap())));
            if page.done {
                break;
            }
            assert!(page.next_after > after_seq, "pages get on");
            after_seq = page.next_after;
        }
        paged.truncate(count);
        assert_eq!(paged, streamed, "pages of {limit}");
    }
    streamed
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_runs_lose_their_events_and_no_others(database: TestDatabase) {
    let store = database.open().await;
    let [first, ..] = three_runs(&store).await;
    let (alone, running) = (claimed(&store).await, claimed(&store).await);
    end(&store, alone).await;
    let young = Timestamp(NOW.0 - 1);
    assert_eq!(store.prune_events(young, 100).await.unwrap(), Pruned::default());
    assert_eq!(prune_all(&store, LATER, 3).await, 12);
    assert_eq!(seqs(&store, first.thread_id).await, [9], "the run at work keeps its events");
    assert_eq!(seqs(&store, alone.thread_id).await, [0; 0]);
    assert_eq!(seqs(&store, running.thread_id).await, [1]);
    assert_eq!(store.thread(alone.thread_id).await.unwrap().unwrap().last_seq, 4);
    let next = next_run(&store, alone.thread_id).await;
    end(&store, next).await;
    assert_eq!(seqs(&store, alone.thread_id).await, [5, 6, 7, 8], "numbers go on");
    assert_eq!(store.journal(alone.run_id).await.unwrap().len(), 2, "nothing but events is removed");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_in_which_nothing_happens_are_deleted(database: TestDatabase) {
    let store = database.open().await;
    let [busy, ..] = three_runs(&store).await;
    let (old, waiting) = (claimed(&store).await, claimed(&store).await);
    end(&store, old).await;
    assert_eq!(prune_threads(&store, Timestamp(NOW.0 - 1)).await, []);
    assert_eq!(prune_threads(&store, LATER).await, [old.thread_id]);
    assert_eq!(prune_threads(&store, LATER).await, []);
    assert!(store.thread(old.thread_id).await.unwrap().is_none() && store.run(old.run_id).await.unwrap().is_none());
    for thread_id in [busy.thread_id, waiting.thread_id] {
        assert!(store.thread(thread_id).await.unwrap().is_some(), "a run of it is at work");
    }
    end(&store, waiting).await;
    database
        .execute(
            "INSERT INTO documents (id, thread_id, name, content_hash, size_bytes, characters, sections, created_at) \
             SELECT id, id, 'a.txt', '', 1, 1, '[]', 9000000000000 FROM threads",
        )
        .await;
    assert_eq!(prune_threads(&store, LATER).await, [], "documents were given since");
    database.execute("UPDATE documents SET created_at = 0").await;
    assert_eq!(prune_threads(&store, LATER).await, [waiting.thread_id]);
}

/// Returns the lease of the only run there is, which has ended, with 7,000 steps, sources and events more than it made.
async fn filled(database: &TestDatabase, store: &Store) -> Lease {
    const MUCH: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7000) INSERT INTO ";
    let lease = claimed(store).await;
    end(store, lease).await;
    let bytes = if matches!(database.database, Database::Postgres { .. }) { "BYTEA" } else { "BLOB" };
    let fill = format!(
        "{MUCH} steps (run_id, key, kind, request_hash, value, started_at, finished_at) \
         SELECT id, 'many/' || i, 'value', '', '1', 1, 1 FROM n CROSS JOIN runs; \
         {MUCH} sources (run_id, id, aliases, url, url_hash, title, engine, fetched_at, content_hash, snapshot) \
         SELECT id, i, '[]', '', CAST(CAST(i AS TEXT) AS {bytes}), '', '', 1, '', '' FROM n CROSS JOIN runs; \
         {MUCH} events (thread_id, seq, run_id, ts, agent, name, body) \
         SELECT threads.id, last_seq + i, runs.id, 1, '', '', '' FROM n CROSS JOIN runs \
         JOIN threads ON threads.id = runs.thread_id; UPDATE threads SET last_seq = last_seq + 7000"
    );
    database.rows(fill).await.unwrap();
    lease
}

/// One statement for all of it might take longer than any statement may, and keeps others waiting.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_holds_much_is_deleted_in_parts(database: TestDatabase) {
    const WATCH: &str = "CREATE TABLE deleted (count BIGINT NOT NULL); \
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        INSERT INTO deleted SELECT COUNT(*) FROM gone; RETURN NULL; END $$; ";
    let store = database.open().await;
    let is_postgres = matches!(database.database, Database::Postgres { .. });
    let lease = filled(&database, &store).await;
    let next = next_run(&store, lease.thread_id).await;
    if is_postgres {
        let watch = |table| {
            format!(
                "CREATE TRIGGER note AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone \
                 FOR EACH STATEMENT EXECUTE FUNCTION note();"
            )
        };
        let watches = ["steps", "sources", "events"].map(watch).concat();
        database.rows(format!("{WATCH}{watches}")).await.unwrap();
    }
    assert_eq!(store.commit(vec![commit_of(next, "a")]).await, [Ok(())]);
    assert!(store.delete_thread(lease.thread_id).await.unwrap());
    assert!(database.row_counts().await.iter().all(|(_, rows)| *rows == 0), "{:?}", database.row_counts().await);
    assert_eq!(store.commit(vec![commit_of(next, "b")]).await, [Err(Error::Fenced)]);
    if is_postgres {
        let largest = database.count("SELECT MAX(count) FROM deleted").await;
        assert!((1..=5_000).contains(&largest), "{largest} rows at once");
    }
}

/// What is deleted of it does not come back: a thread that is used while it is deleted would keep reports whose
/// citations lead nowhere.
#[test_case(TestDatabase::sqlite(), "CREATE TRIGGER used AFTER DELETE ON steps BEGIN \
    UPDATE threads SET last_seq = last_seq + 1; END"; "sqlite")]
#[test_case(TestDatabase::postgres().await, "CREATE FUNCTION used() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    UPDATE threads SET last_seq = last_seq + 1; RETURN NULL; END $$; \
    CREATE TRIGGER used AFTER DELETE ON steps FOR EACH STATEMENT EXECUTE FUNCTION used()"; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_thread_of_which_a_part_is_deleted_goes_as_a_whole(database: TestDatabase, uses: &str) {
    let store = database.open().await;
    let lease = filled(&database, &store).await;
    database.rows(uses.to_owned()).await.unwrap();
    assert_eq!(prune_threads(&store, LATER).await, [lease.thread_id]);
    assert!(database.row_counts().await.iter().all(|(_, rows)| *rows == 0), "{:?}", database.row_counts().await);
}

/// Nobody wants what it pays for, however long the rest takes, or if it fails.
#[test_case(TestDatabase::sqlite(), "CREATE TRIGGER refuse BEFORE DELETE ON threads BEGIN \
    SELECT RAISE(ABORT, 'not now'); END"; "sqlite")]
#[test_case(TestDatabase::postgres().await, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    RAISE EXCEPTION 'it takes too long' USING ERRCODE = '57014'; END $$; \
    CREATE TRIGGER refuse BEFORE DELETE ON threads FOR EACH ROW EXECUTE FUNCTION refuse()"; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_at_work_is_fenced_before_the_first_part_of_its_thread_is_deleted(database: TestDatabase, refuse: &str) {
    let store = database.open().await;
    let lease = filled(&database, &store).await;
    let next = next_run(&store, lease.thread_id).await;
    database.rows(refuse.to_owned()).await.unwrap();
    store.delete_thread(lease.thread_id).await.unwrap_err();
    assert_eq!(store.commit(vec![commit_of(next, "a")]).await, [Err(Error::Fenced)]);
}

/// Its row is looked at when nobody else has it any more: the document counts that was just being given to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_is_just_being_given_a_document_stays() {
    const GIVE: &str = "BEGIN; UPDATE threads SET title = title; \
        INSERT INTO documents (id, thread_id, name, content_hash, size_bytes, characters, sections, created_at) \
        SELECT id, id, 'a.txt', '', 1, 1, '[]', 9000000000000 FROM threads";
    const WAITS: &str = "SELECT COUNT(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("it is Postgres") };
    let store = database.open().await;
    let lease = claimed(&store).await;
    end(&store, lease).await;
    let mut giver = PgConnection::connect(url.expose_secret()).await.unwrap();
    giver.execute(GIVE).await.unwrap();
    let give = async {
        until("the cleaning waits", async || (database.count(WAITS).await > 0).then_some(())).await;
        giver.execute("COMMIT").await.unwrap();
    };
    let (deleted, ()) = tokio::join!(prune_threads(&store, LATER), give);
    assert_eq!(deleted, []);
    assert!(store.thread(lease.thread_id).await.unwrap().is_some());
}

/// One thread that cannot be deleted keeps none of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_deletes_old_threads_beside_one_that_stays() {
    const OLD: &str = "UPDATE runs SET created_at = 1, finished_at = 2; UPDATE threads SET created_at = 1";
    let site = Site::new(Engine::Postgres, script()).await;
    let leases = [claimed(&site.store).await, claimed(&site.store).await, claimed(&site.store).await];
    for lease in leases {
        end(&site.store, lease).await;
    }
    let [first, stays, last] = leases.map(|lease| lease.thread_id);
    site.database.execute(OLD).await;
    let refuse = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         RAISE EXCEPTION 'it takes too long' USING ERRCODE = '57014'; END $$; \
         CREATE TRIGGER refuse BEFORE DELETE ON threads FOR EACH ROW WHEN (OLD.id = '{stays}') EXECUTE FUNCTION refuse()"
    );
    site.database.rows(refuse).await.unwrap();
    let variables = [("FATHOM_THREAD_RETENTION_DAYS", "1")];
    let mut service = site.spawn_with(&["serve", "--listen", "127.0.0.1:0"], &variables);
    for thread_id in [first, last] {
        until("it is deleted", async || site.store.thread(thread_id).await.unwrap().is_none().then_some(())).await;
    }
    assert!(site.store.thread(stays).await.unwrap().is_some());
    service.terminate().await;
    assert!(service.ends().await.success(), "{}", service.stderr());
    site.world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_are_notified_of_what_was_removed(database: TestDatabase) {
    let store = database.open().await;
    let [first, second, third] = three_runs(&store).await;
    let log = EventLog::start(store.clone(), &TaskTracker::new());
    let thread = Subject::Thread(first.thread_id);
    assert_eq!(read(&log, thread, 7, 2).await, [(8, 8), (9, 9)]);
    prune_all(&store, LATER, 100).await;
    assert_eq!(read(&log, thread, 0, 2).await, [(1, 8), (9, 9)]);
    assert_eq!(read(&log, thread, 5, 2).await, [(6, 8), (9, 9)]);
    assert_eq!(read(&log, thread, 8, 1).await, [(9, 9)]);
    let check = async |lease: Lease, after_seq, expected: &[(i64, i64)]| {
        assert_eq!(read(&log, Subject::Run(lease.run_id), after_seq, 9).await, expected, "after {after_seq}");
    };
    check(first, 0, &[(1, 4)]).await;
    check(first, 2, &[(3, 4)]).await;
    check(first, 4, &[]).await;
    check(second, 0, &[(5, 8)]).await;
    check(second, 6, &[(7, 8)]).await;
    check(second, 8, &[]).await;
    end(&store, third).await;
    check(third, 0, &[(9, 9), (10, 10), (11, 11), (12, 12)]).await;
    assert!(matches!(log.open(Subject::Run(RunId::new()), 0).await.unwrap(), Opening::Unknown));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_half_removed_has_no_hole(database: TestDatabase) {
    let store = database.open().await;
    let [first, second, _] = three_runs(&store).await;
    let log = EventLog::start(store.clone(), &TaskTracker::new());
    for removed in 1..=8 {
        assert_eq!(store.prune_events(LATER, 1).await.unwrap(), Pruned { threads: 1, events: 1 });
        let whole = std::iter::once((1, removed)).chain((removed + 1..=9).map(|seq| (seq, seq)));
        let whole: Vec<_> = whole.collect();
        assert_eq!(read(&log, Subject::Thread(first.thread_id), 0, whole.len()).await, whole);
        for (run_id, start) in [(first.run_id, 1), (second.run_id, 5)] {
            let through = removed.clamp(start - 1, start + 3);
            let gap = (through >= start).then_some((start, through));
            let expected: Vec<_> = gap.into_iter().chain((through + 1..=start + 3).map(|seq| (seq, seq))).collect();
            assert_eq!(read(&log, Subject::Run(run_id), 0, 9).await, expected, "{removed} removed");
        }
    }
    assert_eq!(store.prune_events(LATER, 1).await.unwrap(), Pruned::default());
}

/// It has read a page of the table when the rest of the run goes.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_is_notified_of_what_is_removed_before_its_eyes(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let events = (0..500).map(|number| thought(&number.to_string())).collect();
    assert_eq!(store.commit(vec![Commit { events, ..Commit::new(lease) }]).await, [Ok(())]);
    assert_eq!(store.commit(vec![finish_of(lease)]).await, [Ok(())]);
    let log = EventLog::start(store.clone(), &TaskTracker::new());
    let mut of_run = pin!(log.follow_run(lease.run_id, 0));
    let mut of_thread = pin!(log.follow(lease.thread_id, 0));
    let mut received = [Vec::new(), Vec::new()];
    received[0].push(seen(&of_run.next().await.unwrap().unwrap()));
    received[1].push(seen(&of_thread.next().await.unwrap().unwrap()));
    assert_eq!(prune_all(&store, LATER, 1000).await, 502);
    let next = next_run(&store, lease.thread_id).await;
    end(&store, next).await;
    let rest = async {
        while let Some(envelope) = of_run.next().await {
            received[0].push(seen(&envelope.unwrap()));
        }
        while received[1].last().unwrap().1 < 506 {
            received[1].push(seen(&of_thread.next().await.unwrap().unwrap()));
        }
    };
    tokio::time::timeout(SOON, rest).await.expect("both go on");
    for (received, end) in received.into_iter().zip([502, 506]) {
        assert!(received.windows(2).all(|two| two[0].1 + 1 == two[1].0), "no hole: {received:?}");
        assert_eq!((received[0].0, received.last().unwrap().1), (1, end));
        assert_eq!(received.iter().filter(|(from, to)| from < to).count(), 1, "one gap");
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_may_clean_at_once(database: TestDatabase) {
    let stores = [database.open().await, database.open().await, database.open().await];
    for _ in 0..20 {
        end(&stores[0], claimed(&stores[0]).await).await;
    }
    let cleanings = stores.iter().map(|store| prune_all(store, LATER, 1));
    assert_eq!(futures::future::join_all(cleanings).await.iter().sum::<u64>(), 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_cleans_and_tells() {
    const DAYS: &str = "UPDATE runs SET created_at = created_at - 172800000, finished_at = finished_at - 172800000; \
        UPDATE threads SET created_at = created_at - 172800000";
    let site = Site::new(Engine::Sqlite, script()).await;
    assert!(site.research().ends().await.success());
    let run = site.run().await;
    site.database.execute(DAYS).await;
    let variables = [("FATHOM_EVENT_RETENTION_DAYS", "1")];
    let mut service = site.spawn_with(&["serve", "--listen", "127.0.0.1:0"], &variables);
    let line = service.says(" on http://").await;
    let address = line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let client = Client::builder().no_proxy().build().unwrap();
    let get = async |path: &str, accept: &str, last: Option<i64>| {
        let mut request = client.get(format!("http://{address}/api/v1/runs/{}{path}", run.id)).header("accept", accept);
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        request.send().await.unwrap()
    };
    let last_seq = site.store.last_seq(run.thread_id).await.unwrap().unwrap();
    until("the events are removed", async || {
        site.store.events_after(run.thread_id, 0, 1).await.unwrap().is_empty().then_some(())
    })
    .await;
    let page: Value = get("/events", "application/json", None).await.json().await.unwrap();
    assert_eq!((&page["next_after"], &page["done"]), (&last_seq.into(), &true.into()));
    let [gap] = page["data"].as_array().unwrap().as_slice() else { panic!("{page}") };
    assert_eq!(gap["data"], serde_json::json!({"from": 1, "to": last_seq}));
    let stream = get("/events?types=report.*", "text/event-stream", None).await.text().await.unwrap();
    assert_eq!(stream, format!("retry: 3000\nevent: stream.gap\nid: {last_seq}\ndata: {gap}\n\n"));
    let again = get("/events", "text/event-stream", Some(last_seq)).await;
    assert_eq!(again.status(), StatusCode::NO_CONTENT, "a browser does not come back for ever");
    assert_eq!(get("/report", "text/markdown", None).await.status(), StatusCode::OK);
    service.terminate().await;
    assert!(service.ends().await.success(), "{}", service.stderr());
    site.world.finish();
}
