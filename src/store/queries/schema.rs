//! May this program work on the database it found: on its schema, and with writes?

use sqlx::{query, query_scalar};

use super::{Connection, Engine};
use crate::store::{Error, NEWEST_SCHEMA, Schema};

impl Engine {
    /// Reads the version of the schema, for probes, over a connection of theirs.
    pub async fn schema(&self) -> Result<Schema, Error> {
        read_schema(&mut *self.prober().await?).await
    }

    pub async fn probe_write(&self) -> Result<(), Error> {
        probe_write(&mut *self.write_prober().await?).await
    }
}

/// Writes into the table that is there for it, which has one row for ever.
pub async fn probe_write(connection: &mut Connection) -> Result<(), Error> {
    const WRITE: &str = concat!("UPDATE write_probe SET written_at = ", server_time!(), " WHERE id = 1");
    query(WRITE).execute(connection).await?;
    Ok(())
}

/// Compares the schema with what this program needs.
pub async fn read_schema(connection: &mut Connection) -> Result<Schema, Error> {
    const VERSION: &str = "SELECT CAST(COALESCE(MAX(version), 0) AS BIGINT) FROM _sqlx_migrations";
    const OLDEST: &str = "SELECT CAST(COALESCE(MAX(oldest_program), 0) AS BIGINT) FROM schema_compatibility";
    let version: i64 = match query_scalar(VERSION).fetch_one(&mut *connection).await.map_err(Error::from) {
        // There is no table of migrations.
        Err(Error::Unusable(_)) => 0,
        version => version?,
    };
    if version <= NEWEST_SCHEMA {
        return Ok(if version == NEWEST_SCHEMA { Schema::Fits } else { Schema::Lacks(NEWEST_SCHEMA - version) });
    }
    let oldest_program: i64 = query_scalar(OLDEST).fetch_one(&mut *connection).await?;
    Ok(if oldest_program <= NEWEST_SCHEMA { Schema::Fits } else { Schema::TooNew { version, oldest_program } })
}

/// Refuses a schema that a newer program wrote, unless that said that programs like this one still work on it. Asked
/// after the migrations that this program knows have run.
pub async fn check_schema(connection: &mut Connection) -> Result<(), Error> {
    read_schema(connection).await?.check()
}
