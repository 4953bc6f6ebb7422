//! Keys of providers and search engines that come with a request: they alone are used for its run, nobody sees them,
//! and they are gone when it has ended.

use fathom::store::Database;
use serde_json::{Value, json};
use test_case::test_case;

use super::{
    Answer, JSON, Service, Started,
    cancelling::{gone, pending, silent_at},
    small_world,
};
use crate::{
    database::TestDatabase,
    fake_vendor::{FakeVendor, Reply as PageReply},
    stories::engine::{self, QUESTION},
    world::{Kind, Script, Shape, When, World, reply},
};

/// The service has keys that the world does not take; it takes those of its users.
const ALLOWED: &[(&str, &str)] = &[
    ("FATHOM_REQUEST_KEYS", "allowed"),
    ("FATHOM_REQUEST_KEYS_SECRET", "a secret of the server, long enough"),
    ("OPENAI_API_KEY", "sk-of-the-server"),
    ("TAVILY_API_KEY", "tvly-of-the-server"),
];

fn keys() -> Value {
    json!({ "openai": "sk-scripted-world", "tavily": "tvly-scripted-world" })
}

async fn ask(service: &Service, path: &str, body: Value) -> Answer {
    service.ask("POST", path, &[JSON], body.to_string()).await
}

async fn start(service: &Service) -> Started {
    ask(service, "/api/v1/threads", json!({ "message": QUESTION, "api_keys": keys() })).await.expect(201).started()
}

