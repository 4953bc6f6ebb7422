//! Several real services on one database, and what disturbs them: signals, proxies that cut and swallow, readers that
//! come back.

mod check;
mod proxy;
mod reader;
mod replica;
mod soak;

pub use check::{check_ledger, check_stream, worker_pid};
pub use proxy::{Balancer, Cable, Mode};
pub use reader::Reader;
pub use replica::{Fleet, LEASE, Replica};
pub use soak::{Plan, Soak, Summary};
