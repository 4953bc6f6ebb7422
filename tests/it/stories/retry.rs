//! A run that failed or was cancelled is no loss: another one goes on from its journal and asks for what is missing
//! alone.

use std::collections::BTreeSet;

use fathom::{
    domain::{Event, FailureCode, MessageRole, Outcome, Run, RunOptions, RunStatus, WarningCode},
    runs::{Ended, Refusal},
    store,
};
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, QUESTION, Story};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Reply, Script, Shape, When, World, reply},
};

/// Two researchers side by side, two searches each.
const SHAPE: Shape = Shape { researchers: 2, searches: 2, queries: 1, sentences: 8, reflections: 0 };

fn good() -> Script {
    Script::whole_run(SHAPE)
}

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    know_pages(&world);
    world
}

fn know_pages(world: &World) {
    let page = |name: &str| {
        let text = format!("The {name} of the harbour costs four crowns. It is paid by the council every year.");
        Page::new(&format!("https://harbour.test/{name}"), &format!("On the {name}"), &text)
    };
    world.web.always("1.1", Found::Pages(vec![page("gate"), page("bridge")]));
    world.web.always("1.2", Found::Pages(vec![page("quay")]));
    world.web.always("2.1", Found::Pages(vec![page("bridge"), page("light")]));
    world.web.always("", Found::Pages(vec![page("loan")]));
}

/// What an undisturbed run asks.
struct Whole {
    calls: usize,
    searches: usize,
    report: String,
}

async fn whole() -> Whole {
    let world = world(good()).await;
    let database = TestDatabase::sqlite();
    let engine = Engine::start(&world, &database, &[]).await;
    let story = engine.research(QUESTION).await;
    let whole = Whole { calls: world.models.total(), searches: world.web.total(), report: story.markdown().to_owned() };
    engine.app.close().await;
    world.finish();
    whole
}

async fn retried(engine: &Engine, run: &Run) -> Story {
    let next = engine.app.runs.retry_here(run.id, engine.options.clone()).await.unwrap();
    engine.tell(next).await
}

