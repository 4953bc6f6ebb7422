//! What is particular to SQLite: one connection that writes, a few that read, and files with the right permissions.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection as _, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    Error, READER_LIMIT, Schema, Synchronous,
    migrations::{self, scripts},
};
use crate::files;
pub use place::Displaced;
use place::Place;
use texts::{SNAPSHOT, WITHOUT_SNAPSHOT, snapshot};
use write::write_group;
use writer::{InUse, Transaction, Writer};

/// Nobody else writes meanwhile.
macro_rules! skip_locked {
    ($table:literal) => {
        ""
    };
}

/// The time of this machine, in milliseconds since the Unix epoch: all processes on one file share it.
macro_rules! server_time {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}

/// A column whose value a select finds.
macro_rules! among {
    ($column:literal, $($select:expr),+) => {
        concat!($column, " IN (", $($select),+, ")")
    };
}

/// Rows of a table that such a select finds, by their places.
macro_rules! row_among {
    ($table:literal, $from:expr, $limit:literal) => {
        among!("rowid", "SELECT ", $table, ".rowid ", $from, $limit)
    };
}

mod place;
#[path = "queries/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "the same queries, compiled for the other engine")]
mod queries;
mod texts;
mod write;
mod writer;

/// The database type the queries are compiled for.
pub type Db = sqlx::Sqlite;

/// Compares with a pattern, whatever the case of the letters it knows.
const LIKE: &str = " LIKE ";
/// BEGIN IMMEDIATE has locked everything already.
const FOR_UPDATE: &str = "";
const KEEP_ROW: &str = "";
/// The same.
const LOCK_OWNER: Option<&str> = None;

/// sqlx's default kind of transaction takes the write lock late and then fails at once, busy timeout or not.
const BEGIN: &str = "BEGIN IMMEDIATE";
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const ACQUIRE_LIMIT: Duration = Duration::from_secs(10);
const READERS: u32 = 8;
/// How long a reader may use a connection, as a statement may take on Postgres; looked at after so many steps of
/// SQLite's machine, a step being the comparison of a whole text at most.
const READ_LIMIT: Duration = Duration::from_secs(20);
const STEPS_BETWEEN_LOOKS: i32 = 1_000;
const STATEMENTS: usize = 256;
/// What is left of the log beside the file once all of it was folded in: after a large change it would stay as large as
/// it was then.
const LOG_BYTES: u32 = 64 * 1024 * 1024;
/// How long, and at which pace, opening is tried while another process creates the same file: switching a new file to
/// WAL does not honour the busy timeout.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
const OPEN_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Engine {
    place: Place,
    writer: Writer,
    readers: SqlitePool,
    /// One connection that nobody but probes uses: those who wait for a reader say nothing about the database.
    probes: SqlitePool,
    read_limit: Duration,
}

impl Engine {
    pub async fn open(path: &Path, synchronous: Synchronous) -> Result<Self, Error> {
        create_privately(path)?;
        let place = Place::of(path).map_err(|error| Error::Unusable(format!("{}: {error}", path.display())))?;
        let options = writer_options(path, synchronous);
        migrate_with_retries(&options, path).await?;
        let pool = |connections| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(ACQUIRE_LIMIT)
                .test_before_acquire(false)
                .connect_lazy_with(common_options(path).read_only(true))
        };
        let (readers, probes) = (pool(READERS), pool(1));
        let writer = Writer::new(options, place.clone());
        // Readers cannot make the files that go with a database on which somebody works.
        writer.acquire().await?;
        Ok(Self { place, writer, readers, probes, read_limit: READ_LIMIT })
    }

    pub fn in_place(&self) -> Result<(), Error> {
        Ok(self.place.check().map_err(sqlx::Error::from)?)
    }

    pub fn connections(&self) -> (u32, u32) {
        let idle = u32::try_from(self.readers.num_idle()).unwrap_or(u32::MAX);
        let (writer_idle, writer_used) = self.writer.connections();
        (idle + writer_idle, self.readers.size().saturating_sub(idle) + writer_used)
    }

    pub async fn close(&self) {
        self.readers.close().await;
        self.probes.close().await;
        // Last, because the last connection to close folds the log into the file, which a reader may not.
        self.writer.close().await;
    }

    /// Takes a connection to read by. Readers learn soon that the database is away; writers wait longer. What is asked
    /// over it is interrupted after a while, since a search that its caller gave up would hold it to the end.
    async fn reader(&self) -> Result<PoolConnection<Db>, sqlx::Error> {
        let mut connection = within_limit(&self.readers, &self.place).await?;
        let end = Instant::now() + self.read_limit;
        connection.lock_handle().await?.set_progress_handler(STEPS_BETWEEN_LOOKS, move || Instant::now() < end);
        Ok(connection)
    }

    async fn prober(&self) -> Result<PoolConnection<Db>, sqlx::Error> {
        within_limit(&self.probes, &self.place).await
    }

    /// Returns a connection that probes writing: there is one writer, and who waits for it learns how it does.
    async fn write_prober(&self) -> Result<InUse, sqlx::Error> {
        self.writer().await
    }

    async fn writer(&self) -> Result<InUse, sqlx::Error> {
        self.writer.acquire().await
    }

    async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        self.writer.begin().await
    }
}

