//! May this program work on the schema it found? Asked after the migrations it knows have run.

use sqlx::{Row as _, query};

use super::Connection;
use crate::store::Error;

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
