//! Tavily, faked at the wire over loopback.

use std::{convert::Infallible, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::post,
};
use fathom::{
    domain::Topic,
    net::RetryPolicy,
    pages::{self, Parser},
    search::{Engine, Engines, Error, Filters, Limits, Open, Settings},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::local::parser;
use tokio::task::JoinSet;

/// A loopback server that answers each query by the script and remembers what was asked.
struct Fake {
    base_url: String,
    asked: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    _server: JoinSet<()>,
}

impl Fake {
    /// `script` is given the query and how many requests for it came before.
    async fn start(script: fn(&str, usize) -> Response) -> Self {
        let asked: Arc<Mutex<Vec<(HeaderMap, Value)>>> = Arc::default();
        let log = asked.clone();
        let answer = async move |headers: HeaderMap, Json(body): Json<Value>| {
            let query = body["query"].as_str().unwrap().to_owned();
            let mut log = log.lock();
            let before = log.iter().filter(|(_, body)| body["query"] == *query).count();
            log.push((headers, body));
            script(&query, before)
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, Router::new().route("/search", post(answer))).await.unwrap() });
        Self { base_url, asked, _server: server }
    }

    fn engine(&self) -> Engine {
        let settings = Settings {
            retry: RetryPolicy {
                max_wait: Duration::from_millis(500),
                first_within: Duration::from_millis(1),
                timeouts: 3,
            },
            max_answer_bytes: 100_000,
            timeout: Duration::from_secs(20),
            ..self.settings()
        };
        engine(settings, parser())
    }

    fn settings(&self) -> Settings {
        settings(&self.base_url)
    }

    async fn error(&self, query: &str) -> Error {
        self.engine().search(query, &Limits::default(), &Open).await.unwrap_err()
    }

    fn requests(&self) -> usize {
        self.asked.lock().len()
    }
}

fn settings(base_url: &str) -> Settings {
    Settings::default().with("search.tavily.base_url", base_url).with("search.tavily.api_key", "tvly-key")
}

fn engine(settings: Settings, parser: Parser) -> Engine {
    Engines::new(settings, parser).unwrap().get("tavily").unwrap().clone()
}

fn found(query: &str) -> Response {
    Json(json!({"results": [{"url": format!("https://example.com/{query}"), "title": query}]})).into_response()
}

#[tokio::test]
async fn a_query_is_sent_as_documented() {
    let fake = Fake::start(|_, _| found("a")).await;
    let hits = fake.engine().search("word ", &Limits { max_results: 7, ..Limits::default() }, &Open).await.unwrap();
    assert_eq!(hits[0].url, "https://example.com/a");
    let asked = fake.asked.lock();
    let (headers, body) = &asked[0];
    assert_eq!(headers["authorization"], "Bearer tvly-key");
    let expected = json!({
        "query": "word", "topic": "general", "search_depth": "basic", "max_results": 7,
        "include_raw_content": true, "include_answer": false, "include_images": false,
    });
    assert_eq!(*body, expected);
}

#[tokio::test]
async fn depth_and_country_are_asked_for_in_its_own_words() {
    let fake = Fake::start(|_, _| found("a")).await;
    let engine = engine(fake.settings().with("search.tavily.depth", "advanced"), parser());
    for topic in [Topic::General, Topic::News] {
        let filters = Filters { country: Some("DE".into()), topic, ..Filters::default() };
        engine.search("word", &Limits { filters, ..Limits::default() }, &Open).await.unwrap();
    }
    let asked: Vec<_> = fake.asked.lock().iter().map(|(_, body)| body.clone()).collect();
    assert_eq!((&asked[0]["search_depth"], &asked[0]["country"]), (&json!("advanced"), &json!("germany")));
    assert_eq!(asked[1]["country"], Value::Null, "with other topics it is refused");
}

