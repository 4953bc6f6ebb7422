//! All SQL: threads, messages, runs, steps, events, sources, notes, on Postgres or SQLite.
//!
//! Callers see [`Store`] and never learn which engine it is.
//!
//! The queries live in `queries/`, compiled once per engine: `postgres.rs` and `sqlite.rs` each say which database
//! type they mean, hold what differs (connecting, beginning a write, locking clauses) and include the same files.
//! `tables.rs` names the columns that commits fill, `group.rs` gathers their rows, `values.rs` says how values are
//! kept, `ENGINE/write.rs` writes them.

mod attempts;
mod collections;
mod error;
mod group;
mod health;
mod keys;
mod leases;
mod log;
mod log_records;
mod migrations;
mod postgres;
mod records;
mod shares;
mod sqlite;
mod tables;
mod threads;
mod uploads;
mod usage;
mod values;
mod wakes;

use std::{path::PathBuf, sync::Arc, time::Duration};

use secrecy::SecretString;

use attempts::{ask, attempt, ensure, on_either};
pub use collections::{MAX_COLLECTIONS_OF_AN_OWNER, NewCollection};
pub use error::Error;
use health::Health;
pub use keys::{NewKey, NewSession};
pub use log_records::{
    CallRecord, Commit, Entry, EventRow, EventRows, ExpiredThread, Finish, Gap, NewEvent, PageLimit, Pruned,
    RunPosition, Step, StepKind, ThreadPosition,
};
pub use migrations::{NEWEST_SCHEMA, Schema};
pub use postgres::{check_parameters, unused_parameters};
pub use records::{
    Admission, Cancelling, ClaimFilter, Claimant, Claimed, Clock, Created, Cursor, Delivery, End, EndedLeases,
    FirstAnswer, HeldRun, IdempotencyKey, Lease, Load, NewRun, NewThread, Page, QueueLimits, Renewal, RetryOf,
    RunFilter, RunOverview, ThreadChange, ThreadFilter,
};
pub use shares::NewShare;
pub use uploads::{NewUpload, ThreadOf, Uploaded};
pub use usage::{PlaceUsage, UsageByPlace, UsageFilter, UsageRow};
pub use wakes::{Listener, Notice, Wake};

/// How long a reader waits for a connection.
const READER_LIMIT: Duration = Duration::from_secs(3);

/// A run that nobody shall take by itself is free only after this time, which is never. Releases that know nothing of
/// parking leave such a run alone too.
pub const PARKED: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The database in which the data is kept.
#[derive(Clone, Debug)]
pub enum Database {
    /// `url` as in `postgres://user:password@host:port/database`.
    Postgres { url: SecretString, max_connections: u32 },
    /// A file; it and its folder are created when missing.
    Sqlite { path: PathBuf, synchronous: Synchronous },
}

/// Whether the embedded database waits for the disk. No end of a process loses anything in either case, and the file
/// stays sound; they differ in what a loss of power, or of the whole machine, costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// At each commit: whatever was answered or stored is still there.
    #[default]
    Full,
    /// Now and then: the last commits may be gone, all of them after some moment.
    Normal,
}

/// Everything that is kept; a cheap clone.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Arc<Engine>,
    health: Arc<Health>,
}

#[derive(Debug)]
enum Engine {
    Postgres(postgres::Engine),
    Sqlite(sqlite::Engine),
}

impl Engine {
    async fn open(database: &Database) -> Result<Self, Error> {
        Ok(match database {
            Database::Postgres { url, max_connections } => {
                Self::Postgres(postgres::Engine::open(url, *max_connections).await?)
            }
            Database::Sqlite { path, synchronous } => Self::Sqlite(sqlite::Engine::open(path, *synchronous).await?),
        })
    }
}

impl Store {
    /// Connects to the database, and brings the schema up to date; several processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Unusable`] when an operator has to act (address, rights, schema), [`Error::Unavailable`] when the
    /// database cannot be reached at the moment.
    pub async fn open(database: &Database) -> Result<Self, Error> {
        let engine = Engine::open(database).await.map_err(Error::at_start)?;
        Ok(Self { engine: Arc::new(engine), health: Arc::default() })
    }

    /// Notes that the database was away, or time cannot be trusted.
    pub fn note_trouble(&self) {
        self.health.note_trouble();
    }

    /// Returns how long it has been since the last trouble; `None` when there was none.
    pub fn since_trouble(&self) -> Option<Duration> {
        self.health.since_trouble()
    }

    /// Succeeds when the database takes a write.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn probe_write(&self) -> Result<(), Error> {
        ensure!(self, engine => engine.probe_write().await)
    }

    /// Probes as [`Store::probe_write`] does, answered from memory when it was tried a moment ago.
    pub async fn takes_writes(&self) -> Result<(), Error> {
        self.health.takes_writes(|| self.probe_write()).await
    }

    /// Succeeds while the file of the embedded database is where it was when it was opened.
    ///
    /// # Errors
    /// [`Error::TakesNoWrites`], as every write then.
    pub fn in_place(&self) -> Result<(), Error> {
        match &*self.engine {
            Engine::Postgres(_) => Ok(()),
            Engine::Sqlite(engine) => engine.in_place(),
        }
    }

    /// Compares a database's schema with what this program needs, and tries whether it takes writes; what is stored
    /// stays as it is. A file that is not there has no schema.
    ///
    /// # Errors
    /// As [`Store::open`], [`Error::Unusable`] when migrations are missing that could not be made, and
    /// [`Error::TakesNoWrites`].
    pub async fn look(database: &Database) -> Result<Schema, Error> {
        let schema = match database {
            Database::Postgres { url, .. } => postgres::look(url).await,
            Database::Sqlite { path, .. } => sqlite::look(path).await,
        };
        schema.map_err(Error::at_start)
    }

    /// Compares the schema with what this program needs. The service runs its migrations before it listens, but a
    /// database may be replaced by an older one, or an empty one, beneath it, or migrated by a newer program. Asked
    /// over a connection that nobody but probes uses.
    pub async fn schema(&self) -> Result<Schema, Error> {
        ask!(self, engine => engine.schema().await)
    }

    /// Succeeds when the database answers a read.
    ///
    /// # Errors
    /// As every method here: [`Error::Unavailable`] or [`Error::Unusable`]; [`Error::Corrupt`] is a defect.
    pub async fn ping(&self) -> Result<(), Error> {
        ask!(self, engine => engine.ping().await)
    }

    /// Closes every connection; for orderly ends only, a crash is as safe.
    pub async fn close(&self) {
        on_either!(self, engine => engine.close().await);
    }

    /// Returns the connections of this process to the database: idle ones and those in use.
    pub fn connections(&self) -> (u32, u32) {
        on_either!(self, engine => engine.connections())
    }
}

/// Runs work on a text that takes a while on a thread for such work, so that nobody else waits for it.
///
/// # Errors
/// [`Error::Unavailable`] when the process ends, [`Error::Corrupt`] when the work panicked, which is a defect.
async fn off_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        if !error.is_panic() {
            // The runtime ends, and takes on no more work.
            return Error::Unavailable(error.to_string());
        }
        // What it says may hold anything of the text.
        tracing::error!(%error, "work on a text panicked");
        Error::Corrupt("a defect of this program: work on a text panicked".to_owned())
    })
}
