//! What the integration tests, the soak program and the benchmarks share.
//!
//! [`world`] is a model provider, a search engine and a collector of traces on loopback that follow a script;
//! [`database`] makes a fresh database for each test; [`fleet`] runs several real services on one database and disturbs
//! them; [`port`] finds free ports; [`program`] is the real binary under test; [`vendor`] is a model server of given
//! bytes, for tests of single calls.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise; the lints' own exceptions reach only functions marked as tests"
)]

pub mod database;
pub mod fleet;
pub mod port;
pub mod program;
pub mod vendor;
pub mod world;
