//! One test binary: stories over the scripted world of `fathom-testkit`, a file per theme. Only module lines here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise; the lints' own exceptions reach only functions marked as tests"
)]

mod amazon;
mod broken_answers;
mod browser;
mod clouds;
mod contract;
mod crash;
mod dependencies;
mod documents;
mod events;
mod forwards;
mod hostile;
mod http;
mod limits;
mod llm;
mod malformed_answers;
mod offline;
mod operator;
mod page;
mod pages;
mod prompts;
mod replicas;
mod requests;
mod research;
mod scripts;
mod search;
mod store;
mod stories;
mod streams;
mod tidy;
mod vendor_shapes;
mod wires;
mod words;
mod world_test;

use fathom_testkit::{database, fleet, vendor as fake_vendor, world};
