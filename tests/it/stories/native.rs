//! A whole run that searches by a model's provider: its results are sources like any others, and what it took is in the
//! books.

use fathom::{domain::digest, telemetry::metrics::Metrics};
use serde_json::json;

use super::engine::{self, Engine, QUESTION, Story};
use crate::{
    database::TestDatabase,
    fake_vendor::{FakeVendor, Reply},
    world::{Call, Kind, Script, Shape, When, World, reply},
};

const KEY: &str = "key-of-anthropic-0123";

/// What each search finds: two searches for one query, one page that is cited and one that is not.
fn answer() -> Reply {
    answer_after_reading(1_000)
}

/// The same, by a provider that counts so many tokens.
fn answer_after_reading(tokens: u64) -> Reply {
    let result = |url: &str, title: &str| json!({"type": "web_search_result", "url": url, "title": title, "encrypted_content": "eA=="});
    let citation = json!({"type": "web_search_result_location", "url": "https://harbour.test/dues", "title": "Dues",
        "cited_text": "The gate is paid by harbour dues.", "encrypted_index": "eA=="});
    let body = json!({"type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": "end_turn", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "gate"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
            "content": [result("https://harbour.test/dues", "Dues"), result("https://harbour.test/gate", "Gate")]},
        {"type": "text", "text": "By dues.", "citations": [citation]}],
        "usage": {"input_tokens": tokens, "output_tokens": 50, "server_tool_use": {"web_search_requests": 2}}});
    Reply::json(200, &body.to_string())
}

/// The first part of an answer that goes on.
fn paused_after_reading(tokens: u64) -> Reply {
    let body = json!({"type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": "pause_turn",
        "content": [], "usage": {"input_tokens": tokens, "output_tokens": 0}});
    Reply::json(200, &body.to_string())
}

async fn run(vendor: &FakeVendor, script: Script, options: &[&str]) -> (World, Story) {
    let world = World::start(script).await;
    let database = TestDatabase::sqlite();
    let variables = [("ANTHROPIC_BASE_URL", vendor.base_url()), ("ANTHROPIC_API_KEY", KEY.to_owned())];
    let options: Vec<_> = [&["search_api=anthropic", "read_pages=false"], options].concat();
    let mut config = engine::config(&world, &database, &options, &variables).unwrap();
    let long = fathom::domain::LongPrompt { above: 200_000, input: 10.0, output: 10.0 };
    let price =
        fathom::domain::Price { input: 1.0, output: 10.0, search: Some(10.0), long: Some(long), ..Default::default() };
    let facts = fathom::llm::Facts { price: Some(price), ..Default::default() };
    config.llm.models.insert("anthropic:claude-haiku-5-5".to_owned(), facts);
    let app = fathom::app::App::build(&config).await.unwrap();
    let engine = Engine { app, options: config.options, http: config.http, _database: database };
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    (world, story)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_sources_and_searches_are_paid_for() {
    let metrics = Metrics::install().unwrap();
    let vendor = FakeVendor::start((0..50).map(|_| answer())).await;
    let (world, story) = run(&vendor, Script::whole_run(Shape::SMALL), &[]).await;
    assert!(story.markdown().contains("https://harbour.test/dues"), "{}", story.markdown());
    assert!(story.sources.iter().all(|source| source.engine == "anthropic"));
    let cited = story.sources.iter().find(|source| source.url == "https://harbour.test/dues").unwrap();
    assert_eq!(cited.content_hash, digest::sha256_hex(b"The gate is paid by harbour dues."));
    let asked = vendor.sent().len();
    let steps: Vec<_> = story.steps.iter().filter(|step| step.key.contains("/search/")).collect();
    assert_eq!(steps.len(), asked);
    for step in steps {
        let call = step.call.as_ref().expect("a model made it");
        assert_eq!((&*call.model, &*call.role), ("anthropic:claude-haiku-5-5", "search"));
        assert_eq!((call.usage.input_tokens, call.usage.output_tokens), (1_000, 50));
        // A thousandth for what it read, half of one for what it wrote, two hundredths for two searches.
        assert!((call.usage.cost.unwrap().dollars() - 0.0215).abs() < 1e-9, "{:?}", call.usage);
    }
    assert!(story.usage.input_tokens >= 1_000 * asked as u64, "{:?}", story.usage);
    // Other tests may count as well.
    let tokens = "fathom_tokens_total{model=\"anthropic:claude-haiku-5-5\",type=\"input\"} ";
    let counted: f64 = metrics.render().lines().find_map(|line| line.strip_prefix(tokens)).unwrap().parse().unwrap();
    assert!(counted >= 1_000.0 * asked as f64, "{counted}");
    assert!(vendor.sent().iter().all(|sent| sent.body["system"].as_str().unwrap().contains("Search the web once")));
    world.finish();
}

/// A vendor may pause in the middle of a search: a prompt is long by itself, and not by the sum of its parts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_to_a_search_is_priced_by_itself() {
    let parts = (0..50).flat_map(|_| [paused_after_reading(150_000), answer_after_reading(150_000)]);
    let vendor = FakeVendor::start(parts).await;
    let (world, story) = run(&vendor, Script::whole_run(Shape::SMALL), &[]).await;
    let searches = story.steps.iter().filter(|step| step.key.contains("/search/"));
    let used: Vec<_> = searches.map(|step| step.call.as_ref().unwrap().usage).collect();
    // Searches side by side share the parts out among them.
    assert!(used.iter().any(|usage| usage.input_tokens > 200_000), "{used:?}");
    for usage in used {
        let tokens = usage.input_tokens as f64 + 10.0 * usage.output_tokens as f64;
        // The rest is a hundredth for each of some searches; as one long prompt they would take ten times as much.
        let rest = usage.cost.unwrap().dollars() - tokens / 1e6;
        assert!((0.0..0.1).contains(&rest), "{usage:?}");
    }
    world.finish();
}

