//! A provider that speaks OpenAI's Chat Completions, as its API reference of November 2026 has it, on loopback.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt,
};
use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
};

use super::{
    Call, Kind, Record, Reply, Script,
    dialects::{Dialect, converse},
    reply::{Watch, What},
    turn::{CREATED, Turn},
};

pub use super::dialects::KEY;

/// The server and everything it has seen; stops when dropped.
pub struct FakeOpenAi {
    state: Arc<Provider>,
    address: SocketAddr,
    /// Owns the server.
    _server: JoinSet<()>,
}

struct Provider {
    script: RwLock<Script>,
    record: Record,
    calls: Mutex<Vec<Arc<Call>>>,
    counts: [AtomicUsize; Kind::ALL.len()],
    number: AtomicUsize,
    violations: Mutex<Vec<String>>,
}

impl FakeOpenAi {
    /// Serves `script` on a port of its own.
    pub async fn start(script: Script, record: Record) -> Self {
        let state = Arc::new(Provider {
            script: RwLock::new(script),
            record,
            calls: Mutex::default(),
            counts: Default::default(),
            number: AtomicUsize::new(0),
            violations: Mutex::default(),
        });
        let router = Router::new()
            .route("/v1/models", get(models))
            // Whose path it is, the dialects know.
            .fallback(post(complete).fallback(unknown_path))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&state));
        let (address, server) = serve(router).await;
        Self { state, address, _server: server }
    }

    /// Returns the base URL with `/v1`, as `OPENAI_BASE_URL` wants it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Follows another script from now on.
    pub fn follow(&self, script: Script) {
        *self.state.script.write() = script;
    }

    pub fn set_latency(&self, latency: Duration) {
        self.state.script.write().set_latency(latency);
    }

    /// Returns every request so far, in order of arrival; empty when only counts are kept.
    pub fn calls(&self) -> Vec<Arc<Call>> {
        self.state.calls.lock().clone()
    }

    pub fn calls_of(&self, kind: Kind) -> Vec<Arc<Call>> {
        self.calls_matching(|call| call.kind == kind)
    }

    pub fn calls_matching(&self, test: impl Fn(&Call) -> bool) -> Vec<Arc<Call>> {
        self.calls().into_iter().filter(|call| test(call)).collect()
    }

    pub fn count(&self, kind: Kind) -> usize {
        self.state.counts[kind as usize].load(Ordering::Relaxed)
    }

    /// Counts requests of all kinds.
    pub fn total(&self) -> usize {
        self.state.number.load(Ordering::Relaxed)
    }

    /// Returns broken rules of the wire, requests no rule could answer, and unknown paths.
    pub fn violations(&self) -> Vec<String> {
        self.state.violations.lock().clone()
    }

    /// Forgets the violations and returns them: for tests that provoke some.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.violations.lock())
    }
}

/// Listens on loopback with room for as many callers at the same moment as the system allows: what finds no room
/// waits for a second.
fn listen() -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(u32::from(u16::MAX))
}

/// Serves `router` on a free port of loopback, until the set is dropped.
pub(super) async fn serve(router: Router) -> (SocketAddr, JoinSet<()>) {
    let listener = listen().expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let mut server = JoinSet::new();
    server.spawn(async move {
        let _ = axum::serve(listener, router).await;
    });
    (address, server)
}

impl Provider {
    fn blame(&self, violations: impl IntoIterator<Item = String>) {
        self.violations.lock().extend(violations);
    }

    fn note(&self, call: &Arc<Call>) {
        self.counts[call.kind as usize].fetch_add(1, Ordering::Relaxed);
        self.blame(call.violations());
        if self.record == Record::Calls {
            self.calls.lock().push(Arc::clone(call));
        }
    }

    fn answer(&self, call: &Call) -> Reply {
        let reply = self.script.read().reply(call);
        reply.unwrap_or_else(|| {
            self.blame([format!("no rule answers model call {} ({:?})", call.number, call.kind)]);
            super::reply::status(400)
        })
    }
}

