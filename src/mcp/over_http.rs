//! Servers over HTTP whose answers are none of the protocol, or that want more of a request than its body.

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse as _, Redirect, Response},
    routing::{any, post},
};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::*;

/// A server that has a tool `tell` and a resource. What `answer` returns comes before its own answers.
struct Fake {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
    _server: JoinSet<()>,
}

type Answer = Arc<dyn Fn(&Value, &HeaderMap, usize) -> Option<Response> + Send + Sync>;

#[derive(Clone)]
struct Shared(Answer, Arc<Mutex<Vec<String>>>);

impl Fake {
    /// Starts the server; `answer` gets the request, its headers, and how many of that method there were before.
    async fn start(answer: impl Fn(&Value, &HeaderMap, usize) -> Option<Response> + Send + Sync + 'static) -> Self {
        let asked = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let token = async |State(Shared(_, asked)): State<Shared>| {
            asked.lock().push("token".to_owned());
            Json(json!({"access_token": "granted", "token_type": "Bearer"}))
        };
        let router = Router::new().route("/mcp", post(answered)).route("/token", post(token));
        let router = router
            .route("/moved", any(async || Redirect::temporary("/mcp")))
            .route("/elsewhere", any(async || Redirect::temporary("http://127.0.0.1:1/mcp?key=pa55word")));
        let router = router.with_state(Shared(Arc::new(answer), Arc::clone(&asked)));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { origin, asked, _server: server }
    }

    fn clients(&self, more: Value) -> Clients {
        let mut server = json!({"name": "a", "url": format!("{}/mcp", self.origin), "timeout_seconds": 1});
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Clients::new(read(&json!([server]), &|_| None).unwrap())
    }

    fn count(&self, method: &str) -> usize {
        self.asked.lock().iter().filter(|asked| *asked == method).count()
    }
}

async fn answered(State(Shared(answer, asked)): State<Shared>, headers: HeaderMap, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let method = request["method"].as_str().unwrap().to_owned();
    let before = asked.lock().iter().filter(|asked| **asked == method).count();
    asked.lock().push(method.clone());
    if let Some(answer) = answer(&request, &headers, before) {
        return answer;
    }
    match method.as_str() {
        "initialize" => result(
            &request,
            json!({"protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "a", "version": "1"}}),
        ),
        "tools/list" => result(
            &request,
            json!({"tools": [{"name": "tell", "inputSchema": {"type": "object",
            "properties": {"of": {"type": "string", "x-mcp-header": "Of"}}}}]}),
        ),
        "resources/list" => result(&request, json!({"resources": [{"uri": "r://1", "name": "R"}]})),
        "tools/call" => result(&request, json!({"content": [{"type": "text", "text": "dues"}]})),
        _ if request.get("id").is_some() => refused(&request, -32601),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

fn result(request: &Value, result: Value) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).into_response()
}

fn refused(request: &Value, code: i32) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "no"}})).into_response()
}

fn with_status(status: u16, kind: &'static str, body: impl Into<axum::body::Body>) -> Response {
    http::Response::builder().status(status).header("content-type", kind).body(body.into()).unwrap()
}

async fn tell(clients: &Clients, of: &str) -> Result<Reply, Error> {
    let arguments = json!({"of": of}).as_object().unwrap().clone();
    clients.call("a", "tell", arguments, &|_| {}).await
}

/// More of them than a run may open connections.
#[tokio::test]
async fn an_answer_that_is_none_of_the_protocol_costs_its_call_alone() {
    let fake = Fake::start(|request, _, _| match request["params"]["arguments"]["of"].as_str()? {
        "busy" => Some(with_status(429, "text/plain", "later")),
        "down" => Some(with_status(503, "text/html", "<html>")),
        "blocked" => Some(with_status(400, "text/html", "<html>blocked</html>")),
        "page" => Some(with_status(200, "text/html", "<html>Welcome</html>")),
        "empty" => Some(with_status(200, "application/json", "{}")),
        "large" => Some(with_status(200, "application/json", "x".repeat(17 << 20))),
        _ => None,
    });
    let (fake, expected) = (
        fake.await,
        [
            ("busy", "it answered HTTP 429"),
            ("down", "it answered HTTP 503"),
            ("blocked", "it answered HTTP 400 Bad Request: <html>blocked"),
            ("page", "it answered content of the type text/html"),
            ("empty", "it answered could not parse"),
            ("large", "it answered more than 16777216 bytes"),
        ],
    );
    let clients = fake.clients(json!({}));
    for (of, words) in expected {
        let error = tell(&clients, of).await.unwrap_err();
        assert!(matches!(&error, Error::Refused(said) if said.contains(words)), "{of}: {error:?}");
    }
    assert_eq!(tell(&clients, "dues").await.unwrap().pieces[0].text, "dues");
    assert_eq!(fake.count("initialize"), 1, "all of them on one connection");
}

#[tokio::test]
async fn a_server_of_the_older_transport_is_named() {
    let fake = Fake::start(|_, _, _| Some(with_status(405, "text/plain", "no".repeat(2_000)))).await;
    let error = fake.clients(json!({})).offers().await.remove(0).1.unwrap_err().to_string();
    assert!(error.contains("older HTTP with SSE, which is not supported: it answered HTTP 405"), "{error}");
}

