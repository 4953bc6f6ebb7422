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

pub use checker::Contract;
pub use service::without_keys;
