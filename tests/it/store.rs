//! What the store promises, on both engines.

use std::{collections::BTreeSet, time::Duration};

use fathom::{
    domain::{
        ApiKey, ApiKeyId, CollectionId, Cost, DocumentId, DocumentSet, Event, Failure, FailureCode, KeyScope,
        MessageId, MessageRole, Note, Outcome, Owner, Run, RunId, RunOptions, RunStatus, Scope, Source, SourceId,
        ThreadId, ThreadStatus, Timestamp, ToolKind, Upload, Usage, UseLimits, Wait, WaitKind, Waiting, WarningCode,
        event::Phase,
        report::{Citation, Report},
    },
    store::{
        Admission, CallRecord, Cancelling, ClaimFilter, Claimant, Claimed, Clock, Commit, Created, Cursor, Database,
        End, Entry, Error, Finish, HeldRun, IdempotencyKey, Lease, NEWEST_SCHEMA, NewCollection, NewEvent, NewKey,
        NewRun, NewSession, NewThread, NewUpload, PARKED, PageLimit, QueueLimits, Renewal, RetryOf, RunFilter, Schema,
        Step, StepKind, Store, Synchronous, ThreadFilter, ThreadOf, Uploaded,
    },
};
use serde_json::json;
use test_case::test_case;

use crate::{crash::until, database::TestDatabase};

pub const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// Of the test's claims.
const LEASE: Duration = Duration::from_secs(30);

pub fn new_run() -> NewRun {
    NewRun {
        thread_id: ThreadId::new(),
        run_id: RunId::new(),
        message_id: MessageId::new(),
        content: "What did the minutes decide?".to_owned(),
        options: RunOptions::default(),
        given_options: serde_json::Map::new(),
        documents: None,
        owner: Owner::local(),
        key: None,
        reserved: None,
        webhook_url: None,
        sealed_keys: None,
        retry: None,
        collections: Vec::new(),
        now: NOW,
    }
}

pub fn claimant(worker: &str) -> Claimant {
    claimant_at(worker, NOW)
}

/// The same, so much later.
pub fn claimant_at(worker: &str, now: Timestamp) -> Claimant {
    Claimant { worker: worker.to_owned(), lease: LEASE, clock: Clock::At(now) }
}

/// Creates a thread without conditions; its run.
pub async fn created(store: &Store, new_run: &NewRun) -> Run {
    match store.create_thread(new_run, &NewThread::default(), &Admission::default()).await.unwrap() {
        Created::New { run, .. } => *run,
        other => panic!("not created: {other:?}"),
    }
}

/// Adds a run without conditions.
pub async fn added(store: &Store, new_run: &NewRun) -> Result<Option<Run>, Error> {
    let created = store.add_run(new_run, &Admission::default()).await?;
    Ok(created.map(|created| match created {
        Created::New { run, .. } => *run,
        other => panic!("not created: {other:?}"),
    }))
}

/// Creates a thread and claims its run.
pub async fn claimed(store: &Store) -> Lease {
    let run = created(store, &new_run()).await;
    lease(store.claim(run.id, &claimant("a")).await.unwrap())
}

fn lease(claimed: Claimed) -> Lease {
    match claimed {
        Claimed::Yes { lease, .. } => lease,
        other => panic!("not claimed: {other:?}"),
    }
}

async fn release(store: &Store, lease: Lease) {
    store.release(lease.run_id, lease.epoch, None, Duration::ZERO, Clock::At(NOW)).await.unwrap();
}

pub fn step(key: &str) -> Step {
    Step {
        key: key.to_owned(),
        kind: StepKind::Value,
        request_hash: "ab".repeat(32),
        input_hash: String::new(),
        prompts: String::new(),
        inherited: false,
        value: format!("{{\"b\": 1,  \"a\":\"{key}\"}}"),
        started_at: NOW,
        finished_at: NOW,
        call: None,
    }
}

pub fn thought(text: &str) -> NewEvent {
    NewEvent { ts: NOW, scope: Scope::researcher(2), event: Event::Thought { text: text.to_owned() } }
}

pub fn commit_of(lease: Lease, key: &str) -> Commit {
    Commit { steps: vec![step(key)], events: vec![thought(key)], ..Commit::new(lease) }
}

pub fn finish_of(lease: Lease) -> Commit {
    let finish = Finish {
        status: RunStatus::Completed,
        outcome: Some(Outcome::Answer),
        error: None,
        report: None,
        message: Some((MessageId::new(), "It is decided.".to_owned())),
        limited_by: None,
        now: NOW,
    };
    let event = Event::RunCompleted { outcome: Outcome::Answer, usage: Usage::default(), ms: 5 };
    let events = vec![NewEvent { ts: NOW, scope: Scope::ROOT, event }];
    Commit { events, finish: Some(finish), ..Commit::new(lease) }
}

async fn commit_one(store: &Store, commit: Commit) -> Result<(), Error> {
    store.commit(vec![commit]).await.remove(0)
}

pub async fn seqs(store: &Store, thread_id: ThreadId) -> Vec<i64> {
    store.events_after(thread_id, 0, 100_000).await.unwrap().iter().map(|event| event.seq).collect()
}

async fn run_of(store: &Store, run_id: RunId) -> Run {
    store.run(run_id).await.unwrap().unwrap()
}

