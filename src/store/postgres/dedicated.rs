//! A connection outside the pool, for what happens often and one at a time.
//!
//! The pool tries each connection that comes back, which costs a round trip for every statement.

use std::time::Instant;

use sqlx::{
    Executor as _,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::sync::MutexGuard;

use super::{CONNECT_LIMIT, PING_LIMIT, connect, pool::Trust, prepare_session};
use crate::store::Error;

/// Opened when it is first wanted, and again whenever it has broken.
#[derive(Debug)]
pub struct Dedicated {
    options: Box<PgConnectOptions>,
    /// Held while it is used.
    idle: tokio::sync::Mutex<State>,
}

#[derive(Debug)]
enum State {
    Absent,
    Idle(Open),
    Closed,
}

#[derive(Debug)]
struct Open {
    connection: PgConnection,
    since: Instant,
    used: Instant,
}

/// The connection while it is used; closed unless it is given back.
#[derive(Debug)]
pub struct InUse<'a> {
    state: MutexGuard<'a, State>,
    open: Option<Open>,
}

impl Dedicated {
    pub fn new(options: &PgConnectOptions) -> Self {
        Self { options: Box::new(options.clone()), idle: tokio::sync::Mutex::new(State::Absent) }
    }

    /// Waits for its turn; only one that is trusted is used again.
    ///
    /// # Errors
    /// Those of connecting.
    pub async fn acquire(&self, trust: &Trust) -> Result<InUse<'_>, Error> {
        let mut state = self.idle.lock().await;
        if matches!(*state, State::Closed) {
            return Err(sqlx::Error::PoolClosed.into());
        }
        let State::Idle(mut open) = std::mem::replace(&mut *state, State::Absent) else {
            return Ok(InUse { open: Some(self.open().await?), state });
        };
        let allowed = trust.allows(&mut open.connection, open.since, open.used.elapsed()).await;
        let open = if allowed.is_ok() { open } else { self.open().await? };
        Ok(InUse { state, open: Some(open) })
    }

    async fn open(&self) -> Result<Open, Error> {
        let since = Instant::now();
        let open = async {
            let mut connection = connect(&self.options).await?;
            prepare_session(&mut connection).await?;
            // Its statements find rows by keys. A plan made while a table was small is kept, and would read it whole.
            connection.execute("SET enable_seqscan = off").await?;
            Ok(Open { connection, since, used: since })
        };
        tokio::time::timeout(CONNECT_LIMIT, open).await.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut.into()))
    }

    /// Returns whether it is open at the moment and nobody uses it.
    pub fn is_idle(&self) -> bool {
        self.idle.try_lock().is_ok_and(|state| matches!(*state, State::Idle(_)))
    }

    /// Closes it for good.
    pub async fn close(&self) {
        use sqlx::Connection as _;

        if let State::Idle(open) = std::mem::replace(&mut *self.idle.lock().await, State::Closed) {
            // Its end is the server's business too, which may have gone; there is nothing left to do about a failure.
            _ = tokio::time::timeout(PING_LIMIT, open.connection.close()).await;
        }
    }
}

impl InUse<'_> {
    /// Returns the connection.
    ///
    /// # Errors
    /// None that could come about: it is there until it is given back.
    pub fn get(&mut self) -> Result<&mut PgConnection, Error> {
        self.open.as_mut().map(|open| &mut open.connection).ok_or_else(|| sqlx::Error::PoolClosed.into())
    }

    /// Gives the connection back, to be used again: nothing is under way on it.
    pub fn give_back(mut self) {
        if let Some(open) = self.open.take() {
            *self.state = State::Idle(Open { used: Instant::now(), ..open });
        }
    }
}
