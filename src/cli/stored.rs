//! The database of the settings, for commands that work on it without a service.

use super::{Exit, complain, print};
use crate::{
    config::Config,
    domain::RunId,
    store::{Database, Store},
};

/// Returns the database of the settings, in which something is looked for: none is made where there is none.
pub(super) async fn existing_store(config: &Config) -> Result<Store, Exit> {
    let Database::Sqlite { path, .. } = &config.database else { return open_store(config).await };
    match path.try_exists() {
        Ok(true) => open_store(config).await,
        Ok(false) => Err(print::usage(&format!(
            "there is no database at {}: nothing was stored with this data folder (--data-dir names another)",
            path.display()
        ))),
        Err(error) => Err(print::usage(&format!("the database {} cannot be read: {error}", path.display()))),
    }
}

/// Returns the database of the settings; why it cannot be used is said.
pub(super) async fn open_store(config: &Config) -> Result<Store, Exit> {
    Store::open(&config.database).await.map_err(|error| print::usage(&error.to_string()))
}

/// Says that there is no such run.
pub(super) fn unknown(run_id: RunId) -> Exit {
    complain(&format!("there is no run {run_id} in this database"));
    Exit::Usage
}
