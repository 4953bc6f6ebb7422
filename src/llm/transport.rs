//! Model calls over HTTP: sends what a dialect wrote, and hands on what a server answers as the JSON texts that the
//! dialect reads.
//!
//! Whatever a server sends is counted after decompression, line by line and in all, so that
//! no answer takes more memory or time than it may.

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::Full;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::assembly::malformed;
use super::failure::{self, Failure, too_long};
use super::server::Server;
use super::{Error, Request};
use crate::domain::{Cost, ModelName};
use crate::net;

/// Bytes of a whole answer.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// Bytes of an error that are read; the rest says nothing new.
const MAX_ERROR: usize = 1024 * 1024;
/// For reading an error, which need not be complete.
const ERROR_TIME: Duration = Duration::from_secs(10);
/// Bytes of one line of a stream.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Bytes of a stream for each token that the model may write: servers wrap each in half a kilobyte of JSON.
const STREAM_BYTES_PER_TOKEN: usize = 1024;

/// A whole answer.
pub(super) struct Answer {
    pub body: Vec<u8>,
    /// What it cost, where its provider says so beside it.
    pub cost: Option<Cost>,
}

/// Makes one call and returns its answer.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(super) async fn call(server: &Server, request: &Request) -> Result<Answer, Failure> {
    let response = send(server, request, false).await?;
    let cost = server.cost(response.headers());
    let body = net::read_body(response, MAX_ANSWER).await.map_err(|problem| match problem {
        net::Error::TooLarge { max_bytes } => too_long(&request.model, "its answer", max_bytes),
        other => unreachable_server(&request.model, other),
    })?;
    Ok(Answer { body, cost })
}

/// Begins a streamed call, which ends at `ends` and never pauses for longer than `idle`.
pub(super) async fn stream(
    server: &Server,
    request: &Request,
    idle: Duration,
    ends: Instant,
) -> Result<Frames, Failure> {
    let begun = tokio::time::timeout_at(ends.min(Instant::now() + idle), send(server, request, true)).await;
    let response = begun.map_err(|_| Error::Timeout { model: request.model.clone() })??;
    let max_bytes = MAX_ANSWER.max(STREAM_BYTES_PER_TOKEN.saturating_mul(request.max_tokens as usize));
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_binary = content_type.starts_with(net::frames::CONTENT_TYPE);
    Ok(Frames {
        response,
        pieces: if is_binary {
            Pieces::Frames(net::frames::Frames::new(MAX_LINE))
        } else {
            Pieces::Lines(net::Events::new(MAX_LINE))
        },
        left: max_bytes,
        max_bytes,
        idle,
        ends,
        model: request.model.clone(),
    })
}

/// The first `max` bytes of a body, or what of it came in time.
pub(super) async fn beginning(response: &mut reqwest::Response, max: usize, time: Duration) -> reqwest::Result<String> {
    let mut body = Vec::new();
    let read = async {
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk[..chunk.len().min(max - body.len())]);
            if body.len() >= max {
                break;
            }
        }
        Ok(())
    };
    match tokio::time::timeout(time, read).await {
        Ok(Err(problem)) if body.is_empty() => Err(problem),
        _ => Ok(String::from_utf8_lossy(&body).into_owned()),
    }
}

async fn send(server: &Server, request: &Request, is_stream: bool) -> Result<reqwest::Response, Failure> {
    let model = &request.model;
    // Numbers, strings and maps with string keys: always JSON.
    let encoded = server.encode(request, is_stream).map_err(|problem| malformed(model, problem))?;
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(server.cache_header(request));
    for (name, value) in server.headers() {
        headers.insert(name.clone(), value.clone());
    }
    let url = server.url(&encoded.path);
    server.access().authorise(model, &url, &mut headers, &encoded.body).await?;
    // A body of this kind is not kept for another attempt: it is freed once it is sent, not once the answer has come.
    let body = reqwest::Body::wrap(Full::new(Bytes::from(encoded.body)));
    let call = server.http.post(url).headers(headers).body(body);
    let mut response = call.send().await.map_err(|problem| of_reqwest(model, &problem))?;
    server.limiter.observe(&net::Quota::of(response.headers()));
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = std::mem::take(response.headers_mut());
    // An error that breaks off is still the error its status says.
    let body = beginning(&mut response, MAX_ERROR, ERROR_TIME).await.unwrap_or_default();
    let failure = server.failure(model, status.as_u16(), &headers, &body);
    if matches!(status.as_u16(), 401 | 403) {
        server.access().forget();
    }
    Err(failure)
}

