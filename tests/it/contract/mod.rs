//! The HTTP contract, `openapi.yaml`, held against the types, the router and the running service.
//!
//! [`Contract`] is for every test that has an answer of the service in its hands.

mod checker;
mod clients;
mod docs;
mod document;
mod nginx;
mod readme;
mod routes;
mod schemathesis;
mod service;
mod vocabulary;

use std::{collections::BTreeSet, fmt::Debug};

pub use checker::Contract;
pub use service::without_keys;

/// Compares what the document has with what there is.
fn agree<T: Debug + Ord>(what: &str, documented: &BTreeSet<T>, existing: &BTreeSet<T>) {
    let missing: Vec<_> = existing.difference(documented).collect();
    let needless: Vec<_> = documented.difference(existing).collect();
    assert!(
        missing.is_empty() && needless.is_empty(),
        "{what}: openapi.yaml lacks {missing:?}, and there is no {needless:?}"
    );
}