#[tokio::test]
async fn one_failing_query_leaves_the_others_alone() {
    let fake = Fake::start(|query, _| match query {
        "bad" => (StatusCode::BAD_REQUEST, Json(json!({"detail": {"error": "Query is odd."}}))).into_response(),
        query => found(query),
    })
    .await;
    let engine = fake.engine();
    let limits = Limits::default();
    let (one, bad, two) = tokio::join!(
        engine.search("one", &limits, &Open),
        engine.search("bad", &limits, &Open),
        engine.search("two", &limits, &Open)
    );
    assert_eq!((one.unwrap().len(), two.unwrap().len()), (1, 1));
    assert_eq!(bad, Err(Error::BadQuery("Query is odd. (status 400)".into())));
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let fake = Fake::start(|query, before| match before {
        0 => (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "0.05")]).into_response(),
        1 => (StatusCode::BAD_GATEWAY, "<html>oops</html>").into_response(),
        _ => found(query),
    })
    .await;
    assert_eq!(fake.engine().search("q", &Limits::default(), &Open).await.unwrap().len(), 1);
    assert_eq!(fake.requests(), 3);
}

#[tokio::test]
async fn a_wait_beyond_the_budget_is_handed_on() {
    let fake = Fake::start(|_, _| (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "90")]).into_response()).await;
    assert_eq!(fake.error("q").await, Error::RateLimited { retry_after: Some(Duration::from_secs(90)) });
    assert_eq!(fake.requests(), 1);
}

#[tokio::test]
async fn refusals_are_typed_and_never_show_the_key() {
    let fake = Fake::start(|query, _| {
        let status = StatusCode::from_u16(query.parse().unwrap()).unwrap();
        (status, Json(json!({"detail": {"error": "refused key tvly-key"}}))).into_response()
    })
    .await;
    let check = async |status: &str, expected: Error| assert_eq!(fake.error(status).await, expected);
    check("401", Error::Auth("refused key (hidden) (status 401)".into())).await;
    check("403", Error::Auth("refused key (hidden) (status 403)".into())).await;
    check("432", Error::Quota("refused key (hidden) (status 432)".into())).await;
    check("433", Error::Quota("refused key (hidden) (status 433)".into())).await;
    check("404", Error::Unavailable("refused key (hidden) (status 404)".into())).await;
    assert_eq!(fake.requests(), 5, "none of these passes by itself");
    check("503", Error::Unavailable("refused key (hidden) (status 503)".into())).await;
    // Waits are drawn at random and grow from a few milliseconds.
    assert!((9..=200).contains(&fake.requests()), "{}: this may, and was tried for half a second", fake.requests());
}

/// Nor a secret that stands in the address of the engine.
#[tokio::test]
async fn a_refusal_that_quotes_a_secret_of_the_address_does_not_show_it() {
    let fake = Fake::start(|_, _| {
        (StatusCode::BAD_REQUEST, Json(json!({"detail": {"error": "credential s3cret-of-mine unknown"}})))
            .into_response()
    })
    .await;
    let address = format!("{}?token=s3cret-of-mine", fake.base_url);
    let engine = engine(fake.settings().with("search.tavily.base_url", address.as_str()), parser());
    let error = engine.search("q", &Limits::default(), &Open).await.unwrap_err().to_string();
    assert!(error.contains("credential (hidden) unknown"), "{error}");
}

#[tokio::test]
async fn odd_answers_are_errors_not_content() {
    let fake = Fake::start(|query, _| match query {
        "html" => "<html><h1>Welcome to the hotel</h1></html>".into_response(),
        "cut" => "{\"results\": [{\"url\": ".into_response(),
        "other" => Json(json!({"answer": 42})).into_response(),
        "none" => Json(json!({"results": []})).into_response(),
        _ => {
            let chunks = futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b' '; 8192])));
            Body::from_stream(chunks).into_response()
        }
    })
    .await;
    let unavailable = |text: &str| Error::Unavailable(text.into());
    assert_eq!(fake.error("html").await, unavailable("its answer is not JSON"));
    assert_eq!(fake.error("cut").await, unavailable("its answer is not JSON"));
    assert_eq!(fake.error("other").await, unavailable("its answer has no results"));
    assert_eq!(fake.error("endless").await, unavailable("the answer is longer than 100000 bytes"));
    assert_eq!(fake.engine().search("none", &Limits::default(), &Open).await, Ok(Vec::new()));
    assert_eq!(fake.error(" ").await, Error::BadQuery("it is empty".into()));
}

