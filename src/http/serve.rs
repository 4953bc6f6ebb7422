//! The sockets: accepted, bounded, timed, drained.
//!
//! hyper is driven by hand because its limits are wanted: on the time and size of a request's head, and on a reader
//! that takes nothing for a minute.

use std::{
    convert::Infallible,
    io,
    net::IpAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, response::Response};
use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};
use tokio_io_timeout::TimeoutStream;

use super::{
    State,
    clients::{Client, Clients},
    linger, router,
};

/// Larger heads are answered with 431.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const STREAMS_PER_CONNECTION: u32 = 250;
/// What an HTTP/2 client may send before it is read.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// The time between two looks for idle connections while there is no room for another one.
const ROOM_PAUSE: Duration = Duration::from_millis(100);
/// The pause after a failed accept, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The time between two lines of the log about failed accepts.
const FAILURES_LOGGED: Duration = Duration::from_secs(60);
/// The first pause between two looks at the beginning of a connection that may become one over HTTP/2.
const SHORTEST_PEEK: Duration = Duration::from_millis(10);
const LONGEST_PEEK: Duration = Duration::from_secs(1);
/// What a connection over HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long the service waits for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The head of a request has to arrive within this time; an idle connection is closed after it too, so a proxy in
    /// front must give its idle connections up earlier.
    pub head: Duration,
    /// And then its whole body within this; a file has a second more for each 64 KiB.
    pub body: Duration,
    /// A reader that takes nothing for this long is cut off; it can come back with the id of its last event.
    pub write: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), body: Duration::from_secs(30), write: Duration::from_secs(60) }
    }
}

/// Answers connections until the state's shutdown, then lets what is going on end within the grace. Failed accepts are
/// logged and tried again.
pub async fn serve(listener: TcpListener, state: State) {
    let router = router(&state);
    let graceful = GracefulShutdown::new();
    let clients = Arc::new(Clients::default());
    let room = Arc::new(Semaphore::new(state.settings.max_connections));
    let mut connections = JoinSet::new();
    let mut failures = Failures::default();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room, &clients) => accepted,
            Some(_) = connections.join_next() => continue,
            () = state.shutdown.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let (state, router, watcher) = (state.clone(), router.clone(), graceful.watcher());
                let place = clients.enter(peer);
                connections.spawn(async move {
                    connection(stream, &state, router, watcher, &place.client).await;
                    drop((place, permit));
                });
            }
            Err(error) => {
                failures.report(&error);
                clients.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    // Streams end by themselves at the shutdown; requests are answered; idle connections are closed.
    let ended = async {
        graceful.shutdown().await;
        state.changes.ended().await;
    };
    if tokio::time::timeout(state.settings.grace, ended).await.is_err() {
        // Those that have ended still count until they are taken out.
        while connections.try_join_next().is_some() {}
        let (connections, changes) = (connections.len(), state.changes.len());
        tracing::warn!(connections, changes, "connections were cut off at the end of the grace");
    }
    connections.shutdown().await;
    state.changes.cut().await;
}

/// Connections that could not be accepted.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    reported: Option<Instant>,
}

impl Failures {
    /// Logs one now and then, since they come many a second.
    fn report(&mut self, error: &io::Error) {
        self.count += 1;
        if self.reported.is_some_and(|at| at.elapsed() < FAILURES_LOGGED) {
            return;
        }
        let failures = std::mem::take(&mut self.count);
        tracing::warn!(%error, failures, "a connection could not be accepted; idle ones are closed to make room");
        self.reported = Some(Instant::now());
    }
}

/// Accepts when there is room, which idle connections make. The listener's own queue holds the others meanwhile.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    clients: &Clients,
) -> io::Result<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let permit = loop {
        match tokio::time::timeout(ROOM_PAUSE, Arc::clone(room).acquire_owned()).await {
            Ok(permit) => break permit.map_err(io::Error::other)?,
            Err(_) => clients.make_room(),
        }
    };
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer.ip(), permit))
}

async fn connection(stream: TcpStream, state: &State, router: Router, watcher: Watcher, client: &Arc<Client>) {
    let timeouts = state.timeouts;
    if let Err(error) = stream.set_nodelay(true) {
        return tracing::debug!(%error, "a connection was gone at once");
    }
    // A connection that has said nothing holds up no shutdown; browsers open some in advance. One that has said
    // something is answered, therefore in this order.
    tokio::select! {
        biased;
        begun = begins(&stream, timeouts.head) => if !begun { return },
        () = state.shutdown.cancelled() => return,
        () = client.gives_way() => return,
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(timeouts.write));
    let service = TowerToHyperService::new(WithClient { router, client: Arc::clone(client) });
    let builder = protocol(state);
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    tokio::select! {
        // Dropping the connection ends its answers; those it has are sent or given up by then.
        ended = watcher.watch(connection.into_owned()) => if let Err(error) = ended {
            // Clients that vanish, stall or talk nonsense: nothing an operator can mend.
            tracing::debug!(%error, "a connection ended early");
        },
        () = stalls(client, timeouts.write) => tracing::debug!("a reader took nothing and was cut off"),
        () = drained(client, timeouts.body) => {}
        () = client.gives_way() => tracing::debug!("an idle connection was closed for a new one"),
    }
}

fn protocol(state: &State) -> auto::Builder<TokioExecutor> {
    let timeouts = state.timeouts;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(MAX_HEAD_BYTES)
        // A client that has sent all it has to say may close its side, and still waits for the answer. One that is gone
        // looks the same until something is sent to it: streams have heartbeats, and other answers come soon.
        .half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(timeouts.head)
        .keep_alive_timeout(timeouts.head);
    if state.settings.http2 { builder } else { builder.http1_only() }
}

/// Waits until an answer finds no taker, although the connection itself lives: over HTTP/2 a client may answer pings
/// and never let a byte of a body through.
async fn stalls(client: &Client, limit: Duration) {
    let mut looks = tokio::time::interval(limit / 4);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !client.stalls(limit) {
        looks.tick().await;
    }
}

/// Reads what is left of bodies; never ends.
async fn drained(client: &Client, limit: Duration) {
    let mut draining = FuturesUnordered::new();
    loop {
        tokio::select! {
            bodies = client.left_bodies() => draining.extend(bodies.into_iter().map(|body| linger::drain(body, limit))),
            Some(()) = draining.next() => {}
        }
    }
}

/// The router, whose requests know their connection.
#[derive(Clone)]
struct WithClient {
    router: Router,
    client: Arc<Client>,
}

impl tower::Service<hyper::Request<hyper::body::Incoming>> for WithClient {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        tower::Service::<axum::extract::Request>::poll_ready(&mut self.router, cx)
    }

    fn call(&mut self, request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Arc::clone(&self.client));
        let at_work = self.client.works();
        let answer = tower::Service::call(&mut self.router, request);
        Box::pin(async move {
            let answer = answer.await;
            drop(at_work);
            answer
        })
    }
}

/// Waits until it is clear which version of HTTP the client speaks, which hyper does without a limit of time.
async fn begins(stream: &TcpStream, limit: Duration) -> bool {
    let (deadline, mut pause) = (Instant::now() + limit, SHORTEST_PEEK);
    let mut seen = [0; PREFACE.len()];
    loop {
        let length = match tokio::time::timeout_at(deadline, stream.peek(&mut seen)).await {
            Ok(Ok(length)) if length > 0 => length,
            _ => return false,
        };
        if length == PREFACE.len() || !PREFACE.starts_with(&seen[..length]) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        // A peek returns at once as long as there is anything to see.
        tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
        pause = (2 * pause).min(LONGEST_PEEK);
    }
}
