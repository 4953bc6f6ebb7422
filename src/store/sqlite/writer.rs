//! The one connection that writes, and transactions on it.
//!
//! Not a pool of one: a pool tries each connection that comes back, which is two journeys to its thread that the next
//! writer has to wait for.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, TransactionManager,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{ACQUIRE_LIMIT, BEGIN, Db, place::Place, write::OBJECTS};

type Transactions = <Db as sqlx::Database>::TransactionManager;

/// Opens the connection when it is first wanted, and again when it turned out to be unusable.
#[derive(Clone, Debug)]
pub struct Writer {
    options: SqliteConnectOptions,
    place: Place,
    /// Held while it is used.
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    Absent,
    /// With `doubtful`, a transaction was not brought to its end.
    Open {
        connection: SqliteConnection,
        doubtful: bool,
    },
    Closed,
}

/// The connection while it is used.
#[derive(Debug)]
pub struct InUse(OwnedMutexGuard<State>);

/// A transaction that is rolled back unless it is committed.
#[derive(Debug)]
pub struct Transaction {
    connection: InUse,
    open: bool,
}

impl Writer {
    pub fn new(options: SqliteConnectOptions, place: Place) -> Self {
        Self { options, place, state: Arc::new(Mutex::new(State::Absent)) }
    }

    /// Waits for its turn. Refuses what would be written into a file that is not in its place.
    pub async fn acquire(&self) -> Result<InUse, sqlx::Error> {
        let turn = tokio::time::timeout(ACQUIRE_LIMIT, Arc::clone(&self.state).lock_owned());
        let mut state = turn.await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        self.place.check()?;
        let usable = match &mut *state {
            State::Closed => return Err(sqlx::Error::PoolClosed),
            State::Absent => false,
            State::Open { doubtful: false, .. } => true,
            State::Open { connection, doubtful } => {
                *doubtful = !is_sound(connection).await;
                !*doubtful
            }
        };
        if !usable {
            *state = State::Absent;
            let mut connection = self.options.connect().await?;
            connection.execute(OBJECTS.as_str()).await?;
            *state = State::Open { connection, doubtful: false };
        }
        Ok(InUse(state))
    }

    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        let mut connection = self.acquire().await?;
        // Until it is known to have begun, and afterwards until it is known to have ended.
        connection.doubt(true);
        Transactions::begin(&mut connection, Some(BEGIN.into())).await?;
        Ok(Transaction { connection, open: true })
    }

    /// Returns the number of connections: idle ones and those in use.
    pub fn connections(&self) -> (u32, u32) {
        match self.state.try_lock().as_deref() {
            Ok(State::Open { .. }) => (1, 0),
            Ok(State::Absent | State::Closed) => (0, 0),
            Err(_) => (0, 1),
        }
    }

    /// Closes it for good.
    pub async fn close(&self) {
        if let State::Open { connection, .. } = std::mem::replace(&mut *self.state.lock().await, State::Closed) {
            // What was committed is in the file, whether the log was folded into it or not.
            _ = connection.close().await;
        }
    }
}

/// Returns whether the connection may be used again. On a full disk or a read error SQLite ends the transaction by
/// itself, which sqlx does not notice: it believes to be inside one for ever and refuses to begin another. The ping
/// waits until a rollback that is under way has been tried.
async fn is_sound(connection: &mut SqliteConnection) -> bool {
    connection.ping().await.is_ok() && Transactions::get_transaction_depth(connection) == 0
}

impl InUse {
    fn doubt(&mut self, is_doubtful: bool) {
        if let State::Open { doubtful, .. } = &mut *self.0 {
            *doubtful = is_doubtful;
        }
    }
}

impl Deref for InUse {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        let State::Open { connection, .. } = &*self.0 else { unreachable!("acquired open, and locked since") };
        connection
    }
}

impl DerefMut for InUse {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        let State::Open { connection, .. } = &mut *self.0 else { unreachable!("acquired open, and locked since") };
        connection
    }
}

impl Transaction {
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        Transactions::commit(&mut self.connection).await?;
        self.open = false;
        self.connection.doubt(false);
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.open {
            Transactions::start_rollback(&mut self.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Engine;
    use crate::{
        domain::Timestamp,
        store::{Admission, Claimant, Claimed, Clock, NewRun, NewThread, Synchronous},
    };

    /// The hook refuses as a disk does that has no room for the commit, when the rows have been returned already.
    #[tokio::test]
    async fn a_claim_and_a_renewal_fail_when_their_commit_does() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let run = NewRun::example("one");
        engine.create_thread(&run, &NewThread::default(), &Admission::default()).await.unwrap();
        let (length, clock) = (Duration::from_secs(9), Clock::At(Timestamp(1)));
        let claimant = Claimant { worker: "a".into(), lease: length, clock };
        let commits = async |succeed: bool| {
            let mut writer = engine.writer().await.unwrap();
            writer.lock_handle().await.unwrap().set_commit_hook(move || succeed);
        };
        commits(false).await;
        engine.claim(run.run_id, &claimant, None).await.unwrap_err();
        commits(true).await;
        let Claimed::Yes { lease, .. } = engine.claim(run.run_id, &claimant, None).await.unwrap() else { panic!() };
        commits(false).await;
        engine.renew(&lease, length, clock).await.unwrap_err();
    }
}