/// Takes a connection of the pool. While another file may be in the place of the one that is open, it makes none.
async fn within_limit(pool: &SqlitePool, place: &Place) -> Result<PoolConnection<Db>, sqlx::Error> {
    if let Err(displaced) = place.check() {
        return pool.try_acquire().ok_or_else(|| displaced.into());
    }
    tokio::time::timeout(READER_LIMIT, pool.acquire()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Returns whether the insert of a run met the index that allows one active run per thread: the only unique index of
/// `runs` that is not its primary key, which has a code of its own.
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
    let synchronous = match synchronous {
        Synchronous::Full => SqliteSynchronous::Full,
        Synchronous::Normal => SqliteSynchronous::Normal,
    };
    common_options(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .pragma("journal_size_limit", LOG_BYTES.to_string())
}

/// Creates the file and its folder, for their owner alone; a folder that exists is left as it is.
fn create_privately(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::create_private_folder(folder).map_err(|error| {
            let folder = folder.display();
            Error::Unusable(format!("the data folder {folder} cannot be created: {error}; --data-dir names another"))
        })?;
    }
    files::keep_private(path).map(drop).map_err(|error| {
        let (done, path) = (if path.exists() { "written" } else { "created" }, path.display());
        Error::Unusable(format!(
            "{path} cannot be {done}: {error}; make the data folder and its files writable, or name another by --data-dir"
        ))
    })
}

/// Compares the schema with what this program needs. The file has to be writable, with room on its disk, as it will be
/// written to.
pub async fn look(path: &Path) -> Result<Schema, Error> {
    let exists = path.try_exists().map_err(|error| Error::Unusable(format!("{}: {error}", path.display())))?;
    if !exists {
        return Ok(Schema::Lacks(migrations::NEWEST_SCHEMA));
    }
    let mut connection = common_options(path).connect().await?;
    connection.begin_with(BEGIN).await?.rollback().await?;
    let schema = queries::read_schema(&mut connection).await?;
    if schema == Schema::Fits {
        queries::probe_write(&mut connection).await?;
    }
    connection.close().await?;
    Ok(schema)
}

async fn migrate_with_retries(options: &SqliteConnectOptions, path: &Path) -> Result<(), Error> {
    let since = Instant::now();
    loop {
        match migrate(options).await.map_err(Error::at_start) {
            Err(Error::Unavailable(_)) if since.elapsed() < OPEN_LIMIT => tokio::time::sleep(OPEN_PAUSE).await,
            Err(Error::Unavailable(reason)) => {
                let path = path.display();
                return Err(Error::Unavailable(format!("{path}: {reason}; does another program hold it?")));
            }
            Err(Error::TakesNoWrites(reason)) => {
                return Err(Error::TakesNoWrites(format!("{}: {reason}", path.display())));
            }
            Err(Error::Unusable(reason)) => return Err(Error::Unusable(format!("{}: {reason}", path.display()))),
            result => return result,
        }
    }
}

/// Migrates inside one immediate transaction, which is the lock between processes; the migrator's own transactions
/// become savepoints in it.
async fn migrate(options: &SqliteConnectOptions) -> Result<(), Error> {
    let mut connection = options.connect().await?;
    let mut tx = connection.begin_with(BEGIN).await?;
    migrations::migrator(scripts!("sqlite")).run_direct(&mut *tx).await?;
    queries::check_schema(&mut tx).await?;
    tx.commit().await?;
    Ok(connection.close().await?)
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;
    use crate::{
        domain::{Event, Owner, RunId, RunStatus, Scope, ThreadStatus, Timestamp},
        store::{
            Admission, Claimant, Claimed, Clock, Commit, Created, Cursor, Database, Entry, IdempotencyKey, Lease,
            NewEvent, NewRun, NewThread, RunFilter, Store, ThreadFilter, UsageFilter, group::Group,
        },
    };

    /// The usual commit is one statement, and what that refuses is left to the transaction which can tell why.
    #[tokio::test]
    async fn a_group_is_written_at_once_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let run = NewRun::example("one");
        engine.create_thread(&run, &NewThread::default(), &Admission::default()).await.unwrap();
        let claimant = Claimant { worker: "a".into(), lease: Duration::from_secs(9), clock: Clock::At(Timestamp(1)) };
        let Claimed::Yes { lease, .. } = engine.claim(run.run_id, &claimant, None).await.unwrap() else { panic!() };
        let entry = |lease| {
            let event = NewEvent { ts: Timestamp(1), scope: Scope::ROOT, event: Event::CompressStarted {} };
            Entry::from(Commit { events: vec![event.clone(), event], ..Commit::new(lease) })
        };
        let written = async |entries: &[Entry]| engine.write_alone(&Group::of(entries)).await.unwrap();
        let first = entry(lease);
        assert_eq!(written(std::slice::from_ref(&first)).await, [(0, 1)].into());
        assert!(written(&[first, entry(lease)]).await.is_empty(), "one of them is there already");
        assert!(written(&[entry(Lease { epoch: 9, ..lease })]).await.is_empty(), "the lease is lost");
        assert_eq!(written(&[entry(lease), entry(lease)]).await, [(0, 3)].into());
    }

    /// What is asked every second, or while the one writer is held, must not grow with the runs that have ended.
    #[tokio::test]
    async fn what_looks_for_runs_to_do_does_not_read_those_that_have_ended() {
        use queries::{claims, runs, threads};
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let asked =
            [claims::CLAIM_NEXT, claims::CLAIMABLE, claims::WAITING_SUSPECT, runs::PLACE_IN_QUEUE, runs::PLACES];
        let of_active = ["runs_one_active_per_thread", "runs_claimable", "runs_active_by_owner", "runs_claimed"];
        let queued = RunFilter { status: Some(RunStatus::Queued), ..RunFilter::default() };
        let listed = runs::page(&queued, None, 20);
        for sql in asked.into_iter().chain([threads::QUEUED, listed.sql()]) {
            let plan = format!("EXPLAIN QUERY PLAN {sql}");
            let rows = sqlx::query(&plan).fetch_all(&mut *engine.reader().await.unwrap()).await.unwrap();
            let steps: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            let tables = ["runs", "own", "before"];
            let reads = steps.iter().filter(|step| step.split(' ').nth(1).is_some_and(|name| tables.contains(&name)));
            for step in reads {
                let few = of_active.iter().any(|index| step.contains(index)) || step.contains("(id=?)");
                assert!(few, "{step}\n{sql}");
            }
            assert!(!steps.is_empty());
        }
    }

    /// What an owner lists is found by an index of their own, first page or later ones, however many others there are.
    #[tokio::test]
    async fn lists_of_an_owner_read_nothing_of_others() {
        use queries::{collections, runs, search, threads, usage};
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let (ann, here) = (Owner::named("ann"), Cursor { at: 1, id: uuid::Uuid::nil() });
        let words = ThreadFilter { words: Some("gate".to_owned()), ..ThreadFilter::default() };
        let idle = ThreadFilter { status: Some(ThreadStatus::Idle), ..ThreadFilter::default() };
        let of_ann = RunFilter { owner: Some(ann.clone()), thread_owner: Some(ann.clone()), ..RunFilter::default() };
        let failed = RunFilter { status: Some(RunStatus::Failed), ..of_ann.clone() };
        let month = UsageFilter { from: Timestamp(0), to: Timestamp(1), owner: Some(ann.clone()) };
        let owner = Some(&ann);
        let lists = [None, Some(here)].into_iter().flat_map(|after| {
            [
                threads::page(owner, after, 20),
                search::last_of_window(owner, after),
                search::matching(owner, &words, after, here),
                search::matching(owner, &idle, after, here),
                runs::page(&of_ann, after, 20),
                runs::page(&failed, after, 20),
                collections::page(owner, after, 20),
                usage::by_day(&month, 100),
            ]
        });
        let by_owner = [
            "threads_of_owner",
            "runs_of_owner",
            "runs_ended_otherwise",
            "collections_of_owner",
            "deleted_usage_of_owner",
        ];
        let beside = ["runs_of_thread", "messages_of_thread", "documents_of_collection", "run_id=?", "(id=?)"];
        for list in lists {
            let plan = format!("EXPLAIN QUERY PLAN {}", list.sql());
            let rows = sqlx::query(&plan).fetch_all(&mut *engine.reader().await.unwrap()).await.unwrap();
            let steps: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            let reads = |step: &&String| step.starts_with("SEARCH ") || step.starts_with("SCAN ");
            // A window of an owner's threads goes by the name of the table from which it is.
            let window = list.sql().contains("FROM looked_at").then_some("SCAN threads");
            let stored = |step: &&String| {
                !["used", "(subquery"].iter().any(|name| step.contains(name)) && Some(step.as_str()) != window
            };
            for step in steps.iter().filter(reads).filter(stored) {
                let own =
                    step.starts_with("SEARCH ") && by_owner.iter().chain(&beside).any(|index| step.contains(index));
                assert!(own, "{step}\n{}", list.sql());
            }
            assert!(steps.iter().any(|step| by_owner.iter().any(|index| step.contains(index))), "{steps:?}");
        }
    }

    /// Few of those that have ended, and the messages of few runs, are found without reading all the others.
    #[tokio::test]
    async fn what_is_rare_is_found_by_an_index() {
        use queries::runs;
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let here = Cursor { at: 1, id: uuid::Uuid::nil() };
        let mut asked = vec![(runs::questions(&[RunId::new(), RunId::new()]), "messages_of_run (run_id=?)")];
        for (after, status) in [None, Some(here)].into_iter().zip([RunStatus::Failed, RunStatus::Cancelled]) {
            let of_all = RunFilter { status: Some(status), ..RunFilter::default() };
            let of_ann = RunFilter { owner: Some(Owner::named("ann")), ..of_all.clone() };
            asked.push((runs::page(&of_all, after, 20), "runs_of_all_ended_otherwise (status=?"));
            asked.push((runs::page(&of_ann, after, 20), "runs_ended_otherwise (owner=? AND status=?"));
        }
        for (select, index) in asked {
            let plan = format!("EXPLAIN QUERY PLAN {}", select.sql());
            let rows = sqlx::query(&plan).fetch_all(&mut *engine.reader().await.unwrap()).await.unwrap();
            let steps: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            assert!(steps.iter().any(|step| step.contains(index)), "{steps:?}\n{}", select.sql());
            let sorts = index.starts_with("runs") && steps.iter().any(|step| step.contains("TEMP B-TREE"));
            assert!(!sorts && !steps.iter().any(|step| step.starts_with("SCAN")), "{steps:?}\n{}", select.sql());
        }
    }

    #[tokio::test]
    async fn the_log_beside_the_file_does_not_stay_as_large_as_it_once_was() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let limit = sqlx::query_scalar::<_, i64>("PRAGMA journal_size_limit");
        assert_eq!(limit.fetch_one(&mut *engine.writer().await.unwrap()).await.unwrap(), i64::from(LOG_BYTES));
    }

    #[tokio::test]
    async fn a_probe_does_not_wait_behind_readers() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(engine.reader().await.unwrap());
        }
        let probed = tokio::time::timeout(READER_LIMIT / 2, engine.schema()).await;
        assert_eq!(probed.expect("at once").unwrap(), Schema::Fits);
        assert!(tokio::time::timeout(READER_LIMIT / 6, engine.reader()).await.is_err(), "they were all there are");
    }

    #[tokio::test]
    async fn a_read_without_an_end_is_interrupted() {
        const ENDLESS: &str =
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT COUNT(*) FROM numbers";
        let folder = tempfile::tempdir().unwrap();
        let mut engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Normal).await.unwrap();
        engine.read_limit = Duration::from_millis(30);
        let mut reader = engine.reader().await.unwrap();
        let read = sqlx::query(ENDLESS).execute(&mut *reader);
        let error = tokio::time::timeout(Duration::from_secs(9), read).await.expect("in time").unwrap_err();
        assert!(matches!(Error::from(error), Error::Unavailable(_)));
        drop(reader);
        engine.read_limit = READ_LIMIT;
        engine.ping().await.unwrap();
    }

    /// As when one of the files beside it is a link, or no more files may be open.
    #[tokio::test]
    async fn a_file_that_cannot_be_opened_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fathom.db");
        std::os::unix::fs::symlink("elsewhere", folder.path().join("fathom.db-shm")).unwrap();
        let error = Engine::open(&path, Synchronous::Full).await.unwrap_err();
        let begins = format!("{}: ", path.display());
        assert!(matches!(&error, Error::Unusable(text) if text.starts_with(&begins)), "{error:?}");
    }

    /// A message that was taken before there was no room says nothing of the room there is.
    #[tokio::test]
    async fn only_a_message_that_is_taken_shows_that_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fathom.db");
        let store = Store::open(&Database::Sqlite { path, synchronous: Synchronous::Normal }).await.unwrap();
        let key = |key: &str| IdempotencyKey {
            scope: "POST".to_owned(),
            key: key.to_owned(),
            request_hash: "same".to_owned(),
            not_before: Timestamp(0),
        };
        let create = async |name: &str| {
            let admission = Admission { idempotency: Some(key(name)), ..Admission::default() };
            store.create_thread(&NewRun::example("one"), &NewThread::default(), &admission).await.unwrap()
        };
        create("a").await;
        store.health.note_no_room(&Error::TakesNoWrites("full".to_owned()));
        assert!(matches!(create("a").await, Created::Before(_)));
        assert!(store.takes_writes().await.is_err());
        assert!(matches!(create("b").await, Created::New { .. }));
        assert_eq!(store.takes_writes().await, Ok(()));
    }

    async fn limit_pages(engine: &Engine, pages: i64) {
        let pragma = format!("PRAGMA max_page_count = {pages}");
        sqlx::query(&pragma).fetch_all(&mut *engine.writer().await.unwrap()).await.unwrap();
    }

    /// A limit on the file's pages gives the same error as a full disk.
    #[tokio::test]
    async fn a_full_disk_loses_nothing_and_passes() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(&folder.path().join("fathom.db"), Synchronous::Full).await.unwrap();
        let create = async |content: &str| {
            engine.create_thread(&NewRun::example(content), &NewThread::default(), &Admission::default()).await
        };
        create("before").await.unwrap();
        limit_pages(&engine, 1).await;
        let big = "x".repeat(1_000_000);
        let error = create(&big).await.unwrap_err();
        assert!(matches!(&error, Error::NoRoom(text) if text.contains("full")), "{error}");
        assert_eq!(engine.load().await.unwrap().queued, 1);
        limit_pages(&engine, 1_000_000).await;
        create(&big).await.unwrap();
        assert_eq!(engine.load().await.unwrap().queued, 2);
    }
}