/// A gateway that tells nonsense locks nobody out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_search_can_have_taken_is_estimated() {
    let vendor = FakeVendor::start((0..50).map(|_| answer_after_reading(1 << 40))).await;
    let (world, story) = run(&vendor, Script::whole_run(Shape::SMALL), &[]).await;
    let searches = story.steps.iter().filter(|step| step.key.contains("/search/"));
    let tokens: Vec<u64> = searches.map(|step| step.call.as_ref().unwrap().usage.input_tokens).collect();
    assert!(!tokens.is_empty() && tokens.iter().all(|tokens| (1..1_000_000).contains(tokens)), "{tokens:?}");
    world.finish();
}

/// Each query makes two searches, so four are used up after two queries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_count_of_searches_is_limited() {
    let vendor = FakeVendor::start((0..50).map(|_| answer())).await;
    let search = |call: &Call| reply::calls([("search_web", json!({"queries": [format!("gate {}", call.turns())]}))]);
    let script = Script::whole_run(Shape::SMALL).by(When::kind(Kind::Researcher), search);
    let (world, story) = run(&vendor, script, &["max_searches=4", "max_concurrent_research_units=1"]).await;
    assert_eq!(story.run.limited_by.as_deref(), Some("max_searches"));
    assert_eq!(vendor.sent().len(), 2);
    assert!(story.markdown().contains("[1]"));
    assert!(world.models.count(Kind::Report) > 0);
    world.finish();
}

/// A key that the provider of the search refuses is a failure of the search, with the variable to check.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_key_is_a_failure_of_the_search() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": format!("invalid x-api-key {KEY}")}});
    let vendor = FakeVendor::start((0..50).map(|_| Reply::json(401, &body.to_string()))).await;
    let (world, story) = run(&vendor, Script::whole_run(Shape::SMALL), &[]).await;
    story.failed_with(fathom::domain::FailureCode::SearchAuth);
    assert!(!story.failure().message.contains(KEY), "{}", story.failure());
    world.finish();
}
