//! What is particular to Postgres: connecting, locking clauses, the advisory lock around migrations.

use std::{str::FromStr, sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    ConnectOptions, Connection as _, Executor as _, Row as _,
    migrate::{Migrate as _, MigrateError},
    postgres::{PgConnectOptions, PgConnection},
    query_scalar,
};
use uuid::Uuid;

use super::{
    Error, READER_LIMIT, Schema,
    migrations::{self, scripts},
};
use dedicated::Dedicated;
use pool::{Pool, Pooled, Transaction, Trust};
use write::write_group;

/// Lets several replicas look for work without waiting for one another.
macro_rules! skip_locked {
    ($table:literal) => {
        concat!(" FOR UPDATE OF ", $table, " SKIP LOCKED")
    };
}

/// The time of the server, in milliseconds since the Unix epoch. Leases are judged by it, so that a replica whose clock
/// is wrong neither takes runs away from others nor keeps its own from them.
macro_rules! server_time {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

/// A column whose value a select finds, which is carried out once. As `IN` a plan may carry it out again for each row,
/// and its `LIMIT` with it.
macro_rules! among {
    ($column:literal, $($select:expr),+) => {
        concat!($column, " = ANY (ARRAY(", $($select),+, "))")
    };
}

/// Rows of a table that such a select finds, by their places.
macro_rules! row_among {
    ($table:literal, $from:expr, $limit:literal) => {
        among!("ctid", "SELECT ", $table, ".ctid ", $from, $limit)
    };
}

mod address;
mod dedicated;
mod listen;
mod pool;
#[path = "queries/mod.rs"]
mod queries;
mod write;

pub use address::{check_parameters, unused_parameters};
pub use listen::Listener;

/// The database type the queries are compiled for.
pub type Db = sqlx::Postgres;

/// Compares with a pattern, whatever the case of the letters it knows.
const LIKE: &str = " ILIKE ";
/// Locks the rows a transaction is about to change.
const FOR_UPDATE: &str = " FOR UPDATE";
/// Keeps a row from being deleted, and excludes nobody else.
const KEEP_ROW: &str = " FOR KEY SHARE";

/// What is selected of a source for [`snapshot`].
const SNAPSHOT: &str = "snapshot";
/// The same without reading a text.
const WITHOUT_SNAPSHOT: &str = "'' AS snapshot";

/// Lets one transaction at a time count what an owner uses and add to it; held to its end.
const LOCK_OWNER: Option<&str> = Some("SELECT pg_advisory_xact_lock(hashtextextended($1, 5))");

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// An idle connection is tried before use, since the server may have gone since.
const TRUSTED_IDLE: Duration = Duration::from_millis(500);
/// Within this time it answers, or it is thrown away; less than a reader waits, so that another one can be made for it.
const PING_LIMIT: Duration = Duration::from_secs(2);
/// How often connections are made again because their server takes no writes.
const STANDBY_PAUSE: Duration = Duration::from_secs(5);
/// How often, and after which pauses, a migration is tried that gets no lock on a table: for a minute, however long
/// those before it took.
const MIGRATION_TRIES: u32 = 20;
const MIGRATION_PAUSE: Duration = Duration::from_secs(1);
/// Room for every statement there is, so that none is prepared twice per connection.
const STATEMENTS: usize = 256;

#[derive(Debug)]
pub struct Engine {
    pool: Pool,
    /// One connection that nobody but probes uses: those who wait for one of the pool say nothing about the database.
    probes: Pool,
    /// For the writer of the log.
    commits: Dedicated,
    /// For wake-ups of other processes.
    notifications: Dedicated,
    /// For the connection that listens.
    options: Box<PgConnectOptions>,
    /// Names this store among those that send wake-ups.
    sender: Uuid,
    trust: Trust,
}

impl Engine {
    /// Migrates over a connection of its own, whose errors are clearer than a pool's, then opens the pool.
    pub async fn open(url: &SecretString, max_connections: u32) -> Result<Self, Error> {
        let options = connect_options(url).await?;
        let mut connection = connect(&options).await?;
        check_encoding(&mut connection).await?;
        migrate(&mut connection).await?;
        queries::check_schema(&mut connection).await?;
        connection.close().await?;
        let trust = Trust::new();
        let pool = Pool::new(&options, max_connections, trust.clone())?;
        let probes = Pool::new(&options, 1, trust.clone())?;
        let (commits, notifications) = (Dedicated::new(&options), Dedicated::new(&options));
        let options = Box::new(options);
        Ok(Self { pool, probes, commits, notifications, options, sender: Uuid::now_v7(), trust })
    }

    /// Distrusts all connections: a server that went away, or stepped down, has left them useless, whatever they look
    /// like.
    pub fn distrust(&self) {
        self.trust.renew();
    }

    /// Distrusts connections as [`Engine::distrust`] does, but not again within [`STANDBY_PAUSE`]: a database that only
    /// reads would otherwise have its readers wait for new connections all the time. Returns whether it did.
    pub fn leave_standby(&self) -> bool {
        self.trust.renew_after(STANDBY_PAUSE)
    }

    pub fn connections(&self) -> (u32, u32) {
        let (idle, used) = self.pool.connections();
        (idle + u32::from(self.commits.is_idle()) + u32::from(self.notifications.is_idle()), used)
    }

    pub async fn close(&self) {
        self.commits.close().await;
        self.notifications.close().await;
        self.pool.close();
        self.probes.close();
    }

    /// Takes a connection to read by. Readers learn soon that the database is away; writers wait longer.
    async fn reader(&self) -> Result<Pooled, Error> {
        self.pool.acquire_to_read(READER_LIMIT).await
    }

    async fn prober(&self) -> Result<Pooled, Error> {
        self.probes.acquire(READER_LIMIT).await
    }

    async fn write_prober(&self) -> Result<Pooled, Error> {
        self.prober().await
    }

    async fn writer(&self) -> Result<Pooled, Error> {
        self.pool.acquire(CONNECT_LIMIT).await
    }

    async fn begin(&self) -> Result<Transaction, Error> {
        self.pool.begin().await
    }
}

/// Migrates under an advisory lock, so that replicas that start together do not collide. A migration that has to wait
/// for a table gives up its place in the line soon and tries again: behind it everybody else would wait.
async fn migrate(connection: &mut PgConnection) -> Result<(), Error> {
    const SHORT_WAITS: &str = "SET lock_timeout = '2s'";
    let mut migrator = migrations::migrator(scripts!("postgres"));
    // Taken here, before waits are short: another replica may be at work for long.
    migrator.set_locking(false);
    connection.lock().await?;
    connection.execute(SHORT_WAITS).await?;
    for _ in 0..MIGRATION_TRIES {
        match migrator.run_direct(&mut *connection).await {
            Err(error) if waited_for_a_table(&error) => {
                tracing::warn!("a migration waits for a table that others use");
                tokio::time::sleep(MIGRATION_PAUSE).await;
            }
            migrated => {
                migrated?;
                return Ok(connection.unlock().await?);
            }
        }
    }
    let reason = "a migration got no lock on a table: wait until a dump, or whatever else holds it, has ended, and \
        start again";
    Err(Error::Unavailable(reason.to_owned()))
}

/// Returns whether the server gave a statement up that waited for a lock for too long.
fn waited_for_a_table(error: &MigrateError) -> bool {
    const LOCK_NOT_AVAILABLE: &str = "55P03";
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else { return false };
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some(LOCK_NOT_AVAILABLE)
}

/// Compares the schema with what this program needs, and tries what it will do: write, or make what is missing.
pub async fn look(url: &SecretString) -> Result<Schema, Error> {
    let mut connection = connect(&connect_options(url).await?).await?;
    check_encoding(&mut connection).await?;
    let schema = queries::read_schema(&mut connection).await?;
    match schema {
        Schema::Fits => queries::probe_write(&mut connection).await?,
        Schema::Lacks(_) => try_to_create(&mut connection).await?,
        Schema::TooNew { .. } => {}
    }
    connection.close().await?;
    Ok(schema)
}

/// Refuses a database that cannot store every character: a question or a page would be one too many for it, and a run
/// would fail once it is paid for. `SQL_ASCII` takes all bytes as they are.
async fn check_encoding(connection: &mut PgConnection) -> Result<(), Error> {
    let encoding: String =
        query_scalar("SELECT current_setting('server_encoding')").fetch_one(&mut *connection).await?;
    if ["UTF8", "SQL_ASCII"].contains(&encoding.as_str()) {
        return Ok(());
    }
    Err(Error::Unusable(format!(
        "its encoding {encoding} lacks most characters: create one with ENCODING 'UTF8' TEMPLATE template0, and restore \
         a dump of this one into it if it holds anything"
    )))
}

/// Tries to create a table, of which nothing stays: a user may lack the right, and a server may only read.
async fn try_to_create(connection: &mut PgConnection) -> Result<(), Error> {
    const MAY_CREATE: &str = "SELECT COALESCE(has_schema_privilege(current_schema(), 'CREATE'), FALSE)";
    if !query_scalar::<_, bool>(MAY_CREATE).fetch_one(&mut *connection).await? {
        let reason =
            "its user may not create tables: make the user the owner of the database, or GRANT CREATE ON SCHEMA public";
        return Err(Error::Unusable(reason.to_owned()));
    }
    let mut tx = connection.begin().await?;
    tx.execute("CREATE TABLE fathom_write_probe (id BIGINT)").await?;
    Ok(tx.rollback().await?)
}

/// Tries a connection on which nothing is under way but what was given up.
async fn answers(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    tokio::time::timeout(PING_LIMIT, connection.ping()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Reads the text of a row of `sources`.
fn snapshot(row: &sqlx::postgres::PgRow) -> Result<Arc<str>, Error> {
    Ok(row.try_get::<&str, _>("snapshot")?.into())
}

/// Returns whether the insert of a run met the index that allows one active run per thread.
fn is_thread_busy(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.constraint()) == Some("runs_one_active_per_thread")
}

/// Bounds what a session may hold on to. A replica that froze in a transaction keeps its rows locked, and runs whose
/// rows are locked are passed over by those who claim: so no longer than the shortest lease. One that is merely slow
/// repeats the transaction. Nor shall anybody wait for a lock for ever, or a slow statement keep a connection of the
/// pool whose caller has long gone.
///
/// Long texts are compressed by LZ4 where the server knows it, which takes less time than its own way.
async fn prepare_session(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    const LIMITS: &str = "SET idle_in_transaction_session_timeout = '2s'; SET lock_timeout = '10s'; \
        SET statement_timeout = '20s'; \
        SELECT set_config(name, 'lz4', false) FROM pg_settings \
        WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)";
    connection.execute(LIMITS).await?;
    Ok(())
}

/// Reads the address, and checks what needs no server: its parameters, and the files that it names.
async fn connect_options(url: &SecretString) -> Result<PgConnectOptions, Error> {
    let url = url.expose_secret();
    check_parameters(url).map_err(|expected| Error::Unusable(format!("DATABASE_URL must be {expected}")))?;
    address::check_files(url).await?;
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        // The parser's own words may quote the address.
        let form = "postgres://user:password@host:port/database";
        Error::Unusable(format!("DATABASE_URL cannot be read; it looks like {form}, with special characters escaped"))
    })?;
    Ok(options.application_name("fathom").statement_cache_capacity(STATEMENTS).disable_statement_logging())
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, Error> {
    match tokio::time::timeout(CONNECT_LIMIT, PgConnection::connect_with(options)).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(sqlx::Error::Io(error))) => Err(unreachable_because(options, &error).await),
        // Files that TLS needs and cannot use, or a server that has no TLS: nothing that passes.
        Ok(Err(sqlx::Error::Tls(error))) => Err(Error::LockedOut(format!("{}: {error}: {TRUST}", address(options)))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Error::Unavailable(format!("{} does not answer", address(options)))),
    }
}