/// As a path without its last slash does in many frameworks.
#[tokio::test]
async fn a_redirect_is_followed_within_its_origin_and_else_named() {
    let fake = Fake::start(|_, _, _| None).await;
    let at = |path: &str| fake.clients(json!({"url": format!("{}{path}", fake.origin)}));
    assert_eq!(tell(&at("/moved"), "dues").await.unwrap().pieces[0].text, "dues");
    let error = tell(&at("/elsewhere"), "dues").await.unwrap_err().to_string();
    let expected = "it answered HTTP 307 Temporary Redirect, a redirect to http://127.0.0.1:1/mcp that is not followed";
    assert!(error.contains(expected) && !error.contains("pa55word"), "{error}");
}

/// As some do that were started again, though the protocol wants a 404.
#[tokio::test]
async fn a_server_that_refuses_all_requests_of_a_session_is_greeted_again() {
    let known = Arc::new(Mutex::new(true));
    let knows = Arc::clone(&known);
    let fake = Fake::start(move |request, _, _| {
        *knows.lock() |= request["method"] == "initialize";
        (!*knows.lock()).then(|| with_status(400, "text/plain", "no valid session"))
    });
    let fake = fake.await;
    let clients = fake.clients(json!({}));
    assert!(tell(&clients, "dues").await.is_ok());
    *known.lock() = false;
    assert!(matches!(tell(&clients, "dues").await, Err(Error::Refused(said)) if said.contains("no valid session")));
    assert!(tell(&clients, "dues").await.is_ok());
    assert_eq!(fake.count("initialize"), 2);
}

#[tokio::test]
async fn a_token_that_is_refused_without_a_challenge_is_renewed() {
    for status in [401, 403] {
        let fake = Fake::start(move |request, _, before| {
            (request["method"] == "tools/call" && before == 0).then(|| with_status(status, "text/plain", "who?"))
        });
        let fake = fake.await;
        let oauth = json!({"client_id": "f", "client_secret": "s", "token_url": format!("{}/token", fake.origin)});
        let clients = fake.clients(json!({ "oauth": oauth }));
        assert!(tell(&clients, "dues").await.is_ok(), "{status}");
        assert_eq!((fake.count("token"), fake.count("tools/call")), (2, 2), "{status}");
        let without = Fake::start(move |_, _, _| Some(with_status(status, "text/plain", "who?"))).await;
        assert!(matches!(tell(&without.clients(json!({})), "dues").await, Err(Error::NeedsToken)), "{status}");
    }
}

#[tokio::test]
async fn a_server_of_resources_alone_offers_them() {
    let greeting = |capabilities: Value| {
        move |request: &Value, _: &HeaderMap, _: usize| match request["method"].as_str()? {
            "initialize" => Some(result(
                request,
                json!({"protocolVersion": "2025-06-18",
                "capabilities": capabilities, "serverInfo": {"name": "a", "version": "1"}}),
            )),
            "tools/list" => Some(refused(request, -32601)),
            _ => None,
        }
    };
    let fake = Fake::start(greeting(json!({"resources": {}}))).await;
    let clients = fake.clients(json!({"tools": ["tell"]}));
    let offer = clients.offers().await.remove(0).1.unwrap();
    assert_eq!((offer.tools.len(), offer.resources.len()), (0, 1));
    assert_eq!(offer.notes, ["it has no tool tell"]);
    let fake = Fake::start(greeting(json!({"tools": {}, "resources": {}}))).await;
    let error = fake.clients(json!({})).offers().await.remove(0).1.unwrap_err();
    assert!(error.to_string().contains("-32601"), "one that declares tools has to list them: {error}");
}

/// Its connection is asked whether it lives, by a list that it has not, or has no time for.
#[tokio::test]
async fn a_server_that_refuses_the_list_is_there() {
    let lists: [fn(&Value) -> Response; 2] =
        [|request| refused(request, -32601), |_| with_status(429, "text/plain", "later")];
    for list in lists {
        let fake = Fake::start(move |request, _, _| match request["params"]["arguments"]["of"].as_str() {
            // An answer to nobody.
            Some("slow") => Some(StatusCode::ACCEPTED.into_response()),
            _ => (request["method"] == "tools/list").then(|| list(request)),
        });
        let fake = fake.await;
        let clients = fake.clients(json!({}));
        assert!(matches!(tell(&clients, "slow").await, Err(Error::TimedOut(_))));
        assert!(tell(&clients, "dues").await.is_ok());
        assert_eq!((fake.count("initialize"), fake.count("tools/list")), (1, 1));
    }
}

