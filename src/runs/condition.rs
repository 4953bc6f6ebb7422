//! How the service is doing: its database, its queue, its claim loop.

use std::time::Duration;

use super::Runs;
use crate::store::{self, Load, Schema};

/// What the database is fit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Fine,
    Away,
    /// It was replaced by an older one, or an empty one.
    LacksMigrations,
    /// A newer program migrated it, and this one does not work on it any more.
    TooNew,
    /// It stands by, or its disk is full: it answers reads and is of no use.
    ReadOnly,
    /// The file of the embedded database is no longer in its place.
    Displaced,
}

impl Runs {
    /// Returns how long ago the claim loop of this process last saw the queue; `None` when it never did.
    pub fn last_look(&self) -> Option<Duration> {
        self.active.last_look.age()
    }

    /// Checks whether the database answers, whatever others are waiting for it.
    ///
    /// # Errors
    /// Those of the store: it does not.
    pub async fn ping(&self) -> Result<(), store::Error> {
        self.parts.store.schema().await.map(drop)
    }

    /// Looks what the database is fit for, whatever others are waiting for it.
    pub async fn database(&self) -> Database {
        let store = &self.parts.store;
        if let Err(error) = store.in_place() {
            tracing::warn!(%error, "the database takes no writes");
            return Database::Displaced;
        }
        match store.schema().await {
            Ok(Schema::Fits) => {}
            Ok(Schema::Lacks(_)) => return Database::LacksMigrations,
            Ok(Schema::TooNew { .. }) => return Database::TooNew,
            Err(error) => {
                tracing::warn!(%error, "the database does not answer");
                return Database::Away;
            }
        }
        if let Err(error) = store.takes_writes().await {
            tracing::warn!(%error, "the database takes no writes");
            return Database::ReadOnly;
        }
        Database::Fine
    }

    /// Returns the connections to the database: idle ones and those in use.
    pub fn connections(&self) -> (u32, u32) {
        self.parts.store.connections()
    }

    /// Returns how many runs wait and are at work, over all processes.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn load(&self) -> Result<Load, store::Error> {
        self.parts.store.load().await
    }
}
