//! Engines that are models with a search of their vendor's: what the trials of all engines do not ask. Answers in the
//! vendors' documented form.

use axum::{
    Router,
    extract::Request,
    http::{Method, StatusCode},
    response::IntoResponse,
    routing::any,
};
use fathom::{
    domain::{SearchFallback, TimeRange, Usage},
    net::RetryPolicy,
    search::{CallContext, Engine, Engines, Error, Filters, Limits, Settings},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::local::parser;
use crate::{
    fake_vendor::{FakeVendor, Reply},
    vendor_shapes,
};

const KEY: &str = "k3y-of-a-test";

/// A caller that keeps what is billed to it.
#[derive(Default)]
struct Bills(Mutex<Vec<Usage>>);

impl CallContext for Bills {
    fn waiting(&self, _: fathom::llm::Wait) {}

    fn billed(&self, usage: &Usage) {
        self.0.lock().push(*usage);
    }
}

impl Bills {
    fn all(&self) -> Vec<Usage> {
        self.0.lock().clone()
    }
}

fn settings(provider: &str, address: &str) -> Settings {
    let key = |name: &str| -> &'static str { format!("providers.{provider}.{name}").leak() };
    let retry = RetryPolicy {
        max_wait: std::time::Duration::ZERO,
        first_within: std::time::Duration::from_secs(1),
        timeouts: 1,
    };
    let settings = Settings { retry, instruction: "Search once.".into(), ..Settings::default() };
    settings.with(key("api_key"), KEY).with(key("base_url"), address)
}

fn engine(provider: &str, address: &str) -> Engine {
    Engines::new(settings(provider, address), parser()).unwrap().get(provider).unwrap().clone()
}

fn result(url: &str, title: &str) -> Value {
    json!({"type": "web_search_result", "url": url, "title": title, "page_age": null, "encrypted_content": "eA=="})
}

/// A turn that the vendor pauses goes on where it was; both parts are read and paid for.
#[tokio::test]
async fn a_paused_turn_goes_on() {
    let call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pumps"}});
    let paused = json!({"type": "message", "role": "assistant", "stop_reason": "pause_turn", "content": [call],
        "usage": {"input_tokens": 100, "output_tokens": 5, "server_tool_use": {"web_search_requests": 0}}});
    let results = json!([result("https://example.net/b", "B"), result("https://example.org/a", "A")]);
    let citation = json!({"type": "web_search_result_location", "url": "https://example.org/a", "title": "A",
        "cited_text": "Pumps hum.", "encrypted_index": "eA=="});
    let rest = json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": results},
        {"type": "text", "text": "They hum.", "citations": [citation]}],
        "usage": {"input_tokens": 200, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 7, "output_tokens": 30,
            "server_tool_use": {"web_search_requests": 2}}});
    let vendor = FakeVendor::start([Reply::json(200, &paused.to_string()), Reply::json(200, &rest.to_string())]).await;
    let bills = Bills::default();
    let hits = engine("anthropic", &vendor.base_url()).search("pumps", &Limits::default(), &bills).await.unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (&*hit.url, &*hit.snippet)).collect();
    assert_eq!(seen, [("https://example.org/a", "Pumps hum."), ("https://example.net/b", "")]);
    let sent = vendor.sent();
    assert_eq!((sent.len(), &sent[0].body["system"]), (2, &json!("Search once.")));
    assert_eq!(sent[0].headers["x-api-key"], KEY);
    assert_eq!(sent[1].body["messages"][1], json!({"role": "assistant", "content": [call]}));
    assert_eq!(sent[1].body["tools"], sent[0].body["tools"]);
    let counted: Vec<_> =
        bills.all().iter().map(|usage| (usage.input_tokens, usage.cached_tokens, usage.searches)).collect();
    assert_eq!(counted, [(100, 0, 0), (257, 50, 2)]);
}

/// Anthropic's own tools append the version to the same setting, and so do the models.
#[tokio::test]
async fn an_address_of_anthropics_api_may_leave_the_version_out() {
    let vendor = FakeVendor::start([]).await;
    let host = vendor.base_url().replace("/v1", "");
    for path in ["", "/anthropic", "/v1/team/anthropic/", "/v1", "/team/v2"] {
        let _ =
            engine("anthropic", &format!("{host}{path}")).search("pumps", &Limits::default(), &Bills::default()).await;
    }
    let paths: Vec<_> = vendor.sent().into_iter().map(|sent| sent.path).collect();
    let expected = ["/v1", "/anthropic/v1", "/v1/team/anthropic/v1", "/v1", "/team/v2"];
    assert_eq!(paths, expected.map(|path| format!("{path}/messages")));
}

