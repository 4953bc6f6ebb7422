//! May this program work on the schema it found? Asked after the migrations it knows have run.

use sqlx::{Row as _, query, query_scalar};

use super::{Connection, Engine};
use crate::store::Error;

impl Engine {
    /// The newest migration that has run; 0 when none has. Asked by probes, over a connection of theirs.
    pub async fn schema_version(&self) -> Result<i64, Error> {
        const SELECT: &str = "SELECT CAST(COALESCE(MAX(version), 0) AS BIGINT) FROM _sqlx_migrations";
        let mut connection = self.prober().await?;
        match query_scalar(SELECT).fetch_one(&mut *connection).await.map_err(Error::from) {
            // There is no table of migrations.
            Err(Error::Unusable(_)) => Ok(0),
            version => version,
        }
    }
}

/// Refuses a schema that a newer program wrote, unless that said that programs like this one still work on it.
pub async fn check_schema(connection: &mut Connection, newest_known: i64) -> Result<(), Error> {
    const SELECT: &str = "SELECT (SELECT MAX(version) FROM _sqlx_migrations) AS version, \
        (SELECT MAX(oldest_program) FROM schema_compatibility) AS oldest_program";
    let row = query(SELECT).fetch_one(connection).await?;
    let version: i64 = row.try_get("version")?;
    let oldest_program = row.try_get::<Option<i64>, _>("oldest_program")?.unwrap_or(version);
    if version <= newest_known || oldest_program <= newest_known {
        return Ok(());
    }
    Err(Error::Unusable(format!(
        "its schema has version {version} and needs a program that knows at least version {oldest_program}, while this \
         one knows version {newest_known}: start the newer release that wrote it, or use another database"
    )))
}
