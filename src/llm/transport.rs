//! Model calls over HTTP: sends what a dialect wrote, and hands on what a server answers as the JSON texts that the
//! dialect reads.
//!
//! Whatever a server sends is counted after decompression, line by line and in all, so that
//! no answer takes more memory or time than it may.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::{Instant, Sleep};

use super::assembly::malformed;
use super::failure::{self, Asked, Failure, too_long};
use super::server::Server;
use super::wire::Wire;
use super::{Error, Request};
use crate::domain::{Cost, ModelName};
use crate::net;

/// Bytes of a whole answer.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// Bytes of an error that are read; the rest says nothing new.
const MAX_ERROR: usize = 1024 * 1024;
/// The time for reading an error, which need not be complete.
const ERROR_TIME: Duration = Duration::from_secs(10);
/// Bytes of one line of a stream.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// What server-sent events come as.
const EVENT_STREAM: &str = "text/event-stream";
/// Bytes of a stream for each token that the model may write: servers wrap each in half a kilobyte of JSON.
const STREAM_BYTES_PER_TOKEN: usize = 1024;

/// What came for a call that did not ask for a stream.
pub(super) enum Answer {
    Whole {
        body: Vec<u8>,
        beside: Beside,
    },
    /// Some gateways stream whatever they are asked for.
    Stream(Box<Frames>),
}

/// What the headers of an answer say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// What it cost, where its provider says so.
    pub cost: Option<Cost>,
    /// Of another attempt, should there be a failure inside.
    pub asked: Asked,
}

impl Beside {
    fn of(server: &Server, response: &reqwest::Response) -> Self {
        Self { cost: server.cost(response.headers()), asked: Asked::of(response.headers()) }
    }
}

/// Makes one call and returns its answer. One that is streamed ends at `ends` and never pauses for longer than `idle`.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(super) async fn call(server: &Server, request: &Request, idle: Duration, ends: Instant) -> Result<Answer, Failure> {
    let response = send(server, request, false).await?;
    let beside = Beside::of(server, &response);
    if is_stream(&response) {
        let time = StreamTime::new(idle, ends);
        return Ok(Answer::Stream(Box::new(Frames::new(response, server.wire(), request, beside, time))));
    }
    let body = net::read_body(response, MAX_ANSWER).await.map_err(|problem| match problem {
        net::Error::TooLarge { max_bytes } => too_long(&request.model, "its answer", max_bytes),
        other => unreachable_server(&request.model, other),
    })?;
    Ok(Answer::Whole { body, beside })
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
    let beside = Beside::of(server, &response);
    Ok(Frames::new(response, server.wire(), request, beside, StreamTime::new(idle, ends)))
}

fn content_type(response: &reqwest::Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns whether the response says that a stream of events follows.
fn is_stream(response: &reqwest::Response) -> bool {
    let content_type = content_type(response);
    content_type.starts_with(EVENT_STREAM) || content_type.starts_with(net::frames::CONTENT_TYPE)
}

/// Returns the first `max` bytes of a body, or what of it came in time.
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
        _ => Ok(text_of(body)),
    }
}

/// Sends the request, and once more where credentials that were fetched for it are refused and can be fetched again: it
/// was refused unread, so nothing is paid twice.
async fn send(server: &Server, request: &Request, is_stream: bool) -> Result<reqwest::Response, Failure> {
    let mut may_renew = true;
    loop {
        let mut response = send_once(server, request, is_stream).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = std::mem::take(response.headers_mut());
        let is_refused = matches!(status.as_u16(), 401 | 403);
        if is_refused && server.access().refused(status.as_u16(), &headers) && std::mem::take(&mut may_renew) {
            continue;
        }
        // An error that breaks off is still the error its status says.
        let body = beginning(&mut response, MAX_ERROR, ERROR_TIME).await.unwrap_or_default();
        return Err(server.failure(&request.model, status.as_u16(), &headers, &body));
    }
}

/// Returns the answer to the request, whatever its status.
async fn send_once(server: &Server, request: &Request, is_stream: bool) -> Result<reqwest::Response, Failure> {
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
    let response = call.send().await.map_err(|problem| of_reqwest(model, &problem))?;
    server.limiter.observe(&net::Quota::of(response.headers()));
    Ok(response)
}

/// What a server sends where an answer is streamed.
pub(super) enum Piece<'a> {
    /// A chunk as it came, or the mark of the end, which not all servers send.
    Event(&'a str),
    /// The whole answer: some servers stream nothing, whatever they are asked for.
    Whole(&'a str),
}

/// The pieces of one streamed answer.
pub(super) struct Frames {
    response: reqwest::Response,
    pieces: Pieces,
    wire: Wire,
    beside: Beside,
    /// Whether anything has come but blanks.
    has_begun: bool,
    /// Bytes that may come in all, and still.
    max_bytes: usize,
    left: usize,
    time: StreamTime,
    model: ModelName,
}

/// How a stream is cut into events.
enum Pieces {
    Lines(net::Events),
    Frames(net::frames::Frames),
    Elements(net::Elements),
    /// Not at all.
    Whole(Body),
}

/// A body with one JSON text, no longer than a line of a stream may be.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// Once all has come.
    text: String,
}