/// The chunks of one streamed answer as they came, without `[DONE]`.
pub(super) struct Frames {
    response: reqwest::Response,
    pieces: Pieces,
    /// Bytes that may come in all, and still.
    max_bytes: usize,
    left: usize,
    idle: Duration,
    ends: Instant,
    model: ModelName,
}

/// How a stream is cut into events.
enum Pieces {
    Lines(net::Events),
    Frames(net::frames::Frames),
}

impl Pieces {
    /// Takes in more bytes; `false` when an event is too long.
    fn push(&mut self, chunk: &[u8]) -> bool {
        match self {
            Self::Lines(lines) => lines.push(chunk),
            Self::Frames(frames) => frames.push(chunk),
        }
    }

    /// The next event that is complete.
    fn event(&mut self) -> Result<Option<String>, String> {
        match self {
            Self::Lines(lines) => Ok(lines.event()),
            Self::Frames(frames) => frames.event(),
        }
    }

    /// What is left at the end: half a frame is nothing.
    fn last_event(&mut self) -> Option<String> {
        match self {
            Self::Lines(lines) => lines.last_event(),
            Self::Frames(_) => None,
        }
    }
}

impl Frames {
    /// The next chunk; `None` at the end.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub(super) async fn next(&mut self) -> Option<Result<String, Failure>> {
        loop {
            match self.pieces.event() {
                Ok(Some(data)) if says_nothing(&data) => continue,
                Ok(Some(data)) => return Some(Ok(data)),
                Ok(None) => {}
                Err(problem) => return Some(Err(malformed(&self.model, problem).into())),
            }
            match self.more().await {
                Ok(true) => {}
                Ok(false) => return self.pieces.last_event().filter(|data| !says_nothing(data)).map(Ok),
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Takes in more bytes; `false` at the end.
    async fn more(&mut self) -> Result<bool, Failure> {
        // What is there is taken without a look at the clock; how much that can be is bounded.
        let read = match self.response.chunk().now_or_never() {
            Some(read) => read,
            None => {
                let end = self.ends.min(Instant::now() + self.idle);
                let read = tokio::time::timeout_at(end, self.response.chunk()).await;
                read.map_err(|_| Error::Timeout { model: self.model.clone() })?
            }
        };
        let Some(chunk) = read.map_err(|problem| of_reqwest(&self.model, &problem))? else { return Ok(false) };
        let Some(left) = self.left.checked_sub(chunk.len()) else {
            return Err(too_long(&self.model, "its stream", self.max_bytes));
        };
        if self.left == self.max_bytes && is_page(&chunk) {
            return Err(failure::web_page(&self.model));
        }
        self.left = left;
        if self.pieces.push(&chunk) { Ok(true) } else { Err(too_long(&self.model, "a line of its stream", MAX_LINE)) }
    }
}

/// Does a page begin here? No event of any dialect begins so.
fn is_page(first: &[u8]) -> bool {
    first.trim_ascii_start().starts_with(b"<")
}

/// Is it an empty event, or the mark of the end?
fn says_nothing(data: &str) -> bool {
    matches!(data, "" | "[DONE]")
}

/// A request that got no answer. Its URL is left out: a base URL may have a password in it.
pub(super) fn of_reqwest(model: &ModelName, problem: &reqwest::Error) -> Failure {
    unreachable_server(model, net::Error::from(problem))
}

fn unreachable_server(model: &ModelName, problem: net::Error) -> Failure {
    Error::Transport { model: model.clone(), detail: problem.to_string() }.into()
}
