//! The pool of connections.
//!
//! What cannot be used any more is dropped, which closes its socket and waits for nobody. sqlx's own pool ends
//! connections in good form, holding their place meanwhile; over TLS that waits for the server to say something, which
//! one that is well has no reason to, and one that has gone never does.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool::managed::{self, Metrics, Object, PoolError, RecycleResult};
use parking_lot::Mutex;
use sqlx::{
    Connection as _, TransactionManager,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{CONNECT_LIMIT, Db, TRUSTED_IDLE, address, answers, prepare_session};
use crate::store::Error;

type Transactions = <Db as sqlx::Database>::TransactionManager;

/// The first pause between two tries at a server that may take a connection in a moment; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Since when connections can be trusted: those made before are not used again.
#[derive(Clone, Debug)]
pub struct Trust(Arc<Mutex<Instant>>);

#[derive(Clone, Debug)]
pub struct Pool {
    connections: managed::Pool<Connector>,
    /// Places for readers; the rest is kept for writers, who must renew leases however slow reads are.
    readers: Arc<Semaphore>,
    /// Host and port of the server.
    address: Arc<str>,
    trust: Trust,
}

/// Makes connections, and looks at them before they are used again.
#[derive(Debug)]
struct Connector {
    options: Box<PgConnectOptions>,
    trust: Trust,
}

/// A connection while it is used. Afterwards it has to answer once, by which a statement that was given up and a
/// rollback come to their end, before it is used again.
#[derive(Debug)]
pub struct Pooled {
    /// There until it is dropped.
    connection: Option<Object<Connector>>,
    /// The place of a reader, given back after the connection.
    place: Option<OwnedSemaphorePermit>,
    trust: Trust,
}

/// A transaction that is rolled back unless it is committed.
#[derive(Debug)]
pub struct Transaction {
    connection: Pooled,
    open: bool,
}

impl Trust {
    /// Creates the trust: everything made until this moment was to be trusted.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn since(&self) -> Instant {
        *self.0.lock()
    }

    /// Trusts nothing that was made before now.
    pub fn renew(&self) {
        *self.0.lock() = Instant::now();
    }

    /// Renews as [`Self::renew`] does unless it was done within `pause`, and returns whether it was done.
    pub fn renew_after(&self, pause: Duration) -> bool {
        let mut since = self.0.lock();
        let renews = since.elapsed() >= pause;
        if renews {
            *since = Instant::now();
        }
        renews
    }

    /// Checks whether a connection may be used again that was made then and has been idle for this long.
    ///
    /// # Errors
    /// Why not: it leads to a server that has gone, or does not answer.
    pub async fn allows(
        &self,
        connection: &mut PgConnection,
        made: Instant,
        idle: Duration,
    ) -> Result<(), sqlx::Error> {
        if made < self.since() {
            return Err(sqlx::Error::WorkerCrashed);
        }
        if idle > TRUSTED_IDLE { self.is_kept_by(connection).await } else { Ok(()) }
    }

    /// Tries an idle connection. Where one has been cut off from its server, so have the others.
    async fn is_kept_by(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let asked = Instant::now();
        let answer = answers(connection).await;
        if matches!(&answer, Err(sqlx::Error::PoolTimedOut | sqlx::Error::Io(_))) {
            self.renew_since(asked);
        }
        answer
    }

    /// Tries a connection after its use. One that is silent may be at work on a statement that was given up, which says
    /// nothing of the others.
    async fn is_kept_after_use_by(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let asked = Instant::now();
        let answer = answers(connection).await;
        if matches!(&answer, Err(sqlx::Error::Io(_))) {
            self.renew_since(asked);
        }
        answer
    }

    /// Renews as [`Self::renew`] does unless it was done since then.
    fn renew_since(&self, asked: Instant) {
        if self.since() < asked {
            self.renew();
        }
    }
}

impl Pool {
    /// Returns a pool of at most so many connections, none of which is made yet.
    ///
    /// # Errors
    /// [`sqlx::Error::Configuration`], which a limit of at least one never has.
    pub fn new(options: &PgConnectOptions, max_connections: u32, trust: Trust) -> Result<Self, sqlx::Error> {
        let connector = Connector { options: Box::new(options.clone()), trust: trust.clone() };
        let size = usize::try_from(max_connections.max(1)).unwrap_or(usize::MAX);
        let connections = managed::Pool::builder(connector).max_size(size).build();
        let connections = connections.map_err(|error| sqlx::Error::Configuration(error.into()))?;
        let readers = Arc::new(Semaphore::new(places_of_readers(size)));
        Ok(Self { connections, readers, address: address(options).into(), trust })
    }

    /// Waits until `limit` for a connection that can be used.
    ///
    /// # Errors
    /// What the server said last; without a word of it, that it does not answer or that all connections are in use.
    pub async fn acquire(&self, limit: Duration) -> Result<Pooled, Error> {
        let mut refused = None;
        let connection = match tokio::time::timeout(limit, self.get(&mut refused)).await {
            Ok(connection) => connection?,
            Err(_) => return Err(self.why_none(refused, self.connections.status().max_size, limit)),
        };
        Ok(Pooled { connection: Some(connection), place: None, trust: self.trust.clone() })
    }

