//! Several real services on one database, and what disturbs them: signals, proxies that cut and swallow, readers that
//! come back.
//!
//! The integration tests and the soak program include it both (`#[path]`), beside `world` and `database`.

#![allow(dead_code, unused_imports, reason = "tests and soak each use their part")]

mod check;
mod proxy;
mod reader;
mod replica;
mod soak;

pub use check::{check_ledger, check_stream, owner_pid};
pub use proxy::{Balancer, Cable, Mode};
pub use reader::Reader;
pub use replica::{Fleet, LEASE, Replica};
pub use soak::{Plan, Soak, Summary};
