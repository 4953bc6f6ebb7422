//! Server-sent events: records of the log as a stream, in the dialect of its reader.
//!
//! The wire is that of WHATWG's HTML standard, section 9.2. What a record looks like is a [`Dialect`]'s business:
//! `native.rs` is the one of this API, and another protocol brings its own. What they share is here: a first chunk that
//! comes alone, records that are ready together in one chunk, a comment while nothing is to be said, and an end when
//! the service stops.

mod native;
mod request;

use std::{
    convert::Infallible,
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use async_stream::stream;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::{FutureExt as _, Stream, StreamExt as _};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use crate::events::{Error, Frame};
pub use native::{Native, page_json};
pub use request::{BadInput, Naming, Types, starting_point};

/// The hint to those who are sent away at once.
const NOT_NOW_MS: Range<u64> = 1_000..4_000;
/// A comment, sent when there was nothing else for [`HEARTBEAT`]: proxies drop silent connections.
const PING: Bytes = Bytes::from_static(b": ping\n");
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Records that are ready together are sent together, up to about so many bytes.
const CHUNK_BYTES: usize = 32 * 1024;
/// Unwanted records passed over in a row before others get their turn.
const PASSED_OVER: usize = 256;

/// How a protocol writes the log.
pub trait Dialect: Send + 'static {
    /// Returns the first bytes of a stream.
    fn hello(&mut self) -> Bytes;

    /// Returns a record of the log; `None` when the reader does not want it.
    fn record(&mut self, frame: &Frame) -> Option<Bytes>;

    /// Returns the last bytes of a stream whose service stops: its reader should come back to another one.
    fn goodbye(&mut self) -> Bytes;

    /// Returns the last bytes of a stream that is complete, if the protocol has any.
    fn end(&mut self) -> Option<Bytes>;
}

/// Returns the body of a stream: the records that the dialect writes as they come, a heartbeat while none do. It ends
/// with the records, and with `shutdown`. An idle one holds no buffer and needs no task.
pub fn body<S>(records: S, dialect: impl Dialect, shutdown: CancellationToken) -> Body
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Send + Unpin + 'static,
{
    Body::from_stream(chunks(records, dialect, shutdown, HEARTBEAT).map(Ok::<_, Infallible>))
}

/// Returns the body for those who have to come back later, after that many seconds at the earliest: nothing but when.
pub fn not_now(seconds: u64) -> Bytes {
    let earliest = NOT_NOW_MS.start.max(seconds.saturating_mul(1_000));
    hint(earliest..earliest.saturating_add(NOT_NOW_MS.end - NOT_NOW_MS.start))
}

/// Asks the reader to come back after a random time of those. The hasher's keys are the standard library's only source
/// of randomness.
fn hint(milliseconds: Range<u64>) -> Bytes {
    let random = RandomState::new().hash_one(()) % (milliseconds.end - milliseconds.start);
    Bytes::from(format!("retry: {}\n", milliseconds.start + random))
}

/// What happens next in a stream.
enum Next {
    Stop,
    Record(Option<Result<Arc<Frame>, Error>>),
    Silence,
}

/// Writes the chunks of a stream, with a ping after each `pause` in which nothing else was sent.
fn chunks<S>(
    mut records: S,
    mut dialect: impl Dialect,
    shutdown: CancellationToken,
    pause: Duration,
) -> impl Stream<Item = Bytes> + Send
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Send + Unpin,
{
    stream! {
        // Alone, so that the client has its headers and knows how to come back before anything is read.
        yield dialect.hello();
        let mut stopped = pin!(shutdown.cancelled());
        // Not set again for each record: when it is over it looks at `last_sent`.
        let mut heartbeat = pin!(tokio::time::sleep(pause));
        let mut last_sent = Instant::now();
        loop {
            // The stop first, since records may come without end; what was not sent is there when the client comes
            // back. Losing an arm loses nothing: a record that has not come stays in its stream.
            let next = tokio::select! {
                biased;
                () = &mut stopped => Next::Stop,
                record = records.next() => Next::Record(record),
                () = &mut heartbeat => Next::Silence,
            };
            match next {
                Next::Stop => {
                    yield dialect.goodbye();
                    return;
                }
                Next::Record(first) => {
                    let (chunk, then) = gather(first, &mut records, &mut dialect);
                    if !chunk.is_empty() {
                        last_sent = Instant::now();
                        yield chunk;
                    }
                    match then {
                        Then::More => {}
                        Then::MoreUnwanted => tokio::task::yield_now().await,
                        Then::Broken => return,
                        Then::Complete => {
                            if let Some(end) = dialect.end() {
                                yield end;
                            }
                            return;
                        }
                    }
                }
                Next::Silence => {
                    if is_due(heartbeat.as_mut(), &mut last_sent, pause) {
                        yield PING;
                    }
                }
            }
        }
    }
}