impl Body {
    /// Takes in more bytes; `false` when there are too many.
    fn push(&mut self, chunk: &[u8]) -> bool {
        self.bytes.extend_from_slice(chunk);
        self.bytes.len() <= MAX_LINE
    }

    fn finish(&mut self) -> bool {
        self.text = text_of(std::mem::take(&mut self.bytes));
        !self.text.is_empty()
    }
}

/// Returns a body as text, whatever is in it, without the mark of its encoding that some servers begin it with.
pub(super) fn text_of(body: Vec<u8>) -> String {
    String::from_utf8(net::body_without_mark(body))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Calls `take` with each event of a body that is a stream, whatever its server calls it; `false` when it is none.
pub(super) fn each_event(
    wire: Wire,
    model: &ModelName,
    body: &[u8],
    mut take: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let Some(mut pieces) = Pieces::of_stream(wire, body) else { return Ok(false) };
    // The body is bounded, and so is each event.
    pieces.push(body);
    while pieces.advance().map_err(|problem| malformed(model, problem))? || pieces.finish() {
        take(pieces.data())?;
    }
    Ok(true)
}

/// How lines of server-sent events begin.
const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

impl Pieces {
    /// Returns how a stream is cut that begins so; `None` when none does.
    fn of_stream(wire: Wire, body: &[u8]) -> Option<Self> {
        let body = net::without_mark(body).trim_ascii_start();
        let is_array = wire.streams_arrays() && body.starts_with(b"[");
        let is_lines = FIELDS.iter().any(|field| body.starts_with(field));
        match (is_array, is_lines) {
            (true, _) => Some(Self::Elements(net::Elements::new(MAX_ANSWER))),
            (_, true) => Some(Self::Lines(net::Events::new(MAX_ANSWER))),
            _ => None,
        }
    }

    /// Takes in more bytes; `false` when an event is too long.
    fn push(&mut self, chunk: &[u8]) -> bool {
        match self {
            Self::Lines(lines) => lines.push(chunk),
            Self::Frames(frames) => frames.push(chunk),
            Self::Elements(elements) => elements.push(chunk),
            Self::Whole(body) => body.push(chunk),
        }
    }

    /// Goes to the next event that says something; `false` when none is complete.
    fn advance(&mut self) -> Result<bool, String> {
        loop {
            let is_there = match self {
                Self::Lines(lines) => lines.advance(),
                Self::Frames(frames) => frames.advance()?,
                Self::Elements(elements) => elements.advance(),
                Self::Whole(_) => false,
            };
            if !is_there || !self.data().is_empty() {
                return Ok(is_there);
            }
        }
    }

    /// Goes to what is left at the end, if it says something: half a frame or element is nothing.
    fn finish(&mut self) -> bool {
        match self {
            Self::Lines(lines) => lines.finish() && !lines.data().is_empty(),
            Self::Frames(_) | Self::Elements(_) => false,
            Self::Whole(body) => body.finish(),
        }
    }

    fn data(&self) -> &str {
        match self {
            Self::Lines(lines) => lines.data(),
            Self::Frames(frames) => frames.data(),
            Self::Elements(elements) => elements.data(),
            Self::Whole(body) => &body.text,
        }
    }
}

impl Frames {
    fn new(response: reqwest::Response, wire: Wire, request: &Request, beside: Beside, time: StreamTime) -> Self {
        let max_bytes = MAX_ANSWER.max(STREAM_BYTES_PER_TOKEN.saturating_mul(request.max_tokens as usize));
        let pieces = if content_type(&response).starts_with(net::frames::CONTENT_TYPE) {
            Pieces::Frames(net::frames::Frames::new(MAX_LINE))
        } else {
            Pieces::Lines(net::Events::new(MAX_LINE))
        };
        let model = request.model.clone();
        Self { response, pieces, wire, beside, has_begun: false, max_bytes, left: max_bytes, time, model }
    }

    /// Returns what the headers say.
    pub(super) fn beside(&self) -> Beside {
        self.beside
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub(super) async fn next(&mut self) -> Option<Result<Piece<'_>, Failure>> {
        match self.advance().await {
            Ok(true) => Some(Ok(match &self.pieces {
                Pieces::Whole(body) => Piece::Whole(&body.text),
                pieces => Piece::Event(pieces.data()),
            })),
            Ok(false) => None,
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Goes to the next chunk; `false` at the end.
    async fn advance(&mut self) -> Result<bool, Failure> {
        while !self.pieces.advance().map_err(|problem| malformed(&self.model, problem))? {
            if !self.more().await? {
                return Ok(self.pieces.finish());
            }
        }
        Ok(true)
    }

    /// Takes in more bytes; `false` at the end.
    async fn more(&mut self) -> Result<bool, Failure> {
        let read = self.time.limit(self.response.chunk()).await;
        let read = read.ok_or_else(|| Error::Timeout { model: self.model.clone() })?;
        let Some(chunk) = read.map_err(|problem| of_reqwest(&self.model, &problem))? else { return Ok(false) };
        let Some(left) = self.left.checked_sub(chunk.len()) else {
            return Err(too_long(&self.model, "its stream", self.max_bytes));
        };
        if !self.has_begun {
            self.begin(&chunk)?;
        }
        self.left = left;
        if self.pieces.push(&chunk) {
            return Ok(true);
        }
        let what = if matches!(self.pieces, Pieces::Whole(_)) { "its answer" } else { "a line of its stream" };
        Err(too_long(&self.model, what, MAX_LINE))
    }

    /// Sees from its first bytes whether it is a stream. What it is called says little: gateways call answers streams
    /// that are none, and the other way round.
    fn begin(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        let Pieces::Lines(_) = self.pieces else { return Ok(()) };
        let chunk = net::without_mark(chunk);
        match chunk.trim_ascii_start().first() {
            // A page; no event begins so.
            Some(b'<') => return Err(failure::web_page(&self.model)),
            // Nor does a line of a stream.
            Some(b'{') => self.pieces = Pieces::Whole(Body::default()),
            Some(b'[') if self.wire.streams_arrays() => self.pieces = Pieces::Elements(net::Elements::new(MAX_LINE)),
            _ => {}
        }
        self.has_begun = !chunk.trim_ascii_start().is_empty();
        Ok(())
    }
}

/// The time that a stream may take: no wait for a piece is longer than `idle`, and none goes on after `ends`.
///
/// One timer serves all waits. A wait leaves it where an earlier one put it, which is cheaper than to move it for each
/// piece, and moves it only when it fires too early.
struct StreamTime {
    idle: Duration,
    ends: Instant,
    timer: Pin<Box<Sleep>>,
}

impl StreamTime {
    fn new(idle: Duration, ends: Instant) -> Self {
        let timer = Box::pin(tokio::time::sleep_until(ends.min(Instant::now() + idle)));
        Self { idle, ends, timer }
    }

    /// Returns what `wait` gives; `None` when it takes too long. What is there already is taken without a look at the
    /// clock; how much that can be is bounded.
    async fn limit<T>(&mut self, wait: impl Future<Output = T>) -> Option<T> {
        let (mut wait, mut end) = (pin!(wait), None);
        poll_fn(|cx| match wait.as_mut().poll(cx) {
            Poll::Ready(given) => Poll::Ready(Some(given)),
            Poll::Pending => {
                let end = *end.get_or_insert_with(|| self.ends.min(Instant::now() + self.idle));
                self.poll_end(end, cx).map(|()| None)
            }
        })
        .await
    }

    /// Becomes ready at `end`.
    fn poll_end(&mut self, end: Instant, cx: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(cx).is_ready() {
            if self.timer.deadline() >= end {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(end);
        }
        Poll::Pending
    }
}

/// Returns a request that got no answer. Its URL is left out: a base URL may have a password in it.
pub(super) fn of_reqwest(model: &ModelName, problem: &reqwest::Error) -> Failure {
    unreachable_server(model, net::Error::from(problem))
}

fn unreachable_server(model: &ModelName, problem: net::Error) -> Failure {
    // The model may have been paid for it, so it counts among the answers that nobody can read.
    if let net::Error::Garbled(problem) = problem {
        return malformed(model, problem).into();
    }
    Error::Transport { model: model.clone(), detail: problem.to_string() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(10);

    /// Returns when each of these waits ends, in seconds since the beginning, and whether it was given what it waited
    /// for.
    async fn waits(ends: u64, seconds: impl IntoIterator<Item = u64>) -> Vec<(u64, bool)> {
        let begun = Instant::now();
        let mut time = StreamTime::new(IDLE, begun + Duration::from_secs(ends));
        let mut all = Vec::new();
        for seconds in seconds {
            let given = time.limit(tokio::time::sleep(Duration::from_secs(seconds))).await.is_some();
            all.push((begun.elapsed().as_secs(), given));
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_may_trickle_but_not_pause() {
        let trickle = waits(1_000, [1; 100]).await;
        assert_eq!(trickle.last(), Some(&(100, true)));
        // From the beginning of the wait, wherever the timer was.
        assert_eq!(waits(1_000, [1, 3, 9, 11]).await, [(1, true), (4, true), (13, true), (23, false)]);
        assert_eq!(waits(1_000, [11, 9, 60]).await, [(10, false), (19, true), (29, false)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_trickles_has_an_end() {
        let trickle = waits(25, [9, 9, 9, 1]).await;
        assert_eq!(trickle, [(9, true), (18, true), (25, false), (25, false)]);
        assert_eq!(waits(5, [60]).await, [(5, false)]);
    }

    /// The reader of a stream may be slow.
    #[tokio::test(start_paused = true)]
    async fn only_waits_count() {
        let mut time = StreamTime::new(IDLE, Instant::now() + 100 * IDLE);
        tokio::time::sleep(3 * IDLE).await;
        assert_eq!(time.limit(tokio::time::sleep(IDLE / 2)).await, Some(()));
        assert_eq!(time.limit(std::future::ready(7)).await, Some(7));
    }
}
