//! What happens around a run: the database goes away, somebody cancels, the process stops and another goes on.

use std::time::Duration;

use fathom::{
    domain::{Outcome, RunStatus, WarningCode, claim::Verdict},
    runs::Ended,
    store::{Clock, Database},
};
use secrecy::ExposeSecret as _;
use sqlx::{Connection as _, Executor as _, PgConnection};
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, QUESTION};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

/// Waits until the condition holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("{what} never came"));
}

/// An outage of more than a second, in the middle of the research: the run waits, says so, and goes on; nothing is
/// asked twice.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_away_and_comes_back_loses_nothing(database: TestDatabase) {
    let slow = reply::search(["dues"]).after(Duration::from_secs(1));
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), [slow]);
    let world = World::start(script).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    let trouble = async {
        until("the first turn", || world.models.count(Kind::Researcher) > 0).await;
        let outage = database.outage().await;
        // How long the outage lasts is part of the story.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert_eq!(world.web.total(), 0, "nothing is built on what is not stored");
        outage.end().await;
    };
    let (story, ()) = tokio::join!(engine.tell(run), trouble);
    assert!(story.report.is_some());
    assert_eq!(world.models.count(Kind::Researcher), 3);
    assert!(story.warned(WarningCode::StorageDelayed)[0].contains("the database took"), "{:?}", story.warnings());
    engine.app.close().await;
    world.finish();
}

/// The schema is changed beneath a run and fixed again: an operator has to act, so it looks as if it were for ever. What
/// was answered meanwhile is kept, not thrown away and paid for once more.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_was_away_for_a_while_costs_no_call(database: TestDatabase) {
    let slow = reply::search(["dues"]).after(Duration::from_secs(1));
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), [slow]);
    let world = World::start(script).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    let trouble = async {
        until("the first turn", || world.models.count(Kind::Researcher) > 0).await;
        database.execute("ALTER TABLE steps RENAME TO steps_away").await;
        let answered = || world.models.calls_of(Kind::Researcher)[0].ended() == crate::world::Ended::Finished;
        until("the answer", answered).await;
        // How long it is away is part of the story.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        database.execute("ALTER TABLE steps_away RENAME TO steps").await;
    };
    let (story, ()) = tokio::join!(engine.tell(run), trouble);
    assert!(story.report.is_some(), "{:?}", story.ended);
    let stored = story.steps.iter().filter(|step| step.call.is_some()).count();
    assert_eq!(world.models.total(), stored, "each call is made once, and its answer stored");
    engine.app.close().await;
    world.finish();
}

/// The original had no way to stop it. The call in flight is dropped, and nothing is paid for any more.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_in_the_middle_of_a_call(database: TestDatabase) {
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Researcher), reply::silence());
    let world = World::start(script).await;
    let lease = [("FATHOM_LEASE_SECONDS", "2".to_owned())];
    let engine = Engine::with(&world, &database, &[], &lease).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    let run_id = run.id;
    let cancel = async {
        until("the call", || world.models.count(Kind::Researcher) > 0).await;
        engine.app.runs.store().request_cancel(run_id, Clock::Database).await.unwrap();
    };
    let (story, ()) = tokio::join!(engine.tell(run), cancel);
    assert!(matches!(story.ended, Ended::Cancelled));
    assert_eq!(story.run.status, RunStatus::Cancelled);
    until("the end of the call", || world.models.calls_of(Kind::Researcher)[0].ended() == crate::world::Ended::Aborted)
        .await;
    engine.app.close().await;
    world.finish();
}

