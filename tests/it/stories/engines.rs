//! Runs that search with engines that send excerpts only, with filters, and with several at once of which one fails.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
};
use fathom::{
    config::Config,
    domain::{FailureCode, Source, WarningCode},
    pages,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use super::engine::{Engine, QUESTION, Story, config, parser_that_hangs};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, When, World, reply},
};

/// A SearXNG, a Brave and a site on this machine.
pub struct Web {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let site = Site { base: base.clone(), asked: Arc::clone(&asked) };
        let mut server = JoinSet::new();
        let router = Router::new().fallback(get(answer)).with_state(site);
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, asked, _server: server }
    }

    pub fn asked(&self, path: &str) -> usize {
        self.asked.lock().iter().filter(|asked| asked.starts_with(path)).count()
    }

    /// The settings of a process that searches here.
    pub fn config(&self, world: &World, database: &TestDatabase, options: &[&str], key: &str) -> Config {
        let variables = [
            ("FATHOM_PAGES_ALLOW_PRIVATE", "true".to_owned()),
            ("SEARXNG_BASE_URL", self.base.clone()),
            ("BRAVE_BASE_URL", format!("{}/res/v1", self.base)),
            ("BRAVE_API_KEY", key.to_owned()),
        ];
        config(world, database, options, &variables).unwrap()
    }

    /// Runs with these options; `key` is Brave's.
    pub async fn research(&self, world: &World, options: &[&str], key: &str) -> Story {
        let database = TestDatabase::sqlite();
        let config = self.config(world, &database, options, key);
        self.research_with(config, &database).await
    }

    async fn research_with(&self, config: Config, database: &TestDatabase) -> Story {
        let engine = Engine::build(&config, database).await.unwrap();
        let mut story = engine.research(QUESTION).await;
        for source in &mut story.sources {
            let stored = engine.app.runs.store().source(story.run.id, source.id).await.unwrap().unwrap();
            source.snapshot = stored.snapshot;
        }
        engine.app.close().await;
        story
    }
}

async fn answer(State(site): State<Site>, uri: Uri, headers: HeaderMap) -> Response {
    site.asked.lock().push(uri.to_string());
    let folders = [("walled", "wall"), ("late", "late")];
    let asks_for = |(word, _): &&(&str, &str)| uri.query().is_some_and(|query| query.contains(word));
    let folder = folders.iter().find(asks_for).map_or("page", |(_, folder)| folder);
    let page = |number: usize| format!("{}/{folder}/{number}", site.base);
    match uri.path() {
        "/search" => {
            let result = |number: usize| json!({"url": page(number), "title": format!("Page {number}"), "content": "An excerpt."});
            let elsewhere = json!({"url": "https://elsewhere.test/", "title": "Elsewhere", "content": "An excerpt."});
            let mut results: Vec<_> = (1..=4).map(result).collect();
            results.push(elsewhere);
            Json(json!({"results": results, "unresponsive_engines": []})).into_response()
        }
        "/res/v1/web/search" if headers["x-subscription-token"] == "good" => {
            let results = [1, 2].map(|number| json!({"url": page(number), "title": "B", "description": "Of Brave's."}));
            Json(json!({"type": "search", "web": {"results": results}})).into_response()
        }
        "/res/v1/web/search" => {
            let error = json!({"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "bad-k3y is not valid."});
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"type": "ErrorResponse", "error": error}))).into_response()
        }
        path if path.starts_with("/wall/") => StatusCode::FORBIDDEN.into_response(),
        path if path.starts_with("/late/") && site.asked.lock().iter().filter(|asked| *asked == path).count() == 1 => {
            StatusCode::FORBIDDEN.into_response()
        }
        path if path.starts_with("/page/") || path.starts_with("/late/") => {
            let text =
                format!("<p>Dues of four crowns pay the tide gate, says {path}. {}</p>", "It is old. ".repeat(60));
            let said = "<meta name=author content='M. Tey'><meta property='og:site_name' content='The Harbour'>";
            let page =
                format!("<html><head><title>Ledger</title>{said}</head><body><article>{text}</article></body></html>");
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A run whose only researcher searches with these arguments, and then is done.
fn searching(arguments: serde_json::Value) -> Script {
    let replies = [reply::calls([("search_web", arguments)]), reply::complete_research()];
    Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)
}

