//! What is particular to SQLite: one connection that writes, a few that read, and files with the right permissions.

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection as _, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Entry, Error, NEWEST_SCHEMA, READER_LIMIT, Synchronous};
use crate::{domain::RunId, files};

/// Nobody else writes meanwhile.
macro_rules! skip_locked {
    () => {
        ""
    };
}

/// The time of this machine, in milliseconds since the Unix epoch: all processes on one file share it.
macro_rules! server_time {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}

#[path = "queries/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "the same queries, compiled for the other engine")]
mod queries;

/// The database type the queries are compiled for.
pub type Db = sqlx::Sqlite;

/// BEGIN IMMEDIATE has locked everything already.
/// Compares with a pattern, whatever the case of the letters it knows.
const LIKE: &str = " LIKE ";
const FOR_UPDATE: &str = "";
const SKIP_LOCKED: &str = "";

/// sqlx's default kind of transaction takes the write lock late and then fails at once, busy timeout or not.
const BEGIN: &str = "BEGIN IMMEDIATE";
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const ACQUIRE_LIMIT: Duration = Duration::from_secs(10);
const READERS: u32 = 8;
const STATEMENTS: usize = 256;
/// How long, and at which pace, opening is tried while another process creates the same file: switching a new file to
/// WAL does not honour the busy timeout.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
const OPEN_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Engine {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Engine {
    pub async fn open(path: &Path, synchronous: Synchronous) -> Result<Self, Error> {
        create_privately(path)?;
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .acquire_timeout(ACQUIRE_LIMIT)
            .test_before_acquire(false)
            .after_release(|connection, _| Box::pin(is_sound(connection)))
            .connect_lazy_with(writer_options(path, synchronous));
        migrate_patiently(&writer, path).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(ACQUIRE_LIMIT)
            .test_before_acquire(false)
            .connect_lazy_with(common_options(path).read_only(true));
        Ok(Self { writer, readers })
    }

    pub fn connections(&self) -> (u32, u32) {
        let idle = u32::try_from(self.writer.num_idle() + self.readers.num_idle()).unwrap_or(u32::MAX);
        (idle, (self.writer.size() + self.readers.size()).saturating_sub(idle))
    }

    pub async fn close(&self) {
        self.readers.close().await;
        // Last, because the last connection to close folds the log into the file, which a reader may not.
        self.writer.close().await;
    }

    /// Readers are told soon that the database is away; who writes waits longer.
    async fn reader(&self) -> Result<PoolConnection<Db>, sqlx::Error> {
        tokio::time::timeout(READER_LIMIT, self.readers.acquire()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn writer(&self) -> Result<PoolConnection<Db>, sqlx::Error> {
        self.writer.acquire().await
    }

    /// Nothing: here a statement costs no journey to a server.
    async fn write_at_once(&self, _entries: &[Entry]) -> Result<HashSet<RunId>, Error> {
        Ok(HashSet::new())
    }

    async fn begin(&self) -> Result<sqlx::Transaction<'static, Db>, sqlx::Error> {
        self.writer.begin_with(BEGIN).await
    }
}

/// Whether the writing connection may be used again. On a full disk or a read error SQLite ends the transaction by
/// itself, which sqlx 0.9 does not notice: it believes to be inside one for ever and refuses to begin another. Such a
/// connection is thrown away. The ping waits until the queued rollback has been tried.
async fn is_sound(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// The insert of a run met the index that allows one active run per thread: the only unique index of `runs` that is
/// not its primary key, which has a code of its own.
fn is_thread_busy(error: &sqlx::Error) -> bool {
    const SQLITE_CONSTRAINT_UNIQUE: &str = "2067";
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some(SQLITE_CONSTRAINT_UNIQUE)
}

fn common_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging()
}

fn writer_options(path: &Path, synchronous: Synchronous) -> SqliteConnectOptions {
    common_options(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal).synchronous(match synchronous {
        Synchronous::Full => SqliteSynchronous::Full,
        Synchronous::Normal => SqliteSynchronous::Normal,
    })
}

/// Creates the file and its folder, for their owner alone; a folder that exists is left as it is.
fn create_privately(path: &Path) -> Result<(), Error> {
    let unusable = |what: &Path, error| Error::Unusable(format!("{} cannot be created: {error}", what.display()));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let create = files::create_private_folder(folder);
        create.map_err(|error| unusable(Path::new(&format!("the data folder {}", folder.display())), error))?;
    }
    files::keep_private(path).map(drop).map_err(|error| unusable(path, error))
}

async fn migrate_patiently(writer: &SqlitePool, path: &Path) -> Result<(), Error> {
    let since = Instant::now();
    loop {
        match migrate(writer).await {
            Err(Error::Unavailable(_)) if since.elapsed() < OPEN_LIMIT => tokio::time::sleep(OPEN_PAUSE).await,
            Err(Error::Unavailable(reason)) => {
                let path = path.display();
                return Err(Error::Unavailable(format!("{path}: {reason}; does another program hold it?")));
            }
            result => return result,
        }
    }
}

/// Migrates inside one immediate transaction, which is the lock between processes; the migrator's own transactions
/// become savepoints in it.
async fn migrate(writer: &SqlitePool) -> Result<(), Error> {
    let mut connection = writer.acquire().await?;
    let mut tx = connection.begin_with(BEGIN).await?;
    migrator().run_direct(&mut *tx).await?;
    queries::check_schema(&mut tx, NEWEST_SCHEMA).await?;
    Ok(tx.commit().await?)
}

fn migrator() -> Migrator {
    let first = include_str!("../../migrations/sqlite/0001_first.sql");
    let service = include_str!("../../migrations/sqlite/0002_service.sql");
    let promises = include_str!("../../migrations/sqlite/0003_promises.sql");
    let migrations = vec![
        migration(1, "first", first),
        migration(2, "service", service),
        migration(NEWEST_SCHEMA, "promises", promises),
    ];
    // Those of a newer release are ignored: it says by itself whether this program may go on.
    Migrator { migrations: migrations.into(), ignore_missing: true, ..Migrator::DEFAULT }
}

fn migration(version: i64, description: &'static str, sql: &'static str) -> Migration {
    Migration::new(version, description.into(), MigrationType::Simple, sql.into(), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{MessageId, Owner, RunId, RunOptions, ThreadId, Timestamp},
        store::{Admission, NewRun, NewThread},
    };

    fn new_run(content: &str) -> NewRun {
        NewRun {
            thread_id: ThreadId::new(),
            run_id: RunId::new(),
            message_id: MessageId::new(),
            content: content.to_owned(),
            options: RunOptions::default(),
            documents: None,
            owner: Owner::local(),
            reserved: None,
            webhook_url: None,
            retry: None,
            now: Timestamp(0),
        }
    }

    async fn limit_pages(engine: &Engine, pages: i64) {
        let pragma = format!("PRAGMA max_page_count = {pages}");
        sqlx::query(&pragma).fetch_all(&engine.writer).await.unwrap();
    }

    /// A limit on the file's pages gives the same error as a full disk.
    #[tokio::test]
    async fn a_full_disk_loses_nothing_and_passes() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Full).await.unwrap();
        let create = async |content: &str| {
            engine.create_thread(&new_run(content), &NewThread::default(), &Admission::default()).await
        };
        create("before").await.unwrap();
        limit_pages(&engine, 1).await;
        let big = "x".repeat(1_000_000);
        let error = create(&big).await.unwrap_err();
        assert!(matches!(&error, Error::Unavailable(text) if text.contains("full")), "{error}");
        assert_eq!(engine.load().await.unwrap().queued, 1);
        limit_pages(&engine, 1_000_000).await;
        create(&big).await.unwrap();
        assert_eq!(engine.load().await.unwrap().queued, 2);
    }
}
