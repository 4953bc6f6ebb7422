//! The sockets: accepted, bounded, timed, drained.
//!
//! hyper is driven by hand because its limits are wanted: on the time and size of a request's head, and on a reader that
//! takes nothing for a minute.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::Instant,
};
use tokio_io_timeout::TimeoutStream;

use super::{State, router};

/// Larger heads are answered with 431.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Connections beside those of streams.
const SPARE_CONNECTIONS: usize = 2_048;
const STREAMS_PER_CONNECTION: u32 = 250;
/// After a failed accept, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What a connection over HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long the service waits for the other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The head of a request has to arrive within this time; an idle connection is closed after it too, so a proxy in
    /// front must give its idle connections up earlier.
    pub head: Duration,
    /// And then its whole body within this.
    pub body: Duration,
    /// A reader that takes nothing for so long is cut off; it can come back with the id of its last event.
    pub write: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), body: Duration::from_secs(30), write: Duration::from_secs(60) }
    }
}

/// Answers connections until the state's shutdown, then lets what is going on end within the grace. Failed accepts are
/// logged and tried again.
pub async fn serve(listener: TcpListener, state: State) {
    let router = router(&state);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(state.settings.max_streams + SPARE_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            Some(_) = connections.join_next() => continue,
            () = state.shutdown.cancelled() => break,
        };
        match accepted {
            Ok((stream, permit)) => {
                let (state, router, watcher) = (state.clone(), router.clone(), graceful.watcher());
                connections.spawn(async move {
                    connection(stream, &state, router, watcher).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    // Streams end by themselves at the shutdown; requests are answered; idle connections are told to go.
    if tokio::time::timeout(state.settings.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections were cut off at the end of the grace");
    }
    connections.shutdown().await;
}

/// Accepts when there is room. The listener's own queue holds the others meanwhile.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn connection(stream: TcpStream, state: &State, router: Router, watcher: Watcher) {
    let patience = state.patience;
    if let Err(error) = stream.set_nodelay(true) {
        return tracing::debug!(%error, "a connection was gone at once");
    }
    // A connection that has said nothing holds up no shutdown; browsers open some in advance. One that has said something
    // is answered, therefore in this order.
    tokio::select! {
        biased;
        begun = begins(&stream, patience.head) => if !begun { return },
        () = state.shutdown.cancelled() => return,
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.write));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience.head).max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(patience.head)
        .keep_alive_timeout(patience.head);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    if let Err(error) = watcher.watch(connection.into_owned()).await {
        // Clients that vanish, stall or talk nonsense: nothing an operator can mend.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Waits until it is clear which version of HTTP the client speaks, which hyper does without a limit of time.
async fn begins(stream: &TcpStream, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
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
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