/// A run whose only researcher searches for one after another, and then is done.
pub fn searching_for(queries: &[&str]) -> Script {
    let searches = queries.iter().map(|query| reply::calls([("search_web", json!({"queries": [query]}))]));
    let replies: Vec<_> = searches.chain([reply::complete_research()]).collect();
    Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)
}

/// Returns what the report says behind that label in its limits; nothing when it does not.
fn limits(story: &Story, label: &str) -> String {
    let start = format!("- {label}: ");
    let line = story.markdown().lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_default().to_owned()
}

/// A page behind a wall is none that the report could rest on, and it says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_whose_pages_cannot_be_read_are_named() {
    let (world, web) = (World::start(searching(json!({"queries": ["walled"]}))).await, Web::start().await);
    let story = web.research(&world, &["search_api=searxng", "max_pages_per_search=2"], "good").await;
    let named = limits(&story, "Pages that could not be read");
    assert!(named.contains("/wall/1") && named.contains("/wall/2"), "{}", story.markdown());
    assert!(!named.contains("/wall/3"), "nobody asked for it: {named}");
    world.finish();
}

/// What one search could not read and another one did has been read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_read_after_all_is_not_named_as_unread() {
    let (world, web) = (World::start(searching_for(&["late", "late again"])).await, Web::start().await);
    let story = web.research(&world, &["search_api=searxng", "max_pages_per_search=2"], "good").await;
    assert_eq!(web.asked("/late/1"), 2, "{:?}", web.asked.lock());
    assert_eq!(limits(&story, "Pages that could not be read"), "", "{}", story.markdown());
    world.finish();
}

/// The researcher reads pages, not excerpts, as many as the run allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_fetched_for_an_engine_that_sends_excerpts() {
    let (world, web) = (World::start(searching(json!({"queries": ["dues"]}))).await, Web::start().await);
    let story = web.research(&world, &["search_api=searxng", "max_pages_per_search=2"], "good").await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let is_read = |source: &&Source| source.snapshot.contains("Dues of four crowns");
    let read = story.sources.iter().filter(is_read).count();
    let said =
        |source: &Source| source.author.as_deref() == Some("M. Tey") && source.site.as_deref() == Some("The Harbour");
    assert!(story.sources.iter().all(|source| said(source) == is_read(&source)), "{:?}", story.sources);
    assert_eq!((read, web.asked("/page/"), web.asked("/robots.txt")), (2, 2, 1));
    assert!(story.sources.iter().any(|source| &*source.snapshot == "An excerpt."));
    world.finish();
}

/// The only parser never ends: the page behind it is given up, and the run says so and goes on with excerpts.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_for_which_no_parser_is_free_are_a_warning() {
    let (world, web) = (World::start(searching(json!({"queries": ["dues"]}))).await, Web::start().await);
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::sqlite());
    let mut config = web.config(&world, &database, &["search_api=searxng", "max_pages_per_search=2"], "good");
    config.parser = pages::Settings {
        program: Some(parser_that_hangs(folder.path())),
        processes: 1,
        run_wait: Duration::from_millis(200),
        document_time: Duration::from_secs(3),
        ..config.parser
    };
    let story = web.research_with(config, &database).await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let warnings = story.warned(WarningCode::SearchFailed);
    assert_eq!(warnings, ["the search for 'dues' goes on without the pages of 1 results: no parser was free"]);
    assert!(story.sources.iter().all(|source| &*source.snapshot == "An excerpt."), "{:?}", story.sources);
    let limits = limits(&story, "Pages that could not be read");
    assert!(limits.contains("/page/"), "{}", story.markdown());
    assert_eq!(story.markdown().matches("Searches that failed").count(), 0, "the engine answered");
    world.finish();
}