fn source(id: u32, url: &str) -> Source {
    Source {
        id: SourceId(id),
        aliases: Vec::new(),
        url: url.to_owned(),
        title: "Minutes".to_owned(),
        section: Some("page 3".to_owned()),
        engine: "local".to_owned(),
        score: Some(0.25),
        published: None,
        author: None,
        site: None,
        fetched_at: NOW,
        content_hash: "cd".repeat(32),
        snapshot: format!("text of {url}").into(),
        addresses: Vec::new(),
        keys: Vec::new(),
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_starts_with_its_message_and_a_queued_run(database: TestDatabase) {
    let store = database.open().await;
    store.ping().await.unwrap();
    let new_run = new_run();
    let run = created(&store, &new_run).await;
    assert_eq!(run_of(&store, run.id).await, run);
    assert_eq!((run.status, run.options), (RunStatus::Queued, RunOptions::default()));
    let thread = store.thread(new_run.thread_id).await.unwrap().unwrap();
    assert_eq!((thread.last_seq, thread.created_at), (1, NOW));
    assert_eq!((thread.status, thread.latest_run_id), (ThreadStatus::Busy, Some(run.id)));
    assert_eq!(thread.title, new_run.content);
    let messages = store.messages(new_run.thread_id).await.unwrap();
    let [message] = messages.as_slice() else { panic!("one message") };
    assert_eq!(store.message(run.thread_id, message.id).await.unwrap().as_ref(), Some(message));
    assert_eq!((message.role, &message.content), (MessageRole::User, &new_run.content));
    let events = store.events_after(new_run.thread_id, 0, 10).await.unwrap();
    let (question, options) = (new_run.content.clone(), Box::new(new_run.options.clone()));
    let created = Event::RunCreated { question, options, position: Some(1), retry_of: None };
    assert_eq!((events.len(), &events[0].event), (1, &created));
    assert_eq!(store.thread(ThreadId::new()).await.unwrap(), None);
    assert_eq!(store.run(RunId::new()).await.unwrap(), None);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_claimed_once(database: TestDatabase) {
    let store = database.open().await;
    let run = created(&store, &new_run()).await;
    let Claimed::Yes { lease, run } = store.claim(run.id, &claimant("a")).await.unwrap() else { panic!("not claimed") };
    assert_eq!((lease.epoch, run.status, run.started_at), (1, RunStatus::Running, Some(NOW)));
    let again = store.claim(run.id, &claimant("b")).await.unwrap();
    assert!(matches!(again, Claimed::HeldBy { worker, expires_at } if worker == "a" && expires_at > NOW));
    assert!(matches!(store.claim(RunId::new(), &claimant("b")).await.unwrap(), Claimed::Unknown));
    commit_one(&store, finish_of(lease)).await.unwrap();
    assert!(matches!(store.claim(run.id, &claimant("b")).await.unwrap(), Claimed::Final(_)));
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_none());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_lease_can_be_claimed_and_a_held_one_not(database: TestDatabase) {
    let store = database.open().await;
    let first = claimed(&store).await;
    let later = Timestamp(NOW.0 + 30_000);
    let renewed = store.renew(&first, LEASE, Clock::At(later)).await.unwrap();
    assert_eq!(renewed, Renewal::Held { cancel_requested: false });
    let late = claimant_at("b", later);
    assert!(matches!(store.claim(first.run_id, &late).await.unwrap(), Claimed::HeldBy { .. }));
    assert!(store.claim_next(&late, ClaimFilter::ALL).await.unwrap().is_none());
    let later = claimant_at("b", Timestamp(NOW.0 + 60_000));
    let (second, _) = store.claim_next(&later, ClaimFilter::ALL).await.unwrap().unwrap();
    assert_eq!((second.run_id, second.epoch), (first.run_id, 2));
    assert_eq!(store.renew(&first, LEASE, Clock::At(NOW)).await.unwrap(), Renewal::Lost);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_released_lease_can_be_claimed_at_once(database: TestDatabase) {
    let store = database.open().await;
    let first = claimed(&store).await;
    release(&store, first).await;
    assert_eq!(run_of(&store, first.run_id).await.status, RunStatus::Running);
    assert_eq!(store.renew(&first, LEASE, Clock::At(NOW)).await.unwrap(), Renewal::Lost);
    let second = lease(store.claim(first.run_id, &claimant("b")).await.unwrap());
    assert_eq!(second.epoch, 2);
    release(&store, first).await;
    assert!(
        matches!(store.renew(&second, LEASE, Clock::At(NOW)).await.unwrap(), Renewal::Held { .. }),
        "an old release has no effect"
    );
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_worker_is_taken_over_only_by_name(database: TestDatabase) {
    let store = database.open().await;
    let first = claimed(&store).await;
    let other = store.claim_taken_over(first.run_id, &claimant("b"), "c").await.unwrap();
    assert!(matches!(other, Claimed::HeldBy { .. }));
    let second = lease(store.claim_taken_over(first.run_id, &claimant("b"), "a").await.unwrap());
    assert_eq!(second.epoch, 2);
    assert_eq!(commit_one(&store, commit_of(first, "late")).await, Err(Error::Fenced));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_claimants_share_the_queue(database: TestDatabase) {
    let stores = [database.open().await, database.open().await];
    for _ in 0..20 {
        created(&stores[0], &new_run()).await;
    }
    let claim_all = |store: Store, worker: &'static str| async move {
        let mut mine = Vec::new();
        while let Some((lease, _)) = store.claim_next(&claimant(worker), ClaimFilter::ALL).await.unwrap() {
            mine.push(lease.run_id);
        }
        mine
    };
    let mut tasks = tokio::task::JoinSet::new();
    for (store, worker) in stores.iter().cycle().zip(["a", "b", "c", "d"]) {
        tasks.spawn(claim_all(store.clone(), worker));
    }
    let all = tasks.join_all().await.concat();
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (20, 20));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_request_reaches_the_worker(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    for _ in 0..2 {
        let cancelling = store.request_cancel(lease.run_id, Clock::At(NOW)).await.unwrap().unwrap();
        assert!(matches!(cancelling, Cancelling::Requested(run) if run.cancel_requested));
    }
    let held = HeldRun { run_id: lease.run_id, epoch: 1, cancel_requested: true, suspect: false };
    assert_eq!(store.held_by("a").await.unwrap(), [held]);
    assert_eq!(store.renew(&lease, LEASE, Clock::At(NOW)).await.unwrap(), Renewal::Held { cancel_requested: true });
    assert!(store.request_cancel(RunId::new(), Clock::At(NOW)).await.unwrap().is_none());
    commit_one(&store, finish_of(lease)).await.unwrap();
    let cancelling = store.request_cancel(lease.run_id, Clock::At(NOW)).await.unwrap().unwrap();
    assert!(matches!(cancelling, Cancelling::Final(run) if run.status == RunStatus::Completed));
    assert_eq!(store.held_by("a").await.unwrap(), []);
}

/// Whose key is missing, or who was stopped, need not be waited for. A pause after a failure stays: it may be the end
/// that could not be written.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_given_back_while_it_is_cancelled_waits_for_nothing(database: TestDatabase) {
    const PAUSE: Duration = Duration::from_secs(120);
    let store = database.open().await;
    let kind = WaitKind::Model;
    let wait = Wait { name: "openai:m".into(), kind, seconds: 120.0, attempt: 0, since: NOW, until: NOW.plus(PAUSE) };
    let waiting = Waiting::of(&wait, "set OPENAI_API_KEY");
    for (cancelled, given, pause, is_free) in [
        (true, Some(&waiting), PAUSE, true),
        (true, None, PARKED, true),
        (true, None, PAUSE, false),
        (false, Some(&waiting), PAUSE, false),
        (false, None, PARKED, false),
    ] {
        let lease = claimed(&store).await;
        if cancelled {
            store.request_cancel(lease.run_id, Clock::At(NOW)).await.unwrap();
        }
        store.release(lease.run_id, lease.epoch, given, pause, Clock::At(NOW)).await.unwrap();
        let next = store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap();
        let next = next.map(|(lease, run)| (lease.run_id, run.cancel_requested));
        assert_eq!(next, is_free.then_some((lease.run_id, true)), "{cancelled} {given:?} {pause:?}");
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_nobody_works_on_is_cancelled_at_once(database: TestDatabase) {
    let store = database.open().await;
    let queued = created(&store, &new_run()).await;
    let released = claimed(&store).await;
    release(&store, released).await;
    for run in [queued, run_of(&store, released.run_id).await] {
        let cancelling = store.request_cancel(run.id, Clock::At(NOW)).await.unwrap().unwrap();
        assert!(matches!(&cancelling, Cancelling::Done(run) if run.status == RunStatus::Cancelled), "{cancelling:?}");
        let Cancelling::Done(cancelled) = cancelling else { unreachable!() };
        assert_eq!(run_of(&store, run.id).await, cancelled);
        let events = store.events_after(run.thread_id, 0, 10).await.unwrap();
        assert!(matches!(events.last().unwrap().event, Event::RunCancelled { .. }));
        assert!(matches!(store.claim(run.id, &claimant("b")).await.unwrap(), Claimed::Final(_)));
    }
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_none());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_take_turns_and_begun_runs_go_first(database: TestDatabase) {
    let store = database.open().await;
    let of = |owner: &str, age: i64| NewRun { owner: Owner::named(owner), now: Timestamp(NOW.0 - age), ..new_run() };
    let mut greedy = Vec::new();
    for age in (1..=3).rev() {
        greedy.push(created(&store, &of("greedy", age)).await.id);
    }
    let modest = created(&store, &of("modest", 0)).await.id;
    let next = async || store.claim_next(&claimant("a"), ClaimFilter::ALL).await.unwrap().unwrap().0;
    let first = next().await;
    assert_eq!(first.run_id, greedy[0]);
    assert_eq!(next().await.run_id, modest, "who has none at work goes before who has");
    release(&store, first).await;
    assert_eq!(next().await.run_id, greedy[0], "a begun run goes before all queued ones");
    assert_eq!(next().await.run_id, greedy[1]);
}

/// A row of a newer release, or a damaged one: the others are claimed and listed, and it is tried again later.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_read_holds_up_nobody(database: TestDatabase) {
    let store = database.open().await;
    let bad = created(&store, &new_run()).await;
    database.execute("UPDATE runs SET options = '7'").await;
    assert!(matches!(store.run(bad.id).await, Err(Error::Corrupt(_))), "it cannot be read");
    let good = created(&store, &new_run()).await;
    let next =
        async |at| store.claim_next(&claimant_at("a", at), ClaimFilter::ALL).await.unwrap().map(|(_, run)| run.id);
    assert_eq!(next(NOW).await, Some(good.id), "older ones that cannot be read are passed over");
    assert_eq!(next(NOW).await, None);
    let listed: Vec<RunId> = store.runs(10).await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(listed, [good.id]);
    assert_eq!(store.overviews(None, 10).await.unwrap().len(), 1);

    let options = serde_json::to_string(&RunOptions::default()).unwrap();
    database.rows(format!("UPDATE runs SET options = '{options}'")).await.unwrap();
    assert_eq!(next(NOW).await, None, "it is left to other releases for a while");
    assert_eq!(next(NOW.plus(Duration::from_secs(61))).await, Some(bad.id));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_another_owner_is_not_found(database: TestDatabase) {
    let store = database.open().await;
    let (ann, bob) = (Owner::named("ann"), Owner::named("bob"));
    let run = created(&store, &NewRun { owner: ann.clone(), ..new_run() }).await;
    created(&store, &NewRun { owner: bob.clone(), ..new_run() }).await;
    for (owner, found) in [(Some(&ann), true), (None, true), (Some(&bob), false)] {
        let thread = store.thread_of(owner, run.thread_id).await.unwrap();
        assert_eq!(thread.map(|(_, owner)| owner), found.then(|| ann.clone()));
        let (known, whose) = store.run_of(owner, run.id).await.unwrap().unzip();
        assert_eq!((known.map(|run| run.id), whose), (found.then_some(run.id), found.then(|| ann.clone())));
        let listed = |ids: Vec<ThreadId>| (ids.len(), ids.contains(&run.thread_id));
        let expected = (if owner.is_some() { 1 } else { 2 }, found);
        let threads = store.threads(owner, None, 10).await.unwrap().items;
        assert_eq!(listed(threads.into_iter().map(|thread| thread.id).collect()), expected);
        let filter = ThreadFilter { words: Some("minutes".to_owned()), ..ThreadFilter::default() };
        let found = store.search(owner, &filter, None, 10).await.unwrap().items;
        assert_eq!(listed(found.into_iter().map(|thread| thread.id).collect()), expected);
        let filter = RunFilter { owner: owner.cloned(), ..RunFilter::default() };
        let runs = store.runs_page(&filter, None, 10).await.unwrap().items;
        assert_eq!(listed(runs.into_iter().map(|run| run.thread_id).collect()), expected);
    }
    let message = store.messages(run.thread_id).await.unwrap().remove(0);
    assert!(store.message(ThreadId::new(), message.id).await.unwrap().is_none(), "messages are found in their thread");
    assert!(store.message(run.thread_id, message.id).await.unwrap().is_some());
}

/// A search looks at the messages of the threads that it looks at, through their index, and never at everybody's,
/// however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_reads_no_messages_of_others() {
    let database = TestDatabase::postgres().await;
    let store = database.open().await;
    let filled = "INSERT INTO threads (id, created_at, last_seq, title, metadata, options, owner) \
         SELECT gen_random_uuid(), g, 1, 'A thread', '{}', '{}', CASE WHEN g % 8 = 0 THEN 'ann' ELSE 'bob' END \
         FROM generate_series(1, 16000) AS g; \
         INSERT INTO messages (id, thread_id, position, role, content, created_at) \
         SELECT gen_random_uuid(), id, 1, 'user', 'How is the gate paid for?', created_at FROM threads; \
         ANALYZE threads; ANALYZE messages; ANALYZE runs";
    database.execute(filled).await;
    let filter = ThreadFilter { words: Some("lighthouse".to_owned()), ..ThreadFilter::default() };
    let found = store.search(Some(&Owner::named("ann")), &filter, None, 20).await.unwrap();
    assert!(found.items.is_empty() && found.next.is_some(), "its window ends before the last of 2,000");
    // What a session has read is counted at its end.
    store.close().await;
    let by_index = "SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'messages'";
    until("the reads are counted", async || (database.count(by_index).await >= 1_000).then_some(())).await;
    let otherwise = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'messages'";
    assert_eq!(database.count(otherwise).await, 0);
}

/// A database may be replaced by an older one, or an empty one, beneath a service.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_migrations_are_noticed(database: TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.schema().await.unwrap(), Schema::Fits);
    let newest = "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    database.execute(newest).await;
    assert_eq!(store.schema().await.unwrap(), Schema::Lacks(1));
    database.execute("DELETE FROM _sqlx_migrations").await;
    assert_eq!(store.schema().await.unwrap(), Schema::Lacks(NEWEST_SCHEMA));
    database.execute("DROP TABLE _sqlx_migrations").await;
    assert_eq!(store.schema().await.unwrap(), Schema::Lacks(NEWEST_SCHEMA));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_retry_have_one_question(database: TestDatabase) {
    let store = database.open().await;
    let first = created(&store, &new_run()).await;
    assert_eq!(store.question(first.id).await.unwrap().as_deref(), Some("What did the minutes decide?"));
    assert_eq!(store.question(RunId::new()).await.unwrap(), None);
    store.request_cancel(first.id, Clock::At(NOW)).await.unwrap();
    let retry = Some(RetryOf { run_id: first.id, question_of: first.id });
    let again = NewRun { thread_id: first.thread_id, content: String::new(), retry, ..new_run() };
    store.add_run(&again, &Admission::default()).await.unwrap().unwrap();
    assert_eq!(store.question(again.run_id).await.unwrap().as_deref(), Some("What did the minutes decide?"));
}

/// However long a thread is, and however much has come since.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_shown_as_many_messages_as_there_is_room_for(database: TestDatabase) {
    const QUESTION: &str = "Größer?";
    let store = database.open().await;
    let first = claimed(&store).await;
    commit_one(&store, finish_of(first)).await.unwrap();
    let next = |content: &str| NewRun { thread_id: first.thread_id, content: content.to_owned(), ..new_run() };
    let asked = added(&store, &next(QUESTION)).await.unwrap().unwrap();
    store.request_cancel(asked.id, Clock::At(NOW)).await.unwrap();
    let retry = Some(RetryOf { run_id: asked.id, question_of: asked.id });
    added(&store, &NewRun { retry, ..next("Try again.") }).await.unwrap().unwrap();
    let shown = async |run_id: RunId, rows: u32, bytes: usize| {
        let messages = store.messages_until(first.thread_id, run_id, PageLimit { rows, bytes }).await.unwrap();
        messages.into_iter().map(|message| message.content).collect::<Vec<_>>()
    };
    let all = ["What did the minutes decide?", "It is decided.", QUESTION];
    // The question has nine bytes, and what was answered before it fourteen.
    for (rows, bytes, left_out) in [(9, 99, 0), (9, 24, 0), (9, 23, 1), (9, 10, 1), (9, 9, 2), (2, 99, 1), (1, 1, 2)] {
        assert_eq!(shown(asked.id, rows, bytes).await, all[left_out..], "{rows} messages, {bytes} bytes");
    }
    assert_eq!(shown(first.run_id, 9, 99).await, all[..1]);
    assert_eq!(shown(RunId::new(), 9, 99).await.len(), 4);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_messages_ends_where_either_limit_is_reached(database: TestDatabase) {
    let store = database.open().await;
    let first = claimed(&store).await;
    commit_one(&store, finish_of(first)).await.unwrap();
    let next = NewRun { thread_id: first.thread_id, ..new_run() };
    added(&store, &next).await.unwrap().unwrap();
    let all: Vec<_> = store.messages(first.thread_id).await.unwrap().into_iter().map(|message| message.id).collect();
    // They have 28, 14 and 28 bytes.
    let cases: [(u32, usize, &[usize]); 7] = [
        (9, 99, &[3]),
        (3, 99, &[3]),
        (2, 99, &[2, 1]),
        (9, 43, &[3]),
        (9, 42, &[2, 1]),
        (9, 28, &[1, 2]),
        (9, 1, &[1, 1, 1]),
    ];
    for (rows, bytes, pages) in cases {
        let (mut found, mut lengths, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let limit = PageLimit { rows, bytes };
            let page = store.messages_page(first.thread_id, after, limit).await.unwrap();
            lengths.push(page.items.len());
            found.extend(page.items.into_iter().map(|message| message.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!((lengths.as_slice(), &found), (pages, &all), "{rows} messages, {bytes} bytes");
    }
}

fn document(set: DocumentSet, name: &str) -> NewUpload {
    let upload = Upload {
        id: DocumentId::new(),
        name: name.to_owned(),
        size_bytes: 9,
        characters: 9,
        title: None,
        author: None,
        published: None,
        missing: None,
        created_at: NOW,
    };
    let sections = "[]".to_owned();
    NewUpload { set, upload, content_hash: name.to_owned(), sections, limit: 9, thread: None }
}

/// What a run may search keeps its row as long as that run is there, and then until another one is removed.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_document_that_no_run_may_search_goes_with_the_next_one_that_is_removed(database: TestDatabase) {
    let store = database.open().await;
    let id = CollectionId::new();
    let collection = NewCollection { id, owner: Owner::local(), name: "Acts".to_owned(), created_at: NOW };
    assert!(store.add_collection(&collection).await.unwrap());
    let set = DocumentSet::Collection(id);
    let add = async |name: &str| {
        let new = document(set, name);
        assert_eq!(store.add_upload(&new).await.unwrap(), Uploaded::New);
        new.upload.id
    };
    let rows = async || database.text("SELECT CAST(COUNT(*) AS TEXT) FROM documents").await.unwrap();

    let unused = add("a").await;
    assert!(store.remove_upload(set, unused, NOW).await.unwrap());
    assert_eq!(rows().await, "0");

    let searched = add("b").await;
    let run = created(&store, &NewRun { collections: vec![id], ..new_run() }).await;
    assert!(store.remove_upload(set, searched, NOW).await.unwrap());
    assert!(!store.remove_upload(set, searched, NOW).await.unwrap());
    assert!(store.has_uploads(run.id).await.unwrap());
    assert_eq!(rows().await, "1");

    assert!(store.delete_thread(run.thread_id).await.unwrap());
    let last = add("c").await;
    assert!(store.remove_upload(set, last, NOW).await.unwrap());
    assert_eq!(rows().await, "0");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_called_by_its_question_when_the_document_it_began_with_was_removed(database: TestDatabase) {
    let (store, run) = (database.open().await, new_run());
    let set = DocumentSet::Thread(run.thread_id);
    let thread = Some(ThreadOf { owner: Owner::local(), limit: 9 });
    let new = NewUpload { thread, ..document(set, "minutes.pdf") };
    assert_eq!(store.add_upload(&new).await.unwrap(), Uploaded::New);
    assert!(store.remove_upload(set, new.upload.id, NOW).await.unwrap());
    let title = async || store.thread(run.thread_id).await.unwrap().unwrap().title;
    assert_eq!(title().await, "minutes.pdf");
    added(&store, &run).await.unwrap().unwrap();
    assert_eq!(title().await, run.content);
}

/// A replica whose clock is ahead takes nothing away that counts for the others.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_sessions_expire_by_the_clock_of_the_database(database: TestDatabase) {
    const HOUR: Duration = Duration::from_secs(3_600);
    let store = database.open().await;
    let now = store.clock().await.unwrap();
    let key = |created_at: Timestamp| ApiKey {
        id: ApiKeyId::new(),
        name: "laptop".to_owned(),
        owner: Owner::local(),
        scope: KeyScope::Read,
        created_at,
        expires_at: Some(created_at.plus(HOUR)),
        revoked_at: None,
        last_used_at: None,
        limits: UseLimits::default(),
        issuer: Some("https://issuer.test".to_owned()),
    };
    let times = [now.minus(2 * HOUR), now, now.plus(2 * HOUR)];
    let keys = times.map(key);
    for key in &keys {
        store.add_key(&NewKey { key: key.clone(), secret_hash: [0; 32] }).await.unwrap();
    }
    assert_eq!(store.keys(None, 9).await.unwrap().items, [keys[2].clone(), keys[1].clone()]);
    let session = |created_at: Timestamp| NewSession {
        id: ApiKeyId::new(),
        key_id: keys[1].id,
        secret_hash: [0; 32],
        created_at,
        expires_at: created_at.plus(HOUR),
    };
    let sessions = times.map(session);
    for session in &sessions {
        store.add_session(session).await.unwrap();
    }
    for (session, is_there) in sessions.iter().zip([false, true, true]) {
        assert_eq!(store.session(session.id).await.unwrap().is_some(), is_there);
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reserved_run_is_kept_for_its_process(database: TestDatabase) {
    let store = database.open().await;
    let run = created(&store, &NewRun { reserved: Some(claimant("a")), ..new_run() }).await;
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_none());
    assert!(matches!(store.claim(run.id, &claimant("b")).await.unwrap(), Claimed::HeldBy { .. }));
    let lease = lease(store.claim(run.id, &claimant("a")).await.unwrap());
    assert_eq!((lease.epoch, lease.deaths), (1, 0));
    let orphan = created(&store, &NewRun { reserved: Some(claimant("a")), ..new_run() }).await;
    let late = claimant_at("b", Timestamp(NOW.0 + 30_000));
    let (claimed, _) = store.claim_next(&late, ClaimFilter::ALL).await.unwrap().unwrap();
    let (other, _) = store.claim_next(&late, ClaimFilter::ALL).await.unwrap().unwrap();
    assert!([claimed.run_id, other.run_id].contains(&orphan.id), "its process died before it came to claim it");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_of_workers_are_counted_until_a_step_is_stored(database: TestDatabase) {
    let store = database.open().await;
    let run = created(&store, &new_run()).await;
    let claim = async |worker: &str, leases: i64| {
        let claimant = claimant_at(worker, NOW.plus(LEASE * u32::try_from(leases).unwrap()));
        lease(store.claim(run.id, &claimant).await.unwrap())
    };
    let counted = |lease: Lease| (lease.deaths, lease.unexplained);
    assert_eq!(counted(claim("a", 0).await), (0, 0));
    let second = claim("b", 1).await;
    assert_eq!((counted(second), second.suspected_for), ((0, 1), Duration::ZERO));
    let third = claim("c", 2).await;
    assert_eq!((counted(third), third.suspected_for), ((0, 2), LEASE));
    store.excuse_unexplained_end(&second).await.unwrap();
    release(&store, third).await;
    let fourth = claim("d", 3).await;
    assert_eq!(counted(fourth), (0, 1), "giving a run back is no end, and one did not die");
    store.excuse_unexplained_end(&fourth).await.unwrap();
    assert_eq!(counted(claim("d", 4).await), (0, 1), "nobody lost it, and who claims again lives");
    assert_eq!(counted(claim("e", 5).await), (0, 2));
    let seventh = claim("f", 6).await;
    assert_eq!((counted(seventh), seventh.is_suspect()), ((0, 3), true));
    let eighth = claim("g", 7).await;
    assert_eq!(counted(eighth), (1, 4), "f worked on nothing else");
    commit_one(&store, commit_of(eighth, "a/step")).await.unwrap();
    store.excuse_unexplained_end(&third).await.unwrap();
    let ninth = claim("h", 8).await;
    assert_eq!((counted(ninth), ninth.suspected_for), ((0, 1), Duration::ZERO));
}

const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];

async fn settle(store: &Store, worker: &str, lease: Lease, in_own_work: bool) {
    let end = End { run_id: lease.run_id, epoch: lease.epoch, in_own_work };
    store.settle(worker, &[end], PAUSES, Clock::At(NOW)).await.unwrap();
}

/// Nobody is blamed for a death but the run that was being worked on; the others go on at once.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_be_why_a_process_died_is_held_back_and_the_others_are_not(database: TestDatabase) {
    let store = database.open().await;
    let (guilty, innocent) = (claimed(&store).await, claimed(&store).await);
    settle(&store, "a", innocent, false).await;
    settle(&store, "a", guilty, true).await;
    let (next, _) = store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().unwrap();
    assert_eq!((next.run_id, next.deaths, next.unexplained), (innocent.run_id, 0, 0));
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_none(), "it is held back");
    let mut now = NOW;
    for (deaths, pause) in [(1, 1), (2, 5), (3, 30), (4, 120), (5, 120)] {
        now = Timestamp(NOW.0 + pause * 1_000);
        let only_alone = ClaimFilter { suspects: false, ..ClaimFilter::ALL };
        let beside = store.claim_next(&claimant_at("b", now), only_alone).await.unwrap();
        assert_eq!(beside.is_some(), deaths < 2, "worked on alone from the second death on");
        let lease = match beside {
            Some((lease, _)) => lease,
            None => store.claim_next(&claimant_at("b", now), ClaimFilter::ALL).await.unwrap().unwrap().0,
        };
        assert_eq!((lease.deaths, lease.unexplained), (deaths, 0));
        settle(&store, "b", lease, true).await;
        // Reported twice, it is counted once.
        settle(&store, "b", lease, true).await;
    }
    assert!(store.suspect_waits(Duration::from_secs(9), Clock::At(now.plus(Duration::from_secs(10)))).await.unwrap());
    assert!(!store.suspect_waits(Duration::from_secs(11), Clock::At(now.plus(Duration::from_secs(10)))).await.unwrap());
}

/// Another machine took the runs over before anybody could say what their worker died of.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_is_explained_afterwards(database: TestDatabase) {
    let store = database.open().await;
    let late = NOW.plus(LEASE);
    let (guilty, innocent) = (claimed(&store).await, claimed(&store).await);
    let taken = async |old: Lease| lease(store.claim(old.run_id, &claimant_at("b", late)).await.unwrap());
    let (second, other) = (taken(guilty).await, taken(innocent).await);
    assert_eq!((second.unexplained, other.unexplained), (1, 1));
    // Reported twice, it is counted once.
    for _ in 0..2 {
        settle(&store, "a", guilty, true).await;
        settle(&store, "a", innocent, false).await;
    }
    for (lease, deaths) in [(second, 1), (other, 0)] {
        let overview = store.overview(lease.run_id).await.unwrap().unwrap();
        assert_eq!((overview.deaths, overview.unexplained, overview.worker.as_deref()), (deaths, 0, Some("b")));
        assert!(matches!(store.renew(&lease, LEASE, Clock::At(late)).await.unwrap(), Renewal::Held { .. }));
    }
}

/// Whatever the clock says: a process is not taken for dead by itself.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_never_takes_its_own_runs_and_takes_up_leases_that_ran_out(database: TestDatabase) {
    let store = database.open().await;
    let own = claimed(&store).await;
    let late = NOW.plus(LEASE * 2);
    assert!(store.claim_next(&claimant_at("a", late), ClaimFilter::ALL).await.unwrap().is_none());
    let no_orphans = ClaimFilter { orphans: false, ..ClaimFilter::ALL };
    assert!(store.claim_next(&claimant_at("b", late), no_orphans).await.unwrap().is_none());
    assert!(matches!(store.renew(&own, LEASE, Clock::At(late)).await.unwrap(), Renewal::Held { .. }));
    assert!(store.claim_next(&claimant_at("b", late), ClaimFilter::ALL).await.unwrap().is_none(), "it holds again");
    let later = late.plus(LEASE);
    let (taken, _) = store.claim_next(&claimant_at("b", later), ClaimFilter::ALL).await.unwrap().unwrap();
    assert_eq!((taken.run_id, taken.epoch), (own.run_id, 2));
    assert_eq!(store.renew(&own, LEASE, Clock::At(later)).await.unwrap(), Renewal::Lost);
}

/// The clock of leases is the database's.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_last_by_the_clock_of_the_database(database: TestDatabase) {
    let store = database.open().await;
    let run = created(&store, &NewRun { now: Timestamp::now(), ..new_run() }).await;
    let claimant = |worker: &str| Claimant { worker: worker.to_owned(), lease: LEASE, clock: Clock::Database };
    let (lease, run) =
        store.claim_next(&claimant("a"), ClaimFilter::ALL).await.unwrap().unwrap_or_else(|| panic!("{run:?}"));
    let now = store.clock().await.unwrap();
    assert!(now.since(run.started_at.unwrap()).abs() < 30_000 && now.since(Timestamp::now()).abs() < 30_000);
    let expires_at = async || store.overview(run.id).await.unwrap().unwrap().lease_expires_at;
    assert_eq!(expires_at().await, run.started_at.unwrap().plus(LEASE));
    store.renew(&lease, LEASE * 2, Clock::Database).await.unwrap();
    assert!(expires_at().await >= now.plus(LEASE * 2));
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_none());
    store.release(lease.run_id, lease.epoch, None, Duration::ZERO, Clock::Database).await.unwrap();
    assert!(store.claim_next(&claimant("b"), ClaimFilter::ALL).await.unwrap().is_some());
}

/// A run that is given back shows what it waits for, and goes on showing it when nobody says anything else.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_waits_for_is_shown_while_nobody_has_it(database: TestDatabase) {
    let store = database.open().await;
    created(&store, &new_run()).await;
    let kind = WaitKind::Model;
    let wait = Wait { name: "openai:m".into(), kind, seconds: 9.0, attempt: 0, since: NOW, until: NOW.plus(LEASE) };
    let waiting = Waiting::of(&wait, "set OPENAI_API_KEY");
    for given in [None, Some(&waiting), None] {
        let (lease, before) =
            store.claim_next(&claimant_at("a", NOW), ClaimFilter::ALL).await.unwrap().expect("it is free");
        store.release(lease.run_id, lease.epoch, given, Duration::ZERO, Clock::At(NOW)).await.unwrap();
        let shown = run_of(&store, lease.run_id).await.progress.waiting_for;
        assert_eq!(shown, given.cloned().or(before.progress.waiting_for));
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_in_the_queue_are_by_age(database: TestDatabase) {
    let store = database.open().await;
    let mut runs = Vec::new();
    for age in [3, 1, 2] {
        runs.push(created(&store, &NewRun { now: Timestamp(NOW.0 - age), ..new_run() }).await);
    }
    let taken = claimed(&store).await;
    runs.push(run_of(&store, taken.run_id).await);
    let details = store.details(runs).await.unwrap();
    let places: Vec<_> = details.iter().map(|details| details.queue_position).collect();
    assert_eq!(places, [Some(1), Some(3), Some(2), None]);
}

fn key(key: &str, request: &str) -> Admission {
    let idempotency = IdempotencyKey {
        scope: "POST".into(),
        key: key.into(),
        request_hash: request.into(),
        not_before: Timestamp(0),
    };
    Admission { idempotency: Some(idempotency), ..Admission::default() }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_creates_once(database: TestDatabase) {
    let store = database.open().await;
    let (first, thread) = (new_run(), NewThread::default());
    let create = async |new_run: &NewRun, admission: &Admission| store.create_thread(new_run, &thread, admission).await;
    assert!(matches!(create(&first, &key("k", "x")).await.unwrap(), Created::New { .. }));
    let Created::Before(before) = create(&new_run(), &key("k", "x")).await.unwrap() else { panic!("created twice") };
    assert_eq!((before.run_id, before.thread_id, before.response), (first.run_id, first.thread_id, None));
    store.keep_answer(key("k", "x").idempotency.as_ref().unwrap(), "{}").await.unwrap();
    let Created::Before(before) = create(&new_run(), &key("k", "x")).await.unwrap() else { panic!("created twice") };
    assert_eq!(before.response.as_deref(), Some("{}"));
    assert_eq!(create(&new_run(), &key("k", "y")).await, Err(Error::KeyReused));
    assert_eq!(store.runs(10).await.unwrap().len(), 1);
    let busy = NewRun { thread_id: first.thread_id, ..new_run() };
    assert_eq!(store.add_run(&busy, &key("other", "z")).await, Err(Error::ThreadBusy));
    assert_eq!(store.forget_keys(Timestamp(NOW.0 + 1)).await.unwrap(), 1, "a refused request leaves no key behind");
    assert!(matches!(create(&new_run(), &key("k", "y")).await.unwrap(), Created::New { .. }));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_at_the_same_time_creates_once(database: TestDatabase) {
    let stores = [database.open().await, database.open().await];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move { store.create_thread(&new_run(), &NewThread::default(), &key("k", "x")).await });
    }
    let created = tasks.join_all().await;
    let new = created.iter().filter(|created| matches!(created, Ok(Created::New { .. }))).count();
    let before = created.iter().filter(|created| matches!(created, Ok(Created::Before(_)))).count();
    assert_eq!((new, before), (1, 15), "{created:?}");
    assert_eq!(stores[0].runs(20).await.unwrap().len(), 1);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_refuses(database: TestDatabase) {
    let store = database.open().await;
    let limits = |room| {
        let limits = QueueLimits { total: 2, per_owner: 1, room, threads_per_owner: 100 };
        Admission { limits: Some(limits), ..Admission::default() }
    };
    let create = async |owner: &str| {
        let new_run = NewRun { owner: Owner::named(owner), ..new_run() };
        store.create_thread(&new_run, &NewThread::default(), &limits(0)).await
    };
    assert!(matches!(create("a").await.unwrap(), Created::New { position: 1, .. }));
    assert_eq!(create("a").await, Err(Error::QueueFull { limit: 1 }));
    assert!(matches!(create("b").await.unwrap(), Created::New { position: 2, .. }));
    assert_eq!(create("c").await, Err(Error::QueueFull { limit: 2 }));
    assert_eq!(store.load().await.unwrap().queued, 2);
    let more = store.create_thread(&new_run(), &NewThread::default(), &limits(1)).await.unwrap();
    assert!(matches!(more, Created::New { position: 3, .. }), "one of them can start at once");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_and_usage_are_counted_with_the_commits(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let events = [
        Event::PhaseStarted { phase: Phase::Research },
        Event::SupervisorIteration { n: 1, max: 6 },
        Event::ResearcherStarted { topic: "t".into(), tool_call_id: "c".into() },
        Event::ResearcherStarted { topic: "u".into(), tool_call_id: "d".into() },
        Event::ToolStarted {
            tool_call_id: "e".into(),
            name: "search_web".into(),
            kind: ToolKind::Search,
            server: None,
            args: json!({}),
        },
        Event::ToolStarted {
            tool_call_id: "f".into(),
            name: "ask_archive".into(),
            kind: ToolKind::External,
            server: None,
            args: json!({}),
        },
        Event::ResearcherFinished { notes_chars: 1, sources: 1, turns: 1, note: None },
        Event::warning(WarningCode::SearchFailed, "d"),
    ];
    let events = events.map(|event| NewEvent { ts: NOW, scope: Scope::ROOT, event });
    let tokens = Usage {
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 3,
        reasoning_tokens: 1,
        cost: Some(Cost(7)),
        ..Usage::default()
    };
    let call = CallRecord { model: "openai:gpt".to_owned(), role: "research".to_owned(), attempts: 2, usage: tokens };
    let called = |key: &str| Step { call: Some(call.clone()), ..step(key) };
    let one = Commit { steps: vec![called("a"), called("b")], events: events.to_vec(), ..Commit::new(lease) };
    let two = Commit { steps: vec![called("c")], ..Commit::new(lease) };
    assert!(store.commit(vec![one, two]).await.iter().all(Result::is_ok));
    let details = store.details(vec![run_of(&store, lease.run_id).await]).await.unwrap().remove(0);
    let progress = &details.run.progress;
    assert_eq!((progress.phase, progress.iterations, progress.searches), (Some(Phase::Research), 1, 1));
    assert_eq!((progress.researchers.running, progress.researchers.finished, progress.warnings), (1, 1, 1));
    let (model, usage) = details.usage.first_key_value().unwrap();
    assert_eq!((model.as_str(), usage.calls), ("openai:gpt", 3));
    assert_eq!(usage.tokens, store.usage(lease.run_id).await.unwrap());
    commit_one(&store, finish_of(lease)).await.unwrap();
    assert_eq!(run_of(&store, lease.run_id).await.progress.researchers.running, 0, "final runs have none at work");
}

/// Written by the short way for steps and events and by the long one for the rest; read as the phase until it is over.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_says_for_whom(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let later = NOW.plus(Duration::from_secs(30));
    let wait =
        Wait { name: "tavily".into(), kind: WaitKind::Search, seconds: 30.0, attempt: 1, since: NOW, until: later };
    let warning = Event::Warning { code: WarningCode::Retrying, detail: "it is away".into(), wait: Some(wait) };
    let ended = Event::WaitEnded { name: "tavily".into(), kind: WaitKind::Search, seconds: 30.0 };
    let tell = async |event: Event, sources: Vec<_>| {
        let commit =
            Commit { events: vec![NewEvent { ts: NOW, scope: Scope::ROOT, event }], sources, ..Commit::new(lease) };
        commit_one(&store, commit).await.unwrap();
        let progress = run_of(&store, lease.run_id).await.progress;
        (progress.phase, progress.waiting_for.map(|waiting| (waiting.name, waiting.until, waiting.reason)))
    };
    let waits = (Some(Phase::Waiting), Some(("tavily".to_owned(), later, "it is away".to_owned())));
    let phase = Event::PhaseStarted { phase: Phase::Research };
    assert_eq!(tell(phase.clone(), Vec::new()).await, (Some(Phase::Research), None));
    assert_eq!(tell(warning.clone(), Vec::new()).await, waits);
    let silent = async |at| store.silent_runs("a", at).await.unwrap().len();
    assert_eq!(
        (silent(NOW.plus(Duration::from_secs(1))).await, silent(later.plus(Duration::from_secs(1))).await),
        (0, 1)
    );
    assert_eq!(tell(ended.clone(), Vec::new()).await, (Some(Phase::Research), None));
    assert_eq!(tell(warning, vec![source(1001, "s")]).await, waits);
    assert_eq!(tell(ended, vec![source(1002, "t")]).await, (Some(Phase::Research), None));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_epoch_writes_nothing_and_its_neighbours_go_through(database: TestDatabase) {
    let store = database.open().await;
    let (old, neighbour) = (claimed(&store).await, claimed(&store).await);
    release(&store, old).await;
    let new = lease(store.claim(old.run_id, &claimant("b")).await.unwrap());
    let mut zombie = finish_of(old);
    zombie.steps.push(step("zombie"));
    zombie.sources.push(source(1001, "zombie"));
    let unknown = Lease { run_id: RunId::new(), ..old };
    let commits = vec![commit_of(neighbour, "a"), zombie, commit_of(new, "b"), commit_of(unknown, "c")];
    assert_eq!(store.commit(commits).await, [Ok(()), Err(Error::Fenced), Ok(()), Err(Error::Fenced)]);
    let keys: Vec<_> = store.journal(old.run_id).await.unwrap().into_iter().map(|step| step.key).collect();
    assert_eq!(keys, ["b"]);
    assert!(store.sources(old.run_id).await.unwrap().is_empty());
    assert_eq!(run_of(&store, old.run_id).await.status, RunStatus::Running);
    assert_eq!(seqs(&store, old.thread_id).await, [1, 2]);
    assert_eq!(seqs(&store, neighbour.thread_id).await, [1, 2]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_has_one_active_run(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let next = NewRun { thread_id: lease.thread_id, ..new_run() };
    assert_eq!(added(&store, &next).await.unwrap_err(), Error::ThreadBusy);
    assert!(added(&store, &new_run()).await.unwrap().is_none(), "no such thread");
    commit_one(&store, finish_of(lease)).await.unwrap();
    let racers = futures::future::join_all((0..4).map(|_| {
        let (store, next) = (store.clone(), NewRun { thread_id: lease.thread_id, ..new_run() });
        async move { added(&store, &next).await }
    }));
    let results = racers.await;
    assert_eq!(results.iter().filter(|result| matches!(result, Ok(Some(_)))).count(), 1, "{results:?}");
    assert_eq!(results.iter().filter(|result| **result == Err(Error::ThreadBusy)).count(), 3, "{results:?}");
    let messages = store.messages(lease.thread_id).await.unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [MessageRole::User, MessageRole::Assistant, MessageRole::User]);
    assert_eq!(seqs(&store, lease.thread_id).await, [1, 2, 3]);
}

/// What comes last in a thread does not depend on the clocks of those who write.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_comes_after_those_before_it_whatever_clocks_say(database: TestDatabase) {
    let store = database.open().await;
    let first = claimed(&store).await;
    commit_one(&store, finish_of(first)).await.unwrap();
    let next = |after_ms| NewRun { thread_id: first.thread_id, now: Timestamp(NOW.0 + after_ms), ..new_run() };
    let second = added(&store, &next(-5_000)).await.unwrap().unwrap();
    assert_eq!((second.created_at, &run_of(&store, second.id).await), (Timestamp(NOW.0 + 1), &second));
    let thread = store.thread(first.thread_id).await.unwrap().unwrap();
    assert_eq!((thread.status, thread.latest_run_id), (ThreadStatus::Busy, Some(second.id)));
    store.request_cancel(second.id, Clock::At(NOW)).await.unwrap();
    let retry = Some(RetryOf { run_id: second.id, question_of: second.id });
    let third = NewRun { retry, content: String::new(), ..next(-5_000) };
    let third = added(&store, &third).await.unwrap().expect("it is a retry of the newest run");
    store.request_cancel(third.id, Clock::At(NOW)).await.unwrap();
    let fourth = added(&store, &next(5_000)).await.unwrap().unwrap();
    assert_eq!(fourth.created_at, Timestamp(NOW.0 + 5_000));
    let newest_first: Vec<_> = store.thread_runs(first.thread_id).await.unwrap().iter().map(|run| run.id).collect();
    assert_eq!(newest_first, [fourth.id, third.id, second.id, first.run_id]);
}

/// The run is inserted while the transaction that ends the one before has not committed yet, and waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_begins_behind_the_end_of_the_one_before() {
    let database = TestDatabase::postgres().await;
    let store = database.open().await;
    let before = created(&store, &new_run()).await;
    let ends = database.execute(
        "UPDATE runs SET status = 'cancelled', finished_at = 1; UPDATE threads SET last_seq = last_seq + 1; \
         SELECT pg_sleep(1.5)",
    );
    let adds = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        added(&store, &NewRun { thread_id: before.thread_id, ..new_run() }).await.unwrap().unwrap()
    };
    tokio::join!(ends, adds);
    let first = database.count("SELECT first_seq FROM runs WHERE status = 'queued'").await;
    assert_eq!(first, 2, "the second event of the thread is the end of the first run");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_step_is_refused_alone(database: TestDatabase) {
    let store = database.open().await;
    let (lease, neighbour) = (claimed(&store).await, claimed(&store).await);
    commit_one(&store, commit_of(lease, "brief")).await.unwrap();
    let results = store.commit(vec![commit_of(neighbour, "brief"), commit_of(lease, "brief")]).await;
    assert!(matches!(results.as_slice(), [Ok(()), Err(Error::Corrupt(_))]), "{results:?}");
    assert_eq!(seqs(&store, lease.thread_id).await, [1, 2]);
    assert_eq!(seqs(&store, neighbour.thread_id).await, [1, 2]);
    assert_eq!(store.journal(lease.run_id).await.unwrap(), [step("brief")]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_run_follows_a_refused_commit(database: TestDatabase) {
    let store = database.open().await;
    let (lease, neighbour) = (claimed(&store).await, claimed(&store).await);
    let commits = ["a", "a", "b"].map(|key| commit_of(lease, key)).into_iter().chain([commit_of(neighbour, "a")]);
    let results = store.commit(commits.collect()).await;
    assert!(
        matches!(results.as_slice(), [Ok(()), Err(Error::Corrupt(_)), Err(Error::Corrupt(_)), Ok(())]),
        "{results:?}"
    );
    assert_eq!(store.journal(lease.run_id).await.unwrap(), [step("a")]);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_entry_is_written_once(database: TestDatabase) {
    let store = database.open().await;
    let (lease, other) = (claimed(&store).await, claimed(&store).await);
    let mut entries: Vec<Entry> =
        [commit_of(lease, "a"), commit_of(other, "a"), commit_of(lease, "b")].map(Entry::from).into();
    assert_eq!(store.commit_entries(&entries).await, [Ok(()), Ok(()), Ok(())]);
    entries.push(finish_of(lease).into());
    for _ in 0..2 {
        assert_eq!(store.commit_entries(&entries).await, [Ok(()), Ok(()), Ok(()), Ok(())]);
    }
    assert_eq!(seqs(&store, lease.thread_id).await, [1, 2, 3, 4]);
    assert_eq!(seqs(&store, other.thread_id).await, [1, 2]);
    assert_eq!(store.commit_entries(&[]).await, []);

    let again = claimed(&store).await;
    let mut entries: Vec<Entry> = [commit_of(again, "a"), commit_of(again, "b")].map(Entry::from).into();
    assert_eq!(store.commit_entries(&entries).await, [Ok(()), Ok(())]);
    entries.push(commit_of(again, "a").into());
    let results = store.commit_entries(&entries).await;
    assert!(matches!(results.as_slice(), [Ok(()), Ok(()), Err(Error::Corrupt(_))]), "beside a wrong one: {results:?}");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_run_is_atomic(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let mut commit = finish_of(lease);
    commit.finish = Some(Finish {
        status: RunStatus::Failed,
        outcome: None,
        error: Some(Failure::new(FailureCode::NoEvidence, "nothing found")),
        report: None,
        message: None,
        limited_by: None,
        now: Timestamp(NOW.0 + 1),
    });
    let results = store.commit(vec![commit_of(lease, "a"), commit, commit_of(lease, "after the end")]).await;
    assert_eq!(results, [Ok(()), Ok(()), Err(Error::Fenced)]);
    let run = run_of(&store, lease.run_id).await;
    assert_eq!((run.status, run.finished_at), (RunStatus::Failed, Some(Timestamp(NOW.0 + 1))));
    assert_eq!(run.error, Some(Failure::new(FailureCode::NoEvidence, "nothing found")));
    assert_eq!(commit_one(&store, commit_of(lease, "late")).await, Err(Error::Fenced));
    assert_eq!(store.renew(&lease, LEASE, Clock::At(NOW)).await.unwrap(), Renewal::Lost);

    let lease = claimed(&store).await;
    let mut contradiction = finish_of(lease);
    contradiction.finish.as_mut().unwrap().outcome = None;
    assert!(matches!(commit_one(&store, contradiction).await, Err(Error::Corrupt(_))));
    assert_eq!(run_of(&store, lease.run_id).await.status, RunStatus::Running);
    assert_eq!(seqs(&store, lease.thread_id).await, [1], "no terminal event without a final row");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_has_no_gaps_under_concurrency(database: TestDatabase) {
    const COMMITS: usize = 20;
    let stores = [database.open().await, database.open().await];
    let mut leases = Vec::new();
    for _ in 0..6 {
        leases.push(claimed(&stores[0]).await);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (number, store) in stores.iter().cycle().take(4).cloned().enumerate() {
        let leases = leases.clone();
        tasks.spawn(async move {
            for round in 0..COMMITS {
                let commits = leases.iter().map(|lease| commit_of(*lease, &format!("{number}/{round}"))).collect();
                assert!(store.commit(commits).await.iter().all(Result::is_ok));
            }
        });
    }
    tasks.join_all().await;
    let expected: Vec<i64> = (1..=i64::try_from(4 * COMMITS + 1).unwrap()).collect();
    for lease in leases {
        assert_eq!(seqs(&stores[1], lease.thread_id).await, expected);
        assert_eq!(stores[0].journal(lease.run_id).await.unwrap().len(), 4 * COMMITS);
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_met_twice_has_the_smallest_id_in_any_order(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let with = |sources: Vec<Source>| Commit { sources, ..Commit::new(lease) };
    let long = format!("https://example.org/{}", "x".repeat(9000));
    commit_one(&store, with(vec![source(1001, "a"), source(3001, "b"), source(2001, "b")])).await.unwrap();
    let again = store.commit(vec![with(vec![source(4001, "a"), source(2002, &long)]), with(vec![source(901, "a")])]);
    assert!(again.await.iter().all(Result::is_ok));
    let aliases = [vec![SourceId(1001), SourceId(4001)], vec![SourceId(3001)], vec![]];
    let expected: Vec<Source> = [(901, "a"), (2001, "b"), (2002, long.as_str())]
        .into_iter()
        .zip(aliases)
        .map(|((id, url), aliases)| Source { aliases, snapshot: Default::default(), ..source(id, url) })
        .collect();
    assert_eq!(store.sources(lease.run_id).await.unwrap(), expected);
    let by_alias = store.source(lease.run_id, SourceId(3001)).await.unwrap().unwrap();
    assert_eq!((by_alias.id, &*by_alias.snapshot), (SourceId(2001), "text of b"));
    assert_eq!(store.source(lease.run_id, SourceId(9)).await.unwrap(), None);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_adds_up(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let usage = Usage {
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 3,
        reasoning_tokens: 1,
        cost: Some(Cost(7)),
        ..Usage::default()
    };
    let call = CallRecord { model: "openai:gpt".to_owned(), role: "research".to_owned(), attempts: 2, usage };
    let calls = [("lead/1", 2), ("lead/0", 1)].map(|(key, after_ms)| Step {
        call: Some(call.clone()),
        finished_at: Timestamp(NOW.0 + after_ms),
        ..step(key)
    });
    let events = vec![
        NewEvent { event: Event::ReportStarted { attempt: 1 }, ..thought("") },
        NewEvent { event: Event::ReportStarted { attempt: 2 }, ..thought("") },
    ];
    let mut steps = calls.to_vec();
    steps.push(step("brief"));
    commit_one(&store, Commit { steps, events, ..Commit::new(lease) }).await.unwrap();
    let [later, earlier] = calls;
    assert_eq!(store.journal(lease.run_id).await.unwrap(), [step("brief"), earlier.clone(), later.clone()]);
    let ledger = [step("brief"), earlier, later].map(|step| Step { value: String::new(), ..step });
    assert_eq!(store.steps(lease.run_id).await.unwrap(), ledger);
    let mut twice = usage;
    twice += usage;
    assert_eq!(store.usage(lease.run_id).await.unwrap(), twice);
    assert_eq!(store.usage(RunId::new()).await.unwrap(), Usage::default());
    assert_eq!(store.report_attempts(lease.run_id).await.unwrap(), 2);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_and_reports_come_back(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let note = |researcher| {
        let (topic, text) = ("t".to_owned(), "found [S1001]".to_owned());
        Note { researcher, topic, text, statements: Vec::new() }
    };
    let report = Report {
        markdown: "Ünïcode\0 [1]\n".to_owned(),
        citations: vec![Citation::new(1, SourceId(1001), 8, 11)],
        dropped_citations: 2,
        ..Report::default()
    };
    let mut last = finish_of(lease);
    last.finish.as_mut().unwrap().report = Some(report.clone());
    assert_eq!(store.report(lease.run_id).await.unwrap(), None);
    let notes = Commit { notes: vec![note(2), note(1)], ..Commit::new(lease) };
    assert_eq!(store.commit(vec![notes, last]).await, [Ok(()), Ok(())]);
    assert_eq!(store.notes(lease.run_id).await.unwrap(), [note(1), note(2)]);
    assert_eq!(store.report(lease.run_id).await.unwrap(), Some(report));
}

/// What a note was checked by is part of its source, and what the whole run saw may stand before it.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_of_notes_are_places_of_their_sources(database: TestDatabase) {
    const FOUND: &str = "Dues of four crowns.";
    let store = database.open().await;
    let lease = claimed(&store).await;
    let support =
        json!({"source_id": 1001, "verdict": "supported", "passage": {"text": FOUND, "start": 10, "end": 30}});
    let statement = json!({
        "text": FOUND, "section": null, "start": 0, "end": 20, "verdict": "supported", "missing": [], "sources": [support]
    });
    let kept = |key: &str, value: serde_json::Value| Step { value: value.to_string(), ..step(key) };
    let note = Note { researcher: 1, topic: String::new(), text: format!("{FOUND} [S1001]"), statements: Vec::new() };
    let of_note = [kept("statements/r1", json!([statement])), kept("other_texts/r1", json!([["a", FOUND]]))];
    let (steps, sources, notes) = (of_note.to_vec(), vec![source(1001, "a")], vec![note]);
    commit_one(&store, Commit { steps, sources, notes, ..Commit::new(lease) }).await.unwrap();
    let placed = async || {
        let source = store.source(lease.run_id, SourceId(1001)).await.unwrap().unwrap();
        let notes = store.placed_notes(lease.run_id).await.unwrap();
        let passage = notes[0].statements[0].sources[0].passage.clone().unwrap();
        let there: String = source.snapshot.chars().skip(passage.start).take(passage.end - passage.start).collect();
        assert_eq!((&*there, &*passage.text), (FOUND, FOUND), "{}", source.snapshot);
        source.snapshot.to_string()
    };
    assert_eq!(placed().await, format!("text of a\n{FOUND}"));
    let whole = kept("other_texts", json!([["a", "Seen first."], ["a", FOUND], ["b", "Of another page."]]));
    commit_one(&store, Commit { steps: vec![whole], ..Commit::new(lease) }).await.unwrap();
    assert_eq!(placed().await, format!("text of a\nSeen first.\n{FOUND}"));
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_thread_leaves_nothing(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let mut commit = commit_of(lease, "a");
    commit.sources.push(source(1001, "a"));
    commit.notes.push(Note { researcher: 1, topic: String::new(), text: String::new(), statements: Vec::new() });
    assert_eq!(store.commit(vec![commit, finish_of(lease)]).await, [Ok(()), Ok(())]);
    let run = added(&store, &NewRun { thread_id: lease.thread_id, ..new_run() }).await.unwrap().unwrap();
    let active = self::lease(store.claim(run.id, &claimant("a")).await.unwrap());
    assert!(database.row_counts().await.iter().all(|(_, count)| *count > 0));
    assert!(store.delete_thread(lease.thread_id).await.unwrap());
    assert!(!store.delete_thread(lease.thread_id).await.unwrap());
    assert!(database.row_counts().await.iter().all(|(_, count)| *count == 0));
    assert_eq!(commit_one(&store, commit_of(active, "b")).await, Err(Error::Fenced));
    assert_eq!(store.last_seq(lease.thread_id).await.unwrap(), None);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_and_runs_are_listed_newest_first(database: TestDatabase) {
    let store = database.open().await;
    let mut runs = Vec::new();
    for number in 0..3 {
        let new_run = NewRun { now: Timestamp(NOW.0 + number / 2), ..new_run() };
        runs.push(created(&store, &new_run).await);
    }
    runs.reverse();
    assert_eq!(store.runs(2).await.unwrap(), runs[..2]);
    let first = store.runs_page(&RunFilter::default(), None, 2).await.unwrap();
    let second = store.runs_page(&RunFilter::default(), first.next, 2).await.unwrap();
    assert_eq!((first.items.as_slice(), second.items.as_slice(), second.next), (&runs[..2], &runs[2..], None));
    let threads = store.threads(None, None, 10).await.unwrap().items;
    let ids: Vec<ThreadId> = threads.iter().map(|thread| thread.id).collect();
    assert_eq!(ids, runs.iter().map(|run| run.thread_id).collect::<Vec<_>>());
    let cursor = Cursor { at: threads[0].created_at.0, id: threads[0].id.0 };
    let older = store.threads(None, Some(cursor), 1).await.unwrap();
    assert_eq!(older.items.as_slice(), &threads[1..2]);
    assert!(older.next.is_some());
    assert_eq!(store.thread_runs(ids[0]).await.unwrap(), runs[..1]);
    let queued = RunFilter { status: Some(RunStatus::Completed), ..RunFilter::default() };
    assert_eq!(store.runs_page(&queued, None, 9).await.unwrap().items, []);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nul_characters_do_no_harm(database: TestDatabase) {
    let store = database.open().await;
    let new_run = NewRun { content: "a\0b".to_owned(), ..new_run() };
    let run = created(&store, &new_run).await;
    assert_eq!(store.messages(run.thread_id).await.unwrap()[0].content, "a\u{fffd}b");
    let lease = lease(store.claim(run.id, &claimant("a\0")).await.unwrap());
    let mut commit = commit_of(lease, "k\0");
    commit.steps[0].call =
        Some(CallRecord { model: "m\0".to_owned(), role: "\0".to_owned(), attempts: 1, usage: Usage::default() });
    commit.sources.push(Source { title: "\0".to_owned(), snapshot: "s\0".into(), ..source(1001, "u\0") });
    commit.notes.push(Note { researcher: 1, topic: "\0".to_owned(), text: "\0".to_owned(), statements: Vec::new() });
    commit_one(&store, commit).await.unwrap();
    let events = store.events_after(run.thread_id, 1, 10).await.unwrap();
    assert_eq!(events[0].event, Event::Thought { text: "k\0".to_owned() }, "JSON carries it escaped");
    assert_eq!(store.sources(run.id).await.unwrap()[0].url, "u\u{fffd}");
    assert_eq!(store.journal(run.id).await.unwrap()[0].key, "k\u{fffd}");
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_texts_come_back(database: TestDatabase) {
    let store = database.open().await;
    let lease = claimed(&store).await;
    let text = "größer ".repeat(5 * 1024 * 1024 / 9);
    let mut commit = commit_of(lease, "big");
    commit.steps[0].value = serde_json::to_string(&text).unwrap();
    commit.events = vec![thought(&text)];
    commit.sources.push(Source { snapshot: text.as_str().into(), ..source(1001, "u") });
    commit_one(&store, commit.clone()).await.unwrap();
    assert_eq!(store.journal(lease.run_id).await.unwrap(), commit.steps);
    assert_eq!(store.events_after(lease.thread_id, 1, 1).await.unwrap()[0].event, commit.events[0].event);
    assert_eq!(store.source(lease.run_id, SourceId(1001)).await.unwrap().unwrap().snapshot, text.into());
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rows_fit_in_one_group(database: TestDatabase) {
    let store = database.open().await;
    let mut commits = Vec::new();
    for _ in 0..17 {
        let lease = claimed(&store).await;
        let steps = (0..61).map(|number| step(&number.to_string())).collect();
        let events = (0..201).map(|number| thought(&number.to_string())).collect();
        let sources = (0..33).map(|number| source(1001 + number, &number.to_string())).collect();
        commits.push(Commit { steps, events, sources, ..Commit::new(lease) });
    }
    assert!(store.commit(commits.clone()).await.iter().all(Result::is_ok));
    for commit in commits {
        assert_eq!(store.steps(commit.lease.run_id).await.unwrap().len(), 61);
        assert_eq!(store.sources(commit.lease.run_id).await.unwrap().len(), 33);
        let events = store.events_after(commit.lease.thread_id, 1, 1000).await.unwrap();
        assert!(events.iter().zip(&commit.events).all(|(stored, new)| stored.event == new.event));
        assert_eq!(events.last().unwrap().seq, 202);
        let page = store.run_events_after(commit.lease.run_id, 100, 7).await.unwrap();
        assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), (101..108).collect::<Vec<_>>());
    }
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_may_start_on_an_empty_database(database: TestDatabase) {
    let opened = futures::future::join_all((0..4).map(|_| Store::open(&database.database))).await;
    for store in opened {
        created(&store.unwrap(), &new_run()).await;
    }
    assert_eq!(database.open().await.runs(10).await.unwrap().len(), 4);
}

/// The order of locks: a commit locks run, then thread; adding a run must not do it crosswise.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adding_a_run_while_the_last_one_ends_never_fails(database: TestDatabase) {
    let store = database.open().await;
    let mut lease = claimed(&store).await;
    for _ in 0..25 {
        let next = NewRun { thread_id: lease.thread_id, ..new_run() };
        let add = async {
            loop {
                match added(&store, &next).await {
                    Err(Error::ThreadBusy) => tokio::task::yield_now().await,
                    result => return result.unwrap().unwrap(),
                }
            }
        };
        let (run, finished) = tokio::join!(add, commit_one(&store, finish_of(lease)));
        finished.unwrap();
        lease = self::lease(store.claim(run.id, &claimant("a")).await.unwrap());
    }
    assert_eq!(seqs(&store, lease.thread_id).await, (1..=51).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_wrong_address_says_what_to_do() {
    let good = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &good.database else { panic!("not Postgres") };
    let url = secrecy::ExposeSecret::expose_secret(url);
    let cases = [
        (url.replace("/t_", "/u_"), "does not exist"),
        (url.replace("sslmode=require", "sslmode=verify-full"), "sslrootcert in DATABASE_URL"),
        ("postgres://me:sEcret@no-such-host.invalid/db".to_owned(), "unknown"),
        ("mysql//:sEcret".to_owned(), "DATABASE_URL"),
    ];
    for (url, hint) in cases {
        let database = Database::Postgres { url: url.into(), max_connections: 2 };
        let error = Store::open(&database).await.unwrap_err();
        assert!(matches!(&error, Error::Unusable(text) if text.contains(hint)), "{error}");
        assert!(!error.to_string().contains("sEcret"), "{error}");
    }
    let closed_port = Database::Postgres { url: "postgres://me:sEcret@127.0.0.1:1/db".into(), max_connections: 2 };
    let error = Store::open(&closed_port).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if !text.contains("sEcret")), "{error}");
}

/// Whether the server is there or not: a file of the settings that is wrong does not pass as an outage does.
#[tokio::test]
async fn files_that_the_address_names_are_looked_at() {
    let good = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &good.database else { panic!("not Postgres") };
    let url = secrecy::ExposeSecret::expose_secret(url).replace("sslmode=require", "sslmode=verify-full");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let pem = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    std::fs::write(path("ca.der"), [0x30, 0x82, 0x03, 0xff]).unwrap();
    std::fs::write(path("ca.pem"), pem).unwrap();
    let away = "postgres://me@127.0.0.1:1/db?sslmode=verify-full";
    let opened = async |address: &str, parameter: &str, file: &str| {
        let url = format!("{address}&{parameter}={}", path(file)).into();
        Store::open(&Database::Postgres { url, max_connections: 2 }).await.unwrap_err()
    };
    for address in [away, &url] {
        for (parameter, file, problem) in [
            ("sslrootcert", "none.pem", "cannot be read: No such file"),
            ("ssl-ca", "", "cannot be read: Is a directory"),
            ("sslrootcert", "ca.der", "holds no certificate in PEM form"),
            ("sslkey", "ca.pem", "holds no private key in PEM form"),
        ] {
            let expected = format!("{parameter} in DATABASE_URL: {} {problem}", path(file));
            let error = opened(address, parameter, file).await;
            assert!(matches!(&error, Error::Unusable(text) if text.starts_with(&expected)), "{error:?}");
        }
    }
    let error = opened(away, "sslrootcert", "ca.pem").await;
    assert!(matches!(error, Error::Unavailable(_)), "the server is away: {error:?}");
    let error = opened(&url, "sslrootcert", "ca.pem").await;
    assert!(matches!(&error, Error::Unusable(text) if text.contains("check sslmode and sslrootcert")), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "dear diary, ".repeat(100)).unwrap();
    let error =
        Store::open(&Database::Sqlite { path: path.clone(), synchronous: Synchronous::Full }).await.unwrap_err();
    assert!(matches!(error, Error::Unusable(_)), "{error}");
    assert!(std::fs::read_to_string(path).unwrap().starts_with("dear diary"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_data_folder_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let database = TestDatabase::sqlite();
    database.open().await;
    let Database::Sqlite { path, .. } = &database.database else { panic!("not SQLite") };
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

/// No more deliveries are taken than asked for, whatever plan the database makes: after one long wait it may take the
/// table for one of a single row.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_taken_as_many_as_are_asked_for(database: TestDatabase) {
    const DUE: &str = "INSERT INTO webhook_deliveries (run_id, ended_at, next_at) SELECT id, 1, 1 FROM runs \
        WHERE id NOT IN (SELECT run_id FROM webhook_deliveries)";
    let store = database.open().await;
    let hooked = || NewRun { webhook_url: Some("https://example.com/hook".to_owned()), ..new_run() };
    created(&store, &hooked()).await;
    database.execute(DUE).await;
    database.execute("UPDATE webhook_deliveries SET next_at = 9000000000000").await;
    database.execute("ANALYZE").await;
    for _ in 0..40 {
        created(&store, &hooked()).await;
    }
    database.execute(DUE).await;
    for expected in [16, 16, 8, 0] {
        let taken = store.take_deliveries(Duration::from_secs(60), 16, Clock::Database).await.unwrap();
        assert_eq!(taken.len(), expected);
    }
}

/// Deliveries are taken by the database's clock: neither a worker whose clock is ahead nor one that looks keeps, or
/// takes, what it should not.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_due_by_the_clock_of_the_database(database: TestDatabase) {
    const CLAIM: Duration = Duration::from_secs(60);
    let store = database.open().await;
    let url = Some("https://example.com/hook".to_owned());
    let run = created(&store, &NewRun { webhook_url: url, ..new_run() }).await;
    let lease = lease(store.claim(run.id, &claimant("a")).await.unwrap());
    let mut finish = finish_of(lease);
    // By a worker whose clock is an hour ahead.
    let ended_at = Timestamp::now().plus(Duration::from_secs(3_600));
    finish.finish = finish.finish.map(|finish| Finish { now: ended_at, ..finish });
    assert_eq!(store.commit(vec![finish]).await, [Ok(())]);
    let taken = async |clock| {
        let taken = store.take_deliveries(CLAIM, 9, clock).await.unwrap();
        taken.into_iter().map(|delivery| (delivery.run.id, delivery.attempt, delivery.ended_at)).collect::<Vec<_>>()
    };
    let in_seconds = async |seconds| Clock::At(store.clock().await.unwrap().plus(Duration::from_secs(seconds)));
    assert_eq!(taken(Clock::Database).await, [(run.id, 1, ended_at)], "it is due at once");
    assert_eq!(taken(Clock::Database).await, [], "it is being delivered");
    assert_eq!(taken(in_seconds(50).await).await, []);
    assert_eq!(taken(in_seconds(70).await).await, [(run.id, 2, ended_at)], "its first taker is gone");
    store.put_off_delivery(run.id, 1, Duration::ZERO, Clock::Database).await.unwrap();
    assert_eq!(taken(Clock::Database).await, [], "who lost it does not put it off");
    store.put_off_delivery(run.id, 2, CLAIM, Clock::Database).await.unwrap();
    assert_eq!(taken(in_seconds(50).await).await, []);
    assert_eq!(taken(in_seconds(70).await).await, [(run.id, 3, ended_at)]);
}
