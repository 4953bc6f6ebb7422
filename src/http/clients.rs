//! The connections there are: which are at work, whose readers stall, and which give way when no more fit.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

/// A connection that was used more recently is not closed for another one.
const SETTLED: Duration = Duration::from_secs(1);

/// All connections of the service.
#[derive(Debug, Default)]
pub struct Clients {
    next: AtomicU64,
    /// Locked for map access only.
    open: Mutex<HashMap<u64, Arc<Client>>>,
}

/// A connection's place among them, given up when dropped.
#[derive(Debug)]
pub struct Place {
    clients: Arc<Clients>,
    number: u64,
    pub client: Arc<Client>,
}

impl Clients {
    pub fn enter(self: &Arc<Self>, peer: IpAddr) -> Place {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let client = Arc::new(Client::new(peer));
        self.open.lock().insert(number, Arc::clone(&client));
        Place { clients: Arc::clone(self), number, client }
    }

    /// Tells connections that do nothing to close: of those that were idle the longest at least one, if there is any.
    pub fn make_room(&self) {
        let mut idle: Vec<(Instant, Arc<Client>)> = self
            .open
            .lock()
            .values()
            .filter_map(|client| Some((client.idle_since()?, Arc::clone(client))))
            .filter(|(since, _)| since.elapsed() >= SETTLED)
            .collect();
        idle.sort_unstable_by_key(|(since, _)| *since);
        // Some at once, so that a flood of new connections does not look through all of them each time.
        let leaving = 1 + idle.len() / 16;
        idle.iter().take(leaving).for_each(|(_, client)| client.leave.cancel());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.open.lock().remove(&self.number);
    }
}

/// One connection, as its requests know it.
#[derive(Debug)]
pub struct Client {
    /// Who is at its other end, which may be a proxy.
    pub peer: IpAddr,
    state: Mutex<ClientState>,
    /// Cancelled when the connection should close for another one.
    leave: CancellationToken,
    /// Rings when there is a body to drain.
    left: Notify,
}

#[derive(Debug)]
struct ClientState {
    /// Requests being answered and answers being sent.
    at_work: usize,
    idle_since: Instant,
    readers: Vec<Weak<Reader>>,
    /// What is left of the bodies of requests that were answered early.
    bodies: Vec<Body>,
}

impl Client {
    fn new(peer: IpAddr) -> Self {
        let state = ClientState { at_work: 0, idle_since: Instant::now(), readers: Vec::new(), bodies: Vec::new() };
        Self { peer, state: Mutex::new(state), leave: CancellationToken::new(), left: Notify::new() }
    }

    fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.at_work == 0).then_some(state.idle_since)
    }

    /// Marks the connection as at work as long as what is returned lives.
    pub fn works(self: &Arc<Self>) -> AtWork {
        self.state.lock().at_work += 1;
        AtWork(Arc::clone(self))
    }

    /// Resolves when the connection has to close for another one; never while it is at work.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub async fn gives_way(&self) {
        self.leave.cancelled().await;
        // Used in the same moment: it stays.
        if self.idle_since().is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Adds a reader, someone who takes an answer over this connection.
    pub fn reader(self: &Arc<Self>) -> Arc<Reader> {
        let progress = Progress { pieces: 0, since: Instant::now() };
        let reader = Arc::new(Reader { progress: Mutex::new(progress), _at_work: self.works() });
        let mut state = self.state.lock();
        state.readers.retain(|reader| reader.strong_count() > 0);
        state.readers.push(Arc::downgrade(&reader));
        reader
    }

    /// Returns whether an answer has been waiting for its reader longer than `limit`.
    pub fn stalls(&self, limit: Duration) -> bool {
        let readers: Vec<_> = self.state.lock().readers.iter().filter_map(Weak::upgrade).collect();
        readers.iter().any(|reader| reader.stalls(limit))
    }

    /// Leaves it to the connection to read on, so that the answer is not lost (see `linger.rs`).
    pub fn leave_body(&self, body: Body) {
        self.state.lock().bodies.push(body);
        self.left.notify_one();
    }

    /// Returns the next bodies to drain; waits until there are some.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub async fn left_bodies(&self) -> Vec<Body> {
        loop {
            let bodies = std::mem::take(&mut self.state.lock().bodies);
            if !bodies.is_empty() {
                return bodies;
            }
            self.left.notified().await;
        }
    }
}

/// Marks a connection as at work.
#[derive(Debug)]
pub struct AtWork(Arc<Client>);

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.at_work -= 1;
        state.idle_since = Instant::now();
    }
}

/// Who takes an answer: whether it does.
#[derive(Debug)]
pub struct Reader {
    progress: Mutex<Progress>,
    _at_work: AtWork,
}

#[derive(Debug)]
struct Progress {
    /// Handed to the connection and not sent yet.
    pieces: usize,
    /// When a piece was sent last, or the first of those that wait was handed over.
    since: Instant,
}

impl Reader {
    pub fn handed(&self) {
        let mut progress = self.progress.lock();
        if progress.pieces == 0 {
            progress.since = Instant::now();
        }
        progress.pieces += 1;
    }

    pub fn sent(&self) {
        let mut progress = self.progress.lock();
        progress.pieces -= 1;
        progress.since = Instant::now();
    }

    fn stalls(&self, limit: Duration) -> bool {
        let progress = self.progress.lock();
        progress.pieces > 0 && progress.since.elapsed() > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_gives_way_and_who_works_does_not() {
        let clients = Arc::new(Clients::default());
        let (working, oldest, newer) = (clients.enter(PEER), clients.enter(PEER), clients.enter(PEER));
        let work = working.client.works();
        tokio::time::advance(SETTLED).await;
        drop(newer.client.works());
        let gone = |place: &Place| place.client.leave.is_cancelled();
        clients.make_room();
        assert_eq!([gone(&working), gone(&oldest), gone(&newer)], [false, true, false]);
        drop((oldest, work));
        clients.make_room();
        assert_eq!([gone(&working), gone(&newer)], [false, false], "both were used just now");
        tokio::time::advance(SETTLED).await;
        drop(working.client.works());
        clients.make_room();
        assert_eq!([gone(&working), gone(&newer)], [false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_stalls_while_it_takes_nothing() {
        let place = Arc::new(Clients::default()).enter(PEER);
        let reader = place.client.reader();
        let limit = Duration::from_secs(60);
        tokio::time::advance(2 * limit).await;
        assert!(!place.client.stalls(limit), "there was nothing to take");
        reader.handed();
        reader.handed();
        tokio::time::advance(limit).await;
        assert!(!place.client.stalls(limit));
        reader.sent();
        tokio::time::advance(limit).await;
        assert!(!place.client.stalls(limit), "it took a piece");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(place.client.stalls(limit));
        drop(reader);
        assert!(!place.client.stalls(limit), "it is gone");
    }
}