/// Stopped at each stage in turn, and gone on with: what is under way is let end, so every model call is made once, and
/// the report, when it is under way, is written to its end.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_run_goes_on_without_a_call_made_twice(database: TestDatabase) {
    let world = World::start(Script::whole_run(Shape::SMALL).latency(Duration::from_millis(20))).await;
    let stages = [Kind::Brief, Kind::Supervisor, Kind::Researcher, Kind::Summary, Kind::Compression, Kind::Report];
    let first = Engine::start(&world, &database, &[]).await;
    let run = first.submit(QUESTION).await.unwrap();
    first.app.close().await;
    // On a busy machine the rest of a report takes longer than the moment that stories usually grant.
    let grace = [("FATHOM_GRACE_SECONDS", "60".to_owned())];
    for kind in stages {
        let engine = Engine::with(&world, &database, &[], &grace).await.unwrap();
        let cancel = CancellationToken::new();
        let before = world.models.count(kind);
        let stop = async {
            until("the stage", || world.models.count(kind) > before).await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &cancel), stop);
        match kind {
            Kind::Report => assert!(matches!(ended, Ok(Ended::Completed(_))), "{ended:?}"),
            _ => assert!(matches!(ended, Ok(Ended::Interrupted)), "{kind:?}: {ended:?}"),
        }
        engine.app.close().await;
    }
    let last = Engine::start(&world, &database, &[]).await;
    let story = last.story_of(run, Ended::Completed(Outcome::Report)).await;
    assert!(story.report.is_some());
    assert_eq!(story.named("run.resumed").len(), stages.len() - 1);
    let stored = story.steps.iter().filter(|step| step.call.is_some()).count();
    assert_eq!(world.models.total(), stored, "each call is made once, and its answer stored");
    last.app.close().await;
    world.finish();
}

/// What another researcher saw of a page need not be there yet when a note is checked once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_is_checked_by_the_texts_that_an_earlier_life_kept_for_it() {
    let database = TestDatabase::sqlite();
    let script = Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Compression), reply::text("The gate took a loan of 412,000 crowns [S1001]."))
        .always(When::kind(Kind::Report), reply::text("# Dues\n\nThe gate is paid by harbour dues [S1001]."));
    let world = World::start(script).await;
    let page = Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    let first = Engine::start(&world, &database, &["read_pages=false"]).await;
    let run = first.submit(QUESTION).await.unwrap();
    let cancel = CancellationToken::new();
    let stop = async {
        until("the first turn", || world.models.count(Kind::Researcher) > 0).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(first.app.runs.work(run.id, &cancel), stop);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
    first.app.close().await;
    let kept = "INSERT INTO steps (run_id, key, kind, request_hash, value, started_at, finished_at) \
        SELECT id, 'other_texts/r1', 'mark', '', \
        '[[\"https://harbour.test/dues\", \"The gate took a loan of 412,000 crowns.\"]]', 0, 0 FROM runs";
    database.execute(kept).await;
    let engine = Engine::start(&world, &database, &["read_pages=false"]).await;
    let story = engine.tell(run).await;
    assert_eq!(story.notes[0].statements[0].verdict, Verdict::Supported);
    engine.app.close().await;
    world.finish();
}

/// What a run goes on from is read for longer than its lease: the lease is renewed beside that, or another process
/// would take the run over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_kept_while_its_run_is_prepared() {
    const LEASE_ENDS: &str = "SELECT COALESCE(MAX(lease_expires_at), 0) FROM runs WHERE status = 'running'";
    let database = TestDatabase::postgres().await;
    let Database::Postgres { url, .. } = &database.database else { panic!("it is Postgres") };
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let lease = [("FATHOM_LEASE_SECONDS", "2".to_owned())];
    let engine = Engine::with(&world, &database, &[], &lease).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    let mut holder = PgConnection::connect(url.expose_secret()).await.unwrap();
    holder.execute("BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let hold = async {
        let ends = async |after: i64| loop {
            match database.count(LEASE_ENDS).await {
                at if at > after => break at,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let kept = async { ends(ends(0).await + 2_000).await };
        tokio::time::timeout(Duration::from_secs(20), kept).await.expect("the lease outlives its first length");
        holder.execute("ROLLBACK").await.unwrap();
    };
    let (story, ()) = tokio::join!(engine.tell(run), hold);
    assert!(story.report.is_some() && story.named("run.resumed").is_empty(), "{:?}", story.ended);
    engine.app.close().await;
    world.finish();
}

/// Ten at once in one process, one database: each has its own numbers, sources and report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_side_by_side_keep_to_themselves() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let questions: Vec<_> = (1..=10).map(|n| format!("Question number {n}?")).collect();
    let stories = futures::future::join_all(questions.iter().map(|question| engine.research(question))).await;
    for (question, story) in questions.iter().zip(&stories) {
        assert_eq!(&story.messages[0].content, question);
        assert_eq!(story.sources.len(), 5);
        assert!(story.report.is_some());
    }
    engine.app.close().await;
    world.finish();
}