/// Addresses are made canonical, a page found twice is one hit, and what has no address of a page is none.
#[tokio::test]
async fn results_become_hits() {
    let fake = Fake::start(|_, _| {
        Json(json!({"results": [
            {"url": "javascript:alert(1)", "title": "No page"},
            {"url": "https://Example.com/a?utm_source=t", "title": " ", "content": null, "raw_content": " \n"},
            {"url": "https://example.com/a#again", "title": "Twice"},
            {"url": "https://example.com/b", "title": "B\n b", "content": "plain", "raw_content": "# B\n\nText",
             "score": 0.5, "published_date": "Mon, 10 Mar 2031"},
        ]}))
        .into_response()
    })
    .await;
    let limits = Limits { max_results: 5, ..Limits::default() };
    let hits = fake.engine().search("b", &limits, &Open).await.unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (&*hit.url, &*hit.title, hit.raw_content.as_deref())).collect();
    assert_eq!(
        seen,
        [("https://example.com/a", "example.com", None), ("https://example.com/b", "B b", Some("# B\n\nText"))]
    );
    assert_eq!(
        (hits[1].score, hits[1].published.as_deref(), &*hits[1].engine),
        (Some(0.5), Some("2031-03-10"), "tavily")
    );
}

/// Neither the engine nor the settings show a key or the password of an address.
#[test]
fn a_key_is_never_shown() {
    let settings = settings("https://me:pa55@tavily.test");
    let engine = engine(settings.clone(), parser());
    let shown = format!("{settings:?} {engine:?} {}", engine.place());
    assert!(!shown.contains("tvly-key") && !shown.contains("pa55") && shown.contains("tavily.test"), "{shown}");
}

#[tokio::test]
async fn nobody_there_is_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let retry = RetryPolicy { max_wait: Duration::from_millis(5), first_within: Duration::from_millis(2), timeouts: 1 };
    let engine = engine(Settings { retry, ..settings(&base_url) }, parser());
    let error = engine.search("q", &Limits::default(), &Open).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.starts_with("no connection")), "{error}");
}

/// An answer that waits for a parser has been paid for.
#[tokio::test]
async fn a_query_whose_pages_wait_for_a_parser_is_sent_once() {
    let fake = Fake::start(|_, _| {
        let page = json!({"url": "https://example.com/a", "title": "A", "raw_content": "<p>Cod is a fish.</p>"});
        Json(json!({"results": [page]})).into_response()
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let (program, free) = (folder.path().join("parser"), folder.path().join("free"));
    let (wait, fathom) =
        (format!("while [ ! -e '{}' ]; do sleep 0.1; done", free.display()), env!("CARGO_BIN_EXE_fathom"));
    std::fs::write(&program, format!("#!/bin/sh\n{wait}\nexec '{fathom}' \"$@\"\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let parser = Parser::new(pages::Settings { program: Some(program), ..pages::Settings::default() });
    let timeout = Duration::from_secs(2);
    let engine = engine(Settings { timeout, ..fake.settings() }, parser);
    let limits = Limits::default();
    let mut search = Box::pin(engine.search("cod", &limits, &Open));
    assert!(tokio::time::timeout(timeout * 2, &mut search).await.is_err(), "no parser is free");
    std::fs::write(free, "").unwrap();
    let hits = search.await.unwrap();
    assert_eq!((hits[0].raw_content.as_deref(), fake.requests()), (Some("Cod is a fish."), 1));
}

/// Pages come as HTML too; what is hostile in one costs that page alone.
#[tokio::test]
async fn pages_are_read_in_a_process_of_their_own() {
    let fake = Fake::start(|_, _| {
        let deep = "<div>".repeat(100_000);
        Json(json!({"results": [
            {"url": "https://example.com/deep", "title": "Deep", "content": "Its excerpt.", "raw_content": deep},
            {"url": "https://example.com/fish", "title": "<b>Fish</b> &amp; more", "content": "<p>Cod.</p>",
             "raw_content": "<html><body><h1>Fish</h1><p>Cod is a <b>fish</b>.</p></body></html>"},
        ]}))
        .into_response()
    })
    .await;
    let engine = engine(fake.settings(), parser());
    let hits = engine.search("fish", &Limits::default(), &Open).await.unwrap();
    let texts: Vec<_> =
        hits.iter().map(|hit| (&*hit.title, &*hit.snippet, hit.raw_content.as_deref().unwrap_or_default())).collect();
    assert_eq!(texts[0], ("Deep", "Its excerpt.", ""));
    assert_eq!((texts[1].0, texts[1].1), ("Fish & more", "Cod."));
    assert!(texts[1].2.contains("Cod is a fish."), "{texts:?}");
}
