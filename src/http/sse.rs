//! Server-sent events: the body of a stream, a page of events as JSON, and what a client may ask of either.
//!
//! The wire is that of WHATWG's HTML standard, section 9.2. A body begins with `retry: 3000`; each event has its type,
//! its number as `id`, and its envelope as one `data` line. Only events that are sent carry an id: a reader that asks for
//! some types only and comes back goes on after the last one sent, and does not get those in between again, since
//! they are not wanted. Only events end with an empty line: some clients take a hint or a comment with one behind it
//! for an event without data.

use std::{
    convert::Infallible,
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, http::HeaderMap};
use bytes::{Bytes, BytesMut};
use futures::Stream;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{
    domain::{
        event::{STREAM_GAP, THREAD_DELETED},
        wildcard,
    },
    events::{Error, Frame, FramePage},
};

/// How long a client should wait before it comes back, in milliseconds; the first bytes of every stream.
const HELLO: Bytes = Bytes::from_static(b"retry: 3000\n");
/// The hint at the end when the process stops, in milliseconds: another replica takes over at once, but not all readers
/// in the same moment.
const GOODBYE_MS: Range<u64> = 500..1_500;
/// The hint to those who are sent away at once.
const NOT_NOW_MS: Range<u64> = 1_000..4_000;
/// A comment, sent when there was nothing else for [`HEARTBEAT`]: proxies drop silent connections.
const PING: Bytes = Bytes::from_static(b": ping\n");
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Events that are ready together are sent together, up to about so many bytes.
const CHUNK_BYTES: usize = 32 * 1024;
/// Unwanted events passed over in a row before others get their turn.
const PASSED_OVER: usize = 256;
/// Patterns of types, and characters of one.
const MAX_PATTERNS: usize = 32;
const MAX_PATTERN: usize = 64;

/// What is wrong with a request for events; each names its header or parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadInput {
    #[error("Last-Event-ID must be a whole number from 0, the id of an event")]
    LastEventId,
    #[error("after must be a whole number from 0, the number of an event")]
    After,
    #[error(
        "types must be a comma-separated list of at most {MAX_PATTERNS} event types, where * stands for any text: \
         report.*,run.completed"
    )]
    Types,
    #[error("event must be message, which sends all types under that name, or type, which is also meant without it")]
    Event,
}

/// The number after which the client wants to go on: the header wins over the parameter, and without both it is the
/// start. Numbers beyond what can be stored stand for the end.
///
/// # Errors
/// [`BadInput`] when one of them is not a whole number, also the one that does not count.
pub fn starting_point(headers: &HeaderMap, after: Option<&str>) -> Result<i64, BadInput> {
    let after = after.map_or(Ok(0), |text| whole_number(text).ok_or(BadInput::After))?;
    headers
        .get("last-event-id")
        .map_or(Ok(after), |value| value.to_str().ok().and_then(whole_number).ok_or(BadInput::LastEventId))
}

fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim_matches(' ');
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(i64::MAX))
}

/// Which types of events a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    /// `None` wants all.
    patterns: Option<Arc<[Box<str>]>>,
}

impl Types {
    /// Every type there is or will be.
    pub const ALL: Self = Self { patterns: None };

    /// Reads `?types=`; all without it. A type that does not exist is no error, since types are added over time.
    ///
    /// # Errors
    /// [`BadInput::Types`] when it is empty, too long, or has characters no type has.
    pub fn parse(text: Option<&str>) -> Result<Self, BadInput> {
        let Some(text) = text else { return Ok(Self::ALL) };
        let patterns: Vec<Box<str>> = text.split(',').map(|pattern| pattern.trim_matches(' ').into()).collect();
        let fine = |pattern: &str| {
            let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._*".contains(&byte);
            (1..=MAX_PATTERN).contains(&pattern.len()) && pattern.bytes().all(letter)
        };
        if patterns.len() > MAX_PATTERNS || !patterns.iter().all(|pattern| fine(pattern)) {
            return Err(BadInput::Types);
        }
        Ok(Self { patterns: Some(patterns.into()) })
    }

