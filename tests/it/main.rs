//! One test binary; a file per theme. `database` gives the others a fresh database on either engine.

mod database;
mod events;
mod store;
