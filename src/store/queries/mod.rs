//! The queries, the same text for both engines.
//!
//! Compiled twice, as a child of `postgres` and of `sqlite`: `super` says what [`Db`] is and holds what differs. Each
//! file adds methods to that engine. `$1` placeholders and `VALUES` tables (whose columns both engines call
//! `column1`, `column2` …) serve both.

/// What time it is: as the bound parameter says, which tests give, or by the database's clock.
macro_rules! time {
    ($parameter:literal) => {
        concat!("COALESCE(", $parameter, ", ", server_time!(), ")")
    };
}

/// Runs in that state, which is `queued` or `running`. The first condition is the one of the partial indexes on the few
/// runs that have not ended: SQLite takes such an index only where its condition stands in the query word for word.
macro_rules! in_state {
    ($runs:literal, $status:literal) => {
        concat!($runs, "status IN ('queued', 'running') AND ", $runs, "status = '", $status, "'")
    };
}

pub mod claims;
pub mod collections;
pub mod commits;
mod keys;
mod limits;
mod log;
mod overview;
mod owned;
mod research;
mod retention;
pub mod rows;
pub mod runs;
mod schema;
pub mod search;
mod shares;
mod tail;
pub mod threads;
mod uploads;
pub mod usage;
mod webhooks;

pub use schema::{check_schema, probe_write, read_schema};

use super::{
    Db, Engine, FOR_UPDATE, KEEP_ROW, LIKE, LOCK_OWNER, SNAPSHOT, WITHOUT_SNAPSHOT, is_thread_busy, snapshot,
    write_group,
};

/// A connection of the engine at hand.
type Connection = <Db as sqlx::Database>::Connection;

/// A row of the engine at hand.
type Row = <Db as sqlx::Database>::Row;