    /// Whether all are wanted.
    pub fn are_all(&self) -> bool {
        self.patterns.is_none()
    }

    /// Whether an event of this type is wanted. What is said about the stream itself always is: what was removed may
    /// have been.
    pub fn want(&self, name: &str) -> bool {
        [STREAM_GAP, THREAD_DELETED].contains(&name)
            || self
                .patterns
                .as_deref()
                .is_none_or(|patterns| patterns.iter().any(|pattern| wildcard::matches(pattern, name)))
    }
}

/// The `event` field of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Each has its type.
    ByType,
    /// None has one, so a browser calls all of them `message`, also those of types added later.
    Message,
}

impl Naming {
    /// Reads `?event=`.
    ///
    /// # Errors
    /// [`BadInput::Event`] for any other word.
    pub fn parse(text: Option<&str>) -> Result<Self, BadInput> {
        match text {
            None | Some("type") => Ok(Self::ByType),
            Some("message") => Ok(Self::Message),
            Some(_) => Err(BadInput::Event),
        }
    }
}

/// The body for those who have to come back later: nothing but when.
pub fn not_now() -> Bytes {
    hint(NOT_NOW_MS)
}

/// A random time of those. The hasher's keys are the standard library's only source of randomness.
fn hint(milliseconds: Range<u64>) -> Bytes {
    let random = RandomState::new().hash_one(()) % (milliseconds.end - milliseconds.start);
    Bytes::from(format!("retry: {}\n", milliseconds.start + random))
}

/// The body of a stream: the wanted frames as they come, a heartbeat while none do. It ends with the frames, and with
/// `shutdown`. An idle one holds no buffer and needs no task.
pub fn sse<S>(frames: S, types: Types, naming: Naming, shutdown: CancellationToken) -> Body
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Send + Unpin + 'static,
{
    Body::from_stream(Sse::new(frames, types, naming, shutdown, HEARTBEAT))
}

struct Sse<S> {
    frames: S,
    types: Types,
    naming: Naming,
    stage: Stage,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
    pause: Duration,
    last_sent: Instant,
    /// Not reset for each event: when it is over it looks at `last_sent`.
    heartbeat: Pin<Box<Sleep>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello,
    Live,
    Over,
}

impl<S> Stream for Sse<S>
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Unpin,
{
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let next = this.poll_chunk(cx);
        if let Poll::Ready(Some(_)) = &next {
            this.last_sent = Instant::now();
        }
        next.map(|chunk| chunk.map(Ok))
    }
}

impl<S> Sse<S>
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Unpin,
{
    /// With a ping after each `pause` in which nothing else was sent.
    fn new(frames: S, types: Types, naming: Naming, shutdown: CancellationToken, pause: Duration) -> Self {
        Self {
            frames,
            types,
            naming,
            stage: Stage::Hello,
            shutdown: Box::pin(shutdown.cancelled_owned()),
            pause,
            last_sent: Instant::now(),
            heartbeat: Box::pin(tokio::time::sleep(pause)),
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.stage {
            Stage::Over => return Poll::Ready(None),
            // Alone, so that the client has its headers and knows how to come back before anything is read.
            Stage::Hello => {
                self.stage = Stage::Live;
                return Poll::Ready(Some(HELLO));
            }
            Stage::Live => {}
        }
        // First, since frames may come without end. What was not sent is there when the client comes back.
        if self.shutdown.as_mut().poll(cx).is_ready() {
            self.stage = Stage::Over;
            return Poll::Ready(Some(hint(GOODBYE_MS)));
        }
        let chunk = self.poll_frames(cx);
        if !chunk.is_empty() {
            return Poll::Ready(Some(chunk));
        }
        if self.stage == Stage::Over {
            return Poll::Ready(None);
        }
        self.poll_heartbeat(cx)
    }

    /// The records of the wanted frames that are ready; empty when there is none.
    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Bytes {
        let mut chunk = Chunk::default();
        let mut passed_over = 0;
        while chunk.len() < CHUNK_BYTES {
            match Pin::new(&mut self.frames).poll_next(cx) {
                Poll::Ready(Some(Ok(frame))) if self.types.want(&frame.name) => match self.naming {
                    Naming::ByType => chunk.push(&frame.sse),
                    Naming::Message => chunk.push(&frame.unnamed()),
                },
                Poll::Ready(Some(Ok(_))) => {
                    passed_over += 1;
                    if passed_over >= PASSED_OVER {
                        cx.waker().wake_by_ref();
                        break;
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    tracing::warn!(%error, "a stream of events was ended; its client will come back");
                    self.stage = Stage::Over;
                    break;
                }
                Poll::Ready(None) => {
                    self.stage = Stage::Over;
                    break;
                }
                Poll::Pending => break,
            }
        }
        chunk.into_bytes()
    }

    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            std::task::ready!(self.heartbeat.as_mut().poll(cx));
            let now = Instant::now();
            let due = self.last_sent + self.pause;
            if due > now {
                self.heartbeat.as_mut().reset(due);
                continue;
            }
            self.heartbeat.as_mut().reset(now + self.pause);
            return Poll::Ready(Some(PING));
        }
    }
}

