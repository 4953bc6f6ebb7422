//! Providers that are away for a while: runs wait for them, say so, and lose nothing by it.

use std::time::Duration;

use fathom::domain::{Event, FailureCode, Wait, WaitKind, WarningCode, event::Phase};

use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, Story};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Script, Shape, When, World, reply},
};

/// The attempts in which a provider is away; waits begin with 20 ms in stories, so it comes to a second or two.
const ATTEMPTS: usize = 8;

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

fn away() -> [reply::Reply; ATTEMPTS] {
    std::array::from_fn(|_| reply::status(503))
}

fn patient() -> Vec<(&'static str, String)> {
    vec![("FATHOM_RETRY_SECONDS", "600".to_owned())]
}

async fn research(world: &World, database: &TestDatabase, options: &[&str]) -> Story {
    let engine = Engine::with(world, database, options, &patient()).await.unwrap();
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    story
}

fn waits(story: &Story) -> Vec<&Wait> {
    let wait = |event| match event {
        &Event::Warning { wait: Some(ref wait), .. } => Some(wait),
        _ => None,
    };
    story.own().filter_map(wait).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_engine_that_is_away_costs_no_evidence() {
    let database = TestDatabase::sqlite();
    let world = World::start(small()).await;
    world.web.first("", away().map(Found::fault));
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.sources.len(), 5, "as many as without the outage");
    assert!(story.report.is_some());
    assert!(story.warned(WarningCode::SearchFailed).is_empty());
    let waits = waits(&story);
    assert!(waits.iter().all(|wait| wait.name == "tavily" && wait.kind == WaitKind::Search), "{waits:?}");
    // The queries that wait together share their waits.
    assert!((1..=ATTEMPTS).contains(&waits.len()), "{waits:?}");
    assert!(world.web.total() > ATTEMPTS, "{} requests", world.web.total());
    assert!(matches!(story.named("wait.ended").as_slice(), [Event::WaitEnded { kind: WaitKind::Search, .. }]));
    assert_eq!(story.run.progress.waiting_for, None);
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_away_ends_no_run_at_any_stage() {
    let stages = [Kind::Clarify, Kind::Supervisor, Kind::Researcher, Kind::Summary, Kind::Compression, Kind::Report];
    for kind in stages {
        let world = World::start(small().first(When::kind(kind), away())).await;
        let story = research(&world, &TestDatabase::sqlite(), &[]).await;
        assert!(story.report.is_some(), "{kind:?}");
        let odd: Vec<_> = story.warnings().into_iter().filter(|(code, _)| *code != WarningCode::Retrying).collect();
        assert!(odd.is_empty(), "{odd:?} after {kind:?} was away");
        world.finish();
    }
}

/// The five summaries of a search wait side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_wait_together_tell_it_together() {
    let database = TestDatabase::sqlite();
    // Each of the five finds nobody once, and then one asks for all.
    let many: Vec<_> = (0..12).map(|_| reply::status(503)).collect();
    let world = World::start(small().first(When::kind(Kind::Summary), many)).await;
    let story = research(&world, &database, &[]).await;
    assert!(story.report.is_some());
    assert!(world.models.count(Kind::Summary) > 12);
    // Five calls that each reported every wait would write forty; a busy machine lets a few waits drift apart.
    assert!(waits(&story).len() <= 20, "{} events", waits(&story).len());
    assert_eq!(story.named("wait.ended").len(), 1);
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_waits_says_for_whom_and_until_when(database: TestDatabase) {
    let limited = reply::status(429).retry_after(2);
    let world = World::start(small().first(When::kind(Kind::Researcher), [limited])).await;
    let engine = Engine::with(&world, &database, &[], &patient()).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    let (store, run_id) = (engine.app.runs.store(), run.id);
    let look = async {
        loop {
            let progress = store.run(run_id).await.unwrap().unwrap().progress;
            if let Some(waiting) = progress.waiting_for {
                break (progress.phase, waiting);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let (story, (phase, waiting)) = tokio::join!(engine.tell(run), look);
    assert_eq!((phase, waiting.kind), (Some(Phase::Waiting), WaitKind::Model));
    assert_eq!(waiting.name, story.run.options.research_model.to_string());
    assert!(waiting.reason.contains("rate limited"), "{}", waiting.reason);
    assert_eq!(waiting.until.since(waiting.since), 2_000);
    let [wait] = waits(&story).try_into().unwrap();
    assert_eq!((wait.seconds, wait.attempt), (2.0, 1));
    assert_eq!((story.run.progress.phase, story.run.progress.waiting_for), (Some(Phase::Report), None));
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_longer_than_the_run_has_ends_it_at_once_with_the_reason() {
    let database = TestDatabase::sqlite();
    let limited = reply::status(429).retry_after(400);
    let world = World::start(small().always(When::any(), limited)).await;
    let story = research(&world, &database, &["max_run_seconds=300"]).await;
    story.failed_with(FailureCode::ModelUnavailable);
    let message = &story.failure().message;
    assert!(message.contains("in 400 s") && message.contains("no time"), "{message}");
    assert!(waits(&story).is_empty(), "nobody waited");
    world.finish();
}

/// The first researcher found something, then the supervisor is asked to come back when research has to be over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_longer_than_the_research_has_leaves_time_to_write() {
    let database = TestDatabase::sqlite();
    let limited = reply::status(429).retry_after(250);
    let script = small().always(When::kind(Kind::Supervisor).but_not(When::turns(0)), limited);
    let world = World::start(script).await;
    let story = research(&world, &database, &["max_run_seconds=300"]).await;
    assert!(story.report.is_some());
    assert!(story.warned(WarningCode::ResearcherFailed)[0].contains("no time"), "{:?}", story.warnings());
    world.finish();
}

/// Waiting for three seconds in a time of two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_researcher_is_not_out_of_time_because_it_waited() {
    let database = TestDatabase::sqlite();
    let world = World::start(small()).await;
    world.web.first("", [Found::fault(reply::status(429).retry_after(4))]);
    let engine = Engine::with(&world, &database, &["max_researcher_seconds=3"], &patient()).await.unwrap();
    let story = engine.research(QUESTION).await;
    assert!(story.report.is_some());
    assert!(story.warned(WarningCode::ResearcherFailed).is_empty(), "{:?}", story.warnings());
    engine.app.close().await;
    world.finish();
}

/// It never pauses for longer than the idle limit, and would go on for minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_drips_is_given_up_and_written_again() {
    let database = TestDatabase::sqlite();
    let drips = reply::text("The gate is paid by harbour dues [S1001]. ".repeat(400)).pace(Duration::from_millis(100));
    let world = World::start(small().first(When::kind(Kind::Report), [drips])).await;
    let mut variables = patient();
    variables.push(("FATHOM_MODEL_STREAM_SECONDS", "1".to_owned()));
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let story = engine.research(QUESTION).await;
    assert!(story.report.is_some());
    assert_eq!((world.models.count(Kind::Report), story.named("report.started").len()), (2, 2));
    let again = story.warned(WarningCode::Retrying);
    assert!(again[0].starts_with("the report is written again: ") && again[0].contains("in time"), "{again:?}");
    engine.app.close().await;
    world.finish();
}

/// A provider without JSON schema: one summary finds out, and those of the next search ask by tool at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_of_answer_that_a_model_cannot_give_is_not_asked_for_again() {
    let database = TestDatabase::sqlite();
    let refusal = r#"{"error":{"message":"response_format is not supported","type":"invalid_request_error"}}"#;
    let native = || When::matching(|call| call.schema_name().is_some());
    let is_brief =
        When::matching(|call| call.first_text().contains("Turn it into one detailed, concrete research question."));
    let script = small()
        .always(native(), reply::body(400, refusal))
        .by(is_brief.and(When::offers("answer")), |_| reply::brief("How is the gate paid?"))
        .by(When::offers("answer"), |_| reply::json(json!({"summary": "Dues.", "key_excerpts": []})));
    let world = World::start(script).await;
    let engine = Engine::with(&world, &database, &["allow_clarification=false"], &patient()).await.unwrap();
    assert!(engine.research(QUESTION).await.report.is_some());
    let first = world.models.calls_matching(|call| call.schema_name().is_some()).len();
    assert!(first > 0);
    assert!(engine.research("How deep is the harbour?").await.report.is_some());
    let all = world.models.calls_matching(|call| call.schema_name().is_some()).len();
    assert_eq!(all, first, "the second run knows");
    engine.app.close().await;
    world.finish();
}