/// A vendor that pauses without end is not paid without end.
#[tokio::test]
async fn pauses_are_bounded() {
    let paused = json!({"stop_reason": "pause_turn", "content": [], "usage": {"input_tokens": 1}}).to_string();
    let vendor = FakeVendor::start((0..20).map(|_| Reply::json(200, &paused))).await;
    let bills = Bills::default();
    let outcome = engine("anthropic", &vendor.base_url()).search("pumps", &Limits::default(), &bills).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    assert_eq!((vendor.sent().len(), bills.all().len()), (5, 5));
}

/// Answers that nobody can use were paid for, too.
#[tokio::test]
async fn what_was_of_no_use_is_billed() {
    let answer = json!({"status": "completed", "error": null, "output": [{"type": "message", "content": []}],
        "usage": {"input_tokens": 40, "input_tokens_details": {"cached_tokens": 30}, "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 5}}, "tool_usage": {"web_search": {"num_requests": 3}}});
    let vendor = FakeVendor::start([Reply::json(200, &answer.to_string())]).await;
    let bills = Bills::default();
    let outcome = engine("openai", &vendor.base_url()).search("pumps", &Limits::default(), &bills).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    let expected = Usage {
        input_tokens: 40,
        cached_tokens: 30,
        output_tokens: 12,
        reasoning_tokens: 5,
        searches: 3,
        ..Usage::default()
    };
    assert_eq!(bills.all(), [expected]);
    let sent = &vendor.sent()[0];
    assert_eq!((&*sent.path, &sent.body["instructions"]), ("/v1/responses", &json!("Search once.")));
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"));
}

/// Results behind the vendor's own addresses stand under those of their pages; an address that leads nowhere is no
/// result. The key is sent to nobody but the vendor's API.
#[tokio::test]
async fn addresses_of_the_vendor_are_followed_to_the_pages() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let own = address.clone();
    let answer = move |request: Request| {
        let own = own.clone();
        async move {
            let path = request.uri().path().to_owned();
            if path.ends_with(":generateContent") {
                let chunk = |name: &str| json!({"web": {"uri": format!("{own}/grounding-api-redirect/{name}"), "title": "example.org"}});
                let answer = json!({"candidates": [{"content": {"parts": [{"text": "Pumps hum."}]}, "groundingMetadata": {
                    "webSearchQueries": ["a", "b", "a"], "groundingChunks": [chunk("gone"), chunk("a"), chunk("loop")],
                    "groundingSupports": [{"segment": {"text": "Pumps hum."}, "groundingChunkIndices": [1]}]}}],
                    "usageMetadata": {"promptTokenCount": 20, "toolUsePromptTokenCount": 80, "candidatesTokenCount": 30,
                        "thoughtsTokenCount": 10}});
                return axum::Json(answer).into_response();
            }
            assert_eq!(request.method(), Method::HEAD);
            assert!(!request.headers().contains_key("x-goog-api-key"));
            match path.rsplit('/').next() {
                Some("a") => {
                    (StatusCode::FOUND, [("location", "https://example.org/pumps?utm_source=x")]).into_response()
                }
                Some("loop") => (StatusCode::FOUND, [("location", "/grounding-api-redirect/loop")]).into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        }
    };
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, Router::new().fallback(any(answer))).await.unwrap() });
    let bills = Bills::default();
    let hits =
        engine("google", &format!("{address}/v1beta")).search("pumps", &Limits::default(), &bills).await.unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (&*hit.url, &*hit.snippet)).collect();
    assert_eq!(seen, [("https://example.org/pumps", "Pumps hum.")]);
    let bill = bills.all()[0];
    assert_eq!((bill.input_tokens, bill.output_tokens, bill.reasoning_tokens, bill.searches), (100, 40, 10, 2));
}