/// Records to be sent together. A single one, the usual case, is not copied: all readers share its bytes.
#[derive(Default)]
enum Chunk {
    #[default]
    Empty,
    One(Bytes),
    Many(BytesMut),
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(bytes) => bytes.len(),
            Self::Many(bytes) => bytes.len(),
        }
    }

    fn push(&mut self, record: &Bytes) {
        match self {
            Self::Empty => *self = Self::One(record.clone()),
            Self::One(first) => {
                let mut many = BytesMut::with_capacity((first.len() + record.len()) * 2);
                many.extend_from_slice(first);
                many.extend_from_slice(record);
                *self = Self::Many(many);
            }
            Self::Many(bytes) => bytes.extend_from_slice(record),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Empty => Bytes::new(),
            Self::One(bytes) => bytes,
            Self::Many(bytes) => bytes.freeze(),
        }
    }
}

/// A page as JSON: `{"data": […], "next_after": …, "done": …}`. Unwanted types are left out, and still counted by
/// `next_after`.
pub fn page_json(page: &FramePage, types: &Types) -> Bytes {
    let mut json = BytesMut::from(&b"{\"data\":["[..]);
    let wanted = page.frames.iter().filter(|frame| types.want(&frame.name));
    for (place, frame) in wanted.enumerate() {
        if place > 0 {
            json.extend_from_slice(b",");
        }
        json.extend_from_slice(&frame.json);
    }
    json.extend_from_slice(format!("],\"next_after\":{},\"done\":{}}}", page.next_after, page.done).as_bytes());
    json.freeze()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use futures::{FutureExt as _, StreamExt as _, stream};

    use super::*;
    use crate::domain::RunId;

    fn frame(seq: i64, name: &str, size: usize) -> Arc<Frame> {
        let sse = Bytes::from(format!("event: {name}\nid: {seq}\ndata: {}\n\n", "x".repeat(size)));
        Arc::new(Frame { seq, run_id: RunId::new(), name: name.into(), terminal: false, json: sse.clone(), sse })
    }

    type Frames = stream::BoxStream<'static, Result<Arc<Frame>, Error>>;

    fn endless(frames: Vec<Arc<Frame>>) -> Frames {
        stream::iter(frames).map(Ok).chain(stream::pending()).boxed()
    }

    async fn text(chunks: &mut (impl Stream<Item = Result<Bytes, axum::Error>> + Unpin)) -> Option<String> {
        chunks.next().await.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
    }

    fn pause_in(hint: &str) -> u64 {
        hint.strip_prefix("retry: ").and_then(|rest| rest.strip_suffix('\n')).and_then(|ms| ms.parse().ok()).unwrap()
    }

    #[test]
    fn who_is_sent_away_does_not_come_back_with_all_others() {
        let pauses: std::collections::BTreeSet<u64> =
            (0..50).map(|_| pause_in(std::str::from_utf8(&not_now()).unwrap())).collect();
        assert!(pauses.len() > 30 && pauses.iter().all(|pause| NOT_NOW_MS.contains(pause)), "{pauses:?}");
    }

    #[tokio::test]
    async fn events_may_come_without_their_names() {
        let frames = stream::iter([Ok(frame(1, "a", 1)), Ok(frame(2, "b.c", 1))]);
        let naming = Naming::parse(Some("message")).unwrap();
        let body = sse(frames, Types::ALL, naming, CancellationToken::new());
        let all = axum::body::to_bytes(body, 1000).await.unwrap();
        assert_eq!(all, "retry: 3000\nid: 1\ndata: x\n\nid: 2\ndata: x\n\n");
        assert_eq!((Naming::parse(None), Naming::parse(Some("type"))), (Ok(Naming::ByType), Ok(Naming::ByType)));
        assert_eq!(Naming::parse(Some("")), Err(BadInput::Event));
    }

    #[test]
    fn the_starting_point_is_read_strictly() {
        let check = |header: Option<&'static str>, after, expected| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("last-event-id", HeaderValue::from_str(header).unwrap());
            }
            assert_eq!(starting_point(&headers, after), expected, "{header:?} {after:?}");
        };
        check(None, None, Ok(0));
        check(None, Some("0"), Ok(0));
        check(None, Some("17"), Ok(17));
        check(Some("5"), Some("17"), Ok(5));
        check(Some("5"), Some("nonsense"), Err(BadInput::After));
        check(None, Some("99999999999999999999999"), Ok(i64::MAX));
        for bad in ["", "-1", "+1", "1.0", "1e3", "0x1", "abc", "1 2", "٣"] {
            check(None, Some(bad), Err(BadInput::After));
        }
        for bad in ["", "-1", "abc"] {
            check(Some(bad), Some("1"), Err(BadInput::LastEventId));
        }
    }

    #[test]
    fn types_are_names_or_patterns() {
        let check = |text, name, expected| {
            assert_eq!(Types::parse(Some(text)).unwrap().want(name), expected, "{text} {name}");
        };
        check("report.*,run.completed", "report.delta", true);
        check("report.*, run.completed", "run.completed", true);
        check("report.*,run.completed", "run.failed", false);
        check("report.*", "report", false);
        check("*", "anything.new", true);
        check("*.failed", "tool.failed", true);
        check("*.failed", "tool.failed.twice", false);
        check("r*r*.d*a", "report.delta", true);
        check("a*a", "a", false);
        check("r**t.*", "report.", true);
        check("report.*", "stream.gap", true);
        check("tomorrow", "today", false);
        assert!(Types::parse(None).unwrap().want("x"));
        let many = ["a"; MAX_PATTERNS + 1].join(",");
        let long = "a".repeat(MAX_PATTERN + 1);
        for bad in ["", ",", "a,", "a,,b", "A", "a b", "ü", "a\nb", &many, &long] {
            assert_eq!(Types::parse(Some(bad)), Err(BadInput::Types), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn the_first_bytes_come_alone_and_a_ping_when_nothing_does() {
        let pause = Duration::from_millis(30);
        let frames = endless(vec![frame(1, "a", 1)]);
        let mut chunks =
            Body::from_stream(Sse::new(frames, Types::ALL, Naming::ByType, CancellationToken::new(), pause))
                .into_data_stream();
        assert_eq!(text(&mut chunks).await.unwrap(), "retry: 3000\n");
        assert_eq!(text(&mut chunks).await.unwrap(), "event: a\nid: 1\ndata: x\n\n");
        let mut before = Instant::now();
        for _ in 0..3 {
            assert_eq!(text(&mut chunks).await.unwrap(), ": ping\n");
            assert!(before.elapsed() >= pause, "{:?}", before.elapsed());
            before = Instant::now();
        }
    }

    #[tokio::test]
    async fn an_event_puts_the_ping_off() {
        let pause = Duration::from_millis(100);
        let late = stream::once(async move {
            tokio::time::sleep(pause / 2).await;
            Ok(frame(1, "a", 1))
        });
        let frames = late.chain(stream::pending()).boxed();
        let mut chunks =
            Body::from_stream(Sse::new(frames, Types::ALL, Naming::ByType, CancellationToken::new(), pause))
                .into_data_stream();
        text(&mut chunks).await.unwrap();
        assert!(text(&mut chunks).await.unwrap().starts_with("event: a"));
        let sent = Instant::now();
        assert_eq!(text(&mut chunks).await.unwrap(), ": ping\n");
        // A little early is fine, since the event was sent before the clock was read here.
        assert!(sent.elapsed() >= pause * 9 / 10, "{:?}", sent.elapsed());
    }

    #[tokio::test]
    async fn ready_events_come_together_but_not_without_bound() {
        let frames: Vec<_> = (1..=100).map(|seq| frame(seq, "a", 1000)).collect();
        let expected: String = frames.iter().map(|frame| std::str::from_utf8(&frame.sse).unwrap()).collect();
        let body = sse(stream::iter(frames).map(Ok), Types::ALL, Naming::ByType, CancellationToken::new());
        let chunks: Vec<Bytes> = body.into_data_stream().map(Result::unwrap).collect().await;
        assert!((4..=6).contains(&chunks.len()), "{}", chunks.len());
        assert!(chunks.iter().all(|chunk| chunk.len() < CHUNK_BYTES + 1100));
        assert_eq!(chunks.concat(), format!("retry: 3000\n{expected}").into_bytes());
    }

    #[tokio::test]
    async fn only_wanted_events_are_sent_however_many_others_there_are() {
        let mut frames: Vec<_> = (1..=3000).map(|seq| frame(seq, "usage", 1)).collect();
        frames.push(frame(3001, "run.completed", 1));
        let types = Types::parse(Some("run.*")).unwrap();
        let body = sse(stream::iter(frames).map(Ok), types, Naming::ByType, CancellationToken::new());
        let all = axum::body::to_bytes(body, 10_000).await.unwrap();
        assert_eq!(all, "retry: 3000\nevent: run.completed\nid: 3001\ndata: x\n\n");
    }

    #[tokio::test]
    async fn a_shutdown_ends_every_stream_with_a_hint() {
        let shutdown = CancellationToken::new();
        let busy = stream::repeat_with(|| Ok(frame(1, "a", 10))).boxed();
        for frames in [endless(Vec::new()), busy] {
            let shutdown = shutdown.child_token();
            let mut chunks = sse(frames, Types::ALL, Naming::ByType, shutdown.clone()).into_data_stream();
            assert_eq!(text(&mut chunks).await.unwrap(), "retry: 3000\n");
            text(&mut chunks).now_or_never();
            shutdown.cancel();
            let goodbye = text(&mut chunks).await.unwrap();
            assert!(GOODBYE_MS.contains(&pause_in(&goodbye)), "{goodbye:?}");
            assert_eq!(text(&mut chunks).await, None);
        }
    }

    #[tokio::test]
    async fn an_error_ends_the_stream_after_what_came_before_it() {
        let frames = stream::iter([Ok(frame(1, "a", 1)), Err(Error::Unavailable("gone".to_owned()))]);
        let all = axum::body::to_bytes(sse(frames, Types::ALL, Naming::ByType, CancellationToken::new()), 1000)
            .await
            .unwrap();
        assert_eq!(all, "retry: 3000\nevent: a\nid: 1\ndata: x\n\n");
    }

    #[test]
    fn a_page_is_json() {
        let json = |seq: i64, name: &str| {
            let json = Bytes::from(format!("{{\"seq\":{seq}}}"));
            Arc::new(Frame { json, ..Frame::clone(&frame(seq, name, 1)) })
        };
        let page = FramePage { frames: vec![json(4, "a"), json(5, "b"), json(6, "a")], next_after: 6, done: false };
        assert_eq!(
            page_json(&page, &Types::ALL),
            r#"{"data":[{"seq":4},{"seq":5},{"seq":6}],"next_after":6,"done":false}"#
        );
        let only_b = Types::parse(Some("b")).unwrap();
        assert_eq!(page_json(&page, &only_b), r#"{"data":[{"seq":5}],"next_after":6,"done":false}"#);
        let empty = FramePage { frames: Vec::new(), next_after: 9, done: true };
        assert_eq!(page_json(&empty, &only_b), r#"{"data":[],"next_after":9,"done":true}"#);
    }
}
