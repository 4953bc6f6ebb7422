//! Why the database did not do it, and how the drivers' errors become that.
//!
//! Sorted by what the caller does next. No text here ever holds a database address, since that has the password in it.

use sqlx::{migrate::MigrateError, postgres::PgDatabaseError, sqlite::SqliteError};

use super::sqlite::Displaced;

/// Why the database did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another process is the run's worker now: stop working on it and write nothing more.
    #[error("another worker has the run")]
    Fenced,
    /// A thread has one active run at most.
    #[error("the thread already has an active run")]
    ThreadBusy,
    /// The thread went on: this run came after the one that was to be retried.
    #[error("the thread went on with run {0}")]
    ThreadWentOn(crate::domain::RunId),
    /// So many runs may wait, in all or of one owner.
    #[error("{limit} runs are waiting already")]
    QueueFull { limit: u64 },
    /// The first of these allowances that is used up says why.
    #[error("{}", .0.iter().find(|allowance| allowance.is_used_up()).map(crate::domain::Allowance::in_words).unwrap_or_default())]
    UsedUp(Vec<crate::domain::Allowance>),
    /// So many threads are stored of one owner.
    #[error("{limit} threads are stored already; delete some that are not needed any more")]
    TooManyThreads { limit: u64 },
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("metadata may have {limit} bytes as JSON")]
    MetadataTooLarge { limit: usize },
    /// Wait and try again: the connection broke, the pool ran dry, a lock was held too long.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Wait and try again, too, but people may have to act first: the disk is full, the files cannot be written, or all
    /// of the database only reads.
    #[error("the database takes no writes: {0}")]
    TakesNoWrites(String),
    /// The connection broke: a fresh one may do. The store tries that itself, so its callers get
    /// [`Error::Unavailable`].
    #[error("the database is not available: {0}")]
    Disconnected(String),
    /// The server takes no writes: it has stepped down, and a fresh connection leads to its successor, or all of the
    /// database only reads. Callers get [`Error::TakesNoWrites`].
    #[error("the database takes no writes: {0}")]
    StandsBy(String),
    /// There is no room on the disk for this write; a smaller one may find some. Callers get
    /// [`Error::TakesNoWrites`].
    #[error("the database takes no writes: {0}")]
    NoRoom(String),
    /// The database gave the transaction up (deadlock, serialization failure, idle for too long): repeat it at once.
    /// The store does so itself, so its callers never see this.
    #[error("the database gave the transaction up: {0}")]
    Contended(String),
    /// The address, the rights or the schema are wrong: an operator has to act.
    #[error("the database cannot be used: {0}")]
    Unusable(String),
    /// The server does not let this program in, or not to its tables; or a file cannot be opened. At the start that is
    /// [`Error::Unusable`]; of a database that was used before, callers get [`Error::Unavailable`], since what was
    /// taken away can come back.
    #[error("the database cannot be used: {0}")]
    LockedOut(String),
    /// What was stored cannot be read, or what was to be stored contradicts it: a defect.
    #[error("stored data cannot be read: {0}")]
    Corrupt(String),
}

impl Error {
    /// Returns whether the same call may succeed later, without anything having been changed in it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::TakesNoWrites(_))
    }

    /// Returns whether the same call may succeed later, by itself or after an operator has acted. What was paid for is
    /// worth the wait.
    pub fn may_be_resolved(&self) -> bool {
        self.may_pass() || matches!(self, Self::Unusable(_))
    }

    /// Returns what it means at the start, where nothing has worked yet.
    pub(super) fn at_start(self) -> Self {
        match self {
            Self::LockedOut(text) => Self::Unusable(text),
            Self::NoRoom(text) | Self::StandsBy(text) => Self::TakesNoWrites(text),
            other => other,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database_error) => {
                if let Some(postgres) = database_error.try_downcast_ref::<PgDatabaseError>() {
                    from_postgres(postgres)
                } else if let Some(sqlite) = database_error.try_downcast_ref::<SqliteError>() {
                    from_sqlite(sqlite)
                } else {
                    Self::Unavailable(database_error.message().to_owned())
                }
            }
            sqlx::Error::Configuration(_) => Self::Unusable("the settings of the connection are wrong".to_owned()),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => {
                Self::Disconnected(error.to_string())
            }
            sqlx::Error::AnyDriverError(reason) if reason.is::<Displaced>() => Self::TakesNoWrites(reason.to_string()),
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection was to be had in time".to_owned()),
            sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
            | sqlx::Error::InvalidSavePointStatement => Self::Unavailable(error.to_string()),
            _ => Self::Corrupt(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(error.to_string())
    }
}

impl From<MigrateError> for Error {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            other => Self::Unusable(format!("its schema is not the one this program made: {other}")),
        }
    }
}