/// They cost, so nobody gets them unasked; and what one run pays them is one line of its ledger.
#[test]
fn they_are_named_or_not_used() {
    let engines = Engines::new(settings("openai", "https://api.openai.com/v1"), parser()).unwrap();
    let auto = engines.resolve(&"auto".parse().unwrap()).unwrap_err().to_string();
    assert!(auto.contains("search_api=openai, anthropic, google"), "{auto}");
    assert!(!auto.contains("OPENAI_API_KEY"), "{auto}");
    for name in ["openai", "openai,wikipedia"] {
        let chosen = engines.select(&name.parse().unwrap(), &SearchFallback::default()).unwrap();
        assert_eq!(chosen.model().unwrap().to_string(), "openai:gpt-5.4-mini");
        assert!(engines.check(&name.parse().unwrap()).is_ok());
    }
    let missing = engines.select(&"google".parse().unwrap(), &SearchFallback::default()).unwrap_err().to_string();
    assert!(missing.contains("set GEMINI_API_KEY"), "{missing}");
    let two = engines.check(&"openai,google".parse().unwrap()).unwrap_err().to_string();
    assert!(two.contains("but one of openai, anthropic, google at most"), "{two}");
    let check = |fallback: &str, beside: &str| {
        let checked = engines.check_fallback(&fallback.parse().unwrap(), &beside.parse().unwrap());
        checked.map_err(|error| error.to_string())
    };
    assert_eq!(check("openai,wikipedia", "arxiv"), Ok(()));
    assert_eq!(check("openai", "openai,arxiv"), Ok(()), "it is one");
    assert_eq!(check("wikipedia", "openai"), Ok(()));
    let two = check("google", "openai").unwrap_err();
    assert!(two.contains("'search_fallback'") && two.contains("at most, those of search_api included"), "{two}");
    let none = check("bing", "openai").unwrap_err();
    assert!(none.contains("must be none, or one or several of tavily") && none.contains("(Bing's"), "{none}");
}

/// Searches with and without each filter, by their names.
fn searches() -> Vec<(&'static str, Limits)> {
    let with = |filters: Filters| Limits { filters, ..Limits::default() };
    let sites = || vec!["example.org".to_owned(), "example.net".to_owned()];
    vec![
        ("plain", Limits::default()),
        ("include", with(Filters { include: sites(), ..Filters::default() })),
        ("exclude", with(Filters { exclude: sites(), ..Filters::default() })),
        ("country", with(Filters { country: Some("SE".to_owned()), ..Filters::default() })),
        ("time range", with(Filters { time_range: Some(TimeRange::Month), ..Filters::default() })),
    ]
}

/// What an engine sends for a search, its further turns included, when it is answered so.
async fn bodies(provider: &str, replies: Vec<Reply>, limits: &Limits) -> Vec<Value> {
    let vendor = FakeVendor::start(replies).await;
    // What comes back matters only as far as it makes the engine go on.
    let _ = engine(provider, &vendor.base_url()).search("pumps", limits, &Bills::default()).await;
    vendor.sent().iter().map(|sent| sent.body.clone()).collect()
}

/// Held against the vendors' own Python packages, as model calls are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_the_shapes_that_vendors_publish() {
    let call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pumps"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "https://example.org/a", "title": "Pumps", "page_age": null, "encrypted_content": "eA=="}]});
    let paused = json!({"stop_reason": "pause_turn", "content": [call, found], "usage": {"input_tokens": 1}});
    let (mut lines, mut right, mut wrong) = (String::new(), Vec::new(), Vec::new());
    for (provider, wire, place) in [
        ("openai", "Responses", "/tools/0/type"),
        ("anthropic", "Messages", "/tools/0/max_uses"),
        ("google", "Gemini", "/tools/0/googleSearch"),
    ] {
        for (case, limits) in searches() {
            let replies = [paused.to_string(), "{}".to_owned()].map(|body| Reply::json(200, &body));
            let bodies = bodies(provider, replies.into(), &limits).await;
            assert_eq!(bodies.len(), if provider == "anthropic" { 2 } else { 1 }, "{provider}, {case}");
            for (turn, body) in bodies.into_iter().enumerate() {
                let mut damaged = body.clone();
                *damaged.pointer_mut(place).unwrap() = json!("nonsense");
                for (body, kind, names) in [(body, "right", &mut right), (damaged, "wrong", &mut wrong)] {
                    let name = format!("{provider}, {case}, turn {turn}, {kind}");
                    lines += &format!("{}\n", json!({"wire": wire, "name": name, "body": body}));
                    names.push(name);
                }
            }
        }
    }
    assert_eq!(right.len(), 5 * 4);
    let problems = vendor_shapes::problems(lines).await;
    let refused: Vec<_> =
        right.iter().map(|name| (name, &problems[name])).filter(|(_, found)| !found.is_empty()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    // The check is only worth something if it refuses.
    wrong.iter().for_each(|name| assert!(!problems[name].is_empty(), "{name} passes"));
}