async fn complete(State(provider): State<Arc<Provider>>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    let Some(dialect) = Dialect::of(uri.path()) else { return unknown_path(State(provider), uri).await };
    if !dialect.has_key(&headers) {
        return error(StatusCode::UNAUTHORIZED).into_response();
    }
    let number = provider.number.fetch_add(1, Ordering::Relaxed);
    let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
        provider.blame([format!("model call {number} is not JSON")]);
        return error(StatusCode::BAD_REQUEST).into_response();
    };
    let (body, wrong) = dialect.translated(body);
    provider.blame(wrong.into_iter().map(|wrong| format!("model call {number}: {wrong}")));
    let call = Arc::new(Call::new(number, &bytes, body, headers));
    provider.note(&call);
    let watch = Watch(Some(Arc::clone(&call)));
    let reply = provider.answer(&call);
    // Counted from the arrival: what the scripted model needs to find its answer is no latency of the client's.
    super::sleep(call.received_at, reply.latency.unwrap_or_default()).await;
    if matches!(reply.what, What::Silence) {
        std::future::pending::<()>().await;
    }
    let response = render(&reply, &call, dialect);
    watch.pass_on();
    response
}

pub(super) fn has_key(headers: &HeaderMap, key: &str) -> bool {
    let sent = headers.get("authorization").and_then(|value| value.to_str().ok());
    sent.and_then(|value| value.strip_prefix("Bearer ")) == Some(key)
}

async fn models() -> Json<Value> {
    let names = ["gpt-4.1", "gpt-4.1-mini", "scripted"];
    let data: Vec<Value> = names
        .iter()
        .map(|name| json!({ "id": name, "object": "model", "created": CREATED, "owned_by": "scripted-world" }))
        .collect();
    Json(json!({ "object": "list", "data": data }))
}

async fn unknown_path(State(provider): State<Arc<Provider>>, uri: Uri) -> Response {
    provider.blame([format!("the model provider has no {}", uri.path())]);
    error(StatusCode::NOT_FOUND).into_response()
}

/// Returns an error in OpenAI's form.
fn error(status: StatusCode) -> (StatusCode, Json<Value>) {
    let (message, kind, code) = match status.as_u16() {
        400 => ("The request is invalid.", "invalid_request_error", Value::Null),
        401 => ("Incorrect API key provided.", "invalid_request_error", json!("invalid_api_key")),
        404 => (
            "The model does not exist or you do not have access to it.",
            "invalid_request_error",
            json!("model_not_found"),
        ),
        429 => (
            "Rate limit reached for requests per minute. Please try again later.",
            "requests",
            json!("rate_limit_exceeded"),
        ),
        503 => ("The engine is currently overloaded, please try again later.", "server_error", Value::Null),
        _ => ("The server had an error while processing your request.", "server_error", Value::Null),
    };
    (status, Json(json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })))
}

fn render(reply: &Reply, call: &Arc<Call>, dialect: Dialect) -> Response {
    let watched = Some(Arc::clone(call));
    match &reply.what {
        What::Turn { .. } | What::Structured(_) => {
            let turn = Turn::of(reply, call);
            if call.is_streamed() {
                const EVENTS: &str = "text/event-stream; charset=utf-8";
                let (kind, frames) = match dialect {
                    Dialect::Chat => (EVENTS, turn.frames(call, reply.pings)),
                    Dialect::Converse(_) => (converse::STREAM, converse::frames(&turn)),
                    other => (EVENTS, other.frames(&turn, call.model()).iter().map(event).collect()),
                };
                reply.send(StatusCode::OK, kind, frames, watched)
            } else {
                let body = match dialect {
                    Dialect::Chat => turn.whole(call).to_string(),
                    other => other.whole(&turn, call.model()).to_string(),
                };
                reply.send(StatusCode::OK, "application/json", vec![body.into()], watched)
            }
        }
        What::Status(status) => {
            let (status, Json(body)) = error(*status);
            reply.send(status, "application/json", vec![body.to_string().into()], watched)
        }
        What::Verbatim { status, content_type, body } => reply.send(*status, content_type, vec![body.clone()], watched),
        What::Silence => unreachable!("silence has been kept by now"),
    }
}

/// Returns a server-sent event with this data.
fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}