/// What the database has of them, in hex: an empty text where they were wiped, nothing of a run without keys.
async fn stored(database: &TestDatabase) -> Option<String> {
    let sql = match &database.database {
        Database::Postgres { .. } => "SELECT COALESCE(encode(sealed, 'hex'), '') FROM run_keys",
        Database::Sqlite { .. } => "SELECT COALESCE(hex(sealed), '') FROM run_keys",
    };
    database.text(sql).await.map(|text| text.to_lowercase())
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_alone_are_used_and_survive_a_restart_and_are_wiped_at_the_end(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::with(&world, &database, ALLOWED).await;
    let started = start(&service).await;
    let call = pending(&world, Kind::Report).await;
    let sealed = stored(&database).await.unwrap();
    assert!(sealed.len() > 2 * 40 && !sealed.contains(&hex("scripted-world")), "{sealed}");
    service.begin_to_stop();
    gone(&call).await;
    service.stop().await;
    world.models.follow(Script::whole_run(Shape::SMALL));
    let service = Service::with(&world, &database, ALLOWED).await;
    assert_eq!(service.ended(&started.run).await["outcome"], "report");
    assert_eq!(stored(&database).await.as_deref(), Some(""));
    let events = service.events(&started.events_path()).await;
    let steps = service.list(&format!("{}/steps", started.run_path())).await;
    let everything = format!("{events:?} {steps:?} {}", service.get(&started.run_path()).await.text());
    assert!(!everything.contains("-scripted-world") && !everything.contains("-of-the-server"));
    service.delete(&started.thread_path()).await.expect(204);
    assert_eq!(stored(&database).await, None);
    service.stop().await;
    // The world blames every call with another key.
    world.finish();
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_they_do_not_reach_is_refused_before_the_start() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::with(&world, &database, ALLOWED).await;
    let refused = async |api_keys: Value, options: Value, code: &str| {
        let body = json!({ "message": QUESTION, "options": options, "api_keys": api_keys });
        let problem = ask(&service, "/api/v1/threads", body).await.refused(422, code);
        let text = problem["detail"].as_str().unwrap().to_owned();
        assert!(!problem.to_string().contains("s3cret"), "{problem}");
        (problem["errors"][0]["pointer"].as_str().unwrap().to_owned(), text)
    };
    let (pointer, text) =
        refused(json!({ "openai": "sk-s3cret" }), json!({ "search_api": "tavily" }), "not_configured").await;
    assert_eq!((&*pointer, text.contains("send a key of tavily in api_keys")), ("/options/search_api", true), "{text}");
    let auto = json!({ "search_api": "auto" });
    let (_, text) = refused(json!({ "openai": "sk-s3cret" }), auto, "not_configured").await;
    assert!(
        text.contains("send a key of a search engine") && text.contains("(search_api=") && text.contains("wikipedia"),
        "{text}"
    );
    let (pointer, text) = refused(json!({ "tavily": "s3cret" }), json!({}), "not_configured").await;
    assert!(pointer.ends_with("_model") && text.contains("send a key of openai in api_keys"), "{pointer}: {text}");
    let offline = ["research_model", "summarization_model", "compression_model", "final_report_model"];
    let mut unused: serde_json::Map<_, _> =
        offline.map(|role| (role.to_owned(), json!("offline:extractive"))).into_iter().collect();
    unused.insert("search_api".to_owned(), json!("arxiv"));
    let (pointer, text) =
        refused(json!({ "openai": "sk-s3cret", "tavily": "tvly-s3cret" }), json!(unused), "validation_failed").await;
    assert!(pointer == "/api_keys" && text.contains("none of these keys (openai, tavily)"), "{pointer}: {text}");
    unused.insert("search_api".to_owned(), json!("tavily"));
    let (pointer, text) =
        refused(json!({ "openai": "sk-s3cret", "tavily": "tvly-s3cret" }), json!(unused), "validation_failed").await;
    assert!(pointer == "/api_keys" && text.contains("no model of these keys (openai)"), "{pointer}: {text}");
    // A key of Perplexity's models is none of its search.
    unused.insert("search_api".to_owned(), json!("perplexity"));
    let (_, text) = refused(json!({ "perplexity": "pplx-s3cret" }), json!(unused), "not_configured").await;
    assert!(text.contains("send a key of perplexity_search in api_keys"), "{text}");
    let (pointer, text) = refused(json!({ "opnai": "s3cret" }), json!({}), "validation_failed").await;
    assert!(pointer == "/api_keys/opnai" && text.contains("openai"), "{pointer}: {text}");
    for key in ["", "  ", "s3cret\nkey", "s3cret key", "s3crét"] {
        assert_eq!(refused(json!({ "openai": key }), json!({}), "validation_failed").await.0, "/api_keys/openai");
    }
    for wrong in [json!({ "openai": 7 }), json!({ "openai": null }), json!("s3cret"), json!([])] {
        assert!(refused(wrong, json!({}), "validation_failed").await.0.starts_with("/api_keys"));
    }
    assert_eq!(world.models.total(), 0);
    service.stop().await;
    world.finish();
}

/// What is to stand in by the server's choice, and has no key of the request, is left out; what the request names is
/// not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_needs_a_key_of_the_request() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let own = [("FATHOM_SEARCH_FALLBACK", "brave,wikipedia"), ("BRAVE_API_KEY", "brave-of-the-server")];
    let service = Service::with(&world, &database, &[ALLOWED, &own].concat()).await;
    let body = |options: Value| json!({ "message": QUESTION, "api_keys": keys(), "options": options });
    let started = ask(&service, "/api/v1/threads", body(json!({}))).await.expect(201).started();
    let run = service.ended(&started.run).await;
    assert_eq!((&run["outcome"], &run["options"]["search_fallback"]), (&json!("report"), &json!("wikipedia")));
    let refused = ask(&service, "/api/v1/threads", body(json!({ "search_fallback": "brave" }))).await;
    let problem = refused.refused(422, "not_configured");
    assert_eq!(problem["errors"][0]["pointer"], "/options/search_fallback");
    assert!(problem["detail"].as_str().unwrap().contains("send a key of brave in api_keys"), "{problem}");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_decides_whether_they_are_taken() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION, "api_keys": keys() });
    let problem = ask(&service, "/api/v1/threads", body).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/api_keys");
    service.stop().await;
    let required: Vec<_> = [("FATHOM_REQUEST_KEYS", "required")].into_iter().chain(ALLOWED.iter().copied()).collect();
    let service = Service::with(&world, &database, &required).await;
    let problem =
        ask(&service, "/api/v1/threads", json!({ "message": QUESTION })).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/api_keys");
    assert_eq!(service.ended(&start(&service).await.run).await["outcome"], "report");
    service.stop().await;
    world.finish();
}

/// A retry brings them again, or does without the server's, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_brings_them_again() {
    let database = TestDatabase::sqlite();
    let broken = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::status(401));
    let world = World::start(broken).await;
    let service = Service::with(&world, &database, ALLOWED).await;
    let started = start(&service).await;
    assert_eq!(service.ended(&started.run).await["error"]["code"], "model_auth");
    world.models.follow(Script::whole_run(Shape::SMALL));
    let retry = format!("{}/retry", started.run_path());
    let messages = format!("{}/messages", started.thread_path());
    for (path, body) in [(&retry, json!({})), (&messages, json!({ "content": "try again" }))] {
        let problem = ask(&service, path, body).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/api_keys", "{path}: {problem}");
    }
    let run = ask(&service, &retry, json!({ "api_keys": keys() })).await.expect(202).json();
    assert_eq!(service.ended(run["id"].as_str().unwrap()).await["outcome"], "report");
    // So does each message: without keys it is answered with the server's, which this world does not take.
    let body = json!({ "content": "And who keeps the gate?", "api_keys": keys() });
    let next = ask(&service, &messages, body).await.expect(202).json();
    service.ended(next["run"]["id"].as_str().unwrap()).await;
    service.stop().await;
    world.finish();
}