/// One engine refuses its key: the others answer, the run says so, without the key, and does not ask it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_engines_that_fails_is_a_warning() {
    let (world, web) = (World::start(searching_for(&["dues", "gate"])).await, Web::start().await);
    let story = web.research(&world, &["search_api=brave,searxng"], "bad-k3y").await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let warnings = story.warned(WarningCode::SearchFailed);
    let expected = "the search for 'dues' goes on without brave: the search engine refused the API key";
    assert!(warnings.len() == 1 && warnings[0].starts_with(expected), "{warnings:?}");
    assert_eq!((web.asked("/res/"), web.asked("/search")), (1, 2));
    let shown = format!("{:?} {:?} {:?}", story.events, story.steps, story.run);
    assert!(!shown.contains("bad-k3y"), "the key is shown");
    assert_eq!(limits(&story, "Searches that failed"), "brave (1)");
    world.finish();
}

/// A single one that refuses its key ends the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_engine_that_refuses_its_key_ends_the_run() {
    let (world, web) = (World::start(searching(json!({"queries": ["dues"]}))).await, Web::start().await);
    let story = web.research(&world, &["search_api=brave"], "bad-k3y").await;
    assert_eq!(story.run.error.as_ref().map(|failure| failure.code), Some(FailureCode::SearchAuth));
    world.finish();
}

/// What the researcher may say with a search.
fn offered(world: &World) -> Vec<String> {
    let tools = world.models.calls_of(Kind::Researcher)[0].body["tools"].clone();
    let search = tools.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "search_web").unwrap();
    search["function"]["parameters"]["properties"].as_object().unwrap().keys().cloned().collect()
}

/// An engine that can restrict a search by no country is not asked for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_engine_of_the_run_knows_is_not_offered() {
    let arguments = json!({"queries": ["dues"], "language": "fr", "country": "ch"});
    let (world, web) = (World::start(searching(arguments)).await, Web::start().await);
    let story = web.research(&world, &["search_api=searxng", "max_pages_per_search=0"], "good").await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let known = ["queries", "time_range", "sites", "exclude_sites", "language", "topic", "count"];
    assert_eq!(offered(&world), known, "by no country");
    assert!(web.asked.lock().iter().any(|asked| asked.contains("language=fr")), "what it knows reaches it");
    world.finish();
}

/// What the run and the model ask for reaches the engines, and no other site the researcher.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_of_the_run_and_the_model_hold() {
    let arguments = json!({"queries": ["dues"], "time_range": "week", "language": "fr", "country": "ch", "topic": "gulls",
            "exclude_sites": ["https://www.nowhere.test/"], "count": 3});
    let (world, web) = (World::start(searching(arguments)).await, Web::start().await);
    let options =
        ["search_api=searxng,brave", "exclude_domains=elsewhere.test", "search_language=de", "max_pages_per_search=0"];
    let story = web.research(&world, &options, "good").await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let asked = web.asked.lock().clone();
    let one = |path: &str| asked.iter().find(|asked| asked.starts_with(path)).unwrap().clone();
    let (searxng, brave) = (one("/search"), one("/res/"));
    assert!(searxng.contains("time_range=week") && searxng.contains("language=de"), "{searxng}");
    assert!(brave.contains("freshness=pw") && brave.contains("search_lang=de"), "the run's language counts: {brave}");
    assert!(brave.contains("country=CH") && brave.contains("count=3"), "{brave}");
    assert!(brave.contains("-site%3Aelsewhere.test+-site%3Anowhere.test"), "both are left out: {brave}");
    let expected = ["queries", "time_range", "sites", "exclude_sites", "country", "topic", "count"];
    assert_eq!(offered(&world), expected, "the run has chosen the language");
    assert!(story.sources.iter().all(|source| !source.url.contains("elsewhere")), "{:?}", story.sources);
    // Both found the first two pages.
    assert!(story.sources[0].url.ends_with("/page/1") && story.sources.len() == 3, "{:?}", story.sources);
    assert_eq!(web.asked("/page/"), 0);
    world.finish();
}