/// Answers, not failures, that the journal of a run holds.
fn answers(story: &Story, kind: &str) -> usize {
    story.steps.iter().filter(|step| step.kind.as_str() == kind && step.value.starts_with(r#"{"Ok""#)).count()
}

/// The retry ended with the report that an undisturbed run writes, asked for nothing that was there, and tells all of
/// it.
fn is_whole(whole: &Whole, before: &Story, story: &Story, calls: usize, searches: usize) {
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!(story.run.retry_of, Some(before.run.id));
    assert_eq!(story.markdown(), whole.report);
    assert_eq!(calls, whole.calls - answers(before, "model"), "only what was missing was asked");
    assert_eq!(searches, whole.searches - answers(before, "search"));
    let inherited = story.steps.iter().filter(|step| step.inherited && step.call.is_some());
    assert_eq!(inherited.count(), answers(before, "model"), "the ledger says what was taken over");
    assert_eq!(story.named("usage").len(), calls, "and what was paid for");
    let found: BTreeSet<_> = story.named("source.found").into_iter().map(id_of).collect();
    assert_eq!(found.len(), story.sources.len(), "the stream alone tells of every source");
    let Some(Event::RunCreated { retry_of, question, .. }) = story.own().next() else { panic!("it was created") };
    assert_eq!(*retry_of, Some(before.run.id));
    let Some(Event::RunCreated { question: asked, .. }) = before.own().next() else { panic!("it was created") };
    assert_eq!(question, asked);
}

fn id_of(event: &Event) -> u32 {
    match event {
        Event::SourceFound { source_id, .. } => source_id.0,
        other => panic!("{other:?}"),
    }
}

/// Fails by a script, is tried again in a world that is whole again.
async fn repaired(
    database: &TestDatabase,
    options: &[&str],
    broken: Script,
    code: FailureCode,
) -> (World, Engine, Story) {
    let world = world(broken).await;
    let engine = Engine::start(&world, database, options).await;
    let before = engine.research(QUESTION).await;
    before.failed_with(code);
    world.models.follow(good());
    (world, engine, before)
}

/// Works on a run until its report is asked for, and gives it back then.
async fn work_until_its_report(world: &World, engine: &Engine, run: &Run) {
    let stop = CancellationToken::new();
    let stopping = async {
        until("the report is asked for", async || (world.models.count(Kind::Report) > 0).then_some(())).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &stop), stopping);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
}

async fn finish(engine: Engine, world: World) {
    engine.app.close().await;
    world.finish();
}

fn breaking(kind: Kind, with: Reply) -> Script {
    good().always(When::kind(kind), with)
}

async fn tried_again(world: &World, engine: &Engine, before: &Story) {
    let (calls, searches) = (world.models.total(), world.web.total());
    let story = retried(engine, &before.run).await;
    let whole = whole().await;
    is_whole(&whole, before, &story, world.models.total() - calls, world.web.total() - searches);
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_could_not_be_written_is_written_with_one_more_call(database: TestDatabase) {
    let (world, engine, before) =
        repaired(&database, &[], breaking(Kind::Report, reply::status(500)), FailureCode::ModelUnavailable).await;
    let calls = world.models.total();
    tried_again(&world, &engine, &before).await;
    assert_eq!(world.models.total() - calls, 1);
    // The old run stays as it ended.
    let old = engine.app.runs.store().run(before.run.id).await.unwrap().unwrap();
    assert_eq!((old.status, old.error), (RunStatus::Failed, before.run.error.clone()));
    finish(engine, world).await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_search_goes_on_when_the_search_is_back(database: TestDatabase) {
    let world = World::start(good()).await;
    world.web.always("", Found::fault(reply::status(500)));
    let engine = Engine::start(&world, &database, &[]).await;
    let before = engine.research(QUESTION).await;
    before.failed_with(FailureCode::SearchUnavailable);
    assert_eq!((answers(&before, "search"), before.sources.len()), (0, 0));
    world.web.forget();
    know_pages(&world);
    let searches = world.web.total();
    let story = retried(&engine, &before.run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!(world.web.total() - searches, 4, "every search, once");
    let of = |kind| world.models.count(kind);
    assert_eq!((of(Kind::Clarify), of(Kind::Brief)), (1, 1), "what was answered was not asked again");
    assert_eq!(story.notes.len(), 2);
    finish(engine, world).await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_researcher_is_asked_again_and_its_sibling_is_not(database: TestDatabase) {
    let topic =
        |call: &Call| call.kind == Kind::Researcher && call.first_text().contains("Part 2 of") && call.turns() > 0;
    let script =
        good().always(When::matching(topic), reply::status(500)).always(When::kind(Kind::Report), reply::status(500));
    let (world, engine, before) = repaired(&database, &[], script, FailureCode::ModelUnavailable).await;
    assert!(before.steps.iter().any(|step| step.value.starts_with(r#"{"Err""#)));
    let asked = world.models.count(Kind::Researcher);
    let story = retried(&engine, &before.run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert!(world.models.count(Kind::Researcher) > asked);
    let first: Vec<_> =
        story.steps.iter().filter(|step| step.key.starts_with("lead/1/r1/") && step.call.is_some()).collect();
    assert!(!first.is_empty() && first.iter().all(|step| step.inherited), "the sibling was not asked again");
    assert_eq!(story.notes.len(), 2);
    assert!(story.named("researcher.failed").is_empty());
    finish(engine, world).await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_goes_on_from_where_it_was(database: TestDatabase) {
    let world = world(breaking(Kind::Compression, reply::silence())).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    let cancel = async {
        until("the notes are asked for", async || (world.models.count(Kind::Compression) > 0).then_some(())).await;
        engine.cancel(run.id).await;
    };
    let (before, ()) = tokio::join!(engine.tell(run.clone()), cancel);
    assert!(matches!(before.ended, Ended::Cancelled));
    world.models.follow(good());
    tried_again(&world, &engine, &before).await;
    finish(engine, world).await;
}

/// The new run is stopped in its middle; its own steps, those it took over included, are its journal.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_dies_goes_on_too(database: TestDatabase) {
    let (world, engine, before) =
        repaired(&database, &[], breaking(Kind::Compression, reply::status(401)), FailureCode::ModelAuth).await;
    let calls = world.models.total();
    world.models.follow(breaking(Kind::Report, reply::silence()));
    let next = engine.app.runs.retry_here(before.run.id, engine.options.clone()).await.unwrap();
    work_until_its_report(&world, &engine, &next).await;
    world.models.follow(good());
    let story = engine.tell(next).await;
    let searches = whole().await.searches - answers(&before, "search");
    is_whole(&whole().await, &before, &story, world.models.total() - calls - 1, searches);
    finish(engine, world).await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_no_longer_reads_ends_the_run_and_is_asked_again(database: TestDatabase) {
    let world = world(breaking(Kind::Report, reply::silence())).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    work_until_its_report(&world, &engine, &run).await;
    database.execute("UPDATE steps SET value = '{\"Ok\":7}' WHERE key = 'lead/1/r1/compress'").await;
    let calls = world.models.total();
    let before = engine.tell(run).await;
    before.failed_with(FailureCode::JournalCorrupt);
    assert!(before.failure().message.contains("lead/1/r1/compress"), "{}", before.failure());
    assert_eq!(world.models.total(), calls, "nothing is paid for");
    assert!(!before.notes.is_empty() && !before.sources.is_empty(), "what was found is kept");
    world.models.follow(good());
    let story = retried(&engine, &before.run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!(world.models.total() - calls, 2, "the notes that no longer read, and the report");
    finish(engine, world).await;
}

/// A proxy's page for people, half an answer, and nothing at all: no model has failed there, and a retry asks again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_answer_of_the_provider_is_waited_for_and_tried_again() {
    for broken in [reply::html(), reply::body(200, "{\"choices\": [[[ not json"), reply::body(200, "")] {
        let database = TestDatabase::sqlite();
        let (world, engine, before) =
            repaired(&database, &[], breaking(Kind::Report, broken), FailureCode::ModelUnavailable).await;
        assert!(world.models.count(Kind::Report) > 3, "{} attempts", world.models.count(Kind::Report));
        assert!(before.failure().message.contains("cannot be read"), "{}", before.failure());
        tried_again(&world, &engine, &before).await;
        finish(engine, world).await;
    }
}

/// What the model said without a word is not taken over: it is what the run failed for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_a_word_is_asked_for_again() {
    let database = TestDatabase::sqlite();
    let (world, engine, before) =
        repaired(&database, &[], breaking(Kind::Report, reply::empty()), FailureCode::ModelOutput).await;
    let calls = world.models.total();
    let story = retried(&engine, &before.run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!((story.markdown(), world.models.total() - calls), (whole().await.report.as_str(), 1));
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reason_that_may_pass_can_be_tried_again() {
    let database = TestDatabase::sqlite();
    let codes = [
        ("search_unavailable", true),
        ("model_auth", true),
        ("model_unavailable", true),
        ("model_request", true),
        ("context_window", true),
        ("journal_mismatch", true),
        ("journal_corrupt", true),
        ("timeout", true),
        ("crash_loop", true),
        ("search_auth", true),
        ("spending_limit", true),
        ("model_refused", true),
        ("model_output", true),
        ("no_evidence", false),
        ("internal", false),
    ];
    let whole = whole().await;
    for (code, may_pass) in codes {
        let (world, engine, mut before) =
            repaired(&database, &[], breaking(Kind::Report, reply::status(401)), FailureCode::ModelAuth).await;
        let id = before.run.id.to_string().replace('-', "");
        let change = format!("UPDATE runs SET error_code = '{code}' WHERE lower(hex(id)) = '{id}'");
        assert_eq!(database.rows(change).await.unwrap(), 0);
        before.run = engine.app.runs.store().run(before.run.id).await.unwrap().unwrap();
        assert_eq!(before.run.error.as_ref().unwrap().code.as_str(), code);
        if may_pass {
            let calls = world.models.total();
            let story = retried(&engine, &before.run).await;
            is_whole(&whole, &before, &story, world.models.total() - calls, 0);
        } else {
            let refused = engine.app.runs.retry_here(before.run.id, engine.options.clone()).await;
            assert!(matches!(refused, Err(Refusal::NotRetryable(why)) if why.contains(code)));
        }
        finish(engine, world).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_was_refused_is_replaced() {
    let database = TestDatabase::sqlite();
    let (world, engine, before) =
        repaired(&database, &[], breaking(Kind::Report, reply::status(401)), FailureCode::ModelAuth).await;
    tried_again(&world, &engine, &before).await;
    finish(engine, world).await;
}

fn all_models(options: &RunOptions, model: &str) -> RunOptions {
    let mut options = options.clone();
    options.set_all_models(&model.parse().unwrap());
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_goes_on_with_what_the_first_one_said() {
    let database = TestDatabase::sqlite();
    let (world, engine, before) = repaired(
        &database,
        &[],
        breaking(Kind::Report, reply::body(400, r#"{"error":{"message":"no"}}"#)),
        FailureCode::ModelRequest,
    )
    .await;
    let (calls, searches) = (world.models.total(), world.web.total());
    let options = all_models(&engine.options, "openai:another");
    let next = engine.app.runs.retry_here(before.run.id, options).await.unwrap();
    let story = engine.tell(next).await;
    is_whole(&whole().await, &before, &story, world.models.total() - calls, world.web.total() - searches);
    assert_eq!(world.models.calls().last().unwrap().model(), "another");
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_was_too_small_is_replaced() {
    let database = TestDatabase::sqlite();
    let small = breaking(Kind::Report, reply::context_overflow(100, 9_000));
    let (world, engine, before) = repaired(&database, &[], small, FailureCode::ContextWindow).await;
    let calls = world.models.total();
    let mut options = engine.options.clone();
    options.set_text("final_report_model", "openai:larger").unwrap();
    let next = engine.app.runs.retry_here(before.run.id, options).await.unwrap();
    let story = engine.tell(next).await;
    is_whole(&whole().await, &before, &story, world.models.total() - calls, 0);
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_time_was_over_gets_new_time() {
    let database = TestDatabase::sqlite();
    let world = world(breaking(Kind::Report, reply::silence())).await;
    let engine = Engine::start(&world, &database, &["max_run_seconds=10"]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    database.execute("UPDATE runs SET started_at = created_at - 5000").await;
    let before = engine.tell(run).await;
    before.failed_with(FailureCode::Timeout);
    world.models.follow(good());
    tried_again(&world, &engine, &before).await;
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_of_a_retry_knows_both() {
    let database = TestDatabase::sqlite();
    let (world, engine, first) =
        repaired(&database, &[], breaking(Kind::Compression, reply::status(401)), FailureCode::ModelAuth).await;
    // The second one gets as far as the report. The third one cannot even begin: it has next to no steps of its own.
    world.models.follow(breaking(Kind::Report, reply::status(401)));
    let second = retried(&engine, &first.run).await;
    second.failed_with(FailureCode::ModelAuth);
    let third = engine.app.runs.retry_here(second.run.id, engine.options.clone()).await.unwrap();
    engine.cancel(third.id).await;
    world.models.follow(good());
    let calls = world.models.total();
    let story = retried(&engine, &third).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!((story.markdown(), world.models.total() - calls), (whole().await.report.as_str(), 1));
    // Of a chain only the end can be tried again, and this one is done.
    for run in [&first.run, &second.run] {
        let refused = engine.app.runs.retry_here(run.id, engine.options.clone()).await;
        assert!(matches!(refused, Err(Refusal::Store(store::Error::ThreadWentOn(newest))) if newest == story.run.id));
    }
    let refused = engine.app.runs.retry_here(story.run.id, engine.options.clone()).await;
    assert!(matches!(refused, Err(Refusal::NotRetryable(_))));
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_asks_for_nothing_else_is_a_retry() {
    let database = TestDatabase::sqlite();
    for message in ["Try again.", "Nochmal bitte!", QUESTION] {
        let (world, engine, before) =
            repaired(&database, &[], breaking(Kind::Report, reply::status(401)), FailureCode::ModelAuth).await;
        let calls = world.models.total();
        let run = engine.app.runs.reply(before.run.thread_id, message, engine.options.clone()).await.unwrap();
        let story = engine.tell(run).await;
        is_whole(&whole().await, &before, &story, world.models.total() - calls, 0);
        let said: Vec<_> = story.messages.iter().map(|message| (message.role, message.content.as_str())).collect();
        let user = MessageRole::User;
        assert_eq!(said[..2], [(user, QUESTION), (user, message)], "the message is part of the thread");
        finish(engine, world).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_message_uses_what_was_found() {
    let database = TestDatabase::sqlite();
    let (world, engine, before) =
        repaired(&database, &[], breaking(Kind::Report, reply::status(401)), FailureCode::ModelAuth).await;
    let run =
        engine.app.runs.reply(before.run.thread_id, "And who decided that?", engine.options.clone()).await.unwrap();
    let story = engine.tell(run).await;
    assert_eq!((story.run.retry_of, story.named("follow_up.decided").len()), (None, 0));
    let known: BTreeSet<_> = before.sources.iter().map(|source| source.id).collect();
    let now: BTreeSet<_> = story.sources.iter().map(|source| source.id).collect();
    assert!(known.is_subset(&now) && !known.is_empty(), "{known:?} {now:?}");
    assert!(before.notes.iter().all(|note| story.notes.contains(note)));
    let report = world.models.calls_of(Kind::Report).pop().unwrap();
    assert!(report.says("These findings are older"));
    assert!(!world.models.calls_of(Kind::Brief)[1].says("The conversation holds an earlier report"));
    finish(engine, world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_pass_is_not_tried_again() {
    let database = TestDatabase::sqlite();
    let world = world(good()).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let waiting = engine.submit(QUESTION).await.unwrap();
    let refused = engine.app.runs.retry_here(waiting.id, engine.options.clone()).await;
    assert!(matches!(refused, Err(Refusal::NotFinished)));
    let refused = engine.app.runs.retry_here(fathom::domain::RunId::new(), engine.options.clone()).await;
    assert!(matches!(refused, Err(Refusal::NoSuchRun)));
    let story = engine.tell(waiting).await;
    let refused = engine.app.runs.retry_here(story.run.id, engine.options.clone()).await;
    assert!(matches!(refused, Err(Refusal::NotRetryable(why)) if why.contains("completed")));
    // After a good run the words mean something else.
    let run = engine.app.runs.reply(story.run.thread_id, "Try again.", engine.options.clone()).await.unwrap();
    assert_eq!(run.retry_of, None);
    engine.cancel(run.id).await;
    finish(engine, world).await;
}

/// A release with other prompts goes on with a run of the one before: what is stored counts, what is missing is asked
/// in the new words. What the requests are about still has to be the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_words_for_the_same_request_change_nothing_that_is_stored() {
    let database = TestDatabase::sqlite();
    for (change, code) in [
        ("UPDATE steps SET request_hash = 'x', prompts = 'older' WHERE kind = 'model'", None),
        ("UPDATE steps SET request_hash = 'x', prompts = '', input_hash = '' WHERE kind = 'model'", None),
        (
            "UPDATE steps SET request_hash = 'x', prompts = 'older', input_hash = 'y' WHERE key = 'lead/1/r1/turn/1'",
            Some(FailureCode::JournalMismatch),
        ),
        ("UPDATE steps SET request_hash = 'x' WHERE kind = 'model'", Some(FailureCode::JournalMismatch)),
    ] {
        let world = world(breaking(Kind::Report, reply::silence())).await;
        let engine = Engine::start(&world, &database, &[]).await;
        let run = engine.submit(QUESTION).await.unwrap();
        work_until_its_report(&world, &engine, &run).await;
        database.execute(change).await;
        world.models.follow(good());
        let calls = world.models.total();
        let story = engine.tell(run).await;
        match code {
            None => {
                assert_eq!(story.markdown(), whole().await.report, "{change}");
                assert_eq!(world.models.total() - calls, 1, "{change}: only the report was missing");
            }
            Some(code) => story.failed_with(code),
        }
        finish(engine, world).await;
    }
}

/// A release that asks more of notes goes on with those that the one before had used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_were_used_are_not_replaced() {
    let database = TestDatabase::sqlite();
    let world = world(breaking(Kind::Report, reply::silence())).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    work_until_its_report(&world, &engine, &run).await;
    database.execute("UPDATE steps SET request_hash = 'x', prompts = 'older' WHERE kind = 'model'").await;
    let uncited = "UPDATE steps SET value = REPLACE(value, '[S', '(T') WHERE key = 'lead/1/r1/compress'";
    database.execute(uncited).await;
    world.models.follow(good());
    let story = engine.tell(run).await;
    assert_eq!(story.warned(WarningCode::CompressionFailed), Vec::<&str>::new());
    finish(engine, world).await;
}