/// Returns whether a ping is due, and sets the heartbeat for the next one.
fn is_due(heartbeat: Pin<&mut Sleep>, last_sent: &mut Instant, pause: Duration) -> bool {
    let (now, due) = (Instant::now(), *last_sent + pause);
    let is_due = due <= now;
    heartbeat.reset(if is_due { now + pause } else { due });
    if is_due {
        *last_sent = now;
    }
    is_due
}

/// What follows a chunk.
enum Then {
    More,
    /// Many records were passed over: others should get their turn.
    MoreUnwanted,
    Complete,
    Broken,
}

/// Returns the records that are ready, as the dialect writes them; empty when it wants none of them.
fn gather<S>(first: Option<Result<Arc<Frame>, Error>>, records: &mut S, dialect: &mut impl Dialect) -> (Bytes, Then)
where
    S: Stream<Item = Result<Arc<Frame>, Error>> + Unpin,
{
    let (mut chunk, mut passed_over, mut next) = (Chunk::default(), 0, Some(first));
    let then = loop {
        match next {
            None => break Then::More,
            Some(None) => break Then::Complete,
            Some(Some(Err(error))) => {
                tracing::warn!(%error, "a stream of events was ended; its client will come back");
                break Then::Broken;
            }
            Some(Some(Ok(frame))) => match dialect.record(&frame) {
                Some(record) => chunk.push(&record),
                None => passed_over += 1,
            },
        }
        if chunk.len() >= CHUNK_BYTES {
            break Then::More;
        }
        if passed_over >= PASSED_OVER {
            break Then::MoreUnwanted;
        }
        // Polled again, to be woken, before anything waits.
        next = records.next().now_or_never();
    };
    (chunk.into_bytes(), then)
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

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::{native::GOODBYE_MS, *};
    use crate::domain::RunId;

    pub fn frame(seq: i64, name: &str, size: usize) -> Arc<Frame> {
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

    /// Returns every record, named by its type.
    fn all() -> Native {
        Native { types: Types::ALL, naming: Naming::ByType }
    }

    fn pause_in(hint: &str) -> u64 {
        hint.strip_prefix("retry: ").and_then(|rest| rest.strip_suffix('\n')).and_then(|ms| ms.parse().ok()).unwrap()
    }

    #[test]
    fn who_is_sent_away_does_not_come_back_with_all_others() {
        for (seconds, expected) in [(0, NOT_NOW_MS), (1, NOT_NOW_MS), (30, 30_000..33_000)] {
            let hint = |_| pause_in(std::str::from_utf8(&not_now(seconds)).unwrap());
            let pauses: std::collections::BTreeSet<u64> = (0..50).map(hint).collect();
            assert!(pauses.len() > 30 && pauses.iter().all(|pause| expected.contains(pause)), "{pauses:?}");
        }
    }

    #[tokio::test]
    async fn events_may_come_without_their_names() {
        let frames = stream::iter([Ok(frame(1, "a", 1)), Ok(frame(2, "b.c", 1))]);
        let naming = Naming::parse(Some("message")).unwrap();
        let body = body(frames, Native { naming, ..all() }, CancellationToken::new());
        let all = axum::body::to_bytes(body, 1000).await.unwrap();
        assert_eq!(all, "retry: 3000\nid: 1\ndata: x\n\nid: 2\ndata: x\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_bytes_come_alone_and_a_ping_when_nothing_does() {
        let pause = Duration::from_millis(30);
        let frames = endless(vec![frame(1, "a", 1)]);
        let mut chunks = Box::pin(chunks(frames, all(), CancellationToken::new(), pause).map(Ok::<_, axum::Error>));
        assert_eq!(text(&mut chunks).await.unwrap(), "retry: 3000\n");
        assert_eq!(text(&mut chunks).await.unwrap(), "event: a\nid: 1\ndata: x\n\n");
        let mut before = Instant::now();
        for _ in 0..3 {
            assert_eq!(text(&mut chunks).await.unwrap(), ": ping\n");
            assert_eq!(before.elapsed(), pause);
            before = Instant::now();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_puts_the_ping_off() {
        let pause = Duration::from_millis(100);
        let late = stream::once(async move {
            tokio::time::sleep(pause / 2).await;
            Ok(frame(1, "a", 1))
        });
        let frames = late.chain(stream::pending()).boxed();
        let mut chunks = Box::pin(chunks(frames, all(), CancellationToken::new(), pause).map(Ok::<_, axum::Error>));
        text(&mut chunks).await.unwrap();
        assert!(text(&mut chunks).await.unwrap().starts_with("event: a"));
        let sent = Instant::now();
        assert_eq!(text(&mut chunks).await.unwrap(), ": ping\n");
        assert_eq!(sent.elapsed(), pause);
    }

    #[tokio::test]
    async fn ready_events_come_together_but_not_without_bound() {
        let frames: Vec<_> = (1..=100).map(|seq| frame(seq, "a", 1000)).collect();
        let expected: String = frames.iter().map(|frame| std::str::from_utf8(&frame.sse).unwrap()).collect();
        let body = body(stream::iter(frames).map(Ok), all(), CancellationToken::new());
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
        let body = body(stream::iter(frames).map(Ok), Native { types, ..all() }, CancellationToken::new());
        let all = axum::body::to_bytes(body, 10_000).await.unwrap();
        assert_eq!(all, "retry: 3000\nevent: run.completed\nid: 3001\ndata: x\n\n");
    }

    #[tokio::test]
    async fn a_shutdown_ends_every_stream_with_a_hint() {
        let shutdown = CancellationToken::new();
        let busy = stream::repeat_with(|| Ok(frame(1, "a", 10))).boxed();
        for frames in [endless(Vec::new()), busy] {
            let shutdown = shutdown.child_token();
            let mut chunks = body(frames, all(), shutdown.clone()).into_data_stream();
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
        let all = axum::body::to_bytes(body(frames, all(), CancellationToken::new()), 1000).await.unwrap();
        assert_eq!(all, "retry: 3000\nevent: a\nid: 1\ndata: x\n\n");
    }

    /// Another protocol: no names, no numbers, words of its own at the end.
    struct Bare;

    impl Dialect for Bare {
        fn hello(&mut self) -> Bytes {
            Bytes::from_static(b": hello\n")
        }

        fn record(&mut self, frame: &Frame) -> Option<Bytes> {
            (&*frame.name != "usage").then(|| Bytes::from(format!("data: {}\n\n", frame.name)))
        }

        fn goodbye(&mut self) -> Bytes {
            Bytes::from_static(b"data: away\n\n")
        }

        fn end(&mut self) -> Option<Bytes> {
            Some(Bytes::from_static(b"data: [DONE]\n\n"))
        }
    }

    #[tokio::test]
    async fn another_protocol_brings_its_own_dialect() {
        let frames = [frame(1, "a", 1), frame(2, "usage", 1), frame(3, "b", 1)].map(Ok);
        let body = body(stream::iter(frames), Bare, CancellationToken::new());
        let all = axum::body::to_bytes(body, 1000).await.unwrap();
        assert_eq!(all, ": hello\ndata: a\n\ndata: b\n\ndata: [DONE]\n\n");
        let stopped = CancellationToken::new();
        stopped.cancel();
        let all = axum::body::to_bytes(super::body(endless(Vec::new()), Bare, stopped), 1000).await.unwrap();
        assert_eq!(all, ": hello\ndata: away\n\n");
    }
}