/// What helps when the two do not agree on TLS.
const TRUST: &str = "check sslmode and sslrootcert in DATABASE_URL; a certificate that signed itself is not accepted";

/// Tells a name nobody knows and a certificate that is not trusted, which waiting does not mend, from a server that is
/// down.
async fn unreachable_because(options: &PgConnectOptions, error: &std::io::Error) -> Error {
    let over_network = options.get_socket().is_none() && !options.get_host().starts_with('/');
    if over_network && tokio::net::lookup_host((options.get_host(), options.get_port())).await.is_err() {
        return Error::Unusable(format!("the host {} is unknown: correct DATABASE_URL", options.get_host()));
    }
    // What TLS has to say comes as data that is not valid.
    if error.kind() == std::io::ErrorKind::InvalidData {
        return Error::LockedOut(format!("{}: {error}: {TRUST}", address(options)));
    }
    Error::Unavailable(format!("{}: {error}", address(options)))
}

/// Returns host and port; never the user or password.
fn address(options: &PgConnectOptions) -> String {
    format!("{}:{}", options.get_host(), options.get_port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_bad_address_is_refused_without_repeating_it() {
        let url = SecretString::from("postgres://me:secret@[bad/db");
        let error = connect_options(&url).await.unwrap_err();
        assert!(matches!(&error, Error::Unusable(text) if !text.contains("secret")), "{error}");
    }
}