    /// Waits as [`Self::acquire`] does, for one of those that readers may have.
    ///
    /// # Errors
    /// The same.
    pub async fn acquire_to_read(&self, limit: Duration) -> Result<Pooled, Error> {
        let begun = Instant::now();
        let place = tokio::time::timeout(limit, Arc::clone(&self.readers).acquire_owned()).await;
        let most = places_of_readers(self.connections.status().max_size);
        let place = place.map_err(|_| self.why_none(None, most, limit))?.map_err(|_| sqlx::Error::PoolClosed)?;
        let mut pooled = self.acquire(limit.saturating_sub(begun.elapsed())).await?;
        pooled.place = Some(place);
        Ok(pooled)
    }

    /// Goes on trying while the server starts or has no connection to give, for as long as the caller waits: meanwhile
    /// one of those that are in use may come back. Leaves behind why it was `refused` last.
    async fn get(&self, refused: &mut Option<sqlx::Error>) -> Result<Object<Connector>, sqlx::Error> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connections.get().await.map_err(failure) {
                Err(error) if is_worth_another_try(&error) => *refused = Some(error),
                got => return got,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Says why none of `most` connections was to be had.
    fn why_none(&self, refused: Option<sqlx::Error>, most: usize, waited: Duration) -> Error {
        let (status, seconds) = (self.connections.status(), waited.as_secs_f64().round());
        match refused {
            Some(sqlx::Error::Io(error)) => Error::Unavailable(format!("{}: {error}", self.address)),
            Some(error) => error.into(),
            None if status.size >= most => Error::Unavailable(format!(
                "all connections are in use ({}), and none came free within {seconds} s",
                status.size
            )),
            None => Error::Unavailable(format!("{} does not answer within {seconds} s", self.address)),
        }
    }

    pub async fn begin(&self) -> Result<Transaction, Error> {
        let mut connection = self.acquire(CONNECT_LIMIT).await?;
        Transactions::begin(&mut connection, None).await?;
        Ok(Transaction { connection, open: true })
    }

    /// Returns the number of connections: idle ones and those in use.
    pub fn connections(&self) -> (u32, u32) {
        let status = self.connections.status();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (count(status.available), count(status.size.saturating_sub(status.available)))
    }

    /// Closes it for good; what is in use is closed when it comes back.
    pub fn close(&self) {
        self.connections.close();
    }
}

impl managed::Manager for Connector {
    type Type = PgConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = PgConnection::connect_with(&self.options).await?;
        prepare_session(&mut connection).await?;
        Ok(connection)
    }

    async fn recycle(&self, connection: &mut PgConnection, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        Ok(self.trust.allows(connection, metrics.created, metrics.last_used()).await?)
    }
}

/// Returns how many connections of so many readers may have at once: all but one or two. For a single one they stand in
/// the same line as writers.
fn places_of_readers(size: usize) -> usize {
    if size > 1 { size - (size / 3).clamp(1, 2) } else { Semaphore::MAX_PERMITS }
}

/// Returns whether connecting again in a moment may do: nobody listens yet, or the server says that it is coming up,
/// or that it has given all its connections away.
fn is_worth_another_try(error: &sqlx::Error) -> bool {
    const CANNOT_CONNECT_NOW: &str = "57P03";
    const TOO_MANY_CONNECTIONS: &str = "53300";
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| [CANNOT_CONNECT_NOW, TOO_MANY_CONNECTIONS].contains(&&*code))
        }
        _ => false,
    }
}

fn failure(error: PoolError<sqlx::Error>) -> sqlx::Error {
    match error {
        PoolError::Backend(error) => error,
        PoolError::Closed => sqlx::Error::PoolClosed,
        _ => sqlx::Error::PoolTimedOut,
    }
}

impl Deref for Pooled {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        let Some(connection) = &self.connection else { unreachable!("it is there until it is dropped") };
        connection
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut PgConnection {
        let Some(connection) = &mut self.connection else { unreachable!("it is there until it is dropped") };
        connection
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        // Without a runtime the process is ending, and nobody uses it again.
        let Ok(runtime) = Handle::try_current() else { return drop(Object::take(connection)) };
        let (trust, place) = (self.trust.clone(), self.place.take());
        // Ends by itself within the limit of an answer.
        runtime.spawn(async move {
            match trust.is_kept_after_use_by(&mut connection).await {
                Ok(()) => drop(connection),
                Err(error) => {
                    tracing::debug!(%error, "a connection to the database is not used again");
                    drop(Object::take(connection));
                }
            }
            drop(place);
        });
    }
}

impl Transaction {
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        Transactions::commit(&mut self.connection).await?;
        self.open = false;
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.open {
            // Sent when the connection is tried, right after this.
            Transactions::start_rollback(&mut self.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_leave_writers_a_place_where_there_is_one() {
        let sizes = [2, 3, 4, 6, 8, 20];
        assert_eq!(sizes.map(|size| size - places_of_readers(size)), [1, 1, 1, 2, 2, 2]);
        assert!(places_of_readers(1) > 1);
    }
}