/// The process goes on with a run whose tools another one listed, so the first call lacks what the schema wants.
#[tokio::test]
async fn the_headers_of_a_tool_are_learnt_when_they_are_missed() {
    let modern = |request: &Value| match request["method"].as_str()? {
        "server/discover" => Some(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
        "tools/list" => Some(json!({"tools": [{"name": "tell", "inputSchema": {"type": "object",
            "properties": {"of": {"type": "string", "x-mcp-header": "Of"}}}}]})),
        "tools/call" => Some(json!({"content": [{"type": "text", "text": "dues"}]})),
        _ => None,
    };
    let fake = Fake::start(move |request, headers, _| {
        let of = headers.get("mcp-param-of").map(|of| of.to_str().unwrap());
        let asked = &request["params"]["arguments"]["of"];
        let lacks = request["method"] == "tools/call" && (of != asked.as_str() || asked == "never");
        if lacks {
            return Some((StatusCode::BAD_REQUEST, refused(request, -32020)).into_response());
        }
        let mut answer = modern(request)?;
        answer["resultType"] = json!("complete");
        (answer["ttlMs"], answer["cacheScope"]) = (json!(0), json!("private"));
        Some(result(request, answer))
    });
    let fake = fake.await;
    let clients = fake.clients(json!({}));
    assert_eq!(tell(&clients, "dues").await.unwrap().pieces[0].text, "dues");
    assert_eq!((fake.count("tools/list"), fake.count("tools/call"), fake.count("initialize")), (1, 2, 0));
    assert!(tell(&clients, "loans").await.is_ok());
    assert_eq!((fake.count("tools/list"), fake.count("tools/call")), (1, 3), "they are known now");
    assert!(matches!(tell(&clients, "never").await, Err(Error::Refused(said)) if said.contains("-32020")));
    assert_eq!((fake.count("tools/list"), fake.count("tools/call")), (2, 5), "once more, and not for ever");
}

/// Returns a list in which some tools are none that the SDK can read, and one cannot be called.
fn odd_tools() -> Value {
    json!({"tools": [
        {"name": "tell", "inputSchema": {"type": "object"}},
        {"name": "bare", "description": "Takes nothing."},
        {"name": "null", "title": "Null", "description": null, "inputSchema": null},
        {"name": "odd", "annotations": "none", "description": 7, "inputSchema": {"type": "object"}},
        {"name": "any", "inputSchema": true},
        {"inputSchema": {"type": "object"}},
        {"name": "later", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
        {"name": "either", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
    ]})
}

#[tokio::test]
async fn a_tool_that_cannot_be_read_costs_itself_alone() {
    let modern = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    for (more, as_events) in [(json!({}), false), (json!({}), true), (modern, false)] {
        let fake = Fake::start(move |request, _, _| {
            let mut list = odd_tools();
            list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            (request["method"] == "tools/list")
                .then(|| if as_events { events(request, list) } else { result(request, list) })
        });
        let offer = fake.await.clients(json!({})).offers().await.remove(0).1.unwrap();
        let names: Vec<_> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["tell", "bare", "null", "odd", "either"], "{offer:?}");
        let of = |name: &str| offer.tools.iter().find(|tool| tool.name == name).unwrap();
        assert_eq!(of("bare").schema, json!({"type": "object", "properties": {}}));
        assert_eq!((of("bare").description.as_str(), of("null").description.as_str()), ("Takes nothing.", "Null"));
        let shown = offer.notes.join("\n");
        assert!(shown.contains("its tool any has a schema that models cannot be shown"), "{shown}");
        assert!(shown.contains("its tool later can only be called as a task"), "{shown}");
        assert_eq!(offer.notes.len(), 3, "{shown}");
    }
}

/// As a server cuts texts that does not look where.
#[tokio::test]
async fn half_a_surrogate_pair_in_an_event_is_repaired() {
    let fake = Fake::start(|request, _, _| {
        let cut = json!({"content": [{"type": "text", "text": "dues HALF"}]});
        (request["method"] == "tools/call").then(|| events(request, cut))
    });
    let reply = tell(&fake.await.clients(json!({})), "dues").await.unwrap();
    assert_eq!(reply.pieces[0].text, "dues \u{FFFD}");
}

fn events(request: &Value, result: Value) -> Response {
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let data = message.replace("HALF", r"\ud83d").replacen(",", ",\ndata: ", 1);
    with_status(200, "text/event-stream", format!("event: message\ndata: {data}\n\n"))
}

/// As one that is started for its first request.
#[tokio::test]
async fn a_server_that_does_not_answer_the_first_question_is_greeted_by_the_older_protocol() {
    for kind in ["application/json", "text/event-stream"] {
        let pending = move || axum::body::Body::from_stream(futures::stream::pending::<Result<String, fmt::Error>>());
        let fake = Fake::start(move |request, _, _| {
            (request["method"] == "server/discover").then(|| with_status(200, kind, pending()))
        });
        let fake = fake.await;
        let clients = fake.clients(json!({}));
        let wait = async {
            while fake.count("server/discover") == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::pause();
            tokio::time::advance(raw::DISCOVERY_TIME).await;
            tokio::time::resume();
        };
        let (reply, ()) = tokio::join!(tell(&clients, "dues"), wait);
        assert_eq!(reply.unwrap().pieces[0].text, "dues", "{kind}");
        assert_eq!((fake.count("server/discover"), fake.count("initialize")), (1, 1), "{kind}");
    }
}
