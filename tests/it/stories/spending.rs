//! What a run may spend: it ends softly with a report, or with a code of its own; replay spends nothing.

use std::time::Duration;

use fathom::{
    app::App,
    domain::{FailureCode, Price, WarningCode},
    llm::Facts,
};
use serde_json::json;
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{self, Engine, QUESTION, Story, research};
use crate::{
    database::TestDatabase,
    world::{
        Call, Found, Kind, Page, Reply, Script, Shape, When, World,
        reply::{self, Tokens},
    },
};

/// Always asks for 64 topics more, each of which searches for something new in every turn.
fn greedy() -> Script {
    let delegate = |call: &Call| {
        let topic = |n| format!("Topic {n} of round {}.", call.turns());
        reply::calls((0..64).map(|n| ("ConductResearch", json!({ "research_topic": topic(n) }))))
    };
    let search = |call: &Call| {
        let topic: String =
            call.said_by("user").first().map(|topic| topic.chars().take(80).collect()).unwrap_or_default();
        reply::calls([("search_web", json!({ "queries": [format!("{topic} {}", call.turns())] }))])
    };
    Script::whole_run(Shape::SMALL).by(When::kind(Kind::Supervisor), delegate).by(When::kind(Kind::Researcher), search)
}

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    let page = Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    world
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_greedy_model_ends_softly_under_its_limit(database: TestDatabase) {
    let world = world(greedy()).await;
    let engine = Engine::start(&world, &database, &["max_model_calls=60"]).await;
    let story = engine.research(QUESTION).await;
    assert!(story.markdown().contains("[1]"), "{:?}", story.ended);
    let calls = world.models.total();
    assert!((20..=60).contains(&calls), "{calls} calls");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_model_calls"));
    let warned = story.warned(WarningCode::SpendingLimit);
    assert_eq!(warned, ["the run has spent what it may: max_model_calls is 60"], "once");
    let report = world.models.calls_of(Kind::Report).pop().unwrap();
    assert!(report.says("The research was cut short by the limits on what it may spend."));
    // Replayed, it goes the same way for nothing.
    goes_the_same_way_again(&engine, &world, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// The run is worked on once more from its journal: for nothing, to the same report and the same limit.
async fn goes_the_same_way_again(engine: &Engine, world: &World, database: &TestDatabase, story: &Story) {
    let calls = world.models.total();
    database
        .execute(
            "UPDATE runs SET status = 'running', outcome = NULL, finished_at = NULL, report = NULL, limited_by = NULL; \
             DELETE FROM messages WHERE role = 'assistant'",
        )
        .await;
    engine.app.runs.work(story.run.id, &CancellationToken::new()).await.unwrap();
    let replayed = engine.app.runs.store().report(story.run.id).await.unwrap();
    assert_eq!((replayed.as_ref(), world.models.total()), (story.report.as_ref(), calls));
    let run = engine.app.runs.store().run(story.run.id).await.unwrap().unwrap();
    assert_eq!(run.limited_by, story.run.limited_by);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_end_softly_too() {
    let database = TestDatabase::sqlite();
    let world = world(greedy()).await;
    let story = research(&world, &database, &["max_searches=7"]).await;
    assert!(story.markdown().contains("[1]"));
    assert_eq!(world.web.total(), 7);
    assert!(
        story.markdown().contains("The research ended early: the spending limit was reached"),
        "{}",
        story.markdown()
    );
    assert!(!story.markdown().contains("Searches that failed"), "a search that was not made has not failed");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_searches"));
    world.finish();
}

/// Of the last search one page may be read; the other result keeps its excerpt.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_pages_are_read_than_the_run_may_read(database: TestDatabase) {
    let search = |call: &Call| match ["first", "second", "third"].get(call.turns()) {
        Some(query) => reply::calls([("search_web", json!({ "queries": [query] }))]),
        None => reply::complete_research(),
    };
    let world = World::start(Script::whole_run(Shape::SMALL).by(When::kind(Kind::Researcher), search)).await;
    for query in ["first", "second", "third"] {
        let page = |name: &str| {
            let text = format!("The {query} gate of {name} is paid by harbour dues of four crowns.");
            Page::new(&format!("https://harbour.test/{query}/{name}"), name, &text)
        };
        world.web.always(query, Found::Pages(vec![page("Skelderwick"), page("Norderwarf")]));
    }
    let engine = Engine::start(&world, &database, &["max_pages=5"]).await;
    let story = engine.research(QUESTION).await;
    assert!(story.markdown().contains("[1]"), "{:?}", story.ended);
    assert_eq!(world.models.calls_of(Kind::Summary).len(), 5, "each page is summarised, and no other");
    assert_eq!(story.sources.len(), 6, "all are found");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_pages"));
    assert!(story.markdown().contains("- Pages left unread: the spending limit was reached"), "{}", story.markdown());
    assert_eq!(story.warned(WarningCode::SpendingLimit), ["the run has spent what it may: max_pages is 5"]);
    goes_the_same_way_again(&engine, &world, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// However many are delegated to at once.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_researchers_begin_than_the_run_may_start(database: TestDatabase) {
    let world = world(greedy()).await;
    let options = ["max_researchers=10", "max_react_tool_calls=1", "max_researcher_iterations=2"];
    let engine = Engine::start(&world, &database, &options).await;
    let story = engine.research(QUESTION).await;
    assert_eq!((story.notes.len(), world.models.calls_of(Kind::Researcher).len()), (8, 8), "four fifths of ten");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_researchers"));
    let report = story.markdown();
    assert!(report.contains("[1]") && report.contains("the spending limit was reached"), "{report}");
    let supervisor = world.models.calls_of(Kind::Supervisor);
    assert!(supervisor[1].says("80 % of max_researchers are used, so no new research starts"));
    goes_the_same_way_again(&engine, &world, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_end_softly_too() {
    let database = TestDatabase::sqlite();
    let world = world(greedy()).await;
    let story = research(&world, &database, &["max_tokens=60000"]).await;
    assert!(story.markdown().contains("[1]"));
    assert!(story.usage.input_tokens + story.usage.output_tokens <= 60_000, "{:?}", story.usage);
    assert_eq!(story.run.limited_by.as_deref(), Some("max_tokens"));
    world.finish();
}

/// Eight researchers at once whose model thinks for long in each call: what it says counts before it is said, so enough
/// is left to write the report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_side_by_side_leave_enough_for_the_report() {
    let thinking = |reply: Reply| reply.costing(Tokens { input: 3_000, cached: 0, output: 8_000, reasoning: 7_000 });
    let delegate = move |call: &Call| {
        let topic = |n| json!({ "research_topic": format!("Topic {n} of round {}.", call.turns()) });
        thinking(reply::calls((0..8).map(|n| ("ConductResearch", topic(n)))))
    };
    let search = move |call: &Call| {
        let topic = call.said_by("user").first().cloned().unwrap_or_default();
        let query = format!("{} {}", topic.chars().take(80).collect::<String>(), call.turns());
        thinking(reply::calls([("search_web", json!({ "queries": [query] }))]))
    };
    let note = move |_: &Call| thinking(reply::text("- The gate is paid by harbour dues [S1001]"));
    let script = Script::whole_run(Shape::SMALL)
        .by(When::kind(Kind::Supervisor), delegate)
        .by(When::kind(Kind::Researcher), search)
        .by(When::kind(Kind::Compression), note);
    let world = world(script).await;
    world.models.set_latency(Duration::from_millis(100));
    let options = ["max_tokens=150000", "max_concurrent_research_units=8"];
    let story = research(&world, &TestDatabase::sqlite(), &options).await;
    assert!(story.markdown().contains("[1]"), "{:?}", story.ended);
    assert_eq!((story.run.limited_by.as_deref(), story.notes.len()), (Some("max_tokens"), 8));
    assert!(story.usage.total() <= 150_000, "{:?}", story.usage);
    world.finish();
}

/// One run with models whose prices the operator has written down.
pub async fn priced(world: &World, database: &TestDatabase, options: &[&str], price: Price) -> Story {
    known(world, database, options, Facts { price: Some(price), ..Facts::default() }).await
}

/// One run whose models are all known to be like that.
pub async fn known(world: &World, database: &TestDatabase, options: &[&str], facts: Facts) -> Story {
    let mut config = engine::config(world, database, options, &[]).unwrap();
    for model in config.options.models().map(ToString::to_string).collect::<Vec<_>>() {
        config.llm.models.insert(model, facts);
    }
    let app = App::build(&config).await.unwrap();
    let engine = Engine { app, options: config.options, http: config.http, _database: database.clone() };
    engine.research(QUESTION).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_ends_softly_too() {
    let world = world(greedy()).await;
    let price = Price { input: 2.0, output: 8.0, ..Price::default() };
    // Without a limit it would spend several dollars.
    let most = 0.5;
    let story = priced(&world, &TestDatabase::sqlite(), &[&format!("max_cost_usd={most}")], price).await;
    assert!(story.markdown().contains("[1]"));
    assert_eq!(story.run.limited_by.as_deref(), Some("max_cost_usd"));
    assert!(story.usage.cost.unwrap().dollars() <= most, "{:?} of {most}", story.usage.cost);
    world.finish();
}

/// At four fifths of a limit no new research starts, and the report is written from what is there.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_new_research_starts_beyond_the_soft_limit(database: TestDatabase) {
    let delegate = |call: &Call| {
        let topic = |n| json!({ "research_topic": format!("Topic {n} of round {}.", call.turns()) });
        reply::calls((0..2).map(|n| ("ConductResearch", topic(n))))
    };
    let search = |call: &Call| match call.turns() {
        turn @ 0..4 => {
            let topic = call.said_by("user").first().cloned().unwrap_or_default();
            reply::calls([("search_web", json!({ "queries": [format!("{topic} {turn}")] }))])
        }
        _ => reply::complete_research(),
    };
    let script = Script::whole_run(Shape::SMALL);
    let script = script.by(When::kind(Kind::Supervisor), delegate).by(When::kind(Kind::Researcher), search);
    let world = world(script).await;
    let engine = Engine::start(&world, &database, &["max_searches=10", "max_researcher_iterations=3"]).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(world.web.total(), 8, "two are left");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_searches"));
    let report = story.markdown();
    assert!(report.contains("[1]") && report.contains("the spending limit was reached"), "{report}");
    let supervisor = world.models.calls_of(Kind::Supervisor);
    assert!(supervisor[1].says("About 80 % of what this research may spend is used"));
    assert!(supervisor.last().unwrap().says("80 % of max_searches are used, so no new research starts"));
    // Replayed, it goes the same way for nothing, although everything is used by then.
    goes_the_same_way_again(&engine, &world, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// A model whose answers are ten times as long as anybody expects: the first of them is paid for, those after it are
/// expected to be as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verbose_model_passes_its_limit_by_no_more_than_a_call() {
    const OUTPUT: u64 = 10_000;
    let verbose = |call: &Call| {
        let tokens = Tokens { input: 1_000, cached: 0, output: OUTPUT, reasoning: 0 };
        reply::calls([("search_web", json!({ "queries": [format!("dues {}", call.turns())] }))]).costing(tokens)
    };
    let script = Script::whole_run(Shape::SMALL).by(When::kind(Kind::Researcher), verbose);
    let world = world(script).await;
    // A verbose call costs 8.2 cents.
    let call = 0.082;
    let options = ["max_cost_usd=0.5", "max_react_tool_calls=30", "max_concurrent_research_units=1"];
    let price = Price { input: 2.0, output: 8.0, ..Price::default() };
    let story = priced(&world, &TestDatabase::sqlite(), &options, price).await;
    assert!(story.markdown().contains("[1]"), "{:?}", story.ended);
    assert_eq!(story.run.limited_by.as_deref(), Some("max_cost_usd"));
    let spent = story.usage.cost.unwrap().dollars();
    assert!(spent <= 0.5 + call, "{spent}");
    assert!(world.models.calls_of(Kind::Researcher).len() <= 5, "a fifth is kept for the report");
    world.finish();
}

/// Nobody knows what it would cost, so it is not begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_without_a_price_is_not_called_when_money_is_bounded() {
    let database = TestDatabase::sqlite();
    let world = world(greedy()).await;
    let story = research(&world, &database, &["max_cost_usd=5"]).await;
    story.failed_with(FailureCode::SpendingLimit);
    assert!(story.failure().message.contains("the price of the model is not known"), "{}", story.failure());
    assert_eq!(world.models.total(), 0);
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_leaves_nothing_to_report_is_a_failure_of_its_own() {
    let database = TestDatabase::sqlite();
    let idle = |call: &Call| reply::think(&format!("Thought {}.", call.turns()));
    let world = world(Script::whole_run(Shape::SMALL).by(When::kind(Kind::Researcher), idle)).await;
    let story = research(&world, &database, &["max_model_calls=10", "max_react_tool_calls=30"]).await;
    story.failed_with(FailureCode::SpendingLimit);
    assert!(story.failure().message.contains("max_model_calls is 10"), "{}", story.failure());
    assert!(world.models.total() <= 10);
    world.finish();
}

/// A model whose answers end in errors of its own is asked three times, and what that took counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_cannot_be_used_are_counted_and_not_asked_for_without_end() {
    let broken = || {
        let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "error"}],
            "usage": {"prompt_tokens": 70_000, "completion_tokens": 5_000}});
        reply::body(200, &answer.to_string())
    };
    let script = || Script::whole_run(Shape::SMALL);
    let whole = world(script()).await;
    let usual = research(&whole, &TestDatabase::sqlite(), &[]).await.usage;
    whole.finish();
    let once = world(script().first(When::kind(Kind::Brief), [broken()])).await;
    let story = research(&once, &TestDatabase::sqlite(), &[]).await;
    assert!(story.report.is_some());
    assert_eq!(story.usage.total(), usual.total() + 75_000, "{:?}", story.usage);
    assert_eq!(once.models.count(Kind::Brief), 2);
    once.finish();
    let always = world(script().always(When::kind(Kind::Report), broken())).await;
    let story = research(&always, &TestDatabase::sqlite(), &[]).await;
    story.failed_with(FailureCode::ModelUnavailable);
    assert_eq!(always.models.count(Kind::Report), 3);
    assert!((225_000..225_000 + usual.total()).contains(&story.usage.total()), "{:?}", story.usage);
    always.finish();
}
