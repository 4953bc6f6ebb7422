//! A model server on loopback that sends given bytes, whatever it is asked, and remembers what it was sent.
//!
//! For the wires alone: it understands no request. Whole runs are played by [`crate::world::FakeOpenAi`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue as HeaderText, Message};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures::StreamExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

/// One scripted answer.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Bytes>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Proper,
    /// The connection breaks off.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Stall,
    /// Not even headers come.
    Silence,
}

impl Reply {
    pub fn text(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type", content_type.to_owned())];
        Self { status, headers, pieces: vec![Bytes::from(body.into())], end: End::Proper }
    }

    /// Returns a stream of these bytes.
    pub fn bytes(content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        Self { pieces: pieces.into_iter().map(Bytes::from).collect(), ..Self::text(200, content_type, "") }
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self::text(status, "application/json", body)
    }

    /// Returns a whole answer with this `message` and `finish_reason`.
    pub fn message(message: Value, finish: &str) -> Self {
        let body = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42,
                "prompt_tokens_details": {"cached_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 1}}
        });
        Self::json(200, &body.to_string())
    }

    /// Returns a whole answer of plain text.
    pub fn says(text: &str) -> Self {
        Self::message(json!({"role": "assistant", "content": text}), "stop")
    }

    /// Returns an event stream of these chunks' bytes, as they are.
    pub fn stream(chunks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let pieces = chunks.into_iter().map(|chunk| Bytes::from(chunk.into())).collect();
        Self { pieces, ..Self::text(200, "text/event-stream", "") }
    }

    /// Returns an event stream that says `pieces` and ends as OpenAI's does.
    pub fn streams(pieces: &[&str]) -> Self {
        let texts = pieces.iter().map(|piece| chunk(json!({"content": piece}), None));
        let end = [chunk(json!({}), Some("stop")), USAGE_CHUNK.to_owned(), DONE.to_owned()];
        Self::stream(texts.chain(end))
    }

    pub fn silence() -> Self {
        Self { end: End::Silence, ..Self::json(200, "") }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Returns the same under another content type.
    pub fn called(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| *name != "content-type");
        self.header("content-type", content_type)
    }

    pub fn then_cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    pub fn then_stall(self) -> Self {
        Self { end: End::Stall, ..self }
    }
}

pub const DONE: &str = "data: [DONE]\n\n";
pub const USAGE_CHUNK: &str = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2,\"total_tokens\":42,\"prompt_tokens_details\":{\"cached_tokens\":30},\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\n";

/// Returns the bytes of one chunk with this delta.
pub fn chunk(delta: Value, finish: Option<&str>) -> String {
    let body = json!({"object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {body}\n\n")
}

/// Returns a frame of Amazon's streams of events.
pub fn frame(name: &'static str, payload: &Value) -> Vec<u8> {
    let header = |name: &'static str, value: &'static str| Header::new(name, HeaderText::String(value.into()));
    let frame = Message::new(payload.to_string())
        .add_header(header(":message-type", "event"))
        .add_header(header(":event-type", name))
        .add_header(header(":content-type", "application/json"));
    let mut bytes = Vec::new();
    write_message_to(&frame, &mut bytes).expect("headers that are short can be written");
    bytes
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Sent {
    pub path: String,
    pub headers: HeaderMap,
    /// Null for a GET.
    pub body: Value,
    /// The body as it came, when it is text.
    pub text: String,
}

/// The running server; stops when dropped.
pub struct FakeVendor {
    address: String,
    played: Arc<Played>,
    _server: AbortOnDropHandle<()>,
}

struct Played {
    script: Mutex<VecDeque<Reply>>,
    sent: Mutex<Vec<Sent>>,
    /// One permit for every answer whose reader went away or that ended.
    closed: Semaphore,
}

impl FakeVendor {
    /// Answers each request with the next reply, whatever its path.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let played = Arc::new(Played {
            script: Mutex::new(script.into_iter().collect()),
            sent: Mutex::default(),
            closed: Semaphore::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&played));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, played, _server: AbortOnDropHandle::new(server) }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn sent(&self) -> Vec<Sent> {
        self.played.sent.lock().clone()
    }

    /// Waits until one more answer's connection is closed, or the answer is over.
    pub async fn closed(&self) {
        self.played.closed.acquire().await.unwrap().forget();
    }
}

async fn answer(State(played): State<Arc<Played>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    played.sent.lock().push(Sent { path: parts.uri.to_string(), headers: parts.headers, body, text });
    let closing = Closing(Arc::clone(&played));
    let Some(reply) = played.script.lock().pop_front() else {
        return respond(Reply::text(418, "text/plain", "the script is over"), closing);
    };
    if reply.end == End::Silence {
        std::future::pending::<Infallible>().await;
    }
    respond(reply, closing)
}

struct Closing(Arc<Played>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.closed.add_permits(1);
    }
}

fn respond(reply: Reply, closing: Closing) -> Response {
    let pieces = reply.pieces.into_iter().map(Ok);
    let end = futures::stream::once(async move {
        let _closing = closing;
        match reply.end {
            End::Proper => Ok(Bytes::new()),
            // A pause lets the bytes before it leave; the error then closes the connection.
            End::Cut => {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            }
            End::Stall | End::Silence => std::future::pending().await,
        }
    });
    // Each piece in a read of its own, as far as the network lets it.
    let body = futures::stream::iter(pieces).then(|piece| async {
        tokio::task::yield_now().await;
        piece
    });
    let mut response = Response::new(Body::from_stream(body.chain(end)));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap());
    }
    response
}