#[tokio::test]
async fn without_a_secret_that_seals_them_the_service_does_not_start() {
    let world = small_world().await;
    for secret in ["", "too short"] {
        let variables = [("FATHOM_REQUEST_KEYS", "allowed"), ("FATHOM_REQUEST_KEYS_SECRET", secret)];
        let variables = variables.map(|(name, value)| (name, value.to_owned()));
        let refused =
            engine::config(&world, &TestDatabase::sqlite(), &[], &variables).map(drop).unwrap_err().to_string();
        assert!(refused.contains("FATHOM_REQUEST_KEYS_SECRET") && !refused.contains("too short"), "{refused}");
    }
    world.finish();
}

/// Who reads pages for money of the operator's is not asked in their runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_reader_of_pages_is_not_used() {
    let script_page = format!("<html><body><script>{}</script></body></html>", "x;".repeat(9_000));
    let robots = PageReply::text(404, "text/plain", "");
    let site = FakeVendor::start([robots, PageReply::text(200, "text/html", script_page)]).await;
    let reader = FakeVendor::start([]).await;
    let page = reply::calls([("read_page", json!({ "address": format!("{}/page", site.base_url()) }))]);
    let replies = [page, reply::search(["dues"]), reply::complete_research()];
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)).await;
    let database = TestDatabase::sqlite();
    let url = reader.base_url();
    let reading =
        [("FATHOM_PAGES_ALLOW_PRIVATE", "true"), ("FATHOM_PAGE_READER", "jina"), ("FATHOM_PAGE_READER_URL", &url)];
    let service = Service::with(&world, &database, &[ALLOWED, &reading].concat()).await;
    let started = start(&service).await;
    let run = service.ended(&started.run).await;
    assert_eq!(run["outcome"], "report", "{run}");
    assert_eq!((site.sent().len(), reader.sent().len()), (2, 0), "the page was fetched, and its reader not asked");
    service.stop().await;
    world.finish();
}

/// A process that has the right secret may come as long as the run has time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_keys_nobody_can_read_ends_with_its_time() {
    let (world, database) = (World::start(silent_at(Kind::Report)).await, TestDatabase::sqlite());
    let service = Service::with(&world, &database, ALLOWED).await;
    let started = start(&service).await;
    let call = pending(&world, Kind::Report).await;
    service.begin_to_stop();
    gone(&call).await;
    service.stop().await;
    database.execute("UPDATE runs SET started_at = 1").await;
    let mut other = ALLOWED.to_vec();
    other[1].1 = "another secret of a server, long enough";
    let service = Service::with(&world, &database, &other).await;
    let run = service.ended(&started.run).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("timeout")), "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(message.contains("max_run_seconds") && message.contains("FATHOM_REQUEST_KEYS_SECRET"), "{message}");
    assert!(!service.list(&format!("{}/notes", started.run_path())).await.is_empty(), "what it found is kept");
    service.stop().await;
    world.finish();
}

/// A second model that would stand in by the server's choice is left out; what the request names is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_model_that_searches_is_enough() {
    let world = World::start(silent_at(Kind::Brief)).await;
    let own = [("FATHOM_SEARCH_FALLBACK", "google,wikipedia"), ("GEMINI_API_KEY", "k")];
    let service = Service::with(&world, &TestDatabase::sqlite(), &own).await;
    let body = |options: Value| json!({ "message": QUESTION, "options": options });
    let started = ask(&service, "/api/v1/threads", body(json!({ "search_api": "openai" }))).await.expect(201).started();
    let run = service.get(&started.run_path()).await.expect(200).json();
    assert_eq!(run["options"]["search_fallback"], "wikipedia");
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
    let named = json!({ "search_api": "openai", "search_fallback": "google" });
    let problem = ask(&service, "/api/v1/threads", body(named)).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/options/search_fallback");
    service.stop().await;
    world.finish();
}
