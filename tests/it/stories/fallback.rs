//! Search engines that stand in: for whom, when, and what is said of it.

use fathom::{
    domain::{Event, FailureCode, WarningCode},
    runs::Ended,
};
use serde_json::json;
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::{
    engine::{Engine, QUESTION, Story},
    engines::{Web, searching_for},
};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Found, Kind, Script, Shape, When, World, reply},
};

/// Tavily is asked first, then SearXNG.
const STANDS_IN: &[&str] =
    &["search_api=tavily", "search_fallback=searxng", "max_pages_per_search=0", "max_searches=2"];

/// One researcher that searches twice, one after the other.
fn twice() -> Script {
    searching_for(&["dues", "gate"])
}

fn queries(world: &World, of: &str) -> usize {
    world.web.queries().iter().filter(|query| *query == of).count()
}

/// What the run says of the engine, in its events and under its report.
fn said(story: &Story) -> (Vec<&str>, bool) {
    let limits = story.markdown().contains("tavily → searxng (2)");
    (story.warned(WarningCode::EngineReplaced), limits)
}

/// The engine is away, has no quota left, or refuses its key: the other one's results are cited, and the first is left
/// alone.
#[test_case(503, "the search engine failed"; "away")]
#[test_case(432, "the search engine's quota is used up"; "no quota")]
#[test_case(401, "the search engine refused the API key"; "refused key")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_engine_answers_in_place_of_one_that_fails(status: u16, reason: &str) {
    let (world, web) = (World::start(twice()).await, Web::start().await);
    world.web.always("", Found::fault(reply::status(status)));
    let story = web.research(&world, STANDS_IN, "good").await;
    assert!(story.sources.iter().all(|source| source.engine == "searxng"), "{:?}", story.sources);
    assert!(story.markdown().contains("/page/1"), "it is cited: {}", story.markdown());
    let (warnings, is_in_limits) = said(&story);
    let [warning] = warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with(&format!("searxng stands in for tavily: {reason}")), "{warning}");
    assert!(is_in_limits, "{}", story.markdown());
    assert!(story.warned(WarningCode::SearchFailed).is_empty(), "{:?}", story.warnings());
    // As many as the run may make: each query counts once.
    assert_eq!((queries(&world, "gate"), web.asked("/search")), (0, 2), "it is not asked again");
    world.finish();
}

/// Neither a query that finds nothing nor one that is wrong is taken elsewhere.
#[test_case(Found::Pages(Vec::new()); "nothing found")]
#[test_case(Found::fault(reply::body(400, r#"{"detail": {"error": "It is none."}}"#)); "a wrong query")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_an_answer(found: Found) {
    let (world, web) = (World::start(twice()).await, Web::start().await);
    world.web.always("", found);
    let story = web.research(&world, STANDS_IN, "good").await;
    assert_eq!((world.web.total() >= 2, web.asked("/search")), (true, 0));
    assert!(story.warned(WarningCode::EngineReplaced).is_empty());
    world.finish();
}

/// When all refuse their keys the run ends with the reason, and no key is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_when_all_refuse_their_keys() {
    let (world, web) = (World::start(twice()).await, Web::start().await);
    world.web.always("", Found::fault(reply::status(401)));
    let story = web.research(&world, &["search_api=tavily", "search_fallback=brave"], "bad-k3y").await;
    story.failed_with(FailureCode::SearchAuth);
    assert_eq!((world.web.total(), web.asked("/res/")), (1, 1));
    let shown = format!("{:?} {:?} {:?}", story.events, story.steps, story.run);
    assert!(!shown.contains("bad-k3y"), "the key is shown");
    world.finish();
}

/// Nobody stands in as long as one of those that the run names answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_that_fails_is_not_replaced() {
    let (world, web) = (World::start(twice()).await, Web::start().await);
    let options = ["search_api=brave,searxng", "search_fallback=tavily,searxng", "max_pages_per_search=0"];
    let story = web.research(&world, &options, "bad-k3y").await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    assert_eq!((world.web.total(), web.asked("/res/"), web.asked("/search")), (0, 1, 2));
    assert!(story.warned(WarningCode::EngineReplaced).is_empty());
    assert_eq!(story.warned(WarningCode::SearchFailed).len(), 1);
    world.finish();
}

/// The process ends after the first search. The next one has its results, and says of the engine what was not said yet:
/// nothing, but the whole count under the report.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_says_nothing_twice(database: TestDatabase) {
    let search = |query: &str| reply::calls([("search_web", json!({"queries": [query]}))]);
    let researcher = || When::kind(Kind::Researcher);
    let silent = Script::whole_run(Shape::SMALL).first(researcher(), [search("dues"), reply::silence()]);
    let (world, web) = (World::start(silent).await, Web::start().await);
    world.web.always("", Found::fault(reply::status(432)));
    let engine = Engine::build(&web.config(&world, &database, STANDS_IN, "good"), &database).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    let stop = CancellationToken::new();
    let stopping = async {
        until("the second turn", async || (world.models.count(Kind::Researcher) == 2).then_some(())).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &stop), stopping);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
    engine.app.close().await;
    assert_eq!(web.asked("/search"), 1);

    let rest = [search("gate"), reply::complete_research()];
    world.models.follow(Script::whole_run(Shape::SMALL).first(researcher(), rest));
    let engine = Engine::build(&web.config(&world, &database, STANDS_IN, "good"), &database).await.unwrap();
    let story = engine.tell(run).await;
    assert_eq!((web.asked("/search"), queries(&world, "dues")), (2, 1), "what is stored is not asked again");
    let (warnings, is_in_limits) = said(&story);
    assert!(warnings.len() == 1 && is_in_limits, "{warnings:?} {}", story.markdown());
    assert!(story.own().any(|event| matches!(event, Event::RunResumed { .. })));
    engine.app.close().await;
    world.finish();
}

/// A run that goes on from another one takes its results over, and says as well whose they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_says_whose_results_it_took_over() {
    let refused = twice().always(When::kind(Kind::Report), reply::status(401));
    let (world, web) = (World::start(refused).await, Web::start().await);
    world.web.always("", Found::fault(reply::status(432)));
    let database = TestDatabase::sqlite();
    let engine = Engine::build(&web.config(&world, &database, STANDS_IN, "good"), &database).await.unwrap();
    let before = engine.research(QUESTION).await;
    before.failed_with(FailureCode::ModelAuth);
    world.models.follow(twice());
    let next = engine.app.runs.retry_here(before.run.id, engine.options.clone()).await.unwrap();
    let story = engine.tell(next).await;
    assert_eq!((web.asked("/search"), queries(&world, "dues")), (2, 1), "nothing is searched for again");
    let (warnings, is_in_limits) = said(&story);
    assert!(warnings.len() == 1 && is_in_limits, "{warnings:?} {}", story.markdown());
    engine.app.close().await;
    world.finish();
}