/// What helps when the server gives no more connections away.
const MORE_CONNECTIONS: &str = "raise max_connections of the server, or the limit of the role or database, or lower \
    FATHOM_DB_CONNECTIONS; a process holds up to that many and four more";

/// What helps when the server only reads for longer than a failover takes.
const WRITABLE: &str =
    "if that lasts, point DATABASE_URL at the primary server, or switch its default_transaction_read_only off";

fn from_postgres(error: &PgDatabaseError) -> Error {
    by_sqlstate(error.code(), error.message().to_owned())
}

/// Sorts by SQLSTATE class. Source: the PostgreSQL manual, appendix A.
fn by_sqlstate(code: &str, message: String) -> Error {
    match code {
        "28P01" | "28000" => Error::LockedOut(format!("{message}: check the user and password in DATABASE_URL")),
        "3D000" => Error::LockedOut(format!("{message}: create it, or correct DATABASE_URL")),
        "42501" => Error::LockedOut(format!("{message}: grant the user of DATABASE_URL the rights to its schema")),
        "53300" => Error::Unavailable(format!("{message}: {MORE_CONNECTIONS}")),
        // After a failover, for a while.
        "25006" => Error::StandsBy(format!("{message}: {WRITABLE}")),
        // Shut down, crashed, starting, and trouble with the connection.
        "57P01" | "57P02" | "57P03" => Error::Disconnected(message),
        code if code.starts_with("08") => Error::Disconnected(message),
        code if matches!(code.get(..2), Some("22" | "23" | "54")) => Error::Corrupt(message),
        "53100" => Error::NoRoom(format!("{message}: make room on the disk of the server")),
        // The last one ends a transaction that was idle for too long, and its connection: nothing of it was committed.
        "40001" | "40P01" | "25P03" => Error::Contended(message),
        // A missing table or column: the schema was changed behind our back.
        code if code.starts_with("42") => Error::Unusable(message),
        // A lock or statement that took too long, and whatever else may pass.
        _ => Error::Unavailable(message),
    }
}

/// Sorts by primary result code, and by the extended one where a write failed. Source: sqlite.org/rescode.html.
fn from_sqlite(error: &SqliteError) -> Error {
    use sqlx::error::DatabaseError as _;

    const IOERR_WRITE: u32 = 778;
    const IOERR_SHMSIZE: u32 = 4874;
    let message = error.message().to_owned();
    let code = error.code().and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    // Of an extended code the lowest byte is the primary code.
    match code & 0xff {
        8 => Error::TakesNoWrites(format!("{message}: make the data folder and its files writable")),
        13 => Error::NoRoom(format!("{message}: make room on the disk of the data folder")),
        _ if matches!(code, IOERR_WRITE | IOERR_SHMSIZE) => {
            Error::NoRoom(format!("{message}: a write failed; is there room on the disk of the data folder?"))
        }
        11 => Error::Unusable(format!("{message}: the file is damaged; restore it from a backup or move it away")),
        14 => Error::LockedOut(format!(
            "{message}: check that the data folder exists and may be read and written, and that more files may be open"
        )),
        26 => Error::Unusable(format!("{message}: move that file away or choose another data folder")),
        // Too big, constraint, mismatch, range.
        18..=20 | 25 => Error::Corrupt(message),
        // SQL that does not fit the schema.
        1 => Error::Unusable(message),
        // Busy, locked, input/output and whatever else may pass.
        _ => Error::Unavailable(message),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;

    /// Other programs that speak the protocol may send anything.
    #[test]
    fn a_code_that_is_none_may_pass() {
        for code in ["", "2", "2\u{fc}2"] {
            assert!(matches!(by_sqlstate(code, "strange".to_owned()), Error::Unavailable(_)), "{code:?}");
        }
        assert!(matches!(by_sqlstate("22001", "too long".to_owned()), Error::Corrupt(_)));
    }

    /// A replica that was slow in the middle of a transaction.
    #[test]
    fn a_transaction_that_was_ended_is_repeated() {
        for code in ["40001", "40P01", "25P03"] {
            assert!(matches!(by_sqlstate(code, "given up".to_owned()), Error::Contended(_)), "{code:?}");
        }
    }

    /// As when no more files may be open: a service that has worked waits for it to pass.
    #[tokio::test]
    async fn a_file_that_cannot_be_opened_is_for_the_operator_at_the_start_alone() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("none").join("fathom.db").display());
        let error = Error::from(SqliteConnection::connect(&url).await.unwrap_err());
        assert!(matches!(&error, Error::LockedOut(text) if text.contains("more files may be open")), "{error:?}");
        assert!(matches!(error.at_start(), Error::Unusable(_)));
    }
}
